#include "ir/fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct span { // forward nodes of a block
    int from, to;
} span;

typedef struct folding {
    hb_arena *a;
    const ir_graph *g;
    ir_graph *out;
    int n;        // forward nodes
    bool alike;   // blocks count as equal whose inner sizes differ
    bool *leaves; // by tensor: its block's forward nodes are not all that read it
    span *block;  // by block, from 0 on
    int *stand;   // by block: the one that stands for it where a later node reads it; itself: stays
    double *more; // by block that stays
    double *over; // by block that stays: of what goes over from one block of its run to the next
    int *few;     // by block: the one of out that has its place
    int *tensor;  // by tensor of g: of out, -1
} folding;

static bool find_spans(folding *f)
{
    const ir_graph *g = f->g;
    f->block = HB_ARRAY(f->a, span, g->n_blocks + 1);
    while (f->n < g->nodes.n && g->nodes.p[f->n].phase == IR_FORWARD)
        f->n++;
    for (int i = 0; i < f->n; i++) {
        int b = g->nodes.p[i].block - 1;
        if (b < 0) continue;
        if (f->block[b].to == 0) f->block[b].from = i;
        if (f->block[b].to != 0 && f->block[b].to != i) return false; // not in one piece
        f->block[b].to = i + 1;
    }
    return true;
}

static bool same_tensor(const ir_tensor *x, const ir_tensor *y)
{
    return x->kind == y->kind && x->dtype == y->dtype && x->rank == y->rank &&
           memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) == 0;
}

// By tensor: is it made in a block, and read elsewhere in the forward pass?
static void find_leaving(folding *f)
{
    const ir_graph *g = f->g;
    f->leaves = HB_ARRAY(f->a, bool, g->tensors.n + 1);
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < g->nodes.p[i].n_in; k++) {
            int t = g->nodes.p[i].in[k], p = g->tensors.p[t].producer;
            if (p >= 0 && g->nodes.p[p].block != g->nodes.p[i].block) f->leaves[t] = true;
        }
}

// Tensors of two blocks at one place, both of a block alone or of neither.
static bool match(const folding *f, int x, int y)
{
    const ir_tensor *p = &f->g->tensors.p[x], *q = &f->g->tensors.p[y];
    bool inner = f->alike && !f->leaves[x] && !f->leaves[y];
    if (!inner) return same_tensor(p, q);
    return p->kind == q->kind && p->dtype == q->dtype && p->rank == q->rank;
}

static bool same_node(const folding *f, const ir_node *x, const ir_node *y)
{
    const ir_op_info *info = ir_op_of(x->op);
    if (x->op != y->op || x->n_in != y->n_in || x->n_out != y->n_out) return false;
    for (int k = 0; k < info->n_attr; k++) {
        const ir_attr *p = &x->attr[k], *q = &y->attr[k];
        if (strcmp(info->attr[k].name, "key") == 0) continue;
        if (f->alike && strcmp(info->attr[k].name, "shape") == 0) continue;
        if (p->i != q->i || p->f != q->f || p->n != q->n ||
            memcmp(p->v, q->v, sizeof *p->v * (size_t)p->n) != 0)
            return false;
    }
    for (int k = 0; k < x->n_in; k++)
        if (!match(f, x->in[k], y->in[k])) return false;
    for (int k = 0; k < x->n_out; k++)
        if (!match(f, x->out[k], y->out[k])) return false;
    return true;
}

static bool same_block(const folding *f, int x, int y)
{
    const span *p = &f->block[x], *q = &f->block[y];
    if (p->to - p->from != q->to - q->from || p->to != q->from) return false;
    for (int i = 0; i < p->to - p->from; i++)
        if (!same_node(f, &f->g->nodes.p[p->from + i], &f->g->nodes.p[q->from + i])) return false;
    return true;
}

// Elements of what a block makes and of the parameters that it reads.
static double size_of(const folding *f, int block)
{
    const ir_graph *g = f->g;
    double sum = 0;
    for (int i = f->block[block].from; i < f->block[block].to; i++) {
        const ir_node *n = &g->nodes.p[i];
        for (int k = 0; k < n->n_out; k++)
            sum += (double)ir_elements(&g->tensors.p[n->out[k]]);
        for (int k = 0; k < n->n_in; k++)
            if (g->tensors.p[n->in[k]].kind == IR_PARAM)
                sum += (double)ir_elements(&g->tensors.p[n->in[k]]);
    }
    return sum;
}

