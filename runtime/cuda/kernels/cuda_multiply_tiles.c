#include "cuda/kernels/cuda_multiply_tiles.h"

#include <stdlib.h>

#include "cuda/kernels/tile_gemm.h"

static tile_call call_of(const cuda_gemm *p, const void *a, const void *b, const void *bias,
                         void *y)
{
    tile_call t = {.p = *p, .a = a, .b = b, .bias = bias, .y = y};
    t.p.adds = false;
    return t;
}

// Slots of parts of k, for all lists: they run on one stream. Without memory for them there are no
// such lists.
static bool has_room(cuda_context *x, void **room)
{
    int64_t most = 0;
    if (*room) return true;
    for (int i = 0; i < TILE_SHAPES; i++) {
        int64_t bytes = tile_room(&tile_shapes[i], cuda_sms(x));
        most = bytes > most ? bytes : most;
    }
    if (cudaMalloc(room, (size_t)most) != cudaSuccess) {
        (void)cudaGetLastError();
        *room = NULL;
        return false;
    }
    x->made[x->phase].allocations++;
    return cudaMemsetAsync(*room, 0, (size_t)most, x->stream) == cudaSuccess;
}

static const char *put_list(cuda_context *x, const cuda_gemm *p, tile_way way, cuda_tiled *to)
{
    const int sms = cuda_sms(x), n = tile_list(way.shape, p->m, p->n, p->k, sms, way.share, NULL);
    const size_t bytes = (size_t)n * sizeof *to->list;
    tile_entry *list = malloc(bytes);
    *to = (cuda_tiled){.shape = way.shape, .entries = n, .shares = way.share.clusters > 0};
    if (!list) return cuda_fail("out of memory");
    tile_list(way.shape, p->m, p->n, p->k, sms, way.share, list);
    cudaError_t e = cudaMalloc((void **)&to->list, bytes);
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(to->list, list, bytes, cudaMemcpyHostToDevice, x->stream);
    if (e == cudaSuccess) e = cudaStreamSynchronize(x->stream);
    free(list);
    x->made[x->phase].allocations++;
    return cuda_said(e, "cudaMalloc");
}

const char *cuda_tiled_ways(cuda_context *x, const cuda_gemm *p, const void *a, const void *b,
                            const void *bias, void *y, int most, void **room, cuda_tiled *to,
                            int *n)
{
    tile_way way[TILE_SHAPES];
    const tile_call t = call_of(p, a, b, bias, y);
    *n = 0;
    if (x->options.tiles == HAP_CUDA_tiles_off || cuda_sms(x) < 2 || tile_why_not(&t)) return NULL;
    if (most > TILE_SHAPES) most = TILE_SHAPES;
    const int found = tile_ways(p->m, p->n, p->k, cuda_sms(x), has_room(x, room), most, way);
    for (int i = 0; i < found; i++) {
        const char *why = put_list(x, p, way[i], &to[(*n)++]);
        if (!why) continue;
        while (*n > 0)
            cuda_tiled_free(&to[--*n]);
        return why;
    }
    return NULL;
}

const char *cuda_tiled_run(cuda_context *x, const cuda_tiled *w, const cuda_gemm *p, const void *a,
                           const void *b, const void *bias, void *y, void *room)
{
    tile_call t = call_of(p, a, b, bias, y);
    t.list = w->list, t.entries = w->entries, t.sms = cuda_sms(x);
    t.room = w->shares ? room : NULL;
    return tile_run(&t, w->shape, x->stream);
}

void cuda_tiled_free(cuda_tiled *w)
{
    if (w->list) cudaFree(w->list);
    *w = (cuda_tiled){0};
}
