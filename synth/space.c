#include "synth/space.h"

#include <math.h>
#include <string.h>

#include "synth/states.h"

// Memo of shared things by a key of bytes: states, forms, keep lists and edge tables of equal
// nodes.
typedef struct memo {
    hb_arena *arena;
    hb_map *map;
    HB_VEC(void *) v;
} memo;

static void **memo_slot(memo *m, const void *key, size_t bytes)
{
    hb_str k = {key, bytes};
    int at = hb_map_get(m->map, k);
    if (at < 0) {
        at = m->v.n;
        HB_PUSH(m->arena, &m->v, NULL);
        hb_map_put(m->map, hb_str_n(m->arena, key, bytes), at);
    }
    return &m->v.p[at];
}

static memo memo_new(hb_arena *a)
{
    return (memo){.arena = a, .map = hb_map_new(a)};
}

// --- what may be cut under a strategy ---

static void mark_classes(const syn_space *s, int tensor, bool *mark)
{
    for (int d = 0; d < s->g->tensors.p[tensor].rank; d++)
        for (int p = 0; p < s->f->dim[tensor][d].n; p++)
            mark[s->f->dim[tensor][d].cls[p]] = true;
}

static bool *find_cuttable(hb_arena *a, const syn_space *s)
{
    bool *yes = HB_ARRAY(a, bool, s->f->n_classes + 1);
    bool *input = HB_ARRAY(a, bool, s->f->n_classes + 1);
    bool *param = HB_ARRAY(a, bool, s->f->n_classes + 1);
    for (int t = 0; t < s->g->tensors.n; t++) {
        if (s->g->tensors.p[t].kind == IR_INPUT) mark_classes(s, t, input);
        if (s->g->tensors.p[t].kind == IR_PARAM) mark_classes(s, t, param);
    }
    for (int c = 0; c < s->f->n_classes; c++) {
        const ir_class *k = &s->f->cls[c];
        yes[c] = !k->whole && k->size >= 2;
        if (s->strategy == SYN_DP_EVEN || s->strategy == SYN_DP_PROP)
            yes[c] &= k->batch;
        else if (s->strategy == SYN_ZERO)
            yes[c] &= k->batch || param[c];
        else if (s->strategy == SYN_TP)
            yes[c] &= !input[c];
    }
    return yes;
}

static const uint8_t *find_parts(hb_arena *a, const syn_space *s)
{
    const ir_graph *g = s->g;
    if (s->strategy != SYN_HAP) return NULL;
    uint8_t *part = HB_ARRAY(a, uint8_t, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++)
        if (g->tensors.p[t].kind == IR_PARAM) part[t] = SYN_PART_PARAM;
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_node *node = &g->nodes.p[n];
        bool param = node->phase == IR_FORWARD && node->n_in > 0;
        for (int i = 0; i < node->n_in; i++)
            param = param && part[node->in[i]] == SYN_PART_PARAM;
        for (int o = 0; param && o < node->n_out; o++)
            part[node->out[o]] = SYN_PART_PARAM;
    }
    for (int k = 1; k < g->grads.n; k += 2)
        part[g->grads.p[k]] = SYN_PART_GRAD;
    return part;
}

// --- uses ---

static void index_uses(hb_arena *a, syn_space *s)
{
    int n_tensors = s->g->tensors.n, total = 0;
    s->first_use = HB_ARRAY(a, int, n_tensors + 1);
    for (int n = 0; n < s->g->nodes.n; n++)
        for (int i = 0; i < s->g->nodes.p[n].n_in; i++, total++)
            s->first_use[s->g->nodes.p[n].in[i] + 1]++;
    for (int t = 0; t < n_tensors; t++)
        s->first_use[t + 1] += s->first_use[t];
    s->uses = hb_alloc(a, sizeof *s->uses * (size_t)(total + 1));
    int *next = hb_copy(a, s->first_use, sizeof(int) * (size_t)(n_tensors + 1));
    for (int n = 0; n < s->g->nodes.n; n++)
        for (int i = 0; i < s->g->nodes.p[n].n_in; i++) {
            int at = next[s->g->nodes.p[n].in[i]]++;
            s->uses[at][0] = n;
            s->uses[at][1] = i;
        }
}

