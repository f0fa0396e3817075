// hapc GRAPH CLUSTER: plan, certify, write, report.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ir/variant.h"
#include "synth/certify/record.h"

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
    hb_printf(&b, ",\"plan_seconds\":%.3f,\"certificate\":\"proved\",\"peak_bytes\":[",
              r->plan_sec);
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
    for (int s = SYN_DP_EVEN; s < SYN_N_STRATEGIES; s++) {
        hb_printf(&b, "%s\"%s\":", s > SYN_DP_EVEN ? "," : "", syn_strategy_name((syn_strategy)s));
        if (r->baseline_sec[s] >= 0)
            hb_printf(&b, "%.9g", r->baseline_sec[s] * 1e3);
        else
            hb_puts(&b, "null");
    }
    hb_puts(&b, "}}\n");
    fputs(b.p, stdout);
}

// The front end once more, step by step, printing what -d asks for; variant: what it ends in.
static void dump_front(hb_arena *a, const char *letters, const char *graph, const ir_options *o,
                       const ir_graph *variant)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_read(a, graph, o, d);
    static const struct {
        char letter;
        bool (*step)(ir_graph *g, hb_diag *d);
    } steps[] = {
        {'r', NULL}, {'x', ir_expand}, {'m', ir_casts}, {'a', ir_autodiff}, {'o', ir_optimize}};
    for (size_t i = 0; g && i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].step && !steps[i].step(g, d)) return;
        if (!strchr(letters, steps[i].letter)) continue;
        hb_buf b = {.arena = a};
        ir_print(&b, g);
        fputs(b.p, stdout);
    }
    if (!strchr(letters, 'v')) return;
    hb_buf b = {.arena = a};
    ir_print(&b, variant);
    fputs(b.p, stdout);
}

static void dump(hb_arena *a, const char *letters, const cli_inputs *in, const syn_program *p)
{
    hb_buf b = {.arena = a};
    if (strchr(letters, 'f')) ir_factors_print(&b, in->g, in->f);
    if (strchr(letters, 'c')) cl_print(&b, in->cluster);
    if (strchr(letters, 'p') && p) syn_print(&b, p);
    if (strchr(letters, 'l') && p) record_print(&b, record_from_plan(a, p));
    if (b.n) fputs(b.p, stdout);
}

// Of --micro-batches and --recompute the one that is not auto.
static bool asked_for(hb_arena *a, ir_graph *step, const ir_options *asked, syn_options *o)
{
    hb_diag *d = hb_diag_new(a);
    o->micro_batches = asked->micro_batches;
    if (asked->recompute) o->again = ir_blocks_named(a, step, asked->recompute, d);
    if (hb_diag_count(d) == 0 && asked->micro_batches > 1)
        (void)ir_variant(a, step, asked->micro_batches, NULL, d);
    hb_diag_print(d, stderr);
    return hb_diag_count(d) == 0;
}

