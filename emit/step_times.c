#include "emit/step_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/price/pair_cost.h"

typedef struct interval {
    double from, to;
} interval;

typedef struct intervals {
    interval *p;
    int n;
} intervals;

ir_phase step_phase(const syn_program *p, int instr)
{
    return p->g->nodes.p[p->instr.p[instr].node].phase;
}

static int by_begin(const void *x, const void *y)
{
    const step_span *a = x, *b = y;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->instr > b->instr) - (a->instr < b->instr);
}

static void add_span(step_times *t, int lane, step_span s)
{
    if (s.end > s.begin) t->span[lane][t->n_spans[lane]++] = s;
}

// Of what runs in several micro-batches the times of the last are known: the others before it, none
// over the next.
static void add_earlier(const emit_plan *e, step_times *t, int lane)
{
    double first = HUGE_VAL, last = 0;
    const syn_program *p = e->p;
    int n = t->n_spans[lane];
    for (int i = 0; i < n; i++) {
        const step_span *s = &t->span[lane][i];
        if (!ir_in_slot(p->instr.p[s->instr].turn)) continue;
        first = fmin(first, s->begin);
        last = fmax(last, s->end);
    }
    double round = fmax(e->res->timeline.round, last - first);
    for (int i = 0; i < n; i++)
        for (int back = syn_instr_slots(p, &p->instr.p[t->span[lane][i].instr]) - 1; back > 0;
             back--) {
            step_span s = t->span[lane][i];
            s.begin = fmax(0, s.begin - back * round);
            s.end -= back * round;
            add_span(t, lane, s);
        }
}

// What runs when, by class and by stream.
static void find_spans(hb_arena *a, const emit_plan *e, step_times *t)
{
    const syn_program *p = e->p;
    const cost_timeline *line = &e->res->timeline;
    const syn_slot slot = syn_slot_of(p);
    int n = p->mesh->n_classes, most = p->instr.n + (slot.times - 1) * (slot.end - slot.first);
    for (int lane = 0; lane < n + p->mesh->n_axes; lane++)
        t->span[lane] = HB_ARRAY(a, step_span, most + 1);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT) {
            t->wait[in->start] = i;
        } else if (in->kind == SYN_START) {
            int lane = n + (in->axes == 2 && p->mesh->n_axes == 2);
            add_span(t, lane, (step_span){i, -1, line->begin[i * n], line->end[i * n]});
        } else {
            for (int c = 0; c < n; c++)
                add_span(t, c, (step_span){i, c, line->begin[i * n + c], line->end[i * n + c]});
        }
    }
    for (int lane = 0; lane < n + p->mesh->n_axes; lane++) {
        add_earlier(e, t, lane);
        qsort(t->span[lane], (size_t)t->n_spans[lane], sizeof(step_span), by_begin);
    }
}

// The union of some lanes.
static intervals join(hb_arena *a, const step_times *t, int first, int n_lanes)
{
    int all = 0, k = 0;
    for (int lane = first; lane < first + n_lanes; lane++)
        all += t->n_spans[lane];
    step_span *s = HB_ARRAY(a, step_span, all + 1);
    for (int lane = first; lane < first + n_lanes; k += t->n_spans[lane++])
        memcpy(s + k, t->span[lane], sizeof *s * (size_t)t->n_spans[lane]);
    qsort(s, (size_t)all, sizeof *s, by_begin);
    intervals u = {HB_ARRAY(a, interval, all + 1), 0};
    for (int i = 0; i < all; i++) {
        if (u.n > 0 && s[i].begin <= u.p[u.n - 1].to)
            u.p[u.n - 1].to = fmax(u.p[u.n - 1].to, s[i].end);
        else
            u.p[u.n++] = (interval){s[i].begin, s[i].end};
    }
    return u;
}

// [0, total] without u.
static intervals gaps(hb_arena *a, const intervals *u, double total)
{
    intervals g = {HB_ARRAY(a, interval, u->n + 1), 0};
    double at = 0;
    for (int i = 0; i < u->n; i++) {
        if (u->p[i].from > at) g.p[g.n++] = (interval){at, u->p[i].from};
        at = fmax(at, u->p[i].to);
    }
    if (at < total) g.p[g.n++] = (interval){at, total};
    return g;
}

