// Measured curves: what a file of them says, and what ops and collectives take by it.

#include "costmodel/cost.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/cost_classes.h"

static cost_curves *curves_of(const char *text, hb_str *said)
{
    char path[] = "/tmp/hap-curves-XXXXXX", *buf;
    size_t n;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert(hb_write_file(path, hb_str_c(arena, text)));
    hb_diag *d = hb_diag_new(arena);
    cost_curves *k = cost_curves_read(arena, path, d);
    unlink(path);
    ck_assert_int_eq(k == NULL, hb_diag_count(d) > 0);
    FILE *f = open_memstream(&buf, &n);
    hb_diag_print(d, f);
    fclose(f);
    *said = hb_str_n(arena, buf, n);
    free(buf);
    return k;
}

#define HEAD "{\"format\":\"hap.curves\",\"version\":1,"
#define COLL(kind, form, n, axis)                                                                  \
    "{\"kind\":\"" kind "\",\"form\":\"" form "\",\"n\":" n ",\"axis_kind\":\"" axis               \
    "\",\"points\":[[1000,1e-5],[1e6,1e-3]]}"

START_TEST(curves_are_interpolated)
{
    hb_str said;
    cost_curves *k =
        curves_of(HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1e6,1e-5],[1e8,1e-4],"
                       "[1e9,1e-3]]},\"gelu\":{\"f32\":[[4096,2e-6]]}}}}",
                  &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_model m = {.cluster = &cluster, .curves = k, .math = COST_F32};
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1), 1e-4);
    near(cost_op(&m, 0, IR_OP_linear, 1e7, 1), sqrt(1e-5 * 1e-4)); // half way in both logarithms
    near(cost_op(&m, 0, IR_OP_linear, 3, 1), 1e-5);
    near(cost_op(&m, 0, IR_OP_expert_linear, 1e8, 1), 1e-4); // as a matmul of so many rows
    near(cost_op(&m, 0, IR_OP_room_linear, 1e8, 1), 1e-4);
    near(cost_op(&m, 0, IR_OP_linear, 5e9, 1), 5e-3);
    near(cost_op(&m, 0, IR_OP_gelu, 1, 8192), 4e-6);               // by bytes
    near(cost_op(&m, 0, IR_OP_matmul, 6e9, 1), 6e9 / 6e12 + 2e-6); // no curve: formula
    near(cost_op(&m, 1, IR_OP_linear, 3e9, 1), 3e9 / 30e9 + 1e-6); // another class
    m.math = COST_BF16;
    near(cost_op(&m, 0, IR_OP_linear, 6e9, 1), 6e9 / 60e12 + 2e-6); // another dtype
    k = curves_of(HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1,1]]}},"
                       "\"G/64sms\":{\"linear\":{\"f32\":[[1,2]]}}}}",
                  &said);
    m = (cost_model){.cluster = &cluster, .curves = k, .math = COST_F32};
    near(cost_op(&m, 0, IR_OP_linear, 1, 1), 2); // the class before the model
}
END_TEST

// Dense ops by families of flop per byte; types, "other" and "copy".
// Seconds of curves and of formulas alike; a slowed class reads the curves of the others.
START_TEST(slowed_classes_take_longer)
{
    hb_str said;
    cl_class two[2] = {cluster.cls[0], cluster.cls[0]};
    cl_cluster c = cluster;
    c.cls = two;
    c.n_classes = 2;
    two[0].curve_name = two[1].curve_name = HB_STR("G");
    two[0].model = HB_STR("another");
    two[0].name = HB_STR("G");
    two[1].name = HB_STR("slowed");
    two[1].model = HB_STR("another");
    two[1].slowdown = 3;
    two[1].f32 /= 3;
    two[1].memory_bandwidth /= 3;
    cost_model m = {.cluster = &c, .math = COST_F32};
    for (int curves = 0; curves < 2; curves++) {
        if (curves)
            m.curves = curves_of(
                HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1e6,1e-5],[1e8,1e-4]]}"
                     ",\"other\":{\"f32\":[[4096,2e-6]]},\"copy\":{\"f32\":[[64,1e-6]]}}},"
                     "\"corrections\":[{\"class\":\"G\",\"op\":\"linear\",\"factor\":2}]}",
                &said);
        if (curves) ck_assert_msg(m.curves != NULL, "%s", said.p);
        if (curves) cost_apply_curves(m.curves, &c);
        double launch[2];
        near(cost_op(&m, 1, IR_OP_linear, 1e7, 1e4), 3 * cost_op(&m, 0, IR_OP_linear, 1e7, 1e4));
        near(cost_op(&m, 1, IR_OP_gelu, 1e3, 1e4), 3 * cost_op(&m, 0, IR_OP_gelu, 1e3, 1e4));
        near(cost_copy(&m, 1, 1e4), 3 * cost_copy(&m, 0, 1e4));
        near(cost_launch(&m, 1), 3 * cost_launch(&m, 0));
        near(cost_stream(&two[1], 1e4), 3 * cost_stream(&two[0], 1e4));
        near(cost_op_least(&m, 1, IR_OP_linear, 1e7, 1e4, &launch[1]),
             3 * cost_op_least(&m, 0, IR_OP_linear, 1e7, 1e4, &launch[0]));
        ck_assert(fabs(launch[1] - 3 * launch[0]) <= 1e-12 * launch[0]);
    }
}
END_TEST

