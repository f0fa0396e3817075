// kernels.cu: one CUDA kernel for each fusion of the plan that differs from the others by more than
// its buffers and layer, written with runtime/hap/kernels.cuh.
//
// A fusion whose members are all EACH goes over elements once. Else a kernel goes over each row in
// passes (kernel_passes.h); what is kept is written in the last one, so that it may lie where it is
// read. With a sum over leading dims it does so for each row that this is of, in turn, and keeps
// the sum's row in registers.

#include "emit/emit.h"
#include <string.h>

#include "emit/kernel_passes.h"

typedef struct writer {
    hb_buf *out;
    kernel_passes k;
    bool known[SYN_MAX_PARTS];    // ROW, ONE: its variable is there
    bool ready[SYN_MAX_FUSION];   // ROWS: its object is there
    bool held[KERNEL_VALUES];     // in registers since an earlier pass
    bool declared[KERNEL_VALUES]; // the place for that is there
    bool ahead[KERNEL_VALUES];    // of the next row is there
    bool any_ahead;
} writer;

static const ir_node *node_of(const writer *w, int m)
{
    return &w->k.p->g->nodes.p[kernel_member(&w->k, m)->node];
}

static bool is_rows(const writer *w, int m)
{
    return kernel_row(&w->k, m)->flags & IR_ROWS;
}

static const char *type_of(const writer *w, int value)
{
    ir_dtype t = w->k.value[value].dtype;
    return t == IR_BOOL ? "boolean" : ir_dtype_name(t);
}

// --- calls ---

// Numbers of a member as arguments: reals, and whole numbers of random rows.
static void put_attrs(writer *w, int m)
{
    const ir_op_info *row = kernel_row(&w->k, m);
    for (int k = 0; k < row->n_attr; k++) {
        if (row->attr[k].kind == IR_ATTR_REAL)
            hb_printf(w->out, ", g.attr[%d].f", w->k.first_attr[m] + k);
        if (row->attr[k].kind == IR_ATTR_INT)
            hb_printf(w->out, ", g.attr[%d].i", w->k.first_attr[m] + k);
    }
    if (row->flags & IR_RANDOM) hb_puts(w->out, ", g, i");
}

// "op::gelu<true>"; of ROWS the object that was made.
static void put_name(writer *w, int m)
{
    const ir_op_info *row = kernel_row(&w->k, m);
    int n = 0;
    if (is_rows(w, m)) {
        hb_printf(w->out, "o%d%s", m, kernel_of_terms(&w->k, m) ? ".of_terms" : "");
        return;
    }
    hb_printf(w->out, "op::%s", row->name);
    for (int k = 0; k < row->n_attr; k++)
        if (row->attr[k].kind == IR_ATTR_BOOL)
            hb_printf(w->out, "%s%s", n++ ? ", " : "<",
                      node_of(w, m)->attr[k].i ? "true" : "false");
    if (n) hb_putc(w->out, '>');
}

// Operands of a call: of ROWS those of the row, or its statistics.
static int put_operands(writer *w, int m, bool of_row, int n)
{
    for (int i = 0; i < kernel_member(&w->k, m)->n_in; i++) {
        syn_shape shape = w->k.value[w->k.in[m][i]].shape;
        bool stat = shape == SYN_ROW || shape == SYN_ONE;
        if (is_rows(w, m) && stat != of_row) continue;
        hb_printf(w->out, "%st%d", n++ ? ", " : "", w->k.in[m][i]);
    }
    return n;
}

static void put_value(writer *w, int m, int indent)
{
    int part = w->k.made[m][0];
    bool round = w->k.value[part].dtype != IR_F32;
    hb_printf(w->out, "%*s%s t%d = ", indent, "",
              w->k.value[part].shape == SYN_ROW ? "float" : "auto", part);
    if (round) hb_printf(w->out, "as<%s>(", type_of(w, part));
    put_name(w, m);
    hb_putc(w->out, '(');
    put_operands(w, m, false, 0);
    if (!is_rows(w, m)) put_attrs(w, m);
    hb_puts(w->out, round ? "));\n" : ");\n");
}

// Rows of whole vectors.
static bool whole(const writer *w)
{
    return w->k.s.slots && !w->k.s.ragged;
}

