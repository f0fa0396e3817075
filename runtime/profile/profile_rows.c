// Rows whose time goes by bytes, each alone. What several of them take as one kernel the planner
// works out from these. Updates of parameters follow each other as in a step, so that the CUDA
// backend joins them as it does there.

#include <string.h>

#include "core/fail.h"
#include "profile/profile.h"

// An operand by a letter, for R rows of C:  m [R, C] of the type in question; f [R, C] f32;
// h [R, C] bf16; r [R] f32; c [C] f32; s [] f32; i [R] indices; t [PROFILE_IDS, C] of the type;
// x [R, 2C], y [R, C] f32 parts of it.
typedef struct row {
    hap_op_id op;
    const char *out, *in; // outputs of rows in place are their first operands
    bool typed;           // in bf16, too
    bool cold;            // reads what was written long before: no cache holds it
} row;

static const row rows[] = {
    {HAP_OP_add, "m", "mm", true, false},
    {HAP_OP_mul, "m", "mm", true, false},
    {HAP_OP_div, "m", "mm", false, false},
    {HAP_OP_scale, "m", "m", true, false},
    {HAP_OP_cast, "h", "f", false, false},
    {HAP_OP_gelu, "m", "m", true, false},
    {HAP_OP_gelu_bwd, "m", "mm", true, false},
    {HAP_OP_relu, "m", "m", true, false},
    {HAP_OP_relu_bwd, "m", "mm", true, false},
    {HAP_OP_silu, "m", "m", true, false},
    {HAP_OP_silu_bwd, "m", "mm", true, false},
    {HAP_OP_tanh, "m", "m", false, false},
    {HAP_OP_tanh_bwd, "m", "mm", false, false},
    {HAP_OP_dropout, "m", "m", true, false},
    {HAP_OP_row_max, "r", "f", false, false},
    {HAP_OP_row_expsum, "r", "fr", false, false},
    {HAP_OP_row_dot, "r", "ff", false, false},
    {HAP_OP_softmax_apply, "f", "frr", false, false},
    {HAP_OP_softmax_bwd, "f", "ffr", false, false},
    {HAP_OP_target_logit, "r", "fi", false, false},
    {HAP_OP_nll_sum, "s", "rrri", false, false},
    {HAP_OP_ce_bwd, "f", "frris", false, false},
    {HAP_OP_row_sum, "r", "f", false, false},
    {HAP_OP_row_m2, "r", "fr", false, false},
    {HAP_OP_norm_apply, "f", "frrcc", false, false},
    {HAP_OP_norm_bwd_stats, "rr", "ffrrc", false, false},
    {HAP_OP_norm_bwd, "f", "ffrrrrc", false, false},
    {HAP_OP_norm_bwd_params, "cc", "ffrr", false, false},
    {HAP_OP_sum, "c", "m", true, false},
    {HAP_OP_sumsq, "s", "f", false, true},
    {HAP_OP_embedding, "f", "ti", false, false},
    {HAP_OP_embedding_bwd, "t", "fi", false, false},
    {HAP_OP_transpose, "m", "m", true, false},
    {HAP_OP_split, "mm", "x", true, false},
    {HAP_OP_concat, "x", "mm", true, false},
    {HAP_OP_slice, "m", "x", true, false},
    {HAP_OP_sgd, "", "ff", false, true},
    {HAP_OP_momentum, "", "fff", false, true},
    {HAP_OP_adam, "", "ffff", false, true},
};

typedef struct extent {
    int64_t rows, cols;
    hap_dtype type;
} extent;

static hap_tensor *operand(profile *p, int zone, char letter, const extent *e)
{
    int64_t whole[] = {e->rows, e->cols}, wide[] = {e->rows, 2 * e->cols};
    int64_t table[] = {PROFILE_IDS, e->cols};
    switch (letter) {
    case 'm':
        return profile_tensor(p, zone, e->type, 2, whole);
    case 'f':
        return profile_tensor(p, zone, HAP_F32, 2, whole);
    case 'h':
        return profile_tensor(p, zone, HAP_BF16, 2, whole);
    case 'r':
        return profile_tensor(p, zone, HAP_F32, 1, &e->rows);
    case 'c':
        return profile_tensor(p, zone, HAP_F32, 1, &e->cols);
    case 's':
        return profile_tensor(p, zone, HAP_F32, 0, NULL);
    case 'i':
        return profile_ids(p, e->rows);
    case 't':
        return profile_tensor(p, zone, e->type, 2, table);
    default: // x
        return profile_tensor(p, zone, e->type, 2, wide);
    }
}

