// Gradient rules, one an op: they build ops. Operand order of the gradients' ops: ops.def.

#include "ir/vjp.h"

#include <string.h>

#include "ir/vjp_again.h"

#define DY dy[0]

static int unary(ir_back *b, ir_op op, const char *what, int x)
{
    return vjp_emit(b, op, what, 1, &x, NULL);
}

static int binary(ir_back *b, ir_op op, const char *what, int x, int y)
{
    return vjp_emit(b, op, what, 2, (int[]){x, y}, NULL);
}

static int with_int(ir_back *b, ir_op op, const char *what, int n_in, const int *in, int64_t i)
{
    return vjp_emit(b, op, what, n_in, in, &(ir_attr){.kind = IR_ATTR_INT, .i = i});
}

static int with_real(ir_back *b, ir_op op, const char *what, int x, double c)
{
    return vjp_emit(b, op, what, 1, &x, &(ir_attr){.kind = IR_ATTR_REAL, .f = c});
}

static const ir_tensor *tensor(const ir_back *b, int t)
{
    return &b->g->tensors.p[t];
}

static ir_attr ints(int n, const int64_t *v)
{
    ir_attr a = {.kind = IR_ATTR_INTS, .n = n};
    hb_assert(n <= IR_MAX_RANK + 2);
    if (n > 0) memcpy(a.v, v, sizeof(int64_t) * (size_t)n);
    return a;
}

static int full(ir_back *b, const char *what, int rank, const int64_t *dim, double value,
                ir_dtype dtype)
{
    ir_attr a[3] = {ints(rank, dim),
                    {.kind = IR_ATTR_REAL, .f = value},
                    {.kind = IR_ATTR_DTYPE, .i = (int64_t)dtype}};
    return vjp_emit(b, IR_OP_full, what, 0, NULL, a);
}

// --- dense ---

static bool vjp_linear(ir_back *b, const ir_node *n, const int *dy)
{
    int64_t trans = n->attr[0].i; // 0: w is [k, n]; 1: w is [n, k]
    int x = n->in[0], w = n->in[1];
    if (vjp_wants(b, 0))
        vjp_give(b, 0, with_int(b, IR_OP_linear, "dx", 2, (int[]){DY, w}, 1 - trans));
    if (vjp_wants(b, 1))
        vjp_give(b, 1, binary(b, IR_OP_linear_dw, "dw", trans ? DY : x, trans ? x : DY));
    if (vjp_wants(b, 2)) vjp_give_as(b, 2, DY, "db"); // summed over the rows
    return true;
}

static bool vjp_matmul(ir_back *b, const ir_node *n, const int *dy)
{
    // trans 0: a[mk] b[kn]; 1: a[mk] b[nk]; 2: a[km] b[kn]
    int64_t trans = n->attr[0].i;
    int p = n->in[0], q = n->in[1];
    if (vjp_wants(b, 0)) {
        int da = trans == 0   ? with_int(b, IR_OP_matmul, "da", 2, (int[]){DY, q}, 1)
                 : trans == 1 ? with_int(b, IR_OP_matmul, "da", 2, (int[]){DY, q}, 0)
                              : with_int(b, IR_OP_matmul, "da", 2, (int[]){q, DY}, 1);
        vjp_give(b, 0, da);
    }
    if (vjp_wants(b, 1)) {
        int db = trans == 0   ? with_int(b, IR_OP_matmul, "db", 2, (int[]){p, DY}, 2)
                 : trans == 1 ? with_int(b, IR_OP_matmul, "db", 2, (int[]){DY, p}, 2)
                              : with_int(b, IR_OP_matmul, "db", 2, (int[]){p, DY}, 0);
        vjp_give(b, 1, db);
    }
    return true;
}

