#include <math.h>
#include <string.h>

#include "costmodel/cost.h"
#include "costmodel/device_defaults.h"

// One pass over the program keeps a clock per class and the collectives of each stream; a second
// finds how much of each collective lies under computation. O(events x classes), no heap: the order
// of events is given. With contention an op and a collective beside each other slow each other
// down; what a class does later in the program may still move a collective that another class saw
// end.

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

// A collective: begins when all classes have reached it and the one before it on the stream has
// ended; ends `sec` later, and as much later again as computing beside it held it up.
typedef struct coll {
    int event;
    bool put, quiet;
    double reached, sec, held_up;
    double begin, end;
} coll;

typedef struct state {
    int n_classes, n_streams, n_events, n_colls; // collectives of all streams together
    const cost_contentions *beside;
    double clock[CL_MAX_CLASSES];
    coll *coll; // [stream][n_colls], n_coll[stream] of them
    int *n_coll;
    int *place;      // by event, START only: in its stream
    int *next;       // [class][stream]: the first collective that may end after the class's clock
    double *held_up; // [class][stream][n_colls]: by this class alone
    span *compute;   // [class][event], n_compute[class] of them; without a pause it is one
    int n_compute[CL_MAX_CLASSES];
    span *comm; // [n_colls]
    double
        more; // rounds that are not simulated; they are as the second one, begun at clock `from`:
    double from, busy[CL_MAX_CLASSES];
    int *first, *end; // [stream]: its collectives
} state;

static void keep(cost_timeline *t, int event, int n_classes, int cls, double begin, double end)
{
    if (!t->begin) return;
    t->begin[event * n_classes + cls] = begin;
    t->end[event * n_classes + cls] = end;
}

// Times of the collectives of a stream from its i-th on.
static void place_from(state *s, int stream, int i)
{
    coll *k = s->coll + stream * s->n_colls;
    for (; i < s->n_coll[stream]; i++) {
        double free_at = i > 0 ? k[i - 1].end : 0;
        k[i].begin = k[i].reached > free_at ? k[i].reached : free_at;
        k[i].end = k[i].begin + k[i].sec + k[i].held_up;
    }
}

static const cost_contention *slowed(const state *s, int c, const coll *k)
{
    static const cost_contention none = {1, 1};
    return k->quiet ? &none : &s->beside[c].of[k->put];
}

// Whether nothing communicates beside class c from its clock until `end`.
static bool alone(state *s, int c, double end)
{
    for (int k = 0; k < s->n_streams; k++) {
        int *i = &s->next[c * s->n_streams + k];
        const coll *list = s->coll + k * s->n_colls;
        while (*i < s->n_coll[k] && list[*i].end <= s->clock[c])
            ++*i;
        if (*i < s->n_coll[k] && list[*i].begin < end) return false;
    }
    return true;
}

// Class c computes for `sec`, from its clock on, beside whatever communicates meanwhile: both go on
// at their slower rates until one of them ends; beside several the op goes on as beside the one
// that slows it most. Returns when the op ends.
static double contended(state *s, int c, double sec)
{
    double t = s->clock[c];
    if (sec > 0 && alone(s, c, t + sec)) return t + sec;
    while (sec > 0) {
        double until = (double)INFINITY, rate = 1; // until something begins or ends
        coll *running[COST_MAX_STREAMS];
        int stream[COST_MAX_STREAMS], n = 0;
        for (int k = 0; k < s->n_streams && n < COST_MAX_STREAMS; k++) {
            int *i = &s->next[c * s->n_streams + k];
            coll *list = s->coll + k * s->n_colls;
            while (*i < s->n_coll[k] && list[*i].end <= t)
                ++*i;
            if (*i == s->n_coll[k]) continue;
            if (list[*i].begin > t) {
                if (list[*i].begin < until) until = list[*i].begin;
                continue;
            }
            stream[n] = k;
            running[n++] = &list[*i];
            const cost_contention *both = slowed(s, c, &list[*i]);
            double ends = t + (list[*i].end - t) * both->communication;
            if (ends < until) until = ends;
            if (both->compute > rate) rate = both->compute;
        }
        double ends = t + sec * rate, to = ends < until ? ends : until;
        for (int r = 0; r < n; r++) {
            int at = (int)(running[r] - (s->coll + stream[r] * s->n_colls));
            double *mine = &s->held_up[(c * s->n_streams + stream[r]) * s->n_colls + at];
            *mine += (to - t) * (1 - 1 / slowed(s, c, running[r])->communication);
            if (*mine <= running[r]->held_up) continue;
            running[r]->held_up = *mine;
            place_from(s, stream[r], at);
        }
        sec = ends <= until ? 0 : sec - (to - t) / rate;
        for (int r = 0; r < n; r++) // ended, up to rounding
            if (to >= until && running[r]->end <= to * (1 + COST_ROUNDING_FEW))
                ++s->next[c * s->n_streams + stream[r]];
        t = to;
    }
    return t;
}

