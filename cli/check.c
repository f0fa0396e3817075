// hapc check DIR: is program.c, as it stands, a correct program for graph.json?
//
// The program is compiled against the recording runtime and run once; what it calls is proved
// against the graph, which is read and differentiated again. plan.json only says with which batch
// and precision, and whether the program was edited since hapc wrote it.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/build.h"
#include "cli/cli.h"
#include "ir/base/sha256.h"
#include "synth/certify/modp.h"

enum { RECORD_SECONDS = 120 };

// Runs the recording program; its log in *path (in the build folder).
static bool run_recorder(hb_arena *a, hb_str binary, hb_str *path, int *code)
{
    hb_str output;
    *path = hb_fmt(a, "%s.record.%ld", binary.p, (long)getpid());
    hb_str env = hb_fmt(a, "HAP_RECORD=%s", path->p), zero = HB_STR("HAP_RECORD_CLASS=0");
    char *argv[] = {hb_copy(a, binary.p, binary.n + 1), NULL};
    char *envs[] = {hb_copy(a, env.p, env.n + 1), hb_copy(a, zero.p, zero.n + 1), NULL};
    int rc = cli_capture(a, argv, envs, RECORD_SECONDS, &output);
    if (rc == 0) return true;
    unlink(path->p);
    *code = CLI_INPUT;
    if (rc < 0)
        cli_error(*code, "program.c did not end within %d s while it was recorded", RECORD_SECONDS);
    else if (rc > 128)
        cli_error(*code, "program.c was ended by signal %d while it was recorded\n%.*s", rc - 128,
                  HB_ARG(output));
    else
        cli_error(*code, "program.c is no program of hapc's runtime (exit %d):\n%.*s", rc,
                  HB_ARG(output));
    return false;
}

static bool edited(hb_arena *a, const char *dir, const hb_tree *plan)
{
    hb_str program, buffers;
    const char *why = NULL;
    const hb_tree *sha = hb_get(plan, "program");
    if (!sha || sha->kind != HB_TEXT) return true;
    if (!hb_read_file(a, hb_fmt(a, "%s/program.c", dir).p, &program, &why) ||
        !hb_read_file(a, hb_fmt(a, "%s/buffers.h", dir).p, &buffers, &why))
        return true;
    hb_str both = hb_fmt(a, "%.*s%.*s", HB_ARG(program), HB_ARG(buffers));
    return !hb_str_eq(sha->s, hb_sha256_hex(a, both));
}

// Does a declared tensor lie as the pins allow?
static bool lies_as_pinned(const cli_inputs *in, const syn_pins *pins, int t, const rec_tensor *x,
                           int n_axes)
{
    syn_state s = {{{.kind = SYN_R, .cut = -1}, {.kind = SYN_R, .cut = -1}}};
    for (int d = 0; d < x->rank && d < in->g->tensors.p[t].rank; d++) {
        if (x->dim[d].axis < 0) continue;
        int64_t outer = 1;
        int pos = -1;
        for (int p = 0; p < in->f->dim[t][d].n && pos < 0; p++) {
            int64_t size = in->f->cls[in->f->dim[t][d].cls[p]].size;
            if (outer == x->dim[d].outer && size == x->dim[d].n) pos = p;
            outer *= size;
        }
        if (pos < 0) return false;
        for (int a = 0; a < SYN_MAX_AXES; a++)
            if (x->dim[d].axis == a || x->dim[d].axis == SYN_BOTH)
                s.ax[a] = (syn_axis_state){
                    .kind = SYN_S, .dim = (uint8_t)d, .pos = (uint8_t)pos, .cut = -1};
    }
    return syn_pins_allow(pins, in->f, t, &s, n_axes);
}

// The plan's pins on what the program declares: inputs, parameters, buffers, constants.
static bool keeps_pins(hb_arena *a, const cli_inputs *in, const hb_tree *plan, const record *rec)
{
    const syn_pins *pins = NULL;
    if (!cli_plan_pins(a, in, plan, &pins)) return false;
    for (int i = 0; pins && i < rec->calls.n; i++) {
        const rec_call *k = &rec->calls.p[i];
        if (k->kind != REC_INPUT && k->kind != REC_PARAM && k->kind != REC_BUFFER &&
            k->kind != REC_CONST)
            continue;
        for (int t = 0; t < in->g->tensors.n; t++) {
            if (!syn_pinned(pins, t) || in->g->tensors.p[t].kind == IR_VALUE ||
                !hb_str_eq(in->g->tensors.p[t].name, k->name))
                continue;
            for (int x = 0; x < rec->tensors.n; x++)
                if (rec->tensors.p[x].id == k->in[0] &&
                    !lies_as_pinned(in, pins, t, &rec->tensors.p[x], rec->n_axes)) {
                    cli_error(CLI_INPUT, "%s:%d: %.*s does not lie as %.*s of plan.json says",
                              k->file.n ? k->file.p : "program.c", k->line, HB_ARG(k->name),
                              HB_ARG(syn_pins_text(a, pins, t)));
                    return false;
                }
        }
    }
    return true;
}

