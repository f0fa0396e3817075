// Sums over chosen dims and over everything, statistics of rows. Every sum is a fixed tree: the
// same bits in every run. Threads add in f32 over strides, blocks join in f32 or double.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_last.h"
#include "cuda/kernels/cuda_row.cuh"
#include "cuda/kernels/cuda_shadow.h"

enum { THREADS = 256 };

// --- everything to one number: two launches, a partial sum a block ---

// F::at(i) is the i-th summand, a double.
template <class F> __global__ void reduce_parts(int64_t n, F f, double *part)
{
    double sum = 0;
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        sum += f.at(i);
    sum = over_block<join_sum>(sum);
    if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

__global__ void reduce_end(int n, const double *part, view y)
{
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += part[i];
    sum = over_block<join_sum>(sum);
    if (threadIdx.x == 0) store(y, 0, (float)sum);
}

template <class F> static const char *reduce_all(cuda_context *x, int64_t n, F f, hap_tensor *y)
{
    const char *why = NULL;
    double *part = (double *)cuda_work(x, CUDA_NUMBER_PARTS * sizeof(double), &why);
    if (!part) return why;
    int64_t blocks = ceil_div(n, THREADS * 4);
    blocks = blocks < 1 ? 1 : blocks > CUDA_NUMBER_PARTS ? CUDA_NUMBER_PARTS : blocks;
    reduce_parts<<<(unsigned)blocks, THREADS, 0, x->stream>>>(n, f, part);
    reduce_end<<<1, THREADS, 0, x->stream>>>((int)blocks, part, view_of(y));
    return launched();
}

struct value_of {
    view x;
    __device__ double at(int64_t i) const { return (double)load(x, i); }
};
struct nll_of {
    view max, sum, target;
    const int64_t *label;
    int64_t ignore;
    __device__ double at(int64_t i) const
    {
        if (label[i] == ignore) return 0;
        return (double)load(max, i) + log((double)load(sum, i)) - (double)load(target, i);
    }
};
struct labelled {
    const int64_t *label;
    int64_t ignore;
    __device__ double at(int64_t i) const { return label[i] != ignore; }
};

CUDA_ROW(nll_sum)
{
    int64_t n = c->in[3] ? c->in[3]->elements : 0;
    CUDA_TRY(cuda_want(c->in[3], HAP_I64, "the labels"));
    for (int i = 0; i < 3; i++)
        if (!cuda_is_float(c->in[i]->type) || c->in[i]->elements != n)
            return cuda_fail("nll_sum: a statistic does not have one float a label");
    if (!cuda_is_float(c->out[0]->type)) return cuda_want(c->out[0], HAP_F32, "the output");
    nll_of f = {view_of(c->in[0]), view_of(c->in[1]), view_of(c->in[2]),
                (const int64_t *)c->in[3]->data, c->attr[0].i};
    return reduce_all(x, n, f, c->out[0]);
}

CUDA_ROW(count)
{
    CUDA_TRY(cuda_want(c->in[0], HAP_I64, "the labels"));
    if (!cuda_is_float(c->out[0]->type)) return cuda_want(c->out[0], HAP_F32, "the output");
    labelled f = {(const int64_t *)c->in[0]->data, c->attr[0].i};
    return reduce_all(x, c->in[0]->elements, f, c->out[0]);
}

// As torch.nn.utils.clip_grad_norm_: min(1, max_norm / (norm + 1e-6)).
__global__ void clip(view y, view x, double max_norm, cuda_trap *seen)
{
    double norm = sqrt((double)load(x, 0)), k = max_norm / (norm + 1e-6);
    store(y, 0, k > 1 ? 1.0f : (float)k);
    if (seen) seen->norm = norm; // the host's, for its report of the step
}

CUDA_ROW(clip_scale)
{
    CUDA_TRY(cuda_want_floats(c));
    clip<<<1, 1, 0, x->stream>>>(view_of(c->out[0]), view_of(c->in[0]), c->attr[0].f,
                                    x->trap);
    return launched();
}

// --- sums of columns: x is [outer, rows, cols], rows are added (cuda_columns.cuh) ---
//
// A block is 32 x COLUMN_LANES threads on one tile of columns, V a thread, and one part of the
// rows; rows of x are ld elements apart. V = 8 wants ld a multiple of 8 and reads whole vectors of
// a row.

// Several tensors of one shape may be summed at once.
struct column_inputs {
    view x[CUDA_MOST_SUMS];
    int n;
};

// TYPE: of x; NONE: known when it runs.
template <int V, int TYPE>
__global__ void column_parts(column_inputs in, int64_t rows, int64_t cols, int64_t ld, int64_t each,
                             float *y)
{
    enum {
        AT_ONCE = 8,
        PITCH = V == 8 ? 36 : 32
    }; // PITCH: so that both walks below meet all banks
    __shared__ float part[COLUMN_LANES][V * PITCH];
    int64_t col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * V;
    int64_t n_outer = gridDim.z / in.n, tensor = blockIdx.z / n_outer, outer = blockIdx.z % n_outer;
    view x = in.x[tensor];
    int64_t r0 = blockIdx.y * each, r1 = r0 + each < rows ? r0 + each : rows;
    float sum[V] = {0};
    if constexpr (V == 8 && TYPE != NONE) {
        if (col < cols)
            for (int64_t r = r0 + threadIdx.y; r < r1; r += COLUMN_LANES * AT_ONCE) {
                typed_vec<TYPE> raw[AT_ONCE];
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++) {
                    if (r + i * COLUMN_LANES >= r1) break;
                    raw[i].fetch_last(x.p, (outer * rows + r + i * COLUMN_LANES) * ld + col);
                }
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++) {
                    float v[8];
                    if (r + i * COLUMN_LANES >= r1) break;
                    raw[i].unpack(v);
#pragma unroll
                    for (int e = 0; e < 8; e++)
                        sum[e] += v[e];
                }
            }
    } else if (col < cols) {
#pragma unroll 4
        for (int64_t r = r0 + threadIdx.y; r < r1; r += COLUMN_LANES)
            sum[0] += load(x, (outer * rows + r) * ld + col);
    }
