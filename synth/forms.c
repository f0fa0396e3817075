// Forms of a node on the axis: what its index structure (ir_rule) allows.
//
//     none     every operand and output whole
//     factor   one local factor cut by one table: operands and outputs that hold it are S; an
//     output
//              without it is P by its reducer; a term without it must then be P itself in one
//              linear operand
//     partial  one linear operand of every term is P, the rest whole; outputs are P
//
// A strategy is the same list with forms taken away.

#include <math.h>
#include <string.h>

#include "synth/states.h"

typedef struct builder {
    hb_arena *arena;
    const syn_space *s;
    int node;
    const ir_node *n;
    const ir_rule *r;
    HB_VEC(syn_form) v;
} builder;

static int tensor_of(const builder *b, bool out, int i)
{
    return out ? b->n->out[i] : b->n->in[i];
}

static int find_state(const builder *b, bool out, int i, const syn_axis_state *x)
{
    return syn_states_find(b->s->states[tensor_of(b, out, i)], x);
}

static int partial_state(const builder *b, bool out, int i, char reducer)
{
    syn_axis_state p = {.kind = SYN_P, .reducer = (uint8_t)reducer, .cut = -1};
    return find_state(b, out, i, &p);
}

// State of one operand or output when local factor k is cut: index in its list, -1 if it lacks k,
// -2 if it holds k in a way that has no state.
static int cut_state(const builder *b, bool out, int i, int k, int cut)
{
    const ir_tensor *t = &b->s->g->tensors.p[tensor_of(b, out, i)];
    int dim = 0, pos = 0;
    if (!ir_rule_find(out ? b->r->out[i] : b->r->in[i], t->rank, k, &dim, &pos)) return -1;
    syn_axis_state x = {
        .kind = SYN_S, .dim = (uint8_t)dim, .pos = (uint8_t)pos, .cut = (int16_t)cut};
    int at = find_state(b, out, i, &x);
    return at < 0 ? -2 : at;
}

static bool try_cut(builder *b, int k, int cut, syn_form *form)
{
    bool contracted = false, held[IR_MAX_IN] = {false}, present[IR_MAX_IN] = {false};
    *form = (syn_form){.factor = k, .cut = cut};
    for (int i = 0; i < b->n->n_in; i++) {
        int at = cut_state(b, false, i, k, cut);
        if (at == -2) return false;
        form->in[i] = (uint8_t)(at < 0 ? 0 : at);
        present[b->r->term[i]] = true;
        held[b->r->term[i]] |= at >= 0;
    }
    for (int o = 0; o < b->n->n_out; o++) {
        int at = cut_state(b, true, o, k, cut);
        if (at == -1) {
            contracted = true;
            at = b->r->reducer[o] == '-' ? -2 : partial_state(b, true, o, b->r->reducer[o]);
        }
        if (at < 0) return false;
        form->out[o] = (uint8_t)at;
    }
    for (int t = 0; contracted && t < b->r->n_terms; t++) {
        if (!present[t] || held[t]) continue;
        int p = -1, i = 0; // the term does not hold k: one linear operand of it must be P
        for (; i < b->n->n_in && p < 0; i++)
            if (b->r->term[i] == t && (b->r->linear >> i & 1)) p = partial_state(b, false, i, 's');
        if (p < 0) return false;
        form->in[i - 1] = (uint8_t)p;
    }
    return true;
}

static bool all_sum(const builder *b)
{
    for (int o = 0; o < b->n->n_out; o++)
        if (b->r->reducer[o] != 's') return false;
    return b->n->n_out > 0 && b->n->n_in > 0;
}

// One linear operand of every term from `term` on.
static void partial_forms(builder *b, int term, syn_form *form)
{
    if (term == b->r->n_terms) {
        HB_PUSH(b->arena, &b->v, *form);
        return;
    }
    bool present = false;
    for (int i = 0; i < b->n->n_in; i++) {
        if (b->r->term[i] != term) continue;
        present = true;
        if (!(b->r->linear >> i & 1)) continue;
        int p = partial_state(b, false, i, 's');
        if (p < 0) continue;
        form->in[i] = (uint8_t)p;
        partial_forms(b, term + 1, form);
        form->in[i] = 0;
    }
    if (!present) partial_forms(b, term + 1, form);
}

