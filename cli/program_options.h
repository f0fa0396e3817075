// Options of emitted programs (runtime/hap/run_options.def), which hapc checks and passes on.

#ifndef HAP_CLI_PROGRAM_OPTIONS_H
#define HAP_CLI_PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// The option that the first n characters of arg name; -1: none.
int program_option(const char *arg, size_t n);
bool program_option_wants_value(int option);
int program_option_names(const char **names, int max); // how many
// The value of --cuda. False after an error was printed, with the nearest key or value as a hint.
bool program_cuda_options(const char *text);
void program_options_help(FILE *f);
void program_cuda_help(FILE *f);

#endif
