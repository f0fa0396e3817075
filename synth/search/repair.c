#include "synth/search/repair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Which state the variables of an entry have: a tree of sums.
typedef struct trail {
    int var, pick;
    const struct trail *one, *two;
} trail;

typedef struct entry {
    double cost, paid;          // paid: bytes at the places, by their prices
    const trail *trail, *other; // other: while fronts are added
} entry;

// Entries that none beats in both: costs rise, payments fall.
typedef struct front {
    int n;
    entry *e;
} front;

typedef struct factor {
    int n, *var; // ascending
    front *cell; // row-major
    bool gone;
} factor;

typedef HB_VEC(int) ints;

typedef struct repair {
    hb_arena *arena;
    const syn_live_bound *h;
    const ms_problem *p;
    int n_places;
    const syn_place *place;
    double feasible;
    int n_free;
    int *free_of, *var;  // by variable: among those that are free, -1; and back
    int *domain, **pick; // of the free ones: states
    const int *rest;     // states of the others
    HB_VEC(factor) factors;
    ints *of;          // of the free ones: their factors
    double *cells;     // and of what a table without one of them has
    double base, work; // base: cost of what is not free
} repair;

// --- which variables are free ---

static void find_free(repair *r, int n_planes, const syn_plane *plane)
{
    int n = r->p->n_vars;
    r->free_of = HB_ARRAY(r->arena, int, n + 1);
    r->var = HB_ARRAY(r->arena, int, n + 1);
    r->domain = HB_ARRAY(r->arena, int, n + 1);
    r->pick = HB_ARRAY(r->arena, int *, n + 1);
    for (int v = 0; v < n; v++) {
        int states[SYN_REPAIR_STATES], m = 0;
        for (int i = 0; i < n_planes; i++) {
            bool known = false;
            for (int k = 0; k < m; k++)
                known = known || states[k] == plane[i].x[v];
            if (!known && m < SYN_REPAIR_STATES) states[m++] = plane[i].x[v];
        }
        r->free_of[v] = m > 1 ? r->n_free : -1;
        if (m < 2) continue;
        r->var[r->n_free] = v;
        r->domain[r->n_free] = m;
        r->pick[r->n_free++] = hb_copy(r->arena, states, sizeof states);
    }
}

// --- tables of the free variables ---

typedef struct table {
    int a, b; // free variables, b = -1: of one alone
    double *cost, *paid;
} table;

static int domain_of(const repair *r, int free)
{
    return free < 0 ? 1 : r->domain[free];
}

static table *table_of(repair *r, hb_map *known, table *list, int *n, int a, int b)
{
    int key[2] = {a, b};
    hb_str name = {(const char *)key, sizeof key};
    int at = hb_map_get(known, name);
    if (at >= 0) return &list[at];
    int cells = domain_of(r, a) * domain_of(r, b);
    list[*n] = (table){a, b, HB_ARRAY(r->arena, double, cells), HB_ARRAY(r->arena, double, cells)};
    hb_map_put(known, hb_str_n(r->arena, name.p, name.n), *n);
    return &list[(*n)++];
}

// Adds what two variables (b = -1: one) cost, or pay for bytes, to the table of those that are
// free.
static void add_to(repair *r, hb_map *known, table *list, int *n, int a, int b, const double *cost,
                   const float *bytes, double price)
{
    int fa = r->free_of[a], fb = b < 0 ? -1 : r->free_of[b], nb = syn_live_domain(r->h, b);
    bool turn = fa < 0 || (fb >= 0 && fb < fa);
    if (fa < 0 && fb < 0) {
        if (cost) r->base += cost[r->rest[a] * nb + (b < 0 ? 0 : r->rest[b])];
        return;
    }
    table *t = table_of(r, known, list, n, turn ? fb : fa, turn ? fa : fb);
    int inner = domain_of(r, t->b);
    for (int i = 0; i < domain_of(r, fa); i++)
        for (int j = 0; j < domain_of(r, fb); j++) {
            int xa = fa < 0 ? r->rest[a] : r->pick[fa][i], xb = b < 0    ? 0
                                                                : fb < 0 ? r->rest[b]
                                                                         : r->pick[fb][j];
            int cell = turn ? j * inner + i : i * inner + j;
            if (cost)
                t->cost[cell] += cost[xa * nb + xb];
            else
                t->paid[cell] += price * (double)bytes[xa * nb + xb];
        }
}

