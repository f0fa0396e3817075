#include "tests/support/fake_streams.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_ops.h"

enum { PIECES = 3 };

// Bytes on their way from kernel `number` of a stream to another device.
typedef struct store {
    int stream;
    uint32_t number;
    char *to, *bytes;
    size_t n;
    struct store *next;
} store;

static struct CUstream_st *stream[MOST_STREAMS];
static int n_streams;
static uint32_t far_kernels[MOST_STREAMS]; // of each stream, that have run
static fake_mark *marks;
static store *stores;
static struct later { // freed while there was work for it: host programs do not wait here
    void *p;
    struct later *next;
} * later;
static uint64_t state;
static bool (*deaf)(cudaStream_t s, const uint32_t *at);
static bool (*rash)(cudaStream_t s, cudaStream_t recorded);
static bool loose;
static int tag;
static void (*watch)(int tag, const char *to, int change);

uint64_t fake_draw(uint64_t n)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u; // SplitMix64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % n;
}

static int weight(void)
{
    static const int weights[] = {1, 1, 4, 16, 64};
    return weights[fake_draw(5)];
}

void fake_seed(uint64_t seed)
{
    state = seed;
    for (int i = 0; i < n_streams; i++)
        stream[i]->weight = weight();
}

void fake_deaf(bool (*is)(cudaStream_t s, const uint32_t *at))
{
    deaf = is;
}

void fake_rash(bool (*is)(cudaStream_t s, cudaStream_t recorded))
{
    rash = is;
}

void fake_tag(int of)
{
    tag = of;
}

void fake_watch(void (*how)(int tag, const char *to, int change))
{
    watch = how;
}

void fake_loose(bool is)
{
    loose = is;
}

fake_op *fake_add(cudaStream_t s, fake_op_kind kind)
{
    fake_op *o = s->graph ? fake_add_node(s, kind) : calloc(1, sizeof *o);
    o->tag = tag;
    if (s->graph) return o;
    o->kind = kind;
    *(s->last ? &s->last->next : &s->first) = o;
    s->last = o;
    return o;
}

static void forget(fake_op *o)
{
    if (o->replay) fake_replay_free(o->replay);
    if (o->owns) free(o->arg);
    free(o);
}

void fake_call(cudaStream_t s, bool (*step)(void *arg, int number), void *arg)
{
    fake_op *o = fake_add(s, CALL);
    o->step = step;
    o->arg = arg;
}

void fake_call_own(cudaStream_t s, bool (*able)(const void *arg),
                   bool (*step)(void *arg, int number), const void *arg, size_t bytes)
{
    fake_op *o = fake_add(s, CALL);
    o->able = able;
    o->step = step;
    o->arg = malloc(bytes);
    o->owns = true;
    memcpy(o->arg, arg, bytes);
}

bool fake_ready(cudaStream_t s, const fake_op *o)
{
    if (o->kind == REPLAY) return fake_replay_ready(o->replay);
    if (o->kind == CALL) return !o->able || o->able(o->arg);
    if (o->kind == AWAIT) return !o->mark || o->mark->come || (rash && rash(s, o->mark->by));
    return o->kind != REACH || (deaf && deaf(s, o->at)) || (int32_t)(*o->at - o->x) >= 0;
}

static bool ready(cudaStream_t s)
{
    return fake_ready(s, s->first);
}

static void put(struct CUstream_st *s, bool far, char *to, const char *from, size_t n)
{
    if (!far) {
        memcpy(to, from, n);
        return;
    }
    store *x = malloc(sizeof *x);
    *x = (store){s->id, far_kernels[s->id] + 1, to, malloc(n), n, stores};
    memcpy(x->bytes, from, n);
    stores = x;
}

static void land(store **at)
{
    store *x = *at;
    *at = x->next;
    memcpy(x->to, x->bytes, x->n);
    free(x->bytes);
    free(x);
}

