#include <math.h>
#include <string.h>

#include "costmodel/cost.h"
#include "costmodel/curve.h"
#include "costmodel/device_defaults.h"

// What a curves file holds, by name; and, once a class was asked for, its curves by op.

enum { N_COLLS = COST_RESHARD + 1, N_DTYPES = 3, OTHER = IR_N_OPS, COPY, N_KEYS };

typedef struct coll_curve {
    int n; // ranks
    cost_form form;
    cost_curve curve;
} coll_curve;

typedef HB_VEC(coll_curve) coll_curves; // of a form ascending n; one-sided puts are one list

typedef struct known_class { // curve indices + 1, 0 none
    const char *name;        // of the cluster's class, NULL not yet looked up
    int curve[N_KEYS][N_DTYPES];
    double factor[N_KEYS]; // that its seconds are corrected by
} known_class;

// By class: seconds of pairs (gap, flag), of runs of memory (one-sided put, pack), or of launch
// overheads (library, one-sided put).
typedef struct two_costs {
    double sec[2];
} two_costs;
typedef struct costs_of {
    hb_map *by_class; // index into costs
    HB_VEC(two_costs) costs;
} costs_of;

typedef struct measured_contention {
    cost_contention of;
    double fresh; // of rows just made; 0: not measured
} measured_contention;

struct cost_curves {
    hb_arena *arena;
    hb_map *by_name; // "class/op/dtype": index into curve
    HB_VEC(cost_curve) curve;
    coll_curves coll[N_COLLS][COST_PUTS + 1][2]; // [crosses machines]
    hb_map *contention_of[2]; // [beside a one-sided put] class: index into contention
    HB_VEC(measured_contention) contention;
    costs_of pair, run, overhead;
    hb_map *corrected; // "class/op": index into factor
    HB_VEC(double) factor;
    double coll_factor[N_COLLS][COST_PUTS + 1][2]; // 0: 1
    known_class cls[CL_MAX_CLASSES];
};

typedef struct reader {
    hb_arena *arena;
    const hb_source *src; // outlives the diagnostics
    hb_diag *diag;
    cost_curves *curves;
} reader;

static const char *const dtypes[N_DTYPES] = {"f32", "tf32", "bf16"}; // by cost_math

static bool expect(reader *r, const hb_tree *t, hb_kind kind, const char *what)
{
    if (t->kind == kind) return true;
    hb_error(r->diag, r->src, t->at, "expected %s", what);
    return false;
}

// The key of a table, NULL after an error.
static const hb_tree *field(reader *r, const hb_tree *table, const char *key, hb_kind kind,
                            const char *what)
{
    const hb_tree *t = hb_get(table, key);
    if (!t) {
        hb_error(r->diag, r->src, table->at, "missing key '%s'", key);
        return NULL;
    }
    return expect(r, t, kind, what) ? t : NULL;
}

static int key_of(hb_str name)
{
    if (hb_str_is(name, "other")) return OTHER;
    if (hb_str_is(name, "copy")) return COPY;
    int op = ir_op_parse(name);
    return op >= 0 && op < IR_N_OPS ? op : -1;
}

static void read_classes(reader *r, const hb_tree *classes)
{
    if (!expect(r, classes, HB_TABLE, "a table of classes")) return;
    for (int i = 0; i < classes->n; i++) {
        const hb_tree *ops = classes->v[i];
        if (!expect(r, ops, HB_TABLE, "a table of ops")) continue;
        for (int j = 0; j < ops->n; j++) {
            const hb_tree *types = ops->v[j];
            if (key_of(ops->key[j]) < 0)
                hb_error(r->diag, r->src, types->at, "'%.*s' is no row of the op table",
                         HB_ARG(ops->key[j]));
            if (!expect(r, types, HB_TABLE, "a table of dtypes")) continue;
            hb_only_keys(types, dtypes, N_DTYPES, r->src, r->diag);
            for (int k = 0; k < types->n; k++) {
                cost_curve c;
                if (!cost_curve_read(r->arena, types->v[k], r->src, r->diag, &c)) continue;
                hb_map_put(r->curves->by_name,
                           hb_fmt(r->arena, "%.*s/%.*s/%.*s", HB_ARG(classes->key[i]),
                                  HB_ARG(ops->key[j]), HB_ARG(types->key[k])),
                           r->curves->curve.n);
                HB_PUSH(r->arena, &r->curves->curve, c);
            }
        }
    }
}

