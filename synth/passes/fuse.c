// Groups are grown greedily: from an instruction that may begin one, over those behind it in the
// same stretch without communication. One that fits joins if it shares a value with the group and
// nothing that is passed over stands in its way. Time is linear in instructions, REACH at most for
// each.

#include "synth/passes/fuse.h"

#include <stdlib.h>
#include <string.h>

#include "ir/formula.h"

// REACH: instructions behind a group that are looked at. ROW_ENTRIES: longer rows do not stay in a
// multiprocessor's cache from one pass to the next.
enum { REACH = 12, ROW_ENTRIES = 16384 };

typedef struct fuser {
    hb_arena *arena;
    syn_program *p;
    int *uses;    // by buffer: operands that read it in the whole step
    bool *paired; // by instruction
} fuser;

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

static bool place(syn_parts *s, int buffer, syn_shape shape, int made)
{
    for (int i = 0; i < s->n; i++)
        if (s->part[i].buffer == buffer) return s->part[i].shape == shape;
    if (s->n == SYN_MAX_PARTS) return false;
    s->part[s->n++] = (struct syn_part){buffer, shape, made, false};
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
    return v->dim[v->rank - 1] <= ROW_ENTRIES;
}

static bool may_join(const syn_program *p, const syn_instr *in)
{
    if (in->kind != SYN_OP) return false;
    return (ir_row(p->g->nodes.p[in->node].op)->flags & (IR_EACH | IR_ROWS)) != 0;
}

// in becomes member number `member`, or s stays as it is.
static bool joins(const syn_program *p, syn_parts *s, const syn_instr *in, int member)
{
    syn_parts next = *s;
    for (int i = 0; i < in->n_in; i++)
        if (in->in[i] >= 0 && !type_fits(p->tensors.p[in->in[i]].dtype)) return false;
    for (int i = 0; i < in->n_out; i++)
        if (!type_fits(p->tensors.p[in->out[i]].dtype)) return false;
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < in->n_out; k++)
            if (in->out[k] == s->part[i].buffer) return false; // written in place
    bool each = ir_row(p->g->nodes.p[in->node].op)->flags & IR_EACH;
    if (!(each ? each_fits(p, &next, in, member) : rows_fit(p, &next, in, member))) return false;
    bool shares = member == 0;
    for (int i = 0; i < s->n && !shares; i++)
        for (int k = 0; k < in->n_in && s->part[i].shape <= SYN_ROW; k++)
            shares = shares || in->in[k] == s->part[i].buffer;
    if (shares) *s = next;
    return shares;
}

// --- stretches ---

static bool writes(const syn_instr *x, int t)
{
    for (int i = 0; i < x->n_out; i++)
        if (x->out[i] == t) return true;
    return false;
}

static bool in_the_way(const syn_instr *x, const syn_instr *y)
{
    for (int i = 0; i < y->n_in; i++)
        if (y->in[i] >= 0 && writes(x, y->in[i])) return true;
    for (int i = 0; i < y->n_out; i++) {
        if (writes(x, y->out[i])) return true;
        for (int k = 0; k < x->n_in; k++)
            if (x->in[k] == y->out[i]) return true;
    }
    return false;
}

// Groups of the n instructions from `first` on, none of them a collective's. order[k]: which of
// them stands at place k. Returns how many; their places and lengths are in at and len.
static int find_groups(const syn_program *p, int first, int n, int *order, int *at, int *len)
{
    const syn_instr *in = &p->instr.p[first];
    int found = 0;
    for (int k = 0; k < n; k++)
        order[k] = k;
    for (int k = 0; k < n; k++) {
        syn_parts s = {.domain = -1};
        if (!may_join(p, &in[order[k]]) || !joins(p, &s, &in[order[k]], 0)) continue;
        int members = 1;
        for (int j = k + 1; j < n && j <= k + members + REACH && members < SYN_MAX_GROUP; j++) {
            int next = order[j];
            bool free = may_join(p, &in[next]);
            for (int i = k + members; i < j && free; i++)
                free = !in_the_way(&in[order[i]], &in[next]);
            if (!free || !joins(p, &s, &in[next], members)) continue;
            memmove(&order[k + members + 1], &order[k + members],
                    (size_t)(j - k - members) * sizeof *order);
            order[k + members++] = next;
        }
        if (members == 1) continue;
        at[found] = k;
        len[found++] = members;
        k += members - 1;
    }
    return found;
}

