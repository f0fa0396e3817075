#include "synth/space/kinds.h"

#include <string.h>

// Numbers keys in the order they come.
typedef struct numbering {
    hb_arena *arena;
    hb_map *map;
    int n;
} numbering;

static int number_of(numbering *x, const void *key, size_t bytes, bool *fresh)
{
    uint64_t h[2] = {hb_hash_key(key, bytes), bytes};
    int at = hb_map_get(x->map, (hb_str){(const char *)h, sizeof h});
    *fresh = at < 0;
    if (at < 0) {
        at = x->n++;
        hb_map_put(x->map, hb_str_n(x->arena, (const char *)h, sizeof h), at);
    }
    return at;
}

static numbering numbering_new(hb_arena *a)
{
    return (numbering){.arena = a, .map = hb_map_new(a)};
}

typedef struct maker {
    hb_arena *arena, *scratch; // scratch: goes when the kinds are found
    const ir_graph *g;
    const ir_factors *f;
    const syn_partitions *partitions;
    syn_strategy strategy;
    const syn_options *opt;
    syn_kinds *k;
} maker;

// --- what may be cut under a strategy ---

static void mark_classes(const maker *m, int tensor, bool *mark)
{
    for (int d = 0; d < m->g->tensors.p[tensor].rank; d++)
        for (int p = 0; p < m->f->dim[tensor][d].n; p++)
            mark[m->f->dim[tensor][d].cls[p]] = true;
}

static const bool *find_cuttable(const maker *m)
{
    bool (*may_cut)(const syn_class_facts *) = syn_strategy_of(m->strategy)->may_cut;
    bool *yes = HB_ARRAY(m->arena, bool, m->f->n_classes + 1);
    bool *input = HB_ARRAY(m->scratch, bool, m->f->n_classes + 1);
    bool *param = HB_ARRAY(m->scratch, bool, m->f->n_classes + 1);
    for (int t = 0; t < m->g->tensors.n; t++) {
        if (m->g->tensors.p[t].kind == IR_INPUT) mark_classes(m, t, input);
        if (m->g->tensors.p[t].kind == IR_PARAM) mark_classes(m, t, param);
    }
    for (int c = 0; c < m->f->n_classes; c++) {
        const ir_class *k = &m->f->cls[c];
        syn_class_facts facts = {k->batch, input[c], param[c]};
        yes[c] = !k->whole && k->size >= 2 && (!may_cut || may_cut(&facts));
    }
    return yes;
}

