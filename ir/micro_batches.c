// Micro-batches: the batch cut in time.
//
// The step of one micro-batch, in three parts:
//     before   what micro-batches share and no sum over the batch enters: casts of parameters,
//              counts of labels
//     slot     done K times, on chunks of the batch, its sizes in attributes adapted
//     after    what reads sums over the batch, and the update
// By the factors of the step (factors.h) a node may stand in the slot if its rule holds the batch
// and may cut it. An output that the batch is summed out of is added up:
//     before   dw#zero = full 0
//     slot     dw#part = matmul_dw ...; dw = dw#zero + dw#part      (node.adds)
// where in every slot but the first dw#zero stands for dw of the slot before. Sums go in the order
// of the micro-batches. Partial sums over ranks pass through add, so one reduction serves all.
//
// A node that may stand in the slot does not if something outside of it needs what it makes batch
// by batch (a maximum over the batch, a view that does not align with it), or if another slot node
// needs a sum of it (statistics of the whole batch): then it, and what it is made from, is done
// before, on the whole batch at once. A chunk of what is whole (inputs) is a slice.
//
// What hangs on the number i of the micro-batch is an attribute, base + i * step: where a slice
// begins and ends, and the element of the whole mask with which a random op begins.

#include "ir/variant.h"

#include <string.h>

#include "ir/factors.h"
#include "ir/formula.h"
#include "ir/names.h"

typedef struct splitting {
    const ir_graph *g; // the step
    const ir_factors *f;
    ir_graph *out;
    ir_names *names;
    int n_chunks;
    bool *batch;        // by class of f
    bool *chunked;      // by node of g: stands in the slot
    bool *after;        // by node of g that does not: stands behind it
    int *whole;         // by tensor of g: the tensor of out; of a sum, its total; -1 none yet
    int *part;          // by tensor of g that has the batch: of out, a chunk; -1 none yet
    int *zero;          // by tensor of g that slots sum up: of out, where the sum begins
    HB_VEC(int) origin; // by node of out: the node of g that it stands for or serves, -1
} splitting;

// --- where the batch is ---

static bool in_dim(const splitting *s, int t, int d)
{
    const ir_dim_factors *df = &s->f->dim[t][d];
    for (int i = 0; i < df->n; i++)
        if (s->batch[df->cls[i]]) return true;
    return false;
}

static int batch_dim(const splitting *s, int t) // -1: none
{
    for (int d = 0; d < s->g->tensors.p[t].rank; d++)
        if (in_dim(s, t, d)) return d;
    return -1;
}

static int64_t chunk_dim(const splitting *s, int t, int d)
{
    int64_t n = s->g->tensors.p[t].dim[d];
    return in_dim(s, t, d) ? n / s->n_chunks : n;
}

// Is the batch the outermost factor of its dim, so that a chunk is a run of it?
static bool is_run(const splitting *s, int t)
{
    int d = batch_dim(s, t);
    const ir_dim_factors *df = &s->f->dim[t][d];
    for (int i = 0; i < df->n && s->f->cls[df->cls[i]].size >= 1; i++) {
        if (s->batch[df->cls[i]]) return true;
        if (s->f->cls[df->cls[i]].size > 1) return false;
    }
    return false;
}

static bool holds(const ir_rule_dim *dims, int rank, int k)
{
    int dim, pos;
    return ir_rule_find(dims, rank, k, &dim, &pos);
}

static bool counted(const ir_fdim *d, unsigned letters)
{
    bool all = d->n > 0;
    for (int i = 0; i < d->n; i++)
        all = all && letters & 1u << (d->letter[i] - 'a');
    return all;
}

