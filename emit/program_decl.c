// Declarations of program.c: integer tables of cuts and offsets, shapes, tensors, names, tables of
// blocks.

#include "emit/program_text.h"

#include <string.h>

static const char *const dtype_names[IR_N_DTYPES] = {"HAP_F32", "HAP_BF16", "HAP_F16",
                                                     "HAP_I64", "HAP_I32",  "HAP_BOOL"};

static hb_str dim_text(pt *t, int tensor, int d)
{
    const syn_tensor *s = &t->p->tensors.p[tensor];
    const syn_mesh *mesh = t->p->mesh;
    const ir_dim_factors *f = &t->p->f->dim[s->value][d];
    int axis = -1, pos = 0, cut = 0;
    for (int x = 0; x < mesh->n_axes; x++) {
        if (s->state.ax[x].kind != SYN_S || s->state.ax[x].dim != d) continue;
        pos = s->state.ax[x].pos;
        cut = s->state.ax[x].cut; // over both axes: that of axis 1
        axis = mesh->cuts.p[cut].axis;
    }
    if (axis < 0)
        return hb_fmt(t->a, "WHOLE(%lld)", (long long)t->p->g->tensors.p[s->value].dim[d]);
    long long outer = 1, inner = 1, n = mesh->cuts.p[cut].size;
    for (int k = 0; k < f->n; k++) {
        if (k < pos) outer *= t->p->f->cls[f->cls[k]].size;
        if (k > pos) inner *= t->p->f->cls[f->cls[k]].size;
    }
    hb_str table = t->table[cut];
    if (axis == SYN_BOTH && outer == 1 && inner == 1)
        return hb_fmt(t->a, "CUT2(%lld, %.*s)", n, HB_ARG(table));
    if (axis == SYN_BOTH)
        return hb_fmt(t->a, "CUT2_IN(%lld, %lld, %lld, %.*s)", outer, n, inner, HB_ARG(table));
    if (outer == 1 && inner == 1)
        return hb_fmt(t->a, "CUT(%d, %lld, %.*s)", axis, n, HB_ARG(table));
    return hb_fmt(t->a, "CUT_IN(%d, %lld, %lld, %lld, %.*s)", axis, outer, n, inner, HB_ARG(table));
}

static int rank_of(const syn_program *p, int tensor)
{
    int v = p->tensors.p[tensor].value;
    return v < 0 ? 1 : p->g->tensors.p[v].rank;
}

void pt_find_shapes(pt *t)
{
    const syn_program *p = t->p;
    t->shape_of = hb_map_new(t->a);
    t->shape = HB_ARRAY(t->a, int, p->tensors.n + 1);
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *s = &p->tensors.p[i];
        hb_buf text = {.arena = t->a}, name = {.arena = t->a};
        hb_putc(&text, '{');
        t->shape[i] = -1;
        if (s->value < 0) {
            int64_t bytes = 0;
            for (int c = 0; c < p->mesh->n_classes; c++)
                if (s->bytes[c] > bytes) bytes = s->bytes[c];
            int64_t n = (bytes + ir_dtype_bytes(s->dtype) - 1) / ir_dtype_bytes(s->dtype);
            hb_printf(&text, "WHOLE(%lld)", (long long)n);
            hb_printf(&name, "scratch_%lld", (long long)n);
        } else if (p->g->tensors.p[s->value].rank == 0) {
            continue;
        } else {
            const ir_tensor *g = &p->g->tensors.p[s->value];
            for (int d = 0; d < g->rank; d++) {
                hb_printf(&text, "%s%.*s", d ? ", " : "", HB_ARG(dim_text(t, i, d)));
                hb_str word = {0};
                for (int x = 0; x < p->mesh->n_axes; x++)
                    if (s->state.ax[x].kind == SYN_S && s->state.ax[x].dim == d)
                        word = t->table[s->state.ax[x].cut];
                if (d > 0)
                    hb_putc(&name, '_');
                else if (word.n == 0)
                    hb_puts(&name, "of_");
                if (word.n > 0)
                    hb_printf(&name, "%.*s", HB_ARG(word));
                else
                    hb_printf(&name, "%lld", (long long)g->dim[d]);
            }
            if (g->rank == 1 && name.p[0] != 'o')
                hb_printf(&name, "_of_%lld", (long long)g->dim[0]);
        }
        hb_putc(&text, '}');
        int at = hb_map_get(t->shape_of, hb_done(&text));
        if (at < 0) {
            at = t->shapes.n;
            hb_map_put(t->shape_of, hb_done(&text), at);
            HB_PUSH(t->a, &t->shapes, hb_done(&text));
            HB_PUSH(t->a, &t->shape_names,
                    emit_unique(t->a, t->used, emit_identifier(t->a, hb_done(&name))));
        }
        t->shape[i] = at;
    }
}

