// Pairs on the device: transfers by one-sided puts on their streams, matmuls of row ranges on the
// compute stream, each waiting for nothing but its rows.
//
// A pair's matmuls stand on one stream: of two streams of one priority the device takes up blocks
// in turn, so that an earlier chunk ends with the later one
// (bench/results/2026-11-21-pair-streams-h200x4.txt).
//
// A pair is captured with its step as one-sided puts are (cuda_whole.h), or not at all. The
// algorithms of all its matmuls are found in the first pass, before it opens. Everything of this
// rank that others wait for is enqueued before anything that waits for others.
//
//     consumer   transfers in the order in which the receivers work, those of others' rows that
//                this rank passes on behind the flags that say that it has them; of an all-gather
//                own rows are multiplied from the source, while a copy engine brings them to dst
//     producer   each chunk's rows leave when they are made; sums on a stream of their own, by
//                ranges of rows that come together
//
// Or all matmuls are one launch of a tile kernel, whose tiles wait for parts and tell which are
// made (cuda_pair_tiles.h), as the program says (hap_tiles). The first pass tries what is planned
// against the rest (cuda_pair_choice.c).
//
// Ranks that are no peers send point to point by NCCL. --cuda pairs=off runs the calls one by one.

#include <stdlib.h>

#include "core/fail.h"
#include "core/pair_rows.h"
#include "cuda/comm/cuda_pair.h"
#include "cuda/comm/cuda_pair_run.h"
#include "cuda/comm/cuda_pair_tiles.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/device/cuda_trace.h"
#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/cuda_put_add.h"
#include "cuda/kernels/cuda_shadow.h"

// Stream s goes on when chunk k is made.
static void after_made(const cuda_running_pair *x, cudaStream_t s, int k, cudaEvent_t made)
{
    for (int i = 0; i < 2 && x->list; i++)
        if (x->list->made[k][i] >= 0) cuda_put_await_made(x->put, s, x->list->made[k][i]);
    if (!x->list) cuda_pair_after(x, s, made);
}

// All matmuls as one launch.
static void run_tiles(const cuda_running_pair *x)
{
    const hap_pair *p = x->p;
    cudaStream_t s = x->b->x.stream;
    const char *first = hap_op_names[p->op[0].op];
    int span = cuda_trace_open(x->r, s, HAP_TRACE_COMPUTE, first, p->op_line[0]);
    cuda_pair_tiles_run(x->r, x->tiled, x->put);
    cuda_trace_close(x->r, span, s);
    for (int i = 1; i < p->n_ops; i++)
        cuda_trace_joined(x->r, span, hap_op_names[p->op[i].op], p->op_line[i]);
}

// --- the first pass ---

// Rows of others that have not come yet, as copies of this rank's: numbers of the same kind, for
// what a matmul takes goes with them (zeros take less power).
static void stand_in(const cuda_running_pair *x)
{
    const hap_pair *p = x->p;
    if (p->kind == HAP_ALL_TO_ALL) { // whose rows lie otherwise in the source
        for (int64_t at = 0, some; p->src->bytes > 0 && at < p->dst->bytes; at += some) {
            some = p->dst->bytes - at < p->src->bytes ? p->dst->bytes - at : p->src->bytes;
            cuda_pair_check(
                x, cuda_copy(x->b->x.stream, (char *)p->dst->data + at, p->src->data, some));
        }
        return;
    }
    int64_t own = x->mine.n, n = x->row ? p->dst->bytes / x->row : 0;
    for (int64_t at = 0, rows; own > 0 && at < n; at += rows) {
        bool before = at < x->mine.lo;
        if (at == x->mine.lo) at += own;
        rows = (before ? x->mine.lo : n) - at;
        rows = rows < own ? rows : own;
        if (rows > 0)
            cuda_pair_check(x, cuda_copy(x->b->x.stream, cuda_pair_row(x, p->dst, at), p->src->data,
                                         rows * x->row));
    }
}

// Finds the algorithms, each for the very rows of a matmul: the pair makes the results again.
static void rehearse(const cuda_running_pair *x)
{
    if (x->b->warm) return;
    if (x->p->consumer) stand_in(x);
    for (int k = 0, n; k < x->p->n_chunks; k += n) {
        n = hap_joined_chunks(x->p, k);
        cuda_pair_multiply(x, k, n);
    }
}