static int n_uses(const syn_space *s, int t)
{
    return s->first_use[t + 1] - s->first_use[t];
}

static bool is_variable(const syn_space *s, int t)
{
    switch (s->g->tensors.p[t].kind) {
    case IR_INPUT:
    case IR_CONST:
    case IR_PARAM:
    case IR_BUFFER:
        return true;
    case IR_STATE:
        return false; // lies as its optimizer node takes it
    case IR_VALUE:
        return n_uses(s, t) > 1 || syn_pinned(s->opt->pins, t);
    }
    return false;
}

// --- keep lists ---

static bool small_param(const syn_space *s, const ir_tensor *t)
{
    return t->rank < 2 || ir_elements(t) < s->opt->small_param;
}

static bool is_dp(const syn_space *s)
{
    return s->strategy == SYN_DP_EVEN || s->strategy == SYN_DP_PROP;
}

static bool has(const syn_state *x, syn_kind kind)
{
    return x->ax[0].kind == kind || x->ax[1].kind == kind;
}

static bool is_whole(const syn_state *x)
{
    return x->ax[0].kind == SYN_R && x->ax[1].kind == SYN_R;
}

static bool cuts_batch_only(const syn_space *s, int t, const syn_state *x)
{
    for (int a = 0; a < SYN_MAX_AXES; a++)
        if (x->ax[a].kind == SYN_S &&
            !s->f->cls[s->f->dim[t][x->ax[a].dim].cls[x->ax[a].pos]].batch)
            return false;
    return true;
}

static bool may_keep(const syn_space *s, int t, const syn_state *x)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    if (ten->kind != IR_VALUE && has(x, SYN_P)) return false;
    if (ten->kind == IR_PARAM || ten->kind == IR_BUFFER)
        return is_whole(x) || (!is_dp(s) && (!small_param(s, ten) || s->strategy == SYN_HAP ||
                                             syn_pinned(s->opt->pins, t)));
    if (s->strategy == SYN_ZERO && ten->kind != IR_PARAM && has(x, SYN_S)) {
        // only gradients follow the parameters' cuts
        bool update = false;
        for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++)
            update |= s->g->nodes.p[s->uses[u][0]].phase == IR_UPDATE;
        return update || cuts_batch_only(s, t, x);
    }
    return true;
}

// Does the tensor take memory at the turn of the step: parameters, what is saved for the backward
// pass, gradients that wait for the update?
static bool held_long(const syn_space *s, int t)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    if (ten->kind == IR_PARAM || ten->kind == IR_BUFFER) return true;
    if (ten->producer < 0) return false;
    ir_phase born = s->g->nodes.p[ten->producer].phase;
    for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++)
        if (s->g->nodes.p[s->uses[u][0]].phase > born) return true;
    return false;
}

static bool may_hold_copy(const syn_space *s, int t, const syn_state *kept)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    double bytes = (double)ir_elements(ten) * (double)ir_dtype_bytes(ten->dtype);
    if (s->part && s->part[t] != SYN_PART_VALUE) return false;
    if (is_whole(kept) || (ten->kind != IR_PARAM && ten->kind != IR_VALUE)) return false;
    return ten->kind == IR_PARAM || (bytes >= (double)s->opt->copy_bytes && held_long(s, t));
}

// Which second copies the space has beside a kept state: on one axis any that is not partial; on
// two, each axis as it is or whole.
static bool may_copy(const syn_space *s, const syn_state *kept, const syn_state *copy)
{
    if (has(copy, SYN_P)) return false;
    if (s->mesh->n_axes == 1) return true;
    for (int a = 0; a < SYN_MAX_AXES; a++) {
        const syn_axis_state *x = &kept->ax[a], *y = &copy->ax[a];
        if (y->kind == SYN_S &&
            (x->kind != SYN_S || x->cut != y->cut || x->dim != y->dim || x->pos != y->pos))
            return false;
    }
    return true;
}

static int n_cuts(const syn_state *x)
{
    return (x->ax[0].kind == SYN_S) + (x->ax[1].kind == SYN_S);
}

