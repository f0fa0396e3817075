// The ops of ops.def as data. Parsed once, on first use (ir_graph_new asks for an op, so the table
// is there before any thread of the search starts).

#include "ir/formula.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    ir_flops_kind kind;
    double c;
} flops_field;

// One op as it is written.
typedef struct {
    const char *name, *vjp;
    const char *formula, *attrs, *sizes, *windows, *counted, *dtypes, *linear, *reducers,
        *any_float;
    const char *point, *text, *note;
    flops_field flops;
    ir_role role;
    unsigned flags;
    int min_in, max_in, n_out; // of composites
} source_row;

// clang-format off
#define MOVE     {IR_FLOPS_MOVE, 0}
#define POINT(c) {IR_FLOPS_POINT, c}
#define DENSE(c) {IR_FLOPS_DENSE, c}
#define SDPA(c)  {IR_FLOPS_SDPA, c}
#define CONV(c)  {IR_FLOPS_CONV, c}
#define EXPERTS(c) {IR_FLOPS_EXPERTS, c}
// clang-format on
static const source_row source[IR_N_ALL_OPS] = {
#define OP(op, rule, ...) [IR_OP_##op] = {.name = #op, .vjp = #rule, __VA_ARGS__},
#define COMPOSITE(op, n_in_min, n_in_max, outputs, attributes)                                     \
    [IR_OP_##op] = {.name = #op,                                                                   \
                    .formula = "",                                                                 \
                    .attrs = attributes,                                                           \
                    .dtypes = "f -> 0",                                                            \
                    .vjp = "none",                                                                 \
                    .flags = IR_USER | IR_COMPOSITE,                                               \
                    .min_in = n_in_min,                                                            \
                    .max_in = n_in_max,                                                            \
                    .n_out = outputs},
#include "ir/ops.def"
#undef OP
#undef COMPOSITE
};

const ir_op_info *ir_op_rows;

static struct {
    ir_op_info row[IR_N_ALL_OPS];
    ir_formulas formulas[IR_N_ALL_OPS];
    char text[4096]; // attribute names, operands' dtypes
    size_t n_text;
} table;

static const char *keep(const char *p, size_t n)
{
    hb_assert(table.n_text + n + 1 <= sizeof table.text);
    char *s = table.text + table.n_text;
    memcpy(s, p, n);
    s[n] = 0;
    table.n_text += n + 1;
    return s;
}

static ir_attr_kind attr_kind(char c)
{
    switch (c) {
    case 'i':
        return IR_ATTR_INT;
    case 'f':
        return IR_ATTR_REAL;
    case 'b':
        return IR_ATTR_BOOL;
    case 'd':
        return IR_ATTR_DTYPE;
    default:
        hb_assert(c == 'I');
        return IR_ATTR_INTS;
    }
}

// "eps:f=1e-5 causal:b=false"
static void parse_attrs(ir_op_info *r, const char *p)
{
    while (p && *p) {
        p += strspn(p, " ");
        size_t n = strcspn(p, ":");
        hb_assert(p[n] == ':' && r->n_attr < IR_MAX_ATTR);
        int k = r->n_attr++;
        r->attr[k].name = keep(p, n);
        r->attr[k].kind = r->attr[k].value.kind = attr_kind(p[n + 1]);
        p += n + 2;
        if (*p == '=') {
            r->attr[k].has_default = true;
            ir_attr *v = &r->attr[k].value;
            if (v->kind == IR_ATTR_INT)
                v->i = strtoll(p + 1, NULL, 10);
            else if (v->kind == IR_ATTR_REAL)
                v->f = strtod(p + 1, NULL);
            else if (v->kind == IR_ATTR_BOOL)
                v->i = strncmp(p + 1, "true", 4) == 0;
            else
                hb_assert(false);
        }
        p += strcspn(p, " ");
    }
}

static void set_arity(ir_op_info *r, const ir_formulas *f)
{
    if (f->n > 0) {
        r->max_in = f->alt[0].n_in;
        r->n_out = f->alt[0].n_out;
        for (int i = 0; i < r->max_in; i++)
            r->min_in += !f->alt[0].in[i].optional;
        return;
    }
    r->list_in = strcmp(f->rule, "concat") == 0;
    r->list_out = strcmp(f->rule, "split") == 0;
    r->n_out = 1;
    r->min_in = strcmp(f->rule, "full") != 0;
    r->max_in = r->list_in ? IR_MAX_IN : r->min_in;
}

