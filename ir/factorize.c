// Factors of every dim: each dim and each letter of each node starts as one atom; dims are aligned
// with the letters of every node until nothing changes (a pass settles almost everything, since a
// split or union holds for all members of a class at once).

#include "ir/factors.h"

#include "ir/rules.h"

#include <string.h>

typedef struct {
    hb_arena *a, *scratch; // scratch: of atoms, dims, frames and cls, which end with the work
    const ir_graph *g;
    ir_atoms *s;
    ir_dim_atoms *dims; // by tensor
    ir_frame *frame;    // by node
    ir_factors *f;
    int *cls; // by leaf root, -1
} work;

static void make_atoms(work *w)
{
    const ir_graph *g = w->g;
    w->s = ir_atoms_new(w->scratch);
    w->dims = HB_ARRAY(w->scratch, ir_dim_atoms, g->tensors.n);
    for (int t = 0; t < g->tensors.n; t++) {
        for (int d = 0; d < g->tensors.p[t].rank; d++) {
            int64_t size = g->tensors.p[t].dim[d];
            w->dims[t][d] = size > 1 ? ir_atom(w->s, size) : -1;
        }
        ir_atoms_guard(w->s, g->tensors.p[t].rank, w->dims[t]);
    }
    w->frame = HB_ARRAY(w->scratch, ir_frame, g->nodes.n);
    for (int i = 0; i < g->nodes.n; i++) {
        ir_frame *f = &w->frame[i];
        ir_frame_of(w->scratch, g, i, f);
        for (int k = 0; k < f->n; k++)
            f->atom[k] = f->size[k] > 1 ? ir_atom(w->s, f->size[k]) : -1;
    }
}

static bool align_dims(work *w, const ir_frame *f, const ir_frame_dim *fd, int t)
{
    bool changed = false;
    for (int d = 0; d < w->g->tensors.p[t].rank; d++) {
        int letters[IR_MAX_LETTERS];
        for (int k = 0; k < fd[d].n; k++)
            letters[k] = f->atom[fd[d].letter[k]];
        if (fd[d].n > 0 && ir_align(w->s, 1, &w->dims[t][d], fd[d].n, letters)) changed = true;
    }
    return changed;
}

static bool pass(work *w)
{
    const ir_graph *g = w->g;
    bool changed = false;
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        const ir_frame *f = &w->frame[i];
        if (f->flat) {
            int x = n->in[0], y = n->out[0];
            if (ir_align(w->s, g->tensors.p[x].rank, w->dims[x], g->tensors.p[y].rank, w->dims[y]))
                changed = true;
            continue;
        }
        for (int k = 0; k < n->n_in; k++)
            changed = align_dims(w, f, f->in[k], n->in[k]) || changed;
        for (int k = 0; k < n->n_out; k++)
            changed = align_dims(w, f, f->out[k], n->out[k]) || changed;
    }
    for (int i = 0; i < g->updates.n; i++) { // home state = next state
        const ir_update *u = &g->updates.p[i];
        for (int d = 0; d < g->tensors.p[u->tensor].rank; d++)
            if (w->dims[u->tensor][d] >= 0 &&
                ir_align(w->s, 1, &w->dims[u->tensor][d], 1, &w->dims[u->next][d]))
                changed = true;
    }
    return changed;
}

static int class_of(work *w, int leaf)
{
    if (w->cls[leaf] < 0) {
        ir_class *c = &w->f->cls[w->f->n_classes];
        c->size = ir_atom_size(w->s, leaf);
        c->grain = 1;
        w->cls[leaf] = w->f->n_classes++;
    }
    return w->cls[leaf];
}

// Classes in order of first appearance; dims of size 1 share one class.
static void number_classes(work *w)
{
    const ir_graph *g = w->g;
    int n = ir_atoms_count(w->s), unit = -1;
    w->cls = HB_ARRAY(w->scratch, int, n + 1);
    memset(w->cls, -1, sizeof(int) * (size_t)n);
    w->f->cls = HB_ARRAY(w->scratch, ir_class, n + 1); // as many as atoms at most
    w->f->dim = hb_alloc(w->a, sizeof *w->f->dim * (size_t)(g->tensors.n + 1));
    for (int t = 0; t < g->tensors.n; t++) {
        for (int d = 0; d < g->tensors.p[t].rank; d++) {
            ir_dim_factors *df = &w->f->dim[t][d];
            if (w->dims[t][d] < 0) {
                if (unit < 0) {
                    unit = w->f->n_classes++;
                    w->f->cls[unit] = (ir_class){.size = 1, .grain = 1};
                }
                df->n = 1;
                df->cls[0] = unit;
                continue;
            }
            ir_leaves l = {0};
            ir_atom_leaves(w->s, w->dims[t][d], &l);
            hb_assert(l.n <= IR_MAX_FACTORS);
            df->n = l.n;
            for (int i = 0; i < l.n; i++)
                df->cls[i] = class_of(w, l.atom[i]);
        }
    }
    // Letters' leaves that no dim shows (unmatched runs) are classes of their own.
    for (int i = 0; i < g->nodes.n; i++) {
        for (int k = 0; k < w->frame[i].n; k++) {
            ir_leaves l = {0};
            if (w->frame[i].atom[k] >= 0) ir_atom_leaves(w->s, w->frame[i].atom[k], &l);
            for (int j = 0; j < l.n; j++)
                class_of(w, l.atom[j]);
        }
    }
    w->f->cls = hb_copy(w->a, w->f->cls, sizeof *w->f->cls * (size_t)w->f->n_classes);
    for (int t = 0; t < g->tensors.n; t++)
        if (g->tensors.p[t].kind == IR_INPUT && g->tensors.p[t].batch >= 0) {
            const ir_dim_factors *df = &w->f->dim[t][g->tensors.p[t].batch];
            for (int i = 0; i < df->n; i++)
                w->f->cls[df->cls[i]].batch = w->f->cls[df->cls[i]].size > 1;
        }
}

