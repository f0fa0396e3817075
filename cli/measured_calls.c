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

typedef struct step {
    int64_t rank;
    double begin, ms;
} step;

static int by_rank(const void *a, const void *b)
{
    const step *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

typedef struct steps {
    HB_VEC(step) list; // by rank and time
} steps;

static steps steps_of(hb_arena *a, const hb_tree *events)
{
    steps x = {0};
    for (int i = 0; i < events->n; i++) {
        const hb_tree *e = events->v[i];
        step s = {cli_plan_int(e, "pid", -1), cli_number_at(e, "ts"),
                  cli_number_at(e, "dur") / 1e3};
        if (is_step(e) && s.rank >= 0 && !isnan(s.begin) && !isnan(s.ms)) HB_PUSH(a, &x.list, s);
    }
    if (x.list.n > 0) qsort(x.list.p, (size_t)x.list.n, sizeof *x.list.p, by_rank);
    return x;
}

// The steps of a rank that count, the later half: ranks do not begin them at once. NULL: none.
static const step *later_half(const steps *x, int64_t rank, int *n, int *of)
{
    int low = 0, high = x->list.n, end;
    while (low < high) {
        int middle = (low + high) / 2;
        if (x->list.p[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < x->list.n && x->list.p[end].rank == rank;)
        end++;
    *of = end - low;
    *n = *of - *of / 2;
    return *of > 0 ? &x->list.p[end - *n] : NULL;
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
    steps all = steps_of(a, events);
    int n;
    const step *counts = later_half(&all, 0, &n, &out->n_steps);
    for (int i = 0; counts && i < n; i++)
        HB_PUSH(a, &out->step, counts[i].ms);
    for (int i = 0; i < events->n; i++) {
        const hb_tree *e = events->v[i];
        double begin = cli_number_at(e, "ts"), took = cli_number_at(e, "dur");
        int64_t rank = cli_plan_int(e, "pid", -1);
        if (!hb_str_is(cli_text_at(e, "ph"), "X") || isnan(begin) || isnan(took) || rank < 0 ||
            is_step(e))
            continue;
        int of;
        counts = later_half(&all, rank, &n, &of);
        if (counts && begin < counts->begin) continue;
        first = fmin(first, begin);
        last = fmax(last, begin + took);
        add_event(&r, e, (int)rank, took / 1e3);
    }
    out->ms = last > first ? (last - first) / 1e3 : 0;
    return true;
}
