// program.c, compiled against the recording runtime and run once for each class, logs exactly the
// plan it was printed from; the reader is strict; an edited program is checked as it would run.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "synth/certify/record.h"
#include "synth/search/synth.h"

static const struct {
    const char *graph, *cluster;
} bases[] = {
    {"examples/mlp/graph.json", "clusters/laptop1.yaml"},
    {"examples/mlp/graph.json", "clusters/laptop.yaml"},
    {"examples/gpt2-tiny/graph.json", "clusters/laptop3.yaml"},
    {"examples/bert-tiny/graph.json", "clusters/laptop.yaml"},
};
enum { N_BASES = sizeof bases / sizeof *bases };

typedef struct plan {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    syn_result r;
    hb_str program_c, buffers_h, dir;
} plan;

static plan make(const char *graph, const char *cluster, syn_strategy strategy)
{
    plan p = {.a = hb_arena_new()};
    hb_diag *d = hb_diag_new(p.a);
    p.g = ir_build(p.a, graph, &(ir_options){0}, d);
    cl_cluster *c = cl_read(p.a, cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(p.g);
    ck_assert_ptr_nonnull(c);
    p.f = ir_factorize(p.a, p.g);
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    o.strategy = strategy;
    o.small_param = 0;
    o.keep_grads = true;
    p.r = syn_synthesize(p.a, p.g, p.f, &m, &o);
    if (p.r.status != SYN_OK) return p;
    emit_plan e = {.p = p.r.program,
                   .res = &p.r,
                   .command = HB_STR("hapc"),
                   .version = HB_STR("0"),
                   .graph_path = HB_STR("g"),
                   .cluster_path = HB_STR("c")};
    hb_buf b = {.arena = p.a}, buffers = {.arena = p.a};
    emit_program_c(&b, &buffers, &e, NULL);
    p.program_c = hb_done(&b);
    p.buffers_h = hb_done(&buffers);
    char dir[] = "/tmp/record_test.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    p.dir = hb_str_c(p.a, dir);
    return p;
}

static void done(plan *p)
{
    if (p->dir.n > 0) ck_assert_int_eq(system(hb_fmt(p->a, "rm -r %s", p->dir.p).p), 0);
    hb_arena_free(p->a);
}

static hb_str print(hb_arena *a, const record *r)
{
    hb_buf b = {.arena = a};
    record_print(&b, r);
    return hb_done(&b);
}

static record *read_log(plan *p, hb_str log)
{
    hb_diag *d = hb_diag_new(p->a);
    record *r = record_read(p->a, log.p, d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(r);
    return r;
}

// Compiles and runs the text for one class, and reads it by hap-record, which must come to the
// same. NULL if it does not run.
static record *run(plan *p, hb_str text, int cls, bool build)
{
    const char *b = getenv("HAP_BUILD");
    ck_assert_ptr_nonnull(b);
    if (build) {
        ck_assert(hb_write_file(hb_fmt(p->a, "%s/program.c", p->dir.p).p, text));
        ck_assert(hb_write_file(hb_fmt(p->a, "%s/buffers.h", p->dir.p).p, p->buffers_h));
        const char *cc =
            hb_fmt(p->a,
                   "cd %s && PKG_CONFIG_PATH=%s/lib/pkgconfig && export PKG_CONFIG_PATH && "
                   "${CC:-cc} -std=c11 -Wall -Wextra -Wconversion -Werror program.c -o program "
                   "$(pkg-config --cflags --libs haprt-record)",
                   p->dir.p, b)
                .p;
        ck_assert_int_eq(system(cc), 0);
    }
    hb_str log = hb_fmt(p->a, "%s/log.%d", p->dir.p, cls);
    hb_str read = hb_fmt(p->a, "%s/read.%d", p->dir.p, cls);
    const char *const program[] = {
        hb_fmt(p->a, "%s/program --record %s", p->dir.p, log.p).p,
        hb_fmt(p->a, "%s/bin/hap-record %s/program.c --record %s", b, p->dir.p, read.p).p};
    bool ran[2];
    for (int i = 0; i < 2; i++)
        ran[i] = system(hb_fmt(p->a, "%s --class %d 2>%s/err", program[i], cls, p->dir.p).p) == 0;
    ck_assert_int_eq(ran[0], ran[1]);
    if (!ran[0]) return NULL;
    record *r = read_log(p, log);
    ck_assert(hb_str_eq(print(p->a, r), print(p->a, read_log(p, read))));
    return r;
}

START_TEST(program_is_the_plan)
{
    int i = _i / syn_n_strategies, s = _i % syn_n_strategies;
    plan p = make(bases[i].graph, bases[i].cluster, (syn_strategy)s);
    if (p.r.status == SYN_OK) {
        hb_str want = print(p.a, record_from_plan(p.a, p.r.program));
        for (int c = 0; c < p.r.program->mesh->n_classes; c++) {
            record *r = run(&p, p.program_c, c, c == 0);
            ck_assert_ptr_nonnull(r);
            hb_str got = print(p.a, r), why;
            if (!hb_str_eq(got, want)) {
                hb_write_file("/tmp/record_test.plan", want);
                hb_write_file("/tmp/record_test.program", got);
                ck_abort_msg("%s on %s, %s: diff /tmp/record_test.plan /tmp/record_test.program",
                             bases[i].graph, bases[i].cluster, syn_strategy_name((syn_strategy)s));
            }
            ck_assert_msg(syn_check(p.a, p.g, p.f, r, &why), "%.*s", HB_ARG(why));
        }
    }
    done(&p);
}
END_TEST

// Replaces the first `from` by `to`; the program has it.
static hb_str edit(hb_arena *a, hb_str text, const char *from, const char *to)
{
    const char *at = strstr(text.p, from);
    ck_assert_msg(at != NULL, "no '%s' in program.c", from);
    return hb_fmt(a, "%.*s%s%s", (int)(at - text.p), text.p, to, at + strlen(from));
}

START_TEST(edited_programs)
{
    plan p =
        make("examples/mlp/graph.json", "clusters/laptop3.yaml", syn_strategy_named("dp-prop"));
    ck_assert_int_eq(p.r.status, SYN_OK);
    static const struct {
        const char *from, *to, *says;
    } edits[] = {
        {"0.9, 0.95", "0.9, 0.96", "op_adam: is no node of the graph: attribute beta2"},
        {".lr = 0.0003", ".lr = 0.0004", "lr is 0.0004"},
        {"hap_wait(r, ", "(void)(", "waited for"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        record *r = run(&p, edit(p.a, p.program_c, edits[i].from, edits[i].to), 0, true);
        ck_assert_ptr_nonnull(r);
        hb_str why;
        ck_assert(!syn_check(p.a, p.g, p.f, r, &why));
        ck_assert_msg(strstr(why.p, edits[i].says) != NULL, "%.*s", HB_ARG(why));
        ck_assert_msg(strncmp(why.p, "program.c:", 10) == 0, "%.*s", HB_ARG(why));
    }
    done(&p);
}
END_TEST

static const char *const head =
    "{\"i\":0,\"line\":1,\"call\":\"hap_init\",\"graph\":\"g\",\"ranks\":2}\n"
    "{\"i\":1,\"line\":1,\"call\":\"hap_mesh\",\"sizes\":[2]}\n"
    "{\"i\":2,\"line\":1,\"call\":\"hap_classes\",\"class_of_rank\":[0,0],"
    "\"class\":0,\"rank\":0}\n"
    "{\"i\":3,\"line\":1,\"call\":\"hap_segments\",\"sym_bytes\":0,"
    "\"local_bytes\":[256]}\n"
    "{\"i\":4,\"line\":2,\"call\":\"hap_at\",\"id\":7,\"seg\":\"SEG_LOCAL\","
    "\"off\":[0],\"dtype\":\"f32\",\"dims\":[{\"n\":4,\"outer\":1,\"inner\":1,"
    "\"axis\":0,\"table\":[1,3]},{\"n\":2}]}\n";
static const char *const tail = "{\"i\":8,\"line\":9,\"call\":\"hap_next_step\",\"more\":false}\n"
                                "{\"i\":9,\"line\":9,\"call\":\"hap_finish\"}\n";
static const char *const step = "{\"i\":5,\"line\":9,\"call\":\"hap_next_step\",\"more\":true}\n";

static const struct {
    const char *declarations, *calls;
    bool good;
} logs[] = {
    {"", "", true},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_relu\",\"out\":[7],\"in\":[7],\"attrs\":[]}\n", true},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_relu\",\"out\":[7],\"in\":[8],\"attrs\":[]}\n", false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_relu\",\"out\":[7],\"in\":[7],\"attrs\":[1]}\n", false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_relu\",\"out\":[7],\"in\":[7],\"attrs\":[],\"x\":1}\n",
     false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_softmax\",\"out\":[7],\"in\":[7],\"attrs\":[]}\n",
     false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_nothing\",\"out\":[7],\"in\":[7],\"attrs\":[]}\n",
     false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_scale\",\"out\":[7],\"in\":[7],\"attrs\":[\"-inf\"]}\n",
     true},
    {"", "{\"i\":6,\"line\":3,\"call\":\"op_scale\",\"out\":[7],\"in\":[7],\"attrs\":[\"big\"]}\n",
     false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"hap_input\",\"name\":\"x\",\"tensor\":7}\n", false},
    {"{\"i\":5,\"line\":3,\"call\":\"hap_input\",\"name\":\"x\",\"tensor\":7}\n", "", true},
    {"{\"i\":5,\"line\":3,\"call\":\"hap_input\",\"name\":\"x\",\"tensor\":null}\n", "", false},
    {"{\"i\":5,\"line\":3,\"call\":\"hap_cut\",\"out\":[7],\"in\":[7]}\n", "", false},
    {"{\"i\":5,\"line\":3,\"call\":\"hap_init\",\"graph\":\"g\",\"ranks\":2}\n", "", false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"hap_partial\",\"axes\":1,\"out\":[7],\"in\":[7]}\n", true},
    {"", "{\"i\":6,\"line\":3,\"call\":\"hap_partial\",\"axes\":0,\"out\":[7],\"in\":[7]}\n",
     false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"hap_wait\",\"event\":0}\n", true},
    {"", "{\"i\":6,\"line\":3,\"call\":\"hap_wait\",\"event\":\"e\"}\n", false},
    {"", "{\"i\":6,\"line\":3,\"call\":\"hap_wait\"\n", false},
    {"",
     "{\"i\":6,\"line\":3,\"call\":\"coll_reshard_start\",\"axes\":1,\"form\":\"EVEN\",\"dst\":[7],"
     "\"src\":[7],\"scratch\":null,\"event\":0,\"stream\":\"communication\"}\n",
     true},
    {"",
     "{\"i\":6,\"line\":3,\"call\":\"coll_reshard_start\",\"axes\":1,\"form\":\"ODD\",\"dst\":[7],"
     "\"src\":[7],\"scratch\":null,\"event\":0,\"stream\":\"communication\"}\n",
     false},
};

START_TEST(logs_are_read_strictly)
{
    hb_arena *a = hb_arena_new();
    char path[] = "/tmp/record_test.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    hb_str text = hb_fmt(a, "%s%s%s%s%s", head, logs[_i].declarations, step, logs[_i].calls, tail);
    FILE *f = fdopen(fd, "w");
    fwrite(text.p, 1, text.n, f);
    fclose(f);
    hb_diag *d = hb_diag_new(a);
    record *r = record_read(a, path, d);
    ck_assert_int_eq(r != NULL, logs[_i].good);
    ck_assert_int_eq(hb_diag_count(d) == 0, logs[_i].good);
    if (r) { // what is said twice is read alike
        ck_assert_int_eq(r->tensors.p[0].id, 0);
        ck_assert_int_eq((int)r->tensors.p[0].dim[0].table[1], 3);
        ck_assert_int_gt((int)print(a, r).n, 0);
    }
    remove(path);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("record");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, program_is_the_plan, 0, N_BASES * syn_n_strategies);
    tcase_add_test(t, edited_programs);
    tcase_add_loop_test(t, logs_are_read_strictly, 0, (int)(sizeof logs / sizeof *logs));
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