#pragma unroll
    for (int e = 0; e < V; e++)
        part[threadIdx.y][e * PITCH + threadIdx.x] = sum[e];
    __syncthreads();
    int own = threadIdx.y * 32 + threadIdx.x, at = own % V * PITCH + own / V; // a column a thread
    col = (int64_t)blockIdx.x * 32 * V + own;
    if (own >= 32 * V || col >= cols) return;
    float s = part[0][at];
    for (int k = 1; k < COLUMN_LANES; k++)
        s += part[k][at];
    y[((tensor * gridDim.y + blockIdx.y) * n_outer + outer) * cols + col] = s;
}

static const char *sum_columns(cuda_context *x, const column_inputs &in, int64_t outer,
                               int64_t rows, int64_t cols, int64_t ld, const view *y)
{
    bool wide = ld % 8 == 0 && (rows >= 1024 || cols >= 8192);
    int type = in.x[0].type;
    for (int k = 0; k < in.n; k++)
        wide &= (uintptr_t)in.x[k].p % 16 == 0 && in.x[k].type == type;
    if (outer * in.n > 65535)
        return cuda_fail("not supported: a sum inside %lld blocks", (long long)outer);
    column_order o = column_order_of(rows, outer);
    dim3 grid((unsigned)ceil_div(cols, wide ? COLUMN_TILE : 32), (unsigned)o.parts,
              (unsigned)(outer * in.n)),
        block(32, COLUMN_LANES);
    const char *why = NULL;
    float *work = columns_room(x, in.n * o.parts * outer * cols, &why);
    if (!work) return why;
    auto *run = column_parts<1, NONE>;
    if (wide)
        run = type == HAP_F32    ? column_parts<8, HAP_F32>
              : type == HAP_BF16 ? column_parts<8, HAP_BF16>
                                 : column_parts<8, HAP_F16>;
    run<<<grid, block, 0, x->stream>>>(in, rows, cols, ld, o.each, work);
    return columns_end(x, o, outer * cols, work, in.n, y);
}

const char *cuda_sum_rows(cuda_context *x, hap_dtype type, const void *const *from, int n,
                          int64_t rows, int64_t cols, int64_t ld, const view *y)
{
    column_inputs in = {};
    for (int k = 0; k < n; k++)
        in.x[in.n++] = {(void *)from[k], (int)type};
    return sum_columns(x, in, 1, rows, cols, ld, y);
}

