// Capture and replay. What streams are given while they are captured becomes nodes, each behind
// what its stream and the events that it has waited for came to; a launch runs them in any order
// that this allows. With few queues those of a stream stand in one of them, in any such order, and
// wait for those before them there as well, as on a device. What CUDA refuses to capture ends the
// process.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_ops.h"

struct CUgraphNode_st {
    int number, stream; // of the stream that was captured
    fake_op op;         // of no memory operation
    CUDA_BATCH_MEM_OP_NODE_PARAMS p;
    CUstreamBatchMemOpParams *batch;
    fake_set behind, before; // at once, and all
};
struct CUgraph_st {
    int capture, n;
    CUgraphNode node[MOST_NODES];
};
struct CUgraphExec_st {
    CUgraph graph;
    CUstreamBatchMemOpParams *batch[MOST_NODES]; // as set
};

// One launch.
typedef struct going { // a node in it
    fake_op *op;
    unsigned n, done; // operations
    bool over;
    int waits, ahead; // nodes it is behind that are not over; the one before it in its queue, or -1
    fake_clock before;
    bool begun;
} going;
struct fake_replay {
    CUgraph graph;
    going *at;
    int left; // nodes that are not over
    int weight[MOST_STREAMS];
};

static struct CUgraph_st *capturing[MOST_STREAMS];
static int captures, queues;
static bool stale;
static fake_context contexts;

void fake_queues(int n)
{
    queues = n;
}

void fake_contexts(fake_context of)
{
    contexts = of;
}

CUresult fake_current(CUcontext *to)
{
    *to = (CUcontext)(uintptr_t)1;
    return CUDA_SUCCESS;
}

void fake_stale(bool is)
{
    stale = is;
}

static bool has(const fake_set *s, int i)
{
    return s->word[i / 64] >> i % 64 & 1;
}

static void put(fake_set *s, int i)
{
    s->word[i / 64] |= (uint64_t)1 << i % 64;
}

static void unite(fake_set *s, const fake_set *other)
{
    for (int i = 0; i < WORDS_OF_NODES; i++)
        s->word[i] |= other->word[i];
}

static _Noreturn void refuse(const char *what)
{
    printf("capture: %s\n", what);
    fflush(stdout);
    abort();
}

// --- capture ---

static CUgraphNode new_node(cudaStream_t s)
{
    CUgraph g = s->graph;
    CUgraphNode x = calloc(1, sizeof *x);
    if (g->n == MOST_NODES) refuse("too many nodes");
    x->number = g->n;
    x->stream = s->id;
    x->behind = x->before = s->behind;
    for (int i = 0; i < g->n; i++)
        if (has(&x->behind, i)) unite(&x->before, &g->node[i]->before);
    s->behind = (fake_set){{0}};
    put(&s->behind, x->number);
    return g->node[g->n++] = x;
}

fake_op *fake_add_node(cudaStream_t s, fake_op_kind kind)
{
    CUgraphNode x = new_node(s);
    x->op.kind = kind;
    return &x->op;
}

CUresult fake_add_batch(CUstream s, unsigned n, const CUstreamBatchMemOpParams *op)
{
    CUgraphNode x = new_node(s);
    x->batch = malloc(n * sizeof *op);
    memcpy(x->batch, op, n * sizeof *op);
    x->p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.count = n, .paramArray = x->batch};
    return CUDA_SUCCESS;
}

void fake_captured_record(cudaEvent_t e, cudaStream_t s)
{
    e->capture = s->graph ? s->graph->capture : 0;
    e->behind = s->behind;
}

static CUgraph graph_of(int capture)
{
    for (int i = 0; i < MOST_STREAMS; i++)
        if (capturing[i] && capturing[i]->capture == capture) return capturing[i];
    refuse("a stream waits for an event of a capture that has ended");
}

static void enter(cudaStream_t s, CUgraph g)
{
    s->graph = g;
    s->behind = (fake_set){{0}};
}

