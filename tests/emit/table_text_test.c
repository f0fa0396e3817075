// Long tables in few words stand for what they stood for.

#include "emit/emit.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static int below(int n) // splitmix64
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

// Entries that one item of an initializer stands for, and their value.
static int expand(hb_str item, long long *value)
{
    int times = 1;
    if (sscanf(item.p, "HAP_X%d(%lld)", &times, value) == 2) {
        ck_assert_int_eq(times & (times - 1), 0); // a macro of runtime.h
        ck_assert(times >= 4 && times <= 1024);
        return times;
    }
    ck_assert_int_eq(sscanf(item.p, "%lld", value), 1);
    return 1;
}

START_TEST(items_expand_to_the_table)
{
    enum { MOST = 3000 };
    state = (uint64_t)_i;
    hb_arena *a = hb_arena_new();
    int64_t v[MOST];
    hb_str item[MOST];
    int n = 1 + below(_i % 2 ? MOST : 20);
    for (int i = 0, run = 0; i < n; i++, run--) {
        if (run <= 0) run = 1 + below(below(2) ? 3 : 1200);
        v[i] = i > 0 && run > 1 ? v[i - 1] : below(5);
    }
    int items = emit_table_items(a, v, n, item), at = 0;
    for (int i = 0; i < items; i++) {
        long long value = -1;
        for (int times = expand(item[i], &value); times > 0; times--, at++) {
            ck_assert_int_lt(at, n);
            ck_assert_int_eq(v[at], value);
        }
    }
    ck_assert_int_eq(at, n);
    if (n <= 16) ck_assert_int_eq(items, n);
    hb_arena_free(a);
}
END_TEST

START_TEST(sums_name_runs)
{
    hb_arena *a = hb_arena_new();
    hb_buf out = {.arena = a};
    int64_t v[20] = {3, 1, 0};
    emit_table_sum(&out, v, 3);
    ck_assert_str_eq(out.p, " 3 + 1 + 0");
    out.n = 0;
    emit_table_sum(&out, v, 20);
    ck_assert_str_eq(out.p, " 3 + 1 + 18 x 0");
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("table_text");
    TCase *c = tcase_create("tables");
    tcase_add_loop_test(c, items_expand_to_the_table, 0, 100);
    tcase_add_test(c, sums_name_runs);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
