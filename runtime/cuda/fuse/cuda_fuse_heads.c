// Attention wants heads before positions, matmuls leave positions before heads; between them stand
// transposes of [b, s, h, e] and [b, h, s, e], a split of the packed query, key and value, a concat
// of their gradients. Attention kernels take strides, so these calls can go if memory allows: what
// is left in another layout, or in another place, must stay there until its last reader.

#include "cuda/fuse/cuda_heads.h"
#include "cuda/fuse/cuda_passes.h"

int cuda_head_role(const hap_op_call *op, bool out, int slot)
{
    static const int in_bwd[] = {CUDA_DY, CUDA_Q, CUDA_K, CUDA_V, CUDA_Y},
                     out_bwd[] = {CUDA_DQ, CUDA_DK, CUDA_DV}, in[] = {CUDA_Q, CUDA_K, CUDA_V};
    if (op->op == HAP_OP_sdpa) return out ? (slot == 0 ? CUDA_Y : -1) : slot < 3 ? in[slot] : -1;
    if (op->op != HAP_OP_sdpa_bwd) return -1;
    return out ? (slot < 3 ? out_bwd[slot] : -1) : slot < 5 ? in_bwd[slot] : -1;
}

bool cuda_is_attention(const cuda_call *e)
{
    return e->kind == CUDA_OP && (e->op.op == HAP_OP_sdpa || e->op.op == HAP_OP_sdpa_bwd);
}

cuda_head_at *cuda_head_at_of(hap_rank *r, cuda_record *c, int call, int role)
{
    cuda_call *e = &c->call[call];
    if (!e->at) {
        cuda_head_at at[CUDA_HEAD_ROLES] = {{0}};
        for (int out = 0; out < 2; out++)
            for (int k = 0; k < (out ? e->op.n_out : e->op.n_in); k++) {
                int own = cuda_head_role(&e->op, out, k);
                if (own >= 0) at[own] = cuda_heads_dense(out ? e->op.out[k] : e->op.in[k]);
            }
        e->at = cuda_record_own(r, c, at, sizeof at);
    }
    return &e->at[role];
}

cuda_head_at cuda_heads_by_position(const hap_tensor *t, int64_t ld)
{
    return (cuda_head_at){t->local[2] * ld, t->local[3], ld};
}

static bool swaps_heads(const cuda_call *e)
{
    if (e->kind != CUDA_OP || e->op.op != HAP_OP_transpose) return false;
    hap_ints p = e->op.attr[0].v;
    return p.n == 4 && p.v[0] == 0 && p.v[1] == 2 && p.v[2] == 1 && p.v[3] == 3;
}

bool cuda_attention_reads(const cuda_record *c, int from, const hap_tensor *t, int *last)
{
    int end = cuda_next_write(c, from, t);
    *last = from;
    for (int k = from + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!cuda_reads(c, k, t)) continue;
        if (!cuda_is_attention(e)) return false;
        for (int i = 0; i < e->op.n_in; i++)
            if (e->op.in[i] && cuda_meets(e->op.in[i], t) &&
                (!cuda_same_place(e->op.in[i], t) || cuda_head_role(&e->op, false, i) < 0))
                return false;
        *last = k;
    }
    return true;
}

