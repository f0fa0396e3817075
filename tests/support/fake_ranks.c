#include "tests/support/fake_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/comm/cuda_segment.h"
#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/cuda_put_add.h"
#include "cuda/kernels/cuda_put_store.h"
#include "cuda/step/cuda_release.h"
#include "tests/support/coll_random.h"
#include "tests/support/fake_streams.h"

fake_ranks fake;

void fake_ranks_new(int64_t room)
{
    fake.room = room;
    for (int i = 0; i < FAKE_RANKS; i++) {
        fake.local[i] = malloc((size_t)room);
        fake.sym[i] = malloc((size_t)room + FAKE_FLAGS);
    }
}

void fake_ranks_free(void)
{
    for (int i = 0; i < FAKE_RANKS; i++)
        free(fake.local[i]), free(fake.sym[i]);
}

int fake_one_of(const int *weight)
{
    int all = 0, i = 0;
    for (int k = 0; k < fake.n; k++)
        all += weight[k];
    if (all == 0) return -1;
    for (int left = (int)fake_draw((uint64_t)all); left >= weight[i]; i++)
        left -= weight[i];
    return i;
}

void cuda_check(hap_rank *r, const char *why)
{
    if (!why) return;
    fprintf(stderr, "rank %d: %s\n", r->id, why);
    exit(1);
}

const char *cuda_said(cudaError_t e, const char *name)
{
    return e ? name : NULL;
}

const char *cuda_fail(const char *fmt, ...)
{
    return fmt;
}

const cuda_driver *cuda_driver_get(const char **why)
{
    *why = NULL;
    return &fake_driver;
}

const char *cuda_driver_said(const cuda_driver *d, CUresult e, const char *name)
{
    (void)d;
    return e ? name : NULL;
}

char *cuda_segment_start(hap_rank *r, cuda_segment *g, int64_t bytes, int64_t flag_bytes)
{
    if (flag_bytes > FAKE_FLAGS) abort();
    memset(fake.sym[r->id] + bytes, 0, (size_t)flag_bytes);
    g->bytes = bytes;
    g->at = malloc((size_t)fake.n * sizeof *g->at);
    g->peer = malloc((size_t)(fake.n * fake.n) * sizeof *g->peer);
    memcpy(g->at, fake.sym, (size_t)fake.n * sizeof *g->at);
    for (int i = 0; i < fake.n * fake.n; i++)
        g->peer[i] = true;
    return fake.sym[r->id];
}

void cuda_segment_end(hap_rank *r, cuda_segment *g)
{
    (void)r;
    free(g->at);
    free(g->peer);
}

void cuda_nccl_check(hap_rank *r, ncclResult_t e, const char *name)
{
    cuda_check(r, e ? name : NULL);
}

ncclDataType_t cuda_nccl_type(hap_dtype t)
{
    return (ncclDataType_t)t;
}

typedef struct sum {
    hap_dtype type;
    char *y;
    const char *slots, *own;
    int64_t pitch, elements;
    int members, me;
} sum;

// Half of the elements a step.
static bool add_half(void *arg, int number)
{
    const sum *s = arg;
    hap_tensor y = {.type = s->type, .data = s->y}, x = {.type = s->type};
    int64_t half = s->elements / 2;
    for (int64_t i = number ? half : 0; i < (number ? s->elements : half); i++) {
        double a = 0;
        for (int m = 0; m < s->members; m++) {
            x.data = (void *)(uintptr_t)(m == s->me ? s->own : s->slots + m * s->pitch);
            a += coll_get(&x, i);
        }
        if (a > 1000 || a < -1000 || a != a) a = 99; // no sum of a program: memory not written yet
        coll_set(&y, i, (int)a);
    }
    return number == 1;
}

const char *cuda_put_add(cudaStream_t stream, hap_dtype type, void *y, const void *slots,
                         int64_t pitch, int n_members, int me, const void *own, int64_t elements)
{
    sum s = {type, y, slots, own, pitch, elements, n_members, me};
    fake_call_own(stream, NULL, add_half, &s, sizeof s);
    return NULL;
}

// The kernel by which members store what they have for one another: a block of each at a time.
typedef struct store_run {
    cuda_store p;
    int block, step;
} store_run;

static uint32_t store_number(const store_run *x)
{
    return x->p.number_at ? *x->p.number_at : x->p.number;
}

static bool store_able(const void *arg)
{
    const store_run *x = arg;
    const cuda_store *p = &x->p;
    for (int m = 0; m < p->members; m++) {
        const int part = x->block + (x->step == 2 ? CUDA_STORE_BLOCKS : 0);
        const int flag = x->step == 0 ? p->credit[m] : p->stored + part * CUDA_STORE_MEMBERS + m;
        const uint32_t *at = p->flags[p->me] + (int64_t)flag * p->apart;
        if (m != p->me && (int32_t)(*at - store_number(x)) < 0) return false;
    }
    return true;
}

