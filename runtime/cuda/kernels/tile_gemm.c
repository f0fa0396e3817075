// Host side of tile_gemm.h: tensor maps, the list, the launch.

#include "cuda/kernels/tile_gemm.h"

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
    uintptr_t all = (uintptr_t)c->a | (uintptr_t)c->b | (uintptr_t)c->y | (uintptr_t)c->before;
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
int tile_list(const tile_shape *s, int64_t m, int64_t n, int sms, tile_entry *list)
{
    const int down = (int)((m + s->rows - 1) / s->rows), right = (int)((n + s->cols - 1) / s->cols);
    const bool side = s->rows > s->cols;
    const int tall = side ? 1 : 2, wide = side ? 2 : 1; // a cluster's tiles
    const int rows = down / tall, cols = right / wide;
    const int group = group_rows(tall * s->rows, wide * s->cols, sms / 2);
    int count = 0;
    for (int from = 0; from < rows; from += group)
        for (int col = 0; col < cols; col++)
            for (int row = from; row < rows && row < from + group; row++, count++)
                if (list)
                    list[count] = (tile_entry){.row = row * tall * s->rows,
                                               .col = col * wide * s->cols,
                                               .kind = side ? TILE_RIGHT : 0};
    const int left = side ? right % 2 * down : down % 2 * right;
    for (int i = 0; i < left; i += 2, count++)
        if (list)
            list[count] = (tile_entry){.row = (side ? i : down - 1) * s->rows,
                                       .col = (side ? right - 1 : i) * s->cols,
                                       .kind = side ? 0 : TILE_RIGHT};
    return count;
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
    return NULL;
}

const char *tile_run(const tile_call *c, const tile_shape *s, cudaStream_t stream)
{
    const cuda_gemm *p = &c->p;
    tile_args t = {.list = c->list, .entries = c->entries, .k_steps = (int)((p->k + 63) / 64)};
    int clusters = c->sms / 2;
    CUDA_TRY(tile_why_not(c));
    if (clusters < 1) return cuda_fail("not supported: a tile kernel on %d processors", c->sms);
    CUDA_TRY(maps_of(c, s, &t));
    t.m = (int)p->m, t.n = (int)p->n;
    t.bias = c->bias, t.bias_is_wide = p->bias_type == HAP_F32;
    t.add = c->add, t.add_row = p->ly;
    t.activation = (int)c->activation;
    t.wide = p->y_type == HAP_F32, t.has_before = c->before != NULL;
    t.patience = c->patience ? (uint64_t)c->patience : 30000000000;
    t.flags = c->flags, t.epoch = c->epoch, t.late = c->late;
    if (clusters > c->entries) clusters = c->entries;
    // The kernel's word for a row of b: a step of k, unless b is turned.
    return launches[s - tile_shapes](&t, p->a_t, !p->b_t, clusters, stream);
}
