// Collectives by kind and form on all ranks, in long and in short runs of memory, and what
// they cost computation beside them.

#include <stdio.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "profile/profile.h"

enum { COLS = 256, FEW_COLS = 8 }; // of f32, each rank's: runs of 1 KB, and of 32 bytes

typedef struct way {
    hap_coll_kind kind;
    const char *name;
    hap_form form;
    const char *form_name;
} way;
static const way library[] = {
    {HAP_ALL_GATHER, "all_gather", FORM_EVEN, "even"},
    {HAP_ALL_GATHER, "all_gather", FORM_PADDED, "padded"},
    {HAP_ALL_GATHER, "all_gather", FORM_GROUPED, "grouped"},
    {HAP_ALL_GATHER, "all_gather", FORM_SENDRECV, "sendrecv"},
    {HAP_REDUCE_SCATTER, "reduce_scatter", FORM_EVEN, "even"},
    {HAP_REDUCE_SCATTER, "reduce_scatter", FORM_PADDED, "padded"},
    {HAP_REDUCE_SCATTER, "reduce_scatter", FORM_GROUPED, "grouped"},
    {HAP_REDUCE_SCATTER, "reduce_scatter", FORM_SENDRECV, "sendrecv"},
    {HAP_REDUCE_SCATTER, "reduce_scatter", FORM_EVEN_FLAT, "even_flat"},
    {HAP_ALL_REDUCE, "all_reduce", FORM_FLAT, "flat"},
    {HAP_ALL_TO_ALL, "all_to_all", FORM_EVEN, "even"},
    {HAP_ALL_TO_ALL, "all_to_all", FORM_SENDRECV, "sendrecv"},
    {HAP_RESHARD, "recut", FORM_EVEN, "even"},
    {HAP_RESHARD, "recut", FORM_SENDRECV, "sendrecv"},
};
static const way put[] = {{HAP_ALL_GATHER, "all_gather", FORM_PUT(1), NULL},
                          {HAP_REDUCE_SCATTER, "reduce_scatter", FORM_PUT(1), NULL},
                          {HAP_ALL_REDUCE, "all_reduce", FORM_PUT(1), NULL},
                          {HAP_ALL_TO_ALL, "all_to_all", FORM_PUT(1), NULL}};
enum { N_LIBRARY = sizeof library / sizeof *library, N_PUTS = sizeof put / sizeof *put };

// The tables that the dims of a case are cut by: even ones of rows and columns, and one that leads
// to the even one by each rank's handing half a part to its neighbour.
typedef struct cuts {
    int64_t rows, width, *even, *cols, *shifted;
} cuts;

static cuts cuts_of(profile *p, int64_t part, int64_t width)
{
    int n = p->r->n_ranks;
    cuts c = {.rows = part * n, .width = width};
    c.even = profile_own(p, sizeof *c.even * (size_t)n);
    c.cols = profile_own(p, sizeof *c.cols * (size_t)n);
    c.shifted = profile_own(p, sizeof *c.shifted * (size_t)n);
    for (int i = 0; i < n; i++) {
        c.even[i] = c.shifted[i] = part;
        c.cols[i] = width;
    }
    c.shifted[0] += part / 2;
    c.shifted[n - 1] -= part / 2;
    return c;
}

static bool add(profile *p, hap_coll_kind kind, hap_form form, const cuts *c)
{
    int n = p->r->n_ranks;
    hap_dim whole = WHOLE(c->rows), cut = CUT(0, c->rows, c->even);
    hap_dim shifted = CUT(0, c->rows, c->shifted), cols = WHOLE(c->width);
    hap_dim wide = WHOLE(c->width * n), narrow = CUT(0, c->width * n, c->cols);
    hap_dim from[2] = {kind == HAP_ALL_GATHER || kind == HAP_ALL_TO_ALL ? cut
                       : kind == HAP_RESHARD                            ? shifted
                                                                        : whole,
                       kind == HAP_ALL_TO_ALL ? wide : cols};
    hap_dim to[2] = {kind == HAP_REDUCE_SCATTER || kind == HAP_RESHARD ? cut : whole,
                     kind == HAP_ALL_TO_ALL ? narrow : cols};
    hap_tensor *src = profile_cut(p, PROFILE_IN, HAP_F32, 2, from);
    bool there = hap_form_put(form) && kind != HAP_REDUCE_SCATTER; // others write dst
    hap_tensor *dst = profile_cut(p, there ? PROFILE_SYM : PROFILE_OUT, HAP_F32, 2, to);
    if (!src || !dst) return false;
    profile_add_coll(p, &(hap_coll_call){.kind = kind, .axes = AXIS(0), .form = form}, dst, src);
    profile_add(p, CALL_WAIT);
    return true;
}