static void add_groups(fuser *f, int first, int n, const int *order, int found, const int *at,
                       const int *len)
{
    syn_program *p = f->p;
    syn_instr *old = hb_copy(f->arena, &p->instr.p[first], sizeof *old * (size_t)n);
    for (int k = 0; k < n; k++)
        p->instr.p[first + k] = old[order[k]];
    for (int k = 0; k < found; k++)
        HB_PUSH(p->arena, &p->groups, (syn_group){.first = first + at[k], .len = len[k]});
}

// A stretch of n instructions that stands `count` times, `step` apart: grouped alike, or not.
static void fuse_stretch(fuser *f, int first, int n, int step, int count)
{
    int *order = HB_ARRAY(f->arena, int, n), *at = HB_ARRAY(f->arena, int, n),
        *len = HB_ARRAY(f->arena, int, n), *order_2 = HB_ARRAY(f->arena, int, n),
        *at_2 = HB_ARRAY(f->arena, int, n), *len_2 = HB_ARRAY(f->arena, int, n);
    size_t bytes = sizeof(int) * (size_t)n;
    int found = find_groups(f->p, first, n, order, at, len);
    for (int r = 1; r < count && found > 0; r++) {
        int again = find_groups(f->p, first + r * step, n, order_2, at_2, len_2);
        size_t used = sizeof(int) * (size_t)found;
        if (again != found || memcmp(order, order_2, bytes) != 0 || memcmp(at, at_2, used) != 0 ||
            memcmp(len, len_2, used) != 0)
            return;
    }
    for (int r = 0; r < count && found > 0; r++)
        add_groups(f, first + r * step, n, order, found, at, len);
}

// "transformer.h.3" of "transformer.h.3.ln_1"; empty: in no numbered layer.
static hb_str layer_of(const syn_program *p, int instr)
{
    hb_str s = p->g->nodes.p[p->instr.p[instr].node].name;
    for (size_t i = 0, from = 0; i <= s.n; i++) {
        bool ends = i == s.n || s.p[i] == '.' || s.p[i] == '\'';
        if (!ends) continue;
        bool number = i > from;
        for (size_t k = from; k < i; k++)
            number = number && s.p[k] >= '0' && s.p[k] <= '9';
        if (number) return (hb_str){s.p, i};
        from = i + 1;
    }
    return (hb_str){0};
}

// A name holds its layer's, and no number stands before that.
static bool in_layer(const syn_program *p, int instr, hb_str layer)
{
    hb_str s = p->g->nodes.p[p->instr.p[instr].node].name;
    if (layer.n == 0) return layer_of(p, instr).n == 0;
    return s.n >= layer.n && memcmp(s.p, layer.p, layer.n) == 0 &&
           (s.n == layer.n || s.p[layer.n] == '.' || s.p[layer.n] == '\'');
}

// An op, of no pair.
static bool is_free(const fuser *f, int i)
{
    return f->p->instr.p[i].kind == SYN_OP && !f->paired[i];
}

static void fuse_range(fuser *f, int from, int to, int step, int count)
{
    const syn_program *p = f->p;
    for (int i = from; i < to;) {
        if (!is_free(f, i)) {
            i++;
            continue;
        }
        int first = i++;
        hb_str layer = layer_of(p, first);
        while (i < to && is_free(f, i) && in_layer(p, i, layer))
            i++;
        if (i - first > 1) fuse_stretch(f, first, i - first, step, count);
    }
}

static int by_place(const void *x, const void *y)
{
    const syn_group *a = x, *b = y;
    return a->first - b->first;
}

static void count_uses(fuser *f)
{
    const syn_program *p = f->p;
    f->uses = HB_ARRAY(f->arena, int, p->tensors.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        for (int k = 0; k < p->instr.p[i].n_in; k++)
            if (p->instr.p[i].in[k] >= 0) f->uses[p->instr.p[i].in[k]]++;
    for (int t = 0; t < p->g->tensors.n; t++)
        if (p->keep_grads && p->grad[t] >= 0) f->uses[p->grad[t]]++;
    if (p->loss >= 0) f->uses[p->loss]++;
}

static void find_kept(fuser *f, syn_group *g)
{
    const syn_program *p = f->p;
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &p->instr.p[g->first + m];
        for (int o = 0; o < in->n_out; o++) {
            int left = f->uses[in->out[o]];
            bool home = p->tensors.p[in->out[o]].role != SYN_ROLE_VALUE;
            for (int k = m + 1; k < g->len; k++)
                for (int i = 0; i < p->instr.p[g->first + k].n_in; i++)
                    left -= p->instr.p[g->first + k].in[i] == in->out[o];
            if (left > 0 || home) g->kept[m] |= (uint8_t)(1u << o);
        }
    }
}