// Does factor k stand in a dim that the op counts along (ops.def)?
static bool counts_along(const splitting *s, int node, int k)
{
    const ir_node *n = &s->g->nodes.p[node];
    unsigned letters = ir_row_formulas(n->op)->counted;
    if (!letters) return false;
    const ir_formula *f = ir_node_formula(n);
    const ir_rule *r = s->f->rule[node];
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        bool in = i < n->n_in;
        int o = in ? i : i - n->n_in, t = in ? n->in[o] : n->out[o];
        const ir_foperand *x = in ? &f->in[o] : &f->out[o];
        const ir_rule_dim *dims = in ? r->in[o] : r->out[o];
        int first = s->g->tensors.p[t].rank - x->n; // of the dims behind leading ones
        for (int d = 0; d < x->n; d++)
            if (counted(&x->dim[d], letters) && holds(&dims[first + d], 1, k)) return true;
    }
    return false;
}

// A random op's micro-batch must be a run of the mask: the batch is the outermost factor.
static bool mask_is_run(const splitting *s, int node)
{
    const ir_node *n = &s->g->nodes.p[node];
    int t = n->in[n->op == IR_OP_sdpa_bwd ? 1 : 0], d = batch_dim(s, t);
    for (int i = 0; i < d; i++)
        if (s->g->tensors.p[t].dim[i] != 1) return false;
    return d >= 0 && is_run(s, t);
}

static bool may_chunk(const splitting *s, int node)
{
    const ir_node *n = &s->g->nodes.p[node];
    const ir_rule *r = s->f->rule[node];
    int k = -1;
    for (int i = 0; i < r->n_factors; i++) {
        if (!s->batch[r->factor[i].cls]) continue;
        if (k >= 0 || r->factor[i].whole) return false;
        k = i;
    }
    if (k < 0 || n->phase == IR_UPDATE || counts_along(s, node, k)) return false;
    if (ir_op_of(n->op)->flags & IR_RANDOM && !mask_is_run(s, node)) return false;
    for (int o = 0; o < n->n_out; o++) {
        if (holds(r->out[o], s->g->tensors.p[n->out[o]].rank, k)) continue;
        if (r->reducer[o] != 's') return false;
        for (int t = 0; t < r->n_terms; t++) { // a term without the batch would be added K times
            bool has = false, there = false;
            for (int i = 0; i < n->n_in; i++) {
                if (r->term[i] != t) continue;
                there = true;
                has = has || holds(r->in[i], s->g->tensors.p[n->in[i]].rank, k);
            }
            if (there && !has) return false;
        }
    }
    return true;
}

// --- which nodes stand in the slot ---

// A sum over the micro-batches.
static bool is_total(const splitting *s, int t)
{
    int p = s->g->tensors.p[t].producer;
    return p >= 0 && s->chunked[p] && batch_dim(s, t) < 0;
}

// The node is done on the whole batch, and so is all that it is made from.
static void take_out(splitting *s, int node)
{
    const ir_node *n = &s->g->nodes.p[node];
    s->chunked[node] = false;
    for (int i = 0; i < n->n_in; i++) {
        int p = s->g->tensors.p[n->in[i]].producer;
        if (p >= 0 && (s->chunked[p] || s->after[p])) take_out(s, p);
    }
    s->after[node] = false;
}

// What is read outside of the slot, of the whole batch, is made outside.
static bool make_whole(splitting *s, int t)
{
    int p = s->g->tensors.p[t].producer;
    if (p < 0 || !s->chunked[p] || batch_dim(s, t) < 0) return false;
    take_out(s, p);
    return true;
}

// One look at all nodes; true if one left the slot.
static bool settle(splitting *s)
{
    const ir_graph *g = s->g;
    bool left = false;
    memset(s->after, 0, (size_t)g->nodes.n);
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        s->after[k] = n->phase == IR_UPDATE;
        for (int i = 0; i < n->n_in; i++) {
            int t = n->in[i], p = g->tensors.p[t].producer;
            bool late = is_total(s, t) || (p >= 0 && s->after[p]);
            if (!s->chunked[k]) {
                left = make_whole(s, t) || left;
                s->after[k] = s->after[k] || late;
            } else if (late) { // it needs a sum before the last micro-batch
                take_out(s, p);
                left = true;
            }
        }
    }
    if (g->loss >= 0) left = make_whole(s, g->loss) || left;
    for (int i = 0; i < g->grads.n; i++)
        left = make_whole(s, g->grads.p[i]) || left;
    for (int i = 0; i < g->updates.n; i++)
        left = make_whole(s, g->updates.p[i].next) || left;
    return left;
}

