// The program's calls inside a step: they go to streams, or to a list, or pass by, once the step's
// begin has launched the list; and the step's end, which waits for the device.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/stage_vars.h"
#include "cuda/comm/cuda_pair_tiles.h"
#include "cuda/comm/cuda_ports.h"
#include "cuda/device/cuda_start.h"
#include "cuda/device/cuda_trace.h"
#include "cuda/fuse/cuda_fuse.h"
#include "cuda/step/cuda_ahead.h"
#include "cuda/step/cuda_calls.h"
#include "cuda/step/cuda_capture.h"
#include "cuda/step/cuda_litmus.h"
#include "cuda/step/cuda_whole.h"

// The messages of the list, for ports; all ranks together.
static void plan_ports(hap_rank *r, const cuda_record *list)
{
    int n = 0;
    int *rings = hap_alloc(r, (size_t)r->n_stages * sizeof *rings);
    cuda_message *m = hap_alloc(r, (size_t)(list->n + 1) * sizeof *m);
    for (int i = 0; i < list->n; i++) {
        const hap_op_call *c = &list->call[i].op;
        if (list->call[i].kind != CUDA_PORT) continue;
        m[n].end = hap_port_of(r, c, &m[n].send);
        m[n].number = hap_port_message(c);
        n++;
    }
    rings[r->stage] = r->n_rings;
    for (int s = 0; s < r->n_stages; s++)
        hap_comm_broadcast_of(r, hap_stage_leader(r, s), &rings[s], sizeof *rings);
    cuda_ports_plan(r, m, n, rings);
    free(rings);
    free(m);
}

static void record_ends(hap_rank *r, cuda_backend *b)
{
    cuda_steps *steps = cuda_steps_of(r);
    int gone = cuda_fuse(r, &steps->now.list);
    b->x.made[b->x.phase].allocations += steps->now.list.allocations;
    cuda_ahead_find(&steps->now.list);
    if (b->ports) plan_ports(r, &steps->now.list);
    if (r->opt.verbose)
        fprintf(stderr, "rank %d %d calls a step, %d of them left out or joined\n", r->id,
                steps->now.list.n, gone);
}

static cuda_way way_of(const cuda_steps *steps)
{
    if (steps->mode < CUDA_STEP_LISTED || !steps->use_graph) return CUDA_BY_CALLS;
    if (steps->now.n_parts == 0 && !steps->now.choice.made) return CUDA_BY_GRAPHS; // captures
    if (steps->chooses) return cuda_choice_next(&steps->now.choice);
    return steps->now.whole ? CUDA_BY_WHOLE : CUDA_BY_GRAPHS;
}

static bool captures(const cuda_steps *steps, cuda_way way)
{
    return way == CUDA_BY_GRAPHS && steps->now.n_parts == 0;
}

static void run_step(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    r->line = 0;
    hap_beat(r, "device"); // which of the calls it is at is not known here
    steps->begun = hap_seconds();
    cuda_way way = way_of(steps);
    steps->by_host = steps->mode == CUDA_STEP_RECORDED || captures(steps, way);
    switch (way) {
    case CUDA_BY_GRAPHS:
        cuda_list_begins(r);
        cuda_run_parts(r);
        break;
    case CUDA_BY_WHOLE:
        cuda_whole_launch(r, steps->now.whole, false);
        break;
    case CUDA_BY_CALLS:
    case CUDA_WAYS:
        cuda_run_list(r);
        break;
    }
    cuda_step_ends(r);
    r->line = 0;
    r->doing = NULL;
}

void hap_backend_begin(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    b->x.phase = r->rehearsal ? CUDA_BEFORE : CUDA_IN_STEPS;
    cuda_check(r, cuda_context_set(&b->x, hap_step(r)));
    cuda_trace_begin(r);
    steps->mode = steps->now.n_parts > 0                     ? CUDA_STEP_REPLAYED
                  : steps->now.list.n > 0                    ? CUDA_STEP_LISTED
                  : steps->use_list && steps->now.passes > 0 ? CUDA_STEP_RECORDED
                                                             : CUDA_STEP_CALLED;
    steps->by_host = steps->mode == CUDA_STEP_CALLED;
    steps->now.passes++;
    b->warm = steps->now.passes > 1;
    if (steps->mode >= CUDA_STEP_LISTED) run_step(r);
}

