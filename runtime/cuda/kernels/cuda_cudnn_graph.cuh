// What calls of cuDNN's graph API share (cudnn-frontend, headers alone; C++ on the host):
// cuda_cudnn.cpp loads the library and makes the handle.

#ifndef HAP_RUNTIME_CUDA_CUDNN_GRAPH_CUH
#define HAP_RUNTIME_CUDA_CUDNN_GRAPH_CUH

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>
#include <unordered_map>

#include "cuda/device/cuda_graph.h"
#include "cuda/kernels/cuda_ops.h"

namespace fe = cudnn_frontend;

struct cuda_cudnn {
    cudnnHandle_t handle = nullptr;
};

using cudnn_pack = std::unordered_map<int64_t, void *>;

inline const char *cudnn_said(const char *what, fe::error_t e)
{
    return e.is_good() ? nullptr : cuda_fail("cuDNN %s: %.300s", what, e.get_message().c_str());
}

// Builds the plan that cuDNN's heuristics like best of those that narrow(graph) leaves.
template <class narrow_by>
const char *cudnn_build(const char *what, fe::graph::Graph &g, cudnnHandle_t handle, int64_t *bytes,
                        narrow_by narrow)
{
    CUDA_TRY(cudnn_said(what, g.validate()));
    CUDA_TRY(cudnn_said(what, g.build_operation_graph(handle)));
    CUDA_TRY(cudnn_said(what, g.create_execution_plans({fe::HeurMode_t::A})));
    narrow(g);
    CUDA_TRY(cudnn_said(what, g.check_support(handle)));
    CUDA_TRY(cudnn_said(what, g.build_plans(handle, fe::BuildPlanPolicy_t::HEURISTICS_CHOICE)));
    return cudnn_said(what, g.get_workspace_size(*bytes));
}

inline const char *cudnn_execute(cuda_context *x, const char *what, const fe::graph::Graph &g,
                                 int64_t bytes, cudnn_pack &pack)
{
    const char *why = nullptr;
    void *work = cuda_graph_work(x, bytes);
    if (!work && bytes) work = cuda_work(x, bytes, &why);
    return why ? why : cudnn_said(what, g.execute(x->cudnn->handle, pack, work));
}

#endif