void pt_number_table(pt *t, int indent, hb_str head, const int64_t *v, int n, const char *tail)
{
    hb_str *item = HB_ARRAY(t->a, hb_str, n + 1);
    int items = emit_table_items(t->a, v, n, item);
    hb_buf b = {.arena = t->a};
    for (int i = 0; i < items; i++)
        hb_printf(&b, "%s%.*s", i ? ", " : "", HB_ARG(item[i]));
    if ((size_t)indent + head.n + b.n + 1 + strlen(tail) <= LINES_WIDTH) {
        lines_text(&t->l, indent, "%.*s{%s%s", HB_ARG(head), b.p, tail);
        return;
    }
    lines_text(&t->l, indent, "// clang-format off");
    lines_text(&t->l, indent, "%.*s{", HB_ARG(head));
    for (int i = 0; i < items;) {
        hb_buf row = {.arena = t->a};
        int first = i;
        do
            hb_printf(&row, "%s%.*s,", i > first ? " " : "", HB_ARG(item[i]));
        while (++i < items && i < first + 16 && row.n + item[i].n + 6 <= LINES_WIDTH);
        lines_text(&t->l, indent + 4, "%s", row.p);
    }
    lines_text(&t->l, indent, "%s", tail);
    lines_text(&t->l, indent, "// clang-format on");
}

static bool table_printed(const pt *t, int cut)
{
    for (int k = 0; k < cut; k++)
        if (hb_str_eq(t->table[k], t->table[cut])) return true;
    return false;
}

static hb_str by_class(pt *t, hb_str name, const int64_t *v)
{
    hb_buf b = {.arena = t->a};
    int n = t->p->mesh->n_classes;
    hb_printf(&b, "%.*s[%d] = {", HB_ARG(name), n);
    for (int c = 0; c < n; c++)
        hb_printf(&b, "%s%lld", c ? ", " : "", (long long)v[c]);
    hb_putc(&b, '}');
    return hb_done(&b);
}

// Tables of offsets are named by their first entry; equal ones are one.
typedef struct {
    hb_map *text; // entries -> index of name
    HB_VEC(hb_str) name, item;
} offsets;

static hb_str offset_table(pt *t, offsets *o, const char *prefix, const int64_t *v)
{
    hb_str entries = by_class(t, hb_str_c(t->a, prefix), v);
    int at = hb_map_get(o->text, entries);
    if (at >= 0) return o->name.p[at];
    hb_str name = emit_unique(t->a, t->used, hb_fmt(t->a, "%s_%lld", prefix, (long long)v[0]));
    hb_map_put(o->text, entries, o->name.n);
    HB_PUSH(t->a, &o->name, name);
    HB_PUSH(t->a, &o->item, by_class(t, name, v));
    return name;
}

