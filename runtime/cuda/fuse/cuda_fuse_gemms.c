// Products of one tensor with several weights are one matmul with the weights side by side: the
// query, key and value of attention, forward, the gradient of what they read, and their weights'
// and biases' gradients. What the matmuls read and write comes to lie side by side for that,
// outside the arena: weights and biases that casts make, [k n, m] and [k n]; heads, as columns of
// one [rows, k n] that attention finds by its strides; gradients that ops alone read. Where heads
// are turned between matmul and attention (rotary embedding), they turn in place, those of query
// and key in one call.
//
// A sum of matmuls is then added up in f32, without a rounding between them.

#include "cuda/fuse/cuda_heads.h"
#include "cuda/fuse/cuda_passes.h"

enum { MOST = 3, NEAR = 24 };

typedef struct group {
    int n, at[MOST]; // calls, in the list's order
} group;

static hap_op_call *op_at(const cuda_record *c, int i)
{
    return &c->call[i].op;
}

static int64_t last_dim(const hap_tensor *t)
{
    return t->local[t->rank - 1];
}

// t with dim d of another extent, somewhere else.
static hap_tensor *resized(hap_rank *r, cuda_record *c, const hap_tensor *t, int d, int64_t extent,
                           void *data)
{
    hap_tensor own = *t;
    own.elements = t->elements / t->local[d] * extent;
    own.bytes = own.elements * hap_dtype_bytes(t->type);
    own.local[d] = extent;
    own.dim[d] = WHOLE(extent);
    own.data = data;
    return cuda_record_own(r, c, &own, sizeof own);
}

// Nothing of these tensors' dims is cut.
static bool whole(const hap_tensor *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].axis >= 0) return false;
    return t->elements > 0;
}

// Memory of the list's own, for a value that is there in calls from..to.
static void *memory(hap_rank *r, cuda_record *c, int64_t bytes, int from, int to)
{
    return bytes <= CUDA_SMALL ? cuda_record_room(c, bytes)
                               : cuda_record_spare(r, c, bytes, from, to);
}

// --- tensors that one op each makes, side by side in the group's order ---

typedef struct row_of_tensors {
    int n, writer[MOST], last[MOST]; // last: reader
    hap_tensor t[MOST];
    int64_t bytes;
} row_of_tensors;

static bool side_by_side(const row_of_tensors *s)
{
    for (int k = 1; k < s->n; k++)
        if ((char *)s->t[k].data != (char *)s->t[k - 1].data + s->t[k - 1].bytes) return false;
    return true;
}

// t, written before call `reader`, could lie elsewhere: it is the first output of its op, dense,
// and ops alone read it.
static bool add_tensor(hap_rank *r, const cuda_record *c, row_of_tensors *s, const hap_tensor *t,
                       int reader)
{
    int w = cuda_last_write(c, reader, t), k = s->n;
    if (w < 0 || c->call[w].kind != CUDA_OP || c->call[w].at || cuda_made_outlives(r, t))
        return false;
    const hap_op_call *o = op_at(c, w);
    if (!cuda_same_place(o->out[0], t)) return false;
    for (int i = 1; i < o->n_out; i++)
        if (cuda_meets(o->out[i], t)) return false;
    for (int i = 0; i < o->n_in; i++)
        if (o->in[i] && cuda_meets(o->in[i], t)) return false;
    if (!cuda_ops_read(c, w, t, &s->last[k]) || cuda_under_way(c, w, s->last[k], t)) return false;
    s->writer[k] = w;
    s->t[k] = *t;
    s->bytes += t->bytes;
    s->n++;
    return true;
}

// Where the row of tensors begins: where they are, if they lie so already and stay until call `to`,
// or memory that nothing else is in. NULL if there is none.
static void *room_for(hap_rank *r, cuda_record *c, const row_of_tensors *s, int to)
{
    bool stay = side_by_side(s);
    for (int k = 0; k < s->n; k++)
        stay = stay && cuda_next_write(c, s->writer[k], &s->t[k]) > to;
    return stay ? s->t[0].data : memory(r, c, s->bytes, 0, c->n);
}