static double both(const intervals *x, const intervals *y)
{
    double sum = 0;
    for (int i = 0, k = 0; i < x->n && k < y->n;) {
        double from = fmax(x->p[i].from, y->p[k].from), to = fmin(x->p[i].to, y->p[k].to);
        if (to > from) sum += to - from;
        if (x->p[i].to < y->p[k].to)
            i++;
        else
            k++;
    }
    return sum;
}

// Of what the busiest class waits for data, each collective its share.
typedef struct edge {
    double at;
    int instr;
    bool on;
} edge;

static int by_time(const void *x, const void *y)
{
    const edge *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    if (a->on != b->on) return a->on ? 1 : -1;
    return (a->instr > b->instr) - (a->instr < b->instr);
}

static void share_exposed(hb_arena *a, step_times *t, int n_axes, const intervals *idle)
{
    int n = 0, active = 0, k = 0;
    for (int x = 0; x < n_axes; x++)
        n += t->n_spans[t->n_classes + x];
    edge *e = HB_ARRAY(a, edge, 2 * n + 1);
    int *open = HB_ARRAY(a, int, n + 1);
    n = 0;
    for (int x = 0; x < n_axes; x++)
        for (int i = 0; i < t->n_spans[t->n_classes + x]; i++) {
            const step_span *s = &t->span[t->n_classes + x][i];
            e[n++] = (edge){s->begin, s->instr, true};
            e[n++] = (edge){s->end, s->instr, false};
        }
    qsort(e, (size_t)n, sizeof *e, by_time);
    for (int i = 0; i < n; i++) {
        double from = i ? e[i - 1].at : 0, to = e[i].at, waited = 0;
        while (k < idle->n && idle->p[k].to <= from)
            k++;
        for (int q = k; q < idle->n && idle->p[q].from < to; q++)
            waited += fmax(0, fmin(to, idle->p[q].to) - fmax(from, idle->p[q].from));
        for (int o = 0; o < active && waited > 0; o++)
            t->exposed[open[o]] += waited / active;
        if (e[i].on) {
            open[active++] = e[i].instr;
        } else {
            int o = 0;
            while (open[o] != e[i].instr)
                o++;
            open[o] = open[--active];
        }
    }
}

// In a pair a class's span is longer than its matmuls compute: the rest is waiting for data.
static void inside_pairs(const syn_program *p, step_times *t)
{
    for (int k = 0; k < p->pairs.n; k++) {
        const syn_pair *x = &p->pairs.p[k];
        for (int c = 0; c < t->n_classes; c++)
            for (int i = 0; i < t->n_spans[c]; i++) {
                const step_span *s = &t->span[c][i];
                if (s->instr < x->first || s->instr >= x->first + x->len) continue;
                double waits = fmax(0, s->end - s->begin - x->busy[c]);
                t->of[c].compute -= waits;
                t->of[c].phase[step_phase(p, s->instr)] -= waits;
                t->of[c].exposed += waits;
                if (c == t->busiest) t->exposed[syn_pair_start(p, x)] += waits;
            }
    }
}

// Of micro-batches the timeline shows some and counts all: what is seen, in proportion to that.
static void count_rounds(const emit_plan *e, step_times *t)
{
    const cost_timeline *line = &e->res->timeline;
    for (int c = 0; c < t->n_classes && line->round > 0; c++) {
        class_times *k = &t->of[c];
        double idle = k->exposed + k->waiting, more = t->total - line->busy[c];
        double seen = k->phase[0] + k->phase[1] + k->phase[2];
        double work = seen > 0 ? line->busy[c] / seen : 1;
        double wait = idle > 0 ? fmax(0, more) / idle : 0;
        k->compute = line->busy[c];
        for (int phase = 0; phase < 3; phase++)
            k->phase[phase] *= work;
        k->exposed *= wait;
        k->waiting *= wait;
        for (int i = 0; c == t->busiest && i < e->p->instr.n; i++)
            t->exposed[i] *= wait;
    }
}

static step_times *times_new(hb_arena *a, const emit_plan *e, double total)
{
    step_times *t = HB_NEW(a, step_times);
    *t = (step_times){.total = total, .n_classes = e->p->mesh->n_classes};
    t->exposed = HB_ARRAY(a, double, e->p->instr.n + 1);
    t->wait = HB_ARRAY(a, int, e->p->instr.n + 1);
    hb_assert(e->res->timeline.begin);
    return t;
}

