// Products beside collectives on the GPUs of one host without hapc: what each takes alone, one after
// the other, in equal chunks on two streams by NCCL, and in chunks by pushes of the copy engine for a
// list of groupings ({distance, weight} in the order of work, as hap_overlap takes them). Prints a
// table in ms, medians of the slowest rank, and how many elements were wrong in all.
// Usage: mpirun -n W overlap_base SHAPES [SECONDS]
#include "overlap_gpu.cuh"

struct group {
    int d, w;
};
typedef std::vector<group> groups;
static ncclComm_t comm;
static unsigned epoch;

// --- one shape ---

enum kind { AG, RS, AR };
static const char *const kind_name[] = {"AG", "RS", "AR"};
struct shape {
    kind what;
    i64 m, n, k; // of the whole weight
    std::string name;
};
static shape S;
static i64 rows;          // of a rank's shard
static i64 nl, kl;        // of the product here
static product P;
static bf16 *x[2], *w[2], *y[2], *out[2], *ref; // x AG: own rows, else [m, kl]; out: RS, AR results
static size_t sym[2];     // offsets in the segment: the gathered tensor, or slots by source
static size_t sym_out[2]; // AR: the result
static i64 width() { return S.what == AG ? S.k : S.n; } // elements of a row that travels
static bf16 *there(int j, size_t off) { return (bf16 *)(peer[j] + off); }

static i64 bound(i64 n, const groups &g, size_t i, int *part, i64 *hi)
{
    i64 sum = 0, before = 0;
    *part = 0;
    for (size_t q = 0; q < g.size(); q++)
        if (g[q].d == g[i].d) {
            sum += g[q].w;
            if (q < i) before += g[q].w, ++*part;
        }
    *hi = n * (before + g[i].w) / sum;
    return n * before / sum;
}

// y = sum of the parts of all ranks by rank: own is part me
static __global__ void sum_kernel(bf16 *out, const bf16 *slots, i64 slot, const bf16 *mine, int me, int n, i64 count)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count / 8; i += (i64)gridDim.x * blockDim.x) {
        float a[8] = {};
        uint4 v[8];
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (j < n) v[j] = j == me ? ((const uint4 *)mine)[i] : ((const uint4 *)(slots + j * slot))[i];
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (j < n) {
                const __nv_bfloat162 *h = (const __nv_bfloat162 *)&v[j];
                for (int q = 0; q < 4; q++) {
                    float2 f = __bfloat1622float2(h[q]);
                    a[2 * q] += f.x, a[2 * q + 1] += f.y;
                }
            }
        __nv_bfloat162 r[4];
        for (int q = 0; q < 4; q++) r[q] = __floats2bfloat162_rn(a[2 * q], a[2 * q + 1]);
        ((uint4 *)out)[i] = *(uint4 *)r;
    }
}
static void sum_rows(int i, i64 lo, i64 hi, cudaStream_t t)
{
    i64 slot = rows * S.n;
    if (hi > lo)
        sum_kernel<<<528, 512, 0, t>>>(out[i] + lo * S.n, there(me, sym[i]) + lo * S.n, slot,
                                       y[i] + (me * rows + lo) * S.n, me, n_ranks, (hi - lo) * S.n);
}

// --- pushes: how ---
struct how {
    bool all;      // a stream a peer
    int streams;   // of products
    bool products, transfers;
    bool in_place; // AG: own rows are not copied
    bool by_part;  // RS: sums of a part as soon as it is there, on a stream of their own
};

struct flight { // a collective under way
    int i;
    bool began[8], credited[8];
    cudaEvent_t from;
};
static flight begin_push(int i)
{
    flight f = {i, {}, {}, record(s)};
    epoch++;
    after(credit, f.from);
    raise_all(credit, N_CREDIT + me, epoch);
    return f;
}
static void send(flight *f, const how &h, int d, int part, const bf16 *from, size_t off, i64 elements, cudaEvent_t ready)
{
    int j = (me + d) % n_ranks, q = h.all ? d : 0;
    cudaStream_t t = to[q];
    if (!f->began[q]) after(t, f->from), f->began[q] = true;
    if (ready) after(t, ready);
    if (!f->credited[j]) await(t, flag(me, N_CREDIT + j), epoch), f->credited[j] = true;
    if (elements) CR(cudaMemcpyAsync(there(j, off), from, elements * 2, cudaMemcpyDeviceToDevice, t));
    raise_flag(t, part_flag(j, me, part), epoch);
}
static void end_push(flight *f, const how &h)
{
    for (int q = 0; q < 8; q++)
        if (f->began[q]) join(s, to[q]);
    join(s, credit);
}

