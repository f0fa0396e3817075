#include "tests/support/fake_streams.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 512, PIECES = 3 };

// A record of an event, kept until the streams are forgotten.
typedef struct mark {
    bool come;
    struct mark *next;
} mark;

typedef enum { RECORD, AWAIT, WRITE, REACH, COPY, CALL } op_kind;
typedef struct op {
    op_kind kind;
    mark *mark;      // RECORD, AWAIT
    uint32_t *at, x; // WRITE, REACH
    char *to;        // COPY: planes of rows of bytes
    const char *from;
    size_t bytes, rows, planes, to_row, from_row, to_plane, from_plane;
    bool (*step)(void *, int); // CALL
    void *arg;
    int done; // steps
    struct op *next;
} op;

struct CUstream_st {
    op *first, *last;
    int weight;
};
struct CUevent_st {
    mark *last; // NULL: never recorded
};

static struct CUstream_st *stream[MOST_STREAMS];
static int n_streams;
static mark *marks;
static uint64_t state;
static bool deaf;

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

void fake_deaf(bool is)
{
    deaf = is;
}

static op *add(cudaStream_t s, op_kind kind)
{
    op *o = calloc(1, sizeof *o);
    o->kind = kind;
    *(s->last ? &s->last->next : &s->first) = o;
    s->last = o;
    return o;
}

void fake_call(cudaStream_t s, bool (*step)(void *arg, int number), void *arg)
{
    op *o = add(s, CALL);
    o->step = step;
    o->arg = arg;
}

static bool ready(const op *o)
{
    if (o->kind == AWAIT) return !o->mark || o->mark->come;
    return o->kind != REACH || deaf || (int32_t)(*o->at - o->x) >= 0;
}

// Rows in turn; a single one in pieces.
static bool copy_some(op *o)
{
    size_t n = o->rows * o->planes;
    for (size_t i = 0; i < n; i++) {
        char *to = o->to + i / o->rows * o->to_plane + i % o->rows * o->to_row;
        const char *from = o->from + i / o->rows * o->from_plane + i % o->rows * o->from_row;
        size_t k = (size_t)o->done, lo = n > 1 ? 0 : o->bytes * k / PIECES;
        size_t hi = n > 1 ? o->bytes : o->bytes * (k + 1) / PIECES;
        if (n == 1 || i % PIECES == k) memcpy(to + lo, from + lo, hi - lo);
    }
    return ++o->done == PIECES;
}

static bool run(op *o)
{
    switch (o->kind) {
    case RECORD:
        o->mark->come = true;
        return true;
    case WRITE:
        *o->at = o->x;
        return true;
    case COPY:
        return copy_some(o);
    case CALL:
        return o->step(o->arg, o->done++);
    case AWAIT:
    case REACH:
        return true;
    }
    return true;
}

bool fake_step(void)
{
    struct CUstream_st *able[MOST_STREAMS];
    int n = 0, all = 0, k = 0;
    for (int i = 0; i < n_streams; i++) {
        if (!stream[i]->first || !ready(stream[i]->first)) continue;
        all += stream[i]->weight;
        able[n++] = stream[i];
    }
    if (n == 0) return false;
    for (int left = (int)fake_draw((uint64_t)all); left >= able[k]->weight; k++)
        left -= able[k]->weight;
    op *o = able[k]->first;
    if (!run(o)) return true;
    able[k]->first = o->next;
    if (!o->next) able[k]->last = NULL;
    free(o);
    return true;
}

bool fake_idle(void)
{
    for (int i = 0; i < n_streams; i++)
        if (stream[i]->first) return false;
    return true;
}

void fake_forget(void)
{
    for (int i = 0; i < n_streams; i++) {
        for (op *o = stream[i]->first, *next; o; o = next) {
            next = o->next;
            free(o);
        }
        stream[i]->first = stream[i]->last = NULL;
    }
    for (mark *m = marks, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    marks = NULL;
}

// --- the runtime ---

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    if (n_streams == MOST_STREAMS) return cudaErrorMemoryAllocation;
    *s = stream[n_streams++] = calloc(1, sizeof **s);
    (*s)->weight = weight();
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
    mark *m = calloc(1, sizeof *m);
    m->next = marks;
    marks = e->last = m;
    add(s, RECORD)->mark = m;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    (void)flags;
    add(s, AWAIT)->mark = e->last;
    return cudaSuccess;
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *m, cudaStream_t s)
{
    op *o = add(s, COPY);
    o->to = m->dstPtr.ptr;
    o->from = m->srcPtr.ptr;
    o->bytes = m->extent.width;
    o->rows = m->extent.height;
    o->planes = m->extent.depth;
    o->to_row = m->dstPtr.pitch;
    o->from_row = m->srcPtr.pitch;
    o->to_plane = m->dstPtr.pitch * m->dstPtr.ysize;
    o->from_plane = m->srcPtr.pitch * m->srcPtr.ysize;
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_row, const void *from, size_t from_row,
                              size_t bytes, size_t rows, enum cudaMemcpyKind kind, cudaStream_t s)
{
    op *o = add(s, COPY);
    (void)kind;
    o->to = to;
    o->from = from;
    o->bytes = bytes;
    o->rows = rows;
    o->planes = 1;
    o->to_row = to_row;
    o->from_row = from_row;
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
    free(p);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high)
{
    *low = *high = 0;
    return cudaSuccess;
}

// --- the driver ---

static CUresult add_number(CUstream s, op_kind kind, CUdeviceptr at, uint32_t x)
{
    op *o = add(s, kind);
    o->at = (uint32_t *)(uintptr_t)at;
    o->x = x;
    return CUDA_SUCCESS;
}

static CUresult write_value(CUstream s, CUdeviceptr at, cuuint32_t x, unsigned flags)
{
    (void)flags;
    return add_number(s, WRITE, at, x);
}

static CUresult wait_value(CUstream s, CUdeviceptr at, cuuint32_t x, unsigned flags)
{
    return flags == CU_STREAM_WAIT_VALUE_GEQ ? add_number(s, REACH, at, x)
                                             : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult batch(CUstream s, unsigned n, CUstreamBatchMemOpParams *all, unsigned flags)
{
    if (n == 0 || n > 255 || flags) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        const CUstreamBatchMemOpParams *o = &all[i];
        CUresult e = CUDA_ERROR_NOT_SUPPORTED;
        if (o->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
            e = write_value(s, o->writeValue.address, o->writeValue.value, o->writeValue.flags);
        else if (o->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
            e = wait_value(s, o->waitValue.address, o->waitValue.value, o->waitValue.flags);
        if (e) return e;
    }
    return CUDA_SUCCESS;
}

const cuda_driver fake_driver = {
    .cuStreamBatchMemOp_ = batch,
    .cuStreamWaitValue32_ = wait_value,
    .cuStreamWriteValue32_ = write_value,
};
