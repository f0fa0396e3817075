#include "cuda/step/cuda_calls.h"

#include <mpi.h>
#include <sched.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/port_host.h"
#include "cuda/comm/cuda_coll_forms.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_pair.h"
#include "cuda/comm/cuda_pair_run.h"
#include "cuda/comm/cuda_ports.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_trace.h"
#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_ahead.h"

void cuda_wait_for(hap_rank *r, cudaStream_t s)
{
    for (unsigned turn = 1;; turn++) {
        cudaError_t e = cudaStreamQuery(s);
        if (e == cudaSuccess) return;
        if (e != cudaErrorNotReady) cuda_check(r, cuda_said(e, "the device"));
        if (turn % 256 == 0) cuda_nccl_poll(r);
        if (turn % 256 == 0 && cuda_of(r)->ports) cuda_ports_poll(r);
        sched_yield();
    }
}

// --- calls, launched ---

void cuda_run_op(hap_rank *r, const hap_op_call *c)
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

void cuda_run_cut(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    cuda_remap m = {0};
    move_begins(r, y, x);
    cuda_check(r, cuda_move_remapped(cuda_of(r)->x.stream, y, x, &m));
}

void cuda_run_fusion(hap_rank *r, const cuda_fusion *g)
{
    cuda_backend *b = cuda_of(r);
    int span =
        cuda_trace_open(r, b->x.stream, HAP_TRACE_COMPUTE, hap_op_names[g->op[0]], g->line[0]);
    cuda_check(r, cuda_fusion_run(&b->x, g));
    cuda_trace_close(r, span, b->x.stream);
    for (int k = 1; k < g->n_ops; k++)
        cuda_trace_joined(r, span, hap_op_names[g->op[k]], g->line[k]);
}

void cuda_run_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x)
{
    cudaStream_t s = cuda_of(r)->x.stream;
    move_begins(r, y, x);
    cuda_check(r, keep ? cuda_copy(s, y->data, x->data, y->bytes) : cuda_fill(s, y, 0));
}

// Until all ranks of the stage are here. What they have sent goes on.
static void wait_for_stage(hap_rank *r)
{
    MPI_Request all;
    int here = 0;
    MPI_Ibarrier(cuda_of(r)->stage, &all);
    while (MPI_Test(&all, &here, MPI_STATUS_IGNORE), !here) {
        hap_comm_posts(r, false);
        sched_yield();
    }
}

// A message may need its sender to go on in MPI, and a rank that waits for its device does not. So
// no device may wait for a rank that waits for a message: ranks of a stage go on together, and
// between two messages that come their collectives need none.
static void port_by_host(hap_rank *r, hap_port_end *e, bool send, hap_tensor *t)
{
    char *host = hap_backend_open(r, t, !send);
    if (send) {
        hap_port_host_send(r, e, host);
    } else {
        hap_port_host_get(r, e, host);
        wait_for_stage(r);
    }
    hap_backend_close(r, t, host, !send);
}

void cuda_run_port(hap_rank *r, const hap_op_call *c)
{
    cuda_context *x = &cuda_of(r)->x;
    bool send, by_host = cuda_steps_of(r)->by_host;
    hap_port_end *e = hap_port_of(r, c, &send);
    hap_tensor *t = send ? c->in[0] : c->out[0];
    if (by_host) {
        port_by_host(r, e, send, t);
    } else if (send) {
        cuda_check(r, cuda_will_read(x, t->data, t->bytes));
        cuda_port_send(r, e, t);
    } else {
        cuda_will_write(x, t->data, t->bytes);
        cuda_port_get(r, e, t);
    }
    if (send && c->out[0]->data != t->data) cuda_run_partial(r, true, c->out[0], t);
}

