// Fusions (hap_fuse to hap_fused) as kernels of the program's kernels.cu.
//
// NVRTC compiles the file for the rank's device when the first fusion comes that runs as a kernel;
// the result is kept beside the program and used again while source, headers, device and NVRTC are
// the same. A kernel runs a fusion if the fusion reads as the text that stands with the kernel
// (synth/passes/fuse.h writes it), tensor by tensor: so an edited program never runs another
// fusion's kernel. Where there is no kernel for a fusion its ops run one by one; rank 0 says why
// once. So do the ops of fusions for which the runtime has joins of its own (cuda_fuse.h) that go
// further than one fusion: layer norms, one op with its casts, statistics alone; --cuda
// fusions=all runs these as kernels too. fusions=off, fuse=off and --check-nan: no fusions.

#ifndef HAP_RUNTIME_CUDA_GROUP_H
#define HAP_RUNTIME_CUDA_GROUP_H

#include "core/backend.h"
#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_ops.h"
#include "hap/fusion_args.h"

typedef struct cuda_fusion { // one, ready to be launched
    const char *name;
    const void *kernel;
    bool rows; // a row a warp or block; else elements
    hap_fusion_args args;
    int n_ops;
    int line[CUDA_FUSION_OPS]; // of its ops in the program
    hap_op_id op[CUDA_FUSION_OPS];
    hap_op_call *call; // of a recorded one: its ops
    int n_tensors;
    struct {
        hap_tensor *t;
        bool read, written;
        int cast_of; // written: a cast of this tensor, which is read; -1
    } tensor[HAP_FUSION_TENSORS];
} cuda_fusion;

typedef struct cuda_fusions {
    bool started, loaded, off, all;
    char *source;     // kernels.cu
    void *library;    // cudaLibrary_t
    const char *open; // the fusion that is being called, NULL none
    int n;            // its ops
    hap_op_call op[CUDA_FUSION_OPS];
    int line[CUDA_FUSION_OPS];
    bool too_long; // more than that: they ran as they came
} cuda_fusions;

// Before the first fusion.
void cuda_fusions_start(hap_rank *r, cuda_fusions *g);
void cuda_fusions_end(cuda_fusions *g);
// The open fusion as a kernel; false: there is none for it.
bool cuda_fusion_find(hap_rank *r, cuda_fusions *g, int n_kept, hap_tensor *const *kept,
                      cuda_fusion *out);
const char *cuda_fusion_run(cuda_context *x, const cuda_fusion *g);

#endif