// Whether the n chunks from k on hold rows of this rank; and of others, too, in one range.
static bool has_own(const cuda_running_pair *x, int k, int n)
{
    bool own = false;
    for (int i = k; i < k + n; i++)
        own = own || x->p->chunk[i][0] == 0;
    return own;
}

static bool joins_own(const cuda_running_pair *x, int k, int n)
{
    bool other = false;
    for (int i = k; i < k + n; i++)
        other = other || x->p->chunk[i][0] != 0;
    return other && has_own(x, k, n);
}

// --- consumer ---

// Chunk k on its way: this rank's part to the member that takes it as that.
static void send_part(const cuda_running_pair *x, int k)
{
    const cuda_pair_chunk *g = &x->g[k];
    if (g->other == x->me || g->own.n == 0) return;
    if (x->p->kind == HAP_ALL_TO_ALL) {
        hap_box theirs = hap_pair_dst(x->r, x->p, g->other), part = {g->own, theirs.f2};
        if (hap_box_bytes(&x->v, part) == 0) return;
        cuda_put_copy(x->put, g->other, &x->v, x->p->src->data, hap_pair_src(x->r, x->p, x->me),
                      x->p->dst->data, theirs, part);
        cuda_put_raise(x->put, g->other, k);
        return;
    }
    if (x->row == 0 || hap_pair_sender(x->r, x->p, k, x->me) != x->me) return;
    cuda_put_send(x->put, g->other, k, cuda_pair_row(x, x->p->src, g->own.lo - x->mine.lo),
                  cuda_pair_row(x, x->p->dst, g->own.lo), g->own.n * x->row);
}

// Another's part of chunk k, from where it came to here. Nothing blocks for good: what is waited
// for came with chunks before, which all members send before chunk k. So by induction over the
// chunks, whose order is the same on all members, each of them is sent.
static void pass_on(const cuda_running_pair *x, int k)
{
    hap_passed w = hap_pair_passed(x->r, x->p, k);
    if (w.rows.n == 0 || x->row == 0) return;
    for (int i = 0; i < k; i++) {
        int64_t lo, hi;
        if (!hap_pair_brings(x->p, i, k)) continue;
        hap_part_rows(x->r, x->p, i, w.owner, &lo, &hi);
        if (lo < hi)
            cuda_put_await(x->put, cuda_put_stream(x->put, w.to),
                           hap_pair_sender(x->r, x->p, i, w.owner), i);
    }
    char *rows = cuda_pair_row(x, x->p->dst, w.rows.lo);
    cuda_put_send(x->put, w.to, k, rows, rows, w.rows.n * x->row);
}

// What b->waits does next comes behind the n chunks from k on: of each sender the last of them.
// Whether there are any.
static bool await_turn(const cuda_running_pair *x, int k, int n)
{
    int member[HAP_PAIR_CHUNKS], part[HAP_PAIR_CHUNKS], n_waits = 0;
    for (int i = k; i < k + n; i++) {
        int m = x->g[i].sender, at = 0;
        if (m == x->me || x->g[i].rows.n == 0 || x->row == 0) continue;
        while (at < n_waits && member[at] != m)
            at++;
        member[at] = m, part[at] = i;
        n_waits += at == n_waits;
    }
    if (n_waits) cuda_put_await_all(x->put, x->b->waits, n_waits, member, part);
    return n_waits > 0;
}

// This rank's own rows on their way to dst, on x->s; what they are of an all-to-all, strided.
static void keep_columns(const cuda_running_pair *x)
{
    const hap_pair *p = x->p;
    const hap_coll_view *v = &x->v;
    hap_range cols = hap_pair_dst(x->r, p, x->me).f2;
    int64_t some = cols.n * v->inner, all = v->n2 * v->inner;
    cuda_strided m = {.rank = 3,
                      .size = {x->mine.n, v->mid, some},
                      .to = {v->mid * some, some, 1},
                      .from = {v->mid * all, all, 1}};
    cuda_pair_check(x, cuda_copy_strided(x->s, cuda_pair_row(x, p->dst, x->mine.lo),
                                         (char *)p->src->data + cols.lo * v->inner * v->item, &m,
                                         v->item));
}