// Of what is on its way, all that came before; each of the rest at times, in any order.
static void land_some(const fake_clock *before)
{
    for (store **at = &stores; *at;) {
        bool old = before && (*at)->number <= before->n[(*at)->stream];
        if (old || fake_draw(64) == 0)
            land(at);
        else
            at = &(*at)->next;
    }
}

// Rows in turn; a single one in pieces.
static bool copy_some(struct CUstream_st *s, fake_op *o)
{
    const fake_copy *c = &o->copy;
    size_t n = c->rows * c->planes;
    if (watch && o->done == 0) watch(o->tag, c->to, 1);
    for (size_t i = 0; i < n; i++) {
        char *to = c->to + i / c->rows * c->to_plane + i % c->rows * c->to_row;
        const char *from = c->from + i / c->rows * c->from_plane + i % c->rows * c->from_row;
        size_t k = (size_t)o->done, lo = n > 1 ? 0 : c->bytes * k / PIECES;
        size_t hi = n > 1 ? c->bytes : c->bytes * (k + 1) / PIECES;
        if (n == 1 || i % PIECES == k) put(s, c->far, to + lo, from + lo, hi - lo);
    }
    if (++o->done < PIECES) return false;
    if (c->far) s->before.n[s->id] = ++far_kernels[s->id];
    if (watch) watch(o->tag, c->to, -1);
    return true;
}

void fake_come_behind(fake_clock *c, const fake_clock *other)
{
    for (int i = 0; i < MOST_STREAMS; i++)
        if (c->n[i] < other->n[i]) c->n[i] = other->n[i];
}

bool fake_run(struct CUstream_st *s, fake_op *o)
{
    switch (o->kind) {
    case RECORD:
        o->mark->before = s->before;
        o->mark->come = true;
        return true;
    case WRITE:
        if (!loose) land_some(&s->before);
        *o->at = o->x;
        return true;
    case COPY:
        return copy_some(s, o);
    case CALL:
        return o->step(o->arg, o->done++);
    case AWAIT:
        if (o->mark) fake_come_behind(&s->before, &o->mark->before);
        return true;
    case REACH:
        return true;
    case REPLAY:
        return fake_replay_step(s, o->replay);
    }
    return true;
}

bool fake_step(void)
{
    struct CUstream_st *able[MOST_STREAMS];
    int n = 0, all = 0, k = 0;
    for (int i = 0; i < n_streams; i++) {
        if (!stream[i]->first || !ready(stream[i])) continue;
        all += stream[i]->weight;
        able[n++] = stream[i];
    }
    if (n == 0) return false;
    for (int left = (int)fake_draw((uint64_t)all); left >= able[k]->weight; k++)
        left -= able[k]->weight;
    fake_op *o = able[k]->first;
    land_some(NULL);
    if (!fake_run(able[k], o)) return true;
    able[k]->first = o->next;
    if (!o->next) able[k]->last = NULL;
    forget(o);
    return true;
}

bool fake_idle(void)
{
    for (int i = 0; i < n_streams; i++)
        if (stream[i]->first) return false;
    return true;
}

bool fake_stream_idle(cudaStream_t s)
{
    return !s->first;
}

void fake_each_stream(void (*f)(cudaStream_t s, void *arg), void *arg)
{
    for (int i = 0; i < n_streams; i++)
        f(stream[i], arg);
}

