// tile_experts.h: rows gathered, the list of their tiles, the kernel, the launch. The kernel is that of
// tile_kernel.cuh but for its list, which the device wrote, and its stores to rows that lie anywhere.

#include "cuda/kernels/tile_experts.h"

#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/tile_expert_list.h"
#include "cuda/kernels/tile_kernel.cuh"
#include "cuda/kernels/tile_ways.h"

namespace tile
{
using expert_form = form<128, 256, 2, false, 4, 2>;
static_assert(2 * expert_form::ROWS == EXPERT_PAIR && expert_form::COLS == EXPERT_TILE_COLS, "");
static_assert((int)CUDA_EXPERT_ROWS == (int)K_STEP, "the steps of a gradient are an expert's own");
static_assert(sizeof(tile_entry) == CUDA_EXPERT_ENTRY, "");

// t.one.a: the gathered rows; t.one.b: all experts' matrices below each other, or gathered rows, too;
// t.one.y: of a gradient all experts' results below each other.
struct expert_args {
    tile_args t;
    const int *entries, *y_at;
    char *y;
    int b_row, b_step, y_row; // from an expert to the next: rows of b, if they are steps of k, of y
};

__device__ inline int expert_of(const expert_args &q, int t)
{
    return __ldg(&q.t.list[t].place);
}

template <class F, bool A_T, bool B_T>
__device__ inline void load_experts(const expert_args &q, const memory<F> &m, int entries,
                                    uint32_t block)
{
    ring<F::STAGES> stage;
    for (int t = (int)blockIdx.x / 2; t < entries; t += (int)gridDim.x / 2) {
        const my_tile<F> e(q.t, t, block);
        const int b_at = e.col + expert_of(q, t) * q.b_row, b_k = expert_of(q, t) * q.b_step;
        for (int k = e.from; k < e.from + e.steps; k++, stage.next()) {
            const int s = stage.at;
            const uint32_t full = m.full(s);
            barrier_wait(m.empty(s), stage.parity ^ 1);
            barrier_expect(full, F::A_BYTES + F::B_BYTES);
            load_part<F::ROWS, A_T>(&q.t.one.a.map, m.a + s * F::A_BYTES, e.row, k * K_STEP, false,
                                    block, full);
            load_part<F::COLS, B_T>(&q.t.one.b.map, m.b + s * F::B_BYTES, b_at, b_k + k * K_STEP,
                                    true, block, full);
        }
    }
}

template <class F, bool A_T, bool B_T>
__device__ inline void multiply_experts(const expert_args &q, const memory<F> &m, int entries, int g,
                                        int thread, uint32_t block)
{
    float d[F::BLOCKS][F::COLS / 2];
    ring<F::STAGES> stage;
    putter<F, PLAIN> put(q.t, m, g, thread);
    for (int t = (int)blockIdx.x / 2; t < entries; t += (int)gridDim.x / 2) {
        const my_tile<F> e(q.t, t, block);
        multiply<F, A_T, B_T>(m, stage, e.steps, g, thread, d);
        if (e.inside) put.tile(e, d);
    }
}

// A slot of 64 rows of 64 columns of bf16 to the rows that they are of, by a warp.
__device__ inline void scatter_slot(const expert_args &q, uint32_t slot, int row, int col, int cols)
{
    const int lane = (int)threadIdx.x % 32, v = lane % 8;
    if (col + 8 * v >= cols) return;
#pragma unroll 2
    for (int r = lane / 8; r < 64; r += 4) {
        const int to = __ldg(q.y_at + row + r);
        if (to < 0) continue;
        const uint4 x = load_shared_vector(slot + r * 128 + ((v ^ (r & 7)) << 4));
        *(uint4 *)(q.y + ((int64_t)to * cols + col + 8 * v) * 2) = x;
    }
}

// A warp: what group g puts into its slots goes to y in the same order.
template <class F, bool DW>
__device__ inline void store_experts(const expert_args &q, const memory<F> &m, int entries, int g,
                                     uint32_t block)
{
    ring<F::SLOTS> slot;
    const bool first = threadIdx.x % 32 == 0;
    const int width = q.t.wide ? 32 : 64;
    for (int t = (int)blockIdx.x / 2; t < entries; t += (int)gridDim.x / 2) {
        const my_tile<F> e(q.t, t, block);
        if (!e.inside) continue;
        for (int b = 0; b < F::BLOCKS; b++) {
            const int row = first_row(e, g, b);
            if (row >= e.rows) break;
            for (int c = 0; c < F::COLS && e.col + c < e.cols; c += width, slot.next()) {
                barrier_wait(m.filled(g, slot.at), slot.parity);
                if (!DW) {
                    scatter_slot(q, m.slot(g, slot.at), row, e.col + c, e.cols);
                } else if (first) {
                    store_box(&q.t.one.y.map, m.slot(g, slot.at), e.col + c,
                              row + expert_of(q, t) * q.y_row);
                    stores_read<0>();
                }
                __syncwarp();
                if (first) barrier_arrive(m.stored(g, slot.at));
            }
        }
    }
    if (DW && first) stores_done();
}

template <class F, bool A_T, bool B_T>
__global__ void __launch_bounds__(F::THREADS, 1)
    expert_kernel(const __grid_constant__ expert_args q)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) char shared[];
    const memory<F> m(shared_address(shared));
    const uint32_t block = block_of_cluster();
    const int group = (int)threadIdx.x / 128, thread = (int)threadIdx.x % 128;
    const int entries = __ldg(q.entries);
    make_barriers(m);
    if (group == 0) {
        registers_down<F::MOVERS>();
        if (thread == 0)
            load_experts<F, A_T, B_T>(q, m, entries, block);
        else if (thread / 32 >= 1 && thread / 32 <= F::GROUPS)
            store_experts<F, A_T>(q, m, entries, thread / 32 - 1, block);
    } else {
        registers_up<F::OTHERS>();
        multiply_experts<F, A_T, B_T>(q, m, entries, group - 1, thread, block);
    }
    __syncwarp();
    cluster_wait(); // the other block may still write into this one's memory
