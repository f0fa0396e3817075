// The statements of the step: one call an instruction, headings by module, blocks as functions.

#include "emit/op_text.h"
#include "emit/program_text.h"
#include "synth/price/fusion_cost.h"
#include "synth/price/pair_cost.h"

#include <string.h>

// Where a statement stands: in main (loop -1), or in the function of a loop, instruction j of its
// body.
typedef struct {
    pt *t;
    int loop, j, indent;
    hb_map *locals; // event variables of this function
    hb_str *event;  // by START instr: its local variable
} place;

static hb_str text_of(const char *c)
{
    return (hb_str){c, strlen(c)};
}

static hb_str operand(place *s, const syn_instr *i, int slot)
{
    pt *t = s->t;
    int tensor = slot < i->n_out             ? i->out[slot]
                 : slot < i->n_out + i->n_in ? i->in[slot - i->n_out]
                                             : i->scratch;
    if (tensor < 0) return HB_STR("NULL");
    if (s->loop < 0) return t->b->id[tensor];
    int f = pb_field_of(t->a, t->p, t->b, s->loop, s->j, slot);
    const pb_block *k = &t->b->blocks.p[t->b->loop[s->loop].block];
    return hb_fmt(t->a, "b->%.*s", HB_ARG(k->fields.p[f].name));
}

static hb_str attr_text(pt *t, const ir_op_row *row, int k, const ir_attr *v)
{
    static const char *const trans[] = {"HAP_NN", "HAP_NT", "HAP_TN"};
    static const char *const types[IR_N_DTYPES] = {"HAP_F32", "HAP_BF16", "HAP_F16",
                                                   "HAP_I64", "HAP_I32",  "HAP_BOOL"};
    switch (row->attr[k].kind) {
    case IR_ATTR_INT:
        if (strcmp(row->attr[k].name, "trans") == 0 && v->i >= 0 && v->i < 3)
            return text_of(trans[v->i]);
        return hb_fmt(t->a, "%lld", (long long)v->i);
    case IR_ATTR_REAL:
        return pt_number(t->a, v->f);
    case IR_ATTR_BOOL:
        return v->i ? HB_STR("true") : HB_STR("false");
    case IR_ATTR_DTYPE:
        return text_of(types[v->i]);
    case IR_ATTR_INTS: {
        if (v->n == 0) return HB_STR("(hap_ints){0, NULL}");
        hb_buf b = {.arena = t->a};
        hb_puts(&b, "HAP_INTS(");
        for (int i = 0; i < v->n; i++)
            hb_printf(&b, "%s%lld", i ? ", " : "", (long long)v->v[i]);
        hb_putc(&b, ')');
        return hb_done(&b);
    }
    }
    return (hb_str){0};
}

// n tensors from slot `from` as an argument: "&x" for one, an inline list if it is short, else an
// array declared above under the name `want`.
static hb_str list_text(place *s, const syn_instr *i, int from, int n, const char *want, int room)
{
    pt *t = s->t;
    if (n == 1) return hb_fmt(t->a, "&%.*s", HB_ARG(operand(s, i, from)));
    hb_buf b = {.arena = t->a};
    hb_puts(&b, "(hap_tensor *const[]){");
    for (int k = 0; k < n; k++)
        hb_printf(&b, "%s%.*s", k ? ", " : "", HB_ARG(operand(s, i, from + k)));
    hb_putc(&b, '}');
    if ((int)b.n <= room) return hb_done(&b);
    hb_str name = emit_unique(t->a, s->locals, hb_str_c(t->a, want));
    lines_one *entry = HB_ARRAY(t->a, lines_one, n);
    for (int k = 0; k < n; k++) {
        int tensor = from + k < i->n_out ? i->out[from + k] : i->in[from + k - i->n_out];
        entry[k].code = operand(s, i, from + k);
        hb_str shape = emit_shape(t->a, t->p, tensor, t->table);
        bool fits = (size_t)s->indent + 4 + entry[k].code.n + 5 + shape.n <= LINES_WIDTH;
        entry[k].comment = fits ? shape : (hb_str){0};
    }
    lines_list(&t->l, s->indent, hb_fmt(t->a, "hap_tensor *const %.*s[] =", HB_ARG(name)), entry,
               n);
    return name;
}