static hap_ints ints(profile *p, int n, const int64_t *v)
{
    int64_t *copy = profile_own(p, sizeof *v * (size_t)n);
    memcpy(copy, v, sizeof *v * (size_t)n);
    return (hap_ints){n, copy};
}

// Dims, and sizes in them. False for ops without.
static bool set_dims(profile *p, hap_op_call *c, const extent *e)
{
    c->n_attr = 1;
    switch ((int)c->op) {
    case HAP_OP_sum:
        c->n_attr = 2;
        c->attr[0].v = ints(p, 1, (const int64_t[]){0});
        return true;
    case HAP_OP_transpose:
        c->attr[0].v = ints(p, 4, (const int64_t[]){0, 2, 1, 3});
        return true;
    case HAP_OP_split:
        c->n_attr = 2;
        c->attr[0].i = 1;
        c->attr[1].v = ints(p, 2, (const int64_t[]){e->cols, e->cols});
        return true;
    case HAP_OP_concat:
        c->attr[0].i = 1;
        return true;
    case HAP_OP_slice:
        c->n_attr = 3;
        c->attr[0].i = 1;
        c->attr[2].i = e->cols;
        return true;
    default:
        return false;
    }
}

static void set_attributes(profile *p, hap_op_call *c, const extent *e)
{
    static const double adam[] = {1, 0.9, 0.999, 1e-8, 0.1};
    if (set_dims(p, c, e)) return;
    switch ((int)c->op) {
    case HAP_OP_scale:
        c->attr[0].f = 0.5;
        break;
    case HAP_OP_cast:
        c->attr[0].i = HAP_BF16;
        break;
    case HAP_OP_gelu:
    case HAP_OP_gelu_bwd:
        c->attr[0].i = 1;
        break;
    case HAP_OP_dropout:
        c->n_attr = 3;
        c->attr[0].f = 0.1;
        break;
    case HAP_OP_target_logit:
    case HAP_OP_nll_sum:
    case HAP_OP_ce_bwd:
        c->attr[0].i = -100;
        break;
    case HAP_OP_norm_apply:
    case HAP_OP_norm_bwd_stats:
    case HAP_OP_norm_bwd:
    case HAP_OP_norm_bwd_params:
        c->attr[0].f = 1e-5;
        break;
    case HAP_OP_embedding_bwd:
        c->attr[0].i = PROFILE_IDS;
        break;
    case HAP_OP_sgd:
        c->n_attr = 2;
        c->attr[0].f = 1;
        break;
    case HAP_OP_momentum:
        c->n_attr = 4;
        c->attr[0].f = 1;
        c->attr[1].f = 0.9;
        break;
    case HAP_OP_adam:
        c->n_attr = 6;
        for (int i = 0; i < 5; i++)
            c->attr[i].f = adam[i];
        c->attr[5].i = 1;
        break;
    default:
        c->n_attr = 0;
    }
}

// [B, S, H, 64] to [B, H, S, 64], as attention's heads lie.
static bool heads(profile *p, hap_op_call *c, const extent *e)
{
    int64_t h = e->cols / 64, s = e->rows < 128 ? e->rows : 128;
    int64_t from[] = {e->rows / s, s, h, 64}, to[] = {e->rows / s, h, s, 64};
    c->in[0] = profile_tensor(p, PROFILE_IN, e->type, 4, from);
    c->out[0] = profile_tensor(p, PROFILE_OUT, e->type, 4, to);
    c->n_in = c->n_out = 1;
    return c->in[0] && c->out[0];
}

// One call of a row on fresh tensors. False if it does not fit.
static bool add_row(profile *p, const row *w, const extent *e)
{
    hap_op_call c = {.op = w->op};
    bool in_place = w->out[0] == 0;
    set_attributes(p, &c, e);
    if (w->op == HAP_OP_transpose) {
        if (!heads(p, &c, e)) return false;
    } else {
        c.n_in = (int)strlen(w->in);
        c.n_out = in_place ? c.n_in - 1 : (int)strlen(w->out);
        for (int i = 0; i < c.n_in; i++) {
            bool written = in_place && i < c.n_in - 1; // all but the gradient
            c.in[i] = operand(p, written ? PROFILE_OUT : PROFILE_IN, w->in[i], e);
            if (!c.in[i]) return false;
        }
        for (int i = 0; i < c.n_out; i++) {
            c.out[i] = in_place ? c.in[i] : operand(p, PROFILE_OUT, w->out[i], e);
            if (!c.out[i]) return false;
        }
    }
    profile_add(p, CALL_OP)->op = c;
    return true;
}

