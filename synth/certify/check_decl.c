// What the program declares before its step, and what must be true at the step's end.
//
// Declared: every parameter, moment and buffer of the graph once, with its exact fill; constants
// and inputs the step reads; batch, schedule, aliases as the graph has them. (Tokens per row only
// scale a report.) At the end: every home buffer holds the tensor's next value, or what it held if
// the graph does not update it, without partial sums, in the dims it was declared with; the loss is
// whole everywhere; gradients to be saved are the graph's, reduced. Then the next step begins where
// this one began.

#include "synth/certify/check_model.h"

static hb_str kind_and_name(hb_arena *a, ir_kind kind, hb_str name)
{
    return hb_fmt(a, "%d %.*s", (int)kind, HB_ARG(name));
}

static void know_names(chk *c)
{
    c->declared = hb_map_new(c->a);
    for (int t = c->g->tensors.n - 1; t >= 0; t--) {
        const ir_tensor *v = &c->g->tensors.p[t];
        if (v->kind != IR_VALUE) hb_map_put(c->declared, kind_and_name(c->a, v->kind, v->name), t);
    }
}

static int tensor_named(const chk *c, hb_str name, ir_kind kind)
{
    return hb_map_get(c->declared, kind_and_name(c->a, kind, name));
}

bool chk_legal_cut(chk *c, int value, const chk_buffer *b, int axis)
{
    int d = b->cut[axis];
    if (d < 0) return true;
    const rec_dim *v = &b->t->dim[d];
    for (int t = c->tensor_of[value]; t >= 0;
         t = c->equal_next[t]) { // equal values may differ in factors
        const ir_dim_factors *f = &c->f->dim[t][d];
        int64_t outer = 1;
        for (int p = 0; p < f->n; p++) {
            const ir_class *cls = &c->f->cls[f->cls[p]];
            if (outer == v->outer && cls->size == v->n && !cls->whole &&
                (cls->grain <= 1 || chk_table_of(c, v).step % cls->grain == 0))
                return true;
            outer *= cls->size;
        }
    }
    return chk_fail(c, "%.*s has no factor that may be cut as %.*s", HB_ARG(chk_name(c, value)),
                    HB_ARG(chk_cut_text(c, d, v)));
}

static bool same_real(double a, double b)
{
    ir_attr x = {.kind = IR_ATTR_REAL, .f = a}, y = {.kind = IR_ATTR_REAL, .f = b};
    return chk_attr_eq(&x, &y);
}

static bool check_fill(chk *c, const rec_call *k, const ir_tensor *t)
{
    double want[3] = {0, 0, 0};
    hb_str want_text;
    switch (t->init.kind) {
    case IR_INIT_CONST:
        want[1] = t->init.a;
        break;
    case IR_INIT_NORMAL:
        want[0] = 1;
        want[2] = t->init.a;
        break;
    case IR_INIT_UNIFORM:
        want[0] = 2;
        want[1] = t->init.a;
        want[2] = t->init.b;
        break;
    case IR_INIT_IOTA:
        want[0] = 3;
        want[1] = t->init.a;
        want[2] = t->init.b;
        break;
    case IR_INIT_STORED:
        want_text =
            hb_fmt(c->a, "consts.safetensors#%.*s", HB_ARG(t->name)); // the plan folder's copy
        if (!hb_str_eq(k->text, want_text))
            return chk_fail(c, "is read from '%.*s', it stands in '%.*s'", HB_ARG(k->text),
                            HB_ARG(want_text));
        return true;
    }
    if (k->text.n > 0)
        return chk_fail(c, "is read from '%.*s', the graph has a fill", HB_ARG(k->text));
    for (int i = 0; i < 3; i++)
        if (!same_real(k->num[i], want[i]))
            return chk_fail(c, "is filled by {%g, %.17g, %.17g}, the graph says {%g, %.17g, %.17g}",
                            k->num[0], k->num[1], k->num[2], want[0], want[1], want[2]);
    return true;
}

