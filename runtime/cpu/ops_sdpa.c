// Attention, forward and backward, in blocks of BLOCK_Q queries x BLOCK_K keys by sgemm, with the
// running maximum and sum of Milakov & Gimelshein / FlashAttention: scratch is two blocks, whatever
// the length.
//
//     w[i,j] = scale q_i k_j + mask      p[i,j] = exp(w[i,j] - lse_i)      o_i = sum_j z[i,j]
//     p[i,j] v_j z = dropout's factor (0 or 1/(1-p)) of the global element (b, h, i, j); lse
//     ignores it
// Backward, per element, with D_i = sum_d do_id o_id:
//     dv_j = sum_i z p do_i      dw = p (z (do_i v_j) - D_i)      dq_i = scale sum_j dw k_j
//     dk_j = scale sum_i dw q_i
// Keys, e and d are whole on every rank; batch, heads and queries may be cut, so the causal mask
// and the random counter use global indices. Query head h reads kv head h / r, r = query heads a kv
// head, which holds locally for a cut of g and of r.

#include "cpu/ops_kernels.h"
#include "cpu/ops_math.h"

#include <cblas.h>

enum { BLOCK_Q = 64, BLOCK_K = 256 };

typedef struct attention {
    int64_t b, hq, hk, q, k, e, d; // local sizes
    cpu_axis ab, ah, aq;           // of q's dims
    int64_t n_heads, n_q;          // global
    const hap_tensor *mask;
    bool causal;
    float scale, dropout;
    uint64_t key;
    int64_t first; // of the mask
} attention;

static const char *attention_of(attention *o, const hap_step_state *s, const hap_op_call *c,
                                const hap_tensor *q, const hap_tensor *k, const hap_tensor *v,
                                const hap_tensor *mask)
{
    if (q->rank != 4 || k->rank != 4 || v->rank != 4)
        return cpu_fail("sdpa: operands of rank 4 are wanted");
    *o = (attention){.b = q->local[0],
                     .hq = q->local[1],
                     .hk = k->local[1],
                     .q = q->local[2],
                     .k = k->local[2],
                     .e = q->local[3],
                     .d = v->local[3],
                     .ab = cpu_axis_of(q, 0),
                     .ah = cpu_axis_of(q, 1),
                     .aq = cpu_axis_of(q, 2),
                     .mask = mask,
                     .causal = c->attr[0].i != 0,
                     .scale = (float)c->attr[1].f,
                     .dropout = (float)c->attr[2].f,
                     .key = cpu_random_key(s, c->attr[3].i),
                     .first = c->attr[4].i};
    if (c->attr[1].f == 0) o->scale = (float)(1 / sqrt((double)o->e));
    o->n_heads = cpu_axis_size(&o->ah), o->n_q = cpu_axis_size(&o->aq);
    bool empty = o->b == 0 || o->hq == 0;
    if (k->local[0] != o->b || v->local[0] != o->b || v->local[1] != o->hk || v->local[2] != o->k ||
        k->local[3] != o->e || (!empty && (o->hk == 0 || o->hq % o->hk)))
        return cpu_fail("sdpa: shapes of q, k and v do not fit");
    for (int i = 0; i < 4 && mask; i++) {
        const int64_t full[4] = {o->b, o->hq, o->q, o->k};
        if (mask->rank != 4 || (mask->local[i] != 1 && mask->local[i] != full[i]))
            return cpu_fail("sdpa: the mask's dim %d does not broadcast", i);
    }
    if (mask && mask->type != HAP_F32 && mask->type != HAP_BOOL)
        return cpu_fail("not supported: a mask of type %s", hap_dtype_name(mask->type));
    return NULL;
}

// Keys that query row i (local) may see under the causal mask: [0, result).
static int64_t visible(const attention *o, int64_t i)
{
    int64_t run;
    if (!o->causal) return o->k;
    int64_t g = cpu_axis_global(&o->aq, i, &run) + 1;
    return g < o->k ? g : o->k;
}

