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
// Communication and memory are free here.

#include "synth/search/lower_bound.h"

#include <math.h>
#include <string.h>

#include "solver/lp.h"
#include "synth/plan/search_limits.h"

// Ops of equal times in every class.
typedef struct group {
    double sec[CL_MAX_CLASSES]; // on all devices of a class together
    int count;
} group;

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

double syn_lower_bound(const cost_model *m, const ir_graph *g, const ir_factors *f)
{
    const cl_cluster *cl = m->cluster;
    hb_arena *a = hb_arena_new();
    hb_map *known = hb_map_new(a);
    HB_VEC(group) groups = {0};
    for (int n = 0; n < g->nodes.n; n++) {
        double flops, bytes;
        group x = {.count = 1};
        unsigned flags = ir_op_of(g->nodes.p[n].op)->flags;
        least_work(g, f, n, &flops, &bytes);
        for (int c = 0; c < cl->n_classes; c++) {
            double launch, n_c = cl->cls[c].n_ranks;
            x.sec[c] = cost_op_least(m, c, g->nodes.p[n].op, flops, bytes, &launch) / n_c;
            x.sec[c] += cl->n_machines > 1 ? launch / n_c : launch;
            x.sec[c] *= ir_node_slots(g, n);
            // In a group such an op may cost no more than what others pay for it.
            bool cheap = flags & (IR_EACH | IR_ROWS) || f->joined[n];
            if (cheap && cl->cls[c].kind == CL_GPU) x.sec[c] = 0;
        }
        hb_str key = {(const char *)x.sec, sizeof x.sec};
        int at = hb_map_get(known, key);
        if (at >= 0) {
            groups.p[at].count++;
            continue;
        }
        hb_map_put(known, hb_str_n(a, key.p, key.n), groups.n);
        HB_PUSH(a, &groups, x);
    }
    double unit = 0; // seconds of all on class 0
    for (int k = 0; k < groups.n; k++)
        unit += groups.p[k].sec[0] * groups.p[k].count;
    lp *p = lp_new(a);
    int sum = lp_row(p, "weights", 1, 1), u[CL_MAX_CLASSES];
    for (int c = 0; c < cl->n_classes; c++) {
        u[c] = lp_col(p, hb_fmt(a, "class%d", c).p, 0, 1, 0);
        lp_term(p, sum, u[c], 1);
    }
    for (int k = 0; k < groups.n && unit > 0; k++) {
        int z = lp_col(p, hb_fmt(a, "op%d", k).p, 0, (double)INFINITY, -groups.p[k].count);
        for (int c = 0; c < cl->n_classes; c++) {
            int row = lp_row(p, hb_fmt(a, "op%d.class%d", k, c).p, -(double)INFINITY, 0);
            lp_term(p, row, z, 1);
            lp_term(p, row, u[c], -groups.p[k].sec[c] / unit);
        }
    }
    // The LP's weights, not its value, make the bound: they are valid whatever its tolerance.
    double bound = 0, share[CL_MAX_CLASSES], all = 0;
    bool ok = lp_solve(p) == LP_OPTIMAL;
    for (int c = 0; c < cl->n_classes; c++)
        all += share[c] = ok ? fmax(lp_value(p, u[c]), 0) : 1;
    for (int k = 0; k < groups.n; k++) {
        double least = HUGE_VAL;
        for (int c = 0; c < cl->n_classes; c++)
            least = fmin(least, share[c] / all * groups.p[k].sec[c]);
        bound += least * groups.p[k].count;
    }
    hb_arena_free(a);
    return bound * (1 - SYN_ROUNDING); // sums in another order than the simulator's
}
