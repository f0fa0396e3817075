// The plan after each pass, as `hapc -d` prints it: every pass once and in its place, with what it
// is there for done; and nothing of it changes the plan.

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "synth/passes/passes.h"
#include "synth/search/synth.h"

static syn_result plan(hb_arena *a, const char *letters)
{
    hb_diag *d = hb_diag_new(a);
    ir_options io = {0};
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json", &io, d);
    cl_cluster *c = cl_read(a, "clusters/laptop2.yaml", "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(g && c);
    cost_model *m = HB_NEW(a, cost_model);
    *m = (cost_model){.cluster = c};
    syn_options o = syn_default_options();
    o.dump_after = letters;
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    return r;
}

// What stands under the heading of a pass.
static hb_str after(hb_arena *a, hb_str dumps, const char *pass)
{
    const char *from = strstr(dumps.p, hb_fmt(a, "# after %s", pass).p);
    ck_assert_msg(from != NULL, "nothing after %s", pass);
    const char *to = strstr(from + 1, "# after ");
    return hb_str_n(a, from, to ? (size_t)(to - from) : strlen(from));
}

static int count(hb_str text, const char *what)
{
    int n = 0;
    for (const char *p = text.p; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

// Collectives whose wait is the next line.
static int waited_at_once(hb_str text)
{
    int n = 0;
    bool started = false;
    for (const char *p = text.p; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        n += started && strncmp(p, "wait ", 5) == 0;
        started = strncmp(p, "all_", 4) == 0 || strncmp(p, "reduce_", 7) == 0 ||
                  strncmp(p, "reshard", 5) == 0;
    }
    return n;
}

START_TEST(letters_are_of_one_pass_each)
{
    bool seen[256] = {false};
    for (const char *p = "rxmaovfcpl"; *p; p++) // of the front end, the cluster, plan and record
        seen[(unsigned char)*p] = true;
    for (int k = 0; k < SYN_N_PASSES; k++) {
        unsigned char letter = (unsigned char)syn_passes[k].letter;
        ck_assert_msg(syn_passes[k].run && !seen[letter], "%s: letter %c", syn_passes[k].name,
                      letter);
        seen[letter] = true;
    }
}
END_TEST

START_TEST(every_pass_is_printed_in_its_place)
{
    hb_arena *a = hb_arena_new();
    char letters[SYN_N_PASSES + 1] = {0};
    for (int k = 0; k < SYN_N_PASSES; k++)
        letters[k] = syn_passes[k].letter;
    syn_result r = plan(a, letters);
    hb_str dumps = r.program->dumps;
    const char *at = dumps.p;
    for (int k = 0; k < SYN_N_PASSES; k++) {
        at = strstr(at, hb_fmt(a, "# after %s", syn_passes[k].name).p);
        ck_assert_msg(at != NULL, "%s is missing or too early", syn_passes[k].name);
    }
    ck_assert_int_eq(count(dumps, "# after "), SYN_N_PASSES);

    hb_str lowered = after(a, dumps, "lower"), waits = after(a, dumps, "place waits");
    int all = count(lowered, "\nwait ");
    ck_assert_int_gt(all, 10);
    ck_assert_int_eq(waited_at_once(lowered), all);
    ck_assert_int_lt(waited_at_once(waits), all);
    ck_assert_int_le(count(after(a, dumps, "bucket"), "\nwait "), all);
    ck_assert_int_eq(count(after(a, dumps, "fuse"), "\nloop "), 0);
    ck_assert_int_gt(count(after(a, dumps, "roll"), "\nloop "), 0);
    ck_assert_int_gt(count(after(a, dumps, "roll"), ": local 0,"), 0);
    ck_assert_int_eq(count(after(a, dumps, "memory"), ": local 0,"), 0);
    hb_arena_free(a);
}
END_TEST

START_TEST(printing_changes_nothing)
{
    hb_arena *a = hb_arena_new();
    syn_result quiet = plan(a, NULL), some = plan(a, "WM");
    ck_assert_int_eq(quiet.program->dumps.n, 0);
    ck_assert_int_eq(count(some.program->dumps, "# after "), 2);
    ck_assert_double_eq(quiet.predicted_sec, some.predicted_sec);
    ck_assert_int_eq(quiet.program->instr.n, some.program->instr.n);
    for (int t = 0; t < quiet.program->tensors.n; t++) {
        const syn_tensor *x = &quiet.program->tensors.p[t], *y = &some.program->tensors.p[t];
        ck_assert(x->off[0] == y->off[0] && hb_str_eq(x->name, y->name));
    }
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("passes");
    TCase *t = tcase_create("passes");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, letters_are_of_one_pass_each);
    tcase_add_test(t, every_pass_is_printed_in_its_place);
    tcase_add_test(t, printing_changes_nothing);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