static void put_load(writer *w, int part, int indent)
{
    static const char *const load[] = {[SYN_FULL] = "auto t%d = load(w, p%d, i);\n",
                                       [SYN_ROW] = "float t%d = load_one(p%d, row);\n",
                                       [SYN_COLUMN] = "auto t%d = load_column(w, p%d, j);\n",
                                       [SYN_ONE] = "float t%d = load_one(p%d, 0);\n",
                                       [SYN_TAIL] =
                                           "auto t%d = load_tail(w, p%d, i, g.count[%d]);\n"};
    const syn_shape shape = w->k.value[part].shape;
    const char *c = load[shape];
    if (w->k.s.rows && shape == SYN_ROW) c = "float t%d = load_one(p%d, r.at);\n";
    if (w->k.s.rows && shape == SYN_TAIL)
        c = whole(w) ? "auto t%d = load(w, p%d, b%d + j);\n"
                     : "auto t%d = load_column(w, p%d, b%d + j);\n";
    if (whole(w) && shape == SYN_COLUMN) c = "auto t%d = load(w, p%d, j);\n";
    hb_printf(w->out, "%*s", indent, "");
    for (; *c; c++)
        if (*c == '%') {
            hb_printf(w->out, "%d", part);
            c++;
        } else {
            hb_putc(w->out, *c);
        }
}

// A value that is no more than a cast of what is read: the runtime may leave it out (cuda_fuse.c).
static void put_store(writer *w, int part, int indent)
{
    int m = w->k.value[part].made;
    bool copy =
        ir_op_of(node_of(w, m)->op)->role == IR_ROLE_copy && w->k.value[w->k.in[m][0]].made < 0;
    hb_printf(w->out, "%*s", indent, "");
    if (copy) hb_printf(w->out, "if (p%d) ", part);
    hb_printf(w->out, "store(p%d, i, t%d);\n", part, part);
}

static void put_pointers(writer *w)
{
    for (int i = 0; i < w->k.s.n; i++) {
        const kernel_value *x = &w->k.value[i];
        if (x->made >= 0 && !x->kept) continue;
        hb_printf(w->out, "    auto p%d = at<%s%s>(g, %d);\n", i, x->made < 0 ? "const " : "",
                  type_of(w, i), i);
    }
}

// --- kernels over elements ---

static void put_elements(writer *w)
{
    bool places = false;
    for (int i = 0; i < w->k.s.n; i++) {
        places = places || w->k.value[i].shape == SYN_ROW || w->k.value[i].shape == SYN_COLUMN;
        if (w->k.value[i].shape == SYN_ONE) put_load(w, i, 4);
    }
    hb_puts(w->out, places ? "    each_entry(g, [&](auto w, i64 i, i64 row, i64 j) {\n"
                           : "    each_element(g, [&](auto w, i64 i) {\n");
    for (int i = 0; i < w->k.s.n; i++)
        if (w->k.value[i].made < 0 && w->k.value[i].shape != SYN_ONE) put_load(w, i, 8);
    for (int m = 0; m < w->k.g->len; m++)
        put_value(w, m, 8);
    for (int i = 0; i < w->k.s.n; i++)
        if (w->k.value[i].kept) put_store(w, i, 8);
    hb_puts(w->out, "    });\n");
}

// --- kernels over rows ---

static bool all_known(const writer *w, int m)
{
    bool known = true;
    for (int i = 0; i < kernel_member(&w->k, m)->n_in; i++) {
        const int value = w->k.in[m][i];
        known = known && (!kernel_of_row(&w->k, value) || w->known[value]);
    }
    return known;
}

// What can be said of the row before the pass: EACH of its own values, and the objects of ROWS.
static void before_pass(writer *w)
{
    for (int m = 0; m < w->k.g->len; m++) {
        int part = w->k.made[m][0];
        if (!all_known(w, m) || kernel_adds(&w->k, m)) continue;
        if (is_rows(w, m) && !w->ready[m]) {
            w->ready[m] = true;
            hb_printf(w->out, "    const op::%s o%d(r", kernel_row(&w->k, m)->name, m);
            put_operands(w, m, true, 1);
            put_attrs(w, m);
            hb_puts(w->out, ");\n");
        }
        if (!is_rows(w, m) && kernel_of_row(&w->k, part) && !w->known[part]) {
            w->known[part] = true;
            put_value(w, m, 4);
        }
    }
}

