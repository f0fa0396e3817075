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

#include "cuda/kernels/tile_results.cuh"

namespace tile
{
// --- loads ---

template <class F>
__device__ inline void wait_flags(const tile_args &p, const my_tile<F> &e, uint32_t number)
{
    wait_all(p, e, number);
    fence_all(); // the copies that follow see what was written before the flags
}

// The tile is stored.
template <bool THERE = false, class F>
__device__ inline void signal(const tile_args &p, const my_tile<F> &e, uint32_t number)
{
    stores_done();
    fence_all();
    count_tile<THERE>(p, e, number, 1);
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

template <class F, ending END, bool A_T, bool B_T>
__device__ inline void load_tiles(const tile_args &p, const memory<F> &m, uint32_t block)
{
    ring<F::STAGES> stage;
    const uint32_t number = number_of(p);
    for (int t = (int)blockIdx.x / 2; t < p.entries; t += (int)gridDim.x / 2) {
        const my_tile<F> e(p, t, block);
        const bool right = e.kind & TILE_RIGHT;
        if (e.waits && !(e.kind & (END == STORES ? TILE_SUMS | TILE_SENDS : TILE_SUMS)))
            wait_flags(p, e, number);
        for (int k = e.from; k < e.from + e.steps; k++, stage.next()) {
            const int s = stage.at;
            const uint32_t full = m.full(s);
            barrier_wait(m.empty(s), stage.parity ^ 1);
            barrier_expect(full, F::A_BYTES + F::B_BYTES);
            load_part<F::ROWS, A_T>(&e.place->a.map, m.a + s * F::A_BYTES, e.row, k * K_STEP, right, block,
                                    full);
            load_part<F::COLS, B_T>(&e.place->b.map, m.b + s * F::B_BYTES, e.col, k * K_STEP, !right, block,
                                    full);
        }
    }
}

// --- stores ---


// The boxes of results that have a box of p.with, in the order of a group's stores.
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

// One thread's share of what is pushed, piece by piece through the slots of its group, which are
// free until its first tile ends.
template <class F> __device__ inline void push_runs(const tile_args &p, const memory<F> &m, int g)
{
    const uint32_t number = number_of(p), threads = gridDim.x * F::GROUPS;
    ring<F::SLOTS> slot;
    for (int k = 0; k < p.n_pushes; k++) {
        const tile_push r = p.pushes[k];
        wait_number(p, p.flags + (int64_t)r.credit * TILE_FLAG_APART, number,
                    1 + (uint32_t)r.credit);
        for (int64_t at = (int64_t)(blockIdx.x * F::GROUPS + g) * SLOT; at < r.bytes;
             at += (int64_t)threads * SLOT) {
            const int bytes = (int)min((int64_t)SLOT, r.bytes - at);
            const uint32_t there = m.slot(g, slot.at), full = m.pushed(g, slot.at);
            stores_read<F::SLOTS - 1>(); // of the slot's last piece
            barrier_expect(full, bytes);
            load_bytes(there, r.from + at, bytes, full);
            barrier_wait(full, slot.parity);
            store_bytes(r.to + at, there, bytes);
            slot.next();
        }
        stores_done();
        fence_all();
        uint32_t *const tally = p.tallies + (int64_t)r.tally * TILE_FLAG_APART;
        if (count_tally(tally, 1) + 1 < threads) continue;
        *(volatile uint32_t *)tally = 0; // for the next launch
        raise_flag(r.flags + (int64_t)r.signal * TILE_FLAG_APART, number + (uint32_t)r.raise);
    }
}

// One thread: what group g puts into its slots goes to y in the same order, before it to `before`. A
// slot is free, or has its box of p.with, as soon as its store has read it: all of a tile by its
// end, or the next one would wait for its last boxes. Of two slots of a box the last has p.with, or
// the first p.with and the last p.with2. FREED: none is at first.
template <class F, bool FREED>
__device__ inline void store_tiles(const tile_args &p, const memory<F> &m, int g, uint32_t block)
{
    ring<F::SLOTS> slot, freed;
    const int width = p.wide ? 32 : 64, maps = p.has_before ? 2 : 1;
    boxes<F> with(p, g, block);
    const uint32_t number = number_of(p);
    int which = 0; // of a box's slots
    auto free_slot = [&]() {
        const uint32_t stored = m.stored(g, freed.at);
        const bool last = which + 1 == maps;
        if (!p.has_with || (with.there() && !last && !p.has_with2)) {
            barrier_arrive(stored);
        } else if (with.there()) {
            barrier_expect(stored, SLOT);
            load_box(m.slot(g, freed.at), last && p.has_with2 ? &p.with2.map : &p.with.map, with.col,
                     with.row, stored);
        }
        which = last ? 0 : which + 1;
        if (last && p.has_with && with.there()) with.next();
        freed.next();
    };
    for (int i = 0; i < F::SLOTS && (FREED || p.has_with); i++)
        free_slot();
    for (int t = (int)blockIdx.x / 2, n = 0; t < p.entries; t += (int)gridDim.x / 2, n++) {
        if (F::TURNS && n % F::GROUPS != g) continue;
        const my_tile<F> e(p, t, block);
        if (!e.inside || e.kind & TILE_PART) continue;
        int read = 0; // slots whose store may not have read them
        for (int b = 0; b < F::BLOCKS; b++) {
            const int row = first_row(e, g, b);
            if (row >= e.rows) break;
            for (int c = 0; c < F::COLS && e.col + c < e.cols; c += width)
                for (int k = 0; k < maps; k++) {
                    barrier_wait(m.filled(g, slot.at), slot.parity);
                    store_box(k + 1 < maps ? &p.before.map : &e.place->y.map, m.slot(g, slot.at), e.col + c,
                              row);
                    slot.next();
                    if (++read <= F::BEHIND) continue;
                    stores_read<F::BEHIND>();
                    free_slot();
                    read--;
                }
        }
        stores_read<0>();
        for (; read > 0; read--)
            free_slot();
        if (e.kind & TILE_SIGNALS) signal(p, e, number);
    }
    stores_done();
}

// Of a box of 64 x 64: the rows that there are, 128 bytes each, and where they begin in boxes.
template <class F> __device__ inline int box_bytes(const my_tile<F> &e, int row)
{
    return min(64, e.rows - row) * 128;
}
template <class F>
__device__ inline char *box_at(const my_tile<F> &e, char *boxes, int row, int col)
{
    return boxes + ((int64_t)row * e.cols * 2 + (int64_t)(col / 64) * box_bytes(e, row));
}

// Another member's part of a box to shared memory.
template <bool STORED, class F>
__device__ inline void load_other(const my_tile<F> &e, const tile_part *part, uint32_t to, int col,
                                  int row, uint32_t barrier)
{
    barrier_expect(barrier, STORED ? box_bytes(e, row) : SLOT);
    if (STORED)
        load_bytes(to, box_at(e, part->at.rows.data, row, col), box_bytes(e, row), barrier);
    else
        load_box(to, &part->at.map, col, row, barrier);
}

// This member's part, and a sum.
template <bool STORED, class F>
__device__ inline void store_own(const my_tile<F> &e, uint32_t from, int col, int row)
{
    if (!(e.kind & TILE_DROPS)) store_box(&e.place->y.map, from, col, row);
    if (STORED && e.kind & TILE_SENDS)
        store_bytes(box_at(e, e.place->to, row, col), from, box_bytes(e, row));
}
template <bool STORED, class F>
__device__ inline void store_sum(const tile_args &p, const my_tile<F> &e, uint32_t from, int col,
                                 int row)
{
    store_box(&p.parts[p.me].at.map, from, col, row);
    for (int m = 0; m < p.members && STORED && e.kind & TILE_ALL; m++)
        if (m != p.me) store_box(&p.parts[p.members + m].at.map, from, col, row);
}

// The same where other members' slots are added. A box of 64 x 64 has a slot for this member's
// part, which goes to y, and, TILE_SUMS, one for each other member's, by member, the last of which
// gets the sum. What others made is waited for once the tiles before are stored and told: somebody
// may wait for them; so are credits of who gets a tile.
template <class F, bool STORED>
__device__ inline void store_sums(const tile_args &p, const memory<F> &m, int g, uint32_t block)
{
    ring<F::SLOTS> slot, freed;
    const uint32_t number = number_of(p);
    for (int t = (int)blockIdx.x / 2, n = 0; t < p.entries; t += (int)gridDim.x / 2, n++) {
        if (F::TURNS && n % F::GROUPS != g) continue;
        const my_tile<F> e(p, t, block);
        if (!e.inside) continue;
        const bool sums = e.kind & TILE_SUMS;
        const int each = sums ? p.members : 1, across = (min(F::COLS, e.cols - e.col) + 63) / 64;
        const int down = min((e.rows - first_row(e, g, 0) + 63) / 64, F::BLOCKS);
        const int uses = max(down, 0) * across * each;
        auto free_slot = [&](int use) {
            const uint32_t stored = m.stored(g, freed.at);
            const int box = use / each, which = use % each - 1;
            if (which < 0) {
                barrier_arrive(stored);
            } else {
                load_other<STORED>(e, &p.parts[which + (which >= p.me)], m.slot(g, freed.at),
                                   e.col + box % across * 64, first_row(e, g, box / across),
                                   stored);
            }
            freed.next();
        };
        if ((sums || (STORED && e.waits)) && uses) wait_flags(p, e, number);
        for (int use = 0; use < F::SLOTS && use < uses; use++)
            free_slot(use);
        for (int use = 0; use < uses; use++) {
            const int box = use / each, which = use % each;
            const int col = e.col + box % across * 64, row = first_row(e, g, box / across);
            barrier_wait(m.filled(g, slot.at), slot.parity);
            if (which == 0)
                store_own<STORED>(e, m.slot(g, slot.at), col, row);
            else if (which == each - 1)
                store_sum<STORED>(p, e, m.slot(g, slot.at), col, row);
            slot.next();
            stores_read<0>();
            if (use + F::SLOTS < uses) free_slot(use + F::SLOTS);
        }
        if (e.kind & TILE_SIGNALS) signal<STORED>(p, e, number);
    }
    stores_done();
}

// --- matmuls ---

// One step of k; the stage of the step before is given back to both blocks.
template <class F, bool A_T, bool B_T, bool FIRST>
__device__ inline void multiply_step(const memory<F> &m, const ring<F::STAGES> &stage, int &last,
                                     int g, int thread, float (&d)[F::BLOCKS][F::COLS / 2])
{
    // In units of 16 bytes: steps of 16 k and blocks of 64 rows; in rows of k a step is 16 rows.
    constexpr int A_K = A_T ? 128 : 2, B_K = B_T ? 128 : 2, ROWS64 = 8192 / 16;
    barrier_wait(m.full(stage.at), stage.parity);
    const uint32_t a = operand_at(m.a + (F::TURNS ? 0 : g * F::BLOCKS) * 8192, 8192) +
                       (uint32_t)(stage.at * (F::A_BYTES / 16));
    const uint32_t b = operand_at(m.b, 8192) + (uint32_t)(stage.at * (F::B_BYTES / 16));
    matmul_begin();
#pragma unroll
    for (int i = 0; i < K_STEP / 16; i++)
#pragma unroll
        for (int r = 0; r < F::BLOCKS; r++) {
            const uint32_t a_at = a + (r * ROWS64 + i * A_K), b_at = b + i * B_K;
            if (FIRST && i == 0)
                matmul_step<A_T, B_T, false>(d[r], a_at, b_at);
            else
                matmul_step<A_T, B_T, true>(d[r], a_at, b_at);
        }
    matmul_commit();
    matmul_wait<1>();
    if (!FIRST && thread < 2) barrier_arrive_at(m.empty(last), (uint32_t)thread);
    last = stage.at;
}

// One tile's k steps, at least one, into d.
template <class F, bool A_T, bool B_T>
__device__ inline void multiply(const memory<F> &m, ring<F::STAGES> &stage, int steps, int g,
                                int thread, float (&d)[F::BLOCKS][F::COLS / 2])
{
    int last;
    multiply_step<F, A_T, B_T, true>(m, stage, last, g, thread, d);
    stage.next();
    for (int k = 1; k < steps; k++, stage.next())
        multiply_step<F, A_T, B_T, false>(m, stage, last, g, thread, d);
    // Ping-pong: the next group's turn begins while the last step runs.
    if (F::TURNS) threads_come(TURN_BARRIER + (g + 1) % F::GROUPS, 256);
    matmul_wait<0>();
#pragma unroll
    for (int r = 0; r < F::BLOCKS; r++)
        matmul_results(d[r]);
    if (thread < 2) barrier_arrive_at(m.empty(last), (uint32_t)thread);
}

template <class F, ending END, bool A_T, bool B_T>
__device__ inline void multiply_tiles(const tile_args &p, const memory<F> &m, int g, int thread,
                                      uint32_t block)
{
    ring<F::STAGES> stage;
    putter<F, END> put(p, m, g, thread);
    if (F::TURNS && g == F::GROUPS - 1) threads_come(TURN_BARRIER, 256); // the first turn
    for (int t = (int)blockIdx.x / 2, n = 0; t < p.entries; t += (int)gridDim.x / 2, n++) {
        if (F::TURNS && n % F::GROUPS != g) {
            stage.skip(__ldg(&p.list[t].steps));
            continue;
        }
        const my_tile<F> e(p, t, block);
        float d[F::BLOCKS][F::COLS / 2]; // this tile's alone: free when it ends
        if (p.has_bias) put.keep_bias(e);
        if (F::TURNS) threads_wait(TURN_BARRIER + g, 256);
        if (e.steps == 0) { // no tile
            if (F::TURNS) threads_come(TURN_BARRIER + (g + 1) % F::GROUPS, 256);
            continue;
        }
        multiply<F, A_T, B_T>(m, stage, e.steps, g, thread, d);
        if (e.inside) put.tile(e, d);
    }
}

// All barriers of both blocks of the cluster, before either uses one.
template <class F> __device__ inline void make_barriers(const memory<F> &m)
{
    if (m.a % 1024) __trap(); // swizzles go by addresses
    if (threadIdx.x == 0) {
        for (int s = 0; s < F::STAGES; s++) {
            barrier_init(m.full(s), 1);
            barrier_init(m.empty(s), 2 * (F::TURNS ? 1 : F::GROUPS));
        }
        for (int g = 0; g < F::GROUPS; g++)
            for (int s = 0; s < F::SLOTS; s++) {
                barrier_init(m.filled(g, s), 4);
                barrier_init(m.stored(g, s), 1);
                barrier_init(m.pushed(g, s), 1);
            }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_wait();
}

template <class F, ending END, bool A_T, bool B_T>
__global__ void __launch_bounds__(F::THREADS, 1) kernel(const __grid_constant__ tile_args p)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) char shared[];
    const memory<F> m(shared_address(shared));
    const uint32_t block = block_of_cluster();
    const int group = (int)threadIdx.x / 128, thread = (int)threadIdx.x % 128;
    make_barriers(m);
    if (group == 0) {
        registers_down<F::MOVERS>();
        if (thread == 0)
            load_tiles<F, END, A_T, B_T>(p, m, block);
        else if (thread % 32 == 0 && thread / 32 <= F::GROUPS && (END == SUMS || END == STORES))
            store_sums<F, END == STORES>(p, m, thread / 32 - 1, block);
        else if (thread % 32 == 0 && thread / 32 <= F::GROUPS) {
            if (END == PUSHES) push_runs<F>(p, m, thread / 32 - 1);
            store_tiles<F, END == PUSHES>(p, m, thread / 32 - 1, block);
        }
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
    if (END == SUMS || END == STORES || END == PUSHES) { // all run at a time
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
        if (p->activation >= TILE_SILU_TIMES) // tile_why_not: b lies as models have it
            return p->has_with2 ? launch<F, GATED_BWD, false, true>(p, clusters, stream)
                                : launch<F, GATED, false, false>(p, clusters, stream);
        if (p->activation && p->has_with)
            return b_t ? launch<F, SLOPE, false, true>(p, clusters, stream)
                       : launch<F, SLOPE, false, false>(p, clusters, stream);
        if (p->activation)
            return b_t ? launch<F, GELU, false, true>(p, clusters, stream)
                       : launch<F, GELU, false, false>(p, clusters, stream);
    }
    if (p->members && p->boxes)
        return b_t ? launch<F, STORES, false, true>(p, clusters, stream)
                   : launch<F, STORES, false, false>(p, clusters, stream);
    if (p->members)
        return b_t ? launch<F, SUMS, false, true>(p, clusters, stream)
                   : launch<F, SUMS, false, false>(p, clusters, stream);
    if (p->n_pushes)
        return b_t ? launch<F, PUSHES, false, true>(p, clusters, stream)
                   : launch<F, PUSHES, false, false>(p, clusters, stream);
    if (a_t) return launch<F, PLAIN, true, true>(p, clusters, stream);
    if (b_t) return launch<F, PLAIN, false, true>(p, clusters, stream);
    return launch<F, PLAIN, false, false>(p, clusters, stream);
}
} // namespace tile

#endif
