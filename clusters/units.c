#include "clusters/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct unit {
    const char *name;
    cl_unit_kind kind;
    double factor;
} unit;

#define KI 1024.0

static const unit units[] = {
    {"B", CL_BYTES, 1},
    {"kB", CL_BYTES, 1e3},
    {"MB", CL_BYTES, 1e6},
    {"GB", CL_BYTES, 1e9},
    {"TB", CL_BYTES, 1e12},
    {"KiB", CL_BYTES, KI},
    {"MiB", CL_BYTES, KI *KI},
    {"GiB", CL_BYTES, KI *KI *KI},
    {"TiB", CL_BYTES, KI *KI *KI *KI},
    {"B/s", CL_BYTES_PER_SEC, 1},
    {"kB/s", CL_BYTES_PER_SEC, 1e3},
    {"MB/s", CL_BYTES_PER_SEC, 1e6},
    {"GB/s", CL_BYTES_PER_SEC, 1e9},
    {"TB/s", CL_BYTES_PER_SEC, 1e12},
    {"KiB/s", CL_BYTES_PER_SEC, KI},
    {"MiB/s", CL_BYTES_PER_SEC, KI *KI},
    {"GiB/s", CL_BYTES_PER_SEC, KI *KI *KI},
    {"TiB/s", CL_BYTES_PER_SEC, KI *KI *KI *KI},
    {"kbit/s", CL_BYTES_PER_SEC, 1e3 / 8},
    {"Mbit/s", CL_BYTES_PER_SEC, 1e6 / 8},
    {"Gbit/s", CL_BYTES_PER_SEC, 1e9 / 8},
    {"Tbit/s", CL_BYTES_PER_SEC, 1e12 / 8},
    {"kBps", CL_BYTES_PER_SEC, 1e3},
    {"MBps", CL_BYTES_PER_SEC, 1e6},
    {"GBps", CL_BYTES_PER_SEC, 1e9},
    {"TBps", CL_BYTES_PER_SEC, 1e12},
    {"kbps", CL_BYTES_PER_SEC, 1e3 / 8},
    {"Mbps", CL_BYTES_PER_SEC, 1e6 / 8},
    {"Gbps", CL_BYTES_PER_SEC, 1e9 / 8},
    {"Tbps", CL_BYTES_PER_SEC, 1e12 / 8},
    {"MFLOP/s", CL_FLOPS, 1e6},
    {"GFLOP/s", CL_FLOPS, 1e9},
    {"TFLOP/s", CL_FLOPS, 1e12},
    {"PFLOP/s", CL_FLOPS, 1e15},
    {"s", CL_SECONDS, 1},
    {"ms", CL_SECONDS, 1e-3},
    {"us", CL_SECONDS, 1e-6},
    {"ns", CL_SECONDS, 1e-9},
};
enum { N_UNITS = sizeof units / sizeof *units };

static const struct {
    const char *what, *example;
} kinds[] = {
    [CL_BYTES] = {"a size", "40 GiB"},
    [CL_BYTES_PER_SEC] = {"a bandwidth", "20 GB/s"},
    [CL_FLOPS] = {"a speed", "15.7 TFLOP/s"},
    [CL_SECONDS] = {"a time", "8 us"},
};

// digits[.digits][e[-+]digits], an optional sign; the bytes it takes, 0 if there is none.
static size_t number_length(hb_str s)
{
    size_t i = 0, digits = 0;
    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+')) i++;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        digits++;
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
            digits++;
    if (!digits) return 0;
    size_t mantissa = i;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        if (i < s.n && (s.p[i] == '-' || s.p[i] == '+')) i++;
        size_t first = i;
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
            i++;
        if (i == first) return mantissa;
    }
    return i;
}

// Position of byte `offset` of a scalar of one line: past the quote, if it has one.
static hb_pos inside(const hb_tree *t, size_t offset, const hb_source *src)
{
    const char *p = src->text.p, *end = p + src->text.n;
    for (int line = 1; line < t->at.line && p && p < end; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (p) p++;
    }
    bool quoted =
        p && p + t->at.col - 1 < end && (p[t->at.col - 1] == '"' || p[t->at.col - 1] == '\'');
    return (hb_pos){t->at.line, t->at.col + (int)offset + quoted};
}

static const unit *find_unit(hb_str name)
{
    for (int i = 0; i < N_UNITS; i++)
        if (hb_str_is(name, units[i].name)) return &units[i];
    return NULL;
}

static void unknown_unit(hb_str name, cl_unit_kind kind, hb_pos at, const hb_source *src,
                         hb_diag *d)
{
    const char *names[N_UNITS];
    int n = 0;
    for (int i = 0; i < N_UNITS; i++)
        if (units[i].kind == kind) names[n++] = units[i].name;
    hb_error(d, src, at, "unknown unit '%.*s'", HB_ARG(name));
    const char *near = NULL;
    for (int i = 0; i < n && !near; i++)
        if (strlen(names[i]) == name.n && strncasecmp(names[i], name.p, name.n) == 0)
            near = names[i];
    if (!near) near = hb_nearest(name, names, n);
    if (near)
        hb_hint(d, "did you mean '%s'?", near);
    else
        hb_hint(d, "%s is written like '%s'", kinds[kind].what, kinds[kind].example);
}

bool cl_quantity(const hb_tree *t, cl_unit_kind kind, bool zero_ok, const hb_source *src,
                 hb_diag *d, double *out)
{
    const char *what = kinds[kind].what, *example = kinds[kind].example;
    size_t digits = t->kind == HB_LIST || t->kind == HB_TABLE ? 0 : number_length(t->s), i = digits;
    if (!digits) {
        hb_error(d, src, t->at, "expected %s", what);
        hb_hint(d, "%s is written like '%s'", what, example);
        return false;
    }
    while (i < t->s.n && t->s.p[i] == ' ')
        i++;
    hb_str name = {t->s.p + i, t->s.n - i};
    const unit *u = find_unit(name);
    if (!name.n) {
        hb_error(d, src, t->at, "%s without a unit", what);
        hb_hint(d, "units are mandatory: '%s'", example);
        return false;
    }
    if (!u) {
        unknown_unit(name, kind, inside(t, i, src), src, d);
        return false;
    }
    if (u->kind != kind) {
        hb_error(d, src, inside(t, i, src), "'%s' is not a unit of %s", u->name, what);
        hb_hint(d, "%s is written like '%s'", what, example);
        return false;
    }
    char buf[64];
    if (digits >= sizeof buf) {
        hb_error(d, src, t->at, "a number of more than %d characters", (int)sizeof buf - 1);
        return false;
    }
    memcpy(buf, t->s.p, digits);
    buf[digits] = '\0';
    double x = strtod(buf, NULL) * u->factor;
    if (x < 0 || buf[0] == '-' || (!zero_ok && x <= 0)) {
        hb_error(d, src, t->at, "%s must be %s", what, zero_ok ? "zero or more" : "more than zero");
        return false;
    }
    if (!(x < 4e18)) { // fits int64, and far past any machine
        hb_error(d, src, t->at, "number out of range");
        return false;
    }
    *out = x;
    return true;
}