// Leading dims that both begin with, one letter each.
static int same_dims(const ir_foperand *x, const ir_foperand *y)
{
    int d = 0;
    while (d < x->n && d < y->n && x->dim[d].n == 1 && y->dim[d].n == 1 &&
           x->dim[d].letter[0] == y->dim[d].letter[0])
        d++;
    return d;
}

// Does the operand hold a letter of x's first `lead` dims?
static bool holds_any(const ir_foperand *o, const ir_foperand *x, int lead)
{
    for (int d = 0; d < o->n; d++)
        for (int k = 0; k < o->dim[d].n; k++)
            for (int i = 0; i < lead; i++)
                if (o->dim[d].letter[k] == x->dim[i].letter[0]) return true;
    return false;
}

// Leading dims of operand 0, all but its last, are those of the output.
static bool dense_rows(const ir_formula *f)
{
    const ir_foperand *x = &f->in[0], *y = &f->out[0];
    return x->star == y->star && x->n == y->n && x->n > 0 && same_dims(x, y) >= x->n - 1;
}

// As many leading dims as operand 0 and the output begin with, and every other operand begins with,
// too, or has none of. Returns their number, 0: rows do not become rows. What broadcasts (*) has
// no rows of its own.
static int expert_rows(const ir_formula *f, unsigned *along)
{
    const ir_foperand *x = &f->in[0], *y = &f->out[0];
    if (x->star || y->star || x->n != y->n) return 0;
    for (int lead = same_dims(x, y) < x->n ? same_dims(x, y) : x->n - 1; lead > 0; lead--) {
        bool fit = true;
        *along = 0;
        for (int i = 1; i < f->n_in; i++) {
            bool begins = same_dims(x, &f->in[i]) >= lead;
            fit = fit && !f->in[i].star && (begins || !holds_any(&f->in[i], x, lead));
            *along |= (unsigned)begins << i;
        }
        if (fit) return lead;
    }
    return 0;
}

static void find_rows(ir_op_info *r, const ir_formulas *f)
{
    r->row_dims = 1;
    for (int a = 0; a < f->n; a++) {
        bool by_rows = false;
        if (r->flops_kind == IR_FLOPS_DENSE) by_rows = dense_rows(&f->alt[a]);
        if (r->flops_kind == IR_FLOPS_EXPERTS) {
            unsigned along = 0;
            int lead = expert_rows(&f->alt[a], &along), dims = f->alt[a].in[0].n - lead;
            hb_assert(a == 0 || !r->by_rows == !lead);
            hb_assert(!r->by_rows || (dims == r->row_dims && along == r->along));
            by_rows = lead > 0;
            if (by_rows) r->row_dims = dims, r->along = along;
        }
        r->by_rows |= (unsigned)by_rows << a;
    }
}

// Operands "ac": a, b, … or, the only one, x.
static unsigned operands(const ir_op_info *r, const char *letters, size_t n)
{
    unsigned bits = 0;
    for (size_t k = 0; letters && k < n; k++) {
        int i = r->max_in == 1 && letters[k] == 'x' ? 0 : letters[k] - 'a';
        hb_assert(i >= 0 && i < r->max_in);
        bits |= 1u << i;
    }
    return bits;
}

// "ab -> y y1"
static void parse_any_float(ir_op_info *r, const char *p)
{
    if (!p) return;
    const char *out = strstr(p, " ->");
    hb_assert(out);
    r->any_float.in = operands(r, p, (size_t)(out - p));
    for (p = out + strlen(" ->"); strncmp(p, " y", 2) == 0;) {
        p += strlen(" y");
        int i = *p >= '1' && *p <= '9' ? *p++ - '0' : 0;
        hb_assert(i < r->n_out);
        r->any_float.out |= 1u << i;
    }
    hb_assert(*p == 0);
}

static void parse_formula(ir_op_info *r, const source_row *s, ir_formulas *f)
{
    static const char none[] = "--------";
    ir_formula_parse(r->formula, f);
    if (s->windows) ir_windows_parse(s->windows, f);
    if (s->sizes) ir_sizes_parse(s->sizes, r, f);
    for (const char *c = s->counted; c && *c; c++)
        f->counted |= 1u << (*c - 'a');
    set_arity(r, f);
    find_rows(r, f);
    r->reducers = s->reducers ? s->reducers : none + sizeof none - 1 - r->n_out;
    hb_assert((int)strlen(r->reducers) == r->n_out && (int)strlen(r->dtypes) == r->n_out);
    r->linear = operands(r, s->linear, s->linear ? strlen(s->linear) : 0);
    parse_any_float(r, s->any_float);
}

