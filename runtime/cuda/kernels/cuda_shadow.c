#include "cuda/kernels/cuda_shadow.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/kernels/cuda_copy_rows.h"
#include "cuda/kernels/cuda_last.h"

typedef struct shadow {
    char *own; // the tensor's bytes in the arena
    int64_t bytes, rows, cols, ld;
    hap_dtype type;
    char *buffer;
    int64_t room;
    bool valid, truth;
} shadow;

struct cuda_shadows {
    shadow at[CUDA_SHADOWS];
    int n;
};

static bool meets(const shadow *s, const void *p, int64_t bytes)
{
    const char *from = p;
    return s->valid && from < s->own + s->bytes && s->own < from + bytes;
}

static int64_t cols_of(const hap_tensor *t)
{
    return t->rank ? t->local[t->rank - 1] : 1;
}

static shadow *find(cuda_context *x, const hap_tensor *t)
{
    struct cuda_shadows *all = x->shadows;
    for (int i = 0; all && i < all->n; i++) {
        shadow *s = &all->at[i];
        if (s->valid && s->own == t->data && s->bytes == t->bytes && s->type == t->type &&
            s->cols == cols_of(t))
            return s;
    }
    return NULL;
}

static cuda_rows rows_in(const shadow *s)
{
    return (cuda_rows){s->buffer, s->ld};
}

// The smallest free buffer of so many bytes, or a new one; NULL if there is none.
static shadow *take(cuda_context *x, int64_t room)
{
    if (!x->shadows) x->shadows = calloc(1, sizeof *x->shadows);
    struct cuda_shadows *all = x->shadows;
    shadow *best = NULL;
    if (!all) return NULL;
    for (int i = 0; i < all->n; i++) {
        shadow *s = &all->at[i];
        if (!s->valid && s->room >= room && (!best || s->room < best->room)) best = s;
    }
    if (best || x->capturing || all->n == CUDA_SHADOWS) return best;
    void *p = NULL;
    if (cudaMalloc(&p, (size_t)room) != cudaSuccess) {
        cudaGetLastError(); // not an error of the calls to come
        return NULL;
    }
    best = &all->at[all->n++];
    *best = (shadow){.buffer = p, .room = room};
    x->shadow_bytes += room;
    x->made[x->phase].allocations++;
    return best;
}

// A shadow of t whose rows are not yet filled; what lies below them is 0.
static const char *start(cuda_context *x, const hap_tensor *t, shadow **made)
{
    int64_t cols = cols_of(t), rows = cols ? t->elements / cols : 0, ld = cuda_round(cols);
    int64_t elem = hap_dtype_bytes(t->type), below = cuda_round(rows) - rows;
    shadow *s = rows ? take(x, cuda_round(rows) * ld * elem) : NULL;
    *made = s;
    if (!s) return NULL;
    s->own = t->data, s->bytes = t->bytes, s->type = t->type;
    s->rows = rows, s->cols = cols, s->ld = ld;
    s->valid = true, s->truth = false;
    if (below)
        CUDA_CALL(cudaMemsetAsync(s->buffer + rows * ld * elem, 0, (size_t)(below * ld * elem),
                                  x->stream));
    return NULL;
}

const char *cuda_rows_of(cuda_context *x, const hap_tensor *t, cuda_rows *r)
{
    shadow *s = find(x, t);
    *r = s ? rows_in(s) : (cuda_rows){t->data, cols_of(t)};
    return s ? NULL : cuda_will_read(x, t->data, t->bytes);
}

const char *cuda_rows_padded(cuda_context *x, const hap_tensor *t, cuda_rows *r)
{
    shadow *s = find(x, t);
    *r = (cuda_rows){0};
    if (!s) {
        CUDA_TRY(cuda_will_read(x, t->data, t->bytes));
        CUDA_TRY(start(x, t, &s));
        if (!s) return NULL;
        int64_t elem = hap_dtype_bytes(t->type);
        CUDA_TRY(cuda_copy_rows(x->stream, t->type, s->buffer, s->ld, t->type, t->data, s->cols,
                                s->rows, s->cols));
        CUDA_CALL(cudaMemset2DAsync(s->buffer + s->cols * elem, (size_t)(s->ld * elem), 0,
                                    (size_t)((s->ld - s->cols) * elem), (size_t)s->rows,
                                    x->stream));
    }
    *r = rows_in(s);
    return NULL;
}

const char *cuda_rows_new(cuda_context *x, const hap_tensor *t, cuda_rows *r)
{
    shadow *s = find(x, t);
    *r = (cuda_rows){0};
    // Taken before others on these bytes end: their buffers may be read by the same call.
    if (!s) CUDA_TRY(start(x, t, &s));
    if (s) s->valid = false;
    cuda_will_write(x, t->data, t->bytes);
    if (!s) return NULL;
    s->valid = s->truth = true;
    *r = rows_in(s);
    return NULL;
}

const char *cuda_will_read(cuda_context *x, const void *p, int64_t bytes)
{
    struct cuda_shadows *all = x->shadows;
    if (cuda_columns_open(x, p, bytes)) CUDA_TRY(cuda_columns_settle(x));
    CUDA_TRY(cuda_last_will_read(x, p, bytes));
    for (int i = 0; all && i < all->n; i++) {
        shadow *s = &all->at[i];
        if (!s->truth || !meets(s, p, bytes)) continue;
        s->truth = false;
        x->shadow_back += s->bytes;
        CUDA_TRY(cuda_copy_rows(x->stream, s->type, s->own, s->cols, s->type, s->buffer, s->ld,
                                s->rows, s->cols));
    }
    return NULL;
}

const char *cuda_settle_shadows(cuda_context *x)
{
    struct cuda_shadows *all = x->shadows;
    for (int i = 0; all && i < all->n; i++)
        CUDA_TRY(cuda_will_read(x, all->at[i].own, all->at[i].bytes));
    CUDA_TRY(cuda_last_settle(x));
    CUDA_TRY(cuda_columns_settle(x));
    cuda_forget_shadows(x);
    return NULL;
}

void cuda_will_write(cuda_context *x, const void *p, int64_t bytes)
{
    struct cuda_shadows *all = x->shadows;
    if (cuda_columns_open(x, p, bytes)) cuda_columns_settle(x); // a launch that fails shows later
    cuda_last_will_write(x, p, bytes);
    for (int i = 0; all && i < all->n; i++)
        if (meets(&all->at[i], p, bytes)) all->at[i].valid = all->at[i].truth = false;
}

void cuda_forget_shadows(cuda_context *x)
{
    cuda_columns_forget(x);
    cuda_last_forget(x);
    struct cuda_shadows *all = x->shadows;
    for (int i = 0; all && i < all->n; i++)
        all->at[i].valid = all->at[i].truth = false;
}

void cuda_free_shadows(cuda_context *x)
{
    struct cuda_shadows *all = x->shadows;
    cuda_last_free(x);
    for (int i = 0; all && i < all->n; i++)
        cudaFree(all->at[i].buffer);
    free(all);
    x->shadows = NULL;
}

const char *cuda_call_begins(cuda_context *x, const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]) CUDA_TRY(cuda_will_read(x, c->in[i]->data, c->in[i]->bytes));
    for (int i = 0; i < c->n_out; i++)
        cuda_will_write(x, c->out[i]->data, c->out[i]->bytes);
    return NULL;
}
