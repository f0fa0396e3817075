#include "synth/search/found_plans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/search/simulated.h"
#include "synth/space/space_solve.h"

void found_keep(found_plans *f, int n_vars, found_plan x)
{
    size_t bytes = sizeof *x.x * (size_t)n_vars;
    for (int i = 0; i < f->list.n; i++)
        if (memcmp(f->list.p[i].x, x.x, bytes) == 0) return;
    x.x = hb_copy(f->arena, x.x, bytes);
    x.round = f->round;
    x.sec = HUGE_VAL;
    HB_PUSH(f->arena, &f->list, x);
}

static int cheaper(const void *x, const void *y)
{
    const found_plan *a = x, *b = y;
    return (a->additive > b->additive) - (a->additive < b->additive);
}

int found_faster(const void *x, const void *y)
{
    const found_plan *a = x, *b = y;
    return (a->sec > b->sec) - (a->sec < b->sec);
}

void found_settle(pool *p, hb_arena *to, hb_arena *own)
{
    candidate *kept[] = {&p->best, &p->paired, &p->smallest};
    bool any = false;
    for (int i = 0; i < 3; i++) {
        if (!kept[i]->program || kept[i]->arena != own) continue;
        kept[i]->arena = kept[i]->program->arena = to;
        if (kept[i]->paired) kept[i]->paired->arena = to;
        any = true;
    }
    if (any)
        hb_arena_join(to, own);
    else
        hb_arena_free(own);
}

void found_offer(pool *p, candidate *c)
{
    const double less = 1 - SYN_SAME_PLACE;
    const candidate best = p->best;
    bool gains = c->sec < best.sec * less;
    if (gains || (c->paired && c->paired_alone < p->enough * less)) pool_offer(p, c);
    if (!gains) p->best = best;
}

const found_plan *found_simulate(found_plans *f, pool *p, const candidate *plan)
{
    const found_plan *better = NULL;
    syn_space *s = plan->space;
    if (f->list.n > 1) qsort(f->list.p, (size_t)f->list.n, sizeof *f->list.p, cheaper);
    for (int i = 0, n = 0; i < f->list.n && n < SYN_FIX_TRIES && !pool_out_of_time(p); i++) {
        found_plan *x = &f->list.p[i];
        if (x->simulated) continue;
        hb_arena *own = hb_arena_new();
        syn_choice choice;
        syn_choice_decode(own, s, x->x, &choice);
        choice.additive = x->additive;
        p->only_leads = true;
        candidate c = pool_simulate(p, own, s, &choice);
        p->only_leads = false;
        p->work += SYN_FIX_SIMULATED * s->problem.n_vars;
        c.priced = s->memory_price != NULL;
        const syn_program *before = p->best.program;
        found_offer(p, &c);
        x->sec = c.fits ? c.sec : HUGE_VAL;
        if (p->best.program != before) better = x;
        found_settle(p, plan->arena, own);
        x->simulated = true;
        n++;
    }
    return better;
}