// Where matmuls were measured rows of experts are gathered first; where they were themselves, that
// is in their curve. What corrects them corrects both.
START_TEST(rows_of_experts_are_gathered)
{
    hb_str said;
    cost_curves *k =
        curves_of(HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1e6,1e-5],[1e8,1e-4]]},"
                       "\"expert_linear_dw\":{\"f32\":[[1e6,3e-5]]}}},"
                       "\"corrections\":[{\"class\":\"G\",\"op\":\"expert_linear\",\"factor\":2}]}",
                  &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cl_class one = cluster.cls[0];
    cl_cluster c = cluster;
    one.name = HB_STR("G");
    c.cls = &one, c.n_classes = 1;
    cost_model m = {.cluster = &c, .curves = k, .math = COST_F32};
    const double laid = cost_stream(&cluster.cls[0], 8e6) + COST_SORTS * cost_launch(&m, 0);
    near(cost_op_gathered(&m, 0, IR_OP_expert_linear, 4e6), 2 * laid);
    near(cost_op_gathered(&m, 0, IR_OP_room_linear, 4e6), laid);
    ck_assert_double_eq(cost_op_gathered(&m, 0, IR_OP_expert_linear_dw, 4e6), 0);
    near(cost_op(&m, 0, IR_OP_expert_linear_dw, 1e6, 1), 3e-5);
    m.math = COST_BF16; // no curve at all
    near(cost_op_gathered(&m, 0, IR_OP_expert_linear_dw, 4e6), laid);
}
END_TEST

START_TEST(curves_have_families_and_stand_ins)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD
        "\"classes\":{\"G\":{\"linear\":{\"bf16\":[[10,1e6,4e-5],[10,1e8,4e-3],[1000,1e6,1e-5],"
        "[1000,1e8,1e-3]]},\"gelu\":{\"f32\":[[1000,1e-6],[1e6,1e-3]]},"
        "\"other\":{\"f32\":[[1000,3e-6]]},\"copy\":{\"f32\":[[1000,7e-6]]}}}}",
        &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_model m = {.cluster = &cluster, .curves = k, .math = COST_BF16};
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e5), 1e-3);
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e7), 4e-3);
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e6), 2e-3);               // half way between families
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e8), 4e-2);               // thinner: by bytes
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 10), 1e-3);                // as the last family
    near(cost_op(&m, 0, IR_OP_gelu, 1, 1e6), 1e-3);                   // no bf16: the f32 curve
    near(cost_op(&m, 0, IR_OP_relu, 1, 1000), 3e-6);                  // no curve: other
    near(cost_op(&m, 0, IR_OP_matmul, 6e9, 8e6), 6e9 / 60e12 + 2e-6); // dense: no stand-in
    near(cost_copy(&m, 0, 1000), 14e-6);
    ck_assert(cost_op_measured(&m, 0, IR_OP_relu) && !cost_op_measured(&m, 0, IR_OP_matmul));
    ck_assert(!cost_op_measured(&m, 1, IR_OP_relu)); // another class
    m.math = COST_F32;
    near(cost_op(&m, 0, IR_OP_linear, 6e9, 8e6), 6e9 / 6e12 + 2e-6); // dense: by its own dtype
}
END_TEST