// What is done before the slot and read behind it alone is done there.
static void sink(splitting *s)
{
    const ir_graph *g = s->g;
    bool *early = HB_ARRAY(s->out->arena, bool, g->tensors.n + 1); // is read before or in the slot
    for (int k = g->nodes.n - 1; k >= 0; k--) {
        const ir_node *n = &g->nodes.p[k];
        bool read = false;
        for (int o = 0; o < n->n_out; o++)
            read = read || early[n->out[o]];
        if (!s->chunked[k] && !read) s->after[k] = true;
        for (int i = 0; i < n->n_in && !s->after[k]; i++)
            early[n->in[i]] = true;
    }
}

// --- building ---

static int add(splitting *s, hb_str name, ir_op op, ir_turn turn, int n_in, const int *in,
               const ir_attr *attr, int origin)
{
    int id = ir_add_node(s->out, name, op, origin < 0 ? IR_FORWARD : s->g->nodes.p[origin].phase,
                         n_in, in, attr);
    ir_node *n = &s->out->nodes.p[id];
    n->turn = turn;
    if (origin >= 0) {
        n->from = s->g->nodes.p[origin].from;
        n->at = s->g->nodes.p[origin].at;
        n->more = s->g->nodes.p[origin].more;
    }
    for (int o = 0; o < n->n_out; o++) {
        s->out->tensors.p[n->out[o]].at = n->at;
        s->out->tensors.p[n->out[o]].more = n->more;
    }
    HB_PUSH(s->out->arena, &s->origin, origin);
    return id;
}

// The mark stands behind the name of the forward node: fc1#part, fc1#part'dw.
static hb_str marked(splitting *s, hb_str name, const char *mark)
{
    const char *of = memchr(name.p, '\'', name.n);
    int n = of ? (int)(of - name.p) : (int)name.n;
    return ir_names_take(s->names, hb_fmt(s->out->arena, "%.*s#%s%.*s", n, name.p, mark,
                                          (int)name.n - n, name.p + n));
}

static int slice(splitting *s, int t)
{
    int d = batch_dim(s, t);
    int64_t n = chunk_dim(s, t, d);
    ir_attr attr[3] = {{.kind = IR_ATTR_INT, .i = d},
                       {.kind = IR_ATTR_INT, .i = 0},
                       {.kind = IR_ATTR_INT, .i = n}};
    int id = add(s, marked(s, s->g->tensors.p[t].name, "part"), IR_OP_slice, IR_SLOT, 1,
                 &s->whole[t], attr, s->g->tensors.p[t].producer);
    s->out->nodes.p[id].step = n;
    s->out->tensors.p[s->out->nodes.p[id].out[0]].more = s->g->tensors.p[t].more;
    return s->out->nodes.p[id].out[0];
}

static int part_of(splitting *s, int t)
{
    if (batch_dim(s, t) < 0) return s->whole[t];
    if (s->part[t] < 0) s->part[t] = slice(s, t);
    return s->part[t];
}

