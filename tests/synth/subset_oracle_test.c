// Which devices: what hapc plans for a cluster against the best of its plans for every subset of
// the devices, each a cluster file of its own. Subsets are counts of each class in each machine;
// machines that are alike are not told apart. Random problems of tests/support/problem.h on at most
// 8 devices of at most 6 kinds.
//
//     subset_oracle_test [CASES [SEED]]       SEED: printed by each run; few layers from 1000000000
//     subset_oracle_test --case NUMBER [DIR]  one again, a line a subset; DIR/whole.*, DIR/best.*

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/problem.h"

enum { MOST_KINDS = 6, MOST_DEVICES = 8 };
// Sanitized, a plan takes minutes of the time that 63 others want as well.
enum { MOST_SUBSETS = TEST_SANITIZED ? 8 : 64 };
static const double NEAR = 1.01, WANTED = 0.98;
static const uint64_t SMALL = 1000000000; // cases from here on have few layers

// The devices that differ: a class in a machine, or in several machines that are alike.
typedef struct subset {
    int n, machine[PROBLEM_MACHINES * PROBLEM_GROUPS], group[PROBLEM_MACHINES * PROBLEM_GROUPS];
    int most[PROBLEM_MACHINES * PROBLEM_GROUPS], take[PROBLEM_MACHINES * PROBLEM_GROUPS];
} subset;

static subset first_subset(const problem_cluster *c)
{
    subset s = {0};
    for (int m = 0; m < c->n_machines; m++)
        for (int g = 0; g < c->machine[m].n_groups; g++) {
            s.machine[s.n] = m;
            s.group[s.n] = g;
            s.most[s.n++] = c->machine[m].group[g].n;
        }
    return s;
}

static bool next_subset(subset *s)
{
    int i = 0;
    while (i < s->n && s->take[i] == s->most[i])
        s->take[i++] = 0;
    if (i < s->n) s->take[i]++;
    return i < s->n;
}

