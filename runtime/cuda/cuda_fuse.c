// Which casts of a step can go, and which calls one kernel runs. What a tensor's bytes hold between
// two calls is known by its place in memory alone: from a call that writes there to the next one
// that does.

#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_record.h"

// Operands that a row's kernel reads in any float type, and outputs that it writes in any: a bit
// each. A value rounded by the kernel is the value that a cast of the f32 result rounds.
static const struct {
    unsigned in, out;
} any_float[HAP_N_OPS] = {
    [HAP_OP_add] = {3, 1},        [HAP_OP_sub] = {3, 1},
    [HAP_OP_mul] = {3, 1},        [HAP_OP_scale] = {1, 1},
    [HAP_OP_cast] = {1, 0},       [HAP_OP_gelu] = {1, 1},
    [HAP_OP_gelu_bwd] = {3, 1},   [HAP_OP_relu] = {1, 1},
    [HAP_OP_relu_bwd] = {3, 1},   [HAP_OP_dropout] = {1, 1},
    [HAP_OP_sum] = {1, 1},        [HAP_OP_sumsq] = {1, 0},
    [HAP_OP_row_sum] = {1, 0},    [HAP_OP_row_m2] = {1, 0},
    [HAP_OP_norm_apply] = {1, 1}, [HAP_OP_norm_bwd_stats] = {3, 0},
    [HAP_OP_norm_bwd] = {3, 1},   [HAP_OP_norm_bwd_params] = {3, 3},
    [HAP_OP_embedding] = {1, 1},  [HAP_OP_embedding_bwd] = {1, 1},
    [HAP_OP_adam] = {8, 0},
};

static bool meets(const hap_tensor *a, const hap_tensor *b)
{
    const char *p = a->data, *q = b->data;
    return p < q + b->bytes && q < p + a->bytes;
}

static bool same_place(const hap_tensor *a, const hap_tensor *b)
{
    return a->data == b->data && a->bytes == b->bytes && a->type == b->type;
}

static bool is_float(const hap_tensor *t)
{
    return t->type == HAP_F32 || t->type == HAP_BF16 || t->type == HAP_F16;
}

static bool coll_reads(const hap_coll_call *c, const hap_tensor *t)
{
    for (int i = 0; i < c->n; i++)
        if (meets(c->src[i], t)) return true;
    return false;
}

static bool coll_writes(const hap_coll_call *c, const hap_tensor *t)
{
    for (int i = 0; i < c->n; i++)
        if (meets(c->dst[i], t)) return true;
    return c->scratch && meets(c->scratch, t);
}

// A collective may read and write at any time from its start to its wait; both calls count as such.
// Between them no call but itself touches what it writes, or the program has a race.
static const hap_coll_call *coll_of(const cuda_record *c, int i)
{
    const cuda_call *e = &c->call[i];
    return e->kind == CUDA_START ? &e->coll : e->kind == CUDA_WAIT ? &c->call[e->other].coll : NULL;
}

static bool reads(const cuda_record *c, int i, const hap_tensor *t)
{
    const cuda_call *e = &c->call[i];
    const hap_coll_call *coll = coll_of(c, i);
    if (coll) return coll_reads(coll, t);
    if (e->kind == CUDA_DONE) return false;
    for (int k = 0; k < e->op.n_in; k++)
        if (e->op.in[k] && meets(e->op.in[k], t)) return true;
    return false;
}

static bool writes(const cuda_record *c, int i, const hap_tensor *t)
{
    const cuda_call *e = &c->call[i];
    const hap_coll_call *coll = coll_of(c, i);
    if (coll) return coll_writes(coll, t);
    if (e->kind == CUDA_DONE) return false;
    for (int k = 0; k < e->op.n_out; k++)
        if (meets(e->op.out[k], t)) return true;
    return false;
}

// Whether a collective that is under way somewhere in calls from..to touches t.
static bool under_way(const cuda_record *c, int from, int to, const hap_tensor *t)
{
    for (int i = 0; i <= to && i < c->n; i++)
        if (c->call[i].kind == CUDA_START && c->call[i].other >= from &&
            (coll_writes(&c->call[i].coll, t) || coll_reads(&c->call[i].coll, t)))
            return true;
    return false;
}

