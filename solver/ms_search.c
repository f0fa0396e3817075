// Dual bound first, elimination last.
//
// The dual (ms_dual.h) gives a lower bound LB. A state survives a threshold T if LB plus what
// choosing it costs at least is still at most T; everything of value <= T survives, so when the
// elimination of the survivors finds a value <= T it is the minimum (reference: search.md 3).

#include <float.h>
#include <math.h>
#include <string.h>

#include "solver/ms_dual.h"
#include "solver/ms_reduce.h"
#include "solver/ms_tile.h"
#include "solver/solver_limits.h"

// The least value among the survivors.
static ms_status eliminate(ms_dual *d, double **slack, double room, uint64_t max_cells,
                           double max_work, ms_memo *memo, int *assignment, double *value)
{
    int n = d->p->n_vars;
    ms_problem p = *d->p;
    p.memo = memo;
    hb_arena *tmp = hb_arena_new();
    bool **left = hb_alloc(tmp, sizeof *left * (size_t)(n + 1));
    for (int v = 0; v < n; v++) {
        left[v] = HB_ARRAY(tmp, bool, d->p->domain[v]);
        for (int i = 0; i < d->p->domain[v]; i++)
            left[v][i] = slack[v][i] <= room;
    }
    ms_status status = MS_INFEASIBLE;
    ms_reduced *r = ms_reduce(tmp, &p, (const bool *const *)left);
    if (r) {
        const ms_problem *rest = ms_reduced_problem(r);
        int *x = HB_ARRAY(tmp, int, rest->n_vars + 1);
        status = ms_solve_within(rest, max_cells, max_work, x, value);
        if (status == MS_OPTIMAL) {
            ms_reduced_expand(r, x, assignment);
            *value = ms_value(d->p, assignment);
        }
    }
    hb_arena_free(tmp);
    return status;
}

// --- the search between bound and value ---

typedef struct state {   // of one solve
    double lower, value; // proved bound; best assignment so far, +inf none
    int *best;
    double large_states, large_work; // of the last elimination that was too large
    ms_memo *memo;                   // of the eliminations
} state;

static double count_left(const ms_dual *d, double **slack, double room)
{
    double n = 0;
    for (int v = 0; v < d->p->n_vars; v++)
        for (int i = 0; i < d->p->domain[v]; i++)
            n += slack[v][i] <= room;
    return n;
}

// Variable by variable the best state, the others as they are, until nothing changes.
static double descend(const ms_dual *d, int *x)
{
    const ms_problem *p = d->p;
    bool again = true;
    for (int round = 0; again && round < MS_DESCENTS; round++) {
        again = false;
        for (int v = 0; v < p->n_vars; v++) {
            int n = p->domain[v], best = x[v];
            memcpy(d->h, d->u[v], sizeof *d->h * (size_t)n);
            for (int j = d->first[v]; j < d->first[v + 1]; j++) {
                const ms_half *e = &d->half[j];
                const double *column = e->table + x[e->other];
                for (int i = 0; i < n; i++)
                    d->h[i] += column[i * e->width];
            }
            for (int i = 0; i < n; i++)
                if (d->h[i] < d->h[best]) best = i;
            again |= best != x[v];
            x[v] = best;
        }
    }
    return ms_value(p, x);
}

// Eliminates what survives `room` above the bound and keeps the result if it is better.
static ms_status try_room(ms_dual *d, double **slack, double room, uint64_t max_cells,
                          double max_work, int *x, state *s)
{
    double value = (double)INFINITY, left = count_left(d, slack, room);
    if (left > MS_STILL_LARGE * s->large_states && max_work < MS_MUCH_MORE * s->large_work)
        return MS_TOO_LARGE;
    ms_status status = eliminate(d, slack, room, max_cells, max_work, s->memo, x, &value);
    if (status == MS_TOO_LARGE) {
        s->large_states = left;
        s->large_work = max_work;
    }
    if (status == MS_OPTIMAL && value > s->lower + room) value = descend(d, x);
    if (status == MS_OPTIMAL && value < s->value) {
        s->value = value;
        memcpy(s->best, x, sizeof *x * (size_t)d->p->n_vars);
    }
    return status;
}

// Rounding in messages, which stay below big.
static double noise(const ms_dual *d)
{
    return MS_NOISE * d->big;
}

