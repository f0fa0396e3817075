#include "cuda/comm/cuda_put_stores.h"

#include "core/fail.h"
#include "cuda/comm/cuda_box.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_put_store.h"

// A tensor of the list.
typedef struct item {
    const hap_rank *r;
    const hap_coll_call *c;
    hap_coll_view v;
    hap_dtype type;
    char *src, *dst, *slots;
    int64_t pitch;
} item;

// What goes from one member to another: bytes, where they begin in what the one holds and in what
// the other gets; whole: they are a run of vectors on both sides.
typedef struct message {
    int64_t bytes, from, to;
    bool whole;
} message;

static bool sums(const hap_coll_call *c)
{
    return c->kind == HAP_REDUCE_SCATTER || c->kind == HAP_ALL_REDUCE;
}

static hap_box shard(const item *x, int m)
{
    return x->c->kind == HAP_ALL_REDUCE ? (hap_box){hap_put_shard(&x->v, m), {0, 1}}
                                        : hap_dst_box(x->r, &x->v, m);
}

static message message_of(const item *x, int from, int to)
{
    const bool gathers = x->c->kind == HAP_ALL_GATHER;
    const hap_box held = gathers ? hap_src_box(x->r, &x->v, from) : hap_view_box(&x->v);
    const hap_box gets = gathers ? hap_dst_box(x->r, &x->v, to) : shard(x, to);
    const hap_box part = hap_box_common(held, gets);
    message m = {.bytes = hap_box_bytes(&x->v, part)};
    if (m.bytes == 0) return (message){.whole = true};
    m.from = cuda_box_offset(&x->v, held, part);
    m.to = cuda_box_offset(&x->v, gets, part);
    m.whole = cuda_box_dense(&x->v, held, part) && cuda_box_dense(&x->v, gets, part) &&
              (m.bytes | m.from | m.to) % CUDA_STORE_VECTOR == 0;
    return m;
}

// The same answer on all members: of sizes and cuts that all of them know.
static bool takes(const hap_rank *r, const hap_coll_call *c, const item *x, int n)
{
    const int members = hap_group_size(r, c->axes);
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        const hap_dtype type = x[i].type;
        bytes += hap_view_bytes(&x[i].v);
        if (sums(c) && ((type != HAP_BF16 && type != HAP_F32) || type != x[0].type)) return false;
        for (int a = 0; a < members; a++)
            for (int b = 0; b < members; b++)
                if (!message_of(&x[i], a, b).whole) return false;
    }
    return bytes <= CUDA_STORES_MOST;
}

static bool aligned(const void *p)
{
    return (uintptr_t)p % CUDA_STORE_VECTOR == 0;
}

// Where the member has what is at `at` here.
static char *there(hap_rank *r, const hap_coll_call *c, int member, char *at)
{
    return cuda_put_at(r, c->axes, member, at);
}

static void fill(hap_rank *r, const hap_coll_call *c, const item *x, cuda_store_item *to)
{
    const int members = hap_group_size(r, c->axes), me = hap_group_member(r, c->axes);
    const bool gathers = c->kind == HAP_ALL_GATHER;
    *to = (cuda_store_item){.sum = x->dst};
    for (int m = 0; m < members; m++) {
        const message out = message_of(x, me, m);
        to->from[m] = x->src + out.from;
        to->size[m] = out.bytes / CUDA_STORE_VECTOR;
        to->slot[m] = x->slots + m * x->pitch;
        char *place = gathers ? x->dst + out.to : x->slots + me * x->pitch;
        if (m != me) to->to[m] = there(r, c, m, place);
        if (m == me && gathers && place != x->src + out.from) to->to[m] = place;
    }
    if (c->kind != HAP_ALL_REDUCE) return;
    to->sum = x->dst + hap_put_shard(&x->v, me).lo * x->v.item;
    for (int m = 0; m < members; m++)
        if (m != me) to->back[m] = there(r, c, m, to->sum);
}

// Blocks enough that each has some work, the same on all members.
static int blocks_of(const item *x, int n)
{
    enum { BYTES = 64 << 10 }; // a block's share of the whole
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += hap_view_bytes(&x[i].v);
    const int64_t blocks = (bytes + BYTES - 1) / BYTES;
    return blocks < 1 ? 1 : blocks > CUDA_STORE_BLOCKS ? CUDA_STORE_BLOCKS : (int)blocks;
}

bool cuda_put_stores_run(hap_rank *r, const hap_coll_call *c, cuda_put *put, cudaStream_t s)
{
    const int members = hap_group_size(r, c->axes), me = hap_group_member(r, c->axes);
    const bool kind = c->kind == HAP_ALL_GATHER || sums(c);
    item x[CUDA_STORE_ITEMS];
    int n = 0;
    if (r->opt.cuda.stores != HAP_CUDA_stores_all || !kind) return false;
    if (members > CUDA_STORE_MEMBERS || c->n > CUDA_STORE_ITEMS) return false;
    char *scratch = c->scratch ? c->scratch->data : NULL;
    for (int k = 0; k < c->n; k++) {
        char why[160];
        item *i = &x[n];
        *i = (item){.r = r,
                    .c = c,
                    .type = c->src[k]->type,
                    .src = c->src[k]->data,
                    .dst = c->dst[k]->data,
                    .slots = scratch};
        hap_coll_view_of(r, c, k, &i->v, why, sizeof why); // checked by core
        i->pitch = hap_put_slot(r, c, &i->v);
        scratch += hap_scratch_of(r, c, &i->v);
        if (hap_view_bytes(&i->v) > 0) n++;
    }
    if (n == 0 || !takes(r, c, x, n)) return false;
    cuda_store p = {.n_items = n,
                    .members = members,
                    .me = me,
                    .blocks = blocks_of(x, n),
                    .sums = sums(c),
                    .type = x[0].type,
                    .stored = cuda_put_stored_flag(r, c->axes, 0, 0),
                    .apart = CUDA_PUT_FLAG_BYTES / 4,
                    .number = cuda_put_number(put),
                    .late = cuda_put_late_at(r)};
    for (int k = 0; k < n; k++) {
        fill(r, c, &x[k], &p.item[k]);
        HAP_CK(r,
               aligned(x[k].src) && aligned(x[k].dst) && aligned(x[k].slots) &&
                   x[k].pitch % CUDA_STORE_VECTOR == 0,
               "tensors of a collective are not of 16 bytes");
    }
    for (int m = 0; m < members; m++) {
        p.flags[m] = cuda_put_flags_at(r, c->axes, m);
        p.credit[m] = cuda_put_credit_flag(r, c->axes, m);
    }
    if (s != cuda_of(r)->x.stream)
        cuda_check(
            r, cuda_said(cudaStreamWaitEvent(s, cuda_put_opened(put), 0), "cudaStreamWaitEvent"));
    if (cuda_of(r)->x.capturing) p.number_at = cuda_put_number_at(put, s);
    cuda_check(r, cuda_store_run(&p, s));
    return true;
}
