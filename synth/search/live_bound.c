#include "synth/search/live_bound.h"

#include <math.h>
#include <string.h>

#include "costmodel/device_defaults.h"
#include "ir/runtime_limits.h"
#include "synth/passes/workspace.h"
#include "synth/price/moves.h"

typedef syn_live_bound held;
typedef syn_live_term term;

int syn_live_domain(const held *h, int var)
{
    return var < 0 ? 1 : h->s->problem.domain[var];
}

static void add_term(held *h, int a, int b, int from, int to, const float *bytes)
{
    HB_PUSH(h->arena, &h->terms, (term){a, b, from, to, bytes});
}

// --- tables ---

typedef enum {
    HOME_BYTES,
    MOMENT_BYTES,
    READ_BYTES,
    COPY_BYTES,  // until the last reader, of two
    EXTRA_BYTES, // the same beside what READ_BYTES counts
    FIRST_BYTES, // of three or more, from the first reader to the second
    LAST_BYTES,  // from the last but one to the last
    DIRECT_BYTES,
    OPERAND_BYTES,
    RESULT_BYTES,
    BROUGHT_BYTES
} what;

// Tensor t, its reader and operand slot.
typedef struct reader {
    int t, node, in;
    int use; // FIRST_BYTES: its place in s->uses
} reader;

static bool is_local(const held *h, int t, int from, int to)
{
    const syn_states *st = h->s->states[t];
    syn_move_kind kind = syn_move_between(h->s->costs, t, &st->s[from], &st->s[to]).kind;
    return kind == SYN_MOVE_SLICE || kind == SYN_MOVE_PARTIAL;
}

// [i][j]: the smallest buffer on the way from i to j. early: of the whole way, which may be gone
// before the reader; else up to the first slice, which is made where the reader is.
static double *smallest(held *h, int t, const int64_t *own, bool early)
{
    const syn_states *st = h->s->states[t];
    int n = st->n, classes = h->s->mesh->n_classes;
    double *least = HB_ARRAY(h->scratch, double, n *n *classes);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double *to = &least[i * n + j];
            for (int c = 0; c < classes; c++)
                to[c * n * n] = (double)own[i * classes + c];
            bool local = false;
            for (int k = i, next; k != j && !local; k = next) {
                next = isfinite(st->cost[i * n + j]) ? st->via[k * n + j] : j;
                local = !early && isfinite(st->cost[i * n + j]) && is_local(h, t, k, next);
                for (int c = 0; c < classes && !local; c++)
                    to[c * n * n] = fmin(to[c * n * n], (double)own[next * classes + c]);
            }
        }
    return least;
}

// Bytes of the smallest buffer between two states: [class][n][n].
static const double *least_of(held *h, int t, bool early)
{
    int kind = h->s->kinds->tensor[t], classes = h->s->mesh->n_classes;
    if (h->least[early][kind]) return h->least[early][kind];
    const syn_states *st = h->s->states[t];
    int n = st->n;
    int64_t *own = HB_ARRAY(h->scratch, int64_t, n * classes);
    for (int i = 0; i < n; i++)
        syn_local_bytes(h->s->costs, t, &st->s[i], &own[i * classes]);
    for (int i = 0; i < n * classes; i++)
        own[i] = (own[i] + COST_LOCAL_ALIGN - 1) / COST_LOCAL_ALIGN * COST_LOCAL_ALIGN;
    return h->least[early][kind] = smallest(h, t, own, early);
}

// Zeros that a sum over micro-batches begins with are made in the state that it is in.
static bool begins_sum(const ir_graph *g, const reader *r)
{
    return r->node >= 0 && g->nodes.p[r->node].adds && r->in == 0;
}

static bool takes_copy(const syn_states *st, syn_keep k, int want)
{
    return k.copy >= 0 && st->cost[k.copy * st->n + want] < st->cost[k.state * st->n + want];
}

static bool is_home(const ir_tensor *t)
{
    return t->kind == IR_PARAM || t->kind == IR_BUFFER || t->kind == IR_CONST;
}

// Does a tensor's use read a second copy, if there is one? A home's update reads none.
static bool may_take_copy(const syn_space *s, int t, int use)
{
    return s->g->tensors.p[t].kind == IR_VALUE ||
           !syn_writes_home(s->g, s->uses[use][0], s->uses[use][1]);
}

