// Plans for the devices that are left, and for the speeds that they have.

#include "cli/replan_state.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/build.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/hosts.h"
#include "cli/retime.h"
#include "emit/manifest.h"

// A move has to gain so many times what it takes.
static const double MOVE_GAIN = 2;
// Slowdowns that are nearer to what the cluster file says are that.
static const double SAME_SPEED = 0.05;

char *replan_copy(hb_arena *a, hb_str text)
{
    return hb_copy(a, text.p, text.n + 1);
}

bool replan_is_in(const char *const *list, const char *text, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncmp(*list, text, n) == 0) return true;
    return false;
}

// What was asked of the planner, without its files and what it was to print. NULL after an error.
char **replan_asked(hb_arena *a, const char *dir, int *n)
{
    static const char *const other[] = {"-o", "--full", "--json",    "-d",
                                        "-q", "-v",     "--what-if", NULL};
    const hb_tree *plan = cli_plan(a, dir);
    int n_words = 0, command = cli_command_row("");
    if (!plan) return NULL;
    char **word = cli_words(a, cli_text_at(plan, "command"), &n_words), **out;
    out = HB_ARRAY(a, char *, n_words + 1);
    *n = 0;
    for (int i = 1; i < n_words; i++) {
        const char *eq = strncmp(word[i], "--", 2) == 0 ? strchr(word[i], '=') : NULL;
        size_t len = eq ? (size_t)(eq - word[i]) : strlen(word[i]);
        int row = word[i][0] == '-' ? cli_option_row(command, word[i], len) : -1;
        if (row < 0) continue; // the graph and the cluster
        bool goes = !replan_is_in(other, word[i], len), two = cli_row_at(row)->value && !eq;
        const char *value = eq ? eq + 1 : two && i + 1 < n_words ? word[i + 1] : "";
        if (strncmp(word[i], "--stages", len) == 0 && strchr(value, '@')) {
            cli_error(CLI_USAGE, "not supported: --on-failure replan of stages that were given "
                                 "(--stages auto finds them again)");
            return NULL;
        }
        if (goes) out[(*n)++] = word[i];
        if (two && i + 1 < n_words) i++;
        if (goes && two) out[(*n)++] = word[i];
    }
    return out;
}

// Whether devices are as fast as the cluster file says.
bool replan_as_said(const replan *x)
{
    for (int i = 0; i < x->n; i++)
        if (x->device[i].slowdown != x->device[i].said) return false;
    return true;
}

// SAVE/.left-HOST-PID.yaml
static hb_str cluster_file(const replan *x, const char *name, long pid)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    return hb_fmt(x->arena, "%s/.%s-%s-%ld.yaml", x->save, name, host, pid);
}

void replan_sweep(const replan *x)
{
    DIR *d = opendir(x->save);
    for (const struct dirent *e; d && (e = readdir(d));) {
        hb_str path = hb_fmt(x->arena, "%s/%s", x->save, e->d_name);
        const char *dash = e->d_name[0] == '.' ? strrchr(e->d_name, '-') : NULL;
        long pid = dash ? strtol(dash + 1, NULL, 10) : 0;
        if (pid <= 0 || process_state(pid, NULL) != 0) continue;
        if (hb_str_eq(path, cluster_file(x, "left", pid)) ||
            hb_str_eq(path, cluster_file(x, "next", pid)))
            unlink(path.p);
    }
    if (d) closedir(d);
}

// The cluster without what is gone, of devices so much slower, in a file of its own. Empty after an
// error was printed.
static hb_str left_cluster(replan *x, const double *slowdown, const char *name)
{
    int left;
    hb_diag *d = hb_diag_new(x->arena);
    hb_str text =
        cl_left(x->arena, &x->cluster, x->whole, replan_gone_of(x, &left), slowdown, x->curves, d);
    hb_diag_print(d, stderr);
    hb_str path = cluster_file(x, name, (long)getpid());
    if (text.n == 0) return (hb_str){0};
    if (hb_write_file(path.p, text)) return path;
    cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(path), strerror(errno));
    return (hb_str){0};
}

