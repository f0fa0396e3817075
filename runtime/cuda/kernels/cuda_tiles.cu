// Chains of a matmul and what is done with its result, by a tile kernel (tile_gemm.h): gelu behind
// it; or gelu's gradient, of which the matmul's result is an operand, and the sums of its columns;
// or the product with silu of a gated MLP, or its gradients (cuda_gated.h).
//
// Which way a matmul takes is found at its first call, as cuBLASLt's algorithms are: the calls one
// by one and the kernel's forms, in turns on their operands, and kept. With --cuda tune=off the
// calls. All but the order of sums is as the calls have it: the kernel rounds what they round.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_gated.h"
#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/cuda_multiply_tiles.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/kernels/tile_gemm.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace
{
enum { TURNS = 9, MOST_FORMS = 4 };
constexpr float SAMPLE_MS = 0.3f, WORTH = CUDA_TILES_WORTH / 100.0f;

struct way {
    cuda_gemm p;
    tile_activation activation;
    bool before, sums;
    const tile_shape *shape; // NULL: the calls one by one
    tile_entry *list;
    int entries;
};

// The calls of a chain: a linear, what is done with its result, the sum of that one's columns.
struct chain {
    const hap_op_call *const *c;
    int n;
    unsigned unread;
    const char *what;
    tile_call t;
    const hap_tensor *sum = NULL;
    const cuda_gated *gated = NULL; // what follows the linear has a kernel
};
} // namespace

struct cuda_tiles {
    std::vector<way> ways;
    cudaEvent_t from, to;
    int sms;
};

extern "C" const char *cuda_tiles_start(cuda_context *x)
{
    cuda_tiles *o = x->tiles = new cuda_tiles();
    o->sms = cuda_sms(x);
    CUDA_CALL(cudaEventCreate(&o->from));
    CUDA_CALL(cudaEventCreate(&o->to));
    return NULL;
}

extern "C" void cuda_tiles_end(cuda_context *x)
{
    cuda_tiles *o = x->tiles;
    if (!o) return;
    for (way &w : o->ways)
        if (w.list) cudaFree(w.list);
    if (o->from) cudaEventDestroy(o->from);
    if (o->to) cudaEventDestroy(o->to);
    delete o;
    x->tiles = NULL;
}