// The key of a random row in a block's function: every entry of the block has its own.
static hb_str key_text(place *s, int k)
{
    pt *t = s->t;
    const syn_loop *l = &t->p->loops.p[s->loop];
    const pb_loop *bl = &t->b->loop[s->loop];
    int64_t *key = HB_ARRAY(t->a, int64_t, l->count), step;
    lines_one *line = HB_ARRAY(t->a, lines_one, l->count);
    for (int it = 0; it < l->count; it++) {
        int entry = bl->dir > 0 ? it : l->count - 1 - it;
        int node = t->p->instr.p[l->first + it * l->len + s->j].node;
        key[entry] = t->p->g->nodes.p[node].attr[k].i;
        line[entry].code = hb_fmt(t->a, "%lld", (long long)key[entry]);
        line[entry].comment = t->p->g->nodes.p[node].name;
    }
    step = key[1] - key[0];
    bool even = true;
    for (int e = 1; e < l->count; e++)
        even = even && key[e] - key[e - 1] == step;
    if (even && step == 0) return hb_fmt(t->a, "%lld", (long long)key[0]);
    hb_str block = t->b->blocks.p[bl->block].name;
    if (even)
        return hb_fmt(t->a, "%lld + %lld * (b - %.*s)", (long long)key[0], (long long)step,
                      HB_ARG(block));
    hb_str name = emit_unique(t->a, s->locals, HB_STR("keys"));
    lines_list(&t->l, s->indent, hb_fmt(t->a, "static const int64_t %.*s[] =", HB_ARG(name)), line,
               l->count);
    return hb_fmt(t->a, "%.*s[b - %.*s]", HB_ARG(name), HB_ARG(block));
}

// The group that instruction `index` is of, NULL: none.
static const syn_group *group_of(const syn_program *p, int index)
{
    for (int k = 0; k < p->groups.n; k++) { // groups are few beside what is printed
        const syn_group *g = &p->groups.p[k];
        if (index >= g->first && index < g->first + g->len) return g;
    }
    return NULL;
}

static void print_op(place *s, int index)
{
    pt *t = s->t;
    const syn_instr *i = &t->p->instr.p[index];
    const ir_node *n = &t->p->g->nodes.p[i->node];
    const ir_op_row *row = ir_row(n->op);
    hb_str arg[IR_MAX_OUT + IR_MAX_IN + IR_MAX_ATTR + 4];
    int k = 0;
    arg[k++] = HB_STR("r");
    if (row->list_out) {
        arg[k++] = hb_fmt(t->a, "%d", i->n_out);
        arg[k++] = list_text(s, i, 0, i->n_out, "parts", 60);
    } else if (!(row->flags & IR_IN_PLACE)) {
        for (int o = 0; o < i->n_out; o++)
            arg[k++] = operand(s, i, o);
    }
    if (row->list_in) {
        arg[k++] = hb_fmt(t->a, "%d", i->n_in);
        arg[k++] = list_text(s, i, i->n_out, i->n_in, "parts", 60);
    } else {
        for (int o = 0; o < row->max_in; o++)
            arg[k++] = o < i->n_in ? operand(s, i, i->n_out + o) : HB_STR("NULL");
    }
    for (int o = 0; o < row->n_attr; o++)
        arg[k++] = s->loop >= 0 && strcmp(row->attr[o].name, "key") == 0
                       ? key_text(s, o)
                       : attr_text(t, row, o, &n->attr[o]);
    int shown = i->n_out > 0 ? i->out[0] : i->in[0];
    hb_str brief = emit_shape(t->a, t->p, shown, t->table);
    if (!group_of(t->p, index)) // its price is that of the group
        brief =
            hb_fmt(t->a, "%.*s    %.*s", HB_ARG(brief), HB_ARG(pt_ms(t->a, emit_slowest(t->p, i))));
    hb_str note = hb_fmt(t->a, "%.*s    %.*s", HB_ARG(emit_op_formula(t->a, n)), HB_ARG(brief));
    t->line[index] =
        lines_call(&t->l, s->indent, hb_fmt(t->a, "op_%s(", row->name), arg, k, note, brief);
}