// What plans for the cluster in a file, into a folder. NULL after an error was printed.
static char **planner(const replan *x, hb_str cluster, hb_str dir)
{
    hb_arena *a = x->arena;
    int n = 0, n_argv = 0;
    char **asked = replan_asked(a, x->dir, &n), self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!asked || len <= 0 || cluster.n == 0) return NULL;
    self[len] = 0;
    const char *first[] = {self, hb_fmt(a, "%s/graph.json", x->dir).p, cluster.p, "-q", "-o",
                           dir.p};
    char **argv = HB_ARRAY(a, char *, n + 8);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        argv[n_argv++] = replan_copy(a, (hb_str){first[i], strlen(first[i])});
    for (int i = 0; i < n; i++)
        argv[n_argv++] = asked[i];
    return argv;
}

bool replan_plan_again(replan *x)
{
    double *slowdown = HB_ARRAY(x->arena, double, x->n);
    for (int i = 0; i < x->n; i++)
        slowdown[i] = x->device[i].slowdown;
    hb_str cluster = left_cluster(x, replan_as_said(x) ? NULL : slowdown, "left"), out;
    char **argv = planner(x, cluster, x->plan);
    if (!argv) return false;
    int code = cli_capture(x->arena, argv, NULL, 0, &out);
    unlink(cluster.p);
    if (cli_signals > 0) {
        fprintf(stderr, "hapc: interrupted\n");
        return false;
    }
    if (out.n) fprintf(stderr, "%.*s", HB_ARG(out));
    if (code != 0) cli_error(CLI_FAILED, "there is no plan for the devices that are left");
    return code == 0;
}

// Which devices the ranks of the plan's cluster are.
void replan_number_devices(replan *x, bool whole)
{
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (whole || !x->device[i].gone) x->of_plan[n++] = i;
}

// --- a plan for other speeds ---

static bool make_ahead(void *ctx)
{
    const replan *x = ctx;
    hb_str out, binary;
    int code;
    return cli_capture(x->arena, x->ahead.argv, NULL, 0, &out) == 0 &&
           cli_build(x->arena, x->ahead.dir.p, "haprt", &binary, &code);
}

// The slowdown of a device that takes so many times as long as the plan under way says.
static double slower(const device *d, double times)
{
    double s = fmin(fmax(d->slowdown * times, CL_LEAST_SLOWDOWN), CL_MOST_SLOWDOWN);
    return fabs(log(s / d->said)) < SAME_SPEED ? d->said : s;
}

static void ask_for_plan(replan *x)
{
    ahead *p = &x->ahead;
    double *slowdown = HB_ARRAY(x->arena, double, x->n);
    for (int i = 0; i < x->n; i++)
        x->device[i].next = x->device[i].slowdown;
    for (int r = 0; r < x->job->n_ranks; r++) {
        device *d = &x->device[x->of_plan[x->job->rank[r].of_cluster]];
        p->times[r] = drift_of(&x->drift, r);
        d->next = slower(d, p->times[r]);
    }
    for (int i = 0; i < x->n; i++)
        slowdown[i] = x->device[i].next;
    p->noticed_sec = replan_since(&p->calm);
    clock_gettime(CLOCK_MONOTONIC, &p->begun);
    p->cluster = left_cluster(x, slowdown, "next");
    p->argv = planner(x, p->cluster, p->dir);
    p->question = p->argv ? question_ask(make_ahead, x) : -1;
    if (p->question < 0) drift_rest(&x->drift);
}

// run_job's `heard`.
void replan_hear(void *ctx, const char *line, double start_sec)
{
    replan *x = ctx;
    bool off = drift_hear(&x->drift, line);
    if (x->drift.calm == 0) clock_gettime(CLOCK_MONOTONIC, &x->ahead.calm);
    x->ahead.start_sec = start_sec;
    if (off && x->ahead.question < 0 && !x->ahead.ready) ask_for_plan(x);
}