// An assignment read off the messages: variable by variable the best state beside those of earlier
// neighbours and the messages of later ones. Where the relaxation is tight that is mostly optimal.
static void read_off(const ms_dual *d, int *x)
{
    const ms_problem *p = d->p;
    for (int v = 0; v < p->n_vars; v++) {
        int n = p->domain[v], best = 0;
        memcpy(d->h, d->u[v], sizeof *d->h * (size_t)n);
        for (const ms_half *e = d->half + d->first[v]; e < d->half + d->first[v + 1]; e++) {
            int step = e->other > v ? 1 : e->width;
            const double *y = e->other > v ? e->own : e->table + x[e->other];
            for (int i = 0; i < n; i++)
                d->h[i] += y[i * step];
        }
        for (int i = 1; i < n; i++)
            if (d->h[i] < d->h[best]) best = i;
        x[v] = best;
    }
}

// Whether what there is must do.
static bool must_do(const ms_problem *p, const state *s)
{
    return !isinf(s->value) && hb_stopped(p->stop);
}

// Is nothing of interest left?
static bool is_beyond(const ms_problem *p, const state *s)
{
    return p->beyond > 0 && s->lower >= p->beyond;
}

// Raises the bound until it creeps or is within gap of an assignment; whether it is finite. Gains
// shrink from batch to batch: where a gap is allowed, passes end when all that are left in `rounds`
// rounds would not bring the bound so near at twice the present pace.
static bool raise_bound(ms_dual *d, int most, int rounds, double gap, int *x, state *s)
{
    bool overstep = true;
    for (int done = 0; done < most; done += MS_BATCH) {
        double before = s->lower;
        ms_dual_passes(d, MS_BATCH, overstep);
        ms_dual_sweep(d, false);
        s->lower = ms_dual_bound(d);
        if (s->lower >= d->big) return false;
        if (is_beyond(d->p, s)) break;
        read_off(d, x);
        double gain = s->lower - before, value = ms_value(d->p, x);
        bool better = value < s->value;
        if (better) {
            s->value = value;
            memcpy(s->best, x, sizeof *x * (size_t)d->p->n_vars);
        }
        double missing = s->value - s->lower - fmax(gap, MS_MET) * fabs(s->lower);
        if (missing <= 0 || must_do(d->p, s)) break;
        double batches = (double)(rounds * most - done) / MS_BATCH - 1;
        if (gap > 0 && !better && isfinite(missing) && 2 * gain * batches < missing) break;
        overstep = gain >= -noise(d);
        if (overstep && gain < MS_CREEP * fabs(s->lower)) break;
    }
    return true;
}

// Rooms of growing size until the best assignment is proved within gap; whether it is.
static bool try_rooms(ms_dual *d, double **slack, uint64_t max_cells, double max_work, double gap,
                      int *x, state *s)
{
    static const double share[] = {MS_ROOMS};
    double scale = fabs(s->lower);
    for (size_t k = 0; k < sizeof share / sizeof *share; k++) {
        double room = share[k] * scale, missing = s->value - s->lower;
        ms_status t = MS_OPTIMAL;
        double near = MS_ROOM_NEAR * max_work; // little is not worth the largest eliminations
        if (missing <= MS_LITTLE * scale) near = fmin(near, MS_LITTLE_WORK);
        if (missing <= MS_ROOM_NEAR * room)
            t = try_room(d, slack, missing + noise(d), max_cells, near, x, s);
        else
            t = try_room(d, slack, room + noise(d), max_cells, max_work, x, s);
        if (t == MS_OPTIMAL &&
            s->value <= s->lower + (missing <= MS_ROOM_NEAR * room ? missing : room)) {
            s->lower = s->value; // everything that good survived
            return true;
        }
        if (s->value <= s->lower + gap * scale) return true;
        if (t == MS_TOO_LARGE || must_do(d->p, s)) return false;
    }
    double room = s->value - s->lower + noise(d);
    if (isinf(room) || try_room(d, slack, room, max_cells, max_work, x, s) != MS_OPTIMAL)
        return false;
    s->lower = s->value;
    return true;
}

