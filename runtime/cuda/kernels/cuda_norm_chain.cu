// Layer norm and RMS norm as chains: the calls between two products in one pass over the memory. T
// threads hold a row in registers, N vectors of 8 each: a warp, or a block where rows are wide
// (row_block). Values and the order of sums are those of the single calls.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_row.cuh"
#include "cuda/kernels/cuda_shadow.h"

// Rows of a block of warps; threads of a wide row; vectors that a thread has of a row, at most: of a
// narrow one, of a narrow one in backward kernels of which two blocks share a processor, of a wide
// one.
enum { ROWS = COLUMN_LANES, WIDE = CUDA_ROW_THREADS, MOST = 8, TWICE = 4, MOST_WIDE = 4 };
static_assert(32 * 8 * MOST == CUDA_WARP_COLUMNS && WIDE * 8 * MOST_WIDE == CUDA_NORM_COLUMNS, "");

static bool is_wide(int64_t cols)
{
    return cols > CUDA_WARP_COLUMNS;
}

static int vectors_of(int64_t cols)
{
    return (int)ceil_div(cols, 8 * (is_wide(cols) ? WIDE : 32));
}

// Rows that threads can hold in vectors, none empty.
static bool holds(const norm_row &o)
{
    return o.r.rows > 0 && o.r.cols > 0 && o.r.cols % CUDA_NORM_VECTOR == 0 &&
           o.r.cols <= CUDA_NORM_COLUMNS;
}

static const char *begin(cuda_context *x, const hap_op_call *const *c, int n, bool *vec)
{
    *vec = true;
    for (int k = 0; k < n; k++) {
        CUDA_TRY(cuda_call_begins(x, c[k]));
        *vec &= all_aligned(c[k]);
    }
    return NULL;
}

// body(k, j) for each vector of a row that this thread has.
template <int N, int T, class Body> __device__ inline void each_vector(int64_t cols, Body body)
{
#pragma unroll
    for (int k = 0; k < N; k++) {
        int64_t j = (k * T + (int64_t)threadIdx.x) * 8;
        if (j < cols) body(k, j);
    }
}

// The sum over a row's threads, in each of them.
template <int T> __device__ inline float over_row(float x)
{
    if constexpr (T == 32) return over_warp<join_sum>(x);
    return over_block<join_sum>(x);
}

// --- forward: x = a (+ b); sum, m2; y = norm x; narrow = y. b may be a norm of its own, of z ---

struct forward_args {
    norm_row o;
    view a, b, x, bias, y, narrow; // b, x, y, narrow may be nothing
    norm_row of_z;
    view z, z_bias; // z may be nothing
};

// ADDS: a b is added; AGAIN: it is made from z, and written if it is wanted. Blocks come and go
// with their rows: several a processor keep its memory busy.
constexpr int forward_threads(int T)
{
    return T == 32 ? 32 * ROWS : T;
}

constexpr int forward_blocks(int N, int T) // a processor
{
    if (T > 32) return N == 1 ? 2 : 1;
    return N <= 2 ? 4 : N == 3 ? 3 : N == 4 ? 2 : 1;
}