// w[i,j] for rows [i0, i0+ni) and keys [j0, j0+nj): scaled scores with masks, -inf where masked
// out.
static void scores(const attention *o, int64_t b, int64_t h, int64_t i0, int64_t ni, int64_t j0,
                   int64_t nj, const float *q, const float *k, float *w)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)ni, (blasint)nj, (blasint)o->e,
                o->scale, q + i0 * o->e, (blasint)o->e, k + j0 * o->e, (blasint)o->e, 0.0f, w,
                (blasint)nj);
    const hap_tensor *m = o->mask;
    for (int64_t i = 0; i < ni; i++) {
        float *row = w + i * nj;
        if (m) {
            int64_t ib = m->local[0] == 1 ? 0 : b, ih = m->local[1] == 1 ? 0 : h;
            int64_t iq = m->local[2] == 1 ? 0 : i0 + i, step = m->local[3] == 1 ? 0 : 1;
            int64_t at = ((ib * m->local[1] + ih) * m->local[2] + iq) * m->local[3] + j0 * step;
            for (int64_t j = 0; j < nj; j++) {
                if (m->type == HAP_F32)
                    row[j] += ((const float *)m->data)[at + j * step];
                else if (!((const uint8_t *)m->data)[at + j * step])
                    row[j] = -INFINITY;
            }
        }
        for (int64_t j = visible(o, i0 + i) - j0 > 0 ? visible(o, i0 + i) - j0 : 0; j < nj; j++)
            row[j] = -INFINITY;
    }
}

// Dropout's factors of one row of a block.
static void row_factors(const attention *o, int64_t b, int64_t h, int64_t i, int64_t j0, int64_t nj,
                        float *z)
{
    int64_t run, e = cpu_axis_global(&o->ab, b, &run);
    e = e * o->n_heads + cpu_axis_global(&o->ah, h, &run);
    e = e * o->n_q + cpu_axis_global(&o->aq, i, &run);
    cpu_dropout_scale(o->key, o->first + e * o->k + j0, nj, o->dropout, z);
}

// row = exp(row - max); returns the sum. max is finite.
CPU_WIDE static float exp_row(float *row, int64_t n, float max)
{
    for (int64_t j = 0; j < n; j++)
        row[j] = cpu_expf(row[j] - max);
    return (float)cpu_lane_sum(row, n);
}

static float row_max(const float *x, int64_t n)
{
    float m = -INFINITY;
    for (int64_t j = 0; j < n; j++)
        m = x[j] > m ? x[j] : m;
    return m;
}

// Last key block any of the rows can see (exclusive).
static int64_t key_end(const attention *o, int64_t i0, int64_t ni)
{
    int64_t end = 0;
    for (int64_t i = i0; i < i0 + ni; i++)
        if (visible(o, i) > end) end = visible(o, i);
    return end;
}

