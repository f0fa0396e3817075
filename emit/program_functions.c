// The functions of the step: one for a loop's body, one for each part between loops, and their
// calls in main.

#include "emit/program_step.h"

#include <string.h>

// What a function is given: its block's number, and that of the micro-batch if an attribute hangs
// on it.
static bool needs_m(const pt *t, int first, int len)
{
    for (int i = first; i < first + len; i++) {
        const syn_instr *in = &t->p->instr.p[i];
        if (in->kind == SYN_OP && t->p->g->nodes.p[in->node].step != 0) return true;
        if (pt_is_once(t, i)) return true;
    }
    return false;
}

static hb_str head(const pt *t, hb_str name, bool block, int first, int len)
{
    return hb_fmt(t->a, "%.*s(hap_rank *r%s%s)", HB_ARG(name), block ? ", int i" : "",
                  needs_m(t, first, len) ? ", int64_t m" : "");
}

static void loop_function(pt *t, int loop)
{
    const syn_loop *l = &t->p->loops.p[loop];
    const pb_loop *bl = &t->b->loop[loop];
    const pb_block *k = &t->b->blocks.p[bl->block];
    int first = l->first + l->count / 2 * l->len; // one from the middle stands for all
    pt_place s = {.t = t, .loop = loop};
    pt_rehearse(&s, first, l->len);
    lines_note note = {.number = pt_computes(t, first, l->len)};
    hb_str layers = k->layers.n ? k->layers : k->name;
    lines_code(&t->l, 0,
               l->count == k->count
                   ? hb_fmt(t->a, "// One of the %d blocks %.*s.*", l->count, HB_ARG(layers))
                   : hb_fmt(t->a, "// One of %d of the %d blocks %.*s.*", l->count, k->count,
                            HB_ARG(layers)),
               &note);
    lines_text(&t->l, 0, "static void %.*s", HB_ARG(head(t, bl->function, true, first, l->len)));
    lines_text(&t->l, 0, "{");
    if (s.uses_b) {
        hb_str block = hb_fmt(t->a, "&%.*s[i]", HB_ARG(k->name));
        lines_fill(&t->l, 4, hb_fmt(t->a, "const %.*s *b = ", HB_ARG(k->type)), &block, 1, ";",
                   NULL);
    } else if (!s.uses_i) {
        lines_text(&t->l, 4, "(void)i;");
    }
    pt_print_body(&s, first, l->len);
    for (int it = 0; it < l->count; it++)
        for (int j = 0; j < l->len; j++)
            t->line[l->first + it * l->len + j] = t->line[first + j];
    lines_text(&t->l, 0, "}");
    lines_blank(&t->l);
}

static bool waits_alone(const pt *t, const pt_part *x)
{
    for (int i = x->first; i < x->end; i++)
        if (t->p->instr.p[i].kind != SYN_WAIT || pt_is_once(t, i)) return false;
    return true;
}

static void part_function(pt *t, const pt_part *x)
{
    if (waits_alone(t, x)) return; // main has them
    pt_place s = {.t = t, .loop = -1};
    lines_text(&t->l, 0, "static void %.*s",
               HB_ARG(head(t, x->function, false, x->first, x->end - x->first)));
    lines_text(&t->l, 0, "{");
    pt_print_body(&s, x->first, x->end - x->first);
    lines_text(&t->l, 0, "}");
    lines_blank(&t->l);
}

static ir_turn turn_of(const pt *t, int index)
{
    if (!pt_is_once(t, index)) return t->p->instr.p[index].turn;
    return syn_part_at(&t->slot, index);
}

// What a part does: a phase of the step; with micro-batches, what stands before or behind them.
enum { BEFORE = IR_UPDATE + 1, AFTER, WEIGHTS };
static int kind_of(const pt *t, int first, int end)
{
    const syn_program *p = t->p;
    ir_phase phase = pb_phase(p, first, end);
    ir_turn turn = turn_of(t, first);
    if (turn == IR_SLOT_WEIGHTS) return WEIGHTS;
    if (p->g->micro_batches < 2 || ir_in_slot(turn) || phase == IR_UPDATE) return (int)phase;
    return turn == IR_BEFORE ? BEFORE : AFTER;
}

