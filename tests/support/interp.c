#include "support/interp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double test_uniform(uint64_t *state, double lo, double hi)
{
    return lo + (hi - lo) * (double)(test_random(state) >> 11) * 0x1p-53;
}

int64_t test_below(uint64_t *state, int64_t n)
{
    return (int64_t)(test_random(state) % (uint64_t)n);
}

// local and first of every dim, as core/tensor.c finds them.
static void place(hap_tensor *t, const int *coord)
{
    t->elements = 1;
    for (int d = 0; d < t->rank; d++) {
        const hap_dim *m = &t->dim[d];
        int c = m->axis == HAP_BOTH || m->axis < 0 ? 0 : coord[m->axis];
        t->first[d] = 0;
        int64_t n = m->n;
        if (m->axis >= 0) {
            for (int i = 0; i < c; i++)
                t->first[d] += m->table[i];
            n = m->table[c];
        }
        t->local[d] = m->outer * n * m->inner;
        t->elements *= t->local[d];
    }
    t->bytes = t->elements * hap_dtype_bytes(t->type);
}

hap_tensor shard_new(hap_dtype type, int rank, const hap_dim *dims, const int *coord)
{
    hap_tensor t = {.type = type, .rank = rank};
    for (int d = 0; d < rank; d++) {
        hb_assert(dims[d].axis != HAP_BOTH);
        t.dim[d] = dims[d];
    }
    place(&t, coord);
    t.data = calloc(1, t.bytes ? (size_t)t.bytes : 1);
    hb_assert(t.data);
    return t;
}

void shard_free(hap_tensor *t)
{
    free(t->data);
    t->data = NULL;
}

hap_op_call interp_call(const ir_node *n, hap_tensor *const *in, hap_tensor *const *out)
{
    const ir_op_row *row = ir_row(n->op);
    hap_op_call c = {.op = (hap_op_id)n->op, .n_out = n->n_out, .n_attr = row->n_attr};
    c.n_in = n->n_in > row->max_in ? n->n_in : row->max_in;
    if (n->op == IR_OP_concat) c.n_in = n->n_in;
    for (int i = 0; i < n->n_in; i++)
        c.in[i] = in[i];
    for (int i = 0; i < n->n_out; i++)
        c.out[i] = out[i];
    for (int i = 0; i < row->n_attr; i++) {
        const ir_attr *a = &n->attr[i];
        c.attr[i] = (hap_attr){.i = a->i, .f = a->f, .v = {a->n, a->v}};
    }
    return c;
}

static void fill(hap_tensor *t, const ir_init *init, uint64_t state)
{
    int64_t cols = t->rank ? t->local[t->rank - 1] : 1;
    for (int64_t i = 0; i < t->elements; i++) {
        double v = 0;
        switch (init->kind) {
        case IR_INIT_CONST: v = init->a; break;
        case IR_INIT_UNIFORM: v = test_uniform(&state, init->a, init->b); break;
        case IR_INIT_IOTA: v = init->a + init->b * (double)(i % cols); break;
        case IR_INIT_NORMAL: {
            double u = 1 - test_uniform(&state, 0, 1), w = test_uniform(&state, 0, 1);
            v = init->a * sqrt(-2 * log(u)) * cos(6.283185307179586 * w);
            break;
        }
        case IR_INIT_STORED: return;
        }
        switch (t->type) {
        case HAP_F32: ((float *)t->data)[i] = (float)v; break;
        case HAP_I64: ((int64_t *)t->data)[i] = (int64_t)v; break;
        case HAP_I32: ((int32_t *)t->data)[i] = (int32_t)v; break;
        case HAP_BOOL: ((uint8_t *)t->data)[i] = v != 0; break;
        case HAP_BF16:
        case HAP_F16: hb_assert(!"f32 tensors in tests");
        }
    }
}

interp *interp_new(hb_arena *a, const ir_graph *g, uint64_t seed)
{
    interp *x = HB_NEW(a, interp);
    *x = (interp){.arena = a, .g = g, .now = {0, g->opt.lr, seed}};
    x->t = HB_ARRAY(a, hap_tensor, g->tensors.n);
    for (int i = 0; i < g->tensors.n; i++) {
        const ir_tensor *s = &g->tensors.p[i];
        hap_tensor *t = &x->t[i];
        *t = (hap_tensor){.id = i, .type = (hap_dtype)s->dtype, .rank = s->rank};
        for (int d = 0; d < s->rank; d++)
            t->dim[d] = WHOLE(s->dim[d]);
        place(t, NULL);
        t->data = hb_alloc(a, t->bytes ? (size_t)t->bytes : 1);
        if (s->kind == IR_CONST || s->kind == IR_PARAM || s->kind == IR_BUFFER)
            fill(t, &s->init, seed * 0x2545F4914F6CDD1Du + (uint64_t)i);
    }
    return x;
}

hap_tensor *interp_get(interp *x, const char *name)
{
    for (int i = 0; i < x->g->tensors.n; i++)
        if (hb_str_is(x->g->tensors.p[i].name, name)) return &x->t[i];
    return NULL;
}

float interp_loss(const interp *x)
{
    return *(const float *)x->t[x->g->loss].data;
}

static const char *run_node(interp *x, const ir_node *n)
{
    hap_tensor *in[IR_MAX_IN], *out[IR_MAX_OUT];
    for (int i = 0; i < n->n_in; i++)
        in[i] = &x->t[n->in[i]];
    for (int i = 0; i < n->n_out; i++)
        out[i] = &x->t[n->out[i]];
    if (ir_row(n->op)->flags & IR_IN_PLACE)
        for (int i = 0; i < n->n_out; i++) { // the graph is SSA: the next value has its own memory
            memcpy(out[i]->data, in[i]->data, (size_t)in[i]->bytes);
            in[i] = out[i];
        }
    hap_op_call c = interp_call(n, in, out);
    const char *why = hap_cpu_run(&x->now, &c);
    if (!why) return NULL;
    return hb_fmt(x->arena, "%.*s (%s): %s", HB_ARG(n->name), ir_row(n->op)->name, why).p;
}

const char *interp_run_until(interp *x, ir_phase last)
{
    for (int i = 0; i < x->g->nodes.n; i++) {
        if (x->g->nodes.p[i].phase > last) continue;
        const char *why = run_node(x, &x->g->nodes.p[i]);
        if (why) return why;
    }
    return NULL;
}

const char *interp_run(interp *x)
{
    return interp_run_until(x, IR_UPDATE);
}

void interp_advance(interp *x)
{
    for (int i = 0; i < x->g->updates.n; i++) {
        const ir_update *u = &x->g->updates.p[i];
        memcpy(x->t[u->tensor].data, x->t[u->next].data, (size_t)x->t[u->next].bytes);
    }
    x->now.step++;
    x->now.lr = interp_lr(&x->g->opt, x->now.step);
}

double interp_lr(const ir_optimizer *o, int64_t step)
{
    double lr = o->lr;
    if (step < o->warmup) return lr * (double)(step + 1) / (double)o->warmup;
    if (o->cosine > 0) {
        double t = (double)(step - o->warmup) / (double)(o->cosine - o->warmup);
        if (t > 1) t = 1;
        lr *= o->min_lr + (1 - o->min_lr) * 0.5 * (1 + cos(3.141592653589793 * t));
    }
    return lr;
}
