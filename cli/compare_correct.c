// hapc compare -o: a cluster file that is corrected by what a run measured.
//
// For each class and op, what its calls took by what was predicted; of a collective by kind, form
// and whether it goes between machines. A rank that comes first to a collective waits in it, so
// that of the ranks the quickest counts. The factors go into a curves file, which keeps the curves
// of the plan's cluster. Factors that it had already are multiplied.

#include "cli/compare_correct.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/measured_calls.h"
#include "cli/plan_words.h"
#include "ir/base/plain.h"

typedef struct factor {
    hb_str cls, op;         // op: empty of a collective
    hb_str kind, form;      // of a collective
    bool crosses;           // between machines
    double was;             // in the curves file
    double predicted, took; // ms of all calls
} factor;

typedef struct line { // of program.c
    int first;        // an instruction of it
    int n;            // instructions
    bool paired;      // in an overlapped pair: its time is nobody's alone
    double *ms;       // by class, of all of them
    double *took;     // by rank
    int64_t *calls;   // by rank
} line;

typedef struct correction {
    hb_arena *a;
    const hb_tree *plan;
    int n_ranks, n_classes;
    int *class_of;
    hb_map *at;
    HB_VEC(line) lines;
    hb_map *known;
    HB_VEC(factor) factors;
} correction;

static void read_lines(correction *x)
{
    const hb_tree *instr = cli_list_at(x->plan, "instructions");
    int64_t pair_end = 0;
    for (int i = 0; i < instr->n; i++) {
        const hb_tree *in = instr->v[i], *begin = cli_list_at(in, "begin_ms"),
                      *end = cli_list_at(in, "end_ms"), *pair = hb_get(in, "overlap");
        if (pair) pair_end = i + cli_plan_int(pair, "length", 0);
        int64_t number = cli_plan_int(in, "line", 0);
        if (begin->n == 0 || begin->n != end->n || number == 0) continue;
        hb_str name = hb_fmt(x->a, "%.*s:%lld", HB_ARG(plan_call(in)), (long long)number);
        int at = hb_map_get(x->at, name);
        if (at < 0) {
            at = x->lines.n;
            hb_map_put(x->at, name, at);
            HB_PUSH(x->a, &x->lines,
                    (line){.first = i,
                           .ms = HB_ARRAY(x->a, double, x->n_classes),
                           .took = HB_ARRAY(x->a, double, x->n_ranks),
                           .calls = HB_ARRAY(x->a, int64_t, x->n_ranks)});
        }
        line *l = &x->lines.p[at];
        l->n++;
        l->paired |= i < pair_end;
        for (int c = 0; c < x->n_classes; c++) {
            int k = begin->n == 1 ? 0 : c;
            if (k < begin->n) l->ms[c] += end->v[k]->f - begin->v[k]->f;
        }
    }
}

static bool read_trace(correction *x, const hb_tree *trace, const char *path)
{
    double *predicted = HB_ARRAY(x->a, double, x->lines.n + 1);
    measured_calls all = {0};
    for (int i = 0; i < x->lines.n; i++)
        for (int c = 0; c < x->n_classes; c++)
            predicted[i] += x->lines.p[i].ms[c];
    if (!measured_calls_read(x->a, trace, path, x->at, predicted, &all)) return false;
    for (int i = 0; i < all.list.n; i++) {
        const measured_call *e = &all.list.p[i];
        int at = hb_map_get(x->at, e->name);
        if (at < 0 || e->rank >= x->n_ranks) continue;
        x->lines.p[at].took[e->rank] += e->ms;
        x->lines.p[at].calls[e->rank]++;
    }
    return true;
}

// What a call is corrected as; false: its time is nobody's alone.
static bool key_of(const correction *x, const line *l, int cls, factor *out)
{
    const hb_tree *in = cli_list_at(x->plan, "instructions")->v[l->first];
    hb_str call = plan_call(in);
    *out = (factor){.was = 1};
    if (l->paired) return false;
    if (hb_str_is(call, "hap_cut")) {
        out->op = HB_STR("copy");
    } else if (call.n > 3 && memcmp(call.p, "op_", 3) == 0) {
        out->op = (hb_str){call.p + 3, call.n - 3};
    } else if (call.n > 5 && memcmp(call.p, "coll_", 5) == 0) {
        static const char max[] = "_max";
        out->kind = (hb_str){call.p + 5, call.n - 5};
        if (out->kind.n > 4 && memcmp(out->kind.p + out->kind.n - 4, max, 4) == 0) out->kind.n -= 4;
        out->form = cli_text_at(in, "form");
        bool two = cli_list_at(x->plan, "mesh")->n == 2;
        int64_t axes = cli_plan_int(in, "axes", 1);
        out->crosses = two ? (axes & 1) != 0 : cli_list_at(x->plan, "machines")->n > 1;
        return out->form.n > 0;
    } else {
        return false;
    }
    out->cls = cli_text_at(cli_list_at(x->plan, "classes")->v[cls], "name");
    return true;
}

