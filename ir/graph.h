// The training graph: SSA over named tensors, from graph.json through autodiff to a whole step.
//
// Tensors and nodes are in flat arrays; ids are indices. Nodes stand in topological order. Every
// tensor has at most one producer. After ir_build (graph_build.c) the graph is a whole training
// step: forward, backward, optimizer; `updates` names which tensor a parameter, moment or buffer
// becomes.
// Forward, backward and update nodes follow each other; with micro-batches (variant.h) they do so
// before them, in each of them, and behind the last.
//
// Steps of the front end, each from one printed structure to the next (`hapc -d` dumps them):
//     ir_read      graph.json -> graph of user ops      (read_graph.c: positions, verifier)
//     ir_expand    composites -> ops                (composites.c)
//     ir_casts     inserts casts, if --precision wants  (casts.c)
//     ir_rooms     moves rows to experts, if asked for  (rooms.c)
//     ir_autodiff  appends the backward pass            (autodiff.c, vjp.c)
//     ir_optimize  appends clip and optimizer nodes     (optimizer.c)
//     ir_blocks    marks repeated blocks                (recompute.c)
//     ir_variant   micro-batches, recomputation         (variant.h)
//     ir_verify    checks every invariant stated here   (verify.c)

#ifndef HAP_IR_GRAPH_H
#define HAP_IR_GRAPH_H

#include "ir/base/diag.h"

enum { IR_MAX_RANK = 6, IR_MAX_IN = 10, IR_MAX_OUT = 8, IR_MAX_ATTR = 8 };

typedef enum { IR_F32, IR_BF16, IR_F16, IR_I64, IR_I32, IR_BOOL, IR_U8, IR_N_DTYPES } ir_dtype;
int64_t ir_dtype_bytes(ir_dtype t);
const char *ir_dtype_name(ir_dtype t); // "f32", "bf16", "f16", "i64", "i32", "bool"
bool ir_dtype_parse(hb_str s, ir_dtype *t);

typedef enum {
#define OP(name, ...) IR_OP_##name,
#define COMPOSITE(name, ...)
#include "ir/ops.def"
#undef OP
#undef COMPOSITE
    IR_N_OPS,
// Composites exist between ir_read and ir_expand only.
#define OP(name, ...)
#define COMPOSITE(name, ...) IR_OP_##name,
#include "ir/ops.def"
#undef OP
#undef COMPOSITE
    IR_N_ALL_OPS
} ir_op;

typedef enum { IR_ATTR_INT, IR_ATTR_REAL, IR_ATTR_BOOL, IR_ATTR_DTYPE, IR_ATTR_INTS } ir_attr_kind;
typedef struct ir_attr {
    ir_attr_kind kind;
    int n;     // INTS
    int64_t i; // INT, BOOL, DTYPE
    double f;  // REAL
    int64_t v[IR_MAX_RANK + 2];
} ir_attr;

typedef enum { // none: of composites
    IR_FLOPS_NONE,
    IR_FLOPS_MOVE,
    IR_FLOPS_POINT,
    IR_FLOPS_DENSE,
    IR_FLOPS_SDPA,
    IR_FLOPS_CONV,
    IR_FLOPS_EXPERTS
} ir_flops_kind;
typedef enum { // of an op; by the table's names
    IR_ROLE_none,
    IR_ROLE_matmul,
    IR_ROLE_matmul_dw, // of a weight's gradient
    IR_ROLE_attention,
    IR_ROLE_attention_bwd,
    IR_ROLE_conv,       // a convolution or its gradient
    IR_ROLE_heads,      // may swap heads and positions
    IR_ROLE_parts,      // takes its operand apart
    IR_ROLE_packs,      // puts operands side by side
    IR_ROLE_total,      // of two operands
    IR_ROLE_scatter,    // of a lookup's gradient
    IR_ROLE_copy,       // in another type
    IR_ROLE_gradient,   // whose columns its kernel adds up as well
    IR_ROLE_columns,    // adds them up
    IR_ROLE_parameters, // of a norm: their gradients
    IR_ROLE_logits,     // their statistics
    IR_ROLE_loss,       // its gradient by the logits
    IR_ROLE_square,     // a sum of squares
    IR_ROLE_update,     // writes copies of what it updates
    IR_ROLE_mixture,    // of experts
    IR_ROLE_experts,    // each row by the matrix of its expert
    IR_ROLE_experts_dw  // of these matrices' gradients
} ir_role;
enum { // flags of an op
    IR_IN_PLACE = 1 << 0,
    IR_GATHER = 1 << 1,
    IR_ZERO_COPY = 1 << 2,
    IR_TILES = 1 << 3,
    IR_RANDOM = 1 << 4,
    IR_USER = 1 << 5,
    IR_COMPOSITE = 1 << 6,
    IR_OVER = 1 << 7,
    IR_EACH = 1 << 8,
    IR_ROWS = 1 << 9,
    IR_WIDE = 1 << 10,
    IR_SEND = 1 << 11,
    IR_RECV = 1 << 12,
    IR_PORT = IR_SEND | IR_RECV
};

