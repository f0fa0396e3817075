#include "synth/search/settle.h"

#include <math.h>

#include "synth/passes/arena_plan.h"
#include "synth/passes/roll.h"
#include "synth/passes/workspace.h"
#include "synth/plan/program_copy.h"

// Largest excess over capacity, as a share of the capacity; <= 0 if it fits.
double pool_overflow(const syn_program *p)
{
    double worst = -1;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double cap = (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity;
        double over = (double)(p->peak_bytes[c] + syn_workspace_bytes(p, c)) / cap - 1;
        worst = over > worst ? over : worst;
    }
    return worst;
}

void pool_run_passes(candidate *c, syn_pass_id first, syn_pass_id last)
{
    syn_making x = {.program = c->program, .sec = c->sec, .timeline = c->timeline};
    syn_passes_run(&x, first, last);
    c->program = x.program;
    c->sec = x.sec;
    c->timeline = x.timeline;
}

void pool_roll(candidate *c)
{
    if (!c->rolled) pool_run_passes(c, SYN_PASS_ROLL, SYN_PASS_ROLL);
    c->rolled = true;
}

void pool_place(candidate *c)
{
    if (c->placed) return;
    pool_roll(c);
    pool_run_passes(c, SYN_PASS_MEMORY, SYN_PASS_MEMORY);
    c->placed = true;
    c->fits = pool_overflow(c->program) <= 0;
}

// Would it lead, if it fits?
static bool leads(pool *p, const candidate *c)
{
    const candidate *lead = c->program->pairs.n > 0 ? pool_leader(p) : &p->best;
    return !lead->program || c->sec < lead->sec;
}

// A copy is placed: the plan itself may still change.
void pool_settle(pool *p, candidate *c)
{
    double *least = &p->waste[c->program->pairs.n > 0][c->program->has_sym];
    if (p->g->few_of) { // has no arena: what stands for several layers is one buffer
        c->fits = c->share <= (p->opt->memory_first && !p->opt->wary ? 1 : SYN_FEW_FIT);
        return;
    }
    if (c->settled) return;
    c->settled = true;
    c->fits = false;
    bool leading = p->spare || leads(p, c),
         hopeless = c->share * *least > 1 && (!leading || (p->only_leads && !p->spare));
    if (c->share > 1 || hopeless) return;
    if (!leading && p->only_leads) {
        c->fits = true; // for all that matters
        return;
    }
    hb_arena *scratch = hb_arena_new();
    syn_program *copy = syn_program_copy(scratch, c->program);
    syn_roll(copy); // what it takes in loops is not asked here
    double bound = 0;
    bool packed = syn_arena_settle(copy, p->measure ? NULL : &bound);
    double over = pool_overflow(copy);
    c->fits = over <= 0;
    c->filled = packed ? 1 + over : fmax(1 + over, c->share * *least);
    double waste = (bound > 0 ? bound : c->filled) / c->share; // of packing
    if (packed && (*least == 0 || waste < *least)) *least = waste;
    hb_arena_free(scratch);
}

// Near the limit only the arena knows; it is asked where the answer matters: of what would lead.
void pool_settle_if_near(pool *p, candidate *c)
{
    if (p->careful || (c->share > SYN_SURELY_FITS && leads(p, c))) pool_settle(p, c);
}
