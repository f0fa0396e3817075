// Sums over rows, a sum a column, in one order whoever computes the entries: the rows are cut in
// parts of `each`; of a part, lane k of COLUMN_LANES adds rows k, k + COLUMN_LANES, … in turn, and
// the lanes are added in order; the parts' sums, [parts, cols], likewise. So a
// kernel that makes a tensor can leave its column sums beside it, bit for bit those of `sum`. The
// number of parts (two a processor of an H200) does not depend on the device.

#ifndef HAP_RUNTIME_CUDA_COLUMNS_CUH
#define HAP_RUNTIME_CUDA_COLUMNS_CUH

#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/device/cuda_limits.h"

enum { COLUMN_LANES = 8, COLUMN_TILE = 256 }; // COLUMN_TILE: columns of 32 threads with vectors

struct column_order {
    int64_t parts, each;
};

static inline column_order column_order_of(int64_t rows, int64_t outer = 1)
{
    int64_t parts = CUDA_COLUMN_PARTS / outer, most = ceil_div(rows, 16);
    if (parts > most) parts = most;
    if (parts < 1) parts = 1;
    int64_t each = ceil_div(rows, parts);
    return {ceil_div(rows, each), each};
}

// What a sum reads of x once it is stored in this type.
__device__ inline float as_stored(int type, float x)
{
    return type == HAP_BF16  ? __bfloat162float(__float2bfloat16_rn(x))
           : type == HAP_F16 ? __half2float(__float2half_rn(x))
                             : x;
}

// Memory for the parts' sums, in floats; NULL with *why set.
float *columns_room(cuda_context *x, int64_t floats, const char **why);
// The parts' sums of n tensors, [k, parts, cols] in that memory, are added and go to y[k]: by the
// time that somebody asks for y (cuda_columns.cu).
const char *columns_end(cuda_context *x, const column_order &o, int64_t cols, const float *part,
                        int n, const view *y);
// y[k] = sums of the rows of x[k], n of them (at most CUDA_MOST_SUMS) of one type and shape, ld
// elements between rows.
const char *cuda_sum_rows(cuda_context *x, hap_dtype type, const void *const *from, int n,
                          int64_t rows, int64_t cols, int64_t ld, const view *y);

#endif