// "+ -> whole", "@rows -> whole": what a conversion does to the first of its tensors, on the axes
// it uses.
static hb_str change_text(pt *t, const syn_instr *i)
{
    hb_buf b = {.arena = t->a};
    for (int side = 0; side < 2; side++) {
        const syn_tensor *x = &t->p->tensors.p[side ? i->out[0] : i->in[0]];
        if (side) hb_puts(&b, " -> ");
        hb_str last = {0};
        for (int ax = 0; ax < t->p->mesh->n_axes; ax++) {
            if (!(i->axes & (1u << ax)) || (ax == 0 && (i->axes & 2u) && // axis 1 says it
                                            syn_joint(t->p->mesh, &x->state)))
                continue;
            const syn_axis_state *st = &x->state.ax[ax];
            hb_str is = st->kind == SYN_S
                            ? hb_fmt(t->a, "dim %d @%.*s", st->dim, HB_ARG(t->table[st->cut]))
                        : st->kind == SYN_R  ? HB_STR("whole")
                        : st->reducer == 'm' ? HB_STR("^")
                                             : HB_STR("+");
            if (hb_str_eq(is, last)) continue;
            hb_printf(&b, "%s%.*s", last.n > 0 ? ", " : "", HB_ARG(is));
            last = is;
        }
        if (last.n == 0) hb_puts(&b, "whole");
    }
    return hb_done(&b);
}

static void print_start(place *s, int index)
{
    static const char *const forms[COST_PUSHED] = {
        "FORM_EVEN",      "FORM_PADDED", "FORM_GROUPED",  "FORM_SENDRECV",
        "FORM_EVEN_FLAT", "FORM_FLAT",   "FORM_TWO_LEVEL"};
    pt *t = s->t;
    const syn_instr *i = &t->p->instr.p[index];
    hb_str form = cost_is_push(i->form) ? hb_fmt(t->a, "FORM_PUSH(%d)", cost_copies(i->form))
                                        : text_of(forms[i->form]);
    hb_str to = list_text(s, i, 0, i->n_out, "to", 0);
    bool same = i->n_out == i->n_in && memcmp(i->out, i->in, sizeof *i->in * (size_t)i->n_in) == 0;
    hb_str from = same ? to : list_text(s, i, i->n_out, i->n_in, "from", 0);
    hb_buf axes = {.arena = t->a};
    for (int x = 0; x < t->p->mesh->n_axes; x++)
        if (i->axes & (1u << x)) hb_printf(&axes, "%sAXIS(%d)", axes.n ? " | " : "", x);
    hb_str arg[7] = {HB_STR("r"),
                     hb_done(&axes),
                     form,
                     hb_fmt(t->a, "%d", i->n_out),
                     to,
                     from,
                     operand(s, i, i->n_out + i->n_in)};
    hb_str call = emit_instr_name(t->a, t->p, index), target;
    if (t->b->events_of[index] < 0) {
        hb_str id = s->loop < 0 ? t->names[i->out[0]] : operand(s, i, 0);
        if (s->loop >= 0) id = (hb_str){id.p + 3, id.n - 3}; // without "b->"
        hb_str name = emit_unique(t->a, s->locals, hb_fmt(t->a, "e_%.*s", HB_ARG(id)));
        s->event[index] = name;
        target = hb_fmt(t->a, "hap_event *%.*s", HB_ARG(name));
    } else if (s->loop < 0) {
        target = t->b->events.p[t->b->events_of[index]].name;
    } else {
        int f = pb_start_field(t->a, t->p, t->b, s->loop, s->j);
        const pb_block *k = &t->b->blocks.p[t->b->loop[s->loop].block];
        target = hb_fmt(t->a, "*b->%.*s", HB_ARG(k->fields.p[f].name));
    }
    hb_str price = hb_fmt(t->a, "%.*s    %.*s", HB_ARG(emit_bytes(t->a, emit_coll_bytes(t->p, i))),
                          HB_ARG(pt_ms(t->a, emit_slowest(t->p, i))));
    hb_str brief = hb_fmt(t->a, "%.*s    %.*s", HB_ARG(change_text(t, i)), HB_ARG(price));
    hb_str note = hb_fmt(t->a, "%.*s    %.*s    %.*s", HB_ARG(change_text(t, i)),
                         HB_ARG(emit_shape(t->a, t->p, i->out[0], t->table)), HB_ARG(price));
    t->line[index] =
        lines_call(&t->l, s->indent, hb_fmt(t->a, "%.*s = %.*s(", HB_ARG(target), HB_ARG(call)),
                   arg, 7, note, brief);
}

