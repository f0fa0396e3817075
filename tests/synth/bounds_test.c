// Bounds against programs: what a choice is said to hold is in every arena; no plan that fits has a
// smaller additive cost than the bound under memory; no plan is simulated faster than the lower
// bound.
//
// Random graphs and unequal clusters of one axis (2 to 4 ranks) and two (2 x 2), spaces small
// enough to lower every choice, capacities between what the thriftiest and the cheapest plan need.

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "ir/variant.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/bucket.h"
#include "synth/passes/roll.h"
#include "synth/passes/schedule.h"
#include "synth/passes/workspace.h"
#include "synth/plan/mesh.h"
#include "synth/price/instr_cost.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/bounds.h"
#include "synth/search/interpolate.h"
#include "synth/search/live_bound.h"
#include "synth/search/lower_bound.h"
#include "synth/search/synth.h"
#include "synth/space/lower.h"
#include "synth/space/space_build.h"
#include "synth/space/space_solve.h"
#include "tests/support/cases.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

typedef struct setting {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cl_cluster cluster;
    cost_model m;
    syn_mesh *mesh;
    syn_costs *costs;
    syn_partitions *partitions;
    syn_options opt;
    double weight[CL_MAX_CLASSES];
} setting;

static void random_cluster(setting *s, random_source *r, bool two)
{
    int n = two ? 4 : 2 + random_below(r, 3);
    int kinds = 1 + random_below(r, n), machines = two ? 2 : 1;
    cl_cluster *c = &s->cluster;
    c->n_ranks = n;
    c->n_machines = machines;
    c->n_classes = kinds;
    c->cls = HB_ARRAY(s->a, cl_class, kinds);
    c->machine = HB_ARRAY(s->a, cl_machine, machines);
    c->class_of = HB_ARRAY(s->a, int, n);
    c->machine_of = HB_ARRAY(s->a, int, n);
    c->network_bandwidth = 1e5 * (1 + random_below(r, 10));
    c->network_latency = 1e-6 * random_below(r, 50);
    for (int i = 0; i < kinds; i++) {
        c->cls[i] =
            (cl_class){.name = HB_STR("c"), .kind = CL_CPU, .memory = 1 << 30, .capacity = 1 << 30};
        c->cls[i].f32 = 1e6 * (1 + random_below(r, 8));
        c->cls[i].memory_bandwidth = 1e6 * (1 + random_below(r, 8));
        c->cls[i].link_bandwidth = 1e5 * (1 + random_below(r, 40));
        c->cls[i].link_latency = 1e-6 * random_below(r, 50);
    }
    for (int i = 0; i < n; i++) {
        c->class_of[i] = i % kinds;
        c->cls[i % kinds].n_ranks++;
        c->machine_of[i] = two ? i / 2 : 0;
    }
    for (int i = 0; i < machines; i++)
        c->machine[i] = (cl_machine){.n_ranks = n / machines, .first_rank = i * 2};
    s->m = (cost_model){.cluster = c, .math = COST_F32};
}

static void make_plans_of(setting *s, uint64_t seed, bool two, bool peers)
{
    random_source r = {seed * 91 + 3};
    s->f = ir_factorize(s->a, s->g);
    random_cluster(s, &r, two);
    for (int i = 0; i < s->cluster.n_machines; i++)
        s->cluster.machine[i].peer = peers;
    s->mesh =
        two ? syn_mesh_machines(s->a, &s->cluster, NULL) : syn_mesh_flat(s->a, &s->cluster, NULL);
    s->costs = syn_costs_new(s->a, &s->m, s->mesh, s->g, s->f);
    s->partitions = syn_partitions_new(s->a, s->g, s->f);
    double w[4];
    for (int i = 0; i < s->mesh->n_ranks; i++)
        w[i] = 1 + random_below(&r, 5);
    syn_partitions_add_ranks(s->a, s->partitions, s->mesh, -1, w, HB_STR("cut"));
    s->opt = syn_default_options();
    s->opt.small_param = random_below(&r, 3) ? 0 : 16;
    s->opt.copy_bytes = random_below(&r, 3) ? 0 : 64;
    for (int c = 0; c < s->mesh->n_classes; c++)
        s->weight[c] = 1.0 / s->mesh->n_classes;
}

