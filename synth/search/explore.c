// What a synthesis searches: meshes, starting cuts (starting ratios), alternation of search and
// ratio LP, other weights of communication, fewer devices, and what others do (baselines).

#include "synth/search/explore.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/fold.h"
#include "synth/plan/mesh.h"
#include "synth/search/device_sets.h"
#include "synth/search/ratios.h"
#include "synth/search/slack.h"

static bool few_starts(const pool *p)
{
    return p->g->nodes.n > SYN_MANY_NODES;
}

static bool large(const pool *p)
{
    return p->g->nodes.n > SYN_LARGE;
}

static void add_starting_ratio(pool *p, syn_starting_ratio starting)
{
    board *b = p->b;
    double *w = HB_ARRAY(p->arena, double, b->mesh->n_ranks);
    syn_starting_ratio_weights(p->m, b->mesh, starting, w);
    syn_partitions_add_ranks(p->arena, b->partitions, b->mesh, -1, w,
                             hb_str_c(p->arena, syn_starting_ratio_name(starting)));
}

// The bandwidth starting ratio stands beside the compute starting ratio: what is bound by the one
// and by the other may be cut differently, with a reshard between. On two axes, whose states
// multiply, it stands alone.
static void set_starting_ratio(pool *p, syn_starting_ratio starting)
{
    syn_partitions_clear(p->b->partitions);
    if (starting == SYN_STARTING_BANDWIDTH && p->b->mesh->n_axes == 1)
        add_starting_ratio(p, SYN_STARTING_COMPUTE);
    add_starting_ratio(p, starting);
}

// The LP's cuts beside the starting ratio's. On two axes, whose states multiply, in its place where
// the LP has any of the set.
static void add_lp_cuts(pool *p, const syn_ratios *lp)
{
    board *b = p->b;
    for (int i = 0; b->mesh->n_axes == 2 && i < lp->n; i++) {
        struct syn_partition_set *q = &b->partitions->set[lp->v[i].set];
        q->n[lp->v[i].axis] = 0;
        if (lp->v[i].axis == SYN_BOTH) q->n[0] = 0; // its sums are there
        if (lp->v[i].axis == 0) q->n[SYN_BOTH] = 0;
    }
    for (int both = 1; both >= 0; both--)
        for (int i = 0; i < lp->n; i++)
            if ((lp->v[i].axis == SYN_BOTH) == both)
                syn_partitions_add(p->arena, b->partitions, b->mesh, lp->v[i].set, lp->v[i].axis,
                                   lp->v[i].share, HB_STR("lp"));
}

static double *even_weights(const pool *p)
{
    double *w = HB_ARRAY(p->arena, double, p->b->mesh->n_classes);
    for (int c = 0; c < p->b->mesh->n_classes; c++)
        w[c] = 1.0 / p->b->mesh->n_classes;
    return w;
}

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
    bool ends = c->fits || c->behind, fewer = p->b->mesh->n_ranks < p->m->cluster->n_ranks;
    double sec = c->hope > 0 ? fmin(c->sec, c->hope) : c->sec,
           other = p->opt->known && !p->opt->lead ? p->opt->known->best : 0; // of other variants
    // No better than where another starting ratio ended, and so close to it that its ratios would
    // end there too.
    if (ends && c->sec >= best && c->sec < best * (1 + SYN_START_NEAR)) return false;
    double far = !ends ? SYN_FIRST_FAR : large(p) ? 1 : fewer ? SYN_FEWER_FAR : SYN_FIRST_FAR;
    if (best > 0 && sec >= best * far) return false;
    return other <= 0 || !(large(p) || p->g->few_of) || sec < other * far;
}

// Copies of saved values widen the space and hardly move the cuts: the last search has them.
static search_options quick_options(const pool *p, const double *weight)
{
    syn_options *quick = hb_copy(p->arena, p->opt, sizeof *p->opt);
    quick->copy_bytes = INT64_MAX;
    return (search_options){
        .strategy = SYN_AUTO, .opt = quick, .weight = weight, .comm = 1, .gap = SYN_SEARCH_GAP};
}

