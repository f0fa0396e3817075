// From measured figures to the cluster file and its curves. Numbers have four digits, so that what
// is noise does not look like more; order is that of the measuring program.

#include "cli/profile_figures.h"
#include "ir/base/plain.h"

#include <math.h>
#include <string.h>

static double number(const hb_tree *t, const char *key)
{
    const hb_tree *v = hb_get(t, key);
    return v && (v->kind == HB_INT || v->kind == HB_REAL) ? v->f : 0;
}

static hb_str text(const hb_tree *t, const char *key)
{
    const hb_tree *v = hb_get(t, key);
    return v && v->kind == HB_TEXT ? v->s : (hb_str){0};
}

bool profile_read(hb_arena *a, const char *path, profile_run *r)
{
    hb_source *src = HB_NEW(a, hb_source);
    const char *why = NULL;
    hb_diag *d = hb_diag_new(a);
    src->name = hb_str_c(a, path);
    if (!hb_read_file(a, path, &src->text, &why)) {
        cli_error(CLI_FAILED, "the measuring program wrote nothing: %s: %s", path, why);
        return false;
    }
    const hb_tree *t = hb_json_read(a, src, d), *ranks = hb_get(t, "ranks"),
                  *results = hb_get(t, "results");
    bool ok = ranks && results && ranks->n == r->n;
    if (ok) r->device = HB_ARRAY(a, profile_device, r->n);
    for (int i = 0; ok && i < r->n; i++) {
        const hb_tree *gpu = hb_get(ranks->v[i], "gpu");
        r->device[i] = (profile_device){.name = text(ranks->v[i], "device"),
                                        .host = text(ranks->v[i], "host"),
                                        .gpu = gpu && gpu->b,
                                        .units = (int)number(ranks->v[i], "units"),
                                        .memory = (int64_t)number(ranks->v[i], "memory"),
                                        .reserve = (int64_t)number(ranks->v[i], "reserve")};
    }
    for (int i = 0; ok && i < results->n; i++) {
        const hb_tree *x = results->v[i], *sec = hb_get(x, "sec");
        profile_figure f = {.kind = text(x, "kind"),
                            .name = text(x, "name"),
                            .form = text(x, "form"),
                            .dtype = text(x, "dtype"),
                            .thin = number(x, "thin"),
                            .size = number(x, "size"),
                            .sec = HB_ARRAY(a, double, r->n)};
        ok = sec && sec->n == r->n;
        for (int k = 0; ok && k < r->n; k++)
            f.sec[k] = sec->v[k]->f;
        HB_PUSH(a, &r->figure, f);
    }
    if (!ok) cli_error(CLI_BUG, "%s is not what the measuring program writes; please report", path);
    return ok;
}

// --- aggregates ---

static const profile_run *whole_run(const profile *p)
{
    for (int i = 0; i < p->run.n; i++)
        if (p->run.p[i].whole) return &p->run.p[i];
    hb_bug("whole_run", __FILE__, __LINE__);
}

// Mean over the ranks of a run that `like` takes for alike; -1: none.
static double mean_of(const profile_run *r, const profile_figure *f, const int *class_of, int cls)
{
    double sum = 0;
    int n = 0;
    for (int k = 0; k < r->n; k++) {
        if (class_of && class_of[r->rank[k]] != cls) continue;
        sum += f->sec[k];
        n++;
    }
    return n ? sum / n : -1;
}

// The greatest size per second that a rank reaches.
static double best_rate(const profile *p, int rank, const char *kind, const char *op,
                        const char *dtype)
{
    double best = 0;
    for (int i = 0; i < p->run.n; i++) {
        const profile_run *r = &p->run.p[i];
        for (int k = 0; k < r->n; k++)
            for (int f = 0; f < r->figure.n && r->rank[k] == rank; f++) {
                const profile_figure *x = &r->figure.p[f];
                if (!hb_str_is(x->kind, kind) || !hb_str_is(x->name, op) ||
                    !hb_str_is(x->dtype, dtype))
                    continue;
                best = fmax(best, x->size / x->sec[k]);
            }
    }
    return best;
}

