#include <math.h>
#include <stdio.h>

#include "costmodel/cost.h"
#include "ir/base/tree.h"

// Points of a curve are kept as logarithms; a curve's key is "class/op/dtype".

typedef struct curve {
    int n;
    double *size, *sec; // ln
} curve;

struct cost_curves {
    hb_arena *arena;
    hb_map *by_name; // index into curve
    HB_VEC(curve) curve;
};

typedef struct reader {
    hb_arena *arena;
    const hb_source *src; // outlives the diagnostics
    hb_diag *diag;
    cost_curves *curves;
} reader;

static bool expect(reader *r, const hb_tree *t, hb_kind kind, const char *what)
{
    if (t->kind == kind) return true;
    hb_error(r->diag, r->src, t->at, "expected %s", what);
    return false;
}

static bool is_positive(const hb_tree *t)
{
    return (t->kind == HB_INT || t->kind == HB_REAL) && isfinite(t->f) && t->f > 0;
}

static void read_curve(reader *r, const hb_tree *t, hb_str name)
{
    curve c = {0};
    if (!expect(r, t, HB_LIST, "a list of [size, seconds]")) return;
    if (t->n == 0) {
        hb_error(r->diag, r->src, t->at, "a curve without points");
        return;
    }
    c.size = HB_ARRAY(r->arena, double, t->n);
    c.sec = HB_ARRAY(r->arena, double, t->n);
    for (; c.n < t->n; c.n++) {
        const hb_tree *p = t->v[c.n];
        if (p->kind != HB_LIST || p->n != 2 || !is_positive(p->v[0]) || !is_positive(p->v[1])) {
            hb_error(r->diag, r->src, p->at, "expected [size, seconds], both positive");
            return;
        }
        c.size[c.n] = log(p->v[0]->f);
        c.sec[c.n] = log(p->v[1]->f);
        if (c.n && c.size[c.n] <= c.size[c.n - 1]) {
            hb_error(r->diag, r->src, p->v[0]->at, "sizes must ascend");
            return;
        }
    }
    hb_map_put(r->curves->by_name, name, r->curves->curve.n);
    HB_PUSH(r->arena, &r->curves->curve, c);
}

static void read_classes(reader *r, const hb_tree *classes)
{
    static const char *const dtypes[] = {"f32", "tf32", "bf16"};
    if (!expect(r, classes, HB_TABLE, "a table of classes")) return;
    for (int i = 0; i < classes->n; i++) {
        const hb_tree *ops = classes->v[i];
        if (!expect(r, ops, HB_TABLE, "a table of ops")) continue;
        for (int j = 0; j < ops->n; j++) {
            const hb_tree *types = ops->v[j];
            if (!expect(r, types, HB_TABLE, "a table of dtypes")) continue;
            hb_only_keys(types, dtypes, 3, r->src, r->diag);
            for (int k = 0; k < types->n; k++)
                read_curve(r, types->v[k],
                           hb_fmt(r->arena, "%.*s/%.*s/%.*s", HB_ARG(classes->key[i]),
                                  HB_ARG(ops->key[j]), HB_ARG(types->key[k])));
        }
    }
}

cost_curves *cost_curves_read(hb_arena *a, const char *path, hb_diag *d)
{
    static const char *const keys[] = {"format", "version", "classes", "collectives", "contention"};
    reader r = {.arena = a, .diag = d};
    const char *why;
    int errors = hb_diag_count(d);
    hb_source *src = HB_NEW(a, hb_source);
    src->name = hb_str_c(a, path);
    if (!hb_read_file(a, path, &src->text, &why)) {
        hb_error(d, src, (hb_pos){0, 0}, "cannot be read: %s", why);
        return NULL;
    }
    r.src = src;
    hb_tree *t = hb_json_read(a, src, d);
    if (!t) return NULL;
    r.curves = HB_NEW(a, cost_curves);
    r.curves->arena = a;
    r.curves->by_name = hb_map_new(a);
    if (!expect(&r, t, HB_TABLE, "a table")) return NULL;
    hb_only_keys(t, keys, 5, src, d);
    const hb_tree *format = hb_get(t, "format"), *version = hb_get(t, "version");
    if (!format || format->kind != HB_TEXT || !hb_str_is(format->s, "hap.curves"))
        hb_error(d, src, format ? format->at : t->at, "expected \"format\": \"hap.curves\"");
    if (!version || version->kind != HB_INT || version->i != 1)
        hb_error(d, src, version ? version->at : t->at, "expected \"version\": 1");
    const hb_tree *classes = hb_get(t, "classes");
    if (classes)
        read_classes(&r, classes);
    else
        hb_error(d, src, t->at, "missing key 'classes'");
    for (int i = 3; i < 5; i++) {
        const hb_tree *list = hb_get(t, keys[i]);
        if (list) expect(&r, list, HB_LIST, "a list");
    }
    return hb_diag_count(d) == errors ? r.curves : NULL;
}

static const curve *find(const cost_curves *k, hb_str cls, const char *op, const char *dtype)
{
    char buf[192];
    int n = snprintf(buf, sizeof buf, "%.*s/%s/%s", HB_ARG(cls), op, dtype);
    if (n < 0 || n >= (int)sizeof buf) return NULL;
    int i = hb_map_get(k->by_name, (hb_str){buf, (size_t)n});
    return i < 0 ? NULL : &k->curve.p[i];
}

static const curve *curve_of(const cost_curves *k, const cl_class *cls, const char *op,
                             const char *dtype)
{
    const curve *c = find(k, cls->name, op, dtype);
    return c ? c : find(k, cls->model, op, dtype);
}

// Between points log-log, so the rate is least at a point or at the end.
double cost_curves_rate(const cost_curves *k, const cl_class *cls, const char *op_name,
                        const char *dtype, double size)
{
    const curve *c = curve_of(k, cls, op_name, dtype);
    if (!c) return -1;
    double rate = cost_curves_at(k, cls, op_name, dtype, size) / size;
    for (int i = 0; i < c->n && c->size[i] < log(size); i++)
        if (exp(c->sec[i] - c->size[i]) < rate) rate = exp(c->sec[i] - c->size[i]);
    return rate;
}

double cost_curves_at(const cost_curves *k, const cl_class *cls, const char *op_name,
                      const char *dtype, double size)
{
    const curve *c = curve_of(k, cls, op_name, dtype);
    if (!c) return -1;
    double x = log(size);
    if (size <= 0 || x <= c->size[0]) return exp(c->sec[0]);
    int last = c->n - 1;
    if (x >= c->size[last]) return exp(c->sec[last] + (x - c->size[last]));
    int lo = 0, hi = last; // size[lo] < x < size[hi]
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (c->size[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    double f = (x - c->size[lo]) / (c->size[hi] - c->size[lo]);
    return exp(c->sec[lo] + f * (c->sec[hi] - c->sec[lo]));
}
