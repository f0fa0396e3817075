#include "synth/plan/state.h"

#include <string.h>

bool syn_state_eq(const syn_state *a, const syn_state *b)
{
    for (int i = 0; i < SYN_MAX_AXES; i++) {
        const syn_axis_state *x = &a->ax[i], *y = &b->ax[i];
        if (x->kind != y->kind) return false;
        if (x->kind == SYN_S && (x->dim != y->dim || x->pos != y->pos || x->cut != y->cut))
            return false;
        if (x->kind == SYN_P && x->reducer != y->reducer) return false;
    }
    return true;
}

bool syn_joint(const syn_mesh *m, const syn_state *s)
{
    return m->n_axes == 2 && s->ax[1].kind == SYN_S && m->cuts.p[s->ax[1].cut].axis == SYN_BOTH;
}

int syn_coord(const syn_mesh *m, int rank, int axis)
{
    int inner = m->n_axes == 2 ? m->size[1] : 1;
    if (axis == SYN_BOTH) return rank;
    return axis == 0 ? rank / inner : rank % inner;
}

int syn_extent(const syn_mesh *m, int axis)
{
    return axis == SYN_BOTH ? m->n_ranks : m->size[axis];
}

int syn_cut_intern(hb_arena *a, syn_mesh *m, int axis, int64_t size, const int64_t *table,
                   hb_str name)
{
    int n = syn_extent(m, axis), coarse = -1;
    for (int i = 0; i < m->cuts.n; i++) {
        const syn_cut *c = &m->cuts.p[i];
        if (c->axis == axis && c->size == size &&
            memcmp(c->table, table, sizeof *table * (size_t)n) == 0)
            return i;
    }
    if (axis == SYN_BOTH) {
        int64_t *sums = HB_ARRAY(a, int64_t, m->size[0]);
        for (int r = 0; r < n; r++)
            sums[syn_coord(m, r, 0)] += table[r];
        coarse = syn_cut_intern(a, m, 0, size, sums, name);
    }
    syn_cut c = {.axis = axis, .size = size, .n = n, .name = name, .coarse = coarse};
    c.table = hb_copy(a, table, sizeof *table * (size_t)n);
    HB_PUSH(a, &m->cuts, c);
    return m->cuts.n - 1;
}

int64_t syn_local_elements(const syn_mesh *m, const ir_graph *g, const ir_factors *f, int tensor,
                           const syn_state *s, int rank)
{
    (void)f;
    int64_t n = ir_elements(&g->tensors.p[tensor]);
    for (int axis = 0; axis < m->n_axes; axis++) {
        const syn_axis_state *x = &s->ax[axis];
        if (x->kind != SYN_S) continue;
        const syn_cut *c = &m->cuts.p[x->cut];
        if (axis == 0 && syn_joint(m, s)) continue;
        n = n / c->size * c->table[syn_coord(m, rank, c->axis)];
    }
    return n;
}

void syn_state_print(hb_buf *out, const syn_mesh *m, const ir_factors *f, int tensor,
                     const syn_state *s)
{
    for (int axis = 0; axis < m->n_axes; axis++) {
        const syn_axis_state *x = &s->ax[axis];
        if (axis > 0) hb_putc(out, ',');
        if (x->kind == SYN_R) {
            hb_putc(out, 'R');
        } else if (x->kind == SYN_P) {
            hb_puts(out, x->reducer == 'm' ? "P(max)" : "P");
        } else {
            const ir_class *c = &f->cls[f->dim[tensor][x->dim].cls[x->pos]];
            hb_printf(out, "S(%d:%s@%.*s)", x->dim, c->letter, HB_ARG(m->cuts.p[x->cut].name));
        }
    }
}
