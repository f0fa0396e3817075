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
    char *argv[] = {hb_copy(a, binary.p, binary.n + 1), hb_copy(a, "--record", 9),
                    hb_copy(a, path->p, path->n + 1), NULL};
    int rc = cli_capture(a, argv, NULL, RECORD_SECONDS, &output);
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

// What a check goes by: the folder, its graph, and whether program.c was edited.
typedef struct checked {
    hb_arena *a;
    const char *dir, *dumps;
    bool quiet, json, edited;
    cli_inputs in;
    const hb_tree *plan;
} checked;

// Builds the program against the recording runtime, runs it and reads what it recorded. NULL after
// an error was printed; *code is then the exit code.
static record *record_program(checked *c, int *code)
{
    hb_str binary, path;
    if (!cli_build(c->a, c->dir, "haprt-record", &binary, code)) return NULL;
    *code = CLI_INPUT;
    if (!run_recorder(c->a, binary, &path, code)) {
        if (!c->edited) *code = CLI_BUG;
        return NULL;
    }
    hb_diag *d = hb_diag_new(c->a);
    record *rec = record_read(c->a, path.p, d);
    unlink(path.p);
    if (rec && hb_diag_count(d) == 0) return rec;
    hb_diag_print(d, stderr);
    *code = c->edited ? CLI_INPUT : CLI_BUG;
    return NULL;
}

static int not_proved(const checked *c, hb_str why)
{
    return cli_error(
        c->edited ? CLI_INPUT : CLI_BUG, "not proved: %.*s%s", HB_ARG(why),
        c->edited ? "" : "\nThe program is as hapc wrote it, so this is a bug; please report it");
}

static void say_proved(const checked *c, const record *rec, bool run)
{
    int calls = 0;
    for (int i = 0; i < rec->calls.n; i++)
        calls += rec->calls.p[i].kind >= REC_OP;
    if (c->json)
        printf("{\"proved\":true,\"edited\":%s,\"calls\":%d,\"ranks\":%d}\n",
               c->edited ? "true" : "false", calls, rec->n_ranks);
    else if (!c->quiet)
        printf(
            "proved: %s/program.c%s computes %s/graph.json on %d rank%s (%d calls, %d tensors%s)\n",
            c->dir, c->edited ? ", edited," : "", c->dir, rec->n_ranks,
            rec->n_ranks == 1 ? "" : "s", calls, rec->tensors.n, run ? "; run modulo 2^61-1" : "");
}

static int check_folder(checked *c)
{
    int code = CLI_INPUT;
    ir_options options_of_plan;
    c->plan = cli_plan(c->a, c->dir);
    if (!c->plan || !cli_plan_options(c->a, c->plan, &options_of_plan) ||
        !cli_load(c->a, hb_fmt(c->a, "%s/graph.json", c->dir).p, NULL, &options_of_plan, &c->in))
        return CLI_INPUT;
    c->edited = edited(c->a, c->dir, c->plan);
    record *rec = record_program(c, &code);
    if (!rec) return code;
    if (strchr(c->dumps, 'l')) {
        hb_buf b = {.arena = c->a};
        record_print(&b, rec);
        fputs(b.p, stdout);
    }
    const ir_graph *g = c->in.g;
    if (!hb_str_eq(rec->graph_sha, g->sha))
        return cli_error(CLI_INPUT, "program.c was written for graph %.*s, graph.json is %.*s",
                         HB_ARG(rec->graph_sha), HB_ARG(g->sha));
    hb_str why = {0};
    bool run = false;
    if (!syn_check(c->a, g, c->in.f, rec, &why) ||
        !syn_check_modp(c->a, g, c->in.f, rec, &run, &why))
        return not_proved(c, why);
    if (!keeps_pins(c->a, &c->in, c->plan, rec)) return CLI_INPUT;
    say_proved(c, rec, run);
    return CLI_OK;
}

int cmd_check(int argc, char **argv)
{
    checked c = {.dumps = ""};
    const cli_option options[] = {
        {"-q", NULL, &c.quiet}, {"--json", NULL, &c.json}, {"-d", &c.dumps, NULL}};
    cli_line line = {.least = 1, .most = 1, .rest = &c.dir};
    int code = cli_parse("check", argc, argv, options, 3, &line);
    if (code != CLI_GO) return code;
    c.a = hb_arena_new();
    code = check_folder(&c);
    hb_arena_free(c.a);
    return code;
}
