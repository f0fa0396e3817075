#include "ir/shapes.h"

#include <string.h>

static const ir_tensor *operand(const ir_graph *g, const ir_node *n, int i)
{
    return &g->tensors.p[n->in[i]];
}

// The dims of an optional mask may be 1 where the formula has a letter.
static bool may_be_one(const ir_foperand *o, int64_t size)
{
    return o->optional && o->n > 1 && size == 1;
}

static bool bind_letter(const ir_node *n, ir_binding *b, int *from, char letter, int64_t size,
                        int i, hb_arena *a, hb_str *why)
{
    int k = letter - 'a';
    if (b->size[k] == 0) {
        b->size[k] = size;
        from[k] = i;
    } else if (b->size[k] != size) {
        *why = hb_fmt(a, "%s: dim %c is %lld in operand %d but %lld in operand %d",
                      ir_op_of(n->op)->name, letter, (long long)b->size[k], from[k] + 1,
                      (long long)size, i + 1);
        return false;
    }
    return true;
}

// Operands' leading dims, aligned right; size 1 broadcasts.
static bool bind_star(const ir_graph *g, const ir_node *n, const ir_formula *f, ir_binding *b,
                      hb_arena *a, hb_str *why)
{
    for (int i = 0; i < n->n_in; i++) {
        int m = operand(g, n, i)->rank - f->in[i].n;
        if (f->in[i].star && m > b->n_star) b->n_star = m;
    }
    for (int d = 0; d < b->n_star; d++)
        b->star[d] = 1;
    for (int i = 0; i < n->n_in; i++) {
        const ir_tensor *t = operand(g, n, i);
        int m = f->in[i].star ? t->rank - f->in[i].n : 0;
        for (int d = 0; d < m; d++) {
            int64_t *have = &b->star[b->n_star - m + d], size = t->dim[d];
            if (*have == 1) {
                *have = size;
            } else if (size != 1 && size != *have) {
                *why = hb_fmt(a, "%s: shapes %.*s and %.*s do not broadcast", ir_op_of(n->op)->name,
                              HB_ARG(ir_shape_text(a, b->n_star, b->star)),
                              HB_ARG(ir_shape_text(a, m, t->dim)));
                return false;
            }
        }
    }
    return true;
}

// Compound dims: once all letters but one are known, the last is the quotient. A known compound is
// checked. Returns false on a mismatch; *open = some compound still has two unknowns.
static bool bind_compounds(const ir_graph *g, const ir_node *n, const ir_formula *f, ir_binding *b,
                           bool *open, hb_arena *a, hb_str *why)
{
    *open = false;
    for (int i = 0; i < n->n_in; i++) {
        const ir_tensor *t = operand(g, n, i);
        for (int d = 0; d < f->in[i].n; d++) {
            const ir_fdim *fd = &f->in[i].dim[d];
            if (fd->n < 2) continue;
            int64_t size = t->dim[t->rank - f->in[i].n + d], known = 1;
            int unknown = -1;
            if (may_be_one(&f->in[i], size)) continue;
            for (int k = 0; k < fd->n; k++) {
                int l = fd->letter[k] - 'a';
                if (b->size[l] > 0) {
                    known *= b->size[l];
                } else if (unknown >= 0) {
                    *open = true;
                    unknown = 26;
                } else {
                    unknown = l;
                }
            }
            if (unknown == 26) continue;
            if (size % known != 0 || (unknown < 0 && size != known)) {
                *why =
                    hb_fmt(a, "%s: dim %d of operand %d is %lld, not %s%lld", ir_op_of(n->op)->name,
                           t->rank - f->in[i].n + d, i + 1, (long long)size,
                           unknown < 0 ? "" : "a multiple of ", (long long)known);
                return false;
            }
            if (unknown >= 0) b->size[unknown] = size / known;
        }
    }
    return true;
}

