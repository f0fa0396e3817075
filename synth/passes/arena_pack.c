// Offline dynamic storage allocation, greedy: units in a fixed order, each at the lowest (or
// tightest) place that is free whenever it is taken. Several orders are tried and the smallest peak
// is kept; one that reaches the bound (most bytes at one position) ends the search.
//
// Which chunks meet in time does not depend on sizes. Two chunks of one span each are compared as
// they are; for the others there is a bit matrix, made once by a sweep. Units that were placed are
// kept sorted by address, so that one scan finds a place. Most pairs of units meet with all their
// chunks or with none, and are then two blocks of bytes; only for the others chunks are compared,
// those that would share bytes. (Greedy by size: Pisarchyk and Lee, "Efficient memory management
// for deep neural net inference", 2020.)

#include "synth/passes/arena_pack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "synth/plan/search_limits.h"

// A unit that was placed.
typedef struct placed {
    int64_t from, to;
    int64_t size; // of a chunk
    int unit;
} placed;

// What is placed, sorted by `from`. One list for each, as a search for a place reads little more.
typedef struct places {
    int n;
    int64_t *from, *to;
    int *begin, *end; // of the hull: most are apart by that alone
    int *unit;
} places;

typedef enum { PAIR_UNKNOWN, PAIR_APART, PAIR_MEET, PAIR_MIXED } pack_pair;

typedef struct run {
    int64_t from, to;
} run;

typedef struct ranked {
    double key, key2;
    int unit;
} ranked;

struct arena_pack {
    hb_arena *arena;
    int n_units;
    const arena_unit *unit;
    int *first; // by unit: number of its first chunk among all that are not `always`
    int n_chunks, words;
    arena_span *span; // by chunk: the only one, if row is -1
    int *row;         // by chunk: its row in `meets`, -1 with one span
    uint64_t *meets;  // [rows][words] chunks that a chunk of several spans meets
    int n_events;     // span ends, sorted, for the bound
    struct pack_event *event;
    double *life;              // by unit: positions it is taken at, over all chunks
    int *begin;                // by unit: first of them
    bool *plain;               // by unit: its chunks have one span each
    bool *one;                 // by unit: its hull is all there is: it has one chunk of one span
    arena_span *hull, *common; // by unit: from the first to the last position it is taken at;
                               // positions at which all its chunks are (from > to: none)
    int *many, n_many;         // by unit: its number among those of several chunks; -1: it has one
    uint8_t **pair; // by unit: pack_pair, made when first asked for. Of one of several chunks by
                    // unit, of another by number of these
    const int64_t *size; // of one placement: by unit, of a chunk
    places at;
    int *turn;         // by unit that is placed: in the order of the placement
    int *mixed;        // numbers in `at`, of one search for a place
    int64_t *clear;    // of those: the base at which it was found to be clear of them
    run *closed;       // bytes that one unit cannot have
    ranked *rank;      // of one order
    int *good, n_good; // the best order so far
};

typedef struct pack_event {
    int pos, chunk, unit;
    bool begin; // at the same position ends (of to + 1) come first
} pack_event;

static int by_position(const void *x, const void *y)
{
    const pack_event *a = x, *b = y;
    if (a->pos != b->pos) return a->pos < b->pos ? -1 : 1;
    if (a->begin != b->begin) return a->begin ? 1 : -1;
    return (a->chunk > b->chunk) - (a->chunk < b->chunk);
}

static bool spans_meet(arena_span x, arena_span y)
{
    return x.from <= y.to && y.from <= x.to;
}

static bool meets(const arena_pack *k, int a, int b)
{
    int row = k->row[a] >= 0 ? k->row[a] : k->row[b], other = k->row[a] >= 0 ? b : a;
    if (row < 0) return spans_meet(k->span[a], k->span[b]);
    return k->meets[(size_t)row * k->words + other / 64] >> (other % 64) & 1;
}