static bool make(setting *s, uint64_t seed, int n_ops, bool train, int max_nodes)
{
    *s = (setting){.a = hb_arena_new()};
    s->g = random_graph(s->a, seed, (random_graph_options){.n_ops = n_ops, .train = train});
    if (s->g->nodes.n > max_nodes) {
        hb_arena_free(s->a);
        return false;
    }
    make_plans_of(s, seed, seed % 3 == 0, seed % 2 == 0);
    return true;
}

static syn_space *space_of(setting *s)
{
    hb_str why = {0};
    syn_space *sp =
        syn_space_build(s->a, s->costs, s->partitions, SYN_AUTO, &s->opt, s->weight, 1, NULL, &why);
    ck_assert_ptr_nonnull(sp);
    return sp;
}

static double combinations(const ms_problem *p)
{
    double n = 1;
    for (int v = 0; v < p->n_vars; v++)
        n *= p->domain[v];
    return n;
}

static bool next_assignment(const ms_problem *p, int *x)
{
    int v = 0;
    while (v < p->n_vars && ++x[v] == p->domain[v])
        x[v++] = 0;
    return v < p->n_vars;
}

// Without the copies that less than two readers take: the same program, or a cheaper one.
static void drop_idle_copies(const syn_space *sp, syn_choice *c)
{
    for (int t = 0; t < sp->g->tensors.n; t++) {
        syn_keep *k = &c->keep[t];
        const syn_states *st = sp->states[t];
        int readers = 0;
        if (sp->tensor_var[t] < 0 || k->copy < 0) continue;
        for (int u = sp->first_use[t]; u < sp->first_use[t + 1]; u++) {
            int node = sp->uses[u][0], in = sp->uses[u][1];
            int want = sp->shardings[node]->sharding[c->sharding[node]].in[in];
            readers += !syn_writes_home(sp->g, node, in) &&
                       st->cost[k->copy * st->n + want] < st->cost[k->state * st->n + want];
        }
        if (readers < 2) k->copy = -1;
    }
}

typedef struct plan {
    double additive, simulated;
    int64_t peak[CL_MAX_CLASSES], beside[CL_MAX_CLASSES];
} plan;

static plan plan_of(setting *s, syn_space *sp, const syn_choice *c, int schedule)
{
    plan out;
    cost_timeline t;
    syn_program *p = syn_lower(s->a, sp, c);
    syn_price_moves(p, s->costs);
    out.additive = syn_additive(sp, p);
    if (schedule > 0) syn_sink_waits(p);
    if (schedule > 1) syn_bucket(p, s->costs, NULL, SYN_BUCKETS);
    if (schedule > 2) (void)syn_raise_starts(p, false);
    if (schedule > 3) syn_limit_flight(p);
    out.simulated = syn_simulate(p, &t, false);
    syn_roll(p);
    syn_arena(p);
    syn_workspace(p);
    for (int k = 0; k < p->mesh->n_classes; k++) {
        out.peak[k] = p->peak_bytes[k];
        out.beside[k] = syn_workspace_bytes(p, k);
    }
    return out;
}