void fake_forget(void)
{
    for (int i = 0; i < n_streams; i++) {
        for (fake_op *o = stream[i]->first, *next; o; o = next) {
            next = o->next;
            forget(o);
        }
        stream[i]->first = stream[i]->last = NULL;
    }
    for (fake_mark *m = marks, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    marks = NULL;
    while (stores)
        land(&stores);
    for (struct later *x = later, *next; x; x = next) {
        next = x->next;
        free(x->p);
        free(x);
    }
    later = NULL;
    for (int i = 0; i < n_streams; i++)
        stream[i]->before = (fake_clock){0};
    memset(far_kernels, 0, sizeof far_kernels);
}

// --- the runtime ---

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    if (n_streams == MOST_STREAMS) return cudaErrorMemoryAllocation;
    *s = calloc(1, sizeof **s);
    for (int i = 0; i < n_streams; i++) // the first number that none has
        if (stream[i]->id == (*s)->id) (*s)->id++, i = -1;
    (*s)->weight = weight();
    stream[n_streams++] = *s;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    for (int i = 0; i < n_streams; i++)
        if (stream[i] == s) stream[i] = stream[--n_streams];
    free(s);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    (void)flags;
    *e = calloc(1, sizeof **e);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    free(e);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    fake_captured_record(e, s);
    if (s->graph) return cudaSuccess;
    fake_mark *m = calloc(1, sizeof *m);
    m->by = s;
    m->next = marks;
    marks = e->last = m;
    fake_add(s, RECORD)->mark = m;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    (void)flags;
    if (fake_captured_wait(s, e)) return cudaSuccess;
    fake_add(s, AWAIT)->mark = e->last;
    return cudaSuccess;
}

void fake_kernel(cudaStream_t s, const fake_copy *c)
{
    fake_add(s, COPY)->copy = *c;
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *m, cudaStream_t s)
{
    fake_add(s, COPY)->copy = (fake_copy){.to = m->dstPtr.ptr,
                                          .from = m->srcPtr.ptr,
                                          .bytes = m->extent.width,
                                          .rows = m->extent.height,
                                          .planes = m->extent.depth,
                                          .to_row = m->dstPtr.pitch,
                                          .from_row = m->srcPtr.pitch,
                                          .to_plane = m->dstPtr.pitch * m->dstPtr.ysize,
                                          .from_plane = m->srcPtr.pitch * m->srcPtr.ysize};
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_row, const void *from, size_t from_row,
                              size_t bytes, size_t rows, enum cudaMemcpyKind kind, cudaStream_t s)
{
    (void)kind;
    fake_add(s, COPY)->copy = (fake_copy){.to = to,
                                          .from = from,
                                          .bytes = bytes,
                                          .rows = rows,
                                          .planes = 1,
                                          .to_row = to_row,
                                          .from_row = from_row};
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
    return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, s);
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    *p = calloc(1, bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    struct later *x = fake_idle() ? NULL : malloc(sizeof *x);
    if (x) {
        *x = (struct later){p, later};
        later = x;
    } else {
        free(p);
    }
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    (void)s;
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    fake_step();
    return s->first ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    (void)flags;
    *p = calloc(1, bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    free(p);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high)
{
    *low = *high = 0;
    return cudaSuccess;
}

// --- the driver ---

CUresult fake_number(fake_op *o, const CUstreamBatchMemOpParams *p)
{
    bool write = p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32;
    if (!write && (p->operation != CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                   p->waitValue.flags != CU_STREAM_WAIT_VALUE_GEQ))
        return CUDA_ERROR_NOT_SUPPORTED;
    o->kind = write ? WRITE : REACH;
    o->at = (uint32_t *)(uintptr_t)(write ? p->writeValue.address : p->waitValue.address);
    o->x = write ? p->writeValue.value : p->waitValue.value;
    return CUDA_SUCCESS;
}

static CUresult batch(CUstream s, unsigned n, CUstreamBatchMemOpParams *all, unsigned flags)
{
    if (n == 0 || n > 255 || flags) return CUDA_ERROR_INVALID_VALUE;
    if (s->graph) return fake_add_batch(s, n, all);
    for (unsigned i = 0; i < n; i++) {
        CUresult e = fake_number(fake_add(s, WRITE), &all[i]);
        if (e) return e;
    }
    return CUDA_SUCCESS;
}

const cuda_driver fake_driver = {
    .cuCtxGetCurrent_ = fake_current,
    .cuGraphBatchMemOpNodeGetParams_ = fake_get_params,
    .cuGraphExecBatchMemOpNodeSetParams_ = fake_set_params,
    .cuGraphGetNodes_ = fake_get_nodes,
    .cuGraphNodeGetType_ = fake_node_type,
    .cuStreamBatchMemOp_ = batch,
};
