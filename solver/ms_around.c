// A search near an assignment: what is far from a few variables stays as it is.

#include <string.h>

#include "solver/minsum.h"

struct ms_links {
    const int *first, *edge; // of variable v: edge[first[v] .. first[v + 1] - 1]
};

const ms_links *ms_links_of(hb_arena *a, const ms_problem *p)
{
    int *first = HB_ARRAY(a, int, p->n_vars + 2), *edge = HB_ARRAY(a, int, 2 * p->n_edges + 1);
    for (int e = 0; e < p->n_edges; e++) {
        first[p->edge[e].a + 2]++;
        first[p->edge[e].b + 2]++;
    }
    for (int v = 2; v <= p->n_vars; v++)
        first[v] += first[v - 1];
    for (int e = 0; e < p->n_edges; e++) {
        edge[first[p->edge[e].a + 1]++] = e;
        edge[first[p->edge[e].b + 1]++] = e;
    }
    return hb_copy(a, &(ms_links){first, edge}, sizeof(ms_links));
}

static int beside(const ms_edge *e, int v)
{
    return e->a == v ? e->b : e->a;
}

// Lists the variables that so few edges lead to; at[v]: where v stands in the list, -1: not.
static int reach_from(const ms_problem *p, const ms_links *l, const int *from, int n_from,
                      int reach, int *list, int *at)
{
    int n = 0;
    memset(at, -1, sizeof *at * (size_t)p->n_vars);
    for (int i = 0; i < n_from; i++) {
        if (at[from[i]] >= 0) continue;
        at[from[i]] = n;
        list[n++] = from[i];
    }
    for (int step = 0, begin = 0; step < reach; step++) {
        int end = n;
        for (int i = begin; i < end; i++)
            for (int k = l->first[list[i]]; k < l->first[list[i] + 1]; k++) {
                int u = beside(&p->edge[l->edge[k]], list[i]);
                if (at[u] >= 0) continue;
                at[u] = n;
                list[n++] = u;
            }
        begin = end;
    }
    return n;
}

// What variable v costs beside those that stay.
static const double *unary_beside(hb_arena *a, const ms_problem *p, const ms_links *l, int v,
                                  const int *at, const int *x)
{
    int n = p->domain[v];
    double *sum = HB_ARRAY(a, double, n);
    if (p->unary && p->unary[v]) memcpy(sum, p->unary[v], sizeof *sum * (size_t)n);
    for (int k = l->first[v]; k < l->first[v + 1]; k++) {
        const ms_edge *e = &p->edge[l->edge[k]];
        int u = beside(e, v);
        if (at[u] >= 0) continue;
        for (int i = 0; i < n; i++)
            sum[i] += e->a == v ? e->table[(size_t)i * p->domain[u] + x[u]]
                                : e->table[(size_t)x[u] * n + i];
    }
    return sum;
}

ms_status ms_solve_around(const ms_problem *p, const ms_links *l, const int *from, int n_from,
                          int reach, double gap, int *x, double *states)
{
    hb_arena *a = hb_arena_new();
    int *list = HB_ARRAY(a, int, p->n_vars + 1), *at = HB_ARRAY(a, int, p->n_vars + 1);
    int n = reach_from(p, l, from, n_from, reach, list, at), n_edges = 0;
    int *domain = HB_ARRAY(a, int, n + 1), *y = HB_ARRAY(a, int, n + 1);
    const double **unary = HB_ARRAY(a, const double *, n + 1);
    *states = 0;
    for (int i = 0; i < n; i++) {
        domain[i] = p->domain[list[i]];
        unary[i] = unary_beside(a, p, l, list[i], at, x);
        n_edges += l->first[list[i] + 1] - l->first[list[i]];
        *states += domain[i];
    }
    ms_edge *edge = HB_ARRAY(a, ms_edge, n_edges + 1);
    n_edges = 0;
    for (int i = 0; i < n; i++)
        for (int k = l->first[list[i]]; k < l->first[list[i] + 1]; k++) {
            const ms_edge *e = &p->edge[l->edge[k]];
            if (e->a == list[i] && at[e->b] >= 0)
                edge[n_edges++] = (ms_edge){i, at[e->b], e->table};
        }
    ms_problem some = {.n_vars = n,
                       .domain = domain,
                       .unary = unary,
                       .n_edges = n_edges,
                       .edge = edge,
                       .stop = p->stop};
    double value, lower;
    ms_status status = ms_solve_near(a, &some, 0, gap, NULL, y, &value, &lower);
    for (int i = 0; i < n && status == MS_OPTIMAL; i++)
        x[list[i]] = y[i];
    hb_arena_free(a);
    return status;
}
