// Chunks of a pair: which members are multiplied together, into which parts the others split, and
// in which order they go where ranks have unequal rows.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/device_defaults.h"
#include "costmodel/pair_parts.h"
#include "costmodel/pair_price.h"

// How many chunks, then their weights.
typedef int member_split[1 + COST_PAIR_MAX_SPLIT];
static const member_split splits[] = {{1, 1},
                                      {2, 1, 1},
                                      {2, 2, 1},
                                      {2, 3, 1},
                                      {2, 1, 2},
                                      {2, 1, 3},
                                      {3, 1, 1, 1},
                                      {3, 4, 2, 1},
                                      {3, 3, 2, 1},
                                      {3, 1, 2, 4},
                                      {3, 1, 2, 3},
                                      {3, 1, 2, 1},
                                      {3, 2, 4, 1},
                                      {4, 1, 1, 1, 1},
                                      {4, 1, 2, 2, 1},
                                      {4, 8, 4, 2, 1},
                                      {4, 1, 2, 4, 8},
                                      {5, 1, 1, 1, 1, 1},
                                      {6, 1, 1, 1, 1, 1, 1},
                                      {6, 1, 2, 3, 3, 2, 1}};
enum { N_SPLITS = sizeof splits / sizeof *splits };

typedef struct best {
    pair_pricer *x;
    int max, n;
    int chunk[COST_MAX_CHUNKS][3];
    double sec; // with doubt
    cost_pair_time t;
} best;

int cost_pair_matmuls(int (*chunk)[3], int n)
{
    int matmuls = 0;
    for (int k = 0; k < n; k++)
        matmuls += chunk[k][1] > 0;
    return matmuls;
}

static int passed(int (*chunk)[3], int n)
{
    int n_passed = 0;
    for (int k = 0; k < n; k++)
        n_passed += chunk[k][2] != 0;
    return n_passed;
}

static bool uneven(const cost_pair *p)
{
    bool same = true;
    for (int r = 1; r < p->n && !p->whole; r++)
        same = same && p->rows[r] == p->rows[0];
    return !same && p->copies == 1;
}

// Whom messages of unequal ranks meet at one receiver hangs on when they are made, and how much of
// a producer's is left behind the last matmul on how long they took beside the others: what is
// good at one speed of matmuls and messages alone is not taken.
static double choice(pair_pricer *x, int (*chunk)[3], int n, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    cost_pair_time quick;
    int matmuls = p->tiles ? 1 : cost_pair_matmuls(chunk, n);
    double sec = pair_price(x, chunk, n, t) + (matmuls + passed(chunk, n)) * p->doubt;
    if (p->tiles) return sec;
    if (p->quickest > 0 && (uneven(p) || (p->crowded > 1 && !p->quick))) {
        x->quicker = p->quickest;
        x->crowded = fmax(p->crowded, 1);
        sec += pair_price(x, chunk, n, &quick);
        x->quicker = x->crowded = 1;
    }
    return sec;
}

double cost_pair_choice(const cost_pair *p, int (*chunk)[3], int n_chunks)
{
    hb_arena *a = hb_arena_new();
    cost_pair_time t;
    double sec = choice(pair_pricer_new(a, p), chunk, n_chunks, &t);
    hb_arena_free(a);
    return sec;
}

static bool offer(best *b, int (*chunk)[3], int n)
{
    cost_pair_time t;
    if (n > b->max || (passed(chunk, n) > 0 && !pair_in_order(b->x->p, chunk, n))) return false;
    if (b->x->p->tiles && cost_pair_matmuls(chunk, n) < n) return false;
    double sec = choice(b->x, chunk, n, &t);
    if (b->n > 0 && sec >= b->sec * (1 - COST_ROUNDING)) return false;
    b->sec = sec;
    b->t = t;
    b->n = n;
    memcpy(b->chunk, chunk, sizeof *chunk * (size_t)n);
    return true;
}