void pt_tables(pt *t)
{
    const syn_program *p = t->p;
    const syn_mesh *mesh = p->mesh;
    for (int c = 0; c < mesh->cuts.n; c++) {
        const syn_cut *cut = &mesh->cuts.p[c];
        if (t->table[c].n == 0 || table_printed(t, c)) continue;
        hb_buf share = {.arena = t->a};
        for (int i = 0; i < cut->n && i < 8; i++)
            hb_printf(&share, " %.3f", (double)cut->table[i] / (double)cut->size);
        hb_str over = cut->axis == SYN_BOTH ? HB_STR("over both axes, rank by rank")
                                            : hb_fmt(t->a, "over axis %d", cut->axis);
        lines_comment(&t->l, 0, 4,
                      hb_fmt(t->a, "%lld cut%s%s %.*s (%.*s).", (long long)cut->size, share.p,
                             cut->n > 8 ? " …" : "", HB_ARG(over), HB_ARG(cut->name)));
        pt_number_table(
            t, 0, hb_fmt(t->a, "static const int64_t %.*s[%d] = ", HB_ARG(t->table[c]), cut->n),
            cut->table, cut->n, "};");
        lines_blank(&t->l);
    }
    offsets o = {.text = hb_map_new(t->a)};
    t->at = HB_ARRAY(t->a, hb_str, p->tensors.n + 1);
    t->step = HB_ARRAY(t->a, hb_str, p->families.n + 1);
    for (int seg = 0; seg < 2; seg++) {
        o.item.n = 0;
        for (int i = 0; i < p->tensors.n; i++) {
            const syn_tensor *s = &p->tensors.p[i];
            bool base = s->family < 0 || p->families.p[s->family].member[0] == i;
            if (base && s->sym == (seg == 0)) t->at[i] = offset_table(t, &o, "at", s->off);
        }
        if (o.item.n == 0) continue;
        hb_buf who = {.arena = t->a};
        for (int c = 0; c < mesh->n_classes; c++)
            hb_printf(&who, "%s%.*s", c ? ", " : "",
                      HB_ARG(p->cluster->cls[mesh->cluster_class[c]].name));
        lines_comment(
            &t->l, 0, 0,
            seg == 0 ? HB_STR("Byte offsets in the symmetric segment: what other ranks write "
                              "into, the same on every rank.")
                     : hb_fmt(t->a, "Byte offsets in the local segment, by class {%s}.", who.p));
        lines_declare(&t->l, 0, HB_STR("static const int64_t "), o.item.p, o.item.n);
        lines_blank(&t->l);
    }
    o.item.n = 0;
    for (int i = 0; i < p->families.n; i++)
        if (p->families.p[i].mod > 1)
            t->step[i] = offset_table(t, &o, "by", p->families.p[i].stride);
    if (o.item.n > 0) {
        lines_comment(&t->l, 0, 0, HB_STR("Bytes from one block's buffer to the next one's."));
        lines_declare(&t->l, 0, HB_STR("static const int64_t "), o.item.p, o.item.n);
        lines_blank(&t->l);
    }
    hb_str sizes[2] = {by_class(t, HB_STR("local_bytes"), p->local_bytes),
                       hb_fmt(t->a, "sym_bytes = %lld", (long long)p->sym_bytes)};
    lines_declare(&t->l, 0, HB_STR("static const int64_t "), sizes, 2);
    lines_blank(&t->l);
}

