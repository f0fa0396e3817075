// What a step takes as the memory of all devices grows: from a share of what the plan without
// limits fills to more than that.
//
//     memory_levels GRAPH.json CLUSTER.yaml [LEVELS FROM TO [alone]]
//
// 9 levels from 0.6 to 1.2 times it. A line a level: predicted ms, devices, micro-batches, blocks
// computed again, processor seconds, and by how much a level of less memory is faster, if it is by
// more than 0.5 %. The last line: how many are. alone: the step as it is, without micro-batches and
// recomputation.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clusters/cluster.h"
#include "ir/factors.h"
#include "ir/graph.h"
#include "ir/variant.h"
#include "synth/search/synth.h"

enum { LEVELS = 9 };
static const double FROM = 0.6, TO = 1.2, SLOWER = 1.005;

typedef struct level {
    double sec, share, cpu; // HUGE_VAL: there is no plan; of the fullest memory
    int ranks, chunks, again;
} level;

static level planned(const char *graph, const char *cluster, double memory, bool alone)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, graph, &(ir_options){0}, d);
    cl_cluster *c = cl_read(a, cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    if (!g || !c) exit(1);
    for (int k = 0; k < c->n_classes; k++)
        c->cls[k].capacity = (int64_t)((double)c->cls[k].capacity * memory);
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    clock_t begin = clock();
    ir_blocks(g);
    syn_result r =
        alone ? syn_synthesize(a, g, ir_factorize(a, g), &m, &o) : syn_plan(a, g, &m, &o);
    level x = {.sec = HUGE_VAL, .cpu = (double)(clock() - begin) / CLOCKS_PER_SEC};
    if (r.status == SYN_OK) {
        const syn_program *p = r.program;
        x.sec = r.predicted_sec;
        x.ranks = p->mesh->n_ranks;
        x.chunks = p->g->micro_batches > 1 ? (int)p->g->micro_batches : 1;
        x.again = p->g->recomputed.n;
        for (int k = 0; k < p->mesh->n_classes; k++)
            x.share = fmax(x.share, (double)p->peak_bytes[k] /
                                        (double)c->cls[p->mesh->cluster_class[k]].capacity);
    }
    hb_arena_free(a);
    return x;
}

static void print(const char *name, const level *x, double best)
{
    if (isinf(x->sec))
        printf("%s no plan, %.2f s", name, x->cpu);
    else
        printf("%s %10.6g ms, %d devices, %d micro-batches, %d again, %.2f s", name, x->sec * 1e3,
               x->ranks, x->chunks, x->again, x->cpu);
    if (isfinite(best) && x->sec > SLOWER * best) printf(", slower: %.4f", x->sec / best);
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "wanted: memory_levels GRAPH CLUSTER\n"), 2;
    int n = argc > 5 ? atoi(argv[3]) : LEVELS, slower = 0;
    double from = argc > 5 ? atof(argv[4]) : FROM, to = argc > 5 ? atof(argv[5]) : TO;
    bool alone = argc > 6 && strcmp(argv[6], "alone") == 0;
    level all = planned(argv[1], argv[2], 1, alone);
    double best = HUGE_VAL;
    char name[32];
    for (int i = 0; i < n && isfinite(all.sec); i++) {
        double of = n > 1 ? from + (to - from) * i / (n - 1) : from;
        level x = planned(argv[1], argv[2], all.share * of, alone);
        snprintf(name, sizeof name, "%5.3f", of);
        print(name, &x, best);
        slower += isfinite(best) && x.sec > SLOWER * best;
        best = fmin(best, x.sec);
    }
    print("whole", &all, best);
    slower += isfinite(best) && all.sec > SLOWER * best;
    printf("%d slower than with less memory\n", slower);
    return 0;
}