static void add_factor(repair *r, factor f)
{
    for (int i = 0; i < f.n; i++)
        HB_PUSH(r->arena, &r->of[f.var[i]], r->factors.n);
    HB_PUSH(r->arena, &r->factors, f);
}

static void factor_of(repair *r, const table *t)
{
    int cells = domain_of(r, t->a) * domain_of(r, t->b);
    factor f = {.n = t->b < 0 ? 1 : 2, .var = HB_ARRAY(r->arena, int, 2)};
    f.var[0] = t->a;
    f.var[1] = t->b;
    f.cell = HB_ARRAY(r->arena, front, cells);
    for (int i = 0; i < cells; i++) {
        if (!(t->cost[i] < r->feasible)) continue;
        f.cell[i] = (front){1, HB_NEW(r->arena, entry)};
        *f.cell[i].e = (entry){t->cost[i], t->paid[i], NULL, NULL};
    }
    add_factor(r, f);
}

static void make_factors(repair *r)
{
    const ms_problem *p = r->p;
    hb_map *known = hb_map_new(r->arena);
    int n = 0;
    r->of = hb_alloc(r->arena, sizeof *r->of * (size_t)(r->n_free + 1));
    table *list = HB_ARRAY(r->arena, table, p->n_vars + p->n_edges + r->h->terms.n + 1);
    for (int v = 0; v < p->n_vars; v++)
        if (p->unary[v]) add_to(r, known, list, &n, v, -1, p->unary[v], NULL, 0);
    for (int i = 0; i < p->n_edges; i++)
        add_to(r, known, list, &n, p->edge[i].a, p->edge[i].b, p->edge[i].table, NULL, 0);
    for (int i = 0; i < r->h->terms.n; i++) {
        const syn_live_term *t = &r->h->terms.p[i];
        int cells = syn_live_domain(r->h, t->a) * syn_live_domain(r->h, t->b);
        for (int k = 0; k < r->n_places; k++) {
            double price = r->place[k].price * syn_place_part(&r->place[k], t->from, t->to);
            if (price > 0)
                add_to(r, known, list, &n, t->a, t->b, NULL, t->bytes + r->place[k].cls * cells,
                       price);
        }
    }
    for (int i = 0; i < n; i++)
        factor_of(r, &list[i]);
}

// --- fronts ---

static int cheaper(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
    return (a->paid > b->paid) - (a->paid < b->paid);
}

// Of n entries those that none beats; of too many of these some, both ends among them.
static front front_of(repair *r, entry *e, int n)
{
    int kept = 0;
    qsort(e, (size_t)n, sizeof *e, cheaper);
    for (int i = 0; i < n; i++)
        if (kept == 0 || e[i].paid < e[kept - 1].paid) e[kept++] = e[i];
    int most = kept < SYN_REPAIR_FRONT ? kept : SYN_REPAIR_FRONT;
    for (int i = 0; i < most && kept > most; i++)
        e[i] = e[(int64_t)i * (kept - 1) / (most - 1)];
    r->work += n + 1;
    return (front){most, hb_copy(r->arena, e, sizeof *e * (size_t)most)};
}

static const trail *joined(repair *r, const trail *one, const trail *two)
{
    if (!one || !two) return one ? one : two;
    trail *t = HB_NEW(r->arena, trail);
    *t = (trail){-1, 0, one, two};
    return t;
}

