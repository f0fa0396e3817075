// Measures of one training run, for the train_*.sh tests. Files are read whole; a measure above its
// limit, a missing step or tensor fails.
//
//   train_compare torch REF RUN.jsonl [GRADS FINAL START PARTS]
//       REF/reference.json's losses, 1e-5 relative; with more: gradients and parameters against
//       REF/grads.safetensors (GRADS may be -: not compared) and REF/final.safetensors. PARTS is -
//       or GLOB=N: parameters that hold N projections in one
//   train_compare stages …                  as torch, losses within 1e-6
//   train_compare losses A.jsonl B.jsonl    same steps, losses within 1e-5 relative
//   train_compare differ A.jsonl B.jsonl    same steps, some loss differs by more than that
//   train_compare grads A B                 as gradients against PyTorch's
//   train_compare params A B START          ‖a − b‖ ≤ 1e-3·‖b − start‖ over all parameters of a
//       checkpoint, and over both kinds of moments
//   train_compare arena PLAN.json LOG       segments as the runtime allocated them = the plan's

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/compare.h"

enum { MAX_STEPS = 1000, MAX_RANKS = 64 };
static const double param_limit = 1e-3;
static double loss_limit = 1e-5;

static hb_arena *arena;
static int wrong;

static _Noreturn void bad(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(99);
}

static hb_tree *read_json(const char *path, hb_str text)
{
    hb_source src = {hb_str_c(arena, path), text};
    hb_diag *d = hb_diag_new(arena);
    hb_tree *t = hb_json_read(arena, &src, d);
    if (t) return t;
    hb_diag_print(d, stderr);
    bad(path, "no JSON");
}

static hb_str read_text(const char *path)
{
    hb_str text;
    const char *why;
    if (!hb_read_file(arena, path, &text, &why)) bad(path, why);
    return text;
}

static hb_tree *need(const char *path, hb_tree *table, const char *key)
{
    hb_tree *t = hb_get(table, key);
    if (!t) bad(path, key);
    return t;
}

static void measure(const char *what, double x, double limit, const char *unit)
{
    bool fails = !(x <= limit); // NaN too
    printf("  %s %s %.2e of %.0e%s\n", fails ? "WRONG" : "ok   ", what, x, limit, unit);
    wrong += fails;
}

// Losses by step, which must count up by one. `first` is the first step.
static int read_losses(const char *path, double *loss, int64_t *first)
{
    hb_str text = read_text(path);
    int n = 0;
    for (const char *p = text.p, *end = p + text.n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop) bad(path, "the last line is cut");
        hb_tree *t = read_json(path, hb_str_n(arena, p, (size_t)(stop - p)));
        int64_t step = need(path, t, "step")->i;
        if (n == 0) *first = step;
        if (n == MAX_STEPS || step != *first + n) bad(path, "steps do not count up by one");
        loss[n++] = need(path, t, "loss")->f;
        p = stop + 1;
    }
    return n;
}

static void same_losses(const char *path, const double *a, int n_a, const double *b, int n_b)
{
    if (n_a != n_b || n_a == 0) {
        printf("  WRONG %s: %d losses, wanted %d\n", path, n_a, n_b);
        wrong++;
        return;
    }
    int at = 0;
    double e = compare_losses(a, b, n_a, &at);
    char where[64];
    snprintf(where, sizeof where, ", the worst of %d, at step %d", n_a, at);
    measure("losses    ", e, loss_limit, where);
}

static const char *in(const char *folder, const char *name)
{
    return hb_fmt(arena, "%s/%s", folder, name).p;
}

static void same_grads(const char *path, const char *ref_path)
{
    arrays g = arrays_read(arena, path), ref = arrays_read(arena, ref_path);
    hb_str worst;
    double e = compare_grads(&g, &ref, &worst);
    measure(
        "gradients ", e, 1,
        hb_fmt(arena, " (of 1e-4·‖g‖ + 1e-7·‖all‖), the worst of %d: %.*s", ref.n, HB_ARG(worst))
            .p);
}

