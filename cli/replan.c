#include "cli/replan.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/build.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/drift.h"
#include "cli/hosts.h"
#include "cli/retime.h"
#include "emit/manifest.h"

enum {
    ASK_SECONDS = 5,  // between two questions to a host that was lost
    IN_VAIN = 3,      // failures without a checkpoint between them, after which the job ends
    LOST_FOR_GOOD = 2 // times that a device was lost on a host that answers
};
// Of pace lines: one so many seconds, of so many steps at least, and at most where a run says
// nothing of checkpoints.
enum { PACE_SECONDS = 1, LEAST_PACE = 5, MOST_PACE = 50 };
// A move has to gain so many times what it takes.
static const double MOVE_GAIN = 2;
// Slowdowns that are nearer to what the cluster file says are that.
static const double SAME_SPEED = 0.05;

typedef struct device {
    hb_str host, name;
    bool gone;
    int lost;                    // times, on a host that answered
    double said, slowdown, next; // by the cluster file; in the plan under way; in SAVE/next
} device;

// A plan for the speeds that devices have: made while the job goes on.
typedef struct ahead {
    hb_str dir;            // SAVE/next
    int question;          // -1: nothing is under way
    bool ready;            // it is there, and worth a move
    struct timespec begun; // when it was asked for
    struct timespec calm;  // when no rank was off last
    double start_sec;      // that the ranks took from their start to the first step
    double *times;         // by rank: how many times slower than the plan under way says
    double noticed_sec, planned_sec;
    char **argv;
    hb_str cluster;
} ahead;

struct replan {
    hb_arena *arena;
    const char *dir, *save; // absolute
    hb_str plan;            // SAVE/plan
    const char *now;        // of the two, the plan under way
    hb_source cluster;
    const cl_cluster *whole; // it, read
    hb_str curves;           // absolute; empty: none
    int n;
    device *device;     // of the cluster
    int *of_plan;       // by rank of the plan's cluster, the device
    int64_t saved;      // step of the last checkpoint, -1
    int64_t save_every; // 0: not given
    bool lost, rebalances;
    drift drift;
    ahead ahead;
    const run_job *job;
    int in_vain;
    char **arg; // of the job as it began
    int n_args;
    struct timespec asked; // when hosts were last asked
    int *question;         // by device; -1: none under way
    bool *back;            // by device: its host answers again
};

static double since(const struct timespec *t)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->tv_sec) + 1e-9 * (double)(now.tv_nsec - t->tv_nsec);
}

static char *own(hb_arena *a, hb_str text)
{
    return hb_copy(a, text.p, text.n + 1);
}

// --- checkpoints ---

// The newest step-N of the folder; -1: none.
static int64_t newest(const char *save)
{
    int64_t best = -1;
    DIR *d = opendir(save);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char *end = NULL;
        long long step =
            strncmp(e->d_name, "step-", 5) == 0 ? strtoll(e->d_name + 5, &end, 10) : -1;
        if (end && end > e->d_name + 5 && !*end && step > best) best = step;
    }
    if (d) closedir(d);
    return best;
}

// A file of the checkpoint with metadata: its first one of weights. Empty: none.
static hb_str weights_of(hb_arena *a, hb_str folder)
{
    hb_str found = {0};
    DIR *d = opendir(folder.p);
    for (const struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), m = strlen(".safetensors");
        if (strncmp(e->d_name, "model", 5) != 0 || n < m) continue;
        if (strcmp(e->d_name + n - m, ".safetensors") == 0)
            found = hb_fmt(a, "%.*s/%s", HB_ARG(folder), e->d_name);
    }
    if (d) closedir(d);
    return found;
}