void pt_block_types(pt *t)
{
    const syn_program *p = t->p;
    HB_VEC(hb_str) events = {0};
    for (int i = 0; i < t->b->events.n; i++) {
        const pb_events *e = &t->b->events.p[i];
        HB_PUSH(t->a, &events,
                e->n == 1 ? hb_fmt(t->a, "*%.*s", HB_ARG(e->name))
                          : hb_fmt(t->a, "*%.*s[%d]", HB_ARG(e->name), e->n));
    }
    if (events.n > 0)
        lines_comment(&t->l, 0, 0,
                      HB_STR("Collectives that are waited for elsewhere than where they start."));
    lines_declare(&t->l, 0, HB_STR("static hap_event "), events.p, events.n);
    if (t->b->events.n > 0) lines_blank(&t->l);
    for (int k = 0; k < t->b->blocks.n; k++) {
        const pb_block *blk = &t->b->blocks.p[k];
        lines_comment(&t->l, 0, 0,
                      hb_fmt(t->a, "What each of the %d blocks %.*s.* works on.", blk->count,
                             HB_ARG(blk->name)));
        lines_text(&t->l, 0, "typedef struct %.*s {", HB_ARG(blk->type));
        for (int kind = 0; kind < 2; kind++) {
            HB_VEC(hb_str) item = {0};
            for (int i = 0; i < blk->fields.n; i++)
                if (blk->fields.p[i].event == (kind == 1))
                    HB_PUSH(
                        t->a, &item,
                        hb_fmt(t->a, "%s%.*s", kind ? "**" : "*", HB_ARG(blk->fields.p[i].name)));
            lines_declare(&t->l, 4, kind ? HB_STR("hap_event ") : HB_STR("hap_tensor "), item.p,
                          item.n);
        }
        lines_text(&t->l, 0, "} %.*s;", HB_ARG(blk->type));
        lines_text(&t->l, 0, "static %.*s %.*s[%d];", HB_ARG(blk->type), HB_ARG(blk->name),
                   blk->count);
        lines_blank(&t->l);
    }
    (void)p;
}

// --- in main ---

static hb_str fill_text(pt *t, const ir_init *i)
{
    switch (i->kind) {
    case IR_INIT_CONST:
        return hb_fmt(t->a, "HAP_FILL(%.*s)", HB_ARG(pt_number(t->a, i->a)));
    case IR_INIT_NORMAL:
        return hb_fmt(t->a, "HAP_NORMAL(0, %.*s)", HB_ARG(pt_number(t->a, i->a)));
    case IR_INIT_UNIFORM:
        return hb_fmt(t->a, "HAP_UNIFORM(%.*s, %.*s)", HB_ARG(pt_number(t->a, i->a)),
                      HB_ARG(pt_number(t->a, i->b)));
    case IR_INIT_IOTA:
        return hb_fmt(t->a, "HAP_IOTA(%.*s, %.*s)", HB_ARG(pt_number(t->a, i->a)),
                      HB_ARG(pt_number(t->a, i->b)));
    case IR_INIT_STORED:
        return (hb_str){0};
    }
    return (hb_str){0};
}

// hap_at(…) arguments; `where` is the layer expression of a family with several places, else empty.
static int at_args(pt *t, int tensor, hb_str where, hb_str *arg)
{
    const syn_tensor *s = &t->p->tensors.p[tensor];
    int n = 0;
    arg[n++] = HB_STR("r");
    arg[n++] = s->sym ? HB_STR("SEG_SYM") : HB_STR("SEG_LOCAL");
    arg[n++] = t->at[tensor];
    if (where.n > 0) {
        arg[n++] = t->step[s->family];
        arg[n++] = where;
    }
    const char *type = dtype_names[s->dtype];
    arg[n++] = (hb_str){type, strlen(type)};
    arg[n++] = hb_fmt(t->a, "%d", rank_of(t->p, tensor));
    arg[n++] = t->shape[tensor] < 0 ? HB_STR("NULL") : t->shape_names.p[t->shape[tensor]];
    return n;
}

// Layer expression of a family for member k = c + d * i, with i the loop variable.
static hb_str layer_text(pt *t, const syn_family *f, int c, int d)
{
    if (f->mod <= 1) return (hb_str){0};
    hb_str k = d > 0 ? (c ? hb_fmt(t->a, "i + %d", c) : HB_STR("i")) : hb_fmt(t->a, "%d - i", c);
    if (f->mod >= f->count) return k;
    if (d > 0 && c == 0) return hb_fmt(t->a, "i %% %d", f->mod);
    return hb_fmt(t->a, "(%.*s) %% %d", HB_ARG(k), f->mod);
}

static const char *declares(const ir_tensor *g)
{
    switch (g->kind) {
    case IR_INPUT:
        return "hap_input(";
    case IR_PARAM:
        return "hap_param(";
    case IR_STATE:
        return "hap_state(";
    case IR_BUFFER:
        return "hap_buffer(";
    case IR_CONST:
        return g->init.kind == IR_INIT_STORED ? "hap_const_file(" : "hap_const(";
    case IR_VALUE:
        break;
    }
    return NULL;
}

