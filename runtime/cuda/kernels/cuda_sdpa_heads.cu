// The gradient of attention by heads: which heads, in which way, what they want beside the kernel of
// cuda_sdpa_heads.cuh, and its launch.

#include <algorithm>
#include <cstring>

#include "cuda/device/cuda_driver.h"
#include "cuda/device/cuda_room.h"
#include "cuda/kernels/cuda_head_split.h"
#include "cuda/kernels/cuda_sdpa_heads.cuh"
#include "cuda/kernels/cuda_sdpa_heads.h"

namespace
{
enum { STATS_THREADS = 256, ADD_THREADS = 256 };

// lse to the base 2 and the sum of dy y of each query; of those behind the last, p is 0. A block
// has the queries of one step, a row for W / 8 lanes, a thread some rows at once. Nothing is taken
// or added yet.
template <int W>
__global__ void __launch_bounds__(STATS_THREADS)
    head_stats(head_args o, const uint16_t *dy, const uint16_t *y, const float *lse, float *to)
{
    constexpr int LANES = W / 8, Q = form<W>::QUERIES, APART = STATS_THREADS / LANES;
    const int head = (int)blockIdx.x, step = (int)blockIdx.y, c = (int)threadIdx.x % LANES * 8;
    const int first = (int)threadIdx.x / LANES, b = head / o.heads, h = head % o.heads;
    const cuda_head_at &from = o.at[CUDA_DY], &with = o.at[CUDA_Y];
    uint4 u[Q / APART], w[Q / APART];
    dy += b * from.b + h * from.h + c, y += b * with.b + h * with.h + c;
#pragma unroll
    for (int r = 0; r < Q / APART; r++) {
        const int i = step * Q + first + r * APART;
        u[r] = w[r] = make_uint4(0, 0, 0, 0);
        if (i >= o.n_q) continue;
        u[r] = *(const uint4 *)(dy + i * from.s), w[r] = *(const uint4 *)(y + i * with.s);
    }
    const int64_t at = (int64_t)head * gridDim.y + step;
#pragma unroll
    for (int r = 0; r < Q / APART; r++) {
        const uint32_t us[4] = {u[r].x, u[r].y, u[r].z, u[r].w},
                       ws[4] = {w[r].x, w[r].y, w[r].z, w[r].w};
        float s = 0;
        for (int e = 0; e < 4; e++)
            s += low_of(us[e]) * low_of(ws[e]) + high_of(us[e]) * high_of(ws[e]);
        for (int n = 1; n < LANES; n *= 2)
            s += __shfl_xor_sync(0xFFFFFFFFu, s, n);
        if (c > 0) continue;
        const int row = first + r * APART, i = step * Q + row;
        float *mine = to + at * 2 * Q + row;
        mine[0] = i < o.n_q ? lse[(int64_t)head * o.n_q + i] * 1.4426950408889634f : INFINITY;
        mine[Q] = s;
    }
    if (threadIdx.x > 0) return;
    if (at == 0) *o.taken = 0;
    if (o.adds) o.adds[at] = 0;
}

// dk and dv of the heads that share keys, added in order. Blocks: [heads of keys, rows, dk or dv].
template <int W> __global__ void __launch_bounds__(ADD_THREADS) add_heads(head_args o)
{
    const int hk = (int)blockIdx.x, heads = o.heads / o.group, which = (int)blockIdx.z;
    const int64_t at = ((int64_t)blockIdx.y * ADD_THREADS + threadIdx.x) * 8;
    const int64_t each = (int64_t)o.n_k * W, row = at / W;
    if (at >= each) return;
    const cuda_head_at &to = o.at[which ? CUDA_DV : CUDA_DK];
    uint16_t *y = (uint16_t *)(which ? o.dv : o.dk) + hk / heads * to.b + hk % heads * to.h +
                  row * to.s + at % W;
    const uint16_t *from = o.parts + ((int64_t)which * o.all + hk * o.group) * each + at;
    float s[8] = {};
    for (int i = 0; i < o.group; i++) {
        const uint4 x = *(const uint4 *)(from + i * each);
        const uint32_t pair[4] = {x.x, x.y, x.z, x.w};
        for (int e = 0; e < 4; e++)
            s[2 * e] += low_of(pair[e]), s[2 * e + 1] += high_of(pair[e]);
    }
    // All at once: of a plain store the compiler makes four here.
    __stwb((uint4 *)y, make_uint4(pack_bf16(s[0], s[1]), pack_bf16(s[2], s[3]),
                                  pack_bf16(s[4], s[5]), pack_bf16(s[6], s[7])));
}

const char *map_heads(CUtensorMap *map, const void *p, int64_t b, int64_t heads, int64_t rows,
                      int width, const cuda_head_at &at, int box_rows)
{
    const char *why = NULL;
    const cuda_driver *d = cuda_driver_get(&why);
    if (!d) return why;
    cuuint64_t size[4] = {(cuuint64_t)width, (cuuint64_t)rows, (cuuint64_t)heads, (cuuint64_t)b};
    cuuint64_t stride[3] = {(cuuint64_t)at.s * 2, (cuuint64_t)at.h * 2, (cuuint64_t)at.b * 2};
    for (int i = 0; i < 3; i++) // of an extent of 1 it may be anything
        if (size[i + 1] == 1) stride[i] = (cuuint64_t)width * 2;
    cuuint32_t box[4] = {64, (cuuint32_t)box_rows, 1, 1}, step[4] = {1, 1, 1, 1};
    CUresult e = d->cuTensorMapEncodeTiled_(
        map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, const_cast<void *>(p), size, stride, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return cuda_driver_said(d, e, "cuTensorMapEncodeTiled");
}

int of_device(cudaDeviceAttr which)
{
    int device, value = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&value, which, device) != cudaSuccess)
        return 0;
    return value;
}

