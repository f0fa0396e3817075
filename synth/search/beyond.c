#include "synth/search/beyond.h"

#include "synth/search/cross.h"
#include "synth/search/fixed_states.h"
#include "synth/search/searches.h"
#include "synth/search/simulated.h"
#include "synth/search/starts.h"
#include "synth/space/space_solve.h"

// Costs of a space's variables, a number added to each state of half of them. What is alike and
// shares its own costs shares those, too, so that equal layers stay equal.
typedef struct drawing {
    const syn_space *s;
    hb_arena *arena;
    const double **unary;
    int draw;    // which numbers
    double most; // seconds
} drawing;

// A number below 1.
static double drawn(int draw, int sort, int kind, int state)
{
    const int of[4] = {draw, sort, kind, state};
    return (double)(hb_hash(of, sizeof of) >> 11) / (double)(1ULL << 53);
}

// first[kind]: the variable that the kind had first, -1.
static void draw_variable(drawing *d, int var, int sort, int kind, int *first)
{
    const double *const *own = d->s->problem.unary;
    if (var < 0 || drawn(d->draw, sort, kind, -1) < 0.5) return;
    if (first[kind] >= 0 && own[first[kind]] == own[var]) {
        d->unary[var] = d->unary[first[kind]];
        return;
    }
    int n = d->s->problem.domain[var];
    double *x = HB_ARRAY(d->arena, double, n);
    for (int i = 0; i < n; i++)
        x[i] = (own[var] ? own[var][i] : 0) + d->most * drawn(d->draw, sort, kind, i);
    d->unary[var] = x;
    if (first[kind] < 0) first[kind] = var;
}

static void draw_costs(drawing *d)
{
    const syn_space *s = d->s;
    const syn_kinds *k = s->kinds;
    int *tensor = HB_ARRAY(d->arena, int, k->n_tensors + 1),
        *node = HB_ARRAY(d->arena, int, k->n_nodes + 1);
    for (int i = 0; i < k->n_tensors; i++)
        tensor[i] = -1;
    for (int i = 0; i < k->n_nodes; i++)
        node[i] = -1;
    for (int t = 0; t < s->g->tensors.n; t++)
        draw_variable(d, s->tensor_var[t], 0, k->tensor[t], tensor);
    for (int i = 0; i < s->g->nodes.n; i++)
        draw_variable(d, s->node_var[i], 1, k->node[i], node);
}

// Fixes states in the fastest of what was found that is slower than the pool's best, but near it.
static void fix_next(pool *p, const candidate *plan, const found_plans *found)
{
    const candidate best = p->best;
    const found_plan *next = NULL;
    for (int i = 0; i < found->list.n; i++) {
        const found_plan *x = &found->list.p[i];
        if (x->sec > best.sec && (!next || x->sec < next->sec)) next = x;
    }
    if (!next || next->sec > SYN_BEYOND_FAR * best.sec || pool_out_of_time(p)) return;
    syn_choice choice;
    syn_choice_decode(plan->arena, plan->space, next->x, &choice);
    choice.additive = next->additive;
    candidate c = pool_simulate(p, plan->arena, plan->space, &choice);
    c.priced = plan->space->memory_price != NULL;
    p->aside[0] = best.arena;
    p->best = c;
    (void)pool_fix_states(p, FIX_QUICK);
    if (best.sec <= p->best.sec) p->best = best;
}

// The best choices of a plan's space at costs that are drawn, the draws first .. first + n - 1:
// those of about the same additive cost, any of which may be the fastest; and the pool's best plan
// with parts of them.
static void search_drawn(pool *p, const candidate *plan, int first, int n, crossing *with)
{
    syn_space *s = plan->space;
    int n_vars = s->problem.n_vars;
    hb_arena *a = hb_arena_new();
    found_plans found = {.arena = a};
    for (int draw = first; draw < first + n && !pool_out_of_time(p); draw++) {
        hb_arena *scratch = hb_arena_new();
        drawing d = {.s = s,
                     .arena = scratch,
                     .unary = hb_copy(scratch, s->problem.unary, sizeof *d.unary * (size_t)n_vars),
                     .draw = p->opt->first_draw + draw,
                     .most =
                         SYN_DRAWN_COST * (1 << draw % SYN_DRAWN_SIZES) * plan->choice.additive};
        draw_costs(&d);
        ms_problem problem = s->problem;
        problem.unary = d.unary;
        problem.memo = NULL;
        ms_warm *warm = NULL;
        found_plan x = {.x = HB_ARRAY(scratch, int, n_vars + 1)};
        double value, lower = 0;
        p->n_solved++;
        p->work += pool_states(s);
        if (ms_solve_near(scratch, &problem, 0, SYN_FIX_NEAR, &warm, x.x, &value, &lower) ==
            MS_OPTIMAL) {
            x.additive = ms_value(&s->problem, x.x);
            found_keep(&found, n_vars, x);
        }
        hb_arena_free(scratch);
    }
    p->held = plan;
    (void)found_simulate(&found, p, plan);
    p->held = NULL;
    for (int i = 0; i < found.list.n; i++)
        cross_add(with, s, found.list.p[i].x);
    pool_cross(p, with);
    fix_next(p, plan, &found);
    hb_arena_free(a);
    pool_forget(p, NULL, NULL);
}

