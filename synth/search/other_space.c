#include "synth/search/other_space.h"

#include <string.h>

int syn_state_in(const syn_space *s, int tensor, const syn_state *x)
{
    for (int i = 0; i < s->states[tensor]->n; i++)
        if (memcmp(&s->states[tensor]->s[i], x, sizeof *x) == 0) return i;
    return -1;
}

static bool same_states(const syn_space *s, const uint16_t *x, const syn_space *t,
                        const uint16_t *y, int n, const int *tensor)
{
    bool same = true;
    for (int i = 0; i < n && same; i++)
        same = syn_state_in(s, tensor[i], &t->states[tensor[i]]->s[y[i]]) == x[i];
    return same;
}

int syn_sharding_in(const syn_space *s, int node, const syn_space *t, const syn_sharding *x)
{
    const ir_node *n = &s->g->nodes.p[node];
    for (int i = 0; i < s->shardings[node]->n; i++) {
        const syn_sharding *y = &s->shardings[node]->sharding[i];
        if (memcmp(&y->cut, &x->cut, sizeof x->cut) == 0 &&
            same_states(s, y->in, t, x->in, n->n_in, n->in) &&
            same_states(s, y->out, t, x->out, n->n_out, n->out))
            return i;
    }
    return -1;
}

// The keep of a tensor in another space; -1: it has none.
static int keep_in(const syn_space *s, int tensor, const syn_space *t, const syn_keep *x)
{
    const syn_state *is = t->states[tensor]->s;
    int state = syn_state_in(s, tensor, &is[x->state]),
        copy = x->copy < 0 ? -1 : syn_state_in(s, tensor, &is[x->copy]);
    if (state < 0 || (x->copy >= 0 && copy < 0)) return -1;
    for (int k = 0; k < s->keeps[tensor]->n; k++)
        if (s->keeps[tensor]->keep[k].state == state && s->keeps[tensor]->keep[k].copy == copy)
            return k;
    return -1;
}

void syn_assign_from(const syn_space *s, const syn_space *t, const syn_choice *c, int *x)
{
    for (int n = 0; n < s->g->nodes.n; n++) {
        const syn_sharding *is = &t->shardings[n]->sharding[c->sharding[n]];
        int k = s == t ? c->sharding[n] : syn_sharding_in(s, n, t, is);
        if (k >= 0) x[s->node_var[n]] = k;
    }
    for (int i = 0; i < s->g->tensors.n; i++) {
        if (s->tensor_var[i] < 0 || t->tensor_var[i] < 0) continue;
        int k = keep_in(s, i, t, &c->keep[i]);
        if (k >= 0) x[s->tensor_var[i]] = k;
    }
}