// The name of a part: what it does among the parts of its phase.
static hb_str part_name(const pt *t, const pt_part *x)
{
    static const char *const phases[] = {"forward",        "backward",      "update",
                                         "before_batches", "after_batches", "weights"};
    const syn_program *p = t->p;
    int phase = kind_of(t, x->first, x->end);
    int clip = 0, updates = 0, sums = 0, ops = 0, first = -1, last = -1;
    bool loss = false, alone = true;
    for (int i = x->first; i < x->end; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_OP) continue;
        if (first < 0) first = i;
        last = i;
        ops++;
        clip += p->g->nodes.p[in->node].op == IR_OP_clip_scale;
        sums += p->g->nodes.p[in->node].op == IR_OP_sumsq;
        updates += (ir_op_of(p->g->nodes.p[in->node].op)->flags & IR_IN_PLACE) != 0;
        loss = loss || (in->n_out > 0 && in->out[0] == p->loss);
    }
    for (int i = 0; i < t->parts.n; i++)
        if (t->parts.p[i].first != x->first)
            alone = alone && kind_of(t, t->parts.p[i].first, t->parts.p[i].end) != phase;
    for (int l = 0; l < p->loops.n; l++)
        alone = alone &&
                kind_of(t, p->loops.p[l].first, p->loops.p[l].first + p->loops.p[l].len) != phase;
    if (alone || phase >= BEFORE) return (hb_str){phases[phase], strlen(phases[phase])};
    if (ops == 0) return HB_STR("convert");
    if (phase == IR_UPDATE)
        return updates > 0 ? HB_STR("update")
               : clip > 0  ? HB_STR("clip_gradients")
                           : HB_STR("norm");
    if (loss) return HB_STR("loss_forward");
    // Forward it begins with its module, backward it ends there.
    int at = phase == IR_FORWARD ? first : last;
    if (phase == IR_BACKWARD && x->first > 0 && t->loop_of[x->first - 1] < 0)
        return HB_STR("loss_backward");
    hb_str m = emit_without_root(emit_root(p->g), emit_module(t->a, p->g, p->instr.p[at].node));
    return hb_fmt(t->a, "%.*s_%s", HB_ARG(emit_identifier(t->a, m)), phases[phase]);
}