static void open_loop(writer *w, const char *row)
{
    hb_printf(w->out, "    if (%s.here)\n        ", row);
    if (w->k.s.slots)
        hb_printf(w->out, "each_slot<%d%s>(%s, [&](auto w, i64 i, i64 j, int slot) {\n",
                  w->k.s.slots, w->k.s.ragged ? ", ragged" : "", row);
    else
        hb_printf(w->out, "each_of(%s, [&](auto w, i64 i, i64 j) {\n", row);
}

// A value of the row's entries.
static void put_entry(writer *w, int value, const kernel_pass *pass)
{
    const int m = w->k.value[value].made;
    const bool there = w->held[value] || pass->fetched[value];
    if (!pass->wanted[value] || kernel_of_row(&w->k, value)) return;
    if (there)
        hb_printf(w->out, "            auto t%d = h%d.get(w, slot);\n", value, value);
    else if (m < 0)
        put_load(w, value, 12);
    else if (w->k.value[value].terms)
        hb_printf(w->out, "            auto t%d = o%d.terms(t%d);\n", value, m, w->k.in[m][0]);
    else
        put_value(w, m, 12);
    if (pass->held[value] && !there)
        hb_printf(w->out, "            h%d.put(w, slot, t%d);\n", value, value);
}

// What member m makes of the row's entries, or adds them to.
static void put_member(writer *w, int m, int number, const kernel_pass *pass)
{
    const int part = w->k.made[m][0], terms = w->k.terms[m];
    if (terms >= 0) put_entry(w, terms, pass);
    if (kernel_adds(&w->k, m)) {
        if (number == w->k.last)
            hb_printf(w->out, "            a%d.add(slot, t%d);\n", part, w->k.in[m][0]);
    } else if (!kernel_reduces(&w->k, m)) {
        put_entry(w, part, pass);
    } else if (w->k.value[part].level == number + 1) {
        hb_printf(w->out, "            o%d.add%s(", m, terms >= 0 ? "_terms" : "");
        for (int o = 0; o < kernel_member(&w->k, m)->n_out; o++)
            hb_printf(w->out, "%sa%d.v", o ? ", " : "", w->k.made[m][o]);
        if (terms >= 0)
            hb_printf(w->out, ", t%d", terms);
        else
            put_operands(w, m, false, 1);
        hb_puts(w->out, ");\n");
    }
}

// What the pass has made of the whole row.
static void put_totals(writer *w, int number)
{
    for (int m = 0; m < w->k.g->len; m++)
        for (int o = 0; kernel_reduces(&w->k, m) && o < kernel_member(&w->k, m)->n_out; o++) {
            int part = w->k.made[m][o];
            if (w->k.value[part].level != number + 1) continue;
            if (w->k.value[part].dtype != IR_F32)
                hb_printf(w->out, "    float t%d = as<%s>(total(a%d));\n", part, type_of(w, part),
                          part);
            else
                hb_printf(w->out, "    float t%d = total(a%d);\n", part, part);
            w->known[part] = true;
        }
}

static void put_place(writer *w, int value)
{
    if (!w->declared[value])
        hb_printf(w->out, "    held<%s, %d> h%d;\n", type_of(w, value), w->k.s.slots, value);
    w->declared[value] = true;
}

// Reads to registers what the pass is to find there.
static void put_fetch(writer *w, const kernel_pass *pass)
{
    bool any = false;
    for (int i = 0; i < w->k.n; i++) {
        if (pass->fetched[i] || pass->held[i]) put_place(w, i);
        any |= pass->fetched[i] && !w->ahead[i];
    }
    if (!any) return;
    open_loop(w, "r");
    for (int i = 0; i < w->k.n; i++) {
        if (!pass->fetched[i] || w->ahead[i]) continue;
        if (w->k.value[i].shape == SYN_FULL)
            hb_printf(w->out, "            h%d.load(w, slot, p%d, i);\n", i, i);
        else
            hb_printf(w->out, "            h%d.load%s(w, slot, p%d, b%d + j);\n", i,
                      whole(w) ? "" : "_column", i, i);
    }
    hb_puts(w->out, "        });\n");
}

