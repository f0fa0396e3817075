#include "tests/support/rounding.h"

#include <math.h>
#include <string.h>

enum { RUNS = 8 };

static void round_off(hap_tensor *t, uint64_t *rng)
{
    float *v = t->data;
    for (int64_t i = 0; t->type == HAP_F32 && i < t->elements; i++)
        v[i] = (float)((double)v[i] * (1 + test_uniform(rng, -0x1p-23, 0x1p-23)));
}

static double moved(const hap_tensor *x, const hap_tensor *y)
{
    const float *p = x->data, *q = y->data;
    double most = 0;
    for (int64_t i = 0; x->type == HAP_F32 && i < x->elements; i++)
        if (isfinite(p[i]) && isfinite(q[i])) most = fmax(most, fabs((double)p[i] - (double)q[i]));
    return most;
}

double *rounding_moves(hb_arena *a, const ir_graph *g, const interp *before, const interp *after)
{
    double *move = HB_ARRAY(a, double, g->tensors.n);
    interp *x = interp_new(a, g, before->now.seed);
    uint64_t rng = 11;
    for (int run = 0; run < RUNS; run++) {
        for (int t = 0; t < g->tensors.n; t++) {
            memcpy(x->t[t].data, before->t[t].data, (size_t)x->t[t].bytes);
            if (g->tensors.p[t].producer < 0) round_off(&x->t[t], &rng);
        }
        for (int n = 0; n < g->nodes.n; n++) {
            const char *why = interp_run_node(x, n);
            hb_assert(!why);
            for (int i = 0; i < g->nodes.p[n].n_out; i++)
                round_off(&x->t[g->nodes.p[n].out[i]], &rng);
        }
        for (int t = 0; t < g->tensors.n; t++)
            move[t] = fmax(move[t], moved(&x->t[t], &after->t[t]));
    }
    return move;
}