// What one repetition keeps, all keep.
static void keep_alike(syn_program *p)
{
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *loop = &p->loops.p[l];
        for (int pass = 0; pass < 2; pass++) // gathers in the first repetition, spreads from it
            for (int g = 0; g < p->groups.n; g++) {
                syn_group *x = &p->groups.p[g], *y = x;
                int off = x->first - loop->first;
                if (off < 0 || off >= loop->len * loop->count) continue;
                while (y->first > loop->first + off % loop->len)
                    y--;
                for (int m = 0; m < x->len; m++)
                    *(pass ? &x->kept[m] : &y->kept[m]) |= pass ? y->kept[m] : x->kept[m];
            }
    }
}

void syn_name_kernels(syn_program *p)
{
    hb_arena *a = hb_arena_new();
    hb_map *known = hb_map_new(a);
    int n = 0;
    for (int g = 0; g < p->groups.n; g++) {
        hb_str text = syn_group_text(a, p, &p->groups.p[g]);
        int k = hb_map_get(known, text);
        if (k < 0) hb_map_put(known, text, k = n++);
        p->groups.p[g].kernel = k;
    }
    hb_arena_free(a);
}

static bool any_gpu(const syn_program *p)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (p->cluster->cls[p->mesh->cluster_class[c]].kind == CL_GPU) return true;
    return false;
}

void syn_fuse(syn_program *p)
{
    p->groups.n = 0;
    if (!any_gpu(p)) return;
    fuser f = {.arena = hb_arena_new(), .p = p};
    f.paired = HB_ARRAY(f.arena, bool, p->instr.n + 1);
    for (int k = 0; k < p->pairs.n; k++)
        for (int i = 0; i < p->pairs.p[k].len; i++)
            f.paired[p->pairs.p[k].first + i] = true;
    int at = 0;
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *loop = &p->loops.p[l];
        fuse_range(&f, at, loop->first, 0, 1);
        fuse_range(&f, loop->first, loop->first + loop->len, loop->len, loop->count);
        at = loop->first + loop->len * loop->count;
    }
    fuse_range(&f, at, p->instr.n, 0, 1);
    if (p->groups.n > 1) qsort(p->groups.p, (size_t)p->groups.n, sizeof *p->groups.p, by_place);
    count_uses(&f);
    for (int g = 0; g < p->groups.n; g++)
        find_kept(&f, &p->groups.p[g]);
    keep_alike(p);
    hb_arena_free(f.arena);
}

// --- what others ask of a group ---

void syn_group_parts(const syn_program *p, const syn_group *g, syn_parts *out)
{
    *out = (syn_parts){.domain = -1};
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &p->instr.p[g->first + m];
        bool fits = joins(p, out, in, m);
        hb_assert(fits);
        for (int o = 0; o < in->n_out; o++)
            for (int i = 0; i < out->n; i++)
                if (out->part[i].buffer == in->out[o]) out->part[i].kept = g->kept[m] >> o & 1;
    }
}

hb_str syn_group_text(hb_arena *a, const syn_program *p, const syn_group *g)
{
    static const char *const shapes[] = {"full", "row", "column", "one"};
    hb_buf b = {.arena = a};
    syn_parts s;
    int seen = 0;
    syn_group_parts(p, g, &s);
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &p->instr.p[g->first + m];
        const ir_node *n = &p->g->nodes.p[in->node];
        const ir_op_row *row = ir_row(n->op);
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
            hb_printf(&b, ":%s:%s%s", shapes[s.part[i].shape], ir_dtype_name(p->tensors.p[t].dtype),
                      s.part[i].kept ? ":kept" : "");
            seen = i + 1;
        }
    }
    return hb_done(&b);
}

void syn_group_seconds(const syn_program *p, const syn_group *g, double *sec)
{
    syn_parts s;
    syn_group_parts(p, g, &s);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double alone = 0, bytes = 0, moved = 0;
        int n = 0;
        for (int m = 0; m < g->len; m++) {
            const syn_instr *in = &p->instr.p[g->first + m];
            alone += in->sec[c];
            n += in->sec[c] > 0;
            for (int i = 0; i < in->n_in + in->n_out; i++) {
                int t = i < in->n_in ? in->in[i] : in->out[i - in->n_in];
                bytes += (double)p->tensors.p[t].bytes[c];
            }
        }
        for (int i = 0; i < s.n; i++)
            if (s.part[i].made < 0 || s.part[i].kept)
                moved += (double)p->tensors.p[s.part[i].buffer].bytes[c];
        const cl_class *cls = &p->cluster->cls[p->mesh->cluster_class[c]];
        sec[c] = cost_fused(cls, alone, n, bytes - moved, moved);
    }
}