// The plan at the cuts of a starting ratio. False if there is none, or the cuts were searched
// before.
static bool first_plan(pool *p, syn_starting_ratio starting, const candidate *keep, candidate *out)
{
    if (p->n_solved > 0 && pool_out_of_time(p)) return false;
    search_options o = quick_options(p, even_weights(p));
    set_starting_ratio(p, starting);
    return !tried_before(p) && pool_search_within_memory(p, &o, keep, out);
}

static double best_of(const pool *p)
{
    return p->best.program ? p->best.sec : 0;
}

// Ratio LP and search in turn, from the plan of one starting ratio, until the simulator sees no
// improvement or the plan is where others (at `best`; 0: nowhere) already are.
static const syn_slack *slack_of(pool *p, const candidate *c, double price)
{
    return syn_slack_of(p->arena, c->program, c->space->kinds, price);
}

static void take_rounds(pool *p, syn_starting_ratio starting, candidate *cur, double best)
{
    double trust = SYN_TRUST, *weight = even_weights(p);
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
        set_starting_ratio(p, starting);
        add_lp_cuts(p, &lp);
        if (tried_before(p) && b->mesh->n_axes == 2) return;
        o.slack = cur->space->slack ? slack_of(p, cur, cur->space->slack->price) : NULL;
        // Classes that bind count most, but no class is free.
        for (int c = 0; c < b->mesh->n_classes; c++)
            weight[c] = SYN_BINDING * lp.weight[c] + SYN_EVEN_REST / b->mesh->n_classes;
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

// Transfers that a plan leaves time for hide in the simulator: searches in which they cost little,
// at the same cuts, by other prices at every second look. Whether one is better.
static bool hide_transfers(pool *p, candidate *cur, int look)
{
    static const double price[][2] = {{SYN_HIDDEN}, {SYN_HIDDEN_LATER}};
    const candidate from = *cur;
    const syn_space *s = from.space;
    double waits = from.timeline.comm - from.timeline.hidden;
    if (!from.fits || waits < SYN_HIDE_WAITS * from.timeline.total) return false;
    if (p->g->few_of && from.priced) return false; // hardly pays, and is searched often
    p->held = &from;
    *p->b->partitions = *syn_partitions_copy(p->arena, s->partitions);
    for (size_t i = 0; i < 2 && !pool_out_of_time(p); i++) {
        search_options o = quick_options(p, s->weight);
        candidate next;
        o.price = p->b->price;
        o.slack = slack_of(p, &from, price[look % 2][i]);
        o.beat = cur->sec * (1 - SYN_SAME_PLACE);
        if (!pool_search(p, &o, &next)) break;
        if (next.fits && next.sec < cur->sec * (1 - SYN_SAME_PLACE)) *cur = next;
        pool_forget(p, cur, NULL);
    }
    p->held = NULL;
    pool_forget(p, cur, NULL);
    return cur->space != s;
}

// The best plan's transfers once more, on whatever devices it stands.
static void polish(pool *p)
{
    candidate cur = p->best;
    for (int round = 0; round < SYN_HIDE_ROUNDS && cur.program && !pool_out_of_time(p); round++) {
        p->b = pool_board_of(p, cur.space->mesh);
        if (!hide_transfers(p, &cur, round) && round > 0) return;
    }
}

// From the first plan of a starting ratio, if it is worth it, where others stand at `best` (0:
// nowhere).
static void alternate(pool *p, syn_starting_ratio starting, const candidate *first, double best)
{
    candidate cur = *first;
    bool look = !few_starts(p) && cur.fits && best > 0 && cur.sec < best * SYN_FIRST_FAR;
    if (look) (void)hide_transfers(p, &cur, 0);
    if (!promising(p, &cur, best)) return;
    if (!look) (void)hide_transfers(p, &cur, 0);
    take_rounds(p, starting, &cur, best);
    if (cur.sec < pool_best_known(p) * SYN_FIRST_FAR && hide_transfers(p, &cur, 1))
        take_rounds(p, starting, &cur, 0);
}

// Everything from one starting ratio on the present mesh.
static void follow(pool *p, syn_starting_ratio starting)
{
    candidate first;
    double best = best_of(p);
    if (first_plan(p, starting, NULL, &first)) alternate(p, starting, &first, best);
    pool_forget(p, NULL, NULL);
}

// Plans that the simulator may like better than the additive model does: communication, which may
// hide or stand beside matmuls, at a discount. In a large graph the larger one, if the step waits
// for any; in a small one that, too, where memory has no price.
static void discounts(pool *p)
{
    static const double comm[] = {SYN_DISCOUNT, SYN_DEEP_DISCOUNT};
    if (!p->best.program) return;
    const cost_timeline *t = &p->best.timeline;
    if (large(p) && t->comm - t->hidden < SYN_DISCOUNT_WAITS * t->total) return;
    const syn_space *won = p->best.space;
    p->b = pool_board_of(p, won->mesh);
    *p->b->partitions = *syn_partitions_copy(p->arena, won->partitions);
    for (size_t i = large(p); i < sizeof comm / sizeof *comm && !pool_out_of_time(p); i++) {
        search_options o = {.strategy = SYN_AUTO,
                            .opt = won->opt,
                            .weight = won->weight,
                            .comm = comm[i],
                            .price = p->b->price,
                            .gap = SYN_ROUGH_GAP};
        candidate c;
        if (i > 0 && !large(p) && o.price > 0) return;
        (void)pool_search(p, &o, &c);
        pool_forget(p, NULL, NULL);
        won = p->best.space;
        if (won->mesh != p->b->mesh) return;
    }
}

static search_options baseline_options(const pool *p, syn_strategy s)
{
    return (search_options){.strategy = s,
                            .opt = p->opt,
                            .weight = even_weights(p),
                            .comm = 1,
                            .gap = s == p->opt->strategy ? 0 : SYN_SEARCH_GAP};
}

static void note_sec(const candidate *c, double *least)
{
    double sec = fmin(c->fits ? c->sec : HUGE_VAL, c->sec_paired);
    if (isfinite(sec) && (*least < 0 || sec < *least)) *least = sec;
}

// What a baseline takes on some devices.
static void note_near(pool *p, syn_strategy s, const candidate *c)
{
    double before = p->others.near_sec[s];
    note_sec(c, &p->others.near_sec[s]);
    if (p->others.near_sec[s] != before) p->others.near_n[s] = c->program->mesh->n_ranks;
}

// A clause of how much is missing.
static hb_str lack(hb_arena *a, const candidate *c)
{
    if (c->share <= 1) return HB_STR("its buffers do not fit in memory");
    return hb_fmt(a, "it needs %.3g times the memory of the fullest device", c->share);
}

// With something in flight, if such a plan fits.
static bool baseline_within_memory(pool *p, const search_options *o, candidate *out)
{
    bool spare = p->spare;
    p->spare = false;
    bool found = pool_search_within_memory(p, o, NULL, out);
    p->spare = spare;
    if (!found || !spare || out->fits) return found;
    return pool_search_within_memory(p, o, NULL, out);
}

void pool_baseline(pool *p, syn_strategy s)
{
    const syn_strategy_row *row = syn_strategy_of(s);
    const candidate *leader = pool_leader(p);
    const syn_mesh *lead = leader->program ? leader->space->mesh : NULL;
    p->asked[s] = true;
    for (int i = 0; i < p->boards.n; i++) {
        candidate c;
        p->b = p->boards.p[i];
        // What others do is said of all devices; where fewer do better, it may be a plan of theirs.
        bool all = p->b->mesh->n_ranks == p->m->cluster->n_ranks;
        bool near = p->b->best > 0 && p->b->best < SYN_LATER_FAR * leader->sec;
        if (!all && (!lead || (p->b->mesh != lead && !near))) continue;
        if (p->b->mesh->n_axes == 2 && row->one_axis) continue;
        search_options o = baseline_options(p, s);
        p->b->asked[s] = true;
        for (int k = 0; k < row->n_start; k++) {
            if (p->n_solved > 0 && pool_out_of_time(p)) break;
            set_starting_ratio(p, row->start[k]);
            bool found = baseline_within_memory(p, &o, &c);
            if (found && all) note_sec(&c, &p->baseline[s]);
            if (found) note_near(p, s, &c);
            if (found) note_sec(&c, &p->b->baseline[s]);
            if (all) p->others.why[s] = found ? lack(p->arena, &c) : p->why;
            pool_forget(p, NULL, NULL);
        }
    }
    if (p->baseline[s] < 0 && pool_out_of_time(p))
        p->others.why[s] = HB_STR("the time for the search was over");
}

void pool_refine_baseline(pool *p)
{
    if (!p->best.program) return; // with pairs alone it fits
    const syn_strategy s = p->best.space->strategy;
    board *b = p->b = pool_board_of(p, p->best.space->mesh);
    search_options o = {
        .strategy = s, .opt = p->opt, .weight = even_weights(p), .comm = 1, .gap = SYN_SEARCH_GAP};
    for (int round = 0; s != SYN_AUTO && round < SYN_BASELINE_ROUNDS && !pool_out_of_time(p);
         round++) {
        candidate cur = p->best, next;
        syn_ratios lp;
        *b->partitions = *syn_partitions_copy(p->arena, cur.space->partitions);
        if (!syn_ratio_lp(p->arena, cur.program, b->partitions, b->costs, &cur.timeline, SYN_TRUST,
                          p->opt->memory_first, &lp))
            return;
        for (int i = 0; i < lp.n; i++)
            b->partitions->set[lp.v[i].set].n[lp.v[i].axis] = 0;
        add_lp_cuts(p, &lp);
        if (!pool_search_within_memory(p, &o, &cur, &next)) return;
        bool better = next.fits && next.sec < cur.sec * (1 - SYN_SAME_PLACE);
        pool_forget(p, NULL, NULL);
        if (!better) return;
    }
}

static void add_board(pool *p, syn_mesh *mesh)
{
    if (!mesh) return;
    board *b = HB_NEW(p->arena, board);
    *b = (board){.mesh = mesh, .partitions = syn_partitions_new(p->arena, p->g, p->f)};
    syn_partitions_align(b->partitions, p->m, mesh);
    for (int s = 0; s < syn_n_strategies; s++)
        b->baseline[s] = -1;
    b->costs = syn_costs_new(p->arena, p->m, mesh, p->g, p->f);
    HB_PUSH(p->arena, &p->boards, b);
}

static void add_boards(pool *p, const bool *keep)
{
    const cl_cluster *c = p->m->cluster;
    if (p->opt->mesh != SYN_MESH_FLAT) add_board(p, syn_mesh_machines(p->arena, c, keep));
    if (p->opt->mesh != SYN_MESH_MACHINES) add_board(p, syn_mesh_flat(p->arena, c, keep));
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
    set_starting_ratio(p, SYN_STARTING_COMPUTE);
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

static bool same_ranks(const syn_mesh *a, const syn_mesh *b)
{
    return a->n_ranks == b->n_ranks && memcmp(a->cluster_rank, b->cluster_rank,
                                              sizeof *a->cluster_rank * (size_t)a->n_ranks) == 0;
}

static board *lead_board(pool *p, const syn_lead *lead)
{
    bool *keep = HB_ARRAY(p->arena, bool, p->m->cluster->n_ranks + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < p->boards.n; i++)
            if (p->boards.p[i]->mesh->n_axes == lead->mesh->n_axes &&
                same_ranks(p->boards.p[i]->mesh, lead->mesh))
                return p->boards.p[i];
        for (int r = 0; r < lead->mesh->n_ranks; r++)
            keep[lead->mesh->cluster_rank[r]] = true;
        if (pass == 0) add_boards(p, keep);
    }
    hb_bug("a board of the lead", __FILE__, __LINE__);
}

// From where the search among few layers ended.
static void follow_lead(pool *p, const syn_lead *lead)
{
    candidate first;
    p->b = lead_board(p, lead);
    double *weight =
        hb_copy(p->arena, lead->weight, sizeof *weight * (size_t)p->b->mesh->n_classes);
    search_options o = quick_options(p, weight);
    p->b->price = lead->price;
    set_lead_cuts(p, lead);
    p->b->tried.n = 0;
    if (!tried_before(p) && pool_search_within_memory(p, &o, NULL, &first))
        alternate(p, SYN_STARTING_COMPUTE, &first, 0);
    pool_forget(p, NULL, NULL);
}

// Parameters and moments of the whole model alone, in bytes.
static double home_bytes(const ir_graph *g)
{
    double sum = 0;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *x = &g->tensors.p[t];
        if (x->kind == IR_PARAM || x->kind == IR_STATE)
            sum += (double)(ir_elements(x) * ir_dtype_bytes(x->dtype)) * ir_tensor_times(g, t);
    }
    return sum;
}

