// The CPU backend, with each step run from a list as the CUDA backend fuses it: recorded in the
// second step, fused (--cuda fuse=off: not), run call by call on CPU kernels from then on. A
// program linked with -Wl,--wrap for the functions below so runs what cuda_fuse leaves, on
// any number of ranks; what a chain says that nobody reads is poisoned. So is, unless
// --cuda fuse=off, what others may write from a call on (cuda_ahead.h). With HAP_TEST_HASTY that
// comes a call too early, which is to be noticed. With HAP_TEST_WAYS every second step from the
// third on runs as if in parts (cuda_live.h): what would be in a graph lets others know of nothing,
// and of parts that are said to be the same work (cuda_spans.h) the first one's calls are made.
// Fusions of a gated MLP (kernels/cuda_gated.h) are recorded as such, all others op by op.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/ports.h"
#include "cpu/ops_kernels.h"
#include "cuda/fuse/cuda_fuse.h"
#include "cuda/fuse/cuda_list.h"
#include "cuda/kernels/cuda_gated.h"
#include "cuda/step/cuda_ahead.h"
#include "cuda/step/cuda_live.h"
#include "cuda/step/cuda_spans.h"

void __real_hap_backend_begin(hap_rank *r);
void __real_hap_backend_sync(hap_rank *r);
void __real_hap_backend_op(hap_rank *r, const hap_op_call *c);
void __real_hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x);
void __real_hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x);
hap_event *__real_hap_backend_coll(hap_rank *r, const hap_coll_call *c);
hap_event *__real_hap_backend_pair(hap_rank *r, const hap_pair *p);
void __real_hap_backend_port(hap_rank *r, hap_port_end *e, bool send, const hap_op_call *c);
void __real_hap_backend_wait(hap_rank *r, hap_event *e);
void __real_hap_backend_fuse(hap_rank *r, const char *kernel);
void __real_hap_backend_fused(hap_rank *r, int n, hap_tensor *const *kept);
void __wrap_hap_backend_begin(hap_rank *r);
void __wrap_hap_backend_sync(hap_rank *r);
void __wrap_hap_backend_op(hap_rank *r, const hap_op_call *c);
void __wrap_hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x);
void __wrap_hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x);
hap_event *__wrap_hap_backend_coll(hap_rank *r, const hap_coll_call *c);
hap_event *__wrap_hap_backend_pair(hap_rank *r, const hap_pair *p);
void __wrap_hap_backend_port(hap_rank *r, hap_port_end *e, bool send, const hap_op_call *c);
void __wrap_hap_backend_wait(hap_rank *r, hap_event *e);
void __wrap_hap_backend_fuse(hap_rank *r, const char *kernel);
void __wrap_hap_backend_fused(hap_rank *r, int n, hap_tensor *const *kept);

// In place of what needs a device; its memory: device_memory.c.
bool cuda_is_float(hap_dtype t)
{
    return t == HAP_F32 || t == HAP_BF16 || t == HAP_F16;
}

int64_t cuda_entries(const hap_tensor *t, int from, int to)
{
    return cpu_entries(t, from, to);
}

cuda_head_at cuda_heads_dense(const hap_tensor *t)
{
    return (cuda_head_at){t->local[1] * t->local[2] * t->local[3], t->local[2] * t->local[3],
                          t->local[3]};
}

enum { CALLED, RECORDING, LISTED };
static struct {
    int mode, steps;
    cuda_record list;
    bool *live; // of calls, once a step has run in parts
    int *as;    // by call: the one that is made in its place
} own;

struct hap_event {
    int call;
};
static struct hap_event passed[4096]; // of the step that records, by call

void __wrap_hap_backend_begin(hap_rank *r)
{
    __real_hap_backend_begin(r);
    own.mode = own.steps == 0 ? CALLED : own.steps == 1 ? RECORDING : LISTED;
    own.steps++;
}

static struct {
    bool open;
    cuda_fusion g;
    hap_op_call op[CUDA_FUSION_OPS];
} fusion; // that is being recorded

