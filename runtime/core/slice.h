// Which elements of a global tensor a rank's part holds, as runs that are consecutive in both.

#ifndef HAP_RUNTIME_SLICE_H
#define HAP_RUNTIME_SLICE_H

#include "core/tensor.h"

// Called with element indices, row-major, into the local part and into the global tensor.
typedef void hap_run_fn(void *user, int64_t local, int64_t global, int64_t n);

// dims[i] is cut to part[i] in its factor. Runs come in ascending local order.
void hap_slice_runs(int rank, const hap_dim *dims, const hap_range *part, hap_run_fn *fn,
                    void *user);
// The ranges that rank q holds of t; returns the number of elements.
int64_t hap_slice_of(const hap_rank *r, const hap_tensor *t, int q, hap_range *part);
// Is q the rank that speaks for its part (several hold the same part if an axis does not cut it)?
bool hap_slice_owner(const hap_rank *r, const hap_tensor *t, int q);

// Copies this part out of, or rank q's part into, a global tensor in memory.
void hap_slice_read(const hap_rank *r, const hap_tensor *t, void *local, const void *global);
void hap_slice_write(const hap_rank *r, const hap_tensor *t, int q, const void *local,
                     void *global);

#endif
