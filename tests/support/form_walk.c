#include "form_walk.h"

#include <math.h>
#include <string.h>

// A tensor is touched by its producer and by its consumers, in the order of nodes. What a touch
// costs depends on the form of its node, through the states of its operands alone (classes of
// shardings), and on what the tensor is kept in (for a tensor that is no variable: the state it was
// made in). So a tensor costs
//
//     min over kept k of  base[k] + sum over touches j of touch j's cost[class][k]
//
// and the bound of a tensor whose first touches are fixed has, in place of each other touch, what
// its node must cost at least for every k (`rest`). These go backward through the nodes once: all
// that a node and what hangs on it must cost is shared out equally among the tensors that it
// touches after others.
typedef struct touch {
    int node, n_classes;
    int *class_of;    // by sharding
    int *sharding_of; // by class: one of them
    double *cost;     // [class][kept]
    double *rest;     // [kept] of all later touches
    double *values;   // [classes of the touches before][class], rows filled when first asked for;
    bool *filled;     // NULL: too large
    double *row;      // where values is NULL
} touch;

typedef struct value {
    int n_kept, n_touches;
    double *base;
    touch *touch;
    int64_t at; // row of the next touch: classes of those fixed, mixed radix
    double now; // at least, with those fixed
} value;

typedef struct hold { // a touch, by node
    value *v;
    int j;
} hold;

struct form_walk {
    hb_arena *arena;
    const syn_space *s;
    int n;             // nodes
    HB_VEC(hold) * of; // by node
    double *root;      // by node: what it costs at least, if no tensor has it in its rest
    int *sharding;
    double bound, best, seen;
    long steps, most;
};

enum { MAX_CELLS = 1 << 21, MAX_FORMS = 1024, MAX_KEPT = 8192, MAX_TOUCHED = 16 };

// --- costs of touches ---

static double read_cost(const syn_space *s, int t, const syn_keep *keep, int node, int operand,
                        int want)
{
    const syn_states *st = s->states[t];
    double cost = st->cost[keep->state * st->n + want];
    if (!s->keeps[t]) return cost;
    if (s->g->tensors.p[t].kind != IR_VALUE && syn_writes_home(s->g, node, operand))
        return cost + st->cost[want * st->n + keep->state];
    return keep->copy >= 0 ? fmin(cost, st->cost[keep->copy * st->n + want]) : cost;
}

// A tensor that is no variable is kept as it is made.
static double made_cost(const syn_space *s, int t, const syn_keep *keep, int made)
{
    if (!s->keeps[t]) return made == keep->state ? 0 : HUGE_VAL;
    return s->states[t]->cost[made * s->states[t]->n + keep->state];
}

static double form_cost(const syn_space *s, int t, const syn_keep *keep, int node, int sharding)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    const syn_sharding *f = &s->shardings[node]->sharding[sharding];
    double sum = ten->producer == node ? made_cost(s, t, keep, f->out[ten->out]) : 0;
    for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++)
        if (s->uses[u][0] == node)
            sum += read_cost(s, t, keep, node, s->uses[u][1], f->in[s->uses[u][1]]);
    return sum;
}

static bool same_states(const syn_space *s, int t, int node, const syn_sharding *x,
                        const syn_sharding *y)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    if (ten->producer == node && x->out[ten->out] != y->out[ten->out]) return false;
    for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++)
        if (s->uses[u][0] == node && x->in[s->uses[u][1]] != y->in[s->uses[u][1]]) return false;
    return true;
}

