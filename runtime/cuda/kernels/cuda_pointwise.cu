// Pointwise rows: one and two operands, gradients, casts, dropout, where. Values of bf16 and f16
// are computed in f32, as on the CPU.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_gelu.cuh"
#include "cuda/kernels/cuda_shadow.h"

enum { THREADS = 256 };

// --- one operand ---

// What a kernel computes of an element: u of the first operand, v of the second, k0 and k1 the
// attributes.
#define VALUE(op, value)                                                                           \
    struct value_##op {                                                                            \
        __device__ static float of(float u, float v, float k0, float k1)                           \
        {                                                                                          \
            (void)v, (void)k0, (void)k1;                                                           \
            return value;                                                                          \
        }                                                                                          \
    };
#define POINT_VALUE(op, args) VALUE(op, hap_formula::hap_##op args)
HAP_POINTS_1(POINT_VALUE)
HAP_POINTS_2(POINT_VALUE)
VALUE(gelu_erf, hap_formula::hap_gelu_erf(u))
VALUE(gelu_short, short_gelu(u)) // by erf, of 16 bits
VALUE(gelu_tanh, hap_formula::hap_gelu_tanh(u))
VALUE(gelu_erf_bwd, hap_formula::hap_gelu_erf_bwd(u, v))
VALUE(gelu_short_bwd, u *short_gelu_slope(v))
VALUE(gelu_tanh_bwd, hap_formula::hap_gelu_tanh_bwd(u, v))

template <class F> __global__ void one(int64_t n, view y, view x, float k0, float k1, bool vec)
{
    for_all_back(n, vec, [&](auto w, int64_t i) {
        constexpr int V = decltype(w)::value;
        float u[V];
        load_vec<V>(x, i, u);
#pragma unroll
        for (int k = 0; k < V; k++)
            u[k] = F::of(u[k], 0, k0, k1);
        store_vec<V>(y, i, u);
    });
}

template <class F>
__global__ void two(int64_t n, view y, view a, view b, float k0, float k1, bool vec)
{
    for_all(n, vec, [&](auto w, int64_t i) {
        constexpr int V = decltype(w)::value;
        float u[V], v[V];
        if constexpr (V == 8) {
            raw_vec ra, rb;
            fetch_vec(a, i, &ra);
            fetch_vec(b, i, &rb);
            unpack_vec(a.type, ra, u);
            unpack_vec(b.type, rb, v);
        } else {
            load_vec<V>(a, i, u);
            load_vec<V>(b, i, v);
        }
#pragma unroll
        for (int k = 0; k < V; k++)
            u[k] = F::of(u[k], v[k], k0, k1);
        store_vec<V>(y, i, u);
    });
}

template <class F, int N_IN> static const char *run(cuda_context *x, const hap_op_call *c)
{
    int64_t n = c->out[0]->elements;
    float k0 = c->n_attr > 0 ? (float)c->attr[0].f : 0,
          k1 = c->n_attr > 1 ? (float)c->attr[1].f : 0;
    CUDA_TRY(cuda_want_floats(c));
    CUDA_TRY(cuda_same_elements(c));
    if (n == 0) return NULL;
    if constexpr (N_IN == 1)
        one<F><<<blocks_for(n, THREADS, 8), THREADS, 0, x->stream>>>(
            n, view_of(c->out[0]), view_of(c->in[0]), k0, k1, all_aligned(c));
    else
        two<F><<<blocks_for(n, THREADS, 8), THREADS, 0, x->stream>>>(
            n, view_of(c->out[0]), view_of(c->in[0]), view_of(c->in[1]), k0, k1, all_aligned(c));
    return launched();
}

__global__ void affine_int(int64_t n, view y, view x, int64_t k, int64_t b)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        store_int(y, i, load_int(x, i) * k + b);
}