static void store_raise(const store_run *x, int part)
{
    const cuda_store *p = &x->p;
    for (int m = 0; m < p->members; m++)
        if (m != p->me)
            p->flags[m][(p->stored + part * CUDA_STORE_MEMBERS + p->me) * (int64_t)p->apart] =
                store_number(x);
}

static void store_add(const store_run *x, const cuda_store_item *i, int64_t lo, int64_t hi)
{
    const cuda_store *p = &x->p;
    const int64_t bytes = hap_dtype_bytes(p->type), n = (hi - lo) * CUDA_STORE_VECTOR / bytes;
    hap_tensor y = {.type = p->type, .data = i->sum + lo * CUDA_STORE_VECTOR},
               t = {.type = p->type};
    for (int64_t k = 0; k < n; k++) {
        double a = 0;
        for (int m = 0; m < p->members; m++) {
            const char *part = m == p->me ? i->from[m] : i->slot[m];
            t.data = (void *)(uintptr_t)(part + lo * CUDA_STORE_VECTOR);
            a += coll_get(&t, k);
        }
        if (a > 1000 || a < -1000 || a != a) a = 99; // memory not written yet
        coll_set(&y, k, (int)a);
    }
    for (int m = 0; m < p->members; m++)
        if (i->back[m]) memcpy(i->back[m] + lo * CUDA_STORE_VECTOR, y.data, (size_t)(n * bytes));
}

// Step 0 stores parts, 1 adds them, 2 is the end.
static bool store_block(void *arg, int number)
{
    store_run *x = arg;
    const cuda_store *p = &x->p;
    bool back = false;
    (void)number;
    for (int k = 0; k < p->n_items; k++) {
        const cuda_store_item *i = &p->item[k];
        back = back || i->back[(p->me + 1) % p->members];
        for (int m = 0; m < p->members && x->step == 0; m++) {
            const int64_t n = i->size[m], lo = n * x->block / p->blocks * CUDA_STORE_VECTOR;
            const int64_t hi = n * (x->block + 1) / p->blocks * CUDA_STORE_VECTOR;
            if (i->to[m] && hi > lo) memmove(i->to[m] + lo, i->from[m] + lo, (size_t)(hi - lo));
        }
        const int64_t n = i->size[p->me];
        if (x->step == 1 && p->sums)
            store_add(x, i, n * x->block / p->blocks, n * (x->block + 1) / p->blocks);
    }
    if (x->step == 0) store_raise(x, x->block);
    if (x->step == 1 && back) store_raise(x, CUDA_STORE_BLOCKS + x->block);
    x->step += x->step == 1 && !back ? 2 : 1;
    if (x->step < 3) return false;
    x->step = 0;
    if (++x->block < p->blocks) return false;
    x->block = 0; // a captured one runs again
    return true;
}

const char *cuda_store_run(const cuda_store *p, cudaStream_t stream)
{
    store_run x = {*p, 0, 0};
    fake_call_own(stream, store_able, store_block, &x, sizeof x);
    return NULL;
}

// Of a segment.
static int rank_at(const char *p)
{
    for (int i = 0; i < fake.n; i++)
        if (p - fake.sym[i] >= 0 && p - fake.sym[i] < fake.room) return i;
    for (int i = 0; i < fake.n; i++)
        if (p - fake.local[i] >= 0 && p - fake.local[i] < fake.room) return i;
    abort();
}

const char *cuda_copy_strided(cudaStream_t s, void *y, const void *x, const cuda_strided *m,
                              int64_t elem)
{
    if (m->rank != 3 || m->to[2] != 1 || m->from[2] != 1) abort();
    bool far = !fake.by_nccl && rank_at(y) != rank_at(x);
    fake.kernels += far || fake.by_nccl;
    fake_kernel(s, &(fake_copy){.to = y,
                                .from = x,
                                .bytes = (size_t)(m->size[2] * elem),
                                .rows = (size_t)m->size[1],
                                .planes = (size_t)m->size[0],
                                .to_row = (size_t)(m->to[1] * elem),
                                .from_row = (size_t)(m->from[1] * elem),
                                .to_plane = (size_t)(m->to[0] * elem),
                                .from_plane = (size_t)(m->from[0] * elem),
                                .far = far});
    return NULL;
}

typedef struct raising {
    char *flags;
    int n;
    int64_t apart;
    const cuda_order *order;
} raising;

static bool told(const void *arg)
{
    return ((const raising *)arg)->order->go;
}

static bool raise_flags(void *arg, int number)
{
    const raising *x = arg;
    (void)number;
    for (int i = 0; i < x->n; i++)
        *(uint32_t *)(void *)(x->flags + i * x->apart) = x->order->number;
    return x->order->stop;
}

const char *cuda_raise_flags(cudaStream_t s, void *flags, int n, int64_t apart, const cuda_order *o)
{
    raising x = {flags, n, apart, o};
    fake_call_own(s, told, raise_flags, &x, sizeof x);
    return NULL;
}
