// Host side of tile_gemm.h: tensor maps, the list, the launch.

#include "cuda/kernels/tile_gemm.h"

#include <math.h>
#include <stdlib.h>

#include "cuda/device/cuda_driver.h"
#include "cuda/kernels/tile_kernel.h"

const tile_shape tile_shapes[TILE_SHAPES] = {
    {"128x256", 128, 256, 2},          {"128x192", 128, 192, 2}, {"128x128", 128, 128, 2},
    {"192x192", 192, 192, 3},          {"256x128", 256, 128, 2}, {"128x128 in turns", 128, 128, 1},
    {"128x192 in turns", 128, 192, 1},
};
static tile_launch *const launches[TILE_SHAPES] = {
    tile_launch_128x256, tile_launch_128x192,       tile_launch_128x128,       tile_launch_192x192,
    tile_launch_256x128, tile_launch_turns_128x128, tile_launch_turns_128x192,
};
// Of the peak, in a long k, by bench/gemm on H200s.
static const double speed[TILE_SHAPES] = {0.95, 0.89, 0.85, 0.91, 0.95, 0.90, 0.95};
// Cycles: a tile's end that nothing hides; a part's way to its slot, besides its bytes.
enum { TILE_END = 2500, PART_END = 1500, PEAK = 2048, K_STEP = 64 };
// Bytes a cycle: of a part by one processor; of operands from memory by all; what L2 keeps of them.
enum { PART_BYTES = 64, MEMORY_BYTES = 2500, KEPT_BYTES = 40 << 20 };
enum { MOST_TILES = 6, MOST_PARTS = 16 }; // of a share; clusters to each of its tiles

static bool is_hopper(void)
{
    int device, major = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        return false;
    return major == 9;
}

const char *tile_why_not(const tile_call *c)
{
    const cuda_gemm *p = &c->p;
    uintptr_t all = (uintptr_t)c->a | (uintptr_t)c->b | (uintptr_t)c->y | (uintptr_t)c->before |
                    (uintptr_t)c->with;
    bool wide = p->y_type == HAP_F32;
    if (!is_hopper()) return cuda_fail("not supported: tile kernels run on sm_90 alone");
    if (p->type != HAP_BF16 || (!wide && p->y_type != HAP_BF16))
        return cuda_fail("not supported: tile kernels take bf16 and make bf16 or f32");
    if (p->batch != 1 || p->m < 1 || p->n < 1 || p->k < 1 || p->m > INT32_MAX / 2 ||
        p->n > INT32_MAX / 2 || p->k > INT32_MAX / 2)
        return cuda_fail("not supported: tile kernels take one matmul that is not empty");
    if (p->a_t && p->b_t) return cuda_fail("not supported: tile kernels turn one operand");
    if (all % 16 || p->la % 8 || p->lb % 8 || p->ly % (wide ? 4 : 8) ||
        p->n % (wide ? 4 : 8)) // stores are clipped in such steps
        return cuda_fail("not supported: tile kernels want rows of multiples of 16 bytes");
    if (wide && c->activation != TILE_NONE)
        return cuda_fail("not supported: tile kernels have activations of 16-bit values alone");
    if (c->bias && p->bias_type != HAP_F32 && p->bias_type != HAP_BF16)
        return cuda_fail("not supported: tile kernels take a bias in f32 or bf16");
    if (c->bias && (uintptr_t)c->bias % (p->bias_type == HAP_F32 ? 8 : 4))
        return cuda_fail("not supported: tile kernels take a bias two by two");
    if (c->before && c->activation == TILE_NONE)
        return cuda_fail("not supported: two results without an activation");
    bool slope = c->activation >= TILE_GELU_TANH_SLOPE;
    if (slope != (c->with && c->activation) || (slope && (c->bias || c->before)))
        return cuda_fail("not supported: a slope wants a place, and no bias");
    if (c->sums && !slope) return cuda_fail("not supported: sums of columns of a slope alone");
    return NULL;
}