// neg, scale, add_scalar of integers.
static const char *affine(cuda_context *x, const hap_op_call *c)
{
    hap_tensor *y = c->out[0], *a = c->in[0];
    double k = c->op == HAP_OP_neg ? -1 : c->op == HAP_OP_scale ? c->attr[0].f : 1;
    double b = c->op == HAP_OP_add_scalar ? c->attr[0].f : 0;
    CUDA_TRY(cuda_same_elements(c));
    CUDA_TRY(cuda_want(y, a->type, "the output"));
    if (k != floor(k) || b != floor(b))
        return cuda_fail("not supported: a fraction times or plus %s", hap_dtype_name(a->type));
    if (y->elements == 0) return NULL;
    affine_int<<<blocks_for(y->elements, THREADS), THREADS, 0, x->stream>>>(
        y->elements, view_of(y), view_of(a), (int64_t)k, (int64_t)b);
    return launched();
}

CUDA_ROW(point)
{
    hap_dtype type = c->in[0]->type;
    bool is_affine = c->op == HAP_OP_neg || c->op == HAP_OP_scale || c->op == HAP_OP_add_scalar;
    if (is_affine && (type == HAP_I64 || type == HAP_I32)) return affine(x, c);
    switch ((int)c->op) {
#define CASE_1(op, args)                                                                           \
    case HAP_OP_##op:                                                                              \
        return run<value_##op, 1>(x, c);
#define CASE_2(op, args)                                                                           \
    case HAP_OP_##op:                                                                              \
        return run<value_##op, 2>(x, c);
        HAP_POINTS_1(CASE_1)
        HAP_POINTS_2(CASE_2)
    }
    return cuda_fail("not a pointwise op");
}

CUDA_ROW(gelu)
{
    bool is_f32 = c->in[c->n_in - 1]->type == HAP_F32;
    if (c->op == HAP_OP_gelu)
        return c->attr[0].i ? run<value_gelu_tanh, 1>(x, c)
               : is_f32     ? run<value_gelu_erf, 1>(x, c)
                            : run<value_gelu_short, 1>(x, c);
    return c->attr[0].i ? run<value_gelu_tanh_bwd, 2>(x, c)
           : is_f32     ? run<value_gelu_erf_bwd, 2>(x, c)
                        : run<value_gelu_short_bwd, 2>(x, c);
}

// The gradient, and the sums of its columns. A block has a tile of columns of one part of the rows
// (cuda_columns.cuh). TYPE: of all three tensors, or NONE: looked up.
template <class F, int TYPE>
__global__ __launch_bounds__(32 * COLUMN_LANES, 4) void slope_and_sum(int64_t rows, int64_t cols,
                                                                      view y, view a, view b,
                                                                      int64_t each, float *part)
{
    enum { AT_ONCE = TYPE == NONE ? 1 : 2 }; // rows that are fetched before the first is used
    __shared__ float lane[COLUMN_LANES][COLUMN_TILE + 1];
    int64_t col = blockIdx.x * (int64_t)COLUMN_TILE + threadIdx.x * 8;
    int64_t r0 = blockIdx.y * each, r1 = r0 + each < rows ? r0 + each : rows;
    float sum[8] = {0};
    for (int64_t r = r0 + threadIdx.y; col < cols && r < r1; r += COLUMN_LANES * AT_ONCE) {
        typed_vec<TYPE> ra[AT_ONCE], rb[AT_ONCE];
        int64_t at = r * cols + col, step = COLUMN_LANES * cols;
        if constexpr (TYPE != NONE) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (r + i * COLUMN_LANES < r1) {
                    ra[i].fetch(a.p, at + i * step);
                    rb[i].fetch(b.p, at + i * step);
                }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            float u[8], v[8];
            if (r + i * COLUMN_LANES >= r1) break;
            if constexpr (TYPE != NONE) {
                ra[i].unpack(u);
                rb[i].unpack(v);
            } else {
                load_vec<8>(a, at, u);
                load_vec<8>(b, at, v);
            }
            view to = y;
            if constexpr (TYPE != NONE) to.type = TYPE;
#pragma unroll
            for (int k = 0; k < 8; k++) {
                u[k] = as_stored(to.type, F::of(u[k], v[k], 0, 0));
                sum[k] += u[k];
            }
            store_vec<8>(to, at + i * step, u);
        }
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        lane[threadIdx.y][k * 32 + threadIdx.x] = sum[k];
    __syncthreads();
    if (threadIdx.y != 0 || col >= cols) return;
    for (int k = 0; k < 8; k++) {
        for (int i = 1; i < COLUMN_LANES; i++)
            sum[k] += lane[i][k * 32 + threadIdx.x];
        part[blockIdx.y * cols + col + k] = sum[k];
    }
}