static void forward_block(const attention *o, int64_t b, int64_t h, int64_t i0, int64_t ni,
                          const float *q, const float *k, const float *v, float *y, float *lse)
{
    static float w[BLOCK_Q * BLOCK_K];
    float max[BLOCK_Q], sum[BLOCK_Q], z[BLOCK_K];
    for (int64_t i = 0; i < ni; i++) {
        max[i] = -INFINITY, sum[i] = 0;
        for (int64_t d = 0; d < o->d; d++)
            y[(i0 + i) * o->d + d] = 0;
    }
    int64_t end = key_end(o, i0, ni);
    for (int64_t j0 = 0; j0 < end; j0 += BLOCK_K) {
        int64_t nj = end - j0 < BLOCK_K ? end - j0 : BLOCK_K;
        scores(o, b, h, i0, ni, j0, nj, q, k, w);
        for (int64_t i = 0; i < ni; i++) {
            float *row = w + i * nj, *out = y + (i0 + i) * o->d, top = row_max(row, nj);
            if (top < max[i]) top = max[i];
            if (top == -INFINITY) { // no key so far
                for (int64_t j = 0; j < nj; j++)
                    row[j] = 0;
                continue;
            }
            float old = cpu_expf(max[i] - top);
            sum[i] = sum[i] * old + exp_row(row, nj, top);
            max[i] = top;
            if (old != 1.0f)
                for (int64_t d = 0; d < o->d; d++)
                    out[d] *= old;
            if (o->dropout > 0) {
                row_factors(o, b, h, i0 + i, j0, nj, z);
                for (int64_t j = 0; j < nj; j++)
                    row[j] *= z[j];
            }
        }
        if (o->d)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)ni, (blasint)o->d,
                        (blasint)nj, 1.0f, w, (blasint)nj, v + j0 * o->d, (blasint)o->d, 1.0f,
                        y + i0 * o->d, (blasint)o->d);
    }
    for (int64_t i = 0; i < ni; i++) {
        float inv = sum[i] > 0 ? 1.0f / sum[i] : (isnan(sum[i]) ? sum[i] : 0.0f);
        for (int64_t d = 0; d < o->d; d++)
            y[(i0 + i) * o->d + d] *= inv;
        lse[i0 + i] = max[i] == -INFINITY ? -INFINITY : max[i] + logf(sum[i]);
    }
}

const char *cpu_sdpa(const hap_step_state *s, const hap_op_call *c)
{
    hap_tensor *y = c->out[0], *lse = c->out[1];
    attention o;
    for (int i = 0; i < 3; i++)
        CPU_TRY(cpu_want(c->in[i], HAP_F32, "q, k or v"));
    CPU_TRY(cpu_want(y, HAP_F32, "the output"));
    CPU_TRY(cpu_want(lse, HAP_F32, "the logsumexp"));
    CPU_TRY(attention_of(&o, s, c, c->in[0], c->in[1], c->in[2], cpu_in(c, 3)));
    if (y->elements != o.b * o.hq * o.q * o.d || lse->elements != o.b * o.hq * o.q)
        return cpu_fail("sdpa: the outputs have another size");
    const float *q = c->in[0]->data, *k = c->in[1]->data, *v = c->in[2]->data;
    for (int64_t b = 0; b < o.b; b++)
        for (int64_t h = 0; h < o.hq; h++) {
            int64_t hq = b * o.hq + h, hk = b * o.hk + h / (o.hq / o.hk);
            for (int64_t i0 = 0; i0 < o.q; i0 += BLOCK_Q)
                forward_block(&o, b, h, i0, o.q - i0 < BLOCK_Q ? o.q - i0 : BLOCK_Q,
                              q + hq * o.q * o.e, k + hk * o.k * o.e, v + hk * o.k * o.d,
                              (float *)y->data + hq * o.q * o.d, (float *)lse->data + hq * o.q);
        }
    return NULL;
}

// One head's tensors.
typedef struct head {
    const float *dy, *q, *k, *v, *y, *lse;
    float *dq, *dk, *dv;
} head;

