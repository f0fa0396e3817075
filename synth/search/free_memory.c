#include "synth/search/free_memory.h"

#include <math.h>

#include "ir/fold.h"
#include "synth/plan/liveness.h"

// Is the value of samples, and not parameters, moments or gradients, which may lie anywhere?
static bool of_samples(const syn_program *p, int value)
{
    for (int d = 0; value >= 0 && d < p->g->tensors.p[value].rank; d++)
        for (int k = 0; k < p->f->dim[value][d].n; k++)
            if (p->f->cls[p->f->dim[value][d].cls[k]].batch) return true;
    return false;
}

// By class: the most that is held of samples at once, and beside the buffers.
static void bytes_of_samples(hb_arena *a, const syn_program *p, double *bytes)
{
    int n = p->instr.n;
    int *birth = HB_ARRAY(a, int, p->tensors.n + 1), *death = HB_ARRAY(a, int, p->tensors.n + 1);
    syn_lifetimes(p, birth, death);
    const double *times = syn_held_times(a, p, birth, death);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double live = 0, most = 0, *delta = HB_ARRAY(a, double, n + 2);
        for (int t = 0; t < p->tensors.n; t++) {
            if (birth[t] > death[t] || !of_samples(p, p->tensors.p[t].value)) continue;
            delta[birth[t]] += (double)p->tensors.p[t].bytes[c] * times[t];
            delta[death[t] + 1] -= (double)p->tensors.p[t].bytes[c] * times[t];
        }
        for (int i = 0; i <= n; i++) {
            live += delta[i];
            most = fmax(most, live);
        }
        bytes[c] = most + (double)(p->padded_bytes[c] + p->work_bytes[c]);
    }
}

// Sets with a dim of a parameter that may be cut, the batch not among them.
static bool *parameter_sets(hb_arena *a, const syn_program *p, const syn_partitions *of)
{
    bool *is = HB_ARRAY(a, bool, of->n_sets + 1);
    for (int t = 0; t < p->g->tensors.n; t++) {
        const ir_tensor *x = &p->g->tensors.p[t];
        for (int d = 0; x->kind == IR_PARAM && d < x->rank && x->rank > 1; d++)
            for (int k = 0; k < p->f->dim[t][d].n; k++)
                is[of->set_of[p->f->dim[t][d].cls[k]]] = true;
    }
    for (int s = 0; s < of->n_sets; s++)
        is[s] = is[s] && !of->set[s].batch;
    return is;
}

void syn_add_free_memory(hb_arena *a, const syn_program *p, syn_partitions *to, syn_mesh *mesh)
{
    hb_arena *scratch = hb_arena_new();
    double *per_rank = HB_ARRAY(scratch, double, mesh->n_ranks),
           *held = HB_ARRAY(scratch, double, mesh->n_classes + 1);
    bytes_of_samples(scratch, p, held);
    for (int r = 0; r < mesh->n_ranks; r++) {
        int c = mesh->class_of[r];
        double all = (double)p->cluster->cls[mesh->cluster_class[c]].capacity;
        per_rank[r] = fmax(SYN_LP_MEMORY * all - held[c], SYN_FREE_LEAST * all);
    }
    const bool *is = parameter_sets(scratch, p, to);
    for (int s = 0; s < to->n_sets && mesh->n_classes > 1; s++)
        if (is[s])
            syn_partitions_add(a, to, mesh, s, mesh->n_axes == 1 ? 0 : SYN_BOTH, per_rank,
                               HB_STR("free memory"));
    hb_arena_free(scratch);
}