// Waits for flags stand on a stream of their own: on the compute stream each takes two microseconds
// even where the flag is up, and the event behind it none.
static void consume(const cuda_running_pair *x, cudaEvent_t done)
{
    const hap_pair *p = x->p;
    cudaStream_t s = x->b->x.stream;
    char *own = cuda_pair_row(x, p->dst, x->mine.lo);
    for (int k = 0; k < p->n_chunks && !x->stores; k++) {
        send_part(x, k);
        pass_on(x, k);
    }
    const bool columns = p->kind == HAP_ALL_TO_ALL; // read from dst
    bool copies = columns ? x->mine.n * x->row > 0 : own != p->src->data && p->src->bytes;
    if (copies) {
        cuda_pair_after(x, x->s, cuda_put_opened(x->put));
        if (columns)
            keep_columns(x);
        else
            cuda_pair_check(x, cuda_copy(x->s, own, p->src->data, p->src->bytes));
        cuda_pair_ok(x, cudaEventRecord(done, x->s), "cudaEventRecord");
    }
    if (x->tiled) run_tiles(x);
    for (int k = 0, n, turn = 0; k < p->n_chunks && !x->tiled; k += n, turn++) {
        n = hap_joined_chunks(p, k);
        if (copies && (columns ? has_own(x, k, n) : joins_own(x, k, n)))
            cuda_pair_after(x, s, done);
        if (await_turn(x, k, n)) cuda_pair_after(x, s, cuda_pair_mark_on(x, 1 + turn, x->b->waits));
        cuda_pair_multiply(x, k, n);
    }
    cuda_put_close(x->put, x->s, done);
    cuda_pair_after(x, s, done);
}

// --- producer ---

// Chunk k, made when `made` has come, to whom it is for.
static void give_part(const cuda_running_pair *x, int k, cudaEvent_t made)
{
    const hap_pair *p = x->p;
    hap_range rows = x->g[k].rows;
    int to = x->g[k].member;
    if (to == x->me || rows.n == 0 || x->row == 0) return;
    after_made(x, cuda_put_stream(x->put, to), k, made);
    hap_box theirs = hap_pair_dst(x->r, p, to), held = hap_pair_src(x->r, p, x->me);
    if (p->kind == HAP_REDUCE_SCATTER) {
        char *slot = (char *)p->scratch->data + x->me * x->slot;
        cuda_put_send(x->put, to, k, cuda_pair_row(x, p->src, rows.lo),
                      slot + (rows.lo - theirs.f1.lo) * x->row, rows.n * x->row);
        return;
    }
    hap_box part = {rows, held.f2};
    cuda_put_copy(x->put, to, &x->v, p->src->data, held, p->dst->data, theirs, part);
    cuda_put_raise(x->put, to, k);
}

// made[k]: the event behind which chunk k of this rank is made. Rows are added in the order in
// which their last parts come.
static void add_rows(const cuda_running_pair *x, const cudaEvent_t *made)
{
    const hap_pair *p = x->p;
    hap_pair_sum sums[2 * HAP_PAIR_CHUNKS];
    int n = hap_pair_sums(x->r, p, sums), k = 0;
    int64_t cols = x->row / x->v.item;
    bool awaited[HAP_PAIR_CHUNKS] = {false}; // of own chunks
    for (int i = 0; i < n; i++) {
        for (; k <= sums[i].last; k++)
            if (x->g[k].other != x->me && x->g[k].own.n && x->row)
                cuda_put_await(x->put, x->s, x->g[k].other, k);
        int own = sums[i].own;
        if (!awaited[own]) after_made(x, x->s, own, made[own]);
        awaited[own] = true;
        int64_t at = (sums[i].rows.lo - x->mine.lo) * x->row;
        cuda_pair_check(x, cuda_put_add(x->s, p->dst->type, (char *)p->dst->data + at,
                                        (char *)p->scratch->data + at, x->slot, x->v.n_members,
                                        x->me, cuda_pair_row(x, p->src, sums[i].rows.lo),
                                        sums[i].rows.n * cols));
    }
}

