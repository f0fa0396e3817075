// The run itself: the graph on one rank, the record on all, and the comparison.
//
// Which graph tensor's shrunken dims a buffer has is settled when it is written: those of the node
// of the same op that fits the call best. A wrong choice can only make operands not meet. Bytes: a
// write spoils every other buffer that shares bytes with it (largest parts of a class) unless it is
// a view of the same bytes; a collective spoils its destination and scratch at the start, and reads
// its sources at the wait. Forms of collectives have one meaning here.

#include <string.h>

#include "synth/modp_model.h"

enum { COORDS = SYN_MAX_AXES + 1 };

typedef struct buffer {
    int tensor;    // graph tensor whose dims it has, -1: never written
    int content;   // equal for views of the same bytes
    bool live;     // in run.live
    int last_use;  // last call that reads it; n_calls: the end of the step
    mp_part *part; // by rank
    int64_t bytes[CL_MAX_CLASSES];
} buffer;

typedef struct run {
    mp *m;
    const record *r;
    buffer *buf;
    int content, at; // call
    HB_VEC(int) live;
    bool *used;                  // by node: a call stood for it
    HB_VEC(int) of_op[IR_N_OPS]; // nodes
    const mp_part *want;         // by graph tensor: the run on one rank
    int *coord;                  // [rank * COORDS + axis]; SYN_BOTH: the rank
    uint64_t garbage;
    const uint64_t ***sent; // by call, START: by pair, rank 0's source then
} run;

static bool call_fail(run *x)
{
    const rec_call *k = &x->r->calls.p[x->at];
    const char *what = k->kind == REC_OP ? ir_row((ir_op)k->op)->name : "a change of state";
    hb_str why = x->m->why;
    if (k->line > 0)
        return mp_fail(x->m, "program.c:%d: %s, run modulo 2^61-1, %.*s", k->line, what,
                       HB_ARG(why));
    return mp_fail(x->m, "call %d: %s, run modulo 2^61-1, %.*s", x->at, what, HB_ARG(why));
}

// --- one row

static bool apply(mp *m, ir_op op, const ir_attr *attr, int n_in, const mp_part *in, int n_out,
                  mp_part *out)
{
    mp_call c = {op, attr, n_in, n_out, in, out};
    for (int i = 0; i < n_out; i++) {
        out[i].v = HB_ARRAY(m->a, uint64_t, out[i].n + 1);
    }
    m->why = (hb_str){0};
    if (mp_point(m, &c)) return true;
    if (m->why.n == 0 && mp_stat(m, &c)) return true;
    if (m->why.n == 0 && mp_dense(m, &c)) return true;
    if (m->why.n == 0 && mp_moe(m, &c)) return true;
    return m->why.n > 0 ? false : mp_fail(m, "has no meaning");
}

// --- the graph on one rank

static uint64_t rate_of(const mp *m, const double *num)
{
    uint64_t key = 0x3001;
    for (int i = 0; i < 4; i++)
        key = mp_mix(key ^ mp_const(m, num[i]));
    return mp_hash(m, key, 0);
}

static bool one_rank(run *x, int64_t limit)
{
    mp *m = x->m;
    const ir_graph *g = m->g;
    mp_part *v = HB_ARRAY(m->a, mp_part, g->tensors.n + 1);
    x->want = v;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *s = &g->tensors.p[t];
        v[t] = (mp_part){.rank = s->rank, .n = 1};
        v[t].real = s->dtype == IR_F32 || s->dtype == IR_BF16 || s->dtype == IR_F16;
        for (int d = 0; d < s->rank; d++) {
            v[t].ix[d] = mp_whole(m, t, d);
            v[t].n *= v[t].ix[d]->g;
        }
        if (s->kind == IR_VALUE) continue;
        mp_fill f = mp_fill_of(g, t, limit);
        mp_fill_part(m, &v[t], &f);
    }
    m->rate = rate_of(
        m, (double[4]){g->opt.lr, (double)g->opt.warmup, (double)g->opt.cosine, g->opt.min_lr});
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_node *k = &g->nodes.p[n];
        mp_part in[IR_MAX_IN], out[IR_MAX_OUT];
        for (int i = 0; i < k->n_in; i++)
            in[i] = v[k->in[i]];
        for (int i = 0; i < k->n_out; i++)
            out[i] = v[k->out[i]];
        if (!apply(m, k->op, k->attr, k->n_in, in, k->n_out, out)) {
            hb_str why = m->why;
            return mp_fail(m, "the shrunken graph cannot be run on one rank: %.*s %.*s",
                           HB_ARG(k->name), HB_ARG(why));
        }
        for (int i = 0; i < k->n_out; i++)
            v[k->out[i]] = out[i];
    }
    return true;
}

