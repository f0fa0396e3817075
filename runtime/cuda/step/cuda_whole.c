#include "cuda/step/cuda_whole.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_driver.h"
#include "cuda/device/cuda_graph.h"

// A node of the graph; where an operation is none of one-sided puts, mask is -1.
typedef struct cuda_numbers {
    CUgraphNode node;
    CUDA_BATCH_MEM_OP_NODE_PARAMS p;
    CUstreamBatchMemOpParams *op;
    int *mask;
} numbers;

static const cuda_driver *driver(hap_rank *r)
{
    const char *why = NULL;
    const cuda_driver *d = cuda_driver_get(&why);
    cuda_check(r, why);
    return d;
}

static void call(hap_rank *r, CUresult e, const char *name)
{
    if (e) cuda_check(r, cuda_driver_said(driver(r), e, name));
}

static void cuda(hap_rank *r, cudaError_t e, const char *name)
{
    cuda_check(r, cuda_said(e, name));
}

// What the streams of one-sided puts and pairs are given next comes behind the compute stream; or
// what that is given, behind them.
static void order(hap_rank *r, const cuda_whole *w, bool forks)
{
    cuda_backend *b = cuda_of(r);
    cudaStream_t s[CUDA_PUT_STREAMS + 2];
    int n = cuda_put_streams(r, s);
    s[n++] = b->beside;
    s[n++] = b->waits;
    for (int i = 0; i < n; i++) {
        if (!s[i]) continue;
        cuda(r, cudaEventRecord(w->forks, forks ? b->x.stream : s[i]), "cudaEventRecord");
        cuda(r, cudaStreamWaitEvent(forks ? s[i] : b->x.stream, w->forks, 0),
             "cudaStreamWaitEvent");
    }
}

void cuda_whole_begin(hap_rank *r, cuda_whole *w)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    *w = (cuda_whole){0};
    for (unsigned a = 0; a < CUDA_MASKS; a++)
        w->set[a] = cuda_put_taken(r, a);
    cuda(r, cudaEventCreateWithFlags(&w->forks, cudaEventDisableTiming), "cudaEventCreate");
    steps->whole_step = true;
    cuda_check(r, cuda_graph_begin(&b->x));
    order(r, w, true);
}

static uint32_t *value_of(CUstreamBatchMemOpParams *op)
{
    return op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? &op->waitValue.value
                                                           : &op->writeValue.value;
}

static int mask_of(const hap_rank *r, const CUstreamBatchMemOpParams *op)
{
    bool wait = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32;
    if (!wait && op->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32) return -1;
    CUdeviceptr at = wait ? op->waitValue.address : op->writeValue.address;
    return cuda_put_mask_at(r, (const void *)(uintptr_t)at);
}

// Those of the node that are of one-sided puts; a library may have put others there.
static void add_node(hap_rank *r, cuda_whole *w, CUgraphNode node)
{
    numbers n = {.node = node};
    bool any = false;
    call(r, driver(r)->cuGraphBatchMemOpNodeGetParams_(node, &n.p),
         "cuGraphBatchMemOpNodeGetParams");
    n.op = hap_alloc(r, n.p.count * sizeof *n.op);
    n.mask = hap_alloc(r, n.p.count * sizeof *n.mask);
    memcpy(n.op, n.p.paramArray, n.p.count * sizeof *n.op);
    for (unsigned i = 0; i < n.p.count; i++) {
        n.mask[i] = mask_of(r, &n.op[i]);
        any |= n.mask[i] >= 0;
    }
    n.p.paramArray = n.op;
    w->node = hap_grow(r, w->node, &w->cap_nodes, w->n_nodes + 1, sizeof *w->node);
    w->node[w->n_nodes] = n;
    if (any) {
        w->n_nodes++;
    } else {
        free(n.op);
        free(n.mask);
    }
}

static void find_nodes(hap_rank *r, cuda_whole *w)
{
    const cuda_driver *d = driver(r);
    size_t n = 0;
    call(r, d->cuGraphGetNodes_(w->graph, NULL, &n), "cuGraphGetNodes");
    CUgraphNode *node = hap_alloc(r, (n + 1) * sizeof *node);
    call(r, d->cuGraphGetNodes_(w->graph, node, &n), "cuGraphGetNodes");
    for (size_t i = 0; i < n; i++) {
        CUgraphNodeType type;
        call(r, d->cuGraphNodeGetType_(node[i], &type), "cuGraphNodeGetType");
        if (type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) add_node(r, w, node[i]);
    }
    free(node);
}

