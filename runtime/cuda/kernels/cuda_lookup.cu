// Rows and entries looked up by an i64 index (cpu/ops_lookup.c): an index that another rank holds reads as
// zero, one outside the whole vocabulary is trapped.

#include <cub/device/device_radix_sort.cuh>

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_places.cuh"
#include "cuda/kernels/cuda_shadow.h"

enum { THREADS = 256 };

// V elements a thread; the width is a multiple of V.
template <int V>
__global__ void table_rows(int64_t n, int64_t width, view y, view table, const int64_t *id, place at)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n / V; i += step) {
        int64_t r = i * V / width, j = i * V % width,
                l = row_of(id[r], at.v, at.trap, at.op, at.line);
        float v[V] = {0};
        if (l >= 0) load_vec<V>(table, l * width + j, v);
        store_vec<V>(y, i * V, v);
    }
}

CUDA_ROW(embedding)
{
    hap_tensor *y = c->out[0], *table = c->in[0], *ids = c->in[1];
    CUDA_TRY(cuda_want(ids, HAP_I64, "the index"));
    if (!cuda_is_float(table->type) || !cuda_is_float(y->type))
        return cuda_fail("not supported: a table of type %s", hap_dtype_name(table->type));
    int64_t width = table->local[1];
    if (y->elements != ids->elements * width) return cuda_fail("embedding: shapes do not fit");
    if (y->elements == 0) return NULL;
    place at = place_of(x, c, table, 0);
    const int64_t *id = (const int64_t *)ids->data;
    unsigned blocks = blocks_for(y->elements, THREADS, 8);
    if (width % 8 == 0 && aligned(y) && aligned(table))
        table_rows<8><<<blocks, THREADS, 0, x->stream>>>(y->elements, width, view_of(y),
                                                         view_of(table), id, at);
    else
        table_rows<1><<<blocks, THREADS, 0, x->stream>>>(y->elements, width, view_of(y),
                                                         view_of(table), id, at);
    return launched();
}

__global__ void target(int64_t rows, int64_t ld, view y, view x, const int64_t *label,
                       int64_t ignore, place at)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += step) {
        int64_t l = label[i] == ignore ? -1 : row_of(label[i], at.v, at.trap, at.op, at.line);
        store(y, i, l >= 0 ? load(x, i * ld + l) : 0.0f);
    }
}

CUDA_ROW(target_logit)
{
    hap_tensor *y = c->out[0], *a = c->in[0], *labels = c->in[1];
    CUDA_TRY(cuda_want(labels, HAP_I64, "the labels"));
    if (!cuda_is_float(a->type) || !cuda_is_float(y->type))
        return cuda_fail("not supported: logits of type %s", hap_dtype_name(a->type));
    int64_t rows = cuda_entries(a, 0, a->rank - 1);
    if (labels->elements != rows || y->elements != rows)
        return cuda_fail("target_logit: shapes do not fit");
    if (rows == 0) return NULL;
    cuda_rows from;
    CUDA_TRY(cuda_rows_of(x, a, &from));
    target<<<blocks_for(rows, THREADS), THREADS, 0, x->stream>>>(
        rows, from.ld, view_of(y), {from.data, (int)a->type}, (const int64_t *)labels->data,
        c->attr[0].i, place_of(x, c, a, a->rank - 1));
    return launched();
}

// --- gradient of a table: the rows of dy that have one index are added in a fixed order ---
//
// Three ways, by size. Tables of a few rows: sums of columns (cuda_columns.cuh), a row's own where
// its index stands. Few indices: a warp a row looks through all of them. Else the indices are
// sorted with their positions (radix sort, stable), so that each table row finds its positions as
// one run: a warp adds a short run in its order; a block adds a long one: lane k takes every
// LANES-th position from the k-th on, then the lanes are added.

enum { LANES = 32, SHORT = 64, FEW_ROWS = 4, FEW = 1024 };

// Where a row's sum goes: y, if wanted, and `total` = other + it. In place (total is other) rows
// without positions stay as they are.
struct sums_to {
    view y, other, total;
};

template <int V>
__device__ inline void store_sum(const sums_to &to, int64_t i, bool any, float (&sum)[V])
{
    if (to.y.p) store_vec<V>(to.y, i, sum);
    if (!to.total.p || (!any && to.total.p == to.other.p)) return;
    float other[V];
    load_vec<V>(to.other, i, other);
    for (int e = 0; e < V; e++)
        other[e] = __fadd_rn(other[e], sum[e]);
    store_vec<V>(to.total, i, other);
}