// hap_param(r, NAME, TENSOR, FILL); `name` is a C expression.
static void declare_name(pt *t, int indent, const ir_tensor *g, hb_str name, hb_str tensor)
{
    const char *call = declares(g);
    hb_str arg[4] = {HB_STR("r"), name, tensor};
    int n = 3;
    if (g->kind == IR_PARAM || g->kind == IR_BUFFER || g->kind == IR_CONST) {
        arg[n++] = g->init.kind == IR_INIT_STORED
                       ? pt_quote(t->a, hb_fmt(t->a, "consts.safetensors#%.*s", HB_ARG(g->name)))
                       : fill_text(t, &g->init);
    }
    lines_call(&t->l, indent, hb_str_c(t->a, call), arg, n, (hb_str){0}, (hb_str){0});
}

// Shape and state behind a declaration. The shape is in the code already, so a line too long for it
// keeps the comment only if the buffer holds a partial value, which is nowhere else.
static hb_str declared_note(pt *t, int tensor, hb_str head, const hb_str *arg, int n)
{
    hb_str shape = emit_shape(t->a, t->p, tensor, t->table);
    for (int x = 0; x < t->p->mesh->n_axes; x++)
        if (t->p->tensors.p[tensor].state.ax[x].kind == SYN_P) return shape;
    size_t width = head.n + shape.n + 14; // indent, ");", "// "
    for (int i = 0; i < n; i++)
        width += arg[i].n + 2;
    return width > LINES_WIDTH ? (hb_str){0} : shape;
}

static bool is_home(const syn_program *p, int tensor)
{
    int v = p->tensors.p[tensor].value;
    return v >= 0 && p->home[v] == tensor;
}

// The common text of names "h.0.w", "h.1.w", … with member k called before + (k + base) + after.
static bool name_pattern(pt *t, const syn_family *f, hb_str *before, hb_str *after, int *base)
{
    const syn_program *p = t->p;
    hb_str s = p->g->tensors.p[p->tensors.p[f->member[0]].value].name;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || (i > 0 && s.p[i - 1] >= '0' && s.p[i - 1] <= '9'))
            continue;
        size_t end = i;
        int64_t k0 = 0;
        while (end < s.n && s.p[end] >= '0' && s.p[end] <= '9' && end < i + 7)
            k0 = k0 * 10 + (s.p[end++] - '0');
        bool all = true;
        for (int k = 0; k < f->count && all; k++) {
            hb_str want = hb_fmt(t->a, "%.*s%lld%.*s", (int)i, s.p, (long long)(k0 + k),
                                 (int)(s.n - end), s.p + end);
            all = hb_str_eq(want, p->g->tensors.p[p->tensors.p[f->member[k]].value].name);
        }
        if (!all) continue;
        *before = hb_str_n(t->a, s.p, i);
        *after = hb_str_n(t->a, s.p + end, s.n - end);
        *base = (int)k0;
        return true;
    }
    return false;
}

static bool same_init(const pt *t, const syn_family *f)
{
    const syn_program *p = t->p;
    const ir_tensor *g0 = &p->g->tensors.p[p->tensors.p[f->member[0]].value];
    for (int k = 1; k < f->count; k++) {
        const ir_tensor *g = &p->g->tensors.p[p->tensors.p[f->member[k]].value];
        if (g->kind != g0->kind || g->init.kind != g0->init.kind ||
            g->init.kind == IR_INIT_STORED ||
            memcmp(&g->init.a, &g0->init.a, sizeof g->init.a) != 0 ||
            memcmp(&g->init.b, &g0->init.b, sizeof g->init.b) != 0)
            return false;
    }
    return true;
}

