#include "synth/plan/fusion_parts.h"

#include <string.h>

#include "ir/formula.h"
#include "ir/runtime_limits.h"

// --- shapes beside a domain ---

static const ir_tensor *value_of(const syn_program *p, int buffer)
{
    return &p->g->tensors.p[p->tensors.p[buffer].value];
}

// Dims d of x and e of y (-1: none) are cut alike.
static bool cut_alike(const syn_program *p, int x, int d, int y, int e)
{
    for (int a = 0; a < p->mesh->n_axes; a++) {
        const syn_axis_state *s = &p->tensors.p[x].state.ax[a], *t = &p->tensors.p[y].state.ax[a];
        bool one = d >= 0 && s->kind == SYN_S && s->dim == d;
        bool two = e >= 0 && t->kind == SYN_S && t->dim == e;
        if (one != two || (one && (s->pos != t->pos || s->cut != t->cut))) return false;
    }
    return true;
}

// The first n dims of both are the same, on every rank.
static bool alike(const syn_program *p, int x, int y, int n)
{
    const ir_tensor *v = value_of(p, x), *w = value_of(p, y);
    for (int d = 0; d < n; d++)
        if (v->dim[d] != w->dim[d] || !cut_alike(p, x, d, y, d)) return false;
    return true;
}

static bool is_full(const syn_program *p, int domain, int t)
{
    int rank = value_of(p, domain)->rank;
    return value_of(p, t)->rank == rank && alike(p, domain, t, rank);
}

// keeps: the last dim is there, with one entry.
static bool is_row(const syn_program *p, int domain, int t, bool keeps)
{
    const ir_tensor *v = value_of(p, domain), *w = value_of(p, t);
    int rows = v->rank - 1;
    if (w->rank != rows + keeps || (keeps && w->dim[rows] != 1)) return false;
    return alike(p, domain, t, rows);
}

static bool is_column(const syn_program *p, int domain, int t)
{
    const ir_tensor *v = value_of(p, domain), *w = value_of(p, t);
    if (w->rank < 1 || w->rank > v->rank || w->dim[w->rank - 1] != v->dim[v->rank - 1])
        return false;
    for (int d = 0; d + 1 < w->rank; d++)
        if (w->dim[d] != 1) return false;
    return cut_alike(p, domain, v->rank - 1, t, w->rank - 1);
}

// The domain's last dims, two or more; it has no others, or they have one entry.
static bool is_tail(const syn_program *p, int domain, int t)
{
    const ir_tensor *v = value_of(p, domain), *w = value_of(p, t);
    int off = v->rank - w->rank, d = 0;
    if (off < 0) return false;
    while (d < w->rank && w->dim[d] == 1)
        d++;
    for (int k = d; k < w->rank; k++)
        if (w->dim[k] != v->dim[off + k] || !cut_alike(p, domain, off + k, t, k)) return false;
    return w->rank - d >= 2;
}

static bool place(syn_parts *s, int buffer, syn_shape shape, int made)
{
    for (int i = 0; i < s->n; i++)
        if (s->part[i].buffer == buffer) return s->part[i].shape == shape;
    if (s->n == SYN_MAX_PARTS) return false;
    s->part[s->n++] = (struct syn_part){buffer, shape, made, false, false};
    return true;
}

// --- members ---

static bool type_fits(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16 || t == IR_BOOL;
}

static bool starts_domain(const syn_program *p, syn_parts *s, int buffer)
{
    if (s->domain >= 0) return is_full(p, s->domain, buffer);
    const ir_tensor *v = value_of(p, buffer);
    s->domain = buffer;
    return v->rank > 0 && ir_elements(v) > 1;
}

// Elements of one shape; operands repeat along the dims they lack.
static bool each_fits(const syn_program *p, syn_parts *s, const syn_instr *in, int member)
{
    int out = in->out[0];
    bool row = s->rows && s->domain >= 0 && !is_full(p, s->domain, out) &&
               (is_row(p, s->domain, out, false) || is_row(p, s->domain, out, true));
    if (!row && !starts_domain(p, s, out)) return false;
    for (int i = 0; i < in->n_in; i++) {
        int t = in->in[i];
        if (t < 0) return false;
        bool one = ir_elements(value_of(p, t)) == 1;
        syn_shape shape = one                          ? SYN_ONE
                          : row                        ? SYN_ROW
                          : is_full(p, s->domain, t)   ? SYN_FULL
                          : is_column(p, s->domain, t) ? SYN_COLUMN
                          : is_tail(p, s->domain, t)   ? SYN_TAIL
                                                       : SYN_ROW;
        if (shape == SYN_ROW && (row ? value_of(p, t)->rank != value_of(p, out)->rank ||
                                           !alike(p, out, t, value_of(p, t)->rank)
                                     : !is_row(p, s->domain, t, true)))
            return false;
        if (!place(s, t, shape, -1)) return false;
    }
    return place(s, out, row ? SYN_ROW : SYN_FULL, member);
}