static void print_wait(place *s, int index)
{
    pt *t = s->t;
    const syn_instr *i = &t->p->instr.p[index];
    hb_str event;
    if (t->b->events_of[i->start] < 0) {
        event = s->event[i->start];
    } else if (s->loop >= 0) {
        int f = pb_wait_field(t->a, t->p, t->b, s->loop, s->j);
        const pb_block *k = &t->b->blocks.p[t->b->loop[s->loop].block];
        event = hb_fmt(t->a, "*b->%.*s", HB_ARG(k->fields.p[f].name));
    } else {
        const pb_events *ev = &t->b->events.p[t->b->events_of[i->start]];
        event = ev->name;
        for (int e = 0; e < ev->n && ev->n > 1; e++)
            if (ev->start[e] == i->start) event = hb_fmt(t->a, "%.*s[%d]", HB_ARG(ev->name), e);
    }
    hb_str note = {0};
    double hidden = emit_hidden(t->e, i->start, index) * t->p->instr.p[i->start].sec[0];
    if (hidden > 0) note = hb_fmt(t->a, "%.*s hidden", HB_ARG(pt_ms(t->a, hidden)));
    hb_str arg[2] = {HB_STR("r"), event};
    t->line[index] = lines_call(&t->l, s->indent, HB_STR("hap_wait("), arg, 2, note, (hb_str){0});
}

static void print_local(place *s, int index)
{
    pt *t = s->t;
    const syn_instr *i = &t->p->instr.p[index];
    hb_str arg[4];
    int k = 0;
    arg[k++] = HB_STR("r");
    if (i->kind == SYN_PARTIAL) {
        hb_buf axes = {.arena = t->a};
        for (int x = 0; x < t->p->mesh->n_axes; x++)
            if (i->axes & (1u << x)) hb_printf(&axes, "%sAXIS(%d)", axes.n ? " | " : "", x);
        arg[k++] = hb_done(&axes);
    }
    arg[k++] = operand(s, i, 0);
    arg[k++] = operand(s, i, 1);
    hb_str brief = hb_fmt(t->a, "%.*s    %.*s", HB_ARG(emit_shape(t->a, t->p, i->out[0], t->table)),
                          HB_ARG(pt_ms(t->a, emit_slowest(t->p, i))));
    hb_str note = hb_fmt(t->a, "%.*s    %.*s", HB_ARG(change_text(t, i)), HB_ARG(brief));
    t->line[index] = lines_call(
        &t->l, s->indent, i->kind == SYN_PARTIAL ? HB_STR("hap_partial(") : HB_STR("hap_cut("), arg,
        k, note, brief);
}

