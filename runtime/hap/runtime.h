// runtime.h: all that an emitted program sees.
//
// One process a rank, started by MPI. A program declares its mesh, its segments and its tensors,
// then runs one straight-line step in `while (hap_next_step(r))`. Nothing is allocated inside the
// step: every tensor lies at an offset of one of two segments, chosen by the plan. The same program
// links against any backend: haprt-cpu (OpenBLAS, MPI), haprt-record (logs every call; `hapc
// check`).
//
// Shapes are global; how a rank's part is cut out of a dim is written in the dim:
//     WHOLE(n)                       all of it, on every coordinate
//     CUT(axis, n, table)            coordinate c of the axis holds table[c] entries, in order
//     CUT_IN(axis, o, n, i, table)   the dim is o x n x i, its middle factor is cut; size o*n*i
//     CUT2(n, table)                 one factor over both axes: table[rank], machine-major
//     CUT2_IN(o, n, i, table)        the same for a factor inside a dim
// A partial sum is not in the shape: it is a matter of the plan (and of its comments).

#ifndef HAP_RUNTIME_H
#define HAP_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HAP_MAX_RANK = 6, HAP_MAX_AXES = 2 };

// as ir_dtype
typedef enum { HAP_F32, HAP_BF16, HAP_F16, HAP_I64, HAP_I32, HAP_BOOL, HAP_U8 } hap_dtype;
typedef enum { HAP_NN, HAP_NT, HAP_TN } hap_trans;
typedef enum { SEG_SYM, SEG_LOCAL } hap_segment;

typedef struct hap_rank hap_rank;
typedef struct hap_tensor hap_tensor;
typedef struct hap_event hap_event;

typedef struct hap_dim {
    int64_t n;            // global size of the cut factor (of the dim if whole)
    int64_t outer, inner; // factors before and after it in the dim; 1 unless CUT_IN, CUT2_IN
    int axis;             // -1 whole; else the axis; HAP_BOTH for CUT2
    const int64_t *table; // entries per coordinate, sums to n; lives as long as the program
} hap_dim;
enum { HAP_BOTH = HAP_MAX_AXES };
#define WHOLE(n)                     ((hap_dim){(n), 1, 1, -1, NULL})
#define CUT(axis, n, table)          ((hap_dim){(n), 1, 1, (axis), (table)})
#define CUT_IN(axis, o, n, i, table) ((hap_dim){(n), (o), (i), (axis), (table)})
#define CUT2(n, table)               ((hap_dim){(n), 1, 1, HAP_BOTH, (table)})
#define CUT2_IN(o, n, i, table)      ((hap_dim){(n), (o), (i), HAP_BOTH, (table)})
// Tables of many entries: HAP_X256(3) stands for 256 entries of 3.
#define HAP_X4(v)     v, v, v, v
#define HAP_X8(v)     HAP_X4(v), HAP_X4(v)
#define HAP_X16(v)    HAP_X8(v), HAP_X8(v)
#define HAP_X32(v)    HAP_X16(v), HAP_X16(v)
#define HAP_X64(v)    HAP_X32(v), HAP_X32(v)
#define HAP_X128(v)   HAP_X64(v), HAP_X64(v)
#define HAP_X256(v)   HAP_X128(v), HAP_X128(v)
#define HAP_X512(v)   HAP_X256(v), HAP_X256(v)
#define HAP_X1024(v)  HAP_X512(v), HAP_X512(v)
#define HAP_DIMS(...) ((const hap_dim[]){__VA_ARGS__})

typedef struct hap_ints {
    int n;
    const int64_t *v;
} hap_ints;
#define HAP_INTS(...)                                                                              \
    ((hap_ints){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                         \
                (const int64_t[]){__VA_ARGS__}})

// --- start ---

