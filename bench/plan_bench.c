// How long planning takes: search to certificate, median of several runs.
//
//     plan_bench graph.json cluster.yaml [repeats [strategy]]
//
// Prints the median, least and most plan_seconds, the number of searches, the states of the
// largest, the predicted step and what the additive model proves. The catalogue is
// clusters/devices.yaml or $HAPC_DEVICES.

#include <stdio.h>
#include <stdlib.h>

#include "clusters/cluster.h"
#include "ir/factors.h"
#include "ir/graph.h"
#include "synth/synth.h"

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    int repeats = argc > 3 ? atoi(argv[3]) : 5;
    const char *devices = getenv("HAPC_DEVICES");
    if (argc < 3 || repeats < 1) {
        fprintf(stderr, "usage: plan_bench graph.json cluster.yaml [repeats [strategy]]\n");
        return 2;
    }
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    syn_options o = syn_default_options();
    if (argc > 4 && !syn_strategy_parse(hb_str_c(a, argv[4]), &o.strategy)) {
        fprintf(stderr, "plan_bench: unknown strategy %s\n", argv[4]);
        return 2;
    }
    ir_graph *g = ir_build(a, argv[1], &(ir_options){0}, d);
    cl_cluster *c = g ? cl_read(a, argv[2], devices ? devices : "clusters/devices.yaml", d) : NULL;
    hb_diag_print(d, stderr);
    if (!c) return 2;
    ir_factors *f = ir_factorize(a, g);
    cost_model m = {.cluster = c};
    double *sec = HB_ARRAY(a, double, repeats);
    int status = 0;
    for (int i = 0; i < repeats; i++) {
        hb_arena *run = hb_arena_new();
        syn_result r = syn_synthesize(run, g, f, &m, &o);
        sec[i] = r.plan_sec;
        if (r.status != SYN_OK) {
            printf("no plan: %.*s\n", HB_ARG(r.why));
            status = 3;
            i = repeats;
        } else if (i == repeats - 1) {
            qsort(sec, (size_t)repeats, sizeof *sec, ascending);
            printf("plan_seconds median %.4f least %.4f most %.4f runs %d\n", sec[repeats / 2],
                   sec[0], sec[repeats - 1], repeats);
            printf("searches %d states %d\n", r.n_solved, r.n_states);
            printf("predicted_ms %.6g additive_ms %.6g additive_bound_ms %.6g\n",
                   r.predicted_sec * 1e3, r.additive_sec * 1e3, r.additive_bound_sec * 1e3);
        }
        hb_arena_free(run);
    }
    hb_arena_free(a);
    return status;
}
