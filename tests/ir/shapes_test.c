// The parsed op table, and shape and dtype inference: at least one case for every op, or for one of
// the same formula and dtypes (checked), and the refusals.

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/formula.h"
#include "ir/shapes.h"
#include "tests/support/graph_text.h"

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

START_TEST(table)
{
    const ir_op_info *r = ir_op_of(IR_OP_sdpa);
    ck_assert_str_eq(r->name, "sdpa");
    ck_assert_int_eq(r->min_in, 3);
    ck_assert_int_eq(r->max_in, 4);
    ck_assert_int_eq(r->n_out, 2);
    ck_assert_int_eq(r->n_attr, 5);
    ck_assert_str_eq(r->attr[1].name, "scale");
    ck_assert(r->attr[2].has_default && r->attr[2].kind == IR_ATTR_REAL);
    ck_assert(r->flags == (IR_USER | IR_RANDOM));
    r = ir_op_of(IR_OP_adam);
    ck_assert_double_eq(r->attr[ir_attr_index(IR_OP_adam, "beta2")].value.f, 0.999);
    ck_assert_int_eq(r->attr[ir_attr_index(IR_OP_adam, "decoupled")].value.i, 1);
    ck_assert_int_eq(r->min_in, 4);
    ck_assert_int_eq(ir_op_of(IR_OP_dropout)->attr[0].has_default, 0);
    ck_assert_int_eq(ir_op_of(IR_OP_clip_scale)->max_in, 1); // one scalar
    ck_assert_int_eq(ir_op_of(IR_OP_full)->max_in, 0);
    ck_assert_int_eq(ir_op_of(IR_OP_ce_bwd)->min_in, 5);
    ck_assert_int_eq(ir_op_of(IR_OP_layer_norm)->max_in, 3);
    ck_assert(ir_op_of(IR_OP_layer_norm)->flags & IR_COMPOSITE);
    for (int op = 0; op < IR_N_ALL_OPS; op++)
        if (op != IR_N_OPS)
            ck_assert_int_eq(ir_op_parse(hb_str_c(arena, ir_op_of((ir_op)op)->name)), op);
    ck_assert_int_eq(ir_op_parse(HB_STR("Linear")), -1);
}
END_TEST

START_TEST(formulas)
{
    const ir_formula *f = &ir_row_formulas(IR_OP_sdpa_bwd)->alt[0];
    ck_assert_int_eq(f->n_in, 7);
    ck_assert_int_eq(f->n_out, 3);
    ck_assert(f->in[6].optional && !f->in[5].optional);
    ck_assert_int_eq(f->in[0].dim[1].n, 2);
    ck_assert_int_eq(f->in[0].dim[1].letter[1], 'r');
    ck_assert(f->whole == ((1u << ('k' - 'a')) | (1u << ('e' - 'a')) | (1u << ('d' - 'a'))));
    const ir_formulas *fs = ir_row_formulas(IR_OP_linear);
    ck_assert_int_eq(fs->n, 2);
    ck_assert_int_eq(fs->alt[1].n_terms, 2);
    ck_assert_int_eq(fs->alt[1].in[2].term, 1);
    ck_assert(fs->alt[0].in[0].star && !fs->alt[0].in[1].star);
    ck_assert_str_eq(ir_row_formulas(IR_OP_reshape)->rule, "reshape");
    f = &ir_row_formulas(IR_OP_ce_bwd)->alt[0];
    ck_assert(!f->in[4].star && f->in[4].n == 0);
}
END_TEST

// An op on operands "f32 2 3; i64 2" and the outputs' forms, or the refusal.
typedef struct {
    const char *op, *operands, *attrs, *result;
} example;

