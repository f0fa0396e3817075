#include "cli/measured_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan_words.h"

typedef struct reader {
    hb_arena *a;
    hb_map *known;
    const double *predicted;
    measured_calls *out;
} reader;

static double predicted_of(const reader *r, hb_str name)
{
    int at = hb_map_get(r->known, name);
    return at < 0 ? 0 : r->predicted[at];
}

static void add(reader *r, hb_str name, int rank, double ms)
{
    HB_PUSH(r->a, &r->out->list, (measured_call){name, rank, ms});
}

// One call, or several that ran as one. Where nothing is predicted of them all is the first one's.
static void add_event(reader *r, const hb_tree *e, int rank, double ms)
{
    hb_str name = cli_text_at(e, "name");
    const hb_tree *args = hb_get(e, "args"), *joined = cli_list_at(args ? args : e, "joined");
    double all = predicted_of(r, name), own = all;
    for (int i = 0; i < joined->n; i++)
        if (joined->v[i]->kind == HB_TEXT) all += predicted_of(r, joined->v[i]->s);
    add(r, name, rank, all > 0 ? ms * own / all : ms);
    for (int i = 0; i < joined->n; i++) {
        if (joined->v[i]->kind != HB_TEXT) continue;
        double share = all > 0 ? predicted_of(r, joined->v[i]->s) / all : 0;
        add(r, joined->v[i]->s, rank, ms * share);
    }
}

static bool is_step(const hb_tree *e)
{
    hb_str name = cli_text_at(e, "name");
    return name.n > 5 && memcmp(name.p, "step:", 5) == 0;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double measured_median(double *v, int n)
{
    if (n == 0) return 0;
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

// When the steps that count begin.
static double read_steps(hb_arena *a, const hb_tree *events, measured_calls *out)
{
    HB_VEC(double) begin = {0}, ms = {0};
    for (int i = 0; i < events->n; i++) {
        const hb_tree *e = events->v[i];
        double ts = cli_number_at(e, "ts"), took = cli_number_at(e, "dur");
        if (!is_step(e) || cli_plan_int(e, "pid", -1) != 0 || isnan(ts) || isnan(took)) continue;
        HB_PUSH(a, &begin, ts);
        HB_PUSH(a, &ms, took / 1e3);
    }
    if (begin.n == 0) return -HUGE_VAL;
    double *sorted = HB_ARRAY(a, double, begin.n);
    memcpy(sorted, begin.p, (size_t)begin.n * sizeof *sorted);
    double from = measured_median(sorted, begin.n);
    for (int i = 0; i < begin.n; i++)
        if (begin.p[i] >= from) HB_PUSH(a, &out->step, ms.p[i]);
    out->n_steps = begin.n;
    return from;
}

bool measured_calls_read(hb_arena *a, const hb_tree *trace, const char *path, hb_map *known,
                         const double *predicted, measured_calls *out)
{
    const hb_tree *events = hb_get(trace, "traceEvents");
    reader r = {a, known, predicted, out};
    double first = HUGE_VAL, last = -HUGE_VAL;
    if (!events || events->kind != HB_LIST) {
        cli_error(CLI_INPUT, "%s: no traceEvents: no trace of `hapc run --trace`", path);
        return false;
    }
    double from = read_steps(a, events, out);
    for (int i = 0; i < events->n; i++) {
        const hb_tree *e = events->v[i];
        double begin = cli_number_at(e, "ts"), took = cli_number_at(e, "dur");
        int64_t rank = cli_plan_int(e, "pid", -1);
        if (!hb_str_is(cli_text_at(e, "ph"), "X") || isnan(took) || rank < 0 || !(begin >= from) ||
            is_step(e))
            continue;
        first = fmin(first, begin);
        last = fmax(last, begin + took);
        add_event(&r, e, (int)rank, took / 1e3);
    }
    out->ms = last > first ? (last - first) / 1e3 : 0;
    return true;
}
