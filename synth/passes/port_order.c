#include "synth/passes/port_order.h"

#include "synth/passes/schedule.h"
#include "synth/plan/search_limits.h"

typedef struct orderer {
    hb_arena *a;
    syn_program *p;
    syn_slot slot;
    int first, end; // instructions that are put in another order
} orderer;

// Is an instruction such an end of a port: IR_SEND, IR_RECV, IR_PORT for either?
static bool is_end(const syn_program *p, int i, unsigned end)
{
    const syn_instr *in = &p->instr.p[i];
    return in->kind == SYN_OP && (ir_op_of(p->g->nodes.p[in->node].op)->flags & end) != 0;
}

static bool has_ports(const syn_program *p)
{
    for (int i = 0; i < p->instr.n; i++)
        if (is_end(p, i, IR_PORT)) return true;
    return false;
}

// What an instruction reads and writes; of a wait, its start's.
static const syn_instr *what(const syn_program *p, int i)
{
    const syn_instr *in = &p->instr.p[i];
    return in->kind == SYN_WAIT ? &p->instr.p[in->start] : in;
}

// --- receives ---

// By instruction: a receive before the micro-batches, or made of such alone.
static bool *received(const orderer *o)
{
    const syn_program *p = o->p;
    bool *is = HB_ARRAY(o->a, bool, p->instr.n + 1), *of = HB_ARRAY(o->a, bool, p->tensors.n + 1);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->turn != IR_BEFORE) continue;
        if (in->kind == SYN_WAIT) {
            is[i] = is[in->start];
            continue;
        }
        is[i] = in->n_in > 0 || is_end(p, i, IR_RECV);
        for (int k = 0; k < in->n_in; k++)
            is[i] = is[i] && in->in[k] >= 0 && of[in->in[k]];
        for (int k = 0; k < in->n_out; k++)
            of[in->out[k]] = is[i];
    }
    return is;
}

static void touch_all(const syn_instr *in, int at, int *touch)
{
    for (int k = 0; k < in->n_in; k++)
        if (in->in[k] >= 0 && at < touch[in->in[k]]) touch[in->in[k]] = at;
    for (int k = 0; k < in->n_out; k++)
        touch[in->out[k]] = at;
    if (in->scratch >= 0) touch[in->scratch] = at;
}

// By instruction: the one it is to stand before, itself if it stays.
static int *first_readers(const orderer *o)
{
    const syn_program *p = o->p;
    const bool *late = received(o);
    int n = p->instr.n, *to = HB_ARRAY(o->a, int, n + 1),
        *touch = HB_ARRAY(o->a, int, p->tensors.n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        touch[t] = n;
    for (int i = n - 1; i >= 0; i--) {
        const syn_instr *in = what(p, i);
        to[i] = i;
        for (int k = 0, first = n; late[i] && k < in->n_out; k++) {
            if (touch[in->out[k]] < first) first = touch[in->out[k]];
            if (first < n && (o->slot.times < 2 || first < o->slot.end)) to[i] = first;
        }
        touch_all(in, to[i], touch);
    }
    return to;
}

// Each before the instruction that it is said to stand before, itself if it stays.
static void put_before(const orderer *o, const int *before)
{
    int n = o->p->instr.n, at = 0, *to = HB_ARRAY(o->a, int, n + 1),
        *next = HB_ARRAY(o->a, int, n + 1), *first = HB_ARRAY(o->a, int, n + 1);
    for (int i = 0; i < n; i++)
        first[i] = -1;
    for (int i = n - 1; i >= 0; i--)
        if (before[i] != i) {
            next[i] = first[before[i]];
            first[before[i]] = i;
        }
    for (int i = 0; i < n; i++) {
        for (int k = first[i]; k >= 0; k = next[k])
            to[k] = at++;
        if (before[i] == i) to[i] = at++;
    }
    hb_assert(at == n);
    syn_permute(o->p, to);
}

void syn_receive_late(syn_program *p)
{
    if (!has_ports(p)) return;
    orderer o = {.a = hb_arena_new(), .p = p, .slot = syn_slot_of(p)};
    put_before(&o, first_readers(&o));
    hb_arena_free(o.a);
}

// --- sends ---

enum { FEEDS, FREE, WAITS, CLASSES };

// Does an instruction need what others of its class made, or write what they read?
static bool meets(const syn_instr *in, const bool *made, const bool *read)
{
    bool any = in->scratch >= 0 && (made[in->scratch] || read[in->scratch]);
    for (int k = 0; k < in->n_in; k++)
        any = any || (in->in[k] >= 0 && made[in->in[k]]);
    for (int k = 0; k < in->n_out; k++)
        any = any || made[in->out[k]] || read[in->out[k]];
    return any;
}

static void note(const syn_instr *in, bool *made, bool *read)
{
    for (int k = 0; k < in->n_in; k++)
        if (in->in[k] >= 0) read[in->in[k]] = true;
    for (int k = 0; k < in->n_out; k++)
        made[in->out[k]] = true;
    if (in->scratch >= 0) made[in->scratch] = true;
}

// Downwards: what a receive brings, and all that needs it.
static void find_waits(const orderer *o, char *class)
{
    const syn_program *p = o->p;
    bool *made = HB_ARRAY(o->a, bool, p->tensors.n + 1),
         *read = HB_ARRAY(o->a, bool, p->tensors.n + 1);
    for (int i = o->first; i < o->end; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT && in->start >= o->first)
            class[i] = class[in->start];
        else if (is_end(p, i, IR_RECV) || meets(in, made, read))
            class[i] = WAITS;
        if (class[i] == WAITS) note(what(p, i), made, read);
    }
}

