#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "clusters/cluster_file.h"
#include "clusters/units.h"

typedef struct parse {
    const hb_tree *table;
    const hb_source *src;
    hb_diag *diag;
    bool ok;
} parse;

static void wrong(parse *p, hb_pos at, const char *what)
{
    hb_error(p->diag, p->src, at, "%s", what);
    p->ok = false;
}

// An absent optional quantity leaves *out alone.
static void quantity(parse *p, const char *key, cl_unit_kind kind, bool required, double *out)
{
    const hb_tree *t = hb_get(p->table, key);
    if (t) {
        bool zero_ok = strcmp(key, "reserve") == 0;
        p->ok = cl_quantity(t, kind, zero_ok, p->src, p->diag, out) && p->ok;
    } else if (required) {
        hb_error(p->diag, p->src, p->table->at, "missing key '%s'", key);
        p->ok = false;
    }
}

static int whole_number(parse *p, const char *key)
{
    const hb_tree *t = hb_get(p->table, key);
    if (!t) return 0;
    if (t->kind == HB_INT && t->i >= 1 && t->i <= 1 << 16) return (int)t->i;
    hb_error(p->diag, p->src, t->at, "'%s' must be a whole number from 1 to 65536", key);
    p->ok = false;
    return 0;
}

static void figures(parse *p, cl_device *d)
{
    const hb_tree *kind = hb_get(p->table, "kind");
    double memory = 0, reserve = 0;
    if (kind && hb_str_is(kind->s, "cpu") && kind->kind == HB_TEXT)
        d->kind = CL_CPU;
    else if (kind && (kind->kind != HB_TEXT || !hb_str_is(kind->s, "gpu")))
        wrong(p, kind->at, "'kind' must be gpu or cpu");
    quantity(p, "f32", CL_FLOPS, true, &d->f32);
    quantity(p, "tf32", CL_FLOPS, false, &d->tf32);
    quantity(p, "bf16", CL_FLOPS, false, &d->bf16);
    quantity(p, "fp16", CL_FLOPS, false, &d->fp16);
    quantity(p, "memory_bandwidth", CL_BYTES_PER_SEC, true, &d->memory_bandwidth);
    quantity(p, "memory", CL_BYTES, true, &memory);
    quantity(p, "reserve", CL_BYTES, false, &reserve);
    quantity(p, "nvlink", CL_BYTES_PER_SEC, false, &d->nvlink);
    d->memory = (int64_t)memory;
    d->reserve = (int64_t)reserve;
}

// "sm_70" -> 70; AMD's "gfx942" -> 0; -1 if it is not written so.
static int arch_number(const hb_tree *t)
{
    if (t->kind == HB_TEXT && t->s.n > 3 && strncmp(t->s.p, "gfx", 3) == 0) return 0;
    if (t->kind != HB_TEXT || t->s.n < 5 || t->s.n > 6 || strncmp(t->s.p, "sm_", 3) != 0) return -1;
    int n = 0;
    for (size_t i = 3; i < t->s.n; i++) {
        if (t->s.p[i] < '0' || t->s.p[i] > '9') return -1;
        n = n * 10 + (t->s.p[i] - '0');
    }
    return n;
}

// The words of a name in small letters, a '-' between two; what makers put before it left out.
static hb_str words(hb_arena *a, hb_str s)
{
    static const char *const makers[] = {"nvidia-", "geforce-", "tesla-",
                                         "quadro-", "amd-",     "instinct-"};
    char *to = hb_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (isalnum((unsigned char)s.p[i]))
            to[n++] = (char)tolower((unsigned char)s.p[i]);
        else if (n > 0 && to[n - 1] != '-')
            to[n++] = '-';
        for (size_t m = 0; m < sizeof makers / sizeof *makers; m++)
            if (n == strlen(makers[m]) && memcmp(to, makers[m], n) == 0) n = 0;
    }
    return (hb_str){to, n};
}

// Is a word in s, its number whole? "a10" is not in "a100".
static bool has(hb_str s, const char *word, size_t n)
{
    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.p + i, word, n) == 0 && !(isdigit((unsigned char)word[n - 1]) && i + n < s.n &&
                                               isdigit((unsigned char)s.p[i + n])))
            return true;
    return false;
}

