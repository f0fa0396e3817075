// When collectives start and when they are waited for.
//
// Lowering waits for every collective at once. Here each WAIT sinks to just before the first
// instruction that touches what the collective reads or writes, and each START rises past
// computation until that computation is long enough to hide it, or until it meets the producer of
// its source. Instructions other than START and WAIT keep their order.
//
// Starts that keep the program's order hold least. Otherwise a collective passes those that are
// waited for later, rises further where the next one of its stream needs what would hide it, and of
// two that follow each other on one value the second starts where both hide.

#include "synth/passes/schedule.h"

#include <math.h>
#include <string.h>

typedef struct scheduler {
    hb_arena *arena; // of one rearrangement: dies with `reorder`
    syn_program *p;
    syn_slot slot;
    int *stamp; // by buffer: last mark
    int mark;
    // Of starts, by START:
    bool in_order, moved; // they keep the program's order; it matters
    int *wait_of;         // its WAIT
    int *before;          // where it starts now; -1: where it stands
    double *taken;        // seconds that the next one of its stream takes of what hides it
} scheduler;

static void mark_all(scheduler *s, const syn_instr *in, bool sources)
{
    for (int i = 0; i < in->n_out; i++)
        s->stamp[in->out[i]] = s->mark;
    for (int i = 0; sources && i < in->n_in; i++)
        s->stamp[in->in[i]] = s->mark;
    if (in->scratch >= 0) s->stamp[in->scratch] = s->mark;
}

static bool writes_marked(const scheduler *s, const syn_instr *in)
{
    for (int i = 0; i < in->n_out; i++)
        if (s->stamp[in->out[i]] == s->mark) return true;
    return false;
}

static bool reads_marked(const scheduler *s, const syn_instr *in)
{
    for (int i = 0; i < in->n_in; i++)
        if (s->stamp[in->in[i]] == s->mark) return true;
    return false;
}

static double busy_seconds(const syn_program *p, const syn_instr *in)
{
    double most = 0;
    if (in->kind == SYN_START || in->kind == SYN_WAIT) return 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        most = in->sec[c] > most ? in->sec[c] : most;
    return most;
}

// Behind the gradients little is computed that hides anything, and loops are worth more.
static bool keeps_order(const scheduler *s, const syn_instr *start)
{
    return s->in_order || s->p->g->nodes.p[start->node].phase == IR_UPDATE;
}

// May collective `at` not start ahead of instruction i? Others that are waited for later it passes,
// and the place of those that start earlier now.
static bool stays_behind(scheduler *s, int at, int i)
{
    const syn_instr *in = &s->p->instr.p[i], *start = &s->p->instr.p[at];
    if (i < s->slot.first && start->turn != IR_BEFORE) return true;
    if (ir_in_slot(start->turn) && ir_in_slot(in->turn) && in->turn < start->turn)
        return true; // part by part
    if (in->kind == SYN_START &&
        (keeps_order(s, start) || (s->wait_of[i] <= s->wait_of[at] && s->before[i] < 0)))
        return true;
    s->mark++;
    mark_all(s, start, true);
    if (in->kind == SYN_START && in->scratch >= 0 && s->stamp[in->scratch] == s->mark) return true;
    if (in->kind == SYN_WAIT) {
        const syn_instr *other = &s->p->instr.p[in->start];
        return writes_marked(s, other) || reads_marked(s, other);
    }
    if (writes_marked(s, in)) return true;
    s->mark++;
    mark_all(s, start, false); // what it writes must not be read any more
    return reads_marked(s, in);
}

// What instruction i hides of a collective.
static double hides(const scheduler *s, const syn_instr *start, int i)
{
    const syn_instr *in = &s->p->instr.p[i];
    return busy_seconds(s->p, in) * syn_instr_slots(s->p, start) / syn_instr_slots(s->p, in);
}

// Collective `at`, which would start before instruction *i, goes ahead of one more, if it may: not
// ahead of *least.
static bool climb(scheduler *s, int at, int *i, int *least)
{
    if (*i <= *least || stays_behind(s, at, *i - 1)) return false;
    --*i;
    if (s->p->instr.p[*i].kind != SYN_START) return true;
    s->moved = true;
    if (s->wait_of[*i] <= s->wait_of[at] && s->before[*i] > *least) *least = s->before[*i];
    return true;
}

// The earliest place worth starting collective `at`, not ahead of instruction `least`: before
// instruction `result`.
static int rise(scheduler *s, int at, int least)
{
    const syn_instr *start = &s->p->instr.p[at];
    double hidden = 0, all = start->sec[0] + (keeps_order(s, start) ? 0 : s->taken[at]);
    int i = at;
    while (hidden < all && climb(s, at, &i, &least))
        hidden += hides(s, start, i);
    s->moved = s->moved || (all > start->sec[0] && hidden > start->sec[0]);
    return i;
}

