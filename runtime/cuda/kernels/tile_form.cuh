// The forms of tile kernels: what a form's blocks hold in shared memory, and the tiles of a list.

#ifndef HAP_RUNTIME_CUDA_TILE_FORM_CUH
#define HAP_RUNTIME_CUDA_TILE_FORM_CUH

#include "cuda/kernels/tile_args.h"
#include "cuda/kernels/tile_ptx.cuh"

namespace tile
{
enum { K_STEP = 64, SLOT = 8192, MOST_SHARED = 232448 };
enum { BIAS_BARRIER = 1, TURN_BARRIER = 4 }; // one a multiplying warpgroup
// What a kernel does with its results, built apart: each has registers for its own alone. Forms in
// turns have all, the others PLAIN with parts of k, SUMS, STORES, which are sums, too, and PUSHES,
// which are plain.
// GATED is silu's products, GATED_BWD their gradients.
enum ending { PLAIN, GELU, SLOPE, GATED, GATED_BWD, SUMS, STORES, PUSHES };

template <int ROWS_, int COLS_, int GROUPS_, bool TURNS_, int STAGES_, int SLOTS_> struct form {
    static constexpr int ROWS = ROWS_, COLS = COLS_, GROUPS = GROUPS_; // GROUPS: that multiply
    static constexpr bool TURNS = TURNS_;                              // ping-pong
    static constexpr int STAGES = STAGES_, SLOTS = SLOTS_;             // SLOTS: of a group
    static constexpr int BLOCKS = ROWS / 64 / (TURNS ? 1 : GROUPS);    // of 64 rows a group has
    static constexpr int A_BYTES = ROWS * K_STEP * 2, B_BYTES = COLS * K_STEP * 2;
    static constexpr int THREADS = 128 * (1 + GROUPS);
    // Registers of a thread that moves data, and of one that multiplies: in turns, movers with fewer
    // would keep their places in memory, and be late with each box.
    static constexpr int MOVERS = GROUPS == 3 ? 32 : TURNS ? 56 : 40;
    static constexpr int OTHERS = GROUPS == 3 ? 160 : TURNS ? 224 : 232;
    static constexpr int BARRIERS = 8 * (2 * STAGES + 3 * GROUPS * SLOTS);
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
    __device__ uint32_t pushed(int g, int s) const
    {
        return barriers + 16 * (F::STAGES + F::GROUPS * F::SLOTS) + 8 * (g * F::SLOTS + s);
    }
};

// The compiler takes a choice between an argument and memory for one kind of address.
__device__ inline const tile_place *place_of(const tile_args &p, int place)
{
    const tile_place *at = &p.one;
#ifdef __CUDACC__
    asm("mov.b64 %0, %1;" : "=l"(at) : "l"(&p.one));
#endif
    return p.places ? p.places + place : at;
}

// This block's tile of an entry.
template <class F> struct my_tile {
    int row, col, kind, rows, cols, from, steps, slot, slots, wait, waits, signal, tally, count,
        raise, number; // of its place
    const tile_place *place;
    bool inside;
    __device__ my_tile(const tile_args &p, int t, uint32_t block)
    {
        const int4 *e = (const int4 *)(p.list + t);
        const int4 at = __ldg(e), k = __ldg(e + 1), more = __ldg(e + 2), flags = __ldg(e + 3);
        row = at.x, col = at.y, kind = at.z, place = place_of(p, at.w), number = at.w;
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

__device__ inline uint32_t number_of(const tile_args &p)
{
    uint32_t number = p.number;
    if (p.number_at) number = read_flag(p.number_at);
    return number;
}

// All that a tile waits for.
template <class F>
__device__ inline void wait_all(const tile_args &p, const my_tile<F> &e, uint32_t number)
{
    for (int i = e.wait; i < e.wait + e.waits; i++) {
        const int2 w = __ldg((const int2 *)(p.waits + i));
        wait_number(p, p.flags + (int64_t)w.x * TILE_FLAG_APART, number + (uint32_t)w.y,
                    1 + (uint32_t)w.x);
    }
}

// So many of the tile's arrivals: who brings the tally to its count raises the flag, `there` at
// those members to whom the tiles go.
template <bool THERE = false, class F>
__device__ inline void count_tile(const tile_args &p, const my_tile<F> &e, uint32_t number,
                                  uint32_t arrivals)
{
    uint32_t *const tally = p.tallies + (int64_t)e.tally * TILE_FLAG_APART;
    if (count_tally(tally, arrivals) + arrivals < (uint32_t)e.count) return;
    *(volatile uint32_t *)tally = 0; // for the next launch
    const int64_t at = (int64_t)e.signal * TILE_FLAG_APART;
    if (!THERE) raise_flag(p.flags + at, number + (uint32_t)e.raise);
    for (int m = 0; m < p.members && THERE; m++)
        if (m != p.me && (e.kind & TILE_ALL || m == e.number % p.members))
            raise_flag(p.parts[m].flags + at, number + (uint32_t)e.raise);
}

// Of the tile's blocks of 64 rows group g has b = 0, 1, …: the first row.
template <class F> __device__ inline int first_row(const my_tile<F> &e, int g, int b)
{
    return e.row + 64 * (F::TURNS ? b : g * F::BLOCKS + b);
}
} // namespace tile

#endif
