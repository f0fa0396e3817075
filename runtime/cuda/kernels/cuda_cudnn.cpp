// Attention of bf16 and f16 heads by cuDNN's graph API (cudnn-frontend, headers alone). libcudnn is
// loaded when the device starts; without it every head runs on the kernels of cuda_sdpa.cu. A
// shape's plan is built at its first call and kept. The backward pass is the ordered
// (deterministic) one where there is one and its workspace allows (cuda_head_split.h), but with
// --cuda attention=unordered. =own leaves cuDNN out. Of fewer queries or keys than a tile its
// backward kernel (9.19, sm_90) writes whole tiles, past tensors whose heads lie apart; =short gives
// it such calls all the same, to see that.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <vector>

#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_cudnn_graph.cuh"
#include "cuda/kernels/cuda_head_split.h"

namespace cudnn_frontend
{
void *cudnn_dlhandle = nullptr; // what the frontend's calls go through
}

namespace
{
constexpr char what[] = "attention";
enum uid : int64_t { Q = 1, K, V, O, STATS, DO, DQ, DK, DV, LENGTH_Q, LENGTH_K };

struct plan {
    cuda_heads h;
    bool backward, refused = false;
    fe::graph::Graph graph;
    int64_t bytes = 0;
    int32_t *lengths = nullptr; // on the device: b times q, then b times k; see wants_lengths
};

// The frontend takes such a backward pass for one of padded rows, whose lengths it copies from host
// memory of the call: a captured step would copy what lies there when it is launched. So it is
// given lengths that stay.
bool wants_lengths(const plan &p)
{
    return p.backward && p.h.q % CUDA_HEAD_KEYS != 0;
}

bool same(const cuda_heads &a, const cuda_heads &b)
{
    return a.b == b.b && a.hq == b.hq && a.hk == b.hk && a.q == b.q && a.k == b.k && a.e == b.e &&
           a.d == b.d && a.type == b.type && a.causal == b.causal && a.bottom == b.bottom &&
           a.scale == b.scale && !memcmp(a.at, b.at, sizeof a.at);
}
} // namespace

struct cuda_attention {
    bool takes_short = false, unordered = false;
    std::vector<std::unique_ptr<plan>> plans;
};