// Reads the program's options (hap/run_options.def; `hapc run --help` prints them). Exits with a
// message if one is wrong, or the number of ranks.
hap_rank *hap_init(int *argc, char ***argv, const char *graph_sha, int n_ranks);
// How f32 matmuls are computed, said before hap_mesh if it is not HAP_MATH_F32: in tf32, with
// operands rounded to 11 bits, on devices that have it (hapc --precision tf32).
typedef enum { HAP_MATH_F32, HAP_MATH_TF32 } hap_math_mode;
void hap_math(hap_rank *r, hap_math_mode mode);
// Where ranks run, said before hap_mesh if it is not the usual. Static tables of one entry a rank
// (of the stage, where there are such), or NULL. device: of the rank's host (usual: its place among
// the ranks there). sms: how many SMs it may use, 0 all. host: its host as NCCL is to see it;
// different ones are joined by sockets. The last two emulate other hardware, and reports of steps
// say so. On CPUs no table has a meaning.
void hap_places(hap_rank *r, const int *device, const int *sms, const int *host);
void hap_mesh(hap_rank *r, int n_axes, const int *sizes); // rank = coord0 * sizes[1] + coord1
void hap_classes(hap_rank *r, const int *class_of_rank);
// Bytes of the two segments; local_bytes has one entry per class.
void hap_segments(hap_rank *r, int64_t sym_bytes, const int64_t *local_bytes);

// A tensor at byte offset off[class of the rank] of a segment. dims may be NULL if rank is 0.
hap_tensor *hap_at(hap_rank *r, hap_segment seg, const int64_t *off, hap_dtype type, int rank,
                   const hap_dim *dims);

typedef struct hap_fill {
    int kind; // 0 constant a, 1 normal with mean a and deviation b, 2 uniform [a, b), 3 a + b * i
              // (last dim)
    double a, b;
} hap_fill;
#define HAP_FILL(c)           ((hap_fill){0, (c), 0})
#define HAP_NORMAL(mean, std) ((hap_fill){1, (mean), (std)})
#define HAP_UNIFORM(a, b)     ((hap_fill){2, (a), (b)})
#define HAP_IOTA(start, step) ((hap_fill){3, (start), (step)})

// --- the same as two tables: how dims are cut, and what lies where (words for rows: hap/table.h)
// ---

enum { HAP_MAX_CLASSES = 16, HAP_UNIT = 256 };

// HAP_CUT("rows", 0, 8, 4, 3, 1): 8 entries over axis 0 (or HAP_BOTH), so many a coordinate.
typedef struct hap_cuts {
    const char *name;
    int axis;
    int64_t size;
    int n; // entries
    const int64_t *entry;
} hap_cuts;
#define HAP_CUT(name, axis, size, ...)                                                             \
    {                                                                                              \
        (name), (axis), (size), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),         \
            (const int64_t[])                                                                      \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

// A row of the table: a buffer, or n of them that differ in nothing but their place. Buffer k lies
// at place k % places, each as far behind the one before as the largest part in the class is long,
// rounded up to HAP_UNIT bytes (in SEG_SYM: in all classes, to 4096).
typedef enum {
    HAP_AS_VALUE,
    HAP_AS_INPUT,
    HAP_AS_PARAM,
    HAP_AS_STATE,
    HAP_AS_BUFFER,
    HAP_AS_CONST,
    HAP_AS_CONST_FILE
} hap_as;
typedef struct hap_place {
    const char *name;
    hap_tensor **to; // gets buffer 0; buffer k's pointer lies k * pitch bytes behind it
    size_t pitch;
    int first, n, places; // first: number of the block that buffer 0 is of
    const char *shape;
    hap_segment segment;
    int64_t at[HAP_MAX_CLASSES]; // of place 0, by class, in units of HAP_UNIT bytes; SEG_SYM: at[0]
    hap_tensor **of;             // what it is a view of; NULL
    size_t of_pitch;
    int line;
    hap_as as;
    const char *outer, *file; // its name outside, * for a block's number; "F.safetensors#name"
    const hap_fill *fill;
} hap_place;
#define HAP_N(x) (int)(sizeof(x) / sizeof *(x))

