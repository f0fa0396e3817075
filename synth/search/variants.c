// Micro-batches and recomputation as the planner's choice: where memory binds, other graphs of the
// same step are planned too (ir/variant.h), and the best simulated plan wins.
//
// For each number of chunks the graph without recomputation comes first. Of every plan that is
// simulated on the way, fit or not, synth/search/blocks.h says which blocks it would compute again
// to fit, and in what time: a wish. Wishes are planned, the quickest first, while they promise less
// than the best plan takes; what is simulated then makes wishes of its own, so blocks come and go
// as forms, cuts and memory prices change.

#include <math.h>
#include <string.h>

#include "synth/search/blocks.h"
#include "synth/search/candidates.h"
#include "synth/search/planner.h"
#include "synth/space/space.h"

// A block that was given up in vain.
struct failed {
    double sec, bytes;
};

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

static wish *wish_of(planner *p, int64_t chunks, const bool *again)
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

static bool near_by(double x, double y)
{
    return fabs(x - y) <= SYN_SAME_BLOCK * fabs(y);
}

static int64_t chunks_of(const ir_graph *g)
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
        wish *w = wish_of(p, chunks_of(p->g), again);
        w->sec = fmin(w->sec, sec + more);
    }
    memset(again, true, (size_t)b.n); // and what may be as quick once all the memory is free
    wish *w = wish_of(p, chunks_of(p->g), again);
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
    bool is = (planner_fits(p) || p->bar > 0) && p->effort->work > share * syn_work(p->o);
    if (is) p->effort->cut_short = true;
    return is;
}

static bool large(const planner *p)
{
    return p->step->nodes.n > SYN_LARGE;
}

static void begin_turn(planner *p)
{
    p->turn_end = p->effort->work + SYN_WORK_TURN * syn_work(p->o);
}

// Has the present number of micro-batches had its share of the work? What it leaves is for later.
static bool turn_is_over(planner *p, int64_t chunks)
{
    if (p->turn_end <= 0 || p->effort->work <= p->turn_end) return false;
    for (int i = 0; i < p->later.n; i++)
        if (p->later.p[i] == chunks) return true;
    HB_PUSH(p->a, &p->later, chunks);
    return true;
}

