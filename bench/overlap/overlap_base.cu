// Products beside collectives on the GPUs of one host without hapc: what each takes alone, one after
// the other, in equal chunks on two streams by NCCL, beside an independent collective, and in one
// group a member by bare pushes of the copy engine. Prints a line of JSON a method.
//
//     mpirun -n W overlap-base SHAPES [SECONDS]

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
static matmul P;
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
    bool products;
};

struct flight { // a collective under way
    bool began[8], credited[8];
    cudaEvent_t from;
};
static flight begin_push()
{
    flight f = {{}, {}, record(s)};
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
static void end_push(flight *f)
{
    for (int q = 0; q < 8; q++)
        if (f->began[q]) join(s, to[q]);
    join(s, credit);
}

static void ag_push(int i, const groups &g, const how &h)
{
    i64 K = S.k, hi;
    int part;
    flight f = begin_push();
    for (size_t q = 0; q < g.size(); q++) {
        if (g[q].d == 0) continue;
        i64 lo = bound(rows, g, q, &part, &hi);
        send(&f, h, g[q].d, part, x[i] + lo * K, sym[i] + (me * rows + lo) * K * 2, (hi - lo) * K, NULL);
    }
    after(own, f.from);
    CR(cudaMemcpyAsync(there(me, sym[i]) + me * rows * K, x[i], rows * K * 2, cudaMemcpyDeviceToDevice, own));
    for (size_t q = 0; q < g.size(); q++) {
        i64 lo = bound(rows, g, q, &part, &hi);
        int src = (me - g[q].d + n_ranks) % n_ranks;
        if (g[q].d) await(s, part_flag(me, src, part), epoch);
        if (h.products)
            multiply(&P, hi - lo, (g[q].d ? there(me, sym[i]) + src * rows * K : x[i]) + lo * K, w[i],
                     y[i] + (src * rows + lo) * nl, s);
    }
    join(s, own);
    end_push(&f);
}

static void rs_push(int i, const groups &g, const how &h)
{
    i64 N = S.n, hi;
    int part, n_parts[8] = {};
    flight f = begin_push();
    for (size_t q = 0; q < g.size(); q++) {
        i64 lo = bound(rows, g, q, &part, &hi);
        int j = (me + g[q].d) % n_ranks;
        if (h.products) multiply(&P, hi - lo, x[i] + (j * rows + lo) * kl, w[i], y[i] + (j * rows + lo) * N, s);
        if (g[q].d)
            send(&f, h, g[q].d, part, y[i] + (j * rows + lo) * N, sym[i] + (me * rows + lo) * N * 2,
                 (hi - lo) * N, h.products ? record(s) : NULL);
        n_parts[g[q].d]++;
    }
    for (int d = 1; d < n_ranks; d++)
        for (int p = 0; p < n_parts[d]; p++) await(s, part_flag(me, (me - d + n_ranks) % n_ranks, p), epoch);
    sum_rows(i, 0, rows, s);
    end_push(&f);
}
static void pushed(int i, const groups &g, const how &h)
{
    (S.what == AG ? ag_push : rs_push)(i, g, h);
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
static void check(method *m)
{
    poison();
    m->body(0);
    CR(cudaDeviceSynchronize());
    m->wrong = differing(result(0), ref, result_elements(), S.what == AG ? 0.02f : 0.06f);
    all_wrong += m->wrong;
}

static void report(const method &m)
{
    print0("{\"by\":\"bare\",\"kind\":\"%s\",\"m\":%lld,\"n\":%lld,\"k\":%lld,\"ranks\":%d,\"name\":\"%s\",\"method\":\"%s\","
           "\"ms\":%.4f,\"p95\":%.4f,\"samples\":%zu,\"wrong\":%lld}\n",
           kind_name[S.what], (long long)S.m, (long long)S.n, (long long)S.k, n_ranks, S.name.c_str(), m.name.c_str(),
           m.t.median, m.t.p95, m.ms.size(), (long long)m.wrong);
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
    tune(&P, rows, a, w[0], y[0]);
    for (int n : {2, 4, n_ranks})
        for (int c = 0; c < n; c++) tune(&P, (rows * (c + 1) / n - rows * c / n) * n_ranks, a, w[0], y[0]);
    sequential(0);
    CR(cudaDeviceSynchronize());
    CR(cudaMemcpy(ref, result(0), result_elements() * 2, cudaMemcpyDeviceToDevice));

    groups one;
    for (int d = S.what == RS; d < n_ranks + (S.what == RS); d++) one.push_back({d % n_ranks, 1});
    std::vector<method> m;
    auto add = [&](const char *name, std::function<void(int)> f) { m.push_back({name, f, {}, {}, 0}); };
    add("seq", sequential);
    if (S.what != AR) add("push pair", [=](int i) { pushed(i, one, {false, true}); });
    for (auto &t : m) check(&t);
    add("matmul", [](int i) { product_whole(i, s); });
    add("nccl", [](int i) { nccl(i, 0, rows, s); });
    if (S.what != AR) add("push", [=](int i) { pushed(i, one, {false, false}); });
    if (S.what != AR) add("push all", [=](int i) { pushed(i, one, {true, false}); });
    add("chunks 2", [](int i) { chunks(i, 2); });
    add("chunks 4", [](int i) { chunks(i, 4); });
    if (n_ranks != 4 && n_ranks != 2) add("chunks W", [](int i) { chunks(i, n_ranks); });
    if (S.what != AR)
        add("beside push", [=](int i) { // independent: the other set's tensors
            after(s2, record(s));
            product_whole(!i, s2);
            pushed(i, one, {false, false});
            join(s, s2);
        });
    add("beside nccl", [](int i) {
        join(to[0], s);
        nccl(i, 0, rows, to[0]);
        product_whole(!i, s);
        join(s, to[0]);
    });
    run_methods(m, until);
    for (auto &t : m) report(t);
    for (int i = 0; i < 2; i++) {
        CR(cudaFree(x[i]));
        CR(cudaFree(w[i]));
        CR(cudaFree(y[i]));
        if (S.what == RS) CR(cudaFree(out[i]));
    }
    CR(cudaFree(ref));
}

static std::vector<shape> shapes_of(const char *path)
{
    std::vector<shape> all;
    FILE *f = fopen(path, "r");
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
    return all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    double until = MPI_Wtime() + (argc > 2 ? atof(argv[2]) : 1e9), began = MPI_Wtime();
    CR(cudaSetDevice(me));
    const std::vector<shape> all = shapes_of(argc > 1 ? argv[1] : "bench/overlap/shapes.txt");
    size_t most = 0; // of the segment: two sets, of an all-reduce with its results
    for (const shape &x : all)
        most = std::max(most, (size_t)x.m * (x.what == AG ? x.k : x.n) * 2 * (x.what == AR ? 4 : 2));
    machine_make(most);
    ncclUniqueId id;
    if (!me) CB(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    CB(ncclCommInitRank(&comm, n_ranks, id, me));
    cudaDeviceProp prop;
    CR(cudaGetDeviceProperties(&prop, 0));
    int version;
    ncclGetVersion(&version);
    print0("{\"by\":\"bare\",\"device\":\"%s\",\"ranks\":%d,\"cublaslt\":%zu,\"nccl\":%d,\"nccl_max_ctas\":\"%s\"}\n", prop.name,
           n_ranks, cublasLtGetVersion(), version, getenv("NCCL_MAX_CTAS") ? getenv("NCCL_MAX_CTAS") : "default");
    for (size_t i = 0; i < all.size(); i++) {
        double now = MPI_Wtime();
        MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        S = all[i];
        run_shape(now + (until - now) / (double)(all.size() - i));
    }
    print0("{\"by\":\"bare\",\"seconds\":%.1f,\"wrong\":%lld}\n", MPI_Wtime() - began, (long long)all_wrong);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return all_wrong != 0;
}
