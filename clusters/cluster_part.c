// Some machines of a cluster as a cluster of their own.

#include "clusters/cluster.h"

cl_cluster *cl_part(hb_arena *a, const cl_cluster *c, const bool *machine, int *rank)
{
    cl_cluster *out = hb_copy(a, c, sizeof *c);
    int to[CL_MAX_CLASSES];
    for (int k = 0; k < CL_MAX_CLASSES; k++)
        to[k] = -1;
    out->n_ranks = out->n_machines = out->n_classes = 0;
    out->class_of = HB_ARRAY(a, int, c->n_ranks + 1);
    out->machine_of = HB_ARRAY(a, int, c->n_ranks + 1);
    out->curves_of = HB_ARRAY(a, hb_str, c->n_ranks + 1);
    out->machine = HB_ARRAY(a, cl_machine, c->n_machines + 1);
    out->cls = HB_ARRAY(a, cl_class, c->n_classes + 1);
    for (int m = 0; m < c->n_machines; m++) {
        cl_machine x = c->machine[m];
        if (!machine[m]) continue;
        for (int r = x.first_rank; r < x.first_rank + x.n_ranks; r++) {
            int k = c->class_of[r];
            if (to[k] < 0) {
                to[k] = out->n_classes++;
                out->cls[to[k]] = c->cls[k];
                out->cls[to[k]].n_ranks = 0;
            }
            out->cls[to[k]].n_ranks++;
            rank[out->n_ranks] = r;
            out->curves_of[out->n_ranks] = c->curves_of ? c->curves_of[r] : c->cls[k].curve_name;
            out->class_of[out->n_ranks] = to[k];
            out->machine_of[out->n_ranks++] = out->n_machines;
        }
        x.first_of_host -= x.first_rank;
        x.first_rank = out->n_ranks - x.n_ranks;
        x.first_of_host += x.first_rank;
        out->machine[out->n_machines++] = x;
    }
    if (out->n_machines == 1) out->network_bandwidth = out->network_latency = 0;
    return out;
}
