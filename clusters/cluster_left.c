#define _GNU_SOURCE // memrchr
// A cluster file without some of its devices: what a job goes on with when it has lost them.

#include <string.h>

#include "clusters/cluster.h"
#include "clusters/cluster_file.h"
#include "ir/base/plain.h"

typedef struct writer {
    hb_arena *arena;
    const hb_source *src;
    hb_diag *diag;
    const bool *gone;       // by rank of the file
    const double *slowdown; // by rank of the file; NULL: as it says
    const cl_cluster *of;   // the file, read
    int rank;               // the next one
    bool numbers;           // of GPUs are to be said in this machine
    int n_machines;         // so far, as the file's reader names them
    hb_buf out;
} writer;

static int whole_number(const hb_tree *table, const char *key)
{
    const hb_tree *t = hb_get(table, key);
    return t && t->kind == HB_INT ? (int)t->i : 1;
}

static void put_key(writer *w, const char *key, const hb_tree *value)
{
    if (!value) return;
    hb_printf(&w->out, ", \"%s\": ", key);
    hb_put_tree(&w->out, value);
}

// An entry of `devices` with these of its devices, by rank of the file.
static void put_devices(writer *w, const hb_tree *t, const int *of, int n, bool first)
{
    const cl_class *cls = &w->of->cls[w->of->class_of[*of]];
    hb_puts(&w->out, first ? "{" : ", {");
    for (int i = 0; i < t->n; i++) {
        if (hb_str_is(t->key[i], "count") || hb_str_is(t->key[i], "numbers")) continue;
        if (w->slowdown && hb_str_is(t->key[i], "slowdown")) continue;
        hb_put_json(&w->out, t->key[i]);
        hb_puts(&w->out, ": ");
        hb_put_tree(&w->out, t->v[i]);
        hb_puts(&w->out, ", ");
    }
    // A number in its name counts the kinds before it, of which some may be gone.
    hb_str curves = w->of->curves_of[*of];
    if (!hb_get(t, "curves") && memchr(curves.p, '#', curves.n)) {
        hb_puts(&w->out, "\"curves\": ");
        hb_put_json(&w->out, curves);
        hb_puts(&w->out, ", ");
    }
    if (w->slowdown && w->slowdown[*of] != 1)
        hb_printf(&w->out, "\"slowdown\": %.9g, ", w->slowdown[*of]);
    for (int i = 0; i < n && w->numbers && cls->kind == CL_GPU; i++)
        hb_printf(&w->out, "%s%d%s", i ? ", " : "\"numbers\": [", w->of->number_of[of[i]],
                  i + 1 < n ? "" : "], ");
    hb_printf(&w->out, "\"count\": %d}", n);
}

// What is left of an entry of `devices` whose first is rank `rank`: an entry, or one for each run
// of devices that are as slow. Returns whether anything was put.
static bool put_entry(writer *w, const hb_tree *t, int rank, bool first)
{
    int count = whole_number(t, "count"), n = 0, end = rank + count;
    int *of = HB_ARRAY(w->arena, int, count + 1);
    bool any = false;
    for (; rank < end; rank++) {
        if (w->gone[rank]) continue;
        if (n > 0 && w->slowdown && w->slowdown[*of] != w->slowdown[rank]) {
            put_devices(w, t, of, n, first);
            first = false;
            n = 0;
        }
        of[n++] = rank;
        any = true;
    }
    if (n > 0) put_devices(w, t, of, n, first);
    return any;
}

// How many devices of the list are left, from rank `first` on; n: how many there were.
static int left_of(const writer *w, const hb_tree *devices, int first, int *n)
{
    int left = 0;
    *n = 0;
    for (int i = 0; i < devices->n; i++)
        *n += whole_number(devices->v[i], "count");
    for (int r = 0; r < *n; r++)
        left += !w->gone[first + r];
    return left;
}

// Whether some of the devices that are left do not have their place as number.
static bool wants_numbers(const writer *w, int first, int n)
{
    int place = 0;
    for (int r = first; r < first + n; r++)
        if (!w->gone[r] && w->of->number_of[r] != place++) return true;
    return false;
}