static bool vjp_sdpa(ir_back *b, const ir_node *n, const int *dy)
{
    if (n->n_out > 1 && dy[1] >= 0) {
        hb_error(b->d, &b->g->src, n->at,
                 "not supported: gradient through the logsumexp of sdpa '%.*s'", HB_ARG(n->name));
        return false;
    }
    if (vjp_wants(b, 3)) {
        hb_error(b->d, &b->g->src, n->at,
                 "not supported: gradient of the mask of sdpa '%.*s' (write scores, softmax and "
                 "matmul instead)",
                 HB_ARG(n->name));
        return false;
    }
    int in[7] = {
        DY, n->in[0], n->in[1], n->in[2], n->out[0], n->out[1], n->n_in > 3 ? n->in[3] : -1};
    vjp_emit(b, IR_OP_sdpa_bwd, "dqkv", n->n_in > 3 ? 7 : 6, in, n->attr);
    const ir_node bwd = b->g->nodes.p[b->g->nodes.n - 1];
    for (int i = 0; i < 3; i++)
        vjp_give(b, i, bwd.out[i]);
    return true;
}

// --- windows ---

// Stride, padding, dilation and groups of a convolution, and the sizes of t's last dims.
static void window_attrs(const ir_back *b, const ir_node *n, int t, ir_attr *a)
{
    memcpy(a, n->attr, 3 * sizeof *a);
    a[3] = ints(2, tensor(b, t)->dim + 2);
    a[4] = n->attr[ir_attr_index(n->op, "groups")];
}

static bool vjp_conv(ir_back *b, const ir_node *n, const int *dy)
{
    int x = n->in[0], w = n->in[1];
    ir_attr a[5];
    if (vjp_wants(b, 0)) {
        window_attrs(b, n, x, a);
        vjp_give(b, 0, vjp_emit(b, IR_OP_conv_transposed, "dx", 2, (int[]){DY, w}, a));
    }
    if (vjp_wants(b, 1)) {
        window_attrs(b, n, w, a);
        vjp_give(b, 1, vjp_emit(b, IR_OP_conv_dw, "dw", 2, (int[]){x, DY}, a));
    }
    if (vjp_wants(b, 2)) {
        ir_attr dims[2] = {ints(3, (int64_t[]){0, 2, 3}), {.kind = IR_ATTR_BOOL}};
        vjp_give(b, 2, vjp_emit(b, IR_OP_sum, "db", 1, dy, dims));
    }
    return true;
}

static bool vjp_conv_transposed(ir_back *b, const ir_node *n, const int *dy)
{
    int x = n->in[0], w = n->in[1];
    ir_attr a[5];
    window_attrs(b, n, w, a);
    if (vjp_wants(b, 1)) vjp_give(b, 1, vjp_emit(b, IR_OP_conv_dw, "dw", 2, (int[]){DY, x}, a));
    a[3] = a[4];
    if (vjp_wants(b, 0)) vjp_give(b, 0, vjp_emit(b, IR_OP_conv, "dx", 2, (int[]){DY, w}, a));
    return true;
}

static bool vjp_max_pool(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, vjp_emit(b, IR_OP_max_pool_bwd, "dx", 2, (int[]){DY, n->in[0]}, n->attr));
    return true;
}

// --- mixture of experts ---

static bool vjp_top_gates(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, with_int(b, IR_OP_top_gates_bwd, "dx", 2, (int[]){DY, n->in[0]}, n->attr[0].i));
    return true;
}

static bool vjp_expert_slots(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_expert_slots_bwd, "dx", DY, n->out[0]));
    return true;
}

// dispatch and combine are each other's gradient.
static bool vjp_dispatch(ir_back *b, const ir_node *n, const int *dy)
{
    if (vjp_wants(b, 0)) vjp_give(b, 0, binary(b, IR_OP_dispatch_dw, "dw", n->in[1], DY));
    if (vjp_wants(b, 1)) vjp_give(b, 1, binary(b, IR_OP_combine, "dx", n->in[0], DY));
    return true;
}

static bool vjp_combine(ir_back *b, const ir_node *n, const int *dy)
{
    if (vjp_wants(b, 0)) vjp_give(b, 0, binary(b, IR_OP_dispatch_dw, "dw", DY, n->in[1]));
    if (vjp_wants(b, 1)) vjp_give(b, 1, binary(b, IR_OP_dispatch, "dx", n->in[0], DY));
    return true;
}