// Parts of an op take no less together than is said of the whole, launches apart.
START_TEST(parts_take_no_less)
{
    hb_str said;
    cost_curves *k =
        curves_of(HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1e6,1e-5],[1e8,1e-4],"
                       "[1e9,3e-3]]},\"gelu\":{\"f32\":[[4096,2e-6]]},\"linear_dw\":{\"f32\":"
                       "[[3,1e6,3e-5],[4,1e9,1e-3],[300,1e7,5e-6],[301,2e8,1e-3]]}}}}",
                  &said);
    static const ir_op ops[] = {IR_OP_linear, IR_OP_gelu, IR_OP_matmul, IR_OP_linear_dw};
    ck_assert_msg(k != NULL, "%s", said.p);
    for (int i = 0; i < 4 * 2 * 6 * 40; i++) {
        cost_model m = {.cluster = &cluster, .curves = i % 2 ? k : NULL, .math = COST_F32};
        ir_op op = ops[i / 2 % 4];
        double flops = pow(10, 5 + i / 8 % 6), bytes = flops / 30, launch;
        double least = cost_op_least(&m, 0, op, flops, bytes, &launch);
        double share = (i / 48 + 0.5) / 40, sum = 0;
        for (double left = 1; left > 1e-12; left -= fmin(share, left))
            sum +=
                cost_op(&m, 0, op, flops * fmin(share, left), bytes * fmin(share, left)) - launch;
        ck_assert_msg(sum >= least * (1 - 1e-9), "%s of %g: parts of %g take %g, least %g",
                      ir_op_of(op)->name, flops, share, sum, least);
        ck_assert(least + launch <= cost_op(&m, 0, op, flops, bytes) * (1 + 1e-9));
    }
    double launch;
    ck_assert_double_eq(
        cost_op_least(&(cost_model){.cluster = &cluster}, 0, IR_OP_linear, 0, 0, &launch), 0);
}
END_TEST

static double form(const cost_model *m, cost_coll k, cost_form f, const cost_shards *s, cl_link l)
{
    return cost_form_seconds(m, k, f, s, l, &(cost_memory){.bandwidth = 1e9});
}

