// buffers.h: what lies where, as one table, and what the step carries over under which name.

#include "emit/program_text.h"

#include <string.h>

typedef struct {
    pt *t;
    int *of;    // by buffer: what it is a view of, -1
    int *place; // by family: block * 2^16 + field that owns it, -1: a list
} tables;

// --- shapes

static void dim_text(pt *t, int tensor, int d, hb_buf *out)
{
    const syn_tensor *s = &t->p->tensors.p[tensor];
    const syn_mesh *mesh = t->p->mesh;
    const ir_dim_factors *f = &t->p->f->dim[s->value][d];
    int pos = -1, cut = 0;
    for (int x = 0; x < mesh->n_axes; x++) {
        if (s->state.ax[x].kind != SYN_S || s->state.ax[x].dim != d) continue;
        pos = s->state.ax[x].pos;
        cut = s->state.ax[x].cut; // over both axes: that of axis 1
    }
    if (pos < 0) {
        hb_printf(out, "%lld", (long long)t->p->g->tensors.p[s->value].dim[d]);
        return;
    }
    long long outer = 1, inner = 1;
    for (int k = 0; k < f->n; k++) {
        if (k < pos) outer *= t->p->f->cls[f->cls[k]].size;
        if (k > pos) inner *= t->p->f->cls[f->cls[k]].size;
    }
    if (outer != 1) hb_printf(out, "%lld*", outer);
    hb_printf(out, "%lld@%.*s", (long long)mesh->cuts.p[cut].size, HB_ARG(t->table[cut]));
    if (inner != 1) hb_printf(out, "*%lld", inner);
}

// "f32[8@rows 128 3*12@heads*64]+" as a C string.
hb_str pt_shape(pt *t, int tensor)
{
    const syn_program *p = t->p;
    const syn_tensor *s = &p->tensors.p[tensor];
    hb_buf b = {.arena = t->a};
    hb_printf(&b, "\"%s[", ir_dtype_name(s->dtype));
    if (s->value < 0) {
        int64_t bytes = 0;
        for (int c = 0; c < p->mesh->n_classes; c++)
            if (s->bytes[c] > bytes) bytes = s->bytes[c];
        hb_printf(&b, "%lld]\"",
                  (long long)((bytes + ir_dtype_bytes(s->dtype) - 1) / ir_dtype_bytes(s->dtype)));
        return hb_done(&b);
    }
    for (int d = 0; d < p->g->tensors.p[s->value].rank; d++) {
        if (d) hb_putc(&b, ' ');
        dim_text(t, tensor, d, &b);
    }
    hb_str shown = emit_shape(t->a, p, tensor, t->table);
    const char *marks = memchr(shown.p, ']', shown.n);
    hb_printf(&b, "%s\"", marks);
    return hb_done(&b);
}

// --- rows

static void find_places(tables *w)
{
    const pb_blocks *b = w->t->b;
    for (int i = 0; i < w->t->p->families.n; i++)
        w->place[i] = -1;
    for (int k = 0; k < b->blocks.n; k++)
        for (int i = 0; i < b->blocks.p[k].fields.n; i++) {
            const pb_field *x = &b->blocks.p[k].fields.p[i];
            for (int e = 0; e < b->blocks.p[k].count && x->owned; e++)
                if (x->member[e] >= 0 && w->t->p->tensors.p[x->member[e]].family >= 0)
                    w->place[w->t->p->tensors.p[x->member[e]].family] = k << 16 | i;
        }
}

static const pb_field *owner(const tables *w, int family, const pb_block **block, int *first)
{
    const syn_family *f = &w->t->p->families.p[family];
    *block = &w->t->b->blocks.p[w->place[family] >> 16];
    const pb_field *x = &(*block)->fields.p[w->place[family] & 0xffff];
    for (*first = 0; x->member[*first] != f->member[0];)
        ++*first;
    return x;
}

