#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/plain.h"
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

// The text is copied to a block of its exact size, so that reading past its end is seen by ASan.
static hb_tree *read_n(const char *text, size_t n)
{
    char *exact = malloc(n ? n : 1);
    memcpy(exact, text, n);
    src = (hb_source){HB_STR("t.json"), {exact, n}};
    hb_tree *t = hb_json_read(arena, &src, diag);
    src.text = hb_str_n(arena, text, n);
    free(exact);
    return t;
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

// Canonical text of a tree, to compare whole documents at once.
static void put_tree(hb_buf *b, const hb_tree *t)
{
    switch (t->kind) {
    case HB_NULL:
        hb_puts(b, "null");
        return;
    case HB_BOOL:
        hb_puts(b, t->b ? "true" : "false");
        return;
    case HB_INT:
        hb_printf(b, "%lld", (long long)t->i);
        return;
    case HB_REAL:
        hb_printf(b, "r%.15g", t->f);
        return;
    case HB_TEXT:
        hb_put_json(b, t->s);
        return;
    case HB_LIST:
    case HB_TABLE:
        break;
    }
    hb_putc(b, t->kind == HB_LIST ? '[' : '{');
    for (int i = 0; i < t->n; i++) {
        if (i) hb_putc(b, ',');
        if (t->kind == HB_TABLE) {
            hb_put_json(b, t->key[i]);
            hb_putc(b, ':');
        }
        put_tree(b, t->v[i]);
    }
    hb_putc(b, t->kind == HB_LIST ? ']' : '}');
}

// The shapes of JSONTestSuite's y_ cases (github.com/nst/JSONTestSuite), with what they mean.
static const struct {
    const char *text, *tree;
} accepted[] = {
    {"[]", "[]"},
    {"[ ]", "[]"},
    {" {} ", "{}"},
    {"{\"\":0}", "{\"\":0}"},
    {"[[]   ]", "[[]]"},
    {"[\"\"]", "[\"\"]"},
    {"[null, 1, \"1\", {}]", "[null,1,\"1\",{}]"},
    {"[1\n]", "[1]"},
    {"\t\r\n 2 ", "2"},
    {"true", "true"},
    {"false", "false"},
    {"null", "null"},
    {"\"x\"", "\"x\""},
    {"-0", "0"},
    {"0", "0"},
    {"-0.0", "r-0"},
    {"0e+1", "r0"},
    {"0E0", "r0"},
    {"123e65", "r1.23e+67"},
    {"1E22", "r1e+22"},
    {"1e-2", "r0.01"},
    {"20e1", "r200"},
    {"-123", "-123"},
    {"123.456e78", "r1.23456e+80"},
    {"-1e-400", "r-0"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775808", "r9.22337203685478e+18"},
    {"123123123123123123123", "r1.23123123123123e+20"},
    {"\"\\u0060\\u012a\\u12AB\"", "\"`\xc4\xaa\xe1\x8a\xab\""},
    {"\"\\uD801\\udc37\"", "\"\xf0\x90\x90\xb7\""},
    {"\"\\ud83d\\ude39\\ud83d\\udc8d\"", "\"\xf0\x9f\x98\xb9\xf0\x9f\x92\x8d\""},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\u0008\\u000c\\n\\r\\t\""},
    {"\"\\uFFFF\\uDBFF\\uDFFE\"", "\"\xef\xbf\xbf\xf4\x8f\xbf\xbe\""},
    {"\"\x7f\"", "\"\\u007f\""},
    {"\"\xe2\x82\xac\xf0\x9d\x84\x9e\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"",
     "\"\xe2\x82\xac\xf0\x9d\x84\x9e\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""},
    {"\"\xf4\x8f\xbf\xbf\"", "\"\xf4\x8f\xbf\xbf\""},
    {"\"a/*b*/c\"", "\"a/*b*/c\""},
    {"{\"a\":{\"b\":[1,{\"c\":null}]}, \"b\" : 2}", "{\"a\":{\"b\":[1,{\"c\":null}]},\"b\":2}"},
};

START_TEST(well_formed_text_is_read)
{
    hb_tree *t = read_text(accepted[_i].text);
    ck_assert_msg(t != NULL, "%s: %s", accepted[_i].text, printed().p);
    hb_buf b = {.arena = arena};
    put_tree(&b, t);
    ck_assert_str_eq(hb_done(&b).p, accepted[_i].tree);
    ck_assert_int_eq(hb_diag_count(diag), 0);
}
END_TEST

// The shapes of the n_ cases, and the i_ cases that this reader refuses; line, column, message.
static const struct {
    const char *text;
    int line, col;
    const char *what;
} refused[] = {
    {"", 1, 1, "unexpected end of file, expected a value"},
    {" ", 1, 2, "unexpected end of file, expected a value"},
    {"\n\n  ]", 3, 3, "unexpected ']', expected a value"},
    {"\xef\xbb\xbf{}", 1, 1, "unexpected byte 0xef, expected a value"},
    {"[1.]", 1, 4, "unexpected ']', expected a digit"},
    {"[1.e1]", 1, 4, "unexpected 'e', expected a digit"},
    {"[.5]", 1, 2, "unexpected '.', expected a value"},
    {"[-]", 1, 3, "unexpected ']', expected a digit"},
    {"[-.1]", 1, 3, "unexpected '.', expected a digit"},
    {"[+1]", 1, 2, "unexpected '+', expected a value"},
    {"[01]", 1, 2, "number with a leading zero"},
    {"[-012]", 1, 3, "number with a leading zero"},
    {"[1e]", 1, 4, "unexpected ']', expected a digit"},
    {"[1e+]", 1, 5, "unexpected ']', expected a digit"},
    {"[0x1]", 1, 3, "unexpected 'x', expected ',' or ']'"},
    {"[1 000]", 1, 4, "unexpected '0', expected ',' or ']'"},
    {"[1e400]", 1, 2, "number out of range"},
    {"[-1e+9999]", 1, 2, "number out of range"},
    {"[NaN]", 1, 2, "unexpected 'N', expected a value"},
    {"[nan]", 1, 2, "unexpected 'n', expected a value"},
    {"[-Infinity]", 1, 3, "unexpected 'I', expected a digit"},
    {"[tru]", 1, 2, "unexpected 't', expected a value"},
    {"[truth]", 1, 2, "unexpected 't', expected a value"},
    {"[True]", 1, 2, "unexpected 'T', expected a value"},
    {"nul", 1, 1, "unexpected 'n', expected a value"},
    {"nulls", 1, 5, "unexpected 's', expected the end of the file"},
    {"[1,]", 1, 4, "unexpected ']', expected a value"},
    {"[1,,2]", 1, 4, "unexpected ',', expected a value"},
    {"[,1]", 1, 2, "unexpected ',', expected a value"},
    {"[1 2]", 1, 4, "unexpected '2', expected ',' or ']'"},
    {"[1}", 1, 3, "unexpected '}', expected ',' or ']'"},
    {"[1", 1, 3, "unexpected end of file, expected ',' or ']'"},
    {"[", 1, 2, "unexpected end of file, expected a value"},
    {"[]]", 1, 3, "unexpected ']', expected the end of the file"},
    {"[][]", 1, 3, "unexpected '[', expected the end of the file"},
    {"{} x", 1, 4, "unexpected 'x', expected the end of the file"},
    {"{\"a\":1,}", 1, 8, "unexpected '}', expected a key in double quotes"},
    {"{\"a\" 1}", 1, 6, "unexpected '1', expected ':'"},
    {"{\"a\"", 1, 5, "unexpected end of file, expected ':'"},
    {"{\"a\":", 1, 6, "unexpected end of file, expected a value"},
    {"{\"a\"::1}", 1, 6, "unexpected ':', expected a value"},
    {"{a:1}", 1, 2, "unexpected 'a', expected a key in double quotes or '}'"},
    {"{1:1}", 1, 2, "unexpected '1', expected a key in double quotes or '}'"},
    {"{'a':1}", 1, 2, "unexpected ''', expected a key in double quotes or '}'"},
    {"{,}", 1, 2, "unexpected ',', expected a key in double quotes or '}'"},
    {"{\"a\":1 \"b\":2}", 1, 8, "unexpected '\"', expected ',' or '}'"},
    {"{\"a\":1", 1, 7, "unexpected end of file, expected ',' or '}'"},
    {"[1] // c", 1, 5, "unexpected '/', expected the end of the file"},
    {"/*c*/[]", 1, 1, "unexpected '/', expected a value"},
    {"[#1]", 1, 2, "unexpected '#', expected a value"},
    {"[1\f]", 1, 3, "unexpected byte 0x0c, expected ',' or ']'"},
    {"[\xc2\xa0]", 1, 2, "unexpected byte 0xc2, expected a value"},
    {"['a']", 1, 2, "unexpected ''', expected a value"},
    {"[\"a]", 1, 2, "string not closed"},
    {"[\"a\nb\"]", 1, 2, "string not closed at the end of the line"},
    {"[\"a\tb\"]", 1, 4, "control byte 0x09 in string, write \\u0009"},
    {"[\"\x1f\"]", 1, 3, "control byte 0x1f in string, write \\u001f"},
    {"[\"\\", 1, 4, "unexpected end of file, expected the rest of an escape"},
    {"[\"\\a\"]", 1, 3, "unknown escape in string"},
    {"[\"a\\u0000\"]", 1, 4, "a zero byte in a string"},
    {"[\"\\'\"]", 1, 3, "unknown escape in string"},
    {"[\"\\x00\"]", 1, 3, "unknown escape in string"},
    {"[\"\\U0041\"]", 1, 3, "unknown escape in string"},
    {"[\"\\u00A\"]", 1, 8, "unexpected '\"', expected four hexadecimal digits after \\u"},
    {"[\"\\u00G0\"]", 1, 7, "unexpected 'G', expected four hexadecimal digits after \\u"},
    {"[\"\\u", 1, 5, "unexpected end of file, expected four hexadecimal digits after \\u"},
    {"[\"\\uD800\"]", 1, 3, "high surrogate without a low one"},
    {"[\"\\uD800abc\"]", 1, 3, "high surrogate without a low one"},
    {"[\"\\uD800\\n\"]", 1, 3, "high surrogate without a low one"},
    {"[\"\\uD800\\uD800\\n\"]", 1, 3, "high surrogate without a low one"},
    {"[\"\\uD800\\u0041\"]", 1, 3, "high surrogate without a low one"},
    {"[\"\\uDd1e\\uD834\"]", 1, 3, "low surrogate without a high one"},
    {"[\"\\uD800\\u1\"]", 1, 12, "unexpected '\"', expected four hexadecimal digits after \\u"},
    {"[\"\xff\"]", 1, 3, "invalid UTF-8: byte 0xff"},
    {"[\"ab\x80\"]", 1, 5, "invalid UTF-8: byte 0x80"},
    {"[\"\xc0\xaf\"]", 1, 3, "invalid UTF-8: byte 0xc0"},
    {"[\"\xc3\"]", 1, 3, "invalid UTF-8: byte 0xc3"},
    {"[\"\xe0\x80\xaf\"]", 1, 3, "invalid UTF-8: byte 0xe0"},
    {"[\"\xed\xa0\x80\"]", 1, 3, "invalid UTF-8: byte 0xed"},
    {"[\"\xf0\x80\x80\xaf\"]", 1, 3, "invalid UTF-8: byte 0xf0"},
    {"[\"\xf4\x90\x80\x80\"]", 1, 3, "invalid UTF-8: byte 0xf4"},
    {"[\"\xf0\x9d\x84", 1, 3, "invalid UTF-8: byte 0xf0"},
    {"{\n \"a\": 1,\n \"b\": 2,\n \"a\": 3}", 4, 2, "duplicate key 'a', first on line 2"},
    {"{\"a\":1,\"\\u0061\":2}", 1, 8, "duplicate key 'a', first on line 1"},
};

START_TEST(ill_formed_text_is_refused_where_it_is)
{
    ck_assert_ptr_null(read_text(refused[_i].text));
    ck_assert_int_eq(hb_diag_count(diag), 1);
    hb_str want = hb_fmt(arena, "t.json:%d:%d: error: %s\n", refused[_i].line, refused[_i].col,
                         refused[_i].what);
    ck_assert_msg(!strncmp(printed().p, want.p, want.n), "'%s': got %swant %s", refused[_i].text,
                  printed().p, want.p);
}
END_TEST

START_TEST(every_prefix_of_a_document_is_refused)
{
    static const char text[] = "{\"a\": [1.5e3, -2, \"\\ud83d\\ude39\xf0\x9d\x84\x9e\\n\"],"
                               " \"b\": {\"c\": [true, false, null]}}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        diag = hb_diag_new(arena);
        ck_assert_msg(!read_n(text, n) && hb_diag_count(diag) == 1, "prefix of %zu bytes", n);
    }
    diag = hb_diag_new(arena);
    ck_assert_ptr_nonnull(read_text(text));
}
END_TEST

START_TEST(nul_bytes_are_no_end)
{
    ck_assert_ptr_null(read_n("[1]\0", 4));
    ck_assert_ptr_null(read_n("\0", 1));
    ck_assert_ptr_null(read_n("[\"a\0b\"]", 7));
    ck_assert_ptr_null(read_n("[\"\\\0\"]", 6));
    ck_assert_ptr_null(read_text("[\"a\\u0000b\"]"));
    ck_assert_int_eq(hb_diag_count(diag), 5);
}
END_TEST

static hb_str nested(int depth, char open, char close)
{
    hb_buf b = {.arena = arena};
    for (int i = 0; i < depth; i++)
        hb_printf(&b, open == '{' ? "{\"a\":" : "[");
    hb_puts(&b, "1");
    for (int i = 0; i < depth; i++)
        hb_putc(&b, close);
    return hb_done(&b);
}

START_TEST(depth_ends_at_64)
{
    ck_assert_ptr_nonnull(read_text(nested(64, '[', ']').p));
    ck_assert_ptr_nonnull(read_text(nested(64, '{', '}').p));
    ck_assert_ptr_null(read_text(nested(65, '[', ']').p));
    ck_assert_int_eq(strncmp(printed().p, "t.json:1:65: error: nested deeper than 64", 41), 0);
    ck_assert_ptr_null(read_text(nested(65, '{', '}').p));
    hb_str many = nested(100000, '[', ']');
    ck_assert_ptr_null(read_n(many.p, 100000));
    hb_tree *wide = read_text("[[],[],[[]],[[],[]]]"); // closing gives depth back
    ck_assert_ptr_nonnull(wide);
    hb_buf b = {.arena = arena};
    hb_putc(&b, '[');
    for (int i = 0; i < 100; i++)
        hb_puts(&b, i ? ",[{}]" : "[{}]");
    hb_putc(&b, ']');
    ck_assert_ptr_nonnull(read_text(hb_done(&b).p));
}
END_TEST

START_TEST(all_duplicate_keys_are_reported)
{
    ck_assert_ptr_null(read_text("{\"a\":1,\"b\":{\"x\":1,\"x\":2},\"a\":2,\"a\":3}"));
    ck_assert_int_eq(hb_diag_count(diag), 3);
    ck_assert_ptr_nonnull(read_text("{\"a\":{\"a\":1},\"b\":{\"a\":1},\"A\":2}"));
}
END_TEST

START_TEST(every_value_knows_its_place)
{
    hb_tree *t = read_text("{\"x\": [1,\n  2.5],\r\n\t\"\xc3\xa9\": {\"k\": \"v\"}}\n");
    ck_assert_ptr_nonnull(t);
    hb_tree *x = hb_get(t, "x"), *e = hb_get(t, "\xc3\xa9");
    const hb_pos got[] = {t->at,       t->key_at[0], x->at,        x->v[0]->at,
                          x->v[1]->at, t->key_at[1], e->key_at[0], e->v[0]->at};
    const hb_pos want[] = {{1, 1}, {1, 2}, {1, 7}, {1, 8}, {2, 3}, {3, 2}, {3, 9}, {3, 14}};
    for (size_t i = 0; i < sizeof got / sizeof *got; i++) {
        ck_assert_int_eq(got[i].line, want[i].line);
        ck_assert_int_eq(got[i].col, want[i].col);
    }
    ck_assert(hb_str_is(x->v[1]->s, "2.5"));
    ck_assert_double_eq(x->v[0]->f, 1.0);
    ck_assert_ptr_null(hb_get(t, "y"));
    ck_assert_ptr_null(hb_get(x, "x"));
    ck_assert_ptr_null(hb_get(NULL, "x"));
}
END_TEST

START_TEST(many_keys_and_values)
{
    hb_buf b = {.arena = arena};
    for (int i = 0; i < 5000; i++)
        hb_printf(&b, "%s\"k%d\": [%d, \"%d\"]", i ? ",\n" : "{", i, i, i);
    hb_putc(&b, '}');
    hb_tree *t = read_text(hb_done(&b).p);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->n, 5000);
    for (int i = 0; i < 5000; i++) {
        ck_assert(hb_str_eq(t->key[i], hb_fmt(arena, "k%d", i)));
        ck_assert_int_eq(t->key_at[i].line, i + 1);
        ck_assert_int_eq(t->v[i]->v[0]->i, i);
    }
}
END_TEST

