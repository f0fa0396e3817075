#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/tree.h"

static hb_arena *arena;
static hb_diag *diag;
static hb_source src;

static void setup(void)
{
    arena = hb_arena_new();
    diag = hb_diag_new(arena);
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static hb_tree *read_n(const char *text, size_t n)
{
    src = (hb_source){HB_STR("t.yaml"), {text, n}};
    return hb_yaml_read(arena, &src, diag);
}

static hb_tree *read_text(const char *text)
{
    return read_n(text, strlen(text));
}

static hb_str printed(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    hb_diag_print(diag, f);
    fclose(f);
    hb_str s = hb_str_n(arena, text, n);
    free(text);
    return s;
}

static void assert_at(hb_pos got, int line, int col)
{
    ck_assert_int_eq(got.line, line);
    ck_assert_int_eq(got.col, col);
}

START_TEST(cluster_file_is_read)
{
    hb_tree *t = read_text("name: lab            # a comment\n"
                           "machines:\n"
                           "  - name: new\n"
                           "    hosts: [10.0.0.11]\n"
                           "    devices: [{model: H200, count: 2}, {model: 'H200', sms: 64}]\n"
                           "    link: {bandwidth: 370 GB/s, latency: 8.5}\n"
                           "\xc3\xa9t\xc3\xa9: {k: v}\n");
    ck_assert_msg(t != NULL, "%s", printed().p);
    ck_assert_int_eq(t->n, 3);
    ck_assert(hb_str_is(hb_get(t, "name")->s, "lab"));
    const hb_tree *new = hb_get(t, "machines")->v[0];
    ck_assert_int_eq(new->kind, HB_TABLE);
    ck_assert_int_eq(hb_get(new, "hosts")->v[0]->kind, HB_TEXT);
    ck_assert(hb_str_is(hb_get(new, "hosts")->v[0]->s, "10.0.0.11"));
    const hb_tree *devices = hb_get(new, "devices");
    ck_assert_int_eq(devices->n, 2);
    ck_assert_int_eq(hb_get(devices->v[0], "count")->i, 2);
    ck_assert_int_eq(hb_get(devices->v[1], "sms")->i, 64);
    ck_assert(hb_str_is(hb_get(hb_get(new, "link"), "bandwidth")->s, "370 GB/s"));
    ck_assert_double_eq(hb_get(hb_get(new, "link"), "latency")->f, 8.5);
    assert_at(t->at, 1, 1);
    assert_at(t->key_at[1], 2, 1);
    assert_at(new->at, 3, 5);
    assert_at(devices->v[1]->at, 5, 40);
    assert_at(hb_get(devices->v[1], "sms")->at, 5, 61);
    assert_at(t->v[2]->at, 7, 8); // bytes, not characters
    assert_at(t->v[2]->v[0]->at, 7, 12);
}
END_TEST

static const struct {
    const char *text;
    hb_kind kind;
    double f;
} scalars[] = {
    {"1", HB_INT, 1},
    {"-1", HB_INT, -1},
    {"+7", HB_INT, 7},
    {"007", HB_INT, 7},
    {"9223372036854775807", HB_INT, 9223372036854775807.0},
    {"9223372036854775808", HB_REAL, 9223372036854775808.0},
    {"1.5", HB_REAL, 1.5},
    {".5", HB_REAL, .5},
    {"2.", HB_REAL, 2},
    {"-1e3", HB_REAL, -1000},
    {"1.5E-2", HB_REAL, .015},
    {"true", HB_BOOL, 0},
    {"FALSE", HB_BOOL, 0},
    {"null", HB_NULL, 0},
    {"~", HB_NULL, 0},
    {"yes", HB_TEXT, 0},
    {"no", HB_TEXT, 0},
    {"0x10", HB_TEXT, 0},
    {".inf", HB_TEXT, 0},
    {".nan", HB_TEXT, 0},
    {".", HB_TEXT, 0},
    {"e5", HB_TEXT, 0},
    {"1e", HB_TEXT, 0},
    {"1 GB", HB_TEXT, 0},
    {"10.0.0.11", HB_TEXT, 0},
    {"2026-11-20", HB_TEXT, 0},
    {"\"1\"", HB_TEXT, 0},
    {"'true'", HB_TEXT, 0},
    {"\"\"", HB_TEXT, 0},
    {"|\n  12", HB_TEXT, 0},
};

START_TEST(scalar_has_its_type)
{
    hb_str text = hb_fmt(arena, "a: %s\n", scalars[_i].text);
    hb_tree *t = read_text(text.p);
    ck_assert_msg(t != NULL, "%s", printed().p);
    const hb_tree *a = hb_get(t, "a");
    ck_assert_msg(a->kind == scalars[_i].kind, "%s has kind %d", scalars[_i].text, (int)a->kind);
    if (a->kind == HB_INT || a->kind == HB_REAL) ck_assert_double_eq(a->f, scalars[_i].f);
    if (a->kind == HB_INT && a->f < 1e18) ck_assert_int_eq(a->i, (int64_t)a->f);
    if (a->kind == HB_BOOL) ck_assert_int_eq(a->b, scalars[_i].text[0] == 't');
}
END_TEST

START_TEST(empty_value_is_null_and_escapes_are_undone)
{
    hb_tree *t = read_text("a:\nb: \"x\\u00e9\\ty\"\n'c d': 'it''s'\n1: one\n");
    ck_assert_msg(t != NULL, "%s", printed().p);
    ck_assert_int_eq(hb_get(t, "a")->kind, HB_NULL);
    ck_assert(hb_str_is(hb_get(t, "b")->s, "x\xc3\xa9\ty"));
    ck_assert(hb_str_is(hb_get(t, "c d")->s, "it's"));
    ck_assert(hb_str_is(hb_get(t, "1")->s, "one"));
}
END_TEST

static const struct {
    const char *text, *stderr_start;
} refused[] = {
    {"", "t.yaml: error: the file is empty\n"},
    {"# only a comment\n", "t.yaml: error: the file is empty\n"},
    {"a: &x 1\n", "t.yaml:1:4: error: not supported: anchors\n"},
    {"a: &x [1]\nc: 2\n", "t.yaml:1:4: error: not supported: anchors\n"},
    {"a: 1\nb: *x\n", "t.yaml:2:4: error: not supported: aliases\n"},
    {"a: 1\n*x : 2\n", "t.yaml:2:1: error: not supported: aliases\n"},
    {"a: !!str 1\n", "t.yaml:1:4: error: not supported: tags\n"},
    {"a: !mine {b: 1}\n", "t.yaml:1:4: error: not supported: tags\n"},
    {"a: ! b\n", "t.yaml:1:4: error: not supported: tags\n"},
    {"!!str a: 1\n", "t.yaml:1:1: error: not supported: tags\n"},
    {"%TAG ! tag:x,2000:\n---\na: 1\n", "t.yaml:1:1: error: not supported: tags\n"},
    {"a:\n  <<: {b: 1}\n", "t.yaml:2:3: error: not supported: merge keys\n"},
    {"? [a, b]\n: 1\n", "t.yaml:1:3: error: not supported: a list or table as a key\n"},
    {"--- {a: 1}\n--- {b: 1}\n", "t.yaml:2:1: error: not supported: more than one document"},
    {"a: 1\nb: 2\na: 3\n", "t.yaml:3:1: error: duplicate key 'a', first on line 1\n"},
    {"a: 1\n\"\\x61\": 3\n", "t.yaml:2:1: error: duplicate key 'a', first on line 1\n"},
    {"a: [1, 2\nb: 1\n", "t.yaml:2:2: error: "},
    {"a: \"x\n", "t.yaml:2:1: error: found unexpected end of stream"},
    {"a: 1\n\tb: 2\n", "t.yaml:2:1: error: "},
    {"a: b: c\n", "t.yaml:1:5: error: mapping values are not allowed"},
    {"a: \xff\n", "t.yaml:1:4: error: invalid leading UTF-8 octet\n"},
    {"a: 1\nb: \xc3\n", "t.yaml:2:5: error: invalid trailing UTF-8 octet\n"},
    {"a: \x01\n", "t.yaml:1:4: error: control characters are not allowed\n"},
    {"a: \"x\\0\"\n", "t.yaml:1:4: error: a zero byte in a string\n"},
    {"\"a\\0\": 1\n", "t.yaml:1:1: error: a zero byte in a string\n"},
    {"a: 1e999\n", "t.yaml:1:4: error: number out of range\n"},
    {"}", "t.yaml:1:1: error: "},
    {"a: @b\n", "t.yaml:1:4: error: found character that cannot start any token"},
};

START_TEST(bad_text_is_refused_where_it_is)
{
    ck_assert_ptr_null(read_text(refused[_i].text));
    ck_assert_int_eq(hb_diag_count(diag), 1);
    const char *want = refused[_i].stderr_start;
    ck_assert_msg(!strncmp(printed().p, want, strlen(want)), "'%s': got %swant %s",
                  refused[_i].text, printed().p, want);
}
END_TEST

START_TEST(several_errors_are_collected)
{
    ck_assert_ptr_null(read_text("a: &x 1\nb: !!int 2\na: 3\nc: {d: 1, d: 2}\n"));
    ck_assert_int_eq(hb_diag_count(diag), 4);
}
END_TEST

START_TEST(depth_ends_at_64)
{
    for (int depth = 64; depth <= 65; depth++) {
        hb_buf b = {.arena = arena};
        for (int i = 0; i < depth; i++)
            hb_putc(&b, '[');
        for (int i = 0; i < depth; i++)
            hb_putc(&b, ']');
        hb_tree *t = read_text(hb_done(&b).p);
        ck_assert_int_eq(t != NULL, depth == 64);
    }
    const char *want = "t.yaml:1:65: error: nested deeper than 64 levels\n";
    ck_assert_int_eq(strncmp(printed().p, want, strlen(want)), 0);
}
END_TEST

START_TEST(every_prefix_ends_without_a_crash)
{
    static const char text[] =
        "a: [1, {b: \"\\u00e9\"}]\nc:\n  - 'd'\n  - |\n    e\n? f\n: \xc3\xa9\n";
    for (size_t n = 0; n <= sizeof text - 1; n++) {
        diag = hb_diag_new(arena);
        char *exact = malloc(n ? n : 1); // so that ASan sees a read past the end
        memcpy(exact, text, n);
        hb_tree *t = read_n(exact, n);
        ck_assert_int_eq(t == NULL, hb_diag_count(diag) > 0);
        free(exact);
    }
    ck_assert_int_eq(hb_diag_count(diag), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("yaml");
    TCase *t = tcase_create("yaml");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, cluster_file_is_read);
    tcase_add_loop_test(t, scalar_has_its_type, 0, sizeof scalars / sizeof *scalars);
    tcase_add_test(t, empty_value_is_null_and_escapes_are_undone);
    tcase_add_loop_test(t, bad_text_is_refused_where_it_is, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, several_errors_are_collected);
    tcase_add_test(t, depth_ends_at_64);
    tcase_add_test(t, every_prefix_ends_without_a_crash);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}
