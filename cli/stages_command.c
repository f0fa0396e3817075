#include "cli/stages_command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/search/search_stages.h"

// --stages 0-5@m0,6-8@m1:0-1,9-11@m1:2+m2: layers, from 0 on, and the machines that have them, or
// devices of these, counted from 0.
typedef struct reader {
    hb_arena *a;
    hb_source src;
    const char *at;
    hb_diag *d;
    const cl_cluster *c;
    int n_layers;
    int *stage_of; // by rank, -1 none
    HB_VEC(syn_stage_wish) wishes;
    HB_VEC(bool *) devices; // of each
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

// A number below `end`.
static bool read_device(reader *r, hb_str machine, int end, int *out)
{
    const char *from = r->at;
    int n = 0;
    for (; *r->at >= '0' && *r->at <= '9' && n < end; r->at++)
        n = 10 * n + (*r->at - '0');
    if (r->at == from) {
        wrong(r, from, HB_STR("a device's number is wanted here"));
        return false;
    }
    *out = n;
    if (n < end) return true;
    wrong(r, from,
          hb_fmt(r->a, "machine '%.*s' has no such device: it has %d, from 0 on", HB_ARG(machine),
                 end));
    return false;
}

// "", ":0-3" or ":2" behind a machine's name: all its devices or some that follow each other.
static bool read_part(reader *r, const cl_machine *m, int *first, int *last)
{
    *first = 0;
    *last = m->n_ranks - 1;
    if (*r->at != ':') return true;
    r->at++;
    const char *from = r->at;
    if (!read_device(r, m->name, m->n_ranks, first)) return false;
    *last = *first;
    if (*r->at != '-') return true;
    r->at++;
    if (!read_device(r, m->name, m->n_ranks, last)) return false;
    if (*first <= *last) return true;
    wrong(r, from, HB_STR("devices are named in ascending order"));
    return false;
}

static bool take_part(reader *r, const char *at, const cl_machine *m, bool *device)
{
    int first, last;
    if (!read_part(r, m, &first, &last)) return false;
    for (int k = m->first_rank; k < m->first_rank + m->n_ranks; k++) {
        bool wanted = first <= k - m->first_rank && k - m->first_rank <= last;
        if (device[k] && !wanted) { // its devices are to follow each other
            wrong(r, at,
                  hb_fmt(r->a, "not supported: two parts of machine '%.*s' in one stage",
                         HB_ARG(m->name)));
            return false;
        }
        if (wanted && r->stage_of[k] >= 0) {
            hb_str what = m->n_ranks == last - first + 1
                              ? HB_STR("")
                              : hb_fmt(r->a, "device %d of ", k - m->first_rank);
            wrong(r, at,
                  hb_fmt(r->a, "not supported: %.*smachine '%.*s' has stage %d already",
                         HB_ARG(what), HB_ARG(m->name), r->stage_of[k]));
            return false;
        }
        if (!wanted) continue;
        device[k] = true;
        r->stage_of[k] = r->wishes.n;
    }
    return true;
}

static bool read_machine(reader *r, bool *device)
{
    size_t n = strcspn(r->at, ",+:");
    const char *at = r->at, *end = at + n;
    hb_str name = {at, n};
    bool any = false;
    for (int m = 0; m < r->c->n_machines; m++) {
        if (!hb_glob(name, r->c->machine[m].name)) continue;
        any = true;
        r->at = at + n;
        if (!take_part(r, at, &r->c->machine[m], device)) return false;
        end = r->at;
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
    r->at = end;
    return true;
}

static bool read_stages(reader *r)
{
    int next = 0, last;
    for (;; r->at++) {
        syn_stage_wish w = {.first_layer = next};
        bool *device = HB_ARRAY(r->a, bool, r->c->n_ranks + 1);
        if (!read_layers(r, next, &last)) return false;
        if (*r->at != '@') {
            wrong(r, r->at, HB_STR("'@' and the stage's machines are wanted here"));
            return false;
        }
        do {
            r->at++;
            if (!read_machine(r, device)) return false;
        } while (*r->at == '+');
        HB_PUSH(r->a, &r->wishes, w);
        HB_PUSH(r->a, &r->devices, device);
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
        if (!syn_stage_model(a, &in->model, r->devices.p[s], rank[s], &m[s], d)) return false;
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
    r.stage_of = HB_ARRAY(a, int, in->cluster->n_ranks + 1);
    for (int k = 0; k < in->cluster->n_ranks; k++)
        r.stage_of[k] = -1;
    cost_model m[IR_MAX_STAGES];
    int *rank[IR_MAX_STAGES];
    syn_staged_result res = {.status = SYN_INFEASIBLE};
    bool shown = x->out || (!x->json && !x->quiet);
    syn_options half = *o; // of the time, where there are two plans
    if (shown) half.time_limit_sec /= 2;
    if (read_stages(&r) && models(a, in, &r, m, rank, d) && !x->only_read)
        res = syn_plan_stages(a, in->g, in->cluster, r.wishes.n, r.wishes.p, m, rank, &half, d);
    hb_diag_print(d, stderr);
    if (hb_diag_count(d) > 0) return CLI_INPUT;
    if (x->only_read) return CLI_GO;
    if (!res.plan) return no_plan(&res);
    cli_staged compared = *x;
    if (shown) compared.about.whole = without_stages(a, in, &half);
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