static void add_partial_forms(builder *b)
{
    if (!all_sum(b)) return;
    syn_form form = {.factor = -1, .cut = -1};
    for (int o = 0; o < b->n->n_out; o++) {
        int p = partial_state(b, true, o, 's');
        if (p < 0) return;
        form.out[o] = (uint8_t)p;
    }
    partial_forms(b, 0, &form);
}

static bool cuts_batch(const builder *b, const syn_form *f)
{
    return f->factor >= 0 && b->s->f->cls[b->r->factor[f->factor].cls].batch;
}

// Keeps the forms the strategy wants: `wanted` ones if there are any.
static void keep_if_any(builder *b, bool (*wanted)(const builder *, const syn_form *))
{
    int n = 0;
    for (int i = 0; i < b->v.n; i++)
        if (wanted(b, &b->v.p[i])) b->v.p[n++] = b->v.p[i];
    if (n > 0) b->v.n = n;
}

static bool is_cut(const builder *b, const syn_form *f)
{
    (void)b;
    return f->factor >= 0;
}

static bool not_cut(const builder *b, const syn_form *f)
{
    return !is_cut(b, f);
}

static bool reads_partial(const builder *b, const syn_form *f)
{
    for (int i = 0; i < b->n->n_in; i++)
        if (b->s->states[b->n->in[i]]->s[f->in[i]].kind == SYN_P) return true;
    return false;
}

static bool makes_partial(const builder *b, const syn_form *f)
{
    for (int o = 0; o < b->n->n_out; o++)
        if (b->s->states[b->n->out[o]]->s[f->out[o]].kind == SYN_P) return true;
    return false;
}

// HAP's rules (alibaba/hap, hap.rs analyze_rgraph): only add takes partial values; forward, only
// whole sums, the loss and products without a parameter's rule contract a cut factor, and attention
// is cut by the batch. Backward, the adjoints of these are whatever the rows allow.
static bool hap_rule(const builder *b, const syn_form *f)
{
    const ir_op_row *row = ir_row(b->n->op);
    if (reads_partial(b, f)) return f->factor < 0 && b->n->op == IR_OP_add;
    if (f->factor < 0 || b->n->phase != IR_FORWARD) return true;
    if (row->flops_kind == IR_FLOPS_SDPA) return cuts_batch(b, f);
    return !makes_partial(b, f) || b->n->op == IR_OP_sum || b->n->op == IR_OP_matmul ||
           b->n->op == IR_OP_nll_sum || b->n->op == IR_OP_count;
}

static void apply_strategy(builder *b)
{
    const syn_space *s = b->s;
    bool update = b->n->phase == IR_UPDATE;
    const ir_op_row *row = ir_row(b->n->op);
    switch (s->strategy) {
    case SYN_DP_EVEN:
    case SYN_DP_PROP:
        keep_if_any(b, cuts_batch);
        break;
    case SYN_ZERO:
        if (!update) keep_if_any(b, cuts_batch);
        if (!update && !cuts_batch(b, &b->v.p[0])) keep_if_any(b, not_cut);
        if (update && (row->flags & IR_IN_PLACE) &&
            ir_elements(&s->g->tensors.p[b->n->in[0]]) >= s->opt->small_param)
            keep_if_any(b, is_cut);
        break;
    case SYN_TP:
        if (!update && (row->flops_kind == IR_FLOPS_DENSE || row->flops_kind == IR_FLOPS_SDPA))
            keep_if_any(b, is_cut);
        break;
    case SYN_HAP:
        keep_if_any(b, hap_rule);
        break;
    case SYN_AUTO:
    case SYN_N_STRATEGIES:
        break;
    }
}

// Seconds per byte of the optimizer state that lies with the node itself.
static double state_price(const builder *b, const syn_form *form)
{
    double sec = 0;
    for (int i = 0; b->s->memory_price && i < b->n->n_in; i++)
        if (b->s->g->tensors.p[b->n->in[i]].kind == IR_STATE)
            sec += b->s->states[b->n->in[i]]->bytes[form->in[i]];
    return sec;
}

