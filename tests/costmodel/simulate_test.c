#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "costmodel/cost.h"

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static cost_event work(double a, double b)
{
    return (cost_event){.kind = COST_COMPUTE, .sec = {a, b}};
}

static cost_event begin(int stream, double sec)
{
    return (cost_event){.kind = COST_START, .sec = {sec}, .stream = stream};
}

static cost_event until(int of)
{
    return (cost_event){.kind = COST_WAIT, .of = of};
}

#define RUN(n_classes, t, ...)                                                                     \
    do {                                                                                           \
        cost_event e_[] = {__VA_ARGS__};                                                           \
        cost_simulate(arena, (n_classes), NULL, e_, (int)(sizeof e_ / sizeof *e_), NULL, true,     \
                      &(t));                                                                       \
    } while (0)

START_TEST(one_class_in_a_row)
{
    cost_timeline t;
    RUN(1, t, work(3, 0), work(4, 0));
    ck_assert_double_eq(t.total, 7);
    ck_assert_double_eq(t.busy[0], 7);
    ck_assert_double_eq(t.stalled[0], 0);
    ck_assert_double_eq(t.begin[1], 3);
    ck_assert_double_eq(t.end[1], 7);
    ck_assert_double_eq(t.comm, 0);
}
END_TEST

//   class 0  |--3--|..........|-1-|          starts at 5, when the slower class is there
//   class 1  |----5----|......|-2-|
//   stream             |--4--|
static cost_event both(const cost_pair_event *p, double a, double b)
{
    return (cost_event){.kind = COST_PAIR, .pair = p, .sec = {a, b}};
}

//   class 0  |-2-|.|---3---|-1-|         products of 3 that end 4 after the begin
//   class 1  |-1-|..|--2.5--|.|-1-|      ... of 2.5
//   stream       |--3.5--|
START_TEST(a_consumer_ends_as_a_whole)
{
    cost_timeline t;
    cost_pair_event p = {true, {3, 2.5}, {0}, 3.5, 4, 2};
    cost_event member = {.kind = COST_MEMBER};
    RUN(2, t, work(2, 1), both(&p, 4, 3.75), member, work(1, 1));
    ck_assert_double_eq(t.begin[1 * 2], 2); // the transfer
    ck_assert_double_eq(t.end[1 * 2], 5.5);
    ck_assert_double_eq(t.begin[2 * 2], 3); // the matmuls
    ck_assert_double_eq(t.end[2 * 2], 6);
    ck_assert_double_eq(t.end[2 * 2 + 1], 5.75);
    ck_assert_double_eq(t.total, 7);
    ck_assert_double_eq(t.busy[0], 6);
    ck_assert_double_eq(t.busy[1], 4.5);
    ck_assert_double_eq(t.comm, 3.5);
    ck_assert_double_eq(t.hidden, (2.5 + 2.25) / 2);
    // Class 1 is there 1 before: it has made 0.75 of its own rows, and would have waited for 1.25.
    p.own[0] = p.own[1] = 0.75;
    RUN(2, t, work(2, 1), both(&p, 4, 3.75), member, work(1, 1));
    ck_assert_double_eq(t.end[2 * 2 + 1], 5.75);
    RUN(2, t, work(2, 1), both(&p, 4, 2.75), member, work(1, 1)); // ... for 0.25
    ck_assert_double_eq(t.end[2 * 2 + 1], 4.25);
    ck_assert_double_eq(t.begin[2 * 2 + 1], 1.75);
    p.own[0] = p.own[1] = 0;
    // Where the stream is taken, it begins later.
    RUN(1, t, begin(0, 5), work(1, 0), both(&p, 4, 0), work(1, 0));
    ck_assert_double_eq(t.begin[2], 5);
    ck_assert_double_eq(t.total, 10);
}
END_TEST