#endif
}

__global__ void list_experts(expert_list v, int steps)
{
    v.write((int)blockIdx.x, (int)threadIdx.x, (int)blockDim.x, steps);
}

// Rows of so many vectors of 16 bytes to their places, a warp each; zeros where there is none.
__global__ void gather_rows(const uint4 *from, int64_t vectors, const int *at, const int *places,
                            uint4 *to)
{
    const int64_t lane = threadIdx.x % 32, warps = (int64_t)gridDim.x * blockDim.x / 32;
    const int64_t n = *places;
    for (int64_t r = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; r < n; r += warps) {
        const int64_t row = at[r];
        for (int64_t i = lane; i < vectors; i += 32)
            to[r * vectors + i] = row < 0 ? uint4{} : from[row * vectors + i];
    }
}
} // namespace tile

namespace
{
using namespace tile;
enum { ALIGN = 256, WRITERS = 256 };

int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

// Where things lie in the room.
struct places_of {
    int64_t n, entries, x_at, y_at, counts, list, x, y, bytes;
    places_of(const tile_experts &v, bool dw)
        : n(expert_places(v.rows, v.held)),
          entries(expert_entries(v.rows, v.held, dw ? v.k : 0, v.n))
    {
        x_at = 0;
        y_at = x_at + round_up(n * 4, ALIGN);
        counts = y_at + round_up(n * 4, ALIGN);
        list = counts + ALIGN;
        x = list + round_up(entries * CUDA_EXPERT_ENTRY, ALIGN);
        y = x + round_up(n * v.k * 2, ALIGN);
        bytes = y + (dw ? round_up(n * v.n * 2, ALIGN) : 0);
    }
};

const char *gather(const void *from, int64_t width, const int *at, const int *places, char *to,
                   int sms, cudaStream_t stream)
{
    gather_rows<<<(unsigned)sms * 8, WRITERS, 0, stream>>>((const uint4 *)from, width / 8, at,
                                                           places, (uint4 *)to);
    return cuda_said(cudaGetLastError(), "kernel launch");
}

// The places of rows, the list, and the rows of x at their places.
const char *lay(const tile_experts *v, bool dw, const places_of &at, char *room,
                cudaStream_t stream, expert_args *q)
{
    int *counts = (int *)(room + at.counts);
    const int clusters = v->sms / 2;
    expert_list l = {v->x_row,
                     v->y_row,
                     v->first,
                     (int)v->held,
                     (int)v->n,
                     tile_group_rows(EXPERT_PAIR, EXPERT_TILE_COLS, clusters),
                     dw ? (int)v->k : 0,
                     (int *)(room + at.x_at),
                     (int *)(room + at.y_at),
                     (tile_entry *)(room + at.list),
                     counts,
                     counts + 1};
    list_experts<<<(unsigned)v->held, WRITERS, 0, stream>>>(l, (int)((v->k + K_STEP - 1) / K_STEP));
    CUDA_TRY(cuda_said(cudaGetLastError(), "kernel launch"));
    CUDA_TRY(gather(v->x, v->k, l.x_at, counts, room + at.x, v->sms, stream));
    q->t.list = l.entry;
    q->entries = counts + 1, q->y_at = l.y_at;
    return NULL;
}

template <bool A_T, bool B_T>
const char *launch_experts(const expert_args &q, int64_t entries, int sms, cudaStream_t stream)
{
    using F = expert_form;
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute pairs = {};
    auto *const k = expert_kernel<F, A_T, B_T>;
    const int64_t clusters = entries < sms / 2 ? entries : sms / 2;
    pairs.id = cudaLaunchAttributeClusterDimension;
    pairs.val.clusterDim.x = 2, pairs.val.clusterDim.y = pairs.val.clusterDim.z = 1;
    c.gridDim = dim3((unsigned)clusters * 2), c.blockDim = dim3(F::THREADS);
    c.dynamicSmemBytes = F::SHARED, c.stream = stream;
    c.attrs = &pairs, c.numAttrs = 1;
    CUDA_CALL(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, F::SHARED));
    return cuda_said(cudaLaunchKernelEx(&c, k, q), "tile kernel");
}
} // namespace

