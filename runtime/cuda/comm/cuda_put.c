#include "cuda/comm/cuda_put.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/comm/cuda_box.h"
#include "cuda/comm/cuda_segment.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/device/cuda_driver.h"
#include "cuda/device/cuda_limits.h"

enum {
    FLAG_BYTES = CUDA_PUT_FLAG_BYTES,
    MEMBERS = CUDA_PUT_MEMBERS,
    STORED = CUDA_PUT_STORED_PARTS * CUDA_PUT_STORED_MEMBERS // flags of a mask
};

struct cuda_put {
    hap_rank *r;
    unsigned axes;
    uint32_t first;
    int n, me, copies;   // copies: in flight at a time, each of a stream
    bool began[MEMBERS]; // by stream: has waited for the compute stream and for credits
};

// Operations of one stream that are given to the driver together: at most one a member.
typedef struct batch {
    int n;
    CUstreamBatchMemOpParams op[MEMBERS];
} batch;

typedef struct cuda_puts {
    const cuda_driver *driver;
    cuda_segment segment;
    cuda_put_sizes sizes;
    uint32_t count[CUDA_MASKS]; // numbers taken, by axis mask
    uint32_t given[CUDA_MASKS]; // of which credits are given: as many, or more
    cudaStream_t stream[MEMBERS], credits;
    cudaEvent_t ready, left, free;
    int copies[CUDA_MASKS]; // of the mask's last one-sided put
    cuda_put open;
    batch batch;
    hap_put_turns **turns;
    int n_turns, cap_turns;
    uint32_t *late; // host memory, mapped
} cuda_puts;

// Flags that are raised; behind them the numbers of launches.
static int n_flags(const hap_rank *r)
{
    return CUDA_MASKS * (CUDA_PUT_KINDS * r->n_members + HAP_PAIR_CHUNKS + STORED);
}

static cuda_puts *puts_of(const hap_rank *r)
{
    return cuda_of(r)->puts;
}

static void call(const cuda_put *p, CUresult e, const char *name)
{
    if (e) cuda_check(p->r, cuda_driver_said(puts_of(p->r)->driver, e, name));
}

static void cuda(const cuda_put *p, cudaError_t e, const char *name)
{
    cuda_check(p->r, cuda_said(e, name));
}

static void new_event(hap_rank *r, cudaEvent_t *e)
{
    cuda_check(r,
               cuda_said(cudaEventCreateWithFlags(e, cudaEventDisableTiming), "cudaEventCreate"));
}

cuda_put_sizes *cuda_put_sizes_of(const hap_rank *r)
{
    return &puts_of(r)->sizes;
}

char *cuda_put_start(hap_rank *r, int64_t bytes)
{
    const char *why = NULL;
    int low = 0, high = 0;
    cuda_puts *g = hap_alloc(r, sizeof *g);
    int64_t begin = (bytes + FLAG_BYTES - 1) / FLAG_BYTES * FLAG_BYTES;
    char *p = cuda_segment_start(r, &g->segment, bytes ? begin : 0,
                                 (int64_t)(n_flags(r) + CUDA_MASKS) * FLAG_BYTES);
    cuda_of(r)->puts = g;
    g->sizes = (cuda_put_sizes){.piece = 4 << 20, .run = 256, .turn = CUDA_TURN};
    if (!p) return NULL;
    g->driver = cuda_driver_get(&why);
    cuda_check(r, why);
    cudaDeviceGetStreamPriorityRange(&low, &high);
    for (int i = -1; i < r->n_members && i < MEMBERS; i++) {
        cudaStream_t *s = i < 0 ? &g->credits : &g->stream[i];
        cuda_check(r, cuda_said(cudaStreamCreateWithPriority(s, cudaStreamNonBlocking, high),
                                "cudaStreamCreate"));
    }
    new_event(r, &g->ready);
    new_event(r, &g->left);
    new_event(r, &g->free);
    cuda_check(r, cuda_said(cudaHostAlloc((void **)&g->late, sizeof *g->late, cudaHostAllocMapped),
                            "cudaHostAlloc"));
    *g->late = 0;
    return p;
}

