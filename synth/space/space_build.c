#include "synth/space/space_build.h"

#include <math.h>

#include "synth/space/keeps.h"
#include "synth/space/shardings.h"

#include "synth/space/states.h"

// --- edge tables ---

// By sharding: the state of one operand or output.
static const int *states_in(hb_arena *a, const syn_shardings *f, int in)
{
    int *state = hb_room(a, sizeof *state, f->n + 1);
    for (int i = 0; i < f->n; i++)
        state[i] = f->sharding[i].in[in];
    return state;
}

static double *producer_table(hb_arena *a, const syn_shardings *f, int out, const syn_keeps *k,
                              const syn_states *st)
{
    double *t = hb_room(a, sizeof *t, f->n * k->n);
    for (int i = 0; i < f->n; i++) {
        const double *from = st->cost + f->sharding[i].out[out] * st->n;
        for (int j = 0; j < k->n; j++)
            t[i * k->n + j] = from[k->keep[j].state];
    }
    return t;
}

static double *consumer_table(hb_arena *a, const syn_keeps *k, const syn_shardings *f, int in,
                              const syn_states *st, bool in_place)
{
    double *t = hb_room(a, sizeof *t, k->n * f->n);
    const int *want = states_in(a, f, in);
    for (int j = 0; j < k->n; j++) {
        int kept = k->keep[j].state, copy = k->keep[j].copy;
        const double *from = st->cost + kept * st->n;
        double *row = t + j * f->n;
        for (int i = 0; i < f->n; i++)
            row[i] = from[want[i]];
        for (int i = 0; i < f->n && in_place; i++)
            row[i] += st->cost[want[i] * st->n + kept];
        const double *copied = copy < 0 || in_place ? NULL : st->cost + copy * st->n;
        for (int i = 0; i < f->n && copied; i++)
            row[i] = copied[want[i]] < row[i] ? copied[want[i]] : row[i];
    }
    return t;
}

static double *direct_table(hb_arena *a, const syn_shardings *p, int out, const syn_shardings *c,
                            int in, const syn_states *st)
{
    double *t = hb_room(a, sizeof *t, p->n * c->n);
    const int *want = states_in(a, c, in);
    for (int i = 0; i < p->n; i++) {
        const double *from = st->cost + p->sharding[i].out[out] * st->n;
        for (int j = 0; j < c->n; j++)
            t[i * c->n + j] = from[want[j]];
    }
    return t;
}

static double *one_table(hb_arena *a, const syn_space *s, const syn_table *t, const syn_states *st)
{
    const syn_shardings *p = t->producer >= 0 ? s->shardings_of[t->producer] : NULL;
    const syn_shardings *c = t->consumer >= 0 ? s->shardings_of[t->consumer] : NULL;
    const syn_keeps *k = t->kept >= 0 ? s->keeps_of[t->kept] : NULL;
    switch (t->kind) {
    case SYN_EDGE_MADE:
    case SYN_EDGE_UPDATE:
        return producer_table(a, p, t->out, k, st);
    case SYN_EDGE_READ:
    case SYN_EDGE_HOME:
        return consumer_table(a, k, c, t->in, st, t->kind == SYN_EDGE_HOME);
    case SYN_EDGE_DIRECT:
        return direct_table(a, p, t->out, c, t->in, st);
    }
    return NULL;
}

// How often a conversion of this table is made in a step (lower.c: what is read straight from its
// maker is converted where it is made).
static int table_times(const syn_space *s, const syn_table *t)
{
    int producer = t->producer >= 0 ? s->kinds->a_node[t->producer] : -1;
    int consumer = t->consumer >= 0 ? s->kinds->a_node[t->consumer] : -1;
    if (producer < 0) return ir_node_slots(s->g, consumer);
    return s->g->nodes.p[producer].adds ? 1 : ir_node_slots(s->g, producer);
}

// A sum's zeros are made as it wants them.
static bool makes_zeros(const syn_space *s, const syn_table *t)
{
    return t->kind == SYN_EDGE_DIRECT && t->in == 0 &&
           s->g->nodes.p[s->kinds->a_node[t->consumer]].adds;
}

static double *edge_table(hb_arena *a, const syn_space *s, const syn_table *t, const syn_states *st)
{
    double *table = one_table(a, s, t, st);
    int n = table_times(s, t), size = 0;
    bool zeros = makes_zeros(s, t);
    if (n == 1 && !zeros) return table;
    if (t->kind == SYN_EDGE_MADE)
        size = s->shardings_of[t->producer]->n * s->keeps_of[t->kept]->n;
    else if (t->kind == SYN_EDGE_DIRECT)
        size = s->shardings_of[t->producer]->n * s->shardings_of[t->consumer]->n;
    else
        size = s->keeps_of[t->kept]->n * s->shardings_of[t->consumer]->n;
    for (int i = 0; i < size; i++)
        table[i] = zeros ? 0 : n * table[i];
    return table;
}

