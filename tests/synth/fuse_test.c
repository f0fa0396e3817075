// Fusions: what may stand in one, that finding them moves nothing past what it needs, what they
// keep, what they cost, and that the checker refuses a fusion that leaves out what is read later.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/certify/record.h"
#include "synth/passes/fuse.h"
#include "synth/passes/schedule.h"
#include "synth/plan/fusion_parts.h"
#include "synth/price/fusion_cost.h"
#include "synth/price/instr_cost.h"
#include "synth/space/lower.h"
#include "synth/space/space_solve.h"
#include "tests/support/graph_text.h"
#include "tests/support/plan_facts.h"
#include "tests/support/search_setting.h"
#include "tests/support/small_models.h"

static bool has(const int *v, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

static bool must_follow(const syn_instr *x, const syn_instr *y)
{
    for (int i = 0; i < x->n_out; i++)
        if (has(y->in, y->n_in, x->out[i]) || has(y->out, y->n_out, x->out[i])) return true;
    for (int i = 0; i < x->n_in; i++)
        if (x->in[i] >= 0 && has(y->out, y->n_out, x->in[i])) return true;
    return false;
}

// Where an instruction of the old list stands now; instructions are told apart by their lists.
static int place_of(const syn_program *p, const syn_instr *x)
{
    int at = -1;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *y = &p->instr.p[i];
        if (y->kind == x->kind && y->out == x->out && y->in == x->in && y->start == x->start)
            at = i;
    }
    ck_assert_int_ge(at, 0);
    return at;
}

static bool read_after(const syn_program *p, int from, int buffer)
{
    if (p->loss == buffer) return true;
    for (int t = 0; p->keep_grads && t < p->g->tensors.n; t++)
        if (p->grad[t] == buffer) return true;
    for (int i = from; i < p->instr.n; i++)
        if (has(p->instr.p[i].in, p->instr.p[i].n_in, buffer)) return true;
    return false;
}

static void look_at_groups(const syn_program *p)
{
    for (int k = 0; k < p->fusions.n; k++) {
        const syn_fusion *g = &p->fusions.p[k];
        syn_parts s;
        ck_assert_int_ge(g->len, 2);
        ck_assert_int_le(g->len, SYN_MAX_FUSION);
        if (k > 0) ck_assert_int_ge(g->first, g[-1].first + g[-1].len);
        for (int m = 0; m < g->len; m++) {
            const syn_instr *in = &p->instr.p[g->first + m];
            ck_assert_int_eq(in->kind, SYN_OP);
            const ir_op_info *op = ir_op_of(p->g->nodes.p[in->node].op);
            ck_assert(op->flags & (IR_EACH | IR_ROWS) || op->role == IR_ROLE_columns);
            for (int o = 0; o < in->n_out; o++)
                ck_assert_int_eq(g->kept[m] >> o & 1, read_after(p, g->first + g->len, in->out[o]));
        }
        // As large on every rank as the shapes say.
        syn_fusion_parts(p, g, &s);
        for (int r = 0; r < p->mesh->n_ranks; r++) {
            const syn_tensor *d = &p->tensors.p[s.domain];
            int64_t n = syn_local_elements(p->mesh, p->g, p->f, d->value, &d->state, r);
            for (int i = 0; i < s.n; i++) {
                const syn_tensor *t = &p->tensors.p[s.part[i].buffer];
                int64_t e = syn_local_elements(p->mesh, p->g, p->f, t->value, &t->state, r);
                if (s.part[i].shape == SYN_FULL) ck_assert_int_eq(e, n);
                if (s.part[i].shape == SYN_ONE) ck_assert_int_eq(e, 1);
                if (s.part[i].shape == SYN_ROW || s.part[i].shape == SYN_COLUMN ||
                    s.part[i].shape == SYN_TAIL || s.part[i].shape == SYN_ADDED)
                    ck_assert(e == n || (e > 0 && n % e == 0) || n == 0);
            }
        }
    }
}

static int groups_seen, moved_seen;

