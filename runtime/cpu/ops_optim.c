// Optimizers, in place, as torch.optim computes them; one pass over parameter, state and gradient.
// Factors that depend on the step alone are found in double. The last operand, if present, is the
// clip factor: one number that multiplies the gradient.

#include "cpu/ops_kernels.h"
#include "cpu/ops_math.h"

static const char *prepare(const hap_op_call *c, int n_full, float *clip)
{
    CPU_TRY(cpu_want_f32(c));
    for (int i = 1; i < n_full; i++)
        if (!cpu_same_shape(c->in[0], c->in[i]))
            return cpu_fail("the parameter and operand %d differ in local shape", i);
    const hap_tensor *k = cpu_in(c, n_full);
    *clip = k ? *(const float *)k->data : 1.0f;
    return NULL;
}

CPU_WIDE static void sgd(int64_t n, float *w, const float *g, float clip, float lr, float wd)
{
    for (int64_t i = 0; i < n; i++)
        w[i] -= lr * (clip * g[i] + wd * w[i]);
}

const char *cpu_sgd(const hap_step_state *s, const hap_op_call *c)
{
    float clip = 1.0f;
    CPU_TRY(prepare(c, 2, &clip));
    sgd(c->in[0]->elements, c->in[0]->data, c->in[1]->data, clip, (float)(s->lr * c->attr[0].f),
        (float)c->attr[1].f);
    return NULL;
}

CPU_WIDE static void momentum(int64_t n, float *w, float *m, const float *g, float clip, float lr,
                              float wd, float mu, float keep, float add)
{
    for (int64_t i = 0; i < n; i++) {
        float u = clip * g[i] + wd * w[i];
        m[i] = mu * m[i] + u;
        w[i] -= lr * (keep * m[i] + add * u);
    }
}

// Nesterov: the step is u + mu m, else m.
const char *cpu_momentum(const hap_step_state *s, const hap_op_call *c)
{
    float clip = 1.0f, mu = (float)c->attr[1].f;
    CPU_TRY(prepare(c, 3, &clip));
    bool nesterov = c->attr[2].i != 0;
    momentum(c->in[0]->elements, c->in[0]->data, c->in[1]->data, c->in[2]->data, clip,
             (float)(s->lr * c->attr[0].f), (float)c->attr[3].f, mu, nesterov ? mu : 1.0f,
             nesterov ? 1.0f : 0.0f);
    return NULL;
}

typedef struct adam {
    float clip, wd, shrink; // wd: added to the gradient; shrink: 1 - lr wd if decoupled
    float b1, c1, b2, c2;   // betas and 1 - beta
    float step, root, eps;  // lr / (1 - b1^t), 1 / sqrt(1 - b2^t)
} adam;

CPU_WIDE static void adam_step(int64_t n, float *w, float *m, float *v, const float *g, adam a)
{
    for (int64_t i = 0; i < n; i++) {
        float u = a.clip * g[i] + a.wd * w[i];
        m[i] = a.b1 * m[i] + a.c1 * u;
        v[i] = a.b2 * v[i] + a.c2 * (u * u);
        w[i] = a.shrink * w[i] - a.step * m[i] / (sqrtf(v[i]) * a.root + a.eps);
    }
}

const char *cpu_adam(const hap_step_state *s, const hap_op_call *c)
{
    float clip = 1.0f;
    CPU_TRY(prepare(c, 4, &clip));
    double lr = s->lr * c->attr[0].f, b1 = c->attr[1].f, b2 = c->attr[2].f;
    double wd = c->attr[4].f, t = (double)(s->step + 1);
    bool decoupled = c->attr[5].i != 0;
    adam a = {.clip = clip,
              .wd = decoupled ? 0.0f : (float)wd,
              .shrink = decoupled ? (float)(1 - lr * wd) : 1.0f,
              .b1 = (float)b1,
              .c1 = (float)(1 - b1),
              .b2 = (float)b2,
              .c2 = (float)(1 - b2),
              .step = (float)(lr / (1 - pow(b1, t))),
              .root = (float)(1 / sqrt(1 - pow(b2, t))),
              .eps = (float)c->attr[3].f};
    adam_step(c->in[0]->elements, c->in[0]->data, c->in[1]->data, c->in[2]->data, c->in[3]->data,
              a);
    return NULL;
}

// As torch.nn.utils.clip_grad_norm_: min(1, max_norm / (norm + 1e-6)).
const char *cpu_clip_scale(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    double k = c->attr[0].f / (sqrt((double)*(const float *)c->in[0]->data) + 1e-6);
    *(float *)c->out[0]->data = k > 1 ? 1.0f : (float)k;
    return NULL;
}
