// Rows of a mixture of experts: which tokens go to which slots of which experts, and the three sums
// over tokens, slots and widths that move them there and back.
//
// Gates see whole rows of experts, slots whole sequences of such rows (the op table keeps e and s
// uncut there); whoever holds a part of the slots counts all of them and writes its own.

#include "cpu/ops_kernels.h"

#include <cblas.h>
#include <string.h>

// --- gates ---

// Entry i of a row comes before entry j: larger, or equal and earlier.
static bool before(const float *row, int64_t i, int64_t j)
{
    return row[i] > row[j] || (!(row[i] < row[j]) && i < j);
}

static bool among_largest(const float *row, int64_t n, int64_t i, int64_t k)
{
    int64_t ahead = 0;
    for (int64_t j = 0; j < n && ahead < k; j++)
        ahead += j != i && before(row, j, i);
    return ahead < k;
}

const char *cpu_top_gates(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *y = c->out[0], *x = c->in[0];
    if (!cpu_same_shape(x, y)) return cpu_fail("top_gates: shapes do not fit");
    int64_t n = x->local[x->rank - 1], k = c->attr[0].i;
    for (int64_t at = 0; at < x->elements; at += n) {
        const float *p = (const float *)x->data + at;
        float *g = (float *)y->data + at, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            g[i] = among_largest(p, n, i, k) ? p[i] : 0.0f;
            sum += g[i];
        }
        for (int64_t i = 0; i < n; i++)
            if (among_largest(p, n, i, k)) g[i] /= sum;
    }
    return NULL;
}

const char *cpu_top_gates_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *y = c->out[0], *dy = c->in[0], *x = c->in[1];
    if (!cpu_same_shape(x, y) || !cpu_same_shape(dy, y))
        return cpu_fail("top_gates_bwd: shapes do not fit");
    int64_t n = x->local[x->rank - 1], k = c->attr[0].i;
    for (int64_t at = 0; at < x->elements; at += n) {
        const float *p = (const float *)x->data + at, *g = (const float *)dy->data + at;
        float *d = (float *)y->data + at, sum = 0, dot = 0;
        for (int64_t i = 0; i < n; i++) {
            if (!among_largest(p, n, i, k)) continue;
            sum += p[i];
            dot += p[i] * g[i];
        }
        for (int64_t i = 0; i < n; i++)
            d[i] = among_largest(p, n, i, k) ? (g[i] - dot / sum) / sum : 0.0f;
    }
    return NULL;
}

// The j-th largest is the first of those that come behind the (j - 1)-th.
const char *cpu_top_index(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0];
    CPU_TRY(cpu_want(x, HAP_F32, "the operand"));
    CPU_TRY(cpu_want(y, HAP_I64, "the output"));
    int64_t n = x->local[x->rank - 1], k = y->local[y->rank - 1];
    if (k > n || y->elements * n != x->elements * k)
        return cpu_fail("top_index: shapes do not fit");
    int64_t *to = y->data;
    for (int64_t at = 0; at < x->elements; at += n) {
        const float *row = (const float *)x->data + at;
        for (int64_t j = 0, prior = -1; j < k; j++, to++) {
            *to = -1;
            for (int64_t i = 0; i < n; i++)
                if ((prior < 0 || before(row, prior, i)) && i != prior &&
                    (*to < 0 || before(row, i, *to)))
                    *to = i;
            if (*to < 0) return cpu_fail("top_index: a row with NaN");
            prior = *to;
        }
    }
    return NULL;
}

// --- slots ---

// Which choice of its token expert i is: 0 the first. Entries of 0 are no choice.
static int64_t rank_of(const float *row, int64_t n, int64_t i)
{
    int64_t ahead = 0;
    for (int64_t j = 0; j < n; j++)
        ahead += j != i && row[j] != 0.0f && before(row, j, i);
    return ahead;
}

const char *cpu_expert_slots(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *y = c->out[0], *x = c->in[0];
    if (x->rank != 3 || y->rank != 4 || y->elements != x->elements * y->local[3])
        return cpu_fail("expert_slots: shapes do not fit");
    int64_t tokens = x->local[1], experts = x->local[2], slots = y->local[3], run;
    cpu_axis slot = cpu_axis_of(y, 3);
    int64_t capacity = cpu_axis_size(&slot);
    if (y->bytes) memset(y->data, 0, (size_t)y->bytes);
    for (int64_t b = 0; b < x->local[0] && slots; b++) {
        const float *gate = (const float *)x->data + b * tokens * experts;
        float *to = (float *)y->data + b * tokens * experts * slots;
        for (int64_t e = 0; e < experts; e++) {
            int64_t given = 0;
            bool more = true;
            for (int64_t choice = 0; more && given < capacity; choice++) {
                more = false;
                for (int64_t t = 0; t < tokens && given < capacity; t++) {
                    const float *row = gate + t * experts;
                    int64_t rank = row[e] != 0.0f ? rank_of(row, experts, e) : -1;
                    more = more || rank > choice;
                    if (rank != choice) continue;
                    int64_t l = cpu_axis_local(&slot, given++, &run);
                    if (l >= 0) to[(t * experts + e) * slots + l] = row[e];
                }
            }
        }
    }
    return NULL;
}