// In place, cycle by cycle: most stay where they are, and an instruction is large.
void syn_permute(syn_program *p, const int *to)
{
    hb_arena *a = hb_arena_new();
    int n = p->instr.n, *from = hb_room(a, sizeof *from, n + 1);
    for (int i = 0; i < n; i++) {
        from[to[i]] = i;
        if (p->instr.p[i].kind == SYN_WAIT) p->instr.p[i].start = to[p->instr.p[i].start];
    }
    for (int i = 0; i < n; i++) {
        if (from[i] == i) continue;
        const syn_instr first = p->instr.p[i];
        int at = i;
        for (int next = from[at]; next != i; next = from[at]) {
            p->instr.p[at] = p->instr.p[next];
            from[at] = at;
            at = next;
        }
        p->instr.p[at] = first;
        from[at] = at;
    }
    for (int k = 0; k < p->pairs.n; k++)
        p->pairs.p[k].first = to[p->pairs.p[k].first];
    hb_arena_free(a);
}

// Instruction i goes before the instruction that was at before[i]; WAITs stand in front of STARTs
// there.
void syn_reorder(syn_program *p, const int *before)
{
    hb_arena *a = hb_arena_new();
    int n = p->instr.n, at = 0;
    int *first = HB_ARRAY(a, int, n + 1), *next = HB_ARRAY(a, int, n), *to = HB_ARRAY(a, int, n);
    memset(first, -1, sizeof(int) * (size_t)(n + 1));
    for (int pass = 0; pass < 2;
         pass++) // lists are filled backwards: STARTs first, so that WAITs end in front
        for (int i = n - 1; i >= 0; i--)
            if (before[i] >= 0 && (p->instr.p[i].kind == SYN_WAIT) == (pass == 1)) {
                next[i] = first[before[i]];
                first[before[i]] = i;
            }
    for (int i = 0; i <= n; i++) {
        for (int k = first[i]; k >= 0; k = next[k])
            to[k] = at++;
        if (i < n && before[i] < 0) to[i] = at++;
    }
    hb_assert(at == n);
    syn_permute(p, to);
    hb_arena_free(a);
}

static void reorder(scheduler *s, const int *before)
{
    syn_reorder(s->p, before);
    hb_arena_free(s->arena);
}

static scheduler begin(syn_program *p, int **before)
{
    scheduler s = {.arena = hb_arena_new(), .p = p, .slot = syn_slot_of(p)};
    s.stamp = HB_ARRAY(s.arena, int, p->tensors.n);
    *before = HB_ARRAY(s.arena, int, p->instr.n);
    memset(*before, -1, sizeof(int) * (size_t)p->instr.n);
    return s;
}

// By START: the first later instruction that must not run before it has ended, n if none. One pass
// from the end knows who touches and who writes every buffer next.
static int *first_needs(scheduler *s)
{
    const syn_program *p = s->p;
    int n = p->instr.n, *need = HB_ARRAY(s->arena, int, n);
    int *touch = HB_ARRAY(s->arena, int, p->tensors.n),
        *write = HB_ARRAY(s->arena, int, p->tensors.n);
    for (int t = 0; t < p->tensors.n; t++)
        touch[t] = write[t] = n;
    for (int i = n - 1; i >= 0; i--) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT) continue;
        need[i] = n;
        for (int k = 0; k < in->n_out; k++)
            if (touch[in->out[k]] < need[i]) need[i] = touch[in->out[k]];
        for (int k = 0; k < in->n_in; k++) // the source must stay as it is
            if (in->in[k] >= 0 && write[in->in[k]] < need[i]) need[i] = write[in->in[k]];
        if (in->scratch >= 0 && touch[in->scratch] < need[i]) need[i] = touch[in->scratch];
        for (int k = 0; k < in->n_in; k++)
            if (in->in[k] >= 0) touch[in->in[k]] = i;
        for (int k = 0; k < in->n_out; k++)
            touch[in->out[k]] = write[in->out[k]] = i;
    }
    return need;
}

void syn_sink_waits(syn_program *p)
{
    int *before = NULL;
    scheduler s = begin(p, &before);
    const int *need = first_needs(&s);
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) before[i] = need[p->instr.p[i].start];
    const syn_slot slot = s.slot;
    for (int i = 0; i < p->instr.n && slot.times > 1; i++) { // none lasts into the next micro-batch
        ir_turn turn = p->instr.p[i].turn;
        int end = turn == IR_SLOT ? slot.back : turn == IR_SLOT_BACK ? slot.weights : slot.end;
        if (ir_in_slot(turn) && before[i] > end) before[i] = end;
    }
    reorder(&s, before);
}