// Bytes of the words of `of`, if s has all of them; else 0.
static size_t all_in(hb_str s, hb_str of)
{
    size_t bytes = 0;
    for (size_t i = 0, n; i < of.n; i += n + 1) {
        for (n = 0; i + n < of.n && of.p[i + n] != '-'; n++)
            continue;
        if (n > 0 && !has(s, of.p + i, n)) return 0;
        bytes += n;
    }
    return bytes;
}

// The models that a name may mean, "'A100-40GB' or 'A100-80GB'": one has all words of the other
// ("A100", "NVIDIA GeForce RTX 3090", "Tesla V100-SXM2-16GB"), as many as any. Without such, the
// nearest in letters; else empty.
static hb_str meant(const cl_catalogue *k, hb_str asked, const char *const *names)
{
    hb_buf out = {.arena = k->arena};
    hb_str want = words(k->arena, asked);
    size_t most = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < k->tree->n; i++) {
            hb_str name = words(k->arena, k->tree->key[i]);
            size_t a = all_in(want, name), b = all_in(name, want), same = a > b ? a : b;
            if (pass == 0 && same > most) most = same;
            if (pass == 1 && same > 0 && same == most)
                hb_printf(&out, "%s'%s'", out.n ? " or " : "", names[i]);
        }
    }
    const char *near = most ? NULL : hb_nearest(asked, names, k->tree->n);
    if (near) hb_printf(&out, "'%s'", near);
    return hb_done(&out);
}

bool cl_from_catalogue(cl_catalogue *k, const hb_tree *model, const hb_source *asking, cl_device *d)
{
    static const char *const keys[] = {
        "kind", "f32",   "tf32", "bf16",    "fp16",   "memory", "memory_bandwidth",
        "sms",  "cores", "arch", "reserve", "source", "nvlink"};
    cl_catalogue_load(k, model->at, asking);
    if (!k->tree) return false;
    const char **names = HB_ARRAY(k->arena, const char *, k->tree->n);
    const hb_tree *entry = NULL;
    for (int i = 0; i < k->tree->n; i++) {
        names[i] = k->tree->key[i].p;
        if (model->kind == HB_TEXT && hb_str_eq(k->tree->key[i], model->s)) entry = k->tree->v[i];
    }
    if (!entry) {
        hb_error(k->diag, asking, model->at, "unknown device model '%.*s'", HB_ARG(model->s));
        hb_str near = meant(k, model->s, names);
        if (near.n)
            hb_hint(k->diag, "did you mean %.*s?", HB_ARG(near));
        else
            hb_hint(k->diag,
                    "models are listed in %s; others are spelt out: {name: …, f32: …, "
                    "memory: …, memory_bandwidth: …}",
                    k->path);
        return false;
    }
    parse p = {entry, k->src, k->diag, true};
    if (entry->kind != HB_TABLE) {
        wrong(&p, entry->at, "expected a table");
        return false;
    }
    int before = hb_diag_count(k->diag);
    hb_only_keys(entry, keys, sizeof keys / sizeof *keys, k->src, k->diag);
    d->name = model->s;
    figures(&p, d);
    int sms = whole_number(&p, "sms"), cores = whole_number(&p, "cores");
    d->units = d->kind == CL_GPU ? sms : cores;
    const hb_tree *arch = hb_get(entry, "arch");
    if (arch && arch_number(arch) < 0)
        wrong(&p, arch->at, "'arch' is written like sm_90 or gfx942");
    d->arch = arch && arch_number(arch) > 0 ? arch_number(arch) : 0;
    d->plan_only = arch && arch_number(arch) < CL_OLDEST_ARCH;
    if (!hb_get(entry, "source")) wrong(&p, entry->at, "missing key 'source'");
    return p.ok && hb_diag_count(k->diag) == before;
}

static void scale(cl_device *d, double share, bool bandwidth_too)
{
    d->f32 *= share;
    d->tf32 *= share;
    d->bf16 *= share;
    d->fp16 *= share;
    if (bandwidth_too) d->memory_bandwidth *= share;
}

