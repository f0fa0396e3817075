// Factors of dims and the index structure of every node: what sharding is derived from.
//
// Each dim of each tensor is a list of factors, major to minor (GPT-2's fused qkv dim of 2304 is
// k3 . h12 . e64). Factors are found by propagating through all nodes both ways to a fixed point,
// refining by common divisors at reshape, split and slice; dims that a view cannot align stay
// whole. A factor *class* is an equivalence class of factors over all nodes; candidate partitions
// of cuts and the groups of the ratio LP hang on classes.
//
// An ir_rule is one node's formula with every letter replaced by its factors: local factor numbers
// in every dim of every operand and output. It is all that strategies, checker and tests need;
// nothing downstream looks at formula text or op names to decide what may be cut. (docs/theory.md 1
// and 2)

#ifndef HAP_IR_FACTORS_H
#define HAP_IR_FACTORS_H

#include "ir/graph.h"

// Of a dim, of a tensor, and of a node: three tensors hold all letters of every formula.
enum { IR_MAX_FACTORS = 6, IR_MAX_TENSOR_FACTORS = 12, IR_MAX_RULE_FACTORS = 36 };

typedef struct ir_dim_factors {
    int n;
    int cls[IR_MAX_FACTORS]; // classes, major to minor; sizes multiply to the dim
} ir_dim_factors;

typedef struct ir_class {
    int64_t size;
    bool whole;     // never cut (size 1, whole in every rule, or not alignable)
    bool batch;     // dim 0 of the inputs
    int64_t grain;  // hard granularity of boundaries (1 unless said)
    char letter[8]; // short name for prints: "b", "t", "h", "e", "v", or "f12"
} ir_class;

typedef struct ir_rule_dim {
    int8_t n;
    int8_t f[IR_MAX_FACTORS]; // local factor numbers, major to minor; -1 = a factor of size 1
                              // (broadcast)
} ir_rule_dim;

typedef struct ir_rule {
    int n_factors;
    struct {
        int64_t size;
        int cls;
        bool whole; // by the formula or by its class
    } factor[IR_MAX_RULE_FACTORS];
    int n_terms;
    int8_t term[IR_MAX_IN]; // which term an operand belongs to
    unsigned linear;
    char reducer[IR_MAX_OUT]; // 's', 'm', '-'
    ir_rule_dim in[IR_MAX_IN][IR_MAX_RANK], out[IR_MAX_OUT][IR_MAX_RANK];
} ir_rule;

typedef struct ir_factors {
    int n_classes;
    ir_class *cls;
    ir_dim_factors (*dim)[IR_MAX_RANK]; // by tensor id
    ir_rule **rule;                     // by node id
    bool *joined;                       // by node id: ir_joined
} ir_factors;

ir_factors *ir_factorize(hb_arena *a, const ir_graph *g);
// By node: a GPU does it in a neighbour's kernel, at next to no cost (joined.c).
bool *ir_joined(hb_arena *a, const ir_graph *g);
void ir_factors_print(hb_buf *out, const ir_graph *g, const ir_factors *f);

// Where local factor k of a rule stands in an operand or output: dim and position, false if
// nowhere.
bool ir_rule_find(const ir_rule_dim *dims, int rank, int k, int *dim, int *pos);

// One local factor of a rule at less than its full size: n of its entries, from entry lo on (lo <
// 0: anywhere).
typedef struct ir_part {
    int k;
    int64_t n, lo;
} ir_part;

// Work of one node with some factors (others: whole) at less than full size: flops and bytes moved.
// A causal sdpa cut on q is priced by area where the part says its first row.
void ir_node_work(const ir_graph *g, const ir_factors *f, int node, const ir_part *part,
                  int n_parts, double *flops, double *bytes);

// Bytes of the rows that a product of experts, or a gradient of one, lays by expert before it
// multiplies them; of other nodes 0.
double ir_gathered_bytes(const ir_graph *g, const ir_factors *f, int node, const ir_part *part,
                         int n_parts);

// Of a convolution of several groups, or a gradient of one: the channels of a group, of input or
// output, whichever are fewer; of other nodes as many as can be.
int64_t ir_channels_of_group(const ir_graph *g, int node);

// The same of a node whose parts are asked for in many sizes: products that are made once. Of up to
// two factors; a factor of -1 is none. False where the work is no such product (attention,
// convolutions, experts).
typedef struct ir_term { // rest, times the first part's entries or not, times the second's or not
    double rest, bytes;
    bool of[2];
} ir_term;
typedef struct ir_work_form {
    int n;
    ir_term term[IR_MAX_IN + IR_MAX_OUT], dense;
    ir_flops_kind kind;
    double flops;
    bool zero_copy;
} ir_work_form;
bool ir_work_form_of(const ir_graph *g, const ir_factors *f, int node, const int factor[2],
                     ir_work_form *out);
void ir_form_work(const ir_work_form *w, const int64_t n[2], double *flops, double *bytes);

#endif
