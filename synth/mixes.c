#include "synth/mixes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// The share of the fullest memory that is aimed at, and how near is near enough.
static const double FULL = 0.98, NEAR = 0.03;
// Memory on the one side of the seam costs this much less, on the other as much more.
static const double STEP = 4;
enum { JUDGED = 4 };

typedef struct mix {
    hb_arena *arena;
    const syn_held *h;
    const syn_space *s;
    int n_places;
    const syn_place *place;
    const syn_plane *rich, *lean;
    const int *depth; // by variable
    int deepest;
    int *index; // by variable: among those whose states differ, -1
} mix;

int *syn_depths(hb_arena *a, const syn_space *s)
{
    const ir_graph *g = s->g;
    int *node = HB_ARRAY(a, int, g->nodes.n + 1), *tensor = HB_ARRAY(a, int, g->tensors.n + 1);
    int *var = HB_ARRAY(a, int, s->problem.n_vars + 1), params = 0;
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_node *x = &g->nodes.p[n];
        bool updates = false;
        for (int i = 0; i < x->n_in; i++) {
            int t = x->in[i];
            bool param = g->tensors.p[t].kind == IR_PARAM;
            if (param && tensor[t] == 0) tensor[t] = ++params;
            if (x->phase == IR_UPDATE && param != updates && !param) continue;
            node[n] = param && x->phase == IR_UPDATE && !updates
                          ? tensor[t]
                          : (tensor[t] > node[n] ? tensor[t] : node[n]);
            updates = updates || (x->phase == IR_UPDATE && param);
        }
        if (x->phase == IR_BACKWARD && x->forward >= 0) node[n] = node[x->forward];
        for (int o = 0; o < x->n_out; o++)
            tensor[x->out[o]] = node[n];
        var[s->node_var[n]] = node[n];
    }
    for (int t = 0; t < g->tensors.n; t++) {
        bool made = g->tensors.p[t].producer >= 0 || g->tensors.p[t].kind == IR_PARAM;
        int u = s->first_use[t];
        if (s->tensor_var[t] < 0) continue;
        var[s->tensor_var[t]] = made                      ? tensor[t]
                                : u < s->first_use[t + 1] ? node[s->uses[u][0]]
                                                          : 0;
    }
    return var;
}

void syn_judge_plane(const syn_space *s, syn_plane *p, const syn_bound_calls *calls,
                     double *feasible)
{
    hb_arena *scratch = hb_arena_new();
    syn_choice c;
    syn_choice_decode(scratch, s, p->x, &c);
    c.additive = p->additive;
    double additive = calls->judge(calls->ctx, &c, &p->share);
    p->fits = isfinite(additive);
    *feasible = fmin(*feasible, additive);
    hb_arena_free(scratch);
}

// Largest share of a capacity that is held anywhere.
static double most_held(const syn_space *s, const double *held)
{
    double most = 0;
    for (int c = 0; c < s->mesh->n_classes; c++) {
        double cap = (double)s->m->cluster->cls[s->mesh->cluster_class[c]].capacity;
        for (int i = 0; i < s->g->nodes.n; i++)
            most = fmax(most, held[c * (s->g->nodes.n + 1) + i] / cap);
    }
    return most;
}

// What the plan takes beyond what is surely held, as a share.
static double beyond_held(const syn_space *s, const syn_plane *p)
{
    return fmax(p->share - most_held(s, p->held), 0);
}