template <class F>
static const char *run_slope_sum(cuda_context *x, const hap_op_call *c, hap_tensor *total)
{
    int64_t cols = total->elements, rows = c->out[0]->elements / cols;
    column_order o = column_order_of(rows);
    const char *why = NULL;
    float *part = columns_room(x, o.parts * cols, &why);
    if (!part) return why;
    dim3 grid((unsigned)ceil_div(cols, COLUMN_TILE), (unsigned)o.parts);
    bool bf16 =
        c->out[0]->type == HAP_BF16 && c->in[0]->type == HAP_BF16 && c->in[1]->type == HAP_BF16;
    (bf16 ? slope_and_sum<F, HAP_BF16>
          : slope_and_sum<F, NONE>)<<<grid, dim3(32, COLUMN_LANES), 0, x->stream>>>(
        rows, cols, view_of(c->out[0]), view_of(c->in[0]), view_of(c->in[1]), o.each, part);
    CUDA_TRY(launched());
    view to = view_of(total);
    return columns_end(x, o, cols, part, 1, &to);
}

const char *cuda_slope_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                             bool *done)
{
    hap_tensor *y = c[0]->out[0], *total = c[1]->out[0];
    (void)n, (void)unread;
    *done = total->elements > 0 && total->elements == y->local[y->rank - 1] && y->elements > 0 &&
            total->elements % 8 == 0 && all_aligned(c[0]);
    if (!*done) return NULL;
    CUDA_TRY(cuda_call_begins(x, c[0]));
    CUDA_TRY(cuda_call_begins(x, c[1]));
    CUDA_TRY(cuda_want_floats(c[0]));
    CUDA_TRY(cuda_same_elements(c[0]));
    switch ((int)c[0]->op) {
    case HAP_OP_relu_bwd:
        return run_slope_sum<value_relu_bwd>(x, c[0], total);
    case HAP_OP_tanh_bwd:
        return run_slope_sum<value_tanh_bwd>(x, c[0], total);
    case HAP_OP_silu_bwd:
        return run_slope_sum<value_silu_bwd>(x, c[0], total);
    }
    return c[0]->attr[0].i                ? run_slope_sum<value_gelu_tanh_bwd>(x, c[0], total)
           : c[0]->in[1]->type == HAP_F32 ? run_slope_sum<value_gelu_erf_bwd>(x, c[0], total)
                                          : run_slope_sum<value_gelu_short_bwd>(x, c[0], total);
}

// --- casts ---

__global__ void cast_floats(int64_t n, view y, view x, bool vec)
{
    for_all(n, vec, [&](auto w, int64_t i) {
        constexpr int V = decltype(w)::value;
        float v[V];
        load_vec<V>(x, i, v);
        store_vec<V>(y, i, v);
    });
}

__global__ void cast_any(int64_t n, view y, view x, bool from_float, bool to_float)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        if (from_float) {
            float v = load(x, i);
            store_int(y, i, y.type == HAP_BOOL ? v != 0.0f : (int64_t)v);
        } else {
            int64_t v = load_int(x, i);
            if (x.type == HAP_BOOL || y.type == HAP_BOOL) v = v != 0;
            if (to_float)
                store(y, i, (float)v);
            else
                store_int(y, i, v);
        }
    }
}

CUDA_ROW(cast)
{
    hap_tensor *y = c->out[0], *a = c->in[0];
    CUDA_TRY(cuda_same_elements(c));
    if (y->elements == 0) return NULL;
    bool from = cuda_is_float(a->type), to = cuda_is_float(y->type);
    if (from && to)
        cast_floats<<<blocks_for(y->elements, THREADS, 8), THREADS, 0, x->stream>>>(
            y->elements, view_of(y), view_of(a), all_aligned(c));
    else
        cast_any<<<blocks_for(y->elements, THREADS), THREADS, 0, x->stream>>>(
            y->elements, view_of(y), view_of(a), from, to);
    return launched();
}

