// The statements of the step: one call an instruction, headings by module.

#include "emit/program_step.h"

#include "emit/op_text.h"
#include "ir/variant.h"
#include "synth/price/fusion_cost.h"
#include "synth/price/pair_cost.h"

#include <string.h>

static hb_str text_of(const char *c)
{
    return (hb_str){c, strlen(c)};
}

// Remembers what an expression needs of its function.
static hb_str used(pt_place *s, hb_str x)
{
    if (x.n > 3 && memcmp(x.p, "b->", 3) == 0)
        s->uses_b = true;
    else if (x.n > 0 && memchr(x.p, '[', x.n))
        s->uses_i = true;
    return x;
}

static hb_str operand(pt_place *s, const syn_instr *i, int slot)
{
    pt *t = s->t;
    int tensor = slot < i->n_out             ? i->out[slot]
                 : slot < i->n_out + i->n_in ? i->in[slot - i->n_out]
                                             : i->scratch;
    if (tensor < 0) return HB_STR("NULL");
    if (s->loop < 0) return t->b->id[tensor];
    return used(s, pb_operand(t->a, t->p, t->b, s->loop, s->j, slot));
}

// The event that an instruction starts or waits for; empty: a variable of the function.
static hb_str event_of(pt_place *s, int start)
{
    pt *t = s->t;
    if (s->loop < 0) return pb_event_of(t->a, t->b, start);
    return used(s, pb_event(t->a, t->p, t->b, s->loop, s->j));
}

