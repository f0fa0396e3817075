#include "synth/search/starts.h"

#include <math.h>
#include <string.h>

#include "synth/search/baselines.h"
#include "synth/search/boards.h"
#include "synth/search/ratios.h"
#include "synth/search/searches.h"
#include "synth/search/simulated.h"
#include "synth/search/slack.h"

// Whether the candidate partitions, as a starting ratio or an LP left it, was there before.
static bool tried_before(pool *p)
{
    board *b = p->b;
    uint64_t h = syn_partitions_key(b->partitions);
    for (int i = 0; i < b->tried.n; i++)
        if (b->tried.p[i] == h) return true;
    HB_PUSH(p->arena, &b->tried, h);
    return false;
}

static bool near_by(double a, double b)
{
    return fabs(a - b) <= SYN_SAME_PLACE * fabs(b);
}

// Is a starting ratio's first plan worth its rounds of ratios, where others stand at `best` (0:
// nowhere)?
static bool promising(const pool *p, const candidate *c, double best)
{
    bool ends = c->fits || c->behind,
         fewer = !p->alone && !p->opt->devices && p->b->mesh->n_ranks < p->m->cluster->n_ranks;
    double sec = c->hope > 0 ? fmin(c->sec, c->hope) : c->sec,
           other = p->opt->known && !p->opt->lead ? p->opt->known->best : 0; // of other variants
    // No better than where another starting ratio ended, and so close to it that its ratios would
    // end there too.
    if (ends && c->sec >= best && c->sec < best * (1 + SYN_START_NEAR)) return false;
    double far = !ends              ? SYN_FIRST_FAR
                 : pool_is_large(p) ? 1
                 : fewer            ? SYN_FEWER_FAR
                                    : SYN_FIRST_FAR;
    if (best > 0 && sec >= best * far) return false;
    return other <= 0 || !(pool_is_large(p) || p->g->few_of) || sec < other * far;
}

// Copies of saved values widen the space and hardly move the cuts: the last search has them.
static search_options quick_options(const pool *p, const double *weight)
{
    syn_options *quick = hb_copy(p->arena, p->opt, sizeof *p->opt);
    quick->copy_bytes = INT64_MAX;
    return (search_options){
        .strategy = SYN_AUTO, .opt = quick, .weight = weight, .comm = 1, .gap = SYN_SEARCH_GAP};
}

bool pool_first_plan(pool *p, syn_starting_ratio starting, const candidate *keep, candidate *out)
{
    if (p->n_solved > 0 && pool_out_of_time(p)) return false;
    search_options o = quick_options(p, pool_even_weights(p));
    pool_set_starting_ratio(p, starting);
    return !tried_before(p) && pool_search_within_memory(p, &o, keep, out);
}

double pool_glance(pool *p)
{
    search_options o = quick_options(p, pool_even_weights(p));
    candidate c;
    pool_set_starting_ratio(p, SYN_STARTING_COMPUTE);
    return pool_search(p, &o, &c) && c.fits ? c.sec : HUGE_VAL;
}

static double best_of(const pool *p)
{
    return p->best.program ? p->best.sec : 0;
}

static const syn_slack *slack_of(pool *p, const candidate *c, syn_hiding how)
{
    return syn_slack_of(p->arena, c->program, c->space->kinds, how);
}

// Classes that bind count most, but no class is free.
static void set_weights(const pool *p, const syn_ratios *lp, double *weight)
{
    int n = p->b->mesh->n_classes;
    for (int c = 0; c < n; c++)
        weight[c] = SYN_BINDING * lp->weight[c] + SYN_EVEN_REST / n;
}

