// The search against oracles that know no elimination, on one mesh axis and on machines x devices.
//
//  every_choice  every assignment of a small space: its program's price must equal the space's
//                value of it, and the smallest must be what the search returns
//  every_form    every combination of the nodes' forms (to 7 rows on one axis, 4 on two); tensor
//                states are independent once the forms are fixed, so each tensor takes its own
//                minimum
//  walks         the same depth-first with a bound: to 7 rows on two axes, and training steps with
//                gradients and optimizer
//
// A program is priced twice, as the judge does and by hand (support/price_by_hand.h); programs are
// certified (syn_check). Random settings: support/search_setting.h.
//
//     search_oracle_test [graphs] [first seed]     graphs: 300, shared out over the tests below

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/price_by_hand.h"
#include "support/search_setting.h"
#include "synth/record.h"

static int n_graphs = 300;
static uint64_t first_seed = 1;

// What a test has seen, for its line of output.
typedef struct tally {
    int graphs, left_out; // left out: too many assignments or steps
    long assignments, programs, certified, collectives;
} tally;
static tally seen;

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-15;
}

static void certify(setting *s, syn_program *p)
{
    hb_str why = {0};
    syn_roll(p);
    syn_arena(p);
    ck_assert_msg(syn_check(s->a, s->g, s->f, record_from_plan(s->a, p), &why), "%.*s",
                  HB_ARG(why));
    seen.certified++;
}

// The additive price of the program of an assignment, worked out in two ways.
static double price(setting *s, const syn_space *sp, const int *x, bool check)
{
    syn_choice c;
    syn_choice_decode(s->a, sp, x, &c);
    syn_program *p = syn_lower(s->a, sp, &c);
    syn_price(p, s->costs);
    double sum = syn_additive(sp, p), hand = hand_additive(p, &s->m, sp->weight, sp->weight_comm);
    ck_assert_msg(close_to(sum, hand), "judge's price %.12g, by hand %.12g", sum, hand);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START) continue;
        double least = hand_cheapest(p, in);
        ck_assert_msg(close_to(in->sec[0], least), "%s as %s takes %.12g, could take %.12g",
                      cost_coll_name(in->coll), cost_form_name(in->form), in->sec[0], least);
        seen.collectives++;
    }
    seen.programs++;
    if (check) certify(s, p);
    return sum;
}

static double combinations(const int *domain, int n)
{
    double product = 1;
    for (int v = 0; v < n; v++)
        product *= domain[v];
    return product;
}

// --- every assignment ---

static bool has_copy(const syn_space *sp, const int *x)
{
    for (int t = 0; t < sp->g->tensors.n; t++)
        if (sp->tensor_var[t] >= 0 && sp->keeps[t]->keep[x[sp->tensor_var[t]]].copy >= 0)
            return true;
    return false;
}

// The price of every `stride`-th assignment, the certificate of every 10th of these.
static void every_choice_of(setting *s, const syn_space *sp, long stride)
{
    const ms_problem *p = &sp->problem;
    int *x = HB_ARRAY(s->a, int, p->n_vars);
    double best = HUGE_VAL;
    for (long at = 0;; at++) {
        double value = ms_value(p, x);
        if (value < HUGE_VAL && at % stride == 0) {
            double priced = price(s, sp, x, at % (10 * stride) == 0);
            // A copy that no consumer wants costs in the space and is never made by the program.
            bool same = close_to(priced, value) || (has_copy(sp, x) && priced < value);
            ck_assert_msg(same, "program costs %.12g, space says %.12g", priced, value);
            best = fmin(best, priced);
        }
        best = fmin(best, value);
        seen.assignments++;
        int v = 0;
        while (v < p->n_vars && ++x[v] == p->domain[v])
            x[v++] = 0;
        if (v == p->n_vars) break;
    }
    syn_choice c;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &c), MS_OPTIMAL);
    ck_assert_msg(close_to(c.additive, best), "search %.12g, exhaustive %.12g", c.additive, best);
}

static bool every_choice(setting *s)
{
    enum { MAX_ASSIGNMENTS = 200000, MAX_PROGRAMS = 400 };
    syn_space *sp = setting_space(s);
    double n = combinations(sp->problem.domain, sp->problem.n_vars);
    if (n > MAX_ASSIGNMENTS) return false;
    every_choice_of(s, sp, n <= MAX_PROGRAMS ? 1 : (long)(n / MAX_PROGRAMS) | 1);
    return true;
}

// --- forms only ---

