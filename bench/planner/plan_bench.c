// How long planning takes: search to certificate, median of several runs, and how long each part
// outside the search takes on the plan found.
//
//     plan_bench graph.json cluster.yaml [repeats [strategy [batch]]] [--precision P] [--no-pairs]
//     [--phases]
//
// Prints the median, least and most plan_seconds, the median of the processor seconds in them (on a
// busy machine the better measure), the number of searches, the states of the largest, the
// predicted step, what the additive model proves, and the peak resident set. A line of --phases is
// the median processor ms of one part, done again on the final program: the graph (read,
// differentiated, factorized), then price, simulate, roll, arena, record, check, modp. The
// catalogue is clusters/devices.yaml or $HAPC_DEVICES.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "clusters/cluster.h"
#include "costmodel/cost.h"
#include "ir/factors.h"
#include "ir/graph.h"
#include "synth/certify/modp.h"
#include "synth/certify/record.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/roll.h"
#include "synth/price/instr_cost.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/synth.h"

typedef struct bench {
    const char *graph, *cluster;
    int repeats;
    syn_options synth;
    ir_options ir;
    bool phases;
} bench;

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

// Processor seconds of this process: what a busy machine does not change.
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool options(int argc, char **argv, bench *b)
{
    const char *word[5] = {0};
    int n = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--baselines") == 0)
            b->synth.baselines = true;
        else if (strcmp(argv[i], "--no-pairs") == 0)
            b->synth.no_pairs = true;
        else if (strcmp(argv[i], "--phases") == 0)
            b->phases = true;
        else if (strcmp(argv[i], "--mesh") == 0) {
            if (++i == argc || !syn_mesh_parse((hb_str){argv[i], strlen(argv[i])}, &b->synth.mesh))
                return false;
        } else if (strcmp(argv[i], "--log") == 0)
            b->synth.log = stderr;
        else if (strcmp(argv[i], "--precision") == 0) {
            if (++i == argc ||
                !ir_precision_parse((hb_str){argv[i], strlen(argv[i])}, &b->ir.precision))
                return false;
        } else if (argv[i][0] == '-' || n == 5)
            return false;
        else
            word[n++] = argv[i];
    }
    b->graph = word[0];
    b->cluster = word[1];
    b->repeats = word[2] ? atoi(word[2]) : 5;
    if (word[3] && !syn_strategy_parse((hb_str){word[3], strlen(word[3])}, &b->synth.strategy))
        return false;
    if (word[4]) b->ir.batch = atoll(word[4]);
    return n >= 2 && b->repeats >= 1;
}

enum { PRICE, SIMULATE, ROLL, ARENA, RECORD, CHECK, MODP, N_PARTS };

// Seconds of each part that a final plan goes through, done over again.
static bool time_parts(const bench *b, syn_program *p, const cost_model *m, double *sec)
{
    hb_arena *a = hb_arena_new();
    cost_timeline t;
    hb_str why = {0};
    double at[N_PARTS + 1] = {now()};
    syn_price(p, syn_costs_new(a, m, p->mesh, p->g, p->f));
    at[PRICE + 1] = now();
    syn_simulate(p, &t, false);
    at[SIMULATE + 1] = now();
    syn_roll(p);
    at[ROLL + 1] = now();
    syn_arena(p);
    at[ARENA + 1] = now();
    const record *r = record_from_plan(a, p);
    at[RECORD + 1] = now();
    bool ok = syn_check(a, p->g, p->f, r, &why);
    at[CHECK + 1] = now();
    bool ran;
    ok = syn_check_modp(a, p->g, p->f, r, &ran, &why) && ok;
    at[MODP + 1] = now();
    for (int k = 0; k < N_PARTS; k++)
        sec[k * b->repeats] = at[k + 1] - at[k];
    hb_arena_free(a);
    return ok;
}

