// First values by threads are those of one thread: a tensor that is long enough for several, beside
// its halves, which are not. What runs in threads is this alone (preset tsan).

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/fill.h"

enum { ROWS = 1024, COLUMNS = 1024 }; // as many elements as threads begin at

static const int64_t whole[] = {ROWS}, halves[] = {ROWS / 2, ROWS / 2};

// The part of member `member` of n_ranks, filled; free() it.
static float *part_of(int n_ranks, int member, hap_fill fill, int64_t *elements)
{
    hap_rank r = {.n_ranks = n_ranks, .n_members = n_ranks, .n_axes = 1, .size = {n_ranks, 1}};
    hap_tensor t = {.type = HAP_F32, .rank = 2, .elements = 1};
    r.id = r.member = member;
    t.dim[0] = (hap_dim){
        .n = ROWS, .outer = 1, .inner = 1, .axis = 0, .table = n_ranks == 1 ? whole : halves};
    t.dim[1] = (hap_dim){.n = COLUMNS, .outer = 1, .inner = 1, .axis = -1};
    for (int d = 0; d < t.rank; d++) {
        hap_range part = hap_dim_range(&r, &t.dim[d], member, 0);
        t.first[d] = part.lo;
        t.local[d] = part.n;
        t.elements *= part.n;
    }
    t.bytes = t.elements * 4;
    float *data = malloc((size_t)t.bytes);
    ck_assert_ptr_nonnull(data);
    ck_assert_ptr_null(hap_fill_tensor(&r, &t, "w", fill, 7, data));
    *elements = t.elements;
    return data;
}

START_TEST(threads_fill_as_one)
{
    const hap_fill fills[] = {HAP_NORMAL(0, 0.02),
                              {.kind = 0, .a = 3},
                              {.kind = 2, .a = -1, .b = 1},
                              {.kind = 3, .b = 2}};
    int64_t n, half;
    float *all = part_of(1, 0, fills[_i], &n);
    ck_assert_int_eq(n, (int64_t)ROWS * COLUMNS);
    for (int member = 0; member < 2; member++) {
        float *part = part_of(2, member, fills[_i], &half);
        ck_assert_int_eq(2 * half, n);
        ck_assert(memcmp(all + member * half, part, (size_t)half * 4) == 0);
        free(part);
    }
    free(all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fill");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, threads_fill_as_one, 0, 4);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
