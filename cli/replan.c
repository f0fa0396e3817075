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
#include <unistd.h>

#include "cli/build.h"
#include "cli/cli.h"
#include "cli/replan_state.h"
#include "emit/manifest.h"

enum { IN_VAIN = 3 }; // failures without a checkpoint between them, after which the job ends
// Of pace lines: one so many seconds, of so many steps at least, and at most where a run says
// nothing of checkpoints.
enum { PACE_SECONDS = 1, LEAST_PACE = 5, MOST_PACE = 50 };

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
        if (replan_is_in(alone, x->arg[i], len)) continue;
        if (replan_is_in(with_value, x->arg[i], len)) {
            i += x->arg[i][len] != '=';
            continue;
        }
        epochs = epochs || (len == 8 && strncmp(x->arg[i], "--epochs", len) == 0);
        arg[n++] = x->arg[i];
    }
    arg[n++] = replan_copy(a, hb_fmt(a, "--init=%s/step-%" PRId64, x->save, step));
    if (!epochs && end >= 0) arg[n++] = replan_copy(a, hb_fmt(a, "--steps=%" PRId64, end - step));
    job->arg = arg;
    job->n_args = n;
    return true;
}

// Marks what is lost; says whether the job may go on.
static bool lose(replan *x, const run_job *job, const run_outcome *out)
{
    int n = replan_ask_all(x), left;
    if (n == 0 && out->rank >= 0) { // all answer: it is the device
        device *d = &x->device[x->of_plan[job->rank[out->rank].of_cluster]];
        d->gone = true;
        d->lost++;
    }
    (void)replan_gone_of(x, &left);
    if (left > 0) return true;
    cli_error(CLI_FAILED, "no device is left");
    return false;
}

static void say_what_follows(const replan *x, const run_outcome *out, bool taken,
                             double planned_sec)
{
    int left;
    hb_str gone = replan_list_of(x, replan_gone_of(x, &left));
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
    bool back = out->moved && replan_any_back(x), taken = replan_take_ahead(x, out->moved && !back);
    if (!out->lost && !out->moved) return false;
    if (out->lost && (!x->lost || !lose(x, job, out))) return false;
    if (back) replan_take_back(x);
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
    bool some = (replan_gone_of(x, &left), left < x->n) || !replan_as_said(x);
    if (some && !taken && !replan_plan_again(x)) {
        *code = cli_signals > 0 ? CLI_INTERRUPTED : CLI_FAILED;
        return false;
    }
    replan_number_devices(x, !some);
    x->now = some ? x->plan.p : x->dir;
    for (int i = 0; i < x->n; i++)
        x->back[i] = false;
    job->resumed = true;
    say_what_follows(x, out, taken, taken ? x->ahead.planned_sec : some ? replan_since(&begin) : 0);
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
    replan_number_devices(x, true);
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
    if (!replan_asked(a, x->dir, &n) || !read_devices(x)) return NULL;
    replan_sweep(x);
    x->saved = newest(x->save);
    x->arg = job->arg;
    x->n_args = job->n_args;
    const char *every = value_of(x, "--save-every");
    x->save_every = every ? strtoll(every, NULL, 10) : 0;
    x->lost = lost;
    x->rebalances = rebalances;
    x->ahead = (ahead){.dir = hb_fmt(a, "%s/next", x->save), .question = -1};
    job->moves = replan_moves;
    job->heard = replan_hear;
    job->moves_ctx = x;
    return x;
}