// A block has 32 V columns and one part of the positions, 32 x COLUMN_LANES threads; y is [rows,
// parts, width].
template <int V>
__global__ void few_rows(int64_t n, int64_t width, int rows, const int64_t *id, place at, view dy,
                         int64_t each, float *y)
{
    enum { AT_ONCE = 4 };
    __shared__ float part[COLUMN_LANES][32 * V + 1];
    int64_t col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * V;
    int64_t r0 = blockIdx.y * each, r1 = r0 + each < n ? r0 + each : n;
    float sum[FEW_ROWS][V] = {};
    for (int64_t r = r0 + threadIdx.y; r < r1 && col < width; r += COLUMN_LANES * AT_ONCE) {
        float v[AT_ONCE][V];
        int64_t row[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            int64_t p = r + i * COLUMN_LANES;
            row[i] = p < r1 ? row_of(id[p], at.v, at.trap, at.op, at.line) : -1;
            if (row[i] >= 0) load_vec<V>(dy, p * width + col, v[i]);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int k = 0; k < FEW_ROWS; k++)
                if (row[i] == k)
                    for (int e = 0; e < V; e++)
                        sum[k][e] += v[i][e];
    }
#pragma unroll
    for (int k = 0; k < FEW_ROWS; k++) {
        if (k >= rows) break;
        __syncthreads();
        for (int e = 0; e < V; e++)
            part[threadIdx.y][e * 32 + threadIdx.x] = sum[k][e];
        __syncthreads();
        for (int e = 0; threadIdx.y == 0 && e < V && col + e < width; e++) {
            float s = sum[k][e];
            for (int lane = 1; lane < COLUMN_LANES; lane++)
                s += part[lane][e * 32 + threadIdx.x];
            y[(k * gridDim.y + blockIdx.y) * width + col + e] = s;
        }
    }
}

// A warp a row and 32 V columns.
template <int V>
__global__ void few_indices(int n, int64_t rows, int64_t width, const int64_t *id, place at,
                            view dy, sums_to to)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    int64_t j = ((int64_t)blockIdx.y * 32 + threadIdx.x) * V;
    float sum[V] = {0};
    bool any = false;
    if (row >= rows) return; // a whole warp
    for (int i = 0; i < n; i += 32) {
        int p = i + (int)threadIdx.x;
        bool here = p < n && row_of(id[p], at.v, at.trap, at.op, at.line) == row;
        unsigned found = __ballot_sync(0xFFFFFFFFu, here);
        any |= found != 0;
        for (; found; found &= found - 1) {
            float v[V];
            if (j >= width) continue;
            load_vec<V>(dy, (i + __ffs((int)found) - 1) * width + j, v);
            for (int e = 0; e < V; e++)
                sum[e] += v[e];
        }
    }
    if (j < width) store_sum<V>(to, row * width + j, any, sum);
}

// Key of position i: the local row, or `none` for rows of other ranks.
__global__ void keys_of(int n, const int64_t *id, uint32_t *key, uint32_t *position, uint32_t none,
                        place at)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    int64_t l = row_of(id[i], at.v, at.trap, at.op, at.line);
    key[i] = l < 0 ? none : (uint32_t)l;
    position[i] = (uint32_t)i;
}

// Where the run of each row begins and ends; rows that no position has stay as they are.
__global__ void runs_of(int n, const uint32_t *key, uint32_t none, uint2 *run)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n || key[i] == none) return;
    if (i == 0 || key[i - 1] != key[i]) run[key[i]].x = (uint32_t)i;
    if (i == n - 1 || key[i + 1] != key[i]) run[key[i]].y = (uint32_t)i + 1;
}