// Read when the step is over, or before the next one writes it.
static bool outlives(const hap_rank *r, const hap_tensor *t)
{
    for (int i = 0; i < r->n_vars; i++)
        if (meets(r->var[i].t, t)) return true;
    return r->loss && meets(r->loss, t);
}

// The first call after i that writes on t; n if none does.
static int next_write(const cuda_record *c, int i, const hap_tensor *t)
{
    for (i++; i < c->n; i++)
        if (writes(c, i, t)) return i;
    return c->n;
}

// `as` with the elements of `of`: the same shape in another type and place.
static hap_tensor *retyped(hap_rank *r, cuda_record *c, const hap_tensor *as, const hap_tensor *of)
{
    hap_tensor t = *as;
    t.type = of->type;
    t.data = of->data;
    t.bytes = of->bytes;
    return cuda_record_own(r, c, &t, sizeof t);
}

// y = cast(x) to a wider type: every reader of y reads x.
static bool widening_goes(hap_rank *r, cuda_record *c, int i)
{
    hap_tensor *y = c->call[i].op.out[0], *x = c->call[i].op.in[0];
    if (x->type == HAP_F32 || y->type != HAP_F32 || outlives(r, y)) return false;
    int end = next_write(c, i, y), last = i;
    for (int k = i + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!reads(c, k, y)) continue;
        if (e->kind != CUDA_OP) return false;
        for (int o = 0; o < e->op.n_in; o++) {
            const hap_tensor *in = e->op.in[o];
            if (!in || !meets(in, y)) continue;
            if (!same_place(in, y) || !(any_float[e->op.op].in >> o & 1)) return false;
        }
        last = k;
    }
    // x stays as it is until the last of them has read it.
    for (int k = i + 1; k <= last; k++)
        if (writes(c, k, x)) return false;
    if (last > i && under_way(c, i, last, x)) return false;
    for (int k = i + 1; k <= last; k++) {
        cuda_call *e = &c->call[k];
        if (e->kind != CUDA_OP) continue;
        for (int o = 0; o < e->op.n_in; o++)
            if (e->op.in[o] && same_place(e->op.in[o], y))
                e->op.in[o] = retyped(r, c, e->op.in[o], x);
    }
    return true;
}

// y = cast(x), which alone reads x: who writes x writes y.
static bool writer_casts(hap_rank *r, cuda_record *c, int i)
{
    hap_tensor *y = c->call[i].op.out[0], *x = c->call[i].op.in[0];
    int from = i - 1, slot = -1;
    while (from >= 0 && !writes(c, from, x))
        from--;
    if (from < 0 || c->call[from].kind != CUDA_OP || x->type != HAP_F32) return false;
    if (outlives(r, x) || meets(x, y)) return false;
    hap_op_call *writer = &c->call[from].op;
    for (int o = 0; o < writer->n_out; o++) {
        if (!meets(writer->out[o], x)) continue;
        if (slot >= 0 || !same_place(writer->out[o], x)) return false;
        slot = o;
    }
    if (slot < 0 || !(any_float[writer->op].out >> slot & 1)) return false;
    int end = next_write(c, i, x);
    for (int k = from + 1; k <= end && k < c->n; k++)
        if (k != i && reads(c, k, x)) return false;
    // y's bytes are free from the writer on.
    for (int k = from; k < i; k++)
        if (reads(c, k, y) || writes(c, k, y)) return false;
    if (under_way(c, from, i, y)) return false;
    writer->out[slot] = retyped(r, c, writer->out[slot], y);
    return true;
}

// --- chains ---

// Whether calls k and j must stay in their order.
static bool ordered(const cuda_record *c, int k, int j)
{
    const hap_op_call *o = &c->call[j].op;
    for (int i = 0; i < o->n_out; i++)
        if (reads(c, k, o->out[i]) || writes(c, k, o->out[i])) return true;
    for (int i = 0; i < o->n_in; i++)
        if (o->in[i] && writes(c, k, o->in[i])) return true;
    return false;
}

static int renumbered(int k, int from, int to)
{
    return k == from ? to : k >= to && k < from ? k + 1 : k;
}