static factor *factor_at(correction *x, const factor *key)
{
    hb_str name = hb_fmt(x->a, "%.*s/%.*s/%.*s/%.*s/%d", HB_ARG(key->cls), HB_ARG(key->op),
                         HB_ARG(key->kind), HB_ARG(key->form), key->crosses);
    int at = hb_map_get(x->known, name);
    if (at < 0) {
        at = x->factors.n;
        hb_map_put(x->known, name, at);
        HB_PUSH(x->a, &x->factors, *key);
    }
    return &x->factors.p[at];
}

static void add_line(correction *x, const line *l)
{
    factor key;
    double least = INFINITY, predicted = 0;
    for (int r = 0; r < x->n_ranks; r++) {
        int c = x->class_of[r];
        if (l->calls[r] == 0 || !key_of(x, l, c, &key)) continue;
        double steps = (double)l->calls[r] / l->n;
        if (key.op.n == 0 && l->took[r] / steps < least) {
            least = l->took[r] / steps;
            predicted = l->ms[c];
        } else if (key.op.n > 0) {
            factor *f = factor_at(x, &key);
            f->predicted += steps * l->ms[c];
            f->took += l->took[r];
        }
    }
    if (isfinite(least) && key_of(x, l, 0, &key)) {
        factor *f = factor_at(x, &key);
        f->predicted += predicted;
        f->took += least;
    }
}

// Corrections that the curves file has already.
static void read_known(correction *x, const hb_tree *curves)
{
    const hb_tree *list = cli_list_at(curves, "corrections");
    for (int i = 0; i < list->n; i++) {
        const hb_tree *t = list->v[i];
        factor key = {.cls = cli_text_at(t, "class"),
                      .op = cli_text_at(t, "op"),
                      .kind = cli_text_at(t, "kind"),
                      .form = cli_text_at(t, "form"),
                      .crosses = hb_str_is(cli_text_at(t, "axis_kind"), "between"),
                      .was = cli_number_at(t, "factor")};
        (void)factor_at(x, &key);
    }
}

static void put_factor(hb_buf *b, const factor *f, bool first)
{
    // A call that the runtime leaves out takes nothing; a factor is above 0.
    static const double LEAST = 1e-3;
    double now = f->predicted > 0 ? fmax(LEAST, f->took / f->predicted) : 1;
    hb_puts(b, first ? "\n  {" : ",\n  {");
    if (f->op.n) {
        hb_puts(b, "\"class\": ");
        hb_put_json(b, f->cls);
        hb_puts(b, ", \"op\": ");
        hb_put_json(b, f->op);
    } else {
        hb_puts(b, "\"kind\": ");
        hb_put_json(b, f->kind);
        hb_puts(b, ", \"form\": ");
        hb_put_json(b, f->form);
        hb_printf(b, ", \"axis_kind\": \"%s\"", f->crosses ? "between" : "inside");
    }
    hb_printf(b, ", \"factor\": %.6g}", f->was * now);
}

// The curves of the plan, if it has any, with the factors.
static hb_str curves_text(correction *x, const hb_tree *curves)
{
    hb_buf b = {.arena = x->a};
    hb_puts(&b, "{\"format\": \"hap.curves\", \"version\": 1");
    for (int i = 0; curves && i < curves->n; i++) {
        if (hb_str_is(curves->key[i], "format") || hb_str_is(curves->key[i], "version") ||
            hb_str_is(curves->key[i], "corrections"))
            continue;
        hb_puts(&b, ",\n ");
        hb_put_json(&b, curves->key[i]);
        hb_puts(&b, ": ");
        hb_put_tree(&b, curves->v[i]);
    }
    if (!curves) hb_puts(&b, ",\n \"classes\": {}");
    hb_puts(&b, ",\n \"corrections\": [");
    for (int i = 0; i < x->factors.n; i++)
        put_factor(&b, &x->factors.p[i], i == 0);
    hb_puts(&b, "]}\n");
    return hb_done(&b);
}

