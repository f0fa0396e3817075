#include "cuda/cuda_push.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/cuda_backend.h"
#include "cuda/cuda_driver.h"
#include "cuda/cuda_segment.h"

enum { FLAG_BYTES = 128, MEMBERS = 64 };
typedef enum { CREDIT, ARRIVED, KINDS } flag_kind;

struct cuda_push {
    hap_rank *r;
    const hap_coll_call *c;
    uint32_t first;
    int n_parts, n, me;
    bool changed;        // the form is not that of the mask's last push
    bool began[MEMBERS]; // sends to the member have waited for its credit
};

typedef struct cuda_pushes {
    const cuda_driver *driver;
    cuda_segment segment;
    uint32_t count[CUDA_MASKS]; // numbers taken, by axis mask
    cudaStream_t stream[MEMBERS], credits;
    cudaEvent_t ready, left;
    // Flags of a mask are raised in the order of its collectives: where the form changes, and with
    // it the streams, sends wait for all that was sent before.
    cudaEvent_t sent[CUDA_MASKS];
    hap_form form[CUDA_MASKS];
    cuda_push open;
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

char *cuda_push_start(hap_rank *r, int64_t bytes)
{
    const char *why = NULL;
    int low = 0, high = 0;
    cuda_pushes *g = hap_alloc(r, sizeof *g);
    int64_t begin = (bytes + FLAG_BYTES - 1) / FLAG_BYTES * FLAG_BYTES;
    char *p = cuda_segment_start(r, &g->segment, bytes ? begin : 0,
                                 (int64_t)CUDA_MASKS * KINDS * r->n_ranks * FLAG_BYTES);
    cuda_of(r)->pushes = g;
    if (!p) return NULL;
    g->driver = cuda_driver_get(&why);
    cuda_check(r, why);
    cudaDeviceGetStreamPriorityRange(&low, &high);
    for (int i = -1; i < r->n_ranks && i < MEMBERS; i++) {
        cudaStream_t *s = i < 0 ? &g->credits : &g->stream[i];
        cuda_check(r, cuda_said(cudaStreamCreateWithPriority(s, cudaStreamNonBlocking, high),
                                "cudaStreamCreate"));
    }
    new_event(r, &g->ready);
    new_event(r, &g->left);
    for (int m = 0; m < CUDA_MASKS; m++)
        new_event(r, &g->sent[m]);
    return p;
}

void cuda_push_end(hap_rank *r)
{
    cuda_pushes *g = pushes_of(r);
    if (!g) return;
    for (int i = 0; i < MEMBERS; i++)
        if (g->stream[i]) cudaStreamDestroy(g->stream[i]);
    if (g->credits) cudaStreamDestroy(g->credits);
    if (g->ready) cudaEventDestroy(g->ready);
    if (g->left) cudaEventDestroy(g->left);
    for (int m = 0; m < CUDA_MASKS; m++)
        if (g->sent[m]) cudaEventDestroy(g->sent[m]);
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

cuda_push *cuda_push_open(hap_rank *r, const hap_coll_call *c, int n_parts)
{
    cuda_pushes *g = pushes_of(r);
    cuda_push *p = &g->open;
    *p = (cuda_push){.r = r,
                     .c = c,
                     .first = g->count[c->axes] + 1,
                     .n_parts = n_parts,
                     .n = hap_group_size(r, c->axes),
                     .me = hap_group_member(r, c->axes),
                     .changed = g->form[c->axes] != c->form};
    g->form[c->axes] = c->form;
    g->count[c->axes] += (uint32_t)n_parts + 1;
    // Beside the compute stream, which each write would hold up.
    CUstreamBatchMemOpParams credit[MEMBERS];
    memset(credit, 0, sizeof credit);
    for (int k = 1; k < p->n; k++) {
        int m = (p->me - k + p->n) % p->n; // who sends here first gets its credit first
        credit[k - 1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        credit[k - 1].writeValue.address = flag(p, member_rank(p, m), CREDIT, r->id);
        credit[k - 1].writeValue.value = p->first;
    }
    cuda(p, cudaEventRecord(g->ready, cuda_of(r)->x.stream), "cudaEventRecord");
    cuda(p, cudaStreamWaitEvent(g->credits, g->ready, 0), "cudaStreamWaitEvent");
    call(p, g->driver->cuStreamBatchMemOp_(g->credits, (unsigned)p->n - 1, credit, 0),
         "cuStreamBatchMemOp");
    return p;
}

cudaStream_t cuda_push_stream(const cuda_push *p, int member)
{
    return pushes_of(p->r)->stream[p->c->form == FORM_PUSH_ALL ? member : 0];
}

static void begin(cuda_push *p, int m)
{
    cuda_pushes *g = pushes_of(p->r);
    cudaStream_t s = cuda_push_stream(p, m);
    if (p->began[m]) return;
    p->began[m] = true;
    cuda(p, cudaStreamWaitEvent(s, g->ready, 0), "cudaStreamWaitEvent");
    if (p->changed) cuda(p, cudaStreamWaitEvent(s, g->sent[p->c->axes], 0), "cudaStreamWaitEvent");
    call(p,
         g->driver->cuStreamWaitValue32_(s, flag(p, p->r->id, CREDIT, member_rank(p, m)), p->first,
                                         CU_STREAM_WAIT_VALUE_GEQ),
         "cuStreamWaitValue32");
}

// Where the member has what this rank has at `to`.
static char *there(const cuda_push *p, int m, const void *to)
{
    const cuda_segment *g = &pushes_of(p->r)->segment;
    int64_t off = (const char *)to - g->at[p->r->id];
    HAP_CK(p->r, off >= 0 && off < g->bytes, "a push to outside SEG_SYM");
    return g->at[member_rank(p, m)] + off;
}

void cuda_push_raise(cuda_push *p, int m, int part)
{
    begin(p, m);
    call(p,
         pushes_of(p->r)->driver->cuStreamWriteValue32_(
             cuda_push_stream(p, m), flag(p, member_rank(p, m), ARRIVED, p->r->id),
             p->first + (uint32_t)part, CU_STREAM_WRITE_VALUE_DEFAULT),
         "cuStreamWriteValue32");
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
    cuda_check(p->r, cuda_box_copy(cuda_push_stream(p, m), v, there(p, m, to), to_held, from,
                                   from_held, part));
}

void cuda_push_sends_after(cuda_push *p, cudaStream_t s)
{
    cuda_pushes *g = pushes_of(p->r);
    cuda(p, cudaEventRecord(g->left, s), "cudaEventRecord");
    for (int m = 0; m < p->n; m++) {
        if (m == p->me) continue;
        cuda(p, cudaStreamWaitEvent(cuda_push_stream(p, m), g->left, 0), "cudaStreamWaitEvent");
        if (p->c->form == FORM_PUSH) break; // one stream has them all
    }
}

void cuda_push_await(cuda_push *p, cudaStream_t s, int m, int part)
{
    call(p,
         pushes_of(p->r)->driver->cuStreamWaitValue32_(
             s, flag(p, p->r->id, ARRIVED, member_rank(p, m)), p->first + (uint32_t)part,
             CU_STREAM_WAIT_VALUE_GEQ),
         "cuStreamWaitValue32");
}

void cuda_push_close(cuda_push *p, cudaStream_t s, cudaEvent_t done)
{
    cuda_pushes *g = pushes_of(p->r);
    for (int m = 0; m < p->n; m++) {
        if (!p->began[m]) continue;
        cuda(p, cudaEventRecord(g->left, cuda_push_stream(p, m)), "cudaEventRecord");
        cuda(p, cudaStreamWaitEvent(s, g->left, 0), "cudaStreamWaitEvent");
        if (p->c->form == FORM_PUSH) break; // one stream has them all
    }
    cuda(p, cudaEventRecord(g->sent[p->c->axes], s), "cudaEventRecord");
    cuda(p, cudaEventRecord(done, s), "cudaEventRecord");
}
