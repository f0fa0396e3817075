// The search against oracles that know no elimination, on one mesh axis and on machines x devices.
//
//  every_choice  every assignment of a space: programs of some of them must be priced at the
//  space's
//                value, and the smallest must be what the search returns
//  every_form    every combination of the nodes' shardings (to 7 rows on one axis, 4 on two);
//  tensor
//                states are independent once the shardings are fixed, so each tensor takes its own
//                minimum
//  bounded       the same without those that a lower bound excludes: to 7 rows on two axes, and
//                training steps with gradients and optimizer
//
// A program is priced twice, as the simulator does and by hand (support/price_by_hand.h); programs
// are certified (syn_check). Random settings: support/search_setting.h; walks: support/form_walk.h.
//
//     search_oracle_test [graphs] [first seed]     graphs: 300, shared out over the tests below;
//                                                  limits grow with it

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "synth/certify/record.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/roll.h"
#include "synth/price/instr_cost.h"
#include "synth/space/lower.h"
#include "synth/space/space_build.h"
#include "synth/space/space_solve.h"
#include "tests/support/cases.h"
#include "tests/support/form_walk.h"
#include "tests/support/price_by_hand.h"
#include "tests/support/search_setting.h"

static int n_graphs;
static uint64_t first_seed = 1;

// What a test has seen, for its line of output.
typedef struct tally {
    int graphs, by_forms, by_bound, left_out; // too many for the oracle: taken to the next one
    double assignments;
    long programs, certified, collectives, without; // without: a move forbidden
} tally;
static tally seen;

static bool at_length(void)
{
    return n_graphs > 300;
}

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
    ck_assert_msg(close_to(sum, hand), "simulator's price %.12g, by hand %.12g", sum, hand);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START) continue;
        double least = hand_cheapest(p, &s->m, in);
        ck_assert_msg(close_to(in->sec[0], least), "%s as %s takes %.12g, could take %.12g",
                      cost_coll_name(in->coll), cost_form_name(in->form).s, in->sec[0], least);
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

// All assignments, variable by variable in their order; a table stands at its later variable, with
// a row for each state of the earlier one.
typedef struct choices {
    setting *s;
    const syn_space *sp;
    struct row_table {
        int earlier;
        const double *rows;
    } * table;
    int *first; // by variable, n_vars + 1 entries: its tables
    int *x;
    double **cost; // by variable, of each state with all before
    double best;
    long at, stride;
} choices;

static void prepare(choices *c)
{
    const ms_problem *p = &c->sp->problem;
    hb_arena *a = c->s->a;
    c->x = HB_ARRAY(a, int, p->n_vars);
    c->first = HB_ARRAY(a, int, p->n_vars + 1);
    c->table = hb_alloc(a, sizeof *c->table * (size_t)(p->n_edges + 1));
    c->cost = hb_alloc(a, sizeof *c->cost * (size_t)p->n_vars);
    for (int v = 0, n = 0; v < p->n_vars; v++) {
        c->cost[v] = HB_ARRAY(a, double, p->domain[v]);
        c->first[v] = n;
        for (int e = 0; e < p->n_edges; e++) {
            const ms_edge *q = &p->edge[e];
            if ((q->a > q->b ? q->a : q->b) != v) continue;
            int earlier = q->a > q->b ? q->b : q->a, rows = p->domain[earlier];
            double *t = HB_ARRAY(a, double, rows * p->domain[v]);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < p->domain[v]; j++)
                    t[i * p->domain[v] + j] =
                        q->a == earlier ? q->table[i * p->domain[v] + j] : q->table[j * rows + i];
            c->table[n++] = (struct row_table){earlier, t};
        }
        c->first[v + 1] = n;
    }
}

// The price of every `stride`-th assignment, the certificate of every 10th of these.
static void check_price(choices *c, double value)
{
    double priced = price(c->s, c->sp, c->x, c->at % (10 * c->stride) == 0);
    // A copy that no consumer wants costs in the space and is never made by the program.
    bool same = close_to(priced, value) || (has_copy(c->sp, c->x) && priced < value);
    ck_assert(close_to(value, ms_value(&c->sp->problem, c->x)));
    ck_assert_msg(same, "program costs %.12g, space says %.12g", priced, value);
    c->best = fmin(c->best, priced);
}