static bool vjp_expert_linear(ir_back *b, const ir_node *n, const int *dy)
{
    int x = n->in[0], index = n->in[1];
    int64_t trans = n->attr[0].i, experts = tensor(b, n->in[2])->dim[0];
    if (vjp_wants(b, 0))
        vjp_give(b, 0,
                 with_int(b, IR_OP_expert_linear, "dx", 3, (int[]){DY, index, n->in[2]}, !trans));
    if (vjp_wants(b, 2))
        vjp_give(b, 2,
                 with_int(b, IR_OP_expert_linear_dw, "dw", 3,
                          (int[]){trans ? DY : x, index, trans ? x : DY}, experts));
    return true;
}

// to_rooms and from_rooms are each other's gradient.
static bool vjp_to_rooms(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_from_rooms, "dx", DY, n->in[1]));
    return true;
}

static bool vjp_from_rooms(ir_back *b, const ir_node *n, const int *dy)
{
    const ir_tensor *x = tensor(b, n->in[0]);
    ir_attr a[2] = {{.kind = IR_ATTR_INT, .i = x->dim[1]}, {.kind = IR_ATTR_INT, .i = x->dim[2]}};
    vjp_give(b, 0, vjp_emit(b, IR_OP_to_rooms, "dx", 2, (int[]){DY, n->in[1]}, a));
    return true;
}

static bool vjp_room_linear(ir_back *b, const ir_node *n, const int *dy)
{
    int x = n->in[0], index = n->in[1];
    int64_t trans = n->attr[0].i;
    if (vjp_wants(b, 0))
        vjp_give(b, 0,
                 with_int(b, IR_OP_room_linear, "dx", 3, (int[]){DY, index, n->in[2]}, !trans));
    if (vjp_wants(b, 2))
        vjp_give(b, 2,
                 vjp_emit(b, IR_OP_room_linear_dw, "dw", 3,
                          (int[]){trans ? DY : x, index, trans ? x : DY}, NULL));
    return true;
}

// --- lookups ---

static bool vjp_embedding(ir_back *b, const ir_node *n, const int *dy)
{
    int64_t rows = tensor(b, n->in[0])->dim[0];
    vjp_give(b, 0, with_int(b, IR_OP_embedding_bwd, "dw", 2, (int[]){DY, n->in[1]}, rows));
    return true;
}

static bool vjp_gather(ir_back *b, const ir_node *n, const int *dy)
{
    const ir_tensor *x = tensor(b, n->in[0]);
    int64_t entries = x->dim[x->rank - 1];
    ir_dtype dtype = x->dtype;
    int dx = with_int(b, IR_OP_gather_bwd, "dx", 2, (int[]){DY, n->in[1]}, entries);
    vjp_give(b, 0, vjp_as(b, "dx.cast", dx, dtype));
    return true;
}

// --- pointwise ---

static bool vjp_add(ir_back *b, const ir_node *n, const int *dy)
{
    (void)n;
    vjp_give(b, 0, DY);
    vjp_give(b, 1, DY);
    return true;
}

static bool vjp_sub(ir_back *b, const ir_node *n, const int *dy)
{
    (void)n;
    vjp_give(b, 0, DY);
    if (vjp_wants(b, 1)) vjp_give(b, 1, unary(b, IR_OP_neg, "db", DY));
    return true;
}

// The same activation, once more if the gradient of the op that made it reads its input: then that
// is kept, and the activation need not be. On a GPU it costs nothing, in the gradients' own kernel.
static int again(ir_back *b, int t)
{
    int made = tensor(b, t)->producer;
    const ir_node *n = made < 0 ? NULL : &b->g->nodes.p[made];
    if (!n || !b->needs[t] || (n->op != IR_OP_silu && n->op != IR_OP_gelu)) return t;
    ir_attr attr[IR_MAX_ATTR];
    memcpy(attr, n->attr, sizeof attr);
    return vjp_emit(b, n->op, "again", 1, (int[]){n->in[0]}, attr);
}

static bool vjp_mul(ir_back *b, const ir_node *n, const int *dy)
{
    if (vjp_wants(b, 0)) vjp_give(b, 0, binary(b, IR_OP_mul, "da", DY, again(b, n->in[1])));
    if (vjp_wants(b, 1)) vjp_give(b, 1, binary(b, IR_OP_mul, "db", DY, again(b, n->in[0])));
    return true;
}

