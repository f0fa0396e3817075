#include <string.h>

#include "solver/ms_dual.h"

// Messages by the variables and states of the caller's problem: what is left of it after reduction
// differs from solve to solve, as costs differ. States that went keep what they had when they were
// there last.

typedef struct pair {
    double *to_a, *to_b;
} pair;

struct ms_warm {
    hb_arena *arena;
    ms_keys *keys; // variables and domains of the ends
    HB_VEC(pair) pair;
    const ms_edge *loaded; // of the problem that messages were loaded for
    HB_VEC(int) at;        // its edges' pairs
};

ms_warm *ms_warm_of(hb_arena *a, ms_warm **cache)
{
    if (!cache) return NULL;
    if (!*cache) {
        *cache = HB_NEW(a, ms_warm);
        (*cache)->arena = a;
        (*cache)->keys = ms_keys_new(a);
    }
    return *cache;
}

static int pair_of(ms_warm *w, const ms_names *names, const ms_edge *e)
{
    int a = names->var[e->a], b = names->var[e->b], na = names->domain[a], nb = names->domain[b];
    uint32_t key[4] = {(uint32_t)a, (uint32_t)b, (uint32_t)na, (uint32_t)nb};
    bool is_new;
    int id = ms_key_id(w->keys, key, 4, &is_new);
    if (is_new) {
        pair q = {HB_ARRAY(w->arena, double, na), HB_ARRAY(w->arena, double, nb)};
        HB_PUSH(w->arena, &w->pair, q);
    }
    return id;
}

void ms_warm_load(ms_warm *w, const ms_problem *p, const ms_names *names, ms_messages *m)
{
    if (!w) return;
    w->loaded = p->edge;
    w->at.n = 0;
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        HB_PUSH(w->arena, &w->at, pair_of(w, names, e));
        const pair *q = &w->pair.p[w->at.p[k]];
        for (int i = 0; i < p->domain[e->a]; i++)
            m->to_a[k][i] = q->to_a[names->state[e->a][i]];
        for (int i = 0; i < p->domain[e->b]; i++)
            m->to_b[k][i] = q->to_b[names->state[e->b][i]];
    }
}

void ms_warm_save(ms_warm *w, const ms_problem *p, const ms_names *names, const ms_messages *m)
{
    if (!w) return;
    hb_assert(w->loaded == p->edge && w->at.n == p->n_edges);
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        const pair *q = &w->pair.p[w->at.p[k]];
        for (int i = 0; i < p->domain[e->a]; i++)
            q->to_a[names->state[e->a][i]] = m->to_a[k][i];
        for (int i = 0; i < p->domain[e->b]; i++)
            q->to_b[names->state[e->b][i]] = m->to_b[k][i];
    }
}
