// Reads hap.graph v1 (docs/formats.md): JSON to a graph of user ops, with located errors.

#include "ir/reader.h"

#include "ir/base/sha256.h"
#include "ir/stored.h"

#include <string.h>

static void read_batch(ir_reader *r, const hb_tree *top, const ir_options *o)
{
    static const char *const keys[] = {"B"};
    const hb_tree *t = hb_get(top, "batch");
    if (!t) {
        if (o && o->batch > 0)
            rd_error(r, (hb_pos){0, 0}, "a batch size was asked for, but the file has no 'batch'");
        return;
    }
    if (!rd_is(r, t, HB_TABLE)) return;
    hb_only_keys(t, keys, 1, r->src, r->d);
    const hb_tree *b = rd_need(r, t, "B", "'batch'", HB_INT);
    if (!b) return;
    r->batch = 1;
    if (b->i < 1 || b->i > ((int64_t)1 << 32))
        rd_error(r, b->at, "batch %lld is out of range", (long long)b->i);
    else
        r->batch = o && o->batch > 0 ? o->batch : b->i;
    r->g->batch = r->batch;
}

static bool read_kind(ir_reader *r, const hb_tree *t, ir_kind *kind)
{
    static const char *const names[] = {"input", "param", "buffer", "const", "value"};
    static const ir_kind kinds[] = {IR_INPUT, IR_PARAM, IR_BUFFER, IR_CONST, IR_VALUE};
    const hb_tree *k = rd_need(r, t, "kind", "the tensor", HB_TEXT);
    if (!k) return false;
    for (int i = 0; i < 5; i++) {
        if (hb_str_is(k->s, names[i])) {
            *kind = kinds[i];
            return true;
        }
    }
    rd_error(r, k->at, "unknown kind '%.*s'", HB_ARG(k->s));
    const char *near = hb_nearest(k->s, names, 5);
    if (near)
        hb_hint(r->d, "did you mean '%s'?", near);
    else
        hb_hint(r->d, "kinds are input, param, buffer, const, value");
    return false;
}

// Keys that a kind does not have are errors, and so are those it must have and has not.
static bool check_keys(ir_reader *r, const hb_tree *t, ir_kind kind)
{
    static const char *const all[] = {"kind", "dtype", "shape", "batch", "init", "value"};
    int before = hb_diag_count(r->d);
    hb_only_keys(t, all, 6, r->src, r->d);
    bool stored = kind == IR_PARAM || kind == IR_BUFFER;
    for (int i = 0; i < t->n; i++) {
        hb_str key = t->key[i];
        if ((hb_str_is(key, "batch") && kind != IR_INPUT) || (hb_str_is(key, "init") && !stored) ||
            (hb_str_is(key, "value") && kind != IR_CONST))
            rd_error(r, t->key_at[i], "a tensor of this kind has no '%.*s'", HB_ARG(key));
    }
    if (stored && !hb_get(t, "init")) rd_error(r, t->at, "the tensor has no 'init'");
    if (kind == IR_CONST && !hb_get(t, "value")) rd_error(r, t->at, "the tensor has no 'value'");
    return hb_diag_count(r->d) == before;
}