// --- what is equal stands at one place, whatever kinds it is of: the solver knows it by that ---

// Lists by their bytes, which outlive this.
typedef struct contents {
    hb_map *number;
    HB_VEC(const void *) first; // of its equals, by number
} contents;

typedef struct sharing {
    hb_arena *arena;
    const syn_space *s;
    contents costs, ends, tables; // costs of variables and moves; states at ends of edges
    int *moves;                   // by kind of tensor: number of its moves' costs, + 1
    HB_VEC(const double *) table; // by number
} sharing;

// What decides a table, by numbers.
typedef struct table_key {
    int kind, a, b, moves, times, zeros;
} table_key;

static int number_of(sharing *x, contents *c, const void *p, size_t bytes)
{
    hb_str key = {p, bytes};
    if (!c->number) c->number = hb_map_new(x->arena);
    int number = hb_map_get(c->number, key);
    if (number >= 0) return number;
    hb_map_put(c->number, key, c->first.n);
    HB_PUSH(x->arena, &c->first, p);
    return c->first.n - 1;
}

static const double *shared_costs(sharing *x, const double *cost, int n)
{
    int number = number_of(x, &x->costs, cost, sizeof *cost * (size_t)n);
    return x->costs.first.p[number];
}

// The states of an output or operand, sharding by sharding.
static int node_end(sharing *x, int kind, int slot, bool out)
{
    const syn_shardings *f = x->s->shardings_of[kind];
    int *state = hb_room(x->arena, sizeof *state, f->n + 1);
    for (int i = 0; i < f->n; i++)
        state[i] = out ? f->sharding[i].out[slot] : f->sharding[i].in[slot];
    return number_of(x, &x->ends, state, sizeof *state * (size_t)f->n);
}

static int kept_end(sharing *x, int kind)
{
    const syn_keeps *k = x->s->keeps_of[kind];
    return number_of(x, &x->ends, k->keep, sizeof *k->keep * (size_t)k->n);
}

static table_key key_of_table(sharing *x, const syn_table *t)
{
    const syn_states *st = x->s->states_of[t->tensor];
    int *moves = &x->moves[t->tensor];
    if (!*moves)
        *moves = 1 + number_of(x, &x->costs, st->cost, sizeof *st->cost * (size_t)(st->n * st->n));
    table_key key = {.kind = t->kind,
                     .moves = *moves,
                     .times = table_times(x->s, t),
                     .zeros = makes_zeros(x->s, t)};
    bool read = t->kind == SYN_EDGE_READ || t->kind == SYN_EDGE_HOME;
    key.a = read ? kept_end(x, t->kept) : node_end(x, t->producer, t->out, true);
    key.b = read || t->kind == SYN_EDGE_DIRECT ? node_end(x, t->consumer, t->in, false)
                                               : kept_end(x, t->kept);
    return key;
}

static const double *shared_table(hb_arena *a, sharing *x, const syn_table *t)
{
    table_key key = key_of_table(x, t);
    int known = x->tables.first.n;
    int at = number_of(x, &x->tables, hb_copy(x->arena, &key, sizeof key), sizeof key);
    if (at == known)
        HB_PUSH(x->arena, &x->table, edge_table(a, x->s, t, x->s->states_of[t->tensor]));
    return x->table.p[at];
}

// Two facts that leave a pinned tensor no state: its pins, or a pin and the strategy.
static hb_str no_state(hb_arena *a, const syn_space *s, int t)
{
    hb_str pins = syn_pins_text(a, s->opt->pins, t), name = s->g->tensors.p[t].name;
    for (int i = 0; i < s->states[t]->n; i++)
        if (syn_pins_allow(s->opt->pins, t, &s->states[t]->s[i], s->mesh->n_axes))
            return hb_fmt(a, "%.*s clashes with strategy %s, which never keeps %.*s so",
                          HB_ARG(pins), syn_strategy_name(s->strategy), HB_ARG(name));
    int n = 0;
    for (uint64_t m = s->opt->pins->of[t]; m; m &= m - 1)
        n++;
    if (n > 1) return hb_fmt(a, "%.*s leave no state for %.*s", HB_ARG(pins), HB_ARG(name));
    return hb_fmt(a, "%.*s clashes with strategy %s, which never cuts %.*s so", HB_ARG(pins),
                  syn_strategy_name(s->strategy), HB_ARG(name));
}