// A device of each class that could hold the model, alone.
static void single_devices(pool *p)
{
    const cl_cluster *c = p->m->cluster;
    double need = home_bytes(p->g);
    for (int k = 0; k < c->n_classes && !pool_out_of_time(p); k++) {
        bool *keep = HB_ARRAY(p->arena, bool, c->n_ranks + 1);
        int rank = 0, first = p->boards.n;
        while (rank < c->n_ranks && c->class_of[rank] != k)
            rank++;
        if (rank == c->n_ranks || need > (double)c->cls[k].capacity) continue;
        keep[rank] = true;
        if (p->opt->mesh != SYN_MESH_MACHINES) add_board(p, syn_mesh_flat(p->arena, c, keep));
        double sec = -1;
        for (int i = first; i < p->boards.n; i++) {
            candidate found;
            p->b = p->boards.p[i];
            set_starting_ratio(p, SYN_STARTING_EVEN);
            search_options o = baseline_options(p, SYN_AUTO);
            if (pool_search(p, &o, &found)) note_sec(&found, &sec);
            pool_forget(p, NULL, NULL);
        }
        if (sec < 0 || (p->others.one_sec >= 0 && p->others.one_sec <= sec)) continue;
        p->others.one_sec = sec;
        p->others.one_class = k;
    }
}

