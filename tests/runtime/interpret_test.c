// hap-record reads a program as the C compiler does: random edits of emitted programs are refused,
// or are programs that compile and call the same.

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ir/base/arena.h"
#include "tests/support/cases.h"

enum { MOST_TOKENS = 1 << 16 };

typedef struct text {
    char *p;
    int n;
    int from[MOST_TOKENS], len[MOST_TOKENS], n_tokens;
} text;

static const char *const plans[] = {"mlp@laptop3", "gpt2-tiny@laptop-peers-pairs",
                                    "bert-tiny@laptop2"};
// What else somebody may write.
static const char *const words[] = {"system(\"true\")",
                                    "static int n;",
                                    "if (n++ < 1)",
                                    "goto out;",
                                    "while (1)",
                                    "return;",
                                    "#define h g\n",
                                    "%:define h g\n",
                                    "\?\?=",
                                    "\\\n",
                                    "/*",
                                    "*/",
                                    "//",
                                    "__attribute__",
                                    "asm(\"\")",
                                    "sizeof",
                                    "(int)",
                                    "(void)",
                                    "const",
                                    "HAP_N(cuts)",
                                    "1.5",
                                    "2147483648",
                                    "-1",
                                    "0x10",
                                    "010",
                                    "<<",
                                    "NULL",
                                    "&",
                                    "*",
                                    "!",
                                    "for (int j = 0; j < 2; j++)",
                                    "if (1)",
                                    "else",
                                    "{",
                                    "}",
                                    "int k = 3;",
                                    "const int k = 3;",
                                    "r",
                                    "i",
                                    "h",
                                    ";"};

static uint64_t state;

static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

// Words, numbers, strings and single signs; comments are left alone.
static void find_tokens(text *t)
{
    t->n_tokens = 0;
    for (int i = 0; i < t->n && t->n_tokens < MOST_TOKENS;) {
        int from = i;
        if (t->p[i] == '/' && t->p[i + 1] == '/') {
            while (i < t->n && t->p[i] != '\n')
                i++;
            continue;
        }
        if (isspace((unsigned char)t->p[i])) {
            i++;
            continue;
        }
        if (t->p[i] == '"')
            for (i++; i < t->n && t->p[i] != '"'; i++) {}
        else
            while (i < t->n && (isalnum((unsigned char)t->p[i]) || strchr("_.", t->p[i])))
                i++;
        if (i == from || t->p[from] == '"') i++;
        t->from[t->n_tokens] = from;
        t->len[t->n_tokens++] = i - from;
    }
}

static bool is_number(const text *t, int k)
{
    return isdigit((unsigned char)t->p[t->from[k]]) != 0;
}

// One random edit; what it was in *what.
static hb_str edit(hb_arena *a, const text *t, const char **what)
{
    int k = draw(t->n_tokens), other = draw(t->n_tokens), at = t->from[k], n = t->len[k];
    hb_str by = {t->p + t->from[other], (size_t)t->len[other]}, own = {t->p + at, (size_t)n};
    static const char *const kinds[] = {"number", "word", "other", "again", "without", "swap"};
    int kind = draw(6);
    *what = kinds[kind];
    if (kind == 0) {
        for (int tries = 0; !is_number(t, k) && tries < 1000; tries++)
            k = draw(t->n_tokens);
        at = t->from[k], n = t->len[k];
        by = hb_fmt(a, "%d", draw(12) - 1);
    } else if (kind == 1) {
        by = hb_fmt(a, "%s %.*s", words[draw(sizeof words / sizeof *words)], HB_ARG(own));
    } else if (kind == 3) {
        by = hb_fmt(a, "%.*s %.*s", HB_ARG(own), HB_ARG(own));
    } else if (kind == 4) {
        by = HB_STR("");
    } else if (kind == 5 && k + 1 < t->n_tokens) {
        int next = t->from[k + 1], m = t->len[k + 1];
        by = hb_fmt(a, "%.*s %.*s", m, t->p + next, HB_ARG(own));
        n = next + m - at;
    }
    return hb_fmt(a, "%.*s%.*s%s", at, t->p, HB_ARG(by), t->p + at + n);
}