// States, shardings and keep lists of every kind, handed out to tensors and nodes.
static bool build_lists(hb_arena *a, syn_space *s, hb_str *why)
{
    const ir_graph *g = s->g;
    const syn_kinds *k = s->kinds;
    s->states_of = HB_ARRAY(a, syn_states *, k->n_tensors + 1);
    s->shardings_of = HB_ARRAY(a, syn_shardings *, k->n_nodes + 1);
    s->keeps_of = HB_ARRAY(a, syn_keeps *, k->n_kept + 1);
    s->states = HB_ARRAY(a, syn_states *, g->tensors.n + 1);
    s->shardings = HB_ARRAY(a, syn_shardings *, g->nodes.n + 1);
    s->keeps = HB_ARRAY(a, syn_keeps *, g->tensors.n + 1);
    for (int i = 0; i < k->n_tensors; i++)
        s->states_of[i] = syn_states_build(a, s, k->a_tensor[i]);
    for (int t = 0; t < g->tensors.n; t++)
        s->states[t] = s->states_of[k->tensor[t]];
    syn_shardings_build(a, s);
    for (int i = 0; i < k->n_nodes; i++) {
        if (s->shardings_of[i]->n > 0) continue;
        *why = hb_fmt(a, "strategy %s leaves no sharding for %.*s", syn_strategy_name(s->strategy),
                      HB_ARG(g->nodes.p[k->a_node[i]].name));
        return false;
    }
    for (int n = 0; n < g->nodes.n; n++)
        s->shardings[n] = s->shardings_of[k->node[n]];
    for (int i = 0; i < k->n_kept; i++) {
        s->keeps_of[i] = syn_keeps_build(a, s, k->a_kept[i]);
        if (s->keeps_of[i]->n > 0) continue;
        *why = no_state(a, s, k->a_kept[i]);
        return false;
    }
    for (int t = 0; t < g->tensors.n; t++)
        s->keeps[t] = k->kept[t] >= 0 ? s->keeps_of[k->kept[t]] : NULL;
    return true;
}

// The loss is wanted whole: what that costs joins the variable that decides where it stands.
static void want_loss(hb_arena *a, const syn_space *s, const double **unary)
{
    const ir_graph *g = s->g;
    if (g->loss < 0) return;
    int p = g->tensors.p[g->loss].producer, out = g->tensors.p[g->loss].out;
    const syn_states *st = s->states[g->loss];
    if (s->tensor_var[g->loss] < 0) {
        double *cost = HB_ARRAY(a, double, s->shardings[p]->n);
        for (int i = 0; i < s->shardings[p]->n; i++)
            cost[i] =
                s->shardings[p]->cost[i] + st->cost[s->shardings[p]->sharding[i].out[out] * st->n];
        unary[s->node_var[p]] = cost;
        return;
    }
    const syn_keeps *k = s->keeps[g->loss];
    double *keep = HB_ARRAY(a, double, k->n);
    for (int i = 0; i < k->n; i++)
        keep[i] = k->cost[i] + st->cost[k->keep[i].state * st->n];
    unary[s->tensor_var[g->loss]] = keep;
}

static void build_problem(hb_arena *a, syn_space *s)
{
    const ir_graph *g = s->g;
    const syn_kinds *k = s->kinds;
    int *domain = HB_ARRAY(a, int, k->n_vars + 1);
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)(k->n_vars + 1));
    sharing x = {.arena = hb_arena_new(), .s = s};
    x.moves = HB_ARRAY(x.arena, int, k->n_tensors + 1);
    const double **of_node = hb_alloc(x.arena, sizeof *of_node * (size_t)(k->n_nodes + 1)),
                 **of_kept = hb_alloc(x.arena, sizeof *of_kept * (size_t)(k->n_kept + 1));
    for (int i = 0; i < k->n_nodes; i++)
        of_node[i] = shared_costs(&x, s->shardings_of[i]->cost, s->shardings_of[i]->n);
    for (int i = 0; i < k->n_kept; i++)
        of_kept[i] = shared_costs(&x, s->keeps_of[i]->cost, s->keeps_of[i]->n);
    for (int n = 0; n < g->nodes.n; n++) {
        domain[k->node_var[n]] = s->shardings[n]->n;
        unary[k->node_var[n]] = of_node[k->node[n]];
    }
    for (int t = 0; t < g->tensors.n; t++)
        if (k->tensor_var[t] >= 0) {
            domain[k->tensor_var[t]] = s->keeps[t]->n;
            unary[k->tensor_var[t]] = of_kept[k->kept[t]];
        }
    const double **table = hb_alloc(a, sizeof *table * (size_t)(k->n_tables + 1));
    for (int i = 0; i < k->n_tables; i++)
        table[i] = shared_table(a, &x, &k->table[i]);
    hb_arena_free(x.arena);
    ms_edge *edge = HB_ARRAY(a, ms_edge, k->n_edges + 1);
    for (int i = 0; i < k->n_edges; i++)
        edge[i] = (ms_edge){k->edge[i].a, k->edge[i].b, table[k->edge[i].table]};
    want_loss(a, s, unary);
    s->problem = (ms_problem){
        .n_vars = k->n_vars, .domain = domain, .unary = unary, .n_edges = k->n_edges, .edge = edge};
}