// What the attributes of a chunk say instead, and by how much they grow from one to the next.
static int64_t adapt(const splitting *s, const ir_node *n, ir_attr *attr)
{
    int y = n->out[0], rank = s->g->tensors.p[y].rank, d = (int)attr[0].i;
    int64_t size = 1;
    switch ((int)n->op) {
    case IR_OP_reshape:
    case IR_OP_expand:
    case IR_OP_full:
        for (int i = 0; i < rank; i++)
            attr[0].v[i] = chunk_dim(s, y, i);
        break;
    case IR_OP_split:
        for (int o = 0; o < n->n_out; o++)
            attr[1].v[o] = chunk_dim(s, n->out[o], d);
        break;
    case IR_OP_slice:
    case IR_OP_pad:
        if (!in_dim(s, y, d)) break;
        attr[1].i /= s->n_chunks;
        attr[2].i /= s->n_chunks;
        break;
    case IR_OP_dropout:
        for (int i = 0; i < rank; i++)
            size *= chunk_dim(s, y, i);
        return size;
    case IR_OP_sdpa:
    case IR_OP_sdpa_bwd: { // the mask is [b, heads, queries, keys]
        int q = n->in[n->op == IR_OP_sdpa ? 0 : 1], key = n->in[n->op == IR_OP_sdpa ? 1 : 2];
        size = s->g->tensors.p[key].dim[2];
        for (int i = 0; i < 3; i++)
            size *= chunk_dim(s, q, i);
        return attr[ir_attr_index(n->op, "dropout")].f > 0 ? size : 0;
    }
    default:
        break;
    }
    return 0;
}

static bool is_narrow(ir_dtype t)
{
    return t == IR_BF16 || t == IR_F16;
}

// Where the sum of t over the micro-batches begins. Sums of bf16 and f16 are kept in f32.
static void begin_sum(splitting *s, int t)
{
    const ir_tensor *x = &s->g->tensors.p[t];
    ir_attr attr[3] = {{.kind = IR_ATTR_INTS, .n = x->rank}, {.kind = IR_ATTR_REAL}, {0}};
    for (int d = 0; d < x->rank; d++)
        attr[0].v[d] = x->dim[d];
    attr[2] = (ir_attr){.kind = IR_ATTR_DTYPE, .i = is_narrow(x->dtype) ? IR_F32 : x->dtype};
    int id = add(s, marked(s, x->name, "zero"), IR_OP_full, IR_BEFORE, 0, NULL, attr, x->producer);
    s->zero[t] = s->out->nodes.p[id].out[0];
}

static void add_up(splitting *s, int t, int made)
{
    const ir_tensor *x = &s->g->tensors.p[t];
    bool narrow = is_narrow(x->dtype);
    if (narrow) {
        ir_attr wide = {.kind = IR_ATTR_DTYPE, .i = IR_F32};
        int id =
            add(s, marked(s, x->name, "wide"), IR_OP_cast, IR_SLOT, 1, &made, &wide, x->producer);
        made = s->out->nodes.p[id].out[0];
    }
    int id = add(s, narrow ? marked(s, x->name, "sum") : x->name, IR_OP_add, IR_SLOT, 2,
                 (int[]){s->zero[t], made}, NULL, x->producer);
    s->out->nodes.p[id].adds = true;
    s->whole[t] = s->out->nodes.p[id].out[0];
}

// A sum of bf16 or f16 in its own type again.
static void narrow_sum(splitting *s, int t)
{
    const ir_tensor *x = &s->g->tensors.p[t];
    ir_attr dtype = {.kind = IR_ATTR_DTYPE, .i = (int64_t)x->dtype};
    int id = add(s, x->name, IR_OP_cast, IR_AFTER, 1, &s->whole[t], &dtype, x->producer);
    s->whole[t] = s->out->nodes.p[id].out[0];
}

static void make(splitting *s, int node)
{
    const ir_node *n = &s->g->nodes.p[node];
    bool chunked = s->chunked[node];
    int in[IR_MAX_IN], out[IR_MAX_OUT];
    for (int i = 0; i < n->n_in; i++)
        in[i] = chunked ? part_of(s, n->in[i]) : s->whole[n->in[i]];
    ir_attr attr[IR_MAX_ATTR];
    memcpy(attr, n->attr, sizeof attr);
    int64_t step = chunked ? adapt(s, n, attr) : 0;
    hb_str name = chunked && is_total(s, n->out[0]) ? marked(s, n->name, "part") : n->name;
    int id = add(s, name, n->op,
                 chunked          ? IR_SLOT
                 : s->after[node] ? IR_AFTER
                                  : IR_BEFORE,
                 n->n_in, in, attr, node);
    ir_node *made = &s->out->nodes.p[id];
    made->again = n->again;
    made->block = n->block;
    made->step = step;
    memcpy(out, made->out, sizeof out);
    for (int o = 0; o < n->n_out; o++) {
        int t = n->out[o];
        ir_tensor *y = &s->out->tensors.p[out[o]];
        y->at = s->g->tensors.p[t].at;
        y->more = s->g->tensors.p[t].more;
        if (!is_total(s, t))
            y->name = s->g->tensors.p[t].name;
        else if (o > 0)
            y->name = marked(s, s->g->tensors.p[t].name, "part");
        *(chunked && !is_total(s, t) ? &s->part[t] : &s->whole[t]) = out[o];
    }
    for (int o = 0; o < n->n_out; o++)
        if (is_total(s, n->out[o])) add_up(s, n->out[o], out[o]);
}

