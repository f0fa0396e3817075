// For the measuring program: the device, and a step that is the first of another program.

#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_capture.h"
#include "cuda/step/cuda_program.h"
#include "cuda/step/cuda_whole.h"

void hap_backend_device(hap_rank *r, hap_device *d)
{
    cuda_backend *b = cuda_of(r);
    struct cudaDeviceProp p;
    size_t left = 0, all = 0;
    memset(d, 0, sizeof *d);
    cuda_check(r, cuda_said(cudaGetDeviceProperties(&p, b->device), "cudaGetDeviceProperties"));
    cuda_check(r, cuda_said(cudaMemGetInfo(&left, &all), "cudaMemGetInfo"));
    snprintf(d->name, sizeof d->name, "%.90s", p.name);
    d->gpu = true;
    d->units = p.multiProcessorCount;
    d->memory = (int64_t)all;
    int64_t own =
        b->x.work.bytes + b->x.shadow_bytes; // as segments, no more than a program asks for
    for (int s = 0; s < 2; s++)
        if (r->seg[s]) own += r->seg_bytes[s];
    d->reserve = (int64_t)(all - left) - own;
}

void hap_backend_program(hap_rank *r, int k)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    if (k == steps->k) return;
    cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
    cuda_forget_shadows(&b->x);
    int most = k > steps->k ? k : steps->k;
    steps->others = hap_grow(r, steps->others, &steps->n_others, most + 1, sizeof *steps->others);
    steps->others[steps->k] = steps->now;
    steps->now = steps->others[k];
    b->warm = steps->now.passes > 1;
    steps->k = k;
}

void hap_backend_forget(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
    for (int k = steps->n_others; k >= 0; k--) {
        hap_backend_program(r, k < steps->n_others ? k : steps->k);
        cuda_parts_free(b);
        cuda_whole_drop(r);
        cuda_record_free(&steps->now.list);
        steps->now = (cuda_program){0};
    }
    cuda_forget_shadows(&b->x);
    steps->mode = CUDA_STEP_CALLED;
}
