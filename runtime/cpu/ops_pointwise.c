// Pointwise rows of two and three operands, with broadcasting: dims aligned right, size 1 repeats.
// A cut dim is cut alike in every operand that has it, so local sizes tell all.

#include "cpu/ops_kernels.h"

enum { MAX_ARG = 3 };

// Merged dims of y, outermost first, and every operand's stride in each (0 = repeated).
typedef struct spread {
    int n;
    int64_t size[HAP_MAX_RANK], stride[MAX_ARG][HAP_MAX_RANK];
} spread;

static const char *spread_of(spread *s, const hap_tensor *y, int n_in, hap_tensor *const *in)
{
    int64_t size[HAP_MAX_RANK], stride[MAX_ARG][HAP_MAX_RANK];
    for (int i = 0; i < n_in; i++) {
        int skip = y->rank - in[i]->rank;
        int64_t step = 1;
        if (skip < 0) return cpu_fail("an operand has more dims than the output");
        for (int d = y->rank - 1; d >= 0; d--) {
            int64_t n = d >= skip ? in[i]->local[d - skip] : 1;
            if (n != y->local[d] && n != 1)
                return cpu_fail("dim %d: %lld local entries do not broadcast to %lld", d,
                                (long long)n, (long long)y->local[d]);
            stride[i][d] = n == 1 ? 0 : step;
            step *= n;
        }
    }
    s->n = 0;
    for (int d = 0; d < y->rank; d++) {
        size[d] = y->local[d];
        if (size[d] == 1) continue;
        bool joins = s->n > 0;
        for (int i = 0; joins && i < n_in; i++)
            joins = s->stride[i][s->n - 1] == stride[i][d] * size[d];
        if (!joins) s->size[s->n++] = 1;
        s->size[s->n - 1] *= size[d];
        for (int i = 0; i < n_in; i++)
            s->stride[i][s->n - 1] = stride[i][d];
    }
    if (s->n == 0) { // one element
        s->size[s->n++] = 1;
        for (int i = 0; i < n_in; i++)
            s->stride[i][0] = 0;
    }
    return NULL;
}

static bool spread_next(const spread *s, int n_in, int64_t *idx, int64_t *at)
{
    for (int d = s->n - 2; d >= 0; d--) {
        for (int i = 0; i < n_in; i++)
            at[i] += s->stride[i][d];
        if (++idx[d] < s->size[d]) return true;
        for (int i = 0; i < n_in; i++)
            at[i] -= idx[d] * s->stride[i][d];
        idx[d] = 0;
    }
    return false;
}

// The innermost dim is dense or repeated in each operand; the three cases are separate loops so
// that each vectorises.
#define LOOP2(name, T, R, expr)                                                                    \
    static void name(const spread *s, R *y, const T *a, const T *b)                                \
    {                                                                                              \
        int64_t n = s->size[s->n - 1], idx[HAP_MAX_RANK] = {0}, at[2] = {0, 0};                    \
        int64_t da = s->stride[0][s->n - 1], db = s->stride[1][s->n - 1];                          \
        do {                                                                                       \
            const T *pa = a + at[0], *pb = b + at[1];                                              \
            if (da && db) {                                                                        \
                for (int64_t i = 0; i < n; i++) {                                                  \
                    T u = pa[i], v = pb[i];                                                        \
                    y[i] = (R)(expr);                                                              \
                }                                                                                  \
            } else if (da) {                                                                       \
                T v = *pb;                                                                         \
                for (int64_t i = 0; i < n; i++) {                                                  \
                    T u = pa[i];                                                                   \
                    y[i] = (R)(expr);                                                              \
                }                                                                                  \
            } else {                                                                               \
                T u = *pa;                                                                         \
                for (int64_t i = 0; i < n; i++) {                                                  \
                    T v = pb[i * db];                                                              \
                    y[i] = (R)(expr);                                                              \
                }                                                                                  \
            }                                                                                      \
            y += n;                                                                                \
        } while (spread_next(s, 2, idx, at));                                                      \
    }

