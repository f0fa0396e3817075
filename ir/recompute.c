// Recomputation by blocks.
//
// Blocks are found by structure alone: forward nodes are interned by row, attributes and the shapes
// and kinds of what they read and write; a stretch in which they repeat with a period is cut into
// blocks of one period. Of the places where the first block may begin the one is taken where least
// goes over from block to block (between two layers of a transformer: the residual stream).
//
//     forward                                   backward
//     ..│ block 0 │ block 1 │..            ..│ block 1' │ again 0 │ block 0' │..
//            kept: what later blocks read          from block 0's inputs
//
// Blocks at the front are the ones to recompute: when the forward pass ends they hold only their
// inputs, and when the backward pass comes to one of them what the later blocks kept is gone. So n
// blocks take the place of one, and the peak is at the turn of the step or within one block.

#include "ir/variant.h"

#include <string.h>

#include "ir/names.h"

enum { MAX_PERIOD = 4096 };

typedef struct stretch {
    int from, to, len; // nodes [from, to) repeat with period len
} stretch;

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
    HB_VEC(stretch) found;
    HB_VEC(block) blocks;
} finder;

// --- what repeats ---

static void put_tensor(hb_buf *b, const ir_tensor *t)
{
    int64_t head[3] = {t->kind, t->dtype, t->rank};
    hb_putn(b, (const char *)head, sizeof head);
    hb_putn(b, (const char *)t->dim, sizeof *t->dim * (size_t)t->rank);
}

static void shapes(finder *f)
{
    const ir_graph *g = f->g;
    hb_map *map = hb_map_new(f->a);
    f->shape = HB_ARRAY(f->a, int, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        const ir_node *n = &g->nodes.p[i];
        const ir_op_row *row = ir_row(n->op);
        hb_buf b = {.arena = f->a};
        int64_t head[3] = {n->op, n->n_in, n->n_out};
        hb_putn(&b, (const char *)head, sizeof head);
        for (int k = 0; k < row->n_attr; k++) {
            if (strcmp(row->attr[k].name, "key") == 0) continue;
            hb_putn(&b, (const char *)&n->attr[k].i, sizeof n->attr[k].i);
            hb_putn(&b, (const char *)&n->attr[k].f, sizeof n->attr[k].f);
            hb_putn(&b, (const char *)&n->attr[k].n, sizeof n->attr[k].n);
            hb_putn(&b, (const char *)n->attr[k].v, sizeof n->attr[k].v);
        }
        for (int k = 0; k < n->n_in; k++)
            put_tensor(&b, &g->tensors.p[n->in[k]]);
        for (int k = 0; k < n->n_out; k++)
            put_tensor(&b, &g->tensors.p[n->out[k]]);
        hb_str key = hb_done(&b);
        f->shape[i] = hb_map_get(map, key);
        if (f->shape[i] >= 0) continue;
        f->shape[i] = i;
        hb_map_put(map, key, i);
    }
}

static int saved(const stretch *x)
{
    int count = (x->to - x->from) / x->len;
    return count < 2 ? 0 : (count - 1) * x->len;
}