static const uint8_t *find_parts(const maker *m)
{
    const ir_graph *g = m->g;
    uint8_t *part = HB_ARRAY(m->arena, uint8_t, g->tensors.n + 1);
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

// --- uses and what follows from them ---

static void index_uses(const maker *m)
{
    hb_arena *a = m->arena;
    const ir_graph *g = m->g;
    syn_kinds *k = m->k;
    int n_tensors = g->tensors.n, total = 0;
    k->first_use = HB_ARRAY(a, int, n_tensors + 1);
    for (int n = 0; n < g->nodes.n; n++)
        for (int i = 0; i < g->nodes.p[n].n_in; i++, total++)
            k->first_use[g->nodes.p[n].in[i] + 1]++;
    for (int t = 0; t < n_tensors; t++)
        k->first_use[t + 1] += k->first_use[t];
    k->uses = hb_alloc(a, sizeof *k->uses * (size_t)(total + 1));
    int *next = hb_copy(m->scratch, k->first_use, sizeof(int) * (size_t)(n_tensors + 1));
    for (int n = 0; n < g->nodes.n; n++)
        for (int i = 0; i < g->nodes.p[n].n_in; i++) {
            int at = next[g->nodes.p[n].in[i]]++;
            k->uses[at][0] = n;
            k->uses[at][1] = i;
        }
}

static bool is_variable(const maker *m, int t)
{
    switch (m->g->tensors.p[t].kind) {
    case IR_INPUT:
    case IR_CONST:
    case IR_PARAM:
    case IR_BUFFER:
        return true;
    case IR_STATE:
        return false; // lies as its optimizer node takes it
    case IR_VALUE:
        return m->k->first_use[t + 1] - m->k->first_use[t] > 1 || syn_pinned(m->opt->pins, t);
    }
    return false;
}

bool syn_is_small(const ir_graph *g, const syn_options *opt, int tensor)
{
    const ir_tensor *t = &g->tensors.p[tensor];
    return t->rank < 2 || ir_elements(t) < opt->small_param;
}

bool syn_long_lived(const ir_graph *g, const syn_kinds *k, int tensor)
{
    const ir_tensor *t = &g->tensors.p[tensor];
    if (t->kind == IR_PARAM || t->kind == IR_BUFFER) return true;
    if (t->producer < 0) return false;
    ir_phase born = g->nodes.p[t->producer].phase;
    ir_turn turn = g->nodes.p[t->producer].turn;
    for (int u = k->first_use[tensor]; u < k->first_use[tensor + 1]; u++)
        if (g->nodes.p[k->uses[u][0]].phase > born || g->nodes.p[k->uses[u][0]].turn > turn)
            return true;
    return false;
}

int syn_made_times(const ir_graph *g, int tensor)
{
    int p = g->tensors.p[tensor].producer;
    return p < 0 || g->nodes.p[p].adds ? 1 : ir_node_slots(g, p);
}

bool syn_feeds_update(const ir_graph *g, const syn_kinds *k, int tensor)
{
    for (int u = k->first_use[tensor]; u < k->first_use[tensor + 1]; u++)
        if (g->nodes.p[k->uses[u][0]].phase == IR_UPDATE) return true;
    return false;
}

bool syn_writes_home(const ir_graph *g, int node, int operand)
{
    const ir_node *n = &g->nodes.p[node];
    return (ir_op_of(n->op)->flags & IR_IN_PLACE) && operand < n->n_out;
}

// --- kinds ---

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

char syn_partial_of(const ir_graph *g, const ir_factors *f, int tensor)
{
    const ir_tensor *t = &g->tensors.p[tensor];
    if (t->producer >= 0 && f->rule[t->producer]->reducer[t->out] == 'm') return 'm';
    return is_float(t->dtype) ? 's' : 0;
}

static void number_tensors(const maker *m)
{
    syn_kinds *k = m->k;
    numbering kinds = numbering_new(m->scratch), kept = numbering_new(m->scratch);
    HB_VEC(int) first = {0};
    HB_VEC(int) first_kept = {0};
    k->tensor = HB_ARRAY(m->arena, int, m->g->tensors.n + 1);
    k->kept = HB_ARRAY(m->arena, int, m->g->tensors.n + 1);
    for (int t = 0; t < m->g->tensors.n; t++) {
        const ir_tensor *ten = &m->g->tensors.p[t];
        int64_t key[5 + IR_MAX_RANK * (IR_MAX_FACTORS * 2 + 1)];
        int n = 0;
        bool fresh;
        key[n++] = ten->dtype;
        key[n++] = ten->rank;
        key[n++] = syn_partial_of(m->g, m->f, t);
        key[n++] = k->part ? k->part[t] : 0;
        memcpy(&key[n++], &ten->more, sizeof ten->more);
        for (int d = 0; d < ten->rank; d++) {
            const ir_dim_factors *df = &m->f->dim[t][d];
            key[n++] = df->n;
            for (int p = 0; p < df->n; p++) {
                key[n++] = m->f->cls[df->cls[p]].size;
                key[n++] = k->cuttable[df->cls[p]] ? m->partitions->set_of[df->cls[p]] : -1;
            }
        }
        k->tensor[t] = number_of(&kinds, key, sizeof *key * (size_t)n, &fresh);
        if (fresh) HB_PUSH(m->arena, &first, t);
        k->kept[t] = -1;
        if (!is_variable(m, t)) continue;
        uint64_t keep[4] = {(uint64_t)k->tensor[t], ten->kind,
                            syn_is_small(m->g, m->opt, t) | syn_long_lived(m->g, k, t) << 1 |
                                syn_feeds_update(m->g, k, t) << 2 |
                                (syn_made_times(m->g, t) > 1) << 3,
                            m->opt->pins ? m->opt->pins->of[t] : 0};
        k->kept[t] = number_of(&kept, keep, sizeof keep, &fresh);
        if (fresh) HB_PUSH(m->arena, &first_kept, t);
    }
    k->n_tensors = kinds.n;
    k->a_tensor = first.p;
    k->n_kept = kept.n;
    k->a_kept = first_kept.p;
}

// What decides a node's forms and prices, beside its tensors' kinds.
static int node_key(const maker *m, int node, uint64_t *key)
{
    const ir_node *n = &m->g->nodes.p[node];
    const ir_rule *r = m->f->rule[node];
    int at = 0;
    key[at++] = (uint64_t)n->op << 32 | (uint64_t)n->phase << 8 | (uint64_t)n->turn << 1 |
                (uint64_t)n->adds;
    key[at++] = (uint64_t)n->n_in << 8 | (uint64_t)n->n_out;
    memcpy(&key[at++], &n->more, sizeof n->more);
    for (int i = 0; i < r->n_factors; i++) {
        key[at++] = (uint64_t)r->factor[i].size;
        key[at++] =
            (uint64_t)r->factor[i].whole << 32 | (uint64_t)m->partitions->set_of[r->factor[i].cls];
    }
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        bool out = i >= n->n_in;
        int slot = out ? i - n->n_in : i, t = out ? n->out[slot] : n->in[slot];
        const ir_rule_dim *dims = out ? r->out[slot] : r->in[slot];
        key[at++] = (uint64_t)m->k->tensor[t] << 8 | (uint64_t)m->g->tensors.p[t].kind;
        for (int d = 0; d < m->g->tensors.p[t].rank; d++) {
            uint64_t factors = 1; // six bits a factor, and a mark in front
            for (int p = 0; p < dims[d].n; p++)
                factors = factors << 6 | (uint64_t)(dims[d].f[p] + 1);
            key[at++] = factors;
        }
    }
    for (int i = 0; i < ir_op_of(n->op)->n_attr; i++) {
        if (strcmp(ir_op_of(n->op)->attr[i].name, "key") == 0)
            continue; // which dropout it is does not matter for forms and prices
        uint64_t real = 0;
        memcpy(&real, &n->attr[i].f, sizeof real);
        key[at++] = (uint64_t)n->attr[i].i;
        key[at++] = real;
        key[at++] = hb_hash_key(n->attr[i].v, sizeof n->attr[i].v);
    }
    return at;
}

