// Reader of what haprt-record writes: JSON lines, one a call (docs/formats.md, "Record").
//
// Strict: unknown calls, unknown or missing keys, ids that were not declared and calls outside
// their place are errors. Ids become indices of the record's tensors. Declarations stand before
// hap_next_step (true), the step between it and hap_next_step (false), hap_finish last.

#include <math.h>
#include <string.h>

#include "ir/base/tree.h"
#include "synth/certify/record.h"

typedef struct table {
    int n;
    int64_t *v;
} table;

typedef struct reader {
    hb_arena *a;
    hb_diag *d;
    hb_source *src;      // the line: diagnostics keep the pointer
    const hb_tree *line; // the call being read
    record *r;
    HB_VEC(int) ids;      // by tensor: the program's id
    HB_VEC(table) tables; // that were spelt out
    int step;             // 0 before, 1 inside, 2 behind, 3 finished
    bool init, math, mesh, classes, segments;
} reader;

static bool fail(reader *x, const hb_tree *at, const char *what)
{
    hb_error(x->d, x->src, at ? at->at : x->line->at, "%s", what);
    return false;
}

static const hb_tree *need(reader *x, const hb_tree *t, const char *key, hb_kind kind)
{
    const hb_tree *v = hb_get(t, key);
    if (v && v->kind == kind) return v;
    hb_error(x->d, x->src, v ? v->at : t->at, "'%s' is %s", key, v ? "of another kind" : "missing");
    return NULL;
}

static bool read_int(reader *x, const hb_tree *t, const char *key, int64_t *out)
{
    const hb_tree *v = need(x, t, key, HB_INT);
    if (v) *out = v->i;
    return v != NULL;
}

static bool small_int(reader *x, const hb_tree *t, const char *key, int *out)
{
    int64_t v = 0;
    if (!read_int(x, t, key, &v)) return false;
    if (v < INT32_MIN || v > INT32_MAX) return fail(x, hb_get(t, key), "the number is too large");
    *out = (int)v;
    return true;
}

