#include "tests/support/interp.h"

#include <stdlib.h>
#include <string.h>

#include "core/fill.h"
#include "core/learning_rate.h"

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
        int c = m->axis < 0 ? 0 : coord[m->axis];
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
    for (int d = 0; d < rank; d++)
        t.dim[d] = dims[d];
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
    const ir_op_info *row = ir_op_of(n->op);
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

// As the runtime fills it (core/fill.c): a function of seed, name and element.
static void fill(hb_arena *a, hap_tensor *t, const ir_tensor *s, uint64_t seed)
{
    static const hap_rank alone = {.n_ranks = 1};
    const ir_init *init = &s->init;
    hap_fill f = HAP_FILL(init->a);
    switch (init->kind) {
    case IR_INIT_CONST:
        break;
    case IR_INIT_NORMAL:
        f = HAP_NORMAL(0, init->a);
        break;
    case IR_INIT_UNIFORM:
        f = HAP_UNIFORM(init->a, init->b);
        break;
    case IR_INIT_IOTA:
        f = HAP_IOTA(init->a, init->b);
        break;
    case IR_INIT_STORED:
        return;
    }
    const char *why =
        hap_fill_tensor(&alone, t, hb_fmt(a, "%.*s", HB_ARG(s->name)).p, f, seed, t->data);
    hb_assert(!why);
}

static double lr_of(const ir_graph *g, int64_t step)
{
    hap_lr lr = {
#define SCHEDULE(name, kind) .name = g->opt.name,
#include "hap/schedule.def"
#undef SCHEDULE
    };
    return hap_lr_at(lr, step);
}

interp *interp_new(hb_arena *a, const ir_graph *g, uint64_t seed)
{
    interp *x = HB_NEW(a, interp);
    *x = (interp){.arena = a, .g = g, .now = {0, lr_of(g, 0), seed}};
    x->t = HB_ARRAY(a, hap_tensor, g->tensors.n);
    for (int i = 0; i < g->tensors.n; i++) {
        const ir_tensor *s = &g->tensors.p[i];
        hap_tensor *t = &x->t[i];
        *t = (hap_tensor){.id = i, .type = (hap_dtype)s->dtype, .rank = s->rank};
        for (int d = 0; d < s->rank; d++)
            t->dim[d] = WHOLE(s->dim[d]);
        place(t, NULL);
        t->data = hb_alloc(a, t->bytes ? (size_t)t->bytes : 1);
        if (s->kind == IR_CONST || s->kind == IR_PARAM || s->kind == IR_BUFFER) fill(a, t, s, seed);
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

int interp_load(interp *x, const char *path)
{
    arrays f = arrays_read(x->arena, path);
    int n = 0;
    for (int i = 0; i < x->g->tensors.n; i++) {
        hb_str name = x->g->tensors.p[i].name;
        const array *v = arrays_get(&f, name.p, name.n);
        if (!v) continue;
        hb_assert(v->type == x->t[i].type && v->elements == x->t[i].elements);
        memcpy(x->t[i].data, v->data, (size_t)x->t[i].bytes);
        n++;
    }
    return n;
}

void interp_feed(interp *x, int tensor, const array *rows)
{
    hap_tensor *t = &x->t[tensor];
    int64_t total = rows->dim[0], row = rows->elements / total, n = t->elements / row;
    hb_assert(rows->type == t->type && row * n == t->elements);
    int64_t bytes = row * hap_dtype_bytes(t->type);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)t->data + i * bytes,
               (const char *)rows->data + (x->now.step * n + i) % total * bytes, (size_t)bytes);
}

const char *interp_run_node(interp *x, int node)
{
    const ir_node *n = &x->g->nodes.p[node];
    hap_tensor *in[IR_MAX_IN], *out[IR_MAX_OUT];
    for (int i = 0; i < n->n_in; i++)
        in[i] = &x->t[n->in[i]];
    for (int i = 0; i < n->n_out; i++)
        out[i] = &x->t[n->out[i]];
    if (ir_op_of(n->op)->flags & IR_IN_PLACE)
        for (int i = 0; i < n->n_out; i++) { // the graph is SSA: the next value has its own memory
            memcpy(out[i]->data, in[i]->data, (size_t)in[i]->bytes);
            in[i] = out[i];
        }
    hap_op_call c = interp_call(n, in, out);
    const char *why = hap_cpu_run(&x->now, &c);
    if (!why) return NULL;
    return hb_fmt(x->arena, "%.*s (%s): %s", HB_ARG(n->name), ir_op_of(n->op)->name, why).p;
}

const char *interp_run_until(interp *x, ir_phase last)
{
    for (int i = 0; i < x->g->nodes.n; i++) {
        if (x->g->nodes.p[i].phase > last) continue;
        const char *why = interp_run_node(x, i);
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
    x->now.lr = lr_of(x->g, x->now.step);
}
