// Captured graphs (cuda/device/cuda_graph.h) that the test draws: workspaces of captured calls, and
// that a graph without its needless clears has the order of the one with them.

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/cuda_driver.h"
#include "cuda/device/cuda_graph.h"

// --- a graph, and what the file under test calls ---

enum { NODES = 60 };
struct CUgraphNode_st {
    bool there;
    CUgraphNodeType type;
    CUDA_MEMSET_NODE_PARAMS p;
    bool before[NODES]; // an edge from that node
};
static struct CUgraphNode_st node[NODES];
static char zeros[CUDA_ZEROS];
static int64_t cleared; // at the begin

#if CUDA_VERSION >= 13000
#    define KINDS(type) , type *kind
#    define NO_KIND     ck_assert_ptr_null(kind)
#else
#    define KINDS(type)
#    define NO_KIND
#endif

static CUresult nodes(CUgraph g, CUgraphNode *to, size_t *n)
{
    (void)g;
    *n = NODES;
    for (int i = 0; i < NODES && to; i++)
        to[i] = &node[i];
    return CUDA_SUCCESS;
}

static CUresult type_of(CUgraphNode x, CUgraphNodeType *type)
{
    *type = x->type;
    return CUDA_SUCCESS;
}

static CUresult get_params(CUgraphNode x, CUDA_MEMSET_NODE_PARAMS *p)
{
    *p = x->p;
    return CUDA_SUCCESS;
}

static CUresult set_params(CUgraphNode x, const CUDA_MEMSET_NODE_PARAMS *p)
{
    x->p = *p;
    return CUDA_SUCCESS;
}

static bool edge(const struct CUgraphNode_st *from, const struct CUgraphNode_st *to)
{
    return from->there && to->there && to->before[from - node];
}

static CUresult list(CUgraphNode x, bool behind, CUgraphNode *to, size_t *n)
{
    size_t found = 0;
    for (int i = 0; i < NODES; i++) {
        if (!(behind ? edge(x, &node[i]) : edge(&node[i], x))) continue;
        if (to && found < *n) to[found] = &node[i];
        found++;
    }
    if (!to || found < *n) *n = found;
    return CUDA_SUCCESS;
}

static CUresult dependencies(CUgraphNode x, CUgraphNode *to KINDS(CUgraphEdgeData), size_t *n)
{
    NO_KIND;
    return list(x, false, to, n);
}

static CUresult dependents(CUgraphNode x, CUgraphNode *to KINDS(CUgraphEdgeData), size_t *n)
{
    NO_KIND;
    return list(x, true, to, n);
}

static CUresult add(CUgraph g, const CUgraphNode *from,
                    const CUgraphNode *to KINDS(const CUgraphEdgeData), size_t n)
{
    (void)g;
    NO_KIND;
    for (size_t i = 0; i < n; i++)
        to[i]->before[from[i] - node] = true;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUgraphNode x)
{
    x->there = false;
    x->type = CU_GRAPH_NODE_TYPE_EMPTY;
    return CUDA_SUCCESS;
}

const cuda_driver *cuda_driver_get(const char **why)
{
    static const cuda_driver d = {.cuGraphGetNodes_ = nodes,
                                  .cuGraphNodeGetType_ = type_of,
                                  .cuGraphMemsetNodeGetParams_ = get_params,
                                  .cuGraphMemsetNodeSetParams_ = set_params,
                                  .cuGraphNodeGetDependencies_ = dependencies,
                                  .cuGraphNodeGetDependentNodes_ = dependents,
                                  .cuGraphAddDependencies_ = add,
                                  .cuGraphDestroyNode_ = destroy};
    (void)why;
    return &d;
}

const char *cuda_driver_said(const cuda_driver *d, CUresult e, const char *call)
{
    (void)d;
    return e ? call : NULL;
}

const char *cuda_said(cudaError_t e, const char *call)
{
    return e ? call : NULL;
}

const char *cuda_fail(const char *fmt, ...)
{
    return fmt;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    (void)s, (void)mode;
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s)
{
    (void)s;
    ck_assert(p == zeros && value == 0);
    cleared = (int64_t)bytes;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    (void)s;
    *g = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t g, unsigned long long flags)
{
    (void)g, (void)flags;
    *exec = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t s)
{
    (void)exec, (void)s;
    return cudaSuccess;
}

// --- tests ---

static void end(cuda_context *x)
{
    cudaGraph_t g;
    cudaGraphExec_t exec;
    ck_assert_ptr_null(cuda_graph_end(x, &g, &exec));
    ck_assert(!x->capturing);
}