const char *cpu_expert_slots_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *y = c->out[0], *dy = c->in[0], *x = c->in[1];
    int64_t slots = x->local[x->rank - 1];
    if (!cpu_same_shape(dy, x) || x->elements != y->elements * slots)
        return cpu_fail("expert_slots_bwd: shapes do not fit");
    const float *g = dy->data, *w = x->data;
    float *d = y->data;
    for (int64_t i = 0; i < y->elements; i++) {
        d[i] = 0.0f;
        for (int64_t l = i * slots; l < (i + 1) * slots; l++)
            if (w[l] != 0.0f) d[i] += g[l];
    }
    return NULL;
}

// --- dispatch, combine ---

// weight[b,s,e,c], token[b,s,d], slot[e,b,c,d], whichever of them is the result.
typedef struct parts {
    int64_t b, s, e, c, d;
    float *weight, *token, *slot;
} parts;

static const char *parts_of(const char *row, const hap_tensor *w, const hap_tensor *x,
                            const hap_tensor *z, parts *p)
{
    if (w->rank != 4 || x->rank != 3 || z->rank != 4) return cpu_fail("%s: ranks do not fit", row);
    *p = (parts){w->local[0], w->local[1], w->local[2], w->local[3],
                 x->local[2], w->data,     x->data,     z->data};
    if (x->local[0] != p->b || x->local[1] != p->s || z->local[0] != p->e || z->local[1] != p->b ||
        z->local[2] != p->c || z->local[3] != p->d)
        return cpu_fail("%s: shapes do not fit", row);
    if (p->s > INT32_MAX || p->e * p->c > INT32_MAX || p->d > INT32_MAX)
        return cpu_fail("not supported: a matrix dim over 2^31 - 1");
    return NULL;
}

// y[m,n] = a b (+ y if add), rows of y, a, b being ly, la, lb entries apart.
static void product(CBLAS_TRANSPOSE at, CBLAS_TRANSPOSE bt, int64_t m, int64_t n, int64_t k,
                    const float *a, int64_t la, const float *b, int64_t lb, bool add, float *y,
                    int64_t ly)
{
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (int64_t i = 0; i < m && !add; i++)
            memset(y + i * ly, 0, (size_t)n * sizeof *y);
        return;
    }
    cblas_sgemm(CblasRowMajor, at, bt, (blasint)m, (blasint)n, (blasint)k, 1.0f, a, (blasint)la, b,
                (blasint)lb, add ? 1.0f : 0.0f, y, (blasint)ly);
}

const char *cpu_dispatch(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    parts p;
    CPU_TRY(cpu_want_f32(c));
    CPU_TRY(parts_of("dispatch", c->in[0], c->in[1], c->out[0], &p));
    for (int64_t e = 0; e < p.e; e++)
        for (int64_t b = 0; b < p.b; b++)
            product(CblasTrans, CblasNoTrans, p.c, p.d, p.s, p.weight + (b * p.s * p.e + e) * p.c,
                    p.e * p.c, p.token + b * p.s * p.d, p.d, false,
                    p.slot + (e * p.b + b) * p.c * p.d, p.d);
    return NULL;
}

const char *cpu_combine(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    parts p;
    CPU_TRY(cpu_want_f32(c));
    CPU_TRY(parts_of("combine", c->in[0], c->out[0], c->in[1], &p));
    if (c->out[0]->bytes) memset(p.token, 0, (size_t)c->out[0]->bytes);
    for (int64_t b = 0; b < p.b; b++)
        for (int64_t e = 0; e < p.e; e++)
            product(CblasNoTrans, CblasNoTrans, p.s, p.d, p.c, p.weight + (b * p.s * p.e + e) * p.c,
                    p.e * p.c, p.slot + (e * p.b + b) * p.c * p.d, p.d, true,
                    p.token + b * p.s * p.d, p.d);
    return NULL;
}

const char *cpu_dispatch_dw(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    parts p;
    CPU_TRY(cpu_want_f32(c));
    CPU_TRY(parts_of("dispatch_dw", c->out[0], c->in[0], c->in[1], &p));
    for (int64_t b = 0; b < p.b; b++)
        for (int64_t e = 0; e < p.e; e++)
            product(CblasNoTrans, CblasTrans, p.s, p.c, p.d, p.token + b * p.s * p.d, p.d,
                    p.slot + (e * p.b + b) * p.c * p.d, p.d, false,
                    p.weight + (b * p.s * p.e + e) * p.c, p.e * p.c);
    return NULL;
}
