#include "clusters/cluster.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clusters/cluster_file.h"
#include "clusters/join_classes.h"
#include "clusters/units.h"
#include "ir/base/sha256.h"

// The reader of cluster files. Every part is read as far as it goes, so that one run shows all
// errors.

enum { MOST_RANKS = 1 << 16 };

typedef struct group { // an entry of `devices`
    cl_device device;
    int count;
    bool ok;
} group;

typedef struct link {
    double bandwidth, latency;
} link;

typedef struct reader {
    hb_arena *arena;
    const hb_source *src;
    hb_diag *diag;
    cl_catalogue *catalogue;
    cl_cluster *out;
    HB_VEC(cl_class) cls;
    HB_VEC(cl_machine) machine;
    HB_VEC(int) class_of;
    HB_VEC(int) machine_of;
    HB_VEC(int) number_of;
    bool has_network;
    link network;
} reader;

static void missing(reader *r, hb_pos at, const char *key)
{
    hb_error(r->diag, r->src, at, "missing key '%s'", key);
    if (strcmp(key, "latency") == 0)
        hb_hint(r->diag,
                "usual are 3 us for NVLink, 10 us for PCIe, 5 us for InfiniBand, 30 us for "
                "Ethernet; `hapc profile` measures it");
}

static bool is_table(reader *r, const hb_tree *t, const char *what)
{
    if (t->kind == HB_TABLE) return true;
    hb_error(r->diag, r->src, t->at, "expected a table: %s", what);
    return false;
}

// A whole number from 1 on; absent: 1.
static int count_of(reader *r, const hb_tree *table, const char *key)
{
    const hb_tree *t = hb_get(table, key);
    if (!t) return 1;
    if (t->kind == HB_INT && t->i >= 1 && t->i <= MOST_RANKS) return (int)t->i;
    hb_error(r->diag, r->src, t->at, "'%s' must be a whole number from 1 to %d", key, MOST_RANKS);
    return 0;
}

static bool read_link(reader *r, const hb_tree *t, link *out)
{
    static const char *const keys[] = {"bandwidth", "latency"};
    if (!is_table(r, t, "{bandwidth: 20 GB/s, latency: 10 us}")) return false;
    hb_only_keys(t, keys, 2, r->src, r->diag);
    const hb_tree *bandwidth = hb_get(t, "bandwidth"), *latency = hb_get(t, "latency");
    if (!bandwidth) missing(r, t->at, "bandwidth");
    if (!latency) missing(r, t->at, "latency");
    if (!bandwidth || !latency) return false;
    bool ok = cl_quantity(bandwidth, CL_BYTES_PER_SEC, false, r->src, r->diag, &out->bandwidth);
    return cl_quantity(latency, CL_SECONDS, true, r->src, r->diag, &out->latency) && ok;
}

// They are but for their slowdown, which rates that are equal have been divided by.
static bool same_rate(double a, double slow_a, double b, double slow_b)
{
    return slow_a == slow_b ? a == b : fabs(a * slow_a - b * slow_b) <= 1e-9 * b * slow_b;
}

static bool same_device(const cl_class *a, const cl_class *b)
{
    double s = a->slowdown, t = b->slowdown;
    return hb_str_eq(a->model, b->model) && a->kind == b->kind && same_rate(a->f32, s, b->f32, t) &&
           same_rate(a->tf32, s, b->tf32, t) && same_rate(a->bf16, s, b->bf16, t) &&
           same_rate(a->fp16, s, b->fp16, t) &&
           same_rate(a->memory_bandwidth, s, b->memory_bandwidth, t) && a->memory == b->memory &&
           a->reserve == b->reserve && a->sms == b->sms && a->threads == b->threads &&
           a->link_bandwidth == b->link_bandwidth && a->link_latency == b->link_latency &&
           a->launch_overhead == b->launch_overhead && a->put_overhead == b->put_overhead;
}