// Adds positions from, from + step, … below `to` of a run, several fetched at once.
template <int V>
__device__ inline void add_run(float (&sum)[V], int64_t width, int64_t j, uint32_t from,
                               uint32_t to, uint32_t step, const uint32_t *position, view dy)
{
    constexpr int AT_ONCE = 4;
    for (uint32_t i = from; i < to; i += AT_ONCE * step) {
        int64_t at[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            at[k] = i + k * step < to ? (int64_t)position[i + k * step] * width + j : -1;
        if constexpr (V == 8) {
            raw_vec raw[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (at[k] >= 0) fetch_vec(dy, at[k], &raw[k]);
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                float v[8];
                if (at[k] < 0) break;
                unpack_vec(dy.type, raw[k], v);
                for (int e = 0; e < 8; e++)
                    sum[e] += v[e];
            }
        } else {
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (at[k] >= 0) sum[0] += load(dy, at[k]);
        }
    }
}

// A warp a row and 32 V columns, for short runs.
template <int V>
__global__ void scatter_short(int64_t rows, int64_t width, const uint2 *run,
                              const uint32_t *position, view dy, sums_to to)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    int64_t j = ((int64_t)blockIdx.y * 32 + threadIdx.x) * V;
    if (row >= rows || j >= width) return;
    uint2 r = run[row];
    if (r.y - r.x > SHORT) return;
    float sum[V] = {0};
    add_run<V>(sum, width, j, r.x, r.y, 1, position, dy);
    store_sum<V>(to, row * width + j, r.y > r.x, sum);
}

// A block for every SHORT positions: if a long run has its first multiple of SHORT there, the block
// takes that row and 32 V columns.
template <int V>
__global__ __launch_bounds__(32 * LANES) void scatter_long(int64_t rows, int64_t width,
                                                           const uint32_t *key, const uint2 *run,
                                                           const uint32_t *position, view dy,
                                                           sums_to to)
{
    __shared__ float part[LANES][32 * V + 1];
    uint32_t at = blockIdx.x * SHORT, row = key[at];
    if (row >= rows) return; // of another rank
    uint2 r = run[row];
    if (r.y - r.x <= SHORT || at - r.x >= SHORT) return;
    int64_t j = ((int64_t)blockIdx.y * 32 + threadIdx.x) * V;
    float sum[V] = {0};
    if (j < width) add_run<V>(sum, width, j, r.x + threadIdx.y, r.y, LANES, position, dy);
    for (int e = 0; e < V; e++)
        part[threadIdx.y][e * 32 + threadIdx.x] = sum[e];
    __syncthreads();
    if (threadIdx.y != 0 || j >= width) return;
    for (int k = 1; k < LANES; k++)
        for (int e = 0; e < V; e++)
            sum[e] += part[k][e * 32 + threadIdx.x];
    store_sum<V>(to, row * width + j, true, sum);
}

// What a call needs, whichever way: n indices, [rows, width] sums.
struct lookups {
    int64_t n, rows, width;
    const int64_t *id;
    place at;
    view dy;
};

template <int V>
static const char *by_columns(cuda_context *x, const lookups &o, const hap_tensor *y)
{
    column_order order = column_order_of(o.n);
    const char *why = NULL;
    float *part = columns_room(x, o.rows * order.parts * o.width, &why);
    if (!part) return why;
    few_rows<V>
        <<<dim3((unsigned)ceil_div(o.width, 32 * V), (unsigned)order.parts), dim3(32, COLUMN_LANES),
           0, x->stream>>>(o.n, o.width, (int)o.rows, o.id, o.at, o.dy, order.each, part);
    CUDA_TRY(launched());
    view to[FEW_ROWS];
    for (int64_t k = 0; k < o.rows; k++)
        to[k] = {(char *)y->data + k * o.width * hap_dtype_bytes(y->type), (int)y->type};
    return columns_end(x, order, o.width, part, (int)o.rows, to);
}

template <int V> static const char *by_indices(cuda_context *x, const lookups &o, const sums_to &to)
{
    dim3 grid((unsigned)ceil_div(o.rows, 8), (unsigned)ceil_div(o.width, 32 * V));
    few_indices<V>
        <<<grid, dim3(32, 8), 0, x->stream>>>((int)o.n, o.rows, o.width, o.id, o.at, o.dy, to);
    return launched();
}

