#include "cli/stages_command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/search/search_stages.h"

// --stages 0-5@m0,6-11@m1+m2: layers, from 0 on, and the machines that have them.
typedef struct reader {
    hb_arena *a;
    hb_source src;
    const char *at;
    hb_diag *d;
    const cl_cluster *c;
    int n_layers;
    int *stage_of; // by machine, -1 none
    HB_VEC(syn_stage_wish) wishes;
} reader;

static void wrong(reader *r, const char *at, hb_str what)
{
    hb_error(r->d, &r->src, (hb_pos){1, (int)(at - r->src.text.p) + 1}, "%.*s", HB_ARG(what));
}

static bool read_layer(reader *r, int *out)
{
    int64_t n = 0;
    const char *from = r->at;
    for (; *r->at >= '0' && *r->at <= '9' && n < 1000000; r->at++)
        n = 10 * n + (*r->at - '0');
    if (r->at == from) {
        wrong(r, from, HB_STR("a layer's number is wanted here"));
        hb_hint(r->d, "--stages 0-5@MACHINE,6-11@MACHINE2+MACHINE3");
        return false;
    }
    if (n >= r->n_layers) {
        wrong(r, from,
              hb_fmt(r->a, "no layer %lld: the step has %d, from 0 on", (long long)n, r->n_layers));
        return false;
    }
    *out = (int)n;
    return true;
}

static bool read_layers(reader *r, int expected, int *last)
{
    const char *from = r->at;
    int first;
    if (!read_layer(r, &first)) return false;
    *last = first;
    if (*r->at == '-') {
        r->at++;
        if (!read_layer(r, last)) return false;
    }
    if (first != expected || *last < first) {
        wrong(r, from,
              hb_fmt(r->a, "layers of stages follow each other: layer %d is next", expected));
        return false;
    }
    return true;
}

static bool read_machine(reader *r, bool *machine)
{
    size_t n = strcspn(r->at, ",+");
    hb_str name = {r->at, n};
    bool any = false;
    for (int m = 0; m < r->c->n_machines; m++) {
        if (!hb_glob(name, r->c->machine[m].name)) continue;
        any = true;
        if (r->stage_of[m] >= 0) {
            wrong(r, r->at,
                  hb_fmt(r->a, "not supported: machine '%.*s' has stage %d already",
                         HB_ARG(r->c->machine[m].name), r->stage_of[m]));
            return false;
        }
        machine[m] = true;
        r->stage_of[m] = r->wishes.n;
    }
    if (!any) {
        const char **names = HB_ARRAY(r->a, const char *, r->c->n_machines + 1);
        for (int m = 0; m < r->c->n_machines; m++)
            names[m] = r->c->machine[m].name.p;
        const char *near = hb_nearest(name, names, r->c->n_machines);
        wrong(r, r->at, hb_fmt(r->a, "the cluster has no machine '%.*s'", HB_ARG(name)));
        if (near) hb_hint(r->d, "did you mean '%s'?", near);
        return false;
    }
    r->at += n;
    return true;
}

static bool read_stages(reader *r)
{
    int next = 0, last;
    for (;; r->at++) {
        syn_stage_wish w = {.first_layer = next};
        bool *machine = HB_ARRAY(r->a, bool, r->c->n_machines + 1);
        if (!read_layers(r, next, &last)) return false;
        if (*r->at != '@') {
            wrong(r, r->at, HB_STR("'@' and the stage's machines are wanted here"));
            return false;
        }
        do {
            r->at++;
            if (!read_machine(r, machine)) return false;
        } while (*r->at == '+');
        w.machine = machine;
        HB_PUSH(r->a, &r->wishes, w);
        next = last + 1;
        if (*r->at == 0) break;
        if (r->wishes.n == IR_MAX_STAGES) {
            wrong(r, r->at, hb_fmt(r->a, "not supported: more than %d stages", IR_MAX_STAGES));
            return false;
        }
    }
    if (next == r->n_layers) return true;
    hb_str left = next + 1 == r->n_layers
                      ? hb_fmt(r->a, "layer %d has no stage", next)
                      : hb_fmt(r->a, "layers %d to %d have no stage", next, r->n_layers - 1);
    wrong(r, r->at, left);
    return false;
}

// One cost model a stage.
static bool models(hb_arena *a, const cli_inputs *in, const reader *r, cost_model *m, int **rank,
                   hb_diag *d)
{
    for (int s = 0; s < r->wishes.n; s++) {
        rank[s] = HB_ARRAY(a, int, in->cluster->n_ranks + 1);
        if (!syn_stage_model(a, &in->model, r->wishes.p[s].machine, rank[s], &m[s], d))
            return false;
    }
    return true;
}

