// hapc GRAPH CLUSTER: plan, certify, write, report.

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/architectures.h"
#include "cli/cli.h"
#include "cli/stages_command.h"
#include "ir/base/plain.h"
#include "ir/variant.h"
#include "synth/certify/record.h"
#include "synth/passes/passes.h"
#include "synth/plan/program_print.h"
#include "synth/price/simulate_plan.h"

static volatile sig_atomic_t interrupts;
static volatile int interrupted; // read by the search

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
    if (++interrupts > 1) _exit(CLI_INTERRUPTED);
}

// "a b" as 'a b': a command line that can be pasted.
static void put_word(hb_buf *b, const char *w)
{
    bool plain = w[0] != 0;
    for (const char *p = w; *p; p++)
        plain = plain && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                          (*p >= '0' && *p <= '9') || strchr("-_./=,:+@%*", *p));
    if (plain) {
        hb_puts(b, w);
        return;
    }
    hb_putc(b, '\'');
    for (const char *p = w; *p; p++) {
        if (*p == '\'')
            hb_puts(b, "'\\''");
        else
            hb_putc(b, *p);
    }
    hb_putc(b, '\'');
}

static void tell_rejected(void *ctx, hb_str why)
{
    (void)ctx;
    fprintf(stderr,
            "hapc: warning: a plan did not pass its own certificate and was dropped; the next best "
            "is taken.\nThis is a bug; please report it with the graph and the cluster:\n%.*s\n",
            HB_ARG(why));
}

static void print_json(hb_arena *a, const emit_plan *e)
{
    const syn_program *p = e->p;
    const syn_result *r = e->res;
    hb_buf b = {.arena = a};
    hb_printf(&b, "{\"predicted_ms\":%.9g", r->predicted_sec * 1e3);
    if (r->lower_bound_sec >= 0)
        hb_printf(&b, ",\"lower_bound_ms\":%.9g", r->lower_bound_sec * 1e3);
    else
        hb_puts(&b, ",\"lower_bound_ms\":null");
    hb_printf(&b, ",\"additive_ms\":%.9g", r->additive_sec * 1e3);
    if (r->additive_bound_sec > 0)
        hb_printf(&b, ",\"additive_bound_ms\":%.9g,\"gap\":%.9g", r->additive_bound_sec * 1e3,
                  r->additive_sec / r->additive_bound_sec - 1);
    else
        hb_puts(&b, ",\"additive_bound_ms\":null,\"gap\":null");
    hb_printf(&b,
              ",\"plan_seconds\":%.3f,\"certificate\":\"proved\",\"modular_run\":%s,"
              "\"peak_bytes\":[",
              r->plan_sec, p->values_run ? "true" : "false");
    const cl_cluster *c = p->cluster;
    int *mesh_rank = HB_ARRAY(a, int, c->n_ranks);
    for (int i = 0; i < c->n_ranks; i++)
        mesh_rank[i] = -1;
    for (int i = 0; i < p->mesh->n_ranks; i++)
        mesh_rank[p->mesh->cluster_rank[i]] = i;
    for (int i = 0; i < c->n_ranks; i++)
        hb_printf(&b, "%s%lld", i ? "," : "",
                  mesh_rank[i] < 0 ? 0LL
                                   : (long long)p->peak_bytes[p->mesh->class_of[mesh_rank[i]]]);
    hb_puts(&b, "],\"ranks\":[");
    double *ratio = emit_ratios(a, p);
    for (int i = 0; i < c->n_ranks; i++) {
        hb_printf(&b, "%s{\"device\":", i ? "," : "");
        hb_put_json(&b, c->cls[c->class_of[i]].name);
        hb_printf(&b, ",\"ratio\":%.6g%s}", mesh_rank[i] < 0 ? 0 : ratio[mesh_rank[i]],
                  mesh_rank[i] < 0 ? ",\"dropped\":true" : "");
    }
    hb_puts(&b, "],\"baselines\":{");
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++) {
        hb_printf(&b, "%s\"%s\":", s > SYN_AUTO + 1 ? "," : "", syn_strategy_name((syn_strategy)s));
        if (r->baseline_sec[s] >= 0)
            hb_printf(&b, "%.9g", r->baseline_sec[s] * 1e3);
        else
            hb_puts(&b, "null");
    }
    hb_puts(&b, "}}\n");
    fputs(b.p, stdout);
}

