#include "tests/certify/record_gen.h"

#include <string.h>

typedef struct gax { // one axis of a state
    char kind;       // 'R', 'S', 'P'
    char reducer;    // P
    bool joint;      // S: one factor over both axes; table on axis 0: sums by machine, 1: by rank
    int dim;
    int64_t outer, n, inner; // S
    const int64_t *table;
} gax;

// A table, or the two of a cut over both axes.
typedef struct cutting {
    const int64_t *table[SYN_MAX_AXES];
    bool joint;
} cutting;

typedef struct gst {
    gax ax[SYN_MAX_AXES];
} gst;

typedef struct copy {
    int value, id; // graph tensor, buffer
    gst s;
} copy;

typedef struct form {
    int k; // factor, -1
    gax in[IR_MAX_IN], out[IR_MAX_OUT];
} form;

typedef struct pending {
    int call, event;
} pending;

typedef struct gen {
    hb_arena *a;
    const ir_graph *g;
    const ir_factors *f;
    const gen_options *o;
    uint64_t rng;
    record *r;
    HB_VEC(copy) copies;
    HB_VEC(rec_call) step;
    HB_VEC(pending) flying;
    int64_t **table; // [class][axis, 2: by rank, 3: sums by machine of those][2]
    int *home;       // by graph tensor
    int n_events;
    gen_trace *trace;
} gen;

uint64_t gen_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int pick(gen *x, int n)
{
    return (int)(gen_random(&x->rng) % (uint64_t)n);
}

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

// --- tables

enum { N_TABLES = 2, N_KINDS = SYN_MAX_AXES + 2 };

static int64_t *make_table(gen *x, int cls, int n, bool uneven)
{
    int64_t *t = HB_ARRAY(x->a, int64_t, n), grain = x->f->cls[cls].grain,
            size = x->f->cls[cls].size;
    if (grain < 1) grain = 1;
    int64_t units = size / grain, left = units; // the last boundary is the end of the factor
    for (int i = 0; i < n; i++) {
        int64_t fair = left / (n - i);
        if (uneven && i + 1 < n)
            fair = left > 0 ? (int64_t)(gen_random(&x->rng) % (uint64_t)(left + 1)) : 0;
        if (i + 1 == n) fair = left;
        t[i] = fair * grain;
        left -= fair;
    }
    t[n - 1] += size - units * grain;
    return t;
}

static int64_t *known_table(gen *x, int cls, int kind, int which)
{
    int64_t **at = &x->table[(cls * N_KINDS + kind) * N_TABLES + which];
    if (*at) return *at;
    int n = kind == SYN_BOTH ? x->r->n_ranks : x->o->size[kind == SYN_BOTH + 1 ? 0 : kind];
    if (kind <= SYN_BOTH) return *at = make_table(x, cls, n, which == 1);
    const int64_t *by_rank = known_table(x, cls, SYN_BOTH, which);
    *at = HB_ARRAY(x->a, int64_t, n);
    for (int i = 0; i < x->r->n_ranks; i++)
        (*at)[i / x->o->size[1]] += by_rank[i];
    return *at;
}

static cutting cut_of(gen *x, int cls, int axis)
{
    int which = pick(x, N_TABLES);
    bool sums = x->o->n_axes == 2 && axis == 0 && pick(x, 3) == 0;
    cutting c = {{NULL}, false};
    c.table[axis] = known_table(x, cls, sums ? SYN_BOTH + 1 : axis, which);
    return c;
}

static cutting joint_cut(gen *x, int cls)
{
    int which = pick(x, N_TABLES);
    return (cutting){
        {known_table(x, cls, SYN_BOTH + 1, which), known_table(x, cls, SYN_BOTH, which)}, true};
}

// --- states

static bool same_ax(const gax *a, const gax *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == 'P') return a->reducer == b->reducer;
    return a->kind == 'R' || (a->dim == b->dim && a->outer == b->outer && a->n == b->n &&
                              a->inner == b->inner && a->table == b->table && a->joint == b->joint);
}

static bool same_factor(const gax *a, const gax *b)
{
    return a->dim == b->dim && a->outer == b->outer && a->n == b->n && a->inner == b->inner;
}

