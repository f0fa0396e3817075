// Reading what a command works on: graph, cluster, plan folder.

#include "cli/cli.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/factors.h"

const char *cli_version(void)
{
    return HAP_VERSION;
}

const char *cli_self_dir(hb_arena *a)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return ".";
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    return hb_str_c(a, path).p;
}

const char *cli_devices(hb_arena *a)
{
    const char *data = getenv("HAPC_DATA");
    hb_str path = data && data[0]
                      ? hb_fmt(a, "%s/clusters/devices.yaml", data)
                      : hb_fmt(a, "%s/%s/clusters/devices.yaml", cli_self_dir(a), HAP_REL_DATA);
    return access(path.p, R_OK) == 0 ? path.p : NULL;
}

// Names of the samples beside the catalogue, with room for max.
static int samples(hb_arena *a, const char *folder, const char **names, int max)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && n < max && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len <= 5 || strcmp(e->d_name + len - 5, ".yaml") != 0) continue;
        hb_str name = hb_str_n(a, e->d_name, len - 5);
        if (!hb_str_is(name, "devices")) names[n++] = name.p;
    }
    if (d) closedir(d);
    return n;
}

const char *cli_cluster_file(hb_arena *a, const char *name)
{
    enum { MAX_SAMPLES = 256 };
    const char *catalogue = cli_devices(a), *names[MAX_SAMPLES];
    if (access(name, F_OK) == 0 || !catalogue) return name;
    hb_str folder = hb_str_n(a, catalogue, strlen(catalogue) - strlen("/devices.yaml"));
    if (strpbrk(name, "./")) {
        hb_str sample = hb_fmt(a, "%.*s/%s", HB_ARG(folder), name);
        size_t n = strlen(name);
        bool yaml = n > 5 && strcmp(name + n - 5, ".yaml") == 0;
        if (!yaml || strchr(name, '/') || access(sample.p, R_OK) != 0) return name;
        cli_error(CLI_INPUT, "there is no file '%s' here", name);
        cli_note("hint: the sample is called %.*s", (int)n - 5, name);
        return NULL;
    }
    hb_str path = hb_fmt(a, "%.*s/%s.yaml", HB_ARG(folder), name);
    if (strcmp(name, "devices") != 0 && access(path.p, R_OK) == 0) return path.p;
    int n = samples(a, folder.p, names, MAX_SAMPLES);
    const char *near = hb_nearest((hb_str){name, strlen(name)}, names, n);
    cli_error(CLI_INPUT, "'%s' is no file and none of the samples in %.*s", name, HB_ARG(folder));
    if (near) fprintf(stderr, "hint: did you mean '%s'?\n", near);
    return NULL;
}

static bool failed(const hb_diag *d)
{
    if (hb_diag_count(d) == 0) return false;
    fflush(stdout);
    hb_diag_print(d, stderr);
    return true;
}

// What dense ops compute in.
static cost_math math_of(ir_precision p)
{
    return p == IR_PRECISION_BF16 ? COST_BF16 : p == IR_PRECISION_TF32 ? COST_TF32 : COST_F32;
}

bool cli_load(hb_arena *a, const char *graph, const char *cluster, const ir_options *o,
              cli_inputs *out)
{
    return cli_load_changed(a, graph, cluster, NULL, 0, o, out);
}

bool cli_load_changed(hb_arena *a, const char *graph, const char *cluster, const hb_str *change,
                      int n_changes, const ir_options *o, cli_inputs *out)
{
    hb_diag *d = hb_diag_new(a);
    out->g = graph ? ir_build(a, graph, o, d) : NULL;
    bool bad = graph && !out->g;
    if (cluster) {
        out->cluster = cl_read_changed(a, cluster, cli_devices(a), change, n_changes, d);
        bad = bad || !out->cluster;
        out->model = (cost_model){.cluster = out->cluster, .math = math_of(o->precision)};
        if (out->cluster && out->cluster->curves.n > 0) {
            out->model.curves = cost_curves_read(a, out->cluster->curves.p, d);
            bad = bad || !out->model.curves;
            if (out->model.curves) cost_apply_curves(out->model.curves, out->cluster);
        }
    }
    if (failed(d) || bad) return false;
    return true;
}

