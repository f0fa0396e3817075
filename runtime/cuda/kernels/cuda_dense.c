// Dense ops: linear with its bias as epilogue, its weight gradient, batched matmul; and chains that
// begin with them.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/cuda_shadow.h"

// Operands of one type; the result of that type or f32.
static const char *types_fit(const hap_tensor *a, const hap_tensor *b, const hap_tensor *y)
{
    if (a->type == b->type && cuda_is_float(a->type) && (y->type == a->type || y->type == HAP_F32))
        return NULL;
    return cuda_fail("not supported: %s times %s to %s", hap_dtype_name(a->type),
                     hap_dtype_name(b->type), hap_dtype_name(y->type));
}

CUDA_ROW(linear)
{
    hap_tensor *y = c->out[0], *a = c->in[0], *w = c->in[1];
    const hap_tensor *bias = cuda_in(c, 2);
    bool nk = c->attr[0].i == 1;
    int64_t rows = cuda_entries(a, 0, a->rank - 1), k = a->local[a->rank - 1];
    int64_t n = y->local[y->rank - 1];
    CUDA_TRY(types_fit(a, w, y));
    if (w->local[nk ? 0 : 1] != n || w->local[nk ? 1 : 0] != k || y->elements != rows * n)
        return cuda_fail("linear: [%lld %lld] times [%lld %lld]%s does not give %lld x %lld",
                         (long long)rows, (long long)k, (long long)w->local[0],
                         (long long)w->local[1], nk ? "'" : "", (long long)rows, (long long)n);
    if (bias && (bias->elements != n || (bias->type != y->type && bias->type != HAP_F32)))
        return cuda_fail("linear: bias of another length, or %s", hap_dtype_name(bias->type));
    if (y->elements == 0) return NULL;
    bool narrow_bias = bias && (k == 0 || (bias->type != y->type) || (uintptr_t)bias->data % 16);
    if (k == 0) {
        cuda_will_write(x, y->data, y->bytes);
        CUDA_TRY(cuda_fill(x->stream, y, 0));
    }
    if (k > 0) {
        cuda_gemm p = cuda_gemm_of(rows, n, k, false, nk, a->type, y->type);
        p.has_bias = bias && !narrow_bias;
        p.bias_type = p.has_bias ? bias->type : y->type;
        CUDA_TRY(cuda_multiply_rows(x, p, a, w, p.has_bias ? bias->data : NULL, y));
    }
    if (!narrow_bias) return NULL;
    CUDA_TRY(cuda_will_read(x, y->data, y->bytes));
    cuda_will_write(x, y->data, y->bytes);
    hap_op_call add = {.op = HAP_OP_add, .n_out = 1, .n_in = 2};
    add.out[0] = add.in[0] = y;
    add.in[1] = c->in[2];
    return cuda_binary(x, &add);
}

// linear without bias, then the sum of its result and y, in y's place.
const char *cuda_adds_chain(cuda_context *x, const hap_op_call *const *c, int n_calls,
                            unsigned unread, bool *done)
{
    const hap_tensor *a = c[0]->in[0], *w = c[0]->in[1], *y = c[1]->out[0];
    bool nk = c[0]->attr[0].i == 1;
    int64_t rows = cuda_entries(a, 0, a->rank - 1), k = a->local[a->rank - 1];
    int64_t n = w->local[nk ? 0 : 1];
    (void)n_calls, (void)unread;
    *done = rows > 0 && k > 0 && k % 8 == 0 && n % 8 == 0 && y->elements == rows * n;
    if (!*done) return NULL;
    CUDA_TRY(types_fit(a, w, y));
    CUDA_TRY(cuda_call_begins(x, c[0]));
    CUDA_TRY(cuda_call_begins(x, c[1]));
    cuda_gemm p = cuda_gemm_of(rows, n, k, false, nk, a->type, y->type);
    p.adds = true;
    return cuda_multiply(x, p, a->data, w->data, NULL, y->data);
}

// linear, then split of its columns: a matmul a part, straight to where the part is wanted.
const char *cuda_parts_chain(cuda_context *x, const hap_op_call *const *c, int n_calls,
                             unsigned unread, bool *done)
{
    (void)n_calls, (void)unread;
    const hap_tensor *a = c[0]->in[0], *w = c[0]->in[1], *bias = cuda_in(c[0], 2);
    bool nk = c[0]->attr[0].i == 1;
    int64_t rows = cuda_entries(a, 0, a->rank - 1), k = a->local[a->rank - 1];
    int64_t elem = hap_dtype_bytes(w->type), n = w->local[nk ? 0 : 1], col = 0;
    *done = false;
    if (k == 0 || rows == 0 || k % 8 || w->local[nk ? 1 : 0] != k) return NULL;
    for (int i = 0; i < c[1]->n_out; i++)
        CUDA_TRY(types_fit(a, w, c[1]->out[i]));
    if (bias && (bias->elements != n || bias->type != c[1]->out[0]->type)) return NULL;
    if (bias && (uintptr_t)bias->data % 16) return NULL;
    *done = true;
    CUDA_TRY(cuda_call_begins(x, c[0]));
    CUDA_TRY(cuda_call_begins(x, c[1]));
    for (int i = 0; i < c[1]->n_out; i++) {
        hap_tensor *y = c[1]->out[i];
        int64_t cols = y->local[y->rank - 1];
        cuda_gemm p = cuda_gemm_of(rows, cols, k, false, nk, a->type, y->type);
        if (!nk) p.lb = n;
        p.has_bias = bias != NULL;
        CUDA_TRY(cuda_multiply(x, p, a->data, (char *)w->data + col * (nk ? k : 1) * elem,
                               bias ? (char *)bias->data + col * elem : NULL, y->data));
        col += cols;
    }
    return NULL;
}

