// Sizes of a formula's letters at one node, and shape inference on top of them.
//
// ir_bind matches the operands' shapes against the node's formula: every letter gets its size, the
// star its (broadcast) leading dims. ir_infer (graph.h) derives the outputs from it; factorize.c
// reuses it to know where a compound dim like (gr) is divided.

#ifndef HAP_IR_SHAPES_H
#define HAP_IR_SHAPES_H

#include "ir/formula.h"

typedef struct ir_binding {
    int64_t size[26]; // by letter - 'a'; 0 = not in the formula
    int n_star;
    int64_t star[IR_MAX_RANK];
} ir_binding;

bool ir_bind(const ir_graph *g, const ir_node *n, ir_binding *b, hb_arena *a, hb_str *why);
// Sizes of the letters of windows (shapes_windows.c), from those of places and windows.
bool ir_bind_windows(const ir_node *n, ir_binding *b, hb_arena *a, hb_str *why);
// The C functions of the view ops (shapes_views.c); shapes only.
bool ir_infer_view(const ir_graph *g, const ir_node *n, ir_tensor *outs, hb_arena *a, hb_str *why);
// The shapes of composites (shapes_composites.c).
bool ir_infer_composite(const ir_graph *g, const ir_node *n, ir_tensor *out, hb_arena *a,
                        hb_str *why);
// How many outputs a node must have (split: from its sizes).
int ir_node_outs(const ir_node *n);
hb_str ir_shape_text(hb_arena *a, int rank, const int64_t *dim); // "[8, 128]"

#endif
