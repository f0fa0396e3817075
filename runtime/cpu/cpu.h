// The CPU backend: OpenBLAS kernels (ops_*.c), MPI collectives (coll_*.c), memory (segments.c).

#ifndef HAP_RUNTIME_CPU_H
#define HAP_RUNTIME_CPU_H

#include "core/rank.h"

// Computes one op on this rank's parts. c->out[i]->data and c->in[i]->data are row-major over
// `local`; any part may be empty. Nothing is returned: a wrong call ends in hap_fail (core/fail.h).
void hap_cpu_op(hap_rank *r, const hap_op_call *c);

#endif
