// Form PUT of whole collectives (core/coll_geometry.h): between peers by one-sided puts, else point
// to point by NCCL into the same places, with the same sums.

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/comm/cuda_box.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/comm/cuda_put_stores.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/device/cuda_room.h"
#include "cuda/kernels/cuda_put_add.h"

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
    cuda_put *put; // NULL: by NCCL
    bool sums;
    int parts;                  // numbers of the first messages
    const hap_put_turns *turns; // of the messages under way
    ncclComm_t comm;
    int64_t packed; // bytes of the room that are taken
} transfer;

static void check(const transfer *t, const char *why)
{
    cuda_check(t->r, why);
}

static void nccl(const transfer *t, ncclResult_t e, const char *call)
{
    cuda_nccl_check(t->r, e, call);
}

static const char *copy(const transfer *t, const hap_coll_view *v, void *to, hap_box to_held,
                        const void *from, hap_box from_held, hap_box part)
{
    return cuda_box_copy(t->s, v, to, to_held, from, from_held, part, cuda_put_sizes_of(t->r)->run);
}

static hap_box flat(hap_range r)
{
    return (hap_box){r, {0, 1}};
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
    hap_box y = flat(hap_put_shard(&i->v, to));
    (void)t;
    return (way){i->src->data, i->slots + from * i->pitch, hap_view_box(&i->v), y, y, i->v};
}

static way return_way(const item *i, const transfer *t, int from, int to)
{
    hap_box all = hap_view_box(&i->v), x = flat(hap_put_shard(&i->v, from));
    (void)t;
    (void)to;
    return (way){i->dst->data, i->dst->data, all, all, x, i->v};
}

typedef way way_of(const item *i, const transfer *t, int from, int to);

// --- messages in turns ---
// A message is what goes to one member: of each tensor a part, whose rows are those of the first
// factor, or, where something stands before that, of what stands there. It is sent in the turns
// that core/put_turns.h finds; a turn is a range of the message's bytes, in whole rows.
//
// Where parts are added, the last turn of the message that comes last goes in halves if it is
// large: its owner adds what has come of it, and of all others, while the next piece comes. Of the
// numbers of the messages the last piece has the last. A piece more takes 6 us (measured), what is
// added meanwhile does not show.

enum { PIECES = 3 };

static int64_t rows_of(const way *w)
{
    return w->v.outer == 1 ? w->part.f1.n * w->v.mid : w->v.outer;
}

// A range of rows of a part.
static way some_of(way w, hap_range rows)
{
    hap_coll_view *v = &w.v;
    if (rows.n == rows_of(&w)) return w;
    if (v->outer == 1) {
        hap_box *box[] = {&w.from, &w.to, &w.part};
        for (int i = 0; i < 3; i++) {
            box[i]->f1.lo *= v->mid;
            box[i]->f1.n *= v->mid;
        }
        v->n1 *= v->mid;
        v->mid = 1;
        w.part.f1 = (hap_range){w.part.f1.lo + rows.lo, rows.n};
        return w;
    }
    int64_t before = rows.lo * v->mid * v->inner * v->item;
    w.x = (const char *)w.x + before * w.from.f1.n * w.from.f2.n;
    w.y = (char *)w.y + before * w.to.f1.n * w.to.f2.n;
    v->outer = rows.n;
    return w;
}

// Rows that lie in the first `bytes` of a part; of many a multiple of 64.
static int64_t rows_in(const way *w, int64_t bytes)
{
    int64_t rows = rows_of(w), all = hap_box_bytes(&w->v, w->part);
    if (bytes <= 0 || all == 0) return 0;
    if (bytes >= all) return rows;
    int64_t n = bytes / (all / rows);
    return rows >= 1024 ? n / 64 * 64 : n;
}

// The rows of a turn, of a part that lies `before` bytes behind the begin of the message.
static hap_range turn_rows(const way *w, int64_t before, const hap_put_turn *turn)
{
    int64_t lo = rows_in(w, turn->first - before);
    return (hap_range){lo, rows_in(w, turn->first + turn->count - before) - lo};
}