// One tensor of a family inside a loop over i: member c + d * i goes to `target`.
static void declare_member(pt *t, int indent, int family, int c, int d, hb_str target)
{
    const syn_program *p = t->p;
    const syn_family *f = &p->families.p[family];
    int first = f->member[0];
    hb_str arg[8];
    hb_str where = layer_text(t, f, c, d);
    int n = at_args(t, first, where, arg);
    hb_str head = hb_fmt(t->a, "%.*s = %s", HB_ARG(target), where.n ? "hap_at_layer(" : "hap_at(");
    lines_call(&t->l, indent, head, arg, n, declared_note(t, first, head, arg, n), (hb_str){0});
    if (!is_home(p, first)) return;
    const ir_tensor *g = &p->g->tensors.p[p->tensors.p[first].value];
    hb_str before, after;
    int base = 0;
    if (!declares(g) || !same_init(t, f) || !name_pattern(t, f, &before, &after, &base)) return;
    base += c;
    hb_str index =
        d > 0 ? (base ? hb_fmt(t->a, "i + %d", base) : HB_STR("i")) : hb_fmt(t->a, "%d - i", base);
    declare_name(t, indent, g,
                 hb_fmt(t->a, "hap_name(%.*s, %.*s, %.*s)", HB_ARG(pt_quote(t->a, before)),
                        HB_ARG(index), HB_ARG(pt_quote(t->a, after))),
                 target);
}

// Names of a family that follow no pattern: one call each, behind the loops.
static void declare_odd_names(pt *t)
{
    const syn_program *p = t->p;
    for (int i = 0; i < p->families.n; i++) {
        const syn_family *f = &p->families.p[i];
        if (!is_home(p, f->member[0])) continue;
        hb_str before, after;
        int base;
        if (same_init(t, f) && name_pattern(t, f, &before, &after, &base)) continue;
        for (int k = 0; k < f->count; k++) {
            const ir_tensor *g = &p->g->tensors.p[p->tensors.p[f->member[k]].value];
            if (declares(g)) declare_name(t, 4, g, pt_quote(t->a, g->name), t->b->id[f->member[k]]);
        }
    }
}

static void declare_single(pt *t, int tensor)
{
    const syn_program *p = t->p;
    hb_str arg[8];
    int n = at_args(t, tensor, (hb_str){0}, arg);
    bool home = is_home(p, tensor);
    bool named = t->used_buffer[tensor];
    hb_str head = named ? hb_fmt(t->a, "hap_tensor *%.*s = hap_at(", HB_ARG(t->names[tensor]))
                        : HB_STR("hap_at(");
    lines_call(&t->l, 4, head, arg, n, declared_note(t, tensor, head, arg, n), (hb_str){0});
    const ir_tensor *g = home ? &p->g->tensors.p[p->tensors.p[tensor].value] : NULL;
    if (g && declares(g)) declare_name(t, 4, g, pt_quote(t->a, g->name), t->b->id[tensor]);
}

static void declare_arrays(pt *t)
{
    const syn_program *p = t->p;
    bool *done = HB_ARRAY(t->a, bool, p->families.n + 1);
    for (int i = 0; i < p->families.n; i++) {
        if (t->b->family[i].place != PB_ARRAY || done[i]) continue;
        int count = p->families.p[i].count;
        HB_VEC(int) group = {0};
        HB_VEC(hb_str) item = {0};
        for (int k = i; k < p->families.n; k++) {
            if (t->b->family[k].place != PB_ARRAY || p->families.p[k].count != count) continue;
            done[k] = true;
            HB_PUSH(t->a, &group, k);
            HB_PUSH(t->a, &item, hb_fmt(t->a, "*%.*s[%d]", HB_ARG(t->b->family[k].name), count));
        }
        lines_declare(&t->l, 4, HB_STR("hap_tensor "), item.p, item.n);
        lines_text(&t->l, 4, "for (int i = 0; i < %d; i++) {", count);
        for (int k = 0; k < group.n; k++)
            declare_member(t, 8, group.p[k], 0, 1,
                           hb_fmt(t->a, "%.*s[i]", HB_ARG(t->b->family[group.p[k]].name)));
        lines_text(&t->l, 4, "}");
        lines_blank(&t->l);
    }
}

