// Small training steps for tests of plans, as graph_text takes them: a stack of linear layers, and
// transformer blocks, with cross entropy and AdamW.

#ifndef HAP_TESTS_SMALL_MODELS_H
#define HAP_TESTS_SMALL_MODELS_H

#include "graph_text.h"

// x [batch, width[0]] -> linear, relu, linear, ..., to width[n_layers] classes.
ir_graph *small_mlp(hb_arena *a, int64_t batch, int n_layers, const int64_t *width);

typedef struct small_transformer {
    int64_t batch, tokens, width, heads, hidden, vocabulary;
    int n_layers;
    bool embedding; // reads ids; else x [batch, tokens, width]
    bool norm;      // layer norm in front of attention and feed-forward
    bool tied;      // the embedding's table makes the logits, too
    int alike; // layers in a row that are equal: after them hidden is an eighth wider, then as it
               // was; 0: all
    int wider; // than the one before it is each layer's hidden, by so much
} small_transformer;
ir_graph *small_attention(hb_arena *a, const small_transformer *m);

#endif