static void put_pass(writer *w, int number)
{
    kernel_pass pass;
    kernel_pass_of(&w->k, number, w->held, &pass);
    put_fetch(w, &pass);
    before_pass(w);
    for (int m = 0; m < w->k.g->len; m++)
        for (int o = 0; o < kernel_member(&w->k, m)->n_out; o++)
            if (kernel_reduces(&w->k, m) && w->k.value[w->k.made[m][0]].level == number + 1)
                hb_printf(w->out, "    %s a%d;\n",
                          kernel_row(&w->k, m)->reducers[o] == 'm' ? "most" : "sum",
                          w->k.made[m][o]);
    open_loop(w, "r");
    for (int i = 0; i < w->k.n; i++)
        if (w->k.value[i].made < 0) put_entry(w, i, &pass);
    for (int m = 0; m < w->k.g->len; m++)
        put_member(w, m, number, &pass);
    for (int i = 0; i < w->k.n && number == w->k.last; i++)
        if (w->k.value[i].kept && w->k.value[i].shape == SYN_FULL) put_store(w, i, 12);
    hb_puts(w->out, "        });\n");
    memcpy(w->held, pass.held, sizeof w->held);
    put_totals(w, number);
}

// Takes what was read ahead, and reads the next row's.
static void put_next(writer *w)
{
    hb_puts(w->out, "    const row next(g, turn + 1);\n");
    for (int i = 0; i < w->k.n; i++) {
        if (!w->ahead[i]) continue;
        if (kernel_of_row(&w->k, i))
            hb_printf(w->out, "    float t%d = n%d;\n    n%d = load_one(p%d, next.at);\n", i, i, i,
                      i);
        else
            hb_printf(w->out, "    held<%s, %d> h%d = n%d;\n", type_of(w, i), w->k.s.slots, i, i);
        w->declared[i] = true;
    }
    open_loop(w, "next");
    for (int i = 0; i < w->k.n; i++)
        if (w->ahead[i] && !kernel_of_row(&w->k, i))
            hb_printf(w->out, "            n%d.load(w, slot, p%d, i);\n", i, i);
    hb_puts(w->out, "        });\n");
}

static void put_rows(writer *w)
{
    int stats = 0;
    hb_puts(w->out, w->k.s.adds ? "    const row r(g, turn);\n" : "    const row r(g);\n");
    if (w->any_ahead) put_next(w);
    for (int i = 0; i < w->k.n; i++) {
        const kernel_value *x = &w->k.value[i];
        stats += x->kept && kernel_of_row(&w->k, i);
        if (x->shape == SYN_TAIL && !w->held[i])
            hb_printf(w->out, "    const i64 b%d = r.tail(g.count[%d]);\n", i, i);
        if (x->made >= 0 || !kernel_of_row(&w->k, i)) continue;
        if (!w->ahead[i]) put_load(w, i, 4);
        w->known[i] = true;
    }
    for (int pass = 0; pass <= w->k.last; pass++)
        put_pass(w, pass);
    before_pass(w);
    if (stats == 0) return;
    hb_puts(w->out, "    row_done();\n    if (r.here && r.leads()) {\n");
    for (int i = 0; i < w->k.n; i++)
        if (w->k.value[i].kept && kernel_of_row(&w->k, i))
            hb_printf(w->out, "        store_one(p%d, r.at, t%d);\n", i, i);
    hb_puts(w->out, "    }\n");
}

// Before the turns: what repeats in all of them is read, and what they find read ahead.
static void put_first(writer *w)
{
    kernel_pass first;
    bool any = false;
    for (int i = 0; i < w->k.n; i++) {
        w->held[i] = kernel_repeats(&w->k, i);
        if (w->held[i]) put_place(w, i);
        any |= w->held[i];
    }
    kernel_pass_of(&w->k, 0, w->held, &first);
    for (int i = 0; i < w->k.n; i++) {
        w->ahead[i] = kernel_ahead(&w->k, &first, i);
        w->any_ahead |= w->ahead[i];
    }
    if (!any && !w->any_ahead) return;
    hb_puts(w->out, "    const row first(g);\n");
    for (int i = 0; i < w->k.n && w->any_ahead; i++) {
        if (w->k.value[i].shape == SYN_ROW && w->k.value[i].made < 0) {
            w->ahead[i] = true;
            hb_printf(w->out, "    float n%d = load_one(p%d, first.at);\n", i, i);
        } else if (w->ahead[i]) {
            hb_printf(w->out, "    held<%s, %d> n%d;\n", type_of(w, i), w->k.s.slots, i);
        }
    }
    open_loop(w, "first");
    for (int i = 0; i < w->k.n; i++)
        if (w->held[i] || (w->ahead[i] && !kernel_of_row(&w->k, i)))
            hb_printf(w->out, "            %c%d.load(w, slot, p%d, i);\n", w->held[i] ? 'h' : 'n',
                      i, i);
    hb_puts(w->out, "        });\n");
}

