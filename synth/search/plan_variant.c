// One variant of the step: its graph, its plans without and with memory first, and what is noted of
// them: where they end, the wishes of all that was simulated, what sets of devices came to.

#include <math.h>
#include <string.h>

#include "synth/search/blocks.h"
#include "synth/search/candidates.h"
#include "synth/search/planner.h"
#include "synth/space/space.h"

// Blocks of equal ops and sizes are of one kind.
static void find_kinds(planner *p)
{
    const ir_graph *g = p->step;
    p->kind = HB_ARRAY(p->a, uint64_t, g->n_blocks + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        if (n->block == 0) continue;
        uint64_t of[3] = {p->kind[n->block - 1], (uint64_t)n->op, 0};
        for (int k = 0; k < n->n_out; k++)
            of[2] += (uint64_t)ir_elements(&g->tensors.p[n->out[k]]);
        p->kind[n->block - 1] = hb_hash(of, sizeof of);
    }
}

static uint64_t kinds_of(const planner *p, const bool *again)
{
    uint64_t sum = 0;
    for (int b = 0; b < p->step->n_blocks; b++)
        sum += again[b] ? p->kind[b] : 0;
    return sum;
}

wish *planner_wish(planner *p, int64_t chunks, const bool *again)
{
    if (!p->kind) find_kinds(p);
    for (int i = 0; i < p->wishes.n; i++)
        if (p->wishes.p[i].chunks == chunks &&
            memcmp(p->wishes.p[i].again, again, (size_t)p->step->n_blocks) == 0)
            return &p->wishes.p[i];
    bool *own = hb_copy(p->a, again, (size_t)p->step->n_blocks + 1);
    HB_PUSH(p->a, &p->wishes, (wish){chunks, own, kinds_of(p, again), HUGE_VAL, false});
    return &p->wishes.p[p->wishes.n - 1];
}

int64_t planner_chunks(const ir_graph *g)
{
    return g->micro_batches > 1 ? g->micro_batches : 1;
}

static void listen(void *ctx, const syn_program *prog, double sec)
{
    planner *p = ctx;
    if (prog->g != p->g) return;
    hb_arena *scratch = hb_arena_new();
    syn_blocks b = syn_blocks_of(scratch, prog, &p->parts);
    bool *again = HB_ARRAY(scratch, bool, b.n + 1);
    double all = 0;
    for (int i = 0; i < b.n; i++) {
        sec -= b.again[i] ? b.sec[i] : 0;
        all += b.computing[i];
    }
    static const double share[] = {SYN_WISH_SHARES};
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        double more;
        if (!syn_blocks_choose(&b, share[i], again, &more)) break;
        wish *w = planner_wish(p, planner_chunks(p->g), again);
        w->sec = fmin(w->sec, sec + more);
    }
    memset(again, true, (size_t)b.n); // and what may be as quick once all the memory is free
    wish *w = planner_wish(p, planner_chunks(p->g), again);
    w->sec = fmin(w->sec, sec + all);
    hb_arena_free(scratch);
}

double planner_time_left(const planner *p)
{
    return fmax(p->o->time_limit_sec - (pool_now() - p->begin), SYN_LEAST_TIME);
}

bool planner_is_over(const planner *p)
{
    return (p->o->interrupted && *p->o->interrupted) ||
           (p->o->time_limit_sec > 0 && planner_time_left(p) <= SYN_LEAST_TIME) ||
           p->no_gain >= SYN_SET_VAIN;
}

bool planner_is_tired(const planner *p, double share)
{
    bool is =
        (planner_fits(p) || p->bar > 0) && p->effort->work > share * SYN_WORK_ALL * syn_work(p->o);
    if (is) p->effort->cut_short = true;
    return is;
}

int planner_count(const planner *p, const bool *again)
{
    int n = 0;
    for (int b = 0; again && b < p->step->n_blocks; b++)
        n += again[b];
    return n;
}