// As ir_node_work counts: a row in place both reads and writes what it updates, a lookup reads as
// much of its table as it writes.
static double bytes_of(const hap_op_call *c)
{
    double n = 0;
    for (int i = 0; i < c->n_out; i++)
        n += (double)c->out[i]->bytes;
    for (int i = 0; i < c->n_in; i++) {
        const hap_tensor *t = c->in[i];
        bool gather = i == 0 && (c->op == HAP_OP_embedding || c->op == HAP_OP_target_logit);
        n += gather ? (double)(c->out[0]->elements * hap_dtype_bytes(t->type)) : (double)t->bytes;
    }
    return n;
}

// Rows of width 768; of losses, as wide as a vocabulary.
static extent extent_of(const row *w, double bytes, hap_dtype type)
{
    bool wide = w->op == HAP_OP_row_max || w->op == HAP_OP_row_expsum || w->op == HAP_OP_ce_bwd ||
                w->op == HAP_OP_target_logit;
    extent e = {0, wide ? 32000 : 768, type};
    if (!wide && bytes < 4.0 * (double)e.cols * 8) e.cols = 64;
    e.rows = (int64_t)(bytes / (double)(e.cols * 4));
    if (e.rows > 128) e.rows -= e.rows % 128;
    if (e.rows < 1) e.rows = 1;
    return e;
}

enum { MOST_ROUND = 300 }; // calls

static void measure(profile *p, const row *w, const extent *e)
{
    bool fits = true;
    profile_begin(p);
    double bytes = 8 * (double)(e->rows * e->cols);
    int n = profile_times(p, 0, bytes), round = (int)(1.5 * (double)p->zone[PROFILE_OUT] / bytes);
    if (w->cold && n < round) n = round < MOST_ROUND ? round : MOST_ROUND;
    for (int k = 0; fits && k < n; k++)
        fits = add_row(p, w, e);
    if (!fits) return;
    bytes = bytes_of(&p->call[0].op);
    profile_keep(p, (profile_result){PROFILE_OP, hap_op_names[w->op], "",
                                     e->type == HAP_BF16 ? "bf16" : "f32", 0, bytes,
                                     profile_run(p) / n});
    profile_progress(p);
}

// A rank's part of a whole tensor.
static void copies(profile *p, double bytes)
{
    int n = profile_times(p, 0, bytes), n_ranks = p->r->n_ranks;
    int64_t part = (int64_t)(bytes / 8 / 256) + 1;
    bool fits = true;
    profile_begin(p);
    int64_t *table = profile_own(p, sizeof *table * (size_t)n_ranks);
    for (int i = 0; i < n_ranks; i++)
        table[i] = part;
    for (int k = 0; fits && k < n; k++) {
        hap_op_call *c = &profile_add(p, CALL_CUT)->op;
        c->in[0] = profile_tensor(p, PROFILE_IN, HAP_F32, 2, (int64_t[]){n_ranks * part, 256});
        c->out[0] = profile_cut(p, PROFILE_OUT, HAP_F32, 2,
                                HAP_DIMS(CUT(0, n_ranks * part, table), WHOLE(256)));
        fits = c->in[0] && c->out[0];
    }
    if (!fits) return;
    double moved = 2 * (double)p->call[0].op.out[0]->bytes;
    profile_keep(p,
                 (profile_result){PROFILE_COPY, "copy", "", "f32", 0, moved, profile_run(p) / n});
    profile_progress(p);
}

void profile_rows(profile *p)
{
    static const double gpu[] = {64e3, 1e6, 8e6, 64e6, 400e6, 0},
                        cpu[] = {16e3, 256e3, 2e6, 16e6, 0}, quick[] = {16e3, 256e3, 0};
    const double *sizes = p->quick ? quick : p->device.gpu ? gpu : cpu;
    enum { N_ROWS = sizeof rows / sizeof *rows };
    for (int i = 0; i < N_ROWS && !p->only_dense; i++)
        for (int t = 0; t < (p->device.gpu && rows[i].typed ? 2 : 1); t++)
            for (const double *b = sizes; *b > 0; b++) {
                extent e = extent_of(&rows[i], *b, t ? HAP_BF16 : HAP_F32);
                measure(p, &rows[i], &e);
            }
    for (const double *b = sizes; *b > 0 && !p->only_dense; b++)
        copies(p, *b);
}