// Rows see the chunks that are taken when a span of theirs begins, and those that begin later.
static void sweep(arena_pack *k, int rows)
{
    uint64_t *taken = HB_ARRAY(k->arena, uint64_t, k->words);
    int *open = HB_ARRAY(k->arena, int, rows + 1), *where = HB_ARRAY(k->arena, int, rows + 1);
    int n_open = 0; // rows whose chunk is taken
    for (int e = 0; e < k->n_events; e++) {
        int c = k->event[e].chunk, row = k->row[c];
        taken[c / 64] ^= 1ull << (c % 64);
        if (!k->event[e].begin) {
            if (row < 0) continue;
            open[where[row]] = open[--n_open];
            where[open[n_open]] = where[row];
            continue;
        }
        for (int i = 0; i < n_open; i++)
            k->meets[(size_t)open[i] * k->words + c / 64] |= 1ull << (c % 64);
        if (row < 0) continue;
        for (int w = 0; w < k->words; w++)
            k->meets[(size_t)row * k->words + w] |= taken[w];
        where[row] = n_open;
        open[n_open++] = row;
    }
}

// One span of a unit's chunk, which has `of` of them.
static void note_span(arena_span *hull, arena_span *common, arena_span span, int of)
{
    if (span.from < hull->from) hull->from = span.from;
    if (span.to > hull->to) hull->to = span.to;
    if (of > 1 || span.from > common->from) common->from = of > 1 ? INT_MAX : span.from;
    if (of > 1 || span.to < common->to) common->to = of > 1 ? INT_MIN : span.to;
}

arena_pack *arena_pack_new(hb_arena *a, int n_units, const arena_unit *unit)
{
    arena_pack *k = HB_NEW(a, arena_pack);
    *k = (arena_pack){.arena = a, .n_units = n_units, .unit = unit};
    k->first = HB_ARRAY(a, int, n_units + 1);
    int n_spans = 0;
    for (int u = 0; u < n_units; u++) {
        k->first[u] = k->n_chunks;
        for (int c = 0; !unit[u].always && c < unit[u].n_chunks; c++, k->n_chunks++)
            n_spans += unit[u].chunk[c].n;
    }
    k->words = k->n_chunks / 64 + 1;
    k->span = HB_ARRAY(a, arena_span, k->n_chunks + 1);
    k->row = HB_ARRAY(a, int, k->n_chunks + 1);
    k->at = (places){.from = HB_ARRAY(a, int64_t, n_units + 1),
                     .to = HB_ARRAY(a, int64_t, n_units + 1),
                     .begin = HB_ARRAY(a, int, n_units + SYN_PACK_BLOCK),
                     .end = HB_ARRAY(a, int, n_units + SYN_PACK_BLOCK),
                     .unit = HB_ARRAY(a, int, n_units + 1)};
    k->turn = HB_ARRAY(a, int, n_units + 1);
    k->mixed = HB_ARRAY(a, int, n_units + 1);
    k->clear = HB_ARRAY(a, int64_t, n_units + 1);
    k->closed = HB_ARRAY(a, run, n_units + k->n_chunks + 1);
    k->hull = HB_ARRAY(a, arena_span, n_units + 1);
    k->common = HB_ARRAY(a, arena_span, n_units + 1);
    k->many = HB_ARRAY(a, int, n_units + 1);
    for (int u = 0; u < n_units; u++)
        k->many[u] = unit[u].n_chunks > 1 ? k->n_many++ : -1;
    k->pair = HB_ARRAY(a, uint8_t *, n_units + 1);
    k->rank = HB_ARRAY(a, ranked, n_units + 1);
    k->life = HB_ARRAY(a, double, n_units + 1);
    k->begin = HB_ARRAY(a, int, n_units + 1);
    k->plain = HB_ARRAY(a, bool, n_units + 1);
    k->one = HB_ARRAY(a, bool, n_units + 1);
    k->good = HB_ARRAY(a, int, n_units + 1);
    k->event = HB_ARRAY(a, pack_event, 2 * n_spans + 1);
    int rows = 0;
    for (int u = 0; u < n_units; u++) {
        k->begin[u] = INT_MAX;
        k->plain[u] = true;
        k->hull[u] = (arena_span){INT_MAX, INT_MIN};
        k->common[u] = (arena_span){INT_MIN, INT_MAX};
        for (int c = 0; !unit[u].always && c < unit[u].n_chunks; c++) {
            k->row[k->first[u] + c] = unit[u].chunk[c].n == 1 ? -1 : rows++;
            k->plain[u] = k->plain[u] && unit[u].chunk[c].n == 1;
            for (int s = 0; s < unit[u].chunk[c].n; s++) {
                arena_span span = unit[u].chunk[c].span[s];
                hb_assert(span.from <= span.to &&
                          (s == 0 || unit[u].chunk[c].span[s - 1].to < span.from));
                pack_event event = {
                    .pos = span.from, .chunk = k->first[u] + c, .unit = u, .begin = true};
                k->event[k->n_events++] = event;
                event.pos = span.to + 1;
                event.begin = false;
                k->event[k->n_events++] = event;
                k->life[u] += span.to - span.from + 1;
                if (span.from < k->begin[u]) k->begin[u] = span.from;
                k->span[k->first[u] + c] = span;
                note_span(&k->hull[u], &k->common[u], span, unit[u].chunk[c].n);
            }
        }
    }
    for (int u = 0; u < n_units; u++)
        k->one[u] = unit[u].n_chunks == 1 && k->plain[u];
    qsort(k->event, (size_t)k->n_events, sizeof *k->event, by_position);
    k->meets = HB_ARRAY(a, uint64_t, (size_t)k->words * (size_t)rows + 1);
    sweep(k, rows);
    return k;
}

