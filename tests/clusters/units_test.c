#include "clusters/units.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

// A scalar as it stands in a file, read as a quantity; the diagnostics as text.
static bool read_scalar(hb_arena *a, const char *text, cl_unit_kind kind, bool zero_ok, double *out,
                        hb_str *said)
{
    hb_source *src = HB_NEW(a, hb_source);
    *src = (hb_source){HB_STR("x.yaml"), hb_fmt(a, "v: %s\n", text)};
    hb_diag *d = hb_diag_new(a);
    const hb_tree *t = hb_yaml_read(a, src, d);
    ck_assert_ptr_nonnull(t);
    bool ok = cl_quantity(hb_get(t, "v"), kind, zero_ok, src, d, out);
    ck_assert_int_eq(ok, hb_diag_count(d) == 0);
    char *buf;
    size_t n;
    FILE *f = open_memstream(&buf, &n);
    hb_diag_print(d, f);
    fclose(f);
    *said = hb_str_n(a, buf, n);
    free(buf);
    return ok;
}

START_TEST(good_quantities)
{
    static const struct {
        const char *text;
        cl_unit_kind kind;
        double want;
    } row[] = {
        {"370 GB/s", CL_BYTES_PER_SEC, 370e9},
        {"10 Gbit/s", CL_BYTES_PER_SEC, 1.25e9},
        {"10.4 Gbit/s", CL_BYTES_PER_SEC, 1.3e9},
        {"10 GiB/s", CL_BYTES_PER_SEC, 10737418240},
        {"10 GB/s", CL_BYTES_PER_SEC, 1e10},
        {"100 Mbit/s", CL_BYTES_PER_SEC, 12.5e6},
        {"3.35 TB/s", CL_BYTES_PER_SEC, 3.35e12},
        {"16 GB", CL_BYTES, 16e9},
        {"16 GiB", CL_BYTES, 17179869184},
        {"1.5 MiB", CL_BYTES, 1572864},
        {"4096 B", CL_BYTES, 4096},
        {"8 us", CL_SECONDS, 8e-6},
        {"8us", CL_SECONDS, 8e-6},
        {"\"8 us\"", CL_SECONDS, 8e-6},
        {"1.5e2 ns", CL_SECONDS, 150e-9},
        {"0 us", CL_SECONDS, 0},
        {"2 s", CL_SECONDS, 2},
        {".5 ms", CL_SECONDS, 5e-4},
        {"15.7 TFLOP/s", CL_FLOPS, 15.7e12},
        {"1 PFLOP/s", CL_FLOPS, 1e15},
        {"80 GFLOP/s", CL_FLOPS, 80e9},
    };
    hb_arena *a = hb_arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double got;
        hb_str said;
        ck_assert_msg(read_scalar(a, row[i].text, row[i].kind, true, &got, &said), "%s: %s",
                      row[i].text, said.p);
        ck_assert_double_eq_tol(got, row[i].want, 1e-12 * row[i].want + 1e-30);
    }
    hb_arena_free(a);
}
END_TEST

START_TEST(bad_quantities)
{
    static const struct {
        const char *text;
        cl_unit_kind kind;
        const char *at, *error, *hint;
    } row[] = {
        {"20 GB/sec", CL_BYTES_PER_SEC, "1:7", "unknown unit 'GB/sec'", "did you mean 'GB/s'?"},
        {"\"20 GB/sec\"", CL_BYTES_PER_SEC, "1:8", "unknown unit 'GB/sec'", "did you mean 'GB/s'?"},
        {"20", CL_BYTES_PER_SEC, "1:4", "a bandwidth without a unit",
         "units are mandatory: '20 GB/s'"},
        {"1.5", CL_BYTES, "1:4", "a size without a unit", "units are mandatory: '40 GiB'"},
        {"16 GB/s", CL_BYTES, "1:7", "'GB/s' is not a unit of a size",
         "a size is written like '40 GiB'"},
        {"16 gb", CL_BYTES, "1:7", "unknown unit 'gb'", "did you mean 'GB'?"},
        {"5 parsecs", CL_SECONDS, "1:6", "unknown unit 'parsecs'", "a time is written like '8 us'"},
        {"fast", CL_FLOPS, "1:4", "expected a speed", "a speed is written like '15.7 TFLOP/s'"},
        {"[1 s]", CL_SECONDS, "1:4", "expected a time", "a time is written like '8 us'"},
        {"nan GB", CL_BYTES, "1:4", "expected a size", "a size is written like '40 GiB'"},
        {".inf", CL_BYTES, "1:4", "expected a size", "a size is written like '40 GiB'"},
        {"~", CL_BYTES, "1:4", "expected a size", "a size is written like '40 GiB'"},
        {"0 GB", CL_BYTES, "1:4", "a size must be more than zero", ""},
        {"-1 GB", CL_BYTES, "1:4", "a size must be more than zero", ""},
        {"-0 us", CL_SECONDS, "1:4", "a time must be more than zero", ""},
        {"1e30 GB", CL_BYTES, "1:4", "number out of range", ""},
        {"1e999 GB", CL_BYTES, "1:4", "number out of range", ""},
        {"1 000 GB", CL_BYTES, "1:6", "unknown unit '000 GB'", "a size is written like '40 GiB'"},
        {"5 km/s", CL_BYTES_PER_SEC, "1:6", "unknown unit 'km/s'", "did you mean 'kB/s'?"},
    };
    hb_arena *a = hb_arena_new();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double got;
        hb_str said;
        ck_assert_msg(!read_scalar(a, row[i].text, row[i].kind, false, &got, &said), "%s",
                      row[i].text);
        hb_str first = hb_fmt(a, "x.yaml:%s: error: %s\n*", row[i].at, row[i].error);
        ck_assert_msg(hb_glob(first, said), "%s: %s", row[i].text, said.p);
        hb_str last = hb_fmt(a, "*%s%s%s", *row[i].hint ? "hint: " : "^\n", row[i].hint,
                             *row[i].hint ? "\n" : "");
        ck_assert_msg(hb_glob(last, said), "%s: %s", row[i].text, said.p);
    }
    hb_arena_free(a);
}
END_TEST

START_TEST(zero_where_it_is_allowed)
{
    hb_arena *a = hb_arena_new();
    double got = -1;
    hb_str said;
    ck_assert(read_scalar(a, "0 us", CL_SECONDS, true, &got, &said));
    ck_assert_double_eq(got, 0);
    ck_assert(!read_scalar(a, "-1 us", CL_SECONDS, true, &got, &said));
    ck_assert(hb_glob(HB_STR("*a time must be zero or more*"), said));
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("units");
    TCase *c = tcase_create("units");
    tcase_add_test(c, good_quantities);
    tcase_add_test(c, bad_quantities);
    tcase_add_test(c, zero_where_it_is_allowed);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
