// Values and gradients of the op table on one rank: against PyTorch (tests/torch), and gradients
// against finite differences of the forward kernels.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/few.h"
#include "tests/support/op_cases.h"

static double norm_of(const float *v, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += (double)v[i] * (double)v[i];
    return sqrt(s);
}

static double distance(const float *v, const float *w, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)v[i] - (double)w[i];
        s += d * d;
    }
    return sqrt(s);
}

static ir_graph *build(hb_arena *a, const char *path)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, path, &(ir_options){0}, d);
    hb_diag_print(d, stderr);
    ck_assert_msg(g != NULL, "%s does not build", path);
    return g;
}

// Input NAME lies in "<prefix>NAME.npy".
static void feed_inputs(interp *x, const char *prefix)
{
    for (int i = 0; i < x->g->tensors.n; i++) {
        const ir_tensor *t = &x->g->tensors.p[i];
        if (t->kind != IR_INPUT) continue;
        hb_str path = hb_fmt(x->arena, "%s%.*s.npy", prefix, HB_ARG(t->name));
        arrays f = arrays_read(x->arena, path.p);
        interp_feed(x, i, f.v);
    }
}

// --- PyTorch: every user row (op_fixtures.py; the gradient of CASE.out is the value of CASE) ---

static const char *const families[] = {"attention", "lookup", "pointwise", "reductions",
                                       "views",     "dense",  "moe",       "windows"};
enum { N_FAMILIES = sizeof families / sizeof *families, N_WITHOUT_PRODUCTS = 5 };

START_TEST(rows_agree_with_torch)
{
    hb_arena *a = hb_arena_new();
    const char *base = hb_fmt(a, "tests/torch/ops/%s", families[_i]).p;
    ir_graph *g = build(a, hb_fmt(a, "%s.json", base).p);
    interp *x = interp_new(a, g, 1);
    ck_assert_int_gt(interp_load(x, hb_fmt(a, "%s.init.safetensors", base).p), 0);
    feed_inputs(x, hb_fmt(a, "%s.", base).p);
    const char *why = interp_run(x);
    ck_assert_msg(!why, "%s", why);
    arrays want = arrays_read(a, hb_fmt(a, "%s.grads.safetensors", base).p);
    int compared = 0, wrong = 0;
    for (int i = 0; i + 1 < g->grads.n; i += 2) {
        hb_str name = g->tensors.p[g->grads.p[i]].name;
        const array *w = arrays_get(&want, name.p, name.n);
        ck_assert_msg(w != NULL, "%.*s: no expected gradient", HB_ARG(name));
        const hap_tensor *t = &x->t[g->grads.p[i + 1]];
        ck_assert_int_eq(t->elements, w->elements);
        double d = distance(t->data, w->data, t->elements), n = norm_of(w->data, t->elements);
        if (!(d <= 1e-5 * n + 1e-6)) {
            fprintf(stderr, "%.*s: off by %.3g of %.3g\n", HB_ARG(name), d, n);
            wrong++;
        }
        compared++;
    }
    ck_assert_int_eq(wrong, 0);
    for (int i = 0; i < want.n; i++) { // parameters that reach the loss through comparisons only
        bool has = false;
        for (int k = 0; k + 1 < g->grads.n; k += 2)
            has |= hb_str_eq(g->tensors.p[g->grads.p[k]].name, want.v[i].name);
        ck_assert_msg(has || norm_of(want.v[i].data, want.v[i].elements) == 0, "%.*s: no gradient",
                      HB_ARG(want.v[i].name));
    }
    ck_assert_int_gt(compared, want.n * 3 / 4);
    hb_arena_free(a);
}
END_TEST

// --- PyTorch: whole training runs ---

typedef struct model {
    const char *name;
    int steps;
} model;
static const model models[] = {
    {"mlp", 20}, {"gpt2-tiny", 20}, {"bert-tiny", 20}, {"bert-moe-tiny", 20}, {"vit-tiny", 20}};

static const hb_tree *reference(hb_arena *a, const char *name)
{
    hb_source src = {hb_fmt(a, "tests/torch/%s/reference.json", name), {0}};
    const char *why;
    ck_assert_msg(hb_read_file(a, src.name.p, &src.text, &why), "%s: %s", src.name.p, why);
    hb_tree *t = hb_json_read(a, &src, hb_diag_new(a));
    ck_assert_ptr_nonnull(t);
    return t;
}

