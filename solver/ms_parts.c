// Where two assignments differ: the parts of that which no edge joins.

#include "solver/minsum.h"

static int root_of(int *up, int v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

int ms_parts(const ms_problem *p, const int *x, const int *y, int *part)
{
    hb_arena *a = hb_arena_new();
    int *up = HB_ARRAY(a, int, p->n_vars + 1), n = 0;
    for (int v = 0; v < p->n_vars; v++)
        up[v] = v;
    for (int e = 0; e < p->n_edges; e++) {
        int i = p->edge[e].a, k = p->edge[e].b;
        if (x[i] != y[i] && x[k] != y[k]) up[root_of(up, i)] = root_of(up, k);
    }
    for (int v = 0; v < p->n_vars; v++)
        part[v] = x[v] != y[v] && up[v] == v ? n++ : -1;
    for (int v = 0; v < p->n_vars; v++)
        if (x[v] != y[v]) part[v] = part[root_of(up, v)];
    hb_arena_free(a);
    return n;
}