// Of its own: the search that it is from need not stay.
static syn_lead copy_of_lead(hb_arena *a, const syn_lead *lead)
{
    syn_lead own = *lead;
    syn_mesh *mesh = hb_copy(a, lead->mesh, sizeof *mesh);
    mesh->cluster_rank =
        hb_copy(a, mesh->cluster_rank, sizeof *mesh->cluster_rank * (size_t)mesh->n_ranks);
    mesh->class_of = hb_copy(a, mesh->class_of, sizeof *mesh->class_of * (size_t)mesh->n_ranks);
    mesh->cuts.p = hb_copy(a, mesh->cuts.p, sizeof *mesh->cuts.p * (size_t)mesh->cuts.n);
    mesh->cuts.cap = mesh->cuts.n;
    for (int i = 0; i < mesh->cuts.n; i++) {
        syn_cut *cut = &mesh->cuts.p[i];
        cut->table = hb_copy(a, cut->table, sizeof *cut->table * (size_t)cut->n);
        cut->name = hb_str_n(a, cut->name.p, cut->name.n);
    }
    own.mesh = mesh;
    own.partitions = syn_partitions_copy(a, lead->partitions);
    own.weight = hb_copy(a, lead->weight, sizeof *own.weight * (size_t)mesh->n_classes);
    return own;
}

static void note_ending(planner *p, int64_t chunks, const bool *again, const syn_result *r)
{
    const bool *own = hb_copy(p->a, again, (size_t)p->step->n_blocks + 1);
    double far = SYN_OTHER_FAR * (r->end.lead.mesh ? r->end.sec[0] : r->predicted_sec);
    const struct syn_end *end[3 + SYN_OTHER_ENDS] = {&r->end, &r->paired_end, &r->near_end};
    for (int i = 0; i < SYN_OTHER_ENDS; i++)
        end[3 + i] = &r->other_end[i];
    for (int i = 0; i < 3 + SYN_OTHER_ENDS; i++)
        if (end[i]->lead.mesh && fmin(end[i]->sec[0], end[i]->sec[1]) < far)
            HB_PUSH(p->a, &p->endings,
                    (ending){.chunks = chunks,
                             .again = own,
                             .sec = {end[i]->sec[0], end[i]->sec[1]},
                             .lead = copy_of_lead(p->a, &end[i]->lead)});
}

static void note_old(planner *p, const syn_result *r, double plain)
{
    if (r->status != SYN_OK) return;
    if (isfinite(plain) && (p->old_best <= 0 || plain < p->old_best)) p->old_best = plain;
    if (p->old_leads <= 0 || r->predicted_sec < p->old_leads) p->old_leads = r->predicted_sec;
}

// Makes p->g the variant, with its factors, unless it is.
static void make_variant(planner *p, int64_t chunks, const bool *again)
{
    struct making *v = &p->made;
    size_t bytes = (size_t)p->step->n_blocks;
    if (v->arena && v->chunks == chunks && memcmp(v->again, again, bytes) == 0) return;
    if (v->arena && !v->stays) hb_arena_free(v->arena);
    *v = (struct making){.arena = hb_arena_within(p->a), .chunks = chunks};
    v->again = hb_copy(v->arena, again, bytes + 1);
    p->g = ir_variant(v->arena, p->step, chunks, again, hb_diag_new(v->arena));
    if (!p->g) return;
    v->f = ir_factorize(v->arena, p->g);
    if (p->step->n_blocks > 0) p->parts = ir_again_of(v->arena, p->g);
}

// The factors of the variant, with pins read for it, as they are by tensor. NULL: there is none, or
// it lacks what a pin names; where nothing was planned before, the result says so.
static const ir_factors *variant_of(planner *p, int64_t chunks, const bool *again, syn_options *o)
{
    make_variant(p, chunks, again);
    const ir_factors *f = p->made.f;
    if (f && o->pins && p->g != p->step) {
        o->pins = syn_pins_again(p->a, o->pins, p->g, f, hb_diag_new(p->a));
        if (!o->pins) f = NULL;
    }
    if (!f && !p->any) {
        hb_str why = hb_fmt(p->a, "not with what was asked of micro-batches and recomputation");
        p->best = (syn_result){.status = SYN_INFEASIBLE, .why = why};
    }
    return f;
}