static void prefer_cut(const syn_space *s, int t, syn_keep *keep, int *n)
{
    // ZeRO stores large parameters cut; data parallelism reads inputs by rows.
    const ir_tensor *ten = &s->g->tensors.p[t];
    const syn_states *st = s->states[t];
    int most = 0, m = 0;
    if (!(s->strategy == SYN_ZERO && ten->kind == IR_PARAM) &&
        !((s->strategy == SYN_ZERO || is_dp(s)) && ten->kind == IR_INPUT))
        return;
    for (int i = 0; i < *n; i++)
        most = n_cuts(&st->s[keep[i].state]) > most ? n_cuts(&st->s[keep[i].state]) : most;
    for (int i = 0; i < *n; i++)
        if (n_cuts(&st->s[keep[i].state]) == most) keep[m++] = keep[i];
    *n = m;
}

static syn_keeps *build_keeps(hb_arena *a, const syn_space *s, int t)
{
    const syn_states *st = s->states[t];
    syn_keep *keep = HB_ARRAY(a, syn_keep, st->n * (st->n + 1)); // room for every pair
    int n = 0;
    for (int i = 0; i < st->n; i++)
        if (may_keep(s, t, &st->s[i]) &&
            syn_pins_allow(s->opt->pins, s->f, t, &st->s[i], s->mesh->n_axes))
            keep[n++] = (syn_keep){(int16_t)i, -1};
    prefer_cut(s, t, keep, &n);
    int single = n;
    for (int k = 0; k < single; k++) {
        if (!may_hold_copy(s, t, &st->s[keep[k].state])) continue;
        for (int j = 0; j < st->n; j++)
            if (j != keep[k].state && may_copy(s, &st->s[keep[k].state], &st->s[j]) &&
                isfinite(st->cost[keep[k].state * st->n + j]))
                keep[n++] = (syn_keep){keep[k].state, (int16_t)j};
    }
    syn_keeps *out = HB_NEW(a, syn_keeps);
    out->n = n;
    out->keep = keep;
    out->cost = HB_ARRAY(a, double, n);
    for (int i = 0; i < n; i++) {
        bool copied = keep[i].copy >= 0;
        if (copied) out->cost[i] += st->cost[keep[i].state * st->n + keep[i].copy];
        if (held_long(s, t))
            out->cost[i] += st->bytes[keep[i].state] + (copied ? st->bytes[keep[i].copy] : 0);
    }
    return out;
}

// --- edge tables ---

typedef struct table_key {
    char kind; // 'p' producer -> tensor, 'c' tensor -> consumer, 'd' producer -> consumer, 'u'
               // update
    char slot_a, slot_b;
    char pad[5];
    const void *a, *b, *states;
} table_key;

static double *producer_table(hb_arena *a, const syn_forms *f, int out, const syn_keeps *k,
                              const syn_states *st)
{
    double *t = HB_ARRAY(a, double, f->n * k->n);
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < k->n; j++)
            t[i * k->n + j] = st->cost[f->form[i].out[out] * st->n + k->keep[j].state];
    return t;
}

static double *consumer_table(hb_arena *a, const syn_keeps *k, const syn_forms *f, int in,
                              const syn_states *st, bool in_place)
{
    double *t = HB_ARRAY(a, double, k->n * f->n);
    for (int j = 0; j < k->n; j++)
        for (int i = 0; i < f->n; i++) {
            int want = f->form[i].in[in], kept = k->keep[j].state, copy = k->keep[j].copy;
            double c = st->cost[kept * st->n + want];
            if (in_place)
                c += st->cost[want * st->n + kept];
            else if (copy >= 0 && st->cost[copy * st->n + want] < c)
                c = st->cost[copy * st->n + want];
            t[j * f->n + i] = c;
        }
    return t;
}

static double *direct_table(hb_arena *a, const syn_forms *p, int out, const syn_forms *c, int in,
                            const syn_states *st)
{
    double *t = HB_ARRAY(a, double, p->n * c->n);
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < c->n; j++)
            t[i * c->n + j] = st->cost[p->form[i].out[out] * st->n + c->form[j].in[in]];
    return t;
}

