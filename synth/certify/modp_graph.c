// The graph's values: their terms, and numbers for them on one rank.
//
// A term is a keyed hash of an op, its attributes and the terms of its operands, down to the names
// and fills of what is declared; ops that read the learning rate have its schedule in it. Values
// with one term are made in the same way, so they are equal.
//
// Numbers are drawn by the term: a call is to be right for any (but for values that turn out to be
// 0 always: the gradient of a softmax over one entry), of integers and truth values too. So no
// call is taken for right since what the graph computes at small sizes happens to be 0, or equal.
// Where an op reads positions, these are drawn.

#include "synth/certify/modp_model.h"

#include <string.h>

mp_meaning *mp_meaning_of(ir_op op)
{
    mp_meaning *of[] = {mp_point(op), mp_stat(op), mp_dense(op), mp_conv(op), mp_moe(op)};
    for (int i = 0; i < 5; i++)
        if (of[i]) return of[i];
    return NULL;
}

bool mp_apply(mp *m, hb_arena *a, const mp_call *c)
{
    mp_meaning *meaning = mp_meaning_of(c->op);
    for (int i = 0; i < c->n_out; i++)
        c->out[i].v = HB_ARRAY(a, uint64_t, c->out[i].n + 1);
    m->why = (hb_str){0};
    if (!meaning) return mp_fail(m, "has no meaning");
    return meaning(m, c);
}

// --- terms

uint64_t mp_rate(const mp *m, const double *num)
{
    uint64_t key = 0x3001;
    for (int i = 0; i < IR_SCHEDULE; i++)
        key = mp_mix(key ^ mp_const(m, num[i]));
    return mp_hash(m, key, 0);
}

uint64_t mp_term_leaf(const mp *m, hb_str name, const mp_fill *f)
{
    uint64_t key = mp_mix(m->seed ^ hb_hash(name.p, name.n));
    for (int i = 0; i < 3; i++)
        key = mp_mix(key ^ mp_const(m, f->num[i]));
    return key;
}

static uint64_t attr_term(const mp *m, uint64_t h, const ir_attr *v, ir_attr_kind kind)
{
    switch (kind) {
    case IR_ATTR_INT:
    case IR_ATTR_DTYPE:
        return mp_mix(h ^ (uint64_t)v->i);
    case IR_ATTR_BOOL:
        return mp_mix(h ^ (v->i != 0));
    case IR_ATTR_REAL:
        return mp_mix(h ^ mp_const(m, v->f));
    case IR_ATTR_INTS:
        h = mp_mix(h ^ (uint64_t)v->n);
        for (int i = 0; i < v->n; i++)
            h = mp_mix(h ^ (uint64_t)v->v[i]);
        return h;
    }
    return h;
}

uint64_t mp_term_op(const mp *m, ir_op op, const ir_attr *attr, int n_in, const uint64_t *in)
{
    const ir_op_info *row = ir_op_of(op);
    uint64_t h = mp_mix(m->seed + (uint64_t)op);
    for (int i = 0; i < row->n_attr; i++)
        h = attr_term(m, h, &attr[i], row->attr[i].kind);
    for (int i = 0; i < n_in; i++)
        h = mp_mix(h ^ in[i]) + 1;
    return row->flags & IR_IN_PLACE ? mp_mix(h ^ m->rate) : h;
}

// --- the run

static void named(mp_graph *x, int t, hb_arena *a)
{
    uint64_t *key = hb_copy(a, &x->term[t], sizeof *key);
    hb_str text = {(const char *)key, sizeof *key};
    int first = hb_map_get(x->of_term, text);
    x->tensor_next[t] = -1;
    if (first < 0) {
        hb_map_put(x->of_term, text, t);
        return;
    }
    x->tensor_next[t] = x->tensor_next[first];
    x->tensor_next[first] = t;
}

int mp_tensor_of(const mp_graph *x, uint64_t term)
{
    return hb_map_get(x->of_term, (hb_str){(const char *)&term, sizeof term});
}

static void name_all(mp *m, mp_graph *x)
{
    const ir_graph *g = m->g;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *s = &g->tensors.p[t];
        if (s->kind == IR_VALUE) continue;
        mp_fill f = mp_fill_of(g, t);
        x->term[t] = mp_term_leaf(m, s->name, &f);
        hb_map_put(x->of_name, s->name, t);
        named(x, t, m->a);
    }
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_node *k = &g->nodes.p[n];
        uint64_t in[IR_MAX_IN];
        for (int i = 0; i < k->n_in; i++)
            in[i] = x->term[k->in[i]];
        uint64_t term = mp_term_op(m, k->op, k->attr, k->n_in, in);
        for (int i = 0; i < k->n_out; i++) {
            x->term[k->out[i]] = i == 0 ? term : mp_mix(term + (uint64_t)i);
            named(x, k->out[i], m->a);
        }
    }
}

void mp_graph_new(mp *m, mp_graph *x)
{
    const ir_graph *g = m->g;
    int n = g->tensors.n;
    *x = (mp_graph){
        .of_term = hb_map_new(m->a), .of_name = hb_map_new(m->a), .positions = mp_positions_of(m)};
    x->number = HB_ARRAY(m->a, mp_part, n + 1);
    x->index = HB_ARRAY(m->a, mp_part, n + 1);
    x->null = HB_ARRAY(m->a, bool, n + 1);
    x->term = HB_ARRAY(m->a, uint64_t, n + 1);
    x->tensor_next = HB_ARRAY(m->a, int, n + 1);
    double schedule[IR_SCHEDULE];
    ir_schedule(&g->opt, schedule);
    m->rate = mp_rate(m, schedule);
    name_all(m, x);
}

mp_part mp_whole_part(mp *m, int t)
{
    const ir_tensor *s = &m->g->tensors.p[t];
    mp_part v = {.rank = s->rank, .n = 1, .dtype = s->dtype};
    for (int d = 0; d < s->rank; d++) {
        v.ix[d] = mp_whole(m, t, d);
        v.n *= v.ix[d]->g;
    }
    return v;
}

const mp_part *mp_value(mp *m, mp_graph *x, int t, bool index)
{
    mp_part *v = index ? &x->index[t] : &x->number[t];
    if (v->v) return v;
    *v = mp_whole_part(m, t);
    v->index = index;
    v->v = HB_ARRAY(m->a, uint64_t, v->n + 1);
    if (index) mp_fill_positions(m, v, x->term[t], &x->positions);
    for (int64_t e = 0; !index && !x->null[t] && e < v->n; e++)
        v->v[e] = mp_hash(m, x->term[t], (uint64_t)e);
    return v;
}
