#include "solver/ms_dual.h"

#include <math.h>
#include <string.h>

// --- tables, shared by pointer ---

typedef struct table_pair {
    const double *key;
    int rows, cols;
    double most, *f, *t;
} table_pair;

static double largest(const double *x, size_t n)
{
    double m[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) {
            double y = x[i + k] < (double)INFINITY ? fabs(x[i + k]) : 0;
            m[k] = y > m[k] ? y : m[k];
        }
    for (; i < n; i++)
        if (x[i] < (double)INFINITY && fabs(x[i]) > m[0]) m[0] = fabs(x[i]);
    return fmax(fmax(m[0], m[1]), fmax(m[2], m[3]));
}

static int pair_of(ms_dual *d, ms_keys *seen, table_pair *pairs, const ms_edge *e)
{
    int rows = d->p->domain[e->a], cols = d->p->domain[e->b];
    uint64_t at = (uint64_t)(uintptr_t)e->table;
    uint32_t key[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)rows, (uint32_t)cols};
    bool is_new;
    int id = ms_key_id(seen, key, 4, &is_new);
    size_t cells = (size_t)rows * (size_t)cols;
    if (is_new)
        pairs[id] = (table_pair){e->table, rows, cols, largest(e->table, cells), NULL, NULL};
    return id;
}

// Rows padded with zeros.
static double *padded(hb_arena *a, const double *p, int rows, int cols, double big)
{
    int wide = ms_padded(cols);
    double *t = hb_room(a, sizeof *t, rows * wide);
    for (int i = 0; i < rows; i++, p += cols) {
        double *row = t + i * wide;
        for (int k = 0; k < cols; k++)
            row[k] = p[k] < big ? p[k] : big;
        for (int k = cols; k < wide; k++)
            row[k] = 0;
    }
    return t;
}

static void fill_pair(ms_dual *d, table_pair *q)
{
    hb_arena *tmp = hb_arena_new();
    double *turned = hb_room(tmp, sizeof *turned, q->rows * q->cols);
    d->kernels->turn(turned, q->key, q->rows, q->cols);
    q->f = padded(d->arena, q->key, q->rows, q->cols, d->big);
    q->t = padded(d->arena, turned, q->cols, q->rows, d->big);
    hb_arena_free(tmp);
}

// --- the handshake ---

// e's tables as seen from its first end, or turned round.
static void shake(const ms_dual *d, const double *f, const double *t, int na, int nb,
                  const double *A, const double *B, double *to_a, double *to_b)
{
    double *restrict h = d->h, *restrict x = d->x;
    d->kernels->min_rows(h, B, t, NULL, nb, ms_padded(na));
    for (int i = 0; i < na; i++)
        h[i] = (A[i] - h[i]) / 2; // A_i - h_i with h_i = (A_i + min_k (F_ik + B_k)) / 2
    d->kernels->min_rows(to_b, h, f, NULL, na, ms_padded(nb));
    for (int k = 0; k < nb; k++)
        x[k] = -to_b[k];
    d->kernels->min_rows(to_a, x, t, NULL, nb, ms_padded(na));
}

void ms_dual_messages(ms_dual *d, const ms_dual_edge *e, const double *A, const double *B,
                      double *to_a, double *to_b)
{
    shake(d, e->f, e->t, d->p->domain[e->a], d->p->domain[e->b], A, B, to_a, to_b);
}

static void less(double *restrict x, const double *restrict y, int n)
{
    for (int i = 0; i < n; i += MS_LANES)
        for (int k = i; k < i + MS_LANES; k++)
            x[k] -= y[k];
}

static void plus(double *restrict x, const double *restrict y, int n)
{
    for (int i = 0; i < n; i += MS_LANES)
        for (int k = i; k < i + MS_LANES; k++)
            x[k] += y[k];
}

