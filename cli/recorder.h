// hap-record, which reads program.c of a plan folder (runtime/interpret).

#ifndef HAP_CLI_RECORDER_H
#define HAP_CLI_RECORDER_H

#include "ir/base/arena.h"

// Reads DIR/program.c as a rank of that stage; log: where its record goes, NULL: its calls as one
// number, in *output. 0, or hap-record's exit code (127: there is none; < 0: it did not end), and
// in *output what it says.
int cli_recorder(hb_arena *a, const char *dir, int stage, const char *log, hb_str *output);
enum { CLI_RECORD_SECONDS = 120 };

#endif
