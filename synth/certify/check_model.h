// What the checker knows while it walks a record: buffers, what they hold, and where they lie.
//
// A *value* is a number: two tensors of the graph that the same op makes from the same values with
// the same attributes have the same number, so that it does not matter which of two equal nodes a
// call stands for. A buffer holds one value in one state; the cuts of the state are those of its
// declared dims, the partial axes are derived by the walk. Nothing here reads a syn_program: the
// record, the graph and the factor rules are all that the certificate rests on.
//
// Invariants between two calls: a buffer with value >= 0 holds exactly that value on every rank, no
// byte of it was written since; `busy` buffers belong to the collective that was started and not
// waited for.

#ifndef HAP_SYNTH_CHECK_MODEL_H
#define HAP_SYNTH_CHECK_MODEL_H

#include "synth/certify/record.h"

typedef struct chk_buffer {
    const rec_tensor *t;
    int64_t elements, max_elements; // of the global tensor; of the largest rank's part
    int64_t bytes[CL_MAX_CLASSES];  // largest part in the class
    int64_t first, end;             // least and greatest offset it takes in any class
    int cut[SYN_MAX_AXES];          // which dim the axis cuts, -1; over both axes: one dim
    bool checked;                   // placement and tables were looked at
    int value;                      // value number, -1: nothing
    char partial[SYN_MAX_AXES];     // 0, 's', 'm'
    int content;   // equal for buffers known to hold the same bytes (zero-copy views)
    int busy;      // call that started a collective writing it, -1
    int frozen;    // collectives in flight that read it
    int frozen_by; // the last of them
    int lost;      // call that wrote over its value, -1
    int last_use;  // last call that reads it; n_calls: the end of the step
    bool live;     // in the spaces of check_live.c
    int since;     // when it became live, counted
    int found;     // last query that found it
} chk_buffer;

typedef struct chk_table { // of a cut dim
    const rec_dim *dim;
    bool good;          // no entry is negative, the sum is the factor's size
    int64_t most, step; // largest entry; every boundary but the end is a multiple of it, 0: none
} chk_table;
typedef struct chk_space chk_space;

typedef struct chk {
    hb_arena *a;
    const ir_graph *g;
    const ir_factors *f;
    const record *r;
    hb_str *why;
    // values (check_values.c)
    int n_values;
    int *value_of;    // by graph tensor
    int *tensor_of;   // by value: the first tensor that has it
    int *equal_next;  // by tensor: the next one of the same value, -1
    int *alike_first; // by alike of equal nodes: first node
    int *alike_next;  // by node: next equal node, -1
    hb_map *alike;    // key of (op, operand values, attributes) -> alike
    // buffers
    int n_buffers;
    chk_buffer *buf;          // by record tensor
    HB_VEC(chk_table) tables; // check_ranks.c
    hb_map *table_at;
    int n_kinds, *rank_of_kind; // kinds of ranks: one rank of each
    int n_spaces;               // check_live.c
    chk_space *space[1 + CL_MAX_CLASSES];
    HB_VEC(int) hit;
    int n_queries, n_enlisted;
    hb_map *declared; // by kind and name: graph tensor that no node makes
    int *home;        // by graph tensor: buffer that declares it, -1
    int next_content;
    int fusion, pair;        // calls that began the fusion and the pair that are open, -1
    int at;                  // index of the call being checked, n_calls at the end of the step
    const rec_call *closing; // at the end of the step: the declaration whose value is looked at
} chk;

// --- check_print.c: messages. Every function that can fail returns false after chk_fail filled
// *why.
bool chk_fail(chk *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
hb_str chk_where(const chk *c, int call); // "program.c:83: op_linear", "call 17: op_linear"
hb_str chk_name(const chk *c, int value); // name of a value
hb_str chk_state(const chk *c, const chk_buffer *b, int axis); // "R", "S(d0 even)", "P(sum)"
hb_str chk_table_text(const chk *c, const rec_dim *d);         // "even", "by 8,4"
hb_str chk_cut_text(const chk *c, int dim, const rec_dim *d);  // "S(d2 3x[12]x64 by 8,4)"

// --- check_values.c
void chk_number(chk *c);
// Equal nodes that a call stands for, -1 if none: then *why_not says how the nearest node
// differs.
int chk_find(chk *c, const rec_call *call, const int *in_values, hb_str *why_not);
bool chk_attr_eq(const ir_attr *a, const ir_attr *b);

// --- check_ranges.c
bool chk_same_table(const rec_dim *a, const rec_dim *b); // of one axis, or both over both
bool chk_same_cut(const rec_dim *a, const rec_dim *b);
bool chk_same_range(const chk *c, const chk_buffer *a, const chk_buffer *b);
bool chk_overlap(const chk *c, const chk_buffer *a, const chk_buffer *b);
int64_t chk_local(const chk *c, const rec_tensor *t, int rank); // elements
int chk_coord(const chk *c, int rank, int axis);

// --- check_memory.c
bool chk_layout(chk *c); // header of the record, tables, offsets, ranges
// b is fit for holding graph tensor t: shape and dtype. Without `what`, without a message.
bool chk_fits(chk *c, int b, int tensor, const char *what);
// what: in messages; with n >= 0 "what n".
bool chk_read(chk *c, int b, const char *what, int n);
// b is written: everything else in its bytes is lost. content: of the bytes written (0: new).
bool chk_write(chk *c, int b, const char *what, int n, int content);
// b holds the value from now on; right after chk_write, which forgets buffers that hold nothing.
void chk_hold(chk *c, int b, int value, const char *partial);

// --- check_ranks.c
chk_table chk_table_of(chk *c, const rec_dim *d); // d is cut
void chk_ranks(chk *c);                           // after all tables were asked for

// --- check_live.c
void chk_spaces(chk *c);           // after all places are known
void chk_enlist(chk *c, int b);    // b is live
void chk_delist(chk *c, int b);    // b is not
void chk_find_live(chk *c, int b); // chk.hit: live buffers that share a byte with b, and b if it is

// --- check_op.c, check_coll.c: one call each
bool chk_op(chk *c, const rec_call *call);
bool chk_slice(chk *c, const rec_call *call);
bool chk_partial(chk *c, const rec_call *call);
bool chk_start(chk *c, const rec_call *call);

// --- check_fusion.c: a fusion's calls are run by one kernel
bool chk_fuse(chk *c);
bool chk_fused(chk *c, const rec_call *call);

// --- check_pair.c: a pair's calls run at the same time
bool chk_pair(chk *c);
bool chk_tiles(chk *c); // its list of tiles, read where the pair ends
bool chk_paired(chk *c);
// --- check_chunks.c: its chunks, and its list's
int64_t chk_group_size(const chk *c, unsigned axes);
int64_t chk_held(const chk *c, const rec_dim *d, int rank); // entries of a dim that a rank holds
// Of its distance's weights, which chunk k is: [*from, *to) of *all.
void chk_share(const rec_call *overlap, int k, int64_t *from, int64_t *to, int64_t *all);
// Chunks of distances 0 to n - 1, each there, and what is passed on there before.
bool chk_chunks(chk *c, const rec_call *overlap, const rec_call *start, int64_t n);
// --- check_list.c: every tile of a pair's list once, every flag before its read
bool chk_list(chk *c, const rec_call *call, const rec_call *start);

// --- check_decl.c: what the program declares before the step, and what must hold at its end
bool chk_declarations(chk *c);
bool chk_closing(chk *c);
// The cut of b on the axis stands at a factor of the value that may be cut so.
bool chk_legal_cut(chk *c, int value, const chk_buffer *b, int axis);

#endif