// Sweeps and eliminations of growing size until the best assignment is proved within gap.
static ms_status close_gap(ms_dual *d, uint64_t max_cells, double gap, int rounds, state *s)
{
    int n = d->p->n_vars, *x = HB_ARRAY(d->arena, int, n + 1);
    double **slack = hb_alloc(d->arena, sizeof *slack * (size_t)(n + 1)), work = MS_FIRST_WORK;
    for (int v = 0; v < n; v++)
        slack[v] = HB_ARRAY(d->arena, double, d->p->domain[v]);
    // What need not be proved is not worth an elimination of most of the states.
    const double most = gap > 0 ? MS_NEAR_WORK : MS_MOST_WORK / MS_MOST_GROWN;
    s->lower = ms_dual_bound(d);
    s->memo = ms_memo_new(d->arena);
    bool started = !isinf(s->value); // then the messages come from handshakes over the same tables
    if (started && s->value <= s->lower + gap * fabs(s->lower)) return MS_OPTIMAL;
    if (is_beyond(d->p, s)) return MS_TOO_LARGE;
    for (int round = 0; round < rounds; round++) {
        double before = s->lower;
        bool pass = round || !started;
        if (pass && !raise_bound(d, MS_PASSES, rounds - round, gap, x, s)) return MS_INFEASIBLE;
        if (s->value <= s->lower + fmax(gap, MS_MET) * fabs(s->lower)) return MS_OPTIMAL;
        if (is_beyond(d->p, s) || must_do(d->p, s)) break;
        ms_dual_slacks(d, slack);
        if (try_rooms(d, slack, max_cells, work, gap, x, s)) return MS_OPTIMAL;
        // As much work on nearly the same bound would end as this did.
        if (work >= most && s->lower - before < MS_ROUND_CREEP * (s->value - s->lower)) break;
        if (work < most) work *= MS_WORK_GROWTH;
    }
    return MS_TOO_LARGE;
}

// Sweeps on until the bound for all layers is within gap of the value, or creeps.
static void tighten(ms_dual *d, const ms_tile *tile, double value, double gap)
{
    double lower = -(double)INFINITY;
    for (int i = 0; i < MS_TILE_BATCHES; i++) {
        double before = lower;
        lower = ms_tile_sweeps(tile, d, MS_TILE_BATCH);
        if (lower > value - (gap + MS_ROUNDING) * fabs(lower) || hb_stopped(tile->small.stop))
            break;
        if (i > 1 && lower - before < MS_TILE_CREEP * (value - before)) break;
    }
}

// The start that fewer layers give: messages, an assignment, and how hard they were.
static ms_status start_from(const ms_problem *p, const ms_tile *tile, uint64_t max_cells,
                            double gap, ms_warm *warm, const ms_names *names, ms_messages *m,
                            state *s)
{
    hb_arena *tmp = hb_arena_new();
    const ms_problem *q = &tile->small;
    int *x = HB_ARRAY(tmp, int, q->n_vars + 1);
    ms_dual d;
    ms_messages *small = ms_messages_new(tmp, q);
    ms_names called = {.domain = names ? names->domain : NULL};
    if (names) {
        int *var = HB_ARRAY(tmp, int, q->n_vars);
        const int **states = hb_alloc(tmp, sizeof *states * (size_t)q->n_vars);
        for (int v = 0; v < q->n_vars; v++) {
            var[v] = names->var[tile->whole_var[v]];
            states[v] = names->state[tile->whole_var[v]];
        }
        called.var = var;
        called.state = states;
    }
    ms_warm_load(warm, q, &called, small);
    ms_dual_begin(&d, tmp, q, small);
    state t = {.value = (double)INFINITY, .best = x};
    ms_status status = close_gap(&d, max_cells, gap, MS_ROUNDS, &t);
    ms_warm_save(warm, q, &called, small);
    if (!isinf(t.value)) {
        for (int v = 0; v < p->n_vars; v++)
            s->best[v] = x[tile->like_var[v]];
        s->value = ms_value(p, s->best);
        tighten(&d, tile, s->value, gap);
        for (int e = 0; e < p->n_edges; e++) {
            int k = tile->like_edge[e];
            if (k < 0) continue;
            size_t na = (size_t)p->domain[p->edge[e].a], nb = (size_t)p->domain[p->edge[e].b];
            memcpy(m->to_a[e], small->to_a[k], sizeof *m->to_a[e] * na);
            memcpy(m->to_b[e], small->to_b[k], sizeof *m->to_b[e] * nb);
        }
    }
    hb_arena_free(tmp);
    return status;
}

