// The phases of every kind and form of collective on NCCL. A phase is: kernels that pack, one NCCL
// group for all pairs of the list, kernels that unpack. Sizes of scratch and what lies in it:
// core/scratch.c; forms mean what the plan's cost model prices, as in cpu/coll_forms.c.

#include <stdlib.h>

#include "core/coll_geometry.h"
#include "core/fail.h"
#include "cuda/comm/cuda_coll_forms.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/kernels/cuda_ops.h"

typedef struct pair {
    hap_coll_kind kind;
    hap_form form;
    hap_tensor *src, *dst;
    hap_coll_view v;
    char *scratch;
    ncclDataType_t type;
    ncclRedOp_t op;
    ncclComm_t comm;
} pair;

typedef struct context {
    hap_rank *r;
    cuda_backend *b;
    cudaStream_t s;
} context;

static void check(const context *x, ncclResult_t e, const char *call)
{
    cuda_nccl_check(x->r, e, call);
}

static size_t count(const pair *p, int64_t bytes)
{
    return (size_t)(bytes / p->v.item);
}

static void send(const context *x, const pair *p, const void *buf, int64_t bytes, int to)
{
    if (bytes) check(x, ncclSend(buf, count(p, bytes), p->type, to, p->comm, x->s), "ncclSend");
}

static void recv(const context *x, const pair *p, void *buf, int64_t bytes, int from)
{
    if (bytes) check(x, ncclRecv(buf, count(p, bytes), p->type, from, p->comm, x->s), "ncclRecv");
}

static void copy(const context *x, void *y, const void *from, int64_t bytes)
{
    cuda_check(x->r, cuda_copy(x->s, y, from, bytes));
}

static void zero(const context *x, void *y, int64_t bytes)
{
    if (bytes > 0)
        cuda_check(x->r, cuda_said(cudaMemsetAsync(y, 0, (size_t)bytes, x->s), "cudaMemsetAsync"));
}

// Moves `part`, of which both sides hold more: [outer, f1, mid, f2, inner] over their own boxes.
static void move(const context *x, const hap_coll_view *v, void *dst, hap_box dst_held,
                 const void *src, hap_box src_held, hap_box part)
{
    if (hap_box_bytes(v, part) == 0) return;
    int64_t x_mid = src_held.f2.n * v->inner, x_f1 = v->mid * x_mid, x_outer = src_held.f1.n * x_f1;
    int64_t y_mid = dst_held.f2.n * v->inner, y_f1 = v->mid * y_mid, y_outer = dst_held.f1.n * y_f1;
    int64_t from = (part.f1.lo - src_held.f1.lo) * x_f1 + (part.f2.lo - src_held.f2.lo) * v->inner;
    int64_t to = (part.f1.lo - dst_held.f1.lo) * y_f1 + (part.f2.lo - dst_held.f2.lo) * v->inner;
    cuda_strided m = {.rank = 4,
                      .size = {v->outer, part.f1.n, v->mid, part.f2.n * v->inner},
                      .to = {y_outer, y_f1, y_mid, 1},
                      .from = {x_outer, x_f1, x_mid, 1}};
    cuda_check(x->r, cuda_copy_strided(x->s, (char *)dst + to * v->item,
                                       (const char *)src + from * v->item, &m, v->item));
}

// --- all-gather ---

static void gather_pack(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    if (p->form == FORM_PADDED) {
        int64_t max = hap_max_src_bytes(x->r, v);
        char *mine = p->scratch + v->n_members * max;
        copy(x, mine, p->src->data, p->src->bytes);
        zero(x, mine + p->src->bytes, max - p->src->bytes);
    } else if (p->form == FORM_SENDRECV) {
        char *base = v->outer == 1 ? p->dst->data : p->scratch;
        copy(x, base + hap_packed_at(v, hap_src_box(x->r, v, v->me)), p->src->data, p->src->bytes);
    }
}

static void gather_post(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    char *base = v->outer == 1 ? p->dst->data : p->scratch;
    if (p->form == FORM_PADDED) {
        int64_t max = hap_max_src_bytes(x->r, v);
        check(x,
              ncclAllGather(p->scratch + v->n_members * max, p->scratch, count(p, max), p->type,
                            p->comm, x->s),
              "ncclAllGather");
        return;
    }
    if (p->form == FORM_EVEN) {
        check(x, ncclAllGather(p->src->data, base, count(p, p->src->bytes), p->type, p->comm, x->s),
              "ncclAllGather");
        return;
    }
    for (int m = 0; m < v->n_members; m++) {
        hap_box part = hap_src_box(x->r, v, m);
        char *at = base + hap_packed_at(v, part);
        int64_t bytes = hap_box_bytes(v, part);
        if (p->form == FORM_GROUPED) {
            if (bytes == 0) continue;
            check(x,
                  ncclBroadcast(m == v->me ? p->src->data : at, at, count(p, bytes), p->type, m,
                                p->comm, x->s),
                  "ncclBroadcast");
        } else if (m != v->me) {
            recv(x, p, at, bytes, m);
            send(x, p, p->src->data, p->src->bytes, m);
        }
    }
}

