// The calls inside a step: ops, cuts, collectives and waits go to streams, or to a list, or pass
// by; and the step's end, which runs the list and waits for the device.

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/trace.h"
#include "cuda/comm/cuda_push.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/fuse/cuda_chains.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_ahead.h"
#include "cuda/step/cuda_capture.h"
#include "cuda/step/cuda_litmus.h"
#include "cuda/step/cuda_whole.h"

void hap_backend_begin(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    b->x.phase = r->rehearsal ? CUDA_BEFORE : CUDA_IN_STEPS;
    cuda_check(r, cuda_context_set(&b->x, hap_step(r)));
    b->mode = b->n_parts > 0                ? CUDA_STEP_REPLAYED
              : b->list.n > 0               ? CUDA_STEP_LISTED
              : b->use_list && b->steps > 0 ? CUDA_STEP_RECORDED
                                            : CUDA_STEP_CALLED;
    b->steps++;
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

// With --trace each call is waited for, so that its time is its own.
static void traced(hap_rank *r, cudaStream_t s)
{
    if (r->trace) wait_for(r, s);
}

// --- calls, launched ---

static void run_op(hap_rank *r, const hap_op_call *c)
{
    cuda_backend *b = cuda_of(r);
    b->x.line = r->line;
    cuda_check(r, hap_cuda_run(&b->x, c));
}

static void move_begins(hap_rank *r, const hap_tensor *y, const hap_tensor *x)
{
    cuda_backend *b = cuda_of(r);
    cuda_check(r, cuda_will_read(&b->x, x->data, x->bytes));
    cuda_will_write(&b->x, y->data, y->bytes);
}

static void run_cut(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    cuda_remap m = {0};
    move_begins(r, y, x);
    cuda_check(r, cuda_move_remapped(cuda_of(r)->x.stream, y, x, &m));
}

static void run_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x)
{
    cudaStream_t s = cuda_of(r)->x.stream;
    move_begins(r, y, x);
    cuda_check(r, keep ? cuda_copy(s, y->data, x->data, y->bytes) : cuda_fill(s, y, 0));
}

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

// The event stands in the list of those not waited for.
static hap_event *event_open(hap_rank *r, const hap_coll_call *c)
{
    cuda_backend *b = cuda_of(r);
    hap_event *e = event_new(r, b);
    e->active = true;
    e->at_once = false;
    e->line = r->line;
    e->name = hap_coll_name(c);
    e->start = hap_seconds();
    e->next = NULL;
    *(b->last ? &b->last->next : &b->first) = e;
    b->last = e;
    return e;
}