static void ag_push(int i, const groups &g, const how &h)
{
    i64 K = S.k, hi;
    int part;
    flight f = begin_push(i);
    if (h.transfers)
        for (size_t q = 0; q < g.size(); q++) {
            if (g[q].d == 0) continue;
            i64 lo = bound(rows, g, q, &part, &hi);
            send(&f, h, g[q].d, part, x[i] + lo * K, sym[i] + (me * rows + lo) * K * 2, (hi - lo) * K, NULL);
        }
    if (!h.in_place && h.transfers) {
        after(own, f.from);
        CR(cudaMemcpyAsync(there(me, sym[i]) + me * rows * K, x[i], rows * K * 2, cudaMemcpyDeviceToDevice, own));
    }
    if (h.streams > 1) after(s2, f.from);
    for (size_t q = 0; q < g.size(); q++) {
        cudaStream_t t = h.streams > 1 && q % 2 ? s2 : s;
        i64 lo = bound(rows, g, q, &part, &hi);
        int src = (me - g[q].d + n_ranks) % n_ranks;
        if (g[q].d && h.transfers) await(t, part_flag(me, src, part), epoch);
        if (h.products)
            multiply(&P, hi - lo, (g[q].d ? there(me, sym[i]) + src * rows * K : x[i]) + lo * K, w[i],
                     y[i] + (src * rows + lo) * nl, t);
    }
    if (h.streams > 1) join(s, s2);
    if (!h.in_place && h.transfers) join(s, own);
    end_push(&f, h);
}

static void rs_push(int i, const groups &g, const how &h)
{
    i64 N = S.n, hi;
    int part, n_parts[8] = {}, last = 0;
    cudaEvent_t own_part[MOST_PARTS] = {};
    flight f = begin_push(i);
    if (h.streams > 1) after(s2, f.from);
    for (size_t q = 0; q < g.size(); q++) {
        cudaStream_t t = h.streams > 1 && q % 2 ? s2 : s;
        i64 lo = bound(rows, g, q, &part, &hi);
        int j = (me + g[q].d) % n_ranks;
        if (h.products) multiply(&P, hi - lo, x[i] + (j * rows + lo) * kl, w[i], y[i] + (j * rows + lo) * N, t);
        if (g[q].d && h.transfers)
            send(&f, h, g[q].d, part, y[i] + (j * rows + lo) * N, sym[i] + (me * rows + lo) * N * 2,
                 (hi - lo) * N, h.products ? record(t) : NULL);
        if (!g[q].d) own_part[part] = record(t);
        n_parts[g[q].d]++;
        last = std::max(last, n_parts[g[q].d]);
    }
    if (h.streams > 1) join(s, s2);
    if (h.transfers) {
        if (h.by_part) after(adder, f.from);
        for (size_t q = 0; q < g.size(); q++) { // same parts of every source
            if (!h.by_part || g[q].d) continue;
            i64 lo = bound(rows, g, q, &part, &hi);
            after(adder, own_part[part]);
            for (int d = 1; d < n_ranks; d++) await(adder, part_flag(me, (me - d + n_ranks) % n_ranks, part), epoch);
            sum_rows(i, lo, hi, adder);
        }
        if (h.by_part)
            join(s, adder);
        else {
            for (int d = 1; d < n_ranks; d++)
                for (int p = 0; p < n_parts[d]; p++) await(s, part_flag(me, (me - d + n_ranks) % n_ranks, p), epoch);
            sum_rows(i, 0, rows, s);
        }
    }
    end_push(&f, h);
}

