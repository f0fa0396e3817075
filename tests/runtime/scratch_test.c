// Scratch sizes, number by number, from the table in docs/formats.md ("Scratch").

#include <check.h>

#include "core/coll_geometry.h"

static hap_rank rank;

static void mesh(int n_axes, int a, int b)
{
    rank = (hap_rank){.n_ranks = a * b, .n_axes = n_axes, .size = {a, b}};
}

static hap_tensor tensor(hap_dtype type, int n, const hap_dim *dims)
{
    hap_tensor t = {.type = type, .rank = n, .elements = 1};
    for (int i = 0; i < n; i++) {
        hap_range part = hap_dim_range(&rank, &dims[i], 0, 0);
        t.dim[i] = dims[i];
        t.first[i] = part.lo;
        t.local[i] = dims[i].outer * part.n * dims[i].inner;
        t.elements *= t.local[i];
    }
    t.bytes = t.elements * hap_dtype_bytes(type);
    return t;
}

static int64_t scratch(hap_coll_kind kind, hap_form form, unsigned axes, hap_tensor *src,
                       hap_tensor *dst)
{
    hap_coll_call c = {kind, HAP_SUM, axes, form, 1, &dst, &src, NULL};
    return hap_coll_scratch_bytes(&rank, &c);
}

static const int64_t three[] = {10, 0, 30}, even[] = {20, 20}, cols[] = {5, 1, 1};

// 40 rows of 100 f32 over 3 ranks: the cut factor leads.
START_TEST(leading)
{
    mesh(1, 3, 1);
    hap_tensor cut = tensor(HAP_F32, 2, HAP_DIMS(CUT(0, 40, three), WHOLE(100)));
    hap_tensor all = tensor(HAP_F32, 2, HAP_DIMS(WHOLE(40), WHOLE(100)));
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_GROUPED, 1, &cut, &all), 0);
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_SENDRECV, 1, &cut, &all), 0);
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_PADDED, 1, &cut, &all), 48128);
    ck_assert_int_eq(scratch(HAP_REDUCE_SCATTER, FORM_GROUPED, 1, &all, &cut), 0);
    ck_assert_int_eq(scratch(HAP_REDUCE_SCATTER, FORM_SENDRECV, 1, &all, &cut), 12032);
    ck_assert_int_eq(scratch(HAP_REDUCE_SCATTER, FORM_PADDED, 1, &all, &cut), 48128);
    // 4000 elements in pieces of 1334, four of them: 21344 bytes
    ck_assert_int_eq(scratch(HAP_REDUCE_SCATTER, FORM_EVEN_FLAT, 1, &all, &cut), 21504);
    ck_assert_int_eq(scratch(HAP_ALL_REDUCE, FORM_FLAT, 1, &all, &all), 0);
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_PUT(1), 1, &cut, &all), 0);
    ck_assert_int_eq(scratch(HAP_REDUCE_SCATTER, FORM_PUT(1), 1, &all, &cut), 36096); // 3 * 12032
    ck_assert_int_eq(scratch(HAP_ALL_REDUCE, FORM_PUT(2), 1, &all, &all), 16128);     // 3 * 5376
}
END_TEST

// The factor of 7 in the middle of [2 7 3], bf16; and to the rows: an all-to-all.
START_TEST(inside)
{
    mesh(1, 3, 1);
    hap_tensor cut = tensor(HAP_BF16, 2, HAP_DIMS(WHOLE(40), CUT_IN(0, 2, 7, 3, cols)));
    hap_tensor all = tensor(HAP_BF16, 2, HAP_DIMS(WHOLE(40), WHOLE(42)));
    hap_tensor rows = tensor(HAP_BF16, 2, HAP_DIMS(CUT(0, 40, three), WHOLE(42)));
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_GROUPED, 1, &cut, &all), 3584); // 3360
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_PADDED, 1, &cut, &all), 9728);  // 4 * 2400
    ck_assert_int_eq(scratch(HAP_REDUCE_SCATTER, FORM_SENDRECV, 1, &all, &cut),
                     5888);                                                     // 3360 + 2400
    ck_assert_int_eq(scratch(HAP_ALL_TO_ALL, FORM_EVEN, 1, &cut, &rows), 5120); // 2400 + 2520
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_PUT(1), 1, &cut, &all), 0);
    ck_assert_int_eq(scratch(HAP_ALL_TO_ALL, FORM_PUT(2), 1, &cut, &rows), 0);
    ck_assert_int_eq(scratch(HAP_REDUCE_SCATTER, FORM_PUT(2), 1, &all, &cut), 7680); // 3 * 2560
    static const int64_t other[] = {2, 4, 1};
    hap_tensor reshard = tensor(HAP_BF16, 2, HAP_DIMS(WHOLE(40), CUT_IN(0, 2, 7, 3, other)));
    ck_assert_int_eq(scratch(HAP_RESHARD, FORM_SENDRECV, 1, &cut, &reshard), 4352); // 2400 + 1920
}
END_TEST

// On 2 x 2, rows cut by axis 0 and gathered columns over axis 1; a list adds up rounded sizes.
START_TEST(two_axes)
{
    static const int64_t halves[] = {3, 2};
    mesh(2, 2, 2);
    hap_tensor cut = tensor(HAP_F32, 2, HAP_DIMS(CUT(0, 40, even), CUT(1, 5, halves)));
    hap_tensor all = tensor(HAP_F32, 2, HAP_DIMS(CUT(0, 40, even), WHOLE(5)));
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_GROUPED, 2, &cut, &all), 512); // 20 * 5 * 4
    ck_assert_int_eq(scratch(HAP_ALL_GATHER, FORM_PADDED, 2, &cut, &all), 768);  // 3 * 240
    hap_tensor odd = tensor(HAP_F32, 1, HAP_DIMS(WHOLE(129)));
    ck_assert_int_eq(scratch(HAP_ALL_REDUCE, FORM_TWO_LEVEL, 3, &odd, &odd), 512); // 65 * 4
    hap_tensor *dst[] = {&all, &all}, *src[] = {&cut, &cut};
    hap_coll_call c = {HAP_ALL_GATHER, HAP_SUM, 2, FORM_PADDED, 2, dst, src, NULL};
    ck_assert_int_eq(hap_coll_scratch_bytes(&rank, &c), 1536);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scratch");
    TCase *t = tcase_create("all");
    tcase_add_test(t, leading);
    tcase_add_test(t, inside);
    tcase_add_test(t, two_axes);
    suite_add_tcase(s, t);
    SRunner *run = srunner_create(s);
    srunner_run_all(run, CK_NORMAL);
    int failed = srunner_ntests_failed(run);
    srunner_free(run);
    return failed;
}