// Model and what was set but for its slowdown; where that is not unique, a number.
static hb_str curve_name(reader *r, const cl_class *c)
{
    for (int i = 0; i < r->cls.n; i++)
        if (same_device(&r->cls.p[i], c)) return r->cls.p[i].curve_name;
    hb_buf b = {.arena = r->arena};
    hb_putn(&b, c->model.p, c->model.n);
    if (c->sms) hb_printf(&b, "/%dsms", c->sms);
    if (c->threads) hb_printf(&b, "/%dt", c->threads);
    hb_str base = hb_done(&b), name = base;
    for (int k = 2, i = 0; i < r->cls.n; i++) {
        if (!hb_str_eq(r->cls.p[i].curve_name, name)) continue;
        name = hb_fmt(r->arena, "%.*s#%d", HB_ARG(base), k++);
        i = -1;
    }
    return name;
}

// The name that a cluster file gives is no other device's.
static hb_str given_name(reader *r, const cl_class *c, const hb_tree *curves)
{
    for (int i = 0; i < r->cls.n; i++) {
        const cl_class *k = &r->cls.p[i];
        if (!hb_str_eq(k->curve_name, curves->s) || same_device(k, c)) continue;
        if (curves->at.line == 0) continue; // cl_keep_names: a device was changed
        hb_error(r->diag, r->src, curves->at, "'%.*s' is what another kind of device is called",
                 HB_ARG(curves->s));
        hb_hint(r->diag, "one name is one kind of device: rates, memory, sms, threads and link");
    }
    return curves->s;
}

// The name of a class, which devices that a change made another kind share with what they were.
static hb_str name_of_its_own(reader *r, hb_str base)
{
    hb_str name = base;
    for (int k = 2, i = 0; i < r->cls.n; i++) {
        if (!hb_str_eq(r->cls.p[i].name, name)) continue;
        name = hb_fmt(r->arena, k == 2 ? "%.*s/other" : "%.*s/other%d", HB_ARG(base), k);
        k++;
        i = -1;
    }
    return name;
}

// The class of a device behind a link.
static int class_at(reader *r, const cl_device *d, link l)
{
    cl_class c = {.model = d->name,
                  .kind = d->kind,
                  .f32 = d->f32,
                  .tf32 = d->tf32,
                  .bf16 = d->bf16,
                  .fp16 = d->fp16,
                  .memory_bandwidth = d->memory_bandwidth,
                  .slowdown = d->slowdown,
                  .memory = d->memory,
                  .reserve = d->reserve,
                  .capacity = d->memory - d->reserve,
                  .sms = d->sms,
                  .threads = d->threads,
                  .units = d->sms ? d->sms : d->units,
                  .arch = d->arch,
                  .link_bandwidth = l.bandwidth,
                  .link_latency = l.latency,
                  .launch_overhead = d->launch_overhead,
                  .put_overhead = d->put_overhead,
                  .emulated = d->sms > 0,
                  .plan_only = d->plan_only};
    for (int i = 0; i < r->cls.n; i++)
        if (r->cls.p[i].slowdown == c.slowdown && same_device(&r->cls.p[i], &c) &&
            (!d->curves || hb_str_eq(r->cls.p[i].curve_name, d->curves->s)))
            return i;
    c.curve_name = c.name = d->curves ? given_name(r, &c, d->curves) : curve_name(r, &c);
    if (c.slowdown != 1)
        c.name = hb_fmt(r->arena, "%.*s/slow%.4g", HB_ARG(c.curve_name), c.slowdown);
    c.name = name_of_its_own(r, c.name);
    HB_PUSH(r->arena, &r->cls, c);
    return r->cls.n - 1;
}

static int read_devices(reader *r, const hb_tree *machine, group **out)
{
    const hb_tree *t = hb_get(machine, "devices");
    *out = NULL;
    if (!t) {
        missing(r, machine->at, "devices");
        return 0;
    }
    if (t->kind != HB_LIST || t->n == 0) {
        hb_error(r->diag, r->src, t->at, "a machine needs a list of devices, at least one");
        hb_hint(r->diag, "devices: [{model: H200, count: 4}]");
        return 0;
    }
    *out = HB_ARRAY(r->arena, group, t->n);
    for (int i = 0; i < t->n; i++) {
        group *g = &(*out)[i];
        if (!is_table(r, t->v[i], "{model: H200, count: 2}")) continue;
        g->ok = cl_device_read(r->arena, t->v[i], r->src, r->catalogue, r->diag, &g->device);
        g->count = count_of(r, t->v[i], "count");
        if (!g->count) g->ok = false;
    }
    return t->n;
}

