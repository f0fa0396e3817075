// Attention, forward and backward, on own kernels in f32 arithmetic: what cuDNN does not take (f32,
// masks, dropout, wide heads). cpu/ops_sdpa.c states the formulas.
//
// Queries cut by position: under a causal mask the last query of a part sees the last key that any
// of the part sees. So cuDNN gets the keys up to there and a mask aligned at their ends; the keys
// behind get no gradient from this part.
//
// A warp works on one query row (forward, dq) or one key row (dk, dv) and walks over the other side
// in tiles of 32 that its block has in shared memory: lane j scores tile row j, then every lane
// adds up its own columns (lane, lane + 32, …). Sums have a fixed order: the same bits in every
// run.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_sdpa_heads.h"
#include "cuda/kernels/cuda_sdpa_short.h"
#include "cuda/kernels/cuda_shadow.h"

enum { WARPS = 8, TILE = 32, MAX_WIDTH = 256, SLOTS = MAX_WIDTH / 32 };

struct attention {
    int64_t b, hq, hk, q, k, e, d; // local sizes
    cuda_head_at at[CUDA_HEAD_ROLES];
    cuda_axis ab, ah, aq; // of q's dims
    int64_t n_heads, n_q; // global
    view mask;
    int64_t mask_size[4];
    bool causal;
    float scale, dropout;
    int64_t node, first; // first: the mask's index of element 0
    const cuda_step *now;
};

static const char *attention_of(attention *o, cuda_context *x, const hap_op_call *c,
                                const cuda_head_at *at, const hap_tensor *q, const hap_tensor *k,
                                const hap_tensor *v, const hap_tensor *mask)
{
    if (q->rank != 4 || k->rank != 4 || v->rank != 4)
        return cuda_fail("sdpa: operands of rank 4 are wanted");
    for (const hap_tensor *t : {q, k, v})
        if (!cuda_is_float(t->type))
            return cuda_fail("not supported: sdpa of type %s", hap_dtype_name(t->type));
    *o = {};
    memcpy(o->at, at, sizeof o->at);
    o->b = q->local[0], o->hq = q->local[1], o->hk = k->local[1], o->q = q->local[2];
    o->k = k->local[2], o->e = q->local[3], o->d = v->local[3];
    o->ab = cuda_axis_of(q, 0), o->ah = cuda_axis_of(q, 1), o->aq = cuda_axis_of(q, 2);
    o->n_heads = cuda_axis_size(&o->ah), o->n_q = cuda_axis_size(&o->aq);
    o->mask = view_of(mask);
    o->causal = c->attr[0].i != 0;
    o->scale = c->attr[1].f == 0 ? (float)(1 / sqrt((double)o->e)) : (float)c->attr[1].f;
    o->dropout = (float)c->attr[2].f;
    o->node = c->attr[3].i;
    o->first = c->attr[4].i;
    o->now = x->step;
    bool empty = o->b == 0 || o->hq == 0;
    if (k->local[0] != o->b || v->local[0] != o->b || v->local[1] != o->hk || v->local[2] != o->k ||
        k->local[3] != o->e || (!empty && (o->hk == 0 || o->hq % o->hk)))
        return cuda_fail("sdpa: shapes of q, k and v do not fit");
    for (int i = 0; i < 4 && mask; i++) {
        const int64_t full[4] = {o->b, o->hq, o->q, o->k};
        if (mask->rank != 4 || (mask->local[i] != 1 && mask->local[i] != full[i]))
            return cuda_fail("sdpa: the mask's dim %d does not broadcast", i);
        o->mask_size[i] = mask->local[i];
    }
    if (mask && !cuda_is_float(mask->type) && mask->type != HAP_BOOL)
        return cuda_fail("not supported: a mask of type %s", hap_dtype_name(mask->type));
    if (o->e > MAX_WIDTH || o->d > MAX_WIDTH)
        return cuda_fail("not supported: heads wider than %d", MAX_WIDTH);
    return NULL;
}

// Keys that query row i (local) may see under the causal mask: [0, result).
__device__ inline int64_t visible(const attention &o, int64_t i)
{
    if (!o.causal) return o.k;
    int64_t g = axis_global(o.aq, i) + 1;
    return g < o.k ? g : o.k;
}

