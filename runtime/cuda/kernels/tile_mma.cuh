// The kernel of tile_gemm.h for devices without tensor copies and matmuls of warpgroups: sm_80 and
// later. The same lists, kinds and endings; the two blocks of an entry share nothing.
//
// A block's eight warps multiply one tile at a time (mma.sync) from a ring of stages of 32 k, which
// its threads fill (cp.async). The ring runs on into the tiles that follow while results leave the
// registers, but not into a tile that waits for flags.
//
// A stage holds a [rows, 32] and b [cols, 32] of the tile in pieces of 16 bytes, swizzled so that
// matrices of 8 rows come from different banks. Where rows of an operand are steps of k, it lies as
// 32 rows of the tile's columns.

#ifndef HAP_RUNTIME_CUDA_TILE_MMA_CUH
#define HAP_RUNTIME_CUDA_TILE_MMA_CUH

#include "cuda/kernels/cuda_gated.cuh"
#include "cuda/kernels/cuda_gelu.cuh"
#include "cuda/kernels/tile_form.cuh"
#include "cuda/kernels/tile_mma_ptx.cuh"

namespace tile
{
template <int ROWS_, int COLS_> struct mma_form {
    static constexpr int ROWS = ROWS_, COLS = COLS_, K = 32, STAGES = 4, THREADS = 256;
    static constexpr int DOWN = ROWS > COLS ? 4 : 2, RIGHT = 8 / DOWN; // warps
    static constexpr int MY_ROWS = ROWS / DOWN, MY_COLS = COLS / RIGHT; // a warp's
    static constexpr int M = MY_ROWS / 16, N = MY_COLS / 8;             // matrices of results
    static constexpr int A_BYTES = ROWS * K * 2, B_BYTES = COLS * K * 2;
    static constexpr int SHARED = STAGES * (A_BYTES + B_BYTES);
    static_assert(N % 2 == 0 && SHARED <= 99 << 10, ""); // of sm_86
};

// --- operands ---

// One operand of R rows of a tile. T: its rows are steps of k.
template <int R, bool T> struct operand {
    static constexpr int PIECES = R / 64; // a thread's of a stage
    // Bytes from a stage's begin: piece c of row r; T: of column 8 c at step k = r.
    __device__ static uint32_t at(int r, int c)
    {
        return T ? r * R * 2 + (((c & ~7) | ((c ^ r) & 7)) << 4)
                 : r * 64 + ((c ^ (r >> 1 & 3)) << 4);
    }
    // 32 steps from k on to a stage; what lies outside of rows x depth is 0.
    __device__ static void load(uint32_t to, const char *from, int64_t apart, int row, int rows,
                                int k, int depth)
    {
        const int x = (int)threadIdx.x;
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            const int r = T ? (x + 256 * i) / (R / 8) : x / 4 + 64 * i;
            const int c = T ? (x + 256 * i) % (R / 8) : x % 4;
            const int y = T ? k + r : row + r, z = T ? row + 8 * c : k + 8 * c;
            const int there = y < (T ? depth : rows) ? 2 * ((T ? rows : depth) - z) : 0;
            const int bytes = max(0, min(16, there));
            copy_piece(to + at(r, c), from + (bytes ? (y * apart + z) * 2 : 0), bytes);
        }
    }
    // 16 rows by 16 k, step kk of the stage, as a (of rows) or b (of columns) of matmuls.
    __device__ static void fragment(uint32_t stage, int row, int kk, bool is_b, uint32_t (&v)[4])
    {
        const int lane = (int)threadIdx.x % 32, i = lane / 8;
        const int below = is_b ? i >> 1 : i & 1, behind = is_b ? i & 1 : i >> 1;
        if (T)
            load_turned(stage + at(kk * 16 + behind * 8 + lane % 8, row / 8 + below), v);
        else
            load_matrices(stage + at(row + below * 8 + lane % 8, kk * 2 + behind), v);
    }
};