// The same for each of the rows that a row of the sum is of.
static void put_turns(writer *w)
{
    hb_buf *out = w->out, body = {.arena = out->arena};
    int sum = 0;
    while (w->k.value[sum].shape != SYN_ADDED)
        sum++;
    put_first(w);
    hb_printf(out, "    added<%d> a%d;\n    for (i64 turn = 0; turn < g.turns; turn++) {\n",
              w->k.s.slots, sum);
    w->out = &body;
    put_rows(w);
    w->out = out;
    const hb_str text = hb_done(&body);
    for (size_t i = 0; i < text.n; i++) {
        if (i == 0 || text.p[i - 1] == '\n') hb_puts(out, "    ");
        hb_putc(out, text.p[i]);
    }
    hb_printf(out, "    }\n    a%d.store_at(g, p%d);\n", sum, sum);
}

// The fusion's text as one literal a member.
static void put_text(hb_buf *out, hb_str text)
{
    size_t from = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.p[i] != ';') continue;
        size_t end = i < text.n ? i + 2 : i; // with "; "
        hb_printf(out, "%s\"%.*s\"", from ? "\n           " : "", (int)(end - from), text.p + from);
        from = end;
        i = end - (i < text.n);
    }
}

static void put_kernel(hb_buf *out, const syn_program *p, const syn_fusion *g, int count)
{
    writer w = {.out = out};
    kernel_look(&w.k, p, g);
    hb_printf(out, "\n// k%d:", g->kernel + 1);
    for (int m = 0; m < g->len; m++)
        hb_printf(out, "%s %s", m ? "," : "", kernel_row(&w.k, m)->name);
    hb_printf(out, " (%.*s",
              HB_ARG(emit_module(out->arena, p->g, kernel_member(&w.k, g->len - 1)->node)));
    if (count > 1) hb_printf(out, " and %d more", count - 1);
    hb_puts(out, ")\n");
    hb_printf(out, "%s(k%d,\n           ", w.k.s.rows ? "HAP_ROW_KERNEL" : "HAP_KERNEL",
              g->kernel + 1);
    put_text(out, syn_fusion_text(out->arena, p, g));
    hb_puts(out, ")\n{\n");
    put_pointers(&w);
    if (w.k.s.adds)
        put_turns(&w);
    else if (w.k.s.rows)
        put_rows(&w);
    else
        put_elements(&w);
    hb_puts(out, "}\n");
}

// The first fusion that is kernel k, of program *of; NULL: there is none. *count: how many are.
static const syn_fusion *first_of(const syn_program *const *p, int n, int k, const syn_program **of,
                                  int *count)
{
    const syn_fusion *first = NULL;
    *count = 0;
    for (int i = 0; i < n; i++)
        for (int g = 0; g < p[i]->fusions.n; g++) {
            if (p[i]->fusions.p[g].kernel != k) continue;
            if (!first) *of = p[i], first = &p[i]->fusions.p[g];
            ++*count;
        }
    return first;
}

bool emit_kernels(hb_buf *out, hb_str version, const syn_program *const *p, int n)
{
    int most = -1;
    for (int i = 0; i < n; i++)
        for (int g = 0; g < p[i]->fusions.n; g++)
            if (p[i]->fusions.p[g].kernel > most) most = p[i]->fusions.p[g].kernel;
    if (most < 0) return false;
    hb_puts(out, "// kernels.cu: the fusions of program.c as CUDA kernels, by hapc ");
    hb_printf(
        out,
        "%.*s.\n//\n// t is a tensor of the fusion in the order of its text (op, operands > "
        "outputs), or, of a number\n// behind these, what two ops start from; p its memory, b "
        "where the row begins there, o an op over\n// rows, a what it adds up, h what a thread "
        "holds of the row, n of the next one. A fusion that does\n// not read as its text runs op "
        "by op.\n\n#include \"hap/kernels.cuh\"\n",
        HB_ARG(version));
    for (int kernel = 0; kernel <= most; kernel++) {
        const syn_program *of = NULL;
        int count = 0;
        const syn_fusion *first = first_of(p, n, kernel, &of, &count);
        if (first) put_kernel(out, of, first, count);
    }
    return true;
}