namespace
{
std::vector<int64_t> strides(const cuda_head_at &at)
{
    return {at.b, at.h, at.s, 1};
}

std::shared_ptr<fe::graph::Tensor_attributes> tensor(fe::graph::Graph &g, const char *name, uid id,
                                                     const std::vector<int64_t> &dim,
                                                     const cuda_head_at &at)
{
    return g.tensor(
        fe::graph::Tensor_attributes().set_name(name).set_uid(id).set_dim(dim).set_stride(
            strides(at)));
}

std::shared_ptr<fe::graph::Tensor_attributes> lengths(fe::graph::Graph &g, uid id, int64_t b)
{
    return g.tensor(fe::graph::Tensor_attributes()
                        .set_name(id == LENGTH_Q ? "length_q" : "length_k")
                        .set_uid(id)
                        .set_dim({b, 1, 1, 1})
                        .set_stride({1, 1, 1, 1})
                        .set_data_type(fe::DataType_t::INT32));
}

void output(const std::shared_ptr<fe::graph::Tensor_attributes> &t, uid id,
            const std::vector<int64_t> &dim, const cuda_head_at &at)
{
    t->set_output(true).set_uid(id).set_dim(dim).set_stride(strides(at));
}

template <typename attributes> attributes &masked(attributes &of, const cuda_heads &h)
{
    of.set_attn_scale(h.scale);
    return h.causal && h.bottom ? of.set_causal_mask_bottom_right(true)
                                : of.set_causal_mask(h.causal);
}

const char *build(plan &p, cudnnHandle_t handle, bool ordered)
{
    const cuda_heads &h = p.h;
    fe::graph::Graph &g = p.graph;
    g.set_io_data_type(h.type == HAP_BF16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const std::vector<int64_t> of_q = {h.b, h.hq, h.q, h.e}, of_k = {h.b, h.hk, h.k, h.e},
                               of_v = {h.b, h.hk, h.k, h.d}, of_y = {h.b, h.hq, h.q, h.d},
                               of_stats = {h.b, h.hq, h.q, 1};
    const cuda_head_at dense_stats = {h.hq * h.q, h.q, 1};
    auto q = tensor(g, "q", Q, of_q, h.at[CUDA_Q]), k = tensor(g, "k", K, of_k, h.at[CUDA_K]);
    auto v = tensor(g, "v", V, of_v, h.at[CUDA_V]);
    if (!p.backward) {
        fe::graph::SDPA_attributes of;
        of.set_name("sdpa").set_generate_stats(true);
        auto [o, stats] = g.sdpa(q, k, v, masked(of, h));
        output(o, O, of_y, h.at[CUDA_Y]);
        output(stats, STATS, of_stats, dense_stats);
        stats->set_data_type(fe::DataType_t::FLOAT);
    } else {
        auto o = tensor(g, "o", O, of_y, h.at[CUDA_Y]),
             d_o = tensor(g, "do", DO, of_y, h.at[CUDA_DY]);
        auto stats = tensor(g, "stats", STATS, of_stats, dense_stats);
        stats->set_data_type(fe::DataType_t::FLOAT);
        fe::graph::SDPA_backward_attributes of;
        of.set_name("sdpa_backward").set_deterministic_algorithm(ordered);
        if (wants_lengths(p))
            of.set_padding_mask(true)
                .set_seq_len_q(lengths(g, LENGTH_Q, h.b))
                .set_seq_len_kv(lengths(g, LENGTH_K, h.b));
        auto [dq, dk, dv] = g.sdpa_backward(q, k, v, o, d_o, stats, masked(of, h));
        output(dq, DQ, of_q, h.at[CUDA_DQ]);
        output(dk, DK, of_k, h.at[CUDA_DK]);
        output(dv, DV, of_v, h.at[CUDA_DV]);
    }
    return cudnn_build(what, g, handle, &p.bytes, [](fe::graph::Graph &) {});
}

const char *make_lengths(cuda_context *x, plan &p)
{
    std::vector<int32_t> of((size_t)p.h.b * 2, (int32_t)p.h.q);
    std::fill(of.begin() + p.h.b, of.end(), (int32_t)p.h.k);
    const size_t bytes = of.size() * sizeof of[0];
    CUDA_CALL(cudaMalloc((void **)&p.lengths, bytes));
    x->made[x->phase].allocations++;
    CUDA_CALL(cudaMemcpyAsync(p.lengths, of.data(), bytes, cudaMemcpyHostToDevice, x->stream));
    CUDA_CALL(cudaStreamSynchronize(x->stream));
    return nullptr;
}

cuda_head_split split_of(const cuda_context *x, const cuda_heads &h)
{
    if (x->attention->unordered) return {h.b, h.hk, false};
    return cuda_heads_at_once(h.b, h.hk, h.hq / h.hk, h.q, h.k);
}

// The plan of a shape; one that cuDNN refuses is remembered as such. Of a backward pass the shape
// is that of one call.
plan *plan_of(cuda_context *x, cuda_heads h, bool backward)
{
    const cuda_head_split split = split_of(x, h);
    if (backward) {
        h.hq = h.hq / h.hk * split.hk;
        h.b = split.b, h.hk = split.hk;
    }
    for (auto &p : x->attention->plans)
        if (p->backward == backward && same(p->h, h)) return p.get();
    for (bool ordered : {true, false}) {
        if (ordered && backward && !split.ordered) continue;
        auto p = std::make_unique<plan>();
        p->h = h;
        p->backward = backward;
        const char *why = build(*p, x->cudnn->handle, ordered);
        if (!why && wants_lengths(*p)) why = make_lengths(x, *p);
        p->refused = why != nullptr;
        if (p->refused && backward && ordered) continue;
        if (x->verbose)
            fprintf(stderr,
                    "attention %s of %lld x %lld heads, %lld queries, %lld keys, %lld wide: %s, "
                    "workspace %lld bytes\n",
                    backward ? "backward" : "forward", (long long)h.b, (long long)h.hq,
                    (long long)h.q, (long long)h.k, (long long)h.e,
                    why         ? why
                    : !backward ? "by cuDNN"
                    : ordered   ? "by cuDNN, deterministic"
                                : "by cuDNN, not deterministic",
                    (long long)p->bytes);
        x->attention->plans.push_back(std::move(p));
        x->made[x->phase].plans++;
        break;
    }
    return x->attention->plans.back().get();
}

const char *execute(cuda_context *x, plan *p, cudnn_pack &pack)
{
    return cudnn_execute(x, what, p->graph, p->bytes, pack);
}

void *open_library()
{
    static const char *const names[] = {"libcudnn.so.9", "libcudnn.so"};
    for (const char *name : names)
        if (void *p = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return p;
    return nullptr;
}
} // namespace

extern "C" const char *cuda_cudnn_start(cuda_context *x)
{
    bool own_heads = x->options.attention == HAP_CUDA_attention_own;
    if (own_heads && x->options.conv == HAP_CUDA_conv_own) return nullptr;
    fe::cudnn_dlhandle = open_library();
    x->no_cudnn = !fe::cudnn_dlhandle;
    if (x->no_cudnn) return nullptr;
    auto all = std::make_unique<cuda_cudnn>();
    if (fe::detail::create_handle(&all->handle) != CUDNN_STATUS_SUCCESS) return nullptr;
    x->cudnn = all.release();
    if (fe::detail::set_stream(x->cudnn->handle, x->stream) != CUDNN_STATUS_SUCCESS)
        return cuda_fail("cuDNN takes no stream");
    if (own_heads) return nullptr;
    x->attention = new cuda_attention();
    x->attention->takes_short = x->options.attention == HAP_CUDA_attention_short;
    x->attention->unordered = x->options.attention == HAP_CUDA_attention_unordered;
    return nullptr;
}

extern "C" void cuda_cudnn_end(cuda_context *x)
{
    if (!x->cudnn) return;
    cuda_convs_end(x);
    for (size_t i = 0; x->attention && i < x->attention->plans.size(); i++)
        if (x->attention->plans[i]->lengths) cudaFree(x->attention->plans[i]->lengths);
    delete x->attention;
    x->attention = nullptr;
    fe::detail::destroy_handle(x->cudnn->handle);
    delete x->cudnn;
    x->cudnn = nullptr;
}

extern "C" bool cuda_cudnn_usable(cuda_context *x, const cuda_heads *h, bool backward)
{
    bool takes = (h->type == HAP_BF16 || h->type == HAP_F16) && h->e == h->d &&
                 h->e % (CUDA_VECTOR / 2) == 0 && h->e <= CUDA_HEAD_WIDTH,
         whole = h->q >= CUDA_HEAD_ROWS && h->k >= CUDA_HEAD_ROWS;
    x->missed_cudnn |= x->no_cudnn && takes && whole;
    return x->attention && takes && (whole || x->attention->takes_short) &&
           !plan_of(x, *h, backward)->refused;
}

extern "C" const char *cuda_cudnn_forward(cuda_context *x, const cuda_heads *h, const void *q,
                                          const void *k, const void *v, void *o, void *lse)
{
    plan *p = plan_of(x, *h, false);
    cudnn_pack pack = {{Q, const_cast<void *>(q)},
                       {K, const_cast<void *>(k)},
                       {V, const_cast<void *>(v)},
                       {O, o},
                       {STATS, lse}};
    return execute(x, p, pack);
}

extern "C" const char *cuda_cudnn_backward(cuda_context *x, const cuda_heads *h,
                                           const cuda_head_grads *g)
{
    plan *p = plan_of(x, *h, true);
    const cuda_head_split one = split_of(x, *h);
    const int64_t group = h->hq / h->hk;
    for (int64_t b = 0; b < h->b; b += one.b) {
        for (int64_t head = 0; head < h->hk; head += one.hk) {
            auto at = [&](const void *t, int role, int64_t first) -> void * {
                int64_t n = b * h->at[role].b + first * h->at[role].h;
                return (char *)const_cast<void *>(t) + n * hap_dtype_bytes(h->type);
            };
            int64_t first = head * group; // of the queries
            float *lse = (float *)const_cast<void *>(g->lse) + (b * h->hq + first) * h->q;
            cudnn_pack pack = {{Q, at(g->q, CUDA_Q, first)},      {K, at(g->k, CUDA_K, head)},
                               {V, at(g->v, CUDA_V, head)},       {O, at(g->o, CUDA_Y, first)},
                               {DO, at(g->dout, CUDA_DY, first)}, {STATS, lse},
                               {DQ, at(g->dq, CUDA_DQ, first)},   {DK, at(g->dk, CUDA_DK, head)},
                               {DV, at(g->dv, CUDA_DV, head)}};
            if (p->lengths) {
                pack[LENGTH_Q] = p->lengths;
                pack[LENGTH_K] = p->lengths + p->h.b;
            }
            CUDA_TRY(execute(x, p, pack));
        }
    }
    return nullptr;
}