// Who gets the pointers of a buffer, or of its whole family.
static hb_str to_text(const tables *w, int tensor)
{
    const pt *t = w->t;
    int family = t->p->tensors.p[tensor].family;
    if (family < 0) return hb_fmt(t->a, "ONE(%.*s)", HB_ARG(t->b->id[tensor]));
    const syn_family *f = &t->p->families.p[family];
    int places = f->mod < 1 ? 1 : f->mod, first;
    if (w->place[family] < 0)
        return hb_fmt(t->a, "LIST(%.*s, %d)", HB_ARG(t->b->list[family].name), places);
    const pb_block *k;
    const pb_field *x = owner(w, family, &k, &first);
    if (f->count == k->count && (places == 1 || places == f->count))
        return hb_fmt(t->a, "%s(%.*s, %.*s)", places == 1 ? "ALL" : "EACH", HB_ARG(k->name),
                      HB_ARG(x->name));
    if (first + f->count == k->count && (places == 1 || places == f->count))
        return hb_fmt(t->a, "%s_FROM(%d, %.*s, %.*s)", places == 1 ? "ALL" : "EACH", first,
                      HB_ARG(k->name), HB_ARG(x->name));
    return hb_fmt(t->a, "SOME(%.*s, %.*s, %d, %d, %d)", HB_ARG(k->name), HB_ARG(x->name), first,
                  f->count, places);
}

static hb_str view_text(const tables *w, int of)
{
    const pt *t = w->t;
    int family = t->p->tensors.p[of].family, first;
    if (family < 0) return hb_fmt(t->a, "VIEW(%.*s)", HB_ARG(t->b->id[of]));
    if (w->place[family] < 0)
        return hb_fmt(t->a, "VIEW_LIST(%.*s)", HB_ARG(t->b->list[family].name));
    const pb_block *k;
    const pb_field *x = owner(w, family, &k, &first);
    return hb_fmt(t->a, "VIEWS(%.*s, %.*s, %d)", HB_ARG(k->name), HB_ARG(x->name), first);
}

static hb_str at_text(const pt *t, int tensor)
{
    enum { UNIT = 256 };
    const syn_tensor *s = &t->p->tensors.p[tensor];
    if (s->sym) return hb_fmt(t->a, "AT_SYM(%lld)", (long long)(s->off[0] / UNIT));
    hb_buf b = {.arena = t->a};
    hb_puts(&b, "AT(");
    for (int c = 0; c < t->p->mesh->n_classes; c++) {
        hb_assert(s->off[c] % UNIT == 0);
        hb_printf(&b, "%s%lld", c ? ", " : "", (long long)(s->off[c] / UNIT));
    }
    hb_putc(&b, ')');
    return hb_done(&b);
}

// --- names outside of the program

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

// AS_PARAM("h.*.ln_1.weight", HAP_FILL(1)) with the given name.
static hb_str as_text(pt *t, const ir_tensor *g, hb_str name)
{
    static const char *const words[] = {[IR_INPUT] = "INPUT",
                                        [IR_PARAM] = "PARAM",
                                        [IR_STATE] = "STATE",
                                        [IR_BUFFER] = "BUFFER",
                                        [IR_CONST] = "CONST"};
    if (g->kind == IR_VALUE) return (hb_str){0};
    hb_str quoted = pt_quote(t->a, name);
    if (g->kind == IR_CONST && g->init.kind == IR_INIT_STORED)
        return hb_fmt(
            t->a, "AS_CONST_OF(%.*s, %.*s)", HB_ARG(quoted),
            HB_ARG(pt_quote(t->a, hb_fmt(t->a, "consts.safetensors#%.*s", HB_ARG(g->name)))));
    if (g->kind == IR_INPUT || g->kind == IR_STATE)
        return hb_fmt(t->a, "AS_%s(%.*s)", words[g->kind], HB_ARG(quoted));
    return hb_fmt(t->a, "AS_%s(%.*s, %.*s)", words[g->kind], HB_ARG(quoted),
                  HB_ARG(fill_text(t, &g->init)));
}