#define ARITHMETIC(T, tag)                                                                         \
    LOOP2(add_##tag, T, T, u + v)                                                                  \
    LOOP2(sub_##tag, T, T, u - v)                                                                  \
    LOOP2(mul_##tag, T, T, u *v)
ARITHMETIC(float, f32)
ARITHMETIC(int64_t, i64)
ARITHMETIC(int32_t, i32)
LOOP2(div_f32, float, float, u / v)

#define COMPARISON(T, tag)                                                                         \
    LOOP2(eq_##tag, T, uint8_t, u == v)                                                            \
    LOOP2(ne_##tag, T, uint8_t, u != v)                                                            \
    LOOP2(lt_##tag, T, uint8_t, u < v)                                                             \
    LOOP2(le_##tag, T, uint8_t, u <= v)                                                            \
    LOOP2(gt_##tag, T, uint8_t, u > v)                                                             \
    LOOP2(ge_##tag, T, uint8_t, u >= v)                                                            \
    LOOP2(logical_and_##tag, T, uint8_t, u != 0 && v != 0)                                         \
    LOOP2(logical_or_##tag, T, uint8_t, u != 0 || v != 0)
COMPARISON(float, f32)
COMPARISON(int64_t, i64)
COMPARISON(int32_t, i32)
COMPARISON(uint8_t, bool)

static const char *prepare(spread *s, const hap_op_call *c, hap_dtype result)
{
    hap_tensor *a = c->in[0], *b = c->in[1];
    if (a->type != b->type)
        return cpu_fail("not supported: operands of types %s and %s", hap_dtype_name(a->type),
                        hap_dtype_name(b->type));
    CPU_TRY(cpu_want(c->out[0], result, "the output"));
    return spread_of(s, c->out[0], 2, c->in);
}

static const char *no_kernel(const hap_op_call *c)
{
    return cpu_fail("not supported: operands of type %s", hap_dtype_name(c->in[0]->type));
}

// One row of a dispatch: calls the loop of `name` for the operands' type.
#define RUN(name, tag) name##_##tag(&s, c->out[0]->data, c->in[0]->data, c->in[1]->data)
#define CASE_ARITHMETIC(name)                                                                      \
    case HAP_OP_##name:                                                                            \
        if (type == HAP_F32)                                                                       \
            RUN(name, f32);                                                                        \
        else if (type == HAP_I64)                                                                  \
            RUN(name, i64);                                                                        \
        else if (type == HAP_I32)                                                                  \
            RUN(name, i32);                                                                        \
        else                                                                                       \
            return no_kernel(c);                                                                   \
        return NULL
#define CASE_COMPARISON(name)                                                                      \
    case HAP_OP_##name:                                                                            \
        if (type == HAP_F32)                                                                       \
            RUN(name, f32);                                                                        \
        else if (type == HAP_I64)                                                                  \
            RUN(name, i64);                                                                        \
        else if (type == HAP_I32)                                                                  \
            RUN(name, i32);                                                                        \
        else if (type == HAP_BOOL)                                                                 \
            RUN(name, bool);                                                                       \
        else                                                                                       \
            return no_kernel(c);                                                                   \
        return NULL

const char *cpu_binary(const hap_step_state *st, const hap_op_call *c)
{
    (void)st;
    spread s;
    hap_dtype type = c->in[0]->type;
    CPU_TRY(prepare(&s, c, type));
    if (c->out[0]->elements == 0) return NULL;
    switch ((int)c->op) {
        CASE_ARITHMETIC(add);
        CASE_ARITHMETIC(sub);
        CASE_ARITHMETIC(mul);
    case HAP_OP_div:
        if (type != HAP_F32) return no_kernel(c);
        RUN(div, f32);
        return NULL;
    }
    return cpu_fail("not an arithmetic row");
}

const char *cpu_compare(const hap_step_state *st, const hap_op_call *c)
{
    (void)st;
    spread s;
    hap_dtype type = c->in[0]->type;
    CPU_TRY(prepare(&s, c, HAP_BOOL));
    if (c->out[0]->elements == 0) return NULL;
    switch ((int)c->op) {
        CASE_COMPARISON(eq);
        CASE_COMPARISON(ne);
        CASE_COMPARISON(lt);
        CASE_COMPARISON(le);
        CASE_COMPARISON(gt);
        CASE_COMPARISON(ge);
        CASE_COMPARISON(logical_and);
        CASE_COMPARISON(logical_or);
    }
    return cpu_fail("not a comparison row");
}

#define WHERE(T, tag)                                                                              \
    static void where_##tag(const spread *s, T *y, const uint8_t *p, const T *a, const T *b)       \
    {                                                                                              \
        int64_t n = s->size[s->n - 1], idx[HAP_MAX_RANK] = {0}, at[3] = {0, 0, 0};                 \
        int64_t dp = s->stride[0][s->n - 1], da = s->stride[1][s->n - 1];                          \
        int64_t db = s->stride[2][s->n - 1];                                                       \
        do {                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = p[at[0] + i * dp] ? a[at[1] + i * da] : b[at[2] + i * db];                  \
            y += n;                                                                                \
        } while (spread_next(s, 3, idx, at));                                                      \
    }
WHERE(float, f32)
WHERE(int64_t, i64)
WHERE(int32_t, i32)
WHERE(uint8_t, bool)

const char *cpu_where(const hap_step_state *st, const hap_op_call *c)
{
    (void)st;
    hap_tensor *y = c->out[0], *p = c->in[0], *a = c->in[1], *b = c->in[2];
    CPU_TRY(cpu_want(p, HAP_BOOL, "the condition"));
    if (a->type != b->type || a->type != y->type)
        return cpu_fail("not supported: where of types %s and %s", hap_dtype_name(a->type),
                        hap_dtype_name(b->type));
    spread s;
    CPU_TRY(spread_of(&s, y, 3, c->in));
    if (y->elements == 0) return NULL;
    switch (y->type) {
    case HAP_F32:
        where_f32(&s, y->data, p->data, a->data, b->data);
        return NULL;
    case HAP_I64:
        where_i64(&s, y->data, p->data, a->data, b->data);
        return NULL;
    case HAP_I32:
        where_i32(&s, y->data, p->data, a->data, b->data);
        return NULL;
    case HAP_BOOL:
        where_bool(&s, y->data, p->data, a->data, b->data);
        return NULL;
    case HAP_U8:
    case HAP_BF16:
    case HAP_F16:
        break;
    }
    return cpu_fail("not supported: where of type %s", hap_dtype_name(y->type));
}

// Entries p and q of a row turn by the cos and sin of theirs; back: by the transpose of that.
static void turn(float *y, const float *x, const float *cosine, const float *sine, int64_t p,
                 int64_t q, bool back)
{
    float a = x[p], b = x[q];
    y[p] = back ? a * cosine[p] + b * sine[q] : a * cosine[p] - b * sine[p];
    y[q] = back ? b * cosine[q] - a * sine[p] : b * cosine[q] + a * sine[q];
}

const char *cpu_rotary(const hap_step_state *st, const hap_op_call *c)
{
    (void)st;
    spread s;
    hap_tensor *y = c->out[0];
    CPU_TRY(cpu_want_f32(c));
    CPU_TRY(spread_of(&s, y, 3, c->in));
    int64_t d = y->local[y->rank - 1], n = s.size[s.n - 1], idx[HAP_MAX_RANK] = {0}, at[3] = {0};
    bool pairs = c->attr[0].i, back = c->attr[1].i;
    for (int i = 0; i < 3; i++)
        if (c->in[i]->local[c->in[i]->rank - 1] != d)
            return cpu_fail("rotary: rows of another length");
    if (d % 2) return cpu_fail("rotary: rows of %lld entries, an odd number", (long long)d);
    if (y->elements == 0) return NULL;
    float *to = y->data;
    do {
        for (int64_t r = 0; r < n; r += d) {
            const float *x = (float *)c->in[0]->data + at[0] + r;
            const float *cosine = (float *)c->in[1]->data + at[1] + r;
            const float *sine = (float *)c->in[2]->data + at[2] + r;
            for (int64_t i = 0; i < d / 2; i++)
                turn(to + r, x, cosine, sine, pairs ? 2 * i : i, pairs ? 2 * i + 1 : i + d / 2,
                     back);
        }
        to += n;
    } while (spread_next(&s, 3, idx, at));
    return NULL;
}