static void find_stretches(finder *f)
{
    for (int len = 1; len <= f->n / 2 && len <= MAX_PERIOD; len++)
        for (int i = 0; i + len < f->n;) {
            stretch x = {i, i, len};
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
static stretch free_part(const finder *f, const stretch *x)
{
    stretch best = {x->from, x->from, x->len};
    for (int i = x->from; i < x->to; i++) {
        stretch y = {i, i, x->len};
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

// A block computes something: products with parameters, attention.
static bool dense(const finder *f, const stretch *x)
{
    for (int i = x->from; i < x->from + x->len; i++) {
        ir_flops_kind k = ir_row(f->g->nodes.p[i].op)->flops_kind;
        if (k == IR_FLOPS_DENSE || k == IR_FLOPS_SDPA) return true;
    }
    return false;
}

static void take(finder *f, const stretch *x)
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

static finder find_blocks(hb_arena *a, const ir_graph *g)
{
    finder f = {.a = a, .g = g};
    while (f.n < g->nodes.n && g->nodes.p[f.n].phase == IR_FORWARD)
        f.n++;
    f.taken = HB_ARRAY(a, bool, f.n + 1);
    shapes(&f);
    crossings(&f);
    find_stretches(&f);
    for (;;) { // most nodes first; of equals the shortest period, which comes first
        int best = -1, most = 0;
        for (int i = 0; i < f.found.n; i++)
            if (saved(&f.found.p[i]) > most) {
                most = saved(&f.found.p[i]);
                best = i;
            }
        if (best < 0) break;
        stretch x = free_part(&f, &f.found.p[best]);
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

int ir_blocks(const ir_graph *step)
{
    hb_arena *a = hb_arena_new();
    int n = find_blocks(a, step).blocks.n;
    hb_arena_free(a);
    return n;
}

// --- computing again ---

typedef struct again {
    const ir_graph *g;
    ir_graph *out;
    ir_names *names;
    int n_forward; // nodes
    bool *kept;    // by tensor: stays from forward to backward in any case
    bool *redo;    // by forward node
    int *copy;     // by tensor: computed again; -1
} again;

static bool inside(const again *r, const block *b, int t)
{
    int p = r->g->tensors.p[t].producer;
    return p >= b->from && p < b->to && !r->kept[t];
}

// What forward nodes behind the block, the loss or the next step read.
static void find_kept(again *r, const block *b)
{
    const ir_graph *g = r->g;
    for (int i = b->to; i < r->n_forward; i++)
        for (int k = 0; k < g->nodes.p[i].n_in; k++) {
            int t = g->nodes.p[i].in[k], p = g->tensors.p[t].producer;
            if (p >= b->from && p < b->to) r->kept[t] = true;
        }
    for (int i = 0; i < g->updates.n; i++)
        r->kept[g->updates.p[i].next] = true;
    if (g->loss >= 0) r->kept[g->loss] = true;
}

// Marks the nodes that the backward pass needs again; the first backward node that does, or -1.
static int find_redo(again *r, const block *b)
{
    const ir_graph *g = r->g;
    int first = -1;
    for (int i = r->n_forward; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.p[i].n_in; k++) {
            if (!inside(r, b, g->nodes.p[i].in[k])) continue;
            r->redo[g->tensors.p[g->nodes.p[i].in[k]].producer] = true;
            if (first < 0) first = i;
        }
    for (int i = b->to - 1; i >= b->from; i--)
        for (int k = 0; r->redo[i] && k < g->nodes.p[i].n_in; k++)
            if (inside(r, b, g->nodes.p[i].in[k]))
                r->redo[g->tensors.p[g->nodes.p[i].in[k]].producer] = true;
    return first;
}

static void redo(again *r, const block *b)
{
    ir_graph *out = r->out;
    for (int i = b->from; i < b->to; i++) {
        if (!r->redo[i]) continue;
        ir_node n = r->g->nodes.p[i];
        n.name = ir_names_take(r->names, hb_fmt(out->arena, "%.*s'again", HB_ARG(n.name)));
        n.phase = IR_BACKWARD;
        n.forward = i;
        n.again = true;
        for (int k = 0; k < n.n_in; k++)
            if (r->copy[n.in[k]] >= 0 && inside(r, b, n.in[k])) n.in[k] = r->copy[n.in[k]];
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
        if (r->copy[n.in[k]] >= 0 && !r->kept[n.in[k]]) n.in[k] = r->copy[n.in[k]];
    for (int k = 0; k < n.n_out; k++)
        out->tensors.p[n.out[k]].producer = out->nodes.n;
    HB_PUSH(out->arena, &out->nodes, n);
}

ir_graph *ir_recompute(hb_arena *a, const ir_graph *step, int n)
{
    finder f = find_blocks(a, step);
    hb_assert(n >= 1 && n <= f.blocks.n && step->recomputed == 0 && step->micro_batches < 2);
    ir_graph *out = HB_NEW(a, ir_graph);
    again r = {.g = step, .out = out, .n_forward = f.n};
    int n_t = step->tensors.n;
    *out = *step;
    out->arena = a;
    out->recomputed = n;
    out->tensors.p = hb_copy(a, step->tensors.p, sizeof *step->tensors.p * (size_t)n_t);
    out->tensors.cap = n_t;
    out->nodes.p = NULL;
    out->nodes.n = out->nodes.cap = 0;
    r.names = ir_names_new(a, step);
    r.kept = HB_ARRAY(a, bool, n_t + 1);
    r.redo = HB_ARRAY(a, bool, f.n + 1);
    r.copy = HB_ARRAY(a, int, n_t + 1);
    memset(r.copy, -1, sizeof(int) * (size_t)(n_t + 1));
    int *before = HB_ARRAY(a, int, n); // by block: the backward node it is computed again before
    for (int b = 0; b < n; b++) {
        find_kept(&r, &f.blocks.p[b]);
        before[b] = find_redo(&r, &f.blocks.p[b]);
    }
    for (int i = 0; i < step->nodes.n; i++) {
        for (int b = n - 1; b >= 0; b--)
            if (before[b] == i) redo(&r, &f.blocks.p[b]);
        place(&r, step->nodes.p[i]);
    }
    return out;
}