bool syn_writes_home(const ir_graph *g, int node, int operand)
{
    const ir_node *n = &g->nodes.p[node];
    return (ir_row(n->op)->flags & IR_IN_PLACE) && operand < n->n_out;
}

typedef struct edge_list {
    HB_VEC(ms_edge) v;
} edge_list;

static void add_edges(hb_arena *a, syn_space *s, memo *tables, edge_list *e)
{
    const ir_graph *g = s->g;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *ten = &g->tensors.p[t];
        const syn_states *st = s->states[t];
        int var = s->tensor_var[t], p = ten->producer;
        if (ten->kind == IR_STATE) continue;
        if (var >= 0 && p >= 0) {
            table_key key = {.kind = 'p',
                             .slot_a = (char)ten->out,
                             .a = s->forms[p],
                             .b = s->keeps[t],
                             .states = st};
            void **slot = memo_slot(tables, &key, sizeof key);
            if (!*slot) *slot = producer_table(a, s->forms[p], ten->out, s->keeps[t], st);
            HB_PUSH(a, &e->v, (ms_edge){s->node_var[p], var, *slot});
        }
        for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++) {
            int n = s->uses[u][0], in = s->uses[u][1];
            if (var >= 0) {
                bool home = ten->kind != IR_VALUE && syn_writes_home(g, n, in);
                table_key key = {.kind = home ? 'h' : 'c',
                                 .slot_b = (char)in,
                                 .a = s->keeps[t],
                                 .b = s->forms[n],
                                 .states = st};
                void **slot = memo_slot(tables, &key, sizeof key);
                if (!*slot) *slot = consumer_table(a, s->keeps[t], s->forms[n], in, st, home);
                HB_PUSH(a, &e->v, (ms_edge){var, s->node_var[n], *slot});
            } else if (p >= 0) {
                table_key key = {.kind = 'd',
                                 .slot_a = (char)ten->out,
                                 .slot_b = (char)in,
                                 .a = s->forms[p],
                                 .b = s->forms[n],
                                 .states = st};
                void **slot = memo_slot(tables, &key, sizeof key);
                if (!*slot) *slot = direct_table(a, s->forms[p], ten->out, s->forms[n], in, st);
                HB_PUSH(a, &e->v, (ms_edge){s->node_var[p], s->node_var[n], *slot});
            }
        }
    }
    // A next value that is computed out of place moves into the home buffer at the end.
    for (int u = 0; u < g->updates.n; u++) {
        int t = g->updates.p[u].tensor, next = g->updates.p[u].next,
            p = g->tensors.p[next].producer;
        if (g->tensors.p[t].kind == IR_STATE || p < 0 ||
            (ir_row(g->nodes.p[p].op)->flags & IR_IN_PLACE))
            continue;
        double *table =
            producer_table(a, s->forms[p], g->tensors.p[next].out, s->keeps[t], s->states[next]);
        HB_PUSH(a, &e->v, (ms_edge){s->node_var[p], s->tensor_var[t], table});
    }
}

// Two facts that leave a pinned tensor no state: its pins, or a pin and the strategy.
static hb_str no_state(hb_arena *a, const syn_space *s, int t)
{
    hb_str pins = syn_pins_text(a, s->opt->pins, t), name = s->g->tensors.p[t].name;
    for (int i = 0; i < s->states[t]->n; i++)
        if (syn_pins_allow(s->opt->pins, s->f, t, &s->states[t]->s[i], s->mesh->n_axes))
            return hb_fmt(a, "%.*s clashes with strategy %s, which never keeps %.*s so",
                          HB_ARG(pins), syn_strategy_name(s->strategy), HB_ARG(name));
    int n = 0;
    for (uint64_t m = s->opt->pins->of[t]; m; m &= m - 1)
        n++;
    if (n > 1) return hb_fmt(a, "%.*s leave no state for %.*s", HB_ARG(pins), HB_ARG(name));
    return hb_fmt(a, "%.*s clashes with strategy %s, which never cuts %.*s so", HB_ARG(pins),
                  syn_strategy_name(s->strategy), HB_ARG(name));
}