// Older files spell a one-sided put "push": push(k), "push" for one copy in flight, "push_all" for
// one to every other member.
static bool read_form(hb_arena *a, hb_str s, int64_t n, cost_form *f)
{
    static const char *const name[COST_PUTS + 1] = {"even",      "padded", "grouped",   "sendrecv",
                                                    "even_flat", "flat",   "two_level", "put"};
    if (hb_str_is(s, "push"))
        *f = COST_PUT(1);
    else if (hb_str_is(s, "push_all"))
        *f = COST_PUT(n - 1);
    else if (s.n > 5 && memcmp(s.p, "push(", 5) == 0)
        return cost_form_read(hb_fmt(a, "put%.*s", (int)(s.n - 4), s.p + 4), name, f);
    else
        return cost_form_read(s, name, f);
    return true;
}

static coll_curves *curves_of(cost_curves *c, cost_coll k, cost_form f, bool crosses)
{
    return &c->coll[k][cost_is_put(f) ? COST_PUTS : f][crosses];
}

// Ranks of the last curve of a form, 0: none.
static int last_ranks(const coll_curves *list, cost_form f)
{
    int i = list->n - 1;
    while (i >= 0 && list->p[i].form != f)
        i--;
    return i < 0 ? 0 : list->p[i].n;
}

static void read_collective(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"kind", "form", "n", "axis_kind", "points"};
    if (!expect(r, t, HB_TABLE, "{kind, form, n, axis_kind, points}")) return;
    hb_only_keys(t, keys, 5, r->src, r->diag);
    const hb_tree *kind = field(r, t, "kind", HB_TEXT, "a kind of collective");
    const hb_tree *form = field(r, t, "form", HB_TEXT, "a form");
    const hb_tree *n = field(r, t, "n", HB_INT, "a number of ranks");
    const hb_tree *axis = field(r, t, "axis_kind", HB_TEXT, "'inside' or 'between'");
    const hb_tree *points = field(r, t, "points", HB_LIST, "a list of [bytes, seconds]");
    if (!kind || !form || !n || !axis || !points) return;
    int k = 0;
    cost_form f = COST_EVEN;
    while (k < N_COLLS && !hb_str_is(kind->s, cost_coll_name((cost_coll)k)))
        k++;
    if (hb_str_is(kind->s, "recut")) k = COST_RESHARD; // as older files say
    bool known = read_form(r->arena, form->s, n->i, &f);
    bool crosses = hb_str_is(axis->s, "between");
    if (k == N_COLLS)
        hb_error(r->diag, r->src, kind->at, "no collective '%.*s'", HB_ARG(kind->s));
    else if (n->i < 2 || n->i > COST_MAX_RANKS)
        hb_error(r->diag, r->src, n->at, "a group has 2 ranks or more");
    else if (!known || !cost_form_exists((cost_coll)k, f) ||
             (cost_is_put(f) && cost_copies(f) >= n->i))
        hb_error(r->diag, r->src, form->at, "no form '%.*s' of %s of %d ranks", HB_ARG(form->s),
                 cost_coll_name((cost_coll)k), (int)n->i);
    else if (!crosses && !hb_str_is(axis->s, "inside"))
        hb_error(r->diag, r->src, axis->at, "expected 'inside' or 'between'");
    else {
        coll_curves *list = curves_of(r->curves, (cost_coll)k, f, crosses);
        coll_curve c = {.n = (int)n->i, .form = f};
        if (!cost_curve_read(r->arena, points, r->src, r->diag, &c.curve)) return;
        // Two ranks have one copy in flight by either of the old names.
        if (c.n == 2 && hb_str_is(form->s, "push_all") && last_ranks(list, f)) return;
        if (last_ranks(list, f) >= c.n)
            hb_error(r->diag, r->src, n->at, "curves of one form must ascend in n");
        else
            HB_PUSH(r->arena, list, c);
    }
}

