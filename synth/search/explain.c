// What else could have been chosen, and what it would have cost.

#include <math.h>
#include <stdlib.h>

#include "synth/search/synth.h"
#include "synth/space/space_build.h"
#include "synth/space/space_solve.h"

static hb_str state_text(hb_arena *a, const syn_space *s, int tensor, int i)
{
    hb_buf b = {.arena = a};
    syn_state_print(&b, s->mesh, s->f, tensor, &s->states[tensor]->s[i]);
    return hb_done(&b);
}

static hb_str sharding_text(hb_arena *a, const syn_space *s, int node, const syn_sharding *f)
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
    if (is_node) return sharding_text(a, s, id, &s->shardings[id]->sharding[k]);
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
        if (fabs(delta) <= SYN_ROUNDING * r->space_value) delta = 0;
        all[n++] = (syn_alternative){option_text(a, s, is_node, id, k), delta, false};
    }
    qsort(all, (size_t)n, sizeof *all, by_delta);
    if (n > 0) all[0].chosen = true;
    n = n < max ? n : max;
    for (int i = 0; i < n; i++)
        out[i] = all[i];
    return n;
}

static int state_index(const syn_states *st, const syn_state *x)
{
    for (int i = 0; i < st->n; i++)
        if (syn_state_eq(&st->s[i], x)) return i;
    return -1;
}

// The states on the best way from i to j, without i.
static void add_way(hb_buf *out, const syn_space *s, int t, int i, int j)
{
    const syn_states *st = s->states[t];
    while (i != j) {
        i = st->via[i * st->n + j];
        hb_puts(out, " -> ");
        syn_state_print(out, s->mesh, s->f, t, &st->s[i]);
    }
}

// How a choice has a value: made, kept, copied, read (all states that are read, each with its way
// from the kept one).
static hb_str way_text(hb_arena *a, const syn_space *s, const syn_choice *c, int t)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    const syn_states *st = s->states[t];
    hb_buf out = {.arena = a};
    bool var = s->tensor_var[t] >= 0;
    int made = c->keep[t].state, kept = c->keep[t].state;
    if (ten->producer >= 0) {
        made = s->shardings[ten->producer]->sharding[c->sharding[ten->producer]].out[ten->out];
        if (!var) kept = made;
    }
    syn_state_print(&out, s->mesh, s->f, t, &st->s[made]);
    add_way(&out, s, t, made, kept);
    if (var && c->keep[t].copy >= 0) {
        hb_puts(&out, ", copied");
        add_way(&out, s, t, kept, c->keep[t].copy);
    }
    bool *seen = HB_ARRAY(a, bool, st->n);
    seen[kept] = true;
    if (var && c->keep[t].copy >= 0) seen[c->keep[t].copy] = true;
    for (int u = s->first_use[t], n = 0; u < s->first_use[t + 1]; u++) {
        int want =
            s->shardings[s->uses[u][0]]->sharding[c->sharding[s->uses[u][0]]].in[s->uses[u][1]];
        if (seen[want]) continue;
        seen[want] = true;
        if (n++ > 0) hb_puts(&out, ",");
        add_way(&out, s, t, kept, want);
    }
    return hb_done(&out);
}

// A program has its mesh to itself; the cuts it had are numbered alike.
static bool same_ranks(const syn_mesh *x, const syn_mesh *y)
{
    if (x->n_axes != y->n_axes || x->n_ranks != y->n_ranks || x->size[0] != y->size[0])
        return false;
    for (int r = 0; r < x->n_ranks; r++)
        if (x->cluster_rank[r] != y->cluster_rank[r]) return false;
    return true;
}

bool syn_explain_move(hb_arena *a, const syn_result *r, int start, struct ms_warm **warm,
                      syn_alternative *out)
{
    const syn_program *p = r->program;
    const syn_instr *in = &p->instr.p[start];
    const syn_space *s = r->space;
    if (!s || s->g != p->g || !same_ranks(s->mesh, p->mesh)) return false;
    for (int k = 0; k < in->n_in; k++) {
        const syn_tensor *from = &p->tensors.p[in->in[k]], *to = &p->tensors.p[in->out[k]];
        int t = from->value;
        if (t == s->g->loss || (s->tensor_var[t] < 0 && s->first_use[t + 1] == s->first_use[t]))
            return false;
        int i = state_index(s->states[t], &from->state), j = state_index(s->states[t], &to->state);
        if (i < 0 || j < 0) return false;
        s = syn_space_without(a, s, t, i, j);
    }
    int *x = HB_ARRAY(a, int, s->problem.n_vars);
    double value = 0;
    syn_choice c;
    *out = (syn_alternative){.delta_sec = HUGE_VAL};
    ms_status status = ms_solve_dual(a, &s->problem, 0, warm, x, &value, NULL);
    if (status == MS_TOO_LARGE) return false;
    if (status != MS_OPTIMAL) return true;
    syn_choice_decode(a, s, x, &c);
    out->delta_sec = value - r->space_value;
    if (fabs(out->delta_sec) <= SYN_ROUNDING * r->space_value) out->delta_sec = 0;
    out->what = way_text(a, s, &c, p->tensors.p[in->in[0]].value);
    return true;
}
