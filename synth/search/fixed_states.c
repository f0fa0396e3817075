#include "synth/search/fixed_states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/search/boards.h"
#include "synth/space/space_solve.h"

// What a search found with some tensors fixed.
typedef struct found_plan {
    int tensor, state; // that were fixed
    bool alone;        // not all of its kind
    int *x;            // assignment of the space's variables
    double additive;
    bool simulated;
} found_plan;

// The costs of a variable with its tensor kept in one state alone. Tensors that are alike share
// them, so that equal layers stay equal, and they stay where they are, for the memo.
typedef struct one_state {
    const syn_keeps *keeps;
    const double *all; // the variable's own costs; NULL: nothing
    int state;
    const double *costs; // NULL: it cannot be in that state
} one_state;

typedef struct fixing {
    pool *p;
    hb_arena *arena;
    candidate best;
    syn_space *s; // its
    ms_warm *warm;
    ms_memo *memo;
    HB_VEC(one_state) costs;
    double work;          // that may be done in all
    double far;           // times the plan's additive cost: what is dearer is not simulated
    const double **unary; // of the space, but for what is fixed already
    HB_VEC(found_plan) found;
} fixing;

// A parameter that could be kept in another state.
static bool is_free(const syn_space *s, int tensor)
{
    return s->g->tensors.p[tensor].kind == IR_PARAM && s->tensor_var[tensor] >= 0 &&
           s->keeps[tensor]->n > 1;
}

static const double *costs_in_state(fixing *f, int tensor, int state)
{
    const syn_space *s = f->s;
    int n = s->keeps[tensor]->n;
    one_state x = {s->keeps[tensor], s->problem.unary[s->tensor_var[tensor]], state, NULL};
    for (int i = 0; i < f->costs.n; i++) {
        const one_state *y = &f->costs.p[i];
        if (y->keeps == x.keeps && y->all == x.all && y->state == state) return y->costs;
    }
    double *own = HB_ARRAY(f->arena, double, n);
    for (int i = 0; i < n; i++) {
        bool is = x.keeps->keep[i].state == state;
        own[i] = !is ? HUGE_VAL : x.all ? x.all[i] : 0;
        if (isfinite(own[i])) x.costs = own;
    }
    HB_PUSH(f->arena, &f->costs, x);
    return x.costs;
}

static void keep_found(fixing *f, found_plan found)
{
    size_t bytes = sizeof *found.x * (size_t)f->s->problem.n_vars;
    for (int i = 0; i < f->found.n; i++)
        if (memcmp(f->found.p[i].x, found.x, bytes) == 0) return;
    found.x = hb_copy(f->arena, found.x, bytes);
    HB_PUSH(f->arena, &f->found, found);
}

// Costs with one tensor, or all free ones of its kind, in one state, beside what is fixed already;
// false: they cannot be.
static bool fix(fixing *f, const found_plan *x, const double **unary)
{
    const syn_space *s = f->s;
    for (int t = x->tensor; t < s->g->tensors.n; t++) {
        bool alike = is_free(s, t) && s->kinds->kept[t] == s->kinds->kept[x->tensor];
        if (t != x->tensor && (x->alone || !alike)) continue;
        const double *own = costs_in_state(f, t, x->state);
        if (!own) return false;
        unary[s->tensor_var[t]] = own;
    }
    return true;
}

// The best choice with that fixed.
static void search_fixed(fixing *f, found_plan want)
{
    hb_arena *scratch = hb_arena_new();
    ms_problem problem = f->s->problem;
    const double **unary = hb_copy(scratch, f->unary, sizeof *unary * (size_t)problem.n_vars);
    want.x = HB_ARRAY(scratch, int, problem.n_vars + 1);
    bool can = fix(f, &want, unary);
    problem.unary = unary;
    problem.memo = f->memo;
    problem.beyond = f->best.choice.additive * f->far;
    double lower = 0;
    if (can) {
        f->p->n_solved++;
        f->p->work += pool_states(f->s);
        can = ms_solve_near(f->arena, &problem, 0, SYN_SEARCH_GAP, &f->warm, want.x, &want.additive,
                            &lower) == MS_OPTIMAL;
    }
    if (can && want.additive < f->best.choice.additive * f->far) keep_found(f, want);
    hb_arena_free(scratch);
}

// How many free parameters are of one's kind; 0: another one stands for them.
static int n_alike(const syn_space *s, int tensor)
{
    int n = 0;
    for (int t = 0; t < s->g->tensors.n; t++) {
        if (!is_free(s, t) || s->kinds->kept[t] != s->kinds->kept[tensor]) continue;
        if (t < tensor) return 0;
        n++;
    }
    return n;
}