// What sets of devices came to in the other order holds with memory first, too: those that were
// slow there are left.
static void know_sets(planner *p)
{
    syn_known_sets *to = &p->known[1];
    for (int i = 0; i < p->known[0].set.n; i++) {
        const struct known_set *from = &p->known[0].set.p[i];
        int at = 0;
        while (at < to->set.n && to->set.p[at].key != from->key)
            at++;
        if (at == to->set.n) HB_PUSH(p->a, &to->set, *from);
        struct known_set *x = &to->set.p[at];
        x->quickest = fmin(x->quickest, from->quickest);
        x->best = fmin(x->best, from->best);
        x->near = fmin(x->near, from->near);
    }
}

bool planner_may_finish(const planner *p, const syn_result *r)
{
    double tries = SYN_FIX_TRIES * SYN_FIX_SIMULATED * r->space->problem.n_vars;
    return p->effort->work + SYN_FIX_MOST * tries <=
           SYN_WORK_FINISH * SYN_WORK_ALL * syn_work(p->o);
}

// Is a plan that is not the best the next, near it?
static bool is_next(const planner *p, const syn_result *r, const syn_result *best)
{
    if (!p->large || p->all || r->status != SYN_OK || !r->ended || !planner_may_finish(p, r))
        return false;
    double sec = r->predicted_sec, least = best->predicted_sec;
    return sec > least * (1 + SYN_ROUNDING) && sec <= least * (1 + SYN_FINISH_NEXT) &&
           (!p->next.ended || sec < p->next.predicted_sec || p->next.predicted_sec <= least);
}

