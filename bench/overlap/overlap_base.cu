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

// --- time lines ---
struct mark_t {
    cudaEvent_t e;
    const char *what;
    int d;
};
static std::vector<mark_t> marks;
static bool tracing;
static void mark(cudaStream_t t, const char *what, int d)
{
    if (!tracing) return;
    cudaEvent_t e;
    CR(cudaEventCreate(&e));
    CR(cudaEventRecord(e, t));
    marks.push_back({e, what, d});
}
static void trace(const char *title, const std::function<void(int)> &body)
{
    marks.clear();
    sample([&](int) {
        body(0);
        body(1);
        tracing = true;
        mark(s, "begin", 0);
        body(0);
        mark(s, "end", 0);
        tracing = false;
    }, 1, true);
    CR(cudaDeviceSynchronize());
    for (int r = 0; r < n_ranks; r++) {
        std::string text;
        for (auto &m : marks) {
            float ms;
            CR(cudaEventElapsedTime(&ms, marks[0].e, m.e));
            char b[64];
            snprintf(b, sizeof b, " %s%d %.0f", m.what, m.d, ms * 1e3);
            text += b;
        }
        char line[2048] = "";
        snprintf(line, sizeof line, "%s", text.c_str());
        MPI_Bcast(line, sizeof line, MPI_BYTE, r, MPI_COMM_WORLD);
        print0("   us %s rank %d:%s\n", title, r, line);
    }
    for (auto &m : marks) cudaEventDestroy(m.e);
    marks.clear();
}

// --- pushes: how ---
struct how {
    bool all;      // a stream a peer
    int lanes;     // one in flight: 0 flags by themselves, 1 a flag with the next credit, 2 on streams in turn
    int streams;   // of products
    bool products, transfers;
    bool in_place; // AG: own rows are not copied
    bool by_part;  // RS: sums of a part as soon as it is there, on a stream of their own
};

