// The kernel of tile_gemm.h. A block has a warpgroup whose warps move data and two or three that
// multiply:
//
//   warp 0            loads: operands of the list's tiles, k steps of 64, into a ring of stages
//   warps 1, 2 (, 3)  store: one a multiplying warpgroup, from its ring of slots to y, then signal
//   other warpgroups  multiply from the stages, and put results into their slots
//
// Together the multiplying warpgroups have 64 rows of a tile each (or 128), or, ping-pong, a whole
// tile in turns, so that one multiplies while others end their tiles.
//
// A stage holds a [rows, 64] and b [cols, 64] of the tile in boxes of 128 bytes by so many rows,
// swizzled. Where rows of the operand are steps of k, a box is 64 of its columns by 64 k.

#ifndef HAP_RUNTIME_CUDA_TILE_KERNEL_CUH
#define HAP_RUNTIME_CUDA_TILE_KERNEL_CUH

#include "cuda/kernels/cuda_gelu.cuh"
#include "cuda/kernels/tile_kernel.h"
#include "cuda/kernels/tile_ptx.cuh"

namespace tile
{
enum { K_STEP = 64, SLOT = 8192, MOST_SHARED = 232448 };
enum { BIAS_BARRIER = 1, TURN_BARRIER = 4 }; // one a multiplying warpgroup
// What a kernel does with its results, built apart: each has registers for its own alone. Forms in
// turns have all, the others PLAIN with parts of k, and SUMS.
enum ending { PLAIN, GELU, SLOPE, SUMS };

template <int ROWS_, int COLS_, int GROUPS_, bool TURNS_, int STAGES_, int SLOTS_> struct form {
    static constexpr int ROWS = ROWS_, COLS = COLS_, GROUPS = GROUPS_; // GROUPS: that multiply
    static constexpr bool TURNS = TURNS_;                              // ping-pong
    static constexpr int STAGES = STAGES_, SLOTS = SLOTS_;             // SLOTS: of a group
    static constexpr int BLOCKS = ROWS / 64 / (TURNS ? 1 : GROUPS);    // of 64 rows a group has
    static constexpr int A_BYTES = ROWS * K_STEP * 2, B_BYTES = COLS * K_STEP * 2;
    static constexpr int THREADS = 128 * (1 + GROUPS);
    static constexpr bool FULL = BLOCKS * COLS > 256; // of registers: 192 results a thread
    static constexpr int MOVERS = GROUPS == 3 ? 32 : FULL ? 24 : 40;
    static constexpr int OTHERS = GROUPS == 3 ? 160 : FULL ? 240 : 232;
    static constexpr int BARRIERS = 8 * (2 * STAGES + 2 * GROUPS * SLOTS);
    static constexpr int FLOATS = COLS > 256 ? COLS : 256; // a group's: a bias, or sums of columns
    static constexpr int SHARED =
        STAGES * (A_BYTES + B_BYTES) + GROUPS * (SLOTS * SLOT + FLOATS * 4) + BARRIERS;
    static constexpr int BEHIND = SLOTS > 2; // stores that still read their slot
    static_assert(SHARED <= MOST_SHARED, "");
};

// A place in a ring of N and the parity of its round.
template <int N> struct ring {
    int at = 0;
    uint32_t parity = 0;
    __device__ void next()
    {
        if (++at == N) at = 0, parity ^= 1;
    }
    __device__ void skip(int steps)
    {
        int to = at + steps;
        parity ^= (uint32_t)(to / N) & 1;
        at = to % N;
    }
};

// Addresses in shared memory.
template <class F> struct memory {
    uint32_t a, b, slots, biases, barriers;
    __device__ memory(uint32_t from)
    {
        a = from;
        b = a + F::STAGES * F::A_BYTES;
        slots = b + F::STAGES * F::B_BYTES;
        biases = slots + F::GROUPS * F::SLOTS * SLOT;
        barriers = biases + F::GROUPS * F::FLOATS * 4;
    }
    __device__ uint32_t full(int s) const { return barriers + 16 * s; }
    __device__ uint32_t empty(int s) const { return barriers + 16 * s + 8; }
    __device__ uint32_t slot(int g, int s) const { return slots + (g * F::SLOTS + s) * SLOT; }
    __device__ uint32_t bias(int g) const { return biases + g * F::FLOATS * 4; }
    __device__ uint32_t filled(int g, int s) const
    {
        return barriers + 16 * (F::STAGES + g * F::SLOTS + s);
    }
    __device__ uint32_t stored(int g, int s) const { return filled(g, s) + 8; }
};

// The compiler takes a choice between an argument and memory for one kind of address.
__device__ inline const tile_place *place_of(const tile_args &p, int place)
{
    const tile_place *at;
    asm("mov.b64 %0, %1;" : "=l"(at) : "l"(&p.one));
    return p.places ? p.places + place : at;
}

// This block's tile of an entry.
template <class F> struct my_tile {
    int row, col, kind, rows, cols, from, steps, slot, slots, wait, waits, signal, tally, count,
        raise;
    const tile_place *place;
    bool inside;
    __device__ my_tile(const tile_args &p, int t, uint32_t block)
    {
        const int4 *e = (const int4 *)(p.list + t);
        const int4 at = __ldg(e), k = __ldg(e + 1), more = __ldg(e + 2), flags = __ldg(e + 3);
        row = at.x, col = at.y, kind = at.z, place = place_of(p, at.w);
        rows = k.x, cols = k.y, from = k.z, steps = k.w;
        slot = more.x, slots = more.y, wait = more.z, waits = more.w;
        signal = flags.x, tally = flags.y, count = flags.z, raise = flags.w;
        if (block && kind & TILE_RIGHT) col += F::COLS;
        if (block && !(kind & TILE_RIGHT)) row += F::ROWS;
        inside = row < rows && col < cols;
    }
};

// Until a flag has counted as far. It gives up after a while: the host then ends the job.
__device__ inline void wait_number(const tile_args &p, const uint32_t *at, uint32_t until,
                                   uint32_t name)
{
    uint64_t begin = 0;
    for (int n = 1; (int32_t)(read_flag(at) - until) < 0; n++) {
        if (n % 256) continue;
        if (!begin) begin = nanoseconds();
        if (nanoseconds() - begin < p.patience) continue;
        *(volatile uint32_t *)p.late = name;
        break;
    }
}

// --- loads ---

__device__ inline uint32_t number_of(const tile_args &p)
{
    uint32_t number = p.number;
    if (p.number_at) number = read_flag(p.number_at);
    return number;
}

// All that a tile waits for.
template <class F>
__device__ inline void wait_flags(const tile_args &p, const my_tile<F> &e, uint32_t number)
{
    for (int i = e.wait; i < e.wait + e.waits; i++) {
        const int2 w = __ldg((const int2 *)(p.waits + i));
        wait_number(p, p.flags + (int64_t)w.x * TILE_FLAG_APART, number + (uint32_t)w.y,
                    1 + (uint32_t)w.x);
    }
    fence_all(); // the copies that follow see what was written before the flags
}

// The tile is stored.
template <class F>
__device__ inline void signal(const tile_args &p, const my_tile<F> &e, uint32_t number)
{
    uint32_t *const tally = p.tallies + (int64_t)e.tally * TILE_FLAG_APART;
    stores_done();
    fence_all();
    if (count_tally(tally) + 1 < (uint32_t)e.count) return;
    *(volatile uint32_t *)tally = 0; // for the next launch
    raise_flag(p.flags + (int64_t)e.signal * TILE_FLAG_APART, number + (uint32_t)e.raise);
}

// Half of an operand's part of a stage, R rows (T: columns) by 64 k; `both`: for both blocks.
template <int R, bool T>
__device__ inline void load_half(const CUtensorMap *map, uint32_t to, int half, int at, int k,
                                 bool both, uint32_t barrier)
{
#pragma unroll
    for (int q = 0; q < (T ? R / 64 : 1); q++) {
        uint32_t there = to + (T ? q * 8192 + half * 4096 : half * (R / 2) * 128);
        int x = T ? at + q * 64 : k, y = T ? k + half * 32 : at + half * (R / 2);
        if (both)
            load_box_both(there, map, x, y, barrier);
        else
            load_box(there, map, x, y, barrier);
    }
}

template <int R, bool T>
__device__ inline void load_part(const CUtensorMap *map, uint32_t to, int at, int k, bool shared,
                                 uint32_t block, uint32_t barrier)
{
    if (shared) {
        load_half<R, T>(map, to, (int)block, at, k, true, barrier);
    } else {
        load_half<R, T>(map, to, 0, at, k, false, barrier);
        load_half<R, T>(map, to, 1, at, k, false, barrier);
    }
}

template <class F, bool A_T, bool B_T>
__device__ inline void load_tiles(const tile_args &p, const memory<F> &m, uint32_t block)
{
    ring<F::STAGES> stage;
    const uint32_t number = number_of(p);
    for (int t = (int)blockIdx.x / 2; t < p.entries; t += (int)gridDim.x / 2) {
        const my_tile<F> e(p, t, block);
        const bool right = e.kind & TILE_RIGHT;
        if (e.waits && !(e.kind & TILE_SUMS)) wait_flags(p, e, number);
        for (int k = e.from; k < e.from + e.steps; k++, stage.next()) {
            const int s = stage.at;
            const uint32_t full = m.full(s);
            barrier_wait(m.empty(s), stage.parity ^ 1);
            barrier_expect(full, F::A_BYTES + F::B_BYTES);
            load_part<F::ROWS, A_T>(&e.place->a, m.a + s * F::A_BYTES, e.row, k * K_STEP, right, block,
                                    full);
            load_part<F::COLS, B_T>(&e.place->b, m.b + s * F::B_BYTES, e.col, k * K_STEP, !right, block,
                                    full);
        }
    }
}

// --- stores ---

// Of the tile's blocks of 64 rows group g has b = 0, 1, …: the first row.
template <class F> __device__ inline int first_row(const my_tile<F> &e, int g, int b)
{
    return e.row + 64 * (F::TURNS ? b : g * F::BLOCKS + b);
}

// The boxes of p.with that a group's slots get, in the order of its stores.
template <class F> struct boxes {
    const tile_args &p;
    const int g, width;
    const uint32_t block;
    int t, n = -1, b, row, col; // tile; the box: which block of rows, where
    int first, last, rows;      // columns of the tile; rows of its place
    __device__ boxes(const tile_args &p_, int g_, uint32_t block_)
        : p(p_), g(g_), width(p_.wide ? 32 : 64), block(block_),
          t((int)blockIdx.x / 2 - (int)gridDim.x / 2)
    {
        tile();
    }
    __device__ bool there() const { return t < p.entries; }
    __device__ void tile() // the next one that has a box
    {
        for (;;) {
            t += (int)gridDim.x / 2, n++;
            if (!there()) return;
            if (F::TURNS && n % F::GROUPS != g) continue;
            const my_tile<F> e(p, t, block);
            row = first_row(e, g, 0), first = col = e.col, b = 0;
            last = min(e.col + F::COLS, e.cols), rows = e.rows;
            if (e.inside && !(e.kind & TILE_PART) && row < rows) return;
        }
    }
    __device__ void next()
    {
        if ((col += width) < last) return;
        col = first, row += 64;
        if (++b == F::BLOCKS || row >= rows) tile();
    }
};

// One thread: what group g puts into its slots goes to y in the same order. A slot is free, or has
// its box of p.with, as soon as its store has read it.
template <class F>
__device__ inline void store_tiles(const tile_args &p, const memory<F> &m, int g, uint32_t block)
{
    ring<F::SLOTS> slot, freed;
    const int width = p.wide ? 32 : 64, maps = p.has_before ? 2 : 1;
    boxes<F> with(p, g, block);
    const uint32_t number = number_of(p);
    auto free_slot = [&]() {
        const uint32_t stored = m.stored(g, freed.at);
        if (!p.has_with) {
            barrier_arrive(stored);
        } else if (with.there()) {
            barrier_expect(stored, SLOT);
            load_box(m.slot(g, freed.at), &p.with, with.col, with.row, stored);
            with.next();
        }
        freed.next();
    };
    for (int i = 0; i < F::SLOTS && p.has_with; i++)
        free_slot();
    int issued = 0;
    for (int t = (int)blockIdx.x / 2, n = 0; t < p.entries; t += (int)gridDim.x / 2, n++) {
        if (F::TURNS && n % F::GROUPS != g) continue;
        const my_tile<F> e(p, t, block);
        if (!e.inside || e.kind & TILE_PART) continue;
        for (int b = 0; b < F::BLOCKS; b++) {
            const int row = first_row(e, g, b);
            if (row >= e.rows) break;
            for (int c = 0; c < F::COLS && e.col + c < e.cols; c += width)
                for (int k = 0; k < maps; k++) {
                    barrier_wait(m.filled(g, slot.at), slot.parity);
                    store_box(k + 1 < maps ? &p.before : &e.place->y, m.slot(g, slot.at), e.col + c,
                              row);
                    slot.next();
                    if (++issued <= F::BEHIND) continue;
                    stores_read<F::BEHIND>();
                    free_slot();
                }
        }
        if (e.kind & TILE_SIGNALS) signal(p, e, number);
    }
    stores_done();
}

// The same where other members' slots are added. A box of 64 x 64 has a slot for this member's
// part, which goes to y, and, TILE_SUMS, one for each other member's, by member, the last of which
// gets the sum. What others made is waited for once the tiles before are stored and told: somebody
// may wait for them.
template <class F>
__device__ inline void store_sums(const tile_args &p, const memory<F> &m, int g, uint32_t block)
{
    ring<F::SLOTS> slot, freed;
    const uint32_t number = number_of(p);
    for (int t = (int)blockIdx.x / 2, n = 0; t < p.entries; t += (int)gridDim.x / 2, n++) {
        if (F::TURNS && n % F::GROUPS != g) continue;
        const my_tile<F> e(p, t, block);
        if (!e.inside) continue;
        const bool sums = e.kind & TILE_SUMS, drops = e.kind & TILE_DROPS;
        const int each = sums ? p.members : 1, across = (min(F::COLS, e.cols - e.col) + 63) / 64;
        const int down = min((e.rows - first_row(e, g, 0) + 63) / 64, F::BLOCKS);
        const int uses = max(down, 0) * across * each;
        auto free_slot = [&](int use) {
            const uint32_t stored = m.stored(g, freed.at);
            const int box = use / each, which = use % each - 1;
            if (which < 0) {
                barrier_arrive(stored);
            } else {
                barrier_expect(stored, SLOT);
                load_box(m.slot(g, freed.at), &p.parts[which + (which >= p.me)].map,
                         e.col + box % across * 64, first_row(e, g, box / across), stored);
            }
            freed.next();
        };
        if (sums && uses) wait_flags(p, e, number);
        for (int use = 0; use < F::SLOTS && use < uses; use++)
            free_slot(use);
        for (int use = 0; use < uses; use++) {
            const int box = use / each, which = use % each;
            const CUtensorMap *to = which == 0          ? (drops ? NULL : &e.place->y)
                                    : which == each - 1 ? &p.parts[p.me].map
                                                        : NULL;
            barrier_wait(m.filled(g, slot.at), slot.parity);
            if (to)
                store_box(to, m.slot(g, slot.at), e.col + box % across * 64,
                          first_row(e, g, box / across));
            slot.next();
            stores_read<0>();
            if (use + F::SLOTS < uses) free_slot(use + F::SLOTS);
        }
        if (e.kind & TILE_SIGNALS) signal(p, e, number);
    }
    stores_done();
}

// --- results ---

// A warpgroup's slots: 64 rows of 128 bytes, swizzled. Lane and warp are of the group.
template <class F, ending END> struct putter {
    const tile_args &p;
    const memory<F> &m;
    const int group, thread, lane, warp;
    ring<F::SLOTS> slot;

    __device__ putter(const tile_args &p_, const memory<F> &m_, int g, int t)
        : p(p_), m(m_), group(g), thread(t), lane(t % 32), warp(t / 32)
    {
    }
    __device__ uint32_t take() // the slot that is next, once it is free
    {
        barrier_wait(m.stored(group, slot.at), slot.parity ^ (END == SUMS || p.has_with ? 0 : 1));
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
                d[2 * i] += low(v[i]), d[2 * i + 1] += high(v[i]);
        }
        pack(d, v);
        put_pairs(to, v);
    }
    // The activation is of the rounded values: its bits are those of the op that reads them.
    __device__ void put_activated(const float *d)
    {
        uint32_t v[16];
        pack(d, v);
        if (p.has_before) put_pairs(take(), v);
        if (p.activation == TILE_GELU_TANH) {
#pragma unroll
            for (int i = 0; i < 16; i++)
                v[i] = pack_bf16(hap_formula::hap_gelu_tanh(low(v[i])),
                                 hap_formula::hap_gelu_tanh(high(v[i])));
        } else {
#pragma unroll
            for (int i = 0; i < 16; i++)
                v[i] = pack_bf16(short_gelu(low(v[i])), short_gelu(high(v[i])));
        }
        put_pairs(take(), v);
    }
    // The slope at what lies in the slot, times the rounded value: the bits of the op. sums: of this
    // row of blocks, from its column on.
    __device__ void put_sloped(const float *d, float *sums, int cols)
    {
        const uint32_t to = take();
        uint32_t v[16];
        float s[16];
        get_pairs(to, v);
        if (p.activation == TILE_GELU_TANH_SLOPE)
            slopes(d, v, s, [](float x) { return hap_formula::gelu_tanh_slope(x); });
        else
            slopes(d, v, s, [](float x) { return short_gelu_slope(x); });
        put_pairs(to, v);
        if (p.sums) add_columns(s, sums, cols);
    }
    template <class S>
    __device__ static void slopes(const float *d, uint32_t (&v)[16], float (&s)[16], S slope)
    {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const uint32_t by = pack_bf16(d[2 * i], d[2 * i + 1]);
            v[i] = pack_bf16(__fmul_rn(low(by), slope(low(v[i]))),
                             __fmul_rn(high(by), slope(high(v[i]))));
            if (i % 2)
                s[i - 1] += low(v[i]), s[i] += high(v[i]);
            else
                s[i] = low(v[i]), s[i + 1] = high(v[i]);
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
    __device__ static float low(uint32_t v)
    {
        return __uint_as_float(v << 16);
    }
    __device__ static float high(uint32_t v)
    {
        return __uint_as_float(v & 0xFFFF0000u);
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
    __device__ void put_summed(float *d, bool sums)
    {
        uint32_t v[16], w[4], to = 0;
        pack(d, v);
        put_pairs(take(), v);
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
                    d[2 * i] += low(v[i]), d[2 * i + 1] += high(v[i]);
                continue;
            }
            to = take();
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                load_matrices(pairs_at(to, j), w);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    d[4 * j + 2 * i] += low(w[i]), d[4 * j + 2 * i + 1] += high(w[i]);
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
        if constexpr (END != PLAIN) {
            activated(e, d);
            return;
        }
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
    // One piece of code for all blocks of rows, or fetching it would take longer than it runs: the
    // next block moves to the first registers.
    __device__ void activated(const my_tile<F> &e, float (&d)[F::BLOCKS][F::COLS / 2])
    {
#pragma unroll 1
        for (int b = 0; b < F::BLOCKS; b++) {
            const int row = first_row(e, group, b);
            if (row >= e.rows) break;
#pragma unroll
            for (int c = 0; c < F::COLS; c += 64) {
                const int col = e.col + c;
                float *at = d[0] + c / 2;
                if (col >= e.cols) break;
                if constexpr (END == SLOPE) {
                    put_sloped(at, p.sums + row / 64 * (int64_t)e.cols + col, e.cols - col);
                } else if constexpr (END == SUMS) {
                    add_bias_of(e, col, at);
                    put_summed(at, e.kind & TILE_SUMS);
                } else {
                    add_bias_of(e, col, at);
                    put_activated(at);
                }
            }
#pragma unroll
            for (int k = 0; k < (F::BLOCKS - 1) * F::COLS / 2; k++)
                d[k / (F::COLS / 2)][k % (F::COLS / 2)] =
                    d[k / (F::COLS / 2) + 1][k % (F::COLS / 2)];
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

// --- matmuls ---

// One tile's k steps into d; a stage is given back to both blocks one step late.
template <class F, bool A_T, bool B_T>
__device__ inline void multiply(const memory<F> &m, ring<F::STAGES> &stage, int steps, int g,
                                int thread, float (&d)[F::BLOCKS][F::COLS / 2])
{
    // In units of 16 bytes: steps of 16 k and blocks of 64 rows; in rows of k a step is 16 rows.
    constexpr int A_K = A_T ? 128 : 2, B_K = B_T ? 128 : 2, ROWS64 = 8192 / 16;
    const uint32_t a0 = operand_at(m.a + (F::TURNS ? 0 : g * F::BLOCKS) * 8192, 8192);
    const uint32_t b0 = operand_at(m.b, 8192);
    int last = -1;
    for (int k = 0; k < steps; k++, stage.next()) {
        barrier_wait(m.full(stage.at), stage.parity);
        const uint32_t a = a0 + (uint32_t)(stage.at * (F::A_BYTES / 16));
        const uint32_t b = b0 + (uint32_t)(stage.at * (F::B_BYTES / 16));
        matmul_begin();
#pragma unroll
        for (int i = 0; i < K_STEP / 16; i++)
#pragma unroll
            for (int r = 0; r < F::BLOCKS; r++)
                matmul_step<A_T, B_T>(d[r], a + (r * ROWS64 + i * A_K), b + i * B_K, k | i);
        matmul_commit();
        matmul_wait<1>();
        if (last >= 0 && thread < 2) barrier_arrive_at(m.empty(last), (uint32_t)thread);
        last = stage.at;
    }
    // Ping-pong: the next group's turn begins while the last step runs.
    if (F::TURNS) threads_come(TURN_BARRIER + (g + 1) % F::GROUPS, 256);
    matmul_wait<0>();
#pragma unroll
    for (int r = 0; r < F::BLOCKS; r++)
        matmul_results(d[r]);
    if (last >= 0 && thread < 2) barrier_arrive_at(m.empty(last), (uint32_t)thread);
}

template <class F, ending END, bool A_T, bool B_T>
__device__ inline void multiply_tiles(const tile_args &p, const memory<F> &m, int g, int thread,
                                      uint32_t block)
{
    float d[F::BLOCKS][F::COLS / 2];
    ring<F::STAGES> stage;
    putter<F, END> put(p, m, g, thread);
    if (F::TURNS && g == F::GROUPS - 1) threads_come(TURN_BARRIER, 256); // the first turn
    for (int t = (int)blockIdx.x / 2, n = 0; t < p.entries; t += (int)gridDim.x / 2, n++) {
        if (F::TURNS && n % F::GROUPS != g) {
            stage.skip(__ldg(&p.list[t].steps));
            continue;
        }
        const my_tile<F> e(p, t, block);
        if (p.has_bias) put.keep_bias(e);
        if (F::TURNS) threads_wait(TURN_BARRIER + g, 256);
        multiply<F, A_T, B_T>(m, stage, e.steps, g, thread, d);
        if (e.inside) put.tile(e, d);
    }
}

template <class F, ending END, bool A_T, bool B_T>
__global__ void __launch_bounds__(F::THREADS, 1) kernel(const __grid_constant__ tile_args p)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) char shared[];
    const memory<F> m(shared_address(shared));
    if (m.a % 1024) __trap(); // swizzles go by addresses
    const uint32_t block = block_of_cluster();
    const int group = (int)threadIdx.x / 128, thread = (int)threadIdx.x % 128;
    if (threadIdx.x == 0) {
        for (int s = 0; s < F::STAGES; s++) {
            barrier_init(m.full(s), 1);
            barrier_init(m.empty(s), 2 * (F::TURNS ? 1 : F::GROUPS));
        }
        for (int g = 0; g < F::GROUPS; g++)
            for (int s = 0; s < F::SLOTS; s++) {
                barrier_init(m.filled(g, s), 4);
                barrier_init(m.stored(g, s), 1);
            }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_wait();
    if (group == 0) {
        registers_down<F::MOVERS>();
        if (thread == 0)
            load_tiles<F, A_T, B_T>(p, m, block);
        else if (thread % 32 == 0 && thread / 32 <= F::GROUPS && END == SUMS)
            store_sums<F>(p, m, thread / 32 - 1, block);
        else if (thread % 32 == 0 && thread / 32 <= F::GROUPS)
            store_tiles<F>(p, m, thread / 32 - 1, block);
    } else {
        registers_up<F::OTHERS>();
        multiply_tiles<F, END, A_T, B_T>(p, m, group - 1, thread, block);
    }
    __syncwarp();
    cluster_wait(); // the other block may still write into this one's memory
#endif
}

template <class F, ending END, bool A_T, bool B_T>
const char *launch(const tile_args *p, int clusters, cudaStream_t stream)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute pairs = {};
    auto *const k = kernel<F, END, A_T, B_T>;
    pairs.id = cudaLaunchAttributeClusterDimension;
    pairs.val.clusterDim.x = 2, pairs.val.clusterDim.y = pairs.val.clusterDim.z = 1;
    c.gridDim = dim3((unsigned)clusters * 2), c.blockDim = dim3(F::THREADS);
    c.dynamicSmemBytes = F::SHARED, c.stream = stream;
    c.attrs = &pairs, c.numAttrs = 1;
    CUDA_CALL(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, F::SHARED));
    if (END == SUMS) { // all run at a time
        int most = 0;
        CUDA_CALL(cudaOccupancyMaxActiveClusters(&most, k, &c));
        if (most < clusters) c.gridDim = dim3((unsigned)most * 2);
    }
    return cuda_said(cudaLaunchKernelEx(&c, k, *p), "tile kernel");
}

// The three products of a linear layer: y = x w', y = x w (and dx = dy w'), dw = x' dy.
template <class F>
const char *launch_any(const tile_args *p, bool a_t, bool b_t, int clusters, cudaStream_t stream)
{
    if constexpr (F::TURNS) {
        if (p->activation && p->has_with)
            return b_t ? launch<F, SLOPE, false, true>(p, clusters, stream)
                       : launch<F, SLOPE, false, false>(p, clusters, stream);
        if (p->activation)
            return b_t ? launch<F, GELU, false, true>(p, clusters, stream)
                       : launch<F, GELU, false, false>(p, clusters, stream);
    }
    if (p->members)
        return b_t ? launch<F, SUMS, false, true>(p, clusters, stream)
                   : launch<F, SUMS, false, false>(p, clusters, stream);
    if (a_t) return launch<F, PLAIN, true, true>(p, clusters, stream);
    if (b_t) return launch<F, PLAIN, false, true>(p, clusters, stream);
    return launch<F, PLAIN, false, false>(p, clusters, stream);
}
} // namespace tile

#endif