static bool same_state(const gen *x, const gst *a, const gst *b)
{
    for (int i = 0; i < x->o->n_axes; i++)
        if (!same_ax(&a->ax[i], &b->ax[i])) return false;
    return true;
}

static bool joint(const gst *s)
{
    return s->ax[1].joint;
}

// A dim can be cut on one axis only, or at one factor on both.
static bool representable(const gen *x, const gst *s)
{
    return x->o->n_axes < 2 || joint(s) || s->ax[0].kind != 'S' || s->ax[1].kind != 'S' ||
           s->ax[0].dim != s->ax[1].dim;
}

static gst whole(void)
{
    return (gst){{{.kind = 'R'}, {.kind = 'R'}}};
}

static int new_buffer(gen *x, int value, const gst *s)
{
    const ir_tensor *t = &x->g->tensors.p[value];
    rec_tensor b = {.id = x->r->tensors.n, .seg = 1, .dtype = t->dtype, .rank = t->rank};
    for (int d = 0; d < t->rank; d++) {
        b.dim[d] = (rec_dim){.n = t->dim[d], .outer = 1, .inner = 1, .axis = -1};
        for (int i = 0; i < x->o->n_axes; i++) {
            const gax *g = &s->ax[i];
            if (g->kind != 'S' || g->dim != d || (i == 0 && joint(s))) continue;
            int n = joint(s) ? x->r->n_ranks : x->o->size[i];
            b.dim[d] = (rec_dim){g->n, g->outer, g->inner, joint(s) ? SYN_BOTH : i, n, NULL};
            b.dim[d].table = hb_copy(x->a, g->table, sizeof *g->table * (size_t)n);
        }
    }
    HB_PUSH(x->a, &x->r->tensors, b);
    return b.id;
}

static int keep(gen *x, int value, const gst *s)
{
    int id = new_buffer(x, value, s);
    HB_PUSH(x->a, &x->copies, (copy){value, id, *s});
    return id;
}

// --- calls

static int *one(gen *x, int id)
{
    return hb_copy(x->a, &id, sizeof id);
}

static void wait_one(gen *x, int i)
{
    HB_PUSH(x->a, &x->step,
            (rec_call){.kind = REC_WAIT, .event = x->flying.p[i].event, .scratch = -1});
    for (; i + 1 < x->flying.n; i++)
        x->flying.p[i] = x->flying.p[i + 1];
    x->flying.n--;
}

// Waits for whatever writes the buffer (or, before it is written, reads it).
static void wait_for(gen *x, int id, bool to_write)
{
    for (int i = 0; i < x->flying.n; i++) {
        const rec_call *k = &x->step.p[x->flying.p[i].call];
        if (k->out[0] == id || (to_write && k->in[0] == id)) wait_one(x, i--);
    }
}

// What the group of a machine holds of a cut over the axes of the mask (machine 0 stands for all
// but where one machine's part of a cut over both axes is meant).
static const int64_t *group_table(const gen *x, const gax *g, unsigned axes, int machine)
{
    return g->joint && axes == 2u ? g->table + machine * x->o->size[1] : g->table;
}

static int group_size(const gen *x, unsigned axes)
{
    return axes == 3u ? x->r->n_ranks : x->o->size[axes == 2u ? 1 : 0];
}

// Bytes that a machine's group holds of a buffer of which the mask cuts `dim`, and the product of
// what stands before that factor.
static int64_t group_bytes(const gen *x, int id, unsigned axes, int machine, int dim,
                           int64_t *before)
{
    const rec_tensor *t = &x->r->tensors.p[id];
    int64_t full = ir_dtype_bytes(t->dtype);
    *before = 1;
    for (int d = 0; d < t->rank; d++) {
        const rec_dim *v = &t->dim[d];
        int64_t n = v->n;
        bool mine = v->axis == SYN_BOTH ? axes == 3u : v->axis >= 0 && (axes >> v->axis & 1u);
        if (v->axis == SYN_BOTH && !mine) {
            n = 0;
            for (int i = 0; i < x->o->size[1]; i++)
                n += v->table[machine * x->o->size[1] + i];
        } else if (v->axis >= 0 && !mine) {
            n = 0;
            for (int i = 0; i < v->n_table; i++)
                if (v->table[i] > n) n = v->table[i];
        }
        full *= v->outer * n * v->inner;
        if (d < dim) *before *= v->outer * n * v->inner;
        if (d == dim) *before *= v->outer;
    }
    return full;
}

