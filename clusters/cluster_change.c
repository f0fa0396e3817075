// "machines.old.count=0": a cluster file with one value changed, as if somebody had edited it.

#include "clusters/cluster_file.h"

#include <string.h>

// What a change is written in, for messages.
typedef struct change {
    hb_arena *arena;
    hb_source *src; // lives as long as the messages
    hb_diag *diag;
} change;

static hb_str text_of(const hb_tree *t, const char *key)
{
    const hb_tree *v = hb_get(t, key);
    return v && v->kind == HB_TEXT ? v->s : (hb_str){"", 0};
}

static void unknown(change *c, hb_pos at, hb_str part, const char *const *names, int n)
{
    hb_error(c->diag, c->src, at, "the cluster has no '%.*s' here", HB_ARG(part));
    const char *near = hb_nearest(part, names, n);
    if (near) {
        hb_hint(c->diag, "did you mean '%s'?", near);
        return;
    }
    hb_buf all = {.arena = c->arena};
    for (int i = 0; i < n; i++)
        hb_printf(&all, "%s%s", i ? ", " : "", names[i]);
    if (n > 0) hb_hint(c->diag, "there is: %s", all.p);
}

// An entry of a list of machines or devices, by name, model or number; -1 after an error.
static int entry_of(change *c, const hb_tree *list, hb_str part, hb_pos at)
{
    const char **names = HB_ARRAY(c->arena, const char *, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        hb_str name = text_of(list->v[i], "name"), model = text_of(list->v[i], "model");
        if (hb_str_eq(name, part) || hb_str_eq(model, part)) return i;
        if (hb_str_eq(hb_fmt(c->arena, "%d", i), part)) return i;
        hb_str known = name.n ? name : model;
        names[i] = known.n ? hb_str_n(c->arena, known.p, known.n).p : hb_fmt(c->arena, "%d", i).p;
    }
    unknown(c, at, part, names, list->n);
    return -1;
}

static void set_key(change *c, hb_tree *table, hb_str key, hb_tree *value)
{
    for (int i = 0; i < table->n; i++)
        if (hb_str_eq(table->key[i], key)) {
            value->at = table->v[i]->at;
            table->v[i] = value;
            return;
        }
    int n = table->n++;
    hb_tree **v = HB_ARRAY(c->arena, hb_tree *, n + 1);
    hb_str *keys = HB_ARRAY(c->arena, hb_str, n + 1);
    hb_pos *at = HB_ARRAY(c->arena, hb_pos, n + 1);
    memcpy(v, table->v, sizeof *v * (size_t)n);
    memcpy(keys, table->key, sizeof *keys * (size_t)n);
    memcpy(at, table->key_at, sizeof *at * (size_t)n);
    v[n] = value;
    keys[n] = key;
    at[n] = value->at = table->at;
    table->v = v;
    table->key = keys;
    table->key_at = at;
}

static void remove_entry(hb_tree *list, int entry)
{
    for (int i = entry; i + 1 < list->n; i++)
        list->v[i] = list->v[i + 1];
    list->n--;
}

// The value behind '=', as YAML reads it; NULL after an error.
static hb_tree *value_of(change *c, hb_str text)
{
    hb_source *src = HB_NEW(c->arena, hb_source);
    *src = (hb_source){c->src->name, text};
    hb_tree *t = hb_yaml_read(c->arena, src, c->diag);
    if (t && (t->kind == HB_LIST || t->kind == HB_TABLE)) {
        hb_error(c->diag, src, t->at, "expected one value");
        return NULL;
    }
    return t;
}

// Neither an option nor a key of the cluster file.
static void no_such(change *c, hb_pos at, hb_str part)
{
    static const char *const firsts[] = {"machines",      "network",    "batch",      "strategy",
                                         "precision",     "grad-dtype", "mesh",       "pairs",
                                         "micro-batches", "recompute",  "expert-room"};
    hb_error(c->diag, c->src, at, "'%.*s' is nothing that can be changed", HB_ARG(part));
    const char *near = hb_nearest(part, firsts, sizeof firsts / sizeof *firsts);
    if (near)
        hb_hint(c->diag, "did you mean '%s'?", near);
    else
        hb_hint(c->diag, "as in 'batch=64', 'machines.NAME.devices.MODEL.count=3', "
                         "'network.bandwidth=100 Gbit/s'");
}

// The machine has such a device.
static bool is_device(const hb_tree *machine, hb_str part)
{
    const hb_tree *list = hb_get(machine, "devices");
    for (int i = 0; list && list->kind == HB_LIST && i < list->n; i++)
        if (hb_str_eq(text_of(list->v[i], "model"), part)) return true;
    return false;
}

