// Plans on meshes of machines x devices, through all that comes after the search: random ones (two
// factors cut on two axes, one factor over both, partial sums on either) are printed as program.c,
// compiled, recorded and compared with the plan; and trained by MPI, against one rank.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "tests/support/program_of_record.h"

enum { N_MESHES = 3, N_GRAPHS = 2 };
static const gen_options meshes[N_MESHES] = {
    {.n_axes = 2, .size = {2, 2}, .n_classes = 2, .cut_percent = 90, .keep_grads = true},
    {.n_axes = 2, .size = {2, 3}, .n_classes = 3, .cut_percent = 80},
    {.n_axes = 2, .size = {3, 2}, .n_classes = 2, .cut_percent = 90},
};
static const char *const graphs[N_GRAPHS] = {"examples/mlp/graph.json",
                                             "examples/gpt2-tiny/graph.json"};

typedef struct work {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cl_cluster *cluster;
    const char *dir, *build;
} work;

static work begin(const char *graph)
{
    work w = {.a = hb_arena_new(), .build = getenv("HAP_BUILD")};
    hb_diag *d = hb_diag_new(w.a);
    ck_assert_ptr_nonnull(w.build);
    w.g = ir_build(w.a, graph, &(ir_options){.batch = 6}, d);
    w.cluster = cl_read(w.a, "clusters/laptop2x2.yaml", "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(w.g);
    ck_assert_ptr_nonnull(w.cluster);
    w.f = ir_factorize(w.a, w.g);
    char dir[] = "/tmp/two_axes_test.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    w.dir = hb_str_c(w.a, dir).p;
    return w;
}

static void end(work *w)
{
    ck_assert_int_eq(system(hb_fmt(w->a, "rm -r %s", w->dir).p), 0);
    hb_arena_free(w->a);
}

static syn_program *random_program(work *w, const gen_options *o)
{
    static const int classes[] = {0, 1, 2};
    gen_trace trace = {0};
    record *r = gen_record(w->a, w->g, w->f, o, &trace);
    return program_of_record(w->a, w->g, w->f, w->cluster, classes, r, &trace);
}

// Prints, compiles against a runtime and leaves DIR/name.
static void build(work *w, const syn_program *p, const char *name, const char *runtime)
{
    syn_result res = {.program = NULL};
    res.timeline.begin = HB_ARRAY(w->a, double, p->instr.n *CL_MAX_CLASSES + 1);
    res.timeline.end = HB_ARRAY(w->a, double, p->instr.n *CL_MAX_CLASSES + 1);
    emit_plan e = {.p = p,
                   .res = &res,
                   .command = HB_STR("hapc"),
                   .version = HB_STR("0"),
                   .graph_path = HB_STR("g"),
                   .cluster_path = HB_STR("c")};
    hb_str why;
    ck_assert_msg(emit_supported(w->a, p->g, &why), "%.*s", HB_ARG(why));
    hb_buf text = {.arena = w->a}, rest = {.arena = w->a}, buffers = {.arena = w->a};
    emit_program_c(&text, &buffers, &e, NULL);
    ck_assert(hb_write_file(hb_fmt(w->a, "%s/buffers.h", w->dir).p, hb_done(&buffers)));
    emit_report_text(&rest, &e);
    ck_assert(hb_write_file(hb_fmt(w->a, "%s/%s.c", w->dir, name).p, hb_done(&text)));
    const char *cc =
        hb_fmt(w->a,
               "cd %s && PKG_CONFIG_PATH=%s/lib/pkgconfig && export PKG_CONFIG_PATH && "
               "${CC:-cc} -std=c11 -Wall -Wextra -Wconversion -Werror %s.c -o %s "
               "$(pkg-config --cflags --libs %s)",
               w->dir, w->build, name, name, runtime)
            .p;
    ck_assert_int_eq(system(cc), 0);
}

static hb_str print(hb_arena *a, const record *r)
{
    hb_buf b = {.arena = a};
    record_print(&b, r);
    return hb_done(&b);
}

START_TEST(program_is_the_plan)
{
    work w = begin(graphs[_i % N_GRAPHS]);
    gen_options o = meshes[_i / N_GRAPHS];
    o.seed = 70 + (uint64_t)_i;
    const syn_program *p = random_program(&w, &o);
    record *plan = record_from_plan(w.a, p);
    hb_str why;
    ck_assert_msg(syn_check(w.a, w.g, w.f, plan, &why), "the plan: %.*s", HB_ARG(why));
    int joint = 0;
    for (int i = 0; i < plan->tensors.n; i++)
        for (int d = 0; d < plan->tensors.p[i].rank; d++)
            joint += plan->tensors.p[i].dim[d].axis == SYN_BOTH;
    ck_assert_int_gt(joint, 0);
    build(&w, p, "program", "haprt-record");
    for (int c = 0; c < o.n_classes; c++) {
        const char *log = hb_fmt(w.a, "%s/log", w.dir).p;
        const char *run = hb_fmt(w.a, "%s/program --record %s --class %d", w.dir, log, c).p;
        ck_assert_int_eq(system(run), 0);
        hb_diag *d = hb_diag_new(w.a);
        const record *r = record_read(w.a, log, d);
        hb_diag_print(d, stderr);
        ck_assert_ptr_nonnull(r);
        ck_assert(hb_str_eq(print(w.a, r), print(w.a, plan)));
        ck_assert_msg(syn_check(w.a, w.g, w.f, r, &why), "the record: %.*s", HB_ARG(why));
    }
    end(&w);
}
END_TEST

// Steps on the committed rows; losses to DIR/save.jsonl, the checkpoint to DIR/save.safetensors.
static void train(work *w, const char *name, int ranks, const char *model, int steps,
                  const char *save)
{
    hb_buf in = {.arena = w->a};
    for (int t = 0; t < w->g->tensors.n; t++) {
        hb_str v = w->g->tensors.p[t].name;
        if (w->g->tensors.p[t].kind == IR_INPUT)
            hb_printf(&in, " --input %.*s=tests/torch/%s/%.*s.npy", HB_ARG(v), model, HB_ARG(v));
    }
    const char *run =
        hb_fmt(w->a,
               "mpirun --allow-run-as-root --oversubscribe -n %d %s/%s --steps %d --json "
               "--save %s/%s.safetensors%s > %s/%s.jsonl",
               ranks, w->dir, name, steps, w->dir, save, hb_done(&in).p, w->dir, save)
            .p;
    ck_assert_msg(system(run) == 0, "%s", run);
}

START_TEST(trains_as_one_rank)
{
    static const char *const models[N_GRAPHS] = {"mlp", "gpt2-tiny"};
    work w = begin(graphs[_i % N_GRAPHS]);
    gen_options o = meshes[_i / N_GRAPHS], one = {.n_axes = 1, .size = {1}, .n_classes = 1};
    o.seed = 90 + (uint64_t)_i;
    o.keep_grads = false;
    build(&w, random_program(&w, &o), "all", "haprt");
    build(&w, random_program(&w, &one), "one", "haprt");
    const char *model = models[_i % N_GRAPHS];
    train(&w, "all", o.size[0] * o.size[1], model, 3, "all");
    train(&w, "one", 1, model, 3, "one");
    train(&w, "one", 1, model, 0, "start");
    const char *same = hb_fmt(w.a,
                              "cd %s && %s/tests/train_compare losses all.jsonl one.jsonl && "
                              "%s/tests/train_compare params all.safetensors one.safetensors "
                              "start.safetensors",
                              w.dir, w.build, w.build)
                           .p;
    ck_assert_int_eq(system(same), 0);
    end(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("two_axes");
    TCase *t = tcase_create("random");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, program_is_the_plan, 0, N_MESHES * N_GRAPHS);
    tcase_add_loop_test(t, trains_as_one_rank, 0, N_MESHES + 1);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