// Half of the gain over the edge stays at its first end, or with flip at its second.
void ms_dual_shake(ms_dual *d, ms_dual_edge *e, bool flip)
{
    int na = d->p->domain[e->a], nb = d->p->domain[e->b];
    double *A = d->th[e->a], *B = d->th[e->b];
    less(A, e->to_a, na);
    less(B, e->to_b, nb);
    if (flip)
        shake(d, e->t, e->f, nb, na, B, A, e->to_b, e->to_a);
    else
        shake(d, e->f, e->t, na, nb, A, B, e->to_a, e->to_b);
    plus(A, e->to_a, na);
    plus(B, e->to_b, nb);
}

double ms_dual_bound(const ms_dual *d)
{
    double lb = 0;
    for (int v = 0; v < d->p->n_vars; v++)
        lb += d->kernels->least(d->th[v], d->p->domain[v]);
    return lb;
}

void ms_dual_sweep(ms_dual *d, bool back)
{
    int n = d->p->n_edges;
    for (int i = 0; i < n; i++)
        ms_dual_shake(d, &d->e[back ? n - 1 - i : i], back);
}

void ms_dual_slacks(const ms_dual *d, double **slack)
{
    for (int v = 0; v < d->p->n_vars; v++) {
        double m = d->kernels->least(d->th[v], d->p->domain[v]);
        for (int i = 0; i < d->p->domain[v]; i++)
            slack[v][i] = d->th[v][i] - m;
    }
    double *x = d->x;
    for (int k = 0; k < d->p->n_edges; k++) {
        const ms_dual_edge *e = &d->e[k];
        int na = d->p->domain[e->a], nb = d->p->domain[e->b];
        for (int j = 0; j < nb; j++)
            x[j] = -e->to_b[j];
        d->kernels->min_rows(d->h, x, e->t, NULL, nb, ms_padded(na));
        for (int i = 0; i < na; i++) {
            double r = d->h[i] - e->to_a[i];
            slack[e->a][i] += r > 0 ? r : 0;
        }
        for (int i = 0; i < na; i++)
            x[i] = -e->to_a[i];
        d->kernels->min_rows(d->h, x, e->f, NULL, na, ms_padded(nb));
        for (int j = 0; j < nb; j++) {
            double r = d->h[j] - e->to_b[j];
            slack[e->b][j] += r > 0 ? r : 0;
        }
    }
}

// --- sequential passes ---

// One pass over the variables (TRW-S: Kolmogorov, PAMI 2006). Each variable hands its potential to
// the edges to later ones.
static void pass(ms_dual *d, bool back, bool last)
{
    const ms_problem *p = d->p;
    for (int s = 0; s < p->n_vars; s++) {
        int v = back ? p->n_vars - 1 - s : s, higher = 0;
        const ms_half *begin = d->half + d->first[v], *end = d->half + d->first[v + 1];
        for (const ms_half *e = begin; e < end; e++)
            higher += e->other > v;
        int n = (int)(end - begin), lower = n - higher;
        ms_visit visit = {
            v, p->domain[v], n, back, d->u[v], begin, 1.0 / (higher > lower ? higher : lower)};
        d->kernels->visit(&visit, d->th[v], d->h, last);
    }
}

// Twice the last step of all messages instead of once; old is where they were.
static void stride(double *restrict x, double *restrict old, size_t n, bool known)
{
    for (size_t i = 0; i < n; i++) {
        double now = x[i];
        if (known) x[i] += now - old[i];
        old[i] = now;
    }
}

void ms_dual_passes(ms_dual *d, int n, bool overstep)
{
    if (overstep && !d->old) d->old = HB_ARRAY(d->arena, double, d->m->n);
    for (int i = 0; i < n; i++) {
        pass(d, i & 1, i == n - 1);
        if (overstep && (i & 1) && i < n - 1) stride(d->m->all, d->old, d->m->n, i > 1);
    }
    ms_dual_sum(d);
}

// --- start ---

ms_messages *ms_messages_new(hb_arena *a, const ms_problem *p)
{
    ms_messages *m = HB_NEW(a, ms_messages);
    m->to_a = hb_room(a, sizeof *m->to_a, p->n_edges + 1);
    m->to_b = hb_room(a, sizeof *m->to_b, p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++)
        m->n += (size_t)(ms_padded(p->domain[p->edge[k].a]) + ms_padded(p->domain[p->edge[k].b]));
    double *at = m->all = HB_ARRAY(a, double, m->n + 1);
    for (int k = 0; k < p->n_edges; k++) {
        m->to_a[k] = at;
        m->to_b[k] = at += ms_padded(p->domain[p->edge[k].a]);
        at += ms_padded(p->domain[p->edge[k].b]);
    }
    return m;
}

