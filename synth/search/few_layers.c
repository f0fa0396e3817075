// The plan of a step (syn_plan). A large one is searched among few of its layers first (ir/fold.h);
// what was found there is where the search among all begins.

#include <math.h>
#include <string.h>

#include "ir/fold.h"
#include "synth/passes/workspace.h"
#include "synth/plan/liveness.h"
#include "synth/price/move_prices.h"
#include "synth/search/blocks.h"
#include "synth/search/candidates.h"
#include "synth/search/known_choices.h"
#include "synth/search/planner.h"

static bool same_place(const ending *x, const ending *y)
{
    const syn_mesh *a = x->lead.mesh, *b = y->lead.mesh;
    return a->n_axes == b->n_axes && a->n_ranks == b->n_ranks &&
           memcmp(a->cluster_rank, b->cluster_rank, sizeof *a->cluster_rank * (size_t)a->n_ranks) ==
               0;
}

// Is there work left for what is not the best among few layers?
static bool is_light(const planner *p)
{
    return p->effort->work <= SYN_WORK_NEAR * syn_work(p->o);
}

// What an ending promises. How many blocks a plan keeps is found behind it: few layers know no more
// than shares of them.
static double promise_of(const planner *few, const ending *e, bool paired)
{
    return e->sec[paired] * (planner_count(few, e->again) > 0 ? 1 - SYN_BLOCKS_GAIN : 1);
}

// Of the first n endings one that may be the best, that which promises most, of plans without pairs
// or with them. Not one on the same devices with as many chunks as one before. Where the whole
// takes longer than promised, or there is work left, one that promises nearly as much as was found
// may do better. -1: none.
static int next_ending(const planner *whole, const planner *few, const bool *done, int n,
                       bool paired)
{
    bool kept =
        planner_fits(whole) && whole->plain_sec <= few->plain_sec * SYN_PROMISE && !is_light(whole);
    double gain = kept ? 1 + SYN_WISH_GAIN : 1 - SYN_WISH_GAIN, beat = planner_to_beat(whole),
           least = HUGE_VAL;
    if (paired) gain = 1 + SYN_FEWER_WORTH;
    if (paired && whole->any && whole->best.status == SYN_OK)
        beat = fmin(beat, whole->best.predicted_sec);
    int next = -1;
    for (int i = 0; i < n; i++) {
        const ending *e = &few->endings.p[i];
        double sec = promise_of(few, e, paired);
        bool skip = done[i] || !isfinite(sec) || sec * gain > beat;
        for (int k = 0; k < n && !skip; k++) {
            const ending *x = &few->endings.p[k];
            skip = done[k] && isfinite(x->sec[paired]) && x->chunks == e->chunks &&
                   x->lead.memory_first == e->lead.memory_first && same_place(x, e) &&
                   (!paired || x->sec[1] == e->sec[1]);
        }
        if (skip || sec >= least) continue;
        least = sec;
        next = i;
    }
    return next;
}

// Is there no room beside the best plan among few layers for what a runtime holds beside the arena?
static bool short_of_workspace(const planner *few)
{
    if (!planner_fits(few)) return false;
    hb_arena *scratch = hb_arena_new();
    syn_program *prog = hb_copy(scratch, few->plain, sizeof *few->plain);
    syn_workspace_expected(prog);
    bool is = syn_live_share(prog, false) > SYN_FEW_FIT;
    hb_arena_free(scratch);
    return is;
}

// The blocks asked for, among few layers: where most that a block stands for are.
static const bool *asked_of_few(hb_arena *a, const ir_graph *few, int n_blocks, const bool *again)
{
    int *votes = HB_ARRAY(a, int, few->n_blocks + 1);
    bool *own = HB_ARRAY(a, bool, few->n_blocks + 1);
    for (int b = 0; b < n_blocks; b++)
        votes[few->few_of[b]] += again[b] ? 1 : -1;
    for (int b = 0; b < few->n_blocks; b++)
        own[b] = votes[b] > 0;
    return own;
}

// Where less fits than few layers promised: all blocks computed again, from where that ends.
static void all_again(planner *p, planner *few, const ending *e)
{
    int n = p->step->n_blocks;
    bool *all = HB_ARRAY(p->a, bool, n + 1);
    memset(all, true, (size_t)n);
    if (p->plain->g->recomputed.n == n) return;
    int64_t chunks = planner_chunks(p->plain->g);
    syn_lead lead = e->lead;
    int first = few->endings.n;
    planner_plan(few, chunks, all, NULL);
    if (few->endings.n > first) lead = few->endings.p[first].lead;
    planner_plan(p, chunks, all, &lead);
}