static void dump_graph(const ir_graph *g)
{
    hb_arena *a = hb_arena_new();
    hb_buf b = {.arena = a};
    ir_print(&b, g);
    fputs(b.p, stdout);
    hb_arena_free(a);
}

// The front end once more, step by step, printing what -d asks for; variant: what it ends in.
static void dump_front(const char *letters, const char *graph, const ir_options *o,
                       const ir_graph *variant)
{
    static const struct {
        char letter;
        bool (*step)(ir_graph *g, hb_diag *d);
    } steps[] = {
        {'r', NULL}, {'x', ir_expand}, {'m', ir_casts}, {'a', ir_autodiff}, {'o', ir_optimize}};
    if (!strpbrk(letters, "rxmaov")) return;
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_read(a, graph, o, d);
    bool ok = g != NULL;
    for (size_t i = 0; ok && i < sizeof steps / sizeof *steps; i++) {
        ok = !steps[i].step || steps[i].step(g, d);
        if (ok && strchr(letters, steps[i].letter)) dump_graph(g);
    }
    if (ok && strchr(letters, 'v')) dump_graph(variant);
    hb_arena_free(a);
}

static void dump(hb_arena *a, const char *letters, const cli_inputs *in, const syn_program *p)
{
    hb_buf b = {.arena = a};
    if (strchr(letters, 'f')) ir_factors_print(&b, in->g, ir_factorize(a, in->g));
    if (strchr(letters, 'c')) cl_print(&b, in->cluster);
    if (p && p->dumps.n) hb_putn(&b, p->dumps.p, p->dumps.n);
    if (strchr(letters, 'p') && p) syn_print(&b, p);
    if (strchr(letters, 'l') && p) record_print(&b, record_from_plan(a, p));
    if (b.n) fputs(b.p, stdout);
}

// Of --micro-batches and --recompute what is not auto; if neither is (!choose), no more than they
// say. The variant with what is asked for; NULL after an error.
static ir_graph *asked_for(hb_arena *a, ir_graph *step, const ir_options *asked, bool choose,
                           syn_options *o)
{
    hb_diag *d = hb_diag_new(a);
    o->micro_batches = asked->micro_batches;
    if (asked->recompute) o->again = ir_blocks_named(a, step, asked->recompute, d);
    if (!choose && !asked->recompute) o->again = HB_ARRAY(a, bool, step->n_blocks + 1);
    if (!choose && o->micro_batches == 0) o->micro_batches = 1;
    ir_graph *g = NULL;
    if (hb_diag_count(d) == 0) g = ir_variant(a, step, o->micro_batches, o->again, d);
    hb_diag_print(d, stderr);
    return hb_diag_count(d) == 0 ? g : NULL;
}

// What is asked on the command line.
typedef struct request {
    const char *out, *batch, *strategy, *effort, *limit, *dumps, *precision, *micro, *recompute,
        *grad, *room, *mesh, *pairs, *stages;
    const char **pin, **what_if; // ended by NULL
    hb_str change;               // of the cluster file, of one what-if
    bool full, asks, json, quiet, verbose, keep, only_check, pinned;
    const char *file[2]; // graph, cluster
    ir_options front;
    syn_options syn;
} request;

