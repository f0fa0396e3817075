// What else could have been chosen, and what it would have cost.

#include <math.h>
#include <stdlib.h>

#include "synth/space.h"

// Sums of the same costs in another order differ by less.
static const double ROUNDING = 1e-9;

static hb_str state_text(hb_arena *a, const syn_space *s, int tensor, int i)
{
    hb_buf b = {.arena = a};
    syn_state_print(&b, s->mesh, s->f, tensor, &s->states[tensor]->s[i]);
    return hb_done(&b);
}

static hb_str form_text(hb_arena *a, const syn_space *s, int node, const syn_form *f)
{
    hb_buf b = {.arena = a};
    const ir_node *n = &s->g->nodes.p[node];
    for (int i = 0; i < n->n_in; i++)
        hb_printf(&b, "%s%.*s", i ? " " : "", HB_ARG(state_text(a, s, n->in[i], f->in[i])));
    hb_puts(&b, " -> ");
    for (int i = 0; i < n->n_out; i++)
        hb_printf(&b, "%s%.*s", i ? " " : "", HB_ARG(state_text(a, s, n->out[i], f->out[i])));
    return hb_done(&b);
}

static hb_str option_text(hb_arena *a, const syn_space *s, bool is_node, int id, int k)
{
    if (is_node) return form_text(a, s, id, &s->forms[id]->form[k]);
    syn_keep keep = s->keeps[id]->keep[k];
    if (keep.copy < 0) return state_text(a, s, id, keep.state);
    return hb_fmt(a, "%.*s and a copy %.*s", HB_ARG(state_text(a, s, id, keep.state)),
                  HB_ARG(state_text(a, s, id, keep.copy)));
}

static int by_delta(const void *x, const void *y)
{
    double a = ((const syn_alternative *)x)->delta_sec, b = ((const syn_alternative *)y)->delta_sec;
    return a < b ? -1 : a > b;
}

int syn_explain(hb_arena *a, const syn_result *r, bool is_node, int id, syn_alternative *out,
                int max)
{
    const syn_space *s = r->space;
    int var = !s ? -1 : is_node ? s->node_var[id] : s->tensor_var[id];
    if (var < 0) return 0;
    int domain = s->problem.domain[var], n = 0;
    ms_problem pinned = s->problem;
    const double **unary = hb_copy(a, s->problem.unary, sizeof *unary * (size_t)s->problem.n_vars);
    double *only = HB_ARRAY(a, double, domain);
    int *x = HB_ARRAY(a, int, s->problem.n_vars);
    syn_alternative *all = HB_ARRAY(a, syn_alternative, domain);
    unary[var] = only;
    pinned.unary = unary;
    for (int k = 0; k < domain; k++) {
        for (int i = 0; i < domain; i++)
            only[i] = i == k ? s->problem.unary[var][i] : HUGE_VAL;
        double value = 0;
        if (ms_solve_dual(a, &pinned, 0, NULL, x, &value, NULL) != MS_OPTIMAL) continue;
        double delta = value - r->space_value;
        if (fabs(delta) <= ROUNDING * r->space_value) delta = 0;
        all[n++] = (syn_alternative){option_text(a, s, is_node, id, k), delta, false};
    }
    qsort(all, (size_t)n, sizeof *all, by_delta);
    if (n > 0) all[0].chosen = true;
    n = n < max ? n : max;
    for (int i = 0; i < n; i++)
        out[i] = all[i];
    return n;
}
