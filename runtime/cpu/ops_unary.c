// Pointwise rows of one operand, their gradients, casts and dropout. Shapes are equal, so every
// loop is flat; outputs may lie over operands.

#include "cpu/ops_kernels.h"
#include "cpu/ops_math.h"

static const float sqrt_2_over_pi = 0.7978845608028654f, cubic = 0.044715f;

#define LOOP1(name, expr)                                                                          \
    CPU_WIDE static void name(int64_t n, float *y, const float *x, float c)                        \
    {                                                                                              \
        (void)c;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float v = x[i];                                                                        \
            y[i] = (expr);                                                                         \
        }                                                                                          \
    }
LOOP1(neg, -v)
LOOP1(scale, v *c)
LOOP1(add_scalar, v + c)
LOOP1(pow_scalar, powf(v, c))
LOOP1(square, v *v)
LOOP1(exp_, cpu_expf(v))
LOOP1(log_, logf(v))
LOOP1(sqrt_, sqrtf(v))
LOOP1(rsqrt, 1.0f / sqrtf(v))
LOOP1(tanh_, cpu_tanhf(v))
LOOP1(sigmoid, cpu_sigmoidf(v))
LOOP1(relu, v < 0.0f ? 0.0f : v)
LOOP1(gelu_erf, 0.5f * v * (1.0f + cpu_erff(v * 0.70710678118654752f)))
LOOP1(gelu_tanh, 0.5f * v * (1.0f + cpu_tanhf(sqrt_2_over_pi * (v + cubic * v * v * v))))
LOOP1(silu, v *cpu_sigmoidf(v))

#define LOOP_BWD(name, expr)                                                                       \
    CPU_WIDE static void name(int64_t n, float *dx, const float *dy, const float *b)               \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float g = dy[i], v = b[i];                                                             \
            dx[i] = (expr);                                                                        \
        }                                                                                          \
    }
LOOP_BWD(tanh_bwd, g *(1.0f - v * v))
LOOP_BWD(sigmoid_bwd, g *(v *(1.0f - v)))
LOOP_BWD(relu_bwd, v > 0.0f ? g : 0.0f)

// Phi(x) + x phi(x)
LOOP_BWD(gelu_erf_bwd, g *(0.5f * (1.0f + cpu_erff(v * 0.70710678118654752f)) +
                           v * 0.3989422804014327f * cpu_expf(-0.5f * v * v)))

CPU_INLINE float gelu_tanh_slope(float v)
{
    float t = cpu_tanhf(sqrt_2_over_pi * (v + cubic * v * v * v));
    float inner = sqrt_2_over_pi * (1.0f + 3.0f * cubic * v * v);
    return 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * inner;
}
LOOP_BWD(gelu_tanh_bwd, g *gelu_tanh_slope(v))

CPU_INLINE float silu_slope(float v)
{
    float s = cpu_sigmoidf(v);
    return s * (1.0f + v * (1.0f - s));
}
LOOP_BWD(silu_bwd, g *silu_slope(v))

static const char *equal_sizes(const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]->elements != c->out[0]->elements)
            return cpu_fail("an operand has %lld local elements, the output %lld",
                            (long long)c->in[i]->elements, (long long)c->out[0]->elements);
    return NULL;
}

const char *cpu_unary(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    CPU_TRY(equal_sizes(c));
    int64_t n = c->out[0]->elements;
    float *y = c->out[0]->data, k = 0;
    const float *x = c->in[0]->data;
    switch ((int)c->op) {
    case HAP_OP_pow_scalar:
        k = (float)c->attr[0].f;
        (k == 2.0f ? square : pow_scalar)(n, y, x, k);
        return NULL;
    case HAP_OP_exp:
        exp_(n, y, x, k);
        return NULL;
    case HAP_OP_log:
        log_(n, y, x, k);
        return NULL;
    case HAP_OP_sqrt:
        sqrt_(n, y, x, k);
        return NULL;
    case HAP_OP_rsqrt:
        rsqrt(n, y, x, k);
        return NULL;
    case HAP_OP_tanh:
        tanh_(n, y, x, k);
        return NULL;
    case HAP_OP_sigmoid:
        sigmoid(n, y, x, k);
        return NULL;
    case HAP_OP_relu:
        relu(n, y, x, k);
        return NULL;
    case HAP_OP_gelu:
        (c->attr[0].i ? gelu_tanh : gelu_erf)(n, y, x, k);
        return NULL;
    case HAP_OP_silu:
        silu(n, y, x, k);
        return NULL;
    }
    return cpu_fail("not a pointwise row");
}

const char *cpu_unary_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    CPU_TRY(equal_sizes(c));
    int64_t n = c->out[0]->elements;
    float *dx = c->out[0]->data;
    const float *dy = c->in[0]->data, *v = c->in[1]->data;
    switch ((int)c->op) {
    case HAP_OP_tanh_bwd:
        tanh_bwd(n, dx, dy, v);
        return NULL;
    case HAP_OP_sigmoid_bwd:
        sigmoid_bwd(n, dx, dy, v);
        return NULL;
    case HAP_OP_relu_bwd:
        relu_bwd(n, dx, dy, v);
        return NULL;
    case HAP_OP_gelu_bwd:
        (c->attr[0].i ? gelu_tanh_bwd : gelu_erf_bwd)(n, dx, dy, v);
        return NULL;
    case HAP_OP_silu_bwd:
        silu_bwd(n, dx, dy, v);
        return NULL;
    }
    return cpu_fail("not a pointwise gradient row");
}

// neg, scale, add_scalar: integers too (positions, masks as numbers).
#define AFFINE(T)                                                                                  \
    static void affine_##T(int64_t n, T *y, const T *x, T k, T b)                                  \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (T)(x[i] * k + b);                                                              \
    }
