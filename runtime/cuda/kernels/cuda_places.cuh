// Where an i64 index points in a dim that may be cut, and which rows of operands that broadcast meet.

#ifndef HAP_RUNTIME_CUDA_PLACES_CUH
#define HAP_RUNTIME_CUDA_PLACES_CUH

#include "cuda/kernels/cuda_kernels.cuh"

// The local row of an index; -1 elsewhere, also after a trap.
__device__ inline int64_t row_of(int64_t id, const cuda_axis &v, cuda_trap *t, int op, int line)
{
    if (id < 0 || id >= v.outer * v.block) {
        trap(t, op, line, id, v.outer * v.block);
        return -1;
    }
    return axis_local(v, id);
}

struct place {
    cuda_axis v;
    cuda_trap *trap;
    int op, line;
};

static place place_of(cuda_context *x, const hap_op_call *c, const hap_tensor *table, int dim)
{
    return {cuda_axis_of(table, dim), x->trap, (int)c->op, x->line};
}

// Rows of N operands by those of the whole, whose leading dims are size[0..n).
template <int N> struct row_map {
    int n;
    int64_t size[HAP_MAX_RANK], step[N][HAP_MAX_RANK];

    // Operand i's dims but its last `tail` broadcast to the leading ones. False: they do not.
    bool takes(int i, const hap_tensor *t, int tail)
    {
        int64_t after = 1;
        if (t->rank < tail || t->rank - tail > n) return false;
        for (int d = 0; d < n; d++)
            step[i][d] = 0;
        for (int d = n - 1, e = t->rank - tail - 1; e >= 0; d--, e--) {
            if (t->local[e] != 1 && t->local[e] != size[d]) return false;
            step[i][d] = t->local[e] == 1 ? 0 : after;
            after *= t->local[e];
        }
        return true;
    }

    __device__ void at(int64_t r, int64_t (&rows)[N]) const
    {
        for (int i = 0; i < N; i++)
            rows[i] = 0;
        for (int d = n - 1; d >= 0; d--) {
            int64_t i = r % size[d];
            r /= size[d];
            for (int k = 0; k < N; k++)
                rows[k] += i * step[k][d];
        }
    }
};

#endif