static bool declare(chk *c, const rec_call *k, ir_kind kind)
{
    int t = tensor_named(c, k->name, kind);
    if (t < 0) return chk_fail(c, "the graph declares no such tensor");
    if (c->home[t] >= 0) return chk_fail(c, "is declared twice");
    if (k->n_in != 1) return chk_fail(c, "names no tensor");
    int b = k->in[0];
    chk_find_live(c, b);
    if (c->hit.n > 0)
        return chk_fail(c, "shares bytes with %.*s",
                        HB_ARG(chk_name(c, c->buf[c->hit.p[0]].value)));
    if (!chk_fits(c, b, t, "its tensor")) return false;
    for (int a = 0; a < c->r->n_axes; a++)
        if (!chk_legal_cut(c, c->value_of[t], &c->buf[b], a)) return false;
    if (kind != IR_INPUT && kind != IR_STATE && !check_fill(c, k, &c->g->tensors.p[t]))
        return false;
    c->home[t] = b;
    chk_hold(c, b, c->value_of[t], NULL);
    c->buf[b].content = ++c->next_content;
    chk_enlist(c, b);
    return true;
}

static bool check_schedule(chk *c, const rec_call *k)
{
    double want[IR_SCHEDULE];
    ir_schedule(&c->g->opt, want);
    for (int i = 0; i < IR_SCHEDULE; i++)
        if (!same_real(k->num[i], want[i]))
            return chk_fail(c, "%s is %.17g, the graph says %.17g", ir_schedule_names[i], k->num[i],
                            want[i]);
    return true;
}

static bool check_alias(chk *c, const rec_call *k, bool *seen)
{
    for (int i = 0; i < c->g->n_alias; i++) {
        if (!hb_str_eq(c->g->alias[i].name, k->name)) continue;
        hb_str of = c->g->tensors.p[c->g->alias[i].tensor].name;
        if (!hb_str_eq(of, k->text))
            return chk_fail(c, "is another name of %.*s, not of '%.*s'", HB_ARG(of),
                            HB_ARG(k->text));
        if (seen[i]) return chk_fail(c, "is declared twice");
        seen[i] = true;
        return true;
    }
    return chk_fail(c, "the graph has no such alias");
}

static int gradient_of(const chk *c, hb_str name)
{
    int t = tensor_named(c, name, IR_PARAM);
    for (int i = 0; t >= 0 && i + 1 < c->g->grads.n; i += 2)
        if (c->g->grads.p[i] == t) return c->g->grads.p[i + 1];
    return -1;
}

typedef struct counts {
    int loss, batch, schedule;
    bool *alias;
} counts;

static bool declaration(chk *c, const rec_call *k, counts *n)
{
    switch (k->kind) {
    case REC_INPUT:
        return declare(c, k, IR_INPUT);
    case REC_PARAM:
        return declare(c, k, IR_PARAM);
    case REC_STATE:
        return declare(c, k, IR_STATE);
    case REC_BUFFER:
        return declare(c, k, IR_BUFFER);
    case REC_CONST:
        return declare(c, k, IR_CONST);
    case REC_GRAD:
        if (gradient_of(c, k->name) < 0) return chk_fail(c, "the graph has no such gradient");
        return k->n_in == 1 || chk_fail(c, "names no tensor");
    case REC_ALIAS:
        return check_alias(c, k, n->alias);
    case REC_LOSS:
        if (c->g->loss < 0) return chk_fail(c, "the graph has no loss");
        if (n->loss++) return chk_fail(c, "is declared twice");
        return k->n_in == 1 || chk_fail(c, "names no tensor");
    case REC_BATCH:
        if (n->batch++) return chk_fail(c, "is declared twice");
        return (same_real(k->num[0], (double)c->g->batch) ||
                chk_fail(c, "%.17g rows, the graph has %lld", k->num[0], (long long)c->g->batch)) &&
               (same_real(k->num[1], (double)rec_tokens_per_row(c->g)) ||
                chk_fail(c, "%.17g tokens a row, the graph has %lld", k->num[1],
                         (long long)rec_tokens_per_row(c->g)));
    case REC_SCHEDULE:
        if (n->schedule++) return chk_fail(c, "is declared twice");
        return check_schedule(c, k);
    case REC_OP:
    case REC_SLICE:
    case REC_PARTIAL:
    case REC_START:
    case REC_WAIT:
    case REC_FUSE:
    case REC_FUSED:
    case REC_OVERLAP:
    case REC_TILES:
    case REC_OVERLAPPED:
        break;
    }
    return true;
}

static bool uses_schedule(const ir_graph *g)
{
    for (int n = 0; n < g->nodes.n; n++)
        if (ir_op_of(g->nodes.p[n].op)->flags & IR_IN_PLACE) return true;
    return false;
}