struct cast_part {
    view y, x;
    int64_t n;
    int first; // block
    bool vec;
};

struct cast_list {
    int n, blocks;
    cast_part at[CUDA_MAX_CHAIN + 1];
};

__global__ void cast_many(cast_list list)
{
    int lo = 0, hi = list.n; // the last tensor that starts at this block or before
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        *(list.at[mid].first <= (int)blockIdx.x ? &lo : &hi) = mid;
    }
    const cast_part &t = list.at[lo];
    int64_t blocks = (lo + 1 < list.n ? list.at[lo + 1].first : list.blocks) - t.first;
    int64_t i = (int64_t)(blockIdx.x - t.first) * blockDim.x + threadIdx.x,
            step = blocks * blockDim.x, n8 = t.vec ? t.n / 8 : 0;
    for (int64_t k = i; k < n8; k += step) {
        float v[8];
        load_vec<8>(t.x, k * 8, v);
        store_vec<8>(t.y, k * 8, v);
    }
    for (int64_t k = n8 * 8 + i; k < t.n; k += step)
        store(t.y, k, load(t.x, k));
}

const char *cuda_cast_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                            bool *done)
{
    cast_list list = {};
    (void)unread;
    *done = true;
    for (int k = 0; k < n; k++) {
        int64_t elements = c[k]->out[0]->elements;
        CUDA_TRY(cuda_want_floats(c[k]));
        CUDA_TRY(cuda_same_elements(c[k]));
        CUDA_TRY(cuda_call_begins(x, c[k]));
        if (elements == 0) continue;
        list.at[list.n++] = {view_of(c[k]->out[0]), view_of(c[k]->in[0]), elements, list.blocks,
                             all_aligned(c[k])};
        list.blocks += (int)blocks_for(elements, THREADS, 8 * 2);
    }
    if (list.n == 0) return NULL;
    cast_many<<<(unsigned)list.blocks, THREADS, 0, x->stream>>>(list);
    return launched();
}

// --- two and three operands, broadcast ---

enum { MAX_ARG = 3 };

// Merged dims of y, outermost first, and every operand's stride in each (0 = repeated).
struct spread {
    int n;
    int64_t size[HAP_MAX_RANK], stride[MAX_ARG][HAP_MAX_RANK];
};

static const char *spread_of(spread *s, const hap_tensor *y, int n_in, hap_tensor *const *in)
{
    int64_t stride[MAX_ARG][HAP_MAX_RANK];
    *s = {};
    for (int i = 0; i < n_in; i++) {
        int skip = y->rank - in[i]->rank;
        int64_t step = 1;
        if (skip < 0) return cuda_fail("an operand has more dims than the output");
        for (int d = y->rank - 1; d >= 0; d--) {
            int64_t n = d >= skip ? in[i]->local[d - skip] : 1;
            if (n != y->local[d] && n != 1)
                return cuda_fail("dim %d: %lld local entries do not broadcast to %lld", d,
                                 (long long)n, (long long)y->local[d]);
            stride[i][d] = n == 1 ? 0 : step;
            step *= n;
        }
    }
    for (int d = 0; d < y->rank; d++) {
        int64_t size = y->local[d];
        if (size == 1) continue;
        bool joins = s->n > 0;
        for (int i = 0; joins && i < n_in; i++)
            joins = s->stride[i][s->n - 1] == stride[i][d] * size;
        if (!joins) s->size[s->n++] = 1;
        s->size[s->n - 1] *= size;
        for (int i = 0; i < n_in; i++)
            s->stride[i][s->n - 1] = stride[i][d];
    }
    if (s->n == 0) s->size[s->n++] = 1; // one element
    return NULL;
}

