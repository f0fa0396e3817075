// Copies between rows of different lengths.

#include "cuda/kernels/cuda_copy_rows.h"
#include "cuda/kernels/cuda_kernels.cuh"

// 16 bytes from any even address: two aligned vectors that overlap them, shifted. Both hold bytes
// that are wanted, so nothing outside the tensor's vectors is read.
__device__ inline uint4 load_shifted(const void *p)
{
    uintptr_t at = (uintptr_t)p;
    const uint4 *v = (const uint4 *)(at & ~(uintptr_t)15);
    unsigned by = (unsigned)(at & 15);
    if (by == 0) return v[0];
    uint4 lo = v[0], hi = v[1];
    uint32_t w[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w}, r[4];
    // By whole words (constant indices, so that w stays in registers), then by half a word.
    if (by & 8)
#pragma unroll
        for (int i = 0; i < 6; i++)
            w[i] = w[i + 2];
    if (by & 4)
#pragma unroll
        for (int i = 0; i < 5; i++)
            w[i] = w[i + 1];
#pragma unroll
    for (int i = 0; i < 4; i++)
        r[i] = by & 2 ? __funnelshift_r(w[i], w[i + 1], 16) : w[i];
    return make_uint4(r[0], r[1], r[2], r[3]);
}

// Elements of 2 bytes; vectors where y's address allows them.
__global__ void copy_halves(uint16_t *y, int64_t ly, const uint16_t *x, int64_t lx, int64_t rows,
                            int64_t cols)
{
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
        uint16_t *to = y + row * ly;
        const uint16_t *from = x + row * lx;
        int64_t head = (int64_t)((16 - ((uintptr_t)to & 15)) & 15) / 2;
        if (head > cols) head = cols;
        int64_t n = (cols - head) / 8, tail = head + n * 8;
        int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                step = (int64_t)gridDim.x * blockDim.x;
        for (int64_t i = t; i < n; i += step)
            *(uint4 *)(to + head + i * 8) = load_shifted(from + head + i * 8);
        if (t < head) to[t] = from[t];
        if (tail + t < cols && t < 8) to[tail + t] = from[tail + t];
    }
}

__global__ void copy_any(view y, int64_t ly, view x, int64_t lx, int64_t rows, int64_t cols)
{
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        for (int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; j < cols;
             j += (int64_t)gridDim.x * blockDim.x)
            store(y, row * ly + j, load(x, row * lx + j));
}

const char *cuda_copy_rows(cudaStream_t s, hap_dtype y_type, void *y, int64_t ly, hap_dtype x_type,
                           const void *x, int64_t lx, int64_t rows, int64_t cols)
{
    if (rows == 0 || cols == 0) return NULL;
    bool halves = y_type == x_type && hap_dtype_bytes(y_type) == 2;
    int64_t wide = ceil_div(cols, 256 * (halves ? 32 : 4));
    dim3 grid((unsigned)(wide < 64 ? wide : 64), (unsigned)(rows < 65535 ? rows : 65535));
    if (halves)
        copy_halves<<<grid, 256, 0, s>>>((uint16_t *)y, ly, (const uint16_t *)x, lx, rows, cols);
    else
        copy_any<<<grid, 256, 0, s>>>({y, (int)y_type}, ly, {(void *)x, (int)x_type}, lx, rows,
                                      cols);
    return launched();
}