// How many times slower; false after an error.
static bool read_times(reader *r, const hb_tree *table, const char *key, double *times)
{
    const hb_tree *x = hb_get(table, key);
    bool ok =
        x && (x->kind == HB_REAL || x->kind == HB_INT) && x->f >= 1 && x->f <= COST_MAX_CONTENTION;
    if (ok)
        *times = x->f;
    else
        hb_error(r->diag, r->src, x ? x->at : table->at,
                 "'%s' is how many times slower, at least 1", key);
    return ok;
}

static void read_contention(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"class", "compute", "communication", "form", "fresh"};
    if (!expect(r, t, HB_TABLE, "{class, compute, communication}")) return;
    hb_only_keys(t, keys, 5, r->src, r->diag);
    const hb_tree *name = field(r, t, "class", HB_TEXT, "a class");
    const hb_tree *form = hb_get(t, "form"), *fresh = hb_get(t, "fresh");
    measured_contention c = {.fresh = 0};
    if (!read_times(r, t, "compute", &c.of.compute) ||
        !read_times(r, t, "communication", &c.of.communication) ||
        (fresh && !read_times(r, t, "fresh", &c.fresh)))
        return;
    bool put =
        form && form->kind == HB_TEXT && (hb_str_is(form->s, "put") || hb_str_is(form->s, "push"));
    if (form && !put)
        hb_error(r->diag, r->src, form->at, "a contention is beside 'put', or names no form");
    else if (fresh && !form)
        hb_error(r->diag, r->src, fresh->at, "'fresh' is of a contention beside 'put'");
    else if (name) {
        hb_map_put(r->curves->contention_of[form != NULL], name->s, r->curves->contention.n);
        HB_PUSH(r->arena, &r->curves->contention, c);
    }
}

// {class, and two keys in seconds}. Older files say push for put.
static void read_costs(reader *r, const hb_tree *t, const char *const keys[3], const char *what,
                       costs_of *to)
{
    if (!expect(r, t, HB_TABLE, what)) return;
    const char *const known[] = {keys[0], keys[1], keys[2], "push"};
    bool puts = strcmp(keys[1], "put") == 0 || strcmp(keys[2], "put") == 0;
    hb_only_keys(t, known, puts ? 4 : 3, r->src, r->diag);
    const hb_tree *name = field(r, t, "class", HB_TEXT, "a class");
    two_costs c;
    for (int i = 0; i < 2; i++) {
        const hb_tree *x = hb_get(t, keys[i + 1]);
        if (!x && strcmp(keys[i + 1], "put") == 0) x = hb_get(t, "push");
        if (x && (x->kind == HB_REAL || x->kind == HB_INT) && x->f >= 0 && x->f <= 1) {
            c.sec[i] = x->f;
            continue;
        }
        hb_error(r->diag, r->src, x ? x->at : t->at, "'%s' is in seconds, 0 to 1", keys[i + 1]);
        return;
    }
    if (!name) return;
    hb_map_put(to->by_class, name->s, to->costs.n);
    HB_PUSH(r->arena, &to->costs, c);
}

static void read_pair(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"class", "gap", "flag"};
    read_costs(r, t, keys, "{class, gap, flag}", &r->curves->pair);
}

static void read_run(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"class", "put", "pack"};
    read_costs(r, t, keys, "{class, put, pack}", &r->curves->run);
}

static void read_overhead(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"class", "library", "put"};
    read_costs(r, t, keys, "{class, library, put}", &r->curves->overhead);
}

static bool read_factor(reader *r, const hb_tree *t, double *factor)
{
    const hb_tree *v = hb_get(t, "factor");
    if (v && (v->kind == HB_REAL || v->kind == HB_INT) && v->f > 0) {
        *factor = v->f;
        return true;
    }
    hb_error(r->diag, r->src, v ? v->at : t->at, "'factor' is a number above 0");
    return false;
}