// Places that windows move along, and windows, are whole wherever they come.
static void settle_windows(work *w)
{
    for (int i = 0; i < w->g->nodes.n; i++) {
        const ir_frame *f = &w->frame[i];
        for (int k = 0; k < f->n; k++) {
            ir_leaves l = {0};
            if (f->window[k] && f->atom[k] >= 0) ir_atom_leaves(w->s, f->atom[k], &l);
            for (int j = 0; j < l.n; j++)
                w->f->cls[w->cls[l.atom[j]]].whole = true;
        }
    }
}

// whole: a class that no rule can cut; then whole in all its rules.
static void settle_whole(work *w)
{
    ir_factors *f = w->f;
    for (int c = 0; c < f->n_classes; c++)
        f->cls[c].whole = true;
    for (int i = 0; i < w->g->nodes.n; i++)
        for (int k = 0; k < f->rule[i]->n_factors; k++)
            if (!f->rule[i]->factor[k].whole) f->cls[f->rule[i]->factor[k].cls].whole = false;
}

static void name_class(ir_factors *f, int *used, int c, char letter)
{
    ir_class *k = &f->cls[c];
    if (k->letter[0]) return;
    int *count = &used[letter - 'a'];
    if (++*count == 1)
        snprintf(k->letter, sizeof k->letter, "%c", letter);
    else
        snprintf(k->letter, sizeof k->letter, "%c%d", letter, *count % 100000);
}

static void name_dim(ir_factors *f, int *used, int t, int d, char letter)
{
    const ir_dim_factors *df = &f->dim[t][d];
    if (df->n == 1 && f->cls[df->cls[0]].size > 1) name_class(f, used, df->cls[0], letter);
}

// Letters a person expects: batch b, attention heads h (or g, r), positions t, head width e,
// vocabulary v, channels c, pieces of a split k. The rest are f and their number.
static void name_classes(work *w)
{
    ir_factors *f = w->f;
    const ir_graph *g = w->g;
    int used[26] = {0};
    for (int c = 0; c < f->n_classes; c++) {
        if (f->cls[c].size == 1)
            snprintf(f->cls[c].letter, sizeof f->cls[c].letter, "1");
        else if (f->cls[c].batch && !f->cls[c].whole)
            name_class(f, used, c, 'b');
    }
    for (int c = 0; c < f->n_classes; c++)
        if (f->cls[c].batch) name_class(f, used, c, 'b'); // a part that is never cut
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        if (n->op == IR_OP_sdpa) {
            const ir_dim_factors *h = &f->dim[n->in[0]][1];
            if (h->n == 2) {
                name_class(f, used, h->cls[0], 'g');
                name_class(f, used, h->cls[1], 'r');
            }
            name_dim(f, used, n->in[0], 1, 'h');
            name_dim(f, used, n->in[0], 2, 't');
            name_dim(f, used, n->in[1], 2, 's');
            name_dim(f, used, n->in[0], 3, 'e');
            name_dim(f, used, n->in[2], 3, 'd');
        } else if (n->op == IR_OP_embedding) {
            name_dim(f, used, n->in[0], 0, 'v');
            name_dim(f, used, n->in[0], 1, 'c');
        } else if (n->op == IR_OP_split) {
            const ir_dim_factors *x = &f->dim[n->in[0]][n->attr[0].i];
            if (x->n > 1 && f->cls[x->cls[0]].size == n->n_out) name_class(f, used, x->cls[0], 'k');
        }
    }
    for (int c = 0; c < f->n_classes; c++)
        if (!f->cls[c].letter[0])
            snprintf(f->cls[c].letter, sizeof f->cls[c].letter, "f%u", (unsigned)c % 1000000u);
}

ir_factors *ir_factorize(hb_arena *a, const ir_graph *g)
{
    work w = {.a = a, .scratch = hb_arena_new(), .g = g, .f = HB_NEW(a, ir_factors)};
    make_atoms(&w);
    while (pass(&w))
        ;
    number_classes(&w);
    ir_rule *rule = HB_ARRAY(a, ir_rule, g->nodes.n + 1);
    w.f->rule = HB_ARRAY(a, ir_rule *, g->nodes.n + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        w.f->rule[i] = &rule[i];
        ir_rule_of(g, i, &w.frame[i], w.s, (const ir_dim_atoms *)w.dims, w.cls, &rule[i]);
    }
    settle_whole(&w);
    settle_windows(&w);
    name_classes(&w);
    hb_arena_free(w.scratch);
    w.f->joined = ir_joined(a, g);
    return w.f;
}