static void choose(choices *c, int v, double before)
{
    const ms_problem *p = &c->sp->problem;
    double *cost = c->cost[v];
    int n = p->domain[v];
    for (int i = 0; i < n; i++)
        cost[i] = before + (p->unary[v] ? p->unary[v][i] : 0);
    for (int e = c->first[v]; e < c->first[v + 1]; e++) {
        const double *row = c->table[e].rows + c->x[c->table[e].earlier] * n;
        for (int i = 0; i < n; i++)
            cost[i] += row[i];
    }
    if (v + 1 < p->n_vars) {
        for (c->x[v] = 0; c->x[v] < n; c->x[v]++)
            if (cost[c->x[v]] < HUGE_VAL) choose(c, v + 1, cost[c->x[v]]); // else all are forbidden
        return;
    }
    for (int i = 0; i < n; i++)
        c->best = cost[i] < c->best ? cost[i] : c->best;
    for (c->x[v] = (int)((c->stride - c->at % c->stride) % c->stride); c->x[v] < n;
         c->x[v] += (int)c->stride) {
        long at = c->at;
        c->at += c->x[v];
        if (cost[c->x[v]] < HUGE_VAL) check_price(c, cost[c->x[v]]);
        c->at = at;
    }
    c->at += n;
}

static void every_choice_of(setting *s, const syn_space *sp, long stride)
{
    choices all = {.s = s, .sp = sp, .best = HUGE_VAL, .stride = stride};
    prepare(&all);
    choose(&all, 0, 0);
    syn_choice c;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &c), MS_OPTIMAL);
    ck_assert_msg(close_to(c.additive, all.best), "search %.12g, exhaustive %.12g", c.additive,
                  all.best);
}

static bool every_form(setting *s);

static bool every_choice(setting *s)
{
    enum { MAX_PROGRAMS = 400 };
    syn_space *sp = setting_space(s);
    double n = combinations(sp->problem.domain, sp->problem.n_vars);
    if (n > (at_length() ? 2e9 : 2e7)) {
        seen.by_forms++;
        return every_form(s);
    }
    every_choice_of(s, sp, n <= MAX_PROGRAMS ? 1 : (long)(n / MAX_PROGRAMS) | 1);
    seen.assignments += n;
    return true;
}

// --- shardings only ---

// The assignment that a choice came from.
static int *assignment_of(setting *s, const syn_space *sp, const syn_choice *c)
{
    int *x = HB_ARRAY(s->a, int, sp->problem.n_vars);
    for (int n = 0; n < sp->g->nodes.n; n++)
        x[sp->node_var[n]] = c->sharding[n];
    for (int t = 0; t < sp->g->tensors.n; t++)
        for (int k = 0; sp->tensor_var[t] >= 0 && k < sp->keeps[t]->n; k++)
            if (sp->keeps[t]->keep[k].state == c->keep[t].state &&
                sp->keeps[t]->keep[k].copy == c->keep[t].copy)
                x[sp->tensor_var[t]] = k;
    return x;
}

// Searches that stop near their optimum, and go on from there: bounds hold, too.
static void check_near(setting *s, const syn_space *sp, double best)
{
    static const double gap[] = {0.2, 0.03, 0};
    ms_warm *warm = NULL;
    for (int i = 0; i < 3; i++) {
        syn_choice c;
        double lower;
        ck_assert_int_eq(syn_space_near(s->a, sp, gap[i], &warm, NULL, &c, &lower), MS_OPTIMAL);
        ck_assert_msg(lower <= best * (1 + 1e-9) + 1e-15, "bound %.12g, optimum %.12g", lower,
                      best);
        ck_assert(c.additive >= best * (1 - 1e-9) - 1e-15);
        ck_assert(c.additive <= lower * (1 + gap[i]) * (1 + 1e-9) + 1e-15);
    }
}

