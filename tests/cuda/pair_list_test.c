// Lists of tiles of pairs (cuda/comm/cuda_pair_list.h), run by a machine of the test's own: several
// ranks, each with clusters that go through the list as the kernel does, tallies and flags, streams
// of transfers that wait for what is made, in orders drawn at random.
//
//     pair_list_test [pairs each] [seed]
//
// Every element is to be made once, of all of its k, of rows that are there; what adds others'
// parts is to wait for none but those of its rows; every part is to be sent once all of it is made;
// what is stored in another's memory is to wait for its credit; and all is to end. Lists that are
// spoilt on purpose are to be noticed: a wait or a tile is left out, a tally ends early, a part
// waits for its own chunk's tiles alone, a store for no credit, a part of k is short.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pair_rows.h"
#include "core/tensor.h"
#include "cuda/comm/cuda_pair_list.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/kernels/tile_ways.h"
#include "tests/support/coll_random.h"
#include "tests/support/pair_tiles.h"
#include "tests/support/pair_via.h"

enum { MOST = 5, CHUNKS = 24, OPS = 2, CLUSTERS = 12, FLAGS = 8192, ROWS = 4000, COLS = 800 };

typedef struct rank {
    hap_rank r;
    hap_pair p;
    cuda_pair_list list;
    const tile_shape *shape;
    int64_t steps;              // of its k
    tile_entry part[CLUSTERS];  // what is in a slot of parts of k; 0 steps: nothing
    int clusters, at[CLUSTERS]; // the entry that a cluster is at
    int tally[CHUNKS];
    uint32_t flag[FLAGS];
    bool open;                       // its stream has come to the pair
    int order[CHUNKS];               // in which a consumer's are sent
    int sent;                        // chunks that the stream of transfers has gone through
    int turn[CHUNKS], added;         // a producer's own ones, in an order of theirs
    unsigned char there[MOST][ROWS]; // rows that came: gathered, or each member's slot
    unsigned char *made[OPS * MOST]; // by place: [rows][cols / 8]
} rank;

typedef enum {
    AS_IT_IS,
    NO_WAIT,
    NO_TILE,
    SHORT_TALLY,
    ONE_CHUNK,
    NO_CREDIT,
    SHORT_PART,
    SPOILS
} spoil;

static rank all[MOST];
static int64_t chunk[CHUNKS][3], rows[MOST], cols[OPS];
static int n_ranks, n_chunks, n_ops;
static bool sums, stores, parts;
static long bad;

// --- a pair ---

static void draw_chunks(bool gathers, bool whole)
{
    n_chunks = 0;
    for (int d = 0; d < (whole ? 1 : n_ranks); d++)
        for (int64_t k = 1 + coll_below(4); k > 0; k--) {
            int at = n_chunks++, to = (int)coll_below(at + 1);
            memcpy(chunk[at], chunk[to], sizeof chunk[at]);
            chunk[to][0] = d, chunk[to][2] = 0;
            chunk[to][1] = 1 + coll_below(coll_chance(50) ? 3 : 40);
        }
    for (int k = 1; k < n_chunks; k++)
        if (coll_chance(30)) chunk[k][1] *= -1;
    for (int k = 0; k < n_chunks && gathers; k++) {
        int64_t via = coll_below(n_ranks);
        if (pair_via_fits((const int64_t(*)[3])chunk, n_chunks, k, via)) chunk[k][2] = via;
    }
}

// Of an all-reduce: members add rows, which then go to all others.
static void draw_by_rows(void)
{
    hap_pair_tiles t;
    do
        t = pair_tiles_draw(coll_below, HAP_ALL_REDUCE, n_ranks, chunk);
    while (!(t.how & HAP_TILE_BY_ROWS));
    n_chunks = t.n_chunks;
    for (int m = 0; m < n_ranks; m++) {
        hap_pair *p = &all[m].p, q;
        p->tiles = t;
        bad += !hap_pair_listed(&all[m].r, p, &q);
        q.most_rows = hap_pair_most_rows(&all[m].r, &q);
        *p = q;
    }
    for (int m = 0; m < n_ranks; m++)
        rows[m] = cuda_pair_rows(&all[0].r, &all[0].p, m).n;
    sums = true, parts = false;
    stores = t.how & HAP_TILE_STORES;
}