static void backward_block(const attention *o, int64_t b, int64_t h, int64_t i0, int64_t ni, head t)
{
    static float p[BLOCK_Q * BLOCK_K], dp[BLOCK_Q * BLOCK_K];
    float dot[BLOCK_Q], z[BLOCK_K];
    const float *dy = t.dy + i0 * o->d;
    for (int64_t i = 0; i < ni; i++) {
        double sum = 0;
        for (int64_t d = 0; d < o->d; d++)
            sum += (double)dy[i * o->d + d] * (double)t.y[(i0 + i) * o->d + d];
        dot[i] = (float)sum;
    }
    int64_t end = key_end(o, i0, ni);
    for (int64_t j0 = 0; j0 < end; j0 += BLOCK_K) {
        int64_t nj = end - j0 < BLOCK_K ? end - j0 : BLOCK_K;
        scores(o, b, h, i0, ni, j0, nj, t.q, t.k, p);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)ni, (blasint)nj,
                    (blasint)o->d, 1.0f, dy, (blasint)o->d, t.v + j0 * o->d, (blasint)o->d, 0.0f,
                    dp, (blasint)nj);
        for (int64_t i = 0; i < ni; i++) {
            float *pr = p + i * nj, *dr = dp + i * nj, lse = t.lse[i0 + i];
            if (lse == -INFINITY) { // a row without keys: output 0, no gradient
                for (int64_t j = 0; j < nj; j++)
                    pr[j] = dr[j] = 0;
                continue;
            }
            exp_row(pr, nj, lse);
            if (o->dropout > 0) {
                row_factors(o, b, h, i0 + i, j0, nj, z);
                for (int64_t j = 0; j < nj; j++) {
                    dr[j] = pr[j] * (z[j] * dr[j] - dot[i]);
                    pr[j] *= z[j];
                }
            } else {
                for (int64_t j = 0; j < nj; j++)
                    dr[j] = pr[j] * (dr[j] - dot[i]);
            }
        }
        blasint bi = (blasint)ni, bj = (blasint)nj, be = (blasint)o->e, bd = (blasint)o->d;
        if (bd)
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, bj, bd, bi, 1.0f, p, bj, dy, bd,
                        1.0f, t.dv + j0 * o->d, bd);
        if (be) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, bi, be, bj, o->scale, dp, bj,
                        t.k + j0 * o->e, be, 1.0f, t.dq + i0 * o->e, be);
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, bj, be, bi, o->scale, dp, bj,
                        t.q + i0 * o->e, be, 1.0f, t.dk + j0 * o->e, be);
        }
    }
}

const char *cpu_sdpa_bwd(const hap_step_state *s, const hap_op_call *c)
{
    attention o;
    for (int i = 0; i < 6; i++)
        CPU_TRY(cpu_want(c->in[i], HAP_F32, "an operand"));
    for (int i = 0; i < 3; i++)
        CPU_TRY(cpu_want(c->out[i], HAP_F32, "an output"));
    CPU_TRY(attention_of(&o, s, c, c->in[1], c->in[2], c->in[3], cpu_in(c, 6)));
    int64_t n_out = o.b * o.hq * o.q * o.d;
    if (c->in[0]->elements != n_out || c->in[4]->elements != n_out ||
        c->in[5]->elements != o.b * o.hq * o.q || !cpu_same_shape(c->out[0], c->in[1]) ||
        !cpu_same_shape(c->out[1], c->in[2]) || !cpu_same_shape(c->out[2], c->in[3]))
        return cpu_fail("sdpa_bwd: shapes do not fit");
    for (int i = 0; i < 3; i++)
        cpu_fill(c->out[i], 0);
    for (int64_t b = 0; b < o.b; b++)
        for (int64_t h = 0; h < o.hq; h++) {
            int64_t hq = b * o.hq + h, hk = b * o.hk + h / (o.hq / o.hk);
            int64_t qd = hq * o.q * o.d, qe = hq * o.q * o.e, kd = hk * o.k * o.d;
            int64_t ke = hk * o.k * o.e;
            head t = {(const float *)c->in[0]->data + qd, (const float *)c->in[1]->data + qe,
                      (const float *)c->in[2]->data + ke, (const float *)c->in[3]->data + kd,
                      (const float *)c->in[4]->data + qd, (const float *)c->in[5]->data + hq * o.q,
                      (float *)c->out[0]->data + qe,      (float *)c->out[1]->data + ke,
                      (float *)c->out[2]->data + kd};
            for (int64_t i0 = 0; i0 < o.q; i0 += BLOCK_Q)
                backward_block(&o, b, h, i0, o.q - i0 < BLOCK_Q ? o.q - i0 : BLOCK_Q, t);
        }
    return NULL;
}
