#include "synth/search/candidates.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "synth/passes/overlap_pairs.h"
#include "synth/plan/liveness.h"
#include "synth/price/moves.h"
#include "synth/search/free_memory.h"
#include "synth/search/known_choices.h"
#include "synth/search/prove.h"
#include "synth/search/settle.h"
#include "synth/search/slack.h"
#include "synth/space/space_build.h"
#include "synth/space/space_solve.h"

double pool_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool pool_out_of_time(const pool *p)
{
    return (p->opt->interrupted && *p->opt->interrupted) ||
           (p->deadline > 0 && pool_now() > p->deadline) ||
           (p->most_work > 0 && p->work > p->most_work);
}

// Pairs of a program whose equal conversions are made once: another candidate with pairs.
static void pair_shared(pool *p, const candidate *c)
{
    syn_program bare = *c->program;
    memset(&bare.fusions, 0, sizeof bare.fusions);
    candidate x = *c;
    double alone;
    x.program = syn_with_pairs(&bare, pool_board_of(p, c->space->mesh)->costs, HUGE_VAL, &alone);
    if (!x.program) return;
    pool_run_passes(&x, SYN_PASS_FUSE, SYN_PASS_SIMULATE);
    x.share = syn_live_share(x.program, false);
    x.fits = x.share <= SYN_ROOMY;
    x.settled = false;
    pool_settle_if_near(p, &x);
    if (x.fits && (!p->paired.program || x.sec < p->paired.sec)) p->paired = x;
}