// One machine of an entry's `count`. False after an error.
static bool put_machine(writer *w, const hb_tree *t, hb_str name, int copy)
{
    const hb_tree *devices = hb_get(t, "devices"), *hosts = hb_get(t, "hosts");
    const hb_tree *emulate = hb_get(t, "emulate");
    int n, left = left_of(w, devices, w->rank, &n), at = w->rank;
    w->rank += n;
    w->numbers = wants_numbers(w, at, n);
    if (left == 0) return true;
    if (emulate && left < n) {
        hb_error(w->diag, w->src, emulate->at,
                 "not supported: a machine of emulated hosts that lost some of its devices");
        return false;
    }
    hb_puts(&w->out, "  - {\"name\": ");
    hb_put_json(&w->out, name);
    if (hosts) {
        hb_puts(&w->out, ", \"hosts\": [");
        hb_put_tree(&w->out, hosts->v[copy]);
        hb_puts(&w->out, "]");
    }
    hb_puts(&w->out, ", \"devices\": [");
    bool first = true;
    for (int i = 0; i < devices->n; i++) {
        if (put_entry(w, devices->v[i], at, first)) first = false;
        at += whole_number(devices->v[i], "count");
    }
    hb_puts(&w->out, "]");
    put_key(w, "link", hb_get(t, "link"));
    put_key(w, "emulate", emulate);
    put_key(w, "peer", hb_get(t, "peer"));
    if (left < n && !hb_get(t, "peer")) // of what is left it might be another by default
        hb_printf(&w->out, ", \"peer\": %s",
                  w->of->machine[w->of->machine_of[w->rank - n]].peer ? "true" : "false");
    hb_puts(&w->out, "}\n");
    return true;
}

// An entry of `machines`, each of its `count` by itself, named as the file's reader names it.
static bool put_machines(writer *w, const hb_tree *t)
{
    const hb_tree *named = hb_get(t, "name"), *emulate = hb_get(t, "emulate");
    int count = whole_number(t, "count");
    hb_str name = named ? named->s : hb_fmt(w->arena, "m%d", w->n_machines);
    for (int k = 0; k < count; k++) {
        hb_str one = count > 1 ? hb_fmt(w->arena, "%.*s.%d", HB_ARG(name), k) : name;
        if (!put_machine(w, t, one, k)) return false;
        w->n_machines += emulate ? whole_number(emulate, "hosts") : 1;
    }
    return true;
}

hb_str cl_left(hb_arena *a, const hb_source *src, const cl_cluster *c, const bool *gone,
               const double *slowdown, hb_str curves, hb_diag *d)
{
    writer w = {.arena = a,
                .src = src,
                .diag = d,
                .gone = gone,
                .slowdown = slowdown,
                .of = c,
                .out = {.arena = a}};
    const hb_tree *t = hb_yaml_read(a, src, d), *machines = hb_get(t, "machines");
    if (!t) return (hb_str){0};
    for (int i = 0; i < t->n; i++) {
        if (hb_str_is(t->key[i], "machines")) continue;
        hb_putn(&w.out, t->key[i].p, t->key[i].n);
        hb_puts(&w.out, ": ");
        if (curves.n > 0 && hb_str_is(t->key[i], "measured"))
            hb_put_json(&w.out, curves);
        else
            hb_put_tree(&w.out, t->v[i]);
        hb_putc(&w.out, '\n');
    }
    hb_puts(&w.out, "machines:\n");
    for (int i = 0; i < machines->n; i++)
        if (!put_machines(&w, machines->v[i])) return (hb_str){0};
    return hb_done(&w.out);
}

hb_str cl_curves_beside(hb_arena *a, const cl_cluster *c)
{
    const hb_source src = {HB_STR("cluster"), c->text};
    const hb_tree *file = hb_get(hb_yaml_read(a, &src, hb_diag_new(a)), "measured");
    const char *slash =
        file && file->kind == HB_TEXT && file->s.n > 0 ? memrchr(file->s.p, '/', file->s.n) : NULL;
    const char *at = c->text.p, *end = c->text.p + c->text.n;
    if (!slash) return c->text;
    hb_str name = {slash + 1, file->s.n - (size_t)(slash + 1 - file->s.p)};
    for (int line = 1; at && line < file->at.line; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    // Behind the value's quote, if it has one. Its column counts characters, of which none is
    // shorter than a byte.
    at = at && file->at.col > 0 && file->at.col - 1 < end - at ? at + (file->at.col - 1) : NULL;
    at += at && (*at == '"' || *at == '\'');
    if (!at || (size_t)(end - at) < file->s.n || memcmp(at, file->s.p, file->s.n) != 0)
        return cl_left(a, &src, c, HB_ARRAY(a, bool, c->n_ranks + 1), NULL, name, hb_diag_new(a));
    hb_buf b = {.arena = a};
    hb_putn(&b, c->text.p, (size_t)(at - c->text.p));
    hb_putn(&b, name.p, name.n);
    hb_putn(&b, at + file->s.n, (size_t)(end - at) - file->s.n);
    return hb_done(&b);
}
