// --expert-room: rows that move to their experts (ir/rooms.c).
//
//  same      each step with rooms, run on the CPU kernels, has the loss and the gradients of the
//  step
//            whose rows stay; how many moves and products it takes
//  overflow  what a room that is too small says
//  refused   graphs without rows that choose experts, or without groups

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/vjp.h"
#include "tests/support/graph_text.h"
#include "tests/support/interp.h"

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

#define WEIGHTS                                                                                    \
    "g: param f32 5 3\nw1: param f32 3 5 8\nw2: param f32 3 8 5\nw3: param f32 3 5 8\n"            \
    "c: param f32 8\n"
#define ROWS   "x: input f32 4 6 5\nx1 = reshape(x) shape=4,6,1,5\n" WEIGHTS
#define CHOICE "l = linear(x, g)\ni = top_index(l) k=2\n"
#define END    "q = mul(z, z)\nt = sum(q) dims=0,1,2,3\nloss t\n"

typedef struct example {
    const char *text;
    int to, from, products; // in the forward pass
} example;

static const example examples[] = {
    // gate and up read the same rooms; a row of numbers and a number meet them there
    {ROWS CHOICE
     "u = expert_linear(x1, i, w1)\nv = expert_linear(x1, i, w3)\na = silu(u)\n"
     "b = mul(a, v)\nd = add(c, b)\ne = scale(d) c=0.5\nz = expert_linear(e, i, w2)\n" END,
     1, 1, 3},
    // entries of a row are moved
    {ROWS CHOICE "u = expert_linear(x1, i, w1)\na = slice(u) dim=3 start=4 stop=8\n"
                 "b = slice(u) dim=3 start=0 stop=4\nd = concat(a, b) dim=3\n"
                 "z = expert_linear(d, i, w2)\n" END,
     1, 1, 2},
    // what has no gradient at 0
    {ROWS CHOICE "u = expert_linear(x1, i, w1)\na = mul(u, u)\nb = sqrt(a)\nd = add_scalar(b) c=1\n"
                 "e = div(u, d)\nz = expert_linear(e, i, w2)\n" END,
     1, 1, 2},
    // a value is read as rows too, one that only rows read is not made in rooms
    {ROWS CHOICE "u = expert_linear(x1, i, w1)\na = silu(u)\nz1 = expert_linear(a, i, w2)\n"
                 "y = tanh(z1)\ns = sum(u) dims=3 keepdim=true\nz = mul(y, s)\n" END,
     1, 2, 2},
    // a sum over the rows' entries stands between: rows come back
    {ROWS CHOICE "u = expert_linear(x1, i, w1)\ns = sum(u) dims=3 keepdim=true\na = mul(u, s)\n"
                 "z = expert_linear(a, i, w2)\n" END,
     2, 2, 2},
    // another choice
    {ROWS CHOICE "n = neg(l)\nj = top_index(n) k=2\nu = expert_linear(x1, i, w1)\na = silu(u)\n"
                 "z = expert_linear(a, j, w2)\n" END,
     2, 2, 2},
    // the same choice of other rows
    {ROWS "l = linear(x, g)\nj = top_index(l) k=1\nu = expert_linear(x1, j, w1)\n"
          "e = expand(u) shape=4,6,2,8\nf = silu(e)\nz = expert_linear(f, j, w2)\n" END,
     2, 2, 2},
    // examples are a part of a dim of rows, each of which chooses once; transposed weights
    {"x: input f32 24 5\n" WEIGHTS "w4: param f32 3 5 8\nl = linear(x, g)\nm = top_index(l) k=1\n"
     "i = reshape(m) shape=24\nu = expert_linear(x, i, w1)\na = gelu(u)\n"
     "y = expert_linear(a, i, w4) trans=1\nz = reshape(y) shape=4,6,1,5\n" END,
     1, 1, 2},
};
enum { N_EXAMPLES = sizeof examples / sizeof *examples };