// Upwards: sends, and all that they need; what they write over was read before.
static void find_feeds(const orderer *o, char *class)
{
    const syn_program *p = o->p;
    bool *read = HB_ARRAY(o->a, bool, p->tensors.n + 1),
         *made = HB_ARRAY(o->a, bool, p->tensors.n + 1);
    for (int i = o->end - 1; i >= o->first; i--) {
        const syn_instr *in = what(p, i);
        bool feeds = is_end(p, i, IR_SEND);
        for (int k = 0; k < in->n_out; k++)
            feeds = feeds || read[in->out[k]] || made[in->out[k]];
        for (int k = 0; k < in->n_in; k++)
            feeds = feeds || (in->in[k] >= 0 && made[in->in[k]]);
        if (!feeds || class[i] == WAITS) continue;
        class[i] = FEEDS;
        note(in, made, read);
    }
}

// waits: what needs a receive goes last. Returns where what feeds no send begins.
static int in_classes(syn_program *p, int first, int end, bool waits)
{
    orderer o = {.a = hb_arena_new(), .p = p, .first = first, .end = end};
    char *class = HB_ARRAY(o.a, char, p->instr.n + 1);
    int *to = HB_ARRAY(o.a, int, p->instr.n + 1), at = first, feeds = first;
    for (int i = 0; i < p->instr.n; i++) {
        to[i] = i;
        class[i] = FREE;
    }
    if (waits) find_waits(&o, class);
    find_feeds(&o, class);
    for (char k = FEEDS; k < CLASSES; k++)
        for (int i = first; i < end; i++) {
            if (class[i] != k) continue;
            to[i] = at++;
            feeds += k == FEEDS;
        }
    hb_assert(at == end);
    syn_permute(p, to);
    hb_arena_free(o.a);
    return feeds;
}

// --- what is sent once, in the last micro-batch ---

// The instruction behind the micro-batches that makes a buffer, -1 none.
static int maker(const orderer *o, int buffer)
{
    for (int i = o->p->instr.n - 1; i >= o->slot.end; i--)
        for (int k = 0; k < what(o->p, i)->n_out; k++)
            if (o->p->instr.p[i].kind != SYN_START && what(o->p, i)->out[k] == buffer) return i;
    return -1;
}

// The place behind the instruction of the slot that makes a buffer last, or behind work that hides
// what is begun there.
static int place_after(const orderer *o, int buffer, int start)
{
    const syn_program *p = o->p;
    double sec = 0;
    int at = start + 1;
    for (int i = o->slot.back; start < 0 && i < o->slot.end; i++)
        for (int k = 0; k < p->instr.p[i].n_out; k++)
            if (p->instr.p[i].out[k] == buffer) at = i + 1;
    for (; start >= 0 && at < o->slot.end && sec < p->instr.p[start].sec[0]; at++) {
        double most = 0;
        for (int c = 0; c < p->mesh->n_classes && p->instr.p[at].kind == SYN_OP; c++)
            most = p->instr.p[at].sec[c] > most ? p->instr.p[at].sec[c] : most;
        sec += most / syn_instr_slots(p, &p->instr.p[at]);
    }
    return at > o->slot.back && at < o->slot.end ? at : -1;
}

// A sum that is sent behind the micro-batches, perhaps converted: that goes to where it is
// complete, into the slot's end, done in the last micro-batch alone. before: as
// syn_receive_late's.
static void send_at_end(const orderer *o, int send, int *before)
{
    const syn_program *p = o->p;
    int chain[SYN_SEND_CHAIN], n = 0, start = -1, buffer = p->instr.p[send].in[0];
    chain[n++] = send;
    for (int by; start < 0 && (by = maker(o, buffer)) >= 0; n++) {
        const syn_instr *in = what(p, by);
        if (n + 1 >= SYN_SEND_CHAIN || in->n_in != 1 || is_end(p, by, IR_RECV)) return;
        chain[n] = by;
        buffer = in->in[0];
        if (p->instr.p[by].kind != SYN_WAIT) continue;
        if (p->instr.p[by].start >= o->slot.end) return; // starts where nothing hides it
        start = p->instr.p[by].start;
    }
    int at = place_after(o, buffer, start);
    for (int k = 0; k < n && at >= 0; k++)
        before[chain[k]] = at;
}

static void send_sums(syn_program *p)
{
    orderer o = {.a = hb_arena_new(), .p = p, .slot = syn_slot_of(p)};
    int *before = HB_ARRAY(o.a, int, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        before[i] = i;
    for (int i = o.slot.end; i < p->instr.n; i++)
        if (is_end(p, i, IR_SEND)) send_at_end(&o, i, before);
    put_before(&o, before);
    hb_arena_free(o.a);
}

void syn_gradients_first(syn_program *p, bool apart)
{
    const syn_slot slot = syn_slot_of(p);
    if (slot.times < 2 || !has_ports(p)) return;
    int feeds = in_classes(p, slot.back, slot.end, false);
    for (int i = feeds; i < slot.end && apart && feeds > slot.back; i++)
        if (p->instr.p[i].turn == IR_SLOT_BACK) p->instr.p[i].turn = IR_SLOT_WEIGHTS;
}

void syn_send_first(syn_program *p)
{
    const syn_slot slot = syn_slot_of(p);
    if (slot.times < 2 || !has_ports(p)) return;
    send_sums(p);
    (void)in_classes(p, syn_slot_of(p).end, p->instr.n, true);
}
