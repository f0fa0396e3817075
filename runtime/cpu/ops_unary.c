// Pointwise rows of one operand, their gradients, casts and dropout. Shapes are equal, so every
// loop is flat; outputs may lie over operands.

#include "cpu/ops_kernels.h"
#include "cpu/ops_math.h"

static const float sqrt_2_over_pi = 0.7978845608028654f, cubic = 0.044715f;

// --- the words of the formulas of ops.def (runtime/hap/formulas.cuh has the device's) ---

CPU_INLINE float times(float a, float b)
{
    return a * b;
}
CPU_INLINE float plus(float a, float b)
{
    return a + b;
}
CPU_INLINE float minus(float a, float b)
{
    return a - b;
}
CPU_INLINE float times_plus(float a, float b, float c) // a b + c
{
    return a * b + c;
}
CPU_INLINE float exp_of(float x)
{
    return cpu_expf(x);
}
CPU_INLINE float power(float x, float c)
{
    return powf(x, c);
}
CPU_INLINE float tanh_of(float x)
{
    return cpu_tanhf(x);
}
CPU_INLINE float sigmoid_of(float x)
{
    return cpu_sigmoidf(x);
}
CPU_INLINE float silu_slope(float x)
{
    float s = cpu_sigmoidf(x);
    return s * (1.0f + x * (1.0f - s));
}

#define HAP_POINT CPU_INLINE
#include "hap/pointwise.h"

// --- gelu has two formulas ---

CPU_INLINE float hap_gelu_erf(float x)
{
    return 0.5f * x * (1.0f + cpu_erff(x * 0.70710678118654752f));
}
CPU_INLINE float hap_gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + cpu_tanhf(sqrt_2_over_pi * (x + cubic * x * x * x)));
}
CPU_INLINE float hap_gelu_erf_bwd(float a, float b) // Phi(b) + b phi(b)
{
    return a * (0.5f * (1.0f + cpu_erff(b * 0.70710678118654752f)) +
                b * 0.3989422804014327f * cpu_expf(-0.5f * b * b));
}
CPU_INLINE float hap_gelu_tanh_bwd(float a, float b)
{
    float t = cpu_tanhf(sqrt_2_over_pi * (b + cubic * b * b * b));
    float inner = sqrt_2_over_pi * (1.0f + 3.0f * cubic * b * b);
    return a * (0.5f * (1.0f + t) + 0.5f * b * (1.0f - t * t) * inner);
}

// --- loops: u of the first operand, v of the second, k0 and k1 the attributes ---

typedef void loop(int64_t n, float *y, const float *pu, const float *pv, float k0, float k1);

#define LOOP1(op, args)                                                                            \
    CPU_WIDE static void op##_loop(int64_t n, float *y, const float *pu, const float *pv,          \
                                   float k0, float k1)                                             \
    {                                                                                              \
        (void)pv, (void)k0, (void)k1;                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float u = pu[i];                                                                       \
            y[i] = hap_##op args;                                                                  \
        }                                                                                          \
    }
#define LOOP2(op, args)                                                                            \
    CPU_WIDE static void op##_loop(int64_t n, float *y, const float *pu, const float *pv,          \
                                   float k0, float k1)                                             \
    {                                                                                              \
        (void)k0, (void)k1;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float u = pu[i], v = pv[i];                                                            \
            y[i] = hap_##op args;                                                                  \
        }                                                                                          \
    }
HAP_POINTS_1(LOOP1)
HAP_POINTS_2(LOOP2)
LOOP1(gelu_erf, (u))
LOOP1(gelu_tanh, (u))
LOOP2(gelu_erf_bwd, (u, v))
LOOP2(gelu_tanh_bwd, (u, v))

#define ENTRY(op, args) [HAP_OP_##op] = op##_loop,
static loop *const loops[HAP_N_OPS] = {HAP_POINTS_1(ENTRY) HAP_POINTS_2(ENTRY)};

static const char *equal_sizes(const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]->elements != c->out[0]->elements)
            return cpu_fail("an operand has %lld local elements, the output %lld",
                            (long long)c->in[i]->elements, (long long)c->out[0]->elements);
    return NULL;
}

static const char *run_loop(const hap_op_call *c, loop *f)
{
    float k[2] = {0};
    CPU_TRY(cpu_want_f32(c));
    CPU_TRY(equal_sizes(c));
    for (int i = 0; i < c->n_attr && i < 2; i++)
        k[i] = (float)c->attr[i].f;
    f(c->out[0]->elements, c->out[0]->data, c->in[0]->data, c->n_in > 1 ? c->in[1]->data : NULL,
      k[0], k[1]);
    return NULL;
}

// neg, scale, add_scalar of integers (positions, masks as numbers).
#define AFFINE(T)                                                                                  \
    static void affine_##T(int64_t n, T *y, const T *x, T k, T b)                                  \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (T)(x[i] * k + b);                                                              \
    }
AFFINE(int64_t)
AFFINE(int32_t)

static const char *affine(const hap_op_call *c)
{
    hap_tensor *y = c->out[0], *x = c->in[0];
    CPU_TRY(cpu_want(y, x->type, "the output"));
    CPU_TRY(equal_sizes(c));
    double k = c->op == HAP_OP_neg ? -1 : c->op == HAP_OP_scale ? c->attr[0].f : 1;
    double b = c->op == HAP_OP_add_scalar ? c->attr[0].f : 0;
    if (k != floor(k) || b != floor(b))
        return cpu_fail("not supported: a fraction times or plus %s", hap_dtype_name(x->type));
    if (x->type == HAP_I64)
        affine_int64_t(y->elements, y->data, x->data, (int64_t)k, (int64_t)b);
    else
        affine_int32_t(y->elements, y->data, x->data, (int32_t)k, (int32_t)b);
    return NULL;
}

const char *cpu_point(const hap_step_state *s, const hap_op_call *c)
{
    hap_dtype type = c->in[0]->type;
    bool is_affine = c->op == HAP_OP_neg || c->op == HAP_OP_scale || c->op == HAP_OP_add_scalar;
    (void)s;
    if (is_affine && (type == HAP_I64 || type == HAP_I32)) return affine(c);
    return run_loop(c, loops[c->op]);
}

const char *cpu_gelu(const hap_step_state *s, const hap_op_call *c)
{
    bool is_tanh = c->attr[0].i;
    (void)s;
    if (c->op == HAP_OP_gelu) return run_loop(c, is_tanh ? gelu_tanh_loop : gelu_erf_loop);
    return run_loop(c, is_tanh ? gelu_tanh_bwd_loop : gelu_erf_bwd_loop);
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
    CAST(HAP_U8, HAP_F32, uint8_t, float, v)
    CAST(HAP_U8, HAP_I64, uint8_t, int64_t, v)
    CAST(HAP_U8, HAP_I32, uint8_t, int32_t, v)
    CAST(HAP_U8, HAP_BOOL, uint8_t, uint8_t, v != 0)
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
