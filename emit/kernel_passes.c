#include "emit/kernel_passes.h"

#include <string.h>

#include "ir/runtime_limits.h"

// Registers of a thread for what it holds between passes, of the 128 that it may have; where they
// are dear; and with what is read a row ahead.
enum { ROOM = 64, DEAR_ROOM = 24, AHEAD_ROOM = 80 };

const syn_instr *kernel_member(const kernel_passes *k, int m)
{
    return &k->p->instr.p[k->g->first + m];
}

const ir_op_info *kernel_row(const kernel_passes *k, int m)
{
    return ir_op_of(k->p->g->nodes.p[kernel_member(k, m)->node].op);
}

bool kernel_adds(const kernel_passes *k, int m)
{
    return kernel_row(k, m)->role == IR_ROLE_columns;
}

bool kernel_of_row(const kernel_passes *k, int value)
{
    return k->value[value].shape == SYN_ROW || k->value[value].shape == SYN_ONE;
}

bool kernel_reduces(const kernel_passes *k, int m)
{
    return kernel_row(k, m)->flags & IR_ROWS && k->value[k->made[m][0]].shape == SYN_ROW;
}

bool kernel_of_terms(const kernel_passes *k, int m)
{
    return k->value[k->in[m][0]].terms;
}

// --- values ---

static int part_at(const kernel_passes *k, int buffer)
{
    int i = 0;
    while (k->s.part[i].buffer != buffer)
        i++;
    return i;
}

// exp(x - max) is what row_expsum adds up, and what softmax_apply scales.
static void share_terms(kernel_passes *k, int m)
{
    if (kernel_member(k, m)->n_in < 2) return;
    const ir_op op = k->p->g->nodes.p[kernel_member(k, m)->node].op;
    for (int e = 0; op == IR_OP_softmax_apply && e < m; e++) {
        if (k->p->g->nodes.p[kernel_member(k, e)->node].op != IR_OP_row_expsum ||
            k->in[e][0] != k->in[m][0] || k->in[e][1] != k->in[m][1])
            continue;
        if (k->terms[e] < 0) {
            k->value[k->n] = (kernel_value){.shape = SYN_FULL,
                                            .dtype = IR_F32,
                                            .made = e,
                                            .level = k->value[k->made[e][0]].level - 1,
                                            .terms = true};
            k->terms[e] = k->n++;
        }
        k->in[m][0] = k->terms[e];
        return;
    }
}

static void take_member(kernel_passes *k, int m)
{
    const syn_instr *in = kernel_member(k, m);
    int level = 0;
    for (int i = 0; i < in->n_in; i++) {
        k->in[m][i] = part_at(k, in->in[i]);
        if (k->value[k->in[m][i]].level > level) level = k->value[k->in[m][i]].level;
    }
    for (int o = 0; o < in->n_out; o++)
        k->made[m][o] = part_at(k, in->out[o]);
    for (int o = 0; o < in->n_out; o++)
        k->value[k->made[m][o]].level = level + kernel_reduces(k, m);
    k->terms[m] = -1;
    share_terms(k, m);
}

void kernel_look(kernel_passes *k, const syn_program *p, const syn_fusion *g)
{
    int attrs = 0;
    *k = (kernel_passes){.p = p, .g = g};
    syn_fusion_parts(p, g, &k->s);
    k->n = k->s.n;
    for (int i = 0; i < k->n; i++) {
        const struct syn_part *x = &k->s.part[i];
        k->value[i] = (kernel_value){.shape = x->shape,
                                     .dtype = p->tensors.p[x->buffer].dtype,
                                     .made = x->made,
                                     .kept = x->kept};
    }
    for (int m = 0; m < g->len; m++) {
        take_member(k, m);
        k->first_attr[m] = attrs;
        attrs += kernel_row(k, m)->n_attr;
    }
    for (int m = 0; m < g->len; m++) {
        const kernel_value *v = &k->value[k->made[m][0]];
        const bool row = kernel_of_row(k, k->made[m][0]), reduces = kernel_reduces(k, m);
        if ((reduces || (v->kept && !row)) && v->level - reduces > k->last)
            k->last = v->level - reduces;
    }
}

// --- registers ---

static int registers(const kernel_passes *k, int value)
{
    const ir_dtype t = k->value[value].dtype;
    return k->s.slots * (t == IR_BOOL ? 2 : t == IR_F32 ? 8 : 4);
}

// Two blocks of a wide row's threads are to fit a multiprocessor. Where random numbers are made, by
// a call, what stands in registers is put aside: there should be little but what takes long itself.
static int room_of(const kernel_passes *k, bool takes_long)
{
    const ir_tensor *v = &k->p->g->tensors.p[k->p->tensors.p[k->s.domain].value];
    bool dear = v->dim[v->rank - 1] > IR_CUDA_MIDDLE_COLUMNS;
    for (int m = 0; m < k->g->len && !takes_long; m++)
        dear |= (kernel_row(k, m)->flags & IR_RANDOM) != 0;
    return dear ? DEAR_ROOM : ROOM;
}

static int sum_registers(const kernel_passes *k)
{
    return k->s.adds ? 8 * k->s.slots : 0;
}

bool kernel_repeats(const kernel_passes *k, int value)
{
    return value < k->s.n && k->s.part[value].repeats &&
           sum_registers(k) + registers(k, value) <= room_of(k, false) / 2;
}