// Where the i-th element of y has its operands.
template <int N> __device__ inline void spread_at(const spread &s, int64_t i, int64_t (&at)[N])
{
    for (int k = 0; k < N; k++)
        at[k] = 0;
    for (int d = s.n - 1; d >= 0; d--) {
        int64_t q = d ? i / s.size[d] : 0, r = i - q * s.size[d];
        for (int k = 0; k < N; k++)
            at[k] += r * s.stride[k][d];
        i = q;
    }
}

#define BINARY(name, expr)                                                                         \
    struct name##_op {                                                                             \
        template <class T> __device__ static T of(T u, T v) { return T(expr); }                    \
    };
BINARY(add, u + v)
BINARY(sub, u - v)
BINARY(mul, u *v)
BINARY(div, u / v)
BINARY(eq, u == v)
BINARY(ne, u != v)
BINARY(lt, u < v)
BINARY(le, u <= v)
BINARY(gt, u > v)
BINARY(ge, u >= v)
BINARY(logical_and, u != 0 && v != 0)
BINARY(logical_or, u != 0 || v != 0)

// Vectors of 8 along the innermost dim, in which each operand is dense or repeated.
template <class F> __global__ void binary_floats(int64_t n8, view y, view a, view b, spread s)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    int last = s.n - 1;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n8; i += step) {
        int64_t at[2];
        float u[8], v[8], one[1];
        spread_at<2>(s, i * 8, at);
        if (s.stride[0][last]) {
            load_vec<8>(a, at[0], u);
        } else {
            load_vec<1>(a, at[0], one);
            for (int k = 0; k < 8; k++)
                u[k] = one[0];
        }
        if (s.stride[1][last]) {
            load_vec<8>(b, at[1], v);
        } else {
            load_vec<1>(b, at[1], one);
            for (int k = 0; k < 8; k++)
                v[k] = one[0];
        }
#pragma unroll
        for (int k = 0; k < 8; k++)
            u[k] = F::of(u[k], v[k]);
        store_vec<8>(y, i * 8, u);
    }
}

template <class F>
__global__ void binary_any(int64_t n, view y, view a, view b, spread s, bool ints)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    bool truth = y.type == HAP_BOOL;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int64_t at[2];
        spread_at<2>(s, i, at);
        if (ints) {
            store_int(y, i, F::of(load_int(a, at[0]), load_int(b, at[1])));
        } else {
            float v = F::of(load(a, at[0]), load(b, at[1]));
            if (truth)
                store_int(y, i, v != 0.0f);
            else
                store(y, i, v);
        }
    }
}

template <class F> static const char *run_binary(cuda_context *x, const hap_op_call *c)
{
    spread s;
    hap_tensor *y = c->out[0];
    CUDA_TRY(spread_of(&s, y, 2, c->in));
    if (y->elements == 0) return NULL;
    bool ints = !cuda_is_float(c->in[0]->type);
    int64_t inner = s.size[s.n - 1];
    bool vec = !ints && y->type != HAP_BOOL && all_aligned(c) && inner % 8 == 0;
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < s.n; d++)
            vec = vec && (d == s.n - 1           ? s.stride[i][d] <= 1
                          : s.stride[i][s.n - 1] ? s.stride[i][d] % 8 == 0
                                                 : true);
    if (vec)
        binary_floats<F><<<blocks_for(y->elements / 8, THREADS), THREADS, 0, x->stream>>>(
            y->elements / 8, view_of(y), view_of(c->in[0]), view_of(c->in[1]), s);
    else
        binary_any<F><<<blocks_for(y->elements, THREADS), THREADS, 0, x->stream>>>(
            y->elements, view_of(y), view_of(c->in[0]), view_of(c->in[1]), s, ints);
    return launched();
}

static const char *operands_fit(const hap_op_call *c)
{
    hap_dtype a = c->in[0]->type, b = c->in[1]->type;
    if (a == b || (cuda_is_float(a) && cuda_is_float(b))) return NULL;
    return cuda_fail("not supported: operands of types %s and %s", hap_dtype_name(a),
                     hap_dtype_name(b));
}