// Chunks by weight; each is reduced by shards and gathered again.
static void ar_push(int i, const groups &g, const how &h)
{
    i64 N = S.n, hi;
    int part;
    flight f = begin_push(i);
    if (h.streams > 1) after(s2, f.from);
    after(adder, f.from);
    for (size_t q = 0; q < g.size(); q++) {
        cudaStream_t t = h.streams > 1 && q % 2 ? s2 : s;
        i64 lo = bound(rows, g, q, &part, &hi), at = lo * n_ranks, len = hi - lo; // rows at + j*len
        if (h.products) multiply(&P, len * n_ranks, x[i] + at * kl, w[i], y[i] + at * N, t);
        cudaEvent_t ready = record(t);
        if (!h.transfers) continue;
        for (int d = 1; d < n_ranks; d++) {
            int j = (me + d) % n_ranks;
            send(&f, h, d, part, y[i] + (at + j * len) * N, sym[i] + (me * rows + lo) * N * 2, len * N, ready);
        }
        after(adder, ready);
        for (int d = 1; d < n_ranks; d++) await(adder, part_flag(me, (me - d + n_ranks) % n_ranks, part), epoch);
        bf16 *sum = there(me, sym_out[i]) + (at + me * len) * N;
        sum_kernel<<<528, 512, 0, adder>>>(sum, there(me, sym[i]) + lo * N, rows * N, y[i] + (at + me * len) * N, me,
                                           n_ranks, len * N);
        cudaEvent_t summed = record(adder);
        for (int d = 1; d < n_ranks; d++) {
            int j = (me + d) % n_ranks;
            cudaStream_t u = to[h.all ? d + 3 : 4];
            after(u, summed);
            CR(cudaMemcpyAsync(there(j, sym_out[i]) + (at + me * len) * N, sum, len * N * 2, cudaMemcpyDeviceToDevice, u));
            raise_flag(u, part_flag(j, me, part, 1), epoch);
            f.began[h.all ? d + 3 : 4] = true;
        }
    }
    if (h.streams > 1) join(s, s2);
    if (h.transfers)
        for (int d = 1; d < n_ranks; d++)
            for (size_t p = 0; p < g.size(); p++) await(s, part_flag(me, (me - d + n_ranks) % n_ranks, (int)p, 1), epoch);
    join(s, adder);
    end_push(&f, h);
}
static void pushed(int i, const groups &g, const how &h)
{
    (S.what == AG ? ag_push : S.what == RS ? rs_push : ar_push)(i, g, h);
}

// --- without pushes ---

static void product_whole(int i, cudaStream_t t)
{
    multiply(&P, S.m, S.what == AG ? there(me, sym[i]) : x[i], w[i], y[i], t);
}
// Rows [lo, hi) of every shard (AG), or of the product, one after the other in the result.
static void nccl(int i, i64 lo, i64 hi, cudaStream_t t)
{
    i64 n = hi - lo;
    if (S.what == AG)
        CB(ncclAllGather(x[i] + lo * S.k, there(me, sym[i]) + lo * n_ranks * S.k, n * S.k, ncclBfloat16, comm, t));
    else if (S.what == RS)
        CB(ncclReduceScatter(y[i] + lo * n_ranks * S.n, out[i] + lo * S.n, n * S.n, ncclBfloat16, ncclSum, comm, t));
    else
        CB(ncclAllReduce(y[i] + lo * n_ranks * S.n, there(me, sym_out[i]) + lo * n_ranks * S.n, n * n_ranks * S.n,
                         ncclBfloat16, ncclSum, comm, t));
}
static void sequential(int i)
{
    if (S.what == AG) nccl(i, 0, rows, s);
    product_whole(i, s);
    if (S.what != AG) nccl(i, 0, rows, s);
}
// Equal chunks on two streams. Rows of an all-gather lie chunk by chunk, so does its result; a
// reduce-scatter deals out the rows of each chunk: no reordering is timed.
static void chunks(int i, int n)
{
    cudaStream_t t = to[0];
    join(t, s);
    for (int c = 0; c < n; c++) {
        i64 lo = rows * c / n, hi = rows * (c + 1) / n, at = lo * n_ranks, len = (hi - lo) * n_ranks;
        if (S.what == AG) nccl(i, lo, hi, t), join(s, t);
        multiply(&P, len, (S.what == AG ? there(me, sym[i]) : x[i]) + at * P.k, w[i], y[i] + at * P.n, s);
        if (S.what != AG) join(t, s), nccl(i, lo, hi, t);
    }
    join(s, t);
}