static void go(hap_rank *r, cuda_record *c, const row_of_tensors *s, void *base)
{
    char *at = base;
    for (int k = 0; k < s->n; k++) {
        hap_tensor there = s->t[k];
        there.data = at;
        at += there.bytes;
        if (there.data == s->t[k].data) continue;
        hap_op_call *w = op_at(c, s->writer[k]);
        w->out[0] = cuda_retyped(r, c, w->out[0], &there);
        cuda_redirect(r, c, s->writer[k] + 1, s->last[k], &s->t[k], &there);
    }
}

// --- forward ---

static bool alike(const hap_op_call *a, const hap_op_call *b)
{
    const hap_tensor *v = a->in[1], *w = b->in[1];
    bool bias = a->n_in > 2 && a->in[2], other = b->n_in > 2 && b->in[2];
    return a->attr[0].i == 1 && b->attr[0].i == 1 && cuda_same_place(a->in[0], b->in[0]) &&
           last_dim(a->in[0]) == last_dim(b->in[0]) && v->type == w->type && whole(v) && whole(w) &&
           last_dim(v) == last_dim(w) && w->local[0] % 8 == 0 && bias == other &&
           (!bias || a->in[2]->type == b->in[2]->type) && a->out[0]->type == b->out[0]->type &&
           a->out[0]->rank == b->out[0]->rank;
}

// Products of what call i reads.
static group matmuls_of(const cuda_record *c, int i)
{
    group g = {1, {i}};
    const hap_tensor *x = op_at(c, i)->in[0];
    for (int k = i + 1, near = 0; k < c->n && near < NEAR && g.n < MOST; k++) {
        const cuda_call *e = &c->call[k];
        near += e->kind != CUDA_DONE;
        if (cuda_writes(c, k, x)) break;
        if (e->kind == CUDA_OP && e->op.op == HAP_OP_linear && alike(op_at(c, i), &e->op))
            g.at[g.n++] = k;
    }
    return g;
}

// --- heads that turn on their way ---

// The call that turns the heads of t, [b, s, h, e], which call i makes and nobody else reads; -1 if
// there is none. `width`: of h heads.
static int turn_of(const hap_rank *r, const cuda_record *c, int i, const hap_tensor *t,
                   int64_t width)
{
    int k = i + 1;
    while (k < c->n && !cuda_reads(c, k, t))
        k++;
    if (k == c->n || c->call[k].kind != CUDA_OP || c->call[k].at || c->call[k].chain ||
        op_at(c, k)->op != HAP_OP_rotary || cuda_made_outlives(r, t) ||
        !cuda_only_reads(c, i, k, t) || cuda_under_way(c, i, k, t))
        return -1;
    const hap_tensor *x = op_at(c, k)->in[0], *y = op_at(c, k)->out[0];
    bool heads = cuda_same_place(x, t) && x->rank == 4 && x->elements == t->elements &&
                 x->local[2] * x->local[3] == width && y->type == x->type &&
                 !cuda_made_outlives(r, y);
    for (int s = 1; s < op_at(c, k)->n_in; s++)
        heads = heads && !cuda_meets(op_at(c, k)->in[s], t) && !cuda_meets(op_at(c, k)->in[s], y);
    return heads ? k : -1;
}

// The heads of call `turn` turn in place: `there`, in rows of ld elements.
static void turns_in_place(hap_rank *r, cuda_record *c, int turn, const hap_tensor *there,
                           int64_t ld)
{
    cuda_call *e = &c->call[turn];
    cuda_head_at at[CUDA_HEAD_ROLES] = {{0}};
    const hap_tensor *x = e->op.in[0];
    at[CUDA_Q] = (cuda_head_at){x->local[1] * ld, x->local[3], ld};
    e->at = cuda_record_own(r, c, at, sizeof at);
    e->op.in[0] = e->op.out[0] = cuda_retyped(r, c, x, there);
}