CUDA_ROW(binary)
{
    hap_dtype type = c->in[0]->type;
    CUDA_TRY(operands_fit(c));
    if (type == HAP_BOOL || (c->op == HAP_OP_div && !cuda_is_float(type)))
        return cuda_fail("not supported: operands of type %s", hap_dtype_name(type));
    if (cuda_is_float(type) != cuda_is_float(c->out[0]->type))
        CUDA_TRY(cuda_want(c->out[0], type, "the output"));
    switch ((int)c->op) {
    case HAP_OP_add:
        return run_binary<add_op>(x, c);
    case HAP_OP_sub:
        return run_binary<sub_op>(x, c);
    case HAP_OP_mul:
        return run_binary<mul_op>(x, c);
    case HAP_OP_div:
        return run_binary<div_op>(x, c);
    }
    return cuda_fail("not an arithmetic row");
}

CUDA_ROW(compare)
{
    CUDA_TRY(operands_fit(c));
    CUDA_TRY(cuda_want(c->out[0], HAP_BOOL, "the output"));
    switch ((int)c->op) {
    case HAP_OP_eq:
        return run_binary<eq_op>(x, c);
    case HAP_OP_ne:
        return run_binary<ne_op>(x, c);
    case HAP_OP_lt:
        return run_binary<lt_op>(x, c);
    case HAP_OP_le:
        return run_binary<le_op>(x, c);
    case HAP_OP_gt:
        return run_binary<gt_op>(x, c);
    case HAP_OP_ge:
        return run_binary<ge_op>(x, c);
    case HAP_OP_logical_and:
        return run_binary<logical_and_op>(x, c);
    case HAP_OP_logical_or:
        return run_binary<logical_or_op>(x, c);
    }
    return cuda_fail("not a comparison row");
}

__global__ void where(int64_t n, view y, const uint8_t *p, view a, view b, spread s, bool ints)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int64_t at[3];
        spread_at<3>(s, i, at);
        bool first = p[at[0]];
        if (ints)
            store_int(y, i, first ? load_int(a, at[1]) : load_int(b, at[2]));
        else
            store(y, i, first ? load(a, at[1]) : load(b, at[2]));
    }
}

CUDA_ROW(where)
{
    hap_tensor *y = c->out[0], *p = c->in[0], *a = c->in[1], *b = c->in[2];
    CUDA_TRY(cuda_want(p, HAP_BOOL, "the condition"));
    bool floats = cuda_is_float(a->type) && cuda_is_float(b->type) && cuda_is_float(y->type);
    if (!floats && (a->type != b->type || a->type != y->type))
        return cuda_fail("not supported: where of types %s and %s", hap_dtype_name(a->type),
                         hap_dtype_name(b->type));
    spread s;
    CUDA_TRY(spread_of(&s, y, 3, c->in));
    if (y->elements == 0) return NULL;
    where<<<blocks_for(y->elements, THREADS), THREADS, 0, x->stream>>>(
        y->elements, view_of(y), (const uint8_t *)p->data, view_of(a), view_of(b), s, !floats);
    return launched();
}

__global__ void logical_not(int64_t n, uint8_t *y, const uint8_t *x)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        y[i] = !x[i];
}

CUDA_ROW(logical_not)
{
    CUDA_TRY(cuda_want(c->in[0], HAP_BOOL, "the operand"));
    CUDA_TRY(cuda_want(c->out[0], HAP_BOOL, "the output"));
    CUDA_TRY(cuda_same_elements(c));
    int64_t n = c->out[0]->elements;
    if (n == 0) return NULL;
    logical_not<<<blocks_for(n, THREADS), THREADS, 0, x->stream>>>(n, (uint8_t *)c->out[0]->data,
                                                                   (const uint8_t *)c->in[0]->data);
    return launched();
}

// --- dropout ---

struct places {
    int rank;
    cuda_axis axis[HAP_MAX_RANK];
    int64_t size[HAP_MAX_RANK]; // local
};

