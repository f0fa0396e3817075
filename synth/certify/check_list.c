// A pair's list of tiles (hap_tiles): what its kernel does on every rank, by the record's integers
// alone.
//
// Tiles lie from each member's first row on, as many as its rows want. A row of tiles belongs to
// the last chunk that it has rows of where it waits (an all-gather's), to the first where it is
// made. Proved for each kind of rank:
//
//     every tile once     each row of tiles of each member belongs to one chunk
//     flags before reads  an all-gather's tile waits for parts that hold all of its rows; a tile
//     that
//                         adds waits, of every other member, for parts that hold all of its rows
//     flags before sends  a part's rows are tiles of its own chunk and of one chunk before it,
//     behind
//                         whose flags it is sent
//     an end              what waits for other members' tiles stands behind all tiles that other
//                         members wait for, on every rank alike, and of those none waits
//
// Parts of one sender come in their order, so a wait for the last of them is one for all.

#include <stdlib.h>

#include "synth/certify/check_model.h"
#include "synth/plan/program.h"
#include "synth/plan/search_limits.h"

// A pair as one rank sees it. rows: by member.
typedef struct list {
    chk *c;
    const rec_call *call;
    bool consumer, sums, by_rows;
    int n, me;
    int64_t *rows, most;
    int *part;  // by chunk: member whose rows it has
    int *owner; // by row of tiles of the member at hand: its chunk, -1
} list;

static bool is_form(int64_t rows, int64_t cols, bool turns)
{
#define HAP_TILE_FORM(its_rows, its_cols, its_turns, parts, percent)                               \
    if (rows == its_rows && cols == its_cols && turns == (its_turns == 1)) return true;
#include "runtime/hap/tiles.def"
    return false;
}

// Rows of what stands before the last dim, on a rank.
static int64_t rows_on(const chk *c, const rec_tensor *t, int rank)
{
    int64_t n = 1;
    for (int d = 0; d + 1 < t->rank; d++)
        n *= chk_held(c, &t->dim[d], rank);
    return n;
}

// The rank that is member m of this rank's group.
static int member_rank(const chk *c, unsigned axes, int rank, int m)
{
    if (c->r->n_axes == 1 || axes == 3u) return m;
    int inner = c->r->size[1];
    return axes == 2u ? rank / inner * inner + m : m * inner + rank % inner;
}

static int member_of(const chk *c, unsigned axes, int rank)
{
    if (c->r->n_axes == 1 || axes == 3u) return rank;
    return axes == 2u ? rank % c->r->size[1] : rank / c->r->size[1];
}

// Rows [*lo, *hi) of its member that chunk k is.
static void part_of(const list *l, int k, int member, int64_t *lo, int64_t *hi)
{
    int64_t from, to, all;
    chk_share(l->call, k, &from, &to, &all);
    *lo = l->most * from / all;
    *hi = l->most * to / all;
    if (*lo > l->rows[member]) *lo = l->rows[member];
    if (*hi > l->rows[member]) *hi = l->rows[member];
}

// Rows of tiles [*lo, *hi) of chunk k.
static void tiles_of(const list *l, int k, int64_t *lo, int64_t *hi)
{
    const int64_t each = l->call->tile[0];
    int64_t from, to;
    part_of(l, k, l->part[k], &from, &to);
    *lo = *hi = 0;
    if (from == to) return;
    *lo = l->consumer ? from / each : (from + each - 1) / each;
    *hi = l->consumer && to < l->rows[l->part[k]] ? to / each : (to + each - 1) / each;
}

// Rows of [from, to) that parts of a distance bring, of a member's rows.
static int64_t brought(const list *l, int64_t distance, int member, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int i = 0; i < l->call->n_chunks; i++) {
        int64_t lo, hi;
        if (l->call->chunk[i][0] != distance) continue;
        part_of(l, i, member, &lo, &hi);
        lo = lo > from ? lo : from;
        hi = hi < to ? hi : to;
        n += hi > lo ? hi - lo : 0;
    }
    return n;
}

static bool check_waits(const list *l, int k, int64_t tile)
{
    const int64_t each = l->call->tile[0], d = l->call->chunk[k][0], rows = l->rows[l->part[k]];
    const int64_t from = tile * each, to = from + each < rows ? from + each : rows;
    if (l->consumer && d != 0 && brought(l, d, l->part[k], from, to) != to - from)
        return chk_fail(l->c, "tiles of chunk %d of the list read rows that they do not wait for",
                        k);
    for (int64_t i = 1; i < l->n && l->sums && d == 0; i++)
        if (brought(l, i, l->me, from, to) != to - from)
            return chk_fail(l->c,
                            "tiles of chunk %d of the list add rows that they do not wait for", k);
    return true;
}

// Whose tiles each of the member's rows of tiles is.
static bool check_tiles(list *l, int member)
{
    const int64_t each = l->call->tile[0], all = (l->rows[member] + each - 1) / each;
    l->owner = HB_ARRAY(l->c->a, int, all + 1);
    for (int64_t i = 0; i < all; i++)
        l->owner[i] = -1;
    for (int k = 0; k < l->call->n_chunks; k++) {
        int64_t lo, hi;
        if (l->part[k] != member) continue;
        tiles_of(l, k, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            if (i >= all || l->owner[i] >= 0)
                return chk_fail(l->c, "tiles of chunk %d of the list are made twice", k);
            l->owner[i] = k;
            if (!check_waits(l, k, i)) return false;
        }
    }
    for (int64_t i = 0; i < all; i++)
        if (l->owner[i] < 0)
            return chk_fail(l->c, "row %lld of tiles is in no chunk of the list", (long long)i);
    return true;
}

