// The gradient of attention for bf16 heads 64 or 128 wide, on sm_90a. A block takes 128 keys of a
// query head and walks over the queries that see them: dk and dv are sums in registers, dq is added
// to in memory, from the last keys that a query sees to the first: the bits are the same in every
// run. Beside it cuDNN's ordered kernel writes the scores' gradients to memory, 2 bytes for each
// query and key, and reads them again.
//
// Where heads are many, a block goes on with all keys of its head, and its sums are its own. Where
// they are few, any block takes the next keys, the last of a head first. It adds to dq of some
// queries once a flag counts all adds of later keys. Under a causal mask blocks that began together
// take turns without a wait: each starts at its first queries, and the block with later keys has
// gone on from there. What a block waits for was taken before: there is no deadlock however few
// blocks run at once. A warp of its own raises and reads flags, so that nothing else waits for memory.
//
// Two groups of four warps have 64 keys each. By wgmma a group makes s' = k q' and dp' = v dy',
// then p' = exp(s' - lse) and ds' = p' (dp' - dot), which are operands as they lie in the
// registers: dv += p' dy, dk += ds' q. ds goes to shared memory as well, where both groups read it:
// each makes half of dq += ds k. What dq has so far lies in memory as the threads hold it, which no
// other thread reads. A warp of a third group loads. p and ds are rounded to 16 bits, sums are f32.
//
// Heads that share keys each leave dk and dv of their own, in f32; a second kernel adds them in
// order.

#ifndef HAP_RUNTIME_CUDA_SDPA_HEADS_CUH
#define HAP_RUNTIME_CUDA_SDPA_HEADS_CUH

#include "cuda/kernels/cuda_flags.cuh"
#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/tile_ptx.cuh"