// --- checks ---

static i64 all_wrong;
static i64 result_elements() { return S.what == AG ? S.m * nl : S.what == RS ? rows * S.n : S.m * S.n; }
static bf16 *result(int i) { return S.what == AG ? y[i] : S.what == RS ? out[i] : there(me, sym_out[i]); }
static void poison()
{
    CR(cudaDeviceSynchronize());
    MPI_Barrier(MPI_COMM_WORLD);
    CR(cudaMemset(y[0], 0xff, S.m * P.n * 2));
    CR(cudaMemset(there(me, sym[0]), 0xff, S.m * width() * 2));
    CR(cudaMemset(result(0), 0xff, result_elements() * 2));
    CR(cudaDeviceSynchronize());
    MPI_Barrier(MPI_COMM_WORLD);
}
template <class F> static timing checked(F body, bool check = true, int samples = 15)
{
    if (check) {
        poison();
        body(0);
        CR(cudaDeviceSynchronize());
        i64 bad = differing(result(0), ref, result_elements(), S.what == AG ? 0.02f : 0.06f);
        if (bad) print0("  WRONG: %lld elements\n", (long long)bad);
        all_wrong += bad;
    }
    return timed(body, samples);
}

static std::string text(const groups &g)
{
    std::string t;
    for (auto q : g) t += (t.empty() ? "" : " ") + std::to_string(q.d) + (q.w > 1 ? "*" + std::to_string(q.w) : "");
    return t;
}

// Lists to try. AG: own rows first; by source in order; `last` splits the last source.
static std::vector<groups> lists()
{
    std::vector<groups> all;
    auto add = [&](std::vector<std::vector<int>> w, bool turns) { // weights by distance
        groups g;
        if (S.what == AG) g.push_back({0, 1});
        size_t most = 0;
        for (auto &v : w) most = std::max(most, v.size());
        if (turns)
            for (size_t p = 0; p < most; p++)
                for (int d = 1; d <= n_ranks; d++) {
                    if (d == n_ranks && S.what == AG) break;
                    auto &v = w[std::min((size_t)d - 1, w.size() - 1)];
                    if (p < v.size()) g.push_back({d % n_ranks, v[p]});
                }
        else
            for (int d = 1; d < n_ranks + (S.what == RS); d++)
                for (int p : w[std::min((size_t)d - 1, w.size() - 1)]) g.push_back({d % n_ranks, p});
        all.push_back(g);
    };
    if (S.what == AR) {
        for (auto &v : std::vector<std::vector<int>>{{1}, {1, 1}, {1, 1, 1, 1}, {4, 3, 2, 1}, {1, 2, 2, 2, 1}}) {
            groups g;
            for (int p : v) g.push_back({0, p});
            all.push_back(g);
        }
        return all;
    }
    typedef std::vector<int> v;
    auto lastly = [&](v rest, v last) {
        std::vector<v> w(n_ranks - 1, rest);
        w.back() = last;
        return w;
    };
    add({v{1}}, false);
    add({v{1, 1}}, false);
    add({v{1, 1}}, true);
    add({v{1, 1, 1, 1}}, true);
    if (S.what == AG) {
        add({v{1, 1, 1}}, false);
        add({v{1, 1, 1, 1}}, false);
        add(lastly({1}, {1, 1}), false);
        add(lastly({1}, {3, 1}), false);
        add(lastly({1}, {4, 2, 1}), false);
        add(lastly({1, 1}, {4, 2, 1}), false);
        add({v{3, 1}}, true);
        add({v{4, 2, 1}}, true);
    } else {
        add({v{1, 3}, v{1}}, false); // a small first part
        add({v{1, 3}}, true);
        add({v{1, 1, 1}}, true);
    }
    return all;
}