AFFINE(int64_t)
AFFINE(int32_t)

const char *cpu_linear_unary(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0];
    CPU_TRY(cpu_want(y, x->type, "the output"));
    CPU_TRY(equal_sizes(c));
    double k = c->op == HAP_OP_neg ? -1 : c->op == HAP_OP_scale ? c->attr[0].f : 1;
    double b = c->op == HAP_OP_add_scalar ? c->attr[0].f : 0;
    if (x->type == HAP_F32) {
        if (c->op == HAP_OP_neg)
            neg(y->elements, y->data, x->data, 0);
        else if (c->op == HAP_OP_scale)
            scale(y->elements, y->data, x->data, (float)k);
        else
            add_scalar(y->elements, y->data, x->data, (float)b);
        return NULL;
    }
    if (k != floor(k) || b != floor(b))
        return cpu_fail("not supported: a fraction times or plus %s", hap_dtype_name(x->type));
    if (x->type == HAP_I64)
        affine_int64_t(y->elements, y->data, x->data, (int64_t)k, (int64_t)b);
    else if (x->type == HAP_I32)
        affine_int32_t(y->elements, y->data, x->data, (int32_t)k, (int32_t)b);
    else
        return cpu_fail("not supported: an operand of type %s", hap_dtype_name(x->type));
    return NULL;
}

const char *cpu_logical_not(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want(c->in[0], HAP_BOOL, "the operand"));
    CPU_TRY(cpu_want(c->out[0], HAP_BOOL, "the output"));
    CPU_TRY(equal_sizes(c));
    const uint8_t *x = c->in[0]->data;
    for (int64_t i = 0; i < c->out[0]->elements; i++)
        ((uint8_t *)c->out[0]->data)[i] = !x[i];
    return NULL;
}

#define CAST(from, to, F, T, expr)                                                                 \
    if (x->type == (from) && y->type == (to)) {                                                    \
        const F *p = x->data;                                                                      \
        T *q = y->data;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            F v = p[i];                                                                            \
            q[i] = (T)(expr);                                                                      \
        }                                                                                          \
        return NULL;                                                                               \
    }

const char *cpu_cast(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0];
    CPU_TRY(equal_sizes(c));
    int64_t n = y->elements;
    CAST(HAP_F32, HAP_F32, float, float, v)
    CAST(HAP_F32, HAP_I64, float, int64_t, v)
    CAST(HAP_F32, HAP_I32, float, int32_t, v)
    CAST(HAP_F32, HAP_BOOL, float, uint8_t, v != 0.0f)
    CAST(HAP_I64, HAP_F32, int64_t, float, v)
    CAST(HAP_I64, HAP_I64, int64_t, int64_t, v)
    CAST(HAP_I64, HAP_I32, int64_t, int32_t, v)
    CAST(HAP_I64, HAP_BOOL, int64_t, uint8_t, v != 0)
    CAST(HAP_I32, HAP_F32, int32_t, float, v)
    CAST(HAP_I32, HAP_I64, int32_t, int64_t, v)
    CAST(HAP_I32, HAP_I32, int32_t, int32_t, v)
    CAST(HAP_I32, HAP_BOOL, int32_t, uint8_t, v != 0)
    CAST(HAP_BOOL, HAP_F32, uint8_t, float, v != 0)
    CAST(HAP_BOOL, HAP_I64, uint8_t, int64_t, v != 0)
    CAST(HAP_BOOL, HAP_I32, uint8_t, int32_t, v != 0)
    CAST(HAP_BOOL, HAP_BOOL, uint8_t, uint8_t, v != 0)
    return cpu_fail("not supported: cast of %s to %s", hap_dtype_name(x->type),
                    hap_dtype_name(y->type));
}

// Counter = first + the element's index in the global tensor: walks the dims by global index, the
// last in runs.
const char *cpu_dropout(const hap_step_state *s, const hap_op_call *c)
{
    enum { BLOCK = 256 };
    hap_tensor *y = c->out[0], *x = c->in[0];
    CPU_TRY(cpu_want_f32(c));
    if (!cpu_same_shape(x, y)) return cpu_fail("dropout: shapes differ");
    float p = (float)c->attr[0].f, factor[BLOCK];
    uint64_t key = cpu_random_key(s, c->attr[1].i);
    int64_t first = c->attr[2].i;
    int last = y->rank - 1;
    cpu_axis axis[HAP_MAX_RANK];
    for (int d = 0; d < y->rank; d++)
        axis[d] = cpu_axis_of(y, d);
    int64_t cols = y->rank ? y->local[last] : 1, at[HAP_MAX_RANK] = {0}, run;
    const float *px = x->data;
    float *py = y->data;
    if (y->elements == 0) return NULL;
    for (;;) {
        int64_t base = 0;
        for (int d = 0; d < last; d++)
            base = base * cpu_axis_size(&axis[d]) + cpu_axis_global(&axis[d], at[d], &run);
        if (y->rank) base *= cpu_axis_size(&axis[last]);
        for (int64_t l = 0; l < cols;) {
            int64_t e = first + base;
            run = 1;
            if (y->rank) e += cpu_axis_global(&axis[last], l, &run);
            if (run > BLOCK) run = BLOCK;
            if (run > cols - l) run = cols - l;
            cpu_dropout_scale(key, e, run, p, factor);
            for (int64_t i = 0; i < run; i++)
                py[l + i] = px[l + i] * factor[i];
            l += run;
        }
        px += cols, py += cols;
        int d = last - 1;
        for (; d >= 0; d--) {
            if (++at[d] < y->local[d]) break;
            at[d] = 0;
        }
        if (d < 0) return NULL;
    }
}