static bool turn_alike(const hap_op_call *a, const hap_op_call *b)
{
    const hap_tensor *x = a->in[0], *y = b->in[0];
    bool same = a->attr[0].i == b->attr[0].i && a->attr[1].i == b->attr[1].i &&
                x->type == y->type && x->local[3] == y->local[3];
    for (int k = 1; k < a->n_in; k++) { // tables that all heads share
        const hap_tensor *t = a->in[k];
        same = same && cuda_same_place(t, b->in[k]) && t->rank == b->in[k]->rank &&
               (t->rank < 2 || t->local[t->rank - 2] == 1);
    }
    return same;
}

// Calls that turn heads side by side, in the order of their columns, are one where nothing stands
// between them: the later.
static void join_turns(hap_rank *r, cuda_record *c, const int *turn, int n)
{
    for (int k = 1; k < n; k++) {
        int a = turn[k - 1], b = turn[k], first = a < b ? a : b, last = a < b ? b : a;
        if (a < 0 || b < 0 || !turn_alike(op_at(c, a), op_at(c, b))) continue;
        const hap_tensor *x = op_at(c, a)->in[0], *y = op_at(c, b)->in[0];
        bool alone = true;
        for (int j = first + 1; j < last; j++)
            alone = alone && !cuda_reads(c, j, x) && !cuda_writes(c, j, x) &&
                    !cuda_reads(c, j, y) && !cuda_writes(c, j, y);
        if (!alone || (char *)x->data + x->local[2] * x->local[3] * hap_dtype_bytes(x->type) !=
                          (char *)y->data)
            continue;
        int64_t bytes = (char *)y->data - (char *)x->data + y->bytes;
        hap_tensor *both = resized(r, c, x, 2, x->local[2] + y->local[2], x->data);
        both->bytes = bytes;
        c->call[last].at = c->call[a].at;
        c->call[last].op.in[0] = c->call[last].op.out[0] = both;
        c->call[first].kind = CUDA_DONE;
        return;
    }
}

// A product on its way to attention: what turns its heads (-1: nothing), how attention knows them,
// the last call that reads them.
typedef struct product {
    int turn, last;
    const hap_tensor *heads;
} product;

// Attention reads the product of call i, as it is or turned, after call `to`, as rows of positions.
static bool heads_of(hap_rank *r, cuda_record *c, int i, int to, product *p)
{
    const hap_tensor *y = op_at(c, i)->out[0];
    int64_t width = last_dim(y);
    int from = i;
    if (cuda_made_outlives(r, y)) return false;
    p->heads = NULL;
    p->turn = turn_of(r, c, i, y, width);
    if (p->turn >= 0) {
        if (p->turn <= to) return false;
        from = p->turn;
        y = op_at(c, from)->out[0];
    }
    if (!cuda_attention_reads(c, from, y, &p->last) || p->last == from) return false;
    for (int k = from + 1; k <= p->last; k++) {
        const hap_op_call *o = op_at(c, k);
        if (!cuda_reads(c, k, y)) continue;
        if (k <= to) return false;
        for (int s = 0; s < o->n_in; s++) {
            if (!o->in[s] || !cuda_same_place(o->in[s], y)) continue;
            const hap_tensor *t = p->heads = o->in[s];
            cuda_head_at is = *cuda_head_at_of(r, c, k, cuda_head_role(o, false, s)),
                         rows = cuda_heads_by_position(t, width);
            if (is.b != rows.b || is.h != rows.h || is.s != rows.s || t->elements != y->elements ||
                t->local[1] * t->local[3] != width)
                return false;
        }
    }
    return p->heads != NULL;
}