void __wrap_hap_backend_op(hap_rank *r, const hap_op_call *c)
{
    if (own.mode == CALLED) __real_hap_backend_op(r, c);
    if (own.mode != RECORDING) return;
    if (!fusion.open) {
        cuda_record_op(r, &own.list, c);
        return;
    }
    HAP_CK(r, fusion.g.n_ops < CUDA_FUSION_OPS, "%d ops", fusion.g.n_ops);
    fusion.g.op[fusion.g.n_ops] = c->op, fusion.g.line[fusion.g.n_ops] = r->line;
    fusion.op[fusion.g.n_ops++] = *c;
}

void __wrap_hap_backend_fuse(hap_rank *r, const char *kernel)
{
    __real_hap_backend_fuse(r, kernel);
    fusion.open = own.mode == RECORDING;
    fusion.g = (cuda_fusion){.name = kernel};
}

// A tensor of the fusion that an op reads, or makes.
static void fusion_tensor(hap_tensor *t, bool made, int n, hap_tensor *const *kept)
{
    cuda_fusion *g = &fusion.g;
    for (int k = 0; k < g->n_tensors; k++)
        if (g->tensor[k].t == t) return;
    g->tensor[g->n_tensors].t = t, g->tensor[g->n_tensors].read = !made;
    g->tensor[g->n_tensors].cast_of = -1;
    for (int k = 0; k < n; k++)
        g->tensor[g->n_tensors].written |= kept[k] == t;
    g->n_tensors++;
}

void __wrap_hap_backend_fused(hap_rank *r, int n, hap_tensor *const *kept)
{
    const hap_op_call *op[CUDA_FUSION_OPS];
    cuda_gated gated;
    __real_hap_backend_fused(r, n, kept);
    if (!fusion.open) return;
    fusion.open = false;
    for (int k = 0; k < fusion.g.n_ops; k++)
        op[k] = &fusion.op[k];
    if (!cuda_gated_of(op, fusion.g.n_ops, &gated)) {
        for (int k = 0; k < fusion.g.n_ops; k++)
            cuda_record_op(r, &own.list, op[k]);
        return;
    }
    for (int k = 0; k < fusion.g.n_ops; k++) {
        for (int i = 0; i < op[k]->n_in; i++)
            fusion_tensor(op[k]->in[i], false, n, kept);
        fusion_tensor(op[k]->out[0], true, n, kept);
    }
    cuda_record_fusion(r, &own.list, &fusion.g, fusion.op);
}

void __wrap_hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    if (own.mode == CALLED) __real_hap_backend_cut(r, y, x);
    if (own.mode == RECORDING) cuda_record_move(r, &own.list, CUDA_CUT, false, y, x);
}

void __wrap_hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x)
{
    if (own.mode == CALLED) __real_hap_backend_partial(r, keep, y, x);
    if (own.mode == RECORDING) cuda_record_move(r, &own.list, CUDA_PARTIAL, keep, y, x);
}

hap_event *__wrap_hap_backend_coll(hap_rank *r, const hap_coll_call *c)
{
    if (own.mode == CALLED) return __real_hap_backend_coll(r, c);
    if (own.mode == LISTED) return &passed[0];
    int i = cuda_record_start(r, &own.list, c);
    HAP_CK(r, i < 4096, "%d calls", i);
    passed[i].call = i;
    return &passed[i];
}

hap_event *__wrap_hap_backend_pair(hap_rank *r, const hap_pair *p)
{
    if (own.mode == CALLED) return __real_hap_backend_pair(r, p);
    if (own.mode == LISTED) return &passed[0];
    int i = cuda_record_pair(r, &own.list, p);
    HAP_CK(r, i < 4096, "%d calls", i);
    passed[i].call = i;
    return p->consumer ? NULL : &passed[i];
}

void __wrap_hap_backend_port(hap_rank *r, hap_port_end *e, bool send, const hap_op_call *c)
{
    if (own.mode == CALLED) __real_hap_backend_port(r, e, send, c);
    if (own.mode == RECORDING) cuda_record_port(r, &own.list, c);
}

void __wrap_hap_backend_wait(hap_rank *r, hap_event *e)
{
    if (own.mode == CALLED) __real_hap_backend_wait(r, e);
    if (own.mode == RECORDING) cuda_record_wait(r, &own.list, e->call);
}

// --- the list ---

