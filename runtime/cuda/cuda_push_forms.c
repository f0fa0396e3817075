// Forms PUSH and PUSH_ALL of whole collectives (core/coll_geometry.h): between peers by push, else
// point to point by NCCL into the same places, with the same sums.

#include <stdlib.h>

#include "core/fail.h"
#include "cuda/cuda_backend.h"
#include "cuda/cuda_push.h"

// One tensor of the list.
typedef struct item {
    hap_tensor *src, *dst;
    hap_coll_view v;
    char *slots;
    int64_t pitch;
} item;

typedef struct transfer {
    hap_rank *r;
    const hap_coll_call *c;
    cudaStream_t s;
    item *at;
    int n, members, me;
    cuda_push *push; // NULL: by NCCL
    bool sums;
    int parts; // numbers of the first messages
    ncclComm_t comm;
    int64_t packed; // bytes of b->bounce taken
} transfer;

static void check(const transfer *t, const char *why)
{
    cuda_check(t->r, why);
}

static void nccl(const transfer *t, ncclResult_t e, const char *call)
{
    cuda_nccl_check(t->r, e, call);
}

static hap_box flat(hap_range r)
{
    return (hap_box){r, {0, 1}};
}

// Bytes before a part in a tensor stored over `held`.
static int64_t offset_of(const hap_coll_view *v, hap_box held, hap_box part)
{
    int64_t rows = (part.f1.lo - held.f1.lo) * v->mid;
    return (rows * held.f2.n + part.f2.lo - held.f2.lo) * v->inner * v->item;
}

// Whether the part is one run of bytes there.
static bool dense(const hap_coll_view *v, hap_box held, hap_box part)
{
    bool wide = part.f2.n == held.f2.n;
    return (wide || part.f1.n * v->mid == 1) && (v->outer == 1 || (wide && part.f1.n == held.f1.n));
}

// The part's rows are rows of all of the second factor on both sides: one run of each of f1's.
static bool wide_rows(hap_box to_held, hap_box from_held, hap_box part)
{
    return part.f2.n == to_held.f2.n && part.f2.n == from_held.f2.n;
}

// A copy engine would take up many short runs.
static bool by_kernel(const hap_rank *r, const hap_coll_view *v, hap_box to_held, hap_box from_held,
                      hap_box part)
{
    int64_t run = part.f2.n * v->inner * v->item;
    if (dense(v, to_held, part) && dense(v, from_held, part)) return false;
    if (wide_rows(to_held, from_held, part)) run *= part.f1.n * v->mid;
    return run < cuda_push_sizes_of(r)->run;
}

const char *cuda_box_copy(const hap_rank *r, cudaStream_t s, const hap_coll_view *v, void *to,
                          hap_box to_held, const void *from, hap_box from_held, hap_box part)
{
    size_t unit = (size_t)(v->inner * v->item);
    if (hap_box_bytes(v, part) == 0) return NULL;
    char *y = (char *)to + offset_of(v, to_held, part);
    const char *x = (const char *)from + offset_of(v, from_held, part);
    if (by_kernel(r, v, to_held, from_held, part)) {
        int64_t rows = part.f1.n * v->mid;
        int64_t y_step = to_held.f2.n * v->inner, x_step = from_held.f2.n * v->inner;
        cuda_strided m = {.rank = 3,
                          .size = {v->outer, rows, part.f2.n * v->inner},
                          .to = {to_held.f1.n * v->mid * y_step, y_step, 1},
                          .from = {from_held.f1.n * v->mid * x_step, x_step, 1}};
        return cuda_copy_strided(s, y, x, &m, v->item);
    }
    if (dense(v, to_held, part) && dense(v, from_held, part))
        return cuda_said(
            cudaMemcpyAsync(y, x, (size_t)hap_box_bytes(v, part), cudaMemcpyDeviceToDevice, s),
            "cudaMemcpyAsync");
    size_t rows = (size_t)(part.f1.n * v->mid);
    size_t y_row = (size_t)to_held.f2.n * unit, x_row = (size_t)from_held.f2.n * unit;
    if (wide_rows(to_held, from_held, part))
        return cuda_said(cudaMemcpy2DAsync(y, (size_t)(to_held.f1.n * v->mid) * y_row, x,
                                           (size_t)(from_held.f1.n * v->mid) * x_row, rows * y_row,
                                           (size_t)v->outer, cudaMemcpyDeviceToDevice, s),
                         "cudaMemcpy2DAsync");
    struct cudaMemcpy3DParms m = {
        .srcPtr = {(void *)(uintptr_t)x, x_row, (size_t)part.f2.n * unit,
                   (size_t)(from_held.f1.n * v->mid)},
        .dstPtr = {y, y_row, (size_t)part.f2.n * unit, (size_t)(to_held.f1.n * v->mid)},
        .extent = {(size_t)part.f2.n * unit, rows, (size_t)v->outer},
        .kind = cudaMemcpyDeviceToDevice};
    return cuda_said(cudaMemcpy3DAsync(&m, s), "cudaMemcpy3DAsync");
}

