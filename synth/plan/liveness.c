// Liveness on the unrolled program, which is exact for repeated blocks too.
//
//     HOME, CONST   always
//     INPUT         from before the step to its last read
//     VALUE         from its first write to its last use; START holds source, destination, scratch
//                   to WAIT; what a group reads from memory is used to its end; what a pair
//                   touches is alive from its begin to its end
//     loss, kept    to the end of the step and until the next inputs come (hap_next_step reports
//     gradients     the loss before it loads them)

#include "synth/plan/liveness.h"

#include <limits.h>

int arena_root(arena_live *l, int buffer)
{
    while (l->parent[buffer] != buffer)
        buffer = l->parent[buffer] = l->parent[l->parent[buffer]];
    return buffer;
}

// Instruction `by` needs the buffer until position `until`.
static void use(arena_cell *c, int by, int until)
{
    if (until > c->last) {
        if (c->last_by != by) c->before = c->last;
        c->last = until;
        c->last_by = by;
    } else if (by != c->last_by && until > c->before) {
        c->before = until;
    }
}

static void define(arena_cell *c, int at, int until)
{
    if (c->def == INT_MAX) {
        c->def = at;
    } else {
        if (at < c->first_over) c->first_over = at;
        if (at > c->last_over) c->last_over = at;
    }
    use(c, at, until);
}

static void declared(arena_live *l)
{
    const syn_program *p = l->p;
    for (int t = 0; t < p->tensors.n; t++) {
        arena_cell *c = &l->cell[t];
        *c = (arena_cell){.def = INT_MAX,
                          .last = INT_MIN,
                          .last_by = -1,
                          .before = INT_MIN,
                          .held_from = INT_MAX,
                          .held_to = INT_MIN,
                          .first_over = INT_MAX,
                          .last_over = INT_MIN};
        syn_role role = p->tensors.p[t].role;
        if (role != SYN_ROLE_HOME && role != SYN_ROLE_CONST && role != SYN_ROLE_INPUT) continue;
        c->def = -1;
        use(c, -1, role == SYN_ROLE_INPUT ? -1 : p->instr.n);
    }
}

static void to_the_end(arena_live *l, int buffer)
{
    if (buffer < 0) return;
    use(&l->cell[buffer], l->p->instr.n, l->p->instr.n);
    l->cell[buffer].wraps = true;
}

static void instructions(arena_live *l)
{
    const syn_program *p = l->p;
    int *end = HB_ARRAY(l->arena, int, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        end[i] = p->instr.p[i].kind == SYN_START ? p->instr.n : i;
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) end[p->instr.p[i].start] = i;
    const syn_group *g = p->groups.p, *past = g + p->groups.n;
    const syn_pair *x = p->pairs.p, *last = x + p->pairs.n;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT) continue;
        while (x < last && i >= x->first + x->len)
            x++;
        bool paired = x < last && i >= x->first;
        int until = paired && end[i] < x->first + x->len - 1 ? x->first + x->len - 1 : end[i];
        // An all-reduce may write over its source, which the product of its pair has made before.
        bool sums = in->kind == SYN_START && in->coll == COST_ALL_REDUCE;
        int from = paired && !sums ? x->first : i;
        while (g < past && i >= g->first + g->len)
            g++;
        bool fused = g < past && i >= g->first;
        for (int k = 0; k < in->n_in; k++) {
            if (in->in[k] < 0) continue;
            arena_cell *c = &l->cell[in->in[k]];
            bool twice = in->kind == SYN_START && c->last_by == i; // a source of two pairs
            bool from_memory = fused && c->def < g->first;
            use(c, twice ? INT_MAX : i, from_memory ? g->first + g->len - 1 : until);
            if (in->kind != SYN_START) continue;
            if (i < c->held_from) c->held_from = i;
            if (end[i] > c->held_to) c->held_to = end[i];
        }
        for (int k = 0; k < in->n_out; k++)
            define(&l->cell[in->out[k]], from, until);
        if (in->kind == SYN_START && in->scratch >= 0)
            define(&l->cell[in->scratch], paired ? x->first : i, until);
    }
    to_the_end(l, p->loss);
    for (int t = 0; p->keep_grads && t < p->g->tensors.n; t++)
        to_the_end(l, p->grad[t]);
    for (int t = 0; t < p->tensors.n; t++)
        if (l->cell[t].def == INT_MAX) l->cell[t].def = l->cell[t].last = 0; // touched by nothing
}

static void own_unit(arena_live *l, int unit, int n, const int *buffer, bool family)
{
    l->unit[unit].n = n;
    l->unit[unit].root = hb_copy(l->arena, buffer, sizeof *buffer * (size_t)n);
    l->unit[unit].family = family;
    for (int k = 0; k < n; k++) {
        l->cell[buffer[k]].unit = unit;
        l->cell[buffer[k]].index = k;
    }
}

arena_live *arena_live_new(hb_arena *a, const syn_program *p, bool families)
{
    arena_live *l = HB_NEW(a, arena_live);
    *l = (arena_live){.arena = a, .p = p};
    l->parent = HB_ARRAY(a, int, p->tensors.n + 1);
    l->cell = HB_ARRAY(a, arena_cell, p->tensors.n + 1);
    l->unit = HB_ARRAY(a, struct arena_members, p->tensors.n + p->families.n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        l->parent[t] = t;
    declared(l);
    instructions(l);
    for (int f = 0; families && f < p->families.n; f++)
        own_unit(l, l->n_units++, p->families.p[f].count, p->families.p[f].member, true);
    for (int t = 0; t < p->tensors.n; t++)
        if (!families || p->tensors.p[t].family < 0) own_unit(l, l->n_units++, 1, &t, false);
    return l;
}
