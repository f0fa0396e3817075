// Matmuls by a kernel of our own for sm_90a, tile by tile of a list that the host writes: a tile
// may wait for a flag before its operands are read, and count at a flag once its results are
// stored. So what makes an operand, or takes a result, runs beside the matmul and not before or
// behind it.
//
//   y[m,n] = activation(a b + bias (+ add))       bf16 in, sums in f32, bf16 or f32 out
//
// The list is taken from its front by clusters of two blocks. The two share the operand that their
// tiles have in common: each loads half of it for both. No block waits for another's tile, so a
// list ends if what its flags wait for does not wait for the list; with flags of the own list's
// counts, tiles that wait stand behind those that they wait for.

#ifndef HAP_RUNTIME_CUDA_TILE_GEMM_H
#define HAP_RUNTIME_CUDA_TILE_GEMM_H

#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/tile_list.h"

#ifdef __cplusplus
extern "C" {
#endif

// Forms of the kernel. A block's tile is rows x cols; `parts` times it counts at its flag.
typedef struct tile_shape {
    const char *name;
    int rows, cols, parts;
} tile_shape;
enum { TILE_SHAPES = 7 };
extern const tile_shape tile_shapes[TILE_SHAPES];

typedef struct tile_call {
    cuda_gemm p;                // one matrix; not its `adds` and has_bias: bias and add
    tile_activation activation; // of the rounded value; of bf16 results alone
    const void *a, *b, *bias;   // bias [n] of bias_type
    const void *add;            // as y lies, may be y; added before the rounding
    void *y, *before;           // before: as y lies, gets what the activation is taken of; or NULL
    const tile_entry *list;     // on the device
    int entries;
    int sms;         // that the kernel takes
    uint32_t *flags; // on the device, where a tile waits or signals
    uint32_t epoch;
    uint32_t *late;   // host memory, mapped: 1 + the flag that did not come in time
    int64_t patience; // ns; a wait that takes longer ends, with a wrong result. 0: 30 s
} tile_call;

// NULL if the kernel takes such a call on this device, else why not.
const char *tile_why_not(const tile_call *c);
// The list of all tiles of an m x n result for clusters of `sms` processors, without waits and
// signals: groups of rows, as many that the operands of the tiles in flight are few. Returns the
// entries, which are written if `list` is not NULL.
int tile_list(const tile_shape *s, int64_t m, int64_t n, int sms, tile_entry *list);
const char *tile_run(const tile_call *c, const tile_shape *s, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
