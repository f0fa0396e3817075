#include <math.h>

#include "solver/minsum_parts.h"

// The loops form levels: level j has fixed the first j outer loops. A factor is added where its
// last outer loop gets fixed: to a vector over own states, or, if it depends on the innermost loop,
// to a matrix [own][innermost]. So the deepest level, where all the time goes, touches only the
// factors that change there, and takes the minimum while it adds the last one.

typedef struct sum {
    const double *p; // NULL: nothing yet
    double *buffer;  // of this level
} sum;

static void add_to(const ms_kernels *kernels, sum *s, const double *p, int n)
{
    if (!s->p) {
        s->p = p;
        return;
    }
    kernels->add(s->buffer, s->p, p, n);
    s->p = s->buffer;
}

// A factor in its level, and the outer loops that it depends on.
typedef struct placed {
    const double *p, *at; // its table, and the cells of the present loops
    bool inner;
    int n;
    struct outer {
        int loop;
        int64_t stride;
    } * by;
} placed;

typedef struct level {
    int n;
    placed *f;
    sum vector, matrix;
} level;

static const double *cell(const placed *f, const int *at)
{
    int64_t offset = 0;
    for (int i = 0; i < f->n; i++)
        offset += f->by[i].stride * at[f->by[i].loop];
    return f->p + offset;
}

// Level j's sums from those of level j - 1. At the deepest level the last matrix is left out and
// returned, for the minimum to add. goes_on: since it was entered last, its last loop alone did.
static const double *enter(const ms_kernels *kernels, level *lv, int j, int deepest, const int *at,
                           bool goes_on, int own, int inner)
{
    level *l = &lv[j];
    const double *last = NULL;
    l->vector.p = j ? lv[j - 1].vector.p : NULL;
    l->matrix.p = j ? lv[j - 1].matrix.p : NULL;
    for (int i = 0; i < l->n; i++) {
        placed *f = &l->f[i];
        f->at = goes_on ? f->at + f->by[0].stride : cell(f, at);
        if (!f->inner) {
            add_to(kernels, &l->vector, f->at, own);
        } else if (j < deepest) {
            add_to(kernels, &l->matrix, f->at, own * inner);
        } else {
            if (last) add_to(kernels, &l->matrix, last, own * inner);
            last = f->at;
        }
    }
    return last;
}

static void place(ms_tables *t, const ms_step *s, level *lv, hb_arena *scratch)
{
    int n_outer = s->n_loops - 1, inner = s->size[n_outer];
    for (int pass = 0; pass < 2; pass++) { // count, then fill
        for (int i = 0; i < s->n_factors; i++) {
            const ms_factor *f = &s->factor[i];
            int j = n_outer;
            while (j > 0 && !(f->loops >> (j - 1) & 1))
                j--;
            if (!pass) {
                lv[j].n++;
                continue;
            }
            if (!lv[j].f) {
                lv[j].f = HB_ARRAY(scratch, placed, lv[j].n);
                lv[j].n = 0;
            }
            placed *q = &lv[j].f[lv[j].n++];
            q->by = hb_room(scratch, sizeof *q->by, j + 1);
            q->p = ms_table_at(t, f->table)->p;
            q->inner = f->loops >> n_outer & 1;
            int64_t size = (int64_t)s->own * (q->inner ? inner : 1);
            for (int k = n_outer - 1; k >= 0; k--) {
                if (!(f->loops >> k & 1)) continue;
                q->by[q->n++] = (struct outer){k, size};
                size *= s->size[k];
            }
        }
    }
}

static void run_alone(ms_tables *t, const ms_step *s, double *out)
{
    *out = (double)INFINITY;
    for (int x = 0; x < s->own; x++) {
        double v = 0;
        for (int i = 0; i < s->n_factors; i++)
            v += ms_table_at(t, s->factor[i].table)->p[x];
        if (v < *out) *out = v;
    }
}

// The deepest level as one call, at place 0 of its own loop, where it has no more factors than that
// takes; else false.
static bool as_many(const level *lv, const ms_step *s, int deepest, const int *at,
                    const double *zeros, ms_many *m)
{
    const level *l = &lv[deepest];
    const sum *vector = &lv[deepest - 1].vector, *matrix = &lv[deepest - 1].matrix;
    int nb = 0, nc = 0;
    *m = (ms_many){.own = s->own,
                   .inner = s->size[deepest],
                   .times = s->size[deepest - 1],
                   .sum = l->vector.buffer};
    if (vector->p) m->b[nb++] = vector->p;
    if (matrix->p) m->c[nc++] = matrix->p;
    for (int i = 0; i < l->n; i++) {
        const placed *f = &l->f[i];
        int *n = f->inner ? &nc : &nb;
        if (*n == 2) return false;
        (f->inner ? m->c : m->b)[*n] = cell(f, at);
        (f->inner ? m->c_step : m->b_step)[(*n)++] = (int)f->by[0].stride;
    }
    if (nb == 0) m->b[0] = zeros;
    return nc > 0;
}

void ms_step_run(ms_tables *t, const ms_step *s, double *out, hb_arena *scratch)
{
    if (s->n_loops == 0) {
        run_alone(t, s, out);
        return;
    }
    int deepest = s->n_loops - 1, inner = s->size[deepest], own = s->own;
    level *lv = HB_ARRAY(scratch, level, deepest + 1);
    int *at = HB_ARRAY(scratch, int, deepest + 1);
    const double *zeros = HB_ARRAY(scratch, double, own);
    place(t, s, lv, scratch);
    for (int j = 0; j <= deepest; j++) {
        lv[j].vector.buffer = hb_room(scratch, sizeof(double), own);
        lv[j].matrix.buffer = hb_room(scratch, sizeof(double), own * inner);
    }
    const ms_kernels *kernels = ms_best_kernels();
    const double *last = NULL;
    for (int from = 0;;) {
        ms_many many;
        for (int j = from; j < deepest; j++)
            (void)enter(kernels, lv, j, deepest, at, j == from && from > 0, own, inner);
        if (deepest > 0 && from < deepest && as_many(lv, s, deepest, at, zeros, &many)) {
            kernels->min_many(out, &many);
            out += (size_t)many.times * (size_t)inner;
            at[deepest - 1] = many.times - 1;
        } else {
            last =
                enter(kernels, lv, deepest, deepest, at, deepest == from && from > 0, own, inner);
            const level *l = &lv[deepest];
            const double *b = l->vector.p ? l->vector.p : zeros;
            if (l->matrix.p)
                kernels->min_rows(out, b, l->matrix.p, last, own, inner);
            else
                kernels->min_rows(out, b, last, NULL, own, inner);
            out += inner;
        }
        int j = deepest - 1;
        while (j >= 0 && ++at[j] == s->size[j])
            at[j--] = 0;
        if (j < 0) return;
        from = j + 1;
    }
}