// --- bytes

static bool share_bytes(const run *x, int a, int b, bool *same)
{
    const rec_tensor *s = &x->r->tensors.p[a], *t = &x->r->tensors.p[b];
    bool any = false;
    *same = true;
    if (s->seg != t->seg) return false;
    for (int c = 0; c < x->r->n_classes; c++) {
        int64_t m = x->buf[a].bytes[c], n = x->buf[b].bytes[c];
        *same = *same && s->off[c] == t->off[c] && m == n;
        any = any || (m > 0 && n > 0 && s->off[c] < t->off[c] + n && t->off[c] < s->off[c] + m);
    }
    return any;
}

static void spoil(run *x, int id)
{
    for (int rank = 0; rank < x->r->n_ranks; rank++) {
        mp_part *p = &x->buf[id].part[rank];
        for (int64_t e = 0; p->v && e < p->n; e++)
            p->v[e] = mp_mix(++x->garbage) % MP_P;
    }
}

// Bytes of id are written; view: a buffer whose bytes these already are, -1.
static void written(run *x, int id, int view)
{
    bool same;
    int kept = 0, content = view >= 0 ? x->buf[view].content : ++x->content;
    if (view >= 0 && !(share_bytes(x, id, view, &same) && same)) content = ++x->content;
    for (int k = 0; k < x->live.n; k++) {
        int o = x->live.p[k];
        if (o != id && x->buf[o].last_use < x->at) { // never read again
            x->buf[o].live = false;
            continue;
        }
        if (o != id && share_bytes(x, o, id, &same) && !(same && x->buf[o].content == content)) {
            spoil(x, o);
            x->buf[o].live = false;
            continue;
        }
        x->live.p[kept++] = o;
    }
    x->live.n = kept;
    x->buf[id].content = content;
    if (!x->buf[id].live) HB_PUSH(x->m->a, &x->live, id);
    x->buf[id].live = true;
}

// --- calls

static bool shape(run *x, int id, int tensor)
{
    buffer *b = &x->buf[id];
    if (b->tensor == tensor && b->part[0].v) return true;
    b->tensor = tensor;
    for (int rank = 0; rank < x->r->n_ranks; rank++)
        if (!mp_shape(x->m, tensor, &x->r->tensors.p[id], x->coord + rank * COORDS, &b->part[rank]))
            return false;
    return true;
}

static bool fits(const run *x, int id, int tensor)
{
    const rec_tensor *s = &x->r->tensors.p[id];
    const ir_tensor *t = &x->m->g->tensors.p[tensor];
    bool ok = s->rank == t->rank && s->dtype == t->dtype;
    for (int d = 0; ok && d < s->rank; d++)
        ok = s->dim[d].outer * s->dim[d].n * s->dim[d].inner == t->dim[d];
    return ok;
}

static bool same_attrs(const ir_node *n, const rec_call *k)
{
    for (int i = 0; i < ir_row(n->op)->n_attr; i++) {
        const ir_attr *a = &n->attr[i], *b = &k->attr[i];
        if (a->i != b->i || a->f < b->f || a->f > b->f || a->n != b->n ||
            memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v) != 0)
            return false;
    }
    return true;
}