// Rows of clusters that a group of the list has: those in flight then make about a square.
static int group_rows(int rows, int cols, int clusters)
{
    int g = 1;
    while ((int64_t)(g + 1) * (g + 1) * rows <= (int64_t)clusters * cols)
        g++;
    return g;
}

// A cluster's tiles lie so that they share their larger operand. What is left over at the last row,
// or column, of tiles is paired along it.
static int whole_tiles(const tile_shape *s, int64_t m, int64_t n, int64_t k, int sms,
                       tile_entry *list)
{
    const int down = (int)((m + s->rows - 1) / s->rows), right = (int)((n + s->cols - 1) / s->cols);
    const bool side = s->rows > s->cols;
    const int tall = side ? 1 : 2, wide = side ? 2 : 1; // a cluster's tiles
    const int rows = down / tall, cols = right / wide;
    const int group = group_rows(tall * s->rows, wide * s->cols, sms / 2);
    const int steps = (int)((k + K_STEP - 1) / K_STEP);
    int count = 0;
    for (int from = 0; from < rows; from += group)
        for (int col = 0; col < cols; col++)
            for (int row = from; row < rows && row < from + group; row++, count++)
                if (list)
                    list[count] = (tile_entry){.row = row * tall * s->rows,
                                               .col = col * wide * s->cols,
                                               .steps = steps,
                                               .kind = side ? TILE_RIGHT : 0};
    const int left = side ? right % 2 * down : down % 2 * right;
    for (int i = 0; i < left; i += 2, count++)
        if (list)
            list[count] = (tile_entry){.row = (side ? i : down - 1) * s->rows,
                                       .col = (side ? right - 1 : i) * s->cols,
                                       .steps = steps,
                                       .kind = side ? 0 : TILE_RIGHT};
    return count;
}

// Each cluster has `rounds` whole tiles. The `left` others are shared: group by group of up to
// `each` tiles by `parts` clusters.
typedef struct shares {
    int clusters, rounds, left, each, parts, steps;
} shares;

// Whether the share is one: more clusters than tiles, no more than there are, none without a step.
static bool shares_of(int tiles, int64_t k, int sms, tile_share share, shares *h)
{
    *h = (shares){.clusters = sms / 2, .each = share.tiles, .parts = share.clusters};
    h->steps = (int)((k + K_STEP - 1) / K_STEP);
    h->rounds = tiles / h->clusters;
    h->left = tiles % h->clusters;
    if (h->each < 1 || h->parts <= h->each || h->left == 0) return false;
    const int groups = (h->left + h->each - 1) / h->each;
    const int last = h->left - (groups - 1) * h->each;
    return groups * h->parts <= h->clusters && h->clusters <= TILE_SLOTS &&
           (int64_t)last * h->steps >= h->parts;
}

// A cluster's entries go to list[at], list[at + clusters], …: the part that it has of a tile that
// others began, whole tiles, the tile that it begins and others go on with.
static void list_cluster(const shares *h, int c, const tile_entry *tile, tile_entry *list)
{
    const int at = h->clusters - 1 - c; // lower numbers have what comes later in k
    const int first = c / h->parts * h->each, j = c % h->parts;
    const int tiles = h->left - first < h->each ? h->left - first : h->each;
    const int64_t steps = (int64_t)tiles * h->steps, end = steps * (j + 1) / h->parts;
    for (int i = 0; i < h->rounds; i++)
        list[at + (i + 1) * h->clusters] = tile[i * h->clusters + at];
    for (int64_t from = tiles > 0 ? steps * j / h->parts : end; from < end;) {
        const int64_t which = from / h->steps, till = (which + 1) * h->steps;
        const int64_t to = till < end ? till : end;
        tile_entry e = tile[h->rounds * h->clusters + first + which];
        e.from = (int32_t)(from - which * h->steps), e.steps = (int32_t)(to - from);
        if (e.from > 0) {
            e.kind |= TILE_PART, e.slot = c;
            list[at] = e;
        } else {
            e.slot = c + 1;
            while (to < till && j + e.slots + 1 < h->parts &&
                   steps * (j + e.slots + 1) / h->parts < till)
                e.slots++;
            list[at + (h->rounds + 1) * h->clusters] = e;
        }
        from = to;
    }
}

