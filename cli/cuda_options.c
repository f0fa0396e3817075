// The value of --cuda, KEY=VALUE,…: checked by hapc before ranks start.

#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"

// "--cuda has no key 'grap' (graph, tune, …)": the keys of the table, or of a key its values.
static bool unknown(const char *key, hb_str text)
{
    hb_arena *a = hb_arena_new();
    HB_VEC(const char *) names = {0};
    hb_buf b = {.arena = a};
    for (int i = 0; cli_row_at(i); i++) {
        const cli_row *r = cli_row_at(i);
        if (key ? r->kind != CLI_ROW_VALUE || strcmp(r->name, key) != 0 : r->kind != CLI_ROW_KEY)
            continue;
        hb_printf(&b, "%s%s", names.n ? ", " : "", key ? r->value : r->name);
        HB_PUSH(a, &names, key ? r->value : r->name);
    }
    cli_error(CLI_USAGE, "--cuda%s%s has no %s '%.*s' (%s)", key ? " " : "", key ? key : "",
              key ? "value" : "key", HB_ARG(text), b.p);
    const char *near = hb_nearest(text, names.p, names.n);
    if (near) fprintf(stderr, "hint: did you mean '%s'?\n", near);
    hb_arena_free(a);
    return false;
}

static int find_key(hb_str text)
{
    for (int i = 0; cli_row_at(i); i++)
        if (cli_row_at(i)->kind == CLI_ROW_KEY && hb_str_is(text, cli_row_at(i)->name)) return i;
    return -1;
}

static bool is_value(int row)
{
    return cli_row_at(row) && cli_row_at(row)->kind == CLI_ROW_VALUE;
}

bool cli_cuda_options(const char *text)
{
    for (;; text++) {
        size_t len = strcspn(text, ","), n = strcspn(text, "=,");
        int key = find_key((hb_str){text, n}), value = key + 1;
        if (key < 0) return unknown(NULL, (hb_str){text, n});
        hb_str given = {text + n, 0};
        if (n < len) given = (hb_str){text + n + 1, len - n - 1};
        while (is_value(value) && !hb_str_is(given, cli_row_at(value)->value))
            value++;
        if (!is_value(value)) return unknown(cli_row_at(key)->name, given);
        text += len;
        if (!*text) return true;
    }
}
