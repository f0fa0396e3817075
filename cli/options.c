// Command lines: options, messages, numbers.

#include "cli/cli.h"
#include "cli/commands.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// --- one option ---

// "auto, flat or machine".
static hb_str list_of(hb_arena *a, const char *const *names, int n)
{
    hb_buf b = {.arena = a};
    for (int i = 0; i < n; i++)
        hb_printf(&b, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
    return hb_done(&b);
}

enum { MAX_CHOICES = 16 };

static int choices_of(hb_arena *a, const cli_row *r, const char **out)
{
    hb_str text = cli_row_text(a, r->choices);
    int n = 0;
    for (size_t i = 0, len; i < text.n && n < MAX_CHOICES; i += len) {
        i += strspn(text.p + i, "|, ");
        len = strcspn(text.p + i, "|, ");
        if (len > 0) out[n++] = hb_str_n(a, text.p + i, len).p;
    }
    return n;
}

// What other tools call it: an alias of the option at this row; NULL: none.
static const cli_row *alias_of(int option, const char *text)
{
    for (int i = option + 1; cli_row_at(i) && cli_row_at(i)->kind == CLI_ROW_ALIAS; i++)
        if (strcasecmp(cli_row_at(i)->name, text) == 0) return cli_row_at(i);
    return NULL;
}

// Whether text is one of the option's choices; says what they are if not.
static bool is_choice(int option, const char *text)
{
    const cli_row *r = cli_row_at(option);
    hb_arena *a = hb_arena_new();
    const char *names[MAX_CHOICES];
    int n = r->choices ? choices_of(a, r, names) : 0;
    bool good = n == 0;
    for (int i = 0; i < n; i++)
        good = good || strcmp(names[i], text) == 0;
    if (!good) {
        const cli_row *alias = alias_of(option, text);
        const char *near = hb_nearest((hb_str){text, strlen(text)}, names, n);
        cli_error(CLI_USAGE, "%s is %.*s, not '%s'", r->name, HB_ARG(list_of(a, names, n)), text);
        if (alias)
            fprintf(stderr, "hint: %s: %s %s\n", alias->what, r->name, alias->value);
        else if (near)
            fprintf(stderr, "hint: did you mean '%s'?\n", near);
    }
    hb_arena_free(a);
    return good;
}

bool cli_choice(const char *command, const char *option, const char *value)
{
    return is_choice(cli_option_row(cli_command_row(command), option, strlen(option)), value);
}

static int unknown_option(int command, const char *option)
{
    hb_arena *a = hb_arena_new();
    HB_VEC(const char *) names = {0};
    HB_PUSH(a, &names, "--help");
    for (int i = command + 1; cli_row_at(i) && cli_row_at(i)->kind != CLI_ROW_COMMAND; i++)
        if (cli_row_at(i)->kind == CLI_ROW_OPTION || cli_row_at(i)->kind == CLI_ROW_PASSED)
            HB_PUSH(a, &names, cli_row_at(i)->name);
    size_t len = strcspn(option, "=");
    const char *near = hb_nearest((hb_str){option, len}, names.p, names.n);
    cli_error(CLI_USAGE, "unknown option '%.*s'", (int)len, option);
    if (near) fprintf(stderr, "hint: did you mean '%s'?\n", near);
    hb_arena_free(a);
    return CLI_USAGE;
}

// Where the option of a row goes. Every option of the table is bound by its command.
static const cli_option *binding(const cli_option *o, int n, const cli_row *r)
{
    for (int i = 0; i < n; i++)
        if (strcmp(o[i].name, r->name) == 0) return &o[i];
    hb_assert(r->kind == CLI_ROW_PASSED);
    return NULL;
}

static void bind(const cli_option *o, const char *value)
{
    const char **to = o->value;
    if (to) {
        while (o->flag && *to)
            to++;
        *to = value;
    }
    if (o->flag) *o->flag = true;
}

// argv[*i] is an option: takes it and its value. CLI_GO, or an exit code after an error.
static int take(int command, int argc, char **argv, int *i, const cli_option *o, int n, cli_line *l)
{
    const char *arg = argv[*i], *eq = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
    size_t len = eq ? (size_t)(eq - arg) : strlen(arg);
    int k = cli_option_row(command, arg, len);
    if (k < 0) return unknown_option(command, arg);
    const cli_row *r = cli_row_at(k);
    const char *value = eq ? eq + 1 : NULL;
    if (!r->value && eq) return cli_error(CLI_USAGE, "%s takes no value", r->name);
    if (r->kind == CLI_ROW_PASSED) l->passed[l->n_passed++] = argv[*i];
    if (r->value && !eq) {
        if (*i + 1 == argc) return cli_error(CLI_USAGE, "%s wants a value", r->name);
        value = argv[++*i];
        if (r->kind == CLI_ROW_PASSED) l->passed[l->n_passed++] = argv[*i];
    }
    if (value && !is_choice(k, value)) return CLI_USAGE;
    const cli_option *b = binding(o, n, r);
    if (b) bind(b, value);
    return CLI_GO;
}

// Every option bound is one of the table.
static void check_bindings(int command, const cli_option *o, int n)
{
    for (int i = 0; i < n; i++)
        hb_assert(cli_option_row(command, o[i].name, strlen(o[i].name)) >= 0);
}

int cli_parse(const char *command, int argc, char **argv, const cli_option *o, int n, cli_line *l)
{
    int c = cli_command_row(command), code = CLI_GO;
    bool only_rest = false;
    check_bindings(c, o, n);
    for (int i = 0; i < argc; i++) {
        if (only_rest || argv[i][0] != '-' || argv[i][1] == 0) {
            if (l->n_rest == l->most)
                return cli_error(CLI_USAGE, "unexpected argument '%s'", argv[i]);
            l->rest[l->n_rest++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_rest = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_print_help(stdout, command);
            return CLI_OK;
        } else if ((code = take(c, argc, argv, &i, o, n, l)) != CLI_GO) {
            return code;
        }
    }
    if (l->n_rest >= l->least) return CLI_GO;
    const char *gap = *command ? " " : "";
    return cli_error(CLI_USAGE, "wanted: hapc%s%s %s (see hapc%s%s --help)", gap, command,
                     cli_row_at(c)->value, gap, command);
}

bool cli_integer(const char *option, const char *text, int64_t least, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || end == text || *end || v < least) {
        cli_error(CLI_USAGE, "%s wants a whole number of at least %lld, not '%s'", option,
                  (long long)least, text);
        return false;
    }
    *out = v;
    return true;
}

bool cli_real(const char *option, const char *text, double *out)
{
    char *end = NULL;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || v <= 0) {
        cli_error(CLI_USAGE, "%s wants a number above 0, not '%s'", option, text);
        return false;
    }
    *out = v;
    return true;
}