namespace
{
enum {
    KEYS = 128,
    GROUPS = 2,
    THREADS = 128 * (GROUPS + 1),
    PLACES = 2,
    LOADER = 24,
    OTHERS = 240
};
enum { ROW_BYTES = 128 }; // of 64 columns: what one box of a map has of a row
constexpr uint32_t NO_KEYS = 0xFFFFFFFFu;

// What a width W makes of it. Queries at a time: so many that a thread's sums fit its registers.
template <int W> struct form {
    static constexpr int QUERIES = W == 64 ? 128 : 64, BOXES = W / 64;
    static constexpr int KEY_BOX = KEYS * ROW_BYTES, QUERY_BOX = QUERIES * ROW_BYTES;
    static constexpr int KEY_BYTES = BOXES * KEY_BOX, QUERY_BYTES = BOXES * QUERY_BOX;
    static constexpr int STATS = 2 * QUERIES * 4;               // lse and dot of the queries
    static constexpr int SCORES = GROUPS * QUERIES * ROW_BYTES; // ds, 64 keys a box
    static constexpr bool FETCHES = W == 64; // there is room for what dq has so far
    static constexpr int SUMS = FETCHES ? GROUPS * 128 * 32 * 4 : 0;
    static constexpr int SHARED =
        PLACES * (2 * KEY_BYTES + 2 * QUERY_BYTES + STATS + SCORES) + SUMS + 8 * 6 * PLACES + 16;
};

struct head_args {
    CUtensorMap q, k, v, dy;
    cuda_head_at at[CUDA_HEAD_ROLES];
    void *dq, *dk, *dv;
    uint16_t *parts;       // dk and dv of each query head, [2, b, heads, keys, W]; or nothing
    const float *stats;    // of a head and its queries at a time: lse to the base 2, then dot
    float *sums;           // dq so far, of a block or, where they share heads, of a head
    uint32_t *taken;       // how many heads, or keys of a head, blocks have taken
    uint32_t *adds;        // to dq, of a head and its queries at a time; NULL: heads are not shared
    int heads, group, all; // of a sample; that share keys; in all samples
    int together;          // of those that share keys: what a block takes at once
    int n_q, n_k, behind;  // behind: a causal query i sees keys up to i + behind
    bool causal;
    float scale;
};

// The queries that see keys from `key` on begin in these; the keys that these see end in those.
template <int W> __device__ inline int first_queries(const head_args &o, int keys)
{
    int first = keys * KEYS - o.behind;
    return o.causal && first > 0 ? first / form<W>::QUERIES : 0;
}
template <int W> __device__ inline int last_keys(const head_args &o, int queries)
{
    int most = (o.n_k - 1) / KEYS;
    int seen = ((queries + 1) * form<W>::QUERIES - 1 + o.behind) / KEYS;
    return o.causal && seen < most ? seen : most;
}

template <int W> struct memory {
    using F = form<W>;
    uint32_t base;
    __device__ explicit memory(uint32_t at) : base(at) {}
    __device__ uint32_t k(int place) const { return base + (uint32_t)(place * F::KEY_BYTES); }
    __device__ uint32_t v(int place) const { return k(PLACES + place); }
    __device__ uint32_t q(int place) const
    {
        return k(2 * PLACES) + (uint32_t)(place * F::QUERY_BYTES);
    }
    __device__ uint32_t dy(int place) const { return q(PLACES + place); }
    __device__ uint32_t scores(int place) const
    {
        return q(2 * PLACES) + (uint32_t)(place * F::SCORES);
    }
    __device__ uint32_t stats(int place) const
    {
        return scores(PLACES) + (uint32_t)(place * F::STATS);
    }
    __device__ uint32_t sums() const { return stats(PLACES); }
    __device__ uint32_t keys_came(int place) const
    {
        return sums() + (uint32_t)(F::SUMS + place * 8);
    }
    __device__ uint32_t keys_done(int place) const { return keys_came(PLACES + place); }
    __device__ uint32_t queries_came(int place) const { return keys_came(2 * PLACES + place); }
    __device__ uint32_t queries_done(int place) const { return keys_came(3 * PLACES + place); }
    __device__ uint32_t scores_came(int place) const { return keys_came(4 * PLACES + place); }
    __device__ uint32_t keys_which(int place) const { return keys_came(5 * PLACES + place); }
    __device__ uint32_t turn_came() const { return keys_came(6 * PLACES); }
    __device__ uint32_t turn_done() const { return keys_came(6 * PLACES + 1); }
};

// Two as bf16, at this place in the code: so that what they were made of is given up by then.
[[maybe_unused]] __device__ inline uint32_t pack_now(float low, float high)
{
    uint32_t v;
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

// One of PLACES in turns, and how often all were taken.
struct turn {
    int place = 0;
    uint32_t round = 0;
    [[maybe_unused]] __device__ void next()
    {
        if (++place == PLACES) place = 0, round ^= 1;
    }
};

[[maybe_unused]] __device__ inline void load_head_box(uint32_t to, const CUtensorMap *map, int x,
                                                      int row, int head, int sample,
                                                      uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map), "r"(x), "r"(row), "r"(head), "r"(sample), "r"(barrier)
                 : "memory");
}