const char *tile_experts_why_not(const tile_experts *v, bool dw)
{
    int device, major = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        major != 9)
        return cuda_fail("not supported: tiles of experts but on sm_90");
    const int64_t of_k = dw || !v->trans ? K_STEP : 8; // no step of k has two experts' rows
    if (((uintptr_t)v->x | (uintptr_t)v->y | (uintptr_t)v->w) % 16 || v->k % of_k || v->n % 8)
        return cuda_fail("not supported: tiles of experts want rows of multiples of 16 bytes");
    if (v->rows < 1 || v->held < 1 || v->k < 1 || v->n < 1 || v->sms < 2)
        return cuda_fail("not supported: tiles of no experts");
    const places_of at(*v, dw);
    if (at.n > INT32_MAX / 2 || at.entries > INT32_MAX / 2 || v->held * v->k > INT32_MAX / 2 ||
        v->held * v->n > INT32_MAX / 2)
        return cuda_fail("not supported: too many rows of experts");
    return NULL;
}

int64_t tile_experts_room(const tile_experts *v, bool dw)
{
    return places_of(*v, dw).bytes;
}

const char *tile_experts_rows(const tile_experts *v, void *room, cudaStream_t stream)
{
    const places_of at(*v, false);
    expert_args q = {};
    CUDA_TRY(lay(v, false, at, (char *)room, stream, &q));
    q.y = (char *)v->y;
    CUDA_TRY(tile_map(&q.t.one.a.map, (char *)room + at.x, false, at.n, v->k, v->k, 64,
                      expert_form::ROWS / 2));
    if (v->trans) {
        q.b_row = (int)v->n;
        CUDA_TRY(tile_map(&q.t.one.b.map, v->w, false, v->held * v->n, v->k, v->k, 64,
                          expert_form::COLS / 2));
        return launch_experts<false, false>(q, at.entries, v->sms, stream);
    }
    q.b_step = (int)v->k;
    CUDA_TRY(tile_map(&q.t.one.b.map, v->w, false, v->held * v->k, v->n, v->n, 64, 32));
    return launch_experts<false, true>(q, at.entries, v->sms, stream);
}

const char *tile_experts_dw(const tile_experts *v, void *room, cudaStream_t stream)
{
    const places_of at(*v, true);
    expert_args q = {};
    char *const x = (char *)room + at.x, *const y = (char *)room + at.y;
    CUDA_TRY(lay(v, true, at, (char *)room, stream, &q));
    CUDA_TRY(gather(v->y, v->n, q.y_at, q.entries - 1, y, v->sms, stream));
    q.t.wide = v->wide, q.y_row = (int)v->k;
    CUDA_TRY(tile_map(&q.t.one.a.map, x, false, at.n, v->k, v->k, 64, 32));
    CUDA_TRY(tile_map(&q.t.one.b.map, y, false, at.n, v->n, v->n, 64, 32));
    CUDA_TRY(tile_map(&q.t.one.y.map, v->w, v->wide, v->held * v->k, v->n, v->n,
                      v->wide ? 32 : 64, 64));
    return launch_experts<true, true>(q, at.entries, v->sms, stream);
}
