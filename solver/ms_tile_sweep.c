#include <string.h>

#include "solver/ms_tile.h"

// Layer C stands for C1 .. Cn in the whole problem, B and D are the layers below and above:
//
//     ... A  B  C1 C2 ... Cn  D  E ...        small: ... A  B  C  D  E ...
//
// The edges B-C1, C1-C2, .., Cn-D have one pair of messages, then all Ci have equal potentials and
// the bound of the whole is sum of min th with C counted n times. Three kinds of edges:
//   within a layer or between others    an ordinary handshake (for C: n equal ones at once)
//   B-C and C-D                         one handshake for both, with the mean of the potentials
//                                       that the n + 1 edges see
//   C-global                            n edges, each with a n-th of the rest of the global's
//                                       potential
// The second kind may lower the bound at B and D, the others never do.

typedef struct even {
    const ms_tile *t;
    ms_dual *d;
    bool *second;  // by edge: is next of another
    double *A, *B; // scratch of the largest domain
} even;

static void add_times(double *x, const double *y, double times, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += times * y[i];
}

static double times_of(const ms_tile *t, int v, int other)
{
    return t->global[v] && t->repeated[other] ? t->times : 1;
}

static void sum(const even *s)
{
    ms_dual *d = s->d;
    ms_dual_sum(d);
    for (int k = 0; k < d->p->n_edges; k++) {
        const ms_dual_edge *e = &d->e[k];
        double ta = times_of(s->t, e->a, e->b), tb = times_of(s->t, e->b, e->a);
        if (ta > 1) add_times(d->th[e->a], e->to_a, ta - 1, d->p->domain[e->a]);
        if (tb > 1) add_times(d->th[e->b], e->to_b, tb - 1, d->p->domain[e->b]);
    }
}

static void shake_global(even *s, ms_dual_edge *e)
{
    ms_dual *d = s->d;
    int na = d->p->domain[e->a], nb = d->p->domain[e->b];
    double ta = times_of(s->t, e->a, e->b), tb = times_of(s->t, e->b, e->a);
    double *a = d->th[e->a], *b = d->th[e->b];
    add_times(a, e->to_a, -ta, na);
    add_times(b, e->to_b, -tb, nb);
    for (int i = 0; i < na; i++)
        s->A[i] = a[i] / ta;
    for (int i = 0; i < nb; i++)
        s->B[i] = b[i] / tb;
    ms_dual_messages(d, e, s->A, s->B, e->to_a, e->to_b);
    add_times(a, e->to_a, ta, na);
    add_times(b, e->to_b, tb, nb);
}

// low: B-C, high: C-D, of the same roles, turned the same way.
static void shake_both(even *s, ms_dual_edge *low, ms_dual_edge *high)
{
    ms_dual *d = s->d;
    const ms_problem *p = d->p;
    int na = p->domain[low->a], nb = p->domain[low->b];
    double w = s->t->times;
    bool up = s->t->repeated[low->b]; // from a in the lower layer to b in the higher
    double *one[2] = {d->th[low->a], d->th[low->b]}, *two[2] = {d->th[high->a], d->th[high->b]};
    add_times(one[0], low->to_a, -1, na);
    add_times(one[1], low->to_b, -1, nb);
    add_times(two[0], high->to_a, -1, na);
    add_times(two[1], high->to_b, -1, nb);
    // The end of a in C, n times, and in B or D, once; the same for b.
    const double *ca = up ? two[0] : one[0], *xa = up ? one[0] : two[0];
    const double *cb = up ? one[1] : two[1], *xb = up ? two[1] : one[1];
    double share = ca == cb ? 0.5 : 1; // a variable that meets itself in the next layer
    for (int i = 0; i < na; i++)
        s->A[i] = (w * share * ca[i] + xa[i]) / (w + 1);
    for (int i = 0; i < nb; i++)
        s->B[i] = (w * share * cb[i] + xb[i]) / (w + 1);
    ms_dual_messages(d, low, s->A, s->B, low->to_a, low->to_b);
    memcpy(high->to_a, low->to_a, sizeof *low->to_a * (size_t)na);
    memcpy(high->to_b, low->to_b, sizeof *low->to_b * (size_t)nb);
    add_times(one[0], low->to_a, 1, na);
    add_times(one[1], low->to_b, 1, nb);
    add_times(two[0], high->to_a, 1, na);
    add_times(two[1], high->to_b, 1, nb);
}

static double whole_bound(const even *s)
{
    double lb = 0;
    for (int v = 0; v < s->d->p->n_vars; v++)
        lb += (s->t->repeated[v] ? s->t->times : 1) *
              s->d->kernels->least(s->d->th[v], s->d->p->domain[v]);
    return lb;
}

double ms_tile_sweeps(const ms_tile *t, ms_dual *d, int n)
{
    int n_edges = d->p->n_edges, widest = 1;
    even s = {.t = t, .d = d, .second = HB_ARRAY(d->arena, bool, n_edges + 1)};
    for (int v = 0; v < d->p->n_vars; v++)
        widest = d->p->domain[v] > widest ? d->p->domain[v] : widest;
    s.A = HB_ARRAY(d->arena, double, widest);
    s.B = HB_ARRAY(d->arena, double, widest);
    for (int k = 0; k < n_edges; k++) {
        if (t->next[k] < 0) continue;
        ms_dual_edge *low = &d->e[k], *high = &d->e[t->next[k]];
        s.second[t->next[k]] = true;
        for (int i = 0; i < d->p->domain[low->a]; i++)
            high->to_a[i] = low->to_a[i] = (low->to_a[i] + high->to_a[i]) / 2;
        for (int i = 0; i < d->p->domain[low->b]; i++)
            high->to_b[i] = low->to_b[i] = (low->to_b[i] + high->to_b[i]) / 2;
    }
    sum(&s);
    for (int round = 0; round < n; round++)
        for (int i = 0; i < n_edges; i++) {
            int k = round & 1 ? n_edges - 1 - i : i;
            ms_dual_edge *e = &d->e[k];
            if (s.second[k]) continue;
            if (t->next[k] >= 0)
                shake_both(&s, e, &d->e[t->next[k]]);
            else if (times_of(t, e->a, e->b) > 1 || times_of(t, e->b, e->a) > 1)
                shake_global(&s, e);
            else
                ms_dual_shake(d, e, round & 1);
        }
    double lb = whole_bound(&s);
    ms_dual_sum(d);
    return lb;
}
