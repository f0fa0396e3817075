// Which way steps run: the turns, medians, and that all ranks choose alike.

#include <check.h>
#include <string.h>

#include "cuda/step/cuda_choice.h"

// A choice that has seen steps of so many seconds, by way and turn.
static cuda_choice timed(const double sec[CUDA_WAYS][CUDA_CHOICE_TURNS], bool whole)
{
    cuda_choice c = {.whole = whole};
    int ways = whole ? 3 : 2, steps = ways * CUDA_CHOICE_TURNS;
    for (int i = 0; i < steps; i++) {
        cuda_way way = cuda_choice_next(&c);
        bool all = cuda_choice_time(&c, sec[way][i / ways]);
        ck_assert_int_eq(all, i == steps - 1);
    }
    return c;
}

START_TEST(turns_go_there_and_back)
{
    static const cuda_way both[] = {CUDA_BY_CALLS, CUDA_BY_GRAPHS, CUDA_BY_GRAPHS,
                                    CUDA_BY_CALLS, CUDA_BY_CALLS,  CUDA_BY_GRAPHS};
    static const cuda_way three[] = {CUDA_BY_CALLS, CUDA_BY_GRAPHS, CUDA_BY_WHOLE,
                                     CUDA_BY_WHOLE, CUDA_BY_GRAPHS, CUDA_BY_CALLS,
                                     CUDA_BY_CALLS, CUDA_BY_GRAPHS, CUDA_BY_WHOLE};
    cuda_choice c = {0}, d = {.whole = true};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        ck_assert_int_eq(cuda_choice_next(&c), both[i]);
        cuda_choice_time(&c, 1);
    }
    for (size_t i = 0; i < sizeof three / sizeof *three; i++) {
        ck_assert_int_eq(cuda_choice_next(&d), three[i]);
        cuda_choice_time(&d, 1);
    }
}
END_TEST

START_TEST(medians_leave_out_a_slow_step)
{
    const double sec[CUDA_WAYS][CUDA_CHOICE_TURNS] = {[CUDA_BY_GRAPHS] = {0.153, 0.152, 0.154},
                                                      [CUDA_BY_CALLS] = {9, 0.139, 0.140},
                                                      [CUDA_BY_WHOLE] = {0.2, 0.1, 0.3}};
    double median[CUDA_WAYS];
    cuda_choice c = timed(sec, true);
    cuda_choice_medians(&c, median);
    ck_assert_double_eq(median[CUDA_BY_GRAPHS], 0.153);
    ck_assert_double_eq(median[CUDA_BY_CALLS], 0.140);
    ck_assert_double_eq(median[CUDA_BY_WHOLE], 0.2);
    ck_assert(memcmp(c.sec, sec, sizeof sec) == 0);
}
END_TEST

static cuda_way chosen(double graphs, double calls)
{
    cuda_choice c = {0};
    const double sec[CUDA_WAYS] = {[CUDA_BY_GRAPHS] = graphs, [CUDA_BY_CALLS] = calls};
    cuda_choice_make(&c, sec);
    ck_assert(c.made);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(cuda_choice_next(&c), c.way);
    return c.way;
}

static cuda_way of_three(double calls, double graphs, double whole)
{
    cuda_choice c = {.whole = true};
    const double sec[CUDA_WAYS] = {
        [CUDA_BY_GRAPHS] = graphs, [CUDA_BY_CALLS] = calls, [CUDA_BY_WHOLE] = whole};
    cuda_choice_make(&c, sec);
    return c.way;
}

START_TEST(one_graph_stays_unless_another_way_is_quicker)
{
    ck_assert_int_eq(of_three(100, 100, 100), CUDA_BY_WHOLE);
    ck_assert_int_eq(of_three(99.5, 99.2, 100), CUDA_BY_WHOLE);
    ck_assert_int_eq(of_three(100, 98.9, 100), CUDA_BY_GRAPHS);
    ck_assert_int_eq(of_three(98, 98.9, 100), CUDA_BY_GRAPHS);
    ck_assert_int_eq(of_three(97, 98.9, 100), CUDA_BY_CALLS);
    ck_assert_int_eq(of_three(98, 101, 100), CUDA_BY_CALLS);
}
END_TEST

START_TEST(the_quicker_stays_and_graphs_if_they_are_near)
{
    // As measured on 4 H200s: GPT-2 XL with pairs, without, and a wide GPT-2 of 4 layers.
    ck_assert_int_eq(chosen(152.715, 139.937), CUDA_BY_CALLS);
    ck_assert_int_eq(chosen(155.649, 147.701), CUDA_BY_CALLS);
    ck_assert_int_eq(chosen(92.822, 93.605), CUDA_BY_GRAPHS);
    ck_assert_int_eq(chosen(100, 99.5), CUDA_BY_GRAPHS);
    ck_assert_int_eq(chosen(100, 98.9), CUDA_BY_CALLS);
}
END_TEST

// Rank 0 alone would take calls, rank 1 graphs; rank 2, the slowest in both, says how long a step
// of all takes.
START_TEST(ranks_choose_alike)
{
    enum { RANKS = 3 };
    static const double sec[RANKS][CUDA_WAYS][CUDA_CHOICE_TURNS] = {
        {[CUDA_BY_GRAPHS] = {10, 11, 12}, [CUDA_BY_CALLS] = {9, 8, 7}},
        {[CUDA_BY_GRAPHS] = {9, 9, 9}, [CUDA_BY_CALLS] = {12, 10, 11}},
        {[CUDA_BY_GRAPHS] = {13, 13, 13}, [CUDA_BY_CALLS] = {14, 14, 15}}};
    static const cuda_way alone[RANKS] = {CUDA_BY_CALLS, CUDA_BY_GRAPHS, CUDA_BY_GRAPHS};
    cuda_choice c[RANKS];
    double all[CUDA_WAYS] = {0};
    for (int k = 0; k < RANKS; k++) {
        double own[CUDA_WAYS];
        c[k] = timed(sec[k], false);
        cuda_choice_medians(&c[k], own);
        ck_assert_int_eq(chosen(own[CUDA_BY_GRAPHS], own[CUDA_BY_CALLS]), alone[k]);
        for (int way = 0; way < CUDA_WAYS; way++)
            all[way] = own[way] > all[way] ? own[way] : all[way];
    }
    for (int k = 0; k < RANKS; k++) {
        cuda_choice_make(&c[k], all);
        ck_assert_int_eq(cuda_choice_next(&c[k]), CUDA_BY_GRAPHS);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_choice");
    TCase *t = tcase_create("cuda_choice");
    tcase_add_test(t, turns_go_there_and_back);
    tcase_add_test(t, medians_leave_out_a_slow_step);
    tcase_add_test(t, one_graph_stays_unless_another_way_is_quicker);
    tcase_add_test(t, the_quicker_stays_and_graphs_if_they_are_near);
    tcase_add_test(t, ranks_choose_alike);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