template <int W>
__device__ inline void load_keys(const head_args &o, const memory<W> &m, int head, int j,
                                 turn &keys, turn &queries)
{
    using F = form<W>;
    const int key_steps = (o.n_k + KEYS - 1) / KEYS,
              query_steps = (o.n_q + F::QUERIES - 1) / F::QUERIES;
    const int b = head / o.heads, h = head % o.heads, hk = h / o.group;
    const char *stats = (const char *)o.stats + (int64_t)head * query_steps * F::STATS;
    barrier_wait(m.keys_done(keys.place), keys.round ^ 1);
    store_shared_word(m.keys_which(keys.place), (uint32_t)(head * key_steps + j));
    uint32_t came = m.keys_came(keys.place);
    barrier_expect(came, 2 * F::KEY_BYTES);
    for (int x = 0; x < F::BOXES; x++) {
        uint32_t at = (uint32_t)(x * F::KEY_BOX);
        load_head_box(m.k(keys.place) + at, &o.k, x * 64, j * KEYS, hk, b, came);
        load_head_box(m.v(keys.place) + at, &o.v, x * 64, j * KEYS, hk, b, came);
    }
    keys.next();
    for (int n = 0; n < o.together; n++, stats += query_steps * F::STATS)
        for (int i = first_queries<W>(o, j); i < query_steps; i++, queries.next()) {
            barrier_wait(m.queries_done(queries.place), queries.round ^ 1);
            came = m.queries_came(queries.place);
            barrier_expect(came, 2 * F::QUERY_BYTES + F::STATS);
            for (int x = 0; x < F::BOXES; x++) {
                uint32_t at = (uint32_t)(x * F::QUERY_BOX);
                load_head_box(m.q(queries.place) + at, &o.q, x * 64, i * F::QUERIES, h + n, b,
                              came);
                load_head_box(m.dy(queries.place) + at, &o.dy, x * 64, i * F::QUERIES, h + n, b,
                              came);
            }
            load_bytes(m.stats(queries.place), stats + i * F::STATS, F::STATS, came);
        }
}

// Takes heads, or keys of heads, until there are none, and says so.
template <int W> __device__ inline void load_all(const head_args &o, const memory<W> &m)
{
    const int key_steps = (o.n_k + KEYS - 1) / KEYS, each = o.adds ? 1 : key_steps,
              parts = key_steps / each;
    turn keys, queries;
    for (;;) {
        const int next = (int)atomicAdd(o.taken, 1u), head = next / parts * o.together;
        if (head >= o.all) break;
        const int last = key_steps - 1 - next % parts;
        for (int j = last; j > last - each; j--)
            load_keys<W>(o, m, head, j, keys, queries);
    }
    barrier_wait(m.keys_done(keys.place), keys.round ^ 1);
    store_shared_word(m.keys_which(keys.place), NO_KEYS);
    barrier_arrive(m.keys_came(keys.place));
}

// For each step of the block: waits until dq of its queries has what later keys add, and lets the
// block add to it; then counts that add. What takes CUDA_HEADS_WAIT never comes: the launch fails.
template <int W> __device__ inline void take_turns(const head_args &o, const memory<W> &m)
{
    constexpr uint64_t most = CUDA_HEADS_WAIT * 1000000000ull; // ns
    const int key_steps = (o.n_k + KEYS - 1) / KEYS,
              query_steps = (o.n_q + form<W>::QUERIES - 1) / form<W>::QUERIES;
    turn keys;
    uint32_t done = 0, *raised = NULL, to = 0;
    auto finish = [&] {
        if (!raised) return;
        barrier_wait(m.turn_done(), done);
        done ^= 1;
        raise_flag_here(raised, to);
    };
    for (;; keys.next()) {
        barrier_wait(m.keys_came(keys.place), keys.round);
        const uint32_t which = load_shared_word(m.keys_which(keys.place));
        if (which == NO_KEYS) break;
        barrier_arrive(m.keys_done(keys.place));
        const int head = (int)which / key_steps, j = (int)which % key_steps,
                  first = first_queries<W>(o, j), each = query_steps - first;
        for (int n = 0; n < each * o.together; n++) {
            finish();
            const int i = first + n % each;
            const uint32_t before = (uint32_t)(last_keys<W>(o, i) - j);
            raised = o.adds + (int64_t)(head + n / each) * query_steps + i;
            to = before + 1;
            uint64_t begin = 0;
            while (before > 0 && read_flag_here(raised) < before) {
                if (!begin) begin = nanoseconds();
                if (nanoseconds() - begin > most) asm volatile("trap;");
            }
            barrier_arrive(m.turn_came());
        }
    }
    finish();
}