ms_status ms_solve_bound(const ms_problem *p, uint64_t max_cells, double cheap, double gap,
                         ms_warm *warm, const ms_names *names, int *assignment, double *value,
                         double *lower)
{
    // Small enough to eliminate as it is?
    ms_status status = MS_TOO_LARGE;
    if (cheap >= 0 || p->n_edges == 0)
        status =
            ms_solve_within(p, max_cells, p->n_edges ? cheap : (double)INFINITY, assignment, value);
    *lower = *value;
    if (status != MS_TOO_LARGE) return status;
    hb_arena *tmp = hb_arena_new();
    ms_dual d;
    ms_messages *m = ms_messages_new(tmp, p);
    state s = {.value = (double)INFINITY, .best = assignment};
    const ms_tile *tile = ms_tile_find(tmp, p);
    bool hard = tile && start_from(p, tile, max_cells, gap / 2, warm, names, m, &s) == MS_TOO_LARGE;
    if (!tile) ms_warm_load(warm, p, names, m);
    ms_dual_begin(&d, tmp, p, m);
    for (int e = 0; tile && e < p->n_edges; e++)
        if (tile->like_edge[e] < 0) ms_dual_shake(&d, &d.e[e], false);
    // What is hard for few layers is harder for many.
    bool once = hard && p->n_vars > MS_TILE_DEEPER * tile->small.n_vars;
    status = close_gap(&d, max_cells, gap, once ? 1 : MS_ROUNDS, &s);
    if (!tile) ms_warm_save(warm, p, names, m);
    if (status == MS_TOO_LARGE && !is_beyond(p, &s) && !must_do(p, &s)) {
        int *x = HB_ARRAY(tmp, int, p->n_vars + 1);
        bool little = s.value - s.lower <= MS_LITTLE * fabs(s.lower);
        double work = once || gap > 0 || little ? MS_HARD_WORK : MS_MOST_WORK;
        if (s.large_work < work) status = ms_solve_within(p, max_cells, work, x, value);
        if (status == MS_OPTIMAL && *value <= s.value) {
            memcpy(assignment, x, sizeof *x * (size_t)p->n_vars);
            s.value = s.lower = *value;
        }
    }
    *value = s.value;
    *lower = s.lower < s.value ? s.lower : s.value;
    hb_arena_free(tmp);
    return status;
}

ms_status ms_solve_near(hb_arena *a, const ms_problem *p, uint64_t max_cells, double gap,
                        ms_warm **cache, int *assignment, double *value, double *lower)
{
    hb_arena *tmp = hb_arena_new();
    ms_reduced *r = ms_reduce(tmp, p, NULL);
    ms_status status = MS_INFEASIBLE;
    double below = 0;
    *value = (double)INFINITY;
    if (r) {
        ms_problem rest = *ms_reduced_problem(r);
        int *x = HB_ARRAY(tmp, int, rest.n_vars + 1);
        int states = 0;
        for (int v = 0; v < rest.n_vars; v++)
            states += rest.domain[v];
        double cheap = states > MS_MANY_STATES ? -1 : MS_PLAIN_WORK;
        ms_names names = ms_reduced_names(r);
        if (p->beyond > 0) rest.beyond = fmax(p->beyond - ms_reduced_constant(r), DBL_MIN);
        status = ms_solve_bound(&rest, max_cells, cheap, gap, ms_warm_of(a, cache), &names, x,
                                value, &below);
        below += ms_reduced_constant(r);
        if (!isinf(*value)) {
            ms_reduced_expand(r, x, assignment);
            *value = ms_value(p, assignment);
        }
    }
    hb_arena_free(tmp);
    if (lower) *lower = below < *value ? below : *value; // equal up to rounding
    return status;
}

ms_status ms_solve_dual(hb_arena *a, const ms_problem *p, uint64_t max_cells, ms_warm **cache,
                        int *assignment, double *value, double *lower)
{
    return ms_solve_near(a, p, max_cells, 0, cache, assignment, value, lower);
}