static int read_options(request *q, int argc, char **argv)
{
    const cli_option options[] = {
        {"-o", &q->out, NULL},
        {"--batch", &q->batch, NULL},
        {"--strategy", &q->strategy, NULL},
        {"--effort", &q->effort, NULL},
        {"--time-limit", &q->limit, NULL},
        {"-d", &q->dumps, NULL},
        {"--precision", &q->precision, NULL},
        {"--pin", q->pin, &q->pinned},
        {"--what-if", q->what_if, &q->asks},
        {"--micro-batches", &q->micro, NULL},
        {"--recompute", &q->recompute, NULL},
        {"--grad-dtype", &q->grad, NULL},
        {"--expert-room", &q->room, NULL},
        {"--mesh", &q->mesh, NULL},
        {"--pairs", &q->pairs, NULL},
        {"--stages", &q->stages, NULL},
        {"--full", NULL, &q->full},
        {"--json", NULL, &q->json},
        {"-q", NULL, &q->quiet},
        {"-v", NULL, &q->verbose},
        {"--keep-grads", NULL, &q->keep},
        {"--check-only", NULL, &q->only_check},
    };
    cli_line line = {.least = 2, .most = 2, .rest = q->file};
    return cli_parse("", argc, argv, options, sizeof options / sizeof *options, &line);
}

// Whether -d knows each of the letters; false after an error.
static bool knows_letters(const char *letters)
{
    for (; *letters; letters++) {
        bool known = strchr("rxmaovfcpl", *letters) != NULL;
        for (int k = 0; k < SYN_N_PASSES; k++)
            known |= syn_passes[k].letter == *letters;
        if (known) continue;
        cli_error(CLI_USAGE, "-d: there is no '%c' (hapc --help lists the letters)", *letters);
        return false;
    }
    return true;
}

// False after an error.
static bool understand_effort(const char *text, double *out)
{
    if (!cli_real("--effort", text, out)) return false;
    if (*out >= 1 && *out <= SYN_EFFORT_MOST) return true;
    cli_error(CLI_USAGE, "--effort is 1 to %d times the usual work, not '%s'", SYN_EFFORT_MOST,
              text);
    return false;
}

// Fills front and syn from the words of the command line. False after an error (exit 2).
static bool understand(request *q)
{
    if (!knows_letters(q->dumps)) return false;
    q->syn = syn_default_options();
    q->syn.dump_after = q->dumps;
    q->syn.vary_chunks = q->micro && strcmp(q->micro, "auto") == 0;
    q->syn.vary_blocks = q->recompute && strcmp(q->recompute, "auto") == 0;
    if (q->syn.vary_chunks) q->micro = NULL;
    if (q->syn.vary_blocks) q->recompute = NULL;
    if (!cli_precision(q->precision, q->grad, &q->front) ||
        !cli_variant(q->micro, q->recompute, &q->front) ||
        (q->room && !cli_real("--expert-room", q->room, &q->front.expert_room)))
        return false;
    if (q->mesh) (void)syn_mesh_parse((hb_str){q->mesh, strlen(q->mesh)}, &q->syn.mesh);
    if (q->strategy)
        (void)syn_strategy_parse((hb_str){q->strategy, strlen(q->strategy)}, &q->syn.strategy);
    q->syn.no_pairs = q->pairs && strcmp(q->pairs, "off") == 0;
    if ((q->batch && !cli_integer("--batch", q->batch, 1, &q->front.batch)) ||
        (q->limit && !cli_real("--time-limit", q->limit, &q->syn.time_limit_sec)) ||
        (q->effort && !understand_effort(q->effort, &q->syn.effort)))
        return false;
    q->syn.keep_grads = q->keep;
    q->front.only_trained = !q->keep;
    q->syn.baselines = true;
    q->syn.interrupted = &interrupted;
    q->syn.rejected = tell_rejected;
    q->syn.log = q->verbose ? stderr : NULL;
    return true;
}

