// The search against oracles that know no elimination.
//
//  every_choice  every assignment of a small space is decoded, lowered to a program and priced
//  instruction by
//                instruction; the price must equal the space's value of that assignment, and the
//                smallest must be what the search returns
//  forms_only    larger graphs: depth-first over the forms of all nodes with pruning; tensor states
//  are
//                independent once the forms are fixed, so each tensor takes its own minimum
//
// Random graphs (forward only, and whole training steps with gradients and optimizer), random
// unequal clusters of 2 to 4 ranks, palettes of up to 3 cuts, both limits of the space also at 0.

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/random_graph.h"
#include "synth/mesh.h"
#include "synth/space.h"

typedef struct setting {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cl_cluster cluster;
    cost_model m;
    syn_mesh *mesh;
    syn_costs *costs;
    syn_palette *palette;
    syn_options opt;
    double weight[CL_MAX_CLASSES];
} setting;

static void random_cluster(setting *s, random_source *r)
{
    static cl_class cls[4];
    static cl_machine machine;
    static int class_of[4], machine_of[4];
    int n = 2 + random_below(r, 3);
    for (int i = 0; i < n; i++) {
        cls[i] = (cl_class){.name = HB_STR("c"),
                            .kind = CL_CPU,
                            .memory = 1 << 30,
                            .capacity = 1 << 30,
                            .n_ranks = 1};
        cls[i].f32 = 1e6 * (1 + random_below(r, 8));
        cls[i].memory_bandwidth = 1e6 * (1 + random_below(r, 8));
        cls[i].link_bandwidth = 1e5 * (1 + random_below(r, 40));
        cls[i].link_latency = 1e-6 * random_below(r, 50);
        class_of[i] = i;
        machine_of[i] = 0;
    }
    machine = (cl_machine){
        .n_ranks = n, .link_bandwidth = cls[0].link_bandwidth, .link_latency = cls[0].link_latency};
    s->cluster = (cl_cluster){.n_ranks = n,
                              .n_machines = 1,
                              .n_classes = n,
                              .class_of = class_of,
                              .machine_of = machine_of,
                              .machine = &machine,
                              .cls = cls};
    s->m = (cost_model){.cluster = &s->cluster, .math = COST_F32};
}

static bool make(setting *s, uint64_t seed, int n_ops, bool train, int max_nodes)
{
    random_source r = {seed * 77 + 5};
    *s = (setting){.a = hb_arena_new()};
    s->g = random_graph(s->a, seed, (random_graph_options){.n_ops = n_ops, .train = train});
    if (s->g->nodes.n > max_nodes) {
        hb_arena_free(s->a);
        return false;
    }
    s->f = ir_factorize(s->a, s->g);
    random_cluster(s, &r);
    s->mesh = syn_mesh_flat(s->a, &s->cluster, NULL);
    s->costs = syn_costs_new(s->a, &s->m, s->mesh, s->g, s->f);
    s->palette = syn_palette_new(s->a, s->g, s->f);
    int cuts = 1 + random_below(&r, 3);
    for (int c = 0; c < cuts; c++) {
        double w[4];
        for (int i = 0; i < s->mesh->n_ranks; i++)
            w[i] = c == 0 ? 1 : random_below(&r, 5);
        w[0] += 1;
        syn_palette_add_ranks(s->a, s->palette, s->mesh, -1, w, hb_fmt(s->a, "c%d", c));
    }
    s->opt = syn_default_options();
    s->opt.small_param = random_below(&r, 2) ? 0 : 16;
    s->opt.copy_bytes = random_below(&r, 2) ? 0 : 64;
    double sum = 0;
    for (int c = 0; c < s->mesh->n_classes; c++)
        sum += s->weight[c] = 1 + random_below(&r, 4);
    for (int c = 0; c < s->mesh->n_classes; c++)
        s->weight[c] /= sum;
    return true;
}

static syn_space *space_of(setting *s)
{
    hb_str why = {0};
    syn_space *sp =
        syn_space_build(s->a, s->costs, s->palette, SYN_AUTO, &s->opt, s->weight, 1, NULL, &why);
    ck_assert_ptr_nonnull(sp);
    return sp;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-15;
}