static int no_plan(const syn_staged_result *r)
{
    if (r->status == SYN_FAILED_CHECK)
        return cli_error(CLI_BUG,
                         "the stages do not pass their certificate, which is a bug; please "
                         "report:\n%.*s",
                         HB_ARG(r->why));
    return cli_error(CLI_INFEASIBLE, "no feasible plan: %.*s", HB_ARG(r->why));
}

static int say(hb_arena *a, const cli_staged *x, const syn_staged *p)
{
    hb_buf b = {.arena = a};
    if (x->json)
        emit_stages_json(&b, p);
    else if (!x->quiet && x->full)
        emit_stages_text(&b, p, &x->about);
    else if (!x->quiet)
        emit_stages_verdict(&b, p, &x->about, x->out);
    if (x->json)
        fputs(hb_done(&b).p, stdout);
    else if (b.n > 0)
        cli_print_labelled(hb_done(&b));
    if (!x->json && !x->quiet && !x->full && !x->out)
        puts("\nAll of it: --full; a page and a program: -o DIR");
    return fflush(stdout) == 0 ? CLI_OK : cli_error(CLI_INPUT, "cannot write to stdout");
}

int cli_give_stages(hb_arena *a, const cli_inputs *in, const cli_staged *x,
                    const syn_staged_result *r)
{
    hb_str why;
    if (!emit_supported(a, in->g, &why)) return cli_error(CLI_INPUT, "%.*s", HB_ARG(why));
    if (x->out && !emit_stages_folder(a, r->plan, &x->about, x->out, &why))
        return cli_error(CLI_INPUT, "%.*s", HB_ARG(why));
    return say(a, x, r->plan);
}

// The best plan without stages, which the stages are compared with.
static const syn_result *without_stages(hb_arena *a, const cli_inputs *in, const syn_options *o)
{
    syn_options whole = *o;
    syn_result *r = HB_NEW(a, syn_result);
    whole.micro_batches = 0;
    *r = syn_plan(a, in->g, &in->model, &whole);
    return r;
}

int cli_plan_stages(hb_arena *a, const cli_inputs *in, const syn_options *o, const cli_staged *x)
{
    hb_diag *d = hb_diag_new(a);
    reader r = {.a = a, .at = x->text, .d = d, .c = in->cluster};
    r.src = (hb_source){HB_STR("--stages"), {x->text, strlen(x->text)}};
    r.n_layers = ir_layers(a, in->g, NULL);
    r.stage_of = HB_ARRAY(a, int, in->cluster->n_machines + 1);
    for (int m = 0; m < in->cluster->n_machines; m++)
        r.stage_of[m] = -1;
    cost_model m[IR_MAX_STAGES];
    int *rank[IR_MAX_STAGES];
    syn_staged_result res = {.status = SYN_INFEASIBLE};
    if (read_stages(&r) && models(a, in, &r, m, rank, d))
        res = syn_plan_stages(a, in->g, in->cluster, r.wishes.n, r.wishes.p, m, rank, o, d);
    hb_diag_print(d, stderr);
    if (hb_diag_count(d) > 0) return CLI_INPUT;
    if (!res.plan) return no_plan(&res);
    cli_staged compared = *x;
    if (x->out || (!x->json && !x->quiet)) compared.about.whole = without_stages(a, in, o);
    return cli_give_stages(a, in, &compared, &res);
}

static int found(const hb_diag *d, const syn_staged_result *r)
{
    hb_diag_print(d, stderr);
    if (hb_diag_count(d) > 0) return CLI_INPUT;
    return !r->plan && r->status == SYN_FAILED_CHECK ? no_plan(r) : CLI_GO;
}

int cli_search_stages(hb_arena *a, const cli_inputs *in, const syn_options *o, double worth,
                      syn_staged_result *out)
{
    hb_diag *d = hb_diag_new(a);
    *out = syn_search_stages(a, in->g, &in->model, o, worth, NULL, d);
    syn_finish_stages(a, out);
    return found(d, out);
}

typedef struct asking {
    const cli_inputs *in;
    const syn_options *o;
} asking;

// Seconds of the best plan without stages, of which nothing else is kept.
static double whole_seconds(void *ctx, double worth)
{
    const asking *x = ctx;
    hb_arena *own = hb_arena_new();
    syn_options whole = *x->o;
    whole.baselines = false;
    whole.worth = worth;
    syn_result r = syn_plan(own, x->in->g, &x->in->model, &whole);
    double sec = r.status == SYN_OK ? r.predicted_sec : HUGE_VAL;
    hb_arena_free(own);
    return sec;
}

int cli_stages_alone(hb_arena *a, const cli_inputs *in, const syn_options *o,
                     syn_staged_result *out)
{
    hb_diag *d = hb_diag_new(a);
    asking x = {in, o};
    *out = syn_search_stages(a, in->g, &in->model, o, HUGE_VAL,
                             &(syn_whole_plan){whole_seconds, &x}, d);
    syn_finish_stages(a, out);
    return found(d, out);
}