static bool vjp_div(ir_back *b, const ir_node *n, const int *dy)
{
    if (vjp_wants(b, 0)) vjp_give(b, 0, binary(b, IR_OP_div, "da", DY, n->in[1]));
    if (vjp_wants(b, 1)) { // d(a/b)/db = -y/b
        int t = binary(b, IR_OP_mul, "dy.y", DY, n->out[0]);
        t = binary(b, IR_OP_div, "dy.y.b", t, n->in[1]);
        vjp_give(b, 1, unary(b, IR_OP_neg, "db", t));
    }
    return true;
}

static bool vjp_where(ir_back *b, const ir_node *n, const int *dy)
{
    int zero = full(b, "zero", 0, NULL, 0, tensor(b, DY)->dtype);
    if (vjp_wants(b, 1))
        vjp_give(b, 1, vjp_emit(b, IR_OP_where, "da", 3, (int[]){n->in[0], DY, zero}, NULL));
    if (vjp_wants(b, 2))
        vjp_give(b, 2, vjp_emit(b, IR_OP_where, "db", 3, (int[]){n->in[0], zero, DY}, NULL));
    return true;
}

static bool vjp_cast(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, vjp_as(b, "dx", DY, tensor(b, n->in[0])->dtype));
    return true;
}

static bool vjp_neg(ir_back *b, const ir_node *n, const int *dy)
{
    (void)n;
    vjp_give(b, 0, unary(b, IR_OP_neg, "dx", DY));
    return true;
}

static bool vjp_scale(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, with_real(b, IR_OP_scale, "dx", DY, n->attr[0].f));
    return true;
}

static bool vjp_add_scalar(ir_back *b, const ir_node *n, const int *dy)
{
    (void)n;
    vjp_give(b, 0, DY);
    return true;
}

static bool vjp_pow_scalar(ir_back *b, const ir_node *n, const int *dy)
{
    double c = n->attr[0].f;
    int t = c == 2 ? n->in[0] : with_real(b, IR_OP_pow_scalar, "pow", n->in[0], c - 1);
    t = with_real(b, IR_OP_scale, "slope", t, c);
    vjp_give(b, 0, binary(b, IR_OP_mul, "dx", DY, t));
    return true;
}

static bool vjp_exp(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_mul, "dx", DY, n->out[0]));
    return true;
}

static bool vjp_log(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_div, "dx", DY, n->in[0]));
    return true;
}

static bool vjp_sqrt(ir_back *b, const ir_node *n, const int *dy) // dy / (2 y)
{
    int t = binary(b, IR_OP_div, "dy.y", DY, n->out[0]);
    vjp_give(b, 0, with_real(b, IR_OP_scale, "dx", t, 0.5));
    return true;
}

static bool vjp_rsqrt(ir_back *b, const ir_node *n, const int *dy) // -dy y / (2 x)
{
    int t = binary(b, IR_OP_div, "y.x", n->out[0], n->in[0]);
    t = binary(b, IR_OP_mul, "dy.y.x", DY, t);
    vjp_give(b, 0, with_real(b, IR_OP_scale, "dx", t, -0.5));
    return true;
}

static bool vjp_tanh(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_tanh_bwd, "dx", DY, n->out[0]));
    return true;
}

static bool vjp_sigmoid(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_sigmoid_bwd, "dx", DY, n->out[0]));
    return true;
}

static bool vjp_relu(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_relu_bwd, "dx", DY, n->out[0]));
    return true;
}

static bool vjp_sin(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_mul, "dx", DY, unary(b, IR_OP_cos, "cos", n->in[0])));
    return true;
}

static bool vjp_cos(ir_back *b, const ir_node *n, const int *dy)
{
    int d = binary(b, IR_OP_mul, "dsin", DY, unary(b, IR_OP_sin, "sin", n->in[0]));
    vjp_give(b, 0, unary(b, IR_OP_neg, "dx", d));
    return true;
}

static bool vjp_abs(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_abs_bwd, "dx", DY, n->in[0]));
    return true;
}

