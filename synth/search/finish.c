#include "synth/search/finish.h"

#include <math.h>
#include <stdlib.h>

#include "synth/plan/program_copy.h"
#include "synth/search/beyond.h"
#include "synth/search/boards.h"
#include "synth/search/fixed_states.h"
#include "synth/search/settle.h"
#include "synth/search/simulated.h"
#include "synth/search/starts.h"

// The fastest plan of other variants of the step, as it was before it was finished; HUGE_VAL where
// there is no plan.
static double others_unfinished(const pool *p)
{
    const syn_known_sets *k = p->opt->known;
    return k && k->best > 0 ? fmax(k->best, k->unfixed) : HUGE_VAL;
}

// Unless others, as they were before they were finished, are ahead by more than that may gain.
static void fix_states(pool *p, double others, fix_way way)
{
    if (!p->best.program || pool_is_large(p) || p->g->few_of) return;
    if (p->best.sec > SYN_FIX_BEHIND * others) return;
    if (pool_fix_states(p, way)) pool_polish(p);
}

void pool_fix_best(pool *p)
{
    fix_states(p, others_unfinished(p), FIX_ALL);
}

void pool_finish_ended(pool *p)
{
    const pool *ended = p->opt->ended;
    const candidate *of[] = {&ended->explored, &ended->best, &ended->of_auto};
    for (int i = 0; i < 3; i++) {
        const candidate before = p->best;
        bool again = !of[i]->program;
        for (int k = 0; k < i; k++)
            again = again || of[k]->space == of[i]->space;
        if (again || (before.program && of[i]->sec > SYN_FIX_FIRST_FAR * before.sec)) continue;
        p->aside[0] = before.arena;
        p->best = (candidate){0};
        hb_arena *own = hb_arena_new();
        HB_PUSH(p->arena, &p->arenas, own);
        p->b = pool_board_of(p, of[i]->space->mesh);
        pool_simulate_again(p, own, of[i]); // as it was before it was rolled and placed
        if (p->best.program && pool_fix_states(p, FIX_QUICK)) pool_polish(p);
        if (before.program && (!p->best.program || before.sec <= p->best.sec)) p->best = before;
        p->aside[0] = NULL;
    }
    pool_forget(p, NULL, NULL);
}

// The best plan with what is done for it alone.
static void finish_best(pool *p)
{
    syn_known_sets *k = p->opt->known;
    double others = others_unfinished(p);
    pool_polish(p);
    if (k && p->best.program && (k->unfixed <= 0 || p->best.sec < k->unfixed))
        k->unfixed = p->best.sec;
    fix_states(p, others, FIX_ALL);
    if (pool_other_forms(p)) fix_states(p, others, FIX_ALL);
}

int pool_meshes_to_finish(const pool *p)
{
    int most = SYN_FINISH_NODES / (ir_step_nodes(p->g) + 1);
    if (p->doubtful || p->opt->brief) return 0;
    if (p->g->few_of) return SYN_FINISHED_FEW;
    return most < SYN_FINISHED ? most : SYN_FINISHED;
}

void pool_forget_meshes(pool *p)
{
    p->n_of_mesh = p->most_of_mesh = p->n_also = 0;
    p->of_strategy = p->of_all = (candidate){0};
    pool_forget(p, NULL, NULL);
}

static int faster_plan(const void *x, const void *y)
{
    const candidate *a = x, *b = y;
    return (a->sec > b->sec) - (a->sec < b->sec);
}

// A plan, and the one that discounts of it lead to.
static void finish_with_discounts(pool *p, candidate plan)
{
    p->best = plan;
    if (plan.space->strategy != SYN_AUTO) { // what hides is looked for behind that
        fix_states(p, others_unfinished(p), FIX_ALL);
        if (p->best.space->strategy != SYN_AUTO || p->best.sec >= p->ahead) return;
        plan = p->best;
    }
    p->aside[1] = plan.arena;
    pool_discounts(p);
    candidate other = p->best;
    p->aside[1] = other.arena;
    p->best = plan;
    finish_best(p);
    if (other.program != plan.program) {
        plan = p->best;
        p->aside[1] = plan.arena;
        p->best = other;
        finish_best(p);
        if (plan.sec <= p->best.sec) p->best = plan;
    }
    p->aside[1] = NULL;
}

