// Names for people: C identifiers of buffers and cut tables, shapes with marks, modules, sizes.

#include "emit/emit.h"
#include "synth/price/pair_cost.h"

#include <string.h>

enum { MAX_IDENTIFIER = 56 };

// What an identifier must not be: words of C, what an emitted program names itself, library
// functions.
static const char *const reserved[] = {
    "auto",      "break",    "case",      "char",
    "const",     "continue", "default",   "do",
    "double",    "else",     "enum",      "extern",
    "float",     "for",      "goto",      "if",
    "inline",    "int",      "long",      "register",
    "restrict",  "return",   "short",     "signed",
    "sizeof",    "static",   "struct",    "switch",
    "typedef",   "union",    "unsigned",  "void",
    "volatile",  "while",    "bool",      "true",
    "false",     "main",     "argc",      "argv",
    "r",         "b",        "m",         "i",
    "asm",       "typeof",   "unix",      "linux",
    "exp",       "log",      "sqrt",      "tanh",
    "pow",       "fabs",     "floor",     "ceil",
    "round",     "abs",      "index",     "y0",
    "y1",        "j0",       "j1",        "gamma",
    "printf",    "malloc",   "free",      "exit",
    "signal",    "offsetof", "sin",       "cos",
    "tan",       "cuts",     "buffers",   "ONE",
    "EACH",      "ALL",      "SOME",      "LIST",
    "AT",        "VIEW",     "VIEWS",     "AT_SYM",
    "VIEW_LIST", "ALL_FROM", "EACH_FROM", "declare_buffers",
};

// Families of names that are not free; a "t_" before them makes them so.
static bool has_reserved_prefix(hb_str s)
{
    static const char *const prefixes[] = {"hap_",  "op_",      "coll_", "HAP_", "FORM_",
                                           "SEG_",  "int",      "uint",  "INT",  "UINT",
                                           "size_", "ptrdiff_", "AS_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (s.n >= strlen(prefixes[i]) && memcmp(s.p, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static bool is_reserved(hb_str s)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (hb_str_is(s, reserved[i])) return true;
    static const char *const macros[] = {"NULL", "WHOLE",   "CUT", "CUT_IN",
                                         "CUT2", "CUT2_IN", "AXIS"};
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        if (hb_str_is(s, macros[i])) return true;
    return false;
}

hb_str emit_identifier(hb_arena *a, hb_str s)
{
    hb_buf b = {.arena = a};
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool digit = c >= '0' && c <= '9';
        if (letter || digit) {
            if (digit && b.n == 0) hb_puts(&b, "t_");
            hb_putc(&b, c);
        } else if (b.n > 0 && b.p[b.n - 1] != '_') {
            hb_putc(&b, '_');
        }
    }
    while (b.n > 0 && b.p[b.n - 1] == '_')
        b.p[--b.n] = 0;
    if (b.n == 0) hb_puts(&b, "t");
    hb_str id = hb_done(&b);
    if (id.n > MAX_IDENTIFIER) // keep the end: it tells more
        id = hb_fmt(a, "t_%s", id.p + id.n - (MAX_IDENTIFIER - 2));
    if (has_reserved_prefix(id)) id = hb_fmt(a, "t_%.*s", HB_ARG(id));
    if (is_reserved(id)) id = hb_fmt(a, "%.*s_", HB_ARG(id));
    return id;
}

hb_str emit_unique(hb_arena *a, hb_map *used, hb_str want)
{
    hb_str id = want;
    for (int k = 2; hb_map_get(used, id) >= 0; k++)
        id = hb_fmt(a, "%.*s_%d", HB_ARG(want), k);
    hb_map_put(used, id, 1);
    return id;
}

static hb_str first_part(hb_str name)
{
    size_t k = 0;
    while (k < name.n && name.p[k] != '.')
        k++;
    return (hb_str){name.p, k < name.n ? k : 0};
}

hb_str emit_root(const ir_graph *g)
{
    hb_str root = {0};
    int n = 0, with = 0;
    for (int i = 0; i < g->tensors.n; i++) {
        if (g->tensors.p[i].kind != IR_PARAM) continue;
        hb_str first = first_part(g->tensors.p[i].name);
        if (root.n == 0) root = first; // that of the first parameter that has one
        n++;
        with += root.n > 0 && hb_str_eq(first, root);
    }
    return n > 4 && 2 * with > n ? root : (hb_str){0};
}

