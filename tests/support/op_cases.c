#include "tests/support/op_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE(name, ...)                                                                            \
    {                                                                                              \
        IR_OP_##name, __VA_ARGS__                                                                  \
    }
#define PLAIN NULL, NULL

const op_case op_cases[] = {
    CASE(linear, "trans=0", "f2x3x4 f4x5", PLAIN),
    CASE(linear, "trans=0", "f2x3x4 f4x5 f5", PLAIN),
    CASE(linear, "trans=1", "f6x4 f5x4 f5", PLAIN),
    // fused qkv: n = 3 . 4 . 2
    CASE(linear, "trans=0", "f2x3x4 f4x24 f24", NULL, "split:2:8,8,8 reshape:2,3,4,2"),
    // attention's output projection: k = 4 . 2
    CASE(linear, "trans=1", "f2x3x8 f5x8 f5", "2x3x4x2", NULL),
    CASE(linear_dw, "", "f2x3x4 f2x3x5", PLAIN),
    CASE(linear_dw, "", "f2x3x8 f2x3x5", "2x3x4x2", NULL),
    CASE(matmul, "trans=0", "f2x3x4 f2x4x5", PLAIN),
    CASE(matmul, "trans=1", "f2x3x4 f2x5x4", PLAIN),
    CASE(matmul, "trans=2", "f2x4x3 f2x4x5", PLAIN),
    CASE(matmul, "trans=0", "f2x3x4x5 f1x1x5x2", PLAIN),
    CASE(matmul, "trans=0", "f2x1x4x5 f3x5x2", PLAIN),
    CASE(sdpa, "causal=0", "f2x4x5x3 f2x2x6x3 f2x2x6x4", PLAIN),
    CASE(sdpa, "causal=1", "f2x6x5x3 f2x2x5x3 f2x2x5x3", PLAIN),
    CASE(sdpa, "causal=1 scale=0.3", "f2x2x5x3 f2x2x5x3 f2x2x5x3 a1x1x5x5", PLAIN),
    CASE(sdpa, "", "f2x2x4x3 f2x2x5x3 f2x2x5x3 b2x1x4x5", PLAIN),
    CASE(sdpa, "dropout=0.4 key=7", "f2x4x5x3 f2x2x6x3 f2x2x6x4 m2x4x5x6", PLAIN),
    CASE(sdpa_bwd, "causal=0", "f2x4x5x4 f2x4x5x3 f2x2x6x3 f2x2x6x4 f2x4x5x4 g2x4x5", PLAIN),
    CASE(sdpa_bwd, "causal=1", "f2x6x5x3 f2x6x5x3 f2x2x5x3 f2x2x5x3 f2x6x5x3 g2x6x5", PLAIN),
    CASE(sdpa_bwd, "scale=0.3", "f2x2x5x3 f2x2x5x3 f2x2x5x3 f2x2x5x3 f2x2x5x3 g2x2x5 b1x2x5x5",
         PLAIN),
    CASE(sdpa, "dropout=0.4 key=7 first=481", "f2x4x5x3 f2x2x6x3 f2x2x6x4", PLAIN),
    CASE(sdpa_bwd, "causal=1 dropout=0.4 key=7",
         "f2x4x5x4 f2x4x5x3 f2x2x5x3 f2x2x5x4 f2x4x5x4 g2x4x5 a2x1x1x5", PLAIN),
    CASE(conv, "stride=1,1 padding=1,1 dilation=1,1", "f2x3x4x5 f4x3x3x3 f4", PLAIN),
    CASE(conv, "stride=2,1 padding=1,0 dilation=1,2 groups=2", "f2x6x5x4 f4x3x3x2 f4", PLAIN),
    CASE(conv, "stride=1,2 padding=0,1 dilation=1,1 groups=3", "f2x3x4x3 f6x1x2x3", PLAIN),
    CASE(conv, "stride=1,1 padding=0,0 dilation=1,1", "f3x4x2x3 f5x4x1x1 f5", PLAIN),
    CASE(conv_transposed, "stride=2,1 padding=1,0 dilation=1,1 size=5,4", "f2x4x3x3 f4x3x3x2",
         PLAIN),
    CASE(conv_transposed, "stride=2,2 padding=0,1 dilation=1,2 size=4,4 groups=2",
         "f2x4x2x2 f4x2x2x2", PLAIN),
    CASE(conv_transposed, "stride=1,1 padding=0,0 dilation=1,1 size=2,3", "f2x4x2x3 f4x3x1x1",
         PLAIN),
    CASE(conv_dw, "stride=1,1 padding=1,1 dilation=1,1 size=3,3", "f2x3x4x3 f2x4x4x3", PLAIN),
    CASE(conv_dw, "stride=2,1 padding=1,0 dilation=1,2 size=3,2 groups=2", "f2x6x5x4 f2x4x3x2",
         PLAIN),
    CASE(max_pool, "window=2,3 stride=2,1 padding=0,1 dilation=1,1", "u2x3x4x4", PLAIN),
    CASE(max_pool, "window=3,2 stride=2,2 padding=1,0 dilation=1,2 ceil=1", "u2x2x4x6", PLAIN),
    CASE(max_pool_bwd, "window=3,2 stride=1,2 padding=1,0 dilation=1,1", "f2x3x4x2 d2x3x4x4",
         PLAIN),
    CASE(max_pool_bwd, "window=2,2 stride=2,2 padding=0,0 dilation=1,1", "f3x2x2 v3x4x4", PLAIN),
    CASE(embedding, "", "f7x4 i2x3%7", PLAIN),
    CASE(embedding_bwd, "n=7", "f2x3x4 i2x3%7", PLAIN),
    CASE(gather, "", "f2x3x7 i2x3x5%7", PLAIN),
    CASE(gather, "", "f2x3x4x7 i3x1x5%7", PLAIN),
    CASE(gather, "", "f7 i4x9%7", PLAIN),
    CASE(gather_bwd, "n=7", "f2x3x9 i2x3x9%7", PLAIN),
    CASE(gather_bwd, "n=4", "f2x1x5 i3x5%4", PLAIN),
    CASE(add, "", "f2x3x4 f2x3x4", PLAIN),
    CASE(add, "", "f2x3x4 f4", PLAIN),
    CASE(add, "", "f2x1x4 f3x1", PLAIN),
    CASE(add, "", "z2x3 z3", PLAIN),
    CASE(add, "", "f2x24 f24", "2x3x4x2", NULL),
    CASE(sub, "", "f2x3x4 f3x1", PLAIN),
    CASE(sub, "", "o2x3 o3", PLAIN),
    CASE(mul, "", "f2x3x4 f2x3x4", PLAIN),
    CASE(mul, "", "f f2x3", PLAIN),
    CASE(mul, "", "z2x1 z3", PLAIN),
    CASE(div, "", "f2x3x4 p4", PLAIN),
    CASE(div, "", "f p", PLAIN),
    CASE(where, "", "b2x3x4 f2x3x4 f4", PLAIN),
    CASE(where, "", "b3x1 f f2x3x4", PLAIN),
    CASE(where, "", "b2x3 z2x3 z3", PLAIN),
    CASE(eq, "", "z2x3x4 z4", PLAIN),
    CASE(eq, "", "b2x3 b2x3", PLAIN),
    CASE(ne, "", "v2x3x4 v3x1", PLAIN),
    CASE(lt, "", "v2x3x4 v2x3x4", PLAIN),
    CASE(le, "", "o2x3x4 o2x3x4", PLAIN),
    CASE(gt, "", "v2x3x4 v4", PLAIN),
    CASE(ge, "", "z2x3x4 z2x3x4", PLAIN),
    CASE(logical_and, "", "b2x3x4 b3x4", PLAIN),
    CASE(logical_or, "", "b2x3x4 b2x3x1", PLAIN),
    CASE(logical_not, "", "b2x3x4", PLAIN),
    CASE(cast, "dtype=f32", "z2x6", PLAIN),
    CASE(cast, "dtype=f32", "b2x6", PLAIN),
    CASE(cast, "dtype=f32", "f2x6", PLAIN),
    CASE(cast, "dtype=i64", "g2x6", PLAIN),
    CASE(cast, "dtype=bool", "z2x6", PLAIN),
    CASE(cast, "dtype=i32", "z2x6", PLAIN),
    CASE(cast, "dtype=f32", "e2x6", PLAIN),
    CASE(cast, "dtype=i64", "e2x6", PLAIN),
    CASE(cast, "dtype=bool", "e2x6", PLAIN),
    CASE(neg, "", "f2x6", PLAIN),
    CASE(scale, "c=0.7", "f2x3x4", PLAIN),
    CASE(scale, "c=3", "z2x3", PLAIN),
    CASE(add_scalar, "c=0.7", "f2x6", PLAIN),
    CASE(pow_scalar, "c=1.7", "p2x6", PLAIN),
    CASE(pow_scalar, "c=2", "f2x6", PLAIN),
    CASE(pow_scalar, "c=3", "f2x6", PLAIN),
    CASE(exp, "", "f2x6", PLAIN),
    CASE(log, "", "p2x6", PLAIN),
    CASE(sqrt, "", "p2x6", PLAIN),
    CASE(rsqrt, "", "p2x6", PLAIN),
    CASE(tanh, "", "f2x6", PLAIN),
    CASE(tanh_bwd, "", "f2x6 f2x6", PLAIN),
    CASE(sigmoid, "", "f2x6", PLAIN),
    CASE(sigmoid_bwd, "", "f2x6 f2x6", PLAIN),
    CASE(relu, "", "k2x6", PLAIN),
    CASE(relu_bwd, "", "f2x6 k2x6", PLAIN),
    CASE(clamp, "min=-0.5 max=0.5", "k2x6", PLAIN),
    CASE(clamp, "max=0.5", "k2x6", PLAIN),
    CASE(clamp_bwd, "min=-0.5 max=0.5", "f2x6 k2x6", PLAIN),
    CASE(gelu, "tanh=0", "f2x6", PLAIN),
    CASE(gelu, "tanh=1", "f2x6", PLAIN),
    CASE(gelu_bwd, "tanh=0", "f2x6 f2x6", PLAIN),
    CASE(gelu_bwd, "tanh=1", "f2x6 f2x6", PLAIN),
    CASE(silu, "", "f2x6", PLAIN),
    CASE(silu_bwd, "", "f2x6 f2x6", PLAIN),
    CASE(sin, "", "f2x6", PLAIN),
    CASE(cos, "", "f2x6", PLAIN),
    CASE(abs, "", "k2x6", PLAIN),
    CASE(abs_bwd, "", "f2x6 k2x6", PLAIN),
    CASE(softplus, "", "f2x6", PLAIN),
    CASE(detach, "", "f2x6", PLAIN),
    CASE(dropout, "p=0.3 key=5", "f3x5x7", PLAIN),
    CASE(dropout, "p=0.3 key=5 first=37", "f4x6", PLAIN),
    CASE(dropout, "p=0.3 key=5", "f5x24", "5x3x4x2", NULL),
    CASE(sum, "dims=1", "f2x3x4", PLAIN),
    CASE(sum, "dims=0,2 keepdim=1", "f2x3x4", PLAIN),
    CASE(sum, "dims=0,1,2", "f2x3x4", PLAIN),
    CASE(sum, "dims=1", "z4x3", PLAIN),
    CASE(sum, "dims=0", "f3x24", "3x3x4x2", NULL),
    CASE(row_sum, "", "f2x3x5", PLAIN),
    CASE(row_max, "", "f2x3x5", PLAIN),
    CASE(cumsum, "", "f2x3x5", PLAIN),
    CASE(cumsum, "reverse=1", "f4x6", PLAIN),
    CASE(row_m2, "", "f2x3x5 f2x3", PLAIN),
    CASE(row_expsum, "", "f2x3x5 f2x3", PLAIN),
    CASE(row_dot, "", "f2x3x5 f2x3x5", PLAIN),
    CASE(softmax_apply, "", "f2x3x5 f2x3 g2x3", PLAIN),
    CASE(softmax_bwd, "", "f2x3x5 p2x3x5 f2x3", PLAIN),
    CASE(log_softmax_apply, "", "f2x3x5 f2x3 g2x3", PLAIN),
    CASE(log_softmax_bwd, "", "f2x3x5 f2x3x5 f2x3", PLAIN),
    CASE(target_logit, "", "f2x5x7 l2x5%7", PLAIN),
    CASE(target_logit, "ignore=3", "f9x7 i9%7", PLAIN),
    CASE(nll_sum, "", "f2x3 g2x3 f2x3 l2x3%7", PLAIN),
    CASE(count, "", "l3x5%7", PLAIN),
    CASE(ce_bwd, "", "f2x5x7 f2x5 g2x5 l2x5%7 f", PLAIN),
    CASE(norm_apply, "eps=0.01", "f2x3x5 f2x3 g2x3 f5 f5", PLAIN),
    CASE(norm_apply, "", "f2x3x5 f2x3 g2x3 f5", PLAIN),
    CASE(norm_apply, "", "f6x5 f6 g6", PLAIN),
    CASE(norm_bwd_stats, "", "f2x3x5 f2x3x5 f2x3 g2x3 f5", PLAIN),
    CASE(norm_bwd_stats, "", "f6x5 f6x5 f6 g6", PLAIN),
    CASE(norm_bwd, "", "f2x3x5 f2x3x5 f2x3 g2x3 f2x3 f2x3 f5", PLAIN),
    CASE(norm_bwd, "", "f6x5 f6x5 f6 g6 f6 f6", PLAIN),
    CASE(norm_bwd_params, "", "f2x3x5 f2x3x5 f2x3 g2x3", PLAIN),
    CASE(batch_m2, "", "f4x3x6 f3", "4x3x2x3", NULL),
    CASE(batch_m2, "", "f2x6x1 f6", PLAIN),
    CASE(batch_apply, "eps=0.01", "f4x3x6 f3 g3 f3 f3", "4x3x2x3", NULL),
    CASE(batch_bwd_stats, "", "f4x3x6 f4x3x6 f3 g3", PLAIN),
    CASE(batch_bwd, "eps=0.01", "f4x3x6 f4x3x6 f3 g3 f3 f3 f3", PLAIN),
    CASE(step_stat, "", "f5 f5", PLAIN),
    CASE(step_stat, "steps=0", "f5 f5", PLAIN),
    CASE(row_sq, "", "f2x3x5", PLAIN),
    CASE(rms_apply, "eps=0.01", "f2x3x5 g2x3 f5", PLAIN),
    CASE(rms_apply, "", "f6x5 g6", PLAIN),
    CASE(rms_bwd_stats, "", "f2x3x5 f2x3x5 g2x3 f5", PLAIN),
    CASE(rms_bwd_stats, "", "f6x5 f6x5 g6", PLAIN),
    CASE(rms_bwd, "", "f2x3x5 f2x3x5 g2x3 f2x3 f5", PLAIN),
    CASE(rms_bwd, "", "f6x5 f6x5 g6 f6", PLAIN),
    CASE(rms_bwd_params, "", "f2x3x5 f2x3x5 g2x3", PLAIN),
    CASE(rotary, "", "f2x3x6 f3x6 f3x6", PLAIN),
    CASE(rotary, "pairs=true", "f2x3x5x4 f3x1x4 f3x1x4", PLAIN),
    CASE(rotary, "back=true", "f2x3x6 f3x6 f3x6", PLAIN),
    CASE(rotary, "pairs=true back=true", "f4x6 f4x6 f6", PLAIN),
    CASE(top_gates, "", "d2x3x5", PLAIN),
    CASE(top_gates, "k=1", "d4x3", PLAIN),
    CASE(top_gates, "k=3", "d6x3", PLAIN),
    CASE(top_gates_bwd, "", "f2x3x5 d2x3x5", PLAIN),
    CASE(top_gates_bwd, "k=3", "f4x4 d4x4", PLAIN),
    CASE(expert_slots, "capacity=3", "d3x5x4", PLAIN),
    CASE(expert_slots, "capacity=5", "q4x7x4", NULL, "reshape:4,7,4,5"),
    CASE(expert_slots, "capacity=4", "q2x3x3", PLAIN),
    CASE(expert_slots_bwd, "", "f3x4x2x5 q3x4x2x5", PLAIN),
    CASE(dispatch, "", "f3x5x4x2 f3x5x6", PLAIN),
    CASE(dispatch, "", "q4x3x2x3 f4x3x5", NULL, "reshape:2,12,5"),
    CASE(combine, "", "f3x5x4x2 f4x3x2x6", PLAIN),
    CASE(combine, "", "f2x4x3x5 f3x2x5x4", NULL, "reshape:8,4"),
    CASE(dispatch_dw, "", "f3x5x6 f4x3x2x6", PLAIN),
    CASE(top_index, "k=1", "d4x3", PLAIN),
    CASE(top_index, "k=3", "d2x3x5", PLAIN),
    CASE(top_index, "k=4", "d6x4", PLAIN),
    CASE(expert_linear, "", "f6x4 i6%3 f3x4x5", PLAIN),
    CASE(expert_linear, "trans=1", "f2x3x4 i2x3%4 f4x5x4", PLAIN),
    CASE(expert_linear, "trans=1", "f4x1x3 i4x2%3 f3x4x3", NULL, "split:2:2,2"),
    CASE(expert_linear, "", "f6x2x8 i6x2%3 f3x8x5", "6x2x4x2", NULL),
    CASE(expert_linear_dw, "experts=3", "f6x4 i6%3 f6x5", PLAIN),
    CASE(expert_linear_dw, "experts=4", "f2x3x4 i2x3%4 f2x3x5", PLAIN),
    CASE(expert_linear_dw, "experts=3", "f4x1x3 i4x2%3 f4x2x5", PLAIN),
    CASE(expert_linear_dw, "experts=3", "f4x2x3 i4x2%3 f4x1x5", PLAIN),
    CASE(to_rooms, "experts=4 room=6", "f3x6x4 i3x6%4", PLAIN),
    CASE(to_rooms, "experts=3 room=4", "f4x4x6 i4x4%3", NULL, "reshape:3,16,6"),
    CASE(from_rooms, "", "f2x3x5x4 i2x5%3", PLAIN),
    CASE(from_rooms, "", "f3x4x4x2 i3x4%4", "3x16x2", NULL),
    CASE(room_linear, "", "f2x3x4x3 i2x4%3 f3x3x5", PLAIN),
    CASE(room_linear, "trans=1", "f3x4x3x4 i3x3%4 f4x6x4", NULL, "split:3:3,3"),
    CASE(room_linear_dw, "", "f2x3x4x3 i2x4%3 f2x3x4x5", PLAIN),
    CASE(room_linear_dw, "", "f3x3x4x4 i3x4%3 f3x3x4x2", "3x12x4", NULL),
    CASE(reshape, "shape=6,4", "f2x3x4", PLAIN),
    CASE(reshape, "shape=2,3,4,2", "f2x24", PLAIN),
    CASE(reshape, "shape=2,24", "f2x3x4x2", PLAIN),
    CASE(reshape, "shape=4,6", "f6x4", PLAIN),
    CASE(reshape, "shape=1,6", "z6", PLAIN),
    CASE(transpose, "perm=0,2,1,3", "f2x3x4x5", PLAIN),
    CASE(transpose, "perm=2,0,1", "f3x4x5", PLAIN),
    CASE(transpose, "perm=1,0", "f4x24", "4x3x4x2", NULL),
    CASE(transpose, "perm=1,0", "b4x5", PLAIN),
    CASE(split, "dim=1 sizes=8,8,8", "f2x24", NULL, "reshape:2,4,2"),
    CASE(split, "dim=1 sizes=2,3", "f4x5", PLAIN),
    CASE(split, "dim=0 sizes=2,4", "f6x5", PLAIN),
    CASE(concat, "dim=1", "f2x3x4 f2x2x4 f2x1x4", PLAIN),
    CASE(concat, "dim=1", "f2x8 f2x8 f2x8", "2x4x2", NULL),
    CASE(concat, "dim=0", "z3 z2", PLAIN),
    CASE(slice, "dim=1 start=2 stop=6", "f3x8x2", PLAIN),
    CASE(slice, "dim=1 start=8 stop=16", "f2x24", NULL, "reshape:2,4,2"),
    CASE(pad, "dim=1 before=1 after=2 value=0.5", "f3x4x2", PLAIN),
    CASE(pad, "dim=1 before=8 after=8", "f2x8", "2x4x2", NULL),
    CASE(expand, "shape=2,3,4", "f3x1", PLAIN),
    CASE(expand, "shape=5,2,6", "f1x2x6", PLAIN),
    CASE(full, "shape=4,6 value=1.5 dtype=f32", "", PLAIN),
    CASE(full, "shape=3 value=2 dtype=i64", "", PLAIN),
    CASE(sgd, "lr_scale=0.5 wd=0.1", "f3x4 f3x4 p", PLAIN),
    CASE(sgd, "", "f3x4 f3x4", PLAIN),
    CASE(momentum, "mu=0.9 wd=0.1 nesterov=1", "f3x4 f3x4 f3x4 p", PLAIN),
    CASE(momentum, "mu=0.9", "f3x4 f3x4 f3x4", PLAIN),
    CASE(adam, "wd=0.1", "f3x4 f3x4 p3x4 f3x4 p", PLAIN),
    CASE(adam, "wd=0.1 decoupled=0 beta1=0.8", "f3x4 f3x4 p3x4 f3x4", PLAIN),
    CASE(sumsq, "", "f3x8", PLAIN),
    CASE(clip_scale, "max_norm=0.5", "p", PLAIN),
};
const int n_op_cases = sizeof op_cases / sizeof *op_cases;

