#include "synth/certify/check_slots.h"

static bool apart(const syn_program *p)
{
    const syn_slot s = syn_slot_of(p);
    return s.weights < s.end;
}

// --- few micro-batches ---

static void put(hb_arena *a, syn_program *p, int m, ir_turn turn)
{
    if (turn != IR_SLOT_WEIGHTS || apart(p)) HB_PUSH(a, &p->order, (syn_slot_part){m, turn});
}

const syn_program *syn_few_slots(hb_arena *a, const syn_program *p)
{
    static const syn_slot_part mixed[] = {
        {0, IR_SLOT},         {1, IR_SLOT},         {0, IR_SLOT_BACK},
        {1, IR_SLOT_BACK},    {0, IR_SLOT_WEIGHTS}, {2, IR_SLOT},
        {1, IR_SLOT_WEIGHTS}, {2, IR_SLOT_BACK},    {2, IR_SLOT_WEIGHTS}};
    // Without weight gradients apart a forward part stands between another's parts, too.
    static const syn_slot_part whole[] = {{0, IR_SLOT}, {1, IR_SLOT},      {0, IR_SLOT_BACK},
                                          {2, IR_SLOT}, {1, IR_SLOT_BACK}, {2, IR_SLOT_BACK}};
    if (p->g->micro_batches <= SYN_PROVED_SLOTS || p->order.n == 0) return p;
    ir_graph *g = hb_copy(a, p->g, sizeof *g);
    syn_program *few = hb_copy(a, p, sizeof *p);
    const syn_slot_part *order = apart(p) ? mixed : whole;
    size_t n = apart(p) ? sizeof mixed / sizeof *mixed : sizeof whole / sizeof *whole;
    g->micro_batches = SYN_PROVED_SLOTS;
    g->depth = p->g->depth < 2 ? p->g->depth : 2;
    few->g = g;
    few->order.p = NULL;
    few->order.n = few->order.cap = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        few->local_bytes[c] = p->ring_at[c] + (g->depth > 1 ? g->depth : 1) * p->ring_bytes[c];
    for (int m = 0; m < SYN_PROVED_SLOTS && g->depth < 2; m++)
        for (ir_turn t = IR_SLOT; t <= IR_SLOT_WEIGHTS; t++)
            put(a, few, m, t);
    for (size_t i = 0; i < n && g->depth > 1; i++)
        put(a, few, order[i].m, order[i].turn);
    return few;
}

// --- the order ---

static const char *const kinds[] = {
    [IR_SLOT] = "forward", [IR_SLOT_BACK] = "backward", [IR_SLOT_WEIGHTS] = "weights"};

static bool check_order(hb_arena *a, const syn_program *p, hb_str *why)
{
    ir_turn last = apart(p) ? IR_SLOT_WEIGHTS : IR_SLOT_BACK;
    int next[IR_AFTER] = {0}, depth = p->g->depth > 0 ? p->g->depth : 1;
    for (int i = 0; i < p->order.n; i++) {
        const syn_slot_part *h = &p->order.p[i];
        if (h->turn < IR_SLOT || h->turn > last) {
            *why = hb_fmt(a, "slot %d is of no part", i);
            return false;
        }
        bool free = h->turn > IR_SLOT ? h->m < next[h->turn - 1] : h->m - depth < next[last];
        if (h->m != next[h->turn]++ || !free || h->m >= p->g->micro_batches) {
            *why = hb_fmt(a, "slot %d: micro-batch %d cannot go %s there", i, h->m, kinds[h->turn]);
            return false;
        }
    }
    for (ir_turn t = IR_SLOT; t <= last; t++)
        if (next[t] != p->g->micro_batches) {
            *why =
                hb_fmt(a, "%d of %d micro-batches go %s", next[t], p->g->micro_batches, kinds[t]);
            return false;
        }
    return true;
}

// --- the ring ---

static bool lies_right(const syn_program *p, const syn_tensor *t, int c)
{
    int64_t end = t->off[c] + t->bytes[c];
    if (t->bytes[c] == 0 || (t->sym && !t->ring)) return true;
    if (!t->ring) return end <= p->ring_at[c];
    return !t->sym && t->off[c] >= p->ring_at[c] && end <= p->ring_at[c] + p->ring_bytes[c];
}

static bool check_ring(hb_arena *a, const syn_program *p, hb_str *why)
{
    for (int c = 0; c < p->mesh->n_classes; c++) {
        if (p->ring_at[c] + p->g->depth * p->ring_bytes[c] > p->local_bytes[c]) {
            *why = HB_STR("places of the ring lie outside the memory");
            return false;
        }
        for (int t = 0; t < p->tensors.n; t++)
            if (!lies_right(p, &p->tensors.p[t], c)) {
                *why = hb_fmt(a, "tensor %d lies over a place of the ring", t);
                return false;
            }
    }
    return true;
}

bool syn_check_slots(hb_arena *a, const syn_program *p, hb_str *why)
{
    if (p->g->micro_batches < 2) return true;
    return check_order(a, p, why) && check_ring(a, p, why);
}