hb_str emit_without_root(hb_str root, hb_str name)
{
    if (root.n == 0 || name.n < root.n + 2 || memcmp(name.p, root.p, root.n) != 0) return name;
    if (name.p[root.n] != '.' && name.p[root.n] != '_') return name;
    return (hb_str){name.p + root.n + 1, name.n - root.n - 1};
}

// Adam's moments are m and v. Outputs that have no name of their own in the graph, and gradients
// that meet.
static hb_str value_name(hb_arena *a, const ir_graph *g, int value, const int *maker)
{
    static const struct {
        ir_op op;
        const char *out[3]; // behind the quote
    } words[] = {{IR_OP_sdpa_bwd, {"dq", "dk", "dv"}},
                 {IR_OP_norm_bwd_stats, {"sum_u", "sum_ux", NULL}},
                 {IR_OP_norm_bwd_params, {"dw", "db", NULL}}};
    const ir_tensor *t = &g->tensors.p[value];
    static const char *const moments[2][2] = {{".exp_avg", "m"}, {".exp_avg_sq", "v"}};
    for (int i = 0; i < 2 && t->kind == IR_STATE; i++) {
        size_t k = strlen(moments[i][0]);
        if (t->name.n > k && memcmp(t->name.p + t->name.n - k, moments[i][0], k) == 0)
            return hb_fmt(a, "%.*s.%s", (int)(t->name.n - k), t->name.p, moments[i][1]);
    }
    const char *quote = memchr(t->name.p, '\'', t->name.n);
    if (!quote || maker[value] < 0) return t->name;
    int before = (int)(quote - t->name.p);
    const ir_node *n = &g->nodes.p[maker[value]];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int o = 0; o < 3 && n->op == words[i].op; o++)
            if (words[i].out[o] && n->out[o] == value)
                return hb_fmt(a, "%.*s.%s", before, t->name.p, words[i].out[o]);
    if (hb_str_is((hb_str){quote, t->name.n - (size_t)before}, "'sum"))
        return hb_fmt(a, "%.*s.dsum", before, t->name.p);
    return t->name;
}

// What a second buffer of a value is called after: how it lies.
static hb_str state_word(hb_arena *a, const syn_program *p, const syn_state *s,
                         const hb_str *tables)
{
    hb_str word = HB_STR("all");
    for (int x = 0; x < p->mesh->n_axes; x++) {
        if (s->ax[x].kind == SYN_P) return HB_STR("part");
        if (s->ax[x].kind != SYN_S || tables[s->ax[x].cut].n == 0) continue;
        hb_str table = tables[s->ax[x].cut];
        bool plain = table.n > 4 && memcmp(table.p, "cut_", 4) == 0;
        word = plain ? HB_STR("cut") : hb_fmt(a, "by_%.*s", HB_ARG(table));
    }
    return word;
}

hb_str *emit_names(hb_arena *a, const syn_program *p)
{
    hb_str *names = HB_ARRAY(a, hb_str, p->tensors.n + 1);
    hb_map *used = hb_map_new(a);
    hb_str *tables = emit_table_names(a, p), root = emit_root(p->g);
    int *maker = HB_ARRAY(a, int, p->g->tensors.n + 1), *first = HB_ARRAY(a, int, p->g->tensors.n);
    for (int t = 0; t < p->g->tensors.n; t++)
        maker[t] = first[t] = -1;
    for (int i = 0; i < p->g->nodes.n; i++)
        for (int o = 0; o < p->g->nodes.p[i].n_out; o++)
            maker[p->g->nodes.p[i].out[o]] = i;
    for (int t = 0; t < p->tensors.n; t++) {
        const syn_tensor *x = &p->tensors.p[t];
        if (x->value < 0) continue;
        hb_str name =
            emit_identifier(a, emit_without_root(root, value_name(a, p->g, x->value, maker)));
        if (first[x->value] >= 0)
            name =
                hb_fmt(a, "%.*s_%.*s", HB_ARG(name), HB_ARG(state_word(a, p, &x->state, tables)));
        else
            first[x->value] = t;
        names[t] = emit_unique(a, used, name);
    }
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_START && in->scratch >= 0 && names[in->scratch].n == 0)
            names[in->scratch] =
                emit_unique(a, used, hb_fmt(a, "%.*s_scratch", HB_ARG(names[in->out[0]])));
    }
    for (int t = 0; t < p->tensors.n; t++)
        if (names[t].n == 0) names[t] = emit_unique(a, used, HB_STR("scratch"));
    return names;
}

