// The turns of one-sided puts against the bound and a simulation of their own, tick by tick.

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/put_turns.h"
#include "costmodel/cost.h"
#include "tests/support/cases.h"

enum { LEAST = 1 << 20, MOST = 20, TICK = 1 << 18 };

static uint64_t seed = 1;

static int64_t below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed >> 33) % n;
}

static int64_t bound(int n, const int64_t *bytes)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        int64_t out = 0, in = 0;
        for (int j = 0; j < n; j++) {
            out += i == j ? 0 : bytes[i * n + j];
            in += i == j ? 0 : bytes[j * n + i];
        }
        if (out > most) most = out;
        if (in > most) most = in;
    }
    return most;
}

typedef struct course {
    double end, shared; // bytes; of them two or more have sent to one member
    int last[MOST];
} course;

// In each tick a member sends what its share of the receiver's link lets through.
static course simulate(const hap_put_turns *x)
{
    course c = {0};
    int at[MOST], n = x->n;
    double left[MOST];
    for (int i = 0; i < n; i++) {
        at[i] = x->begin[i];
        left[i] = at[i] < x->begin[i + 1] ? (double)x->turn[at[i]].count : 0;
        c.last[i] = -1;
    }
    for (;;) {
        int into[MOST] = {0};
        bool any = false, shared = false;
        for (int i = 0; i < n; i++) {
            while (at[i] < x->begin[i + 1] && left[i] <= 0)
                if (++at[i] < x->begin[i + 1]) left[i] += (double)x->turn[at[i]].count;
            if (at[i] == x->begin[i + 1]) continue;
            any = true;
            shared |= into[x->turn[at[i]].to]++ > 0;
        }
        if (!any) return c;
        for (int i = 0; i < n; i++) {
            if (at[i] == x->begin[i + 1]) continue;
            left[i] -= (double)TICK / into[x->turn[at[i]].to];
            c.last[x->turn[at[i]].to] = i;
        }
        c.end += TICK;
        c.shared += shared ? TICK : 0;
    }
}

// Every byte of every message once, in ascending order, and each other member at least once.
static void check_whole(const hap_put_turns *x, const int64_t *bytes)
{
    int n = x->n;
    ck_assert_int_eq(x->begin[0], 0);
    for (int i = 0; i < n; i++) {
        int64_t done[MOST] = {0};
        int turns[MOST] = {0};
        for (int k = x->begin[i]; k < x->begin[i + 1]; k++) {
            const hap_put_turn *t = &x->turn[k];
            ck_assert(t->to != i && t->to >= 0 && t->to < n);
            ck_assert_int_eq(t->first, done[t->to]);
            done[t->to] += t->count;
            turns[t->to]++;
            ck_assert(t->count >= LEAST || done[t->to] == bytes[i * n + t->to]);
        }
        for (int j = 0; j < n; j++) {
            if (i == j) continue;
            ck_assert_int_eq(done[j], bytes[i * n + j]);
            ck_assert_int_ge(turns[j], 1);
        }
    }
}

static hap_put_turns *turns_of(int n, const int64_t *bytes)
{
    hap_put_turns *x = hap_put_turns_of(n, bytes, LEAST, false);
    ck_assert_ptr_nonnull(x);
    ck_assert_int_eq(x->n, n);
    ck_assert_int_eq(memcmp(x->bytes, bytes, sizeof *bytes * (size_t)(n * n)), 0);
    check_whole(x, bytes);
    return x;
}

static double end_by_distance(int n, const int64_t *bytes)
{
    hap_put_turn turn[MOST * MOST];
    int begin[MOST + 1];
    hap_put_turns x = {.n = n, .begin = begin, .turn = turn};
    for (int i = 0; i <= n; i++)
        begin[i] = i * (n - 1);
    for (int i = 0; i < n; i++)
        for (int d = 1; d < n; d++)
            turn[begin[i] + d - 1] =
                (hap_put_turn){(i + d) % n, i, 0, bytes[i * n + (i + d) % n], false};
    return simulate(&x).end;
}

typedef enum { GATHER, SCATTER, BOTH } kind;