static double combinations(const ms_problem *p)
{
    double n = 1;
    for (int v = 0; v < p->n_vars; v++)
        n *= p->domain[v];
    return n;
}

static double price(setting *s, const syn_space *sp, const int *x)
{
    syn_choice c;
    syn_choice_decode(s->a, sp, x, &c);
    syn_program *p = syn_lower(s->a, sp, &c);
    syn_price(p, s->costs);
    return syn_additive(sp, p);
}

static bool has_copy(const syn_space *sp, const int *x)
{
    for (int t = 0; t < sp->g->tensors.n; t++)
        if (sp->tensor_var[t] >= 0 && sp->keeps[t]->keep[x[sp->tensor_var[t]]].copy >= 0)
            return true;
    return false;
}

static void every_choice_of(setting *s, const syn_space *sp)
{
    int *x = HB_ARRAY(s->a, int, sp->problem.n_vars);
    double best = HUGE_VAL;
    for (;;) {
        double value = ms_value(&sp->problem, x);
        if (value < HUGE_VAL) {
            double priced = price(s, sp, x);
            // A copy that no consumer wants costs in the space and is never made by the program.
            bool same = close_to(priced, value) || (has_copy(sp, x) && priced < value);
            ck_assert_msg(same, "program costs %.12g, space says %.12g", priced, value);
            best = priced < best ? priced : best;
        }
        int v = 0;
        while (v < sp->problem.n_vars && ++x[v] == sp->problem.domain[v])
            x[v++] = 0;
        if (v == sp->problem.n_vars) break;
    }
    syn_choice c;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &c), MS_OPTIMAL);
    ck_assert_msg(close_to(c.additive, best), "search %.12g, exhaustive %.12g", c.additive, best);
}

START_TEST(every_choice)
{
    int done = 0;
    for (uint64_t seed = 1; seed < 4000 && done < 120; seed++) {
        setting s;
        if (!make(&s, seed, 1 + (int)(seed % 3), seed % 4 == 0, 7)) continue;
        syn_space *sp = space_of(&s);
        if (combinations(&sp->problem) <= 3000) {
            every_choice_of(&s, sp);
            done++;
        }
        hb_arena_free(s.a);
    }
    ck_assert_int_ge(done, 60);
}
END_TEST

// --- forms only ---

typedef struct walk {
    const syn_space *sp;
    int *form;
    double *rest; // by node: what the cheapest forms of it and all later nodes cost
    double best;
    long steps;
} walk;

enum { MAX_STEPS = 20000 };

static double tensor_cost(const walk *w, int t)
{
    const syn_space *s = w->sp;
    const ir_tensor *ten = &s->g->tensors.p[t];
    const syn_states *st = s->states[t];
    int first = s->first_use[t], last = s->first_use[t + 1];
    int made = ten->producer >= 0
                   ? s->forms[ten->producer]->form[w->form[ten->producer]].out[ten->out]
                   : -1;
    bool loss = t == s->g->loss;
    if (ten->kind == IR_STATE) return 0;
    if (!s->keeps[t]) {
        double sum = loss ? st->cost[made * st->n] : 0;
        for (int u = first; u < last; u++)
            sum +=
                st->cost[made * st->n +
                         s->forms[s->uses[u][0]]->form[w->form[s->uses[u][0]]].in[s->uses[u][1]]];
        return sum;
    }
    double best = HUGE_VAL;
    if (s->tensor_var[t] < 0) return 0;
    for (int k = 0; k < s->keeps[t]->n; k++) {
        syn_keep keep = s->keeps[t]->keep[k];
        double sum = made >= 0 ? st->cost[made * st->n + keep.state] : 0;
        if (keep.copy >= 0) sum += st->cost[keep.state * st->n + keep.copy];
        for (int u = first; u < last; u++) {
            int node = s->uses[u][0], in = s->uses[u][1],
                want = s->forms[node]->form[w->form[node]].in[in];
            double from = st->cost[keep.state * st->n + want];
            if (ten->kind != IR_VALUE && syn_writes_home(s->g, node, in))
                from += st->cost[want * st->n + keep.state];
            else if (keep.copy >= 0)
                from = fmin(from, st->cost[keep.copy * st->n + want]);
            sum += from;
        }
        if (loss) sum += st->cost[keep.state * st->n];
        best = fmin(best, sum);
    }
    return best;
}

