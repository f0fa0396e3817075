#include "synth/search/cross.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/search/boards.h"
#include "synth/search/live_bound.h"
#include "synth/search/other_space.h"

// What a variable may be differs between such spaces: dearer copies of what another state has are
// left out where nothing hides.
static bool of_variables(const crossing *c, const syn_space *s)
{
    return c->mesh == s->mesh && c->strategy == s->strategy && c->n_vars == s->problem.n_vars;
}

void cross_free(crossing *c)
{
    hb_arena_free(c->base_arena);
    hb_arena_free(c->arena);
    *c = (crossing){.n_crossed = 0};
}

void cross_add(crossing *c, const syn_space *s, const int *x)
{
    if (c->arena && !of_variables(c, s)) cross_free(c);
    if (!c->arena)
        *c = (crossing){.arena = hb_arena_new(),
                        .mesh = s->mesh,
                        .strategy = s->strategy,
                        .n_vars = s->problem.n_vars};
    size_t n = (size_t)c->n_vars;
    uint64_t *is = HB_ARRAY(c->arena, uint64_t, c->n_vars + 1);
    syn_meaning_of(s, x, is);
    for (int i = 0; i < c->choice.n; i++)
        if (memcmp(c->choice.p[i].is, is, sizeof *is * n) == 0) return;
    crossed_choice one = {.x = hb_copy(c->arena, x, sizeof *x * n), .is = is};
    HB_PUSH(c->arena, &c->choice, one);
}

// By variable a number that those of equal layers share.
static int *kinds_of(hb_arena *a, const syn_space *s)
{
    int *kind = HB_ARRAY(a, int, s->problem.n_vars + 1);
    for (int t = 0; t < s->g->tensors.n; t++)
        if (s->tensor_var[t] >= 0) kind[s->tensor_var[t]] = s->kinds->kept[t];
    for (int i = 0; i < s->g->nodes.n; i++)
        if (s->node_var[i] >= 0) kind[s->node_var[i]] = -1 - s->kinds->node[i];
    return kind;
}

static void begin_with(crossing *c, const candidate *base)
{
    hb_arena *a = hb_arena_new();
    const ms_problem *p = &base->space->problem;
    size_t n = (size_t)c->n_vars;
    const int *x = syn_assignment_of(a, base->space, &base->choice);
    uint64_t *is = HB_ARRAY(a, uint64_t, c->n_vars + 1);
    syn_meaning_of(base->space, x, is);
    // Parts are numbers of values: the same plan in a space with as many of each.
    if (c->base_arena && memcmp(c->x, x, sizeof *x * n) == 0 &&
        memcmp(c->is, is, sizeof *is * n) == 0 &&
        memcmp(c->domain, p->domain, sizeof *p->domain * n) == 0) {
        hb_arena_free(a);
        return;
    }
    hb_arena_free(c->base_arena);
    c->base_arena = a;
    c->x = x;
    c->is = is;
    c->domain = hb_copy(a, p->domain, sizeof *p->domain * n);
    c->kind = kinds_of(a, base->space);
    c->parts = c->joined = (found_plans){.arena = a};
    c->n_crossed = 0;
}

static int faster(const void *x, const void *y)
{
    return found_faster(*(const found_plan *const *)x, *(const found_plan *const *)y);
}

// Adds to x what a plan with a part has where the base has what x has.
static void add_part(const crossing *c, int *x, const found_plan *part)
{
    for (int v = 0; v < c->n_vars; v++)
        if (part->x[v] != c->x[v] && x[v] == c->x[v]) x[v] = part->x[v];
}