// A rank may have room for a case that another has not.
static bool all_fit(profile *p, bool fits)
{
    return hap_comm_min(p->r, fits) == 1;
}

static void collective(profile *p, const way *w, double bytes)
{
    int n = p->r->n_ranks;
    bool a2a = w->kind == HAP_ALL_TO_ALL, reshard = w->kind == HAP_RESHARD;
    int64_t part = (int64_t)(bytes / 4 / COLS / n / (a2a ? n : 1) * (reshard ? 2 : 1));
    if (part < 2) part = 2;
    part -= part % 2;
    bool fits = true;
    profile_begin(p);
    cuts c = cuts_of(p, part, COLS);
    double whole = (double)c.rows * COLS * 4 * (a2a ? n : 1);
    if (hap_form_put(w->form) && 3 * (whole + 4096.0 * n) > (double)p->zone[PROFILE_SYM]) return;
    int times = profile_times(p, 0, 8 * whole + (p->device.gpu ? 40e6 : 200e3));
    for (int k = 0; fits && k < times; k++)
        fits = add(p, w->kind, w->form, &c);
    if (!all_fit(p, fits)) return;
    double size = reshard ? (double)(part / 2) * COLS * 4 : whole;
    profile_keep(p, (profile_result){PROFILE_COLL, w->name, w->form_name, "f32", 0, size,
                                     profile_run(p) / times});
    profile_progress(p);
}

// One-sided puts with one copy in flight, with two, and with one to every other rank.
void profile_colls(profile *p)
{
    static const double gpu[] = {16e3, 256e3, 2e6, 16e6, 128e6, 512e6, 0},
                        cpu[] = {8e3, 128e3, 1e6, 8e6, 32e6, 0}, quick[] = {8e3, 256e3, 0};
    const double *sizes = p->quick ? quick : p->device.gpu ? gpu : cpu;
    if (p->r->n_ranks < 2 || p->only_dense) return;
    for (int i = 0; i < N_LIBRARY; i++)
        for (const double *b = sizes; *b > 0; b++)
            collective(p, &library[i], *b);
    int n = p->peers ? p->r->n_ranks : 0;
    for (int i = 0; i < N_PUTS; i++)
        for (int copies = 1; copies < n; copies = copies == 1 ? 2 : copies < n - 1 ? n - 1 : n) {
            static char name[3][20]; // until results are written
            char *text = name[copies == n - 1 && copies > 2 ? 2 : copies - 1];
            way w = put[i];
            snprintf(text, sizeof *name, "push(%d)", copies);
            w.form = FORM_PUT(copies);
            w.form_name = text;
            for (const double *b = sizes; *b > 0; b++)
                collective(p, &w, *b);
        }
}

// --- runs of memory ---

// An all-to-all of `part` rows of each rank, in runs of FEW_COLS; negative: it does not fit.
static double in_runs(profile *p, hap_form form, int64_t part)
{
    bool fits = true;
    profile_begin(p);
    cuts c = cuts_of(p, part, FEW_COLS);
    double whole = (double)c.rows * (double)c.width * 4 * p->r->n_ranks;
    int times = profile_times(p, 0, 32 * whole + (p->device.gpu ? 40e6 : 200e3));
    for (int k = 0; fits && k < times; k++)
        fits = add(p, HAP_ALL_TO_ALL, form, &c);
    return all_fit(p, fits) ? profile_run(p) / times : -1;
}

// What a run takes when there are many: beyond what few take.
void profile_runs(profile *p)
{
    static const struct {
        const char *name;
        hap_form form;
    } by[] = {{"push", FORM_PUT(1)}, {"pack", FORM_EVEN}};
    int n = p->r->n_ranks;
    int64_t part = p->quick ? 1 << 13 : p->device.gpu ? 1 << 18 : 1 << 14;
    if (n < 2 || p->only_dense) return;
    for (int i = 0; i < 2; i++) {
        double sec = 0; // not measured
        if (p->peers || !hap_form_put(by[i].form)) {
            double few = in_runs(p, by[i].form, 2), many = in_runs(p, by[i].form, part);
            if (few > 0 && many > 0)
                sec = (many > few ? many - few : many) / ((double)part * (n - 1));
        }
        profile_keep(p, (profile_result){PROFILE_STRETCH, by[i].name, "", "", 0, 0, sec});
        profile_progress(p);
    }
}

// --- contention ---