struct flight { // a collective under way
    int i, sent;
    bool began[8], credited[8];
    cudaEvent_t from, copied;
    CUdeviceptr pending; // a flag not yet raised
};
static flight begin_push(int i)
{
    flight f = {i, 0, {}, {}, record(s), NULL, 0};
    epoch++;
    after(credit, f.from);
    raise_all(credit, N_CREDIT + me, epoch);
    return f;
}
static void send(flight *f, const how &h, int d, int part, const bf16 *from, size_t off, i64 elements, cudaEvent_t ready)
{
    int j = (me + d) % n_ranks, q = h.all ? d : h.lanes == 2 ? f->sent++ % 2 : 0;
    cudaStream_t t = to[q];
    if (!f->began[q]) after(t, f->from), f->began[q] = true;
    if (h.lanes == 1) {
        CUstreamBatchMemOpParams op[2] = {};
        int n = 0;
        if (f->pending) {
            op[n].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
            op[n].writeValue.address = f->pending;
            op[n++].writeValue.value = epoch;
        }
        if (!f->credited[j]) {
            op[n].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
            op[n].waitValue.address = flag(me, N_CREDIT + j);
            op[n].waitValue.value = epoch;
            op[n++].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
            f->credited[j] = true;
        }
        if (n) CK(drv.cuStreamBatchMemOp_(t, n, op, 0));
        if (ready) after(t, ready);
    } else {
        if (ready) after(t, ready);
        if (!f->credited[j]) await(t, flag(me, N_CREDIT + j), epoch), f->credited[j] = true;
        if (h.lanes == 2 && f->copied) after(t, f->copied);
    }
    if (elements) CR(cudaMemcpyAsync(there(j, off), from, elements * 2, cudaMemcpyDeviceToDevice, t));
    if (h.lanes == 2) f->copied = record(t);
    mark(t, "sent", d);
    f->pending = part_flag(j, me, part);
    if (h.lanes != 1) raise_flag(t, f->pending, epoch);
}
static void end_push(flight *f, const how &h)
{
    if (h.lanes == 1 && f->pending) raise_flag(to[0], f->pending, epoch);
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
        mark(t, "come", g[q].d);
        if (h.products)
            multiply(&P, hi - lo, (g[q].d ? there(me, sym[i]) + src * rows * K : x[i]) + lo * K, w[i],
                     y[i] + (src * rows + lo) * nl, t);
        mark(t, "made", g[q].d);
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
        mark(t, "made", g[q].d);
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
            mark(s, "come", 0);
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
static void check(const method &m)
{
    poison();
    m.body(0);
    CR(cudaDeviceSynchronize());
    i64 bad = differing(result(0), ref, result_elements(), S.what == AG ? 0.02f : 0.06f);
    if (bad) print0("  WRONG: %lld elements by %s\n", (long long)bad, m.name.c_str());
    all_wrong += bad;
}

static std::string text(const groups &g)
{
    std::string t;
    for (auto q : g) t += (t.empty() ? "" : " ") + std::to_string(q.d) + (q.w > 1 ? "*" + std::to_string(q.w) : "");
    return t;
}

// Groups from text: "0 1 2 3*4 3*2 3".
static groups parse(const char *t)
{
    groups g;
    for (int d, w, n; sscanf(t, "%d%n", &d, &n) == 1;) {
        t += n;
        w = 1;
        if (*t == '*' && sscanf(t, "*%d%n", &w, &n) == 1) t += n;
        g.push_back({d, w});
    }
    return g;
}
// One part of each member but the last, which is split by `last`; producers: the first by `first`.
static groups by_member(std::vector<int> first, std::vector<int> rest, std::vector<int> last)
{
    groups g;
    if (S.what == AG) g.push_back({0, 1});
    for (int d = 1; d < n_ranks; d++)
        for (int w : d == n_ranks - 1 ? last : d == 1 ? first : rest) g.push_back({d, w});
    if (S.what == RS) g.push_back({0, 1});
    return g;
}
static std::vector<groups> lists()
{
    if (S.what == AR) return {parse("0"), parse("0 0"), parse("0 0 0 0")};
    if (S.what == AG)
        return {by_member({1}, {1}, {1}), by_member({1}, {1}, {1, 1}), by_member({1}, {1}, {3, 1}),
                by_member({1}, {1}, {4, 2, 1}), by_member({1}, {3, 1}, {4, 2, 1}), by_member({1, 1}, {1, 1}, {1, 1})};
    auto halves = by_member({1, 1}, {1, 1}, {1, 1});
    halves.back().w = 1;
    halves.push_back({0, 1});
    return {by_member({1}, {1}, {1}), by_member({1, 3}, {1}, {1}), by_member({1, 2, 4}, {1}, {1}), halves};
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
    sequential(0);
    CR(cudaDeviceSynchronize());
    CR(cudaMemcpy(ref, result(0), result_elements() * 2, cudaMemcpyDeviceToDevice));

    groups one = S.what == AR ? parse("0") : by_member({1}, {1}, {1}), fours = by_member({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1});
    std::vector<method> m;
    auto add = [&](const std::string &name, std::function<void(int)> f) { m.push_back({name, f, {}, {}}); };
    auto only = [](bool all, int lanes) { return how{all, lanes, 1, false, true, false, false}; };
    auto push = [&](const std::string &name, groups g, how h) {
        for (size_t q = 0; q < g.size(); q++) {
            int part;
            i64 hi, lo = bound(rows, g, q, &part, &hi);
            tune(&P, S.what == AR ? (hi - lo) * n_ranks : hi - lo, a, w[0], y[0]);
        }
        add(name, [=](int i) { pushed(i, g, h); });
    };
    add("matmul", [](int i) { product_whole(i, s); });
    add("nccl", [](int i) { nccl(i, 0, rows, s); });
    for (int l = 0; l < 3; l++) push("push " + std::to_string(l), one, only(false, l));
    push("push all", one, only(true, 0));
    for (int l = 0; l < 3 && S.what != AR; l++) push("push x4 " + std::to_string(l), fours, only(false, l));
    size_t n_alone = m.size();
    add("seq", sequential);
    size_t seq = m.size() - 1;
    add("chunks 2", [](int i) { chunks(i, 2); });
    add("chunks 4", [](int i) { chunks(i, 4); });
    if (n_ranks != 4 && n_ranks != 2) add("chunks W", [](int i) { chunks(i, n_ranks); });
    add("beside push", [=](int i) { // independent: the other set's tensors
        after(s2, record(s));
        product_whole(!i, s2);
        pushed(i, one, only(false, 1));
        join(s, s2);
    });
    add("beside nccl", [](int i) {
        join(to[0], s);
        nccl(i, 0, rows, to[0]);
        product_whole(!i, s);
        join(s, to[0]);
    });
    size_t first = m.size();
    for (auto &g : lists()) {
        push(text(g) + " products", g, {false, 0, 1, true, false, true, false});
        for (int l = 1; l < 3; l++) push(text(g) + " lanes " + std::to_string(l), g, {false, l, 1, true, true, false, false});
        if (S.what == RS && g.size() == 2 * (size_t)n_ranks) push(text(g) + " by part", g, {false, 1, 1, true, true, false, true});
        if (g.size() == (size_t)n_ranks) push(text(g) + " 2 streams", g, {false, 1, 2, true, true, false, false});
    }
    check(m[seq]);
    for (size_t i = first; i < m.size(); i++)
        if (m[i].name.find("products") == std::string::npos) check(m[i]);
    run_methods(m, MPI_Wtime() < until ? 15 : 7, 2);
    double least = m[1].t.median;
    for (size_t i = 2; i < 6; i++) least = std::min(least, m[i].t.median);
    double limit = std::max(m[0].t.median, least), wire = travels * (double)(n_ranks - 1) / n_ranks / 1e6 * (S.what == AR ? 2 : 1);
    print0("%s %lld %lld %lld /%d %s: limit %.3f, %.0f TF;", kind_name[S.what], (long long)S.m, (long long)S.n, (long long)S.k,
           n_ranks, S.name.c_str(), limit, 2e-9 * S.m * P.n * P.k / m[0].t.median);
    for (size_t i = 0; i < first; i++) {
        print0(" %s %.3f", m[i].name.c_str(), m[i].t.median);
        if (i && i < n_alone) print0(" (%.0f GB/s)", wire / m[i].t.median);
        if (i >= n_alone) print0(" (%.2f)", m[i].t.median / limit);
    }
    print0("\n");
    for (size_t i = first; i < m.size(); i++)
        print0("   %-36s %.3f (p95 %.3f) = %.3f x limit\n", m[i].name.c_str(), m[i].t.median, m[i].t.p95, m[i].t.median / limit);
    if (S.what != AR && S.m <= 8192 && S.k <= 14336) {
        trace("1 part", [&](int i) { pushed(i, one, {false, 1, 1, true, true, false, false}); });
        trace("lists 3", [&](int i) { pushed(i, lists()[3], {false, 1, 1, true, true, false, false}); });
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
static void transfers(bool few)
{
    S = {AG, 0, 0, 0, ""};
    for (i64 b = few ? 16 << 20 : 256 << 10; b <= 64 << 20; b *= 4) {
        print0("push of %5lld KiB a peer:", (long long)(b >> 10));
        for (int l = 0; l < 4; l++) {
            how h = {l == 3, l % 3};
            double t = alone([&](int) {
                flight f = begin_push(0);
                for (int d = 1; d < n_ranks; d++) send(&f, h, d, 0, there(me, seg_bytes / 2), (size_t)me * b, b / 2, NULL);
                for (int d = 1; d < n_ranks; d++) await(s, part_flag(me, (me + d) % n_ranks, 0), epoch);
                end_push(&f, h);
            });
            print0(" %s %.1f us, %.0f GB/s;", l == 3 ? "all" : l == 0 ? "plain" : l == 1 ? "batched" : "2 lanes", t * 1e3,
                   b * 1e-6 * (n_ranks - 1) / t);
        }
        print0("\n");
    }
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
    transfers(argc > 3);
    if (argc > 3) {
        MPI_Finalize();
        return 0;
    }
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