int cmd_check(int argc, char **argv)
{
    bool help = false, quiet = false, json = false;
    const char *dumps = "";
    const cli_option options[] = {{"--help", NULL, &help},
                                  {"-q", NULL, &quiet},
                                  {"--json", NULL, &json},
                                  {"-d", &dumps, NULL}};
    const char *dir = NULL;
    int n = 0;
    if (!cli_parse(argc, argv, options, 4, &dir, 1, &n)) return CLI_USAGE;
    if (help) {
        puts(
            "hapc check DIR: proves that DIR/program.c, edited or not, computes DIR/graph.json.\n"
            "  -d l   print the record of the program\n"
            "Exit: 0 proved, 1 not proved (an edited program, or no plan folder), 4 not proved though unedited");
        return CLI_OK;
    }
    if (n < 1) return cli_error(CLI_USAGE, "wanted: hapc check DIR");
    hb_arena *a = hb_arena_new();
    int code = CLI_INPUT;
    hb_str binary, path, why = {0};
    cli_inputs in = {0};
    const hb_tree *plan = cli_plan(a, dir);
    if (!plan) goto done;
    ir_options options_of_plan;
    if (!cli_plan_options(a, plan, &options_of_plan) ||
        !cli_load(a, hb_fmt(a, "%s/graph.json", dir).p, NULL, &options_of_plan, &in))
        goto done;
    bool other = edited(a, dir, plan);
    if (!cli_build(a, dir, "haprt-record", &binary, &code)) goto done;
    code = CLI_INPUT;
    if (!run_recorder(a, binary, &path, &code)) {
        if (!other) code = CLI_BUG;
        goto done;
    }
    hb_diag *d = hb_diag_new(a);
    record *rec = record_read(a, path.p, d);
    unlink(path.p);
    if (!rec || hb_diag_count(d) > 0) {
        hb_diag_print(d, stderr);
        code = other ? CLI_INPUT : CLI_BUG;
        goto done;
    }
    if (strchr(dumps, 'l')) {
        hb_buf b = {.arena = a};
        record_print(&b, rec);
        fputs(b.p, stdout);
    }
    if (!hb_str_eq(rec->graph_sha, in.g->sha)) {
        code = cli_error(CLI_INPUT, "program.c was written for graph %.*s, graph.json is %.*s",
                         HB_ARG(rec->graph_sha), HB_ARG(in.g->sha));
        goto done;
    }
    if (!syn_check(a, in.g, in.f, rec, &why)) {
        code = cli_error(
            other ? CLI_INPUT : CLI_BUG, "not proved: %.*s%s", HB_ARG(why),
            other ? "" : "\nThe program is as hapc wrote it, so this is a bug; please report it");
        goto done;
    }
    bool run = false;
    if (!syn_check_modp(a, in.g, in.f, rec, &run, &why)) {
        code = cli_error(
            other ? CLI_INPUT : CLI_BUG, "not proved: %.*s%s", HB_ARG(why),
            other ? "" : "\nThe program is as hapc wrote it, so this is a bug; please report it");
        goto done;
    }
    code = CLI_INPUT;
    if (!keeps_pins(a, &in, plan, rec)) goto done;
    int calls = 0;
    for (int i = 0; i < rec->calls.n; i++)
        calls += rec->calls.p[i].kind >= REC_OP;
    if (json)
        printf("{\"proved\":true,\"edited\":%s,\"calls\":%d,\"ranks\":%d}\n",
               other ? "true" : "false", calls, rec->n_ranks);
    else if (!quiet)
        printf(
            "proved: %s/program.c%s computes %s/graph.json on %d rank%s (%d calls, %d tensors%s)\n",
            dir, other ? ", edited," : "", dir, rec->n_ranks, rec->n_ranks == 1 ? "" : "s", calls,
            rec->tensors.n, run ? "; run modulo 2^61-1" : "");
    code = CLI_OK;
done:
    hb_arena_free(a);
    return code;
}