bool chk_declarations(chk *c)
{
    const record *r = c->r;
    const ir_graph *g = c->g;
    c->home = HB_ARRAY(c->a, int, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++)
        c->home[t] = -1;
    know_names(c);
    counts n = {.alias = HB_ARRAY(c->a, bool, g->n_alias + 1)};
    bool step = false;
    for (c->at = 0; c->at < r->calls.n; c->at++) {
        const rec_call *k = &r->calls.p[c->at];
        if (k->kind >= REC_OP) {
            step = true;
            continue;
        }
        if (step) return chk_fail(c, "stands inside the step");
        if (!declaration(c, k, &n)) return false;
    }
    c->at = -1;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *v = &g->tensors.p[t];
        bool home = v->kind == IR_PARAM || v->kind == IR_STATE || v->kind == IR_BUFFER;
        if (home && c->home[t] < 0) return chk_fail(c, "%.*s is not declared", HB_ARG(v->name));
    }
    for (int i = 0; i < g->n_alias; i++)
        if (!n.alias[i])
            return chk_fail(c, "alias '%.*s' is not declared", HB_ARG(g->alias[i].name));
    if (g->loss >= 0 && !n.loss) return chk_fail(c, "the loss is not declared");
    if (g->batch > 0 && !n.batch) return chk_fail(c, "the batch is not declared");
    if (uses_schedule(g) && !n.schedule) return chk_fail(c, "the learning rate is not declared");
    return true;
}

// At the end buffer b holds graph tensor t without partial sums. name: as whose.
static bool holds(chk *c, int b, int t, hb_str name)
{
    hb_str what = hb_fmt(c->a, "%.*s", HB_ARG(name));
    if (!chk_read(c, b, what.p, -1)) return false;
    if (c->buf[b].value != c->value_of[t])
        return chk_fail(c, "%.*s holds %.*s, it must hold %.*s", HB_ARG(name),
                        HB_ARG(chk_name(c, c->buf[b].value)), HB_ARG(c->g->tensors.p[t].name));
    for (int a = 0; a < c->r->n_axes; a++)
        if (c->buf[b].partial[a])
            return chk_fail(c, "%.*s is still %.*s on axis %d", HB_ARG(name),
                            HB_ARG(chk_state(c, &c->buf[b], a)), a);
    return true;
}

bool chk_closing(chk *c)
{
    const ir_graph *g = c->g;
    c->at = c->r->calls.n;
    int *next = HB_ARRAY(c->a, int, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++)
        next[t] = t;
    for (int i = 0; i < g->updates.n; i++)
        next[g->updates.p[i].tensor] = g->updates.p[i].next;
    const rec_call **declares = HB_ARRAY(c->a, const rec_call *, c->r->tensors.n + 1);
    for (int k = 0; k < c->r->calls.n; k++)
        if (c->r->calls.p[k].kind <= REC_CONST)
            declares[c->r->calls.p[k].in[0]] = &c->r->calls.p[k];
    for (int t = 0; t < g->tensors.n; t++) {
        bool input = g->tensors.p[t].kind == IR_INPUT; // filled again before the next step
        if (c->home[t] < 0 || input) continue;
        c->closing = declares[c->home[t]];
        if (!holds(c, c->home[t], next[t], g->tensors.p[t].name)) return false;
    }
    for (int k = 0; k < c->r->calls.n; k++) {
        const rec_call *v = &c->r->calls.p[k];
        if (v->kind != REC_LOSS && v->kind != REC_GRAD) continue;
        bool loss = v->kind == REC_LOSS;
        c->closing = v;
        int t = loss ? g->loss : gradient_of(c, v->name);
        hb_str name = loss ? HB_STR("the loss") : hb_fmt(c->a, "gradient of %.*s", HB_ARG(v->name));
        if (!holds(c, v->in[0], t, name)) return false;
        if (!chk_fits(c, v->in[0], t, hb_fmt(c->a, "%.*s", HB_ARG(name)).p)) return false;
        for (int a = 0; loss && a < c->r->n_axes; a++)
            if (c->buf[v->in[0]].cut[a] >= 0)
                return chk_fail(c, "the loss is not whole on axis %d", a);
    }
    c->closing = NULL;
    return true;
}
