// The end of all ranks by one of them, at any time, also before MPI has started.

#ifndef HAP_RUNTIME_ABORT_H
#define HAP_RUNTIME_ABORT_H

#include "core/rank.h"

_Noreturn void hap_comm_abort(const hap_rank *r, int code);

#endif