static cost_form pick_form(gen *x, cost_coll coll, bool max, unsigned axes, const gax *cut)
{
    bool even = true;
    for (int m = 0; cut && m < x->o->size[0]; m++) {
        const int64_t *table = group_table(x, cut, axes, m);
        for (int i = 1; i < group_size(x, axes); i++)
            even = even && table[i] == table[0];
    }
    for (;;) {
        // One-sided puts with one copy in flight, or with any number.
        int most = group_size(x, axes) > 1 ? group_size(x, axes) - 1 : 1;
        int i = pick(x, COST_PUTS + 2);
        cost_form f = i < COST_PUTS    ? (cost_form)i
                      : i == COST_PUTS ? COST_PUT(1)
                                       : COST_PUT(1 + x->r->calls.n % most);
        if (!cost_form_exists(coll, f) || (f == COST_TWO_LEVEL && axes != 3u)) continue;
        if ((f == COST_EVEN && !even) || (max && cost_is_put(f))) continue;
        return f;
    }
}

static void start(gen *x, cost_coll coll, unsigned axes, bool max, int dst, int src,
                  const gax *from, const gax *to)
{
    bool shards = coll == COST_ALL_GATHER || coll == COST_REDUCE_SCATTER;
    const gax *cut = from ? from : to;
    rec_call k = {.kind = REC_START,
                  .coll = coll,
                  .axes = axes,
                  .reduce_max = max,
                  .n_in = 1,
                  .n_out = 1,
                  .in = one(x, src),
                  .out = one(x, dst),
                  .scratch = -1,
                  .event = x->n_events++};
    k.form = pick_form(x, coll, max, axes, shards ? cut : NULL);
    int64_t need = 0;
    for (int m = 0; m < (x->o->n_axes == 2 ? x->o->size[0] : 1); m++) {
        cost_shards s = {.n = group_size(x, axes),
                         .item = ir_dtype_bytes(x->r->tensors.p[src].dtype),
                         .n_inner = x->o->n_axes == 2 ? x->o->size[1] : 0};
        int64_t before = 1;
        s.bytes = (double)group_bytes(x, from ? src : dst, axes, m, cut ? cut->dim : -1, &before);
        s.apart = before == 1;
        s.table = cut ? group_table(x, cut, axes, m) : NULL;
        s.table2 = from && to ? group_table(x, to, axes, m) : NULL;
        int64_t bytes = cost_scratch(coll, k.form, &s);
        if (bytes > need) need = bytes;
    }
    if (need > 0) {
        k.scratch = x->r->tensors.n;
        rec_tensor t = {.id = k.scratch, .seg = 0, .dtype = IR_F32, .rank = 1};
        t.dim[0] = (rec_dim){.n = need / 4, .outer = 1, .inner = 1, .axis = -1};
        HB_PUSH(x->a, &x->r->tensors, t);
    }
    x->r->tensors.p[dst].seg = x->r->tensors.p[src].seg = 0;
    HB_PUSH(x->a, &x->flying, (pending){x->step.n, k.event});
    HB_PUSH(x->a, &x->step, k);
}

static int add_local(gen *x, rec_kind kind, unsigned axes, int value, int src, const gst *to)
{
    int dst = keep(x, value, to);
    HB_PUSH(x->a, &x->step,
            (rec_call){.kind = kind,
                       .axes = axes,
                       .n_in = 1,
                       .n_out = 1,
                       .in = one(x, src),
                       .out = one(x, dst),
                       .scratch = -1});
    return dst;
}

// --- conversions

