#include "cpu/mpi_groups.h"

#include <limits.h>

#include "core/fail.h"
#include "core/float16.h"

void cpu_mpi_check(hap_rank *r, int code, const char *call)
{
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int n = 0;
    MPI_Error_string(code, text, &n);
    hap_fail(r, HAP_EXIT_FAILED, "%s: %s", call, text);
}

int cpu_mpi_count(hap_rank *r, int64_t n)
{
    HAP_CK(r, n <= INT_MAX, "not supported: %lld elements in one MPI message", (long long)n);
    return (int)n;
}

MPI_Datatype cpu_mpi_type(hap_dtype t)
{
    switch (t) {
    case HAP_F32:
        return MPI_FLOAT;
    case HAP_BF16:
    case HAP_F16:
        return MPI_UINT16_T;
    case HAP_I64:
        return MPI_INT64_T;
    case HAP_I32:
        return MPI_INT32_T;
    case HAP_BOOL:
    case HAP_U8:
        return MPI_UINT8_T;
    }
    return MPI_BYTE;
}

// In f32, rounded after every addition: what a chain of bf16 adds gives.
#define REDUCTION(name, to_f32, from_f32, expr)                                                    \
    static void name(void *in, void *inout, int *n, MPI_Datatype *type)                            \
    {                                                                                              \
        (void)type;                                                                                \
        const uint16_t *x = in;                                                                    \
        uint16_t *y = inout;                                                                       \
        for (int i = 0; i < *n; i++) {                                                             \
            float a = to_f32(x[i]), b = to_f32(y[i]);                                              \
            y[i] = from_f32(expr);                                                                 \
        }                                                                                          \
    }
REDUCTION(sum_bf16, hap_bf16_to_f32, hap_f32_to_bf16, a + b)
REDUCTION(max_bf16, hap_bf16_to_f32, hap_f32_to_bf16, a > b ? a : b)
REDUCTION(sum_f16, hap_f16_to_f32, hap_f32_to_f16, a + b)
REDUCTION(max_f16, hap_f16_to_f32, hap_f32_to_f16, a > b ? a : b)

MPI_Op cpu_mpi_op(const hap_rank *r, hap_dtype t, hap_reduce reduce)
{
    const cpu_backend *b = cpu_of(r);
    bool sum = reduce == HAP_SUM;
    if (t == HAP_BF16) return sum ? b->sum_bf16 : b->max_bf16;
    if (t == HAP_F16) return sum ? b->sum_f16 : b->max_f16;
    if (t == HAP_BOOL) return MPI_MAX; // a sum of truth values is "any"
    return sum ? MPI_SUM : MPI_MAX;
}

void cpu_mpi_start(hap_rank *r)
{
    cpu_backend *b = cpu_of(r);
    cpu_mpi_check(r, MPI_Comm_split(MPI_COMM_WORLD, r->stage, r->id, &b->all), "MPI_Comm_split");
    for (unsigned mask = 0; mask < 4; mask++) {
        b->group[mask] = MPI_COMM_NULL;
        if (mask >> r->n_axes) continue;
        // Ranks of a group agree in the coordinates outside the mask.
        int color = 0;
        for (int a = 0; a < r->n_axes; a++)
            color = color * r->size[a] + (mask & AXIS(a) ? 0 : r->coord[a]);
        cpu_mpi_check(r, MPI_Comm_split(b->all, color, r->id, &b->group[mask]), "MPI_Comm_split");
        MPI_Comm_set_errhandler(b->group[mask], MPI_ERRORS_RETURN); // cpu_mpi_check says where
    }
    b->between = b->spread = MPI_COMM_NULL;
    if (r->n_axes == 2) {
        cpu_mpi_check(r, MPI_Comm_dup(b->group[AXIS(0)], &b->between), "MPI_Comm_dup");
        cpu_mpi_check(r, MPI_Comm_dup(b->group[AXIS(1)], &b->spread), "MPI_Comm_dup");
    }
    cpu_mpi_check(r, MPI_Op_create(sum_bf16, 1, &b->sum_bf16), "MPI_Op_create");
    cpu_mpi_check(r, MPI_Op_create(max_bf16, 1, &b->max_bf16), "MPI_Op_create");
    cpu_mpi_check(r, MPI_Op_create(sum_f16, 1, &b->sum_f16), "MPI_Op_create");
    cpu_mpi_check(r, MPI_Op_create(max_f16, 1, &b->max_f16), "MPI_Op_create");
}

void cpu_mpi_end(hap_rank *r)
{
    cpu_backend *b = cpu_of(r);
    for (int mask = 0; mask < 4; mask++) {
        if (b->group[mask] != MPI_COMM_NULL) MPI_Comm_free(&b->group[mask]);
    }
    MPI_Comm_free(&b->all);
    if (b->between != MPI_COMM_NULL) MPI_Comm_free(&b->between);
    if (b->spread != MPI_COMM_NULL) MPI_Comm_free(&b->spread);
    MPI_Op_free(&b->sum_bf16);
    MPI_Op_free(&b->max_bf16);
    MPI_Op_free(&b->sum_f16);
    MPI_Op_free(&b->max_f16);
}