bool fake_captured_wait(cudaStream_t s, cudaEvent_t e)
{
    if (!e->capture && !s->graph) return false;
    if (!e->capture && e->last) refuse("a captured stream waits for an event outside");
    if (!e->capture) return true;
    CUgraph g = graph_of(e->capture);
    if (!s->graph) enter(s, g);
    if (s->graph != g) refuse("two captures meet");
    unite(&s->behind, &e->behind);
    return true;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    CUgraph g = calloc(1, sizeof *g);
    int i = 0;
    while (capturing[i])
        i++;
    g->capture = ++captures;
    capturing[i] = g;
    if (mode != cudaStreamCaptureModeRelaxed || s->graph) refuse("cannot begin");
    enter(s, g);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s)
{
    (void)p, (void)value, (void)bytes, (void)s;
    refuse("contexts of these tests have no zeros");
}

static void leave(cudaStream_t s, void *arg)
{
    struct CUgraph_st *g = ((cudaStream_t)arg)->graph;
    const cudaStream_t all = arg;
    if (s->graph != g || s == all) return;
    for (int i = 0; i < g->n; i++) {
        bool joined = has(&all->behind, i);
        for (int k = 0; k < g->n && !joined; k++)
            joined = has(&all->behind, k) && has(&g->node[k]->before, i);
        if (has(&s->behind, i) && !joined) refuse("a stream has not joined");
    }
    s->graph = NULL;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    *g = s->graph;
    fake_each_stream(leave, s);
    s->graph = NULL;
    for (int i = 0; i < MOST_STREAMS; i++)
        if (capturing[i] == *g) capturing[i] = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    for (int i = 0; i < g->n; i++) {
        if (g->node[i]->op.owns) free(g->node[i]->op.arg);
        free(g->node[i]->batch);
        free(g->node[i]);
    }
    free(g);
    return cudaSuccess;
}

// --- instances ---

static CUstreamBatchMemOpParams *copy_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    CUstreamBatchMemOpParams *to = malloc(p->count * sizeof *to);
    memcpy(to, p->paramArray, p->count * sizeof *to);
    return to;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t g, unsigned long long flags)
{
    (void)flags;
    *exec = calloc(1, sizeof **exec);
    (*exec)->graph = g;
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->batch) (*exec)->batch[i] = copy_of(&g->node[i]->p);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    for (int i = 0; i < MOST_NODES; i++)
        free(exec->batch[i]);
    free(exec);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t s)
{
    (void)exec;
    (void)s;
    return cudaSuccess;
}

CUresult fake_get_nodes(CUgraph g, CUgraphNode *node, size_t *n)
{
    if (node) memcpy(node, g->node, *n * sizeof *node);
    *n = (size_t)g->n;
    return CUDA_SUCCESS;
}

CUresult fake_node_type(CUgraphNode node, CUgraphNodeType *type)
{
    *type = node->batch ? CU_GRAPH_NODE_TYPE_BATCH_MEM_OP : CU_GRAPH_NODE_TYPE_KERNEL;
    return CUDA_SUCCESS;
}

CUresult fake_get_params(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    *p = node->p;
    return CUDA_SUCCESS;
}