// Plans one variant in one of the two orders; true if it is the best so far.
static bool plan_by(planner *p, int64_t chunks, const bool *again, const syn_lead *lead,
                    bool memory_first)
{
    syn_options o = *p->o;
    p->last.tight = false;
    if (p->any && planner_is_over(p)) return false; // the first has one search, whatever the time
    // What is looked for from the end of another search gets no effort that a plan makes needless.
    o.loose = p->loose || (lead && planner_fits(p));
    o.lead = lead;
    o.baselines = o.baselines && !p->beside;
    o.memory_first = memory_first;
    o.known = &p->known[memory_first];
    o.known->arena = p->a;
    // The old order ends early by its own plans alone: it finds what it would by itself.
    o.known->best = p->old_best;
    o.known->leads = p->old_leads;
    if (memory_first) {
        know_sets(p);
        o.known->best = planner_fits(p) ? p->plain_sec : 0;
        o.known->leads = planner_fits(p) && p->best.status == SYN_OK ? p->best.predicted_sec : 0;
    }
    if (o.time_limit_sec > 0) o.time_limit_sec = planner_time_left(p);
    o.most_work = p->most_work;
    const ir_factors *f = variant_of(p, chunks, again, &o);
    if (!f) return false;
    const ir_graph *g = p->g;
    if (!o.again && !o.pins && o.strategy == SYN_AUTO && p->step->n_blocks > 0) {
        o.simulated = listen;
        o.simulated_ctx = p;
        planner_wish(p, chunks, again)->done = true;
    }
    hb_arena *own = hb_arena_new(); // what the search leaves, most of it of no further use
    // Its spaces know the options by address.
    syn_result r = syn_synthesize(own, g, f, p->m, hb_copy(own, &o, sizeof o));
    p->spent += r.plan_sec;
    p->effort->work += r.work;
    p->effort->cut_short = p->effort->cut_short || r.cut_short;
    bool known = !memory_first && r.status == SYN_OK && r.plain && isfinite(r.found_sec);
    p->known[1].same_best = known ? r.found_sec : 0;
    p->known[1].same_leads = known ? r.found_leads_sec : 0;
    double took = r.status == SYN_OK && r.plain ? r.plain_sec : HUGE_VAL;
    if (!memory_first) note_old(p, &r, took);
    bool apart = !memory_first || took < p->last.sec * (1 - SYN_ORDER_GAIN);
    if (p->step->few_of && r.status == SYN_OK && apart) note_ending(p, chunks, again, &r);
    p->last = (struct look){took, r.quickest_sec, r.least_share,
                            r.least_share > 0 && (r.status != SYN_OK || r.tight)};
    if (r.quickest_sec > 0 && (p->quickest <= 0 || r.quickest_sec < p->quickest))
        p->quickest = r.quickest_sec;
    if (r.least_share > 0 && (p->least_share <= 0 || r.least_share < p->least_share)) {
        p->least_share = r.least_share;
        p->least_capacity = r.least_capacity;
        p->lean_bytes = ir_saved_bytes(g);
        p->lean_chunks = chunks;
        p->lean_again = hb_copy(p->a, again, (size_t)p->step->n_blocks + 1);
    }
    if (o.log && o.effort > 1) fprintf(o.log, "effort %g: ", o.effort);
    if (o.log)
        fprintf(o.log,
                "%lld micro-batches, %d blocks computed again%s: %.6g ms; %.3g million states so "
                "far\n",
                (long long)chunks, planner_count(p, again), memory_first ? ", memory first" : "",
                r.status == SYN_OK ? r.predicted_sec * 1e3 : -1, p->effort->work / 1e6);
    bool better = r.status == SYN_OK && r.plain &&
                  (!planner_fits(p) || r.plain_sec < p->plain_sec * (1 - SYN_VARIANT_GAIN));
    if (better) {
        p->plain = r.plain;
        p->plain_sec = r.plain_sec;
    }
    bool had = p->any && p->best.status == SYN_OK;
    bool best =
        r.status == SYN_OK &&
        (!had || r.predicted_sec < p->best.predicted_sec * (better ? 1 : 1 - SYN_VARIANT_GAIN));
    bool worth_saying = r.status == SYN_FAILED_CHECK && !had;
    bool taken = !p->any || best || worth_saying;
    bool next = !taken && p->any && is_next(p, &r, &p->best);
    if (next) p->next = r;
    if (taken && had && is_next(p, &p->best, &r)) p->next = p->best;
    if (taken || better || next) {
        hb_arena_join(p->a, own);
        p->made.stays = true;
        if (r.program) r.program->arena = p->a;
    } else {
        hb_arena_free(own);
    }
    if (!taken) return better;
    // What other strategies do is said of the first.
    for (int s = 0; had && s < syn_n_strategies; s++)
        r.baseline_sec[s] = p->best.baseline_sec[s];
    if (had) r.others = p->best.others;
    p->best = r;
    p->any = true;
    return better;
}

// Are all devices equal? Then memory first has nothing that it could move to another.
static bool all_alike(const planner *p)
{
    const cl_cluster *c = p->m->cluster;
    const cl_class *first = NULL;
    for (int r = 0; r < c->n_ranks; r++) {
        const cl_class *x = &c->cls[c->class_of[r]];
        if (p->o->devices && !p->o->devices[r]) continue;
        if (!first) first = x;
        if (x->f32 != first->f32 || x->tf32 != first->tf32 || x->bf16 != first->bf16 ||
            x->memory_bandwidth != first->memory_bandwidth || x->capacity != first->capacity)
            return false;
    }
    return true;
}

// Is a variant that has come to so much worth a search with memory first? Not behind a share `most`
// of the work.
static bool worth_another_order(const planner *p, const struct look *of, double most)
{
    if (p->o->strategy != SYN_AUTO || !of->tight || planner_is_over(p)) return false;
    if (p->bar > 0 && of->quickest >= p->bar) return false; // with all the memory that it wants
    if (isinf(of->sec)) return of->share <= SYN_ORDER_FAR && !planner_is_tired(p, most);
    if (of->sec <= of->quickest * (1 + SYN_ORDER_LEAST) || all_alike(p)) return false;
    if (p->vain >= SYN_ORDER_LAST || planner_is_tired(p, most)) return false;
    // With all the memory that it wants it is no better than the best.
    if (of->quickest >= planner_to_beat(p) * (1 - SYN_VARIANT_GAIN)) return false;
    return p->vain < SYN_ORDER_VAIN || of->sec >= SYN_TIGHT_FAR * of->quickest;
}

