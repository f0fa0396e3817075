#include "tests/support/record_exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct exec {
    hb_arena *a;
    const record *r;
    hap_step_state now;
    char **sym, **local; // by rank
    char **kept;         // by rank: both, as of exec_save; NULL before
    int faulty;          // a rank, or -1
    bool missed;         // its last kernel had an element to miss
    hap_tensor *t;       // [rank * n_tensors + id]
};

static int coord(const exec *x, int rank, int axis)
{
    if (x->r->n_axes == 1) return rank;
    return axis == 0 ? rank / x->r->size[1] : rank % x->r->size[1];
}

static hap_tensor *part(const exec *x, int rank, int id)
{
    return &x->t[(size_t)rank * (size_t)x->r->tensors.n + (size_t)id];
}

exec *exec_new(hb_arena *a, const record *r, hap_step_state now)
{
    exec *x = HB_NEW(a, exec);
    *x = (exec){.a = a, .r = r, .now = now, .faulty = -1};
    x->sym = HB_ARRAY(a, char *, r->n_ranks);
    x->local = HB_ARRAY(a, char *, r->n_ranks);
    x->t = HB_ARRAY(a, hap_tensor, r->n_ranks * (r->tensors.n + 1));
    for (int rank = 0; rank < r->n_ranks; rank++) {
        int cls = r->class_of[rank], at[SYN_MAX_AXES + 1] = {[SYN_BOTH] = rank};
        size_t sizes[2] = {(size_t)r->sym_bytes, (size_t)r->local_bytes[cls]};
        x->sym[rank] = malloc(sizes[0] + 1);
        x->local[rank] = malloc(sizes[1] + 1);
        hb_assert(x->sym[rank] && x->local[rank]);
        memset(x->sym[rank], 0xff, sizes[0]);
        memset(x->local[rank], 0xff, sizes[1]);
        for (int i = 0; i < r->n_axes; i++)
            at[i] = coord(x, rank, i);
        for (int id = 0; id < r->tensors.n; id++) {
            const rec_tensor *s = &r->tensors.p[id];
            hap_dim dims[HAP_MAX_RANK];
            for (int d = 0; d < s->rank; d++)
                dims[d] = (hap_dim){s->dim[d].n, s->dim[d].outer, s->dim[d].inner, s->dim[d].axis,
                                    s->dim[d].table};
            hap_tensor *t = part(x, rank, id);
            *t = shard_new((hap_dtype)s->dtype, s->rank, dims, at);
            shard_free(t);
            t->data = (s->seg == 0 ? x->sym[rank] : x->local[rank]) + s->off[cls];
        }
    }
    return x;
}

void exec_free(exec *x)
{
    for (int rank = 0; rank < x->r->n_ranks; rank++) {
        free(x->sym[rank]);
        free(x->local[rank]);
        if (x->kept) free(x->kept[rank]);
    }
}

// Global row-major index of local element l.
static int64_t global_index(const hap_tensor *t, int64_t l)
{
    int64_t g = 0, stride = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        const hap_dim *m = &t->dim[d];
        int64_t i = l % t->local[d], part_n = t->local[d] / m->outer;
        l /= t->local[d];
        g += stride * (i / part_n * m->n * m->inner + t->first[d] * m->inner + i % part_n);
        stride *= m->outer * m->n * m->inner;
    }
    return g;
}

// Elements from a multiple of this on that lie side by side in the whole tensor, too.
static int64_t run_length(const hap_tensor *t)
{
    return t->rank == 0 ? 1 : t->local[t->rank - 1] / t->dim[t->rank - 1].outer;
}

static int64_t whole_elements(const hap_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d].outer * t->dim[d].n * t->dim[d].inner;
    return n;
}

static double load(const hap_tensor *t, int64_t i)
{
    switch (t->type) {
    case HAP_F32:
        return (double)((const float *)t->data)[i];
    case HAP_I64:
        return (double)((const int64_t *)t->data)[i];
    case HAP_I32:
        return (double)((const int32_t *)t->data)[i];
    case HAP_BOOL:
    case HAP_U8:
        return (double)((const uint8_t *)t->data)[i];
    case HAP_BF16:
    case HAP_F16:
        break;
    }
    hb_assert(false && "a dtype of these tests");
    return 0;
}