static void draw(void)
{
    static const int64_t at[1];
    static const hap_coll_kind kinds[] = {HAP_ALL_GATHER, HAP_REDUCE_SCATTER, HAP_REDUCE_SCATTER,
                                          HAP_ALL_REDUCE};
    hap_coll_kind kind = kinds[coll_below(4)];
    const bool gathers = kind == HAP_ALL_GATHER, in = gathers, out = kind == HAP_REDUCE_SCATTER;
    n_ranks = 2 + (int)coll_below(MOST - 1);
    n_ops = gathers ? 1 + (int)coll_below(OPS) : 1;
    sums = out && coll_chance(60);
    stores = (sums || gathers) && coll_chance(50);
    parts = gathers && coll_chance(60);
    const int64_t n = coll_chance(30) ? 1 + coll_below(300) : 1 + coll_below(ROWS);
    const int64_t *table = coll_table(n, n_ranks, false);
    hap_dim whole[] = {WHOLE(n), WHOLE(8)}, cut[] = {CUT(0, n, table), WHOLE(8)};
    for (int m = 0; m < n_ranks; m++)
        rows[m] = kind == HAP_ALL_REDUCE ? n : table[m];
    for (int i = 0; i < n_ops; i++)
        cols[i] = 8 * (1 + coll_below(COLS / 8));
    draw_chunks(gathers && !stores, kind == HAP_ALL_REDUCE);
    for (int m = 0; m < n_ranks; m++) {
        rank *q = &all[m];
        hap_pair *p = &q->p;
        q->r = (hap_rank){.id = m,
                          .n_ranks = n_ranks,
                          .member = m,
                          .n_members = n_ranks,
                          .n_axes = 1,
                          .size = {n_ranks, 1},
                          .coord = {m},
                          .n_classes = 1,
                          .seg_bytes = {1 << 30, 1 << 30}};
        *p = (hap_pair){.consumer = gathers,
                        .row_dims = 1,
                        .n_chunks = n_chunks,
                        .n_ops = n_ops,
                        .axes = 1,
                        .chunk = (const int64_t(*)[3])chunk,
                        .kind = kind};
        p->src = hap_tensor_declare(&q->r, SEG_LOCAL, at, HAP_BF16, 2, in ? cut : whole);
        p->dst = hap_tensor_declare(&q->r, SEG_LOCAL, at, HAP_BF16, 2, out ? cut : whole);
        p->most_rows = hap_pair_most_rows(&q->r, p);
    }
    if (kind == HAP_ALL_REDUCE && n >= n_ranks && coll_chance(60)) draw_by_rows();
}

// Each rank has processors and sums of its own, and a form, but where kernels store parts.
static void make_lists(spoil s)
{
    const tile_shape *one = &tile_shapes[coll_below(TILE_SHAPES)];
    for (int m = 0; m < n_ranks; m++) {
        rank *q = &all[m];
        const tile_shape *shape = stores ? one : &tile_shapes[coll_below(TILE_SHAPES)];
        unsigned how = sums && (rows[m] > 0 || stores) ? (unsigned)HAP_TILE_SUMS : 0;
        if (stores) how |= HAP_TILE_STORES;
        if (parts) how |= HAP_TILE_PARTS;
        q->clusters = 1 + (int)coll_below(CLUSTERS);
        q->shape = shape;
        q->steps = 1 + coll_below(parts && coll_chance(70) ? 400 : 9);
        memset(q->part, 0, sizeof q->part);
        cuda_pair_list_make(&q->r, &q->p, shape, cols, 64 * q->steps - coll_below(64),
                            2 * q->clusters, how, &q->list);
        cuda_pair_list *l = &q->list;
        int e = l->n_entries ? (int)coll_below(l->n_entries) : 0;
        for (int c = 0; c < q->clusters; c++)
            q->at[c] = c;
        memset(q->tally, 0, sizeof q->tally);
        memset(q->flag, 0, sizeof q->flag);
        memset(q->there, 0, sizeof q->there);
        for (int i = 0; i < n_ops * n_ranks; i++)
            q->made[i] = calloc((size_t)(rows[i % n_ranks] + 1), COLS / 8);
        q->open = false;
        q->sent = q->added = stores && !q->p.consumer ? n_chunks : 0; // nothing is a stream's
        for (int k = 0; k < n_chunks; k++) {
            int to = (int)coll_below(k + 1);
            q->turn[k] = q->turn[to], q->turn[to] = k;
        }
        for (int i = 0; i < l->n_entries; i++) { // `e` is the last that can be spoilt so
            const tile_entry *t = &l->entry[i];
            if (s == NO_WAIT ? t->waits > 0 : s == SHORT_TALLY ? t->count > shape->parts : false)
                e = i;
        }
        if (l->n_entries == 0) continue;
        if (s == NO_TILE) l->entry[e].row = INT32_MAX / 2;
        for (int i = 0; i < l->n_entries; i++) {
            tile_entry *t = &l->entry[i];
            if (s == NO_WAIT && t->wait == l->entry[e].wait) t->waits = 0;
            if (s == NO_CREDIT && t->kind & TILE_SENDS) t->waits = 0;
            if (s == SHORT_PART && t->kind & TILE_PART) t->steps--;
            if (s == SHORT_TALLY && t->tally == l->entry[e].tally && t->count > shape->parts)
                t->count -= shape->parts;
        }
        for (int k = 0; k < n_chunks && s == ONE_CHUNK; k++)
            for (int i = 0; i < 2; i++)
                if (l->made[k][i] != k) l->made[k][i] = -1;
    }
}

