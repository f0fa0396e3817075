#include "synth/space/space_solve.h"

#include <math.h>

hb_str syn_space_clash(hb_arena *a, const syn_space *s)
{
    const ms_problem *p = &s->problem;
    for (int t = 0; t < s->g->tensors.n; t++) {
        if (!syn_pinned(s->opt->pins, t) || s->tensor_var[t] < 0) continue;
        for (int i = 0; i < p->n_edges; i++) {
            const ms_edge *e = &p->edge[i];
            int other = e->a == s->tensor_var[t] ? e->b : e->b == s->tensor_var[t] ? e->a : -1;
            bool none = other >= 0;
            for (int k = 0; none && k < p->domain[e->a] * p->domain[e->b]; k++)
                none = isinf(e->table[k]);
            for (int n = 0; none && n < s->g->nodes.n; n++)
                if (s->node_var[n] == other)
                    return hb_fmt(a,
                                  "%.*s clashes with %.*s, which under strategy %s has no such "
                                  "sharding",
                                  HB_ARG(syn_pins_text(a, s->opt->pins, t)),
                                  HB_ARG(s->g->nodes.p[n].name), syn_strategy_name(s->strategy));
        }
    }
    if (!s->opt->pins) return (hb_str){0};
    return hb_fmt(a, "%.*s clashes with strategy %s, whose shardings leave no plan with it",
                  HB_ARG(syn_pins_text(a, s->opt->pins, -1)), syn_strategy_name(s->strategy));
}

ms_status syn_space_near(hb_arena *a, const syn_space *s, double gap, ms_warm **warm,
                         const ms_tile **repeats, syn_choice *out, double *lower)
{
    int *x = HB_ARRAY(a, int, s->problem.n_vars);
    ms_status status = MS_TOO_LARGE;
    *lower = 0;
    if (repeats) status = ms_solve_repeated(a, &s->problem, gap, warm, repeats, x, &out->additive);
    if (status != MS_OPTIMAL)
        status = ms_solve_near(a, &s->problem, 0, gap, warm, x, &out->additive, lower);
    if (status == MS_INFEASIBLE || isinf(out->additive))
        return status == MS_OPTIMAL ? MS_INFEASIBLE : status;
    syn_choice_decode(a, s, x, out);
    return MS_OPTIMAL;
}

ms_status syn_space_solve(hb_arena *a, const syn_space *s, syn_choice *out)
{
    double lower = 0;
    ms_status status = syn_space_near(a, s, 0, NULL, NULL, out, &lower);
    return status == MS_OPTIMAL && lower < out->additive * (1 - SYN_ROUNDING) ? MS_TOO_LARGE
                                                                              : status;
}

void syn_choice_decode(hb_arena *a, const syn_space *s, const int *x, syn_choice *out)
{
    out->sharding = HB_ARRAY(a, int, s->g->nodes.n);
    out->keep = HB_ARRAY(a, syn_keep, s->g->tensors.n);
    for (int n = 0; n < s->g->nodes.n; n++)
        out->sharding[n] = x[s->node_var[n]];
    for (int t = 0; t < s->g->tensors.n; t++)
        out->keep[t] =
            s->tensor_var[t] >= 0 ? s->keeps[t]->keep[x[s->tensor_var[t]]] : (syn_keep){-1, -1};
}