typedef struct walk {
    const syn_space *sp;
    int *form;
    double *rest; // by node: what the cheapest forms of it and all later nodes cost; NULL: no bound
    double best;
    long steps, most;
} walk;

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
    if ((w->rest && cost + w->rest[n] >= w->best) || ++w->steps > w->most) return;
    if (n == w->sp->g->nodes.n) {
        seen.assignments++;
        w->best = fmin(w->best, cost);
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

// The assignment that a choice came from.
static int *assignment_of(setting *s, const syn_space *sp, const syn_choice *c)
{
    int *x = HB_ARRAY(s->a, int, sp->problem.n_vars);
    for (int n = 0; n < sp->g->nodes.n; n++)
        x[sp->node_var[n]] = c->form[n];
    for (int t = 0; t < sp->g->tensors.n; t++)
        for (int k = 0; sp->tensor_var[t] >= 0 && k < sp->keeps[t]->n; k++)
            if (sp->keeps[t]->keep[k].state == c->keep[t].state &&
                sp->keeps[t]->keep[k].copy == c->keep[t].copy)
                x[sp->tensor_var[t]] = k;
    return x;
}

// False if the walk would take too long.
static bool forms_of(setting *s, bool bounded)
{
    enum { MAX_LEAVES = 30000, MAX_STEPS = 30000 };
    syn_space *sp = setting_space(s);
    double leaves = 1;
    for (int n = 0; n < sp->g->nodes.n; n++)
        leaves *= sp->forms[n]->n;
    if (!bounded && leaves > MAX_LEAVES) return false;
    syn_choice c;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &c), MS_OPTIMAL);
    // Bounded a little above the search's answer: the walk finds the minimum itself, in bounded
    // time.
    walk w = {.sp = sp,
              .form = HB_ARRAY(s->a, int, sp->g->nodes.n),
              .rest = bounded ? cheapest_rest(sp) : NULL,
              .best = bounded ? c.additive * 1.01 + 1e-12 : HUGE_VAL,
              .most = bounded ? MAX_STEPS : 100 * MAX_LEAVES};
    descend(&w, 0, 0);
    if (w.steps > w.most) return false;
    ck_assert_msg(close_to(w.best, c.additive), "search %.12g, forms %.12g", c.additive, w.best);
    ck_assert(close_to(price(s, sp, assignment_of(s, sp, &c), true), c.additive));
    return true;
}

static bool every_form(setting *s)
{
    return forms_of(s, false);
}

static bool bounded_walk(setting *s)
{
    return forms_of(s, true);
}

// --- the tests ---

typedef struct series {
    const char *name;
    int n_axes;
    int least, most, max_nodes; // rows drawn; nodes at most
    bool train, one_cut;
    int graphs; // of 300
    bool (*oracle)(setting *s);
} series;

static const series all[] = {
    {"every choice, one axis", 1, 1, 3, 7, false, false, 30, every_choice},
    {"every choice, one axis, training", 1, 1, 1, 9, true, true, 10, every_choice},
    {"every choice, two axes", 2, 1, 3, 4, false, true, 40, every_choice},
    {"every form, one axis", 1, 2, 7, 7, false, false, 50, every_form},
    {"every form, two axes", 2, 1, 4, 4, false, false, 50, every_form},
    {"walk, one axis, training", 1, 1, 2, 13, true, false, 40, bounded_walk},
    {"walk, two axes", 2, 3, 7, 7, false, false, 50, bounded_walk},
    {"walk, two axes, training", 2, 1, 2, 13, true, true, 30, bounded_walk},
};
enum { N_SERIES = sizeof all / sizeof *all };

START_TEST(oracle)
{
    const series *e = &all[_i];
    int want = (e->graphs * n_graphs + 299) / 300;
    seen = (tally){0};
    for (uint64_t k = 0; seen.graphs < want; k++) {
        ck_assert_msg(k < 40 * (uint64_t)want + 400, "%d of %d graphs", seen.graphs, want);
        setting s;
        setting_options o = {.n_axes = e->n_axes,
                             .n_ops = e->least + (int)(k % (uint64_t)(e->most - e->least + 1)),
                             .max_nodes = e->max_nodes,
                             .train = e->train,
                             .one_cut = e->one_cut};
        uint64_t seed = first_seed + 1000000 * (uint64_t)_i + k;
        if (!setting_make(&s, seed, &o)) continue;
        printf("\r%s: seed %llu ", e->name, (unsigned long long)seed); // stays if it fails
        bool done = e->oracle(&s);
        seen.graphs += done;
        seen.left_out += !done;
        setting_free(&s);
    }
    printf("\r%s: %d graphs (%d too large), %ld assignments, %ld programs, %ld collectives, %ld "
           "certified\n",
           e->name, seen.graphs, seen.left_out, seen.assignments, seen.programs, seen.collectives,
           seen.certified);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1) n_graphs = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    Suite *s = suite_create("search_oracle");
    TCase *c = tcase_create("exact");
    tcase_set_timeout(c, 0); // ctest's alone
    tcase_add_loop_test(c, oracle, 0, N_SERIES);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
