
#include <math.h>
#include <string.h>

#include "synth/passes/passes.h"
#include "synth/passes/workspace.h"
#include "synth/plan/liveness.h"
#include "synth/price/pair_cost.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/baselines.h"
#include "synth/search/boards.h"
#include "synth/search/bounds.h"
#include "synth/search/cross.h"
#include "synth/search/explore.h"
#include "synth/search/finish.h"
#include "synth/search/local_search.h"
#include "synth/search/lower_bound.h"
#include "synth/search/memory_prices.h"
#include "synth/search/prove.h"
#include "synth/search/searches.h"
#include "synth/search/settle.h"
#include "synth/search/simulated.h"
#include "synth/search/synth.h"
#include "synth/space/shardings.h"

static double set_tables(pool *p, candidate *c, syn_mesh *tables)
{
    cost_timeline t;
    c->program->mesh = tables;
    syn_refresh(c->program, p->m);
    return syn_simulate(c->program, &t, false);
}

// The same choice with pairs: where other tables are better without them, they mostly are with
// them.
static void search_alike(pool *p, candidate *c, const candidate *plain)
{
    syn_mesh *before = c->program->mesh;
    if (plain->program->mesh == before) return;
    double sec = set_tables(p, c, plain->program->mesh);
    if (sec < c->sec)
        c->sec = sec;
    else
        set_tables(p, c, before);
}

static bool same_choice(const candidate *a, const candidate *b)
{
    return a->space == b->space && a->choice.sharding == b->choice.sharding;
}

// What may make a candidate faster yet; `like`, if not NULL, is the best without pairs, searched
// locally.
static void perfect(pool *p, candidate *c, const candidate *like)
{
    if (!c->program || c->searched_locally || p->doubtful) return; // doubtful: proved as it is
    const syn_mesh *searched = c->program->mesh;
    pool_share_moves(p, c);
    if (p->opt->strategy == SYN_AUTO) pool_pick_forms(p, c); // the others are what their names say
    pool_roll(c);
    if (p->opt->strategy == SYN_AUTO) {
        bool alike = like && like->program && same_choice(c, like);
        if (alike) search_alike(p, c, like);
        if (!alike || ir_step_nodes(p->g) <= SYN_LARGE) pool_search_locally(p, c);
    }
    if (c->program->pairs.n > 0) {
        hb_arena *a = hb_arena_new();
        const syn_program *x = c->program;
        syn_refine_pairs(c->program, syn_costs_new(a, p->m, x->mesh, x->g, x->f));
        c->sec = syn_simulate_in(a, c->program, &c->timeline, false);
        hb_arena_free(a);
    }
    c->searched_locally = true;
    c->placed = c->placed && c->program->mesh == searched;
}

// Places a candidate; where its last tables do not fit, at those it was searched with.
static void place(pool *p, candidate *c)
{
    if (!c->program || c->placed) return;
    pool_place(c);
    if (c->fits || c->program->mesh == c->space->mesh) return;
    c->sec = set_tables(p, c, pool_board_of(p, c->space->mesh)->mesh);
    c->placed = false;
    pool_place(c);
}

static hb_str explain_overflow(pool *p)
{
    hb_buf b = {.arena = p->arena};
    if (p->smallest.program && pool_out_of_time(p))
        return hb_fmt(p->arena,
                      "the time was over before a plan that fits was found; the one that takes "
                      "least fills its fullest memory to %.0f %%",
                      100 * p->smallest.share);
    if (p->smallest.program) pool_place(&p->smallest);
    const syn_program *s = p->smallest.program;
    if (!s) return p->why.n ? p->why : HB_STR("no plan exists under this strategy");
    hb_puts(&b, "no plan fits in memory:");
    for (int c = 0; c < s->mesh->n_classes; c++) {
        const cl_class *k = &p->m->cluster->cls[s->mesh->cluster_class[c]];
        int64_t beside = syn_workspace_bytes(s, c), bytes = s->peak_bytes[c] + beside;
        if (bytes <= k->capacity) continue;
        hb_puts(&b, " rank");
        for (int r = 0, n = 0; r < s->mesh->n_ranks; r++) {
            int last = r;
            while (last + 1 < s->mesh->n_ranks && s->mesh->class_of[last + 1] == c)
                last++;
            if (s->mesh->class_of[r] != c) continue;
            hb_printf(&b, "%s%d", n++ ? ", " : " ", s->mesh->cluster_rank[r]);
            if (last > r) hb_printf(&b, "-%d", s->mesh->cluster_rank[last]);
            r = last;
        }
        hb_printf(&b, " (%.*s) needs %lld bytes of %lld", HB_ARG(k->name), (long long)bytes,
                  (long long)k->capacity);
        if (beside) hb_printf(&b, " (%lld of them beside the arena)", (long long)beside);
        hb_putc(&b, ';');
    }
    b.p[b.n - 1] = '\0';
    b.n--;
    return hb_done(&b);
}