START_TEST(held_is_in_the_arena)
{
    int done = 0;
    double most = 0;
    for (uint64_t seed = 1; seed < 400 && done < test_cases(8, 60, 60); seed++) {
        setting s;
        random_source r = {seed};
        if (!make(&s, seed, 1 + (int)(seed % 4), seed % 4 != 1, 40)) continue;
        for (int c = 0; c < s.cluster.n_classes; c++) // limits of flight hold from a share of it on
            s.cluster.cls[c].capacity = 4096;
        syn_space *sp = space_of(&s);
        int *x = HB_ARRAY(s.a, int, sp->problem.n_vars), tried = 0;
        for (int k = 0; k < 4000 && tried < 12; k++) {
            for (int v = 0; v < sp->problem.n_vars; v++)
                x[v] = k == 0 ? 0 : random_below(&r, sp->problem.domain[v]);
            if (k == 0) {
                syn_choice best;
                ck_assert_int_eq(syn_space_solve(s.a, sp, &best), MS_OPTIMAL);
            }
            if (ms_value(&sp->problem, x) >= HUGE_VAL) continue;
            syn_choice c;
            syn_choice_decode(s.a, sp, x, &c);
            drop_idle_copies(sp, &c);
            plan q = plan_of(&s, sp, &c, tried % 5);
            tried++;
            const double *held =
                syn_live_by(syn_live_bound_new(s.a, sp), s.a, syn_assignment_of(s.a, sp, &c));
            for (int at = 0; at < s.g->nodes.n; at++) {
                for (int k2 = 0; k2 < s.mesh->n_classes; k2++) {
                    double bytes = held[k2 * (s.g->nodes.n + 1) + at];
                    ck_assert_msg(bytes <= (double)q.peak[k2],
                                  "seed %d: %.0f bytes held at node %d, arena %lld", (int)seed,
                                  bytes, at, (long long)q.peak[k2]);
                    most = fmax(most, bytes / (double)q.peak[k2]);
                }
            }
        }
        done += tried > 0;
        hb_arena_free(s.a);
    }
    ck_assert_int_ge(done, test_cases(8, 40, 40));
    ck_assert_msg(most > 0.5, "most of an arena that was accounted for: %g", most);
}
END_TEST

// Chains of odd widths, on CPUs and on GPUs, which hold padded copies beside the arena; in two
// micro-batches, and with blocks computed again, so that parameters have three readers. rows 0:
// many.
static bool make_variant(setting *s, uint64_t seed, int rows)
{
    random_source r = {seed * 5 + 1};
    hb_buf b = {0};
    *s = (setting){.a = hb_arena_new()};
    b.arena = s->a;
    int layers = 2 + random_below(&r, 2), many = 4 * (4000 + random_below(&r, 2000));
    if (rows == 0) rows = many;
    int width = 401 + random_below(&r, 300), words = 801 + random_below(&r, 300);
    hb_printf(&b, "x0: input f32 %d %d\ny: input i64 %d\n", rows, width, rows);
    for (int i = 0; i < layers; i++)
        hb_printf(&b, "w%d: param f32 %d %d\n", i, width, width);
    hb_printf(&b, "head: param f32 %d %d\n", width, words);
    for (int i = 0; i < layers; i++)
        hb_printf(&b, "f%d = linear(x%d, w%d)\nx%d = gelu(f%d)\n", i, i, i, i + 1, i);
    hb_printf(&b,
              "logits = linear(x%d, head)\nce = ce_sum(logits, y)\nn = count(y)\n"
              "total = div(ce, n)\nloss total\n",
              layers);
    ir_graph *step = graph_text(s->a, hb_done(&b).p);
    step->batch = rows;
    bool again[4] = {false};
    if (ir_blocks(step) != layers) return false;
    for (int i = 0; i < layers; i++)
        again[i] = random_below(&r, 4) > 0;
    s->g = ir_variant(s->a, step, 1 + (int64_t)(seed / 2 % 2), again, hb_diag_new(s->a));
    if (!s->g) return false;
    make_plans_of(s, seed, seed % 3 == 0, seed % 2 == 0);
    for (int i = 0; i < s->cluster.n_classes && seed % 4 > 1; i++)
        s->cluster.cls[i].kind = CL_GPU;
    return true;
}