static void read_tensor(ir_reader *r, hb_str name, hb_pos at, const hb_tree *t)
{
    hb_map_put(r->tensors, name, IR_POISONED); // until it is found well-formed
    if (name.n == 0) rd_error(r, at, "empty text");
    if (hb_str_is(name, "__metadata__"))
        rd_error(r, at, "a name that safetensors files keep for what they say of themselves");
    if (!rd_is(r, t, HB_TABLE)) return;
    ir_tensor form = {.name = name, .batch = -1};
    ir_kind kind;
    int with_b = -1;
    if (!read_kind(r, t, &kind)) return;
    bool good = check_keys(r, t, kind);
    const hb_tree *dtype = rd_need(r, t, "dtype", "the tensor", HB_TEXT);
    const hb_tree *shape = rd_need(r, t, "shape", "the tensor", HB_LIST);
    good = dtype && rd_dtype(r, dtype, &form.dtype) && good;
    good = shape && rd_shape(r, shape, &form.rank, form.dim, &with_b) && good;
    good = good && rd_size_ok(r, shape->at, &form);
    const hb_tree *value = hb_get(t, kind == IR_CONST ? "value" : "init");
    good = (!value || rd_init(r, value, &form.init)) && good;
    if (kind == IR_INPUT) {
        const hb_tree *batch = hb_get(t, "batch");
        int64_t dim = with_b;
        if (batch && (!rd_is(r, batch, HB_INT) || !rd_int(r, batch, &dim))) {
            good = false;
        } else if (dim < -1 || dim >= form.rank) {
            rd_error(r, batch ? batch->at : t->at, "batch dim %lld of a tensor of %d dims",
                     (long long)dim, form.rank);
            good = false;
        }
        form.batch = (int)dim;
    }
    if (kind == IR_PARAM && good && form.dtype != IR_F32 && form.dtype != IR_BF16 &&
        form.dtype != IR_F16) {
        rd_error(r, dtype->at, "a parameter must be a float");
        good = false;
    }
    if (good && form.dtype == IR_U8 && (kind == IR_BUFFER || kind == IR_CONST)) {
        rd_error(r, dtype->at, "u8 is for inputs and what is read of them");
        good = false;
    }
    if (!good) return;
    int id = ir_add_tensor(r->g, name, kind, form.dtype, form.rank, form.dim);
    r->g->tensors.p[id].init = form.init;
    r->g->tensors.p[id].batch = form.batch;
    r->g->tensors.p[id].at = at;
    hb_map_put(r->tensors, name, id);
}

static void read_loss(ir_reader *r, const hb_tree *t)
{
    int id = rd_tensor(r, t);
    if (id < 0) return;
    const ir_tensor *loss = &r->g->tensors.p[id];
    if (loss->producer < 0 || loss->rank != 0 || loss->dtype != IR_F32)
        rd_error(r, t->at, "the loss must be a computed f32 scalar");
    else
        r->g->loss = id;
    r->g->tensors.p[id].at = t->at;
}

static void read_updates(ir_reader *r, const hb_tree *t)
{
    if (!rd_is(r, t, HB_TABLE)) return;
    for (int i = 0; i < t->n; i++) {
        hb_tree key = {.kind = HB_TEXT, .at = t->key_at[i], .s = t->key[i]};
        int old = rd_tensor(r, &key), next = rd_tensor(r, t->v[i]);
        if (old < 0 || next < 0) continue;
        const ir_tensor *a = &r->g->tensors.p[old], *b = &r->g->tensors.p[next];
        if (a->kind != IR_BUFFER && a->kind != IR_PARAM)
            rd_error(r, t->key_at[i], "only params and buffers are updated");
        else if (a->dtype != b->dtype || a->rank != b->rank ||
                 memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) != 0)
            rd_error(r, t->v[i]->at, "'%.*s' has not the shape and dtype of '%.*s'",
                     HB_ARG(b->name), HB_ARG(a->name));
        else
            HB_PUSH(r->a, &r->g->updates, (ir_update){old, next});
    }
}

static void read_alias(ir_reader *r, const hb_tree *t)
{
    if (!rd_is(r, t, HB_TABLE)) return;
    r->g->alias = HB_ARRAY(r->a, struct ir_alias, t->n);
    for (int i = 0; i < t->n; i++) {
        int id = rd_tensor(r, t->v[i]);
        if (hb_map_get(r->tensors, t->key[i]) != IR_UNKNOWN)
            rd_error(r, t->key_at[i], "'%.*s' is a tensor, not another name of one",
                     HB_ARG(t->key[i]));
        else if (id >= 0 && r->g->tensors.p[id].kind != IR_PARAM &&
                 r->g->tensors.p[id].kind != IR_BUFFER)
            rd_error(r, t->v[i]->at, "only params and buffers have other names");
        else if (id >= 0)
            r->g->alias[r->g->n_alias++] = (struct ir_alias){t->key[i], id};
    }
}

// Every declared value must have been produced.
static void check_values(ir_reader *r)
{
    for (int i = 0; i < r->g->tensors.n; i++) {
        const ir_tensor *t = &r->g->tensors.p[i];
        if (t->kind == IR_VALUE && t->producer < 0 && hb_map_get(r->produced_by, t->name) < 0)
            rd_error(r, t->at, "no node produces the value '%.*s'", HB_ARG(t->name));
    }
}