// Numbers that a host gives its GPUs, of an entry of `devices`. False after an error.
static bool read_numbers(reader *r, const hb_tree *t, const group *g, int *number, bool *taken)
{
    if (g->device.kind != CL_GPU) {
        hb_error(r->diag, r->src, t->at, "'numbers' is for GPUs");
        return false;
    }
    if (t->kind != HB_LIST || t->n != g->count) {
        hb_error(r->diag, r->src, t->at, "'numbers' are those of %d GPU%s on their host", g->count,
                 g->count == 1 ? "" : "s");
        hb_hint(r->diag, "devices: [{model: H200, count: 3, numbers: [0, 2, 3]}]");
        return false;
    }
    for (int i = 0; i < t->n; i++) {
        const hb_tree *x = t->v[i];
        if (x->kind != HB_INT || x->i < 0 || x->i >= MOST_RANKS) {
            hb_error(r->diag, r->src, x->at, "expected the number of a GPU on its host, from 0");
            return false;
        }
        if (taken[x->i]) {
            hb_error(r->diag, r->src, x->at, "number %d is another GPU's of this machine",
                     (int)x->i);
            return false;
        }
        taken[x->i] = true;
        number[i] = (int)x->i;
    }
    return true;
}

// By device of a machine, its number on the host: as its entry says, else its place. NULL after an
// error.
static int *numbers_of(reader *r, const hb_tree *machine, const group *g, int n_groups, int n)
{
    const hb_tree *devices = hb_get(machine, "devices"), *said = NULL;
    int *number = HB_ARRAY(r->arena, int, n + 1);
    for (int i = 0; i < n_groups && !said; i++)
        said = hb_get(devices->v[i], "numbers");
    bool *taken = HB_ARRAY(r->arena, bool, said ? MOST_RANKS : 1), ok = true;
    for (int i = 0, at = 0; i < n_groups; at += g[i++].count) {
        const hb_tree *t = hb_get(devices->v[i], "numbers");
        if (t) ok = read_numbers(r, t, &g[i], number + at, taken) && ok;
        for (int k = 0; k < g[i].count && !t; k++)
            number[at + k] = at + k;
        if (!said || t || g[i].device.kind != CL_GPU) continue;
        hb_error(r->diag, r->src, devices->v[i]->at,
                 "missing key 'numbers', which other GPUs of this machine have");
        ok = false;
    }
    return ok ? number : NULL;
}

// {hosts: n}: as many machines as NCCL is to see, 1 if absent, 0 after an error.
static int read_emulate(reader *r, const hb_tree *machine, int n_devices)
{
    static const char *const keys[] = {"hosts"};
    const hb_tree *t = hb_get(machine, "emulate");
    if (!t) return 1;
    if (!is_table(r, t, "{hosts: 2}")) return 0;
    hb_only_keys(t, keys, 1, r->src, r->diag);
    const hb_tree *hosts = hb_get(t, "hosts");
    if (!hosts) {
        missing(r, t->at, "hosts");
        return 0;
    }
    if (hosts->kind != HB_INT || hosts->i < 2 || hosts->i > n_devices || n_devices % hosts->i) {
        hb_error(r->diag, r->src, hosts->at,
                 "'hosts' must be a number from 2 on that divides the machine's %d devices",
                 n_devices);
        return 0;
    }
    return (int)hosts->i;
}

// As mpirun and ssh take it for a host, and not for an option or more than one.
static bool is_host(hb_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (i == 0 || !memchr("-_.:@", c, 5))) return false;
    }
    return s.n > 0;
}