static void with_list(const groups &g, bool matters, double limit)
{
    for (size_t q = 0; q < g.size(); q++) {
        int part;
        i64 hi, lo = bound(rows, g, q, &part, &hi);
        tune(&P, S.what == AR ? (hi - lo) * n_ranks : hi - lo, S.what == AG ? there(me, sym[0]) : x[0], w[0], y[0]);
    }
    double p1 = timed([&](int i) { pushed(i, g, {false, 1, true, false, true, false}); }, 7).median;
    double p2 = timed([&](int i) { pushed(i, g, {false, 2, true, false, true, false}); }, 7).median;
    double t1 = timed([&](int i) { pushed(i, g, {false, 1, false, true, false, false}); }, 7).median;
    double best = 1e30, got[2][2][2] = {};
    for (int all = 0; all < 2; all++)
        for (int st = 0; st < 2; st++)
            for (int bp = 0; bp < (S.what == RS && matters ? 2 : 1); bp++) {
                how h = {all > 0, st + 1, true, true, false, bp > 0};
                got[all][st][bp] = checked([&](int i) { pushed(i, g, h); }).median;
                best = std::min(best, got[all][st][bp]);
            }
    print0("   %-34s products %.3f/%.3f transfers %.3f | one %.3f %.3f all %.3f %.3f", text(g).c_str(), p1, p2, t1,
           got[0][0][0], got[0][1][0], got[1][0][0], got[1][1][0]);
    if (S.what == RS && matters)
        print0(" | by part %.3f %.3f %.3f %.3f", got[0][0][1], got[0][1][1], got[1][0][1], got[1][1][1]);
    print0(" | best %.3f = %.3f x limit\n", best, best / limit);
}