static int node_of(run *x, const rec_call *k)
{
    int best = -1, score = -1;
    for (int c = 0; c < x->of_op[k->op].n; c++) {
        int id = x->of_op[k->op].p[c];
        const ir_node *n = &x->m->g->nodes.p[id];
        if (n->n_in != k->n_in || n->n_out != k->n_out) continue;
        bool ok = true;
        int s = !x->used[id], met = 0;
        for (int i = 0; ok && i < n->n_out; i++)
            ok = fits(x, k->out[i], n->out[i]);
        for (int i = 0; ok && i < n->n_in; i++)
            met += x->buf[k->in[i]].tensor == n->in[i];
        if (!ok) continue;
        s += 4 * met + 2 * same_attrs(n, k);
        if (s <= score) continue;
        best = id;
        score = s;
        if (met == n->n_in && !x->used[id]) break;
    }
    return best;
}

static bool op(run *x, const rec_call *k)
{
    int id = node_of(x, k);
    if (id < 0) return mp_fail(x->m, "fits no node of the graph");
    x->used[id] = true;
    const ir_node *n = &x->m->g->nodes.p[id];
    int ranks = x->r->n_ranks;
    mp_part *out = HB_ARRAY(x->m->tmp, mp_part, ranks * IR_MAX_OUT);
    for (int i = 0; i < k->n_in; i++)
        if (x->buf[k->in[i]].tensor < 0 || !x->buf[k->in[i]].part[0].v)
            return mp_fail(x->m, "reads operand %d, which nobody wrote", i);
    for (int rank = 0; rank < ranks; rank++) {
        mp_part in[IR_MAX_IN], *o = out + rank * IR_MAX_OUT;
        for (int i = 0; i < k->n_in; i++)
            in[i] = x->buf[k->in[i]].part[rank];
        for (int i = 0; i < k->n_out; i++)
            if (!mp_shape(x->m, n->out[i], &x->r->tensors.p[k->out[i]], x->coord + rank * COORDS,
                          &o[i]))
                return false;
        if (!apply(x->m, (ir_op)k->op, k->attr, k->n_in, in, k->n_out, o)) return false;
    }
    for (int i = 0; i < k->n_out; i++) {
        buffer *b = &x->buf[k->out[i]];
        bool view = (ir_row((ir_op)k->op)->flags & IR_ZERO_COPY) && k->n_in > 0;
        written(x, k->out[i], view ? k->in[0] : -1);
        b->tensor = n->out[i];
        for (int rank = 0; rank < ranks; rank++)
            b->part[rank] = out[rank * IR_MAX_OUT + i];
    }
    return true;
}

static bool together(const run *x, unsigned axes, int a, int b)
{
    for (int i = 0; i < x->r->n_axes; i++)
        if (!(axes >> i & 1u) && x->coord[a * COORDS + i] != x->coord[b * COORDS + i]) return false;
    return true;
}