static bool same_table(const syn_cut *x, const syn_cut *y)
{
    return x->axis == y->axis && x->n == y->n &&
           memcmp(x->table, y->table, sizeof *x->table * (size_t)x->n) == 0;
}

// "rows" for the batch, a word for the usual letters, else "cut" and the size.
static hb_str class_word(hb_arena *a, const ir_class *c)
{
    static const struct {
        const char *letter, *word;
    } words[] = {
        {"t", "positions"}, {"h", "heads"}, {"v", "vocab"}, {"e", "head_dim"}, {"g", "fusions"}};
    if (c->batch) return HB_STR("rows");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(c->letter, words[i].letter) == 0)
            return (hb_str){words[i].word, strlen(words[i].word)};
    return hb_fmt(a, "cut_%lld", (long long)c->size);
}

hb_str *emit_table_names(hb_arena *a, const syn_program *p)
{
    int n = p->mesh->cuts.n;
    hb_str *names = HB_ARRAY(a, hb_str, n + 1);
    int *cls = HB_ARRAY(a, int, n + 1); // factor class + 1 that first uses the cut
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        for (int x = 0; t->value >= 0 && x < p->mesh->n_axes; x++) {
            const syn_axis_state *s = &t->state.ax[x];
            if (s->kind != SYN_S || cls[s->cut]) continue;
            if (x == 0 && syn_joint(p->mesh, &t->state)) continue; // sums: not printed
            cls[s->cut] = p->f->dim[t->value][s->dim].cls[s->pos] + 1;
        }
    }
    hb_map *used = hb_map_new(a);
    for (int c = 0; c < n; c++) {
        const syn_cut *cut = &p->mesh->cuts.p[c];
        if (!cls[c]) { // no tensor lies so; it is not printed
            names[c] = (hb_str){"", 0};
            continue;
        }
        for (int k = 0; k < c && names[c].n == 0; k++)
            if (cls[k] && same_table(cut, &p->mesh->cuts.p[k])) names[c] = names[k];
        if (names[c].n > 0) continue;
        hb_str word = emit_identifier(a, class_word(a, &p->f->cls[cls[c] - 1]));
        if (p->mesh->n_axes == 2 && cut->axis != SYN_BOTH)
            word = hb_fmt(a, "%.*s_by_%s", HB_ARG(word), cut->axis == 0 ? "machine" : "device");
        if (hb_map_get(used, word) >= 0)
            word = emit_identifier(a, hb_fmt(a, "%.*s_%.*s", HB_ARG(word), HB_ARG(cut->name)));
        names[c] = emit_unique(a, used, word);
    }
    return names;
}

hb_str emit_shape(hb_arena *a, const syn_program *p, int tensor, const hb_str *table_of_cut)
{
    const syn_tensor *t = &p->tensors.p[tensor];
    if (t->value < 0) return hb_fmt(a, "scratch, %.*s", HB_ARG(emit_bytes(a, (double)t->bytes[0])));
    const ir_tensor *g = &p->g->tensors.p[t->value];
    hb_buf b = {.arena = a};
    hb_putc(&b, '[');
    for (int d = 0; d < g->rank; d++) {
        hb_printf(&b, "%s%lld", d ? " " : "", (long long)g->dim[d]);
        hb_str cut = {0}; // over both axes: that of axis 1
        for (int x = 0; x < p->mesh->n_axes; x++) {
            const syn_axis_state *s = &t->state.ax[x];
            if (s->kind == SYN_S && s->dim == d) cut = table_of_cut[s->cut];
        }
        if (cut.n > 0) hb_printf(&b, "@%.*s", HB_ARG(cut));
    }
    hb_putc(&b, ']');
    int partial = 0, on = 0;
    for (int x = 0; x < p->mesh->n_axes; x++)
        if (t->state.ax[x].kind == SYN_P) partial++, on = x;
    if (partial > 0) hb_puts(&b, t->state.ax[on].reducer == 'm' ? "^" : "+");
    if (partial == 1 && p->mesh->n_axes == 2) hb_puts(&b, on == 0 ? "machine" : "device");
    return hb_done(&b);
}

