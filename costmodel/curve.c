#include "costmodel/curve.h"

#include <math.h>

#include "costmodel/device_defaults.h"

static bool is_positive(const hb_tree *t)
{
    return (t->kind == HB_INT || t->kind == HB_REAL) && isfinite(t->f) && t->f > 0;
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
    int wide = t->v[0]->kind == HB_LIST && t->v[0]->n == 3;
    cost_curve c = {.first = HB_ARRAY(a, int, t->n + 1),
                    .thin = wide ? HB_ARRAY(a, double, t->n) : NULL,
                    .size = HB_ARRAY(a, double, t->n),
                    .sec = HB_ARRAY(a, double, t->n)};
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
        if (wide) c.thin[i] = log(p->v[0]->f);
        c.size[i] = log(p->v[wide]->f);
        c.sec[i] = log(p->v[1 + wide]->f);
        bool begins = i == 0 || (wide && c.size[i] < c.size[i - 1]);
        int last = c.n_families - 1;
        if (!begins && c.size[i] <= c.size[i - 1]) {
            hb_error(d, src, p->v[wide]->at, "sizes must ascend");
            return false;
        }
        if (wide && i > 0 &&
            (begins ? c.size[i] < c.size[c.first[last]]
                    : c.thin[i] < c.thin[i - 1] - COST_ROUNDING)) {
            hb_error(d, src, p->v[0]->at,
                     "flop per byte ascends in a family, the first sizes from one to the next");
            return false;
        }
        if (begins) c.first[c.n_families++] = i;
    }
    c.first[c.n_families] = t->n;
    *out = c;
    return true;
}

static double between(double x, double x0, double x1, double y0, double y1)
{
    return y0 + (x - x0) / (x1 - x0) * (y1 - y0);
}

// Of one family, in logarithms; *thin at that size, if the curve has any.
static double family_at(const cost_curve *c, int f, double x, double *thin)
{
    int lo = c->first[f], hi = c->first[f + 1] - 1;
    const double *t = c->thin ? c->thin : c->sec;
    *thin = t[x <= c->size[lo] ? lo : hi];
    if (x <= c->size[lo]) return c->sec[lo];
    if (x >= c->size[hi]) return c->sec[hi] + (x - c->size[hi]);
    while (hi - lo > 1) { // size[lo] < x < size[hi]
        int mid = (lo + hi) / 2;
        if (c->size[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    *thin = between(x, c->size[lo], c->size[hi], t[lo], t[hi]);
    return between(x, c->size[lo], c->size[hi], c->sec[lo], c->sec[hi]);
}

double cost_curve_at(const cost_curve *c, double thin, double size)
{
    double x = size > 0 ? log(size) : c->size[0], w, below = 0, w_below = 0;
    if (!c->thin) return exp(family_at(c, 0, x, &w));
    double want = thin > 0 ? log(thin) : -(double)INFINITY;
    for (int f = 0; f < c->n_families; f++) {
        if (f > 0 && c->size[c->first[f]] > x) break;
        double sec = family_at(c, f, x, &w);
        if (w >= want && f == 0) return exp(isfinite(want) ? sec + w - want : sec);
        if (w >= want) return exp(between(want, w_below, w, below, sec));
        if (f > 0 && w <= w_below) continue; // wider, and yet as thin at this size
        below = sec;
        w_below = w;
    }
    return exp(below);
}

// Between points and families log-log, so the rate is least at a point or at the end.
double cost_curve_rate(const cost_curve *c, double size)
{
    double x = log(size), least = (double)INFINITY;
    for (int f = 0; f < c->n_families; f++) {
        double thin, rate = family_at(c, f, x, &thin) - x;
        for (int i = c->first[f]; i < c->first[f + 1] && c->size[i] < x; i++)
            rate = fmin(rate, c->sec[i] - c->size[i]);
        least = fmin(least, rate);
    }
    return exp(least);
}
