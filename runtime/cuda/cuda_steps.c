// The calls inside a step: ops, cuts, collectives and waits go to streams, or pass by in a replayed
// step; and the step's end, which waits for the device.

#include <sched.h>
#include <stdlib.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/trace.h"
#include "cuda/cuda_backend.h"
#include "cuda/cuda_shadow.h"

void hap_backend_begin(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    cuda_check(r, cuda_context_set(&b->x, hap_step(r)));
    b->mode = CUDA_STEP_CALLED;
    if (b->use_graph && b->graph) b->mode = CUDA_STEP_REPLAYED;
    if (b->use_graph && !b->graph && b->steps > 0) {
        b->mode = CUDA_STEP_CAPTURED;
        b->x.capturing = true;
        cuda_check(r, cuda_said(cudaStreamBeginCapture(b->x.stream, cudaStreamCaptureModeRelaxed),
                                "cudaStreamBeginCapture"));
    }
    b->steps++;
}

static void end_capture(hap_rank *r, cuda_backend *b)
{
    cudaGraph_t g = NULL;
    b->x.capturing = false;
    cuda_check(r, cuda_said(cudaStreamEndCapture(b->x.stream, &g), "cudaStreamEndCapture"));
    cuda_check(r, cuda_said(cudaGraphInstantiate(&b->graph, g, 0), "cudaGraphInstantiate"));
    cudaGraphDestroy(g);
}

static void wait_for(hap_rank *r, cudaStream_t s)
{
    for (unsigned turn = 1;; turn++) {
        cudaError_t e = cudaStreamQuery(s);
        if (e == cudaSuccess) return;
        if (e != cudaErrorNotReady) cuda_check(r, cuda_said(e, "the device"));
        if (turn % 256 == 0) cuda_nccl_poll(r);
        sched_yield();
    }
}

// What is read after the step is in the arena: the variables and the loss.
static void end_shadows(hap_rank *r, cuda_backend *b)
{
    for (int i = 0; i < r->n_vars; i++)
        cuda_check(r, cuda_will_read(&b->x, r->var[i].t->data, r->var[i].t->bytes));
    if (r->loss) cuda_check(r, cuda_will_read(&b->x, r->loss->data, r->loss->bytes));
    cuda_forget_shadows(&b->x);
}

void hap_backend_sync(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    if (r->in_step && b->mode != CUDA_STEP_REPLAYED) end_shadows(r, b);
    if (r->in_step && b->mode != CUDA_STEP_CALLED) {
        if (b->mode == CUDA_STEP_CAPTURED) end_capture(r, b);
        cuda_check(r, cuda_said(cudaGraphLaunch(b->graph, b->x.stream), "cudaGraphLaunch"));
    }
    wait_for(r, b->x.stream);
    const char *why = cuda_trapped(&b->x);
    if (why) {
        r->line = b->x.trap->line;
        r->doing = NULL;
        cuda_check(r, why);
    }
}

// With --trace each call is waited for, so that its time is its own.
static void traced(hap_rank *r, cudaStream_t s)
{
    if (r->trace) wait_for(r, s);
}

void hap_backend_op(hap_rank *r, const hap_op_call *c)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode == CUDA_STEP_REPLAYED) return;
    b->x.line = r->line;
    cuda_check(r, hap_cuda_run(&b->x, c));
    traced(r, b->x.stream);
}

static void move_begins(hap_rank *r, cuda_backend *b, const hap_tensor *y, const hap_tensor *x)
{
    cuda_check(r, cuda_will_read(&b->x, x->data, x->bytes));
    cuda_will_write(&b->x, y->data, y->bytes);
}

void hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    cuda_backend *b = cuda_of(r);
    cuda_remap m = {0};
    if (b->mode == CUDA_STEP_REPLAYED) return;
    move_begins(r, b, y, x);
    cuda_check(r, cuda_move_remapped(b->x.stream, y, x, &m));
    traced(r, b->x.stream);
}

void hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode == CUDA_STEP_REPLAYED) return;
    move_begins(r, b, y, x);
    cuda_check(r, keep ? cuda_copy(b->x.stream, y->data, x->data, y->bytes)
                       : cuda_fill(b->x.stream, y, 0));
    traced(r, b->x.stream);
}

// --- collectives ---

static hap_event *event_new(hap_rank *r, cuda_backend *b)
{
    hap_event *e = b->free;
    if (e) {
        b->free = e->next;
        return e;
    }
    e = hap_alloc(r, sizeof *e);
    cuda_check(r, cuda_said(cudaEventCreateWithFlags(&e->ready, cudaEventDisableTiming),
                            "cudaEventCreate"));
    cuda_check(r, cuda_said(cudaEventCreateWithFlags(&e->done, cudaEventDisableTiming),
                            "cudaEventCreate"));
    return e;
}

hap_event *hap_backend_coll(hap_rank *r, const hap_coll_call *c)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode == CUDA_STEP_REPLAYED) return &b->replayed;
    cudaStream_t s = b->stream[c->axes];
    for (int i = 0; i < c->n; i++)
        cuda_check(r, cuda_will_read(&b->x, c->src[i]->data, c->src[i]->bytes));
    for (int i = 0; i < c->n; i++)
        cuda_will_write(&b->x, c->dst[i]->data, c->dst[i]->bytes);
    if (c->scratch) cuda_will_write(&b->x, c->scratch->data, c->scratch->bytes);
    hap_event *e = event_new(r, b);
    e->active = true;
    e->line = r->line;
    e->name = hap_coll_name(c);
    e->start = hap_seconds();
    e->next = NULL;
    *(b->last ? &b->last->next : &b->first) = e;
    b->last = e;
    cuda_check(r, cuda_said(cudaEventRecord(e->ready, b->x.stream), "cudaEventRecord"));
    cuda_check(r, cuda_said(cudaStreamWaitEvent(s, e->ready, 0), "cudaStreamWaitEvent"));
    cuda_coll_run(r, c, s);
    cuda_check(r, cuda_said(cudaEventRecord(e->done, s), "cudaEventRecord"));
    return e;
}

void hap_backend_wait(hap_rank *r, hap_event *e)
{
    cuda_backend *b = cuda_of(r);
    if (e == &b->replayed) return;
    HAP_CK(r, e->active, "an event is waited for twice");
    cuda_check(r, cuda_said(cudaStreamWaitEvent(b->x.stream, e->done, 0), "cudaStreamWaitEvent"));
    traced(r, b->x.stream);
    if (r->trace) hap_trace_add(r, HAP_TRACE_COMM, e->name, e->line, e->start, hap_seconds());
    hap_event **at = &b->first, *before = NULL;
    while (*at != e) {
        before = *at;
        at = &(*at)->next;
    }
    *at = e->next;
    if (b->last == e) b->last = before;
    e->active = false;
    e->next = b->free;
    b->free = e;
}

void hap_backend_poll(hap_rank *r)
{
    (void)r; // the device goes on by itself
}

hap_event *hap_backend_pending(const hap_rank *r)
{
    const cuda_backend *b = cuda_of(r);
    return b ? b->first : NULL;
}

int hap_event_line(const hap_event *e)
{
    return e->line;
}
