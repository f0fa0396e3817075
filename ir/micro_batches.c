// Micro-batches: the batch cut in time.
//
// By the factors of the step (factors.h) every node is one of
//     CHUNKED   its rule holds the batch and may cut it: done K times on chunks of the batch, its
//               sizes in attributes adapted. An output that the batch is summed out of is the sum
//               of its K results, added in a chain as they come:
//                   dw#0, dw#1 -> dw#..1, dw#2 -> dw#..2, dw#3 -> dw
//               Partial sums over ranks pass through add, so one reduction can serve all chunks.
//     ONCE      it has no batch, or needs the batch whole (a maximum over it, a view that does not
//               align with it, ops that count positions along it)
// A ONCE node reads chunks through concat; a chunk of what is not chunked (inputs) is a slice.
//
// Order: chunk by chunk, each in the step's own order, with the rest of the step behind the last;
// what a node needs and is not there yet is done just before it (depth first). So a chunk's
// backward pass follows its forward pass, while a sum over the whole batch (the number of tokens
// that a mean is divided by) pulls forward what it needs of the other chunks, and no more.
//
// Random ops index their mask by the element of the whole tensor: a micro-batch says where it
// begins.

#include "ir/variant.h"

#include <string.h>

#include "ir/factors.h"
#include "ir/names.h"