// Moves op `from` up to place `to` if nothing between stands in its way.
static bool moves_up(cuda_record *c, int from, int to)
{
    for (int k = to; k < from; k++)
        if (ordered(c, k, from)) return false;
    cuda_call moved = c->call[from];
    memmove(&c->call[to + 1], &c->call[to], (size_t)(from - to) * sizeof moved);
    c->call[to] = moved;
    for (int k = 0; k < c->n; k++)
        if (c->call[k].kind == CUDA_START || c->call[k].kind == CUDA_WAIT)
            c->call[k].other = renumbered(c->call[k].other, from, to);
    return true;
}

static bool joins(cuda_record *c, int first, int j)
{
    int to = first + c->call[first].n_joined + 1;
    if (to - first > CUDA_MAX_CHAIN || !moves_up(c, j, to)) return false;
    c->call[to].kind = CUDA_JOINED;
    c->call[first].n_joined++;
    return true;
}

// The next op of this kind in the calls soon after i that reads t as an operand; -1 if there is
// none.
static int reader_near(const cuda_record *c, int i, hap_op_id op, const hap_tensor *t)
{
    for (int k = i + 1; k < c->n && k < i + 8; k++) {
        const cuda_call *e = &c->call[k];
        if (e->kind != CUDA_OP || e->op.op != op || e->chain) continue;
        for (int o = 0; o < e->op.n_in; o++)
            if (e->op.in[o] && same_place(e->op.in[o], t)) return k;
    }
    return -1;
}

// A kernel goes over rows, each thread over its own elements: what it writes lies where it reads
// the same element, or apart.
static bool apart(const hap_op_call *const *op, int n)
{
    for (int a = 0; a < n; a++)
        for (int o = 0; o < op[a]->n_out; o++)
            for (int b = 0; b < n; b++) {
                for (int i = 0; i < op[b]->n_in; i++)
                    if (op[b]->in[i] && meets(op[a]->out[o], op[b]->in[i]) &&
                        !same_place(op[a]->out[o], op[b]->in[i]))
                        return false;
                for (int i = 0; i < op[b]->n_out; i++)
                    if (meets(op[a]->out[o], op[b]->out[i]) &&
                        !same_place(op[a]->out[o], op[b]->out[i]))
                        return false;
            }
    return true;
}

static void join_norm(cuda_record *c, int i)
{
    const hap_op_call *sum = &c->call[i].op;
    int m2 = reader_near(c, i, HAP_OP_row_m2, sum->out[0]);
    if (m2 < 0) return;
    const hap_op_call *second = &c->call[m2].op;
    int apply = reader_near(c, m2, HAP_OP_norm_apply, second->out[0]);
    if (apply < 0) return;
    const hap_op_call *third = &c->call[apply].op, *all[] = {sum, second, third};
    bool fits = same_place(second->in[0], sum->in[0]) && same_place(second->in[1], sum->out[0]) &&
                same_place(third->in[0], sum->in[0]) && same_place(third->in[1], sum->out[0]) &&
                same_place(third->in[2], second->out[0]) && sum->out[0]->type == HAP_F32 &&
                second->out[0]->type == HAP_F32 && apart(all, 3);
    // The last one first: it is the one that may not move.
    for (int k = i + 1; fits && k < apply; k++)
        fits = k == m2 || !ordered(c, k, apply);
    if (!fits || !joins(c, i, m2)) return;
    apply = reader_near(c, i, HAP_OP_norm_apply, c->call[i + 1].op.out[0]);
    if (apply >= 0 && joins(c, i, apply))
        c->call[i].chain = CUDA_NORM;
    else
        c->call[i].n_joined = 0, c->call[i + 1].kind = CUDA_OP;
}

