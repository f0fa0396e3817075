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
    double m = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] < (double)INFINITY && fabs(x[i]) > m) m = fabs(x[i]);
    return m;
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

static void fill_pair(ms_dual *d, table_pair *q)
{
    size_t rows = (size_t)q->rows, cols = (size_t)q->cols;
    q->f = HB_ARRAY(d->arena, double, rows *cols);
    q->t = HB_ARRAY(d->arena, double, rows *cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++) {
            double v = q->key[i * cols + k];
            v = v < d->big ? v : d->big;
            q->f[i * cols + k] = v;
            q->t[k * rows + i] = v;
        }
}

// --- the handshake ---

// e's tables as seen from its first end, or turned round.
static void shake(const ms_dual *d, const double *f, const double *t, int na, int nb,
                  const double *A, const double *B, double *to_a, double *to_b)
{
    double *restrict h = d->h, *restrict x = d->x;
    d->run(h, B, t, NULL, nb, na);
    for (int i = 0; i < na; i++)
        h[i] = (A[i] - h[i]) / 2; // A_i - h_i with h_i = (A_i + min_k (F_ik + B_k)) / 2
    d->run(to_b, h, f, NULL, na, nb);
    for (int k = 0; k < nb; k++)
        x[k] = -to_b[k];
    d->run(to_a, x, t, NULL, nb, na);
}

void ms_dual_messages(ms_dual *d, const ms_dual_edge *e, const double *A, const double *B,
                      double *to_a, double *to_b)
{
    shake(d, e->f, e->t, d->p->domain[e->a], d->p->domain[e->b], A, B, to_a, to_b);
}

static void less(double *restrict x, const double *restrict y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] -= y[i];
}

static void plus(double *restrict x, const double *restrict y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += y[i];
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
        lb += ms_least(d->th[v], d->p->domain[v]);
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
        double m = ms_least(d->th[v], d->p->domain[v]);
        for (int i = 0; i < d->p->domain[v]; i++)
            slack[v][i] = d->th[v][i] - m;
    }
    double *x = d->x;
    for (int k = 0; k < d->p->n_edges; k++) {
        const ms_dual_edge *e = &d->e[k];
        int na = d->p->domain[e->a], nb = d->p->domain[e->b];
        for (int j = 0; j < nb; j++)
            x[j] = -e->to_b[j];
        d->run(d->h, x, e->t, NULL, nb, na);
        for (int i = 0; i < na; i++) {
            double r = d->h[i] - e->to_a[i];
            slack[e->a][i] += r > 0 ? r : 0;
        }
        for (int i = 0; i < na; i++)
            x[i] = -e->to_a[i];
        d->run(d->h, x, e->f, NULL, na, nb);
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
        int v = back ? p->n_vars - 1 - s : s, n = p->domain[v], later = 0, earlier = 0;
        double *th = d->th[v];
        for (int i = 0; i < n; i++)
            th[i] = p->unary[v][i] < d->big ? p->unary[v][i] : d->big;
        for (int j = d->first[v]; j < d->first[v + 1]; j++) {
            const ms_dual_edge *e = &d->e[d->at[j]];
            int other = e->a == v ? e->b : e->a;
            if ((other > v) != back)
                later++;
            else
                earlier++;
            plus(th, e->a == v ? e->to_a : e->to_b, n);
        }
        double share = 1.0 / (later > earlier ? later : earlier);
        for (int j = d->first[v]; j < d->first[v + 1]; j++) {
            const ms_dual_edge *e = &d->e[d->at[j]];
            bool a = e->a == v;
            int other = a ? e->b : e->a;
            if ((other > v) == back) continue;
            double *own = a ? e->to_a : e->to_b;
            for (int i = 0; i < n; i++)
                d->h[i] = share * th[i] - own[i];
            d->run(a ? e->to_b : e->to_a, d->h, a ? e->f : e->t, NULL, n, p->domain[other]);
            if (last)
                for (int i = 0; i < n; i++)
                    own[i] = -d->h[i];
        }
    }
}