typedef struct bounding {
    pool *p;
    candidate *optimum;
    double additive; // least of plans that fit
    hb_arena *arena; // of the choices that were simulated
    HB_VEC(syn_choice) met;
} bounding;

static bool stop_bounding(void *ctx)
{
    return pool_out_of_time(((bounding *)ctx)->p);
}

// Of plans that a pool knows, is one another than before?
static bool takes_over(const pool *p, const candidate *best, const candidate *paired,
                       const candidate *smallest)
{
    return p->best.program != best->program || p->paired.program != paired->program ||
           p->smallest.program != smallest->program;
}

static syn_choice choice_copy(hb_arena *a, const ir_graph *g, const syn_choice *c)
{
    return (syn_choice){.sharding =
                            hb_copy(a, c->sharding, sizeof *c->sharding * (size_t)g->nodes.n),
                        .keep = hb_copy(a, c->keep, sizeof *c->keep * (size_t)g->tensors.n),
                        .additive = c->additive};
}

// Its program stays if the pool wants it: beside the space, which it is of.
static double simulate_for_bound(void *ctx, const syn_choice *choice, double *share)
{
    bounding *b = ctx;
    const candidate best = b->p->best, paired = b->p->paired, smallest = b->p->smallest;
    hb_arena *own = hb_arena_new();
    syn_choice kept = choice_copy(own, b->p->g, choice);
    candidate c = pool_simulate(b->p, own, b->optimum->space, &kept);
    HB_PUSH(b->arena, &b->met, choice_copy(b->arena, b->p->g, choice));
    c.arena = b->optimum->arena;
    c.priced = true;
    b->p->work += pool_states(b->optimum->space);
    pool_settle(b->p, &c);
    if (c.filled > 0)
        c.share = c.filled;
    else
        c.share *= fmax(b->p->waste[0][c.program->has_sym], 1);
    pool_offer(b->p, &c);
    if (takes_over(b->p, &best, &paired, &smallest))
        hb_arena_join(c.arena, own);
    else
        hb_arena_free(own);
    *share = c.share;
    if (c.fits) b->additive = fmin(b->additive, c.additive);
    return c.fits ? c.additive : HUGE_VAL;
}

// The best plan with parts of the choices that were met.
static void cross_met(bounding *b)
{
    pool *p = b->p;
    const syn_space *s = p->best.program ? p->best.space : NULL, *t = b->optimum->space;
    crossing with = {.n_crossed = 0};
    bool alike = s && s->mesh == t->mesh && s->strategy == SYN_AUTO && t->strategy == SYN_AUTO &&
                 !pool_is_large(p);
    for (int i = 0; alike && i < b->met.n; i++)
        cross_add(&with, t, syn_assignment_of(b->arena, t, &b->met.p[i]));
    double begin = p->work, most = p->most_work;
    p->most_work = begin + SYN_BEYOND_FOUND * syn_work(p->opt);
    pool_cross(p, &with);
    p->work = begin;
    p->most_work = most;
    cross_free(&with);
    hb_arena_free(b->arena);
}

static void add_what_if(syn_result *r, syn_resource what, int cls, int axis, double gain_sec)
{
    struct syn_what_if w = {what, cls, axis, gain_sec};
    if (r->n_what_if < (int)(sizeof r->what_if / sizeof *r->what_if))
        r->what_if[r->n_what_if++] = w;
}

static bool on_mesh(const syn_mesh *m, int cls)
{
    for (int c = 0; c < m->n_classes; c++)
        if (m->cluster_class[c] == cls) return true;
    return false;
}

static void what_memory_brings(syn_result *r, const syn_mesh *m, const double *worth)
{
    for (int k = 0; k < CL_MAX_CLASSES; k++) {
        double sec = 0;
        for (int c = 0; c < m->n_classes; c++)
            if (m->cluster_class[c] == k) sec += worth[c] * SYN_WHAT_IF;
        if (on_mesh(m, k)) add_what_if(r, SYN_MEMORY, k, -1, sec);
    }
}

