#include "synth/search/simulated.h"

#include <math.h>

#include "synth/passes/passes.h"
#include "synth/plan/liveness.h"
#include "synth/price/moves.h"
#include "synth/search/boards.h"
#include "synth/search/settle.h"
#include "synth/search/slack.h"

// AS_LOWERED: every collective is waited for at once. IN_ORDER: they start in the program's order.
// The others: scheduled, in such buckets.
typedef enum {
    AS_LOWERED = -2,
    IN_ORDER = -1,
    SCHEDULED = SYN_BUCKETS,
    IN_SMALL_BUCKETS = SYN_BUCKETS_SMALL,
    PUTS_ALONE = SYN_BUCKETS_PUTS_ALONE
} scheduling;

// Makes a program of a choice, finishes it for a simulation and places it where memory is near.
static candidate simulate(pool *p, hb_arena *arena, const syn_space *space,
                          const syn_choice *choice, scheduling how)
{
    syn_making x = {.arena = arena,
                    .costs = p->b->costs,
                    .space = space,
                    .choice = choice,
                    .buckets = how < 0 ? SYN_BUCKETS : (syn_buckets)how,
                    .in_order = how == IN_ORDER,
                    .paired_sec = HUGE_VAL};
    syn_passes_run(&x, SYN_PASS_LOWER, SYN_PASS_LOWER);
    if (how != AS_LOWERED)
        syn_passes_run(&x, SYN_PASS_PLACE_WAITS, SYN_PASS_WAIT_EARLY);
    else
        x.share = syn_live_share(x.program, false);
    // With pairs, if they may make it the best plan or it is to be reported. Rows that are fused
    // save about the same in all plans, hence plans are compared before.
    bool all = p->enough <= 0 || space->strategy != SYN_AUTO;
    x.enough = all ? HUGE_VAL : SYN_PAIR_SLACK * p->enough;
    if (x.share <= 1 && !p->opt->no_pairs) syn_passes_run(&x, SYN_PASS_OVERLAP, SYN_PASS_OVERLAP);
    syn_passes_run(&x, SYN_PASS_FUSE, SYN_PASS_SIMULATE);
    candidate c = {.program = x.program,
                   .paired = x.paired,
                   .paired_alone = x.paired_sec,
                   .sec = x.sec,
                   .timeline = x.timeline,
                   .additive = x.additive,
                   .in_order_less = x.in_order_less};
    c.share = syn_live_share(c.program, false);
    c.fits = c.share <= SYN_ROOMY;
    bool roomy = c.fits;
    pool_settle_if_near(p, &c);
    p->careful = p->careful || (roomy && !c.fits); // others may look so, too
    if (p->opt->progress) p->opt->progress(p->opt->progress_ctx);
    if (p->opt->log)
        fprintf(p->opt->log,
                "%.3f s: %s on %s of %d ranks: %.6g ms, %.0f %% of the fullest memory\n",
                pool_now() - p->begin, syn_strategy_name(space->strategy),
                c.program->mesh->n_axes == 1 ? "one axis" : "machines x devices",
                c.program->mesh->n_ranks, c.sec * 1e3, c.share * 100);
    // After few layers, where there is a plan, other variants are planned only if asked for.
    bool settled = p->best.program && p->opt->after_few && !p->opt->vary_blocks;
    if (p->opt->simulated && !settled) p->opt->simulated(p->opt->simulated_ctx, c.program, c.sec);
    return c;
}

// What sums travel as in a program.
typedef struct sums {
    bool buckets, puts;
} sums;

static sums sums_of(const syn_program *p)
{
    sums s = {false, false};
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START || in->coll != COST_ALL_REDUCE) continue;
        s.buckets = s.buckets || in->n_in > 1;
        s.puts = s.puts || cost_is_put(in->form);
    }
    return s;
}

// Of this variant of the step alone: with pairs a plan may win that is behind another one without.
static double best_here(const pool *p)
{
    return p->best.program ? p->best.sec : 0;
}

// May a plan be the best, if what it loses, `loses`, is as much less as it was in others lately, a
// share `won`? That matters where many are simulated that are nothing if they do not lead.
static bool may_lead(const pool *p, const candidate *c, double loses, double won)
{
    double best = best_here(p);
    return best <= 0 || c->sec - loses * (p->only_leads ? won : 1) <= best;
}

// Another way of the same plan took it from `before` to its present time.
static void note_won(double *won, const candidate *c, double before, double loses)
{
    double share = loses > 0 ? (before - c->sec) / loses : 0;
    *won = fmin(1, fmax(*won * SYN_WON_FADES, SYN_WON_MORE * share));
}

static double waits_of(const candidate *c)
{
    return c->timeline.comm - c->timeline.hidden;
}

// Does a plan wait so long for buckets that with small ones it may be the best?
static bool small_buckets_may_help(const pool *p, const candidate *c)
{
    double waits = waits_of(c);
    if (c->share > 1 || waits < SYN_TAIL_WAITS * c->sec) return false;
    if (ir_step_nodes(p->g) > SYN_MANY_NODES || !may_lead(p, c, waits, p->won_by_buckets))
        return false;
    return sums_of(c->program).buckets;
}