static int *first_of_kind(hb_arena *a, const ir_graph *g, const syn_kinds *k)
{
    int *first = HB_ARRAY(a, int, g->nodes.n + 1);
    for (int n = 0; n < g->nodes.n; n++)
        first[n] = k->a_node[k->node[n]];
    return first;
}

syn_space *syn_space_build(hb_arena *a, syn_costs *costs, const syn_partitions *partitions,
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
                     .partitions = partitions,
                     .strategy = strategy,
                     .opt = opt,
                     .weight = weight,
                     .weight_comm = weight_comm,
                     .slack = costs->slack,
                     .memory_price = memory_price};
    if (!costs->kinds)
        costs->kinds = hb_alloc(costs->arena, sizeof *costs->kinds * (size_t)syn_n_strategies);
    if (!costs->kinds[strategy])
        costs->kinds[strategy] =
            syn_kinds_new(costs->arena, g, costs->f, partitions, strategy, opt);
    const syn_kinds *k = s->kinds = costs->kinds[strategy];
    if (!costs->like) costs->like = first_of_kind(costs->arena, g, k);
    s->node_var = k->node_var;
    s->tensor_var = k->tensor_var;
    s->uses = k->uses;
    s->first_use = k->first_use;
    if (!build_lists(a, s, why)) return NULL;
    build_problem(a, s);
    return s;
}

static bool converts(const syn_space *s, int edge, int t)
{
    const struct syn_kind_edge *e = &s->kinds->edge[edge];
    const syn_table *k = &s->kinds->table[e->table];
    const ir_tensor *ten = &s->g->tensors.p[t];
    if (s->tensor_var[t] >= 0) return e->a == s->tensor_var[t] || e->b == s->tensor_var[t];
    const int *use = s->uses[s->first_use[t]];
    return k->kind == SYN_EDGE_DIRECT && ten->producer >= 0 && e->a == s->node_var[ten->producer] &&
           k->out == ten->out && e->b == s->node_var[use[0]] && k->in == use[1];
}

syn_space *syn_space_without(hb_arena *a, const syn_space *s, int t, int from, int to)
{
    syn_space *out = hb_copy(a, s, sizeof *s);
    ms_problem *p = &out->problem;
    int n_tensors = s->g->tensors.n, var = s->tensor_var[t];
    const syn_states *old = s->states[t], *st = syn_states_without(a, s, t, from, to);
    out->states = hb_copy(a, s->states, sizeof *s->states * (size_t)n_tensors);
    out->states[t] = hb_copy(a, st, sizeof *st);
    ms_edge *edge = hb_copy(a, p->edge, sizeof *p->edge * (size_t)p->n_edges);
    for (int i = 0; i < p->n_edges; i++)
        if (converts(s, i, t))
            edge[i].table = edge_table(a, s, &s->kinds->table[s->kinds->edge[i].table], st);
    p->edge = edge;
    if (var < 0) return out;
    const double **unary = hb_copy(a, p->unary, sizeof *p->unary * (size_t)p->n_vars);
    double *cost = hb_copy(a, unary[var], sizeof *cost * (size_t)p->domain[var]);
    for (int k = 0; k < p->domain[var]; k++) {
        syn_keep keep = s->keeps[t]->keep[k];
        if (keep.copy < 0) continue;
        int way = keep.state * st->n + keep.copy;
        cost[k] = isinf(st->cost[way])
                      ? HUGE_VAL
                      : cost[k] + syn_made_times(s->g, t) * (st->cost[way] - old->cost[way]);
    }
    unary[var] = cost;
    p->unary = unary;
    return out;
}
