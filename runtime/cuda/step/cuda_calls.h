// Calls of a step, launched: ops, moves, collectives, waits and pairs go to their streams; and the
// list of a recorded step, call by call.

#ifndef HAP_RUNTIME_CUDA_CALLS_H
#define HAP_RUNTIME_CUDA_CALLS_H

#include "cuda/step/cuda_program.h"

void cuda_run_op(hap_rank *r, const hap_op_call *c);
void cuda_run_fusion(hap_rank *r, const cuda_fusion *g);
void cuda_run_cut(hap_rank *r, hap_tensor *y, hap_tensor *x);
// A message to or from another stage; by way of host memory in passes in which a device may be
// waited for (cuda_ports.h).
void cuda_run_port(hap_rank *r, const hap_op_call *c);
void cuda_run_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x);
// at_once: its wait is the next call.
hap_event *cuda_run_start(hap_rank *r, const hap_coll_call *c, bool at_once);
void cuda_run_wait(hap_rank *r, hap_event *e);
hap_event *cuda_run_pair(hap_rank *r, const hap_pair *p); // NULL: nothing is to be waited for

// An event that stands in the list of those not waited for, until it is closed.
hap_event *cuda_event_open(hap_rank *r, const hap_coll_call *c);
void cuda_event_close(cuda_backend *b, hap_event *e);

void cuda_wait_for(hap_rank *r, cudaStream_t s); // the host waits, and looks for errors

// The list, or calls of it, which is begun before; at the step's end variables and loss are in the
// arena, and the rest is forgotten.
void cuda_list_begins(hap_rank *r);
void cuda_run_list(hap_rank *r);
void cuda_run_calls(hap_rank *r, int from, int to);
void cuda_step_ends(hap_rank *r);

#endif