// --- the whole ---

static void leaves(splitting *s)
{
    for (int t = 0; t < s->g->tensors.n; t++) {
        ir_tensor x = s->g->tensors.p[t];
        if (x.kind == IR_VALUE) continue;
        if (x.of >= 0) x.of = s->whole[x.of]; // a moment stands behind its parameter
        HB_PUSH(s->out->arena, &s->out->tensors, x);
        s->whole[t] = s->out->tensors.n - 1;
    }
}

static void order(splitting *s)
{
    const ir_graph *g = s->g;
    for (int n = 0; n < g->nodes.n; n++)
        if (!s->chunked[n] && !s->after[n]) make(s, n);
    for (int t = 0; t < g->tensors.n; t++)
        if (is_total(s, t)) begin_sum(s, t);
    for (int n = 0; n < g->nodes.n; n++)
        if (s->chunked[n]) make(s, n);
    for (int t = 0; t < g->tensors.n; t++)
        if (is_total(s, t) && is_narrow(g->tensors.p[t].dtype)) narrow_sum(s, t);
    for (int n = 0; n < g->nodes.n; n++)
        if (s->after[n]) make(s, n);
}

// `forward` of every node.
static void link_forward(splitting *s)
{
    ir_graph *out = s->out;
    int *of = HB_ARRAY(out->arena, int, s->g->nodes.n + 1);
    for (int n = out->nodes.n - 1; n >= 0; n--)
        if (s->origin.p[n] >= 0 && out->nodes.p[n].op == s->g->nodes.p[s->origin.p[n]].op)
            of[s->origin.p[n]] = n;
    for (int n = 0; n < out->nodes.n; n++)
        if (out->nodes.p[n].phase == IR_BACKWARD)
            out->nodes.p[n].forward = of[s->g->nodes.p[s->origin.p[n]].forward];
}

static void finish(splitting *s)
{
    ir_graph *out = s->out;
    if (s->g->loss >= 0) out->loss = s->whole[s->g->loss];
    for (int i = 0; i < s->g->updates.n; i++) {
        ir_update u = s->g->updates.p[i];
        HB_PUSH(out->arena, &out->updates, (ir_update){s->whole[u.tensor], s->whole[u.next]});
    }
    for (int i = 0; i < s->g->grads.n; i++)
        HB_PUSH(out->arena, &out->grads, s->whole[s->g->grads.p[i]]);
    out->alias = hb_copy(out->arena, s->g->alias, sizeof *out->alias * (size_t)s->g->n_alias);
    for (int i = 0; i < out->n_alias; i++)
        out->alias[i].tensor = s->whole[s->g->alias[i].tensor];
    link_forward(s);
}

static bool find_batch(splitting *s, hb_diag *d)
{
    const ir_graph *g = s->g;
    bool any = false;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *x = &g->tensors.p[t];
        if (x->kind != IR_INPUT || x->batch < 0 || x->dim[x->batch] == 1) continue;
        const ir_dim_factors *df = &s->f->dim[t][x->batch];
        int c = df->cls[0];
        if (s->f->cls[c].size % s->n_chunks != 0) {
            hb_error(d, &g->src, x->at,
                     "%d micro-batches do not divide the batch of %lld of input '%.*s'%s",
                     s->n_chunks, (long long)x->dim[x->batch], HB_ARG(x->name),
                     df->n > 1 ? " evenly (the step divides it into parts)" : "");
            return false;
        }
        s->batch[c] = any = true;
    }
    if (!any)
        hb_error(d, &g->src, (hb_pos){0},
                 "--micro-batches %d: the step has no batch (no input with a batch dim)",
                 s->n_chunks);
    return any;
}