// The step before which the run that wrote the checkpoint was to end (hap.end); -1: not known.
static int64_t end_of(hb_arena *a, const replan *x, int64_t step)
{
    hb_str path = weights_of(a, hb_fmt(a, "%s/step-%" PRId64, x->save, step));
    unsigned char head[8];
    uint64_t bytes = 0;
    FILE *f = path.n > 0 ? fopen(path.p, "rb") : NULL;
    if (!f) return -1;
    bool ok = fread(head, 1, 8, f) == 8;
    for (int i = 7; ok && i >= 0; i--)
        bytes = bytes << 8 | head[i];
    ok = ok && bytes < (1u << 28);
    char *text = ok ? hb_alloc(a, bytes + 1) : NULL;
    ok = ok && fread(text, 1, bytes, f) == bytes;
    fclose(f);
    if (!ok) return -1;
    hb_source src = {path, {text, bytes}};
    const hb_tree *t = hb_json_read(a, &src, hb_diag_new(a));
    hb_str end = cli_text_at(t ? hb_get(t, "__metadata__") : NULL, "hap.end");
    return end.n > 0 ? strtoll(end.p, NULL, 10) : -1;
}

// --- hosts ---

static bool same_host(const replan *x, int i, int k)
{
    return hb_str_eq(x->device[i].host, x->device[k].host);
}

static bool first_of_host(const replan *x, int i)
{
    for (int k = 0; k < i; k++)
        if (same_host(x, i, k)) return false;
    return true;
}

// Marks the devices of hosts that do not answer. Returns how many they are.
static int ask_all(replan *x)
{
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (first_of_host(x, i) && !is_this_machine(x->device[i].host))
            x->question[i] = host_ask(x->arena, x->device[i].host);
    for (int i = 0; i < x->n; i++) {
        if (!first_of_host(x, i) || is_this_machine(x->device[i].host)) continue;
        bool lost = question_answer(x->question[i], true) == QUESTION_NO;
        x->question[i] = -1;
        for (int k = i; k < x->n && lost; k++) {
            if (!same_host(x, i, k)) continue;
            n += !x->device[k].gone;
            x->device[k].gone = true;
        }
    }
    return n;
}

// A device that may be taken in again if its host answers.
static bool may_return(const device *d)
{
    return d->gone && d->lost < LOST_FOR_GOOD;
}

// The devices marked: "2 x V100 of node3, T4".
static hb_str list_of(const replan *x, const bool *mark)
{
    hb_buf b = {.arena = x->arena};
    hb_puts(&b, "");
    for (int i = 0, n; i < x->n; i += n) {
        const device *d = &x->device[i];
        for (n = 1; i + n < x->n && mark[i + n] == mark[i] && same_host(x, i, i + n) &&
                    hb_str_eq(d->name, x->device[i + n].name);)
            n++;
        if (!mark[i]) continue;
        hb_puts(&b, b.n ? ", " : "");
        if (n > 1) hb_printf(&b, "%d x ", n);
        hb_printf(&b, "%.*s%s%.*s", HB_ARG(d->name), d->host.n ? " of " : "", HB_ARG(d->host));
    }
    return hb_done(&b);
}

// The devices of device i's host that were lost may be taken in again, at the next checkpoint.
static void host_is_back(replan *x, int i)
{
    bool *back = HB_ARRAY(x->arena, bool, x->n);
    for (int k = i; k < x->n; k++)
        if (same_host(x, i, k) && may_return(&x->device[k]) && !x->back[k])
            x->back[k] = back[k] = true;
    hb_str list = list_of(x, back);
    if (list.n) fprintf(stderr, "hapc: back: %.*s\n", HB_ARG(list));
}

static bool any_back(const replan *x)
{
    for (int i = 0; i < x->n; i++)
        if (x->back[i]) return true;
    return false;
}

// Some host that was lost answers again.
static bool is_back(replan *x)
{
    bool again = since(&x->asked) > ASK_SECONDS;
    if (again) clock_gettime(CLOCK_MONOTONIC, &x->asked);
    for (int i = 0; i < x->n; i++) {
        bool wanted = false;
        for (int k = i; k < x->n && first_of_host(x, i); k++)
            wanted = wanted || (same_host(x, i, k) && may_return(&x->device[k]) && !x->back[k]);
        if (!wanted) continue;
        if (is_this_machine(x->device[i].host)) {
            host_is_back(x, i);
        } else if (x->question[i] >= 0) {
            question_state s = question_answer(x->question[i], false);
            if (s != QUESTION_OPEN) x->question[i] = -1;
            if (s == QUESTION_YES) host_is_back(x, i);
        } else if (again) {
            x->question[i] = host_ask(x->arena, x->device[i].host);
        }
    }
    return any_back(x);
}

