// Faults of a stage's program: of its slot table, its ring, its memory, and of what is done once.

#include <string.h>

#include "synth/passes/arena_plan.h"
#include "synth/search/stage_orders.h"
#include "tests/certify/mutate_stages_parts.h"

// --- slot tables ---

static const syn_program *stage(const sf *x, int s)
{
    return x->was->stage[s].program;
}

static ir_turn last_turn(const syn_program *p)
{
    const syn_slot s = syn_slot_of(p);
    return s.weights < s.end ? IR_SLOT_WEIGHTS : IR_SLOT_BACK;
}

// Where a part stands in the table.
static int part(const syn_program *p, int m, ir_turn turn)
{
    for (int i = 0; i < p->order.n; i++)
        if (p->order.p[i].m == m && p->order.p[i].turn == turn) return i;
    return -1;
}

// The part at place `from` goes to place `to`, ahead of what stands there.
static void move_part(syn_program *p, int from, int to)
{
    syn_slot_part h = p->order.p[from];
    for (; from > to; from--)
        p->order.p[from] = p->order.p[from - 1];
    p->order.p[to] = h;
}

bool sf_part_dropped(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int i = 0; i < stage(x, s)->order.n; i++) {
            if (!sf_here(x, s)) continue;
            syn_program *p = sf_program(x, s);
            for (; i + 1 < p->order.n; i++)
                p->order.p[i] = p->order.p[i + 1];
            p->order.n--;
            return true;
        }
    return false;
}

bool sf_part_twice(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int i = 0; i < stage(x, s)->order.n; i++) {
            if (!sf_here(x, s)) continue;
            syn_program *p = sf_program(x, s);
            syn_slot_part again = p->order.p[i];
            HB_PUSH(x->a, &p->order, again);
            move_part(p, p->order.n - 1, i + 1);
            return true;
        }
    return false;
}

bool sf_part_of_none(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (ir_turn t = IR_SLOT; stage(x, s)->order.n > 0 && t <= last_turn(stage(x, s)); t++) {
            // Weight gradients are of the micro-batch whose place it is.
            if ((t == IR_SLOT_WEIGHTS && stage(x, s)->g->depth < 2) || !sf_here(x, s)) continue;
            syn_program *p = sf_program(x, s);
            int k = p->g->micro_batches;
            p->order.p[part(p, k - 1, t)].m = k;
            return true;
        }
    return false;
}

static bool traded(sf *x, bool weights)
{
    for (int s = 0; s < x->was->n; s++)
        for (int i = 0; i < stage(x, s)->order.n; i++)
            for (int j = i + 1; j < stage(x, s)->order.n; j++) {
                const syn_slot_part *h = stage(x, s)->order.p;
                int depth = stage(x, s)->g->depth;
                if (h[i].turn != h[j].turn || (h[i].turn == IR_SLOT_WEIGHTS) != weights) continue;
                if ((weights && (h[i].m - h[j].m) % depth == 0) || !sf_here(x, s)) continue;
                syn_program *p = sf_program(x, s);
                int m = p->order.p[i].m;
                p->order.p[i].m = p->order.p[j].m;
                p->order.p[j].m = m;
                return true;
            }
    return false;
}

bool sf_parts_traded(sf *x)
{
    return traded(x, false);
}

bool sf_weights_traded(sf *x)
{
    return traded(x, true);
}

// A micro-batch's part of this kind stands ahead of the one before it.
static bool ahead(sf *x, ir_turn turn)
{
    for (int s = 0; s < x->was->n; s++)
        for (int m = 0; m < stage(x, s)->g->micro_batches; m++) {
            int from = part(stage(x, s), m, turn), to = part(stage(x, s), m, turn - 1);
            if (from < 0 || !sf_here(x, s)) continue;
            move_part(sf_program(x, s), from, to);
            return true;
        }
    return false;
}

bool sf_backward_first(sf *x)
{
    return ahead(x, IR_SLOT_BACK);
}

bool sf_weights_first(sf *x)
{
    return ahead(x, IR_SLOT_WEIGHTS);
}

// A forward part, the next that is due, ahead of the last part of the micro-batch whose place it
// needs.
bool sf_place_taken(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_program *p = stage(x, s);
        for (int m = p->g->depth; m < p->g->micro_batches && p->order.n > 0; m++) {
            int to = part(p, m - p->g->depth, last_turn(p));
            if (p->ring_bytes[0] == 0 || part(p, m - 1, IR_SLOT) > to || !sf_here(x, s)) continue;
            move_part(sf_program(x, s), part(p, m, IR_SLOT), to);
            return true;
        }
    }
    return false;
}

