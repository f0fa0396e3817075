// hapc compare DIR TRACE: what `hapc run --trace` measured beside what the plan predicts, by kind
// of call and by call, largest differences first.
//
// Calls are matched by name and line of program.c. A call of a block runs once a layer: all of a
// line are one row. Figures are milliseconds a step, on the average of the devices.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/compare_correct.h"
#include "cli/compare_overlay.h"
#include "cli/compare_page.h"
#include "cli/measured_calls.h"
#include "cli/plan_words.h"
#include "emit/words.h"

// Below this share of a time, or so many milliseconds, a difference is of digits.
static const double SAME = 1e-4, DIGITS = 3e-6;

static double difference(double predicted, double measured)
{
    double off = measured - predicted;
    return fabs(off) < fmax(DIGITS, SAME * fmax(measured, predicted)) ? 0 : off;
}

static call *call_of(hb_arena *a, calls *c, hb_str name)
{
    int at = hb_map_get(c->at, name);
    if (at < 0) {
        at = c->list.n;
        hb_map_put(c->at, name, at);
        HB_PUSH(a, &c->list, (call){.name = name});
    }
    return &c->list.p[at];
}

// "op_linear" of "op_linear:83".
static hb_str kind_of(hb_str name)
{
    const char *colon = memchr(name.p, ':', name.n);
    return colon ? (hb_str){name.p, (size_t)(colon - name.p)} : name;
}

// What every call takes in one step, over all ranks.
static void read_predicted(comparison *x)
{
    const hb_tree *instr = hb_get(x->plan, "instructions"), *ranks = hb_get(x->plan, "ranks");
    for (int i = 0; i < instr->n; i++) {
        const hb_tree *in = instr->v[i], *begin = hb_get(in, "begin_ms"),
                      *end = hb_get(in, "end_ms");
        int64_t line = cli_plan_int(in, "line", 0);
        if (!begin || !end || line == 0) continue;
        hb_str name = plan_call(in);
        int64_t stage = cli_plan_int(in, "stage", 0);
        int times = (int)cli_plan_int(in, "times", 1);
        call *c =
            call_of(x->a, &x->lines, hb_fmt(x->a, "%.*s:%lld", HB_ARG(name), (long long)line));
        c->what = cli_text_at(in, "node");
        for (int r = 0; r < ranks->n; r++) {
            int64_t cls = cli_plan_int(ranks->v[r], "class", -1);
            if (cls < 0 || cli_plan_int(ranks->v[r], "stage", 0) != stage) continue;
            int at = begin->n == 1 ? 0 : (int)cls;
            if (at >= begin->n || at >= end->n) continue;
            c->predicted += times * (end->v[at]->f - begin->v[at]->f);
            c->n_predicted += times;
        }
    }
}

static bool read_measured(comparison *x, const hb_tree *trace, const char *path)
{
    double *predicted = HB_ARRAY(x->a, double, x->lines.list.n + 1);
    measured_calls all = {0};
    for (int i = 0; i < x->lines.list.n; i++)
        predicted[i] = x->lines.list.p[i].predicted;
    if (!measured_calls_read(x->a, trace, path, x->lines.at, predicted, &all)) return false;
    for (int i = 0; i < all.list.n; i++) {
        const measured_call *e = &all.list.p[i];
        if (e->name.n > 9 && memcmp(e->name.p, "hap_wait:", 9) == 0)
            continue; // what a rank waits is not what a call takes
        int at = hb_map_get(x->lines.at, e->name);
        if (at < 0) { // line 0: a view
            x->unknown += e->name.n < 2 || memcmp(e->name.p + e->name.n - 2, ":0", 2) != 0;
            continue;
        }
        x->lines.list.p[at].measured += e->ms;
        x->lines.list.p[at].n_measured++;
    }
    x->step_ms = measured_median(all.step.p, all.step.n);
    x->all_ms = all.ms;
    x->n_steps = all.n_steps;
    return true;
}

// Steps of the trace: how often calls stand in it, as most of them say.
static double steps_of(const comparison *x)
{
    double *times = HB_ARRAY(x->a, double, x->lines.list.n + 1);
    int n = 0;
    for (int i = 0; i < x->lines.list.n; i++) {
        const call *c = &x->lines.list.p[i];
        if (c->n_measured > 0 && c->n_predicted > 0)
            times[n++] = (double)c->n_measured / (double)c->n_predicted;
    }
    return measured_median(times, n);
}

// Sums by kind, and all a step and rank.
static void sum_up(comparison *x)
{
    for (int i = 0; i < x->lines.list.n; i++) {
        call *c = &x->lines.list.p[i];
        c->predicted /= x->n_ranks;
        c->measured /= x->steps * x->n_ranks;
        if (c->n_measured == 0) continue; // the runtime may do it within another call
        call *k = call_of(x->a, &x->kinds, hb_str_n(x->a, c->name.p, kind_of(c->name).n));
        k->predicted += c->predicted;
        k->measured += c->measured;
        k->n_measured++;
    }
    if (x->step_ms == 0) x->step_ms = x->all_ms / x->steps;
}

static int by_difference(const void *a, const void *b)
{
    const call *x = a, *y = b;
    double p = fabs(difference(x->predicted, x->measured)),
           q = fabs(difference(y->predicted, y->measured));
    if (p != q) return p > q ? -1 : 1;
    return hb_str_cmp(x->name, y->name);
}