void cuda_put_end(hap_rank *r)
{
    cuda_puts *g = puts_of(r);
    if (!g) return;
    for (int i = 0; i < MEMBERS; i++)
        if (g->stream[i]) cudaStreamDestroy(g->stream[i]);
    if (g->credits) cudaStreamDestroy(g->credits);
    if (g->ready) cudaEventDestroy(g->ready);
    if (g->left) cudaEventDestroy(g->left);
    if (g->free) cudaEventDestroy(g->free);
    if (g->late) cudaFreeHost(g->late);
    cuda_segment_end(r, &g->segment);
    for (int i = 0; i < g->n_turns; i++)
        free(g->turns[i]);
    free(g->turns);
    free(g);
    cuda_of(r)->puts = NULL;
}

// The rank that is member m of this rank's group.
static int rank_of(const hap_rank *r, unsigned axes, int m)
{
    int rank = 0, coord[HAP_MAX_AXES];
    for (int a = r->n_axes - 1; a >= 0; a--) {
        coord[a] = axes & AXIS(a) ? m % r->size[a] : r->coord[a];
        if (axes & AXIS(a)) m /= r->size[a];
    }
    for (int a = 0; a < r->n_axes; a++)
        rank = rank * r->size[a] + coord[a];
    return rank;
}

bool cuda_put_peers(const hap_rank *r, unsigned axes)
{
    const cuda_puts *g = puts_of(r);
    int n = hap_group_size(r, axes);
    if (!g || !g->segment.peer || n == 1 || n > MEMBERS) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (!g->segment.peer[rank_of(r, axes, i) * r->n_members + rank_of(r, axes, j)])
                return false;
    return true;
}

// In the owner's segment, raised by `source`.
static CUdeviceptr flag(const cuda_put *p, int owner, cuda_put_flag kind, int source)
{
    const cuda_segment *g = &puts_of(p->r)->segment;
    int64_t i = ((int64_t)p->axes * CUDA_PUT_KINDS + kind) * p->r->n_members + source;
    return (CUdeviceptr)(uintptr_t)(g->at[owner] + g->bytes + i * FLAG_BYTES);
}

static int member_rank(const cuda_put *p, int m)
{
    return rank_of(p->r, p->axes, m);
}

// --- streams ---

// What stream s does next comes behind what `before` has been given.
static void follow(const cuda_put *p, cudaStream_t s, cudaStream_t before)
{
    cuda_puts *g = puts_of(p->r);
    cuda(p, cudaEventRecord(g->left, before), "cudaEventRecord");
    cuda(p, cudaStreamWaitEvent(s, g->left, 0), "cudaStreamWaitEvent");
}

// Gives the stream the operations.
static void issue(const cuda_put *p, cudaStream_t s)
{
    cuda_puts *g = puts_of(p->r);
    if (g->batch.n)
        call(p, g->driver->cuStreamBatchMemOp_(s, (unsigned)g->batch.n, g->batch.op, 0),
             "cuStreamBatchMemOp");
    g->batch.n = 0;
}

static CUstreamBatchMemOpParams *next(const cuda_put *p)
{
    batch *b = &puts_of(p->r)->batch;
    CUstreamBatchMemOpParams *op = &b->op[b->n++];
    memset(op, 0, sizeof *op);
    return op;
}

static void add_write(const cuda_put *p, CUdeviceptr at, uint32_t number)
{
    CUstreamBatchMemOpParams *op = next(p);
    op->writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op->writeValue.address = at;
    op->writeValue.value = number;
    op->writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
}

static void add_wait(const cuda_put *p, CUdeviceptr at, uint32_t number)
{
    CUstreamBatchMemOpParams *op = next(p);
    op->waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op->waitValue.address = at;
    op->waitValue.value = number;
    op->waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
}

static int stream_of(const cuda_put *p, int member)
{
    return ((member - p->me + p->n) % p->n - 1) % p->copies;
}

cudaStream_t cuda_put_stream(const cuda_put *p, int member)
{
    return puts_of(p->r)->stream[stream_of(p, member)];
}

