// kernels.cu: one CUDA kernel for each fusion of the plan that differs from the others by more than
// its buffers and layer, written with runtime/hap/kernels.cuh.
//
// A fusion whose members are all EACH goes over elements once. Else a kernel goes over each row in
// passes: a sum or maximum over the row is known behind the pass that makes it, so a value's level
// is how many passes stand before it. What a pass needs is computed anew from memory, which is then
// in the cache; what is kept is written in the last pass, so that it may lie where it is read. With
// a sum over leading dims it does so for each row that this is of, in turn. A thread then has as
// many vectors of a row as `slots` says, and keeps in registers the sum's row, and what another
// pass needs of what took long: exponentials and random numbers are not computed twice.

#include "emit/emit.h"
#include "ir/formula.h"
#include "synth/plan/fusion_parts.h"

typedef struct writer {
    hb_buf *out;
    const syn_program *p;
    const syn_fusion *g;
    syn_parts s;
    int in[SYN_MAX_FUSION][IR_MAX_IN], made[SYN_MAX_FUSION][IR_MAX_OUT]; // parts
    int first_attr[SYN_MAX_FUSION];
    int level[SYN_MAX_PARTS];
    bool known[SYN_MAX_PARTS];  // ROW, ONE: its variable is there
    bool ready[SYN_MAX_FUSION]; // ROWS: its object is there
    bool held[SYN_MAX_PARTS];   // in registers since an earlier pass
} writer;

static const syn_instr *member(const writer *w, int m)
{
    return &w->p->instr.p[w->g->first + m];
}

static const ir_node *node_of(const writer *w, int m)
{
    return &w->p->g->nodes.p[member(w, m)->node];
}

static const ir_op_info *row_of(const writer *w, int m)
{
    return ir_op_of(node_of(w, m)->op);
}

static bool is_rows(const writer *w, int m)
{
    return row_of(w, m)->flags & IR_ROWS;
}

// The sum over leading dims.
static bool adds(const writer *w, int m)
{
    return row_of(w, m)->role == IR_ROLE_columns;
}

// It leaves one entry a row.
static bool reduces(const writer *w, int m)
{
    return is_rows(w, m) && w->s.part[w->made[m][0]].shape == SYN_ROW;
}

static const char *type_of(const writer *w, int part)
{
    ir_dtype t = w->p->tensors.p[w->s.part[part].buffer].dtype;
    return t == IR_BOOL ? "boolean" : ir_dtype_name(t);
}

static int part_at(const writer *w, int buffer)
{
    int i = 0;
    while (w->s.part[i].buffer != buffer)
        i++;
    return i;
}

static void look(writer *w)
{
    int attrs = 0;
    syn_fusion_parts(w->p, w->g, &w->s);
    for (int m = 0; m < w->g->len; m++) {
        const syn_instr *in = member(w, m);
        int level = 0;
        for (int i = 0; i < in->n_in; i++) {
            w->in[m][i] = part_at(w, in->in[i]);
            if (w->level[w->in[m][i]] > level) level = w->level[w->in[m][i]];
        }
        for (int o = 0; o < in->n_out; o++)
            w->made[m][o] = part_at(w, in->out[o]);
        for (int o = 0; o < in->n_out; o++)
            w->level[w->made[m][o]] = level + reduces(w, m);
        w->first_attr[m] = attrs;
        attrs += row_of(w, m)->n_attr;
    }
}

// --- calls ---

// Numbers of a member as arguments: reals, and whole numbers of random rows.
static void put_attrs(writer *w, int m)
{
    const ir_op_info *row = row_of(w, m);
    for (int k = 0; k < row->n_attr; k++) {
        if (row->attr[k].kind == IR_ATTR_REAL)
            hb_printf(w->out, ", g.attr[%d].f", w->first_attr[m] + k);
        if (row->attr[k].kind == IR_ATTR_INT)
            hb_printf(w->out, ", g.attr[%d].i", w->first_attr[m] + k);
    }
    if (row->flags & IR_RANDOM) hb_puts(w->out, ", g, i");
}