// What a baseline takes on the devices of a board, unless that is known.
static void baseline_on(pool *p, board *b, syn_strategy s)
{
    const syn_strategy_row *row = syn_strategy_of(s);
    p->b = b;
    search_options o = baseline_options(p, s);
    for (int k = 0; k < row->n_start && !b->asked[s]; k++) {
        candidate found;
        set_starting_ratio(p, row->start[k]);
        if (baseline_within_memory(p, &o, &found)) {
            note_sec(&found, &b->baseline[s]);
            note_near(p, s, &found);
        }
        pool_forget(p, NULL, NULL);
    }
    b->asked[s] = true;
}

void pool_others(pool *p)
{
    const candidate *leader = pool_leader(p);
    const cl_cluster *c = p->m->cluster;
    p->others.one_sec = -1;
    p->others.one_class = -1;
    for (int s = 0; s < syn_n_strategies; s++)
        p->others.baseline_sec[s] = -1;
    if (!leader->program || p->opt->all_devices || c->n_ranks == 1) return;
    const syn_mesh *kept = leader->program->mesh;
    bool fewer = kept->n_ranks < c->n_ranks && kept->n_ranks > 1 && !large(p);
    if (fewer) {
        p->others.kept = kept->cluster_rank;
        p->others.n_kept = kept->n_ranks;
    }
    for (int i = 0; fewer && i < p->boards.n; i++)
        for (int s = SYN_AUTO + 1; s < syn_n_strategies && !pool_out_of_time(p); s++) {
            board *b = p->boards.p[i];
            double *least = &p->others.baseline_sec[s];
            if (!same_ranks(b->mesh, kept)) continue;
            if (b->mesh->n_axes == 2 && syn_strategy_of(s)->one_axis) continue;
            baseline_on(p, b, (syn_strategy)s);
            if (b->baseline[s] >= 0 && (*least < 0 || b->baseline[s] < *least))
                *least = b->baseline[s];
        }
    single_devices(p);
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
        have[i] = first_plan(p, start[0], i > 0 && have[0] ? &first[0] : NULL, &first[i]);
        at[i] = have[i] ? first[i].sec * (first[i].fits ? 1 : SYN_UNFIT) : HUGE_VAL;
    }
    bool swap = n == 2 && at[1] < at[0];
    for (int k = 0; k < n; k++) {
        int i = swap ? 1 - k : k;
        bool behind =
            k > 0 && p->best.program && at[i] > p->best.sec * (large(p) ? 1 : SYN_MESH_BEHIND);
        p->b = p->boards.p[first_board + i];
        if (k == 0 && have[i]) {
            bool other = n == 2 && have[1 - i] && first[1 - i].fits;
            double beat = other ? at[1 - i] : 0;
            syn_starting_ratio starting = start[0];
            candidate second;
            if (few_starts(p) && first_plan(p, start[1], &first[i], &second) && second.fits &&
                second.sec < at[i]) { // ratios from the better of two starts
                first[i] = second;
                starting = start[1];
            }
            alternate(p, starting, &first[i], beat);
        }
        pool_forget(p, NULL, NULL);
        if (k > 0 && !behind) { // its first plan is forgotten by now
            p->b->tried.n = 0;
            follow(p, start[0]);
        }
        // Two axes multiply the states, and ratios of machines and devices differ less.
        int n_starting = few_starts(p) || p->b->mesh->n_axes == 2 ? 2 : row->n_start;
        for (int starting = 1; starting < n_starting && !behind && !pool_out_of_time(p); starting++)
            follow(p, start[starting]); // of few starts: was there before
    }
}

