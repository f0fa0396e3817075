// What the mod-p proof computes with: numbers, shrunken sizes, ranks and parts of tensors.
//
// All values are numbers mod p, but where an op reads positions: these are integers. A part knows
// for every local index of a dim the global one and back, so rows meet operands by global index:
// parts that do not meet are found by whoever reads them.

#ifndef HAP_SYNTH_MODP_MODEL_H
#define HAP_SYNTH_MODP_MODEL_H

#include "synth/certify/modp.h"
#include "synth/plan/search_limits.h"

#define MP_P ((UINT64_C(1) << 61) - 1)

typedef struct mp_index { // one dim of a part: entries [first, first + count) of its cut factor
    int64_t outer, n, inner, first, count;
    int64_t l, g;     // local and global size
    int32_t *at, *of; // global index by local, local by global (-1: not here)
    struct mp_index *next;
} mp_index;

typedef struct mp_part {
    int rank;
    const mp_index *ix[IR_MAX_RANK];
    int64_t n; // elements
    uint64_t *v;
    ir_dtype dtype;
    bool index; // positions: integers, not numbers mod p
} mp_part;

typedef struct mp_size { // all factors of one size are shrunk alike
    int64_t size, small;
    bool pinned; // keeps its size
    bool cut;    // by some table
} mp_size;

// One table of the record; equal ones on one axis of one size are one cut.
typedef struct mp_cut {
    int axis, n_table;
    int64_t size;
    const int64_t *table;
    int sums;              // SYN_BOTH: the cut of axis 0 by its sums; else -1
    int64_t *need, *entry; // shrunken, by kept coordinate: least, and chosen
} mp_cut;

enum { MP_COORDS = SYN_MAX_AXES + 1 };
typedef struct mp {
    hb_arena *a, *tmp;
    const ir_graph *g;
    const ir_factors *f;
    const record *r;
    bool exact;          // nothing is shrunk, no rank left out
    uint64_t seed, rate; // rate: the learning rate, by its schedule
    // modp_ranks.c: the ranks that are kept
    int n_ranks, n_kept[MP_COORDS]; // by axis; SYN_BOTH: n_ranks
    int *kept[MP_COORDS];           // coordinates of the record
    int *coord;                     // [rank * MP_COORDS + axis], of the kept mesh
    HB_VEC(mp_cut) cuts;
    int (*cut)[IR_MAX_RANK]; // by record tensor and dim, -1: whole
    // modp_shrink.c
    HB_VEC(mp_size) sizes;
    hb_map *size_at;
    int *size_of; // by factor class: index of its size
    mp_index *bucket[SYN_MODP_BUCKETS];
    hb_str why;
} mp;