// One op of ops.def, parsed (op_table.c).
typedef struct ir_op_info {
    const char *name, *formula;
    int n_attr;
    struct {
        const char *name;
        ir_attr_kind kind;
        bool has_default;
        ir_attr value;
    } attr[IR_MAX_ATTR];
    unsigned linear;               // bit i: operand i
    const char *reducers, *dtypes; // one letter an output
    const char *reads;             // one letter an operand, the last for all behind it
    ir_flops_kind flops_kind;
    double flops;
    const char *vjp;
    ir_role role;
    unsigned flags;
    int min_in, max_in, n_out;
    // Operands come as a list, of 1 to IR_MAX_IN; so do outputs, as many as attribute `sizes` has
    // entries, all as the table says of one (n_out is 1).
    bool list_in, list_out;
    // Matmuls: bit a, in alternative a of the formula the leading dims of operand 0 are those of
    // the output, so that rows become rows one by one (of dense ops: with a matrix as operand 1).
    // What may stand in a pair (docs/formats.md). A row is the last `row_dims` dims, and of
    // operands `along` as well, bits, what stands behind as many leading dims.
    unsigned by_rows, along;
    int row_dims;
    struct {
        unsigned in, out; // bit i: operand i, output i
    } any_float;
    const char *point, *text, *note; // NULL where the table has none
} ir_op_info;
extern const ir_op_info *ir_op_rows;     // NULL before the first is asked for
const ir_op_info *ir_op_first(ir_op op); // makes them
static inline const ir_op_info *ir_op_of(ir_op op)
{
    hb_assert((int)op >= 0 && op < IR_N_ALL_OPS && op != IR_N_OPS);
    return ir_op_rows ? &ir_op_rows[op] : ir_op_first(op);
}
bool ir_is_dense(ir_op op); // a matmul or attention: its size is flops
// Does an op of these attributes go row by row: operand 0 of rank_x dims, operand 1 of rank_w?
bool ir_by_rows(ir_op op, const ir_attr *attr, int rank_x, int rank_w);
int ir_op_parse(hb_str name);                  // ir_op or -1 (composites included)
int ir_attr_index(ir_op op, const char *name); // hb_assert: exists

typedef enum {
    IR_INPUT,  // read every step; dim 0 is the batch unless batch < 0
    IR_PARAM,  // trained
    IR_STATE,  // optimizer moment of a parameter, zero at the start
    IR_BUFFER, // other state carried by the step
    IR_CONST,
    IR_VALUE // computed
} ir_kind;

typedef enum {
    IR_INIT_CONST,
    IR_INIT_NORMAL,
    IR_INIT_UNIFORM,
    IR_INIT_IOTA,
    IR_INIT_STORED
} ir_init_kind;
typedef struct ir_init {
    ir_init_kind kind;
    double a, b;   // CONST a | NORMAL std a | UNIFORM [a, b) | IOTA a + b * (index in the last dim)
    hb_str stored; // "file.safetensors#name", relative to the graph file
    hb_str sha256; // of its bytes, in hex; empty: the file says nothing
    hb_pos at;     // of that, or of `stored`
} ir_init;