template <int V> static const char *by_runs(cuda_context *x, const lookups &o, const sums_to &to)
{
    int bits = 1;
    while (bits < 32 && (int64_t)1 << bits <= o.rows)
        bits++;
    size_t sort_bytes = 0;
    cub::DoubleBuffer<uint32_t> none_k, none_p;
    CUDA_CALL(cub::DeviceRadixSort::SortPairs(nullptr, sort_bytes, none_k, none_p, (int)o.n, 0,
                                              bits, x->stream));
    int64_t list = ceil_div(o.n * 4, 256) * 256, runs = ceil_div(o.rows * 8, 256) * 256;
    const char *why = NULL;
    char *work = (char *)cuda_work(x, 4 * list + runs + (int64_t)sort_bytes, &why);
    if (!work) return why;
    uint2 *run = (uint2 *)(work + 4 * list);
    cub::DoubleBuffer<uint32_t> key((uint32_t *)work, (uint32_t *)(work + list)),
        position((uint32_t *)(work + 2 * list), (uint32_t *)(work + 3 * list));
    unsigned blocks = (unsigned)ceil_div(o.n, THREADS);
    keys_of<<<blocks, THREADS, 0, x->stream>>>((int)o.n, o.id, key.Current(), position.Current(),
                                               (uint32_t)o.rows, o.at);
    CUDA_CALL(cub::DeviceRadixSort::SortPairs(work + 4 * list + runs, sort_bytes, key, position,
                                              (int)o.n, 0, bits, x->stream));
    CUDA_CALL(cudaMemsetAsync(run, 0, (size_t)(o.rows * 8), x->stream));
    runs_of<<<blocks, THREADS, 0, x->stream>>>((int)o.n, key.Current(), (uint32_t)o.rows, run);
    unsigned tiles = (unsigned)ceil_div(o.width, 32 * V);
    scatter_short<V><<<dim3((unsigned)ceil_div(o.rows, 8), tiles), dim3(32, 8), 0, x->stream>>>(
        o.rows, o.width, run, position.Current(), o.dy, to);
    scatter_long<V><<<dim3((unsigned)ceil_div(o.n, SHORT), tiles), dim3(32, LANES), 0, x->stream>>>(
        o.rows, o.width, key.Current(), run, position.Current(), o.dy, to);
    return launched();
}

static const char *lookups_of(cuda_context *x, const hap_op_call *c, lookups *o)
{
    hap_tensor *y = c->out[0], *dy = c->in[0], *ids = c->in[1];
    CUDA_TRY(cuda_want(ids, HAP_I64, "the index"));
    if (!cuda_is_float(dy->type) || !cuda_is_float(y->type))
        return cuda_fail("not supported: a gradient of type %s", hap_dtype_name(dy->type));
    *o = {ids->elements,        y->local[0], y->local[1], (const int64_t *)ids->data,
          place_of(x, c, y, 0), view_of(dy)};
    if (dy->elements != o->n * o->width) return cuda_fail("embedding_bwd: shapes do not fit");
    if (o->n > INT32_MAX || o->rows >= INT32_MAX)
        return cuda_fail("not supported: %lld indices", (long long)o->n);
    return NULL;
}

static bool few_in(const lookups &o)
{
    return o.n <= FEW && o.rows * o.n <= FEW * FEW;
}

CUDA_ROW(embedding_bwd)
{
    hap_tensor *y = c->out[0];
    lookups o;
    CUDA_TRY(lookups_of(x, c, &o));
    if (y->elements == 0) return NULL;
    if (o.n == 0) return cuda_fill(x->stream, y, 0);
    bool vec = o.width % 8 == 0 && aligned(c->in[0]) && aligned(y);
    sums_to to = {view_of(y), {}, {}};
    if (few_in(o)) return (vec ? by_indices<8> : by_indices<1>)(x, o, to);
    if (o.rows <= FEW_ROWS) return (vec ? by_columns<8> : by_columns<1>)(x, o, y);
    return (vec ? by_runs<8> : by_runs<1>)(x, o, to);
}

// embedding_bwd, add of another f32 tensor.
const char *cuda_lookup_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                              bool *done)
{
    const hap_op_call *add = c[1];
    hap_tensor *y = c[0]->out[0], *total = add->out[0];
    const hap_tensor *other = add->in[add->in[0]->data == y->data ? 1 : 0];
    lookups o;
    CUDA_TRY(lookups_of(x, c[0], &o));
    *done = n == 2 && y->type == HAP_F32 && other->type == HAP_F32 && total->type == HAP_F32 &&
            total->elements == y->elements && other->elements == y->elements && o.n > 0 &&
            y->elements > 0 && (few_in(o) || o.rows > FEW_ROWS);
    if (!*done) return NULL;
    CUDA_TRY(cuda_call_begins(x, c[0]));
    CUDA_TRY(cuda_call_begins(x, add));
    bool vec = o.width % 8 == 0 && all_aligned(c[0]) && all_aligned(add);
    sums_to to = {unread & 1 ? view{} : view_of(y), view_of(other), view_of(total)};
    if (few_in(o)) return (vec ? by_indices<8> : by_indices<1>)(x, o, to);
    return (vec ? by_runs<8> : by_runs<1>)(x, o, to);
}