static const hap_put_turn *last_turn(const transfer *t, int from, int to)
{
    const hap_put_turns *x = t->turns;
    int k = x->begin[from + 1] - 1;
    while (x->turn[k].to != to)
        k--;
    return &x->turn[k];
}

// Piece i of n of the rows, each half of the one before; larger ones start at multiples of 64.
static hap_range piece_of(hap_range rows, int i, int n)
{
    int64_t cut[2], whole = ((int64_t)1 << n) - 1;
    for (int k = 0; k < 2; k++) {
        cut[k] = rows.n * (whole + 1 - ((int64_t)1 << (n - i - k))) / whole;
        if (i + k < n && rows.n >= (int64_t)64 << n) cut[k] = cut[k] / 64 * 64;
    }
    return (hap_range){rows.lo + cut[0], cut[1] - cut[0]};
}

// In how many pieces the last bytes come that `to` gets; their sender.
static int pieces_of(const transfer *t, int to, int *from)
{
    *from = t->turns->last[to];
    if (*from < 0) return 1;
    for (int i = 0; i < t->n; i++)
        if (t->at[i].v.outer != 1) return 1;
    int64_t n = last_turn(t, *from, to)->count / cuda_put_sizes_of(t->r)->piece;
    return n < 1 ? 1 : n < PIECES ? (int)n : PIECES;
}

// What this member passes on of another's part of an all-gather.
static way pass_way(const item *i, const transfer *t, int of, int to)
{
    way w = gather_way(i, t, of, to);
    w.x = i->dst->data;
    w.from = hap_dst_box(t->r, &i->v, t->me);
    return w;
}

// Piece i of n of a turn.
static void put_turn(transfer *t, way_of *of, const hap_put_turn *turn, int i, int n)
{
    int64_t before = 0;
    for (int k = 0; k < t->n; k++) {
        way w = turn->of == t->me ? of(&t->at[k], t, t->me, turn->to)
                                  : pass_way(&t->at[k], t, turn->of, turn->to);
        hap_range rows = piece_of(turn_rows(&w, before, turn), i, n);
        before += hap_box_bytes(&w.v, w.part);
        w = some_of(w, rows);
        if (rows.n) cuda_put_copy(t->put, turn->to, &w.v, w.x, w.from, w.y, w.to, w.part);
    }
}