static void gather_unpack(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    bool padded = p->form == FORM_PADDED;
    int64_t max = hap_max_src_bytes(x->r, v);
    if (v->outer == 1 && !padded) return; // already in place
    for (int m = 0; m < v->n_members; m++) {
        hap_box part = hap_src_box(x->r, v, m);
        const char *from = p->scratch + (padded ? m * max : hap_packed_at(v, part));
        move(x, v, p->dst->data, hap_view_box(v), from, part, part);
    }
}

// --- reduce-scatter ---

static int64_t flat_piece(const hap_coll_view *v)
{
    int64_t elements = hap_view_bytes(v) / v->item;
    return (elements + v->n_members - 1) / v->n_members * v->item;
}

static char *scatter_base(const pair *p)
{
    bool own = p->form == FORM_PADDED || p->form == FORM_EVEN_FLAT || p->v.outer != 1;
    return own ? p->scratch : (char *)p->src->data;
}

static void scatter_pack(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    char *base = scatter_base(p);
    int64_t pitch = p->form == FORM_PADDED ? hap_max_dst_bytes(x->r, v) : 0;
    for (int m = 0; m < v->n_members && base == p->scratch; m++) {
        hap_box part = hap_dst_box(x->r, v, m);
        int64_t bytes = hap_box_bytes(v, part);
        char *to = base + (pitch ? m * pitch : hap_packed_at(v, part));
        move(x, v, to, part, p->src->data, hap_view_box(v), part);
        if (pitch) zero(x, to + bytes, pitch - bytes);
    }
    if (p->form == FORM_EVEN_FLAT) {
        int64_t total = hap_view_bytes(v);
        zero(x, base + total, v->n_members * flat_piece(v) - total);
    }
    if (p->form == FORM_SENDRECV)
        copy(x, p->dst->data, base + hap_packed_at(v, hap_dst_box(x->r, v, v->me)), p->dst->bytes);
}

static void scatter_post(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    char *base = scatter_base(p);
    if (p->form == FORM_GROUPED) {
        for (int m = 0; m < v->n_members; m++) {
            hap_box part = hap_dst_box(x->r, v, m);
            int64_t bytes = hap_box_bytes(v, part);
            if (bytes == 0) continue;
            check(x,
                  ncclReduce(base + hap_packed_at(v, part), m == v->me ? p->dst->data : NULL,
                             count(p, bytes), p->type, p->op, m, p->comm, x->s),
                  "ncclReduce");
        }
        return;
    }
    int64_t each = p->form == FORM_PADDED      ? hap_max_dst_bytes(x->r, v)
                   : p->form == FORM_EVEN_FLAT ? flat_piece(v)
                                               : p->dst->bytes;
    char *to = p->form == FORM_EVEN ? (char *)p->dst->data : base + v->n_members * each;
    check(x, ncclReduceScatter(base, to, count(p, each), p->type, p->op, p->comm, x->s),
          "ncclReduceScatter");
}

// Even pieces are reduced; every member collects its own part from the pieces it overlaps. `post`
// sends and receives, else what this rank keeps is copied.
static void scatter_collect(const context *x, const pair *p, bool post)
{
    const hap_coll_view *v = &p->v;
    int64_t piece = flat_piece(v), own_at = hap_packed_at(v, hap_dst_box(x->r, v, v->me));
    char *mine = p->scratch + v->n_members * piece;
    hap_range have = {v->me * piece, piece}, want = {own_at, p->dst->bytes};
    for (int m = 0; m < v->n_members; m++) {
        hap_box part = hap_dst_box(x->r, v, m);
        hap_range theirs = {hap_packed_at(v, part), hap_box_bytes(v, part)},
                  their = {m * piece, piece};
        hap_box out = hap_box_common((hap_box){have, {0, 1}}, (hap_box){theirs, {0, 1}});
        hap_box in = hap_box_common((hap_box){their, {0, 1}}, (hap_box){want, {0, 1}});
        const char *from = mine + (out.f1.lo - have.lo);
        char *to = (char *)p->dst->data + (in.f1.lo - own_at);
        if (m == v->me) {
            if (!post) copy(x, to, from, in.f1.n);
        } else if (post) {
            recv(x, p, to, in.f1.n, m);
            send(x, p, from, out.f1.n, m);
        }
    }
}