// A field that is filled from somewhere else: the expression of entry i, empty if entries differ
// too much.
static hb_str field_text(pt *t, const pb_block *blk, const pb_field *x)
{
    bool same = true;
    for (int e = 1; e < blk->count; e++)
        same = same && x->member[e] == x->member[0];
    if (x->event) {
        const pb_events *ev = &t->b->events.p[x->events < 0 ? 0 : x->events];
        bool straight = x->events >= 0 && ev->n == blk->count;
        for (int e = 0; e < blk->count && straight; e++)
            straight = ev->start[e] == x->member[e];
        if (straight) return hb_fmt(t->a, "&%.*s[i]", HB_ARG(ev->name));
        return (hb_str){0};
    }
    if (same) return t->b->id[x->member[0]];
    if (x->family < 0 || t->b->family[x->family].place != PB_ARRAY) return (hb_str){0};
    hb_str name = t->b->family[x->family].name;
    if (x->d < 0) return hb_fmt(t->a, "%.*s[%d - i]", HB_ARG(name), x->c);
    if (x->c == 0) return hb_fmt(t->a, "%.*s[i]", HB_ARG(name));
    return hb_fmt(t->a, "%.*s[i + %d]", HB_ARG(name), x->c);
}

static hb_str event_text(pt *t, int start)
{
    const pb_events *ev = &t->b->events.p[t->b->events_of[start]];
    if (ev->n == 1) return hb_fmt(t->a, "&%.*s", HB_ARG(ev->name));
    for (int e = 0; e < ev->n; e++)
        if (ev->start[e] == start) return hb_fmt(t->a, "&%.*s[%d]", HB_ARG(ev->name), e);
    hb_bug("event belongs to its array", __FILE__, __LINE__);
}

// Where an entry of a field comes from: element *at of an array, or (NULL) something alone.
static const char *source_of(pt *t, const pb_field *x, int e, int *at)
{
    *at = 0;
    if (x->event) {
        const pb_events *ev = &t->b->events.p[t->b->events_of[x->member[e]]];
        while (ev->n > 1 && ev->start[*at] != x->member[e])
            ++*at;
        return ev->n > 1 ? ev->name.p : NULL;
    }
    const syn_tensor *s = &t->p->tensors.p[x->member[e]];
    if (s->family < 0 || t->b->family[s->family].place != PB_ARRAY) return NULL;
    *at = s->index;
    return t->b->family[s->family].name.p;
}

// Fills entry e of a field, or a stretch of entries that take the elements of one array in order.
// Returns how many.
static int assign_entries(pt *t, const pb_block *blk, const pb_field *x, int e)
{
    enum { STRETCH = 4 };
    int at = 0, n = 1, next = 0;
    const char *from = source_of(t, x, e, &at);
    while (from && e + n < blk->count && source_of(t, x, e + n, &next) == from && next == at + n)
        n++;
    if (n < STRETCH) {
        lines_assign(&t->l, 4, hb_fmt(t->a, "%.*s[%d].%.*s", HB_ARG(blk->name), e, HB_ARG(x->name)),
                     x->event ? event_text(t, x->member[e]) : t->b->id[x->member[e]]);
        return 1;
    }
    hb_str index = at == e ? HB_STR("i")
                           : hb_fmt(t->a, "i %c %d", at > e ? '+' : '-', at > e ? at - e : e - at);
    lines_text(&t->l, 4, "for (int i = %d; i < %d; i++)", e, e + n);
    lines_assign(&t->l, 8, hb_fmt(t->a, "%.*s[i].%.*s", HB_ARG(blk->name), HB_ARG(x->name)),
                 hb_fmt(t->a, "%s%s[%.*s]", x->event ? "&" : "", from, HB_ARG(index)));
    return n;
}

