#include "synth/synth.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "synth/mesh.h"
#include "synth/polish.h"
#include "synth/ratios.h"
#include "synth/record.h"
#include "synth/schedule.h"
#include "synth/space.h"

static const char *const strategy_names[SYN_N_STRATEGIES] = {"auto", "dp-even", "dp-prop",
                                                             "zero", "tp",      "hap"};

const char *syn_strategy_name(syn_strategy s)
{
    return strategy_names[s];
}

bool syn_strategy_parse(hb_str s, syn_strategy *out)
{
    for (int i = 0; i < SYN_N_STRATEGIES; i++)
        if (hb_str_is(s, strategy_names[i])) {
            *out = (syn_strategy)i;
            return true;
        }
    return false;
}

bool syn_mesh_parse(hb_str s, syn_mesh_choice *out)
{
    static const char *const names[] = {"auto", "flat", "machine"};
    for (int i = 0; i < 3; i++)
        if (hb_str_is(s, names[i])) {
            *out = (syn_mesh_choice)i;
            return true;
        }
    return false;
}

syn_options syn_default_options(void)
{
    return (syn_options){.strategy = SYN_AUTO, .small_param = 65536, .copy_bytes = 1 << 20};
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// One plan that was judged.
typedef struct candidate {
    syn_program *program;
    cost_timeline timeline;
    double sec;
    double share;    // of the fullest class's capacity: live bytes at most, each buffer for itself
    bool fits;       // as placed, or far enough below every capacity to be sure enough until it is
    bool placed;     // rolled, with an arena
    hb_arena *arena; // its space and program
    syn_space *space;
    double additive; // without memory prices
    bool exact;      // additive is the optimum of space
} candidate;

// A ray that was tried, by the cuts it gave every palette group.
typedef struct tried {
    int *cut;
} tried;

// A mesh, the cuts in play on it, and what they cost.
typedef struct board {
    syn_mesh *mesh;
    syn_palette *palette;
    syn_costs *costs;
    HB_VEC(tried) rays;
    double price; // on memory, that the last plan wanted
} board;

typedef struct pool {
    hb_arena *arena;
    const ir_graph *g;
    const ir_factors *f;
    const cost_model *m;
    const syn_options *opt;
    board *b; // the one that is searched
    double begin, deadline;
    candidate best;     // fastest that fits
    candidate smallest; // least share, for the message when nothing fits
    hb_str why;
    double baseline[SYN_N_STRATEGIES];
    bool careful; // place every candidate at once
    HB_VEC(board) boards;
    HB_VEC(hb_arena *) arenas; // of candidates that may still be wanted
    int n_solved, n_states;
} pool;

// Searches on the way stop this near their additive optimum; the chosen plan's is closed to the
// end.
static const double NEAR = 3e-2;
// Rays and rounds that come this near each other are at the same place.
static const double SAME = 3e-4;
// A ray whose first plan is this much slower than the best is not followed further.
static const double NEXT_TO = 5e-3;
// A mesh where the first plan and its ratios are this much slower than the best is left.
static const double FAR = 1.15;
// Live bytes under this share of the capacity nearly always find a place.
static const double ROOMY = 0.9;

static bool out_of_time(const pool *p)
{
    return (p->opt->interrupted && *p->opt->interrupted) ||
           (p->deadline > 0 && now() > p->deadline);
}

// Largest excess over capacity, as a share of the capacity; <= 0 if it fits.
static double overflow_of(const syn_program *p)
{
    double worst = -1;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double cap = (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity;
        double over = (double)p->peak_bytes[c] / cap - 1;
        worst = over > worst ? over : worst;
    }
    return worst;
}

static void offer(pool *p, const candidate *c)
{
    if (!p->smallest.program || c->share < p->smallest.share) p->smallest = *c;
    if (c->fits && (!p->best.program || c->sec < p->best.sec)) p->best = *c;
}

// Largest share of a class's capacity that buffers take at any instruction, each for itself.
static double live_share(const syn_program *prog)
{
    int n = prog->instr.n, classes = prog->mesh->n_classes;
    hb_arena *arena = hb_arena_new();
    int *birth = HB_ARRAY(arena, int, prog->tensors.n + 1),
        *death = HB_ARRAY(arena, int, prog->tensors.n + 1);
    int64_t *delta = HB_ARRAY(arena, int64_t, n + 2);
    double worst = 0;
    syn_lifetimes(prog, birth, death);
    for (int c = 0; c < classes; c++) {
        int64_t live = 0, most = 0;
        memset(delta, 0, sizeof *delta * (size_t)(n + 2));
        for (int t = 0; t < prog->tensors.n; t++) {
            if (birth[t] > death[t]) continue;
            delta[birth[t]] += prog->tensors.p[t].bytes[c];
            delta[death[t] + 1] -= prog->tensors.p[t].bytes[c];
        }
        for (int i = 0; i <= n; i++) {
            live += delta[i];
            most = live > most ? live : most;
        }
        double share =
            (double)most / (double)prog->cluster->cls[prog->mesh->cluster_class[c]].capacity;
        worst = share > worst ? share : worst;
    }
    hb_arena_free(arena);
    return worst;
}

static void place(candidate *c)
{
    if (c->placed) return;
    syn_roll(c->program);
    syn_arena(c->program);
    c->placed = true;
    c->fits = overflow_of(c->program) <= 0;
}

// Finishes a lowered and priced program: schedules and simulates it, and places it where memory is
// near.
static candidate judge(pool *p, syn_strategy s, syn_program *prog)
{
    candidate c = {.program = prog};
    syn_sink_waits(prog);
    if (s != SYN_HAP) syn_bucket(prog, p->b->costs); // HAP: each gradient on its own
    syn_raise_starts(prog);
    c.sec = syn_simulate(prog, &c.timeline, false);
    c.share = live_share(prog);
    if (c.share > ROOMY) {
        syn_limit_flight(prog);
        c.sec = syn_simulate(prog, &c.timeline, false);
        c.share = live_share(prog);
    }
    c.fits = c.share <= ROOMY;
    if (p->careful && c.share <= 1) place(&c);
    if (p->opt->log)
        fprintf(p->opt->log, "%.3f s: %s on %s: %.6g ms, %.0f %% of the fullest memory\n",
                now() - p->begin, syn_strategy_name(s),
                prog->mesh->n_axes == 1 ? "one axis" : "machines x devices", c.sec * 1e3,
                c.share * 100);
    return c;
}

// Frees what belongs to no candidate that is still in play; one and two may be NULL.
static void forget(pool *p, const candidate *one, const candidate *two)
{
    int n = 0;
    for (int i = 0; i < p->arenas.n; i++) {
        hb_arena *x = p->arenas.p[i];
        if (x == p->best.arena || x == p->smallest.arena || (one && x == one->arena) ||
            (two && x == two->arena))
            p->arenas.p[n++] = x;
        else
            hb_arena_free(x);
    }
    p->arenas.n = n;
}

// What is left becomes the caller's.
static void keep_all(pool *p, const candidate *optimum)
{
    const candidate *c[] = {&p->best, &p->smallest, optimum};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        if (c[i]->arena) {
            c[i]->program->arena = p->arena;
            c[i]->space->arena = p->arena;
        }
    for (int i = 0; i < p->arenas.n; i++)
        hb_arena_join(p->arena, p->arenas.p[i]);
    p->arenas.n = 0;
}

// One search at the palette's cuts. False if there is no plan at all.
static bool search(pool *p, const syn_options *opt, syn_strategy s, const double *weight,
                   const double *price, double gap, candidate *out)
{
    int classes = p->b->mesh->n_classes;
    hb_arena *arena = hb_arena_new();
    HB_PUSH(p->arena, &p->arenas, arena);
    syn_space *space = syn_space_build(
        arena, p->b->costs, syn_palette_copy(arena, p->b->palette), s, opt,
        hb_copy(arena, weight, sizeof *weight * (size_t)classes), 1,
        price ? hb_copy(arena, price, sizeof *price * (size_t)classes) : NULL, &p->why);
    syn_choice choice;
    double lower = 0;
    if (!space) p->why = hb_str_n(p->arena, p->why.p, p->why.n);
    if (!space) return false;
    if (syn_space_near(arena, space, gap, &choice, &lower) != MS_OPTIMAL) {
        hb_str clash = syn_space_clash(p->arena, space);
        if (clash.n) p->why = clash;
        return false;
    }
    p->n_solved++;
    int states = 0;
    for (int v = 0; v < space->problem.n_vars; v++)
        states += space->problem.domain[v];
    p->n_states = states > p->n_states ? states : p->n_states;
    syn_program *prog = syn_lower(arena, space, &choice);
    syn_price_moves(prog, p->b->costs);
    double additive = syn_additive(space, prog); // before buckets save latencies
    *out = judge(p, s, prog);
    out->arena = arena;
    out->space = space;
    out->additive = additive;
    out->exact =
        s == p->opt->strategy && opt == p->opt && !price && lower >= choice.additive * (1 - 1e-9);
    offer(p, out);
    return true;
}

static bool priced_search(pool *p, const syn_options *opt, syn_strategy s, const double *weight,
                          double gap, double price, double sec, candidate *out)
{
    double per_byte[CL_MAX_CLASSES];
    const syn_mesh *mesh = p->b->mesh;
    for (int c = 0; c < mesh->n_classes; c++)
        per_byte[c] = price * sec / (double)p->m->cluster->cls[mesh->cluster_class[c]].capacity;
    return search(p, opt, s, weight, price > 0 ? per_byte : NULL, gap, out);
}

// As search, and when the plan does not fit, with a price on memory: rising until a plan fits or
// more does not help, then half way back. A price is in steps' time for a full memory.
static bool search_within_memory(pool *p, const syn_options *opt, syn_strategy s,
                                 const double *weight, double gap, const candidate *keep,
                                 candidate *out)
{
    double low = 0, high = 0, first = s == SYN_AUTO ? p->b->price : 0;
    candidate next;
    if (!priced_search(p, opt, s, weight, gap, first, p->best.sec, out)) return false;
    double sec = first > 0 ? p->best.sec : out->sec;
    if (first > 0 && out->fits) high = first;
    for (double price = first > 0        ? 2 * first
                        : out->share > 2 ? 4
                                         : 0.5;
         !out->fits && price < 300 && !out_of_time(p); price *= 4) {
        if (!priced_search(p, opt, s, weight, gap, price, sec, &next)) return true;
        bool stuck = next.share > 0.995 * out->share;
        low = high > 0 ? high : first;
        high = price;
        *out = next;
        forget(p, keep, out);
        if (stuck && !out->fits) break;
    }
    if (s == SYN_AUTO && out->fits) p->b->price = high;
    for (int half = 0; half < 2 && out->fits && high > 0 && !out_of_time(p); half++) {
        double price = low > 0 ? sqrt(low * high) : high / 4;
        if (!priced_search(p, opt, s, weight, gap, price, sec, &next)) break;
        if (next.fits && next.sec <= out->sec) {
            *out = next;
            high = price;
            if (s == SYN_AUTO) p->b->price = high;
        } else {
            low = price;
        }
        forget(p, keep, out);
    }
    return true;
}

static void set_ray(pool *p, syn_ray ray)
{
    board *b = p->b;
    double *w = HB_ARRAY(p->arena, double, b->mesh->n_ranks);
    syn_palette_clear(b->palette);
    syn_ray_weights(p->m, b->mesh, ray, w);
    syn_palette_add_ranks(p->arena, b->palette, b->mesh, -1, w,
                          hb_str_c(p->arena, syn_ray_name(ray)));
}

static void even_weights(const pool *p, double *w)
{
    for (int c = 0; c < p->b->mesh->n_classes; c++)
        w[c] = 1.0 / p->b->mesh->n_classes;
}

// Whether the palette, as a ray left it, was there before.
static bool tried_before(pool *p)
{
    board *b = p->b;
    int n = b->palette->n_groups * (SYN_MAX_AXES + 1), *cut = HB_ARRAY(p->arena, int, n + 1);
    for (int k = 0; k < n; k++) {
        const struct syn_palette_group *q = &b->palette->group[k / (SYN_MAX_AXES + 1)];
        int axis = k % (SYN_MAX_AXES + 1);
        cut[k] = q->n[axis] > 0 ? q->cut[axis][0] : -1;
    }
    for (int i = 0; i < b->rays.n; i++)
        if (memcmp(b->rays.p[i].cut, cut, sizeof *cut * (size_t)n) == 0) return true;
    HB_PUSH(p->arena, &b->rays, (tried){cut});
    return false;
}

static bool near_by(double a, double b)
{
    return fabs(a - b) <= SAME * fabs(b);
}

// Search and ratio LP in turn, from the cuts of one ray, until the judge sees no improvement or the
// plan is where another ray already was.
static void alternate(pool *p, syn_ray ray)
{
    double weight[CL_MAX_CLASSES], trust = 0.5, others = p->best.program ? p->best.sec : 0;
    // Copies of saved values widen the space and hardly move the cuts: the last search has them.
    syn_options *quick = hb_copy(p->arena, p->opt, sizeof *p->opt);
    quick->copy_bytes = INT64_MAX;
    candidate cur, next;
    even_weights(p, weight);
    set_ray(p, ray);
    if (tried_before(p) || !search_within_memory(p, quick, SYN_AUTO, weight, NEAR, NULL, &cur))
        return;
    // No better than where another ray ended, and so close to it that its ratios would end there
    // too.
    if (others > 0 && cur.fits && cur.sec >= others && cur.sec < others * (1 + NEXT_TO)) return;
    for (int round = 0; round < 8 && trust > 0.05 && !out_of_time(p); round++) {
        board *b = p->b;
        syn_ratios lp;
        if (round > 0 && others > 0 && cur.fits && cur.sec > FAR * others) return;
        if (b->rays.n > 1 && cur.fits && near_by(cur.sec, others)) return;
        if (!syn_ratio_lp(p->arena, cur.program, b->palette, b->costs, &cur.timeline, trust, NULL,
                          &lp))
            return;
        set_ray(p, ray);
        for (int i = 0; i < lp.n; i++)
            syn_palette_add(p->arena, b->palette, b->mesh, lp.v[i].group, lp.v[i].axis,
                            lp.v[i].share, HB_STR("lp"));
        // Classes that bind count most, but no class is free.
        for (int c = 0; c < b->mesh->n_classes; c++)
            weight[c] = 0.9 * lp.weight[c] + 0.1 / b->mesh->n_classes;
        if (!search_within_memory(p, quick, SYN_AUTO, weight, NEAR, &cur, &next)) return;
        if (next.fits && cur.fits && near_by(next.sec, cur.sec)) return;
        bool better = next.fits && (!cur.fits || next.sec < cur.sec);
        if (better)
            cur = next;
        else
            trust *= 0.4;
        forget(p, &cur, NULL);
    }
}

static void baseline(pool *p, syn_strategy s)
{
    double weight[CL_MAX_CLASSES];
    candidate c;
    even_weights(p, weight);
    set_ray(p, s == SYN_DP_EVEN ? SYN_RAY_EVEN : SYN_RAY_COMPUTE);
    if (search_within_memory(p, p->opt, s, weight, s == p->opt->strategy ? 0 : NEAR, NULL, &c) &&
        c.fits && (p->baseline[s] < 0 || c.sec < p->baseline[s]))
        p->baseline[s] = c.sec;
}

// Integer moves on the winner, undone if they no longer fit in memory.
static void polish(pool *p)
{
    syn_program *prog = p->best.program;
    syn_mesh before = *prog->mesh;
    before.cuts.p = hb_copy(p->arena, prog->mesh->cuts.p,
                            sizeof *prog->mesh->cuts.p * (size_t)prog->mesh->cuts.n);
    if (syn_polish(prog, p->m, p->best.sec, p->opt->interrupted) >= p->best.sec) return;
    syn_arena(prog);
    if (overflow_of(prog) <= 0) return;
    *prog->mesh = before;
    syn_refresh(prog, p->m);
    syn_arena(prog);
}

static hb_str explain_overflow(pool *p)
{
    hb_buf b = {.arena = p->arena};
    if (p->smallest.program) place(&p->smallest);
    const syn_program *s = p->smallest.program;
    if (!s) return p->why.n ? p->why : HB_STR("no plan exists under this strategy");
    hb_puts(&b, "no plan fits in memory:");
    for (int c = 0; c < s->mesh->n_classes; c++) {
        const cl_class *k = &p->m->cluster->cls[s->mesh->cluster_class[c]];
        if (s->peak_bytes[c] <= k->capacity) continue;
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
        hb_printf(&b, " (%.*s) needs %lld bytes of %lld;", HB_ARG(k->name),
                  (long long)s->peak_bytes[c], (long long)k->capacity);
    }
    b.p[b.n - 1] = '\0';
    b.n--;
    return hb_done(&b);
}

static void certify(pool *p, syn_result *r)
{
    const record *rec = record_from_plan(p->arena, r->program);
    if (!syn_check(p->arena, p->g, p->f, rec, &r->why)) r->status = SYN_FAILED_CHECK;
}

static board *board_of(pool *p, const syn_mesh *mesh)
{
    for (int i = 0; i < p->boards.n; i++)
        if (p->boards.p[i].mesh == mesh) return &p->boards.p[i];
    hb_bug("a board of the mesh", __FILE__, __LINE__);
}

// The additive optimum without memory at the cuts and class weights of the chosen plan, exactly: no
// plan on these cuts has a smaller additive cost. Its plan is judged too, and may be the better
// one.
static candidate bounds(pool *p, syn_result *r)
{
    candidate optimum = p->best;
    r->additive_bound_sec = r->lower_bound_sec = -1;
    if (!optimum.exact) {
        const syn_space *won = p->best.space;
        p->b = board_of(p, won->mesh);
        *p->b->palette = *syn_palette_copy(p->arena, won->palette);
        if (!search(p, p->opt, p->opt->strategy, won->weight, NULL, 0, &optimum) || !optimum.exact)
            return (candidate){0};
    }
    r->additive_sec = p->best.additive;
    r->additive_bound_sec = r->space_value = optimum.additive;
    r->space = optimum.space;
    return optimum;
}

static void add_board(pool *p, syn_mesh *mesh)
{
    if (!mesh) return;
    board b = {.mesh = mesh, .palette = syn_palette_new(p->arena, p->g, p->f)};
    b.costs = syn_costs_new(p->arena, p->m, mesh, p->g, p->f);
    HB_PUSH(p->arena, &p->boards, b);
}

// Every strategy that stands for a baseline, then alternation from every ray, on one mesh.
static void explore_board(pool *p)
{
    const syn_options *o = p->opt;
    bool flat = p->b->mesh->n_axes == 1;
    if (o->strategy != SYN_AUTO) {
        if (flat || o->strategy != SYN_HAP) baseline(p, o->strategy);
        return;
    }
    // The baselines are what others do: on all devices alike.
    for (int s = SYN_DP_EVEN; (flat || p->boards.n == 1) && s < SYN_HAP && !out_of_time(p); s++) {
        baseline(p, (syn_strategy)s);
        forget(p, NULL, NULL);
    }
    for (int ray = 0; ray < SYN_N_RAYS && !out_of_time(p); ray++) {
        alternate(p, (syn_ray)ray);
        forget(p, NULL, NULL);
    }
    // Last: it is near enough the rays' first plans to end them early.
    if (flat && !out_of_time(p)) baseline(p, SYN_HAP);
    forget(p, NULL, NULL);
}

static void explore(pool *p)
{
    for (int s = 0; s < SYN_N_STRATEGIES; s++)
        p->baseline[s] = -1;
    p->best = p->smallest = (candidate){0};
    for (int i = 0; i < p->boards.n; i++) {
        p->b = &p->boards.p[i];
        p->b->rays.n = 0;
        explore_board(p);
    }
}

syn_result syn_synthesize(hb_arena *a, const ir_graph *g, const ir_factors *f, const cost_model *m,
                          const syn_options *o)
{
    syn_result r = {.status = SYN_OK};
    double begin = now();
    pool p = {.arena = a,
              .g = g,
              .f = f,
              .m = m,
              .opt = o,
              .begin = begin,
              .deadline = o->time_limit_sec > 0 ? begin + o->time_limit_sec : 0};
    if (o->mesh != SYN_MESH_FLAT) add_board(&p, syn_mesh_machines(a, m->cluster, NULL));
    if (o->mesh != SYN_MESH_MACHINES) add_board(&p, syn_mesh_flat(a, m->cluster, NULL));
    if (p.boards.n == 0) {
        r.status = SYN_INFEASIBLE;
        r.why = HB_STR("a mesh of machines x devices wants two machines or more, with the same "
                       "number of devices, two or more, in each");
        return r;
    }
    explore(&p);
    candidate optimum = {0};
    if (p.best.program) {
        optimum = bounds(&p, &r);
        place(&p.best);
    }
    if (p.best.program && !p.best.fits) { // it looked roomy and was not
        p.careful = true;
        explore(&p);
        optimum = p.best.program ? bounds(&p, &r) : (candidate){0};
    }
    keep_all(&p, &optimum);
    if (!p.best.program) {
        r.status = SYN_INFEASIBLE;
        r.why = explain_overflow(&p);
        return r;
    }
    r.program = p.best.program;
    if (o->strategy == SYN_AUTO) // the others are what their names say
        polish(&p);
    syn_name_buffers(r.program);
    r.predicted_sec = syn_judge(r.program, m, &r.timeline);
    certify(&p, &r);
    r.plan_sec = now() - begin;
    r.n_solved = p.n_solved;
    r.n_states = p.n_states;
    if (o->baselines && o->strategy != SYN_AUTO)
        for (int s = SYN_DP_EVEN; s < SYN_N_STRATEGIES; s++)
            for (int i = 0; s != (int)o->strategy && i < p.boards.n; i++) {
                p.b = &p.boards.p[i];
                if (s != SYN_HAP || p.b->mesh->n_axes == 1) baseline(&p, (syn_strategy)s);
            }
    for (int i = 0; i < p.arenas.n; i++)
        hb_arena_free(p.arenas.p[i]);
    memcpy(r.baseline_sec, p.baseline, sizeof p.baseline);
    return r;
}
