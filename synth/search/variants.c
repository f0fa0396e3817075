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

#include "ir/fold.h"
#include "synth/passes/workspace.h"
#include "synth/plan/liveness.h"
#include "synth/search/blocks.h"
#include "synth/search/candidates.h"
#include "synth/search/known_sets.h"
#include "synth/search/synth.h"
#include "synth/space/space.h"

typedef struct wish {
    int64_t chunks;
    const bool *again;
    uint64_t kinds; // of the blocks: sets of as many blocks of each kind have the same
    double sec;
    bool done;
} wish;

// Where a search among few layers ended.
typedef struct ending {
    int64_t chunks;
    const bool *again;
    double sec;
    syn_lead lead;
} ending;

// A block that was given up in vain.
struct failed {
    double sec, bytes;
};

// What planning a variant has come to.
struct look {
    double sec;      // of the fastest plan that fits; HUGE_VAL: none
    double quickest; // of all that were simulated, whether they fit or not
    double share;    // of memory that the leanest of these takes
    bool tight;      // memory shaped the fastest that fits
};

// What all planners of a step have done.
struct effort {
    double work;    // states of all searches
    bool cut_short; // something was left out, for its sake
};

// A variant that was planned.
struct seen {
    int64_t chunks;
    const bool *again;
    double sec; // of the fastest plan that fits; HUGE_VAL: none
};

typedef struct planner {
    hb_arena *a;
    ir_graph *step;
    const cost_model *m;
    const syn_options *o;
    syn_result best;
    bool any; // best is a result
    // The best plan without pairs, which alone decides what is planned next: pairs only add plans.
    const syn_program *plain; // NULL: none fits
    double plain_sec;
    struct look last; // of the variant planned last, in the better of two orders
    int vain;         // variants, one behind the other, that memory first did not help
    struct effort *effort;
    HB_VEC(struct seen) seen;
    const struct planner *all; // of a set of devices alone: what was found on all; NULL
    int no_gain;               // variants in a row that the set alone plans alike
    double quickest;           // of all that were simulated, whether they fit or not; 0: none
    // Of the plan that took least: share of the fullest memory, bytes of all memory on its devices,
    // and what its forward pass saved.
    double least_share, least_capacity, lean_bytes;
    int64_t lean_chunks;
    const bool *lean_again;
    bool loose;          // other variants may fit: none is worth every effort yet
    double begin, spent; // when it began; seconds of the searches alone, for the report
    HB_VEC(wish) wishes;
    uint64_t *kind;    // of each block of the step: ops and sizes
    const ir_graph *g; // that is planned
    ir_again parts;
    // Among few layers: where the plans ended that are to be planned whole.
    HB_VEC(ending) endings;
    bool kept;                  // the whole takes about what few layers promised
    bool hopeless;              // with any memory they take longer than what is to be beaten
    double bar;                 // seconds of a plan on other devices, to be beaten; 0: none
    syn_known_sets known[2];    // of searches without memory first and with it
    double old_best, old_leads; // the fastest without memory first: without pairs, in all; 0: none
} planner;

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
        all += b.sec[i];
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

// Seconds of the limit that are left: all that happens counts, graphs of variants and baselines
// too.
static double left(const planner *p)
{
    return fmax(p->o->time_limit_sec - (pool_now() - p->begin), SYN_LEAST_TIME);
}

static bool over(const planner *p)
{
    return (p->o->interrupted && *p->o->interrupted) ||
           (p->o->time_limit_sec > 0 && left(p) <= SYN_LEAST_TIME) || p->no_gain >= SYN_SET_VAIN;
}

static bool fitting(const planner *p)
{
    return p->plain != NULL;
}

// Is so large a share of the work that is allowed done, and a plan there?
static bool tired(const planner *p, double share)
{
    bool is = (fitting(p) || p->bar > 0) && p->effort->work > share * SYN_WORK;
    if (is) p->effort->cut_short = true;
    return is;
}