START_TEST(held_in_variants)
{
    const uint64_t first = 11; // holds padded copies beside the arena
    int padded = 0, n = test_cases(4, 24, 24);
    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++) {
        setting s;
        random_source r = {seed};
        if (!make_variant(&s, seed, 0)) continue;
        syn_space *sp = space_of(&s);
        syn_choice best;
        ck_assert_int_eq(syn_space_solve(s.a, sp, &best), MS_OPTIMAL);
        const int *start = syn_assignment_of(s.a, sp, &best);
        int *x = HB_ARRAY(s.a, int, sp->problem.n_vars), tried = 0;
        for (int k = 0; k < 600 && tried < 12; k++) { // some variables otherwise, more and more
            for (int v = 0; v < sp->problem.n_vars; v++) {
                bool other = random_below(&r, 12) < k % 13;
                x[v] = other ? random_below(&r, sp->problem.domain[v]) : start[v];
            }
            if (ms_value(&sp->problem, x) >= HUGE_VAL) continue;
            syn_choice c;
            syn_choice_decode(s.a, sp, x, &c);
            drop_idle_copies(sp, &c);
            plan q = plan_of(&s, sp, &c, tried++ % 5);
            const double *held =
                syn_live_by(syn_live_bound_new(s.a, sp), s.a, syn_assignment_of(s.a, sp, &c));
            for (int at = 0; at < s.g->nodes.n; at++)
                for (int k2 = 0; k2 < s.mesh->n_classes; k2++) {
                    double bytes = held[k2 * (s.g->nodes.n + 1) + at];
                    double all = (double)(q.peak[k2] + q.beside[k2]);
                    ck_assert_msg(bytes <= all, "seed %d: %.0f bytes held at %s, %.0f taken",
                                  (int)seed, bytes, s.g->nodes.p[at].name.p, all);
                    padded += bytes > (double)q.peak[k2];
                }
        }
        ck_assert_int_gt(tried, 0);
        hb_arena_free(s.a);
    }
    ck_assert_int_gt(padded, 0); // more than an arena
}
END_TEST

// Data parallel, parameters kept cut beside a whole copy that forward pass, second forward pass and
// backward pass read: nearly all of the memory is surely held.
START_TEST(copies_are_held)
{
    setting s;
    int copies = 0;
    ck_assert(make_variant(&s, (uint64_t)_i, 64));
    for (int c = 0; c < s.cluster.n_classes; c++)
        s.cluster.cls[c].kind = CL_CPU;
    s.opt.small_param = 1000;
    syn_space *sp = space_of(&s);
    syn_choice best;
    ck_assert_int_eq(syn_space_solve(s.a, sp, &best), MS_OPTIMAL);
    int *x = syn_assignment_of(s.a, sp, &best);
    for (int t = 0; t < s.g->tensors.n; t++) {
        const syn_keeps *k = sp->keeps[t];
        for (int i = 0; s.g->tensors.p[t].kind == IR_PARAM && k && i < k->n; i++)
            if (k->keep[i].copy == 0) {
                x[sp->tensor_var[t]] = i;
                break;
            }
    }
    syn_choice c;
    syn_choice_decode(s.a, sp, x, &c);
    drop_idle_copies(sp, &c);
    for (int t = 0; t < s.g->tensors.n; t++)
        copies += s.g->tensors.p[t].kind == IR_PARAM && c.keep[t].copy >= 0;
    ck_assert_int_gt(copies, 0);
    plan q = plan_of(&s, sp, &c, 0);
    const double *held =
        syn_live_by(syn_live_bound_new(s.a, sp), s.a, syn_assignment_of(s.a, sp, &c));
    double most = 0;
    for (int at = 0; at < s.g->nodes.n; at++)
        for (int k = 0; k < s.mesh->n_classes; k++)
            most = fmax(most, held[k * (s.g->nodes.n + 1) + at] / (double)q.peak[k]);
    ck_assert_double_gt(most, 0.85);
    hb_arena_free(s.a);
}
END_TEST

typedef struct judging {
    setting *s;
    syn_space *sp;
    double best; // additive cost of plans that fit
} judging;

// Of the fullest memory.
static double share_of(const setting *s, const plan *p)
{
    double most = 0;
    for (int c = 0; c < s->mesh->n_classes; c++)
        most = fmax(most, (double)p->peak[c] /
                              (double)s->cluster.cls[s->mesh->cluster_class[c]].capacity);
    return most;
}

static bool fits(const setting *s, const plan *p)
{
    return share_of(s, p) <= 1;
}