// --- entries of a row, by an index of the row ---

static const char *row_map_of(const hap_op_call *c, row_map<2> *m)
{
    const hap_tensor *y = c->out[0];
    CUDA_TRY(cuda_want(c->in[1], HAP_I64, "the index"));
    if (!cuda_is_float(c->in[0]->type) || !cuda_is_float(y->type))
        return cuda_fail("not supported: gather of type %s", hap_dtype_name(c->in[0]->type));
    m->n = y->rank - 1;
    for (int d = 0; d < m->n; d++)
        m->size[d] = y->local[d];
    for (int i = 0; i < 2; i++)
        if (!m->takes(i, c->in[i], 1)) return cuda_fail("gather: shapes do not fit");
    return NULL;
}

__global__ void entries(int64_t elements, int64_t k, int64_t n, view y, view a, const int64_t *id,
                        row_map<2> m, place p)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step) {
        int64_t at[2];
        m.at(i / k, at);
        int64_t l = row_of(id[at[1] * k + i % k], p.v, p.trap, p.op, p.line);
        store(y, i, l >= 0 ? load(a, at[0] * n + l) : 0.0f);
    }
}

CUDA_ROW(gather)
{
    hap_tensor *y = c->out[0], *a = c->in[0], *ids = c->in[1];
    row_map<2> m;
    CUDA_TRY(row_map_of(c, &m));
    int64_t k = y->local[y->rank - 1];
    if (ids->local[ids->rank - 1] != k) return cuda_fail("gather: shapes do not fit");
    if (y->elements == 0) return NULL;
    entries<<<blocks_for(y->elements, THREADS), THREADS, 0, x->stream>>>(
        y->elements, k, a->local[a->rank - 1], view_of(y), view_of(a), (const int64_t *)ids->data,
        m, place_of(x, c, a, a->rank - 1));
    return launched();
}

// A warp a row of y adds 32 entries at a time: of those with one index the first lane adds all, in
// their order, so the sum is the CPU's bit for bit.
__global__ void entries_bwd(int64_t rows, int64_t k, int64_t n, float *y, view dy,
                            const int64_t *id, row_map<2> m, place p)
{
    const unsigned all = 0xFFFFFFFFu;
    int lane = threadIdx.x;
    int64_t step = (int64_t)gridDim.x * blockDim.y;
    for (int64_t r = (int64_t)blockIdx.x * blockDim.y + threadIdx.y; r < rows; r += step) {
        float *to = y + r * n;
        int64_t at[2];
        m.at(r, at);
        for (int64_t i = lane; i < n; i += 32)
            to[i] = 0.0f;
        __syncwarp();
        for (int64_t j = lane; j - lane < k; j += 32) {
            bool here = j < k;
            int64_t l = here ? row_of(id[at[1] * k + j], p.v, p.trap, p.op, p.line) : -1;
            float v = here ? load(dy, at[0] * k + j) : 0.0f;
            unsigned same = __match_any_sync(all, (long long)l), left = l < 0 ? 0 : same;
            bool first = left && lane == __ffs((int)same) - 1;
            float sum = first ? to[l] : 0.0f;
            while (__any_sync(all, left != 0)) {
                float w = __shfl_sync(all, v, left ? __ffs((int)left) - 1 : lane);
                if (left) sum = __fadd_rn(sum, w), left &= left - 1;
            }
            if (first) to[l] = sum;
            __syncwarp();
        }
    }
}

CUDA_ROW(gather_bwd)
{
    hap_tensor *y = c->out[0], *dy = c->in[0], *ids = c->in[1];
    row_map<2> m;
    CUDA_TRY(row_map_of(c, &m));
    CUDA_TRY(cuda_want(y, HAP_F32, "the output"));
    int64_t k = dy->local[dy->rank - 1], n = y->local[y->rank - 1];
    if (ids->local[ids->rank - 1] != k) return cuda_fail("gather_bwd: shapes do not fit");
    if (y->elements == 0) return NULL;
    dim3 block(32, 8);
    int64_t rows = cuda_entries(y, 0, y->rank - 1);
    entries_bwd<<<blocks_for(rows, 8), block, 0, x->stream>>>(
        rows, k, n, (float *)y->data, view_of(dy), (const int64_t *)ids->data, m,
        place_of(x, c, y, y->rank - 1));
    return launched();
}