// Of what stands before instruction `end` of the slot, what belongs behind the micro-batches goes
// there, and what is made of it.
static void behind(syn_program *p, int end)
{
    hb_arena *a = hb_arena_new();
    const syn_slot slot = syn_slot_of(p);
    int at = slot.first, *to = HB_ARRAY(a, int, p->instr.n + 1);
    bool *late = HB_ARRAY(a, bool, p->instr.n + 1), *made = HB_ARRAY(a, bool, p->tensors.n + 1);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        to[i] = i;
        late[i] = i < end || (in->kind == SYN_WAIT && late[in->start]);
        for (int k = 0; k < in->n_in; k++)
            late[i] = late[i] || (in->in[k] >= 0 && made[in->in[k]]);
        late[i] = late[i] && in->turn == IR_AFTER && i >= slot.first;
        for (int k = 0; k < in->n_out && late[i]; k++)
            made[in->out[k]] = true;
    }
    for (int turn = 0; turn < 2; turn++)
        for (int i = slot.first; i < slot.end; i++)
            if (late[i] == (turn == 1)) to[i] = at++;
    syn_permute(p, to);
    hb_arena_free(a);
}

void syn_behind_slot(syn_program *p)
{
    behind(p, syn_slot_of(p).end);
}

// --- chains: a collective that sends on what another one brings ---

typedef struct chain {
    int first, at;       // the STARTs; between them stands the first one's WAIT alone
    int top, bottom;     // between them the first may start, and the other one
    double above, below; // computing that may hide them: above the first, behind the other one
} chain;

static bool is_chain(scheduler *s, int at, chain *c)
{
    const syn_instr *in = s->p->instr.p;
    if (at < 2 || in[at - 1].kind != SYN_WAIT || in[at - 1].start != at - 2) return false;
    *c = (chain){.first = at - 2, .at = at};
    s->mark++;
    mark_all(s, &in[at - 2], false);
    return reads_marked(s, &in[at]) && in[at - 2].turn == in[at].turn && in[at - 2].sec[0] > 0;
}

// Must a chain have ended before instruction i behind it?
static bool ends_chain(scheduler *s, const chain *c, int i)
{
    const syn_instr *in = &s->p->instr.p[i], *a = &s->p->instr.p[c->first],
                    *b = &s->p->instr.p[c->at];
    if (in->kind == SYN_WAIT) return in->start == c->at;
    if (in->turn != b->turn) return true;
    s->mark++;
    mark_all(s, a, true);
    mark_all(s, b, true);
    if (writes_marked(s, in)) return true;
    s->mark++;
    mark_all(s, a, false);
    mark_all(s, b, false);
    return reads_marked(s, in);
}

// How much computing stands around a chain, up to what it takes.
static void measure(scheduler *s, int least, chain *c)
{
    const syn_program *p = s->p;
    const syn_instr *a = &p->instr.p[c->first], *b = &p->instr.p[c->at];
    double all = a->sec[0] + b->sec[0];
    bool room = true; // until another collective starts
    c->top = c->first;
    while (c->above < all && c->top > least && !stays_behind(s, c->at, c->top - 1) &&
           climb(s, c->first, &c->top, &least))
        c->above += hides(s, a, c->top);
    c->bottom = c->at + 1;
    for (int i = c->bottom; i < p->instr.n && c->below < all && !ends_chain(s, c, i); i++) {
        room = room && p->instr.p[i].kind != SYN_START;
        c->below += hides(s, b, i);
        if (room) c->bottom = i + 1;
    }
}

// What is not hidden of a chain whose second collective starts behind so much computing; < 0: ahead
// of it.
static double exposed(const scheduler *s, const chain *c, double behind)
{
    double a = s->p->instr.p[c->first].sec[0] - (c->above + behind),
           b = s->p->instr.p[c->at].sec[0] - (c->below - behind);
    return (a > 0 ? a : 0) + (b > 0 ? b : 0);
}

// Where the second collective of a chain starts: where most of both hides, and of places that are
// as good, at the nearest. *behind: computing from where it stood.
static int second_start(const scheduler *s, const chain *c, double *behind)
{
    double sum = 0, best = exposed(s, c, 0);
    int to = c->at;
    *behind = 0;
    for (int i = c->at + 2; i <= c->bottom; i++) {
        sum += hides(s, &s->p->instr.p[c->at], i - 1);
        if (exposed(s, c, sum) >= best * (1 - SYN_ROUNDING)) continue;
        best = exposed(s, c, sum);
        *behind = sum;
        to = i;
    }
    sum = 0;
    for (int i = c->first - 1; i > c->top; i--) {
        sum -= hides(s, &s->p->instr.p[c->at], i);
        if (exposed(s, c, sum) >= best * (1 - SYN_ROUNDING)) continue;
        best = exposed(s, c, sum);
        *behind = sum;
        to = i;
    }
    return to;
}

