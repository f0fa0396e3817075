// What a synthesis searches: meshes, starting cuts, fewer devices, and what others do (baselines).

#include "synth/search/explore.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/plan/mesh.h"
#include "synth/search/baselines.h"
#include "synth/search/boards.h"
#include "synth/search/device_sets.h"
#include "synth/search/finish.h"
#include "synth/search/searches.h"
#include "synth/search/starts.h"

// Of few rows a slow device may get twice what it is good for where the largest remainders do: once
// more with rows that let the slowest end soonest, if they are others.
static void follow_level(pool *p, syn_starting_ratio starting)
{
    board *b = p->b;
    double price = b->price;
    b->partitions->level = true;
    pool_follow(p, starting);
    b->partitions->level = false;
    b->price = price;
}

// Is the second mesh behind, by its first plan, or where that does not fit, by what it takes with
// all the memory that it wants? The latter in small steps alone. In steps of few nodes one is not
// behind whose first plan is about as fast as the other's: ratios may do as much for it. Neither
// where another variant is far ahead of what the first mesh came to.
static bool mesh_is_behind(const pool *p, const candidate *first, double at, double other)
{
    if (pool_is_large(p)) return at > p->best.sec;
    bool small = !p->g->few_of && p->best.sec < SYN_LATER_FAR * pool_best_known(p),
         hope = small && first->program && !first->fits,
         alike = small && !pool_few_starts(p) && at < SYN_LATER_FAR * other;
    double sec = hope ? p->b->quickest : at;
    return sec > p->best.sec * SYN_MESH_BEHIND && !alike;
}

// Is the first plan on the best machine alone so much faster than first plans on all devices, which
// take `sec`, that these are not followed? All else that it tells stays unknown: that set is looked
// at later.
static bool machine_is_ahead(pool *p, double sec)
{
    const cl_cluster *c = p->m->cluster;
    bool first = !p->opt->known || p->opt->known->best <= 0; // variant of the step
    if (c->n_machines == 1 || p->opt->all_devices || p->opt->devices || p->opt->brief || !first ||
        p->opt->mesh == SYN_MESH_MACHINES || p->spare || p->doubtful || p->careful)
        return false;
    const bool *keep = pool_best_machine(p);
    double far = pool_few_starts(p) ? SYN_MACHINE_AHEAD : SYN_FIRST_FAR;
    if (far * pool_least_seconds(p, keep) > sec) return false;
    const pool before = *p;
    p->best = p->paired = (candidate){0};
    p->enough = DBL_MIN; // without pairs
    p->most_of_mesh = 0;
    pool_add_board(p, syn_mesh_flat(p->arena, c, keep));
    p->b = p->boards.p[p->boards.n - 1];
    double alone = pool_glance(p);
    p->boards.n = before.boards.n;
    p->b = before.b;
    p->best = before.best;
    p->paired = before.paired;
    p->smallest = before.smallest;
    p->enough = before.enough;
    p->quickest = before.quickest;
    p->unfit = before.unfit;
    p->careful = before.careful;
    p->most_of_mesh = before.most_of_mesh;
    return far * alone < sec;
}