// --- the machine ---

static bool reached(const rank *q, int flag, int part)
{
    return q->flag[flag] >= (uint32_t)part + 1; // numbers from 1 on
}

static void raise(rank *q, int flag, int part)
{
    if (q->flag[flag] < (uint32_t)part + 1) q->flag[flag] = (uint32_t)part + 1;
}

// Whether the entry's tiles are stored in the memory of that other member.
static bool goes_to(const rank *q, const tile_entry *e, int member)
{
    if (member == q->r.id) return false;
    return e->kind & TILE_ALL || (e->kind & TILE_SENDS && e->place % n_ranks == member);
}

// One of an entry's two tiles is made.
static int make_tile(rank *q, const tile_entry *e, int row, int col)
{
    const tile_shape *s = q->shape;
    const int member = e->place % n_ranks, me = q->r.id, op = e->place / n_ranks;
    if (row >= e->rows || col >= e->cols) return 0;
    bad += e->rows > rows[member] || e->cols != cols[op];
    for (int i = row; i < row + s->rows && i < e->rows; i++) {
        if (q->p.consumer && member != me) bad += !q->there[member][i];
        for (int m = 0; m < n_ranks && e->kind & TILE_SUMS && !stores; m++)
            bad += m != me && !q->there[m][i];
        for (int j = col / 8; j < (col + s->cols) / 8 && j < e->cols / 8; j++) {
            q->made[e->place][i * (COLS / 8) + j]++;
            for (int m = 0; m < n_ranks && e->kind & TILE_SUMS && stores; m++)
                bad += m != me && !all[m].made[me][i * (COLS / 8) + j];
        }
    }
    for (int m = 0; m < n_ranks; m++) // into others' memory
        bad += goes_to(q, e, m) && !all[m].open;
    return s->parts;
}

static bool all_made(const rank *q, int member, hap_range of);

// No tile: all sums of the others' rows have come.
static void check_end(const rank *q)
{
    for (int m = 0; m < n_ranks; m++)
        bad += m != q->r.id && !all_made(&all[m], m, (hap_range){0, rows[m]});
}

// The two tiles of an entry read no row that has not come.
static void check_reads(const rank *q, const tile_entry *e)
{
    const int member = e->place % n_ranks, down = e->kind & TILE_RIGHT ? 1 : 2;
    for (int i = e->row; i < e->row + down * q->shape->rows && i < e->rows; i++)
        bad += member != q->r.id && !q->there[member][i];
}

// A part of k goes to its slot, which is empty.
static void put_part(rank *q, const tile_entry *e)
{
    bad += e->slot < 0 || e->slot >= q->clusters || q->part[e->slot].steps > 0 ||
           e->kind & TILE_SIGNALS;
    check_reads(q, e);
    q->part[e->slot] = *e;
}

// Is what the entry adds in its slots?
static bool parts_are_there(const rank *q, const tile_entry *e)
{
    for (int i = e->slot; i < e->slot + e->slots; i++)
        if (!q->part[i].steps) return false;
    return true;
}

// All of the entry's k: its own, and that of its slots one after the other, of the same tiles.
static void check_k(rank *q, const tile_entry *e)
{
    int64_t at = e->steps;
    bad += e->from != 0;
    for (int i = e->slot; i < e->slot + e->slots; i++) {
        const tile_entry *part = &q->part[i];
        bad += part->from != at || part->row != e->row || part->col != e->col ||
               part->place != e->place || (part->kind & TILE_RIGHT) != (e->kind & TILE_RIGHT);
        at += part->steps;
        q->part[i].steps = 0;
    }
    bad += at != q->steps;
}