// What a row's buffers are called outside, empty if they have no names, or none of one pattern:
// these are given one by one.
static hb_str outer_text(const tables *w, int tensor)
{
    pt *t = w->t;
    const syn_program *p = t->p;
    if (!is_home(p, tensor)) return (hb_str){0};
    int family = p->tensors.p[tensor].family;
    const ir_tensor *g = &p->g->tensors.p[p->tensors.p[tensor].value];
    if (family < 0) return as_text(t, g, g->name);
    const syn_family *f = &p->families.p[family];
    hb_str before, after;
    int base = 0, first = 0;
    const pb_block *k;
    if (!same_init(t, f) || !name_pattern(t, f, &before, &after, &base)) return (hb_str){0};
    if (w->place[family] >= 0) owner(w, family, &k, &first);
    if (base != first || memchr(before.p, '*', before.n) || memchr(after.p, '*', after.n))
        return (hb_str){0};
    return as_text(t, g, hb_fmt(t->a, "%.*s*%.*s", HB_ARG(before), HB_ARG(after)));
}

static void name_alone(pt *t, int tensor)
{
    static const char *const calls[] = {[IR_INPUT] = "hap_input(",
                                        [IR_PARAM] = "hap_param(",
                                        [IR_STATE] = "hap_state(",
                                        [IR_BUFFER] = "hap_buffer(",
                                        [IR_CONST] = "hap_const("};
    const ir_tensor *g = &t->p->g->tensors.p[t->p->tensors.p[tensor].value];
    if (g->kind == IR_VALUE) return;
    bool stored = g->kind == IR_CONST && g->init.kind == IR_INIT_STORED;
    hb_str arg[4] = {HB_STR("r"), pt_quote(t->a, g->name), t->b->id[tensor]};
    int n = 3;
    if (stored)
        arg[n++] = pt_quote(t->a, hb_fmt(t->a, "consts.safetensors#%.*s", HB_ARG(g->name)));
    else if (g->kind == IR_PARAM || g->kind == IR_BUFFER || g->kind == IR_CONST)
        arg[n++] = fill_text(t, &g->init);
    lines_call(&t->l, 4, stored ? HB_STR("hap_const_file(") : hb_str_c(t->a, calls[g->kind]), arg,
               n, NULL);
}

// The row of a buffer, or of its family if it is the first of it.
static void row(tables *w, int tensor)
{
    pt *t = w->t;
    hb_str part[4] = {hb_fmt(t->a, "{%.*s", HB_ARG(to_text(w, tensor))), pt_shape(t, tensor),
                      w->of[tensor] < 0 ? at_text(t, tensor) : view_text(w, w->of[tensor])};
    part[3] = outer_text(w, tensor);
    lines_fill(&t->l, 4, (hb_str){0}, part, part[3].n > 0 ? 4 : 3, "},", NULL);
}

// Is it this buffer that stands for its family in the table?
static bool first_of(const tables *w, int tensor)
{
    const syn_tensor *s = &w->t->p->tensors.p[tensor];
    return s->family < 0 || w->t->p->families.p[s->family].member[0] == tensor;
}

static void title(pt *t, bool *first, const char *text)
{
    if (*first) lines_comment(&t->l, 4, 0, hb_str_c(t->a, text));
    *first = false;
}

static void table(tables *w)
{
    static const struct {
        syn_role role;
        const char *title;
    } section[] = {{SYN_ROLE_INPUT, "Inputs"},
                   {SYN_ROLE_HOME, "Parameters and what the step carries over"},
                   {SYN_ROLE_CONST, "Constants"},
                   {SYN_ROLE_VALUE, "Values of the step"},
                   {SYN_ROLE_SCRATCH, "Scratch of collectives"}};
    pt *t = w->t;
    const syn_program *p = t->p;
    lines_text(&t->l, 0, "static const hap_place buffers%s[] = {", t->stage);
    for (size_t g = 0; g < sizeof section / sizeof *section; g++) {
        bool first = true;
        for (int pass = 0; pass < 2; pass++) // families behind
            for (int i = 0; i < p->tensors.n; i++) {
                const syn_tensor *s = &p->tensors.p[i];
                if (s->role != section[g].role || (s->family < 0) != (pass == 0)) continue;
                if (w->of[i] >= 0 || !first_of(w, i)) continue;
                title(t, &first, section[g].title);
                row(w, i);
            }
    }
    bool first = true;
    for (int i = 0; i < p->instr.n; i++) { // in order: a view may be one of a view
        if (!t->view[i] || !first_of(w, p->instr.p[i].out[0])) continue;
        title(t, &first, "Other shapes of the same bytes");
        row(w, p->instr.p[i].out[0]);
    }
    lines_text(&t->l, 0, "};");
    lines_blank(&t->l);
}