// Where memory does not bind, once more from the compute starting ratio of every mesh, with a price
// on it: other choices, which the simulator may like better than the additive model does, and other
// ratios.
static void be_thrifty(pool *p, int first, int n)
{
    if (!p->best.program || few_starts(p) || p->best.priced) return;
    p->thrifty = true;
    for (int i = first; i < first + n && !pool_out_of_time(p); i++) {
        board *b = p->b = p->boards.p[i];
        double price = b->price;
        b->tried.n = 0;
        b->price = SYN_THRIFTY_PRICE * p->best.sec / p->best.share;
        follow(p, SYN_STARTING_COMPUTE);
        b->price = price;
    }
    p->thrifty = false;
}

// Where memory binds, once more without one-sided puts: what they write lies in a segment of its
// own, so that prices on memory end elsewhere.
static void without_puts(pool *p, int first, int n)
{
    bool any = false;
    for (int m = 0; m < p->m->cluster->n_machines; m++)
        any = any || p->m->cluster->machine[m].peer;
    if (!any || few_starts(p) || (p->best.program && p->best.share < SYN_PUT_SHARE)) return;
    double before = p->best.sec;
    bool *vain = p->opt->known ? &p->opt->known->puts_kept : NULL;
    if (vain && *vain) return;
    p->no_put = true;
    for (int i = first; i < first + n; i++) {
        p->boards.p[i]->tried.n = 0;
        p->boards.p[i]->price = 0;
    }
    bool had = p->best.program;
    explore_meshes(p, first, n);
    p->no_put = false;
    // Where it brings nothing to one variant of the step it brings nothing to the next.
    if (vain && had) *vain = p->best.sec > before * (1 - SYN_SAME_PLACE);
}