// Heads of t from or to where they lie; a tensor with strides is as large as the dense one.
static void move_heads(const hap_tensor *t, const cuda_head_at *at, void *dense, bool out)
{
    cuda_head_at d = cuda_heads_dense(t);
    int64_t ds[] = {d.b, d.h, d.s, 1}, ts[] = {at->b, at->h, at->s, 1};
    if (out)
        cpu_copy(4, t->local, t->data, ts, dense, ds, hap_dtype_bytes(t->type));
    else
        cpu_copy(4, t->local, dense, ds, t->data, ts, hap_dtype_bytes(t->type));
}

// Heads that turn in place, [b, s, h, e].
static void run_turn(hap_rank *r, const cuda_call *e)
{
    const hap_tensor *t = e->op.in[0];
    const cuda_head_at at = e->at[CUDA_Q];
    int64_t h = t->local[3], s = t->local[2] * h, b = t->local[1] * s;
    int64_t ds[] = {b, s, h, 1}, ts[] = {at.b, at.s, at.h, 1}, elem = hap_dtype_bytes(t->type);
    hap_op_call op = e->op;
    hap_tensor dense = *t;
    dense.bytes = t->elements * elem;
    dense.data = hap_alloc(r, (size_t)dense.bytes + 1);
    cpu_copy(4, t->local, dense.data, ds, t->data, ts, elem);
    op.in[0] = op.out[0] = &dense;
    __real_hap_backend_op(r, &op);
    cpu_copy(4, t->local, t->data, ts, dense.data, ds, elem);
    free(dense.data);
}

static void run_heads(hap_rank *r, const cuda_call *e)
{
    static const int in_fwd[] = {CUDA_Q, CUDA_K, CUDA_V}, out_fwd[] = {CUDA_Y},
                     in_bwd[] = {CUDA_DY, CUDA_Q, CUDA_K, CUDA_V, CUDA_Y},
                     out_bwd[] = {CUDA_DQ, CUDA_DK, CUDA_DV};
    bool forward = e->op.op == HAP_OP_sdpa;
    int n_in = forward ? 3 : 5, n_out = forward ? 1 : 3;
    const int *in = forward ? in_fwd : in_bwd, *out = forward ? out_fwd : out_bwd;
    hap_op_call op = e->op;
    op.n_out = forward ? op.n_out : n_out;
    hap_tensor dense[8];
    for (int k = 0; k < n_in + n_out; k++) {
        hap_tensor *t = k < n_in ? e->op.in[k] : e->op.out[k - n_in];
        dense[k] = *t;
        dense[k].bytes = t->elements * hap_dtype_bytes(t->type);
        dense[k].data = hap_alloc(r, (size_t)dense[k].bytes + 1);
        if (k < n_in) move_heads(t, &e->at[in[k]], dense[k].data, false);
        *(k < n_in ? &op.in[k] : &op.out[k - n_in]) = &dense[k];
    }
    __real_hap_backend_op(r, &op);
    for (int k = 0; k < n_out; k++)
        move_heads(e->op.out[k], &e->at[out[k]], dense[n_in + k].data, true);
    for (int k = 0; k < n_in + n_out; k++)
        free(dense[k].data);
    if (forward || e->op.n_out == n_out) return;
    // Sums of the rows of all three, which lie side by side.
    hap_tensor rows = *e->op.out[0];
    rows.rank = 2;
    rows.local[0] *= rows.local[2], rows.local[1] = e->at[CUDA_DQ].s;
    rows.elements = rows.local[0] * rows.local[1];
    rows.dim[0] = WHOLE(rows.local[0]), rows.dim[1] = WHOLE(rows.local[1]);
    int64_t dim = 0;
    hap_op_call sum = {.op = HAP_OP_sum, .n_out = 1, .n_in = 1, .n_attr = 2};
    sum.out[0] = e->op.out[3], sum.in[0] = &rows;
    sum.attr[0].v = (hap_ints){1, &dim};
    __real_hap_backend_op(r, &sum);
}

// An op, with what else an update writes.
static void run_one(hap_rank *r, const hap_op_call *c)
{
    hap_op_call op = *c;
    int places = cuda_update_places(op.op);
    bool copies = places > 0 && op.n_out > places;
    if (copies) op.n_out = places;
    __real_hap_backend_op(r, &op);
    if (!copies) return;
    hap_op_call cast = {.op = HAP_OP_cast, .n_out = 1, .n_in = 1};
    cast.out[0] = c->out[places], cast.in[0] = c->in[0];
    __real_hap_backend_op(r, &cast);
}