// Reads the step, the cluster, and the pins of *variant: the step with all of --micro-batches and
// --recompute that is not the planner's choice.
static bool load(hb_arena *a, request *q, bool choose, cli_inputs *in, ir_graph **variant)
{
    ir_options step = q->front;
    step.micro_batches = 0;
    step.recompute = NULL;
    if (!cli_load_changed(a, q->file[0], q->file[1], &q->change, q->change.n > 0, &step, in))
        return false;
    *variant = in->g;
    if (q->micro || q->recompute) *variant = asked_for(a, in->g, &q->front, choose, &q->syn);
    if (!*variant) return false;
    int n = 0;
    while (q->pin[n])
        n++;
    hb_str *pins = HB_ARRAY(a, hb_str, n + 1);
    for (int i = 0; i < n; i++)
        pins[i] = hb_str_c(a, q->pin[i]);
    cli_inputs with = *in;
    with.g = *variant;
    return cli_pins(a, &with, pins, n, &q->syn.pins);
}

// What a terminal shows while the search takes more than a second.
typedef struct progress {
    struct timespec start;
    double shown; // seconds after the start; 0: nothing yet
    int plans;
} progress;

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void show_progress(void *ctx)
{
    progress *x = ctx;
    double now = seconds_since(&x->start);
    x->plans++;
    if (now < 1 || now < x->shown + 0.2) return;
    x->shown = now;
    fprintf(stderr, "\r  %.0f s, %d plans compared", now, x->plans);
    fflush(stderr);
}

// Plans; Ctrl-C ends the search, not the process.
static syn_result plan(hb_arena *a, const request *q, const cli_inputs *in)
{
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "planning %d nodes on %d ranks (Ctrl-C keeps the best plan so far)\n",
                in->g->nodes.n, in->cluster->n_ranks);
    struct sigaction act = {.sa_handler = on_interrupt}, before;
    syn_options o = q->syn;
    progress x = {.plans = 0};
    clock_gettime(CLOCK_MONOTONIC, &x.start);
    if (!q->quiet && !q->verbose && isatty(STDERR_FILENO)) {
        o.progress = show_progress;
        o.progress_ctx = &x;
    }
    sigaction(SIGINT, &act, &before);
    syn_result res = syn_plan(a, in->g, &in->model, &o);
    sigaction(SIGINT, &before, NULL);
    if (x.shown > 0) fprintf(stderr, "\r%*s\r", 40, "");
    return res;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

// file: graph and cluster. Samples get their path; what stands in the other's place is named.
static bool find_files(hb_arena *a, const char **file)
{
    struct stat s;
    if (ends_in(file[0], ".yaml") && ends_in(file[1], ".json")) {
        cli_error(CLI_INPUT, "the graph comes first, then the cluster");
        cli_note("hint: hapc %s %s", file[1], file[0]);
        return false;
    }
    if (ends_in(file[1], ".json")) {
        cli_error(CLI_INPUT, "%s is no cluster file (.yaml)", file[1]);
        return false;
    }
    if (stat(file[0], &s) == 0 && S_ISDIR(s.st_mode)) {
        hb_str inside = hb_fmt(a, "%s/graph.json", file[0]);
        cli_error(CLI_INPUT, "%s is a folder; a graph is wanted", file[0]);
        if (access(inside.p, R_OK) == 0) cli_note("hint: %.*s", HB_ARG(inside));
        return false;
    }
    file[1] = cli_cluster_file(a, file[1]);
    return file[1] != NULL;
}

// --check-only: what the files hold.
static int say_inputs(hb_arena *a, const request *q, const cli_inputs *in)
{
    hb_buf b = {.arena = a};
    const ir_graph *g = in->g;
    const cl_cluster *c = in->cluster;
    int64_t params = 0, n_params = 0;
    for (int i = 0; i < g->tensors.n; i++) {
        const ir_tensor *t = &g->tensors.p[i];
        if (t->kind != IR_PARAM) continue;
        n_params++;
        params += ir_elements(t);
    }
    if (q->quiet) return CLI_OK;
    hb_printf(&b, "%s: good. Batch %lld, %lld parameters in %lld tensors, %d ops a step\n",
              q->file[0], (long long)g->batch, (long long)params, (long long)n_params, g->nodes.n);
    hb_printf(&b, "%s: good. %d devices on %d machine%s:", q->file[1], c->n_ranks, c->n_machines,
              c->n_machines == 1 ? "" : "s");
    for (int k = 0; k < c->n_classes; k++) {
        int n = 0;
        for (int r = 0; r < c->n_ranks; r++)
            n += c->class_of[r] == k;
        hb_printf(&b, "%s %d x %.*s", k ? "," : "", n, HB_ARG(c->cls[k].name));
    }
    hb_puts(&b, "\n");
    hb_print_plain(stdout, hb_done(&b), false);
    return CLI_OK;
}