// The cluster file, which names its curves `curves`.
static hb_str cluster_text(hb_arena *a, hb_str text, hb_str curves)
{
    hb_buf b = {.arena = a};
    for (size_t i = 0, n; i < text.n; i += n) {
        const char *end = memchr(text.p + i, '\n', text.n - i);
        n = end ? (size_t)(end + 1 - text.p) - i : text.n - i;
        if (n > 9 && memcmp(text.p + i, "measured:", 9) == 0) continue;
        hb_putn(&b, text.p + i, n);
    }
    if (b.n > 0 && b.p[b.n - 1] != '\n') hb_putc(&b, '\n');
    hb_printf(&b, "measured: %.*s\n", HB_ARG(curves));
    return hb_done(&b);
}

static bool write_text(const char *path, hb_str text)
{
    FILE *f = fopen(path, "w");
    bool good = f && fwrite(text.p, 1, text.n, f) == text.n;
    if (f && fclose(f) != 0) good = false;
    if (!good) cli_error(CLI_INPUT, "%s: %s", path, strerror(errno));
    return good;
}

// The curves file beside the plan's cluster file; NULL in *out: it has none. False after an error.
static bool read_curves(hb_arena *a, const char *dir, hb_str cluster, const hb_tree **out)
{
    static const char key[] = "\nmeasured:";
    *out = NULL;
    hb_str whole = hb_fmt(a, "\n%.*s", HB_ARG(cluster));
    const char *at = strstr(whole.p, key);
    if (!at) return true;
    at += strlen(key);
    at += strspn(at, " '\"");
    hb_str path = hb_fmt(a, "%s/%.*s", dir, (int)strcspn(at, " '\"#\n"), at);
    hb_source *src = HB_NEW(a, hb_source);
    const char *why;
    src->name = path;
    if (!hb_read_file(a, path.p, &src->text, &why)) {
        cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(path), why);
        return false;
    }
    hb_diag *d = hb_diag_new(a);
    *out = hb_json_read(a, src, d);
    hb_diag_print(d, stderr);
    return *out != NULL;
}

static bool ends_in_yaml(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".yaml") == 0;
}

int compare_correct(hb_arena *a, const char *dir, const hb_tree *plan, const hb_tree *trace,
                    const char *path, const char *out)
{
    correction x = {.a = a, .plan = plan, .at = hb_map_new(a), .known = hb_map_new(a)};
    const hb_tree *ranks = cli_list_at(plan, "ranks"), *curves;
    hb_str cluster;
    const char *why;
    if (!ends_in_yaml(out)) return cli_error(CLI_USAGE, "-o wants a file NAME.yaml, not '%s'", out);
    x.n_ranks = (int)cli_plan_int(plan, "n_ranks", 0);
    x.n_classes = cli_list_at(plan, "classes")->n;
    x.class_of = HB_ARRAY(a, int, x.n_ranks + 1);
    for (int i = 0; i < ranks->n; i++) {
        int64_t r = cli_plan_int(ranks->v[i], "rank", -1),
                c = cli_plan_int(ranks->v[i], "class", -1);
        if (r >= 0 && r < x.n_ranks && c >= 0 && c < x.n_classes) x.class_of[r] = (int)c;
    }
    hb_str file = hb_fmt(a, "%s/cluster.yaml", dir);
    if (!hb_read_file(a, file.p, &cluster, &why))
        return cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(file), why);
    if (!read_curves(a, dir, cluster, &curves)) return CLI_INPUT;
    if (curves) read_known(&x, curves);
    read_lines(&x);
    if (!read_trace(&x, trace, path)) return CLI_INPUT;
    for (int i = 0; i < x.lines.n; i++)
        add_line(&x, &x.lines.p[i]);
    hb_str beside = hb_fmt(a, "%.*s.curves.json", (int)strlen(out) - 5, out);
    const char *slash = strrchr(beside.p, '/');
    hb_str name = hb_str_c(a, slash ? slash + 1 : beside.p);
    if (!write_text(beside.p, curves_text(&x, curves)) ||
        !write_text(out, cluster_text(a, cluster, name)))
        return CLI_INPUT;
    printf("\nWritten  %s: the cluster with %d corrections, in %.*s\n", out, x.factors.n,
           HB_ARG(beside));
    return CLI_OK;
}
