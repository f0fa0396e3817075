#include "cuda/kernels/cuda_last.h"

#include <vector>

#include "cuda/kernels/cuda_kernels.cuh"

namespace
{
enum { SIDE = 32, ROWS = 8 }; // of a tile; of threads in a block

struct lying {
    const char *at;
    int64_t bytes, elem;
    cuda_last shape;
};

bool meets(const lying &o, const void *p, int64_t bytes)
{
    const char *from = (const char *)p;
    return from < o.at + o.bytes && o.at < from + bytes;
}

bool turns(const cuda_last &s)
{
    return s.channels > 1 && s.places > 1 && s.images > 0;
}

bool same(const cuda_last &a, const cuda_last &b)
{
    return a.images == b.images && a.channels == b.channels && a.places == b.places;
}

// y[n, b, a] = x[n, a, b], lx and ly entries between rows; a tile a block, blocks stride over images
// and tiles of a.
template <class Y, class X>
__global__ void turn(Y *y, const X *x, int64_t n, int64_t a, int64_t b, int64_t lx, int64_t ly)
{
    __shared__ Y tile[SIDE][SIDE + 1];
    int64_t b0 = (int64_t)blockIdx.x * SIDE, tiles_a = (a + SIDE - 1) / SIDE;
    for (int64_t t = blockIdx.y; t < n * tiles_a; t += gridDim.y) {
        int64_t image = t / tiles_a, a0 = t % tiles_a * SIDE;
        for (int64_t i = threadIdx.y; i < SIDE; i += ROWS)
            if (a0 + i < a && b0 + threadIdx.x < b)
                tile[i][threadIdx.x] = (Y)x[(image * a + a0 + i) * lx + b0 + threadIdx.x];
        __syncthreads();
        for (int64_t i = threadIdx.y; i < SIDE; i += ROWS)
            if (b0 + i < b && a0 + threadIdx.x < a)
                y[(image * b + b0 + i) * ly + a0 + threadIdx.x] = tile[threadIdx.x][i];
        __syncthreads();
    }
}

struct turning {
    int64_t n, a, b, lx, ly;
};

template <class Y, class X>
const char *run(cuda_context *x, void *y, const void *of, const turning &t)
{
    int64_t tiles = t.n * ceil_div(t.a, SIDE);
    dim3 grid((unsigned)ceil_div(t.b, SIDE), (unsigned)(tiles < 65535 ? tiles : 65535));
    if (t.n * t.a * t.b == 0) return NULL;
    turn<Y, X><<<grid, dim3(SIDE, ROWS), 0, x->stream>>>((Y *)y, (const X *)of, t.n, t.a, t.b, t.lx,
                                                         t.ly);
    return launched();
}

const char *turn_bytes(cuda_context *x, int64_t elem, void *y, const void *of, const turning &t)
{
    return elem == 1   ? run<uint8_t, uint8_t>(x, y, of, t)
           : elem == 2 ? run<uint16_t, uint16_t>(x, y, of, t)
           : elem == 4 ? run<uint32_t, uint32_t>(x, y, of, t)
                       : run<uint64_t, uint64_t>(x, y, of, t);
}

const char *turn_dense(cuda_context *x, int64_t elem, void *y, const void *of, int64_t n, int64_t a,
                       int64_t b)
{
    if (a == 1 || b == 1) return cuda_copy(x->stream, y, of, n * a * b * elem);
    return turn_bytes(x, elem, y, of, {n, a, b, b, a});
}

int64_t image_bytes(const cuda_last &s, int64_t elem)
{
    return s.channels * s.places * elem;
}
} // namespace

struct cuda_lasts {
    std::vector<lying> all;
    char *room = nullptr; // of CUDA_LAST_ROOM bytes: images on their way
};

cuda_last cuda_last_shape(const hap_tensor *t)
{
    return {t->local[0], t->local[1], cuda_entries(t, 2, t->rank)};
}

bool cuda_lies_last(const cuda_context *x, const hap_tensor *t, cuda_last *shape)
{
    if (!x->lasts) return false;
    for (const lying &o : x->lasts->all)
        if (o.at == t->data && o.bytes == t->bytes && o.elem == hap_dtype_bytes(t->type)) {
            *shape = o.shape;
            return true;
        }
    return false;
}

bool cuda_is_last(const cuda_context *x, const hap_tensor *t)
{
    cuda_last shape, own = cuda_last_shape(t);
    return !turns(own) || (cuda_lies_last(x, t, &shape) && same(shape, own));
}

bool cuda_any_last(const cuda_context *x, hap_tensor *const *in, int n, int64_t elements,
                   cuda_last *shape)
{
    for (int i = 0; i < n; i++)
        if (in[i] && in[i]->elements == elements && cuda_lies_last(x, in[i], shape)) return true;
    return false;
}