static void messages(kind k, int n, const int64_t *part, int64_t *bytes)
{
    int64_t sum = 1;
    for (int i = 0; i < n; i++)
        sum += part[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            bytes[i * n + j] = i == j        ? 0
                               : k == GATHER ? part[i]
                               : k == SCATTER
                                   ? part[j]
                                   : (int64_t)((double)part[i] * (double)part[j] / (double)sum);
}

START_TEST(equal_messages_go_by_distance)
{
    static const int64_t sizes[] = {0, 1, 4096, 1 << 20, 80000000};
    for (int n = 2; n <= MOST; n++)
        for (int s = 0; s < 5; s++)
            for (int spread = 0; spread < 2; spread++) {
                int64_t bytes[MOST * MOST] = {0};
                for (int i = 0; i < n * n; i++)
                    bytes[i] = i / n == i % n ? 0 : sizes[s] + (spread ? 1 + below(8191) : 0);
                hap_put_turns *x = turns_of(n, bytes);
                for (int i = 0; i < n; i++) {
                    ck_assert_int_eq(x->begin[i], i * (n - 1));
                    for (int d = 1; d < n; d++)
                        ck_assert_msg(x->turn[x->begin[i] + d - 1].to == (i + d) % n,
                                      "n %d size %ld spread %d", n, (long)sizes[s], spread);
                    if (sizes[s] > 8192) ck_assert_int_eq(x->last[i], (i + 1) % n);
                }
                free(x);
            }
}
END_TEST

// Cuts as plans have them: what is known of each is how far from the bound it may be.
START_TEST(known_cuts)
{
    static const struct {
        int n;
        int64_t part[8];
        double within[3];
    } known[] = {
        {4, {132, 132, 64, 64}, {1.02, 1.02, 1.02}},
        {4, {3, 1, 1, 1}, {1.02, 1.02, 1.07}},
        {4, {3, 3, 3, 1}, {1.02, 1.02, 1.02}},
        {4, {4, 3, 2, 1}, {1.02, 1.02, 1.02}},
        {4, {1, 1, 0, 0}, {1.02, 1.02, 1.02}},
        {3, {7, 7, 4}, {1.02, 1.22, 1.02}}, // whose first two would have to wait for the third
        {6, {132, 132, 132, 132, 64, 64}, {1.02, 1.11, 1.07}},
        {8, {132, 132, 132, 132, 64, 64, 64, 64}, {1.02, 1.05, 1.05}},
    };
    for (size_t c = 0; c < sizeof known / sizeof *known; c++)
        for (kind k = GATHER; k <= BOTH; k++) {
            int n = known[c].n;
            int64_t part[8], bytes[64];
            for (int i = 0; i < n; i++)
                part[i] = known[c].part[i] * (k == BOTH ? 100000000 : 30000000);
            messages(k, n, part, bytes);
            hap_put_turns *x = turns_of(n, bytes);
            double end = simulate(x).end / (double)bound(n, bytes);
            ck_assert_msg(end <= known[c].within[k] + 0.01, "cut %zu kind %d: %.3f", c, (int)k,
                          end);
            free(x);
        }
}
END_TEST

// An all-gather's bound is reached; no order is slower than that by distance.
START_TEST(random_cuts)
{
    double sum[3] = {0};
    int n_cases[3] = {0};
    for (int round = 0; round < test_cases(15, 90, 90); round++) {
        kind k = (kind)(round % 3);
        int n = 2 + (int)below(7);
        int64_t part[MOST], bytes[MOST * MOST], classes[2] = {below(50), below(50)};
        bool two = below(2) == 1;
        for (int i = 0; i < n; i++) {
            part[i] = two ? classes[below(2)] : below(50);
            if (below(8) == 0) part[i] = 0;
            part[i] = part[i] * (k == BOTH ? 50000000 : 8000000) + below(4096);
        }
        messages(k, n, part, bytes);
        int64_t least = bound(n, bytes);
        if (least < 400000000) continue;
        hap_put_turns *x = turns_of(n, bytes);
        course c = simulate(x);
        double end = c.end / (double)least, distance = end_by_distance(n, bytes) / (double)least;
        ck_assert_msg(end >= 0.999, "round %d: %.3f of the bound", round, end);
        ck_assert_msg(end <= distance * 1.005, "round %d: %.3f, by distance %.3f", round, end,
                      distance);
        if (k == GATHER) ck_assert_msg(end <= 1.1, "round %d: %.3f of the bound", round, end);
        sum[k] += end;
        n_cases[k]++;
        free(x);
    }
    ck_assert_double_le(sum[GATHER] / n_cases[GATHER], 1.02);
    ck_assert_double_le(sum[SCATTER] / n_cases[SCATTER], 1.06);
    ck_assert_double_le(sum[BOTH] / n_cases[BOTH], 1.03);
}
END_TEST

// Of an all-gather in which some pass on what they got: every byte comes to everybody once, what is
// passed on is there before, on whoever's list that stands. Ticks as above. Returns the end.
static double simulate_passing(const hap_put_turns *x, const int64_t *part)
{
    int at[MOST], n = x->n;
    double left[MOST], end = 0;
    bool told[MOST] = {false};
    int64_t got[MOST][MOST] = {{0}}; // [whose][at whom], bytes
    for (int i = 0; i < n; i++) {
        at[i] = x->begin[i];
        left[i] = (double)x->turn[at[i]].count;
    }
    for (int idle = 0; idle < 2;) {
        int into[MOST] = {0};
        bool sends[MOST] = {false}, any = false;
        for (int i = 0; i < n; i++) {
            while (at[i] < x->begin[i + 1] && left[i] <= 0) {
                const hap_put_turn *t = &x->turn[at[i]];
                got[t->of][t->to] += t->count;
                told[i] |= t->tells;
                if (++at[i] < x->begin[i + 1]) left[i] += (double)x->turn[at[i]].count;
            }
            if (at[i] == x->begin[i + 1]) continue;
            const hap_put_turn *t = &x->turn[at[i]];
            sends[i] = t->of == i || told[t->of];
            ck_assert(!sends[i] || t->of == i || got[t->of][i] >= t->first + t->count);
            any |= sends[i];
            into[t->to] += sends[i];
        }
        for (int i = 0; i < n; i++)
            if (sends[i]) left[i] -= (double)TICK / into[x->turn[at[i]].to];
        end += TICK;
        idle = any ? 0 : idle + 1;
    }
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(at[i], x->begin[i + 1]);
        for (int j = 0; j < n; j++)
            if (i != j) ck_assert_int_eq(got[i][j], part[i]);
    }
    return end;
}