static hb_str attr_text(pt *t, const ir_op_info *row, int k, const ir_attr *v)
{
    static const char *const trans[] = {"HAP_NN", "HAP_NT", "HAP_TN"};
    static const char *const types[IR_N_DTYPES] = {"HAP_F32", "HAP_BF16", "HAP_F16", "HAP_I64",
                                                   "HAP_I32", "HAP_BOOL", "HAP_U8"};
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
static hb_str list_text(pt_place *s, const syn_instr *i, int from, int n, const char *want,
                        int room)
{
    pt *t = s->t;
    hb_str *item = HB_ARRAY(t->a, hb_str, n + 1);
    hb_buf b = {.arena = t->a};
    for (int k = 0; k < n; k++) {
        item[k] = operand(s, i, from + k);
        hb_printf(&b, "%s%.*s", k ? ", " : "", HB_ARG(item[k]));
    }
    if (n == 1) return hb_fmt(t->a, "&%.*s", HB_ARG(item[0]));
    if ((int)b.n <= room) return hb_fmt(t->a, "(hap_tensor *const[]){%.*s}", HB_ARG(hb_done(&b)));
    hb_str name = emit_unique(t->a, s->locals, hb_str_c(t->a, want));
    lines_fill(&t->l, s->indent, hb_fmt(t->a, "hap_tensor *const %.*s[] = {", HB_ARG(name)), item,
               n, "};", NULL);
    return name;
}

// An attribute that grows from one micro-batch m to the next.
static hb_str slot_text(hb_arena *a, int64_t base, int64_t step)
{
    if (base == 0) return hb_fmt(a, "m * %lld", (long long)step);
    if (base == step) return hb_fmt(a, "(m + 1) * %lld", (long long)step);
    return hb_fmt(a, "%lld + m * %lld", (long long)base, (long long)step);
}

// The key of a random row in a block's function: every entry of the block has its own.
static hb_str key_text(pt_place *s, int k)
{
    pt *t = s->t;
    const syn_loop *l = &t->p->loops.p[s->loop];
    const pb_loop *bl = &t->b->loop[s->loop];
    int low = bl->dir > 0 ? bl->first : bl->first - l->count + 1;
    int64_t *key = HB_ARRAY(t->a, int64_t, l->count), step;
    hb_str *item = HB_ARRAY(t->a, hb_str, l->count);
    for (int it = 0; it < l->count; it++) {
        int at = bl->first + bl->dir * it - low;
        key[at] = t->p->g->nodes.p[t->p->instr.p[l->first + it * l->len + s->j].node].attr[k].i;
        item[at] = hb_fmt(t->a, "%lld", (long long)key[at]);
    }
    step = key[1] - key[0];
    bool even = true;
    for (int e = 1; e < l->count; e++)
        even = even && key[e] - key[e - 1] == step;
    if (even && step == 0) return item[0];
    s->uses_i = true;
    if (even)
        return hb_fmt(t->a, "%lld + %lld * i", (long long)(key[0] - step * low), (long long)step);
    hb_str name = emit_unique(t->a, s->locals, HB_STR("keys"));
    lines_fill(&t->l, s->indent, hb_fmt(t->a, "static const int64_t %.*s[] = {", HB_ARG(name)),
               item, l->count, "};", NULL);
    return low ? hb_fmt(t->a, "%.*s[i - %d]", HB_ARG(name), low)
               : hb_fmt(t->a, "%.*s[i]", HB_ARG(name));
}

// The fusion that instruction `index` is of, NULL: none.
const syn_fusion *pt_fusion_of(const syn_program *p, int index)
{
    for (int k = 0; k < p->fusions.n; k++) { // fusions are few beside what is printed
        const syn_fusion *g = &p->fusions.p[k];
        if (index >= g->first && index < g->first + g->len) return g;
    }
    return NULL;
}

// What stands behind a statement: a formula and the shape of what it makes, if that is not the one
// shown last; the price alone where there is no room.
static lines_note note_of(pt_place *s, hb_str formula, int shown, double sec)
{
    pt *t = s->t;
    hb_str shape = emit_shape(t->a, t->p, shown, t->table);
    lines_note n = {.number = pt_ms(t->a, sec), .minor = sec < s->sec / 100};
    if (sec < 0) n.number = (hb_str){0};
    if (hb_str_eq(shape, s->shape)) {
        n.text[0] = formula;
        return n;
    }
    s->shape = shape;
    n.text[0] = formula.n ? hb_fmt(t->a, "%.*s  %.*s", HB_ARG(formula), HB_ARG(shape)) : shape;
    n.text[1] = shape;
    return n;
}

static void print_op(pt_place *s, int index)
{
    pt *t = s->t;
    const syn_instr *i = &t->p->instr.p[index];
    const ir_node *n = &t->p->g->nodes.p[i->node];
    const ir_op_info *row = ir_op_of(n->op);
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
    for (int o = 0; o < row->n_attr; o++) {
        int64_t step = ir_slot_attr(n, o, 1).i - n->attr[o].i;
        arg[k++] = s->loop >= 0 && strcmp(row->attr[o].name, "key") == 0 ? key_text(s, o)
                   : step != 0 ? slot_text(t->a, n->attr[o].i, step)
                               : attr_text(t, row, o, &n->attr[o]);
    }
    double sec = pt_fusion_of(t->p, index) ? -1 : emit_slowest(t->p, i); // a fusion has one price
    lines_note note =
        note_of(s, emit_op_formula(t->a, n), i->n_out > 0 ? i->out[0] : i->in[0], sec);
    t->line[index] = lines_call(&t->l, s->indent, hb_fmt(t->a, "op_%s(", row->name), arg, k, &note);
}

// "+ -> @rows", "@rows -> whole": what a conversion does to the first of its tensors, on the axes
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
            hb_str is = st->kind == SYN_S    ? hb_fmt(t->a, "@%.*s", HB_ARG(t->table[st->cut]))
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

// The pair that instruction `index` is of, NULL: none.
const syn_pair *pt_pair_of(const syn_program *p, int index)
{
    for (int k = 0; k < p->pairs.n; k++) {
        const syn_pair *x = &p->pairs.p[k];
        if (index >= x->first && index < x->first + x->len) return x;
    }
    return NULL;
}

// The wait that follows a START at once, -1: something stands between.
static int wait_at_once(const pt_place *s, int index)
{
    const syn_program *p = s->t->p;
    if (index + 1 >= s->end || pt_pair_of(p, index)) return -1;
    const syn_instr *w = &p->instr.p[index + 1];
    return w->kind == SYN_WAIT && w->start == index && !pt_pair_of(p, index + 1) &&
                   s->t->b->events_of[index] < 0
               ? index + 1
               : -1;
}

// Prints a START, and the wait with it if that follows at once.
static void print_start(pt_place *s, int index)
{
    static const char *const forms[COST_PUTS] = {"FORM_EVEN",     "FORM_PADDED",    "FORM_GROUPED",
                                                 "FORM_SENDRECV", "FORM_EVEN_FLAT", "FORM_FLAT",
                                                 "FORM_TWO_LEVEL"};
    pt *t = s->t;
    const syn_instr *i = &t->p->instr.p[index];
    hb_str form = cost_is_put(i->form) ? hb_fmt(t->a, "FORM_PUT(%d)", cost_copies(i->form))
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
    hb_str call = emit_instr_name(t->a, t->p, index), head;
    int wait = wait_at_once(s, index);
    hb_str kept = event_of(s, index);
    if (wait >= 0) {
        head = hb_fmt(t->a, "hap_wait(r, %.*s(", HB_ARG(call));
    } else if (kept.n > 0) {
        head = hb_fmt(t->a, "%.*s = %.*s(", HB_ARG(kept), HB_ARG(call));
    } else {
        hb_str id = operand(s, i, 0);
        if (id.n > 3 && memcmp(id.p, "b->", 3) == 0) id = (hb_str){id.p + 3, id.n - 3};
        hb_str name =
            emit_unique(t->a, s->locals, hb_fmt(t->a, "e_%.*s", HB_ARG(emit_identifier(t->a, id))));
        s->event[index] = name;
        head = hb_fmt(t->a, "hap_event *%.*s = %.*s(", HB_ARG(name), HB_ARG(call));
    }
    double sec = emit_slowest(t->p, i);
    lines_note note = {.number = pt_ms(t->a, sec), .minor = sec < s->sec / 100};
    hb_str bytes = emit_bytes(t->a, emit_coll_bytes(t->p, i)), change = change_text(t, i);
    s->shape = emit_shape(t->a, t->p, i->out[0], t->table);
    note.text[0] =
        hb_fmt(t->a, "%.*s  %.*s  %.*s", HB_ARG(change), HB_ARG(s->shape), HB_ARG(bytes));
    note.text[1] = hb_fmt(t->a, "%.*s  %.*s", HB_ARG(change), HB_ARG(bytes));
    note.text[2] = bytes;
    t->line[index] = lines_fill(&t->l, s->indent, head, arg, 7, wait >= 0 ? "));" : ");", &note);
    if (wait >= 0) t->line[wait] = t->line[index];
}

void pt_print_wait(pt_place *s, int index)
{
    pt *t = s->t;
    const syn_instr *i = &t->p->instr.p[index];
    hb_str event = event_of(s, i->start);
    if (event.n == 0) event = s->event[i->start];
    lines_note note = {.minor = false};
    double hidden =
        emit_hidden(t->e, i->start, index) * emit_slowest(t->p, &t->p->instr.p[i->start]);
    if (hidden > 0) note.text[0] = hb_fmt(t->a, "%.*s hidden", HB_ARG(pt_ms(t->a, hidden)));
    hb_str arg[2] = {HB_STR("r"), event};
    t->line[index] = lines_call(&t->l, s->indent, HB_STR("hap_wait("), arg, 2, &note);
}

static void print_local(pt_place *s, int index)
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
    lines_note note = note_of(s, change_text(t, i), i->out[0], emit_slowest(t->p, i));
    t->line[index] = lines_call(
        &t->l, s->indent, i->kind == SYN_PARTIAL ? HB_STR("hap_partial(") : HB_STR("hap_cut("), arg,
        k, &note);
}