// A group's 64 rows of 64 columns, times a number, as bf16. The four lanes that hold a row turn
// what they have, so that each stores 16 bytes of it.
[[maybe_unused]] __device__ inline void leave(const float *acc, float scale, uint16_t *to,
                                              int64_t apart, int rows)
{
    const int lane = (int)threadIdx.x % 32, t = lane % 4,
              row = (int)threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            uint32_t w[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float *from = acc + 4 * (j + i) + 2 * half;
                w[i] = pack_bf16(from[0] * scale, from[1] * scale);
            }
            // Lane t gets what lane s has at t: by exchanges over two lanes, then over one.
#pragma unroll
            for (int n = 2; n > 0; n /= 2)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (i & n) continue;
                    bool upper = t & n;
                    uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, upper ? w[i] : w[i + n], n);
                    if (upper)
                        w[i] = other;
                    else
                        w[i + n] = other;
                }
            if (row + 8 * half < rows)
                *(uint4 *)(to + (row + 8 * half) * apart + 8 * (j + t)) =
                    make_uint4(w[0], w[1], w[2], w[3]);
        }
}

template <int W>
__device__ inline void store_head_grads(const head_args &o, int head, int b, int h, int role,
                                        int key, float scale, const float (&d)[W / 2])
{
    const int rows = o.n_k - key;
    if (rows <= 0) return;
    const int64_t apart = o.parts ? W : o.at[role].s;
    uint16_t *to = (uint16_t *)(role == CUDA_DK ? o.dk : o.dv) + b * o.at[role].b +
                   h / o.group * o.at[role].h + key * apart;
    if (o.parts) to = o.parts + (((int64_t)(role - CUDA_DK) * o.all + head) * o.n_k + key) * apart;
    for (int x = 0; x < W / 64; x++)
        leave(d + 32 * x, scale, to + 64 * x, apart, rows);
}

// What a group makes of 64 queries: p and ds, as operands of 64 keys x 16 queries.
struct made {
    uint32_t p[4][4], ds[4][4];
};

// Some keys of a head and queries that see them, and where they lie in shared memory.
struct stand {
    turn keys, queries, scores;
    int head, b, h, j, i; // j: of the keys; i: of the queries
};

// A group's thread and sums of its 64 keys.
template <int W> struct walker {
    using F = form<W>;
    static constexpr int Q = F::QUERIES, HALVES = Q / 64;
    const head_args &o;
    const memory<W> &m;
    const int group, warp, lane, key_steps, query_steps;
    float4 *sums;     // of dq: this thread's of the first queries
    uint32_t fetched; // and in shared memory
    uint64_t stays;   // in the second level of caches, rather than what is read once
    uint32_t round = 0; // of turns
    stand at = {}, was = {};
    float dk[W / 2], dv[W / 2];

    __device__ walker(const head_args &o, const memory<W> &m, int group, int thread)
        : o(o), m(m), group(group), warp(thread / 32), lane(thread % 32),
          key_steps((o.n_k + KEYS - 1) / KEYS), query_steps((o.n_q + Q - 1) / Q)
    {
        sums = (float4 *)o.sums +
               ((o.adds ? 0 : (int64_t)blockIdx.x) * query_steps * GROUPS + group) * 8 * 128 +
               thread;
        if (o.adds) // heads that are done with would stay as well
            asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(stays));
        else
            asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(stays));
        fetched = m.sums() + (uint32_t)((group * 8 * 128 + thread) * 16);
    }

    // s' = k q' and dp' = v dy' of the group's keys and 64 queries, begun.
    __device__ void scores_begin(int half, float (&s)[32], float (&dp)[32])
    {
        const uint32_t mine = (uint32_t)group * 64 * ROW_BYTES,
                       rows = (uint32_t)half * 64 * ROW_BYTES;
        matmul_begin();
#pragma unroll
        for (int which = 0; which < 2; which++) {
            const uint32_t a = operand_at((which ? m.v(at.keys.place) : m.k(at.keys.place)) + mine,
                                          0),
                           b = operand_at(
                               (which ? m.dy(at.queries.place) : m.q(at.queries.place)) + rows, 0);
            auto &d = which ? dp : s;
#pragma unroll
            for (int e = 0; e < W / 16; e++) {
                const uint32_t a_at = a + (uint32_t)(e / 4 * (F::KEY_BOX / 16) + e % 4 * 2),
                               b_at = b + (uint32_t)(e / 4 * (F::QUERY_BOX / 16) + e % 4 * 2);
                if (e == 0)
                    matmul_step<0, 0, false>(d, a_at, b_at);
                else
                    matmul_step<0, 0, true>(d, a_at, b_at);
            }
        }
        matmul_commit();
    }

    // p and ds of what has come.
    __device__ void make(int half, float (&s)[32], float (&dp)[32], made &to)
    {
        const int t = lane % 4, key = at.j * KEYS + group * 64 + warp * 16 + lane / 4,
                  query = at.i * Q + half * 64;
        const uint32_t lse = m.stats(at.queries.place) + (uint32_t)(256 * half + 8 * t),
                       dot = lse + Q * 4;
        const float to_base_2 = o.scale * 1.4426950408889634f;
        // Some keys of the group's are beyond the last, or hidden from some query.
        if (at.j * KEYS + KEYS > o.n_k || (o.causal && at.j * KEYS + KEYS - 1 > query + o.behind)) {
            const int seen = o.causal ? query + 2 * t + o.behind + 1 - key : INT32_MAX / 2,
                      end = o.n_k - key;
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int most = seen + 8 * n + e % 2;
                    if (e / 2 * 8 >= (most < end ? most : end)) s[4 * n + e] = -INFINITY;
                }
        }
