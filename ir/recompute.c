// Recomputation by blocks.
//
// Blocks are found by structure alone: forward nodes are interned by op, attributes and the shapes
// and kinds of what they read and write; a run in which they repeat with a period is cut into
// blocks of one period. Of the places where the first block may begin the one is taken where least
// goes over from block to block (between two layers of a transformer: the residual stream). Layers
// may differ in sizes: where more nodes repeat without them than with them, blocks are the former.
//
//     forward                                   backward
//     ..│ block 0 │ block 1 │..            ..│ block 1' │ again 0 │ block 0' │..
//            kept: what later blocks read          from block 0's inputs
//
// When the forward pass ends a recomputed block holds only its inputs; when the backward pass comes
// to one, what the later blocks kept is gone. So any number of blocks take the place of the
// largest, and the peak is at the turn of the step or within one block.

#include "ir/variant.h"

#include <string.h>

#include "ir/names.h"

enum { MAX_PERIOD = 4096 };

typedef struct run {
    int from, to, len; // nodes [from, to) repeat with period len
} run;

typedef struct block {
    int from, to;
} block;

typedef struct finder {
    hb_arena *a;
    const ir_graph *g;
    int n;           // forward nodes
    int *shape;      // by forward node
    int64_t *across; // by forward node: bytes made before it that forward nodes from it on read
    bool *taken;
    HB_VEC(run) found;
    HB_VEC(block) blocks;
} finder;

// --- what repeats ---

static void put_tensor(hb_buf *b, const ir_tensor *t, bool sizes)
{
    bool given = !sizes && t->kind == IR_INPUT; // the first layer may read the input itself
    int64_t head[3] = {given ? IR_VALUE : t->kind, t->dtype, t->rank};
    hb_putn(b, (const char *)head, sizeof head);
    if (sizes) hb_putn(b, (const char *)t->dim, sizeof *t->dim * (size_t)t->rank);
}

// sizes: false where layers that differ in them, and in attributes, count as equal.
static void shapes(finder *f, bool sizes)
{
    const ir_graph *g = f->g;
    hb_map *map = hb_map_new(f->a);
    f->shape = HB_ARRAY(f->a, int, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        const ir_node *n = &g->nodes.p[i];
        const ir_op_info *info = ir_op_of(n->op);
        hb_buf b = {.arena = f->a};
        int64_t head[3] = {n->op, n->n_in, n->n_out};
        hb_putn(&b, (const char *)head, sizeof head);
        for (int k = 0; sizes && k < info->n_attr; k++) {
            if (strcmp(info->attr[k].name, "key") == 0) continue;
            hb_putn(&b, (const char *)&n->attr[k].i, sizeof n->attr[k].i);
            hb_putn(&b, (const char *)&n->attr[k].f, sizeof n->attr[k].f);
            hb_putn(&b, (const char *)&n->attr[k].n, sizeof n->attr[k].n);
            hb_putn(&b, (const char *)n->attr[k].v, sizeof n->attr[k].v);
        }
        for (int k = 0; k < n->n_in; k++)
            put_tensor(&b, &g->tensors.p[n->in[k]], sizes);
        for (int k = 0; k < n->n_out; k++)
            put_tensor(&b, &g->tensors.p[n->out[k]], sizes);
        hb_str key = hb_done(&b);
        f->shape[i] = hb_map_get(map, key);
        if (f->shape[i] >= 0) continue;
        f->shape[i] = i;
        hb_map_put(map, key, i);
    }
}

static int saved(const run *x)
{
    int count = (x->to - x->from) / x->len;
    return count < 2 ? 0 : (count - 1) * x->len;
}

static void find_runs(finder *f)
{
    for (int len = 1; len <= f->n / 2 && len <= MAX_PERIOD; len++)
        for (int i = 0; i + len < f->n;) {
            run x = {i, i, len};
            while (i + len < f->n && f->shape[i] == f->shape[i + len])
                i++;
            x.to = i + len;
            if (i == x.from)
                i++;
            else if (saved(&x) > 0)
                HB_PUSH(f->a, &f->found, x);
        }
}

// The largest part that no blocks have yet.
static run free_part(const finder *f, const run *x)
{
    run best = {x->from, x->from, x->len};
    for (int i = x->from; i < x->to; i++) {
        run y = {i, i, x->len};
        while (i < x->to && !f->taken[i])
            i++;
        y.to = i;
        if (y.to - y.from > best.to - best.from) best = y;
    }
    return best;
}

// --- where a block begins ---