template <int N, int T, bool ADDS, bool AGAIN>
__global__
__launch_bounds__(forward_threads(T), forward_blocks(N, T)) void norm_forward(forward_args t)
{
    const norm_row &o = t.o;
    int64_t row = T == 32 ? (int64_t)blockIdx.x * ROWS + threadIdx.y : blockIdx.x;
    int64_t cols = o.r.cols, at = row * cols;
    if (row >= o.r.rows) return; // a whole warp
    float v[N][8], sum = 0, m2 = 0, mean, rstd, mean_z = 0, rstd_z = 0;
    raw_vec ra[N], rb[N];
    each_vector<N, T>(cols, [&](int k, int64_t j) {
        fetch_vec(t.a, at + j, &ra[k]);
        if (ADDS) fetch_vec(AGAIN ? t.z : t.b, at + j, &rb[k]);
    });
    if (AGAIN) row_stats(t.of_z, row, &mean_z, &rstd_z);
    each_vector<N, T>(cols, [&](int k, int64_t j) {
        unpack_vec(t.a.type, ra[k], v[k]);
        if (!ADDS) return;
        float u[8];
        unpack_vec(AGAIN ? t.z.type : t.b.type, rb[k], u);
        if (AGAIN) {
            apply_vec<8>(t.of_z, t.z_bias, mean_z, rstd_z, j, u);
            if (t.b.p) store_vec<8>(t.b, at + j, u);
        }
        for (int e = 0; e < 8; e++)
            v[k][e] = __fadd_rn(v[k][e], u[e]);
        if (t.x.p) store_vec<8>(t.x, at + j, v[k]);
    });
    if (o.sum.p) {
        each_vector<N, T>(cols, [&](int k, int64_t) {
            for (int e = 0; e < 8; e++)
                sum = __fadd_rn(sum, v[k][e]);
        });
        sum = over_row<T>(sum);
        if (threadIdx.x == 0) store(o.sum, row, sum);
    }
    mean = o.sum.p ? (float)((double)sum / o.n) : 0;
    each_vector<N, T>(cols, [&](int k, int64_t) { m2_vec<8>(v[k], mean, &m2); });
    m2 = over_row<T>(m2);
    if (threadIdx.x == 0) store(o.m2, row, m2);
    stats_of(o, sum, m2, &mean, &rstd);
    each_vector<N, T>(cols, [&](int k, int64_t j) {
        apply_vec<8>(o, t.bias, mean, rstd, j, v[k]);
        if (t.y.p) store_vec<8>(t.y, at + j, v[k]);
        if (t.narrow.p) store_vec<8>(t.narrow, at + j, v[k]);
    });
}

template <int N, int T>
static void run_forward(cuda_context *x, const forward_args &t, bool adds, bool again)
{
    dim3 block(T, T == 32 ? ROWS : 1), grid((unsigned)ceil_div(t.o.r.rows, block.y));
    (again  ? norm_forward<N, T, true, true>
     : adds ? norm_forward<N, T, true, false>
            : norm_forward<N, T, false, false>)<<<grid, block, 0, x->stream>>>(t);
}

typedef void forward_kernel(cuda_context *x, const forward_args &t, bool adds, bool again);
static forward_kernel *forward_of(int64_t cols)
{
    static forward_kernel *const narrow[MOST] = {
        run_forward<1, 32>, run_forward<2, 32>, run_forward<3, 32>, run_forward<4, 32>,
        run_forward<6, 32>, run_forward<6, 32>, run_forward<8, 32>, run_forward<8, 32>};
    static forward_kernel *const wide[MOST_WIDE] = {run_forward<1, WIDE>, run_forward<2, WIDE>,
                                                    run_forward<3, WIDE>, run_forward<4, WIDE>};
    return (is_wide(cols) ? wide : narrow)[vectors_of(cols) - 1];
}

const char *cuda_norm_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                            bool *done)
{
    forward_args t = {};
    const hap_op_call *again = NULL, *add = NULL, *apply = NULL, *cast = NULL;
    bool vec, writes_b = false, writes_x = false, writes_y = false;
    CUDA_TRY(begin(x, c, n, &vec));
    for (int k = 0; k < n; k++) {
        bool read = !(unread >> k & 1);
        bool applies = c[k]->op == HAP_OP_norm_apply || c[k]->op == HAP_OP_rms_apply;
        if (applies && k == 0) again = c[k], writes_b = read;
        if (c[k]->op == HAP_OP_add) add = c[k], writes_x = read;
        if (applies && k > 0) apply = c[k], writes_y = read;
        if (c[k]->op == HAP_OP_cast) cast = c[k];
    }
    CUDA_TRY(norm_of(&t.o, apply, 0, 3, 2));
    const hap_tensor *bias = is_rms(apply->op) ? NULL : cuda_in(apply, 4),
                     *other = add ? add->in[1] : NULL;
    *done = vec && holds(t.o) && (!bias || bias->elements == t.o.r.cols);
    if (*done && again) {
        const hap_tensor *z_bias = is_rms(again->op) ? NULL : cuda_in(again, 4);
        CUDA_TRY(norm_of(&t.of_z, again, 0, 3, 2));
        t.z = view_of(again->in[0]), t.z_bias = view_of(z_bias);
        other = again->out[0];
        *done = t.of_z.r.rows == t.o.r.rows && t.of_z.r.cols == t.o.r.cols &&
                other->type == HAP_F32 && (!z_bias || z_bias->elements == t.o.r.cols);
    }
    if (!*done) return NULL;
    const hap_tensor *first = add ? add->in[0] : apply->in[0];
    if (again && first->data == other->data) first = add->in[1]; // a sum has no order
    t.a = view_of(first);
    t.b = view_of(again && !writes_b ? NULL : other);
    t.x = view_of(writes_x ? add->out[0] : NULL);
    t.bias = view_of(bias);
    t.y = view_of(writes_y ? apply->out[0] : NULL);
    t.narrow = view_of(cast ? cast->out[0] : NULL);
    forward_of(t.o.r.cols)(x, t, add != NULL, again != NULL);
    return launched();
}