// All-to-all: what stays here, and the wait for the rest.
static void keep_rows(const cuda_running_pair *x, const cudaEvent_t *made)
{
    const hap_pair *p = x->p;
    const hap_coll_view *v = &x->v;
    hap_box src = hap_pair_src(x->r, p, x->me), dst = hap_pair_dst(x->r, p, x->me);
    hap_box part = {dst.f1, src.f2};
    for (int k = 0; k < p->n_chunks; k++)
        if (p->chunk[k][0] == 0) after_made(x, x->s, k, made[k]);
    if (hap_box_bytes(v, part)) {
        int64_t some = src.f2.n * v->inner, all = v->n2 * v->inner;
        cuda_strided m = {.rank = 3,
                          .size = {dst.f1.n, v->mid, some},
                          .to = {v->mid * all, all, 1},
                          .from = {v->mid * some, some, 1}};
        cuda_pair_check(x, cuda_copy_strided(x->s,
                                             (char *)p->dst->data + src.f2.lo * v->inner * v->item,
                                             cuda_pair_row(x, p->src, dst.f1.lo), &m, v->item));
    }
    for (int k = 0; k < p->n_chunks; k++) {
        int from = x->g[k].other;
        if (from == x->me || x->g[k].own.n == 0) continue;
        if (hap_pair_src(x->r, p, from).f2.n * v->inner > 0) cuda_put_await(x->put, x->s, from, k);
    }
}

static void produce(const cuda_running_pair *x, cudaEvent_t done)
{
    const hap_pair *p = x->p;
    cudaEvent_t made[HAP_PAIR_CHUNKS];
    if (x->tiled) run_tiles(x);
    for (int k = 0, n, turn = 0; k < p->n_chunks; k += n, turn++) {
        n = hap_joined_chunks(p, k);
        if (!x->tiled) cuda_pair_multiply(x, k, n);
        cudaEvent_t e = cuda_pair_mark(x, 1 + (x->tiled ? 0 : turn));
        for (int i = k; i < k + n; i++) {
            made[i] = e;
            give_part(x, i, e);
        }
    }
    if (x->sums)
        cuda_pair_after(x, x->s, made[0]); // the kernel
    else if (p->kind == HAP_REDUCE_SCATTER)
        add_rows(x, made);
    else
        keep_rows(x, made);
    cuda_put_close(x->put, x->s, done);
}

// --- all-reduce ---

static hap_share share_of(const cuda_running_pair *x, int k, int member)
{
    return hap_pair_share(x->g[k].rows, x->row / x->v.item, x->v.item, member, x->v.n_members);
}

// Parts in the order in which they are sent: a chunk's sums go back behind the next chunk's rows.
static int part_of_rows(int k)
{
    return k == 0 ? 0 : 2 * k - 1;
}

static int part_of_sums(int k, int n)
{
    return k < n - 1 ? 2 * k + 2 : 2 * n - 1;
}

static void reduce_out(const cuda_running_pair *x, int k, cudaEvent_t made)
{
    const hap_pair *p = x->p;
    int n = x->v.n_members;
    for (int d = 1; d < n; d++) {
        int to = (x->me + d) % n;
        hap_share s = share_of(x, k, to);
        if (s.n == 0) continue;
        char *slot = (char *)p->scratch->data + x->me * x->slot;
        after_made(x, cuda_put_stream(x->put, to), k, made);
        cuda_put_send(x->put, to, part_of_rows(k), (char *)p->src->data + s.at * x->v.item,
                      slot + s.slot * x->v.item, s.n * x->v.item);
    }
}

static void reduce_back(const cuda_running_pair *x, int k, cudaEvent_t made)
{
    const hap_pair *p = x->p;
    int n = x->v.n_members;
    hap_share mine = share_of(x, k, x->me);
    if (mine.n == 0) return;
    char *to = (char *)p->dst->data + mine.at * x->v.item;
    after_made(x, x->s, k, made);
    for (int d = 1; d < n; d++)
        cuda_put_await(x->put, x->s, (x->me - d + n) % n, part_of_rows(k));
    cuda_pair_check(x, cuda_put_add(x->s, p->dst->type, to,
                                    (char *)p->scratch->data + mine.slot * x->v.item, x->slot, n,
                                    x->me, (char *)p->src->data + mine.at * x->v.item, mine.n));
    cuda_pair_ok(x, cudaEventRecord(made, x->s), "cudaEventRecord");
    for (int d = 1; d < n; d++) {
        int m = (x->me + d) % n;
        cuda_pair_after(x, cuda_put_stream(x->put, m), made);
        cuda_put_send(x->put, m, part_of_sums(k, x->p->n_chunks), to, to, mine.n * x->v.item);
    }
}

