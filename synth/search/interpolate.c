#include "synth/search/interpolate.h"

#include <math.h>

#include "synth/space/space_solve.h"

typedef struct mix {
    hb_arena *arena;
    const syn_live_bound *h;
    const syn_space *s;
    int n_places;
    const syn_place *place;
    const int *depth; // by variable
    int deepest;      // beyond all of them
    int *index;       // by variable: among those whose states differ, -1
} mix;

// Variables of these depths are as in the rich end, the others as in the lean one.
typedef struct run {
    const syn_plane *rich, *lean;
    int from, to; // from <= depth < to
    bool simulated;
    double additive, held; // if its seams are sharp; held: the largest share of a capacity
} run;

double syn_place_part(const syn_place *x, int from, int to)
{
    int n = 0;
    for (int i = 0; i < x->n; i++)
        n += from < x->node[i] && x->node[i] < to;
    return (double)n / x->n;
}

// An update lies with its parameter, any other node behind all that it reads.
static int node_depth(const ir_graph *g, const ir_node *x, const int *tensor)
{
    int depth = 0;
    for (int i = 0; i < x->n_in; i++) {
        int t = x->in[i];
        if (x->phase == IR_UPDATE && g->tensors.p[t].kind == IR_PARAM) return tensor[t];
        depth = tensor[t] > depth ? tensor[t] : depth;
    }
    return depth;
}

int *syn_depths(hb_arena *a, const syn_space *s)
{
    const ir_graph *g = s->g;
    int *node = HB_ARRAY(a, int, g->nodes.n + 1), *tensor = HB_ARRAY(a, int, g->tensors.n + 1);
    int *var = HB_ARRAY(a, int, s->problem.n_vars + 1), params = 0;
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_node *x = &g->nodes.p[n];
        for (int i = 0; i < x->n_in; i++)
            if (g->tensors.p[x->in[i]].kind == IR_PARAM && tensor[x->in[i]] == 0)
                tensor[x->in[i]] = ++params;
        bool behind = x->phase == IR_BACKWARD && x->forward >= 0;
        node[n] = behind ? node[x->forward] : node_depth(g, x, tensor);
        for (int o = 0; o < x->n_out; o++)
            tensor[x->out[o]] = node[n];
        var[s->node_var[n]] = node[n];
    }
    for (int t = 0; t < g->tensors.n; t++) {
        bool known = g->tensors.p[t].producer >= 0 || g->tensors.p[t].kind == IR_PARAM;
        int u = s->first_use[t];
        if (s->tensor_var[t] < 0) continue;
        if (!known && u < s->first_use[t + 1]) tensor[t] = node[s->uses[u][0]];
        var[s->tensor_var[t]] = tensor[t];
    }
    return var;
}

void syn_simulate_plane(const syn_space *s, syn_plane *p, const syn_bound_calls *calls,
                        double *feasible)
{
    hb_arena *scratch = hb_arena_new();
    syn_choice c;
    syn_choice_decode(scratch, s, p->x, &c);
    c.additive = p->additive;
    double additive = calls->simulate(calls->ctx, &c, &p->share);
    p->fits = isfinite(additive);
    *feasible = fmin(*feasible, additive);
    hb_arena_free(scratch);
}

// What the plan takes beyond what is surely held, as a share.
static double beyond_live(const syn_space *s, const syn_plane *p)
{
    return fmax(p->share - syn_most_live(s, p->held), 0);
}

// Additive cost where the line between the two ends meets the capacity.
static double between(const syn_space *s, const syn_plane *rich, const syn_plane *lean)
{
    double part = 1, room = 1 - beyond_live(s, lean);
    for (int c = 0; c < s->mesh->n_classes; c++) {
        double cap = (double)s->m->cluster->cls[s->mesh->cluster_class[c]].capacity;
        for (int i = 0; i < s->g->nodes.n; i++) {
            int at = c * (s->g->nodes.n + 1) + i;
            double low = lean->held[at] / cap, high = rich->held[at] / cap;
            if (high > low) part = fmin(part, fmax(room - low, 0) / (high - low));
        }
    }
    return lean->additive + part * (rich->additive - lean->additive);
}

static bool is_rich(const mix *m, const run *w, int var)
{
    return m->depth[var] >= w->from && m->depth[var] < w->to;
}

static void interpolate_sharply(const mix *m, const run *w, int *x)
{
    for (int v = 0; v < m->s->problem.n_vars; v++)
        x[v] = is_rich(m, w, v) ? w->rich->x[v] : w->lean->x[v];
}

// --- the search at a run ---

static double price_at(const mix *m, const run *w, int place, int var)
{
    return m->place[place].price * (is_rich(m, w, var) ? 1 / SYN_MIX_STEP : SYN_MIX_STEP);
}