static bool vjp_cumsum(ir_back *b, const ir_node *n, const int *dy)
{
    ir_attr reverse = {.kind = IR_ATTR_BOOL, .i = !n->attr[0].i};
    vjp_give(b, 0, vjp_emit(b, IR_OP_cumsum, "dx", 1, dy, &reverse));
    return true;
}

static bool vjp_softplus(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_mul, "dx", DY, unary(b, IR_OP_sigmoid, "slope", n->in[0])));
    return true;
}

static bool vjp_clamp(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, vjp_emit(b, IR_OP_clamp_bwd, "dx", 2, (int[]){DY, n->in[0]}, n->attr));
    return true;
}

static bool vjp_gelu(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, vjp_emit(b, IR_OP_gelu_bwd, "dx", 2, (int[]){DY, n->in[0]}, n->attr));
    return true;
}

static bool vjp_silu(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, binary(b, IR_OP_silu_bwd, "dx", DY, n->in[0]));
    return true;
}

static bool vjp_dropout(ir_back *b, const ir_node *n, const int *dy)
{
    vjp_give(b, 0, vjp_emit(b, IR_OP_dropout, "dx", 1, dy, n->attr)); // same key, same mask
    return true;
}

// --- reductions and what stands on statistics (their gradient is covered here) ---

static bool vjp_sum(ir_back *b, const ir_node *n, const int *dy)
{
    const ir_tensor x = *tensor(b, n->in[0]);
    int t = vjp_as(b, "narrow", DY, x.dtype);
    if (!n->attr[1].i) {
        ir_attr shape = ints(x.rank, x.dim);
        for (int i = 0; i < n->attr[0].n; i++)
            shape.v[n->attr[0].v[i]] = 1;
        t = vjp_emit(b, IR_OP_reshape, "keep", 1, &t, &shape);
    }
    ir_attr shape = ints(x.rank, x.dim);
    vjp_give(b, 0, vjp_emit(b, IR_OP_expand, "dx", 1, &t, &shape));
    return true;
}

static bool vjp_softmax_apply(ir_back *b, const ir_node *n, const int *dy)
{
    int y = vjp_again(b, n), dot = binary(b, IR_OP_row_dot, "dot", DY, y);
    vjp_give(b, 0, vjp_emit(b, IR_OP_softmax_bwd, "dx", 3, (int[]){DY, y, dot}, NULL));
    return true;
}

static bool vjp_log_softmax_apply(ir_back *b, const ir_node *n, const int *dy)
{
    int sum = unary(b, IR_OP_row_sum, "rows", DY);
    int y = vjp_again(b, n);
    vjp_give(b, 0, vjp_emit(b, IR_OP_log_softmax_bwd, "dx", 3, (int[]){DY, y, sum}, NULL));
    return true;
}

// nll_sum(row_max, row_expsum, target_logit, labels): the gradient goes to the logits, which are
// the operand of its row_max.
static bool vjp_nll_sum(ir_back *b, const ir_node *n, const int *dy)
{
    const ir_tensor *max = tensor(b, n->in[0]);
    hb_assert(max->producer >= 0 && b->g->nodes.p[max->producer].op == IR_OP_row_max);
    int logits = b->g->nodes.p[max->producer].in[0];
    int dx = vjp_emit(b, IR_OP_ce_bwd, "dx", 5, (int[]){logits, n->in[0], n->in[1], n->in[3], DY},
                      n->attr);
    // Give as if the logits were operand 0.
    b->n.in[0] = logits;
    vjp_give(b, 0, dx);
    return true;
}