static hb_str by_class(const pt *t, const int64_t *v)
{
    hb_buf b = {.arena = t->a};
    for (int c = 0; c < t->p->mesh->n_classes; c++)
        hb_printf(&b, "%s%lld", c ? ", " : "", (long long)v[c]);
    return hb_fmt(t->a, "(const int64_t[]){%s}", b.p);
}

static void declare_ring(pt *t)
{
    const syn_program *p = t->p;
    hb_str arg[4] = {HB_STR("r"), hb_fmt(t->a, "%d", p->g->depth), by_class(t, p->ring_at),
                     by_class(t, p->ring_bytes)};
    lines_call(&t->l, 4, HB_STR("hap_rings("), arg, 4, NULL);
}

static void declare_function(tables *w)
{
    pt *t = w->t;
    const syn_program *p = t->p;
    const ir_graph *g = p->g;
    lines_text(&t->l, 0, "static void declare_buffers%s(hap_rank *r)", t->stage);
    lines_text(&t->l, 0, "{");
    hb_str size[3] = {HB_STR("r"), hb_fmt(t->a, "%lld", (long long)p->sym_bytes),
                      by_class(t, p->local_bytes)};
    lines_call(&t->l, 4, HB_STR("hap_segments("), size, 3, NULL);
    if (p->g->depth > 1) declare_ring(t);
    lines_text(&t->l, 4, "hap_declare(r, cuts%s, buffers%s);", t->stage, t->stage);
    for (int i = 0; i < p->families.n; i++) {
        const syn_family *f = &p->families.p[i];
        if (!is_home(p, f->member[0]) || outer_text(w, f->member[0]).n > 0) continue;
        for (int k = 0; k < f->count; k++)
            name_alone(t, f->member[k]);
    }
    for (int i = 0; i < g->n_alias; i++) {
        hb_str arg[3] = {HB_STR("r"), pt_quote(t->a, g->alias[i].name),
                         pt_quote(t->a, g->tensors.p[g->alias[i].tensor].name)};
        lines_call(&t->l, 4, HB_STR("hap_alias("), arg, 3, NULL);
    }
    for (int i = 0; p->keep_grads && i < g->tensors.n; i++) {
        if (p->grad[i] < 0) continue;
        hb_str arg[3] = {HB_STR("r"), pt_quote(t->a, g->tensors.p[i].name), t->b->id[p->grad[i]]};
        lines_call(&t->l, 4, HB_STR("hap_grad("), arg, 3, NULL);
    }
    if (p->loss >= 0) lines_text(&t->l, 4, "hap_loss(r, %.*s);", HB_ARG(t->b->id[p->loss]));
    for (int k = 0; k < t->b->blocks.n; k++) { // other blocks' buffers, in no order
        const pb_block *x = &t->b->blocks.p[k];
        for (int i = 0; i < x->fields.n; i++)
            for (int e = 0; e < x->count && x->fields.p[i].linked; e++)
                if (x->fields.p[i].member[e] >= 0)
                    lines_fill(&t->l, 4,
                               hb_fmt(t->a, "%.*s[%d].%.*s = ", HB_ARG(x->name), e,
                                      HB_ARG(x->fields.p[i].name)),
                               &t->b->id[x->fields.p[i].member[e]], 1, ";", NULL);
    }
    lines_text(&t->l, 0, "}");
}

// --- what is declared

