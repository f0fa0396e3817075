// The first NaN or infinity of a tensor (--check-nan).

#include "cuda/kernels/cuda_kernels.cuh"

enum { THREADS = 256, MOST_BLOCKS = 1024 };

// Bits without the sign: above `infinity` is a NaN. *first begins as n.
template <class U>
__global__ void find(int64_t n, const U *x, U sign, U infinity, bool nan, unsigned long long *first)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        U u = (U)(x[i] & (U)~sign);
        if (nan ? u > infinity : u == infinity) {
            atomicMin(first, (unsigned long long)i);
            return; // what this thread sees later stands later
        }
    }
}

const char *cuda_find(cuda_context *x, const hap_tensor *t, bool nan, int64_t *first)
{
    int64_t n = t->elements, blocks = (n + THREADS - 1) / THREADS;
    unsigned long long *at = (unsigned long long *)x->found;
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    CUDA_CALL(cudaMemcpyAsync(at, &n, sizeof n, cudaMemcpyHostToDevice, x->stream));
    if (t->type == HAP_F32)
        find<<<(unsigned)blocks, THREADS, 0, x->stream>>>(
            n, (const uint32_t *)t->data, (uint32_t)0x80000000u, (uint32_t)0x7F800000u, nan, at);
    else
        find<<<(unsigned)blocks, THREADS, 0, x->stream>>>(
            n, (const uint16_t *)t->data, (uint16_t)0x8000u,
            (uint16_t)(t->type == HAP_BF16 ? 0x7F80u : 0x7C00u), nan, at);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaMemcpyAsync(first, at, sizeof *first, cudaMemcpyDeviceToHost, x->stream));
    CUDA_CALL(cudaStreamSynchronize(x->stream));
    if (*first == n) *first = -1;
    return NULL;
}