// Where a fusion begins: what it takes as a kernel, or at the end of the matmul before it.
static void print_fuse(pt_place *s, const syn_fusion *g)
{
    pt *t = s->t;
    double sec[CL_MAX_CLASSES], most = 0;
    syn_fusion_seconds(t->p, g, sec);
    bool ends = syn_ending_seconds(t->p, &t->endings, g, sec);
    for (int c = 0; c < t->p->mesh->n_classes; c++)
        most = sec[c] > most ? sec[c] : most;
    most /= syn_instr_slots(t->p, &t->p->instr.p[g->first]);
    hb_str arg[2] = {HB_STR("r"), hb_fmt(t->a, "\"k%d\"", g->kernel + 1)};
    lines_note note = {.text = {ends ? HB_STR("ends the matmul, to hap_fused")
                                     : HB_STR("one kernel to hap_fused")},
                       .number = pt_ms(t->a, most)};
    lines_call(&t->l, s->indent, HB_STR("hap_fuse("), arg, 2, &note);
}

static void print_fused(pt_place *s, const syn_fusion *g)
{
    pt *t = s->t;
    hb_str item[SYN_MAX_FUSION * IR_MAX_OUT];
    hb_buf list = {.arena = t->a};
    int n = 0, last = s->j;
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &t->p->instr.p[g->first + m];
        s->j = last - g->len + 1 + m;
        for (int o = 0; o < in->n_out; o++)
            if (g->kept[m] >> o & 1) item[n++] = operand(s, in, o);
    }
    s->j = last;
    hb_puts(&list, n == 0 ? "NULL" : n == 1 ? "&" : "(hap_tensor *const[]){");
    for (int k = 0; k < n; k++)
        hb_printf(&list, "%s%.*s", k ? ", " : "", HB_ARG(item[k]));
    if (n > 1) hb_putc(&list, '}');
    hb_str arg[3] = {HB_STR("r"), hb_fmt(t->a, "%d", n), hb_done(&list)};
    if (n > 1 && list.n > 60) {
        arg[2] = emit_unique(t->a, s->locals, HB_STR("kept"));
        lines_fill(&t->l, s->indent, hb_fmt(t->a, "hap_tensor *const %.*s[] = {", HB_ARG(arg[2])),
                   item, n, "};", NULL);
    }
    lines_call(&t->l, s->indent, HB_STR("hap_fused("), arg, 3, NULL);
}

