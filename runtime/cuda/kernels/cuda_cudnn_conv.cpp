// Convolution and its gradients by cuDNN: deterministic algorithms, of a workspace that the planner
// counts (cuda_conv_room). At a shape's first call the first that its heuristics name are timed on
// the operands and the quickest is kept (--cuda tune=off: the first); shapes that cuDNN refuses, and all of them under --cuda conv=own, run on the kernels of
// cuda_conv.cu. f32 is f32 unless the program asks for tf32. Gradients of weights in f32 of bf16 or
// f16 operands, of which cuDNN has no plan, are written in the operands' type and widened.
// Operands and results of 16-bit floats are channels last (cuda_last.h), and a bias is added by the
// same kernel, if cuDNN takes them so. Images of few channels (pictures have 3) are read from copies
// with channels of zeros up to a multiple of 8, without which tensor cores stand idle; where windows
// move by several places, in blocks (cuda_blocks.h), if that is quicker.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/kernels/cuda_blocks.h"
#include "cuda/kernels/cuda_copy_rows.h"
#include "cuda/kernels/cuda_cudnn_graph.cuh"
#include "cuda/kernels/cuda_lay.h"
#include "cuda/kernels/cuda_shadow.h"

namespace
{
enum uid : int64_t { IMAGE = 1, WEIGHT, RESULT, BIAS };
constexpr char what[] = "convolution";

struct plan {
    cuda_windows v;
    hap_op_id op;
    hap_dtype type[3]; // of image, weight, result of the windows
    bool biased, relu; // relu: of what conv makes, and its bias
    hap_dtype bias;    // its type, if there is one
    hap_dtype made;    // what cuDNN writes: the type of the op's output, or a narrower one
    bool last;         // tensors are channels last
    int64_t blocks;    // cuda_blocks.h; 1: as declared
    int64_t channels;  // of a group, or a block, with those of zeros
    bool adds;         // the bias
    bool refused = false;
    fe::graph::Graph graph;
    int64_t engine = -1, bytes = 0; // of the graph's; workspace
};

// Of a shape; those of a step may take so long, and what is left then takes the first.
enum { ENGINES = 5, TURNS = 3, SECONDS = 10 };
} // namespace

struct cuda_convs {
    std::vector<std::unique_ptr<plan>> plans;
    cudaEvent_t from = nullptr, to = nullptr;
    double seconds = 0; // that trying has taken
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

void place(const plan &p, const tensor &t, uid id, const sizes &dim, hap_dtype type, bool made)
{
    t->set_uid(id).set_dim(dim).set_data_type(type_of(type));
    if (p.last)
        t->set_stride({dim[1] * dim[2] * dim[3], 1, dim[3] * dim[1], dim[1]});
    else
        t->set_stride({dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3], 1});
    if (made) t->set_output(true); // false would say that nobody gives its data
}

tensor operand(plan &p, uid id, const sizes &dim, hap_dtype type)
{
    tensor t = p.graph.tensor(fe::graph::Tensor_attributes().set_name("operand"));
    place(p, t, id, dim, type, false);
    return t;
}