static double simulate(void *ctx, const syn_choice *c, double *share)
{
    judging *j = ctx;
    plan p = plan_of(j->s, j->sp, c, 4);
    *share = share_of(j->s, &p);
    if (fits(j->s, &p)) j->best = fmin(j->best, p.additive);
    return fits(j->s, &p) ? p.additive : HUGE_VAL;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

// The parts of a gap add up to it, none is negative.
static void check_parts(const syn_bound_levels *levels, double bound, double best)
{
    double part[SYN_GAP_PARTS], sum = 0;
    if (!isfinite(best) || best < bound) return;
    syn_gap_parts(levels, bound, best, part);
    for (int i = 0; i < SYN_GAP_PARTS; i++) {
        ck_assert_double_ge(part[i], 0);
        sum += part[i];
    }
    ck_assert_double_le(fabs(sum - (best - bound)), 1e-9 * best);
}

// Prices at random nodes and classes prove no more than what is said to be the most: of all choices
// one pays no more than that.
static void no_prices_prove_more(setting *s, syn_space *sp, const syn_bound_levels *levels,
                                 uint64_t seed)
{
    enum { TRIES = 24 };
    int n = s->g->nodes.n, vars = sp->problem.n_vars, *x = HB_ARRAY(s->a, int, vars);
    double price[TRIES][CL_MAX_CLASSES] = {{0}}, least[TRIES];
    int node[TRIES][CL_MAX_CLASSES];
    random_source r = {seed + 17};
    const syn_live_bound *h = syn_live_bound_new(s->a, sp);
    syn_choice first;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &first), MS_OPTIMAL);
    for (int i = 0; i < TRIES; i++) {
        least[i] = HUGE_VAL;
        for (int c = 0; c < s->mesh->n_classes; c++) {
            double cap = (double)s->cluster.cls[s->mesh->cluster_class[c]].capacity;
            node[i][c] = random_below(&r, n);
            price[i][c] = first.additive / fmax(cap, 1) * pow(10, random_below(&r, 5) - 2) *
                          (cap > 0 && random_below(&r, 2));
        }
    }
    do {
        double cost = ms_value(&sp->problem, x);
        if (cost >= HUGE_VAL) continue;
        hb_arena *own = hb_arena_new();
        const double *held = syn_live_by(h, own, x);
        for (int i = 0; i < TRIES; i++) {
            double sum = cost;
            for (int c = 0; c < s->mesh->n_classes; c++)
                sum += price[i][c] * (held[c * (n + 1) + node[i][c]] -
                                      (double)s->cluster.cls[s->mesh->cluster_class[c]].capacity);
            least[i] = fmin(least[i], sum);
        }
        hb_arena_free(own);
    } while (next_assignment(&sp->problem, x));
    for (int i = 0; i < TRIES; i++)
        ck_assert_msg(least[i] <= levels->priced * (1 + 1e-6), "prices prove %.9g, not %.9g",
                      least[i], levels->priced);
}

// Capacities at which the cheapest plan does not fit and another does.
typedef struct tight {
    int n, raised; // raised: the bound, by memory
    int found;     // the search for the bound came by the cheapest plan that fits
    int near;      // or by one within 2 % of it
} tight;