static bool build_tables(hb_arena *a, syn_space *s, hb_str *why)
{
    const ir_graph *g = s->g;
    memo states = memo_new(a), forms = memo_new(a), keeps = memo_new(a);
    for (int t = 0; t < g->tensors.n; t++) {
        uint64_t sig = syn_tensor_signature(s, t);
        void **slot = memo_slot(&states, &sig, sizeof sig);
        if (!*slot) *slot = syn_states_build(a, s, t);
        s->states[t] = *slot;
    }
    for (int n = 0; n < g->nodes.n; n++) {
        uint64_t sig = syn_node_signature(s, n);
        void **slot = memo_slot(&forms, &sig, sizeof sig);
        if (!*slot) *slot = syn_forms_build(a, s, n);
        s->forms[n] = *slot;
        if (s->forms[n]->n == 0) {
            *why = hb_fmt(a, "strategy %s leaves no form for %.*s", syn_strategy_name(s->strategy),
                          HB_ARG(g->nodes.p[n].name));
            return false;
        }
    }
    for (int t = 0; t < g->tensors.n; t++) {
        if (!is_variable(s, t)) continue;
        const ir_tensor *ten = &g->tensors.p[t];
        bool update = false;
        for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++)
            update |= g->nodes.p[s->uses[u][0]].phase == IR_UPDATE;
        struct {
            const void *st;
            int64_t kind, flags;
            uint64_t pins;
        } key = {s->states[t], ten->kind, small_param(s, ten) | held_long(s, t) << 1 | update << 2,
                 s->opt->pins ? s->opt->pins->of[t] : 0};
        void **slot = memo_slot(&keeps, &key, sizeof key);
        if (!*slot) *slot = build_keeps(a, s, t);
        s->keeps[t] = *slot;
        if (s->keeps[t]->n == 0) {
            *why = no_state(a, s, t);
            return false;
        }
    }
    return true;
}

syn_space *syn_space_build(hb_arena *a, syn_costs *costs, const syn_palette *palette,
                           syn_strategy strategy, const syn_options *opt, const double *weight,
                           double weight_comm, const double *memory_price, hb_str *why)
{
    syn_space *s = HB_NEW(a, syn_space);
    const ir_graph *g = costs->g;
    *s = (syn_space){.arena = a,
                     .g = g,
                     .f = costs->f,
                     .m = costs->m,
                     .mesh = costs->mesh,
                     .costs = costs,
                     .palette = palette,
                     .strategy = strategy,
                     .opt = opt,
                     .weight = weight,
                     .weight_comm = weight_comm,
                     .memory_price = memory_price};
    s->cuttable = find_cuttable(a, s);
    s->part = find_parts(a, s);
    s->states = HB_ARRAY(a, syn_states *, g->tensors.n + 1);
    s->forms = HB_ARRAY(a, syn_forms *, g->nodes.n + 1);
    s->keeps = HB_ARRAY(a, syn_keeps *, g->tensors.n + 1);
    s->node_var = HB_ARRAY(a, int, g->nodes.n + 1);
    s->tensor_var = HB_ARRAY(a, int, g->tensors.n + 1);
    index_uses(a, s);
    if (!build_tables(a, s, why)) return NULL;

    int n_vars = 0, max_vars = g->nodes.n + g->tensors.n;
    int *domain = HB_ARRAY(a, int, max_vars + 1);
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)(max_vars + 1));
    for (int t = 0; t < g->tensors.n; t++)
        s->tensor_var[t] = -1;
    // Variables in program order: a tensor stands behind its producer, a parameter before its first
    // use.
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_node *node = &g->nodes.p[n];
        for (int pass = 0; pass < 2; pass++) {
            int k = pass == 0 ? node->n_in : node->n_out;
            for (int i = 0; i < k; i++) {
                int t = pass == 0 ? node->in[i] : node->out[i];
                if (s->keeps[t] && s->tensor_var[t] < 0) {
                    s->tensor_var[t] = n_vars;
                    domain[n_vars] = s->keeps[t]->n;
                    unary[n_vars++] = s->keeps[t]->cost;
                }
            }
            if (pass == 0) {
                s->node_var[n] = n_vars;
                domain[n_vars] = s->forms[n]->n;
                unary[n_vars++] = s->forms[n]->cost;
            }
        }
    }
    edge_list e = {0};
    memo tables = memo_new(a);
    add_edges(a, s, &tables, &e);
    if (g->loss >= 0) { // the loss is wanted whole
        int p = g->tensors.p[g->loss].producer;
        const syn_states *st = s->states[g->loss];
        double *cost = HB_ARRAY(a, double, s->forms[p]->n);
        bool var = s->tensor_var[g->loss] >= 0;
        for (int i = 0; i < s->forms[p]->n; i++)
            cost[i] = s->forms[p]->cost[i] +
                      st->cost[s->forms[p]->form[i].out[g->tensors.p[g->loss].out] * st->n];
        if (!var) {
            unary[s->node_var[p]] = cost;
        } else {
            const syn_keeps *k = s->keeps[g->loss];
            double *keep = HB_ARRAY(a, double, k->n);
            for (int i = 0; i < k->n; i++)
                keep[i] = k->cost[i] + st->cost[k->keep[i].state * st->n];
            unary[s->tensor_var[g->loss]] = keep;
        }
    }
    s->problem = (ms_problem){
        .n_vars = n_vars, .domain = domain, .unary = unary, .n_edges = e.v.n, .edge = e.v.p};
    return s;
}