// What goes from member to member, as the ways say.
static void find_turns(transfer *t, way_of *of)
{
    int64_t bytes[CUDA_PUT_MEMBERS * CUDA_PUT_MEMBERS];
    int n = t->members;
    memset(bytes, 0, sizeof *bytes * (size_t)n * (size_t)n);
    for (int k = 0; k < t->n; k++) {
        const hap_coll_view *v = &t->at[k].v;
        hap_box gives[CUDA_PUT_MEMBERS], gets[CUDA_PUT_MEMBERS];
        for (int m = 0; m < n; m++) {
            gives[m] = gets[m] = hap_view_box(v);
            if (of == gather_way) gives[m] = hap_src_box(t->r, v, m);
            if (of == return_way) gives[m] = flat(hap_put_shard(v, m));
            if (of == gather_way || of == scatter_way) gets[m] = hap_dst_box(t->r, v, m);
            if (of == reduce_way) gets[m] = flat(hap_put_shard(v, m));
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (i != j) bytes[i * n + j] += hap_box_bytes(v, hap_box_common(gives[i], gets[j]));
    }
    t->turns =
        cuda_put_turns(t->r, n, bytes, hap_form_copies(t->c->form), t->c->kind == HAP_ALL_GATHER);
}

// Parts [first, first + numbers) of the one-sided put, of each message the last one, of one in
// pieces the last of them. Of an all-gather the first says that the receiver has what it is to pass
// on, for which its sends wait.
static void put_parts(transfer *t, int first, int numbers, way_of *of)
{
    const hap_put_turns *x = t->turns;
    int member[CUDA_PUT_MEMBERS], part[CUDA_PUT_MEMBERS], waiting = 0;
    bool told = false;
    for (int k = x->begin[t->me]; k < x->begin[t->me + 1]; k++) {
        const hap_put_turn *turn = &x->turn[k];
        int to = turn->to, from = t->me, n = t->sums && numbers > 1 ? pieces_of(t, to, &from) : 1;
        bool ends = turn == last_turn(t, t->me, to);
        if (!ends || from != t->me) n = 1;
        if (turn->of != t->me && !told) {
            cuda_put_await(t->put, cuda_put_stream(t->put, to), turn->of, first);
            told = true;
        }
        put_turn(t, of, turn, 0, n);
        if (turn->tells) cuda_put_raise(t->put, to, first);
        if (!ends) continue;
        member[waiting] = to;
        part[waiting++] = first + numbers - n;
        if (n == 1) continue;
        cuda_put_raise_all(t->put, waiting, member, part);
        waiting = 0;
        for (int i = 1; i < n; i++) {
            put_turn(t, of, turn, i, n);
            cuda_put_raise(t->put, to, first + numbers - n + i);
        }
    }
    cuda_put_raise_all(t->put, waiting, member, part);
}

// Piece i of n of what comes last, `from` one member; with the first, all of the others.
static void await_parts(transfer *t, int first, int numbers, int from, int i, int n)
{
    int member[CUDA_PUT_MEMBERS], part[CUDA_PUT_MEMBERS], some = 0;
    for (int k = 1; k < t->members; k++) {
        int m = (t->me - k + t->members) % t->members;
        if (i > 0 && m != from) continue;
        member[some] = m;
        part[some++] = first + numbers - (m == from ? n - i : 1);
    }
    cuda_put_await_all(t->put, t->s, some, member, part);
}

// --- by NCCL: parts that are no run of bytes pass through a room of the stream ---

static cuda_room *room_of(const transfer *t)
{
    return &cuda_of(t->r)->bounce[t->c->axes];
}

static char *bounce(transfer *t, int64_t bytes)
{
    const cuda_room *m = room_of(t);
    int64_t at = t->packed;
    t->packed += (bytes + HAP_SCRATCH_ALIGN - 1) / HAP_SCRATCH_ALIGN * HAP_SCRATCH_ALIGN;
    return m->at ? m->at + at : NULL;
}

// In rounds: 0 counts the room's bytes, 1 packs, 2 sends and receives, 3 unpacks.
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
                bool pack = !cuda_box_dense(v, out.from, out.part),
                     unpack = !cuda_box_dense(v, in.to, in.part);
                char *packed = pack ? bounce(t, given) : NULL;
                const char *x =
                    pack ? packed : (const char *)out.x + cuda_box_offset(v, out.from, out.part);
                char *y =
                    unpack ? bounce(t, taken) : (char *)in.y + cuda_box_offset(v, in.to, in.part);
                ncclDataType_t type = cuda_nccl_type(at->src->type);
                if (round == 1 && pack)
                    check(t, copy(t, v, packed, out.part, out.x, out.from, out.part));
                if (round == 2 && given)
                    nccl(t, ncclSend(x, (size_t)(given / v->item), type, to, t->comm, t->s),
                         "ncclSend");
                if (round == 2 && taken)
                    nccl(t, ncclRecv(y, (size_t)(taken / v->item), type, from, t->comm, t->s),
                         "ncclRecv");
                if (round == 3 && unpack) check(t, copy(t, v, in.y, in.to, y, in.part, in.part));
            }
        }
        if (round == 2) nccl(t, ncclGroupEnd(), "ncclGroupEnd");
        if (round == 0) check(t, cuda_room_take(&cuda_of(t->r)->x, room_of(t), t->s, t->packed));
    }
}

// --- the kinds ---

static void keep(transfer *t)
{
    for (int i = 0; i < t->n; i++) {
        way w = gather_way(&t->at[i], t, t->me, t->me);
        check(t, copy(t, &w.v, w.y, w.to, w.x, w.from, w.part));
    }
}