hb_str emit_bytes(hb_arena *a, double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int u = 0;
    while (bytes >= 1024 && u < 5)
        bytes /= 1024, u++;
    if (u == 0) return hb_fmt(a, "%.0f B", bytes);
    return hb_fmt(a,
                  bytes < 9.995   ? "%.2f %s"
                  : bytes < 99.95 ? "%.1f %s"
                                  : "%.0f %s",
                  bytes, unit[u]);
}

// Components of a name: "transformer.h.0.attn.c_attn'dx" gives transformer, h, 0, attn, c_attn.
static int components(hb_str s, hb_str *out, int max)
{
    int n = 0;
    size_t from = 0;
    for (size_t i = 0; i <= s.n && n < max; i++) {
        bool end = i == s.n || s.p[i] == '\'';
        if (!end && s.p[i] != '.') continue;
        if (i > from) out[n++] = (hb_str){s.p + from, i - from};
        from = i + 1;
        if (end) break;
    }
    return n;
}

static bool numeric(hb_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.n > 0;
}

// Up to the component behind the last block index ("transformer.h.0.attn"), or the first two.
hb_str emit_module(hb_arena *a, const ir_graph *g, int node)
{
    hb_str c[16];
    int n = components(g->nodes.p[node].name, c, 16);
    int keep = n < 2 ? n : 2;
    for (int i = 0; i + 1 < n; i++)
        if (numeric(c[i]) && i > 0) {
            keep = i + 2;
            break;
        }
    static const char *const stats[] = {"max", "expsum", "target", "sum", "m2", "sq"};
    for (size_t i = 0; n == 2 && i < sizeof stats / sizeof *stats; i++)
        if (hb_str_is(c[1], stats[i])) keep = 1; // an op of the composite c[0]
    hb_buf b = {.arena = a};
    for (int i = 0; i < keep && i < n; i++)
        hb_printf(&b, "%s%.*s", i ? "." : "", HB_ARG(c[i]));
    return hb_done(&b);
}

hb_str emit_instr_name(hb_arena *a, const syn_program *p, int instr)
{
    const syn_instr *i = &p->instr.p[instr];
    switch (i->kind) {
    case SYN_OP:
        return hb_fmt(a, "op_%s", ir_op_of(p->g->nodes.p[i->node].op)->name);
    case SYN_SLICE:
        return HB_STR("hap_cut");
    case SYN_PARTIAL:
        return HB_STR("hap_partial");
    case SYN_START: {
        static const char *const names[] = {"all_gather", "reduce_scatter", "all_reduce",
                                            "all_to_all", "reshard"};
        return hb_fmt(a, "coll_%s%s_start", names[i->coll], i->reduce_max ? "_max" : "");
    }
    case SYN_WAIT:
        return HB_STR("hap_wait");
    }
    return HB_STR("?");
}

double emit_coll_bytes(const syn_program *p, const syn_instr *i)
{
    double bytes = 0;
    for (int k = 0; k < i->n_in; k++) {
        const syn_tensor *t = &p->tensors.p[i->in[k]];
        if (t->value < 0) continue;
        bytes += (double)ir_elements(&p->g->tensors.p[t->value]) * (double)ir_dtype_bytes(t->dtype);
    }
    return bytes;
}

double emit_slowest(const syn_program *p, const syn_instr *i)
{
    double sec = 0;
    int n = i->kind == SYN_START ? 1 : p->mesh->n_classes;
    for (int c = 0; c < n; c++)
        if (i->sec[c] > sec) sec = i->sec[c];
    return sec / syn_instr_slots(p, i);
}