static const example examples[] = {
    {"linear", "f32 2 3 4; f32 4 5; f32 5", "", "f32 [2, 3, 5]"},
    {"linear", "f32 4; f32 5 4", "trans=1", "f32 [5]"},
    {"linear", "f32 2 3; f32 4 5", "", "!linear: dim k is 3 in operand 1 but 4 in operand 2"},
    {"linear", "f32 2 3; f32 3 5; f32 6", "",
     "!linear: dim n is 5 in operand 2 but 6 in operand 3"},
    {"linear", "f32 2 3; f32 3 5 1", "",
     "!linear: operand 2 has shape [3, 5, 1] but must have 2 dims"},
    {"linear", "f32 ; f32 3 5", "", "!linear: operand 1 has shape [] but must have at least 1 dim"},
    {"linear", "f32 2 3; bf16 3 5", "",
     "!linear: operand 2 is bf16 but operand 1 is f32 (insert a cast)"},
    {"linear", "f32 2 3; f32 3 5", "trans=2", "!linear: trans = 2 is out of range"},
    {"linear_dw", "f32 2 3 4; f32 2 3 5", "", "f32 [4, 5]"},
    {"matmul", "f32 2 1 3 4; f32 5 4 6", "", "f32 [2, 5, 3, 6]"},
    {"matmul", "f32 3 4; f32 6 4", "trans=1", "f32 [3, 6]"},
    {"matmul", "f32 3 4; f32 3 6", "trans=2", "f32 [4, 6]"},
    {"matmul", "f32 2 3 4; f32 5 4 6", "", "!matmul: shapes [2] and [5] do not broadcast"},
    {"sdpa", "bf16 2 6 5 4; bf16 2 3 7 4; bf16 2 3 7 8; bool 1 1 5 7", "",
     "bf16 [2, 6, 5, 8], f32 [2, 6, 5]"},
    {"sdpa", "f32 2 6 5 4; f32 2 3 7 4; f32 2 3 7 8; bool 3 1 5 7", "",
     "!sdpa: dim b is 2 in operand 1 but 3 in operand 4"},
    {"sdpa", "bf16 2 6 5 4; bf16 2 3 7 4; bf16 2 3 7 8", "", "bf16 [2, 6, 5, 8], f32 [2, 6, 5]"},
    {"sdpa", "f32 2 6 5 4; f32 2 4 7 4; f32 2 4 7 8", "",
     "!sdpa: dim 1 of operand 1 is 6, not a multiple of 4"},
    {"sdpa_bwd", "f32 2 6 5 8; f32 2 6 5 4; f32 2 3 7 4; f32 2 3 7 8; f32 2 6 5 8; f32 2 6 5", "",
     "f32 [2, 6, 5, 4], f32 [2, 3, 7, 4], f32 [2, 3, 7, 8]"},
    {"conv", "f32 2 6 9 8; f32 4 3 3 2; f32 4", "stride=2,1 padding=1,0 dilation=1,2 groups=2",
     "f32 [2, 4, 5, 6]"},
    {"conv", "f32 2 6 9 8; f32 4 3 3 2", "stride=2,1 padding=1,0 dilation=1,2",
     "!conv: dim 1 of operand 1 is 6, not 3"},
    {"conv", "f32 2 6 9 8; f32 4 3 3 2", "stride=2,1 padding=1,0 dilation=1,2 groups=0",
     "!conv: groups is 0 (sizes are at least 1)"},
    {"conv", "f32 2 6 2 8; f32 4 6 3 2", "stride=1,1 padding=0,0 dilation=1,1",
     "!conv: on 2 places, padded by 0, stand 0 windows of 3"},
    {"conv", "f32 2 6 2 8; f32 4 6 3 2", "stride=1 padding=0,0 dilation=1,1",
     "!conv: stride is [1], not 2 numbers of at least 1"},
    {"conv_transposed", "bf16 2 4 5 6; bf16 4 3 3 2",
     "stride=2,1 padding=1,0 dilation=1,2 size=9,8 groups=2", "bf16 [2, 6, 9, 8]"},
    {"conv_transposed", "f32 2 4 5 6; f32 4 3 3 2",
     "stride=2,1 padding=1,0 dilation=1,2 size=11,8 groups=2",
     "!conv_transposed: on 11 places, padded by 1, stand 6 windows of 3, not 5"},
    {"conv_dw", "bf16 2 6 9 8; bf16 2 4 5 6",
     "stride=2,1 padding=1,0 dilation=1,2 size=3,2 groups=2", "f32 [4, 3, 3, 2]"},
    {"max_pool", "f32 3 7 8", "window=3,2 stride=2,2 padding=0,0 dilation=1,1", "f32 [3, 3, 4]"},
    {"max_pool", "f32 3 8 8", "window=3,2 stride=2,2 padding=0,0 dilation=1,1 ceil=true",
     "f32 [3, 4, 4]"},
    {"max_pool", "f32 3 5 5", "window=1,1 stride=3,3 padding=0,1 dilation=1,1 ceil=true",
     "f32 [3, 2, 2]"},
    {"max_pool_bwd", "bf16 3 3 4; bf16 3 7 8", "window=3,2 stride=2,2 padding=0,0 dilation=1,1",
     "bf16 [3, 7, 8]"},
    {"embedding", "f32 11 4; i64 2 3", "", "f32 [2, 3, 4]"},
    {"embedding", "f32 11 4; f32 2 3", "", "!embedding: operand 2 is f32 but must be i64 or i32"},
    {"embedding_bwd", "f32 2 3 4; i32 2 3", "n=11", "f32 [11, 4]"},
    {"gather", "f32 2 3 7; i64 3 5", "", "f32 [2, 3, 5]"},
    {"gather", "f32 2 3 7; i64 4 5", "", "!gather: shapes [2, 3] and [4] do not broadcast"},
    {"gather_bwd", "bf16 2 3 5; i64 3 5", "n=7", "f32 [2, 3, 7]"},
    {"top_gates", "f32 2 3 4", "", "f32 [2, 3, 4]"},
    {"top_gates", "f32 2 3 4", "k=5", "!top_gates: k = 5 of 4 entries"},
    {"top_gates", "f32 2 3 4", "k=0", "!top_gates: k = 0 of 4 entries"},
    {"top_gates_bwd", "f32 2 4; f32 2 4", "k=1", "f32 [2, 4]"},
    {"top_index", "bf16 2 3 4", "k=2", "i64 [2, 3, 2]"},
    {"top_index", "f32 2 3 4", "k=5", "!top_index: k = 5 of 4 entries"},
    {"top_index", "f32 2 3 4", "k=0", "!top_index: k is 0 (sizes are at least 1)"},
    {"expert_linear", "f32 6 1 4; i64 6 2; f32 3 4 5", "", "f32 [6, 2, 5]"},
    {"expert_linear", "bf16 6 4; i64 6; bf16 3 5 4", "trans=1", "bf16 [6, 5]"},
    {"expert_linear", "f32 6 4; i64 5; f32 3 4 5", "",
     "!expert_linear: shapes [6] and [5] do not broadcast"},
    {"expert_linear", "f32 6 4; i64 6; f32 3 5 4", "",
     "!expert_linear: dim k is 4 in operand 1 but 5 in operand 3"},
    {"to_rooms", "bf16 2 6 4; i64 2 6", "experts=3 room=5", "bf16 [2, 3, 5, 4]"},
    {"to_rooms", "f32 2 6 4; i64 2 5", "experts=3 room=5",
     "!to_rooms: dim r is 6 in operand 1 but 5 in operand 2"},
    {"to_rooms", "f32 2 6 4; i64 2 6", "experts=3 room=0",
     "!to_rooms: room is 0 (sizes are at least 1)"},
    {"from_rooms", "bf16 2 3 5 4; i64 2 6", "", "bf16 [2, 6, 4]"},
    {"room_linear", "bf16 2 3 5 4; i64 2 6; bf16 3 7 4", "trans=1", "bf16 [2, 3, 5, 7]"},
    {"room_linear", "f32 2 3 5 4; i64 2 6; f32 4 4 7", "",
     "!room_linear: dim e is 3 in operand 1 but 4 in operand 3"},
    {"room_linear_dw", "bf16 2 3 5 4; i64 2 6; bf16 2 3 5 7", "", "f32 [3, 4, 7]"},
    {"expert_linear_dw", "bf16 6 1 4; i64 6 2; bf16 6 2 5", "experts=3", "f32 [3, 4, 5]"},
    {"expert_slots", "f32 2 3 4", "capacity=5", "f32 [2, 3, 4, 5]"},
    {"expert_slots", "f32 2 3 4", "capacity=0",
     "!expert_slots: capacity is 0 (sizes are at least 1)"},
    {"expert_slots_bwd", "bf16 2 3 4; bf16 2 3 4", "", "f32 [2, 3]"},
    {"dispatch", "f32 2 3 4 5; f32 2 3 6", "", "f32 [4, 2, 5, 6]"},
    {"dispatch", "f32 2 3 4 5; f32 2 5 6", "",
     "!dispatch: dim s is 3 in operand 1 but 5 in operand 2"},
    {"combine", "f32 2 3 4 5; f32 4 2 5 6", "", "f32 [2, 3, 6]"},
    {"combine", "f32 2 3 4 5; bf16 4 2 5 6", "",
     "!combine: operand 2 is bf16 but operand 1 is f32 (insert a cast)"},
    {"dispatch_dw", "f32 2 3 6; f32 4 2 5 6", "", "f32 [2, 3, 4, 5]"},
    {"add", "f32 2 1 4; f32 3 1", "", "f32 [2, 3, 4]"},
    {"add", "f32 ; f32 3 1", "", "f32 [3, 1]"},
    {"add", "bool 2; bool 2", "", "!add: operand 1 is bool but must be a number"},
    {"sub", "i64 2; i64 2", "", "i64 [2]"},
    {"mul", "f32 2 3; f32 4 3", "", "!mul: shapes [2, 3] and [4, 3] do not broadcast"},
    {"mul", "f32 2 3; f32 2 3", "", "f32 [2, 3]"},
    {"div", "f32 ; f32 ", "", "f32 []"},
    {"where", "bool 2 1; f32 3; f32 ", "", "f32 [2, 3]"},
    {"eq", "i64 2; i64 ", "", "bool [2]"},
    {"ne", "i64 2; i64 ", "", "bool [2]"},
    {"lt", "f32 2; f32 2", "", "bool [2]"},
    {"le", "f32 2; f32 2", "", "bool [2]"},
    {"gt", "f32 2; f32 2", "", "bool [2]"},
    {"ge", "f32 2; f32 2", "", "bool [2]"},
    {"logical_and", "bool 2; bool 3 1", "", "bool [3, 2]"},
    {"logical_or", "bool 2; bool 2", "", "bool [2]"},
    {"logical_not", "bool 2", "", "bool [2]"},
    {"logical_not", "f32 2", "", "!logical_not: operand 1 is f32 but must be bool"},
    {"cast", "i64 2", "dtype=bf16", "bf16 [2]"},
    {"neg", "f32 2", "", "f32 [2]"},
    {"scale", "f16 2", "c=2", "f16 [2]"},
    {"add_scalar", "f32 2", "c=2", "f32 [2]"},
    {"pow_scalar", "f32 2", "c=2", "f32 [2]"},
    {"exp", "f32 2", "", "f32 [2]"},
    {"log", "f32 2", "", "f32 [2]"},
    {"sqrt", "f32 2", "", "f32 [2]"},
    {"rsqrt", "f32 2", "", "f32 [2]"},
    {"tanh", "f32 2", "", "f32 [2]"},
    {"tanh_bwd", "f32 2; f32 2", "", "f32 [2]"},
    {"sigmoid", "f32 2", "", "f32 [2]"},
    {"sigmoid_bwd", "f32 2; f32 2", "", "f32 [2]"},
    {"relu", "f32 2", "", "f32 [2]"},
    {"relu_bwd", "f32 2; f32 2", "", "f32 [2]"},
    {"gelu", "f32 2", "tanh=true", "f32 [2]"},
    {"gelu_bwd", "f32 2; f32 2", "", "f32 [2]"},
    {"silu", "f32 2", "", "f32 [2]"},
    {"silu_bwd", "f32 2; f32 2", "", "f32 [2]"},
    {"dropout", "f32 2", "p=0.5", "f32 [2]"},
    {"sum", "f32 2 3 4", "dims=0,2", "f32 [3]"},
    {"sum", "f32 2 3 4", "dims=1 keepdim=true", "f32 [2, 1, 4]"},
    {"sum", "f32 2 3", "dims=1,1", "!sum: dim 1 twice"},
    {"sum", "f32 2 3", "dims=", "!sum: dims is empty"},
    {"row_sum", "bf16 2 3", "", "f32 [2]"},
    {"row_max", "f32 3", "", "f32 []"},
    {"row_m2", "f32 2 3; f32 2", "", "f32 [2]"},
    {"row_expsum", "f32 2 3; f32 2", "", "f32 [2]"},
    {"cumsum", "f32 2 3", "reverse=1", "f32 [2, 3]"},
    {"row_dot", "f32 2 3; f32 2 3", "", "f32 [2]"},
    {"softmax_apply", "bf16 2 3; f32 2; f32 2", "", "bf16 [2, 3]"},
    {"softmax_bwd", "f32 2 3; f32 2 3; f32 2", "", "f32 [2, 3]"},
    {"log_softmax_apply", "f32 2 3; f32 2; f32 2", "", "f32 [2, 3]"},
    {"log_softmax_bwd", "f32 2 3; f32 2 3; f32 2", "", "f32 [2, 3]"},
    {"target_logit", "f32 2 4 3; i64 2 4", "", "f32 [2, 4]"},
    {"nll_sum", "f32 2 4; f32 2 4; f32 2 4; i64 2 4", "", "f32 []"},
    {"count", "i64 2 4", "", "f32 []"},
    {"ce_bwd", "f32 2 3; f32 2; f32 2; i64 2; f32 ", "", "f32 [2, 3]"},
    {"norm_apply", "f32 2 3; f32 2; f32 2; f32 3; f32 3", "", "f32 [2, 3]"},
    {"norm_apply", "f32 2 3; f32 2; f32 2; f32 4", "",
     "!norm_apply: dim c is 3 in operand 1 but 4 in operand 4"},
    {"norm_bwd_stats", "f32 2 3; f32 2 3; f32 2; f32 2", "", "f32 [2], f32 [2]"},
    {"norm_bwd", "f32 2 3; f32 2 3; f32 2; f32 2; f32 2; f32 2", "", "f32 [2, 3]"},
    {"batch_m2", "f32 2 3 4; f32 3", "", "f32 [3]"},
    {"batch_apply", "bf16 2 3 4; f32 3; f32 3; f32 3; f32 3", "", "bf16 [2, 3, 4]"},
    {"batch_bwd_stats", "f32 2 3 4; f32 2 3 4; f32 3; f32 3", "", "f32 [3], f32 [3]"},
    {"batch_bwd", "f32 2 3 4; f32 2 3 4; f32 3; f32 3; f32 3; f32 3; f32 3", "", "f32 [2, 3, 4]"},
    {"step_stat", "f32 3; f32 3", "", "f32 [3]"},
    {"norm_bwd_params", "f32 2 3; f32 2 3; f32 2; f32 2", "", "f32 [3], f32 [3]"},
    {"rms_apply", "f32 2 3; f32 2; f32 3", "", "f32 [2, 3]"},
    {"rms_bwd_stats", "f32 2 3; f32 2 3; f32 2", "", "f32 [2]"},
    {"rms_bwd", "f32 2 3; f32 2 3; f32 2; f32 2", "", "f32 [2, 3]"},
    {"rms_bwd_params", "f32 2 3; f32 2 3; f32 2", "", "f32 [3]"},
    {"rotary", "bf16 2 3 4; f32 3 4; f32 3 4", "", "bf16 [2, 3, 4]"},
    {"rotary", "f32 2 3; f32 3; f32 3", "", "!rotary: rows of 3 entries, an odd number"},
    {"rotary", "f32 2 4; f32 2; f32 4", "", "!rotary: dim c is 4 in operand 1 but 2 in operand 2"},
    {"reshape", "f32 2 6", "shape=3,4", "f32 [3, 4]"},
    {"reshape", "f32 1 1", "shape=", "f32 []"},
    {"reshape", "f32 2 6", "shape=3,5", "!reshape: [2, 6] has 12 entries, [3, 5] has 15"},
    {"reshape", "f32 2 6", "shape=-1,12", "!reshape: size -1 in the shape (sizes are at least 1)"},
    {"transpose", "f32 2 3 4", "perm=2,0,1", "f32 [4, 2, 3]"},
    {"transpose", "f32 2 3", "perm=1", "!transpose: perm [1] is no permutation of the 2 dims"},
    {"split", "f32 2 6", "dim=1 sizes=1,2,3", "f32 [2, 1], f32 [2, 2], f32 [2, 3]"},
    {"split", "f32 2 6", "dim=2 sizes=6", "!split: dim 2 is out of range for shape [2, 6]"},
    {"split", "f32 6", "dim=0 sizes=6,0", "!split: size 0 (sizes are at least 1)"},
    {"split", "f32 6", "dim=0 sizes=", "!split: 0 outputs, but at most 8 are supported"},
    {"concat", "f32 2 6; f32 2 1", "dim=1", "f32 [2, 7]"},
    {"concat", "f32 2 6; f32 3 6", "dim=1",
     "!concat: operand 2 is [3, 6], operand 1 is [2, 6], along dim 1"},
    {"slice", "f32 2 6", "dim=1 start=2 stop=5", "f32 [2, 3]"},
    {"slice", "f32 2 6", "dim=1 start=2 stop=2", "!slice: [2, 2) of a dim of 6"},
    {"pad", "f32 2 6", "dim=0 before=1 after=2", "f32 [5, 6]"},
    {"pad", "f32 2 6", "dim=0 before=-1 after=2", "!pad: negative padding (use slice)"},
    {"expand", "f32 1 6", "shape=3,2,6", "f32 [3, 2, 6]"},
    {"expand", "f32 2 6", "shape=4,6", "!expand: [2, 6] does not broadcast to [4, 6]"},
    {"full", "", "shape=2,3 value=1 dtype=i64", "i64 [2, 3]"},
    {"send", "bf16 2 3", "port=1", "bf16 [2, 3]"},
    {"send", "bf16 2 3; f32 2", "port=1", "!send: takes 1 to 1 operands, not 2"},
    {"recv", "", "shape=2,3 dtype=bf16 port=1", "bf16 [2, 3]"},
    {"sgd", "f32 2 3; f32 2 3; f32 ", "", "f32 [2, 3]"},
    {"momentum", "f32 2; f32 2; f32 2", "mu=0.9", "f32 [2], f32 [2]"},
    {"adam", "f32 2; f32 2; f32 2; f32 2", "", "f32 [2], f32 [2], f32 [2]"},
    {"adam", "f32 1; f32 2; f32 2; f32 2", "", "!adam: operand 1 must have the gradient's shape"},
    {"sumsq", "f32 2 3", "", "f32 []"},
    {"clip_scale", "f32 ", "max_norm=1", "f32 []"},
    {"layer_norm", "f32 2 3; f32 3; f32 3", "", "f32 [2, 3]"},
    {"batch_norm", "f32 2 3 4; f32 3; f32 3; f32 3; f32 3", "", "f32 [2, 3, 4], f32 [3], f32 [3]"},
    {"batch_norm", "f32 2 3 4; f32 3; f32 3; f32 4; f32 3", "",
     "!batch_norm: operand 4 must be f32 [3], not f32 [4]"},
    {"batch_norm", "f32 1 3 1; f32 3; f32 3; f32 3; f32 3", "",
     "!batch_norm: operand 1 is [1, 3, 1] but must be [batch, channels, places] with at least 2 "
     "entries a channel"},
    {"rms_norm", "f32 2 3; f32 3", "", "f32 [2, 3]"},
    {"rms_norm", "f32 2 3; f32 2", "", "!rms_norm: operand 2 must be f32 [3], not f32 [2]"},
    {"layer_norm", "f32 2 3; f32 2", "", "!layer_norm: operand 2 must be f32 [3], not f32 [2]"},
    {"softmax", "f32 2 3", "", "f32 [2, 3]"},
    {"softmax", "f32 ", "", "!softmax: works on the last dim, but operand 1 is a scalar"},
    {"log_softmax", "i64 2 3", "", "!log_softmax: operand 1 is i64 but must be a float"},
    {"ce_sum", "f32 2 4 3; i64 2 4", "", "f32 []"},
    {"ce_sum", "f32 2 4 3; i64 2", "", "!ce_sum: labels are [2] but must be [2, 4]"},
    {"mean", "f32 2 3", "dims=1 keepdim=true", "f32 [2, 1]"},
    {"add", "f32 2", "", "!add: takes 2 to 2 operands, not 1"},
};