// The stage before waits for the first gradient ahead of its last forward part.
bool sf_orders_circle(sf *x)
{
    for (int s = 1; s < x->was->n; s++) {
        const syn_program *before = stage(x, s - 1);
        int k = before->g->micro_batches;
        if (before->order.n == 0 || part(before, k - 1, IR_SLOT) < part(before, 0, IR_SLOT_BACK) ||
            !sf_here(x, s))
            continue;
        syn_program *p = sf_program(x, s);
        sf_graph(x, s)->depth = k;
        syn_order_1f1b(x->a, p, k);
        syn_arena_places(p);
        return true;
    }
    return false;
}

// --- rings ---

// Where a buffer is made and last read in the program; -1.
static int made_at(const syn_program *p, int t)
{
    for (int i = 0; i < p->instr.n; i++)
        for (int k = 0; k < p->instr.p[i].n_out; k++)
            if (p->instr.p[i].out[k] == t) return i;
    return -1;
}

static int read_at(const syn_program *p, int t)
{
    for (int i = p->instr.n - 1; i >= 0; i--)
        for (int k = 0; k < p->instr.p[i].n_in; k++)
            if (p->instr.p[i].in[k] == t) return i;
    return -1;
}

// Is it there that one part leaves what a later one reads? Then in which parts.
static bool in_ring(const syn_program *p, int t, ir_turn *made, ir_turn *reads)
{
    const syn_slot slot = syn_slot_of(p);
    int at = made_at(p, t), end = read_at(p, t);
    if (!p->tensors.p[t].ring || p->tensors.p[t].bytes[0] == 0 || at < 0 || end < 0 ||
        !ir_in_slot(p->instr.p[at].turn) || !ir_in_slot(p->instr.p[end].turn))
        return false;
    *made = syn_part_at(&slot, at);
    *reads = syn_part_at(&slot, end);
    return *made < *reads;
}

// A part of this kind of another micro-batch stands between two parts of m.
static bool between(const syn_program *p, int m, ir_turn made, ir_turn reads, ir_turn turn)
{
    for (int i = part(p, m, made) + 1; i < part(p, m, reads); i++)
        if (p->order.p[i].turn == turn) return true;
    return false;
}

// The last byte, in a class, of what forward parts leave in the ring, or the first.
static int64_t left_at(const syn_program *p, int c, bool last)
{
    int64_t at = -1;
    for (int t = 0; t < p->tensors.n; t++) {
        ir_turn made, reads;
        const syn_tensor *v = &p->tensors.p[t];
        if (!in_ring(p, t, &made, &reads) || made != IR_SLOT || v->bytes[c] == 0) continue;
        int64_t own = last ? v->off[c] + v->bytes[c] - 1 : v->off[c];
        if (at < 0 || (last ? own > at : own < at)) at = own;
    }
    return at;
}

// The last of micro-batch 0 lies on the first of micro-batch 1, while both are under way; or
// all on all.
bool sf_ring_short(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < stage(x, s)->mesh->n_classes; c++)
            for (int all = 0; all < 2; all++) {
                const syn_program *p = stage(x, s);
                int64_t end = left_at(p, c, true), begin = left_at(p, c, false);
                if (p->g->depth < 2 || end < 0 || !between(p, 0, IR_SLOT, IR_SLOT_BACK, IR_SLOT) ||
                    !sf_here(x, s))
                    continue;
                int64_t whole = (end - begin) / 256 * 256;
                sf_program(x, s)->ring_bytes[c] = all ? 0 : whole;
                return true;
            }
    return false;
}

bool sf_ring_left(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int t = 0; t < stage(x, s)->tensors.n; t++) {
            const syn_program *p = stage(x, s);
            ir_turn made, reads;
            if (p->g->depth < 2 || !in_ring(p, t, &made, &reads)) continue;
            if (!between(p, 0, made, reads, made) || !sf_here(x, s)) continue;
            sf_program(x, s)->tensors.p[t].ring = false;
            return true;
        }
    return false;
}

bool sf_ring_shifted(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int t = 0; t < stage(x, s)->tensors.n; t++) {
            const syn_program *p = stage(x, s);
            if (!p->tensors.p[t].ring || p->tensors.p[t].bytes[0] == 0 || !sf_here(x, s)) continue;
            sf_program(x, s)->tensors.p[t].off[0] += p->ring_bytes[0];
            return true;
        }
    return false;
}

// A buffer that is made by an op of the slot, and lies neither in the ring nor on others' bytes.
static bool passes_by(const syn_program *p, int t, ir_turn *made)
{
    const syn_slot slot = syn_slot_of(p);
    int at = made_at(p, t);
    if (p->tensors.p[t].ring || p->tensors.p[t].sym || p->tensors.p[t].bytes[0] == 0 || at < 0 ||
        read_at(p, t) <= at || p->instr.p[at].kind != SYN_OP || !ir_in_slot(p->instr.p[at].turn))
        return false;
    const ir_node *n = &p->g->nodes.p[p->instr.p[at].node];
    *made = syn_part_at(&slot, at);
    return !n->adds && !(ir_op_of(n->op)->flags & (IR_ZERO_COPY | IR_IN_PLACE));
}