// The parts of each group of ranks put together (how 0), added ('s') or maximised ('m'), and taken
// apart as dst lies. axes 0: every rank by itself.
static bool exchange(run *x, unsigned axes, int src, int dst, char how)
{
    buffer *s = &x->buf[src], *d = &x->buf[dst];
    mp *m = x->m;
    if (s->tensor < 0 || !s->part[0].v) return mp_fail(m, "moves what nobody wrote");
    int ranks = x->r->n_ranks;
    mp_part *out = HB_ARRAY(m->tmp, mp_part, ranks);
    uint64_t **whole = HB_ARRAY(m->tmp, uint64_t *, ranks);
    for (int rank = 0; rank < ranks; rank++) {
        const mp_part *p = &s->part[rank];
        int first = 0;
        while (!together(x, axes, first, rank))
            first++;
        if (first == rank) {
            int64_t n = 1;
            for (int i = 0; i < p->rank; i++)
                n *= p->ix[i]->g;
            whole[rank] = HB_ARRAY(m->tmp, uint64_t, n + 1);
            for (int64_t e = 0; how != 's' && e < n; e++)
                whole[rank][e] = how ? MP_LEAST : mp_mix(++x->garbage) % MP_P;
        }
        int64_t *at = mp_global(m, p);
        for (int64_t e = 0; e < p->n; e++) {
            uint64_t *w = &whole[first][at[e]], v = p->v[e];
            *w = how == 's' ? mp_add(*w, v) : how == 'm' ? (mp_more(v, *w) ? v : *w) : v;
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        int first = 0;
        while (!together(x, axes, first, rank))
            first++;
        mp_part *p = &out[rank];
        if (!mp_shape(m, s->tensor, &x->r->tensors.p[dst], x->coord + rank * COORDS, p))
            return false;
        p->v = HB_ARRAY(m->a, uint64_t, p->n + 1);
        int64_t *at = mp_global(m, p);
        for (int64_t e = 0; e < p->n; e++)
            p->v[e] = whole[first][at[e]];
    }
    d->tensor = s->tensor;
    for (int rank = 0; rank < ranks; rank++)
        d->part[rank] = out[rank];
    return true;
}

static bool cut_on(const rec_tensor *t, unsigned axes)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].axis == SYN_BOTH || (t->dim[d].axis >= 0 && (axes >> t->dim[d].axis & 1u)))
            return true;
    return false;
}

// What a collective of this name does with parts that lie so.
static bool can_do(run *x, const rec_call *k, int pair)
{
    const rec_tensor *s = &x->r->tensors.p[k->in[pair]], *d = &x->r->tensors.p[k->out[pair]];
    bool from = cut_on(s, k->axes), to = cut_on(d, k->axes), ok = false;
    if (s->dtype != d->dtype) return mp_fail(x->m, "moves one dtype into another");
    switch (k->coll) {
    case COST_ALL_GATHER:
        ok = from && !to;
        break;
    case COST_REDUCE_SCATTER:
        ok = !from && to;
        break;
    case COST_ALL_REDUCE:
        ok = !from && !to;
        break;
    case COST_ALL_TO_ALL:
    case COST_RECUT: { // a re-cut changes the table of one factor, an all-to-all the factor
        bool same = from && to && s->rank == d->rank;
        for (int i = 0; same && i < s->rank; i++)
            same = s->dim[i].axis == d->dim[i].axis && s->dim[i].n == d->dim[i].n &&
                   s->dim[i].outer == d->dim[i].outer;
        ok = from && to && same == (k->coll == COST_RECUT);
        break;
    }
    }
    if (k->reduce_max && k->coll != COST_ALL_REDUCE) ok = false;
    return ok || mp_fail(x->m, "is no such collective for parts that lie so");
}

static bool start(run *x, const rec_call *k)
{
    bool same;
    x->sent[x->at] = HB_ARRAY(x->m->a, const uint64_t *, k->n_in + 1);
    for (int i = 0; i < k->n_out; i++) {
        if (!can_do(x, k, i)) return false;
        if (x->buf[k->in[i]].tensor < 0) return mp_fail(x->m, "moves what nobody wrote");
        x->sent[x->at][i] = x->buf[k->in[i]].part[0].v;
        // an all-reduce in place keeps its operand until the wait
        if (k->in[i] == k->out[i] || share_bytes(x, k->in[i], k->out[i], &same)) continue;
        written(x, k->out[i], -1);
        spoil(x, k->out[i]);
    }
    if (k->scratch >= 0) written(x, k->scratch, -1);
    return true;
}