START_TEST(collectives_by_curve)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD
        "\"classes\":{},\"collectives\":[" COLL("all_gather", "even", "4", "inside") "," COLL("all_gather", "padded", "4", "inside") "," COLL(
            "all_gather", "grouped", "4",
            "inside") "," COLL("all_gather", "sendrecv", "4",
                               "inside") "," COLL("reduce_scatter", "even_flat", "4",
                                                  "inside") "," COLL("all_reduce", "flat", "2",
                                                                     "between") "," COLL("recut",
                                                                                         "even",
                                                                                         "4",
                                                                                         "inside") "," COLL("all_to_all",
                                                                                                            "even",
                                                                                                            "4",
                                                                                                            "inside") "]}",
        &said);
    static const int64_t even[] = {5, 5, 5, 5}, table[] = {4, 3, 2, 1};
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_model m = {.cluster = &cluster, .curves = k};
    cost_shards s = {.n = 4, .table = even, .table2 = table, .bytes = 1e5, .apart = 1};
    double at1e5 = 1e-5 * pow(100, 2.0 / 3); // log-log between the points
    for (cost_form f = COST_EVEN; f <= COST_SENDRECV; f++)
        near(form(&m, COST_ALL_GATHER, f, &s, line), at1e5);
    // Even parts of 25 kB: each pair exchanges 6.25 kB, a point of its own meaning.
    near(cost_even_bytes(COST_ALL_TO_ALL, COST_EVEN,
                         &(cost_shards){.n = 4, .table = even, .table2 = even, .bytes = 1e5}, line),
         1e5);
    // 40, 30, 20 and 10 kB: padded as 4 * 40, grouped as 90 of 75, send/recv as 3 * 40 of 75.
    s.table = table;
    s.table2 = even;
    ck_assert(isinf(form(&m, COST_ALL_GATHER, COST_EVEN, &s, line)));
    near(form(&m, COST_ALL_GATHER, COST_PADDED, &s, line), 1e-5 * pow(160, 2.0 / 3));
    near(form(&m, COST_ALL_GATHER, COST_GROUPED, &s, line), 1e-5 * pow(120, 2.0 / 3));
    near(form(&m, COST_ALL_GATHER, COST_SENDRECV, &s, line), 1e-5 * pow(160, 2.0 / 3));
    // What crosses afterwards is by formula: 20 kB and one partner.
    near(form(&m, COST_REDUCE_SCATTER, COST_EVEN_FLAT, &s, line), at1e5 + 10e-6 + 20e-6);
    near(form(&m, COST_RESHARD, COST_EVEN, &s, line),
         1e-5 * pow(20, 2.0 / 3)); // the busiest: 20 kB
    // Only the packing that a leading cut does not need comes on top.
    s.apart = 0;
    near(form(&m, COST_ALL_GATHER, COST_GROUPED, &s, line), 1e-5 * pow(120, 2.0 / 3) + 2e5 / 1e9);
    near(form(&m, COST_ALL_GATHER, COST_PADDED, &s, line), 1e-5 * pow(160, 2.0 / 3));
    // No curve: the formula. Other axis kind: the formula. Other n: scaled by it.
    s.apart = 1;
    near(form(&m, COST_REDUCE_SCATTER, COST_PADDED, &s, line),
         3 * (10e-6 + 40e-6) + cost_pack_bytes(COST_REDUCE_SCATTER, COST_PADDED, &s) / 1e9);
    cl_link far = {.bandwidth = 1e9, .latency = 1e-5, .crosses = true, .groups = 1};
    near(form(&m, COST_ALL_GATHER, COST_GROUPED, &s, far), 4 * 10e-6 + 90e-6);
    s = (cost_shards){.n = 8, .bytes = 1e5};
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, far),
         at1e5 * (7 * (10e-6 + 12.5e-6)) / (1 * (10e-6 + 50e-6)));
    s.n = 2;
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, far), at1e5);
    far.groups = 3; // a third of the link each
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, far), 1e-5 * pow(300, 2.0 / 3));
    // Two levels: the gather inside by the curve of 4, scaled; between by its curve.
    s = (cost_shards){.n = 4, .bytes = 2e5, .n_inner = 2, .inner = line, .between = far};
    s.between.groups = 1;
    near(form(&m, COST_ALL_REDUCE, COST_TWO_LEVEL, &s, far),
         at1e5 + (10e-6 + 100e-6) * (1 + 1e-5 * pow(200, 2.0 / 3) / (3 * (10e-6 + 50e-6))) +
             cost_pack_bytes(COST_ALL_REDUCE, COST_TWO_LEVEL, &s) / 1e9);
    ck_assert(cost_coll_measured(&m, COST_RESHARD, COST_EVEN, 2, false) &&
              !cost_coll_measured(&m, COST_RESHARD, COST_EVEN, 2, true));
    m.curves = NULL;
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, line), 2 * 3 * (10e-6 + 50e-6));
}
END_TEST

// Of a number of ranks, of one-sided puts: seconds of 100 kB.
#define PUTS(form, n, sec)                                                                         \
    "{\"kind\":\"all_gather\",\"form\":\"" form "\",\"n\":" n                                      \
    ",\"axis_kind\":\"inside\",\"points\":[[1e5," sec "]]}"

static double put(const cost_model *m, int copies, int n)
{
    static const cl_link near_by = {.bandwidth = 1e9, .latency = 1e-5, .peer = true};
    static const int64_t even[] = {5, 5, 5, 5, 5, 5, 5, 5};
    cost_shards s = {.n = n, .table = even, .bytes = 1e5, .apart = 1};
    return form(m, COST_ALL_GATHER, COST_PUT(copies), &s, near_by);
}

// By formula; 100 kB among n ranks.
static double put_by_formula(int copies, int n)
{
    cost_model m = {.cluster = &cluster};
    return put(&m, copies, n);
}

static bool is_measured(const cost_model *m, int copies, int n)
{
    return cost_coll_measured(m, COST_ALL_GATHER, COST_PUT(copies), n, false);
}