// Numbers the variables whose states differ.
static int index_free(const mix *m, const run *w)
{
    int n = 0;
    for (int v = 0; v < m->s->problem.n_vars; v++)
        m->index[v] = w->rich->x[v] != w->lean->x[v] ? n++ : -1;
    return n;
}

typedef struct restricted {
    hb_arena *arena;
    const run *w;
    double *unary; // [variable][2]
    HB_VEC(ms_edge) edges;
} restricted;

// State i (0: the rich end's) of a variable.
static int state_of(const run *w, int var, int i)
{
    return var < 0 ? 0 : i == 0 ? w->rich->x[var] : w->lean->x[var];
}

// What two variables (b = -1: one) cost, or pay for bytes.
static void add_table(const mix *m, restricted *r, int a, int b, const double *cost,
                      const float *bytes, double price)
{
    int nb = syn_live_domain(m->h, b), ia = m->index[a], ib = b < 0 ? -1 : m->index[b];
    double cell[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int at = state_of(r->w, a, i) * nb + state_of(r->w, b, j);
            cell[i][j] = cost ? cost[at] : price * (double)bytes[at];
        }
    if (ia >= 0 && ib >= 0) {
        HB_PUSH(r->arena, &r->edges,
                (ms_edge){ia, ib, hb_copy(r->arena, &cell[0][0], sizeof cell)});
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (ia >= 0) r->unary[2 * ia + i] += cell[i][0];
        if (ib >= 0) r->unary[2 * ib + i] += cell[0][i];
    }
}

// The best of all assignments whose states are each one of the two ends'.
static bool solve_at(const mix *m, const run *w, hb_arena *a, int *x)
{
    const ms_problem *p = &m->s->problem;
    int n_free = index_free(m, w);
    restricted r = {.arena = a, .w = w, .unary = HB_ARRAY(a, double, 2 * n_free + 1)};
    for (int v = 0; v < p->n_vars; v++)
        for (int i = 0; m->index[v] >= 0 && i < 2; i++)
            r.unary[2 * m->index[v] + i] = p->unary[v] ? p->unary[v][state_of(w, v, i)] : 0;
    for (int i = 0; i < p->n_edges; i++) {
        const ms_edge *e = &p->edge[i];
        if (m->index[e->a] >= 0 || m->index[e->b] >= 0)
            add_table(m, &r, e->a, e->b, e->table, NULL, 0);
    }
    for (int i = 0; i < m->h->terms.n; i++) {
        const syn_live_term *t = &m->h->terms.p[i];
        int cells = syn_live_domain(m->h, t->a) * syn_live_domain(m->h, t->b);
        if (m->index[t->a] < 0 && (t->b < 0 || m->index[t->b] < 0)) continue;
        for (int k = 0; k < m->n_places; k++) {
            double part = syn_place_part(&m->place[k], t->from, t->to);
            if (m->place[k].price > 0 && part > 0)
                add_table(m, &r, t->a, t->b, NULL, t->bytes + m->place[k].cls * cells,
                          part * price_at(m, w, k, t->a));
        }
    }
    int *domain = HB_ARRAY(a, int, n_free + 1), *y = HB_ARRAY(a, int, n_free + 1);
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)(n_free + 1));
    for (int i = 0; i < n_free; i++) {
        domain[i] = 2;
        unary[i] = &r.unary[2 * i];
    }
    ms_problem q = {.n_vars = n_free,
                    .domain = domain,
                    .unary = unary,
                    .n_edges = r.edges.n,
                    .edge = r.edges.p,
                    .stop = p->stop};
    double value, lower;
    if (n_free == 0 ||
        ms_solve_near(a, &q, 0, SYN_MIX_GAP, NULL, y, &value, &lower) != MS_OPTIMAL ||
        !isfinite(value))
        return false;
    for (int v = 0; v < p->n_vars; v++)
        x[v] = m->index[v] >= 0 ? state_of(w, v, y[m->index[v]]) : w->lean->x[v];
    return true;
}

// --- which run ---

// The mix while the run grows: what it costs and holds, kept up to date variable by variable.
typedef struct walk {
    const mix *m;
    int *x;
    double sum; // of what is finite
    int n_inf;
    double *step;          // [class][node] change of what is held from the node before
    int *first, *incident; // by variable: edges, then terms (n_edges + i)
} walk;

static void index_incident(walk *w, hb_arena *a)
{
    const ms_problem *p = &w->m->s->problem;
    int n = p->n_edges + w->m->h->terms.n;
    w->first = HB_ARRAY(a, int, p->n_vars + 2);
    w->incident = HB_ARRAY(a, int, 2 * n + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n; i++) {
            const syn_live_term *t = &w->m->h->terms.p[i - (i < p->n_edges ? i : p->n_edges)];
            int end[2] = {i < p->n_edges ? p->edge[i].a : t->a,
                          i < p->n_edges ? p->edge[i].b : t->b};
            for (int k = 0; k < 2; k++) {
                if (end[k] < 0) continue;
                if (pass == 0)
                    w->first[end[k] + 2]++;
                else
                    w->incident[w->first[end[k] + 1]++] = i;
            }
        }
        for (int v = 0; pass == 0 && v < p->n_vars; v++)
            w->first[v + 2] += w->first[v + 1];
    }
}