// Parameters that no op reads are as they were at the end, and in every checkpoint.
static void note_unused(hb_arena *a, const ir_graph *g)
{
    bool *used = HB_ARRAY(a, bool, g->tensors.n);
    for (int n = 0; n < g->nodes.n; n++)
        for (int k = 0; k < g->nodes.p[n].n_in; k++)
            used[g->nodes.p[n].in[k]] = true;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *x = &g->tensors.p[t];
        if (x->kind == IR_PARAM && !used[t])
            cli_note("hapc: note: %.*s:%d:%d: no op reads parameter '%.*s': it is not trained",
                     HB_ARG(g->src.name), x->at.line, x->at.col, HB_ARG(x->name));
    }
}

// Whether the planner chooses the variant.
static bool chooses(const request *q)
{
    return (!q->micro && !q->recompute) || q->syn.vary_chunks || q->syn.vary_blocks;
}

// The request with one thing changed: an option, or a value of the cluster file.
static bool change_one(const request *q, const char *text, request *out)
{
    *out = *q;
    const struct {
        const char *name, **value;
    } options[] = {{"--batch", &out->batch},         {"--precision", &out->precision},
                   {"--strategy", &out->strategy},   {"--mesh", &out->mesh},
                   {"--pairs", &out->pairs},         {"--micro-batches", &out->micro},
                   {"--recompute", &out->recompute}, {"--grad-dtype", &out->grad},
                   {"--expert-room", &out->room}};
    out->quiet = true;
    out->front = (ir_options){0};
    out->change = (hb_str){text, strlen(text)};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        size_t n = strlen(options[k].name) - 2;
        if (strncmp(text, options[k].name + 2, n) != 0 || text[n] != '=') continue;
        *options[k].value = text + n + 1;
        if (!cli_choice("", options[k].name, text + n + 1)) return false;
        out->change = (hb_str){"", 0};
    }
    return understand(out); // searched as the plan is, whose lead a comparison may take
}

// Plans again for each --what-if, or only reads what it needs. False after an error.
static bool ask(hb_arena *a, const request *q, bool only_read, emit_asked *rows)
{
    for (int i = 0; q->what_if[i] && !interrupted; i++) {
        hb_arena *own = hb_arena_new();
        request changed;
        cli_inputs in = {0};
        ir_graph *variant;
        const char *text = q->what_if[i];
        bool ok =
            change_one(q, text, &changed) && load(own, &changed, chooses(&changed), &in, &variant);
        if (ok && !only_read) {
            syn_result r = plan(own, &changed, &in);
            rows[i] = emit_asked_of(own, (hb_str){text, strlen(text)}, in.cluster, &r);
            rows[i].change = hb_str_n(a, rows[i].change.p, rows[i].change.n);
            rows[i].why = hb_str_n(a, rows[i].why.p, rows[i].why.n);
            rows[i].cut = hb_str_n(a, rows[i].cut.p, rows[i].cut.n);
        }
        hb_arena_free(own);
        if (!ok) return false;
    }
    return true;
}

static int no_plan(const syn_result *res)
{
    if (res->status == SYN_FAILED_CHECK)
        return cli_error(CLI_BUG,
                         "no plan passes its own certificate, which is a bug; please report:\n%.*s",
                         HB_ARG(res->why));
    if (interrupted) return cli_error(CLI_INTERRUPTED, "interrupted before a plan was found");
    return cli_error(CLI_INFEASIBLE, "no feasible plan: %.*s", HB_ARG(res->why));
}

