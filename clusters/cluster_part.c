// Some devices of a cluster as a cluster of their own.

#include "clusters/cluster.h"

// "m0:2" or "m0:0-1": devices of a machine, counted from 0.
static hb_str part_name(hb_arena *a, const cl_machine *m, int first, int n)
{
    if (n == m->n_ranks) return m->name;
    if (n == 1) return hb_fmt(a, "%.*s:%d", HB_ARG(m->name), first);
    return hb_fmt(a, "%.*s:%d-%d", HB_ARG(m->name), first, first + n - 1);
}

cl_cluster *cl_part(hb_arena *a, const cl_cluster *c, const bool *device, int *rank)
{
    cl_cluster *out = hb_copy(a, c, sizeof *c);
    int to[CL_MAX_CLASSES];
    for (int k = 0; k < CL_MAX_CLASSES; k++)
        to[k] = -1;
    out->n_ranks = out->n_machines = out->n_classes = 0;
    out->class_of = HB_ARRAY(a, int, c->n_ranks + 1);
    out->machine_of = HB_ARRAY(a, int, c->n_ranks + 1);
    out->number_of = HB_ARRAY(a, int, c->n_ranks + 1);
    out->curves_of = HB_ARRAY(a, hb_str, c->n_ranks + 1);
    out->machine = HB_ARRAY(a, cl_machine, c->n_machines + 1);
    out->cls = HB_ARRAY(a, cl_class, c->n_classes + 1);
    for (int m = 0; m < c->n_machines; m++) {
        cl_machine x = c->machine[m];
        int first = x.first_rank, end = first + x.n_ranks, n = 0;
        while (first < end && !device[first])
            first++;
        while (first + n < end && device[first + n])
            n++;
        for (int r = first + n; r < end; r++)
            hb_assert(!device[r] && "of a machine, devices that follow each other");
        if (n == 0) continue;
        x.name = part_name(a, &x, first - x.first_rank, n);
        for (int r = first; r < first + n; r++) {
            int k = c->class_of[r];
            if (to[k] < 0) {
                to[k] = out->n_classes++;
                out->cls[to[k]] = c->cls[k];
                out->cls[to[k]].n_ranks = 0;
            }
            out->cls[to[k]].n_ranks++;
            rank[out->n_ranks] = r;
            out->curves_of[out->n_ranks] = c->curves_of ? c->curves_of[r] : c->cls[k].curve_name;
            out->number_of[out->n_ranks] = c->number_of ? c->number_of[r] : r - first;
            out->class_of[out->n_ranks] = to[k];
            out->machine_of[out->n_ranks++] = out->n_machines;
        }
        x.n_ranks = n;
        x.first_rank = out->n_ranks - n;
        x.first_of_host += x.first_rank - first;
        out->machine[out->n_machines++] = x;
    }
    if (out->n_machines == 1) out->network_bandwidth = out->network_latency = 0;
    return out;
}
