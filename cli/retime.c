#include "cli/retime.h"

#include <math.h>
#include <string.h>

static bool begins(hb_str s, const char *with)
{
    return s.n >= strlen(with) && memcmp(s.p, with, strlen(with)) == 0;
}

// How often an instruction runs in a step.
static double rounds(const hb_tree *in)
{
    return (double)cli_plan_int(in, "times", 1);
}

// An instruction's event; slower: by class.
static cost_event event_of(const hb_tree *in, const double *slower, int n_classes)
{
    hb_str call = cli_text_at(in, "call");
    const hb_tree *ms = cli_list_at(in, "ms");
    cost_event e = {.kind = COST_COMPUTE};
    if (hb_str_is(call, "hap_wait")) {
        e.kind = COST_WAIT;
        e.of = (int)cli_plan_int(in, "start", -1);
    } else if (begins(call, "coll_")) {
        e.kind = COST_START;
        e.stream = cli_plan_int(in, "axes", 1) == 2;
        e.sec[0] = ms->n > 0 ? ms->v[0]->f * rounds(in) / 1e3 : 0;
    } else {
        for (int c = 0; c < n_classes && ms->n > 0; c++)
            e.sec[c] = ms->v[c < ms->n ? c : 0]->f * slower[c] * rounds(in) / 1e3;
    }
    return e;
}

// Seconds of the plan's instructions one after the other; -1: they are broken.
static double simulate(hb_arena *a, const hb_tree *list, const double *slower, int n_classes)
{
    cost_event *e = HB_ARRAY(a, cost_event, list->n + 1);
    cost_timeline t = {0};
    for (int i = 0; i < list->n; i++) {
        e[i] = event_of(list->v[i], slower, n_classes);
        if (e[i].kind != COST_WAIT) continue;
        if (e[i].of < 0 || e[i].of >= i || e[e[i].of].kind != COST_START) return -1;
    }
    cost_simulate(a, n_classes, NULL, e, list->n, NULL, false, &t);
    return t.total;
}

double retime(hb_arena *a, const hb_tree *plan, const double *times)
{
    const hb_tree *ranks = cli_list_at(plan, "ranks"), *list = cli_list_at(plan, "instructions");
    double same[CL_MAX_CLASSES], slower[CL_MAX_CLASSES] = {0};
    int n_classes = cli_list_at(plan, "classes")->n;
    if (n_classes < 1 || n_classes > CL_MAX_CLASSES) return -1;
    for (int i = 0; i < ranks->n; i++) {
        int64_t r = cli_plan_int(ranks->v[i], "rank", -1),
                c = cli_plan_int(ranks->v[i], "class", -1);
        if (r >= 0 && c >= 0 && c < n_classes) slower[c] = fmax(slower[c], times[r]);
    }
    for (int c = 0; c < n_classes; c++)
        same[c] = 1;
    double before = simulate(a, list, same, n_classes), now = simulate(a, list, slower, n_classes);
    double ms = cli_number_at(plan, "predicted_ms");
    return before > 0 && now > 0 && ms > 0 ? ms / 1e3 * now / before : -1;
}
