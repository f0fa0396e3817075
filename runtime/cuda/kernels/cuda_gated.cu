// The kernels of cuda_gated.h: each tensor is read or written once.

#include "cuda/kernels/cuda_gated.h"

#include "cuda/kernels/cuda_gated.cuh"
#include "cuda/kernels/cuda_kernels.cuh"

namespace
{
enum { THREADS = 256 };

// Vectors i < n of 8 elements, by all threads of the grid.
template <class Body> __device__ inline void for_vectors(int64_t n, Body body)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
        body(i);
}

__global__ void __launch_bounds__(THREADS)
    products(int64_t n, const uint4 *gate, const uint4 *up, uint4 *y)
{
    for_vectors(n, [&](int64_t i) {
        const uint4 g = gate[i], u = up[i];
        y[i] = make_uint4(gated_pair(g.x, u.x), gated_pair(g.y, u.y), gated_pair(g.z, u.z),
                          gated_pair(g.w, u.w));
    });
}

// The gradient of gate; *up becomes that of up.
__device__ inline uint32_t gradients(uint32_t gate, uint32_t *up, uint32_t dy)
{
    const uint32_t u = *up;
    *up = multiply_pairs(dy, silu_pair(gate));
    return gate_gradient(dy, u, silu_slopes(gate));
}

// Results may lie where operands do.
__global__ void __launch_bounds__(THREADS)
    gradients(int64_t n, const uint4 *gate, const uint4 *up, const uint4 *dy, uint4 *dgate,
              uint4 *dup)
{
    for_vectors(n, [&](int64_t i) {
        uint4 g = gate[i], u = up[i], d = dy[i];
        g.x = gradients(g.x, &u.x, d.x), g.y = gradients(g.y, &u.y, d.y);
        g.z = gradients(g.z, &u.z, d.z), g.w = gradients(g.w, &u.w, d.w);
        dgate[i] = g, dup[i] = u;
    });
}
} // namespace

extern "C" bool cuda_gated_takes(const cuda_gated *g)
{
    const hap_tensor *all[] = {g->gate, g->up, g->dy, g->y, g->dgate, g->dup};
    for (const hap_tensor *t : all)
        if (!aligned(t)) return false;
    return g->gate->elements > 0 && g->gate->elements % 8 == 0;
}

extern "C" const char *cuda_gated_run(cuda_context *x, const cuda_gated *g)
{
    const int64_t n = g->gate->elements / 8;
    const uint4 *gate = (const uint4 *)g->gate->data, *up = (const uint4 *)g->up->data;
    const unsigned blocks = blocks_for(n, THREADS);
    if (g->dy)
        gradients<<<blocks, THREADS, 0, x->stream>>>(n, gate, up, (const uint4 *)g->dy->data,
                                                     (uint4 *)g->dgate->data, (uint4 *)g->dup->data);
    else
        products<<<blocks, THREADS, 0, x->stream>>>(n, gate, up, (uint4 *)g->y->data);
    return launched();
}