// The step is one of those that find which way is quicker.
static bool tries(const hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    return !r->rehearsal && steps->chooses && steps->mode == CUDA_STEP_REPLAYED &&
           !steps->now.choice.made;
}

static void say_choice(const cuda_choice *c, const double sec[CUDA_WAYS])
{
    static const char *const name[] = {[CUDA_BY_CALLS] = "calls",
                                       [CUDA_BY_GRAPHS] = "graphs",
                                       [CUDA_BY_WHOLE] = "one graph with its one-sided puts"};
    fprintf(stderr, "step by graphs %.3f ms, by calls %.3f ms", 1e3 * sec[CUDA_BY_GRAPHS],
            1e3 * sec[CUDA_BY_CALLS]);
    if (c->whole)
        fprintf(stderr, ", by one graph with its one-sided puts %.3f ms", 1e3 * sec[CUDA_BY_WHOLE]);
    fprintf(stderr, ": by %s from here on\n", name[c->way]);
}

// Between steps: the device is idle.
static void step_took(hap_rank *r, cuda_backend *b, double seconds)
{
    cuda_steps *steps = cuda_steps_of(r);
    double sec[CUDA_WAYS];
    if (!cuda_choice_time(&steps->now.choice, seconds)) return;
    cuda_choice_medians(&steps->now.choice, sec);
    MPI_Allreduce(MPI_IN_PLACE, sec, CUDA_WAYS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    cuda_choice_make(&steps->now.choice, sec);
    // What NCCL holds for graphs it frees in calls to come.
    if (steps->now.choice.way != CUDA_BY_GRAPHS) cuda_parts_free(b);
    if (steps->now.choice.way != CUDA_BY_WHOLE) cuda_whole_drop(r);
    if (r->id == 0 && r->opt.verbose) say_choice(&steps->now.choice, sec);
}

void hap_backend_sync(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    if (r->in_step) {
        if (steps->mode == CUDA_STEP_RECORDED) {
            record_ends(r, b);
            run_step(r);
        } else if (steps->mode == CUDA_STEP_CALLED) {
            steps->begun = hap_seconds();
            cuda_step_ends(r);
        }
        r->line = 0;
        hap_beat(r, "device");
    }
    cuda_wait_for(r, b->x.stream);
    hap_port_ends(r);
    r->doing = NULL;
    const char *late = cuda_put_late(r);
    cuda_check(r, late);
    const char *why = cuda_trapped(&b->x);
    if (why) {
        r->line = b->x.trap->line;
        r->doing = NULL;
        cuda_check(r, why);
    }
    if (r->in_step && steps->now.passes == 1 && r->id == 0 && b->x.missed_cudnn)
        fprintf(stderr, "note: libcudnn.so.9 cannot be loaded (LD_LIBRARY_PATH); attention and "
                        "convolutions run on kernels of the runtime's own\n");
    double seconds = hap_seconds() - steps->begun;
    if (r->in_step && tries(r)) step_took(r, b, seconds);
    if (r->in_step && steps->mode == CUDA_STEP_RECORDED) steps->listed = seconds;
    if (r->in_step && steps->mode == CUDA_STEP_LISTED && r->rehearsal) cuda_litmus(r);
}

// --- calls of the program ---

// The span of a call that is made at once.
static int called(hap_rank *r)
{
    return cuda_trace_open(r, cuda_of(r)->x.stream, HAP_TRACE_COMPUTE, r->doing, r->line);
}

static void call_op(hap_rank *r, cuda_backend *b, const hap_op_call *c)
{
    cuda_steps *steps = cuda_steps_of(r);
    if (steps->mode == CUDA_STEP_RECORDED) {
        cuda_record_op(r, &steps->now.list, c);
        return;
    }
    int span = called(r);
    cuda_run_op(r, c);
    cuda_trace_close(r, span, b->x.stream);
}

// The ops of the open fusion, one by one.
static void call_fusion_ops(hap_rank *r, cuda_backend *b)
{
    cuda_steps *steps = cuda_steps_of(r);
    int line = r->line;
    for (int k = 0; k < steps->fusions.n; k++) {
        r->line = steps->fusions.line[k];
        call_op(r, b, &steps->fusions.op[k]);
    }
    r->line = line;
    steps->fusions.n = 0;
}

void hap_backend_op(hap_rank *r, const hap_op_call *c)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    cuda_fusions *g = &steps->fusions;
    if (steps->mode >= CUDA_STEP_LISTED) return;
    if (g->open && !g->too_long && g->n < CUDA_FUSION_OPS) {
        g->line[g->n] = r->line;
        g->op[g->n++] = *c;
        return;
    }
    if (g->open && !g->too_long) {
        g->too_long = true;
        call_fusion_ops(r, b);
    }
    call_op(r, b, c);
}

