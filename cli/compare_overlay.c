#include "cli/compare_overlay.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/plan_words.h"
#include "emit/words.h"
#include "ir/base/plain.h"

enum {
#define HAP_LANE(name, text) LANE_##name,
#include "runtime/hap/trace_lanes.def"
#undef HAP_LANE
};
enum { RANKS_FROM = 1000, N_PHASES = 3 }; // pid of rank 0
static const char *const phases[N_PHASES] = {"forward", "backward", "update"};

typedef struct line { // of program.c
    hb_str node;
    int phase; // -1: none
} line;

typedef struct overlay {
    hb_arena *a;
    const hb_tree *plan;
    hb_map *at; // by name and line
    HB_VEC(line) lines;
    hb_buf text;
    int n;
} overlay;

static void read_lines(overlay *x)
{
    const hb_tree *instr = cli_list_at(x->plan, "instructions");
    for (int i = 0; i < instr->n; i++) {
        const hb_tree *in = instr->v[i];
        hb_str name = plan_call(in), phase = cli_text_at(in, "phase");
        line l = {cli_text_at(in, "node"), -1};
        for (int k = 0; k < N_PHASES; k++)
            if (hb_str_is(phase, phases[k])) l.phase = k;
        name = hb_fmt(x->a, "%.*s:%lld", HB_ARG(name), (long long)cli_plan_int(in, "line", 0));
        if (hb_map_get(x->at, name) >= 0) continue;
        hb_map_put(x->at, name, x->lines.n);
        HB_PUSH(x->a, &x->lines, l);
    }
}

static void put_event(overlay *x, hb_str name, hb_str of, int64_t pid, int64_t tid, double ts,
                      double dur)
{
    hb_puts(&x->text, x->n++ ? ",\n{\"name\":" : "\n{\"name\":");
    hb_put_json(&x->text, say_name(x->a, name));
    if (of.n > 0) {
        hb_puts(&x->text, ",\"cat\":");
        hb_put_json(&x->text, say_name(x->a, of));
    }
    hb_printf(&x->text, ",\"ph\":\"X\",\"pid\":%lld,\"tid\":%lld,\"ts\":%.3f,\"dur\":%.3f}",
              (long long)pid, (long long)tid, ts, dur);
}

static void put_label(overlay *x, const char *kind, int64_t pid, int tid, hb_str name)
{
    hb_printf(&x->text,
              "%s{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%lld,\"tid\":%d,\"args\":{\"name\":",
              x->n++ ? ",\n" : "\n", kind, (long long)pid, tid);
    hb_put_json(&x->text, say_name(x->a, name));
    hb_puts(&x->text, "}}");
}

static void put_process(overlay *x, int64_t pid, hb_str name)
{
    static const char *const lane[] = {
#define HAP_LANE(name, text) text,
#include "runtime/hap/trace_lanes.def"
#undef HAP_LANE
    };
    put_label(x, "process_name", pid, 0, name);
    for (int i = 0; i < LANE_STEPS; i++)
        put_label(x, "thread_name", pid, i, hb_str_c(x->a, lane[i]));
    put_label(x, "thread_name", pid, LANE_STEPS, HB_STR("phases"));
}

// The events of one process between two times, told from `zero`, and its phases.
static void put_events(overlay *x, const hb_tree *trace, int64_t of, int64_t pid, double from,
                       double to, double zero)
{
    const hb_tree *events = cli_list_at(trace, "traceEvents");
    double begin[N_PHASES] = {HUGE_VAL, HUGE_VAL, HUGE_VAL},
           end[N_PHASES] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < events->n; i++) {
        const hb_tree *e = events->v[i];
        double ts = cli_number_at(e, "ts"), dur = cli_number_at(e, "dur");
        hb_str name = cli_text_at(e, "name");
        int64_t tid = cli_plan_int(e, "tid", 0);
        if (!hb_str_is(cli_text_at(e, "ph"), "X") || cli_plan_int(e, "pid", -1) != of ||
            !(ts >= from) || !(ts < to) || isnan(dur) || tid == LANE_STEPS)
            continue;
        int at = hb_map_get(x->at, name);
        const line *l = at < 0 ? NULL : &x->lines.p[at];
        put_event(x, name, l ? l->node : (hb_str){"", 0}, pid, tid, ts - zero, dur);
        if (!l || l->phase < 0) continue;
        begin[l->phase] = fmin(begin[l->phase], ts - zero);
        end[l->phase] = fmax(end[l->phase], ts + dur - zero);
    }
    for (int k = 0; k < N_PHASES; k++)
        if (end[k] > begin[k])
            put_event(x, hb_str_c(x->a, phases[k]), (hb_str){"", 0}, pid, LANE_STEPS, begin[k],
                      end[k] - begin[k]);
}