static void grads_agree(interp *x, const arrays *want)
{
    const ir_graph *g = x->g;
    double all = 0;
    for (int i = 0; i < want->n; i++)
        all = hypot(all, norm_of(want->v[i].data, want->v[i].elements));
    for (int i = 0; i + 1 < g->grads.n; i += 2) {
        hb_str name = g->tensors.p[g->grads.p[i]].name;
        const array *w = arrays_get(want, name.p, name.n);
        ck_assert_msg(w != NULL, "%.*s: no expected gradient", HB_ARG(name));
        double d = distance(x->t[g->grads.p[i + 1]].data, w->data, w->elements);
        ck_assert_msg(d <= 1e-4 * norm_of(w->data, w->elements) + 1e-7 * all,
                      "gradient of %.*s is off by %.3g of %.3g", HB_ARG(name), d,
                      norm_of(w->data, w->elements));
    }
}

START_TEST(training_agrees_with_torch)
{
    const model *m = &models[_i];
    hb_arena *a = hb_arena_new();
    const hb_tree *ref = reference(a, m->name), *losses = hb_get(ref, "losses");
    ir_graph *g = build(a, hb_fmt(a, "examples/%s/graph.json", m->name).p);
    interp *x = interp_new(a, g, (uint64_t)hb_get(ref, "seed")->i);
    const char *folder = hb_fmt(a, "tests/torch/%s", m->name).p;
    ck_assert_int_eq(losses->n, m->steps);
    float *start[4096] = {NULL};
    ck_assert_int_lt(g->tensors.n, 4096);
    for (int s = 0; s < m->steps; s++) {
        feed_inputs(x, hb_fmt(a, "%s/", folder).p);
        const char *why = interp_run(x);
        ck_assert_msg(!why, "%s", why);
        double want = losses->v[s]->f, got = (double)interp_loss(x);
        ck_assert_msg(fabs(got - want) <= 1e-5 * fabs(want),
                      "%s: loss of step %d is %.9g, not %.9g", m->name, s, got, want);
        if (s == 0) {
            arrays grads = arrays_read(a, hb_fmt(a, "%s/grads.safetensors", folder).p);
            grads_agree(x, &grads);
            for (int i = 0; i < g->tensors.n; i++)
                if (g->tensors.p[i].kind == IR_PARAM)
                    start[i] = hb_copy(a, x->t[i].data, (size_t)x->t[i].bytes);
        }
        interp_advance(x);
    }
    arrays final = arrays_read(a, hb_fmt(a, "%s/final.safetensors", folder).p);
    double off = 0, moved = 0;
    for (int i = 0; i < g->tensors.n; i++) {
        const array *w = arrays_get(&final, g->tensors.p[i].name.p, g->tensors.p[i].name.n);
        if (!start[i] || !w) continue;
        // Attention's key bias has no true gradient (design.md 6): rounding alone moves it.
        if (hb_glob(HB_STR("*.key.bias"), g->tensors.p[i].name) ||
            hb_glob(HB_STR("*.c_attn.bias"), g->tensors.p[i].name) ||
            hb_glob(HB_STR("*.attn.qkv.bias"), g->tensors.p[i].name))
            continue;
        off = hypot(off, distance(x->t[i].data, w->data, w->elements));
        moved = hypot(moved, distance(start[i], w->data, w->elements));
    }
    ck_assert_msg(moved > 0 && off <= 1e-3 * moved, "%s: parameters are off by %.3g of %.3g",
                  m->name, off, moved);
    hb_arena_free(a);
}
END_TEST

// --- finite differences ---

// loss = sum over outputs of w y, found in double outside the graph; the gradients by the graph's
// own backward pass.
typedef struct probe {
    interp *x;
    int n_out, out[IR_MAX_OUT], weight[IR_MAX_OUT];
} probe;

static double loss_of(const probe *p)
{
    double s = 0;
    const char *why = interp_run_until(p->x, IR_FORWARD);
    ck_assert_msg(!why, "%s", why);
    for (int o = 0; o < p->n_out; o++) {
        const hap_tensor *y = &p->x->t[p->out[o]], *w = &p->x->t[p->weight[o]];
        for (int64_t i = 0; i < y->elements; i++)
            s += (double)((float *)y->data)[i] * (double)((float *)w->data)[i];
    }
    return s;
}

// Central differences at h and h / 2, extrapolated: error O(h^4).
static double slope(const probe *p, float *at)
{
    float keep = *at;
    double d[2];
    for (int i = 0; i < 2; i++) {
        float h = i == 0 ? 0x1p-5f : 0x1p-6f;
        *at = keep + h;
        double up = loss_of(p), x1 = (double)*at;
        *at = keep - h;
        double down = loss_of(p), x0 = (double)*at;
        d[i] = (up - down) / (x1 - x0);
    }
    *at = keep;
    return (4 * d[1] - d[0]) / 3;
}