// Seconds that a further plan must beat.
static double to_beat(const planner *p)
{
    double own = fitting(p) ? p->plain_sec : HUGE_VAL;
    return p->bar > 0 ? fmin(own, p->bar) : own;
}

static bool large(const planner *p)
{
    return p->step->nodes.n > SYN_LARGE;
}

static int count(const planner *p, const bool *again)
{
    int n = 0;
    for (int b = 0; again && b < p->step->n_blocks; b++)
        n += again[b];
    return n;
}

static void note_ending(planner *p, int64_t chunks, const bool *again, const syn_result *r)
{
    const bool *own = hb_copy(p->a, again, (size_t)p->step->n_blocks + 1);
    HB_PUSH(p->a, &p->endings, (ending){chunks, own, r->predicted_sec, r->lead});
    if (r->other_sec > 0 && r->other_sec < SYN_OTHER_FAR * r->predicted_sec)
        HB_PUSH(p->a, &p->endings, (ending){chunks, own, r->other_sec, r->other_lead});
}

static void note_old(planner *p, const syn_result *r, double plain)
{
    if (r->status != SYN_OK) return;
    if (isfinite(plain) && (p->old_best <= 0 || plain < p->old_best)) p->old_best = plain;
    if (p->old_leads <= 0 || r->predicted_sec < p->old_leads) p->old_leads = r->predicted_sec;
}

// Pins are of tensors by number: read once more for a variant. NULL: none can be made, or it lacks
// a name; of the first the result says so.
static const ir_factors *variant_of(planner *p, int64_t chunks, const bool *again, syn_options *o)
{
    hb_diag *d = hb_diag_new(p->a);
    const ir_factors *f = NULL;
    p->g = ir_variant(p->a, p->step, chunks, again, d);
    if (p->g) f = ir_factorize(p->a, p->g);
    if (f && o->pins && p->g != p->step) {
        hb_str *text = HB_ARRAY(p->a, hb_str, o->pins->n + 1);
        for (int i = 0; i < o->pins->n; i++)
            text[i] = o->pins->pin[i].text;
        o->pins = syn_pins_read(p->a, p->g, f, text, o->pins->n, d);
        if (!o->pins) f = NULL;
    }
    if (!f && !p->any) {
        hb_str why = hb_fmt(p->a, "not with what was asked of micro-batches and recomputation");
        p->best = (syn_result){.status = SYN_INFEASIBLE, .why = why};
    }
    return f;
}