static bool wait(run *x, const rec_call *k)
{
    int s = x->at;
    while (s >= 0 && (x->r->calls.p[s].kind != REC_START || x->r->calls.p[s].event != k->event))
        s--;
    if (s < 0 || !x->sent[s])
        return mp_fail(x->m, "waits for an event that was not started, or waited for already");
    const rec_call *c = &x->r->calls.p[s];
    bool reduces = c->coll == COST_ALL_REDUCE || c->coll == COST_REDUCE_SCATTER;
    for (int i = 0; i < c->n_in; i++) {
        if (x->buf[c->in[i]].part[0].v != x->sent[s][i]) spoil(x, c->in[i]); // written in flight
        if (!exchange(x, c->axes, c->in[i], c->out[i], !reduces ? 0 : c->reduce_max ? 'm' : 's'))
            return false;
        written(x, c->out[i], -1);
    }
    if (c->scratch >= 0) written(x, c->scratch, -1);
    x->sent[s] = NULL;
    return true;
}

static bool partial(run *x, const rec_call *k)
{
    if (!exchange(x, 0, k->in[0], k->out[0], 0)) return false;
    for (int rank = 0; rank < x->r->n_ranks; rank++) {
        bool zero = false;
        for (int i = 0; i < x->r->n_axes; i++)
            zero = zero || ((k->axes >> i & 1u) && x->coord[rank * COORDS + i] != 0);
        mp_part *p = &x->buf[k->out[0]].part[rank];
        if (zero) memset(p->v, 0, sizeof *p->v * (size_t)p->n);
    }
    return true;
}

static bool declare(run *x, const rec_call *k, int64_t limit)
{
    mp *m = x->m;
    int t = 0;
    while (t < m->g->tensors.n &&
           (m->g->tensors.p[t].kind == IR_VALUE || !hb_str_eq(m->g->tensors.p[t].name, k->name)))
        t++;
    if (t == m->g->tensors.n || k->n_in != 1) return mp_fail(m, "declares no tensor of the graph");
    if (!fits(x, k->in[0], t)) return mp_fail(m, "declares another dtype or other dims");
    if (!shape(x, k->in[0], t)) return false;
    mp_fill f = {.name = k->name, .dtype = m->g->tensors.p[t].dtype, .limit = limit};
    for (int i = 0; i < 3 && k->kind != REC_INPUT && k->kind != REC_STATE; i++)
        f.num[i] = k->num[i];
    if (k->text.n > 0) f.num[0] = 4;
    for (int rank = 0; rank < x->r->n_ranks; rank++)
        mp_fill_part(m, &x->buf[k->in[0]].part[rank], &f);
    written(x, k->in[0], -1);
    return true;
}

static bool local_move(run *x, const rec_call *k)
{
    if (x->r->tensors.p[k->in[0]].dtype != x->r->tensors.p[k->out[0]].dtype)
        return mp_fail(x->m, "moves one dtype into another");
    bool ok = k->kind == REC_PARTIAL ? partial(x, k) : exchange(x, 0, k->in[0], k->out[0], 0);
    if (ok) written(x, k->out[0], -1);
    return ok;
}

static bool step(run *x, const rec_call *k, int64_t limit)
{
    switch (k->kind) {
    case REC_INPUT:
    case REC_PARAM:
    case REC_STATE:
    case REC_BUFFER:
    case REC_CONST:
        return declare(x, k, limit);
    case REC_SCHEDULE:
        x->m->rate = rate_of(x->m, k->num);
        return true;
    case REC_OP:
        return op(x, k);
    case REC_SLICE:
    case REC_PARTIAL:
        return local_move(x, k);
    case REC_START:
        return start(x, k);
    case REC_WAIT:
        return wait(x, k);
    case REC_GRAD:
    case REC_ALIAS:
    case REC_LOSS:
    case REC_BATCH:
        break;
    }
    return true;
}

// --- the comparison