static int dims_of(const char *s, int64_t *dim)
{
    int n = 0;
    while (*s >= '0' && *s <= '9') {
        char *end;
        dim[n++] = strtoll(s, &end, 10);
        s = *end == 'x' || *end == ',' ? end + 1 : end;
    }
    return n;
}

// Operand i of "f2x3 f4": where its text starts; NULL if there are fewer.
static const char *operand(const op_case *c, int i)
{
    const char *s = c->in;
    for (; i > 0 && s; i--) {
        s = strchr(s, ' ');
        s = s ? s + 1 : NULL;
    }
    return s && *s ? s : NULL;
}

static ir_dtype dtype_of(char letter)
{
    switch (letter) {
    case 'i':
    case 'l':
    case 'z':
        return IR_I64;
    case 'o':
        return IR_I32;
    case 'b':
        return IR_BOOL;
    case 'e':
        return IR_U8;
    default:
        return IR_F32;
    }
}

static void attrs_of(ir_op op, const char *text, ir_attr *attrs)
{
    const ir_op_info *row = ir_op_of(op);
    for (int i = 0; i < row->n_attr; i++)
        attrs[i] = row->attr[i].value, attrs[i].kind = row->attr[i].kind;
    while (*text) {
        char name[32];
        size_t n = strcspn(text, "=");
        hb_assert(n < sizeof name && text[n] == '=');
        memcpy(name, text, n);
        name[n] = 0;
        ir_attr *a = &attrs[ir_attr_index(op, name)];
        text += n + 1;
        size_t len = strcspn(text, " ");
        switch (a->kind) {
        case IR_ATTR_INT:
        case IR_ATTR_BOOL:
            a->i = strtoll(text, NULL, 10);
            break;
        case IR_ATTR_REAL:
            a->f = strtod(text, NULL);
            break;
        case IR_ATTR_DTYPE: {
            ir_dtype t;
            hb_assert(ir_dtype_parse((hb_str){text, len}, &t));
            a->i = t;
            break;
        }
        case IR_ATTR_INTS:
            a->n = dims_of(text, a->v);
            break;
        }
        text += len + (text[len] == ' ');
    }
}