static void check_gradients(const op_case *c)
{
    hb_arena *a = hb_arena_new();
    uint64_t rng = 7;
    int node;
    ir_graph *g = op_case_graph(a, c, true, &node);
    hb_diag *d = hb_diag_new(a);
    ir_node n = g->nodes.p[node];
    bool kept = c->op == IR_OP_sdpa || c->op == IR_OP_batch_norm; // others have no gradient
    probe p = {.n_out = kept ? 1 : n.n_out};
    int total = -1;
    for (int o = 0; o < p.n_out; o++) {
        const ir_tensor y = g->tensors.p[n.out[o]];
        int w = ir_add_tensor(g, hb_fmt(a, "weight%d", o), IR_INPUT, y.dtype, y.rank, y.dim);
        p.out[o] = n.out[o], p.weight[o] = w;
        int node_id = ir_add_node(g, hb_fmt(a, "weighted%d", o), IR_OP_mul, IR_FORWARD, 2,
                                  (int[]){n.out[o], w}, NULL);
        int term = g->nodes.p[node_id].out[0];
        if (y.rank > 0) {
            ir_attr attr[IR_MAX_ATTR] = {{.kind = IR_ATTR_INTS, .n = y.rank},
                                         {.kind = IR_ATTR_BOOL}};
            for (int k = 0; k < y.rank; k++)
                attr[0].v[k] = k;
            node_id = ir_add_node(g, hb_fmt(a, "term%d", o), IR_OP_sum, IR_FORWARD, 1, &term, attr);
            term = g->nodes.p[node_id].out[0];
        }
        if (total >= 0) {
            node_id = ir_add_node(g, hb_fmt(a, "total%d", o), IR_OP_add, IR_FORWARD, 2,
                                  (int[]){total, term}, NULL);
            term = g->nodes.p[node_id].out[0];
        }
        total = term;
    }
    g->loss = total;
    bool built = ir_expand(g, d) && ir_autodiff(g, d);
    hb_diag_print(d, stderr);
    ck_assert_msg(built, "%s: no gradient", op_case_text(c));
    interp *x = interp_new(a, g, 1);
    p.x = x;
    for (int i = 0; i < n.n_in; i++)
        op_case_fill(c, i, &x->t[n.in[i]], &rng);
    for (int o = 0; o < p.n_out; o++)
        for (int64_t i = 0; i < x->t[p.weight[o]].elements; i++)
            ((float *)x->t[p.weight[o]].data)[i] = (float)test_uniform(&rng, -1, 1);
    const char *why = interp_run(x);
    ck_assert_msg(!why, "%s: %s", op_case_text(c), why);
    ck_assert_int_gt(g->grads.n, 0);
    for (int k = 0; k + 1 < g->grads.n; k += 2) {
        hap_tensor *v = &x->t[g->grads.p[k]];
        float *grad = hb_copy(a, x->t[g->grads.p[k + 1]].data, (size_t)v->bytes);
        double scale = 1 + norm_of(grad, v->elements) / sqrt((double)v->elements);
        for (int64_t i = 0; i < v->elements; i++) {
            float *at = (float *)v->data + i;
            double want = slope(&p, at);
            ck_assert_msg(fabs((double)grad[i] - want) <= 3e-4 * scale,
                          "%s: d/d %.*s[%lld] is %.6g, by differences %.6g", op_case_text(c),
                          HB_ARG(g->tensors.p[g->grads.p[k]].name), (long long)i, (double)grad[i],
                          want);
        }
    }
    hb_arena_free(a);
}

// Rows with statistics are differentiated as a whole, through the composite that makes them.
static const op_case composites[] = {
    {IR_OP_layer_norm, "eps=0.01", "f2x3x5", NULL, NULL},
    {IR_OP_layer_norm, "", "f2x3x5 f5", NULL, NULL},
    {IR_OP_layer_norm, "", "f6x5 f5 f5", NULL, NULL},
    {IR_OP_batch_norm, "eps=0.01", "f4x3x5 f3 f3 f3 p3", NULL, NULL},
    {IR_OP_batch_norm, "", "f4x3x1 f3 f3 f3 p3", NULL, NULL},
    {IR_OP_rms_norm, "eps=0.01", "f2x3x5", NULL, NULL},
    {IR_OP_rms_norm, "", "f6x5 f5", NULL, NULL},
    {IR_OP_softmax, "", "f2x3x5", NULL, NULL},
    {IR_OP_log_softmax, "", "f6x5", NULL, NULL},
    {IR_OP_ce_sum, "", "f2x5x7 l2x5%7", NULL, NULL},
    {IR_OP_mean, "dims=0,2", "f2x3x4", NULL, NULL},
};
enum { N_COMPOSITES = sizeof composites / sizeof *composites };

