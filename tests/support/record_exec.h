// Runs a record on all its ranks in one process: the CPU kernels on the bytes that the record says,
// and collectives written down by what they mean, over the whole tensor.
//
// Memory begins as garbage, buffers are written where they lie, a collective's destination and
// scratch are garbage between start and wait and its sources are read at the wait: a program that
// touches bytes too early or too late computes garbage.

#ifndef HAP_TESTS_RECORD_EXEC_H
#define HAP_TESTS_RECORD_EXEC_H

#include "synth/certify/record.h"
#include "tests/support/interp.h"

typedef struct exec exec;

exec *exec_new(hb_arena *a, const record *r, hap_step_state now);
void exec_free(exec *x);
// Every rank's part of a whole tensor, into tensor id's bytes.
void exec_set(exec *x, int id, const hap_tensor *whole);
const char *exec_call(exec *x, int call); // NULL, or why it cannot be done
// Largest difference between an element of tensor id and of a whole one; partial: by axis, how the
// ranks' parts make the tensor (0, 's', 'm'). Infinite where only one is finite.
double exec_differs(const exec *x, int id, const char *partial, const hap_tensor *whole);
// From here on the kernels of this rank (-1: of none) take the largest element of their first float
// operand for zero; exec_missed: the last one had an element that was none. exec_restore brings
// back the memory of exec_save.
void exec_fault(exec *x, int rank);
bool exec_missed(const exec *x);
void exec_save(exec *x);
void exec_restore(exec *x);

#endif