// Runs of the step between loops, cut where the phase changes; a fusion or pair is not cut.
void pt_find_parts(pt *t)
{
    const syn_program *p = t->p;
    t->slot = syn_slot_of(p);
    t->loop_of = HB_ARRAY(t->a, int, p->instr.n + 1);
    t->part_of = HB_ARRAY(t->a, int, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        t->loop_of[i] = t->part_of[i] = -1;
    for (int l = 0; l < p->loops.n; l++)
        for (int i = 0; i < p->loops.p[l].len * p->loops.p[l].count; i++)
            t->loop_of[p->loops.p[l].first + i] = l;
    for (int i = 0; i < p->instr.n; i++) {
        if (t->loop_of[i] >= 0) continue;
        const syn_fusion *g = pt_fusion_of(p, i);
        const syn_pair *x = pt_pair_of(p, i);
        bool begins = i == 0 || t->loop_of[i - 1] >= 0;
        if (!begins && p->instr.p[i].kind != SYN_WAIT && !(g && g->first < i) &&
            !(x && x->first < i))
            begins = kind_of(t, i, i + 1) != kind_of(t, t->parts.p[t->parts.n - 1].first, i + 1);
        if (i > 0 && turn_of(t, i) != turn_of(t, i - 1)) begins = true;
        if (begins) HB_PUSH(t->a, &t->parts, (pt_part){.first = i});
        t->parts.p[t->parts.n - 1].end = i + 1;
        t->part_of[i] = t->parts.n - 1;
    }
    for (int i = 0; i < t->parts.n; i++)
        t->parts.p[i].function = emit_unique(t->a, t->used, part_name(t, &t->parts.p[i]));
}

// Calls f for each loop and part in the order of the step: (loop, NULL) or (-1, part).
static void in_order(pt *t, void (*f)(pt *t, int loop, const pt_part *x))
{
    const pt_part *x = t->parts.p;
    for (int i = 0; i < t->p->instr.n;) {
        int l = t->loop_of[i];
        f(t, l, l < 0 ? x : NULL);
        i = l < 0 ? x++->end
                  : t->p->loops.p[l].first + t->p->loops.p[l].len * t->p->loops.p[l].count;
    }
}

void pt_prototypes(pt *t)
{
    HB_VEC(hb_str) item = {0};
    const pt_part *x = t->parts.p;
    for (int i = 0; i < t->p->instr.n;) {
        int l = t->loop_of[i];
        if (l >= 0)
            HB_PUSH(t->a, &item,
                    head(t, t->b->loop[l].function, true, t->p->loops.p[l].first,
                         t->p->loops.p[l].len));
        else if (!waits_alone(t, x))
            HB_PUSH(t->a, &item, head(t, x->function, false, x->first, x->end - x->first));
        i = l < 0 ? x++->end
                  : t->p->loops.p[l].first + t->p->loops.p[l].len * t->p->loops.p[l].count;
    }
    lines_fill(&t->l, 0, HB_STR("static void "), item.p, item.n, ";", NULL);
}

static void call_one(pt *t, int loop, const pt_part *x, int indent)
{
    lines_note note = {.minor = false};
    if (x && waits_alone(t, x)) {
        pt_place s = {.t = t, .loop = -1, .indent = indent};
        for (int i = x->first; i < x->end; i++)
            pt_print_wait(&s, i);
        return;
    }
    if (x) {
        note.number = pt_computes(t, x->first, x->end - x->first);
        const char *m = needs_m(t, x->first, x->end - x->first) ? ", m" : "";
        lines_code(&t->l, indent, hb_fmt(t->a, "%.*s(r%s);", HB_ARG(x->function), m), &note);
        return;
    }
    const syn_loop *l = &t->p->loops.p[loop];
    const pb_loop *b = &t->b->loop[loop];
    note.number = pt_computes(t, l->first, l->len * l->count);
    if (b->dir > 0)
        lines_text(&t->l, indent, "for (int i = %d; i < %d; i++)", b->first, b->first + l->count);
    else
        lines_text(&t->l, indent, "for (int i = %d; i >= %d; i--)", b->first,
                   b->first - l->count + 1);
    const char *m = needs_m(t, l->first, l->len) ? ", m" : "";
    lines_code(&t->l, indent + 4, hb_fmt(t->a, "%.*s(r, i%s);", HB_ARG(b->function), m), &note);
}

// The parts of a stage's slots, in the order of its table.
static void begin_parts(pt *t)
{
    lines_text(&t->l, 8, "for (int k = 0; k < HAP_N(slots%s); k++) { // micro-batches", t->stage);
    lines_text(&t->l, 12, "const int64_t m = slots%s[k].m;", t->stage);
    if (t->p->g->depth > 1) lines_text(&t->l, 12, "hap_ring(r, (int)(m %% %d));", t->p->g->depth);
    lines_text(&t->l, 12, "if (!slots%s[k].back) {", t->stage);
}

static void call(pt *t, int loop, const pt_part *x)
{
    int first = x ? x->first : t->p->loops.p[loop].first;
    int end = x ? x->end : first + t->p->loops.p[loop].len * t->p->loops.p[loop].count;
    const syn_slot slot = t->slot;
    bool inside = slot.times > 1 && first >= slot.first && first < slot.end;
    bool parts = inside && t->stage[0];
    int indent = parts ? 16 : inside ? 12 : 8;
    if (parts && first == slot.first) {
        begin_parts(t);
    } else if (parts && first == slot.back) {
        lines_text(&t->l, 12,
                   slot.weights < slot.end ? "} else if (!slots%s[k].weights) {" : "} else {",
                   t->stage);
    } else if (parts && first == slot.weights) {
        lines_text(&t->l, 12, "} else {");
    } else if (inside && first == slot.first) {
        lines_text(&t->l, 8, "for (int64_t m = 0; m < %d; m++) { // micro-batches", slot.times);
    }
    call_one(t, loop, x, indent);
    if (parts && end == slot.end) lines_text(&t->l, 12, "}");
    if (inside && end == slot.end) lines_text(&t->l, 8, "}");
}

void pt_loop_body(pt *t)
{
    in_order(t, call);
}

static void function(pt *t, int loop, const pt_part *x)
{
    if (x)
        part_function(t, x);
    else
        loop_function(t, loop);
}

void pt_functions(pt *t)
{
    in_order(t, function);
}
