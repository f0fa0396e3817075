// Attention wants heads before positions, products leave positions before heads; between them stand
// transposes of [b, s, h, e] and [b, h, s, e], a split of the packed query, key and value, a concat
// of their gradients. Attention kernels take strides, so these calls can go if memory allows: what
// is left in another layout, or in another place, must stay there until its last reader.

#include "cuda/cuda_fuse.h"

// The role in attention of operand (or output) `slot` of a call; -1 if it has none.
static int role_of(const hap_op_call *op, bool out, int slot)
{
    static const int in_bwd[] = {CUDA_DY, CUDA_Q, CUDA_K, CUDA_V, CUDA_Y},
                     out_bwd[] = {CUDA_DQ, CUDA_DK, CUDA_DV}, in[] = {CUDA_Q, CUDA_K, CUDA_V};
    if (op->op == HAP_OP_sdpa) return out ? (slot == 0 ? CUDA_Y : -1) : slot < 3 ? in[slot] : -1;
    if (op->op != HAP_OP_sdpa_bwd) return -1;
    return out ? (slot < 3 ? out_bwd[slot] : -1) : slot < 5 ? in_bwd[slot] : -1;
}

static bool is_attention(const cuda_call *e)
{
    return e->kind == CUDA_OP && (e->op.op == HAP_OP_sdpa || e->op.op == HAP_OP_sdpa_bwd);
}

// The strides of a call's operand, to be set.
static cuda_head_at *at_of(hap_rank *r, cuda_record *c, int call, int role)
{
    cuda_call *e = &c->call[call];
    if (!e->at) {
        cuda_head_at at[CUDA_HEAD_ROLES] = {{0}};
        for (int out = 0; out < 2; out++)
            for (int k = 0; k < (out ? e->op.n_out : e->op.n_in); k++) {
                int own = role_of(&e->op, out, k);
                if (own >= 0) at[own] = cuda_heads_dense(out ? e->op.out[k] : e->op.in[k]);
            }
        e->at = cuda_record_own(r, c, at, sizeof at);
    }
    return &e->at[role];
}

// Heads of t, [b, h, s, e], that lie as [b, s, h, e] in rows of ld elements.
static cuda_head_at by_position(const hap_tensor *t, int64_t ld)
{
    return (cuda_head_at){t->local[2] * ld, t->local[3], ld};
}

static bool swaps_heads(const cuda_call *e)
{
    if (e->kind != CUDA_OP || e->op.op != HAP_OP_transpose) return false;
    hap_ints p = e->op.attr[0].v;
    return p.n == 4 && p.v[0] == 0 && p.v[1] == 2 && p.v[2] == 1 && p.v[3] == 3;
}

// Every reader of t from call `from` on, until t is written again, is attention that knows t as a
// dense operand with a role. *last is the last of them.
static bool only_attention_reads(const cuda_record *c, int from, const hap_tensor *t, int *last)
{
    int end = cuda_next_write(c, from, t);
    *last = from;
    for (int k = from + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!cuda_reads(c, k, t)) continue;
        if (!is_attention(e)) return false;
        for (int i = 0; i < e->op.n_in; i++)
            if (e->op.in[i] && cuda_meets(e->op.in[i], t) &&
                (!cuda_same_place(e->op.in[i], t) || role_of(&e->op, false, i) < 0))
                return false;
        *last = k;
    }
    return true;
}

// Attention in calls from..last that reads t finds it at `data`, with rows of ld elements.
static void retarget(hap_rank *r, cuda_record *c, int from, int last, const hap_tensor *t,
                     const hap_tensor *to, int64_t ld)
{
    for (int k = from; k <= last; k++) {
        cuda_call *e = &c->call[k];
        if (!is_attention(e)) continue;
        for (int i = 0; i < e->op.n_in; i++) {
            if (!e->op.in[i] || !cuda_same_place(e->op.in[i], t)) continue;
            *at_of(r, c, k, role_of(&e->op, false, i)) = by_position(t, ld);
            e->op.in[i] = cuda_retyped(r, c, e->op.in[i], to);
        }
    }
}

static bool unwritten(const cuda_record *c, int from, int to, const hap_tensor *t)
{
    for (int k = from; k <= to; k++)
        if (cuda_writes(c, k, t)) return false;
    return !cuda_under_way(c, from, to, t);
}

