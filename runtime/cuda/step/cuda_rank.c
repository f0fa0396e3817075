// The start and the end of a rank.

#include <stdio.h>
#include <stdlib.h>

#include "core/comm.h"
#include "core/fail.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_pair.h"
#include "cuda/comm/cuda_ports.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_room.h"
#include "cuda/device/cuda_trace.h"
#include "cuda/kernels/cuda_compute.h"
#include "cuda/kernels/cuda_multiply_tiles.h"
#include "cuda/step/cuda_capture.h"
#include "cuda/step/cuda_inputs.h"
#include "cuda/step/cuda_program.h"
#include "cuda/step/cuda_whole.h"

const char *hap_backend_stages(const hap_rank *r)
{
    return r->opt.n_evals ? "not supported: --eval of a program of stages on GPUs" : NULL;
}

int hap_backend_rehearsals(hap_rank *r)
{
    const cuda_steps *steps = cuda_steps_of(r);
    bool none = r->opt.has_rehearse && r->opt.rehearse == 0;
    int n = none ? 0 : steps->use_graph ? 3 : steps->use_list ? 2 : 1;
    HAP_CK(r, none || !r->opt.has_rehearse || r->opt.rehearse == n,
           "not supported: --rehearse %lld on a GPU, where it takes %d, or 0",
           (long long)r->opt.rehearse, n);
    return hap_comm_min(r, n);
}

// How steps are run (cuda_program.h): what all ranks can.
static void choose_ways(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    enum { CALLED, LISTED, GRAPHS, EITHER };
    static const int asked[] = {[HAP_CUDA_graph_on] = GRAPHS,
                                [HAP_CUDA_graph_list] = LISTED,
                                [HAP_CUDA_graph_auto] = EITHER,
                                [HAP_CUDA_graph_off] = CALLED};
    const hap_cuda_options *o = &r->opt.cuda;
    bool tuned = o->tune == HAP_CUDA_tune_on;
    int way = o->graph != HAP_CUDA_graph_usual ? asked[o->graph]
              : r->n_ranks > 1 && tuned        ? EITHER
                                               : GRAPHS;
    if (r->opt.trace && way > LISTED) way = LISTED;
    if (r->opt.check_nan) way = CALLED;
    way = hap_comm_min(r, way);
    steps->use_list = way >= LISTED;
    steps->use_graph = way >= GRAPHS;
    steps->chooses = way == EITHER;
}

void hap_backend_mesh(hap_rank *r)
{
    cuda_backend *b = hap_alloc(r, sizeof *b);
    r->backend = b;
    b->steps = hap_alloc(r, sizeof *b->steps);
    cuda_device_take(r);
    b->x.tf32 = r->math == HAP_MATH_TF32;
    b->x.verbose = r->opt.verbose;
    b->x.options = r->opt.cuda;
    if (r->ports && r->n_stages > 1 && r->opt.cuda.spare == HAP_CUDA_spare_on)
        b->x.held_sms = CUDA_PORT_HELD;
    cuda_check(r, cuda_compute_start(&b->x, r->sms ? r->sms[r->member] : 0));
    if (r->n_ranks > 1) cuda_multiply_ranks(&b->x);
    r->emulated = r->sms || r->nccl_host || cuda_shares(r);
    r->device_traces = true;
    choose_ways(r);
    cuda_nccl_start(r);
    cuda_ports_start(r);
    cuda_pair_start(r);
    if (r->opt.verbose) {
        struct cudaDeviceProp p;
        cuda_check(r, cuda_said(cudaGetDeviceProperties(&p, b->device), "cudaGetDeviceProperties"));
        char sms[48] = "";
        if (b->x.sms)
            snprintf(sms, sizeof sms, " (emulated: %d of %d SMs)", b->x.sms, p.multiProcessorCount);
        fprintf(stderr, "rank %d device %d %s%s, attention by %s\n", r->id, b->device, p.name, sms,
                b->x.attention ? "cuDNN where it can" : "own kernels");
    }
}

void hap_backend_finish(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    if (!b) return;
    if (r->opt.verbose) {
        size_t left = 0, all = 0;
        cudaMemGetInfo(&left, &all);
        fprintf(stderr,
                "rank %d workspace %lld bytes, padded copies %lld bytes, heads outside the arena "
                "%lld bytes; in use %lld of %lld bytes of the device\n",
                r->id, (long long)b->x.work.bytes, (long long)b->x.shadow_bytes,
                (long long)steps->now.list.spare_bytes, (long long)(all - left), (long long)all);
        fprintf(stderr, "rank %d copies back %lld bytes of padded copies at a step's end\n", r->id,
                (long long)steps->back);
        fprintf(stderr,
                "rank %d turned %lld bytes that lay channels last, in the passes it called\n",
                r->id, (long long)b->x.last_back);
        const cuda_made *m = b->x.made;
        fprintf(stderr,
                "rank %d made before the steps: %d plans, %d allocations, %d graphs; in them: %d "
                "plans, %d allocations, %d graphs\n",
                r->id, m[CUDA_BEFORE].plans, m[CUDA_BEFORE].allocations, m[CUDA_BEFORE].graphs,
                m[CUDA_IN_STEPS].plans, m[CUDA_IN_STEPS].allocations, m[CUDA_IN_STEPS].graphs);
    }
    cudaDeviceSynchronize();
    cuda_inputs_end(b);
    cuda_parts_free(b);
    cuda_whole_drop(r);
    cuda_record_free(&steps->now.list);
    free(steps->others); // of programs that were forgotten
    cuda_fusions_end(&steps->fusions);
    cuda_trace_free(b->trace);
    cuda_pair_end(r);
    cuda_ports_close(r);
    cuda_nccl_end(r);
    for (hap_event *e = steps->free; e;) {
        hap_event *next = e->next;
        cudaEventDestroy(e->ready);
        cudaEventDestroy(e->done);
        free(e);
        e = next;
    }
    cudaFree(b->own_sym);
    cudaFree(r->seg[SEG_LOCAL]);
    for (int axes = 0; axes < CUDA_MASKS; axes++)
        cuda_room_free(&b->bounce[axes]);
    cuda_put_end(r);
    r->seg[SEG_SYM] = r->seg[SEG_LOCAL] = NULL;
    if (b->staging) cudaFreeHost(b->staging);
    cuda_compute_end(&b->x);
    MPI_Comm_free(&b->stage);
    free(b->steps);
    free(b);
    r->backend = NULL;
}
