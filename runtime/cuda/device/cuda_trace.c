#include "cuda/device/cuda_trace.h"

#include <stdlib.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"

typedef struct open_span {
    cudaEvent_t from, to;
    bool timed; // it has events
    int lane, line;
    const char *name;
    int lead; // the span that it is joined to, or itself
} open_span;

struct cuda_trace {
    open_span *span; // of a step; their events are used again
    int n, cap, n_events;
    cudaEvent_t zero;
    double at_zero; // hap_seconds
};

static struct cuda_trace *trace_of(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    if (!b->trace) {
        b->trace = hap_alloc(r, sizeof *b->trace);
        cuda_check(r, cuda_said(cudaEventCreate(&b->trace->zero), "cudaEventCreate"));
    }
    return b->trace;
}

static void record(hap_rank *r, cudaEvent_t e, cudaStream_t s)
{
    cuda_check(r, cuda_said(cudaEventRecord(e, s), "cudaEventRecord"));
}

void cuda_trace_begin(hap_rank *r)
{
    if (!r->trace) return;
    struct cuda_trace *t = trace_of(r);
    cudaStream_t s = cuda_of(r)->x.stream;
    record(r, t->zero, s);
    cuda_check(r, cuda_said(cudaEventSynchronize(t->zero), "cudaEventSynchronize"));
    t->at_zero = hap_seconds();
    t->n = 0;
}

static int span_new(hap_rank *r, int lane, const char *name, int line)
{
    struct cuda_trace *t = trace_of(r);
    t->span = hap_grow(r, t->span, &t->cap, t->n + 1, sizeof *t->span);
    open_span *x = &t->span[t->n];
    if (t->n == t->n_events) {
        cuda_check(r, cuda_said(cudaEventCreate(&x->from), "cudaEventCreate"));
        cuda_check(r, cuda_said(cudaEventCreate(&x->to), "cudaEventCreate"));
        t->n_events++;
    }
    x->timed = false;
    x->lane = lane;
    x->name = name;
    x->line = line;
    x->lead = t->n;
    return t->n++;
}

int cuda_trace_open(hap_rank *r, cudaStream_t s, int lane, const char *name, int line)
{
    if (!r->trace) return -1;
    int span = span_new(r, lane, name, line);
    open_span *x = &trace_of(r)->span[span];
    x->timed = true;
    record(r, x->from, s);
    return span;
}

void cuda_trace_close(hap_rank *r, int span, cudaStream_t s)
{
    if (r->trace && span >= 0) record(r, trace_of(r)->span[span].to, s);
}

void cuda_trace_joined(hap_rank *r, int span, const char *name, int line)
{
    if (!r->trace || span < 0) return;
    int joined = span_new(r, HAP_TRACE_COMPUTE, name, line);
    trace_of(r)->span[joined].lead = span;
}

void cuda_trace_nothing(hap_rank *r, const char *name, int line)
{
    if (r->trace) span_new(r, HAP_TRACE_COMPUTE, name, line);
}

static double seconds_of(hap_rank *r, cudaEvent_t e)
{
    struct cuda_trace *t = trace_of(r);
    float ms = 0;
    cuda_check(r, cuda_said(cudaEventElapsedTime(&ms, t->zero, e), "cudaEventElapsedTime"));
    return t->at_zero + (double)ms / 1e3;
}

// The spans joined to span i stand behind it, before the next that has times or takes none.
static int add(hap_rank *r, int i, double *last)
{
    const struct cuda_trace *t = trace_of(r);
    const open_span *x = &t->span[i];
    double from = x->timed ? seconds_of(r, x->from) : *last;
    double to = x->timed ? seconds_of(r, x->to) : from;
    int n = 1;
    hap_trace_add(r, x->lane, x->name, x->line, from, to);
    for (; i + n < t->n && t->span[i + n].lead == i; n++)
        hap_trace_join(r, t->span[i + n].name, t->span[i + n].line);
    if (x->lane == HAP_TRACE_COMPUTE) *last = to;
    return n;
}

void hap_backend_trace(hap_rank *r)
{
    struct cuda_trace *t = trace_of(r);
    double last = t->at_zero;
    for (int i = 0; i < t->n;)
        i += add(r, i, &last);
    t->n = 0;
}

void cuda_trace_free(struct cuda_trace *t)
{
    if (!t) return;
    for (int i = 0; i < t->n_events; i++) {
        cudaEventDestroy(t->span[i].from);
        cudaEventDestroy(t->span[i].to);
    }
    cudaEventDestroy(t->zero);
    free(t->span);
    free(t);
}