// The score of query i and key j from their matmul: scaled, masked.
__device__ inline float masked(const attention &o, int64_t b, int64_t h, int64_t i, int64_t j,
                               float dot)
{
    float w = dot * o.scale;
    if (o.mask.p) {
        int64_t ib = o.mask_size[0] == 1 ? 0 : b, ih = o.mask_size[1] == 1 ? 0 : h;
        int64_t iq = o.mask_size[2] == 1 ? 0 : i, ik = o.mask_size[3] == 1 ? 0 : j;
        int64_t at = ((ib * o.mask_size[1] + ih) * o.mask_size[2] + iq) * o.mask_size[3] + ik;
        if (o.mask.type != HAP_BOOL)
            w += load(o.mask, at);
        else if (!load_int(o.mask, at))
            w = -INFINITY;
    }
    return j < visible(o, i) ? w : -INFINITY;
}

__device__ inline float kept(const attention &o, uint64_t key, int64_t b, int64_t h, int64_t i,
                             int64_t j)
{
    int64_t e = axis_global(o.ab, b);
    e = e * o.n_heads + axis_global(o.ah, h);
    e = e * o.n_q + axis_global(o.aq, i);
    return dropout_scale(key, o.first + e * o.k + j, o.dropout);
}

// Where position s of head h of sample b begins.
__device__ inline int64_t row_at(const attention &o, int role, int64_t b, int64_t h, int64_t s)
{
    return b * o.at[role].b + h * o.at[role].h + s * o.at[role].s;
}

// Positions [r0, r0 + 32) of n, `step` elements apart, to shared memory, zeros beyond n; an odd
// pitch keeps the columns of different rows in different banks.
__device__ inline void fetch(float *tile, view x, int64_t base, int64_t step, int64_t r0, int64_t n,
                             int width)
{
    int t = threadIdx.y * 32 + threadIdx.x;
    for (int i = t; i < TILE * width; i += WARPS * 32) {
        int r = i / width, c = i % width;
        tile[r * (width | 1) + c] = r0 + r < n ? load(x, base + (r0 + r) * step + c) : 0.0f;
    }
}