static bool equal(run *x, int id, int tensor, hb_str name)
{
    const mp_part *want = &x->want[tensor];
    if (x->buf[id].tensor < 0) return mp_fail(x->m, "%.*s is never written", HB_ARG(name));
    for (int rank = 0; rank < x->r->n_ranks; rank++) {
        const mp_part *p = &x->buf[id].part[rank];
        bool ok = p->rank == want->rank && p->v;
        for (int d = 0; ok && d < p->rank; d++)
            ok = p->ix[d]->g == want->ix[d]->g;
        if (!ok) return mp_fail(x->m, "%.*s has other dims than in the graph", HB_ARG(name));
        int64_t *at = mp_global(x->m, p);
        for (int64_t e = 0; e < p->n; e++)
            if (p->v[e] != want->v[at[e]])
                return mp_fail(x->m,
                               "run modulo 2^61-1 on the shrunken graph, %.*s differs from the run "
                               "on one rank (rank %d, element %lld of %lld)",
                               HB_ARG(name), rank, (long long)at[e], (long long)want->n);
    }
    return true;
}

static bool compare(run *x)
{
    const ir_graph *g = x->m->g;
    int *next = HB_ARRAY(x->m->a, int, g->tensors.n + 1);
    bool *seen = HB_ARRAY(x->m->a, bool, g->tensors.n + 1), loss = g->loss < 0;
    for (int t = 0; t < g->tensors.n; t++)
        next[t] = t;
    for (int i = 0; i < g->updates.n; i++)
        next[g->updates.p[i].tensor] = g->updates.p[i].next;
    for (int i = 0; i < x->r->calls.n; i++) {
        const rec_call *k = &x->r->calls.p[i];
        if (k->kind > REC_LOSS || k->kind == REC_INPUT || k->kind == REC_ALIAS) continue;
        if (k->kind == REC_LOSS) {
            if (g->loss < 0) return mp_fail(x->m, "the graph has no loss");
            if (!equal(x, k->in[0], g->loss, HB_STR("the loss"))) return false;
            loss = true;
            continue;
        }
        for (int t = 0; t < g->tensors.n; t++) {
            if (g->tensors.p[t].kind == IR_VALUE || !hb_str_eq(g->tensors.p[t].name, k->name))
                continue;
            int of = k->kind == REC_GRAD ? -1 : next[t];
            for (int j = 0; k->kind == REC_GRAD && j + 1 < g->grads.n; j += 2)
                if (g->grads.p[j] == t) of = g->grads.p[j + 1];
            hb_str name = k->kind == REC_GRAD
                              ? hb_fmt(x->m->a, "the gradient of %.*s", HB_ARG(k->name))
                              : k->name;
            if (of >= 0 && !equal(x, k->in[0], of, name)) return false;
            if (k->kind != REC_GRAD) seen[t] = true;
        }
    }
    for (int t = 0; t < g->tensors.n; t++) {
        ir_kind k = g->tensors.p[t].kind;
        if ((k == IR_PARAM || k == IR_STATE || k == IR_BUFFER) && !seen[t])
            return mp_fail(x->m, "%.*s is not declared", HB_ARG(g->tensors.p[t].name));
    }
    return loss || mp_fail(x->m, "the loss is not declared");
}

// --- all of it