int tile_list(const tile_shape *s, int64_t m, int64_t n, int64_t k, int sms, tile_share share,
              tile_entry *list)
{
    shares h;
    const int tiles = whole_tiles(s, m, n, k, sms, NULL);
    if (s->parts == 1 || !shares_of(tiles, k, sms, share, &h))
        return whole_tiles(s, m, n, k, sms, list);
    const int count = (h.rounds + 2) * h.clusters;
    if (!list) return count;
    tile_entry *tile = malloc((size_t)tiles * sizeof *tile);
    if (!tile) return 0;
    whole_tiles(s, m, n, k, sms, tile);
    for (int i = 0; i < count; i++)
        list[i] = (tile_entry){.row = INT32_MAX / 2};
    for (int c = 0; c < h.clusters; c++)
        list_cluster(&h, c, tile, list);
    free(tile);
    return count;
}

static int64_t slot_bytes(const tile_shape *s)
{
    return (int64_t)2 * s->rows * s->cols * 4;
}

int64_t tile_room(const tile_shape *s, int sms)
{
    return TILE_SLOTS * TILE_SLOT_FLAGS * 4 + sms / 2 * slot_bytes(s);
}

// Cycles of a step: its flops, or the operands that all clusters fetch meanwhile, those at the same
// k as of one square.
static double step_price(const tile_shape *s, int64_t operands, int sms, int parts)
{
    const double area = 2.0 * s->rows * s->cols * (sms / 2) / parts;
    const double flops = (double)s->rows * s->cols * K_STEP / PEAK / speed[s - tile_shapes];
    const double bytes = parts * 2 * sqrt(area) * K_STEP * 2 / MEMORY_BYTES;
    return operands < KEPT_BYTES || flops > bytes ? flops : bytes;
}

// The cluster with most to do: steps, ends of tiles that hide behind no other's, parts on their
// way.
static double price(const tile_shape *s, int64_t operands, int tiles, int64_t k, int sms,
                    const shares *h)
{
    const bool turns = s->parts == 1;
    const int steps = (int)((k + K_STEP - 1) / K_STEP);
    const int rounds = h ? h->rounds : (tiles + sms / 2 - 1) / (sms / 2);
    const double whole =
        rounds * (steps * step_price(s, operands, sms, 1) + (turns ? 0 : TILE_END)) +
        (turns ? TILE_END : 0);
    if (!h) return whole;
    const double part = (double)slot_bytes(s) / 2 / PART_BYTES + PART_END;
    const int64_t most = ((int64_t)h->each * steps + h->parts - 1) / h->parts;
    return whole + (double)most * step_price(s, operands, sms, h->parts) + TILE_END +
           (1 + (h->parts + h->each - 1) / h->each) * part;
}

static void put_way(tile_way way, int most, tile_way *to, int *n)
{
    int at = *n < most ? (*n)++ : most;
    for (; at > 0 && to[at - 1].cycles > way.cycles; at--)
        if (at < most) to[at] = to[at - 1];
    if (at < most) to[at] = way;
}

int tile_ways(int64_t m, int64_t n, int64_t k, int sms, bool with_parts, int most, tile_way *way)
{
    const int64_t operands = (m + n) * k * 2;
    int found = 0;
    for (int i = 0; i < TILE_SHAPES; i++) {
        const tile_shape *s = &tile_shapes[i];
        const int tiles = whole_tiles(s, m, n, k, sms, NULL);
        tile_way w = {s, {0, 0}, price(s, operands, tiles, k, sms, NULL)};
        put_way(w, most, way, &found);
        for (int each = 1; with_parts && s->parts > 1 && each <= MOST_TILES; each++)
            for (int parts = each + 1; parts <= MOST_PARTS * each; parts++) {
                shares h;
                w.share = (tile_share){parts, each};
                if (!shares_of(tiles, k, sms, w.share, &h)) continue;
                w.cycles = price(s, operands, tiles, k, sms, &h);
                put_way(w, most, way, &found);
            }
    }
    return found;
}