static hb_str command_line(hb_arena *a, int argc, char **argv)
{
    hb_buf command = {.arena = a};
    hb_puts(&command, "hapc");
    for (int i = 0; i < argc; i++) {
        hb_putc(&command, ' ');
        put_word(&command, argv[i]);
    }
    return hb_done(&command);
}

// A plan for GPUs that the runtime beside hapc has no code for. (Where CUDA itself has none, the
// verdict says so.)
static void note_no_code(hb_arena *a, const syn_program *p)
{
    hb_str built = cli_architectures(a);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        if (!k->plan_only && !cli_has_code(built, k->arch))
            cli_note("hapc: note: it does not run here: %.*s: %.*s", HB_ARG(k->name),
                     HB_ARG(cli_no_code(a, built, k->arch)));
    }
}

// The plan folder, and the report or JSON on stdout.
static int write_out(hb_arena *a, const request *q, emit_plan *e)
{
    if (q->out || (!q->json && !q->quiet)) emit_price_moves(a, e);
    hb_str why;
    if (!emit_supported(a, e->p->g, &why) || (q->out && !emit_folder(a, e, q->out, &why)))
        return cli_error(CLI_INPUT, "%.*s", HB_ARG(why));
    if (q->out && !q->quiet) note_no_code(a, e->p);
    if (q->json) {
        print_json(a, e);
    } else if (!q->quiet) {
        hb_buf report = {.arena = a};
        if (q->full)
            emit_report_text(&report, e);
        else
            emit_verdict_text(&report, e, q->out);
        emit_asked_text(&report, e);
        cli_print_labelled(hb_done(&report));
        if (!q->full && !q->out) puts("\nAll of it: --full; a page and a program: -o DIR");
    }
    if (q->verbose)
        fprintf(stderr, "planned in %.2f s, %.3g states searched; proved\n", e->res->plan_sec,
                e->res->work);
    return fflush(stdout) == 0 ? CLI_OK : cli_error(CLI_INPUT, "cannot write to stdout");
}

// Of a plan of stages: what else was asked for that they cannot have. NULL: nothing.
static const char *not_with_stages(const request *q)
{
    return q->asks ? "--what-if" : q->dumps[0] ? "-d" : NULL;
}

static cli_staged staged_of(hb_arena *a, const request *q, const cli_inputs *in, int argc,
                            char **argv)
{
    return (cli_staged){.text = q->stages,
                        .out = q->out,
                        .quiet = q->quiet,
                        .json = q->json,
                        .full = q->full,
                        .only_read = q->only_check,
                        .about = {.command = command_line(a, argc, argv),
                                  .version = hb_str_c(a, cli_version()),
                                  .graph_path = hb_str_c(a, q->file[0]),
                                  .cluster_path = hb_str_c(a, q->file[1]),
                                  .batch = q->front.batch,
                                  .strategy = hb_str_c(a, syn_strategy_name(q->syn.strategy)),
                                  .no_pairs = q->syn.no_pairs,
                                  .pins = q->syn.pins,
                                  .curves_missing = !in->model.curves,
                                  .stages = hb_str_c(a, q->stages)}};
}

// --stages auto. CLI_GO: no stages are faster than the best plan without them, *res. That is kept
// from the start only where it is shown beside stages: it may take much memory.
static int plan_or_stages(hb_arena *a, const request *q, const cli_inputs *in, cli_staged *x,
                          syn_result *res)
{
    bool shown = x->out || (!x->json && !x->quiet);
    syn_staged_result s = {.status = SYN_INFEASIBLE};
    request half = *q; // of the time
    int code;
    half.syn.time_limit_sec /= 2;
    if (shown) {
        *res = plan(a, &half, in);
        x->about.whole = res;
        code = cli_search_stages(a, in, &half.syn,
                                 res->status == SYN_OK ? res->predicted_sec : HUGE_VAL, &s);
    } else {
        code = cli_stages_alone(a, in, &half.syn, &s);
    }
    if (code != CLI_GO) return code;
    if (s.plan) return cli_give_stages(a, in, x, &s);
    if (!q->quiet)
        fprintf(stderr, "hapc: note: no stages are faster%s%.*s\n", s.why.n ? ": " : "",
                HB_ARG(s.why));
    if (!shown) *res = plan(a, &half, in);
    return CLI_GO;
}

