// hapc run DIR: builds the program once, starts its ranks, watches them.

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/build.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/program_options.h"

static const char help[] =
    "hapc run DIR [options]: builds DIR/program.c (cc, pkg-config haprt) and runs it\n"
    "on the ranks of the plan.\n"
    "\n"
    "  --backend B          cpu or cuda: a CUDA device a rank, NCCL (the plan's)\n"
    "  --dry-run            print the command that would start the ranks, and end\n"
    "\n"
    "The other options are the program's own; one that is started by hand takes them\n"
    "as well.\n";

static const char *const own[] = {"--backend", "--dry-run", "--help", "-q"};
enum { MAX_PASSED = 32, N_OWN = sizeof own / sizeof *own };

typedef struct run_options {
    const char *dir, *backend, *cuda; // backend: NULL the plan's; cuda: the value of --cuda
    bool dry, help;
} run_options;

// Option k of the program, at argv[*i]: to the job as it stands, with its value.
static int pass_on(int argc, char **argv, int *i, int k, run_job *j, run_options *o)
{
    char *arg = argv[*i], *eq = strchr(arg, '='), *value = eq ? eq + 1 : NULL;
    size_t len = strcspn(arg, "=");
    bool wants = program_option_wants_value(k);
    if (!wants && eq) return cli_error(CLI_USAGE, "%.*s takes no value", (int)len, arg);
    j->arg[j->n_args++] = arg;
    if (wants && !eq) {
        if (++*i == argc) return cli_error(CLI_USAGE, "%s wants a value", arg);
        j->arg[j->n_args++] = value = argv[*i];
    }
    if (k == program_option("--cuda", 6)) {
        if (!program_cuda_options(value)) return CLI_USAGE;
        o->cuda = value;
    }
    return 0;
}

// Splits argv into our own options and the program's. 0, or an exit code after an error.
static int split(hb_arena *a, int argc, char **argv, run_job *j, run_options *o)
{
    j->arg = HB_ARRAY(a, char *, argc + 1);
    for (int i = 0; i < argc; i++) {
        size_t len = strcspn(argv[i], "=");
        int k = program_option(argv[i], len), code = 0;
        if (k >= 0) {
            code = pass_on(argc, argv, &i, k, j, o);
            if (code) return code;
        } else if (strcmp(argv[i], "--help") == 0) {
            o->help = true;
        } else if (strcmp(argv[i], "--dry-run") == 0) {
            o->dry = true;
        } else if (strcmp(argv[i], "-q") == 0) {
            continue;
        } else if (len == 9 && strncmp(argv[i], "--backend", 9) == 0) {
            if (!argv[i][len] && i + 1 == argc)
                return cli_error(CLI_USAGE, "--backend wants a value");
            o->backend = argv[i][len] ? argv[i] + len + 1 : argv[++i];
        } else if (argv[i][0] == '-') {
            const char *names[MAX_PASSED + N_OWN];
            int n = program_option_names(names, MAX_PASSED);
            for (int m = 0; m < N_OWN; m++)
                names[n++] = own[m];
            return cli_unknown(argv[i], names, n);
        } else if (o->dir) {
            return cli_error(CLI_USAGE, "unexpected argument '%s'", argv[i]);
        } else {
            o->dir = argv[i];
        }
    }
    return 0;
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
        if (ok) j->rank[r] = (run_rank){device->s, host->s};
    }
    if (!ok) cli_error(CLI_INPUT, "plan.json: its ranks are broken");
    return ok;
}

static void remove_heartbeats(const run_job *j)
{
    char path[4200];
    for (int r = 0; r < j->n_ranks; r++) {
        snprintf(path, sizeof path, "%s/rank.%d", j->heartbeat.p, r);
        unlink(path);
    }
    rmdir(j->heartbeat.p);
}

// Where the ranks' heartbeats go while they run.
static bool make_heartbeats(hb_arena *a, run_job *j)
{
    const char *tmp = getenv("TMPDIR");
    hb_str beats = hb_fmt(a, "%s/hapc-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    char *name = hb_copy(a, beats.p, beats.n + 1);
    if (!mkdtemp(name)) {
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

static int run_plan(hb_arena *a, const run_options *o, run_job *j)
{
    int code = CLI_INPUT;
    const hb_tree *plan = cli_plan(a, o->dir);
    hb_str binary;
    if (!plan || !read_ranks(a, plan, j)) return CLI_INPUT;
    j->cuda = o->backend ? strcmp(o->backend, "cuda") == 0 : j->on_gpus;
    if (o->cuda && !j->cuda) return on_cpus(o);
    if (!cli_build(a, o->dir, j->cuda ? "haprt-cuda" : "haprt", &binary, &code)) {
        if (j->cuda && !o->backend)
            fprintf(stderr, "hint: the plan is for GPUs; --backend cpu runs it on CPU ranks\n");
        return code;
    }
    char whole[PATH_MAX], folder[PATH_MAX];
    if (!realpath(binary.p, whole) || !realpath(o->dir, folder))
        return cli_error(CLI_INPUT, "%s: %s", o->dir, strerror(errno));
    j->binary = hb_str_c(a, whole);
    j->folder = hb_str_c(a, folder);
    if (!make_heartbeats(a, j)) return CLI_INPUT;
    char **env, **command = launch_command(a, j, &env);
    hb_str line = launch_line(a, command, env);
    fprintf(o->dry ? stdout : stderr, "%.*s\n", HB_ARG(line));
    code = o->dry ? CLI_OK : supervise(a, j, command, env);
    remove_heartbeats(j);
    return code;
}

static int run(hb_arena *a, int argc, char **argv)
{
    run_job j = {0};
    run_options o = {0};
    int code = split(a, argc, argv, &j, &o);
    if (code) return code;
    if (o.help) {
        fputs(help, stdout);
        program_options_help(stdout);
        program_cuda_help(stdout);
        return CLI_OK;
    }
    if (!o.dir) return cli_error(CLI_USAGE, "wanted: hapc run DIR (see hapc run --help)");
    if (o.backend && strcmp(o.backend, "cpu") != 0 && strcmp(o.backend, "cuda") != 0)
        return cli_error(CLI_USAGE, "--backend is cpu or cuda, not '%s'", o.backend);
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