static void what_speed_brings(syn_result *r)
{
    const syn_mesh *m = r->program->mesh;
    double now = r->timeline.total;
    for (int k = 0; k < CL_MAX_CLASSES; k++)
        if (on_mesh(m, k))
            add_what_if(r, SYN_COMPUTE, k, -1,
                        now - syn_simulate_if(r->program, k, -1, 1 / (1 + SYN_WHAT_IF)));
    for (int x = 0; x < m->n_axes && m->n_ranks > 1; x++)
        add_what_if(r, SYN_LINK, -1, x,
                    now - syn_simulate_if(r->program, -1, x, 1 / (1 + SYN_WHAT_IF)));
}

static double additive_in(const pool *p, const syn_space *s, const syn_choice *c)
{
    return ms_value(&s->problem, syn_assignment_of(p->arena, s, c));
}

// The bounds, at the cuts and class weights of a plan. The additive optimum without memory and what
// memory prices lead to are simulated too, and may be better plans.
static candidate bounds(pool *p, candidate won, syn_result *r)
{
    candidate optimum = won;
    r->additive_bound_sec = -1;
    r->additive_levels = (syn_bound_levels){HUGE_VAL, HUGE_VAL, HUGE_VAL};
    r->lower_bound_sec = syn_lower_bound(p->m, p->g, p->f);
    r->additive_sec = won.additive;
    r->space = won.space;
    r->space_value = won.additive;
    if (pool_out_of_time(p)) return (candidate){0}; // no bound, then
    if (!optimum.exact) {
        p->b = pool_board_of(p, won.space->mesh);
        *p->b->partitions = *syn_partitions_copy(p->arena, won.space->partitions);
        search_options o = {
            .strategy = p->opt->strategy, .opt = p->opt, .weight = won.space->weight, .comm = 1};
        if (!pool_search(p, &o, &optimum)) return (candidate){0};
    }
    // The chosen plan's cost in the optimum's space: its choice, where that has its shardings and
    // states (where any parameter may be cut, small ones may lie in states that the space lacks).
    bool shared = won.fits && won.space->strategy == optimum.space->strategy;
    if (p->opt->brief) return optimum; // nobody asks for the bounds
    bool inside =
        won.space->weight_comm == 1 && syn_strategy_of(won.space->strategy)->params != SYN_CUT_ANY;
    bounding b = {.p = p,
                  .optimum = &optimum,
                  .arena = hb_arena_new(),
                  .additive = shared   ? additive_in(p, optimum.space, &won.choice)
                              : inside ? won.additive
                                       : HUGE_VAL};
    double *worth = HB_ARRAY(p->arena, double, won.space->mesh->n_classes);
    if (!optimum.fits) pool_settle(p, &optimum);
    if (optimum.fits) b.additive = fmin(b.additive, optimum.additive);
    p->measure = true;
    r->additive_bound_sec = syn_additive_bound(
        optimum.space,
        &(syn_bound_start){&optimum.choice, optimum.share, optimum.lower, b.additive,
                           shared ? &won.choice : NULL, won.share, &r->additive_levels, worth},
        &(syn_bound_calls){&b, stop_bounding, simulate_for_bound});
    p->measure = false;
    r->additive_sec = isfinite(b.additive) ? b.additive : -1;
    if (fabs(r->additive_bound_sec - r->additive_sec) <= SYN_ROUNDING * r->additive_sec)
        r->additive_bound_sec = r->additive_sec;
    r->space_value = optimum.additive;
    r->space = optimum.space;
    what_memory_brings(r, won.space->mesh, worth);
    cross_met(&b);
    return optimum;
}

static bool same_cuts(const syn_space *a, const syn_space *b)
{
    return a->mesh == b->mesh && syn_partitions_same(a->partitions, b->partitions) &&
           memcmp(a->weight, b->weight, sizeof *a->weight * (size_t)a->mesh->n_classes) == 0;
}

// Where a synthesis ends: the best plan without pairs, which does not depend on what others there
// are; and the leader, if that is another.
typedef struct ending {
    candidate plain, other, optimum;
} ending;

