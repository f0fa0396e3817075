// No plan of this graph on this cluster is faster in the eyes of the simulator.
//
// The simulator's time is at least what any class's compute stream is busy, so at least any mean of
// them; a stream is busy for as long as its slowest rank, so at least for the mean of its ranks.
// With weights u on classes (of n ranks), sum 1, every rank weighs u / n, and every op costs at
// least
//
//     min over classes c of  u_c * (seconds of the whole op on one device of class c / n_c +
//     launch)
//
// however it is cut: parts of the ranks add up to the op or more, a part's flops and bytes are at
// least its share of them, and a time is at least the share of the whole's (curves: the best rate
// they reach up to that size). A class that runs a part pays a launch; on machines x devices the
// ranks of one class may be streams apart, of which one rank's may be all that runs: launch / n
// then. Ranks that a mesh leaves out have no stream: their weight is lost, which makes the mean
// smaller. The largest such sum over u is an LP:
//
//     max sum of z_k,  z_k <= u_c * (what stands above) for all c,  sum of u = 1
//
// Any u is a bound: of a set of devices, of which many are asked for, u goes by how many devices of
// a class it has and by the rates at which these do the whole step, or arithmetic, or memory.
//
// Communication and memory are free here.

#include "synth/search/lower_bound.h"

#include <math.h>
#include <string.h>

#include "ir/fold.h"
#include "solver/lp.h"
#include "synth/plan/search_limits.h"

// Ops of equal times in every class.
typedef struct group {
    double sec[CL_MAX_CLASSES], launch[CL_MAX_CLASSES]; // on one device, the launch not in sec
    double times;
} group;

struct syn_least_times {
    const cost_model *m;
    HB_VEC(group) groups;
};

// Flops of all parts together are at least these: an attention that is causal may be cut by place.
static void least_work(const ir_graph *g, const ir_factors *f, int node, double *flops,
                       double *bytes)
{
    const ir_rule *r = f->rule[node];
    ir_node_work(g, f, node, NULL, 0, flops, bytes);
    if (ir_op_of(g->nodes.p[node].op)->flops_kind != IR_FLOPS_SDPA) return;
    for (int k = 0; k < r->n_factors; k++) {
        double by_place, same;
        ir_part all = {k, r->factor[k].size, 0};
        ir_node_work(g, f, node, &all, 1, &by_place, &same);
        *flops = fmin(*flops, by_place);
    }
}

double syn_least_op(const cost_model *m, const ir_graph *g, const ir_factors *f, int node, int cls,
                    double *launch)
{
    double flops, bytes;
    const ir_op op = g->nodes.p[node].op;
    least_work(g, f, node, &flops, &bytes);
    double sec = cost_op_least(m, cls, op, flops, bytes, launch);
    // In a group such an op may cost no more than what others pay for it.
    bool cheap = ir_op_of(op)->flags & (IR_EACH | IR_ROWS) || f->joined[node];
    if (!cheap || m->cluster->cls[cls].kind != CL_GPU) return sec;
    return *launch = 0;
}

const syn_least_times *syn_least_times_of(hb_arena *a, const cost_model *m, const ir_graph *g,
                                          const ir_factors *f)
{
    syn_least_times *t = HB_NEW(a, syn_least_times);
    const cl_cluster *cl = m->cluster;
    hb_map *known = hb_map_new(a);
    t->m = m;
    for (int n = 0; n < g->nodes.n; n++) {
        group x = {.times = 0};
        for (int c = 0; c < cl->n_classes; c++)
            x.sec[c] = syn_least_op(m, g, f, n, c, &x.launch[c]);
        hb_str key = {(const char *)&x, sizeof x};
        int at = hb_map_get(known, key);
        if (at < 0) {
            hb_map_put(known, hb_str_n(a, key.p, key.n), at = t->groups.n);
            HB_PUSH(a, &t->groups, x);
        }
        t->groups.p[at].times += ir_node_times(g, n);
    }
    return t;
}

// Seconds of a group's op where one of so many devices of class c is as long at it as any.
static double shared(const group *x, int c, const int *n_of, bool machines)
{
    return (x->sec[c] + (machines ? x->launch[c] : n_of[c] * x->launch[c])) / n_of[c];
}