hb_str syn_space_clash(hb_arena *a, const syn_space *s)
{
    const ms_problem *p = &s->problem;
    for (int t = 0; t < s->g->tensors.n; t++) {
        if (!syn_pinned(s->opt->pins, t) || s->tensor_var[t] < 0) continue;
        for (int i = 0; i < p->n_edges; i++) {
            const ms_edge *e = &p->edge[i];
            int other = e->a == s->tensor_var[t] ? e->b : e->b == s->tensor_var[t] ? e->a : -1;
            bool none = other >= 0;
            for (int k = 0; none && k < p->domain[e->a] * p->domain[e->b]; k++)
                none = isinf(e->table[k]);
            for (int n = 0; none && n < s->g->nodes.n; n++)
                if (s->node_var[n] == other)
                    return hb_fmt(a,
                                  "%.*s clashes with %.*s, which under strategy %s has no such "
                                  "form",
                                  HB_ARG(syn_pins_text(a, s->opt->pins, t)),
                                  HB_ARG(s->g->nodes.p[n].name), syn_strategy_name(s->strategy));
        }
    }
    if (!s->opt->pins) return (hb_str){0};
    return hb_fmt(a, "%.*s clashes with strategy %s, whose forms leave no plan with it",
                  HB_ARG(syn_pins_text(a, s->opt->pins, -1)), syn_strategy_name(s->strategy));
}

ms_status syn_space_near(hb_arena *a, const syn_space *s, double gap, syn_choice *out,
                         double *lower)
{
    int *x = HB_ARRAY(a, int, s->problem.n_vars);
    ms_status status = ms_solve_near(a, &s->problem, 0, gap, NULL, x, &out->additive, lower);
    if (status == MS_INFEASIBLE || isinf(out->additive))
        return status == MS_OPTIMAL ? MS_INFEASIBLE : status;
    syn_choice_decode(a, s, x, out);
    return MS_OPTIMAL;
}

ms_status syn_space_solve(hb_arena *a, const syn_space *s, syn_choice *out)
{
    double lower = 0;
    ms_status status = syn_space_near(a, s, 0, out, &lower);
    return status == MS_OPTIMAL && lower < out->additive * (1 - 1e-9) ? MS_TOO_LARGE : status;
}

void syn_choice_decode(hb_arena *a, const syn_space *s, const int *x, syn_choice *out)
{
    out->form = HB_ARRAY(a, int, s->g->nodes.n);
    out->keep = HB_ARRAY(a, syn_keep, s->g->tensors.n);
    for (int n = 0; n < s->g->nodes.n; n++)
        out->form[n] = x[s->node_var[n]];
    for (int t = 0; t < s->g->tensors.n; t++)
        out->keep[t] =
            s->tensor_var[t] >= 0 ? s->keeps[t]->keep[x[s->tensor_var[t]]] : (syn_keep){-1, -1};
}