// One set of devices, the boards first .. first + n - 1, as if there were no others: what the best
// of other sets takes is no reason to stop.
static void explore_alone(pool *p, int first, int n)
{
    candidate best = p->best, paired = p->paired;
    double enough = p->enough;
    p->best = p->paired = (candidate){0};
    p->enough = 0;
    p->aside[0] = best.arena;
    p->aside[1] = paired.arena;
    for (int i = first; i < first + n; i++) {
        p->boards.p[i]->tried.n = 0;
        p->boards.p[i]->price = 0;
    }
    explore_meshes(p, first, n);
    if (!p->g->few_of) {
        discounts(p);
        be_thrifty(p, first, n);
        without_puts(p, first, n);
        polish(p);
    }
    if (best.program && (!p->best.program || best.sec <= p->best.sec)) p->best = best;
    if (paired.program && (!p->paired.program || paired.sec <= p->paired.sec)) p->paired = paired;
    if (enough > 0) p->enough = p->enough > 0 ? fmin(enough, p->enough) : enough;
    p->aside[0] = p->aside[1] = NULL;
    pool_forget(p, NULL, NULL);
}

// What a set of fewer devices has come to.
typedef struct set_boards {
    int first, n; // its boards
    double sec;   // of its fastest plan that fits; HUGE_VAL: none
} set_boards;