void ms_dual_sum(ms_dual *d)
{
    const ms_problem *p = d->p;
    for (int v = 0; v < p->n_vars; v++)
        memcpy(d->th[v], d->u[v], sizeof *d->u[v] * (size_t)p->domain[v]);
    for (int k = 0; k < p->n_edges; k++) {
        const ms_dual_edge *e = &d->e[k];
        plus(d->th[e->a], e->to_a, p->domain[e->a]);
        plus(d->th[e->b], e->to_b, p->domain[e->b]);
    }
}

// Potentials by variable, one behind the other.
static double **potentials(hb_arena *a, const ms_problem *p)
{
    size_t n = 0;
    double **x = hb_room(a, sizeof *x, p->n_vars + 1);
    for (int v = 0; v < p->n_vars; v++)
        n += (size_t)ms_padded(p->domain[v]);
    double *at = HB_ARRAY(a, double, n + 1);
    for (int v = 0; v < p->n_vars; at += ms_padded(p->domain[v++]))
        x[v] = at;
    return x;
}

static void list_halves(ms_dual *d)
{
    const ms_problem *p = d->p;
    d->first = HB_ARRAY(d->arena, int, p->n_vars + 2);
    d->half = hb_room(d->arena, sizeof *d->half, 2 * p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        d->first[p->edge[k].a + 2]++;
        d->first[p->edge[k].b + 2]++;
    }
    for (int v = 2; v < p->n_vars + 2; v++)
        d->first[v] += d->first[v - 1];
    for (int k = 0; k < p->n_edges; k++) {
        const ms_dual_edge *e = &d->e[k];
        d->half[d->first[e->a + 1]++] =
            (ms_half){e->to_a, e->to_b, e->f, e->b, ms_padded(p->domain[e->b])};
        d->half[d->first[e->b + 1]++] =
            (ms_half){e->to_b, e->to_a, e->t, e->a, ms_padded(p->domain[e->a])};
    }
}

void ms_dual_begin(ms_dual *d, hb_arena *arena, const ms_problem *p, ms_messages *m)
{
    *d = (ms_dual){.arena = arena, .p = p, .m = m, .kernels = ms_best_kernels()};
    int widest = 1, n_pairs = 0, *pair = HB_ARRAY(d->arena, int, p->n_edges + 1);
    double most = 0;
    ms_keys *seen = ms_keys_new(d->arena);
    table_pair *pairs = HB_ARRAY(d->arena, table_pair, p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        pair[k] = pair_of(d, seen, pairs, &p->edge[k]);
        n_pairs = pair[k] >= n_pairs ? pair[k] + 1 : n_pairs;
        most += pairs[pair[k]].most;
    }
    for (int v = 0; v < p->n_vars; v++)
        most += largest(p->unary[v], (size_t)p->domain[v]);
    d->big = 4 * most + 1;
    for (int k = 0; k < n_pairs; k++)
        fill_pair(d, &pairs[k]);
    d->u = potentials(arena, p);
    d->th = potentials(arena, p);
    for (int v = 0; v < p->n_vars; v++) {
        for (int i = 0; i < p->domain[v]; i++)
            d->u[v][i] = p->unary[v][i] < d->big ? p->unary[v][i] : d->big;
        widest = p->domain[v] > widest ? p->domain[v] : widest;
    }
    d->h = HB_ARRAY(d->arena, double, ms_padded(widest));
    d->x = HB_ARRAY(d->arena, double, ms_padded(widest));
    d->e = hb_room(d->arena, sizeof *d->e, p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        const table_pair *q = &pairs[pair[k]];
        d->e[k] = (ms_dual_edge){e->a, e->b, q->f, q->t, m->to_a[k], m->to_b[k]};
    }
    list_halves(d);
    ms_dual_sum(d);
}