static void store(hap_tensor *t, int64_t i, double v)
{
    switch (t->type) {
    case HAP_F32:
        ((float *)t->data)[i] = (float)v;
        return;
    case HAP_I64:
        ((int64_t *)t->data)[i] = isfinite(v) ? (int64_t)v : INT64_MIN;
        return;
    case HAP_I32:
        ((int32_t *)t->data)[i] = isfinite(v) ? (int32_t)v : INT32_MIN;
        return;
    case HAP_BOOL:
        ((uint8_t *)t->data)[i] = isfinite(v) ? v != 0 : 0xff;
        return;
    case HAP_U8:
        ((uint8_t *)t->data)[i] = isfinite(v) ? (uint8_t)v : 0xff;
        return;
    case HAP_BF16:
    case HAP_F16:
        break;
    }
    hb_assert(false && "a dtype of these tests");
}

static void take(hap_tensor *t, const double *whole)
{
    int64_t n = run_length(t);
    for (int64_t first = 0; first < t->elements; first += n) {
        const double *w = &whole[global_index(t, first)];
        for (int64_t i = 0; i < n; i++)
            store(t, first + i, w[i]);
    }
}

// how: 0 put, 's' add, 'm' maximum.
static void give(const hap_tensor *t, double *whole, char how)
{
    int64_t n = run_length(t);
    for (int64_t first = 0; first < t->elements; first += n) {
        double *w = &whole[global_index(t, first)];
        for (int64_t i = 0; i < n; i++) {
            double v = load(t, first + i);
            w[i] = how == 's' ? w[i] + v : how == 'm' ? (v > w[i] || isnan(v) ? v : w[i]) : v;
        }
    }
}

static double *blank(const hap_tensor *t, char how)
{
    int64_t n = whole_elements(t);
    double *w = malloc(sizeof *w * (size_t)(n > 0 ? n : 1));
    hb_assert(w);
    for (int64_t i = 0; i < n; i++)
        w[i] = how == 's' ? 0 : how == 'm' ? -(double)INFINITY : (double)NAN;
    return w;
}

void exec_fault(exec *x, int rank)
{
    x->faulty = rank;
    x->missed = false;
}

bool exec_missed(const exec *x)
{
    return x->missed;
}

void exec_save(exec *x)
{
    if (!x->kept) x->kept = HB_ARRAY(x->a, char *, x->r->n_ranks);
    for (int rank = 0; rank < x->r->n_ranks; rank++) {
        size_t sym = (size_t)x->r->sym_bytes,
               local = (size_t)x->r->local_bytes[x->r->class_of[rank]];
        if (!x->kept[rank]) x->kept[rank] = malloc(sym + local + 1);
        hb_assert(x->kept[rank]);
        memcpy(x->kept[rank], x->sym[rank], sym);
        memcpy(x->kept[rank] + sym, x->local[rank], local);
    }
}

void exec_restore(exec *x)
{
    for (int rank = 0; rank < x->r->n_ranks; rank++) {
        size_t sym = (size_t)x->r->sym_bytes,
               local = (size_t)x->r->local_bytes[x->r->class_of[rank]];
        memcpy(x->sym[rank], x->kept[rank], sym);
        memcpy(x->local[rank], x->kept[rank] + sym, local);
    }
}

void exec_set(exec *x, int id, const hap_tensor *whole)
{
    double *w = blank(whole, 0);
    give(whole, w, 0);
    for (int rank = 0; rank < x->r->n_ranks; rank++)
        take(part(x, rank, id), w);
    free(w);
}

static bool together(const exec *x, unsigned axes, int a, int b) // in one group of the axes
{
    for (int i = 0; i < x->r->n_axes; i++)
        if (!(axes >> i & 1u) && coord(x, a, i) != coord(x, b, i)) return false;
    return true;
}

static void collective(exec *x, const rec_call *k, int pair)
{
    bool reduces = k->coll == COST_ALL_REDUCE || k->coll == COST_REDUCE_SCATTER;
    char how = !reduces ? 0 : k->reduce_max ? 'm' : 's';
    int n = x->r->n_ranks;
    double **w = HB_ARRAY(x->a, double *, n); // by the first rank of a group
    for (int rank = 0; rank < n; rank++) {
        int first = 0;
        while (!together(x, k->axes, first, rank))
            first++;
        if (first == rank) w[rank] = blank(part(x, rank, k->in[pair]), how);
        give(part(x, rank, k->in[pair]), w[first], how);
    }
    for (int rank = 0; rank < n; rank++) {
        int first = 0;
        while (!together(x, k->axes, first, rank))
            first++;
        take(part(x, rank, k->out[pair]), w[first]);
    }
    for (int rank = 0; rank < n; rank++)
        free(w[rank]);
}

static void spoil(exec *x, int id)
{
    for (int rank = 0; rank < x->r->n_ranks; rank++)
        memset(part(x, rank, id)->data, 0xff, (size_t)part(x, rank, id)->bytes);
}

