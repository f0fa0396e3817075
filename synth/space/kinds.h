// Kinds: which tensors and nodes of a graph share states, forms and tables whatever the cuts and
// weights are, and the skeleton of the min-sum problem. Made once a graph and strategy; every
// search builds its tables on it, one a kind.

#ifndef HAP_SYNTH_KINDS_H
#define HAP_SYNTH_KINDS_H

#include "synth/space/partitions.h"
#include "synth/space/synthesis_options.h"

// An edge of the problem: which table it reads.
typedef enum {
    SYN_EDGE_MADE,   // producer -> kept tensor
    SYN_EDGE_READ,   // kept tensor -> consumer
    SYN_EDGE_HOME,   // the same, and written in place
    SYN_EDGE_DIRECT, // producer -> the one consumer
    SYN_EDGE_UPDATE  // producer of a next value -> the home it moves into
} syn_edge_kind;

typedef struct syn_table {
    syn_edge_kind kind;
    int out, in;            // slots of producer and consumer
    int producer, consumer; // kinds of nodes, -1
    int kept;               // kind of kept tensor, -1
    int tensor;             // kind of the tensor whose states are converted
} syn_table;

typedef struct syn_kinds {
    const bool *cuttable;   // by factor class: may be cut at all under this strategy
    const uint8_t *part;    // by tensor: syn_part; NULL where every move may be made
    int (*uses)[2];         // all uses sorted by tensor: {node, operand}
    int *first_use;         // by tensor, n_tensors + 1 entries: range in uses
    int *tensor, n_tensors; // by tensor: its kind; and one tensor of every kind
    int *node, n_nodes;
    int *kept, n_kept; // by tensor: kind of kept tensor, -1 where it is no variable
    const int *a_tensor, *a_node, *a_kept;
    int n_vars, *node_var, *tensor_var; // variable of the min-sum problem, -1
    int n_tables;
    const syn_table *table;
    int n_edges;
    struct syn_kind_edge {
        int a, b, table;
    } * edge;
} syn_kinds;

// candidate partitions: its sets alone matter.
const syn_kinds *syn_kinds_new(hb_arena *a, const ir_graph *g, const ir_factors *f,
                               const syn_partitions *partitions, syn_strategy strategy,
                               const syn_options *opt);

// What a tensor may be partial by: 's', 'm' or 0.
char syn_partial_of(const ir_graph *g, const ir_factors *f, int tensor);
bool syn_is_small(const ir_graph *g, const syn_options *opt, int tensor); // a parameter kept whole
// Does the tensor take memory at the turn of the step: parameters, what is saved for the backward
// pass, gradients that wait for the update?
bool syn_long_lived(const ir_graph *g, const syn_kinds *k, int tensor);
// How often a conversion of the tensor is made, where it is made: in every micro-batch, but for
// what they share and for their sums.
int syn_made_times(const ir_graph *g, int tensor);
bool syn_feeds_update(const ir_graph *g, const syn_kinds *k, int tensor);
// Is this operand written in place (an optimizer's parameter or moment)?
bool syn_writes_home(const ir_graph *g, int node, int operand);

#endif
