// Rows by the matrices of their experts (cpu/ops_experts.c): rows are sorted by expert, as numbers
// alone; then one grid of tiles multiplies all experts' rows, each gathered where it stands. How
// many rows an expert has is known to the device alone.
//
//     expert_linear      y[row, n] = sum over k of x[row, k] w[e, k, n]     a tile: rows of one expert
//     expert_linear_dw   w[e, k, n] = sum over rows of x[row, k] y[row, n]  a tile: of a matrix
//     room_linear, room_linear_dw   the same of rows that lie by expert, but for empty places
//     to_rooms, from_rooms          copies of rows: a block finds those of a group and an expert
//
// bf16 is multiplied by tensor cores: on sm_90, large ones, by the tile kernel (tile_experts.h), which
// gathers rows first. f32 and f16 are multiplied by single products. Sums are in f32, in the order of
// the rows.

#include <mma.h>

#include "cuda/device/cuda_room.h"
#include "cuda/kernels/cuda_places.cuh"
#include "cuda/kernels/tile_experts.h"

namespace wmma = nvcuda::wmma;

enum { THREADS = 256, WARPS = THREADS / 32, SORTS = 1024, ROOM_BLOCKS = 512 };

// --- rows by expert ---

// x and y: which row of either operand the i-th row by expert is; experts e has those from first[e]
// on. Rows of other ranks' experts are left out.
struct by_expert {
    int *x, *y, *first;
};

