// The additive bound under memory: Lagrange multipliers on bytes that are surely held.
//
//     max over prices >= 0 of  min over choices [A + sum of prices * held] - sum of prices *
//     capacity
//
// A price belongs to a class and a node: it is paid for what every program of the choice holds on
// the class's ranks while that node runs (live_bound.h). So no plan that fits pays more than it
// gets back.
//
// Prices are found by cutting planes: each search's choice bounds the dual from above at all prices
// (an LP over them), and the next search is at its maximum. A place where a choice holds too much
// gets a price of its own. What remains between the choices of two planes is mixed (interpolate.h).

#include "synth/search/bounds.h"

#include <math.h>
#include <string.h>

#include "solver/lp.h"
#include "synth/search/repair.h"

typedef syn_place place;
typedef syn_plane plane;

typedef struct dual {
    syn_live_bound *h;
    hb_arena *arena;
    double room; // share of a capacity that may be held
    int n_places;
    place place[SYN_BOUND_PLACES];
    HB_VEC(plane) planes;
} dual;

static uint64_t counted(const dual *d, const syn_live_term *t)
{
    uint64_t mask = 0;
    for (int k = 0; k < d->n_places; k++)
        if (t->from < d->place[k].node && d->place[k].node < t->to && d->place[k].price > 0)
            mask |= (uint64_t)1 << k;
    return mask;
}

// The problem with memory paid for: equal kinds under equal prices share a table.
static ms_problem priced(const dual *d, hb_arena *a)
{
    const syn_live_bound *h = d->h;
    ms_problem p = h->s->problem;
    const double **unary = hb_copy(a, p.unary, sizeof *unary * (size_t)p.n_vars);
    ms_edge *edge = HB_ARRAY(a, ms_edge, p.n_edges + h->terms.n + 1);
    memcpy(edge, p.edge, sizeof *edge * (size_t)p.n_edges);
    hb_map *seen = hb_map_new(a);
    HB_VEC(const double *) tables = {0};
    for (int i = 0; i < h->terms.n; i++) {
        const syn_live_term *t = &h->terms.p[i];
        int na = syn_live_domain(h, t->a), nb = syn_live_domain(h, t->b);
        // A priced unary is a table of the costs it adds to, the bytes and the prices.
        const void *base = t->b < 0 ? (const void *)unary[t->a] : NULL;
        uint64_t key[3] = {(uint64_t)(uintptr_t)t->bytes, counted(d, t), (uint64_t)(uintptr_t)base};
        if (key[1] == 0) continue;
        hb_str name = {(const char *)key, sizeof key};
        int at = hb_map_get(seen, name);
        if (at < 0) {
            double *table = HB_ARRAY(a, double, na *nb);
            if (base) memcpy(table, base, sizeof *table * (size_t)na);
            for (int k = 0; k < d->n_places; k++)
                for (int x = 0; key[1] >> k & 1 && x < na * nb; x++)
                    table[x] += d->place[k].price * t->bytes[d->place[k].cls * na * nb + x];
            at = tables.n;
            HB_PUSH(a, &tables, table);
            hb_map_put(seen, hb_str_n(a, name.p, name.n), at);
        }
        if (t->b < 0)
            unary[t->a] = tables.p[at];
        else
            edge[p.n_edges++] = (ms_edge){t->a, t->b, tables.p[at]};
    }
    p.unary = unary;
    p.edge = edge;
    return p;
}

static double excess(const dual *d, const plane *p, int at)
{
    const place *x = &d->place[at];
    return p->held[x->cls * (d->h->s->g->nodes.n + 1) + x->node] - x->capacity;
}