START_TEST(composites_by_differences)
{
    check_gradients(&composites[_i]);
}
END_TEST

static bool has_float_operand(const op_case *c)
{
    for (const char *s = c->in; *s; s++)
        if ((s == c->in || s[-1] == ' ') && strchr("fkpgvdu", *s)) return true;
    return false;
}

// Rows of composites whose gradient goes through other rows of them: checked there.
static bool in_composite(const ir_op_info *row)
{
    static const char *const rows[] = {"softmax_apply", "log_softmax_apply", "nll_sum",
                                       "norm_apply",    "batch_apply",       "rms_apply"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i], row->name) == 0) return true;
    return false;
}

START_TEST(rows_by_differences)
{
    const ir_op_info *row = ir_op_of((ir_op)_i);
    if (strcmp(row->vjp, "none") == 0 || strcmp(row->vjp, "stat") == 0 || in_composite(row)) return;
    int checked = 0;
    for (int i = 0; i < n_op_cases; i++) {
        const op_case *c = &op_cases[i];
        if (c->op != (ir_op)_i || c->before || c->after || !has_float_operand(c)) continue;
        if (c->op == IR_OP_cast && strcmp(c->attrs, "dtype=f32") != 0)
            continue; // to integers: none
        check_gradients(c);
        checked++;
    }
    ck_assert_msg(checked > 0, "row %s has a gradient and no case to check it", row->name);
}
END_TEST

// --- the small functions in ops_math.h are covered by values above; errors are answered ---

START_TEST(types_without_a_kernel)
{
    hap_dim dim[1] = {WHOLE(3)};
    hap_tensor x = shard_new(HAP_I64, 1, dim, NULL), y = shard_new(HAP_BF16, 1, dim, NULL);
    hap_step_state now = {0, 1, 1};
    for (int op = 0; op < HAP_N_OPS; op++) {
        hap_op_call c = {.op = (hap_op_id)op, .n_out = 1, .out = {&y}, .n_in = 2, .in = {&x, &x}};
        if (op != HAP_OP_gelu && op != HAP_OP_exp && op != HAP_OP_div && op != HAP_OP_adam)
            continue;
        const char *why = hap_cpu_run(&now, &c);
        ck_assert_msg(why && strstr(why, "not supported"), "row %d took integers", op);
    }
    shard_free(&x);
    shard_free(&y);
}
END_TEST

START_TEST(a_label_outside)
{
    int64_t label[2] = {0, 9};
    hap_dim dims[2] = {WHOLE(2), WHOLE(4)};
    hap_tensor x = shard_new(HAP_F32, 2, dims, NULL), l = shard_new(HAP_I64, 1, dims, NULL);
    hap_tensor y = shard_new(HAP_F32, 1, dims, NULL);
    memcpy(l.data, label, sizeof label);
    hap_op_call c = {.op = HAP_OP_target_logit,
                     .n_out = 1,
                     .out = {&y},
                     .n_in = 2,
                     .in = {&x, &l},
                     .n_attr = 1,
                     .attr = {{.i = -100}}};
    const char *why = hap_cpu_run(&(hap_step_state){0, 1, 1}, &c);
    ck_assert_msg(why && strstr(why, "index 9 lies outside [0, 4)"), "%s", why ? why : "no error");
    shard_free(&x);
    shard_free(&l);
    shard_free(&y);
}
END_TEST