// In the place of micro-batch 1, while that is under way.
bool sf_ring_covered(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int r = 0; r < stage(x, s)->tensors.n; r++) {
            const syn_program *p = stage(x, s);
            ir_turn made, reads, turn;
            if (p->g->depth < 2 || !in_ring(p, r, &made, &reads)) continue;
            for (int t = 0; t < p->tensors.n; t++) {
                if (!passes_by(p, t, &turn) || !between(p, 1, made, reads, turn) || !sf_here(x, s))
                    continue;
                sf_program(x, s)->tensors.p[t].off[0] = p->tensors.p[r].off[0] + p->ring_bytes[0];
                return true;
            }
        }
    return false;
}

// The end of what lies last in a class's memory.
static int64_t used(const syn_program *p, int c)
{
    int64_t end = 0, at;
    for (int t = 0; t < p->tensors.n; t++) {
        const syn_tensor *v = &p->tensors.p[t];
        int places = v->ring && p->g->depth > 1 ? p->g->depth : 1;
        if (v->sym || v->bytes[c] == 0 || made_at(p, t) < 0 || read_at(p, t) < 0) continue;
        at = v->off[c] + v->bytes[c] + (places - 1) * p->ring_bytes[c];
        end = at > end ? at : end;
    }
    return end;
}

bool sf_memory_short(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int c = 0; c < stage(x, s)->mesh->n_classes; c++) {
            if (used(stage(x, s), c) == 0 || !sf_here(x, s)) continue;
            sf_program(x, s)->local_bytes[c] = used(stage(x, s), c) - 1;
            return true;
        }
    return false;
}

// --- what is done once, and what is not ---

static bool is_op(const syn_program *p, int i, ir_op op)
{
    return p->instr.p[i].kind == SYN_OP && p->g->nodes.p[p->instr.p[i].node].op == op;
}

// A send or receive among the slots that one micro-batch alone does is done by all.
static bool always(sf *x, ir_op op)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_slot slot = syn_slot_of(stage(x, s));
        for (int i = slot.first; i < slot.end; i++) {
            if (!is_op(stage(x, s), i, op) || !syn_once(stage(x, s), &slot, i) || !sf_here(x, s))
                continue;
            sf_program(x, s)->instr.p[i].turn = syn_part_at(&slot, i);
            return true;
        }
    }
    return false;
}

bool sf_copy_received(sf *x)
{
    return always(x, IR_OP_recv);
}

bool sf_copy_sum_sent(sf *x)
{
    return always(x, IR_OP_send);
}

// Then one wait is for many; or what is added later is added to the sum of all, which lies there.
bool sf_sum_reduced(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_slot slot = syn_slot_of(stage(x, s));
        for (int i = slot.first; i < slot.end; i++) {
            const syn_instr *in = &stage(x, s)->instr.p[i];
            const syn_tensor *t = stage(x, s)->tensors.p;
            if (in->kind != SYN_START || in->turn != IR_AFTER) continue;
            int w = i + 1;
            while (w < slot.end &&
                   (stage(x, s)->instr.p[w].kind != SYN_WAIT || stage(x, s)->instr.p[w].start != i))
                w++;
            bool there = t[in->in[0]].sym == t[in->out[0]].sym &&
                         t[in->in[0]].off[0] == t[in->out[0]].off[0];
            if ((w < slot.end && !there) || !sf_here(x, s)) continue;
            syn_program *p = sf_program(x, s);
            p->instr.p[i].turn = syn_part_at(&slot, i);
            if (w < slot.end) p->instr.p[w].turn = syn_part_at(&slot, w);
            return true;
        }
    }
    return false;
}

// An op whose result the same part reads.
bool sf_slot_once(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        const syn_program *p = stage(x, s);
        const syn_slot slot = syn_slot_of(p);
        for (int i = slot.first; i < slot.end; i++) {
            const syn_instr *in = &p->instr.p[i];
            if (in->kind != SYN_OP || !ir_in_slot(in->turn)) continue;
            const ir_node *n = &p->g->nodes.p[in->node];
            bool view = ir_op_of(n->op)->flags & (IR_ZERO_COPY | IR_SEND);
            int read = read_at(p, in->out[0]);
            if (view || read < i || !ir_in_slot(p->instr.p[read].turn) || !sf_here(x, s)) continue;
            sf_program(x, s)->instr.p[i].turn = IR_AFTER;
            return true;
        }
    }
    return false;
}