// Whose bytes a member sends another: ranges that follow one another and are of each whole.
static void check_ranges(const hap_put_turns *x, const int64_t *part)
{
    for (int j = 0; j < x->n; j++)
        for (int of = 0; of < x->n; of++) {
            int64_t sum = 0;
            if (of == j) continue;
            for (int k = 0; k < x->begin[x->n]; k++) {
                const hap_put_turn *t = &x->turn[k];
                if (t->to != j || t->of != of) continue;
                ck_assert(t->first >= 0 && t->first + t->count <= part[of]);
                sum += t->count;
                for (int l = 0; l < k; l++) {
                    const hap_put_turn *u = &x->turn[l];
                    if (u->to == j && u->of == of && u->count && t->count)
                        ck_assert(u->first + u->count <= t->first ||
                                  t->first + t->count <= u->first);
                }
            }
            ck_assert_int_eq(sum, part[of]);
        }
}

START_TEST(parts_are_passed_on)
{
    static const struct {
        int n;
        int64_t part[8];
        double within; // of the part of all
    } known[] = {
        {4, {132, 132, 64, 64}, 0.87},
        {8, {132, 132, 132, 132, 64, 64, 64, 64}, 1.03},
        {4, {3, 1, 1, 1}, 1.21},
    };
    int passed = 0;
    for (size_t c = 0; c < sizeof known / sizeof *known; c++) {
        int64_t part[8], bytes[64], sum = 0;
        for (int i = 0; i < known[c].n; i++)
            sum += part[i] = known[c].part[i] * 10000000 + i;
        messages(GATHER, known[c].n, part, bytes);
        hap_put_turns *x = hap_put_turns_of(known[c].n, bytes, LEAST, true);
        check_ranges(x, part);
        double end = simulate_passing(x, part) / (double)sum;
        ck_assert_msg(end <= known[c].within, "cut %zu: %.3f", c, end);
        free(x);
    }
    for (int round = 0; round < test_cases(12, 60, 60); round++) {
        int n = 2 + (int)below(7);
        int64_t part[MOST], bytes[MOST * MOST], classes[2] = {below(50), below(50)};
        for (int i = 0; i < n; i++)
            part[i] = (below(3) ? classes[below(2)] : below(50)) * 8000000 + below(4096);
        messages(GATHER, n, part, bytes);
        hap_put_turns *x = hap_put_turns_of(n, bytes, LEAST, true), *y = turns_of(n, bytes);
        check_ranges(x, part);
        double end = simulate_passing(x, part);
        ck_assert_double_le(end, simulate(y).end * 1.005 + 4 * TICK);
        for (int k = 0; k < x->begin[n]; k++)
            passed += x->turn[k].tells;
        free(x);
        free(y);
    }
    ck_assert_int_gt(passed, test_cases(0, 10, 10));
}
END_TEST

