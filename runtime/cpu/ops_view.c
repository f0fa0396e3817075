// Views: bytes move, values stay. Attributes are global sizes; where only one dim changes its
// meaning (split, concat, slice, pad) it is walked by global index, the others agree entry by
// entry.

#include "cpu/ops_kernels.h"

#include <string.h>

// The factors of both shapes line up, so a shard keeps its row-major order: nothing moves.
const char *cpu_reshape(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0];
    if (y->bytes != x->bytes)
        return cpu_fail("reshape from %lld to %lld local bytes", (long long)x->bytes,
                        (long long)y->bytes);
    if (y->data != x->data && y->bytes) memmove(y->data, x->data, (size_t)y->bytes);
    return NULL;
}

const char *cpu_transpose(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0];
    hap_ints perm = c->attr[0].v;
    if (perm.n != x->rank || y->rank != x->rank || y->type != x->type)
        return cpu_fail("transpose: rank or type differ");
    int64_t ys[HAP_MAX_RANK], xs[HAP_MAX_RANK], xp[HAP_MAX_RANK];
    hap_strides(y, ys);
    hap_strides(x, xs);
    for (int d = 0; d < y->rank; d++) {
        int from = hap_dim_index(perm.v[d], x->rank);
        if (y->local[d] != x->local[from]) return cpu_fail("transpose: dim %d differs in size", d);
        xp[d] = xs[from];
    }
    cpu_copy(y->rank, y->local, y->data, ys, x->data, xp, hap_dtype_bytes(y->type));
    return NULL;
}

const char *cpu_expand(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0];
    if (y->rank < x->rank || y->type != x->type) return cpu_fail("expand: rank or type differ");
    int64_t ys[HAP_MAX_RANK], xs[HAP_MAX_RANK], from[HAP_MAX_RANK];
    hap_strides(y, ys);
    hap_strides(x, xs);
    int skip = y->rank - x->rank;
    for (int d = 0; d < y->rank; d++) {
        bool spread = d < skip || (x->local[d - skip] == 1 && y->local[d] != 1);
        if (!spread && x->local[d - skip] != y->local[d])
            return cpu_fail("expand: dim %d has %lld local entries, its operand %lld", d,
                            (long long)y->local[d], (long long)x->local[d - skip]);
        from[d] = spread ? 0 : xs[d - skip];
    }
    cpu_copy(y->rank, y->local, y->data, ys, x->data, from, hap_dtype_bytes(y->type));
    return NULL;
}

const char *cpu_split(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    int dim = hap_dim_index(c->attr[0].i, c->in[0]->rank);
    hap_ints sizes = c->attr[1].v;
    if (sizes.n != c->n_out) return cpu_fail("split: %d sizes, %d outputs", sizes.n, c->n_out);
    int64_t start = 0;
    for (int i = 0; i < c->n_out; i++) {
        CPU_TRY(cpu_copy_shifted(c->out[i], c->in[0], dim, start, NULL));
        start += sizes.v[i];
    }
    return NULL;
}

const char *cpu_slice(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    int dim = hap_dim_index(c->attr[0].i, c->in[0]->rank);
    return cpu_copy_shifted(c->out[0], c->in[0], dim, c->attr[1].i, NULL);
}

const char *cpu_pad(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    int dim = hap_dim_index(c->attr[0].i, c->in[0]->rank);
    double value = c->attr[3].f;
    return cpu_copy_shifted(c->out[0], c->in[0], dim, -c->attr[1].i, &value);
}

const char *cpu_concat(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    int dim = hap_dim_index(c->attr[0].i, c->out[0]->rank);
    int64_t start = 0, filled = 0;
    for (int i = 0; i < c->n_in; i++) {
        CPU_TRY(cpu_copy_into(c->out[0], c->in[i], dim, start));
        cpu_axis a = cpu_axis_of(c->in[i], dim);
        start += cpu_axis_size(&a);
        filled += c->in[i]->elements;
    }
    if (filled != c->out[0]->elements) return cpu_fail("concat: operands leave a gap");
    return NULL;
}

const char *cpu_full(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0];
    cpu_fill(y, c->attr[1].f);
    return NULL;
}