// Where a group begins: what it takes as a kernel.
static void print_fuse(place *s, const syn_group *g)
{
    pt *t = s->t;
    double sec[CL_MAX_CLASSES], most = 0;
    syn_group_seconds(t->p, g, sec);
    for (int c = 0; c < t->p->mesh->n_classes; c++)
        most = sec[c] > most ? sec[c] : most;
    hb_str arg[2] = {HB_STR("r"), hb_fmt(t->a, "\"k%d\"", g->kernel + 1)};
    hb_str note = hb_fmt(t->a, "one kernel to hap_fused    %.*s", HB_ARG(pt_ms(t->a, most)));
    lines_call(&t->l, s->indent, HB_STR("hap_fuse("), arg, 2, note, (hb_str){0});
}

static void print_fused(place *s, const syn_group *g)
{
    pt *t = s->t;
    lines_one entry[SYN_MAX_GROUP * 2] = {{{0}, {0}}};
    hb_buf list = {.arena = t->a};
    int n = 0, last = s->j;
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &t->p->instr.p[g->first + m];
        s->j = last - g->len + 1 + m;
        for (int o = 0; o < in->n_out; o++)
            if (g->kept[m] >> o & 1)
                entry[n++] =
                    (lines_one){operand(s, in, o), emit_shape(t->a, t->p, in->out[o], t->table)};
    }
    s->j = last;
    hb_puts(&list, n == 0 ? "NULL" : n == 1 ? "&" : "(hap_tensor *const[]){");
    for (int k = 0; k < n; k++)
        hb_printf(&list, "%s%.*s", k ? ", " : "", HB_ARG(entry[k].code));
    if (n > 1) hb_putc(&list, '}');
    hb_str arg[3] = {HB_STR("r"), hb_fmt(t->a, "%d", n), hb_done(&list)};
    if (n > 1 && list.n > 60) {
        arg[2] = emit_unique(t->a, s->locals, HB_STR("kept"));
        hb_str head = hb_fmt(t->a, "hap_tensor *const %.*s[] =", HB_ARG(arg[2]));
        lines_list(&t->l, s->indent, head, entry, n);
    }
    lines_call(&t->l, s->indent, HB_STR("hap_fused("), arg, 3, (hb_str){0}, (hb_str){0});
}

// The pair that instruction `index` is of, NULL: none.
static const syn_pair *pair_of(const syn_program *p, int index)
{
    for (int k = 0; k < p->pairs.n; k++) {
        const syn_pair *x = &p->pairs.p[k];
        if (index >= x->first && index < x->first + x->len) return x;
    }
    return NULL;
}

static hb_str group_text(hb_arena *a, const int *g)
{
    return g[2] ? hb_fmt(a, "{%d, %d, %d}", g[0], g[1], g[2]) : hb_fmt(a, "{%d, %d}", g[0], g[1]);
}