// Outputs that the chain at i says nobody reads.
static void poison(cuda_record *c, int i)
{
    const cuda_call *e = &c->call[i];
    for (int k = i; k <= i + e->n_joined && k - i < 32; k++) {
        hap_tensor *t = c->call[k].op.n_out ? c->call[k].op.out[0] : NULL;
        bool again = !t;
        for (int j = i; !again && j <= i + e->n_joined; j++)
            for (int o = 0; o < c->call[j].op.n_out; o++)
                again |= (j > k || (j == k && o > 0)) && cuda_meets(c->call[j].op.out[o], t);
        if (!again && (e->unread >> (k - i) & 1)) memset(t->data, 0x7F, (size_t)t->bytes);
    }
}

// Where one-sided puts of which the others may know after call i will write. Returns how many.
static int poison_ahead(const hap_rank *r, cuda_record *c, int i)
{
    int n = 0;
    if (getenv("HAP_TEST_HASTY")) i++;
    for (unsigned axes = 1; axes < CUDA_MASKS && r->opt.cuda.fuse != HAP_CUDA_fuse_off; axes++)
        for (int k; (k = cuda_ahead_next(c, axes, i)) >= 0; n++) {
            const hap_coll_call *coll = &c->call[k].coll;
            for (int j = 0; j < coll->n; j++)
                memset(coll->dst[j]->data, 0x7F, (size_t)coll->dst[j]->bytes);
            if (coll->scratch) memset(coll->scratch->data, 0x7F, (size_t)coll->scratch->bytes);
        }
    return n;
}

// Returns how many graphs there would be.
static int find_parts(hap_rank *r, const cuda_record *c, const bool *live)
{
    int n, captured = 0, graphs = 0;
    cuda_span *s = cuda_spans(r, c, live, &n);
    own.as = hap_alloc(r, (size_t)c->n * sizeof *own.as);
    for (int k = 0; k < n; k++) {
        int from = s[k].live ? s[k].from : s[s[k].as].from;
        for (int i = s[k].from; i < s[k].to; i++)
            own.as[i] = from + i - s[k].from;
        captured += !s[k].live;
        graphs += s[k].as == k;
    }
    fprintf(stderr, "rank %d %d captured parts, %d like others\n", r->id, captured,
            captured - graphs);
    free(s);
    return graphs;
}

static void find_live(hap_rank *r, const cuda_record *c, bool *live)
{
    int n = cuda_live_starts(c), in_graphs = 0;
    unsigned which = 0;
    int *in = hap_alloc(r, (size_t)n * sizeof *in);
    for (int i = 0; i < c->n; i++)
        live[i] = c->call[i].kind == CUDA_PAIR ||
                  (c->call[i].kind == CUDA_START && hap_form_put(c->call[i].coll.form)) ||
                  cuda_live_of_stages(r, &c->call[i]);
    cuda_live_close(c, live);
    for (int news = r->n_stages < 2; news;) { // lists of stages differ
        cuda_live_tell(c, live, in);
        for (int k = 0; k < n; k++)
            in[k] = hap_comm_min(r, in[k]);
        news = -hap_comm_min(r, -(int)cuda_live_hear(c, live, in));
    }
    cuda_live_tell(c, live, in);
    for (int k = 0; k < n; k++) {
        in_graphs += in[k];
        which = which * 31 + (unsigned)in[k];
    }
    fprintf(stderr, "rank %d %d graphs, %d of %d starts in them (%08x)\n", r->id,
            find_parts(r, c, live), in_graphs, n, which);
    free(in);
}

static void run_port(hap_rank *r, const hap_op_call *c)
{
    bool send;
    hap_port_end *e = hap_port_of(r, c, &send);
    __real_hap_backend_port(r, e, send, c);
}

