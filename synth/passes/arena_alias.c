// Buffers that may share bytes while both are known: a reshape and its operand hold the same bytes,
// an all-reduce may write over a source that nobody reads again, a sum over an operand that nobody
// reads again (so that a chain of sums needs one buffer: arena_sums puts it into one segment).
//
// A pair of cells A (of the operand) and B (of the result) becomes one cell at instruction p if
//     view        B is born at p, A holds the operand's bytes until B's last use: nothing is
//     written over A from p
//                 to then, nothing over B before A's last use; no collective is sending A at p
//     in place    A is not used by others at or after p (nor held by another collective), B is born
//     at p apart       one is dead before the other is born
// Members of two families are joined all or none, so that one base and one stride stay enough.

#include "synth/passes/arena_alias.h"

#include <limits.h>

typedef struct alias_pair {
    int in, at; // by result buffer; in == -1: none
    bool view;
} alias_pair;

typedef struct aliasing {
    arena_live *l;
    alias_pair *pair; // by result buffer
} aliasing;

static bool same_size(const aliasing *a, int x, int y)
{
    const syn_tensor *t = &a->l->p->tensors.p[x], *v = &a->l->p->tensors.p[y];
    if (t->sym != v->sym) return false;
    for (int c = 0; c < a->l->p->mesh->n_classes; c++)
        if (t->bytes[c] != v->bytes[c]) return false;
    return true;
}

static bool may_view(const arena_cell *a, const arena_cell *b, int at)
{
    if (b->def != at || a->def >= at) return false;
    if (a->through && b->first_over != INT_MAX) return false; // the next micro-batch needs it
    bool kept = a->last_over <= at || (a->first_over > at && b->last < a->first_over);
    bool held =
        a->held_from < at && at < a->held_to; // no write, even of the same bytes, while it is sent
    return kept && !held && !(b->first_over <= a->last);
}

static bool may_replace(const aliasing *x, const arena_cell *a, const arena_cell *b, int at)
{
    if (a->through && ir_in_slot(x->l->p->instr.p[at].turn)) return false;
    int last = a->last_by == at ? a->before : a->last;
    return last < at && a->def < at && b->def == at && !a->wraps;
}

static bool apart(const arena_live *l, const arena_cell *a, const arena_cell *b)
{
    if (a->wraps || b->wraps) return false;
    return arena_last(l, a) < b->def || arena_last(l, b) < a->def;
}

// x and y are roots. Where one takes the other's place, the birth of the later is a write over the
// cell.
static void join(aliasing *a, int x, int y, bool view)
{
    arena_cell *c = &a->l->cell[x], *d = &a->l->cell[y];
    int over = c->def > d->def ? c->def : d->def;
    a->l->parent[y] = x;
    if (d->def < c->def) c->def = d->def;
    if (d->last > c->last) {
        c->before = c->last > d->before ? c->last : d->before;
        c->last = d->last;
        c->last_by = d->last_by;
    } else if (d->last > c->before) {
        c->before = d->last;
    }
    if (d->first_over < c->first_over) c->first_over = d->first_over;
    if (d->last_over > c->last_over) c->last_over = d->last_over;
    if (d->held_from < c->held_from) c->held_from = d->held_from;
    if (d->held_to > c->held_to) c->held_to = d->held_to;
    c->wraps = c->wraps || d->wraps;
    c->through = c->through || d->through;
    if (view) return;
    if (over < c->first_over) c->first_over = over;
    if (over > c->last_over) c->last_over = over;
}

static bool may_join(aliasing *a, const alias_pair *pair, int x, int y)
{
    const arena_cell *c = &a->l->cell[x], *d = &a->l->cell[y];
    return pair->view ? may_view(c, d, pair->at) : may_replace(a, c, d, pair->at);
}

// Cell k of the two units: joined by a pair of the two families, or apart in time. Null: may not be
// joined.
static bool joins_at(aliasing *a, int family_in, int family_out, int k, int x, int y,
                     const alias_pair **by)
{
    const syn_family *f = &a->l->p->families.p[family_in], *g = &a->l->p->families.p[family_out];
    *by = NULL;
    if (k < f->count && k < g->count && a->pair[g->member[k]].in == f->member[k]) {
        *by = &a->pair[g->member[k]];
        return may_join(a, *by, x, y);
    }
    return apart(a->l, &a->l->cell[x], &a->l->cell[y]);
}

static void join_units(aliasing *a, int in, int out)
{
    arena_live *l = a->l;
    const syn_tensor *t = l->p->tensors.p;
    int ui = l->cell[arena_root(l, in)].unit, uo = l->cell[arena_root(l, out)].unit;
    if (t[in].family < 0 || t[out].family < 0 || ui == uo) return;
    if (t[in].index != t[out].index) return;
    struct arena_members *u = &l->unit[ui], *v = &l->unit[uo];
    int both = u->n < v->n ? u->n : v->n;
    const alias_pair *by;
    for (int k = 0; k < both; k++)
        if (!joins_at(a, t[in].family, t[out].family, k, arena_root(l, u->root[k]),
                      arena_root(l, v->root[k]), &by))
            return;
    int n = u->n > v->n ? u->n : v->n, *root = HB_ARRAY(l->arena, int, n);
    for (int k = 0; k < n; k++) {
        root[k] = k < u->n ? arena_root(l, u->root[k]) : arena_root(l, v->root[k]);
        if (k < both) {
            int y = arena_root(l, v->root[k]);
            joins_at(a, t[in].family, t[out].family, k, root[k], y, &by);
            join(a, root[k], y, by && by->view);
        }
        l->cell[root[k]].unit = ui;
        l->cell[root[k]].index = k;
    }
    u->n = n;
    u->root = root;
    v->n = 0;
}