static hb_str chunk_text(hb_arena *a, const int *g)
{
    return g[2] ? hb_fmt(a, "{%d, %d, %d}", g[0], g[1], g[2]) : hb_fmt(a, "{%d, %d}", g[0], g[1]);
}

// The chunks as an argument; many are a table of their own.
static hb_str chunks_arg(pt_place *s, int (*chunk)[3], int n)
{
    pt *t = s->t;
    hb_buf list = {.arena = t->a};
    hb_str *item = HB_ARRAY(t->a, hb_str, n);
    hb_puts(&list, "(const int64_t[][3]){");
    for (int k = 0; k < n; k++) {
        item[k] = chunk_text(t->a, chunk[k]);
        hb_printf(&list, "%s%.*s", k ? ", " : "", HB_ARG(item[k]));
    }
    hb_putc(&list, '}');
    if (list.n <= 60) return hb_done(&list);
    hb_str name = emit_unique(t->a, s->locals, HB_STR("chunks"));
    lines_fill(&t->l, s->indent, hb_fmt(t->a, "static const int64_t %.*s[][3] = {", HB_ARG(name)),
               item, n, "};", NULL);
    return name;
}

static hb_str how_text(hb_arena *a, unsigned how)
{
    static const struct {
        unsigned bit;
        const char *name;
    } bits[] = {{SYN_TILE_TURNS, "HAP_TILE_TURNS"},     {SYN_TILE_SUMS, "HAP_TILE_SUMS"},
                {SYN_TILE_BY_ROWS, "HAP_TILE_BY_ROWS"}, {SYN_TILE_STORES, "HAP_TILE_STORES"},
                {SYN_TILE_PARTS, "HAP_TILE_PARTS"},     {SYN_TILE_FIRST, "HAP_TILE_FIRST"}};
    hb_buf b = {.arena = a};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (how & bits[i].bit) hb_printf(&b, "%s%s", b.n ? " | " : "", bits[i].name);
    return b.n ? hb_done(&b) : HB_STR("0");
}

