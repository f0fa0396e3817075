// The additive bound under memory: Lagrange multipliers on bytes that are surely held.
//
//     max over prices >= 0 of  min over choices [A + sum of prices * held] - sum of prices *
//     capacity
//
// A price belongs to a class and a node, or to equal nodes alike: it is paid for what every program
// of the choice holds on the class's ranks while that node runs (live_bound.h). So no plan that
// fits pays more than it gets back.
//
// Prices are found by cutting planes: each search's choice bounds the dual from above at all prices
// (an LP over them), and the next search is at its maximum, or half way there from the best prices
// where the last search proved nothing. The LP's duals are a mix of planes. Where it holds too much
// a price is missing; where it fits everywhere, no prices at any places prove more. What remains
// between the choices of two planes is mixed (interpolate.h).

#include "synth/search/bounds.h"

#include <math.h>
#include <stddef.h>
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
    double proved[SYN_BOUND_PLACES]; // prices that proved most; none proves what needs no price
    bool full;                       // a place lacks a price
    bool met;                        // no prices at these places prove more
    HB_VEC(plane) planes;
} dual;

// By class, what a byte costs that is held between two nodes; false: nothing.
static bool price_between(const dual *d, int from, int to, double *price)
{
    bool any = false;
    memset(price, 0, sizeof *price * (size_t)d->h->s->mesh->n_classes);
    for (int k = 0; k < d->n_places; k++) {
        const place *x = &d->place[k];
        if (x->price > 0) price[x->cls] += x->price * syn_place_part(x, from, to);
        any = any || price[x->cls] > 0;
    }
    return any;
}