// Where a pair begins: its groups of rows, and what they take.
static void print_overlap(place *s, const syn_pair *x)
{
    pt *t = s->t;
    bool consumer = syn_is_consumer(t->p, x);
    hb_buf list = {.arena = t->a};
    hb_puts(&list, "(const int64_t[][3]){");
    for (int k = 0; k < x->n_groups; k++)
        hb_printf(&list, "%s%.*s", k ? ", " : "", HB_ARG(group_text(t->a, x->group[k])));
    hb_putc(&list, '}');
    hb_str arg[3] = {HB_STR("r"), hb_fmt(t->a, "%d", x->n_groups), hb_done(&list)};
    if (list.n > 60) {
        lines_one *entry = HB_ARRAY(t->a, lines_one, x->n_groups);
        for (int k = 0; k < x->n_groups; k++) {
            int d = x->group[k][0];
            entry[k].code = group_text(t->a, x->group[k]);
            entry[k].comment = d == 0 ? HB_STR("own rows")
                                      : hb_fmt(t->a, "%s coordinate %c %d",
                                               consumer ? "from" : "to", consumer ? '-' : '+', d);
        }
        for (int k = 0; k < x->n_groups; k++) {
            int by = x->group[k][2] - x->group[k][0];
            if (x->group[k][2])
                entry[k].comment =
                    hb_fmt(t->a, "%.*s by way of %c %d, if that one has fewer rows",
                           HB_ARG(entry[k].comment), by < 0 ? '-' : '+', by < 0 ? -by : by);
        }
        for (int k = 0; k < x->n_groups; k++)
            if (x->group[k][1] < 0)
                entry[k].comment = hb_fmt(t->a, "%.*s, with those above", HB_ARG(entry[k].comment));
        if (t->p->instr.p[syn_pair_start(t->p, x)].coll == COST_ALL_REDUCE)
            for (int k = 0; k < x->n_groups; k++)
                entry[k].comment = hb_fmt(t->a, "part %d of all rows", k + 1);
        arg[2] = emit_unique(t->a, s->locals, HB_STR("groups"));
        hb_str head = hb_fmt(t->a, "static const int64_t %.*s[][3] =", HB_ARG(arg[2]));
        lines_list(&t->l, s->indent, head, entry, x->n_groups);
    }
    hb_str brief = hb_fmt(t->a, "together    %.*s, one after the other %.*s",
                          HB_ARG(pt_ms(t->a, x->total)), HB_ARG(pt_ms(t->a, x->sequential)));
    hb_str note = hb_fmt(t->a, "%.*s; %.0f %% of the transfer hidden", HB_ARG(brief),
                         100 * syn_pair_hidden(t->p, x));
    lines_call(&t->l, s->indent, HB_STR("hap_overlap("), arg, 3, note, brief);
}

static void print_one(place *s, int index)
{
    switch (s->t->p->instr.p[index].kind) {
    case SYN_OP:
        print_op(s, index);
        break;
    case SYN_START:
        print_start(s, index);
        break;
    case SYN_WAIT:
        print_wait(s, index);
        break;
    case SYN_SLICE:
    case SYN_PARTIAL:
        print_local(s, index);
        break;
    }
}

static void print_instr(place *s, int index)
{
    const syn_group *g = group_of(s->t->p, index);
    const syn_pair *x = pair_of(s->t->p, index);
    hb_str r = HB_STR("r");
    if (g && index == g->first) print_fuse(s, g);
    if (x && index == x->first) print_overlap(s, x);
    print_one(s, index);
    if (x && index == x->first + x->len - 1)
        lines_call(&s->t->l, s->indent, HB_STR("hap_overlapped("), &r, 1, (hb_str){0}, (hb_str){0});
    if (g && index == g->first + g->len - 1) print_fused(s, g);
}

static const char *phase_word(ir_phase p)
{
    return p == IR_FORWARD ? "forward" : p == IR_BACKWARD ? "backward" : "update";
}

// Heading of an instruction: its module; in a block's function without the block's own name.
static hb_str heading(place *s, int index)
{
    pt *t = s->t;
    const ir_node *n = &t->p->g->nodes.p[t->p->instr.p[index].node];
    if (n->phase == IR_UPDATE) return HB_STR("update");
    hb_str m = emit_module(t->a, t->p->g, t->p->instr.p[index].node);
    if (s->loop < 0) return hb_fmt(t->a, "%.*s, %s", HB_ARG(m), phase_word(n->phase));
    for (size_t i = m.n; i > 0; i--)
        if (m.p[i - 1] == '.') return hb_str_n(t->a, m.p + i, m.n - i);
    return m;
}

static void print_heading(place *s, int index, hb_str *last)
{
    hb_str h = heading(s, index);
    if (hb_str_eq(h, *last) || s->t->p->instr.p[index].kind == SYN_WAIT) return;
    lines_blank(&s->t->l);
    lines_comment(&s->t->l, s->indent, 0, h);
    *last = h;
}