// The output of op `call` that is x, dense; NULL if it writes x otherwise.
static hap_tensor **output_at(cuda_call *e, const hap_tensor *x)
{
    hap_tensor **found = NULL;
    if (e->kind != CUDA_OP || e->at) return NULL;
    for (int i = 0; i < e->op.n_out; i++) {
        if (!cuda_meets(e->op.out[i], x)) continue;
        if (found || !cuda_same_place(e->op.out[i], x)) return NULL;
        found = &e->op.out[i];
    }
    for (int i = 0; i < e->op.n_in; i++) // in place
        if (e->op.in[i] && cuda_meets(e->op.in[i], x)) return NULL;
    return found;
}

// t = x' at call i is read by attention alone. Who writes x writes it in t's place; or else the
// readers go to x's place.
static bool operand_stays(hap_rank *r, cuda_record *c, int i)
{
    hap_tensor *x = c->call[i].op.in[0], *t = c->call[i].op.out[0];
    int last, from = cuda_last_write(c, i, x);
    if (x->type != t->type || cuda_meets(x, t) || cuda_outlives(r, x) || cuda_outlives(r, t) ||
        !only_attention_reads(c, i, t, &last) || last == i)
        return false;
    int64_t ld = t->local[1] * t->local[3];
    hap_tensor **out = from < 0 ? NULL : output_at(&c->call[from], x);
    bool alone = out && cuda_untouched(c, from, i - 1, t) && unwritten(c, from + 1, i, x);
    int end = cuda_next_write(c, i, x);
    for (int k = from + 1; alone && k <= end && k < c->n; k++)
        alone = k == i || !cuda_reads(c, k, x);
    if (alone) {
        *out = cuda_retyped(r, c, *out, t);
        retarget(r, c, i, last, t, t, ld);
    } else if (unwritten(c, i + 1, last, x)) {
        retarget(r, c, i, last, t, x, ld);
    } else {
        return false;
    }
    c->call[i].kind = CUDA_DONE;
    return true;
}

// Attention's output `slot` of call i, t, is read by one transpose u = t' and else by attention. It
// is written as u is laid out: in t's place, where u's readers look for it, or in u's.
static bool output_stays(hap_rank *r, cuda_record *c, int i, int slot)
{
    hap_tensor *t = c->call[i].op.out[slot];
    int at = -1, end = cuda_next_write(c, i, t), last = i, read;
    if (cuda_outlives(r, t)) return false;
    for (int k = i + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!cuda_reads(c, k, t)) continue;
        if (at < 0 && swaps_heads(e) && cuda_same_place(e->op.in[0], t)) {
            at = k;
            continue;
        }
        if (!is_attention(e)) return false;
        for (int o = 0; o < e->op.n_in; o++)
            if (e->op.in[o] && cuda_meets(e->op.in[o], t) &&
                (!cuda_same_place(e->op.in[o], t) || role_of(&e->op, false, o) < 0))
                return false;
        last = k;
    }
    if (at < 0) return false;
    hap_tensor *u = c->call[at].op.out[0];
    int64_t ld = t->local[1] * t->local[3];
    if (u->type != t->type || cuda_meets(u, t) || cuda_outlives(r, u)) return false;
    if (cuda_ops_read(c, at, u, &read) && unwritten(c, i + 1, read, t)) {
        cuda_redirect(r, c, at + 1, read, u, t);
        u = t;
    } else if (!cuda_untouched(c, i, at - 1, u) || !unwritten(c, at + 1, last, u)) {
        return false;
    }
    c->call[at].kind = CUDA_DONE;
    retarget(r, c, i + 1, last, t, u, ld);
    *at_of(r, c, i, role_of(&c->call[i].op, true, slot)) = by_position(t, ld);
    c->call[i].op.out[slot] = cuda_retyped(r, c, t, u);
    return true;
}

// All of the last dim on this rank, and of the dims before it the same in all tensors.
static bool whole_rows(const hap_tensor *t)
{
    return t->rank > 0 && t->dim[t->rank - 1].axis < 0 && t->elements > 0;
}

// The last dim of the packed tensor, in parts; attr 0 is the dim.
static bool packs_last(const hap_op_call *op, const hap_tensor *packed, hap_tensor *const *part,
                       int n)
{
    int64_t dim = op->attr[0].i, cols = 0, rows = cuda_entries(packed, 0, packed->rank - 1);
    if ((dim < 0 ? dim + packed->rank : dim) != packed->rank - 1 || !whole_rows(packed))
        return false;
    for (int k = 0; k < n; k++) {
        if (!whole_rows(part[k]) || part[k]->type != packed->type ||
            cuda_entries(part[k], 0, part[k]->rank - 1) != rows)
            return false;
        cols += part[k]->local[part[k]->rank - 1];
    }
    return cols == packed->local[packed->rank - 1];
}