static void make_touch(form_walk *w, int t, int node, const syn_keep *keep, int n_kept, touch *out)
{
    const syn_space *s = w->s;
    const syn_shardings *shardings = s->shardings[node];
    *out = (touch){.node = node,
                   .class_of = HB_ARRAY(w->arena, int, shardings->n),
                   .sharding_of = HB_ARRAY(w->arena, int, shardings->n)};
    for (int i = 0; i < shardings->n; i++) {
        int c = 0;
        while (c < out->n_classes && !same_states(s, t, node, &shardings->sharding[i],
                                                  &shardings->sharding[out->sharding_of[c]]))
            c++;
        if (c == out->n_classes) out->sharding_of[out->n_classes++] = i;
        out->class_of[i] = c;
    }
    out->cost = HB_ARRAY(w->arena, double, out->n_classes *n_kept);
    for (int c = 0; c < out->n_classes; c++)
        for (int k = 0; k < n_kept; k++)
            out->cost[c * n_kept + k] = form_cost(s, t, &keep[k], node, out->sharding_of[c]);
    out->rest = HB_ARRAY(w->arena, double, n_kept);
    out->row = HB_ARRAY(w->arena, double, out->n_classes);
}

static void make_value(form_walk *w, int t)
{
    const syn_space *s = w->s;
    const ir_tensor *ten = &s->g->tensors.p[t];
    const syn_states *st = s->states[t];
    bool loss = t == s->g->loss, used = s->first_use[t + 1] > s->first_use[t];
    if (ten->kind == IR_STATE || (s->keeps[t] ? s->tensor_var[t] < 0 : !used && !loss)) return;
    value *v = HB_NEW(w->arena, value);
    v->n_kept = s->keeps[t] ? s->keeps[t]->n : st->n;
    syn_keep *keep = HB_ARRAY(w->arena, syn_keep, v->n_kept);
    v->base = HB_ARRAY(w->arena, double, v->n_kept);
    for (int k = 0; k < v->n_kept; k++) {
        keep[k] = s->keeps[t] ? s->keeps[t]->keep[k] : (syn_keep){(int16_t)k, -1};
        if (keep[k].copy >= 0) v->base[k] = st->cost[keep[k].state * st->n + keep[k].copy];
        if (loss) v->base[k] += st->cost[keep[k].state * st->n];
    }
    v->touch = hb_alloc(w->arena, sizeof *v->touch * (size_t)w->n);
    double cells = 1;
    for (int node = 0; node < w->n; node++) {
        bool touched = ten->producer == node;
        for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++)
            touched = touched || s->uses[u][0] == node;
        if (!touched) continue;
        touch *x = &v->touch[v->n_touches];
        make_touch(w, t, node, keep, v->n_kept, x);
        if (cells * x->n_classes <= MAX_CELLS) {
            x->filled = HB_ARRAY(w->arena, bool, (int)cells);
            x->values = HB_ARRAY(w->arena, double, (int)cells * x->n_classes);
        }
        cells *= x->n_classes;
        HB_PUSH(w->arena, &w->of[node], ((hold){v, v->n_touches++}));
    }
}

// --- the bound ---

static double least(const double *x, int n)
{
    double m = HUGE_VAL;
    for (int i = 0; i < n; i++)
        m = x[i] < m ? x[i] : m;
    return m;
}

// What a tensor costs at least by the class of its first touch; later ones have sent theirs.
static void first_costs(form_walk *w, const value *v, double *by_class)
{
    const touch *x = &v->touch[0];
    double *sum = HB_ARRAY(w->arena, double, v->n_kept);
    for (int c = 0; c < x->n_classes; c++) {
        for (int k = 0; k < v->n_kept; k++)
            sum[k] = v->base[k] + x->cost[c * v->n_kept + k] + x->rest[k];
        by_class[c] = least(sum, v->n_kept);
    }
}