// One axis of a copy to another state in one call; -1 if there is no such call.
static int direct(gen *x, const copy *c, int axis, const gax *to, gst *now)
{
    const gax *from = &c->s.ax[axis];
    *now = c->s;
    now->ax[axis] = *to;
    if (!representable(x, now)) return -1;
    wait_for(x, c->id, false);
    if (from->kind == 'R') {
        if (to->kind == 'S') return add_local(x, REC_SLICE, 0, c->value, c->id, now);
        for (int i = 0; i < x->o->n_axes; i++)
            if (c->s.ax[i].kind == 'P' && c->s.ax[i].reducer == 'm') return -1;
        return add_local(x, REC_PARTIAL, 1u << axis, c->value, c->id, now);
    }
    cost_coll coll;
    if (from->kind == 'P') {
        if (to->kind == 'P' || (to->kind == 'S' && from->reducer != 's')) return -1;
        coll = to->kind == 'R' ? COST_ALL_REDUCE : COST_REDUCE_SCATTER;
    } else if (to->kind == 'R') {
        coll = COST_ALL_GATHER;
    } else if (to->kind == 'S' && same_factor(from, to)) {
        coll = COST_RESHARD;
    } else if (to->kind == 'S' && from->dim != to->dim) {
        coll = COST_ALL_TO_ALL;
    } else {
        return -1;
    }
    int src = c->id, value = c->value;
    int dst = keep(x, value, now); // c is gone from here on
    start(x, coll, 1u << axis, coll == COST_ALL_REDUCE && from->reducer == 'm', dst, src,
          from->kind == 'S' ? from : NULL, to->kind == 'S' ? to : NULL);
    return dst;
}

static copy collect(gen *x, const copy *c, cost_coll coll, unsigned axes, bool max, const gst *now)
{
    const int axis = axes == 1u ? 0 : 1;
    const gax from = c->s.ax[axis], to = now->ax[axis];
    int src = c->id, value = c->value;
    wait_for(x, src, false);
    copy out = {value, keep(x, value, now), *now}; // c may be gone
    start(x, coll, axes, max, out.id, src, from.kind == 'S' ? &from : NULL,
          to.kind == 'S' ? &to : NULL);
    return out;
}

static int convert(gen *x, copy c, const gst *to);

// Away from a factor cut over both axes.
static int from_joint(gen *x, copy c, const gst *to)
{
    const gax r = {.kind = 'R'};
    gst sums = c.s;
    sums.ax[0].joint = false;
    sums.ax[1] = to->ax[1];
    bool exchange = sums.ax[1].kind == 'S' && sums.ax[1].dim != sums.ax[0].dim && !joint(to);
    if (joint(to) && same_factor(&c.s.ax[1], &to->ax[1]))
        return collect(x, &c, COST_RESHARD, 3u, false, to).id;
    if (joint(to) && c.s.ax[1].dim != to->ax[1].dim && pick(x, 2))
        return collect(x, &c, COST_ALL_TO_ALL, 3u, false, to).id;
    if (exchange && pick(x, 2)) // axis 0 keeps the sums
        return convert(x, collect(x, &c, COST_ALL_TO_ALL, 2u, false, &sums), to);
    sums.ax[1] = r;
    if (!pick(x, 2)) sums.ax[0] = r;
    c = collect(x, &c, COST_ALL_GATHER, sums.ax[0].kind == 'R' ? 3u : 2u, false, &sums);
    return convert(x, c, to);
}

// To a factor cut over both axes.
static int to_joint(gen *x, copy c, const gst *to)
{
    bool sums = c.s.ax[0].kind == 'P' && c.s.ax[1].kind == 'P' && c.s.ax[0].reducer == 's' &&
                c.s.ax[1].reducer == 's';
    if (sums && pick(x, 2)) return collect(x, &c, COST_REDUCE_SCATTER, 3u, false, to).id;
    if (c.s.ax[0].kind == 'R' && c.s.ax[1].kind == 'R' && pick(x, 2)) {
        wait_for(x, c.id, false);
        return add_local(x, REC_SLICE, 0, c.value, c.id, to);
    }
    gst mid = *to;
    mid.ax[0].joint = false;
    mid.ax[1] = (gax){.kind = 'R'};
    bool late = c.s.ax[1].kind == 'P' && c.s.ax[1].reducer == 's' && pick(x, 2);
    bool exchange = c.s.ax[1].kind == 'S' && c.s.ax[1].dim != to->ax[1].dim && pick(x, 2);
    if (late || exchange) mid.ax[1] = c.s.ax[1];
    int id = convert(x, c, &mid);
    c = (copy){c.value, id, mid};
    if (late) return collect(x, &c, COST_REDUCE_SCATTER, 2u, false, to).id;
    if (exchange) return collect(x, &c, COST_ALL_TO_ALL, 2u, false, to).id;
    wait_for(x, c.id, false);
    return add_local(x, REC_SLICE, 0, c.value, c.id, to);
}