// The pair's list of tiles, and what it takes.
static void print_tiles(pt_place *s, const syn_tiles *x)
{
    pt *t = s->t;
    hb_str arg[6] = {HB_STR("r"),
                     hb_fmt(t->a, "%d", x->rows),
                     hb_fmt(t->a, "%d", x->cols),
                     how_text(t->a, x->how),
                     hb_fmt(t->a, "%d", x->n_chunks),
                     chunks_arg(s, x->chunk, x->n_chunks)};
    lines_note note = {.number = pt_ms(t->a, x->total)};
    note.text[0] = note.text[1] = HB_STR("as one list of tiles");
    lines_call(&t->l, s->indent, HB_STR("hap_tiles("), arg, 6, &note);
}

// Where a pair begins: its chunks of rows, and what they take.
static void print_overlap(pt_place *s, const syn_pair *x)
{
    pt *t = s->t;
    hb_str arg[3] = {HB_STR("r"), hb_fmt(t->a, "%d", x->n_chunks),
                     chunks_arg(s, x->chunk, x->n_chunks)};
    lines_note note = {.number = pt_ms(t->a, x->chunked)};
    note.text[1] = hb_fmt(t->a, "%.*s one after the other", HB_ARG(pt_ms(t->a, x->sequential)));
    note.text[0] = hb_fmt(t->a, "%.*s, %.0f %% of the transfer hidden", HB_ARG(note.text[1]),
                          100 * syn_pair_hidden(t->p, x));
    lines_call(&t->l, s->indent, HB_STR("hap_overlap("), arg, 3, &note);
    if (x->tiles.n_chunks) print_tiles(s, &x->tiles);
}

static void print_one(pt_place *s, int index)
{
    switch (s->t->p->instr.p[index].kind) {
    case SYN_OP:
        if (!s->t->view[index]) print_op(s, index);
        break;
    case SYN_START:
        print_start(s, index);
        break;
    case SYN_WAIT:
        if (s->t->line[index] == 0) pt_print_wait(s, index);
        break;
    case SYN_SLICE:
    case SYN_PARTIAL:
        print_local(s, index);
        break;
    }
}

static void print_instr(pt_place *s, int index)
{
    const syn_fusion *g = pt_fusion_of(s->t->p, index);
    const syn_pair *x = pt_pair_of(s->t->p, index);
    hb_str r = HB_STR("r");
    if (g && index == g->first) print_fuse(s, g);
    if (x && index == x->first) print_overlap(s, x);
    print_one(s, index);
    if (x && index == x->first + x->len - 1)
        lines_call(&s->t->l, s->indent, HB_STR("hap_overlapped("), &r, 1, NULL);
    if (g && index == g->first + g->len - 1) print_fused(s, g);
}

// Heading of an instruction: its module, in a block's function without the block's own name.
static hb_str heading(const pt_place *s, int index)
{
    pt *t = s->t;
    if (t->p->g->nodes.p[t->p->instr.p[index].node].phase == IR_UPDATE) return (hb_str){0};
    hb_str m = emit_module(t->a, t->p->g, t->p->instr.p[index].node);
    if (s->loop < 0) return emit_without_root(emit_root(t->p->g), m);
    for (size_t i = m.n; i > 0; i--)
        if (m.p[i - 1] == '.') return hb_str_n(t->a, m.p + i, m.n - i);
    return m;
}