// A tensor that is met both in chunks and as a whole must be cut where slice and concat can cut.
static bool convertible(const splitting *s, int t, bool in_chunks, hb_diag *d)
{
    const ir_tensor *x = &s->g->tensors.p[t];
    bool made = x->producer >= 0 && s->chunked[x->producer];
    if (batch_dim(s, t) < 0 || made == in_chunks || is_run(s, t)) return true;
    hb_error(d, &s->g->src, x->at,
             "not supported: micro-batches of '%.*s', whose batch is inside dim %d",
             HB_ARG(x->name), batch_dim(s, t));
    return false;
}

static bool classify(splitting *s, hb_diag *d)
{
    const ir_graph *g = s->g;
    bool good = true;
    for (int t = 0; t < g->tensors.n;
         t++) { // the batch twice in one tensor: what is a chunk of it?
        int places = 0;
        for (int i = 0; i < g->tensors.p[t].rank; i++)
            for (int p = 0; p < s->f->dim[t][i].n; p++)
                places += s->batch[s->f->dim[t][i].cls[p]];
        if (places < 2) continue;
        hb_error(d, &g->src, g->tensors.p[t].at,
                 "not supported: micro-batches, as '%.*s' has the batch twice",
                 HB_ARG(g->tensors.p[t].name));
        return false;
    }
    for (int n = 0; n < g->nodes.n; n++)
        s->chunked[n] = may_chunk(s, n);
    while (settle(s)) {}
    sink(s);
    bool any = false;
    for (int n = 0; n < g->nodes.n; n++)
        any = any || s->chunked[n];
    if (!any) {
        hb_error(d, &g->src, (hb_pos){0},
                 "not supported: micro-batches, as every op needs the batch whole");
        return false;
    }
    for (int n = 0; n < g->nodes.n && good; n++)
        for (int i = 0; i < g->nodes.p[n].n_in && good; i++)
            good = convertible(s, g->nodes.p[n].in[i], s->chunked[n], d);
    for (int i = 0; i < g->updates.n && good; i++)
        good = convertible(s, g->updates.p[i].next, false, d);
    return good;
}

ir_graph *ir_micro_batches(hb_arena *a, const ir_graph *step, const ir_factors *f, int64_t k,
                           hb_diag *d)
{
    hb_assert(k >= 2 && step->micro_batches <= 1);
    if (k > INT16_MAX) {
        hb_error(d, &step->src, (hb_pos){0}, "more than %d micro-batches", INT16_MAX);
        return NULL;
    }
    ir_graph *out = ir_empty_like(a, step);
    splitting s = {.g = step, .f = f ? f : ir_factorize(a, step), .out = out, .n_chunks = (int)k};
    int n_t = step->tensors.n, n_n = step->nodes.n;
    out->micro_batches = (int)k;
    s.names = ir_names_new(a, step);
    s.batch = HB_ARRAY(a, bool, s.f->n_classes + 1);
    s.chunked = HB_ARRAY(a, bool, n_n + 1);
    s.after = HB_ARRAY(a, bool, n_n + 1);
    s.whole = HB_ARRAY(a, int, n_t + 1);
    s.part = HB_ARRAY(a, int, n_t + 1);
    s.zero = HB_ARRAY(a, int, n_t + 1);
    memset(s.whole, -1, sizeof(int) * (size_t)(n_t + 1));
    memset(s.part, -1, sizeof(int) * (size_t)(n_t + 1));
    if (!find_batch(&s, d) || !classify(&s, d)) return NULL;
    leaves(&s);
    order(&s);
    finish(&s);
    return out;
}
