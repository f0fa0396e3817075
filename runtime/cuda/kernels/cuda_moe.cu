// Rows of a mixture of experts (cpu/ops_moe.c states them): gates by a thread a token, slots by a
// warp an expert of a sequence, the sums over tokens, slots and widths as matmuls.

#include "cuda/kernels/cuda_copy_rows.h"
#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/cuda_kernels.cuh"

enum { THREADS = 256 };

// --- gates ---

// Entry i of the row at `at` comes before entry j: larger, or equal and earlier.
__device__ inline bool before(float a, int64_t i, float b, int64_t j)
{
    return a > b || (!(a < b) && i < j);
}

__device__ inline bool among_largest(view x, int64_t at, int64_t n, int64_t i, int64_t k)
{
    int64_t ahead = 0;
    float own = load(x, at + i);
    for (int64_t j = 0; j < n && ahead < k; j++)
        ahead += j != i && before(load(x, at + j), j, own, i);
    return ahead < k;
}

// dy.p NULL: y = the k largest of x over their sum; else the gradient of that.
__global__ void gates(int64_t rows, int64_t n, int64_t k, view y, view dy, view x)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, at = row * n;
    if (row >= rows) return;
    float sum = 0, dot = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!among_largest(x, at, n, i, k)) continue;
        sum += load(x, at + i);
        if (dy.p) dot += load(x, at + i) * load(dy, at + i);
    }
    for (int64_t i = 0; i < n; i++) {
        float v = 0;
        if (among_largest(x, at, n, i, k))
            v = (dy.p ? load(dy, at + i) - dot / sum : load(x, at + i)) / sum;
        store(y, at + i, v);
    }
}

static const char *gates_row(cuda_context *x, const hap_op_call *c, const hap_tensor *dy,
                             const hap_tensor *a)
{
    CUDA_TRY(cuda_want_floats(c));
    hap_tensor *y = c->out[0];
    if (!cuda_same_shape(a, y) || (dy && !cuda_same_shape(dy, y)))
        return cuda_fail("top_gates: shapes do not fit");
    if (y->elements == 0) return NULL;
    int64_t n = a->local[a->rank - 1], rows = a->elements / n;
    gates<<<(unsigned)ceil_div(rows, THREADS), THREADS, 0, x->stream>>>(
        rows, n, c->attr[0].i, view_of(y), view_of(dy), view_of(a));
    return launched();
}

CUDA_ROW(top_gates)
{
    return gates_row(x, c, NULL, c->in[0]);
}

CUDA_ROW(top_gates_bwd)
{
    return gates_row(x, c, c->in[0], c->in[1]);
}

// The j-th largest is the first of those that come behind the (j - 1)-th.
__global__ void top_of(int64_t rows, int64_t n, int64_t k, int64_t *y, view x)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, at = row * n, prior = -1;
    if (row >= rows) return;
    for (int64_t j = 0; j < k; j++) {
        int64_t best = -1;
        float last = prior < 0 ? 0.0f : load(x, at + prior), most = 0.0f;
        for (int64_t i = 0; i < n; i++) {
            float v = load(x, at + i);
            bool behind = prior < 0 || (i != prior && before(last, prior, v, i));
            if (behind && (best < 0 || before(v, i, most, best))) best = i, most = v;
        }
        y[row * k + j] = prior = best < 0 ? j : best; // none: a row with NaN
    }
}

CUDA_ROW(top_index)
{
    hap_tensor *y = c->out[0], *a = c->in[0];
    CUDA_TRY(cuda_want(y, HAP_I64, "the output"));
    if (!cuda_is_float(a->type))
        return cuda_fail("not supported: top_index of type %s", hap_dtype_name(a->type));
    int64_t n = a->local[a->rank - 1], k = y->local[y->rank - 1];
    if (k > n || y->elements * n != a->elements * k)
        return cuda_fail("top_index: shapes do not fit");
    if (y->elements == 0) return NULL;
    top_of<<<(unsigned)ceil_div(y->elements / k, THREADS), THREADS, 0, x->stream>>>(
        y->elements / k, n, k, (int64_t *)y->data, view_of(a));
    return launched();
}

