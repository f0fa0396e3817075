// Collectives in other forms, as the simulator finds them: against all choices of a form for each,
// on random plans whose computing is slowed by the library's collectives.

#include <check.h>
#include <math.h>

#include "synth/passes/passes.h"
#include "synth/passes/pick_forms.h"
#include "synth/plan/program_copy.h"
#include "synth/price/simulate_plan.h"
#include "synth/price/transport.h"
#include "synth/space/space_solve.h"
#include "tests/support/cases.h"
#include "tests/support/search_setting.h"

enum { MOST = 10 }; // collectives, each by a put or not

// The best of the setting's space as it is scheduled; NULL: there is none.
static syn_program *scheduled(setting *s)
{
    for (int m = 0; m < s->cluster.n_machines; m++)
        s->cluster.machine[m].peer = true;
    for (int c = 0; c < s->cluster.n_classes; c++) {
        s->cluster.cls[c].compute_contention = 1.4;
        s->cluster.cls[c].compute_contention_put = 1.02;
    }
    s->costs = syn_costs_new(s->a, &s->m, s->mesh, s->g, s->f);
    syn_space *space = setting_space(s);
    syn_choice choice;
    if (!space || syn_space_solve(s->a, space, &choice) != MS_OPTIMAL) return NULL;
    syn_making x = {.arena = s->a, .costs = s->costs, .space = space, .choice = &choice};
    syn_passes_run(&x, SYN_PASS_LOWER, SYN_PASS_WAIT_EARLY);
    return x.program;
}

static double seconds(const syn_program *p)
{
    cost_timeline t;
    hb_arena *a = hb_arena_new();
    double sec = syn_simulate_in(a, p, &t, false);
    hb_arena_free(a);
    return sec;
}

static void set(const setting *s, syn_program *p, syn_instr *in, cost_form form)
{
    in->scratch = -1;
    syn_set_form(p, s->costs, in, form);
}

// The cheapest put, or the library's cheapest; false: there is none.
static bool cheapest(const setting *s, const syn_program *p, const syn_instr *in, bool put,
                     cost_form *form)
{
    cost_forms x;
    syn_move move = syn_move_of(in);
    syn_list_forms(s->costs, &move, syn_transfers(s->a, p, in), in->n_in, &x);
    double least = HUGE_VAL;
    for (int i = 0; i < x.n; i++)
        if (cost_is_put(x.form[i]) == put && x.form[i] != COST_TWO_LEVEL && x.sec[i] < least) {
            least = x.sec[i];
            *form = x.form[i];
        }
    return isfinite(least);
}

typedef struct starts {
    int n, at[MOST];
    cost_form form[MOST][2]; // [of put]; equal: there is no other
} starts;

static bool list_starts(const setting *s, const syn_program *p, starts *out)
{
    out->n = 0;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        cost_form other = in->form;
        if (in->kind != SYN_START || !cheapest(s, p, in, !cost_is_put(in->form), &other)) continue;
        if (out->n == MOST) return false;
        out->form[out->n][cost_is_put(in->form)] = in->form;
        out->form[out->n][!cost_is_put(in->form)] = other;
        out->at[out->n++] = i;
    }
    return out->n > 0;
}

// The least of all choices.
static double least_of_all(const setting *s, const syn_program *p, const starts *x)
{
    double least = HUGE_VAL;
    for (int bits = 0; bits < 1 << x->n; bits++) {
        hb_arena *a = hb_arena_new();
        syn_program *q = syn_program_copy(a, p);
        for (int k = 0; k < x->n; k++) {
            syn_instr *in = &q->instr.p[x->at[k]];
            cost_form want = x->form[k][bits >> k & 1];
            if (in->form != want) set(s, q, in, want);
        }
        least = fmin(least, seconds(q));
        hb_arena_free(a);
    }
    return least;
}

// What is written from other ranks, and nothing else, lies in SEG_SYM; no scratch is left over.
static void check_segments(const setting *s, syn_program *p)
{
    int scratch = 0, left = 0;
    for (int t = 0; t < p->tensors.n; t++)
        left += p->tensors.p[t].role == SYN_ROLE_SCRATCH;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START) continue;
        int64_t bytes = syn_scratch_bytes(p, s->costs, in);
        ck_assert_int_eq(in->scratch >= 0, bytes > 0);
        if (bytes > 0) ck_assert_int_eq(p->tensors.p[in->scratch].bytes[0], bytes);
        scratch += in->scratch >= 0;
        if (!cost_is_put(in->form)) continue;
        for (int k = 0; k < in->n_out && in->coll != COST_REDUCE_SCATTER; k++)
            ck_assert(p->tensors.p[in->out[k]].sym);
        ck_assert(in->scratch < 0 || p->tensors.p[in->scratch].sym);
    }
    ck_assert_int_eq(scratch, left);
    ck_assert_int_eq(p->has_sym, syn_has_puts(p));
}

// It is a descent: with every collective in its other form in turn no step is faster, but for what
// layers may differ; and it is seldom behind the best of all.
START_TEST(against_all_forms)
{
    int compared = 0, best = 0, changed = 0, n = test_cases(40, 400, 4000);
    for (uint64_t seed = 1; compared < n && seed < 40 * (uint64_t)n; seed++) {
        setting s;
        const setting_options o = {
            .n_axes = 1 + seed % 2, .n_ops = 6, .max_nodes = 40, .train = true, .one_cut = true};
        if (!setting_make(&s, seed, &o)) continue;
        syn_program *p = scheduled(&s);
        starts x;
        if (p && list_starts(&s, p, &x)) {
            double first = seconds(p), least = least_of_all(&s, p, &x);
            bool any = syn_pick_forms(p, s.costs);
            double sec = seconds(p);
            compared++;
            changed += any;
            best += sec <= least * (1 + SYN_SAME_PLACE);
            ck_assert_int_eq(any, sec < first);
            ck_assert(sec <= first && sec >= least * (1 - SYN_ROUNDING));
            check_segments(&s, p);
            ck_assert(list_starts(&s, p, &x));
            for (int k = 0; k < x.n; k++) {
                hb_arena *a = hb_arena_new();
                syn_program *q = syn_program_copy(a, p);
                syn_instr *in = &q->instr.p[x.at[k]];
                set(&s, q, in, x.form[k][!cost_is_put(in->form)]);
                ck_assert_msg(seconds(q) >= sec * (1 - SYN_SAME_PLACE),
                              "seed %llu: collective %d in its other form: %.9g s, %.9g picked",
                              (unsigned long long)seed, k, seconds(q), sec);
                hb_arena_free(a);
            }
        }
        setting_free(&s);
    }
    printf("%d of %d plans have other forms, %d the best of all\n", changed, compared, best);
    ck_assert_int_eq(compared, n);
    ck_assert_int_ge(changed, n / 10);
    ck_assert_int_ge(best, n * 9 / 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pick_forms");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 0);
    tcase_add_test(c, against_all_forms);
    suite_add_tcase(suite, c);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