static void in_units(best *b)
{
    for (int k = 0; k < b->n; k++)
        b->chunk[k][1] *= COST_PAIR_UNITS;
}

// Units from one part of a distance to another as long as that helps.
static void move_units(best *b)
{
    for (int step = COST_PAIR_UNITS; step >= COST_PAIR_UNITS / 4; step /= 2)
        for (bool better = true; better;) {
            better = false;
            for (int i = 0; i < b->n; i++)
                for (int k = 0; k < b->n; k++) {
                    int chunk[COST_MAX_CHUNKS][3];
                    memcpy(chunk, b->chunk, sizeof chunk);
                    if (i == k || chunk[i][0] != chunk[k][0] || chunk[i][1] <= step) continue;
                    chunk[i][1] -= step;
                    chunk[k][1] += step;
                    better = offer(b, chunk, b->n) || better;
                }
        }
}

static void improve(best *b)
{
    in_units(b);
    move_units(b);
}

// Where the messages are unequal, by distance they meet at one rank, which another order avoids:
// one chunk to another place as long as that helps. Joined chunks stay where they are.
static void reorder(best *b)
{
    int passes = b->x->p->quick ? 1 : COST_PAIR_ORDERS;
    for (bool better = uneven(b->x->p); better && passes > 0; passes--) {
        better = false;
        for (int i = 0; i < b->n; i++)
            for (int k = 0; k < b->n; k++) {
                int chunk[COST_MAX_CHUNKS][3], way = i < k ? 1 : -1;
                bool apart = i != k;
                memcpy(chunk, b->chunk, sizeof chunk);
                for (int j = i; apart && j != k + way; j += way)
                    apart = b->chunk[j][0] != 0 && b->chunk[j][1] > 0;
                if (!apart) continue;
                for (int j = i; j != k; j += way)
                    memcpy(chunk[j], b->chunk[j + way], sizeof *chunk);
                memcpy(chunk[k], b->chunk[i], sizeof *chunk);
                better = offer(b, chunk, b->n) || better;
            }
    }
}

// How remote members, in the order of work, are joined into one matmul: not; all; all behind the
// first; all before the last; 1, 2, 4 and so on of them; in two halves.
enum { APART, ALL, BEHIND_FIRST, BEFORE_LAST, DOUBLING, HALVES, N_JOINS };

static bool joins_before(int join, int i, int n) // i: from 0, n of them
{
    switch (join) {
    case ALL:
        return i > 0;
    case BEHIND_FIRST:
        return i > 1;
    case BEFORE_LAST:
        return i > 0 && i < n - 1;
    case DOUBLING:
        return i > 0 && ((i + 1) & i) != 0;
    case HALVES:
        return i > 0 && i != (n + 1) / 2;
    default:
        return false;
    }
}

// Splits of the first remote member, of those between, of the last and, of a list by rows, of the
// own; joined ones have none.
enum { FIRST, BETWEEN, LAST, OWN, N_PLACES };
typedef struct shape {
    int split[N_PLACES], join;
} shape;

static bool offer_shape(best *b, const shape *s)
{
    const cost_pair *p = b->x->p;
    int chunk[COST_PAIR_MAX_SPLIT * COST_MAX_PAIR_RANKS][3], n = 0;
    for (int k = 0; k < p->n; k++) {
        int d = p->consumer ? k : (k + 1) % p->n;
        const int *split = splits[d == 0          ? s->split[OWN]
                                  : d == p->n - 1 ? s->split[LAST]
                                  : d == 1        ? s->split[FIRST]
                                                  : s->split[BETWEEN]];
        bool join = d > 0 && joins_before(s->join, d - 1, p->n - 1);
        if (join || (d > 0 && d < p->n - 1 && joins_before(s->join, d, p->n - 1)))
            split = splits[0];
        for (int i = 1; i <= split[0]; i++, n++) {
            chunk[n][0] = d;
            chunk[n][1] = join ? -split[i] : split[i];
            chunk[n][2] = 0;
        }
    }
    return offer(b, chunk, n);
}

