// How a multiplying warpgroup ends a tile: its results with all that is added to them, or that is
// made of them, go into its slots, from which a warp stores them.

#ifndef HAP_RUNTIME_CUDA_TILE_RESULTS_CUH
#define HAP_RUNTIME_CUDA_TILE_RESULTS_CUH

#include "cuda/kernels/cuda_gated.cuh"
#include "cuda/kernels/cuda_gelu.cuh"
#include "cuda/kernels/tile_form.cuh"

namespace tile
{
// A warpgroup's slots: 64 rows of 128 bytes, swizzled. Lane and warp are of the group.
template <class F, ending END> struct putter {
    const tile_args &p;
    const memory<F> &m;
    const int group, thread, lane, warp;
    // Slots are not free until a warp that stores says so.
    static constexpr bool FREED = END == SUMS || END == STORES || END == PUSHES;
    ring<F::SLOTS> slot;

    __device__ putter(const tile_args &p_, const memory<F> &m_, int g, int t)
        : p(p_), m(m_), group(g), thread(t), lane(t % 32), warp(t / 32)
    {
    }
    __device__ uint32_t take() // the slot that is next, once it is free
    {
        barrier_wait(m.stored(group, slot.at), slot.parity ^ (FREED || p.has_with ? 0 : 1));
        return m.slot(group, slot.at);
    }
    __device__ void give()
    {
        fence_shared();
        __syncwarp();
        if (lane == 0) barrier_arrive(m.filled(group, slot.at));
        slot.next();
    }

    // 64 columns of bf16, eight blocks of 8: pairs of a row, then of the row 8 below.
    __device__ uint32_t pairs_at(uint32_t slot, int j) const
    {
        const int i = lane / 8, row = warp * 16 + i % 2 * 8 + lane % 8;
        return slot + row * 128 + (((j + i / 2) ^ (row & 7)) << 4);
    }
    __device__ void get_pairs(uint32_t from, uint32_t (&v)[16]) const
    {
#pragma unroll
        for (int j = 0; j < 8; j += 2)
            load_matrices(pairs_at(from, j), v + 2 * j);
    }
    __device__ void put_pairs(uint32_t to, const uint32_t (&v)[16])
    {
#pragma unroll
        for (int j = 0; j < 8; j += 2)
            store_matrices(pairs_at(to, j), v[2 * j], v[2 * j + 1], v[2 * j + 2], v[2 * j + 3]);
        give();
    }
    __device__ void put(float *d)
    {
        const uint32_t to = take();
        uint32_t v[16];
        if (p.has_with) {
            get_pairs(to, v);
#pragma unroll
            for (int i = 0; i < 16; i++)
                d[2 * i] += low_of(v[i]), d[2 * i + 1] += high_of(v[i]);
        }
        pack(d, v);
        put_pairs(to, v);
    }
    // Of rounded values v: the bits are those of the op that reads them.
    __device__ void put_activated(uint32_t (&v)[16])
    {
        if (p.has_before) put_pairs(take(), v);
        if (p.activation == TILE_GELU_TANH) {
#pragma unroll
            for (int i = 0; i < 16; i++)
                v[i] = pack_bf16(hap_formula::hap_gelu_tanh(low_of(v[i])),
                                 hap_formula::hap_gelu_tanh(high_of(v[i])));
        } else {
#pragma unroll
            for (int i = 0; i < 16; i++)
                v[i] = pack_bf16(short_gelu(low_of(v[i])), short_gelu(high_of(v[i])));
        }
        put_pairs(take(), v);
    }
    // The slope at what lies in the slot, times the rounded value: the bits of the op. s: this
    // thread's sums of columns so far.
    __device__ void put_sloped(const uint32_t (&by)[16], float (&s)[16])
    {
        const uint32_t to = take();
        uint32_t v[16];
        get_pairs(to, v);
        if (p.activation == TILE_GELU_TANH_SLOPE)
            slopes(by, v, s, [](float x) { return hap_formula::gelu_tanh_slope(x); });
        else
            slopes(by, v, s, [](float x) { return short_gelu_slope(x); });
        put_pairs(to, v);
    }
    // The product with silu of the one or the other.
    __device__ void put_gated(uint32_t (&v)[16])
    {
        if (p.has_before) put_pairs(take(), v);
        const uint32_t to = take();
        uint32_t with[16];
        get_pairs(to, with);
        if (p.activation == TILE_SILU_TIMES) {
#pragma unroll
            for (int i = 0; i < 16; i++)
                v[i] = gated_pair(v[i], with[i]);
        } else {
#pragma unroll
            for (int i = 0; i < 16; i++)
                v[i] = gated_pair(with[i], v[i]);
        }
        put_pairs(to, v);
    }
    // Where the gate lies goes the gradient of up, then that of the gate where up lies.
    __device__ void put_gated_slopes(const uint32_t (&by)[16])
    {
        uint32_t to = take(), v[16];
        float2 slope[16];
        get_pairs(to, v);
#pragma unroll
        for (int i = 0; i < 16; i++)
            slope[i] = silu_slopes(v[i]), v[i] = multiply_pairs(by[i], silu_pair(v[i]));
        put_pairs(to, v);
        to = take();
        get_pairs(to, v);
#pragma unroll
        for (int i = 0; i < 16; i++)
            v[i] = gate_gradient(by[i], v[i], slope[i]);
        put_pairs(to, v);
    }
    template <class S>
    __device__ static void slopes(const uint32_t (&by)[16], uint32_t (&v)[16], float (&s)[16],
                                  S slope)
    {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            v[i] = pack_bf16(__fmul_rn(low_of(by[i]), slope(low_of(v[i]))),
                             __fmul_rn(high_of(by[i]), slope(high_of(v[i]))));
            s[i / 2 * 2] += low_of(v[i]), s[i / 2 * 2 + 1] += high_of(v[i]);
        }
    }
    // Between lanes of different rows: each keeps the sums of half the columns.
    template <int N> __device__ void halve(float (&s)[16]) const
    {
        const bool upper = lane & 2 * N;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float mine = upper ? s[i + N] : s[i], other = upper ? s[i] : s[i + N];
            s[i] = mine + __shfl_xor_sync(~0u, other, 2 * N);
        }
    }
    // s[2 j], s[2 j + 1]: a thread's sums of columns 8 j + 2 (lane mod 4) and the next. A lane is
    // left with columns 2 lane and 2 lane + 1 of its warp's 16 rows; then the four warps, in order.
    __device__ void add_columns(float (&s)[16], float *sums, int cols) const
    {
        halve<8>(s);
        halve<4>(s);
        halve<2>(s);
        threads_wait(BIAS_BARRIER + group, 128); // those before are read
        store_shared(m.bias(group) + warp * 256 + lane * 8, s[0], s[1]);
        threads_wait(BIAS_BARRIER + group, 128);
        if (thread >= 64 || thread >= cols) return;
        float sum = 0;
#pragma unroll
        for (int w = 0; w < 4; w++)
            sum += load_shared_one(m.bias(group) + w * 256 + thread * 4);
        sums[thread] = sum;
    }
    __device__ static void pack(const float *d, uint32_t (&v)[16])
    {
#pragma unroll
        for (int i = 0; i < 16; i++)
            v[i] = pack_bf16(d[2 * i], d[2 * i + 1]);
    }

    // 32 columns of f32, four blocks of 8.
    __device__ void put_wide(const float *d)
    {
        const uint32_t to = take();
        const int row = warp * 16 + lane / 4;
#pragma unroll
        for (int j = 0; j < 8; j++) { // four blocks; of each a row and the row 8 below
            const uint32_t at = to + (row + j % 2 * 8) * 128 + lane % 2 * 8 +
                                (((j / 2 * 2 + lane % 4 / 2) ^ (row & 7)) << 4);
            float2 v = {0, 0};
            if (p.has_with) v = load_shared(at);
            store_shared(at, d[2 * j] + v.x, d[2 * j + 1] + v.y);
        }
        give();
    }
    // 64 columns of this member's part, and, `sums`, of the sum of all members', added in their
    // order, in f32, of parts as they were rounded.
    __device__ void put_summed(const uint32_t (&own)[16], bool sums)
    {
        uint32_t v[16], w[4], to = 0;
        float d[32];
        put_pairs(take(), own);
        if (!sums) return;
        const int last = p.members - (p.me == p.members - 1 ? 2 : 1);
#pragma unroll
        for (int i = 0; i < 32; i++)
            d[i] = -0.f;
#pragma unroll 1
        for (int k = 0; k < p.members; k++) {
            if (k == p.me) {
#pragma unroll
                for (int i = 0; i < 16; i++)
                    d[2 * i] += low_of(own[i]), d[2 * i + 1] += high_of(own[i]);
                continue;
            }
            to = take();
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                load_matrices(pairs_at(to, j), w);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    d[4 * j + 2 * i] += low_of(w[i]), d[4 * j + 2 * i + 1] += high_of(w[i]);
            }
            if (k != last) give(); // it is read
        }
        pack(d, v);
        put_pairs(to, v);
    }
    // The bias of the tile's columns to shared memory, while others multiply.
    __device__ void keep_bias(const my_tile<F> &e) const
    {
        const void *bias = e.place->bias;
        threads_wait(BIAS_BARRIER + group, 128); // that of the tile before is read
        for (int i = 2 * thread; i < F::COLS; i += 256) {
            float2 v = {0, 0};
            if (e.col + i < e.cols && bias && p.bias_is_wide)
                v = __ldg((const float2 *)((const float *)bias + e.col + i));
            if (e.col + i < e.cols && bias && !p.bias_is_wide)
                v = __bfloat1622float2(
                    __ldg((const __nv_bfloat162 *)((const __nv_bfloat16 *)bias + e.col + i)));
            store_shared(m.bias(group) + 4 * i, v.x, v.y);
        }
        threads_wait(BIAS_BARRIER + group, 128);
    }
    __device__ void add_bias(int col, float *d) const
    {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 v = load_shared(m.bias(group) + 4 * (col + 8 * j));
            d[4 * j] += v.x, d[4 * j + 1] += v.y;
            d[4 * j + 2] += v.x, d[4 * j + 3] += v.y;
        }
    }
    __device__ void add_bias_of(const my_tile<F> &e, int col, float *d) const
    {
        if (p.has_bias) add_bias(col - e.col + lane % 4 * 2, d);
    }

    // A tile's results.
    __device__ void tile(const my_tile<F> &e, float (&d)[F::BLOCKS][F::COLS / 2])
    {
        if constexpr (END != PLAIN && END != PUSHES)
            activated(e, d);
        else
            plain(e, d);
    }
    __device__ void plain(const my_tile<F> &e, float (&d)[F::BLOCKS][F::COLS / 2])
    {
        if constexpr (!F::TURNS) {
            if (e.kind & TILE_PART) {
                put_part(e, d);
                return;
            }
            if (e.slots) add_parts(e, d);
        }
#pragma unroll
        for (int b = 0; b < F::BLOCKS; b++) {
            const int row = first_row(e, group, b);
            if (row >= e.rows) break;
#pragma unroll
            for (int c = 0; c < F::COLS; c += 64) {
                if (e.col + c >= e.cols) break;
                float *at = d[b] + c / 2;
                add_bias_of(e, e.col + c, at);
                if (!p.wide) {
                    put(at);
                    continue;
                }
                put_wide(at);
                if (e.col + c + 32 < e.cols) put_wide(at + 16);
            }
        }
    }
    // Rounded at once, results leave registers for what is made of them. One piece of code for all
    // blocks of rows, or fetching it would take longer than it runs: the next block moves to the
    // first registers.
    __device__ void activated(const my_tile<F> &e, float (&d)[F::BLOCKS][F::COLS / 2])
    {
        uint32_t v[F::BLOCKS][F::COLS / 64][16];
        float s[END == SLOPE ? F::COLS / 64 : 1][16] = {};
#pragma unroll
        for (int c = 0; c < F::COLS / 64; c++)
#pragma unroll
            for (int b = 0; b < F::BLOCKS; b++) {
                if (END != SLOPE && END != GATED_BWD) add_bias_of(e, e.col + c * 64, d[b] + c * 32);
                pack(d[b] + c * 32, v[b][c]);
            }
#pragma unroll 1
        for (int b = 0; b < F::BLOCKS; b++) {
            if (first_row(e, group, b) >= e.rows) break;
#pragma unroll
            for (int c = 0; c < F::COLS / 64; c++) {
                if (e.col + c * 64 >= e.cols) break;
                if constexpr (END == SLOPE)
                    put_sloped(v[0][c], s[c]);
                else if constexpr (END == GATED)
                    put_gated(v[0][c]);
                else if constexpr (END == GATED_BWD)
                    put_gated_slopes(v[0][c]);
                else if constexpr (END == SUMS || END == STORES)
                    put_summed(v[0][c], e.kind & TILE_SUMS);
                else
                    put_activated(v[0][c]);
            }
#pragma unroll
            for (int k = 0; k < F::BLOCKS - 1; k++)
#pragma unroll
                for (int c = 0; c < F::COLS / 64; c++)
#pragma unroll
                    for (int i = 0; i < 16; i++)
                        v[k][c][i] = v[k + 1][c][i];
        }
        if constexpr (END == SLOPE) {
#pragma unroll
            for (int c = 0; c < F::COLS; c += 64) {
                if (!p.sums || e.row >= e.rows || e.col + c >= e.cols) break;
                add_columns(s[c / 64], p.sums + e.row / 128 * (int64_t)e.cols + e.col + c,
                            e.cols - e.col - c);
            }
        }
    }

    // --- sums of a part of k, a thread's beside those of the next one ---

    __device__ float4 *part_at(int slot) const
    {
        const int at = (slot * 2 + (int)block_of_cluster()) * F::ROWS * F::COLS;
        return (float4 *)(p.slots + at) + group * F::BLOCKS * F::COLS / 8 * 128 + thread;
    }
    __device__ uint32_t *part_flag(int slot) const
    {
        return p.slot_flags + slot * TILE_SLOT_FLAGS + ((int)block_of_cluster() * 4 + group) * 32;
    }
    __device__ void put_part(const my_tile<F> &e, const float (&d)[F::BLOCKS][F::COLS / 2])
    {
        float4 *to = part_at(e.slot);
#pragma unroll
        for (int i = 0; i < F::BLOCKS * F::COLS / 8; i++) {
            const float *at = &d[i / (F::COLS / 8)][i % (F::COLS / 8) * 4];
            __stcg(to + i * 128, make_float4(at[0], at[1], at[2], at[3]));
        }
        __threadfence();
        threads_wait(BIAS_BARRIER + group, 128);
        if (thread == 0) count_flag(part_flag(e.slot));
    }
    // In the order of the slots. Who adds a part takes its flag back: the next kernel finds all at 0.
    __device__ void add_parts(const my_tile<F> &e, float (&d)[F::BLOCKS][F::COLS / 2])
    {
#pragma unroll 1
        for (int slot = e.slot; slot < e.slot + e.slots; slot++) {
            if (thread == 0) {
                wait_number(p, part_flag(slot), 1, 1u << 31 | (uint32_t)slot);
                *part_flag(slot) = 0;
            }
            threads_wait(BIAS_BARRIER + group, 128);
            const float4 *from = part_at(slot);
#pragma unroll
            for (int i = 0; i < F::BLOCKS * F::COLS / 8; i++) {
                float *at = &d[i / (F::COLS / 8)][i % (F::COLS / 8) * 4];
                const float4 v = __ldcg(from + i * 128);
                at[0] += v.x, at[1] += v.y, at[2] += v.z, at[3] += v.w;
            }
        }
    }
};
} // namespace tile

#endif
