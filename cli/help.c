// Help, man page and completion, all from the table of commands.

#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"

enum { WIDTH = 80, LEFT = 22, COMMAND_LEFT = 42 };

static int width_of(const char *text, size_t n)
{
    int w = 0;
    for (size_t i = 0; i < n; i++)
        w += ((unsigned char)text[i] & 0xC0) != 0x80; // characters of UTF-8
    return w;
}

// text in lines of at most WIDTH from column left on; the first one begins at column at.
static void put_wrapped(FILE *to, const char *text, int left, int at)
{
    bool first = true;
    while (*text) {
        size_t n = strcspn(text, " ");
        int w = width_of(text, n);
        if (!first && at + 1 + w > WIDTH) {
            fprintf(to, "\n%*s", left, "");
            at = left;
            first = true;
        }
        fprintf(to, "%s%.*s", first ? "" : " ", (int)n, text);
        at += w + !first;
        first = false;
        text += n + (text[n] == ' ');
    }
    fputc('\n', to);
}

// "  left     text", the text on lines of its own where left is long.
static void put_row(FILE *to, const char *indent, const char *left, const char *text, int column)
{
    int at = width_of(indent, strlen(indent)) + width_of(left, strlen(left));
    fprintf(to, "%s%s", indent, left);
    if (at + 1 > column) {
        fputc('\n', to);
        at = 0;
    }
    fprintf(to, "%*s", column - at, "");
    put_wrapped(to, text, column, column);
}

// "--batch N", "graph=on".
static hb_str left_of(hb_arena *a, const cli_row *r)
{
    const char *gap = r->kind == CLI_ROW_VALUE ? "=" : " ";
    return r->value ? hb_fmt(a, "%s%s%s", r->name, gap, r->value) : hb_str_c(a, r->name);
}

static void put_option_row(FILE *to, hb_arena *a, const cli_row *r)
{
    hb_str text = cli_row_text(a, r->what);
    switch (r->kind) {
    case CLI_ROW_GROUP:
        fputc('\n', to);
        put_wrapped(to, hb_fmt(a, "%.*s:", HB_ARG(text)).p, 0, 0);
        break;
    case CLI_ROW_ARGUMENT:
    case CLI_ROW_OPTION:
    case CLI_ROW_PASSED:
    case CLI_ROW_VALUE:
        put_row(to, "  ", left_of(a, r).p, text.p, LEFT);
        break;
    case CLI_ROW_KEY:
        fprintf(to, " %s: ", r->name);
        put_wrapped(to, text.p, 3, 3 + width_of(r->name, strlen(r->name)));
        break;
    case CLI_ROW_NOTE:
        fputc('\n', to);
        put_wrapped(to, text.p, 0, 0);
        break;
    case CLI_ROW_ALIAS:
    case CLI_ROW_COMMAND:
        break;
    }
}

// The arguments, options and notes of the command at row c.
static void put_options(FILE *to, hb_arena *a, int c)
{
    bool keys = false, spaced = false;
    for (int i = c + 1; cli_row_at(i) && cli_row_at(i)->kind != CLI_ROW_COMMAND; i++) {
        const cli_row *r = cli_row_at(i);
        if (!spaced && r->kind == CLI_ROW_ARGUMENT) fputc('\n', to);
        if (!keys && r->kind == CLI_ROW_KEY)
            fputs("\n--cuda KEY=VALUE,…, the first value of a key being the usual one:\n", to);
        keys = keys || r->kind == CLI_ROW_KEY;
        spaced = true;
        put_option_row(to, a, r);
    }
}

static void put_commands(FILE *to, hb_arena *a)
{
    fputs("hapc plans one training step for devices that differ, as a C program.\n\n", to);
    for (int i = 0; cli_row_at(i); i++) {
        const cli_row *r = cli_row_at(i);
        if (r->kind != CLI_ROW_COMMAND) continue;
        hb_str line =
            hb_fmt(a, "hapc%s%s%s%s", *r->name ? " " : "", r->name, *r->value ? " " : "", r->value);
        put_row(to, "  ", line.p, r->what, COMMAND_LEFT);
    }
    fputs("\n  hapc COMMAND --help, hapc --version\n", to);
}

void cli_print_help(FILE *to, const char *command)
{
    hb_arena *a = hb_arena_new();
    int c = cli_command_row(command);
    const cli_row *r = cli_row_at(c);
    if (*command) {
        put_wrapped(
            to, hb_fmt(a, "hapc %s%s%s: %s", r->name, *r->value ? " " : "", r->value, r->what).p, 0,
            0);
        put_options(to, a, c);
    } else {
        put_commands(to, a);
        put_options(to, a, c);
        fputs("\nExit: 0 done, 1 bad input, 2 usage, 3 no feasible plan, 4 bug, 5 the run failed,\n"
              "130 interrupted\n",
              to);
    }
    hb_arena_free(a);
}

// --- the man page ---

// Text for troff: no control characters at the start of a line, minus signs that can be copied.
static void put_troff(FILE *to, hb_str text)
{
    if (text.n > 0 && (text.p[0] == '.' || text.p[0] == '\'')) fputs("\\&", to);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\')
            fputs("\\e", to);
        else if (text.p[i] == '-')
            fputs("\\-", to);
        else if (text.p[i] == '\'')
            fputs("\\(aq", to);
        else
            fputc(text.p[i], to);
    }
    fputc('\n', to);
}

static void put_man_row(FILE *to, hb_arena *a, const cli_row *r)
{
    hb_str text = cli_row_text(a, r->what);
    switch (r->kind) {
    case CLI_ROW_COMMAND:
        fputs(".SH ", to);
        put_troff(to, *r->name ? hb_fmt(a, "\"hapc %s %s\"", r->name, r->value)
                               : hb_fmt(a, "\"hapc %s\"", r->value));
        put_troff(to, text);
        break;
    case CLI_ROW_GROUP:
    case CLI_ROW_NOTE:
        fputs(".PP\n", to);
        put_troff(to, r->kind == CLI_ROW_GROUP ? hb_fmt(a, "%.*s:", HB_ARG(text)) : text);
        break;
    case CLI_ROW_KEY:
        text = hb_fmt(a, "of \\-\\-cuda: %.*s", HB_ARG(text)); // fall through
    case CLI_ROW_ARGUMENT:
    case CLI_ROW_OPTION:
    case CLI_ROW_PASSED:
    case CLI_ROW_VALUE:
        fputs(".TP\n.B ", to);
        put_troff(to, left_of(a, r));
        put_troff(to, text);
        break;
    case CLI_ROW_ALIAS:
        break;
    }
}

void cli_print_man(FILE *to)
{
    hb_arena *a = hb_arena_new();
    fprintf(to,
            ".TH HAPC 1 \"\" \"hapc %s\" \"User Commands\"\n"
            ".SH NAME\nhapc \\- plans one training step for devices that differ, as a C program\n"
            ".SH SYNOPSIS\n.B hapc\nGRAPH.json CLUSTER.yaml [\\-o DIR] [options]\n.br\n"
            ".B hapc\nCOMMAND [arguments] [options]\n",
            cli_version());
    for (int i = 0; cli_row_at(i); i++)
        put_man_row(to, a, cli_row_at(i));
    fputs(".SH \"EXIT STATUS\"\n0 done, 1 bad input, 2 usage, 3 no feasible plan, 4 bug, 5 the run "
          "failed, 130 interrupted\n",
          to);
    hb_arena_free(a);
}