// --- stages: a rank does one, with the ranks of that stage; all else is of the stage ---

// By stage: its first rank among those of the program, its mesh (1 where there is no second axis)
// and its cuts.
typedef struct hap_stage {
    int first, n_axes, size[HAP_MAX_AXES], n_cuts;
    const hap_cuts *cuts;
} hap_stage;
// By port: what goes through, the stage that sends it and its shape there, the stage that gets it
// and its shape there, as in tables of buffers.
typedef struct hap_port {
    const char *name;
    int from;
    const char *sent;
    int to;
    const char *got;
} hap_port;
// The next part of a slot: micro-batch m, forward, back, or (back as well) weight gradients that
// were left for later.
typedef struct hap_slot {
    int64_t m;
    bool back, weights;
} hap_slot;
#define HAP_FORWARD(m)                                                                             \
    {                                                                                              \
        (m), false, false                                                                          \
    }
#define HAP_BACK(m)                                                                                \
    {                                                                                              \
        (m), true, false                                                                           \
    }
#define HAP_WEIGHTS(m)                                                                             \
    {                                                                                              \
        (m), true, true                                                                            \
    }
// Called before hap_mesh; returns this rank's stage. Tables live as long as the program. op_send
// and op_recv name ports by their place in the table; a message that is sent may be overwritten at
// once.
int hap_stages(hap_rank *r, int n_stages, const hap_stage *stages, int n_ports,
               const hap_port *ports);
// Said behind hap_segments: n places of a ring in SEG_LOCAL, the first at byte at[class], each of
// bytes[class]. A tensor declared in the first place is in all of them; hap_ring says in which it
// is meant from here on (in the first, where nothing was said).
void hap_rings(hap_rank *r, int n, const int64_t *at, const int64_t *bytes);
void hap_ring(hap_rank *r, int place);

void hap_declare(hap_rank *r, const char *file, int n_cuts, const hap_cuts *cuts, int n,
                 const hap_place *table);
#define hap_declare(r, cuts, table)                                                                \
    hap_declare(hap_line(r, __LINE__), __FILE__, HAP_N(cuts), cuts, HAP_N(table), table)

void hap_input(hap_rank *r, const char *name, hap_tensor *t); // filled from --input each step
void hap_param(hap_rank *r, const char *name, hap_tensor *t, hap_fill init);
void hap_state(hap_rank *r, const char *name, hap_tensor *t); // zero at the start, saved
void hap_buffer(hap_rank *r, const char *name, hap_tensor *t, hap_fill init);
void hap_const(hap_rank *r, const char *name, hap_tensor *t, hap_fill value);
void hap_const_file(hap_rank *r, const char *name, hap_tensor *t, const char *file_and_name);
void hap_grad(hap_rank *r, const char *name, hap_tensor *t); // for --save-grads (hapc --keep-grads)
void hap_alias(hap_rank *r, const char *name,
               const char *of);            // another name of a parameter, in checkpoints
void hap_loss(hap_rank *r, hap_tensor *t); // whole on every rank
void hap_batch(hap_rank *r, int64_t rows, int64_t tokens_per_row);

typedef struct hap_lr { // core/learning_rate.h says what they mean
    double lr;
    int64_t warmup, cosine; // steps; 0 = none
    double min_lr;          // share of lr at the end of the decay
    bool has_start;
    double start; // share of lr at step 0, if has_start
    int64_t stable, linear, inverse_sqrt;
} hap_lr;
void hap_schedule(hap_rank *r, hap_lr lr);

// Reports the last step, loads the next inputs; false at the end. On a GPU the loop's body runs a
// few times ahead of step 0 as well, as a rehearsal of which nothing stays.
bool hap_next_step(hap_rank *r);
int hap_finish(hap_rank *r); // saves, closes; the program's exit code

