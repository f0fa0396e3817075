// What a kernel of kernels.cu is called with. Read by the runtime (C), nvcc and NVRTC: no header
// stands above it.

#ifndef HAP_FUSION_ARGS_H
#define HAP_FUSION_ARGS_H

enum { HAP_FUSION_TENSORS = 24, HAP_FUSION_ATTRS = 40, HAP_FUSION_RANK = 6 };

// What changes from step to step, on the device; as cuda_step.
typedef struct hap_fusion_step {
    double lr;
    long long step;
    unsigned long long seed;
} hap_fusion_step;

typedef struct hap_fusion_args {
    long long rows, cols; // of this rank's part of the domain
    long long own, turns; // rows / turns and turns: a block takes rows k, k + own, … in turn
    double n;             // columns of all ranks
    void *tensor[HAP_FUSION_TENSORS];
    long long count[HAP_FUSION_TENSORS]; // their elements
    struct {
        double f;
        long long i;
    } attr[HAP_FUSION_ATTRS]; // of the ops one after the other
    const hap_fusion_step *step;
    // Where the domain's elements lie in the whole tensor: element i is `offset` + i, or (unless
    // straight) each dim is outer blocks of `block` entries of which this rank has `part` from
    // `first` on.
    long long offset;
    int straight, rank;
    struct {
        long long block, first, part, whole, local;
    } dim[HAP_FUSION_RANK];
} hap_fusion_args;

#endif