// Round k of parts that go straight to their owners, which add what comes in: own part first, then
// the members below and round, so that the order of the sum is always the same.
static void scatter_round(const context *x, const pair *p, int k, bool post)
{
    const hap_coll_view *v = &p->v;
    int n = v->n_members, to = (v->me + k) % n, from = (v->me - k + n) % n;
    char *base = scatter_base(p), *inbox = p->scratch + (v->outer == 1 ? 0 : hap_view_bytes(v));
    hap_box part = hap_dst_box(x->r, v, to);
    if (post) {
        send(x, p, base + hap_packed_at(v, part), hap_box_bytes(v, part), to);
        recv(x, p, inbox, p->dst->bytes, from);
    } else {
        cuda_check(x->r, cuda_add_into(x->s, p->dst->type, p->dst->data, inbox, p->dst->elements));
    }
}

// --- all-reduce ---

// Even pieces over the inner axis, the first ones one element longer: reduced to their members,
// summed between machines, sent to all inside.
static void two_level_post(const context *x, const pair *p, int phase)
{
    int n = x->r->size[1], me = x->r->coord[1];
    int64_t q = p->src->elements / n, rest = p->src->elements % n, item = p->v.item;
    int64_t own = q + (me < rest);
    if (phase == 1) {
        if (own)
            check(x,
                  ncclAllReduce(p->scratch, p->scratch, (size_t)own, p->type, p->op, x->b->between,
                                x->s),
                  "ncclAllReduce");
        return;
    }
    if (rest == 0) {
        check(x,
              phase == 0
                  ? ncclReduceScatter(p->src->data, p->scratch, (size_t)q, p->type, p->op,
                                      x->b->inside, x->s)
                  : ncclAllGather(p->scratch, p->dst->data, (size_t)q, p->type, x->b->inside, x->s),
              "NCCL inside a machine");
        return;
    }
    for (int m = 0; m < n; m++) {
        int64_t at = (m * q + (m < rest ? m : rest)) * item, size = q + (m < rest);
        if (size == 0) continue;
        char *to = (char *)p->dst->data + at;
        check(x,
              phase == 0 ? ncclReduce((const char *)p->src->data + at, p->scratch, (size_t)size,
                                      p->type, p->op, m, x->b->inside, x->s)
                         : ncclBroadcast(m == me ? p->scratch : to, to, (size_t)size, p->type, m,
                                         x->b->inside, x->s),
              "NCCL inside a machine");
    }
}

// --- all-to-all and reshard ---

static void exchange_pack(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    hap_box src = hap_src_box(x->r, v, v->me), dst = hap_dst_box(x->r, v, v->me);
    char *out = p->scratch;
    move(x, v, p->dst->data, dst, p->src->data, src, hap_box_common(src, dst));
    for (int m = 0; m < v->n_members; m++) {
        hap_box to = hap_box_common(src, hap_dst_box(x->r, v, m));
        if (m == v->me) continue;
        move(x, v, out, to, p->src->data, src, to);
        out += hap_box_bytes(v, to);
    }
}

static void exchange_post(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    hap_box src = hap_src_box(x->r, v, v->me), dst = hap_dst_box(x->r, v, v->me);
    char *out = p->scratch, *in = p->scratch + hap_max_src_bytes(x->r, v);
    for (int m = 0; m < v->n_members; m++) {
        int64_t n_out = hap_box_bytes(v, hap_box_common(src, hap_dst_box(x->r, v, m)));
        int64_t n_in = hap_box_bytes(v, hap_box_common(hap_src_box(x->r, v, m), dst));
        if (m == v->me) continue;
        recv(x, p, in, n_in, m);
        send(x, p, out, n_out, m);
        out += n_out;
        in += n_in;
    }
}

static void exchange_unpack(const context *x, const pair *p)
{
    const hap_coll_view *v = &p->v;
    hap_box dst = hap_dst_box(x->r, v, v->me);
    const char *in = p->scratch + hap_max_src_bytes(x->r, v);
    for (int m = 0; m < v->n_members; m++) {
        hap_box part = hap_box_common(hap_src_box(x->r, v, m), dst);
        if (m == v->me) continue;
        move(x, v, p->dst->data, dst, in, part, part);
        in += hap_box_bytes(v, part);
    }
}

// --- all together ---

static int phases_of(const pair *p)
{
    if (p->form == FORM_TWO_LEVEL) return 3;
    if (p->kind != HAP_REDUCE_SCATTER) return 1;
    return p->form == FORM_EVEN_FLAT ? 2 : p->form == FORM_SENDRECV ? p->v.n_members - 1 : 1;
}

