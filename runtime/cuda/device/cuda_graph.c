#include "cuda/device/cuda_graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/device/cuda_driver.h"

enum { ALIGN = 256, MOST_EDGES = 8 }; // ALIGN: bytes; MOST_EDGES: of a node that is taken out

#if CUDA_VERSION >= 13000 // an edge has a kind, the usual one where nothing is said
#    define EDGES , NULL
#else
#    define EDGES
#endif

const char *cuda_graph_begin(cuda_context *x)
{
    x->capturing = true;
    x->zeros_taken = 0;
    CUDA_CALL(cudaStreamBeginCapture(x->stream, cudaStreamCaptureModeRelaxed));
    if (x->zeros) CUDA_CALL(cudaMemsetAsync(x->zeros, 0, CUDA_ZEROS, x->stream));
    return NULL;
}

void *cuda_graph_work(cuda_context *x, int64_t bytes)
{
    const int64_t at = x->zeros_taken, end = at + (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!x->capturing || !x->zeros || bytes < 1 || bytes > CUDA_ZEROS_OF_ONE || end > CUDA_ZEROS)
        return NULL;
    x->zeros_taken = end;
    return x->zeros + at;
}

// --- what is clear ---

// Where the node clears zeros, from their first byte on; -1: it does not.
static int64_t clears(const cuda_driver *d, const cuda_context *x, CUgraphNode node,
                      CUDA_MEMSET_NODE_PARAMS *p)
{
    CUgraphNodeType type;
    if (d->cuGraphNodeGetType_(node, &type) || type != CU_GRAPH_NODE_TYPE_MEMSET ||
        d->cuGraphMemsetNodeGetParams_(node, p) || p->value || p->height != 1)
        return -1;
    const int64_t at = (int64_t)p->dst - (int64_t)(uintptr_t)x->zeros;
    return at < CUDA_ZEROS ? at : -1;
}

// Whoever came behind the node comes behind those before it. Where that cannot be, it stays.
static bool take_out(const cuda_driver *d, CUgraph g, CUgraphNode node)
{
    CUgraphNode from[MOST_EDGES], to[MOST_EDGES];
    size_t n_from = 0, n_to = 0;
    if (d->cuGraphNodeGetDependencies_(node, NULL EDGES, &n_from) || n_from > MOST_EDGES ||
        d->cuGraphNodeGetDependentNodes_(node, NULL EDGES, &n_to) || n_to > MOST_EDGES ||
        d->cuGraphNodeGetDependencies_(node, from EDGES, &n_from) ||
        d->cuGraphNodeGetDependentNodes_(node, to EDGES, &n_to))
        return false;
    for (size_t i = 0; i < n_from; i++)
        for (size_t k = 0; k < n_to; k++)
            if (d->cuGraphAddDependencies_(g, &from[i], &to[k] EDGES, 1)) return false;
    return d->cuGraphDestroyNode_(node) == CUDA_SUCCESS;
}

// The first node, which clears all zeros, is left what calls have taken.
static void narrow(const cuda_driver *d, const cuda_context *x, CUgraphNode node,
                   CUDA_MEMSET_NODE_PARAMS p)
{
    p.width = (size_t)x->zeros_taken / p.elementSize;
    (void)d->cuGraphMemsetNodeSetParams_(node, &p);
}

static const char *leave_out_clears(cuda_context *x, CUgraph g)
{
    const char *why = NULL;
    const cuda_driver *d = cuda_driver_get(&why);
    size_t n = 0, out = 0;
    if (!d) return why;
    CUDA_TRY(cuda_driver_said(d, d->cuGraphGetNodes_(g, NULL, &n), "cuGraphGetNodes"));
    CUgraphNode *node = calloc(n + 1, sizeof *node);
    if (!node) return cuda_fail("out of memory");
    CUresult e = d->cuGraphGetNodes_(g, node, &n);
    for (size_t i = 0; i < n && !e; i++) {
        CUDA_MEMSET_NODE_PARAMS p;
        const int64_t at = clears(d, x, node[i], &p);
        if (at < 0) continue;
        if (at == 0 && p.width * p.elementSize == CUDA_ZEROS && x->zeros_taken)
            narrow(d, x, node[i], p);
        else
            out += take_out(d, g, node[i]);
    }
    free(node);
    if (x->verbose && x->zeros_taken)
        fprintf(stderr, "a graph of %zu nodes: %zu are left out, as %lld bytes are clear\n", n, out,
                (long long)x->zeros_taken);
    return cuda_driver_said(d, e, "cuGraphGetNodes");
}

const char *cuda_graph_end(cuda_context *x, cudaGraph_t *graph, cudaGraphExec_t *exec)
{
    x->capturing = false;
    CUDA_CALL(cudaStreamEndCapture(x->stream, graph));
    if (x->zeros) CUDA_TRY(leave_out_clears(x, *graph));
    CUDA_CALL(cudaGraphInstantiate(exec, *graph, 0));
    CUDA_CALL(cudaGraphUpload(*exec, x->stream));
    x->graphs++;
    x->made[x->phase].graphs++;
    return NULL;
}