// Meshes over one set of devices, the boards first_board .. first_board + n - 1: first a plan on
// each, then, best first, what the starting ratios lead to, on those whose first plan is not behind
// what was found by then.
static void explore_meshes(pool *p, int first_board, int n)
{
    const syn_strategy_row *row = syn_strategy_of(SYN_AUTO);
    const syn_starting_ratio *start = row->start;
    candidate first[SYN_MAX_MESHES] = {{0}};
    bool have[SYN_MAX_MESHES] = {false};
    double at[SYN_MAX_MESHES];
    hb_assert(n <= SYN_MAX_MESHES);
    for (int i = 0; i < n; i++) {
        p->b = p->boards.p[first_board + i];
        p->b->tried.n = 0;
        have[i] = pool_first_plan(p, start[0], i > 0 && have[0] ? &first[0] : NULL, &first[i]);
        at[i] = have[i] ? first[i].sec * (first[i].fits ? 1 : SYN_UNFIT) : HUGE_VAL;
    }
    bool swap = n == 2 && at[1] < at[0];
    if (first_board == 0 && have[swap] && first[swap].fits)
        p->far_ahead = machine_is_ahead(p, first[swap].sec);
    if (first_board == 0 && p->far_ahead) {
        p->spared += (double)p->n_states * 2 * SYN_RATIO_ROUNDS; // about: two starting ratios
        n = 0;
    }
    for (int k = 0; k < n; k++) {
        int i = swap ? 1 - k : k;
        p->b = p->boards.p[first_board + i];
        bool behind = k > 0 && p->best.program && mesh_is_behind(p, &first[i], at[i], at[1 - i]);
        if (k == 0 && have[i]) {
            bool other = n == 2 && have[1 - i] && first[1 - i].fits;
            double beat = other ? at[1 - i] : 0;
            syn_starting_ratio starting = start[0];
            candidate second;
            if (pool_few_starts(p) && pool_first_plan(p, start[1], &first[i], &second) &&
                second.fits && second.sec < at[i]) { // ratios from the better of two starts
                first[i] = second;
                starting = start[1];
            }
            pool_alternate(p, starting, &first[i], beat);
        }
        pool_forget(p, NULL, NULL);
        if (k > 0 && !behind) { // its first plan is forgotten by now
            p->b->tried.n = 0;
            pool_follow(p, start[0]);
        }
        // Two axes multiply the states, and ratios of machines and devices differ less.
        int n_starting = pool_few_starts(p) || p->b->mesh->n_axes == 2 ? 2 : row->n_start;
        for (int starting = 1; starting < n_starting && !behind && !pool_out_of_time(p); starting++)
            pool_follow(p, start[starting]); // of few starts: was there before
        if (!behind) follow_level(p, start[0]);
        if (!behind) pool_propose(p);
    }
}

// Where memory does not bind, once more from the compute starting ratio of every mesh, with a price
// on it: other choices, which the simulator may like better than the additive model does, and other
// ratios.
static void be_thrifty(pool *p, int first, int n)
{
    if (!p->best.program || pool_few_starts(p) || p->best.priced) return;
    p->thrifty = true;
    for (int i = first; i < first + n && !pool_out_of_time(p); i++) {
        board *b = p->b = p->boards.p[i];
        double price = b->price;
        b->tried.n = 0;
        b->price = SYN_THRIFTY_PRICE * p->best.sec / p->best.share;
        pool_follow(p, SYN_STARTING_COMPUTE);
        b->price = price;
    }
    p->thrifty = false;
}

static void explore_without_puts(pool *p, int first, int n)
{
    p->no_put = true;
    for (int i = first; i < first + n; i++) {
        p->boards.p[i]->tried.n = 0;
        p->boards.p[i]->price = 0;
    }
    explore_meshes(p, first, n);
    p->no_put = false;
}

// Where memory binds, once more without one-sided puts: what they write lies in a segment of its
// own, so that prices on memory end elsewhere.
static void without_puts(pool *p, int first, int n)
{
    bool any = false;
    for (int m = 0; m < p->m->cluster->n_machines; m++)
        any = any || p->m->cluster->machine[m].peer;
    if (!any || pool_few_starts(p) || (p->best.program && p->best.share < SYN_PUT_SHARE)) return;
    double better = p->best.sec * (1 - SYN_SAME_PLACE);
    bool *vain = p->opt->known ? &p->opt->known->puts_kept[p->g->recomputed.n > 0] : NULL;
    if (vain && *vain) return;
    // A price on memory does without puts as well: where that is far from fitting, so is this.
    if (!p->best.program && p->smallest.share > SYN_NEARLY_FITS) return;
    bool had = p->best.program;
    explore_without_puts(p, first, n);
    // What cannot lead to the best plan may lead to a better one: as if there were none yet.
    if (had && p->best.sec > better && ir_step_nodes(p->g) <= SYN_MANY_NODES) {
        const candidate best = p->best;
        p->also = &best;
        p->n_also = 1;
        p->best = (candidate){0};
        explore_without_puts(p, first, n);
        if (!p->best.program || best.sec <= p->best.sec) p->best = best;
        p->also = NULL;
        p->n_also = 0;
    }
    // Where it brings nothing to one variant of the step it brings nothing to the next of its kind.
    if (vain && had) *vain = p->best.sec > better;
}

// The best plans while others are searched as if there were none: what they take is no reason to
// stop before ratios were moved.
typedef struct others {
    candidate best, paired;
    double enough;
} others;

static others set_aside(pool *p)
{
    others x = {p->best, p->paired, p->enough};
    p->best = p->paired = (candidate){0};
    p->enough = 0;
    p->aside[0] = x.best.arena;
    p->aside[1] = x.paired.arena;
    return x;
}