// The place where a choice holds most beyond its capacity; false if it holds too much nowhere.
static bool worst_place(const dual *d, const plane *p, place *out)
{
    const syn_space *s = d->h->s;
    int n = s->g->nodes.n;
    double worst = 1;
    for (int c = 0; c < s->mesh->n_classes; c++) {
        double cap = d->room * (double)s->m->cluster->cls[s->mesh->cluster_class[c]].capacity;
        for (int i = 0; i < n; i++)
            if (p->held[c * (n + 1) + i] > worst * cap * (1 + SYN_ROUNDING_FEW)) {
                worst = p->held[c * (n + 1) + i] / cap;
                *out = (place){c, i, cap, 0};
            }
    }
    return worst > 1;
}

// Prices where the least of all planes, and of the plan that fits, is largest; among equal ones the
// smallest. Returns that, in seconds; < 0 if the LP failed.
static double next_prices(dual *d, double feasible)
{
    double unit = d->planes.p[0].additive; // prices are in these per full memory
    hb_arena *a = hb_arena_new();
    lp *p = lp_new(a);
    int z = lp_col(p, "bound", 0, fmin(feasible / unit, SYN_BOUND_MOST), -1), col[SYN_BOUND_PLACES];
    for (int k = 0; k < d->n_places; k++)
        col[k] = lp_col(p, hb_fmt(a, "price%d", k).p, 0, SYN_PRICE_BOUND, SYN_PRICE_WEIGHT);
    for (int i = 0; i < d->planes.n; i++) {
        const plane *x = &d->planes.p[i];
        int row = lp_row(p, hb_fmt(a, "plane%d", i).p, -(double)INFINITY, x->additive / unit);
        lp_term(p, row, z, 1);
        for (int k = 0; k < d->n_places; k++)
            lp_term(p, row, col[k], -excess(d, x, k) / d->place[k].capacity);
    }
    bool ok = lp_solve(p) == LP_OPTIMAL;
    for (int k = 0; k < d->n_places && ok; k++)
        d->place[k].price = fmax(lp_value(p, col[k]), 0) * unit / d->place[k].capacity;
    double top = ok ? lp_value(p, z) * unit : -1;
    hb_arena_free(a);
    return top;
}

// Where a choice holds most beyond its capacity gets a price of its own.
static void add_place(dual *d, const plane *p)
{
    place at;
    bool known = !worst_place(d, p, &at) || d->n_places == SYN_BOUND_PLACES;
    for (int k = 0; k < d->n_places && !known; k++)
        known = d->place[k].cls == at.cls && d->place[k].node == at.node;
    if (!known) d->place[d->n_places++] = at;
}

static plane *add_plane(dual *d, const int *x, double additive)
{
    const syn_space *s = d->h->s;
    plane p = {.x = hb_copy(d->arena, x, sizeof *x * (size_t)s->problem.n_vars),
               .additive = additive,
               .held = syn_live_by(d->h, d->arena, x),
               .share = -1};
    add_place(d, &p);
    HB_PUSH(d->arena, &d->planes, p);
    return &d->planes.p[d->planes.n - 1];
}

// One search at the prices; what it proves (0 if that is not asked for), -inf: there is none. A
// choice that may fit is simulated.
static double search(dual *d, bool prove, const syn_bound_calls *calls, double *feasible)
{
    hb_arena *scratch = hb_arena_new();
    ms_problem p = priced(d, scratch);
    int *x = HB_ARRAY(scratch, int, p.n_vars + 1);
    double value, proved = 0;
    place at;
    ms_status status = MS_TOO_LARGE;
    if (!prove) status = ms_solve_repeated(scratch, &p, SYN_BOUND_GAP, NULL, NULL, x, &value);
    if (status != MS_OPTIMAL)
        status = ms_solve_near(scratch, &p, 0, SYN_BOUND_GAP, NULL, x, &value, &proved);
    if (status != MS_OPTIMAL) {
        hb_arena_free(scratch);
        return -HUGE_VAL;
    }
    for (int k = 0; k < d->n_places && prove; k++)
        proved -= d->place[k].price * d->place[k].capacity;
    plane *last = add_plane(d, x, ms_value(&d->h->s->problem, x));
    if (!worst_place(d, last, &at) && last->additive < *feasible)
        syn_simulate_plane(d->h->s, last, calls, feasible);
    hb_arena_free(scratch);
    return proved;
}