static bool vjp_norm_apply(ir_back *b, const ir_node *n, const int *dy)
{
    int x = n->in[0], sum = n->in[1], m2 = n->in[2], has_w = n->n_in > 3, w = has_w ? n->in[3] : -1;
    if (vjp_wants(b, 0)) {
        vjp_emit(b, IR_OP_norm_bwd_stats, "stats", 4 + has_w, (int[]){DY, x, sum, m2, w}, n->attr);
        const ir_node stats = b->g->nodes.p[b->g->nodes.n - 1];
        vjp_give(b, 0,
                 vjp_emit(b, IR_OP_norm_bwd, "dx", 6 + has_w,
                          (int[]){DY, x, sum, m2, stats.out[0], stats.out[1], w}, n->attr));
    }
    if (vjp_wants(b, 3) || vjp_wants(b, 4)) {
        vjp_emit(b, IR_OP_norm_bwd_params, "dw", 4, (int[]){DY, x, sum, m2}, n->attr);
        const ir_node params = b->g->nodes.p[b->g->nodes.n - 1];
        vjp_give(b, 3, params.out[0]);
        if (n->n_in > 4) vjp_give(b, 4, params.out[1]);
    }
    return true;
}

static bool vjp_batch_apply(ir_back *b, const ir_node *n, const int *dy)
{
    int x = n->in[0], sum = n->in[1], m2 = n->in[2], w = n->in[3];
    vjp_emit(b, IR_OP_batch_bwd_stats, "stats", 4, (int[]){DY, x, sum, m2}, n->attr);
    const ir_node stats = b->g->nodes.p[b->g->nodes.n - 1];
    if (vjp_wants(b, 0))
        vjp_give(b, 0,
                 vjp_emit(b, IR_OP_batch_bwd, "dx", 7,
                          (int[]){DY, x, sum, m2, stats.out[0], stats.out[1], w}, n->attr));
    vjp_give(b, 3, stats.out[1]);
    vjp_give(b, 4, stats.out[0]);
    return true;
}

static bool vjp_rms_apply(ir_back *b, const ir_node *n, const int *dy)
{
    int x = n->in[0], sq = n->in[1], has_w = n->n_in > 2, w = has_w ? n->in[2] : -1;
    if (vjp_wants(b, 0)) {
        int stats =
            vjp_emit(b, IR_OP_rms_bwd_stats, "stats", 3 + has_w, (int[]){DY, x, sq, w}, n->attr);
        vjp_give(
            b, 0,
            vjp_emit(b, IR_OP_rms_bwd, "dx", 4 + has_w, (int[]){DY, x, sq, stats, w}, n->attr));
    }
    if (vjp_wants(b, 2))
        vjp_give(b, 2, vjp_emit(b, IR_OP_rms_bwd_params, "dw", 3, (int[]){DY, x, sq}, n->attr));
    return true;
}

// y = x cos + rot(x) sin; rot(x) is rotary of cos 0 and sin 1.
static bool vjp_rotary(ir_back *b, const ir_node *n, const int *dy)
{
    const ir_tensor x = *tensor(b, n->in[0]);
    int64_t last = x.dim[x.rank - 1];
    ir_attr back[] = {n->attr[0], n->attr[1]};
    back[1].i = !back[1].i;
    if (vjp_wants(b, 0))
        vjp_give(b, 0, vjp_emit(b, IR_OP_rotary, "dx", 3, (int[]){DY, n->in[1], n->in[2]}, back));
    if (vjp_wants(b, 1)) vjp_give(b, 1, binary(b, IR_OP_mul, "dcos", DY, n->in[0]));
    if (vjp_wants(b, 2)) {
        int zero = full(b, "zero", 1, &last, 0, x.dtype),
            one = full(b, "one", 1, &last, 1, x.dtype);
        // Of the gradient, the tables stand before the turn.
        int of = n->attr[1].i ? DY : n->in[0], by = n->attr[1].i ? n->in[0] : DY;
        ir_attr plain[] = {n->attr[0], {.kind = IR_ATTR_BOOL}};
        int turned = vjp_emit(b, IR_OP_rotary, "turned", 3, (int[]){of, zero, one}, plain);
        vjp_give(b, 2, binary(b, IR_OP_mul, "dsin", by, turned));
    }
    return true;
}

// --- views ---

static bool vjp_reshape(ir_back *b, const ir_node *n, const int *dy)
{
    const ir_tensor x = *tensor(b, n->in[0]);
    ir_attr shape = ints(x.rank, x.dim);
    vjp_give(b, 0, vjp_emit(b, IR_OP_reshape, "dx", 1, dy, &shape));
    return true;
}