CUDA_ROW(linear_dw)
{
    hap_tensor *y = c->out[0], *a = c->in[0], *b = c->in[1];
    int64_t rows = cuda_entries(a, 0, a->rank - 1), k = a->local[a->rank - 1];
    int64_t n = b->local[b->rank - 1];
    CUDA_TRY(types_fit(a, b, y));
    if (cuda_entries(b, 0, b->rank - 1) != rows || y->local[0] != k || y->local[1] != n)
        return cuda_fail("linear_dw: shapes do not fit");
    if (y->elements == 0) return NULL;
    if (rows == 0) {
        cuda_will_write(x, y->data, y->bytes);
        return cuda_fill(x->stream, y, 0);
    }
    cuda_gemm p = cuda_gemm_of(k, n, rows, true, false, a->type, y->type);
    return cuda_multiply_rows(x, p, a, b, NULL, y);
}

CUDA_ROW(matmul)
{
    hap_tensor *y = c->out[0], *a = c->in[0], *b = c->in[1];
    bool at = c->attr[0].i == 2, bt = c->attr[0].i == 1;
    const int64_t *la = a->local + a->rank - 2, *lb = b->local + b->rank - 2;
    int64_t m = la[at ? 1 : 0], k = la[at ? 0 : 1], n = lb[bt ? 0 : 1];
    CUDA_TRY(types_fit(a, b, y));
    if (lb[bt ? 1 : 0] != k || y->local[y->rank - 2] != m || y->local[y->rank - 1] != n)
        return cuda_fail("matmul: shapes do not fit");
    int lead = y->rank - 2;
    if (a->rank - 2 > lead || b->rank - 2 > lead) return cuda_fail("matmul: ranks do not fit");
    if (y->elements == 0) return NULL;
    if (k == 0) return cuda_fill(x->stream, y, 0);

    // Leading dims, aligned right; a stride of 0 repeats a matrix. Dims are merged while both
    // operands step evenly: the innermost merged one is the batch of a call.
    int64_t size[HAP_MAX_RANK], sa[HAP_MAX_RANK], sb[HAP_MAX_RANK], na = m * k, nb = k * n;
    int dims = 0; // innermost first
    for (int d = lead - 1; d >= 0; d--) {
        int da = d - (y->rank - a->rank), db = d - (y->rank - b->rank);
        int64_t s = y->local[d], ia = da >= 0 ? a->local[da] : 1, ib = db >= 0 ? b->local[db] : 1;
        if ((ia != 1 && ia != s) || (ib != 1 && ib != s))
            return cuda_fail("matmul: leading dim %d does not broadcast", d);
        int64_t ta = ia == 1 ? 0 : na, tb = ib == 1 ? 0 : nb;
        na *= ia, nb *= ib;
        if (s == 1) continue;
        if (dims > 0 && ta == sa[dims - 1] * size[dims - 1] &&
            tb == sb[dims - 1] * size[dims - 1]) {
            size[dims - 1] *= s;
        } else {
            size[dims] = s, sa[dims] = ta, sb[dims] = tb, dims++;
        }
    }
    cuda_gemm p = cuda_gemm_of(m, n, k, at, bt, a->type, y->type);
    p.step_y = m * n;
    if (dims > 0) p.batch = size[0], p.step_a = sa[0], p.step_b = sb[0];
    if (dims == 1 && !at && sb[0] == 0) // one b for all of a: one tall matmul
        p.m *= p.batch, p.batch = 1, p.step_a = p.step_b = 0, p.step_y = 0;
    int64_t elem = hap_dtype_bytes(a->type), y_elem = hap_dtype_bytes(y->type), calls = 1;
    for (int d = 1; d < dims; d++)
        calls *= size[d];
    for (int64_t i = 0; i < calls; i++) {
        int64_t rest = i, oa = 0, ob = 0;
        for (int d = 1; d < dims; d++) {
            oa += rest % size[d] * sa[d], ob += rest % size[d] * sb[d];
            rest /= size[d];
        }
        CUDA_TRY(cuda_multiply(x, p, (const char *)a->data + oa * elem,
                               (const char *)b->data + ob * elem, NULL,
                               (char *)y->data + i * p.batch * m * n * y_elem));
    }
    return NULL;
}
