#include "synth/search/known_choices.h"

#include <math.h>

#include "synth/search/live_bound.h"
#include "synth/space/space_solve.h"

// An assignment of the space's variables.
typedef struct known {
    int n_vars;
    const uint16_t *x;
    double value, lower;
} known;

struct syn_known_choices {
    hb_arena *arena;
    hb_map *number; // the eight bytes of a key -> where it stands in the list
    HB_VEC(known) list;
};

syn_known_choices *syn_known_choices_new(hb_arena *a)
{
    syn_known_choices *k = HB_NEW(a, syn_known_choices);
    *k = (syn_known_choices){.arena = a, .number = hb_map_new(a)};
    return k;
}

static hb_str bytes_of(const uint64_t *key)
{
    return (hb_str){(const char *)key, sizeof *key};
}

uint64_t syn_space_key(const syn_space *s)
{
    const ir_graph *g = s->g;
    const syn_mesh *m = s->mesh;
    const int64_t step[] = {g->nodes.n, g->tensors.n, g->micro_batches, g->few_of != NULL,
                            m->n_axes};
    uint64_t key =
        hb_hash_key(step, sizeof step) +
        3 * hb_hash_key(g->recomputed.p, sizeof *g->recomputed.p * (size_t)g->recomputed.n) +
        5 * hb_hash_key(m->cluster_rank, sizeof *m->cluster_rank * (size_t)m->n_ranks);
    for (int k = 0; k < s->partitions->n_sets; k++)
        for (int axis = 0; axis <= SYN_BOTH; axis++) {
            const struct syn_partition_set *set = &s->partitions->set[k];
            for (int i = 0; i < set->n[axis]; i++) { // numbers of cuts are the mesh's own
                const syn_cut *cut = &m->cuts.p[set->cut[axis][i]];
                const uint64_t at[] = {
                    (uint64_t)k, (uint64_t)axis, (uint64_t)i,
                    hb_hash_key(cut->table, sizeof *cut->table * (size_t)cut->n)};
                key += hb_hash_key(at, sizeof at);
            }
        }
    return key;
}

bool syn_known_choice(const syn_known_choices *k, hb_arena *a, uint64_t key, const syn_space *s,
                      syn_choice *out, double *lower)
{
    int number = k ? hb_map_get(k->number, bytes_of(&key)) : -1;
    const known *x = number >= 0 ? &k->list.p[number] : NULL;
    const ms_problem *p = &s->problem;
    if (!x || x->n_vars != p->n_vars) return false;
    int *own = HB_ARRAY(a, int, p->n_vars);
    for (int v = 0; v < p->n_vars; v++) {
        own[v] = x->x[v];
        if (own[v] >= p->domain[v]) return false;
    }
    double value = ms_value(p, own);
    if (!(fabs(value - x->value) <= SYN_ROUNDING * fabs(x->value))) return false;
    syn_choice_decode(a, s, own, out);
    out->additive = value;
    *lower = x->lower;
    return true;
}

void syn_know_choice(syn_known_choices *k, uint64_t key, const syn_space *s, const syn_choice *c,
                     double lower)
{
    if (!k || s->problem.n_vars == 0 || hb_map_get(k->number, bytes_of(&key)) >= 0) return;
    hb_arena *scratch = hb_arena_new();
    const int *assigned = syn_assignment_of(scratch, s, c);
    uint16_t *own = HB_ARRAY(k->arena, uint16_t, s->problem.n_vars);
    for (int v = 0; v < s->problem.n_vars; v++)
        own[v] = (uint16_t)assigned[v];
    hb_arena_free(scratch);
    hb_map_put(k->number, bytes_of(hb_copy(k->arena, &key, sizeof key)), k->list.n);
    HB_PUSH(k->arena, &k->list, (known){s->problem.n_vars, own, c->additive, lower});
}