double syn_node_seconds(const ir_graph *g, const ir_factors *f, const cost_model *m,
                        const syn_mesh *mesh, int node, int k, int cut, int cls)
{
    const char *name = ir_row(g->nodes.p[node].op)->name;
    double worst = 0, flops = 0, bytes = 0;
    int cluster_class = mesh->cluster_class[cls];
    if (k < 0) {
        ir_node_work(g, f, node, NULL, 0, &flops, &bytes);
        return cost_op(m, cluster_class, name, flops, bytes);
    }
    const syn_cut *c = &mesh->cuts.p[cut];
    // Only a causal attention's work depends on where a part begins.
    bool by_place = ir_row(g->nodes.p[node].op)->flops_kind == IR_FLOPS_SDPA;
    int64_t lo = 0, last_n = -1;
    for (int r = 0; r < mesh->n_ranks; r++) {
        int64_t n = c->table[r];
        if (mesh->class_of[r] == cls && (by_place || n != last_n)) {
            ir_part part = {k, n, lo};
            ir_node_work(g, f, node, &part, 1, &flops, &bytes);
            double sec = cost_op(m, cluster_class, name, flops, bytes);
            worst = sec > worst ? sec : worst;
            last_n = n;
        }
        lo += n;
    }
    return worst;
}

uint64_t syn_node_signature(const syn_space *s, int node)
{
    const ir_node *n = &s->g->nodes.p[node];
    const ir_rule *r = &s->f->rule[node];
    HB_VEC(uint64_t) key = {0};
    hb_arena *a = hb_arena_new();
    HB_PUSH(a, &key, (uint64_t)n->op);
    HB_PUSH(a, &key, (uint64_t)n->phase);
    HB_PUSH(a, &key, (uint64_t)n->n_in << 8 | (uint64_t)n->n_out);
    for (int i = 0; i < r->n_factors; i++) {
        HB_PUSH(a, &key, (uint64_t)r->factor[i].size);
        HB_PUSH(a, &key, (uint64_t)r->factor[i].whole);
        HB_PUSH(a, &key, (uint64_t)s->palette->group_of[r->factor[i].cls]);
    }
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        bool out = i >= n->n_in;
        int at = out ? i - n->n_in : i, t = out ? n->out[at] : n->in[at];
        const ir_rule_dim *dims = out ? r->out[at] : r->in[at];
        HB_PUSH(a, &key, (uint64_t)(uintptr_t)s->states[t]);
        HB_PUSH(a, &key, (uint64_t)s->g->tensors.p[t].kind);
        for (int d = 0; d < s->g->tensors.p[t].rank; d++)
            for (int p = 0; p < dims[d].n; p++)
                HB_PUSH(a, &key, (uint64_t)(dims[d].f[p] + 1));
    }
    for (int i = 0; i < ir_row(n->op)->n_attr; i++) {
        if (strcmp(ir_row(n->op)->attr[i].name, "key") == 0)
            continue; // which dropout it is does not matter for forms and prices
        uint64_t real = 0;
        memcpy(&real, &n->attr[i].f, sizeof real);
        HB_PUSH(a, &key, (uint64_t)n->attr[i].i);
        HB_PUSH(a, &key, real);
        HB_PUSH(a, &key, hb_hash_key(n->attr[i].v, sizeof n->attr[i].v));
    }
    uint64_t h = hb_hash_key(key.p, sizeof *key.p * (size_t)key.n);
    hb_arena_free(a);
    return h;
}

syn_forms *syn_forms_build(hb_arena *a, const syn_space *s, int node)
{
    builder b = {
        .arena = a, .s = s, .node = node, .n = &s->g->nodes.p[node], .r = &s->f->rule[node]};
    HB_PUSH(a, &b.v, (syn_form){.factor = -1, .cut = -1});
    for (int k = 0; k < b.r->n_factors; k++) {
        int cls = b.r->factor[k].cls;
        if (b.r->factor[k].whole || !s->cuttable[cls]) continue;
        const struct syn_palette_group *q = &s->palette->group[s->palette->group_of[cls]];
        for (int c = 0; c < q->n; c++) {
            syn_form form;
            if (try_cut(&b, k, q->cut[c], &form)) HB_PUSH(a, &b.v, form);
        }
    }
    add_partial_forms(&b);
    apply_strategy(&b);
    syn_forms *out = HB_NEW(a, syn_forms);
    out->n = b.v.n;
    out->form = b.v.p;
    int classes = s->mesh->n_classes;
    out->cost = HB_ARRAY(a, double, out->n);
    out->sec = HB_ARRAY(a, double, out->n *classes);
    for (int i = 0; i < out->n; i++) {
        const syn_form *form = &out->form[i];
        for (int c = 0; c < classes; c++) {
            double sec =
                syn_node_seconds(s->g, s->f, s->m, s->mesh, node, form->factor, form->cut, c);
            out->sec[i * classes + c] = sec;
            out->cost[i] += s->weight[c] * sec;
        }
        out->cost[i] += state_price(&b, form);
    }
    return out;
}