// --- backward ---
//
// dy = a (+ b); s1, s2 = sum dy w, sum dy w xhat; dx = rstd (dy w - s1/n - xhat s2/n); y = dx +
// more; narrow = y; dw = sum rows dy xhat, db = sum rows dy, total = sum rows narrow. Of RMS norm
// there is no s1 and no db. A block has one part of the rows (cuda_columns.cuh): each warp a lane
// of it, or where rows are wide one lane after the other.

struct backward_args {
    norm_row o;
    const void *a, *b, *x, *more;
    view dy, s1, s2, dx, y, narrow; // but for s1 and s2 they may be nothing
    int n_params;                   // 2: dw and db, 1: dw
    bool has_total;
    int64_t each;
    float *part; // [dw, db, total][parts, cols], those that there are
    int total_type;
};

// The row's sums, kept and then as means.
__device__ inline void leave_stats(const backward_args &t, int64_t row, float *a, float *b)
{
    if (threadIdx.x == 0) {
        if (t.s1.p) store(t.s1, row, *a);
        store(t.s2, row, *b);
    }
    *a = t.s1.p ? (float)((double)*a / t.o.n) : 0, *b = (float)((double)*b / t.o.n);
}

// The sums of columns that threads of a row add up, those that there are: of a thread's vector k
// the halves lie at k * 2 * T and T behind that.
struct column_sums {
    float4 *dw, *db, *total;
};

template <int T> __device__ inline void get_sums(const float4 *from, int k, float (&x)[8])
{
    float4 lo = from[2 * T * k], hi = from[2 * T * k + T];
    x[0] = lo.x, x[1] = lo.y, x[2] = lo.z, x[3] = lo.w;
    x[4] = hi.x, x[5] = hi.y, x[6] = hi.z, x[7] = hi.w;
}

template <int T> __device__ inline void put_sums(float4 *to, int k, const float (&x)[8])
{
    to[2 * T * k] = make_float4(x[0], x[1], x[2], x[3]);
    to[2 * T * k + T] = make_float4(x[4], x[5], x[6], x[7]);
}

// What a thread has of a row's operands. A, B: types of a and b; B and MORE may be NONE. K: vectors
// that are held, all of them, which are unpacked before the statistics and behind them; or the one
// that is worked on, which is fetched twice, so that two blocks share a processor.
template <int K, int A, int B, int MORE> struct row_operands {
    typed_vec<A> a[K];
    typed_vec<B> b[K];
    typed_vec<HAP_F32> x[K];
    typed_vec<MORE> more[K];

    __device__ void fetch(const backward_args &t, int k, int64_t i)
    {
        a[k].fetch(t.a, i);
        x[k].fetch(t.x, i);
        if constexpr (B != NONE) b[k].fetch(t.b, i);
        if constexpr (MORE != NONE) more[k].fetch(t.more, i);
    }

    // Brings entries i.. nearer, to the second level of caches.
    __device__ static void near(const backward_args &t, int64_t i)
    {
        auto at = [&](const void *p, int bytes) {
            asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)p + i * bytes));
        };
        at(t.a, A == HAP_F32 ? 4 : 2);
        at(t.x, 4);
        if constexpr (B != NONE) at(t.b, B == HAP_F32 ? 4 : 2);
        if constexpr (MORE != NONE) at(t.more, 4);
    }

    // u = dy, v = x.
    __device__ void unpack(int k, float (&u)[8], float (&v)[8]) const
    {
        a[k].unpack(u);
        if constexpr (B != NONE) {
            float w[8];
            b[k].unpack(w);
            for (int e = 0; e < 8; e++)
                u[e] = __fadd_rn(u[e], w[e]);
        }
        x[k].unpack(v);
    }
};