// --- what goes from one member to another ---

// Of the tensor over `from`, the part that lies over `to` in memory at `at` of the member.
typedef struct way {
    const void *x;
    void *y;
    hap_box from, to, part;
    hap_coll_view v;
} way;

static way gather_way(const item *i, const transfer *t, int from, int to)
{
    hap_box x = hap_src_box(t->r, &i->v, from), y = hap_dst_box(t->r, &i->v, to);
    return (way){i->src->data, i->dst->data, x, y, hap_box_common(x, y), i->v};
}

static way scatter_way(const item *i, const transfer *t, int from, int to)
{
    hap_box y = hap_dst_box(t->r, &i->v, to);
    return (way){i->src->data, i->slots + from * i->pitch, hap_view_box(&i->v), y, y, i->v};
}

static way reduce_way(const item *i, const transfer *t, int from, int to)
{
    hap_box y = flat(hap_push_shard(&i->v, to));
    (void)t;
    return (way){i->src->data, i->slots + from * i->pitch, hap_view_box(&i->v), y, y, i->v};
}

static way return_way(const item *i, const transfer *t, int from, int to)
{
    hap_box all = hap_view_box(&i->v), x = flat(hap_push_shard(&i->v, from));
    (void)t;
    (void)to;
    return (way){i->dst->data, i->dst->data, all, all, x, i->v};
}

typedef way way_of(const item *i, const transfer *t, int from, int to);

// --- messages in pieces ---
// Where parts are added, a rank's last message goes in halves if it is large: its owner adds what
// has come of it, and of all others, while the next piece comes. Both sides know the pieces from
// the owner's part. Of the numbers of the messages the last piece has the last. A piece more takes
// 6 us (measured), what is added meanwhile does not show.

enum { PIECES = 3 };

// Piece i of n of the rows, ranges of the first factor, each half of the one before; larger ones
// start at multiples of 64.
static hap_range piece_of(hap_range rows, int i, int n)
{
    int64_t cut[2], whole = ((int64_t)1 << n) - 1;
    for (int k = 0; k < 2; k++) {
        cut[k] = rows.n * (whole + 1 - ((int64_t)1 << (n - i - k))) / whole;
        if (i + k < n && rows.n >= (int64_t)64 << n) cut[k] = cut[k] / 64 * 64;
    }
    return (hap_range){rows.lo + cut[0], cut[1] - cut[0]};
}

// Of the last message that `to` gets, whose parts are added.
static int pieces_of(const transfer *t, way_of *of, int to)
{
    int from = (to + 1) % t->members;
    int64_t bytes = 0;
    for (int i = 0; i < t->n; i++) {
        if (t->at[i].v.outer != 1) return 1;
        way w = of(&t->at[i], t, from, to);
        bytes += hap_box_bytes(&w.v, w.part);
    }
    int64_t n = bytes / cuda_push_sizes_of(t->r)->piece;
    return n < 1 ? 1 : n < PIECES ? (int)n : PIECES;
}

static void push_part(transfer *t, way_of *of, int to, int i, int n)
{
    for (int k = 0; k < t->n; k++) {
        way w = of(&t->at[k], t, t->me, to);
        w.part.f1 = piece_of(w.part.f1, i, n);
        cuda_push_copy(t->push, to, &w.v, w.x, w.from, w.y, w.to, w.part);
    }
}

// Parts [first, first + numbers) of the push, of each message the last one, of the last message the
// last n.
static void push_parts(transfer *t, int first, int numbers, int n, way_of *of)
{
    int member[CUDA_PUSH_MEMBERS], part[CUDA_PUSH_MEMBERS], last = t->members - 1;
    for (int k = 1; k <= last; k++) {
        int to = (t->me + k) % t->members;
        push_part(t, of, to, 0, k < last ? 1 : n);
        member[k - 1] = to;
        part[k - 1] = first + numbers - (k < last ? 1 : n);
    }
    cuda_push_raise_all(t->push, last, member, part);
    for (int i = 1; i < n; i++) {
        push_part(t, of, member[last - 1], i, n);
        cuda_push_raise(t->push, member[last - 1], first + numbers - n + i);
    }
}