static void run_shape(double until)
{
    rows = S.m / n_ranks;
    nl = S.what == AG ? S.n / n_ranks : S.n;
    kl = S.what == AG ? S.k : S.k / n_ranks;
    P = {nl, kl, {}, {}};
    i64 travels = S.m * width() * 2, xs = S.what == AG ? rows * S.k : S.m * kl;
    for (int i = 0; i < 2; i++) {
        sym[i] = i * travels;
        sym_out[i] = (2 + i) * travels;
        CR(cudaMalloc(&x[i], xs * 2));
        CR(cudaMalloc(&w[i], P.k * P.n * 2));
        CR(cudaMalloc(&y[i], S.m * P.n * 2));
        if (S.what == RS) CR(cudaMalloc(&out[i], rows * S.n * 2));
        normal(x[i], xs, 100 + 10 * i + me, 1);
        normal(w[i], P.k * P.n, 200 + 10 * i + me, 1 / sqrtf((float)S.k));
        if (S.what == AG) normal(there(me, sym[i]), S.m * S.k, 5 + i, 1);
    }
    CR(cudaMalloc(&ref, result_elements() * 2));
    const bf16 *a = S.what == AG ? there(me, sym[0]) : x[0];
    tune(&P, S.m, a, w[0], y[0]);
    for (int n : {2, 4, n_ranks})
        for (int c = 0; c < n; c++) tune(&P, (rows * (c + 1) / n - rows * c / n) * n_ranks, a, w[0], y[0]);
    for (int q : {16, 8, 4}) tune(&P, S.m / q, a, w[0], y[0]);
    sequential(0);
    CR(cudaDeviceSynchronize());
    CR(cudaMemcpy(ref, result(0), result_elements() * 2, cudaMemcpyDeviceToDevice));

    groups one;
    for (int d = S.what == RS; d < n_ranks + (S.what == RS); d++) one.push_back({d % n_ranks, 1});
    if (S.what == AR) one = {{0, 1}};
    how only = {false, 1, false, true, false, false}, only_all = only, inplace = only;
    only_all.all = true;
    inplace.in_place = true;
    for (size_t q = 0; q < one.size(); q++) tune(&P, S.what == AR ? S.m : rows, a, w[0], y[0]);
    double mm = timed([&](int i) { product_whole(i, s); }).median;
    double nc = timed([&](int i) { nccl(i, 0, rows, s); }).median;
    double pu = timed([&](int i) { pushed(i, one, only); }).median;
    double pa = timed([&](int i) { pushed(i, one, only_all); }).median;
    double pi = S.what == AG ? timed([&](int i) { pushed(i, one, inplace); }).median : 0;
    timing sq = checked([&](int i) { sequential(i); });
    double c2 = timed([&](int i) { chunks(i, 2); }).median, c4 = timed([&](int i) { chunks(i, 4); }).median;
    double beside[2];
    for (int all = 0; all < 2; all++) // independent: the other set's tensors
        beside[all] = timed([&](int i) {
                          cudaEvent_t e = record(s);
                          after(s2, e);
                          product_whole(!i, s2);
                          pushed(i, one, all ? only_all : only);
                          join(s, s2);
                      }).median;
    double nb = timed([&](int i) {
                    join(to[0], s);
                    nccl(i, 0, rows, to[0]);
                    product_whole(!i, s);
                    join(s, to[0]);
                }).median;
    double push = std::min(pu, pa), limit = std::max(mm, std::min(nc, push));
    double wire = travels * (double)(n_ranks - 1) / n_ranks / 1e6 * (S.what == AR ? 2 : 1);
    print0("%s %lld %lld %lld /%d %s: matmul %.3f (%.0f TF) nccl %.3f (%.0f GB/s) push one %.3f (%.0f) all %.3f (%.0f) in place %.3f"
           " | seq %.3f (p95 %.3f) chunks 2 %.3f 4 %.3f | beside push one %.3f all %.3f nccl %.3f | limit %.3f\n",
           kind_name[S.what], (long long)S.m, (long long)S.n, (long long)S.k, n_ranks, S.name.c_str(), mm,
           2e-9 * S.m * P.n * P.k / mm, nc, wire / nc, pu, wire / pu, pa, wire / pa, pi, sq.median, sq.p95, c2, c4, beside[0],
           beside[1], nb, limit);
    print0("   rows");
    for (int q : {16, 8, 4, 2, 1}) {
        tune(&P, S.m / q, a, w[0], y[0]);
        double t = timed([&](int i) {
                       for (int k = 0; k < 4; k++)
                           multiply(&P, S.m / q, (S.what == AG ? there(me, sym[i]) : x[i]) + (k % q) * (S.m / q) * P.k, w[i],
                                    y[i] + (k % q) * (S.m / q) * P.n, s);
                   }, 9, 2).median / 4;
        print0(" 1/%d %.4f (%.2f)", q, t, t * q / mm);
    }
    print0("\n");
    for (auto &g : lists()) {
        double now = MPI_Wtime();
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (now > until) break;
        bool turns = false;
        int n0 = 0, n1 = 0;
        for (auto q : g) n0 += q.d == 0, n1 += q.d == 1;
        turns = S.what == RS && n0 == n1 && n0 > 0;
        bool same = turns; // sums by part need the same parts of all
        for (int d = 2; d < n_ranks && same; d++) {
            int n = 0;
            for (auto q : g) n += q.d == d;
            same = n == n0;
        }
        with_list(g, same && n0 > 1, limit);
    }
    for (int i = 0; i < 2; i++) {
        CR(cudaFree(x[i]));
        CR(cudaFree(w[i]));
        CR(cudaFree(y[i]));
        if (S.what == RS) CR(cudaFree(out[i]));
    }
    CR(cudaFree(ref));
}