// One row, by T threads; while it is worked on, row `next` comes nearer, if it is not -1.
template <int N, int T, int A, int B, int MORE>
__device__ inline void backward_row(const backward_args &t, int64_t row, int64_t next,
                                    const column_sums &sums)
{
    constexpr bool KEEPS = T == 32 || N == 1;
    row_operands<KEEPS ? N : 1, A, B, MORE> in;
    const norm_row &o = t.o;
    int64_t cols = o.r.cols, at = row * cols;
    float mean, rstd, a = 0, b = 0;
    if (KEEPS) each_vector<N, T>(cols, [&](int k, int64_t j) { in.fetch(t, k, at + j); });
    row_stats(o, row, &mean, &rstd);
    if (next >= 0) each_vector<N, T>(cols, [&](int, int64_t j) { in.near(t, next * cols + j); });
    each_vector<N, T>(cols, [&](int k, int64_t j) {
        float u[8], v[8];
        if (!KEEPS) in.fetch(t, 0, at + j);
        in.unpack(KEEPS ? k : 0, u, v);
        if constexpr (B != NONE)
            if (t.dy.p) store_vec<8>(t.dy, at + j, u);
        if (t.n_params) {
            float w[8], c[8] = {};
            get_sums<T>(sums.dw, k, w);
            if (t.n_params > 1) get_sums<T>(sums.db, k, c);
            param_vec<8>(u, v, mean, rstd, w, c);
            put_sums<T>(sums.dw, k, w);
            if (t.n_params > 1) put_sums<T>(sums.db, k, c);
        }
        weigh_vec<8>(o, j, u);
        stats_vec<8>(u, v, mean, rstd, &a, &b);
    });
    if (t.s1.p) a = over_row<T>(a);
    b = over_row<T>(b);
    leave_stats(t, row, &a, &b);
    each_vector<N, T>(cols, [&](int k, int64_t j) {
        float u[8], v[8];
        if (!KEEPS) in.fetch(t, 0, at + j);
        in.unpack(KEEPS ? k : 0, u, v);
        weigh_vec<8>(o, j, u);
        grad_vec<8>(u, v, mean, rstd, a, b);
        if (t.dx.p) store_vec<8>(t.dx, at + j, u);
        if constexpr (MORE != NONE) {
            float m[8];
            in.more[KEEPS ? k : 0].unpack(m);
            for (int e = 0; e < 8; e++)
                u[e] = __fadd_rn(u[e], m[e]);
            if (t.y.p) store_vec<8>(t.y, at + j, u);
        }
        if (t.narrow.p) store_vec<8>(t.narrow, at + j, u);
        if (!t.has_total) return;
        float s[8];
        get_sums<T>(sums.total, k, s);
        for (int e = 0; e < 8; e++)
            s[e] = __fadd_rn(s[e], as_stored(t.total_type, u[e]));
        put_sums<T>(sums.total, k, s);
    });
}

// A warp a row. The sums of columns lie in shared memory, a thread's own, so that two blocks share a
// processor where rows are not wide.
template <int N, int A, int B, int MORE>
__global__ __launch_bounds__(32 * ROWS, N <= TWICE ? 2 : 1) void norm_backward(backward_args t)
{
    extern __shared__ float4 shared[]; // [dw, db, total, those that there are][ROWS, N, 2, 32]
    enum { OWN = 64 * N, ALL = ROWS * OWN };
    int64_t cols = t.o.r.cols, r0 = blockIdx.x * t.each;
    int64_t r1 = r0 + t.each < t.o.r.rows ? r0 + t.each : t.o.r.rows;
    float4 *own = shared + threadIdx.y * OWN + threadIdx.x;
    column_sums sums = {own, own + ALL, own + t.n_params * ALL};
    int n = t.n_params + t.has_total;
    for (int k = 0; k < n * 2 * N; k++)
        own[k / (2 * N) * ALL + k % (2 * N) * 32] = make_float4(0, 0, 0, 0);
    for (int64_t row = r0 + threadIdx.y; row < r1; row += ROWS)
        backward_row<N, 32, A, B, MORE>(t, row, row + ROWS < r1 ? row + ROWS : -1, sums);
    __syncthreads();
    for (int j = (int)(threadIdx.y * 32 + threadIdx.x); j < n * (int)cols; j += 32 * ROWS) {
        int of = j / (int)cols, col = j - of * (int)cols, v = col / 8;
        const float4 *at = shared + of * ALL + v / 32 * 64 + col % 8 / 4 * 32 + v % 32;
        const float *from = (const float *)at + col % 4;
        float s = *from;
        for (int k = 1; k < ROWS; k++)
            s += from[k * OWN * 4];
        t.part[(of * (int64_t)gridDim.x + blockIdx.x) * cols + col] = s;
    }
}