// Plans one variant in one of the two orders; true if it is the best so far.
static bool plan_by(planner *p, int64_t chunks, const bool *again, const syn_lead *lead,
                    bool memory_first)
{
    syn_options o = *p->o;
    p->last.tight = false;
    if (p->any && over(p)) return false; // the first has one search, whatever the time
    o.loose = p->loose;
    o.lead = lead;
    o.memory_first = memory_first;
    o.known = &p->known[memory_first];
    o.known->arena = p->a;
    // The old order ends early by its own plans alone: it finds what it would by itself.
    o.known->best = p->old_best;
    o.known->leads = p->old_leads;
    if (memory_first) {
        o.known->best = fitting(p) ? p->plain_sec : 0;
        o.known->leads = fitting(p) && p->best.status == SYN_OK ? p->best.predicted_sec : 0;
    }
    if (o.time_limit_sec > 0) o.time_limit_sec = left(p);
    const ir_factors *f = variant_of(p, chunks, again, &o);
    if (!f) return false;
    const ir_graph *g = p->g;
    if (!o.again && !o.pins && o.strategy == SYN_AUTO && p->step->n_blocks > 0) {
        p->parts = ir_again_of(p->a, g);
        o.simulated = listen;
        o.simulated_ctx = p;
        wish_of(p, chunks, again)->done = true;
    }
    syn_result r = syn_synthesize(p->a, g, f, p->m, &o);
    p->spent += r.plan_sec;
    p->effort->work += r.work;
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
    if (o.log)
        fprintf(o.log, "%lld micro-batches, %d blocks computed again%s: %.6g ms\n",
                (long long)chunks, count(p, again), memory_first ? ", memory first" : "",
                r.status == SYN_OK ? r.predicted_sec * 1e3 : -1);
    bool better = r.status == SYN_OK && r.plain &&
                  (!fitting(p) || r.plain_sec < p->plain_sec * (1 - SYN_VARIANT_GAIN));
    if (better) {
        p->plain = r.plain;
        p->plain_sec = r.plain_sec;
    }
    bool had = p->any && p->best.status == SYN_OK;
    bool best =
        r.status == SYN_OK &&
        (!had || r.predicted_sec < p->best.predicted_sec * (better ? 1 : 1 - SYN_VARIANT_GAIN));
    bool worth_saying = r.status == SYN_FAILED_CHECK && !had;
    if (p->any && !best && !worth_saying) return better;
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

// Is a variant that has come to so much worth a search with memory first?
static bool worth_another_order(const planner *p, const struct look *of)
{
    if (p->o->strategy != SYN_AUTO || !of->tight || over(p)) return false;
    if (isinf(of->sec)) return of->share <= SYN_ORDER_FAR && !tired(p, SYN_WORK_FIRST);
    if (of->sec <= of->quickest * (1 + SYN_ORDER_LEAST) || all_alike(p)) return false;
    if (p->vain >= SYN_ORDER_LAST || tired(p, SYN_WORK_FIRST)) return false;
    // With all the memory that it wants it is no better than the best.
    if (of->quickest >= to_beat(p) * (1 - SYN_VARIANT_GAIN)) return false;
    return p->vain < SYN_ORDER_VAIN || of->sec >= SYN_TIGHT_FAR * of->quickest;
}

// Of a set of devices alone: does it come to what a search over all devices came to?
static void note_variant(planner *p, int64_t chunks, const bool *again)
{
    size_t bytes = (size_t)p->step->n_blocks;
    const bool *own = hb_copy(p->a, again, bytes + 1);
    HB_PUSH(p->a, &p->seen, (struct seen){chunks, own, p->last.sec});
    for (int i = 0; p->all && i < p->all->seen.n && isfinite(p->last.sec); i++) {
        const struct seen *x = &p->all->seen.p[i];
        if (x->chunks != chunks || memcmp(x->again, again, bytes) != 0) continue;
        p->no_gain = fabs(p->last.sec - x->sec) <= SYN_SAME_PLACE * x->sec ? p->no_gain + 1 : 0;
        return;
    }
}

// Plans one variant, and where memory binds once more with memory first; true if it is the best so
// far.
static bool plan(planner *p, int64_t chunks, const bool *again, const syn_lead *lead)
{
    if (lead) return plan_by(p, chunks, again, lead, lead->memory_first);
    if ((p->any && over(p)) || tired(p, 1)) return false;
    bool better = plan_by(p, chunks, again, NULL, false);
    struct look first = p->last;
    if (worth_another_order(p, &first)) {
        better = plan_by(p, chunks, again, NULL, true) || better;
        bool gains = p->last.sec < first.sec * (1 - SYN_ORDER_GAIN);
        if (gains || isfinite(first.sec)) p->vain = gains ? 0 : p->vain + 1;
        if (first.sec < p->last.sec) p->last = first;
    }
    note_variant(p, chunks, again);
    return better;
}

// The blocks that promise most of what was not planned; NULL: none does.
static const bool *next_wish(const planner *p, int64_t chunks)
{
    const wish *next = NULL;
    for (int i = 0; i < p->wishes.n; i++) {
        const wish *w = &p->wishes.p[i];
        if (w->chunks != chunks || w->done || (next && w->sec >= next->sec)) continue;
        if (known_kinds(p, w)) continue;
        if (w->sec * (1 - SYN_WISH_GAIN) < to_beat(p)) next = w;
    }
    return next ? next->again : NULL;
}

static void pursue(planner *p, int64_t chunks)
{
    int patience = large(p) ? 1 : SYN_PATIENCE;
    for (int worse = 0; worse < patience && !over(p);) {
        const bool *again = next_wish(p, chunks);
        if (!again) return;
        worse = plan(p, chunks, again, NULL) ? 0 : worse + 1;
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
    for (int worse = 0; worse < SYN_PATIENCE && fitting(p) && !over(p);) {
        const syn_program *prog = p->plain;
        ir_again parts = ir_again_of(p->a, prog->g);
        syn_blocks b = syn_blocks_of(p->a, prog, &parts);
        bool *again = hb_copy(p->a, b.again, (size_t)b.n + 1);
        int one = to_give_up(p, &b, chunks_of(prog->g), again, &failed);
        if (one < 0) return;
        again[one] = false;
        failed = (struct failed){b.sec[one], b.bytes[one * b.n_classes]};
        if (plan(p, chunks_of(prog->g), again, NULL)) {
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

static syn_result result_of(planner *p)
{
    p->best.plan_sec = p->spent;
    p->best.work = p->effort->work;
    p->best.cut_short = p->effort->cut_short;
    return p->best;
}

// What of the options is asked for, or all that may fit.
static void plan_variants(planner *p)
{
    const syn_options *o = p->o;
    ir_graph *step = p->step;
    int64_t first = o->micro_batches > 1 ? o->micro_batches : 1;
    bool *all = HB_ARRAY(p->a, bool, step->n_blocks + 1),
         *none = HB_ARRAY(p->a, bool, step->n_blocks + 1);
    memset(all, true, (size_t)step->n_blocks);
    bool given = o->micro_batches > 0 && o->again;
    p->loose = !o->pins && o->strategy == SYN_AUTO && !given;
    plan(p, first, o->again ? o->again : none, NULL);
    if (p->least_share <= 0) return; // parameters and moments alone do not fit
    p->hopeless = p->o->worth > 0 && p->quickest >= p->o->worth;
    if (p->hopeless) return;
    if (given) return;
    bool plain_fits = fitting(p);
    double first_share = p->least_share;
    bool enough = fitting(p) && large(p);
    if (o->pins || o->strategy != SYN_AUTO || !(p->best.tight || next_wish(p, first))) return;
    bool choose = !o->again && step->n_blocks > 0 && !(enough && !o->vary_blocks);
    double plain = ir_saved_bytes(p->g) * (double)first, lean = plain; // in one chunk
    if (choose) lean = ir_saved_bytes(ir_recompute(p->a, step, all));
    int64_t last = o->micro_batches > 0 ? first : SYN_MAX_CHUNKS;
    const bool *least = o->again ? o->again : none;
    int weary = 0;
    double one = p->last.sec, other; // with `least`, in so many chunks and in half of them
    for (int64_t k = first; k <= last && weary < SYN_WEARY && step->batch % k == 0; k *= 2) {
        const syn_program *before = p->plain;
        other = one;
        if (k > first && fitting(p) && large(p) && !o->vary_chunks) break;
        // With all the memory that it wants, half as many are no better than what is to be beaten.
        if (k > first && p->bar > 0 && p->last.quickest >= to_beat(p)) break;
        if (k > first && may_fit(p, plain / (double)k, k)) {
            plan(p, k, least, NULL);
            one = p->last.sec;
        } else if (k > first && fitting(p)) {
            plan(p, k, set_of(p), NULL);
        }
        if (choose) pursue(p, k);
        if (choose && !fitting(p) && may_fit(p, lean / (double)k, k) && plan(p, k, all, NULL))
            pursue(p, k); // what it wishes for keeps more
        if (choose && !large(p)) give_up(p);
        bool far = p->plain_sec > p->quickest * SYN_TIGHT_FAR;
        // Not the best yet, but on the way there?
        bool falls = one < other * (1 - SYN_WISH_GAIN);
        weary = fitting(p) && k > first && p->plain == before && !far && !falls ? weary + 1 : 0;
    }
    p->loose = false;
    if (p->bar > 0) return;
    // With every effort the step as it is may fit, too, and be quicker than others, or the only
    // one.
    if (!plain_fits && (!fitting(p) || first_share <= SYN_EFFORT_SHARE))
        plan(p, first, least, NULL);
    // None fits: now what took least.
    for (int i = 0; i < p->wishes.n; i++)
        p->wishes.p[i].done = false;
    if (p->best.status == SYN_INFEASIBLE && plan(p, p->lean_chunks, p->lean_again, NULL) && choose)
        pursue(p, p->lean_chunks);
}

// The set of devices whose plans came nearest to what is to be beaten; NULL: none may beat it.
static struct known_set *next_set(planner *p)
{
    struct known_set *next = NULL;
    for (int order = 0; order < 2; order++)
        for (int i = 0; i < p->known[order].set.n; i++) {
            struct known_set *x = &p->known[order].set.p[i];
            if (x->done || x->quickest >= to_beat(p) * (1 - SYN_SET_WORTH)) continue;
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

// Where memory binds, a set of devices wants other micro-batches, recomputation and memory prices
// than all of them: the sets that may be quicker, each planned as if there were no others.
static void plan_sets(planner *p)
{
    if (p->o->strategy != SYN_AUTO || p->o->pins || p->o->all_devices || !p->best.tight) return;
    if (p->step->few_of || large(p)) return; // takes longer than it gains
    int most = SYN_SET_NODES / (p->step->nodes.n + 1);
    if (most > SYN_SETS_ALONE) most = SYN_SETS_ALONE;
    for (int vain = 0; vain < most && !over(p) && !tired(p, 1);) {
        struct known_set *set = next_set(p);
        if (!set) return;
        syn_options o = *p->o;
        o.devices = set->keep;
        o.baselines = false;
        set_done(p, set->key);
        planner some = {.a = p->a,
                        .step = p->step,
                        .m = p->m,
                        .o = &o,
                        .begin = p->begin,
                        .effort = p->effort,
                        .all = p,
                        .bar = fitting(p) ? p->plain_sec : 0};
        plan_variants(&some);
        vain = take_over(p, &some) ? 0 : vain + 1;
    }
}

static bool same_place(const ending *x, const ending *y)
{
    const syn_mesh *a = x->lead.mesh, *b = y->lead.mesh;
    return a->n_axes == b->n_axes && a->n_ranks == b->n_ranks &&
           memcmp(a->cluster_rank, b->cluster_rank, sizeof *a->cluster_rank * (size_t)a->n_ranks) ==
               0;
}

// Of endings that may be the best, the one that promises most. Not one on the same devices with as
// many chunks as one before. Where the whole takes longer than promised, one that promises nearly
// as much as was found may do better.
static ending *next_ending(const planner *whole, planner *few, const bool *done)
{
    bool kept = fitting(whole) && whole->plain_sec <= few->plain_sec * SYN_PROMISE;
    double gain = kept ? 1 + SYN_WISH_GAIN : 1 - SYN_WISH_GAIN;
    ending *next = NULL;
    for (int i = 0; i < few->endings.n; i++) {
        ending *e = &few->endings.p[i];
        bool skip = done[i];
        skip = skip || e->sec * gain > to_beat(whole);
        for (int k = 0; k < few->endings.n && !skip; k++)
            skip = done[k] && few->endings.p[k].chunks == e->chunks &&
                   few->endings.p[k].lead.memory_first == e->lead.memory_first &&
                   same_place(&few->endings.p[k], e);
        if (!skip && (!next || e->sec < next->sec)) next = e;
    }
    return next;
}

// Is there no room beside the best plan among few layers for what a runtime holds beside the arena?
static bool short_of_workspace(const planner *few)
{
    if (!fitting(few)) return false;
    hb_arena *scratch = hb_arena_new();
    syn_program *prog = hb_copy(scratch, few->plain, sizeof *few->plain);
    syn_workspace_expected(prog);
    bool is = syn_live_share(prog, false) > SYN_FEW_FIT;
    hb_arena_free(scratch);
    return is;
}

// Of a step that is planned for less than `worth` seconds alone.
static planner planner_of(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *o)
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

// The problem of few layers; where that ends, the whole begins. wary: what a runtime holds beside
// the arena counts among few layers in both orders, and an arena may take more than the live bytes.
// Whether it is worth another look.
static bool plan_from_few(planner *p, ir_graph *few_step, bool wary)
{
    syn_options quick = *p->o;
    quick.no_pairs = true;
    quick.baselines = false;
    quick.wary = wary;
    const bool *asked = p->o->again;
    if (asked) quick.again = asked_of_few(p->a, few_step, p->step->n_blocks, asked);
    if (quick.time_limit_sec > 0) // the rest is for all layers
        quick.time_limit_sec = SYN_FEW_TIME * left(p);
    planner few = planner_of(p->a, few_step, p->m, &quick);
    few.effort = p->effort;
    if (over(p) || tired(p, 1)) return false;
    plan_variants(&few);
    plan_sets(&few);
    p->spent += few.spent;
    p->hopeless = few.hopeless;
    if (p->hopeless) return false;
    bool *done = HB_ARRAY(p->a, bool, few.endings.n + 1);
    bool *again = HB_ARRAY(p->a, bool, p->step->n_blocks + 1);
    for (int n = 0; n < SYN_ENDINGS; n++) {
        ending *e = next_ending(p, &few, done);
        if (!e) break;
        done[e - few.endings.p] = true;
        for (int b = 0; b < p->step->n_blocks; b++)
            again[b] = e->again[few_step->few_of[b]];
        plan(p, e->chunks, asked ? asked : again, &e->lead);
    }
    p->kept = fitting(p) && fitting(&few) && p->plain_sec <= few.plain_sec * SYN_PROMISE;
    return !p->kept && !wary && short_of_workspace(&few);
}

static syn_result none_worth(const planner *p)
{
    return (syn_result){.status = SYN_INFEASIBLE,
                        .why = hb_fmt(p->a, "no plan takes less than %.6g ms", p->bar * 1e3),
                        .plan_sec = p->spent};
}

syn_result syn_plan(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *options)
{
    syn_options *o = hb_copy(a, options, sizeof *options);
    o->time_limit_sec *= SYN_SEARCH_TIME; // the rest is for placing and proving
    struct effort effort = {0};
    planner p = planner_of(a, step, m, o);
    p.effort = &effort;
    bool may_fold = o->strategy == SYN_AUTO && !o->pins && step->nodes.n > SYN_LARGE;
    ir_graph *few = may_fold ? ir_fold(a, step, SYN_FEW_LAYERS) : NULL;
    if (few && plan_from_few(&p, few, false)) plan_from_few(&p, few, true);
    if (p.hopeless) return none_worth(&p);
    if (!few || !(p.kept || (fitting(&p) && (over(&p) || tired(&p, 1))))) {
        planner whole = planner_of(a, step, m, o);
        whole.begin = p.begin;
        whole.effort = &effort;
        whole.spent = p.spent;
        plan_variants(&whole);
        plan_sets(&whole);
        whole.kept = p.kept;
        if (!fitting(&p) || (fitting(&whole) && whole.best.predicted_sec < p.best.predicted_sec))
            p = whole;
        p.spent = whole.spent;
    }
    if (p.bar > 0 && !(p.any && p.best.status == SYN_OK && p.best.predicted_sec < p.bar))
        return none_worth(&p);
    return result_of(&p);
}