static void produce_all(const cuda_running_pair *x, cudaEvent_t done)
{
    const hap_pair *p = x->p;
    cudaEvent_t made[HAP_PAIR_CHUNKS];
    int n = x->v.n_members;
    if (x->tiled) run_tiles(x);
    for (int k = 0, joined; k < p->n_chunks; k += joined) {
        joined = hap_joined_chunks(p, k);
        if (!x->tiled) cuda_pair_multiply(x, k, joined);
        for (int i = k; i < k + joined; i++) {
            made[i] = cuda_pair_mark(x, i);
            reduce_out(x, i, made[i]);
            if (i > 0) reduce_back(x, i - 1, made[i - 1]);
        }
    }
    reduce_back(x, p->n_chunks - 1, made[p->n_chunks - 1]);
    for (int k = 0; k < p->n_chunks; k++)
        for (int d = 1; d < n; d++) {
            int from = (x->me + d) % n;
            if (share_of(x, k, from).n)
                cuda_put_await(x->put, x->s, from, part_of_sums(k, p->n_chunks));
        }
    cuda_put_close(x->put, x->s, done);
}

// Of an all-reduce by rows: others' rows go to their slots as they are made, the sums of this
// rank's to all others as they are added, as parts behind those of all rows.
static void give_rows(const cuda_running_pair *x, int k)
{
    const hap_pair *q = x->p;
    const int n = x->v.n_members;
    int64_t lo, hi;
    int to;
    hap_chunk_rows(x->r, q, k, &to, &lo, &hi);
    if (lo == hi) return;
    char *dst = cuda_pair_row(x, q->dst, lo);
    for (int d = 1; d < n && to == x->me; d++) {
        const int m = (x->me + d) % n;
        after_made(x, cuda_put_stream(x->put, m), k, NULL);
        cuda_put_send(x->put, m, q->n_chunks + k, dst, dst, (hi - lo) * x->row);
    }
    if (to == x->me) return;
    char *slot = cuda_pair_slot(x->r, q, to, x->me);
    after_made(x, cuda_put_stream(x->put, to), k, NULL);
    cuda_put_send(x->put, to, k, cuda_pair_row(x, q->src, lo),
                  slot + (lo - cuda_pair_rows(x->r, q, to).lo) * x->row, (hi - lo) * x->row);
}

// All of it is the kernel's.
static void produce_stored(const cuda_running_pair *x, cudaEvent_t done)
{
    run_tiles(x);
    cuda_pair_after(x, x->s, cuda_pair_mark(x, 0));
    cuda_put_close(x->put, x->s, done);
}

static void produce_rows(const cuda_running_pair *x, cudaEvent_t done)
{
    const hap_pair *q = x->p;
    const int n = x->v.n_members;
    run_tiles(x);
    cudaEvent_t kernel = cuda_pair_mark(x, 0);
    for (int k = 0; k < q->n_chunks; k++)
        give_rows(x, k);
    for (int d = 1; d < n; d++) {
        const int m = (x->me + d) % n;
        int last = -1;
        for (int k = 0; k < q->n_chunks; k++) {
            int64_t lo, hi;
            hap_part_rows(x->r, q, k, m, &lo, &hi);
            if (q->chunk[k][0] == 0 && lo < hi) last = k;
        }
        if (last >= 0) cuda_put_await(x->put, x->s, m, q->n_chunks + last);
    }
    cuda_pair_after(x, x->s, kernel);
    cuda_put_close(x->put, x->s, done);
}

// --- all of it ---

bool cuda_pair_overlaps(const hap_rank *r, const hap_pair *p)
{
    bool off = r->opt.cuda.pairs == HAP_CUDA_pairs_off;
    if (off || hap_group_size(r, p->axes) == 1) return false;
    if (p->form == FORM_FLAT || cuda_put_peers(r, p->axes)) return true;
    return p->kind == HAP_ALL_GATHER || p->kind == HAP_REDUCE_SCATTER;
}