const char *cuda_sums_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                            bool *done)
{
    column_inputs in = {};
    view y[CUDA_MOST_SUMS];
    const hap_tensor *a = c[0]->in[0];
    int64_t cols = a->local[a->rank - 1], rows = cols ? a->elements / cols : 0;
    (void)unread;
    *done = n <= CUDA_MOST_SUMS && rows > 0 && cols > 1;
    if (!*done) return NULL;
    for (int k = 0; k < n; k++) {
        CUDA_TRY(cuda_call_begins(x, c[k]));
        in.x[in.n++] = view_of(c[k]->in[0]);
        y[k] = view_of(c[k]->out[0]);
    }
    return sum_columns(x, in, 1, rows, cols, cols, y);
}

// --- sums over any dims ---

__device__ inline int64_t sum_at(const hap_sum_shape &s, bool summed, int64_t i)
{
    int64_t at = 0;
    for (int k = s.n - 1; k >= 0; k--) {
        if (s.summed[k] != summed) continue;
        at += i % s.size[k] * s.stride[k];
        i /= s.size[k];
    }
    return at;
}

// A block an output.
__global__ void sum_any(view x, view y, hap_sum_shape s, int64_t n_kept, int64_t n_summed,
                        bool ints)
{
    for (int64_t o = blockIdx.x; o < n_kept; o += gridDim.x) {
        int64_t at = sum_at(s, false, o);
        if (ints) {
            long long sum = 0;
            for (int64_t i = threadIdx.x; i < n_summed; i += blockDim.x)
                sum += load_int(x, at + sum_at(s, true, i));
            sum = over_block<join_sum>(sum);
            if (threadIdx.x == 0) store_int(y, o, sum);
        } else {
            float sum = 0;
            for (int64_t i = threadIdx.x; i < n_summed; i += blockDim.x)
                sum += load(x, at + sum_at(s, true, i));
            sum = over_block<join_sum>(sum);
            if (threadIdx.x == 0) store(y, o, sum);
        }
    }
}

// x is [outer, rows, cols]: V columns a thread, whose rows are added in turn. Of few rows these are
// the lanes of column_parts; of a few more, in many columns, parts of them would be written and read.
template <int V>
__global__ __launch_bounds__(THREADS) void sum_few(view x, view y, int64_t outer, int rows,
                                                   int64_t cols)
{
    const int64_t across = cols / V, step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < outer * across; i += step) {
        const int64_t o = i / across, col = i % across * V;
        float sum[V], v[V];
        load_vec<V>(x, o * rows * cols + col, sum);
#pragma unroll 4
        for (int r = 1; r < rows; r++) {
            load_vec<V>(x, (o * rows + r) * cols + col, v);
#pragma unroll
            for (int e = 0; e < V; e++)
                sum[e] += v[e];
        }
        store_vec<V>(y, i * V, sum);
    }
}

static const char *few_rows(cuda_context *x, const view &a, const view &y, int64_t outer, int rows,
                            int64_t cols)
{
    const bool wide = cols % 8 == 0 && (uintptr_t)a.p % 16 == 0 && (uintptr_t)y.p % 16 == 0;
    const int64_t blocks = ceil_div(outer * cols / (wide ? 8 : 1), THREADS), most = 1 << 16;
    (wide ? sum_few<8> : sum_few<1>)<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0,
                                       x->stream>>>(a, y, outer, rows, cols);
    return launched();
}

static const char *sums_of_rows(cuda_context *x, const view &a, const view &y, int64_t rows,
                                int64_t cols, bool aligned);