// What is sent of the member's rows is made by its own chunk and one before.
static bool check_sent(const list *l, int member)
{
    const int64_t each = l->call->tile[0];
    for (int k = 0; k < l->call->n_chunks; k++) {
        int64_t lo, hi;
        int other = -1;
        if (l->part[k] != member) continue;
        part_of(l, k, member, &lo, &hi);
        for (int64_t i = lo / each; lo < hi && i <= (hi - 1) / each; i++) {
            const int by = l->owner[i];
            if (by == k || by == other) continue;
            if (other >= 0 || by > k)
                return chk_fail(l->c, "rows of chunk %d of the list are tiles of chunk %d", k, by);
            other = by;
        }
    }
    return true;
}

static bool check_rank(chk *c, const rec_call *call, const rec_call *start, int n, int rank)
{
    const bool gathers = start->coll == COST_ALL_GATHER;
    list l = {.c = c,
              .call = call,
              .consumer = gathers,
              .sums = call->tile[2] & SYN_TILE_SUMS,
              .by_rows = call->tile[2] & SYN_TILE_BY_ROWS,
              .n = n,
              .me = member_of(c, start->axes, rank)};
    const rec_tensor *t =
        c->buf[gathers || start->coll == COST_ALL_REDUCE ? start->in[0] : start->out[0]].t;
    const bool whole = start->coll == COST_ALL_REDUCE && !l.by_rows;
    l.rows = HB_ARRAY(c->a, int64_t, n);
    for (int m = 0; m < n; m++) {
        int64_t rows = rows_on(c, t, member_rank(c, start->axes, rank, m));
        l.rows[m] = l.by_rows ? rows * (m + 1) / n - rows * m / n : rows;
        if (l.rows[m] > l.most) l.most = l.rows[m];
    }
    l.part = HB_ARRAY(c->a, int, call->n_chunks);
    for (int k = 0; k < call->n_chunks; k++) {
        int64_t d = call->chunk[k][0];
        l.part[k] = whole ? l.me : (int)((l.me + (gathers ? n - d : d)) % n);
    }
    for (int m = 0; m < n; m++) {
        if (whole && m != l.me) continue;
        if (!check_tiles(&l, m) || (!gathers && !check_sent(&l, m))) return false;
    }
    return true;
}

// Own tiles that wait for others' stand behind what the others wait for.
static bool check_order(chk *c, const rec_call *call)
{
    bool own = false;
    for (int k = 0; k < call->n_chunks; k++) {
        own = own || call->chunk[k][0] == 0;
        if (own && call->chunk[k][0] != 0)
            return chk_fail(c,
                            "tiles of chunk %d of the list stand behind own ones, which wait for "
                            "what others make",
                            k);
    }
    return true;
}

bool chk_list(chk *c, const rec_call *call, const rec_call *start)
{
    enum {
        HOW = SYN_TILE_TURNS | SYN_TILE_SUMS | SYN_TILE_BY_ROWS | SYN_TILE_FIRST | SYN_TILE_STORES |
              SYN_TILE_PARTS
    };
    const int64_t how = call->tile[2];
    const bool sums = how & SYN_TILE_SUMS, by_rows = how & SYN_TILE_BY_ROWS;
    const int n = (int)chk_group_size(c, start->axes);
    if (!is_form(call->tile[0], call->tile[1], how & SYN_TILE_TURNS) || how < 0 || how > HOW)
        return chk_fail(c, "there are no tiles of %lld x %lld made in a way %lld",
                        (long long)call->tile[0], (long long)call->tile[1], (long long)how);
    if (by_rows && (start->coll != COST_ALL_REDUCE || !cost_is_put(start->form) || !sums))
        return chk_fail(c, "a list by rows of this %s", cost_coll_name(start->coll));
    if (sums && start->coll != COST_REDUCE_SCATTER && !by_rows)
        return chk_fail(c, "a list that adds sums of this %s", cost_coll_name(start->coll));
    if (how & SYN_TILE_STORES && !sums && start->coll != COST_ALL_GATHER)
        return chk_fail(c, "a list that stores what nothing adds");
    if (how & SYN_TILE_PARTS && (start->coll != COST_ALL_GATHER || how & SYN_TILE_TURNS))
        return chk_fail(c, "a list in parts of k that adds sums of others or is made in turns");
    for (int k = 0; k < call->n_chunks && how & SYN_TILE_STORES; k++)
        if (call->chunk[k][2])
            return chk_fail(c, "chunk %d of the list is stored, and passed on by another", k);
    if (by_rows && 2 * call->n_chunks > SYN_RECORD_GROUPS)
        return chk_fail(c, "a list of %d chunks and their sums", call->n_chunks);
    if (!chk_chunks(c, call, start, by_rows ? n : start->coll == COST_ALL_REDUCE ? 1 : n))
        return false;
    if (sums && !check_order(c, call)) return false;
    for (int k = 0; k < c->n_kinds; k++)
        if (!check_rank(c, call, start, n, c->rank_of_kind[k])) return false;
    return true;
}
