// Options that every emitted program takes (docs/formats.md, "Running a program").

#ifndef HAP_RUNTIME_RUN_OPTIONS_H
#define HAP_RUNTIME_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { HAP_MAX_INPUTS = 64 };

typedef struct hap_options {
    int64_t steps; // of this run
    int n_inputs;
    struct {
        const char *name, *file;
    } input[HAP_MAX_INPUTS];
    const char *init, *save, *save_grads, *trace;
    int64_t save_every; // 0: only at the end
    bool json, shuffle, check_nan, has_seed;
    uint64_t seed;
    const char *folder; // of the program: files of constants are relative to it
} hap_options;

// False with a message in why (of size n) on a usage error.
bool hap_options_parse(hap_options *o, int argc, char **argv, char *why, int n);

#endif
