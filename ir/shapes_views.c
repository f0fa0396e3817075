// Output shapes of the ops with a C function in place of a formula.

#include "ir/shapes.h"

#include <string.h>

// The node at hand.
typedef struct {
    const ir_graph *g;
    const ir_node *n;
    const ir_tensor *x; // first operand
    const char *op;
    hb_arena *a;
    hb_str *why;
} view;

#define FAIL(v, ...) return *(v)->why = hb_fmt((v)->a, __VA_ARGS__), false

static const ir_attr *attr(const view *v, const char *name)
{
    return &v->n->attr[ir_attr_index(v->n->op, name)];
}

static bool check_dim(const view *v, int64_t dim)
{
    if (dim < 0 || dim >= v->x->rank)
        FAIL(v, "%s: dim %lld is out of range for shape %.*s", v->op, (long long)dim,
             HB_ARG(ir_shape_text(v->a, v->x->rank, v->x->dim)));
    return true;
}

static bool take_shape(const view *v, ir_tensor *y, const ir_attr *shape)
{
    if (shape->n > IR_MAX_RANK) FAIL(v, "%s: more than %d dims", v->op, IR_MAX_RANK);
    y->rank = shape->n;
    for (int i = 0; i < shape->n; i++) {
        y->dim[i] = shape->v[i];
        if (y->dim[i] < 1)
            FAIL(v, "%s: size %lld in the shape (sizes are at least 1)", v->op,
                 (long long)y->dim[i]);
    }
    return true;
}

static bool infer_reshape(const view *v, ir_tensor *y)
{
    if (!take_shape(v, y, attr(v, "shape"))) return false;
    if (ir_elements(y) != ir_elements(v->x))
        FAIL(v, "reshape: %.*s has %lld entries, %.*s has %lld",
             HB_ARG(ir_shape_text(v->a, v->x->rank, v->x->dim)), (long long)ir_elements(v->x),
             HB_ARG(ir_shape_text(v->a, y->rank, y->dim)), (long long)ir_elements(y));
    return true;
}

static bool infer_transpose(const view *v, ir_tensor *y)
{
    const ir_attr *perm = attr(v, "perm");
    bool seen[IR_MAX_RANK] = {false};
    bool good = perm->n == v->x->rank;
    for (int i = 0; good && i < perm->n; i++) {
        good = perm->v[i] >= 0 && perm->v[i] < v->x->rank && !seen[perm->v[i]];
        if (good) seen[perm->v[i]] = true;
    }
    if (!good)
        FAIL(v, "transpose: perm %.*s is no permutation of the %d dims",
             HB_ARG(ir_shape_text(v->a, perm->n, perm->v)), v->x->rank);
    y->rank = perm->n;
    for (int i = 0; i < perm->n; i++)
        y->dim[i] = v->x->dim[perm->v[i]];
    return true;
}

static void same_shape(ir_tensor *y, const ir_tensor *x)
{
    y->rank = x->rank;
    memcpy(y->dim, x->dim, sizeof y->dim);
}

static bool infer_split(const view *v, ir_tensor *outs)
{
    int64_t dim = attr(v, "dim")->i, sum = 0;
    const ir_attr *sizes = attr(v, "sizes");
    if (!check_dim(v, dim)) return false;
    for (int i = 0; i < sizes->n; i++) {
        if (sizes->v[i] < 1)
            FAIL(v, "split: size %lld (sizes are at least 1)", (long long)sizes->v[i]);
        sum += sizes->v[i];
        same_shape(&outs[i], v->x);
        outs[i].dim[dim] = sizes->v[i];
    }
    if (sum != v->x->dim[dim])
        FAIL(v, "split: sizes sum to %lld, but dim %lld is %lld", (long long)sum, (long long)dim,
             (long long)v->x->dim[dim]);
    return true;
}