static void note_worth(const dual *d, double *worth)
{
    memset(worth, 0, sizeof *worth * (size_t)d->h->s->mesh->n_classes);
    for (int k = 0; k < d->n_places; k++)
        worth[d->place[k].cls] += d->place[k].price * d->place[k].capacity;
}

// Where plans take much more than is surely held, those of the bound's prices do not fit:
// capacities are taken for as much smaller, and what is found then proves nothing but may fit.
static void look_again(dual *d, const syn_bound_calls *calls, double feasible)
{
    for (int i = 0; i < d->planes.n; i++) {
        const plane *p = &d->planes.p[i];
        if (p->share > 1) d->room = fmin(syn_most_live(d->h->s, p->held) / p->share, 1);
    }
    if (d->room == 1) return;
    for (int k = 0; k < d->n_places; k++)
        d->place[k].capacity *= d->room;
    for (int i = 0; i < d->planes.n; i++)
        add_place(d, &d->planes.p[i]);
    for (int i = 0; i < SYN_BOUND_AGAIN && !calls->stop(calls->ctx); i++) {
        if (next_prices(d, feasible) < 0 || !isfinite(search(d, false, calls, &feasible))) break;
        if (d->planes.p[d->planes.n - 1].fits) break;
    }
    (void)syn_interpolate(d->h, d->planes.n, d->planes.p, d->n_places, d->place, calls, feasible);
}

double syn_additive_bound(const syn_space *s, const syn_bound_start *start,
                          const syn_bound_calls *calls)
{
    hb_arena *arena = hb_arena_new();
    dual d = {.h = syn_live_bound_new(arena, s), .arena = arena, .room = 1};
    double bound = start->lower, feasible = start->feasible, proved = 0;
    plane *optimum =
        add_plane(&d, syn_assignment_of(arena, s, start->optimum), start->optimum->additive);
    if (d.n_places == 0)
        optimum->share = start->takes; // else the planes near the capacity tell more
    if (start->fits) {
        const int *x = syn_assignment_of(arena, s, start->fits);
        plane *fits = add_plane(&d, x, ms_value(&s->problem, x));
        fits->share = start->share;
        fits->fits = true;
    }
    for (int i = 0, beyond = 0; i < SYN_BOUND_SEARCHES && d.n_places > 0 && isfinite(proved); i++) {
        if (bound >= feasible * (1 - SYN_BOUND_GAP) || calls->stop(calls->ctx)) break;
        double top = beyond == 0 ? next_prices(&d, feasible) : 0;
        if (top < bound * (1 + SYN_BOUND_GAP)) {
            // The planes have met: between them or a little beyond, choices begin to fit.
            if (syn_interpolate(d.h, d.planes.n, d.planes.p, d.n_places, d.place, calls,
                                feasible) ||
                beyond++ == SYN_BOUND_BEYOND)
                break;
            for (int k = 0; k < d.n_places; k++)
                d.place[k].price *= SYN_BOUND_DEARER;
        }
        proved = search(&d, true, calls, &feasible);
        if (proved > bound && start->worth) note_worth(&d, start->worth);
        bound = fmax(bound, proved);
    }
    if (start->most && d.n_places > 0) {
        double top = next_prices(&d, feasible);
        *start->most = top > bound ? top : bound;
    }
    if (feasible > bound * (1 + SYN_BOUND_WIDE) && !calls->stop(calls->ctx)) {
        look_again(&d, calls, feasible);
        if (s->g->nodes.n <= SYN_MANY_NODES) // of more it takes too long
            (void)syn_repair(d.h, d.planes.n, d.planes.p, d.n_places, d.place, calls, feasible);
    }
    hb_arena_free(arena);
    return bound;
}