static bool vjp_transpose(ir_back *b, const ir_node *n, const int *dy)
{
    ir_attr perm = ints(n->attr[0].n, n->attr[0].v);
    for (int i = 0; i < perm.n; i++)
        perm.v[n->attr[0].v[i]] = i;
    vjp_give(b, 0, vjp_emit(b, IR_OP_transpose, "dx", 1, dy, &perm));
    return true;
}

static bool vjp_split(ir_back *b, const ir_node *n, const int *dy)
{
    int part[IR_MAX_OUT];
    for (int i = 0; i < n->n_out; i++) {
        char what[16];
        const ir_tensor y = *tensor(b, n->out[i]);
        snprintf(what, sizeof what, "zero%d", i);
        part[i] = dy[i] >= 0 ? dy[i] : full(b, what, y.rank, y.dim, 0, y.dtype);
    }
    vjp_give(b, 0, with_int(b, IR_OP_concat, "dx", n->n_out, part, n->attr[0].i));
    return true;
}

static ir_attr attr_int(int64_t i)
{
    return (ir_attr){.kind = IR_ATTR_INT, .i = i};
}

static bool vjp_concat(ir_back *b, const ir_node *n, const int *dy)
{
    int64_t dim = n->attr[0].i, start = 0;
    if (n->n_in <= IR_MAX_OUT) {
        ir_attr a[2] = {attr_int(dim), ints(0, NULL)};
        for (int i = 0; i < n->n_in; i++)
            a[1].v[a[1].n++] = tensor(b, n->in[i])->dim[dim];
        vjp_emit(b, IR_OP_split, "dx", 1, dy, a);
        const ir_node split = b->g->nodes.p[b->g->nodes.n - 1];
        for (int i = 0; i < n->n_in; i++)
            vjp_give(b, i, split.out[i]);
        return true;
    }
    for (int i = 0; i < n->n_in; i++) { // more operands than a split has outputs
        int64_t stop = start + tensor(b, n->in[i])->dim[dim];
        char what[16];
        snprintf(what, sizeof what, "dx%d", i);
        ir_attr a[3] = {attr_int(dim), attr_int(start), attr_int(stop)};
        if (vjp_wants(b, i)) vjp_give(b, i, vjp_emit(b, IR_OP_slice, what, 1, dy, a));
        start = stop;
    }
    return true;
}

static bool vjp_slice(ir_back *b, const ir_node *n, const int *dy)
{
    int64_t dim = n->attr[0].i, size = tensor(b, n->in[0])->dim[dim];
    ir_attr a[4] = {attr_int(dim),
                    attr_int(n->attr[1].i),
                    attr_int(size - n->attr[2].i),
                    {.kind = IR_ATTR_REAL}};
    vjp_give(b, 0, vjp_emit(b, IR_OP_pad, "dx", 1, dy, a));
    return true;
}

static bool vjp_pad(ir_back *b, const ir_node *n, const int *dy)
{
    int64_t dim = n->attr[0].i, start = n->attr[1].i;
    ir_attr a[3] = {attr_int(dim), attr_int(start),
                    attr_int(start + tensor(b, n->in[0])->dim[dim])};
    vjp_give(b, 0, vjp_emit(b, IR_OP_slice, "dx", 1, dy, a));
    return true;
}

static bool vjp_expand(ir_back *b, const ir_node *n, const int *dy)
{
    (void)n;
    vjp_give(b, 0, DY); // vjp_give sums over what was expanded
    return true;
}

// Statistics: the rule of the op that reads them covers their gradient.
static bool vjp_stat(ir_back *b, const ir_node *n, const int *dy)
{
    (void)b, (void)n, (void)dy;
    return true;
}

#define vjp_none NULL
static ir_vjp *const rules[IR_N_OPS] = {
#define OP(name, rule, ...) [IR_OP_##name] = vjp_##rule,
#define COMPOSITE(name, ...)
#include "ir/ops.def"
#undef OP
#undef COMPOSITE
};

ir_vjp *ir_vjp_of(ir_op op)
{
    return rules[op] == vjp_stat ? NULL : rules[op];
}

bool ir_vjp_is_stat(ir_op op)
{
    return rules[op] == vjp_stat;
}
