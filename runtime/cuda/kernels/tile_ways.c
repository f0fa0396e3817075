#include "cuda/kernels/tile_ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IN_TURNS_0 ""
#define IN_TURNS_1 " in turns"
const tile_shape tile_shapes[TILE_SHAPES] = {
#define HAP_TILE_FORM(rows, cols, turns, parts, percent)                                           \
    {#rows "x" #cols IN_TURNS_##turns, rows, cols, parts, turns},
#include "hap/tiles.def"
};
static const double speed[TILE_SHAPES] = {
#define HAP_TILE_FORM(rows, cols, turns, parts, percent) percent / 100.0,
#include "hap/tiles.def"
};
enum {
#define HAP_TILE_NUMBER(NAME, number) NAME = number,
#include "hap/tiles.def"
};
enum { MOST_TILES = TILE_SHARED, MOST_PARTS = TILE_SHARERS };

int tile_group_rows(int rows, int cols, int clusters)
{
    int g = 1;
    while ((int64_t)(g + 1) * (g + 1) * rows <= (int64_t)clusters * cols)
        g++;
    return g;
}

// A cluster's tiles lie so that they share their larger operand. What is left over at the last row,
// or column, of tiles is paired along it.
static int whole_tiles(const tile_shape *s, int64_t m, int64_t n, int64_t k, int sms,
                       tile_entry *list)
{
    const int down = (int)((m + s->rows - 1) / s->rows), right = (int)((n + s->cols - 1) / s->cols);
    const bool side = s->rows > s->cols;
    const int tall = side ? 1 : 2, wide = side ? 2 : 1; // a cluster's tiles
    const int rows = down / tall, cols = right / wide;
    const int group = tile_group_rows(tall * s->rows, wide * s->cols, sms / 2);
    const int steps = (int)((k + K_STEP - 1) / K_STEP);
    int count = 0;
    for (int from = 0; from < rows; from += group)
        for (int col = 0; col < cols; col++)
            for (int row = from; row < rows && row < from + group; row++, count++)
                if (list)
                    list[count] = (tile_entry){.row = row * tall * s->rows,
                                               .col = col * wide * s->cols,
                                               .rows = (int32_t)m,
                                               .cols = (int32_t)n,
                                               .steps = steps,
                                               .kind = side ? TILE_RIGHT : 0};
    const int left = side ? right % 2 * down : down % 2 * right;
    for (int i = 0; i < left; i += 2, count++)
        if (list)
            list[count] = (tile_entry){.row = (side ? i : down - 1) * s->rows,
                                       .col = (side ? right - 1 : i) * s->cols,
                                       .rows = (int32_t)m,
                                       .cols = (int32_t)n,
                                       .steps = steps,
                                       .kind = side ? 0 : TILE_RIGHT};
    return count;
}

// Each cluster has `rounds` whole tiles. The `left` others are shared: group by group of up to
// `each` tiles by `parts` clusters. A cluster's part stands before its whole tiles, or `behind`.
typedef struct shares {
    int clusters, rounds, left, each, parts, steps;
    bool behind;
} shares;

// Whether the share is one: more clusters than tiles, no more than there are, none without a step.
static bool shares_of(int tiles, int64_t k, int sms, tile_share share, shares *h)
{
    *h = (shares){.clusters = sms / 2, .each = share.tiles, .parts = share.clusters};
    h->steps = (int)((k + K_STEP - 1) / K_STEP);
    h->rounds = tiles / h->clusters;
    h->left = tiles % h->clusters;
    if (h->each < 1 || h->parts <= h->each || h->left == 0) return false;
    const int groups = (h->left + h->each - 1) / h->each;
    const int last = h->left - (groups - 1) * h->each;
    return groups * h->parts <= h->clusters && h->clusters <= TILE_SLOTS &&
           (int64_t)last * h->steps >= h->parts;
}

// A cluster's entries go to list[at], list[at + clusters], …: the part that it has of a tile that
// others began, whole tiles (or these first), the tile that it begins and others go on with.
static void list_cluster(const shares *h, int c, const tile_entry *tile, tile_entry *list)
{
    const int at = h->clusters - 1 - c; // lower numbers have what comes later in k
    const int first = c / h->parts * h->each, j = c % h->parts;
    const int tiles = h->left - first < h->each ? h->left - first : h->each;
    const int64_t steps = (int64_t)tiles * h->steps, end = steps * (j + 1) / h->parts;
    const int whole = h->behind ? 0 : 1, part = h->behind ? h->rounds : 0;
    for (int i = 0; i < h->rounds; i++)
        list[at + (i + whole) * h->clusters] = tile[i * h->clusters + at];
    for (int64_t from = tiles > 0 ? steps * j / h->parts : end; from < end;) {
        const int64_t which = from / h->steps, till = (which + 1) * h->steps;
        const int64_t to = till < end ? till : end;
        tile_entry e = tile[h->rounds * h->clusters + first + which];
        e.from = (int32_t)(from - which * h->steps), e.steps = (int32_t)(to - from);
        if (e.from > 0) {
            e.kind |= TILE_PART, e.slot = c;
            list[at + part * h->clusters] = e;
        } else {
            e.slot = c + 1;
            while (to < till && j + e.slots + 1 < h->parts &&
                   steps * (j + e.slots + 1) / h->parts < till)
                e.slots++;
            list[at + (h->rounds + 1) * h->clusters] = e;
        }
        from = to;
    }
}

static int count_of(const shares *h)
{
    return (h->rounds + 2) * h->clusters;
}

static void list_shares(const shares *h, const tile_entry *tile, tile_entry *list)
{
    for (int i = 0; i < count_of(h); i++)
        list[i] = (tile_entry){.row = INT32_MAX / 2};
    for (int c = 0; c < h->clusters; c++)
        list_cluster(h, c, tile, list);
}

int tile_list(const tile_shape *s, int64_t m, int64_t n, int64_t k, int sms, tile_share share,
              tile_entry *list)
{
    shares h;
    const int tiles = whole_tiles(s, m, n, k, sms, NULL);
    if (s->parts == 1 || !shares_of(tiles, k, sms, share, &h))
        return whole_tiles(s, m, n, k, sms, list);
    if (!list) return count_of(&h);
    tile_entry *tile = malloc((size_t)tiles * sizeof *tile);
    if (!tile) return 0;
    whole_tiles(s, m, n, k, sms, tile);
    list_shares(&h, tile, list);
    free(tile);
    return count_of(&h);
}

int tile_list_shared(const tile_shape *s, tile_entry *list, int n, int64_t k, int sms,
                     tile_share share)
{
    shares h;
    tile_entry *tile = malloc((size_t)(n + 1) * sizeof *tile);
    const bool shared = tile && s->parts > 1 && shares_of(n, k, sms, share, &h);
    if (shared) {
        h.behind = true;
        memcpy(tile, list, (size_t)n * sizeof *tile);
        list_shares(&h, tile, list);
        n = count_of(&h);
    }
    free(tile);
    return n;
}

int tile_list_rows(const tile_shape *s, int64_t from, int64_t to, int64_t rows, int64_t n,
                   int64_t k, int sms, tile_entry *list)
{
    const int64_t first = from * s->rows, end = to * s->rows < rows ? to * s->rows : rows;
    const int count = first < end ? whole_tiles(s, end - first, n, k, sms, list) : 0;
    for (int i = 0; i < count && list; i++)
        list[i].row += (int32_t)first, list[i].rows = (int32_t)end; // no tile of a pair behind it
    return count;
}

int tile_arrivals(const tile_shape *s, const tile_entry *e)
{
    const int row = e->kind & TILE_RIGHT ? e->row : e->row + s->rows;
    const int col = e->kind & TILE_RIGHT ? e->col + s->cols : e->col;
    return s->parts * ((e->row < e->rows && e->col < e->cols) + (row < e->rows && col < e->cols));
}

static int64_t slot_bytes(const tile_shape *s)
{
    return (int64_t)2 * s->rows * s->cols * 4;
}

int64_t tile_room(const tile_shape *s, int sms)
{
    return TILE_SLOTS * TILE_SLOT_FLAGS * 4 + sms / 2 * slot_bytes(s);
}

// Cycles of a step: its flops, or the operands that all clusters fetch meanwhile, those at the same
// k as of one square.
static double step_price(const tile_shape *s, int64_t operands, int sms, int parts)
{
    const double area = 2.0 * s->rows * s->cols * (sms / 2) / parts;
    const double flops = (double)s->rows * s->cols * K_STEP / PEAK / speed[s - tile_shapes];
    const double bytes = parts * 2 * sqrt(area) * K_STEP * 2 / MEMORY_BYTES;
    return operands < KEPT_BYTES || flops > bytes ? flops : bytes;
}

// The cluster with most to do: steps, ends of tiles that hide behind no other's, parts on their
// way.
static double price(const tile_shape *s, int64_t operands, int tiles, int64_t k, int sms,
                    const shares *h)
{
    const bool turns = s->parts == 1;
    const int steps = (int)((k + K_STEP - 1) / K_STEP);
    const int rounds = h ? h->rounds : (tiles + sms / 2 - 1) / (sms / 2);
    const double whole =
        rounds * (steps * step_price(s, operands, sms, 1) + (turns ? 0 : TILE_END)) +
        (turns ? TILE_END : 0);
    if (!h) return whole;
    const double part = (double)slot_bytes(s) / 2 / PART_BYTES + PART_END;
    const int64_t most = ((int64_t)h->each * steps + h->parts - 1) / h->parts;
    return whole + (double)most * step_price(s, operands, sms, h->parts) + TILE_END +
           (1 + (h->parts + h->each - 1) / h->each) * part;
}

tile_share tile_share_of(const tile_shape *s, int left, int64_t k, int64_t operands, int sms)
{
    tile_share best = {0, 0};
    double least = price(s, operands, 1, k, sms, NULL);
    for (int each = 1; each <= MOST_TILES && left < sms / 2 && s->parts > 1; each++)
        for (int parts = each + 1; parts <= MOST_PARTS * each; parts++) {
            shares h;
            const tile_share share = {parts, each};
            if (!shares_of(left, k, sms, share, &h)) continue;
            const double cycles = price(s, operands, left, k, sms, &h);
            if (cycles < least) least = cycles, best = share;
        }
    return best;
}

static void put_way(tile_way way, int most, tile_way *to, int *n)
{
    int at = *n < most ? (*n)++ : most;
    for (; at > 0 && to[at - 1].cycles > way.cycles; at--)
        if (at < most) to[at] = to[at - 1];
    if (at < most) to[at] = way;
}

int tile_ways(int64_t m, int64_t n, int64_t k, int sms, bool with_parts, int most, tile_way *way)
{
    const int64_t operands = (m + n) * k * 2;
    int found = 0;
    for (int i = 0; i < TILE_SHAPES; i++) {
        const tile_shape *s = &tile_shapes[i];
        const int tiles = whole_tiles(s, m, n, k, sms, NULL);
        tile_way w = {s, {0, 0}, price(s, operands, tiles, k, sms, NULL)};
        put_way(w, most, way, &found);
        for (int each = 1; with_parts && s->parts > 1 && each <= MOST_TILES; each++)
            for (int parts = each + 1; parts <= MOST_PARTS * each; parts++) {
                shares h;
                w.share = (tile_share){parts, each};
                if (!shares_of(tiles, k, sms, w.share, &h)) continue;
                w.cycles = price(s, operands, tiles, k, sms, &h);
                put_way(w, most, way, &found);
            }
    }
    return found;
}