static int convert(gen *x, copy c, const gst *to)
{
    gst now;
    const gax r = {.kind = 'R'};
    if (same_state(x, &c.s, to)) return c.id;
    if (x->o->n_axes == 2 && c.s.ax[0].kind == 'P' && c.s.ax[1].kind == 'P' &&
        c.s.ax[0].reducer == c.s.ax[1].reducer && to->ax[0].kind == 'R' && to->ax[1].kind == 'R' &&
        pick(x, 2))
        return collect(x, &c, COST_ALL_REDUCE, 3u, c.s.ax[0].reducer == 'm', to).id;
    if (joint(&c.s)) return from_joint(x, c, to);
    if (joint(to)) return to_joint(x, c, to);
    for (int pass = 0; pass < 2; pass++) // away from what it is, then to what it must be
        for (int i = 0; i < x->o->n_axes; i++) {
            if (same_ax(&c.s.ax[i], &to->ax[i]) || (pass == 0 && c.s.ax[i].kind == 'R')) continue;
            copy from = c;
            int id = pass == 1 || pick(x, 2) ? direct(x, &from, i, &to->ax[i], &now) : -1;
            if (id < 0) id = direct(x, &from, i, &r, &now);
            hb_assert(id >= 0);
            c = (copy){c.value, id, now};
        }
    hb_assert(same_state(x, &c.s, to));
    return c.id;
}

static int obtain(gen *x, int value, const gst *want)
{
    int from = -1, seen = 0;
    for (int i = 0; i < x->copies.n; i++) {
        if (x->copies.p[i].value != value) continue;
        if (same_state(x, &x->copies.p[i].s, want)) return x->copies.p[i].id;
        bool maxima = x->copies.p[i].s.ax[0].kind == 'P' && want->ax[0].kind == 'P';
        if (!maxima && pick(x, ++seen) == 0) from = i;
    }
    for (int i = 0; from < 0 && i < x->copies.n; i++)
        if (x->copies.p[i].value == value) from = i;
    hb_assert(from >= 0);
    return convert(x, x->copies.p[from], want);
}

// --- forms

static bool place(const ir_rule *r, const ir_rule_dim *dims, int rank, int k, const cutting *c,
                  int axis, gax *out)
{
    int dim = 0, pos = 0;
    *out = (gax){.kind = 'R'};
    if (!ir_rule_find(dims, rank, k, &dim, &pos)) return false;
    *out = (gax){.kind = 'S',
                 .joint = c->joint,
                 .dim = dim,
                 .outer = 1,
                 .n = r->factor[k].size,
                 .inner = 1,
                 .table = c->table[axis]};
    for (int p = 0; p < dims[dim].n; p++) {
        int64_t size = dims[dim].f[p] < 0 ? 1 : r->factor[dims[dim].f[p]].size;
        if (p < pos) out->outer *= size;
        if (p > pos) out->inner *= size;
    }
    return true;
}

// A random linear operand of every term that `held` does not mark becomes P. False if a term has
// none.
static bool pass_partial(gen *x, const ir_node *n, const ir_rule *r, unsigned held, form *out)
{
    for (int t = 0; t < r->n_terms; t++) {
        int chosen = -1, seen = 0;
        bool present = false;
        for (int i = 0; i < n->n_in; i++) {
            if (r->term[i] != t) continue;
            present = true;
            if ((r->linear >> i & 1u) && is_float(x->g->tensors.p[n->in[i]].dtype) &&
                pick(x, ++seen) == 0)
                chosen = i;
        }
        if (!present || (held >> t & 1u)) continue;
        if (chosen < 0) return false;
        out->in[chosen] = (gax){.kind = 'P', .reducer = 's'};
    }
    return true;
}

static bool form_cut(gen *x, const ir_node *n, const ir_rule *r, int k, const cutting *c, int axis,
                     form *out)
{
    unsigned held = 0;
    bool contracted = false;
    *out = (form){.k = k};
    if (r->factor[k].whole || x->f->cls[r->factor[k].cls].whole) return false;
    for (int i = 0; i < n->n_in; i++)
        if (place(r, r->in[i], x->g->tensors.p[n->in[i]].rank, k, c, axis, &out->in[i]))
            held |= 1u << r->term[i];
    for (int i = 0; i < n->n_out; i++) {
        const ir_tensor *t = &x->g->tensors.p[n->out[i]];
        if (place(r, r->out[i], t->rank, k, c, axis, &out->out[i])) continue;
        if (r->reducer[i] == '-') return false;
        contracted = true;
        out->out[i] = (gax){.kind = 'P', .reducer = r->reducer[i]};
    }
    return !contracted || pass_partial(x, n, r, held, out);
}

