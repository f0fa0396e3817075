#include "synth/search/beyond.h"

#include "synth/search/boards.h"
#include "synth/search/fixed_states.h"
#include "synth/search/found_plans.h"
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

// What plans near the best took, whose states were fixed by now.
typedef struct fixed_secs {
    double sec[SYN_BEYOND_SEEN];
    int n;
} fixed_secs;

// Fixes states in a plan, if it is near the best and no such plan took as long.
static void fix_near(pool *p, const candidate *plan, fixed_secs *seen)
{
    const candidate best = p->best;
    bool known = plan->sec > SYN_BEYOND_FAR * best.sec || seen->n == SYN_BEYOND_SEEN;
    for (int i = 0; i < seen->n && !known; i++)
        known = plan->sec == seen->sec[i];
    if (known || pool_out_of_time(p)) return;
    seen->sec[seen->n++] = plan->sec;
    const hb_arena *before = p->aside[0];
    p->aside[0] = best.arena;
    p->best = *plan;
    (void)pool_fix_states(p, FIX_QUICK);
    if (best.sec <= p->best.sec) p->best = best;
    p->aside[0] = before;
}

// The fastest of what was found that is slower than the pool's best; NULL: none.
static const found_plan *fastest_behind(const found_plans *f, double best)
{
    const found_plan *next = NULL;
    for (int i = 0; i < f->list.n; i++) {
        const found_plan *x = &f->list.p[i];
        if (x->sec > best && (!next || x->sec < next->sec)) next = x;
    }
    return next;
}

// The best choices of a plan's space at costs that are drawn, the draws first .. first + n - 1:
// those of about the same additive cost, any of which may be the fastest, or the one whose states
// are best fixed.
static void search_drawn(pool *p, const candidate *plan, int first, int n, fixed_secs *seen)
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
                     .draw = draw,
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
    const found_plan *next = fastest_behind(&found, p->best.sec);
    if (next && next->sec < SYN_BEYOND_FAR * p->best.sec && !pool_out_of_time(p)) {
        syn_choice choice;
        syn_choice_decode(plan->arena, s, next->x, &choice);
        choice.additive = next->additive;
        candidate c = pool_simulate(p, plan->arena, s, &choice);
        c.priced = s->memory_price != NULL;
        fix_near(p, &c, seen);
    }
    hb_arena_free(a);
    pool_forget(p, plan, NULL);
}

// A search in which transfers of `from` may hide, and costs drawn in its space. What that search
// found; no program: nothing that fits.
static candidate hide_by(pool *p, const candidate *from, syn_hiding how, int first, int draws,
                         fixed_secs *seen)
{
    candidate found = {0};
    p->aside[0] = p->best.arena;
    p->aside[1] = from->arena;
    if (pool_hide_by(p, from, how, &found))
        search_drawn(p, &found, first, draws, seen);
    else
        found = (candidate){0};
    p->aside[0] = NULL;
    return found;
}

// By fixed guesses of what hides.
static void hide_by_guesses(pool *p, fixed_secs *seen)
{
    static const double price[] = {SYN_BEYOND_PRICES}, share[] = {SYN_BEYOND_SHARES};
    enum { prices = sizeof price / sizeof *price, all = prices * sizeof share / sizeof *share };
    const candidate from = p->best;
    for (int i = 0; i < all && !pool_out_of_time(p); i++) {
        syn_hiding how = {.price = price[i % prices], .share = share[i / prices]};
        candidate found = hide_by(p, &from, how, i * SYN_BEYOND_DRAWS, SYN_BEYOND_DRAWS, seen);
        if (found.program) fix_near(p, &found, seen);
        p->aside[1] = NULL;
        pool_forget(p, &from, NULL);
    }
}

// By guesses that are drawn, and without any: other numbers in each round.
static void draw_guesses(pool *p, int round, fixed_secs *seen)
{
    for (int i = 0; i < SYN_DRAWN_GUESSES && !pool_out_of_time(p); i++) {
        int draw = round * SYN_DRAWN_GUESSES + i;
        const candidate from = p->best;
        syn_hiding how = {.price = SYN_DRAWN_PRICE, .draw = draw + 1};
        (void)hide_by(p, &from, how, draw * SYN_DRAWN_DRAWS, SYN_DRAWN_DRAWS, seen);
        p->aside[1] = NULL;
        pool_forget(p, NULL, NULL);
    }
    const candidate from = p->best;
    candidate plain;
    p->aside[0] = from.arena;
    if (pool_plain_at(p, &from, &plain))
        search_drawn(p, &plain, round * SYN_PLAIN_DRAWS, SYN_PLAIN_DRAWS, seen);
    p->aside[0] = NULL;
    pool_forget(p, NULL, NULL);
}

void pool_look_beyond(pool *p)
{
    // Where plans are doubted, one that is faster than the best may have been rejected.
    if (!p->best.program || p->doubtful || p->best.timeline.comm <= 0) return;
    double begin = p->work, before = p->most_work, most = begin + SYN_BEYOND_WORK * SYN_WORK;
    p->most_work = before > 0 && before < most ? before : most;
    fixed_secs seen = {.n = 0};
    bool better = true;
    for (int round = 0; better && !pool_out_of_time(p); round++) {
        double sec = p->best.sec;
        if (round == 0) hide_by_guesses(p, &seen);
        draw_guesses(p, round, &seen);
        better = p->best.sec < sec * (1 - SYN_SAME_PLACE);
        if (better && pool_fix_states(p, FIX_ALL)) pool_polish(p);
    }
    p->work = begin;
    p->most_work = before;
}
