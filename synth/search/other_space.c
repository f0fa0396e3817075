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

static uint64_t keep_is(const syn_space *s, int tensor, int value)
{
    const syn_keep *k = &s->keeps[tensor]->keep[value];
    syn_state of[2] = {s->states[tensor]->s[k->state], {{{0}}}};
    if (k->copy >= 0) of[1] = s->states[tensor]->s[k->copy];
    return 2 * hb_hash(of, sizeof of) + (k->copy >= 0);
}

static uint64_t sharding_is(const syn_space *s, int node, int value)
{
    const ir_node *n = &s->g->nodes.p[node];
    const syn_sharding *x = &s->shardings[node]->sharding[value];
    uint64_t of[1 + IR_MAX_IN + IR_MAX_OUT] = {hb_hash(&x->cut, sizeof x->cut)};
    int m = 1;
    for (int i = 0; i < n->n_in; i++)
        of[m++] = hb_hash(&s->states[n->in[i]]->s[x->in[i]], sizeof(syn_state));
    for (int i = 0; i < n->n_out; i++)
        of[m++] = hb_hash(&s->states[n->out[i]]->s[x->out[i]], sizeof(syn_state));
    return hb_hash(of, sizeof *of * (size_t)m);
}

void syn_meaning_of(const syn_space *s, const int *x, uint64_t *is)
{
    for (int n = 0; n < s->g->nodes.n; n++)
        is[s->node_var[n]] = sharding_is(s, n, x[s->node_var[n]]);
    for (int t = 0; t < s->g->tensors.n; t++)
        if (s->tensor_var[t] >= 0) is[s->tensor_var[t]] = keep_is(s, t, x[s->tensor_var[t]]);
}

// The value of a variable of n values that is `want`, by the hash of a tensor or a node; -1: none.
static int value_of(const syn_space *s, uint64_t (*hash)(const syn_space *, int, int), int of,
                    int n, uint64_t want, int likely)
{
    if (likely < n && hash(s, of, likely) == want) return likely;
    for (int i = 0; i < n; i++)
        if (hash(s, of, i) == want) return i;
    return -1;
}

void syn_assign_meaning(const syn_space *s, const uint64_t *is, const int *likely, int *x)
{
    for (int n = 0; n < s->g->nodes.n; n++) {
        int v = s->node_var[n],
            k = value_of(s, sharding_is, n, s->shardings[n]->n, is[v], likely[v]);
        if (k >= 0) x[v] = k;
    }
    for (int t = 0; t < s->g->tensors.n; t++) {
        int v = s->tensor_var[t];
        if (v < 0) continue;
        int k = value_of(s, keep_is, t, s->keeps[t]->n, is[v], likely[v]);
        if (k >= 0) x[v] = k;
    }
}
