// The walk over the record: every buffer holds a value of the graph, by its term, in a state, until
// its bytes are written. A call that was met before, with operands that lie so, is not proved
// again.
//
// A collective destroys its destination and scratch at the start; at the wait its sources must hold
// what they held then. Forms of collectives have one meaning here.

#include <string.h>

#include "ir/variant.h"
#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

typedef struct buffer {
    mp_held held;
    int tensor; // graph tensor whose value it holds, -1: none
    int content;
    int version; // counts what it held
    int look;    // equal for buffers declared alike
} buffer;

typedef struct flight {
    bool on;
    int *version; // of the sources then
} flight;

typedef struct result {
    mp_held out[IR_MAX_OUT];
} result;

typedef struct run {
    mp *m;
    const record *r;
    mp_graph graph;
    mp_bytes *bytes;
    buffer *buf;
    flight *flight; // by call, START
    hb_map *start;  // event -> call
    int content, at;
    hb_map *proved; // key of a call -> index of states
    HB_VEC(result) states;
} run;

static bool call_fail(run *x)
{
    const rec_call *k = &x->r->calls.p[x->at];
    const char *what = k->kind == REC_OP ? ir_op_of((ir_op)k->op)->name : "a change of state";
    hb_str why = x->m->why;
    if (k->line > 0) return mp_fail(x->m, "program.c:%d: %s %.*s", k->line, what, HB_ARG(why));
    return mp_fail(x->m, "call %d: %s %.*s", x->at, what, HB_ARG(why));
}

// --- what buffers hold

static void lost(void *user, int id)
{
    run *x = user;
    x->buf[id].tensor = -1;
    x->buf[id].version++;
}

static void written(run *x, int id, int tensor, const mp_held *state, int view)
{
    bool same = view >= 0 && (view == id || (mp_bytes_share(x->bytes, id, view, &same) && same));
    buffer *b = &x->buf[id];
    int content = same ? x->buf[view].content : ++x->content;
    mp_bytes_write(x->bytes, id, content, lost, x);
    b->content = content;
    b->tensor = tensor;
    b->version++;
    if (state) b->held = *state;
}

