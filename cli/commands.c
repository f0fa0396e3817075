#include "cli/commands.h"

#include <string.h>

#include "synth/passes/passes.h"
#include "synth/space/strategy.h"

// clang-format off
static const cli_row rows[] = {
#define HAPC_COMMAND(name, arguments, what)      {CLI_ROW_COMMAND, name, arguments, NULL, what},
#define HAPC_ARGUMENT(name, what)                {CLI_ROW_ARGUMENT, name, NULL, NULL, what},
#define HAPC_GROUP(title)                        {CLI_ROW_GROUP, NULL, NULL, NULL, title},
#define HAPC_OPTION(name, value, choices, what)  {CLI_ROW_OPTION, name, value, choices, what},
#define HAPC_ALIAS(name, choice, what)           {CLI_ROW_ALIAS, name, choice, NULL, what},
#define HAPC_NOTE(text)                          {CLI_ROW_NOTE, NULL, NULL, NULL, text},
#define HAP_OPTION_GROUP(title)                  {CLI_ROW_GROUP, NULL, NULL, NULL, title},
#define HAP_OPTION(name, value, what)            {CLI_ROW_PASSED, name, value, NULL, what},
#define HAP_OPTION_INNER(name, value, what)
#define HAP_CUDA_KEY(key, what)                  {CLI_ROW_KEY, #key, NULL, NULL, what},
#define HAP_CUDA_VALUE(key, value, what)         {CLI_ROW_VALUE, #key, #value, NULL, what},
#include "cli/commands.def"
};
// clang-format on
enum { N_ROWS = sizeof rows / sizeof *rows };

const cli_row *cli_row_at(int i)
{
    return i >= 0 && i < N_ROWS ? &rows[i] : NULL;
}

int cli_command_row(const char *name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].kind == CLI_ROW_COMMAND && strcmp(rows[i].name, name) == 0) return i;
    return -1;
}

int cli_option_row(int command, const char *text, size_t n)
{
    for (int i = command + 1; i < N_ROWS && rows[i].kind != CLI_ROW_COMMAND; i++) {
        bool option = rows[i].kind == CLI_ROW_OPTION || rows[i].kind == CLI_ROW_PASSED;
        if (option && strlen(rows[i].name) == n && memcmp(rows[i].name, text, n) == 0) return i;
    }
    return -1;
}

// " L lower, W place waits, …".
static void put_passes(hb_buf *b)
{
    for (int k = 0; k < SYN_N_PASSES; k++)
        hb_printf(b, "%s%c %s", k ? ", " : "", syn_passes[k].letter, syn_passes[k].name);
}

hb_str cli_row_text(hb_arena *a, const char *text)
{
    static const char strategies[] = "{strategies}", passes[] = "{passes}";
    hb_buf b = {.arena = a};
    while (*text) {
        if (strncmp(text, strategies, sizeof strategies - 1) == 0) {
            hb_str names = syn_strategy_names(a);
            hb_putn(&b, names.p, names.n);
            text += sizeof strategies - 1;
        } else if (strncmp(text, passes, sizeof passes - 1) == 0) {
            put_passes(&b);
            text += sizeof passes - 1;
        } else {
            hb_putc(&b, *text++);
        }
    }
    return hb_done(&b);
}