static void computed(state *s, cost_timeline *t, int c, span x, int i)
{
    span *next = s->compute + c * s->n_events + s->n_compute[c];
    s->clock[c] = x.end;
    t->busy[c] += x.end - x.begin;
    if (s->n_compute[c] > 0 && next[-1].end >= x.begin) { // no pause between
        next[-1].end = x.end;
    } else {
        *next = x;
        s->n_compute[c]++;
    }
    keep(t, i, s->n_classes, c, x.begin, x.end);
}

static void compute(state *s, cost_timeline *t, const cost_event *e, int i)
{
    for (int c = 0; c < s->n_classes; c++) {
        hb_assert(e->sec[c] >= 0);
        double end = s->beside ? contended(s, c, e->sec[c]) : s->clock[c] + e->sec[c];
        computed(s, t, c, (span){s->clock[c], end}, i);
    }
}

static void start(state *s, const cost_event *e, int i)
{
    coll *k = &s->coll[e->stream * s->n_colls + s->n_coll[e->stream]];
    hb_assert(e->sec[0] >= 0);
    *k = (coll){.event = i, .put = e->put, .quiet = e->quiet, .sec = e->sec[0]};
    for (int c = 0; c < s->n_classes; c++)
        if (s->clock[c] > k->reached) k->reached = s->clock[c];
    s->place[i] = s->n_coll[e->stream]++;
    place_from(s, e->stream, s->place[i]);
}

// What the members slow each other is in their seconds.
static void pair(state *s, cost_timeline *t, const cost_event *e, int i)
{
    const cost_pair_event *p = e->pair;
    cost_event transfer = *e;
    double all = 0;
    for (int c = 0; c < s->n_classes; c++)
        all = fmax(all, s->clock[c]);
    transfer.sec[0] = p->transfer;
    start(s, &transfer, i);
    coll *k = &s->coll[e->stream * s->n_colls + s->place[i]];
    if (!p->consumer) {
        k->reached = fmax(all, all + p->total - p->transfer);
        place_from(s, e->stream, s->place[i]);
    }
    for (int c = 0; c < s->n_classes; c++) {
        double begin = p->consumer ? k->begin : s->clock[c], end = begin + e->sec[c];
        hb_assert(e->sec[c] >= 0 && p->busy[c] >= 0);
        // Own rows done before shorten what is left, but for what waits for messages anyway.
        double early = p->consumer ? fmin(p->own[c], k->begin - s->clock[c]) : 0;
        double idle = e->sec[c] - p->busy[c];
        if (early > idle) end -= early - idle;
        span x = {p->consumer ? fmax(s->clock[c], end - p->busy[c]) : begin, end};
        computed(s, t, c, x, p->shown);
    }
}

// The wait's own times: from the earliest arrival to the last departure.
static void wait(state *s, cost_timeline *t, const cost_event *e, int i, int stream)
{
    double first = s->clock[0], last = 0;
    double end = s->coll[stream * s->n_colls + s->place[e->of]].end;
    for (int c = 0; c < s->n_classes; c++) {
        if (s->clock[c] < first) first = s->clock[c];
        if (s->clock[c] < end) s->clock[c] = end;
        if (s->clock[c] > last) last = s->clock[c];
    }
    keep(t, i, s->n_classes, 0, first, last);
}

static double last_clock(const state *s)
{
    double last = 0;
    for (int c = 0; c < s->n_classes; c++)
        last = fmax(last, s->clock[c]);
    return last;
}

static void begin_second(state *s, const cost_timeline *t)
{
    s->from = last_clock(s);
    memcpy(s->busy, t->busy, sizeof s->busy);
    memcpy(s->first, s->n_coll, sizeof *s->first * (size_t)s->n_streams);
}

// The later rounds, after the second.
static void go_on(state *s, cost_timeline *t, double more)
{
    double sec = more * (last_clock(s) - s->from);
    s->more = more;
    memcpy(s->end, s->n_coll, sizeof *s->end * (size_t)s->n_streams);
    for (int c = 0; c < s->n_classes; c++) {
        s->clock[c] += sec;
        t->busy[c] += more * (t->busy[c] - s->busy[c]);
    }
}