static void pack(const context *x, const pair *p, int phase)
{
    if (phase > 0) {
        if (p->kind == HAP_REDUCE_SCATTER && p->form == FORM_EVEN_FLAT)
            scatter_collect(x, p, false);
        return;
    }
    if (p->kind == HAP_ALL_GATHER) gather_pack(x, p);
    if (p->kind == HAP_REDUCE_SCATTER) scatter_pack(x, p);
    if (p->kind == HAP_ALL_TO_ALL || p->kind == HAP_RESHARD) exchange_pack(x, p);
}

static void post(const context *x, const pair *p, int phase)
{
    switch (p->kind) {
    case HAP_ALL_GATHER:
        gather_post(x, p);
        return;
    case HAP_REDUCE_SCATTER:
        if (p->form == FORM_SENDRECV)
            scatter_round(x, p, phase + 1, true);
        else if (phase == 0)
            scatter_post(x, p);
        else
            scatter_collect(x, p, true);
        return;
    case HAP_ALL_REDUCE:
        if (p->form == FORM_TWO_LEVEL)
            two_level_post(x, p, phase);
        else
            check(x,
                  ncclAllReduce(p->src->data, p->dst->data, (size_t)p->src->elements, p->type,
                                p->op, p->comm, x->s),
                  "ncclAllReduce");
        return;
    case HAP_ALL_TO_ALL:
    case HAP_RESHARD:
        exchange_post(x, p);
        return;
    }
}

static void unpack(const context *x, const pair *p, int phase)
{
    if (p->kind == HAP_ALL_GATHER) gather_unpack(x, p);
    if (p->kind == HAP_ALL_TO_ALL || p->kind == HAP_RESHARD) exchange_unpack(x, p);
    if (p->kind != HAP_REDUCE_SCATTER) return;
    if (p->form == FORM_SENDRECV) scatter_round(x, p, phase + 1, false);
    if (p->form == FORM_PADDED)
        copy(x, p->dst->data, p->scratch + p->v.n_members * hap_max_dst_bytes(x->r, &p->v),
             p->dst->bytes);
}

static ncclRedOp_t operation(hap_dtype t, hap_reduce reduce)
{
    return t == HAP_BOOL || reduce == HAP_MAX ? ncclMax : ncclSum; // a sum of truth values is "any"
}

// A group of one member holds the same on both sides.
static void alone(const context *x, const pair *p)
{
    copy(x, p->dst->data, p->src->data, p->src->bytes);
}

void cuda_coll_run(hap_rank *r, const hap_coll_call *c, cudaStream_t s)
{
    if (hap_form_put(c->form)) {
        cuda_put_by_nccl(r, c, s);
        return;
    }
    context x = {r, cuda_of(r), s};
    char *scratch = c->scratch ? c->scratch->data : NULL;
    pair *all = hap_alloc(r, (size_t)c->n * sizeof *all);
    int n = 0, phases = 0;
    for (int k = 0; k < c->n; k++) {
        pair *p = &all[n];
        char why[160];
        *p = (pair){.kind = c->kind, .form = c->form, .src = c->src[k], .dst = c->dst[k]};
        hap_coll_view_of(r, c, k, &p->v, why, sizeof why); // checked by core
        p->scratch = scratch;
        p->type = cuda_nccl_type(p->src->type);
        p->op = operation(p->src->type, c->reduce);
        p->comm = x.b->group[c->axes];
        int64_t need = hap_scratch_of(r, c, &p->v);
        if (need) scratch += (need + HAP_SCRATCH_ALIGN - 1) / HAP_SCRATCH_ALIGN * HAP_SCRATCH_ALIGN;
        int64_t moved = c->kind == HAP_ALL_REDUCE ? p->src->bytes : hap_view_bytes(&p->v);
        if (moved == 0) continue; // on every member
        if (p->v.n_members == 1) {
            alone(&x, p);
            continue;
        }
        if (phases_of(p) > phases) phases = phases_of(p);
        n++;
    }
    for (int phase = 0; phase < phases; phase++) {
        for (int i = 0; i < n; i++)
            if (phase < phases_of(&all[i])) pack(&x, &all[i], phase);
        check(&x, ncclGroupStart(), "ncclGroupStart");
        for (int i = 0; i < n; i++)
            if (phase < phases_of(&all[i])) post(&x, &all[i], phase);
        check(&x, ncclGroupEnd(), "ncclGroupEnd");
        for (int i = 0; i < n; i++)
            if (phase < phases_of(&all[i])) unpack(&x, &all[i], phase);
    }
    free(all);
}