// By its own curve, by that of the nearest number of copies, or, of other ranks, by that as the
// formulas say; all copies of some ranks stand for all of others.
START_TEST(puts_by_curve)
{
    hb_str said;
    cost_model m = {.cluster = &cluster};
    m.curves =
        curves_of(HEAD "\"classes\":{},\"collectives\":[" PUTS("push(1)", "4", "1e-3") "," PUTS(
                      "push(2)", "4", "2e-3") "," PUTS("push(3)", "4", "3e-3") "]}",
                  &said);
    ck_assert_msg(m.curves != NULL, "%s", said.p);
    for (int k = 1; k <= 3; k++) {
        near(put(&m, k, 4), 1e-3 * k);
        ck_assert(is_measured(&m, k, 4));
    }
    near(put(&m, 1, 8), 1e-3 * put_by_formula(1, 8) / put_by_formula(1, 4));
    near(put(&m, 2, 8), 2e-3 * put_by_formula(2, 8) / put_by_formula(2, 4));
    near(put(&m, 7, 8), 3e-3 * put_by_formula(7, 8) / put_by_formula(3, 4));
    near(put(&m, 3, 8), 2e-3 * put_by_formula(2, 8) / put_by_formula(2, 4));
    near(put(&m, 4, 8), put(&m, 7, 8));
    ck_assert(is_measured(&m, 2, 8) && is_measured(&m, 7, 8));
    ck_assert(!is_measured(&m, 3, 8) && !is_measured(&m, 4, 8));
    // By the names of before: one, and all. Two ranks have both, of which the first counts.
    m.curves = curves_of(
        HEAD "\"classes\":{},\"collectives\":[" PUTS("push", "2", "1e-3") "," PUTS(
            "push", "4", "2e-3") "," PUTS("push_all", "2",
                                          "3e-3") "," PUTS("push_all", "3",
                                                           "4e-3") "," PUTS("push_all", "4",
                                                                            "5e-3") "]}",
        &said);
    ck_assert_msg(m.curves != NULL, "%s", said.p);
    near(put(&m, 1, 2), 1e-3);
    near(put(&m, 2, 3), 4e-3);
    near(put(&m, 1, 4), 2e-3);
    near(put(&m, 3, 4), 5e-3);
    near(put(&m, 2, 4), 5e-3); // 3 is nearer to 2 than 1 is
    ck_assert(is_measured(&m, 3, 4) && !is_measured(&m, 2, 4));
    cost_forms x = cost_forms_of(COST_ALL_GATHER, 4, true);
    for (int i = 0; i < x.n; i++) // what was not measured is not chosen before what was
        x.sec[i] = cost_is_put(x.form[i]) ? put(&m, 3, 4) : 1;
    x.sec[x.n - 3] = 1;
    ck_assert_int_eq(x.form[cost_cheapest(&x)], COST_PUT(3));
    // Of two ranks alone: what is nearer.
    m.curves =
        curves_of(HEAD "\"classes\":{},\"collectives\":[" PUTS("push(1)", "2", "1e-3") "]}", &said);
    near(put(&m, 1, 4), 1e-3 * put_by_formula(1, 4) / put_by_formula(1, 2));
    near(put(&m, 3, 4), 1e-3 * put_by_formula(3, 4) / put_by_formula(1, 2));
}
END_TEST

// Several copies that took as long as one, or a little less, are not preferred to it.
START_TEST(copies_by_luck)
{
    hb_str said;
    cost_model m = {.cluster = &cluster};
    m.curves =
        curves_of(HEAD "\"classes\":{},\"collectives\":[" PUTS("push(1)", "4", "1e-3") "," PUTS(
                      "push(2)", "4", "5e-4") "," PUTS("push(3)", "4", "97e-5") "]}",
                  &said);
    ck_assert_msg(m.curves != NULL, "%s", said.p);
    near(put(&m, 1, 4), 1e-3);
    near(put(&m, 2, 4), 6e-4);
    near(put(&m, 3, 4), 11e-4);
}
END_TEST

