#include "synth/search/candidates.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "synth/passes/overlap_pairs.h"
#include "synth/plan/liveness.h"
#include "synth/search/local_search.h"
#include "synth/search/prove.h"
#include "synth/search/settle.h"

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

// Collectives of a candidate in other forms, where what they need fits.
void pool_pick_forms(pool *p, candidate *c)
{
    if (c->rolled) return; // it was placed as it is
    hb_arena *a = hb_arena_new();
    const syn_program *was = c->program;
    syn_making x = {.program = c->program,
                    .sec = c->sec,
                    .timeline = c->timeline,
                    .costs = syn_costs_new(a, p->m, was->mesh, was->g, was->f)};
    syn_passes_run(&x, SYN_PASS_PICK_FORMS, SYN_PASS_PICK_FORMS);
    hb_arena_free(a);
    if (x.program == was) return;
    candidate other = *c;
    other.program = x.program;
    other.sec = x.sec;
    other.timeline = x.timeline;
    other.share = syn_live_share(x.program, false);
    other.settled = false; // beside an arena there may be more than before
    pool_settle(p, &other);
    if (other.fits) *c = other;
}

// Integer moves on a candidate that was rolled, on tables of its own.
void pool_search_locally(pool *p, candidate *c)
{
    syn_program *prog = c->program;
    syn_mesh *before = prog->mesh;
    prog->mesh = hb_copy(prog->arena, before, sizeof *before);
    prog->mesh->cuts.p =
        hb_copy(prog->arena, before->cuts.p, sizeof *before->cuts.p * (size_t)before->cuts.n);
    double sec = syn_local_search(prog, p->m, c->space->kinds->node, c->sec, p->stop);
    if (sec >= c->sec)
        prog->mesh = before;
    else
        c->sec = sec;
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
    if (!p->near.lead.mesh || sec < p->near.sec[1])
        p->near = (struct syn_end){{HUGE_VAL, sec}, pool_lead_of(p, c->space)};
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
            x == p->rival.arena || x == p->explored.arena || x == p->of_auto.arena ||
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
    candidate *c[] = {&p->best, &p->paired, &p->smallest, &p->explored, &p->of_auto, one, two};
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

bool pool_memory_binds(const pool *p, const candidate *plan)
{
    return !plan->program || (p->unfit > 0 && p->unfit < plan->sec);
}

double pool_best_known(const pool *p)
{
    double own = p->best.program ? p->best.sec : 0, other = p->opt->known ? p->opt->known->best : 0;
    return own > 0 && other > 0 ? fmin(own, other) : own + other;
}

board *pool_board_of(const pool *p, const syn_mesh *mesh)
{
    for (int i = 0; i < p->boards.n; i++)
        if (p->boards.p[i]->mesh == mesh) return p->boards.p[i];
    hb_bug("a board of the mesh", __FILE__, __LINE__);
}
