#include <string.h>

#include "costmodel/cost.h"

// One pass over the program keeps a clock per class and per stream; a second finds how much of each
// collective lies under computation. O(events x classes), no heap: the order of events is given.

typedef struct span {
    double begin, end;
} span;

// Seconds that `spans` (disjoint, ascending) cover before time t. *next: the first span that does
// not end before t, *done: what the earlier ones cover; both advance with t.
static double covered(const span *spans, int n, int *next, double *done, double t)
{
    while (*next < n && spans[*next].end <= t) {
        *done += spans[*next].end - spans[*next].begin;
        ++*next;
    }
    bool inside = *next < n && spans[*next].begin < t;
    return *done + (inside ? t - spans[*next].begin : 0);
}

static double hidden_under(const span *compute, int n_compute, const span *comm, int n_comm)
{
    int next[2] = {0, 0};
    double done[2] = {0, 0}, hidden = 0;
    for (int i = 0; i < n_comm; i++) {
        double before = covered(compute, n_compute, &next[0], &done[0], comm[i].begin);
        hidden += covered(compute, n_compute, &next[1], &done[1], comm[i].end) - before;
    }
    return hidden;
}

typedef struct state {
    int n_classes, n_streams, n_events;
    double clock[CL_MAX_CLASSES];
    double *free_at; // by stream
    double *end;     // by event, START only
    span *compute;   // [class][event], n_compute[class] of them; without a pause it is one
    int n_compute[CL_MAX_CLASSES];
    span *comm; // [stream][event]
    int *n_comm;
} state;

static void keep(cost_timeline *t, int event, int n_classes, int cls, double begin, double end)
{
    if (!t->begin) return;
    t->begin[event * n_classes + cls] = begin;
    t->end[event * n_classes + cls] = end;
}

static void compute(state *s, cost_timeline *t, const cost_event *e, int i)
{
    for (int c = 0; c < s->n_classes; c++) {
        span x = {s->clock[c], s->clock[c] + e->sec[c]};
        span *next = s->compute + c * s->n_events + s->n_compute[c];
        hb_assert(e->sec[c] >= 0);
        s->clock[c] = x.end;
        t->busy[c] += e->sec[c];
        if (s->n_compute[c] > 0 && next[-1].end >= x.begin) { // no pause between
            next[-1].end = x.end;
        } else {
            *next = x;
            s->n_compute[c]++;
        }
        keep(t, i, s->n_classes, c, x.begin, x.end);
    }
}

static void start(state *s, cost_timeline *t, const cost_event *e, int i)
{
    double begin = s->free_at[e->stream];
    hb_assert(e->sec[0] >= 0);
    for (int c = 0; c < s->n_classes; c++)
        if (s->clock[c] > begin) begin = s->clock[c];
    s->end[i] = s->free_at[e->stream] = begin + e->sec[0];
    s->comm[e->stream * s->n_events + s->n_comm[e->stream]++] = (span){begin, s->end[i]};
    t->comm += e->sec[0];
    keep(t, i, s->n_classes, 0, begin, s->end[i]);
}

// The wait's own times: from the earliest arrival to the last departure.
static void wait(state *s, cost_timeline *t, const cost_event *e, int i)
{
    double first = s->clock[0], last = 0;
    for (int c = 0; c < s->n_classes; c++) {
        if (s->clock[c] < first) first = s->clock[c];
        if (s->clock[c] < s->end[e->of]) s->clock[c] = s->end[e->of];
        if (s->clock[c] > last) last = s->clock[c];
    }
    keep(t, i, s->n_classes, 0, first, last);
}

void cost_simulate(hb_arena *a, int n_classes, const cost_event *e, int n, bool keep_times,
                   cost_timeline *t)
{
    hb_assert(n_classes >= 1 && n_classes <= CL_MAX_CLASSES);
    hb_arena *scratch = hb_arena_new();
    state s = {.n_classes = n_classes, .n_streams = 1, .n_events = n};
    for (int i = 0; i < n; i++) {
        hb_assert(e[i].stream >= 0);
        if (e[i].kind == COST_START && e[i].stream >= s.n_streams) s.n_streams = e[i].stream + 1;
    }
    s.free_at = HB_ARRAY(scratch, double, s.n_streams);
    s.n_comm = HB_ARRAY(scratch, int, s.n_streams);
    s.end = hb_room(scratch, sizeof *s.end, n);
    s.compute = hb_room(scratch, sizeof *s.compute, n_classes * n);
    s.comm = hb_room(scratch, sizeof *s.comm, s.n_streams * n);
    memset(t, 0, sizeof *t);
    if (keep_times) {
        t->begin = HB_ARRAY(a, double, n *n_classes);
        t->end = HB_ARRAY(a, double, n *n_classes);
    }
    for (int i = 0; i < n; i++) {
        switch (e[i].kind) {
        case COST_COMPUTE:
            compute(&s, t, &e[i], i);
            break;
        case COST_START:
            start(&s, t, &e[i], i);
            break;
        case COST_WAIT:
            hb_assert(e[i].of >= 0 && e[i].of < i && e[e[i].of].kind == COST_START);
            wait(&s, t, &e[i], i);
            break;
        }
    }
    for (int c = 0; c < n_classes; c++)
        if (s.clock[c] > t->total) t->total = s.clock[c];
    for (int k = 0; k < s.n_streams; k++)
        if (s.free_at[k] > t->total) t->total = s.free_at[k];
    for (int c = 0; c < n_classes; c++) {
        t->stalled[c] = t->total - t->busy[c];
        for (int k = 0; k < s.n_streams; k++)
            t->hidden +=
                hidden_under(s.compute + c * n, s.n_compute[c], s.comm + k * n, s.n_comm[k]) /
                n_classes;
    }
    hb_arena_free(scratch);
}
