// Views: bytes move, values stay (cpu/ops_view.c says what the attributes mean).

#include "cuda/kernels/cuda_lay.h"
#include "cuda/kernels/cuda_shadow.h"

CUDA_ROW(reshape)
{
    hap_tensor *y = c->out[0], *from = c->in[0];
    if (y->bytes != from->bytes)
        return cuda_fail("reshape from %lld to %lld local bytes", (long long)from->bytes,
                         (long long)y->bytes);
    return cuda_copy(x->stream, y->data, from->data, y->bytes);
}

// Channels moved to the end of what lies channels last, or from the end to before the places of an
// image: the bytes stay as they are.
static const char *by_bytes(cuda_context *x, hap_tensor *y, hap_tensor *from, const int *perm,
                            bool *done)
{
    cuda_last shape;
    int back[HAP_MAX_RANK];
    bool lies = cuda_lies_last(x, from, &shape);
    for (int d = 0; d < y->rank; d++)
        back[perm[d]] = d;
    if (lies) {
        *done = cuda_last_is_order(from, &shape, perm);
        if (!*done) return NULL;
        cuda_will_write(x, y->data, y->bytes);
    } else {
        *done = y->rank >= 4 && y->elements > 0 && cuda_is_float(y->type);
        if (*done) shape = cuda_last_shape(y);
        *done = *done && shape.channels > 1 && shape.places > 1 &&
                cuda_last_is_order(y, &shape, back) && cuda_may_lie_last(x, y, &shape);
        if (!*done) return NULL;
        CUDA_TRY(cuda_will_read(x, from->data, from->bytes));
        CUDA_TRY(cuda_lie_last(x, y, &shape));
    }
    return cuda_copy(x->stream, y->data, from->data, y->bytes);
}

CUDA_ROW(transpose)
{
    hap_tensor *y = c->out[0], *from = c->in[0];
    hap_ints perm = c->attr[0].v;
    if (perm.n != from->rank || y->rank != from->rank || y->type != from->type)
        return cuda_fail("transpose: rank or type differ");
    int order[HAP_MAX_RANK];
    bool done;
    for (int d = 0; d < y->rank; d++) {
        order[d] = hap_dim_index(perm.v[d], from->rank);
        if (y->local[d] != from->local[order[d]])
            return cuda_fail("transpose: dim %d differs in size", d);
    }
    CUDA_TRY(by_bytes(x, y, from, order, &done));
    if (done) return NULL;
    CUDA_TRY(cuda_call_begins(x, c));
    int64_t xs[HAP_MAX_RANK];
    cuda_strided m = {.rank = y->rank};
    hap_strides(y, m.to);
    hap_strides(from, xs);
    for (int d = 0; d < y->rank; d++) {
        m.from[d] = xs[order[d]];
        m.size[d] = y->local[d];
    }
    return cuda_copy_strided(x->stream, y->data, from->data, &m, hap_dtype_bytes(y->type));
}

CUDA_ROW(expand)
{
    hap_tensor *y = c->out[0], *from = c->in[0];
    if (y->rank < from->rank || y->type != from->type)
        return cuda_fail("expand: rank or type differ");
    int64_t xs[HAP_MAX_RANK];
    cuda_strided m = {.rank = y->rank};
    hap_strides(y, m.to);
    hap_strides(from, xs);
    int skip = y->rank - from->rank;
    for (int d = 0; d < y->rank; d++) {
        bool spread = d < skip || (from->local[d - skip] == 1 && y->local[d] != 1);
        if (!spread && from->local[d - skip] != y->local[d])
            return cuda_fail("expand: dim %d has %lld local entries, its operand %lld", d,
                             (long long)y->local[d], (long long)from->local[d - skip]);
        m.from[d] = spread ? 0 : xs[d - skip];
        m.size[d] = y->local[d];
    }
    return cuda_copy_strided(x->stream, y->data, from->data, &m, hap_dtype_bytes(y->type));
}

CUDA_ROW(split)
{
    hap_ints sizes = c->attr[1].v;
    cuda_remap m = {.dim = hap_dim_index(c->attr[0].i, c->in[0]->rank)};
    if (sizes.n != c->n_out) return cuda_fail("split: %d sizes, %d outputs", sizes.n, c->n_out);
    for (int i = 0; i < c->n_out; i++) {
        CUDA_TRY(cuda_move_remapped(x->stream, c->out[i], c->in[0], &m));
        m.shift += sizes.v[i];
    }
    return NULL;
}

CUDA_ROW(slice)
{
    cuda_remap m = {.dim = hap_dim_index(c->attr[0].i, c->in[0]->rank), .shift = c->attr[1].i};
    return cuda_move_remapped(x->stream, c->out[0], c->in[0], &m);
}

CUDA_ROW(pad)
{
    double value = c->attr[3].f;
    cuda_remap m = {
        .dim = hap_dim_index(c->attr[0].i, c->in[0]->rank), .shift = -c->attr[1].i, .pad = &value};
    return cuda_move_remapped(x->stream, c->out[0], c->in[0], &m);
}

CUDA_ROW(concat)
{
    cuda_remap m = {.dim = hap_dim_index(c->attr[0].i, c->out[0]->rank), .into = true};
    int64_t filled = 0;
    for (int i = 0; i < c->n_in; i++) {
        CUDA_TRY(cuda_move_remapped(x->stream, c->in[i], c->out[0], &m));
        cuda_axis a = cuda_axis_of(c->in[i], m.dim);
        m.shift += cuda_axis_size(&a);
        filled += c->in[i]->elements;
    }
    if (filled != c->out[0]->elements) return cuda_fail("concat: operands leave a gap");
    return NULL;
}

CUDA_ROW(full)
{
    return cuda_fill(x->stream, c->out[0], c->attr[1].f);
}
