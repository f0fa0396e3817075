// Where this rank is, for the supervisor: a file of 128 bytes mapped in memory.
//
// Where HAP_HEARTBEAT names a folder, rank N writes FOLDER/rank.N before every call:
//
//     PID STEP LINE NAME COUNT\n        padded with spaces before the newline to 128 bytes
//
// NAME is the op or call ("linear", "coll_all_gather", "hap_wait", "load", "save"); COUNT grows
// with every write, so that a rank whose COUNT stands still is busy in NAME or hangs there. STEP is
// -1 before the first step, -2 while it is rehearsed (core/step.c). Once the rank has ended without
// error NAME is "end"; where it ends itself after a message, NAME is "quit" and its exit code
// ("quit1").

#ifndef HAP_RUNTIME_HEARTBEAT_H
#define HAP_RUNTIME_HEARTBEAT_H

#include "core/rank.h"

const char *hap_beat_start(hap_rank *r);      // NULL, or why not
void hap_beat(hap_rank *r, const char *name); // also sets r->doing
void hap_beat_end(hap_rank *r);
void hap_beat_quit(const hap_rank *r, int code);

#endif
