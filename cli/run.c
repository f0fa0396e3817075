// hapc run DIR: builds the program once, starts its ranks, watches them.

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/architectures.h"
#include "cli/build.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/recorder.h"
#include "cli/replan.h"
#include "emit/manifest.h"

typedef struct run_options {
    const char *dir, *backend, *cuda; // backend: NULL the plan's; cuda: the value of --cuda
    const char *on_failure, *save;    // NULL: not given
    bool dry, verbose, unproved, rebalance;
} run_options;

// Predicted seconds of a step that are a rank's own work.
static double own_sec(const hb_tree *plan, const hb_tree *rank)
{
    const hb_tree *classes = cli_list_at(plan, "classes");
    int64_t c = cli_plan_int(rank, "class", -1);
    double ms = c >= 0 && c < classes->n ? cli_number_at(classes->v[c], "compute_ms") : 0;
    return ms > 0 ? ms / 1e3 : 0;
}

// Ranks of the mesh with their devices, from plan.json.
static bool read_ranks(hb_arena *a, const hb_tree *plan, run_job *j)
{
    const hb_tree *list = hb_get(plan, "ranks"), *ms = hb_get(plan, "predicted_ms");
    const hb_tree *peak = hb_get(plan, "peak_ms");
    j->peak_sec = peak && (peak->kind == HB_REAL || peak->kind == HB_INT) ? peak->f / 1e3 : 0;
    j->n_ranks = (int)cli_plan_int(plan, "n_ranks", 0);
    const hb_tree *backend = hb_get(plan, "backend");
    j->on_gpus = backend && backend->kind == HB_TEXT && hb_str_is(backend->s, "cuda");
    j->step_sec = ms && (ms->kind == HB_REAL || ms->kind == HB_INT) ? ms->f / 1e3 : 0;
    bool ok = j->n_ranks > 0 && list && list->kind == HB_LIST && list->n >= j->n_ranks;
    if (ok) j->rank = HB_ARRAY(a, run_rank, j->n_ranks);
    for (int i = 0; ok && i < list->n; i++) {
        int64_t r = cli_plan_int(list->v[i], "rank", -1);
        const hb_tree *device = hb_get(list->v[i], "device"), *host = hb_get(list->v[i], "host");
        if (r < 0) continue; // dropped
        ok = r < j->n_ranks && device && device->kind == HB_TEXT && host && host->kind == HB_TEXT;
        if (ok) j->rank[r] = (run_rank){device->s, host->s, i, own_sec(plan, list->v[i])};
    }
    if (!ok) cli_error(CLI_INPUT, "plan.json: its ranks are broken");
    return ok;
}

// A heartbeat folder: files rank.N, and who made it, which process on which host.
#define BEATS_OWNER "hapc"

static void remove_heartbeats(const char *folder)
{
    char path[4200];
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, "rank.", 5) != 0 && strcmp(e->d_name, BEATS_OWNER) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
}

static hb_str owner_of_beats(hb_arena *a, long pid)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    return hb_fmt(a, "%ld %s\n", pid, host);
}

// Removes those whose hapc was killed on this host.
static void sweep_heartbeats(hb_arena *a, const char *tmp)
{
    DIR *d = opendir(tmp);
    for (const struct dirent *e; d && (e = readdir(d));) {
        hb_str folder = hb_fmt(a, "%s/%s", tmp, e->d_name), text;
        const char *why = NULL;
        if (strncmp(e->d_name, "hapc-", 5) != 0 || strlen(e->d_name) != 11 ||
            !hb_read_file(a, hb_fmt(a, "%.*s/" BEATS_OWNER, HB_ARG(folder)).p, &text, &why))
            continue;
        long pid = strtol(text.p, NULL, 10);
        char state = pid > 0 ? process_state(pid, NULL) : 'R';
        if ((state == 0 || state == 'Z' || state == 'X') && hb_str_eq(text, owner_of_beats(a, pid)))
            remove_heartbeats(folder.p);
    }
    if (d) closedir(d);
}