namespace
{
// Calls that one kernel runs are about to be run by it.
const char *calls_begin(cuda_context *x, const chain &a, int from)
{
    for (int i = from; i < a.n; i++)
        CUDA_TRY(cuda_call_begins(x, a.c[i]));
    return NULL;
}

// One by one, but for a gradient with its sums, or what a gated MLP makes, which have kernels.
const char *run_calls(cuda_context *x, const chain &a)
{
    bool done = false;
    CUDA_TRY(hap_cuda_run(x, a.c[0]));
    if (a.sum) CUDA_TRY(cuda_slope_chain(x, a.c + 1, 2, a.unread >> 1, &done));
    if (a.gated) {
        CUDA_TRY(calls_begin(x, a, 1));
        return cuda_gated_run(x, a.gated);
    }
    for (int i = 1; i < a.n && !done; i++)
        CUDA_TRY(hap_cuda_run(x, a.c[i]));
    return NULL;
}

const char *run_tiles(cuda_context *x, const chain &a, const way &w)
{
    tile_call t = a.t;
    const int rows = tile_sum_rows(&t);
    column_order order = {ceil_div(t.p.m, rows), rows};
    CUDA_TRY(calls_begin(x, a, 0));
    if (a.sum) {
        const char *why = NULL;
        t.sums = columns_room(x, order.parts * t.p.n, &why);
        if (!t.sums) return why;
    }
    t.list = w.list, t.entries = w.entries, t.sms = x->tiles->sms;
    CUDA_TRY(tile_run(&t, w.shape, x->stream));
    if (!a.sum) return NULL;
    view to = view_of(a.sum);
    return columns_end(x, order, t.p.n, t.sums, 1, &to);
}

const char *run_way(cuda_context *x, const chain &a, const way &w)
{
    return w.shape ? run_tiles(x, a, w) : run_calls(x, a);
}

const char *time_way(cuda_context *x, const chain &a, const way &w, int runs, float *ms)
{
    CUDA_CALL(cudaEventRecord(x->tiles->from, x->stream));
    for (int i = 0; i < runs; i++)
        CUDA_TRY(run_way(x, a, w));
    CUDA_CALL(cudaEventRecord(x->tiles->to, x->stream));
    CUDA_CALL(cudaEventSynchronize(x->tiles->to));
    CUDA_CALL(cudaEventElapsedTime(ms, x->tiles->from, x->tiles->to));
    *ms /= (float)runs;
    return NULL;
}

const char *list_of(cuda_context *x, const cuda_gemm &p, way *w)
{
    std::vector<tile_entry> list(
        (size_t)tile_list(w->shape, p.m, p.n, p.k, x->tiles->sms, {0, 0}, NULL));
    tile_list(w->shape, p.m, p.n, p.k, x->tiles->sms, {0, 0}, list.data());
    w->entries = (int)list.size();
    CUDA_CALL(cudaMalloc(&w->list, list.size() * sizeof list[0]));
    x->made[x->phase].allocations++;
    CUDA_CALL(cudaMemcpyAsync(w->list, list.data(), list.size() * sizeof list[0],
                              cudaMemcpyHostToDevice, x->stream));
    CUDA_CALL(cudaStreamSynchronize(x->stream));
    return NULL;
}

// In turns, there and back, so that none finds the device cooler than another: medians.
const char *choose_by_time(cuda_context *x, const chain &a, std::vector<way> &all, size_t *best)
{
    std::vector<float> ms[MOST_FORMS + 1];
    float once;
    for (const way &w : all) // warm
        CUDA_TRY(run_way(x, a, w));
    CUDA_TRY(time_way(x, a, all[0], 1, &once));
    const int runs = std::min(8, (int)(SAMPLE_MS / (once + 1e-6f)) + 1);
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < all.size(); i++) {
            const size_t k = turn % 2 ? all.size() - 1 - i : i;
            ms[k].push_back(0);
            CUDA_TRY(time_way(x, a, all[k], runs, &ms[k].back()));
        }
    for (size_t k = 0; k < all.size(); k++)
        std::sort(ms[k].begin(), ms[k].end());
    *best = 0;
    for (size_t k = 1; k < all.size(); k++)
        if (ms[k][TURNS / 2] < (all[*best].shape ? 1 : WORTH) * ms[*best][TURNS / 2]) *best = k;
    if (x->verbose)
        fprintf(stderr, "a matmul of %lld x %lld x %lld and its %s: %.4f ms, by %s %.4f ms\n",
                (long long)a.t.p.m, (long long)a.t.p.n, (long long)a.t.p.k,
                a.what, (double)ms[0][TURNS / 2],
                all[*best].shape ? all[*best].shape->name : "the calls", (double)ms[*best][TURNS / 2]);
    return cuda_columns_settle(x);
}

const char *choose(cuda_context *x, const chain &a, way *chosen)
{
    tile_way form[TILE_SHAPES];
    std::vector<way> all;
    size_t best = 0;
    const char *why = NULL;
    const cuda_gemm &p = a.t.p;
    if (x->options.tiles == HAP_CUDA_tiles_on) all.push_back(*chosen); // the calls
    const int n = tile_ways(p.m, p.n, p.k, x->tiles->sms, false, TILE_SHAPES, form);
    for (int i = 0; i < n && all.size() <= MOST_FORMS && !why; i++) {
        if (form[i].shape->parts != 1) continue;
        all.push_back(*chosen);
        all.back().shape = form[i].shape;
        why = list_of(x, p, &all.back());
    }
    if (!why) why = choose_by_time(x, a, all, &best);
    for (size_t k = 0; k < all.size(); k++)
        if ((k != best || why) && all[k].list) cudaFree(all[k].list);
    if (!why) *chosen = all[best];
    return why;
}

bool same_way(const way &w, const chain &a)
{
    return cuda_same_gemm(&w.p, &a.t.p) && w.activation == a.t.activation &&
           w.before == (a.t.before != NULL) && w.sums == (a.sum != NULL);
}