// Additive cost where the line between the two ends meets the capacity.
static double between(const syn_space *s, const syn_plane *rich, const syn_plane *lean)
{
    double part = 1, room = FULL - beyond_held(s, lean);
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

static bool is_rich(const mix *m, int var, int seam, bool late)
{
    return late ? m->depth[var] >= m->deepest - seam : m->depth[var] < seam;
}

// --- the search between two assignments ---

static double price_at(const mix *m, int k, int var, int seam, bool late)
{
    return m->place[k].price * (is_rich(m, var, seam, late) ? 1 / STEP : STEP);
}

static void index_free(mix *m, int *n_free)
{
    int n = 0;
    m->index = HB_ARRAY(m->arena, int, m->s->problem.n_vars + 1);
    for (int v = 0; v < m->s->problem.n_vars; v++)
        m->index[v] = m->rich->x[v] != m->lean->x[v] ? n++ : -1;
    *n_free = n;
}

// State i (0: the rich end's) of a variable.
static int state_of(const mix *m, int var, int i)
{
    return var < 0 ? 0 : i == 0 ? m->rich->x[var] : m->lean->x[var];
}

typedef struct restricted {
    hb_arena *arena;
    double *unary; // [variable][2]
    HB_VEC(ms_edge) edges;
} restricted;

static void add_table(const mix *m, restricted *r, int a, int b, const double *table, double scale)
{
    int nb = syn_held_domain(m->h, b), ia = m->index[a], ib = b < 0 ? -1 : m->index[b];
    double cell[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            cell[i][j] = scale * table[state_of(m, a, i) * nb + state_of(m, b, j)];
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

// The best of all assignments whose every state is one of the two ends'.
static bool solve_between(const mix *m, int n_free, int seam, bool late, int *x)
{
    hb_arena *scratch = hb_arena_new();
    const ms_problem *p = &m->s->problem;
    restricted r = {.arena = scratch, .unary = HB_ARRAY(scratch, double, 2 * n_free + 1)};
    for (int v = 0; v < p->n_vars; v++)
        for (int i = 0; m->index[v] >= 0 && i < 2; i++)
            r.unary[2 * m->index[v] + i] = p->unary[v] ? p->unary[v][state_of(m, v, i)] : 0;
    for (int i = 0; i < p->n_edges; i++) {
        const ms_edge *e = &p->edge[i];
        if (m->index[e->a] >= 0 || m->index[e->b] >= 0) add_table(m, &r, e->a, e->b, e->table, 1);
    }
    for (int i = 0; i < m->h->terms.n; i++) {
        const syn_held_term *t = &m->h->terms.p[i];
        if (m->index[t->a] < 0 && (t->b < 0 || m->index[t->b] < 0)) continue;
        for (int k = 0; k < m->n_places; k++)
            if (m->place[k].price > 0 && t->from < m->place[k].node && m->place[k].node < t->to)
                add_table(m, &r, t->a, t->b,
                          t->bytes + m->place[k].cls * syn_held_domain(m->h, t->a) *
                                         syn_held_domain(m->h, t->b),
                          price_at(m, k, t->a, seam, late));
    }
    int *domain = HB_ARRAY(scratch, int, n_free + 1), *y = HB_ARRAY(scratch, int, n_free + 1);
    const double **unary = hb_alloc(scratch, sizeof *unary * (size_t)(n_free + 1));
    for (int i = 0; i < n_free; i++) {
        domain[i] = 2;
        unary[i] = &r.unary[2 * i];
    }
    ms_problem q = {n_free, domain, unary, r.edges.n, r.edges.p};
    double value, lower;
    bool ok = ms_solve_near(scratch, &q, 0, 1e-4, NULL, y, &value, &lower) == MS_OPTIMAL &&
              isfinite(value);
    for (int v = 0; ok && v < p->n_vars; v++)
        x[v] = m->index[v] >= 0 ? state_of(m, v, y[m->index[v]]) : m->lean->x[v];
    hb_arena_free(scratch);
    return ok;
}

// --- where the seam lies ---

// Held with a sharp seam.
static double sharply_held(const mix *m, int seam, bool late)
{
    hb_arena *scratch = hb_arena_new();
    int *x = HB_ARRAY(scratch, int, m->s->problem.n_vars + 1);
    for (int v = 0; v < m->s->problem.n_vars; v++)
        x[v] = is_rich(m, v, seam, late) ? m->rich->x[v] : m->lean->x[v];
    double most = most_held(m->s, syn_held_by(m->h, scratch, x));
    hb_arena_free(scratch);
    return most;
}

// The deepest seam above `low` and below `high` that holds no more than `share`; `low` if none.
static int find_seam(const mix *m, int low, int high, bool late, double share)
{
    while (high - low > 1) {
        int mid = (low + high) / 2;
        if (sharply_held(m, mid, late) <= share)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static bool mix_two(mix *m, const syn_bound_calls *calls, double *feasible)
{
    double beyond = beyond_held(m->s, m->lean);
    int n_free, seam[2];
    bool any = false;
    index_free(m, &n_free);
    for (int late = 0; late < 2; late++)
        seam[late] = find_seam(m, 0, m->deepest + 1, late, FULL - beyond);
    bool late = seam[1] > seam[0];
    int low = 0, high = seam[late] + 1;
    for (int i = 0; i < JUDGED && !calls->stop(calls->ctx); i++) {
        int at = find_seam(m, low, high, late, FULL - beyond);
        syn_plane p = {.share = -1};
        int *x = HB_ARRAY(m->arena, int, m->s->problem.n_vars + 1);
        if (at == low) break;
        if (!solve_between(m, n_free, at, late, x)) break;
        p.x = x;
        p.additive = ms_value(&m->s->problem, x);
        p.held = syn_held_by(m->h, m->arena, x);
        syn_judge_plane(m->s, &p, calls, feasible);
        fprintf(
            stderr,
            "mix %d at %d of %d late %d: A %g held %g share %g fits %d beyond %g free %d t=%g\n", i,
            at, m->deepest, late, p.additive, most_held(m->s, p.held), p.share, p.fits, beyond,
            n_free, (double)clock() / 1e6);
        *(p.fits ? &low : &high) = at;
        beyond = beyond_held(m->s, &p);
        any = any || p.fits;
        if (p.fits && p.share > FULL - NEAR) break;
    }
    return any;
}

bool syn_mix(const syn_held *h, int n_planes, const syn_plane *plane, int n_places,
             const syn_place *place, const syn_bound_calls *calls, double feasible)
{
    mix m = {.arena = hb_arena_new(), .h = h, .s = h->s, .n_places = n_places, .place = place};
    double least = feasible;
    bool any = false;
    for (int i = 0; i < n_planes; i++)
        for (int j = 0; j < n_planes; j++) {
            if (plane[i].fits || !plane[j].fits) continue;
            double a = between(m.s, &plane[i], &plane[j]);
            fprintf(stderr, "pair %d %d: %g (%g %g)\n", i, j, a, plane[i].additive,
                    plane[j].additive);
            if (a >= least) continue;
            least = a;
            m.rich = &plane[i];
            m.lean = &plane[j];
        }
    if (m.rich) {
        m.depth = syn_depths(m.arena, m.s);
        for (int v = 0; v < m.s->problem.n_vars; v++)
            m.deepest = m.depth[v] >= m.deepest ? m.depth[v] + 1 : m.deepest;
        any = mix_two(&m, calls, &feasible);
    }
    hb_arena_free(m.arena);
    return any;
}