static hb_str *read_hosts(reader *r, const hb_tree *machine, int count)
{
    const hb_tree *t = hb_get(machine, "hosts");
    hb_str *host = HB_ARRAY(r->arena, hb_str, count);
    if (!t || !count) return host;
    if (t->kind != HB_LIST) {
        hb_error(r->diag, r->src, t->at, "expected a list of host names");
        return host;
    }
    if (t->n != count) {
        hb_error(r->diag, r->src, t->at, "%d host%s for %d machine%s", t->n, t->n == 1 ? "" : "s",
                 count, count == 1 ? "" : "s");
        hb_hint(r->diag, "one host for each of `count` machines, or no 'hosts' at all");
        return host;
    }
    for (int i = 0; i < count; i++) {
        if (t->v[i]->kind == HB_TEXT && is_host(t->v[i]->s)) {
            host[i] = t->v[i]->s;
            continue;
        }
        hb_error(r->diag, r->src, t->v[i]->at, "expected a host name");
        hb_hint(r->diag, "letters, digits and - _ . : @, of which the first is a letter or digit");
    }
    return host;
}

// Ranks of one machine whose devices are the flat list cls[0..n), of these numbers on the host: a
// real one, or part `part` of one that is split (-1: not split).
static void add_machine(reader *r, hb_str name, hb_str host, const int *cls, const int *number,
                        int n, int part, link l, bool peer)
{
    cl_machine m = {.name = name,
                    .host = host,
                    .first_rank = r->class_of.n,
                    .n_ranks = n,
                    .first_of_host = r->class_of.n - (part > 0 ? part * n : 0),
                    .emulated_host = part < 0 ? -1 : r->machine.n,
                    .link_bandwidth = l.bandwidth,
                    .link_latency = l.latency,
                    .peer = peer};
    for (int i = 0; i < n; i++) {
        HB_PUSH(r->arena, &r->class_of, cls[i]);
        HB_PUSH(r->arena, &r->machine_of, r->machine.n);
        HB_PUSH(r->arena, &r->number_of, number[i]);
        r->cls.p[cls[i]].n_ranks++;
    }
    HB_PUSH(r->arena, &r->machine, m);
}

// A machine of one device needs no link of its own: what leaves it takes the network, and where
// there is none nothing leaves it.
static bool link_of(reader *r, const hb_tree *machine, int n_devices, double memory_bandwidth,
                    link *out)
{
    const hb_tree *t = hb_get(machine, "link");
    if (t) return read_link(r, t, out);
    if (n_devices > 1) {
        hb_error(r->diag, r->src, machine->at, "missing key 'link' in a machine of %d devices",
                 n_devices);
        hb_hint(r->diag, "link: {bandwidth: 20 GB/s, latency: 10 us}");
        return false;
    }
    *out = r->has_network ? r->network : (link){memory_bandwidth, 0};
    return true;
}

// Whether the devices write into each other's memory: as the file says, else if all are GPUs.
static bool read_peer(reader *r, const hb_tree *machine, const group *g, int n_groups)
{
    const hb_tree *t = hb_get(machine, "peer");
    if (t && t->kind == HB_BOOL) return t->b;
    if (t) hb_error(r->diag, r->src, t->at, "'peer' is true or false");
    for (int i = 0; i < n_groups; i++)
        if (g[i].device.kind != CL_GPU) return false;
    return true;
}

static void read_machine(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"name", "count",   "hosts", "devices",
                                       "link", "emulate", "peer"};
    if (!is_table(r, t, "{name: a, devices: [{model: H200}], link: {…}}")) return;
    hb_only_keys(t, keys, 7, r->src, r->diag);
    hb_str name = hb_fmt(r->arena, "m%d", r->machine.n);
    const hb_tree *named = hb_get(t, "name");
    if (named && (named->kind != HB_TEXT || !named->s.n))
        hb_error(r->diag, r->src, named->at, "expected a name");
    else if (named)
        name = named->s;
    int count = count_of(r, t, "count");
    hb_str *host = read_hosts(r, t, count);
    group *g;
    int n_groups = read_devices(r, t, &g), n = 0;
    bool ok = n_groups > 0 && count > 0;
    for (int i = 0; i < n_groups; i++) {
        ok = ok && g[i].ok;
        n = n > MOST_RANKS ? n : n + g[i].count;
    }
    if ((int64_t)n * count + r->class_of.n > MOST_RANKS) {
        hb_error(r->diag, r->src, t->at, "more than %d ranks", MOST_RANKS);
        return;
    }
    link l;
    ok = link_of(r, t, n, ok ? g[0].device.memory_bandwidth : 1, &l) && ok;
    int parts = read_emulate(r, t, n);
    bool peer = read_peer(r, t, g, n_groups);
    const int *number = ok && parts ? numbers_of(r, t, g, n_groups, n) : NULL;
    if (!number) return;
    int *cls = HB_ARRAY(r->arena, int, n), at = 0;
    for (int i = 0; i < n_groups; i++) {
        int c = class_at(r, &g[i].device, l);
        for (int k = 0; k < g[i].count; k++)
            cls[at++] = c;
    }
    for (int k = 0; k < count; k++) {
        hb_str one = count > 1 ? hb_fmt(r->arena, "%.*s.%d", HB_ARG(name), k) : name;
        for (int p = 0; p < parts; p++) {
            hb_str part = parts > 1 ? hb_fmt(r->arena, "%.*s/%d", HB_ARG(one), p) : one;
            int first = n / parts * p;
            add_machine(r, part, host[k], cls + first, number + first, n / parts,
                        parts > 1 ? p : -1, l, peer);
        }
    }
    if (parts > 1) r->out->emulated = true;
}