int64_t arena_pack_bound(const arena_pack *k, const int64_t *size)
{
    int64_t fixed = 0, now = 0, most = 0;
    for (int u = 0; u < k->n_units; u++)
        if (k->unit[u].always) fixed += size[u] * k->unit[u].n_chunks;
    for (int e = 0; e < k->n_events; e++) {
        now += k->event[e].begin ? size[k->event[e].unit] : -size[k->event[e].unit];
        if (now > most) most = now;
    }
    return fixed + most;
}

static pack_pair compare_units(const arena_pack *k, int u, int v)
{
    arena_span x = k->common[u], y = k->common[v];
    if (!spans_meet(k->hull[u], k->hull[v])) return PAIR_APART;
    if (x.from <= x.to && y.from <= y.to && spans_meet(x, y)) return PAIR_MEET;
    bool some = false, all = true;
    for (int c = 0; c < k->unit[u].n_chunks && !(some && !all); c++)
        for (int d = 0; d < k->unit[v].n_chunks; d++) {
            bool m = meets(k, k->first[u] + c, k->first[v] + d);
            some = some || m;
            all = all && m;
        }
    return all ? PAIR_MEET : some ? PAIR_MIXED : PAIR_APART;
}

// Where it is noted whether u, of which most is asked, meets v.
static inline uint8_t *pair_at(arena_pack *k, int u, int v)
{
    return &k->pair[u][k->many[u] >= 0 ? v : k->many[v]];
}

static uint8_t *pairs_of(arena_pack *k, int u)
{
    int n = k->many[u] >= 0 ? k->n_units : k->n_many;
    if (!k->pair[u]) k->pair[u] = HB_ARRAY(k->arena, uint8_t, n + 1);
    return k->pair[u];
}

// Of which one has several chunks.
static pack_pair find_pair(arena_pack *k, int u, int v)
{
    pack_pair pair = compare_units(k, u, v);
    (void)pairs_of(k, u);
    (void)pairs_of(k, v);
    *pair_at(k, u, v) = *pair_at(k, v, u) = (uint8_t)pair;
    return pair;
}

// Units whose hulls meet; u's pairs are there.
static inline pack_pair pair_of(arena_pack *k, int u, int v)
{
    if (k->one[u] && k->one[v]) return PAIR_MEET;
    if (k->many[u] < 0 && k->many[v] < 0)
        return meets(k, k->first[u], k->first[v]) ? PAIR_MEET : PAIR_APART;
    pack_pair pair = (pack_pair)*pair_at(k, u, v);
    return pair == PAIR_UNKNOWN ? find_pair(k, u, v) : pair;
}

static placed placed_at(const arena_pack *k, int i)
{
    int u = k->at.unit[i];
    return (placed){k->at.from[i], k->at.to[i], k->size[u], u};
}

// Chunks of p by number and by bytes from its base.
typedef struct cursor {
    int64_t at;
    int chunk;
} cursor;

// `lo`, or the end of the last chunk of p from `d` on that chunk c of u meets there, each moving it
// on. The chunk of u takes `size` bytes, from `lo` on.
static int64_t behind(const arena_pack *k, int c, const placed *p, cursor d, int64_t lo,
                      int64_t size)
{
    const int first = k->first[p->unit], n = k->unit[p->unit].n_chunks;
    const arena_span *y = k->span + first, x = k->span[c];
    const bool plain = k->row[c] < 0 && k->plain[p->unit];
    for (; d.chunk < n && d.at < lo + size; d.chunk++, d.at += p->size)
        if (plain ? spans_meet(x, y[d.chunk]) : meets(k, c, first + d.chunk)) lo = d.at + p->size;
    return lo;
}