#pragma unroll
        for (int n = 0; n < 8; n++) {
            const float2 l = load_shared(lse + (uint32_t)(32 * n)),
                         d = load_shared(dot + (uint32_t)(32 * n));
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const float *x = s + 4 * n + 2 * r, *y = dp + 4 * n + 2 * r;
                const float p = hap_formula::quick_exp2(__fmaf_rn(x[0], to_base_2, -l.x)),
                            q = hap_formula::quick_exp2(__fmaf_rn(x[1], to_base_2, -l.y));
                to.p[n / 2][n % 2 * 2 + r] = pack_now(p, q);
                to.ds[n / 2][n % 2 * 2 + r] = pack_now(p * (y[0] - d.x), q * (y[1] - d.y));
            }
        }
    }

    // dv += p' dy, dk += ds' q of 64 queries, begun; ds goes to shared memory.
    __device__ void grads_begin(int half, const made &of)
    {
        const uint32_t rows = (uint32_t)half * 64 * ROW_BYTES;
        const uint32_t dy = operand_at(m.dy(at.queries.place) + rows, F::QUERY_BOX),
                       q = operand_at(m.q(at.queries.place) + rows, F::QUERY_BOX);
        matmul_begin();
#pragma unroll
        for (int n = 0; n < 4; n++) {
            matmul_held_step(dv, of.p[n], dy + (uint32_t)(n * 128));
            matmul_held_step(dk, of.ds[n], q + (uint32_t)(n * 128));
        }
        matmul_commit();
        // A lane has the row of 8 keys for one query, of four matrices of 8 queries by 8 keys.
        const int chunk = 2 * warp + lane / 8 % 2;
        const uint32_t to = m.scores(at.scores.place) + rows +
                            (uint32_t)((group * Q + lane / 16 * 8 + lane % 8) * ROW_BYTES +
                                       (chunk ^ lane % 8) * 16);
#pragma unroll
        for (int n = 0; n < 4; n++)
            store_matrices_turned(to + (uint32_t)(n * 16 * ROW_BYTES), of.ds[n][0], of.ds[n][1],
                                  of.ds[n][2], of.ds[n][3]);
    }

    // dq of 64 queries, or of 64 columns, and all keys, where this stood before: begun once both
    // groups have left ds.
    __device__ void dq_begin(float (&dq)[32])
    {
        barrier_wait(m.scores_came(was.scores.place), was.scores.round);
        const uint32_t ds = operand_at(m.scores(was.scores.place) +
                                           (uint32_t)(W == 64 ? group * 64 * ROW_BYTES : 0),
                                       0),
                       k = operand_at(
                           m.k(was.keys.place) + (uint32_t)(W == 64 ? 0 : group * F::KEY_BOX), 0);
        matmul_begin();
#pragma unroll
        for (int n = 0; n < KEYS / 16; n++) {
            const uint32_t a = ds + (uint32_t)(n / 4 * (Q * ROW_BYTES / 16) + n % 4 * 2);
            if (n == 0)
                matmul_step<0, 1, false>(dq, a, k);
            else
                matmul_step<0, 1, true>(dq, a, k + (uint32_t)(n * 128));
        }
        matmul_commit();
    }

    __device__ float4 *so_far() const
    {
        int64_t at = (o.adds ? (int64_t)was.head * query_steps : 0) + was.i;
        return sums + at * GROUPS * 8 * 128;
    }
    __device__ bool has_sums() const { return was.j < last_keys<W>(o, was.i); }

    // What dq has so far, of keys behind these, begins to come to shared memory.
    __device__ void dq_fetch()
    {
        if (o.adds) {
            barrier_wait(m.turn_came(), round);
            round ^= 1;
        }
        if (F::FETCHES && has_sums())
#pragma unroll
            for (int n = 0; n < 8; n++)
                asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                                 fetched + (uint32_t)(n * 128 * 16)),
                             "l"(so_far() + n * 128), "l"(stays)
                             : "memory");
    }

    __device__ void dq_end(float (&dq)[32])
    {
        if (F::FETCHES) asm volatile("cp.async.wait_all;" ::: "memory");
        if (has_sums())
#pragma unroll
            for (int n = 0; n < 8; n++) {
                float4 had;
                if (F::FETCHES) {
                    const uint4 v = load_shared_vector(fetched + (uint32_t)(n * 128 * 16));
                    had = make_float4(__uint_as_float(v.x), __uint_as_float(v.y),
                                      __uint_as_float(v.z), __uint_as_float(v.w));
                } else {
                    had = __ldcg(so_far() + n * 128); // another block's, perhaps
                }
                dq[4 * n] += had.x, dq[4 * n + 1] += had.y;
                dq[4 * n + 2] += had.z, dq[4 * n + 3] += had.w;
            }
        if (was.j > 0) {
#pragma unroll
            for (int n = 0; n < 8; n++)
                asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(
                                 so_far() + n * 128),
                             "f"(dq[4 * n]), "f"(dq[4 * n + 1]), "f"(dq[4 * n + 2]),
                             "f"(dq[4 * n + 3]), "l"(stays)
                             : "memory");
        } else {
            const int row = was.i * Q + (W == 64 ? group * 64 : 0), col = W == 64 ? 0 : group * 64;
            const cuda_head_at &to = o.at[CUDA_DQ];
            leave(dq, o.scale, (uint16_t *)o.dq + was.b * to.b + was.h * to.h + row * to.s + col,
                  to.s, o.n_q - row);
        }
        if (was.i + 1 == query_steps && (was.head + 1) % o.together == 0 && lane == 0)
            barrier_arrive(m.keys_done(was.keys.place));
        if (o.adds) {
            __syncwarp();
            if (lane == 0) barrier_arrive(m.turn_done());
        }
    }

    // What is made of these keys and queries; meanwhile dq of those before, if AFTER.
    template <bool AFTER> __device__ void step()
    {
        float s[32], dp[32];
        made a;
        barrier_wait(m.queries_came(at.queries.place), at.queries.round);
        scores_begin(0, s, dp);
        if constexpr (AFTER) {
            float dq[32];
            dq_fetch();
            dq_begin(dq);
            matmul_wait<1>();
            matmul_results(s);
            matmul_results(dp);
            make(0, s, dp, a);
            matmul_wait<0>();
            matmul_results(dq);
            dq_end(dq);
        } else {
            matmul_wait<0>();
            matmul_results(s);
            matmul_results(dp);
            make(0, s, dp, a);
        }
        grads_begin(0, a);
        if constexpr (HALVES == 2) {
            scores_begin(1, s, dp);
            matmul_wait<0>();
            matmul_results(s);
            matmul_results(dp);
            make(1, s, dp, a);
            grads_begin(1, a);
        }
        fence_shared();
        matmul_wait<0>();
        matmul_results(dk);
        matmul_results(dv);
        if (lane == 0) barrier_arrive(m.queries_done(at.queries.place));
        __syncwarp();
        if (lane == 0) barrier_arrive(m.scores_came(at.scores.place));
        was = at;
        at.scores.next(), at.queries.next();
    }

    __device__ void last()
    {
        float dq[32];
        dq_fetch();
        dq_begin(dq);
        matmul_wait<0>();
        matmul_results(dq);
        dq_end(dq);
    }

    __device__ void queries_begin()
    {
        at.b = at.head / o.heads, at.h = at.head % o.heads;
        at.i = first_queries<W>(o, at.j);
    }

    // False: there are no more.
    __device__ bool keys_begin()
    {
        barrier_wait(m.keys_came(at.keys.place), at.keys.round);
        const uint32_t which = load_shared_word(m.keys_which(at.keys.place));
        if (which == NO_KEYS) return false;
        at.head = (int)which / key_steps, at.j = (int)which % key_steps;
        queries_begin();
#pragma unroll
        for (int n = 0; n < W / 2; n++)
            dk[n] = dv[n] = 0;
        return true;
    }

    __device__ void keys_end()
    {
        const int key = at.j * KEYS + group * 64;
        store_head_grads<W>(o, at.head, at.b, at.h, CUDA_DK, key, o.scale, dk);
        store_head_grads<W>(o, at.head, at.b, at.h, CUDA_DV, key, 1.0f, dv);
    }

    // To the next queries, of these keys or of others that some see; false behind the last.
    __device__ bool next(bool begins)
    {
        if (!begins && ++at.i < query_steps) return true;
        if (!begins && (at.head + 1) % o.together) {
            at.head++;
            queries_begin();
            return true;
        }
        for (;; begins = false) {
            if (!begins) {
                keys_end();
                at.keys.next();
            }
            if (!keys_begin()) return false;
            if (at.i < query_steps) return true;
            if (lane == 0) barrier_arrive(m.keys_done(at.keys.place));
        }
    }
};