// --- ops: one function a op of the table, outputs first (generated) ---
#include "hap/ops.h"

// --- changes of state without communication ---
void hap_cut(hap_rank *r, hap_tensor *y, hap_tensor *x); // whole -> cut: keeps this rank's part
// whole -> partial sum over the axes: a copy on coordinate 0 of each, zeros elsewhere
void hap_partial(hap_rank *r, unsigned axes, hap_tensor *y, hap_tensor *x);

// --- groups: the ops from hap_fuse to hap_fused are one kernel of kernels.cu on a GPU ---
// Of what they make the n tensors in `kept` are there afterwards; the others need not be.
void hap_fuse(hap_rank *r, const char *kernel);
void hap_fused(hap_rank *r, int n, hap_tensor *const *kept);

// --- collectives: started, then waited for; dst and src are lists of n (a bucket) ---
// The axis mask says which groups take part. scratch may be NULL where the form needs none; its
// size is what the plan computed (docs/formats.md), checked at run time.
#define AXIS(a) (1u << (a))
typedef enum {
    FORM_EVEN,      // the library's own collective on equal shards
    FORM_PADDED,    // shards padded to the largest inside scratch
    FORM_GROUPED,   // a broadcast or reduce per rank
    FORM_SENDRECV,  // point to point
    FORM_EVEN_FLAT, // even over the flattened tensor, then neighbours exchange the difference
    FORM_FLAT,      // all-reduce in one piece
    FORM_TWO_LEVEL, // reduce-scatter inside, all-reduce between, all-gather inside
    FORM_PUTS       // FORM_PUT(copies): every part straight into the memory of its owner
} hap_form;
// At most so many copies of a rank in flight: 1, one after the other, to one to every other member.
#define FORM_PUT(copies) ((hap_form)(FORM_PUTS | (unsigned)(copies) << 4))
typedef enum { HAP_SUM, HAP_MAX } hap_reduce;

hap_event *coll_all_gather_start(hap_rank *r, unsigned axes, hap_form form, int n,
                                 hap_tensor *const *dst, hap_tensor *const *src,
                                 hap_tensor *scratch);
hap_event *coll_reduce_scatter_start(hap_rank *r, unsigned axes, hap_form form, int n,
                                     hap_tensor *const *dst, hap_tensor *const *src,
                                     hap_tensor *scratch);
hap_event *coll_all_reduce_start(hap_rank *r, unsigned axes, hap_form form, int n,
                                 hap_tensor *const *dst, hap_tensor *const *src,
                                 hap_tensor *scratch);
hap_event *coll_all_reduce_max_start(hap_rank *r, unsigned axes, hap_form form, int n,
                                     hap_tensor *const *dst, hap_tensor *const *src,
                                     hap_tensor *scratch);
// Cut on one dim to cut on another.
hap_event *coll_all_to_all_start(hap_rank *r, unsigned axes, hap_form form, int n,
                                 hap_tensor *const *dst, hap_tensor *const *src,
                                 hap_tensor *scratch);
// Same factor, another table.
hap_event *coll_reshard_start(hap_rank *r, unsigned axes, hap_form form, int n,
                              hap_tensor *const *dst, hap_tensor *const *src, hap_tensor *scratch);
void hap_wait(hap_rank *r, hap_event *e);