// Where the ranks' heartbeats go while they run.
static bool make_heartbeats(hb_arena *a, run_job *j)
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !tmp[0]) tmp = "/tmp";
    sweep_heartbeats(a, tmp);
    hb_str beats = hb_fmt(a, "%s/hapc-XXXXXX", tmp);
    char *name = hb_copy(a, beats.p, beats.n + 1);
    if (!mkdtemp(name) ||
        !hb_write_file(hb_fmt(a, "%s/" BEATS_OWNER, name).p, owner_of_beats(a, (long)getpid()))) {
        cli_error(CLI_INPUT, "%s: %s", name, strerror(errno));
        return false;
    }
    j->heartbeat = hb_str_c(a, name);
    return true;
}

static int on_cpus(const run_options *o)
{
    return cli_error(CLI_USAGE, "--cuda %s: this run is on CPUs; --backend cuda is wanted",
                     o->cuda);
}

// Is the folder as it was proved? What was changed since is run with --unproved alone.
static bool as_proved(hb_arena *a, const run_options *o, const char *dir)
{
    manifest_changes c = manifest_compare(a, dir);
    hb_str what = manifest_text(a, &c, MANIFEST_CHECKED);
    if (what.n == 0) return true;
    if (o->unproved) {
        cli_note("note: not proved: %.*s", HB_ARG(what));
        return true;
    }
    cli_error(CLI_INPUT, "%s is not what was proved: %.*s%s", dir, HB_ARG(what),
              c.there ? "" : "; there is no " MANIFEST_NAME);
    cli_note(
        "hint: `hapc check --accept %s` proves it as it is and takes it in; --unproved runs it "
        "without",
        dir);
    return false;
}

// What a step calls, as program.c says: a number a stage. Empty if it is not in the language of
// emitted programs, which --unproved may run.
static hb_str calls_of(hb_arena *a, const char *dir, const hb_tree *plan)
{
    const hb_tree *stages = hb_get(plan, "stages");
    int n = stages && stages->kind == HB_LIST ? stages->n : 1;
    hb_buf b = {.arena = a};
    for (int s = 0; s < n; s++) {
        hb_str sum;
        if (cli_recorder(a, dir, s, NULL, &sum) != 0 || sum.n != 17) return (hb_str){0};
        hb_printf(&b, "%s%.16s", s ? "," : "", sum.p);
    }
    return hb_done(&b);
}

// False, said: a GPU of the plan has no code by this build.
static bool can_build(hb_arena *a, const hb_tree *plan)
{
    const hb_tree *classes = hb_get(plan, "classes");
    hb_str built = cli_architectures(a);
    for (int c = 0; classes && classes->kind == HB_LIST && c < classes->n; c++) {
        const hb_tree *only = hb_get(classes->v[c], "plan_only");
        const hb_tree *name = hb_get(classes->v[c], "name");
        if (!name || name->kind != HB_TEXT) continue;
        int arch = (int)cli_plan_int(classes->v[c], "arch", 0);
        if (only && only->kind == HB_BOOL && only->b)
            cli_error(CLI_INPUT, "not supported: %.*s: CUDA 13 builds for sm_%d and newer",
                      HB_ARG(name->s), CL_OLDEST_ARCH);
        else if (!cli_has_code(built, arch))
            cli_error(CLI_INPUT, "%.*s: %.*s", HB_ARG(name->s),
                      HB_ARG(cli_no_code(a, built, arch)));
        else
            continue;
        fprintf(stderr, "hint: --backend cpu runs the plan on CPU ranks\n");
        return false;
    }
    return true;
}

// All that is to be known of the plan in `dir`, and its program, built. CLI_GO, or an exit code.
static int prepare(hb_arena *a, const run_options *o, const char *dir, run_job *j)
{
    int code = CLI_INPUT;
    const hb_tree *plan = cli_plan(a, dir);
    hb_str binary;
    if (!plan || !as_proved(a, o, dir) || !read_ranks(a, plan, j)) return CLI_INPUT;
    j->cuda = o->backend ? strcmp(o->backend, "cuda") == 0 : j->on_gpus;
    if (o->cuda && !j->cuda) return on_cpus(o);
    if (j->cuda && !can_build(a, plan)) return CLI_INPUT;
    if (!cli_build(a, dir, j->cuda ? "haprt-cuda" : "haprt", &binary, &code)) {
        if (j->cuda && !o->backend)
            fprintf(stderr, "hint: the plan is for GPUs; --backend cpu runs it on CPU ranks\n");
        return code;
    }
    char whole[PATH_MAX], folder[PATH_MAX];
    if (!realpath(binary.p, whole) || !realpath(dir, folder))
        return cli_error(CLI_INPUT, "%s: %s", dir, strerror(errno));
    j->binary = hb_str_c(a, whole);
    j->folder = hb_str_c(a, folder);
    j->calls = calls_of(a, dir, plan);
    return CLI_GO;
}