START_TEST(unknown_keys_are_named_with_the_nearest)
{
    static const char *const names[] = {"bandwidth", "latency"};
    hb_tree *t = read_text("{\"latency\": 1,\n \"bandwith\": 2, \"zzz\": 3}");
    hb_only_keys(t, names, 2, &src, diag);
    ck_assert_str_eq(printed().p, "t.json:2:2: error: unknown key 'bandwith'\n"
                                  "    \"bandwith\": 2, \"zzz\": 3}\n"
                                  "    ^\n"
                                  "hint: did you mean 'bandwidth'?\n"
                                  "t.json:2:17: error: unknown key 'zzz'\n"
                                  "    \"bandwith\": 2, \"zzz\": 3}\n"
                                  "                   ^\n");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, well_formed_text_is_read, 0, sizeof accepted / sizeof *accepted);
    tcase_add_loop_test(t, ill_formed_text_is_refused_where_it_is, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(t, every_prefix_of_a_document_is_refused);
    tcase_add_test(t, nul_bytes_are_no_end);
    tcase_add_test(t, depth_ends_at_64);
    tcase_add_test(t, all_duplicate_keys_are_reported);
    tcase_add_test(t, every_value_knows_its_place);
    tcase_add_test(t, many_keys_and_values);
    tcase_add_test(t, unknown_keys_are_named_with_the_nearest);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}