// What there is to add of the own part once piece i of n of a turn has come, and was not before;
// without a turn all. The own part is added where it lies if it is one run of bytes, else from its
// slot.
static void add(transfer *t, way_of *of, const hap_put_turn *turn, int i, int n)
{
    int64_t before = 0;
    for (int k = 0; k < t->n; k++) {
        item *at = &t->at[k];
        way w = of(at, t, t->me, t->me);
        int64_t bytes = hap_box_bytes(&w.v, w.part), all = rows_of(&w), end = all, begin = 0;
        const char *own = at->slots + t->me * at->pitch;
        char *y = at->dst->data;
        if (cuda_box_dense(&w.v, w.from, w.part))
            own = (const char *)w.x + cuda_box_offset(&w.v, w.from, w.part);
        else if (i == 0)
            check(t, copy(t, &w.v, w.y, w.to, w.x, w.from, w.part));
        if (t->c->kind == HAP_ALL_REDUCE) y += w.part.f1.lo * w.v.item;
        if (turn) {
            hap_range rows = piece_of(turn_rows(&w, before, turn), i, n);
            begin = i == 0 ? 0 : rows.lo;
            end = rows.lo + rows.n;
        }
        before += bytes;
        if (begin == end) continue;
        int64_t row = bytes / all, from = begin * row;
        check(t, cuda_put_add(t->s, at->dst->type, y + from, at->slots + from, at->pitch,
                              t->members, t->me, own + from, (end - begin) * row / w.v.item));
    }
}

static void put_sums(transfer *t, way_of *of)
{
    find_turns(t, of);
    int from, n = pieces_of(t, t->me, &from);
    const hap_put_turn *turn = from < 0 ? NULL : last_turn(t, from, t->me);
    put_parts(t, 0, t->parts, of);
    for (int i = 0; i < n; i++) {
        await_parts(t, 0, t->parts, from, i, n);
        add(t, of, turn, i, n);
    }
    if (t->c->kind != HAP_ALL_REDUCE) return;
    cuda_put_sends_after(t->put, t->s);
    find_turns(t, return_way);
    put_parts(t, t->parts, 1, return_way);
    await_parts(t, t->parts, 1, -1, 0, 1);
}

static void run(transfer *t)
{
    way_of *of = t->c->kind == HAP_ALL_REDUCE ? reduce_way : t->sums ? scatter_way : gather_way;
    if (t->put && t->sums) {
        put_sums(t, of);
    } else if (t->put) {
        find_turns(t, of);
        put_parts(t, 0, t->parts, of);
        keep(t);
        await_parts(t, 0, t->parts, -1, 0, 1);
    } else {
        by_nccl(t, of);
        if (t->sums)
            add(t, of, NULL, 0, 1);
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
        i->pitch = hap_put_slot(r, c, &i->v);
        scratch += hap_scratch_of(r, c, &i->v); // a multiple of HAP_SCRATCH_ALIGN
        if (hap_view_bytes(&i->v) > 0) t.n++;
    }
    return t;
}

// Numbers of the first messages, and of all.
static int first_parts(const hap_coll_call *c)
{
    return adds(c) ? PIECES : c->kind == HAP_ALL_GATHER ? 2 : 1;
}

static int parts_of(const hap_coll_call *c)
{
    return first_parts(c) + (c->kind == HAP_ALL_REDUCE);
}

void cuda_put_run_credit(hap_rank *r, const hap_coll_call *c)
{
    cuda_put_credit(r, c->axes, parts_of(c));
}

void cuda_put_run(hap_rank *r, const hap_coll_call *c, cudaStream_t s, cudaEvent_t done)
{
    transfer t = begin(r, c, s);
    t.parts = first_parts(c);
    t.put = cuda_put_open(r, c, parts_of(c));
    if (!cuda_put_stores_run(r, c, t.put, s)) run(&t);
    cuda_put_close(t.put, s, done);
    free(t.at);
}

void cuda_put_by_nccl(hap_rank *r, const hap_coll_call *c, cudaStream_t s)
{
    transfer t = begin(r, c, s);
    run(&t);
    free(t.at);
}