static void take_back(replan *x)
{
    for (int i = 0; i < x->n; i++)
        x->device[i].gone = x->device[i].gone && !x->back[i];
}

// By device of the cluster. *left: how many are not.
static bool *gone_of(const replan *x, int *left)
{
    bool *gone = HB_ARRAY(x->arena, bool, x->n);
    *left = x->n;
    for (int i = 0; i < x->n; i++) {
        gone[i] = x->device[i].gone;
        *left -= gone[i];
    }
    return gone;
}

// --- the plan ---

static bool has_text(const char *const *list, const char *text, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncmp(*list, text, n) == 0) return true;
    return false;
}

// What was asked of the planner, without its files and what it was to print. NULL after an error.
static char **asked_of(hb_arena *a, const char *dir, int *n)
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
        bool goes = !has_text(other, word[i], len), two = cli_row_at(row)->value && !eq;
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
static bool as_said(const replan *x)
{
    for (int i = 0; i < x->n; i++)
        if (x->device[i].slowdown != x->device[i].said) return false;
    return true;
}

// The cluster without what is gone, of devices so much slower, in a file of its own. Empty after an
// error was printed.
static hb_str left_cluster(replan *x, const double *slowdown, const char *name)
{
    int left;
    hb_diag *d = hb_diag_new(x->arena);
    hb_str text =
        cl_left(x->arena, &x->cluster, x->whole, gone_of(x, &left), slowdown, x->curves, d);
    hb_diag_print(d, stderr);
    hb_str path = hb_fmt(x->arena, "%s/.%s-%ld.yaml", x->save, name, (long)getpid());
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
    char **asked = asked_of(a, x->dir, &n), self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!asked || len <= 0 || cluster.n == 0) return NULL;
    self[len] = 0;
    const char *first[] = {self, hb_fmt(a, "%s/graph.json", x->dir).p, cluster.p, "-q", "-o",
                           dir.p};
    char **argv = HB_ARRAY(a, char *, n + 8);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        argv[n_argv++] = own(a, (hb_str){first[i], strlen(first[i])});
    for (int i = 0; i < n; i++)
        argv[n_argv++] = asked[i];
    return argv;
}

static bool plan_again(replan *x)
{
    double *slowdown = HB_ARRAY(x->arena, double, x->n);
    for (int i = 0; i < x->n; i++)
        slowdown[i] = x->device[i].slowdown;
    hb_str cluster = left_cluster(x, as_said(x) ? NULL : slowdown, "left"), out;
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
static void number(replan *x, bool whole)
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
    p->noticed_sec = since(&p->calm);
    clock_gettime(CLOCK_MONOTONIC, &p->begun);
    p->cluster = left_cluster(x, slowdown, "next");
    p->argv = planner(x, p->cluster, p->dir);
    p->question = p->argv ? question_ask(make_ahead, x) : -1;
    if (p->question < 0) drift_rest(&x->drift);
}

// run_job's `heard`.
static void hear(void *ctx, const char *line, double start_sec)
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
        hb_printf(&b, "%s%.*s takes %.3g times%s", b.n ? ", " : "", HB_ARG(list_of(x, mark)), times,
                  b.n ? "" : " as long as planned");
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
    p->planned_sec = since(&p->begun);
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
static bool moves(void *ctx)
{
    replan *x = ctx;
    ahead *p = &x->ahead;
    question_state s = p->question >= 0 ? question_answer(p->question, false) : QUESTION_OPEN;
    if (s != QUESTION_OPEN) {
        p->question = -1;
        unlink(p->cluster.p);
        judge(x, s == QUESTION_YES);
    }
    return is_back(x) || p->ready;
}

// The run has ended: a plan that is being made goes with it, one that is there is taken or left.
// Returns whether it was taken: as SAVE/plan.
static bool take_ahead(replan *x, bool as_it_is)
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

// --- what the job goes on with ---