static bool join_forward(hap_rank *r, cuda_record *c, int i)
{
    group g = matmuls_of(c, i);
    if (g.n < 2) return false;
    int end = g.at[g.n - 1], latest = end, turn[MOST];
    bool bias = op_at(c, i)->n_in > 2 && op_at(c, i)->in[2];
    product p[MOST];
    row_of_tensors w = {0}, b = {0};
    int64_t cols = 0;
    for (int k = 0; k < g.n; k++) {
        hap_op_call *o = op_at(c, g.at[k]);
        cols += last_dim(o->out[0]);
        if (!heads_of(r, c, g.at[k], end, &p[k]) || !add_tensor(r, c, &w, o->in[1], g.at[k]) ||
            (bias && !add_tensor(r, c, &b, o->in[2], g.at[k])))
            return false;
        turn[k] = p[k].turn;
        if (p[k].last > latest) latest = p[k].last;
    }
    hap_op_call *o = op_at(c, end);
    hap_tensor *y = o->out[0];
    int64_t rows = y->elements / last_dim(y), elem = hap_dtype_bytes(y->type);
    void *at_w = room_for(r, c, &w, end), *at_b = bias ? room_for(r, c, &b, end) : NULL;
    char *at_y =
        at_w && (!bias || at_b) ? cuda_record_spare(r, c, rows * cols * elem, end, latest) : NULL;
    if (!at_y) return false;
    go(r, c, &w, at_w);
    if (bias) go(r, c, &b, at_b);
    int64_t col = 0;
    for (int k = 0; k < g.n; k++) {
        const hap_tensor old = *p[k].heads;
        int64_t width = last_dim(op_at(c, g.at[k])->out[0]);
        hap_tensor there = old;
        there.data = at_y + col * elem;
        there.bytes = (rows * cols - (cols - width)) * elem;
        cuda_heads_go(r, c, (turn[k] < 0 ? end : turn[k]) + 1, p[k].last, &old, &there, cols);
        if (turn[k] >= 0) turns_in_place(r, c, turn[k], &there, cols);
        col += width;
        if (g.at[k] != end) c->call[g.at[k]].kind = CUDA_DONE;
    }
    o->out[0] = resized(r, c, y, y->rank - 1, cols, at_y);
    o->in[1] = resized(r, c, o->in[1], 0, cols, at_w);
    if (bias) o->in[2] = resized(r, c, o->in[2], 0, cols, at_b);
    join_turns(r, c, turn, g.n);
    return true;
}

// --- backward: gradients that attention writes ---

enum { DX, DW, DB, READERS };

// The ops that read t, an output of call i, as rows of `width`: a matmul with weights of [n, m], a
// weight's gradient, a bias's gradient or none (-1).
static bool gradient_readers(hap_rank *r, const cuda_record *c, int i, const hap_tensor *t,
                             int64_t width, int at[READERS])
{
    int end = cuda_next_write(c, i, t);
    at[DX] = at[DW] = at[DB] = -1;
    if (cuda_made_outlives(r, t) || cuda_under_way(c, i, end, t)) return false;
    for (int k = i + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!cuda_reads(c, k, t)) continue;
        if (e->kind != CUDA_OP || e->at || !cuda_same_place(e->op.in[0], t)) return false;
        for (int s = 1; s < e->op.n_in; s++)
            if (e->op.in[s] && cuda_meets(e->op.in[s], t)) return false;
        int what = e->op.op == HAP_OP_linear && e->op.attr[0].i == 0 && e->op.n_in == 2 ? DX
                   : e->op.op == HAP_OP_linear_dw                                       ? DW
                   : e->op.op == HAP_OP_sum                                             ? DB
                                                                                        : READERS;
        if (e->op.op == HAP_OP_linear && e->op.attr[0].i == 0 && e->op.n_in == 3 && !e->op.in[2])
            what = DX;
        if (what == READERS || at[what] >= 0) return false;
        const hap_tensor *seen = e->op.in[0];
        if (last_dim(seen) != width || seen->elements != t->elements) return false;
        at[what] = k;
    }
    return at[DX] >= 0 && at[DW] >= 0;
}

