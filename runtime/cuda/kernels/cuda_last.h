// Channels last: a tensor [images, channels, places] that lies as [images, places, channels].
//
// Convolutions of 16-bit floats are quick on such tensors alone. So a row that knows them
// (cuda_op_table.c) may write its result in this order and says so here; the tensor's meaning does
// not change. Whoever does not ask finds it as declared: before others read bytes that lie channels
// last (cuda_will_read), they are turned where they are, some images at a time; a write to them
// (cuda_will_write) ends it. Only who writes a tensor makes it lie so, as another stream may be
// reading what lies as declared; a reader takes a copy in the workspace. Values do not depend on
// how their operands lie: sums have one order for both (cuda_batch.cu).

#ifndef HAP_RUNTIME_CUDA_LAST_H
#define HAP_RUNTIME_CUDA_LAST_H

#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_last {
    int64_t images, channels, places;
} cuda_last;
// t as [images, channels, all further dims]; t of rank 2 at least.
cuda_last cuda_last_shape(const hap_tensor *t);

// Whether t's bytes lie channels last, and of which shape. Not those of one channel or place, where
// the two orders are the same.
bool cuda_lies_last(const cuda_context *x, const hap_tensor *t, cuda_last *shape);
// The same for a tensor as it is declared; true too if the orders are the same.
bool cuda_is_last(const cuda_context *x, const hap_tensor *t);
// The shape of the first of in[0 .. n) that has so many elements and lies channels last.
bool cuda_any_last(const cuda_context *x, hap_tensor *const *in, int n, int64_t elements,
                   cuda_last *shape);
// Whether t, channels last of this shape, has its entries in the order of its dims order[0 ..
// rank).
bool cuda_last_is_order(const hap_tensor *t, const cuda_last *shape, const int *order);
// Whether t may be written channels last: there is the memory to turn it again.
bool cuda_may_lie_last(cuda_context *x, const hap_tensor *t, const cuda_last *shape);
// t lies so from now on, of a shape with several channels and places: cuda_lie_last (cuda_lay.h).
void cuda_last_note(cuda_context *x, const hap_tensor *t, const cuda_last *shape);

// y[n, b, a] = x[n, a, b]; of one type, or 16-bit floats to f32.
const char *cuda_turn(cuda_context *x, hap_dtype y_type, void *y, hap_dtype x_type, const void *of,
                      int64_t n, int64_t a, int64_t b);
// The same where rows of x are lx and rows of y ly entries apart.
const char *cuda_turn_rows(cuda_context *x, hap_dtype y_type, void *y, int64_t ly, hap_dtype x_type,
                           const void *of, int64_t lx, int64_t n, int64_t a, int64_t b);

// y[k] = the sum of channel k of `of`, which has this shape (cuda_batch.cu).
const char *cuda_channel_sums(cuda_context *x, const hap_tensor *of, const cuda_last *shape,
                              hap_tensor *y);
// y[r] = the sum of row r of `of` as [rows, places], images and channels their rows: *taken where
// rows are short (CUDA_PLACE_SUMS).
enum { CUDA_PLACE_SUMS = 1024 };
const char *cuda_place_sums(cuda_context *x, const hap_tensor *of, int64_t rows, int64_t places,
                            hap_tensor *y, bool *taken);

// --- for cuda_shadow.c and cuda_lay.c ---
bool cuda_last_turns(const cuda_last *shape); // the two orders differ
const char *cuda_last_will_read(cuda_context *x, const void *p, int64_t bytes);
void cuda_last_will_write(cuda_context *x, const void *p, int64_t bytes);
const char *cuda_last_settle(cuda_context *x); // all lie as declared
void cuda_last_forget(cuda_context *x);
void cuda_last_free(cuda_context *x);

#ifdef __cplusplus
}
#endif

#endif