static int plan_stages(hb_arena *a, const request *q, int argc, char **argv)
{
    request whole = *q;
    ir_graph *variant;
    cli_inputs in = {0};
    if (!load(a, &whole, true, &in, &variant)) return CLI_INPUT;
    whole.syn.micro_batches = q->front.micro_batches;
    cli_staged x = staged_of(a, &whole, &in, argc, argv);
    int code = cli_plan_stages(a, &in, &whole.syn, &x);
    return code == CLI_GO ? say_inputs(a, q, &in) : code;
}

static int synthesize(hb_arena *a, int argc, char **argv)
{
    request q = {.dumps = "",
                 .pin = HB_ARRAY(a, const char *, argc + 1),
                 .what_if = HB_ARRAY(a, const char *, argc + 1)};
    int code = read_options(&q, argc, argv);
    if (code != CLI_GO) return code;
    if (!find_files(a, q.file)) return CLI_INPUT;
    if (!understand(&q)) return CLI_USAGE;
    if (q.stages && strcmp(q.stages, "off") == 0) q.stages = NULL;
    const char *other = q.stages ? not_with_stages(&q) : NULL;
    bool search_stages = q.stages && strcmp(q.stages, "auto") == 0;
    if (other) return cli_error(CLI_USAGE, "not supported: %s of a plan of stages", other);
    if (q.stages && !search_stages) return plan_stages(a, &q, argc, argv);
    bool choose = search_stages || chooses(&q);
    cli_inputs in = {0};
    ir_graph *variant;
    emit_asked *asked = HB_ARRAY(a, emit_asked, argc + 1);
    if (!load(a, &q, choose, &in, &variant) || !ask(a, &q, true, NULL)) return CLI_INPUT;
    dump_front(q.dumps, q.file[0], &q.front, variant);
    if (!q.quiet) note_unused(a, in.g);
    if (q.only_check) return say_inputs(a, &q, &in);
    syn_result res;
    if (search_stages) {
        cli_staged x = staged_of(a, &q, &in, argc, argv);
        code = plan_or_stages(a, &q, &in, &x, &res);
        if (code != CLI_GO) return code;
    } else {
        res = plan(a, &q, &in);
    }
    dump(a, q.dumps, &in, res.program);
    if (res.status != SYN_OK) return no_plan(&res);
    int n_asked = 0;
    if (!ask(a, &q, false, asked)) return CLI_INPUT;
    while (asked[n_asked].change.n > 0)
        n_asked++;
    emit_plan e = {.p = res.program,
                   .res = &res,
                   .command = command_line(a, argc, argv),
                   .version = hb_str_c(a, cli_version()),
                   .graph_path = hb_str_c(a, q.file[0]),
                   .cluster_path = hb_str_c(a, q.file[1]),
                   .batch = q.front.batch,
                   .strategy = hb_str_c(a, syn_strategy_name(q.syn.strategy)),
                   .pins = q.syn.pins,
                   .no_pairs = q.syn.no_pairs,
                   .curves_missing = !in.model.curves,
                   .unmeasured = syn_unmeasured(a, res.program, &in.model),
                   .asked = asked,
                   .n_asked = n_asked};
    return write_out(a, &q, &e);
}

int cmd_synthesize(int argc, char **argv)
{
    hb_arena *a = hb_arena_new();
    int code = synthesize(a, argc, argv);
    hb_arena_free(a);
    return code;
}