void hap_backend_port(hap_rank *r, struct hap_port_end *e, bool send, const hap_op_call *c)
{
    cuda_steps *steps = cuda_steps_of(r);
    (void)e, (void)send; // as the call has them
    if (steps->mode >= CUDA_STEP_LISTED) return;
    if (steps->mode == CUDA_STEP_RECORDED) {
        cuda_record_port(r, &steps->now.list, c);
        return;
    }
    int span = called(r);
    cuda_run_port(r, c);
    cuda_trace_close(r, span, cuda_of(r)->x.stream);
}

void hap_backend_fuse(hap_rank *r, const char *kernel)
{
    cuda_steps *steps = cuda_steps_of(r);
    if (steps->mode >= CUDA_STEP_LISTED) return;
    cuda_fusions_start(r, &steps->fusions);
    if (steps->fusions.off) return;
    steps->fusions.open = kernel;
    steps->fusions.too_long = false;
    steps->fusions.n = 0;
}

void hap_backend_fused(hap_rank *r, int n, hap_tensor *const *kept)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    cuda_fusion fusion;
    if (!steps->fusions.open) return;
    if (!cuda_fusion_find(r, &steps->fusions, n, kept, &fusion)) {
        call_fusion_ops(r, b);
    } else if (steps->mode == CUDA_STEP_RECORDED) {
        cuda_record_fusion(r, &steps->now.list, &fusion, steps->fusions.op);
    } else {
        cuda_run_fusion(r, &fusion);
    }
    steps->fusions.open = NULL;
}

void hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    if (steps->mode >= CUDA_STEP_LISTED) return;
    if (steps->mode == CUDA_STEP_RECORDED) {
        cuda_record_move(r, &steps->now.list, CUDA_CUT, false, y, x);
        return;
    }
    int span = called(r);
    cuda_run_cut(r, y, x);
    cuda_trace_close(r, span, b->x.stream);
}

void hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    if (steps->mode >= CUDA_STEP_LISTED) return;
    if (steps->mode == CUDA_STEP_RECORDED) {
        cuda_record_move(r, &steps->now.list, CUDA_PARTIAL, keep, y, x);
        return;
    }
    int span = called(r);
    cuda_run_partial(r, keep, y, x);
    cuda_trace_close(r, span, b->x.stream);
}

hap_event *hap_backend_coll(hap_rank *r, const hap_coll_call *c)
{
    cuda_steps *steps = cuda_steps_of(r);
    if (steps->mode >= CUDA_STEP_LISTED) return &steps->passed;
    if (steps->mode == CUDA_STEP_CALLED) return cuda_run_start(r, c, false);
    hap_event *e = cuda_event_open(r, c);
    e->call = cuda_record_start(r, &steps->now.list, c);
    return e;
}

hap_event *hap_backend_pair(hap_rank *r, const hap_pair *p)
{
    cuda_steps *steps = cuda_steps_of(r);
    if (steps->mode >= CUDA_STEP_LISTED) return &steps->passed;
    if (steps->mode == CUDA_STEP_CALLED) return cuda_run_pair(r, p);
    int call = cuda_record_pair(r, &steps->now.list, p);
    if (p->consumer) return NULL;
    hap_coll_call c = hap_pair_coll(p);
    hap_event *e = cuda_event_open(r, &c);
    e->call = call;
    return e;
}

void hap_backend_wait(hap_rank *r, hap_event *e)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    if (e == &steps->passed) return;
    HAP_CK(r, e->active, "an event is waited for twice");
    if (steps->mode == CUDA_STEP_CALLED) {
        cuda_run_wait(r, e);
        return;
    }
    cuda_record_wait(r, &steps->now.list, e->call);
    cuda_event_close(b, e);
}

void hap_backend_poll(hap_rank *r)
{
    (void)r; // the device goes on by itself
}

hap_event *hap_backend_pending(const hap_rank *r)
{
    const cuda_steps *steps = cuda_steps_of(r);
    return steps ? steps->first : NULL;
}

int hap_event_line(const hap_event *e)
{
    return e->line;
}
