// Tile kernels (cuda/kernels/tile_gemm.h) as work of a stream of fake_streams.h: entry by entry of
// the list, in its order, of floats. What the kernel promises of flags, tallies, sums and parts of
// k is here, no more.

#include <stdlib.h>
#include <string.h>

#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/kernels/tile_gemm.h"
#include "tests/support/fake_streams.h"

struct tile_place {
    const float *a, *b;
    float *y, *to;
    int64_t la, lb, ly, k;
    bool b_t;
};

struct tile_part {
    float *at;
    uint32_t *flags;
};

typedef struct fake_kernel_run {
    tile_call c;
    const tile_shape *s;
    int at, pushed;
} fake_run;

const char *tile_why_not(const tile_call *c)
{
    (void)c;
    return NULL;
}

const char *tile_place_make(const tile_call *c, const tile_shape *s, struct tile_place *to)
{
    const cuda_gemm *p = &c->p;
    (void)s;
    *to = (struct tile_place){c->a, c->b, c->y, c->to, p->la, p->lb, p->ly, p->k, p->b_t};
    return NULL;
}

const char *tile_part_make(const tile_call *c, const void *part, struct tile_part *to)
{
    (void)c;
    to->at = (float *)(uintptr_t)part;
    return NULL;
}

// Rows, not boxes: this kernel has a layout of its own.
void tile_boxes_make(const void *boxes, uint32_t *flags, struct tile_part *to)
{
    to->at = (float *)(uintptr_t)boxes;
    to->flags = flags;
}

int64_t tile_place_bytes(void)
{
    return sizeof(struct tile_place);
}

int64_t tile_part_bytes(void)
{
    return sizeof(struct tile_part);
}

static uint32_t number_of(const fake_run *x)
{
    return x->c.number_at ? *x->c.number_at : x->c.number;
}

static bool able(const void *arg)
{
    const fake_run *x = arg;
    const tile_entry *e = &x->c.list[x->at];
    if (x->pushed < x->c.n_pushes) {
        const tile_push *p = &x->c.pushes[x->pushed];
        uint32_t until = number_of(x);
        return (int32_t)(x->c.flags[(int64_t)p->credit * TILE_FLAG_APART] - until) >= 0;
    }
    for (int i = e->wait; i < e->wait + e->waits; i++) {
        const tile_wait *w = &x->c.waits[i];
        uint32_t until = number_of(x) + (uint32_t)w->until;
        if ((int32_t)(x->c.flags[(int64_t)w->flag * TILE_FLAG_APART] - until) < 0) return false;
    }
    return true;
}

// A slot of the room: a flag, two tiles.
static uint32_t *part_flag(const fake_run *x, int slot)
{
    return (uint32_t *)x->c.room + slot * TILE_SLOT_FLAGS;
}
static float *part_at(const fake_run *x, int slot, const tile_entry *e, int64_t row, int64_t col)
{
    const bool second = row >= e->row + x->s->rows || col >= e->col + x->s->cols;
    float *tiles = (float *)x->c.room + TILE_SLOTS * TILE_SLOT_FLAGS;
    return tiles + ((slot * 2 + second) * x->s->rows + (row - e->row) % x->s->rows) * x->s->cols +
           (col - e->col) % x->s->cols;
}

static void make_element(const fake_run *x, const tile_entry *e, int64_t row, int64_t col)
{
    enum { STEP = 64 };
    const struct tile_place *p = &x->c.places[e->place];
    const tile_sums *sum = x->c.sum;
    const int64_t end = (int64_t)(e->from + e->steps) * STEP;
    float own = 0, all = -0.f;
    for (int64_t k = (int64_t)e->from * STEP; k < p->k && k < end; k++)
        own += p->a[row * p->la + k] * p->b[p->b_t ? col * p->lb + k : k * p->lb + col];
    for (int slot = e->slot; slot < e->slot + e->slots; slot++)
        own += *part_at(x, slot, e, row, col);
    if (e->kind & TILE_PART) {
        *part_at(x, e->slot, e, row, col) = own;
        return;
    }
    if (!(e->kind & TILE_DROPS)) p->y[row * p->ly + col] = own;
    if (e->kind & TILE_SENDS) p->to[row * p->ly + col] = own;
    if (!(e->kind & TILE_SUMS)) return;
    for (int m = 0; m < sum->members; m++)
        all += m == sum->me ? own : sum->parts[m].at[row * p->ly + col];
    sum->parts[sum->me].at[row * p->ly + col] = all;
    for (int m = 0; m < sum->members && e->kind & TILE_ALL; m++)
        sum->parts[sum->members + m].at[row * p->ly + col] = all;
}

static void raise(const fake_run *x, const tile_entry *e)
{
    const int64_t at = (int64_t)e->signal * TILE_FLAG_APART;
    const uint32_t number = number_of(x) + (uint32_t)e->raise;
    const tile_sums *sum = x->c.sum;
    if (!(e->kind & (TILE_SENDS | TILE_ALL))) x->c.flags[at] = number;
    for (int m = 0; m < (sum ? sum->members : 0) && e->kind & (TILE_SENDS | TILE_ALL); m++)
        if (m != sum->me && (e->kind & TILE_ALL || m == e->place % sum->members))
            sum->parts[m].flags[at] = number;
}

static bool run_entry(void *arg, int number)
{
    fake_run *x = arg;
    const tile_entry *e = &x->c.list[x->at];
    const bool right = e->kind & TILE_RIGHT;
    (void)number;
    if (x->pushed < x->c.n_pushes) {
        const tile_push *p = &x->c.pushes[x->pushed++];
        memcpy(p->to, p->from, (size_t)p->bytes);
        p->flags[(int64_t)p->signal * TILE_FLAG_APART] = number_of(x) + (uint32_t)p->raise;
        return false;
    }
    for (int slot = e->slot; slot < e->slot + e->slots; slot++, *part_flag(x, slot - 1) = 0)
        if (!*part_flag(x, slot)) abort(); // not there yet
    if (e->kind & TILE_PART) *part_flag(x, e->slot) = 1;
    for (int tile = 0; tile < 2; tile++) {
        const int row = e->row + (tile && !right ? x->s->rows : 0);
        const int col = e->col + (tile && right ? x->s->cols : 0);
        for (int i = row; i < row + x->s->rows && i < e->rows; i++)
            for (int j = col; j < col + x->s->cols && j < e->cols; j++)
                make_element(x, e, i, j);
    }
    if (e->kind & TILE_SIGNALS) {
        uint32_t *tally = &x->c.tallies[(int64_t)e->tally * TILE_FLAG_APART];
        *tally += (uint32_t)tile_arrivals(x->s, e);
        if (*tally == (uint32_t)e->count) {
            *tally = 0;
            raise(x, e);
        }
    }
    if (++x->at < x->c.entries) return false;
    x->at = x->pushed = 0; // a captured one runs again
    return true;
}

const char *tile_run(const tile_call *c, const tile_shape *s, cudaStream_t stream)
{
    fake_run x = {*c, s, 0, 0};
    fake_call_own(stream, able, run_entry, &x, sizeof x);
    return NULL;
}

// --- what cuda_pair_tiles.c and cuda_pair.c call beside ---

const char *cuda_call_begins(cuda_context *x, const hap_op_call *c)
{
    (void)x, (void)c;
    return NULL;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    (void)attr, (void)device;
    *value = 8;
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    memset(to, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

// Nothing is timed here.
cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    (void)e;
    abort();
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    (void)e;
    abort();
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    (void)ms, (void)from, (void)to;
    abort();
}
