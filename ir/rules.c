#include "ir/rules.h"

#include <string.h>

// The node's rule under construction. Local factors are numbered as they are first met: a leaf of a
// letter is one local factor wherever it stands; an unmatched leaf is one of its own, and whole.
typedef struct {
    ir_rule *r;
    const ir_atoms *s;
    const int *cls;
    int of_letter[IR_MAX_FRAME_LETTERS][IR_MAX_LEAVES]; // local factor of leaf i of a letter, -1
} builder;

static int new_factor(builder *b, int leaf, bool whole)
{
    ir_rule *r = b->r;
    hb_assert(r->n_factors < IR_MAX_RULE_FACTORS);
    r->factor[r->n_factors].cls = b->cls[leaf];
    r->factor[r->n_factors].size = ir_atom_size(b->s, leaf);
    r->factor[r->n_factors].whole = whole;
    return r->n_factors++;
}

// Local factors of one dim: its leaves matched with those of the letters it is made of.
static void rule_dim(builder *b, const ir_frame *f, const ir_frame_dim *fd, int atom,
                     ir_rule_dim *out)
{
    if (atom < 0 || fd->n == 0) {
        hb_assert(atom < 0 && fd->n == 0);
        out->n = 1;
        out->f[0] = -1;
        return;
    }
    ir_leaves mine = {0}, theirs = {0};
    int letter[IR_MAX_LEAVES], index[IR_MAX_LEAVES], pair[IR_MAX_LEAVES];
    ir_atom_leaves(b->s, atom, &mine);
    for (int k = 0; k < fd->n; k++) {
        int from = theirs.n;
        ir_atom_leaves(b->s, f->atom[fd->letter[k]], &theirs);
        for (int i = from; i < theirs.n; i++) {
            letter[i] = fd->letter[k];
            index[i] = i - from;
        }
    }
    ir_match(b->s, &mine, &theirs, pair);
    hb_assert(mine.n <= IR_MAX_FACTORS);
    out->n = (int8_t)mine.n;
    for (int i = 0; i < mine.n; i++) {
        if (pair[i] < 0) {
            out->f[i] = (int8_t)new_factor(b, mine.atom[i], true);
            continue;
        }
        int l = letter[pair[i]], *local = &b->of_letter[l][index[pair[i]]];
        if (*local < 0) *local = new_factor(b, mine.atom[i], f->whole[l]);
        out->f[i] = (int8_t)*local;
    }
    // A leaf that some operand could not match may not be cut through the others either.
    bool met[IR_MAX_LEAVES] = {false};
    for (int i = 0; i < mine.n; i++)
        if (pair[i] >= 0) met[pair[i]] = true;
    for (int i = 0; i < theirs.n; i++) {
        if (met[i]) continue;
        int *local = &b->of_letter[letter[i]][index[i]];
        if (*local < 0) *local = new_factor(b, theirs.atom[i], true);
        b->r->factor[*local].whole = true;
    }
}

// reshape: operand and output are one sequence of leaves.
static void rule_flat(builder *b, const ir_graph *g, const ir_node *n, const ir_dim_atoms *dims)
{
    const ir_tensor *t[2] = {&g->tensors.p[n->in[0]], &g->tensors.p[n->out[0]]};
    const int *atoms[2] = {dims[n->in[0]], dims[n->out[0]]};
    ir_rule_dim *into[2] = {b->r->in[0], b->r->out[0]};
    ir_leaves leaves[2] = {{0}, {0}};
    int pair[IR_MAX_LEAVES], local[IR_MAX_LEAVES], at = 0;
    for (int side = 0; side < 2; side++)
        for (int d = 0; d < t[side]->rank; d++)
            if (atoms[side][d] >= 0) ir_atom_leaves(b->s, atoms[side][d], &leaves[side]);
    ir_match(b->s, &leaves[1], &leaves[0], pair);
    for (int i = 0; i < leaves[0].n; i++)
        local[i] = new_factor(b, leaves[0].atom[i], true);
    int of_out[IR_MAX_LEAVES];
    for (int i = 0; i < leaves[1].n; i++) {
        if (pair[i] >= 0) {
            of_out[i] = local[pair[i]];
            b->r->factor[of_out[i]].whole = false;
        } else {
            of_out[i] = new_factor(b, leaves[1].atom[i], true);
        }
    }
    for (int side = 0; side < 2; side++) {
        at = 0;
        for (int d = 0; d < t[side]->rank; d++) {
            ir_rule_dim *o = &into[side][d];
            ir_leaves one = {0};
            if (atoms[side][d] >= 0) ir_atom_leaves(b->s, atoms[side][d], &one);
            o->n = (int8_t)(one.n ? one.n : 1);
            o->f[0] = -1;
            for (int i = 0; i < one.n; i++, at++)
                o->f[i] = (int8_t)(side ? of_out[at] : local[at]);
        }
    }
}

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

// Partial sums are floats: a bool or an integer (an index, a mask, a cast that truncates) is none.
static unsigned linear_of(const ir_graph *g, const ir_node *n)
{
    unsigned linear = ir_op_of(n->op)->linear;
    for (int i = 0; i < n->n_in; i++) {
        ir_dtype t = g->tensors.p[n->in[i]].dtype;
        if (!is_float(t)) linear &= ~(1u << i);
    }
    return is_float(g->tensors.p[n->out[0]].dtype) ? linear : 0;
}

// A factor that an operand has and an output with reducer '-' has not leaves no meaning to that
// output when cut (sdpa's value width d and its logsumexp): whole.
static void forbid_unreduced(const ir_graph *g, const ir_node *n, ir_rule *r)
{
    for (int o = 0; o < n->n_out; o++) {
        int rank = g->tensors.p[n->out[o]].rank, dim, pos;
        for (int k = 0; k < r->n_factors && r->reducer[o] == '-'; k++)
            if (!ir_rule_find(r->out[o], rank, k, &dim, &pos)) r->factor[k].whole = true;
    }
}

void ir_rule_of(const ir_graph *g, int node, const ir_frame *f, const ir_atoms *s,
                const ir_dim_atoms *dims, const int *cls, ir_rule *r)
{
    const ir_node *n = &g->nodes.p[node];
    const ir_op_info *info = ir_op_of(n->op);
    builder b = {.r = r, .s = s, .cls = cls};
    memset(r, 0, sizeof *r);
    memset(b.of_letter, -1, sizeof b.of_letter);
    r->n_terms = f->n_terms;
    memcpy(r->term, f->term, sizeof r->term);
    r->linear = linear_of(g, n);
    for (int i = 0; i < n->n_out; i++)
        r->reducer[i] = info->reducers[info->list_out ? 0 : i];
    if (f->flat) {
        rule_flat(&b, g, n, dims);
        return;
    }
    for (int i = 0; i < n->n_in; i++)
        for (int d = 0; d < g->tensors.p[n->in[i]].rank; d++)
            rule_dim(&b, f, &f->in[i][d], dims[n->in[i]][d], &r->in[i][d]);
    for (int i = 0; i < n->n_out; i++)
        for (int d = 0; d < g->tensors.p[n->out[i]].rank; d++)
            rule_dim(&b, f, &f->out[i][d], dims[n->out[i]][d], &r->out[i][d]);
    forbid_unreduced(g, n, r);
}