// A collective of `rows`, if any, under `n` products of [m, w] x [w, w]; seconds, all ranks
// together. The collective is the library's all-reduce or, which computes nothing, an all-gather of
// one-sided puts.
static double together(profile *p, bool one_sided, int64_t rows, int n, int64_t m, int64_t w)
{
    hap_dtype t = p->device.gpu ? HAP_BF16 : HAP_F32;
    bool fits = true;
    profile_begin(p);
    if (rows > 0) {
        hap_coll_call c = {.kind = HAP_ALL_REDUCE, .axes = AXIS(0), .form = FORM_FLAT};
        hap_tensor *x, *src;
        if (one_sided) {
            cuts even = cuts_of(p, rows / p->r->n_ranks, COLS);
            hap_dim from[2] = {CUT(0, even.rows, even.even), WHOLE(COLS)};
            c.kind = HAP_ALL_GATHER;
            c.form = FORM_PUT(1);
            x = profile_tensor(p, PROFILE_SYM, HAP_F32, 2, (int64_t[]){even.rows, COLS});
            src = profile_cut(p, PROFILE_IN, HAP_F32, 2, from);
        } else {
            x = src = profile_tensor(p, PROFILE_OUT, HAP_F32, 2, (int64_t[]){rows, COLS});
        }
        fits = x && src;
        if (fits) profile_add_coll(p, &c, x, src);
    }
    for (int k = 0; fits && k < n; k++) {
        hap_op_call c = {.op = HAP_OP_linear, .n_in = 2, .n_out = 1, .n_attr = 1};
        c.in[0] = profile_tensor(p, PROFILE_IN, t, 2, (int64_t[]){m, w});
        c.in[1] = profile_tensor(p, PROFILE_IN, t, 2, (int64_t[]){w, w});
        c.out[0] = profile_tensor(p, PROFILE_OUT, t, 2, (int64_t[]){m, w});
        fits = c.in[0] && c.in[1] && c.out[0];
        profile_add(p, CALL_OP)->op = c;
    }
    if (fits && rows > 0) profile_add(p, CALL_WAIT);
    if (!all_fit(p, fits)) return -1;
    return profile_run(p);
}

// Both beside each other go on at 1 / compute and 1 / communication of their speeds. Long:
// computing lasts longer than the all-reduce, which so costs it x = T_r * (1 - 1 / compute) *
// communication; short: the all-reduce lasts longer, and computing costs it y = T_c * (1 - 1 /
// communication) * compute. With a = x / T_r, b = y / T_c and r = communication / compute these are
// a = communication - r and b = compute - 1 / r, so r = (1 - a) / (1 - b).
static void contention(profile *p, bool one_sided)
{
    int64_t rows = p->quick ? 1024 : p->device.gpu ? 1 << 17 : 4096;
    int64_t m = p->device.gpu ? 8192 : 128, w = p->device.gpu ? 2048 : 256;
    double reduce = together(p, one_sided, rows, 0, m, w),
           one = together(p, one_sided, 0, 4, m, w) / 4;
    if (reduce < 0 || one <= 0) return;
    int n_short = (int)(0.3 * reduce / one), n_long = (int)(2.5 * reduce / one);
    n_short = n_short < 1 ? 1 : n_short;
    n_long = n_long < 4 * n_short ? 4 * n_short : n_long > 400 ? 400 : n_long;
    hap_comm_broadcast(p->r, &n_short, sizeof n_short);
    hap_comm_broadcast(p->r, &n_long, sizeof n_long);
    double work_short = together(p, one_sided, 0, n_short, m, w);
    double work_long = together(p, one_sided, 0, n_long, m, w);
    double a = (together(p, one_sided, rows, n_long, m, w) - work_long) / reduce;
    double b = (together(p, one_sided, rows, n_short, m, w) - reduce) / work_short;
    a = a < 0 ? 0 : a > 0.98 ? 0.98 : a;
    b = b < 0 ? 0 : b > 0.98 ? 0.98 : b;
    double r = (1 - a) / (1 - b);
    r = r < 1.0 / 3 ? 1.0 / 3 : r > 3 ? 3 : r; // further apart is noise
    double compute = b + 1 / r, communication = a + r;
    // Where noise says that one gains beside the other, it does not lose.
    profile_keep(p, (profile_result){PROFILE_CONTENTION, "compute", one_sided ? "push" : "", "", 0,
                                     0, compute < 1 ? 1 : compute});
    profile_keep(p, (profile_result){PROFILE_CONTENTION, "communication", one_sided ? "push" : "",
                                     "", 0, 0, communication < 1 ? 1 : communication});
    profile_progress(p);
}

void profile_contention(profile *p)
{
    if (p->r->n_ranks < 2 || p->only_dense) return;
    contention(p, false);
    if (p->peers) contention(p, true);
}