static void count(walk *w, double cost, int sign)
{
    if (isinf(cost))
        w->n_inf += sign;
    else
        w->sum += sign * cost;
}

// Adds (or takes away) all that hangs on a variable.
static void count_variable(walk *w, int var, int sign)
{
    const syn_space *s = w->m->s;
    const ms_problem *p = &s->problem;
    int stride = s->g->nodes.n + 1;
    if (p->unary[var]) count(w, p->unary[var][w->x[var]], sign);
    for (int k = w->first[var]; k < w->first[var + 1]; k++) {
        int i = w->incident[k];
        if (i < p->n_edges) {
            const ms_edge *e = &p->edge[i];
            count(w, e->table[w->x[e->a] * p->domain[e->b] + w->x[e->b]], sign);
            continue;
        }
        const syn_live_term *t = &w->m->h->terms.p[i - p->n_edges];
        int na = syn_live_domain(w->m->h, t->a), nb = syn_live_domain(w->m->h, t->b);
        int at = w->x[t->a] * nb + (t->b < 0 ? 0 : w->x[t->b]);
        for (int c = 0; c < s->mesh->n_classes; c++) {
            double bytes = sign * (double)t->bytes[c * na * nb + at];
            w->step[c * stride + t->from + 1] += bytes;
            w->step[c * stride + t->to] -= bytes;
        }
    }
}

static double most_now(const walk *w)
{
    const syn_space *s = w->m->s;
    int nodes = s->g->nodes.n, classes = s->mesh->n_classes;
    double most = 0, now[CL_MAX_CLASSES] = {0}, top[CL_MAX_CLASSES] = {0};
    for (int i = 0; i < nodes; i++)
        for (int c = 0; c < classes; c++) { // sums of all classes at once: each waits for its last
            now[c] += w->step[c * (nodes + 1) + i];
            top[c] = now[c] > top[c] ? now[c] : top[c];
        }
    for (int c = 0; c < classes; c++)
        most = fmax(most, top[c] / (double)s->m->cluster->cls[s->mesh->cluster_class[c]].capacity);
    return most;
}

// Appends the runs that grow from an empty one, deeper (step 1) or less deep (-1).
static void grow(const mix *m, run like, int step, run *list, int *n)
{
    hb_arena *a = hb_arena_new();
    const ms_problem *p = &m->s->problem;
    int nodes = m->s->g->nodes.n, classes = m->s->mesh->n_classes;
    walk w = {.m = m, .x = hb_copy(a, like.lean->x, sizeof(int) * (size_t)p->n_vars)};
    w.sum = like.lean->additive;
    w.step = HB_ARRAY(a, double, classes *(nodes + 1));
    for (int c = 0; c < classes; c++)
        for (int i = 0; i < nodes; i++) {
            const double *held = &like.lean->held[c * (nodes + 1)];
            w.step[c * (nodes + 1) + i] = held[i] - (i > 0 ? held[i - 1] : 0);
        }
    index_incident(&w, a);
    int *start = HB_ARRAY(a, int, m->deepest + 2), *order = HB_ARRAY(a, int, p->n_vars + 1);
    for (int v = 0; v < p->n_vars; v++)
        start[m->depth[v] + 1]++;
    for (int d = 0; d < m->deepest; d++)
        start[d + 1] += start[d];
    for (int v = 0; v < p->n_vars; v++)
        order[start[m->depth[v]]++] = v;
    for (int grown = 1, moved = 0; like.from > 0 || like.to < m->deepest; grown++) {
        if (step > 0 ? like.to == m->deepest : like.from == 0) break;
        int depth = step > 0 ? like.to++ : --like.from;
        for (int k = depth > 0 ? start[depth - 1] : 0; k < start[depth]; k++) {
            int v = order[k];
            if (like.rich->x[v] == w.x[v]) continue;
            count_variable(&w, v, -1);
            w.x[v] = like.rich->x[v];
            count_variable(&w, v, 1);
            moved++;
        }
        if (moved == 0 || w.n_inf > 0 || grown % (m->deepest / SYN_MIX_RUNS + 1) != 0) continue;
        moved = 0;
        like.additive = w.sum;
        like.held = most_now(&w);
        list[(*n)++] = like;
    }
    hb_arena_free(a);
}