static bool memory_costs(const planner *p) // much
{
    return p->best.tight && p->plain_sec > SYN_FINISH_FAR * p->quickest;
}

// Blocks computed again that may be kept beyond `now` in `share` of every capacity, if live bytes
// go on as they did from `before`, which computes more of them again.
static int may_keep(const syn_program *before, const syn_program *now, double share)
{
    double used[CL_MAX_CLASSES], was[CL_MAX_CLASSES];
    int kept = before->g->recomputed.n - now->g->recomputed.n, more = now->g->recomputed.n;
    syn_live_bytes(now, used);
    syn_live_bytes(before, was);
    for (int c = 0; c < now->mesh->n_classes; c++) {
        double room = share * (double)now->cluster->cls[now->mesh->cluster_class[c]].capacity;
        if (used[c] <= was[c]) continue;
        more = (int)fmin(more, fmax(room - used[c], 0) / (used[c] - was[c]) * kept);
    }
    return more;
}

// Plans with `more` of the blocks kept, the last ones. Whether that is better.
static bool keep_last(planner *p, const bool *again, int more, const syn_lead *lead)
{
    bool *own = hb_copy(p->a, again, (size_t)p->step->n_blocks + 1);
    for (int b = p->step->n_blocks - 1; b >= 0 && more > 0; b--) {
        more -= own[b];
        own[b] = false;
    }
    return planner_plan(p, planner_chunks(p->plain->g), own, lead);
}

// A block of few layers stands for several: of those that the best plan computes again as many are
// kept as seem to find room, where the search among few layers ended. Then, by these two plans, as
// many more as shardings may find room for, or if that is no better, as there is room for.
static void keep_more(planner *p, const syn_lead *lead)
{
    static const double share[] = {SYN_WISH_SHARES};
    const syn_program *first = p->plain;
    if (!planner_fits(p) || planner_is_over(p)) return;
    ir_again parts = ir_again_of(p->a, first->g);
    syn_blocks b = syn_blocks_of(p->a, first, &parts);
    bool *again = HB_ARRAY(p->a, bool, b.n + 1);
    int before = planner_count(p, b.again);
    for (size_t i = 0; i < sizeof share / sizeof *share && p->plain == first; i++) {
        double sec;
        if (!syn_blocks_choose(&b, share[i], again, &sec) || planner_count(p, again) >= before)
            return;
        planner_plan(p, planner_chunks(first->g), again, lead);
    }
    if (p->plain == first || planner_is_over(p)) return;
    int less = may_keep(first, p->plain, 1), more = may_keep(first, p->plain, SYN_GIVE_UP_SIZE);
    if (more > 0 && !keep_last(p, again, more, lead) && less > 0 && less < more)
        (void)keep_last(p, again, less, lead);
}

static bool same_variant(const planner *few, const ending *x, const ending *e)
{
    return x->chunks == e->chunks && memcmp(x->again, e->again, (size_t)few->step->n_blocks) == 0;
}

// Is one of the first n endings that are done of the same variant?
static bool planned_before(const planner *few, const bool *done, int n, const ending *e)
{
    bool is = false;
    for (int i = 0; i < n; i++)
        is = is || (done[i] && same_variant(few, &few->endings.p[i], e));
    return is;
}

// The lead of an ending, and behind it those of the same variant on other meshes, in any order.
static const syn_lead *leads_of(const planner *p, const planner *few, const ending *e)
{
    syn_lead *list = hb_copy(p->a, &e->lead, sizeof e->lead);
    for (int i = 0; i < few->endings.n; i++) {
        const ending *x = &few->endings.p[i];
        bool other = same_variant(few, x, e) && !same_place(x, e) &&
                     x->lead.memory_first == e->lead.memory_first && isfinite(x->sec[0]);
        if (!other) continue;
        syn_lead *lead = hb_copy(p->a, &x->lead, sizeof x->lead);
        lead->next = list->next;
        list->next = lead;
    }
    return list;
}

// The blocks that an ending computes again, of the whole.
static void blocks_of(const planner *p, const planner *few, const ending *e, bool *again)
{
    for (int b = 0; b < p->step->n_blocks; b++)
        again[b] = e->again[few->step->few_of[b]];
}

// A lead is a way into memory that few layers found, each of which stands for several. Where memory
// costs much all the same, the variant that it led to is searched whole, too, from no lead.
static void plan_without_lead(planner *p)
{
    if (!memory_costs(p) || planner_is_over(p) || planner_is_tired(p, SYN_WORK_WHOLE)) return;
    p->beside = true;
    planner_plan(p, planner_chunks(p->plain->g), planner_again(p), NULL);
    p->beside = false;
}