static bool run_entry(rank *q, int c)
{
    if (!q->open || q->at[c] >= q->list.n_entries) return false;
    const tile_entry *e = &q->list.entry[q->at[c]];
    const tile_shape *s = q->shape;
    for (int i = e->wait; i < e->wait + e->waits; i++)
        if (!reached(q, q->list.wait[i].flag, q->list.wait[i].until)) return false;
    if (e->kind & TILE_PART) {
        put_part(q, e);
        q->at[c] += q->clusters;
        return true;
    }
    if (!parts_are_there(q, e)) return false;
    if (e->row < e->rows) check_k(q, e);
    const bool right = e->kind & TILE_RIGHT;
    int arrivals = make_tile(q, e, e->row, e->col);
    arrivals += make_tile(q, e, e->row + (right ? 0 : s->rows), e->col + (right ? s->cols : 0));
    q->at[c] += q->clusters;
    if (stores && e->steps == 0 && e->waits) check_end(q);
    for (; arrivals > 0 && e->kind & TILE_SIGNALS; arrivals--)
        if (++q->tally[e->tally] == e->count) {
            q->tally[e->tally] = 0;
            if (!stores) raise(q, e->signal, e->raise);
            for (int m = 0; m < n_ranks; m++)
                if (goes_to(q, e, m)) raise(&all[m], e->signal, e->raise);
        }
    return true;
}

// The rank's stream comes to the pair: its memory may be written into.
static bool come(rank *q)
{
    if (q->open) return false;
    for (int m = 0; m < n_ranks; m++)
        if (m != q->r.id) raise(&all[m], cuda_put_credit_flag(&all[m].r, 1, q->r.id), 0);
    return q->open = true;
}

static bool all_made(const rank *q, int member, hap_range of)
{
    for (int op = 0; op < n_ops; op++)
        for (int64_t i = of.lo; i < of.lo + of.n; i++)
            for (int64_t j = 0; j < cols[op] / 8; j++)
                if (!q->made[op * n_ranks + member][i * (COLS / 8) + j]) return false;
    return true;
}

static hap_range part_of(const rank *q, int k, int member)
{
    int64_t lo, hi, first = cuda_pair_rows(&q->r, &q->p, member).lo;
    hap_part_rows(&q->r, &q->p, k, member, &lo, &hi);
    return (hap_range){lo - first, hi - lo};
}

// Sums: each part that an entry waits for has some of its rows.
static void check_waits(const rank *q)
{
    for (int i = 0; i < q->list.n_entries; i++) {
        const tile_entry *e = &q->list.entry[i];
        const int each = q->shape->rows, end = e->row + each * (e->kind & TILE_RIGHT ? 1 : 2);
        for (int w = e->wait; w < e->wait + e->waits && e->kind & TILE_SUMS && !stores; w++) {
            const hap_range part = part_of(q, q->list.wait[w].until, q->r.id);
            bad += part.n == 0 || part.lo >= end || part.lo + part.n <= e->row;
        }
    }
}

// Rows of the member's place go to rank `to`, as chunk k.
static void send(rank *q, int k, int to, int member, hap_range of)
{
    rank *t = &all[to];
    int slot = q->p.consumer ? member : q->r.id;
    memset(t->there[slot] + of.lo, 1, (size_t)of.n);
    raise(t,
          stores ? cuda_put_stored_flag(&t->r, 1, k, q->r.id)
                 : cuda_put_arrived_flag(&t->r, 1, q->r.id),
          k);
}

static bool send_gathered(rank *q, int k)
{
    const int me = q->r.id, to = hap_pair_other(&q->r, &q->p, k);
    if (stores && !all[to].open) return false; // the kernel waits for the credit
    hap_passed w = hap_pair_passed(&q->r, &q->p, k);
    for (int i = 0; i < k && w.rows.n; i++)
        if (hap_pair_brings(&q->p, i, k) && part_of(q, i, w.owner).n &&
            !reached(q, cuda_put_arrived_flag(&q->r, 1, hap_pair_sender(&q->r, &q->p, i, w.owner)),
                     i))
            return false;
    hap_range own = part_of(q, k, me), passed = part_of(q, k, w.owner);
    if (to != me && own.n && hap_pair_sender(&q->r, &q->p, k, me) == me) send(q, k, to, me, own);
    if (w.rows.n) send(q, k, w.to, w.owner, passed);
    return true;
}

// A producer's chunk, once it is made: this member's own are sums' affair.
static bool take_chunk(rank *q, int k, bool own)
{
    int64_t lo, hi;
    int member;
    hap_chunk_rows(&q->r, &q->p, k, &member, &lo, &hi);
    hap_range of = part_of(q, k, member);
    if (own != (member == q->r.id)) return true;
    if (own && sums && rows[q->r.id] > 0 && !q->p.by_rows) return true; // in the kernel
    for (int i = 0; i < 2; i++) {
        int by = q->list.made[k][i];
        if (by >= 0 && !reached(q, cuda_put_made_flag(&q->r, 1, by), by)) return false;
    }
    bad += !all_made(q, member, of);
    if (!own && of.n) send(q, k, member, member, of);
    return true;
}