// The rows of each group, as this rank has them.
static void take_groups(cuda_running_pair *x, const hap_pair *p)
{
    x->p = p;
    x->mine = cuda_pair_rows(x->r, p, x->me);
    for (int k = 0; k < p->n_chunks; k++) {
        cuda_pair_chunk *g = &x->g[k];
        int64_t lo, hi;
        hap_chunk_rows(x->r, p, k, &g->member, &lo, &hi);
        g->rows = (hap_range){lo, hi - lo};
        hap_part_rows(x->r, p, k, x->me, &lo, &hi);
        g->own = (hap_range){lo, hi - lo};
        g->other = hap_pair_other(x->r, p, k);
        g->sender = hap_pair_sender(x->r, p, k, g->member);
    }
}

// By puts, in that way.
static void by_puts(cuda_running_pair *x, cuda_pair_way way, cudaEvent_t done)
{
    const hap_pair *said = x->p;
    hap_pair q;
    if (way.listed && hap_pair_listed(x->r, said, &q)) take_groups(x, &q);
    const hap_pair *p = x->p;
    const bool back = p->kind == HAP_ALL_REDUCE; // sums are parts of their own
    x->tiled = way.shape ? cuda_pair_tiled_of(x->r, p, way) : NULL;
    x->list = x->tiled ? cuda_pair_list_of(x->tiled) : NULL;
    x->sums = x->tiled && way.sums;
    x->stores = x->tiled && way.stores;
    HAP_CK(x->r, !(p->by_rows || way.stores) || x->tiled,
           "sums by rows, or by stores, are captured before they have run");
    x->put = cuda_put_open(x->r, &x->coll, back ? 2 * p->n_chunks : p->n_chunks);
    if (p->consumer)
        consume(x, done);
    else if (x->stores)
        produce_stored(x, done);
    else if (p->by_rows)
        produce_rows(x, done);
    else if (p->kind == HAP_ALL_REDUCE)
        produce_all(x, done);
    else
        produce(x, done);
    if (p != said) take_groups(x, said);
}

void cuda_pair_run(hap_rank *r, const hap_pair *p, bool alone, cudaEvent_t done)
{
    cuda_backend *b = cuda_of(r);
    cuda_running_pair x;
    x.r = r, x.b = b, x.put = NULL, x.alone = alone;
    x.tiled = NULL, x.list = NULL, x.sums = x.stores = false;
    x.coll = hap_pair_coll(p);
    x.v = hap_pair_view(r, p);
    x.me = x.v.me;
    x.row = hap_pair_cols(p) * x.v.item;
    hap_coll_view v; // of the collective itself
    char why[160];
    hap_coll_view_of(r, &x.coll, 0, &v, why, sizeof why);
    x.slot = hap_put_slot(r, &x.coll, &v);
    take_groups(&x, p);
    cuda_pair_check(&x, cuda_will_read(&b->x, p->src->data, p->src->bytes));
    cuda_will_write(&b->x, p->dst->data, p->dst->bytes);
    if (p->scratch) cuda_will_write(&b->x, p->scratch->data, p->scratch->bytes);
    bool by_nccl = p->form == FORM_FLAT || !cuda_put_peers(r, p->axes);
    rehearse(&x);
    if (by_nccl) {
        x.s = b->stream[p->axes];
        if (p->consumer)
            cuda_pair_consume_by_nccl(&x, done);
        else
            cuda_pair_produce_by_nccl(&x, done);
        return;
    }
    x.s = b->beside;
    by_puts(&x, cuda_pair_choose(&x, by_puts, done), done);
}

static void new_stream(hap_rank *r, cudaStream_t *s)
{
    int low = 0, high = 0;
    cudaDeviceGetStreamPriorityRange(&low, &high);
    cuda_check(r, cuda_said(cudaStreamCreateWithPriority(s, cudaStreamNonBlocking, high),
                            "cudaStreamCreate"));
}

void cuda_pair_start(hap_rank *r)
{
    new_stream(r, &cuda_of(r)->beside);
    new_stream(r, &cuda_of(r)->waits);
}

void cuda_pair_end(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    cuda_pair_tiles_end(r);
    if (b->beside) cudaStreamDestroy(b->beside);
    if (b->waits) cudaStreamDestroy(b->waits);
    for (int i = 0; i < b->n_marks; i++)
        cudaEventDestroy(b->mark[i]);
    free(b->mark);
}
