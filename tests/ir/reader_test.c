// The graph reader: what it takes, and, for every tests/bad/graph_*.json, its exact diagnostics.
// UPDATE_GOLDEN=1 rewrites the .stderr files.

#include <check.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/sha256.h"
#include "ir/graph.h"

static hb_arena *arena;
static hb_diag *diag;

static void setup(void)
{
    arena = hb_arena_new();
    diag = hb_diag_new(arena);
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static hb_str printed(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    hb_diag_print(diag, f);
    fclose(f);
    hb_str s = hb_str_n(arena, text, n);
    free(text);
    return s;
}

static ir_graph *read_text(const char *text, int64_t batch)
{
    hb_source *src = HB_NEW(arena, hb_source);
    *src = (hb_source){HB_STR("t.json"), hb_str_c(arena, text)};
    return ir_read_source(arena, src, &(ir_options){.batch = batch}, diag);
}

static const ir_tensor *find(const ir_graph *g, const char *name)
{
    for (int i = 0; i < g->tensors.n; i++)
        if (hb_str_is(g->tensors.p[i].name, name)) return &g->tensors.p[i];
    ck_abort_msg("no tensor %s", name);
    return NULL;
}

START_TEST(bad_graphs)
{
    glob_t files;
    ck_assert_int_eq(glob("tests/bad/graph_*.json", 0, NULL, &files), 0);
    ck_assert_int_gt((int)files.gl_pathc, 20);
    int wrong = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *path = files.gl_pathv[i];
        diag = hb_diag_new(arena);
        ir_graph *g = ir_read(arena, path, NULL, diag);
        ck_assert_msg(!g && hb_diag_count(diag) > 0, "%s was accepted", path);
        hb_str have = printed(), want = {0};
        hb_str golden = hb_fmt(arena, "%.*s.stderr", (int)strlen(path) - 5, path);
        const char *why = NULL;
        if (getenv("UPDATE_GOLDEN")) {
            ck_assert(hb_write_file(golden.p, have));
        } else if (!hb_read_file(arena, golden.p, &want, &why) || !hb_str_eq(have, want)) {
            printf("--- %s: found\n%.*s--- wanted%s\n%.*s", path, HB_ARG(have), why ? why : "",
                   HB_ARG(want));
            wrong++;
        }
    }
    globfree(&files);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

static const char whole[] =
    "{\"format\": \"hap.graph\", \"version\": 1, \"producer\": \"test\",\n"
    " \"tensors\": {\n"
    "  \"x\": {\"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [\"B\", 6], \"batch\": 0},\n"
    "  \"y\": {\"kind\": \"input\", \"dtype\": \"i64\", \"shape\": [3, \"2*B+1\"]},\n"
    "  \"z\": {\"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [5], \"batch\": -1},\n"
    "  \"w\": {\"kind\": \"param\", \"dtype\": \"f32\", \"shape\": [6], \"init\": {\"normal\": 0.5}},\n"
    "  \"u\": {\"kind\": \"param\", \"dtype\": \"f32\", \"shape\": [6],\n"
    "        \"init\": {\"uniform\": [-1, 2]}},\n"
    "  \"i\": {\"kind\": \"const\", \"dtype\": \"i64\", \"shape\": [6], \"value\": {\"iota\": [3, 2]}},\n"
    "  \"s\": {\"kind\": \"const\", \"dtype\": \"f32\", \"shape\": [6], \"value\": \"f.st#a#b\"},\n"
    "  \"m\": {\"kind\": \"buffer\", \"dtype\": \"f32\", \"shape\": [\"B\", 6],\n"
    "        \"init\": {\"const\": 7}}},\n"
    " \"batch\": {\"B\": 4},\n"
    " \"nodes\": [\n"
    "  {\"name\": \"mul\", \"op\": \"mul\", \"in\": [\"x\", \"w\"], \"out\": [\"a\"]},\n"
    "  {\"name\": \"ln\", \"op\": \"layer_norm\", \"in\": [\"a\", \"w\"], \"out\": [\"b\"],\n"
    "   \"attrs\": {\"eps\": 1}, \"from\": \"model.py:3\"},\n"
    "  {\"name\": \"re\", \"op\": \"reshape\", \"in\": [\"b\"], \"out\": [\"c\"],\n"
    "   \"attrs\": {\"shape\": [\"B\", 1, 2, \"B - 1\"]}},\n"
    "  {\"name\": \"at\", \"op\": \"sdpa\", \"in\": [\"c\", \"c\", \"c\"], \"out\": [\"d\"],\n"
    "   \"attrs\": {\"dropout\": 0.5}},\n"
    "  {\"name\": \"dr\", \"op\": \"dropout\", \"in\": [\"d\"], \"out\": [\"e\"],\n"
    "   \"attrs\": {\"p\": 0.25}},\n"
    "  {\"name\": \"me\", \"op\": \"mean\", \"in\": [\"e\"], \"out\": [\"loss\"],\n"
    "   \"attrs\": {\"dims\": [0, 1, 2, -1]}}],\n"
    " \"loss\": \"loss\", \"updates\": {\"m\": \"b\"}, \"alias\": {\"tied\": \"w\"},\n"
    " \"optimizer\": {\"name\": \"adamw\", \"lr\": 0.5, \"betas\": [0.8, 0.9], \"clip_norm\": 2,\n"
    "  \"groups\": [{\"match\": [\"u*\", \"?\"], \"weight_decay\": 0, \"lr\": 0.25}],\n"
    "  \"schedule\": {\"warmup\": 3, \"cosine\": 9, \"min_lr\": 0.1}}}\n";

START_TEST(whole_graph)
{
    ir_graph *g = read_text(whole, 0);
    ck_assert_msg(g != NULL, "%s", printed().p);
    hb_str why = {0};
    ck_assert_msg(ir_verify(g, &why), "%s", why.p);
    ck_assert_int_eq(g->batch, 4);
    ck_assert_int_eq(g->sha.n, 16);
    ck_assert_int_eq(find(g, "x")->batch, 0);
    ck_assert_int_eq(find(g, "y")->batch, 1); // the dim written with B
    ck_assert_int_eq(find(g, "y")->dim[1], 9);
    ck_assert_int_eq(find(g, "z")->batch, -1);
    ck_assert_int_eq(find(g, "w")->init.kind, IR_INIT_NORMAL);
    ck_assert_double_eq(find(g, "u")->init.b, 2);
    ck_assert_int_eq(find(g, "i")->init.kind, IR_INIT_IOTA);
    ck_assert_str_eq(find(g, "s")->init.stored.p, "f.st#a#b");
    ck_assert_double_eq(find(g, "m")->init.a, 7);
    const ir_tensor *c = find(g, "c");
    ck_assert_int_eq(c->dim[3], 3);
    ck_assert_int_eq(find(g, "d.1")->rank, 3); // sdpa's logsumexp, not named in the file
    ck_assert_str_eq(g->nodes.p[1].from.p, "model.py:3");
    ck_assert_double_eq(g->nodes.p[1].attr[0].f, 1);
    ck_assert_int_eq(g->nodes.p[3].attr[3].i, 4); // keys: place in the file + 1
    ck_assert_int_eq(g->nodes.p[4].attr[1].i, 5);
    ck_assert_int_eq(g->nodes.p[5].attr[0].v[3], 3); // negative dims count from the end
    ck_assert_int_eq(g->updates.n, 1);
    ck_assert_int_eq(g->n_alias, 1);
    ck_assert_double_eq(g->opt.group[0].lr_scale, 0.5);
    ck_assert_double_eq(g->opt.weight_decay, 0.01);
    ck_assert_int_eq(g->opt.cosine, 9);
}
END_TEST

START_TEST(batch_option)
{
    ir_graph *g = read_text(whole, 7);
    ck_assert(!g); // the reshape to [B, 1, 2, B - 1] holds at 4 alone
    diag = hb_diag_new(arena);
    g = read_text(
        "{\"format\": \"hap.graph\", \"version\": 1, \"tensors\": {\"x\": {\"kind\": "
        "\"input\", \"dtype\": \"f32\", \"shape\": [\"B\", \"B*3\", 2]}, \"m\": {\"kind\": "
        "\"buffer\", \"dtype\": \"f32\", \"shape\": [\"3 * B\"], \"init\": {\"const\": 1}}}, "
        "\"batch\": {\"B\": 2}, \"nodes\": [{\"name\": \"s\", \"op\": \"sum\", \"in\": "
        "[\"x\"], \"out\": [\"y\"], \"attrs\": {\"dims\": [0, 2]}}], \"updates\": {\"m\": "
        "\"y\"}}",
        5);
    ck_assert_msg(g != NULL, "%s", printed().p);
    ck_assert_int_eq(g->batch, 5);
    ck_assert_int_eq(find(g, "y")->dim[0], 15);
    ck_assert_int_eq(g->loss, -1);
    ck_assert(ir_expand(g, diag) && ir_autodiff(g, diag) && ir_optimize(g, diag));
    hb_str why = {0};
    ck_assert_msg(ir_verify(g, &why), "%s", why.p);
    ck_assert_int_eq(g->nodes.n, 1);
}
END_TEST

// Constants with a hash: the file that the graph names, or a plan folder's copies under the
// tensors' names; without one nothing is read (graphs of older exporters).
START_TEST(stored_constants)
{
    static const char text[] =
        "{\"format\": \"hap.graph\", \"version\": 1, \"batch\": {\"B\": 4}, \"tensors\": {\n"
        " \"x\": {\"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [\"B\", 3]},\n"
        " \"w\": {\"kind\": \"param\", \"dtype\": \"f32\", \"shape\": [3], \"init\": {\"const\": 1}},\n"
        " \"c\": {\"kind\": \"const\", \"dtype\": \"f32\", \"shape\": [3], \"value\": %s}},\n"
        " \"nodes\": [{\"name\": \"y\", \"op\": \"mul\", \"in\": [\"x\", \"w\"], \"out\": [\"y\"]},\n"
        "  {\"name\": \"z\", \"op\": \"mul\", \"in\": [\"y\", \"c\"], \"out\": [\"z\"]},\n"
        "  {\"name\": \"s\", \"op\": \"sum\", \"in\": [\"z\"], \"out\": [\"s\"],\n"
        "   \"attrs\": {\"dims\": [0, 1]}}], \"loss\": \"s\"}\n";
    hb_str bytes, hash, dir;
    const char *why = NULL;
    ck_assert(hb_read_file(arena, "tests/bad/stored.safetensors", &bytes, &why));
    char folder[] = "/tmp/reader_test.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    dir = hb_str_c(arena, folder);
    hash = hb_sha256_hex(arena,
                         hb_str_n(arena, bytes.p + bytes.n - 20, 12)); // c is the first 12 of 20
    struct {
        const char *value, *file;
        bool right;
    } cases[] = {
        {"\"a.safetensors#c\"", "none", true},
        {"{\"stored\": \"a.safetensors#c\"}", "none", true},
        {"{\"stored\": \"a.safetensors#c\", \"sha256\": \"%s\"}", "a.safetensors", true},
        {"{\"stored\": \"a.safetensors#other\", \"sha256\": \"%s\"}", "consts.safetensors", true},
        {"{\"stored\": \"a.safetensors#other\", \"sha256\": \"%s\"}", "a.safetensors", false},
        {"{\"stored\": \"a.safetensors#c\", \"sha256\": \"%s\"}", "none", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_str file = hb_fmt(arena, "%s/%s", dir.p, cases[i].file);
        hb_str graph = hb_fmt(arena, "%s/graph.json", dir.p);
        hb_buf value = {.arena = arena};
        const char *v = cases[i].value, *at = strstr(v, "%s");
        hb_putn(&value, v, at ? (size_t)(at - v) : strlen(v));
        if (at) hb_printf(&value, "%.*s%s", HB_ARG(hash), at + 2);
        const char *gap = strstr(text, "%s");
        hb_buf all = {.arena = arena};
        hb_putn(&all, text, (size_t)(gap - text));
        hb_putn(&all, value.p, value.n);
        hb_puts(&all, gap + 2);
        ck_assert(hb_write_file(file.p, bytes) && hb_write_file(graph.p, hb_done(&all)));
        diag = hb_diag_new(arena);
        bool ok = ir_read(arena, graph.p, NULL, diag) != NULL;
        ck_assert_msg(ok == cases[i].right, "%s with %s: %s", v, cases[i].file, printed().p);
        remove(file.p);
        remove(graph.p);
    }
    remove(folder);
}
END_TEST

START_TEST(missing_file)
{
    ck_assert(!ir_read(arena, "tests/bad/no_such_graph.json", NULL, diag));
    ck_assert_str_eq(printed().p,
                     "tests/bad/no_such_graph.json: error: No such file or directory\n");
}
END_TEST

// A mutation of one byte never crashes, and what is accepted verifies and builds.
START_TEST(mutations)
{
    static const char bytes[] = "\"{}[],:0123456789-abBx*+. ";
    char text[sizeof whole];
    uint64_t state = 12345;
    int accepted = 0;
    for (int i = 0; i < 4000; i++) {
        memcpy(text, whole, sizeof whole);
        for (int k = 0; k <= i % 2; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[(state >> 33) % (sizeof whole - 1)] = bytes[(state >> 20) % (sizeof bytes - 1)];
        }
        teardown();
        setup();
        ir_graph *g = read_text(text, 0);
        ck_assert_int_eq(g != NULL, hb_diag_count(diag) == 0);
        if (g && ir_expand(g, diag) && ir_autodiff(g, diag) && ir_optimize(g, diag)) {
            hb_str why = {0};
            ck_assert_msg(ir_verify(g, &why), "%s\n%s", why.p, text);
            accepted++;
        }
    }
    ck_assert_int_gt(accepted, 100);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reader");
    TCase *t = tcase_create("reader");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 40);
    tcase_add_test(t, bad_graphs);
    tcase_add_test(t, stored_constants);
    tcase_add_test(t, whole_graph);
    tcase_add_test(t, batch_option);
    tcase_add_test(t, missing_file);
    tcase_add_test(t, mutations);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