// A reduce-scatter by machines behind one inside them, a gather behind a gather: both may hide if
// the second starts neither as soon as the first has ended nor where its result is read. least: no
// collective starts ahead of that.
static void place_chain(scheduler *s, chain *c, int least)
{
    double behind, sec = s->p->instr.p[c->first].sec[0];
    measure(s, least, c);
    int to = second_start(s, c, &behind), from = to < c->first ? to : c->first;
    double hidden = behind > 0 ? behind : 0;
    while (from > c->top && hidden < sec)
        hidden += hides(s, &s->p->instr.p[c->first], --from);
    s->before[c->first] = from < c->first ? from : -1;
    s->before[c->at] = s->before[c->at - 1] = to != c->at ? to : -1;
    s->moved = true;
}

// Seconds that the next collective of a stream takes of what would hide the one before.
static void note_taken(scheduler *s)
{
    const syn_program *p = s->p;
    double *now = HB_ARRAY(s->arena, double, p->instr.n + 1); // by instruction: computing before it
    double starts[SYN_MAX_AXES] = {HUGE_VAL, HUGE_VAL}, takes[SYN_MAX_AXES] = {0}; // the next one
    s->taken = HB_ARRAY(s->arena, double, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        now[i + 1] = now[i] + busy_seconds(p, &p->instr.p[i]) / syn_instr_slots(p, &p->instr.p[i]);
    for (int i = p->instr.n - 1; i >= 0; i--) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START) continue;
        int stream = in->axes == 2;
        double slots = syn_instr_slots(p, in), sec = in->sec[0] / slots, due = now[s->wait_of[i]],
               taken = fmin(fmax(due - starts[stream], 0), takes[stream]);
        s->taken[i] = taken * slots;
        starts[stream] = fmin(now[i], due - taken - sec);
        takes[stream] = sec;
    }
}

bool syn_raise_starts(syn_program *p, bool in_order)
{
    int least = 0, last = -1; // where the latest START that sank starts; the second one of a chain
    int *before = NULL;
    scheduler s = begin(p, &before);
    s.before = before;
    s.in_order = in_order;
    s.wait_of = HB_ARRAY(s.arena, int, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) s.wait_of[p->instr.p[i].start] = i;
    note_taken(&s);
    for (int i = 0; i < p->instr.n; i++) {
        chain c;
        if (p->instr.p[i].kind != SYN_START) continue;
        if (!keeps_order(&s, &p->instr.p[i]) && is_chain(&s, i, &c) && last != c.first) {
            place_chain(&s, &c, least);
            last = i;
            if (s.before[i] > i) least = s.before[i];
            continue;
        }
        int to = rise(&s, i, least);
        s.before[i] = to < i ? to : -1;
    }
    reorder(&s, s.before);
    const syn_slot slot = syn_slot_of(p); // parts do not stand one behind the other
    if (p->g->depth > 0) behind(p, slot.weights < slot.end ? slot.weights : slot.back);
    return s.moved;
}

// Largest share of a class's capacity that the sources and results of a collective take.
static double held_share(const syn_program *p, const syn_instr *in)
{
    double worst = 0;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double bytes = 0;
        for (int k = 0; k < in->n_in + in->n_out; k++)
            bytes +=
                (double)p->tensors.p[k < in->n_in ? in->in[k] : in->out[k - in->n_in]].bytes[c];
        double share = bytes / (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity;
        worst = share > worst ? share : worst;
    }
    return worst;
}

// Two collectives of a stream keep it busy; one more begins only when the oldest has ended, if
// together they hold more than a share of the memory.
void syn_limit_flight(syn_program *p)
{
    enum { STREAMS = SYN_MAX_AXES };
    int *before = NULL, n = p->instr.n;
    scheduler s = begin(p, &before);
    int *wait_of = HB_ARRAY(s.arena, int, n), *flying[STREAMS], first[STREAMS] = {0},
        last[STREAMS] = {0};
    double held[STREAMS] = {0};
    for (int k = 0; k < STREAMS; k++)
        flying[k] = HB_ARRAY(s.arena, int, n);
    for (int i = 0; i < n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) wait_of[p->instr.p[i].start] = i;
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START) continue;
        int k = in->axes == 2;
        while (first[k] < last[k] && wait_of[flying[k][first[k]]] < i)
            held[k] -= held_share(p, &p->instr.p[flying[k][first[k]++]]);
        while (last[k] - first[k] >= SYN_FLIGHT_BUSY && held[k] + held_share(p, in) > SYN_FLIGHT) {
            int oldest = flying[k][first[k]++];
            held[k] -= held_share(p, &p->instr.p[oldest]);
            if (wait_of[oldest] > i) before[wait_of[oldest]] = i;
        }
        flying[k][last[k]++] = i;
        held[k] += held_share(p, in);
    }
    reorder(&s, before);
}