// A number, or "inf", "-inf", "nan".
static bool real_of(reader *x, const hb_tree *v, double *out)
{
    if (v->kind == HB_INT || v->kind == HB_REAL) {
        *out = v->f;
        return true;
    }
    if (v->kind == HB_TEXT && (hb_str_is(v->s, "inf") || hb_str_is(v->s, "-inf"))) {
        *out = v->s.p[0] == '-' ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (v->kind == HB_TEXT && hb_str_is(v->s, "nan")) {
        *out = (double)NAN;
        return true;
    }
    return fail(x, v, "a number is wanted");
}

static bool read_real(reader *x, const char *key, double *out)
{
    const hb_tree *v = hb_get(x->line, key);
    if (!v) {
        hb_error(x->d, x->src, x->line->at, "'%s' is missing", key);
        return false;
    }
    return real_of(x, v, out);
}

static bool read_text(reader *x, const char *key, hb_str *out)
{
    const hb_tree *v = need(x, x->line, key, HB_TEXT);
    if (v) *out = hb_str_n(x->a, v->s.p, v->s.n);
    return v != NULL;
}

static bool read_ints(reader *x, const hb_tree *list, int64_t *out)
{
    for (int i = 0; i < list->n; i++) {
        if (list->v[i]->kind != HB_INT) return fail(x, list->v[i], "an integer is wanted");
        out[i] = list->v[i]->i;
    }
    return true;
}

static bool keys(reader *x, const char *const *names, int n)
{
    int before = hb_diag_count(x->d);
    const char *all[16] = {"i", "source", "line", "call"};
    hb_assert(n + 4 <= 16);
    for (int i = 0; i < n; i++)
        all[4 + i] = names[i];
    hb_only_keys(x->line, all, n + 4, x->src, x->d);
    return hb_diag_count(x->d) == before;
}

#define KEYS(x, ...)                                                                               \
    keys((x), (const char *const[]){__VA_ARGS__},                                                  \
         (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

// --- tensors

static int index_of(const reader *x, int64_t id)
{
    if (id >= 0 && id < x->ids.n && x->ids.p[id] == id) return (int)id; // numbered in order
    for (int i = 0; i < x->ids.n; i++)
        if (x->ids.p[i] == id) return i;
    return -1;
}

static bool tensor_of(reader *x, const hb_tree *v, bool optional, int *out)
{
    *out = -1;
    if (v->kind == HB_NULL && optional) return true;
    if (v->kind != HB_INT) return fail(x, v, "the id of a tensor is wanted");
    *out = index_of(x, v->i);
    return *out >= 0 || fail(x, v, "no tensor has this id");
}

static bool read_tensor(reader *x, const char *key, bool optional, int *out)
{
    const hb_tree *v = hb_get(x->line, key);
    if (!v) {
        hb_error(x->d, x->src, x->line->at, "'%s' is missing", key);
        return false;
    }
    return tensor_of(x, v, optional, out);
}

static bool read_tensors(reader *x, const char *key, int max, bool optional, int *n, int **out)
{
    const hb_tree *v = need(x, x->line, key, HB_LIST);
    if (!v) return false;
    if (v->n > max) return fail(x, v, "the list is too long");
    *n = v->n;
    *out = HB_ARRAY(x->a, int, v->n + 1);
    for (int i = 0; i < v->n; i++)
        if (!tensor_of(x, v->v[i], optional, &(*out)[i])) return false;
    return true;
}

// The numbers of a table; an integer: those of the table that was the I-th to be spelt out.
static bool read_table(reader *x, const hb_tree *t, rec_dim *d)
{
    const hb_tree *v = hb_get(t, "table");
    if (v && v->kind == HB_INT) {
        if (v->i < 0 || v->i >= x->tables.n) return fail(x, v, "there is no table of this number");
        d->table = x->tables.p[v->i].v;
        d->n_table = x->tables.p[v->i].n;
        return true;
    }
    v = need(x, t, "table", HB_LIST);
    if (!v) return false;
    d->n_table = v->n;
    d->table = HB_ARRAY(x->a, int64_t, v->n + 1);
    if (!read_ints(x, v, d->table)) return false;
    HB_PUSH(x->a, &x->tables, ((table){d->n_table, d->table}));
    return true;
}

static bool read_dim(reader *x, const hb_tree *t, rec_dim *d)
{
    static const char *const names[] = {"n", "outer", "inner", "axis", "table"};
    *d = (rec_dim){.outer = 1, .inner = 1, .axis = -1};
    if (t->kind != HB_TABLE) return fail(x, t, "a dim is wanted");
    hb_only_keys(t, names, 5, x->src, x->d);
    if (!read_int(x, t, "n", &d->n)) return false;
    if (!hb_get(t, "axis")) return t->n == 1 || fail(x, t, "a whole dim has only 'n'");
    if (!small_int(x, t, "axis", &d->axis) || !read_int(x, t, "outer", &d->outer) ||
        !read_int(x, t, "inner", &d->inner))
        return false;
    if (d->axis < 0 || d->axis > SYN_MAX_AXES) return fail(x, t, "no such axis");
    return read_table(x, t, d);
}

static bool read_at(reader *x)
{
    rec_tensor t = {.id = x->r->tensors.n};
    int id = 0;
    hb_str seg, dtype;
    if (!x->segments || x->step > 0) return fail(x, NULL, "a tensor is declared out of place");
    const hb_tree *off = need(x, x->line, "off", HB_LIST),
                  *dims = need(x, x->line, "dims", HB_LIST);
    if (!KEYS(x, "id", "seg", "off", "dtype", "dims") || !off || !dims ||
        !small_int(x, x->line, "id", &id) || !small_int(x, x->line, "line", &t.line) ||
        !read_text(x, "seg", &seg) || !read_text(x, "dtype", &dtype))
        return false;
    if (index_of(x, id) >= 0) return fail(x, NULL, "a tensor of this id exists");
    if (!hb_str_is(seg, "SEG_SYM") && !hb_str_is(seg, "SEG_LOCAL"))
        return fail(x, NULL, "no such segment");
    if (!ir_dtype_parse(dtype, &t.dtype)) return fail(x, hb_get(x->line, "dtype"), "no such dtype");
    if (off->n != x->r->n_classes) return fail(x, off, "one offset a class is wanted");
    if (dims->n > IR_MAX_RANK) return fail(x, dims, "too many dims");
    t.seg = hb_str_is(seg, "SEG_LOCAL");
    t.rank = dims->n;
    if (!read_ints(x, off, t.off)) return false;
    for (int i = 0; i < dims->n; i++)
        if (!read_dim(x, dims->v[i], &t.dim[i])) return false;
    HB_PUSH(x->a, &x->ids, id);
    HB_PUSH(x->a, &x->r->tensors, t);
    return true;
}

// --- the start

static bool read_init(reader *x)
{
    x->init = true;
    return KEYS(x, "graph", "ranks") && read_text(x, "graph", &x->r->graph_sha) &&
           small_int(x, x->line, "ranks", &x->r->n_ranks) &&
           (x->r->n_ranks > 0 || fail(x, NULL, "a program of no ranks"));
}

// Of stages a record is of one.
static bool read_stages(reader *x)
{
    return KEYS(x, "stages", "stage", "ranks") &&
           small_int(x, x->line, "stages", &x->r->n_stages) &&
           small_int(x, x->line, "stage", &x->r->stage) &&
           small_int(x, x->line, "ranks", &x->r->n_ranks) &&
           (x->r->n_ranks > 0 || fail(x, NULL, "a stage of no ranks"));
}

static bool read_math(reader *x)
{
    hb_str mode;
    x->math = true;
    if (x->mesh) return fail(x, NULL, "called after hap_mesh");
    if (!KEYS(x, "mode") || !read_text(x, "mode", &mode)) return false;
    x->r->tf32 = hb_str_is(mode, "tf32");
    return x->r->tf32 || hb_str_is(mode, "f32") || fail(x, NULL, "no such mode");
}

static bool read_mesh(reader *x)
{
    const hb_tree *sizes = need(x, x->line, "sizes", HB_LIST);
    x->mesh = true;
    if (!KEYS(x, "sizes") || !sizes) return false;
    if (sizes->n < 1 || sizes->n > SYN_MAX_AXES)
        return fail(x, sizes, "one or two axes are wanted");
    int64_t v[SYN_MAX_AXES];
    if (!read_ints(x, sizes, v)) return false;
    x->r->n_axes = sizes->n;
    for (int i = 0; i < sizes->n; i++) {
        if (v[i] < 1 || v[i] > INT32_MAX) return fail(x, sizes, "no such size of an axis");
        x->r->size[i] = (int)v[i];
    }
    return true;
}

static bool read_classes(reader *x)
{
    const hb_tree *list = need(x, x->line, "class_of_rank", HB_LIST);
    x->classes = true;
    if (!KEYS(x, "class_of_rank", "class", "rank") || !list) return false;
    if (list->n != x->r->n_ranks) return fail(x, list, "one class a rank is wanted");
    int64_t *v = HB_ARRAY(x->a, int64_t, list->n + 1);
    if (!read_ints(x, list, v)) return false;
    x->r->class_of = HB_ARRAY(x->a, int, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        if (v[i] < 0 || v[i] >= CL_MAX_CLASSES) return fail(x, list, "no such class");
        x->r->class_of[i] = (int)v[i];
        if (v[i] >= x->r->n_classes) x->r->n_classes = (int)v[i] + 1;
    }
    return true;
}

static bool read_segments(reader *x)
{
    const hb_tree *list = need(x, x->line, "local_bytes", HB_LIST);
    x->segments = true;
    if (!KEYS(x, "sym_bytes", "local_bytes") || !list ||
        !read_int(x, x->line, "sym_bytes", &x->r->sym_bytes))
        return false;
    if (!x->classes || list->n != x->r->n_classes)
        return fail(x, list, "one size a class is wanted");
    return read_ints(x, list, x->r->local_bytes);
}

// --- calls

static bool put(reader *x, const rec_call *k)
{
    HB_PUSH(x->a, &x->r->calls, *k);
    return true;
}

static bool read_fill(reader *x, rec_call *k)
{
    static const char *const kinds[] = {"const", "normal", "uniform", "iota"};
    hb_str kind;
    if (!read_text(x, "fill", &kind) || !read_real(x, "a", &k->num[1]) ||
        !read_real(x, "b", &k->num[2]))
        return false;
    for (int i = 0; i < 4; i++)
        if (hb_str_is(kind, kinds[i])) {
            k->num[0] = i;
            return true;
        }
    return fail(x, hb_get(x->line, "fill"), "no such fill");
}

static bool read_declaration(reader *x, rec_call *k, bool file)
{
    bool fill = !file && (k->kind == REC_PARAM || k->kind == REC_BUFFER || k->kind == REC_CONST);
    bool known = fill   ? KEYS(x, "name", "tensor", "fill", "a", "b")
                 : file ? KEYS(x, "name", "tensor", "file")
                        : KEYS(x, "name", "tensor");
    k->n_in = 1;
    k->in = HB_ARRAY(x->a, int, 1);
    return known && read_text(x, "name", &k->name) && read_tensor(x, "tensor", false, k->in) &&
           (!fill || read_fill(x, k)) && (!file || read_text(x, "file", &k->text)) && put(x, k);
}

static bool read_attr(reader *x, const hb_tree *v, ir_attr_kind kind, ir_attr *out)
{
    out->kind = kind;
    switch (kind) {
    case IR_ATTR_REAL:
        return real_of(x, v, &out->f);
    case IR_ATTR_INT:
    case IR_ATTR_BOOL:
    case IR_ATTR_DTYPE:
        out->i = v->kind == HB_BOOL ? v->b : v->i;
        return v->kind == HB_INT || (v->kind == HB_BOOL && kind == IR_ATTR_BOOL) ||
               fail(x, v, "an integer is wanted");
    case IR_ATTR_INTS:
        if (v->kind == HB_INT && v->i == 0) return true; // the empty list
        if (v->kind != HB_LIST) return fail(x, v, "a list of integers is wanted");
        if (v->n > (int)(sizeof out->v / sizeof *out->v)) return fail(x, v, "the list is too long");
        out->n = v->n;
        return read_ints(x, v, out->v);
    }
    return false;
}

static bool read_op(reader *x, hb_str name)
{
    rec_call k = {.kind = REC_OP, .op = ir_op_parse(name), .scratch = -1};
    if (k.op < 0 || k.op >= IR_N_OPS) return fail(x, hb_get(x->line, "call"), "no such op");
    const ir_op_info *row = ir_op_of((ir_op)k.op);
    const hb_tree *attrs = need(x, x->line, "attrs", HB_LIST);
    if (!KEYS(x, "out", "in", "attrs") || !attrs || !small_int(x, x->line, "line", &k.line) ||
        !read_tensors(x, "out", IR_MAX_OUT, false, &k.n_out, &k.out) ||
        !read_tensors(x, "in", IR_MAX_IN, true, &k.n_in, &k.in))
        return false;
    ir_attr *attr = HB_ARRAY(x->a, ir_attr, row->n_attr);
    k.attr = attr;
    if (attrs->n != row->n_attr) return fail(x, attrs, "the op has another number of attributes");
    for (int i = 0; i < attrs->n; i++)
        if (!read_attr(x, attrs->v[i], row->attr[i].kind, &attr[i])) return false;
    return put(x, &k);
}

static bool read_axes(reader *x, rec_call *k)
{
    int axes = 0;
    if (!small_int(x, x->line, "axes", &axes)) return false;
    k->axes = (unsigned)axes;
    return axes > 0 || fail(x, hb_get(x->line, "axes"), "an axis mask is wanted");
}

static bool read_local(reader *x, rec_kind kind)
{
    rec_call k = {.kind = kind, .scratch = -1};
    bool known = kind == REC_PARTIAL ? KEYS(x, "axes", "out", "in") : KEYS(x, "out", "in");
    return known && (kind != REC_PARTIAL || read_axes(x, &k)) &&
           small_int(x, x->line, "line", &k.line) &&
           read_tensors(x, "out", 1, false, &k.n_out, &k.out) &&
           read_tensors(x, "in", 1, false, &k.n_in, &k.in) && put(x, &k);
}

static bool read_start(reader *x, cost_coll coll, bool max)
{
    static const char *const forms[COST_PUTS + 1] = {"EVEN",      "PADDED", "GROUPED",   "SENDRECV",
                                                     "EVEN_FLAT", "FLAT",   "TWO_LEVEL", "PUT"};
    rec_call k = {.kind = REC_START, .coll = coll, .reduce_max = max};
    hb_str form;
    if (!KEYS(x, "axes", "form", "dst", "src", "scratch", "event", "stream") || !read_axes(x, &k) ||
        !read_text(x, "form", &form) || !small_int(x, x->line, "line", &k.line) ||
        !read_tensors(x, "dst", INT32_MAX, false, &k.n_out, &k.out) ||
        !read_tensors(x, "src", INT32_MAX, false, &k.n_in, &k.in) ||
        !read_tensor(x, "scratch", true, &k.scratch) || !small_int(x, x->line, "event", &k.event))
        return false;
    if (!cost_form_read(form, forms, &k.form))
        return fail(x, hb_get(x->line, "form"), "no such form");
    return put(x, &k);
}

static bool read_wait(reader *x)
{
    rec_call k = {.kind = REC_WAIT, .scratch = -1};
    return KEYS(x, "event") && small_int(x, x->line, "line", &k.line) &&
           small_int(x, x->line, "event", &k.event) && put(x, &k);
}

static bool read_fuse(reader *x)
{
    rec_call k = {.kind = REC_FUSE, .scratch = -1};
    return KEYS(x, "kernel") && small_int(x, x->line, "line", &k.line) &&
           read_text(x, "kernel", &k.name) && put(x, &k);
}

static bool read_fused(reader *x)
{
    rec_call k = {.kind = REC_FUSED, .scratch = -1};
    return KEYS(x, "kept") && small_int(x, x->line, "line", &k.line) &&
           read_tensors(x, "kept", SYN_MAX_FUSION * IR_MAX_OUT, false, &k.n_in, &k.in) &&
           put(x, &k);
}

// [[distance, weight], [distance, weight, via] ...]
static bool read_chunks(reader *x, rec_call *k)
{
    const hb_tree *list = need(x, x->line, "chunks", HB_LIST);
    if (!list || !small_int(x, x->line, "line", &k->line)) return false;
    k->n_chunks = list->n;
    k->chunk = hb_alloc(x->a, sizeof *k->chunk * (size_t)(list->n + 1));
    for (int i = 0; i < list->n; i++) {
        const hb_tree *g = list->v[i];
        bool ints = g->kind == HB_LIST && (g->n == 2 || g->n == 3);
        for (int j = 0; ints && j < g->n; j++)
            ints = g->v[j]->kind == HB_INT;
        if (!ints) return fail(x, g, "a chunk is [distance, weight] or [distance, weight, via]");
        for (int j = 0; j < 3; j++)
            k->chunk[i][j] = j < g->n ? g->v[j]->i : 0;
    }
    return true;
}

static bool read_overlap(reader *x)
{
    rec_call k = {.kind = REC_OVERLAP, .scratch = -1};
    return KEYS(x, "chunks") && read_chunks(x, &k) && put(x, &k);
}

static bool read_tiles(reader *x)
{
    static const char *const names[] = {"rows", "cols", "how"};
    rec_call k = {.kind = REC_TILES, .scratch = -1};
    for (int i = 0; i < 3; i++) {
        int n;
        if (!small_int(x, x->line, names[i], &n)) return false;
        k.tile[i] = n;
    }
    return KEYS(x, "rows", "cols", "how", "chunks") && read_chunks(x, &k) && put(x, &k);
}

static bool read_overlapped(reader *x)
{
    rec_call k = {.kind = REC_OVERLAPPED, .scratch = -1};
    return keys(x, NULL, 0) && small_int(x, x->line, "line", &k.line) && put(x, &k);
}

static bool read_numbers(reader *x, rec_call *k)
{
    if (k->kind == REC_SCHEDULE) {
        bool good = keys(x, ir_schedule_names, IR_SCHEDULE);
        for (int i = 0; good && i < IR_SCHEDULE; i++)
            good = read_real(x, ir_schedule_names[i], &k->num[i]);
        return good && put(x, k);
    }
    return KEYS(x, "rows", "tokens_per_row") && read_real(x, "rows", &k->num[0]) &&
           read_real(x, "tokens_per_row", &k->num[1]) && put(x, k);
}

static bool read_next_step(reader *x)
{
    const hb_tree *more = need(x, x->line, "more", HB_BOOL);
    if (!KEYS(x, "more") || !more) return false;
    if (more->b != (x->step == 0) || x->step > 1)
        return fail(x, NULL, "one step is wanted, no more and no less");
    x->step++;
    return true;
}

static bool read_finish(reader *x)
{
    if (x->step != 2) return fail(x, NULL, "the program ends before its step");
    x->step = 3;
    return true;
}

static bool starts_with(hb_str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n > n && memcmp(s.p, prefix, n) == 0;
}

static bool read_named(reader *x, hb_str call, bool *known)
{
    static const struct {
        const char *name;
        rec_kind kind;
    } decl[] = {{"hap_input", REC_INPUT},   {"hap_param", REC_PARAM}, {"hap_state", REC_STATE},
                {"hap_buffer", REC_BUFFER}, {"hap_const", REC_CONST}, {"hap_const_file", REC_CONST},
                {"hap_grad", REC_GRAD}};
    rec_call k = {.scratch = -1};
    if (!small_int(x, x->line, "line", &k.line)) return false;
    if (hb_get(x->line, "source") && !read_text(x, "source", &k.file)) return false;
    for (size_t i = 0; i < sizeof decl / sizeof *decl; i++) {
        if (!hb_str_is(call, decl[i].name)) continue;
        k.kind = decl[i].kind;
        return read_declaration(x, &k, hb_str_is(call, "hap_const_file"));
    }
    if (hb_str_is(call, "hap_alias")) {
        k.kind = REC_ALIAS;
        return KEYS(x, "name", "of") && read_text(x, "name", &k.name) &&
               read_text(x, "of", &k.text) && put(x, &k);
    }
    if (hb_str_is(call, "hap_loss")) {
        k.kind = REC_LOSS;
        k.n_in = 1;
        k.in = HB_ARRAY(x->a, int, 1);
        return KEYS(x, "tensor") && read_tensor(x, "tensor", false, k.in) && put(x, &k);
    }
    if (hb_str_is(call, "hap_batch") || hb_str_is(call, "hap_schedule")) {
        k.kind = hb_str_is(call, "hap_batch") ? REC_BATCH : REC_SCHEDULE;
        return read_numbers(x, &k);
    }
    *known = false;
    return true;
}

static bool read_step_call(reader *x, hb_str call, bool *known)
{
    static const struct {
        const char *name;
        cost_coll coll;
        bool max;
    } coll[] = {{"coll_all_gather_start", COST_ALL_GATHER, false},
                {"coll_reduce_scatter_start", COST_REDUCE_SCATTER, false},
                {"coll_all_reduce_start", COST_ALL_REDUCE, false},
                {"coll_all_reduce_max_start", COST_ALL_REDUCE, true},
                {"coll_all_to_all_start", COST_ALL_TO_ALL, false},
                {"coll_reshard_start", COST_RESHARD, false}};
    if (starts_with(call, "op_")) return read_op(x, (hb_str){call.p + 3, call.n - 3});
    for (size_t i = 0; i < sizeof coll / sizeof *coll; i++)
        if (hb_str_is(call, coll[i].name)) return read_start(x, coll[i].coll, coll[i].max);
    if (hb_str_is(call, "hap_cut")) return read_local(x, REC_SLICE);
    if (hb_str_is(call, "hap_partial")) return read_local(x, REC_PARTIAL);
    if (hb_str_is(call, "hap_wait")) return read_wait(x);
    if (hb_str_is(call, "hap_fuse")) return read_fuse(x);
    if (hb_str_is(call, "hap_fused")) return read_fused(x);
    if (hb_str_is(call, "hap_overlap")) return read_overlap(x);
    if (hb_str_is(call, "hap_tiles")) return read_tiles(x);
    if (hb_str_is(call, "hap_overlapped")) return read_overlapped(x);
    *known = false;
    return true;
}

static bool read_call(reader *x)
{
    if (x->line->kind != HB_TABLE) return fail(x, NULL, "a call is wanted");
    const hb_tree *name = need(x, x->line, "call", HB_TEXT);
    int64_t number = 0;
    if (!name || !read_int(x, x->line, "i", &number)) return false;
    hb_str call = name->s;
    if (x->step == 3) return fail(x, NULL, "a call after hap_finish");
    if (hb_str_is(call, "hap_init")) return x->init ? fail(x, NULL, "called twice") : read_init(x);
    if (!x->init) return fail(x, NULL, "the record does not begin with hap_init");
    if (hb_str_is(call, "hap_stages"))
        return x->mesh ? fail(x, NULL, "called after hap_mesh") : read_stages(x);
    if (hb_str_is(call, "hap_math")) return x->math ? fail(x, NULL, "called twice") : read_math(x);
    if (hb_str_is(call, "hap_mesh")) return x->mesh ? fail(x, NULL, "called twice") : read_mesh(x);
    if (hb_str_is(call, "hap_classes"))
        return x->classes ? fail(x, NULL, "called twice") : read_classes(x);
    if (hb_str_is(call, "hap_segments"))
        return x->segments ? fail(x, NULL, "called twice") : read_segments(x);
    if (hb_str_is(call, "hap_at")) return read_at(x);
    if (hb_str_is(call, "hap_next_step")) return read_next_step(x);
    if (hb_str_is(call, "hap_finish")) return read_finish(x);
    bool known = true, ok = read_named(x, call, &known);
    if (known) return ok && (x->step == 0 || fail(x, NULL, "declared after the step began"));
    known = true;
    ok = read_step_call(x, call, &known);
    if (!known) return fail(x, name, "no such call");
    return ok && (x->step == 1 || fail(x, NULL, "called outside the step"));
}

record *record_read(hb_arena *a, const char *path, hb_diag *d)
{
    hb_str text;
    const char *why = NULL;
    reader x = {.a = a, .d = d, .r = HB_NEW(a, record), .src = HB_NEW(a, hb_source)};
    x.src->name = hb_str_c(a, path);
    if (!hb_read_file(a, path, &text, &why)) {
        hb_error(d, x.src, (hb_pos){0, 0}, "cannot read: %s", why);
        return NULL;
    }
    int before = hb_diag_count(d), number = 0;
    for (size_t from = 0; from < text.n;) {
        const char *end = memchr(text.p + from, '\n', text.n - from);
        size_t n = end ? (size_t)(end - (text.p + from)) : text.n - from;
        hb_arena *own = hb_arena_new(); // the tree of one line; what stays is copied
        *x.src = (hb_source){hb_fmt(a, "%s line %d", path, ++number), {text.p + from, n}};
        x.line = hb_json_read(own, x.src, d);
        bool ok = x.line && read_call(&x);
        hb_arena_free(own);
        if (!ok || hb_diag_count(d) > before) return NULL;
        from += n + 1;
    }
    if (x.step != 3) {
        *x.src = (hb_source){.name = hb_str_c(a, path)};
        hb_error(d, x.src, (hb_pos){0, 0}, "the record ends before hap_finish");
        return NULL;
    }
    return x.r;
}