START_TEST(calls_have_workspaces_of_their_own)
{
    cuda_context x = {.zeros = zeros};
    memset(node, 0, sizeof node);
    ck_assert_ptr_null(cuda_graph_work(&x, 4)); // not captured
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_ptr_null(cuda_graph_begin(&x));
        ck_assert_int_eq(cleared, CUDA_ZEROS);
        ck_assert_ptr_null(cuda_graph_work(&x, 0));
        ck_assert_ptr_null(cuda_graph_work(&x, CUDA_ZEROS_OF_ONE + 1));
        char *last = zeros;
        for (int64_t bytes = 1;; bytes = bytes * 7 % CUDA_ZEROS_OF_ONE + 1) {
            char *at = cuda_graph_work(&x, bytes);
            if (!at) break;
            ck_assert(at >= last && (at - zeros) % 256 == 0 && at + bytes <= zeros + CUDA_ZEROS);
            last = at + bytes;
        }
        ck_assert_int_gt(x.zeros_taken, CUDA_ZEROS - 2 * CUDA_ZEROS_OF_ONE);
        end(&x);
    }
    x.zeros = NULL;
    ck_assert_ptr_null(cuda_graph_begin(&x));
    ck_assert_ptr_null(cuda_graph_work(&x, 4));
    end(&x);
}
END_TEST

// reach[i][k]: k comes behind i, which has a lower number.
static void find_reach(bool reach[NODES][NODES])
{
    memset(reach, 0, sizeof(bool[NODES][NODES]));
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < k; i++) {
            if (!edge(&node[i], &node[k])) continue;
            reach[i][k] = true;
            for (int j = 0; j < i; j++)
                reach[j][k] |= reach[j][i];
        }
}

static void draw(const cuda_context *x, bool needless[NODES])
{
    memset(node, 0, sizeof node);
    for (int k = 0; k < NODES; k++) {
        const int kind = k ? rand() % 5 : 4;
        node[k].there = true;
        node[k].type = kind < 2 ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_MEMSET;
        char *const at = zeros + rand() % x->zeros_taken;
        node[k].p = (CUDA_MEMSET_NODE_PARAMS){
            .dst = (CUdeviceptr)(uintptr_t)at, .elementSize = 4, .width = 1, .height = 1};
        if (kind == 2) node[k].p.dst = (CUdeviceptr)(uintptr_t)(zeros + CUDA_ZEROS);
        if (kind == 3) node[k].p.value = 1;
        needless[k] = k > 0 && kind == 4;
        for (int i = k - 3 < 0 ? 0 : k - 3; i < k; i++)
            node[k].before[i] = i == k - 1 || rand() % 3 == 0;
    }
    node[0].p.dst = (CUdeviceptr)(uintptr_t)zeros, node[0].p.width = CUDA_ZEROS / 4;
}

START_TEST(the_order_stays)
{
    static bool before[NODES][NODES], after[NODES][NODES], needless[NODES];
    for (int round = 0; round < 300; round++) {
        cuda_context x = {.zeros = zeros};
        srand((unsigned)round);
        ck_assert_ptr_null(cuda_graph_begin(&x));
        for (int calls = 1 + rand() % 9; calls > 0; calls--)
            ck_assert_ptr_nonnull(cuda_graph_work(&x, 4));
        draw(&x, needless);
        find_reach(before);
        end(&x);
        find_reach(after);
        ck_assert_int_eq(node[0].p.width * 4, x.zeros_taken); // clears what they have, no more
        for (int k = 0; k < NODES; k++) {
            ck_assert(node[k].there || needless[k]);
            for (int i = 0; i < k; i++)
                ck_assert(!node[i].there || !node[k].there || before[i][k] == after[i][k]);
        }
    }
}
END_TEST

START_TEST(a_chain_keeps_no_needless_clear)
{
    cuda_context x = {.zeros = zeros};
    memset(node, 0, sizeof node);
    ck_assert_ptr_null(cuda_graph_begin(&x));
    for (int k = 0; k < NODES; k++) {
        node[k].there = true;
        node[k].type = k % 2 ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_MEMSET;
        char *const at = k && k % 2 == 0 ? cuda_graph_work(&x, 4) : zeros;
        node[k].p = (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)(uintptr_t)at,
                                              .elementSize = 1,
                                              .width = k ? 4 : CUDA_ZEROS,
                                              .height = 1};
        if (k) node[k].before[k - 1] = true;
    }
    end(&x);
    ck_assert_int_eq(node[0].p.width, x.zeros_taken);
    for (int k = 0; k < NODES; k++)
        ck_assert_int_eq(node[k].there, k == 0 || k % 2);
    for (int k = 3; k < NODES; k += 2)
        ck_assert(edge(&node[k - 2], &node[k]));
}
END_TEST

START_TEST(without_calls_nothing_is_cleared)
{
    cuda_context x = {.zeros = zeros};
    memset(node, 0, sizeof node);
    ck_assert_ptr_null(cuda_graph_begin(&x));
    node[0].there = node[1].there = node[1].before[0] = true;
    node[0].type = CU_GRAPH_NODE_TYPE_MEMSET;
    node[0].p = (CUDA_MEMSET_NODE_PARAMS){
        .dst = (CUdeviceptr)(uintptr_t)zeros, .elementSize = 1, .width = CUDA_ZEROS, .height = 1};
    end(&x);
    ck_assert(!node[0].there && node[1].there);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_graph");
    TCase *c = tcase_create("graph");
    tcase_add_test(c, calls_have_workspaces_of_their_own);
    tcase_add_test(c, the_order_stays);
    tcase_add_test(c, a_chain_keeps_no_needless_clear);
    tcase_add_test(c, without_calls_nothing_is_cleared);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
