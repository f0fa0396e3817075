// Host side of tile_gemm.h: tensor maps, the launch.

#include "cuda/kernels/tile_gemm.h"

#include "cuda/device/cuda_driver.h"
#include "cuda/kernels/tile_args.h"

static tile_launch *const launches[TILE_SHAPES] = {
    tile_launch_128x256, tile_launch_128x192,       tile_launch_128x128,       tile_launch_192x192,
    tile_launch_256x128, tile_launch_turns_128x128, tile_launch_turns_128x192,
};
static tile_launch *const mma_launches[TILE_SHAPES] = {
    tile_mma_128x256, tile_mma_128x192, tile_mma_128x128, tile_mma_192x192,
    tile_mma_256x128, tile_mma_128x128, tile_mma_128x192,
};

static int device_major(void)
{
    int device, major = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        return 0;
    return major;
}

static bool by_mma(const tile_call *c)
{
    return c->mma || device_major() != 9;
}

int tile_sum_rows(const tile_call *c)
{
    return by_mma(c) ? 64 : 128;
}

// What an activation takes and leaves.
static const char *activation_why_not(const tile_call *c)
{
    const tile_activation what = c->activation;
    const bool slope = what == TILE_GELU_TANH_SLOPE || what == TILE_GELU_ERF_SLOPE;
    const bool gated = what == TILE_SILU_TIMES || what == TILE_TIMES_SILU;
    const bool two = what == TILE_GATED_SLOPES;
    if (what == TILE_NONE)
        return c->before || c->with2 || c->sums
                   ? cuda_fail("not supported: two results, operands or sums without an activation")
                   : NULL;
    if (c->p.y_type == HAP_F32)
        return cuda_fail("not supported: tile kernels have activations of 16-bit values alone");
    if ((slope || gated || two) != (c->with != NULL) || two != (c->with2 != NULL) ||
        ((slope || two) && c->bias) || (slope && c->before) || (two && !c->before))
        return cuda_fail("not supported: operands or results that gelu, a slope or silu's product "
                         "has not");
    if ((gated && !c->p.b_t) || (two && c->p.b_t)) // as models have them: others are not built
        return cuda_fail("not supported: silu's products but of b turned, gradients but of b not");
    if (c->sums && !slope) return cuda_fail("not supported: sums of columns of a slope alone");
    return NULL;
}

const char *tile_why_not(const tile_call *c)
{
    const cuda_gemm *p = &c->p;
    uintptr_t all = (uintptr_t)c->a | (uintptr_t)c->b | (uintptr_t)c->y | (uintptr_t)c->before |
                    (uintptr_t)c->with | (uintptr_t)c->with2;
    bool wide = p->y_type == HAP_F32;
    if (device_major() < 8) return cuda_fail("not supported: tile kernels run on sm_80 and later");
    if (p->type != HAP_BF16 || (!wide && p->y_type != HAP_BF16))
        return cuda_fail("not supported: tile kernels take bf16 and make bf16 or f32");
    if (p->batch != 1 || p->m < 1 || p->n < 1 || p->k < 1 || p->m > INT32_MAX / 2 ||
        p->n > INT32_MAX / 2 || p->k > INT32_MAX / 2)
        return cuda_fail("not supported: tile kernels take one matmul that is not empty");
    if (p->a_t && p->b_t) return cuda_fail("not supported: tile kernels turn one operand");
    if (all % 16 || p->la % 8 || p->lb % 8 || p->ly % (wide ? 4 : 8) ||
        p->n % (wide ? 4 : 8)) // stores are clipped in such steps
        return cuda_fail("not supported: tile kernels want rows of multiples of 16 bytes");
    if (c->bias && p->bias_type != HAP_F32 && p->bias_type != HAP_BF16)
        return cuda_fail("not supported: tile kernels take a bias in f32 or bf16");
    if (c->bias && (uintptr_t)c->bias % (p->bias_type == HAP_F32 ? 8 : 4))
        return cuda_fail("not supported: tile kernels take a bias two by two");
    if (c->sum && (wide || c->activation || c->with || c->sum->members > TILE_MEMBERS))
        return cuda_fail("not supported: sums of members' parts but of up to %d in bf16",
                         TILE_MEMBERS);
    if (c->sum && c->sum->stores && (by_mma(c) || p->n % 64))
        return cuda_fail("not supported: stores to members but on sm_90, of 64 columns at a time");
    if (c->n_pushes && (by_mma(c) || p->a_t || c->activation || c->with || c->sum))
        return cuda_fail("not supported: pushes but on sm_90, beside matmuls alone");
    return activation_why_not(c);
}