int64_t rounded(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

// Whether the weight has another order, or other rows, than the tensor.
bool turns_weight(const plan &p)
{
    return p.last && ((p.v.c > 1 && p.v.p * p.v.q > 1) || p.channels != p.v.c);
}

// Whether the weight's gradient is written beside the output: that, or in a narrower type.
bool beside(const plan &p)
{
    return p.op == HAP_OP_conv_dw && (turns_weight(p) || p.made != p.type[1]);
}

struct bytes_of {
    int64_t image, weight, result;
};

bytes_of bytes_with(const plan &p, const cuda_windows &v)
{
    return {v.b * v.g * v.c * v.h * v.w * hap_dtype_bytes(p.type[0]),
            v.g * v.o * v.c * v.p * v.q * hap_dtype_bytes(p.type[1]),
            v.b * v.g * v.o * v.i * v.j * hap_dtype_bytes(p.type[2])};
}

// The windows as cuDNN is told.
cuda_windows told(const plan &p)
{
    cuda_windows v = p.v;
    if (p.blocks > 1) return cuda_blocks_windows(&v, p.channels);
    v.c = p.channels;
    return v;
}

bytes_of tensors_of(const plan &p)
{
    return bytes_with(p, told(p));
}

const char *build(plan &p, cuda_context *x)
{
    const cuda_windows v = told(p);
    const sizes image = {v.b, v.g * v.c, v.h, v.w};
    const sizes weight = {v.g * v.o, v.c, v.p, v.q};
    const sizes result = {v.b, v.g * v.o, v.i, v.j}, one = {1, v.g * v.o, 1, 1};
    p.graph.set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    tensor of[3]; // the one that the op makes: empty
    if (p.op != HAP_OP_conv_transposed) of[0] = operand(p, IMAGE, image, p.type[0]);
    if (p.op != HAP_OP_conv_dw) of[1] = operand(p, WEIGHT, weight, p.type[1]);
    if (p.op != HAP_OP_conv) of[2] = operand(p, RESULT, result, p.type[2]);
    if (p.op == HAP_OP_conv) {
        fe::graph::Conv_fprop_attributes a;
        tensor y = p.graph.conv_fprop(of[0], of[1], moved(a, v));
        if (p.adds) {
            fe::graph::Pointwise_attributes add;
            add.set_mode(fe::PointwiseMode_t::ADD);
            y = p.graph.pointwise(y, operand(p, BIAS, one, p.bias), add);
        }
        if (p.relu) {
            fe::graph::Pointwise_attributes relu;
            relu.set_mode(fe::PointwiseMode_t::RELU_FWD);
            y = p.graph.pointwise(y, relu);
        }
        place(p, y, RESULT, result, p.type[2], true);
    } else if (p.op == HAP_OP_conv_transposed) {
        fe::graph::Conv_dgrad_attributes a;
        tensor y = p.graph.conv_dgrad(of[2], of[1], moved(a, v));
        place(p, y, IMAGE, image, p.type[0], true);
    } else {
        fe::graph::Conv_wgrad_attributes a;
        tensor y = p.graph.conv_wgrad(of[2], of[0], moved(a, v));
        place(p, y, WEIGHT, weight, p.made, true);
    }
    // Tensors in another order, or a narrower type, take a part of the workspace.
    bytes_of t = tensors_of(p), own = bytes_with(p, p.v);
    int64_t most = cuda_conv_room(own.image + own.weight + own.result);
    if (p.last)
        most -= rounded(t.image) + rounded(t.weight) + rounded(t.result);
    else if (beside(p))
        most -= rounded(t.weight);
    bool narrow = p.type[0] != HAP_F32 || p.type[2] != HAP_F32 || x->tf32;
    CUDA_TRY(cudnn_build(what, p.graph, x->cudnn->handle, &p.bytes, [&](fe::graph::Graph &g) {
        g.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
        if (!narrow)
            g.deselect_numeric_notes(
                {fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS});
        g.deselect_workspace_greater_than(most);
    }));
    return nullptr;
}

bool alike(const plan &a, const plan &b)
{
    return a.op == b.op && a.relu == b.relu && a.biased == b.biased && a.bias == b.bias && !memcmp(&a.v, &b.v, sizeof a.v) &&
           !memcmp(a.type, b.type, sizeof a.type);
}

void copy_key(plan *to, const plan &key)
{
    to->v = key.v, to->op = key.op, to->relu = key.relu;
    to->biased = key.biased, to->bias = key.bias;
    memcpy(to->type, key.type, sizeof key.type);
}

// Channels of a group, or a block, of an image that is read, with those of zeros: where the copy
// takes no more of the workspace than the tensors of the call.
int64_t channels_of(const plan &p)
{
    int64_t c = p.v.c * p.blocks * p.blocks, to = (c + 7) / 8 * 8;
    if (!p.last || p.v.g > 1 || p.op == HAP_OP_conv_transposed) return c;
    plan with;
    copy_key(&with, p);
    with.blocks = p.blocks, with.channels = to;
    bytes_of own = bytes_with(p, p.v);
    return p.blocks > 1 || tensors_of(with).image <= own.image + own.result ? to : c;
}

// Whether blocks can be tried: the same bound.
bool can_block(const plan &p)
{
    int64_t s = cuda_blocks_of(&p.v), c = (p.v.c * s * s + 7) / 8 * 8;
    if (!p.last || p.op == HAP_OP_conv_transposed || s == 1) return false;
    bytes_of own = bytes_with(p, p.v), with = bytes_with(p, cuda_blocks_windows(&p.v, c));
    return with.image <= own.image + own.result;
}

std::unique_ptr<plan> plan_with(const plan &key, bool last, bool adds, hap_dtype made,
                                int64_t blocks)
{
    auto p = std::make_unique<plan>();
    copy_key(p.get(), key);
    p->last = last, p->adds = adds, p->made = made, p->blocks = blocks;
    p->channels = channels_of(*p);
    return p;
}

// The first that cuDNN takes: channels last before as declared, with the bias before without, in
// the output's type before a narrower one. Its plan, refused if there is none.
std::unique_ptr<plan> first_taken(cuda_context *x, const plan &key, const char **why)
{
    bool narrow = key.type[0] != HAP_F32 && key.type[2] != HAP_F32;
    bool widens = narrow && key.op == HAP_OP_conv_dw && key.type[1] == HAP_F32;
    auto p = plan_with(key, false, false, key.type[1], 1);
    *why = "not channels last";
    for (int way = 0; way < 8; way++) {
        bool last = !(way & 4), adds = !(way & 2), wider = way & 1;
        if ((last && !narrow) || (adds && (!narrow || !key.biased)) || (wider && !widens) ||
            (key.relu && (!last || adds != key.biased)))
            continue;
        p = plan_with(key, last, adds, wider ? key.type[0] : key.type[1], 1);
        *why = build(*p, x);
        if (!*why) break;
    }
    p->refused = *why != nullptr;
    return p;
}

// What a call reads and writes, and the workspace that is left for cuDNN.
struct places {
    cudnn_pack pack;
    char *work;
};

// t, channels last, with rows of so many channels, zeros behind its own; image or weight: in blocks.
const char *copy_last(cuda_context *x, const plan &p, uid id, const hap_tensor *t, char *to)
{
    bool more = p.channels != p.v.c && id != RESULT;
    if (more && p.blocks > 1)
        return (id == IMAGE ? cuda_blocks_image : cuda_blocks_weight)(x, &p.v, p.channels, to,
                                                                      t->data);
    int64_t channels = more ? p.channels : cuda_last_shape(t).channels;
    cuda_last s = cuda_last_shape(t), lies;
    int64_t elem = hap_dtype_bytes(t->type), rows = s.images * s.places;
    if (channels == s.channels)
        return cuda_turn(x, t->type, to, t->type, t->data, s.images, s.channels, s.places);
    CUDA_CALL(cudaMemsetAsync(to, 0, (size_t)(rows * channels * elem), x->stream));
    if (cuda_lies_last(x, t, &lies) || s.places == 1 || s.channels == 1)
        return cuda_copy_rows(x->stream, t->type, to, channels, t->type, t->data, s.channels, rows,
                              s.channels);
    return cuda_turn_rows(x, t->type, to, channels, t->type, t->data, s.places, s.images,
                          s.channels, s.places);
}

// Channels last: operands that lie so are read where they are, others from copies; an image or a
// result that is made stays so.
const char *lay_last(cuda_context *x, const plan &p, const cuda_conv_tensors *t, places *at,
                     bool *taken)
{
    const uid ids[3] = {IMAGE, WEIGHT, RESULT};
    hap_tensor *of[3] = {t->image, t->weight, t->result};
    int made = p.op == HAP_OP_conv ? 2 : p.op == HAP_OP_conv_dw ? 1 : 0;
    int64_t need[3] = {0}, all = p.bytes;
    const char *why = nullptr;
    if (made != 1) {
        cuda_last shape = cuda_last_shape(of[made]);
        *taken = cuda_may_lie_last(x, of[made], &shape);
        if (!*taken) return nullptr;
    }
    bytes_of all_of = tensors_of(p);
    const int64_t bytes[3] = {all_of.image, all_of.weight, all_of.result};
    bool more = p.channels != p.v.c;
    for (int k = 0; k < 3; k++) {
        bool copied = k == made ? beside(p) : (k < 2 && more) || !cuda_is_last(x, of[k]);
        need[k] = copied ? rounded(bytes[k]) : 0;
        all += need[k];
        cuda_last lies;
        bool declared = p.blocks > 1 && k < 2; // what blocks are made of
        if (k != made && (declared || !(cuda_is_last(x, of[k]) && cuda_lies_last(x, of[k], &lies))))
            CUDA_TRY(cuda_will_read(x, of[k]->data, of[k]->bytes));
    }
    char *work = all ? (char *)cuda_work(x, all, &why) : nullptr;
    if (why) return why;
    for (int k = 0; k < 3; k++) {
        at->pack[ids[k]] = need[k] ? work : of[k]->data;
        cuda_last shape = cuda_last_shape(of[k]);
        if (k != made && need[k])
            CUDA_TRY(copy_last(x, p, ids[k], of[k], work));
        if (k == made && k != 1)
            CUDA_TRY(cuda_lie_last(x, of[k], &shape));
        else if (k == made)
            cuda_will_write(x, of[k]->data, of[k]->bytes);
        work += need[k];
    }
    at->work = work;
    return nullptr;
}

const char *lay_declared(cuda_context *x, const plan &p, const hap_op_call *c,
                         const cuda_conv_tensors *t, places *at)
{
    const char *why = nullptr;
    int64_t need = beside(p) ? rounded(t->weight->bytes) : 0;
    CUDA_TRY(cuda_call_begins(x, c));
    char *work = need + p.bytes ? (char *)cuda_work(x, need + p.bytes, &why) : nullptr;
    if (why) return why;
    at->pack = {{IMAGE, t->image->data},
                {WEIGHT, need ? work : t->weight->data},
                {RESULT, t->result->data}};
    at->work = work + need;
    return nullptr;
}

// The call by this plan; not taken where the result may not lie as the plan writes it.
const char *run(cuda_context *x, const plan &p, const hap_op_call *c, const cuda_conv_tensors *t,
                bool *taken)
{
    const cuda_windows &v = p.v;
    places at;
    *taken = true;
    CUDA_TRY(p.last ? lay_last(x, p, t, &at, taken) : lay_declared(x, p, c, t, &at));
    if (!*taken) return nullptr;
    if (t->bias) CUDA_TRY(cuda_will_read(x, t->bias->data, t->bias->bytes));
    if (p.adds) at.pack[BIAS] = t->bias->data;
    cudnnHandle_t handle = x->cudnn->handle;
    CUDA_TRY(cudnn_said(what, p.engine < 0 ? p.graph.execute(handle, at.pack, at.work)
                                           : p.graph.execute_plan_at_index(handle, at.pack, at.work,
                                                                           p.engine)));
    if (!beside(p)) return nullptr;
    const hap_tensor *w = t->weight;
    if (p.blocks > 1)
        return cuda_blocks_gradient(x, &v, p.channels, w->type, w->data, p.made, at.pack[WEIGHT]);
    if (turns_weight(p)) // from [.., places, channels]
        return cuda_turn_rows(x, w->type, w->data, v.p * v.q, p.made, at.pack[WEIGHT], p.channels,
                              v.g * v.o, v.p * v.q, v.c);
    return cuda_copy_rows(x->stream, w->type, w->data, w->elements, p.made, at.pack[WEIGHT],
                          w->elements, 1, w->elements);
}

// Ms of one of `runs` runs.
const char *time_runs(cuda_context *x, const plan &p, const hap_op_call *c,
                      const cuda_conv_tensors *t, int runs, float *ms)
{
    bool taken;
    CUDA_CALL(cudaEventRecord(x->convs->from, x->stream));
    for (int k = 0; k < runs; k++)
        CUDA_TRY(run(x, p, c, t, &taken));
    CUDA_CALL(cudaEventRecord(x->convs->to, x->stream));
    CUDA_CALL(cudaEventSynchronize(x->convs->to));
    CUDA_CALL(cudaEventElapsedTime(ms, x->convs->from, x->convs->to));
    *ms /= (float)runs;
    return nullptr;
}

// The first that the heuristics of each graph name, in turns on the call's operands, by their
// shortest time; a later one must be 2 % quicker.
const char *choose(cuda_context *x, std::vector<std::unique_ptr<plan>> &ways, const hap_op_call *c,
                   const cuda_conv_tensors *t, size_t *best, int64_t *engine, int *tried)
{
    struct candidate {
        size_t way;
        int64_t engine, bytes;
        float ms;
    };
    std::vector<candidate> all;
    bool taken;
    *tried = 0;
    if (!x->convs->from) {
        CUDA_CALL(cudaEventCreate(&x->convs->from));
        CUDA_CALL(cudaEventCreate(&x->convs->to));
    }
    for (size_t w = 0; w < ways.size(); w++) {
        fe::graph::Graph &g = ways[w]->graph;
        int found = 0;
        for (int64_t i = 0; i < g.get_execution_plan_count() && found < ENGINES; i++) {
            candidate k = {w, i, 0, 1e30f};
            if (g.build_plan_at_index(i).is_bad() ||
                g.get_workspace_size_plan_at_index(i, k.bytes).is_bad())
                continue;
            found++;
            ways[w]->engine = i, ways[w]->bytes = k.bytes;
            if (run(x, *ways[w], c, t, &taken)) continue; // warm
            if (!taken) return nullptr;
            all.push_back(k);
        }
    }
    for (int turn = 0; turn < TURNS && all.size() > 1; turn++)
        for (size_t k = 0; k < all.size(); k++) {
            candidate &o = all[turn % 2 ? all.size() - 1 - k : k];
            float ms;
            ways[o.way]->engine = o.engine, ways[o.way]->bytes = o.bytes;
            CUDA_TRY(time_runs(x, *ways[o.way], c, t, 2, &ms));
            o.ms = std::min(o.ms, ms);
        }
    for (size_t k = 0, quickest = 0; k < all.size(); k++) {
        if (k && all[k].ms >= 0.98f * all[quickest].ms) continue;
        quickest = k, *best = all[k].way;
        *engine = all[k].engine;
    }
    *tried = (int)all.size();
    for (const candidate &o : all)
        if (o.way == *best && o.engine == *engine)
            ways[o.way]->engine = o.engine, ways[o.way]->bytes = o.bytes;
    return nullptr;
}

// The plan of a shape; at its first call the quickest.
const char *plan_of(cuda_context *x, const plan &key, const hap_op_call *c,
                    const cuda_conv_tensors *t, const plan **found)
{
    using clock = std::chrono::steady_clock;
    if (!x->convs) x->convs = new cuda_convs();
    for (auto &p : x->convs->plans)
        if (alike(*p, key)) {
            *found = p.get();
            return nullptr;
        }
    const char *why;
    std::vector<std::unique_ptr<plan>> ways;
    ways.push_back(first_taken(x, key, &why));
    bool tries = x->options.tune == HAP_CUDA_tune_on && !x->capturing && !ways[0]->refused &&
                 x->convs->seconds < SECONDS;
    size_t best = 0;
    int64_t engine = -1;
    int tried = 0;
    if (tries) {
        auto from = clock::now();
        if (can_block(*ways[0])) {
            const plan &p = *ways[0];
            auto more = plan_with(key, p.last, p.adds, p.made, cuda_blocks_of(&key.v));
            if (!build(*more, x)) ways.push_back(std::move(more));
            if (x->options.conv == HAP_CUDA_conv_blocks && ways.size() > 1)
                ways.erase(ways.begin());
        }
        CUDA_TRY(choose(x, ways, c, t, &best, &engine, &tried));
        x->convs->seconds += std::chrono::duration<double>(clock::now() - from).count();
    }
    plan *p = ways[best].get();
    const cuda_windows &v = key.v;
    if (x->verbose)
        fprintf(stderr,
                "%s%s, %lld images, %lld groups of %lld to %lld channels, %lld x %lld: %s%s%s%s, "
                "algorithm %lld, of %d tried, workspace %lld bytes\n",
                hap_op_names[key.op], key.relu ? " and relu" : "", (long long)v.b, (long long)v.g,
                (long long)v.c, (long long)v.o, (long long)v.h, (long long)v.w,
                why ? why : "by cuDNN", p->last ? ", channels last" : "",
                p->adds ? ", with its bias" : "", p->blocks > 1 ? ", in blocks" : "",
                (long long)p->engine, tried, (long long)p->bytes);
    x->made[x->phase].plans++;
    x->convs->plans.push_back(std::move(ways[best]));
    *found = x->convs->plans.back().get();
    return nullptr;
}
} // namespace

extern "C" const char *cuda_cudnn_conv(cuda_context *x, const cuda_windows *v, const hap_op_call *c,
                                       const cuda_conv_tensors *t, bool *taken, bool *added)
{
    *taken = *added = false;
    if (x->options.conv == HAP_CUDA_conv_own) return nullptr;
    x->missed_cudnn |= x->no_cudnn;
    if (!x->cudnn) return nullptr;
    if (!t->image->elements || !t->weight->elements || !t->result->elements) return nullptr;
    plan key;
    key.v = *v, key.op = c->op;
    key.relu = t->relu, key.biased = t->bias != nullptr, key.bias = t->bias ? t->bias->type : HAP_F32;
    key.type[0] = t->image->type, key.type[1] = t->weight->type, key.type[2] = t->result->type;
    const plan *p;
    CUDA_TRY(plan_of(x, key, c, t, &p));
    if (p->refused) return nullptr;
    *added = p->adds;
    return run(x, *p, c, t, taken);
}

extern "C" void cuda_convs_end(cuda_context *x)
{
    if (x->convs && x->convs->from) {
        cudaEventDestroy(x->convs->from);
        cudaEventDestroy(x->convs->to);
    }
    delete x->convs;
    x->convs = nullptr;
}
