// Rows on bf16 and f16 tensors: f32 kernels on widened copies (ops_lowprec.c).

#ifndef HAP_RUNTIME_CPU_OPS_LOWPREC_H
#define HAP_RUNTIME_CPU_OPS_LOWPREC_H

#include "cpu/ops_kernels.h"

bool cpu_is_narrow(const hap_op_call *c);          // some operand or output is bf16 or f16
bool cpu_moves_bytes(hap_op_id op);                // its kernel takes elements of any type
const char *cpu_narrow_reserve(const hap_rank *r); // the workspace, once a program
const char *cpu_run_narrow(cpu_kernel *kernel, const hap_step_state *s, const hap_op_call *c);

#endif