static void send_back(form_walk *w, int node)
{
    int n = w->s->shardings[node]->n, later = 0;
    double *all = hb_copy(w->arena, w->s->shardings[node]->cost, sizeof *all * (size_t)n);
    for (int h = 0; h < w->of[node].n; h++) {
        const hold *x = &w->of[node].p[h];
        later += x->j > 0;
        if (x->j > 0) continue;
        const touch *t = &x->v->touch[0];
        double *by_class = HB_ARRAY(w->arena, double, t->n_classes);
        first_costs(w, x->v, by_class);
        for (int i = 0; i < n; i++)
            all[i] += by_class[t->class_of[i]];
    }
    if (later == 0) w->root[node] = least(all, n);
    for (int h = 0; h < w->of[node].n; h++) {
        const hold *x = &w->of[node].p[h];
        if (x->j == 0) continue;
        const touch *t = &x->v->touch[x->j];
        double *share = HB_ARRAY(w->arena, double, t->n_classes);
        for (int c = 0; c < t->n_classes; c++)
            share[c] = HUGE_VAL;
        for (int i = 0; i < n; i++)
            share[t->class_of[i]] = fmin(share[t->class_of[i]], all[i] / later);
        for (int k = 0; k < x->v->n_kept; k++) {
            double m = HUGE_VAL;
            for (int c = 0; c < t->n_classes; c++)
                m = fmin(m, share[c] + t->cost[c * x->v->n_kept + k]);
            for (int j = 0; j < x->j; j++)
                x->v->touch[j].rest[k] += m;
        }
    }
}

form_walk *form_walk_new(hb_arena *a, const syn_space *s)
{
    form_walk *w = HB_NEW(a, form_walk);
    *w = (form_walk){.arena = a, .s = s, .n = s->g->nodes.n};
    w->of = hb_alloc(a, sizeof *w->of * (size_t)(w->n + 1));
    w->root = HB_ARRAY(a, double, w->n + 1);
    w->sharding = HB_ARRAY(a, int, w->n + 1);
    for (int t = 0; t < s->g->tensors.n; t++)
        make_value(w, t);
    for (int node = w->n - 1; node >= 0; node--)
        send_back(w, node);
    for (int node = 0; node < w->n; node++)
        w->bound += w->root[node];
    return w;
}

double form_walk_combinations(const form_walk *w)
{
    double matmul = 1;
    for (int n = 0; n < w->n; n++)
        matmul *= w->s->shardings[n]->n;
    return matmul;
}

double form_walk_bound(const form_walk *w)
{
    return w->bound;
}

double form_walk_seen(const form_walk *w)
{
    return w->seen;
}

// --- walking ---

// By class of touch j: what the tensor costs at least, the touches before being fixed; exactly, if
// j is the last one.
static const double *row_of(form_walk *w, const hold *h)
{
    value *v = h->v;
    touch *x = &v->touch[h->j];
    double *row = x->values ? x->values + v->at * x->n_classes : x->row;
    if (x->values && x->filled[v->at]) return row;
    double sum[MAX_KEPT];
    hb_assert(v->n_kept <= MAX_KEPT);
    for (int k = 0; k < v->n_kept; k++)
        sum[k] = v->base[k] + x->rest[k];
    for (int j = 0; j < h->j; j++) {
        const touch *y = &v->touch[j];
        const double *cost = y->cost + y->class_of[w->sharding[y->node]] * v->n_kept;
        for (int k = 0; k < v->n_kept; k++)
            sum[k] += cost[k];
    }
    for (int c = 0; c < x->n_classes; c++) {
        const double *cost = x->cost + c * v->n_kept;
        double m = HUGE_VAL;
        for (int k = 0; k < v->n_kept; k++)
            m = sum[k] + cost[k] < m ? sum[k] + cost[k] : m;
        row[c] = m;
    }
    if (x->values) x->filled[v->at] = true;
    return row;
}

// Fixes the form of a node, or takes it back.
static void enter(form_walk *w, int node, int sharding)
{
    w->sharding[node] = sharding;
    for (int h = 0; h < w->of[node].n; h++) {
        const hold *x = &w->of[node].p[h];
        const touch *t = &x->v->touch[x->j];
        x->v->at = x->v->at * t->n_classes + t->class_of[sharding];
    }
}

static void leave(form_walk *w, int node)
{
    for (int h = 0; h < w->of[node].n; h++) {
        const hold *x = &w->of[node].p[h];
        x->v->at /= x->v->touch[x->j].n_classes;
    }
}