double pool_taken(const pool *p, const syn_program *prog)
{
    double sec = 0;
    for (int i = 0; i < prog->instr.n; i++) {
        const syn_instr *in = &prog->instr.p[i];
        if (in->kind != SYN_START) continue;
        sec += in->sec[0] * p->b->costs->taken[in->axes][cost_is_put(in->form)];
    }
    return sec;
}

double pool_least_waits(const pool *p)
{
    int n = ir_step_nodes(p->g);
    // Between these two searches take long, and states are fixed behind them all the same.
    bool little = n <= SYN_MANY_NODES || n > SYN_LARGE;
    return little && !p->g->few_of ? SYN_HIDE_LITTLE : SYN_HIDE_WAITS;
}

// Do its collectives take so much from computing that in other forms it may be the best? Few layers
// do not promise what is not looked for in the whole.
static bool other_forms_may_help(const pool *p, const candidate *c)
{
    double takes = pool_taken(p, c->program);
    if (c->share > 1 || p->g->few_of || takes < pool_least_waits(p) * c->sec) return false;
    return ir_step_nodes(p->g) <= SYN_MANY_NODES && may_lead(p, c, takes, p->won_by_forms);
}

// The same choice in another way: *c becomes the better of both.
static void or_this(candidate *c, candidate x)
{
    candidate other = *c;
    if (x.sec < c->sec && x.fits >= c->fits) {
        *c = x;
        x = other;
    }
    if (x.paired && (!c->paired || x.paired_alone < c->paired_alone)) { // with pairs, by itself
        c->paired = x.paired;
        c->paired_alone = x.paired_alone;
    }
}

candidate pool_simulate(pool *p, hb_arena *arena, syn_space *space, const syn_choice *choice)
{
    static const double price[] = {SYN_HIDDEN};
    const syn_slack *slack = space->slack;
    p->b->costs->no_put = p->no_put;
    candidate c = simulate(p, arena, space, choice, SCHEDULED);
    bool takes = p->other_forms && !syn_taking(slack) && other_forms_may_help(p, &c);
    const syn_program *from = c.program;
    double before = c.sec, loses = takes ? pool_taken(p, from) : 0;
    for (int i = 0; takes && i < 2 && !pool_out_of_time(p); i++) {
        space->slack =
            syn_slack_of(arena, from, space->kinds, (syn_hiding){.price = price[i], .takes = true});
        or_this(&c, simulate(p, arena, space, choice, SCHEDULED));
    }
    if (takes) note_won(&p->won_by_forms, &c, before, loses);
    bool waits = small_buckets_may_help(p, &c);
    before = c.sec;
    loses = waits_of(&c);
    for (int how = IN_SMALL_BUCKETS; waits && how <= PUTS_ALONE; how++) {
        if (pool_out_of_time(p) || (how == PUTS_ALONE && !sums_of(c.program).puts)) break;
        or_this(&c, simulate(p, arena, space, choice, (scheduling)how));
    }
    if (waits) note_won(&p->won_by_buckets, &c, before, loses);
    space->slack = slack;
    double additive = c.additive;
    bool looked = c.settled || c.share > 1;
    if (!c.fits && c.settled && c.in_order_less) {
        candidate less = simulate(p, arena, space, choice, IN_ORDER);
        if (less.fits) c = less;
    }
    if (!c.fits && looked && c.program->has_sym && syn_live_share(c.program, true) <= 1) {
        // Two segments take more than one: what one of them leaves free the other cannot use.
        p->b->costs->no_put = true;
        c = simulate(p, arena, space, choice, SCHEDULED);
        p->b->costs->no_put = false;
    }
    if (!c.fits && p->spare) {
        // As lowered: nothing is in flight beside anything.
        p->b->costs->no_put = true;
        candidate still = simulate(p, arena, space, choice, AS_LOWERED);
        if (still.fits || still.share < c.share) c = still;
    }
    p->b->costs->no_put = false;
    c.arena = arena;
    c.space = space;
    c.additive = additive;
    c.choice = *choice;
    return c;
}

void pool_simulate_again(pool *p, hb_arena *arena, const candidate *plan)
{
    candidate c = pool_simulate(p, arena, plan->space, &plan->choice);
    c.priced = plan->priced;
    c.exact = plan->exact;
    c.lower = plan->lower;
    pool_offer(p, &c);
}

bool pool_other_forms(pool *p)
{
    const candidate known[] = {p->best, p->paired};
    p->other_forms = true;
    for (int i = 0; i < 2 && !pool_out_of_time(p); i++) {
        const candidate *k = &known[i];
        if (!k->program || (i > 0 && k->space == known[0].space)) continue;
        // While a second plan is finished, what leads with pairs was looked at with the first.
        if (i > 0 && isfinite(p->ahead)) continue;
        p->b = pool_board_of(p, k->space->mesh);
        pool_simulate_again(p, k->arena, k);
    }
    return p->best.program != known[0].program || p->paired.program != known[1].program;
}