// The arguments of the program, from the checkpoint of `step` on. False where nothing is left to
// do.
static bool go_on_from(replan *x, run_job *job, int64_t step)
{
    static const char *const with_value[] = {"--init", "--steps", NULL}, *const alone[] = {
                                                                             "--fresh", NULL};
    hb_arena *a = x->arena;
    int64_t end = end_of(a, x, step);
    bool epochs = false;
    int n = 0;
    char **arg = HB_ARRAY(a, char *, x->n_args + 5);
    if (end >= 0 && step >= end) return false;
    for (int i = 0; i < x->n_args; i++) {
        size_t len = strcspn(x->arg[i], "=");
        if (has_text(alone, x->arg[i], len)) continue;
        if (has_text(with_value, x->arg[i], len)) {
            i += x->arg[i][len] != '=';
            continue;
        }
        epochs = epochs || (len == 8 && strncmp(x->arg[i], "--epochs", len) == 0);
        arg[n++] = x->arg[i];
    }
    arg[n++] = own(a, hb_fmt(a, "--init=%s/step-%" PRId64, x->save, step));
    if (!epochs && end >= 0) arg[n++] = own(a, hb_fmt(a, "--steps=%" PRId64, end - step));
    job->arg = arg;
    job->n_args = n;
    return true;
}

// Marks what is lost; says whether the job may go on.
static bool lose(replan *x, const run_job *job, const run_outcome *out)
{
    int n = ask_all(x), left;
    if (n == 0 && out->rank >= 0) { // all answer: it is the device
        device *d = &x->device[x->of_plan[job->rank[out->rank].of_cluster]];
        d->gone = true;
        d->lost++;
    }
    (void)gone_of(x, &left);
    if (left > 0) return true;
    cli_error(CLI_FAILED, "no device is left");
    return false;
}

static void say_what_follows(const replan *x, const run_outcome *out, bool taken,
                             double planned_sec)
{
    int left;
    hb_str gone = list_of(x, gone_of(x, &left));
    fprintf(stderr, "hapc: goes on%s%.*s on %d device%s: ", gone.n ? " without " : "", HB_ARG(gone),
            left, left == 1 ? "" : "s");
    if (out->lost)
        fprintf(stderr, "noticed in %.1f s, ended in %.1f s, ", out->noticed_sec, out->ended_sec);
    if (taken) fprintf(stderr, "noticed in %.1f s, ", x->ahead.noticed_sec);
    fprintf(stderr, "planned in %.1f s\n", planned_sec);
}