void pool_share_moves(pool *p, candidate *c)
{
    candidate *known[] = {&p->best, &p->paired}, before = *c;
    if (!c->program || c->rolled || c->placed) return;
    pool_run_passes(c, SYN_PASS_SHARE_MOVES, SYN_PASS_SHARE_MOVES);
    if (c->program == before.program) return;
    c->share = syn_live_share(c->program, false);
    c->settled = false;
    if (before.settled || c->share > SYN_SURELY_FITS) pool_settle(p, c);
    if (before.fits && !c->fits) {
        *c = before;
        pool_run_passes(c, SYN_PASS_FUSE, SYN_PASS_FUSE);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (known[i]->program == before.program) *known[i] = *c;
    if (!p->opt->no_pairs && c->program->pairs.n == 0) pair_shared(p, c);
}

// May it lead? Once plans are doubted: is it proved?
static bool admitted(pool *p, candidate *c)
{
    if (!p->doubtful) return true;
    if (c->fits) pool_place(c);
    return c->fits && syn_prove(p->arena, c->program, p->opt, &p->rejected);
}

// The whole may hold a little less than few layers seem to.
static void note_near(pool *p, const candidate *c, double sec)
{
    if (!p->g->few_of || c->fits || c->share > SYN_FEW_NEAR) return;
    if (p->near.sec <= 0 || sec < p->near.sec)
        p->near = (struct syn_end){sec, pool_lead_of(p, c->space)};
}

static void offer_paired(pool *p, candidate *c)
{
    candidate x = *c;
    x.program = c->paired;
    x.paired = NULL;
    x.rolled = x.placed = x.settled = false;
    pool_run_passes(&x, SYN_PASS_FUSE, SYN_PASS_SIMULATE);
    x.share = syn_live_share(x.program, false);
    x.fits = x.share <= SYN_ROOMY;
    pool_settle_if_near(p, &x);
    if (p->opt->log)
        fprintf(p->opt->log, "%.3f s: with pairs: %.6g ms, %.0f %% of the fullest memory\n",
                pool_now() - p->begin, x.sec * 1e3, x.share * 100);
    note_near(p, &x, x.sec);
    bool first = !p->paired.program || x.sec < p->paired.sec;
    if (!x.fits || (first && !admitted(p, &x))) return;
    c->sec_paired = x.sec;
    p->enough = p->enough > 0 ? fmin(p->enough, c->paired_alone) : c->paired_alone;
    if (first) p->paired = x;
}

// The fastest plan with each device, and without any of a class.
static void note_devices(pool *p, const candidate *c)
{
    double sec = fmin(c->fits ? c->sec : HUGE_VAL, c->sec_paired);
    const syn_mesh *m = c->program->mesh;
    const cl_cluster *all = p->m->cluster;
    bool used[CL_MAX_CLASSES] = {false};
    if (!p->with_sec || !isfinite(sec)) return;
    for (int r = 0; r < m->n_ranks; r++) {
        double *with = &p->with_sec[m->cluster_rank[r]];
        if (*with <= 0 || sec < *with) *with = sec;
        used[all->class_of[m->cluster_rank[r]]] = true;
    }
    for (int k = 0; k < all->n_classes; k++) {
        double *without = &p->without_sec[k];
        if (!used[k] && (*without <= 0 || sec < *without)) *without = sec;
    }
}

double pool_price_of(const pool *p, const syn_space *s)
{
    const cl_class *first = &p->m->cluster->cls[s->mesh->cluster_class[0]];
    return s->memory_price ? s->memory_price[0] * (double)first->capacity : 0;
}

syn_lead pool_lead_of(pool *p, const syn_space *s)
{
    const double *weight =
        hb_copy(p->arena, s->weight, sizeof *weight * (size_t)s->mesh->n_classes);
    return (syn_lead){.mesh = s->mesh,
                      .partitions = syn_partitions_copy(p->arena, s->partitions),
                      .weight = weight,
                      .price = pool_price_of(p, s),
                      .memory_first = p->opt->memory_first,
                      .strategy = s->strategy};
}

static void note_board(pool *p, const candidate *c)
{
    board *b = p->b;
    if (c->fits && (b->best <= 0 || c->sec < b->best)) {
        b->best = c->sec;
        b->best_price = pool_price_of(p, c->space);
        if (p->g->few_of) b->lead = pool_lead_of(p, c->space);
    }
    if (b->quickest <= 0 || c->sec < b->quickest) b->quickest = c->sec;
    bool named = c->space->strategy != SYN_AUTO;
    if (named && (b->named <= 0 || c->sec < b->named)) b->named = c->sec;
    double near = c->sec * pow(fmax(c->share, 1), SYN_SET_FULL);
    if (b->near <= 0 || near < b->near) b->near = near;
}

// On one mesh, and both of searches in which transfers may hide, or both of others.
static bool alike(const candidate *a, const candidate *b)
{
    return a->space->mesh == b->space->mesh && !a->space->slack == !b->space->slack;
}

// Among the fastest that are not alike?
static void note_mesh(pool *p, const candidate *c)
{
    candidate *of = p->of_mesh;
    int at = 0, slowest = 0;
    bool wanted = c->fits && c->space->mesh->n_ranks > 1,
         whole = c->space->mesh->n_ranks == p->m->cluster->n_ranks;
    if (!wanted || p->most_of_mesh == 0) return;
    if (c->space->strategy != SYN_AUTO) {
        if (!p->of_strategy.program || c->sec < p->of_strategy.sec) p->of_strategy = *c;
        return;
    }
    if (whole && (!p->of_all.program || c->sec < p->of_all.sec)) p->of_all = *c;
    while (at < p->n_of_mesh && !alike(&of[at], c)) {
        if (of[at].sec > of[slowest].sec) slowest = at;
        at++;
    }
    if (at == p->n_of_mesh) {
        if (at == p->most_of_mesh)
            at = slowest;
        else
            of[p->n_of_mesh++].sec = HUGE_VAL;
    }
    if (c->sec < of[at].sec) of[at] = *c;
}

void pool_offer(pool *p, candidate *c)
{
    if (p->quickest <= 0 || c->sec < p->quickest) p->quickest = c->sec;
    if (!c->fits && (p->unfit <= 0 || c->sec < p->unfit)) p->unfit = c->sec;
    if (!p->smallest.program || c->share < p->smallest.share) p->smallest = *c;
    bool first = c->fits && (!p->best.program || c->sec < p->best.sec);
    if (first && admitted(p, c)) p->best = *c;
    note_board(p, c);
    note_mesh(p, c);
    note_near(p, c, c->sec);
    c->sec_paired = HUGE_VAL;
    if (c->paired) offer_paired(p, c);
    note_devices(p, c);
}

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

static bool of_mesh(const pool *p, const hb_arena *x)
{
    if (x == p->of_strategy.arena || x == p->of_all.arena) return true;
    for (int i = 0; i < p->n_of_mesh; i++)
        if (p->of_mesh[i].arena == x) return true;
    for (int i = 0; i < p->n_also; i++)
        if (p->also[i].arena == x) return true;
    return false;
}

void pool_forget(pool *p, const candidate *one, const candidate *two)
{
    int n = 0;
    for (int i = 0; i < p->arenas.n; i++) {
        hb_arena *x = p->arenas.p[i];
        if (x == p->best.arena || x == p->paired.arena || x == p->smallest.arena ||
            (one && x == one->arena) || (p->held && x == p->held->arena) ||
            (two && x == two->arena) || x == p->aside[0] || x == p->aside[1] || x == p->whole ||
            of_mesh(p, x))
            p->arenas.p[n++] = x;
        else
            hb_arena_free(x);
    }
    p->arenas.n = n;
}

void pool_keep_all(pool *p, candidate *one, candidate *two)
{
    candidate *c[] = {&p->best, &p->paired, &p->smallest, one, two};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        if (c[i]->arena) {
            c[i]->program->arena = p->arena;
            c[i]->space->arena = p->arena;
            c[i]->arena = p->arena;
        }
    for (int i = 0; i < p->arenas.n; i++)
        hb_arena_join(p->arena, p->arenas.p[i]);
    p->arenas.n = 0;
}

// Smallest share of a tensor among states i of a list, by class.
static void least_share(const syn_space *s, int tensor, int state, double *least)
{
    const double *share = syn_state_shares(s->costs, &s->states[tensor]->s[state]);
    for (int c = 0; c < s->mesh->n_classes; c++)
        least[c] = fmin(least[c], share[c]);
}

// Do the parameters and moments fit at all? None of their states takes less than is counted here.
static bool homes_fit(pool *p, const syn_space *s)
{
    const syn_kinds *k = s->kinds;
    int classes = s->mesh->n_classes;
    hb_arena *a = hb_arena_new();
    double **of_kept = HB_ARRAY(a, double *, k->n_kept + 1);
    double **of_node = HB_ARRAY(a, double *, k->n_nodes + 1); // of its moments
    double need[CL_MAX_CLASSES] = {0};
    for (int t = 0; t < s->g->tensors.n; t++) {
        const ir_tensor *ten = &s->g->tensors.p[t];
        int u = s->first_use[t];
        if ((ten->kind != IR_PARAM && ten->kind != IR_STATE) || u == s->first_use[t + 1]) continue;
        int node = s->uses[u][0], in = s->uses[u][1];
        double **slot = ten->kind == IR_PARAM ? &of_kept[k->kept[t]] : &of_node[k->node[node]];
        if (!*slot) {
            *slot = HB_ARRAY(a, double, classes);
            for (int c = 0; c < classes; c++)
                (*slot)[c] = 1;
            if (ten->kind == IR_PARAM)
                for (int i = 0; i < s->keeps[t]->n; i++)
                    least_share(s, t, s->keeps[t]->keep[i].state, *slot);
            else
                for (int i = 0; i < s->shardings[node]->n; i++)
                    least_share(s, t, s->shardings[node]->sharding[i].in[in], *slot);
        }
        for (int c = 0; c < classes; c++)
            need[c] += (*slot)[c] * ir_tensor_times(s->g, t) *
                       (double)(ir_elements(ten) * ir_dtype_bytes(ten->dtype));
    }
    bool fit = true;
    for (int c = 0; c < classes && fit; c++) {
        const cl_class *cls = &p->m->cluster->cls[s->mesh->cluster_class[c]];
        fit = need[c] <= (double)cls->capacity;
        if (!fit)
            p->why = hb_fmt(p->arena,
                            "no plan fits in memory: parameters and moments alone need %.0f bytes "
                            "of %lld on %.*s",
                            need[c], (long long)cls->capacity, HB_ARG(cls->name));
    }
    hb_arena_free(a);
    return fit;
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
    bool small = ir_step_nodes(p->g) <= SYN_MANY_NODES && !p->g->few_of;
    return small ? SYN_HIDE_LITTLE : SYN_HIDE_WAITS;
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

// What a search chose: the next one that asks the same need not be solved.
struct solved {
    uint64_t key;
    syn_choice choice;
    double lower;
    double sec; // of its plan; 0: not simulated yet
    // Of a plan that is known by its numbers, whatever else was found since; share 0: none.
    double share, sec_paired, paired_alone;
    int states;
};

// Does a plan hang on nothing but its choice? In small graphs other forms and buckets are tried
// where that may make it the best; near a capacity the arena is asked of what leads.
static bool hangs_on_choice(const pool *p, double share)
{
    return ir_step_nodes(p->g) > SYN_MANY_NODES && share <= SYN_SURELY_FITS && !p->careful &&
           !p->spare && !p->doubtful;
}

static void note_numbers(const pool *p, struct solved *x, const candidate *c, int states)
{
    if (!hangs_on_choice(p, c->share)) return;
    x->share = c->share;
    x->sec_paired = c->sec_paired;
    x->paired_alone = c->paired_alone;
    x->states = states;
}

// A strategy's plan that was offered before, with pairs as without, and leads with neither: its
// numbers will do. The choice of `auto` goes on from its plans.
static bool say_again(pool *p, syn_strategy s, const struct solved *x, candidate *out)
{
    if (s == SYN_AUTO || !x || x->share <= 0 || !hangs_on_choice(p, x->share)) return false;
    if (!p->best.program || x->sec < p->best.sec) return false;
    bool paired = isfinite(x->sec_paired);
    if (paired && (!p->paired.program || x->sec_paired < p->paired.sec)) return false;
    if (paired) p->enough = p->enough > 0 ? fmin(p->enough, x->paired_alone) : x->paired_alone;
    p->work += x->states;
    *out = (candidate){.sec = x->sec,
                       .share = x->share,
                       .fits = true,
                       .sec_paired = x->sec_paired,
                       .paired_alone = x->paired_alone};
    return true;
}

// All that decides the space of a search, but for the variant, the mesh and its cuts.
static uint64_t asked_key(const pool *p, const search_options *o)
{
    const syn_costs *c = p->b->costs;
    int n_classes = p->b->mesh->n_classes, n = 0;
    double *x = HB_ARRAY(p->arena, double, n_classes + 9);
    x[n++] = (double)syn_strategy_like(o->strategy);
    x[n++] = (double)o->opt->copy_bytes;
    x[n++] = o->comm;
    x[n++] = o->price;
    x[n++] = o->gap;
    x[n++] = c->no_put;
    x[n++] = c->passing;
    x[n++] = o->slack ? o->slack->price : -1;
    x[n++] = o->slack && o->slack->takes;
    memcpy(x + n, o->weight, sizeof *x * (size_t)n_classes);
    uint64_t slack = 0;
    if (o->slack)
        slack = hb_hash_key(o->slack->sec, sizeof *o->slack->sec * (size_t)p->g->tensors.n);
    return hb_hash_key(x, sizeof *x * (size_t)(n + n_classes)) + 5 * slack;
}

static struct solved *solved_of(const board *b, uint64_t key)
{
    for (int i = 0; i < b->solved.n; i++)
        if (b->solved.p[i]->key == key) return b->solved.p[i];
    return NULL;
}

// Chooses shardings and states. false: there are none. key: of the search on its board, everywhere:
// of all searches of the step.
static bool solve(pool *p, const search_options *o, const syn_space *space, uint64_t key,
                  uint64_t everywhere, syn_choice *choice, double *lower)
{
    board *b = p->b;
    const struct solved *same = solved_of(b, key);
    if (same) {
        *choice = same->choice;
        *lower = same->lower;
        return true;
    }
    if (!syn_known_choice(p->opt->choices, p->arena, everywhere, space, choice, lower)) {
        const ms_tile **repeats = o->gap > 0 ? &b->repeats[o->strategy] : NULL;
        if (syn_space_near(p->arena, space, o->gap, &b->warm[o->strategy], repeats, choice,
                           lower) != MS_OPTIMAL) {
            hb_str clash = syn_space_clash(p->arena, space);
            if (clash.n) p->why = clash;
            return false;
        }
        syn_know_choice(p->opt->choices, everywhere, space, choice, *lower);
    }
    struct solved *s = HB_NEW(p->arena, struct solved);
    *s = (struct solved){.key = key, .choice = *choice, .lower = *lower};
    HB_PUSH(p->arena, &b->solved, s);
    p->n_solved++;
    return true;
}

static bool equal_choices(const syn_space *s, const syn_choice *a, const syn_choice *b)
{
    return memcmp(a->sharding, b->sharding, sizeof *a->sharding * (size_t)s->g->nodes.n) == 0 &&
           memcmp(a->keep, b->keep, sizeof *a->keep * (size_t)s->g->tensors.n) == 0;
}

// The search whose arena is the last, which chose what `like` did at other prices: the same plan.
static void take_again(pool *p, const candidate *like, syn_space *space, candidate *out)
{
    hb_arena_join(like->arena, p->arenas.p[--p->arenas.n]);
    *out = *like;
    space->arena = like->arena;
    out->space = space;
}

static void set_costs(pool *p, bool no_put, double passing, const syn_slack *slack)
{
    p->b->costs->no_put = no_put;
    p->b->costs->passing = passing;
    p->b->costs->slack = slack;
}

int pool_states(const syn_space *s)
{
    int n = 0;
    for (int v = 0; v < s->problem.n_vars; v++)
        n += s->problem.domain[v];
    return n;
}

// As pool_search. like, if not NULL: a plan at the same cuts, weights and options but for the
// price.
static bool search(pool *p, const search_options *o, const candidate *like, candidate *out)
{
    const syn_mesh *mesh = p->b->mesh;
    hb_arena *arena = hb_arena_new();
    HB_PUSH(p->arena, &p->arenas, arena);
    double *price = o->price > 0 ? HB_ARRAY(arena, double, mesh->n_classes) : NULL;
    for (int c = 0; price && c < mesh->n_classes; c++)
        price[c] = o->price / (double)p->m->cluster->cls[mesh->cluster_class[c]].capacity;
    // Where memory is short, one-sided puts are what a plan may have, and nothing that it rests on.
    set_costs(p, p->no_put || (o->price > 0 && !p->thrifty), p->spare ? 1.0 / p->g->nodes.n : 0,
              o->slack);
    uint64_t asked = asked_key(p, o), key = asked + 3 * syn_partitions_key(p->b->partitions);
    struct solved *known = solved_of(p->b, key);
    if (known && o->beat > 0 && known->sec >= o->beat && !p->careful && !p->spare) {
        set_costs(p, false, 0, NULL);
        *out = (candidate){.sec = HUGE_VAL};
        return true;
    }
    if (say_again(p, o->strategy, known, out)) {
        set_costs(p, false, 0, NULL);
        return true;
    }
    syn_space *space = syn_space_build(
        arena, p->b->costs, syn_partitions_copy(arena, p->b->partitions), o->strategy, o->opt,
        hb_copy(arena, o->weight, sizeof *o->weight * (size_t)mesh->n_classes), o->comm, price,
        &p->why);
    set_costs(p, false, 0, NULL);
    syn_choice choice;
    double lower = 0;
    if (space) space->problem.stop = p->stop;
    if (!space) p->why = hb_str_n(p->arena, p->why.p, p->why.n);
    if (!space || !homes_fit(p, space)) return false;
    uint64_t everywhere = asked + syn_space_key(space);
    if (!solve(p, o, space, key, everywhere, &choice, &lower)) return false;
    int states = pool_states(space);
    p->n_states = states > p->n_states ? states : p->n_states;
    p->work += states;
    // Paths of moves are the same, too, where memory has a price both times, and none of its own.
    bool again = like && like->space->memory_price && price && !p->spare &&
                 equal_choices(space, &choice, &like->choice);
    if (again)
        take_again(p, like, space, out);
    else
        *out = pool_simulate(p, arena, space, &choice);
    out->choice = choice;
    out->lower = lower;
    out->priced = price != NULL && !p->thrifty;
    out->exact = o->strategy == p->opt->strategy && o->opt == p->opt && !price && o->comm == 1 &&
                 !o->slack && lower >= choice.additive * (1 - SYN_ROUNDING);
    if (!again) pool_offer(p, out);
    known = solved_of(p->b, key);
    if (known) {
        known->sec = out->sec;
        note_numbers(p, known, out, states);
    }
    return true;
}

bool pool_search(pool *p, const search_options *o, candidate *out)
{
    return search(p, o, NULL, out);
}

bool pool_memory_binds(const pool *p, const candidate *plan)
{
    return !plan->program || (p->unfit > 0 && p->unfit < plan->sec);
}

double pool_best_known(const pool *p)
{
    double own = p->best.program ? p->best.sec : 0, other = p->opt->known ? p->opt->known->best : 0;
    return own > 0 && other > 0 ? fmin(own, other) : own + other;
}

// Is a plan that does not fit so slow that one with less memory will not be the best? What
// baselines take is said of the first variant.
static bool too_slow(const pool *p, const candidate *c, bool is_auto)
{
    bool said = !is_auto && p->opt->known && p->opt->known->leads > 0;
    double best = pool_best_known(p), far = said           ? SYN_LATER_FAR
                                            : !p->looking  ? SYN_RISE_FAR
                                            : p->g->few_of ? SYN_RISE_FEW
                                                           : SYN_RISE_LOOK;
    return (is_auto || said) && best > 0 && c->sec > far * best;
}

// Bytes of a choice as memory prices weigh them: what it cost at one price.
static double priced_bytes(const candidate *c, double price)
{
    return (c->choice.additive - c->additive) / price;
}

// Where a usual price changed nothing, what saves memory costs much more than the plan takes: on a
// network of much latency, say. If the leanest choice fits, prices go back from there, each to
// where two choices cost the same, until no other lies between them. Else *out stays.
static void search_corners(pool *p, search_options *o, const candidate *keep, candidate *out)
{
    double low = o->price, high = SYN_PRICE_LEAP * low;
    candidate rich = *out, lean, next; // of rich no more than numbers, then
    o->price = high;
    bool found = search(p, o, out, &lean) && lean.fits;
    if (found) *out = lean;
    pool_forget(p, keep, out);
    for (int i = 0; i < SYN_PRICE_CORNERS && found && !pool_out_of_time(p); i++) {
        double less = priced_bytes(&rich, low) - priced_bytes(out, high),
               more = out->additive - rich.additive;
        o->price = less > 0 ? more / less : 0;
        if (o->price <= low || o->price >= high) o->price = sqrt(low * high);
        if (!search(p, o, out, &next)) break;
        if (next.sec == rich.sec || (next.sec == out->sec && next.share == out->share)) break;
        if (next.fits) {
            *out = next;
            high = o->price;
        } else {
            rich = next;
            low = o->price;
        }
        pool_forget(p, keep, out);
    }
    o->price = high;
}

// Does a price on memory cost so much that cuts which moved since may do with a lower one?
static bool is_dear(const pool *p, const candidate *c)
{
    bool small = ir_step_nodes(p->g) <= SYN_LARGE && !p->g->few_of && !p->thrifty;
    return small && c->sec > SYN_PRICE_FAR * p->b->quickest;
}

bool pool_search_within_memory(pool *p, const search_options *options, const candidate *keep,
                               candidate *out)
{
    search_options o = *options;
    bool is_auto = o.strategy == SYN_AUTO;
    double low = 0, high = 0, hope = HUGE_VAL;
    candidate next;
    o.price = is_auto ? p->b->price : 0;
    // Where a round before found none at any price, it begins at the first one.
    bool memory_first = is_auto && p->opt->memory_first;
    if (memory_first && o.price <= 0 && keep && !keep->fits && keep->priced)
        o.price = SYN_PRICE_USUAL * keep->sec / SYN_PRICE_FIRST;
    if (!pool_search(p, &o, out)) return false;
    double step = out->sec;
    if (out->fits) high = o.price;
    if (memory_first && !out->fits)
        syn_add_free_memory(p->arena, out->program, p->b->partitions, p->b->mesh);
    // From a price that may do to ones that mostly do.
    double usual = (out->share > SYN_PRICE_SHORTAGE ? SYN_PRICE_SHORT : SYN_PRICE_USUAL) * step;
    double rise = o.price > 0 ? SYN_PRICE_AGAIN * o.price : usual / SYN_PRICE_FIRST;
    double enough = p->spare && (!is_auto || !p->best.program) ? HUGE_VAL : is_auto ? usual : 0;
    for (; !out->fits && rise < SYN_PRICE_MOST * step && !pool_out_of_time(p);
         rise *= SYN_PRICE_RISE) {
        if (is_auto && p->best.program && step > SYN_HOPELESS * p->best.sec) break;
        out->behind = too_slow(p, out, is_auto);
        if (out->behind) break;
        low = high > 0 ? high : o.price;
        if (out->share < SYN_NEARLY_FITS) hope = fmin(hope, out->sec);
        o.price = high = rise;
        if (!search(p, &o, out, &next)) return true;
        bool stuck = rise >= enough && next.share > SYN_PRICE_STUCK * out->share;
        *out = next;
        pool_forget(p, keep, out);
        if (!stuck || out->fits) continue;
        if (o.corners) search_corners(p, &o, keep, out);
        if (o.corners && out->fits) p->b->price = o.price;
        return true;
    }
    if (!out->fits) return true;
    // Back, where the price is new, leaves much memory free or costs much.
    bool known = is_auto && p->b->price > 0 && high == p->b->price;
    int halves = 0;
    if (known)
        halves = is_dear(p, out) ? 2 : out->share < SYN_PRICE_SPARE;
    else if (high >= usual)
        halves = high == usual ? 1 : 2;
    if (is_auto) p->b->price = high;
    for (int half = 0; half < halves && high > 0 && !pool_out_of_time(p); half++) {
        if (p->best.program && out->sec > SYN_HOPELESS * p->best.sec) break;
        o.price = low > 0 ? sqrt(low * high) : high / SYN_PRICE_FALL;
        if (!search(p, &o, out, &next)) break;
        if (next.fits && next.sec <= out->sec) {
            *out = next;
            high = o.price;
            if (is_auto) p->b->price = high;
        } else {
            low = o.price;
        }
        pool_forget(p, keep, out);
    }
    out->hope = hope;
    return true;
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
        candidate c = pool_simulate(p, k->arena, k->space, &k->choice);
        c.priced = k->priced;
        c.exact = k->exact;
        c.lower = k->lower;
        pool_offer(p, &c);
    }
    return p->best.program != known[0].program || p->paired.program != known[1].program;
}

board *pool_board_of(const pool *p, const syn_mesh *mesh)
{
    for (int i = 0; i < p->boards.n; i++)
        if (p->boards.p[i]->mesh == mesh) return p->boards.p[i];
    hb_bug("a board of the mesh", __FILE__, __LINE__);
}