// Which blocks stay, and for what. False if all do.
static bool choose(folding *f, int keep)
{
    int n = f->g->n_blocks;
    bool any = false;
    f->stand = HB_ARRAY(f->a, int, n + 1);
    f->more = HB_ARRAY(f->a, double, n + 1);
    f->over = HB_ARRAY(f->a, double, n + 1);
    f->few = HB_ARRAY(f->a, int, n + 1);
    for (int from = 0, to, first = 0; from < n; from = to) {
        for (to = from + 1; to < n && same_block(f, to - 1, to);)
            to++;
        bool fold = to - from > 3 * keep;
        any = any || fold;
        double all = 0, left = 0; // sizes: of the run, and of what stays of it
        for (int b = from; b < to && fold; b++) {
            double size = size_of(f, b);
            all += size;
            left += b >= from + keep && b < to - keep ? 0 : size;
        }
        for (int b = from; b < to; b++) {
            bool left_out = fold && b >= from + keep && b < to - keep;
            f->stand[b] = left_out ? from + keep - 1 : b;
            f->more[b] = fold ? all / left - 1 : 0;
            f->over[b] = fold ? (double)(to - from + 1) / (2 * keep + 1) - 1 : 0;
            f->few[b] = first + (fold ? (b - from) * 2 * keep / (to - from) : b - from);
        }
        first += fold ? 2 * keep : to - from;
    }
    return any;
}

static bool stays(const folding *f, int node)
{
    int b = f->g->nodes.p[node].block - 1;
    return b < 0 || f->stand[b] == b;
}

// The tensor that a node that stays reads instead.
static int read_instead(const folding *f, int t)
{
    const ir_tensor *x = &f->g->tensors.p[t];
    if (x->producer < 0 || stays(f, x->producer)) return t;
    int b = f->g->nodes.p[x->producer].block - 1, to = f->stand[b];
    int at = f->block[to].from + x->producer - f->block[b].from;
    return f->g->nodes.p[at].out[x->out];
}

static int take_tensor(folding *f, int t, double more)
{
    if (f->tensor[t] >= 0) return f->tensor[t];
    ir_tensor x = f->g->tensors.p[t];
    x.more = more;
    f->tensor[t] = f->out->tensors.n;
    HB_PUSH(f->out->arena, &f->out->tensors, x);
    return f->tensor[t];
}

// Parameters, constants and buffers that one block alone reads are the block's.
static int *owners(const folding *f)
{
    int *own = HB_ARRAY(f->a, int, f->g->tensors.n + 1); // block + 1; -1: of none or several
    for (int i = 0; i < f->n; i++) {
        const ir_node *n = &f->g->nodes.p[i];
        for (int k = 0; k < n->n_in; k++) {
            int *o = &own[n->in[k]];
            *o = *o == 0 ? (n->block > 0 ? n->block : -1) : *o == n->block ? *o : -1;
        }
    }
    return own;
}

static void take_nodes(folding *f)
{
    const int *own = owners(f);
    int n_blocks = 0, last = -1;
    for (int i = 0; i < f->n; i++) {
        if (!stays(f, i)) continue;
        ir_node n = f->g->nodes.p[i];
        int b = n.block - 1;
        n.more = b >= 0 ? f->more[b] : 0;
        if (b >= 0 && b != last) n_blocks++;
        if (b >= 0) last = b;
        n.block = b >= 0 ? n_blocks : 0;
        for (int k = 0; k < n.n_in; k++) {
            int t = read_instead(f, n.in[k]);
            n.in[k] = take_tensor(f, t, own[t] > 0 ? f->more[own[t] - 1] : 0);
        }
        n.forward = f->out->nodes.n;
        for (int k = 0; k < n.n_out; k++) {
            n.out[k] = take_tensor(f, n.out[k], n.more);
            f->out->tensors.p[n.out[k]].producer = f->out->nodes.n;
        }
        HB_PUSH(f->out->arena, &f->out->nodes, n);
    }
    f->out->n_blocks = n_blocks;
}

// The block of out that a node of the forward or backward pass is of, from 0 on; -1: none.
static int block_of(const ir_graph *g, const ir_node *n)
{
    return g->nodes.p[n->forward].block - 1;
}

enum { NO_READER = -3, SEVERAL = -2, OUTSIDE = -1 };

// By tensor: the one block but the maker's whose nodes of the forward and backward pass read it.
static int *readers(const folding *f)
{
    const ir_graph *g = f->out;
    int *reader = HB_ARRAY(f->a, int, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++)
        reader[t] = NO_READER;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; g->nodes.p[i].phase != IR_UPDATE && k < g->nodes.p[i].n_in; k++) {
            int t = g->nodes.p[i].in[k], p = g->tensors.p[t].producer;
            int to = block_of(g, &g->nodes.p[i]);
            if (p < 0 || block_of(g, &g->nodes.p[p]) == to) continue;
            reader[t] = reader[t] == NO_READER || reader[t] == to ? to : SEVERAL;
        }
    return reader;
}