// Ratio LP and search in turn, from the plan of one starting ratio, until the simulator sees no
// improvement or the plan is where others (at `best`; 0: nowhere) already are.
static void take_rounds(pool *p, syn_starting_ratio starting, candidate *cur, double best)
{
    double trust = SYN_TRUST, *weight = pool_even_weights(p);
    double missed = 0; // where the last round without gain ended
    int failed = 0;    // rounds, one behind the other
    search_options o = quick_options(p, weight);
    board *b = p->b;
    candidate next;
    for (int round = 0; round < SYN_RATIO_ROUNDS && trust > SYN_TRUST_LEAST && !pool_out_of_time(p);
         round++) {
        syn_ratios lp;
        if (round > 0 && best > 0 && cur->fits && cur->sec > SYN_LATER_FAR * best) return;
        if (best > 0 && cur->fits && near_by(cur->sec, best)) return;
        if (!syn_ratio_lp(p->arena, cur->program, b->partitions, b->costs, &cur->timeline, trust,
                          p->opt->memory_first, &lp))
            return;
        pool_set_starting_ratio(p, starting);
        pool_add_lp_cuts(p, &lp);
        if (tried_before(p) && b->mesh->n_axes == 2) return;
        const syn_slack *hides = cur->space->slack;
        o.slack = hides ? slack_of(p, cur,
                                   (syn_hiding){.price = hides->price,
                                                .share = hides->share,
                                                .takes = hides->takes})
                        : NULL;
        set_weights(p, &lp, weight);
        if (!pool_search_within_memory(p, &o, cur, &next)) return;
        if (next.fits && cur->fits && near_by(next.sec, cur->sec)) return;
        bool nearer = p->opt->memory_first && !next.fits && !cur->fits &&
                      next.share < SYN_NEARER * cur->share;
        if (p->opt->memory_first && !next.fits && !cur->fits && !nearer) return;
        if (nearer || (next.fits && (!cur->fits || next.sec < cur->sec))) {
            *cur = next;
            failed = 0;
        } else {
            // Smaller steps helped in 3 of 80 such rounds of the examples, and in none after the
            // second or after a leap; where memory has a price they do.
            bool priced = cur->priced || next.priced;
            if (!priced &&
                (++failed == SYN_RATIO_FAILS || !next.fits || next.sec > SYN_LATER_FAR * cur->sec))
                return;
            if (fabs(next.sec - missed) < SYN_ALIKE_ROUNDS * missed) return;
            missed = next.sec;
            trust *= SYN_TRUST_SHRINK;
        }
        pool_forget(p, cur, NULL);
    }
}

// What looks at a plan found: where its lowest price made it slower, a lower one yet would.
typedef struct hidden {
    double sec, additive; // of the plan that was looked at
    bool slower[2];       // [takes]
} hidden;

// Transfers that a plan leaves time for hide in the simulator: searches in which they cost little,
// at the same cuts, by other prices at every second look; where collectives slow the computing that
// hides them, one in which that costs, too. Whether one is better. share: of the step, that the
// plan loses to them at least. h, if not NULL: of the first look.
static bool hide_transfers(pool *p, candidate *cur, int look, double share, hidden *h)
{
    static const double price[][2] = {{SYN_HIDDEN}, {SYN_HIDDEN_LATER}};
    const candidate from = *cur;
    const syn_space *s = from.space;
    double least = share * from.timeline.total;
    bool waits = from.timeline.comm - from.timeline.hidden >= least,
         takes = pool_taken(p, from.program) >= least;
    if (!from.fits || (!waits && !takes)) return false;
    if (p->g->few_of && from.priced) return false; // hardly pays, and is searched often
    p->held = &from;
    *p->b->partitions = *syn_partitions_copy(p->arena, s->partitions);
    syn_hiding of[3];
    int n = 0;
    for (int i = 0; waits && i < 2; i++)
        of[n++] = (syn_hiding){.price = price[look % 2][i]};
    if (takes) of[n++] = (syn_hiding){.price = price[look % 2][1], .takes = true};
    bool again = h && look > 0 && h->sec == from.sec && h->additive == from.additive;
    for (int i = 0; i < n && !pool_out_of_time(p); i++) {
        search_options o = quick_options(p, s->weight);
        candidate next;
        if (again && of[i].price == price[1][1] && h->slower[of[i].takes]) continue;
        o.price = p->b->price;
        o.slack = slack_of(p, &from, of[i]);
        o.beat = cur->sec * (1 - SYN_SAME_PLACE);
        if (!pool_search(p, &o, &next)) break;
        if (h && look == 0) h->slower[of[i].takes] = next.sec > from.sec;
        if (next.fits && next.sec < cur->sec * (1 - SYN_SAME_PLACE)) *cur = next;
        pool_forget(p, cur, NULL);
    }
    if (h && look == 0) {
        h->sec = from.sec;
        h->additive = from.additive;
    }
    p->held = NULL;
    pool_forget(p, cur, NULL);
    return cur->space != s;
}