// Latency and bandwidth that all-gathers of even parts show: (n - 1) (latency + part / bandwidth);
// the bandwidth of one-sided puts where they were measured and reach more.
static bool link_of(const profile *p, bool crosses, double *bandwidth, double *latency)
{
    static const char *const forms[] = {"even", "put(1)"};
    const profile_run *best = NULL;
    for (int i = 0; i < p->run.n; i++) {
        const profile_run *r = &p->run.p[i];
        if (r->n > 1 && r->crosses == crosses && (!best || r->n > best->n)) best = r;
    }
    *bandwidth = 0;
    for (int k = 0; k < 2 && best; k++) {
        double small = 0, large = 0, bytes = 0;
        for (int f = 0; f < best->figure.n; f++) {
            const profile_figure *x = &best->figure.p[f];
            if (!hb_str_is(x->name, "all_gather") || !hb_str_is(x->form, forms[k])) continue;
            double sec = mean_of(best, x, NULL, 0);
            if (!small) small = sec;
            large = sec;
            bytes = x->size;
        }
        int n = best->n;
        if (large <= 0) continue;
        if (k == 0) *latency = small / (n - 1);
        *bandwidth = fmax(*bandwidth, (n - 1) * bytes / n / fmax(large - small, large / 2));
    }
    return *bandwidth > 0;
}

// Whether the devices of a machine write into each other's memory, as far as was measured.
static bool peers(const profile *p)
{
    for (int i = 0; i < p->run.n; i++)
        for (int f = 0; f < p->run.p[i].figure.n; f++)
            if (hb_str_is(p->run.p[i].figure.p[f].form, "put(1)")) return true;
    return false;
}

// --- the cluster file ---

static void put_quantity(hb_buf *b, double x, const char *unit)
{
    static const struct {
        double factor;
        const char *prefix;
    } step[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}};
    int i = 0;
    while (i < 2 && x < step[i].factor)
        i++;
    hb_printf(b, "%.4g %s%s", x / step[i].factor, step[i].prefix, unit);
}

static void put_memory(hb_buf *b, const profile_device *d)
{
    enum { MIB = 1 << 20 };
    hb_printf(b, ", memory: %lld MiB", (long long)(d->memory / MIB));
    if (d->reserve > 0)
        hb_printf(b, ", reserve: %lld MiB", (long long)((d->reserve + MIB - 1) / MIB));
}

static void put_device(hb_buf *b, const profile *p, int rank, const profile_device *d)
{
    if (p->model[rank].n) {
        hb_printf(b, "{model: %.*s", HB_ARG(p->model[rank]));
    } else {
        hb_str name = p->called[rank].n ? p->called[rank] : d->name;
        hb_puts(b, "{name: ");
        hb_put_json(b, name); // quoted text of YAML, too
        hb_printf(b, ", kind: %s", d->gpu ? "gpu" : "cpu");
        static const char *const dtypes[] = {"f32", "tf32", "bf16"};
        for (int t = 0; t < 3; t++) {
            double flops = best_rate(p, rank, "op", "linear", dtypes[t]);
            if (flops <= 0) continue;
            hb_printf(b, ", %s: ", dtypes[t]);
            put_quantity(b, flops, "FLOP/s");
        }
        hb_puts(b, ", memory_bandwidth: ");
        put_quantity(b, best_rate(p, rank, "copy", "copy", "f32"), "B/s");
    }
    put_memory(b, d);
    if (p->sms[rank]) hb_printf(b, ", sms: %d", p->sms[rank]);
    if (p->threads_given[rank]) hb_printf(b, ", threads: %d", d->units);
}

static bool same_device(const profile *p, const profile_run *r, int i, int j)
{
    const profile_device *x = &r->device[i], *y = &r->device[j];
    return hb_str_eq(x->name, y->name) && x->units == y->units && p->sms[i] == p->sms[j] &&
           hb_str_eq(p->model[i], p->model[j]) && hb_str_eq(p->called[i], p->called[j]) &&
           p->threads_given[i] == p->threads_given[j];
}

