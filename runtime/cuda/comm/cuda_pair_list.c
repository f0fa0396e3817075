#include "cuda/comm/cuda_pair_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/kernels/tile_ways.h"

typedef struct maker {
    hap_rank *r;
    const hap_pair *p;
    const tile_shape *s;
    const int64_t *cols;
    int64_t k;
    int sms, me, n;
    bool sums, stores;
    cuda_pair_list *l;
} maker;

hap_range cuda_pair_rows(const hap_rank *r, const hap_pair *p, int member)
{
    return p->consumer ? hap_pair_src(r, p, member).f1 : hap_pair_dst(r, p, member).f1;
}

// Chunk k as this rank multiplies it, in rows of the member's place.
static int rows_of(const maker *x, int k, hap_range *rows)
{
    int64_t lo, hi;
    int member;
    hap_chunk_rows(x->r, x->p, k, &member, &lo, &hi);
    hap_range all = cuda_pair_rows(x->r, x->p, member);
    *rows = (hap_range){lo - all.lo, hi - lo};
    return member;
}

// Rows of tiles that belong to the chunk, [lo, lo + n); `all`: rows of the member.
static hap_range tiles_of(const maker *x, hap_range rows, int64_t all)
{
    const int64_t each = x->s->rows, end = rows.lo + rows.n;
    if (rows.n == 0) return (hap_range){0, 0};
    int64_t lo = x->p->consumer ? rows.lo / each : (rows.lo + each - 1) / each;
    int64_t hi = x->p->consumer && end < all ? end / each : (end + each - 1) / each;
    return (hap_range){lo, hi > lo ? hi - lo : 0};
}

// Of the parts that a row of tiles waits for, the last of each member that sends any.
static void add_wait(const maker *x, int from, int member, int part)
{
    cuda_pair_list *l = x->l;
    int flag = cuda_put_arrived_flag(x->r, x->p->axes, member);
    for (int i = from; i < l->n_waits; i++) {
        if (l->wait[i].flag != flag) continue;
        if (l->wait[i].until < part) l->wait[i].until = part;
        return;
    }
    l->wait = hap_grow(x->r, l->wait, &l->cap_waits, l->n_waits + 1, sizeof *l->wait);
    l->wait[l->n_waits++] = (tile_wait){flag, part};
}

static bool meet(hap_range a, hap_range b)
{
    return a.n > 0 && b.n > 0 && a.lo < b.lo + b.n && b.lo < a.lo + a.n;
}

// Rows of the member's that are its part of chunk k, which who sends them makes; its own: which
// itself makes.
static hap_range part_of(const maker *x, int k, int member)
{
    int64_t lo, hi, first = cuda_pair_rows(x->r, x->p, member).lo;
    hap_part_rows(x->r, x->p, k, member, &lo, &hi);
    return (hap_range){lo - first, hi - lo};
}

// Until a kernel of the member has stored its chunk k.
static void add_stored(const maker *x, int k, int member)
{
    cuda_pair_list *l = x->l;
    int flag = cuda_put_stored_flag(x->r, x->p->axes, k, member);
    l->wait = hap_grow(x->r, l->wait, &l->cap_waits, l->n_waits + 1, sizeof *l->wait);
    l->wait[l->n_waits++] = (tile_wait){flag, k};
}

static void add_credit(const maker *x, int member)
{
    cuda_pair_list *l = x->l;
    int flag = cuda_put_credit_flag(x->r, x->p->axes, member);
    l->wait = hap_grow(x->r, l->wait, &l->cap_waits, l->n_waits + 1, sizeof *l->wait);
    l->wait[l->n_waits++] = (tile_wait){flag, 0};
}

// Sums of what kernels store: of each other member, the chunk whose tiles have the rows.
static void add_stored_waits(const maker *x, hap_range rows)
{
    const int64_t all = cuda_pair_rows(x->r, x->p, x->me).n;
    for (int k = 0; k < x->p->n_chunks; k++) {
        const int other = hap_pair_other(x->r, x->p, k);
        hap_range tiles = tiles_of(x, part_of(x, k, x->me), all);
        tiles = (hap_range){tiles.lo * x->s->rows, tiles.n * x->s->rows};
        if (other != x->me && meet(tiles, rows)) add_stored(x, k, other);
    }
    for (int m = 0; m < x->n && x->p->by_rows; m++) // whose rows get the sums
        if (m != x->me) add_credit(x, m);
}