// What is left to search: the bounds at the cuts of both.
static void end_search(pool *p, syn_result *r, ending *e)
{
    const syn_space *at = NULL;
    bool found = true; // a plan by the last bounds
    *e = (ending){.plain = p->best};
    r->n_what_if = 0;
    for (int round = 0; p->best.program && found && round < SYN_BOUND_ROUNDS; round++) {
        r->n_what_if = 0;
        at = p->best.space;
        e->optimum = bounds(p, p->best, r);
        found = p->best.program != e->plain.program;
        if (found) pool_finish_found(p, &e->plain, &e->optimum);
        e->plain = p->best;
    }
    if (p->rival.program && p->rival_sec < pool_when_it_wins(p, &p->best) * (1 - SYN_SAME_PLACE))
        e->plain = p->best = p->rival;
    const candidate *lead = pool_leader(p);
    if (lead->program && (!at || !same_cuts(lead->space, at))) {
        r->n_what_if = 0;
        e->optimum = bounds(p, *lead, r);
    }
    lead = pool_leader(p);
    if (lead->program != e->plain.program) e->other = *lead;
}

// A candidate as it ended becomes what the pool knows of it.
static void note_end(candidate *known, const candidate *c)
{
    if (!c->program || known->program != c->program) return;
    *known = c->fits ? *c : (candidate){0};
}

// Places the faster one, and the one without pairs unless it surely fits.
static void end(pool *p, ending *e)
{
    perfect(p, &e->plain, NULL);
    const candidate *paired = &p->paired; // with equal conversions made once, perhaps
    if (paired->program && (!e->other.program || paired->sec < e->other.sec)) e->other = *paired;
    perfect(p, &e->other, &e->plain);
    bool ahead = e->other.program && (!e->plain.program || e->other.sec < e->plain.sec);
    if (ahead) place(p, &e->other);
    if (!ahead || !e->other.fits || e->other.sec >= e->plain.sec ||
        e->plain.share > SYN_SURELY_FITS)
        place(p, &e->plain);
}

// Whether all is to be searched again.
static bool search_again(pool *p, const ending *e)
{
    // What looked roomy and was not had not been placed.
    bool careful = e->plain.program && !e->plain.fits && !p->all_careful,
         spare = !pool_leader(p)->program && p->smallest.program && !p->opt->loose &&
                 !pool_out_of_time(p) && !p->spare;
    p->careful = p->careful || careful;
    p->spare = p->spare || spare;
    return careful || spare;
}

// How much memory the plan that took least filled, and of how much.
static void note_least(const pool *p, syn_result *r)
{
    const candidate *least = &p->smallest;
    r->least_share = least->share;
    r->least_capacity = 0;
    for (int i = 0; least->program && i < least->program->mesh->n_ranks; i++) {
        const syn_mesh *m = least->program->mesh;
        r->least_capacity += (double)p->m->cluster->cls[m->cluster_class[m->class_of[i]]].capacity;
    }
}

// Would more memory make the plan faster? What was seen that does not fit is no measure of that: it
// was not finished.
static bool memory_has_a_price(const syn_result *r, const candidate *plan)
{
    double most = 0;
    for (int i = 0; i < r->n_what_if; i++)
        if (r->what_if[i].what == SYN_MEMORY) most = fmax(most, r->what_if[i].gain_sec);
    return plan->program && most > SYN_MEMORY_WORTH * plan->sec;
}

// The best plans of what was explored, placed; all is searched again until they fit.
static void end_all(pool *p, syn_result *r, ending *e)
{
    end_search(p, r, e);
    end(p, e);
    while (search_again(p, e)) {
        pool_explore(p);
        end_search(p, r, e);
        end(p, e);
    }
    note_end(&p->best, &e->plain);
    note_end(&p->best, &e->other);
    note_end(&p->paired, &e->other);
    pool_keep_all(p, &e->optimum, &e->plain);
    r->tight = pool_memory_binds(p, &e->plain) || memory_has_a_price(r, &e->plain);
    note_least(p, r);
    r->quickest_sec = p->quickest;
}

static void no_plan(pool *p, syn_result *r)
{
    r->status = p->doubtful ? SYN_FAILED_CHECK : SYN_INFEASIBLE;
    r->why = p->doubtful ? p->rejected : explain_overflow(p);
    r->program = NULL;
    r->plain = NULL;
}