static void crossings(finder *f)
{
    const ir_graph *g = f->g;
    int *last = HB_ARRAY(f->a, int, g->tensors.n + 1); // forward node that reads it last
    f->across = HB_ARRAY(f->a, int64_t, f->n + 2);
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < g->nodes.p[i].n_in; k++)
            last[g->nodes.p[i].in[k]] = i;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *x = &g->tensors.p[t];
        if (x->producer < 0 || x->producer >= f->n || last[t] <= x->producer) continue;
        int64_t bytes = ir_elements(x) * ir_dtype_bytes(x->dtype);
        f->across[x->producer + 1] += bytes;
        f->across[last[t] + 1] -= bytes;
    }
    for (int i = 1; i <= f->n; i++)
        f->across[i] += f->across[i - 1];
}

// A block computes something: matmuls with parameters, attention.
static bool dense(const finder *f, const run *x)
{
    for (int i = x->from; i < x->from + x->len; i++)
        if (ir_is_dense(f->g->nodes.p[i].op)) return true;
    return false;
}

static void take(finder *f, const run *x)
{
    int count = (x->to - x->from) / x->len, begin = x->from;
    int64_t least = INT64_MAX;
    for (int from = x->from; from + count * x->len <= x->to; from++) {
        int64_t bytes = 0;
        for (int k = 0; k <= count; k++)
            bytes += f->across[from + k * x->len];
        if (bytes >= least) continue;
        least = bytes;
        begin = from;
    }
    for (int k = 0; k < count; k++)
        HB_PUSH(f->a, &f->blocks, (block){begin + k * x->len, begin + (k + 1) * x->len});
    for (int i = begin; i < begin + count * x->len; i++)
        f->taken[i] = true;
}

// Forward nodes in blocks.
static int covered(const finder *f)
{
    int n = 0;
    for (int b = 0; b < f->blocks.n; b++)
        n += f->blocks.p[b].to - f->blocks.p[b].from;
    return n;
}

static finder find_blocks(hb_arena *a, const ir_graph *g, bool sizes)
{
    finder f = {.a = a, .g = g};
    while (f.n < g->nodes.n && g->nodes.p[f.n].phase == IR_FORWARD)
        f.n++;
    f.taken = HB_ARRAY(a, bool, f.n + 1);
    shapes(&f, sizes);
    crossings(&f);
    find_runs(&f);
    for (;;) { // most nodes first; of equals the shortest period, which comes first
        int best = -1, most = 0;
        for (int i = 0; i < f.found.n; i++)
            if (saved(&f.found.p[i]) > most) {
                most = saved(&f.found.p[i]);
                best = i;
            }
        if (best < 0) break;
        run x = free_part(&f, &f.found.p[best]);
        if (saved(&x) < most) {
            f.found.p[best] = x;
            continue;
        }
        if (dense(&f, &x)) take(&f, &x);
        f.found.p[best].to = f.found.p[best].from;
    }
    for (int i = 1; i < f.blocks.n; i++) // in order of the forward pass
        for (int k = i; k > 0 && f.blocks.p[k].from < f.blocks.p[k - 1].from; k--) {
            block x = f.blocks.p[k];
            f.blocks.p[k] = f.blocks.p[k - 1];
            f.blocks.p[k - 1] = x;
        }
    return f;
}

int ir_blocks(ir_graph *step)
{
    hb_assert(step->micro_batches < 2 && step->recomputed.n == 0);
    hb_arena *a = hb_arena_new();
    // Blocks of unlike sizes where there are more of them than of equal ones.
    finder f = find_blocks(a, step, true), loose = find_blocks(a, step, false);
    if (covered(&loose) > covered(&f)) f = loose;
    for (int b = 0; b < f.blocks.n; b++)
        for (int i = f.blocks.p[b].from; i < f.blocks.p[b].to; i++)
            step->nodes.p[i].block = b + 1;
    step->n_blocks = f.blocks.n;
    hb_arena_free(a);
    return step->n_blocks;
}

// --- what a block keeps, and what it would do again ---

// What no recomputation frees: what forward nodes of other blocks, the loss or the next step read.
static void drop_kept(const ir_graph *g, bool *inside)
{
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        for (int k = 0; n->phase == IR_FORWARD && k < n->n_in; k++) {
            int p = g->tensors.p[n->in[k]].producer;
            if (p >= 0 && g->nodes.p[p].block != n->block) inside[n->in[k]] = false;
        }
    }
    for (int i = 0; i < g->updates.n; i++)
        inside[g->updates.p[i].next] = false;
    if (g->loss >= 0) inside[g->loss] = false;
}