static void check_format(ir_reader *r, const hb_tree *top)
{
    const hb_tree *format = rd_need(r, top, "format", "the file", HB_TEXT);
    const hb_tree *version = rd_need(r, top, "version", "the file", HB_INT);
    const hb_tree *producer = hb_get(top, "producer");
    if (format && !hb_str_is(format->s, "hap.graph"))
        rd_error(r, format->at, "format is '%.*s', not 'hap.graph'", HB_ARG(format->s));
    if (version && version->i != 1)
        rd_error(r, version->at, "not supported: version %lld (this hapc reads version 1)",
                 (long long)version->i);
    if (producer && rd_is(r, producer, HB_TEXT)) r->g->producer = producer->s;
}

static void read_top(ir_reader *r, const hb_tree *top, const ir_options *o)
{
    static const char *const keys[] = {"format", "version", "producer", "tensors", "batch",
                                       "nodes",  "loss",    "updates",  "alias",   "optimizer"};
    if (!rd_is(r, top, HB_TABLE)) return;
    hb_only_keys(top, keys, 10, r->src, r->d);
    check_format(r, top);
    read_batch(r, top, o);
    const hb_tree *tensors = rd_need(r, top, "tensors", "the file", HB_TABLE);
    const hb_tree *nodes = rd_need(r, top, "nodes", "the file", HB_LIST);
    const hb_tree *loss = hb_get(top, "loss"), *updates = hb_get(top, "updates");
    const hb_tree *alias = hb_get(top, "alias"), *optimizer = hb_get(top, "optimizer");
    if (!tensors || !nodes) return;
    for (int i = 0; i < tensors->n; i++)
        read_tensor(r, tensors->key[i], tensors->key_at[i], tensors->v[i]);
    rd_nodes(r, nodes);
    check_values(r);
    if (loss) read_loss(r, loss);
    if (updates) read_updates(r, updates);
    if (alias) read_alias(r, alias);
    if (optimizer) rd_optimizer(r, optimizer);
    if (!loss && (!updates || updates->n == 0))
        rd_error(r, top->at, "neither 'loss' nor 'updates': there is nothing to compute");
    if (!loss && optimizer) rd_error(r, optimizer->at, "an optimizer needs a loss");
}

ir_graph *ir_read_source(hb_arena *a, const hb_source *src, const ir_options *o, hb_diag *d)
{
    int before = hb_diag_count(d);
    const hb_tree *top = hb_json_read(a, src, d);
    if (!top) return NULL;
    ir_graph *g = ir_graph_new(a);
    g->src = *src;
    if (o) {
        g->precision = o->precision;
        g->grad_dtype = o->grad_dtype;
        g->expert_room = o->expert_room;
    }
    g->sha = hb_str_n(a, hb_sha256_hex(a, src->text).p, 16);
    ir_reader r = {a, src, d, g, hb_map_new(a), hb_map_new(a), hb_map_new(a), 0};
    read_top(&r, top, o);
    return hb_diag_count(d) == before ? g : NULL;
}

// What the graph says the SHA-256 of must be in its file still: two graphs may name one file.
static bool stored_are_right(hb_arena *a, const ir_graph *g, hb_diag *d)
{
    int before = hb_diag_count(d);
    ir_store store = {.arena = a, .graph = g->src.name};
    for (int i = 0; i < g->tensors.n; i++) {
        const ir_tensor *t = &g->tensors.p[i];
        ir_array v;
        hb_str why;
        if (t->init.kind != IR_INIT_STORED || t->init.sha256.n == 0) continue;
        if (!ir_stored(&store, t, &v, &why)) {
            hb_error(d, &g->src, t->init.at, "%.*s", HB_ARG(why));
        } else if (!hb_str_eq(hb_sha256_hex(a, v.bytes), t->init.sha256)) {
            hb_error(d, &g->src, t->init.at,
                     "%s holds another '%.*s' than this graph was made with", v.path.p,
                     HB_ARG(t->name));
            hb_hint(d, "it may be of another graph: export this one again, to a name of its own");
        }
    }
    return hb_diag_count(d) == before;
}

ir_graph *ir_read(hb_arena *a, const char *path, const ir_options *o, hb_diag *d)
{
    const char *why;
    hb_source *src = HB_NEW(a, hb_source); // diagnostics point to it
    src->name = hb_str_c(a, path);
    if (!hb_read_file(a, path, &src->text, &why)) {
        hb_error(d, src, (hb_pos){0, 0}, "%s", why);
        return NULL;
    }
    ir_graph *g = ir_read_source(a, src, o, d);
    return g && stored_are_right(a, g, d) ? g : NULL;
}