static bool alike(const problem_machine *a, const problem_machine *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

// Of subsets that differ by the order of machines that are alike, the first takes most.
static bool canonical(const problem_cluster *c, const subset *s)
{
    for (int i = 0, at = 0; i + 1 < c->n_machines; at += c->machine[i++].n_groups) {
        int n = c->machine[i].n_groups;
        if (!alike(&c->machine[i], &c->machine[i + 1])) continue;
        int k = 0;
        while (k < n && s->take[at + k] == s->take[at + n + k])
            k++;
        if (k < n && s->take[at + k] < s->take[at + n + k]) return false;
    }
    return true;
}

static problem_cluster restricted(const problem_cluster *c, const subset *s)
{
    problem_cluster out = *c;
    memset(out.machine, 0, sizeof out.machine);
    out.n_machines = 0;
    for (int m = 0, at = 0; m < c->n_machines; m++) {
        problem_machine x = {.gbps = c->machine[m].gbps, .us = c->machine[m].us};
        for (int g = 0; g < c->machine[m].n_groups; g++, at++)
            if (s->take[at] > 0)
                x.group[x.n_groups++] =
                    (struct problem_group){c->machine[m].group[g].cls, s->take[at]};
        if (x.n_groups > 0) out.machine[out.n_machines++] = x;
    }
    return out;
}

static int n_subsets(const problem_cluster *c)
{
    subset s = first_subset(c);
    int n = 0;
    while (next_subset(&s))
        n += canonical(c, &s);
    return n;
}

// Machines that are alike stand side by side, so that canonical() sees them.
static void sort_machines(problem_cluster *c)
{
    for (int i = 1; i < c->n_machines; i++)
        for (int k = i; k > 0; k--) {
            problem_machine *a = &c->machine[k - 1], *b = &c->machine[k], x = *a;
            if (memcmp(a, b, sizeof *a) <= 0) break;
            *a = *b;
            *b = x;
        }
}

static problem draw(uint64_t number)
{
    random_source r = {hb_hash(&number, sizeof number)};
    for (;;) {
        problem p = problem_random(&r, (problem_sizes){.max_devices = MOST_DEVICES,
                                                       .max_classes = MOST_KINDS,
                                                       .few_layers = number >= SMALL});
        problem_cluster *c = &p.cluster;
        if (c->n_machines > 1 && random_below(&r, 2)) // two that are alike
            c->machine[1] = c->machine[0];
        sort_machines(c);
        int kinds = first_subset(c).n, subsets = n_subsets(c);
        if (problem_devices(c) <= MOST_DEVICES && kinds <= MOST_KINDS && subsets > 1 &&
            subsets <= MOST_SUBSETS)
            return p;
    }
}

typedef struct verdict {
    problem whole, best;
    problem_answer got, could;
    int subsets, late;
    double ratio, seconds; // ratio 0: no plan for any subset
} verdict;

static verdict judge(uint64_t number, bool lines)
{
    verdict v = {.whole = draw(number)};
    v.best = v.whole;
    v.got = v.could = problem_plan(&v.whole);
    v.seconds = v.got.cpu_sec;
    subset s = first_subset(&v.whole.cluster);
    while (next_subset(&s)) {
        problem p = v.whole;
        if (!canonical(&v.whole.cluster, &s)) continue;
        p.cluster = restricted(&v.whole.cluster, &s);
        problem_answer x = problem_plan(&p);
        v.subsets++;
        v.late += x.status == PROBLEM_LATE;
        v.seconds += x.cpu_sec;
        if (lines) {
            hb_arena *a = hb_arena_new();
            printf("%10.6g ms %6.2f s  %.*s %s\n", x.sec * 1e3, x.cpu_sec,
                   HB_ARG(problem_summary(a, &p)), x.why);
            hb_arena_free(a);
        }
        if (x.sec >= v.could.sec) continue;
        v.could = x;
        v.best = p;
    }
    v.ratio = isfinite(v.could.sec) ? v.got.sec / v.could.sec : 0;
    return v;
}

static bool far(const verdict *v)
{
    return v->ratio > NEAR;
}

static void print_verdict(uint64_t number, const verdict *v)
{
    hb_arena *a = hb_arena_new();
    printf(
        "%s %.4f  %.6g ms, could be %.6g; %d subsets, %d late, %.1f s  subset_oracle_test --case "
        "%llu\n    %.*s\n",
        far(v) ? "MISSED" : "ok    ", v->ratio, v->got.sec * 1e3, v->could.sec * 1e3, v->subsets,
        v->late, v->seconds, (unsigned long long)number, HB_ARG(problem_summary(a, &v->whole)));
    if (far(v))
        printf("    %s; best: %s of %.*s\n", v->got.plan, v->could.plan,
               HB_ARG(problem_summary(a, &v->best)));
    if (v->got.why[0]) printf("    %s\n", v->got.why);
    hb_arena_free(a);
}

static void write_verdict(const verdict *v, const char *dir, const char *base)
{
    hb_arena *a = hb_arena_new();
    hb_str whole = problem_write(a, &v->whole, hb_fmt(a, "%s/%swhole", dir, base).p),
           best = problem_write(a, &v->best, hb_fmt(a, "%s/%sbest", dir, base).p);
    printf("    %.*s\n    %.*s\n", HB_ARG(whole), HB_ARG(best));
    hb_arena_free(a);
}

// strict: WANTED of the cases are near, or all but one; else by tests/support/cases.h.
static int sweep(int cases, uint64_t seed, const char *dir, bool strict)
{
    static const double step[] = {1.0001, 1.005, 1.01, 1.02, 1.05, 1.2, HUGE_VAL};
    int within[7] = {0}, compared = 0;
    double worst = 0, most = 0, seconds = 0;
    hb_arena *a = hb_arena_new();
    for (uint64_t i = seed; compared < cases; i++) {
        verdict v = judge(i, false);
        seconds += v.seconds;
        if (far(&v) || dir) print_verdict(i, &v);
        if (far(&v) && dir) write_verdict(&v, dir, hb_fmt(a, "%llu-", (unsigned long long)i).p);
        fflush(stdout);
        if (v.ratio <= 0) continue;
        compared++;
        for (int k = 0; k < 7; k++)
            within[k] += v.ratio <= step[k];
        if (isfinite(v.ratio)) worst = fmax(worst, v.ratio);
        most = fmax(most, v.ratio);
    }
    for (int k = 0; k < 6; k++)
        printf("within %5.2f %%: %d of %d\n", (step[k] - 1) * 100, within[k], compared);
    printf("worst %.3f, %d without a plan; %.0f s\n", worst, compared - within[6], seconds);
    hb_arena_free(a);
    if (strict) return within[2] < WANTED * compared - 1; // of few one may be far
    return compared - within[2] > test_may_miss(compared) || most > TEST_MUCH;
}

// Cases that were missed, with their cause, run each time. A change of tests/support/problem*.c
// makes other cases of these numbers.
static const struct kept {
    uint64_t number;
    bool slow; // some seconds: at night
    const char *cause;
} kept[] = {
    {17954123323140003, false, "data parallel on five of eight devices was no proposal"},
    {17954123323140005, false, "three of six devices, two and two"},
    {17954131375940003, true, "in tight memory three of six devices had no variants of their own"},
    {555000000011, false, "two layers' gradients in one bucket, for which the step waited"},
    {555000000029, false, "a set of its own was followed less far than a cluster of its own"},
    {555000000030, false, "fewer micro-batches were thought not to fit, by memory left out"},
    {555000000053, true, "in tight memory five of eight devices had no variants of their own"},
    {555000000077, true, "of the best devices all gradients were one bucket"},
    {559000000003, false, "links were ranked by bandwidth alone, where latency was most of it"},
    {718530006, true, "all work went into one number of micro-batches before others had any"},
    {1795480518055094, true, "the best plan of a smaller set was not finished, and is better then"},
    {1795480518055018, true, "the same, on one axis beside two"},
    {1795480518055085, true,
     "data parallel was no proposal for six devices whose first plan was far"},
    {17960700499820003, false,
     "what is done for the plan that wins alone gains 8 % on six devices, nothing on seven"},
    {555000000092, true, "nor had six of seven; and tensor parallel leads to the best plan there"},
};

static int run_kept(bool night)
{
    int bad = 0, n = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (kept[i].slow && !night) continue;
        verdict v = judge(kept[i].number, false);
        n++;
        if (!far(&v)) continue;
        print_verdict(kept[i].number, &v);
        printf("    then: %s\n", kept[i].cause);
        bad++;
    }
    printf("%d of %d kept cases are missed\n", bad, n);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--case") == 0) {
        verdict v = judge(problem_number(argv[2]), true);
        print_verdict(problem_number(argv[2]), &v);
        if (argc > 3) write_verdict(&v, argv[3], "");
        return far(&v);
    }
    if (argc > 5 && strcmp(argv[1], "--list") == 0) problem_seconds = atoi(argv[5]);
    if (argc > 4 && strcmp(argv[1], "--list") == 0)
        return sweep(atoi(argv[2]), problem_number(argv[3]), argv[4], true);
    int cases = argc > 1 ? atoi(argv[1]) : test_cases(1, 6, 20);
    uint64_t seed = argc > 2 ? problem_number(argv[2]) : problem_fresh_seed();
    bool night = test_cases(0, 0, 1) == 1;
    if (argc == 2 || night) seed %= SMALL;
    printf("subset_oracle_test %d %llu\n", cases, (unsigned long long)seed);
    int bad = TEST_SANITIZED ? 0 : run_kept(night);
    return sweep(cases, seed, NULL, argc > 1 || night) || bad > 0;
}
