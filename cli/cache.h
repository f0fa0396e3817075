// Where compiled programs are kept: outside plan folders, which come from anywhere and may be
// read-only. One folder a program, named by the hash of all that it was made from.

#ifndef HAP_CLI_CACHE_H
#define HAP_CLI_CACHE_H

#include "ir/base/arena.h"

// $HAPC_CACHE, else $XDG_CACHE_HOME/hapc, else $HOME/.cache/hapc; made if it is not there. Nobody
// else may own it or write to it. False after an error was printed; *code is then the exit code.
bool cache_folder(hb_arena *a, hb_str *dir, int *code);
// Whether path is a file of whoever calls this, that nobody else may write to.
bool cache_has(const char *path);
// Says that the program in `home`, a folder of the cache, was used now.
void cache_used(hb_str home);
// Takes away what was not used for CACHE_DAYS, and what builds left that were killed.
void cache_sweep(hb_arena *a, hb_str dir);
// Takes one folder away with what cli_build puts there.
void cache_remove(hb_arena *a, hb_str home);
enum { CACHE_DAYS = 60 };

#endif