// `sms: n` leaves memory bandwidth whole, as green contexts do (docs: measured on H200). `threads:
// n` takes its share of bandwidth too; a spelt-out device's figures are for the threads it names.
static void apply_part(parse *p, bool from_model, cl_device *d)
{
    const hb_tree *sms = hb_get(p->table, "sms"), *threads = hb_get(p->table, "threads");
    d->sms = whole_number(p, "sms");
    d->threads = whole_number(p, "threads");
    if (sms && (d->kind != CL_GPU || !from_model))
        wrong(p, sms->at, "'sms' is for GPUs of the catalogue");
    else if (d->sms && d->sms > d->units)
        hb_error(p->diag, p->src, sms->at, "%.*s has %d SMs", HB_ARG(d->name), d->units),
            p->ok = false;
    else if (d->sms)
        scale(d, (double)d->sms / d->units, false);
    if (threads && d->kind != CL_CPU)
        wrong(p, threads->at, "'threads' is for cpu devices");
    else if (d->threads && from_model && d->units)
        scale(d, (double)d->threads / d->units, true);
}

// A device that computes so many times slower than it is known to.
static void apply_slowdown(parse *p, cl_device *d)
{
    const hb_tree *t = hb_get(p->table, "slowdown");
    d->slowdown = 1;
    if (!t) return;
    if ((t->kind == HB_REAL || t->kind == HB_INT) && t->f >= CL_LEAST_SLOWDOWN &&
        t->f <= CL_MOST_SLOWDOWN) {
        d->slowdown = t->f;
        scale(d, 1 / t->f, true);
        return;
    }
    hb_error(p->diag, p->src, t->at, "'slowdown' is how many times slower, from %g to %g",
             CL_LEAST_SLOWDOWN, CL_MOST_SLOWDOWN);
    p->ok = false;
}

bool cl_device_read(hb_arena *a, const hb_tree *t, const hb_source *src, cl_catalogue *k,
                    hb_diag *d, cl_device *out)
{
    static const char *const common[] = {"count",
                                         "numbers",
                                         "memory",
                                         "reserve",
                                         "sms",
                                         "threads",
                                         "model",
                                         "name",
                                         "kind",
                                         "f32",
                                         "tf32",
                                         "bf16",
                                         "fp16",
                                         "memory_bandwidth",
                                         "slowdown",
                                         "curves",
                                         "launch_overhead",
                                         "put_overhead"};
    static const char *const spelt[] = {"kind", "f32", "tf32", "bf16", "fp16", "memory_bandwidth"};
    (void)a;
    *out = (cl_device){.kind = CL_GPU};
    parse p = {t, src, d, true};
    int before = hb_diag_count(d);
    hb_only_keys(t, common, sizeof common / sizeof *common, src, d);
    const hb_tree *model = hb_get(t, "model"), *name = hb_get(t, "name");
    if (!model == !name) {
        wrong(&p, t->at,
              model ? "'model' and 'name' exclude each other"
                    : "a device needs 'model' (from the catalogue) or 'name'");
        return false;
    }
    if (model) {
        for (size_t i = 0; i < sizeof spelt / sizeof *spelt; i++) {
            const hb_tree *extra = hb_get(t, spelt[i]);
            if (!extra) continue;
            hb_error(d, src, extra->at, "'%s' is the catalogue's for a 'model'", spelt[i]);
            hb_hint(d, "a device of your own has 'name' instead of 'model'");
        }
        double memory = 0, reserve = -1;
        if (!cl_from_catalogue(k, model, src, out)) return false;
        quantity(&p, "memory", CL_BYTES, false, &memory);
        quantity(&p, "reserve", CL_BYTES, false, &reserve);
        if (memory > 0) out->memory = (int64_t)memory;
        if (reserve >= 0) out->reserve = (int64_t)reserve;
    } else {
        if (name->kind == HB_TEXT && name->s.n)
            out->name = name->s;
        else
            wrong(&p, name->at, "expected a name");
        figures(&p, out);
    }
    quantity(&p, "launch_overhead", CL_SECONDS, false, &out->launch_overhead);
    quantity(&p, "put_overhead", CL_SECONDS, false, &out->put_overhead);
    out->curves = hb_get(t, "curves");
    if (out->curves && (out->curves->kind != HB_TEXT || !out->curves->s.n))
        wrong(&p, out->curves->at, "expected the name of a class of measured curves");
    apply_part(&p, model != NULL, out);
    apply_slowdown(&p, out);
    if (p.ok && out->reserve >= out->memory)
        wrong(&p, t->at, "'reserve' leaves nothing of the memory");
    return p.ok && hb_diag_count(d) == before;
}