// Letters whose sizes attributes say: embedding_bwd's vocabulary, the capacity of an expert.
static bool bind_given(const ir_node *n, ir_binding *b, hb_arena *a, hb_str *why)
{
    const ir_formulas *f = ir_row_formulas(n->op);
    const ir_op_info *r = ir_op_of(n->op);
    for (int i = 0; i < f->n_given; i++) {
        const ir_attr *v = &n->attr[f->given[i].attr];
        const char *name = r->attr[f->given[i].attr].name;
        if (f->given[i].of && v->n != f->given[i].of) {
            *why = hb_fmt(a, "%s: %s has %d entries, not %d", r->name, name, v->n, f->given[i].of);
            return false;
        }
        int64_t size = f->given[i].of ? v->v[f->given[i].entry] : v->i;
        if (size < 1) {
            *why =
                hb_fmt(a, "%s: %s is %lld (sizes are at least 1)", r->name, name, (long long)size);
            return false;
        }
        b->size[f->given[i].letter - 'a'] = size;
    }
    return true;
}

bool ir_bind(const ir_graph *g, const ir_node *n, ir_binding *b, hb_arena *a, hb_str *why)
{
    const ir_formula *f = ir_node_formula(n);
    memset(b, 0, sizeof *b);
    if (!f) {
        *why = hb_fmt(a, "%s: %s = %lld is out of range", ir_op_of(n->op)->name,
                      ir_op_of(n->op)->attr[0].name, (long long)n->attr[0].i);
        return false;
    }
    int from[26] = {0};
    for (int i = 0; i < n->n_in; i++) {
        const ir_tensor *t = operand(g, n, i);
        const ir_foperand *o = &f->in[i];
        if (t->rank < o->n || (!o->star && t->rank != o->n)) {
            *why = hb_fmt(a, "%s: operand %d has shape %.*s but must have %s%d dim%s",
                          ir_op_of(n->op)->name, i + 1, HB_ARG(ir_shape_text(a, t->rank, t->dim)),
                          o->star ? "at least " : "", o->n, o->n == 1 ? "" : "s");
            return false;
        }
        for (int d = 0; d < o->n; d++)
            if (o->dim[d].n == 1 && !may_be_one(o, t->dim[t->rank - o->n + d]) &&
                !bind_letter(n, b, from, o->dim[d].letter[0], t->dim[t->rank - o->n + d], i, a,
                             why))
                return false;
    }
    if (!bind_given(n, b, a, why)) return false;
    bool open = true;
    for (int pass = 0; open && pass < 3; pass++)
        if (!bind_compounds(g, n, f, b, &open, a, why)) return false;
    hb_assert(!open);
    return ir_bind_windows(n, b, a, why) && bind_star(g, n, f, b, a, why);
}

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

static bool is_int(ir_dtype t)
{
    return t == IR_I64 || t == IR_I32;
}

static bool check_dtypes(const ir_graph *g, const ir_node *n, hb_arena *a, hb_str *why)
{
    const char *kinds = ir_op_of(n->op)->reads;
    int first = -1, n_kinds = (int)strlen(kinds);
    if (strchr(ir_op_of(n->op)->dtypes, 'a') && n->attr[ir_attr_index(n->op, "dtype")].i == IR_U8) {
        *why = hb_fmt(a, "%s: nothing makes u8, which is for inputs", ir_op_of(n->op)->name);
        return false;
    }
    for (int i = 0; i < n->n_in; i++) {
        ir_dtype t = operand(g, n, i)->dtype;
        char k = kinds[i < n_kinds ? i : n_kinds - 1];
        const char *want = NULL;
        if ((k == 'f' || k == 'F') && !is_float(t))
            want = "a float";
        else if (k == 'i' && !is_int(t))
            want = "i64 or i32";
        else if (k == 'b' && t != IR_BOOL)
            want = "bool";
        else if ((k == 'n' || k == 'N') && t == IR_BOOL)
            want = "a number";
        else if (t == IR_U8 && k != '.')
            want = "of another dtype (insert a cast)";
        else if (k == 'm' && t != IR_BOOL && !is_float(t))
            want = "bool or a float";
        if (want) {
            *why = hb_fmt(a, "%s: operand %d is %s but must be %s", ir_op_of(n->op)->name, i + 1,
                          ir_dtype_name(t), want);
            return false;
        }
        if (k == 'F' || k == 'N' || k == '*') {
            if (first < 0) first = i;
            ir_dtype other = operand(g, n, first)->dtype;
            if (t != other) {
                *why = hb_fmt(a, "%s: operand %d is %s but operand %d is %s (insert a cast)",
                              ir_op_of(n->op)->name, i + 1, ir_dtype_name(t), first + 1,
                              ir_dtype_name(other));
                return false;
            }
        }
    }
    return true;
}