// The mix of a run: with sharp seams, or what the search finds, if that is better and as sure
// to fit.
static syn_plane plane_of(const mix *m, const run *w, double room)
{
    hb_arena *scratch = hb_arena_new();
    const ms_problem *p = &m->s->problem;
    int *sharp = HB_ARRAY(m->arena, int, p->n_vars + 1),
        *x = HB_ARRAY(m->arena, int, p->n_vars + 1);
    syn_plane y = {.x = sharp, .share = -1};
    interpolate_sharply(m, w, sharp);
    y.additive = ms_value(p, sharp);
    y.held = syn_live_by(m->h, m->arena, sharp);
    if (solve_at(m, w, scratch, x) && ms_value(p, x) < y.additive) {
        const double *held = syn_live_by(m->h, m->arena, x);
        if (syn_most_live(m->s, held) <= room) y = (syn_plane){x, ms_value(p, x), held, -1, false};
    }
    hb_arena_free(scratch);
    return y;
}

// The cheapest that was not simulated and seems to fit, if plans take `beyond` more than is held.
static run *cheapest(run *list, int n, double room, double beyond, double feasible)
{
    run *best = NULL;
    for (int k = 0; k < n; k++)
        if (!list[k].simulated && list[k].held + beyond <= room && list[k].additive < feasible &&
            (!best || list[k].additive < best->additive))
            best = &list[k];
    return best;
}

// Simulates runs, cheapest first of those that seem to fit, until none promises more. most,
// least: what plans take that is not surely held; after the first it is what that one took.
static bool try_runs(const mix *m, run *list, int n, const syn_bound_calls *calls, double most,
                     double least, double feasible)
{
    bool large = ir_step_nodes(m->s->g) > SYN_LARGE, any = false;
    double room = large ? SYN_MIX_NEARLY : SYN_MIX_FULL, beyond = most;
    for (int i = 0; i < SYN_MIX_JUDGED && !calls->stop(calls->ctx); i++) {
        run *best = cheapest(list, n, room, beyond, feasible);
        if (!best && i == 0) best = cheapest(list, n, room, beyond = least, feasible);
        if (!best) break;
        best->simulated = true;
        syn_plane p = plane_of(m, best, room - beyond);
        syn_simulate_plane(m->s, &p, calls, &feasible);
        beyond = beyond_live(m->s, &p);
        any = any || p.fits;
        if (large && p.fits && p.share > SYN_MIX_ENOUGH) break;
    }
    return any;
}

bool syn_interpolate(const syn_live_bound *h, int n_planes, const syn_plane *plane, int n_places,
                     const syn_place *place, const syn_bound_calls *calls, double feasible)
{
    mix m = {.arena = hb_arena_new(), .h = h, .s = h->s, .n_places = n_places, .place = place};
    run pair[SYN_MIX_PAIRS];
    int n_pairs = 0, most = ir_step_nodes(m.s->g) > SYN_LARGE ? 1 : SYN_MIX_PAIRS, n = 0;
    for (int i = 0; i < n_planes * n_planes; i++) {
        run w = {.rich = &plane[i / n_planes], .lean = &plane[i % n_planes]};
        if (w.rich->fits || !w.lean->fits) continue;
        w.additive = between(m.s, w.rich, w.lean);
        if (w.additive >= feasible) continue;
        int at = n_pairs < most ? n_pairs++ : most;
        for (; at > 0 && pair[at - 1].additive > w.additive; at--)
            if (at < most) pair[at] = pair[at - 1];
        if (at < most) pair[at] = w;
    }
    m.depth = syn_depths(m.arena, m.s);
    for (int v = 0; v < m.s->problem.n_vars; v++)
        m.deepest = m.depth[v] >= m.deepest ? m.depth[v] + 1 : m.deepest;
    m.index = HB_ARRAY(m.arena, int, m.s->problem.n_vars + 1);
    int d = m.deepest, starts = d <= SYN_MIX_SHALLOW ? d : 1;
    run *list = HB_ARRAY(m.arena, run, n_pairs * (starts + 1) * d + 1);
    for (int i = 0; i < n_pairs; i++) {
        for (pair[i].from = 0; pair[i].from < starts; pair[i].from++) {
            pair[i].to = pair[i].from;
            grow(&m, pair[i], 1, list, &n);
        }
        pair[i].from = pair[i].to = d;
        if (starts == 1) grow(&m, pair[i], -1, list, &n);
    }
    double beyond[2] = {0, HUGE_VAL}; // as planes were simulated: most, least
    for (int i = 0; i < n_planes; i++) {
        if (plane[i].share < 0) continue;
        beyond[0] = fmax(beyond[0], beyond_live(m.s, &plane[i]));
        beyond[1] = fmin(beyond[1], beyond_live(m.s, &plane[i]));
    }
    bool any = try_runs(&m, list, n, calls, beyond[0], beyond[1], feasible);
    hb_arena_free(m.arena);
    return any;
}