static bool sums_rows(const hap_op_call *o)
{
    const hap_tensor *x = o->in[0];
    for (int k = 0; k < o->attr[0].v.n; k++)
        if (o->attr[0].v.v[k] < 0 || o->attr[0].v.v[k] == x->rank - 1) return false;
    return o->attr[0].v.n == x->rank - 1 && o->out[0]->elements == last_dim(x);
}

// Adds that make one sum of the matmuls at[k]: the last of them; all are put down in `add`. -1 if
// something else reads a part of the sum.
static int sum_of(const hap_rank *r, const cuda_record *c, const group *matmul, group *add)
{
    int live[MOST], n = matmul->n;
    for (int k = 0; k < n; k++)
        live[k] = matmul->at[k];
    add->n = 0;
    for (int i = live[0] + 1; n > 1 && i < c->n && i < matmul->at[matmul->n - 1] + NEAR; i++) {
        const hap_op_call *o = op_at(c, i);
        if (c->call[i].kind != CUDA_OP || o->op != HAP_OP_add) continue;
        int part[2] = {-1, -1};
        for (int k = 0; k < n; k++)
            for (int s = 0; s < 2; s++)
                if (live[k] < i && cuda_same_place(op_at(c, live[k])->out[0], o->in[s]) &&
                    cuda_next_write(c, live[k], o->in[s]) >= i)
                    part[s] = k;
        if (part[0] < 0 || part[1] < 0 || part[0] == part[1]) continue;
        for (int s = 0; s < 2; s++) {
            const hap_tensor *t = op_at(c, live[part[s]])->out[0];
            if (cuda_made_outlives(r, t) || !cuda_only_reads(c, live[part[s]], i, t) ||
                t->type != o->out[0]->type || t->elements != o->out[0]->elements)
                return -1;
        }
        add->at[add->n++] = i;
        int keep = part[0] < part[1] ? part[0] : part[1], gone = part[0] + part[1] - keep;
        live[keep] = i;
        live[gone] = live[--n];
    }
    return n == 1 ? live[0] : -1;
}

static int latest_of(const group *g)
{
    int at = g->at[0];
    for (int k = 1; k < g->n; k++)
        if (g->at[k] > at) at = g->at[k];
    return at;
}

// What the calls of g make, as outputs that come to lie side by side. They are made by the last of
// them, so nobody may look before.
static bool outputs_of(hap_rank *r, cuda_record *c, const group *g, row_of_tensors *s)
{
    int end = latest_of(g);
    for (int k = 0; k < g->n; k++) {
        const hap_tensor *y = op_at(c, g->at[k])->out[0];
        if (!add_tensor(r, c, s, y, g->at[k] + 1) || s->writer[k] != g->at[k]) return false;
        for (int j = g->at[k] + 1; j <= end; j++)
            if (cuda_reads(c, j, y) || cuda_writes(c, j, y)) return false;
    }
    return true;
}

static bool sums_alike(const hap_op_call *attention)
{
    const hap_tensor *q = attention->out[0];
    for (int k = 1; k < MOST; k++)
        for (int d = 0; d < q->rank; d++)
            if (attention->out[k]->local[d] != q->local[d]) return false;
    return true;
}

// The gradients of attention's query, key and value, k = 0, 1, 2, and the calls that read them.
typedef struct backward {
    hap_op_call *attention;
    int i;                 // its call
    int turn[MOST];        // what turns the gradients' heads; -1: nothing
    group dx, dw, db, add; // of what the three read; of weights; of biases (all or none); the sums
    row_of_tensors to_w, to_b;
    hap_tensor *t[MOST], *w[MOST]; // the gradients; the weights, which lie side by side
    int64_t cols, rows;
    int end, end_w, end_b; // the latest calls of dx and its sums, of dw, of db
} backward;

static void swap_calls(int *a, int *b)
{
    int was = *a;
    *a = *b, *b = was;
}