static void declare_block(pt *t, int k)
{
    const pb_block *blk = &t->b->blocks.p[k];
    lines_text(&t->l, 4, "for (int i = 0; i < %d; i++) {", blk->count);
    lines_text(&t->l, 8, "%.*s *b = &%.*s[i];", HB_ARG(blk->type), HB_ARG(blk->name));
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < blk->fields.n; i++) {
            const pb_field *x = &blk->fields.p[i];
            if (x->direct != (pass == 0)) continue;
            hb_str target = hb_fmt(t->a, "b->%.*s", HB_ARG(x->name));
            if (x->direct) {
                declare_member(t, 8, x->family, x->c, x->d, target);
                continue;
            }
            hb_str from = field_text(t, blk, x);
            if (from.n > 0) lines_assign(&t->l, 8, target, from);
        }
    lines_text(&t->l, 4, "}");
    for (int i = 0; i < blk->fields.n; i++) {
        const pb_field *x = &blk->fields.p[i];
        if (x->direct || field_text(t, blk, x).n > 0) continue;
        for (int e = 0; e < blk->count; e += assign_entries(t, blk, x, e))
            ;
    }
    lines_blank(&t->l);
}

void pt_declare(pt *t)
{
    static const struct {
        syn_role role;
        const char *title;
    } groups[] = {{SYN_ROLE_INPUT, "Inputs"},
                  {SYN_ROLE_HOME, "Parameters and what the step carries over"},
                  {SYN_ROLE_CONST, "Constants"},
                  {SYN_ROLE_VALUE, "Values of the step"},
                  {SYN_ROLE_SCRATCH, "Scratch of collectives"}};
    const syn_program *p = t->p;
    lines_comment(
        &t->l, 4, 0,
        HB_STR("Global shapes. [n@rows] is cut by rows[], [n] is whole on every rank, + is a "
               "partial sum, ^ a partial max."));
    if (p->mesh->n_axes == 2)
        lines_comment(&t->l, 4, 0,
                      HB_STR("Axis 0 is machines, axis 1 devices of a machine; + and ^ alone are "
                             "over both."));
    for (int i = 0; i < t->shapes.n; i++) {
        hb_str line = hb_fmt(t->a, "const hap_dim %.*s[] = %.*s;", HB_ARG(t->shape_names.p[i]),
                             HB_ARG(t->shapes.p[i]));
        bool wide = line.n + 4 > LINES_WIDTH;
        if (wide) lines_text(&t->l, 4, "// clang-format off");
        lines_text(&t->l, 4, "%.*s", HB_ARG(line));
        if (wide) lines_text(&t->l, 4, "// clang-format on");
    }
    lines_blank(&t->l);
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
        bool first = true;
        for (int i = 0; i < p->tensors.n; i++) {
            if (p->tensors.p[i].role != groups[k].role || p->tensors.p[i].family >= 0) continue;
            if (first) lines_comment(&t->l, 4, 0, hb_fmt(t->a, "%s.", groups[k].title));
            first = false;
            declare_single(t, i);
        }
        if (!first) lines_blank(&t->l);
    }
    declare_arrays(t);
    for (int k = 0; k < t->b->blocks.n; k++)
        declare_block(t, k);
    declare_odd_names(t);
    const ir_graph *g = p->g;
    for (int i = 0; i < g->n_alias; i++) {
        hb_str arg[3] = {HB_STR("r"), pt_quote(t->a, g->alias[i].name),
                         pt_quote(t->a, g->tensors.p[g->alias[i].tensor].name)};
        lines_call(&t->l, 4, HB_STR("hap_alias("), arg, 3, (hb_str){0}, (hb_str){0});
    }
    for (int i = 0; p->keep_grads && i < g->tensors.n; i++) {
        if (p->grad[i] < 0) continue;
        hb_str arg[3] = {HB_STR("r"), pt_quote(t->a, g->tensors.p[i].name), t->b->id[p->grad[i]]};
        lines_call(&t->l, 4, HB_STR("hap_grad("), arg, 3, (hb_str){0}, (hb_str){0});
    }
    if (p->loss >= 0) lines_text(&t->l, 4, "hap_loss(r, %.*s);", HB_ARG(t->b->id[p->loss]));
}