// What goes over from one block of a run to the next, comes to its first or leaves its last: n
// blocks have n + 1 of these in each pass, and those that are left all stand for as many, those of
// nodes outside too. Else what brings the first one into the state that a block likes best counted
// once, and were worth as much as if many blocks got theirs so.
static void spread_over(folding *f)
{
    ir_graph *g = f->out;
    int n = g->n_blocks, *run = HB_ARRAY(f->a, int, n + 1), *reader = readers(f);
    double *over = HB_ARRAY(f->a, double, n + 1);
    bool *end = HB_ARRAY(f->a, bool, n + 1);
    for (int b = 0, at = 0, runs = 0; b < f->g->n_blocks; b++) {
        runs += b > 0 && !same_block(f, b - 1, b);
        if (f->stand[b] != b) continue;
        over[at] = f->over[b];
        run[at++] = runs;
    }
    for (int b = 0; b < n; b++)
        end[b] = b == 0 || b == n - 1 || run[b] != run[b - 1] || run[b] != run[b + 1];
    for (int t = 0; t < g->tensors.n; t++) {
        if (reader[t] == NO_READER || reader[t] == SEVERAL) continue;
        int from = block_of(g, &g->nodes.p[g->tensors.p[t].producer]), to = reader[t];
        bool both = from != OUTSIDE && to != OUTSIDE,
             next = both && run[from] == run[to] && abs(from - to) == 1,
             ends = (from == OUTSIDE || end[from]) && (to == OUTSIDE || end[to]);
        if (!next && (!ends || (both && run[from] == run[to]))) continue;
        g->tensors.p[t].more = fmax(from == OUTSIDE ? 0 : over[from], to == OUTSIDE ? 0 : over[to]);
    }
}

// Backward nodes count as what they differentiate, updates as their parameter.
static void spread(ir_graph *g)
{
    for (int i = 0; i < g->nodes.n; i++) {
        ir_node *n = &g->nodes.p[i];
        if (n->phase == IR_BACKWARD) n->more = g->nodes.p[n->forward].more;
        // What joins several parameters, as the chain of a norm does, counts once.
        bool of_one = n->n_in == 1 || (n->n_in > 1 && g->tensors.p[n->in[0]].kind == IR_PARAM);
        if (n->phase == IR_UPDATE && of_one) n->more = g->tensors.p[n->in[0]].more;
        for (int k = 0; k < n->n_out; k++)
            g->tensors.p[n->out[k]].more = n->more;
    }
    for (int t = 0; t < g->tensors.n; t++)
        if (g->tensors.p[t].of >= 0) g->tensors.p[t].more = g->tensors.p[g->tensors.p[t].of].more;
}

static bool carry_over(folding *f)
{
    const ir_graph *g = f->g;
    ir_graph *out = f->out;
    if (g->loss < 0 || f->tensor[g->loss] < 0) return false;
    out->loss = f->tensor[g->loss];
    for (int i = 0; i < g->updates.n; i++) { // buffers; the optimizer's come again
        int t = f->tensor[g->updates.p[i].tensor], next = f->tensor[g->updates.p[i].next];
        if (t >= 0 && next >= 0) HB_PUSH(out->arena, &out->updates, (ir_update){t, next});
    }
    int n = 0;
    out->alias = hb_copy(out->arena, g->alias, sizeof *g->alias * (size_t)g->n_alias);
    for (int i = 0; i < g->n_alias; i++) {
        int t = f->tensor[g->alias[i].tensor];
        if (t >= 0) out->alias[n++] = (struct ir_alias){g->alias[i].name, t};
    }
    out->n_alias = n;
    return true;
}

ir_graph *ir_fold(hb_arena *a, const ir_graph *step, int keep, bool alike)
{
    hb_assert(step->recomputed.n == 0 && step->micro_batches < 2 && !step->few_of);
    folding f = {.a = hb_arena_new(), .g = step, .alike = alike};
    ir_graph *out = NULL;
    bool pieces = find_spans(&f);
    if (pieces) find_leaving(&f);
    if (pieces && choose(&f, keep)) {
        f.out = out = ir_empty_like(a, step);
        f.tensor = HB_ARRAY(f.a, int, step->tensors.n + 1);
        memset(f.tensor, -1, sizeof *f.tensor * (size_t)(step->tensors.n + 1));
        take_nodes(&f);
        hb_str why;
        hb_diag *d = hb_diag_new(a);
        out->few_of = hb_copy(a, f.few, sizeof *f.few * (size_t)(step->n_blocks + 1));
        bool made = carry_over(&f) && ir_autodiff(out, d) && ir_optimize(out, d);
        if (made && ir_verify(out, &why)) {
            spread(out);
            spread_over(&f);
        } else {
            out = NULL;
        }
    }
    hb_arena_free(f.a);
    return out;
}
