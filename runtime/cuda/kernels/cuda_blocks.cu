#include "cuda/kernels/cuda_blocks.h"

#include "cuda/kernels/cuda_kernels.cuh"

namespace
{
enum { THREADS = 256, MOST = 64 }; // MOST: channels of a block

// Channel k of a block: the place in it, and the image's channel.
struct place {
    int row, col, channel; // row -1: of zeros
};

__device__ inline place place_of(const cuda_windows &v, int k)
{
    int s = (int)v.stride[0], c = (int)v.c;
    if (k >= s * s * c) return {-1, 0, 0};
    return {k / (s * c), k / c % s, k % c};
}

// A thread 8 channels of a block.
__global__ void image_blocks(cuda_windows v, int h, int w, int channels, uint16_t *to,
                             const uint16_t *image)
{
    __shared__ place of[MOST];
    for (int k = threadIdx.x; k < channels; k += blockDim.x)
        of[k] = place_of(v, k);
    __syncthreads();
    int each = channels / 8, s = (int)v.stride[0], high = (int)v.h, wide = (int)v.w;
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= v.b * h * w * each) return;
    int first = (int)(e % each) * 8, col = (int)(e / each % w), row = (int)(e / each / w % h);
    const uint16_t *from = image + e / each / w / h * v.c * v.h * v.w;
    uint32_t word[4] = {0};
#pragma unroll
    for (int k = 0; k < 8; k++) {
        place p = of[first + k];
        int y = row * s + p.row - (int)v.padding[0], z = col * s + p.col - (int)v.padding[1];
        if (p.row < 0 || y < 0 || y >= high || z < 0 || z >= wide) continue;
        word[k / 2] |= (uint32_t)from[((int64_t)p.channel * high + y) * wide + z] << (k % 2 * 16);
    }
    *(uint4 *)(to + e * 8) = make_uint4(word[0], word[1], word[2], word[3]);
}

// Where entry e of the weight in blocks, [o, rows, cols, channels], lies in the weight; -1: a zero.
__device__ inline int64_t in_weight(const cuda_windows &v, int rows, int cols, int channels, int e)
{
    place p = place_of(v, e % channels);
    int s = (int)v.stride[0], at = e / channels, row = at / cols % rows * s + p.row;
    int col = at % cols * s + p.col;
    if (p.row < 0 || row >= v.p || col >= v.q) return -1;
    return ((at / cols / rows * v.c + p.channel) * v.p + row) * v.q + col;
}

__global__ void weight_blocks(cuda_windows v, int rows, int cols, int channels, int n, uint16_t *to,
                              const uint16_t *weight)
{
    int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (e >= n) return;
    int64_t at = in_weight(v, rows, cols, channels, e);
    to[e] = at < 0 ? 0 : weight[at];
}

__global__ void weight_gradient(cuda_windows v, int rows, int cols, int channels, int n, view dw,
                                view from)
{
    int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (e >= n) return;
    int64_t at = in_weight(v, rows, cols, channels, e);
    if (at >= 0) store(dw, at, load(from, e));
}
} // namespace

int64_t cuda_blocks_of(const cuda_windows *v)
{
    int64_t s = v->stride[0];
    bool can = v->g == 1 && s > 1 && v->stride[1] == s && v->dilation[0] == 1 &&
               v->dilation[1] == 1 && v->c < 8 && s * s * v->c <= MOST && v->p >= s && v->q >= s;
    return can ? s : 1;
}

cuda_windows cuda_blocks_windows(const cuda_windows *v, int64_t channels)
{
    cuda_windows to = *v;
    int64_t s = v->stride[0];
    to.c = channels;
    to.p = ceil_div(v->p, s), to.q = ceil_div(v->q, s);
    to.h = v->i - 1 + to.p, to.w = v->j - 1 + to.q;
    for (int d = 0; d < 2; d++)
        to.stride[d] = 1, to.padding[d] = 0;
    return to;
}

const char *cuda_blocks_image(cuda_context *x, const cuda_windows *v, int64_t channels, void *to,
                              const void *image)
{
    cuda_windows t = cuda_blocks_windows(v, channels);
    int64_t n = t.b * t.h * t.w * (channels / 8);
    image_blocks<<<(unsigned)ceil_div(n, THREADS), THREADS, 0, x->stream>>>(
        *v, (int)t.h, (int)t.w, (int)channels, (uint16_t *)to, (const uint16_t *)image);
    return launched();
}

const char *cuda_blocks_weight(cuda_context *x, const cuda_windows *v, int64_t channels, void *to,
                               const void *weight)
{
    cuda_windows t = cuda_blocks_windows(v, channels);
    int64_t n = t.o * t.p * t.q * channels;
    weight_blocks<<<(unsigned)ceil_div(n, THREADS), THREADS, 0, x->stream>>>(
        *v, (int)t.p, (int)t.q, (int)channels, (int)n, (uint16_t *)to, (const uint16_t *)weight);
    return launched();
}

const char *cuda_blocks_gradient(cuda_context *x, const cuda_windows *v, int64_t channels,
                                 hap_dtype type, void *dw, hap_dtype from_type, const void *from)
{
    cuda_windows t = cuda_blocks_windows(v, channels);
    int64_t n = t.o * t.p * t.q * channels;
    weight_gradient<<<(unsigned)ceil_div(n, THREADS), THREADS, 0, x->stream>>>(
        *v, (int)t.p, (int)t.q, (int)channels, (int)n, view{dw, type},
        view{(void *)from, from_type});
    return launched();
}