static void number_nodes(const maker *m)
{
    enum {
        LONGEST = 3 + 2 * IR_MAX_RULE_FACTORS + (IR_MAX_IN + IR_MAX_OUT) * (IR_MAX_RANK + 1) +
                  3 * IR_MAX_ATTR
    };
    syn_kinds *k = m->k;
    numbering kinds = numbering_new(m->scratch);
    HB_VEC(int) first = {0};
    k->node = HB_ARRAY(m->arena, int, m->g->nodes.n + 1);
    for (int n = 0; n < m->g->nodes.n; n++) {
        uint64_t key[LONGEST];
        bool fresh;
        int length = node_key(m, n, key);
        hb_assert(length <= LONGEST);
        k->node[n] = number_of(&kinds, key, sizeof *key * (size_t)length, &fresh);
        if (fresh) HB_PUSH(m->arena, &first, n);
    }
    k->n_nodes = kinds.n;
    k->a_node = first.p;
}

// --- the skeleton ---

// Variables in program order: a tensor stands behind its producer, a parameter before its first
// use.
static void number_variables(const maker *m)
{
    const ir_graph *g = m->g;
    syn_kinds *k = m->k;
    k->node_var = HB_ARRAY(m->arena, int, g->nodes.n + 1);
    k->tensor_var = HB_ARRAY(m->arena, int, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++)
        k->tensor_var[t] = -1;
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_node *node = &g->nodes.p[n];
        for (int i = 0; i < node->n_in; i++)
            if (k->kept[node->in[i]] >= 0 && k->tensor_var[node->in[i]] < 0)
                k->tensor_var[node->in[i]] = k->n_vars++;
        k->node_var[n] = k->n_vars++;
        for (int i = 0; i < node->n_out; i++)
            if (k->kept[node->out[i]] >= 0 && k->tensor_var[node->out[i]] < 0)
                k->tensor_var[node->out[i]] = k->n_vars++;
    }
}

