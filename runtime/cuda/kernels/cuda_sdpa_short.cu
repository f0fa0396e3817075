// The gradient of attention over at most 128 positions of heads 64 wide, bf16 or f16, without mask
// and dropout: a block has all of a head in shared memory, so that every matmul is made once and
// nothing is added up in memory. cuDNN's kernels for long sequences leave half of their time there.
//
// A warp has 16 keys. By 32 queries at a time it makes s' = k q' and dp' = v dy' on the tensor
// cores, p' = exp(s' - lse) and ds' = p' (dp' - dot), and adds to dv = p' dy and dk = ds' q: what
// it made is the operand as it lies in the registers. ds' goes to shared memory; once all are done,
// the warp makes dq = ds k for 16 queries. p and ds are rounded to 16 bits, sums are f32.

#include <cstring>

#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_sdpa_short.h"

namespace
{
enum { LONGEST = 128, WIDE = 64, WARPS = 8, STEP = 32, ROW = 16 };    // ROW: rows of a warp's tiles
enum { MATRIX = LONGEST * WIDE * 2, SQUARE = LONGEST * LONGEST * 2 }; // bytes
enum { SHARED = 4 * MATRIX + SQUARE + 2 * LONGEST * 4 };

struct short_args {
    cuda_head_at at[CUDA_HEAD_ROLES];
    const void *dy, *q, *k, *v, *y;
    const float *lse;
    void *dq, *dk, *dv;
    float *sums; // of the rows of dq, dk, dv, [samples, 3, heads, 64]; may be nothing
    int heads, n_q, n_k;
    bool causal;
    float scale;
};

// Where chunk c (16 bytes) of row r lies: the chunks of 8 rows that a matrix load takes are in
// different banks.
__device__ inline uint32_t spot(int r, int c, int chunks)
{
    return (uint32_t)(r * chunks + (c ^ (r & 7))) * 16;
}

__device__ inline void load4(uint32_t (&d)[4], uint32_t at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(at));
}

__device__ inline void load4_turned(uint32_t (&d)[4], uint32_t at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(at));
}

// c[16, 8] += a[16, 16] b[16, 8]
template <bool BF16>
__device__ inline void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    if constexpr (BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <bool BF16> __device__ inline uint32_t pack(float a, float b)
{
    if constexpr (BF16) {
        __nv_bfloat162 h = __floats2bfloat162_rn(a, b);
        return *(uint32_t *)&h;
    } else {
        __half2 h = __floats2half2_rn(a, b);
        return *(uint32_t *)&h;
    }
}

template <bool BF16> __device__ inline float2 unpack(uint32_t w)
{
    if constexpr (BF16)
        return make_float2(__uint_as_float(w << 16), __uint_as_float(w & 0xFFFF0000u));
    else
        return __half22float2(*(const __half2 *)&w);
}

__device__ inline void copy_async(uint32_t to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(there ? 16 : 0));
}

__device__ inline const uint4 *chunk_of(const void *x, const cuda_head_at &at, int b, int h, int r,
                                        int c)
{
    return (const uint4 *)((const uint16_t *)x + b * at.b + h * at.h + r * at.s + c * 8);
}

// Of s[j], for columns 8 j + 2 t and the next of this lane's rows, the sums over the warp's rows:
// lane 4 g + t gets those of j = g. Each round sends half of what is left to the other half.
__device__ inline float2 over_rows(float2 (&s)[8])
{
    int g = threadIdx.x / 4;
#pragma unroll
    for (int n = 4; n > 0; n /= 2) {
        bool upper = g & n;
#pragma unroll
        for (int j = 0; j < n; j++) {
            float2 own = upper ? s[j + n] : s[j], other = upper ? s[j] : s[j + n];
            s[j].x = own.x + __shfl_xor_sync(0xFFFFFFFFu, other.x, 4 * n);
            s[j].y = own.y + __shfl_xor_sync(0xFFFFFFFFu, other.y, 4 * n);
        }
    }
    return s[0];
}

// A warp's 16 rows of a result, from its accumulators by way of its own rows of `stage`. Returns
// their sums, as stored, in two columns: lane 4 g + t has columns 8 g + 2 t and the next.
template <bool BF16>
__device__ inline float2 leave(const float (&acc)[8][4], float scale, char *stage, int row, int n,
                               void *out, const cuda_head_at &at, int b, int h, bool sums)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    float2 s[8];
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 8; j++) {
        uint32_t upper = pack<BF16>(acc[j][0] * scale, acc[j][1] * scale),
                 lower = pack<BF16>(acc[j][2] * scale, acc[j][3] * scale);
        *(uint32_t *)(stage + spot(row + g, j, 8) + t * 4) = upper;
        *(uint32_t *)(stage + spot(row + g + 8, j, 8) + t * 4) = lower;
        float2 u = unpack<BF16>(upper), w = unpack<BF16>(lower);
        s[j] = {u.x + w.x, u.y + w.y};
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int r = row + i * 4 + lane / 8, c = lane % 8;
        if (r < n)
            *(uint4 *)chunk_of(out, at, b, h, r, c) = *(const uint4 *)(stage + spot(r, c, 8));
    }
    return sums ? over_rows(s) : make_float2(0, 0);
}