// {class, op, factor} or {kind, form, axis_kind, factor}: what a run took for what was predicted.
static void read_correction(reader *r, const hb_tree *t)
{
    static const char *const keys[] = {"class", "op", "kind", "form", "axis_kind", "factor"};
    double factor;
    cost_form form = COST_EVEN;
    if (!expect(r, t, HB_TABLE, "a table")) return;
    hb_only_keys(t, keys, 6, r->src, r->diag);
    if (!read_factor(r, t, &factor)) return;
    if (hb_get(t, "op")) {
        const hb_tree *cls = field(r, t, "class", HB_TEXT, "a class"),
                      *op = field(r, t, "op", HB_TEXT, "an op");
        if (!cls || !op) return;
        if (key_of(op->s) < 0) {
            hb_error(r->diag, r->src, op->at, "no op is called '%.*s'", HB_ARG(op->s));
            return;
        }
        hb_map_put(r->curves->corrected,
                   hb_fmt(r->arena, "%.*s/%.*s", HB_ARG(cls->s), HB_ARG(op->s)),
                   r->curves->factor.n);
        HB_PUSH(r->arena, &r->curves->factor, factor);
        return;
    }
    const hb_tree *kind = field(r, t, "kind", HB_TEXT, "a collective"),
                  *name = field(r, t, "form", HB_TEXT, "a form"),
                  *axis = field(r, t, "axis_kind", HB_TEXT, "inside or between");
    if (!kind || !name || !axis) return;
    int k = 0;
    while (k < N_COLLS && !hb_str_is(kind->s, cost_coll_name((cost_coll)k)))
        k++;
    if (k == N_COLLS || !read_form(r->arena, name->s, 1, &form)) {
        hb_error(r->diag, r->src, t->at, "no such collective or form");
        return;
    }
    bool crosses = hb_str_is(axis->s, "between");
    r->curves->coll_factor[k][cost_is_put(form) ? COST_PUTS : form][crosses] = factor;
}

cost_curves *cost_curves_read(hb_arena *a, const char *path, hb_diag *d)
{
    static const char *const keys[] = {"format",      "version",          "classes",
                                       "collectives", "contention",       "pairs",
                                       "runs",        "launch_overheads", "corrections"};
    reader r = {.arena = a, .diag = d};
    const char *why;
    int errors = hb_diag_count(d);
    hb_source *src = HB_NEW(a, hb_source);
    src->name = hb_str_c(a, path);
    if (!hb_read_file(a, path, &src->text, &why)) {
        hb_error(d, src, (hb_pos){0, 0}, "cannot be read: %s", why);
        return NULL;
    }
    r.src = src;
    hb_tree *t = hb_json_read(a, src, d);
    if (!t) return NULL;
    r.curves = HB_NEW(a, cost_curves);
    r.curves->arena = a;
    r.curves->by_name = hb_map_new(a);
    for (int put = 0; put < 2; put++)
        r.curves->contention_of[put] = hb_map_new(a);
    r.curves->pair.by_class = hb_map_new(a);
    r.curves->run.by_class = hb_map_new(a);
    r.curves->overhead.by_class = hb_map_new(a);
    r.curves->corrected = hb_map_new(a);
    if (!expect(&r, t, HB_TABLE, "a table")) return NULL;
    hb_only_keys(t, keys, 9, src, d);
    const hb_tree *format = hb_get(t, "format"), *version = hb_get(t, "version");
    if (!format || format->kind != HB_TEXT || !hb_str_is(format->s, "hap.curves"))
        hb_error(d, src, format ? format->at : t->at, "expected \"format\": \"hap.curves\"");
    if (!version || version->kind != HB_INT || version->i != 1)
        hb_error(d, src, version ? version->at : t->at, "expected \"version\": 1");
    const hb_tree *classes = hb_get(t, "classes");
    if (classes)
        read_classes(&r, classes);
    else
        hb_error(d, src, t->at, "missing key 'classes'");
    static void (*const read[])(reader *, const hb_tree *) = {
        read_collective, read_contention, read_pair, read_run, read_overhead, read_correction};
    for (int i = 3; i < 9; i++) {
        const hb_tree *list = hb_get(t, keys[i]);
        if (!list || !expect(&r, list, HB_LIST, "a list")) continue;
        for (int k = 0; k < list->n; k++)
            read[i - 3](&r, list->v[k]);
    }
    return hb_diag_count(d) == errors ? r.curves : NULL;
}

// --- ops ---

static int find(const cost_curves *k, const cl_class *cls, const char *op, const char *dtype)
{
    hb_str name[3] = {cls->name, cls->curve_name, cls->model};
    for (int i = 0; i < 3; i++) {
        int at = hb_map_get(k->by_name, hb_fmt(k->arena, "%.*s/%s/%s", HB_ARG(name[i]), op, dtype));
        if (at >= 0) return at + 1;
    }
    return 0;
}