typedef struct splitting {
    const ir_graph *g; // the step
    const ir_factors *f;
    ir_graph *out;
    ir_names *names;
    int n_chunks;
    bool *batch;   // by class of f
    bool *chunked; // by node of g
    int *whole; // by tensor of g: the tensor of out, -1 none yet; a chain's total so far is in sum
    int *sum;   // by tensor of g that the batch is summed out of: the chunks so far
    int *part;  // [tensor of g][chunk]: -1 none yet
    bool *busy; // [node of g][chunk]: begun
    HB_VEC(int) origin; // by node of out: the node of g that it stands for or serves
    HB_VEC(int) chunk;  // by node of out: its chunk, -1 all
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

// Rows whose meaning hangs on the size of a dim or on the index along it (a class, a position).
static bool counts_along(const splitting *s, int node, int k)
{
    const ir_node *n = &s->g->nodes.p[node];
    const ir_rule *r = &s->f->rule[node];
    int last = n->n_in > 0 ? s->g->tensors.p[n->in[0]].rank - 1 : -1;
    const ir_rule_dim *d = NULL;
    switch ((int)n->op) {
    case IR_OP_sdpa:
        d = &r->in[0][2];
        break;
    case IR_OP_sdpa_bwd:
        d = &r->in[1][2];
        break;
    case IR_OP_embedding:
        d = &r->in[0][0];
        break;
    case IR_OP_embedding_bwd:
        d = &r->out[0][0];
        break;
    case IR_OP_target_logit:
    case IR_OP_ce_bwd:
    case IR_OP_row_m2:
    case IR_OP_norm_apply:
    case IR_OP_norm_bwd_stats:
    case IR_OP_norm_bwd:
    case IR_OP_norm_bwd_params:
    case IR_OP_rms_apply:
    case IR_OP_rms_bwd_stats:
    case IR_OP_rms_bwd:
    case IR_OP_rms_bwd_params:
        d = &r->in[0][last];
        break;
    default:
        return false;
    }
    return holds(d, 1, k);
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
    const ir_rule *r = &s->f->rule[node];
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

// --- building ---

static int add(splitting *s, hb_str name, ir_op op, ir_phase phase, int n_in, const int *in,
               const ir_attr *attr, int origin, int chunk)
{
    int id = ir_add_node(s->out, name, op, phase, n_in, in, attr);
    ir_node *n = &s->out->nodes.p[id];
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
    HB_PUSH(s->out->arena, &s->chunk, chunk);
    return id;
}

// The mark stands behind the name of the forward node: fc1#0, fc1#0'dw.
static hb_str chunk_name(splitting *s, hb_str name, const char *mark, int chunk)
{
    const char *of = memchr(name.p, '\'', name.n);
    int n = of ? (int)(of - name.p) : (int)name.n;
    return ir_names_take(s->names, hb_fmt(s->out->arena, "%.*s%s%d%.*s", n, name.p, mark, chunk,
                                          (int)name.n - n, name.p + n));
}

static ir_phase phase_of(const splitting *s, int t)
{
    int p = s->g->tensors.p[t].producer;
    return p < 0 ? IR_FORWARD : s->g->nodes.p[p].phase;
}

static int whole_of(splitting *s, int t);

static int slice(splitting *s, int t, int chunk)
{
    int d = batch_dim(s, t), from = whole_of(s, t);
    int64_t n = chunk_dim(s, t, d);
    ir_attr attr[3] = {{.kind = IR_ATTR_INT, .i = d},
                       {.kind = IR_ATTR_INT, .i = chunk * n},
                       {.kind = IR_ATTR_INT, .i = (chunk + 1) * n}};
    int id = add(s, chunk_name(s, s->g->tensors.p[t].name, "#", chunk), IR_OP_slice, phase_of(s, t),
                 1, &from, attr, s->g->tensors.p[t].producer, chunk);
    return s->out->nodes.p[id].out[0];
}

static void make(splitting *s, int node, int chunk);

static int part_of(splitting *s, int t, int chunk)
{
    if (batch_dim(s, t) < 0) return whole_of(s, t);
    int *part = &s->part[t * s->n_chunks + chunk], producer = s->g->tensors.p[t].producer;
    if (*part >= 0) return *part;
    if (producer >= 0 && s->chunked[producer])
        make(s, producer, chunk);
    else
        *part = slice(s, t, chunk);
    return *part;
}

// Chunks one after the other, by as many concats as their operands need.
static int join(splitting *s, int t)
{
    int n = s->n_chunks, *piece = HB_ARRAY(s->out->arena, int, n),
        producer = s->g->tensors.p[t].producer;
    for (int k = 0; k < n; k++)
        piece[k] = part_of(s, t, k);
    ir_attr dim = {.kind = IR_ATTR_INT, .i = batch_dim(s, t)};
    while (n > 1) {
        int m = 0;
        for (int k = 0; k < n; k += IR_MAX_IN) {
            int some = n - k < IR_MAX_IN ? n - k : IR_MAX_IN;
            bool last = n <= IR_MAX_IN;
            hb_str name = s->g->tensors.p[t].name;
            if (!last) name = chunk_name(s, name, "#+", k);
            int id =
                add(s, name, IR_OP_concat, phase_of(s, t), some, &piece[k], &dim, producer, -1);
            piece[m++] = s->out->nodes.p[id].out[0];
        }
        n = m;
    }
    return piece[0];
}

static int whole_of(splitting *s, int t)
{
    int producer = s->g->tensors.p[t].producer;
    if (s->whole[t] >= 0) return s->whole[t];
    hb_assert(producer >= 0);
    if (!s->chunked[producer]) {
        make(s, producer, -1);
    } else if (batch_dim(s, t) >= 0) {
        s->whole[t] = join(s, t);
    } else {
        for (int k = 0; k < s->n_chunks; k++)
            make(s, producer, k);
    }
    hb_assert(s->whole[t] >= 0);
    return s->whole[t];
}

// What the attributes of a chunk say instead: sizes of the outputs, starts along the batch.
static void adapt(const splitting *s, const ir_node *n, int chunk, ir_attr *attr)
{
    int y = n->out[0], rank = s->g->tensors.p[y].rank, d = (int)attr[0].i;
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
    case IR_OP_dropout: {
        int64_t size = 1;
        for (int i = 0; i < rank; i++)
            size *= chunk_dim(s, y, i);
        attr[ir_attr_index(n->op, "first")].i += chunk * size;
        break;
    }
    case IR_OP_sdpa:
    case IR_OP_sdpa_bwd: { // the mask is [b, heads, queries, keys]
        int q = n->in[n->op == IR_OP_sdpa ? 0 : 1], key = n->in[n->op == IR_OP_sdpa ? 1 : 2];
        int64_t size = s->g->tensors.p[key].dim[2];
        for (int i = 0; i < 3; i++)
            size *= chunk_dim(s, q, i);
        if (attr[ir_attr_index(n->op, "dropout")].f > 0)
            attr[ir_attr_index(n->op, "first")].i += chunk * size;
        break;
    }
    default:
        break;
    }
}

static int as_dtype(splitting *s, int t, ir_dtype dtype, hb_str name, int origin, int chunk)
{
    if (s->out->tensors.p[t].dtype == dtype) return t;
    int id = add(s, name, IR_OP_cast, s->g->nodes.p[origin].phase, 1, &t,
                 &(ir_attr){.kind = IR_ATTR_DTYPE, .i = (int64_t)dtype}, origin, chunk);
    return s->out->nodes.p[id].out[0];
}

// One more chunk of a sum. Sums of bf16 and f16 are kept in f32 until the last.
static void accumulate(splitting *s, int t, int made, int chunk)
{
    const ir_tensor *x = &s->g->tensors.p[t];
    int producer = x->producer;
    ir_dtype dtype = x->dtype, wide = dtype == IR_BF16 || dtype == IR_F16 ? IR_F32 : dtype;
    bool last = chunk == s->n_chunks - 1, narrow = wide != dtype;
    if (narrow)
        made = as_dtype(s, made, wide, chunk_name(s, x->name, "#f32.", chunk), producer, chunk);
    if (s->sum[t] >= 0) {
        hb_str name = last && !narrow ? x->name : chunk_name(s, x->name, "#..", chunk);
        int id = add(s, name, IR_OP_add, s->g->nodes.p[producer].phase, 2, (int[]){s->sum[t], made},
                     NULL, producer, chunk);
        made = s->out->nodes.p[id].out[0];
    }
    s->sum[t] = made;
    if (last) s->whole[t] = narrow ? as_dtype(s, made, dtype, x->name, producer, -1) : made;
}

// Node of the step on one chunk; ONCE nodes: chunk -1.
static void make(splitting *s, int node, int chunk)
{
    const ir_node *n = &s->g->nodes.p[node];
    bool *busy = &s->busy[node * s->n_chunks + (chunk < 0 ? 0 : chunk)];
    if (*busy) return;
    *busy = true;
    int in[IR_MAX_IN];
    for (int i = 0; i < n->n_in; i++)
        in[i] = chunk < 0 ? whole_of(s, n->in[i]) : part_of(s, n->in[i], chunk);
    ir_attr attr[IR_MAX_ATTR];
    memcpy(attr, n->attr, sizeof attr);
    if (chunk >= 0) adapt(s, n, chunk, attr);
    hb_str name = chunk < 0 ? n->name : chunk_name(s, n->name, "#", chunk);
    int id = add(s, name, n->op, n->phase, n->n_in, in, attr, node, chunk);
    s->out->nodes.p[id].again = n->again;
    s->out->nodes.p[id].block = n->block;
    s->out->nodes.p[id].chunk = chunk < 0 ? 0 : chunk;
    int out[IR_MAX_OUT];
    memcpy(out, s->out->nodes.p[id].out, sizeof out);
    for (int o = 0; o < n->n_out; o++) {
        int t = n->out[o];
        ir_tensor *y = &s->out->tensors.p[out[o]];
        y->at = s->g->tensors.p[t].at;
        if (chunk < 0)
            y->name = s->g->tensors.p[t].name;
        else if (!hb_str_eq(s->g->tensors.p[t].name, n->name))
            y->name = chunk_name(s, s->g->tensors.p[t].name, "#", chunk);
        if (chunk < 0)
            s->whole[t] = out[o];
        else if (batch_dim(s, t) >= 0)
            s->part[t * s->n_chunks + chunk] = out[o];
    }
    for (int o = 0; o < n->n_out && chunk >= 0; o++)
        if (batch_dim(s, n->out[o]) < 0) accumulate(s, n->out[o], out[o], chunk);
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

// What outlives the step and is made before the update.
static void results(splitting *s)
{
    if (s->g->loss >= 0) whole_of(s, s->g->loss);
    for (int i = 0; i < s->g->grads.n; i++)
        whole_of(s, s->g->grads.p[i]);
    for (int i = 0; i < s->g->updates.n; i++)
        if (phase_of(s, s->g->updates.p[i].next) != IR_UPDATE) whole_of(s, s->g->updates.p[i].next);
}

static void order(splitting *s)
{
    bool update = false;
    for (int k = 0; k < s->n_chunks; k++)
        for (int n = 0; n < s->g->nodes.n; n++) {
            if (s->g->nodes.p[n].phase == IR_UPDATE && k == s->n_chunks - 1 && !update) {
                update = true;
                results(s);
            }
            if (s->chunked[n])
                make(s, n, k);
            else if (k == s->n_chunks - 1)
                make(s, n, -1);
        }
}

// `forward` of every node: the node of the same chunk, or the one that serves all.
static void link_forward(splitting *s)
{
    ir_graph *out = s->out;
    int *of = HB_ARRAY(out->arena, int, s->g->nodes.n * s->n_chunks + 1);
    for (int n = out->nodes.n - 1; n >= 0; n--)
        if (s->origin.p[n] >= 0 && out->nodes.p[n].op == s->g->nodes.p[s->origin.p[n]].op)
            of[s->origin.p[n] * s->n_chunks + (s->chunk.p[n] < 0 ? 0 : s->chunk.p[n])] = n;
    for (int n = 0; n < out->nodes.n; n++) {
        if (out->nodes.p[n].phase != IR_BACKWARD) continue;
        int forward = s->g->nodes.p[s->origin.p[n]].forward;
        int k = s->chunk.p[n] >= 0 && s->chunked[forward] ? s->chunk.p[n] : 0;
        out->nodes.p[n].forward = of[forward * s->n_chunks + k];
    }
}

static void finish(splitting *s)
{
    ir_graph *out = s->out;
    if (s->g->loss >= 0) out->loss = whole_of(s, s->g->loss);
    for (int i = 0; i < s->g->updates.n; i++) {
        ir_update u = s->g->updates.p[i];
        HB_PUSH(out->arena, &out->updates, (ir_update){whole_of(s, u.tensor), whole_of(s, u.next)});
    }
    for (int i = 0; i < s->g->grads.n; i++)
        HB_PUSH(out->arena, &out->grads, whole_of(s, s->g->grads.p[i]));
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
    for (int n = 0; n < g->nodes.n && good; n++)
        for (int i = 0; i < g->nodes.p[n].n_in && good; i++)
            good = convertible(s, g->nodes.p[n].in[i], s->chunked[n], d);
    for (int i = 0; i < g->updates.n && good; i++)
        good = convertible(s, g->updates.p[i].next, false, d);
    return good;
}

ir_graph *ir_micro_batches(hb_arena *a, const ir_graph *step, int64_t k, hb_diag *d)
{
    hb_assert(k >= 2 && step->micro_batches <= 1);
    if (k > INT16_MAX) {
        hb_error(d, &step->src, (hb_pos){0}, "more than %d micro-batches", INT16_MAX);
        return NULL;
    }
    ir_graph *out = HB_NEW(a, ir_graph);
    splitting s = {.g = step, .f = ir_factorize(a, step), .out = out, .n_chunks = (int)k};
    int n_t = step->tensors.n, n_n = step->nodes.n, n_k = (int)k;
    *out = *step;
    out->arena = a;
    out->tensors.p = NULL;
    out->nodes.p = NULL;
    out->updates.p = NULL;
    out->grads.p = NULL;
    out->tensors.n = out->tensors.cap = out->nodes.n = out->nodes.cap = 0;
    out->updates.n = out->updates.cap = out->grads.n = out->grads.cap = 0;
    out->micro_batches = n_k;
    s.names = ir_names_new(a, step);
    s.batch = HB_ARRAY(a, bool, s.f->n_classes + 1);
    s.chunked = HB_ARRAY(a, bool, n_n + 1);
    s.busy = HB_ARRAY(a, bool, n_n *n_k + 1);
    s.whole = HB_ARRAY(a, int, n_t + 1);
    s.sum = HB_ARRAY(a, int, n_t + 1);
    s.part = HB_ARRAY(a, int, n_t *n_k + 1);
    memset(s.whole, -1, sizeof(int) * (size_t)(n_t + 1));
    memset(s.sum, -1, sizeof(int) * (size_t)(n_t + 1));
    memset(s.part, -1, sizeof(int) * (size_t)(n_t * n_k + 1));
    if (!find_batch(&s, d) || !classify(&s, d)) return NULL;
    leaves(&s);
    order(&s);
    finish(&s);
    return out;
}