template <bool BF16>
__global__ __launch_bounds__(32 * WARPS,
                             2) void short_backward(const __grid_constant__ short_args o)
{
    extern __shared__ __align__(128) char held[];
    char *const sq = held, *const sk = sq + MATRIX, *const sv = sk + MATRIX,
                *const sdy = sv + MATRIX, *const sds = sdy + MATRIX;
    float *const lse = (float *)(sds + SQUARE), *const dot = lse + LONGEST;
    uint32_t base = (uint32_t)__cvta_generic_to_shared(held);
    uint32_t aq = base, ak = aq + MATRIX, av = ak + MATRIX, ady = av + MATRIX, ads = ady + MATRIX;
    int b = blockIdx.x / o.heads, h = blockIdx.x % o.heads;
    int lane = threadIdx.x, warp = threadIdx.y, thread = warp * 32 + lane, g = lane / 4,
        t = lane % 4;
    const float to_base_2 = 1.4426950408889634f, scale = o.scale * to_base_2;

    // Rows beyond the last are zeros.
    uint4 y[4], dy[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int at = thread + i * 32 * WARPS, r = at / 8, c = at % 8;
        bool is_q = r < o.n_q, is_k = r < o.n_k;
        int rq = is_q ? r : 0, rk = is_k ? r : 0;
        copy_async(aq + spot(r, c, 8), chunk_of(o.q, o.at[CUDA_Q], b, h, rq, c), is_q);
        copy_async(ak + spot(r, c, 8), chunk_of(o.k, o.at[CUDA_K], b, h, rk, c), is_k);
        copy_async(av + spot(r, c, 8), chunk_of(o.v, o.at[CUDA_V], b, h, rk, c), is_k);
        y[i] = dy[i] = make_uint4(0, 0, 0, 0);
        if (!is_q) continue;
        dy[i] = *chunk_of(o.dy, o.at[CUDA_DY], b, h, r, c);
        y[i] = *chunk_of(o.y, o.at[CUDA_Y], b, h, r, c);
    }
    asm volatile("cp.async.commit_group;");
    if (thread < LONGEST) { // without keys, or no query: p = 0
        float l = thread < o.n_q ? o.lse[(int64_t)blockIdx.x * o.n_q + thread] : -INFINITY;
        lse[thread] = l == -INFINITY ? INFINITY : l * to_base_2;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int at = thread + i * 32 * WARPS, r = at / 8, c = at % 8;
        const uint32_t u[4] = {y[i].x, y[i].y, y[i].z, y[i].w},
                       w[4] = {dy[i].x, dy[i].y, dy[i].z, dy[i].w};
        float s = 0;
        for (int e = 0; e < 4; e++) {
            float2 p = unpack<BF16>(u[e]), q = unpack<BF16>(w[e]);
            s += p.x * q.x + p.y * q.y;
        }
        for (int k = 1; k < 8; k *= 2)
            s += __shfl_xor_sync(0xFFFFFFFFu, s, k);
        if (c == 0) dot[r] = s;
        *(uint4 *)(sdy + spot(r, c, 8)) = dy[i];
    }
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();

    int key = warp * ROW;
    float dk[8][4] = {}, dv[8][4] = {};
    // Lanes that address the four matrices of a load: rows first, or columns first.
    int row8 = lane % 8, second = lane / 8 % 2, fourth = lane / 16;
#pragma unroll 1
    for (int q0 = 0; q0 < LONGEST; q0 += STEP) {
        float s[4][4] = {}, dp[4][4] = {};
#pragma unroll
        for (int e = 0; e < 4; e++) { // 16 of the width
            uint32_t a[4], c[4], m[4];
            load4(a, ak + spot(key + row8 + second * 8, 2 * e + fourth, 8));
            load4(c, av + spot(key + row8 + second * 8, 2 * e + fourth, 8));
#pragma unroll
            for (int j = 0; j < 2; j++) { // 16 queries
                load4(m, aq + spot(q0 + j * 16 + row8 + fourth * 8, 2 * e + second, 8));
                multiply<BF16>(s[2 * j], a, m[0], m[1]);
                multiply<BF16>(s[2 * j + 1], a, m[2], m[3]);
                load4(m, ady + spot(q0 + j * 16 + row8 + fourth * 8, 2 * e + second, 8));
                multiply<BF16>(dp[2 * j], c, m[0], m[1]);
                multiply<BF16>(dp[2 * j + 1], c, m[2], m[3]);
            }
        }
        uint32_t p16[2][4], d16[2][4]; // as operands: 16 keys x 16 queries
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int q = q0 + j * 8 + 2 * t;
            float2 l = *(float2 *)(lse + q), d = *(float2 *)(dot + q);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int k = key + g + e / 2 * 8, i = q + e % 2;
                bool seen = k < o.n_k && (!o.causal || k <= i);
                float p = seen ? quick_exp2(s[j][e] * scale - (e % 2 ? l.y : l.x)) : 0.0f;
                s[j][e] = p;
                dp[j][e] = p * (dp[j][e] - (e % 2 ? d.y : d.x));
            }
            for (int half = 0; half < 2; half++) {
                p16[j / 2][j % 2 * 2 + half] = pack<BF16>(s[j][2 * half], s[j][2 * half + 1]);
                uint32_t w = d16[j / 2][j % 2 * 2 + half] =
                    pack<BF16>(dp[j][2 * half], dp[j][2 * half + 1]);
                *(uint32_t *)(sds + spot(key + g + half * 8, (q0 + j * 8) / 8, 16) + t * 4) = w;
            }
        }