// Flags of a mask are raised in the order of its collectives, also where other streams raise them
// than before.
static void join_streams(const cuda_put *p)
{
    const cudaStream_t *s = puts_of(p->r)->stream;
    for (int i = 1; i < p->n - 1; i++) // s[0] gathers what all have been given; all wait for it
        follow(p, s[0], s[i]);
    for (int i = 1; i < p->n - 1; i++)
        follow(p, s[i], s[0]);
}

// --- turns ---

const hap_put_turns *cuda_put_turns(hap_rank *r, int n, const int64_t *bytes, int copies,
                                    bool gathers)
{
    cuda_puts *g = puts_of(r);
    int64_t least = copies > 1 ? INT64_MAX : g->sizes.turn;
    for (int i = 0; i < g->n_turns; i++) {
        const hap_put_turns *x = g->turns[i];
        if (x->n == n && x->least == least && x->gathers == gathers &&
            memcmp(x->bytes, bytes, sizeof *bytes * (size_t)n * (size_t)n) == 0)
            return x;
    }
    g->turns = hap_grow(r, g->turns, &g->cap_turns, g->n_turns + 1, sizeof(hap_put_turns *));
    hap_put_turns *x = hap_put_turns_of(n, bytes, least, gathers);
    HAP_CK(r, x, "no memory for the order of one-sided puts");
    g->turns[g->n_turns++] = x;
    return x;
}

// --- a collective ---

// Beside the compute stream, which each write would hold up; behind `free`.
static void give(hap_rank *r, unsigned axes, int n_parts, cudaEvent_t free)
{
    cuda_puts *g = puts_of(r);
    cuda_put p = {.r = r, .axes = axes};
    int n = hap_group_size(r, axes), me = hap_group_member(r, axes);
    cuda(&p, cudaStreamWaitEvent(g->credits, free, 0), "cudaStreamWaitEvent");
    for (int k = 1; k < n; k++) {
        int m = (me - k + n) % n; // who sends here first gets its credit first
        add_write(&p, flag(&p, member_rank(&p, m), CUDA_PUT_CREDIT, r->member), g->given[axes] + 1);
    }
    issue(&p, g->credits);
    g->given[axes] += (uint32_t)n_parts + 1;
}

void cuda_put_credit(hap_rank *r, unsigned axes, int n_parts)
{
    cuda_puts *g = puts_of(r);
    cuda_check(r, cuda_said(cudaEventRecord(g->free, cuda_of(r)->x.stream), "cudaEventRecord"));
    give(r, axes, n_parts, g->free);
}

cuda_put *cuda_put_open(hap_rank *r, const hap_coll_call *c, int n_parts)
{
    cuda_puts *g = puts_of(r);
    cuda_put *p = &g->open;
    int copies = hap_form_copies(c->form);
    bool changed = g->copies[c->axes] != copies;
    *p = (cuda_put){.r = r,
                    .axes = c->axes,
                    .first = g->count[c->axes] + 1,
                    .n = hap_group_size(r, c->axes),
                    .me = hap_group_member(r, c->axes),
                    .copies = copies};
    g->copies[c->axes] = copies;
    if (changed) join_streams(p);
    cuda(p, cudaEventRecord(g->ready, cuda_of(r)->x.stream), "cudaEventRecord");
    if (g->given[c->axes] == g->count[c->axes]) give(r, c->axes, n_parts, g->ready);
    g->count[c->axes] += (uint32_t)n_parts + 1;
    return p;
}

cudaEvent_t cuda_put_opened(const cuda_put *p)
{
    return puts_of(p->r)->ready;
}

// Before the first send by the stream that sends to m: for all to whom it sends.
static void begin(cuda_put *p, int m)
{
    cudaStream_t s = cuda_put_stream(p, m);
    if (p->began[stream_of(p, m)]) return;
    p->began[stream_of(p, m)] = true;
    // Credits first: a wait for numbers takes 2 us of the stream even where they are there.
    for (int k = 1; k < p->n; k++) {
        int to = (p->me + k) % p->n;
        if (stream_of(p, to) == stream_of(p, m))
            add_wait(p, flag(p, p->r->member, CUDA_PUT_CREDIT, member_rank(p, to)), p->first);
    }
    issue(p, s);
    cuda(p, cudaStreamWaitEvent(s, puts_of(p->r)->ready, 0), "cudaStreamWaitEvent");
}