static int count(const planner *p, const bool *again)
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
    double far = SYN_OTHER_FAR * (r->end.sec > 0 ? r->end.sec : r->predicted_sec);
    const struct syn_end *end[] = {&r->end, &r->other_end, &r->paired_end, &r->near_end};
    for (int i = 0; i < 4; i++)
        if (end[i]->sec > 0 && end[i]->sec < far)
            HB_PUSH(p->a, &p->endings,
                    (ending){chunks, own, end[i]->sec, copy_of_lead(p->a, &end[i]->lead), i >= 2});
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
    o.baselines = o.baselines && !p->keeps_more;
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
        wish_of(p, chunks, again)->done = true;
    }
    hb_arena *own = hb_arena_new(); // what the search leaves, most of it of no further use
    syn_result r = syn_synthesize(own, g, f, p->m, &o);
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
                (long long)chunks, count(p, again), memory_first ? ", memory first" : "",
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
    if (taken || better) {
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

// Where equal blocks lie matters little, and among few layers not at all: were sets like this one
// planned?
static bool known_kinds(const planner *p, const wish *w)
{
    int done = 0, enough = p->step->few_of ? 1 : SYN_ALIKE_SETS;
    for (int i = 0; i < p->wishes.n; i++) {
        const wish *x = &p->wishes.p[i];
        done += x->done && x->chunks == w->chunks && x->kinds == w->kinds;
    }
    return done >= enough;
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

// What waited for other variants, of which one may be so quick that it is no longer worth it.
static void plan_waiting(planner *p)
{
    for (int i = 0; i < p->waiting.n; i++) {
        const struct waiting x = p->waiting.p[i];
        (void)plan_in_other_order(p, x.chunks, x.again, x.first, p->all ? 1 : SYN_WORK_FIRST);
    }
    p->waiting.n = 0;
}

// The wish that promises most of what was not planned; NULL: none does.
static const wish *next_wish(const planner *p, int64_t chunks)
{
    const wish *next = NULL;
    for (int i = 0; i < p->wishes.n; i++) {
        const wish *w = &p->wishes.p[i];
        if (w->chunks != chunks || w->done || (next && w->sec >= next->sec)) continue;
        if (known_kinds(p, w)) continue;
        if (w->sec * (1 - SYN_WISH_GAIN) < planner_to_beat(p)) next = w;
    }
    return next;
}

static void pursue(planner *p, int64_t chunks)
{
    int patience = large(p) ? 1 : SYN_PATIENCE;
    for (int worse = 0; worse < patience && !planner_is_over(p);) {
        const wish *w = next_wish(p, chunks);
        if (!w || turn_is_over(p, chunks)) return;
        worse = planner_plan(p, chunks, w->again, NULL) ? 0 : worse + 1;
    }
}

// The kept block that takes longest when done again, of equal ones the last, that other forms might
// keep; not one like `failed`. -1: none.
static int to_give_up(planner *p, const syn_blocks *b, int64_t chunks, bool *again,
                      const struct failed *failed)
{
    int most = -1;
    for (int i = 0; i < b->n; i++) {
        double bytes = b->bytes[i * b->n_classes];
        if (!again[i] || (most >= 0 && b->sec[i] < b->sec[most]) ||
            (near_by(b->sec[i], failed->sec) && near_by(bytes, failed->bytes)))
            continue;
        again[i] = false;
        if (syn_blocks_fit(b, SYN_GIVE_UP_SIZE, again)) {
            const wish *w = wish_of(p, chunks, again);
            if (!w->done && !known_kinds(p, w)) most = i;
        }
        again[i] = true;
    }
    return most;
}

// Other forms, at a slightly higher price on memory, may make up for a block that the present ones
// cannot keep.
static void give_up(planner *p)
{
    struct failed failed = {0};
    for (int worse = 0; worse < SYN_PATIENCE && planner_fits(p) && !planner_is_over(p);) {
        const syn_program *prog = p->plain;
        ir_again parts = ir_again_of(p->a, prog->g);
        syn_blocks b = syn_blocks_of(p->a, prog, &parts);
        bool *again = hb_copy(p->a, b.again, (size_t)b.n + 1);
        int one = to_give_up(p, &b, chunks_of(prog->g), again, &failed);
        if (one < 0 || turn_is_over(p, chunks_of(prog->g))) return;
        again[one] = false;
        failed = (struct failed){b.sec[one], b.bytes[one * b.n_classes]};
        if (planner_plan(p, chunks_of(prog->g), again, NULL)) {
            failed = (struct failed){0};
            worse = 0;
        } else {
            worse++;
        }
    }
}

// Could a variant in so many chunks, whose forward pass saves so many bytes (whole tensors), fit,
// as the leanest plan does not, or does though it saves less? Beside what that saved and its homes
// it held values for a while, of which each chunk has its part. Twice what is missing or free in
// all may lie with the right ranks.
static bool may_fit(const planner *p, double bytes, int64_t chunks)
{
    double passing = p->least_share * p->least_capacity - p->lean_bytes - ir_home_bytes(p->step);
    double less = p->lean_bytes - bytes +
                  fmax(passing, 0) * (1 - (double)p->lean_chunks / (double)chunks),
           over = (p->least_share - 1) * p->least_capacity;
    return over > 0 ? 2 * less >= over : less >= 2 * over;
}

// The blocks that the best plan computes again.
static const bool *set_of(const planner *p)
{
    bool *again = HB_ARRAY(p->a, bool, p->step->n_blocks + 1);
    const ir_graph *g = p->plain->g;
    for (int i = 0; i < g->recomputed.n; i++)
        again[g->recomputed.p[i]] = true;
    return again;
}

// What micro-batches are looked for with: the blocks that are computed again at least, and all;
// what the forward pass then saves of the whole batch; whether blocks are chosen.
typedef struct leanings {
    const bool *least, *all;
    double plain, lean;
    bool choose, tight;
} leanings;

// Plans what may be worth it in k micro-batches; in the first number `least` is planned already.
static void plan_chunks(planner *p, const leanings *x, int64_t k, int64_t first)
{
    if (k != first) begin_turn(p);
    if (k != first && may_fit(p, x->plain / (double)k, k))
        planner_plan(p, k, x->least, NULL);
    else if (k != first && planner_fits(p))
        planner_plan(p, k, set_of(p), NULL);
    if (x->choose) pursue(p, k);
    bool more = x->choose && !planner_fits(p) && may_fit(p, x->lean / (double)k, k);
    if (more && !wish_of(p, k, x->all)->done && planner_plan(p, k, x->all, NULL))
        pursue(p, k); // what it wishes for keeps more
    if (x->choose && !large(p)) give_up(p);
    // All computed again, which wishes need not lead to.
    if (x->choose && k == first && planner_fits(p) && (p->best.tight || x->tight) && !large(p) &&
        !wish_of(p, k, x->all)->done)
        planner_plan(p, k, x->all, NULL);
    plan_waiting(p);
}

// What so many micro-batches have come to, with any blocks computed again or only with these.
static struct seen best_in(const planner *p, int64_t chunks, const bool *again)
{
    struct seen best = {.chunks = chunks, .sec = HUGE_VAL};
    for (int i = 0; i < p->seen.n; i++) {
        const struct seen *x = &p->seen.p[i];
        if (x->chunks != chunks) continue;
        if (again && memcmp(x->again, again, (size_t)p->step->n_blocks) != 0) continue;
        best.sec = fmin(best.sec, x->sec);
        if (best.quickest <= 0 || (x->quickest > 0 && x->quickest < best.quickest))
            best.quickest = x->quickest;
    }
    return best;
}

// Of the numbers that divide the batch the next one from n on, up or down. 0: none.
static int64_t divisor(const planner *p, int64_t n, int up)
{
    while (n > 0 && n <= p->step->batch && p->step->batch % n != 0)
        n += up;
    return n <= p->step->batch && n <= INT16_MAX ? n : 0;
}

// Numbers between those that were tried, from the best plan's on, while they gain.
static void plan_between(planner *p, const leanings *x)
{
    for (int up = -1; up <= 1 && planner_fits(p); up += 2)
        for (int64_t n = chunks_of(p->plain->g), tried = 1; !planner_is_over(p); tried = 1) {
            n = divisor(p, n + up, up);
            while (tried > 0 && tried < n)
                tried = divisor(p, 2 * tried, 1);
            const syn_program *before = p->plain;
            if (n != 0 && n != tried) plan_chunks(p, x, n, 0);
            if (p->plain == before) break;
        }
}

// What the turns of numbers of micro-batches left, the most promising number first.
static void pursue_later(planner *p)
{
    bool any = p->later.n > 0, loose = p->loose;
    p->turn_end = 0;
    p->loose = true;
    while (p->later.n > 0 && !planner_is_over(p)) {
        const wish *best = NULL;
        int at = 0;
        for (int i = 0; i < p->later.n; i++) {
            const wish *w = next_wish(p, p->later.p[i]);
            if (!w || (best && w->sec >= best->sec)) continue;
            best = w;
            at = i;
        }
        int64_t chunks = p->later.p[at];
        p->later.p[at] = p->later.p[--p->later.n];
        if (best) pursue(p, chunks);
    }
    if (any && !large(p)) give_up(p);
    p->loose = loose;
}

// With every effort some blocks computed again may fit, too, that did not before.
static void pursue_again(planner *p, int64_t chunks)
{
    for (int i = 0; i < p->wishes.n; i++) {
        wish *w = &p->wishes.p[i];
        if (w->chunks == chunks && count(p, w->again) > 0) w->done = false;
    }
    pursue(p, chunks);
}

// Was a variant planned with every effort?
static bool is_exhausted(const planner *p, const struct seen *x)
{
    for (int i = 0; i < p->seen.n; i++) {
        const struct seen *y = &p->seen.p[i];
        if (!y->loose && y->chunks == x->chunks &&
            memcmp(y->again, x->again, (size_t)p->step->n_blocks) == 0)
            return true;
    }
    return false;
}

// Did the best plan take every effort?
static bool took_effort(const planner *p)
{
    const bool *again = set_of(p);
    int64_t chunks = chunks_of(p->plain->g);
    bool easily = false;
    for (int i = 0; i < p->seen.n; i++) {
        const struct seen *x = &p->seen.p[i];
        easily = easily || (x->loose && isfinite(x->sec) && x->chunks == chunks &&
                            memcmp(x->again, again, (size_t)p->step->n_blocks) == 0);
    }
    return !easily;
}

// What came near without a plan, with every effort: the nearest first.
static void plan_near_ones(planner *p, double most_share)
{
    const syn_program *before = p->plain;
    for (int vain = 0; vain < SYN_EFFORT_VAIN && !planner_is_over(p);) {
        const struct seen *next = NULL;
        for (int i = 0; i < p->seen.n; i++) {
            const struct seen *x = &p->seen.p[i];
            if (isfinite(x->sec) || x->share > most_share || (next && x->share >= next->share))
                continue;
            if (x->quickest < planner_to_beat(p) * (1 - SYN_VARIANT_GAIN) && !is_exhausted(p, x))
                next = x;
        }
        if (!next || planner_is_tired(p, 1)) break;
        vain = planner_plan(p, next->chunks, next->again, NULL) ? 0 : vain + 1;
    }
    if (p->plain != before) give_up(p);
}

// Other numbers had the work: a short search of those from k on, until two in a row gain nothing.
static void glance(planner *p, const leanings *x, int64_t k)
{
    p->most_work = SYN_WORK_GLANCE * syn_work(p->o);
    int vain = 0;
    for (; k > 0 && vain < 2; k = divisor(p, 2 * k, 1))
        vain = planner_plan(p, k, x->least, NULL) ? 0 : vain + 1;
    p->most_work = 0;
}

void planner_variants(planner *p)
{
    const syn_options *o = p->o;
    ir_graph *step = p->step;
    int64_t first = o->micro_batches > 1 ? o->micro_batches : 1;
    bool *all = HB_ARRAY(p->a, bool, step->n_blocks + 1),
         *none = HB_ARRAY(p->a, bool, step->n_blocks + 1);
    memset(all, true, (size_t)step->n_blocks);
    bool given = o->micro_batches > 0 && o->again;
    p->loose = !o->pins && o->strategy == SYN_AUTO && !given;
    begin_turn(p);
    // On some devices what is best on all comes first.
    if (p->all && planner_fits(p->all) && p->all->plain->g->recomputed.n > 0) {
        bool loose = p->loose;
        p->loose = loose && !took_effort(p->all);
        planner_plan(p, chunks_of(p->all->plain->g), set_of(p->all), NULL);
        p->loose = loose;
    }
    // Where memory costs the step as it is much, and looking for that took long, blocks computed
    // again may be far quicker.
    p->others_first = !o->again && !given && !o->pins && o->strategy == SYN_AUTO &&
                      step->n_blocks > 0 && !step->few_of && !(o->after_few && !o->vary_blocks);
    planner_plan(p, first, o->again ? o->again : none, NULL);
    p->others_first = false;
    if (p->least_share <= 0) return; // parameters and moments alone do not fit
    p->hopeless = p->o->worth > 0 && p->quickest >= p->o->worth;
    if (p->hopeless) return;
    if (given) return;
    bool plain_fits = planner_fits(p);
    double first_share = p->least_share;
    bool enough = planner_fits(p) && o->after_few;
    if (o->pins || o->strategy != SYN_AUTO || !(p->best.tight || next_wish(p, first))) return;
    bool choose = !o->again && step->n_blocks > 0 && !(enough && !o->vary_blocks);
    double plain = ir_saved_bytes(p->g) * (double)first; // in one chunk
    leanings x = {o->again ? o->again : none, all, plain, plain, choose, p->best.tight};
    if (choose) x.lean = ir_saved_bytes(ir_recompute(p->a, step, all));
    bool vary = o->micro_batches == 0;
    int weary = 0;
    bool gained = false; // did the latest number, beside a first that fits?
    bool glanced = false;
    // Of the latest number: in all, and with x.least.
    struct seen last = {.sec = HUGE_VAL}, plain_last = last;
    for (int64_t k = first; k > 0 && weary < SYN_WEARY; k = vary ? divisor(p, 2 * k, 1) : 0) {
        const syn_program *before = p->plain;
        double other = last.sec, other_plain = plain_last.sec, share = p->least_share;
        int later = p->later.n;
        bool costs = p->plain_sec > SYN_FINISH_FAR * p->quickest; // memory, much
        // What turns have left may promise more than another number does.
        if (later > 0 && planner_is_tired(p, SYN_WORK_FIRST) && !gained) {
            if (costs && !glanced) glance(p, &x, k);
            break;
        }
        if (k > first && planner_fits(p) && o->after_few && !o->vary_chunks) break;
        // With all the memory that it wants, half as many are no better than what is to be beaten.
        if (k > first && p->bar > 0 && last.quickest >= planner_to_beat(p)) break;
        plan_chunks(p, &x, k, first);
        costs = p->plain_sec > SYN_FINISH_FAR * p->quickest;
        glanced = vary && k == first && costs && planner_is_tired(p, 1);
        if (glanced) glance(p, &x, divisor(p, 2 * first, 1));
        struct seen now = best_in(p, k, NULL), plain_now = best_in(p, k, x.least);
        if (now.quickest > 0) last = now;
        if (plain_now.quickest > 0) plain_last = plain_now;
        bool far = p->plain_sec > p->quickest * SYN_TIGHT_FAR;
        // Not the best yet, but on the way there?
        bool falls = last.sec < other * (1 - SYN_WISH_GAIN) ||
                     plain_last.sec < other_plain * (1 - SYN_WISH_GAIN);
        bool done = p->later.n == later;
        gained = k > first && before && p->plain != before;
        weary = planner_fits(p) && k > first && p->plain == before && !far && !falls && done
                    ? weary + 1
                    : 0;
        // So many are for what does not fit otherwise, while it comes nearer.
        bool nearer = !planner_fits(p) && p->least_share < share * (1 - SYN_CHUNKS_GAIN);
        if (2 * k > SYN_MAX_CHUNKS && !nearer) break;
    }
    if (vary && !(p->later.n > 0 && planner_is_tired(p, SYN_WORK_FIRST))) plan_between(p, &x);
    p->turn_end = 0;
    if (!planner_fits(p) && p->bar <= 0) pursue_later(p);
    p->loose = false;
    bool leads = planner_fits(p) && p->plain_sec < p->bar;
    if (p->bar > 0 && !leads && p->bar < p->quickest * SYN_TIGHT_FAR) return;
    // With every effort the step as it is may fit, too, and be quicker than others, or the only
    // one. Of sets of devices alone that is tried with the one that leads, and with those that
    // would be far ahead with more memory.
    bool far = p->bar > 0 || p->plain_sec > p->quickest * SYN_TIGHT_FAR;
    int vain = p->no_gain;
    p->no_gain = 0;
    if (!plain_fits &&
        (!planner_fits(p) || first_share <= (far ? SYN_EFFORT_FAR : SYN_EFFORT_SHARE)) &&
        planner_plan(p, first, x.least, NULL) && choose && !large(p))
        pursue_again(p, first);
    if (choose && !large(p)) plan_near_ones(p, far ? SYN_EFFORT_FAR : SYN_EFFORT_SHARE);
    p->no_gain = vain;
    if (p->best.status != SYN_INFEASIBLE) return;
    // None fits: now what took least.
    for (int i = 0; i < p->wishes.n; i++)
        p->wishes.p[i].done = false;
    if (planner_plan(p, p->lean_chunks, p->lean_again, NULL) && choose) pursue(p, p->lean_chunks);
}

// The set of devices whose plans came nearest to what is to be beaten; NULL: none may beat it.
static struct known_set *next_set(planner *p)
{
    struct known_set *next = NULL;
    for (int order = 0; order < 2; order++)
        for (int i = 0; i < p->known[order].set.n; i++) {
            struct known_set *x = &p->known[order].set.p[i];
            if (x->done || x->quickest >= planner_to_beat(p) * (1 - SYN_SET_WORTH)) continue;
            if (!next || x->near < next->near) next = x;
        }
    return next;
}

static void set_done(planner *p, uint64_t key)
{
    for (int order = 0; order < 2; order++)
        for (int i = 0; i < p->known[order].set.n; i++)
            if (p->known[order].set.p[i].key == key) p->known[order].set.p[i].done = true;
}

// What was found on some devices, if it is better.
static bool take_over(planner *p, const planner *some)
{
    p->spent += some->spent;
    for (int i = 0; i < some->endings.n; i++)
        HB_PUSH(p->a, &p->endings, some->endings.p[i]);
    const syn_result *r = &some->best;
    if (r->status != SYN_OK || !some->any) return false;
    bool had = p->best.status == SYN_OK;
    if (had && r->predicted_sec >= p->best.predicted_sec * (1 - SYN_SET_WORTH)) return false;
    syn_result before = p->best;
    p->best = *r;
    p->plain = some->plain;
    p->plain_sec = some->plain_sec;
    p->best.others = before.others;
    memcpy(p->best.baseline_sec, before.baseline_sec, sizeof before.baseline_sec);
    return true;
}

void planner_sets(planner *p)
{
    if (p->o->strategy != SYN_AUTO || p->o->pins || p->o->all_devices) return;
    if (p->step->few_of || p->o->after_few) return; // takes longer than it gains
    bool binds = p->best.tight || p->quickest < planner_to_beat(p) * (1 - SYN_SET_WORTH);
    if (!binds) return;
    double effort = p->o->effort;
    int most = (int)(effort * SYN_SET_NODES) / (p->step->nodes.n + 1);
    if (most > effort * SYN_SETS_ALONE) most = (int)(effort * SYN_SETS_ALONE);
    for (int vain = 0; vain < most && !planner_is_over(p) && !planner_is_tired(p, 1);) {
        struct known_set *set = next_set(p);
        if (!set) return;
        syn_options *o = hb_copy(p->a, p->o, sizeof *p->o);
        o->devices = set->keep;
        o->baselines = false;
        set_done(p, set->key);
        planner *some = HB_NEW(p->a, planner);
        *some = (planner){.a = p->a,
                          .step = p->step,
                          .m = p->m,
                          .o = o,
                          .begin = p->begin,
                          .effort = p->effort,
                          .all = p,
                          .bar = planner_fits(p) ? p->plain_sec : 0};
        planner_variants(some);
        vain = take_over(p, some) ? 0 : vain + 1;
        HB_PUSH(p->a, &p->alone, some);
    }
}

void planner_rest(planner *p)
{
    pursue_later(p);
    for (int i = 0; i < p->alone.n; i++) {
        planner *some = p->alone.p[i];
        some->bar = planner_fits(p) ? p->plain_sec : 0;
        some->spent = 0;
        pursue_later(some);
        (void)take_over(p, some);
    }
}

planner planner_of(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *o)
{
    return (planner){.a = a,
                     .step = step,
                     .m = m,
                     .o = o,
                     .begin = pool_now(),
                     .bar = o->worth,
                     .old_best = o->worth,
                     .old_leads = o->worth};
}