const char *tile_map(CUtensorMap *map, const void *p, bool wide, int64_t rows, int64_t cols,
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

// The matrix as the call's kernel takes it: `wide` and the boxes of its map, or its rows.
static const char *matrix_of(const tile_call *c, tile_matrix *to, const void *p, bool wide,
                             int64_t rows, int64_t cols, int64_t apart, int box_cols, int box_rows)
{
    if (!by_mma(c)) return tile_map(&to->map, p, wide, rows, cols, apart, box_cols, box_rows);
    to->rows.data = (char *)(uintptr_t)p, to->rows.apart = apart;
    return NULL;
}

const char *tile_place_make(const tile_call *c, const tile_shape *s, tile_place *to)
{
    const cuda_gemm *p = &c->p;
    bool wide = p->y_type == HAP_F32;
    if (p->a_t)
        CUDA_TRY(matrix_of(c, &to->a, c->a, false, p->k, p->m, p->la, 64, 32));
    else
        CUDA_TRY(matrix_of(c, &to->a, c->a, false, p->m, p->k, p->la, 64, s->rows / 2));
    if (p->b_t)
        CUDA_TRY(matrix_of(c, &to->b, c->b, false, p->n, p->k, p->lb, 64, s->cols / 2));
    else
        CUDA_TRY(matrix_of(c, &to->b, c->b, false, p->k, p->n, p->lb, 64, 32));
    to->bias = c->bias, to->depth = (int32_t)p->k, to->to = c->to;
    return matrix_of(c, &to->y, c->y, wide, p->m, p->n, p->ly, wide ? 32 : 64, 64);
}

const char *tile_part_make(const tile_call *c, const void *part, tile_part *to)
{
    return matrix_of(c, &to->at, part, false, c->p.m, c->p.n, c->p.ly, 64, 64);
}

void tile_boxes_make(const void *boxes, uint32_t *flags, tile_part *to)
{
    to->at.rows.data = (char *)(uintptr_t)boxes;
    to->flags = flags;
}

int64_t tile_place_bytes(void)
{
    return sizeof(tile_place);
}

int64_t tile_part_bytes(void)
{
    return sizeof(tile_part);
}

static const char *maps_of(const tile_call *c, const tile_shape *s, tile_args *t)
{
    const cuda_gemm *p = &c->p;
    bool wide = p->y_type == HAP_F32;
    if (!c->places) CUDA_TRY(tile_place_make(c, s, &t->one));
    if (c->before) CUDA_TRY(matrix_of(c, &t->before, c->before, wide, p->m, p->n, p->ly, 64, 64));
    if (c->with)
        CUDA_TRY(matrix_of(c, &t->with, c->with, wide, p->m, p->n, p->ly, wide ? 32 : 64, 64));
    if (c->with2) CUDA_TRY(matrix_of(c, &t->with2, c->with2, wide, p->m, p->n, p->ly, 64, 64));
    return NULL;
}

const char *tile_run(const tile_call *c, const tile_shape *s, cudaStream_t stream)
{
    const cuda_gemm *p = &c->p;
    tile_args t = {
        .list = c->list, .entries = c->entries, .arrivals = s->parts, .places = c->places};
    int clusters = c->sms / 2;
    CUDA_TRY(tile_why_not(c));
    if (clusters < 1) return cuda_fail("not supported: a tile kernel on %d processors", c->sms);
    if ((c->activation || c->sum) && (p->a_t || (c->activation && s->parts != 1)))
        return cuda_fail("not supported: activations by forms in turns alone, of a as it lies");
    CUDA_TRY(maps_of(c, s, &t));
    t.has_bias = c->places ? c->has_bias : c->bias != NULL;
    t.bias_is_wide = p->bias_type == HAP_F32;
    t.has_with = c->with != NULL, t.has_with2 = c->with2 != NULL, t.sums = c->sums;
    t.activation = (int)c->activation;
    t.wide = p->y_type == HAP_F32, t.has_before = c->before != NULL;
    if (c->sum) t.parts = c->sum->parts, t.members = c->sum->members, t.me = c->sum->me;
    t.boxes = c->sum && c->sum->stores;
    t.patience = c->patience ? (uint64_t)c->patience : 30000000000;
    t.pushes = c->pushes, t.n_pushes = c->n_pushes;
    t.waits = c->waits, t.flags = c->flags, t.tallies = c->tallies, t.late = c->late;
    t.number = c->number, t.number_at = c->number_at;
    t.slot_flags = c->room;
    t.slots = c->room ? (float *)((uint32_t *)c->room + TILE_SLOTS * TILE_SLOT_FLAGS) : NULL;
    if (clusters > c->entries) clusters = c->entries;
    // The kernel's word for a row of b: a step of k, unless b is turned.
    return (by_mma(c) ? mma_launches : launches)[s - tile_shapes](&t, p->a_t, !p->b_t, clusters,
                                                                  stream);
}