static int faster_set(const void *x, const void *y)
{
    const set_boards *a = x, *b = y;
    return a->sec != b->sec ? (a->sec > b->sec) - (a->sec < b->sec) : a->first - b->first;
}

// One search from the compute starting ratio, and ratios where it comes near the best so far.
static void look_at_set(pool *p, const bool *keep, set_boards *s)
{
    s->first = p->boards.n;
    add_boards(p, keep);
    s->n = p->boards.n - s->first;
    // For many nodes only on the kind of mesh that does best so far.
    bool choose = p->best.program && s->n == 2 && few_starts(p);
    int axes = choose ? p->best.program->mesh->n_axes : 0;
    for (int k = s->first; k < s->first + s->n && !pool_out_of_time(p); k++) {
        if (choose && p->boards.p[k]->mesh->n_axes != axes) continue;
        p->b = p->boards.p[k];
        p->looking = true;
        follow(p, SYN_STARTING_COMPUTE);
        p->looking = false;
    }
    s->sec = HUGE_VAL;
    for (int i = s->first; i < s->first + s->n; i++) {
        const board *b = p->boards.p[i];
        if (b->best > 0) s->sec = fmin(s->sec, b->best);
        pool_note_set(p, keep, b->quickest, b->best);
    }
}

// Sets of fewer devices, as they are looked at.
typedef struct dropping {
    pool *p;
    device_sets sets;
    set_boards of[SYN_MAX_SUBSETS];
    int n, looked; // of `of`; of sets
} dropping;

// A look at each set that is new; then the best of these as if the cluster were no more, so that a
// device more is no loss.
static void look_at_sets(dropping *d, int most)
{
    pool *p = d->p;
    int first = d->n;
    for (; d->looked < d->sets.n && !pool_out_of_time(p); d->looked++) {
        const bool *keep = d->sets.keep[d->looked];
        if (pool_set_is_slow(p, keep)) continue;
        if (!p->best.program || pool_least_seconds(p, keep) < pool_best_known(p))
            look_at_set(p, keep, &d->of[d->n++]);
    }
    double far = p->g->few_of ? SYN_ALONE_FEW : SYN_ALONE_FAR;
    qsort(d->of + first, (size_t)(d->n - first), sizeof *d->of, faster_set);
    for (int i = first; i < d->n && i - first < most && !pool_out_of_time(p); i++) {
        if (d->of[i].n == 0 || d->of[i].sec >= far * pool_best_known(p)) return;
        explore_alone(p, d->of[i].first, d->of[i].n);
    }
}