static void put_back(pool *p, const others *x)
{
    if (x->best.program && (!p->best.program || x->best.sec <= p->best.sec)) p->best = x->best;
    if (x->paired.program && (!p->paired.program || x->paired.sec <= p->paired.sec))
        p->paired = x->paired;
    if (x->enough > 0) p->enough = p->enough > 0 ? fmin(x->enough, p->enough) : x->enough;
    p->aside[0] = p->aside[1] = NULL;
    pool_forget(p, NULL, NULL);
}

// One set of devices, the boards first .. first + n - 1, as if there were no others.
static void explore_alone(pool *p, int first, int n)
{
    const others x = set_aside(p);
    p->alone = true;
    for (int i = first; i < first + n; i++) {
        p->boards.p[i]->tried.n = 0;
        p->boards.p[i]->price = 0;
    }
    double before = p->work;
    explore_meshes(p, first, n);
    bool behind = x.best.program && p->best.program && p->best.sec > SYN_ALONE_BEHIND * x.best.sec;
    if (!p->g->few_of && !behind) {
        pool_discounts(p);
        be_thrifty(p, first, n);
        without_puts(p, first, n);
        pool_polish(p);
    }
    if (behind) p->spared += 2 * (p->work - before); // about
    p->alone = false;
    put_back(p, &x);
}

// What a set of fewer devices has come to.
typedef struct set_boards {
    const bool *keep;
    int first, n;    // its boards
    double sec;      // of its fastest plan that fits; HUGE_VAL: none
    double quickest; // of its fastest, whether it fits or not; 0: none
    double named;    // of the fastest of a strategy with a name, in which all work; 0: none
} set_boards;

// Where the fastest plans have one device do all, sets come to the same, whatever their links.
static int faster_set(const void *x, const void *y)
{
    const set_boards *a = x, *b = y;
    if (a->sec != b->sec) return (a->sec > b->sec) - (a->sec < b->sec);
    if (a->named != b->named) return (a->named > b->named) - (a->named < b->named);
    return a->first - b->first;
}

static double quicker(double a, double b) // 0: none
{
    return a > 0 && b > 0 ? fmin(a, b) : a + b;
}

// Axes of the meshes that sets with both kinds of them are looked at on: for many nodes those of
// the best plan so far, where all devices have both; 0: any.
static int axes_of_looks(const pool *p)
{
    bool choose = p->best.program && p->n_whole == 2 && pool_few_starts(p);
    return choose ? p->best.program->mesh->n_axes : 0;
}

// One search from the compute starting ratio, and ratios where it comes near the best so far.
static void look_at_set(pool *p, const bool *keep, set_boards *s)
{
    *s = (set_boards){.keep = keep, .first = p->boards.n};
    pool_add_boards(p, keep);
    s->n = p->boards.n - s->first;
    int axes = s->n == 2 ? axes_of_looks(p) : 0;
    for (int k = s->first; k < s->first + s->n && !pool_out_of_time(p); k++) {
        if (axes > 0 && p->boards.p[k]->mesh->n_axes != axes) continue;
        p->b = p->boards.p[k];
        p->looking = true;
        pool_follow(p, SYN_STARTING_COMPUTE);
        double sec = p->b->quickest, best = pool_best_known(p);
        if (best <= 0 || sec < SYN_PROPOSE_FAR * best) pool_propose(p);
        p->looking = false;
    }
    s->sec = HUGE_VAL;
    for (int i = s->first; i < s->first + s->n; i++) {
        const board *b = p->boards.p[i];
        if (b->best > 0) s->sec = fmin(s->sec, b->best);
        s->quickest = quicker(s->quickest, b->quickest);
        s->named = quicker(s->named, b->named);
        pool_note_set(p, keep, b);
    }
}

// Sets of fewer devices, as they are looked at.
typedef struct dropping {
    pool *p;
    device_sets sets;
    set_boards of[SYN_MAX_SUBSETS];
    int n, looked; // of `of`; of sets
} dropping;

static bool within(const pool *p, const bool *some, const bool *keep)
{
    for (int r = 0; r < p->m->cluster->n_ranks; r++)
        if (some[r] && !keep[r]) return false;
    return true;
}