static bool form_through(gen *x, const ir_node *n, const ir_rule *r, form *out)
{
    *out = (form){.k = -1};
    for (int i = 0; i < n->n_in; i++)
        out->in[i] = (gax){.kind = 'R'};
    for (int i = 0; i < n->n_out; i++) {
        if (r->reducer[i] != 's') return false;
        out->out[i] = (gax){.kind = 'P', .reducer = 's'};
    }
    return n->n_in > 0 && pass_partial(x, n, r, 0, out);
}

static void form_none(const ir_node *n, form *out)
{
    *out = (form){.k = -1};
    for (int i = 0; i < n->n_in; i++)
        out->in[i] = (gax){.kind = 'R'};
    for (int i = 0; i < n->n_out; i++)
        out->out[i] = (gax){.kind = 'R'};
}

// Do the forms of two axes fit together: other factors, no dim cut twice?
static bool fit(const ir_node *n, const form *a, const form *b)
{
    if (a->k >= 0 && a->k == b->k) return false;
    for (int i = 0; i < n->n_in; i++)
        if (a->in[i].kind == 'S' && b->in[i].kind == 'S' && a->in[i].dim == b->in[i].dim)
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (a->out[i].kind == 'S' && b->out[i].kind == 'S' && a->out[i].dim == b->out[i].dim)
            return false;
    return true;
}

// An optimizer node follows the home of its parameter.
static void form_update(gen *x, const ir_node *n, const ir_rule *r, int axis, form *out)
{
    const gax *home = NULL;
    for (int i = 0; i < x->copies.n; i++)
        if (x->copies.p[i].id == x->home[n->in[0]]) home = &x->copies.p[i].s.ax[axis];
    hb_assert(home);
    form_none(n, out);
    for (int k = 0; home->kind == 'S' && k < r->n_factors; k++) {
        gax here;
        cutting c = {{NULL}, home->joint};
        c.table[axis] = home->table;
        if (!place(r, r->in[0], x->g->tensors.p[n->in[0]].rank, k, &c, axis, &here) ||
            !same_ax(&here, home))
            continue;
        bool ok = form_cut(x, n, r, k, &c, axis, out);
        hb_assert(ok);
        return;
    }
    hb_assert(home->kind == 'R');
}

static void choose(gen *x, const ir_node *n, const ir_rule *r, form *forms)
{
    bool update = ir_op_of(n->op)->flags & IR_IN_PLACE;
    for (int try = 0; !update && try < 4 && x->o->n_axes == 2 && r->n_factors > 0; try++) {
        if (pick(x, 100) >= x->o->cut_percent / 2) continue;
        int k = pick(x, r->n_factors);
        cutting c = joint_cut(x, r->factor[k].cls);
        if (form_cut(x, n, r, k, &c, 0, &forms[0]) && form_cut(x, n, r, k, &c, 1, &forms[1]))
            return;
    }
    for (int a = 0; a < x->o->n_axes; a++) {
        if (update) {
            form_update(x, n, r, a, &forms[a]);
            continue;
        }
        form_none(n, &forms[a]);
        for (int try = 0; try < 8; try++) {
            if (r->n_factors == 0 || pick(x, 100) >= x->o->cut_percent) break;
            form c;
            int k = pick(x, r->n_factors + 1);
            cutting cut = {{NULL}, false};
            if (k < r->n_factors) cut = cut_of(x, r->factor[k].cls, a);
            bool ok =
                k == r->n_factors ? form_through(x, n, r, &c) : form_cut(x, n, r, k, &cut, a, &c);
            if (!ok || (a == 1 && !fit(n, &forms[0], &c))) continue;
            forms[a] = c;
            break;
        }
    }
}

