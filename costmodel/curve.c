#include "costmodel/curve.h"

#include <math.h>

static bool is_positive(const hb_tree *t)
{
    return (t->kind == HB_INT || t->kind == HB_REAL) && isfinite(t->f) && t->f > 0;
}

// Equal up to the rounding of printed numbers.
static bool same(double x, double y)
{
    return fabs(x - y) < 1e-6;
}

bool cost_curve_read(hb_arena *a, const hb_tree *t, const hb_source *src, hb_diag *d,
                     cost_curve *out)
{
    if (t->kind != HB_LIST) {
        hb_error(d, src, t->at, "expected a list of [size, seconds]");
        return false;
    }
    if (t->n == 0) {
        hb_error(d, src, t->at, "a curve without points");
        return false;
    }
    cost_curve c = {.thin = HB_ARRAY(a, double, t->n),
                    .first = HB_ARRAY(a, int, t->n + 1),
                    .size = HB_ARRAY(a, double, t->n),
                    .sec = HB_ARRAY(a, double, t->n)};
    int wide = t->v[0]->kind == HB_LIST && t->v[0]->n == 3;
    for (int i = 0; i < t->n; i++) {
        const hb_tree *p = t->v[i];
        bool ok = p->kind == HB_LIST && p->n == 2 + wide;
        for (int k = 0; ok && k < p->n; k++)
            ok = is_positive(p->v[k]);
        if (!ok) {
            hb_error(d, src, p->at, "expected %s, all positive",
                     wide ? "[flop per byte, size, seconds]" : "[size, seconds]");
            return false;
        }
        double thin = wide ? log(p->v[0]->f) : 0;
        c.size[i] = log(p->v[wide]->f);
        c.sec[i] = log(p->v[1 + wide]->f);
        int f = c.n_families - 1;
        if (f < 0 || (thin > c.thin[f] && !same(thin, c.thin[f]))) {
            c.thin[c.n_families] = thin;
            c.first[c.n_families++] = i;
        } else if (!same(thin, c.thin[f])) {
            hb_error(d, src, p->v[0]->at, "families must ascend");
            return false;
        } else if (c.size[i] <= c.size[i - 1]) {
            hb_error(d, src, p->v[wide]->at, "sizes must ascend");
            return false;
        }
    }
    c.first[c.n_families] = t->n;
    *out = c;
    return true;
}

static double between(double x, double x0, double x1, double y0, double y1)
{
    return y0 + (x - x0) / (x1 - x0) * (y1 - y0);
}

// Of one family, in logarithms.
static double family_at(const cost_curve *c, int f, double x)
{
    int lo = c->first[f], hi = c->first[f + 1] - 1;
    if (x <= c->size[lo]) return c->sec[lo];
    if (x >= c->size[hi]) return c->sec[hi] + (x - c->size[hi]);
    while (hi - lo > 1) { // size[lo] < x < size[hi]
        int mid = (lo + hi) / 2;
        if (c->size[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    return between(x, c->size[lo], c->size[hi], c->sec[lo], c->sec[hi]);
}

double cost_curve_at(const cost_curve *c, double thin, double size)
{
    if (size <= 0) return exp(c->sec[0]);
    double x = log(size);
    if (c->n_families == 1 || thin <= 0) return exp(family_at(c, c->n_families - 1, x));
    double w = log(thin);
    int f = 0;
    if (w <= c->thin[0]) return exp(family_at(c, 0, x) + c->thin[0] - w);
    while (f < c->n_families && c->thin[f] < w)
        f++;
    if (f == c->n_families) return exp(family_at(c, f - 1, x));
    return exp(between(w, c->thin[f - 1], c->thin[f], family_at(c, f - 1, x), family_at(c, f, x)));
}

// Between points and families log-log, so the rate is least at a point or at the end.
double cost_curve_rate(const cost_curve *c, double size)
{
    double x = log(size), least = (double)INFINITY;
    for (int f = 0; f < c->n_families; f++) {
        double rate = family_at(c, f, x) - x;
        for (int i = c->first[f]; i < c->first[f + 1] && c->size[i] < x; i++)
            rate = fmin(rate, c->sec[i] - c->size[i]);
        least = fmin(least, rate);
    }
    return exp(least);
}