static void join_norm_bwd(const hap_rank *r, cuda_record *c, int i)
{
    const hap_op_call *stats = &c->call[i].op;
    int at = reader_near(c, i, HAP_OP_norm_bwd, stats->out[0]);
    if (at < 0) return;
    const hap_op_call *bwd = &c->call[at].op;
    for (int k = 0; k < 4; k++)
        if (!same_place(stats->in[k], bwd->in[k])) return;
    const hap_tensor *w = stats->n_in > 4 ? stats->in[4] : NULL;
    const hap_tensor *w2 = bwd->n_in > 6 ? bwd->in[6] : NULL;
    if (!w != !w2 || (w && !same_place(w, w2))) return;
    const hap_op_call *all[4] = {stats, bwd};
    if (!same_place(bwd->in[4], stats->out[0]) || !same_place(bwd->in[5], stats->out[1]) ||
        stats->out[0]->type != HAP_F32 || stats->out[1]->type != HAP_F32 || !apart(all, 2) ||
        !joins(c, i, at))
        return;
    c->call[i].chain = CUDA_NORM_BWD;
    c->call[i].needs_middle = true;
    const hap_tensor *dx = c->call[i + 1].op.out[0];
    if (dx->type != HAP_F32) return;
    const hap_tensor *wide = dx;
    int sum = reader_near(c, i + 1, HAP_OP_add, dx), end = 0;
    for (int k = 0; k < 2; k++)
        all[k] = &c->call[i + k].op;
    if (sum >= 0) {
        const hap_op_call *add = all[2] = &c->call[sum].op;
        bool twice = same_place(add->in[0], dx) && same_place(add->in[1], dx);
        if (!twice && add->in[0]->elements == dx->elements &&
            add->in[1]->elements == dx->elements && add->out[0]->type == HAP_F32 && apart(all, 3) &&
            joins(c, i, sum)) {
            wide = c->call[i + 2].op.out[0];
            end = next_write(c, i + 1, dx);
            bool read = outlives(r, dx);
            for (int k = i + 3; k <= end && k < c->n; k++)
                read |= reads(c, k, dx);
            c->call[i].needs_middle = read;
        }
    }
    int n = c->call[i].n_joined + 1, narrow = reader_near(c, i + n - 1, HAP_OP_cast, wide);
    for (int k = 0; k < n; k++)
        all[k] = &c->call[i + k].op;
    if (narrow < 0 || !is_float(c->call[narrow].op.out[0])) return;
    all[n] = &c->call[narrow].op;
    if (apart(all, n + 1)) joins(c, i, narrow);
}

static bool same_rates(const hap_op_call *a, const hap_op_call *b)
{
    for (int k = 0; k < 5; k++)
        if (a->attr[k].f < b->attr[k].f || a->attr[k].f > b->attr[k].f) return false;
    const hap_tensor *s = a->in[4], *t = b->in[4];
    return a->attr[5].i == b->attr[5].i && !s == !t && (!s || same_place(s, t));
}

static void join_adam(cuda_record *c, int i)
{
    for (int k = i + 1; k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (e->kind == CUDA_DONE) continue;
        if (e->kind != CUDA_OP) break;
        if (e->op.op != HAP_OP_adam) {
            if (k > i + c->call[i].n_joined + 8) break;
            continue;
        }
        if (same_rates(&c->call[i].op, &e->op) && !joins(c, i, k)) break;
    }
    if (c->call[i].n_joined > 0) c->call[i].chain = CUDA_ADAM;
}

static int join_chains(const hap_rank *r, cuda_record *c)
{
    int joined = 0;
    for (int i = 0; i < c->n; i++) {
        if (c->call[i].kind != CUDA_OP || c->call[i].chain) continue;
        if (c->call[i].op.op == HAP_OP_row_sum) join_norm(c, i);
        if (c->call[i].op.op == HAP_OP_norm_bwd_stats) {
            // The gradients of weight and bias read what a cast behind them may write on.
            int params = reader_near(c, i, HAP_OP_norm_bwd_params, c->call[i].op.in[0]);
            join_norm_bwd(r, c, params >= 0 && moves_up(c, params, i) ? ++i : i);
        }
        if (c->call[i].op.op == HAP_OP_adam) join_adam(c, i);
    }
    for (int i = 0; i < c->n; i++)
        joined += c->call[i].kind == CUDA_JOINED;
    return joined;
}

int cuda_fuse(hap_rank *r, cuda_record *c)
{
    int gone = 0;
    const char *on = getenv("HAP_CUDA_FUSE");
    if (on && on[0] == '0') return 0;
    for (int i = 0; i < c->n; i++) {
        cuda_call *e = &c->call[i];
        if (e->kind != CUDA_OP || e->op.op != HAP_OP_cast) continue;
        if (!is_float(e->op.in[0]) || !is_float(e->op.out[0])) continue;
        if (!writer_casts(r, c, i) && !widening_goes(r, c, i)) continue;
        e->kind = CUDA_DONE;
        gone++;
    }
    return gone + join_chains(r, c);
}