static interp *run(const ir_graph *g, const interp *as)
{
    interp *x = interp_new(arena, g, 7);
    uint64_t state = 11;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *of = &g->tensors.p[t];
        if (of->kind != IR_INPUT && of->kind != IR_PARAM) continue;
        hap_tensor *from = as ? interp_get((interp *)(uintptr_t)as, of->name.p) : NULL;
        for (int64_t k = 0; !as && k < x->t[t].elements; k++)
            ((float *)x->t[t].data)[k] = (float)test_uniform(&state, -1, 1);
        if (from) memcpy(x->t[t].data, from->data, (size_t)x->t[t].bytes);
    }
    const char *why = interp_run(x);
    ck_assert_msg(!why, "%s", why);
    return x;
}

static int many(const ir_graph *g, ir_op op)
{
    int n = 0;
    for (int k = 0; k < g->nodes.n; k++)
        n += g->nodes.p[k].op == op && g->nodes.p[k].phase == IR_FORWARD;
    return n;
}

START_TEST(same)
{
    const example *e = &examples[_i];
    ir_graph *g = graph_text(arena, e->text);
    // room for all of a group's rows: nothing can be too much
    ir_graph *v = graph_text(arena, hb_fmt(arena, "rooms 3 4\n%s", e->text).p);
    ck_assert_int_eq(many(v, IR_OP_expert_linear), 0);
    ck_assert_int_eq(many(v, IR_OP_room_linear), e->products);
    ck_assert_int_eq(many(v, IR_OP_to_rooms), e->to);
    ck_assert_int_eq(many(v, IR_OP_from_rooms), e->from);
    const interp *x = run(g, NULL), *y = run(v, x);
    ck_assert_double_eq_tol((double)interp_loss(x), (double)interp_loss(y),
                            1e-5 * fabs((double)interp_loss(x)));
    ck_assert_int_eq(g->grads.n, v->grads.n);
    for (int i = 0; i < g->grads.n; i += 2) {
        const hap_tensor *p = &x->t[g->grads.p[i + 1]], *q = &y->t[v->grads.p[i + 1]];
        double off = 0, norm = 0;
        for (int64_t k = 0; k < p->elements; k++) {
            double a = (double)((const float *)p->data)[k], b = (double)((const float *)q->data)[k];
            off += (a - b) * (a - b);
            norm += a * a;
        }
        ck_assert_msg(sqrt(off) <= 1e-4 * sqrt(norm) + 1e-6, "example %d, gradient %d: %g of %g",
                      _i, i / 2, sqrt(off), sqrt(norm));
    }
}
END_TEST

START_TEST(overflow)
{
    ir_graph *g =
        graph_text(arena, hb_fmt(arena, "rooms 1 4\n%s", examples[N_EXAMPLES - 1].text).p);
    interp *x = interp_new(arena, g, 7);
    hap_tensor *rows = interp_get(x, "x"), *g5x3 = interp_get(x, "g");
    for (int64_t k = 0; k < g5x3->elements; k++) // expert e is chosen by the e-th entry of a row
        ((float *)g5x3->data)[k] = k / 3 == k % 3 ? 1.0f : 0.0f;
    for (int64_t k = 0; k < rows->elements; k++) { // by two rows each, but for example 1
        int64_t row = k / 5, expert = row / 6 == 1 ? 2 : row % 3;
        ((float *)rows->data)[k] = k % 5 == expert ? 1.0f : 0.0f;
    }
    const char *why = interp_run(x);
    ck_assert_msg(
        why && strstr(why, "to_rooms): 6 of 6 rows of example 1 choose expert 2, which has room "
                           "for 2 (hapc --expert-room)"),
        "%s", why ? why : "runs");
}
END_TEST

START_TEST(refused)
{
    hb_diag *d = hb_diag_new(arena);
    ck_assert(!ir_build(arena, "examples/mlp/graph.json", &(ir_options){.expert_room = 2}, d));
    ck_assert_int_eq(hb_diag_count(d), 1);
    ir_graph *g = graph_text(arena, examples[0].text);
    g->expert_room = 2;
    g->batch = 3; // its rows are of 4 examples
    d = hb_diag_new(arena);
    ck_assert(!ir_rooms(g, d));
    ck_assert_int_eq(hb_diag_count(d), 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rooms");
    TCase *t = tcase_create("rooms");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, same, 0, N_EXAMPLES);
    tcase_add_test(t, overflow);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