// About the share asked for; another mask at another step; the same at the same.
START_TEST(dropout_masks)
{
    enum { N = 40000 };
    static float x[N], y[2][N];
    hap_dim dim[1] = {WHOLE(N)};
    hap_tensor tx = {.type = HAP_F32,
                     .rank = 1,
                     .dim = {dim[0]},
                     .local = {N},
                     .elements = N,
                     .bytes = 4 * N,
                     .data = x},
               ty = tx;
    for (int i = 0; i < N; i++)
        x[i] = 1;
    int differ = 0;
    double kept = 0;
    for (int s = 0; s < 2; s++) {
        ty.data = y[s];
        hap_op_call c = {.op = HAP_OP_dropout,
                         .n_out = 1,
                         .out = {&ty},
                         .n_in = 1,
                         .in = {&tx},
                         .n_attr = 3,
                         .attr = {{.f = 0.3}, {.i = 17}}};
        ck_assert_ptr_null(hap_cpu_run(&(hap_step_state){s, 1, 5}, &c));
    }
    for (int i = 0; i < N; i++) {
        ck_assert(y[0][i] == 0 || fabsf(y[0][i] - 1 / 0.7f) < 1e-6f);
        kept += y[0][i] != 0;
        differ += (y[0][i] != 0) != (y[1][i] != 0);
    }
    ck_assert_msg(fabs(kept / N - 0.7) < 0.01, "kept %.4f", kept / N);
    ck_assert_msg(fabs(differ / (double)N - 0.42) < 0.01, "differ %.4f", differ / (double)N);
}
END_TEST

// A chunk's mask is a run of the whole's, from `first` on.
START_TEST(dropout_of_chunks)
{
    enum { N = 60 };
    float x[N], y[2][N];
    hap_tensor tx = {.type = HAP_F32, .rank = 1}, ty = tx;
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    for (int k = 0; k < 4; k++) { // the whole, then three chunks
        int64_t n = k ? N / 3 : N, at = k ? (k - 1) * n : 0;
        hap_dim dim = WHOLE(n);
        tx.dim[0] = ty.dim[0] = dim;
        tx.local[0] = ty.local[0] = tx.elements = ty.elements = n;
        tx.bytes = ty.bytes = 4 * n;
        tx.data = x + at;
        ty.data = y[k > 0] + at;
        hap_op_call c = {.op = HAP_OP_dropout,
                         .n_out = 1,
                         .out = {&ty},
                         .n_in = 1,
                         .in = {&tx},
                         .n_attr = 3,
                         .attr = {{.f = 0.3}, {.i = 17}, {.i = at}}};
        ck_assert_ptr_null(hap_cpu_run(&(hap_step_state){1, 1, 5}, &c));
    }
    ck_assert_int_eq(memcmp(y[0], y[1], sizeof y[0]), 0);
}
END_TEST

// y may lie on either operand of add, narrow types too.
START_TEST(add_over_an_operand)
{
    for (int side = 0; side < 2; side++)
        for (int narrow = 0; narrow < 2; narrow++) {
            hap_dim dim[2] = {WHOLE(7), WHOLE(9)}, row[1] = {WHOLE(9)};
            hap_dtype type = narrow ? HAP_BF16 : HAP_F32;
            int coord[2] = {0};
            hap_tensor a = shard_new(type, 2, dim, coord), b = shard_new(type, 1, row, coord);
            hap_tensor y = shard_new(type, 2, dim, coord), over = a;
            for (int64_t i = 0; i < a.bytes; i++) // small positive numbers of either type
                ((uint8_t *)a.data)[i] = (uint8_t)(i % 2 ? 0x3f : 8 * i);
            for (int64_t i = 0; i < b.bytes; i++)
                ((uint8_t *)b.data)[i] = (uint8_t)(i % 2 ? 0x3e : 16 * i);
            hap_op_call c = {.op = HAP_OP_add,
                             .n_out = 1,
                             .out = {&y},
                             .n_in = 2,
                             .in = {side ? &b : &a, side ? &a : &b}};
            ck_assert_ptr_null(hap_cpu_run(&(hap_step_state){0}, &c));
            c.out[0] = &over;
            ck_assert_ptr_null(hap_cpu_run(&(hap_step_state){0}, &c));
            ck_assert_int_eq(memcmp(a.data, y.data, (size_t)y.bytes), 0);
            shard_free(&a);
            shard_free(&b);
            shard_free(&y);
        }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("op_values");
    TCase *t = tcase_create("values");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, rows_agree_with_torch, 0, test_few() ? N_WITHOUT_PRODUCTS : N_FAMILIES);
    if (!test_few()) {
        tcase_add_loop_test(t, training_agrees_with_torch, 0, sizeof models / sizeof *models);
        tcase_add_loop_test(t, composites_by_differences, 0, N_COMPOSITES);
        tcase_add_loop_test(t, rows_by_differences, 0, IR_N_OPS);
    }
    tcase_add_test(t, types_without_a_kernel);
    tcase_add_test(t, a_label_outside);
    tcase_add_test(t, dropout_masks);
    tcase_add_test(t, dropout_of_chunks);
    tcase_add_test(t, add_over_an_operand);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
