#include "emit/memory_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "synth/plan/liveness.h"

const char *const memory_kind_name[MEM_N_KINDS] = {"parameters", "optimizer", "activations",
                                                   "gradients", "sending"};

static int kind_of(const syn_program *p, const syn_tensor *t, int birth)
{
    if (t->role == SYN_ROLE_HOME)
        return p->g->tensors.p[t->value].kind == IR_STATE ? MEM_OPTIMIZER : MEM_PARAMETERS;
    if (t->role != SYN_ROLE_VALUE || birth >= p->instr.n) return MEM_SENDING;
    return step_phase(p, birth) == IR_FORWARD ? MEM_ACTIVATIONS : MEM_GRADIENTS;
}

// A buffer that comes (on) or goes at an instruction.
typedef struct change {
    int at, buffer;
    bool on;
} change;

// Buffers that begin at one place.
typedef struct place {
    int n, cap, *live;
} place;

typedef struct walk {
    hb_arena *a;
    const syn_program *p;
    int cls;
    int *kind, *place_of; // by buffer
    place *places;
    double now[MEM_N_KINDS];
} walk;

static int by_instr(const void *x, const void *y)
{
    const change *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    if (a->on != b->on) return a->on ? -1 : 1; // all of an instruction are there at once
    return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

typedef struct slot {
    int64_t off;
    int buffer;
} slot;

static int by_offset(const void *x, const void *y)
{
    const slot *a = x, *b = y;
    if (a->off != b->off) return a->off < b->off ? -1 : 1;
    return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static void find_places(walk *w)
{
    int n = w->p->tensors.n, at = -1;
    slot *s = HB_ARRAY(w->a, slot, n + 1);
    for (int i = 0; i < n; i++) {
        const syn_tensor *t = &w->p->tensors.p[i];
        s[i] = (slot){t->sym ? -1 - t->off[w->cls] : t->off[w->cls], i};
    }
    qsort(s, (size_t)n, sizeof *s, by_offset);
    w->place_of = HB_ARRAY(w->a, int, n + 1);
    w->places = HB_ARRAY(w->a, place, n + 1);
    for (int i = 0; i < n; i++) {
        at += i == 0 || s[i].off != s[i - 1].off;
        w->place_of[s[i].buffer] = at;
    }
}

// The live buffer that takes most of a place; -1: none is there.
static int largest(const walk *w, const place *at)
{
    int best = -1;
    for (int i = 0; i < at->n; i++)
        if (best < 0 ||
            w->p->tensors.p[at->live[i]].bytes[w->cls] > w->p->tensors.p[best].bytes[w->cls])
            best = at->live[i];
    return best;
}

static void count(walk *w, int buffer, int sign)
{
    if (buffer >= 0)
        w->now[w->kind[buffer]] += sign * (double)w->p->tensors.p[buffer].bytes[w->cls];
}

static void apply(walk *w, const change *c)
{
    place *at = &w->places[w->place_of[c->buffer]];
    count(w, largest(w, at), -1);
    if (c->on) {
        if (at->n == at->cap) at->live = hb_grow(w->a, at->live, &at->cap, sizeof *at->live);
        at->live[at->n++] = c->buffer;
    } else {
        for (int i = 0; i < at->n; i++)
            if (at->live[i] == c->buffer) {
                at->live[i] = at->live[--at->n];
                break;
            }
    }
    count(w, largest(w, at), 1);
}

static change *find_changes(walk *w, int *n)
{
    const syn_program *p = w->p;
    int *birth = HB_ARRAY(w->a, int, p->tensors.n + 1),
        *death = HB_ARRAY(w->a, int, p->tensors.n + 1);
    syn_lifetimes(p, birth, death);
    for (int i = 0; i < p->instr.n; i++) { // scratch ends with its wait, whatever is repeated
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT && p->instr.p[in->start].scratch >= 0)
            death[p->instr.p[in->start].scratch] = i;
    }
    change *c = HB_ARRAY(w->a, change, 2 * p->tensors.n + 1);
    w->kind = HB_ARRAY(w->a, int, p->tensors.n + 1);
    *n = 0;
    for (int i = 0; i < p->tensors.n; i++) {
        w->kind[i] = kind_of(p, &p->tensors.p[i], birth[i]);
        if (birth[i] > death[i]) continue;
        c[(*n)++] = (change){birth[i], i, true};
        c[(*n)++] = (change){death[i], i, false};
    }
    qsort(c, (size_t)*n, sizeof *c, by_instr);
    return c;
}

static double sum(const double *v)
{
    double s = 0;
    for (int k = 0; k < MEM_N_KINDS; k++)
        s += v[k];
    return s;
}

// Bins without an instruction hold what was there before.
static void fill(memory_kinds *m, const bool *seen)
{
    for (int b = 1; b < MEM_N_BINS; b++)
        if (!seen[b]) memcpy(m->curve[b], m->curve[b - 1], sizeof m->curve[b]);
}

memory_kinds memory_kinds_of(hb_arena *a, const emit_plan *e, const step_times *t, int cls)
{
    const syn_program *p = e->p;
    const cost_timeline *line = &e->res->timeline;
    walk w = {.a = hb_arena_new(), .p = p, .cls = cls};
    memory_kinds m = {.curve = hb_alloc(a, sizeof *m.curve * MEM_N_BINS)};
    bool seen[MEM_N_BINS] = {false};
    int n, k = 0;
    double at = 0;
    find_places(&w);
    change *c = find_changes(&w, &n);
    for (int i = 0; i < p->instr.n; i++) {
        for (; k < n && c[k].at <= i && c[k].on; k++)
            apply(&w, &c[k]);
        bool sends = p->instr.p[i].kind == SYN_START, waits = p->instr.p[i].kind == SYN_WAIT;
        double begin = waits ? 0 : line->begin[i * t->n_classes + (sends ? 0 : cls)];
        if (begin > at) at = begin;
        int bin = (int)(at / t->total * MEM_N_BINS);
        if (bin >= MEM_N_BINS) bin = MEM_N_BINS - 1;
        if (!seen[bin] || sum(w.now) > sum(m.curve[bin])) memcpy(m.curve[bin], w.now, sizeof w.now);
        seen[bin] = true;
        if (sum(w.now) > sum(m.peak)) {
            memcpy(m.peak, w.now, sizeof w.now);
            m.peak_sec = at;
        }
        for (; k < n && c[k].at <= i; k++)
            apply(&w, &c[k]);
    }
    fill(&m, seen);
    // Of a stage all places of the ring: what parts of a slot leave for later ones.
    int more = p->g->depth > 1 ? p->g->depth - 1 : 0;
    m.peak[MEM_ACTIVATIONS] += (double)(more * p->ring_bytes[cls]);
    double free_bytes = (double)p->peak_bytes[cls] - sum(m.peak);
    m.gaps = free_bytes > 0 ? free_bytes : 0;
    hb_arena_free(w.a);
    return m;
}