// What the member's rows wait for: consumer, whoever sends them; sums, all other members.
static void add_waits(const maker *x, int member, hap_range rows)
{
    const int from = x->l->n_waits;
    for (int k = 0; k < x->p->n_chunks; k++) {
        hap_range part;
        if (x->p->consumer) {
            if (rows_of(x, k, &part) != member || !meet(part, rows)) continue;
            int sender = hap_pair_sender(x->r, x->p, k, member);
            if (sender != x->me && x->stores) add_stored(x, k, sender);
            if (sender != x->me && !x->stores) add_wait(x, from, sender, k);
        } else {
            int other = hap_pair_other(x->r, x->p, k);
            part = part_of(x, k, x->me);
            if (other != x->me && meet(part, rows)) add_wait(x, from, other, k);
        }
    }
}

// Tiles of those rows of tiles of a member, of all ops.
static void add_tiles(const maker *x, int member, hap_range tiles, int64_t all)
{
    cuda_pair_list *l = x->l;
    const int wait = l->n_waits;
    const bool adds = x->sums && member == x->me, sends = x->stores && x->sums && !adds;
    const bool drops = (adds || sends) && x->p->dst->data == x->p->src->data;
    hap_range rows = {tiles.lo * x->s->rows, tiles.n * x->s->rows};
    if (rows.lo + rows.n > all) rows.n = all - rows.lo;
    if (sends)
        add_credit(x, member);
    else if (adds && x->stores)
        add_stored_waits(x, rows);
    else if ((x->p->consumer && member != x->me) || adds)
        add_waits(x, member, rows);
    for (int i = 0; i < x->p->n_ops; i++) {
        int n =
            tile_list_rows(x->s, tiles.lo, tiles.lo + tiles.n, all, x->cols[i], x->k, x->sms, NULL);
        l->entry = hap_grow(x->r, l->entry, &l->cap_entries, l->n_entries + n, sizeof *l->entry);
        tile_entry *e = l->entry + l->n_entries;
        tile_list_rows(x->s, tiles.lo, tiles.lo + tiles.n, all, x->cols[i], x->k, x->sms, e);
        for (int t = 0; t < n; t++) {
            e[t].place = i * x->n + member;
            e[t].wait = wait, e[t].waits = l->n_waits - wait;
            if (adds) e[t].kind |= TILE_SUMS;
            if (sends) e[t].kind |= TILE_SENDS;
            if (adds && x->stores && x->p->by_rows) e[t].kind |= TILE_ALL;
            if (drops) e[t].kind |= TILE_DROPS;
        }
        l->n_entries += n;
    }
}

// The chunk's tiles, those from entry `from` on, raise its flag.
static void add_signals(const maker *x, int k, int from)
{
    cuda_pair_list *l = x->l;
    int count = 0;
    for (int t = from; t < l->n_entries; t++)
        count += tile_arrivals(x->s, &l->entry[t]);
    for (int t = from; t < l->n_entries; t++) {
        tile_entry *e = &l->entry[t];
        e->kind |= TILE_SIGNALS;
        e->signal = x->stores ? cuda_put_stored_flag(x->r, x->p->axes, k, x->me)
                              : cuda_put_made_flag(x->r, x->p->axes, k);
        e->tally = k, e->count = count, e->raise = k;
    }
}

// Puts behind the list's waits those of a row of tiles of this member's sums; how many.
static int waits_of(const maker *x, int64_t tile, int64_t all)
{
    const int64_t from = tile * x->s->rows, left = all - from;
    const int before = x->l->n_waits;
    const hap_range rows = {from, left < x->s->rows ? left : x->s->rows};
    if (x->stores)
        add_stored_waits(x, rows);
    else
        add_waits(x, x->me, rows);
    return x->l->n_waits - before;
}

// Do two rows of tiles of sums wait for the same?
static bool wait_alike(const maker *x, int64_t one, int64_t other, int64_t all)
{
    cuda_pair_list *l = x->l;
    const int from = l->n_waits, n = waits_of(x, one, all);
    bool alike = waits_of(x, other, all) == n;
    for (int i = 0; i < n && alike; i++) { // of each member, in any order
        const tile_wait *w = l->wait + from, *v = w + n;
        int k = 0;
        while (k < n && v[k].flag != w[i].flag)
            k++;
        alike = k < n && v[k].until == w[i].until;
    }
    l->n_waits = from;
    return alike;
}