#pragma unroll
        for (int j = 0; j < 2; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                uint32_t m[4];
                load4_turned(m, ady + spot(q0 + j * 16 + row8 + second * 8, 2 * e + fourth, 8));
                multiply<BF16>(dv[2 * e], p16[j], m[0], m[1]);
                multiply<BF16>(dv[2 * e + 1], p16[j], m[2], m[3]);
                load4_turned(m, aq + spot(q0 + j * 16 + row8 + second * 8, 2 * e + fourth, 8));
                multiply<BF16>(dk[2 * e], d16[j], m[0], m[1]);
                multiply<BF16>(dk[2 * e + 1], d16[j], m[2], m[3]);
            }
    }
    // The warp alone reads its rows of v.
    bool sums = o.sums != NULL;
    float2 sum_v = leave<BF16>(dv, 1.0f, sv, key, o.n_k, o.dv, o.at[CUDA_DV], b, h, sums);
    float2 sum_k = leave<BF16>(dk, o.scale, sv, key, o.n_k, o.dk, o.at[CUDA_DK], b, h, sums);
    __syncthreads();
    int query = warp * ROW;
    float dq[8][4] = {};
#pragma unroll
    for (int k0 = 0; k0 < LONGEST; k0 += 16) {
        uint32_t a[4], m[4];
        load4_turned(a, ads + spot(k0 + row8 + fourth * 8, query / 8 + second, 16));
#pragma unroll
        for (int e = 0; e < 4; e++) {
            load4_turned(m, ak + spot(k0 + row8 + second * 8, 2 * e + fourth, 8));
            multiply<BF16>(dq[2 * e], a, m[0], m[1]);
            multiply<BF16>(dq[2 * e + 1], a, m[2], m[3]);
        }
    }
    float2 sum_q = leave<BF16>(dq, o.scale, sv, query, o.n_q, o.dq, o.at[CUDA_DQ], b, h, sums);
    if (!sums) return;
    float *all = (float *)sq; // [3, WARPS, WIDE]; q is not read any more
    const float2 own[3] = {sum_q, sum_k, sum_v};
    for (int k = 0; k < 3; k++)
        *(float2 *)(all + (k * WARPS + warp) * WIDE + 8 * g + 2 * t) = own[k];
    __syncthreads();
    if (thread >= 3 * WIDE) return;
    int k = thread / WIDE, col = thread % WIDE;
    float s = 0;
    for (int w = 0; w < WARPS; w++)
        s += all[(k * WARPS + w) * WIDE + col];
    o.sums[(((int64_t)b * 3 + k) * o.heads + h) * WIDE + col] = s;
}
} // namespace

extern "C" bool cuda_short_takes(const cuda_heads *h)
{
    return (h->type == HAP_BF16 || h->type == HAP_F16) && h->e == WIDE && h->d == WIDE &&
           h->hq == h->hk && h->q <= LONGEST && h->k <= LONGEST && h->q > 0 && h->k > 0 &&
           h->b * h->hq <= INT32_MAX && !h->bottom;
}

extern "C" const char *cuda_short_backward(cuda_context *x, const cuda_heads *h,
                                           const cuda_head_grads *g, const hap_tensor *sums)
{
    short_args o = {};
    int64_t cols = 3 * h->hq * WIDE;
    if (sums) {
        const char *why = NULL;
        o.sums = columns_room(x, h->b * cols, &why);
        if (!o.sums) return why;
    }
    memcpy(o.at, h->at, sizeof o.at);
    o.dy = g->dout, o.q = g->q, o.k = g->k, o.v = g->v, o.y = g->o;
    o.lse = (const float *)g->lse;
    o.dq = g->dq, o.dk = g->dk, o.dv = g->dv;
    o.heads = (int)h->hq, o.n_q = (int)h->q, o.n_k = (int)h->k;
    o.causal = h->causal, o.scale = h->scale;
    auto *kernel = h->type == HAP_BF16 ? short_backward<true> : short_backward<false>;
    CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    kernel<<<(unsigned)(h->b * h->hq), dim3(32, WARPS), SHARED, x->stream>>>(o);
    CUDA_TRY(launched());
    if (!sums) return NULL;
    view to = view_of(sums);
    return columns_end(x, {h->b, 1}, cols, o.sums, 1, &to);
}