//   class 0  |--3--|-1-|...|-1-|       the transfer ends 5 after the begin
//   stream       |--3--|
START_TEST(a_producer_goes_on)
{
    cost_timeline t;
    cost_pair_event p = {false, {3, 2}, {0}, 3, 5, 0};
    cost_event member = {.kind = COST_MEMBER};
    RUN(2, t, member, both(&p, 3, 2), work(1, 4), until(1), work(1, 1));
    ck_assert_double_eq(t.begin[1 * 2], 2);
    ck_assert_double_eq(t.end[1 * 2], 5);
    ck_assert_double_eq(t.begin[4 * 2], 5);
    ck_assert_double_eq(t.begin[4 * 2 + 1], 6);
    ck_assert_double_eq(t.total, 7);
    ck_assert_double_eq(t.hidden, (2.0 + 3.0) / 2);
    RUN(1, t, begin(0, 6), both(&p, 3, 0), until(1)); // behind another transfer
    ck_assert_double_eq(t.begin[1], 6);
    ck_assert_double_eq(t.total, 9);
}
END_TEST

START_TEST(a_collective_waits_for_the_slowest)
{
    cost_timeline t;
    RUN(2, t, work(3, 5), begin(0, 4), until(1), work(1, 2));
    ck_assert_double_eq(t.begin[1 * 2], 5);
    ck_assert_double_eq(t.end[1 * 2], 9);
    ck_assert_double_eq(t.begin[2 * 2], 3); // the fast class arrives, the last leaves
    ck_assert_double_eq(t.end[2 * 2], 9);
    ck_assert_double_eq(t.begin[3 * 2 + 1], 9);
    ck_assert_double_eq(t.end[3 * 2 + 1], 11);
    ck_assert_double_eq(t.total, 11);
    ck_assert_double_eq(t.busy[0], 4);
    ck_assert_double_eq(t.busy[1], 7);
    ck_assert_double_eq(t.stalled[0], 7);
    ck_assert_double_eq(t.stalled[1], 4);
    ck_assert_double_eq(t.comm, 4);
    ck_assert_double_eq(t.hidden, 0);
}
END_TEST

// Work between start and wait hides; classes differ in how much (mean), and the fast class's work
// before the collective begins hides nothing.
//   class 0  |1|--4---|....|        begins at 3: [3,5) of its work lies under the collective
//   class 1  |-3-|-1-|.....|        [3,4)
//   stream       |----5----|
START_TEST(overlap_is_counted_by_class)
{
    cost_timeline t;
    RUN(2, t, work(1, 3), begin(0, 5), work(4, 1), until(1));
    ck_assert_double_eq(t.total, 8);
    ck_assert_double_eq(t.hidden, (2 + 1) / 2.0);
    ck_assert_double_eq(t.stalled[0], 3);
    ck_assert_double_eq(t.stalled[1], 4);
}
END_TEST

START_TEST(one_stream_runs_in_order_and_two_together)
{
    cost_timeline t;
    RUN(1, t, begin(0, 4), begin(0, 3), work(2, 0), until(0), work(1, 0), until(1));
    ck_assert_double_eq(t.begin[1], 4);
    ck_assert_double_eq(t.end[1], 7);
    ck_assert_double_eq(t.total, 7);
    ck_assert_double_eq(t.hidden, 3); // 2 under the first, 1 under the second
    RUN(1, t, begin(0, 4), begin(1, 3), work(2, 0), until(0), work(1, 0), until(1));
    ck_assert_double_eq(t.begin[1], 0);
    ck_assert_double_eq(t.total, 5);
    ck_assert_double_eq(t.hidden, 4); // 2 under each
}
END_TEST

START_TEST(waits_may_be_missing_late_or_repeated)
{
    cost_timeline t;
    RUN(1, t, work(1, 0), begin(0, 6)); // nobody waits: the step still ends with it
    ck_assert_double_eq(t.total, 7);
    ck_assert_double_eq(t.stalled[0], 6);
    RUN(1, t, begin(0, 2), work(5, 0), until(0), until(0), work(1, 0));
    ck_assert_double_eq(t.total, 6);
    ck_assert_double_eq(t.hidden, 2);
    ck_assert_double_eq(t.stalled[0], 0);
}
END_TEST