// Of a set of devices alone: does it come to less than a search over all devices came to?
static void note_variant(planner *p, int64_t chunks, const bool *again)
{
    size_t bytes = (size_t)p->step->n_blocks;
    const bool *own = hb_copy(p->a, again, bytes + 1);
    HB_PUSH(p->a, &p->seen,
            (struct seen){chunks, own, p->last.sec, p->last.quickest, p->last.share, p->loose});
    for (int i = 0; p->all && i < p->all->seen.n; i++) {
        const struct seen *x = &p->all->seen.p[i];
        if (x->chunks != chunks || memcmp(x->again, again, bytes) != 0 || isinf(x->sec)) continue;
        // It does not fit yet; where it would be quicker other variants may.
        bool hopes = isinf(p->last.sec) && p->last.quickest > 0 &&
                     p->last.quickest < x->sec * (1 - SYN_SAME_PLACE);
        if (hopes) return;
        p->no_gain = p->last.sec >= x->sec * (1 - SYN_SAME_PLACE) ? p->no_gain + 1 : 0;
        return;
    }
}

// The other order of a variant that has come to `first`, if it is worth it. Whether it brought the
// best plan; p->last: the better of both.
static bool plan_in_other_order(planner *p, int64_t chunks, const bool *again, struct look first,
                                double most)
{
    if (!worth_another_order(p, &first, most)) return false;
    bool better = plan_by(p, chunks, again, NULL, true),
         gains = p->last.sec < first.sec * (1 - SYN_ORDER_GAIN);
    if (gains || isfinite(first.sec)) p->vain = gains ? 0 : p->vain + 1;
    if (first.sec < p->last.sec) p->last = first;
    return better;
}

bool planner_plan(planner *p, int64_t chunks, const bool *again, const syn_lead *lead)
{
    if (lead) return plan_by(p, chunks, again, lead, lead->memory_first);
    bool glance = p->most_work > 0, tired = !glance && planner_is_tired(p, 1);
    if ((p->any && planner_is_over(p)) || tired) return false;
    double work = p->effort->work;
    bool better = plan_by(p, chunks, again, NULL, false);
    work = p->effort->work - work;
    // Sets of devices alone come behind all that is looked for on all devices, and have both
    // orders.
    double most = !p->all ? SYN_WORK_FIRST : glance ? 1 : HUGE_VAL;
    struct look first = p->last;
    bool waits = p->others_first && work > SYN_ORDER_LONG * syn_work(p->o) && isfinite(first.sec) &&
                 first.sec > SYN_ORDER_WAITS * first.quickest &&
                 worth_another_order(p, &first, most);
    if (waits)
        HB_PUSH(p->a, &p->waiting, (struct waiting){chunks, again, first});
    else
        better = plan_in_other_order(p, chunks, again, first, most) || better;
    note_variant(p, chunks, again);
    return better;
}

void planner_plan_waiting(planner *p)
{
    for (int i = 0; i < p->waiting.n; i++) {
        const struct waiting x = p->waiting.p[i];
        (void)plan_in_other_order(p, x.chunks, x.again, x.first, p->all ? 1 : SYN_WORK_FIRST);
    }
    p->waiting.n = 0;
}

planner planner_of(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *o)
{
    return (planner){.a = a,
                     .step = step,
                     .m = m,
                     .o = o,
                     .begin = pool_now(),
                     .large = step->nodes.n > SYN_LARGE && o->strategy == SYN_AUTO,
                     .bar = o->worth,
                     .old_best = o->worth,
                     .old_leads = o->worth};
}
