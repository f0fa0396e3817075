#include "synth/price/fusion_cost.h"

#include "ir/fold.h"
#include "synth/plan/fusion_parts.h"

void syn_fusion_seconds(const syn_program *p, const syn_fusion *g, double *sec)
{
    syn_parts s;
    syn_fusion_parts(p, g, &s);
    const double times = ir_node_times(p->g, p->instr.p[g->first].node);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double alone = 0, bytes = 0, moved = 0;
        int n = 0;
        for (int m = 0; m < g->len; m++) {
            const syn_instr *in = &p->instr.p[g->first + m];
            alone += in->sec[c];
            n += in->sec[c] > 0;
            for (int i = 0; i < in->n_in + in->n_out; i++) {
                int t = i < in->n_in ? in->in[i] : in->out[i - in->n_in];
                bytes += (double)p->tensors.p[t].bytes[c];
            }
        }
        for (int i = 0; i < s.n; i++)
            if (s.part[i].made < 0 || s.part[i].kept)
                moved += (double)p->tensors.p[s.part[i].buffer].bytes[c];
        const cl_class *cls = &p->cluster->cls[p->mesh->cluster_class[c]];
        sec[c] = times * cost_fused(cls, alone / times, n, bytes - moved, moved);
    }
}