static void print_row(hb_arena *a, hb_str name, hb_str what, double predicted, double measured)
{
    double off = difference(predicted, measured);
    hb_str change = predicted > 0 ? hb_fmt(a, "%+.0f %%", 100 * off / predicted) : HB_STR("new");
    hb_str by = hb_fmt(a, "%s%.*s",
                       off < 0   ? "-"
                       : off > 0 ? "+"
                                 : "",
                       HB_ARG(say_sec(a, fabs(off) / 1e3)));
    printf("  %-26.*s %10.*s %10.*s %10.*s %8.*s  %.*s\n", HB_ARG(say_name(a, name)),
           HB_ARG(say_sec(a, predicted / 1e3)), HB_ARG(say_sec(a, measured / 1e3)), HB_ARG(by),
           HB_ARG(change), HB_ARG(say_name(a, what)));
}

static void print_calls(const comparison *x, const char *title, calls *c, bool sends)
{
    enum { MOST = 12 };
    int shown = 0;
    qsort(c->list.p, (size_t)c->list.n, sizeof *c->list.p, by_difference);
    for (int i = 0; i < c->list.n && shown < MOST; i++) {
        const call *k = &c->list.p[i];
        bool coll = k->name.n > 5 && memcmp(k->name.p, "coll_", 5) == 0;
        if (k->n_measured == 0 || coll != sends) continue;
        if (shown++ == 0) printf("\n%s\n", title);
        print_row(x->a, k->name, k->what, k->predicted, k->measured);
    }
}

static void print(comparison *x)
{
    int missing = 0, n = 0;
    for (int i = 0; i < x->lines.list.n; i++)
        missing += x->lines.list.p[i].n_measured == 0;
    if (x->n_steps > 0) printf("%d steps, of which the last ", x->n_steps);
    printf("%.0f %son %d devices; times a step, on the average of the devices\n\n", x->steps,
           x->n_steps > 0 ? "count, " : "steps ", x->n_ranks);
    printf("  %-26s %10s %10s %10s %8s\n", "", "predicted", "measured", "differs", "by");
    print_row(x->a, HB_STR("step"), HB_STR(""), cli_number_at(x->plan, "predicted_ms"), x->step_ms);
    qsort(x->kinds.list.p, (size_t)x->kinds.list.n, sizeof *x->kinds.list.p, by_difference);
    printf("\nLargest differences: ");
    for (; n < x->kinds.list.n && n < 3; n++)
        printf("%s%.*s", n ? ", " : "", HB_ARG(say_name(x->a, x->kinds.list.p[n].name)));
    printf("%s\n", n ? "" : "none");
    print_calls(x, "Ops", &x->kinds, false);
    print_calls(x, "Collectives", &x->kinds, true);
    print_calls(x, "Calls of program.c", &x->lines, false);
    print_calls(x, "Collectives of program.c", &x->lines, true);
    if (missing > 0)
        printf(
            "\n%d calls of the plan are not in the trace: the runtime makes them part of others.\n",
            missing);
    if (x->unknown > 0)
        printf("\n%lld events of the trace are no calls of this plan.\n", (long long)x->unknown);
}

static int compare(hb_arena *a, const char *dir, const char *path, const char *out,
                   const char *overlay)
{
    comparison x = {.a = a, .plan = cli_plan(a, dir)};
    if (!x.plan) return CLI_INPUT;
    x.lines.at = hb_map_new(a);
    x.kinds.at = hb_map_new(a);
    x.n_ranks = (int)cli_plan_int(x.plan, "n_ranks", 0);
    const hb_tree *instr = hb_get(x.plan, "instructions"), *ranks = hb_get(x.plan, "ranks");
    if (x.n_ranks < 1 || !instr || instr->kind != HB_LIST || !ranks || ranks->kind != HB_LIST)
        return cli_error(CLI_INPUT, "%s/plan.json is broken", dir);
    hb_source *src = HB_NEW(a, hb_source);
    const char *why = NULL;
    src->name = hb_str_c(a, path);
    if (!hb_read_file(a, path, &src->text, &why)) return cli_error(CLI_INPUT, "%s: %s", path, why);
    hb_diag *d = hb_diag_new(a);
    const hb_tree *trace = hb_json_read(a, src, d);
    hb_diag_print(d, stderr);
    if (!trace) return CLI_INPUT;
    read_predicted(&x);
    if (!read_measured(&x, trace, path)) return CLI_INPUT;
    x.steps = steps_of(&x);
    if (!(x.steps > 0))
        return cli_error(CLI_INPUT, "%s: no event of it is a call of %s/program.c", path, dir);
    sum_up(&x);
    print(&x);
    compare_page(&x, dir, path);
    if (overlay && !compare_overlay(a, dir, x.plan, trace, overlay)) return CLI_INPUT;
    return out ? compare_correct(a, dir, x.plan, trace, path, out) : CLI_OK;
}

int cmd_compare(int argc, char **argv)
{
    const char *arg[2] = {NULL, NULL}, *out = NULL, *overlay = NULL;
    const cli_option options[] = {{"-o", &out, NULL}, {"--overlay", &overlay, NULL}};
    cli_line line = {.least = 2, .most = 2, .rest = arg};
    int code = cli_parse("compare", argc, argv, options, 2, &line);
    if (code != CLI_GO) return code;
    hb_arena *a = hb_arena_new();
    code = compare(a, arg[0], arg[1], out, overlay);
    hb_arena_free(a);
    return code;
}