// The least that is there of a copy before a reader behind `use` that takes it.
static double least_behind(const held *h, const reader *r, const double *least, syn_keep k)
{
    const syn_space *s = h->s;
    const syn_states *st = s->states[r->t];
    double most = HUGE_VAL;
    for (int u = r->use + 1; u < s->first_use[r->t + 1]; u++) {
        const syn_shardings *x = s->shardings[s->uses[u][0]];
        for (int i = 0; i < x->n && may_take_copy(s, r->t, u); i++) {
            int want = x->sharding[i].in[s->uses[u][1]];
            if (takes_copy(st, k, want)) most = fmin(most, least[k.copy * st->n + want]);
        }
    }
    return isfinite(most) ? most : 0;
}

// Is a value that no other op reads converted where it is made? Parts of sums are, and what stands
// outside the micro-batches that read it.
static bool goes_early(const syn_space *s, const reader *r, int have)
{
    const ir_graph *g = s->g;
    const syn_state *x = &s->states[r->t]->s[have];
    int p = g->tensors.p[r->t].producer;
    return x->ax[0].kind == SYN_P || x->ax[1].kind == SYN_P ||
           g->nodes.p[p].turn != g->nodes.p[r->node].turn;
}

static double cell(held *h, what w, const reader *r, int cls, int i, int j)
{
    const syn_space *s = h->s;
    const syn_states *st = s->states[r->t];
    const double *least = least_of(h, r->t, false) + cls * st->n * st->n;
    const double *early = least_of(h, r->t, true) + cls * st->n * st->n;
    bool alone = w == MOMENT_BYTES || w == OPERAND_BYTES || w == RESULT_BYTES;
    const syn_sharding *sharding =
        r->node >= 0 ? &s->shardings[r->node]->sharding[alone ? i : j] : NULL;
    int want = !sharding ? 0 : w == RESULT_BYTES ? sharding->out[r->in] : sharding->in[r->in];
    if (alone) return least[want * st->n + want];
    if (w == DIRECT_BYTES) {
        const ir_tensor *ten = &s->g->tensors.p[r->t];
        if (begins_sum(s->g, r)) return least[want * st->n + want];
        int have = s->shardings[ten->producer]->sharding[i].out[ten->out];
        return (goes_early(s, r, have) ? early : least)[have * st->n + want];
    }
    syn_keep k = s->keeps[r->t]->keep[i];
    double own = least[k.state * st->n + k.state];
    if (w == HOME_BYTES) return own;
    if (w == BROUGHT_BYTES) return want == k.state ? 0 : least[want * st->n + want];
    double from_kept = least[k.state * st->n + want];
    if (k.copy < 0) return w == READ_BYTES ? from_kept : 0;
    bool home = is_home(&s->g->tensors.p[r->t]);
    if ((w == FIRST_BYTES || w == LAST_BYTES) && !takes_copy(st, k, want)) return 0;
    if (w == FIRST_BYTES) // READ_BYTES counts no more than is kept
        return fmax(least_behind(h, r, least, k) - (home ? 0 : own), 0);
    double from_copy = least[k.copy * st->n + want];
    if (w == COPY_BYTES || (w == LAST_BYTES && home)) return from_copy;
    double way = st->cost[k.state * st->n + want] <= st->cost[k.copy * st->n + want]
                     ? from_kept
                     : fmin(early[k.state * st->n + k.copy], from_copy);
    return w == READ_BYTES ? way : fmax(from_copy - way, 0);
}

// What a table is known by: equal keys, equal tables.
static hb_str key_of(const held *h, hb_arena *a, what w, const reader *r)
{
    const syn_space *s = h->s;
    const syn_kinds *k = s->kinds;
    int p = s->g->tensors.p[r->t].producer, out = s->g->tensors.p[r->t].out, n = 0;
    int behind = w == FIRST_BYTES ? s->first_use[r->t + 1] - r->use - 1 : 0;
    int *key = HB_ARRAY(a, int, 9 + 3 * behind);
    key[n++] = w;
    key[n++] = k->tensor[r->t];
    key[n++] = k->kept[r->t];
    key[n++] = r->node < 0 ? -1 : k->node[r->node];
    key[n++] = r->in;
    key[n++] = begins_sum(s->g, r);
    key[n++] = w == DIRECT_BYTES ? k->node[p] : -1;
    key[n++] = w == DIRECT_BYTES ? out : -1;
    key[n++] = w == DIRECT_BYTES && s->g->nodes.p[p].turn != s->g->nodes.p[r->node].turn;
    for (int u = r->use + 1; u <= r->use + behind; u++) {
        key[n++] = k->node[s->uses[u][0]];
        key[n++] = s->uses[u][1];
        key[n++] = may_take_copy(s, r->t, u);
    }
    return (hb_str){(const char *)key, sizeof *key * (size_t)n};
}