bool replan_next(replan *x, run_job *job, const run_outcome *out, int *code)
{
    struct timespec begin;
    int64_t saved = newest(x->save);
    bool progress = saved > x->saved;
    bool back = out->moved && any_back(x), taken = take_ahead(x, out->moved && !back);
    if (!out->lost && !out->moved) return false;
    if (out->lost && (!x->lost || !lose(x, job, out))) return false;
    if (back) take_back(x);
    x->in_vain = progress || out->moved ? 0 : x->in_vain + 1;
    if (x->in_vain == IN_VAIN) {
        cli_error(CLI_FAILED, "lost ranks %d times without a checkpoint between", IN_VAIN);
        return false;
    }
    x->saved = saved;
    if (progress && !go_on_from(x, job, saved)) {
        *code = CLI_OK;
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int left;
    bool some = (gone_of(x, &left), left < x->n) || !as_said(x);
    if (some && !taken && !plan_again(x)) {
        *code = cli_signals > 0 ? CLI_INTERRUPTED : CLI_FAILED;
        return false;
    }
    number(x, !some);
    x->now = some ? x->plan.p : x->dir;
    for (int i = 0; i < x->n; i++)
        x->back[i] = false;
    job->resumed = true;
    say_what_follows(x, out, taken, taken ? x->ahead.planned_sec : some ? since(&begin) : 0);
    return true;
}

const char *replan_dir(const replan *x)
{
    return x->now;
}

// --- before the run ---

static bool read_devices(replan *x)
{
    hb_diag *d = hb_diag_new(x->arena);
    cl_cluster *c = cl_read_source(x->arena, &x->cluster, cli_devices(x->arena), d);
    hb_diag_print(d, stderr);
    if (!c) return false;
    x->whole = c;
    x->n = c->n_ranks;
    x->device = HB_ARRAY(x->arena, device, x->n);
    x->of_plan = HB_ARRAY(x->arena, int, x->n);
    x->question = HB_ARRAY(x->arena, int, x->n);
    x->back = HB_ARRAY(x->arena, bool, x->n);
    for (int i = 0; i < x->n; i++) {
        x->device[i].name = c->cls[c->class_of[i]].name;
        x->device[i].host = c->machine[c->machine_of[i]].host;
        x->device[i].said = x->device[i].slowdown = cost_slowdown(&c->cls[c->class_of[i]]);
        x->question[i] = -1;
    }
    number(x, true);
    return true;
}

// The value of an option of the program; NULL: it is not given.
static const char *value_of(const replan *x, const char *option)
{
    size_t n = strlen(option);
    const char *value = NULL;
    for (int i = 0; i < x->n_args; i++) {
        if (strncmp(x->arg[i], option, n) != 0) continue;
        if (x->arg[i][n] == '=') value = x->arg[i] + n + 1;
        if (!x->arg[i][n] && i + 1 < x->n_args) value = x->arg[i + 1];
    }
    return value;
}

// Steps between two lines of the ranks' pace: moves wait for a checkpoint, so no more than between
// two of these.
static int64_t pace_of(const replan *x, const run_job *job)
{
    double steps = job->step_sec > 0 ? ceil(PACE_SECONDS / job->step_sec) : LEAST_PACE;
    int64_t most = x->save_every > LEAST_PACE ? x->save_every
                   : x->save_every > 0        ? LEAST_PACE
                                              : MOST_PACE;
    return steps > (double)most ? most : steps < LEAST_PACE ? LEAST_PACE : (int64_t)steps;
}

int replan_begin(replan *x, run_job *job)
{
    const hb_tree *plan = x->rebalances ? cli_plan(x->arena, x->now) : NULL;
    x->job = job;
    if (!x->rebalances) return CLI_GO;
    if (!plan) return CLI_INPUT;
    if (job->cuda || hb_get(plan, "stages"))
        return cli_error(CLI_INPUT, "not supported: --rebalance of %s",
                         job->cuda ? "ranks on GPUs: what each computes is timed on CPUs alone"
                                   : "stages");
    double *planned = HB_ARRAY(x->arena, double, job->n_ranks);
    for (int r = 0; r < job->n_ranks; r++)
        planned[r] = job->rank[r].own_sec;
    drift_begin(&x->drift, x->arena, job->n_ranks, planned);
    x->ahead.times = HB_ARRAY(x->arena, double, job->n_ranks);
    clock_gettime(CLOCK_MONOTONIC, &x->ahead.calm);
    job->pace = pace_of(x, job);
    return CLI_GO;
}

replan *replan_new(hb_arena *a, const char *dir, const char *save, bool lost, bool rebalances,
                   run_job *job)
{
    replan *x = HB_NEW(a, replan);
    char folder[PATH_MAX], saves[PATH_MAX];
    const char *why = NULL;
    int n;
    if ((mkdir(save, 0777) != 0 && errno != EEXIST) || !realpath(save, saves)) {
        cli_error(CLI_INPUT, "%s: %s", save, strerror(errno));
        return NULL;
    }
    if (!realpath(dir, folder)) return NULL;
    x->arena = a;
    x->dir = hb_str_c(a, folder).p;
    x->save = hb_str_c(a, saves).p;
    x->plan = hb_fmt(a, "%s/plan", x->save);
    x->now = x->dir;
    x->cluster.name = hb_fmt(a, "%s/cluster.yaml", x->dir);
    if (!hb_read_file(a, x->cluster.name.p, &x->cluster.text, &why)) {
        cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(x->cluster.name), why);
        return NULL;
    }
    hb_str curves = manifest_curves(a, x->dir);
    if (curves.n > 0) x->curves = hb_fmt(a, "%s/%.*s", x->dir, HB_ARG(curves));
    if (!asked_of(a, x->dir, &n) || !read_devices(x)) return NULL;
    x->saved = newest(x->save);
    x->arg = job->arg;
    x->n_args = job->n_args;
    const char *every = value_of(x, "--save-every");
    x->save_every = every ? strtoll(every, NULL, 10) : 0;
    x->lost = lost;
    x->rebalances = rebalances;
    x->ahead = (ahead){.dir = hb_fmt(a, "%s/next", x->save), .question = -1};
    job->moves = moves;
    job->heard = hear;
    job->moves_ctx = x;
    return x;
}
