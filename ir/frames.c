#include "ir/frames.h"

#include "ir/shapes.h"

#include <string.h>

static int add_letter(ir_frame *f, int64_t size, bool whole)
{
    hb_assert(f->n < IR_MAX_FRAME_LETTERS);
    f->size[f->n] = size;
    f->whole[f->n] = whole;
    return f->n++;
}

static void put(ir_frame_dim *d, const ir_frame *f, int letter)
{
    if (letter < 0 || f->size[letter] == 1) return;
    hb_assert(d->n < IR_MAX_LETTERS);
    d->letter[d->n++] = (int8_t)letter;
}

static const ir_tensor *operand(const ir_graph *g, const ir_node *n, int i)
{
    return &g->tensors.p[n->in[i]];
}

// --- formulas ---

static void frame_operand(ir_frame *f, const ir_foperand *o, const ir_tensor *t,
                          const ir_binding *b, const int *star, const int *letter,
                          ir_frame_dim *dims)
{
    int m = o->star ? t->rank - o->n : 0;
    for (int d = 0; d < m; d++)
        if (t->dim[d] != 1) // size 1 broadcasts
            put(&dims[d], f, star[b->n_star - m + d]);
    for (int d = 0; d < o->n; d++)
        for (int k = 0; k < o->dim[d].n && t->dim[m + d] != 1; k++) // an optional mask's may be 1
            put(&dims[m + d], f, letter[o->dim[d].letter[k] - 'a']);
}

static void frame_formula(hb_arena *a, const ir_graph *g, const ir_node *n, ir_frame *f)
{
    const ir_formula *fm = ir_node_formula(n);
    ir_binding b;
    hb_str why = {0};
    if (!ir_bind(g, n, &b, a, &why)) hb_assert(false && "a verified node binds");
    int star[IR_MAX_RANK], letter[26];
    for (int d = 0; d < b.n_star; d++)
        star[d] = add_letter(f, b.star[d], false);
    for (int k = 0; k < 26; k++)
        letter[k] = b.size[k] ? add_letter(f, b.size[k], fm->whole >> k & 1) : -1;
    const ir_formulas *fs = ir_row_formulas(n->op);
    for (int k = 0; k < fs->n_windows; k++) {
        f->window[letter[fs->window[k].places - 'a']] = true;
        f->window[letter[fs->window[k].at - 'a']] = true;
        if (fs->window[k].size != '.') f->window[letter[fs->window[k].size - 'a']] = true;
    }
    f->n_terms = fm->n_terms;
    for (int i = 0; i < n->n_in; i++) {
        f->term[i] = (int8_t)fm->in[i].term;
        frame_operand(f, &fm->in[i], operand(g, n, i), &b, star, letter, f->in[i]);
    }
    for (int i = 0; i < n->n_out; i++)
        frame_operand(f, &fm->out[i], &g->tensors.p[n->out[i]], &b, star, letter, f->out[i]);
}

// --- views ---

// One letter a dim of t; letter[d] receives it (-1 for `except`).
static void letters_of(ir_frame *f, const ir_tensor *t, int except, int *letter)
{
    for (int d = 0; d < t->rank; d++)
        letter[d] = d == except ? -1 : add_letter(f, t->dim[d], false);
}

// Every dim but `except` of a tensor of the same rank carries the same letter.
static void same_letters(const ir_frame *f, int rank, int except, const int *letter,
                         ir_frame_dim *dims)
{
    for (int d = 0; d < rank; d++)
        if (d != except) put(&dims[d], f, letter[d]);
}

// A long dim holds short ones one after the other (split, concat, slice, pad). If the pieces are
// equal and aligned, long = (count, piece): the piece may be cut, the count is whole. Otherwise all
// of these dims are whole. Returns the piece's letter, or -1.
static int pieces(ir_frame *f, int64_t size, int64_t piece, bool aligned, ir_frame_dim *big)
{
    if (!aligned || size % piece != 0) {
        put(big, f, add_letter(f, size, true));
        return -1;
    }
    put(big, f, add_letter(f, size / piece, true));
    int letter = add_letter(f, piece, false);
    put(big, f, letter);
    return letter;
}

static void put_piece(ir_frame *f, int letter, int64_t size, ir_frame_dim *dim)
{
    put(dim, f, letter >= 0 ? letter : add_letter(f, size, true));
}

static void frame_split(const ir_graph *g, const ir_node *n, ir_frame *f)
{
    const ir_tensor *x = operand(g, n, 0);
    int dim = (int)n->attr[0].i, letter[IR_MAX_RANK];
    bool equal = true;
    for (int i = 1; i < n->n_out; i++)
        equal = equal && n->attr[1].v[i] == n->attr[1].v[0];
    letters_of(f, x, dim, letter);
    same_letters(f, x->rank, dim, letter, f->in[0]);
    int piece = pieces(f, x->dim[dim], n->attr[1].v[0], equal, &f->in[0][dim]);
    for (int i = 0; i < n->n_out; i++) {
        same_letters(f, x->rank, dim, letter, f->out[i]);
        put_piece(f, piece, n->attr[1].v[i], &f->out[i][dim]);
    }
}