// --- pairs: a collective beside the matmuls that it feeds, or the matmul that feeds it ---
// The calls from hap_overlap to hap_overlapped mean what they mean without these two. They are the
// start of an all-gather, its wait and up to 8 matmuls (linear, matmul) of what it gathers; or one
// matmul and the start of a reduce-scatter, all-reduce or all-to-all of what it makes, whose wait
// stands later. A group is {distance, weight}: rows of the matmul that come from coordinate
// (own - distance), or go to coordinate (own + distance), 0 the own rows; groups of one distance
// share its rows in the order given, in proportion to their weights where the coordinate has most
// rows; others have of each part as many as they have left. Every distance has a group; of an
// all-reduce there is distance 0 alone, of all rows. Work is done in the order of the groups, each
// once its rows are there, and what it makes is sent at once. A weight -w joins its group to the
// one before: their rows are one matmul. {distance, weight, via} of an all-gather: rows of a
// coordinate that has more of them than the one `via` (not 0, not the distance) behind it come by
// way of that one, which passes them on when it has got them itself; the groups of distance `via`
// that these rows are in stand before.
void hap_overlap(hap_rank *r, int n_groups, const int64_t (*groups)[3]);
// Directly behind hap_overlap: the pair as one launch of a kernel that makes its matmuls tile by
// tile (hap/tiles.def has the forms), where the device has one and its ranks are peers. Tiles lie
// from each coordinate's first row on and go in the order of these groups, which are what is sent
// then. how: HAP_TILE_ bits.
enum {
    HAP_TILE_TURNS = 1,   // the form of two warpgroups in turns
    HAP_TILE_SUMS = 2,    // a reduce-scatter's sums are added where own tiles end, which come last
    HAP_TILE_BY_ROWS = 4, // an all-reduce: groups of all distances as of a reduce-scatter, with
                          // even shares of the rows, whose sums are then sent to all
    HAP_TILE_FIRST = 8,   // planned to be quicker than the groups of hap_overlap
    HAP_TILE_STORES = 16, // of an all-gather none of whose rows are passed on, or of sums: the
                          // kernel itself stores parts, and sums by rows, to where they go, in
                          // place of copies
    HAP_TILE_PARTS = 32 // of an all-gather, a form not in turns: the last tiles, which do not come
                        // out even, may be shared by processors in parts of their k
};
void hap_tiles(hap_rank *r, int rows, int cols, unsigned how, int n_groups,
               const int64_t (*groups)[3]);
void hap_overlapped(hap_rank *r);

hap_rank *hap_line(hap_rank *r, int line); // remembers the source line of the call being made
#define hap_at(r, ...)                hap_at(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_input(r, ...)             hap_input(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_param(r, ...)             hap_param(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_state(r, ...)             hap_state(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_buffer(r, ...)            hap_buffer(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_const(r, ...)             hap_const(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_const_file(r, ...)        hap_const_file(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_grad(r, ...)              hap_grad(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_alias(r, ...)             hap_alias(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_batch(r, ...)             hap_batch(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_schedule(r, ...)          hap_schedule(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_loss(r, t)                hap_loss(hap_line(r, __LINE__), t)
#define hap_cut(r, ...)               hap_cut(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_partial(r, ...)           hap_partial(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_fuse(r, kernel)           hap_fuse(hap_line(r, __LINE__), kernel)
#define hap_fused(r, ...)             hap_fused(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_wait(r, e)                hap_wait(hap_line(r, __LINE__), e)
#define hap_overlap(r, ...)           hap_overlap(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_tiles(r, ...)             hap_tiles(hap_line(r, __LINE__), __VA_ARGS__)
#define hap_overlapped(r)             hap_overlapped(hap_line(r, __LINE__))
#define coll_all_gather_start(r, ...) coll_all_gather_start(hap_line(r, __LINE__), __VA_ARGS__)
#define coll_reduce_scatter_start(r, ...)                                                          \
    coll_reduce_scatter_start(hap_line(r, __LINE__), __VA_ARGS__)
#define coll_all_reduce_start(r, ...) coll_all_reduce_start(hap_line(r, __LINE__), __VA_ARGS__)
#define coll_all_reduce_max_start(r, ...)                                                          \
    coll_all_reduce_max_start(hap_line(r, __LINE__), __VA_ARGS__)
#define coll_all_to_all_start(r, ...) coll_all_to_all_start(hap_line(r, __LINE__), __VA_ARGS__)
#define coll_reshard_start(r, ...)    coll_reshard_start(hap_line(r, __LINE__), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