static void event_close(cuda_backend *b, hap_event *e)
{
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

static void will_write(hap_rank *r, const hap_coll_call *c)
{
    cuda_context *x = &cuda_of(r)->x;
    for (int i = 0; i < c->n; i++)
        cuda_will_write(x, c->dst[i]->data, c->dst[i]->bytes);
    if (c->scratch) cuda_will_write(x, c->scratch->data, c->scratch->bytes);
}

static bool by_push(const hap_rank *r, const hap_coll_call *c)
{
    return hap_form_push(c->form) && cuda_push_peers(r, c->axes);
}

// at_once: its wait is the next call. Then a push needs no stream beside the compute stream, from
// which and to which each step would take microseconds.
static hap_event *run_start(hap_rank *r, const hap_coll_call *c, bool at_once)
{
    cuda_backend *b = cuda_of(r);
    cudaStream_t s = b->stream[c->axes];
    for (int i = 0; i < c->n; i++)
        cuda_check(r, cuda_will_read(&b->x, c->src[i]->data, c->src[i]->bytes));
    will_write(r, c);
    hap_event *e = event_open(r, c);
    if (at_once && by_push(r, c)) {
        e->at_once = true;
        cuda_push_run(r, c, b->x.stream, NULL);
        return e;
    }
    cuda_check(r, cuda_said(cudaEventRecord(e->ready, b->x.stream), "cudaEventRecord"));
    cuda_check(r, cuda_said(cudaStreamWaitEvent(s, e->ready, 0), "cudaStreamWaitEvent"));
    if (by_push(r, c)) {
        cuda_push_run(r, c, s, e->done);
        return e;
    }
    cuda_coll_run(r, c, s);
    cuda_check(r, cuda_said(cudaEventRecord(e->done, s), "cudaEventRecord"));
    return e;
}

static void run_wait(hap_rank *r, hap_event *e)
{
    cuda_backend *b = cuda_of(r);
    if (!e->at_once)
        cuda_check(r,
                   cuda_said(cudaStreamWaitEvent(b->x.stream, e->done, 0), "cudaStreamWaitEvent"));
    traced(r, b->x.stream);
    if (r->trace) hap_trace_add(r, HAP_TRACE_COMM, e->name, e->line, e->start, hap_seconds());
    event_close(b, e);
}

static hap_event *run_in_order(hap_rank *r, const hap_pair *p)
{
    hap_coll_call c = hap_pair_coll(p);
    for (int i = 0; i < p->n_ops && !p->consumer; i++)
        run_op(r, &p->op[i]);
    hap_event *e = run_start(r, &c, false);
    if (!p->consumer) return e;
    run_wait(r, e);
    for (int i = 0; i < p->n_ops; i++)
        run_op(r, &p->op[i]);
    return NULL;
}

static hap_event *run_pair(hap_rank *r, const hap_pair *p)
{
    hap_coll_call c = hap_pair_coll(p);
    if (!cuda_pair_overlaps(r, p)) return run_in_order(r, p);
    hap_event *e = event_open(r, &c);
    cuda_pair_run(r, p, e->done);
    traced(r, cuda_of(r)->x.stream);
    if (!p->consumer) return e;
    if (r->trace) hap_trace_add(r, HAP_TRACE_COMM, e->name, p->coll_line, e->start, hap_seconds());
    event_close(cuda_of(r), e);
    return NULL;
}

// --- the list ---

// The op, with those that are joined to it.
static void run_chain(hap_rank *r, const cuda_call *c)
{
    static cuda_chain_kernel *const kernel[] = {
        [CUDA_ALONE] = NULL,
        [CUDA_NORM] = cuda_norm_chain,
        [CUDA_NORM_BWD] = cuda_norm_bwd_chain,
        [CUDA_SLOPE] = cuda_slope_chain,
        [CUDA_SUMS] = cuda_sums_chain,
        [CUDA_CE] = cuda_ce_chain,
        [CUDA_CASTS] = cuda_cast_chain,
        [CUDA_UPDATES] = cuda_update_chain,
        [CUDA_SQUARES] = cuda_squares_chain,
        [CUDA_ADDS] = cuda_adds_chain,
        [CUDA_PARTS] = cuda_parts_chain,
        [CUDA_LOOKUP] = cuda_lookup_chain,
    };
    cuda_context *x = &cuda_of(r)->x;
    const hap_op_call *op[CUDA_MAX_UPDATES + 1];
    int n = c->n_joined + 1;
    bool done = false;
    const char *why = NULL;
    for (int k = 0; k < n; k++)
        op[k] = &c[k].op;
    if (c->at)
        why = cuda_attention_at(x, op[0], c->at), done = true;
    else if (kernel[c->chain])
        why = kernel[c->chain](x, op, n, c->unread, &done);
    cuda_check(r, why);
    for (int k = 0; k < n && !done; k++)
        run_op(r, op[k]);
}

// Credits of pushes to come, once call i has been launched. A captured part gives none; a step that
// is captured whole its own.
static void give_ahead(hap_rank *r, cuda_record *list, int i)
{
    if (cuda_of(r)->x.capturing && !cuda_of(r)->whole_step) return;
    for (unsigned axes = 1; axes < CUDA_MASKS; axes++)
        for (int k; (k = cuda_ahead_next(list, axes, i)) >= 0;) {
            const hap_coll_call *c = &list->call[k].coll;
            if (!by_push(r, c)) continue;
            will_write(r, c); // what is put off is done before others write there
            cuda_push_run_credit(r, c);
        }
}

static bool waited_at_once(const cuda_record *list, int i)
{
    int k = i + 1;
    while (k < list->n && list->call[k].kind == CUDA_DONE)
        k++;
    return k == list->call[i].other;
}

static void run_call(hap_rank *r, cuda_record *list, int i)
{
    cuda_call *c = &list->call[i];
    if (c->once && list->begun) return;
    switch (c->kind) {
    case CUDA_DONE:
    case CUDA_JOINED:
        return;
    case CUDA_OP:
        run_chain(r, c);
        break;
    case CUDA_GROUP:
        cuda_check(r, cuda_group_run(&cuda_of(r)->x, c->group));
        break;
    case CUDA_CUT:
        run_cut(r, c->op.out[0], c->op.in[0]);
        break;
    case CUDA_PARTIAL:
        run_partial(r, c->keep, c->op.out[0], c->op.in[0]);
        break;
    case CUDA_START:
        c->event = run_start(r, &c->coll, waited_at_once(list, i));
        break;
    case CUDA_PAIR:
        c->event = run_pair(r, c->pair);
        break;
    case CUDA_WAIT:
        run_wait(r, list->call[c->other].event);
        break;
    }
    give_ahead(r, list, i);
}

void cuda_run_calls(hap_rank *r, int from, int to)
{
    cuda_backend *b = cuda_of(r);
    for (int i = from; i < to; i++) {
        cuda_call *c = &b->list.call[i];
        double start = r->trace ? hap_seconds() : 0;
        r->line = c->line;
        r->doing = c->name;
        run_call(r, &b->list, i);
        if (!r->trace || c->kind == CUDA_DONE || c->kind == CUDA_JOINED || c->kind == CUDA_START ||
            c->kind == CUDA_WAIT)
            continue;
        traced(r, b->x.stream);
        hap_trace_add(r, HAP_TRACE_COMPUTE, c->name, c->line, start, hap_seconds());
    }
    r->doing = NULL;
    b->list.begun = true;
}

static void list_begins(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    cuda_ahead_begin(&b->list);
    give_ahead(r, &b->list, -1);
}

void cuda_run_list(hap_rank *r)
{
    list_begins(r);
    cuda_run_calls(r, 0, cuda_of(r)->list.n);
}

static void record_ends(hap_rank *r, cuda_backend *b)
{
    int gone = cuda_fuse(r, &b->list);
    b->x.made[b->x.phase].allocations += b->list.allocations;
    cuda_ahead_find(&b->list);
    const char *verbose = getenv("HAP_VERBOSE");
    if (verbose && verbose[0])
        fprintf(stderr, "rank %d %d calls a step, %d of them left out or joined\n", r->id,
                b->list.n, gone);
}

// What is read after the step is in the arena: the variables and the loss.
void cuda_step_ends(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    for (int i = 0; i < r->n_vars; i++)
        cuda_check(r, cuda_will_read(&b->x, r->var[i].t->data, r->var[i].t->bytes));
    if (r->loss) cuda_check(r, cuda_will_read(&b->x, r->loss->data, r->loss->bytes));
    cuda_check(r, cuda_columns_settle(&b->x));
    cuda_forget_shadows(&b->x);
}

static cuda_way way_of(const cuda_backend *b)
{
    if (b->mode < CUDA_STEP_LISTED || !b->use_graph) return CUDA_BY_CALLS;
    if (b->n_parts == 0 && !b->choice.made) return CUDA_BY_GRAPHS; // captures
    if (b->chooses) return cuda_choice_next(&b->choice);
    return b->whole ? CUDA_BY_WHOLE : CUDA_BY_GRAPHS;
}

static void run_step(hap_rank *r, cuda_backend *b)
{
    switch (way_of(b)) {
    case CUDA_BY_GRAPHS:
        list_begins(r);
        cuda_run_parts(r);
        break;
    case CUDA_BY_WHOLE:
        cuda_whole_launch(r, b->whole, false);
        break;
    case CUDA_BY_CALLS:
    case CUDA_WAYS:
        cuda_run_list(r);
        break;
    }
}

// The step is one of those that find which way is quicker.
static bool tries(const hap_rank *r, const cuda_backend *b)
{
    return !r->rehearsal && b->chooses && b->mode == CUDA_STEP_REPLAYED && !b->choice.made;
}

static void say_choice(const cuda_choice *c, const double sec[CUDA_WAYS])
{
    static const char *const name[] = {[CUDA_BY_CALLS] = "calls",
                                       [CUDA_BY_GRAPHS] = "graphs",
                                       [CUDA_BY_WHOLE] = "one graph with its pushes"};
    fprintf(stderr, "step by graphs %.3f ms, by calls %.3f ms", 1e3 * sec[CUDA_BY_GRAPHS],
            1e3 * sec[CUDA_BY_CALLS]);
    if (c->whole)
        fprintf(stderr, ", by one graph with its pushes %.3f ms", 1e3 * sec[CUDA_BY_WHOLE]);
    fprintf(stderr, ": by %s from here on\n", name[c->way]);
}

// Between steps: the device is idle.
static void step_took(hap_rank *r, cuda_backend *b, double seconds)
{
    double sec[CUDA_WAYS];
    if (!cuda_choice_time(&b->choice, seconds)) return;
    cuda_choice_medians(&b->choice, sec);
    MPI_Allreduce(MPI_IN_PLACE, sec, CUDA_WAYS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    cuda_choice_make(&b->choice, sec);
    // What NCCL holds for graphs it frees in calls to come.
    if (b->choice.way != CUDA_BY_GRAPHS) cuda_parts_free(b);
    if (b->choice.way != CUDA_BY_WHOLE) cuda_whole_drop(r);
    const char *verbose = getenv("HAP_VERBOSE");
    if (r->id == 0 && verbose && verbose[0]) say_choice(&b->choice, sec);
}

void hap_backend_sync(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    double start = hap_seconds();
    if (r->in_step) {
        if (b->mode == CUDA_STEP_RECORDED) record_ends(r, b);
        if (b->mode != CUDA_STEP_CALLED) run_step(r, b);
        cuda_step_ends(r);
        r->line = 0;
        hap_beat(r, "device"); // which of the calls it is at is not known here
    }
    wait_for(r, b->x.stream);
    r->doing = NULL;
    const char *why = cuda_trapped(&b->x);
    if (why) {
        r->line = b->x.trap->line;
        r->doing = NULL;
        cuda_check(r, why);
    }
    if (r->in_step && b->steps == 1 && r->id == 0 && b->x.missed_cudnn)
        fprintf(stderr, "note: libcudnn.so.9 cannot be loaded (LD_LIBRARY_PATH); attention runs on "
                        "kernels of the runtime's own\n");
    double seconds = hap_seconds() - start;
    if (r->in_step && tries(r, b)) step_took(r, b, seconds);
    if (r->in_step && b->mode == CUDA_STEP_RECORDED) b->listed = seconds;
    if (r->in_step && b->mode == CUDA_STEP_LISTED && r->rehearsal) cuda_litmus(r);
}

// --- calls of the program ---

static void call_op(hap_rank *r, cuda_backend *b, const hap_op_call *c)
{
    if (b->mode == CUDA_STEP_RECORDED) {
        cuda_record_op(r, &b->list, c);
        return;
    }
    run_op(r, c);
    traced(r, b->x.stream);
}

// The ops of the open group, one by one.
static void call_group_ops(hap_rank *r, cuda_backend *b)
{
    int line = r->line;
    for (int k = 0; k < b->groups.n; k++) {
        r->line = b->groups.line[k];
        call_op(r, b, &b->groups.op[k]);
    }
    r->line = line;
    b->groups.n = 0;
}

void hap_backend_op(hap_rank *r, const hap_op_call *c)
{
    cuda_backend *b = cuda_of(r);
    cuda_groups *g = &b->groups;
    if (b->mode >= CUDA_STEP_LISTED) return;
    if (g->open && !g->too_long && g->n < CUDA_GROUP_OPS) {
        g->line[g->n] = r->line;
        g->op[g->n++] = *c;
        return;
    }
    if (g->open && !g->too_long) {
        g->too_long = true;
        call_group_ops(r, b);
    }
    call_op(r, b, c);
}

void hap_backend_fuse(hap_rank *r, const char *kernel)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode >= CUDA_STEP_LISTED) return;
    cuda_groups_start(r, &b->groups);
    if (b->groups.off) return;
    b->groups.open = kernel;
    b->groups.too_long = false;
    b->groups.n = 0;
}