static void print_parts(const bench *b, syn_program *p, const cost_model *m)
{
    static const char *const names[N_PARTS] = {"price",  "simulate", "roll", "arena",
                                               "record", "check",    "modp"};
    double *sec = calloc((size_t)(N_PARTS * b->repeats), sizeof *sec);
    if (!sec) return;
    bool ok = true;
    for (int i = 0; i < b->repeats; i++)
        ok = time_parts(b, p, m, sec + i) && ok;
    for (int k = 0; k < N_PARTS; k++) {
        double *s = sec + k * b->repeats;
        qsort(s, (size_t)b->repeats, sizeof *s, ascending);
        printf("%s_ms %.2f\n", names[k], s[b->repeats / 2] * 1e3);
    }
    printf("program instructions %d buffers %d loops %d families %d%s\n", p->instr.n, p->tensors.n,
           p->loops.n, p->families.n, ok ? "" : " REJECTED");
    free(sec);
}

static int run(const bench *b, ir_graph *g, const cost_model *m)
{
    double *sec = calloc((size_t)(2 * b->repeats), sizeof *sec), *cpu = sec + b->repeats;
    int status = sec ? 0 : 4;
    for (int i = 0; sec && i < b->repeats; i++) {
        hb_arena *a = hb_arena_new();
        double before = now();
        syn_result r = syn_plan(a, g, m, &b->synth);
        sec[i] = r.plan_sec;
        cpu[i] = now() - before;
        if (r.status != SYN_OK) {
            printf("no plan: %.*s\n", HB_ARG(r.why));
            status = 3;
            i = b->repeats;
        } else if (i == b->repeats - 1) {
            qsort(sec, (size_t)b->repeats, sizeof *sec, ascending);
            printf("plan_seconds median %.4f least %.4f most %.4f runs %d\n", sec[b->repeats / 2],
                   sec[0], sec[b->repeats - 1], b->repeats);
            qsort(cpu, (size_t)b->repeats, sizeof *cpu, ascending);
            printf("cpu_seconds median %.4f\n", cpu[b->repeats / 2]);
            printf("searches %d states %d\n", r.n_solved, r.n_states);
            printf("predicted_ms %.6g additive_ms %.6g additive_bound_ms %.6g\n",
                   r.predicted_sec * 1e3, r.additive_sec * 1e3, r.additive_bound_sec * 1e3);
            if (b->phases) print_parts(b, r.program, m);
        }
        hb_arena_free(a);
    }
    free(sec);
    return status;
}

int main(int argc, char **argv)
{
    bench b = {.synth = syn_default_options()};
    const char *devices = getenv("HAPC_DEVICES");
    if (!options(argc, argv, &b)) {
        fprintf(stderr, "usage: plan_bench graph.json cluster.yaml [repeats [strategy [batch]]] "
                        "[--precision fp32|tf32|bf16] [--phases]\n");
        return 2;
    }
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    double begin = now();
    ir_graph *g = ir_build(a, b.graph, &b.ir, d);
    double built = now();
    cl_cluster *c =
        g ? cl_read(a, b.cluster, devices ? devices : "clusters/devices.yaml", d) : NULL;
    if (!c) {
        hb_diag_print(d, stderr);
        return 2;
    }
    double read = now();
    (void)ir_factorize(a, g);
    if (b.phases)
        printf("graph_ms %.2f\ncluster_ms %.2f\nfactors_ms %.2f\n", (built - begin) * 1e3,
               (read - built) * 1e3, (now() - read) * 1e3);
    cost_model m = {.cluster = c,
                    .curves = c->curves.n > 0 ? cost_curves_read(a, c->curves.p, d) : NULL,
                    .math = b.ir.precision == IR_PRECISION_BF16   ? COST_BF16
                            : b.ir.precision == IR_PRECISION_TF32 ? COST_TF32
                                                                  : COST_F32};
    hb_diag_print(d, stderr);
    if (c->curves.n > 0 && !m.curves) return 2;
    if (m.curves) cost_apply_curves(m.curves, c);
    int status = run(&b, g, &m);
    struct rusage use;
    if (getrusage(RUSAGE_SELF, &use) == 0)
        printf("peak_rss_mb %.1f\n", (double)use.ru_maxrss / 1024);
    hb_arena_free(a);
    return status;
}