// Takes up gradient k and its readers. False: they cannot be one with those before.
static bool take_gradient(hap_rank *r, cuda_record *c, backward *x, int k)
{
    int at[READERS], from = x->i;
    hap_tensor *t = x->attention->out[k], *read = t;
    int64_t width = t->local[1] * t->local[3];
    cuda_head_at is = *cuda_head_at_of(r, c, x->i, cuda_head_role(x->attention, true, k)),
                 rows = cuda_heads_by_position(t, width);
    x->turn[k] = turn_of(r, c, x->i, t, width);
    if (x->turn[k] >= 0) from = x->turn[k], read = op_at(c, from)->out[0];
    if (is.b != rows.b || is.h != rows.h || is.s != rows.s ||
        !gradient_readers(r, c, from, read, width, at))
        return false;
    x->dx.at[x->dx.n++] = at[DX], x->dw.at[x->dw.n++] = at[DW];
    if (at[DB] >= 0 && sums_rows(op_at(c, at[DB]))) x->db.at[x->db.n++] = at[DB];
    hap_tensor *w = op_at(c, at[DX])->in[1];
    x->t[k] = t, x->w[k] = w;
    x->cols += width;
    const hap_op_call *d = op_at(c, at[DW]), *d0 = op_at(c, x->dw.at[0]);
    if (!whole(w) || t->type != x->t[0]->type || w->type != x->w[0]->type ||
        last_dim(w) != last_dim(x->w[0]) || !whole(d->out[0]) ||
        !cuda_same_place(d->in[1], d0->in[1]) || last_dim(d->in[1]) != last_dim(d0->in[1]) ||
        d->out[0]->type != d0->out[0]->type)
        return false;
    if (k > 0 && (char *)w->data != (char *)x->w[k - 1]->data + x->w[k - 1]->bytes) return false;
    return (at[DB] >= 0) == (x->db.n == k + 1) &&
           (x->db.n == 0 || op_at(c, at[DB])->out[0]->type == op_at(c, x->db.at[0])->out[0]->type);
}

// Finds the sums of the dx, and whether all may wait for the latest call of their kind.
static bool find_ends(hap_rank *r, cuda_record *c, backward *x)
{
    group in_order = x->dx; // of the list
    for (int a = 0; a < MOST; a++)
        for (int b = a + 1; b < MOST; b++)
            if (in_order.at[b] < in_order.at[a]) swap_calls(&in_order.at[a], &in_order.at[b]);
    x->end = sum_of(r, c, &in_order, &x->add);
    x->end_w = latest_of(&x->dw);
    x->end_b = x->db.n ? latest_of(&x->db) : x->i;
    if (x->end < 0 || !outputs_of(r, c, &x->dw, &x->to_w) ||
        (x->db.n && !outputs_of(r, c, &x->db, &x->to_b)))
        return false;
    for (int k = 0; k < MOST; k++)
        if (cuda_next_write(c, x->dx.at[k], x->w[k]) < x->end ||
            cuda_next_write(c, x->dw.at[k], op_at(c, x->dw.at[k])->in[1]) < x->end_w)
            return false;
    return true;
}

// Attention writes its gradients packed at z, as columns of one matrix.
static void pack_gradients(hap_rank *r, cuda_record *c, backward *x, char *z)
{
    int64_t elem = hap_dtype_bytes(x->t[0]->type), col = 0;
    for (int k = 0; k < MOST; k++) {
        int64_t width = x->t[k]->local[1] * x->t[k]->local[3];
        hap_tensor there = *x->t[k];
        there.data = z + col * elem;
        there.bytes = (x->rows * x->cols - (x->cols - width)) * elem;
        *cuda_head_at_of(r, c, x->i, cuda_head_role(x->attention, true, k)) =
            cuda_heads_by_position(x->t[k], x->cols);
        x->attention->out[k] = cuda_retyped(r, c, x->t[k], &there);
        if (x->turn[k] >= 0) turns_in_place(r, c, x->turn[k], &there, x->cols);
        col += width;
    }
    join_turns(r, c, x->turn, MOST);
}