// What is spent by class and waited for by collective, once spans are there.
static void sum_up(hb_arena *a, const emit_plan *e, step_times *t)
{
    const syn_program *p = e->p;
    int n = t->n_classes;
    intervals sends = join(a, t, n, p->mesh->n_axes), idle = {0};
    for (int c = 0; c < n; c++) {
        class_times *k = &t->of[c];
        intervals busy = join(a, t, c, 1), gap = gaps(a, &busy, t->total);
        double idles = 0;
        for (int i = 0; i < gap.n; i++)
            idles += gap.p[i].to - gap.p[i].from;
        k->compute = t->total - idles;
        k->exposed = both(&gap, &sends);
        k->waiting = fmax(0, idles - k->exposed);
        for (int i = 0; i < t->n_spans[c]; i++)
            k->phase[step_phase(p, t->span[c][i].instr)] += t->span[c][i].end - t->span[c][i].begin;
        if (c == 0 || k->compute > t->of[t->busiest].compute) {
            t->busiest = c;
            idle = gap;
        }
    }
    share_exposed(a, t, p->mesh->n_axes, &idle);
    inside_pairs(p, t);
}

step_times *step_times_of(hb_arena *a, const emit_plan *e)
{
    step_times *t = times_new(a, e, e->res->timeline.total);
    find_spans(a, e, t);
    sum_up(a, e, t);
    count_rounds(e, t);
    return t;
}

// --- stages ---

// The lane of an instruction on a class, or of a collective.
static int lane_of(const syn_program *p, int instr, int cls)
{
    const syn_instr *in = &p->instr.p[instr];
    if (in->kind != SYN_START) return cls;
    return p->mesh->n_classes + (in->axes == 2 && p->mesh->n_axes == 2);
}

static bool same_part(const syn_stage_piece *x, const syn_stage_piece *y)
{
    return x->turn == y->turn && x->m == y->m;
}

// Instructions that the stage's own timeline has in a piece, where the piece is in the step. What
// begins ahead of the first piece of a part, or behind the last, is in that.
static void place(const emit_plan *e, const syn_stage_piece *piece, int at, int n_pieces,
                  const int *first, step_times *t)
{
    const syn_stage_piece *x = &piece[at];
    bool head = at == 0 || !same_part(x, x - 1), tail = at + 1 == n_pieces || !same_part(x, x + 1);

    const syn_program *p = e->p;
    const cost_timeline *line = &e->res->timeline;
    const syn_slot slot = syn_slot_of(p);
    const double digits = 1e-9 * t->total;
    int n = p->mesh->n_classes;
    for (int i = first[x->turn]; i < first[x->turn + 1]; i++) {
        const syn_instr *in = &p->instr.p[i];
        bool sends = in->kind == SYN_START, early = in->turn == IR_BEFORE;
        // What the first or the last micro-batch alone does.
        if (syn_once(p, &slot, i) && ir_in_slot(x->turn) && x->m != (early ? 0 : slot.times - 1))
            continue;
        for (int c = 0; in->kind != SYN_WAIT && c < (sends ? 1 : n); c++) {
            double from = line->begin[i * n + c], to = line->end[i * n + c];
            if ((!head && from < x->from - digits) || (!tail && from >= x[1].from - digits))
                continue;
            if (to - from < 1e-3 * digits) continue; // joined: what takes nothing
            double begin = fmax(0, x->begin + from - x->from);
            add_span(t, lane_of(p, i, c),
                     (step_span){i, sends ? -1 : c, begin, fmin(begin + to - from, t->total)});
        }
    }
}

step_times *step_times_of_stage(hb_arena *a, const emit_plan *e, const syn_stage_piece *piece,
                                int n_pieces, double total)
{
    const syn_program *p = e->p;
    const syn_slot slot = syn_slot_of(p);
    step_times *t = times_new(a, e, total);
    int lanes = p->mesh->n_classes + p->mesh->n_axes;
    // Where the parts begin, by turn.
    int first[] = {0, slot.first, slot.back, slot.weights, slot.end, p->instr.n};
    for (int k = IR_SLOT; k <= IR_AFTER && slot.times < 2; k++)
        first[k] = p->instr.n;
    for (int lane = 0; lane < lanes; lane++)
        t->span[lane] = HB_ARRAY(a, step_span, slot.times * p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) t->wait[p->instr.p[i].start] = i;
    for (int i = 0; i < n_pieces; i++)
        place(e, piece, i, n_pieces, first, t);
    for (int lane = 0; lane < lanes; lane++)
        qsort(t->span[lane], (size_t)t->n_spans[lane], sizeof(step_span), by_begin);
    sum_up(a, e, t);
    return t;
}