// Starts the ranks and looks after them until they have ended.
static int run_ranks(hb_arena *a, const run_options *o, run_job *j, run_outcome *out)
{
    if (!make_heartbeats(a, j)) return CLI_INPUT;
    char **env, **command = launch_command(a, j, &env);
    hb_str line = launch_line(a, command, env);
    if (o->dry || o->verbose) fprintf(o->dry ? stdout : stderr, "%.*s\n", HB_ARG(line));
    int code = o->dry ? CLI_OK : supervise(a, j, command, env, out);
    remove_heartbeats(j->heartbeat.p);
    return code;
}

static int run_plan(hb_arena *a, const run_options *o, run_job *j)
{
    run_outcome out = {0};
    int code = prepare(a, o, o->dir, j);
    if (code != CLI_GO) return code;
    bool goes_on = o->on_failure || o->rebalance;
    replan *x =
        goes_on ? replan_new(a, o->dir, o->save, o->on_failure != NULL, o->rebalance, j) : NULL;
    if (goes_on && !x) return CLI_INPUT;
    for (;;) {
        if (x && (code = replan_begin(x, j)) != CLI_GO) return code;
        code = run_ranks(a, o, j, &out);
        if (!x || !replan_next(x, j, &out, &code)) return code;
        code = prepare(a, o, replan_dir(x), j);
        if (code != CLI_GO) return cli_signals > 0 ? CLI_INTERRUPTED : code;
    }
}

// What --on-failure replan and --rebalance want: checkpoints to go on from, and a plan that is what
// the graph says.
static int check_replan(run_options *o)
{
    size_t n = o->save ? strlen(o->save) : 0, m = strlen(".safetensors");
    if (o->on_failure && strcmp(o->on_failure, "end") == 0) o->on_failure = NULL;
    if (!o->on_failure && !o->rebalance) return CLI_GO;
    const char *what = o->on_failure ? "--on-failure replan" : "--rebalance";
    if (!o->save || (n > m && strcmp(o->save + n - m, ".safetensors") == 0))
        return cli_error(
            CLI_USAGE, "%s wants --save FOLDER, where its checkpoints are, and --save-every", what);
    if (o->unproved)
        return cli_error(CLI_USAGE,
                         "%s with --unproved: a new plan would do what graph.json says, not what "
                         "was edited",
                         what);
    return CLI_GO;
}

static int run(hb_arena *a, int argc, char **argv)
{
    run_job j = {.arg = HB_ARRAY(a, char *, argc + 1)};
    run_options o = {0};
    const cli_option options[] = {
        {"--backend", &o.backend, NULL},    {"--dry-run", NULL, &o.dry},
        {"--unproved", NULL, &o.unproved},  {"--on-failure", &o.on_failure, NULL},
        {"--save", &o.save, NULL},          {"--cuda", &o.cuda, NULL},
        {"--rebalance", NULL, &o.rebalance}};
    cli_line line = {.least = 1, .most = 1, .rest = &o.dir, .passed = j.arg};
    int code = cli_parse("run", argc, argv, options, sizeof options / sizeof *options, &line);
    if (code != CLI_GO) return code;
    j.n_args = line.n_passed;
    for (int i = 0; i < j.n_args; i++)
        o.verbose = o.verbose || strcmp(j.arg[i], "-v") == 0;
    if (o.cuda && !cli_cuda_options(o.cuda)) return CLI_USAGE;
    code = check_replan(&o);
    if (code != CLI_GO) return code;
    if (o.cuda && o.backend && strcmp(o.backend, "cuda") != 0) return on_cpus(&o);
    return run_plan(a, &o, &j);
}

int cmd_run(int argc, char **argv)
{
    hb_arena *a = hb_arena_new();
    int code = run(a, argc, argv);
    hb_arena_free(a);
    return code;
}
