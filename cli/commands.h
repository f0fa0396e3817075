// The table of commands and options (cli/commands.def), and what is printed from it.

#ifndef HAP_CLI_COMMANDS_H
#define HAP_CLI_COMMANDS_H

#include <stdio.h>

#include "ir/base/arena.h"

typedef enum cli_row_kind {
    CLI_ROW_COMMAND,
    CLI_ROW_ARGUMENT,
    CLI_ROW_GROUP,
    CLI_ROW_OPTION,
    CLI_ROW_PASSED, // an option that `hapc run` passes on to the program
    CLI_ROW_ALIAS,  // what other tools call a choice (value) of the option above
    CLI_ROW_NOTE,
    CLI_ROW_KEY, // of --cuda, and its values
    CLI_ROW_VALUE
} cli_row_kind;

typedef struct cli_row {
    cli_row_kind kind;
    const char *name, *value, *choices, *what; // as in commands.def; NULL where a kind has none
} cli_row;

// Row i of the table; NULL behind the last.
const cli_row *cli_row_at(int i);
// The row of a command; -1: there is none. Its options follow, up to the next command.
int cli_command_row(const char *name);
// The row of an option of a command, named by the first n characters of text; -1: there is none.
int cli_option_row(int command, const char *text, size_t n);
// A text of the table with its {tables} put in.
hb_str cli_row_text(hb_arena *a, const char *text);

void cli_print_help(FILE *to, const char *command); // "": hapc's own
void cli_print_man(FILE *to);
// Completion for "bash", "zsh" or "fish"; false: no such shell.
bool cli_print_completion(FILE *to, const char *shell);

#endif
