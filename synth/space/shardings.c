// Shardings of a node: what its index structure (ir_rule) allows. On each axis
//
//     none     every operand and output whole
//     factor   one local factor cut by one table: operands and outputs that hold it are S; an
//              output without it is P by its reducer; a term without it must then be P itself in
//              one linear operand
//     partial  one linear operand of every term is P, the rest whole; outputs are P
//
// On two axes, every pair of these whose states exist together. A factor cut over both axes is a
// pair of a cut over both and of its sums by machine.
//
// A strategy is the same list with shardings taken away.

#include "synth/space/shardings.h"

// A sharding on one axis; states are indices into the tensors' lists of that axis.
typedef struct axis_sharding {
    int factor, cut; // -1 none
    uint16_t in[IR_MAX_IN], out[IR_MAX_OUT];
} axis_sharding;

typedef struct builder {
    hb_arena *arena;
    const syn_space *s;
    int node;
    const ir_node *n;
    const ir_rule *r;
    int axis;
    HB_VEC(axis_sharding) on[SYN_MAX_AXES];
    HB_VEC(syn_sharding) v;
} builder;

static const syn_states *states_of(const builder *b, bool out, int i)
{
    return b->s->states[out ? b->n->out[i] : b->n->in[i]];
}

static int find_state(const builder *b, bool out, int i, const syn_axis_state *x)
{
    const syn_states *st = states_of(b, out, i);
    const syn_axis_state *y = st->ax[b->axis];
    for (int k = 0; k < st->n_ax[b->axis]; k++)
        if (x->kind == y[k].kind &&
            (x->kind == SYN_R || (x->kind == SYN_P && x->reducer == y[k].reducer) ||
             (x->kind == SYN_S && x->dim == y[k].dim && x->pos == y[k].pos && x->cut == y[k].cut)))
            return k;
    return -1;
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
    const ir_tensor *t = &b->s->g->tensors.p[out ? b->n->out[i] : b->n->in[i]];
    int dim = 0, pos = 0;
    if (!ir_rule_find(out ? b->r->out[i] : b->r->in[i], t->rank, k, &dim, &pos)) return -1;
    syn_axis_state x = {
        .kind = SYN_S, .dim = (uint8_t)dim, .pos = (uint8_t)pos, .cut = (int16_t)cut};
    int at = find_state(b, out, i, &x);
    return at < 0 ? -2 : at;
}

static void try_cut(builder *b, int k, int cut)
{
    bool contracted = false, held[IR_MAX_IN] = {false}, present[IR_MAX_IN] = {false};
    axis_sharding sharding = {.factor = k, .cut = cut};
    for (int i = 0; i < b->n->n_in; i++) {
        int at = cut_state(b, false, i, k, cut);
        if (at == -2) return;
        sharding.in[i] = (uint16_t)(at < 0 ? 0 : at);
        present[b->r->term[i]] = true;
        held[b->r->term[i]] |= at >= 0;
    }
    for (int o = 0; o < b->n->n_out; o++) {
        int at = cut_state(b, true, o, k, cut);
        if (at == -1) {
            contracted = true;
            at = b->r->reducer[o] == '-' ? -2 : partial_state(b, true, o, b->r->reducer[o]);
        }
        if (at < 0) return;
        sharding.out[o] = (uint16_t)at;
    }
    for (int t = 0; contracted && t < b->r->n_terms; t++) {
        if (!present[t] || held[t]) continue;
        int p = -1, i = 0; // the term does not hold k: one linear operand of it must be P
        for (; i < b->n->n_in && p < 0; i++)
            if (b->r->term[i] == t && (b->r->linear >> i & 1)) p = partial_state(b, false, i, 's');
        if (p < 0) return;
        sharding.in[i - 1] = (uint16_t)p;
    }
    HB_PUSH(b->arena, &b->on[b->axis], sharding);
}

static bool all_sum(const builder *b)
{
    for (int o = 0; o < b->n->n_out; o++)
        if (b->r->reducer[o] != 's') return false;
    return b->n->n_out > 0 && b->n->n_in > 0;
}

// One linear operand of every term from `term` on.
static void partial_shardings(builder *b, int term, axis_sharding *sharding)
{
    if (term == b->r->n_terms) {
        HB_PUSH(b->arena, &b->on[b->axis], *sharding);
        return;
    }
    bool present = false;
    for (int i = 0; i < b->n->n_in; i++) {
        if (b->r->term[i] != term) continue;
        present = true;
        if (!(b->r->linear >> i & 1)) continue;
        int p = partial_state(b, false, i, 's');
        if (p < 0) continue;
        sharding->in[i] = (uint16_t)p;
        partial_shardings(b, term + 1, sharding);
        sharding->in[i] = 0;
    }
    if (!present) partial_shardings(b, term + 1, sharding);
}