// Rows that add what others made go by what they wait for: the first need not wait for the last's.
static void add_chunk(const maker *x, int k)
{
    hap_range rows;
    const int member = rows_of(x, k, &rows);
    const int64_t all = cuda_pair_rows(x->r, x->p, member).n;
    const hap_range tiles = tiles_of(x, rows, all);
    const int from = x->l->n_entries;
    const bool adds = x->sums && member == x->me;
    for (int64_t at = 0, n; at < tiles.n; at += n) {
        n = tiles.n - at;
        for (int64_t i = 1; adds && i < n; i++)
            if (!wait_alike(x, tiles.lo + at, tiles.lo + at + i, all)) n = i;
        add_tiles(x, member, (hap_range){tiles.lo + at, n}, all);
    }
    if (!x->p->consumer && (!adds || x->p->by_rows)) add_signals(x, k, from);
}

// Chunks whose tiles have the rows of chunk k.
static void find_made(const maker *x, int k)
{
    hap_range rows, other;
    const int member = rows_of(x, k, &rows);
    const int64_t all = cuda_pair_rows(x->r, x->p, member).n;
    int n = 0;
    x->l->made[k][0] = x->l->made[k][1] = -1;
    for (int i = 0; i < x->p->n_chunks && rows.n > 0; i++) {
        if (rows_of(x, i, &other) != member) continue;
        hap_range tiles = tiles_of(x, other, all);
        tiles = (hap_range){tiles.lo * x->s->rows, tiles.n * x->s->rows};
        if (!meet(tiles, rows)) continue;
        HAP_CK(x->r, n < 2, "the rows of chunk %d are tiles of more than two chunks", k);
        x->l->made[k][n++] = i;
    }
}

// No tile: until the other members' sums have come.
static void add_end(const maker *x)
{
    cuda_pair_list *l = x->l;
    const int wait = l->n_waits;
    for (int k = 0; k < x->p->n_chunks; k++)
        for (int m = 0; m < x->n && x->p->chunk[k][0] == 0; m++) {
            const int64_t all = cuda_pair_rows(x->r, x->p, m).n;
            if (m != x->me && tiles_of(x, part_of(x, k, m), all).n > 0) add_stored(x, k, m);
        }
    if (l->n_waits == wait) return;
    l->entry = hap_grow(x->r, l->entry, &l->cap_entries, l->n_entries + 1, sizeof *l->entry);
    l->entry[l->n_entries++] =
        (tile_entry){.row = INT32_MAX / 2, .wait = wait, .waits = l->n_waits - wait};
}

// What does not come out even at the list's end, in parts of k.
static void share_end(const maker *x)
{
    cuda_pair_list *l = x->l;
    const int clusters = x->sms / 2, n = l->n_entries;
    int64_t rows = 0, cols = 0;
    for (int m = 0; m < x->n; m++)
        rows += cuda_pair_rows(x->r, x->p, m).n;
    for (int i = 0; i < x->p->n_ops; i++)
        cols += x->cols[i];
    const tile_share share =
        tile_share_of(x->s, n % clusters, x->k, (rows + cols) * x->k * 2, x->sms);
    if (share.clusters == 0) return;
    l->entry = hap_grow(x->r, l->entry, &l->cap_entries, n + 2 * clusters, sizeof *l->entry);
    l->n_entries = tile_list_shared(x->s, l->entry, n, x->k, x->sms, share);
}

void cuda_pair_list_make(hap_rank *r, const hap_pair *p, const tile_shape *s, const int64_t *cols,
                         int64_t k, int sms, unsigned how, cuda_pair_list *to)
{
    const bool sums = how & HAP_TILE_SUMS;
    maker x = {.r = r,
               .p = p,
               .s = s,
               .cols = cols,
               .k = k,
               .sms = sms,
               .me = hap_group_member(r, p->axes),
               .n = hap_group_size(r, p->axes),
               .sums = sums,
               .stores = how & HAP_TILE_STORES,
               .l = to};
    *to = (cuda_pair_list){0};
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < p->n_chunks; i++)
            if ((sums && p->chunk[i][0] == 0) == last) add_chunk(&x, i);
    for (int i = 0; i < p->n_chunks && !p->consumer && !x.stores; i++)
        find_made(&x, i);
    if (x.stores && p->by_rows) add_end(&x);
    if (p->consumer && how & HAP_TILE_PARTS) share_end(&x);
}

void cuda_pair_list_free(cuda_pair_list *l)
{
    free(l->entry);
    free(l->wait);
    *l = (cuda_pair_list){0};
}