static bool enough(const fixing *f)
{
    return f->p->work >= f->work || pool_out_of_time(f->p);
}

// All of a kind together, or each alone.
static void search_all(fixing *f, bool alone)
{
    const syn_space *s = f->s;
    for (int t = 0; t < s->g->tensors.n && !enough(f); t++) {
        int alike = is_free(s, t) ? n_alike(s, t) : 0;
        if (!is_free(s, t) || (alone ? alike == 1 : alike == 0)) continue;
        for (int i = 0; i < s->states[t]->n && !enough(f); i++) {
            bool same = f->best.choice.keep[t].state == i && (alone || alike == 1);
            if (!same) search_fixed(f, (found_plan){.tensor = t, .state = i, .alone = alone});
        }
    }
}

static int cheaper(const void *x, const void *y)
{
    const found_plan *a = x, *b = y;
    return (a->additive > b->additive) - (a->additive < b->additive);
}

// A candidate that the pool keeps takes its program's arena into that of its space.
static void settle(fixing *f, hb_arena *own)
{
    pool *p = f->p;
    candidate *kept[] = {&p->best, &p->paired, &p->smallest};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        if (!kept[i]->program || kept[i]->arena != own) continue;
        kept[i]->arena = kept[i]->program->arena = f->best.arena;
        if (kept[i]->paired) kept[i]->paired->arena = f->best.arena;
        any = true;
    }
    if (any)
        hb_arena_join(f->best.arena, own);
    else
        hb_arena_free(own);
}

// Is a plan so much faster that layers may differ for it?
static bool gains(const pool *p, const candidate *c)
{
    double less = 1 - SYN_SAME_PLACE;
    return c->sec < p->best.sec * less || (c->paired && c->paired_alone < p->enough * less);
}

// Simulates the cheapest; what the best of these has fixed stays so. Whether one is better.
static bool simulate_found(fixing *f)
{
    pool *p = f->p;
    const found_plan *better = NULL;
    if (f->found.n > 1) qsort(f->found.p, (size_t)f->found.n, sizeof *f->found.p, cheaper);
    for (int i = 0, n = 0; i < f->found.n && n < SYN_FIX_TRIES && !pool_out_of_time(p); i++) {
        found_plan *x = &f->found.p[i];
        if (x->simulated) continue;
        hb_arena *own = hb_arena_new();
        syn_choice choice;
        syn_choice_decode(own, f->s, x->x, &choice);
        choice.additive = x->additive;
        candidate c = pool_simulate(p, own, f->s, &choice);
        c.priced = f->s->memory_price != NULL;
        const syn_program *before = p->best.program;
        if (gains(p, &c)) pool_offer(p, &c);
        if (p->best.program != before) better = x;
        settle(f, own);
        x->simulated = true;
        n++;
    }
    if (better) (void)fix(f, better, f->unary);
    f->best = p->best;
    return better != NULL;
}

bool pool_fix_states(pool *p)
{
    const syn_program *before = p->best.program;
    fixing f = {.p = p, .best = p->best, .s = p->best.space, .far = SYN_FIX_FAR};
    const cost_timeline *t = &f.best.timeline;
    // Where nothing is sent all devices do the same.
    bool same = before && t->comm <= 0 && before->mesh->n_ranks > 1,
         waits = before && t->comm - t->hidden >= SYN_HIDE_WAITS * t->total;
    if (!(waits || same) || f.s->strategy != SYN_AUTO) return false;
    if (same) f.far = SYN_FIX_SAME;
    f.work = p->work + fmax(SYN_FIX_WORK * (p->work + p->spared), SYN_FIX_LEAST);
    f.arena = hb_arena_new();
    f.memo = ms_memo_new(f.arena);
    f.unary = hb_copy(f.arena, f.s->problem.unary, sizeof *f.unary * (size_t)f.s->problem.n_vars);
    p->b = pool_board_of(p, f.s->mesh);
    p->held = &f.best;
    // Each alone where all of a kind together bring nothing: there are many of them.
    for (bool alone = false; !enough(&f);) {
        search_all(&f, alone);
        bool better = simulate_found(&f);
        if (alone && !better) break;
        alone = !better;
    }
    p->held = NULL;
    hb_arena_free(f.arena);
    pool_forget(p, NULL, NULL);
    return p->best.program != before;
}