static void add_node(gen *x, int node)
{
    const ir_node *n = &x->g->nodes.p[node];
    const ir_rule *r = x->f->rule[node];
    bool update = ir_op_of(n->op)->flags & IR_IN_PLACE;
    form forms[SYN_MAX_AXES];
    int in[IR_MAX_IN], out[IR_MAX_OUT];
    choose(x, n, r, forms);
    for (int i = 0; i < n->n_in; i++) {
        gst want = whole();
        for (int a = 0; a < x->o->n_axes; a++)
            want.ax[a] = forms[a].in[i];
        in[i] = update && i < n->n_out ? x->home[n->in[i]] : obtain(x, n->in[i], &want);
    }
    for (int i = 0; i < n->n_in; i++)
        wait_for(x, in[i], update && i < n->n_out);
    for (int i = 0; i < n->n_out; i++) {
        gst s = whole();
        for (int a = 0; a < x->o->n_axes; a++)
            s.ax[a] = forms[a].out[i];
        if (!update) {
            out[i] = keep(x, n->out[i], &s);
            continue;
        }
        out[i] = in[i]; // the home holds the next value from now on
        for (int c = 0; c < x->copies.n; c++)
            if (x->copies.p[c].id == in[i]) x->copies.p[c].value = n->out[i];
    }
    rec_call k = {
        .kind = REC_OP, .op = (int)n->op, .n_in = n->n_in, .n_out = n->n_out, .scratch = -1};
    k.in = hb_copy(x->a, in, sizeof *in * (size_t)n->n_in);
    k.out = hb_copy(x->a, out, sizeof *out * (size_t)n->n_out);
    k.attr = hb_copy(x->a, n->attr, sizeof n->attr);
    if (x->trace) {
        gen_op t = {.call = x->step.n, .node = node};
        for (int i = 0; i < n->n_out; i++)
            for (int a = 0; a < x->o->n_axes; a++)
                if (forms[a].out[i].kind == 'P') t.partial[i][a] = forms[a].out[i].reducer;
        HB_PUSH(x->a, &x->trace->ops, t);
    }
    HB_PUSH(x->a, &x->step, k);
    if (x->flying.n > 0 && pick(x, 3) == 0) wait_one(x, 0);
}

// --- declarations

static gst random_home(gen *x, int t)
{
    const ir_tensor *v = &x->g->tensors.p[t];
    gst s = whole();
    if (v->kind == IR_STATE) { // as its parameter
        for (int i = 0; i < x->copies.n; i++)
            if (x->copies.p[i].id == x->home[v->of]) return x->copies.p[i].s;
    }
    for (int a = 0; a < x->o->n_axes && v->kind != IR_BUFFER; a++) {
        if (v->rank == 0 || pick(x, 100) >= x->o->cut_percent) continue;
        int d = pick(x, v->rank);
        const ir_dim_factors *f = &x->f->dim[t][d];
        int pos = f->n > 0 ? pick(x, f->n) : 0;
        if (f->n == 0 || x->f->cls[f->cls[pos]].whole) continue;
        bool both = a == 0 && x->o->n_axes == 2 && pick(x, 3) == 0;
        cutting cut = both ? joint_cut(x, f->cls[pos]) : cut_of(x, f->cls[pos], a);
        gax c = {.kind = 'S',
                 .joint = both,
                 .dim = d,
                 .outer = 1,
                 .n = x->f->cls[f->cls[pos]].size,
                 .inner = 1,
                 .table = cut.table[a]};
        for (int p = 0; p < f->n; p++) {
            if (p < pos) c.outer *= x->f->cls[f->cls[p]].size;
            if (p > pos) c.inner *= x->f->cls[f->cls[p]].size;
        }
        s.ax[a] = c;
        if (both) {
            s.ax[1] = c;
            s.ax[1].table = cut.table[1];
            break;
        }
        if (!representable(x, &s)) s.ax[a] = (gax){.kind = 'R'};
    }
    return s;
}