struct head_way {
    bool shares;  // blocks share heads
    int together; // heads that share keys and that a block takes at once
};

int64_t turns_of(const cuda_heads *h, head_way w)
{
    return h->b * h->hq / w.together * (w.shares ? ceil_div(h->k, KEYS) : 1);
}

bool busy(const cuda_context *x, int64_t turns)
{
    const int64_t sms = cuda_sms(x), rounds = ceil_div(turns, sms);
    return 100 * turns >= CUDA_HEADS_BUSY * rounds * sms;
}

// Blocks share heads where some would have none in the last round, and where the sums of all do not
// fit the second level of caches. They take those that share keys together where that leaves each
// block some turns, and of long sequences, as dk and dv of each would be a large workspace.
head_way way_of(const cuda_context *x, const cuda_heads *h, bool ordered)
{
    const int group = (int)(h->hq / h->hk);
    const int64_t sms = cuda_sms(x), sums = std::min(h->b * h->hq, sms) * h->q * h->e * 4;
    const head_way whole = {false, 1}, shared = {true, 1}, together = {true, group};
    if (x->options.attention == HAP_CUDA_attention_heads || h->k <= KEYS) return whole;
    if (x->options.attention == HAP_CUDA_attention_shared) return shared;
    if (x->options.attention == HAP_CUDA_attention_together) return together;
    if (!ordered || (group > 1 && turns_of(h, together) >= CUDA_HEADS_TURNS * sms)) return together;
    return !busy(x, h->b * h->hq) || sums > of_device(cudaDevAttrL2CacheSize) ? shared : whole;
}

cuda_head_split split_of(const cuda_heads *h)
{
    return cuda_heads_at_once(h->b, h->hk, h->hq / h->hk, h->q, h->k);
}

struct head_room {
    int64_t stats, sums, parts, adds; // words
    int64_t bytes() const { return (stats + sums + parts + adds + 1) * (int64_t)sizeof(float); }
};

int64_t blocks_of(const cuda_context *x, const cuda_heads *h, head_way w)
{
    return std::min(turns_of(h, w), (int64_t)cuda_sms(x));
}

head_room room_of(const cuda_context *x, const cuda_heads *h, head_way w)
{
    const int64_t at_once = h->e == 64 ? form<64>::QUERIES : form<128>::QUERIES;
    const int64_t rows = ceil_div(h->q, at_once) * at_once, all = h->b * h->hq;
    return {2 * all * rows, (w.shares ? all : blocks_of(x, h, w)) * rows * h->e,
            w.together == h->hq / h->hk ? 0 : all * h->k * h->e, // two of 16 bits a word
            w.shares ? all * (rows / at_once) : 0};
}

