// Tables, cuts and byte ranges of buffers, compared.

#include "synth/certify/check_model.h"

#include <string.h>

int chk_coord(const chk *c, int rank, int axis)
{
    if (c->r->n_axes == 1 || axis == SYN_BOTH) return rank;
    return axis == 0 ? rank / c->r->size[1] : rank % c->r->size[1];
}

int64_t chk_local(const chk *c, const rec_tensor *t, int rank)
{
    int64_t e = 1;
    for (int d = 0; d < t->rank; d++) {
        const rec_dim *v = &t->dim[d];
        int64_t n = v->axis < 0 ? v->n : v->table[chk_coord(c, rank, v->axis)];
        e *= v->outer * n * v->inner;
    }
    return e;
}

bool chk_same_table(const rec_dim *a, const rec_dim *b)
{
    return a->axis == b->axis && a->n_table == b->n_table &&
           (a->n_table == 0 || a->table == b->table ||
            memcmp(a->table, b->table, (size_t)a->n_table * sizeof *a->table) == 0);
}

bool chk_same_cut(const rec_dim *a, const rec_dim *b)
{
    return a->n == b->n && a->outer == b->outer && a->inner == b->inner && chk_same_table(a, b);
}

bool chk_same_range(const chk *c, const chk_buffer *a, const chk_buffer *b)
{
    if (a->end <= b->first || b->end <= a->first || a->t->seg != b->t->seg) return false;
    for (int k = 0; k < c->r->n_classes; k++)
        if (a->t->off[k] != b->t->off[k] || a->bytes[k] != b->bytes[k]) return false;
    return true;
}

bool chk_overlap(const chk *c, const chk_buffer *a, const chk_buffer *b)
{
    if (a->end <= b->first || b->end <= a->first || a->t->seg != b->t->seg) return false;
    for (int k = 0; k < c->r->n_classes; k++)
        if (a->bytes[k] > 0 && b->bytes[k] > 0 && a->t->off[k] < b->t->off[k] + b->bytes[k] &&
            b->t->off[k] < a->t->off[k] + a->bytes[k])
            return true;
    return false;
}