static void declare(gen *x, int t)
{
    const ir_tensor *v = &x->g->tensors.p[t];
    rec_call k = {.name = v->name, .n_in = 1, .scratch = -1};
    switch (v->kind) {
    case IR_INPUT:
        k.kind = REC_INPUT;
        break;
    case IR_PARAM:
        k.kind = REC_PARAM;
        break;
    case IR_STATE:
        k.kind = REC_STATE;
        break;
    case IR_BUFFER:
        k.kind = REC_BUFFER;
        break;
    case IR_CONST:
        k.kind = REC_CONST;
        break;
    case IR_VALUE:
        return;
    }
    gst s = random_home(x, t);
    x->home[t] = keep(x, t, &s);
    k.in = one(x, x->home[t]);
    const ir_init *init = &v->init;
    if (v->kind != IR_INPUT && v->kind != IR_STATE) {
        static const int kinds[] = {[IR_INIT_CONST] = 0,
                                    [IR_INIT_NORMAL] = 1,
                                    [IR_INIT_UNIFORM] = 2,
                                    [IR_INIT_IOTA] = 3,
                                    [IR_INIT_STORED] = 0};
        k.num[0] = kinds[init->kind];
        k.num[1] = init->kind == IR_INIT_NORMAL || init->kind == IR_INIT_STORED ? 0 : init->a;
        k.num[2] = init->kind == IR_INIT_NORMAL                                  ? init->a
                   : init->kind == IR_INIT_UNIFORM || init->kind == IR_INIT_IOTA ? init->b
                                                                                 : 0;
        if (init->kind == IR_INIT_STORED)
            k.text = hb_fmt(x->a, "consts.safetensors#%.*s", HB_ARG(v->name));
    }
    HB_PUSH(x->a, &x->r->calls, k);
}

record *gen_record(hb_arena *a, const ir_graph *g, const ir_factors *f, const gen_options *o,
                   gen_trace *trace)
{
    gen x = {
        .a = a, .g = g, .f = f, .o = o, .rng = o->seed, .r = HB_NEW(a, record), .trace = trace};
    record *r = x.r;
    x.table = HB_ARRAY(a, int64_t *, (f->n_classes + 1) * N_KINDS * N_TABLES);
    x.home = HB_ARRAY(a, int, g->tensors.n + 1);
    r->graph_sha = g->sha;
    r->n_axes = o->n_axes;
    r->n_ranks = 1;
    r->n_classes = o->n_classes;
    for (int i = 0; i < o->n_axes; i++)
        r->n_ranks *= r->size[i] = o->size[i];
    r->class_of = HB_ARRAY(a, int, r->n_ranks);
    for (int i = 0; i < r->n_ranks; i++)
        r->class_of[i] = i % o->n_classes;
    for (int pass = 0; pass < 2; pass++) // moments after their parameters
        for (int t = 0; t < g->tensors.n; t++)
            if ((g->tensors.p[t].kind == IR_STATE) == (pass == 1)) declare(&x, t);
    for (int n = 0; n < g->nodes.n; n++)
        add_node(&x, n);
    gst all = whole();
    if (g->loss >= 0) {
        int id = obtain(&x, g->loss, &all);
        HB_PUSH(a, &r->calls,
                (rec_call){.kind = REC_LOSS, .n_in = 1, .in = one(&x, id), .scratch = -1});
    }
    for (int i = 0; o->keep_grads && i + 1 < g->grads.n; i += 2) {
        int id = obtain(&x, g->grads.p[i + 1], &all);
        HB_PUSH(a, &r->calls,
                (rec_call){.kind = REC_GRAD,
                           .name = g->tensors.p[g->grads.p[i]].name,
                           .n_in = 1,
                           .in = one(&x, id),
                           .scratch = -1});
    }
    while (x.flying.n > 0)
        wait_one(&x, 0);
    for (int i = 0; i < g->n_alias; i++)
        HB_PUSH(a, &r->calls,
                (rec_call){.kind = REC_ALIAS,
                           .name = g->alias[i].name,
                           .scratch = -1,
                           .text = g->tensors.p[g->alias[i].tensor].name});
    HB_PUSH(a, &r->calls,
            (rec_call){.kind = REC_BATCH,
                       .num = {(double)g->batch, (double)rec_tokens_per_row(g)},
                       .scratch = -1});
    rec_call schedule = {.kind = REC_SCHEDULE, .scratch = -1};
    ir_schedule(&g->opt, schedule.num);
    HB_PUSH(a, &r->calls, schedule);
    for (int i = 0; trace && i < trace->ops.n; i++)
        trace->ops.p[i].call += r->calls.n;
    for (int i = 0; i < x.step.n; i++)
        HB_PUSH(a, &r->calls, x.step.p[i]);
    record_place(a, r);
    return r;
}