static void build(void)
{
    for (int op = 0; op < IR_N_ALL_OPS; op++) {
        if (op == IR_N_OPS) continue; // the enumerator between ops and composites names nothing
        ir_op_info *r = &table.row[op];
        const source_row *s = &source[op];
        hb_assert(s->formula && s->dtypes);
        r->name = s->name;
        r->formula = s->formula;
        r->dtypes = strstr(s->dtypes, " -> ") + strlen(" -> ");
        r->reads = keep(s->dtypes, strcspn(s->dtypes, " "));
        r->flops_kind = s->flops.kind;
        r->flops = s->flops.c;
        r->vjp = s->vjp;
        r->role = s->role;
        r->flags = s->flags;
        r->point = s->point;
        r->text = s->text;
        r->note = s->note;
        parse_attrs(r, s->attrs);
        if (r->flags & IR_COMPOSITE) {
            r->min_in = s->min_in;
            r->max_in = s->max_in;
            r->n_out = s->n_out;
            r->reducers = "-";
        } else {
            parse_formula(r, s, &table.formulas[op]);
        }
    }
    ir_op_rows = table.row;
}

const ir_op_info *ir_op_first(ir_op op)
{
    build();
    return ir_op_of(op);
}

const ir_formulas *ir_row_formulas(ir_op op)
{
    ir_op_of(op);
    hb_assert(op < IR_N_OPS);
    return &table.formulas[op];
}

const ir_formula *ir_node_formula(const ir_node *n)
{
    const ir_formulas *f = ir_row_formulas(n->op);
    if (f->n == 0) return NULL;
    if (f->n == 1) return &f->alt[0];
    int64_t pick = n->attr[0].i;
    return pick >= 0 && pick < f->n ? &f->alt[pick] : NULL;
}

bool ir_is_dense(ir_op op)
{
    ir_flops_kind k = ir_op_of(op)->flops_kind;
    return k == IR_FLOPS_DENSE || k == IR_FLOPS_SDPA || k == IR_FLOPS_CONV || k == IR_FLOPS_EXPERTS;
}

bool ir_by_rows(ir_op op, const ir_attr *attr, int rank_x, int rank_w)
{
    const ir_op_info *r = ir_op_of(op);
    int64_t alternative = table.formulas[op].n > 1 ? attr[0].i : 0;
    if (rank_x <= r->row_dims || (r->flops_kind == IR_FLOPS_DENSE && rank_w != 2)) return false;
    if (alternative < 0 || alternative >= IR_MAX_ALTS) return false;
    return r->by_rows >> alternative & 1;
}

int ir_op_parse(hb_str name)
{
    for (int op = 0; op < IR_N_ALL_OPS; op++)
        if (op != IR_N_OPS && hb_str_is(name, source[op].name)) return op;
    return -1;
}

int ir_attr_index(ir_op op, const char *name)
{
    const ir_op_info *r = ir_op_of(op);
    for (int k = 0; k < r->n_attr; k++)
        if (strcmp(r->attr[k].name, name) == 0) return k;
    hb_assert(false && "no such attribute");
    return -1;
}

static const char *const dtype_names[IR_N_DTYPES] = {"f32", "bf16", "f16", "i64",
                                                     "i32", "bool", "u8"};

int64_t ir_dtype_bytes(ir_dtype t)
{
    static const int64_t bytes[IR_N_DTYPES] = {4, 2, 2, 8, 4, 1, 1};
    hb_assert((int)t >= 0 && t < IR_N_DTYPES);
    return bytes[t];
}

const char *ir_dtype_name(ir_dtype t)
{
    hb_assert((int)t >= 0 && t < IR_N_DTYPES);
    return dtype_names[t];
}

bool ir_dtype_parse(hb_str s, ir_dtype *t)
{
    for (int i = 0; i < IR_N_DTYPES; i++) {
        if (hb_str_is(s, dtype_names[i])) {
            *t = (ir_dtype)i;
            return true;
        }
    }
    return false;
}