// Attention whose output is part of a concat writes it there.
static bool concat_goes(hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *op = &c->call[i].op;
    hap_tensor *z = op->out[0];
    int from[HAP_MAX_IN], slot[HAP_MAX_IN];
    if (!packs_last(op, z, op->in, op->n_in)) return false;
    for (int k = 0; k < op->n_in; k++) {
        const hap_tensor *part = op->in[k];
        int w = from[k] = cuda_last_write(c, i, part);
        if (w < 0 || !is_attention(&c->call[w]) || !c->call[w].at || cuda_outlives(r, part))
            return false;
        const hap_op_call *writer = &c->call[w].op;
        slot[k] = -1;
        for (int o = 0; o < writer->n_out; o++)
            if (cuda_same_place(writer->out[o], part) && role_of(writer, true, o) >= 0) slot[k] = o;
        if (slot[k] < 0) return false;
        const hap_tensor *heads = writer->out[slot[k]];
        cuda_head_at at = c->call[w].at[role_of(writer, true, slot[k])];
        int64_t width = heads->local[1] * heads->local[3];
        if (at.s != width || at.h != heads->local[3] || at.b != heads->local[2] * width ||
            part->local[part->rank - 1] != width)
            return false;
        // What is in the packed tensor's place is needed no more when attention runs, and nobody
        // else reads the part.
        if (!cuda_untouched(c, w, i - 1, z)) return false;
        int end = cuda_next_write(c, i, part);
        for (int j = w + 1; j <= end && j < c->n; j++)
            if (j != i && cuda_reads(c, j, part)) return false;
    }
    int64_t ld = z->local[z->rank - 1], elem = hap_dtype_bytes(z->type), col = 0;
    for (int k = 0; k < op->n_in; k++) {
        cuda_call *w = &c->call[from[k]];
        hap_tensor *t = w->op.out[slot[k]], there = *t;
        int64_t width = t->local[1] * t->local[3];
        there.data = (char *)z->data + col * elem;
        there.bytes = z->bytes - (ld - width) * elem;
        *at_of(r, c, from[k], role_of(&w->op, true, slot[k])) = by_position(t, ld);
        w->op.out[slot[k]] = cuda_record_own(r, c, &there, sizeof there);
        col += width;
    }
    c->call[i].kind = CUDA_DONE;
    return true;
}

// A product whose result is split by columns, and read by nobody else, is a product a part.
static bool split_goes(hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *op = &c->call[i].op;
    const hap_tensor *y = op->in[0];
    int from = cuda_last_write(c, i, y), end = cuda_next_write(c, i, y);
    if (from < 0 || c->call[from].kind != CUDA_OP || c->call[from].op.op != HAP_OP_linear ||
        c->call[from].chain || cuda_outlives(r, y) ||
        !cuda_same_place(c->call[from].op.out[0], y) || !packs_last(op, y, op->out, op->n_out))
        return false;
    const hap_op_call *product = &c->call[from].op;
    const hap_tensor *w = product->in[1];
    if (w->dim[0].axis >= 0 || w->dim[1].axis >= 0) return false;
    for (int k = from + 1; k <= end && k < c->n; k++)
        if (k != i && cuda_reads(c, k, y)) return false;
    for (int k = 0; k < op->n_out; k++) {
        if (op->out[k]->local[op->out[k]->rank - 1] % 8) return false; // vectors
        for (int o = 0; o < product->n_in; o++)
            if (product->in[o] && cuda_meets(product->in[o], op->out[k])) return false;
    }
    if (!cuda_joins(c, from, i)) return false;
    c->call[from].chain = CUDA_PARTS;
    return true;
}

void cuda_fuse_heads(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++)
        for (int slot = 0; is_attention(&c->call[i]) && slot < c->call[i].op.n_out; slot++)
            if (role_of(&c->call[i].op, true, slot) >= 0) output_stays(r, c, i, slot);
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_OP && c->call[i].op.op == HAP_OP_concat) concat_goes(r, c, i);
    for (int i = 0; i < c->n; i++)
        if (swaps_heads(&c->call[i])) operand_stays(r, c, i);
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_OP && c->call[i].op.op == HAP_OP_split) split_goes(r, c, i);
}