// --- slots ---

// Which choice of its token expert e is, 0 the first; -1 if none. Entries of 0 are no choice.
__device__ inline int64_t rank_of(view gate, int64_t at, int64_t n, int64_t e)
{
    int64_t ahead = 0;
    float own = load(gate, at + e);
    if (own == 0.0f) return -1;
    for (int64_t j = 0; j < n; j++) {
        float other = load(gate, at + j);
        ahead += j != e && other != 0.0f && before(other, j, own, e);
    }
    return ahead;
}

// A warp fills expert blockIdx.x of sequence blockIdx.y: first choices in the order of the tokens,
// then second ones, until the slots are taken.
__global__ void slots_of(int64_t tokens, int64_t experts, int64_t slots, view y, view gate,
                         cuda_axis slot)
{
    int64_t e = blockIdx.x, b = blockIdx.y, capacity = slot.outer * slot.block, given = 0;
    unsigned lane = threadIdx.x;
    bool more = true;
    for (int64_t choice = 0; more && given < capacity; choice++) {
        more = false;
        for (int64_t t0 = 0; t0 < tokens && given < capacity; t0 += 32) {
            int64_t t = t0 + lane, row = (b * tokens + t) * experts;
            int64_t rank = t < tokens ? rank_of(gate, row, experts, e) : -1;
            unsigned takers = __ballot_sync(0xFFFFFFFFu, rank == choice);
            more = __any_sync(0xFFFFFFFFu, rank > choice) || more;
            int64_t own = given + __popc(takers & ((1u << lane) - 1));
            given += __popc(takers);
            if (rank != choice || own >= capacity) continue;
            int64_t l = axis_local(slot, own);
            if (l >= 0) store(y, (row + e) * slots + l, load(gate, row + e));
        }
    }
}

CUDA_ROW(expert_slots)
{
    CUDA_TRY(cuda_want_floats(c));
    hap_tensor *y = c->out[0], *a = c->in[0];
    if (a->rank != 3 || y->rank != 4 || y->elements != a->elements * y->local[3])
        return cuda_fail("expert_slots: shapes do not fit");
    if (y->elements == 0) return NULL;
    if (a->local[0] > 65535) return cuda_fail("not supported: over 65535 sequences");
    CUDA_TRY(cuda_fill(x->stream, y, 0));
    slots_of<<<dim3((unsigned)a->local[2], (unsigned)a->local[0]), 32, 0, x->stream>>>(
        a->local[1], a->local[2], y->local[3], view_of(y), view_of(a), cuda_axis_of(y, 3));
    return launched();
}

__global__ void slots_back(int64_t n, int64_t slots, view y, view dy, view w)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int64_t l = i * slots; l < (i + 1) * slots; l++)
        if (load(w, l) != 0.0f) sum += load(dy, l);
    store(y, i, sum);
}

CUDA_ROW(expert_slots_bwd)
{
    CUDA_TRY(cuda_want_floats(c));
    hap_tensor *y = c->out[0], *dy = c->in[0], *w = c->in[1];
    int64_t slots = w->local[w->rank - 1];
    if (!cuda_same_shape(dy, w) || w->elements != y->elements * slots)
        return cuda_fail("expert_slots_bwd: shapes do not fit");
    if (y->elements == 0) return NULL;
    slots_back<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
        y->elements, slots, view_of(y), view_of(dy), view_of(w));
    return launched();
}

// --- dispatch, combine ---

// weight[b,s,e,c], token[b,s,d], slot[e,b,c,d], whichever of them is the result. A call of
// cuda_multiply takes all experts of one sequence, or all sequences of one expert.
struct parts {
    int64_t b, s, e, c, d;
    hap_dtype type;
};