static bool operand_fits(const syn_program *p, syn_parts *s, const ir_foperand *o, int t, int made)
{
    if (o->star && o->n == 1) return starts_domain(p, s, t) && place(s, t, SYN_FULL, made);
    if (s->domain < 0) return false;
    if (o->star) return is_row(p, s->domain, t, false) && place(s, t, SYN_ROW, made);
    return is_column(p, s->domain, t) && place(s, t, SYN_COLUMN, made);
}

// Rows of the last dim, by the formula: "*c" the domain, "*" its rows, "c" its columns.
static bool rows_fit(const syn_program *p, syn_parts *s, const syn_instr *in, int member)
{
    const ir_formula *f = ir_node_formula(&p->g->nodes.p[in->node]);
    for (int i = 0; i < in->n_in; i++)
        if (in->in[i] < 0 || !operand_fits(p, s, &f->in[i], in->in[i], -1)) return false;
    for (int i = 0; i < in->n_out; i++)
        if (!operand_fits(p, s, &f->out[i], in->out[i], member)) return false;
    s->rows = true;
    const ir_tensor *v = value_of(p, s->domain);
    return v->dim[v->rank - 1] <= SYN_FUSE_ROW;
}

// Vectors of a row for each thread that takes it (cuda_row_threads), at most.
static int slots_of(int64_t cols)
{
    const int threads = cols <= IR_CUDA_WARP_COLUMNS     ? 32
                        : cols <= IR_CUDA_MIDDLE_COLUMNS ? IR_CUDA_MIDDLE_THREADS
                                                         : IR_CUDA_ROW_THREADS;
    return cols < 8 ? 1 : (int)((cols / 8 + threads - 1) / threads);
}

static bool is_cut(const syn_program *p, int buffer, int dim)
{
    for (int a = 0; a < p->mesh->n_axes; a++)
        if (p->tensors.p[buffer].state.ax[a].kind == SYN_S &&
            p->tensors.p[buffer].state.ax[a].dim == dim)
            return true;
    return false;
}

// A sum over the domain's leading dims of what a member makes. The runtime adds in another order
// where the sum has few entries (cuda_adds_in_turn).
static bool sum_fits(const syn_program *p, syn_parts *s, const syn_instr *in, int member)
{
    if (!s->rows || s->norm || s->adds || p->tensors.p[in->in[0]].dtype != IR_F32 ||
        p->tensors.p[in->out[0]].dtype != IR_F32)
        return false;
    const ir_node *n = &p->g->nodes.p[in->node];
    const ir_tensor *v = value_of(p, s->domain), *w = value_of(p, in->out[0]);
    const int lead = n->attr[0].n, last = v->rank - 1, off = v->rank - w->rank;
    bool made = false;
    for (int i = 0; i < s->n; i++)
        made |=
            s->part[i].buffer == in->in[0] && s->part[i].made >= 0 && s->part[i].shape == SYN_FULL;
    if (!made || lead == 0 || lead >= last || is_cut(p, s->domain, last)) return false;
    int64_t rows = 1;
    for (int d = 0; d < lead; d++) {
        if (n->attr[0].v[d] != d) return false;
        rows *= v->dim[d];
    }
    for (int d = lead; d <= last; d++)
        if (v->dim[d] != w->dim[d - off] || !cut_alike(p, s->domain, d, in->out[0], d - off))
            return false;
    s->adds = true;
    return v->dim[last] % 8 == 0 && rows > 1 && rows <= IR_CUDA_ADDED_ROWS &&
           ir_elements(w) >= IR_CUDA_ADDED_COLUMNS && place(s, in->out[0], SYN_ADDED, member);
}