__device__ inline float dot_of(const float *a, const float *b, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

// Shared memory: two tiles of 32 rows, then two rows a warp.
static int shared_bytes(const attention &o)
{
    int e = (int)o.e | 1, d = (int)o.d | 1;
    return (int)sizeof(float) * ((TILE + WARPS) * (e + d));
}

struct forward_args {
    view q, k, v, y, lse;
};

__global__ void forward(attention o, forward_args t)
{
    extern __shared__ float shared[];
    int e = (int)o.e, d = (int)o.d, lane = threadIdx.x;
    float *tk = shared, *tv = tk + TILE * (e | 1),
          *own = tv + TILE * (d | 1) + threadIdx.y * (e | 1);
    int64_t bh = blockIdx.y, b = bh / o.hq, h = bh % o.hq, g = h / (o.hq / o.hk);
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    int64_t at_k = row_at(o, CUDA_K, b, g, 0), at_v = row_at(o, CUDA_V, b, g, 0);
    bool here = i < o.q;
    uint64_t key = o.dropout > 0 ? random_key(o.now, o.node) : 0;
    for (int c = lane; c < e; c += 32)
        own[c] = here ? load(t.q, row_at(o, CUDA_Q, b, h, i) + c) : 0.0f;
    float max = -INFINITY, sum = 0, acc[SLOTS] = {0};
    for (int64_t j0 = 0; j0 < o.k; j0 += TILE) {
        __syncthreads();
        fetch(tk, t.k, at_k, o.at[CUDA_K].s, j0, o.k, e);
        fetch(tv, t.v, at_v, o.at[CUDA_V].s, j0, o.k, d);
        __syncthreads();
        if (!here) continue;
        int64_t j = j0 + lane;
        float w = j < o.k ? masked(o, b, h, i, j, dot_of(own, tk + lane * (e | 1), e)) : -INFINITY;
        float top = over_warp<join_max>(w);
        top = top > max ? top : max;
        if (isnan(over_warp<join_sum>(j < o.k ? w : 0.0f)) && top == -INFINITY) top = 0;
        if (top == -INFINITY) continue; // no key so far
        float old = expf(max - top), p = expf(w - top);
        sum = sum * old + over_warp<join_sum>(p);
        max = top;
        if (o.dropout > 0 && p > 0) p *= kept(o, key, b, h, i, j);
        for (int s = 0; s < SLOTS; s++)
            acc[s] *= old;
        for (int r = 0; r < TILE; r++) {
            float pr = __shfl_sync(0xFFFFFFFFu, p, r);
#pragma unroll
            for (int s = 0; s < SLOTS; s++)
                if (s * 32 + lane < d) acc[s] += pr * tv[r * (d | 1) + s * 32 + lane];
        }
    }
    if (!here) return;
    float inv = sum > 0 ? 1.0f / sum : isnan(sum) ? sum : 0.0f;
#pragma unroll
    for (int s = 0; s < SLOTS; s++)
        if (s * 32 + lane < d) store(t.y, row_at(o, CUDA_Y, b, h, i) + s * 32 + lane, acc[s] * inv);
    if (lane == 0) store(t.lse, bh * o.q + i, max == -INFINITY ? -INFINITY : max + logf(sum));
}

static cuda_heads heads_of(const attention &o, hap_dtype type)
{
    int64_t seen = o.aq.first + o.q;
    bool part = o.causal && seen <= o.k;
    cuda_heads h = {o.b, o.hq, o.hk,     o.q, part ? seen : o.k, o.e,
                    o.d, type, o.causal, {},  o.scale,           {}};
    h.bottom = part && o.aq.first > 0;
    memcpy(h.at, o.at, sizeof h.at);
    return h;
}

// Calls without mask and dropout, all of one narrow type, in vectors. Under a causal mask, queries
// that start behind 0 see no further than there are keys.
static bool plain(const attention &o, const hap_op_call *c, int n_in, const hap_tensor *q,
                  const hap_tensor *lse)
{
    for (int i = 0; i < n_in; i++)
        if (c->in[i] != lse && (c->in[i]->type != q->type || !aligned(c->in[i]))) return false;
    for (int i = 0; i < c->n_out && i < 3; i++) // a fourth: sums
        if (c->out[i] != lse && (c->out[i]->type != q->type || !aligned(c->out[i]))) return false;
    for (int role = 0; role < CUDA_HEAD_ROLES; role++)
        if (o.at[role].b % 8 || o.at[role].h % 8 || o.at[role].s % 8) return false;
    bool placed = !o.causal || (o.aq.outer == 1 && (o.aq.first == 0 || o.aq.first + o.q <= o.k));
    return !o.mask.p && o.dropout <= 0 && placed && lse->type == HAP_F32;
}

static const char *sdpa_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at)
{
    hap_tensor *q = c->in[0], *k = c->in[1], *v = c->in[2], *y = c->out[0], *lse = c->out[1];
    attention o;
    CUDA_TRY(attention_of(&o, x, c, at, q, k, v, cuda_in(c, 3)));
    if (!cuda_is_float(y->type) || !cuda_is_float(lse->type) ||
        y->elements != o.b * o.hq * o.q * o.d || lse->elements != o.b * o.hq * o.q)
        return cuda_fail("sdpa: the outputs have another type or size");
    if (lse->elements == 0) return NULL;
    cuda_heads h = heads_of(o, q->type);
    if (o.k > 0 && plain(o, c, 3, q, lse) && cuda_cudnn_usable(x, &h, false))
        return cuda_cudnn_forward(x, &h, q->data, k->data, v->data, y->data, lse->data);
    if (o.b * o.hq > 65535) return cuda_fail("not supported: over 65535 heads in a batch");
    forward_args t = {view_of(q), view_of(k), view_of(v), view_of(y), view_of(lse)};
    int bytes = shared_bytes(o);
    CUDA_CALL(cudaFuncSetAttribute(forward, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    forward<<<dim3((unsigned)ceil_div(o.q, WARPS), (unsigned)(o.b * o.hq)), dim3(32, WARPS), bytes,
              x->stream>>>(o, t);
    return launched();
}

struct backward_args {
    view dy, q, k, v, y, lse, dq, dk, dv;
    float *dot; // sum over d of dy y, one a query row
};

__global__ void dots(attention o, int64_t rows, backward_args t)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y, bh = i / o.q;
    int64_t dy = row_at(o, CUDA_DY, bh / o.hq, bh % o.hq, i % o.q);
    int64_t y = row_at(o, CUDA_Y, bh / o.hq, bh % o.hq, i % o.q);
    float s = 0;
    if (i < rows)
        for (int64_t c = threadIdx.x; c < o.d; c += 32)
            s += load(t.dy, dy + c) * load(t.y, y + c);
    s = over_warp<join_sum>(s);
    if (i < rows && threadIdx.x == 0) t.dot[i] = s;
}

// A warp a query row: dq_i = scale sum_j dw_ij k_j.
__global__ void query_grads(attention o, backward_args t)
{
    extern __shared__ float shared[];
    int e = (int)o.e, d = (int)o.d, lane = threadIdx.x;
    float *tk = shared, *tv = tk + TILE * (e | 1);
    float *own_q = tv + TILE * (d | 1) + threadIdx.y * ((e | 1) + (d | 1)),
          *own_dy = own_q + (e | 1);
    int64_t bh = blockIdx.y, b = bh / o.hq, h = bh % o.hq, g = h / (o.hq / o.hk);
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.y, row = bh * o.q + i;
    int64_t at_k = row_at(o, CUDA_K, b, g, 0), at_v = row_at(o, CUDA_V, b, g, 0);
    bool here = i < o.q;
    uint64_t key = o.dropout > 0 ? random_key(o.now, o.node) : 0;
    for (int c = lane; c < e; c += 32)
        own_q[c] = here ? load(t.q, row_at(o, CUDA_Q, b, h, i) + c) : 0.0f;
    for (int c = lane; c < d; c += 32)
        own_dy[c] = here ? load(t.dy, row_at(o, CUDA_DY, b, h, i) + c) : 0.0f;
    float lse = here ? load(t.lse, row) : 0.0f, dot = here ? t.dot[row] : 0.0f, acc[SLOTS] = {0};
    bool keyless = lse == -INFINITY; // output 0, no gradient
    for (int64_t j0 = 0; j0 < o.k; j0 += TILE) {
        __syncthreads();
        fetch(tk, t.k, at_k, o.at[CUDA_K].s, j0, o.k, e);
        fetch(tv, t.v, at_v, o.at[CUDA_V].s, j0, o.k, d);
        __syncthreads();
        if (!here || keyless) continue;
        int64_t j = j0 + lane;
        float dw = 0;
        if (j < o.k) {
            float p = expf(masked(o, b, h, i, j, dot_of(own_q, tk + lane * (e | 1), e)) - lse);
            float dp = dot_of(own_dy, tv + lane * (d | 1), d);
            if (o.dropout > 0) dp *= kept(o, key, b, h, i, j);
            dw = p * (dp - dot);
        }
        for (int r = 0; r < TILE; r++) {
            float w = __shfl_sync(0xFFFFFFFFu, dw, r);
#pragma unroll
            for (int s = 0; s < SLOTS; s++)
                if (s * 32 + lane < e) acc[s] += w * tk[r * (e | 1) + s * 32 + lane];
        }
    }
    if (!here) return;
#pragma unroll
    for (int s = 0; s < SLOTS; s++)
        if (s * 32 + lane < e)
            store(t.dq, row_at(o, CUDA_DQ, b, h, i) + s * 32 + lane, acc[s] * o.scale);
}

// A warp a key row: dv_j = sum_i z p dy_i, dk_j = scale sum_i dw q_i, over all query heads of the
// key's head.
__global__ void key_grads(attention o, backward_args t)
{
    extern __shared__ float shared[];
    int e = (int)o.e, d = (int)o.d, lane = threadIdx.x;
    float *tq = shared, *tdy = tq + TILE * (e | 1);
    float *own_k = tdy + TILE * (d | 1) + threadIdx.y * ((e | 1) + (d | 1)),
          *own_v = own_k + (e | 1);
    int64_t bh = blockIdx.y, b = bh / o.hk, group = o.hq / o.hk, g = bh % o.hk;
    int64_t j = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    bool here = j < o.k;
    uint64_t key = o.dropout > 0 ? random_key(o.now, o.node) : 0;
    for (int c = lane; c < e; c += 32)
        own_k[c] = here ? load(t.k, row_at(o, CUDA_K, b, g, j) + c) : 0.0f;
    for (int c = lane; c < d; c += 32)
        own_v[c] = here ? load(t.v, row_at(o, CUDA_V, b, g, j) + c) : 0.0f;
    float dk[SLOTS] = {0}, dv[SLOTS] = {0};
    for (int64_t r = 0; r < group; r++) {
        int64_t h = g * group + r, qh = b * o.hq + h;
        for (int64_t i0 = 0; i0 < o.q; i0 += TILE) {
            __syncthreads();
            fetch(tq, t.q, row_at(o, CUDA_Q, b, h, 0), o.at[CUDA_Q].s, i0, o.q, e);
            fetch(tdy, t.dy, row_at(o, CUDA_DY, b, h, 0), o.at[CUDA_DY].s, i0, o.q, d);
            __syncthreads();
            if (!here) continue;
            int64_t i = i0 + lane;
            float p = 0, dw = 0;
            float lse = i < o.q ? load(t.lse, qh * o.q + i) : -INFINITY;
            if (lse != -INFINITY) {
                p = expf(masked(o, b, h, i, j, dot_of(own_k, tq + lane * (e | 1), e)) - lse);
                float dp = dot_of(own_v, tdy + lane * (d | 1), d);
                float z = o.dropout > 0 ? kept(o, key, b, h, i, j) : 1.0f;
                dw = p * (z * dp - t.dot[qh * o.q + i]);
                p *= z;
            }
            for (int k = 0; k < TILE; k++) {
                float pk = __shfl_sync(0xFFFFFFFFu, p, k), wk = __shfl_sync(0xFFFFFFFFu, dw, k);
#pragma unroll
                for (int s = 0; s < SLOTS; s++) {
                    if (s * 32 + lane < d) dv[s] += pk * tdy[k * (d | 1) + s * 32 + lane];
                    if (s * 32 + lane < e) dk[s] += wk * tq[k * (e | 1) + s * 32 + lane];
                }
            }
        }
    }
    if (!here) return;
#pragma unroll
    for (int s = 0; s < SLOTS; s++) {
        if (s * 32 + lane < d) store(t.dv, row_at(o, CUDA_DV, b, g, j) + s * 32 + lane, dv[s]);
        if (s * 32 + lane < e)
            store(t.dk, row_at(o, CUDA_DK, b, g, j) + s * 32 + lane, dk[s] * o.scale);
    }
}

// What a fourth output wants, [3, h e] in f32: sums over samples and positions of dq, dk and dv,
// which lie by positions, with like extents and distances (cuda_fuse_gemms.c).
static const char *sum_grads(cuda_context *x, const attention &o, const hap_op_call *c)
{
    if (c->n_out < 4) return NULL;
    hap_tensor *y = c->out[3];
    int64_t cols = o.hq * o.e, elem = hap_dtype_bytes(y->type);
    const void *from[3];
    view to[3];
    for (int k = 0; k < 3; k++) {
        from[k] = c->out[k]->data;
        to[k] = {(char *)y->data + k * cols * elem, (int)y->type};
    }
    return cuda_sum_rows(x, c->out[0]->type, from, 3, o.b * o.q, cols, o.at[CUDA_DQ].s, to);
}

// Gradients of keys that no query of the part sees, from `seen` on: 0. One thread an element.
__global__ void no_grads(attention o, int64_t seen, int64_t n, view dk, view dv)
{
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    int64_t c = at % o.e, row = at / o.e, s = seen + row % (o.k - seen), bh = row / (o.k - seen);
    store(dk, row_at(o, CUDA_DK, bh / o.hk, bh % o.hk, s) + c, 0.0f);
    store(dv, row_at(o, CUDA_DV, bh / o.hk, bh % o.hk, s) + c, 0.0f);
}

static const char *keys_behind(cuda_context *x, const attention &o, int64_t seen, hap_tensor *dk,
                               hap_tensor *dv)
{
    int64_t n = o.b * o.hk * (o.k - seen) * o.e; // e = d
    if (n == 0) return NULL;
    no_grads<<<(unsigned)ceil_div(n, 256), 256, 0, x->stream>>>(o, seen, n, view_of(dk),
                                                                view_of(dv));
    return launched();
}

static const char *sdpa_bwd_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at)
{
    hap_tensor *dy = c->in[0], *q = c->in[1], *k = c->in[2], *v = c->in[3], *y = c->in[4];
    hap_tensor *lse = c->in[5], *dq = c->out[0], *dk = c->out[1], *dv = c->out[2];
    attention o;
    CUDA_TRY(attention_of(&o, x, c, at, q, k, v, cuda_in(c, 6)));
    int64_t n_out = o.b * o.hq * o.q * o.d, rows = o.b * o.hq * o.q;
    if (dy->elements != n_out || y->elements != n_out || lse->elements != rows ||
        !cuda_same_shape(dq, q) || !cuda_same_shape(dk, k) || !cuda_same_shape(dv, v))
        return cuda_fail("sdpa_bwd: shapes do not fit");
    for (int i = 0; i < 6; i++)
        if (!cuda_is_float(c->in[i]->type)) return cuda_fail("sdpa_bwd: an operand is no float");
    for (int i = 0; i < 3; i++)
        if (!cuda_is_float(c->out[i]->type)) return cuda_fail("sdpa_bwd: an output is no float");
    if (c->n_out > 3 && (o.q != o.k || o.hq != o.hk || o.e != o.d ||
                         c->out[3]->elements != 3 * o.hq * o.e || c->out[3]->type != HAP_F32))
        return cuda_fail("sdpa_bwd: sums of rows that are not alike");
    if (rows == 0 || o.k == 0) {
        for (int i = 0; i < c->n_out; i++)
            CUDA_TRY(cuda_fill(x->stream, c->out[i], 0));
        return NULL;
    }
    if (plain(o, c, 6, q, lse)) {
        cuda_heads h = heads_of(o, q->type);
        cuda_head_grads g = {dy->data,  q->data,  k->data,  v->data, y->data,
                             lse->data, dq->data, dk->data, dv->data};
        bool brief = cuda_short_takes(&h), by_head = !brief && cuda_heads_takes(x, &h);
        if (brief || by_head || cuda_cudnn_usable(x, &h, true)) {
            CUDA_TRY(keys_behind(x, o, h.k, dk, dv));
            if (brief) return cuda_short_backward(x, &h, &g, c->n_out > 3 ? c->out[3] : NULL);
            CUDA_TRY(by_head ? cuda_heads_backward(x, &h, &g) : cuda_cudnn_backward(x, &h, &g));
            return sum_grads(x, o, c);
        }
    }
    if (o.b * o.hq > 65535) return cuda_fail("not supported: over 65535 heads in a batch");
    const char *why = NULL;
    float *dot = (float *)cuda_work(x, rows * (int64_t)sizeof(float), &why);
    if (!dot) return why;
    backward_args t = {view_of(dy),  view_of(q),  view_of(k),  view_of(v),  view_of(y),
                       view_of(lse), view_of(dq), view_of(dk), view_of(dv), dot};
    int bytes = shared_bytes(o);
    CUDA_CALL(
        cudaFuncSetAttribute(query_grads, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CUDA_CALL(cudaFuncSetAttribute(key_grads, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    dim3 block(32, WARPS);
    dots<<<(unsigned)ceil_div(rows, WARPS), block, 0, x->stream>>>(o, rows, t);
    query_grads<<<dim3((unsigned)ceil_div(o.q, WARPS), (unsigned)(o.b * o.hq)), block, bytes,
                  x->stream>>>(o, t);
    key_grads<<<dim3((unsigned)ceil_div(o.k, WARPS), (unsigned)(o.b * o.hk)), block, bytes,
                x->stream>>>(o, t);
    CUDA_TRY(launched());
    return sum_grads(x, o, c);
}

cuda_head_at cuda_heads_dense(const hap_tensor *t)
{
    if (t->rank != 4) return {};
    return {t->local[1] * t->local[2] * t->local[3], t->local[2] * t->local[3], t->local[3]};
}

CUDA_ROW(sdpa)
{
    cuda_head_at at[CUDA_HEAD_ROLES] = {};
    for (int i = 0; i < 3; i++)
        at[CUDA_Q + i] = cuda_heads_dense(c->in[i]);
    at[CUDA_Y] = cuda_heads_dense(c->out[0]);
    return sdpa_at(x, c, at);
}

CUDA_ROW(sdpa_bwd)
{
    cuda_head_at at[CUDA_HEAD_ROLES] = {};
    at[CUDA_DY] = cuda_heads_dense(c->in[0]);
    for (int i = 0; i < 3; i++)
        at[CUDA_Q + i] = cuda_heads_dense(c->in[1 + i]),
                    at[CUDA_DQ + i] = cuda_heads_dense(c->out[i]);
    at[CUDA_Y] = cuda_heads_dense(c->in[4]);
    return sdpa_bwd_at(x, c, at);
}

const char *cuda_attention_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at)
{
    CUDA_TRY(cuda_call_begins(x, c));
    return c->op == HAP_OP_sdpa ? sdpa_at(x, c, at) : sdpa_bwd_at(x, c, at);
}