// Tensors whose producer and consumers all stand before node n + 1, and one of them is n.
static double settled(const walk *w, int n)
{
    const syn_space *s = w->sp;
    double sum = 0;
    for (int t = 0; t < s->g->tensors.n; t++) {
        int last = s->g->tensors.p[t].producer;
        for (int u = s->first_use[t]; u < s->first_use[t + 1]; u++)
            last = s->uses[u][0] > last ? s->uses[u][0] : last;
        if (last == n) sum += tensor_cost(w, t);
    }
    return sum;
}

static void descend(walk *w, int n, double cost)
{
    if (cost + w->rest[n] >= w->best || ++w->steps > MAX_STEPS) return;
    if (n == w->sp->g->nodes.n) {
        w->best = cost;
        return;
    }
    for (int i = 0; i < w->sp->forms[n]->n; i++) {
        w->form[n] = i;
        descend(w, n + 1, cost + w->sp->forms[n]->cost[i] + settled(w, n));
    }
}

static double *cheapest_rest(const syn_space *s)
{
    double *rest = HB_ARRAY(s->arena, double, s->g->nodes.n + 1);
    for (int n = s->g->nodes.n - 1; n >= 0; n--) {
        double least = HUGE_VAL;
        for (int i = 0; i < s->forms[n]->n; i++)
            least = fmin(least, s->forms[n]->cost[i]);
        rest[n] = rest[n + 1] + least;
    }
    return rest;
}

// False if the walk would take too long.
static bool forms_only_of(setting *s)
{
    syn_space *sp = space_of(s);
    syn_choice c;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &c), MS_OPTIMAL);
    // Pruned a little above the search's answer: the walk finds the minimum itself, in bounded
    // time.
    walk w = {.sp = sp,
              .form = HB_ARRAY(s->a, int, sp->g->nodes.n),
              .rest = cheapest_rest(sp),
              .best = c.additive * 1.01 + 1e-12};
    descend(&w, 0, 0);
    if (w.steps > MAX_STEPS) return false;
    ck_assert_msg(close_to(w.best, c.additive), "search %.12g, forms %.12g", c.additive, w.best);
    int *x = HB_ARRAY(s->a, int, sp->problem.n_vars);
    for (int n = 0; n < sp->g->nodes.n; n++)
        x[sp->node_var[n]] = c.form[n];
    for (int t = 0; t < sp->g->tensors.n; t++)
        for (int k = 0; sp->tensor_var[t] >= 0 && k < sp->keeps[t]->n; k++)
            if (sp->keeps[t]->keep[k].state == c.keep[t].state &&
                sp->keeps[t]->keep[k].copy == c.keep[t].copy)
                x[sp->tensor_var[t]] = k;
    ck_assert(close_to(price(s, sp, x), c.additive));
    return true;
}

START_TEST(forward_graphs)
{
    int done = 0;
    for (uint64_t seed = 10000; seed < 14000 && done < 300; seed++) {
        setting s;
        if (!make(&s, seed, 2 + (int)(seed % 6), false, 7)) continue;
        done += forms_only_of(&s);
        hb_arena_free(s.a);
    }
    ck_assert_int_ge(done, 200);
}
END_TEST

START_TEST(training_steps)
{
    int done = 0;
    for (uint64_t seed = 20000; seed < 26000 && done < 120; seed++) {
        setting s;
        if (!make(&s, seed, 1 + (int)(seed % 2), true, 13)) continue;
        done += forms_only_of(&s);
        hb_arena_free(s.a);
    }
    ck_assert_int_ge(done, 60);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("search_oracle");
    TCase *c = tcase_create("exact");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, every_choice);
    tcase_add_test(c, forward_graphs);
    tcase_add_test(c, training_steps);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