// The fastest two, three and so on of the parts that gain by themselves, together; and any two of
// those that come nearest: what one sends may hide where the other sends less.
static void join_parts(pool *p, crossing *c, const candidate *base)
{
    hb_arena *a = hb_arena_new();
    size_t bytes = sizeof *c->x * (size_t)c->n_vars;
    found_plan all = {.x = hb_copy(a, c->x, bytes)};
    const found_plan **of = HB_ARRAY(a, const found_plan *, c->parts.list.n + 1);
    int n = 0, near;
    for (int i = 0; i < c->parts.list.n; i++)
        if (c->parts.list.p[i].simulated) of[n++] = &c->parts.list.p[i];
    if (n > 1) qsort(of, (size_t)n, sizeof(found_plan *), faster);
    for (int i = 0; i < n && of[i]->sec < base->sec; i++) {
        add_part(c, all.x, of[i]);
        all.additive = i > 0 ? ms_value(&base->space->problem, all.x) : HUGE_VAL;
        if (isfinite(all.additive)) found_keep(&c->joined, c->n_vars, all);
    }
    for (near = 0; near < n && near < SYN_CROSS_TWO && of[near]->sec < SYN_BEYOND_FAR * base->sec;
         near++)
        continue;
    for (int i = 0; i < near; i++)
        for (int k = 0; k < i; k++) {
            found_plan two = {.x = hb_copy(a, of[i]->x, bytes)};
            add_part(c, two.x, of[k]);
            two.additive = ms_value(&base->space->problem, two.x);
            if (isfinite(two.additive)) found_keep(&c->joined, c->n_vars, two);
        }
    (void)found_simulate(&c->joined, p, base);
    hb_arena_free(a);
}

// Keeps the plan with the parts of y for which want[part], unless it is too dear.
static void keep_with(crossing *c, const ms_problem *p, const int *y, const int *part,
                      const bool *want, double most)
{
    hb_arena *a = hb_arena_new();
    found_plan one = {.x = hb_copy(a, c->x, sizeof *c->x * (size_t)c->n_vars)};
    for (int v = 0; v < c->n_vars; v++)
        if (part[v] >= 0 && want[part[v]]) one.x[v] = y[v];
    one.additive = ms_value(p, one.x);
    if (one.additive < most) found_keep(&c->parts, c->n_vars, one);
    hb_arena_free(a);
}

// The plan with each part of a choice by itself, and with all that are alike: of many equal layers
// with these alone. What the plan's space has not stays as it is.
static void add_parts(crossing *c, const syn_space *s, const crossed_choice *with, double most)
{
    hb_arena *a = hb_arena_new();
    int *y = hb_copy(a, c->x, sizeof *y * (size_t)c->n_vars);
    syn_assign_meaning(s, with->is, with->x, y);
    int *part = HB_ARRAY(a, int, c->n_vars + 1), n = ms_parts(&s->problem, c->x, y, part);
    uint64_t *what = HB_ARRAY(a, uint64_t, n + 1); // sums, so that the order does not matter
    for (int v = 0; v < c->n_vars; v++) {
        const int of[3] = {c->kind[v], c->x[v], y[v]};
        if (part[v] >= 0) what[part[v]] += hb_hash(of, sizeof of);
    }
    for (int i = 0; i < n; i++) {
        bool *want = HB_ARRAY(a, bool, n), first = true;
        int n_alike = 0;
        for (int k = 0; k < n; k++) {
            want[k] = what[k] == what[i];
            first = first && !(want[k] && k < i);
            n_alike += want[k];
        }
        if (first) keep_with(c, &s->problem, y, part, want, most);
        if (n_alike == 1 || (n_alike > SYN_CROSS_ALONE && !first)) continue;
        memset(want, 0, sizeof *want * (size_t)n);
        want[i] = true;
        keep_with(c, &s->problem, y, part, want, most);
    }
    hb_arena_free(a);
}

static bool cross_best(pool *p, crossing *c)
{
    const candidate base = p->best;
    if (!c->arena || !base.program || !of_variables(c, base.space)) return false;
    begin_with(c, &base);
    p->b = pool_board_of(p, base.space->mesh);
    const ms_problem *problem = &base.space->problem;
    double most = SYN_FIX_FAR * ms_value(problem, c->x);
    for (; c->n_crossed < c->choice.n; c->n_crossed++)
        add_parts(c, base.space, &c->choice.p[c->n_crossed], most);
    p->held = &base;
    (void)found_simulate(&c->parts, p, &base);
    join_parts(p, c, &base);
    p->held = NULL;
    return p->best.program != base.program;
}

void pool_cross(pool *p, crossing *c)
{
    while (!pool_out_of_time(p) && cross_best(p, c))
        continue;
}
