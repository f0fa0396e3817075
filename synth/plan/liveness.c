// Liveness on the unrolled program, which is exact for repeated blocks too.
//
//     HOME, CONST   always
//     INPUT         from before the step to its last read
//     VALUE         from its first write to its last use; START holds source, destination, scratch
//                   to WAIT; what a fusion reads from memory is used to its end; what a pair
//                   touches is alive from its begin to its end
//     in the slot   what is made before the micro-batches, or in the first alone, and used in them:
//                   to the end of the last
//     loss, kept    to the end of the step and until the next inputs come (hap_next_step reports
//     gradients     the loss before it loads them)

#include "synth/plan/liveness.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "costmodel/device_defaults.h"
#include "ir/fold.h"

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

int arena_last(const arena_live *l, const arena_cell *c)
{
    return c->through && c->last < l->slot.end ? l->slot.end - 1 : c->last;
}

// Done in the slot, of the first micro-batch alone? Then it is as if it stood before the slot.
static bool at_first(const arena_live *l, int i)
{
    return l->p->instr.p[i].turn == IR_BEFORE && syn_once(l->p, &l->slot, i);
}

static void instructions(arena_live *l)
{
    const syn_program *p = l->p;
    const syn_slot slot = l->slot = syn_slot_of(p);
    int *end = HB_ARRAY(l->arena, int, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        end[i] = p->instr.p[i].kind == SYN_START ? p->instr.n : i;
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) end[p->instr.p[i].start] = i;
    const syn_fusion *g = p->fusions.p, *past = g + p->fusions.n;
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
        int from = at_first(l, i) ? slot.first - 1 : paired && !sums ? x->first : i;
        while (g < past && i >= g->first + g->len)
            g++;
        bool fused = g < past && i >= g->first;
        for (int k = 0; k < in->n_in; k++) {
            if (in->in[k] < 0) continue;
            arena_cell *c = &l->cell[in->in[k]];
            c->through = c->through || (i >= slot.first && i < slot.end && !at_first(l, i) &&
                                        c->def < slot.first);
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
            define(&l->cell[in->scratch], paired ? x->first : from, until);
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

static void touch(int t, int i, int *birth, int *death)
{
    if (t < 0) return;
    if (i < birth[t]) birth[t] = i;
    if (i > death[t]) death[t] = i;
}

void syn_lifetimes(const syn_program *p, int *birth, int *death)
{
    const syn_slot slot = syn_slot_of(p);
    int n = p->instr.n, before = slot.first - 1;
    for (int t = 0; t < p->tensors.n; t++) {
        bool always =
            p->tensors.p[t].role == SYN_ROLE_HOME || p->tensors.p[t].role == SYN_ROLE_CONST;
        birth[t] = always || p->tensors.p[t].role == SYN_ROLE_INPUT ? 0 : n;
        death[t] = always ? n : 0;
    }
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        const syn_instr *what = in->kind == SYN_WAIT ? &p->instr.p[in->start] : in;
        for (int k = 0; k < what->n_in; k++)
            touch(what->in[k], i, birth, death);
        bool early = in->kind != SYN_WAIT && in->turn == IR_BEFORE && syn_once(p, &slot, i);
        if (early && before < 0) before = 0;
        for (int k = 0; k < what->n_out; k++) {
            touch(what->out[k], i, birth, death);
            if (early) touch(what->out[k], before, birth, death); // as if it stood there
        }
        touch(what->scratch, i, birth, death);
    }
    for (int t = 0; slot.times > 1 && t < p->tensors.n; t++)
        if (birth[t] <= before && death[t] >= slot.first && death[t] < slot.end)
            death[t] = slot.end - 1;
}

double *syn_held_times(hb_arena *a, const syn_program *p, const int *birth, const int *death)
{
    double *times = HB_ARRAY(a, double, p->tensors.n + 1);
    const syn_slot slot = syn_slot_of(p);
    int *part = HB_ARRAY(a, int, p->instr.n + 2); // of the step, counted up at each change of phase
    for (int i = 0, phase = -1, n = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        int now = in->kind == SYN_OP ? (int)p->g->nodes.p[in->node].phase : phase;
        n += now != phase;
        phase = now;
        part[i] = n;
        part[i + 1] = n;
    }
    for (int t = 0; t < p->tensors.n; t++) {
        const syn_tensor *x = &p->tensors.p[t];
        bool held = birth[t] <= death[t] && part[birth[t]] != part[death[t]];
        times[t] = held && x->value >= 0 ? ir_tensor_times(p->g, x->value) : 1;
        bool ring = syn_waits_in_ring(&slot, birth[t], death[t]);
        if (ring && p->g->depth > 1) times[t] *= p->g->depth;
    }
    return times;
}

// The most that buffers take at any instruction, each for itself: of class c (those in SEG_SYM,
// too, if `both`), or (c < 0) in SEG_SYM, which is the same for all.
static int64_t live_bytes(const syn_program *prog, const int *birth, const int *death, int c,
                          bool both, const double *times, int64_t *delta)
{
    int n = prog->instr.n;
    int64_t live = 0, most = 0;
    memset(delta, 0, sizeof *delta * (size_t)(n + 2));
    for (int t = 0; t < prog->tensors.n; t++) {
        const syn_tensor *x = &prog->tensors.p[t];
        if (birth[t] > death[t] || (x->sym != (c < 0) && !both)) continue;
        int64_t bytes = x->bytes[c < 0 ? 0 : c];
        for (int k = 1; c < 0 && k < prog->mesh->n_classes; k++)
            bytes = x->bytes[k] > bytes ? x->bytes[k] : bytes;
        if (c < 0) bytes = (bytes + COST_SYM_ALIGN - 1) / COST_SYM_ALIGN * COST_SYM_ALIGN;
        if (times[t] != 1) bytes = (int64_t)((double)bytes * times[t]);
        delta[birth[t]] += bytes;
        delta[death[t] + 1] -= bytes;
    }
    for (int i = 0; i <= n; i++) {
        live += delta[i];
        most = live > most ? live : most;
    }
    return most;
}

// By class: bytes that the two segments and what is beside them take together at most, or (one)
// would take if the segments were one.
static void all_live_bytes(const syn_program *prog, bool one, double *bytes)
{
    hb_arena *arena = hb_arena_new();
    int *birth = HB_ARRAY(arena, int, prog->tensors.n + 1),
        *death = HB_ARRAY(arena, int, prog->tensors.n + 1);
    int64_t *delta = HB_ARRAY(arena, int64_t, prog->instr.n + 2);
    syn_lifetimes(prog, birth, death);
    const double *times = syn_held_times(arena, prog, birth, death);
    one = one || !prog->has_sym;
    int64_t sym = one ? 0 : live_bytes(prog, birth, death, -1, false, times, delta);
    for (int c = 0; c < prog->mesh->n_classes; c++) {
        int64_t most = sym + live_bytes(prog, birth, death, c, one, times, delta) +
                       prog->padded_bytes[c] + prog->work_bytes[c];
        bytes[c] = (double)most;
    }
    hb_arena_free(arena);
}

void syn_live_bytes(const syn_program *p, double *bytes)
{
    all_live_bytes(p, false, bytes);
}

double syn_live_share(const syn_program *p, bool one)
{
    double worst = 0, bytes[CL_MAX_CLASSES];
    all_live_bytes(p, one, bytes);
    for (int c = 0; c < p->mesh->n_classes; c++)
        worst = fmax(worst, bytes[c] / (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity);
    return worst;
}