__global__ void dropout(int64_t n, view y, view x, places at, float p, const cuda_step *now,
                        int64_t node, int64_t first)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    uint64_t key = random_key(now, node);
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int64_t rest = i, e = 0, stride = 1;
        for (int d = at.rank - 1; d >= 0; d--) {
            int64_t l = rest % at.size[d];
            rest /= at.size[d];
            e += axis_global(at.axis[d], l) * stride;
            stride *= at.axis[d].outer * at.axis[d].block;
        }
        store(y, i, load(x, i) * dropout_scale(key, first + e, p));
    }
}

CUDA_ROW(dropout)
{
    hap_tensor *y = c->out[0], *a = c->in[0];
    CUDA_TRY(cuda_want_floats(c));
    if (!cuda_same_shape(a, y)) return cuda_fail("dropout: shapes differ");
    if (y->elements == 0) return NULL;
    places at = {};
    at.rank = y->rank;
    for (int d = 0; d < y->rank; d++)
        at.axis[d] = cuda_axis_of(y, d), at.size[d] = y->local[d];
    dropout<<<blocks_for(y->elements, THREADS), THREADS, 0, x->stream>>>(
        y->elements, view_of(y), view_of(a), at, (float)c->attr[0].f, x->step, c->attr[1].i,
        c->attr[2].i);
    return launched();
}

// --- rotary position embedding ---

// Entries u, v of a row turn by the cos and sin of theirs; back: by the transpose of that.
__device__ inline void turn(float &u, float &v, const float2 &cosine, const float2 &sine, bool back)
{
    float a = u * cosine.x, b = v * cosine.y;
    a += back ? v * sine.y : -v * sine.x;
    b += back ? -u * sine.x : u * sine.y;
    u = a, v = b;
}

// Pair i of a row of d entries: where its first entry is. Of halves, the second is d / 2 further.
// in_place: the rows of y lie as those of x do, which s says.
template <bool PAIRS>
__global__ void rotary(int64_t n, int64_t d, view y, view x, view cosine, view sine, spread s,
                       bool back, bool in_place)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x, half = PAIRS ? 1 : d / 2;
    for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t < n; t += step) {
        int64_t i = t / (d / 2) * d + t % (d / 2) * (PAIRS ? 2 : 1), at[3];
        spread_at<3>(s, i, at);
        float u = load(x, at[0]), v = load(x, at[0] + half);
        turn(u, v, make_float2(load(cosine, at[1]), load(cosine, at[1] + half)),
             make_float2(load(sine, at[2]), load(sine, at[2] + half)), back);
        if (in_place) i = at[0];
        store(y, i, u), store(y, i + half, v);
    }
}

// The same, vectors of 8 a thread: one of each half, or one of four pairs. `heads` rows that follow
// each other turn alike: a thread takes every so manieth, up to ROTARY_ROWS, and fetches them all
// before it turns one.
enum { ROTARY_ROWS = 4 };
template <bool PAIRS>
__global__ void rotary_vec(int64_t n, int64_t d, int heads, view y, view x, view cosine, view sine,
                           spread s, bool back, bool in_place)
{
    constexpr int H = PAIRS ? 1 : 2;
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    const int each = (int)d / H / 8, apart = (heads + ROTARY_ROWS - 1) / ROTARY_ROWS;
    const int64_t group = t / each, half = d / 2;
    const int first = (int)(group % apart);
    const int64_t i = group / apart * heads * d + t % each * 8;
    const int64_t step_x = heads > 1 ? s.stride[0][s.n - 2] : 0, step_y = in_place ? step_x : d;
    int64_t at[3];
    spread_at<3>(s, i, at);
    const int64_t at_y = in_place ? at[0] : i;
    raw_vec raw[ROTARY_ROWS][H];
#pragma unroll
    for (int k = 0; k < ROTARY_ROWS; k++)
#pragma unroll
        for (int h = 0; h < H; h++)
            if (first + k * apart < heads)
                fetch_vec(x, at[0] + (first + k * apart) * step_x + h * half, &raw[k][h]);
    float c[H][8], b[H][8];
#pragma unroll
    for (int h = 0; h < H; h++) {
        load_vec<8>(cosine, at[1] + h * half, c[h]);
        load_vec<8>(sine, at[2] + h * half, b[h]);
    }
#pragma unroll
    for (int k = 0; k < ROTARY_ROWS; k++) {
        if (first + k * apart >= heads) break;
        float a[H][8];
#pragma unroll
        for (int h = 0; h < H; h++)
            unpack_vec(x.type, raw[k][h], a[h]);
#pragma unroll
        for (int e = 0; e < 8; e += H == 1 ? 2 : 1) {
            int q = H == 1 ? e + 1 : e;
            turn(a[0][e], a[H - 1][q], make_float2(c[0][e], c[H - 1][q]),
                 make_float2(b[0][e], b[H - 1][q]), back);
        }
#pragma unroll
        for (int h = 0; h < H; h++)
            store_vec<8>(y, at_y + (first + k * apart) * step_y + h * half, a[h]);
    }
}