static void add_partial_shardings(builder *b)
{
    if (!all_sum(b)) return;
    axis_sharding sharding = {.factor = -1, .cut = -1};
    for (int o = 0; o < b->n->n_out; o++) {
        int p = partial_state(b, true, o, 's');
        if (p < 0) return;
        sharding.out[o] = (uint16_t)p;
    }
    partial_shardings(b, 0, &sharding);
}

static void list_axis_shardings(builder *b)
{
    const syn_space *s = b->s;
    HB_PUSH(b->arena, &b->on[b->axis], (axis_sharding){.factor = -1, .cut = -1});
    for (int k = 0; k < b->r->n_factors; k++) {
        int cls = b->r->factor[k].cls;
        if (b->r->factor[k].whole || !s->kinds->cuttable[cls]) continue;
        const struct syn_partition_set *q = &s->partitions->set[s->partitions->set_of[cls]];
        for (int c = 0; c < q->n[b->axis]; c++)
            try_cut(b, k, q->cut[b->axis][c]);
        for (int c = 0; b->axis == 1 && c < q->n[SYN_BOTH]; c++)
            try_cut(b, k, q->cut[SYN_BOTH][c]);
    }
    add_partial_shardings(b);
}

// The state that two axes' states make, -1 if they do not go together.
static bool pair_state(const builder *b, bool out, int i, int x, int y, uint16_t *state)
{
    const syn_states *st = states_of(b, out, i);
    int at = st->of[x * st->n_ax[1] + y];
    *state = (uint16_t)at;
    return at >= 0;
}

static void pair(builder *b, const axis_sharding *x, const axis_sharding *y)
{
    const syn_mesh *mesh = b->s->mesh;
    const syn_cut *joint =
        y->cut >= 0 && mesh->cuts.p[y->cut].axis == SYN_BOTH ? &mesh->cuts.p[y->cut] : NULL;
    if (joint ? x->factor != y->factor || x->cut != joint->coarse
              : x->factor >= 0 && x->factor == y->factor)
        return;
    syn_sharding sharding = {{{x->factor, y->factor}, {x->cut, y->cut}}, {0}, {0}};
    for (int i = 0; i < b->n->n_in; i++)
        if (!pair_state(b, false, i, x->in[i], y->in[i], &sharding.in[i])) return;
    for (int o = 0; o < b->n->n_out; o++)
        if (!pair_state(b, true, o, x->out[o], y->out[o], &sharding.out[o])) return;
    HB_PUSH(b->arena, &b->v, sharding);
}

static bool any_partial(const syn_state *s)
{
    return s->ax[0].kind == SYN_P || s->ax[1].kind == SYN_P;
}

static syn_form_facts facts_of(const builder *b, const syn_sharding *f)
{
    const syn_space *s = b->s;
    syn_form_facts x = {.node = b->n};
    x.large_update = b->n->phase == IR_UPDATE && (ir_op_of(b->n->op)->flags & IR_IN_PLACE) &&
                     ir_elements(&s->g->tensors.p[b->n->in[0]]) >= s->opt->small_param;
    for (int a = 0; a < SYN_MAX_AXES; a++) {
        if (f->cut.factor[a] < 0) continue;
        x.cuts++;
        x.batch_cuts += s->f->cls[b->r->factor[f->cut.factor[a]].cls].batch;
    }
    for (int i = 0; i < b->n->n_in && !x.reads_partial; i++)
        x.reads_partial = any_partial(&states_of(b, false, i)->s[f->in[i]]);
    for (int o = 0; o < b->n->n_out && !x.makes_partial; o++)
        x.makes_partial = any_partial(&states_of(b, true, o)->s[f->out[o]]);
    return x;
}

// Keeps the shardings that the strategy ranks highest, if any ranks above 0.
static void apply_strategy(builder *b)
{
    int (*rank)(const syn_form_facts *) = syn_strategy_of(b->s->strategy)->rank;
    if (!rank) return;
    int most = 0, n = 0, *ranks = HB_ARRAY(b->arena, int, b->v.n + 1);
    for (int i = 0; i < b->v.n; i++) {
        syn_form_facts facts = facts_of(b, &b->v.p[i]);
        ranks[i] = rank(&facts);
        most = ranks[i] > most ? ranks[i] : most;
    }
    for (int i = 0; most > 0 && i < b->v.n; i++)
        if (ranks[i] == most) b->v.p[n++] = b->v.p[i];
    if (n > 0) b->v.n = n;
}