void pool_polish(pool *p)
{
    candidate cur = p->best;
    for (int round = 0; round < SYN_HIDE_ROUNDS && cur.program && !pool_out_of_time(p); round++) {
        p->b = pool_board_of(p, cur.space->mesh);
        if (!hide_transfers(p, &cur, round, pool_least_waits(p), NULL) && round > 0) return;
    }
}

bool pool_plain_at(pool *p, const candidate *from, double price, candidate *out)
{
    const syn_space *s = from->space;
    p->b = pool_board_of(p, s->mesh);
    *p->b->partitions = *syn_partitions_copy(p->arena, s->partitions);
    search_options o = quick_options(p, s->weight);
    o.price = price * pool_price_of(p, s);
    return pool_search(p, &o, out) && out->program;
}

bool pool_hide_by(pool *p, const candidate *from, syn_hiding how, candidate *out)
{
    const syn_space *s = from->space;
    p->b = pool_board_of(p, s->mesh);
    *p->b->partitions = *syn_partitions_copy(p->arena, s->partitions);
    search_options o = quick_options(p, s->weight);
    o.price = pool_price_of(p, s);
    o.slack = slack_of(p, from, how);
    return pool_search(p, &o, out) && out->fits;
}

// Searches at the present cuts, from a plan, in which transfers that pairs may hide cost little.
// Whether one led to a plan that is faster, with pairs or without.
static bool pair_transfers(pool *p, const candidate *from, const double *weight, int round)
{
    static const double price[][2] = {{SYN_HIDDEN}, {SYN_HIDDEN_LATER}};
    for (int i = 0; i < 2 && !pool_out_of_time(p); i++) {
        search_options o = quick_options(p, weight);
        candidate next;
        o.price = pool_price_of(p, from->space);
        o.slack = slack_of(p, from, (syn_hiding){.price = price[round % 2][i], .pairs = true});
        if (!pool_search(p, &o, &next)) return false;
        pool_forget(p, NULL, NULL);
    }
    return pool_leader(p)->sec < from->sec * (1 - SYN_SAME_PLACE);
}

// One look from the faster of the best plans; at other ratios where the present ones bring nothing.
static bool pair_round(pool *p, int round)
{
    const candidate from = *pool_leader(p);
    if (!from.program || from.program->mesh->n_ranks == 1) return false;
    const syn_space *s = from.space;
    p->held = &from;
    p->b = pool_board_of(p, s->mesh);
    *p->b->partitions = *syn_partitions_copy(p->arena, s->partitions);
    bool better = pair_transfers(p, &from, s->weight, round);
    syn_ratios lp;
    if (!better && syn_ratio_lp(p->arena, from.program, p->b->partitions, p->b->costs,
                                &from.timeline, SYN_TRUST, p->opt->memory_first, &lp)) {
        double *weight = pool_even_weights(p);
        pool_add_lp_cuts(p, &lp);
        set_weights(p, &lp, weight);
        better = pair_transfers(p, &from, weight, round);
    }
    p->held = NULL;
    return better;
}