static void against_torch(int n, char **arg)
{
    const char *ref = arg[0], *path = in(ref, "reference.json");
    hb_tree *t = read_json(path, read_text(path)), *list = need(path, t, "losses");
    static double a[MAX_STEPS], b[MAX_STEPS];
    int64_t first = 0;
    int steps = read_losses(arg[1], a, &first);
    for (int i = 0; i < list->n; i++)
        b[i] = list->v[i]->f;
    if (first != 0) bad(arg[1], "does not start at step 0");
    same_losses(arg[1], a, steps, b, list->n);
    if (n < 6) return;

    arrays final = arrays_read(arena, arg[3]), start = arrays_read(arena, arg[4]);
    const char *ref_grads_path = in(ref, "grads.safetensors");
    arrays ref_grads = arrays_read(arena, ref_grads_path);
    arrays ref_final = arrays_read(arena, in(ref, "final.safetensors"));
    if (strcmp(arg[2], "-") != 0) same_grads(arg[2], ref_grads_path);
    compare_parts parts = {0};
    char *eq = strrchr(arg[5], '=');
    if (eq) {
        *eq = 0;
        parts = (compare_parts){arg[5], atoi(eq + 1)};
    }
    int64_t left_out = 0, all = 0;
    for (int i = 0; i < ref_final.n; i++)
        all += ref_final.v[i].elements;
    double e = compare_params(&final, &ref_final, &start, &ref_grads, parts, &left_out);
    measure("parameters", e, param_limit,
            hb_fmt(arena, " of the way, %lld of %lld elements left out", (long long)left_out,
                   (long long)all)
                .p);
}

static void two_runs(char **arg, bool equal)
{
    static double a[MAX_STEPS], b[MAX_STEPS];
    int64_t from_a = 0, from_b = 0;
    int n_a = read_losses(arg[0], a, &from_a), n_b = read_losses(arg[1], b, &from_b);
    if (from_a != from_b) bad(arg[0], "does not start at the same step");
    int at = 0;
    if (equal) {
        same_losses(arg[0], a, n_a, b, n_b);
    } else if (n_a != n_b || compare_losses(a, b, n_a, &at) <= loss_limit) {
        printf("  WRONG %s: the losses should differ\n", arg[0]);
        wrong++;
    }
}