// What memory costs of the optimizer state or the sum that lies with the node itself, and of what
// is there while it runs.
static double state_price(const syn_space *s, const ir_node *n, const syn_sharding *sharding)
{
    double sec = 0, passing = s->costs->passing;
    for (int i = 0; i < n->n_in; i++) {
        bool moment = s->g->tensors.p[n->in[i]].kind == IR_STATE;
        if (moment || passing > 0)
            sec += (moment ? 1 : passing) * s->states[n->in[i]]->bytes[sharding->in[i]];
    }
    if (n->adds) // a sum is there through all micro-batches
        sec += s->states[n->out[0]]->bytes[sharding->out[0]];
    for (int i = 0; passing > 0 && i < n->n_out; i++)
        sec += passing * s->states[n->out[i]]->bytes[sharding->out[i]];
    return sec;
}

// The list of a node, without costs.
static syn_shardings *list(hb_arena *a, const syn_space *s, int node)
{
    builder b = {
        .arena = a, .s = s, .node = node, .n = &s->g->nodes.p[node], .r = s->f->rule[node]};
    for (b.axis = 0; b.axis < s->mesh->n_axes; b.axis++)
        list_axis_shardings(&b);
    if (s->mesh->n_axes == 1) HB_PUSH(a, &b.on[1], (axis_sharding){.factor = -1, .cut = -1});
    for (int i = 0; i < b.on[0].n; i++)
        for (int j = 0; j < b.on[1].n; j++)
            pair(&b, &b.on[0].p[i], &b.on[1].p[j]);
    apply_strategy(&b);
    syn_shardings *out = HB_NEW(a, syn_shardings);
    out->n = b.v.n;
    out->sharding = b.v.p;
    out->sec = hb_room(a, sizeof *out->sec, out->n * s->mesh->n_classes);
    for (int i = 0; i < out->n; i++)
        syn_node_seconds(s->costs, node, &out->sharding[i].cut, &out->sec[i * s->mesh->n_classes]);
    return out;
}

static syn_shardings *copy(hb_arena *a, const syn_space *s, const syn_shardings *x)
{
    syn_shardings *out = hb_copy(a, x, sizeof *x);
    out->sharding = hb_copy(a, x->sharding, sizeof *x->sharding * (size_t)x->n);
    out->sec = hb_copy(a, x->sec, sizeof *x->sec * (size_t)(x->n * s->mesh->n_classes));
    return out;
}

static void add_costs(hb_arena *a, const syn_space *s, int node, syn_shardings *x)
{
    int classes = s->mesh->n_classes;
    x->cost = hb_room(a, sizeof *x->cost, x->n);
    for (int i = 0; i < x->n; i++) {
        double cost = 0;
        for (int c = 0; c < classes; c++)
            cost += s->weight[c] * x->sec[i * classes + c];
        if (s->memory_price) cost += state_price(s, &s->g->nodes.p[node], &x->sharding[i]);
        x->cost[i] = cost;
    }
}

struct syn_listed {
    hb_arena *parent, *arena; // the lists lie in the latter
    uint64_t key;             // of what decides them
    syn_shardings **of;       // by kind of node; NULL: none are kept
};

syn_listed *syn_listed_new(hb_arena *a)
{
    syn_listed *x = HB_NEW(a, syn_listed);
    *x = (syn_listed){.parent = a, .arena = hb_arena_within(a)};
    return x;
}

static uint64_t key_of(const syn_space *s)
{
    const uint64_t key[] = {(uint64_t)(uintptr_t)s->costs, syn_partitions_key(s->partitions),
                            (uint64_t)s->strategy, (uint64_t)s->opt->small_param};
    return hb_hash_key(key, sizeof key);
}

static void keep_lists(syn_listed *x, uint64_t key, const syn_space *s)
{
    hb_arena_free(x->arena);
    x->arena = hb_arena_within(x->parent);
    x->key = key;
    x->of = HB_ARRAY(x->arena, syn_shardings *, s->kinds->n_nodes + 1);
    for (int i = 0; i < s->kinds->n_nodes; i++)
        x->of[i] = copy(x->arena, s, s->shardings_of[i]);
}

void syn_shardings_build(hb_arena *a, syn_space *s)
{
    const syn_kinds *k = s->kinds;
    syn_listed *listed = s->costs->listed;
    uint64_t key = listed ? key_of(s) : 0;
    bool known = listed && listed->of && listed->key == key;
    for (int i = 0; i < k->n_nodes; i++) {
        int node = k->a_node[i];
        s->shardings_of[i] = known ? copy(a, s, listed->of[i]) : list(a, s, node);
        if (s->shardings_of[i]->n == 0) return;
        add_costs(a, s, node, s->shardings_of[i]);
    }
    if (listed && !known) keep_lists(listed, key, s);
}