// The step of median length of rank 0, by name; empty: the trace has no steps.
static hb_str median_step(hb_arena *a, const hb_tree *trace)
{
    const hb_tree *events = cli_list_at(trace, "traceEvents");
    HB_VEC(const hb_tree *) steps = {0};
    for (int i = 0; i < events->n; i++) {
        const hb_tree *e = events->v[i];
        hb_str name = cli_text_at(e, "name");
        if (cli_plan_int(e, "pid", -1) != 0 || cli_plan_int(e, "tid", -1) != LANE_STEPS ||
            name.n < 6 || memcmp(name.p, "step:", 5) != 0 || isnan(cli_number_at(e, "dur")))
            continue;
        int k = steps.n;
        HB_PUSH(a, &steps, e);
        for (; k > 0 && cli_number_at(steps.p[k - 1], "dur") > cli_number_at(e, "dur"); k--)
            steps.p[k] = steps.p[k - 1];
        steps.p[k] = e;
    }
    return steps.n > 0 ? cli_text_at(steps.p[steps.n / 2], "name") : (hb_str){"", 0};
}

// When a rank's step of that name begins and ends: ranks do not begin it at once.
static bool step_of(const hb_tree *trace, int64_t rank, hb_str step, double *from, double *to)
{
    const hb_tree *events = cli_list_at(trace, "traceEvents");
    for (int i = 0; i < events->n; i++) {
        const hb_tree *e = events->v[i];
        if (cli_plan_int(e, "pid", -1) != rank || cli_plan_int(e, "tid", -1) != LANE_STEPS ||
            !hb_str_eq(cli_text_at(e, "name"), step))
            continue;
        *from = cli_number_at(e, "ts");
        *to = *from + cli_number_at(e, "dur");
        return true;
    }
    return false;
}

bool compare_overlay(hb_arena *a, const char *dir, const hb_tree *plan, const hb_tree *trace,
                     const char *out)
{
    overlay x = {.a = a, .plan = plan, .at = hb_map_new(a), .text = {.arena = a}};
    const hb_tree *classes = cli_list_at(plan, "classes"), *ranks = cli_list_at(plan, "ranks");
    hb_source *src = HB_NEW(a, hb_source);
    const char *why = NULL;
    double zero, from, to;
    src->name = hb_fmt(a, "%s/trace.json", dir);
    if (!hb_read_file(a, src->name.p, &src->text, &why)) {
        cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(src->name), why);
        return false;
    }
    hb_diag *d = hb_diag_new(a);
    const hb_tree *predicted = hb_json_read(a, src, d);
    hb_diag_print(d, stderr);
    if (!predicted) return false;
    hb_str step = median_step(a, trace);
    if (step.n == 0 || !step_of(trace, 0, step, &zero, &to)) {
        cli_error(CLI_INPUT, "--overlay wants a trace that says when its steps begin; `hapc run "
                             "--trace` of this version writes one");
        return false;
    }
    read_lines(&x);
    hb_puts(&x.text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (int c = 0; c < classes->n; c++) {
        hb_str name = cli_text_at(classes->v[c], "name");
        put_process(&x, c, hb_fmt(a, "predicted: %.*s", HB_ARG(name)));
        put_events(&x, predicted, c, c, 0, HUGE_VAL, 0);
    }
    for (int i = 0; i < ranks->n; i++) {
        int64_t rank = cli_plan_int(ranks->v[i], "rank", -1),
                c = cli_plan_int(ranks->v[i], "class", -1);
        if (rank < 0 || c < 0 || c >= classes->n) continue; // it is not used
        if (!step_of(trace, rank, step, &from, &to)) continue;
        hb_str name = cli_text_at(classes->v[c], "name");
        put_process(&x, RANKS_FROM + rank,
                    hb_fmt(a, "measured: rank %lld, %.*s", (long long)rank, HB_ARG(name)));
        put_events(&x, trace, rank, RANKS_FROM + rank, from, to, zero);
    }
    hb_puts(&x.text, "\n]}\n");
    if (!hb_write_file(out, hb_done(&x.text))) {
        cli_error(CLI_INPUT, "%s: %s", out, strerror(errno));
        return false;
    }
    printf("\nWritten  %s: a predicted and a measured step, for ui.perfetto.dev\n", out);
    return true;
}