bool syn_may_fuse(const syn_program *p, const syn_instr *in)
{
    if (in->kind != SYN_OP || p->g->nodes.p[in->node].adds) return false; // a sum grows in place
    const ir_op_info *op = ir_op_of(p->g->nodes.p[in->node].op);
    return (op->flags & (IR_EACH | IR_ROWS)) != 0 || op->role == IR_ROLE_columns;
}

bool syn_parts_take(const syn_program *p, syn_parts *s, const syn_instr *in, int member)
{
    syn_parts next = *s;
    for (int i = 0; i < in->n_in; i++)
        if (in->in[i] >= 0 && !type_fits(p->tensors.p[in->in[i]].dtype)) return false;
    for (int i = 0; i < in->n_out; i++)
        if (!type_fits(p->tensors.p[in->out[i]].dtype)) return false;
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < in->n_out; k++)
            if (in->out[k] == s->part[i].buffer) return false; // written in place
    const ir_op_info *op = ir_op_of(p->g->nodes.p[in->node].op);
    if (op->role == IR_ROLE_gradient) next.norm = true;
    if (next.norm && next.adds) return false;
    if (!(op->role == IR_ROLE_columns ? sum_fits(p, &next, in, member)
          : op->flags & IR_EACH       ? each_fits(p, &next, in, member)
                                      : rows_fit(p, &next, in, member)))
        return false;
    *s = next;
    return true;
}

bool syn_parts_share(const syn_parts *s, const syn_instr *in)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < in->n_in && s->part[i].shape <= SYN_ROW; k++)
            if (in->in[k] == s->part[i].buffer) return true;
    return false;
}

void syn_fusion_parts(const syn_program *p, const syn_fusion *g, syn_parts *out)
{
    *out = (syn_parts){.domain = -1};
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &p->instr.p[g->first + m];
        bool fits = syn_parts_take(p, out, in, m);
        hb_assert(fits);
        for (int o = 0; o < in->n_out; o++)
            for (int i = 0; i < out->n; i++)
                if (out->part[i].buffer == in->out[o]) out->part[i].kept = g->kept[m] >> o & 1;
    }
    for (int i = 0; out->adds && i < out->n; i++)
        for (int k = 0; k < out->n; k++)
            if (out->part[i].shape == SYN_TAIL && out->part[k].shape == SYN_ADDED)
                out->part[i].repeats = ir_elements(value_of(p, out->part[i].buffer)) ==
                                       ir_elements(value_of(p, out->part[k].buffer));
    const ir_tensor *v = value_of(p, out->domain);
    if (!out->rows || is_cut(p, out->domain, v->rank - 1)) return;
    out->slots = slots_of(v->dim[v->rank - 1]);
    out->ragged = v->dim[v->rank - 1] % 8 != 0;
}

hb_str syn_fusion_text(hb_arena *a, const syn_program *p, const syn_fusion *g)
{
    static const char *const shapes[] = {"full", "row", "column", "one", "tail", "added"};
    hb_buf b = {.arena = a};
    syn_parts s;
    int seen = 0;
    syn_fusion_parts(p, g, &s);
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &p->instr.p[g->first + m];
        const ir_node *n = &p->g->nodes.p[in->node];
        const ir_op_info *row = ir_op_of(n->op);
        hb_printf(&b, "%s%s", m ? "; " : "", row->name);
        for (int k = 0; k < row->n_attr; k++)
            if (row->attr[k].kind == IR_ATTR_BOOL)
                hb_printf(&b, ".%d=%lld", k, (long long)n->attr[k].i);
        for (int k = 0; k < in->n_in + in->n_out; k++) {
            int t = k < in->n_in ? in->in[k] : in->out[k - in->n_in], i = 0;
            while (s.part[i].buffer != t)
                i++;
            hb_printf(&b, "%s%d", k == in->n_in ? " > " : " ", i);
            if (i < seen) continue;
            hb_printf(&b, ":%s", s.part[i].repeats ? "repeat" : shapes[s.part[i].shape]);
            if (t == s.domain && s.slots) hb_printf(&b, "%d%s", s.slots, s.ragged ? "+" : "");
            hb_printf(&b, ":%s%s", ir_dtype_name(p->tensors.p[t].dtype),
                      s.part[i].kept ? ":kept" : "");
            seen = i + 1;
        }
    }
    return hb_done(&b);
}