CUresult fake_set_params(CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (p->count != node->p.count) return CUDA_ERROR_INVALID_VALUE;
    if (contexts == FAKE_NONE || (contexts == FAKE_CURRENT && !p->ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!stale) memcpy(exec->batch[node->number], p->paramArray, p->count * sizeof *p->paramArray);
    return CUDA_SUCCESS;
}

// --- launches ---

// In an order drawn among those that the graph allows.
static void put_in_queues(struct fake_replay *x)
{
    int last[MOST_STREAMS], queue_of[MOST_STREAMS], waits[MOST_NODES], n = x->graph->n;
    memset(last, -1, sizeof last);
    for (int i = 0; i < MOST_STREAMS; i++)
        queue_of[i] = (int)fake_draw((uint64_t)queues);
    for (int i = 0; i < n; i++)
        waits[i] = x->at[i].waits;
    for (int left = n, i = 0; left > 0; left--) {
        int seen = 0;
        for (int k = 0; k < n; k++)
            if (waits[k] == 0 && fake_draw((uint64_t)++seen) == 0) i = k;
        int *queue = &last[queue_of[x->graph->node[i]->stream]];
        x->at[i].ahead = *queue;
        *queue = i;
        waits[i] = -1;
        for (int k = i + 1; k < n; k++)
            waits[k] -= has(&x->graph->node[k]->behind, i);
    }
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    CUgraph g = exec->graph;
    struct fake_replay *x = calloc(1, sizeof *x);
    x->graph = g;
    x->left = g->n;
    x->at = calloc((size_t)g->n + 1, sizeof *x->at);
    for (int i = 0; i < MOST_STREAMS; i++)
        x->weight[i] = 1 << 2 * fake_draw(4);
    for (int i = 0; i < g->n; i++) {
        going *at = &x->at[i];
        const struct CUgraphNode_st *node = g->node[i];
        at->n = node->batch ? node->p.count : 1;
        at->op = calloc(at->n, sizeof *at->op);
        at->ahead = -1;
        for (int k = 0; k < i; k++)
            at->waits += has(&node->behind, k);
        if (!node->batch) at->op[0] = node->op;
        for (unsigned k = 0; node->batch && k < at->n; k++)
            if (fake_number(&at->op[k], &exec->batch[i][k])) refuse("an operation of a batch");
    }
    if (queues) put_in_queues(x);
    fake_add(s, REPLAY)->replay = x;
    return cudaSuccess;
}

void fake_replay_free(struct fake_replay *x)
{
    for (int i = 0; i < x->graph->n; i++)
        free(x->at[i].op);
    free(x->at);
    free(x);
}

static bool may_go(const struct fake_replay *x, int i)
{
    const going *at = &x->at[i];
    struct CUstream_st s = {.id = x->graph->node[i]->stream};
    if (at->over || at->waits || (at->ahead >= 0 && !x->at[at->ahead].over)) return false;
    return fake_ready(&s, &at->op[at->done]);
}

// Node and weight of those that can go on; picked: the one where the weights come to more than it.
static int walk(const struct fake_replay *x, int picked, int *node)
{
    int all = 0;
    for (int i = 0; i < x->graph->n; i++) {
        if (!may_go(x, i)) continue;
        all += x->weight[x->graph->node[i]->stream];
        *node = i;
        if (all > picked) return all;
    }
    return all;
}

bool fake_replay_ready(struct fake_replay *x)
{
    int node;
    return x->left == 0 || walk(x, 0, &node) > 0;
}

bool fake_replay_step(cudaStream_t s, struct fake_replay *x)
{
    int i = -1, all = walk(x, 1 << 30, &i);
    if (x->left == 0) return true;
    walk(x, (int)fake_draw((uint64_t)all), &i);
    going *at = &x->at[i];
    const struct CUgraphNode_st *node = x->graph->node[i];
    if (!at->begun) {
        at->before = s->before;
        for (int k = 0; k < i; k++)
            if (has(&node->behind, k)) fake_come_behind(&at->before, &x->at[k].before);
    }
    at->begun = true;
    struct CUstream_st on = {.id = node->stream, .before = at->before};
    bool over = fake_run(&on, &at->op[at->done]);
    at->before = on.before;
    if (!over || ++at->done < at->n) return false;
    at->over = true;
    for (int k = i + 1; k < x->graph->n; k++)
        x->at[k].waits -= has(&x->graph->node[k]->behind, i);
    if (--x->left) return false;
    for (int k = 0; k < x->graph->n; k++)
        fake_come_behind(&s->before, &x->at[k].before);
    return true;
}