// Zeroes the largest element of the first float operand.
static bool miss(const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++) {
        if (c->in[i]->type != HAP_F32) continue;
        float *v = c->in[i]->data, *most = v;
        for (int64_t k = 0; k < c->in[i]->elements; k++)
            if (fabsf(v[k]) > fabsf(*most)) most = v + k;
        if (c->in[i]->elements == 0 || *most == 0) return false;
        *most = 0;
        return true;
    }
    return false;
}

static const char *run_op(exec *x, const rec_call *k, int rank)
{
    hap_op_call c = {.op = (hap_op_id)k->op, .n_out = k->n_out, .n_in = k->n_in};
    c.n_attr = ir_op_of((ir_op)k->op)->n_attr;
    for (int i = 0; i < k->n_in; i++)
        c.in[i] = part(x, rank, k->in[i]);
    for (int i = 0; i < k->n_out; i++)
        c.out[i] = part(x, rank, k->out[i]);
    if (rank == x->faulty) x->missed = miss(&c);
    for (int i = 0; i < c.n_attr; i++)
        c.attr[i] =
            (hap_attr){.i = k->attr[i].i, .f = k->attr[i].f, .v = {k->attr[i].n, k->attr[i].v}};
    return hap_cpu_run(&x->now, &c);
}

const char *exec_call(exec *x, int call)
{
    const rec_call *k = &x->r->calls.p[call];
    for (int rank = 0; rank < x->r->n_ranks; rank++) {
        if (k->kind == REC_OP) {
            const char *why = run_op(x, k, rank);
            if (why) return why;
        } else if (k->kind == REC_SLICE || k->kind == REC_PARTIAL) {
            hap_tensor *y = part(x, rank, k->out[0]);
            double *w = blank(y, 0);
            give(part(x, rank, k->in[0]), w, 0);
            take(y, w);
            free(w);
            bool zero = false;
            for (int i = 0; k->kind == REC_PARTIAL && i < x->r->n_axes; i++)
                zero = zero || ((k->axes >> i & 1u) && coord(x, rank, i) != 0);
            if (zero) memset(y->data, 0, (size_t)y->bytes);
        }
    }
    if (k->kind == REC_START) {
        for (int i = 0; i < k->n_out; i++)
            if (part(x, 0, k->in[i])->data != part(x, 0, k->out[i])->data) spoil(x, k->out[i]);
        if (k->scratch >= 0) spoil(x, k->scratch);
    }
    if (k->kind == REC_WAIT) {
        int s = call;
        while (x->r->calls.p[s].kind != REC_START || x->r->calls.p[s].event != k->event)
            s--;
        for (int i = 0; i < x->r->calls.p[s].n_in; i++)
            collective(x, &x->r->calls.p[s], i);
    }
    return NULL;
}

static double difference(const double *got, const hap_tensor *want)
{
    double most = 0;
    for (int64_t i = 0; i < want->elements; i++) {
        double a = got[i], b = load(want, i);
        if ((isnan(a) && isnan(b)) || (!isfinite(a) && !isnan(a) && a > b - 1 && a < b + 1))
            continue;
        if (!isfinite(a) && !isfinite(b) && !isnan(a) && !isnan(b) && (a > 0) == (b > 0)) continue;
        if (!isfinite(a) || !isfinite(b)) return (double)INFINITY;
        if (fabs(a - b) > most) most = fabs(a - b);
    }
    return most;
}

double exec_differs(const exec *x, int id, const char *partial, const hap_tensor *whole)
{
    double most = 0;
    const rec_tensor *t = &x->r->tensors.p[id];
    unsigned whole_axes = 0; // every coordinate holds all of it
    char how = 0;
    for (int i = 0; i < x->r->n_axes; i++) {
        bool cut = false;
        for (int d = 0; d < t->rank; d++)
            cut = cut || t->dim[d].axis == i || t->dim[d].axis == SYN_BOTH;
        if (!cut && !partial[i]) whole_axes |= 1u << i;
        if (partial[i]) how = partial[i];
    }
    unsigned rest = ~whole_axes;
    for (int first = 0; first < x->r->n_ranks; first++) {
        bool leader = true; // of the ranks that make the tensor together
        for (int r = 0; r < first; r++)
            leader = leader && !together(x, rest, r, first);
        if (!leader) continue;
        double *w = blank(whole, how);
        for (int r = 0; r < x->r->n_ranks; r++)
            if (together(x, rest, first, r)) give(part(x, r, id), w, how);
        double d = difference(w, whole);
        if (d > most) most = d;
        free(w);
    }
    return most;
}