// Dims of one entry have any place.
bool cuda_last_is_order(const hap_tensor *t, const cuda_last *shape, const int *order)
{
    const int64_t size[3] = {shape->images, shape->channels, shape->places};
    int want[HAP_MAX_RANK], n = 0, d = 0, from[4] = {0};
    for (int k = 0; k < 3; k++) { // dims of images, of channels, of places
        int64_t entries = 1;
        for (; d < t->rank && entries < size[k]; d++)
            entries *= t->local[d];
        if (entries != size[k]) return false;
        from[k + 1] = d;
    }
    for (; d < t->rank; d++)
        if (t->local[d] != 1) return false;
    for (int k : {0, 2, 1})
        for (int i = from[k]; i < from[k + 1]; i++)
            if (t->local[i] != 1) want[n++] = i;
    int m = 0;
    for (int i = 0; i < t->rank; i++)
        if (t->local[order[i]] != 1 && (m == n || want[m++] != order[i])) return false;
    return m == n;
}

bool cuda_may_lie_last(cuda_context *x, const hap_tensor *t, const cuda_last *shape)
{
    if (!turns(*shape)) return true;
    if (image_bytes(*shape, hap_dtype_bytes(t->type)) > (int64_t)CUDA_LAST_ROOM << 20) return false;
    if (!x->lasts) x->lasts = new cuda_lasts();
    if (x->lasts->room) return true;
    void *p = nullptr;
    if (x->capturing || cudaMalloc(&p, (size_t)CUDA_LAST_ROOM << 20) != cudaSuccess) {
        cudaGetLastError(); // not an error of the calls to come
        return false;
    }
    x->lasts->room = (char *)p;
    x->made[x->phase].allocations++;
    return true;
}

void cuda_last_note(cuda_context *x, const hap_tensor *t, const cuda_last *shape)
{
    x->lasts->all.push_back({(const char *)t->data, t->bytes, hap_dtype_bytes(t->type), *shape});
}

bool cuda_last_turns(const cuda_last *shape)
{
    return turns(*shape);
}

const char *cuda_turn(cuda_context *x, hap_dtype y_type, void *y, hap_dtype x_type, const void *of,
                      int64_t n, int64_t a, int64_t b)
{
    if (y_type == x_type) return turn_dense(x, hap_dtype_bytes(y_type), y, of, n, a, b);
    return cuda_turn_rows(x, y_type, y, a, x_type, of, b, n, a, b);
}

const char *cuda_turn_rows(cuda_context *x, hap_dtype y_type, void *y, int64_t ly, hap_dtype x_type,
                           const void *of, int64_t lx, int64_t n, int64_t a, int64_t b)
{
    turning t = {n, a, b, lx, ly};
    if (y_type == x_type) return turn_bytes(x, hap_dtype_bytes(y_type), y, of, t);
    if (y_type != HAP_F32 || !cuda_is_float(x_type))
        return cuda_fail("not supported: %s turned to %s", hap_dtype_name(x_type),
                         hap_dtype_name(y_type));
    return x_type == HAP_BF16 ? run<float, __nv_bfloat16>(x, y, of, t)
                              : run<float, __half>(x, y, of, t);
}

// --- where others read and write ---

static const char *as_declared(cuda_context *x, const lying &o)
{
    const cuda_last &s = o.shape;
    int64_t image = image_bytes(s, o.elem), most = ((int64_t)CUDA_LAST_ROOM << 20) / image;
    for (int64_t i = 0; i < s.images; i += most) {
        int64_t n = s.images - i < most ? s.images - i : most;
        char *at = (char *)o.at + i * image;
        CUDA_TRY(turn_dense(x, o.elem, x->lasts->room, at, n, s.places, s.channels));
        CUDA_TRY(cuda_copy(x->stream, at, x->lasts->room, n * image));
    }
    x->last_back += o.bytes;
    return NULL;
}

const char *cuda_last_will_read(cuda_context *x, const void *p, int64_t bytes)
{
    if (!x->lasts) return NULL;
    std::vector<lying> &all = x->lasts->all;
    for (size_t i = all.size(); i-- > 0;) {
        if (!meets(all[i], p, bytes)) continue;
        CUDA_TRY(as_declared(x, all[i]));
        all.erase(all.begin() + (ptrdiff_t)i);
    }
    return NULL;
}

void cuda_last_will_write(cuda_context *x, const void *p, int64_t bytes)
{
    if (!x->lasts) return;
    std::vector<lying> &all = x->lasts->all;
    for (size_t i = all.size(); i-- > 0;)
        if (meets(all[i], p, bytes)) all.erase(all.begin() + (ptrdiff_t)i);
}

const char *cuda_last_settle(cuda_context *x)
{
    if (!x->lasts) return NULL;
    for (const lying &o : x->lasts->all)
        CUDA_TRY(as_declared(x, o));
    x->lasts->all.clear();
    return NULL;
}

void cuda_last_forget(cuda_context *x)
{
    if (x->lasts) x->lasts->all.clear();
}

void cuda_last_free(cuda_context *x)
{
    if (!x->lasts) return;
    cudaFree(x->lasts->room);
    delete x->lasts;
    x->lasts = nullptr;
}
