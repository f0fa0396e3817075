// The space of a search: lists kept from the one before, equal tables and costs at one place.

#include <check.h>
#include <math.h>
#include <string.h>

#include "synth/search/other_space.h"
#include "synth/space/shardings.h"
#include "synth/space/space_build.h"
#include "tests/support/cases.h"
#include "tests/support/search_setting.h"

static syn_space *built(setting *s, struct syn_listed *listed, const double *weight,
                        const double *price)
{
    hb_str why = {0};
    s->costs->listed = listed;
    return syn_space_build(s->a, s->costs, syn_partitions_copy(s->a, s->partitions), SYN_AUTO,
                           &s->opt, weight, s->weight_comm, price, &why);
}

static bool same_shardings(const syn_shardings *x, const syn_shardings *y, int classes)
{
    size_t n = (size_t)x->n;
    return x->n == y->n && memcmp(x->sharding, y->sharding, sizeof *x->sharding * n) == 0 &&
           memcmp(x->cost, y->cost, sizeof *x->cost * n) == 0 &&
           memcmp(x->sec, y->sec, sizeof *x->sec * n * (size_t)classes) == 0;
}

static void same_problems(const ms_problem *p, const ms_problem *q)
{
    ck_assert_int_eq(p->n_vars, q->n_vars);
    ck_assert_int_eq(p->n_edges, q->n_edges);
    for (int v = 0; v < p->n_vars; v++) {
        ck_assert_int_eq(p->domain[v], q->domain[v]);
        ck_assert(memcmp(p->unary[v], q->unary[v], sizeof(double) * (size_t)p->domain[v]) == 0);
    }
    for (int i = 0; i < p->n_edges; i++) {
        const ms_edge *e = &p->edge[i], *f = &q->edge[i];
        size_t cells = (size_t)p->domain[e->a] * (size_t)p->domain[e->b];
        ck_assert(e->a == f->a && e->b == f->b);
        ck_assert(memcmp(e->table, f->table, sizeof(double) * cells) == 0);
    }
}

// At the same cuts lists are taken over; costs are those of the space's own weights and prices.
// Other cuts have lists of their own.
START_TEST(lists_are_kept)
{
    setting s;
    setting_options o = {.n_axes = 1 + _i % 2, .n_ops = 5, .max_nodes = 60, .train = true};
    if (!setting_make(&s, (uint64_t)_i + 3, &o)) return;
    struct syn_listed *listed = syn_listed_new(s.a);
    int classes = s.mesh->n_classes;
    double even[CL_MAX_CLASSES], price[CL_MAX_CLASSES];
    for (int c = 0; c < classes; c++) {
        even[c] = 1.0 / classes;
        price[c] = 1e-12 * (1 + c);
    }
    for (int round = 0; round < 4; round++) {
        const double *weight = round % 2 ? even : s.weight, *memory = round > 1 ? price : NULL;
        if (round == 3)
            for (int k = 0; k < s.partitions->n_sets; k++)
                if (s.partitions->set[k].n[0] > 1) s.partitions->set[k].n[0] = 1;
        const syn_space *x = built(&s, listed, weight, memory),
                        *y = built(&s, NULL, weight, memory);
        ck_assert_int_eq(!x, !y);
        if (!x) continue;
        for (int i = 0; i < x->kinds->n_nodes; i++)
            ck_assert(same_shardings(x->shardings_of[i], y->shardings_of[i], classes));
        same_problems(&x->problem, &y->problem);
    }
    setting_free(&s);
}
END_TEST

// What an edge costs between two states of its ends, by what it stands for.
static double cell(const syn_space *s, const syn_table *t, int i, int j)
{
    const syn_states *st = s->states_of[t->tensor];
    bool read = t->kind == SYN_EDGE_READ || t->kind == SYN_EDGE_HOME;
    const syn_keep *k = t->kept < 0 ? NULL : &s->keeps_of[t->kept]->keep[read ? i : j];
    int from = read ? k->state : s->shardings_of[t->producer]->sharding[i].out[t->out],
        to = read || t->kind == SYN_EDGE_DIRECT
                 ? s->shardings_of[t->consumer]->sharding[j].in[t->in]
                 : k->state;
    double sec = st->cost[from * st->n + to];
    if (t->kind == SYN_EDGE_HOME) return sec + st->cost[to * st->n + from];
    return read && k->copy >= 0 ? fmin(sec, st->cost[k->copy * st->n + to]) : sec;
}

// One turn, no sums: an edge costs its conversion, whichever table it shares. Equal costs of
// variables stand at one place.
START_TEST(shared_tables_are_their_own)
{
    setting s;
    setting_options o = {.n_axes = 1 + _i % 2, .n_ops = 6, .max_nodes = 60, .train = true};
    if (!setting_make(&s, (uint64_t)_i + 71, &o)) return;
    const syn_space *x = setting_space(&s);
    const ms_problem *p = &x->problem;
    for (int e = 0; e < p->n_edges; e++) {
        const ms_edge *g = &p->edge[e];
        const syn_table *t = &x->kinds->table[x->kinds->edge[e].table];
        for (int i = 0; i < p->domain[g->a]; i++)
            for (int j = 0; j < p->domain[g->b]; j++)
                ck_assert(g->table[i * p->domain[g->b] + j] == cell(x, t, i, j));
    }
    int loss = s.g->loss, wanted = -1; // what the whole loss costs is its own
    if (loss >= 0) wanted = x->tensor_var[loss];
    if (loss >= 0 && wanted < 0) wanted = x->node_var[s.g->tensors.p[loss].producer];
    for (int v = 0; v < p->n_vars; v++)
        for (int w = 0; w < v; w++)
            if (p->domain[v] == p->domain[w] && v != wanted && w != wanted &&
                memcmp(p->unary[v], p->unary[w], sizeof(double) * (size_t)p->domain[v]) == 0)
                ck_assert(p->unary[v] == p->unary[w]);
    setting_free(&s);
}
END_TEST