START_TEST(nothing_takes_no_time)
{
    cost_timeline t;
    cost_event none[1] = {{0}};
    cost_simulate(arena, 3, NULL, none, 0, NULL, false, &t);
    ck_assert_double_eq(t.total, 0);
    ck_assert_ptr_null(t.begin);
    RUN(1, t, work(0, 0), begin(0, 0), until(1));
    ck_assert_double_eq(t.total, 0);
}
END_TEST

// --- random programs against a simulation in time steps ---
static uint64_t state = 5;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((uint32_t)(state >> 33) % (uint32_t)below);
}

enum { EVENTS = 24, STREAMS = 2 };

// Integer times, one unit a step. Every class has a place in the program; a START is reached when
// its place passes it; the head of each stream's queue runs once all classes have reached it.
static void by_steps(int n_classes, const cost_event *e, int n, int *total, int *stalled,
                     double *hidden)
{
    int at[CL_MAX_CLASSES] = {0}, left[CL_MAX_CLASSES], comm_left[EVENTS],
        busy[CL_MAX_CLASSES] = {0};
    bool done[EVENTS] = {false};
    for (int i = 0; i < n; i++)
        comm_left[i] = (int)e[i].sec[0];
    for (int c = 0; c < n_classes; c++)
        left[c] = -1;
    *hidden = 0;
    for (int now = 0;; now++) {
        // What takes no time happens until nothing changes.
        for (bool moved = true; moved;) {
            moved = false;
            for (int c = 0; c < n_classes; c++) {
                while (at[c] < n) {
                    const cost_event *x = &e[at[c]];
                    if (x->kind == COST_WAIT && !done[x->of]) break;
                    if (x->kind == COST_COMPUTE) {
                        if (left[c] < 0) left[c] = (int)x->sec[c];
                        if (left[c] > 0) break;
                        left[c] = -1;
                    }
                    at[c]++;
                    moved = true;
                }
            }
            for (int s = 0; s < STREAMS; s++)
                for (int i = 0; i < n; i++) {
                    if (e[i].kind != COST_START || e[i].stream != s || done[i]) continue;
                    bool reached = true;
                    for (int c = 0; c < n_classes; c++)
                        reached = reached && at[c] > i;
                    if (!reached || comm_left[i] > 0) break;
                    done[i] = moved = true;
                }
        }
        bool over = true;
        for (int c = 0; c < n_classes; c++)
            over = over && at[c] == n;
        for (int i = 0; i < n; i++)
            over = over && (e[i].kind != COST_START || done[i]);
        if (over) {
            *total = now;
            for (int c = 0; c < n_classes; c++)
                stalled[c] = now - busy[c];
            return;
        }
        int running = 0;
        for (int s = 0; s < STREAMS; s++)
            for (int i = 0; i < n; i++) {
                if (e[i].kind != COST_START || e[i].stream != s || done[i]) continue;
                bool reached = true;
                for (int c = 0; c < n_classes; c++)
                    reached = reached && at[c] > i;
                if (reached) {
                    comm_left[i]--;
                    running++;
                }
                break;
            }
        for (int c = 0; c < n_classes; c++)
            if (left[c] > 0) {
                left[c]--;
                busy[c]++;
                *hidden += (double)running / n_classes;
            }
    }
}

START_TEST(random_programs_equal_time_steps)
{
    for (int round = 0; round < 2000; round++) {
        cost_event e[EVENTS];
        int n = 1 + draw(EVENTS), n_classes = 1 + draw(3), total, stalled[CL_MAX_CLASSES];
        int started[EVENTS], n_started = 0;
        double hidden;
        for (int i = 0; i < n; i++) {
            int kind = draw(n_started ? 3 : 2);
            e[i] = (cost_event){.kind = (cost_event_kind)kind, .stream = draw(STREAMS)};
            for (int c = 0; c < n_classes; c++)
                e[i].sec[c] = draw(6);
            if (kind == COST_START) started[n_started++] = i;
            if (kind == COST_WAIT) e[i].of = started[draw(n_started)];
        }
        cost_timeline t;
        cost_simulate(arena, n_classes, NULL, e, n, NULL, false, &t);
        by_steps(n_classes, e, n, &total, stalled, &hidden);
        ck_assert_double_eq(t.total, total);
        for (int c = 0; c < n_classes; c++)
            ck_assert_double_eq(t.stalled[c], stalled[c]);
        ck_assert_double_eq_tol(t.hidden, hidden, 1e-9);
    }
}
END_TEST