// Rows by the matrices of their experts are as matmuls of so many rows.
static int like(ir_op op)
{
    ir_role role = ir_op_of(op)->role;
    return role == IR_ROLE_experts      ? (int)IR_OP_linear
           : role == IR_ROLE_experts_dw ? (int)IR_OP_linear_dw
           : !ir_is_dense(op)           ? (int)OTHER
                                        : (int)op;
}

// An op that has no curve of the dtype takes that of another (bytes tell types apart, and rows that
// are not dense compute in f32 anyway); one that is not dense and has none, the class's "other".
static void look_up(cost_curves *k, const cl_class *cls, known_class *x)
{
    x->name = cls->name.p;
    for (int op = 0; op < N_KEYS; op++) {
        const char *name = op == OTHER ? "other" : op == COPY ? "copy" : ir_op_of((ir_op)op)->name;
        bool dense = op < IR_N_OPS && ir_is_dense((ir_op)op);
        int at = hb_map_get(k->corrected, hb_fmt(k->arena, "%.*s/%s", HB_ARG(cls->name), name));
        if (at < 0)
            at = hb_map_get(k->corrected,
                            hb_fmt(k->arena, "%.*s/%s", HB_ARG(cls->curve_name), name));
        x->factor[op] = at >= 0 ? k->factor.p[at] : 1;
        for (int t = 0; t < N_DTYPES; t++)
            x->curve[op][t] = find(k, cls, name, dtypes[t]);
        for (int t = 0; t < N_DTYPES && !dense; t++)
            for (int other = 0; other < N_DTYPES && !x->curve[op][t]; other++)
                x->curve[op][t] = x->curve[op][other];
    }
    for (int op = 0; op < IR_N_OPS; op++)
        for (int t = 0; t < N_DTYPES; t++)
            if (!x->curve[op][t]) x->curve[op][t] = x->curve[like((ir_op)op)][t];
}

static const known_class *class_of(const cost_model *m, int cls)
{
    cost_curves *k = m->curves;
    if (!k) return NULL;
    known_class *x = &k->cls[cls];
    if (x->name != m->cluster->cls[cls].name.p) {
        memset(x, 0, sizeof *x);
        look_up(k, &m->cluster->cls[cls], x);
    }
    return x;
}

static const cost_curve *curve_of(const cost_model *m, int cls, int key)
{
    const known_class *x = class_of(m, cls);
    int at = x ? x->curve[key][m->math] : 0;
    return at ? &m->curves->curve.p[at - 1] : NULL;
}

double cost_slowdown(const cl_class *c)
{
    return c->slowdown > 0 ? c->slowdown : 1;
}

double cost_factor_of_op(const cost_model *m, int cls, ir_op op)
{
    const known_class *x = class_of(m, cls);
    return x ? x->factor[op] : 1;
}

double cost_factor_of_copy(const cost_model *m, int cls)
{
    const known_class *x = class_of(m, cls);
    return x ? x->factor[COPY] : 1;
}

double cost_factor_of_coll(const cost_model *m, cost_coll k, cost_form f, bool crosses)
{
    if (!m->curves) return 1;
    double factor = m->curves->coll_factor[k][cost_is_put(f) ? COST_PUTS : f][crosses];
    return factor > 0 ? factor : 1;
}

const cost_curve *cost_curve_of_op(const cost_model *m, int cls, ir_op op)
{
    return curve_of(m, cls, op);
}

bool cost_curve_is_own(const cost_model *m, int cls, ir_op op)
{
    const cost_curve *k = curve_of(m, cls, op);
    return k && (like(op) == (int)op || k != curve_of(m, cls, like(op)));
}

const cost_curve *cost_curve_of_copy(const cost_model *m, int cls)
{
    return curve_of(m, cls, COPY);
}

// --- collectives ---

// How far apart in proportion, 1: the same.
static double far(int a, int b)
{
    return a > b ? (double)a / b : (double)b / a;
}