static void variables(tables *w)
{
    pt *t = w->t;
    const syn_program *p = t->p;
    HB_VEC(hb_str) item = {0}, event = {0};
    for (int k = 0; k < t->b->blocks.n; k++) {
        const pb_block *x = &t->b->blocks.p[k];
        HB_VEC(hb_str) field = {0};
        for (int i = 0; i < x->fields.n; i++)
            if (x->fields.p[i].owned || x->fields.p[i].linked)
                HB_PUSH(t->a, &field, hb_fmt(t->a, "*%.*s", HB_ARG(x->fields.p[i].name)));
        if (field.n == 0) continue; // all it works on is shared
        lines_comment(&t->l, 0, 0,
                      hb_fmt(t->a, "What each of the %d blocks %.*s.* owns.", x->count,
                             HB_ARG(x->layers.n ? x->layers : x->name)));
        lines_text(&t->l, 0, "typedef struct %.*s {", HB_ARG(x->type));
        lines_fill(&t->l, 4, HB_STR("hap_tensor "), field.p, field.n, ";", NULL);
        lines_text(&t->l, 0, "} %.*s;", HB_ARG(x->type));
        hb_str array = hb_fmt(t->a, "%.*s[%d]", HB_ARG(x->name), x->count);
        lines_fill(&t->l, 0, hb_fmt(t->a, "static %.*s ", HB_ARG(x->type)), &array, 1, ";", NULL);
        lines_blank(&t->l);
    }
    for (int i = 0; i < p->tensors.n; i++)
        if (p->tensors.p[i].family < 0 && hb_str_eq(t->b->id[i], t->names[i]))
            HB_PUSH(t->a, &item, hb_fmt(t->a, "*%.*s", HB_ARG(t->names[i])));
    for (int i = 0; i < p->families.n; i++)
        if (w->place[i] < 0)
            HB_PUSH(t->a, &item,
                    hb_fmt(t->a, "*%.*s[%d]", HB_ARG(t->b->list[i].name), p->families.p[i].count));
    if (item.n > 0) {
        lines_fill(&t->l, 0, HB_STR("static hap_tensor "), item.p, item.n, ";", NULL);
        lines_blank(&t->l);
    }
    for (int i = 0; i < t->b->events.n; i++) {
        const pb_events *e = &t->b->events.p[i];
        bool one = e->n == 1 && e->shift == 0;
        HB_PUSH(t->a, &event,
                one ? hb_fmt(t->a, "*%.*s", HB_ARG(e->name))
                    : hb_fmt(t->a, "*%.*s[%d]", HB_ARG(e->name), e->n));
    }
    if (event.n == 0) return;
    lines_comment(
        &t->l, 0, 0,
        HB_STR("Collectives that are waited for in another function than they start in."));
    lines_fill(&t->l, 0, HB_STR("static hap_event "), event.p, event.n, ";", NULL);
    lines_blank(&t->l);
}

void pt_buffers_head(pt *t, hb_buf *out)
{
    lines l = t->l;
    t->l = (lines){.arena = t->a, .out = out};
    hb_buf who = {.arena = t->a};
    for (int c = 0; c < t->p->mesh->n_classes; c++)
        hb_printf(&who, "%s%.*s", c ? ", " : "",
                  HB_ARG(t->p->cluster->cls[t->p->mesh->cluster_class[c]].name));
    lines_comment(&t->l, 0, 0,
                  HB_STR("Where the tensors of program.c lie. Written with it; `hapc check` proves "
                         "both."));
    lines_text(&t->l, 0, "//");
    lines_comment(&t->l, 0, 0,
                  hb_fmt(t->a,
                         "AT: offsets in units of 256 bytes, by class%s; AT_SYM: in the segment "
                         "that other ranks write into. EACH block has its own place, ALL use one "
                         "in turn. Shapes: program.c; 3*12@heads*64 is cut at its middle factor.",
                         t->stage[0] ? "" : hb_fmt(t->a, " {%.*s}", HB_ARG(hb_done(&who))).p));
    lines_blank(&t->l);
    lines_text(&t->l, 0, "#include \"hap/table.h\"");
    lines_blank(&t->l);
    t->l = l;
}

void pt_buffers(pt *t, hb_buf *out)
{
    const syn_program *p = t->p;
    lines l = t->l;
    t->l = (lines){.arena = t->a, .out = out};
    tables w = {.t = t,
                .of = HB_ARRAY(t->a, int, p->tensors.n + 1),
                .place = HB_ARRAY(t->a, int, p->families.n + 1)};
    for (int i = 0; i < p->tensors.n; i++)
        w.of[i] = -1;
    for (int i = 0; i < p->instr.n; i++)
        if (t->view[i]) w.of[p->instr.p[i].out[0]] = p->instr.p[i].in[0];
    find_places(&w);
    variables(&w);
    table(&w);
    declare_function(&w);
    t->l = l;
}
