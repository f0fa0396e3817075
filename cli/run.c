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

static const char help[] =
    "hapc run DIR [options]: builds DIR/program.c (cc, pkg-config haprt) and runs it on the ranks of the plan\n"
    "\n"
    "  --steps N            steps of this run (10)\n"
    "  --input NAME=F.npy   rows of an input, one option an input\n"
    "  --init F             start from a checkpoint (safetensors); --save F, --save-every K write one\n"
    "  --save-grads F       gradients of the last step (plans made with --keep-grads)\n"
    "  --shuffle --seed S   order of the rows; seed of the initial values\n"
    "  --check-nan          end at the first instruction that makes a NaN, and name it (slow)\n"
    "  --trace F            measured timeline (Chrome trace)\n"
    "  --json               one line a step: {\"step\":0,\"loss\":…,\"ms\":…}\n"
    "  --backend B          cpu (default) or cuda: a CUDA device a rank, NCCL\n"
    "  --dry-run            print the command that would start the ranks, and end\n";

// Options that go to the program as they are; those with `value` take one.
static const struct {
    const char *name;
    bool value;
} passed[] = {{"--steps", true}, {"--input", true},      {"--init", true},
              {"--save", true},  {"--save-every", true}, {"--seed", true},
              {"--trace", true}, {"--save-grads", true}, {"--shuffle", false},
              {"--json", false}, {"--check-nan", false}};
static const char *const own[] = {"--backend", "--dry-run", "--help", "-q"};
enum { N_PASSED = sizeof passed / sizeof *passed, N_OWN = sizeof own / sizeof *own };

static int find_passed(const char *arg, size_t len)
{
    for (int i = 0; i < N_PASSED; i++)
        if (strlen(passed[i].name) == len && memcmp(passed[i].name, arg, len) == 0) return i;
    return -1;
}

// Splits argv into the folder, our own options and the program's. 0, or an exit code after an
// error.
static int split(hb_arena *a, int argc, char **argv, run_job *j, const char **dir,
                 const char **backend, bool *dry, bool *help_wanted)
{
    j->arg = HB_ARRAY(a, char *, argc + 1);
    for (int i = 0; i < argc; i++) {
        size_t len = strcspn(argv[i], "=");
        int k = find_passed(argv[i], len);
        if (k >= 0) {
            if (!passed[k].value && argv[i][len])
                return cli_error(CLI_USAGE, "%s takes no value", passed[k].name);
            j->arg[j->n_args++] = argv[i];
            if (!passed[k].value || argv[i][len]) continue;
            if (i + 1 == argc) return cli_error(CLI_USAGE, "%s wants a value", passed[k].name);
            j->arg[j->n_args++] = argv[++i];
        } else if (strcmp(argv[i], "--help") == 0) {
            *help_wanted = true;
        } else if (strcmp(argv[i], "--dry-run") == 0) {
            *dry = true;
        } else if (strcmp(argv[i], "-q") == 0) {
            continue;
        } else if (len == 9 && strncmp(argv[i], "--backend", 9) == 0) {
            if (!argv[i][len] && i + 1 == argc)
                return cli_error(CLI_USAGE, "--backend wants a value");
            *backend = argv[i][len] ? argv[i] + len + 1 : argv[++i];
        } else if (argv[i][0] == '-') {
            const char *names[N_PASSED + N_OWN];
            for (int m = 0; m < N_PASSED; m++)
                names[m] = passed[m].name;
            for (int m = 0; m < N_OWN; m++)
                names[N_PASSED + m] = own[m];
            return cli_unknown(argv[i], names, N_PASSED + N_OWN);
        } else if (*dir) {
            return cli_error(CLI_USAGE, "unexpected argument '%s'", argv[i]);
        } else {
            *dir = argv[i];
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

int cmd_run(int argc, char **argv)
{
    hb_arena *a = hb_arena_new();
    run_job j = {0};
    const char *dir = NULL, *backend = "cpu";
    bool dry = false, help_wanted = false;
    int code = split(a, argc, argv, &j, &dir, &backend, &dry, &help_wanted);
    if (code) goto done;
    if (help_wanted) {
        fputs(help, stdout);
        goto done;
    }
    if (!dir) {
        code = cli_error(CLI_USAGE, "wanted: hapc run DIR (see hapc run --help)");
        goto done;
    }
    bool cuda = strcmp(backend, "cuda") == 0;
    if (!cuda && strcmp(backend, "cpu") != 0) {
        code = cli_error(CLI_USAGE, "--backend is cpu or cuda, not '%s'", backend);
        goto done;
    }
    code = CLI_INPUT;
    const hb_tree *plan = cli_plan(a, dir);
    if (!plan || !read_ranks(a, plan, &j)) goto done;
    hb_str binary;
    if (!cli_build(a, dir, cuda ? "haprt-cuda" : "haprt", &binary, &code)) goto done;
    const hb_tree *precision = hb_get(plan, "precision");
    j.cuda = cuda;
    j.tf32 = precision && precision->kind == HB_TEXT && hb_str_is(precision->s, "tf32");
    char whole[PATH_MAX], folder[PATH_MAX];
    if (!realpath(binary.p, whole) || !realpath(dir, folder)) {
        code = cli_error(CLI_INPUT, "%s: %s", dir, strerror(errno));
        goto done;
    }
    j.binary = hb_str_c(a, whole);
    j.folder = hb_str_c(a, folder);
    const char *tmp = getenv("TMPDIR");
    hb_str beats = hb_fmt(a, "%s/hapc-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    char *name = hb_copy(a, beats.p, beats.n + 1);
    if (!mkdtemp(name)) {
        code = cli_error(CLI_INPUT, "%s: %s", name, strerror(errno));
        goto done;
    }
    j.heartbeat = hb_str_c(a, name);
    char **env, **command = launch_command(a, &j, &env);
    hb_str line = launch_line(a, command, env);
    if (dry) {
        printf("%.*s\n", HB_ARG(line));
        code = CLI_OK;
    } else {
        fprintf(stderr, "%.*s\n", HB_ARG(line));
        code = supervise(a, &j, command, env);
    }
    remove_heartbeats(&j);
done:
    hb_arena_free(a);
    return code;
}