CUDA_ROW(sum)
{
    hap_tensor *y = c->out[0], *a = c->in[0];
    bool ints = a->type == HAP_I64 && y->type == HAP_I64;
    if (!ints && (!cuda_is_float(a->type) || !cuda_is_float(y->type)))
        return cuda_fail("not supported: sum of %s to %s", hap_dtype_name(a->type),
                         hap_dtype_name(y->type));
    if (y->elements == 0) return NULL;
    if (a->elements == 0) return cuda_fill(x->stream, y, 0);
    hap_sum_shape s = hap_sum_shape_of(a, c->attr[0].v);
    int64_t kept = 1, summed = 1;
    for (int k = 0; k < s.n; k++)
        *(s.summed[k] ? &summed : &kept) *= s.size[k];
    if (kept != y->elements) return cuda_fail("sum: the output has another size");
    if (!ints && s.n == 3 && s.summed[0] && s.summed[2]) {
        cuda_last shape = {s.size[0], s.size[1], s.size[2]};
        return cuda_channel_sums(x, a, &shape, y);
    }
    if (!ints && s.n == 2 && s.summed[1]) {
        bool taken;
        CUDA_TRY(cuda_place_sums(x, a, s.size[0], s.size[1], y, &taken));
        if (taken) return NULL;
    }
    bool columns = !ints && kept > 1 && s.n >= 2 && s.n <= 3 && !s.summed[s.n - 1] &&
                   (s.n == 2 || s.size[0] <= 65535);
    int64_t cols = s.n ? s.size[s.n - 1] : 1;
    cuda_rows at = {a->data, cols};
    if (columns && s.n == 2 && cols == a->local[a->rank - 1])
        CUDA_TRY(cuda_rows_of(x, a, &at));
    else
        CUDA_TRY(cuda_will_read(x, a->data, a->bytes));
    if (!ints && s.n == 3 && s.summed[1] && s.size[1] <= COLUMN_LANES)
        return few_rows(x, view_of(a), view_of(y), s.size[0], (int)s.size[1], cols);
    if (columns && s.n == 2 && at.data == a->data && cuda_adds_in_turn(s.size[0], cols))
        return few_rows(x, view_of(a), view_of(y), 1, (int)s.size[0], cols);
    if (columns) {
        column_inputs in = {{{at.data, (int)a->type}}, 1};
        view to = view_of(y);
        return sum_columns(x, in, s.n == 3 ? s.size[0] : 1, s.size[s.n - 2], cols, at.ld, &to);
    }
    if (!ints && kept == 1) {
        value_of f = {view_of(a)};
        return reduce_all(x, a->elements, f, y);
    }
    if (!ints && s.n == 2 && s.summed[1])
        return sums_of_rows(x, view_of(a), view_of(y), kept, summed, all_aligned(c));
    int threads = summed <= 32 ? 32 : summed <= 1024 ? 128 : 512;
    unsigned blocks = (unsigned)(kept < (1 << 20) ? kept : 1 << 20);
    sum_any<<<blocks, threads, 0, x->stream>>>(view_of(a), view_of(y), s, kept, summed, ints);
    return launched();
}

// --- statistics of rows ---

struct row_args {
    int64_t rows, cols, ld; // ld: elements between rows of x
    view y, x, stat;        // stat: of a row, or the second operand of row_dot
    double n;               // global size of the last dim
    bool vec;
};

struct sum_stat {
    typedef join_sum join;
    template <int V>
    __device__ static void add(float &t, const float (&v)[V], const row_args &, int64_t, float)
    {
        for (int k = 0; k < V; k++)
            t += v[k];
    }
    __device__ static float of_row(const row_args &, int64_t) { return 0; }
};
struct max_stat {
    typedef join_max join;
    template <int V>
    __device__ static void add(float &t, const float (&v)[V], const row_args &, int64_t, float)
    {
        for (int k = 0; k < V; k++)
            t = v[k] > t ? v[k] : t;
    }
    __device__ static float of_row(const row_args &, int64_t) { return 0; }
};
struct m2_stat {
    typedef join_sum join;
    template <int V>
    __device__ static void add(float &t, const float (&v)[V], const row_args &, int64_t, float mean)
    {
        m2_vec<V>(v, mean, &t);
    }
    __device__ static float of_row(const row_args &a, int64_t row)
    {
        return (float)((double)load(a.stat, row) / a.n);
    }
};
struct sq_stat {
    typedef join_sum join;
    template <int V>
    __device__ static void add(float &t, const float (&v)[V], const row_args &, int64_t, float)
    {
        m2_vec<V>(v, 0, &t);
    }
    __device__ static float of_row(const row_args &, int64_t) { return 0; }
};
struct exp_stat {
    typedef join_sum join;
    template <int V>
    __device__ static void add(float &t, const float (&v)[V], const row_args &a, int64_t, float max)
    {
        for (int k = 0; k < V; k++)
            t += exp_below(a.x.type, v[k], max);
    }
    __device__ static float of_row(const row_args &a, int64_t row) { return load(a.stat, row); }
};
struct dot_stat {
    typedef join_sum join;
    template <int V>
    __device__ static void add(float &t, const float (&v)[V], const row_args &a, int64_t i, float)
    {
        float u[V];
        load_vec<V>(a.stat, i, u);
        for (int k = 0; k < V; k++)
            t += v[k] * u[k];
    }
    __device__ static float of_row(const row_args &, int64_t) { return 0; }
};