START_TEST(contention_reaches_the_classes)
{
    hb_str said;
    cost_curves *k =
        curves_of(HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"compute\":1.25,"
                       "\"communication\":1.5}]}",
                  &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].compute_contention, 1.25); // by its model
    ck_assert_double_eq(cls[0].communication_contention, 1.5);
    ck_assert_double_eq(cls[1].compute_contention, 0);
    cost_contentions b = cost_contentions_of(&cls[0]), none = cost_contentions_of(&cls[1]);
    ck_assert_double_eq(b.of[0].compute, 1.25);
    ck_assert_double_eq(b.of[1].compute, 1.05); // what one-sided puts were seen to cost elsewhere
    ck_assert_double_eq(none.of[0].compute, 1);
    ck_assert_double_eq(none.of[1].communication, 1);
    none = cost_contentions_of(&(cl_class){.kind = CL_GPU}); // what an H200 showed
    ck_assert_double_eq(none.of[0].compute, 2.3);
    ck_assert_double_eq(none.of[1].compute, 1.05);
    k = curves_of(HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"form\":\"push\","
                       "\"compute\":1.125,\"communication\":1}]}",
                  &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    b = cost_contentions_of(&cls[0]);
    ck_assert_double_eq(b.of[0].compute, 1.25);
    ck_assert_double_eq(b.of[1].compute, 1.125);
    ck_assert_double_eq(b.of[1].communication, 1);
}
END_TEST

START_TEST(pairs_reach_the_classes)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD "\"classes\":{},\"pairs\":[{\"class\":\"G\",\"gap\":4e-6,\"flag\":9e-6}]}", &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].pair_gap, 4e-6);
    ck_assert_double_eq(cls[0].pair_flag, 9e-6);
    ck_assert_double_eq(cls[1].pair_gap, 0);
}
END_TEST

START_TEST(stretches_reach_the_classes)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD "\"classes\":{},\"runs\":[{\"class\":\"G\",\"push\":6e-10,\"pack\":2e-10}]}", &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].run_put, 6e-10);
    ck_assert_double_eq(cls[0].run_pack, 2e-10);
    ck_assert_double_eq(cls[1].run_put, 0);
}
END_TEST

START_TEST(launch_overheads_reach_the_classes)
{
    hb_str said;
    cost_curves *k = curves_of(HEAD "\"classes\":{},\"launch_overheads\":[{\"class\":\"G\","
                                    "\"library\":8e-6,\"push\":3e-5}]}",
                               &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    // Not measured: of GPUs one default, of CPUs nothing.
    cl_class gpu = {.kind = CL_GPU}, cpu = {.kind = CL_CPU};
    ck_assert_double_eq(cost_launch_overhead(&gpu, false), COST_LAUNCH_OVERHEAD);
    ck_assert_double_eq(cost_launch_overhead(&gpu, true), COST_LAUNCH_OVERHEAD + COST_PUT_BREAK);
    ck_assert_double_eq(cost_launch_overhead(&cpu, true), 0);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cost_launch_overhead(&cls[0], false), 8e-6);
    ck_assert_double_eq(cost_launch_overhead(&cls[0], true), 3e-5);
    ck_assert_double_eq(cls[1].launch_overhead, 0);
    cost_memory memory = {0};
    cost_memory_add(&memory, &cls[0]); // of two classes the longer
    cost_memory_add(&memory, &gpu);
    ck_assert_double_eq(memory.launch_overhead[0], COST_LAUNCH_OVERHEAD);
    ck_assert_double_eq(memory.launch_overhead[1], COST_LAUNCH_OVERHEAD + COST_PUT_BREAK);
    // What the cluster file says goes first; a put that was not measured breaks a step as always.
    cls[0].launch_overhead = 5e-6;
    cls[0].put_overhead = 0;
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].launch_overhead, 5e-6);
    ck_assert_double_eq(cls[0].put_overhead, 3e-5);
    gpu.launch_overhead = 1e-6;
    ck_assert_double_eq(cost_launch_overhead(&gpu, true), 1e-6 + COST_PUT_BREAK);
}
END_TEST

START_TEST(fresh_rows_reach_the_classes)
{
    hb_str said;
    cost_curves *k = curves_of(HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\","
                                    "\"form\":\"push\",\"compute\":1.125,\"communication\":1,"
                                    "\"fresh\":1.5}]}",
                               &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].fresh_put, 1.5);
    ck_assert_double_eq(cls[1].fresh_put, 0);
}
END_TEST