template <int W>
const char *run(cuda_context *x, const cuda_heads *h, const cuda_head_grads *g, head_args *o,
                float *stats, unsigned blocks)
{
    using F = form<W>;
    CUDA_TRY(map_heads(&o->q, g->q, h->b, h->hq, h->q, W, o->at[CUDA_Q], F::QUERIES));
    CUDA_TRY(map_heads(&o->dy, g->dout, h->b, h->hq, h->q, W, o->at[CUDA_DY], F::QUERIES));
    CUDA_TRY(map_heads(&o->k, g->k, h->b, h->hk, h->k, W, o->at[CUDA_K], KEYS));
    CUDA_TRY(map_heads(&o->v, g->v, h->b, h->hk, h->k, W, o->at[CUDA_V], KEYS));
    const dim3 steps((unsigned)o->all, (unsigned)ceil_div(h->q, F::QUERIES));
    head_stats<W><<<steps, STATS_THREADS, 0, x->stream>>>(
        *o, (const uint16_t *)g->dout, (const uint16_t *)g->o, (const float *)g->lse, stats);
    CUDA_TRY(launched());
    CUDA_CALL(cudaFuncSetAttribute(head_grads<W>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   F::SHARED));
    head_grads<W><<<blocks, THREADS, F::SHARED, x->stream>>>(*o);
    CUDA_TRY(launched());
    if (!o->parts) return NULL;
    const dim3 keys((unsigned)(h->b * h->hk), (unsigned)ceil_div(h->k * W / 8, ADD_THREADS), 2);
    add_heads<W><<<keys, ADD_THREADS, 0, x->stream>>>(*o);
    return launched();
}
} // namespace

extern "C" bool cuda_heads_takes(const cuda_context *x, const cuda_heads *h)
{
    const int64_t all = h->b * h->hq;
    const int asked = x->options.attention;
    const bool forced = asked == HAP_CUDA_attention_heads || asked == HAP_CUDA_attention_shared ||
                        asked == HAP_CUDA_attention_together;
    if (asked != HAP_CUDA_attention_on && !forced) return false;
    if (h->type != HAP_BF16 || h->e != h->d || (h->e != 64 && h->e != 128) || h->q < 1 ||
        h->k < 1 || h->q > INT32_MAX / 2 || h->k > INT32_MAX / 2 ||
        all * ceil_div(h->k, KEYS) > INT32_MAX ||
        of_device(cudaDevAttrComputeCapabilityMajor) != 9)
        return false;
    if (h->causal && h->bottom && h->q > h->k) return false;
    if (forced) return true;
    // The planner counts what cuDNN's calls take, and of long sequences cuda_heads_room as well.
    const cuda_head_split split = split_of(h);
    const head_way w = way_of(x, h, split.ordered);
    const int64_t scores =
        cuda_to_tiles(h->q, CUDA_HEAD_ROWS) * cuda_to_tiles(h->k, CUDA_HEAD_KEYS) * 2;
    const int64_t counted = split.ordered ? split.b * split.hk * (h->hq / h->hk) * scores
                                          : cuda_heads_room(all, h->q, h->e);
    return h->q >= KEYS && h->k >= KEYS && room_of(x, h, w).bytes() <= counted &&
           (!split.ordered || busy(x, turns_of(h, w)));
}

extern "C" const char *cuda_heads_backward(cuda_context *x, const cuda_heads *h,
                                           const cuda_head_grads *g)
{
    const char *why = NULL;
    const head_way w = way_of(x, h, split_of(h).ordered);
    const head_room room = room_of(x, h, w);
    float *stats = (float *)cuda_work(x, room.bytes(), &why);
    if (!stats) return why;
    head_args o = {};
    memcpy(o.at, h->at, sizeof o.at);
    o.dq = g->dq, o.dk = g->dk, o.dv = g->dv;
    o.stats = stats, o.sums = stats + room.stats;
    o.parts = room.parts ? (uint16_t *)(o.sums + room.sums) : NULL;
    o.taken = (uint32_t *)(o.sums + room.sums + room.parts);
    o.adds = room.adds ? o.taken + 1 : NULL;
    o.heads = (int)h->hq, o.group = (int)(h->hq / h->hk), o.all = (int)(h->b * h->hq);
    o.n_q = (int)h->q, o.n_k = (int)h->k, o.causal = h->causal, o.scale = h->scale;
    o.behind = h->bottom ? (int)(h->k - h->q) : 0;
    o.together = w.together;
    const unsigned blocks = (unsigned)blocks_of(x, h, w);
    return h->e == 64 ? run<64>(x, h, g, &o, stats, blocks)
                      : run<128>(x, h, g, &o, stats, blocks);
}