static char *token(char **p, const char *stop)
{
    *p += strspn(*p, " ");
    char *s = *p;
    size_t n = strcspn(s, stop);
    *p = s + n + (s[n] != 0);
    s[n] = 0;
    return s;
}

static void run(const example *e)
{
    ir_graph *g = ir_graph_new(arena);
    ir_node n = {.name = HB_STR("n")};
    n.op = (ir_op)ir_op_parse(hb_str_c(arena, e->op));
    char *p = hb_copy(arena, e->operands, strlen(e->operands) + 1);
    while (*p) {
        char *one = token(&p, ";");
        ir_dtype type;
        const char *name = token(&one, " ");
        int64_t dim[IR_MAX_RANK];
        int rank = 0;
        ck_assert(ir_dtype_parse(hb_str_c(arena, name), &type));
        while (*one)
            dim[rank++] = atoll(token(&one, " "));
        n.in[n.n_in] = ir_add_tensor(g, hb_fmt(arena, "t%d", n.n_in), IR_INPUT, type, rank, dim);
        n.n_in++;
    }
    for (int i = 0; i < ir_op_of(n.op)->n_attr; i++)
        n.attr[i] = ir_op_of(n.op)->attr[i].value;
    p = hb_copy(arena, e->attrs, strlen(e->attrs) + 1);
    while (*p) {
        const char *key = token(&p, "=");
        char *value = token(&p, " ");
        ir_attr *a = &n.attr[ir_attr_index(n.op, key)];
        ir_dtype type = IR_F32;
        if (a->kind == IR_ATTR_DTYPE && ir_dtype_parse(hb_str_c(arena, value), &type))
            a->i = (int64_t)type;
        else if (a->kind == IR_ATTR_BOOL)
            a->i = strcmp(value, "true") == 0;
        else
            a->i = atoll(value);
        a->f = atof(value);
        for (a->n = 0; a->kind == IR_ATTR_INTS && *value;)
            a->v[a->n++] = atoll(token(&value, ","));
    }
    ir_tensor outs[IR_MAX_OUT] = {0};
    hb_str why = {0};
    hb_buf b = {.arena = arena};
    if (ir_infer(g, &n, outs, arena, &why)) {
        int count = ir_node_outs(&n);
        for (int i = 0; i < count; i++)
            hb_printf(&b, "%s%s %s", i ? ", " : "", ir_dtype_name(outs[i].dtype),
                      ir_shape_text(arena, outs[i].rank, outs[i].dim).p);
    } else {
        hb_printf(&b, "!%.*s", HB_ARG(why));
    }
    ck_assert_str_eq(hb_done(&b).p, e->result);
}

enum { N_EXAMPLES = sizeof examples / sizeof *examples };

START_TEST(inference)
{
    run(&examples[_i]);
}
END_TEST

static bool inferred_alike(const ir_op_info *a, const ir_op_info *b)
{
    if (a == b) return true;
    return a->formula[0] && a->formula[0] != '@' && strcmp(a->formula, b->formula) == 0 &&
           strcmp(a->reads, b->reads) == 0 && strcmp(a->dtypes, b->dtypes) == 0;
}

START_TEST(every_op_has_a_case)
{
    for (int op = 0; op < IR_N_ALL_OPS; op++) {
        bool seen = false;
        if (op == IR_N_OPS) continue;
        for (int i = 0; i < N_EXAMPLES && !seen; i++) {
            int other = ir_op_parse(hb_str_c(arena, examples[i].op));
            seen = inferred_alike(ir_op_of((ir_op)op), ir_op_of((ir_op)other));
        }
        ck_assert_msg(seen, "no case for %s", ir_op_of((ir_op)op)->name);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("shapes");
    TCase *t = tcase_create("shapes");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, table);
    tcase_add_test(t, formulas);
    tcase_add_loop_test(t, inference, 0, N_EXAMPLES);
    tcase_add_test(t, every_op_has_a_case);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