// A matrix of `rows` rows of `cols` elements, `apart` elements from each other, in boxes.
static const char *map_of(CUtensorMap *map, const void *p, bool wide, int64_t rows, int64_t cols,
                          int64_t apart, int box_cols, int box_rows)
{
    const char *why = NULL;
    const cuda_driver *d = cuda_driver_get(&why);
    if (!d) return why;
    cuuint64_t size[2] = {(cuuint64_t)cols, (cuuint64_t)rows};
    cuuint64_t stride[1] = {(cuuint64_t)apart * (wide ? 4 : 2)};
    cuuint32_t box[2] = {(cuuint32_t)box_cols, (cuuint32_t)box_rows}, step[2] = {1, 1};
    CUresult e = d->cuTensorMapEncodeTiled_(
        map, wide ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
        (void *)(uintptr_t)p, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return cuda_driver_said(d, e, "cuTensorMapEncodeTiled");
}

static const char *maps_of(const tile_call *c, const tile_shape *s, tile_args *t)
{
    const cuda_gemm *p = &c->p;
    bool wide = p->y_type == HAP_F32;
    if (p->a_t)
        CUDA_TRY(map_of(&t->a, c->a, false, p->k, p->m, p->la, 64, 32));
    else
        CUDA_TRY(map_of(&t->a, c->a, false, p->m, p->k, p->la, 64, s->rows / 2));
    if (p->b_t)
        CUDA_TRY(map_of(&t->b, c->b, false, p->n, p->k, p->lb, 64, s->cols / 2));
    else
        CUDA_TRY(map_of(&t->b, c->b, false, p->k, p->n, p->lb, 64, 32));
    CUDA_TRY(map_of(&t->y, c->y, wide, p->m, p->n, p->ly, wide ? 32 : 64, 64));
    if (c->before) CUDA_TRY(map_of(&t->before, c->before, wide, p->m, p->n, p->ly, 64, 64));
    if (c->with) CUDA_TRY(map_of(&t->with, c->with, wide, p->m, p->n, p->ly, wide ? 32 : 64, 64));
    return NULL;
}

const char *tile_run(const tile_call *c, const tile_shape *s, cudaStream_t stream)
{
    const cuda_gemm *p = &c->p;
    tile_args t = {.list = c->list, .entries = c->entries};
    int clusters = c->sms / 2;
    CUDA_TRY(tile_why_not(c));
    if (clusters < 1) return cuda_fail("not supported: a tile kernel on %d processors", c->sms);
    if (c->activation && (s->parts != 1 || p->a_t))
        return cuda_fail("not supported: activations by forms in turns alone, of a as it lies");
    CUDA_TRY(maps_of(c, s, &t));
    t.m = (int)p->m, t.n = (int)p->n;
    t.bias = c->bias, t.bias_is_wide = p->bias_type == HAP_F32;
    t.has_with = c->with != NULL, t.sums = c->sums;
    t.activation = (int)c->activation;
    t.wide = p->y_type == HAP_F32, t.has_before = c->before != NULL;
    t.patience = c->patience ? (uint64_t)c->patience : 30000000000;
    t.flags = c->flags, t.epoch = c->epoch, t.late = c->late;
    t.slot_flags = c->room;
    t.slots = c->room ? (float *)((uint32_t *)c->room + TILE_SLOTS * TILE_SLOT_FLAGS) : NULL;
    if (clusters > c->entries) clusters = c->entries;
    // The kernel's word for a row of b: a step of k, unless b is turned.
    return launches[s - tile_shapes](&t, p->a_t, !p->b_t, clusters, stream);
}