hb_tree *cli_plan(hb_arena *a, const char *dir)
{
    hb_str path = hb_fmt(a, "%s/plan.json", dir), text;
    const char *why = NULL;
    if (!hb_read_file(a, path.p, &text, &why)) {
        cli_error(CLI_INPUT, "%s is no plan folder: %.*s: %s", dir, HB_ARG(path), why);
        return NULL;
    }
    hb_diag *d = hb_diag_new(a);
    hb_source src = {path, text};
    hb_tree *t = hb_json_read(a, &src, d);
    if (failed(d) || !t) return NULL;
    hb_tree *format = hb_get(t, "format");
    if (!format || format->kind != HB_TEXT || !hb_str_is(format->s, "hap.plan")) {
        cli_error(CLI_INPUT, "%.*s: not a plan of hapc", HB_ARG(path));
        return NULL;
    }
    return t;
}

bool cli_pins(hb_arena *a, const cli_inputs *in, const hb_str *text, int n, const syn_pins **out)
{
    hb_diag *d = hb_diag_new(a);
    *out = n > 0 ? syn_pins_read(a, in->g, ir_factorize(a, in->g), text, n, d) : NULL;
    return !failed(d);
}

bool cli_plan_pins(hb_arena *a, const cli_inputs *in, const hb_tree *plan, const syn_pins **out)
{
    const hb_tree *list = hb_get(plan, "pins");
    int n = list && list->kind == HB_LIST ? list->n : 0;
    hb_str *text = HB_ARRAY(a, hb_str, n + 1);
    for (int i = 0; i < n; i++) {
        if (list->v[i]->kind != HB_TEXT) {
            cli_error(CLI_INPUT, "plan.json: pins are texts");
            return false;
        }
        text[i] = list->v[i]->s;
    }
    return cli_pins(a, in, text, n, out);
}

// Blocks of plan.json as an option names them, NULL: none. False where they are no list of numbers.
static bool blocks_of_plan(hb_arena *a, const hb_tree *plan, const char **blocks)
{
    const hb_tree *list = hb_get(plan, "recomputed");
    hb_buf b = {.arena = a};
    bool good = !list || list->kind == HB_LIST;
    for (int i = 0; good && list && i < list->n; i++) {
        good = list->v[i]->kind == HB_INT;
        hb_printf(&b, "%s%lld-%lld", i ? "," : "", (long long)list->v[i]->i,
                  (long long)list->v[i]->i);
    }
    *blocks = b.n > 0 ? hb_done(&b).p : NULL;
    return good;
}

bool cli_plan_options(hb_arena *a, const hb_tree *plan, ir_options *o)
{
    const hb_tree *p = hb_get(plan, "precision"), *g = hb_get(plan, "grad_dtype");
    const hb_tree *keep = hb_get(plan, "keep_grads"), *room = hb_get(plan, "expert_room");
    *o = (ir_options){.only_trained = !keep || !keep->b,
                      .batch = cli_plan_int(plan, "batch_option", 0),
                      .micro_batches = cli_plan_int(plan, "micro_batches", 1)};
    if ((keep && keep->kind != HB_BOOL) || !blocks_of_plan(a, plan, &o->recompute)) {
        cli_error(CLI_INPUT,
                  "plan.json: keep_grads is true or false, recomputed a list of numbers");
        return false;
    }
    bool good = !p || (p->kind == HB_TEXT && ir_precision_parse(p->s, &o->precision));
    good = good && (!g || (g->kind == HB_TEXT && ir_dtype_parse(g->s, &o->grad_dtype)));
    if (!good) cli_error(CLI_INPUT, "plan.json: no such precision or grad_dtype");
    if (room) o->expert_room = room->f;
    if (good && room && !(room->f > 0)) {
        cli_error(CLI_INPUT, "plan.json: expert_room is a number above 0");
        return false;
    }
    return good;
}