static void look_at_order(int i)
{
    setting s;
    setting_options o = {.n_axes = 1 + i % 2, .n_ops = 14, .max_nodes = 120, .train = i % 3 > 0};
    if (!setting_make(&s, (uint64_t)i * 97 + 5, &o)) return;
    for (int c = 0; c < s.cluster.n_classes; c++)
        s.cluster.cls[c].kind = CL_GPU;
    syn_space *sp = setting_space(&s);
    syn_choice choice;
    if (sp && syn_space_solve(s.a, sp, &choice) == MS_OPTIMAL) {
        syn_program *p = syn_lower(s.a, sp, &choice);
        syn_price(p, s.costs);
        syn_sink_waits(p);
        (void)syn_raise_starts(p, false);
        int n = p->instr.n;
        syn_instr *old = hb_copy(s.a, p->instr.p, sizeof *old * (size_t)n);
        syn_fuse(p);
        ck_assert_int_eq(p->instr.n, n);
        int *now = HB_ARRAY(s.a, int, n + 1);
        for (i = 0; i < n; i++) {
            now[i] = place_of(p, &old[i]);
            if (old[i].kind != SYN_OP) ck_assert_int_eq(now[i], i);
            moved_seen += now[i] != i;
        }
        for (i = 0; i < n; i++)
            for (int k = i + 1; k < n; k++)
                if (must_follow(&old[i], &old[k])) ck_assert_int_lt(now[i], now[k]);
        look_at_groups(p);
        groups_seen += p->fusions.n;
    }
    setting_free(&s);
}

START_TEST(order_is_kept)
{
    look_at_order(_i);
}
END_TEST

START_TEST(some_were_seen)
{
    for (int i = 0; i < 60 && (groups_seen == 0 || moved_seen == 0); i++)
        look_at_order(i);
    ck_assert_int_gt(groups_seen, 0);
    ck_assert_int_gt(moved_seen, 0);
}
END_TEST

static syn_result planned(hb_arena *a, int seed, ir_graph **g, ir_factors **f)
{
    static const int64_t width[] = {64, 96, 32, 8};
    device d[4] = {{4, 400, 100, 5, 0},
                   {4, 400, 100, 5, 0},
                   {seed % 3 ? 4 : 2, 400, 100, 5, 0},
                   {seed % 3 ? 4 : 2, 400, 100, 5, 0}};
    *g = seed % 4 == 0 ? small_mlp(a, 64, 3, width)
                       : small_attention(a, &(small_transformer){.batch = 8,
                                                                 .tokens = 16,
                                                                 .width = 32 << seed % 2,
                                                                 .heads = 4,
                                                                 .hidden = 128,
                                                                 .vocabulary = 64,
                                                                 .n_layers = 1 + seed % 3,
                                                                 .norm = true});
    *f = ir_factorize(a, *g);
    cost_model *m = HB_NEW(a, cost_model);
    m->cluster = small_cluster(a, 1 + seed % 2, 4 / (1 + seed % 2), d, 10, 20);
    syn_options o = syn_default_options();
    o.strategy = (syn_strategy)(seed % syn_n_strategies);
    return syn_synthesize(a, *g, *f, m, &o);
}

static bool read_later(const record *r, int from, int id)
{
    for (int k = 0; k < r->calls.n; k++) {
        const rec_call *c = &r->calls.p[k];
        bool later = k > from || c->kind == REC_LOSS || c->kind == REC_GRAD;
        if (later && c->kind != REC_FUSED && has(c->in, c->n_in, id)) return true;
    }
    return false;
}

// Fusions without one of their marks, or with one call too many.
static void refuses_marks(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r,
                          int at)
{
    record x = *r;
    hb_str why;
    x.calls.p = hb_copy(a, r->calls.p, sizeof *r->calls.p * (size_t)r->calls.n);
    x.calls.n--;
    memmove(&x.calls.p[at], &x.calls.p[at + 1], sizeof *x.calls.p * (size_t)(x.calls.n - at));
    ck_assert(!syn_check(a, g, f, &x, &why));
    bool comm = false; // the fusion goes on over a collective
    for (int k = at + 1; k < r->calls.n && !comm; k++)
        comm = r->calls.p[k].kind == REC_START || r->calls.p[k].kind == REC_WAIT ||
               r->calls.p[k].kind == REC_FUSE;
    if (comm) ck_assert_ptr_nonnull(strstr(why.p, "stands in the fusion"));
}