static void read_source(reader *r, const hb_tree *t)
{
    r->out->source = HB_STR("datasheet");
    if (!t) return;
    if (t->kind == HB_TEXT &&
        (hb_str_is(t->s, "datasheet") || hb_glob(HB_STR("measured ?\?\?\?-?\?-?\?"), t->s))) {
        r->out->source = t->s;
        return;
    }
    hb_error(r->diag, r->src, t->at, "expected 'datasheet' or 'measured' and a date");
    hb_hint(r->diag, "source: measured 2026-11-20");
}

// Of more classes than a plan can have those are joined that are nearest to each other.
static void join_classes(reader *r, hb_pos at)
{
    int *to = HB_ARRAY(r->arena, int, r->cls.n + 1);
    hb_str *name = HB_ARRAY(r->arena, hb_str, r->cls.n + 1);
    for (int k = 0; k < r->cls.n; k++)
        name[k] = r->cls.p[k].curve_name;
    int left = cl_join_classes(r->arena, r->cls.p, r->cls.n, CL_MAX_CLASSES, to);
    if (left > CL_MAX_CLASSES)
        hb_error(r->diag, r->src, at,
                 "not supported: more than %d classes of devices that run differently (kind, sms, "
                 "threads, arithmetic)",
                 CL_MAX_CLASSES);
    r->cls.n = left;
    r->out->curves_of = HB_ARRAY(r->arena, hb_str, r->class_of.n + 1);
    for (int i = 0; i < r->class_of.n; i++) {
        r->out->curves_of[i] = name[r->class_of.p[i]];
        r->class_of.p[i] = to[r->class_of.p[i]];
    }
}

// Paths in a cluster file start at the file's folder.
static hb_str beside(hb_arena *a, hb_str file, hb_str path)
{
    size_t n = file.n;
    while (n && file.p[n - 1] != '/')
        n--;
    if (path.n && path.p[0] == '/') return path;
    return hb_fmt(a, "%.*s%.*s", (int)n, file.p, HB_ARG(path));
}

static void read_root(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"name", "machines", "network", "source", "measured"};
    if (!is_table(r, t, "name, machines, network")) return;
    hb_only_keys(t, keys, 5, r->src, r->diag);
    const hb_tree *name = hb_get(t, "name"), *machines = hb_get(t, "machines");
    const hb_tree *network = hb_get(t, "network"), *measured = hb_get(t, "measured");
    if (!name)
        missing(r, t->at, "name");
    else if (name->kind != HB_TEXT || !name->s.n)
        hb_error(r->diag, r->src, name->at, "expected a name");
    else
        r->out->name = name->s;
    read_source(r, hb_get(t, "source"));
    if (measured && measured->kind == HB_TEXT && measured->s.n)
        r->out->curves = beside(r->arena, r->src->name, measured->s);
    else if (measured)
        hb_error(r->diag, r->src, measured->at, "expected the path of a curves file");
    if (network) r->has_network = read_link(r, network, &r->network);
    if (!machines) {
        missing(r, t->at, "machines");
        return;
    }
    if (machines->kind != HB_LIST || machines->n == 0) {
        hb_error(r->diag, r->src, machines->at, "expected a list of machines, at least one");
        return;
    }
    for (int i = 0; i < machines->n; i++)
        read_machine(r, machines->v[i]);
    join_classes(r, machines->at);
    if (r->machine.n > 1 && !network) {
        hb_error(r->diag, r->src, machines->at, "%d machines need a 'network'", r->machine.n);
        hb_hint(r->diag, "network: {bandwidth: 10 Gbit/s, latency: 35 us}");
    }
}