// The problem with memory paid for: equal kinds under equal prices share a table.
static ms_problem priced(const dual *d, hb_arena *a)
{
    struct {
        const void *bytes, *base;
        double price[CL_MAX_CLASSES];
    } key = {0};
    const syn_live_bound *h = d->h;
    int classes = h->s->mesh->n_classes;
    ms_problem p = h->s->problem;
    const double **unary = hb_copy(a, p.unary, sizeof *unary * (size_t)p.n_vars);
    ms_edge *edge = HB_ARRAY(a, ms_edge, p.n_edges + h->terms.n + 1);
    memcpy(edge, p.edge, sizeof *edge * (size_t)p.n_edges);
    hb_map *seen = hb_map_new(a);
    HB_VEC(const double *) tables = {0};
    for (int i = 0; i < h->terms.n; i++) {
        const syn_live_term *t = &h->terms.p[i];
        int na = syn_live_domain(h, t->a), nb = syn_live_domain(h, t->b);
        if (!price_between(d, t->from, t->to, key.price)) continue;
        key.bytes = t->bytes; // a priced unary is of these, the prices and the costs it adds to
        key.base = t->b < 0 ? (const void *)unary[t->a] : NULL;
        hb_str name = {(const char *)&key,
                       offsetof(__typeof__(key), price) + sizeof *key.price * (size_t)classes};
        int at = hb_map_get(seen, name);
        if (at < 0) {
            double *table = HB_ARRAY(a, double, na *nb);
            if (key.base) memcpy(table, key.base, sizeof *table * (size_t)na);
            for (int c = 0; c < classes; c++)
                for (int x = 0; key.price[c] > 0 && x < na * nb; x++)
                    table[x] += key.price[c] * (double)t->bytes[c * na * nb + x];
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
    double sum = 0;
    for (int i = 0; i < x->n; i++)
        sum += p->held[x->cls * (d->h->s->g->nodes.n + 1) + x->node[i]];
    return sum / x->n - x->capacity;
}

static double room_of(const dual *d, int cls)
{
    const syn_space *s = d->h->s;
    return fmax(d->room * (double)s->m->cluster->cls[s->mesh->cluster_class[cls]].capacity, 1);
}

// Does a choice hold too much somewhere?
static bool too_much(const dual *d, const plane *p)
{
    int n = d->h->s->g->nodes.n;
    for (int c = 0; c < d->h->s->mesh->n_classes; c++)
        for (int i = 0; i < n; i++)
            if (p->held[c * (n + 1) + i] > room_of(d, c) * (1 + SYN_ROUNDING_FEW)) return true;
    return false;
}

// False: it is there, or there are too many.
static bool add_place(dual *d, int cls, int n, const int *node)
{
    for (int k = 0; k < d->n_places; k++)
        if (d->place[k].cls == cls && d->place[k].n == n &&
            memcmp(d->place[k].node, node, sizeof *node * (size_t)n) == 0)
            return false;
    d->full = d->full || d->n_places == SYN_BOUND_PLACES;
    if (d->full) return false;
    d->proved[d->n_places] = 0;
    d->place[d->n_places++] =
        (place){cls, n, hb_copy(d->arena, node, sizeof *node * (size_t)n), room_of(d, cls), 0};
    return true;
}

// Prices at the present places where the least of all planes, and of the plan that fits, is
// largest; among equal ones the smallest. Returns that, in seconds; < 0 if the LP failed. weight:
// by plane, its part in the mix of planes that no prices at these places bring above that.
static double best_prices(dual *d, double feasible, double *weight)
{
    double unit = d->planes.p[0].additive; // prices are in these per full memory
    hb_arena *a = hb_arena_new();
    lp *p = lp_new(a);
    int z = lp_col(p, "bound", 0, fmin(feasible / unit, SYN_BOUND_MOST), -1), col[SYN_BOUND_PLACES];
    int *row = HB_ARRAY(a, int, d->planes.n);
    for (int k = 0; k < d->n_places; k++)
        col[k] = lp_col(p, hb_fmt(a, "price%d", k).p, 0, SYN_PRICE_BOUND, SYN_PRICE_WEIGHT);
    for (int i = 0; i < d->planes.n; i++) {
        const plane *x = &d->planes.p[i];
        row[i] = lp_row(p, hb_fmt(a, "plane%d", i).p, -(double)INFINITY, x->additive / unit);
        lp_term(p, row[i], z, 1);
        for (int k = 0; k < d->n_places; k++)
            lp_term(p, row[i], col[k], -excess(d, x, k) / d->place[k].capacity);
    }
    bool ok = lp_solve(p) == LP_OPTIMAL;
    for (int k = 0; k < d->n_places && ok; k++)
        d->place[k].price = fmax(lp_value(p, col[k]), 0) * unit / d->place[k].capacity;
    for (int i = 0; i < d->planes.n; i++)
        weight[i] = ok ? fabs(lp_dual(p, row[i])) : 0;
    double top = ok ? lp_value(p, z) * unit : -1;
    hb_arena_free(a);
    return top;
}

// Beyond a capacity by node, as a share of it, what a mix of planes holds in a class.
static void over_in(const dual *d, const double *weight, int cls, double *over)
{
    int n = d->h->s->g->nodes.n;
    memset(over, 0, sizeof *over * (size_t)n);
    for (int i = 0; i < d->planes.n; i++)
        for (int k = 0; weight[i] > 0 && k < n; k++)
            over[k] += weight[i] * (d->planes.p[i].held[cls * (n + 1) + k] / room_of(d, cls) - 1);
}

// Where a mix holds most beyond a capacity there is a price from now on, and another at all nodes
// equal to that where it holds too much: in deep graphs what is spared in one layer is held in the
// next. False: it holds too much nowhere, or there are too many places.
static bool add_places(dual *d, const double *weight)
{
    const syn_space *s = d->h->s;
    hb_arena *a = hb_arena_new();
    int n = s->g->nodes.n, cls = -1, node = -1, n_equal = 0, *equal = HB_ARRAY(a, int, n + 1);
    double worst = SYN_ROUNDING_FEW, *over = HB_ARRAY(a, double, n + 1);
    for (int c = 0; c < s->mesh->n_classes; c++) {
        over_in(d, weight, c, over);
        for (int k = 0; k < n; k++)
            if (over[k] > worst) {
                worst = over[k];
                cls = c;
                node = k;
            }
    }
    bool any = false;
    if (cls >= 0) over_in(d, weight, cls, over);
    for (int k = 0; k < n && cls >= 0; k++)
        if (s->kinds->node[k] == s->kinds->node[node] && over[k] > SYN_ROUNDING_FEW)
            equal[n_equal++] = k;
    any =
        cls >= 0 && (n_equal > 1 ? add_place(d, cls, n_equal, equal) : add_place(d, cls, 1, &node));
    if (cls >= 0 && !any) any = add_place(d, cls, 1, &node);
    hb_arena_free(a);
    return any;
}

// The same, and at a further place where that mix holds too much; at more of them while what comes
// out is less than `enough`.
static double next_prices(dual *d, double feasible, double enough)
{
    hb_arena *a = hb_arena_new();
    double *weight = HB_ARRAY(a, double, d->planes.n), top = best_prices(d, feasible, weight);
    for (bool first = true; top >= 0 && (first || top < enough); first = false) {
        if (!add_places(d, weight)) break;
        top = best_prices(d, feasible, weight);
    }
    hb_arena_free(a);
    return top;
}

static plane *add_plane(dual *d, const int *x, double additive)
{
    const syn_space *s = d->h->s;
    plane p = {.x = hb_copy(d->arena, x, sizeof *x * (size_t)s->problem.n_vars),
               .additive = additive,
               .held = syn_live_by(d->h, d->arena, x),
               .share = -1};
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
    if (!too_much(d, last) && last->additive < *feasible)
        syn_simulate_plane(d->h->s, last, calls, feasible);
    hb_arena_free(scratch);
    return proved;
}

// From the prices that proved most half way to those that promise most: where the planes promise
// too much, the way there has not been seen.
static void between_prices(dual *d)
{
    for (int k = 0; k < d->n_places; k++)
        d->place[k].price = d->proved[k] + SYN_BOUND_STEP * (d->place[k].price - d->proved[k]);
}

static void note_worth(const dual *d, double *worth)
{
    memset(worth, 0, sizeof *worth * (size_t)d->h->s->mesh->n_classes);
    for (int k = 0; k < d->n_places; k++)
        worth[d->place[k].cls] += d->place[k].price * d->place[k].capacity;
}

// Where plans take much more than is surely held, those of the bound's prices do not fit: what is
// likely held counts, and capacities are taken for as much smaller as that still is too little.
// What is found then proves nothing but may fit.
static void look_again(dual *d, const syn_bound_calls *calls, double feasible)
{
    bool more = syn_live_count_likely(d->h);
    for (int i = 0; i < d->planes.n; i++) {
        plane *p = &d->planes.p[i];
        if (more) p->held = syn_live_by(d->h, d->arena, p->x);
        if (p->share > 1) d->room = fmin(syn_most_live(d->h->s, p->held) / p->share, 1);
    }
    bool other = more || d->room < 1;
    for (int k = 0; k < d->n_places; k++)
        d->place[k].capacity *= d->room;
    for (int i = 0; i < SYN_BOUND_AGAIN && other && !calls->stop(calls->ctx); i++) {
        if (next_prices(d, feasible, 0) < 0 || !isfinite(search(d, false, calls, &feasible))) break;
        if (d->planes.p[d->planes.n - 1].fits) break;
    }
    if (other || !d->met)
        (void)syn_interpolate(d->h, d->planes.n, d->planes.p, d->n_places, d->place, calls,
                              feasible);
}

// The planes have met: between them, choices begin to fit.
static bool interpolated(dual *d, const syn_bound_calls *calls, double feasible)
{
    d->met = true;
    return syn_interpolate(d->h, d->planes.n, d->planes.p, d->n_places, d->place, calls, feasible);
}

// Searches that prove; the most that one did.
static double prove(dual *d, const syn_bound_start *start, const syn_bound_calls *calls,
                    double *feasible)
{
    double bound = start->lower, proved = 0;
    bool vain = false; // the last search proved no more than one before
    for (int i = 0, beyond = 0; i < SYN_BOUND_SEARCHES && d->n_places > 0 && isfinite(proved);
         i++) {
        if (bound >= *feasible * (1 - SYN_BOUND_GAP) || calls->stop(calls->ctx)) break;
        double near = bound * (1 + SYN_BOUND_GAP);
        if (beyond > 0 || next_prices(d, *feasible, near) < near) {
            if (interpolated(d, calls, *feasible) || beyond++ == SYN_BOUND_BEYOND) break;
            for (int k = 0; k < d->n_places; k++) // a little beyond
                d->place[k].price *= SYN_BOUND_DEARER;
        } else if (vain) {
            between_prices(d);
        }
        proved = search(d, true, calls, feasible);
        vain = proved <= bound;
        if (vain) continue;
        bound = proved;
        for (int k = 0; k < d->n_places; k++)
            d->proved[k] = d->place[k].price;
        if (start->worth) note_worth(d, start->worth);
    }
    return bound;
}

static void note_levels(dual *d, double bound, double feasible, syn_bound_levels *out)
{
    *out = (syn_bound_levels){HUGE_VAL, HUGE_VAL, HUGE_VAL};
    for (int i = 0; i < d->planes.n; i++) {
        const plane *p = &d->planes.p[i];
        double sum = p->additive;
        for (int k = 0; k < d->n_places; k++)
            sum += d->proved[k] * excess(d, p, k);
        out->searched = fmin(out->searched, sum);
        if (!too_much(d, p)) out->counted = fmin(out->counted, p->additive);
    }
    double top = next_prices(d, feasible, HUGE_VAL);
    if (top >= 0 && !d->full) out->priced = fmax(top, bound); // the LP rounds
}

double syn_additive_bound(const syn_space *s, const syn_bound_start *start,
                          const syn_bound_calls *calls)
{
    hb_arena *arena = hb_arena_new();
    dual d = {.h = syn_live_bound_new(arena, s), .arena = arena, .room = 1};
    double feasible = start->feasible;
    plane *optimum =
        add_plane(&d, syn_assignment_of(arena, s, start->optimum), start->optimum->additive);
    if (!too_much(&d, optimum) || !add_places(&d, &(double){1}))
        optimum->share = start->takes; // else the planes near the capacity tell more
    if (start->fits) {
        const int *x = syn_assignment_of(arena, s, start->fits);
        plane *fits = add_plane(&d, x, ms_value(&s->problem, x));
        fits->share = start->share;
        fits->fits = true;
    }
    double bound = prove(&d, start, calls, &feasible);
    if (start->levels) note_levels(&d, bound, feasible, start->levels);
    if (feasible > bound * (1 + SYN_BOUND_WIDE) && !calls->stop(calls->ctx)) {
        look_again(&d, calls, feasible);
        if (s->g->nodes.n <= SYN_MANY_NODES) // of more it takes too long
            (void)syn_repair(d.h, d.planes.n, d.planes.p, d.n_places, d.place, calls, feasible);
    }
    hb_arena_free(arena);
    return bound;
}