// The joined calls take the place of the latest of each kind; the others are done.
static void replace_calls(hap_rank *r, cuda_record *c, backward *x, char *z, void *at_w, void *at_b)
{
    int64_t cols = x->cols;
    hap_tensor *rows_x = op_at(c, x->dx.at[0])->in[0], *wide_w = op_at(c, x->dx.at[0])->in[1],
               *sum = op_at(c, x->end)->out[0];
    hap_op_call matmul = *op_at(c, x->dx.at[0]);
    matmul.in[0] = resized(r, c, rows_x, rows_x->rank - 1, cols, z);
    matmul.in[1] = resized(r, c, wide_w, 0, cols, x->w[0]->data);
    matmul.out[0] = sum;
    hap_op_call *d = op_at(c, x->end_w), *s = op_at(c, x->end_b);
    d->in[0] = resized(r, c, d->in[0], d->in[0]->rank - 1, cols, z);
    d->out[0] = resized(r, c, d->out[0], 0, cols, at_w);
    if (x->db.n) {
        s->in[0] = resized(r, c, s->in[0], s->in[0]->rank - 1, cols, z);
        s->out[0] = resized(r, c, s->out[0], s->out[0]->rank - 1, cols, at_b);
    }
    for (int k = 0; k < MOST; k++) {
        c->call[x->dx.at[k]].kind = CUDA_DONE;
        if (x->dw.at[k] != x->end_w) c->call[x->dw.at[k]].kind = CUDA_DONE;
        if (x->db.n && x->db.at[k] != x->end_b) c->call[x->db.at[k]].kind = CUDA_DONE;
        if (k < x->add.n) c->call[x->add.at[k]].kind = CUDA_DONE;
    }
    // Attention adds up the rows as well, where the sums may be there so early.
    bool turned = false;
    for (int k = 0; k < MOST; k++)
        turned = turned || x->turn[k] >= 0;
    if (x->db.n && !turned && s->out[0]->type == HAP_F32 && sums_alike(x->attention) &&
        cuda_untouched(c, x->i, x->end_b - 1, s->out[0])) {
        x->attention->out[x->attention->n_out++] = s->out[0];
        c->call[x->end_b].kind = CUDA_DONE;
    }
    c->call[x->end].kind = CUDA_OP;
    c->call[x->end].op = matmul;
    c->call[x->end].name = c->call[x->dx.at[0]].name;
}

static bool join_backward(hap_rank *r, cuda_record *c, int i)
{
    backward x = {.attention = op_at(c, i), .i = i};
    if (x.attention->op != HAP_OP_sdpa_bwd || x.attention->n_out != MOST) return false;
    for (int k = 0; k < MOST; k++)
        if (!take_gradient(r, c, &x, k)) return false;
    if (!find_ends(r, c, &x)) return false;
    x.rows = x.t[0]->local[0] * x.t[0]->local[2];
    int last = x.end > x.end_w ? x.end : x.end_w;
    if (x.end_b > last) last = x.end_b;
    void *at_w = room_for(r, c, &x.to_w, x.end_w);
    void *at_b = x.db.n ? room_for(r, c, &x.to_b, x.end_b) : NULL;
    char *z = NULL;
    if (at_w && (!x.db.n || at_b))
        z = cuda_record_spare(r, c, x.rows * x.cols * hap_dtype_bytes(x.t[0]->type), i, last);
    if (!z) return false;
    go(r, c, &x.to_w, at_w);
    if (x.db.n) go(r, c, &x.to_b, at_b);
    pack_gradients(r, c, &x, z);
    replace_calls(r, c, &x, z, at_w, at_b);
    return true;
}

void cuda_fuse_gemms(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_OP && !c->call[i].at && op_at(c, i)->op == HAP_OP_linear)
            join_forward(r, c, i);
    for (int i = 0; i < c->n; i++)
        if (cuda_is_attention(&c->call[i])) join_backward(r, c, i);
}
