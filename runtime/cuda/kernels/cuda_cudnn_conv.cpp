// Convolution and its gradients by cuDNN: deterministic algorithms, of a workspace that the planner
// counts (cuda_conv_room), as its heuristics order them. A shape's plan is built at its first call
// and kept; shapes that cuDNN refuses, and all of them under --cuda conv=own, run on the kernels of
// cuda_conv.cu. f32 is f32 unless the program asks for tf32. Gradients of weights in f32 of bf16 or
// f16 operands, of which cuDNN has no plan, are written in the operands' type and widened.

#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/kernels/cuda_copy_rows.h"
#include "cuda/kernels/cuda_cudnn_graph.cuh"

namespace
{
enum uid : int64_t { IMAGE = 1, WEIGHT, RESULT };
constexpr char what[] = "convolution";

struct plan {
    cuda_windows v;
    hap_op_id op;
    hap_dtype type[3]; // of image, weight, result of the windows
    hap_dtype made;    // what cuDNN writes: the type of the op's output, or a narrower one
    bool refused = false;
    fe::graph::Graph graph;
    int64_t bytes = 0;
};
} // namespace

struct cuda_convs {
    std::vector<std::unique_ptr<plan>> plans;
};

namespace
{
using tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using sizes = std::vector<int64_t>;

fe::DataType_t type_of(hap_dtype t)
{
    return t == HAP_BF16  ? fe::DataType_t::BFLOAT16
           : t == HAP_F16 ? fe::DataType_t::HALF
                          : fe::DataType_t::FLOAT;
}

template <class attributes> attributes &moved(attributes &of, const cuda_windows &v)
{
    return of.set_padding({v.padding[0], v.padding[1]})
        .set_stride({v.stride[0], v.stride[1]})
        .set_dilation({v.dilation[0], v.dilation[1]});
}

void place(const tensor &t, uid id, const sizes &dim, hap_dtype type, bool made)
{
    t->set_uid(id).set_dim(dim).set_data_type(type_of(type));
    t->set_stride({dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3], 1});
    if (made) t->set_output(true); // false would say that nobody gives its data
}

tensor operand(plan &p, uid id, const sizes &dim, hap_dtype type)
{
    tensor t = p.graph.tensor(fe::graph::Tensor_attributes().set_name("operand"));
    place(t, id, dim, type, false);
    return t;
}

// Bytes of a gradient of weights that is widened afterwards, 256 of them at a time; else 0.
int64_t narrow_bytes(const plan &p)
{
    const cuda_windows &v = p.v;
    if (p.op != HAP_OP_conv_dw || p.made == p.type[1]) return 0;
    return (v.g * v.o * v.c * v.p * v.q * hap_dtype_bytes(p.made) + 255) / 256 * 256;
}

const char *build(plan &p, cuda_context *x)
{
    const cuda_windows &v = p.v;
    const sizes image = {v.b, v.g * v.c, v.h, v.w}, weight = {v.g * v.o, v.c, v.p, v.q};
    const sizes result = {v.b, v.g * v.o, v.i, v.j};
    p.graph.set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    tensor of[3]; // the one that the op makes: empty
    if (p.op != HAP_OP_conv_transposed) of[0] = operand(p, IMAGE, image, p.type[0]);
    if (p.op != HAP_OP_conv_dw) of[1] = operand(p, WEIGHT, weight, p.type[1]);
    if (p.op != HAP_OP_conv) of[2] = operand(p, RESULT, result, p.type[2]);
    if (p.op == HAP_OP_conv) {
        fe::graph::Conv_fprop_attributes a;
        tensor y = p.graph.conv_fprop(of[0], of[1], moved(a, v));
        place(y, RESULT, result, p.type[2], true);
    } else if (p.op == HAP_OP_conv_transposed) {
        fe::graph::Conv_dgrad_attributes a;
        tensor y = p.graph.conv_dgrad(of[2], of[1], moved(a, v));
        place(y, IMAGE, image, p.type[0], true);
    } else {
        fe::graph::Conv_wgrad_attributes a;
        tensor y = p.graph.conv_wgrad(of[2], of[0], moved(a, v));
        place(y, WEIGHT, weight, p.made, true);
    }
    int64_t bytes = v.b * (v.g * v.c * v.h * v.w * hap_dtype_bytes(p.type[0]) +
                           v.g * v.o * v.i * v.j * hap_dtype_bytes(p.type[2])) +
                    v.g * v.o * v.c * v.p * v.q * hap_dtype_bytes(p.type[1]);
    bool narrow = p.type[0] != HAP_F32 || p.type[2] != HAP_F32 || x->tf32;
    return cudnn_build(what, p.graph, x->cudnn->handle, &p.bytes, [&](fe::graph::Graph &g) {
        g.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
        if (!narrow)
            g.deselect_numeric_notes(
                {fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS});
        g.deselect_workspace_greater_than(cuda_conv_room(bytes) - narrow_bytes(p));
    });
}