// The lowest base from `base` on at which no chunk of unit u lies on a chunk of p that it meets. A
// pass over the chunks that share bytes with p moves the base behind what each of them meets;
// those from the last one that moved it on are clear, so the next pass ends there.
static int64_t clear_of(const arena_pack *k, int u, int64_t size, int64_t base, const placed *p)
{
    int chunks = k->unit[u].n_chunks;
    for (int end = chunks, moved = 0; moved >= 0; end = moved) {
        int c = base < p->from ? (int)((p->from - base) / size) : 0;
        int64_t lo = base + size * c - p->from;
        cursor d = {.chunk = lo >= p->size ? (int)(lo / p->size) : 0};
        d.at = d.chunk * p->size;
        moved = -1;
        for (; c < (moved < 0 ? end : chunks) && lo < p->to - p->from; c++, lo += size) {
            for (; d.at + p->size <= lo; d.chunk++)
                d.at += p->size;
            int64_t clear = behind(k, k->first[u] + c, p, d, lo, size);
            if (clear == lo) continue;
            base += clear - lo;
            lo = clear;
            moved = c;
        }
    }
    return base;
}

// Lists what of a block is placed and may meet a hull; how many. Nobody can foresee which do, so
// there is hardly a jump; and room for whole blocks.
static inline int list_near(const places *at, int block, arena_span hull, int *restrict list)
{
    const int *begin = at->begin + block, *end = at->end + block;
    uint8_t near[SYN_PACK_BLOCK];
    uint64_t eight;
    int n = 0;
    for (int i = 0; i < SYN_PACK_BLOCK; i++)
        near[i] = (begin[i] <= hull.to) & (end[i] >= hull.from);
    for (int i = 0; i < SYN_PACK_BLOCK; i += 8) {
        memcpy(&eight, near + i, sizeof eight);
        for (int j = i; eight && j < i + 8; n += near[j++])
            list[n] = block + j;
    }
    while (n > 0 && list[n - 1] >= at->n)
        n--;
    return n;
}

// The lowest base >= floor at which no chunk of the unit lies on one it meets. Placed units behind
// the cursor end at or below the base, or never meet it, or are mixed: those are asked again when
// the base has moved.
static int64_t lowest(arena_pack *k, int u, int64_t size, int64_t floor)
{
    int64_t base = floor, all = size * k->unit[u].n_chunks;
    const int64_t *from = k->at.from, *to = k->at.to;
    const int *unit = k->at.unit;
    int near[SYN_PACK_BLOCK], block = -SYN_PACK_BLOCK, n_near = 0, i = 0, n_mixed = 0;
    (void)pairs_of(k, u);
    for (bool moved = true; moved;) {
        for (;; i++) {
            while (i == n_near && block + SYN_PACK_BLOCK < k->at.n &&
                   from[block + SYN_PACK_BLOCK] < base + all) {
                n_near = list_near(&k->at, block += SYN_PACK_BLOCK, k->hull[u], near);
                i = 0;
            }
            if (i == n_near || from[near[i]] >= base + all) break;
            if (to[near[i]] <= base) continue;
            pack_pair pair = pair_of(k, u, unit[near[i]]);
            if (pair == PAIR_MEET) base = to[near[i]];
            if (pair != PAIR_MIXED) continue;
            k->clear[n_mixed] = -1;
            k->mixed[n_mixed++] = near[i];
        }
        moved = false;
        for (int m = 0; m < n_mixed; m++) {
            if (to[k->mixed[m]] <= base || k->clear[m] == base) continue;
            const placed p = placed_at(k, k->mixed[m]);
            k->clear[m] = clear_of(k, u, size, base, &p);
            moved = moved || k->clear[m] > base;
            base = k->clear[m];
        }
    }
    return base;
}

// Adds bytes to the closed ones, sorted by `from`.
static void close_bytes(arena_pack *k, int *n, int64_t from, int64_t to)
{
    int i = (*n)++;
    for (; i > 0 && k->closed[i - 1].from > from; i--)
        k->closed[i] = k->closed[i - 1];
    k->closed[i] = (run){from, to};
}

// Gaps between bytes that a unit cannot have, in the order of their begins: the tightest that has
// room for it.
typedef struct gaps {
    int64_t size, end, best, slack; // best: where it begins, -1: none
} gaps;

