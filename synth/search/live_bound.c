#include "synth/search/live_bound.h"

#include <math.h>
#include <string.h>

#include "costmodel/device_defaults.h"

typedef syn_live_bound held;
typedef syn_live_term term;

int syn_live_domain(const held *h, int var)
{
    return var < 0 ? 1 : h->s->problem.domain[var];
}

static void add_term(held *h, int a, int b, int from, int to, const double *bytes)
{
    HB_PUSH(h->arena, &h->terms, (term){a, b, from, to, bytes});
}

// --- tables ---

typedef enum {
    HOME_BYTES,
    MOMENT_BYTES,
    READ_BYTES,
    COPY_BYTES,
    EXTRA_BYTES,
    DIRECT_BYTES,
    OPERAND_BYTES,
    RESULT_BYTES,
    BROUGHT_BYTES
} what;

// Tensor t, its reader and operand slot.
typedef struct reader {
    int t, node, in;
} reader;

static const double *least_of(held *h, int t)
{
    int kind = h->s->kinds->tensor[t], classes = h->s->mesh->n_classes;
    if (h->least[kind]) return h->least[kind];
    const syn_states *st = h->s->states[t];
    int n = st->n;
    int64_t *own = HB_ARRAY(h->arena, int64_t, n * classes);
    double *least = HB_ARRAY(h->arena, double, n *n *classes);
    for (int i = 0; i < n; i++)
        syn_local_bytes(h->s->costs, t, &st->s[i], &own[i * classes]);
    for (int i = 0; i < n * classes; i++)
        own[i] = (own[i] + COST_LOCAL_ALIGN - 1) / COST_LOCAL_ALIGN * COST_LOCAL_ALIGN;
    for (int c = 0; c < classes; c++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double most = (double)own[j * classes + c];
                for (int k = i; k != j && isfinite(st->cost[i * n + j]); k = st->via[k * n + j])
                    most = fmin(most, (double)own[k * classes + c]);
                least[(c * n + i) * n + j] = most;
            }
    return h->least[kind] = least;
}

static double cell(held *h, what w, const reader *r, int cls, int i, int j)
{
    const syn_space *s = h->s;
    const syn_states *st = s->states[r->t];
    const double *least = least_of(h, r->t) + cls * st->n * st->n;
    bool alone = w == MOMENT_BYTES || w == OPERAND_BYTES || w == RESULT_BYTES;
    const syn_sharding *sharding =
        r->node >= 0 ? &s->shardings[r->node]->sharding[alone ? i : j] : NULL;
    int want = !sharding ? 0 : w == RESULT_BYTES ? sharding->out[r->in] : sharding->in[r->in];
    if (alone) return least[want * st->n + want];
    if (w == DIRECT_BYTES) {
        const ir_tensor *ten = &s->g->tensors.p[r->t];
        return least[s->shardings[ten->producer]->sharding[i].out[ten->out] * st->n + want];
    }
    syn_keep k = s->keeps[r->t]->keep[i];
    double own = least[k.state * st->n + k.state];
    if (w == HOME_BYTES) return own;
    if (w == BROUGHT_BYTES) return want == k.state ? 0 : least[want * st->n + want];
    double from_kept = least[k.state * st->n + want];
    if (k.copy < 0) return w == READ_BYTES ? from_kept : 0;
    double from_copy = least[k.copy * st->n + want];
    if (w == COPY_BYTES) return from_copy;
    double way = st->cost[k.state * st->n + want] <= st->cost[k.copy * st->n + want]
                     ? from_kept
                     : fmin(least[k.state * st->n + k.copy], from_copy);
    return w == READ_BYTES ? way : fmax(from_copy - way, 0);
}

static const double *table_of(held *h, what w, const reader *r, int a, int b)
{
    const syn_kinds *k = h->s->kinds;
    int p = h->s->g->tensors.p[r->t].producer, out = h->s->g->tensors.p[r->t].out;
    int key[7] = {w,
                  k->tensor[r->t],
                  k->kept[r->t],
                  r->node < 0 ? -1 : k->node[r->node],
                  r->in,
                  w == DIRECT_BYTES ? k->node[p] : -1,
                  w == DIRECT_BYTES ? out : -1};
    hb_str name = {(const char *)key, sizeof key};
    int at = hb_map_get(h->tables, name), na = syn_live_domain(h, a), nb = syn_live_domain(h, b);
    if (at >= 0) return h->known.p[at];
    double *bytes = HB_ARRAY(h->arena, double, h->s->mesh->n_classes *na *nb);
    for (int c = 0; c < h->s->mesh->n_classes; c++)
        for (int i = 0; i < na; i++)
            for (int j = 0; j < nb; j++)
                bytes[(c * na + i) * nb + j] = cell(h, w, r, c, i, j);
    hb_map_put(h->tables, hb_str_n(h->arena, name.p, name.n), h->known.n);
    HB_PUSH(h->arena, &h->known, bytes);
    return bytes;
}

