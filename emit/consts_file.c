// consts.safetensors: the stored constants of a plan, copied from the files that the graph names.
//
// safetensors: u64 little-endian header length, JSON header {name: {dtype, shape, data_offsets}},
// data.

#include "emit/plan_folder.h"

#include <stdio.h>
#include <string.h>

#include "ir/base/tree.h"

static uint64_t length_of(const char *p)
{
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | (unsigned char)p[i];
    return n;
}

// The bytes of one tensor and its header entry's dtype.
static bool find(hb_arena *a, const char *file, hb_str name, const ir_tensor *t, hb_str *bytes,
                 hb_str *dtype, hb_str *why)
{
    hb_str all;
    const char *reason = NULL;
    if (!hb_read_file(a, file, &all, &reason)) {
        *why = hb_fmt(a, "%s: %s", file, reason);
        return false;
    }
    uint64_t head = all.n >= 8 ? length_of(all.p) : 0;
    if (all.n < 8 || head > all.n - 8) {
        *why = hb_fmt(a, "%s: not a safetensors file", file);
        return false;
    }
    hb_source src = {hb_str_c(a, file), {all.p + 8, (size_t)head}};
    hb_tree *tree = hb_json_read(a, &src, hb_diag_new(a));
    const hb_tree *entry = NULL;
    for (int i = 0; tree && tree->kind == HB_TABLE && i < tree->n; i++)
        if (hb_str_eq(tree->key[i], name)) entry = tree->v[i];
    if (!entry) {
        *why = hb_fmt(a, "%s: no tensor '%.*s'", file, HB_ARG(name));
        return false;
    }
    const hb_tree *off = hb_get(entry, "data_offsets"), *type = hb_get(entry, "dtype");
    const hb_tree *shape = hb_get(entry, "shape");
    uint64_t data = all.n - 8 - head;
    if (!off || off->kind != HB_LIST || off->n != 2 || off->v[0]->kind != HB_INT ||
        off->v[1]->kind != HB_INT || !type || type->kind != HB_TEXT || off->v[0]->i < 0 ||
        off->v[1]->i < off->v[0]->i || (uint64_t)off->v[1]->i > data) {
        *why = hb_fmt(a, "%s: the entry of '%.*s' is broken", file, HB_ARG(name));
        return false;
    }
    bool same = shape && shape->kind == HB_LIST && shape->n == t->rank;
    for (int d = 0; same && d < t->rank; d++)
        same = shape->v[d]->kind == HB_INT && shape->v[d]->i == t->dim[d];
    if (!same || off->v[1]->i - off->v[0]->i != ir_elements(t) * ir_dtype_bytes(t->dtype)) {
        *why = hb_fmt(a, "%s: '%.*s' has another shape or dtype than the graph says", file,
                      HB_ARG(name));
        return false;
    }
    *bytes = (hb_str){all.p + 8 + head + off->v[0]->i, (size_t)(off->v[1]->i - off->v[0]->i)};
    *dtype = type->s;
    return true;
}

bool emit_consts(hb_arena *a, const emit_plan *e, const char *path, bool *any, hb_str *why)
{
    const syn_program *p = e->p;
    hb_buf head = {.arena = a}, data = {.arena = a};
    *any = false;
    hb_putc(&head, '{');
    for (int i = 0; i < p->g->tensors.n; i++) {
        const ir_tensor *t = &p->g->tensors.p[i];
        if (t->kind != IR_CONST || t->init.kind != IR_INIT_STORED || p->home[i] < 0) continue;
        hb_str where = t->init.stored, name = {0};
        for (size_t k = where.n; k > 0; k--)
            if (where.p[k - 1] == '#') {
                name = (hb_str){where.p + k, where.n - k};
                where.n = k - 1;
                break;
            }
        size_t dir = e->graph_path.n;
        while (dir > 0 && e->graph_path.p[dir - 1] != '/')
            dir--;
        if (where.n > 0 && where.p[0] == '/') dir = 0;
        hb_str file = hb_fmt(a, "%.*s%.*s", (int)dir, e->graph_path.p, HB_ARG(where)), bytes, dtype;
        if (!find(a, file.p, name, t, &bytes, &dtype, why)) return false;
        if (*any) hb_putc(&head, ',');
        *any = true;
        hb_put_json(&head, t->name);
        hb_puts(&head, ":{\"dtype\":");
        hb_put_json(&head, dtype);
        hb_puts(&head, ",\"shape\":[");
        for (int d = 0; d < t->rank; d++)
            hb_printf(&head, "%s%lld", d ? "," : "", (long long)t->dim[d]);
        hb_printf(&head, "],\"data_offsets\":[%zu,%zu]}", data.n, data.n + bytes.n);
        hb_putn(&data, bytes.p, bytes.n);
    }
    if (!*any) return true;
    hb_putc(&head, '}');
    while (head.n % 8)
        hb_putc(&head, ' ');
    hb_buf all = {.arena = a};
    for (int i = 0; i < 8; i++)
        hb_putc(&all, (char)((uint64_t)head.n >> (8 * i) & 255));
    hb_putn(&all, head.p, head.n);
    hb_putn(&all, data.p, data.n);
    if (hb_write_file(path, hb_done(&all))) return true;
    *why = hb_fmt(a, "%s: cannot be written", path);
    return false;
}
