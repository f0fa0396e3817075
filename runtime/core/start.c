// From main to the first step: ranks, options, mesh, classes, segments; and the end of a program.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/backend.h"
#include "core/checkpoint.h"
#include "core/comm.h"
#include "core/evaluate.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/inputs.h"
#include "core/pace.h"
#include "core/ports.h"
#include "core/report.h"
#include "core/stage_vars.h"
#include "core/tensor.h"
#include "core/trace.h"

static volatile sig_atomic_t stop_asked; // hap_stop

static void ask_to_stop(int sig)
{
    if (sig == SIGUSR1)
        stop_asked = HAP_STOP_NOW;
    else if (stop_asked == HAP_STOP_NOT)
        stop_asked = HAP_STOP_SAVED;
}

hap_stop hap_stop_asked(void)
{
    return (hap_stop)stop_asked;
}

hap_rank *hap_init(int *argc, char ***argv, const char *graph_sha, int n_ranks)
{
    static hap_rank rank; // a process is one rank
    hap_rank *r = &rank;
    char why[256] = "";
    r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
    hap_comm_start(r, argc, argv);
    r->graph_sha = graph_sha;
    if (!hap_options_parse(&r->opt, *argc, *argv, why, sizeof why))
        hap_agree(r, HAP_EXIT_USAGE, why);
    if (r->n_ranks == 1 && n_ranks > 1 && getenv("SLURM_PROCID")) {
        // A task that MPI does not join with the others: each is rank 0 of its own.
        if (atoi(getenv("SLURM_PROCID")) == 0)
            fprintf(stderr,
                    "error: the program is for %d ranks; srun started tasks that MPI does not "
                    "join (srun --mpi=list shows how they can be: --mpi=pmix for Open MPI)\n",
                    n_ranks);
        hap_comm_finish(r);
        exit(HAP_EXIT_INPUT);
    }
    if (r->n_ranks != n_ranks)
        snprintf(why, sizeof why, "the program is for %d rank%s, started on %d", n_ranks,
                 n_ranks == 1 ? "" : "s", r->n_ranks);
    hap_agree(r, HAP_EXIT_INPUT, why);
    r->now.seed = r->opt.seed;
    r->saved_step = -1;
    r->norm = -1;
    struct sigaction act = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGUSR2, &act, NULL);
    const char *unheard = hap_beat_start(r);
    if (unheard) hap_fail(r, HAP_EXIT_FAILED, "%s", unheard);
    r->doing = NULL;
    return r;
}

void hap_math(hap_rank *r, hap_math_mode mode)
{
    HAP_CK(r, r->n_axes == 0, "hap_math after hap_mesh");
    HAP_CK(r, mode == HAP_MATH_F32 || mode == HAP_MATH_TF32, "there is no math %d", (int)mode);
    r->math = mode;
}

void hap_places(hap_rank *r, const int *device, const int *sms, const int *host)
{
    HAP_CK(r, r->n_axes == 0, "hap_places after hap_mesh");
    for (int i = 0; i < r->n_members; i++) {
        HAP_CK(r, !device || device[i] >= 0, "rank %d has device %d", i, device[i]);
        HAP_CK(r, !sms || sms[i] >= 0, "rank %d has %d SMs", i, sms[i]);
        HAP_CK(r, !host || host[i] >= 0, "rank %d has host %d", i, host[i]);
    }
    r->device = device;
    r->sms = sms;
    r->nccl_host = host;
}

void hap_mesh(hap_rank *r, int n_axes, const int *sizes)
{
    HAP_CK(r, r->n_axes == 0, "hap_mesh is called twice");
    HAP_CK(r, n_axes >= 1 && n_axes <= HAP_MAX_AXES, "a mesh of %d axes", n_axes);
    int n = 1;
    for (int a = 0; a < n_axes; a++) {
        HAP_CK(r, sizes[a] >= 1, "a mesh with %d ranks on axis %d", sizes[a], a);
        r->size[a] = sizes[a];
        n *= sizes[a];
    }
    HAP_CK(r, n == r->n_members, "a mesh of %d ranks in a %s of %d", n,
           r->n_stages ? "stage" : "program", r->n_members);
    r->n_axes = n_axes;
    r->coord[0] = n_axes == 2 ? r->member / sizes[1] : r->member;
    r->coord[1] = n_axes == 2 ? r->member % sizes[1] : 0;
    hap_backend_mesh(r);
}

void hap_classes(hap_rank *r, const int *class_of_rank)
{
    for (int i = 0; i < r->n_members; i++) {
        HAP_CK(r, class_of_rank[i] >= 0, "rank %d has class %d", i, class_of_rank[i]);
        if (class_of_rank[i] >= r->n_classes) r->n_classes = class_of_rank[i] + 1;
    }
    r->class_of = class_of_rank;
    r->class_id = class_of_rank[r->member];
}

void hap_segments(hap_rank *r, int64_t sym_bytes, const int64_t *local_bytes)
{
    HAP_CK(r, r->n_classes > 0, "segments before classes");
    HAP_CK(r, r->seg_bytes[SEG_SYM] < 0, "hap_segments is called twice");
    r->seg_bytes[SEG_SYM] = sym_bytes;
    r->seg_bytes[SEG_LOCAL] = local_bytes[r->class_id];
    for (int s = 0; s < 2; s++) {
        HAP_CK(r, r->seg_bytes[s] >= 0, "a segment of %lld bytes", (long long)r->seg_bytes[s]);
        r->seg[s] = hap_backend_segment(r, (hap_segment)s, r->seg_bytes[s]);
    }
    // What the tests hold against plan.json.
    if (r->opt.verbose)
        fprintf(stderr, "rank %d class %d segments: sym %lld local %lld bytes\n", r->id,
                r->class_id, (long long)r->seg_bytes[SEG_SYM], (long long)r->seg_bytes[SEG_LOCAL]);
}

hap_tensor *(hap_at)(hap_rank *r, hap_segment seg, const int64_t *off, hap_dtype type, int rank,
                     const hap_dim *dims)
{
    hap_tensor *t = hap_tensor_declare(r, seg, off, type, rank, dims);
    t->data = r->seg[seg] + t->off;
    hap_ring_add(r, t);
    return t;
}

void hap_ring(hap_rank *r, int place)
{
    HAP_CK(r, place >= 0 && place < r->n_rings, "place %d of a ring of %d", place, r->n_rings);
    r->ring = place;
    for (int i = 0; i < r->n_tensors; i++) {
        hap_tensor *t = r->tensor[i];
        if (t->ring) t->data = r->seg[t->seg] + t->off + place * r->ring_bytes[r->class_id];
    }
}

int hap_finish(hap_rank *r)
{
    HAP_CK(r, !r->in_step, "hap_finish inside the step");
    if (r->opt.save && r->saved_step != r->now.step) hap_checkpoint_save(r);
    if (r->opt.save_grads) hap_checkpoint_save_grads(r);
    if (r->trace) hap_trace_write(r);
    hap_report_end(r);
    hap_pace_end(r);
    hap_eval_close(r);
    hap_inputs_close(r);
    hap_comm_posts(r, true);
    hap_backend_finish(r);
    hap_share_vars_end(r);
    hap_ports_close(r);
    hap_tensor_free_all(r);
    free(r->var);
    free(r->alias);
    hap_beat_end(r);
    hap_comm_finish(r);
    return 0;
}