static bool set_up(run *x)
{
    const record *r = x->r;
    mp *m = x->m;
    int64_t ranks = 1;
    if (r->n_axes < 1 || r->n_axes > SYN_MAX_AXES || r->n_classes < 1 ||
        r->n_classes > CL_MAX_CLASSES)
        return mp_fail(m, "the record has no mesh");
    for (int i = 0; i < r->n_axes; i++)
        ranks *= r->size[i];
    if (ranks != r->n_ranks) return mp_fail(m, "the mesh has %lld ranks", (long long)ranks);
    for (int k = 0; k < r->calls.n; k++) {
        const rec_call *c = &r->calls.p[k];
        bool ok = c->n_in <= 1 << 20 &&
                  (c->kind != REC_OP || (c->op >= 0 && c->op < IR_N_OPS && c->n_in <= IR_MAX_IN &&
                                         c->n_out <= IR_MAX_OUT));
        for (int i = 0; ok && i < c->n_in; i++)
            ok = c->in[i] >= 0 && c->in[i] < r->tensors.n;
        for (int i = 0; ok && i < c->n_out; i++)
            ok = c->out[i] >= 0 && c->out[i] < r->tensors.n;
        if (c->kind == REC_SLICE || c->kind == REC_PARTIAL)
            ok = ok && c->n_in == 1 && c->n_out == 1;
        if (c->kind == REC_GRAD || c->kind == REC_LOSS) ok = ok && c->n_in == 1;
        if (c->kind == REC_START) ok = ok && c->n_in == c->n_out && c->scratch < r->tensors.n;
        if (!ok) return mp_fail(m, "call %d names tensors that do not exist", k);
    }
    x->buf = HB_ARRAY(m->a, buffer, r->tensors.n + 1);
    x->coord = HB_ARRAY(m->a, int, r->n_ranks *COORDS);
    for (int rank = 0; rank < r->n_ranks; rank++) {
        x->coord[rank * COORDS + SYN_BOTH] = rank;
        for (int i = 0; i < r->n_axes; i++)
            x->coord[rank * COORDS + i] = r->n_axes == 1 ? rank
                                          : i == 0       ? rank / r->size[1]
                                                         : rank % r->size[1];
    }
    for (int i = 0; i < r->tensors.n; i++) {
        const rec_tensor *t = &r->tensors.p[i];
        x->buf[i].tensor = -1;
        x->buf[i].part = HB_ARRAY(m->a, mp_part, r->n_ranks);
        for (int rank = 0; rank < r->n_ranks; rank++) {
            int64_t n = ir_dtype_bytes(t->dtype), *most = &x->buf[i].bytes[r->class_of[rank]];
            for (int d = 0; d < t->rank; d++) {
                const rec_dim *v = &t->dim[d];
                n *= v->outer * v->inner *
                     (v->axis < 0 ? v->n : v->table[x->coord[rank * COORDS + v->axis]]);
            }
            if (n > *most) *most = n;
        }
    }
    for (int k = 0; k < r->calls.n; k++) {
        const rec_call *c = &r->calls.p[k];
        bool last = c->kind < REC_OP || c->kind == REC_START; // read at the wait, any time later
        for (int i = 0; i < c->n_in; i++)
            if (x->buf[c->in[i]].last_use < (last ? r->calls.n : k))
                x->buf[c->in[i]].last_use = last ? r->calls.n : k;
    }
    x->sent = HB_ARRAY(m->a, const uint64_t **, r->calls.n + 1);
    x->used = HB_ARRAY(m->a, bool, m->g->nodes.n + 1);
    for (int n = 0; n < m->g->nodes.n; n++)
        HB_PUSH(m->a, &x->of_op[m->g->nodes.p[n].op], n);
    return true;
}

static bool all_calls(run *x, int64_t limit)
{
    for (x->at = 0; x->at < x->r->calls.n; x->at++) {
        if (x->at % 64 == 0) {
            hb_arena_free(x->m->tmp);
            x->m->tmp = hb_arena_new();
        }
        if (!step(x, &x->r->calls.p[x->at], limit)) return call_fail(x);
    }
    return true;
}

bool syn_modp(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, uint64_t seed,
              hb_str *why)
{
    hb_arena *own = hb_arena_new();
    mp m = {.a = own, .tmp = hb_arena_new(), .g = g, .f = f, .seed = mp_mix(seed)};
    run x = {.m = &m, .r = r};
    bool ok = mp_shrink(&m, r) && set_up(&x);
    int64_t limit = ok ? mp_index_limit(&m) : 0;
    ok = ok && one_rank(&x, limit);
    m.rate = 0; // until the record says it
    ok = ok && all_calls(&x, limit) && compare(&x);
    *why = ok ? (hb_str){0} : hb_str_n(a, m.why.p, m.why.n);
    hb_arena_free(m.tmp);
    hb_arena_free(own);
    return ok;
}