START_TEST(checker_refuses)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g;
    ir_factors *f;
    syn_result res = planned(a, _i, &g, &f);
    ck_assert(res.status == SYN_OK || res.status == SYN_INFEASIBLE);
    hb_str why = {0};
    record *r = res.program ? record_from_plan(a, res.program) : NULL;
    int dropped = 0;
    if (r) {
        look_at_groups(res.program);
        ck_assert_int_gt(res.program->fusions.n, 0);
        ck_assert_msg(syn_check(a, g, f, r, &why), "%.*s", HB_ARG(why));
    }
    for (int k = 0; r && k < r->calls.n; k++) {
        rec_call *c = &r->calls.p[k];
        if (c->kind != REC_FUSED) continue;
        for (int i = 0; i < c->n_in; i++) {
            int id = c->in[i];
            bool needed = read_later(r, k, id);
            c->in[i] = c->in[--c->n_in];
            ck_assert_int_eq(syn_check(a, g, f, r, &why), !needed);
            if (needed) ck_assert_ptr_nonnull(strstr(why.p, "was not kept by"));
            dropped += needed;
            c->in[c->n_in++] = c->in[i];
            c->in[i] = id;
        }
        refuses_marks(a, g, f, r, k);
        // Kept, but nobody makes it there.
        int id = c->in[0];
        c->in[0] = r->calls.p[k].in[0] == 0 ? 1 : 0;
        ck_assert(!syn_check(a, g, f, r, &why));
        c->in[0] = id;
    }
    if (r) ck_assert_int_gt(dropped, 0);
    hb_arena_free(a);
}
END_TEST

// A residual sum and the layer norm behind it are one fusion, priced by what it moves.
START_TEST(norm_group)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g;
    ir_factors *f;
    syn_result res = planned(a, 1, &g, &f);
    ck_assert_int_eq(res.status, SYN_OK);
    const syn_program *p = res.program;
    const char *want = "add 0:full:f32 1:full:f32 > 2:full1:f32:kept; row_sum 2 > 3:row:f32:kept; "
                       "row_m2 2 3 > 4:row:f32:kept; "
                       "norm_apply 2 3 4 5:column:f32 6:column:f32 > 7:full:f32:kept";
    const syn_fusion *found = NULL;
    for (int k = 0; k < p->fusions.n; k++)
        if (hb_str_is(syn_fusion_text(a, p, &p->fusions.p[k]), want)) found = &p->fusions.p[k];
    ck_assert_ptr_nonnull(found);
    double sec[CL_MAX_CLASSES], moved = 0;
    syn_fusion_seconds(p, found, sec);
    syn_parts s;
    syn_fusion_parts(p, found, &s);
    for (int i = 0; i < s.n; i++)
        moved += (double)p->tensors.p[s.part[i].buffer].bytes[0];
    const cl_class *c = &p->cluster->cls[p->mesh->cluster_class[0]];
    double want_sec = 5e-6 + moved / (0.8 * c->memory_bandwidth);
    ck_assert_msg(fabs(sec[0] - want_sec) <= 0.02 * want_sec, "%.6g s, by hand %.6g s", sec[0],
                  want_sec);
    hb_arena_free(a);
}
END_TEST

static bool has_fusion(hb_arena *a, const syn_program *p, const char *want)
{
    for (int k = 0; k < p->fusions.n; k++)
        if (hb_str_is(syn_fusion_text(a, p, &p->fusions.p[k]), want)) return true;
    return false;
}