static front add_fronts(repair *r, const front *a, const front *b)
{
    entry e[SYN_REPAIR_FRONT * SYN_REPAIR_FRONT];
    int n = 0;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            double cost = a->e[i].cost + b->e[j].cost;
            if (r->base + cost >= r->feasible) break;
            e[n++] = (entry){cost, a->e[i].paid + b->e[j].paid, a->e[i].trail, b->e[j].trail};
        }
    front f = front_of(r, e, n);
    for (int i = 0; i < f.n; i++)
        f.e[i].trail = joined(r, f.e[i].trail, f.e[i].other);
    return f;
}

// --- elimination ---

// The variables that share a factor with one, itself left out, ascending; their number.
static int neighbours(const repair *r, int var, int *out)
{
    bool *in = HB_ARRAY(r->arena, bool, r->n_free + 1);
    int n = 0;
    for (int i = 0; i < r->of[var].n; i++) {
        const factor *f = &r->factors.p[r->of[var].p[i]];
        for (int k = 0; k < f->n && !f->gone; k++)
            in[f->var[k]] = f->var[k] != var;
    }
    for (int v = 0; v < r->n_free; v++)
        if (in[v]) out[n++] = v;
    return n;
}

static void count_cells(repair *r, int var)
{
    int *list = HB_ARRAY(r->arena, int, r->n_free + 1), n = neighbours(r, var, list);
    r->cells[var] = 1;
    for (int i = 0; i < n; i++)
        r->cells[var] *= r->domain[list[i]];
}

// The cell of a factor under the picks of its variables.
static const front *cell_of(const repair *r, const factor *f, const int *pick)
{
    int at = 0;
    for (int i = 0; i < f->n; i++)
        at = at * r->domain[f->var[i]] + pick[f->var[i]];
    return &f->cell[at];
}

// What the factors of a variable come to, under the picks of its neighbours, whatever it is.
static front without(repair *r, int var, int *pick)
{
    entry all[SYN_REPAIR_FRONT * SYN_REPAIR_STATES];
    int n = 0;
    for (pick[var] = 0; pick[var] < r->domain[var]; pick[var]++) {
        entry none = {0};
        front sum = {1, &none};
        for (int i = 0; i < r->of[var].n && sum.n > 0; i++) {
            const factor *f = &r->factors.p[r->of[var].p[i]];
            if (!f->gone) sum = add_fronts(r, &sum, cell_of(r, f, pick));
        }
        for (int i = 0; i < sum.n; i++) {
            trail *t = HB_NEW(r->arena, trail);
            *t = (trail){var, pick[var], sum.e[i].trail, NULL};
            all[n++] = (entry){sum.e[i].cost, sum.e[i].paid, t, NULL};
        }
    }
    return front_of(r, all, n);
}

static void eliminate(repair *r, int var)
{
    factor f = {.var = HB_ARRAY(r->arena, int, r->n_free + 1)};
    int *pick = HB_ARRAY(r->arena, int, r->n_free + 1), cells = (int)r->cells[var];
    f.n = neighbours(r, var, f.var);
    f.cell = HB_ARRAY(r->arena, front, cells);
    for (int i = 0; i < cells && r->work < SYN_REPAIR_WORK; i++) {
        for (int k = f.n - 1, rest = i; k >= 0; k--) {
            pick[f.var[k]] = rest % r->domain[f.var[k]];
            rest /= r->domain[f.var[k]];
        }
        f.cell[i] = without(r, var, pick);
    }
    for (int i = 0; i < r->of[var].n; i++)
        r->factors.p[r->of[var].p[i]].gone = true;
    r->cells[var] = HUGE_VAL; // done
    add_factor(r, f);
    for (int i = 0; i < f.n; i++)
        count_cells(r, f.var[i]);
}