static hb_map *fresh_locals(pt *t)
{
    hb_map *m = hb_map_new(t->a); // a local may not hide a buffer of main, nor a table
    for (int i = 0; i < t->p->tensors.n; i++)
        hb_map_put(m, t->names[i], 1);
    for (int i = 0; i < t->p->families.n; i++)
        hb_map_put(m, t->b->family[i].name, 1);
    for (int i = 0; i < t->shapes.n; i++)
        hb_map_put(m, t->shape_names.p[i], 1);
    return m;
}

void pt_function(pt *t, int loop)
{
    const syn_loop *l = &t->p->loops.p[loop];
    const pb_loop *bl = &t->b->loop[loop];
    const pb_block *k = &t->b->blocks.p[bl->block];
    double sec = 0;
    for (int j = 0; j < l->len; j++)
        if (t->p->instr.p[l->first + j].kind != SYN_START)
            sec += emit_slowest(t->p, &t->p->instr.p[l->first + j]);
    lines_comment(&t->l, 0, 0,
                  hb_fmt(t->a, "One of the %d blocks %.*s, %s: %.*s of computation.", l->count,
                         HB_ARG(k->name),
                         phase_word(t->p->g->nodes.p[t->p->instr.p[l->first].node].phase),
                         HB_ARG(pt_ms(t->a, sec))));
    lines_text(&t->l, 0, "static void %.*s(hap_rank *r, const %.*s *b)", HB_ARG(bl->function),
               HB_ARG(k->type));
    lines_text(&t->l, 0, "{");
    // Entry 0 of the block stands for all; with dir -1 that is the last iteration.
    int it = bl->dir > 0 ? 0 : l->count - 1;
    place s = {t, loop, 0, 4, fresh_locals(t), HB_ARRAY(t->a, hb_str, t->p->instr.n + 1)};
    hb_str last = {0};
    for (s.j = 0; s.j < l->len; s.j++) {
        int index = l->first + it * l->len + s.j;
        hb_str h = heading(&s, index);
        if (!hb_str_eq(h, last) && t->p->instr.p[index].kind != SYN_WAIT) {
            if (s.j > 0) lines_blank(&t->l);
            lines_comment(&t->l, 4, 0, h);
            last = h;
        }
        print_instr(&s, index);
        for (int o = 0; o < l->count; o++)
            t->line[l->first + o * l->len + s.j] = t->line[index];
    }
    lines_text(&t->l, 0, "}");
    lines_blank(&t->l);
}

void pt_step(pt *t)
{
    place s = {t, -1, 0, 8, fresh_locals(t), HB_ARRAY(t->a, hb_str, t->p->instr.n + 1)};
    hb_str last = {0};
    bool first = true;
    for (int i = 0; i < t->p->instr.n;) {
        int l = t->b->loop_of[i];
        if (l >= 0) {
            const syn_loop *lp = &t->p->loops.p[l];
            const pb_loop *bl = &t->b->loop[l];
            const pb_block *k = &t->b->blocks.p[bl->block];
            if (!first) lines_blank(&t->l);
            if (bl->dir > 0)
                lines_text(&t->l, 8, "for (int i = 0; i < %d; i++)", lp->count);
            else
                lines_text(&t->l, 8, "for (int i = %d; i >= 0; i--)", lp->count - 1);
            lines_text(&t->l, 12, "%.*s(r, &%.*s[i]);", HB_ARG(bl->function), HB_ARG(k->name));
            i = lp->first + lp->len * lp->count;
            last = (hb_str){0};
        } else {
            if (first && t->p->instr.p[i].kind != SYN_WAIT) {
                last = heading(&s, i);
                lines_comment(&t->l, 8, 0, last);
            }
            print_heading(&s, i, &last);
            print_instr(&s, i);
            i++;
        }
        first = false;
    }
}
