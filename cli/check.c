// hapc check DIR: is program.c, as it stands, a correct program for graph.json?
//
// The program is read, not compiled: hap-record walks through it (runtime/interpret) and writes
// down what it calls. That is proved against the graph, which is read and differentiated again.
// Kernels of fusions are made again from the same record, and kernels.cu has to be that. plan.json
// only says with which batch and precision; SHA256SUMS what was edited since hapc wrote it.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/recorder.h"
#include "emit/kernels_check.h"
#include "emit/manifest.h"
#include "ir/base/plain.h"
#include "ir/stages.h"
#include "synth/certify/check_stages.h"
#include "synth/certify/modp.h"

// The record of the program, as a rank of that stage; NULL after an error was printed. Of the file
// that it goes through nothing stays.
static record *run_recorder(hb_arena *a, const char *dir, int stage, int *code)
{
    const char *tmp = getenv("TMPDIR");
    hb_str output, path = hb_fmt(a, "%s/hapc-record-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    char *log = hb_copy(a, path.p, path.n + 1);
    int fd = mkstemp(log);
    *code = CLI_INPUT;
    if (fd < 0) {
        cli_error(*code, "%s: %s", log, strerror(errno));
        return NULL;
    }
    close(fd);
    int rc = cli_recorder(a, dir, stage, log, &output);
    hb_diag *d = hb_diag_new(a);
    record *rec = rc == 0 ? record_read(a, log, d) : NULL;
    unlink(log);
    hb_diag_print(d, stderr);
    if (rc == 127)
        cli_error(*code = CLI_FAILED, "there is no hap-record beside hapc");
    else if (rc < 0)
        cli_error(*code, "program.c was not read to its end within %d s", CLI_RECORD_SECONDS);
    else if (rc > 128)
        cli_error(*code, "hap-record was ended by signal %d\n%.*s", rc - 128, HB_ARG(output));
    else if (rc > 0)
        fprintf(stderr, "%.*s", HB_ARG(output));
    return rec && hb_diag_count(d) == 0 ? rec : NULL;
}

// Does a declared tensor lie as the pins allow?
static bool lies_as_pinned(const ir_graph *g, const ir_factors *f, const syn_pins *pins, int t,
                           const rec_tensor *x, int n_axes)
{
    syn_state s = {{{.kind = SYN_R, .cut = -1}, {.kind = SYN_R, .cut = -1}}};
    for (int d = 0; d < x->rank && d < g->tensors.p[t].rank; d++) {
        if (x->dim[d].axis < 0) continue;
        int64_t outer = 1;
        int pos = -1;
        for (int p = 0; p < f->dim[t][d].n && pos < 0; p++) {
            int64_t size = f->cls[f->dim[t][d].cls[p]].size;
            if (outer == x->dim[d].outer && size == x->dim[d].n) pos = p;
            outer *= size;
        }
        if (pos < 0) return false;
        for (int a = 0; a < SYN_MAX_AXES; a++)
            if (x->dim[d].axis == a || x->dim[d].axis == SYN_BOTH)
                s.ax[a] = (syn_axis_state){
                    .kind = SYN_S, .dim = (uint8_t)d, .pos = (uint8_t)pos, .cut = -1};
    }
    return syn_pins_allow(pins, t, &s, n_axes);
}

// Pins on what a program declares: inputs, parameters, buffers, constants.
static bool keeps_pins(hb_arena *a, const ir_graph *g, const ir_factors *f, const syn_pins *pins,
                       const record *rec)
{
    for (int i = 0; pins && i < rec->calls.n; i++) {
        const rec_call *k = &rec->calls.p[i];
        if (k->kind != REC_INPUT && k->kind != REC_PARAM && k->kind != REC_BUFFER &&
            k->kind != REC_CONST)
            continue;
        for (int t = 0; t < g->tensors.n; t++) {
            if (!syn_pinned(pins, t) || g->tensors.p[t].kind == IR_VALUE ||
                !hb_str_eq(g->tensors.p[t].name, k->name))
                continue;
            for (int x = 0; x < rec->tensors.n; x++)
                if (rec->tensors.p[x].id == k->in[0] &&
                    !lies_as_pinned(g, f, pins, t, &rec->tensors.p[x], rec->n_axes)) {
                    cli_error(CLI_INPUT, "%s:%d: %.*s does not lie as %.*s of plan.json says",
                              k->file.n ? k->file.p : "program.c", k->line, HB_ARG(k->name),
                              HB_ARG(syn_pins_text(a, pins, t)));
                    return false;
                }
        }
    }
    return true;
}

// What a check goes by: the folder, its graph, and whether what is proved was edited.
typedef struct checked {
    hb_arena *a;
    const char *dir, *dumps;
    bool quiet, json, accept, edited;
    manifest_changes changes;
    cli_inputs in;
    const hb_tree *plan;
} checked;

// What the program calls: of a stage, where it has such. NULL after an error was printed; *code is
// then the exit code.
static record *record_program(checked *c, int stage, int *code)
{
    record *rec = run_recorder(c->a, c->dir, stage, code);
    if (!rec && *code == CLI_INPUT && !c->edited) *code = CLI_BUG;
    return rec;
}

static int not_proved(const checked *c, hb_str why)
{
    return cli_error(
        c->edited ? CLI_INPUT : CLI_BUG, "not proved: %.*s%s", HB_ARG(why),
        c->edited
            ? ""
            : "\nThe files are as hapc wrote them. Where another version of it did, plan again; "
              "else this is a bug, please report it");
}

// What changed since the files were written or taken in last; with --accept it is taken in.
static int take_in(const checked *c)
{
    hb_str why, what = manifest_text(c->a, &c->changes, MANIFEST_INPUT);
    if (what.n == 0) return CLI_OK;
    if (c->accept && !manifest_write(c->a, c->dir, &why))
        return cli_error(CLI_INPUT, "%.*s", HB_ARG(why));
    if (c->quiet || c->json) return CLI_OK;
    if (c->accept)
        printf("accepted: %.*s\n", HB_ARG(what));
    else
        printf("changed since: %.*s; `hapc check --accept` takes it in%s\n", HB_ARG(what),
               c->edited ? ", as `hapc run` wants" : "");
    return CLI_OK;
}

static void put_json(const checked *c, int calls, int ranks, bool run)
{
    hb_buf b = {.arena = c->a};
    for (int i = 0; i < c->changes.v.n; i++) {
        hb_puts(&b, i ? "," : "");
        hb_put_json(&b, c->changes.v.p[i].name);
    }
    printf(
        "{\"proved\":true,\"modular_run\":%s,\"edited\":%s,\"changed\":[%.*s],\"accepted\":%s,\"calls\":%d,"
        "\"ranks\":%d}\n",
        run ? "true" : "false", c->edited ? "true" : "false", HB_ARG(hb_done(&b)),
        c->accept ? "true" : "false", calls, ranks);
}

static int say_proved(const checked *c, const record *rec, int calls, int ranks, bool run)
{
    int64_t planned = cli_plan_int(c->plan, "n_ranks", 0);
    if (planned != ranks)
        return cli_error(CLI_INPUT, "plan.json is of %lld ranks, program.c of %d",
                         (long long)planned, ranks);
    bool edited =
        manifest_changed(&c->changes, "program.c") || manifest_changed(&c->changes, "buffers.h");
    if (c->json)
        put_json(c, calls, ranks, run);
    else if (!c->quiet)
        printf(
            "proved: %s/program.c%s computes %s/graph.json on %d rank%s (%d calls, %d tensors%s)\n",
            c->dir, edited ? ", edited," : "", c->dir, ranks, ranks == 1 ? "" : "s", calls,
            rec->tensors.n, run ? "; run modulo 2^61-1" : "; too large to run modulo 2^61-1");
    return take_in(c);
}

static int calls_of(const record *rec)
{
    int calls = 0;
    for (int i = 0; i < rec->calls.n; i++)
        calls += rec->calls.p[i].kind >= REC_OP;
    return calls;
}

static void dump_record(const checked *c, const record *rec)
{
    hb_buf b = {.arena = c->a};
    if (!strchr(c->dumps, 'l')) return;
    record_print(&b, rec);
    fputs(b.p, stdout);
}

// The graphs of the stages that plan.json names. NULL after an error was printed.
static ir_stages *stages_of_plan(checked *c, const hb_tree *list)
{
    int first[IR_MAX_STAGES], layers = ir_layers(c->a, c->in.g, NULL);
    bool good = list->n >= 1 && list->n <= IR_MAX_STAGES;
    for (int s = 0; good && s < list->n; s++) {
        first[s] = (int)cli_plan_int(list->v[s], "first_layer", -1);
        good = first[s] < layers && (s == 0 ? first[s] == 0 : first[s] > first[s - 1]);
    }
    hb_diag *d = hb_diag_new(c->a);
    ir_stages *cut = good ? ir_stages_cut(c->a, c->in.g, list->n, first, d) : NULL;
    hb_diag_print(d, stderr);
    if (!cut && hb_diag_count(d) == 0) cli_error(CLI_INPUT, "plan.json: its stages are broken");
    return cut;
}

// Each stage against its graph, then all together against the step.
static int check_stages(checked *c, const hb_tree *list)
{
    ir_stages *cut = stages_of_plan(c, list);
    const record *rec[IR_MAX_STAGES];
    const syn_pins *pins = NULL;
    int code = CLI_INPUT, calls = 0, ranks = 0;
    bool run = true, ran;
    hb_str why;
    if (cut && !cli_plan_pins(c->a, &c->in, c->plan, &pins)) return CLI_INPUT;
    const ir_factors *all = pins ? ir_factorize(c->a, c->in.g) : NULL;
    for (int s = 0; cut && s < cut->n; s++) {
        if (!(rec[s] = record_program(c, s, &code))) return code;
        dump_record(c, rec[s]);
        const ir_graph *g = cut->graph[s];
        if (rec[s]->n_stages != cut->n)
            return cli_error(CLI_INPUT, "program.c has %d stages, plan.json %d", rec[s]->n_stages,
                             cut->n);
        if (rec[s]->stage != s || !hb_str_eq(rec[s]->graph_sha, g->sha))
            return cli_error(CLI_INPUT, "program.c was written for graph %.*s, graph.json is %.*s",
                             HB_ARG(rec[s]->graph_sha), HB_ARG(g->sha));
        const ir_factors *f = ir_factorize(c->a, g);
        if (!syn_check(c->a, g, f, rec[s], &why) || !syn_check_modp(c->a, g, f, rec[s], &ran, &why))
            return not_proved(c, hb_fmt(c->a, "stage %d: %.*s", s, HB_ARG(why)));
        const syn_pins *own = pins ? syn_pins_part(c->a, pins, c->in.g, all, g, f) : NULL;
        if (!keeps_pins(c->a, g, f, own, rec[s])) return CLI_INPUT;
        run = run && ran;
        calls += calls_of(rec[s]);
        ranks += rec[s]->n_ranks;
    }
    if (!cut) return CLI_INPUT;
    if (!syn_check_stages(c->a, c->in.g, cut, rec, &why) ||
        !emit_kernels_hold(c->a, c->dir, rec, cut->n, &why))
        return not_proved(c, why);
    return say_proved(c, rec[0], calls, ranks, run);
}

static int check_folder(checked *c)
{
    int code = CLI_INPUT;
    ir_options options_of_plan;
    c->plan = cli_plan(c->a, c->dir);
    if (!c->plan || !cli_plan_options(c->a, c->plan, &options_of_plan) ||
        !cli_load(c->a, hb_fmt(c->a, "%s/graph.json", c->dir).p, NULL, &options_of_plan, &c->in))
        return CLI_INPUT;
    c->changes = manifest_compare(c->a, c->dir);
    c->edited = manifest_text(c->a, &c->changes, MANIFEST_CHECKED).n > 0;
    const hb_tree *stages = hb_get(c->plan, "stages");
    if (stages && stages->kind == HB_LIST) return check_stages(c, stages);
    record *rec = record_program(c, 0, &code);
    if (!rec) return code;
    dump_record(c, rec);
    const ir_graph *g = c->in.g;
    if (!hb_str_eq(rec->graph_sha, g->sha))
        return cli_error(CLI_INPUT, "program.c was written for graph %.*s, graph.json is %.*s",
                         HB_ARG(rec->graph_sha), HB_ARG(g->sha));
    hb_str why = {0};
    bool run = false;
    const ir_factors *f = ir_factorize(c->a, g);
    if (!syn_check(c->a, g, f, rec, &why) || !syn_check_modp(c->a, g, f, rec, &run, &why) ||
        !emit_kernels_hold(c->a, c->dir, &(const record *){rec}, 1, &why))
        return not_proved(c, why);
    const syn_pins *pins = NULL;
    if (!cli_plan_pins(c->a, &c->in, c->plan, &pins) || !keeps_pins(c->a, g, f, pins, rec))
        return CLI_INPUT;
    return say_proved(c, rec, calls_of(rec), rec->n_ranks, run);
}

int cmd_check(int argc, char **argv)
{
    checked c = {.dumps = ""};
    const cli_option options[] = {{"-q", NULL, &c.quiet},
                                  {"--json", NULL, &c.json},
                                  {"--accept", NULL, &c.accept},
                                  {"-d", &c.dumps, NULL}};
    cli_line line = {.least = 1, .most = 1, .rest = &c.dir};
    int code = cli_parse("check", argc, argv, options, 4, &line);
    if (code != CLI_GO) return code;
    if (c.dumps[strspn(c.dumps, "l")])
        return cli_error(CLI_USAGE, "-d: there is no '%c' (l: the record of the program)",
                         c.dumps[strspn(c.dumps, "l")]);
    c.a = hb_arena_new();
    code = check_folder(&c);
    hb_arena_free(c.a);
    return code;
}