void *cuda_put_at(hap_rank *r, unsigned axes, int member, const void *at)
{
    const cuda_segment *g = &puts_of(r)->segment;
    int64_t off = (const char *)at - g->at[r->member];
    HAP_CK(r, off >= 0 && off < g->bytes, "a one-sided put to outside SEG_SYM");
    return g->at[rank_of(r, axes, member)] + off;
}

uint32_t *cuda_put_flags_at(const hap_rank *r, unsigned axes, int member)
{
    const cuda_segment *g = &puts_of(r)->segment;
    return (uint32_t *)(void *)(g->at[rank_of(r, axes, member)] + g->bytes);
}

// Where the member has what this rank has at `to`.
static char *there(const cuda_put *p, int m, const void *to)
{
    return cuda_put_at(p->r, p->axes, m, to);
}

static CUdeviceptr arrived(const cuda_put *p, int m)
{
    return flag(p, member_rank(p, m), CUDA_PUT_ARRIVED, p->r->member);
}

void cuda_put_raise(cuda_put *p, int m, int part)
{
    begin(p, m);
    add_write(p, arrived(p, m), p->first + (uint32_t)part);
    issue(p, cuda_put_stream(p, m));
}

void cuda_put_raise_all(cuda_put *p, int n, const int *member, const int *part)
{
    for (int s = 0; s < p->copies; s++) {
        for (int i = 0; i < n; i++) {
            if (stream_of(p, member[i]) != s) continue;
            begin(p, member[i]);
            add_write(p, arrived(p, member[i]), p->first + (uint32_t)part[i]);
        }
        issue(p, puts_of(p->r)->stream[s]);
    }
}

void cuda_put_send(cuda_put *p, int m, int part, const void *from, void *to, int64_t bytes)
{
    begin(p, m);
    if (bytes)
        cuda(p,
             cudaMemcpyAsync(there(p, m, to), from, (size_t)bytes, cudaMemcpyDeviceToDevice,
                             cuda_put_stream(p, m)),
             "cudaMemcpyAsync");
    cuda_put_raise(p, m, part);
}

void cuda_put_copy(cuda_put *p, int m, const hap_coll_view *v, const void *from, hap_box from_held,
                   void *to, hap_box to_held, hap_box part)
{
    begin(p, m);
    if (hap_box_bytes(v, part) == 0) return;
    cuda_check(p->r, cuda_box_copy(cuda_put_stream(p, m), v, there(p, m, to), to_held, from,
                                   from_held, part, puts_of(p->r)->sizes.run));
}

void cuda_put_sends_after(cuda_put *p, cudaStream_t s)
{
    cuda_puts *g = puts_of(p->r);
    cuda(p, cudaEventRecord(g->left, s), "cudaEventRecord");
    for (int i = 0; i < p->copies; i++)
        cuda(p, cudaStreamWaitEvent(g->stream[i], g->left, 0), "cudaStreamWaitEvent");
}

static CUdeviceptr arrived_here(const cuda_put *p, int m)
{
    return flag(p, p->r->member, CUDA_PUT_ARRIVED, member_rank(p, m));
}

void cuda_put_await(cuda_put *p, cudaStream_t s, int m, int part)
{
    add_wait(p, arrived_here(p, m), p->first + (uint32_t)part);
    issue(p, s);
}

void cuda_put_await_all(cuda_put *p, cudaStream_t s, int n, const int *member, const int *part)
{
    for (int i = 0; i < n; i++)
        add_wait(p, arrived_here(p, member[i]), p->first + (uint32_t)part[i]);
    issue(p, s);
}

// --- kernels that make or read parts ---

int cuda_put_credit_flag(const hap_rank *r, unsigned axes, int member)
{
    return ((int)axes * CUDA_PUT_KINDS + CUDA_PUT_CREDIT) * r->n_members + rank_of(r, axes, member);
}

int cuda_put_stored_flag(const hap_rank *r, unsigned axes, int part, int member)
{
    return n_flags(r) - CUDA_MASKS * STORED + (int)axes * STORED + part * CUDA_PUT_STORED_MEMBERS +
           member;
}