// Do fewer devices do better? Sets of several kinds, then those near the best, while that gains.
static void drop_devices(pool *p)
{
    if (large(p) || p->opt->all_devices) return;
    dropping *d = HB_NEW(p->arena, dropping);
    *d = (dropping){.p = p, .sets = pool_device_sets(p)};
    bool later = p->opt->known && p->opt->known->best > 0; // variant of a step that has a plan
    int most = later ? 1 : 1 + SYN_ALONE_NODES / (p->g->nodes.n + 1),
        steps = later || few_starts(p) || p->g->few_of ? 0 : SYN_CLIMB_STEPS;
    look_at_sets(d, most < SYN_ALONE_SETS ? most : SYN_ALONE_SETS);
    for (int step = 0; step < steps && p->best.program; step++) {
        double before = p->best.sec;
        pool_add_neighbours(&d->sets, p->best.program->mesh);
        look_at_sets(d, SYN_ALONE_NEAR);
        if (p->best.sec > before * (1 - SYN_SAME_PLACE)) return;
    }
}

// Fewer devices, where more of them bring next to nothing: the smallest set whose plans are so near
// the best, searched once more.
static void prefer_fewer(pool *p)
{
    const candidate *lead = pool_leader(p);
    if (!lead->program || p->opt->all_devices || p->opt->lead) return;
    double enough = lead->sec * (1 + SYN_FEWER_WORTH);
    int ranks = lead->program->mesh->n_ranks, at = -1;
    for (int i = 0; i < p->boards.n; i++) {
        const board *b = p->boards.p[i];
        if (b->best <= 0 || b->best > enough || b->mesh->n_ranks >= ranks) continue;
        at = i;
        ranks = b->mesh->n_ranks;
    }
    if (at < 0 || pool_out_of_time(p)) return;
    candidate best = p->best, paired = p->paired;
    double beside = p->enough;
    p->best = p->paired = (candidate){0};
    p->enough = 0;
    p->aside[0] = best.arena;
    p->aside[1] = paired.arena;
    p->boards.p[at]->tried.n = 0;
    p->boards.p[at]->price = 0;
    explore_meshes(p, at, 1);
    discounts(p);
    polish(p);
    lead = pool_leader(p);
    if (!lead->program || lead->sec > enough) {
        p->best = best;
        p->paired = paired;
        p->enough = beside;
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

void pool_explore(pool *p)
{
    const syn_options *o = p->opt;
    p->best = p->paired = p->smallest = (candidate){0};
    p->quickest = p->enough = 0;
    for (int i = 0; p->spare && i < p->boards.n; i++)
        p->boards.p[i]->tried.n = 0;
    if (p->boards.n == 0) add_boards(p, NULL);
    if (p->n_whole == 0) p->n_whole = p->boards.n;
    for (int s = 0; s < syn_n_strategies; s++) {
        p->baseline[s] = -1;
        p->asked[s] = false;
    }
    if (o->strategy != SYN_AUTO) {
        pool_baseline(p, o->strategy);
        return;
    }
    p->boards.n = p->n_whole; // without those of fewer devices, if this is not the first time
    if (o->lead) {
        follow_lead(p, o->lead);
        discounts(p);
        return;
    }
    explore_meshes(p, 0, p->n_whole);
    if (slow_variant(p)) return;
    discounts(p);
    drop_devices(p);
    note_first(p);
    be_thrifty(p, 0, p->n_whole);
    without_puts(p, 0, p->n_whole);
    polish(p);
    prefer_fewer(p);
    for (int s = SYN_AUTO + 1;
         (p->spare || p->doubtful) && !pool_leader(p)->program && s < syn_n_strategies; s++)
        pool_baseline(p, (syn_strategy)s);
}