typedef struct skeleton {
    const maker *m;
    numbering kinds;
    HB_VEC(syn_table) tables;
    HB_VEC(struct syn_kind_edge) edges;
} skeleton;

static void add_edge(skeleton *s, int a, int b, syn_table t)
{
    bool fresh;
    int key[7] = {(int)t.kind, t.out, t.in, t.producer, t.consumer, t.kept, t.tensor};
    int at = number_of(&s->kinds, key, sizeof key, &fresh);
    if (fresh) HB_PUSH(s->m->scratch, &s->tables, t);
    HB_PUSH(s->m->scratch, &s->edges, (struct syn_kind_edge){a, b, at});
}

static void add_tensor_edges(skeleton *s, int t)
{
    const ir_graph *g = s->m->g;
    const syn_kinds *k = s->m->k;
    const ir_tensor *ten = &g->tensors.p[t];
    int var = k->tensor_var[t], p = ten->producer;
    if (ten->kind == IR_STATE) return;
    if (var >= 0 && p >= 0)
        add_edge(s, k->node_var[p], var,
                 (syn_table){SYN_EDGE_MADE, ten->out, 0, k->node[p], -1, k->kept[t], k->tensor[t]});
    for (int u = k->first_use[t]; u < k->first_use[t + 1]; u++) {
        int n = k->uses[u][0], in = k->uses[u][1];
        bool home = ten->kind != IR_VALUE && syn_writes_home(g, n, in);
        if (var >= 0)
            add_edge(s, var, k->node_var[n],
                     (syn_table){home ? SYN_EDGE_HOME : SYN_EDGE_READ, 0, in, -1, k->node[n],
                                 k->kept[t], k->tensor[t]});
        else if (p >= 0)
            add_edge(s, k->node_var[p], k->node_var[n],
                     (syn_table){SYN_EDGE_DIRECT, ten->out, in, k->node[p], k->node[n], -1,
                                 k->tensor[t]});
    }
}

static void list_edges(const maker *m)
{
    const ir_graph *g = m->g;
    syn_kinds *k = m->k;
    skeleton s = {.m = m, .kinds = numbering_new(m->scratch)};
    for (int t = 0; t < g->tensors.n; t++)
        add_tensor_edges(&s, t);
    // A next value that is computed out of place moves into the home buffer at the end.
    for (int u = 0; u < g->updates.n; u++) {
        int t = g->updates.p[u].tensor, next = g->updates.p[u].next,
            p = g->tensors.p[next].producer;
        if (g->tensors.p[t].kind == IR_STATE || p < 0 || k->tensor_var[t] < 0 ||
            (ir_op_of(g->nodes.p[p].op)->flags & IR_IN_PLACE))
            continue;
        add_edge(&s, k->node_var[p], k->tensor_var[t],
                 (syn_table){SYN_EDGE_UPDATE, g->tensors.p[next].out, 0, k->node[p], -1, k->kept[t],
                             k->tensor[next]});
    }
    k->n_tables = s.tables.n;
    k->table = hb_copy(m->arena, s.tables.p, sizeof *s.tables.p * (size_t)s.tables.n);
    k->n_edges = s.edges.n;
    k->edge = hb_copy(m->arena, s.edges.p, sizeof *s.edges.p * (size_t)s.edges.n);
}

const syn_kinds *syn_kinds_new(hb_arena *a, const ir_graph *g, const ir_factors *f,
                               const syn_partitions *partitions, syn_strategy strategy,
                               const syn_options *opt)
{
    syn_kinds *k = HB_NEW(a, syn_kinds);
    maker m = {a, hb_arena_new(), g, f, partitions, strategy, opt, k};
    k->cuttable = find_cuttable(&m);
    k->part = syn_strategy_of(strategy)->may_move ? find_parts(&m) : NULL;
    index_uses(&m);
    number_tensors(&m);
    number_nodes(&m);
    number_variables(&m);
    list_edges(&m);
    hb_arena_free(m.scratch);
    return k;
}