// What is in any order: parts that kernels store.
static void mix_turns(rank *q)
{
    for (int k = 0; k < n_chunks; k++) {
        int to = (int)coll_below(k + 1);
        q->order[k] = q->order[to], q->order[to] = k;
    }
}

static bool run_stream(rank *q)
{
    const bool gathers = q->p.consumer;
    if (q->added < n_chunks && (gathers || take_chunk(q, q->turn[q->added], true))) {
        q->added++;
        return true;
    }
    if (q->sent == n_chunks) return false;
    if (!(gathers ? send_gathered(q, q->order[q->sent]) : take_chunk(q, q->sent, false)))
        return false;
    q->sent++;
    return true;
}

// Whether it ended.
static bool run(void)
{
    for (int m = 0; m < n_ranks; m++)
        for (int k = 0; k < n_chunks; k++)
            all[m].order[k] = k;
    for (int m = 0; m < n_ranks && stores; m++)
        mix_turns(&all[m]);
    for (int left = 1; left;) {
        int order = (int)coll_below(n_ranks), first = (int)coll_below(CLUSTERS + 2);
        left = 0;
        for (int i = 0; i < n_ranks && !left; i++) {
            rank *q = &all[(order + i) % n_ranks];
            for (int c = 0; c < CLUSTERS + 2 && !left; c++) {
                int at = (first + c) % (CLUSTERS + 2);
                left = at == CLUSTERS + 1 ? come(q)
                       : at == CLUSTERS   ? run_stream(q)
                                          : at < q->clusters && run_entry(q, at);
            }
        }
    }
    bool ended = true;
    for (int m = 0; m < n_ranks; m++) {
        for (int i = 0; i < CLUSTERS; i++)
            bad += ended && all[m].part[i].steps > 0; // nobody has added it
        ended &= all[m].sent == n_chunks && all[m].added == n_chunks;
        for (int c = 0; c < all[m].clusters; c++)
            ended &= all[m].at[c] >= all[m].list.n_entries;
    }
    return ended;
}

// Every element once.
static void check(void)
{
    for (int m = 0; m < n_ranks; m++)
        for (int i = 0; i < n_ops * n_ranks; i++) {
            bool reduces = all[m].p.kind == HAP_ALL_REDUCE && !all[m].p.by_rows;
            if (reduces && i % n_ranks != m) continue;
            for (int64_t row = 0; row < rows[i % n_ranks]; row++)
                for (int64_t j = 0; j < cols[i / n_ranks] / 8; j++)
                    bad += all[m].made[i][row * (COLS / 8) + j] != 1;
        }
}

static void end(void)
{
    for (int m = 0; m < n_ranks; m++) {
        cuda_pair_list_free(&all[m].list);
        for (int i = 0; i < n_ops * n_ranks; i++)
            free(all[m].made[i]);
        hap_tensor_free_all(&all[m].r);
        free(all[m].r.tensor);
    }
}

int main(int argc, char **argv)
{
    static const char *const what[SPOILS] = {"as it is",
                                             "a wait is left out",
                                             "a tile is left out",
                                             "a tally ends early",
                                             "one chunk's tiles alone",
                                             "no credit is waited for",
                                             "a part of k is short"};
    int pairs = argc > 1 ? atoi(argv[1]) : 60, failed = 0;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    for (int s = 0; s < SPOILS; s++) {
        int noticed = 0, endless = 0, tiles = 0;
        for (int i = 0; i < pairs; i++) {
            coll_seed(seed * 7919 + (uint64_t)(s * pairs + i));
            bad = 0;
            draw();
            make_lists((spoil)s);
            for (int m = 0; m < n_ranks; m++)
                check_waits(&all[m]);
            bool ended = run();
            if (ended) check();
            endless += !ended;
            noticed += !ended || bad > 0;
            for (int m = 0; m < n_ranks; m++)
                tiles += all[m].list.n_entries;
            end();
        }
        bool ok = s == AS_IT_IS ? noticed == 0 : noticed > 0;
        failed += !ok;
        printf("%-26s %d pairs of %d entries, %d noticed, %d of them without an end: %s\n", what[s],
               pairs, tiles, noticed, endless, ok ? "all right" : "FAILED");
    }
    return failed ? 1 : 0;
}