// States fixed in each of the plans that may be finished, in a quick way: some are half as slow
// again before that and lead then, and the best is the first to be finished. of[n]: the others than
// the best so far; room for one more, a strategy's plan as it was, where fixing it brought no lead.
// How many there are then. What those that are far behind take is not counted.
static int fix_first(pool *p, candidate *of, int n, double others)
{
    if (!p->best.program || pool_is_large(p) || p->g->few_of) return n;
    if (p->best.sec > SYN_FIX_BEHIND * others) return n;
    double far = SYN_FIX_FIRST_FAR * p->best.sec, near = SYN_FIX_FIRST_NEAR * p->best.sec;
    int all = n;
    (void)pool_fix_states(p, FIX_QUICK);
    for (int i = 0; i < n && of[i].sec <= far && !pool_out_of_time(p); i++) {
        const candidate best = p->best, was = of[i];
        bool named = was.space->strategy != SYN_AUTO;
        double work = p->work;
        p->ahead = best.sec;
        p->aside[0] = best.arena;
        p->best = was;
        (void)pool_fix_states(p, FIX_QUICK);
        of[i] = p->best;
        p->best = best;
        if (was.sec > near) p->work = work;
        if (of[i].sec < best.sec) {
            p->best = of[i];
            of[i] = best;
        } else if (named && of[i].program != was.program) {
            of[all++] = was;
            p->n_also = all;
        }
    }
    p->aside[0] = NULL;
    p->ahead = HUGE_VAL;
    return all;
}

// Leaves the fastest finished plans on other meshes for others near them, if they are not far
// behind the best. of[n]: such plans.
static void look_beyond_others(pool *p, candidate *of, int n)
{
    int done = 0;
    if (n > 1) qsort(of, (size_t)n, sizeof *of, faster_plan);
    for (int i = 0; i < n && done < SYN_BEYOND_OTHERS; i++) {
        const candidate best = p->best;
        if (of[i].sec >= SYN_BEYOND_OTHERS_FAR * best.sec) break;
        if (of[i].space->mesh == best.space->mesh || of[i].space->strategy != SYN_AUTO) continue;
        done++;
        p->ahead = best.sec;
        p->best = of[i];
        of[i] = best;
        pool_look_beyond(p, SYN_BEYOND_OTHERS_WORK);
        const candidate looked = p->best;
        if (best.sec <= looked.sec) {
            p->best = best;
            of[i] = looked;
        }
    }
    p->ahead = HUGE_VAL;
}

double pool_when_it_wins(pool *p, const candidate *c)
{
    const candidate best = p->best;
    const hb_str dumps = c->program->dumps;
    candidate x = *c;
    pool_share_moves(p, &x);
    pool_pick_forms(p, &x);
    p->best = best;
    c->program->dumps = dumps; // both come again in the plan that wins
    if (pool_is_large(p)) return x.sec;
    hb_arena *a = hb_arena_new();
    x.program = syn_program_copy(a, x.program);
    pool_roll(&x);
    pool_search_locally(p, &x);
    hb_arena_free(a);
    return x.sec;
}

// What is done for the plan that wins alone takes nothing away from some plans and much from
// others: of those that are near the best, the one that takes least behind that. of[n]: others.
static void find_rival(pool *p, candidate *of, int n)
{
    p->rival = (candidate){0};
    if (!p->best.program || p->g->few_of || p->doubtful) return;
    double far = SYN_NEAR_WON * p->best.sec;
    for (int i = 0; i < n && !pool_out_of_time(p); i++) {
        if (of[i].sec > far || of[i].program == p->best.program) continue;
        double sec = pool_when_it_wins(p, &of[i]);
        if (p->rival.program && sec >= p->rival_sec) continue;
        if (of[i].share > SYN_SURELY_FITS) pool_settle(p, &of[i]);
        if (!of[i].fits) continue;
        p->rival = of[i];
        p->rival_sec = sec;
    }
}