// A linear of operands and a result that lie as the kernel wants them; y: the chain's result.
bool takes(cuda_context *x, chain *a, const hap_tensor *y)
{
    const hap_op_call *linear = a->c[0];
    const hap_tensor *from = linear->in[0], *w = linear->in[1], *t = linear->out[0];
    const hap_tensor *bias = linear->n_in > 2 ? linear->in[2] : NULL;
    const bool nk = linear->attr[0].i == 1;
    const int64_t rows = cuda_entries(from, 0, from->rank - 1), k = from->local[from->rank - 1];
    const int64_t n = w->local[nk ? 0 : 1];
    if (x->options.tiles == HAP_CUDA_tiles_off || !x->dense) return false;
    if (w->type != from->type || t->type != from->type || y->type != t->type ||
        t->elements != rows * n || y->elements != rows * n || (bias && bias->elements != n) ||
        w->local[nk ? 1 : 0] != k)
        return false;
    a->t.p = cuda_gemm_of(rows, n, k, false, nk, from->type, y->type);
    a->t.p.has_bias = bias != NULL;
    if (bias) a->t.p.bias_type = bias->type;
    a->t.a = from->data, a->t.b = w->data, a->t.bias = bias ? bias->data : NULL;
    a->t.y = y->data;
    return (double)rows * (double)n * (double)k >= CUDA_TILE_MIN && !tile_why_not(&a->t);
}

const char *run_chain(cuda_context *x, chain *a, const hap_tensor *y)
{
    cuda_tiles *o = x->tiles;
    if (!takes(x, a, y)) return run_calls(x, *a);
    for (const way &w : o->ways)
        if (same_way(w, *a)) return run_way(x, *a, w);
    way w = {a->t.p, a->t.activation, a->t.before != NULL, a->sum != NULL, NULL, NULL, 0};
    if (x->options.tune == HAP_CUDA_tune_on && !x->capturing) CUDA_TRY(choose(x, *a, &w));
    o->ways.push_back(w);
    x->made[x->phase].plans++;
    return run_way(x, *a, w);
}
} // namespace

extern "C" const char *cuda_gelu_chain(cuda_context *x, const hap_op_call *const *c, int n,
                                       unsigned unread, bool *done)
{
    chain a = {c, n, unread, "gelu", {}};
    *done = true;
    a.t.activation = c[1]->attr[0].i ? TILE_GELU_TANH : TILE_GELU_ERF;
    if (!(unread & 1)) a.t.before = c[0]->out[0]->data;
    return run_chain(x, &a, c[1]->out[0]);
}

extern "C" const char *cuda_dense_slope_chain(cuda_context *x, const hap_op_call *const *c, int n,
                                              unsigned unread, bool *done)
{
    chain a = {c, n, unread, "gradient of gelu", {}};
    const hap_tensor *at = c[1]->in[1];
    *done = true;
    if (n == 3) a.sum = c[2]->out[0];
    if (!(unread & 1) || at->type != c[1]->out[0]->type ||
        at->elements != c[1]->out[0]->elements)
        return run_calls(x, a);
    a.t.activation = c[1]->attr[0].i ? TILE_GELU_TANH_SLOPE : TILE_GELU_ERF_SLOPE;
    a.t.with = at->data;
    return run_chain(x, &a, c[1]->out[0]);
}

// The linear's result is an operand of silu's product, which others may read, or the gradient of
// that product, which none may.
extern "C" const char *cuda_gated_chain(cuda_context *x, const hap_op_call *const *c, int n,
                                        unsigned unread, bool *done)
{
    cuda_gated g;
    const hap_tensor *t = c[0]->out[0];
    *done = cuda_gated_of(c + 1, n - 1, &g) && (unread >> 1 & g.passing) == g.passing &&
            cuda_gated_takes(&g);
    if (!*done) return NULL;
    const bool gates = !g.dy && t->data == g.gate->data;
    chain a = {c, n, unread, g.dy ? "gradients of silu's product" : "product with silu", {}};
    a.gated = &g;
    if (g.dy) {
        a.t.activation = TILE_GATED_SLOPES;
        a.t.with = g.gate->data, a.t.with2 = g.up->data, a.t.before = g.dup->data;
    } else {
        a.t.activation = gates ? TILE_SILU_TIMES : TILE_TIMES_SILU;
        a.t.with = (gates ? g.up : g.gate)->data;
        if (!(unread & 1)) a.t.before = t->data;
    }
    const hap_tensor *of = g.dy ? g.dy : gates ? g.gate : g.up;
    if (of->data != t->data || (g.dy && !(unread & 1))) return run_calls(x, a);
    return run_chain(x, &a, g.dy ? g.dgate : g.y);
}