// Every choice is lowered twice: without limits, for what plans need, and under a capacity.
static int bound_of(setting *s, tight *t)
{
    syn_space *sp = space_of(s);
    if (combinations(&sp->problem) > 30000) return 0;
    int *x = HB_ARRAY(s->a, int, sp->problem.n_vars);
    HB_VEC(plan) plans = {0};
    int64_t least[CL_MAX_CLASSES], in_all = 0;
    syn_choice lean = {0}; // takes least in all
    plan leanest = {0};
    do {
        if (ms_value(&sp->problem, x) >= HUGE_VAL) continue;
        syn_choice c;
        syn_choice_decode(s->a, sp, x, &c);
        plan p = plan_of(s, sp, &c, 4);
        for (int k = 0; k < s->mesh->n_classes; k++)
            least[k] = plans.n == 0 || p.peak[k] < least[k] ? p.peak[k] : least[k];
        int64_t sum = 0;
        for (int k = 0; k < s->mesh->n_classes; k++)
            sum += p.peak[k];
        if (plans.n == 0 || sum < in_all) {
            in_all = sum;
            leanest = p;
            lean = c;
            lean.additive = p.additive;
        }
        HB_PUSH(s->a, &plans, p);
    } while (next_assignment(&sp->problem, x));
    syn_choice first;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &first), MS_OPTIMAL);
    plan cheapest = plan_of(s, sp, &first, 4);
    double fast = syn_lower_bound(&s->m, s->g, s->f);
    bool *keep = HB_ARRAY(s->a, bool, s->cluster.n_ranks + 1);
    for (int r = 0; r < s->mesh->n_ranks; r++)
        keep[s->mesh->cluster_rank[r]] = true;
    // Of its devices alone: no more than any plan there.
    double here = syn_least_seconds(syn_least_times_of(s->a, &s->m, s->g, s->f), keep);
    for (int i = 0; i < plans.n; i++)
        ck_assert_msg(plans.p[i].simulated >= fmax(fast, here) * (1 - 1e-9),
                      "simulated %g below %g or %g", plans.p[i].simulated, fast, here);
    for (int step = 0; step < 3; step++) {
        for (int k = 0; k < s->mesh->n_classes;
             k++) // classes of the cluster: the last one's counts
            s->cluster.cls[s->mesh->cluster_class[k]].capacity =
                least[k] + (cheapest.peak[k] - least[k]) * step / 3;
        double best = HUGE_VAL;
        for (int i = 0; i < plans.n; i++)
            if (fits(s, &plans.p[i])) best = fmin(best, plans.p[i].additive);
        bool known = fits(s, &leanest);
        judging j = {s, sp, known ? lean.additive : HUGE_VAL};
        syn_bound_levels levels;
        double bound = syn_additive_bound(
            sp,
            &(syn_bound_start){&first, share_of(s, &cheapest), first.additive, j.best,
                               known ? &lean : NULL, share_of(s, &leanest), &levels, NULL},
            &(syn_bound_calls){.ctx = &j, .stop = never, .simulate = simulate});
        ck_assert(levels.priced >= bound);
        check_parts(&levels, bound, j.best);
        if (plans.n <= 3000) no_prices_prove_more(s, sp, &levels, (uint64_t)plans.n);
        ck_assert_msg(bound <= best * (1 + 1e-9) + 1e-15, "bound %.12g above a plan of %.12g",
                      bound, best);
        ck_assert(bound >= first.additive * (1 - 1e-9));
        if (fits(s, &cheapest) || !isfinite(best)) continue;
        t->n++;
        t->raised += bound > first.additive * (1 + 1e-3);
        t->found += j.best <= best * (1 + 1e-9);
        t->near += j.best <= best * 1.02;
    }
    return 1;
}

START_TEST(no_plan_that_fits_is_below)
{
    int done = 0, n = test_cases(4, 40, 40);
    for (uint64_t seed = 1; seed < 6000 && done < n; seed++) {
        setting s;
        tight t = {0};
        if (!make(&s, seed, 1 + (int)(seed % 3), seed % 2 == 0, 9)) continue;
        done += bound_of(&s, &t);
        hb_arena_free(s.a);
    }
    ck_assert_int_ge(done, 3 * n / 4);
}
END_TEST

// Tensors of many times the arena's grain, so that memory binds.
START_TEST(memory_raises_the_bound)
{
    static const char *const texts[] = {
        "x: input f32 32 32\n w1: param f32 64 32\n w2: param f32 32 64\n a = linear(x, w1) trans=1\n"
        "b = linear(a, w2) trans=1\n",
        "x: input f32 48 16\n w: param f32 32 16\n a = linear(x, w) trans=1\n b = relu(a)\n"
        "c = add(a, b)\n",
        "i: input i64 64\n e: param f32 96 24\n w: param f32 32 24\n a = embedding(e, i)\n"
        "b = linear(a, w) trans=1\n"};
    int done = 0;
    tight t = {0};
    for (uint64_t seed = 1; seed < 60; seed++) {
        setting s = {.a = hb_arena_new()};
        s.g = graph_text(s.a, texts[seed % 3]);
        make_plans_of(&s, seed, seed % 4 == 0, seed % 3 == 0);
        done += bound_of(&s, &t);
        hb_arena_free(s.a);
    }
    printf("%d tight memories: %d bounds raised, %d cheapest plans found, %d within 2 %%\n", t.n,
           t.raised, t.found, t.near);
    ck_assert_int_ge(done, 20);
    ck_assert_int_ge(t.raised * 4, t.n * 3);
    ck_assert_int_ge(t.near * 10, t.n * 9);
}
END_TEST

// --- some layers as in one plan, some as in another ---

enum { LAYERS = 9 };

