// Command lines: options, messages, numbers.

#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_error(int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fflush(stdout);
    fputs("hapc: error: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return code;
}

int cli_unknown(const char *option, const char *const *names, int n)
{
    size_t len = strcspn(option, "=");
    const char *near = hb_nearest((hb_str){option, len}, names, n);
    cli_error(CLI_USAGE, "unknown option '%.*s'", (int)len, option);
    if (near) fprintf(stderr, "hint: did you mean '%s'?\n", near);
    return CLI_USAGE;
}

bool cli_parse(int argc, char **argv, const cli_option *o, int n, const char **rest, int max,
               int *n_rest)
{
    bool only_rest = false;
    *n_rest = 0;
    for (int i = 0; i < argc; i++) {
        if (only_rest || argv[i][0] != '-' || argv[i][1] == 0) {
            if (*n_rest == max) {
                cli_error(CLI_USAGE, "unexpected argument '%s'", argv[i]);
                return false;
            }
            rest[(*n_rest)++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            only_rest = true;
            continue;
        }
        const char *eq = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL;
        size_t len = eq ? (size_t)(eq - argv[i]) : strlen(argv[i]);
        int k = 0;
        while (k < n && (strlen(o[k].name) != len || memcmp(o[k].name, argv[i], len) != 0))
            k++;
        if (k == n) {
            const char **names = malloc(sizeof *names * (size_t)(n + 1));
            for (int m = 0; names && m < n; m++)
                names[m] = o[m].name;
            if (names) cli_unknown(argv[i], names, n);
            free(names);
            return false;
        }
        if (!o[k].value) {
            if (eq) {
                cli_error(CLI_USAGE, "%s takes no value", o[k].name);
                return false;
            }
            *o[k].flag = true;
        } else if (eq || i + 1 < argc) {
            const char **to = o[k].value;
            while (o[k].flag && *to)
                to++;
            *to = eq ? eq + 1 : argv[++i];
            if (o[k].flag) *o[k].flag = true;
        } else {
            cli_error(CLI_USAGE, "%s wants a value", o[k].name);
            return false;
        }
    }
    return true;
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