ir_again ir_again_of(hb_arena *a, const ir_graph *g)
{
    ir_again x = {HB_ARRAY(a, bool, g->tensors.n + 1), HB_ARRAY(a, bool, g->tensors.n + 1),
                  HB_ARRAY(a, bool, g->nodes.n + 1)};
    for (int t = 0; t < g->tensors.n; t++) {
        int p = g->tensors.p[t].producer;
        x.inside[t] = p >= 0 && g->nodes.p[p].phase == IR_FORWARD && g->nodes.p[p].block > 0;
    }
    drop_kept(g, x.inside);
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        for (int k = 0; n->phase != IR_FORWARD && !n->again && k < n->n_in; k++) {
            int p = g->tensors.p[n->in[k]].producer;
            if (p < 0 || !(x.inside[n->in[k]] || g->nodes.p[p].again)) continue;
            x.freed[n->in[k]] = x.redo[p] = true;
        }
    }
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const ir_node *n = &g->nodes.p[i];
        x.redo[i] = x.redo[i] || n->again;
        for (int k = 0; x.redo[i] && !n->again && k < n->n_in; k++)
            if (x.inside[n->in[k]]) x.redo[g->tensors.p[n->in[k]].producer] = true;
    }
    return x;
}

// --- computing again ---

typedef struct again {
    const ir_graph *g;
    ir_graph *out;
    ir_names *names;
    ir_again of;
    int *copy; // by tensor: computed again; -1
} again;

static void redo(again *r, int b)
{
    ir_graph *out = r->out;
    for (int i = 0; i < r->g->nodes.n && r->g->nodes.p[i].phase == IR_FORWARD; i++) {
        if (!r->of.redo[i] || r->g->nodes.p[i].block != b + 1) continue;
        ir_node n = r->g->nodes.p[i];
        n.name = ir_names_take(r->names, hb_fmt(out->arena, "%.*s'again", HB_ARG(n.name)));
        n.phase = IR_BACKWARD;
        n.forward = i;
        n.again = true;
        for (int k = 0; k < n.n_in; k++)
            if (r->of.inside[n.in[k]]) n.in[k] = r->copy[n.in[k]];
        for (int k = 0; k < n.n_out; k++) {
            ir_tensor x = r->g->tensors.p[n.out[k]];
            x.producer = out->nodes.n;
            x.name =
                k == 0 && hb_str_eq(x.name, r->g->nodes.p[i].name)
                    ? n.name
                    : ir_names_take(r->names, hb_fmt(out->arena, "%.*s'again", HB_ARG(x.name)));
            HB_PUSH(out->arena, &out->tensors, x);
            r->copy[n.out[k]] = out->tensors.n - 1;
            n.out[k] = out->tensors.n - 1;
        }
        HB_PUSH(out->arena, &out->nodes, n);
    }
}

static void place(again *r, ir_node n)
{
    ir_graph *out = r->out;
    for (int k = 0; n.phase != IR_FORWARD && k < n.n_in; k++)
        if (r->copy[n.in[k]] >= 0 && r->of.inside[n.in[k]]) n.in[k] = r->copy[n.in[k]];
    for (int k = 0; k < n.n_out; k++)
        out->tensors.p[n.out[k]].producer = out->nodes.n;
    HB_PUSH(out->arena, &out->nodes, n);
}

// The backward node that reads first what block b does not keep; -1: none does.
static int first_reader(const again *r, int b)
{
    const ir_graph *g = r->g;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; g->nodes.p[i].phase != IR_FORWARD && k < g->nodes.p[i].n_in; k++) {
            int t = g->nodes.p[i].in[k];
            if (r->of.freed[t] && g->nodes.p[g->tensors.p[t].producer].block == b + 1) return i;
        }
    return -1;
}

ir_graph *ir_recompute(hb_arena *a, const ir_graph *step, const bool *chosen)
{
    hb_assert(step->recomputed.n == 0 && step->micro_batches < 2);
    ir_graph *out = HB_NEW(a, ir_graph);
    again r = {.g = step, .out = out, .of = ir_again_of(a, step)};
    int n_t = step->tensors.n;
    *out = *step;
    out->arena = a;
    out->tensors.p = hb_copy(a, step->tensors.p, sizeof *step->tensors.p * (size_t)n_t);
    out->tensors.cap = n_t;
    out->nodes.p = NULL;
    out->nodes.n = out->nodes.cap = 0;
    r.names = ir_names_new(a, step);
    r.copy = HB_ARRAY(a, int, n_t + 1);
    memset(r.copy, -1, sizeof(int) * (size_t)(n_t + 1));
    int *before = HB_ARRAY(a, int, step->n_blocks + 1); // by block: where it is computed again
    for (int b = 0; b < step->n_blocks; b++) {
        before[b] = chosen[b] ? first_reader(&r, b) : -1;
        if (chosen[b]) HB_PUSH(a, &out->recomputed, b);
    }
    for (int i = 0; i < step->nodes.n; i++) {
        for (int b = step->n_blocks - 1; b >= 0; b--)
            if (before[b] == i) redo(&r, b);
        place(&r, step->nodes.p[i]);
    }
    return out;
}
