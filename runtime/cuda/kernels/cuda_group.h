// Groups (hap_fuse to hap_fused) as kernels of the program's kernels.cu.
//
// NVRTC compiles the file for the rank's device when the first group comes that runs as a kernel;
// the result is kept beside the program and used again while source, headers, device and NVRTC are
// the same. A kernel runs a group if the group reads as the text that stands with the kernel
// (synth/passes/fuse.h writes it), tensor by tensor: so an edited program never runs another
// group's kernel. Where there is no kernel for a group its ops run one by one; rank 0 says why
// once. So do the ops of groups for which the runtime has joins of its own (cuda_fuse.h) that go
// further than one group: layer norms, one op with its casts, statistics alone; --cuda
// groups=all runs these as kernels too. groups=off, fuse=off and --check-nan: no groups.

#ifndef HAP_RUNTIME_CUDA_GROUP_H
#define HAP_RUNTIME_CUDA_GROUP_H

#include "core/backend.h"
#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_ops.h"
#include "hap/group_args.h"

typedef struct cuda_group { // one, ready to be launched
    const char *name;
    const void *kernel;
    bool rows; // a row a warp or block; else elements
    hap_group_args args;
    int n_tensors;
    struct {
        hap_tensor *t;
        bool read, written;
        int cast_of; // written: a cast of this tensor, which is read; -1
    } tensor[HAP_GROUP_TENSORS];
} cuda_group;

typedef struct cuda_groups {
    bool started, loaded, off, all;
    char *source;     // kernels.cu
    void *library;    // cudaLibrary_t
    const char *open; // the group that is being called, NULL none
    int n;            // its ops
    hap_op_call op[CUDA_GROUP_OPS];
    int line[CUDA_GROUP_OPS];
    bool too_long; // more than that: they ran as they came
} cuda_groups;

// Before the first group.
void cuda_groups_start(hap_rank *r, cuda_groups *g);
void cuda_groups_end(cuda_groups *g);
// The open group as a kernel; false: there is none for it.
bool cuda_group_find(hap_rank *r, cuda_groups *g, int n_kept, hap_tensor *const *kept,
                     cuda_group *out);
const char *cuda_group_run(cuda_context *x, const cuda_group *g);

#endif