static void frame_concat(const ir_graph *g, const ir_node *n, ir_frame *f)
{
    const ir_tensor *y = &g->tensors.p[n->out[0]];
    int dim = (int)n->attr[0].i, letter[IR_MAX_RANK];
    int64_t first = operand(g, n, 0)->dim[dim];
    bool equal = true;
    for (int i = 1; i < n->n_in; i++)
        equal = equal && operand(g, n, i)->dim[dim] == first;
    letters_of(f, y, dim, letter);
    same_letters(f, y->rank, dim, letter, f->out[0]);
    int piece = pieces(f, y->dim[dim], first, equal, &f->out[0][dim]);
    for (int i = 0; i < n->n_in; i++) {
        same_letters(f, y->rank, dim, letter, f->in[i]);
        put_piece(f, piece, operand(g, n, i)->dim[dim], &f->in[i][dim]);
    }
}

// slice: the operand is the long one; pad: the output.
static void frame_slice(const ir_graph *g, const ir_node *n, ir_frame *f, bool pad)
{
    const ir_tensor *x = operand(g, n, 0), *y = &g->tensors.p[n->out[0]];
    const ir_tensor *big = pad ? y : x, *small = pad ? x : y;
    int dim = (int)n->attr[0].i, letter[IR_MAX_RANK];
    int64_t start = n->attr[1].i;
    letters_of(f, x, dim, letter);
    same_letters(f, x->rank, dim, letter, f->in[0]);
    same_letters(f, x->rank, dim, letter, f->out[0]);
    int piece = pieces(f, big->dim[dim], small->dim[dim], start % small->dim[dim] == 0,
                       pad ? &f->out[0][dim] : &f->in[0][dim]);
    put_piece(f, piece, small->dim[dim], pad ? &f->in[0][dim] : &f->out[0][dim]);
}

static void frame_sum(const ir_graph *g, const ir_node *n, ir_frame *f)
{
    const ir_tensor *x = operand(g, n, 0);
    int letter[IR_MAX_RANK], o = 0;
    bool gone[IR_MAX_RANK] = {false};
    for (int i = 0; i < n->attr[0].n; i++)
        gone[n->attr[0].v[i]] = true;
    letters_of(f, x, -1, letter);
    same_letters(f, x->rank, -1, letter, f->in[0]);
    for (int d = 0; d < x->rank; d++) {
        if (!gone[d])
            put(&f->out[0][o++], f, letter[d]);
        else if (n->attr[1].i)
            o++; // keepdim: size 1
    }
}

static void frame_view(const ir_graph *g, const ir_node *n, ir_frame *f)
{
    int letter[IR_MAX_RANK];
    const ir_tensor *y = &g->tensors.p[n->out[0]];
    f->n_terms = 1;
    if (n->op == IR_OP_reshape) {
        f->flat = true;
    } else if (n->op == IR_OP_split) {
        frame_split(g, n, f);
    } else if (n->op == IR_OP_concat) {
        frame_concat(g, n, f);
    } else if (n->op == IR_OP_slice || n->op == IR_OP_pad) {
        frame_slice(g, n, f, n->op == IR_OP_pad);
    } else if (n->op == IR_OP_sum) {
        frame_sum(g, n, f);
    } else if (n->op == IR_OP_transpose) {
        letters_of(f, operand(g, n, 0), -1, letter);
        same_letters(f, y->rank, -1, letter, f->in[0]);
        for (int d = 0; d < y->rank; d++)
            put(&f->out[0][d], f, letter[n->attr[0].v[d]]);
    } else if (n->op == IR_OP_expand) {
        const ir_tensor *x = operand(g, n, 0);
        letters_of(f, y, -1, letter);
        same_letters(f, y->rank, -1, letter, f->out[0]);
        for (int d = 0; d < x->rank; d++)
            if (x->dim[d] != 1) put(&f->in[0][d], f, letter[y->rank - x->rank + d]);
    } else {
        hb_assert(n->op == IR_OP_full || n->op == IR_OP_recv);
        letters_of(f, y, -1, letter);
        same_letters(f, y->rank, -1, letter, f->out[0]);
    }
}

void ir_frame_of(hb_arena *a, const ir_graph *g, int node, ir_frame *f)
{
    const ir_node *n = &g->nodes.p[node];
    memset(f, 0, sizeof *f);
    if (ir_row_formulas(n->op)->rule)
        frame_view(g, n, f);
    else
        frame_formula(a, g, n, f);
}