// --- a pass ---

// Marks what a value of the row's entries is computed from.
static void need(const kernel_passes *k, int value, const bool *there, bool *wanted)
{
    const int m = k->value[value].made;
    if (wanted[value]) return;
    wanted[value] = true;
    if (m < 0 || there[value] || kernel_of_row(k, value)) return;
    for (int i = 0; i < kernel_member(k, m)->n_in; i++)
        need(k, k->in[m][i], there, wanted);
}

static void find_wanted(const kernel_passes *k, int pass, const bool *there, bool *wanted)
{
    for (int m = 0; m < k->g->len; m++) {
        if (!kernel_reduces(k, m) || k->value[k->made[m][0]].level != pass + 1) continue;
        if (k->terms[m] >= 0) need(k, k->terms[m], there, wanted);
        for (int i = 0; k->terms[m] < 0 && i < kernel_member(k, m)->n_in; i++)
            need(k, k->in[m][i], there, wanted);
    }
    for (int i = 0; i < k->n && pass == k->last; i++)
        if (k->value[i].kept && !kernel_of_row(k, i)) need(k, i, there, wanted);
}

// What later passes want, if they find `there` in registers.
static void find_later(const kernel_passes *k, int pass, const bool *there, bool *later)
{
    memset(later, 0, KERNEL_VALUES * sizeof *later);
    for (int q = pass + 1; q <= k->last; q++)
        find_wanted(k, q, there, later);
}

// It is one entry by entry; what is cast from narrower elements is cast again.
static bool may_hold(const kernel_passes *k, int value, const bool *wanted)
{
    const kernel_value *v = &k->value[value];
    if (!wanted[value] || (v->shape != SYN_FULL && v->shape != SYN_TAIL)) return false;
    if (v->made < 0 || v->terms || kernel_row(k, v->made)->role != IR_ROLE_copy) return true;
    const int from = k->in[v->made][0];
    return k->value[from].shape != SYN_FULL || registers(k, from) >= registers(k, value);
}

static bool takes_long(const kernel_passes *k, int value)
{
    const kernel_value *v = &k->value[value];
    return v->made >= 0 && (v->terms || kernel_row(k, v->made)->flags & (IR_ROWS | IR_RANDOM));
}

static int registers_of(const kernel_passes *k, const bool *which)
{
    int n = sum_registers(k);
    for (int i = 0; i < k->n; i++)
        n += which[i] ? registers(k, i) : 0;
    return n;
}

// What is left there of what this pass wants. Without room for all, what is soon computed goes
// first, and what takes more registers.
static void find_held(const kernel_passes *k, int pass, const bool *before, kernel_pass *out)
{
    bool may[KERNEL_VALUES], later[KERNEL_VALUES];
    for (int i = 0; i < k->n; i++)
        may[i] = before[i] || may_hold(k, i, out->wanted);
    for (;;) {
        int drop = -1;
        find_later(k, pass, may, later);
        for (int i = 0; i < k->n; i++) {
            out->held[i] = may[i] && (later[i] || (before[i] && kernel_repeats(k, i)));
            if (!out->held[i] || before[i]) continue;
            if (drop < 0 || takes_long(k, i) < takes_long(k, drop) ||
                (takes_long(k, i) == takes_long(k, drop) && registers(k, i) > registers(k, drop)))
                drop = i;
        }
        if (drop < 0 || registers_of(k, out->held) <= room_of(k, takes_long(k, drop))) return;
        may[drop] = false;
    }
}

// What is read first: what this pass wants, and what later ones do.
static void find_fetched(const kernel_passes *k, int pass, const bool *before, kernel_pass *out)
{
    bool start[KERNEL_VALUES], later[KERNEL_VALUES];
    const int room = room_of(k, false);
    find_later(k, pass, out->held, later);
    for (int i = 0; i < k->n; i++)
        start[i] = before[i] && (out->wanted[i] || out->held[i]);
    for (int soon = 1; soon >= 0; soon--)
        for (int i = 0; i < k->n; i++) {
            const kernel_value *v = &k->value[i];
            if (v->made >= 0 || (v->shape != SYN_FULL && v->shape != SYN_TAIL) || before[i] ||
                out->fetched[i] || !(soon ? out->wanted : later)[i])
                continue;
            bool held = out->held[i];
            start[i] = true;
            out->held[i] = held || !soon;
            out->fetched[i] =
                registers_of(k, start) <= room && (held || registers_of(k, out->held) <= room);
            if (out->fetched[i]) continue;
            start[i] = false;
            out->held[i] = held;
        }
}

void kernel_pass_of(const kernel_passes *k, int pass, const bool *before, kernel_pass *out)
{
    memset(out, 0, sizeof *out);
    find_wanted(k, pass, before, out->wanted);
    if (k->s.slots == 0) return;
    find_held(k, pass, before, out);
    find_fetched(k, pass, before, out);
}

bool kernel_ahead(const kernel_passes *k, const kernel_pass *first, int value)
{
    int n = registers_of(k, first->held);
    for (int i = 0; i < k->n; i++)
        if (first->fetched[i] && k->value[i].shape == SYN_FULL) n += registers(k, i);
    return k->s.adds && first->fetched[value] && k->value[value].shape == SYN_FULL &&
           room_of(k, false) == ROOM && n <= AHEAD_ROOM;
}