// One of the splits at a time, from a start.
static void descend(best *b, shape s)
{
    static const int order[] = {LAST, OWN, FIRST, BETWEEN, LAST, OWN, FIRST};
    enum { N_ORDER = sizeof order / sizeof *order };
    int n = b->x->p->n;
    bool by_rows = b->x->p->tiles && b->x->p->tiles->by_rows;
    offer_shape(b, &s);
    for (int i = 0; i < N_ORDER; i++) {
        int where = order[i], own = s.split[where];
        if ((where == FIRST && n == 2) || (where == BETWEEN && n < 4)) continue;
        if (where == OWN && !by_rows) continue;
        bool better = false;
        for (int k = 0; k < N_SPLITS; k++) {
            if (k == own) continue;
            s.split[where] = k;
            if (offer_shape(b, &s)) {
                own = k;
                better = true;
            }
        }
        s.split[where] = own;
        if (!better && i >= N_PLACES) break;
    }
    reorder(b);
    improve(b);
}

// Does a member have more to send than any has to get?
static bool sending_binds(const cost_pair *p)
{
    int64_t all = 0, least = p->rows[0], most = p->rows[0];
    for (int r = 0; r < p->n; r++) {
        all += p->rows[r];
        least = p->rows[r] < least ? p->rows[r] : least;
        most = p->rows[r] > most ? p->rows[r] : most;
    }
    return (p->n - 1) * most > all - least;
}

// Then members with fewer rows pass some on: one chunk by way of another member, or straight, as
// long as that helps.
static void pass_on(best *b)
{
    const cost_pair *p = b->x->p;
    for (int k = 0; k < b->n && p->consumer && !p->by_receiver && sending_binds(p); k++)
        for (int via = 0; via < p->n && b->chunk[k][0] != 0; via++) {
            int chunk[COST_MAX_CHUNKS][3];
            if (via == b->chunk[k][0] || via == b->chunk[k][2]) continue;
            memcpy(chunk, b->chunk, sizeof chunk);
            chunk[k][2] = via;
            offer(b, chunk, b->n);
        }
}

// Every distance in `parts` parts, which go by turns, back and forth: of layer after layer, from
// the `first` distance on.
static void offer_layers(best *b, int parts, int first, bool down)
{
    const cost_pair *p = b->x->p;
    int chunk[COST_MAX_CHUNKS][3] = {{0}}, n = 0;
    const int own_parts = p->consumer ? 0 : p->tiles && p->tiles->by_rows ? parts : 1;
    if (parts * (p->n - 1) + own_parts + p->consumer > COST_MAX_CHUNKS) return;
    if (p->consumer) chunk[n][0] = 0, chunk[n++][1] = 1;
    for (int layer = 0; layer < parts; layer++)
        for (int i = 0; i < p->n - 1; i++, n++) {
            int at = layer % 2 ? p->n - 2 - i : i;
            chunk[n][0] = 1 + (first + (down ? p->n - 1 - at : at)) % (p->n - 1);
            chunk[n][1] = 1;
        }
    for (int i = 0; i < own_parts; i++, n++)
        chunk[n][0] = 0, chunk[n][1] = 1;
    if (p->tiles) { // weights, once the best of all is known
        offer(b, chunk, n);
        return;
    }
    best own = {.x = b->x, .max = b->max};
    if (!offer(&own, chunk, n)) return;
    in_units(&own);
    for (int i = 0; i < COST_PAIR_ROUNDS && !p->quick; i++) {
        double before = own.sec;
        pass_on(&own);
        reorder(&own);
        move_units(&own);
        if (own.sec > before * (1 - COST_PAIR_GAIN)) break;
    }
    offer(b, own.chunk, own.n);
}