// "op::gelu<true>"; of ROWS the object that was made.
static void put_name(writer *w, int m)
{
    const ir_op_info *row = row_of(w, m);
    int n = 0;
    if (is_rows(w, m)) {
        hb_printf(w->out, "o%d", m);
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
    for (int i = 0; i < member(w, m)->n_in; i++) {
        syn_shape shape = w->s.part[w->in[m][i]].shape;
        bool stat = shape == SYN_ROW || shape == SYN_ONE;
        if (is_rows(w, m) && stat != of_row) continue;
        hb_printf(w->out, "%st%d", n++ ? ", " : "", w->in[m][i]);
    }
    return n;
}

static void put_value(writer *w, int m, int indent)
{
    int part = w->made[m][0];
    bool round = w->p->tensors.p[w->s.part[part].buffer].dtype != IR_F32;
    hb_printf(w->out, "%*s%s t%d = ", indent, "",
              w->s.part[part].shape == SYN_ROW ? "float" : "auto", part);
    if (round) hb_printf(w->out, "as<%s>(", type_of(w, part));
    put_name(w, m);
    hb_putc(w->out, '(');
    put_operands(w, m, false, 0);
    if (!is_rows(w, m)) put_attrs(w, m);
    hb_puts(w->out, round ? "));\n" : ");\n");
}

static void put_load(writer *w, int part, int indent)
{
    static const char *const load[] = {[SYN_FULL] = "auto t%d = load(w, p%d, i)",
                                       [SYN_ROW] = "float t%d = load_one(p%d, ",
                                       [SYN_COLUMN] = "auto t%d = load_column(w, p%d, j)",
                                       [SYN_ONE] = "float t%d = load_one(p%d, 0)",
                                       [SYN_TAIL] = "auto t%d = load_tail(w, p%d, i, g.count[%d])"};
    hb_printf(w->out, "%*s", indent, "");
    for (const char *c = load[w->s.part[part].shape]; *c; c++)
        if (*c == '%') {
            hb_printf(w->out, "%d", part);
            c++;
        } else {
            hb_putc(w->out, *c);
        }
    hb_puts(w->out, w->s.part[part].shape != SYN_ROW ? ";\n" : w->s.rows ? "r.at);\n" : "row);\n");
}

// A value that is no more than a cast of what is read: the runtime may leave it out (cuda_fuse.c).
static void put_store(writer *w, int part, int indent)
{
    int m = w->s.part[part].made;
    bool copy =
        ir_op_of(node_of(w, m)->op)->role == IR_ROLE_copy && w->s.part[w->in[m][0]].made < 0;
    hb_printf(w->out, "%*s", indent, "");
    if (copy) hb_printf(w->out, "if (p%d) ", part);
    hb_printf(w->out, "store(p%d, i, t%d);\n", part, part);
}

static void put_pointers(writer *w)
{
    for (int i = 0; i < w->s.n; i++) {
        const struct syn_part *x = &w->s.part[i];
        if (x->made >= 0 && !x->kept) continue;
        hb_printf(w->out, "    auto p%d = at<%s%s>(g, %d);\n", i, x->made < 0 ? "const " : "",
                  type_of(w, i), i);
    }
}

// --- kernels over elements ---

static void put_elements(writer *w)
{
    bool places = false;
    for (int i = 0; i < w->s.n; i++) {
        places = places || w->s.part[i].shape == SYN_ROW || w->s.part[i].shape == SYN_COLUMN;
        if (w->s.part[i].shape == SYN_ONE) put_load(w, i, 4);
    }
    hb_puts(w->out, places ? "    each_entry(g, [&](auto w, i64 i, i64 row, i64 j) {\n"
                           : "    each_element(g, [&](auto w, i64 i) {\n");
    for (int i = 0; i < w->s.n; i++)
        if (w->s.part[i].made < 0 && w->s.part[i].shape != SYN_ONE) put_load(w, i, 8);
    for (int m = 0; m < w->g->len; m++)
        put_value(w, m, 8);
    for (int i = 0; i < w->s.n; i++)
        if (w->s.part[i].kept) put_store(w, i, 8);
    hb_puts(w->out, "    });\n");
}

// --- kernels over rows ---

static bool of_row(const writer *w, int part)
{
    return w->s.part[part].shape == SYN_ROW || w->s.part[part].shape == SYN_ONE;
}

// Marks what a value of the row's entries is computed from.
static void need(const writer *w, int part, bool *wanted)
{
    int m = w->s.part[part].made;
    if (wanted[part]) return;
    wanted[part] = true;
    for (int i = 0; m >= 0 && !w->held[part] && !of_row(w, part) && i < member(w, m)->n_in; i++)
        need(w, w->in[m][i], wanted);
}

static bool all_known(const writer *w, int m)
{
    bool known = true;
    for (int i = 0; i < member(w, m)->n_in; i++)
        known = known && (!of_row(w, w->in[m][i]) || w->known[w->in[m][i]]);
    return known;
}

// What can be said of the row before the pass: EACH of its own values, and the objects of ROWS.
static void before_pass(writer *w)
{
    for (int m = 0; m < w->g->len; m++) {
        int part = w->made[m][0];
        if (!all_known(w, m) || adds(w, m)) continue;
        if (is_rows(w, m) && !w->ready[m]) {
            w->ready[m] = true;
            hb_printf(w->out, "    const op::%s o%d(r", row_of(w, m)->name, m);
            put_operands(w, m, true, 1);
            put_attrs(w, m);
            hb_puts(w->out, ");\n");
        }
        if (!is_rows(w, m) && of_row(w, part) && !w->known[part]) {
            w->known[part] = true;
            put_value(w, m, 4);
        }
    }
}

static void find_wanted(const writer *w, int pass, bool last, bool *wanted)
{
    for (int m = 0; m < w->g->len; m++)
        for (int i = 0; i < member(w, m)->n_in; i++)
            if (reduces(w, m) && w->level[w->made[m][0]] == pass + 1) need(w, w->in[m][i], wanted);
    for (int i = 0; i < w->s.n && last; i++)
        if (w->s.part[i].kept && !of_row(w, i)) need(w, i, wanted);
}

// Which of the values wanted in this pass a later one wants, too, and is to find in registers.
static void find_held(const writer *w, int pass, int last, const bool *wanted, bool *held)
{
    bool later[SYN_MAX_PARTS] = {false};
    for (int k = pass + 1; k <= last && w->s.slots; k++)
        find_wanted(w, k, k == last, later);
    for (int i = 0; i < w->s.n; i++) {
        const int m = w->s.part[i].made;
        held[i] = wanted[i] && later[i] && m >= 0 && !w->held[i] && !of_row(w, i) &&
                  row_of(w, m)->flags & (IR_ROWS | IR_RANDOM);
    }
}

// Of the row's entries: what member m makes of them, or adds them to.
static void put_member(writer *w, int m, int pass, bool last, const bool *wanted, const bool *held)
{
    int part = w->made[m][0];
    if (adds(w, m)) {
        if (last) hb_printf(w->out, "            a%d.add(slot, t%d);\n", part, w->in[m][0]);
    } else if (reduces(w, m)) {
        if (w->level[part] != pass + 1) return;
        hb_printf(w->out, "            o%d.add(", m);
        for (int o = 0; o < member(w, m)->n_out; o++)
            hb_printf(w->out, "%sa%d.v", o ? ", " : "", w->made[m][o]);
        put_operands(w, m, false, 1);
        hb_puts(w->out, ");\n");
    } else if (wanted[part] && !of_row(w, part)) {
        if (w->held[part])
            hb_printf(w->out, "            auto t%d = h%d[slot];\n", part, part);
        else
            put_value(w, m, 12);
        if (held[part]) hb_printf(w->out, "            h%d[slot] = t%d;\n", part, part);
    }
}

// What the pass has made of the whole row.
static void put_totals(writer *w, int pass)
{
    for (int m = 0; m < w->g->len; m++)
        for (int o = 0; reduces(w, m) && o < member(w, m)->n_out; o++) {
            int part = w->made[m][o];
            if (w->level[part] != pass + 1) continue;
            bool round = w->p->tensors.p[w->s.part[part].buffer].dtype != IR_F32;
            if (round)
                hb_printf(w->out, "    float t%d = as<%s>(total(a%d));\n", part, type_of(w, part),
                          part);
            else
                hb_printf(w->out, "    float t%d = total(a%d);\n", part, part);
            w->known[part] = true;
        }
}

static void put_pass(writer *w, int pass, int last_pass)
{
    const bool last = pass == last_pass;
    bool wanted[SYN_MAX_PARTS] = {false}, held[SYN_MAX_PARTS];
    find_wanted(w, pass, last, wanted);
    find_held(w, pass, last_pass, wanted, held);
    for (int m = 0; m < w->g->len; m++)
        for (int o = 0; o < member(w, m)->n_out; o++)
            if (reduces(w, m) && w->level[w->made[m][0]] == pass + 1)
                hb_printf(w->out, "    %s a%d;\n",
                          row_of(w, m)->reducers[o] == 'm' ? "most" : "sum", w->made[m][o]);
    for (int i = 0; i < w->s.n; i++)
        if (held[i]) hb_printf(w->out, "    vec<8> h%d[%d];\n", i, w->s.slots);
    hb_puts(w->out, "    if (r.here)\n        ");
    if (w->s.slots)
        hb_printf(w->out, "each_slot<%d>(r, [&](auto w, i64 i, i64 j, int slot) {\n", w->s.slots);
    else
        hb_puts(w->out, "each_of(r, [&](auto w, i64 i, i64 j) {\n");
    for (int i = 0; i < w->s.n; i++)
        if (wanted[i] && w->s.part[i].made < 0 && !of_row(w, i)) put_load(w, i, 12);
    for (int m = 0; m < w->g->len; m++)
        put_member(w, m, pass, last, wanted, held);
    for (int i = 0; i < w->s.n && last; i++)
        if (w->s.part[i].kept && w->s.part[i].shape == SYN_FULL) put_store(w, i, 12);
    hb_puts(w->out, "        });\n");
    for (int i = 0; i < w->s.n; i++)
        w->held[i] = w->held[i] || held[i];
    put_totals(w, pass);
}

static void put_rows(writer *w)
{
    int last = 0, stats = 0;
    hb_puts(w->out, w->s.slots ? "    const row r(g, turn);\n" : "    const row r(g);\n");
    for (int i = 0; i < w->s.n; i++) {
        const struct syn_part *x = &w->s.part[i];
        if (x->made >= 0 && x->kept && !of_row(w, i) && w->level[i] > last) last = w->level[i];
        stats += x->kept && of_row(w, i);
        if (x->made >= 0 || !of_row(w, i)) continue;
        put_load(w, i, 4);
        w->known[i] = true;
    }
    for (int m = 0; m < w->g->len; m++)
        if (reduces(w, m) && w->level[w->made[m][0]] - 1 > last) last = w->level[w->made[m][0]] - 1;
    for (int pass = 0; pass <= last; pass++) {
        before_pass(w);
        put_pass(w, pass, last);
    }
    before_pass(w);
    if (stats == 0) return;
    hb_puts(w->out, "    row_done();\n    if (r.here && r.leads()) {\n");
    for (int i = 0; i < w->s.n; i++)
        if (w->s.part[i].kept && of_row(w, i))
            hb_printf(w->out, "        store_one(p%d, r.at, t%d);\n", i, i);
    hb_puts(w->out, "    }\n");
}

// The same for each of the rows that a row of the sum is of.
static void put_turns(writer *w)
{
    hb_buf *out = w->out, body = {.arena = out->arena};
    int sum = 0;
    while (w->s.part[sum].shape != SYN_ADDED)
        sum++;
    hb_printf(out, "    added<%d> a%d;\n    for (i64 turn = 0; turn < g.turns; turn++) {\n",
              w->s.slots, sum);
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
    writer w = {.out = out, .p = p, .g = g};
    look(&w);
    hb_printf(out, "\n// k%d:", g->kernel + 1);
    for (int m = 0; m < g->len; m++)
        hb_printf(out, "%s %s", m ? "," : "", row_of(&w, m)->name);
    hb_printf(out, " (%.*s", HB_ARG(emit_module(out->arena, p->g, member(&w, g->len - 1)->node)));
    if (count > 1) hb_printf(out, " and %d more", count - 1);
    hb_puts(out, ")\n");
    hb_printf(out, "%s(k%d,\n           ", w.s.rows ? "HAP_ROW_KERNEL" : "HAP_KERNEL",
              g->kernel + 1);
    put_text(out, syn_fusion_text(out->arena, p, g));
    hb_puts(out, ")\n{\n");
    put_pointers(&w);
    if (w.s.slots)
        put_turns(&w);
    else if (w.s.rows)
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
        "outputs), p its memory, o\n// an op over rows, a what it adds up. A fusion that does "
        "not read as its text runs op by op.\n\n#include \"hap/kernels.cuh\"\n",
        HB_ARG(version));
    for (int kernel = 0; kernel <= most; kernel++) {
        const syn_program *of = NULL;
        int count = 0;
        const syn_fusion *first = first_of(p, n, kernel, &of, &count);
        if (first) put_kernel(out, of, first, count);
    }
    return true;
}