// What a block loads: all steps of its tiles, one after another.
template <class F, bool A_T, bool B_T> struct steps_of_tiles {
    const tile_args &p;
    const uint32_t shared, block;
    int t, k, left, stage = 0; // entry; the step's first k; steps that the tile still has
    int row, col, rows, cols;
    const tile_place *place;
    bool held = true; // until the tile's flags are up

    __device__ steps_of_tiles(const tile_args &p_, uint32_t shared_, uint32_t block_)
        : p(p_), shared(shared_), block(block_), t((int)blockIdx.x / 2)
    {
        seek();
        held = true;
    }
    __device__ void seek()
    {
        for (; t < p.entries; t += (int)gridDim.x / 2) {
            const my_tile<F> e(p, t, block);
            if (!e.inside || !e.steps) continue;
            row = e.row, col = e.col, rows = e.rows, cols = e.cols, place = e.place;
            k = e.from * K_STEP, left = e.steps * (K_STEP / F::K);
            held = e.waits && !(e.kind & TILE_SUMS);
            return;
        }
    }
    __device__ void issue()
    {
        if (!held && t < p.entries) {
            const uint32_t a = shared + stage * (F::A_BYTES + F::B_BYTES);
            const int depth = place->depth;
            operand<F::ROWS, A_T>::load(a, place->a.rows.data, place->a.rows.apart, row, rows, k,
                                        depth);
            operand<F::COLS, B_T>::load(a + F::A_BYTES, place->b.rows.data, place->b.rows.apart,
                                        col, cols, k, depth);
            k += F::K, stage = stage + 1 == F::STAGES ? 0 : stage + 1;
            if (--left == 0) {
                t += (int)gridDim.x / 2;
                seek();
            }
        }
        copies_commit();
    }
};

// --- matmuls ---