// Where each operand has the rows of t, [b, s, h, d], of which operand 0 lies as `at` says.
static void spread_heads(spread *s, const hap_tensor *t, const cuda_head_at &at,
                         hap_tensor *const *in)
{
    *s = {};
    s->n = t->rank;
    const int64_t own[] = {at.b, at.s, at.h, 1};
    for (int d = 0; d < t->rank; d++)
        s->size[d] = t->local[d], s->stride[0][d] = own[d];
    for (int i = 1; i < 3; i++) {
        int64_t step = 1;
        for (int d = t->rank - 1, k = in[i]->rank - 1; k >= 0; d--, k--) {
            s->stride[i][d] = in[i]->local[k] == 1 ? 0 : step;
            step *= in[i]->local[k];
        }
    }
}

// at: NULL, or where the heads lie that turn in place.
static const char *rotary_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at)
{
    spread s;
    hap_tensor *y = c->out[0];
    int64_t d = y->local[y->rank - 1];
    CUDA_TRY(cuda_want_floats(c));
    CUDA_TRY(spread_of(&s, y, 3, c->in)); // shapes that fit
    if (at) spread_heads(&s, y, *at, c->in);
    for (int i = 0; i < 3; i++)
        if (c->in[i]->local[c->in[i]->rank - 1] != d)
            return cuda_fail("rotary: rows of another length");
    if (d % 2) return cuda_fail("rotary: rows of %lld entries, an odd number", (long long)d);
    if (y->elements == 0) return NULL;
    bool pairs = c->attr[0].i, vec = all_aligned(c) && d % (pairs ? 8 : 16) == 0;
    if (at) vec = vec && at->b % 8 == 0 && at->s % 8 == 0 && at->h % 8 == 0;
    view to = view_of(y), from = view_of(c->in[0]), cosine = view_of(c->in[1]),
         sine = view_of(c->in[2]);
    if (vec) {
        const int k = s.n - 2; // of heads, if all have the same tables
        const bool alike = k >= 0 && s.size[s.n - 1] == d && !s.stride[1][k] && !s.stride[2][k];
        const int64_t heads = alike ? s.size[k] : 1, takers = ceil_div(heads, ROTARY_ROWS);
        const int64_t n = y->elements / d / heads * takers * (d / (pairs ? 8 : 16));
        (pairs ? rotary_vec<true>
               : rotary_vec<false>)<<<(unsigned)ceil_div(n, THREADS), THREADS, 0, x->stream>>>(
            n, d, (int)heads, to, from, cosine, sine, s, c->attr[1].i, at != NULL);
        return launched();
    }
    const int64_t n = y->elements / 2;
    (pairs ? rotary<true> : rotary<false>)<<<blocks_for(n, THREADS), THREADS, 0, x->stream>>>(
        n, d, to, from, cosine, sine, s, c->attr[1].i, at != NULL);
    return launched();
}

CUDA_ROW(rotary)
{
    return rotary_at(x, c, NULL);
}

const char *cuda_rotary_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at)
{
    CUDA_TRY(cuda_call_begins(x, c));
    return rotary_at(x, c, &at[CUDA_Q]);
}
