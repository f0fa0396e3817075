// safetensors: u64 little-endian header length, JSON header {name: {dtype, shape, data_offsets}},
// data.

#include "ir/stored.h"

#include <string.h>

static uint64_t length_of(const char *p)
{
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | (unsigned char)p[i];
    return n;
}

static hb_str beside(const ir_store *s, hb_str file)
{
    size_t dir = s->graph.n;
    while (dir > 0 && s->graph.p[dir - 1] != '/')
        dir--;
    if (file.n > 0 && file.p[0] == '/') dir = 0;
    return hb_fmt(s->arena, "%.*s%.*s", (int)dir, s->graph.p, HB_ARG(file));
}

static bool open_file(ir_store *s, hb_str path, const char **reason)
{
    hb_str all;
    if (s->head && hb_str_eq(s->path, path)) return true;
    if (!hb_read_file(s->arena, path.p, &all, reason)) return false;
    *reason = "not a safetensors file";
    uint64_t head = all.n >= 8 ? length_of(all.p) : 0;
    if (all.n < 8 || head > all.n - 8) return false;
    hb_source src = {path, {all.p + 8, (size_t)head}};
    const hb_tree *tree = hb_json_read(s->arena, &src, hb_diag_new(s->arena));
    if (!tree || tree->kind != HB_TABLE) return false;
    s->head = tree;
    s->path = path;
    s->data = (hb_str){all.p + 8 + head, all.n - 8 - (size_t)head};
    return true;
}

static bool find(ir_store *s, hb_str name, const ir_tensor *t, ir_array *v, hb_str *why)
{
    const hb_tree *entry = NULL;
    for (int i = 0; i < s->head->n; i++)
        if (hb_str_eq(s->head->key[i], name)) entry = s->head->v[i];
    if (!entry || entry->kind != HB_TABLE) {
        *why = hb_fmt(s->arena, "%s: no tensor '%.*s'", s->path.p, HB_ARG(name));
        return false;
    }
    const hb_tree *off = hb_get(entry, "data_offsets"), *type = hb_get(entry, "dtype");
    const hb_tree *shape = hb_get(entry, "shape");
    if (!off || off->kind != HB_LIST || off->n != 2 || off->v[0]->kind != HB_INT ||
        off->v[1]->kind != HB_INT || !type || type->kind != HB_TEXT || off->v[0]->i < 0 ||
        off->v[1]->i < off->v[0]->i || (uint64_t)off->v[1]->i > s->data.n) {
        *why = hb_fmt(s->arena, "%s: the entry of '%.*s' is broken", s->path.p, HB_ARG(name));
        return false;
    }
    bool same = shape && shape->kind == HB_LIST && shape->n == t->rank;
    for (int d = 0; same && d < t->rank; d++)
        same = shape->v[d]->kind == HB_INT && shape->v[d]->i == t->dim[d];
    if (!same || off->v[1]->i - off->v[0]->i != ir_elements(t) * ir_dtype_bytes(t->dtype)) {
        *why = hb_fmt(s->arena, "%s: '%.*s' has another shape or dtype than the graph says",
                      s->path.p, HB_ARG(name));
        return false;
    }
    v->bytes = (hb_str){s->data.p + off->v[0]->i, (size_t)(off->v[1]->i - off->v[0]->i)};
    v->dtype = type->s;
    v->path = s->path;
    return true;
}

bool ir_stored(ir_store *s, const ir_tensor *t, ir_array *v, hb_str *why)
{
    hb_str file = t->init.stored, name = {0};
    for (size_t k = file.n; k > 0; k--)
        if (file.p[k - 1] == '#') {
            name = (hb_str){file.p + k, file.n - k};
            file.n = k - 1;
            break;
        }
    hb_str path = beside(s, file);
    const char *reason = NULL, *other = NULL;
    if (open_file(s, path, &reason)) return find(s, name, t, v, why);
    if (t->init.sha256.n > 0 && open_file(s, beside(s, HB_STR("consts.safetensors")), &other))
        return find(s, t->name, t, v, why);
    *why = hb_fmt(s->arena, "%s: %s", path.p, reason);
    return false;
}