static void device_of(change *c, hb_pos at, hb_str text, size_t from, hb_str part)
{
    hb_error(c->diag, c->src, at, "'%.*s' is one of the machine's devices", HB_ARG(part));
    hb_hint(c->diag, "%.*sdevices.%.*s", (int)from, text.p, (int)(text.n - from), text.p + from);
}

void cl_keep_names(hb_arena *a, hb_tree *root, const cl_cluster *c)
{
    change to = {.arena = a};
    const hb_tree *machines = hb_get(root, "machines");
    for (int m = 0, rank = 0; m < machines->n; m++) {
        const hb_tree *t = machines->v[m], *devices = hb_get(t, "devices");
        const hb_tree *copies = hb_get(t, "count");
        int first = rank;
        for (int i = 0; i < devices->n; i++) {
            const hb_tree *count = hb_get(devices->v[i], "count");
            hb_tree *name = HB_NEW(a, hb_tree);
            *name = (hb_tree){.kind = HB_TEXT, .s = c->curves_of[rank]};
            if (!hb_get(devices->v[i], "curves")) {
                set_key(&to, devices->v[i], HB_STR("curves"), name);
                name->at = (hb_pos){0, 0};
            }
            rank += count ? (int)count->i : 1;
        }
        rank = first + (rank - first) * (copies ? (int)copies->i : 1);
    }
}

bool cl_change(hb_arena *a, hb_tree *root, hb_str text, bool measured, hb_diag *d)
{
    change c = {a, HB_NEW(a, hb_source), d};
    *c.src = (hb_source){HB_STR("--what-if"), text};
    const char *equals = memchr(text.p, '=', text.n);
    size_t end = equals ? (size_t)(equals - text.p) : 0;
    if (end == 0 || end + 1 == text.n) {
        hb_error(d, c.src, (hb_pos){1, 1}, "expected a place of the cluster file, = and a value");
        hb_hint(d, "as in 'machines.old.count=0' or 'network.bandwidth=100 Gbit/s'");
        return false;
    }
    hb_tree *value = value_of(&c, (hb_str){text.p + end + 1, text.n - end - 1});
    hb_tree *at = root, *list = NULL;
    int entry = -1;
    for (size_t from = 0; value && from <= end;) {
        const char *dot = memchr(text.p + from, '.', end - from);
        size_t stop = dot ? (size_t)(dot - text.p) : end;
        hb_str part = {text.p + from, stop - from};
        hb_pos pos = {1, (int)from + 1};
        if (at->kind == HB_LIST) {
            list = at;
            entry = entry_of(&c, list, part, pos);
            if (entry < 0) return false;
            at = list->v[entry];
        } else if (stop < end) {
            hb_tree *next = hb_get(at, hb_str_n(a, part.p, part.n).p);
            if (!next || (next->kind != HB_LIST && next->kind != HB_TABLE)) {
                const char **names = HB_ARRAY(a, const char *, at->n + 1);
                for (int i = 0; i < at->n; i++)
                    names[i] = hb_str_n(a, at->key[i].p, at->key[i].n).p;
                if (at == root && !hb_str_is(part, "network"))
                    no_such(&c, pos, part);
                else if (is_device(at, part))
                    device_of(&c, pos, text, from, part);
                else
                    unknown(&c, pos, part, names, at->kind == HB_TABLE ? at->n : 0);
                return false;
            }
            at = next;
        } else if (at->kind == HB_TABLE) {
            bool count = hb_str_is(part, "count"), memory = hb_str_is(part, "memory"),
                 slowdown = hb_str_is(part, "slowdown");
            if (measured && !count && !memory && !slowdown) {
                hb_error(d, c.src, pos,
                         "not supported: this cluster's times are measured curves, which do not "
                         "follow '%.*s'; count and memory may change",
                         HB_ARG(part));
                return false;
            }
            const hb_tree *old = hb_get(at, hb_str_n(a, part.p, part.n).p);
            bool number = value->kind == HB_INT || value->kind == HB_REAL;
            if (at == root && !old) {
                no_such(&c, pos, part);
                return false;
            }
            if (old && old->kind == HB_TEXT && number) {
                hb_error(d, c.src, (hb_pos){1, (int)end + 2},
                         "a value with a unit is wanted, as '%.*s'", HB_ARG(old->s));
                return false;
            }
            if (count && list && value->kind == HB_INT && value->i == 0)
                remove_entry(list, entry);
            else
                set_key(&c, at, part, value);
            return true;
        }
        from = stop + 1;
    }
    if (value) hb_error(d, c.src, (hb_pos){1, 1}, "'%.*s' holds several values", (int)end, text.p);
    return false;
}