// Which number of copies in flight of n ranks a curve of a one-sided put stands for: one to every
// other rank for the same; of two ranks, which is either, for what is nearer to `copies`.
static int stands_for(const coll_curve *c, int copies, int n)
{
    int own = cost_copies(c->form);
    if (c->n == 2 && far(1, copies) <= far(n - 1, copies)) return 1;
    return own < c->n - 1 && own < n - 1 ? own : n - 1;
}

bool cost_curve_of_coll(const cost_model *m, cost_coll k, cost_form f, int n, bool crosses,
                        cost_coll_curve *out)
{
    if (!m->curves) return false;
    const coll_curves *list = curves_of(m->curves, k, f, crosses);
    int copies = cost_is_put(f) ? cost_copies(f) : 1;
    double best[2] = {(double)INFINITY, (double)INFINITY};
    for (int i = 0; i < list->n; i++) { // nearest copies, then ranks, the smaller of two
        const coll_curve *c = &list->p[i];
        int as = cost_is_put(f) ? stands_for(c, copies, n) : copies;
        double off[2] = {far(as, copies), far(c->n, n)};
        if (off[0] > best[0] || (off[0] >= best[0] && off[1] >= best[1])) continue;
        memcpy(best, off, sizeof best);
        *out = (cost_coll_curve){&c->curve, c->n, c->form, cost_is_put(f) ? COST_PUT(as) : f};
    }
    return list->n > 0;
}

// What a map by class has of it; -1: nothing.
static int class_in(const hb_map *by_class, const cl_class *x)
{
    int at = hb_map_get(by_class, x->name);
    if (at < 0) at = hb_map_get(by_class, x->curve_name);
    return at < 0 ? hb_map_get(by_class, x->model) : at;
}

static const measured_contention *contention_of(const cost_curves *k, const cl_class *x, bool put)
{
    int at = class_in(k->contention_of[put], x);
    return at < 0 ? NULL : &k->contention.p[at];
}

cost_contentions cost_contentions_of(const cl_class *c)
{
    bool guess = c->kind == CL_GPU && c->compute_contention <= 0;
    double compute = guess ? COST_LIBRARY_COMPUTE : fmax(c->compute_contention, 1),
           comm = guess ? COST_LIBRARY_COMMUNICATION : fmax(c->communication_contention, 1);
    return (cost_contentions){
        {{compute, comm},
         {c->compute_contention_put > 0 ? c->compute_contention_put
                                        : fmin(compute, COST_PUT_CONTENTION),
          c->communication_contention_put > 0 ? c->communication_contention_put
                                              : fmin(comm, COST_PUT_CONTENTION)}}};
}

bool cost_quiet_network(const cl_class *c)
{
    return c->compute_contention <= 0;
}

static const two_costs *costs_by_class(const costs_of *k, const cl_class *x)
{
    int at = class_in(k->by_class, x);
    return at < 0 ? NULL : &k->costs.p[at];
}

void cost_apply_curves(cost_curves *k, cl_cluster *c)
{
    cost_model m = {.cluster = c, .curves = k};
    for (int i = 0; i < c->n_classes; i++) {
        cl_class *x = &c->cls[i];
        const measured_contention *beside = contention_of(k, x, false);
        if (beside) {
            x->compute_contention = beside->of.compute;
            x->communication_contention = beside->of.communication;
        }
        beside = contention_of(k, x, true);
        if (beside) {
            x->compute_contention_put = beside->of.compute;
            x->communication_contention_put = beside->of.communication;
            x->fresh_put = beside->fresh;
        }
        const two_costs *pair = costs_by_class(&k->pair, x), *run = costs_by_class(&k->run, x);
        const two_costs *overhead = costs_by_class(&k->overhead, x);
        if (overhead && x->launch_overhead <= 0) x->launch_overhead = overhead->sec[0];
        if (overhead && x->put_overhead <= 0) x->put_overhead = overhead->sec[1];
        if (pair) {
            x->pair_gap = pair->sec[0];
            x->pair_flag = pair->sec[1];
        }
        if (run) {
            x->run_put = run->sec[0];
            x->run_pack = run->sec[1];
        }
        const cost_curve *other = curve_of(&m, i, OTHER);
        if (!other) continue;
        int last = other->first[other->n_families] - 1;
        x->launch = exp(other->sec[0]);
        x->stream = exp(other->size[last] - other->sec[last]) / cost_slowdown(x);
    }
}