ir_graph *op_case_graph(hb_arena *a, const op_case *c, bool params, int *node)
{
    ir_graph *g = ir_graph_new(a);
    int in[IR_MAX_IN], n_in = 0;
    int64_t dim[IR_MAX_RANK];
    ir_attr attrs[IR_MAX_ATTR] = {0};
    for (const char *s; (s = operand(c, n_in)); n_in++) {
        hb_str name = hb_fmt(a, "in%d", n_in);
        ir_dtype type = dtype_of(*s);
        bool mask = *s == 'a' || *s == 'm' || *s == 'q';
        ir_kind kind = params && type == IR_F32 && !mask ? IR_PARAM : IR_INPUT;
        if (n_in == 0 && c->before) {
            int from =
                ir_add_tensor(g, HB_STR("source"), IR_INPUT, type, dims_of(c->before, dim), dim);
            ir_attr shape[IR_MAX_ATTR] = {0};
            attrs_of(IR_OP_reshape, "", shape);
            shape[0].n = dims_of(s + 1, shape[0].v);
            int r = ir_add_node(g, name, IR_OP_reshape, IR_FORWARD, 1, &from, shape);
            in[n_in] = g->nodes.p[r].out[0];
        } else {
            int rank = dims_of(s + 1, dim);
            in[n_in] = ir_add_tensor(g, name, kind, type, rank, dim);
        }
    }
    attrs_of(c->op, c->attrs, attrs);
    *node = ir_add_node(g, HB_STR("out"), c->op, IR_FORWARD, n_in, in, attrs);
    int last = g->nodes.p[*node].out[0];
    for (const char *s = c->after; s && *s;) {
        bool split = strncmp(s, "split:", 6) == 0;
        s += split ? 6 : 8; // "reshape:"
        ir_attr more[IR_MAX_ATTR] = {0};
        ir_op op = split ? IR_OP_split : IR_OP_reshape;
        attrs_of(op, "", more);
        if (split) {
            more[0].i = *s - '0';
            s += 2;
        }
        more[split ? 1 : 0].n = dims_of(s, more[split ? 1 : 0].v);
        int n = ir_add_node(g, hb_fmt(a, "after%d", g->nodes.n), op, IR_FORWARD, 1, &last, more);
        last = g->nodes.p[n].out[0];
        s += strcspn(s, " ");
        s += *s == ' ';
    }
    return g;
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

void op_case_fill(const op_case *c, int i, hap_tensor *t, uint64_t *state)
{
    const char *s = operand(c, i), *limit = s + strcspn(s, "% ");
    int64_t n = *limit == '%' ? strtoll(limit + 1, NULL, 10) : 0, from = 0, step = 1;
    for (int64_t j = 0; j < t->elements; j++) {
        float *f = (float *)t->data + j;
        int64_t *k = (int64_t *)t->data + j;
        switch (*s) {
        case 'a':
        case 'f':
            *f = (float)test_uniform(state, -1, 1);
            break;
        case 'k':
            *f = (float)(test_below(state, 4) - 2) / 2 + (float)test_uniform(state, 0.0625, 0.4375);
            break;
        case 'd':
        case 'q':
        case 'u': { // 1/4, 2/4, ... in a row, begun somewhere and in steps prime to its length
            int64_t row = *s == 'u' ? t->elements : t->local[t->rank - 1];
            if (j % row == 0) from = test_below(state, row), step = test_below(state, 3) + 1;
            while (gcd(step, row) != 1)
                step++;
            *f = (float)((from + j % row * step) % row + 1) / 4;
            if (*s == 'q' && test_below(state, 2)) *f = 0;
            break;
        }
        case 'p':
            *f = (float)test_uniform(state, 0.5, 1.5);
            break;
        case 'g':
            *f = (float)test_uniform(state, 1, 3);
            break;
        case 'v':
            *f = (float)test_below(state, 5) / 2;
            break;
        case 'm':
            *f = test_below(state, 4) ? 0 : -INFINITY;
            break;
        case 'i':
            *k = test_below(state, n);
            break;
        case 'l':
            *k = test_below(state, 4) ? test_below(state, n) : -100;
            break;
        case 'z':
            *k = test_below(state, 7) - 3;
            break;
        case 'o':
            ((int32_t *)t->data)[j] = (int32_t)(test_below(state, 7) - 3);
            break;
        case 'b':
            ((uint8_t *)t->data)[j] = (uint8_t)test_below(state, 2);
            break;
        case 'e':
            ((uint8_t *)t->data)[j] = (uint8_t)test_below(state, 256);
            break;
        default:
            hb_bug("a letter of op_cases.h", __FILE__, __LINE__);
        }
    }
}

const char *op_case_text(const op_case *c)
{
    static char text[256];
    snprintf(text, sizeof text, "%s %s (%s)%s%s", ir_op_of(c->op)->name, c->attrs, c->in,
             c->before ? " of " : "", c->before ? c->before : "");
    return text;
}
