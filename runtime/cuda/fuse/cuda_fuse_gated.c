// What a gated MLP makes of two linears (kernels/cuda_gated.h) joins the linear that comes last
// before it, or, backward, the one that makes its gradient. The calls stand one by one or are a
// fusion of the plan, which is opened if all of it joins. A result that lies where the matmul or
// the calls read gets memory of the list's own.

#include "cuda/fuse/cuda_passes.h"
#include "cuda/kernels/cuda_gated.h"

// The calls of one product, or of its gradients.
typedef struct found {
    const hap_op_call *op[CUDA_GATED_OPS];
    int at[CUDA_GATED_OPS], n; // places in the list; of a fusion all the same
    int stays;                 // the one to which the others come: forward the last, else the first
    cuda_gated g;
} found;

static bool is_one(const found *f, int k)
{
    for (int i = 0; i < f->n; i++)
        if (f->at[i] == k) return true;
    return false;
}

// What call w makes lies in t, and calls of f alone read it.
static bool is_theirs(const hap_rank *r, const cuda_record *c, int w, const found *f,
                      const hap_tensor *t)
{
    const int end = cuda_next_write(c, w, t);
    if (cuda_outlives(r, t)) return false;
    for (int k = w + 1; k <= end && k < c->n; k++)
        if (!is_one(f, k) && cuda_reads(c, k, t)) return false;
    return true;
}

// Whether the linear that makes t may come down to the calls of f and end with them.
static bool may_lead(const hap_rank *r, const cuda_record *c, int w, const found *f,
                     const hap_tensor *t)
{
    if (w < 0 || c->call[w].kind != CUDA_OP || c->call[w].chain) return false;
    const hap_op_call *linear = &c->call[w].op;
    if (linear->op != HAP_OP_linear || !cuda_same_place(linear->out[0], t)) return false;
    for (int k = w + 1; k < f->stays; k++)
        if (!is_one(f, k) && cuda_ordered(c, k, w)) return false;
    return !f->g.dy || (!(linear->n_in > 2 && linear->in[2]) && is_theirs(r, c, w, f, t) &&
                        !cuda_meets(f->g.dgate, f->g.dup));
}

// The linear that ends with the calls of f; -1: none does.
static int leader(const hap_rank *r, const cuda_record *c, const found *f)
{
    const hap_tensor *t[2] = {f->g.dy ? f->g.dy : f->g.gate, f->g.dy ? NULL : f->g.up};
    int w[2] = {cuda_last_write(c, f->stays, t[0]), t[1] ? cuda_last_write(c, f->stays, t[1]) : -1};
    const int later = w[1] > w[0];
    if (may_lead(r, c, w[later], f, t[later])) return w[later];
    return t[!later] && may_lead(r, c, w[!later], f, t[!later]) ? w[!later] : -1;
}

static bool of_fusion(const cuda_record *c, int i, found *f)
{
    const cuda_fusion *g = c->call[i].fusion;
    if (g->n_ops > CUDA_GATED_OPS) return false;
    for (f->n = 0; f->n < g->n_ops; f->n++)
        f->op[f->n] = &g->call[f->n], f->at[f->n] = i;
    if (!cuda_gated_of(f->op, f->n, &f->g)) return false;
    f->stays = i;
    for (int k = 0; k < g->n_tensors; k++) // what passes stays in the kernel
        for (int o = 0; g->tensor[k].written && o < f->n; o++)
            if (f->g.passing >> o & 1 && g->tensor[k].t == f->op[o]->out[0]) return false;
    return true;
}

static void take(const cuda_record *c, int i, found *f)
{
    int k = f->n++;
    for (; k > 0 && f->at[k - 1] > i; k--) // in their order
        f->at[k] = f->at[k - 1], f->op[k] = f->op[k - 1];
    f->at[k] = i, f->op[k] = &c->call[i].op;
}

static bool take_near(const cuda_record *c, int i, hap_op_id op, const hap_tensor *t, found *f)
{
    const int at = cuda_reader_near(c, i, op, t);
    if (at < 0 || is_one(f, at)) return false;
    take(c, at, f);
    return true;
}

// silu at i, mul; or, at i, mul by up, then silu_bwd, silu, mul.
static bool of_calls(const cuda_record *c, int i, found *f)
{
    const hap_op_call *op = &c->call[i].op;
    f->n = 0, f->stays = i;
    take(c, i, f);
    if (op->op == HAP_OP_silu) {
        if (!take_near(c, i, HAP_OP_mul, op->out[0], f)) return false;
        f->stays = f->at[1];
        return cuda_gated_of(f->op, f->n, &f->g);
    }
    const int slope = cuda_reader_near(c, i, HAP_OP_silu_bwd, op->out[0]);
    if (slope < 0) return false;
    take(c, slope, f);
    const int silu = cuda_reader_near(c, i, HAP_OP_silu, c->call[slope].op.in[1]);
    if (silu < 0) return false;
    take(c, silu, f);
    return take_near(c, silu, HAP_OP_mul, c->call[silu].op.out[0], f) &&
           cuda_gated_of(f->op, f->n, &f->g);
}