static void search_layers(best *b)
{
    const cost_pair_tiles *tiles = b->x->p->tiles;
    const bool sums = tiles && tiles->sums;
    int n = b->x->p->n, most = sums ? COST_PAIR_LIST_PARTS : b->x->p->quick ? 2 : 3;
    for (int parts = 1; parts <= most && (uneven(b->x->p) || sums); parts++)
        for (int first = 0; first < (n < COST_PAIR_FEW_MEMBERS ? n - 1 : 2); first++)
            for (int down = 0; down < 2; down++)
                offer_layers(b, parts, first, down);
}

// A few shapes only.
static void search_quickly(best *b)
{
    for (int join = APART; join <= ALL; join++) {
        shape s = {{0}, join};
        for (int last = 0; last < 3; last++)
            for (int first = 0; first < 2; first++) {
                s.split[LAST] = last;
                s.split[FIRST] = first ? 4 : 0;
                if (join == APART || (last == 0 && first == 0)) offer_shape(b, &s);
            }
    }
    search_layers(b);
    reorder(b);
}

static void search_members(best *b)
{
    if (b->x->p->quick) {
        search_quickly(b);
        return;
    }
    for (int start = 0; start < 1 + N_JOINS; start++) {
        best other = {.x = b->x, .max = b->max};
        int join = start < N_JOINS ? start : APART, half = start == N_JOINS;
        if (join != APART && b->x->p->tiles) continue;
        if (b->x->p->n < 3 + (join > ALL) && join != APART) continue;
        descend(&other, (shape){{half, half, half, 0}, join});
        if (other.n > 0) offer(b, other.chunk, other.n);
    }
    search_layers(b);
    if (b->x->p->tiles) improve(b);
}

static void search_whole(best *b)
{
    bool quick = b->x->p->quick;
    int most = quick ? COST_PAIR_WHOLE_QUICK : COST_PAIR_WHOLE_CHUNKS,
        chunk[COST_MAX_CHUNKS][3] = {{0, 1}};
    offer(b, chunk, 1);
    for (int n = 2; n <= most; n++) {
        best own = {.x = b->x, .max = b->max};
        for (int bend = -2; bend <= 2; bend++) { // growing, equal, shrinking
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += pow(1 + COST_PAIR_WHOLE_BEND * abs(bend), bend < 0 ? k : n - 1 - k);
            for (int k = 0; k < n; k++) {
                double w = pow(1 + COST_PAIR_WHOLE_BEND * abs(bend), bend < 0 ? k : n - 1 - k) /
                           sum * COST_PAIR_WHOLE_UNITS;
                chunk[k][0] = 0;
                chunk[k][1] = w < 1 ? 1 : (int)lround(w);
            }
            offer(&own, chunk, n);
        }
        if (!quick) improve(&own);
        if (own.n > 0) offer(b, own.chunk, own.n);
        if (own.sec > b->sec * COST_PAIR_WHOLE_WORSE) break;
    }
}

static int common_divisor(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Weights of one distance without a common factor.
static void reduce_weights(int (*chunk)[3], int n)
{
    for (int k = 0; k < n; k++) {
        int d = 0;
        for (int j = 0; j < n; j++)
            if (chunk[j][0] == chunk[k][0]) d = common_divisor(abs(chunk[j][1]), d);
        for (int j = n - 1; j >= k; j--)
            if (chunk[j][0] == chunk[k][0]) chunk[j][1] /= d;
    }
}

int cost_pair_search(const cost_pair *p, int max, int (*chunk)[3], cost_pair_time *t)
{
    hb_arena *a = hb_arena_new();
    best b = {.x = pair_pricer_new(a, p), .max = max < COST_MAX_CHUNKS ? max : COST_MAX_CHUNKS};
    double alone = pair_sequential(b.x);
    if (p->whole)
        search_whole(&b);
    else
        search_members(&b);
    int n = b.n > 0 && (p->tiles || b.t.total < alone) ? b.n : 0;
    reduce_weights(b.chunk, n);
    memcpy(chunk, b.chunk, sizeof *chunk * (size_t)n);
    *t = b.t;
    hb_arena_free(a);
    return n;
}