template <class S> __global__ void row_stat(row_args a)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    bool here = row < a.rows;
    float t = S::join::template zero<float>(), r = here ? S::of_row(a, row) : 0.0f;
    if (here)
        for_row(row * a.ld, a.cols, a.vec, threadIdx.x, blockDim.x,
                [&](auto w, int64_t i, int64_t) {
                    constexpr int V = decltype(w)::value;
                    float v[V];
                    load_vec<V>(a.x, i, v);
                    S::template add<V>(t, v, a, i, r);
                });
    t = over_block<typename S::join>(t);
    if (here && threadIdx.x == 0) store(a.y, row, t);
}

template <class S> static const char *run_stat(cuda_context *x, const row_args &a)
{
    dim3 block = row_block(a.cols);
    row_stat<S><<<(unsigned)ceil_div(a.rows, block.y), block, 0, x->stream>>>(a);
    return launched();
}

static const char *sums_of_rows(cuda_context *x, const view &a, const view &y, int64_t rows,
                                int64_t cols, bool aligned)
{
    return run_stat<sum_stat>(x, {rows, cols, cols, y, a, view{}, (double)cols, aligned});
}

CUDA_ROW(row_reduce)
{
    CUDA_TRY(cuda_want_floats(c));
    hap_tensor *a = c->in[0], *y = c->out[0];
    const hap_tensor *b = cuda_in(c, 1);
    int last = a->rank - 1;
    cuda_axis axis = cuda_axis_of(a, last);
    cuda_rows at = {a->data, a->local[last]};
    if (c->op != HAP_OP_row_dot) CUDA_TRY(cuda_rows_of(x, a, &at));
    view from = {at.data, (int)a->type};
    row_args r = {
        cuda_entries(a, 0, last),      a->local[last], at.ld, view_of(y), from, view_of(b),
        (double)cuda_axis_size(&axis), all_aligned(c)};
    if (y->elements != r.rows ||
        (b && (c->op == HAP_OP_row_dot ? !cuda_same_shape(a, b) : b->elements != r.rows)))
        return cuda_fail("a row statistic has %lld entries for %lld rows", (long long)y->elements,
                         (long long)r.rows);
    if (r.rows == 0) return NULL;
    switch ((int)c->op) {
    case HAP_OP_row_sum:
        return run_stat<sum_stat>(x, r);
    case HAP_OP_row_max:
        return run_stat<max_stat>(x, r);
    case HAP_OP_row_m2:
        return run_stat<m2_stat>(x, r);
    case HAP_OP_row_sq:
        return run_stat<sq_stat>(x, r);
    case HAP_OP_row_expsum:
        return run_stat<exp_stat>(x, r);
    case HAP_OP_row_dot:
        return run_stat<dot_stat>(x, r);
    }
    return cuda_fail("not a statistic of rows");
}

// A warp a row: 32 entries at a time, each lane's sum of those up to it, and what was before.
__global__ void sums_so_far(int64_t rows, int64_t n, bool reverse, view y, view x)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    int lane = (int)threadIdx.x;
    double before = 0;
    if (row >= rows) return; // a whole warp
    for (int64_t k0 = 0; k0 < n; k0 += 32) {
        int64_t k = k0 + lane, at = row * n + (reverse ? n - 1 - k : k);
        double v = k < n ? (double)load(x, at) : 0;
        for (int step = 1; step < 32; step *= 2) {
            double other = __shfl_up_sync(0xFFFFFFFFu, v, step);
            if (lane >= step) v += other;
        }
        if (k < n) store(y, at, (float)(before + v));
        before += __shfl_sync(0xFFFFFFFFu, v, 31);
    }
}

CUDA_ROW(cumsum)
{
    CUDA_TRY(cuda_want_floats(c));
    const hap_tensor *a = c->in[0];
    hap_tensor *y = c->out[0];
    if (!cuda_same_shape(a, y)) return cuda_fail("cumsum: shapes differ");
    if (y->elements == 0) return NULL;
    int64_t n = a->local[a->rank - 1], rows = cuda_entries(a, 0, a->rank - 1);
    dim3 block(32, 8);
    sums_so_far<<<(unsigned)ceil_div(rows, block.y), block, 0, x->stream>>>(
        rows, n, c->attr[0].i != 0, view_of(y), view_of(a));
    return launched();
}
