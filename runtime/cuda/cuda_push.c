#include "cuda/cuda_push.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/cuda_backend.h"
#include "cuda/cuda_driver.h"
#include "cuda/cuda_segment.h"

enum {
    FLAG_BYTES = 128,
    MEMBERS = CUDA_PUSH_MEMBERS,
    WORDS = 2 * HAP_PAIR_GROUPS, // parts of a collective
    BATCH = 128                  // operations of one call; the driver takes up to 255
};
typedef enum { CREDIT, ARRIVED, KINDS } flag_kind;

struct cuda_push {
    hap_rank *r;
    const hap_coll_call *c;
    uint32_t first;
    int n_parts, n, me;
    bool began[MEMBERS];    // by stream: has waited for the compute stream
    bool credited[MEMBERS]; // sends to the member have waited for its credit
    bool stored[MEMBERS];   // by stream: a kernel has since the last number that was written
};

// Operations of one stream that are given to the driver together.
typedef struct batch {
    int n;
    CUstreamBatchMemOpParams op[BATCH];
} batch;

typedef struct cuda_pushes {
    const cuda_driver *driver;
    cuda_segment segment;
    cuda_push_options options;
    uint32_t count[CUDA_MASKS]; // numbers taken, by axis mask
    cudaStream_t stream[MEMBERS], credits;
    cudaStream_t flags, gates; // flags=side, credits=side
    uint32_t *word;            // flags=copy: [stream][part], on the device
    cudaEvent_t ready, left;
    hap_form form[CUDA_MASKS]; // of the mask's last push
    cuda_push open;
    batch batch;
} cuda_pushes;

static cuda_pushes *pushes_of(const hap_rank *r)
{
    return cuda_of(r)->pushes;
}

static void call(const cuda_push *p, CUresult e, const char *name)
{
    if (e) cuda_check(p->r, cuda_driver_said(pushes_of(p->r)->driver, e, name));
}

static void cuda(const cuda_push *p, cudaError_t e, const char *name)
{
    cuda_check(p->r, cuda_said(e, name));
}

static void new_event(hap_rank *r, cudaEvent_t *e)
{
    cuda_check(r,
               cuda_said(cudaEventCreateWithFlags(e, cudaEventDisableTiming), "cudaEventCreate"));
}

static void check_options(hap_rank *r, const char *text)
{
    const char *wrong = cuda_push_options_of(text, &pushes_of(r)->options);
    HAP_CK(r, !wrong, "HAP_PUSH: '%s' is not understood", wrong ? wrong : "");
}

const cuda_push_options *cuda_push_chosen(const hap_rank *r)
{
    static const cuda_push_options none = {.pieces = 1, .cuts = 1, .least = 1};
    const cuda_pushes *g = pushes_of(r);
    return g ? &g->options : &none;
}

char *cuda_push_start(hap_rank *r, int64_t bytes)
{
    const char *why = NULL;
    int low = 0, high = 0;
    cuda_pushes *g = hap_alloc(r, sizeof *g);
    int64_t begin = (bytes + FLAG_BYTES - 1) / FLAG_BYTES * FLAG_BYTES;
    char *p = cuda_segment_start(r, &g->segment, bytes ? begin : 0,
                                 (int64_t)CUDA_MASKS * KINDS * r->n_ranks * FLAG_BYTES);
    cuda_of(r)->pushes = g;
    check_options(r, getenv("HAP_PUSH"));
    if (!p) return NULL;
    g->driver = cuda_driver_get(&why);
    cuda_check(r, why);
    cudaDeviceGetStreamPriorityRange(&low, &high);
    cudaStream_t *other[] = {&g->credits, &g->flags, &g->gates};
    for (int i = -3; i < r->n_ranks && i < MEMBERS; i++) {
        cudaStream_t *s = i < 0 ? other[i + 3] : &g->stream[i];
        cuda_check(r, cuda_said(cudaStreamCreateWithPriority(s, cudaStreamNonBlocking, high),
                                "cudaStreamCreate"));
    }
    cuda_check(r, cuda_said(cudaMalloc((void **)&g->word, MEMBERS * WORDS * sizeof *g->word),
                            "cudaMalloc"));
    new_event(r, &g->ready);
    new_event(r, &g->left);
    return p;
}