void mp_reset(mp *m); // m->tmp is empty again
bool mp_fail(mp *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// --- numbers
static inline uint64_t mp_add(uint64_t a, uint64_t b)
{
    uint64_t s = a + b;
    return s >= MP_P ? s - MP_P : s;
}
static inline uint64_t mp_sub(uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + MP_P - b;
}
static inline uint64_t mp_mul(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide w = (wide)a * b;
    uint64_t s = (uint64_t)(w & MP_P) + (uint64_t)(w >> 61);
    return s >= MP_P ? s - MP_P : s;
}
// A sum of products, reduced only now and then: 63 products of numbers below p fit.
__extension__ typedef unsigned __int128 mp_wide;
static inline mp_wide mp_fold(mp_wide s) // below 2^68
{
    return (s & MP_P) + (s >> 61);
}
static inline uint64_t mp_narrow(mp_wide s)
{
    uint64_t r = (uint64_t)mp_fold(mp_fold(s));
    return r >= MP_P ? r - MP_P : r;
}
// Order of numbers as integers in (-p/2, p/2), so that 0 is not the least; MP_LEAST is.
#define MP_LEAST ((MP_P + 1) / 2)
static inline bool mp_more(uint64_t a, uint64_t b)
{
    return mp_sub(a, MP_LEAST) > mp_sub(b, MP_LEAST);
}
uint64_t mp_inverse(uint64_t a); // of 0: 0
static inline uint64_t mp_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
static inline uint64_t mp_hash(const mp *m, uint64_t key, uint64_t x)
{
    return mp_mix(mp_mix(m->seed ^ mp_mix(key)) ^ x) % MP_P;
}
uint64_t mp_int(int64_t i);               // as a number
uint64_t mp_const(const mp *m, double f); // integers as they are, other constants hashed

// --- modp_ranks.c
bool mp_ranks(mp *m); // kept ranks, cuts, cut
// Shrunken entries of all cuts of a factor size, each summing to *small; grow: from the least on.
// False after mp_fail: there are too many unlike cuts for so small a factor.
bool mp_cut_entries(mp *m, int64_t size, int64_t *small, bool grow);

// --- modp_shrink.c
bool mp_shrink(mp *m);
int64_t mp_small_dim(const mp *m, int tensor, int dim);
const mp_index *mp_whole(mp *m, int tensor, int dim);
// The part of graph tensor t that a record tensor holds on a kept rank. v is left alone.
bool mp_shape(mp *m, int t, int record_tensor, int rank, mp_part *out);

// --- modp_fill.c
typedef struct mp_fill {
    hb_str name;
    double num[3]; // kind, a, b, as rec_call
} mp_fill;
mp_fill mp_fill_of(const ir_graph *g, int t);
typedef struct mp_positions {
    int64_t limit;  // rows of the largest table that they may point into
    int64_t ignore; // what losses leave out
} mp_positions;
mp_positions mp_positions_of(mp *m);
// Positions for all elements of a part; the first points into every table, and no loss ignores it.
void mp_fill_positions(mp *m, mp_part *p, uint64_t key, const mp_positions *at);

// --- modp_pattern.c: what small sizes would not decide, on the record's own sizes. False after
// mp_fail.
bool mp_is_index(ir_op op, int slot); // an operand of positions

// --- modp_align.c: where the elements of s[0..ns) are in x[0..nx), aligned right: offsets in
// x[0..nx). map: dim of s of every dim of x (NULL: aligned right); shift: added to the index,
// outside x gives -1. NULL after mp_fail.
int32_t *mp_align(mp *m, const mp_part *s, int ns, const mp_part *x, int nx, const int *map,
                  const int64_t *shift);
// Dim dx of x and dim dy of y are one factor: the same entries on this rank. False after mp_fail.
bool mp_same(mp *m, const mp_part *x, int dx, const mp_part *y, int dy);
int64_t mp_count(const mp_part *x, int rank); // elements of the leading dims
int64_t *mp_global(mp *m, const mp_part *x);  // global row-major index of every element

// --- meanings, by hand: out[].v are zeroed, of out[].n elements. False after mp_fail.
typedef struct mp_call {
    ir_op op;
    const ir_attr *attr;
    int n_in, n_out;
    const mp_part *in;
    mp_part *out;
} mp_call;
typedef bool mp_meaning(mp *m, const mp_call *c);
// Each NULL where the op is not one of the file.
mp_meaning *mp_point(ir_op op); // modp_points.c: pointwise ops, optimizer, views
mp_meaning *mp_stat(ir_op op);  // modp_stats.c: reductions, lookups, losses, norms
mp_meaning *mp_dense(ir_op op); // modp_dense.c
mp_meaning *mp_conv(ir_op op);  // modp_conv.c: convolution, pooling
mp_meaning *mp_moe(ir_op op);   // modp_moe.c: gates, slots, dispatch, combine
static inline uint64_t mp_get(const mp_part *x, int64_t i) // as a number
{
    return x->index ? mp_int((int64_t)x->v[i]) : x->v[i];
}

// --- modp_graph.c: the graph's values, their names and their numbers on one rank
typedef struct mp_graph {
    mp_part *number, *index; // by graph tensor: as numbers, as positions; v NULL: not yet
    bool *null;              // by graph tensor: found to be 0, whatever it is made of
    uint64_t *term;          // by graph tensor: what it is made of
    int *tensor_next;        // by graph tensor: next of the same term, -1
    hb_map *of_term;         // first tensor
    hb_map *of_name;         // declared tensors
    mp_positions positions;
} mp_graph;
void mp_graph_new(mp *m, mp_graph *x);
mp_part mp_whole_part(mp *m, int tensor); // without numbers
const mp_part *mp_value(mp *m, mp_graph *x, int tensor, bool index);
mp_meaning *mp_meaning_of(ir_op op);                 // NULL: it has none
bool mp_apply(mp *m, hb_arena *a, const mp_call *c); // allocates out[].v
uint64_t mp_rate(const mp *m, const double *schedule);
uint64_t mp_term_leaf(const mp *m, hb_str name, const mp_fill *f);
// Of output 0; others are mp_mix(term + their number).
uint64_t mp_term_op(const mp *m, ir_op op, const ir_attr *attr, int n_in, const uint64_t *in);
int mp_tensor_of(const mp_graph *x, uint64_t term); // first, -1

// --- modp_call.c: one call by itself, on the kept ranks. partial: by axis, 0, 's' or 'm'.
typedef struct mp_held {
    int tensor; // of the record
    char partial[SYN_MAX_AXES];
    bool null; // 0 whatever the operands are: whole and partial at once
} mp_held;
bool mp_pattern_op(mp *m, const rec_call *k, const mp_held *in);        // modp_pattern.c
bool mp_pattern_move(mp *m, int from, int to, unsigned axes, char how); // the same
// Operands hold the node's operands so; finds out what the outputs are.
bool mp_prove_op(mp *m, mp_graph *x, const rec_call *k, int node, const mp_held *in, mp_held *out);
// in holds graph tensor t; axes: which ranks exchange; how: 0, 's', 'm'; zero: axes on which only
// coordinate 0 keeps its part.
bool mp_prove_move(mp *m, mp_graph *x, int t, unsigned axes, char how, unsigned zero,
                   const mp_held *in, mp_held *out);

// --- modp_bytes.c: which buffers a write destroys
typedef struct mp_bytes mp_bytes;
mp_bytes *mp_bytes_new(mp *m);
// Buffer `id` is written; content: of the bytes (equal contents in one range are one). Calls lost
// for every other buffer whose bytes change.
void mp_bytes_write(mp_bytes *b, int id, int content, void (*lost)(void *user, int id), void *user);
bool mp_bytes_share(const mp_bytes *b, int x, int y, bool *same_range);

#endif
