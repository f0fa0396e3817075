// For the measuring program: the device, and a step that is the first of another program.

#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_capture.h"
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
    cuda_backend *b = cuda_of(r);
    if (k == b->program) return;
    cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
    cuda_forget_shadows(&b->x);
    int most = k > b->program ? k : b->program;
    b->others = hap_grow(r, b->others, &b->n_others, most + 1, sizeof *b->others);
    b->others[b->program] =
        (cuda_steps){b->steps, b->list, b->part, b->n_parts, b->cap_parts, b->whole, b->choice};
    cuda_steps s = b->others[k];
    b->steps = s.n;
    b->list = s.list;
    b->part = s.part;
    b->n_parts = s.n_parts;
    b->cap_parts = s.cap_parts;
    b->whole = s.whole;
    b->choice = s.choice;
    b->program = k;
}

void hap_backend_forget(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
    for (int k = b->n_others; k >= 0; k--) {
        hap_backend_program(r, k < b->n_others ? k : b->program);
        cuda_parts_free(b);
        cuda_whole_drop(r);
        cuda_record_free(&b->list);
        b->list = (cuda_record){0};
        b->choice = (cuda_choice){0};
        b->steps = 0;
    }
    cuda_forget_shadows(&b->x);
    b->mode = CUDA_STEP_CALLED;
}