static bool infer_concat(const view *v, ir_tensor *y)
{
    int64_t dim = attr(v, "dim")->i, sum = 0;
    if (!check_dim(v, dim)) return false;
    for (int i = 0; i < v->n->n_in; i++) {
        const ir_tensor *t = &v->g->tensors.p[v->n->in[i]];
        bool same = t->rank == v->x->rank;
        for (int d = 0; same && d < t->rank; d++)
            same = d == dim || t->dim[d] == v->x->dim[d];
        if (!same)
            FAIL(v, "concat: operand %d is %.*s, operand 1 is %.*s, along dim %lld", i + 1,
                 HB_ARG(ir_shape_text(v->a, t->rank, t->dim)),
                 HB_ARG(ir_shape_text(v->a, v->x->rank, v->x->dim)), (long long)dim);
        sum += t->dim[dim];
    }
    same_shape(y, v->x);
    y->dim[dim] = sum;
    return true;
}

static bool infer_slice(const view *v, ir_tensor *y)
{
    int64_t dim = attr(v, "dim")->i, start = attr(v, "start")->i, stop = attr(v, "stop")->i;
    if (!check_dim(v, dim)) return false;
    if (start < 0 || stop > v->x->dim[dim] || start >= stop)
        FAIL(v, "slice: [%lld, %lld) of a dim of %lld", (long long)start, (long long)stop,
             (long long)v->x->dim[dim]);
    same_shape(y, v->x);
    y->dim[dim] = stop - start;
    return true;
}

static bool infer_pad(const view *v, ir_tensor *y)
{
    int64_t dim = attr(v, "dim")->i, before = attr(v, "before")->i, after = attr(v, "after")->i;
    if (!check_dim(v, dim)) return false;
    if (before < 0 || after < 0) FAIL(v, "pad: negative padding (use slice)");
    same_shape(y, v->x);
    y->dim[dim] += before + after;
    return true;
}

static bool infer_expand(const view *v, ir_tensor *y)
{
    if (!take_shape(v, y, attr(v, "shape"))) return false;
    bool good = y->rank >= v->x->rank;
    for (int d = 0; good && d < v->x->rank; d++) {
        int64_t from = v->x->dim[v->x->rank - 1 - d], to = y->dim[y->rank - 1 - d];
        good = from == to || from == 1;
    }
    if (!good)
        FAIL(v, "expand: %.*s does not broadcast to %.*s",
             HB_ARG(ir_shape_text(v->a, v->x->rank, v->x->dim)),
             HB_ARG(ir_shape_text(v->a, y->rank, y->dim)));
    return true;
}

static bool infer_sum(const view *v, ir_tensor *y)
{
    const ir_attr *dims = attr(v, "dims");
    bool gone[IR_MAX_RANK] = {false};
    if (dims->n == 0) FAIL(v, "sum: dims is empty");
    for (int i = 0; i < dims->n; i++) {
        if (!check_dim(v, dims->v[i])) return false;
        if (gone[dims->v[i]]) FAIL(v, "sum: dim %lld twice", (long long)dims->v[i]);
        gone[dims->v[i]] = true;
    }
    bool keep = attr(v, "keepdim")->i != 0;
    y->rank = 0;
    for (int d = 0; d < v->x->rank; d++)
        if (!gone[d] || keep) y->dim[y->rank++] = gone[d] ? 1 : v->x->dim[d];
    return true;
}

bool ir_infer_view(const ir_graph *g, const ir_node *n, ir_tensor *outs, hb_arena *a, hb_str *why)
{
    view v = {g, n, n->n_in ? &g->tensors.p[n->in[0]] : NULL, ir_op_of(n->op)->name, a, why};
    if (n->op == IR_OP_reshape) return infer_reshape(&v, outs);
    if (n->op == IR_OP_transpose) return infer_transpose(&v, outs);
    if (n->op == IR_OP_split) return infer_split(&v, outs);
    if (n->op == IR_OP_concat) return infer_concat(&v, outs);
    if (n->op == IR_OP_slice) return infer_slice(&v, outs);
    if (n->op == IR_OP_pad) return infer_pad(&v, outs);
    if (n->op == IR_OP_expand) return infer_expand(&v, outs);
    if (n->op == IR_OP_sum) return infer_sum(&v, outs);
    hb_assert(n->op == IR_OP_full || n->op == IR_OP_recv);
    return take_shape(&v, outs, attr(&v, "shape"));
}