static cl_cluster *read_changed(hb_arena *a, const hb_source *src, const char *devices_path,
                                const hb_str *change, int n, hb_diag *d)
{
    int errors = hb_diag_count(d);
    hb_tree *t = hb_yaml_read(a, src, d);
    if (!t) return NULL;
    bool measured = hb_get(t, "measured") != NULL;
    const cl_cluster *was =
        n > 0 && measured ? read_changed(a, src, devices_path, NULL, 0, hb_diag_new(a)) : NULL;
    if (was) cl_keep_names(a, t, was);
    for (int i = 0; i < n; i++)
        if (!cl_change(a, t, change[i], measured, d)) return NULL;
    reader r = {.arena = a, .src = src, .diag = d, .out = HB_NEW(a, cl_cluster)};
    r.catalogue = cl_catalogue_new(a, devices_path, src->name, d);
    read_root(&r, t);
    if (hb_diag_count(d) != errors) return NULL;
    cl_cluster *c = r.out;
    c->n_ranks = r.class_of.n;
    c->n_machines = r.machine.n;
    c->n_classes = r.cls.n;
    c->class_of = r.class_of.p;
    c->machine_of = r.machine_of.p;
    c->number_of = r.number_of.p;
    c->machine = r.machine.p;
    c->cls = r.cls.p;
    if (c->n_machines > 1) {
        c->network_bandwidth = r.network.bandwidth;
        c->network_latency = r.network.latency;
    }
    for (int i = 0; i < c->n_classes; i++)
        c->emulated = c->emulated || c->cls[i].emulated;
    c->text = src->text;
    c->sha = hb_sha256_hex(a, src->text);
    return c;
}

cl_cluster *cl_read_source(hb_arena *a, const hb_source *src, const char *devices_path, hb_diag *d)
{
    return read_changed(a, src, devices_path, NULL, 0, d);
}

cl_cluster *cl_read(hb_arena *a, const char *path, const char *devices_path, hb_diag *d)
{
    return cl_read_changed(a, path, devices_path, NULL, 0, d);
}

cl_cluster *cl_read_changed(hb_arena *a, const char *path, const char *devices_path,
                            const hb_str *change, int n, hb_diag *d)
{
    hb_source *src = HB_NEW(a, hb_source);
    const char *why;
    src->name = hb_str_c(a, path);
    if (hb_read_file(a, path, &src->text, &why))
        return read_changed(a, src, devices_path, change, n, d);
    hb_error(d, src, (hb_pos){0, 0}, "cannot be read: %s", why);
    return NULL;
}

cl_link cl_group_link(const cl_cluster *c, const int *ranks, int n, int groups_at_once)
{
    hb_assert(n >= 1 && groups_at_once >= 1);
    cl_link l = {
        .bandwidth = (double)INFINITY, .groups = groups_at_once, .peer = true, .gpus = true};
    for (int i = 0; i < n; i++) {
        const cl_class *k = &c->cls[c->class_of[ranks[i]]];
        l.crosses = l.crosses || c->machine_of[ranks[i]] != c->machine_of[ranks[0]];
        l.peer = l.peer && !l.crosses && c->machine[c->machine_of[ranks[i]]].peer;
        l.gpus = l.gpus && k->kind == CL_GPU;
        if (k->link_bandwidth < l.bandwidth) l.bandwidth = k->link_bandwidth;
        if (k->link_latency > l.latency) l.latency = k->link_latency;
    }
    if (!l.crosses) return l;
    double share = c->network_bandwidth / groups_at_once;
    if (share < l.bandwidth) l.bandwidth = share;
    if (c->network_latency > l.latency) l.latency = c->network_latency;
    return l;
}