// --- results ---

// A kernel that reads what the linear and the calls read may write y, and again: the first call of
// a shape is timed.
static bool may_write(const found *f, const hap_op_call *linear, const hap_tensor *y)
{
    for (int i = 0; i < linear->n_in; i++)
        if (linear->in[i] && cuda_meets(linear->in[i], y)) return false;
    return !cuda_meets(y, f->g.gate) && !cuda_meets(y, f->g.up);
}

// Nobody touches t from one call to the other, and what lies there then is not read behind them.
static bool is_free(const cuda_record *c, int from, int to, const hap_tensor *t)
{
    const int next = cuda_next_write(c, to, t);
    for (int k = to + 1; k <= next && k < c->n; k++)
        if (cuda_reads(c, k, t)) return false;
    return cuda_untouched(c, from, to, t);
}

// Another place for what op k makes, until its last reader.
typedef struct moved {
    int k, last;
    hap_tensor there;
} moved;

static bool finds_room(hap_rank *r, cuda_record *c, const found *f, int k, moved *to)
{
    const hap_tensor *t = f->op[k]->out[0];
    const int from = f->at[k] < f->stays ? f->at[k] : f->stays;
    *to = (moved){.k = k, .there = *t};
    if (cuda_outlives(r, t) || !cuda_ops_read(c, f->at[k], t, &to->last)) return false;
    to->there.data = t->bytes <= CUDA_SMALL ? cuda_record_room(c, t->bytes)
                                            : cuda_record_spare(r, c, t->bytes, from, to->last);
    return to->there.data && is_free(c, from, to->last, &to->there);
}

static void goes(hap_rank *r, cuda_record *c, const found *f, const moved *to)
{
    cuda_call *e = &c->call[f->at[to->k]];
    hap_op_call *op = e->kind == CUDA_FUSION ? &e->fusion->call[to->k] : &e->op;
    const hap_tensor old = *op->out[0];
    op->out[0] = cuda_retyped(r, c, &old, &to->there);
    cuda_redirect(r, c, f->at[to->k] + 1, to->last, &old, &to->there);
}

// All results lie apart from what linear w and the calls read, or go elsewhere; else none does.
static bool results_apart(hap_rank *r, cuda_record *c, const found *f, int w)
{
    moved to[2];
    int n = 0;
    for (int k = 0; k < f->n; k++) {
        const hap_tensor *y = f->op[k]->out[0];
        if (f->g.passing >> k & 1 ||
            (may_write(f, &c->call[w].op, y) && (f->g.dy || !cuda_meets(y, c->call[w].op.out[0]))))
            continue;
        if (!finds_room(r, c, f, k, &to[n++])) return false;
    }
    for (int i = 0; i < n; i++)
        goes(r, c, f, &to[i]);
    return true;
}

// --- the list ---

// All calls as a chain without the linear; or none. Returns its place, -1: they do not come
// together.
static int joined(cuda_record *c, const found *f)
{
    const int first = f->at[0];
    if (!f->g.dy) return cuda_leads(c, first, f->at[1]) ? f->at[1] - 1 : -1;
    for (int k = 1; k < f->n; k++) {
        if (cuda_joins(c, first, f->at[k])) continue;
        for (int j = first + 1; j < first + k; j++)
            c->call[j].kind = CUDA_OP;
        c->call[first].n_joined = 0;
        return -1;
    }
    return first;
}

void cuda_fuse_gated(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++) {
        cuda_call *e = &c->call[i];
        found f = {0};
        const bool op =
            e->kind == CUDA_OP && !e->chain && (e->op.op == HAP_OP_silu || e->op.op == HAP_OP_mul);
        const bool fusion = e->kind == CUDA_FUSION;
        if (!(op && of_calls(c, i, &f)) && !(fusion && of_fusion(c, i, &f))) continue;
        int w = leader(r, c, &f);
        if (w < 0 || !results_apart(r, c, &f, w)) continue;
        if (fusion) {
            cuda_opens(r, c, i);
            for (int k = 0; k < f.n; k++)
                f.at[k] = i + k;
        }
        const int at = joined(c, &f);
        if (at < 0) continue;
        if (!f.g.dy && w > f.at[0]) w--; // silu went behind it
        if (cuda_leads(c, w, at)) c->call[at - 1].chain = CUDA_GATED;
    }
}