static const char *parts_of(const char *row, const hap_tensor *w, const hap_tensor *t,
                            const hap_tensor *z, const hap_tensor *y, parts *p)
{
    if (w->rank != 4 || t->rank != 3 || z->rank != 4) return cuda_fail("%s: ranks do not fit", row);
    *p = {w->local[0], w->local[1], w->local[2], w->local[3], t->local[2], y->type};
    if (t->local[0] != p->b || t->local[1] != p->s || z->local[0] != p->e || z->local[1] != p->b ||
        z->local[2] != p->c || z->local[3] != p->d)
        return cuda_fail("%s: shapes do not fit", row);
    if (!cuda_is_float(w->type) || w->type != t->type || z->type != t->type)
        return cuda_fail("not supported: %s of %s, %s and %s", row, hap_dtype_name(w->type),
                         hap_dtype_name(t->type), hap_dtype_name(z->type));
    return NULL;
}

static void *element(const hap_tensor *t, int64_t i)
{
    return (char *)t->data + i * hap_dtype_bytes(t->type);
}

CUDA_ROW(dispatch)
{
    hap_tensor *w = c->in[0], *t = c->in[1], *y = c->out[0];
    parts p;
    CUDA_TRY(parts_of("dispatch", w, t, y, y, &p));
    if (y->elements == 0) return NULL;
    if (p.s == 0) return cuda_fill(x->stream, y, 0);
    cuda_gemm m = cuda_gemm_of(p.c, p.d, p.s, true, false, p.type, p.type);
    m.la = p.e * p.c;
    m.batch = p.e, m.step_a = p.c, m.step_y = p.b * p.c * p.d;
    for (int64_t b = 0; b < p.b; b++)
        CUDA_TRY(cuda_multiply(x, m, element(w, b * p.s * p.e * p.c), element(t, b * p.s * p.d),
                               NULL, element(y, b * p.c * p.d)));
    return NULL;
}

// The sum over experts is kept in f32.
CUDA_ROW(combine)
{
    hap_tensor *w = c->in[0], *z = c->in[1], *y = c->out[0];
    parts p;
    CUDA_TRY(parts_of("combine", w, y, z, y, &p));
    if (y->elements == 0) return NULL;
    if (p.e == 0 || p.c == 0) return cuda_fill(x->stream, y, 0);
    void *sum = y->data;
    bool narrow = p.type != HAP_F32 && p.e > 1;
    const char *why = NULL;
    if (narrow) sum = cuda_work(x, y->elements * (int64_t)sizeof(float), &why);
    if (why) return why;
    cuda_gemm m = cuda_gemm_of(p.s, p.d, p.c, false, false, p.type, narrow ? HAP_F32 : p.type);
    m.la = p.e * p.c;
    m.batch = p.b, m.step_a = p.s * p.e * p.c, m.step_b = p.c * p.d, m.step_y = p.s * p.d;
    for (int64_t e = 0; e < p.e; e++) {
        m.adds = e > 0;
        CUDA_TRY(
            cuda_multiply(x, m, element(w, e * p.c), element(z, e * p.b * p.c * p.d), NULL, sum));
    }
    if (!narrow) return NULL;
    return cuda_copy_rows(x->stream, p.type, y->data, p.d, HAP_F32, sum, p.d, p.b * p.s, p.d);
}

CUDA_ROW(dispatch_dw)
{
    hap_tensor *t = c->in[0], *z = c->in[1], *y = c->out[0];
    parts p;
    CUDA_TRY(parts_of("dispatch_dw", y, t, z, y, &p));
    if (y->elements == 0) return NULL;
    if (p.d == 0) return cuda_fill(x->stream, y, 0);
    cuda_gemm m = cuda_gemm_of(p.s, p.c, p.d, false, true, p.type, p.type);
    m.ly = p.e * p.c;
    m.batch = p.e, m.step_b = p.b * p.c * p.d, m.step_y = p.c;
    for (int64_t b = 0; b < p.b; b++)
        CUDA_TRY(cuda_multiply(x, m, element(t, b * p.s * p.d), element(z, b * p.c * p.d), NULL,
                               element(y, b * p.s * p.e * p.c)));
    return NULL;
}