// The pool's leader as a finished, proved program, or why there is none. Where the certificate
// rejects it, all is searched once more and whatever takes the lead is proved before it does.
static void finish(pool *p, syn_result *r)
{
    ending e;
    end_all(p, r, &e);
    bool plain = e.plain.program && e.plain.fits,
         other = e.other.program && e.other.fits && e.other.placed;
    if (!plain && !other) {
        no_plan(p, r);
        return;
    }
    r->plain = plain ? e.plain.program : NULL;
    r->plain_sec = plain ? e.plain.sec : HUGE_VAL;
    r->program = other && e.other.sec < r->plain_sec ? e.other.program : e.plain.program;
    if (syn_prove(p->arena, r->program, p->opt, &p->rejected)) {
        r->predicted_sec = syn_simulate_plan(r->program, p->m, &r->timeline);
        if (!p->opt->brief) what_speed_brings(r);
    } else if (!p->doubtful) {
        p->doubtful = p->careful = true;
        pool_explore(p);
        finish(p, r);
    } else {
        no_plan(p, r);
    }
}

static bool out_of_time(const void *p)
{
    return pool_out_of_time(p);
}

// Was another variant of the step so much faster that this one need not be finished?
static bool far_behind(pool *p)
{
    const syn_known_sets *k = p->opt->known;
    const candidate *lead = pool_leader(p);
    if (p->opt->lead || !lead->program || !p->best.program || !k || k->leads <= 0) return false;
    return lead->sec > SYN_ENDS_BEHIND * k->leads && p->best.sec > SYN_ENDS_BEHIND * k->best;
}

// Did the search with memory first come to what the other order has finished?
static bool same_again(pool *p)
{
    const syn_known_sets *k = p->opt->known;
    const candidate *lead = pool_leader(p);
    if (!lead->program || !p->best.program || !k || k->same_best <= 0) return false;
    return p->best.sec >= k->best && lead->sec >= k->leads &&
           fabs(p->best.sec - k->same_best) <= SYN_ROUNDING * k->same_best &&
           fabs(lead->sec - k->same_leads) <= SYN_ROUNDING * k->same_leads;
}

// Where the best plan lies (paired: the best with pairs), and what is known of that place.
static struct syn_end end_of(pool *p, bool paired)
{
    const candidate *best = &p->best, *c = paired ? &p->paired : best;
    double plain = best->program && best->space == c->space ? best->sec : HUGE_VAL,
           with = p->paired.program && p->paired.space == c->space ? p->paired.sec : HUGE_VAL;
    return (struct syn_end){{plain, with}, pool_lead_of(p, c->space)};
}

// Among few layers, far behind, and where the plan is known, the search ends with the plan that
// leads: it is not placed, rolled or proved, and has no bounds.
static void end_unfinished(pool *p, syn_result *r)
{
    candidate *lead = pool_leader(p);
    pool_keep_all(p, lead, &p->smallest);
    r->tight = pool_memory_binds(p, lead);
    if (lead->program && p->g->few_of &&
        !r->tight) { // with what is beside an arena, is there enough?
        syn_workspace_expected(lead->program);
        r->tight = syn_live_share(lead->program, false) > 1;
    }
    note_least(p, r);
    r->quickest_sec = p->quickest;
    if (!lead->program) {
        r->status = SYN_INFEASIBLE;
        r->why = p->why;
        return;
    }
    r->program = lead->program;
    r->predicted_sec = lead->sec;
    r->plain = p->best.program;
    r->plain_sec = p->best.program ? p->best.sec : HUGE_VAL;
    r->space = lead->space;
    if (!p->g->few_of) return;
    if (p->best.program) r->end = end_of(p, false);
    if (p->paired.program && (!p->best.program || p->paired.space != p->best.space))
        r->paired_end = end_of(p, true);
    if (p->near.lead.mesh && p->near.sec[1] < lead->sec) r->near_end = p->near;
    const syn_mesh *mesh = (p->best.program ? &p->best : lead)->space->mesh;
    for (int i = 0, n = 0; i < p->boards.n; i++) {
        const board *b = p->boards.p[i];
        bool same = b->mesh->n_axes == mesh->n_axes && pool_same_ranks(b->mesh, mesh);
        if (b->best <= 0 || same) continue;
        int at = n < SYN_OTHER_ENDS ? n++ : n;
        for (; at > 0 && r->other_end[at - 1].sec[0] > b->best; at--)
            if (at < SYN_OTHER_ENDS) r->other_end[at] = r->other_end[at - 1];
        if (at < SYN_OTHER_ENDS) r->other_end[at] = (struct syn_end){{b->best, HUGE_VAL}, b->lead};
    }
}

