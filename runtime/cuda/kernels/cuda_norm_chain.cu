// Layer norm and RMS norm as chains: the calls between two products in one pass over the memory. T
// threads hold a row in registers, N vectors of 8 each: a warp, or a block where rows are wide
// (row_block). Values and the order of sums are those of the single calls.

#include <cuda_pipeline.h>

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_row.cuh"
#include "cuda/kernels/cuda_shadow.h"

// Rows of a block of warps; threads of a row by its width, and vectors that a thread has of it, at
// most.
enum { ROWS = COLUMN_LANES, NARROW = 32, MIDDLE = 256, WIDE = CUDA_ROW_THREADS, MOST = 4 };
static_assert(NARROW * 8 * MOST == CUDA_WARP_COLUMNS && MIDDLE * 8 == CUDA_MIDDLE_COLUMNS &&
                  MIDDLE == (int)CUDA_MIDDLE_THREADS && WIDE * 8 * MOST == CUDA_NORM_COLUMNS,
              "");

static int vectors_of(int64_t cols)
{
    return (int)ceil_div(cols, 8 * cuda_row_threads(cols));
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

// body(k, j) for each vector of a row that this thread has. All threads have the first WHOLE.
template <int N, int T, int WHOLE = 0, class Body>
__device__ inline void each_vector(int64_t cols, Body body)
{
#pragma unroll
    for (int k = 0; k < N; k++) {
        int64_t j = (k * T + (int64_t)threadIdx.x) * 8;
        if (k < WHOLE || j < cols) body(k, j);
    }
}

// The sum over a row's threads, in each of them.
template <int T> __device__ inline float over_row(float x)
{
    if constexpr (T == 32) return over_warp<join_sum>(x);
    return over_block<join_sum>(x);
}

// Of two numbers, in the same order, or of b alone; `turn` is another one than in the call before.
template <int T, bool ALONE> __device__ inline void over_row(float *a, float *b, int turn)
{
    *a = ALONE ? 0 : over_warp<join_sum>(*a), *b = over_warp<join_sum>(*b);
    if constexpr (T > 32) {
        __shared__ float2 part[2][T / 32];
        if (threadIdx.x % 32 == 0) part[turn][threadIdx.x / 32] = make_float2(*a, *b);
        __syncthreads();
        *a = *b = 0;
        for (int i = 0; i < T / 32; i++) {
            const float2 p = part[turn][i];
            *a = join_sum::join(*a, p.x), *b = join_sum::join(*b, p.y);
        }
    }
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
    if (T == MIDDLE) return 4;
    if (T == WIDE) return N == 1 ? 2 : 1;
    return N <= 2 ? 4 : N == 3 ? 3 : 2;
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
    static forward_kernel *const narrow[MOST] = {run_forward<1, NARROW>, run_forward<2, NARROW>,
                                                 run_forward<3, NARROW>, run_forward<4, NARROW>};
    static forward_kernel *const wide[MOST] = {run_forward<1, WIDE>, run_forward<2, WIDE>,
                                               run_forward<3, WIDE>, run_forward<4, WIDE>};
    const int t = cuda_row_threads(cols), k = vectors_of(cols) - 1;
    return t == NARROW ? narrow[k] : t == MIDDLE ? run_forward<1, MIDDLE> : wide[k];
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
    view dy, s1, s2, dx, y, narrow; // they may be nothing
    int n_params;                   // 2: dw and db, 1: dw
    bool has_total;
    int64_t each;
    float *part; // [dw, db, total][parts, cols], those that there are
    int total_type;
};

// What a kernel knows before it runs: nothing, or that all is as usual of a layer or RMS norm.
enum known { NOTHING, LAYER, RMS };

static bool is_usual(const backward_args &t)
{
    return !t.dx.p && t.y.type == HAP_F32 && t.narrow.type == HAP_BF16 && t.o.w.type == HAP_F32 &&
           t.n_params == (t.o.sum.p ? 2 : 1) && (!t.has_total || t.total_type == HAP_BF16);
}

template <known USUAL> __device__ inline void assume_usual(backward_args &t)
{
    if (USUAL == NOTHING) return;
    t.dx.p = NULL, t.y.type = t.o.w.type = HAP_F32, t.narrow.type = t.total_type = HAP_BF16;
    t.n_params = USUAL == RMS ? 1 : 2;
    if (USUAL == RMS) t.o.sum.p = t.s1.p = NULL;
}

// The row's sums, kept and then as means.
__device__ inline void leave_stats(const backward_args &t, int64_t row, float *a, float *b)
{
    if (threadIdx.x == 0) {
        if (t.s1.p) store(t.s1, row, *a);
        if (t.s2.p) store(t.s2, row, *b);
    }
    *a = t.o.sum.p ? row_mean(t.o, *a) : 0, *b = row_mean(t.o, *b);
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

// By way of the first level of caches, as the halves of a vector of f32 are in one sector.
__device__ inline void copy_16(uint4 *to, const char *from)
{
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

// What a thread has of a row's operands: K vectors. A, B: types of a and b; B and MORE may be NONE.
template <int K, int A, int B, int MORE> struct row_operands {
    typed_vec<A> a[K];
    typed_vec<B> b[K];
    typed_vec<HAP_F32> x[K];
    typed_vec<MORE> more[K];
    static constexpr int WORDS =
        typed_vec<A>::WORDS + typed_vec<B>::WORDS + 2 + typed_vec<MORE>::WORDS;

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

    // The one vector's words by way of a thread's own places in shared memory, `apart` from one
    // another: sent for, and taken once they are there. body(from, bytes of an element, words).
    template <class Body> __device__ static void each_operand(const backward_args &t, Body body)
    {
        body(t.a, A == HAP_F32 ? 4 : 2, typed_vec<A>::WORDS);
        body(t.b, B == HAP_F32 ? 4 : 2, typed_vec<B>::WORDS);
        body(t.x, 4, 2);
        body(t.more, 4, typed_vec<MORE>::WORDS);
    }

    __device__ static void send_for(const backward_args &t, int64_t i, uint4 *to, int apart)
    {
        each_operand(t, [&](const void *p, int bytes, int words) {
            for (int k = 0; k < words; k++, to += apart)
                copy_16(to, (const char *)p + i * bytes + 16 * k);
        });
    }

    template <int TYPE>
    __device__ static void take_words(typed_vec<TYPE> &v, const uint4 *&from, int apart)
    {
#pragma unroll
        for (int k = 0; k < typed_vec<TYPE>::WORDS; k++, from += apart)
            v.w[k] = *from;
    }

    __device__ void take(const uint4 *from, int apart)
    {
        take_words(a[0], from, apart);
        take_words(b[0], from, apart);
        take_words(x[0], from, apart);
        take_words(more[0], from, apart);
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

// One row, by T threads, which hold all of their K = N vectors, and xhat in place of x from the
// statistics on; or K = 1 of several, which is fetched for the statistics and once more behind them,
// so that two blocks share a processor. weigh(j, u): u = dy w; a block's one vector keeps it. Row
// `next`, if it is not -1, comes nearer once this one has come: sooner it would be in its way.
template <int N, int T, known USUAL, int K, int A, int B, int MORE, class Weigh>
__device__ inline void backward_row(const backward_args &t, int64_t row, int64_t next, float mean,
                                    float rstd, row_operands<K, A, B, MORE> &in,
                                    Weigh weigh, int turn, const column_sums &sums)
{
    constexpr bool HELD = K == N, ONE = N == 1 && T > NARROW;
    const norm_row &o = t.o;
    int64_t cols = o.r.cols, at = row * cols;
    float a = 0, b = 0, kept[8];
    each_vector<N, T, N - 1>(cols, [&](int k, int64_t j) {
        float u[8], v[8];
        if (!HELD) in.fetch(t, 0, at + j);
        in.unpack(HELD ? k : 0, u, v);
        hat_vec<8>(mean, rstd, v);
        if constexpr (HELD) in.x[k].pack(v);
        if constexpr (B != NONE)
            if (t.dy.p) store_vec<8>(t.dy, at + j, u);
        if (t.n_params) {
            float dw[8], db[8] = {};
            get_sums<T>(sums.dw, k, dw);
            if (t.n_params > 1) get_sums<T>(sums.db, k, db);
            param_vec<8>(u, v, dw, db);
            put_sums<T>(sums.dw, k, dw);
            if (t.n_params > 1) put_sums<T>(sums.db, k, db);
        }
        weigh(j, u);
        stats_vec<8>(u, v, &a, &b);
        if constexpr (ONE)
            for (int e = 0; e < 8; e++)
                kept[e] = u[e];
    });
    if (next >= 0)
        each_vector<N, T, N - 1>(cols, [&](int, int64_t j) { in.near(t, next * cols + j); });
    over_row<T, USUAL == RMS>(&a, &b, turn);
    leave_stats(t, row, &a, &b);
    each_vector<N, T, N - 1>(cols, [&](int k, int64_t j) {
        float u[8], v[8];
        if (!HELD) in.fetch(t, 0, at + j);
        in.unpack(HELD ? k : 0, u, v);
        if constexpr (!HELD) hat_vec<8>(mean, rstd, v);
        if constexpr (ONE)
            for (int e = 0; e < 8; e++)
                u[e] = kept[e];
        else
            weigh(j, u);
        grad_vec<8>(u, v, rstd, a, b);
        if (t.dx.p) store_vec<8>(t.dx, at + j, u);
        if constexpr (MORE != NONE) {
            float m[8];
            in.more[HELD ? k : 0].unpack(m);
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
// processor; behind them the weights. A lane has the statistics of one of the warp's next 32 rows.
template <int N, known USUAL, int A, int B, int MORE>
__global__ __launch_bounds__(32 * ROWS, 2) void norm_backward(backward_args t)
{
    extern __shared__ float4 shared[]; // [dw, db, total, those that there are][ROWS, N, 2, 32],
                                       // weights [2, cols / 8]
    enum { OWN = 64 * N, ALL = ROWS * OWN };
    assume_usual<USUAL>(t);
    int64_t cols = t.o.r.cols, r0 = blockIdx.x * t.each;
    int64_t r1 = r0 + t.each < t.o.r.rows ? r0 + t.each : t.o.r.rows;
    float4 *own = shared + threadIdx.y * OWN + threadIdx.x;
    column_sums sums = {own, own + ALL, own + t.n_params * ALL};
    int n = t.n_params + t.has_total;
    for (int k = 0; k < n * 2 * N; k++)
        own[k / (2 * N) * ALL + k % (2 * N) * 32] = make_float4(0, 0, 0, 0);
    float4 *weights = shared + n * ALL;
    const int vectors = (int)(cols / 8);
    for (int v = (int)(threadIdx.y * 32 + threadIdx.x); v < vectors; v += 32 * ROWS) {
        float w[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        if (t.o.w.p) load_column<8>(t.o.w, v * 8, w);
        weights[v] = make_float4(w[0], w[1], w[2], w[3]);
        weights[vectors + v] = make_float4(w[4], w[5], w[6], w[7]);
    }
    __syncthreads();
    auto weigh = [&](int64_t j, float (&u)[8]) {
        const float4 lo = weights[j / 8], hi = weights[vectors + j / 8];
        const float w[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w};
        for (int e = 0; e < 8; e++)
            u[e] = __fmul_rn(u[e], w[e]);
    };
    float2 stat = {}; // mean and 1 / deviation of the lane's row
    int lane = 0;
    for (int64_t row = r0 + threadIdx.y; row < r1; row += ROWS, lane = (lane + 1) % 32) {
        row_operands<N, A, B, MORE> in;
        each_vector<N, 32, N - 1>(cols, [&](int k, int64_t j) { in.fetch(t, k, row * cols + j); });
        const int64_t of = row + (int64_t)threadIdx.x * ROWS;
        if (lane == 0 && of < r1) row_stats(t.o, of, &stat.x, &stat.y);
        const float mean = USUAL == RMS ? 0 : __shfl_sync(0xFFFFFFFF, stat.x, lane),
                    rstd = __shfl_sync(0xFFFFFFFF, stat.y, lane);
        const int64_t next = row + ROWS < r1 ? row + ROWS : -1;
        backward_row<N, 32, USUAL>(t, row, next, mean, rstd, in, weigh, 0, sums);
    }
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

// Rows of a part in the order in which a block takes them: lane by lane.
struct row_walk {
    int64_t r0, r1, row; // r1: where it ends
    int lane;

    __device__ void next()
    {
        if (row < r1) row += ROWS;
        if (row < r1 || lane == ROWS) return;
        row = r0 + ++lane;
        if (lane == ROWS || row >= r1) lane = ROWS, row = r1;
    }
};

// Rows that come while one is worked on, of as many vectors as a block has threads.
__host__ __device__ constexpr int rows_ahead(int T)
{
    return T == MIDDLE ? 3 : 1;
}

// A block a row: the lane's sums of columns lie in shared memory, those of the lanes before it in
// the part's, where each thread reads what it wrote. A thread's one vector of the rows ahead comes to
// its own places in shared memory; of several vectors none does, and the next row comes nearer.
template <int N, int T, known USUAL, int A, int B, int MORE>
__global__ __launch_bounds__(T, 2) void norm_backward_wide(backward_args t)
{
    extern __shared__ float4 shared[]; // [dw, db, total, those that there are][N, 2, T], rows ahead
    __shared__ float2 stat[T];         // mean and 1 / deviation of a lane's next T rows
    enum { ALL = 2 * T * N, AHEAD = N == 1 ? rows_ahead(T) : 0 };
    typedef row_operands<1, A, B, MORE> operands;
    assume_usual<USUAL>(t);
    const int64_t cols = t.o.r.cols, r0 = blockIdx.x * t.each, j = (int64_t)threadIdx.x * 8;
    const int64_t r1 = r0 + t.each < t.o.r.rows ? r0 + t.each : t.o.r.rows;
    float4 *own = shared + threadIdx.x;
    uint4 *ahead = (uint4 *)(shared + (t.n_params + t.has_total) * ALL) + threadIdx.x;
    column_sums sums = {own, own + ALL, own + t.n_params * ALL};
    row_walk here = {r0, r1, r0, 0}, there = here;
    float w[8] = {};
    if (N == 1 && t.o.w.p && j < cols) load_column<8>(t.o.w, j, w);
    auto weigh = [&](int64_t i, float (&u)[8]) {
        if constexpr (N > 1) {
            weigh_vec<8>(t.o, i, u);
        } else if (t.o.w.p) {
            for (int e = 0; e < 8; e++)
                u[e] = __fmul_rn(u[e], w[e]);
        }
    };
    auto send = [&](int slot) {
        if (there.row < r1 && j < cols)
            operands::send_for(t, there.row * cols + j, ahead + slot * operands::WORDS * T, T);
        __pipeline_commit();
        there.next();
    };
    for (int k = 0; k < AHEAD; k++)
        send(k);
    int slot = 0, turn = 0;
    while (here.row < r1) {
        const int lane = here.lane;
        for (int k = 0; k < (t.n_params + t.has_total) * 2 * N; k++)
            own[k * T] = make_float4(0, 0, 0, 0);
        for (int n = 0; here.row < r1 && here.lane == lane; n++, turn ^= 1) {
            const int64_t row = here.row, of = row + (int64_t)threadIdx.x * ROWS;
            here.next();
            if (n % T == 0) {
                __syncthreads(); // the last of them are read
                if (of < r1) row_stats(t.o, of, &stat[threadIdx.x].x, &stat[threadIdx.x].y);
                __syncthreads();
            }
            operands in;
            if constexpr (AHEAD > 0) {
                __pipeline_wait_prior(AHEAD - 1);
                in.take(ahead + slot * operands::WORDS * T, T);
                send(slot);
                slot = slot + 1 < AHEAD ? slot + 1 : 0;
            }
            const int64_t next = AHEAD == 0 && here.row < r1 ? here.row : -1;
            const float mean = USUAL == RMS ? 0 : stat[n % T].x;
            backward_row<N, T, USUAL>(t, row, next, mean, stat[n % T].y, in, weigh, turn, sums);
        }
        for (int of = 0; of < t.n_params + t.has_total; of++)
            each_vector<N, T, N - 1>(cols, [&](int k, int64_t i) {
                float4 *to =
                    (float4 *)(t.part + (of * (int64_t)gridDim.x + blockIdx.x) * cols + i);
                for (int half = 0; half < 2; half++) {
                    float4 s = own[of * ALL + (2 * k + half) * T];
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

// Bytes of shared memory that rows want, with `words` of 16 bytes a vector; beside it lies what the
// kernels declare.
enum { STATIC = WIDE * sizeof(float2) + 64 * sizeof(float2) };
static int shared_of(const backward_args &t, int words)
{
    const int threads = cuda_row_threads(t.o.r.cols), n = vectors_of(t.o.r.cols),
              rows = threads == NARROW ? ROWS : 1,
              ahead = threads > NARROW && n == 1 ? rows_ahead(threads) * words : 0,
              weights = threads == NARROW ? (int)(t.o.r.cols / 4) : 0;
    return (threads * ((t.n_params + t.has_total) * rows * 2 * n + ahead) + weights) *
           (int)sizeof(float4);
}

static bool has_room(int bytes)
{
    int device, most;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess &&
           bytes + STATIC <= most;
}

typedef void backward_rows(backward_args t);
template <known USUAL, int A, int B, int MORE> static backward_rows *backward_rows_of(int64_t cols)
{
    static backward_rows *const narrow[MOST] = {
        norm_backward<1, USUAL, A, B, MORE>, norm_backward<2, USUAL, A, B, MORE>,
        norm_backward<3, USUAL, A, B, MORE>, norm_backward<4, USUAL, A, B, MORE>};
    static backward_rows *const wide[MOST] = {norm_backward_wide<1, WIDE, USUAL, A, B, MORE>,
                                              norm_backward_wide<2, WIDE, USUAL, A, B, MORE>,
                                              norm_backward_wide<3, WIDE, USUAL, A, B, MORE>,
                                              norm_backward_wide<4, WIDE, USUAL, A, B, MORE>};
    const int threads = cuda_row_threads(cols), k = vectors_of(cols) - 1;
    return threads == NARROW   ? narrow[k]
           : threads == MIDDLE ? norm_backward_wide<1, MIDDLE, USUAL, A, B, MORE>
                               : wide[k];
}

template <int A, int B, int MORE>
static const char *run_backward(cuda_context *x, const backward_args &t, unsigned blocks, bool *done)
{
    const int64_t cols = t.o.r.cols;
    const int threads = cuda_row_threads(cols);
    backward_rows *run = backward_rows_of<NOTHING, A, B, MORE>(cols);
    if constexpr (A == HAP_BF16 && B == NONE)
        if (is_usual(t))
            run = t.o.sum.p ? backward_rows_of<LAYER, A, B, MORE>(cols)
                            : backward_rows_of<RMS, A, B, MORE>(cols);
    const int shared = shared_of(t, row_operands<1, A, B, MORE>::WORDS);
    *done = has_room(shared);
    if (!*done || !blocks) return NULL;
    if (shared + STATIC > 48 << 10)
        CUDA_TRY(cuda_said(
            cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
            "cudaFuncSetAttribute"));
    run<<<blocks, dim3(threads, threads == NARROW ? ROWS : 1), (size_t)shared, x->stream>>>(t);
    return launched();
}

// Which kernel takes these types. Of no blocks it says whether it could.
typedef const char *backward_kernel(cuda_context *x, const backward_args &t, unsigned blocks,
                                    bool *done);
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
    bool vec, keeps = true, written[3] = {false}; // keeps: the statistics; dy, dx, y
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
            keeps = read;
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
    *done = vec && holds(t.o) && run && stats->in[1]->type == HAP_F32;
    if (*done) CUDA_TRY(run(x, t, 0, done));
    if (!*done) return NULL;
    t.a = wide->data, t.b = other ? other->data : NULL, t.more = more ? more->data : NULL;
    t.x = stats->in[1]->data;
    t.dy = view_of(written[0] ? before->out[0] : NULL);
    t.s1 = view_of(rms || !keeps ? NULL : stats->out[0]);
    t.s2 = view_of(keeps ? stats->out[rms ? 0 : 1] : NULL);
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
    CUDA_TRY(run(x, t, (unsigned)order.parts, done));
    view to[3];
    int k = 0;
    for (int i = 0; i < t.n_params; i++)
        to[k++] = view_of(params->out[i]);
    if (sum) to[k++] = view_of(sum->out[0]);
    return n_parts ? columns_end(x, order, t.o.r.cols, t.part, n_parts, to) : NULL;
}