static hap_event *event_new(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    hap_event *e = steps->free;
    if (e) {
        steps->free = e->next;
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
hap_event *cuda_event_open(hap_rank *r, const hap_coll_call *c)
{
    cuda_steps *steps = cuda_steps_of(r);
    hap_event *e = event_new(r);
    e->active = true;
    e->at_once = false;
    e->line = r->line;
    e->name = hap_coll_name(c);
    e->span = -1;
    e->next = NULL;
    *(steps->last ? &steps->last->next : &steps->first) = e;
    steps->last = e;
    return e;
}

void cuda_event_close(cuda_backend *b, hap_event *e)
{
    cuda_steps *steps = b->steps;
    hap_event **at = &steps->first, *before = NULL;
    while (*at != e) {
        before = *at;
        at = &(*at)->next;
    }
    *at = e->next;
    if (steps->last == e) steps->last = before;
    e->active = false;
    e->next = steps->free;
    steps->free = e;
}

static void will_write(hap_rank *r, const hap_coll_call *c)
{
    cuda_context *x = &cuda_of(r)->x;
    for (int i = 0; i < c->n; i++)
        cuda_will_write(x, c->dst[i]->data, c->dst[i]->bytes);
    if (c->scratch) cuda_will_write(x, c->scratch->data, c->scratch->bytes);
}

static bool by_put(const hap_rank *r, const hap_coll_call *c)
{
    return hap_form_put(c->form) && cuda_put_peers(r, c->axes);
}

// at_once: its wait is the next call. Then a one-sided put needs no stream beside the compute
// stream, from which and to which each step would take microseconds.
hap_event *cuda_run_start(hap_rank *r, const hap_coll_call *c, bool at_once)
{
    cuda_backend *b = cuda_of(r);
    cudaStream_t s = b->stream[c->axes];
    for (int i = 0; i < c->n; i++)
        cuda_check(r, cuda_will_read(&b->x, c->src[i]->data, c->src[i]->bytes));
    will_write(r, c);
    hap_event *e = cuda_event_open(r, c);
    if (at_once && by_put(r, c)) {
        int span = cuda_trace_open(r, b->x.stream, hap_trace_comm(c->axes), e->name, e->line);
        e->at_once = true;
        cuda_put_run(r, c, b->x.stream, NULL);
        cuda_trace_close(r, span, b->x.stream);
        return e;
    }
    cuda_check(r, cuda_said(cudaEventRecord(e->ready, b->x.stream), "cudaEventRecord"));
    cuda_check(r, cuda_said(cudaStreamWaitEvent(s, e->ready, 0), "cudaStreamWaitEvent"));
    int span = cuda_trace_open(r, s, hap_trace_comm(c->axes), e->name, e->line);
    if (by_put(r, c)) {
        cuda_put_run(r, c, s, e->done);
    } else {
        cuda_coll_run(r, c, s);
        cuda_check(r, cuda_said(cudaEventRecord(e->done, s), "cudaEventRecord"));
    }
    cuda_trace_close(r, span, s);
    return e;
}

void cuda_run_wait(hap_rank *r, hap_event *e)
{
    cuda_backend *b = cuda_of(r);
    int span = cuda_trace_open(r, b->x.stream, HAP_TRACE_COMPUTE, "hap_wait", r->line);
    if (!e->at_once)
        cuda_check(r,
                   cuda_said(cudaStreamWaitEvent(b->x.stream, e->done, 0), "cudaStreamWaitEvent"));
    cuda_trace_close(r, span, b->x.stream);
    cuda_trace_close(r, e->span, b->x.stream);
    cuda_event_close(b, e);
}

static hap_event *run_in_order(hap_rank *r, const hap_pair *p)
{
    hap_coll_call c = hap_pair_coll(p);
    const int line = r->line;
    for (int i = 0; i < p->n_ops && !p->consumer; i++)
        cuda_pair_op(r, p, i, &p->op[i]);
    r->line = p->coll_line;
    hap_event *e = cuda_run_start(r, &c, false);
    r->line = line;
    if (!p->consumer) return e;
    cuda_run_wait(r, e);
    for (int i = 0; i < p->n_ops; i++)
        cuda_pair_op(r, p, i, &p->op[i]);
    return NULL;
}

hap_event *cuda_run_pair(hap_rank *r, const hap_pair *p)
{
    hap_coll_call c = hap_pair_coll(p);
    if (!cuda_pair_overlaps(r, p)) return run_in_order(r, p);
    bool alone = !cuda_steps_of(r)->first;
    hap_event *e = cuda_event_open(r, &c);
    cudaStream_t s = cuda_of(r)->x.stream;
    e->span = cuda_trace_open(r, s, hap_trace_comm(c.axes), e->name, p->coll_line);
    cuda_pair_run(r, p, alone, e->done);
    if (!p->consumer) return e;
    cuda_trace_close(r, e->span, s);
    cuda_event_close(cuda_of(r), e);
    return NULL;
}

// --- the list ---

// The op, with those that are joined to it.
static void run_chain(hap_rank *r, const cuda_call *c)
{
    static cuda_chain_kernel *const kernel[] = {
        [CUDA_ALONE] = NULL,
#define HAP_CHAIN(name, kernel) [CUDA_##name] = cuda_##kernel##_chain,
#include "hap/joins.def"
    };
    cuda_context *x = &cuda_of(r)->x;
    const hap_op_call *op[CUDA_MAX_UPDATES + 1];
    int n = c->n_joined + 1;
    bool done = false;
    const char *why = NULL;
    for (int k = 0; k < n; k++)
        op[k] = &c[k].op;
    if (c->at)
        why = (op[0]->op == HAP_OP_rotary ? cuda_rotary_at : cuda_attention_at)(x, op[0], c->at),
        done = true;
    else if (kernel[c->chain])
        why = kernel[c->chain](x, op, n, c->unread, &done);
    cuda_check(r, why);
    for (int k = 0; k < n && !done; k++)
        cuda_run_op(r, op[k]);
}

// The host waits for one that goes by way of its memory.
static void run_port_named(hap_rank *r, const hap_op_call *c)
{
    bool send;
    if (cuda_steps_of(r)->by_host)
        hap_port_begins(r, hap_port_of(r, c, &send), hap_port_message(c));
    cuda_run_port(r, c);
    hap_port_ends(r);
}

// Credits of one-sided puts to come, once call i has been launched. A captured part gives none; a
// step that is captured whole its own.
static void give_ahead(hap_rank *r, cuda_record *list, int i)
{
    if (cuda_of(r)->x.capturing && !cuda_steps_of(r)->whole_step) return;
    for (unsigned axes = 1; axes < CUDA_MASKS; axes++)
        for (int k; (k = cuda_ahead_next(list, axes, i)) >= 0;) {
            const hap_coll_call *c = &list->call[k].coll;
            if (!by_put(r, c)) continue;
            will_write(r, c); // what is put off is done before others write there
            cuda_put_run_credit(r, c);
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
    case CUDA_FUSION:
        cuda_run_fusion(r, c->fusion);
        break;
    case CUDA_CUT:
        cuda_run_cut(r, c->op.out[0], c->op.in[0]);
        break;
    case CUDA_PARTIAL:
        cuda_run_partial(r, c->keep, c->op.out[0], c->op.in[0]);
        break;
    case CUDA_START:
        c->event = cuda_run_start(r, &c->coll, waited_at_once(list, i));
        break;
    case CUDA_PAIR:
        c->event = cuda_run_pair(r, c->pair);
        break;
    case CUDA_PORT:
        run_port_named(r, &c->op);
        break;
    case CUDA_WAIT:
        cuda_run_wait(r, list->call[c->other].event);
        break;
    }
    give_ahead(r, list, i);
}

// A call of the list with its span; fusions, starts, pairs and waits have their own.
static void run_timed(hap_rank *r, cuda_record *list, int i)
{
    cuda_call *c = &list->call[i];
    cudaStream_t s = cuda_of(r)->x.stream;
    bool left_out = c->kind == CUDA_DONE || (c->once && list->begun);
    bool own = c->kind == CUDA_OP || c->kind == CUDA_CUT || c->kind == CUDA_PARTIAL ||
               c->kind == CUDA_PORT;
    int span = -1;
    if (left_out)
        cuda_trace_nothing(r, c->name, c->line);
    else if (own)
        span = cuda_trace_open(r, s, HAP_TRACE_COMPUTE, c->name, c->line);
    run_call(r, list, i);
    cuda_trace_close(r, span, s);
    for (int k = 1; span >= 0 && k <= c->n_joined; k++)
        cuda_trace_joined(r, span, c[k].name, c[k].line);
}

void cuda_run_calls(hap_rank *r, int from, int to)
{
    cuda_steps *steps = cuda_steps_of(r);
    for (int i = from; i < to; i++) {
        r->line = steps->now.list.call[i].line;
        r->doing = steps->now.list.call[i].name;
        run_timed(r, &steps->now.list, i);
    }
    r->doing = NULL;
    steps->now.list.begun = true;
}

void cuda_list_begins(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_ahead_begin(&steps->now.list);
    if (cuda_of(r)->ports && !steps->by_host) cuda_ports_begin(r);
    give_ahead(r, &steps->now.list, -1);
}

void cuda_run_list(hap_rank *r)
{
    cuda_list_begins(r);
    cuda_run_calls(r, 0, cuda_steps_of(r)->now.list.n);
}

// What is read after the step is in the arena: the variables and the loss. Inputs are written anew
// before the next; where they lie other tensors lay since.
void cuda_step_ends(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    int64_t before = b->x.shadow_back;
    for (int i = 0; i < r->n_vars; i++)
        if (r->var[i].kind != HAP_VAR_INPUT)
            cuda_check(r, cuda_will_read(&b->x, r->var[i].t->data, r->var[i].t->bytes));
    if (r->loss) cuda_check(r, cuda_will_read(&b->x, r->loss->data, r->loss->bytes));
    if (b->x.shadow_back > before) cuda_steps_of(r)->back = b->x.shadow_back - before;
    cuda_check(r, cuda_columns_settle(&b->x));
    cuda_forget_shadows(&b->x);
}