static bool reads(run *x, int id, int slot)
{
    return x->buf[id].tensor >= 0 ||
           mp_fail(x->m, "reads operand %d, which holds nothing or was written over", slot);
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

static int look_of(hb_map *looks, int *n, const mp *m, int id)
{
    const rec_tensor *t = &m->r->tensors.p[id];
    int64_t key[2 + IR_MAX_RANK * 4] = {t->rank, (int64_t)t->dtype};
    for (int d = 0; d < t->rank; d++) {
        int64_t *k = key + 2 + 4 * d;
        k[0] = t->dim[d].n;
        k[1] = t->dim[d].outer;
        k[2] = t->dim[d].inner;
        k[3] = m->cut[id][d];
    }
    hb_str text = {(const char *)key, sizeof *key * (size_t)(2 + 4 * t->rank)};
    int at = hb_map_get(looks, text);
    if (at >= 0) return at;
    hb_map_put(looks, hb_str_n(m->a, text.p, text.n), *n);
    return (*n)++;
}

// --- calls proved before

static void key_int(hb_buf *key, int64_t v)
{
    hb_putn(key, (const char *)&v, sizeof v);
}

// How a buffer lies, and which of the call's buffers hold the same.
static void key_operand(run *x, hb_buf *key, const int *ids, int i)
{
    const buffer *b = &x->buf[ids[i]];
    int first = 0;
    while (x->graph.term[x->buf[ids[first]].tensor] != x->graph.term[b->tensor])
        first++;
    key_int(key, b->look | (int64_t)first << 32);
    key_int(key,
            b->held.partial[0] | b->held.partial[1] << 8 | (int64_t)x->graph.null[b->tensor] << 16);
}

// A random op's key of its own seeds a hash: what holds for one holds for all.
static bool is_seed(const ir_op_info *row, int attr)
{
    return strcmp(row->attr[attr].name, "key") == 0;
}

static hb_str op_key(run *x, const rec_call *k)
{
    hb_buf key = {.arena = x->m->tmp};
    const ir_op_info *row = ir_op_of((ir_op)k->op);
    key_int(&key, k->op | (int64_t)k->n_in << 16 | (int64_t)k->n_out << 24);
    for (int i = 0; i < row->n_attr; i++) {
        const ir_attr *v = &k->attr[i];
        if (is_seed(row, i)) continue;
        key_int(&key, row->attr[i].kind == IR_ATTR_REAL   ? (int64_t)mp_const(x->m, v->f)
                      : row->attr[i].kind == IR_ATTR_INTS ? v->n
                                                          : v->i);
        for (int e = 0; row->attr[i].kind == IR_ATTR_INTS && e < v->n; e++)
            key_int(&key, v->v[e]);
    }
    for (int i = 0; i < k->n_in; i++)
        key_operand(x, &key, k->in, i);
    for (int i = 0; i < k->n_out; i++)
        key_int(&key, x->buf[k->out[i]].look);
    return hb_done(&key);
}

static bool known(run *x, hb_str key, int n, mp_held *out)
{
    int at = hb_map_get(x->proved, key);
    if (at >= 0) memcpy(out, x->states.p[at].out, sizeof *out * (size_t)n);
    return at >= 0;
}

static void remember(run *x, hb_str key, int n, const mp_held *out)
{
    result c = {{{0}}};
    memcpy(c.out, out, sizeof *out * (size_t)n);
    hb_map_put(x->proved, hb_str_n(x->m->a, key.p, key.n), x->states.n);
    HB_PUSH(x->m->a, &x->states, c);
}

// --- ops

// Nodes of the term whose values the call's buffers can be, from tensor t on.
static int node_of(const run *x, const rec_call *k, int t)
{
    for (; t >= 0; t = x->graph.tensor_next[t]) {
        int n = x->m->g->tensors.p[t].producer;
        const ir_node *v = n >= 0 ? &x->m->g->nodes.p[n] : NULL;
        if (!v || v->n_in != k->n_in || v->n_out != k->n_out || v->out[0] != t) continue;
        bool ok = true;
        for (int i = 0; ok && i < v->n_in; i++)
            ok = fits(x, k->in[i], v->in[i]);
        for (int i = 0; ok && i < v->n_out; i++)
            ok = fits(x, k->out[i], v->out[i]);
        if (ok) return n;
    }
    return -1;
}

static bool op(run *x, const rec_call *k)
{
    uint64_t terms[IR_MAX_IN];
    mp_held in[IR_MAX_IN], out[IR_MAX_OUT];
    for (int i = 0; i < k->n_in; i++) {
        if (!reads(x, k->in[i], i)) return false;
        in[i] = x->buf[k->in[i]].held;
        terms[i] = x->graph.term[x->buf[k->in[i]].tensor];
    }
    int first = mp_tensor_of(&x->graph, mp_term_op(x->m, (ir_op)k->op, k->attr, k->n_in, terms));
    if (first < 0) return mp_fail(x->m, "makes nothing of the graph from these operands");
    int node = node_of(x, k, first);
    if (node < 0) return mp_fail(x->m, "has buffers of other dims or dtypes than in the graph");
    hb_str key = op_key(x, k);
    if (!known(x, key, k->n_out, out)) {
        // nodes of one term may have other factors: one that fits will do
        while (!mp_prove_op(x->m, &x->graph, k, node, in, out)) {
            int next = node_of(x, k, x->graph.tensor_next[x->m->g->nodes.p[node].out[0]]);
            if (next < 0) return false;
            node = next;
        }
        remember(x, key, k->n_out, out);
    }
    const ir_node *n = &x->m->g->nodes.p[node];
    for (int i = 0; i < k->n_out; i++) {
        bool view = (ir_op_of((ir_op)k->op)->flags & IR_ZERO_COPY) && k->n_in > 0;
        out[i].tensor = k->out[i];
        int t = mp_tensor_of(&x->graph, x->graph.term[n->out[i]]);
        for (; t >= 0; t = x->graph.tensor_next[t])
            x->graph.null[t] = out[i].null;
        written(x, k->out[i], n->out[i], &out[i], view ? k->in[0] : -1);
    }
    return true;
}

// --- changes of state

static bool move(run *x, const rec_call *k, int pair, unsigned axes, char how, unsigned zero,
                 mp_held *out)
{
    const buffer *b = &x->buf[k->in[pair]];
    hb_buf buf = {.arena = x->m->tmp};
    key_int(&buf, -1 - (int64_t)how - ((int64_t)axes << 8) - ((int64_t)zero << 16));
    key_operand(x, &buf, k->in + pair, 0);
    key_int(&buf, x->buf[k->out[pair]].look);
    hb_str key = hb_done(&buf);
    out->tensor = k->out[pair];
    if (!fits(x, k->out[pair], b->tensor)) return mp_fail(x->m, "changes dims or dtype");
    if (known(x, key, 1, out)) {
        out->tensor = k->out[pair];
        return true;
    }
    int t = mp_tensor_of(&x->graph, x->graph.term[b->tensor]);
    for (; t >= 0; t = x->graph.tensor_next[t]) // values of one term may have other factors
        if (fits(x, k->in[pair], t) &&
            mp_prove_move(x->m, &x->graph, t, axes, how, zero, &b->held, out))
            break;
    if (t >= 0) remember(x, key, 1, out);
    return t >= 0;
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
    switch (k->coll) {
    case COST_ALL_GATHER:
        ok = from && !to;
        break;
    case COST_REDUCE_SCATTER:
        ok = to && !from;
        break;
    case COST_ALL_REDUCE:
        ok = !from && !to;
        break;
    case COST_ALL_TO_ALL:
    case COST_RESHARD: { // a reshard changes the table of one factor, an all-to-all the factor
        bool same = from && to && s->rank == d->rank;
        for (int i = 0; same && i < s->rank; i++)
            same = s->dim[i].axis == d->dim[i].axis && s->dim[i].n == d->dim[i].n &&
                   s->dim[i].outer == d->dim[i].outer;
        ok = from && to && same == (k->coll == COST_RESHARD);
        break;
    }
    }
    if (k->reduce_max && k->coll != COST_ALL_REDUCE) ok = false;
    for (int i = 0; i < s->rank && k->axes == 3u; i++) // over both axes: of a factor over both
        ok = ok && s->dim[i].axis != 0 && s->dim[i].axis != 1;
    return ok || mp_fail(x->m, "is no such collective for parts that lie so");
}

static bool start(run *x, const rec_call *k)
{
    flight *f = &x->flight[x->at];
    bool same;
    f->on = true;
    f->version = HB_ARRAY(x->m->a, int, k->n_in + 1);
    hb_map_put(x->start, (hb_str){(const char *)&k->event, sizeof k->event}, x->at);
    for (int i = 0; i < k->n_in; i++)
        if (!can_do(x, k, i) || !reads(x, k->in[i], i)) return false;
    for (int i = 0; i < k->n_out; i++) // an all-reduce in place keeps its operand until the wait
        if (k->in[i] != k->out[i] && !mp_bytes_share(x->bytes, k->in[i], k->out[i], &same))
            written(x, k->out[i], -1, NULL, -1);
    if (k->scratch >= 0) written(x, k->scratch, -1, NULL, -1);
    for (int i = 0; i < k->n_in; i++)
        f->version[i] = x->buf[k->in[i]].version;
    return true;
}

static bool wait(run *x, const rec_call *k)
{
    int s = hb_map_get(x->start, (hb_str){(const char *)&k->event, sizeof k->event});
    if (s < 0 || !x->flight[s].on)
        return mp_fail(x->m, "waits for an event that was not started, or waited for already");
    const rec_call *c = &x->r->calls.p[s];
    bool reduces = c->coll == COST_ALL_REDUCE || c->coll == COST_REDUCE_SCATTER;
    x->flight[s].on = false;
    for (int i = 0; i < c->n_in; i++) {
        mp_held out = {.tensor = c->out[i]};
        int tensor = x->buf[c->in[i]].tensor;
        if (tensor < 0 || x->buf[c->in[i]].version != x->flight[s].version[i])
            return mp_fail(x->m, "waits for a collective whose source %d was written over", i);
        if (!move(x, c, i, c->axes, !reduces ? 0 : c->reduce_max ? 'm' : 's', 0, &out))
            return false;
        written(x, c->out[i], tensor, &out, -1);
    }
    if (c->scratch >= 0) written(x, c->scratch, -1, NULL, -1);
    return true;
}

static bool local_move(run *x, const rec_call *k)
{
    mp_held out = {.tensor = k->out[0]};
    if (!reads(x, k->in[0], 0)) return false;
    int tensor = x->buf[k->in[0]].tensor;
    if (!move(x, k, 0, 0, 0, k->kind == REC_PARTIAL ? k->axes : 0, &out)) return false;
    written(x, k->out[0], tensor, &out, -1);
    return true;
}

// --- declarations and the end

static bool declare(run *x, const rec_call *k)
{
    mp_fill f = {.name = k->name};
    for (int i = 0; i < 3 && k->kind != REC_INPUT && k->kind != REC_STATE; i++)
        f.num[i] = k->num[i];
    if (k->text.n > 0) f.num[0] = 4;
    int t = hb_map_get(x->graph.of_name, k->name);
    if (t < 0 || k->n_in != 1) return mp_fail(x->m, "declares no tensor of the graph");
    if (mp_term_leaf(x->m, k->name, &f) != x->graph.term[t])
        return mp_fail(x->m, "fills %.*s otherwise than the graph", HB_ARG(k->name));
    if (!fits(x, k->in[0], t)) return mp_fail(x->m, "declares another dtype or other dims");
    mp_held state = {.tensor = k->in[0]};
    written(x, k->in[0], t, &state, -1);
    return true;
}

static bool step(run *x, const rec_call *k)
{
    switch (k->kind) {
    case REC_INPUT:
    case REC_PARAM:
    case REC_STATE:
    case REC_BUFFER:
    case REC_CONST:
        return declare(x, k);
    case REC_SCHEDULE:
        x->m->rate = mp_rate(x->m, k->num);
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
    case REC_FUSE: // the calls mean the same in a group
    case REC_FUSED:
    case REC_OVERLAP:
    case REC_TILES:
    case REC_OVERLAPPED:
        break;
    }
    return true;
}

static bool holds(run *x, int id, int tensor, hb_str name)
{
    const buffer *b = &x->buf[id];
    if (b->tensor < 0) return mp_fail(x->m, "%.*s is never written, or lost", HB_ARG(name));
    bool partial = b->held.partial[0] || b->held.partial[1];
    if (x->graph.term[b->tensor] == x->graph.term[tensor] && !partial && fits(x, id, tensor))
        return true;
    return mp_fail(x->m, "run modulo 2^61-1, %.*s holds %s%.*s at the end, not %.*s", HB_ARG(name),
                   partial ? "parts of " : "", HB_ARG(x->m->g->tensors.p[b->tensor].name),
                   HB_ARG(x->m->g->tensors.p[tensor].name));
}

static bool compare(run *x)
{
    const ir_graph *g = x->m->g;
    int *next = HB_ARRAY(x->m->a, int, g->tensors.n + 1);
    int *grad = HB_ARRAY(x->m->a, int, g->tensors.n + 1);
    bool *seen = HB_ARRAY(x->m->a, bool, g->tensors.n + 1), loss = g->loss < 0;
    for (int t = 0; t < g->tensors.n; t++) {
        next[t] = t;
        grad[t] = -1;
    }
    for (int i = 0; i < g->updates.n; i++)
        next[g->updates.p[i].tensor] = g->updates.p[i].next;
    for (int i = 0; i + 1 < g->grads.n; i += 2)
        grad[g->grads.p[i]] = g->grads.p[i + 1];
    for (int i = 0; i < x->r->calls.n; i++) {
        const rec_call *k = &x->r->calls.p[i];
        if (k->kind > REC_LOSS || k->kind == REC_INPUT || k->kind == REC_ALIAS) continue;
        if (k->kind == REC_LOSS) {
            if (g->loss < 0) return mp_fail(x->m, "the graph has no loss");
            if (!holds(x, k->in[0], g->loss, HB_STR("the loss"))) return false;
            loss = true;
            continue;
        }
        int t = hb_map_get(x->graph.of_name, k->name);
        if (t < 0) continue;
        bool is_grad = k->kind == REC_GRAD;
        int of = is_grad ? grad[t] : next[t];
        if (of < 0) return mp_fail(x->m, "%.*s has no gradient", HB_ARG(k->name));
        hb_str name = is_grad ? hb_fmt(x->m->a, "the gradient of %.*s", HB_ARG(k->name)) : k->name;
        if (!holds(x, k->in[0], of, name)) return false;
        seen[t] = seen[t] || !is_grad;
    }
    for (int t = 0; t < g->tensors.n; t++) {
        ir_kind k = g->tensors.p[t].kind;
        if ((k == IR_PARAM || k == IR_STATE || k == IR_BUFFER) && !seen[t])
            return mp_fail(x->m, "%.*s is not declared", HB_ARG(g->tensors.p[t].name));
    }
    return loss || mp_fail(x->m, "the loss is not declared");
}

// --- all of it

static bool well_formed(mp *m)
{
    const record *r = m->r;
    int64_t ranks = 1;
    if (r->n_axes < 1 || r->n_axes > SYN_MAX_AXES || r->n_classes < 1 ||
        r->n_classes > CL_MAX_CLASSES)
        return mp_fail(m, "the record has no mesh");
    for (int i = 0; i < r->n_axes; i++)
        ranks *= r->size[i];
    if (ranks != r->n_ranks) return mp_fail(m, "the mesh has %lld ranks", (long long)ranks);
    for (int k = 0; k < r->calls.n; k++) {
        const rec_call *c = &r->calls.p[k];
        bool ok = c->n_in <= SYN_MODP_INPUTS &&
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
    return true;
}

static void set_up(run *x)
{
    mp *m = x->m;
    hb_map *looks = hb_map_new(m->a);
    int n = 0;
    x->buf = HB_ARRAY(m->a, buffer, x->r->tensors.n + 1);
    for (int i = 0; i < x->r->tensors.n; i++) {
        x->buf[i].tensor = -1;
        x->buf[i].look = look_of(looks, &n, m, i);
    }
    x->flight = HB_ARRAY(m->a, flight, x->r->calls.n + 1);
    x->start = hb_map_new(m->a);
    x->proved = hb_map_new(m->a);
    x->bytes = mp_bytes_new(m);
}

static bool all_calls(run *x)
{
    x->m->rate = 0; // until the record says it
    for (x->at = 0; x->at < x->r->calls.n; x->at++) {
        if (x->at % SYN_MODP_RESET == 0) mp_reset(x->m);
        if (!step(x, &x->r->calls.p[x->at])) return call_fail(x);
    }
    return true;
}

// Elements that the proof holds at once: the shrunken graph, and all kept ranks' parts of its
// largest value for every slot of a call.
static double elements(mp *m)
{
    double all = 0, most = 0;
    for (int t = 0; t < m->g->tensors.n; t++) {
        double n = 1;
        for (int d = 0; d < m->g->tensors.p[t].rank; d++)
            n *= (double)mp_small_dim(m, t, d);
        all += n;
        most = n > most ? n : most;
    }
    return all + most * m->n_ranks * (IR_MAX_IN + IR_MAX_OUT);
}

static bool prove(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r,
                  uint64_t seed, bool exact, double limit, bool *ran, hb_str *why)
{
    hb_arena *own = hb_arena_new();
    if (g->micro_batches > 1) g = ir_unroll_factors(own, g, g->micro_batches, &f);
    mp m = {.a = own, .tmp = hb_arena_new(), .g = g, .f = f, .r = r, .exact = exact};
    m.seed = mp_mix(seed);
    run x = {.m = &m, .r = r};
    bool ok = well_formed(&m) && mp_ranks(&m) && mp_shrink(&m);
    *ran = !ok || elements(&m) <= limit;
    if (ok && *ran) {
        mp_graph_new(&m, &x.graph);
        set_up(&x);
        ok = all_calls(&x) && compare(&x);
    }
    *why = ok ? (hb_str){0} : hb_str_n(a, m.why.p, m.why.n);
    hb_arena_free(m.tmp);
    hb_arena_free(own);
    return ok;
}

bool syn_modp(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, uint64_t seed,
              hb_str *why)
{
    bool ran;
    return prove(a, g, f, r, seed, false, SYN_MODP_ALWAYS, &ran, why);
}

bool syn_modp_exact(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r,
                    uint64_t seed, hb_str *why)
{
    bool ran;
    return prove(a, g, f, r, seed, true, SYN_MODP_ALWAYS, &ran, why);
}

bool syn_check_modp(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, bool *ran,
                    hb_str *why)
{
    return prove(a, g, f, r, 1, false, SYN_MODP_ELEMENTS, ran, why);
}