// Collectives as they were in the end.
static void close(state *s, cost_timeline *t, double *free_at)
{
    for (int k = 0; k < s->n_streams; k++) {
        const coll *list = s->coll + k * s->n_colls;
        for (int i = 0; i < s->n_coll[k]; i++) {
            s->comm[i] = (span){list[i].begin, list[i].end};
            t->comm += list[i].end - list[i].begin;
            keep(t, list[i].event, s->n_classes, 0, list[i].begin, list[i].end);
            *free_at = fmax(*free_at, list[i].end);
        }
        for (int i = s->first[k]; i < s->end[k]; i++)
            t->comm += s->more * (list[i].end - list[i].begin);
        for (int c = 0; c < s->n_classes; c++) {
            const span *busy = s->compute + c * s->n_events;
            double hidden = hidden_under(busy, s->n_compute[c], s->comm, s->n_coll[k]);
            if (s->more > 0)
                hidden += s->more * hidden_under(busy, s->n_compute[c], s->comm + s->first[k],
                                                 s->end[k] - s->first[k]);
            t->hidden += hidden / s->n_classes;
        }
    }
}

static void event(state *s, cost_timeline *t, const cost_event *e, int i)
{
    switch (e[i].kind) {
    case COST_COMPUTE:
        compute(s, t, &e[i], i);
        break;
    case COST_START:
        start(s, &e[i], i);
        break;
    case COST_WAIT:
        hb_assert(e[i].of >= 0 && e[i].of < i &&
                  (e[e[i].of].kind == COST_START || e[e[i].of].kind == COST_PAIR));
        wait(s, t, &e[i], i, e[e[i].of].stream);
        break;
    case COST_PAIR:
        pair(s, t, &e[i], i);
        break;
    case COST_MEMBER:
        break;
    }
}

static bool is_coll(const cost_event *e)
{
    return e->kind == COST_START || e->kind == COST_PAIR;
}

// A round that is not the last.
static void round_of(state *s, cost_timeline *t, const cost_event *e, const cost_again *again,
                     bool first)
{
    for (int k = again->first; k < again->end; k++)
        if (e[k].round == COST_EACH_ROUND || (first && e[k].round == COST_FIRST_ROUND))
            event(s, t, e, k);
}

static void make_room(state *s, hb_arena *a, const cost_event *e, int n, const cost_again *again)
{
    for (int i = 0; i < n; i++) {
        hb_assert(e[i].stream >= 0);
        if (!is_coll(&e[i])) continue;
        s->n_colls += again && i >= again->first && i < again->end ? COST_ROUNDS : 1;
        if (e[i].stream >= s->n_streams) s->n_streams = e[i].stream + 1;
    }
    s->n_coll = HB_ARRAY(a, int, s->n_streams);
    s->first = HB_ARRAY(a, int, s->n_streams);
    s->end = HB_ARRAY(a, int, s->n_streams);
    s->coll = hb_room(a, sizeof *s->coll, s->n_streams * s->n_colls + 1);
    s->place = hb_room(a, sizeof *s->place, n);
    s->compute = hb_room(a, sizeof *s->compute, s->n_classes * s->n_events);
    s->comm = hb_room(a, sizeof *s->comm, s->n_colls + 1);
    if (!s->beside) return;
    s->next = HB_ARRAY(a, int, s->n_classes * s->n_streams);
    s->held_up = HB_ARRAY(a, double, s->n_classes * s->n_streams * s->n_colls + 1);
}

void cost_simulate(hb_arena *a, int n_classes, const cost_contentions *beside, const cost_event *e,
                   int n, const cost_again *again, bool keep_times, cost_timeline *t)
{
    hb_assert(n_classes >= 1 && n_classes <= CL_MAX_CLASSES);
    if (again && again->times < 2) again = NULL;
    hb_arena *scratch = hb_arena_new();
    state s = {.n_classes = n_classes,
               .n_streams = 1,
               .n_events = n + (again ? (COST_ROUNDS - 1) * (again->end - again->first) : 0),
               .beside = beside};
    make_room(&s, scratch, e, n, again);
    memset(t, 0, sizeof *t);
    if (keep_times) {
        t->begin = HB_ARRAY(a, double, n *n_classes);
        t->end = HB_ARRAY(a, double, n *n_classes);
    }
    for (int i = 0; i <= n; i++) {
        if (again && i == again->first) {
            double before = last_clock(&s);
            round_of(&s, t, e, again, true);
            t->round = last_clock(&s) - before;
            if (again->times > 2) {
                begin_second(&s, t);
                round_of(&s, t, e, again, false);
                t->round = last_clock(&s) - s.from;
                go_on(&s, t, again->times - 3);
            }
            t->last = last_clock(&s);
        }
        bool last = again && i >= again->first && i < again->end;
        if (i < n && !(last && e[i].round == COST_FIRST_ROUND)) event(&s, t, e, i);
    }
    close(&s, t, &t->total);
    t->total = fmax(t->total, last_clock(&s));
    for (int c = 0; c < n_classes; c++)
        t->stalled[c] = t->total - t->busy[c];
    hb_arena_free(scratch);
}