void pool_finish_meshes(pool *p)
{
    candidate of[SYN_FINISHED + 3];
    int n = 0;
    bool quick = !p->g->few_of;
    double before = others_unfinished(p), work = p->work;
    if (p->best.program) before = fmin(before, p->best.sec);
    int most = pool_is_long(p) ? SYN_FINISHED_LONG : SYN_FINISHED;
    if (p->n_of_mesh > 1) qsort(p->of_mesh, (size_t)p->n_of_mesh, sizeof *of, faster_plan);
    if (p->n_of_mesh > most) p->n_of_mesh = most;
    for (int i = 0; i < p->n_of_mesh && p->best.program; i++)
        if (p->of_mesh[i].program != p->best.program) of[n++] = p->of_mesh[i];
    if (p->of_strategy.program && p->best.program && p->of_strategy.program != p->best.program)
        of[n++] = p->of_strategy;
    bool all = p->of_all.program && p->best.program && p->of_all.program != p->best.program;
    for (int i = 0; i < n; i++)
        all = all && p->of_all.program != of[i].program;
    if (all) of[n++] = p->of_all;
    if (n > 1) qsort(of, (size_t)n, sizeof *of, faster_plan);
    p->most_of_mesh = 0;
    p->ahead = HUGE_VAL;
    p->also = of; // a plan that another one takes the lead of is none of a mesh's best
    p->n_also = n;
    n = fix_first(p, of, n, others_unfinished(p));
    if (n > 1) qsort(of, (size_t)n, sizeof *of, faster_plan);
    bool early = p->best.program && p->best.space->strategy != SYN_AUTO;
    finish_best(p);
    bool light = p->work - work < SYN_FINISH_LIGHT * syn_work(p->opt);
    early = early || light;
    double near = p->best.priced ? SYN_FINISH_FAR_LIGHT : SYN_FIX_FIRST_NEAR,
           far = light ? SYN_FIX_FIRST_FAR : SYN_FINISH_FAR;
    // Where memory costs much another variant of the step will do better; among few layers, where
    // it costs anything.
    bool costs = p->g->few_of ? p->best.priced : !light && p->best.sec > far * p->quickest;
    if (costs) n = 0;
    for (int i = 0; i < n && !pool_out_of_time(p); i++) {
        const candidate best = p->best;
        double than = early ? before : pool_best_known(p), done = p->work;
        bool counts = of[i].sec <= near * than;
        if (of[i].sec > far * than) break;
        p->ahead = pool_is_long(p) ? best.sec : fmax(before, best.sec);
        p->aside[0] = best.arena;
        finish_with_discounts(p, of[i]);
        of[i] = p->best;
        if (best.sec <= p->best.sec)
            p->best = best;
        else
            of[i] = best;
        p->aside[0] = NULL;
        if (!counts) p->work = done;
    }
    p->ahead = HUGE_VAL;
    bool behind = p->best.program && p->best.sec > SYN_FIX_BEHIND * others_unfinished(p);
    if (quick && !behind) {
        pool_look_beyond(p, SYN_BEYOND_WORK);
        if (light) look_beyond_others(p, of, n);
    }
    fix_states(p, others_unfinished(p), FIX_EVEN_CUTS);
    find_rival(p, of, n);
    pool_forget_meshes(p);
}

void pool_finish_found(pool *p, const candidate *one, const candidate *two)
{
    const candidate held[] = {*one, *two};
    if (p->opt->lead) return;
    p->also = held;
    p->n_also = 2;
    fix_states(p, others_unfinished(p), FIX_ALL);
    if (!p->g->few_of) pool_look_beyond(p, SYN_BEYOND_FOUND);
    p->also = NULL;
    p->n_also = 0;
}