// cost[sharding]: of the node and of the tensors that it touches last.
static void settle(form_walk *w, int node, double so_far, double *cost)
{
    int n = w->s->shardings[node]->n;
    for (int i = 0; i < n; i++)
        cost[i] = so_far + w->s->shardings[node]->cost[i];
    for (int h = 0; h < w->of[node].n; h++) {
        const hold *x = &w->of[node].p[h];
        if (x->j + 1 < x->v->n_touches) continue;
        const double *row = row_of(w, x);
        const int *class_of = x->v->touch[x->j].class_of;
        for (int i = 0; i < n; i++)
            cost[i] += row[class_of[i]];
    }
}

static void every(form_walk *w, int node, double so_far)
{
    double cost[MAX_FORMS];
    int n = w->s->shardings[node]->n;
    hb_assert(n <= MAX_FORMS);
    settle(w, node, so_far, cost);
    if (node == w->n - 1) {
        double m = least(cost, n);
        w->best = m < w->best ? m : w->best;
        w->seen += n;
        return;
    }
    for (int i = 0; i < n; i++) {
        enter(w, node, i);
        every(w, node + 1, cost[i]);
        leave(w, node);
    }
}

void form_walk_all(form_walk *w, double *best)
{
    w->best = HUGE_VAL;
    w->seen = 0;
    every(w, 0, 0);
    *best = w->best;
}

// out[form]: the bound with the form of this node fixed, too. Its tensors stand in `bound` with
// what they cost at least so far (`now`), or not yet; the node itself is in what these count for
// touches to come, or at the root.
static void bounds_of(form_walk *w, int node, double bound, const double **rows, double *out)
{
    int n = w->s->shardings[node]->n;
    bound -= w->root[node];
    for (int h = 0; h < w->of[node].n; h++)
        if (w->of[node].p[h].j > 0) bound -= w->of[node].p[h].v->now;
    for (int i = 0; i < n; i++)
        out[i] = bound + w->s->shardings[node]->cost[i];
    for (int h = 0; h < w->of[node].n; h++) {
        const hold *x = &w->of[node].p[h];
        rows[h] = row_of(w, x);
        for (int i = 0; i < n; i++)
            out[i] += rows[h][x->v->touch[x->j].class_of[i]];
    }
}

static bool some(form_walk *w, int node, double bound)
{
    double out[MAX_FORMS], was[MAX_TOUCHED];
    const double *rows[MAX_TOUCHED];
    if (++w->steps > w->most) return false;
    if (node == w->n) {
        w->best = bound < w->best ? bound : w->best;
        w->seen++;
        return true;
    }
    int n = w->s->shardings[node]->n, n_touched = w->of[node].n;
    hb_assert(n <= MAX_FORMS && n_touched <= MAX_TOUCHED);
    bounds_of(w, node, bound, rows, out);
    for (int h = 0; h < n_touched; h++)
        was[h] = w->of[node].p[h].v->now;
    bool done = true;
    while (done) { // nearest bound first
        int at = 0;
        for (int i = 1; i < n; i++)
            at = out[i] < out[at] ? i : at;
        double b = out[at];
        if (b >= w->best) break;
        out[at] = HUGE_VAL;
        for (int h = 0; h < n_touched; h++) {
            const hold *x = &w->of[node].p[h];
            x->v->now = rows[h][x->v->touch[x->j].class_of[at]];
        }
        enter(w, node, at);
        done = some(w, node + 1, b);
        leave(w, node);
    }
    for (int h = 0; h < n_touched; h++)
        w->of[node].p[h].v->now = was[h];
    return done;
}

bool form_walk_bounded(form_walk *w, double start, long most, double *best)
{
    w->best = start;
    w->seen = 0;
    w->steps = 0;
    w->most = most;
    bool done = some(w, 0, w->bound);
    *best = w->best;
    return done;
}