static void try_pair(aliasing *a, int out)
{
    arena_live *l = a->l;
    const alias_pair *pair = &a->pair[out];
    int x = arena_root(l, pair->in), y = arena_root(l, out);
    if (x == y || !same_size(a, pair->in, out)) return;
    int ux = l->cell[x].unit, uy = l->cell[y].unit;
    if (l->unit[ux].family && l->unit[uy].family) {
        join_units(a, pair->in, out);
        return;
    }
    if (!may_join(a, pair, x, y)) return;
    if (l->unit[uy].family) { // keep the family's cell
        int unit = uy, index = l->cell[y].index;
        join(a, x, y, pair->view);
        l->cell[x].unit = unit;
        l->cell[x].index = index;
        l->unit[ux].n = 0;
        return;
    }
    join(a, x, y, pair->view);
    l->unit[uy].n = 0;
}

// Two buffers of one kind: the sum of one with something takes its bytes.
static bool like(const syn_program *p, int x, int y)
{
    const syn_tensor *t = &p->tensors.p[x], *v = &p->tensors.p[y];
    if (t->role != SYN_ROLE_VALUE || t->dtype != v->dtype || t->value < 0) return false;
    if (ir_elements(&p->g->tensors.p[t->value]) != ir_elements(&p->g->tensors.p[v->value]))
        return false;
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (t->bytes[c] != v->bytes[c]) return false;
    return true;
}

static bool is_sum(const syn_program *p, const syn_instr *in)
{
    return in->kind == SYN_OP && ir_op_of(p->g->nodes.p[in->node].op)->flags & IR_OVER;
}

// The operand of a sum that ends there, -1 none.
static int ends_in(const arena_live *l, int at)
{
    const syn_instr *in = &l->p->instr.p[at];
    for (int k = 0; k < in->n_in; k++) {
        const arena_cell *c = &l->cell[in->in[k]];
        bool ends = c->last_by == at ? c->before < at : c->last <= at;
        if (ends && like(l->p, in->in[k], in->out[0])) return in->in[k];
    }
    return -1;
}

void arena_sums(syn_program *p)
{
    bool *later = HB_ARRAY(p->arena, bool, p->tensors.n + 1); // is used behind this place
    for (int i = p->instr.n - 1; i >= 0; i--) {
        const syn_instr *in = &p->instr.p[i];
        bool sym = is_sum(p, in) && in->in[0] != in->out[0] && p->tensors.p[in->out[0]].sym;
        for (int k = 0; k < in->n_in && sym; k++) {
            if (later[in->in[k]] || !like(p, in->in[k], in->out[0])) continue;
            p->tensors.p[in->in[k]].sym = true;
            break;
        }
        for (int k = 0; k < in->n_in; k++)
            if (in->in[k] >= 0) later[in->in[k]] = true;
    }
}

void arena_alias(arena_live *l)
{
    const syn_program *p = l->p;
    aliasing a = {.l = l, .pair = HB_ARRAY(l->arena, alias_pair, p->tensors.n + 1)};
    for (int t = 0; t < p->tensors.n; t++)
        a.pair[t].in = -1;
    for (int i = 0; i < p->instr.n; i++)
        if (is_sum(p, &p->instr.p[i]) && p->instr.p[i].in[0] != p->instr.p[i].out[0])
            a.pair[p->instr.p[i].out[0]] = (alias_pair){ends_in(l, i), i, false};
    for (int pass = 0; pass < 2; pass++) // families ask for all their pairs: know them before
        for (int i = 0; i < p->instr.n; i++) {
            const syn_instr *in = &p->instr.p[i];
            bool view =
                in->kind == SYN_OP && ir_op_of(p->g->nodes.p[in->node].op)->flags & IR_ZERO_COPY;
            if (is_sum(p, in) && pass == 1 && a.pair[in->out[0]].in >= 0) try_pair(&a, in->out[0]);
            if (!view && !(in->kind == SYN_START && in->coll == COST_ALL_REDUCE)) continue;
            for (int k = 0; k < in->n_out && k < in->n_in; k++) {
                syn_role role = p->tensors.p[in->out[k]].role;
                if (role != SYN_ROLE_VALUE || in->in[k] == in->out[k]) continue;
                if (pass == 0)
                    a.pair[in->out[k]] = (alias_pair){in->in[k], i, view};
                else if (a.pair[in->out[k]].in == in->in[k])
                    try_pair(&a, in->out[k]);
            }
        }
    for (int k = 0; k < p->pairs.n; k++) { // sums that found no source to write over
        int first = p->pairs.p[k].first;
        for (int i = first; i < first + p->pairs.p[k].len; i++)
            for (int o = 0; o < p->instr.p[i].n_out; o++) {
                arena_cell *c = &l->cell[arena_root(l, p->instr.p[i].out[o])];
                if (c->def > first) c->def = first;
            }
    }
}