START_TEST(bad_curves_are_errors)
{
    static const struct {
        const char *text, *error;
    } row[] = {
        {"{}", "expected \"format\": \"hap.curves\""},
        {HEAD "\"classes\":{}", "error"},
        {HEAD "\"clases\":{}}", "unknown key 'clases'"},
        {HEAD "\"contention\":[]}", "missing key 'classes'"},
        {HEAD "\"classes\":{},\"collectives\":3}", "expected a list"},
        {HEAD "\"classes\":{},\"collectives\":[{\"kind\":\"all_gather\"}]}", "missing key 'form'"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("all_gather", "flat", "2", "inside") "]}",
         "no form 'flat' of all_gather"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("recut", "push(1)", "2", "inside") "]}",
         "no form 'push(1)' of reshard"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("all_gather", "push(0)", "2", "inside") "]}",
         "no form 'push(0)' of all_gather"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("all_gather", "push(4)", "4", "inside") "]}",
         "no form 'push(4)' of all_gather of 4 ranks"},
        {HEAD
         "\"classes\":{},\"collectives\":[" COLL("all_gather", "push(1)", "4", "inside") "," COLL(
             "all_gather", "push", "4", "inside") "]}",
         "must ascend in n"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("gather", "even", "2", "inside") "]}",
         "no collective 'gather'"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("recut", "even", "1", "inside") "]}",
         "2 ranks or more"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("recut", "even", "2", "out") "]}",
         "'inside' or 'between'"},
        {HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"form\":\"even\",\"compute\":1,"
              "\"communication\":1}]}",
         "a contention is beside 'put'"},
        {HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"compute\":0.5,"
              "\"communication\":1}]}",
         "at least 1"},
        {HEAD "\"classes\":{},\"pairs\":[{\"class\":\"G\",\"gap\":-1,\"flag\":0}]}", "in seconds"},
        {HEAD "\"classes\":{},\"runs\":[{\"class\":\"G\",\"push\":2,\"pack\":0}]}", "in seconds"},
        {HEAD "\"classes\":{},\"runs\":[3]}", "expected {class, put, pack}"},
        {HEAD "\"classes\":{},\"launch_overheads\":[{\"class\":\"G\",\"library\":2,\"push\":0}]}",
         "'library' is in seconds, 0 to 1"},
        {HEAD "\"classes\":{},\"launch_overheads\":[{\"class\":\"G\",\"library\":1e-5}]}",
         "'put' is in seconds"},
        {HEAD "\"classes\":{},\"launch_overheads\":[{\"class\":\"G\",\"poke\":1}]}",
         "unknown key 'poke'"},
        {HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"compute\":1,"
              "\"communication\":1,\"fresh\":1.2}]}",
         "'fresh' is of a contention beside 'put'"},
        {HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"form\":\"push\","
              "\"compute\":1,\"communication\":1,\"fresh\":0.5}]}",
         "'fresh' is how many times slower"},
        {HEAD "\"classes\":{},\"pairs\":[{\"gap\":1e-6,\"flag\":0}]}", "missing key 'class'"},
        {HEAD "\"classes\":{\"G\":{\"linnear\":{\"f32\":[[1,1]]}}}}", "no row of the op table"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[2,1,1],[1,3,1]]}}}}",
         "flop per byte ascends in a family"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f64\":[[1,1]]}}}}", "unknown key 'f64'"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[]}}}}", "a curve without points"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1,2,3,4]]}}}}",
         "expected [size, seconds]"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1,-2]]}}}}", "all positive"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[2,1],[2,1]]}}}}", "sizes must ascend"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hb_str said;
        ck_assert_ptr_null(curves_of(row[i].text, &said));
        ck_assert_msg(strstr(said.p, row[i].error), "%s: %s", row[i].text, said.p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("curve_file");
    TCase *c = tcase_create("curves");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, puts_by_curve);
    tcase_add_test(c, copies_by_luck);
    tcase_add_test(c, curves_are_interpolated);
    tcase_add_test(c, slowed_classes_take_longer);
    tcase_add_test(c, rows_of_experts_are_gathered);
    tcase_add_test(c, curves_have_families_and_stand_ins);
    tcase_add_test(c, collectives_by_curve);
    tcase_add_test(c, contention_reaches_the_classes);
    tcase_add_test(c, pairs_reach_the_classes);
    tcase_add_test(c, stretches_reach_the_classes);
    tcase_add_test(c, launch_overheads_reach_the_classes);
    tcase_add_test(c, fresh_rows_reach_the_classes);
    tcase_add_test(c, parts_take_no_less);
    tcase_add_test(c, bad_curves_are_errors);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