// A block a row, rows lane by lane: the lane's sums of columns lie in shared memory, those of the
// lanes before it in the part's, where each thread reads what it wrote.
template <int N, int A, int B, int MORE>
__global__ __launch_bounds__(WIDE, 2) void norm_backward_wide(backward_args t)
{
    extern __shared__ float4 shared[]; // [dw, db, total, those that there are][N, 2, WIDE]
    enum { ALL = 2 * WIDE * N };
    int64_t cols = t.o.r.cols, r0 = blockIdx.x * t.each;
    int64_t r1 = r0 + t.each < t.o.r.rows ? r0 + t.each : t.o.r.rows;
    float4 *own = shared + threadIdx.x;
    column_sums sums = {own, own + ALL, own + t.n_params * ALL};
    for (int lane = 0; lane < ROWS && r0 + lane < r1; lane++) {
        for (int k = 0; k < (t.n_params + t.has_total) * 2 * N; k++)
            own[k * WIDE] = make_float4(0, 0, 0, 0);
        for (int64_t row = r0 + lane; row < r1; row += ROWS) {
            int64_t first = lane + 1 < ROWS && r0 + lane + 1 < r1 ? r0 + lane + 1 : -1; // of the next
            backward_row<N, WIDE, A, B, MORE>(t, row, row + ROWS < r1 ? row + ROWS : first, sums);
        }
        for (int of = 0; of < t.n_params + t.has_total; of++)
            each_vector<N, WIDE>(cols, [&](int k, int64_t j) {
                float4 *to =
                    (float4 *)(t.part + (of * (int64_t)gridDim.x + blockIdx.x) * cols + j);
                for (int half = 0; half < 2; half++) {
                    float4 s = own[of * ALL + (2 * k + half) * WIDE];
                    if (lane > 0) {
                        float4 sum = to[half];
                        s.x = sum.x + s.x, s.y = sum.y + s.y;
                        s.z = sum.z + s.z, s.w = sum.w + s.w;
                    }
                    to[half] = s;
                }
            });
    }
}

// Bytes of shared memory that rows of n vectors a thread want: 192 KiB at most. Beside it lies what
// over_block has.
enum { STATIC = 32 * sizeof(float) };
static int shared_of(const backward_args &t, int n)
{
    int threads = is_wide(t.o.r.cols) ? WIDE : 32 * ROWS;
    return (t.n_params + t.has_total) * threads * 2 * n * (int)sizeof(float4);
}

// Of two narrow widths; the next that there is.
static int vectors_for(const backward_args &t)
{
    int n = vectors_of(t.o.r.cols);
    return !is_wide(t.o.r.cols) && n == 6 ? 7 : n;
}

static bool has_room(const backward_args &t)
{
    int device, most;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess &&
           shared_of(t, vectors_for(t)) + STATIC <= most;
}

template <int A, int B, int MORE>
static const char *run_backward(cuda_context *x, const backward_args &t, unsigned blocks)
{
    static void (*const narrow[MOST])(backward_args) = {
        norm_backward<1, A, B, MORE>, norm_backward<2, A, B, MORE>, norm_backward<3, A, B, MORE>,
        norm_backward<4, A, B, MORE>, norm_backward<5, A, B, MORE>, norm_backward<7, A, B, MORE>,
        norm_backward<7, A, B, MORE>, norm_backward<8, A, B, MORE>};
    static void (*const wide[MOST_WIDE])(backward_args) = {
        norm_backward_wide<1, A, B, MORE>, norm_backward_wide<2, A, B, MORE>,
        norm_backward_wide<3, A, B, MORE>, norm_backward_wide<4, A, B, MORE>};
    bool is = is_wide(t.o.r.cols);
    auto *run = (is ? wide : narrow)[vectors_of(t.o.r.cols) - 1];
    dim3 block = is ? dim3(WIDE) : dim3(32, ROWS);
    int shared = shared_of(t, vectors_for(t));
    if (shared + STATIC > 48 << 10)
        CUDA_TRY(cuda_said(
            cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
            "cudaFuncSetAttribute"));
    run<<<blocks, block, (size_t)shared, x->stream>>>(t);
    return launched();
}