// --- pushes alone, by size, and flags ---
static void transfers()
{
    S = {AG, 0, 0, 0, ""};
    for (i64 b = 64 << 10; b <= 256 << 20; b *= 4) {
        int n = (int)std::max<i64>(1, std::min<i64>(4, (64 << 20) / b));
        print0("push of %5lld KiB a peer, %d each:", (long long)(b >> 10), n);
        for (int all = 0; all < 2; all++) {
            how h = {all > 0};
            double t = timed([&](int) {
                           flight f = begin_push(0);
                           for (int k = 0; k < n; k++)
                               for (int d = 1; d < n_ranks; d++)
                                   send(&f, h, d, k, there(me, seg_bytes / 2), (size_t)me * b, b / 2, NULL);
                           for (int k = 0; k < n; k++)
                               for (int d = 1; d < n_ranks; d++) await(s, part_flag(me, (me + d) % n_ranks, k), epoch);
                           end_push(&f, h);
                       }).median;
            print0(" %s %.1f us a message, %.0f GB/s;", all ? "all" : "one", t * 1e3 / n / (n_ranks - 1),
                   b * 1e-6 * n * (n_ranks - 1) / t);
        }
        print0("\n");
    }
    double empty = timed([&](int) { flight f = begin_push(0); end_push(&f, how{}); }, 15, 8).median;
    double trip = timed([&](int) {
                      flight f = begin_push(0);
                      for (int d = 1; d < n_ranks; d++) send(&f, how{}, d, 0, NULL, 0, 0, NULL);
                      for (int d = 1; d < n_ranks; d++) await(s, part_flag(me, (me + d) % n_ranks, 0), epoch);
                      end_push(&f, how{});
                  }, 15, 8).median;
    double one_flag = timed([&](int) {
                          for (int k = 0; k < 20; k++) raise_flag(s, flag(me, N_FLAGS - 1), 1);
                      }, 15, 8).median / 20;
    double ping = timed([&](int) {
                      for (int k = 0; k < 10; k++) {
                          barrier_now++;
                          int other = me ^ 1;
                          if (me & 1) await(s, flag(me, N_BARRIER + other), barrier_now);
                          raise_flag(s, flag(other, N_BARRIER + me), barrier_now);
                          if (!(me & 1)) await(s, flag(me, N_BARRIER + other), barrier_now);
                      }
                  }, 9, 1).median / 10;
    print0("empty push %.1f us, without data %.1f us, a flag on one stream %.2f us, round trip of a flag %.1f us\n", empty * 1e3,
           trip * 1e3, one_flag * 1e3, ping * 1e3);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    double until = MPI_Wtime() + (argc > 2 ? atof(argv[2]) : 1e9), began = MPI_Wtime();
    CR(cudaSetDevice(me));
    machine_make((size_t)3 << 30);
    ncclUniqueId id;
    if (!me) CB(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    CB(ncclCommInitRank(&comm, n_ranks, id, me));
    cudaDeviceProp prop;
    CR(cudaGetDeviceProperties(&prop, 0));
    int version;
    ncclGetVersion(&version);
    print0("%d x %s, cuBLASLt %zu, NCCL %d, bf16; products (on 1/2 streams), transfers and pairs (pushes one in flight or a stream a peer; products on 1 and 2 streams), ms\n",
           n_ranks, prop.name, cublasLtGetVersion(), version);
    transfers();
    std::vector<shape> all;
    FILE *f = fopen(argc > 1 ? argv[1] : "bench/shapes.txt", "r");
    if (!f) FAIL("no list of shapes");
    for (char line[256]; fgets(line, sizeof line, f);) {
        char what[8], on[16], name[64];
        long long m, n, k;
        if (sscanf(line, "%7s %lld %lld %lld %15s %63s", what, &m, &n, &k, on, name) != 6 || what[0] == '#') continue;
        char want[4];
        snprintf(want, sizeof want, "%d", n_ranks);
        if (n_ranks > 2 && !strstr(on, want)) continue;
        all.push_back({what[0] == 'R' ? RS : what[1] == 'G' ? AG : AR, m, n, k, name});
    }
    fclose(f);
    std::stable_sort(all.begin(), all.end(), [](const shape &a, const shape &b) { return a.what < b.what; });
    for (size_t i = 0; i < all.size(); i++) {
        double now = MPI_Wtime();
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (now > until) { print0("no time for the other %zu shapes\n", all.size() - i); break; }
        S = all[i];
        run_shape(now + (until - now) / (all.size() - i));
        print0("   at %.1f s\n", MPI_Wtime() - began);
    }
    print0("wrong elements in all: %lld\n", (long long)all_wrong);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return all_wrong != 0;
}