template <int W>
__device__ inline void multiply_all(const head_args &o, const memory<W> &m, int group)
{
    walker<W> w(o, m, group, (int)threadIdx.x % 128);
    if (!w.next(true)) return;
    w.template step<false>();
    while (w.next(false)) {
        if constexpr (W == 64) { // else registers are too few
            w.template step<true>();
        } else {
            w.last();
            w.template step<false>();
        }
    }
    w.last();
}

template <int W>
__global__ void __launch_bounds__(THREADS, 1) head_grads(const __grid_constant__ head_args o)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) char shared[];
    const memory<W> m(shared_address(shared));
    const int group = __shfl_sync(0xFFFFFFFFu, (int)threadIdx.x / 128, 0);
    if (threadIdx.x == 0) {
        for (int i = 0; i < PLACES; i++) {
            barrier_init(m.keys_came(i), 1);
            barrier_init(m.queries_came(i), 1);
            barrier_init(m.keys_done(i), 4 * GROUPS + (o.adds ? 1 : 0));
            barrier_init(m.queries_done(i), 4 * GROUPS);
            barrier_init(m.scores_came(i), 4 * GROUPS);
        }
        barrier_init(m.turn_came(), 1);
        barrier_init(m.turn_done(), 4 * GROUPS);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == 0) {
        registers_down<LOADER>();
        if (threadIdx.x == 0) load_all<W>(o, m);
        if (threadIdx.x == 32 && o.adds) take_turns<W>(o, m);
    } else {
        registers_up<OTHERS>();
        multiply_all<W>(o, m, group - 1);
    }
#endif
}
} // namespace

#endif