static CUresult set(hap_rank *r, const cuda_whole *w, numbers *n)
{
    return driver(r)->cuGraphExecBatchMemOpNodeSetParams_(w->exec, n->node, &n->p);
}

// What a stream of a green context was given is of that context, and drivers differ in which one
// they then set it by: its own, or the current.
static void try_to_set(hap_rank *r, cuda_whole *w)
{
    for (int i = 0; i < w->n_nodes && !w->fixed; i++) {
        CUresult e = set(r, w, &w->node[i]);
        if (e == CUDA_ERROR_INVALID_CONTEXT) {
            call(r, driver(r)->cuCtxGetCurrent_(&w->node[i].p.ctx), "cuCtxGetCurrent");
            e = set(r, w, &w->node[i]);
        }
        w->fixed = e == CUDA_ERROR_INVALID_CONTEXT;
        if (!w->fixed) call(r, e, "cuGraphExecBatchMemOpNodeSetParams");
    }
}

void cuda_whole_end(hap_rank *r, cuda_whole *w)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    order(r, w, false);
    cuda_check(r, cuda_graph_end(&b->x, &w->graph, &w->exec));
    steps->whole_step = false;
    find_nodes(r, w);
    try_to_set(r, w);
    for (unsigned a = 0; a < CUDA_MASKS; a++) {
        w->step[a] = cuda_put_taken(r, a) - w->set[a];
        cuda_put_take(r, a, w->set[a]); // nothing has run
    }
}

// The numbers are those of a step before which so many have been taken as now.
static void set_numbers(hap_rank *r, cuda_whole *w)
{
    uint32_t further[CUDA_MASKS], any = 0;
    for (unsigned a = 0; a < CUDA_MASKS; a++) {
        further[a] = cuda_put_taken(r, a) - w->set[a];
        w->set[a] += further[a];
        any |= further[a];
    }
    for (int i = 0; i < w->n_nodes && any; i++) {
        numbers *n = &w->node[i];
        for (unsigned k = 0; k < n->p.count; k++)
            if (n->mask[k] >= 0) *value_of(&n->op[k]) += further[n->mask[k]];
        call(r, set(r, w, n), "cuGraphExecBatchMemOpNodeSetParams");
    }
}

// What is written is what has been written before.
static void hush(hap_rank *r, cuda_whole *w)
{
    for (int i = 0; i < w->n_nodes; i++) {
        numbers *n = &w->node[i];
        for (unsigned k = 0; k < n->p.count; k++)
            if (n->mask[k] >= 0 && n->op[k].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
                n->op[k].writeValue.value = w->set[n->mask[k]];
        call(r, set(r, w, n), "cuGraphExecBatchMemOpNodeSetParams");
    }
}

void cuda_whole_launch(hap_rank *r, cuda_whole *w, bool silent)
{
    set_numbers(r, w);
    if (silent) hush(r, w);
    order(r, w, false); // behind what live steps have left there: credits
    cuda(r, cudaGraphLaunch(w->exec, cuda_of(r)->x.stream), "cudaGraphLaunch");
    for (unsigned a = 0; a < CUDA_MASKS; a++)
        cuda_put_take(r, a, w->set[a] + w->step[a]);
}

void cuda_whole_free(hap_rank *r, cuda_whole *w)
{
    for (int i = 0; i < w->n_nodes; i++) {
        free(w->node[i].op);
        free(w->node[i].mask);
    }
    free(w->node);
    if (w->exec) {
        cudaGraphExecDestroy(w->exec);
        cudaGraphDestroy(w->graph);
        cudaEventDestroy(w->forks);
        cuda_of(r)->x.graphs--;
    }
    *w = (cuda_whole){0};
}

void cuda_whole_drop(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    if (!steps->now.whole) return;
    cuda_whole_free(r, steps->now.whole);
    free(steps->now.whole);
    steps->now.whole = NULL;
}