hb_str profile_cluster_text(hb_arena *a, const profile *p, const char *curves, const hb_str *names)
{
    const profile_run *all = whole_run(p);
    hb_buf b = {.arena = a};
    double bandwidth, latency;
    hb_puts(&b, "# Written by hapc profile.\nname: ");
    hb_put_json(&b, p->name);
    hb_puts(&b, "\nmachines:\n");
    for (int i = 0; i < p->machine.n; i++) {
        const profile_machine *m = &p->machine.p[i];
        hb_puts(&b, "  - name: ");
        hb_put_json(&b, m->name);
        hb_putc(&b, '\n');
        if (m->host.n) {
            hb_puts(&b, "    hosts: [");
            hb_put_json(&b, m->host);
            hb_puts(&b, "]\n");
        }
        hb_puts(&b, "    devices:\n");
        for (int r = m->first, n; r < m->first + m->n; r += n) {
            profile_device d = all->device[r];
            for (n = 1; r + n < m->first + m->n && same_device(p, all, r, r + n); n++) {
                const profile_device *x = &all->device[r + n]; // what all of them have
                if (x->memory < d.memory) d.memory = x->memory;
                if (x->reserve > d.reserve) d.reserve = x->reserve;
            }
            hb_puts(&b, "      - ");
            put_device(&b, p, r, &d);
            if (names && memchr(names[r].p, '#', names[r].n)) {
                hb_puts(&b, ", curves: ");
                hb_put_json(&b, names[r]);
            }
            hb_printf(&b, ", count: %d}\n", n);
        }
        if (m->n > 1 &&
            (link_of(p, false, &bandwidth, &latency) || link_of(p, true, &bandwidth, &latency))) {
            hb_puts(&b, "    link: {bandwidth: ");
            put_quantity(&b, bandwidth, "B/s");
            hb_printf(&b, ", latency: %.4g us}\n", latency * 1e6);
        }
        if (m->n > 1 && all->device[m->first].gpu && !peers(p)) hb_puts(&b, "    peer: false\n");
        if (m->parts > 1) hb_printf(&b, "    emulate: {hosts: %d}\n", m->parts);
    }
    if (link_of(p, true, &bandwidth, &latency)) {
        hb_puts(&b, "network: {bandwidth: ");
        put_quantity(&b, bandwidth, "B/s");
        hb_printf(&b, ", latency: %.4g us}\n", latency * 1e6);
    }
    hb_printf(&b, "source: measured %.*s\nmeasured: ", HB_ARG(p->date));
    hb_put_json(&b, hb_str_c(a, curves));
    hb_putc(&b, '\n');
    return hb_done(&b);
}

// --- the curves ---

static bool is_row(const profile_figure *f)
{
    return hb_str_is(f->kind, "op") || hb_str_is(f->kind, "copy");
}

// All points of an op and type of a class, in the order of their figures, sizes that repeat left
// out; false if there is none.
static bool put_points(hb_buf *b, const profile *p, const cl_cluster *c, int cls, hb_str op,
                       hb_str dtype)
{
    int n = 0;
    double size = 0;
    for (int i = 0; i < p->run.n; i++) {
        const profile_run *r = &p->run.p[i];
        for (int k = 0; k < r->figure.n; k++) {
            const profile_figure *f = &r->figure.p[k];
            if (!is_row(f) || !hb_str_eq(f->name, op) || !hb_str_eq(f->dtype, dtype)) continue;
            double sec = mean_of(r, f, c->class_of, cls);
            if (sec < 0 || (n && (f->thin > 0 ? f->size == size : f->size <= size))) continue;
            hb_puts(b, n++ ? "," : "[");
            if (f->thin > 0) hb_printf(b, "[%.6g,%.9g,%.4g]", f->thin, f->size, sec);
            if (f->thin <= 0) hb_printf(b, "[%.9g,%.4g]", f->size, sec);
            size = f->size;
        }
    }
    if (n) hb_putc(b, ']');
    return n > 0;
}

static void put_op(hb_buf *out, hb_arena *a, const profile *p, const cl_cluster *c, int cls,
                   const char *as, hb_str op, bool *any)
{
    static const char *const dtypes[] = {"f32", "tf32", "bf16"};
    bool opened = false;
    for (int t = 0; t < 3; t++) {
        hb_buf points = {.arena = a};
        if (!put_points(&points, p, c, cls, op, hb_str_c(a, dtypes[t]))) continue;
        if (!opened) hb_printf(out, "%s\n    \"%s\":{", *any ? "," : "", as);
        hb_printf(out, "%s\"%s\":", opened ? "," : "", dtypes[t]);
        hb_putn(out, points.p, points.n);
        opened = *any = true;
    }
    if (opened) hb_putc(out, '}');
}

static void put_class(hb_buf *out, hb_arena *a, const profile *p, const cl_cluster *c, int cls)
{
    hb_map *done = hb_map_new(a);
    bool any = false;
    hb_put_json(out, c->cls[cls].name);
    hb_puts(out, ":{");
    for (int i = 0; i < p->run.n; i++)
        for (int k = 0; k < p->run.p[i].figure.n; k++) {
            const profile_figure *f = &p->run.p[i].figure.p[k];
            if (!is_row(f) || hb_map_get(done, f->name) >= 0) continue;
            hb_map_put(done, f->name, 0);
            put_op(out, a, p, c, cls, hb_fmt(a, "%.*s", HB_ARG(f->name)).p, f->name, &any);
        }
    put_op(out, a, p, c, cls, "other", HB_STR("add"), &any);
    hb_puts(out, "}");
}