// Which kernel takes these types.
typedef const char *backward_kernel(cuda_context *x, const backward_args &t, unsigned blocks);
static backward_kernel *backward_of(int a, int b, int more)
{
    static const struct {
        int a, b, more;
        backward_kernel *run;
    } all[] = {
        {HAP_BF16, NONE, NONE, run_backward<HAP_BF16, NONE, NONE>},
        {HAP_BF16, NONE, HAP_F32, run_backward<HAP_BF16, NONE, HAP_F32>},
        {HAP_F32, NONE, NONE, run_backward<HAP_F32, NONE, NONE>},
        {HAP_F32, NONE, HAP_F32, run_backward<HAP_F32, NONE, HAP_F32>},
        {HAP_F32, HAP_BF16, NONE, run_backward<HAP_F32, HAP_BF16, NONE>},
        {HAP_F32, HAP_F32, NONE, run_backward<HAP_F32, HAP_F32, NONE>},
    };
    for (const auto &k : all)
        if (k.a == a && k.b == b && k.more == more) return k.run;
    return nullptr;
}

const char *cuda_norm_bwd_chain(cuda_context *x, const hap_op_call *const *c, int n,
                                unsigned unread, bool *done)
{
    backward_args t = {};
    const hap_op_call *before = NULL, *stats = NULL, *bwd = NULL, *after = NULL, *params = NULL,
                      *cast = NULL, *sum = NULL;
    bool vec, written[3] = {false}; // dy, dx, y
    CUDA_TRY(begin(x, c, n, &vec));
    for (int k = 0; k < n; k++) {
        bool read = !(unread >> k & 1);
        switch ((int)c[k]->op) {
        case HAP_OP_add:
            *(bwd ? &after : &before) = c[k];
            written[bwd ? 2 : 0] = read;
            break;
        case HAP_OP_norm_bwd_stats:
        case HAP_OP_rms_bwd_stats:
            stats = c[k];
            break;
        case HAP_OP_norm_bwd:
        case HAP_OP_rms_bwd:
            bwd = c[k];
            written[1] = read;
            break;
        case HAP_OP_norm_bwd_params:
        case HAP_OP_rms_bwd_params:
            params = c[k];
            break;
        case HAP_OP_cast:
            cast = c[k];
            break;
        case HAP_OP_sum:
            sum = c[k];
        }
    }
    CUDA_TRY(norm_of(&t.o, stats, 1, 4, 3));
    const hap_tensor *wide = before ? before->in[0] : stats->in[0],
                     *other = before ? before->in[1] : NULL, *more = NULL;
    if (other && wide->type != HAP_F32) { // a sum has no order
        const hap_tensor *swap = wide;
        wide = other, other = swap;
    }
    if (after) more = after->in[after->in[0]->data == bwd->out[0]->data ? 1 : 0];
    backward_kernel *run = backward_of((int)wide->type, other ? (int)other->type : (int)NONE,
                                       more ? (int)more->type : (int)NONE);
    bool rms = is_rms(stats->op);
    t.n_params = params ? params->n_out : 0, t.has_total = sum;
    *done = vec && holds(t.o) && run && stats->in[1]->type == HAP_F32 && has_room(t);
    if (!*done) return NULL;
    t.a = wide->data, t.b = other ? other->data : NULL, t.more = more ? more->data : NULL;
    t.x = stats->in[1]->data;
    t.dy = view_of(written[0] ? before->out[0] : NULL);
    t.s1 = view_of(rms ? NULL : stats->out[0]), t.s2 = view_of(stats->out[rms ? 0 : 1]);
    t.dx = view_of(written[1] ? bwd->out[0] : NULL);
    t.y = view_of(written[2] ? after->out[0] : NULL);
    t.narrow = view_of(cast ? cast->out[0] : NULL);
    if (sum) t.total_type = (int)sum->in[0]->type;
    int n_parts = t.n_params + t.has_total;
    column_order order = column_order_of(t.o.r.rows);
    const char *why = NULL;
    if (n_parts) {
        t.part = columns_room(x, n_parts * order.parts * t.o.r.cols, &why);
        if (!t.part) return why;
    }
    t.each = order.each;
    CUDA_TRY(run(x, t, (unsigned)order.parts));
    view to[3];
    int k = 0;
    for (int i = 0; i < t.n_params; i++)
        to[k++] = view_of(params->out[i]);
    if (sum) to[k++] = view_of(sum->out[0]);
    return n_parts ? columns_end(x, order, t.o.r.cols, t.part, n_parts, to) : NULL;
}