int cuda_put_arrived_flag(const hap_rank *r, unsigned axes, int member)
{
    return ((int)axes * CUDA_PUT_KINDS + CUDA_PUT_ARRIVED) * r->n_members +
           rank_of(r, axes, member);
}

int cuda_put_made_flag(const hap_rank *r, unsigned axes, int part)
{
    return CUDA_MASKS * CUDA_PUT_KINDS * r->n_members + (int)axes * HAP_PAIR_CHUNKS + part;
}

uint32_t cuda_put_number(const cuda_put *p)
{
    return p->first;
}

static CUdeviceptr own_flag(const cuda_put *p, int i)
{
    const cuda_segment *g = &puts_of(p->r)->segment;
    return (CUdeviceptr)(uintptr_t)(g->at[p->r->member] + g->bytes + (int64_t)i * FLAG_BYTES);
}

const uint32_t *cuda_put_number_at(cuda_put *p, cudaStream_t s)
{
    CUdeviceptr at = own_flag(p, n_flags(p->r) + (int)p->axes);
    add_write(p, at, p->first);
    issue(p, s);
    return (const uint32_t *)(uintptr_t)at;
}

void cuda_put_await_made(cuda_put *p, cudaStream_t s, int part)
{
    add_wait(p, own_flag(p, cuda_put_made_flag(p->r, p->axes, part)), p->first + (uint32_t)part);
    issue(p, s);
}

uint32_t *cuda_put_late_at(const hap_rank *r)
{
    return puts_of(r)->late;
}

const char *cuda_put_late(const hap_rank *r)
{
    cuda_puts *g = puts_of(r);
    uint32_t late = g && g->late ? *(volatile uint32_t *)g->late : 0;
    if (!late) return NULL;
    *g->late = 0;
    return cuda_fail("what another rank stores or sends did not come in time (flag %u)", late - 1);
}

void cuda_put_close(cuda_put *p, cudaStream_t s, cudaEvent_t done)
{
    for (int i = 0; i < p->copies; i++)
        if (p->began[i]) follow(p, s, puts_of(p->r)->stream[i]);
    if (done) cuda(p, cudaEventRecord(done, s), "cudaEventRecord");
}

// --- captured steps ---

int cuda_put_streams(const hap_rank *r, cudaStream_t s[CUDA_PUT_STREAMS])
{
    const cuda_puts *g = puts_of(r);
    int n = 0;
    if (!g || !g->credits) return 0;
    s[n++] = g->credits;
    for (int i = 0; i < MEMBERS; i++)
        if (g->stream[i]) s[n++] = g->stream[i];
    return n;
}

uint32_t cuda_put_taken(const hap_rank *r, unsigned axes)
{
    const cuda_puts *g = puts_of(r);
    return g ? g->count[axes] : 0;
}

void cuda_put_take(hap_rank *r, unsigned axes, uint32_t number)
{
    cuda_puts *g = puts_of(r);
    if (g) g->count[axes] = g->given[axes] = number;
}

int cuda_put_mask_at(const hap_rank *r, const void *at)
{
    const cuda_puts *g = puts_of(r);
    for (int j = 0; g && g->segment.at && j < r->n_members; j++) {
        const char *flags = g->segment.at[j] ? g->segment.at[j] + g->segment.bytes : NULL;
        if (!flags || (const char *)at < flags) continue;
        int64_t i = ((const char *)at - flags) / FLAG_BYTES;
        int by_rank = CUDA_MASKS * CUDA_PUT_KINDS * r->n_members;
        if (i < by_rank) return (int)(i / (CUDA_PUT_KINDS * r->n_members));
        int stored = n_flags(r) - CUDA_MASKS * STORED;
        if (i < stored) return (int)((i - by_rank) / HAP_PAIR_CHUNKS);
        if (i < n_flags(r)) return (int)((i - stored) / STORED);
        if (i < n_flags(r) + CUDA_MASKS) return (int)i - n_flags(r);
    }
    return -1;
}

void *cuda_put_flags(const hap_rank *r, int *n)
{
    const cuda_puts *g = puts_of(r);
    *n = n_flags(r);
    return g && g->credits ? g->segment.at[r->member] + g->segment.bytes : NULL;
}