// --- what is held when ---

static bool zero_copy(const ir_graph *g, int node)
{
    return ir_op_of(g->nodes.p[node].op)->flags & IR_ZERO_COPY;
}

// The tensor that t is a view of, through all views.
static int viewed(const ir_graph *g, int t)
{
    int p = g->tensors.p[t].producer;
    while (p >= 0 && zero_copy(g, p)) {
        t = g->nodes.p[p].in[0];
        p = g->tensors.p[t].producer;
    }
    return t;
}

static bool is_home(const ir_tensor *t)
{
    return t->kind == IR_PARAM || t->kind == IR_BUFFER || t->kind == IR_CONST;
}

static int last_use(const syn_space *s, int t)
{
    return s->first_use[t + 1] > s->first_use[t] ? s->uses[s->first_use[t + 1] - 1][0] : -1;
}

// Of all views of one tensor, the one that is held for longest; -1 for views of what is always
// there.
static int *representatives(const held *h)
{
    const ir_graph *g = h->s->g;
    int *best = HB_ARRAY(h->arena, int, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++)
        best[t] = -1;
    for (int t = 0; t < g->tensors.n; t++) {
        int of = viewed(g, t), b = best[of];
        if (is_home(&g->tensors.p[of]) || g->tensors.p[of].kind == IR_STATE) continue;
        if (b < 0 || last_use(h->s, t) - g->tensors.p[t].producer >
                         last_use(h->s, b) - g->tensors.p[b].producer)
            best[of] = t;
    }
    return best;
}

// The two readers of a second copy, if there are no others: a home's update reads none.
static int copy_readers(const syn_space *s, int t, int *first, int *last)
{
    int n = 0;
    for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++) {
        if (s->g->tensors.p[t].kind != IR_VALUE &&
            syn_writes_home(s->g, s->uses[u][0], s->uses[u][1]))
            continue;
        *(n == 0 ? first : last) = u;
        n++;
    }
    return n;
}

static void add_copy(held *h, int t)
{
    const syn_space *s = h->s;
    int first = -1, last = -1;
    if (s->tensor_var[t] < 0 || copy_readers(s, t, &first, &last) != 2) return;
    reader r = {t, s->uses[last][0], s->uses[last][1]};
    int a = s->tensor_var[t], b = s->node_var[r.node];
    add_term(h, a, b, s->uses[first][0], r.node,
             table_of(h, is_home(&s->g->tensors.p[t]) ? COPY_BYTES : EXTRA_BYTES, &r, a, b));
}

static void add_value(held *h, int t, term *of)
{
    const syn_space *s = h->s;
    const ir_tensor *ten = &s->g->tensors.p[t];
    int p = ten->producer, u = s->first_use[t + 1] - 1;
    if (u < s->first_use[t] || (p >= 0 && ir_op_of(s->g->nodes.p[p].op)->flags & IR_IN_PLACE))
        return;
    reader r = {t, s->uses[u][0], s->uses[u][1]};
    bool kept = s->tensor_var[t] >= 0;
    int a = kept ? s->tensor_var[t] : s->node_var[p], b = s->node_var[r.node];
    if (r.node <= p + 1) return;
    add_term(h, a, b, p, r.node, table_of(h, kept ? READ_BYTES : DIRECT_BYTES, &r, a, b));
    *of = h->terms.p[h->terms.n - 1];
    if (kept) add_copy(h, t);
}

