// hapc GRAPH CLUSTER OPTIONS, in a process of its own: a planner that dies fails one problem.

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/factors.h"
#include "ir/variant.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"
#include "tests/support/problem.h"

int problem_seconds = TEST_SANITIZED ? 400 : 20;

static void say(problem_answer *x, hb_str why)
{
    snprintf(x->why, sizeof x->why, "%.*s", HB_ARG(why));
}

// Fills the planner's options as the command line does. False: a reader refuses them.
static bool take(hb_arena *a, const problem_options *p, const ir_graph *g, syn_options *o,
                 hb_diag *d)
{
    hb_str word = p->strategy ? hb_str_c(a, p->strategy) : (hb_str){0};
    bool good = (!p->mesh || syn_mesh_parse(hb_str_c(a, p->mesh), &o->mesh)) &&
                (!p->strategy || syn_strategy_parse(word, &o->strategy));
    hb_assert(good && "options of the command line");
    o->baselines = true;
    o->vary_chunks = p->micro < 0;
    o->vary_blocks = strcmp(p->recompute, "auto") == 0;
    if (p->pin[0]) {
        hb_str pin = hb_str_c(a, p->pin);
        o->pins = syn_pins_read(a, g, ir_factorize(a, g), &pin, 1, d);
    }
    return hb_diag_count(d) == 0;
}

static ir_graph *step_of(hb_arena *a, const hb_source *json, hb_diag *d)
{
    ir_options front = {0};
    ir_graph *g = ir_read_source(a, json, &front, d);
    if (!g || !ir_expand(g, d) || !ir_casts(g, d) || !ir_autodiff(g, d) || !ir_optimize(g, d))
        return NULL;
    ir_blocks(g);
    return g;
}

double problem_bytes(const problem_model *m)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    hb_source json = {HB_STR("graph"), problem_graph(a, m)};
    ir_graph *g = step_of(a, &json, d);
    hb_diag_print(d, stderr);
    hb_assert(g && "a graph");
    double bytes = ir_saved_bytes(g);
    for (int t = 0; t < g->tensors.n; t++) // with gradient and two moments
        if (g->tensors.p[t].kind == IR_PARAM) bytes += 16.0 * (double)ir_elements(&g->tensors.p[t]);
    hb_arena_free(a);
    return bytes;
}

static syn_result solve(hb_arena *a, const problem_options *p, const hb_source *src,
                        const cost_model *m, hb_diag *d)
{
    syn_result none = {.status = SYN_INFEASIBLE};
    bool auto_blocks = strcmp(p->recompute, "auto") == 0;
    bool chunks = p->micro > 0, blocks = p->recompute[0] && !auto_blocks;
    bool given = (chunks || blocks) && p->micro >= 0 && !auto_blocks;
    ir_graph *g = step_of(a, src, d);
    if (!g) return none;
    const bool *again = blocks ? ir_blocks_named(a, g, p->recompute, d) : NULL;
    syn_options o = syn_default_options();
    if (blocks && !again) return none;
    o.micro_batches = chunks ? p->micro : given;
    o.again = given && !blocks ? HB_ARRAY(a, bool, g->n_blocks + 1) : again;
    const ir_graph *variant = ir_variant(a, g, o.micro_batches, o.again, d);
    if (!variant || !take(a, p, variant, &o, d)) return none;
    return syn_plan(a, g, m, &o);
}

static void describe(problem_answer *x, const syn_program *p)
{
    int at =
        snprintf(x->plan, sizeof x->plan, "%d of %d ranks", p->mesh->n_ranks, p->cluster->n_ranks);
    if (p->mesh->n_axes > 1)
        at += snprintf(x->plan + at, sizeof x->plan - (size_t)at, ", %dx%d", p->mesh->size[0],
                       p->mesh->size[1]);
    if (p->g->micro_batches > 1)
        at += snprintf(x->plan + at, sizeof x->plan - (size_t)at, ", %d micro-batches",
                       p->g->micro_batches);
    if (p->g->recomputed.n > 0)
        snprintf(x->plan + at, sizeof x->plan - (size_t)at, ", %d recomputed", p->g->recomputed.n);
}

static problem_answer answer(const problem *p, hb_str cluster)
{
    problem_answer x = {.status = PROBLEM_BAD, .sec = HUGE_VAL};
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    hb_source yaml = {HB_STR("cluster"), cluster.n ? cluster : problem_yaml(a, &p->cluster)},
              json = {HB_STR("graph"), problem_graph(a, &p->model)};
    cost_model m = {.cluster = cl_read_source(a, &yaml, "clusters/devices.yaml", d)};
    syn_result r = {0};
    if (m.cluster) r = solve(a, &p->options, &json, &m, d);
    if (hb_diag_count(d) > 0) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        hb_assert(f);
        hb_diag_print(d, f);
        fclose(f);
        say(&x, (hb_str){text, n});
        free(text);
    } else if (r.status == SYN_OK) {
        x.status = PROBLEM_PLANNED;
        x.sec = r.predicted_sec;
        describe(&x, r.program);
        for (int k = 0; k < r.program->mesh->n_classes; k++)
            x.peak_bytes = fmax(x.peak_bytes, (double)r.program->peak_bytes[k]);
    } else {
        x.status = r.status == SYN_INFEASIBLE ? PROBLEM_NO_PLAN : PROBLEM_DIED;
        say(&x, r.why);
    }
    hb_arena_free(a);
    return x;
}

static void child(const problem *p, hb_str cluster, int out)
{
    struct rlimit most = {(rlim_t)problem_seconds, (rlim_t)problem_seconds + 1};
    setrlimit(RLIMIT_CPU, &most);
    problem_answer x = answer(p, cluster);
    bool sent = write(out, &x, sizeof x) == (ssize_t)sizeof x;
    _exit(sent ? 0 : 1);
}

problem_answer problem_plan_on(const problem *p, hb_str cluster)
{
    problem_answer x = {.status = PROBLEM_DIED, .sec = HUGE_VAL};
    int end[2], status = 0;
    struct rusage use;
    fflush(stdout);
    bool good = pipe(end) == 0;
    hb_assert(good && "a pipe");
    pid_t pid = fork();
    hb_assert(pid >= 0 && "a process");
    if (pid == 0) child(p, cluster, end[1]);
    close(end[1]);
    problem_answer told;
    bool all = read(end[0], &told, sizeof told) == (ssize_t)sizeof told;
    close(end[0]);
    wait4(pid, &status, 0, &use);
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (all && by == 0) {
        x = told;
    } else {
        x.status = by == SIGXCPU ? PROBLEM_LATE : PROBLEM_DIED;
        snprintf(x.why, sizeof x.why, "the planner ended by signal %d", by);
    }
    x.cpu_sec = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    return x;
}

problem_answer problem_plan(const problem *p)
{
    return problem_plan_on(p, (hb_str){0});
}