#define BESIDE(k, n_classes, t, ...)                                                               \
    do {                                                                                           \
        cost_event e_[] = {__VA_ARGS__};                                                           \
        cost_simulate(arena, (n_classes), (k), e_, (int)(sizeof e_ / sizeof *e_), NULL, true,      \
                      &(t));                                                                       \
    } while (0)

// Computing is 1.5 times slower beside communication, communication twice.
START_TEST(contention_slows_both)
{
    static const cost_contentions k[] = {{{{1.5, 2}, {1, 1}}}, {{{1, 1}, {1, 1}}}};
    cost_timeline t;
    // 4 s of communication take 8 beside computing, which does 8 / 1.5 meanwhile and 10 - 5.33
    // then.
    BESIDE(k, 1, t, begin(0, 4), work(10, 0), until(0));
    ck_assert_double_eq_tol(t.end[0], 8, 1e-9);
    ck_assert_double_eq_tol(t.total, 8 + (10 - 8 / 1.5), 1e-9);
    ck_assert_double_eq_tol(t.hidden, 8, 1e-9);
    // 2 s of computing take 3, in which 1.5 of 4 are sent; the rest goes alone.
    BESIDE(k, 1, t, begin(0, 4), work(2, 0), until(0), work(1, 0));
    ck_assert_double_eq_tol(t.end[1], 3, 1e-9);
    ck_assert_double_eq_tol(t.end[0], 3 + 2.5, 1e-9);
    ck_assert_double_eq_tol(t.total, 6.5, 1e-9);
    // In pieces the same; a collective behind it on the stream begins later, too.
    BESIDE(k, 1, t, begin(0, 4), begin(0, 1), work(0.5, 0), work(0.5, 0), work(1, 0), until(0),
           until(1));
    ck_assert_double_eq_tol(t.end[0], 5.5, 1e-9);
    ck_assert_double_eq_tol(t.begin[1], 5.5, 1e-9);
    ck_assert_double_eq_tol(t.total, 6.5, 1e-9);
    // Nothing beside: nothing slows down.
    BESIDE(k, 1, t, work(3, 0), begin(0, 4), until(1), work(3, 0));
    ck_assert_double_eq(t.total, 10);
    // The collective ends when it has ended for the slowest class.
    BESIDE(k, 2, t, begin(0, 4), work(2, 4), until(0));
    ck_assert_double_eq_tol(t.end[0], 5.5, 1e-9);
    ck_assert_double_eq_tol(t.end[1 * 2 + 1], 4, 1e-9);
}
END_TEST

// Copies take no processor: beside them computing hardly slows down.
START_TEST(puts_slow_less)
{
    static const cost_contentions k[] = {{{{1.5, 2}, {1.25, 1}}}};
    cost_event put = {.kind = COST_START, .sec = {4}, .put = true};
    cost_timeline t;
    BESIDE(k, 1, t, put, work(2, 0), until(0));
    ck_assert_double_eq_tol(t.end[1], 2.5, 1e-9);
    ck_assert_double_eq_tol(t.end[0], 4, 1e-9);
    // Beside both kinds, on two streams, it goes as beside the worse.
    put.stream = 1;
    BESIDE(k, 1, t, begin(0, 4), put, work(2, 0), until(0), until(1));
    ck_assert_double_eq_tol(t.end[2], 3, 1e-9);
    ck_assert_double_eq_tol(t.end[0], 3 + 2.5, 1e-9);
    ck_assert_double_eq_tol(t.end[1], 4, 1e-9);
}
END_TEST