// The points of a kind and form in a run. False: it has none.
static bool put_run(hb_buf *out, const profile_run *r, const profile_figure *f, bool first)
{
    int points = 0;
    double size = 0;
    for (int j = 0; j < r->figure.n; j++) {
        const profile_figure *x = &r->figure.p[j];
        if (!hb_str_eq(x->name, f->name) || !hb_str_eq(x->form, f->form) || x->size <= size)
            continue;
        if (!points++)
            hb_printf(out,
                      "%s\n  {\"kind\":\"%.*s\",\"form\":\"%.*s\",\"n\":%d,"
                      "\"axis_kind\":\"%s\",\"points\":[",
                      first ? "" : ",", HB_ARG(f->name), HB_ARG(f->form), r->n,
                      r->crosses ? "between" : "inside");
        hb_printf(out, "%s[%.9g,%.4g]", points > 1 ? "," : "", x->size, mean_of(r, x, NULL, 0));
        size = x->size;
    }
    if (points) hb_puts(out, "]}");
    return points > 0;
}

// Curves of one kind and form, by number of ranks. Fewer ranks may have forms that all have not:
// copies in flight to every other one.
static void put_collectives(hb_buf *out, hb_arena *a, const profile *p)
{
    bool any = false;
    hb_map *done = hb_map_new(a);
    for (int at = 0; at < p->run.n; at++)
        for (int k = 0; k < p->run.p[at].figure.n; k++) {
            const profile_figure *f = &p->run.p[at].figure.p[k];
            hb_str key = hb_fmt(a, "%.*s %.*s", HB_ARG(f->name), HB_ARG(f->form));
            if (!hb_str_is(f->kind, "collective") || hb_map_get(done, key) >= 0) continue;
            hb_map_put(done, key, 0);
            for (int crosses = 0; crosses < 2; crosses++)
                for (int n = 2; n <= p->n_ranks; n++)
                    for (int i = 0; i < p->run.n; i++) {
                        const profile_run *r = &p->run.p[i];
                        if (r->n != n || r->crosses != (crosses == 1)) continue;
                        if (!put_run(out, r, f, !any)) continue;
                        any = true;
                        break;
                    }
        }
}

// {class, figures of a kind and form, each at least `least`} by class, after others if `any`. The
// first two names are there or nothing is; a third may be.
static bool put_by_class(hb_buf *out, const profile_run *r, const cl_cluster *c, const char *kind,
                         const char *form, const char *const name[3], double least, bool any)
{
    const profile_figure *x[3] = {NULL, NULL, NULL};
    for (int k = 0; k < r->figure.n; k++) {
        const profile_figure *f = &r->figure.p[k];
        if (!hb_str_is(f->kind, kind) || !hb_str_is(f->form, form)) continue;
        for (int i = 0; i < 3; i++)
            if (name[i] && hb_str_is(f->name, name[i])) x[i] = f;
    }
    for (int i = 0; i < c->n_classes && x[0] && x[1]; i++) {
        hb_printf(out, "%s\n  {\"class\":", any ? "," : "");
        hb_put_json(out, c->cls[i].name);
        if (form[0]) hb_printf(out, ",\"form\":\"%s\"", form);
        for (int k = 0; k < 3 && x[k]; k++)
            hb_printf(out, ",\"%s\":%.4g", name[k], fmax(least, mean_of(r, x[k], c->class_of, i)));
        hb_putc(out, '}');
        any = true;
    }
    return any;
}

hb_str profile_curves_text(hb_arena *a, const profile *p, const cl_cluster *c)
{
    const profile_run *all = whole_run(p);
    hb_buf b = {.arena = a};
    hb_puts(&b, "{\"format\":\"hap.curves\",\"version\":1,\n\"classes\":{");
    for (int i = 0; i < c->n_classes; i++) {
        hb_puts(&b, i ? ",\n  " : "\n  ");
        put_class(&b, a, p, c, i);
    }
    hb_puts(&b, "},\n\"collectives\":[");
    put_collectives(&b, a, p);
    hb_puts(&b, "],\n\"contention\":[");
    for (int put = 0, any = 0; put < 2; put++)
        any = put_by_class(&b, all, c, "contention", put ? "put" : "",
                           (const char *[]){"compute", "communication", "fresh"}, 1, any);
    hb_puts(&b, "],\n\"pairs\":[");
    put_by_class(&b, all, c, "pair", "", (const char *[3]){"gap", "flag"}, 0, false);
    hb_puts(&b, "],\n\"runs\":[");
    put_by_class(&b, all, c, "run", "", (const char *[3]){"put", "pack"}, 0, false);
    hb_puts(&b, "],\n\"launch_overheads\":[");
    put_by_class(&b, all, c, "overhead", "", (const char *[3]){"library", "put"}, 0, false);
    hb_puts(&b, "]}\n");
    return hb_done(&b);
}
