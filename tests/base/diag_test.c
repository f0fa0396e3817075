#include "ir/base/diag.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static hb_arena *arena;
static hb_diag *diag;

static void setup(void)
{
    arena = hb_arena_new();
    diag = hb_diag_new(arena);
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static void assert_printed(const char *want)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    hb_diag_print(diag, f);
    fclose(f);
    ck_assert_str_eq(text, want);
    free(text);
}

static hb_source source(const char *name, const char *text)
{
    return (hb_source){hb_str_c(arena, name), hb_str_c(arena, text)};
}

START_TEST(nothing_is_printed_without_errors)
{
    ck_assert_int_eq(hb_diag_count(diag), 0);
    assert_printed("");
}
END_TEST

START_TEST(line_caret_and_hint)
{
    hb_source src = source("lab.yaml", "name: lab\n  link: {bandwidth: 20 GBps}\nlast");
    hb_error(diag, &src, (hb_pos){2, 24}, "unknown unit '%s'", "GBps");
    hb_hint(diag, "did you mean '%s'?", "GB/s");
    hb_error(diag, &src, (hb_pos){3, 5}, "unexpected end");
    ck_assert_int_eq(hb_diag_count(diag), 2);
    assert_printed("lab.yaml:2:24: error: unknown unit 'GBps'\n"
                   "     link: {bandwidth: 20 GBps}\n"
                   "                          ^\n"
                   "hint: did you mean 'GB/s'?\n"
                   "lab.yaml:3:5: error: unexpected end\n"
                   "   last\n"
                   "       ^\n");
}
END_TEST

START_TEST(file_as_a_whole_and_no_file)
{
    hb_source src = source("g.json", "");
    hb_error(diag, &src, (hb_pos){0, 0}, "No such file or directory");
    hb_error(diag, NULL, (hb_pos){0, 0}, "no cluster given");
    hb_error(diag, &src, (hb_pos){4, 1}, "beyond the text");
    assert_printed("g.json: error: No such file or directory\n"
                   "error: no cluster given\n"
                   "g.json:4:1: error: beyond the text\n");
}
END_TEST

START_TEST(caret_counts_characters_and_control_bytes_are_blanked)
{
    hb_source src = source("a", "\t\x1b\xc3\xa9\xc3\xa9 x\n");
    hb_error(diag, &src, (hb_pos){1, 8}, "here\n\x1b[1m");
    assert_printed("a:1:8: error: here  [1m\n"
                   "     \xc3\xa9\xc3\xa9 x\n"
                   "        ^\n");
}
END_TEST

START_TEST(long_line_is_cut_around_the_column)
{
    char text[2001];
    for (int i = 0; i < 2000; i++)
        text[i] = (char)('a' + i % 26);
    text[1000] = '!';
    text[2000] = '\0';
    hb_source src = source("one.json", text);
    hb_error(diag, &src, (hb_pos){1, 1001}, "bang");
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    hb_diag_print(diag, f);
    fclose(f);
    const char *line = strchr(out, '\n') + 1, *caret_line = strchr(line, '\n') + 1;
    ck_assert_int_lt(caret_line - line, 110);
    ck_assert_int_eq(line[strchr(caret_line, '^') - caret_line], '!');
    ck_assert_int_eq(strncmp(line, "   ...", 6), 0);
    ck_assert_int_eq(strncmp(caret_line - 4, "...\n", 4), 0);
    free(out);
}
END_TEST

START_TEST(at_most_twenty_are_kept)
{
    for (int i = 0; i < 23; i++) {
        hb_error(diag, NULL, (hb_pos){0, 0}, "e%d", i);
        hb_hint(diag, "h%d", i);
    }
    ck_assert_int_eq(hb_diag_count(diag), 23);
    hb_buf want = {.arena = arena};
    for (int i = 0; i < 20; i++)
        hb_printf(&want, "error: e%d\nhint: h%d\n", i, i);
    hb_puts(&want, "3 more errors not shown\n");
    assert_printed(hb_done(&want).p);
}
END_TEST

static const struct {
    const char *wrong, *nearest;
} nearests[] = {
    {"bandwith", "bandwidth"},
    {"latncy", "latency"},
    {"matmull", "matmul"},
    {"xyzzy", NULL},
    {"bandwidth", "bandwidth"},
    {"", NULL},
    {"ad", "add"},
    {"zz", NULL},
};

START_TEST(nearest_name)
{
    static const char *const names[] = {"latency", "bandwidth", "matmul", "add"};
    const char *got = hb_nearest(hb_str_c(arena, nearests[_i].wrong), names, 4);
    if (nearests[_i].nearest)
        ck_assert_pstr_eq(got, nearests[_i].nearest);
    else
        ck_assert_ptr_null(got);
}
END_TEST

START_TEST(nearest_of_a_very_long_name)
{
    static const char *const names[] = {"add"};
    char wrong[500];
    memset(wrong, 'a', sizeof wrong);
    ck_assert_ptr_null(hb_nearest((hb_str){wrong, sizeof wrong}, names, 1));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("diag");
    TCase *t = tcase_create("diag");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, nothing_is_printed_without_errors);
    tcase_add_test(t, line_caret_and_hint);
    tcase_add_test(t, file_as_a_whole_and_no_file);
    tcase_add_test(t, caret_counts_characters_and_control_bytes_are_blanked);
    tcase_add_test(t, long_line_is_cut_around_the_column);
    tcase_add_test(t, at_most_twenty_are_kept);
    tcase_add_loop_test(t, nearest_name, 0, sizeof nearests / sizeof *nearests);
    tcase_add_test(t, nearest_of_a_very_long_name);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}