// The bound that weights on the classes prove.
static double bound_of(const syn_least_times *t, const int *n_of, bool machines, const double *u)
{
    double bound = 0, all = 0;
    int n_classes = t->m->cluster->n_classes;
    for (int c = 0; c < n_classes; c++)
        all += n_of[c] > 0 ? u[c] : 0;
    if (all <= 0) return 0;
    for (int k = 0; k < t->groups.n; k++) {
        double least = HUGE_VAL;
        for (int c = 0; c < n_classes; c++)
            if (n_of[c] > 0)
                least = fmin(least, u[c] / all * shared(&t->groups.p[k], c, n_of, machines));
        bound += least * t->groups.p[k].times;
    }
    return bound * (1 - SYN_ROUNDING); // sums in another order than the simulator's
}

double syn_least_seconds(const syn_least_times *t, const bool *keep)
{
    const cl_cluster *cl = t->m->cluster;
    int n_of[CL_MAX_CLASSES] = {0}, machine = -1;
    bool machines = false;
    for (int r = 0; r < cl->n_ranks; r++) {
        if (!keep[r]) continue;
        n_of[cl->class_of[r]]++;
        machines = machines || (machine >= 0 && cl->machine_of[r] != machine);
        machine = cl->machine_of[r];
    }
    double bound = 0, u[CL_MAX_CLASSES];
    for (int by = 0; by < 3; by++) {
        for (int c = 0; c < cl->n_classes; c++) {
            double step = 0;
            for (int k = 0; k < t->groups.n; k++)
                step += t->groups.p[k].sec[c] * t->groups.p[k].times;
            double rate = by == 0   ? (step > 0 ? 1 / step : 1)
                          : by == 1 ? cl->cls[c].f32
                                    : cl->cls[c].memory_bandwidth;
            u[c] = n_of[c] * rate;
        }
        bound = fmax(bound, bound_of(t, n_of, machines, u));
    }
    return bound;
}

double syn_lower_bound(const cost_model *m, const ir_graph *g, const ir_factors *f)
{
    const cl_cluster *cl = m->cluster;
    hb_arena *a = hb_arena_new();
    const syn_least_times *t = syn_least_times_of(a, m, g, f);
    bool machines = cl->n_machines > 1;
    int n_of[CL_MAX_CLASSES] = {0};
    for (int c = 0; c < cl->n_classes; c++)
        n_of[c] = cl->cls[c].n_ranks;
    double unit = 0; // seconds of all on class 0
    for (int k = 0; k < t->groups.n; k++)
        unit += shared(&t->groups.p[k], 0, n_of, machines) * t->groups.p[k].times;
    lp *p = lp_new(a);
    int sum = lp_row(p, "weights", 1, 1), u[CL_MAX_CLASSES];
    for (int c = 0; c < cl->n_classes; c++) {
        u[c] = lp_col(p, hb_fmt(a, "class%d", c).p, 0, 1, 0);
        lp_term(p, sum, u[c], 1);
    }
    for (int k = 0; k < t->groups.n && unit > 0; k++) {
        int z = lp_col(p, hb_fmt(a, "op%d", k).p, 0, (double)INFINITY, -t->groups.p[k].times);
        for (int c = 0; c < cl->n_classes; c++) {
            int row = lp_row(p, hb_fmt(a, "op%d.class%d", k, c).p, -(double)INFINITY, 0);
            lp_term(p, row, z, 1);
            lp_term(p, row, u[c], -shared(&t->groups.p[k], c, n_of, machines) / unit);
        }
    }
    // The LP's weights, not its value, make the bound: they are valid whatever its tolerance.
    double weight[CL_MAX_CLASSES];
    bool ok = lp_solve(p) == LP_OPTIMAL;
    for (int c = 0; c < cl->n_classes; c++)
        weight[c] = ok ? fmax(lp_value(p, u[c]), 0) : 1;
    double bound = bound_of(t, n_of, machines, weight);
    hb_arena_free(a);
    return bound;
}