// What nothing slows beside takes its time, and so does what computes beside it.
START_TEST(a_quiet_collective_slows_nothing)
{
    static const cost_contentions k[] = {{{{1.5, 2}, {1, 1}}}};
    for (int quiet = 0; quiet < 2; quiet++) {
        cost_event e[] = {{.kind = COST_START, .sec = {4}, .quiet = quiet > 0},
                          {.kind = COST_COMPUTE, .sec = {10}},
                          {.kind = COST_WAIT, .of = 0}};
        cost_timeline t;
        cost_simulate(arena, 1, k, e, 3, NULL, false, &t);
        // Beside each other for 8, of which the op gets 16 / 3 done.
        ck_assert_double_eq_tol(t.total, quiet ? 10 : 8 + 10 - 16 / 3.0, 1e-12);
        ck_assert_double_eq_tol(t.comm, quiet ? 4 : 8, 1e-12);
    }
}
END_TEST

// Never below what each takes alone nor above one after the other; with factors of 1 as without.
START_TEST(contention_lies_between)
{
    for (int round = 0; round < 2000; round++) {
        cost_event e[EVENTS];
        int n = 1 + draw(EVENTS), n_classes = 1 + draw(3), started[EVENTS], n_started = 0;
        cost_contentions none[3], k[3];
        for (int c = 0; c < 3; c++)
            for (int put = 0; put < 2; put++) {
                none[c].of[put] = (cost_contention){1, 1};
                k[c].of[put] = (cost_contention){1 + draw(4) / 8.0, 1 + draw(8) / 8.0};
            }
        double in_a_row = 0;
        for (int i = 0; i < n; i++) {
            int kind = draw(n_started ? 3 : 2);
            e[i] = (cost_event){.kind = (cost_event_kind)kind, .stream = 0, .put = draw(2) > 0};
            for (int c = 0; c < n_classes; c++)
                e[i].sec[c] = draw(6);
            if (kind == COST_START) started[n_started++] = i;
            if (kind == COST_WAIT) e[i].of = started[draw(n_started)];
        }
        cost_timeline free_t, one, t;
        cost_simulate(arena, n_classes, NULL, e, n, NULL, false, &free_t);
        cost_simulate(arena, n_classes, none, e, n, NULL, false, &one);
        cost_simulate(arena, n_classes, k, e, n, NULL, false, &t);
        ck_assert_double_eq_tol(one.total, free_t.total, 1e-9);
        ck_assert_double_eq_tol(one.hidden, free_t.hidden, 1e-9);
        ck_assert_double_ge(t.total, free_t.total - 1e-9);
        for (int i = 0; i < n; i++) {
            double most = 0;
            for (int c = 0; c < n_classes; c++)
                most = fmax(most, e[i].kind == COST_COMPUTE
                                      ? e[i].sec[c] * fmax(k[c].of[0].compute, k[c].of[1].compute)
                                      : 0);
            if (e[i].kind == COST_START) most = e[i].sec[0] * 2;
            in_a_row += most;
        }
        ck_assert_double_le(t.total, in_a_row + 1e-9);
    }
}
END_TEST

START_TEST(a_wait_for_what_did_not_start_is_a_bug)
{
    cost_timeline t;
    RUN(1, t, until(0));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("simulate");
    TCase *c = tcase_create("simulate");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, one_class_in_a_row);
    tcase_add_test(c, a_consumer_ends_as_a_whole);
    tcase_add_test(c, a_producer_goes_on);
    tcase_add_test(c, a_collective_waits_for_the_slowest);
    tcase_add_test(c, overlap_is_counted_by_class);
    tcase_add_test(c, one_stream_runs_in_order_and_two_together);
    tcase_add_test(c, waits_may_be_missing_late_or_repeated);
    tcase_add_test(c, nothing_takes_no_time);
    tcase_add_test(c, random_programs_equal_time_steps);
    tcase_add_test(c, contention_slows_both);
    tcase_add_test(c, puts_slow_less);
    tcase_add_test(c, a_quiet_collective_slows_nothing);
    tcase_add_test(c, contention_lies_between);
    tcase_add_exit_test(c, a_wait_for_what_did_not_start_is_a_bug, 4);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