// Any matrix.
START_TEST(random_messages)
{
    for (int round = 0; round < test_cases(12, 60, 60); round++) {
        int n = 2 + (int)below(MOST - 2);
        int64_t bytes[MOST * MOST] = {0};
        int64_t most = round % 3 ? 20000000 : 3000000;
        for (int i = 0; i < n * n; i++)
            if (i / n != i % n && below(4)) bytes[i] = below(most);
        hap_put_turns *x = turns_of(n, bytes);
        double end = simulate(x).end, distance = end_by_distance(n, bytes);
        ck_assert_double_le(end, distance * 1.06 + TICK);
        if (n > HAP_TURN_MEMBERS) ck_assert_double_eq(end, distance);
        free(x);
    }
}
END_TEST

// The member whose bytes are said to come last is the one of the simulation, which is in doubt
// where two come in the same ticks.
START_TEST(last_comes_last)
{
    static const int64_t part[4] = {79000000, 79300000, 38000000, 37500000};
    for (kind k = GATHER; k <= BOTH; k++) {
        int64_t bytes[16];
        messages(k, 4, part, bytes);
        hap_put_turns *x = turns_of(4, bytes);
        course c = simulate(x);
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(c.last[i], x->last[i]);
        free(x);
    }
    int64_t none[9] = {0, 0, 5000000, 0, 0, 5000000, 0, 0, 0};
    hap_put_turns *x = turns_of(3, none);
    ck_assert_int_eq(x->last[0], -1);
    ck_assert_int_eq(x->last[1], -1);
    ck_assert_int_ge(x->last[2], 0);
    free(x);
}
END_TEST

// What the planner takes an all-gather of GPUs for, against its turns; without a link of GPUs, as
// if nothing were passed on.
START_TEST(prices_of_gathers)
{
    static const cl_link gpus = {.bandwidth = 1 / 0.95, .peer = true, .gpus = true},
                         alone = {.bandwidth = 1 / 0.95, .peer = true};
    double sum = 0, off = 0, off_alone = 0;
    int n_cases = 0;
    seed = 5;
    for (int round = 0; round < test_cases(20, 120, 120); round++) {
        int n = 2 + (int)below(7);
        int64_t part[MOST], bytes[MOST * MOST], all = 0,
                                                classes[2] = {1 + below(50), 1 + below(50)};
        for (int i = 0; i < n; i++)
            all += part[i] = (below(3) ? classes[below(2)] : below(50)) * 8000000 + below(4096);
        if (all < 400000000) continue;
        messages(GATHER, n, part, bytes);
        hap_put_turns *x = hap_put_turns_of(n, bytes, LEAST, true);
        cost_shards s = {.n = n, .table = part, .bytes = (double)all, .apart = 1};
        double took = simulate_passing(x, part);
        double price = cost_collective(COST_ALL_GATHER, COST_PUT(1), &s, gpus) / took;
        ck_assert_msg(price > 0.68 && price < 1.25, "round %d: %.3f", round, price);
        ck_assert_double_eq_tol(cost_even_bytes(COST_ALL_GATHER, COST_PUT(1), &s, gpus) * (n - 1) /
                                    n,
                                price * took, 1e-4 * took); // but for latency
        sum += price;
        off += fabs(price - 1);
        off_alone += fabs(cost_collective(COST_ALL_GATHER, COST_PUT(1), &s, alone) / took - 1);
        n_cases++;
        free(x);
    }
    ck_assert_double_eq_tol(sum / n_cases, 1, 0.04);
    ck_assert_double_lt(off / n_cases, 0.08);
    ck_assert_double_gt(off_alone / n_cases, 2 * off / n_cases);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("one-sided put turns");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, equal_messages_go_by_distance);
    tcase_add_test(t, known_cuts);
    tcase_add_test(t, random_cuts);
    tcase_add_test(t, parts_are_passed_on);
    tcase_add_test(t, prices_of_gathers);
    tcase_add_test(t, random_messages);
    tcase_add_test(t, last_comes_last);
    suite_add_tcase(s, t);
    SRunner *run = srunner_create(s);
    srunner_run_all(run, CK_NORMAL);
    int failed = srunner_ntests_failed(run);
    srunner_free(run);
    return failed;
}