// Cost and payment of mixes of all variables, of which that goes first whose table is smallest;
// none if it would take too long.
static front all_mixes(repair *r)
{
    front sum = {1, HB_NEW(r->arena, entry)};
    r->cells = HB_ARRAY(r->arena, double, r->n_free + 1);
    for (int v = 0; v < r->n_free; v++)
        count_cells(r, v);
    for (int i = 0; i < r->n_free; i++) {
        int best = 0;
        for (int v = 1; v < r->n_free; v++)
            if (r->cells[v] < r->cells[best]) best = v;
        if (r->cells[best] > SYN_REPAIR_CELLS || r->work >= SYN_REPAIR_WORK) return (front){0};
        eliminate(r, best);
    }
    for (int i = 0; i < r->factors.n; i++)
        if (!r->factors.p[i].gone) sum = add_fronts(r, &sum, &r->factors.p[i].cell[0]);
    return r->work < SYN_REPAIR_WORK ? sum : (front){0};
}

// --- which of them fits ---

static void follow(const repair *r, const trail *t, int *x)
{
    for (; t; t = t->one) {
        if (t->var >= 0) x[r->var[t->var]] = r->pick[t->var][t->pick];
        if (t->two) follow(r, t->two, x);
    }
}

typedef HB_VEC(syn_plane) planes;

static int unlike(const repair *r, const int *x, const int *y)
{
    int n = 0;
    for (int i = 0; i < r->n_free; i++)
        n += x[r->var[i]] != y[r->var[i]];
    return n;
}

// What a mix seems to take: what is surely held, and as much beyond that as the plan that is most
// like it of those that were simulated.
static double seems_to_take(const repair *r, const planes *known, const syn_plane *p)
{
    int least = INT32_MAX;
    double beyond = 0;
    for (int i = 0; i < known->n; i++) {
        const syn_plane *k = &known->p[i];
        int differ = k->share < 0 ? INT32_MAX : unlike(r, k->x, p->x);
        if (differ >= least) continue;
        least = differ;
        beyond = k->share - syn_most_live(r->h->s, k->held);
    }
    return syn_most_live(r->h->s, p->held) + fmax(beyond, 0);
}

// Simulates mixes, the cheapest first of those that seem to fit.
static bool try_mixes(repair *r, const front *f, planes *known, const syn_bound_calls *calls)
{
    bool any = false, *done = HB_ARRAY(r->arena, bool, f->n + 1);
    syn_plane *mix = HB_ARRAY(r->arena, syn_plane, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        int *x = hb_copy(r->arena, r->rest, sizeof *x * (size_t)r->p->n_vars);
        follow(r, f->e[i].trail, x);
        mix[i] = (syn_plane){x, r->base + f->e[i].cost, syn_live_by(r->h, r->arena, x), -1, false};
    }
    for (int tries = 0; tries < SYN_REPAIR_TRIES && !calls->stop(calls->ctx); tries++) {
        int at = -1;
        for (int i = 0; i < f->n && at < 0; i++)
            if (!done[i] && seems_to_take(r, known, &mix[i]) <= 1) at = i;
        if (at < 0 || mix[at].additive >= r->feasible) break;
        done[at] = true;
        syn_simulate_plane(r->h->s, &mix[at], calls, &r->feasible);
        any = any || mix[at].fits;
        HB_PUSH(r->arena, known, mix[at]);
    }
    return any;
}

bool syn_repair(const syn_live_bound *h, int n_planes, const syn_plane *plane, int n_places,
                const syn_place *place, const syn_bound_calls *calls, double feasible)
{
    repair r = {.arena = hb_arena_new(),
                .h = h,
                .p = &h->s->problem,
                .n_places = n_places,
                .place = place,
                .feasible = feasible,
                .rest = plane[0].x};
    planes known = {0};
    for (int i = 0; i < n_planes; i++) {
        HB_PUSH(r.arena, &known, plane[i]);
        if (plane[i].fits) r.feasible = fmin(r.feasible, plane[i].additive);
    }
    find_free(&r, n_planes, plane);
    make_factors(&r);
    front f = all_mixes(&r);
    bool any = try_mixes(&r, &f, &known, calls);
    hb_arena_free(r.arena);
    return any;
}
