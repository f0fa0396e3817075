// The GPU architectures that the CUDA runtime beside hapc was built for.

#ifndef HAP_CLI_ARCHITECTURES_H
#define HAP_CLI_ARCHITECTURES_H

#include "ir/base/arena.h"

// As CMAKE_CUDA_ARCHITECTURES has them, "80-real 90a-real", from the runtime's package file; empty
// where there is no such runtime.
hb_str cli_architectures(hb_arena *a);

// Has such a runtime code that runs on sm_`arch`? True too where `built` does not say (empty,
// "native") or arch is 0, not known: then the ranks find out as they start.
bool cli_has_code(hb_str built, int arch);
// Why not: "sm_75: the CUDA runtime of this hapc was built for 80-real 90a-real alone; …"
hb_str cli_no_code(hb_arena *a, hb_str built, int arch);

#endif