static syn_choice choice_at(setting *s, syn_space *sp, double price)
{
    hb_str why = {0};
    syn_choice c;
    double each[CL_MAX_CLASSES];
    for (int k = 0; k < CL_MAX_CLASSES; k++)
        each[k] = price;
    syn_space *paid =
        syn_space_build(s->a, s->costs, s->partitions, SYN_AUTO, &s->opt, s->weight, 1, each, &why);
    ck_assert_int_eq(syn_space_solve(s->a, paid, &c), MS_OPTIMAL);
    c.additive = ms_value(&sp->problem, syn_assignment_of(s->a, sp, &c));
    return c;
}

// Every layer as in the one choice or as in the other: all 2^LAYERS interpolated plans, of those
// that fit the cheapest.
static double best_interpolation(setting *s, syn_space *sp, const int *x, const int *y)
{
    int n = sp->problem.n_vars, *z = HB_ARRAY(s->a, int, n), *depth = syn_depths(s->a, sp);
    double best = HUGE_VAL;
    for (unsigned mask = 0; mask < 1u << LAYERS; mask++) {
        for (int v = 0; v < n; v++) {
            ck_assert(depth[v] >= 1 && depth[v] <= LAYERS);
            z[v] = mask >> (depth[v] - 1) & 1 ? x[v] : y[v];
        }
        if (ms_value(&sp->problem, z) >= best) continue;
        syn_choice c;
        syn_choice_decode(s->a, sp, z, &c);
        plan p = plan_of(s, sp, &c, 4);
        if (fits(s, &p)) best = fmin(best, p.additive);
    }
    return best;
}

static ir_graph *chain(hb_arena *a, random_source *r, bool equal)
{
    hb_buf text = {.arena = a};
    int width[LAYERS + 1];
    for (int i = 0; i <= LAYERS; i++)
        width[i] = equal ? 64 : 16 << random_below(r, 4);
    hb_printf(&text, "h0: input f32 64 %d\n", width[0]);
    for (int i = 1; i <= LAYERS; i++)
        hb_printf(&text, "w%d: param f32 %d %d\n", i, width[i], width[i - 1]);
    for (int i = 1; i <= LAYERS; i++)
        hb_printf(&text, "h%d = linear(h%d, w%d) trans=1\n", i, i - 1, i);
    return graph_text(a, hb_done(&text).p);
}

// Of plans with less memory than the cheapest takes: how many cost less than the leanest, no more
// than the best mix of these two by layers, and within 2 % of it (nearer, nothing is looked for).
typedef struct mixed {
    int n, better, same, near;
} mixed;

static void mix_layers(setting *s, mixed *sum)
{
    syn_space *sp = space_of(s);
    syn_choice fast = choice_at(s, sp, 0), lean = choice_at(s, sp, 1);
    plan most = plan_of(s, sp, &fast, 4), least = plan_of(s, sp, &lean, 4);
    for (int step = 1; step < 6; step++) {
        for (int k = 0; k < s->mesh->n_classes; k++)
            s->cluster.cls[s->mesh->cluster_class[k]].capacity =
                least.peak[k] + (most.peak[k] - least.peak[k]) * step / 6;
        if (share_of(s, &most) <= 1 || share_of(s, &least) > 1) continue;
        judging j = {s, sp, lean.additive};
        double bound = syn_additive_bound(
            sp,
            &(syn_bound_start){&fast, share_of(s, &most), fast.additive, lean.additive, &lean,
                               share_of(s, &least), NULL, NULL},
            &(syn_bound_calls){.ctx = &j, .stop = never, .simulate = simulate});
        double mix = best_interpolation(s, sp, syn_assignment_of(s->a, sp, &fast),
                                        syn_assignment_of(s->a, sp, &lean));
        ck_assert_double_le(bound, mix * (1 + 1e-9));
        sum->n++;
        sum->same += j.best <= mix * (1 + 1e-9);
        sum->near += j.best <= mix * 1.02;
        sum->better += j.best < lean.additive * 0.98;
    }
}

