#include "cli/program_options.h"

#include <string.h>

#include "cli/cli.h"

typedef struct row {
    enum { GROUP, OPTION, KEY, VALUE } kind;
    const char *name, *value, *what;
} row;

static const row rows[] = {
#define HAP_OPTION_GROUP(title)       {GROUP, NULL, NULL, title},
#define HAP_OPTION(name, value, what) {OPTION, name, value, what},
#define HAP_OPTION_INNER(name, value, what)
#define HAP_CUDA_KEY(key, what)          {KEY, #key, NULL, what},
#define HAP_CUDA_VALUE(key, value, what) {VALUE, #key, #value, what},
#include "runtime/hap/run_options.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int find(int kind, const char *name, size_t n)
{
    for (int i = 0; i < N_ROWS; i++)
        if ((int)rows[i].kind == kind && rows[i].name && strlen(rows[i].name) == n &&
            memcmp(rows[i].name, name, n) == 0)
            return i;
    return -1;
}

int program_option(const char *arg, size_t n)
{
    return find(OPTION, arg, n);
}

bool program_option_wants_value(int option)
{
    return rows[option].value != NULL;
}

int program_option_names(const char **names, int max)
{
    int n = 0;
    for (int i = 0; i < N_ROWS && n < max; i++)
        if (rows[i].kind == OPTION) names[n++] = rows[i].name;
    return n;
}

// "--cuda has no key 'grap' (graph, tune, …)": those of the table, of a key's values if key.
static bool unknown(const char *key, hb_str text)
{
    const char *names[N_ROWS];
    hb_arena *a = hb_arena_new();
    hb_buf b = {.arena = a};
    int n = 0;
    for (int i = 0; i < N_ROWS; i++) {
        bool wanted =
            key ? rows[i].kind == VALUE && !strcmp(rows[i].name, key) : rows[i].kind == KEY;
        if (!wanted) continue;
        names[n] = key ? rows[i].value : rows[i].name;
        hb_printf(&b, "%s%s", n ? ", " : "", names[n]);
        n++;
    }
    cli_error(CLI_USAGE, "--cuda%s%s has no %s '%.*s' (%s)", key ? " " : "", key ? key : "",
              key ? "value" : "key", HB_ARG(text), b.p);
    const char *near = hb_nearest(text, names, n);
    if (near) fprintf(stderr, "hint: did you mean '%s'?\n", near);
    hb_arena_free(a);
    return false;
}

bool program_cuda_options(const char *text)
{
    for (;; text++) {
        size_t len = strcspn(text, ","), n = strcspn(text, "=,");
        int key = find(KEY, text, n), value = key + 1;
        if (key < 0) return unknown(NULL, (hb_str){text, n});
        hb_str given = {text + n, 0};
        if (n < len) given = (hb_str){text + n + 1, len - n - 1};
        while (value < N_ROWS && rows[value].kind == VALUE && !hb_str_is(given, rows[value].value))
            value++;
        if (value == N_ROWS || rows[value].kind != VALUE) return unknown(rows[key].name, given);
        text += len;
        if (!*text) return true;
    }
}

static void line(FILE *f, const char *left, const char *what)
{
    int wide = 0;
    for (const char *c = left; *c; c++)
        wide += ((unsigned char)*c & 0xC0) != 0x80; // characters of UTF-8
    fprintf(f, "  %s%*s%s\n", left, wide < 21 ? 21 - wide : 1, "", what);
}

void program_options_help(FILE *f)
{
    char left[64];
    for (int i = 0; i < N_ROWS; i++) {
        snprintf(left, sizeof left, "%s %s", rows[i].name ? rows[i].name : "",
                 rows[i].value ? rows[i].value : "");
        if (rows[i].kind == GROUP)
            fprintf(f, "\n%s:\n", rows[i].what);
        else if (rows[i].kind == OPTION)
            line(f, left, rows[i].what);
    }
}

void program_cuda_help(FILE *f)
{
    char left[64];
    fputs("\n--cuda KEY=VALUE,…, the first value of a key being the usual one:\n", f);
    for (int i = 0; i < N_ROWS; i++) {
        snprintf(left, sizeof left, "%s=%s", rows[i].name ? rows[i].name : "",
                 rows[i].value ? rows[i].value : "");
        if (rows[i].kind == KEY)
            fprintf(f, " %s: %s\n", rows[i].name, rows[i].what);
        else if (rows[i].kind == VALUE)
            line(f, left, rows[i].what);
    }
}
