// Matmuls by kernels of our own, one for sm_90a and one for all devices from sm_80 on, tile by tile
// of a list that the host writes: a tile may wait for a flag before its operands are read, and
// count at a flag once its results are stored. So what makes an operand, or takes a result, runs
// beside the matmul and not before or behind it.
//
//   y[m,n] = activation(a b + bias (+ with))      bf16 in, sums in f32, bf16 or f32 out
//
// Or ranges of rows, each with operands and a result of its own (places), and sums of them with
// what other members of a group made of the same rows (tile_sums).
//
// The list is taken from its front by clusters of two blocks. The two share the operand that their
// tiles have in common: on sm_90a each loads half of it for both. A list ends if what its flags
// wait for does not wait for the list; with flags of the own list's counts, tiles that wait stand
// behind those that they wait for.
//
// Where tiles are few, or a last round of them would leave processors idle, clusters have parts of
// a tile's k: all but the first part of k go to slots, in f32, and who has the first adds them in
// the order of k. Parts stand first in a cluster's share of the list, and what adds them last: it
// waits for clusters of lower number alone, whose parts wait for nobody. Bits are the list's, not
// the number of processors'.

#ifndef HAP_RUNTIME_CUDA_TILE_GEMM_H
#define HAP_RUNTIME_CUDA_TILE_GEMM_H

#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/tile_ways.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_call {
    cuda_gemm p;                // one matrix; not its `adds` and has_bias: bias and add
    tile_activation activation; // of bf16 results alone
    const void *a, *b, *bias;   // bias [n] of bias_type
    const void *with, *with2;   // as y lies, may be y: added before the rounding, or what the
                                // activation takes, beside `before` then
    void *y, *before;           // before: as y lies, gets what the activation is taken of, or NULL;
                                // of two gradients that of with2
    void *to;                   // of a place: where TILE_SENDS goes, box by box; or NULL
    float *sums;                // of a slope's results: of each tile_sum_rows, [parts, n]; or NULL
    const tile_entry *list;     // on the device
    int entries;
    int sms;                         // that the kernel takes
    const struct tile_place *places; // on the device (tile_place_make); NULL: a, b, bias, y are all
    bool has_bias;                   // of any place
    const struct tile_sums *sum;     // NULL: no tile is TILE_SUMS
    const tile_wait *waits;          // on the device
    const tile_push *pushes;   // on the device, in the order in which they are sent; of places
    int n_pushes;              // whose a lies as it is
    uint32_t *flags, *tallies; // on the device; tallies 0 at first, not of two calls at a time
    uint32_t number;           // of this launch: what flags count from
    const uint32_t *number_at; // on the device, or NULL: `number`
    void *room;       // tile_room bytes on the device for lists with parts; zero at first, and not
                      // of two calls at a time
    uint32_t *late;   // host memory, mapped: 1 + the flag that did not come in time
    bool mma;         // on sm_90, too, the kernel of sm_80; for tests and benchmarks
    int64_t patience; // ns; a wait that takes longer ends, with a wrong result. 0: 30 s
} tile_call;

// The rows of one part of its sums of columns.
int tile_sum_rows(const tile_call *c);

// Sums of parts, each rounded to bf16: tiles of TILE_SUMS put this member's into y, read the
// others' of the same rows from their slots once their flags are up, add all in the order of
// members in f32 and put the sum into `sum`. All clusters of such a call must run at a time, as its
// tiles wait for what comes behind tiles of other devices' lists; so `sms` is not more than are
// free.
//
// `stores`: tiles of TILE_SENDS go into a slot of the place's member, box by box of 64 x 64, each
// as it lies in shared memory: 128 bytes a row, swizzled, of the last boxes as many rows as there
// are. So slots of what others made are read. Signals of TILE_SENDS and TILE_ALL are raised at
// other members, at the same number of their flags. Such rows have multiples of 64 columns.
typedef struct tile_sums {
    const struct tile_part *parts; // on the device, of members: this one's result, others' slots;
                                   // `stores`: then each member's place for this one's sums
    int members, me;
    bool stores;
} tile_sums;

// NULL if the kernel takes such a call on this device, else why not.
const char *tile_why_not(const tile_call *c);
// To host memory: places for a call's p, a, b, bias, y, to; the maps of parts of rows x n that lie
// like its y, one a member; boxes of a part, and the flags of its member as they are mapped here.
const char *tile_place_make(const tile_call *c, const tile_shape *s, struct tile_place *to);
const char *tile_part_make(const tile_call *c, const void *part, struct tile_part *to);
void tile_boxes_make(const void *boxes, uint32_t *flags, struct tile_part *to);
int64_t tile_place_bytes(void);
int64_t tile_part_bytes(void);

// Activations: by forms in turns, of a that is not turned.
const char *tile_run(const tile_call *c, const tile_shape *s, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