// Behind a plan with blocks computed again that an ending led to: more of them, or fewer.
static void plan_other_blocks(planner *p, planner *few, const ending *e)
{
    p->beside = p->plain_sec <= e->sec[0] * SYN_PROMISE;
    if (p->beside)
        keep_more(p, &e->lead);
    else
        all_again(p, few, e);
    p->beside = false;
}

// Endings, planned whole: those of plans without pairs, each with what it leads to, then those of
// plans with them.
static void plan_endings(planner *p, planner *few)
{
    int all = few->endings.n; // other blocks have endings of their own
    bool *done = HB_ARRAY(p->a, bool, all + 1);
    bool *again = HB_ARRAY(p->a, bool, p->step->n_blocks + 1);
    for (int paired = 0; paired < 2; paired++)
        for (int n = 0; n < SYN_ENDINGS - paired; n++) {
            int next = next_ending(p, few, done, all, paired);
            if (next < 0) break;
            const ending e = few->endings.p[next];
            blocks_of(p, few, &e, again);
            p->beside = p->best.status == SYN_OK && planned_before(few, done, all, &e);
            done[next] = true;
            const syn_lead *lead = is_light(p) && !p->beside ? leads_of(p, few, &e) : &e.lead;
            bool led = planner_plan(p, e.chunks, p->o->again ? p->o->again : again, lead);
            p->beside = false;
            if (!led || paired) continue;
            plan_without_lead(p);
            if (!p->o->again && p->plain->g->recomputed.n > 0) plan_other_blocks(p, few, &e);
        }
}

// The problem of few layers; where that ends, the whole begins. wary: what a runtime holds beside
// the arena counts among few layers in both orders, and an arena may take more than the live bytes.
// Whether it is worth another look. few_step: ir_fold of p->step.
static bool plan_from_few(planner *p, ir_graph *few_step, bool wary)
{
    syn_options quick = *p->o;
    quick.baselines = false;
    quick.after_few = false;
    quick.wary = wary;
    const bool *asked = p->o->again;
    if (asked) quick.again = asked_of_few(p->a, few_step, p->step->n_blocks, asked);
    if (quick.time_limit_sec > 0) // the rest is for all layers
        quick.time_limit_sec = SYN_FEW_TIME * planner_time_left(p);
    planner few = planner_of(p->a, few_step, p->m, &quick);
    few.effort = p->effort;
    if (planner_is_over(p) || planner_is_tired(p, 1)) return false;
    planner_variants(&few);
    planner_sets(&few);
    planner_rest(&few);
    p->spent += few.spent;
    p->hopeless = few.hopeless;
    if (p->hopeless) return false;
    plan_endings(p, &few);
    p->kept = planner_fits(p) && planner_fits(&few) && p->plain_sec <= few.plain_sec * SYN_PROMISE;
    return !p->kept && !wary && short_of_workspace(&few);
}

// The step with so few of its layers that it is no large one, as many as may be of them; or where
// none is so small, with the fewest, if these are less than half of it. NULL: all are searched.
static ir_graph *few_layers_of(hb_arena *a, const ir_graph *step)
{
    ir_graph *few = NULL;
    for (int alike = 0; alike < 2; alike++)
        for (int keep = SYN_FEW_LAYERS; keep > 0; keep--) {
            ir_graph *x = ir_fold(a, step, keep, alike);
            if (x && x->nodes.n <= SYN_LARGE) return x;
            if (x && (!few || x->nodes.n < few->nodes.n)) few = x;
        }
    return few && 2 * few->nodes.n < step->nodes.n ? few : NULL;
}

static syn_result result_of(planner *p)
{
    p->best.plan_sec = p->spent;
    p->best.work = p->effort->work;
    p->best.cut_short = p->effort->cut_short;
    return p->best;
}

static syn_result none_worth(const planner *p)
{
    return (syn_result){.status = SYN_INFEASIBLE,
                        .why = hb_fmt(p->a, "no plan takes less than %.6g ms", p->bar * 1e3),
                        .plan_sec = p->spent};
}