static int run(hb_arena *a, const char *dir, const char *program, const char *log)
{
    int status =
        system(hb_fmt(a, "ASAN_OPTIONS=detect_leaks=0 timeout 60 %s --record %s/%s >%s/out 2>&1",
                      program, dir, log, dir)
                   .p);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// A log without lines: calls whose line a program does not give have that of another one there.
static hb_str calls_of(hb_arena *a, const char *dir, const char *log)
{
    hb_str s;
    hb_buf b = {.arena = a};
    const char *why = NULL, *line;
    ck_assert(hb_read_file(a, hb_fmt(a, "%s/%s", dir, log).p, &s, &why));
    const char *at = s.p;
    for (; (line = strstr(at, "\"line\":")); at = line + strcspn(line, ",") + 1)
        hb_putn(&b, at, (size_t)(line - at));
    hb_puts(&b, at);
    return hb_done(&b);
}

static text read_text(hb_arena *a, const char *plan, const char *end)
{
    hb_str s;
    const char *why = NULL;
    text t = {0};
    ck_assert(hb_read_file(a, hb_fmt(a, "tests/plans/%s%s", plan, end).p, &s, &why));
    t.p = hb_copy(a, s.p, s.n + 1);
    t.n = (int)s.n;
    find_tokens(&t);
    return t;
}

// True if hap-record takes the program in dir; then the compiler does, and it calls the same.
static bool agree(hb_arena *a, const char *dir, const char *said)
{
    const char *build = getenv("HAP_BUILD");
    int code = run(a, dir, hb_fmt(a, "%s/bin/hap-record %s/program.c", build, dir).p, "read");
    ck_assert_msg(code == 0 || code == 1 || code == 2 || code == 5, "%s: exit %d", said, code);
    if (code != 0) return false;
    int rc = system(hb_fmt(a,
                           "cd %s && PKG_CONFIG_PATH=%s/lib/pkgconfig && export PKG_CONFIG_PATH && "
                           "${CC:-cc} -std=c11 -O0 -w program.c -o program "
                           "$(pkg-config --cflags --libs haprt-record) 2>cc",
                           dir, build)
                        .p);
    ck_assert_msg(rc == 0, "%s: hap-record takes what does not compile", said);
    code = run(a, dir, hb_fmt(a, "%s/program", dir).p, "compiled");
    ck_assert_msg(code == 0, "%s: hap-record takes what exits with %d", said, code);
    ck_assert_msg(hb_str_eq(calls_of(a, dir, "read"), calls_of(a, dir, "compiled")),
                  "%s: the compiled program calls something else", said);
    return true;
}

START_TEST(edits_are_read_as_compiled)
{
    const char *given = getenv("INTERPRET_SEED");
    uint64_t first = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000;
    int n = given ? 1 : test_cases(20, 60, 2000), taken = 0;
    hb_arena *a = hb_arena_new();
    char dir[] = "/tmp/interpret.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    static text file[2];
    for (int f = 0; f < 2; f++)
        file[f] = read_text(a, plans[_i], f ? ".h" : ".c");
    for (int k = 0; k < n; k++) {
        state = first + (uint64_t)k;
        draw(2);
        hb_arena *one = hb_arena_new();
        const char *what = "";
        int edited = draw(4) == 0;
        hb_str changed = edit(one, &file[edited], &what);
        for (int f = 0; f < 2; f++) {
            hb_str s = f == edited ? changed : (hb_str){file[f].p, (size_t)file[f].n};
            ck_assert(hb_write_file(hb_fmt(one, "%s/%s", dir, f ? "buffers.h" : "program.c").p, s));
        }
        hb_str said = hb_fmt(one, "%s, INTERPRET_SEED=%llu (%s); see %s", plans[_i],
                             (unsigned long long)first + (unsigned)k, what, dir);
        taken += agree(one, dir, said.p);
        hb_arena_free(one);
    }
    printf("%s: of %d edits from seed %llu on %d are programs, read as compiled\n", plans[_i], n,
           (unsigned long long)first, taken);
    ck_assert_int_eq(system(hb_fmt(a, "rm -r %s", dir).p), 0);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("interpret");
    TCase *t = tcase_create("interpret");
    tcase_set_timeout(t, 0);
    tcase_add_loop_test(t, edits_are_read_as_compiled, 0, (int)(sizeof plans / sizeof *plans));
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
