// Building DIR/program.c with the plain C compiler ($CC, else cc) against a runtime library that
// pkg-config names. The binary lies in a folder of the cache (cli/cache.h) that is named by the
// hash of all that it is made from: program.c, buffers.h, the backend, the compiler, its version,
// flags and variables, the runtime's headers and library; and of kernels.cu, which runs with it. So
// it is built once, and what lies in the plan folder is never executed.

#ifndef HAP_CLI_BUILD_H
#define HAP_CLI_BUILD_H

#include <signal.h>

#include "ir/base/arena.h"

// So many of SIGINT, SIGTERM and SIGHUP have come since `supervise` was first called, which counts
// them in place of ending hapc.
extern volatile sig_atomic_t cli_signals;

// Runs a command, waits, collects what it writes to stdout and stderr. Returns its exit code, 128 +
// signal, or -1 if it could not be started, ran longer than `seconds` (0: no limit) or was ended
// for one of cli_signals. It ends with hapc, however that ends.
int cli_capture(hb_arena *a, char *const *argv, char *const *env, int seconds, hb_str *out);

// The words of a command line as a shell reads them, quotes taken off; NULL-terminated.
char **cli_words(hb_arena *a, hb_str text, int *n);

// package: "haprt", "haprt-cuda". False after an error was printed; *code is then the exit code.
bool cli_build(hb_arena *a, const char *dir, const char *package, hb_str *binary, int *code);

#endif