// Does an instruction print a statement of its own that is no wait?
static bool states(const pt_place *s, int index)
{
    return s->t->p->instr.p[index].kind != SYN_WAIT && !s->t->view[index];
}

// How many statements from this one on are of one module.
static int statements(const pt_place *s, int index)
{
    hb_str h = heading(s, index);
    int n = 0;
    for (int i = index; i < s->end; i++) {
        if (!states(s, i)) continue;
        if (!hb_str_eq(heading(s, i), h)) break;
        n++;
    }
    return n;
}

bool pt_is_once(const pt *t, int index)
{
    return syn_once(t->p, &t->slot, index);
}

// What is done in one micro-batch alone stands in a block. turn: of the next statement. True: a
// block begins.
static bool enter(pt_place *s, ir_turn turn)
{
    if (turn == s->turn) return false;
    if (s->turn != IR_SLOT) {
        s->indent -= 4;
        lines_text(&s->t->l, s->indent, "}");
    }
    if (turn == IR_BEFORE) lines_text(&s->t->l, s->indent, "if (m == 0) { // the first");
    if (turn == IR_AFTER)
        lines_text(&s->t->l, s->indent, "if (m == %d) { // the last", s->t->slot.times - 1);
    if (turn != IR_SLOT) s->indent += 4;
    s->turn = turn;
    return turn != IR_SLOT;
}

void pt_print_body(pt_place *s, int first, int len)
{
    pt *t = s->t;
    hb_arena *scratch = hb_arena_new();
    hb_str last = {0};
    s->locals = hb_map_new(scratch); // a local may not hide a buffer
    for (int i = 0; i < t->p->tensors.n; i++)
        hb_map_put(s->locals, t->names[i], 1);
    for (int i = 0; i < t->p->families.n; i++)
        hb_map_put(s->locals, t->b->list[i].name, 1);
    s->event = HB_ARRAY(scratch, hb_str, t->p->instr.n + 1);
    s->end = first + len;
    s->indent = 4;
    s->turn = IR_SLOT;
    s->sec = 0;
    for (int i = first; i < s->end; i++)
        if (t->p->instr.p[i].kind != SYN_START) s->sec += emit_slowest(t->p, &t->p->instr.p[i]);
    for (s->j = 0; s->j < len; s->j++) {
        int index = first + s->j;
        bool begins = enter(s, pt_is_once(t, index) ? t->p->instr.p[index].turn : IR_SLOT);
        hb_str h = heading(s, index);
        if (states(s, index) && !hb_str_eq(h, last) && statements(s, index) > 1) {
            if (s->j > 0 && !begins) lines_blank(&t->l);
            if (h.n > 0) lines_comment(&t->l, s->indent, 0, h);
            last = h;
        }
        print_instr(s, index);
    }
    enter(s, IR_SLOT);
    s->locals = NULL;
    s->event = NULL;
    hb_arena_free(scratch);
}

hb_str pt_computes(const pt *t, int first, int len)
{
    double sec = 0;
    for (int i = first; i < first + len; i++)
        if (t->p->instr.p[i].kind != SYN_START) sec += emit_slowest(t->p, &t->p->instr.p[i]);
    return sec > 0 ? pt_ms(t->a, sec) : (hb_str){0};
}

void pt_rehearse(pt_place *s, int first, int len)
{
    pt *t = s->t;
    lines l = t->l;
    hb_buf nowhere = {.arena = t->a};
    t->l = (lines){.arena = t->a, .out = &nowhere};
    pt_print_body(s, first, len);
    t->l = l;
    for (int i = first; i < first + len; i++)
        t->line[i] = 0;
    s->shape = (hb_str){0};
}
