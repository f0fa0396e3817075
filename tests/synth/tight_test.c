// Memory that binds, on unlike devices: what `hapc` finds unasked is no slower than what it finds
// with options, and no slower than with less memory. Random problems (tests/support/problem.h)
// whose devices hold about what the step takes in all; a quarter of the models are deep.
//
//     tight_test [CASES [SEED]]          SEED: printed by each run
//     tight_test --list CASES SEED       a line a case, without options: to compare two builds
//     tight_test --case NUMBER [DIR]     one case with all its options; DIR/tight.* is written

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/problem.h"

static const double SLOWER = 1.005; // more is a violation

static const problem_options options[] = {
    {.micro = 2},
    {.micro = 4},
    {.micro = 8},
    {.recompute = "all"},
    {.micro = 2, .recompute = "all"},
    {.micro = 4, .recompute = "all"},
    {.micro = -1, .recompute = "auto"},
    {.mesh = "flat"},
    {.mesh = "machine"},
    {.mesh = "machine", .micro = 4, .recompute = "auto"},
    {.strategy = "zero"},
    {.strategy = "hap", .recompute = "all"},
    {.strategy = "tp"},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static problem draw(uint64_t number)
{
    random_source r = {hb_hash(&number, sizeof number)};
    problem p;
    do
        p = problem_random(&r, (problem_sizes){.max_devices = 6, .max_classes = 3});
    while (p.cluster.n_classes < 2);
    if (random_below(&r, 4) == 0)
        for (int i = p.model.n_layers; i < 19; i++) {
            p.model.hidden[i] = p.model.hidden[0];
            p.model.n_layers = 19;
        }
    problem_tighten(&r, &p, 0.7, 2);
    return p;
}

static void print(uint64_t number, const problem *p, const problem_answer *x)
{
    hb_arena *a = hb_arena_new();
    printf("%llu %.6g ms %.2f s %s%s  %.*s\n", (unsigned long long)number, x->sec * 1e3, x->cpu_sec,
           x->plan, x->why, HB_ARG(problem_summary(a, p)));
    fflush(stdout);
    hb_arena_free(a);
}

static bool bug(const problem_answer *x)
{
    return x->status == PROBLEM_DIED || x->status == PROBLEM_LATE;
}

typedef struct tally {
    int bad, planned;
    double sec;
} tally;

// Violations of one case, printed; with each option and with less memory.
static void judge(uint64_t number, tally *t, bool all)
{
    problem p = draw(number);
    problem_answer own = problem_plan(&p);
    int bad = bug(&own);
    if (bad || all) print(number, &p, &own);
    t->sec += own.cpu_sec;
    t->planned += own.status == PROBLEM_PLANNED;
    for (int i = 0; i <= N_OPTIONS; i++) {
        problem q = p;
        if (i < N_OPTIONS) q.options = options[i];
        if (i < N_OPTIONS && q.options.micro > 0 && p.model.batch % q.options.micro) continue;
        for (int c = 0; i == N_OPTIONS && c < q.cluster.n_classes; c++)
            q.cluster.cls[c].gb *= 0.9;
        problem_answer x = problem_plan(&q);
        bool slower = x.status == PROBLEM_PLANNED && own.sec > x.sec * SLOWER;
        if (slower || bug(&x)) printf("  %.3f times ", own.sec / x.sec);
        if (slower || bug(&x) || all) print(number, &q, &x);
        bad += slower || bug(&x);
    }
    t->bad += bad > 0;
}

static int list(int cases, uint64_t seed)
{
    double log_sum = 0, sec = 0;
    int n = 0;
    for (int i = 0; i < cases; i++) {
        problem p = draw(seed + (uint64_t)i);
        problem_answer x = problem_plan(&p);
        print(seed + (uint64_t)i, &p, &x);
        sec += x.cpu_sec;
        if (x.status != PROBLEM_PLANNED) continue;
        log_sum += log(x.sec);
        n++;
    }
    printf("%d of %d planned, geometric mean %.6g ms, %.1f s\n", n, cases,
           n > 0 ? exp(log_sum / n) * 1e3 : 0, sec);
    return 0;
}

int main(int argc, char **argv)
{
    tally t = {0};
    if (argc > 2 && strcmp(argv[1], "--case") == 0) {
        uint64_t number = problem_number(argv[2]);
        hb_arena *a = hb_arena_new();
        problem p = draw(number);
        if (argc > 3)
            printf("%.*s\n", HB_ARG(problem_write(a, &p, hb_fmt(a, "%s/tight", argv[3]).p)));
        hb_arena_free(a);
        judge(number, &t, true);
        return t.bad > 0;
    }
    if (argc > 3 && strcmp(argv[1], "--list") == 0)
        return list(atoi(argv[2]), problem_number(argv[3]));
    int cases = argc > 1 ? atoi(argv[1]) : test_cases(2, 10, 40);
    uint64_t seed = argc > 2 ? problem_number(argv[2]) : problem_fresh_seed();
    printf("tight_test %d %llu\n", cases, (unsigned long long)seed);
    for (int i = 0; i < cases; i++)
        judge(seed + (uint64_t)i, &t, false);
    printf("%d of %d planned, %d slower than with an option or less memory, %.1f s\n", t.planned,
           cases, t.bad, t.sec);
    return t.bad > 0;
}