// Twice the last step of all messages instead of once; old is where they were.
static void stride(ms_dual *d, double *old, bool known)
{
    for (int k = 0; k < d->p->n_edges; k++)
        for (int end = 0; end < 2; end++) {
            double *restrict x = end ? d->e[k].to_b : d->e[k].to_a, *restrict y = old;
            int n = d->p->domain[end ? d->e[k].b : d->e[k].a];
            for (int i = 0; i < n; i++) {
                double now = x[i];
                if (known) x[i] += now - y[i];
                y[i] = now;
            }
            old += n;
        }
}

void ms_dual_passes(ms_dual *d, int n, bool stretch)
{
    size_t cells = 0;
    for (int k = 0; k < d->p->n_edges && stretch; k++)
        cells += (size_t)d->p->domain[d->e[k].a] + (size_t)d->p->domain[d->e[k].b];
    if (stretch && !d->old) d->old = HB_ARRAY(d->arena, double, cells);
    for (int i = 0; i < n; i++) {
        pass(d, i & 1, i == n - 1);
        if (stretch && (i & 1) && i < n - 1) stride(d, d->old, i > 1);
    }
    ms_dual_sum(d);
}

// --- start ---

ms_messages *ms_messages_new(hb_arena *a, const ms_problem *p)
{
    ms_messages *m = HB_NEW(a, ms_messages);
    m->to_a = hb_alloc(a, sizeof *m->to_a * (size_t)(p->n_edges + 1));
    m->to_b = hb_alloc(a, sizeof *m->to_b * (size_t)(p->n_edges + 1));
    for (int k = 0; k < p->n_edges; k++) {
        m->to_a[k] = HB_ARRAY(a, double, p->domain[p->edge[k].a]);
        m->to_b[k] = HB_ARRAY(a, double, p->domain[p->edge[k].b]);
    }
    return m;
}

void ms_dual_sum(ms_dual *d)
{
    const ms_problem *p = d->p;
    for (int v = 0; v < p->n_vars; v++)
        for (int i = 0; i < p->domain[v]; i++) {
            double u = p->unary[v][i];
            d->th[v][i] = u < d->big ? u : d->big;
        }
    for (int k = 0; k < p->n_edges; k++) {
        const ms_dual_edge *e = &d->e[k];
        plus(d->th[e->a], e->to_a, p->domain[e->a]);
        plus(d->th[e->b], e->to_b, p->domain[e->b]);
    }
}

void ms_dual_begin(ms_dual *d, hb_arena *arena, const ms_problem *p, ms_messages *m)
{
    *d = (ms_dual){.arena = arena, .p = p, .run = ms_best_min_rows()};
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
    d->th = hb_alloc(d->arena, sizeof *d->th * (size_t)(p->n_vars + 1));
    for (int v = 0; v < p->n_vars; v++) {
        d->th[v] = HB_ARRAY(d->arena, double, p->domain[v]);
        widest = p->domain[v] > widest ? p->domain[v] : widest;
    }
    d->h = HB_ARRAY(d->arena, double, widest);
    d->x = HB_ARRAY(d->arena, double, widest);
    d->e = HB_ARRAY(d->arena, ms_dual_edge, p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        const table_pair *q = &pairs[pair[k]];
        d->e[k] = (ms_dual_edge){e->a, e->b, q->f, q->t, m->to_a[k], m->to_b[k]};
    }
    d->first = HB_ARRAY(arena, int, p->n_vars + 2);
    d->at = HB_ARRAY(arena, int, 2 * p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        d->first[p->edge[k].a + 2]++;
        d->first[p->edge[k].b + 2]++;
    }
    for (int v = 2; v < p->n_vars + 2; v++)
        d->first[v] += d->first[v - 1];
    for (int k = 0; k < p->n_edges; k++) {
        d->at[d->first[p->edge[k].a + 1]++] = k;
        d->at[d->first[p->edge[k].b + 1]++] = k;
    }
    ms_dual_sum(d);
}
