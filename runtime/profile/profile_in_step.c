// What a collective takes in a step that it does not take in a loop of its own: its launch
// overhead, where ranks come apart on their way to it, and its kernel or its copies part from the
// compute stream and meet it again; and the time that a one-sided put takes longer if its rows were
// made just before, and the next matmul runs beside it.

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "profile/profile.h"

// What a case does `times` over: a matmul of [part, k] x [k, n], and an all-gather of [part, n] of
// each rank, of what the matmul wrote or of other rows.
typedef struct in_step {
    hap_form form;
    int64_t part, k, n;
    int times;
    bool computes, gathers, fresh;
    bool beside; // the next matmul runs beside the all-gather, else behind it
} in_step;

static hap_tensor *rows_of(profile *p, int zone, const hap_dim *rows, int64_t columns)
{
    hap_dtype t = p->device.gpu ? HAP_BF16 : HAP_F32;
    return profile_cut(p, zone, t, 2, HAP_DIMS(*rows, WHOLE(columns)));
}

// A matmul that nothing waits for but what reads y; NULL: it does not fit.
static hap_tensor *compute(profile *p, const in_step *c, const hap_dim *rows)
{
    hap_dtype t = p->device.gpu ? HAP_BF16 : HAP_F32;
    hap_tensor *x = rows_of(p, PROFILE_IN, rows, c->k), *y = rows_of(p, PROFILE_OUT, rows, c->n),
               *w = profile_tensor(p, PROFILE_IN, t, 2, (int64_t[]){c->k, c->n});
    if (!x || !y || !w) return NULL;
    profile_add_matmul(p, y, x, w);
    return y;
}

static bool gather(profile *p, const in_step *c, const hap_dim *rows, hap_tensor *made)
{
    hap_coll_call call = {.kind = HAP_ALL_GATHER, .axes = AXIS(0), .form = c->form};
    hap_dim whole = WHOLE(c->part * p->r->n_ranks);
    hap_tensor *from = c->fresh ? made : rows_of(p, PROFILE_IN, rows, c->n);
    hap_tensor *to = rows_of(p, hap_form_put(c->form) ? PROFILE_SYM : PROFILE_OUT, &whole, c->n);
    if (!from || !to) return false;
    profile_add_coll(p, &call, to, from);
    return true;
}

// Seconds of a step; negative: it does not fit.
static double measure(profile *p, const in_step *c)
{
    int n = p->r->n_ranks;
    bool fits = true;
    profile_begin(p);
    int64_t *table = profile_own(p, sizeof *table * (size_t)n);
    for (int i = 0; i < n; i++)
        table[i] = c->part;
    hap_dim rows = CUT(0, c->part * n, table);
    hap_tensor *made = NULL;
    if (c->computes && c->beside) fits = (made = compute(p, c, &rows)) != NULL;
    for (int i = 0; fits && i < c->times; i++) {
        if (c->computes && !c->beside) fits = (made = compute(p, c, &rows)) != NULL;
        if (fits && c->gathers) fits = gather(p, c, &rows, made);
        if (fits && c->computes && c->beside) fits = (made = compute(p, c, &rows)) != NULL;
        if (fits && c->gathers) profile_add(p, CALL_WAIT);
    }
    return hap_comm_min(p->r, fits) == 1 ? profile_run(p) : -1;
}

static double middle(double a, double b, double c)
{
    double least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

// A step that computes and communicates in turn, less its matmuls and its collectives, each back to
// back: the middle of three rounds. 0: not measured, 1 ns: nothing.
static double overhead(profile *p, hap_form form)
{
    bool gpu = p->device.gpu;
    in_step both = {.form = form,
                    .part = gpu ? 1024 : 64,
                    .k = gpu ? 1024 : 64,
                    .n = gpu ? 1024 : 64,
                    .times = 16,
                    .computes = true,
                    .gathers = true,
                    .fresh = true};
    in_step matmuls = both, transfers = both;
    matmuls.gathers = false;
    transfers.computes = transfers.fresh = false;
    double more[3];
    for (int i = 0; i < 3; i++) {
        double sec = measure(p, &both), made = measure(p, &matmuls), sent = measure(p, &transfers);
        if (sec < 0 || made < 0 || sent < 0) return 0;
        more[i] = (sec - made - sent) / both.times;
    }
    double each = middle(more[0], more[1], more[2]);
    return each > 1e-9 ? each : 1e-9;
}

// How many times longer puts take of rows that were just made than of others, where the next matmul
// runs beside both and the transfer takes longer. 0: not measured.
static double fresh(profile *p)
{
    bool gpu = p->device.gpu;
    in_step made = {.form = FORM_PUT(1),
                    .part = gpu ? 8192 : 256,
                    .k = gpu ? 1024 : 16,
                    .n = gpu ? 4096 : 256,
                    .times = 8,
                    .computes = true,
                    .gathers = true,
                    .fresh = true,
                    .beside = true};
    in_step other = made, alone = made;
    other.fresh = alone.fresh = alone.computes = false;
    double sec = measure(p, &made), less = measure(p, &other), sent = measure(p, &alone);
    if (sec < 0 || less < 0 || sent <= 0) return 0;
    double times = 1 + (sec - less) / sent;
    return times < 1 ? 1 : times > 3 ? 3 : times; // more is noise
}

void profile_in_step(profile *p)
{
    if (p->r->n_ranks < 2 || p->only_dense) return;
    for (int put = 0; put < 2; put++) {
        double sec = !put || p->peers ? overhead(p, put ? FORM_PUT(1) : FORM_EVEN) : 0;
        profile_keep(
            p, (profile_result){PROFILE_OVERHEAD, put ? "push" : "library", "", "", 0, 0, sec});
        profile_progress(p);
    }
    double times = p->peers ? fresh(p) : 0;
    if (times > 0)
        profile_keep(p, (profile_result){PROFILE_CONTENTION, "fresh", "push", "", 0, 0, times});
    profile_progress(p);
}