static int synthesize(hb_arena *a, int argc, char **argv)
{
    const char *out = NULL, *batch = NULL, *strategy = NULL, *limit = NULL, *dumps = "";
    const char *precision = NULL, *micro = NULL, *recompute = NULL, *grad = NULL, *mesh = NULL,
               *pairs = NULL;
    bool json = false, quiet = false, verbose = false, keep = false, help = false, pinned = false;
    const char **pin = HB_ARRAY(a, const char *, argc + 1);
    const cli_option options[] = {
        {"-o", &out, NULL},
        {"--batch", &batch, NULL},
        {"--strategy", &strategy, NULL},
        {"--time-limit", &limit, NULL},
        {"-d", &dumps, NULL},
        {"--precision", &precision, NULL},
        {"--pin", pin, &pinned},
        {"--micro-batches", &micro, NULL},
        {"--recompute", &recompute, NULL},
        {"--grad-dtype", &grad, NULL},
        {"--mesh", &mesh, NULL},
        {"--pairs", &pairs, NULL},
        {"--json", NULL, &json},
        {"-q", NULL, &quiet},
        {"-v", NULL, &verbose},
        {"--keep-grads", NULL, &keep},
        {"--help", NULL, &help},
    };
    const char *file[2] = {NULL, NULL};
    int n_files = 0;
    if (!cli_parse(argc, argv, options, sizeof options / sizeof *options, file, 2, &n_files))
        return CLI_USAGE;
    if (help) {
        puts("hapc GRAPH.json CLUSTER.yaml [-o DIR] [options]; see hapc --help");
        return CLI_OK;
    }
    if (n_files < 2)
        return cli_error(CLI_USAGE,
                         "wanted: hapc GRAPH.json CLUSTER.yaml [-o DIR] (see hapc --help)");
    ir_options front = {0};
    bool vary_chunks = micro && strcmp(micro, "auto") == 0;
    bool vary_blocks = recompute && strcmp(recompute, "auto") == 0;
    if (vary_chunks) micro = NULL;
    if (vary_blocks) recompute = NULL;
    if (!cli_precision(precision, grad, &front) || !cli_variant(micro, recompute, &front))
        return CLI_USAGE;
    syn_options o = syn_default_options();
    if (mesh && !syn_mesh_parse((hb_str){mesh, strlen(mesh)}, &o.mesh))
        return cli_error(CLI_USAGE, "--mesh is auto, flat or machine, not '%s'", mesh);
    o.no_pairs = pairs && strcmp(pairs, "off") == 0;
    if (pairs && !o.no_pairs && strcmp(pairs, "auto") != 0)
        return cli_error(CLI_USAGE, "--pairs is auto or off, not '%s'", pairs);
    if (batch && !cli_integer("--batch", batch, 1, &front.batch)) return CLI_USAGE;
    if (limit && !cli_real("--time-limit", limit, &o.time_limit_sec)) return CLI_USAGE;
    if (strategy && !syn_strategy_parse((hb_str){strategy, strlen(strategy)}, &o.strategy)) {
        const char *names[SYN_N_STRATEGIES];
        for (int s = 0; s < SYN_N_STRATEGIES; s++)
            names[s] = syn_strategy_name((syn_strategy)s);
        const char *near =
            hb_nearest((hb_str){strategy, strlen(strategy)}, names, SYN_N_STRATEGIES);
        cli_error(CLI_USAGE, "unknown strategy '%s'", strategy);
        if (near) fprintf(stderr, "hint: did you mean '%s'?\n", near);
        return CLI_USAGE;
    }
    o.vary_chunks = vary_chunks;
    o.vary_blocks = vary_blocks;
    o.keep_grads = keep;
    o.baselines = true;
    o.interrupted = &interrupted;
    o.log = verbose ? stderr : NULL;

    cli_inputs in = {0};
    int code = CLI_INPUT;
    ir_options whole = front; // what is not the planner's choice is part of the graph
    bool asked = micro || recompute, choose = !asked || vary_chunks || vary_blocks;
    if (choose) {
        whole.micro_batches = 0;
        whole.recompute = NULL;
    }
    if (!cli_load(a, file[0], file[1], &whole, &in)) goto done;
    if (choose && asked && !asked_for(a, in.g, &front, &o)) goto done;
    int n_pins = 0;
    hb_str *pins = HB_ARRAY(a, hb_str, argc + 1);
    for (; pin[n_pins]; n_pins++)
        pins[n_pins] = hb_str_c(a, pin[n_pins]);
    if (!cli_pins(a, &in, pins, n_pins, &o.pins)) goto done;
    dump_front(a, dumps, file[0], &whole, in.g);
    bool talk = !quiet && isatty(STDERR_FILENO);
    if (talk)
        fprintf(stderr, "planning %d nodes on %d ranks (Ctrl-C keeps the best plan so far)\n",
                in.g->nodes.n, in.cluster->n_ranks);
    struct sigaction act = {.sa_handler = on_interrupt}, before;
    sigaction(SIGINT, &act, &before);
    syn_result res =
        choose ? syn_plan(a, in.g, &in.model, &o) : syn_synthesize(a, in.g, in.f, &in.model, &o);
    sigaction(SIGINT, &before, NULL);
    dump(a, dumps, &in, res.program);
    if (res.status == SYN_INFEASIBLE) {
        if (interrupted)
            code = cli_error(CLI_INTERRUPTED, "interrupted before a plan was found");
        else
            code = cli_error(CLI_INFEASIBLE, "no feasible plan: %.*s", HB_ARG(res.why));
        goto done;
    }
    if (res.status == SYN_FAILED_CHECK) {
        code = cli_error(
            CLI_BUG,
            "the plan does not pass its own certificate, which is a bug; please report:\n%.*s",
            HB_ARG(res.why));
        goto done;
    }
    hb_buf command = {.arena = a};
    hb_puts(&command, "hapc");
    for (int i = 0; i < argc; i++) {
        hb_putc(&command, ' ');
        put_word(&command, argv[i]);
    }
    emit_plan e = {.p = res.program,
                   .res = &res,
                   .command = hb_done(&command),
                   .version = hb_str_c(a, cli_version()),
                   .graph_path = hb_str_c(a, file[0]),
                   .cluster_path = hb_str_c(a, file[1]),
                   .batch = front.batch,
                   .strategy = hb_str_c(a, syn_strategy_name(o.strategy)),
                   .pins = o.pins,
                   .no_pairs = o.no_pairs,
                   .curves_missing = !in.model.curves,
                   .unmeasured = syn_unmeasured(a, res.program, &in.model)};
    if (out || (!json && !quiet)) emit_price_moves(a, &e);
    hb_str why;
    if (!emit_supported(a, res.program, &why) || (out && !emit_folder(a, &e, out, &why))) {
        code = cli_error(CLI_INPUT, "%.*s", HB_ARG(why));
        goto done;
    }
    if (json) {
        print_json(a, &e);
    } else if (!quiet) {
        hb_buf report = {.arena = a};
        emit_report_text(&report, &e);
        fputs(report.p, stdout);
        const syn_program *p = res.program;
        bool gpus = p->cluster->cls[p->mesh->cluster_class[0]].kind == CL_GPU;
        if (out)
            printf("\nWritten to %s. Run it with: hapc run %s%s\n", out, out,
                   gpus ? " --backend cuda" : "");
    }
    if (verbose) fprintf(stderr, "planned in %.2f s; proved\n", res.plan_sec);
    code = fflush(stdout) == 0 ? CLI_OK : cli_error(CLI_INPUT, "cannot write to stdout");
done:
    return code;
}

int cmd_synthesize(int argc, char **argv)
{
    hb_arena *a = hb_arena_new();
    int code = synthesize(a, argc, argv);
    hb_arena_free(a);
    return code;
}
