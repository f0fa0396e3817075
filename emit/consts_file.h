// The file of a plan folder that is not printed from the plan: its constants.

#ifndef HAP_EMIT_CONSTS_FILE_H
#define HAP_EMIT_CONSTS_FILE_H

#include "emit/emit.h"

// Collects every stored constant of the program into one safetensors file at `path`, under the
// tensors' names. *any = false and no file if the program has none. False with *why after a read
// error.
bool emit_consts(hb_arena *a, const emit_plan *e, const char *path, bool *any, hb_str *why);

#endif