// By guesses of what hides of a plan: a search each, and costs drawn in its space.
static void hide_by_guesses(pool *p, crossing *with)
{
    static const double price[] = {SYN_BEYOND_PRICES}, share[] = {SYN_BEYOND_SHARES};
    enum { prices = sizeof price / sizeof *price, all = prices * sizeof share / sizeof *share };
    const candidate from = p->best;
    p->aside[1] = from.arena;
    for (int i = 0; i < all && !pool_out_of_time(p); i++) {
        syn_hiding how = {.price = price[i % prices], .share = share[i / prices]};
        candidate found;
        p->aside[0] = p->best.arena;
        if (pool_hide_by(p, &from, how, &found))
            search_drawn(p, &found, i * SYN_BEYOND_DRAWS, SYN_BEYOND_DRAWS, with);
        p->aside[0] = NULL;
    }
    p->aside[1] = NULL;
    pool_forget(p, NULL, NULL);
}

// By guesses that are drawn, and without any: other numbers in each round.
static void draw_guesses(pool *p, int round, crossing *with)
{
    const candidate from = p->best;
    p->aside[1] = from.arena;
    for (int i = 0; i < SYN_DRAWN_GUESSES && !pool_out_of_time(p); i++) {
        int draw = round * SYN_DRAWN_GUESSES + i;
        syn_hiding how = {.price = SYN_DRAWN_PRICE, .draw = p->opt->first_draw + draw + 1};
        candidate found;
        p->aside[0] = p->best.arena;
        if (pool_hide_by(p, &from, how, &found))
            search_drawn(p, &found, draw * SYN_DRAWN_DRAWS, SYN_DRAWN_DRAWS, with);
        p->aside[0] = NULL;
    }
    p->aside[1] = NULL;
    pool_forget(p, NULL, NULL);
}

// Where nothing hides, at a share of the plan's memory price: n other numbers in each round.
static void draw_plainly(pool *p, int round, double price, int n, crossing *with)
{
    const candidate from = p->best;
    candidate plain;
    p->aside[0] = from.arena;
    if (pool_plain_at(p, &from, price, &plain)) search_drawn(p, &plain, round * n, n, with);
    p->aside[0] = NULL;
    pool_forget(p, NULL, NULL);
}

// At lower memory prices: what they lead to does not fit, but parts of it may.
static void draw_at_less(pool *p, int round, crossing *with)
{
    static const double price[] = {SYN_BEYOND_LESS};
    for (int i = 0; i < (int)(sizeof price / sizeof *price); i++)
        if (p->best.space->memory_price && !pool_out_of_time(p))
            draw_plainly(p, round, price[i], SYN_LESS_DRAWS, with);
}

void pool_look_beyond(pool *p, double share)
{
    // Where plans are doubted, one that is faster than the best may have been rejected.
    if (!p->best.program || p->doubtful || p->best.timeline.comm <= 0) return;
    double begin = p->work, before = p->most_work, most = begin + share * syn_work(p->opt);
    p->most_work = before > 0 && before < most ? before : most;
    crossing with = {.n_crossed = 0};
    bool better = true;
    for (int round = 0; better && !pool_out_of_time(p); round++) {
        double sec = p->best.sec;
        draw_at_less(p, round, &with);
        if (round == 0) hide_by_guesses(p, &with);
        draw_guesses(p, round, &with);
        draw_plainly(p, round, 1, SYN_PLAIN_DRAWS, &with);
        better = p->best.sec < sec * (1 - SYN_SAME_PLACE);
        if (better && pool_fix_states(p, FIX_ALL)) pool_polish(p);
    }
    cross_free(&with);
    p->work = begin;
    p->most_work = before;
}