// The fastest on boards of so many axes (0: any), whether it fits or not; 0: none.
static double quickest_on(const pool *p, int first, int n, int axes)
{
    double sec = 0;
    for (int i = first; i < first + n; i++)
        if (axes == 0 || p->boards.p[i]->mesh->n_axes == axes)
            sec = quicker(sec, p->boards.p[i]->quickest);
    return sec;
}

// Has a set both kinds of meshes?
static bool has_both_meshes(const pool *p, const bool *keep)
{
    hb_arena *scratch = hb_arena_new();
    bool both =
        p->opt->mesh == SYN_MESH_AUTO && syn_mesh_machines(scratch, p->m->cluster, keep) != NULL;
    hb_arena_free(scratch);
    return both;
}

// A set within this one could do the work of the other devices, too, and send less. So this one is
// hardly quicker by more than what it has more to compute with. Does that leave it behind, and is a
// set around it, or all devices, far behind as well? Where it would be looked at on one kind of
// mesh alone, on that kind.
static bool between_slow_sets(const dropping *d, const bool *keep)
{
    const pool *p = d->p;
    int axes = axes_of_looks(p);
    if (axes > 0 && !has_both_meshes(p, keep)) axes = 0;
    double best = pool_best_known(p), rate = pool_set_rate(&d->sets, keep);
    bool far = quickest_on(p, 0, p->n_whole, axes) > SYN_ALONE_FAR * best, slow = false;
    for (int i = 0; i < d->n; i++) {
        const set_boards *s = &d->of[i];
        double sec = quickest_on(p, s->first, s->n, axes);
        double least = sec * pool_set_rate(&d->sets, s->keep) / rate;
        slow = slow || (least > SYN_LATER_FAR * best && within(p, s->keep, keep));
        far = far || (sec > SYN_ALONE_FAR * best && within(p, keep, s->keep));
    }
    return best > 0 && slow && far;
}

// Is a set far behind by what its plans take, and not ahead with more memory, either?
static bool is_far(const pool *p, const set_boards *s, double far)
{
    double best = pool_best_known(p);
    return s->sec >= far * best && (p->g->few_of || s->quickest >= best);
}

// A look at each set that is new; then the best of these as if the cluster were no more, so that a
// device more is no loss: `least` of them, up to `most` while all searches took less than `work`.
static void look_at_sets(dropping *d, int least, int most, double work)
{
    pool *p = d->p;
    int first = d->n;
    for (; d->looked < d->sets.n && !pool_out_of_time(p); d->looked++) {
        const bool *keep = d->sets.keep[d->looked];
        if (pool_set_is_slow(p, keep)) continue;
        if (between_slow_sets(d, keep)) {
            p->spared += (double)p->n_states * p->n_whole; // about: a search on each mesh
            continue;
        }
        if (!p->best.program || pool_least_seconds(p, keep) < pool_best_known(p))
            look_at_set(p, keep, &d->of[d->n++]);
    }
    double far = p->g->few_of ? SYN_ALONE_FEW : SYN_ALONE_FAR;
    qsort(d->of + first, (size_t)(d->n - first), sizeof *d->of, faster_set);
    for (int i = first, done = 0; i < d->n && done < most && !pool_out_of_time(p); i++) {
        if (done >= least && p->work > work) return;
        if (d->of[i].n == 0 || is_far(p, &d->of[i], far)) continue;
        explore_alone(p, d->of[i].first, d->of[i].n);
        done++;
    }
}

// Do fewer devices do better? Sets of several kinds, then those near the best, while that gains.
static void drop_devices(pool *p)
{
    if (p->opt->after_few || p->opt->all_devices || p->opt->devices) return;
    if (pool_is_large(p) && (!p->best.program || p->work > SYN_WORK_SETS * syn_work(p->opt))) {
        p->cut_short = p->cut_short || p->best.program;
        return;
    }
    dropping *d = HB_NEW(p->arena, dropping);
    *d = (dropping){.p = p, .sets = pool_device_sets(p)};
    bool later = p->opt->known && p->opt->known->best > 0; // variant of a step that has a plan
    double effort = p->opt->effort;
    int alone = (int)(effort * SYN_ALONE_SETS),
        least = later ? 1 : 1 + (int)(effort * SYN_ALONE_NODES) / (ir_step_nodes(p->g) + 1),
        steps = later || pool_few_starts(p) || p->g->few_of ? 0 : SYN_CLIMB_STEPS;
    double light = later || p->g->few_of ? 0 : SYN_WORK_ALONE * syn_work(p->opt);
    look_at_sets(d, least, alone, light);
    for (int step = 0; step < steps && p->best.program; step++) {
        double before = p->best.sec;
        pool_add_neighbours(&d->sets, p->best.program->mesh);
        look_at_sets(d, SYN_ALONE_NEAR, SYN_ALONE_NEAR, 0);
        if (p->best.sec > before * (1 - SYN_SAME_PLACE)) return;
    }
}

