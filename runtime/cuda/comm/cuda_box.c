#include "cuda/comm/cuda_box.h"

#include "cuda/kernels/cuda_ops.h"

int64_t cuda_box_offset(const hap_coll_view *v, hap_box held, hap_box part)
{
    int64_t rows = (part.f1.lo - held.f1.lo) * v->mid;
    return (rows * held.f2.n + part.f2.lo - held.f2.lo) * v->inner * v->item;
}

bool cuda_box_dense(const hap_coll_view *v, hap_box held, hap_box part)
{
    bool wide = part.f2.n == held.f2.n;
    return (wide || part.f1.n * v->mid == 1) && (v->outer == 1 || (wide && part.f1.n == held.f1.n));
}

// The part's rows are rows of all of the second factor on both sides: one run of each of f1's.
static bool wide_rows(hap_box to_held, hap_box from_held, hap_box part)
{
    return part.f2.n == to_held.f2.n && part.f2.n == from_held.f2.n;
}

// A copy engine would take up many short runs.
static bool by_kernel(const hap_coll_view *v, hap_box to_held, hap_box from_held, hap_box part,
                      int64_t shortest)
{
    int64_t run = part.f2.n * v->inner * v->item;
    if (cuda_box_dense(v, to_held, part) && cuda_box_dense(v, from_held, part)) return false;
    if (wide_rows(to_held, from_held, part)) run *= part.f1.n * v->mid;
    return run < shortest;
}

const char *cuda_box_copy(cudaStream_t s, const hap_coll_view *v, void *to, hap_box to_held,
                          const void *from, hap_box from_held, hap_box part, int64_t shortest)
{
    size_t unit = (size_t)(v->inner * v->item);
    if (hap_box_bytes(v, part) == 0) return NULL;
    char *y = (char *)to + cuda_box_offset(v, to_held, part);
    const char *x = (const char *)from + cuda_box_offset(v, from_held, part);
    if (by_kernel(v, to_held, from_held, part, shortest)) {
        int64_t rows = part.f1.n * v->mid;
        int64_t y_step = to_held.f2.n * v->inner, x_step = from_held.f2.n * v->inner;
        cuda_strided m = {.rank = 3,
                          .size = {v->outer, rows, part.f2.n * v->inner},
                          .to = {to_held.f1.n * v->mid * y_step, y_step, 1},
                          .from = {from_held.f1.n * v->mid * x_step, x_step, 1}};
        return cuda_copy_strided(s, y, x, &m, v->item);
    }
    if (cuda_box_dense(v, to_held, part) && cuda_box_dense(v, from_held, part))
        return cuda_said(
            cudaMemcpyAsync(y, x, (size_t)hap_box_bytes(v, part), cudaMemcpyDeviceToDevice, s),
            "cudaMemcpyAsync");
    size_t rows = (size_t)(part.f1.n * v->mid);
    size_t y_row = (size_t)to_held.f2.n * unit, x_row = (size_t)from_held.f2.n * unit;
    if (wide_rows(to_held, from_held, part))
        return cuda_said(cudaMemcpy2DAsync(y, (size_t)(to_held.f1.n * v->mid) * y_row, x,
                                           (size_t)(from_held.f1.n * v->mid) * x_row, rows * y_row,
                                           (size_t)v->outer, cudaMemcpyDeviceToDevice, s),
                         "cudaMemcpy2DAsync");
    struct cudaMemcpy3DParms m = {
        .srcPtr = {(void *)(uintptr_t)x, x_row, (size_t)part.f2.n * unit,
                   (size_t)(from_held.f1.n * v->mid)},
        .dstPtr = {y, y_row, (size_t)part.f2.n * unit, (size_t)(to_held.f1.n * v->mid)},
        .extent = {(size_t)part.f2.n * unit, rows, (size_t)v->outer},
        .kind = cudaMemcpyDeviceToDevice};
    return cuda_said(cudaMemcpy3DAsync(&m, s), "cudaMemcpy3DAsync");
}