void cuda_heads_go(hap_rank *r, cuda_record *c, int from, int last, const hap_tensor *t,
                   const hap_tensor *to, int64_t ld)
{
    for (int k = from; k <= last; k++) {
        cuda_call *e = &c->call[k];
        if (!cuda_is_attention(e)) continue;
        for (int i = 0; i < e->op.n_in; i++) {
            if (!e->op.in[i] || !cuda_same_place(e->op.in[i], t)) continue;
            *cuda_head_at_of(r, c, k, cuda_head_role(&e->op, false, i)) =
                cuda_heads_by_position(t, ld);
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

// A place outside the arena for t from one call to another, where the arena has none.
static bool spare_for(hap_rank *r, cuda_record *c, const hap_tensor *t, int from, int to,
                      hap_tensor *spare)
{
    *spare = *t;
    spare->data = cuda_record_spare(r, c, t->bytes, from, to);
    return spare->data != NULL;
}

// t = x' at call i is read by attention alone. Who writes x writes it in t's place; or else the
// readers go to x's place; or both to another.
static bool operand_stays(hap_rank *r, cuda_record *c, int i)
{
    hap_tensor *x = c->call[i].op.in[0], *t = c->call[i].op.out[0];
    int last, from = cuda_last_write(c, i, x);
    if (x->type != t->type || cuda_meets(x, t) || cuda_outlives(r, x) || cuda_outlives(r, t) ||
        !cuda_attention_reads(c, i, t, &last) || last == i)
        return false;
    int64_t ld = t->local[1] * t->local[3];
    hap_tensor **out = from < 0 ? NULL : output_at(&c->call[from], x);
    hap_tensor spare;
    bool alone = out && cuda_untouched(c, from, i - 1, t) && cuda_only_reads(c, from, i, x);
    if (alone) {
        *out = cuda_retyped(r, c, *out, t);
        cuda_heads_go(r, c, i, last, t, t, ld);
    } else if (unwritten(c, i + 1, last, x)) {
        cuda_heads_go(r, c, i, last, t, x, ld);
    } else if (out && cuda_only_reads(c, from, i, x) && spare_for(r, c, x, from, last, &spare)) {
        *out = cuda_retyped(r, c, *out, &spare);
        cuda_heads_go(r, c, i, last, t, &spare, ld);
    } else {
        return false;
    }
    c->call[i].kind = CUDA_DONE;
    return true;
}

// Attention's output `slot` of call i, t, is read by one transpose u = t' and else by attention. It
// is written as u is laid out: in t's place, where u's readers look for it, or in u's, or
// elsewhere.
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
        if (!cuda_is_attention(e)) return false;
        for (int o = 0; o < e->op.n_in; o++)
            if (e->op.in[o] && cuda_meets(e->op.in[o], t) &&
                (!cuda_same_place(e->op.in[o], t) || cuda_head_role(&e->op, false, o) < 0))
                return false;
        last = k;
    }
    if (at < 0) return false;
    hap_tensor *u = c->call[at].op.out[0];
    int64_t ld = t->local[1] * t->local[3];
    if (u->type != t->type || cuda_meets(u, t) || cuda_outlives(r, u)) return false;
    bool ops = cuda_ops_read(c, at, u, &read);
    hap_tensor spare;
    if (ops && unwritten(c, i + 1, read, t)) {
        cuda_redirect(r, c, at + 1, read, u, t);
        u = t;
    } else if (!cuda_untouched(c, i, at - 1, u) || !unwritten(c, at + 1, last, u)) {
        if (!ops || !spare_for(r, c, u, i, read > last ? read : last, &spare)) return false;
        cuda_redirect(r, c, at + 1, read, u, &spare);
        u = &spare;
    }
    c->call[at].kind = CUDA_DONE;
    cuda_heads_go(r, c, i + 1, last, t, u, ld);
    *cuda_head_at_of(r, c, i, cuda_head_role(&c->call[i].op, true, slot)) =
        cuda_heads_by_position(t, ld);
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

// One operand of a concat: attention's output, as it is or by way of a transpose of heads.
typedef struct concat_part {
    int writer, slot, transpose; // -1: none
} concat_part;

static bool part_of(const hap_rank *r, const cuda_record *c, int i, const hap_tensor *part,
                    concat_part *p)
{
    p->writer = cuda_last_write(c, i, part);
    p->transpose = p->slot = -1;
    if (p->writer < 0 || cuda_outlives(r, part) || !cuda_only_reads(c, p->writer, i, part))
        return false;
    if (swaps_heads(&c->call[p->writer]) && cuda_same_place(c->call[p->writer].op.out[0], part)) {
        p->transpose = p->writer;
        part = c->call[p->transpose].op.in[0];
        p->writer = cuda_last_write(c, p->transpose, part);
        if (p->writer < 0 || cuda_outlives(r, part) ||
            !cuda_only_reads(c, p->writer, p->transpose, part))
            return false;
    }
    const cuda_call *w = &c->call[p->writer];
    for (int o = 0; cuda_is_attention(w) && o < w->op.n_out; o++)
        if (cuda_same_place(w->op.out[o], part) && cuda_head_role(&w->op, true, o) >= 0)
            p->slot = o;
    if (p->slot < 0) return false;
    const hap_tensor *t = w->op.out[p->slot];
    cuda_head_at dense = cuda_heads_dense(t),
                 rows = cuda_heads_by_position(t, t->local[1] * t->local[3]),
                 at = w->at ? w->at[cuda_head_role(&w->op, true, p->slot)] : dense,
                 want = p->transpose < 0 ? rows : dense;
    return at.b == want.b && at.h == want.h && at.s == want.s;
}

// Attention whose outputs make up a concat writes them there, or where there is room.
static bool concat_goes(hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *op = &c->call[i].op;
    const hap_tensor *z = op->out[0];
    concat_part part[HAP_MAX_IN];
    hap_tensor spare;
    int first = i, last;
    if (!packs_last(op, z, op->in, op->n_in) || cuda_outlives(r, z)) return false;
    for (int k = 0; k < op->n_in; k++) {
        if (!part_of(r, c, i, op->in[k], &part[k])) return false;
        const hap_tensor *t = c->call[part[k].writer].op.out[part[k].slot];
        if (op->in[k]->local[op->in[k]->rank - 1] != t->local[1] * t->local[3]) return false;
        if (part[k].writer < first) first = part[k].writer;
    }
    for (int k = 0; k < op->n_in; k++)
        if (part[k].transpose >= 0) c->call[part[k].transpose].kind = CUDA_DONE;
    if (!cuda_untouched(c, first, i - 1, z)) {
        if (!cuda_ops_read(c, i, z, &last) || !spare_for(r, c, z, first, last, &spare)) {
            for (int k = 0; k < op->n_in; k++)
                if (part[k].transpose >= 0) c->call[part[k].transpose].kind = CUDA_OP;
            return false;
        }
        cuda_redirect(r, c, i + 1, last, z, &spare);
        z = &spare;
    }
    int64_t ld = z->local[z->rank - 1], elem = hap_dtype_bytes(z->type), col = 0;
    for (int k = 0; k < op->n_in; k++) {
        cuda_call *w = &c->call[part[k].writer];
        hap_tensor *t = w->op.out[part[k].slot], there = *t;
        int64_t width = t->local[1] * t->local[3];
        there.data = (char *)z->data + col * elem;
        there.bytes = z->bytes - (ld - width) * elem;
        *cuda_head_at_of(r, c, part[k].writer, cuda_head_role(&w->op, true, part[k].slot)) =
            cuda_heads_by_position(t, ld);
        w->op.out[part[k].slot] = cuda_record_own(r, c, &there, sizeof there);
        col += width;
    }
    c->call[i].kind = CUDA_DONE;
    return true;
}

// A matmul whose result is split by columns, and read by nobody else, is a matmul a part.
static bool split_goes(hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *op = &c->call[i].op;
    const hap_tensor *y = op->in[0];
    int from = cuda_last_write(c, i, y), end = cuda_next_write(c, i, y);
    if (from < 0 || c->call[from].kind != CUDA_OP || c->call[from].op.op != HAP_OP_linear ||
        c->call[from].chain || cuda_outlives(r, y) ||
        !cuda_same_place(c->call[from].op.out[0], y) || !packs_last(op, y, op->out, op->n_out))
        return false;
    const hap_op_call *matmul = &c->call[from].op;
    const hap_tensor *w = matmul->in[1];
    if (w->dim[0].axis >= 0 || w->dim[1].axis >= 0) return false;
    for (int k = from + 1; k <= end && k < c->n; k++)
        if (k != i && cuda_reads(c, k, y)) return false;
    for (int k = 0; k < op->n_out; k++) {
        if (op->out[k]->local[op->out[k]->rank - 1] % 8) return false; // vectors
        for (int o = 0; o < matmul->n_in; o++)
            if (matmul->in[o] && cuda_meets(matmul->in[o], op->out[k])) return false;
    }
    if (!cuda_joins(c, from, i)) return false;
    c->call[from].chain = CUDA_PARTS;
    return true;
}

void cuda_fuse_heads(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_OP && c->call[i].op.op == HAP_OP_concat) concat_goes(r, c, i);
    for (int i = 0; i < c->n; i++)
        for (int slot = 0; cuda_is_attention(&c->call[i]) && slot < c->call[i].op.n_out; slot++)
            if (cuda_head_role(&c->call[i].op, true, slot) >= 0) output_stays(r, c, i, slot);
    for (int i = 0; i < c->n; i++)
        if (swaps_heads(&c->call[i])) operand_stays(r, c, i);
}

void cuda_fuse_splits(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_OP && c->call[i].op.op == HAP_OP_split) split_goes(r, c, i);
}