// Under one price all equal layers are kept whole or all are cut, and of unlike ones those that
// take most for their bytes. The best plan has some of both.
START_TEST(layers_are_mixed)
{
    mixed sum = {0};
    for (int seed = 0; seed < test_cases(3, 12, 12); seed++) {
        setting s = {.a = hb_arena_new()};
        random_source r = {(uint64_t)seed};
        s.g = chain(s.a, &r, _i == 0);
        make_plans_of(&s, (uint64_t)seed, false, false);
        s.opt.small_param = 0;
        if (_i > 0) s.cluster.cls[0].link_latency = 1e-4; // sends are what plans take
        mix_layers(&s, &sum);
        hb_arena_free(s.a);
    }
    printf("%s layers: %d of %d no dearer than the best mix, %d within 2 %%, %d better than the "
           "leanest\n",
           _i == 0 ? "equal" : "unlike", sum.same, sum.n, sum.near, sum.better);
    ck_assert_int_ge(sum.better * 3, sum.n);
    ck_assert_int_ge(sum.near * 20, sum.n * 19);
    ck_assert_int_ge(sum.same * 5, sum.n * 4);
}
END_TEST

static void sample(const char *graph, const char *cluster, int64_t batch)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, graph, &(ir_options){.batch = batch}, d);
    cl_cluster *c = cl_read(a, cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(g && c);
    cost_model m = {.cluster = c};
    ir_factors *f = ir_factorize(a, g);
    syn_options o = syn_default_options();
    syn_result r = syn_synthesize(a, g, f, &m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    ck_assert_double_gt(r.lower_bound_sec, 0);
    ck_assert_double_le(r.lower_bound_sec, r.predicted_sec);
    for (int s = 0; s < syn_n_strategies; s++)
        if (r.baseline_sec[s] >= 0) ck_assert_double_le(r.lower_bound_sec, r.baseline_sec[s]);
    ck_assert_double_gt(r.additive_bound_sec, 0);
    ck_assert_double_le(r.additive_bound_sec, r.additive_sec);
    // A tenth more of one thing: every class computes, every class has memory, every axis
    // transfers.
    const double tenth = 1 - 1 / 1.1;
    const syn_mesh *mesh = r.program->mesh;
    int n_kind[3] = {0};
    for (int i = 0; i < r.n_what_if; i++) {
        const struct syn_what_if *w = &r.what_if[i];
        n_kind[w->what]++;
        ck_assert_double_ge(w->gain_sec, -1e-9 * r.predicted_sec);
        if (w->what != SYN_MEMORY)
            ck_assert_double_le(w->gain_sec, tenth * r.predicted_sec * (1 + 1e-9));
        if (w->what == SYN_COMPUTE && mesh->n_ranks == 1) // there is nothing else
            ck_assert_double_eq_tol(w->gain_sec, tenth * r.predicted_sec, 1e-9 * r.predicted_sec);
    }
    ck_assert_int_ge(n_kind[SYN_COMPUTE], 1);
    ck_assert_int_eq(n_kind[SYN_COMPUTE], n_kind[SYN_MEMORY]);
    ck_assert_int_eq(n_kind[SYN_LINK], mesh->n_ranks > 1 ? mesh->n_axes : 0);
    // Equal devices that share everything without communication would be this fast.
    if (c->n_ranks == 1) ck_assert_double_ge(r.lower_bound_sec, 0.999 * r.predicted_sec);
    hb_arena_free(a);
}

START_TEST(samples)
{
    static const char *const clusters[] = {"laptop1",   "laptop",        "laptop2x2",
                                           "h200x4",    "a100x2-v100x2", "h200x4-mixed",
                                           "hap-paper", "v100x2-p100x6"};
    static const char *const graphs[] = {"mlp", "gpt2-tiny", "bert-moe-tiny"};
    hb_arena *a = hb_arena_new();
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        sample(hb_fmt(a, "examples/%s/graph.json", graphs[i]).p,
               hb_fmt(a, "clusters/%s.yaml", clusters[_i]).p, 0);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bounds");
    TCase *c = tcase_create("bounds");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, held_is_in_the_arena);
    tcase_add_test(c, held_in_variants);
    tcase_add_loop_test(c, copies_are_held, 0, 4);
    tcase_add_test(c, no_plan_that_fits_is_below);
    tcase_add_test(c, memory_raises_the_bound);
    tcase_add_loop_test(c, layers_are_mixed, 0, 2);
    tcase_add_loop_test(c, samples, 0, test_cases(2, 8, 8));
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