typedef struct ir_tensor {
    hb_str name;
    ir_kind kind;
    ir_dtype dtype;
    int rank;
    int64_t dim[IR_MAX_RANK]; // global sizes
    int producer, out;        // node and its output number; -1 if none
    int batch;                // IR_INPUT: which dim is the batch, -1 none
    int of;                   // IR_STATE: its parameter; else -1
    ir_init init;             // PARAM, STATE, BUFFER, CONST
    hb_pos at;                // where graph.json declares or first produces it
    double more; // it stands for so many others that are equal to it (fold.h); mostly 0
} ir_tensor;

typedef enum { IR_FORWARD, IR_BACKWARD, IR_UPDATE } ir_phase;

// Where a node stands if the batch is cut in time (variant.h): before the micro-batches, in the
// slot, which is done once for each of them, or behind the last. Else all stand before. The slot of
// a stage (stages.h) has parts, with other micro-batches' between them: forward (IR_SLOT), backward
// and, in a plan with weight gradients apart, these. To a graph they are of the backward part.
typedef enum { IR_BEFORE, IR_SLOT, IR_SLOT_BACK, IR_SLOT_WEIGHTS, IR_AFTER } ir_turn;
static inline bool ir_in_slot(ir_turn t)
{
    return t > IR_BEFORE && t < IR_AFTER;
}

typedef struct ir_node {
    hb_str name; // "h.0.ln_1"; backward nodes: the forward node's name + "'" + what, "h.0.ln_1'dx"
    ir_op op;
    ir_phase phase;
    int n_in, in[IR_MAX_IN]; // tensor ids; an absent optional operand is left out at the end
    int n_out, out[IR_MAX_OUT];
    hb_str from; // the user's source line
    int forward; // backward node: the node it differentiates; update node: -1; forward node: itself
    bool again;  // backward node that computes once more what `forward` did (recompute.c)
    int block;   // of the forward pass, from 1 on, of forward and `again` nodes; 0: none
    hb_pos at;
    double more; // it stands for so many others that are equal to it (fold.h); mostly 0
    ir_turn turn;
    bool adds;    // slot: its first operand and its output are one sum over the micro-batches
    int64_t step; // slot: a slice's range, a random op's or port's `first` grow by so much a
                  // micro-batch
    ir_attr attr[IR_MAX_ATTR]; // in the table's order, defaults filled in; last, as they are large
} ir_node;

typedef struct ir_update {
    int tensor, next; // IR_PARAM, IR_STATE or IR_BUFFER -> the tensor that is its value next step
} ir_update;

typedef struct ir_optimizer { // defaults overridden by groups, first match wins
    hb_str name;              // "sgd" "momentum" "adam" "adamw"; empty: none
    double lr, beta1, beta2, eps, weight_decay, momentum, clip_norm; // clip_norm 0: none
    bool nesterov;
    int n_groups;
    struct ir_parameter_group {
        int n_match;
        hb_str *match; // globs over parameter names
        double lr_scale, weight_decay;
    } * group;
    int64_t warmup, stable, cosine, linear, inverse_sqrt; // steps, 0 = none (formats.md)
    bool has_start;
    double start, min_lr; // shares of lr: at step 0, at the end of the decay
} ir_optimizer;

enum { IR_SCHEDULE = 9 }; // rows of runtime/hap/schedule.def
extern const char *const ir_schedule_names[IR_SCHEDULE];
void ir_schedule(const ir_optimizer *o, double *num); // IR_SCHEDULE numbers, in that order

// What dense ops compute in. TF32 changes no graph: it is how the hardware multiplies f32.
typedef enum {
    IR_PRECISION_FP32,
    IR_PRECISION_TF32,
    IR_PRECISION_BF16,
    IR_N_PRECISIONS
} ir_precision;
const char *ir_precision_name(ir_precision p); // "fp32", "tf32", "bf16"
bool ir_precision_parse(hb_str s, ir_precision *p);