void pool_pair_rounds(pool *p)
{
    const candidate plain = p->best;
    double quickest = p->quickest, unfit = p->unfit, begin = p->work;
    const struct syn_known_sets *k = p->opt->known;
    double beat = k && k->leads > 0 ? SYN_ENDS_BEHIND * k->leads : HUGE_VAL;
    if (p->opt->no_pairs || !p->paired.program || pool_leader(p)->sec > beat) return;
    p->aside[0] = plain.arena;
    for (int round = 0; round < SYN_PAIR_ROUNDS && !pool_out_of_time(p); round++)
        if (!pair_round(p, round)) break;
    // The best without pairs is what it would be if there were none.
    if (p->best.program != plain.program && p->best.sec < p->paired.sec) p->paired = p->best;
    p->best = plain;
    p->quickest = quickest;
    p->unfit = unfit;
    p->fixing += p->work - begin;
    p->aside[0] = NULL;
    pool_forget(p, NULL, NULL);
}

// Where a usual price on memory changed nothing, and ratios did not make the plan fit either:
// dearer ones.
static void pay_more(pool *p, syn_starting_ratio starting, candidate *cur)
{
    board *b = p->b;
    double price = b->price;
    search_options o = quick_options(p, pool_even_weights(p));
    candidate next;
    o.corners = true;
    pool_set_starting_ratio(p, starting);
    b->price = SYN_PRICE_RISE * SYN_PRICE_USUAL * cur->sec;
    bool found = pool_search_within_memory(p, &o, cur, &next) && next.fits;
    if (found)
        *cur = next;
    else
        b->price = price;
    pool_forget(p, cur, NULL);
}

void pool_alternate(pool *p, syn_starting_ratio starting, const candidate *first, double best)
{
    candidate cur = *first;
    hidden found = {0}, *large = p->g->nodes.n > SYN_MANY_NODES ? &found : NULL;
    bool look = !pool_few_starts(p) && cur.fits && best > 0 && cur.sec < best * SYN_FIRST_FAR;
    if (look) (void)hide_transfers(p, &cur, 0, SYN_HIDE_WAITS, large);
    if (!promising(p, &cur, best)) return;
    if (!look) (void)hide_transfers(p, &cur, 0, SYN_HIDE_WAITS, large);
    take_rounds(p, starting, &cur, best);
    if (!cur.fits && !cur.behind && !p->spare && !pool_out_of_time(p)) {
        pay_more(p, starting, &cur);
        if (cur.fits) take_rounds(p, starting, &cur, best);
    }
    if (cur.sec < pool_best_known(p) * SYN_LATER_FAR &&
        hide_transfers(p, &cur, 1, SYN_HIDE_WAITS, large))
        take_rounds(p, starting, &cur, 0);
}

void pool_follow(pool *p, syn_starting_ratio starting)
{
    candidate first;
    double best = best_of(p);
    board *b = p->b;
    if (b->best > 0 && b->best_price < b->price && !p->thrifty && !p->no_put)
        b->price = b->best_price;
    if (pool_first_plan(p, starting, NULL, &first)) pool_alternate(p, starting, &first, best);
    pool_forget(p, NULL, NULL);
}

void pool_discounts(pool *p)
{
    static const double comm[] = {SYN_DISCOUNT, SYN_DEEP_DISCOUNT};
    if (!p->best.program) return;
    const cost_timeline *t = &p->best.timeline;
    if (pool_is_large(p) && t->comm - t->hidden < SYN_DISCOUNT_WAITS * t->total) return;
    const syn_space *won = p->best.space;
    p->b = pool_board_of(p, won->mesh);
    *p->b->partitions = *syn_partitions_copy(p->arena, won->partitions);
    for (size_t i = pool_is_large(p); i < sizeof comm / sizeof *comm && !pool_out_of_time(p); i++) {
        search_options o = {.strategy = SYN_AUTO,
                            .opt = won->opt,
                            .weight = won->weight,
                            .comm = comm[i],
                            .price = p->b->price,
                            .gap = SYN_ROUGH_GAP};
        candidate c;
        if (i > 0 && !pool_is_large(p) && o.price > 0) return;
        (void)pool_search(p, &o, &c);
        pool_forget(p, NULL, NULL);
        won = p->best.space;
        if (won->mesh != p->b->mesh) return;
    }
}