// What a plan must gain on the result to take its place: on more devices, what these are worth.
static double least_gain(const syn_result *r, const candidate *c)
{
    bool more = r->program && c->program && c->program->mesh->n_ranks > r->program->mesh->n_ranks;
    return more ? SYN_FEWER_WORTH : SYN_ROUNDING;
}

static pool pool_of(hb_arena *a, const ir_graph *g, const ir_factors *f, const cost_model *m)
{
    return (pool){.arena = a,
                  .g = g,
                  .f = f,
                  .m = m,
                  .stop = HB_NEW(a, hb_stop),
                  .listed = syn_listed_new(a),
                  .kinds = hb_alloc(a, sizeof *(pool){0}.kinds * (size_t)syn_n_strategies),
                  .won_by_forms = 1,
                  .won_by_buckets = 1};
}

syn_result syn_synthesize(hb_arena *a, const ir_graph *g, const ir_factors *f, const cost_model *m,
                          const syn_options *o)
{
    syn_result r = {.status = SYN_OK};
    pool p = o->ended ? *o->ended : pool_of(a, g, f, m);
    double begin = pool_now(), before = p.work;
    p.arena = a;
    p.opt = o;
    p.begin = begin;
    p.deadline = o->time_limit_sec > 0 ? begin + o->time_limit_sec : 0;
    p.most_work = o->most_work;
    p.with_sec = o->baselines ? HB_ARRAY(a, double, m->cluster->n_ranks + 1) : NULL;
    p.without_sec = o->baselines ? HB_ARRAY(a, double, m->cluster->n_classes + 1) : NULL;
    p.others = (syn_others){
        .with_sec = p.with_sec, .without_sec = p.without_sec, .one_sec = -1, .one_class = -1};
    for (int s = 0; s < syn_n_strategies; s++)
        p.others.near_sec[s] = -1;
    *p.stop = (hb_stop){out_of_time, &p};
    pool_explore(&p);
    if (o->simulated) pool_sweep(&p);
    p.most_work = 0;
    if (p.boards.n == 0) {
        r.status = SYN_INFEASIBLE;
        r.why = HB_STR("a mesh of machines x devices wants two machines or more, with the same "
                       "number of devices, two or more, in each");
        return r;
    }
    p.explored = p.best;
    r.found_sec = p.best.program ? p.best.sec : HUGE_VAL;
    r.found_leads_sec = pool_leader(&p)->program ? pool_leader(&p)->sec : HUGE_VAL;
    if (g->few_of || far_behind(&p) || same_again(&p)) {
        end_unfinished(&p, &r);
        r.work = p.work - before;
        r.cut_short = p.cut_short;
        r.plan_sec = pool_now() - begin;
        return r;
    }
    finish(&p, &r);
    r.plan_sec = pool_now() - begin;
    const syn_program *best = p.best.program, *paired = p.paired.program;
    // What the others do, for the report; should one be faster after all, it is the plan.
    for (int s = SYN_AUTO + 1; o->baselines && r.status != SYN_FAILED_CHECK &&
                               s < syn_n_strategies && !pool_out_of_time(&p);
         s++)
        if (!p.asked[s]) pool_baseline(&p, (syn_strategy)s);
    bool first = !o->known || o->known->leads <= 0; // what others do is said of the first variant
    if (o->baselines && first && r.status != SYN_FAILED_CHECK) pool_others(&p);
    bool known = r.status != SYN_INFEASIBLE;
    bool better = p.best.program != best &&
                  (!known || p.best.sec < r.plain_sec * (1 - least_gain(&r, &p.best)));
    better =
        better || (p.paired.program != paired &&
                   (!known || p.paired.sec < r.predicted_sec * (1 - least_gain(&r, &p.paired))));
    if (o->strategy == SYN_AUTO && better && r.status != SYN_FAILED_CHECK) {
        pool_refine_baseline(&p);
        r.status = SYN_OK;
        finish(&p, &r);
        r.plan_sec = pool_now() - begin;
    }
    *p.stop = (hb_stop){NULL, NULL}; // the result's space has it
    r.n_solved = p.n_solved;
    r.work = p.work - before;
    r.cut_short = p.cut_short;
    r.n_states = p.n_states;
    for (int i = 0; i < p.arenas.n; i++)
        hb_arena_free(p.arenas.p[i]);
    p.arenas.n = 0;
    if (p.best.program) r.ended = hb_copy(a, &p, sizeof p);
    memcpy(r.baseline_sec, p.baseline, sizeof p.baseline);
    r.others = p.others;
    return r;
}