// Exclusive sum over the block of a flag a thread; *total = all.
__device__ inline int place_in_block(bool flag, int *total)
{
    __shared__ int sums[SORTS / 32];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned found = __ballot_sync(0xFFFFFFFFu, flag);
    __syncthreads();
    if (lane == 0) sums[warp] = __popc(found);
    __syncthreads();
    int before = 0, all = 0;
    for (unsigned w = 0; w < SORTS / 32; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    *total = all;
    return before + __popc(found & ((1u << lane) - 1));
}

// Exclusive sum over the block of a number a thread; *total = all.
__device__ inline int sum_before(int own, int *total)
{
    __shared__ int sums[SORTS / 32];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int upto = own, before = 0, all = 0;
    for (unsigned d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xFFFFFFFFu, upto, d);
        if (lane >= d) upto += other;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    for (unsigned w = 0; w < SORTS / 32; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    *total = all;
    return before + upto - own;
}

// A block an expert, a run of rows a thread: counts the rows of those ahead of it and its own, then
// lists these in their order.
__global__ __launch_bounds__(SORTS) void sort_rows(int64_t rows, const int64_t *index,
                                                   row_map<3> map, place at, by_expert to)
{
    const int64_t e = blockIdx.x, run = (rows + SORTS - 1) / SORTS, from = threadIdx.x * run;
    const int64_t end = from + run < rows ? from + run : rows;
    int ahead = 0, own = 0, first, many;
    int64_t row[3];
    auto expert_of = [&](int64_t r) {
        map.at(r, row);
        return row_of(index[row[1]], at.v, at.trap, at.op, at.line);
    };
    for (int64_t r = from; r < end; r++) {
        int64_t l = expert_of(r);
        ahead += l >= 0 && l < e, own += l == e;
    }
    sum_before(ahead, &first);
    int next = first + sum_before(own, &many);
    for (int64_t r = from; r < end && own > 0; r++)
        if (expert_of(r) == e) to.x[next] = (int)row[0], to.y[next++] = (int)row[2];
    if (threadIdx.x == 0) to.first[e] = first;
    if (threadIdx.x == 0 && e + 1 == gridDim.x) to.first[e + 1] = first + many;
}

// --- one product ---

// Line i begins at element base + (row ? row[i] : i) * ld.
struct lines {
    view v;
    const int *row;
    int64_t base, ld;
};

__device__ inline int64_t begins(const lines &l, int64_t i)
{
    return l.base + (l.row ? (int64_t)l.row[i] : i) * l.ld;
}

// y[m,n] = a b. Lines of a are the m rows of k entries, or (A_K) the k rows of m entries; lines of b
// are the k rows of n entries, or (B_N) the n rows of k entries. quick: 8 entries a vector.
struct product {
    lines a, b, y;
    int64_t m, n, k, m0, n0; // m0, n0: this block's tile
    bool quick;
};

// Entry `i` of a tile's outer dim, `k` of the inner one; 0 outside.
__device__ inline float entry(const lines &l, bool by_k, int64_t i, int64_t outer, int64_t k,
                              int64_t inner)
{
    if (i >= outer || k >= inner) return 0.0f;
    return load(l.v, by_k ? begins(l, k) + i : begins(l, i) + k);
}

constexpr int SMALL = 64, DEEP = 16; // a tile of single products, 4 x 4 a thread

template <bool A_K, bool B_N> __device__ void multiply_plain(const product &p)
{
    __shared__ float a[DEEP][SMALL + 1], b[DEEP][SMALL + 1];
    int t = (int)threadIdx.x, row = t / 16 * 4, col = t % 16 * 4;
    float sum[4][4] = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += DEEP) {
        for (int i = t; i < SMALL * DEEP; i += THREADS) {
            int ka = A_K ? i / SMALL : i % DEEP, ma = A_K ? i % SMALL : i / DEEP;
            int kb = B_N ? i % DEEP : i / SMALL, nb = B_N ? i / DEEP : i % SMALL;
            a[ka][ma] = entry(p.a, A_K, p.m0 + ma, p.m, k0 + ka, p.k);
            b[kb][nb] = entry(p.b, !B_N, p.n0 + nb, p.n, k0 + kb, p.k);
        }
        __syncthreads();
        for (int k = 0; k < DEEP; k++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += a[k][row + i] * b[k][col + j];
        __syncthreads();
    }
    for (int i = 0; i < 4 && p.m0 + row + i < p.m; i++)
        for (int j = 0; j < 4 && p.n0 + col + j < p.n; j++)
            store(p.y.v, begins(p.y, p.m0 + row + i) + p.n0 + col + j, sum[i][j]);
}

// A tile of tensor cores: 2 x 4 warps of 64 x 32. In shared memory lines of the inner dim (BY_K) are
// [KS][LARGE + PAD], others [LARGE][KS + PAD].
constexpr int LARGE = 128, KS = 32, PAD = 8, VECTOR = 8;
constexpr int VECTORS = LARGE * KS / VECTOR / THREADS;
typedef __nv_bfloat16 bf16;

template <bool BY_K> __device__ inline int lies_at(int v)
{
    return BY_K ? v / (LARGE / VECTOR) * (LARGE + PAD) + v % (LARGE / VECTOR) * VECTOR
                : v / (KS / VECTOR) * (KS + PAD) + v % (KS / VECTOR) * VECTOR;
}

// Vectors of the tile from (outer i0, inner k0) on that this thread brings.
template <bool BY_K>
__device__ inline void bring(const lines &l, bool quick, int64_t i0, int64_t outer, int64_t k0,
                             int64_t inner, uint4 (&to)[VECTORS])
{
    for (int j = 0; j < VECTORS; j++) {
        int v = (int)threadIdx.x + j * THREADS;
        int64_t line = (BY_K ? k0 + v / (LARGE / VECTOR) : i0 + v / (KS / VECTOR));
        int64_t at = (BY_K ? i0 + v % (LARGE / VECTOR) * VECTOR : k0 + v % (KS / VECTOR) * VECTOR);
        int64_t n_lines = BY_K ? inner : outer, n = BY_K ? outer : inner;
        to[j] = make_uint4(0, 0, 0, 0);
        if (line >= n_lines || at >= n) continue;
        const bf16 *from = (const bf16 *)l.v.p + begins(l, line) + at;
        if (quick && at + VECTOR <= n) {
            to[j] = *(const uint4 *)from;
            continue;
        }
        bf16 own[VECTOR];
        for (int i = 0; i < VECTOR; i++)
            own[i] = at + i < n ? from[i] : __float2bfloat16_rn(0.0f);
        memcpy(&to[j], own, sizeof own);
    }
}

template <bool A_K, bool B_N> __device__ void multiply_bf16(const product &p)
{
    enum { MOST = LARGE * (KS + PAD), AT_M = 4, AT_N = 2 };
    __shared__ alignas(32) bf16 a[MOST], b[MOST];
    __shared__ alignas(32) float part[WARPS][16 * 16];
    using order_a = std::conditional_t<A_K, wmma::col_major, wmma::row_major>;
    using order_b = std::conditional_t<B_N, wmma::col_major, wmma::row_major>;
    constexpr int lda = A_K ? LARGE + PAD : KS + PAD, ldb = B_N ? KS + PAD : LARGE + PAD;
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    int row = warp / 4 * 64, col = warp % 4 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[AT_M][AT_N];
    for (int i = 0; i < AT_M; i++)
        for (int j = 0; j < AT_N; j++)
            wmma::fill_fragment(sum[i][j], 0.0f);
    uint4 next_a[VECTORS], next_b[VECTORS];
    bring<A_K>(p.a, p.quick, p.m0, p.m, 0, p.k, next_a);
    bring<!B_N>(p.b, p.quick, p.n0, p.n, 0, p.k, next_b);
    for (int64_t k0 = 0; k0 < p.k; k0 += KS) {
        for (int j = 0; j < VECTORS; j++) {
            int v = (int)threadIdx.x + j * THREADS;
            *(uint4 *)(a + lies_at<A_K>(v)) = next_a[j];
            *(uint4 *)(b + lies_at<!B_N>(v)) = next_b[j];
        }
        __syncthreads();
        bring<A_K>(p.a, p.quick, p.m0, p.m, k0 + KS, p.k, next_a);
        bring<!B_N>(p.b, p.quick, p.n0, p.n, k0 + KS, p.k, next_b);
        for (int k = 0; k < KS; k += 16) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, order_b> right[AT_N];
            for (int j = 0; j < AT_N; j++) {
                int n = col + 16 * j;
                wmma::load_matrix_sync(right[j], b + (B_N ? n * ldb + k : k * ldb + n), ldb);
            }
            for (int i = 0; i < AT_M; i++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, order_a> left;
                int m = row + 16 * i;
                wmma::load_matrix_sync(left, a + (A_K ? k * lda + m : m * lda + k), lda);
                for (int j = 0; j < AT_N; j++)
                    wmma::mma_sync(sum[i][j], left, right[j], sum[i][j]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < AT_M; i++)
        for (int j = 0; j < AT_N; j++) {
            wmma::store_matrix_sync(part[warp], sum[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            for (int e = lane; e < 16 * 16; e += 32) {
                int64_t m = p.m0 + row + 16 * i + e / 16, n = p.n0 + col + 16 * j + e % 16;
                if (m < p.m && n < p.n) store(p.y.v, begins(p.y, m) + n, part[warp][e]);
            }
            __syncwarp();
        }
}

// --- calls ---

// x [rows, k] and y [rows, n], w [experts, k, n] or, trans, [experts, n, k]. dw: w is the result.
struct experts {
    int64_t rows, k, n, held;
    view x, y, w;
    bool trans, dw;
    by_expert list;
    bool quick;
    char *room; // of the tile kernel; NULL: another one
};

static tile_experts tiles_of(cuda_context *x, const experts &v)
{
    return {v.x.p,     v.w.p,     v.y.p,        v.rows, v.k, v.n, v.held, v.trans, v.w.type == HAP_F32,
            v.list.x, v.list.y, v.list.first, cuda_sms(x)};
}

// By the tile kernel: from so many products on it is worth its lists, or wherever it can.
static bool by_tiles(cuda_context *x, const experts &v)
{
    const bool result = v.dw ? v.w.type == HAP_F32 || v.w.type == HAP_BF16 : v.y.type == HAP_BF16;
    const bool bf16 = v.x.type == HAP_BF16 && (v.dw ? v.y : v.w).type == HAP_BF16 && result;
    const double products = (double)v.rows * (double)v.k * (double)v.n;
    const tile_experts t = tiles_of(x, v);
    if (!bf16 || x->options.tiles == HAP_CUDA_tiles_off) return false;
    return (products >= CUDA_TILE_MIN || x->options.tiles == HAP_CUDA_tiles_all) &&
           !tile_experts_why_not(&t, v.dw);
}

template <bool TENSOR, bool A_K, bool B_N> __device__ inline void multiply(const product &p)
{
    if constexpr (TENSOR)
        multiply_bf16<A_K, B_N>(p);
    else
        multiply_plain<A_K, B_N>(p);
}

// Blocks along y are tiles of rows: an expert has as many as its rows need.
template <bool TENSOR, bool TRANS>
__global__ __launch_bounds__(THREADS) void rows_by_experts(experts v)
{
    constexpr int tile = TENSOR ? LARGE : SMALL;
    int64_t left = blockIdx.y;
    int e = 0, first = 0, many = 0;
    for (; e < v.held; e++) {
        first = v.list.first[e];
        many = v.list.first[e + 1] - first;
        int64_t tiles = (many + tile - 1) / tile;
        if (left < tiles) break;
        left -= tiles;
    }
    if (e == v.held) return;
    lines w = {v.w, nullptr, e * v.k * v.n, TRANS ? v.k : v.n};
    product p = {{v.x, v.list.x + first, 0, v.k},
                 w,
                 {v.y, v.list.y + first, 0, v.n},
                 many,
                 v.n,
                 v.k,
                 left * tile,
                 (int64_t)blockIdx.x * tile,
                 v.quick};
    multiply<TENSOR, false, TRANS>(p);
}

template <bool TENSOR> __global__ __launch_bounds__(THREADS) void experts_dw(experts v)
{
    constexpr int tile = TENSOR ? LARGE : SMALL;
    int e = (int)blockIdx.z, first = v.list.first[e];
    product p = {{v.x, v.list.x + first, 0, v.k},
                 {v.y, v.list.y + first, 0, v.n},
                 {v.w, nullptr, e * v.k * v.n, v.n},
                 v.k,
                 v.n,
                 v.list.first[e + 1] - first,
                 (int64_t)blockIdx.y * tile,
                 (int64_t)blockIdx.x * tile,
                 v.quick};
    multiply<TENSOR, true, false>(p);
}

static int64_t rows_before(const hap_tensor *t)
{
    return cuda_entries(t, 0, t->rank - 1);
}

// Dims that a and b have before their last one; how many rows these are.
static int64_t leading(row_map<3> *map, const hap_tensor *a, const hap_tensor *b)
{
    int64_t rows = 1;
    map->n = (a->rank > b->rank ? a->rank : b->rank) - 1;
    for (int d = 0; d < map->n; d++) {
        int i = d + a->rank - 1 - map->n, j = d + b->rank - 1 - map->n;
        map->size[d] = i >= 0 ? a->local[i] : 1;
        if (map->size[d] == 1 && j >= 0) map->size[d] = b->local[j];
        rows *= map->size[d];
    }
    return rows;
}

static const char *types_fit(const hap_op_call *c, const hap_tensor *a, const hap_tensor *y,
                             const hap_tensor *w)
{
    CUDA_TRY(cuda_want(c->in[1], HAP_I64, "the index"));
    if (!cuda_is_float(a->type) || !cuda_is_float(y->type) || !cuda_is_float(w->type))
        return cuda_fail("not supported: experts of type %s", hap_dtype_name(a->type));
    return NULL;
}

// Room for the lists of v's rows; *any: there is something to multiply.
static const char *make_lists(cuda_context *x, const hap_op_call *c, experts *v, bool *any)
{
    if (v->rows > INT32_MAX || v->held > 65535)
        return cuda_fail("not supported: %lld rows of %lld experts", (long long)v->rows,
                         (long long)v->held);
    v->quick = v->k % VECTOR == 0 && v->n % VECTOR == 0 && all_aligned(c);
    *any = v->rows * v->held * v->k * v->n > 0;
    if (!*any) return NULL;
    int64_t list = ceil_div(v->rows * (int64_t)sizeof(int), 256) * 256;
    int64_t lists = 2 * list + ceil_div((v->held + 1) * (int64_t)sizeof(int), 256) * 256, tiles = 0;
    const char *why = NULL;
    if (by_tiles(x, *v)) {
        const tile_experts t = tiles_of(x, *v);
        tiles = tile_experts_room(&t, v->dw);
    }
    char *work = (char *)cuda_work(x, lists + tiles, &why);
    if (!work) return why;
    v->list = {(int *)work, (int *)(work + list), (int *)(work + 2 * list)};
    v->room = tiles > 0 ? work + lists : NULL;
    return NULL;
}

// Takes the call apart and, unless nothing is to be multiplied, sorts its rows.
static const char *experts_of(cuda_context *x, const hap_op_call *c, const hap_tensor *y,
                              const hap_tensor *w, bool trans, experts *v)
{
    const hap_tensor *a = c->in[0], *index = c->in[1];
    CUDA_TRY(types_fit(c, a, y, w));
    if (a->rank < 1 || y->rank < 1 || w->rank != 3) return cuda_fail("shapes do not fit");
    row_map<3> map;
    int64_t rows = leading(&map, a, y);
    *v = {rows,       a->local[a->rank - 1], y->local[y->rank - 1], w->local[0],
          view_of(a), view_of(y),            view_of(w),            trans,
          c->out[0] == w};
    if (!map.takes(0, a, 1) || !map.takes(1, index, 0) || !map.takes(2, y, 1) ||
        w->local[1 + trans] != v->k || w->local[2 - trans] != v->n)
        return cuda_fail("shapes do not fit");
    bool any;
    CUDA_TRY(make_lists(x, c, v, &any));
    if (!any) return NULL;
    sort_rows<<<(unsigned)v->held, SORTS, 0, x->stream>>>(
        v->rows, (const int64_t *)index->data, map, place_of(x, c, w, 0), v->list);
    return launched();
}

static const char *multiply_rows(cuda_context *x, const experts &v)
{
    if (v.room) {
        const tile_experts t = tiles_of(x, v);
        return tile_experts_rows(&t, v.room, x->stream);
    }
    bool tensor = v.x.type == HAP_BF16 && v.w.type == HAP_BF16;
    int64_t tile = tensor ? LARGE : SMALL, tiles = v.rows / tile + v.held;
    if (tiles > 65535) return cuda_fail("not supported: %lld rows of experts", (long long)v.rows);
    dim3 grid((unsigned)ceil_div(v.n, tile), (unsigned)tiles);
    auto run = tensor ? (v.trans ? rows_by_experts<true, true> : rows_by_experts<true, false>)
                      : (v.trans ? rows_by_experts<false, true> : rows_by_experts<false, false>);
    run<<<grid, THREADS, 0, x->stream>>>(v);
    return launched();
}

static const char *multiply_dw(cuda_context *x, const experts &v)
{
    if (v.room) {
        const tile_experts t = tiles_of(x, v);
        return tile_experts_dw(&t, v.room, x->stream);
    }
    bool tensor = v.x.type == HAP_BF16 && v.y.type == HAP_BF16;
    int64_t tile = tensor ? LARGE : SMALL;
    if (ceil_div(v.k, tile) > 65535)
        return cuda_fail("not supported: experts of %lld rows", (long long)v.k);
    dim3 grid((unsigned)ceil_div(v.n, tile), (unsigned)ceil_div(v.k, tile), (unsigned)v.held);
    (tensor ? experts_dw<true> : experts_dw<false>)<<<grid, THREADS, 0, x->stream>>>(v);
    return launched();
}

CUDA_ROW(expert_linear)
{
    hap_tensor *y = c->out[0], *w = c->in[2];
    bool trans = c->attr[0].i == 1;
    experts v;
    CUDA_TRY(experts_of(x, c, y, w, trans, &v));
    if (y->elements == 0) return NULL;
    if (rows_before(y) != v.rows) return cuda_fail("expert_linear: shapes do not fit");
    cuda_axis held = cuda_axis_of(w, 0);
    bool none = v.k == 0 || v.held == 0;
    if (none || v.held < cuda_axis_size(&held)) CUDA_TRY(cuda_fill(x->stream, y, 0));
    return none ? NULL : multiply_rows(x, v);
}

CUDA_ROW(expert_linear_dw)
{
    hap_tensor *w = c->out[0];
    experts v;
    CUDA_TRY(experts_of(x, c, c->in[2], w, false, &v));
    if (w->elements == 0) return NULL;
    return v.rows == 0 ? cuda_fill(x->stream, w, 0) : multiply_dw(x, v);
}

// --- rooms ---

// row[g, r] and room[g, e, i], copied from one to the other: lines of `units` units of type U, of which
// a block takes `part`.
struct room_copy {
    char *rows, *rooms;
    const int64_t *index;
    int64_t groups, n, units, room;
    place at;
    int64_t part;
};

template <typename U, bool TO> __global__ __launch_bounds__(SORTS) void swap_rooms(room_copy v)
{
    __shared__ int found[SORTS];
    int64_t e = blockIdx.x, g = blockIdx.y, next = 0;
    U *rows = (U *)v.rows + g * v.n * v.units;
    U *rooms = (U *)v.rooms + (g * gridDim.x + e) * v.room * v.units;
    const int64_t first = blockIdx.z * v.part;
    const int64_t units = first + v.part < v.units ? v.part : v.units - first;
    int total;
    for (int64_t r0 = 0; r0 < v.n; r0 += SORTS) {
        int64_t r = r0 + threadIdx.x, l = -1;
        if (r < v.n) l = row_of(v.index[g * v.n + r], v.at.v, v.at.trap, v.at.op, v.at.line);
        int i = place_in_block(l == e, &total);
        if (l == e) found[i] = (int)threadIdx.x;
        __syncthreads();
        int64_t fit = next + total < v.room ? total : v.room - next;
        for (int64_t j = threadIdx.x; j < fit * units; j += SORTS) {
            const int64_t i = j / units, at = first + j % units;
            U *row = rows + (r0 + found[i]) * v.units + at;
            U *to = rooms + (next + i) * v.units + at;
            if (TO)
                *to = *row;
            else
                *row = *to;
        }
        next += total;
        if (next > v.room) break;
        __syncthreads();
    }
    if (next > v.room) {
        if (threadIdx.x == 0)
            trap(v.at.trap, v.at.op, v.at.line, next, v.room, axis_global(v.at.v, e));
        return;
    }
    for (int64_t j = threadIdx.x; TO && j < (v.room - next) * units; j += SORTS)
        rooms[(next + j / units) * v.units + first + j % units] = U{};
}

template <bool TO>
static const char *run_rooms(cuda_context *x, const hap_op_call *c, hap_tensor *rows,
                             hap_tensor *rooms)
{
    const hap_tensor *index = c->in[1];
    CUDA_TRY(cuda_want(index, HAP_I64, "the index"));
    if (rows->type != rooms->type) return cuda_fail("types do not fit");
    if (rows->rank != 3 || index->rank != 2 || rooms->rank != 4)
        return cuda_fail("shapes do not fit");
    int64_t held = rooms->local[1], groups = rows->local[0], width = rows->local[2];
    room_copy v = {(char *)rows->data, (char *)rooms->data,           (const int64_t *)index->data,
                   groups,             rows->local[1],                0,
                   rooms->local[2],    place_of(x, c, rooms, 1)};
    if (index->local[0] != groups || index->local[1] != v.n || rooms->local[0] != groups ||
        rooms->local[3] != width)
        return cuda_fail("shapes do not fit");
    if (c->out[0]->elements == 0) return NULL;
    cuda_axis all = cuda_axis_of(rooms, 1);
    if (!TO && held < cuda_axis_size(&all)) CUDA_TRY(cuda_fill(x->stream, rows, 0));
    if (held * groups * width == 0) return NULL;
    if (groups > 65535) return cuda_fail("not supported: over 65535 examples of experts' rows");
    int64_t bytes = width * hap_dtype_bytes(rows->type);
    const bool wide = bytes % 16 == 0 && aligned(rows) && aligned(rooms);
    v.units = bytes / (wide ? 16 : 2);
    // Blocks for all processors, of at least a warp's units: each lists the rows again.
    const int64_t parts = ceil_div(ROOM_BLOCKS, held * groups), most = ceil_div(v.units, 32);
    v.part = ceil_div(v.units, parts < most ? parts : most);
    dim3 grid((unsigned)held, (unsigned)groups, (unsigned)ceil_div(v.units, v.part));
    if (wide)
        swap_rooms<uint4, TO><<<grid, SORTS, 0, x->stream>>>(v);
    else
        swap_rooms<uint16_t, TO><<<grid, SORTS, 0, x->stream>>>(v);
    return launched();
}

CUDA_ROW(to_rooms)
{
    return run_rooms<true>(x, c, c->in[0], c->out[0]);
}

CUDA_ROW(from_rooms)
{
    return run_rooms<false>(x, c, c->out[0], c->in[0]);
}

// The rows of all rooms that are held, but for empty places, as sort_rows lists rows; most: places.
// Too many rows in a room, which to_rooms traps, share its last place.
__global__ __launch_bounds__(SORTS) void list_rooms(room_copy v, int64_t most, by_expert to)
{
    int64_t e = blockIdx.x, next = 0;
    int total;
    for (int64_t i0 = 0; i0 < v.groups * v.n; i0 += SORTS) {
        int64_t i = i0 + threadIdx.x, l = -1;
        if (i < v.groups * v.n) l = row_of(v.index[i], v.at.v, v.at.trap, v.at.op, v.at.line);
        place_in_block(l >= 0 && l < e, &total);
        next += total;
    }
    if (threadIdx.x == 0) to.first[e] = (int)(next < most ? next : most);
    for (int64_t g = 0; g < v.groups; g++) {
        int64_t taken = 0, first = (g * gridDim.x + e) * v.room;
        for (int64_t r0 = 0; r0 < v.n; r0 += SORTS) {
            int64_t r = r0 + threadIdx.x, l = -1;
            if (r < v.n) l = row_of(v.index[g * v.n + r], v.at.v, v.at.trap, v.at.op, v.at.line);
            int i = place_in_block(l == e, &total);
            int64_t place = taken + i < v.room ? taken + i : v.room - 1;
            if (l == e && next + i < most) to.x[next + i] = to.y[next + i] = (int)(first + place);
            next += total;
            taken += total;
        }
    }
    if (threadIdx.x == 0 && e + 1 == gridDim.x) to.first[e + 1] = (int)(next < most ? next : most);
}

// x[g,e,c,k], y[g,e,c,n], w[e,k,n] or, trans, [e,n,k]; *any: there is something to multiply.
static const char *rooms_of(cuda_context *x, const hap_op_call *c, const hap_tensor *y,
                            const hap_tensor *w, bool trans, experts *v, bool *any)
{
    const hap_tensor *a = c->in[0], *index = c->in[1];
    CUDA_TRY(types_fit(c, a, y, w));
    if (a->rank != 4 || y->rank != 4 || w->rank != 3 || index->rank != 2)
        return cuda_fail("shapes do not fit");
    *v = {cuda_entries(a, 0, 3), a->local[3], y->local[3], w->local[0],
          view_of(a),            view_of(y),  view_of(w),  trans,
          c->out[0] == w};
    for (int d = 0; d < 3; d++)
        if (a->local[d] != y->local[d]) return cuda_fail("shapes do not fit");
    if (w->local[0] != a->local[1] || w->local[1 + trans] != v->k || w->local[2 - trans] != v->n ||
        index->local[0] != a->local[0])
        return cuda_fail("shapes do not fit");
    CUDA_TRY(make_lists(x, c, v, any));
    if (!*any) return NULL;
    room_copy r = {NULL,        NULL, (const int64_t *)index->data, a->local[0], index->local[1], 0,
                   a->local[2], place_of(x, c, a, 1)};
    list_rooms<<<(unsigned)v->held, SORTS, 0, x->stream>>>(r, v->rows, v->list);
    return launched();
}

CUDA_ROW(room_linear)
{
    hap_tensor *y = c->out[0];
    bool trans = c->attr[0].i == 1, any;
    experts v;
    CUDA_TRY(rooms_of(x, c, y, c->in[2], trans, &v, &any));
    if (y->elements > 0) CUDA_TRY(cuda_fill(x->stream, y, 0));
    return any ? multiply_rows(x, v) : NULL;
}

CUDA_ROW(room_linear_dw)
{
    hap_tensor *w = c->out[0];
    experts v;
    bool any;
    CUDA_TRY(rooms_of(x, c, c->in[2], w, false, &v, &any));
    if (w->elements == 0) return NULL;
    return any ? multiply_dw(x, v) : cuda_fill(x->stream, w, 0);
}