// The set of a folded step that is set k of the whole; -1: none is.
static int lead_set(const syn_partitions *to, const syn_partitions *from, int k)
{
    const struct syn_partition_set *x = &to->set[k];
    int nth = 0; // of those that nothing tells apart, in order
    for (int i = 0; i < k; i++)
        nth += to->set[i].size == x->size && to->set[i].like == x->like;
    for (int i = 0; i < from->n_sets; i++)
        if (from->set[i].size == x->size && from->set[i].like == x->like && nth-- == 0) return i;
    return -1;
}

// The cuts of a lead; the compute starting ratio's of a set that it does not have.
static void set_lead_cuts(pool *p, const syn_lead *lead)
{
    syn_partitions *to = p->b->partitions;
    const syn_partitions *from = lead->partitions;
    pool_set_starting_ratio(p, SYN_STARTING_COMPUTE);
    for (int k = 0; k < to->n_sets; k++) {
        int of = lead_set(to, from, k);
        if (of >= 0) memset(to->set[k].n, 0, sizeof to->set[k].n);
        for (int axis = SYN_BOTH; of >= 0 && axis >= 0; axis--)
            for (int i = 0; i < from->set[of].n[axis]; i++) {
                const syn_cut *cut = &lead->mesh->cuts.p[from->set[of].cut[axis][i]];
                double *share = HB_ARRAY(p->arena, double, cut->n + 1);
                for (int c = 0; c < cut->n; c++)
                    share[c] = (double)cut->table[c];
                syn_partitions_add(p->arena, to, p->b->mesh, k, axis, share, cut->name);
            }
    }
}

static board *lead_board(pool *p, const syn_lead *lead)
{
    bool *keep = HB_ARRAY(p->arena, bool, p->m->cluster->n_ranks + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < p->boards.n; i++)
            if (p->boards.p[i]->mesh->n_axes == lead->mesh->n_axes &&
                pool_same_ranks(p->boards.p[i]->mesh, lead->mesh))
                return p->boards.p[i];
        for (int r = 0; r < lead->mesh->n_ranks; r++)
            keep[lead->mesh->cluster_rank[r]] = true;
        if (pass == 0) pool_add_boards(p, keep);
    }
    hb_bug("a board of the lead", __FILE__, __LINE__);
}

// The first plan at a lead; false: there is none, or it was there before.
static bool lead_plan(pool *p, const syn_lead *lead, candidate *first)
{
    p->b = lead_board(p, lead);
    double *weight =
        hb_copy(p->arena, lead->weight, sizeof *weight * (size_t)p->b->mesh->n_classes);
    search_options o = quick_options(p, weight);
    p->b->price = lead->price;
    set_lead_cuts(p, lead);
    p->b->tried.n = 0;
    return !tried_before(p) && pool_search_within_memory(p, &o, NULL, first);
}

double pool_look_at_lead(pool *p, const syn_lead *lead)
{
    candidate first;
    bool fits = lead_plan(p, lead, &first) && first.fits;
    pool_forget(p, NULL, NULL);
    return fits ? first.sec : HUGE_VAL;
}

void pool_follow_lead(pool *p, const syn_lead *lead)
{
    candidate first;
    if (lead_plan(p, lead, &first)) pool_alternate(p, SYN_STARTING_COMPUTE, &first, 0);
    if (lead->strategy != SYN_AUTO) pool_propose_one(p, lead->strategy);
    pool_forget(p, NULL, NULL);
}