// "cpu takes 3.14 times as long as planned, 2 x slow of b takes 0.5 times".
static hb_str speeds(const replan *x)
{
    hb_buf b = {.arena = x->arena};
    bool *done = HB_ARRAY(x->arena, bool, x->n), *mark = HB_ARRAY(x->arena, bool, x->n);
    hb_puts(&b, "");
    for (int i = 0; i < x->n; i++) {
        double times = x->device[i].next / x->device[i].slowdown;
        if (done[i] || times == 1) continue;
        for (int k = 0; k < x->n; k++) {
            mark[k] = !done[k] && x->device[k].next / x->device[k].slowdown == times;
            done[k] = done[k] || mark[k];
        }
        hb_printf(&b, "%s%.*s takes %.3g times%s", b.n ? ", " : "", HB_ARG(replan_list_of(x, mark)),
                  times, b.n ? "" : " as long as planned");
    }
    return hb_done(&b);
}

// Steps behind the next checkpoint that may still be reached.
static int64_t steps_to_gain(const replan *x)
{
    int64_t next = x->drift.step + 2, end = x->drift.step + 1 + x->drift.left;
    if (x->save_every > 0) next = (next + x->save_every - 1) / x->save_every * x->save_every;
    return end > next ? end - next : 0;
}

// The plan is there: is it worth a move?
static void judge(replan *x, bool there)
{
    ahead *p = &x->ahead;
    const hb_tree *was = cli_plan(x->arena, x->now),
                  *plan = there ? cli_plan(x->arena, p->dir.p) : NULL;
    double now = was ? retime(x->arena, was, p->times) : -1;
    double then = plan ? cli_number_at(plan, "predicted_ms") / 1e3 : -1;
    double gain = now > 0 && then > 0 ? x->drift.step_sec * (1 - then / now) : 0;
    int64_t steps = steps_to_gain(x);
    p->planned_sec = replan_since(&p->begun);
    p->ready = gain * (double)steps > MOVE_GAIN * p->start_sec;
    fprintf(stderr, "hapc: %.*s (noticed in %.1f s): ", HB_ARG(speeds(x)), p->noticed_sec);
    if (now > 0 && then > 0)
        fprintf(stderr,
                "a plan for that takes %.3g of the step's time; %lld steps gain %.1f s, a move "
                "takes %.1f s: %s\n",
                then / now, (long long)steps, gain * (double)steps, p->start_sec,
                p->ready ? "goes on with it behind the next checkpoint" : "stays");
    else
        fprintf(stderr, "there is no plan for that\n");
    if (!p->ready) emit_remove_folder(x->arena, p->dir.p);
    drift_rest(&x->drift);
}

// run_job's `moves`: a host is back, or a better plan is there.
bool replan_moves(void *ctx)
{
    replan *x = ctx;
    ahead *p = &x->ahead;
    question_state s = p->question >= 0 ? question_answer(p->question, false) : QUESTION_OPEN;
    if (s != QUESTION_OPEN) {
        p->question = -1;
        unlink(p->cluster.p);
        judge(x, s == QUESTION_YES);
    }
    return replan_is_back(x) || p->ready;
}

// The run has ended: a plan that is being made goes with it, one that is there is taken or left.
// Returns whether it was taken: as SAVE/plan.
bool replan_take_ahead(replan *x, bool as_it_is)
{
    ahead *p = &x->ahead;
    hb_str why;
    bool ready = p->ready;
    if (p->question >= 0) {
        (void)question_answer(p->question, true);
        unlink(p->cluster.p);
    }
    p->question = -1;
    p->ready = false;
    for (int i = 0; i < x->n && ready; i++)
        x->device[i].slowdown = x->device[i].next;
    if (ready && as_it_is && emit_move_folder(x->arena, p->dir.p, x->plan.p, &why)) return true;
    if (ready && as_it_is) cli_error(CLI_INPUT, "%.*s", HB_ARG(why));
    if (x->rebalances) emit_remove_folder(x->arena, p->dir.p);
    return false;
}