static bool same_state(const syn_space *x, const syn_space *y, int tensor, int i, int j)
{
    return i < 0 || j < 0
               ? i == j
               : memcmp(&x->states[tensor]->s[i], &y->states[tensor]->s[j], sizeof(syn_state)) == 0;
}

static bool same_keep(const syn_space *x, const syn_space *y, int t, int i, int j)
{
    const syn_keep *a = &x->keeps[t]->keep[i], *b = &y->keeps[t]->keep[j];
    return same_state(x, y, t, a->state, b->state) && same_state(x, y, t, a->copy, b->copy);
}

static bool same_sharding(const syn_space *x, const syn_space *y, int node, int i, int j)
{
    const ir_node *n = &x->g->nodes.p[node];
    const syn_sharding *a = &x->shardings[node]->sharding[i], *b = &y->shardings[node]->sharding[j];
    bool same = memcmp(&a->cut, &b->cut, sizeof a->cut) == 0;
    for (int k = 0; k < n->n_in; k++)
        same = same && same_state(x, y, n->in[k], a->in[k], b->in[k]);
    for (int k = 0; k < n->n_out; k++)
        same = same && same_state(x, y, n->out[k], a->out[k], b->out[k]);
    return same;
}

// A value of a variable of x, in y: the one that is the same, or where none is, the one before.
static void means_the_same(const syn_space *x, const syn_space *y, int is, int at, int before,
                           int of, bool node)
{
    bool (*same)(const syn_space *, const syn_space *, int, int, int) =
        node ? same_sharding : same_keep;
    int n = node ? y->shardings[of]->n : y->keeps[of]->n;
    bool any = false;
    for (int k = 0; k < n; k++)
        any = any || same(x, y, of, is, k);
    ck_assert(any ? same(x, y, of, is, at) : at == before);
}

// What an assignment means is the same in a space with other lists, and where it has all of them
// the assignment itself.
START_TEST(choices_in_other_spaces)
{
    setting s;
    setting_options o = {.n_axes = 1 + _i % 2, .n_ops = 6, .max_nodes = 60, .train = true};
    if (!setting_make(&s, (uint64_t)_i + 171, &o)) return;
    const syn_space *x = setting_space(&s);
    s.opt.copy_bytes = x->opt->copy_bytes == INT64_MAX ? 0 : INT64_MAX;
    const syn_space *y = built(&s, NULL, s.weight, NULL);
    random_source r = {(uint64_t)_i + 1};
    int n = x->problem.n_vars;
    ck_assert_int_eq(n, y->problem.n_vars);
    int *is = HB_ARRAY(s.a, int, n + 1), *same = HB_ARRAY(s.a, int, n + 1),
        *before = HB_ARRAY(s.a, int, n + 1), *none = HB_ARRAY(s.a, int, n + 1);
    uint64_t *means = HB_ARRAY(s.a, uint64_t, n + 1);
    for (int v = 0; v < n; v++) {
        is[v] = random_below(&r, x->problem.domain[v]);
        before[v] = random_below(&r, y->problem.domain[v]);
    }
    syn_meaning_of(x, is, means);
    syn_assign_meaning(x, means, none, same);
    ck_assert(memcmp(is, same, sizeof *is * (size_t)n) == 0);
    int *at = hb_copy(s.a, before, sizeof *before * (size_t)n + 1);
    syn_assign_meaning(y, means, is, at);
    for (int i = 0; i < s.g->nodes.n; i++) {
        int v = x->node_var[i];
        means_the_same(x, y, is[v], at[v], before[v], i, true);
    }
    for (int t = 0; t < s.g->tensors.n; t++) {
        int v = x->tensor_var[t];
        if (v >= 0) means_the_same(x, y, is[v], at[v], before[v], t, false);
    }
    setting_free(&s);
}
END_TEST

START_TEST(strategies_that_choose_alike)
{
    syn_strategy even = syn_strategy_named("dp-even");
    for (int s = 0; s < syn_n_strategies; s++)
        ck_assert_int_eq(syn_strategy_like(s), s == syn_strategy_named("dp-prop") ? even : s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spaces");
    TCase *t = tcase_create("spaces");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, lists_are_kept, 0, test_cases(10, 30, 300));
    tcase_add_loop_test(t, shared_tables_are_their_own, 0, test_cases(10, 30, 300));
    tcase_add_loop_test(t, choices_in_other_spaces, 0, test_cases(10, 30, 300));
    tcase_add_test(t, strategies_that_choose_alike);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