void cuda_push_end(hap_rank *r)
{
    cuda_pushes *g = pushes_of(r);
    if (!g) return;
    for (int i = 0; i < MEMBERS; i++)
        if (g->stream[i]) cudaStreamDestroy(g->stream[i]);
    if (g->credits) cudaStreamDestroy(g->credits);
    if (g->flags) cudaStreamDestroy(g->flags);
    if (g->gates) cudaStreamDestroy(g->gates);
    if (g->word) cudaFree(g->word);
    if (g->ready) cudaEventDestroy(g->ready);
    if (g->left) cudaEventDestroy(g->left);
    cuda_segment_end(r, &g->segment);
    free(g);
    cuda_of(r)->pushes = NULL;
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

bool cuda_push_peers(const hap_rank *r, unsigned axes)
{
    const cuda_pushes *g = pushes_of(r);
    int n = hap_group_size(r, axes);
    if (!g || !g->segment.peer || n == 1 || n > MEMBERS) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (!g->segment.peer[rank_of(r, axes, i) * r->n_ranks + rank_of(r, axes, j)])
                return false;
    return true;
}

// In the owner's segment, raised by `source`.
static CUdeviceptr flag(const cuda_push *p, int owner, flag_kind kind, int source)
{
    const cuda_segment *g = &pushes_of(p->r)->segment;
    int64_t i = ((int64_t)p->c->axes * KINDS + kind) * p->r->n_ranks + source;
    return (CUdeviceptr)(uintptr_t)(g->at[owner] + g->bytes + i * FLAG_BYTES);
}

static int member_rank(const cuda_push *p, int m)
{
    return rank_of(p->r, p->c->axes, m);
}

// --- streams ---

// What stream s does next comes behind what `before` has been given.
static void follow(const cuda_push *p, cudaStream_t s, cudaStream_t before)
{
    cuda_pushes *g = pushes_of(p->r);
    cuda(p, cudaEventRecord(g->left, before), "cudaEventRecord");
    cuda(p, cudaStreamWaitEvent(s, g->left, 0), "cudaStreamWaitEvent");
}

// Gives the stream the operations.
static void issue(const cuda_push *p, cudaStream_t s)
{
    cuda_pushes *g = pushes_of(p->r);
    if (g->batch.n)
        call(p, g->driver->cuStreamBatchMemOp_(s, (unsigned)g->batch.n, g->batch.op, 0),
             "cuStreamBatchMemOp");
    g->batch.n = 0;
}

// To be issued to the stream, which it is here if there is no room.
static CUstreamBatchMemOpParams *next(const cuda_push *p, cudaStream_t s)
{
    batch *b = &pushes_of(p->r)->batch;
    if (b->n == BATCH) issue(p, s);
    CUstreamBatchMemOpParams *op = &b->op[b->n++];
    memset(op, 0, sizeof *op);
    return op;
}

static void add_write(const cuda_push *p, cudaStream_t s, CUdeviceptr at, uint32_t number)
{
    CUstreamBatchMemOpParams *op = next(p, s);
    op->writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op->writeValue.address = at;
    op->writeValue.value = number;
    op->writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
}

static void add_wait(const cuda_push *p, cudaStream_t s, CUdeviceptr at, uint32_t number)
{
    CUstreamBatchMemOpParams *op = next(p, s);
    op->waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op->waitValue.address = at;
    op->waitValue.value = number;
    op->waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
}

static void write_number(const cuda_push *p, cudaStream_t s, CUdeviceptr at, uint32_t number)
{
    call(p,
         pushes_of(p->r)->driver->cuStreamWriteValue32_(s, at, number,
                                                        CU_STREAM_WRITE_VALUE_DEFAULT),
         "cuStreamWriteValue32");
}

static void wait_number(const cuda_push *p, cudaStream_t s, CUdeviceptr at, uint32_t number)
{
    call(p, pushes_of(p->r)->driver->cuStreamWaitValue32_(s, at, number, CU_STREAM_WAIT_VALUE_GEQ),
         "cuStreamWaitValue32");
}

static bool a_stream_each(const cuda_push *p)
{
    return p->c->form == FORM_PUSH_ALL;
}

static int stream_of(const cuda_push *p, int member)
{
    return a_stream_each(p) ? member : 0;
}

cudaStream_t cuda_push_stream(const cuda_push *p, int member)
{
    return pushes_of(p->r)->stream[stream_of(p, member)];
}

// Flags of a mask are raised in the order of its collectives, also where other streams raise them
// than before.
static void join_streams(const cuda_push *p)
{
    cuda_pushes *g = pushes_of(p->r);
    cudaStream_t all[MEMBERS + 1] = {g->flags};
    int n = 1;
    for (int m = 0; m < p->n; m++)
        all[n++] = g->stream[m];
    for (int i = 1; i < n; i++) // the first gathers what all have been given, and all wait for it
        follow(p, all[0], all[i]);
    for (int i = 1; i < n; i++)
        follow(p, all[i], all[0]);
}

void cuda_push_choose(hap_rank *r, const char *options)
{
    cuda_pushes *g = pushes_of(r);
    if (!g) return;
    cuda_check(r, cuda_said(cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
    check_options(r, options);
}

// --- a collective ---

cuda_push *cuda_push_open(hap_rank *r, const hap_coll_call *c, int n_parts)
{
    cuda_pushes *g = pushes_of(r);
    cuda_push *p = &g->open;
    bool changed = g->form[c->axes] != c->form;
    HAP_CK(r, n_parts <= WORDS, "a collective in %d parts", n_parts);
    *p = (cuda_push){.r = r,
                     .c = c,
                     .first = g->count[c->axes] + 1,
                     .n_parts = n_parts,
                     .n = hap_group_size(r, c->axes),
                     .me = hap_group_member(r, c->axes)};
    g->form[c->axes] = c->form;
    g->count[c->axes] += (uint32_t)n_parts + 1;
    if (changed) join_streams(p);
    // Beside the compute stream, which each write would hold up.
    cudaStream_t s = g->options.give_compute ? cuda_of(r)->x.stream : g->credits;
    cuda(p, cudaEventRecord(g->ready, cuda_of(r)->x.stream), "cudaEventRecord");
    if (s == g->credits) cuda(p, cudaStreamWaitEvent(s, g->ready, 0), "cudaStreamWaitEvent");
    for (int k = 1; k < p->n; k++) {
        int m = (p->me - k + p->n) % p->n; // who sends here first gets its credit first
        add_write(p, s, flag(p, member_rank(p, m), CREDIT, r->id), p->first);
    }
    issue(p, s);
    return p;
}

static CUdeviceptr credit_of(const cuda_push *p, int m)
{
    return flag(p, p->r->id, CREDIT, member_rank(p, m));
}

static uint32_t *word_of(const cuda_push *p, int m, int part)
{
    return pushes_of(p->r)->word + stream_of(p, m) * WORDS + part;
}

// The first send by the stream that sends to m: waits and writes that stand before all of them.
static void begin_stream(cuda_push *p, int m)
{
    cuda_pushes *g = pushes_of(p->r);
    push_credits credits = g->options.credits;
    cudaStream_t s = cuda_push_stream(p, m);
    bool aside = credits == PUSH_CREDITS_SIDE;
    cuda(p, cudaStreamWaitEvent(s, g->ready, 0), "cudaStreamWaitEvent");
    for (int k = 1; k < p->n && (aside || credits == PUSH_CREDITS_ONCE); k++) {
        int to = (p->me + k) % p->n;
        if (stream_of(p, to) != stream_of(p, m)) continue;
        add_wait(p, aside ? g->gates : s, credit_of(p, to), p->first);
        p->credited[to] = true;
    }
    if (aside) {
        issue(p, g->gates);
        follow(p, s, g->gates);
    }
    for (int i = 0; i < p->n_parts && g->options.flags == PUSH_FLAGS_COPY; i++)
        add_write(p, s, (CUdeviceptr)(uintptr_t)word_of(p, m, i), p->first + (uint32_t)i);
    issue(p, s);
}

static void begin(cuda_push *p, int m)
{
    if (!p->began[stream_of(p, m)]) begin_stream(p, m);
    p->began[stream_of(p, m)] = true;
    if (!p->credited[m] && pushes_of(p->r)->options.credits != PUSH_CREDITS_NONE)
        wait_number(p, cuda_push_stream(p, m), credit_of(p, m), p->first);
    p->credited[m] = true;
}

// Where the member has what this rank has at `to`.
static char *there(const cuda_push *p, int m, const void *to)
{
    const cuda_segment *g = &pushes_of(p->r)->segment;
    int64_t off = (const char *)to - g->at[p->r->id];
    HAP_CK(p->r, off >= 0 && off < g->bytes, "a push to outside SEG_SYM");
    return g->at[member_rank(p, m)] + off;
}

static CUdeviceptr arrived(const cuda_push *p, int m)
{
    return flag(p, member_rank(p, m), ARRIVED, p->r->id);
}

// By the stream of flags.
static bool flags_aside(const cuda_push *p)
{
    push_flags flags = pushes_of(p->r)->options.flags;
    return (flags == PUSH_FLAGS_SIDE || flags == PUSH_FLAGS_END) && !a_stream_each(p);
}

void cuda_push_raise(cuda_push *p, int m, int part)
{
    cuda_pushes *g = pushes_of(p->r);
    cudaStream_t s = cuda_push_stream(p, m);
    begin(p, m);
    bool *stored = &p->stored[stream_of(p, m)];
    if (g->options.flags == PUSH_FLAGS_COPY && !*stored) {
        cuda(p,
             cudaMemcpyAsync((void *)(uintptr_t)arrived(p, m), word_of(p, m, part),
                             sizeof(uint32_t), cudaMemcpyDeviceToDevice, s),
             "cudaMemcpyAsync");
        return;
    }
    if (flags_aside(p)) {
        follow(p, g->flags, s);
        s = g->flags;
    }
    write_number(p, s, arrived(p, m), p->first + (uint32_t)part);
    *stored = false;
}

void cuda_push_raise_all(cuda_push *p, int n, const int *member, const int *part)
{
    cuda_pushes *g = pushes_of(p->r);
    push_flags flags = g->options.flags;
    if ((flags != PUSH_FLAGS_LATE && flags != PUSH_FLAGS_END) || a_stream_each(p)) {
        for (int i = 0; i < n; i++)
            cuda_push_raise(p, member[i], part[i]);
        return;
    }
    for (int i = 0; i < n; i++)
        begin(p, member[i]);
    cudaStream_t s = flags_aside(p) ? g->flags : g->stream[0];
    if (s == g->flags) follow(p, s, g->stream[0]);
    for (int i = 0; i < n; i++)
        add_write(p, s, arrived(p, member[i]), p->first + (uint32_t)part[i]);
    issue(p, s);
}

void cuda_push_send(cuda_push *p, int m, int part, const void *from, void *to, int64_t bytes)
{
    begin(p, m);
    if (bytes)
        cuda(p,
             cudaMemcpyAsync(there(p, m, to), from, (size_t)bytes, cudaMemcpyDeviceToDevice,
                             cuda_push_stream(p, m)),
             "cudaMemcpyAsync");
    cuda_push_raise(p, m, part);
}

void cuda_push_copy(cuda_push *p, int m, const hap_coll_view *v, const void *from,
                    hap_box from_held, void *to, hap_box to_held, hap_box part)
{
    begin(p, m);
    if (hap_box_bytes(v, part) == 0) return;
    int64_t shorter = pushes_of(p->r)->options.kernel;
    if (cuda_box_by_kernel(v, to_held, from_held, part, shorter)) p->stored[stream_of(p, m)] = true;
    cuda_check(p->r, cuda_box_copy(cuda_push_stream(p, m), v, there(p, m, to), to_held, from,
                                   from_held, part, shorter));
}

void cuda_push_sends_after(cuda_push *p, cudaStream_t s)
{
    cuda_pushes *g = pushes_of(p->r);
    cuda(p, cudaEventRecord(g->left, s), "cudaEventRecord");
    for (int i = 0; i < (a_stream_each(p) ? p->n : 1); i++)
        if (!a_stream_each(p) || i != p->me)
            cuda(p, cudaStreamWaitEvent(g->stream[i], g->left, 0), "cudaStreamWaitEvent");
}

static CUdeviceptr arrived_here(const cuda_push *p, int m)
{
    return flag(p, p->r->id, ARRIVED, member_rank(p, m));
}

void cuda_push_await(cuda_push *p, cudaStream_t s, int m, int part)
{
    wait_number(p, s, arrived_here(p, m), p->first + (uint32_t)part);
}

void cuda_push_await_all(cuda_push *p, cudaStream_t s, int n, const int *member, const int *part)
{
    bool once = pushes_of(p->r)->options.awaits_once;
    for (int i = 0; i < n; i++) {
        if (once)
            add_wait(p, s, arrived_here(p, member[i]), p->first + (uint32_t)part[i]);
        else
            cuda_push_await(p, s, member[i], part[i]);
    }
    issue(p, s);
}

void cuda_push_close(cuda_push *p, cudaStream_t s, cudaEvent_t done)
{
    for (int i = 0; i < p->n; i++)
        if (p->began[i]) follow(p, s, pushes_of(p->r)->stream[i]);
    cuda(p, cudaEventRecord(done, s), "cudaEventRecord");
}