static inline void close_run(gaps *g, int64_t from, int64_t to)
{
    int64_t rest = from - g->end - g->size;
    if (rest >= 0 && rest < g->slack) {
        g->best = g->end;
        g->slack = rest;
    }
    g->end = to > g->end ? to : g->end;
}

// The same where units are near of which it meets some chunks: these do not come in order.
static void close_mixed(arena_pack *k, int u, gaps *g)
{
    int near[SYN_PACK_BLOCK], n = 0;
    for (int block = 0; block < k->at.n; block += SYN_PACK_BLOCK)
        for (int i = 0, some = list_near(&k->at, block, k->hull[u], near); i < some; i++) {
            const placed p = placed_at(k, near[i]);
            pack_pair pair = pair_of(k, u, p.unit);
            if (pair == PAIR_MEET) close_bytes(k, &n, p.from, p.to);
            for (int d = 0; pair == PAIR_MIXED && d < k->unit[p.unit].n_chunks; d++)
                if (meets(k, k->first[u], k->first[p.unit] + d))
                    close_bytes(k, &n, p.from + p.size * d, p.from + p.size * (d + 1));
        }
    for (int i = 0; i < n; i++)
        close_run(g, k->closed[i].from, k->closed[i].to);
}

// False if there are such units.
static bool close_all(arena_pack *k, int u, gaps *g)
{
    int near[SYN_PACK_BLOCK];
    for (int block = 0; block < k->at.n; block += SYN_PACK_BLOCK)
        for (int i = 0, some = list_near(&k->at, block, k->hull[u], near); i < some; i++) {
            pack_pair pair = pair_of(k, u, k->at.unit[near[i]]);
            if (pair == PAIR_MIXED) return false;
            if (pair == PAIR_MEET) close_run(g, k->at.from[near[i]], k->at.to[near[i]]);
        }
    return true;
}

// The tightest gap for a unit of one chunk; above everything if none.
static int64_t tightest(arena_pack *k, int u, int64_t size, int64_t floor)
{
    const gaps none = {size, floor, -1, INT64_MAX};
    gaps g = none;
    (void)pairs_of(k, u);
    if (!close_all(k, u, &g)) {
        g = none;
        close_mixed(k, u, &g);
    }
    return g.best >= 0 ? g.best : g.end;
}

static void settle(arena_pack *k, int unit, int turn, int64_t from, int64_t size)
{
    places *at = &k->at;
    int lo = 0, hi = at->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (at->from[mid] <= from)
            lo = mid + 1;
        else
            hi = mid;
    }
    size_t behind = (size_t)(at->n++ - lo);
    memmove(&at->from[lo + 1], &at->from[lo], sizeof *at->from * behind);
    memmove(&at->to[lo + 1], &at->to[lo], sizeof *at->to * behind);
    memmove(&at->begin[lo + 1], &at->begin[lo], sizeof *at->begin * behind);
    memmove(&at->end[lo + 1], &at->end[lo], sizeof *at->end * behind);
    memmove(&at->unit[lo + 1], &at->unit[lo], sizeof *at->unit * behind);
    at->from[lo] = from;
    at->to[lo] = from + size * k->unit[unit].n_chunks;
    at->begin[lo] = k->hull[unit].from;
    at->end[lo] = k->hull[unit].to;
    at->unit[lo] = unit;
    k->turn[unit] = turn;
}

typedef enum { ORDER_SIZE, ORDER_AREA, ORDER_START, N_ORDERS } pack_order;

static int by_key(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->key != b->key) return a->key > b->key ? -1 : 1;
    if (a->key2 != b->key2) return a->key2 > b->key2 ? -1 : 1;
    return a->unit - b->unit;
}

static int rank_units(arena_pack *k, const int64_t *size, pack_order how, int *order)
{
    int n = 0;
    ranked *r = k->rank;
    for (int u = 0; u < k->n_units; u++) {
        const arena_unit *v = &k->unit[u];
        if (v->always || size[u] == 0) continue;
        double bytes = (double)size[u] * v->n_chunks, area = k->life[u] * (double)size[u];
        r[n++] = how == ORDER_SIZE   ? (ranked){bytes, area, u}
                 : how == ORDER_AREA ? (ranked){area, bytes, u}
                                     : (ranked){-k->begin[u], bytes, u};
    }
    qsort(r, (size_t)n, sizeof *r, by_key);
    for (int i = 0; i < n; i++)
        order[i] = r[i].unit;
    return n;
}