typedef struct ir_graph {
    hb_arena *arena;
    hb_source src;
    hb_str sha; // of the file's bytes, 16 hex digits
    HB_VEC(ir_tensor) tensors;
    HB_VEC(ir_node) nodes;
    HB_VEC(ir_update) updates;
    int loss;      // scalar tensor, -1 for a whole-step graph
    int64_t batch; // value of B
    hb_str producer;
    ir_optimizer opt;
    struct ir_alias {
        hb_str name;
        int tensor;
    } * alias; // other names of parameters (tied weights), for checkpoints
    int n_alias;
    HB_VEC(int) grads;      // pairs (param, gradient tensor: reduced, unclipped), after ir_autodiff
    ir_precision precision; // as the options say; ir_casts carries it out
    ir_dtype grad_dtype;    // of the parameters' gradients: IR_F32, or IR_BF16
    double expert_room;     // as the options say; ir_rooms carries it out
    int n_blocks;           // of the forward pass (recompute.c), marked in its nodes
    int micro_batches; // as a variant (variant.h): how often the slot is done; 0: no slot, 1: what
                       // it stands for stands there instead (ir_unroll)
    HB_VEC(int) recomputed; // and the blocks that are computed again, from 0 on, ascending
    int step_nodes;         // and of how many nodes the step is; 0: this is no variant
    int depth;         // of a stage (stages.h): micro-batches that are under way at once; else 0
    const int *few_of; // of a folded step (fold.h), by block of the whole one: that in its place
} ir_graph;

typedef struct ir_options {
    int64_t batch; // 0: as the file says
    ir_precision precision;
    ir_dtype grad_dtype;   // IR_F32 or IR_BF16
    double expert_room;    // for rows at their experts, times an even share; 0: rows do not move
    int64_t micro_batches; // variant.h; 0 and 1: the whole batch at once
    const char *recompute; // blocks: "all", "3" the first three, "0,2,5-7" these; NULL: none
    bool only_trained;     // a graph without an optimizer has no backward pass
} ir_options;

// How large a step is, whatever variant of it this is: what its planning may cost goes by that.
static inline int ir_step_nodes(const ir_graph *g)
{
    return g->step_nodes > 0 ? g->step_nodes : g->nodes.n;
}

// How often a node is done in a step.
static inline int ir_node_slots(const ir_graph *g, int node)
{
    return ir_in_slot(g->nodes.p[node].turn) ? g->micro_batches : 1;
}

// Reads, verifies and shape-checks a graph file. NULL after errors were added to d.
ir_graph *ir_read(hb_arena *a, const char *path, const ir_options *o, hb_diag *d);
ir_graph *ir_read_source(hb_arena *a, const hb_source *src, const ir_options *o, hb_diag *d);
// The steps after reading; each appends to or rewrites g. False after errors (located).
bool ir_expand(ir_graph *g, hb_diag *d);
bool ir_casts(ir_graph *g, hb_diag *d); // between ir_expand and ir_autodiff
bool ir_rooms(ir_graph *g, hb_diag *d); // behind ir_casts
bool ir_autodiff(ir_graph *g, hb_diag *d);
bool ir_optimize(ir_graph *g, hb_diag *d);
// All of the above in order. NULL after errors.
ir_graph *ir_build(hb_arena *a, const char *path, const ir_options *o, hb_diag *d);
// Checks every invariant of this header; on a violation fills *why and returns false.
bool ir_verify(const ir_graph *g, hb_str *why);
void ir_print(hb_buf *out, const ir_graph *g);

// Building, also used by tests: appends a node, infers and declares its outputs (named name,
// name.1, …). hb_assert on a mismatch; attrs may be NULL (all defaults).
int ir_add_tensor(ir_graph *g, hb_str name, ir_kind kind, ir_dtype dtype, int rank,
                  const int64_t *dim);
int ir_add_node(ir_graph *g, hb_str name, ir_op op, ir_phase phase, int n_in, const int *in,
                const ir_attr *attrs); // returns the node's id
// Shape and dtype inference of one node (infer.c): fills rank, dims and dtype of every output.
// False with *why on a mismatch.
bool ir_infer(const ir_graph *g, const ir_node *n, ir_tensor *outs, hb_arena *a, hb_str *why);
int64_t ir_elements(const ir_tensor *t);
ir_graph *ir_graph_new(hb_arena *a);
// A copy without tensors, nodes, updates and gradients: what another graph of the same step begins
// as.
ir_graph *ir_empty_like(hb_arena *a, const ir_graph *g);

#endif