// How an op is divided: on each axis by the first of its outputs and operands that is cut there,
// both axes at once where that is one cut over both. False: not at all.
static bool divided_by(const syn_program *p, const syn_instr *in, syn_state *by)
{
    bool any = false;
    *by = (syn_state){{{.kind = SYN_R, .cut = -1}, {.kind = SYN_R, .cut = -1}}};
    for (int k = 0; k < in->n_out + in->n_in; k++) {
        const syn_state *s =
            &p->tensors.p[k < in->n_out ? in->out[k] : in->in[k - in->n_out]].state;
        if (syn_joint(p->mesh, s)) {
            *by = *s;
            return true;
        }
        for (int x = 0; x < p->mesh->n_axes; x++)
            if (s->ax[x].kind == SYN_S && by->ax[x].kind != SYN_S) {
                by->ax[x] = s->ax[x];
                any = true;
            }
    }
    return any;
}

// Share of a buffer that a rank holds.
static double part_of(const syn_mesh *m, const syn_state *state, int rank)
{
    double part = 1;
    for (int x = 0; x < m->n_axes; x++) {
        const syn_axis_state *s = &state->ax[x];
        if (x == 0 && syn_joint(m, state)) continue;
        if (s->kind != SYN_S) {
            part /= m->size[x];
            continue;
        }
        const syn_cut *c = &m->cuts.p[s->cut];
        part *= (double)c->table[syn_coord(m, rank, c->axis)] / (double)c->size;
    }
    return part;
}

typedef struct division {
    syn_state state;
    double work;
} division;

double *emit_ratios(hb_arena *a, const syn_program *p)
{
    int n = p->mesh->n_ranks;
    double *share = HB_ARRAY(a, double, n), total = 0;
    hb_map *known = hb_map_new(a); // by cuts
    HB_VEC(division) all = {0};
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        syn_state by;
        if (in->kind != SYN_OP || !divided_by(p, in, &by)) continue;
        double flops = 0, bytes = 0;
        ir_node_work(p->g, p->f, in->node, NULL, 0, &flops, &bytes);
        int key[SYN_MAX_AXES];
        for (int x = 0; x < SYN_MAX_AXES; x++)
            key[x] = x < p->mesh->n_axes && by.ax[x].kind == SYN_S ? by.ax[x].cut : -1;
        hb_str name = {(const char *)key, sizeof key};
        int at = hb_map_get(known, name);
        if (at < 0) {
            at = all.n;
            hb_map_put(known, hb_str_n(a, name.p, name.n), at);
            HB_PUSH(a, &all, (division){.state = by});
        }
        all.p[at].work += syn_instr_slots(p, in) * (flops > 0 ? flops : bytes);
    }
    for (int i = 0; i < all.n; i++) {
        total += all.p[i].work;
        for (int r = 0; r < n; r++)
            share[r] += all.p[i].work * part_of(p->mesh, &all.p[i].state, r);
    }
    for (int r = 0; r < n; r++)
        share[r] = total > 0 ? share[r] / total : 1.0 / n;
    return share;
}

double emit_hidden(const emit_plan *e, int start, int wait)
{
    const cost_timeline *tl = &e->res->timeline;
    if (!tl->begin || !tl->end) return 0;
    int n = e->p->mesh->n_classes;
    for (int k = 0; k < e->p->pairs.n; k++) { // of a consumer nobody waits at the wait
        const syn_pair *x = &e->p->pairs.p[k];
        if (x->first == start) return syn_pair_hidden(e->p, x);
    }
    double took = tl->end[start * n] - tl->begin[start * n];
    double before = tl->begin[wait * n] - tl->begin[start * n]; // until the first class waits
    return before <= 0 ? 0 : before < took ? before / took : 1;
}

hb_str emit_pattern(hb_arena *a, hb_str name)
{
    hb_buf b = {.arena = a};
    size_t from = 0;
    for (size_t i = 0; i <= name.n; i++) {
        if (i < name.n && name.p[i] != '.' && name.p[i] != '\'') continue;
        hb_str c = {name.p + from, i - from};
        bool inner = from > 0 && i < name.n; // the block's number stands inside a name
        hb_printf(&b, "%.*s", inner && numeric(c) ? 1 : (int)c.n, inner && numeric(c) ? "*" : c.p);
        if (i < name.n) hb_putc(&b, name.p[i]);
        from = i + 1;
    }
    return hb_done(&b);
}
