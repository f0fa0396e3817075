// Whatever emit/lines.c prints, clang-format leaves alone: random calls, comments, declarations,
// lists. Needs clang-format 14; exits 77 (skipped) where there is none.

#include "emit/lines.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static uint64_t state;

static int below(int n) // splitmix64
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

static hb_str name(hb_arena *a, const char *before, int least, int most)
{
    hb_buf b = {.arena = a};
    hb_puts(&b, before);
    for (int n = least + below(most - least + 1); n > 0; n--)
        hb_putc(&b, (char)('a' + below(26)));
    return hb_done(&b);
}

static hb_str argument(hb_arena *a)
{
    switch (below(8)) {
    case 0:
        return hb_fmt(a, "%d", below(1000));
    case 1:
        return HB_STR("-1e-05");
    case 2:
        return hb_fmt(a, "HAP_INTS(%d, %d, %d)", below(9), below(99), below(9));
    case 3:
        return HB_STR("NULL");
    default:
        return name(a, below(2) ? "b->" : "&x_", 1, 30);
    }
}

static hb_str remark(hb_arena *a)
{
    hb_buf b = {.arena = a};
    for (int n = below(14); n > 0; n--)
        hb_printf(&b, "%s%.*s", b.n ? " " : "", HB_ARG(name(a, "", 1, 12)));
    return b.n ? hb_done(&b) : (hb_str){0};
}

static void statement(lines *l, int indent)
{
    hb_arena *a = l->arena;
    hb_str arg[14];
    int n = 1 + below(13);
    for (int i = 0; i < n; i++)
        arg[i] = i == 0 ? HB_STR("r") : argument(a);
    hb_str call = name(a, "op_", 2, 22), head = hb_fmt(a, "%.*s(", HB_ARG(call));
    if (below(3) == 0)
        head = hb_fmt(a, "hap_event *%.*s = %.*s(", HB_ARG(name(a, "e_", 1, 30)), HB_ARG(call));
    else if (below(4) == 0)
        head = hb_fmt(a, "*b->%.*s = %.*s(", HB_ARG(name(a, "", 1, 30)), HB_ARG(call));
    lines_call(l, indent, head, arg, n, remark(a), remark(a));
}

static hb_str random_file(hb_arena *a)
{
    hb_buf out = {.arena = a};
    lines l = {.arena = a, .out = &out};
    hb_str item[20];
    int n = 1 + below(19);
    for (int i = 0; i < n; i++)
        item[i] = below(4)
                      ? hb_fmt(a, "%.*s[2] = {%d, %d}", HB_ARG(name(a, "at_", 1, 9)),
                               below(1 << 30), below(99))
                      : hb_fmt(a, "%.*s[4] = {%d9000, %d, %d, %d9}", HB_ARG(name(a, "at_", 1, 30)),
                               below(1 << 30), below(1 << 30), below(1 << 30), below(1 << 30));
    lines_comment(&l, 0, 4, remark(a));
    lines_declare(&l, 0, HB_STR("static const int64_t "), item, n);
    lines_blank(&l);
    lines_text(&l, 0, "void f(void)");
    lines_text(&l, 0, "{");
    for (int i = 0; i < 12; i++) {
        int kind = below(8);
        if (kind == 0 && i > 0) {
            lines_blank(&l);
            lines_comment(&l, 4, 0, hb_fmt(a, "h.%d.%.*s", i, HB_ARG(remark(a))));
        } else if (kind == 1) {
            lines_one entry[4];
            for (int k = 0; k < 4; k++)
                entry[k] = (lines_one){name(a, "b->", 1, 30), name(a, "[", 1, 9)};
            lines_list(&l, 4, hb_fmt(a, "hap_tensor *const to_%d[] =", i), entry, 4);
        } else if (kind == 2) {
            lines_assign(&l, 4, name(a, "b->", 1, 40), name(a, "&", 1, 45));
        } else {
            statement(&l, 4);
        }
    }
    lines_text(&l, 0, "}");
    lines_flush(&l);
    int real = 0;
    for (size_t i = 0; i < out.n; i++)
        real += out.p[i] == '\n';
    ck_assert_int_eq(l.n, real); // line numbers are those of the file
    return hb_done(&out);
}

START_TEST(clang_format_changes_nothing)
{
    hb_arena *a = hb_arena_new();
    char dir[] = "/tmp/emit_lines_XXXXXX", command[512];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    for (int i = 0; i < 60; i++) {
        state = (uint64_t)i * 7919 + 1;
        hb_str path = hb_fmt(a, "%s/f%02d.c", dir, i);
        ck_assert(hb_write_file(path.p, random_file(a)));
    }
    snprintf(command, sizeof command,
             "cp .clang-format %s/ && clang-format-14 --style=file --dry-run -Werror %s/*.c", dir,
             dir);
    int rc = system(command);
    ck_assert_msg(rc == 0, "files in %s are laid out otherwise than clang-format would", dir);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
    hb_arena_free(a);
}
END_TEST

START_TEST(comments_hold_anything)
{
    hb_arena *a = hb_arena_new();
    hb_buf out = {.arena = a};
    lines l = {.arena = a, .out = &out};
    lines_comment(&l, 0, 0, HB_STR("a\nb\\"));
    lines_code(&l, 0, HB_STR("x();"), HB_STR("ends in a backslash \\"));
    lines_flush(&l);
    for (size_t i = 1; i < out.n; i++)
        ck_assert(out.p[i] != '\n' || out.p[i - 1] != '\\');
    ck_assert_int_eq(l.n, 2);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    if (system("command -v clang-format-14 >/dev/null") != 0) {
        puts("no clang-format-14");
        return 77;
    }
    Suite *s = suite_create("emit_lines");
    TCase *c = tcase_create("layout");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, clang_format_changes_nothing);
    tcase_add_test(c, comments_hold_anything);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