// Each mesh of all devices that is not far behind, as if it were the only one: what the best plan
// of the other takes, and its price on memory, ended some of its searches.
static void each_mesh_alone(pool *p)
{
    if (!p->best.program || p->n_whole != 2 || pool_is_long(p)) return;
    for (int i = 0; i < p->n_whole && !pool_out_of_time(p); i++) {
        double sec = p->boards.p[i]->best;
        if (sec > 0 && sec < SYN_FIX_FIRST_FAR * p->best.sec) explore_alone(p, i, 1);
    }
}

// Fewer devices, where more of them bring next to nothing: the smallest set whose plans are so near
// the best, searched once more.
static void prefer_fewer(pool *p)
{
    const candidate *lead = pool_leader(p);
    if (!lead->program || p->opt->all_devices || p->opt->devices || p->opt->lead) return;
    double enough = lead->sec * (1 + SYN_FEWER_WORTH);
    int ranks = lead->program->mesh->n_ranks, at = -1;
    for (int i = 0; i < p->boards.n; i++) {
        const board *b = p->boards.p[i];
        if (b->best <= 0 || b->best > enough || b->mesh->n_ranks >= ranks) continue;
        at = i;
        ranks = b->mesh->n_ranks;
    }
    if (at < 0 || pool_out_of_time(p)) return;
    const others x = set_aside(p);
    p->boards.p[at]->tried.n = 0;
    p->boards.p[at]->price = 0;
    explore_meshes(p, at, 1);
    pool_discounts(p);
    pool_polish(p);
    lead = pool_leader(p);
    if (!lead->program || lead->sec > enough) {
        p->best = x.best;
        p->paired = x.paired;
        p->enough = x.enough;
    }
    p->aside[0] = p->aside[1] = NULL;
    pool_forget(p, NULL, NULL);
}

// Of the first variant of a step: how much quicker than on all devices it is on some.
static void note_first(pool *p)
{
    syn_known_sets *k = p->opt->known;
    if (!k || k->first_whole > 0) return;
    for (int i = 0; i < p->n_whole; i++) {
        double quickest = p->boards.p[i]->quickest;
        if (quickest > 0 && (k->first_whole <= 0 || quickest < k->first_whole))
            k->first_whole = quickest;
    }
    k->first_quickest = p->quickest;
}

// Would another variant of the step be far behind, if it had all the memory that it wants? By its
// plans on all devices.
static bool slow_variant(const pool *p)
{
    const syn_known_sets *k = p->opt->known;
    if (!k || k->best <= 0 || k->first_whole <= 0 || p->quickest <= 0 || p->spare || p->doubtful)
        return false;
    double sec = p->quickest * k->first_quickest / k->first_whole;
    return sec > SYN_VARIANT_SLOW * k->best;
}

// A slow variant may do better where others have their best plan: a look there, and the rest if it
// comes near.
static bool slow_on_the_leading_set(pool *p)
{
    const bool *keep = pool_leading_set(p);
    if (!keep || p->opt->devices || p->opt->all_devices || p->opt->after_few) return true;
    dropping *d = HB_NEW(p->arena, dropping);
    *d = (dropping){.p = p, .sets = {.p = p, .n = 1, .most = 1}};
    d->sets.keep[0] = hb_copy(p->arena, keep, sizeof *keep * (size_t)p->m->cluster->n_ranks);
    look_at_sets(d, 1, 1, 0);
    return !p->best.program || p->best.sec > SYN_VARIANT_SLOW * p->opt->known->best;
}

// Communication at a discount for the best plan on all devices, unless fewer are far ahead.
static void discount_whole(pool *p, candidate whole)
{
    candidate best = p->best;
    if (!whole.program || whole.sec > SYN_LATER_FAR * best.sec) return;
    p->best = whole;
    p->aside[0] = best.arena;
    pool_discounts(p);
    if (best.sec <= p->best.sec) p->best = best;
    p->aside[0] = NULL;
    pool_forget(p, NULL, NULL);
}