bool cli_precision(const char *precision, const char *grad_dtype, ir_options *o)
{
    if (precision && !ir_precision_parse((hb_str){precision, strlen(precision)}, &o->precision)) {
        cli_error(CLI_USAGE, "--precision is fp32, tf32 or bf16, not '%s'", precision);
        return false;
    }
    if (!grad_dtype) return true;
    if (!ir_dtype_parse((hb_str){grad_dtype, strlen(grad_dtype)}, &o->grad_dtype) ||
        (o->grad_dtype != IR_F32 && o->grad_dtype != IR_BF16)) {
        cli_error(CLI_USAGE, "--grad-dtype is f32 or bf16, not '%s'", grad_dtype);
        return false;
    }
    if (o->grad_dtype == IR_BF16 && o->precision != IR_PRECISION_BF16) {
        cli_error(CLI_USAGE, "--grad-dtype bf16 needs --precision bf16");
        return false;
    }
    return true;
}

bool cli_variant(const char *micro_batches, const char *recompute, ir_options *o)
{
    if (micro_batches && !cli_integer("--micro-batches", micro_batches, 1, &o->micro_batches))
        return false;
    if (!recompute) return true;
    o->recompute = strcmp(recompute, "none") == 0 ? "0" : recompute;
    if (strcmp(recompute, "all") == 0 || o->recompute[strspn(o->recompute, "0123456789,-")] == 0)
        return true;
    cli_error(CLI_USAGE,
              "--recompute is auto, none, all, how many or which blocks (0,2,5-7), not '%s'",
              recompute);
    return false;
}