// What an op reads and makes is there while it runs. Views, sums that take an operand's place and
// what is counted for later readers are left out.
static void add_own(held *h, int node, const int *best, const term *of)
{
    const syn_space *s = h->s;
    const ir_node *n = &s->g->nodes.p[node];
    unsigned flags = ir_op_of(n->op)->flags;
    int v = s->node_var[node], roots[IR_MAX_IN];
    if (flags & IR_ZERO_COPY) return;
    for (int o = 0; o < n->n_out && !(flags & (IR_IN_PLACE | IR_OVER)); o++) {
        reader r = {n->out[o], node, o};
        add_term(h, v, -1, node - 1, node + 1, table_of(h, RESULT_BYTES, &r, v, -1));
    }
    for (int i = 0; i < n->n_in; i++) {
        int t = n->in[i], root = roots[i] = viewed(s->g, t);
        const ir_tensor *ten = &s->g->tensors.p[root];
        reader r = {t, node, i};
        bool again = false;
        for (int k = 0; k < i; k++)
            again = again || roots[k] == root;
        if (again || ten->kind == IR_STATE) continue;
        if (is_home(ten)) {
            int a = s->tensor_var[t];
            if (t == root && a >= 0)
                add_term(h, a, v, node - 1, node + 1, table_of(h, BROUGHT_BYTES, &r, a, v));
            continue;
        }
        const term *later = &of[best[root]];
        bool updated =
            ten->producer >= 0 && ir_op_of(s->g->nodes.p[ten->producer].op)->flags & IR_IN_PLACE;
        if (updated || (later->from < node && node < later->to)) continue;
        add_term(h, v, -1, node - 1, node + 1, table_of(h, OPERAND_BYTES, &r, v, -1));
    }
}

syn_live_bound *syn_live_bound_new(hb_arena *a, const syn_space *s)
{
    const ir_graph *g = s->g;
    held *h = HB_NEW(a, held);
    *h = (held){.arena = a, .s = s, .tables = hb_map_new(a)};
    h->least = hb_alloc(a, sizeof *h->least * (size_t)(s->kinds->n_tensors + 1));
    const int *best = representatives(h);
    term *of =
        HB_ARRAY(a, term, g->tensors.n + 1); // by tensor: what counts it, no interval if none
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *ten = &g->tensors.p[t];
        int u = s->first_use[t];
        reader own = {t, -1, 0};
        if (is_home(ten) && s->tensor_var[t] >= 0) {
            int v = s->tensor_var[t];
            add_term(h, v, -1, -1, g->nodes.n, table_of(h, HOME_BYTES, &own, v, -1));
            if (ten->kind == IR_PARAM) add_copy(h, t);
        } else if (ten->kind == IR_STATE && last_use(s, t) >= 0) {
            reader r = {t, s->uses[u][0], s->uses[u][1]};
            int v = s->node_var[r.node];
            add_term(h, v, -1, -1, g->nodes.n, table_of(h, MOMENT_BYTES, &r, v, -1));
        } else if (!is_home(ten) && best[viewed(g, t)] == t) {
            add_value(h, t, &of[t]);
        }
    }
    for (int n = 0; n < g->nodes.n; n++)
        add_own(h, n, best, of);
    return h;
}

double *syn_live_by(const held *h, hb_arena *a, const int *x)
{
    int n = h->s->g->nodes.n, classes = h->s->mesh->n_classes;
    double *sum = HB_ARRAY(a, double, classes *(n + 1));
    for (int i = 0; i < h->terms.n; i++) {
        const term *t = &h->terms.p[i];
        int na = syn_live_domain(h, t->a), nb = syn_live_domain(h, t->b);
        int at = x[t->a] * nb + (t->b < 0 ? 0 : x[t->b]);
        for (int c = 0; c < classes; c++) {
            double bytes = t->bytes[c * na * nb + at];
            sum[c * (n + 1) + t->from + 1] += bytes;
            sum[c * (n + 1) + t->to] -= bytes;
        }
    }
    for (int c = 0; c < classes; c++)
        for (int i = 1; i < n; i++)
            sum[c * (n + 1) + i] += sum[c * (n + 1) + i - 1];
    return sum;
}

double syn_most_live(const syn_space *s, const double *bytes)
{
    double most = 0;
    for (int c = 0; c < s->mesh->n_classes; c++) {
        double cap = (double)s->m->cluster->cls[s->mesh->cluster_class[c]].capacity;
        for (int i = 0; i < s->g->nodes.n; i++)
            most = fmax(most, bytes[c * (s->g->nodes.n + 1) + i] / cap);
    }
    return most;
}

int *syn_assignment_of(hb_arena *a, const syn_space *s, const syn_choice *c)
{
    int *x = HB_ARRAY(a, int, s->problem.n_vars + 1);
    for (int n = 0; n < s->g->nodes.n; n++)
        x[s->node_var[n]] = c->sharding[n];
    for (int t = 0; t < s->g->tensors.n; t++)
        for (int k = 0; s->tensor_var[t] >= 0 && k < s->keeps[t]->n; k++)
            if (s->keeps[t]->keep[k].state == c->keep[t].state &&
                s->keeps[t]->keep[k].copy == c->keep[t].copy)
                x[s->tensor_var[t]] = k;
    return x;
}
