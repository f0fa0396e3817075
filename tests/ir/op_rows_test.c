// Every op of the op table has all that an op needs (docs/how_to_op.md). What is missing is said op
// by op: "op clamp has no kernel (runtime/cpu/ops_table.c)". CUDA sources and the exporter are read
// as text: neither can be linked here.

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/ops_kernels.h"
#include "synth/certify/modp_model.h"
#include "tests/support/op_cases.h"

static hb_arena *arena;
static int missing;

static const char *text_of(const char *path)
{
    hb_str text;
    const char *why;
    ck_assert_msg(hb_read_file(arena, path, &text, &why), "%s: %s", path, why);
    return hb_str_n(arena, text.p, text.n).p;
}

static void want(bool has, const char *op, const char *what)
{
    if (has) return;
    fprintf(stderr, "op %s has no %s\n", op, what);
    missing++;
}

static bool says(const char *text, const char *before, const char *op, const char *after)
{
    return strstr(text, hb_fmt(arena, "%s%s%s", before, op, after).p) != NULL;
}

static const char *rules(void)
{
    hb_buf all = {.arena = arena};
    static const char *const files[] = {"lower_views", "lower_dense", "lower_points", "lower_loss",
                                        "patterns"};
    for (int i = 0; i < 5; i++)
        hb_puts(&all, text_of(hb_fmt(arena, "ir/export/hap_export/%s.py", files[i]).p));
    return all.p;
}

START_TEST(every_op_is_complete)
{
    arena = hb_arena_new();
    const char *cuda = text_of("runtime/cuda/kernels/cuda_op_table.c"),
               *groups = text_of("runtime/hap/kernels.cuh"), *lower = rules();
    for (int op = 0; op < IR_N_ALL_OPS; op++) {
        if (op == IR_N_OPS) continue;
        const ir_op_info *r = ir_op_of((ir_op)op);
        const char *name = r->name;
        if (r->flags & IR_USER && op != IR_OP_full) // which the exporter writes as a constant
            want(says(lower, "\"", name, "\""), name,
                 "exporter rule (ir/export/hap_export/lower_*.py, patterns.py)");
        if (r->flags & IR_COMPOSITE) continue;
        bool has_case = false;
        for (int i = 0; i < n_op_cases; i++)
            has_case |= op_cases[i].op == (ir_op)op;
        want(r->text != NULL, name, "text (.text, ir/ops.def)");
        want(r->flops_kind == IR_FLOPS_MOVE || r->flops > 0, name, "price (.flops, ir/ops.def)");
        want(mp_meaning_of((ir_op)op) != NULL, name,
             "modular meaning (synth/certify/modp_points.c and others)");
        if (r->flags & IR_PORT) { // core does them, tests/train/stages_run.sh runs them
            want((r->flags & IR_PORT) != IR_PORT, name, "one end (IR_SEND or IR_RECV, ir/ops.def)");
            ck_assert_int_eq(ir_attr_index((ir_op)op, "port") + 1,
                             ir_attr_index((ir_op)op, "first"));
            continue;
        }
        want(hap_cpu_has((hap_op_id)op), name, "kernel (runtime/cpu/ops_table.c)");
        want(r->point || says(cuda, "[HAP_OP_", name, "] ="), name,
             "kernel (runtime/cuda/kernels/cuda_op_table.c)");
        if (r->flags & (IR_EACH | IR_ROWS))
            want(r->point || says(groups, "HAP_OP_2(", name, ",") ||
                     says(groups, "struct ", name, " ") || says(groups, "auto ", name, "(") ||
                     says(groups, "inline A ", name, "(") || says(groups, "vec<V> ", name, "("),
                 name, "kernel for groups (runtime/hap/kernels.cuh)");
        want(has_case, name, "case (tests/support/op_cases.c)");
    }
    hb_arena_free(arena);
    ck_assert_msg(missing == 0, "%d missing: see above", missing);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("op_rows");
    TCase *t = tcase_create("op_rows");
    tcase_add_test(t, every_op_is_complete);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