// Attention in bf16 whose scores have a trained bias: forward the softmax leaves a copy of 16 bits
// and its statistics; its gradient makes it again, though that shares nothing with what comes
// first, and adds up the bias's gradient, if that has entries enough and rows of whole vectors.
START_TEST(scores_group)
{
    static const struct {
        int tokens;
        const char *slots, *bias, *sum, *dx, *copy; // of the gradient, but for slots
    } t[] = {{256, "1", "repeat", "sum.1=0 10 > 11:added:f32:kept; ", "", "12"},
             {264, "2", "repeat", "sum.1=0 10 > 11:added:f32:kept; ", "", "12"},
             {248, "1", "tail", "", ":kept", "11"},
             {257, "1+", "tail", "", ":kept", "11"}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        hb_arena *a = hb_arena_new();
        const int n = t[i].tokens;
        hb_str text = hb_fmt(a,
                             "q: param f32 4 2 %d 8\n k: param f32 4 2 %d 8\n"
                             "v: param f32 4 2 %d 8\n b: param f32 2 %d %d\n"
                             "s = matmul(q, k) trans=1\n a = add(s, b)\n p = softmax(a)\n"
                             "o = matmul(p, v)\n l = sum(o) dims=0,1,2,3\n loss l\n",
                             n, n, n, n, n);
        ir_graph *g = graph_text_as(a, text.p, IR_PRECISION_BF16, IR_F32);
        ir_factors *f = ir_factorize(a, g);
        cost_model *m = HB_NEW(a, cost_model);
        m->cluster = small_cluster(a, 1, 1, &(device){4, 400, 100, 5, 0}, 10, 20);
        syn_options o = syn_default_options();
        syn_result res = syn_synthesize(a, g, f, m, &o);
        ck_assert_int_eq(res.status, SYN_OK);
        hb_str there = hb_fmt(a,
                              "cast 0:full:bf16 > 1:full%s:f32; add 1 2:tail:f32 > 3:full:f32; "
                              "row_max 3 > 4:row:f32:kept; row_expsum 3 4 > 5:row:f32:kept; "
                              "softmax_apply 3 4 5 > 6:full:f32; cast 6 > 7:full:bf16:kept",
                              t[i].slots);
        ck_assert_msg(has_fusion(a, res.program, there.p), "%d tokens", n);
        hb_str back = hb_fmt(a,
                             "cast 0:full:bf16 > 1:full%s:f32; cast 2:full:bf16 > 3:full:f32; "
                             "add 3 4:%s:f32 > 5:full:f32; "
                             "softmax_apply 5 6:row:f32 7:row:f32 > 8:full:f32; "
                             "row_dot 1 8 > 9:row:f32; softmax_bwd 1 8 9 > 10:full:f32%s; "
                             "%scast 10 > %s:full:bf16:kept",
                             t[i].slots, t[i].bias, t[i].dx, t[i].sum, t[i].copy);
        ck_assert_msg(has_fusion(a, res.program, back.p), "%d tokens", n);
        look_at_groups(res.program);
        hb_str why = {0};
        ck_assert(syn_check(a, g, f, record_from_plan(a, res.program), &why));
        hb_arena_free(a);
    }
}
END_TEST

START_TEST(cpus_run_one_by_one)
{
    cl_class c = {.kind = CL_CPU, .memory_bandwidth = 1e10};
    ck_assert(cost_fused(&c, 3e-6, 3, 1e3, 1e3) >= 3e-6);
    c.kind = CL_GPU;
    c.launch = 5e-6;
    ck_assert(fabs(cost_fused(&c, 20e-6, 3, 8e3, 8e3) - 9e-6) < 1e-12);
    ck_assert(fabs(cost_fused(&c, 12e-6, 3, 8e3, 8e3) - 6e-6) < 1e-12); // no less than its bytes
    ck_assert(fabs(cost_fused(&c, 4e-6, 1, 8e3, 8e3) - 4e-6) < 1e-12);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fuse");
    TCase *t = tcase_create("fusions");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, order_is_kept, 0, 150);
    tcase_add_test(t, some_were_seen);
    tcase_add_loop_test(t, checker_refuses, 0, 12);
    tcase_add_test(t, norm_group);
    tcase_add_test(t, scores_group);
    tcase_add_test(t, cpus_run_one_by_one);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
