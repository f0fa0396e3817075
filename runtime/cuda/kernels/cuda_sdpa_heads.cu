// The gradient of attention, a query head a block: which heads, what they want beside the kernel of
// cuda_sdpa_heads.cuh, and its launch.

#include <cstring>

#include "cuda/device/cuda_driver.h"
#include "cuda/device/cuda_room.h"
#include "cuda/kernels/cuda_head_split.h"
#include "cuda/kernels/cuda_sdpa_heads.cuh"
#include "cuda/kernels/cuda_sdpa_heads.h"

namespace
{
// lse to the base 2 and the sum of dy y of each query; of those behind the last, p is 0. A row is
// for W / 8 lanes.
template <int W>
__global__ void head_stats(head_args o, const uint16_t *dy, const uint16_t *y, const float *lse,
                           int rows, float *to)
{
    constexpr int LANES = W / 8, Q = form<W>::QUERIES;
    const int64_t at = (int64_t)blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
    const int head = (int)(at / rows), i = (int)(at % rows), c = (int)threadIdx.x % LANES * 8;
    const int b = head / o.heads, h = head % o.heads;
    const bool there = head < o.all && i < o.n_q;
    float s = 0;
    if (there) {
        const cuda_head_at &from = o.at[CUDA_DY], &with = o.at[CUDA_Y];
        const uint4 u = *(const uint4 *)(dy + b * from.b + h * from.h + i * from.s + c),
                    w = *(const uint4 *)(y + b * with.b + h * with.h + i * with.s + c);
        const uint32_t us[4] = {u.x, u.y, u.z, u.w}, ws[4] = {w.x, w.y, w.z, w.w};
        for (int e = 0; e < 4; e++)
            s += low_of(us[e]) * low_of(ws[e]) + high_of(us[e]) * high_of(ws[e]);
    }
    for (int n = 1; n < LANES; n *= 2)
        s += __shfl_xor_sync(0xFFFFFFFFu, s, n);
    if (head >= o.all || c > 0) return;
    float *mine = to + ((int64_t)head * (rows / Q) + i / Q) * 2 * Q + i % Q;
    mine[0] = there ? lse[(int64_t)head * o.n_q + i] * 1.4426950408889634f : INFINITY;
    mine[Q] = s;
}

// dk and dv of the heads that share keys, added in order.
template <int W> __global__ void add_heads(head_args o)
{
    const int64_t at = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    const int64_t each = (int64_t)o.n_k * W, n = each * (o.all / o.group);
    if (at >= 2 * n) return;
    const int role = at < n ? CUDA_DK : CUDA_DV, hk = (int)(at % n / each),
              heads = o.heads / o.group;
    const int row = (int)(at % each / W), c = (int)(at % W);
    const float *from =
        o.parts + (role == CUDA_DK ? 0 : each * o.all) + hk * o.group * each + at % each;
    float4 s = *(const float4 *)from;
    for (int i = 1; i < o.group; i++) {
        const float4 x = *(const float4 *)(from + i * each);
        s.x += x.x, s.y += x.y, s.z += x.z, s.w += x.w;
    }
    const cuda_head_at &to = o.at[role];
    uint16_t *y = (uint16_t *)(role == CUDA_DK ? o.dk : o.dv) + hk / heads * to.b +
                  hk % heads * to.h + row * to.s + c;
    *(uint2 *)y = make_uint2(pack_bf16(s.x, s.y), pack_bf16(s.z, s.w));
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

struct head_room {
    int64_t stats, sums, parts; // floats
    int64_t bytes() const { return (stats + sums + parts) * (int64_t)sizeof(float); }
};

int64_t blocks_of(const cuda_context *x, const cuda_heads *h)
{
    int64_t all = h->b * h->hq, sms = cuda_sms(x);
    return all < sms ? all : sms;
}

head_room room_of(const cuda_context *x, const cuda_heads *h)
{
    int64_t at_once = h->e == 64 ? form<64>::QUERIES : form<128>::QUERIES;
    int64_t rows = ceil_div(h->q, at_once) * at_once;
    return {2 * h->b * h->hq * rows, blocks_of(x, h) * rows * h->e,
            h->hq == h->hk ? 0 : 2 * h->b * h->hq * h->k * h->e};
}

template <int W>
const char *run(cuda_context *x, const cuda_heads *h, const cuda_head_grads *g, head_args *o,
                float *stats)
{
    using F = form<W>;
    const int rows = (int)(ceil_div(h->q, F::QUERIES) * F::QUERIES);
    CUDA_TRY(map_heads(&o->q, g->q, h->b, h->hq, h->q, W, o->at[CUDA_Q], F::QUERIES));
    CUDA_TRY(map_heads(&o->dy, g->dout, h->b, h->hq, h->q, W, o->at[CUDA_DY], F::QUERIES));
    CUDA_TRY(map_heads(&o->k, g->k, h->b, h->hk, h->k, W, o->at[CUDA_K], KEYS));
    CUDA_TRY(map_heads(&o->v, g->v, h->b, h->hk, h->k, W, o->at[CUDA_V], KEYS));
    head_stats<W><<<(unsigned)ceil_div((int64_t)o->all * rows * (W / 8), 256), 256, 0, x->stream>>>(
        *o, (const uint16_t *)g->dout, (const uint16_t *)g->o, (const float *)g->lse, rows, stats);
    CUDA_TRY(launched());
    CUDA_CALL(cudaFuncSetAttribute(head_grads<W>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   F::SHARED));
    head_grads<W><<<(unsigned)blocks_of(x, h), THREADS, F::SHARED, x->stream>>>(*o);
    CUDA_TRY(launched());
    if (!o->parts) return NULL;
    add_heads<W><<<(unsigned)ceil_div(h->b * h->hk * h->k * W / 2, 256), 256, 0, x->stream>>>(*o);
    return launched();
}

int major_of_device()
{
    int device, major = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        return 0;
    return major;
}
} // namespace

extern "C" bool cuda_heads_takes(const cuda_context *x, const cuda_heads *h)
{
    const int64_t all = h->b * h->hq;
    const int way = x->options.attention;
    if (way != HAP_CUDA_attention_on && way != HAP_CUDA_attention_heads) return false;
    if (h->type != HAP_BF16 || h->e != h->d || (h->e != 64 && h->e != 128) || h->q < 1 ||
        h->k < 1 || h->q > INT32_MAX / 2 || h->k > INT32_MAX / 2 || all > INT32_MAX ||
        major_of_device() != 9)
        return false;
    if (h->causal && h->bottom && h->q > h->k) return false;
    if (way == HAP_CUDA_attention_heads) return true;
    // What the planner counts is what cuDNN's calls take.
    cuda_head_split split = cuda_heads_at_once(h->b, h->hk, h->hq / h->hk, h->q, h->k);
    int64_t scores = cuda_to_tiles(h->q, CUDA_HEAD_ROWS) * cuda_to_tiles(h->k, CUDA_HEAD_KEYS) * 2;
    if (room_of(x, h).bytes() >
        split.b * split.hk * (h->hq / h->hk) * (split.ordered ? scores : h->q * h->e * 4))
        return false;
    // Blocks without a head in the last round idle.
    int64_t sms = cuda_sms(x), rounds = ceil_div(all, sms);
    return h->q >= KEYS && h->k >= KEYS && 100 * all >= CUDA_HEADS_BUSY * rounds * sms;
}

extern "C" const char *cuda_heads_backward(cuda_context *x, const cuda_heads *h,
                                           const cuda_head_grads *g)
{
    const char *why = NULL;
    const head_room room = room_of(x, h);
    float *stats = (float *)cuda_work(x, room.bytes(), &why);
    if (!stats) return why;
    head_args o = {};
    memcpy(o.at, h->at, sizeof o.at);
    o.dq = g->dq, o.dk = g->dk, o.dv = g->dv;
    o.stats = stats, o.sums = stats + room.stats;
    o.parts = room.parts ? o.sums + room.sums : NULL;
    o.heads = (int)h->hq, o.group = (int)(h->hq / h->hk), o.all = (int)(h->b * h->hq);
    o.n_q = (int)h->q, o.n_k = (int)h->k, o.causal = h->causal, o.scale = h->scale;
    o.behind = h->bottom ? (int)(h->k - h->q) : 0;
    return h->e == 64 ? run<64>(x, h, g, &o, stats) : run<128>(x, h, g, &o, stats);
}