static float rounded_down(double bytes)
{
    float x = (float)bytes;
    return (double)x > bytes ? nextafterf(x, 0) : x;
}

static const float *table_of(held *h, what w, const reader *r, int a, int b)
{
    hb_str name = key_of(h, h->scratch, w, r);
    int at = hb_map_get(h->tables, name), na = syn_live_domain(h, a), nb = syn_live_domain(h, b);
    if (at >= 0) return h->known.p[at];
    float *bytes = hb_room(h->arena, sizeof *bytes, h->s->mesh->n_classes * na * nb);
    for (int c = 0; c < h->s->mesh->n_classes; c++)
        for (int i = 0; i < na; i++)
            for (int j = 0; j < nb; j++)
                bytes[(c * na + i) * nb + j] = rounded_down(cell(h, w, r, c, i, j));
    hb_map_put(h->tables, name, h->known.n);
    HB_PUSH(h->scratch, &h->known, bytes);
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

static int last_use(const syn_space *s, int t)
{
    return s->first_use[t + 1] > s->first_use[t] ? s->uses[s->first_use[t + 1] - 1][0] : -1;
}

// Of all views of one tensor, the one that is held for longest; -1 for views of what is always
// there.
static int *representatives(const held *h)
{
    const ir_graph *g = h->s->g;
    int *best = HB_ARRAY(h->scratch, int, g->tensors.n + 1);
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

// What a second copy holds. Of two readers both take it, else the choice stands for another. Of
// more, two or more do: where the first takes it, it is there until the second is read, and where
// the last does, from the last but one on.
static void add_copy(held *h, int t)
{
    const syn_space *s = h->s;
    int a = s->tensor_var[t], n = 0, second = -1, last = -1, before = -1;
    reader first = {.t = t};
    for (int u = s->first_use[t]; a >= 0 && u < s->first_use[t + 1]; u++) {
        if (!may_take_copy(s, t, u)) continue;
        if (n == 0) first = (reader){t, s->uses[u][0], s->uses[u][1], u};
        if (n == 1) second = s->uses[u][0];
        before = last;
        last = u;
        n++;
    }
    if (n < 2) return;
    reader r = {t, s->uses[last][0], s->uses[last][1], 0};
    int b = s->node_var[r.node], from = s->uses[before][0];
    what w = n > 2 ? LAST_BYTES : is_home(&s->g->tensors.p[t]) ? COPY_BYTES : EXTRA_BYTES;
    add_term(h, a, b, from, r.node, table_of(h, w, &r, a, b));
    if (n == 2) return;
    b = s->node_var[first.node];
    add_term(h, a, b, first.node, second, table_of(h, FIRST_BYTES, &first, a, b));
}

static void add_value(held *h, int t, term *of)
{
    const syn_space *s = h->s;
    const ir_tensor *ten = &s->g->tensors.p[t];
    int p = ten->producer, u = s->first_use[t + 1] - 1;
    if (u < s->first_use[t] || (p >= 0 && ir_op_of(s->g->nodes.p[p].op)->flags & IR_IN_PLACE))
        return;
    reader r = {t, s->uses[u][0], s->uses[u][1], 0};
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
        reader r = {n->out[o], node, o, 0};
        add_term(h, v, -1, node - 1, node + 1, table_of(h, RESULT_BYTES, &r, v, -1));
    }
    for (int i = 0; i < n->n_in; i++) {
        int t = n->in[i], root = roots[i] = viewed(s->g, t);
        const ir_tensor *ten = &s->g->tensors.p[root];
        reader r = {t, node, i, 0};
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

// --- beside the arena ---

// What an op alone takes there, in each sharding: [class][sharding].
typedef struct beside {
    float *padded, *work;
    double most_padded, most_work; // of all
} beside;

static beside beside_of(held *h, int node)
{
    const syn_space *s = h->s;
    const ir_node *n = &s->g->nodes.p[node];
    const syn_shardings *x = s->shardings[node];
    int classes = s->mesh->n_classes;
    beside b = {HB_ARRAY(h->arena, float, classes * x->n),
                HB_ARRAY(h->arena, float, classes * x->n), 0, 0};
    for (int i = 0; i < x->n; i++) {
        syn_state in[IR_MAX_IN], out[IR_MAX_OUT];
        int64_t padded[CL_MAX_CLASSES], work[CL_MAX_CLASSES];
        for (int k = 0; k < n->n_in; k++)
            in[k] = s->states[n->in[k]]->s[x->sharding[i].in[k]];
        for (int k = 0; k < n->n_out; k++)
            out[k] = s->states[n->out[k]]->s[x->sharding[i].out[k]];
        syn_workspace_of_op(s->costs, node, in, out, padded, work);
        for (int c = 0; c < classes; c++) {
            b.padded[c * x->n + i] = rounded_down((double)padded[c]);
            b.work[c * x->n + i] = rounded_down((double)work[c]);
            b.most_padded = fmax(b.most_padded, (double)padded[c]);
            b.most_work = fmax(b.most_work, (double)work[c]);
        }
    }
    return b;
}

// An op that reads one tensor twice may pad it once.
static bool reads_twice(const ir_graph *g, const ir_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        for (int k = 0; k < i; k++)
            if (viewed(g, n->in[i]) == viewed(g, n->in[k])) return true;
    return false;
}

// The op that takes most there, all the time: of the workspace, which is the most of any op, and of
// what is padded. Where more may be padded than there are places for copies that one is likely.
static void add_beside(held *h)
{
    const syn_space *s = h->s;
    bool gpu = false, *known = HB_ARRAY(h->scratch, bool, s->kinds->n_nodes + 1);
    for (int c = 0; c < s->mesh->n_classes; c++)
        gpu = gpu || s->m->cluster->cls[s->mesh->cluster_class[c]].kind == CL_GPU;
    beside most = {0}, *of = HB_ARRAY(h->scratch, beside, s->kinds->n_nodes + 1);
    int padded = -1, work = -1, n_padded = 0;
    for (int n = 0; gpu && n < s->g->nodes.n; n++) {
        int kind = s->kinds->node[n];
        if (ir_op_of(s->g->nodes.p[n].op)->flags & IR_ZERO_COPY) continue;
        if (!known[kind]) of[kind] = beside_of(h, n);
        known[kind] = true;
        n_padded += of[kind].most_padded > 0 ? 3 : 0; // matrices of a product
        if (of[kind].most_padded > most.most_padded && !reads_twice(s->g, &s->g->nodes.p[n])) {
            most.most_padded = of[kind].most_padded;
            most.padded = of[kind].padded;
            padded = n;
        }
        if (of[kind].most_work > most.most_work) {
            most.most_work = of[kind].most_work;
            most.work = of[kind].work;
            work = n;
        }
    }
    syn_live_term one = {s->node_var[padded < 0 ? 0 : padded], -1, -1, s->g->nodes.n, most.padded};
    if (padded >= 0 && n_padded <= IR_CUDA_SHADOWS)
        HB_PUSH(h->arena, &h->terms, one);
    else if (padded >= 0)
        h->likely = one;
    if (work >= 0) add_term(h, s->node_var[work], -1, -1, s->g->nodes.n, most.work);
}

syn_live_bound *syn_live_bound_new(hb_arena *a, const syn_space *s)
{
    const ir_graph *g = s->g;
    held *h = HB_NEW(a, held);
    hb_arena *scratch = hb_arena_new();
    *h = (held){.arena = a, .s = s, .scratch = scratch, .tables = hb_map_new(scratch)};
    for (int i = 0; i < 2; i++)
        h->least[i] = hb_alloc(scratch, sizeof *h->least[i] * (size_t)(s->kinds->n_tensors + 1));
    const int *best = representatives(h);
    term *of =
        HB_ARRAY(scratch, term, g->tensors.n + 1); // by tensor: what counts it, no interval if none
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *ten = &g->tensors.p[t];
        int u = s->first_use[t];
        reader own = {t, -1, 0, 0};
        if (is_home(ten) && s->tensor_var[t] >= 0) {
            int v = s->tensor_var[t];
            add_term(h, v, -1, -1, g->nodes.n, table_of(h, HOME_BYTES, &own, v, -1));
            if (ten->kind == IR_PARAM) add_copy(h, t);
        } else if (ten->kind == IR_STATE && last_use(s, t) >= 0) {
            reader r = {t, s->uses[u][0], s->uses[u][1], 0};
            int v = s->node_var[r.node];
            add_term(h, v, -1, -1, g->nodes.n, table_of(h, MOMENT_BYTES, &r, v, -1));
        } else if (!is_home(ten) && best[viewed(g, t)] == t) {
            add_value(h, t, &of[t]);
        }
    }
    for (int n = 0; n < g->nodes.n; n++)
        add_own(h, n, best, of);
    add_beside(h);
    hb_arena_free(scratch);
    h->scratch = NULL;
    return h;
}

bool syn_live_count_likely(syn_live_bound *h)
{
    if (!h->likely.bytes) return false;
    HB_PUSH(h->arena, &h->terms, h->likely);
    h->likely.bytes = NULL;
    return true;
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
            double bytes = (double)t->bytes[c * na * nb + at];
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