void hap_backend_fused(hap_rank *r, int n, hap_tensor *const *kept)
{
    cuda_backend *b = cuda_of(r);
    cuda_group group;
    if (!b->groups.open) return;
    if (!cuda_group_find(r, &b->groups, n, kept, &group)) {
        call_group_ops(r, b);
    } else if (b->mode == CUDA_STEP_RECORDED) {
        cuda_record_group(r, &b->list, &group);
    } else {
        cuda_check(r, cuda_group_run(&b->x, &group));
        traced(r, b->x.stream);
    }
    b->groups.open = NULL;
}

void hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode >= CUDA_STEP_LISTED) return;
    if (b->mode == CUDA_STEP_RECORDED) {
        cuda_record_move(r, &b->list, CUDA_CUT, false, y, x);
        return;
    }
    run_cut(r, y, x);
    traced(r, b->x.stream);
}

void hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode >= CUDA_STEP_LISTED) return;
    if (b->mode == CUDA_STEP_RECORDED) {
        cuda_record_move(r, &b->list, CUDA_PARTIAL, keep, y, x);
        return;
    }
    run_partial(r, keep, y, x);
    traced(r, b->x.stream);
}

hap_event *hap_backend_coll(hap_rank *r, const hap_coll_call *c)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode >= CUDA_STEP_LISTED) return &b->passed;
    if (b->mode == CUDA_STEP_CALLED) return run_start(r, c, false);
    hap_event *e = event_open(r, c);
    e->call = cuda_record_start(r, &b->list, c);
    return e;
}

hap_event *hap_backend_pair(hap_rank *r, const hap_pair *p)
{
    cuda_backend *b = cuda_of(r);
    if (b->mode >= CUDA_STEP_LISTED) return &b->passed;
    if (b->mode == CUDA_STEP_CALLED) return run_pair(r, p);
    int call = cuda_record_pair(r, &b->list, p);
    if (p->consumer) return NULL;
    hap_coll_call c = hap_pair_coll(p);
    hap_event *e = event_open(r, &c);
    e->call = call;
    return e;
}

void hap_backend_wait(hap_rank *r, hap_event *e)
{
    cuda_backend *b = cuda_of(r);
    if (e == &b->passed) return;
    HAP_CK(r, e->active, "an event is waited for twice");
    if (b->mode == CUDA_STEP_CALLED) {
        run_wait(r, e);
        return;
    }
    cuda_record_wait(r, &b->list, e->call);
    event_close(b, e);
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