static ir_dtype out_dtype(const ir_graph *g, const ir_node *n, int i)
{
    const ir_op_info *r = ir_op_of(n->op);
    char c = r->dtypes[r->list_out ? 0 : i];
    if (c == 'f') return IR_F32;
    if (c == 'w') {
        ir_dtype t = operand(g, n, 0)->dtype;
        return is_float(t) ? IR_F32 : t;
    }
    if (c == 'b') return IR_BOOL;
    if (c == 'i') return IR_I64;
    if (c == 'a') return (ir_dtype)n->attr[ir_attr_index(n->op, "dtype")].i;
    return operand(g, n, c - '0')->dtype;
}

static void put_dim(ir_tensor *t, int64_t size)
{
    hb_assert(t->rank < IR_MAX_RANK);
    t->dim[t->rank++] = size;
}

bool ir_infer(const ir_graph *g, const ir_node *n, ir_tensor *outs, hb_arena *a, hb_str *why)
{
    const ir_op_info *r = ir_op_of(n->op);
    if (n->n_in < r->min_in || n->n_in > r->max_in) {
        *why = hb_fmt(a, "%s: takes %d to %d operands, not %d", r->name, r->min_in, r->max_in,
                      n->n_in);
        return false;
    }
    if (r->flags & IR_COMPOSITE) return ir_infer_composite(g, n, outs, a, why);
    if (!check_dtypes(g, n, a, why)) return false;
    int n_out = ir_node_outs(n);
    if (n_out < 1 || n_out > IR_MAX_OUT) {
        *why =
            hb_fmt(a, "%s: %d outputs, but at most %d are supported", r->name, n_out, IR_MAX_OUT);
        return false;
    }
    for (int i = 0; i < n_out; i++) {
        outs[i].rank = 0;
        outs[i].dtype = out_dtype(g, n, i);
    }
    const ir_formulas *fs = ir_row_formulas(n->op);
    if (fs->rule) return ir_infer_view(g, n, outs, a, why);
    ir_binding b;
    if (!ir_bind(g, n, &b, a, why)) return false;
    const ir_formula *f = ir_node_formula(n);
    bool chooses =
        n->op == IR_OP_top_gates || n->op == IR_OP_top_gates_bwd || n->op == IR_OP_top_index;
    if (chooses && (n->attr[0].i < 1 || n->attr[0].i > b.size['e' - 'a'])) {
        *why = hb_fmt(a, "%s: k = %lld of %lld entries", r->name, (long long)n->attr[0].i,
                      (long long)b.size['e' - 'a']);
        return false;
    }
    if (n->op == IR_OP_rotary && b.size['c' - 'a'] % 2) {
        *why = hb_fmt(a, "%s: rows of %lld entries, an odd number", r->name,
                      (long long)b.size['c' - 'a']);
        return false;
    }
    for (int i = 0; i < n_out; i++) {
        const ir_foperand *o = &f->out[i];
        if ((o->star ? b.n_star : 0) + o->n > IR_MAX_RANK) {
            *why = hb_fmt(a, "%s: more than %d dims", r->name, IR_MAX_RANK);
            return false;
        }
        for (int d = 0; o->star && d < b.n_star; d++)
            put_dim(&outs[i], b.star[d]);
        for (int d = 0; d < o->n; d++) {
            int64_t size = 1;
            for (int k = 0; k < o->dim[d].n; k++)
                size *= b.size[o->dim[d].letter[k] - 'a'];
            if (size < 1) {
                *why = hb_fmt(a, "%s: dim %d of output %d would be %lld", r->name, d, i + 1,
                              (long long)size);
                return false;
            }
            put_dim(&outs[i], size);
        }
    }
    if (r->flags & IR_IN_PLACE) {
        for (int i = 0; i < n_out; i++) {
            const ir_tensor *t = operand(g, n, i);
            if (t->rank != outs[i].rank ||
                memcmp(t->dim, outs[i].dim, sizeof(int64_t) * (size_t)t->rank) != 0) {
                *why = hb_fmt(a, "%s: operand %d must have the gradient's shape", r->name, i + 1);
                return false;
            }
        }
    }
    return true;
}