static int state_index(const syn_states *st, const syn_state *x)
{
    for (int i = 0; i < st->n; i++)
        if (syn_state_eq(&st->s[i], x)) return i;
    ck_abort_msg("a state of the space");
    return -1;
}

// The space without a move that the optimum makes (one drawn of all), as reports price it.
static void check_without(setting *s, const syn_space *sp, const syn_choice *c)
{
    const syn_program *p = syn_lower(s->a, sp, c);
    const syn_instr *move = NULL;
    random_source r = {(uint64_t)(seen.graphs * 31 + seen.left_out)};
    for (int i = 0, n = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_START && random_below(&r, ++n) == 0) move = &p->instr.p[i];
    if (!move || p->tensors.p[move->in[0]].value == s->g->loss) return;
    const syn_tensor *from = &p->tensors.p[move->in[0]], *to = &p->tensors.p[move->out[0]];
    int t = from->value, *x = HB_ARRAY(s->a, int, sp->problem.n_vars);
    sp = syn_space_without(s->a, sp, t, state_index(sp->states[t], &from->state),
                           state_index(sp->states[t], &to->state));
    double value = HUGE_VAL, best;
    ms_status status = ms_solve_dual(s->a, &sp->problem, 0, NULL, x, &value, NULL);
    form_walk *w = form_walk_new(s->a, sp);
    if (!form_walk_bounded(w, HUGE_VAL, 1000000, &best)) return;
    ck_assert_int_eq(status, isinf(best) ? MS_INFEASIBLE : MS_OPTIMAL);
    ck_assert(isinf(best) || close_to(value, best));
    ck_assert(best >= c->additive * (1 - 1e-9));
    seen.without++;
}

// The bounded walk; false if it would take too long. The exhaustive one, if asked for, agrees.
static bool by_form(setting *s, bool exhaustive)
{
    syn_space *sp = setting_space(s);
    form_walk *w = form_walk_new(s->a, sp);
    syn_choice c;
    double best, all;
    ck_assert_int_eq(syn_space_solve(s->a, sp, &c), MS_OPTIMAL);
    if (!form_walk_bounded(w, HUGE_VAL, at_length() ? 300000000 : 1000000, &best)) return false;
    ck_assert_msg(close_to(best, c.additive), "search %.12g, shardings %.12g", c.additive, best);
    ck_assert(close_to(price(s, sp, assignment_of(s, sp, &c), true), c.additive));
    ck_assert(form_walk_bound(w) <= best * (1 + 1e-9));
    check_near(s, sp, best);
    check_without(s, sp, &c);
    if (exhaustive && (at_length() || form_walk_combinations(w) <= 3e7)) {
        form_walk_all(w, &all);
        ck_assert_msg(close_to(best, all), "bounded %.12g, exhaustive %.12g", best, all);
    } else {
        seen.by_bound += exhaustive;
    }
    seen.assignments += form_walk_seen(w);
    return true;
}

static bool every_form(setting *s)
{
    return by_form(s, true);
}

static bool bounded(setting *s)
{
    return by_form(s, false);
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
    {"every sharding, one axis", 1, 2, 7, 7, false, false, 50, every_form},
    {"every sharding, two axes", 2, 1, 4, 4, false, false, 50, every_form},
    {"bounded, one axis, training", 1, 1, 5, 40, true, false, 40, bounded},
    {"bounded, two axes", 2, 3, 7, 7, false, false, 50, bounded},
    {"bounded, two axes, training", 2, 1, 3, 20, true, false, 30, bounded},
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
    printf("\r| %s | %d | %d | %d | %d | %.3g | %ld | %ld | %ld | %ld |\n", e->name, seen.graphs,
           seen.by_forms, seen.by_bound, seen.left_out, seen.assignments, seen.programs,
           seen.collectives, seen.certified, seen.without);
}
END_TEST

int main(int argc, char **argv)
{
    n_graphs = argc > 1 ? atoi(argv[1]) : test_cases(60, 300, 300);
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
