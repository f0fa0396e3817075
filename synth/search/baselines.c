#include "synth/search/baselines.h"

#include <math.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/plan/mesh.h"
#include "synth/search/boards.h"
#include "synth/search/ratios.h"
#include "synth/search/searches.h"

static search_options baseline_options(const pool *p, syn_strategy s)
{
    return (search_options){.strategy = s,
                            .opt = p->opt,
                            .weight = pool_even_weights(p),
                            .comm = 1,
                            .gap = s == p->opt->strategy ? 0 : SYN_SEARCH_GAP};
}

static void note_sec(const candidate *c, double *least)
{
    double sec = fmin(c->fits ? c->sec : HUGE_VAL, c->sec_paired);
    if (isfinite(sec) && (*least < 0 || sec < *least)) *least = sec;
}

// What a baseline takes on the devices of the present board.
static void note_near(pool *p, syn_strategy s, const candidate *c)
{
    double before = p->others.near_sec[s];
    note_sec(c, &p->others.near_sec[s]);
    if (p->others.near_sec[s] != before) p->others.near_n[s] = p->b->mesh->n_ranks;
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
        bool all = i < p->n_whole;
        bool near = p->b->best > 0 && p->b->best < SYN_LATER_FAR * leader->sec;
        if (!all && (!lead || (p->b->mesh != lead && !near))) continue;
        if (p->b->mesh->n_axes == 2 && row->one_axis) continue;
        search_options o = baseline_options(p, s);
        p->b->asked[s] = true;
        for (int k = 0; k < row->n_start; k++) {
            if (p->n_solved > 0 && pool_out_of_time(p)) break;
            pool_set_starting_ratio(p, row->start[k]);
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
    search_options o = {.strategy = s,
                        .opt = p->opt,
                        .weight = pool_even_weights(p),
                        .comm = 1,
                        .gap = SYN_SEARCH_GAP};
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
        pool_add_lp_cuts(p, &lp);
        if (!pool_search_within_memory(p, &o, &cur, &next)) return;
        bool better = next.fits && next.sec < cur.sec * (1 - SYN_SAME_PLACE);
        pool_forget(p, NULL, NULL);
        if (!better) return;
    }
}

void pool_propose_one(pool *p, syn_strategy s)
{
    const syn_strategy_row *row = syn_strategy_of(s);
    const syn_program *best = p->best.program;
    search_options o = baseline_options(p, s);
    candidate c;
    if (row->one_axis && p->b->mesh->n_axes == 2) return;
    pool_set_starting_ratio(p, row->start[0]);
    if (pool_search(p, &o, &c) && p->best.program != best) pool_refine_baseline(p);
    pool_forget(p, NULL, NULL);
}

// On equal devices two starting ratios are one, and so are strategies that differ in nothing else.
static bool proposes_the_same(pool *p, syn_strategy s, syn_strategy like)
{
    if (like == SYN_AUTO || like == s || !syn_strategy_of(like)->proposed) return false;
    pool_set_starting_ratio(p, syn_strategy_of(like)->start[0]);
    uint64_t cuts = syn_partitions_key(p->b->partitions);
    pool_set_starting_ratio(p, syn_strategy_of(s)->start[0]);
    return syn_partitions_key(p->b->partitions) == cuts;
}

void pool_propose(pool *p)
{
    // Where memory binds they have no regard for it; of a set of devices there is no other look.
    if (!p->looking && (p->b->best <= 0 || p->b->best > p->b->quickest)) return;
    double took[SYN_MAX_STRATEGIES] = {0}; // states searched
    for (int s = SYN_AUTO + 1; s < syn_n_strategies && !pool_out_of_time(p); s++) {
        int like = syn_strategy_like(s);
        double before = p->work;
        if (!syn_strategy_of(s)->proposed) continue;
        if (proposes_the_same(p, s, like))
            p->spared += took[like];
        else
            pool_propose_one(p, (syn_strategy)s);
        took[s] = p->work - before;
    }
}

void pool_try_baselines(pool *p)
{
    const syn_program *best = p->best.program;
    if (!p->opt->baselines && !p->opt->devices) return;
    for (int s = SYN_AUTO + 1; s < syn_n_strategies && !pool_out_of_time(p); s++)
        pool_baseline(p, (syn_strategy)s);
    if (p->best.program != best) pool_refine_baseline(p);
}

// A device of each class that could hold the model, alone.
static void single_devices(pool *p)
{
    const cl_cluster *c = p->m->cluster;
    double need = ir_home_bytes(p->g);
    for (int k = 0; k < c->n_classes && !pool_out_of_time(p); k++) {
        bool *keep = HB_ARRAY(p->arena, bool, c->n_ranks + 1);
        int rank = 0, first = p->boards.n;
        while (rank < c->n_ranks && c->class_of[rank] != k)
            rank++;
        if (rank == c->n_ranks || need > (double)c->cls[k].capacity) continue;
        keep[rank] = true;
        if (p->opt->mesh != SYN_MESH_MACHINES) pool_add_board(p, syn_mesh_flat(p->arena, c, keep));
        double sec = -1;
        for (int i = first; i < p->boards.n; i++) {
            candidate found;
            p->b = p->boards.p[i];
            pool_set_starting_ratio(p, SYN_STARTING_EVEN);
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
        pool_set_starting_ratio(p, row->start[k]);
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
    bool fewer = kept->n_ranks < c->n_ranks && kept->n_ranks > 1 && !pool_is_large(p);
    if (fewer) {
        p->others.kept = kept->cluster_rank;
        p->others.n_kept = kept->n_ranks;
    }
    for (int i = 0; fewer && i < p->boards.n; i++)
        for (int s = SYN_AUTO + 1; s < syn_n_strategies && !pool_out_of_time(p); s++) {
            board *b = p->boards.p[i];
            double *least = &p->others.baseline_sec[s];
            if (!pool_same_ranks(b->mesh, kept)) continue;
            if (b->mesh->n_axes == 2 && syn_strategy_of(s)->one_axis) continue;
            baseline_on(p, b, (syn_strategy)s);
            if (b->baseline[s] >= 0 && (*least < 0 || b->baseline[s] < *least))
                *least = b->baseline[s];
        }
    single_devices(p);
}
