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

static bool near_by(double x, double y)
{
    return fabs(x - y) <= SYN_SAME_BLOCK * fabs(y);
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
            const wish *w = planner_wish(p, chunks, again);
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
        int one = to_give_up(p, &b, planner_chunks(prog->g), again, &failed);
        if (one < 0 || turn_is_over(p, planner_chunks(prog->g))) return;
        again[one] = false;
        failed = (struct failed){b.sec[one], b.bytes[one * b.n_classes]};
        if (planner_plan(p, planner_chunks(prog->g), again, NULL)) {
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

const bool *planner_again(const planner *p)
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
        planner_plan(p, k, planner_again(p), NULL);
    if (x->choose) pursue(p, k);
    bool more = x->choose && !planner_fits(p) && may_fit(p, x->lean / (double)k, k);
    if (more && !planner_wish(p, k, x->all)->done && planner_plan(p, k, x->all, NULL))
        pursue(p, k); // what it wishes for keeps more
    if (x->choose && !large(p)) give_up(p);
    // All computed again, which wishes need not lead to.
    if (x->choose && k == first && planner_fits(p) && (p->best.tight || x->tight) && !large(p) &&
        !planner_wish(p, k, x->all)->done)
        planner_plan(p, k, x->all, NULL);
    planner_plan_waiting(p);
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
        for (int64_t n = planner_chunks(p->plain->g), tried = 1; !planner_is_over(p); tried = 1) {
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
        if (w->chunks == chunks && planner_count(p, w->again) > 0) w->done = false;
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
    const bool *again = planner_again(p);
    int64_t chunks = planner_chunks(p->plain->g);
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

// Other numbers had the work: a short search of those from k on, until two in a row gain nothing,
// neither on the best plan nor on the number before; one that does not fit, but would be quicker,
// is no such number.
static void glance(planner *p, const leanings *x, int64_t k)
{
    double before = 0;
    p->most_work = SYN_WORK_GLANCE * syn_work(p->o);
    for (int vain = 0; k > 0 && vain < 2; k = divisor(p, 2 * k, 1)) {
        bool better = planner_plan(p, k, x->least, NULL),
             falls = p->last.sec < before * (1 - SYN_WISH_GAIN),
             hopes = isinf(p->last.sec) && p->last.quickest > 0 &&
                     p->last.quickest < planner_to_beat(p) * (1 - SYN_WISH_GAIN);
        vain = better || falls || hopes ? 0 : vain + 1;
        before = p->last.sec;
    }
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
        planner_plan(p, planner_chunks(p->all->plain->g), planner_again(p->all), NULL);
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
        if (gained && planner_is_tired(p, 1)) {
            glance(p, &x, k);
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
        // Nothing more computed again does not fit yet, but would be quicker.
        bool hopes = !isfinite(plain_last.sec) && plain_last.quickest > 0 &&
                     plain_last.quickest < planner_to_beat(p) * (1 - SYN_WISH_GAIN);
        bool done = p->later.n == later;
        gained = k > first && before && p->plain != before;
        weary =
            planner_fits(p) && k > first && p->plain == before && !far && !falls && !hopes && done
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

// What was found on some devices, if it takes so much less, a share.
static bool take_over(planner *p, const planner *some, double worth)
{
    p->spent += some->spent;
    for (int i = 0; i < some->endings.n; i++)
        HB_PUSH(p->a, &p->endings, some->endings.p[i]);
    const syn_result *r = &some->best;
    if (r->status != SYN_OK || !some->any) return false;
    bool had = p->best.status == SYN_OK;
    if (had && r->predicted_sec >= p->best.predicted_sec * (1 - worth)) return false;
    syn_result before = p->best;
    p->best = *r;
    p->plain = some->plain;
    p->plain_sec = some->plain_sec;
    p->best.others = before.others;
    memcpy(p->best.baseline_sec, before.baseline_sec, sizeof before.baseline_sec);
    return true;
}

static void plan_nearest_sets(planner *p)
{
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
        vain = take_over(p, some, SYN_SET_WORTH) ? 0 : vain + 1;
        HB_PUSH(p->a, &p->alone, some);
    }
}

// The devices of the best plan, as if there were no others: a device more, which it does not use,
// is no loss then.
static void plan_leading_set(planner *p)
{
    const int n_ranks = p->m->cluster->n_ranks;
    double most = SYN_WORK_MORE * syn_work(p->o);
    for (int last = n_ranks; planner_fits(p) && !p->o->devices && p->effort->work <= most;) {
        const syn_mesh *mesh = p->best.program->mesh;
        if (mesh->n_ranks >= last || mesh->n_ranks < 2 || planner_is_over(p)) return;
        last = mesh->n_ranks;
        bool *keep = HB_ARRAY(p->a, bool, n_ranks);
        for (int r = 0; r < mesh->n_ranks; r++)
            keep[mesh->cluster_rank[r]] = true;
        syn_options *o = hb_copy(p->a, p->o, sizeof *p->o);
        o->devices = keep;
        o->baselines = false;
        planner *some = HB_NEW(p->a, planner);
        *some = planner_of(p->a, p->step, p->m, o);
        some->effort = p->effort;
        some->begin = p->begin;
        planner_variants(some);
        planner_sets(some);
        (void)take_over(p, some, SYN_SAME_PLACE);
    }
}

void planner_sets(planner *p)
{
    if (p->o->strategy != SYN_AUTO || p->o->pins || p->o->all_devices) return;
    if (p->step->few_of || p->o->after_few) return; // takes longer than it gains
    plan_nearest_sets(p);
    plan_leading_set(p);
}

void planner_rest(planner *p)
{
    pursue_later(p);
    for (int i = 0; i < p->alone.n; i++) {
        planner *some = p->alone.p[i];
        some->bar = planner_fits(p) ? p->plain_sec : 0;
        some->spent = 0;
        pursue_later(some);
        (void)take_over(p, some, SYN_SET_WORTH);
    }
}