static bool ends_with(hb_str s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

// Of checkpoints of one model: hap.* are equal; parameters, first and second moments, each kind
// together, are as near as 1e-3 of their way from start.
static void two_checkpoints(char **arg)
{
    static const char *const kind[] = {"", ".exp_avg", ".exp_avg_sq"};
    static const char *const called[] = {"parameters", "exp_avg   ", "exp_avg_sq"};
    arrays a = arrays_read(arena, arg[0]), b = arrays_read(arena, arg[1]);
    arrays s = arrays_read(arena, arg[2]);
    double off[3] = {0}, moved[3] = {0};
    if (a.n != b.n) bad(arg[0], "another number of tensors");
    for (int i = 0; i < b.n; i++) {
        const array *y = &b.v[i], *x = arrays_get(&a, y->name.p, y->name.n);
        const array *z = arrays_get(&s, y->name.p, y->name.n);
        if (!x || x->type != y->type || x->elements != y->elements) bad(arg[0], y->name.p);
        if (y->type == HAP_I64) {
            if (memcmp(x->data, y->data, 8 * (size_t)y->elements) == 0) continue;
            printf("  WRONG %.*s differs\n", HB_ARG(y->name));
            wrong++;
            continue;
        }
        if (!z || z->elements != y->elements) bad(arg[2], y->name.p);
        int k = ends_with(y->name, kind[1]) ? 1 : ends_with(y->name, kind[2]) ? 2 : 0;
        double d = compare_distance(x, y, 0, y->elements);
        double m = compare_distance(y, z, 0, y->elements);
        off[k] += d * d;
        moved[k] += m * m;
    }
    for (int k = 0; k < 3; k++)
        measure(called[k], moved[k] > 0 ? sqrt(off[k] / moved[k]) : HUGE_VAL, param_limit,
                " of the way");
}

// What a CUDA rank says at its end, against the plan's class: copies and workspace as counted
// there, all else within the reserve.
static void same_contention(const char *path, hb_tree *c, const char *line)
{
    int rank;
    long long work, padded, heads, used, planned_work = need(path, c, "work_bytes")->i,
                                         planned_padded = need(path, c, "padded_bytes")->i,
                                         peak = need(path, c, "peak_bytes")->i,
                                         reserve = need(path, c, "reserve_bytes")->i;
    if (sscanf(line,
               "rank %d workspace %lld bytes, padded copies %lld bytes, heads outside the arena "
               "%lld bytes; in use %lld",
               &rank, &work, &padded, &heads, &used) != 5)
        return;
    if (planned_work == 0) return; // planned for a CPU
    long long rest = used - peak - work - padded;
    bool good = padded == planned_padded && work <= planned_work && rest <= reserve;
    printf("  %s beside     rank %d: padded copies %lld bytes (planned %lld), workspace %lld "
           "(%lld), all else %lld of %lld reserved\n",
           good ? "ok   " : "WRONG", rank, padded, planned_padded, work, planned_work, rest,
           reserve);
    wrong += !good;
}

static void same_arena(char **arg)
{
    hb_tree *plan = read_json(arg[0], read_text(arg[0]));
    hb_tree *ranks = need(arg[0], plan, "ranks"), *classes = need(arg[0], plan, "classes");
    int64_t sym = need(arg[0], plan, "sym_bytes")->i, n_ranks = need(arg[0], plan, "n_ranks")->i;
    int64_t seen[MAX_RANKS] = {0}, total = 0;
    FILE *f = fopen(arg[1], "r");
    if (!f) bad(arg[1], "cannot be read");
    char line[4096];
    while (fgets(line, sizeof line, f)) {
        int rank, class_id;
        long long got_sym, got_local;
        for (int i = 0; i < ranks->n && sscanf(line, "rank %d workspace", &rank) == 1; i++)
            if (need(arg[0], ranks->v[i], "rank")->i == rank)
                same_contention(arg[0], classes->v[need(arg[0], ranks->v[i], "class")->i], line);
        if (sscanf(line, "rank %d class %d segments: sym %lld local %lld bytes", &rank, &class_id,
                   &got_sym, &got_local) != 4)
            continue;
        if (rank < 0 || rank >= n_ranks || rank >= MAX_RANKS || seen[rank]++)
            bad(arg[1], "a rank that is not, or twice");
        for (int i = 0; i < ranks->n; i++) {
            if (need(arg[0], ranks->v[i], "rank")->i != rank) continue;
            const hb_tree *c = classes->v[need(arg[0], ranks->v[i], "class")->i];
            int64_t local = hb_get(c, "local_bytes")->i, peak = hb_get(c, "peak_bytes")->i;
            if (got_sym != sym || got_local != local || peak != sym + local) {
                printf("  WRONG rank %d allocates %lld + %lld bytes, the plan says %lld + %lld, "
                       "%lld in all\n",
                       rank, got_sym, got_local, (long long)sym, (long long)local, (long long)peak);
                wrong++;
            }
            total += got_sym + got_local;
        }
    }
    fclose(f);
    for (int r = 0; r < n_ranks; r++)
        if (!seen[r]) bad(arg[1], "a rank does not say what it allocates");
    if (!wrong)
        printf("  ok    arena      %lld bytes on %lld ranks, as planned\n", (long long)total,
               (long long)n_ranks);
}

int main(int argc, char **argv)
{
    arena = hb_arena_new();
    const char *mode = argc > 1 ? argv[1] : "";
    int n = argc - 2;
    bool stages = strcmp(mode, "stages") == 0;
    if (stages) loss_limit = 1e-6;
    if ((stages || strcmp(mode, "torch") == 0) && (n == 2 || n == 6))
        against_torch(n, argv + 2);
    else if (strcmp(mode, "losses") == 0 && n == 2)
        two_runs(argv + 2, true);
    else if (strcmp(mode, "differ") == 0 && n == 2)
        two_runs(argv + 2, false);
    else if (strcmp(mode, "grads") == 0 && n == 2)
        same_grads(argv[2], argv[3]);
    else if (strcmp(mode, "params") == 0 && n == 3)
        two_checkpoints(argv + 2);
    else if (strcmp(mode, "arena") == 0 && n == 2)
        same_arena(argv + 2);
    else {
        fprintf(stderr, "usage: see the head of train_compare.c\n");
        return 2;
    }
    hb_arena_free(arena);
    return wrong > 0;
}