// States fixed in a plan, where that leaves it better than the best. Whether there was work left.
static bool finish_plan(planner *p, const syn_result *was)
{
    if (planner_is_over(p)) return false;
    if (!planner_may_finish(p, was)) {
        p->effort->cut_short = true;
        return false;
    }
    syn_options *o = hb_copy(p->a, was->ended->opt, sizeof *p->o);
    o->ended = was->ended;
    o->baselines = false;
    o->known = NULL; // all is as if there were no other variants
    o->simulated = NULL;
    if (o->time_limit_sec > 0) o->time_limit_sec = planner_time_left(p);
    syn_result r = syn_synthesize(p->a, was->program->g, was->program->f, p->m, o);
    p->spent += r.plan_sec;
    p->effort->work += r.work;
    if (o->log)
        fprintf(o->log, "states fixed in a plan of %.6g ms: %.6g ms; %.3g million states so far\n",
                was->predicted_sec * 1e3, r.status == SYN_OK ? r.predicted_sec * 1e3 : -1,
                p->effort->work / 1e6);
    if (r.status != SYN_OK || r.predicted_sec >= p->best.predicted_sec) return true;
    memcpy(r.baseline_sec, p->best.baseline_sec, sizeof r.baseline_sec);
    r.others = p->best.others;
    p->best = r;
    return true;
}

// The best plan of a large step and the next, if that is near, with states fixed: last of all, as a
// finished plan leaves no room for other numbers of blocks. Small steps have them fixed as each
// search ends.
static void finish_best(planner *p)
{
    const syn_result best = p->best, next = p->next;
    if (best.status != SYN_OK || !best.ended || !p->large) return;
    bool near = next.ended && next.predicted_sec <= best.predicted_sec * (1 + SYN_FINISH_NEXT);
    if (finish_plan(p, &best) && near) finish_plan(p, &next);
}

static syn_result plan_once(hb_arena *a, ir_graph *step, const cost_model *m,
                            const syn_options *options)
{
    syn_options *o = hb_copy(a, options, sizeof *options);
    o->time_limit_sec *= SYN_SEARCH_TIME; // the rest is for placing and proving
    o->prices = syn_move_prices_new(a);
    o->choices = syn_known_choices_new(a);
    struct effort effort = {0};
    planner p = planner_of(a, step, m, o);
    p.effort = &effort;
    bool may_fold = o->strategy == SYN_AUTO && !o->pins && step->nodes.n > SYN_LARGE;
    ir_graph *few = may_fold ? few_layers_of(a, step) : NULL;
    o->after_few = few != NULL;
    if (few && plan_from_few(&p, few, false)) plan_from_few(&p, few, true);
    if (p.hopeless) return none_worth(&p);
    if (!few ||
        !(p.kept || (planner_fits(&p) && (planner_is_over(&p) || planner_is_tired(&p, 1))))) {
        planner whole = planner_of(a, step, m, o);
        whole.begin = p.begin;
        whole.effort = &effort;
        whole.spent = p.spent;
        planner_variants(&whole);
        planner_sets(&whole);
        planner_rest(&whole);
        whole.kept = p.kept;
        if (!planner_fits(&p) ||
            (planner_fits(&whole) && whole.best.predicted_sec < p.best.predicted_sec))
            p = whole;
        p.spent = whole.spent;
    }
    if (p.bar > 0 && !(p.any && p.best.status == SYN_OK && p.best.predicted_sec < p.bar))
        return none_worth(&p);
    finish_best(&p);
    return result_of(&p);
}

// The same with more effort than `o` has; *best if nothing faster is found.
static void plan_more(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *o,
                      syn_result *best)
{
    hb_arena *own = hb_arena_new();
    syn_result r = plan_once(own, step, m, o);
    double sec = best->plan_sec + r.plan_sec, work = best->work + r.work;
    if (r.status == SYN_OK && r.predicted_sec < best->predicted_sec) {
        *best = r;
        best->effort = o->effort;
        best->first_draw = o->first_draw;
        hb_arena_join(a, own);
        best->program->arena = a;
    } else {
        hb_arena_free(own);
    }
    best->plan_sec = sec;
    best->work = work;
}

syn_result syn_plan(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *options)
{
    syn_options o = *options;
    double begin = pool_now();
    o.effort = 1;
    syn_result best = plan_once(a, step, m, &o);
    // More work may end elsewhere, at a slower plan: what takes less is tried as well.
    while (o.effort < options->effort && best.status == SYN_OK &&
           !(o.interrupted && *o.interrupted)) {
        double left = options->time_limit_sec - (pool_now() - begin);
        if (options->time_limit_sec > 0 && left <= SYN_LEAST_TIME) break;
        if (options->time_limit_sec > 0) o.time_limit_sec = left;
        o.effort = fmin(SYN_EFFORT_STEP * o.effort, options->effort);
        o.first_draw += SYN_EFFORT_DRAWS;
        plan_more(a, step, m, &o, &best);
    }
    return best;
}