// Of what is placed, what had one of the first `kept` turns stays.
static int64_t keep_turns(arena_pack *k, int kept, int64_t floor)
{
    places *at = &k->at;
    int n = 0;
    int64_t top = floor;
    for (int i = 0; i < at->n; i++) {
        if (k->turn[at->unit[i]] >= kept) continue;
        if (at->to[i] > top) top = at->to[i];
        at->from[n] = at->from[i];
        at->to[n] = at->to[i];
        at->begin[n] = at->begin[i];
        at->end[n] = at->end[i];
        at->unit[n++] = at->unit[i];
    }
    at->n = n;
    return top;
}

// Bytes needed; INT64_MAX as soon as a unit ends at `best` or above: then *blame is its place in
// the order. The first `kept` units lie where the last placement left them, below `best`.
static int64_t place_in_order(arena_pack *k, const int64_t *size, const int *order, int n,
                              bool tight, int kept, int64_t floor, int64_t best, int64_t *base,
                              int *blame)
{
    int64_t top = keep_turns(k, kept, floor);
    for (int i = kept; i < n; i++) {
        int u = order[i], chunks = k->unit[u].n_chunks;
        base[u] =
            tight && chunks == 1 ? tightest(k, u, size[u], floor) : lowest(k, u, size[u], floor);
        if (base[u] + size[u] * chunks > top) top = base[u] + size[u] * chunks;
        if (top >= best) {
            *blame = i;
            return INT64_MAX;
        }
        settle(k, u, i, base[u], size[u]);
    }
    return top;
}

// The unit that could not be placed under the best peak goes three quarters of the way to the
// front. Returns how many are before it.
static int promote(int *order, int at)
{
    int u = order[at], to = at / 4;
    memmove(&order[to + 1], &order[to], sizeof *order * (size_t)(at - to));
    order[to] = u;
    return to;
}

int64_t arena_pack_place(arena_pack *k, const int64_t *size, int64_t *base)
{
    return arena_pack_within(k, size, 0, base);
}

// Is another try worth its time? Repairs are worth most where units are few and large: they gain
// some units of the mean size at best.
static bool try_on(const arena_pack *k, int64_t best, int64_t bound, int64_t enough, bool repair)
{
    if (best <= bound || best <= enough) return false;
    if ((enough == 0 || repair) && best - bound < bound / SYN_PACK_CLOSE) return false;
    return !repair || enough == 0 || best - enough <= SYN_PACK_GAIN * bound / k->n_good;
}

int64_t arena_pack_within(arena_pack *k, const int64_t *size, int64_t enough, int64_t *base)
{
    int64_t floor = 0, best = INT64_MAX, bound = arena_pack_bound(k, size);
    int blame = 0, kept = 0;
    double pairs = 0;
    k->size = size;
    for (int u = 0; u < k->n_units; u++) {
        base[u] = 0;
        if (!k->unit[u].always) continue;
        base[u] = size[u] == 0 ? 0 : floor;
        floor += size[u] * k->unit[u].n_chunks;
    }
    int64_t *trial = HB_ARRAY(k->arena, int64_t, k->n_units + 1);
    int *order = HB_ARRAY(k->arena, int, k->n_units + 1);
    memcpy(trial, base, sizeof *base * (size_t)k->n_units);
    for (int v = 0; v < 2 * N_ORDERS + 1 + SYN_PACK_REPAIRS; v++) {
        bool repair = v > 2 * N_ORDERS, tight = v < 2 * N_ORDERS && v % 2 == 0;
        if (!try_on(k, best, bound, enough, repair) || pairs > SYN_PACK_WORK) break;
        int n = v < 2 * N_ORDERS ? rank_units(k, size, (pack_order)(v / 2), order) : k->n_good;
        if (v == 2 * N_ORDERS) memcpy(order, k->good, sizeof *order * (size_t)n);
        int64_t top = place_in_order(k, size, order, n, tight, kept, floor, best, trial, &blame);
        kept = 0;
        if (repair) pairs += (double)k->at.n * k->at.n;
        if (top < best) {
            best = top;
            memcpy(base, trial, sizeof *base * (size_t)k->n_units);
            memcpy(k->good, order, sizeof *order * (size_t)n);
            k->n_good = n;
        } else if (v >= 2 * N_ORDERS) {
            kept = promote(order, blame);
        }
    }
    return best;
}
