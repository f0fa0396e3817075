#include "gated_models.h"

#include <check.h>

#include "graph_text.h"
#include "plan_facts.h"

#define LINEARS "g = linear(x, wg) trans=1\nu = linear(x, wu) trans=1\n"
#define DOWN    "d = linear(p, wd) trans=1\n"
#define GATED   LINEARS "s = silu(g)\np = mul(s, u)\n"

const gated_model gated_models[] = {
    {.what = "a gated MLP", .endings = 2, .body = GATED DOWN},
    {.what = "the factors the other way round",
     .endings = 2,
     .body = LINEARS "s = silu(g)\np = mul(u, s)\n" DOWN},
    {.what = "up before the gate",
     .endings = 2,
     .body = "u = linear(x, wu) trans=1\ng = linear(x, wg) trans=1\ns = silu(g)\n"
             "p = mul(s, u)\n" DOWN},
    {.what = "biases",
     .endings = 2,
     .more = "b: param f32 1024\n",
     .body = "g = linear(x, wg, b) trans=1\nu = linear(x, wu, b) trans=1\ns = silu(g)\n"
             "p = mul(s, u)\n" DOWN},
    {.what = "f32", .f32 = true, .body = GATED DOWN},
    {.what = "weights turned backward, not forward",
     .left = 2,
     .straight = true,
     .body = "g = linear(x, wg)\nu = linear(x, wu)\ns = silu(g)\np = mul(s, u)\n"
             "d = linear(p, wd)\n"},
    {.what = "few products", .left = 2, .rows = 128, .body = GATED DOWN},
    {.what = "rows of no whole vectors", .left = 2, .hidden = 1028, .body = GATED DOWN},
    {.what = "gelu", .body = LINEARS "s = gelu(g)\np = mul(s, u)\n" DOWN},
    {.what = "a product that two matmuls read, so that its gradient is a sum",
     .endings = 1,
     .more = "wd2: param f32 512 1024\n",
     .body = GATED "d1 = linear(p, wd) trans=1\nd2 = linear(p, wd2) trans=1\nd = add(d1, d2)\n"},
    {.what = "operands, and a gradient, that no matmul made",
     .body = "g1 = linear(x, wg) trans=1\nu1 = linear(x, wu) trans=1\n"
             "g = transpose(g1) perm=1,0\nu = transpose(u1) perm=1,0\ns = silu(g)\n"
             "pt = mul(s, u)\np = transpose(pt) perm=1,0\n" DOWN},
    {.what = "both operands are read before the product",
     .endings = 1,
     .more = "v: param f32 512 1024\nw: param f32 512 1024\n",
     .body = LINEARS "d1 = linear(u, v) trans=1\nd2 = linear(g, w) trans=1\ns = silu(g)\n"
                     "p = mul(s, u)\nd3 = linear(p, wd) trans=1\nd4 = add(d1, d2)\n"
                     "d = add(d3, d4)\n"},
    {.what = "a sum behind the product, so that others read its gradient",
     .more = "wo: param f32 1024 512\n",
     .body = "o = linear(x, wo) trans=1\n" GATED "q = add(p, o)\n"
             "d = linear(q, wd) trans=1\n"},
    {.what = "silu's result is read further on",
     .more = "wd2: param f32 512 1024\n",
     .body = GATED "d1 = linear(p, wd) trans=1\nd2 = linear(s, wd2) trans=1\nd = add(d1, d2)\n"},
};
const int n_gated_models = sizeof gated_models / sizeof *gated_models;

cost_model *gated_device(hb_arena *a, int arch)
{
    cost_model *m = HB_NEW(a, cost_model);
    m->cluster = small_cluster(a, 1, 1, &(device){67, 4800, 100, 5, 0}, 10, 20);
    m->math = COST_BF16;
    m->cluster->cls[0].arch = arch;
    m->cluster->cls[0].bf16 = 989e12;
    return m;
}

syn_program *gated_plan(hb_arena *a, const gated_model *g, const cost_model *m)
{
    const int rows = g->rows ? g->rows : 256, hidden = g->hidden ? g->hidden : 1024, width = 512;
    const int n = g->straight ? width : hidden, k = g->straight ? hidden : width;
    hb_str text =
        hb_fmt(a,
               "x: input f32 %d %d\ny: input i64 %d\nwg: param f32 %d %d\n"
               "wu: param f32 %d %d\nwd: param f32 %d %d\nwh: param f32 16 %d\n%s%s"
               "l = linear(d, wh) trans=1\nce = ce_sum(l, y)\nn = count(y)\n"
               "total = div(ce, n)\nloss total\n",
               rows, width, rows, n, k, n, k, k, n, width, g->more ? g->more : "", g->body);
    ir_precision precision = g->f32 ? IR_PRECISION_FP32 : IR_PRECISION_BF16;
    ir_graph *graph = graph_text_as(a, text.p, precision, IR_F32);
    syn_options o = syn_default_options();
    syn_result r = syn_synthesize(a, graph, ir_factorize(a, graph), m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    return r.program;
}

bool gated_ops(const syn_program *p, const syn_fusion *g)
{
    for (int m = 0; m < g->len; m++) {
        ir_op op = p->g->nodes.p[p->instr.p[g->first + m].node].op;
        if (op != IR_OP_silu && op != IR_OP_mul && op != IR_OP_silu_bwd) return false;
    }
    return true;
}