template <class F, bool A_T, bool B_T> struct fragments {
    uint32_t a[F::M][4], b[F::N / 2][4];
    __device__ void load(uint32_t stage, int kk)
    {
        const int warp = (int)threadIdx.x / 32;
#pragma unroll
        for (int i = 0; i < F::M; i++)
            operand<F::ROWS, A_T>::fragment(stage, warp / F::RIGHT * F::MY_ROWS + 16 * i, kk, false,
                                            a[i]);
#pragma unroll
        for (int j = 0; j < F::N / 2; j++)
            operand<F::COLS, B_T>::fragment(stage + F::A_BYTES,
                                            warp % F::RIGHT * F::MY_COLS + 16 * j, kk, true, b[j]);
    }
    __device__ void multiply(float (&d)[F::M][F::N][4]) const
    {
#pragma unroll
        for (int i = 0; i < F::M; i++)
#pragma unroll
            for (int j = 0; j < F::N; j++)
                matmul_16x8(d[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
};

// One tile's steps. The next 16 k come to registers while those before are multiplied.
template <class F, bool A_T, bool B_T>
__device__ inline void multiply_steps(steps_of_tiles<F, A_T, B_T> &in, int n, int &stage,
                                      float (&d)[F::M][F::N][4])
{
    fragments<F, A_T, B_T> even, odd;
    auto address = [&]() { return in.shared + stage * (F::A_BYTES + F::B_BYTES); };
#pragma unroll
    for (int i = 0; i < F::M * F::N * 4; i++)
        d[i / 4 / F::N][i / 4 % F::N][i % 4] = 0;
    copies_wait<F::STAGES - 2>();
    __syncthreads();
    even.load(address(), 0);
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        odd.load(address(), 1);
        in.issue(); // to the stage that all warps have read
        even.multiply(d);
        copies_wait<F::STAGES - 2>();
        __syncthreads();
        stage = stage + 1 == F::STAGES ? 0 : stage + 1;
        if (i + 1 < n) even.load(address(), 0);
        odd.multiply(d);
    }
}

// --- results ---

// Two words a lane, columns 2 (lane mod 4) of two blocks of 8, become four columns of one block;
// and back.
__device__ inline uint2 exchange(uint2 v)
{
    const bool odd = threadIdx.x & 1;
    const uint32_t other = __shfl_xor_sync(~0u, odd ? v.x : v.y, 1);
    return odd ? make_uint2(other, v.y) : make_uint2(v.x, other);
}

// What a thread does with its results of a tile: rows `row` and `row + 8` of each 16, of columns
// col, col + 1, col + 8, … two.
template <class F, ending END> struct results {
    const tile_args &p;
    const my_tile<F> &e;
    const int row, col, from; // from: a thread's four columns of 16 begin so far right of col
    float s[F::N][2];         // END SLOPE: sums of columns

    __device__ static int warp()
    {
        return (int)threadIdx.x / 32;
    }
    __device__ results(const tile_args &p_, const my_tile<F> &e_)
        : p(p_), e(e_),
          row(e_.row + warp() / F::RIGHT * F::MY_ROWS + (int)threadIdx.x % 32 / 4),
          col(e_.col + warp() % F::RIGHT * F::MY_COLS + (int)threadIdx.x % 4 * 2),
          from((int)threadIdx.x % 2 ? 6 : 0)
    {
#pragma unroll
        for (int j = 0; j < F::N; j++)
            s[j][0] = s[j][1] = 0;
    }

    // The four columns of a row that begin at c, as exchange makes them, or 0.
    __device__ uint2 get(const tile_matrix &m, int r, int c) const
    {
        if (r >= e.rows || c >= e.cols) return make_uint2(0, 0);
        return __ldcg((const uint2 *)(m.rows.data + (r * m.rows.apart + c) * 2));
    }
    __device__ void put(const tile_matrix &m, int r, int c, uint2 v) const
    {
        if (r < e.rows && c < e.cols) *(uint2 *)(m.rows.data + (r * m.rows.apart + c) * 2) = v;
    }
    __device__ float2 bias_at(int c) const
    {
        const void *bias = p.has_bias && c < e.cols ? e.place->bias : NULL;
        if (!bias) return make_float2(0, 0);
        if (p.bias_is_wide) return __ldg((const float2 *)((const float *)bias + c));
        return __bfloat1622float2(__ldg((const __nv_bfloat162 *)((const __nv_bfloat16 *)bias + c)));
    }

    // The rounded sum of all members' parts, of which this one's is v, in the order of members.
    __device__ uint2 summed(uint2 v, int r, int c) const
    {
        float2 x = make_float2(-0.f, -0.f), y = x;
#pragma unroll 1
        for (int m = 0; m < p.members; m++) {
            const uint2 w = m == p.me ? v : exchange(get(p.parts[m].at, r, c));
            x.x += low_of(w.x), x.y += high_of(w.x), y.x += low_of(w.y), y.y += high_of(w.y);
        }
        return make_uint2(pack_bf16(x.x, x.y), pack_bf16(y.x, y.y));
    }
    __device__ uint32_t activated(uint32_t v) const
    {
        if (p.activation == TILE_GELU_TANH)
            return pack_bf16(hap_formula::hap_gelu_tanh(low_of(v)),
                             hap_formula::hap_gelu_tanh(high_of(v)));
        return pack_bf16(short_gelu(low_of(v)), short_gelu(high_of(v)));
    }
    __device__ uint32_t sloped(uint32_t by, uint32_t at) const
    {
        const float x = low_of(at), y = high_of(at);
        if (p.activation == TILE_GELU_TANH_SLOPE)
            return pack_bf16(__fmul_rn(low_of(by), hap_formula::gelu_tanh_slope(x)),
                             __fmul_rn(high_of(by), hap_formula::gelu_tanh_slope(y)));
        return pack_bf16(__fmul_rn(low_of(by), short_gelu_slope(x)),
                         __fmul_rn(high_of(by), short_gelu_slope(y)));
    }

    // Two blocks of 8 columns of row r, to y and wherever else they go.
    __device__ void put_pair(int r, int c, float2 x, float2 y, float (&s0)[2], float (&s1)[2])
    {
        const int to = c + from; // of four columns; c is the thread's own
        uint2 with = make_uint2(0, 0);
        if (p.has_with) with = exchange(get(p.with, r, to));
        if (END == PLAIN)
            x.x += low_of(with.x), x.y += high_of(with.x), y.x += low_of(with.y),
                y.y += high_of(with.y);
        uint2 v = make_uint2(pack_bf16(x.x, x.y), pack_bf16(y.x, y.y));
        if (END == GELU) {
            if (p.has_before) put(p.before, r, to, exchange(v));
            v = make_uint2(activated(v.x), activated(v.y));
        } else if (END == GATED) {
            if (p.has_before) put(p.before, r, to, exchange(v));
            const bool of_result = p.activation == TILE_SILU_TIMES;
            const uint2 gate = of_result ? v : with, up = of_result ? with : v;
            v = make_uint2(gated_pair(gate.x, up.x), gated_pair(gate.y, up.y));
        } else if (END == GATED_BWD) {
            const uint2 up = exchange(get(p.with2, r, to));
            put(p.before, r, to,
                exchange(make_uint2(multiply_pairs(v.x, silu_pair(with.x)),
                                    multiply_pairs(v.y, silu_pair(with.y)))));
            v = make_uint2(gate_gradient(v.x, up.x, silu_slopes(with.x)),
                           gate_gradient(v.y, up.y, silu_slopes(with.y)));
        } else if (END == SLOPE) {
            v = make_uint2(sloped(v.x, with.x), sloped(v.y, with.y));
            if (r < e.rows) {
                s0[0] += low_of(v.x), s0[1] += high_of(v.x);
                s1[0] += low_of(v.y), s1[1] += high_of(v.y);
            }
        }
        const bool sums = END == PLAIN && e.kind & TILE_SUMS;
        if (!(sums && e.kind & TILE_DROPS)) put(e.place->y, r, to, exchange(v));
        if (sums) put(p.parts[p.me].at, r, to, exchange(summed(v, r, to)));
    }
    __device__ void put_wide(int r, int c, float2 x) const
    {
        if (r >= e.rows || c >= e.cols) return;
        if (p.has_with) {
            const float2 with =
                *(const float2 *)(p.with.rows.data + (r * p.with.rows.apart + c) * 4);
            x.x += with.x, x.y += with.y;
        }
        *(float2 *)(e.place->y.rows.data + (r * e.place->y.rows.apart + c) * 4) = x;
    }

    // 16 rows of the warp's, from row r of this thread on.
    __device__ void put_rows(int r, const float (&d)[F::N][4])
    {
#pragma unroll
        for (int j = 0; j < F::N; j += 2) {
            const int c = col + 8 * j;
            const float2 b0 = bias_at(c), b1 = bias_at(c + 8);
#pragma unroll
            for (int h = 0; h < 4; h += 2) {
                const float2 x = make_float2(d[j][h] + b0.x, d[j][h + 1] + b0.y);
                const float2 y = make_float2(d[j + 1][h] + b1.x, d[j + 1][h + 1] + b1.y);
                if (END == PLAIN && p.wide)
                    put_wide(r + 4 * h, c, x), put_wide(r + 4 * h, c + 8, y);
                else
                    put_pair(r + 4 * h, c, x, y, s[j], s[j + 1]);
            }
        }
    }
    // One piece of code for all matrices of rows: the next ones move to the first registers.
    __device__ void put_all(float (&d)[F::M][F::N][4])
    {
#pragma unroll 1
        for (int i = 0; i < F::M; i++) {
            put_rows(row + 16 * i, d[0]);
#pragma unroll
            for (int k = 0; k < (F::M - 1) * F::N * 4; k++)
                d[k / 4 / F::N][k / 4 % F::N][k % 4] = d[k / 4 / F::N + 1][k / 4 % F::N][k % 4];
        }
        if (END == SLOPE && p.sums) put_sums();
    }
    // A warp has 64 rows then.
    __device__ void put_sums()
    {
        const int lane = (int)threadIdx.x % 32, first = row - lane / 4;
#pragma unroll
        for (int j = 0; j < F::N; j++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                for (int apart = 4; apart < 32; apart *= 2)
                    s[j][i] += __shfl_xor_sync(~0u, s[j][i], apart);
                if (lane < 4 && first < e.rows && col + 8 * j < e.cols)
                    p.sums[first / 64 * (int64_t)e.cols + col + 8 * j + i] = s[j][i];
            }
    }

    // --- sums of a part of k ---

    __device__ float4 *part_at(int slot, uint32_t block) const
    {
        return (float4 *)(p.slots + (int64_t)(slot * 2 + (int)block) * F::ROWS * F::COLS) +
               threadIdx.x;
    }
    __device__ uint32_t *part_flag(int slot, uint32_t block) const
    {
        return p.slot_flags + slot * TILE_SLOT_FLAGS + (int)block * 4 * 32;
    }
    __device__ void put_part(uint32_t block, const float (&d)[F::M][F::N][4]) const
    {
        float4 *to = part_at(e.slot, block);
#pragma unroll
        for (int i = 0; i < F::M * F::N; i++) {
            const float *at = d[i / F::N][i % F::N];
            __stcg(to + i * F::THREADS, make_float4(at[0], at[1], at[2], at[3]));
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) count_flag(part_flag(e.slot, block));
    }
    // In the order of the slots. Who adds a part takes its flag back: the next kernel finds all at 0.
    __device__ void add_parts(uint32_t block, float (&d)[F::M][F::N][4]) const
    {
#pragma unroll 1
        for (int slot = e.slot; slot < e.slot + e.slots; slot++) {
            if (threadIdx.x == 0) {
                wait_number(p, part_flag(slot, block), 1, 1u << 31 | (uint32_t)slot);
                *part_flag(slot, block) = 0;
            }
            __syncthreads();
            const float4 *from = part_at(slot, block);
#pragma unroll
            for (int i = 0; i < F::M * F::N; i++) {
                float *at = d[i / F::N][i % F::N];
                const float4 v = __ldcg(from + i * F::THREADS);
                at[0] += v.x, at[1] += v.y, at[2] += v.z, at[3] += v.w;
            }
        }
    }
};

// --- the kernel ---

template <class F>
__device__ inline void wait_block(const tile_args &p, const my_tile<F> &e, uint32_t number)
{
    if (threadIdx.x == 0) wait_all(p, e, number);
    __syncthreads();
}

template <class F, ending END, bool A_T, bool B_T>
__global__ void __launch_bounds__(F::THREADS, 1) mma_kernel(const __grid_constant__ tile_args p)
{
#if __CUDA_ARCH__ >= 800
    extern __shared__ __align__(128) char shared[];
    const uint32_t block = blockIdx.x % 2, number = number_of(p);
    steps_of_tiles<F, A_T, B_T> in(p, shared_address(shared), block);
    float d[F::M][F::N][4];
    int stage = 0;
    for (int t = (int)blockIdx.x / 2; t < p.entries; t += (int)gridDim.x / 2) {
        const my_tile<F> e(p, t, block);
        if (!e.inside || !e.steps) continue;
        if (in.held && in.t == t) { // the ring is empty
            if (e.waits && !(e.kind & TILE_SUMS)) wait_block(p, e, number);
            in.held = false;
            for (int i = 0; i < F::STAGES - 1; i++)
                in.issue();
        }
        multiply_steps(in, e.steps * (K_STEP / F::K), stage, d);
        results<F, END> to(p, e);
        if (END == PLAIN && e.kind & TILE_PART) {
            to.put_part(block, d);
            continue;
        }
        if (END == PLAIN && e.slots) to.add_parts(block, d);
        if (END == PLAIN && e.kind & TILE_SUMS) wait_block(p, e, number);
        to.put_all(d);
        if (!(e.kind & TILE_SIGNALS)) continue;
        __syncthreads();
        if (threadIdx.x == 0) count_tile(p, e, number, (uint32_t)p.arrivals);
    }
    copies_wait<0>();
#endif
}

template <class F, ending END, bool A_T, bool B_T>
const char *launch_mma(const tile_args *p, int clusters, cudaStream_t stream)
{
    auto *const k = mma_kernel<F, END, A_T, B_T>;
    CUDA_CALL(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, F::SHARED));
    cudaLaunchConfig_t c = {};
    c.gridDim = dim3((unsigned)clusters * 2), c.blockDim = dim3(F::THREADS);
    c.dynamicSmemBytes = F::SHARED, c.stream = stream;
    return cuda_said(cudaLaunchKernelEx(&c, k, *p), "tile kernel");
}

template <class F>
const char *launch_mma_any(const tile_args *p, bool a_t, bool b_t, int clusters,
                           cudaStream_t stream)
{
    if constexpr (F::MY_ROWS == 64 && F::COLS <= 192) { // as forms in turns
        if (p->activation >= TILE_SILU_TIMES) // tile_why_not: b lies as models have it
            return p->has_with2 ? launch_mma<F, GATED_BWD, false, true>(p, clusters, stream)
                                : launch_mma<F, GATED, false, false>(p, clusters, stream);
        if (p->activation && p->has_with)
            return b_t ? launch_mma<F, SLOPE, false, true>(p, clusters, stream)
                       : launch_mma<F, SLOPE, false, false>(p, clusters, stream);
        if (p->activation)
            return b_t ? launch_mma<F, GELU, false, true>(p, clusters, stream)
                       : launch_mma<F, GELU, false, false>(p, clusters, stream);
    }
    if (a_t) return launch_mma<F, PLAIN, true, true>(p, clusters, stream);
    if (b_t) return launch_mma<F, PLAIN, false, true>(p, clusters, stream);
    return launch_mma<F, PLAIN, false, false>(p, clusters, stream);
}
} // namespace tile

#endif
