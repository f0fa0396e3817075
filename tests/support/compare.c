#include "tests/support/compare.h"

#include <math.h>
#include <string.h>

static double at(const array *x, int64_t i)
{
    return (double)((const float *)x->data)[i];
}

static double compare_norm(const array *x, int64_t from, int64_t to)
{
    double s = 0;
    for (int64_t i = from; i < to; i++)
        s += at(x, i) * at(x, i);
    return sqrt(s);
}

double compare_distance(const array *x, const array *y, int64_t from, int64_t to)
{
    double s = 0;
    for (int64_t i = from; i < to; i++)
        s += (at(x, i) - at(y, i)) * (at(x, i) - at(y, i));
    return sqrt(s);
}

double compare_losses(const double *a, const double *b, int n, int *where)
{
    double worst = 0;
    *where = 0;
    for (int i = 0; i < n; i++) {
        double e = fabs(a[i] - b[i]) / fabs(b[i]);
        if (e > worst || isnan(e)) {
            worst = isnan(e) ? HUGE_VAL : e;
            *where = i;
        }
    }
    return worst;
}

static const array *same(const arrays *f, const array *ref)
{
    const array *x = arrays_get(f, ref->name.p, ref->name.n);
    return x && x->type == HAP_F32 && ref->type == HAP_F32 && x->elements == ref->elements ? x
                                                                                           : NULL;
}

static double norm_of_all(const arrays *f)
{
    double s = 0;
    for (int i = 0; i < f->n; i++) {
        double n = compare_norm(&f->v[i], 0, f->v[i].elements);
        s += n * n;
    }
    return sqrt(s);
}

double compare_grads(const arrays *g, const arrays *ref, hb_str *worst)
{
    double all = norm_of_all(ref), most = 0;
    *worst = (hb_str){0};
    for (int i = 0; i < ref->n; i++) {
        const array *r = &ref->v[i], *x = same(g, r);
        double e = HUGE_VAL;
        if (x) {
            double n = compare_norm(r, 0, r->elements);
            e = compare_distance(x, r, 0, r->elements) / (1e-4 * n + 1e-7 * all);
        }
        if (e > most || !isfinite(e)) {
            most = isfinite(e) ? e : HUGE_VAL;
            *worst = r->name;
        }
        if (isinf(most)) break;
    }
    return most;
}

double compare_params(const arrays *p, const arrays *ref, const arrays *start, const arrays *grads,
                      compare_parts parts, int64_t *left_out)
{
    double all = norm_of_all(grads), off = 0, moved = 0;
    *left_out = 0;
    for (int i = 0; i < ref->n; i++) {
        const array *r = &ref->v[i];
        const array *x = same(p, r), *s = same(start, r), *g = same(grads, r);
        if (!x || !s || !g) return HUGE_VAL;
        bool fused = parts.match && hb_glob((hb_str){parts.match, strlen(parts.match)}, r->name);
        int n = fused && r->elements % parts.n == 0 ? parts.n : 1;
        int64_t step = r->elements / n;
        for (int64_t k = 0; k < r->elements; k += step) {
            if (compare_norm(g, k, k + step) <= 1e-6 * all) {
                *left_out += step;
                continue;
            }
            double d = compare_distance(x, r, k, k + step), m = compare_distance(r, s, k, k + step);
            off += d * d;
            moved += m * m;
        }
    }
    return moved > 0 ? sqrt(off / moved) : HUGE_VAL;
}