// The first `some` pieces of the message that comes last, and all of the others.
static void await_parts(transfer *t, int first, int numbers, int last_n, int some)
{
    int member[CUDA_PUSH_MEMBERS], part[CUDA_PUSH_MEMBERS], n = 0;
    for (int k = 1; k < t->members; k++) {
        bool last = k + 1 == t->members;
        if (some > 1 && !last) continue; // have been waited for
        member[n] = (t->me - k + t->members) % t->members;
        part[n++] = first + numbers - (last ? last_n - some : 0) - 1;
    }
    cuda_push_await_all(t->push, t->s, n, member, part);
}

// --- by NCCL: parts that are no run of bytes pass through a buffer of the backend ---

static char *bounce(transfer *t, int64_t bytes)
{
    cuda_backend *b = cuda_of(t->r);
    int64_t at = t->packed;
    t->packed += (bytes + HAP_SCRATCH_ALIGN - 1) / HAP_SCRATCH_ALIGN * HAP_SCRATCH_ALIGN;
    return b->bounce ? b->bounce + at : NULL;
}

static void bounce_room(transfer *t)
{
    cuda_backend *b = cuda_of(t->r);
    if (t->packed > b->bounce_bytes) {
        HAP_CK(t->r, !b->x.capturing, "a captured step needs a larger buffer than the first one");
        check(t, cuda_said(cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
        if (b->bounce) cudaFree(b->bounce);
        b->bounce = NULL;
        check(t, cuda_said(cudaMalloc((void **)&b->bounce, (size_t)t->packed), "cudaMalloc"));
        b->bounce_bytes = t->packed;
    }
    t->packed = 0;
}

// In rounds: 0 counts the buffer's bytes, 1 packs, 2 sends and receives, 3 unpacks.
static void by_nccl(transfer *t, way_of *of)
{
    for (int round = 0; round < 4; round++) {
        t->packed = 0;
        if (round == 2) nccl(t, ncclGroupStart(), "ncclGroupStart");
        for (int k = 1; k < t->members; k++) {
            int to = (t->me + k) % t->members, from = (t->me - k + t->members) % t->members;
            for (int i = 0; i < t->n; i++) {
                item *at = &t->at[i];
                way out = of(at, t, t->me, to), in = of(at, t, from, t->me);
                const hap_coll_view *v = &at->v;
                int64_t given = hap_box_bytes(v, out.part), taken = hap_box_bytes(v, in.part);
                bool pack = !dense(v, out.from, out.part), unpack = !dense(v, in.to, in.part);
                char *packed = pack ? bounce(t, given) : NULL;
                const char *x =
                    pack ? packed : (const char *)out.x + offset_of(v, out.from, out.part);
                char *y = unpack ? bounce(t, taken) : (char *)in.y + offset_of(v, in.to, in.part);
                ncclDataType_t type = cuda_nccl_type(at->src->type);
                if (round == 1 && pack)
                    check(t, cuda_box_copy(t->r, t->s, v, packed, out.part, out.x, out.from,
                                           out.part));
                if (round == 2 && given)
                    nccl(t, ncclSend(x, (size_t)(given / v->item), type, to, t->comm, t->s),
                         "ncclSend");
                if (round == 2 && taken)
                    nccl(t, ncclRecv(y, (size_t)(taken / v->item), type, from, t->comm, t->s),
                         "ncclRecv");
                if (round == 3 && unpack)
                    check(t, cuda_box_copy(t->r, t->s, v, in.y, in.to, y, in.part, in.part));
            }
        }
        if (round == 2) nccl(t, ncclGroupEnd(), "ncclGroupEnd");
        if (round == 0) bounce_room(t);
    }
}

// --- the kinds ---

static void keep(transfer *t)
{
    for (int i = 0; i < t->n; i++) {
        way w = gather_way(&t->at[i], t, t->me, t->me);
        check(t, cuda_box_copy(t->r, t->s, &w.v, w.y, w.to, w.x, w.from, w.part));
    }
}

// Piece j of n of the own part. That is added where it lies if it is one run of bytes, else from
// its slot.
static void add(transfer *t, way_of *of, int j, int n)
{
    for (int i = 0; i < t->n; i++) {
        item *at = &t->at[i];
        way w = of(at, t, t->me, t->me);
        const char *own = at->slots + t->me * at->pitch;
        char *y = at->dst->data;
        if (dense(&w.v, w.from, w.part))
            own = (const char *)w.x + offset_of(&w.v, w.from, w.part);
        else if (j == 0)
            check(t, cuda_box_copy(t->r, t->s, &w.v, w.y, w.to, w.x, w.from, w.part));
        if (t->c->kind == HAP_ALL_REDUCE) y += w.part.f1.lo * w.v.item;
        hap_range rows = piece_of(w.part.f1, j, n);
        int64_t row = w.v.outer * w.v.mid * w.part.f2.n * w.v.inner; // elements; outer > 1: n is 1
        int64_t begin = (rows.lo - w.part.f1.lo) * row * w.v.item;
        check(t, cuda_push_add(t->s, at->dst->type, y + begin, at->slots + begin, at->pitch,
                               t->members, t->me, own + begin, rows.n * row));
    }
}

static void push_sums(transfer *t, way_of *of)
{
    int n = pieces_of(t, of, t->me);
    push_parts(t, 0, t->parts, pieces_of(t, of, (t->me + t->members - 1) % t->members), of);
    for (int j = 0; j < n; j++) {
        await_parts(t, 0, t->parts, n, j + 1);
        add(t, of, j, n);
    }
    if (t->c->kind != HAP_ALL_REDUCE) return;
    cuda_push_sends_after(t->push, t->s);
    push_parts(t, t->parts, 1, 1, return_way);
    await_parts(t, t->parts, 1, 1, 1);
}

static void run(transfer *t)
{
    way_of *of = t->c->kind == HAP_ALL_REDUCE ? reduce_way : t->sums ? scatter_way : gather_way;
    if (t->push && t->sums) {
        push_sums(t, of);
    } else if (t->push) {
        push_parts(t, 0, 1, 1, of);
        keep(t);
        await_parts(t, 0, 1, 1, 1);
    } else {
        by_nccl(t, of);
        if (t->sums)
            add(t, of, 0, 1);
        else
            keep(t);
        if (t->c->kind == HAP_ALL_REDUCE) by_nccl(t, return_way);
    }
}

static bool adds(const hap_coll_call *c)
{
    return c->kind == HAP_REDUCE_SCATTER || c->kind == HAP_ALL_REDUCE;
}

static transfer begin(hap_rank *r, const hap_coll_call *c, cudaStream_t s)
{
    transfer t = {.r = r,
                  .c = c,
                  .s = s,
                  .at = hap_alloc(r, (size_t)c->n * sizeof(item)),
                  .members = hap_group_size(r, c->axes),
                  .me = hap_group_member(r, c->axes),
                  .sums = adds(c),
                  .comm = cuda_of(r)->group[c->axes]};
    char *scratch = c->scratch ? c->scratch->data : NULL;
    for (int k = 0; k < c->n; k++) {
        item *i = &t.at[t.n];
        char why[160];
        *i = (item){.src = c->src[k], .dst = c->dst[k], .slots = scratch};
        hap_coll_view_of(r, c, k, &i->v, why, sizeof why); // checked by core
        i->pitch = hap_push_slot(r, c, &i->v);
        scratch += hap_scratch_of(r, c, &i->v); // a multiple of HAP_SCRATCH_ALIGN
        if (hap_view_bytes(&i->v) > 0) t.n++;
    }
    return t;
}

// Numbers that it takes.
static int parts_of(const hap_coll_call *c)
{
    return (adds(c) ? PIECES : 1) + (c->kind == HAP_ALL_REDUCE);
}

void cuda_push_run_credit(hap_rank *r, const hap_coll_call *c)
{
    cuda_push_credit(r, c->axes, parts_of(c));
}

void cuda_push_run(hap_rank *r, const hap_coll_call *c, cudaStream_t s, cudaEvent_t done)
{
    transfer t = begin(r, c, s);
    t.parts = t.sums ? PIECES : 1;
    t.push = cuda_push_open(r, c, parts_of(c));
    run(&t);
    cuda_push_close(t.push, s, done);
    free(t.at);
}

void cuda_push_by_nccl(hap_rank *r, const hap_coll_call *c, cudaStream_t s)
{
    transfer t = begin(r, c, s);
    run(&t);
    free(t.at);
}