// live: of the calls that are no part of a graph; NULL: all.
static void run_list(hap_rank *r, cuda_record *c, const bool *live)
{
    int n_puts = 0, ahead = 0;
    cuda_ahead_begin(c);
    ahead += poison_ahead(r, c, -1);
    for (int at = 0; at < c->n; at++) {
        int i = live ? own.as[at] : at;
        cuda_call *e = &c->call[i];
        switch (e->kind) {
        case CUDA_DONE:
            break;
        case CUDA_FUSION:
            for (int k = 0; k < e->fusion->n_ops; k++)
                run_one(r, &e->fusion->call[k]);
            break;
        case CUDA_OP:
        case CUDA_JOINED:
            if (e->once && c->begun)
                break;
            else if (e->at)
                (e->op.op == HAP_OP_rotary ? run_turn : run_heads)(r, e);
            else
                run_one(r, &e->op);
            break;
        case CUDA_CUT:
            __real_hap_backend_cut(r, e->op.out[0], e->op.in[0]);
            break;
        case CUDA_PARTIAL:
            if (e->once && c->begun) break;
            __real_hap_backend_partial(r, e->keep, e->op.out[0], e->op.in[0]);
            break;
        case CUDA_START:
            e->event = __real_hap_backend_coll(r, &e->coll);
            break;
        case CUDA_PAIR:
            e->event = __real_hap_backend_pair(r, e->pair);
            break;
        case CUDA_PORT:
            run_port(r, &e->op);
            break;
        case CUDA_WAIT:
            __real_hap_backend_wait(r, c->call[e->other].event);
            break;
        }
        bool ends = i + 1 == c->n || c->call[i + 1].kind != CUDA_JOINED;
        for (int first = i; ends && first >= 0; first--)
            if (c->call[first].kind != CUDA_JOINED) {
                if (c->call[first].kind == CUDA_OP && c->call[first].chain) poison(c, first);
                break;
            }
        n_puts += e->kind == CUDA_START && hap_form_put(e->coll.form);
        if (!live || live[i]) ahead += poison_ahead(r, c, i);
    }
    if (!c->begun)
        fprintf(stderr, "rank %d %d one-sided puts, %d told ahead\n", r->id, n_puts, ahead);
    c->begun = true;
}

// Launches in which gradients are squared, added up and used; *updates: of these, in which they
// are used.
static int to_update(const cuda_record *c, int *updates)
{
    int n = 0;
    *updates = 0;
    for (int i = 0; i < c->n; i++) {
        const cuda_call *e = &c->call[i];
        const hap_op_call *o = &e->op;
        if (e->once) continue;
        n += e->kind == CUDA_PARTIAL;
        *updates += cuda_updates(e);
        n += e->kind == CUDA_OP &&
             (o->op == HAP_OP_sumsq || (o->op == HAP_OP_add && o->out[0]->elements == 1));
    }
    return n + *updates;
}

static int chains(const cuda_record *c, cuda_chain which)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n += c->call[i].kind == CUDA_OP && c->call[i].chain == which;
    return n;
}

// Calls that such chains run beside their first.
static int joined(const cuda_record *c, cuda_chain which)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n += c->call[i].kind == CUDA_OP && c->call[i].chain == which ? c->call[i].n_joined : 0;
    return n;
}

void __wrap_hap_backend_sync(hap_rank *r)
{
    if (r->in_step && own.mode == RECORDING) {
        int gone = cuda_fuse(r, &own.list), updates, launches = to_update(&own.list, &updates);
        cuda_ahead_find(&own.list);
        fprintf(
            stderr,
            "rank %d %d calls, %d left out or joined; %d to update, %d of them updates; %d gelus, "
            "%d gradients of gelu with a matmul; %d products with silu and gradients of them; %d calls with batch norms, %d with their gradients\n",
            r->id, own.list.n, gone, launches, updates, chains(&own.list, CUDA_GELU),
            chains(&own.list, CUDA_DENSE_SLOPE), chains(&own.list, CUDA_GATED),
            joined(&own.list, CUDA_BATCH), joined(&own.list, CUDA_BATCH_BWD));
    }
    bool parts = getenv("HAP_TEST_WAYS") && own.mode == LISTED && own.steps % 2 == 1;
    if (r->in_step && parts && !own.live) {
        own.live = hap_alloc(r, (size_t)own.list.n * sizeof *own.live);
        find_live(r, &own.list, own.live);
    }
    if (r->in_step && own.mode != CALLED) run_list(r, &own.list, parts ? own.live : NULL);
    __real_hap_backend_sync(r);
}