plan *plan_of(cuda_context *x, const cuda_windows &v, const hap_op_call *c,
              const hap_dtype (&type)[3])
{
    if (!x->convs) x->convs = new cuda_convs();
    for (auto &p : x->convs->plans)
        if (p->op == c->op && !memcmp(&p->v, &v, sizeof v) && !memcmp(p->type, type, sizeof type))
            return p.get();
    auto made = [&](hap_dtype as) {
        auto one = std::make_unique<plan>();
        one->v = v, one->op = c->op, one->made = as;
        memcpy(one->type, type, sizeof type);
        return one;
    };
    auto p = made(type[1]);
    const char *why = build(*p, x);
    if (why && c->op == HAP_OP_conv_dw && type[1] == HAP_F32 && type[0] != HAP_F32) {
        p = made(type[0]);
        why = build(*p, x);
    }
    p->refused = why != nullptr;
    if (x->verbose)
        fprintf(stderr,
                "%s, %lld images, %lld groups of %lld to %lld channels, %lld x %lld: %s, "
                "workspace %lld bytes\n",
                hap_op_names[c->op], (long long)v.b, (long long)v.g, (long long)v.c, (long long)v.o,
                (long long)v.h, (long long)v.w, why ? why : "by cuDNN", (long long)p->bytes);
    x->made[x->phase].plans++;
    x->convs->plans.push_back(std::move(p));
    return x->convs->plans.back().get();
}
} // namespace

extern "C" const char *cuda_cudnn_conv(cuda_context *x, const cuda_windows *v, const hap_op_call *c,
                                       const cuda_conv_tensors *t, bool *taken)
{
    *taken = false;
    if (x->options.conv == HAP_CUDA_conv_own) return nullptr;
    x->missed_cudnn |= x->no_cudnn;
    if (!x->cudnn) return nullptr;
    const hap_tensor *of[3] = {t->image, t->weight, t->result};
    const hap_dtype type[3] = {of[0]->type, of[1]->type, of[2]->type};
    for (const hap_tensor *one : of)
        if (one->elements == 0) return nullptr;
    plan *p = plan_of(x, *v, c, type);
    if (p->refused) return nullptr;
    *taken = true;
    const char *why = nullptr;
    int64_t narrow = narrow_bytes(*p);
    char *work = narrow + p->bytes ? (char *)cuda_work(x, narrow + p->bytes, &why) : nullptr;
    if (why) return why;
    cudnn_pack pack = {{IMAGE, of[0]->data}, {WEIGHT, of[1]->data}, {RESULT, of[2]->data}};
    if (narrow) pack[WEIGHT] = work;
    CUDA_TRY(cudnn_said(what, p->graph.execute(x->cudnn->handle, pack, work + narrow)));
    if (!narrow) return nullptr;
    return cuda_copy_rows(x->stream, of[1]->type, of[1]->data, of[1]->elements, p->made, work,
                          of[1]->elements, 1, of[1]->elements);
}

extern "C" void cuda_convs_end(cuda_context *x)
{
    delete x->convs;
    x->convs = nullptr;
}
