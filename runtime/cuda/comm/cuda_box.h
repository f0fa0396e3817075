// Copies of parts of tensors that are stored over boxes (core/coll_geometry.h).

#ifndef HAP_RUNTIME_CUDA_BOX_H
#define HAP_RUNTIME_CUDA_BOX_H

#include "core/coll_geometry.h"
#include "cuda/device/cuda_error.h"

// Bytes before a part in a tensor stored over `held`; whether it is one run of bytes there.
int64_t cuda_box_offset(const hap_coll_view *v, hap_box held, hap_box part);
bool cuda_box_dense(const hap_coll_view *v, hap_box held, hap_box part);

// Copies `part` between tensors that are stored over boxes: by a copy engine, which takes up one
// run of bytes after the other, or, where it lies in runs of less than `shortest` bytes in one of
// them, by a kernel, whose threads take up to 16 bytes each.
const char *cuda_box_copy(cudaStream_t s, const hap_coll_view *v, void *to, hap_box to_held,
                          const void *from, hap_box from_held, hap_box part, int64_t shortest);

#endif