// Is another variant of the step, or another lead, ahead by more than what hides may gain?
static bool is_behind(const pool *p)
{
    const syn_known_sets *k = p->opt->known;
    return !p->best.program || (k && k->best > 0 && p->best.sec > SYN_ENDS_BEHIND * k->best);
}

static void follow_lead(pool *p, const syn_lead *lead)
{
    pool_follow_lead(p, lead);
    pool_discounts(p);
    if (!is_behind(p)) pool_polish(p);
}

// Other leads: few layers tell roughly which is best, the first plan at each much better. So those
// whose first plans are near the best so far are followed, as if there were no others, the nearest
// first.
static void follow_other_leads(pool *p, const syn_lead *first)
{
    double sec[SYN_OTHER_ENDS];
    int n = 0;
    for (const syn_lead *lead = first; lead && n < SYN_OTHER_ENDS; lead = lead->next)
        sec[n++] = pool_out_of_time(p) ? HUGE_VAL : pool_look_at_lead(p, lead);
    for (int done = 0; done < SYN_LEADS_FOLLOWED && !pool_out_of_time(p); done++) {
        const syn_lead *next = NULL;
        int at = 0, i = 0;
        for (const syn_lead *lead = first; i < n; lead = lead->next, i++)
            if (sec[i] < SYN_LEAD_NEAR * pool_best_known(p) && (!next || sec[i] < sec[at])) {
                next = lead;
                at = i;
            }
        if (!next) return;
        sec[at] = HUGE_VAL;
        const others x = set_aside(p);
        follow_lead(p, next);
        put_back(p, &x);
    }
}

void pool_explore(pool *p)
{
    const syn_options *o = p->opt;
    p->best = p->paired = p->smallest = p->rival = p->explored = p->of_auto = (candidate){0};
    p->quickest = p->unfit = p->enough = 0;
    p->fixed.n = 0;
    p->all_careful = p->careful;
    p->other_forms = o->strategy != SYN_AUTO;
    for (int i = 0; p->spare && i < p->boards.n; i++)
        p->boards.p[i]->tried.n = 0;
    if (p->boards.n == 0) { // later there may be boards of fewer devices alone
        pool_add_boards(p, p->opt->devices);
        p->n_whole = p->boards.n;
    }
    for (int s = 0; s < syn_n_strategies; s++) {
        p->baseline[s] = -1;
        p->asked[s] = false;
    }
    if (o->strategy != SYN_AUTO) {
        pool_baseline(p, o->strategy);
        return;
    }
    if (o->ended) {
        pool_finish_ended(p);
        pool_pair_rounds(p);
        return;
    }
    p->far_ahead = false;
    p->boards.n = p->n_whole; // without those of fewer devices, if this is not the first time
    if (o->lead) {
        follow_lead(p, o->lead);
        p->of_auto = p->best;
        pool_try_baselines(p); // on its meshes alone
        follow_other_leads(p, o->lead->next);
        pool_pair_rounds(p);
        return;
    }
    p->most_of_mesh = pool_meshes_to_finish(p);
    explore_meshes(p, 0, p->n_whole);
    bool slow = !o->brief && slow_variant(p);
    if (o->brief || (slow && slow_on_the_leading_set(p))) {
        pool_forget_meshes(p);
        return;
    }
    bool later = pool_few_starts(p); // a search takes long then
    if (!later && !p->far_ahead) pool_discounts(p);
    candidate whole = p->best;
    p->whole = whole.arena;
    if (!slow) drop_devices(p);
    p->whole = NULL;
    if (later) discount_whole(p, whole);
    note_first(p);
    be_thrifty(p, 0, p->n_whole);
    without_puts(p, 0, p->n_whole);
    each_mesh_alone(p);
    pool_finish_meshes(p);
    prefer_fewer(p);
    const syn_program *best = p->best.program;
    p->of_auto = p->best;
    pool_try_baselines(p);
    if (p->best.program != best && p->best.space->strategy != SYN_AUTO) pool_fix_best(p);
    for (int s = SYN_AUTO + 1;
         (p->spare || p->doubtful) && !pool_leader(p)->program && s < syn_n_strategies; s++)
        pool_baseline(p, (syn_strategy)s);
    pool_pair_rounds(p);
}
