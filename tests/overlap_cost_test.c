// One overlapped pair: closed forms, limits, and the search for groups against all groupings of a
// small grid.

#include "costmodel/overlap.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/pair_via.h"

// A product of `step` seconds a tile of `tile` rows and `fixed` a call, by kind; messages of
// `latency` and `per_row` seconds.
typedef struct model {
    double fixed[2], step[2], latency, per_row;
    int64_t tile;
} model;

static double product(void *ctx, int kind, int64_t rows)
{
    const model *m = ctx;
    return m->fixed[kind] + m->step[kind] * (double)((rows + m->tile - 1) / m->tile);
}

static double message(void *ctx, int kind, int64_t rows)
{
    const model *m = ctx;
    (void)kind;
    return m->latency + m->per_row * (double)rows;
}

static const cost_contention undisturbed[2] = {{1, 1}, {1, 1}};
static const int same[COST_MAX_PAIR_RANKS];

static cost_pair pair_of(model *m, int n, const int64_t *rows)
{
    return (cost_pair){.copies = 1,
                       .n = n,
                       .rows = rows,
                       .n_kinds = 1,
                       .kind = same,
                       .product = product,
                       .message = message,
                       .ctx = m,
                       .beside = undisturbed};
}

static void near(double got, double want)
{
    ck_assert_double_eq_tol(got, want, 1e-9 * fabs(want) + 1e-12);
}

//     product   |-0-|--1--|--2--|--3--|      own rows 1, messages 3 each: the transfer binds
//     transfer  |---1---|---2---|---3---|
START_TEST(a_consumer_by_hand)
{
    model m = {.step = {0.01}, .per_row = 0.03, .tile = 1};
    int64_t rows[] = {100, 100, 100, 100};
    cost_pair p = pair_of(&m, 4, rows);
    p.consumer = true;
    cost_pair_time t;
    int each[4][3] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
    near(cost_pair_seconds(&p, each, 4, &t), 9 + 1);
    near(t.busy[0], 4);
    near(t.transfer, 9);
    near(cost_pair_sequential(&p), 13);
    int split[5][3] = {{0, 1}, {1, 1}, {2, 1}, {3, 3}, {3, 1}}; // the tail is a quarter
    near(cost_pair_seconds(&p, split, 5, &t), 9 + 0.25);
    p.flag = 0.5;
    near(cost_pair_seconds(&p, split, 5, &t), 9 + 0.5 + 0.25);
    p.flag = 0;
    m.step[0] = 0.05; // the product binds: never idle
    near(cost_pair_seconds(&p, each, 4, &t), 20);
    p.gap = 0.1;
    near(cost_pair_seconds(&p, each, 4, &t), 20.3);
    near(t.end[0], 20.3);
    p.skew = 2; // once, however many groups
    near(cost_pair_seconds(&p, each, 4, &t), 22.3);
    near(t.end[0], 22.3);
}
END_TEST

START_TEST(a_consumer_of_streams_to_all)
{
    // Three messages of 3 share the link: all end at 9. In two parts, the first ones at 4.5.
    model m = {.step = {0.01}, .per_row = 0.03, .tile = 1};
    int64_t rows[] = {100, 100, 100, 100};
    cost_pair p = pair_of(&m, 4, rows);
    p.consumer = true;
    p.copies = 3;
    cost_pair_time t;
    int each[4][3] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
    near(cost_pair_seconds(&p, each, 4, &t), 9 + 3);
    int halves[7][3] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {1, 1}, {2, 1}, {3, 1}};
    near(cost_pair_seconds(&p, halves, 7, &t), 9 + 1.5);
    // Two at a time: the first and the second until 6, the third, behind the first, until 9.
    p.copies = 2;
    near(cost_pair_seconds(&p, each, 4, &t), 9 + 1);
    int third[4][3] = {{0, 1}, {3, 1}, {1, 1}, {2, 1}}; // the first behind the third
    near(cost_pair_seconds(&p, third, 4, &t), 9 + 2);
    near(t.transfer, 9);
}
END_TEST

START_TEST(uneven_shards)
{
    // Two ranks, 300 and 100 rows. Rank 1 receives 9 seconds long, rank 0 three.
    model m = {.step = {0.01}, .per_row = 0.03, .tile = 1};
    int64_t rows[] = {300, 100};
    cost_pair p = pair_of(&m, 2, rows);
    cost_pair_time t;
    int consume[2][3] = {{0, 1}, {1, 1}}, produce[2][3] = {{1, 1}, {0, 1}};
    p.consumer = true;
    near(cost_pair_seconds(&p, consume, 2, &t), 9 + 3);
    near(t.transfer, 9);
    // Backwards: rank 1 makes the 300 rows of rank 0 in 3 seconds, sends them until 12.
    p.consumer = false;
    near(cost_pair_seconds(&p, produce, 2, &t), 3 + 9);
    near(t.end[0], 4);
    double after[] = {0.5, 7};
    p.after = after; // rank 1 has all at 4 (its own rows), rank 0 at 12
    near(cost_pair_seconds(&p, produce, 2, &t), 12.5);
    after[1] = 9;
    near(cost_pair_seconds(&p, produce, 2, &t), 13);
    int64_t none[] = {400, 0}; // a rank without rows
    p.rows = none;
    p.after = NULL;
    near(cost_pair_seconds(&p, produce, 2, &t), 4 + 12);
    p.consumer = true;
    near(cost_pair_seconds(&p, consume, 2, &t), 12 + 4);
}
END_TEST

// Joined members are one product, of one range of rows or of two around the own ones.
START_TEST(joined_members)
{
    model m = {.fixed = {1}, .step = {0.01}, .per_row = 0.001, .tile = 1};
    int64_t rows[] = {100, 200, 300};
    cost_pair p = pair_of(&m, 3, rows);
    cost_pair_time t;
    int consume[3][3] = {{0, 1}, {1, 1}, {2, -1}}, produce[3][3] = {{1, 1}, {2, -1}, {0, 1}};
    p.consumer = true;
    // Rank 1: own rows until 3, the others, {0} and {2}, in two calls: 2 + 4 more. Rank 0: 2 and
    // one call of 6; rank 2: 4 and 4.
    near(cost_pair_seconds(&p, consume, 3, &t), 9);
    p.gap = 0.25; // the second that a call takes by itself is more
    near(cost_pair_seconds(&p, consume, 3, &t), 9);
    p.gap = 2; // rank 0: 500 of the 600 rows that would take 7 at once, and the gap
    near(cost_pair_seconds(&p, consume, 3, &t), 2 + 7.0 * 500 / 600 + 2);
    p.gap = 0.25;
    p.flag = 10; // waits for the later of both: rank 1 for what rank 2 sends second, 0.6 + 10
    near(cost_pair_seconds(&p, consume, 3, &t), 16.6);
    p.consumer = false;
    p.gap = p.flag = 0;
    near(cost_pair_seconds(&p, produce, 3, &t), 9);
    // Rank 0 sends rank 1 its rows from 6 on, in which rank 2 joins at 9: until 23, then rank 2
    // its.
    m.per_row = 0.05;
    near(cost_pair_seconds(&p, produce, 3, &t), 23 + 15);
}
END_TEST

START_TEST(a_producer_by_hand)
{
    model m = {.step = {0.01}, .per_row = 0.03, .tile = 1};
    int64_t rows[] = {100, 100, 100};
    cost_pair p = pair_of(&m, 3, rows);
    cost_pair_time t;
    int each[3][3] = {{1, 1}, {2, 1}, {0, 1}};
    near(cost_pair_seconds(&p, each, 3, &t), 1 + 6);
    int split[4][3] = {{1, 1}, {1, 3}, {2, 1}, {0, 1}}; // sending begins after a quarter
    near(cost_pair_seconds(&p, split, 4, &t), 0.25 + 6);
    m.step[0] = 0.05;
    near(cost_pair_seconds(&p, each, 3, &t), 15); // the last message ends at 13
    m.step[0] = 0.02;                             // ends: product 6, messages 2 + 3 + 3
    near(cost_pair_seconds(&p, each, 3, &t), 8);
}
END_TEST

START_TEST(an_all_reduce_in_parts)
{
    // Kind 1 is slower: parts are reduced on its clock.
    model m = {
        .fixed = {0.1, 0.1}, .step = {0.01, 0.02}, .latency = 0.2, .per_row = 0.005, .tile = 1};
    int64_t rows[] = {400};
    cost_pair p = pair_of(&m, 7, rows);
    p.whole = true;
    p.n_kinds = 2;
    p.kind = NULL;
    cost_pair_time t;
    int one[1][3] = {{0, 1}}, two[2][3] = {{0, 3}, {0, 1}};
    near(cost_pair_seconds(&p, one, 1, &t), 8.1 + 2.2);
    near(cost_pair_sequential(&p), 8.1 + 2.2);
    near(cost_pair_seconds(&p, two, 2, &t), 8.2 + 0.7);
    near(t.end[0], 4.2);
    near(t.end[1], 8.2);
    near(t.transfer, 1.7 + 0.7);
    // On a GPU the library's kernel of a part waits for the product that began behind its rows.
    p.late = true;
    int halves[2][3] = {{0, 1}, {0, 1}}, fourths[4][3] = {{0, 1}, {0, 1}, {0, 1}, {0, 1}};
    near(cost_pair_seconds(&p, two, 2, &t), 8.2 + 1.7 + 0.7);
    p.n_kinds = 1;
    near(cost_pair_seconds(&p, fourths, 4, &t), 4.4 + 2 * 0.7); // from 2.2, 3.3, 4.4 and then on
    // By pushes: 2.1 and 2.1 of product, 1 a way, 0.2 a sum. Rows until 3.1 and 5.2, the first sum
    // when the second part is made at 4.2; back from 5.2 and 6.2.
    p.late = false;
    p.back = true;
    m.latency = 0;
    double after[] = {0.4};
    p.after = after;
    near(cost_pair_sequential(&p), 4.1 + 2 + 0.4 + 2);
    near(cost_pair_seconds(&p, one, 1, &t), 4.1 + 2 + 0.4 + 2);
    near(cost_pair_seconds(&p, halves, 2, &t), 7.2);
    near(t.transfer, 4);
    near(t.end[0], 4.2);
    m.per_row = 0.001; // rows until 2.3: the sum comes between the products at 4.2, then rows
    near(cost_pair_seconds(&p, halves, 2, &t), 4.2 + 0.2 + 0.2 + 0.2);
    after[0] = 4; // the owner adds for longer than rows and sums are on their way
    near(cost_pair_seconds(&p, halves, 2, &t), 4.2 + 2 + 2 + 0.2);
    p.flag = 0.3; // the last rows are there long since, the last sums are seen 0.3 later
    near(cost_pair_seconds(&p, halves, 2, &t), 4.2 + 2 + 2 + 0.2 + 0.3);
}
END_TEST

// What a rank gets is added range by range, as the last parts come.
START_TEST(sums_by_parts)
{
    model m = {.step = {0.01}, .per_row = 0.05, .tile = 1};
    int64_t rows[] = {100, 100, 100};
    double after[] = {1, 1, 1};
    cost_pair p = pair_of(&m, 3, rows);
    p.after = after;
    cost_pair_time t;
    int each[3][3] = {{1, 1}, {2, 1}, {0, 1}}, halves[4][3] = {{1, 1}, {2, 1}, {2, 1}, {0, 1}};
    near(cost_pair_seconds(&p, each, 3, &t), 11 + 1);
    near(t.transfer, 10 + 1);
    // Half is added while the last message comes, 8.5 to 11.
    near(cost_pair_seconds(&p, halves, 4, &t), 11 + 0.5);
    p.flag = 0.25;
    near(cost_pair_seconds(&p, halves, 4, &t), 11 + 0.25 + 0.5);
    after[1] = 8; // longer than that message
    near(cost_pair_seconds(&p, halves, 4, &t), 8.5 + 0.25 + 8);
    // All wait for own rows, if these are made last.
    p.flag = 0;
    after[1] = 1;
    m.per_row = 0.001;
    near(cost_pair_seconds(&p, halves, 4, &t), 3 + 1);
    int own[5][3] = {{1, 1}, {0, 1}, {2, 1}, {2, 1}, {0, 1}}; // until 1.5 and 3
    near(cost_pair_seconds(&p, own, 5, &t), 3 + 0.5);
}
END_TEST

START_TEST(contention)
{
    // Product of 4 beside a transfer of 6 at half and 2/3 speed: after 8 seconds the product is
    // done, 5.33 of the transfer.
    model m = {.step = {0.01}, .per_row = 0.06, .tile = 1};
    int64_t rows[] = {100, 100, 100};
    const cost_contention beside[] = {{2, 1.5}};
    cost_pair p = pair_of(&m, 3, rows);
    p.beside = beside;
    cost_pair_time t;
    int produce[3][3] = {{1, 1}, {2, 1}, {0, 1}};
    // 1 alone; messages of 6 each; the rest of the product, 2, takes 4 beside them.
    near(cost_pair_seconds(&p, produce, 3, &t), 1 + 4 + (12 - 4 / 1.5));
    near(t.end[0], 5);
    p.consumer = true;
    int consume[3][3] = {{0, 1}, {1, 1}, {2, 1}};
    // Own rows until 2, 1.33 is sent; the first message at 2 + 4.67; its rows until 8.67, 7.33 is
    // sent; the rest, 4.67, until 13.33, and then the last rows alone.
    near(cost_pair_seconds(&p, consume, 3, &t), 2 + 14.0 / 3 + 2 + 14.0 / 3 + 1);
}
END_TEST

static unsigned long seed;

static double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return lo + (hi - lo) * (double)(seed >> 40) / (double)(1ul << 24);
}

typedef struct random_pair {
    model m;
    cost_pair p;
    int64_t rows[4];
    int kind[4];
    double after[4];
    cost_contention beside[2];
} random_pair;

static void draw(random_pair *x, int n, int what)
{
    double balance = exp(uniform(-1.5, 1.5));
    x->m = (model){.tile = uniform(0, 1) < 0.5 ? 1 : 128, .latency = uniform(0, 0.01)};
    for (int c = 0; c < 2; c++) {
        x->m.fixed[c] = uniform(0, 0.01);
        x->m.step[c] = (c ? uniform(1, 2.5) : 1) / 4096 * (double)x->m.tile;
        x->beside[c] = (cost_contention){uniform(1, 1.3), uniform(1, 1.3)};
    }
    bool even = uniform(0, 1) < 0.5;
    int64_t sum = 0;
    for (int r = 0; r < n; r++) {
        x->rows[r] = even ? 4096 / n : (int64_t)uniform(0, 2 * 4096.0 / n);
        x->kind[r] = r % 2;
        x->after[r] = what % 2 ? uniform(0, 0.05) : 0;
        sum += x->rows[r];
    }
    if (what >= 2) x->rows[0] = sum = 4096;
    x->m.per_row = balance / (double)(sum + 1) * (what >= 2 ? 1 : (double)n / (n - 1));
    x->p = pair_of(&x->m, n, x->rows);
    x->p.consumer = what == 0;
    x->p.whole = what >= 2;
    x->p.back = what == 3;
    x->p.copies = what == 0 && uniform(0, 1) < 0.3 ? n - 1 : 1;
    x->p.n_kinds = 2;
    x->p.kind = x->kind;
    x->p.beside = x->beside;
    x->p.after = x->after;
    x->p.gap = uniform(0, 0.005);
    x->p.flag = uniform(0, 0.01);
    x->p.quickest = 0.88;
}

// All groupings: every remote member's rows as compositions of `units`, own rows whole. Bit i of a
// mask: a part ends behind unit i.
static double brute_force(const cost_pair *p, int units)
{
    int members = p->whole ? 1 : p->n - 1, masks = 1 << (units - 1);
    double best = HUGE_VAL;
    long all = 1;
    for (int i = 0; i < members; i++)
        all *= masks;
    for (long x = 0; x < all; x++) {
        int group[COST_MAX_GROUPS][3] = {{0}}, n = 0;
        long rest = x;
        if (p->consumer) group[n][0] = 0, group[n++][1] = 1;
        for (int d = 1; d <= members; d++) {
            int mask = (int)(rest % masks), width = 1;
            rest /= masks;
            for (int u = 0; u < units; u++, width++)
                if (u == units - 1 || mask >> u & 1) {
                    group[n][0] = p->whole ? 0 : d;
                    group[n++][1] = width;
                    width = 0;
                }
        }
        if (!p->consumer && !p->whole) group[n][0] = 0, group[n++][1] = 1;
        cost_pair_time t;
        best = fmin(best, cost_pair_seconds(p, group, n, &t));
    }
    return best;
}

// Every group straight or by way of any member, from group k on.
static double brute_force_ways(const cost_pair *p, int (*group)[3], int n, int k)
{
    cost_pair_time t;
    if (k == n) return cost_pair_seconds(p, group, n, &t);
    group[k][2] = 0;
    double best = brute_force_ways(p, group, n, k + 1);
    for (int via = 1; via < p->n; via++) {
        int64_t wide[COST_MAX_GROUPS][3];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 3; j++)
                wide[i][j] = group[i][j];
        if (!pair_via_fits((const int64_t(*)[3])wide, n, k, via)) continue;
        group[k][2] = via;
        best = fmin(best, brute_force_ways(p, group, n, k + 1));
    }
    group[k][2] = 0;
    return best;
}

// The same in any order of the remote members' parts: what is left of each goes on behind group n.
static double brute_force_orders(const cost_pair *p, const int *left, bool ways, int (*group)[3],
                                 int n)
{
    double best = HUGE_VAL;
    bool over = true;
    for (int d = 1; d < p->n; d++)
        for (int width = 1; width <= left[d]; width++) {
            int rest[COST_MAX_PAIR_RANKS];
            for (int i = 1; i < p->n; i++)
                rest[i] = left[i] - (i == d ? width : 0);
            group[n][0] = d;
            group[n][1] = width;
            best = fmin(best, brute_force_orders(p, rest, ways, group, n + 1));
            over = false;
        }
    if (!over) return best;
    if (!p->consumer) group[n][0] = 0, group[n++][1] = 1;
    return brute_force_ways(p, group, n, p->consumer && ways ? 0 : n);
}

// what: 0 consumer, 1 producer, 2 all-reduce, 3 by pushes. Within 2 % of the best of all groupings
// of the grid.
static void search_is_near(int n, int what, int units, int draws)
{
    double worst = 0;
    for (int i = 0; i < draws; i++) {
        random_pair x;
        cost_pair_time t;
        int group[12][3];
        draw(&x, n, what);
        int found = cost_pair_search(&x.p, 12, group, &t);
        double alone = cost_pair_sequential(&x.p), least = brute_force(&x.p, units);
        double got = found ? t.total : alone;
        if (found) {
            cost_pair_time again;
            ck_assert_double_lt(got, alone);
            near(cost_pair_seconds(&x.p, group, found, &again), got);
            for (int d = 0; d < (what >= 2 ? 1 : n); d++) {
                bool there = false;
                for (int k = 0; k < found; k++)
                    there = there || group[k][0] == d;
                ck_assert(there);
            }
        }
        worst = fmax(worst, got / fmin(least, alone));
    }
    ck_assert_msg(worst < 1.02, "search %.4f of the best grouping (n %d, what %d)", worst, n, what);
}

START_TEST(search_against_all_groupings)
{
    seed = 7;
    for (int what = 0; what < 2; what++) {
        search_is_near(2, what, 6, 120);
        search_is_near(3, what, 4, 60);
        search_is_near(4, what, 3, 40);
    }
    search_is_near(4, 2, 9, 120);
    search_is_near(4, 3, 9, 40);
}
END_TEST

START_TEST(search_against_all_orders)
{
    seed = 9;
    for (int i = 0; i < 120; i++) {
        random_pair x;
        cost_pair_time t;
        int n = 3 + i % 2, group[16][3], any[24][3] = {{0, 1}};
        int units[COST_MAX_PAIR_RANKS] = {0, 3 - i % 2, 3 - i % 2, 3 - i % 2};
        draw(&x, n, i / 2 % 2);
        x.p.copies = 1;
        int found = cost_pair_search(&x.p, 16, group, &t);
        double alone = cost_pair_sequential(&x.p);
        double least = brute_force_orders(&x.p, units, false, any, x.p.consumer ? 1 : 0);
        double got = found ? t.total : alone;
        ck_assert_msg(got < 1.03 * fmin(least, alone), "round %d: %.4f of the best order", i,
                      got / fmin(least, alone));
    }
}
END_TEST

// The same by way of any members, without which the best takes longer on average by so much.
START_TEST(search_against_all_ways)
{
    double worst = 0, sum = 0, sum_straight = 0;
    int n_cases = 0;
    seed = 19;
    for (int i = 0; i < 60; i++) {
        random_pair x;
        cost_pair_time t;
        int n = 3 + i % 2, group[16][3], any[24][3] = {{0, 1}};
        int units[COST_MAX_PAIR_RANKS] = {0, n == 3 ? 3 : 2, n == 3 ? 3 : 2, n == 3 ? 0 : 2};
        draw(&x, n, 0);
        if (x.p.copies > 1 || x.rows[0] == x.rows[1]) continue;
        int found = cost_pair_search(&x.p, 16, group, &t);
        double alone = cost_pair_sequential(&x.p);
        double least = fmin(brute_force_orders(&x.p, units, true, any, 1), alone);
        double got = (found ? t.total : alone) / least;
        sum_straight += brute_force_orders(&x.p, units, false, any, 1) / least;
        worst = fmax(worst, got);
        sum += got;
        n_cases++;
    }
    ck_assert_int_gt(n_cases, 15);
    ck_assert_msg(worst < 1.11 && sum < 1.005 * n_cases, "worst %.4f, mean %.4f", worst,
                  sum / n_cases);
    ck_assert_msg(sum_straight > 1.05 * n_cases, "straight mean %.4f", sum_straight / n_cases);
}
END_TEST

// By how much what is found takes longer than it need where products are as quick as they may be
// and a producer's messages take `crowded` times as long beside them; `told`: the search knows of
// that. Uneven rows of both, or, crowded, even rows of a producer.
static double over_least(double crowded, bool told, double *worst)
{
    double sum = 0;
    int n_cases = 0;
    bool crowds = crowded > 1;
    seed = 13;
    *worst = 0;
    while (n_cases < 80) {
        random_pair x;
        cost_pair_time t;
        int group[16][3], other[16][3];
        draw(&x, 4, crowds ? 1 : n_cases % 2);
        if (x.p.copies > 1 || (x.rows[0] == x.rows[1]) != crowds) continue;
        n_cases++;
        double quickest = x.p.quickest;
        x.p.crowded = crowded;
        if (!told) x.p.quickest = 0;
        int found = cost_pair_search(&x.p, 16, group, &t);
        if (!found) continue;
        for (int c = 0; c < 2; c++) {
            x.m.fixed[c] *= quickest;
            x.m.step[c] *= quickest;
            x.beside[c].communication *= crowded;
        }
        x.p.gap *= quickest;
        x.p.quickest = quickest;
        x.p.crowded = 1;
        double got = cost_pair_seconds(&x.p, group, found, &t);
        if (cost_pair_search(&x.p, 16, other, &t) == 0) continue;
        double over = got / t.total - 1;
        sum += over;
        *worst = fmax(*worst, over);
    }
    return sum / n_cases;
}

START_TEST(quicker_products_than_curves)
{
    double worst, untold, mean = over_least(1, true, &worst);
    ck_assert_msg(mean < 0.004 && worst < 0.05, "%.4f on average, worst %.4f", mean, worst);
    ck_assert_msg(over_least(1, false, &untold) > 1.3 * mean && untold > worst,
                  "no better than without: %.4f, worst %.4f", mean, worst);
}
END_TEST

START_TEST(longer_messages_beside_products)
{
    double worst, untold, mean = over_least(1.2, true, &worst);
    ck_assert_msg(mean < 0.004 && worst < 0.05, "%.4f on average, worst %.4f", mean, worst);
    ck_assert_msg(over_least(1.2, false, &untold) > 3 * mean && untold > worst,
                  "no better than without: %.4f, worst %.4f", mean, worst);
}
END_TEST

// Rank 0 has as much as the others together, messages of 2, 1 and 1. By distance rank 2 joins what
// rank 0 sends rank 1 at 1, both end at 3, and what rank 0 has for rank 2 at 5. All of it takes 4.
START_TEST(uneven_messages_share_links)
{
    model m = {.step = {1e-6}, .per_row = 0.01, .tile = 1};
    int64_t rows[] = {200, 100, 100};
    cost_pair p = pair_of(&m, 3, rows);
    p.consumer = true;
    cost_pair_time t;
    int each[3][3] = {{0, 1}, {1, 1}, {2, 1}}, group[8][3];
    ck_assert_double_eq_tol(cost_pair_seconds(&p, each, 3, &t), 5, 1e-3);
    near(t.transfer, 5);
    // Parts are as large on all ranks: those with 100 rows have none in the second half of 200.
    int halves[4][3] = {{0, 1}, {1, 1}, {2, 2}, {1, 1}};
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 4, &t), 4, 1e-3);
    near(cost_pair_sequential(&p), 4 + 400e-6);
    m.step[0] = 0.005; // rank 2 multiplies rank 0's rows from 5 on
    near(cost_pair_seconds(&p, each, 3, &t), 6);
    ck_assert_int_gt(cost_pair_search(&p, 8, group, &t), 3);
    ck_assert(t.total > 3 && t.total < 4); // rank 1 or 2 passes some on
    p.consumer = false; // rank 0 gets all that others make: 4, and the others get 3
    int made[3][3] = {{1, 1}, {2, 1}, {0, 1}};
    ck_assert_double_ge(cost_pair_seconds(&p, made, 3, &t), 4);
}
END_TEST

// The same by way of rank 1: half of what rank 0 has for rank 2 goes there second and is passed on
// last, while rank 0 sends the other halves. No link has more than 3, and none rests.
START_TEST(small_ranks_pass_on_rows_of_large_ones)
{
    model m = {.step = {1e-9}, .per_row = 0.01, .tile = 1};
    int64_t rows[] = {200, 100, 100};
    cost_pair p = pair_of(&m, 3, rows);
    p.consumer = true;
    cost_pair_time t;
    int halves[5][3] = {{0, 1}, {1, 1}, {2, 1}, {2, 1}, {1, 1}}, group[8][3];
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 5, &t), 4, 1e-3);
    halves[2][2] = 1;
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 5, &t), 3, 1e-3);
    p.flag = 1.5; // it is there at 1, and leaves half a second later than it might
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 5, &t), 3.5 + 1.5, 1e-3);
    near(t.transfer, 3.5);
    p.flag = 0.01;
    ck_assert_int_gt(cost_pair_search(&p, 8, group, &t), 3);
    ck_assert_double_lt(t.total, 3.3);
    rows[1] = rows[2] = 200; // who has as many rows passes nothing on
    halves[2][2] = 0;
    double straight = cost_pair_seconds(&p, halves, 5, &t);
    halves[2][2] = 1;
    near(cost_pair_seconds(&p, halves, 5, &t), straight);
}
END_TEST

// --- messages on links, in small steps ---

typedef struct queued {
    int owner, to, group, sender;
    int64_t lo, hi; // of the owner's rows
    double left;
} queued;

// By the definition: everybody sends its messages in the order of the groups, who send to one rank
// share its link, and what is passed on leaves `flag` after the last of its rows has come. Returns
// when all of them have come.
static double in_small_steps(const cost_pair *p, const model *m, int (*group)[3], int n_groups,
                             double step)
{
    queued all[COST_MAX_GROUPS * 8];
    double came[8][8][COST_MAX_GROUPS], now = 0, last = 0; // [owner][to][group]
    int n = 0;
    int64_t most = 0;
    for (int r = 0; r < p->n; r++)
        most = p->rows[r] > most ? p->rows[r] : most;
    for (int k = 0; k < n_groups; k++)
        for (int r = 0; r < p->n; r++) {
            int d = group[k][0], via = (r + group[k][2]) % p->n;
            int64_t before = 0, sum = 0;
            for (int i = 0; i < n_groups; i++) {
                if (group[i][0] != d) continue;
                before += i < k ? group[i][1] : 0;
                sum += group[i][1];
            }
            queued q = {r, (r + d) % p->n, k, p->rows[via] < p->rows[r] ? via : r, 0, 0, 0};
            q.lo = most * before / sum;
            q.hi = most * (before + group[k][1]) / sum;
            q.hi = q.hi < p->rows[r] ? q.hi : p->rows[r];
            q.left = m->latency + m->per_row * (double)(q.hi - q.lo);
            came[r][q.to][k] = HUGE_VAL;
            if (d != 0 && q.hi > q.lo) all[n++] = q;
        }
    for (int left = n; left > 0; now += step) {
        int into[8] = {0}, next[8];
        for (int r = 0; r < p->n; r++) {
            next[r] = -1;
            for (int i = n - 1; i >= 0; i--) // of a group the own rows before another's
                if (all[i].sender == r && all[i].left > 0 &&
                    (next[r] < 0 || all[i].group < all[next[r]].group || all[i].owner == r))
                    next[r] = i;
            const queued *q = &all[next[r] < 0 ? 0 : next[r]];
            for (int i = 0; i < n && next[r] >= 0 && q->owner != r; i++)
                if (all[i].owner == q->owner && all[i].to == r && all[i].lo < q->hi &&
                    q->lo < all[i].hi && came[q->owner][r][all[i].group] + p->flag > now)
                    next[r] = -1;
            if (next[r] >= 0) into[q->to]++;
        }
        for (int r = 0; r < p->n; r++) {
            queued *q = &all[next[r] < 0 ? 0 : next[r]];
            if (next[r] < 0) continue;
            q->left -= step / into[q->to];
            if (q->left > 0) continue;
            came[q->owner][q->to][q->group] = last = now + step;
            left--;
        }
        ck_assert_double_lt(now, 1e3);
    }
    return last;
}

START_TEST(passed_on_in_small_steps)
{
    int n_passed = 0, matters = 0;
    seed = 17;
    for (int i = 0; i < 150; i++) {
        model m = {.step = {1e-9}, .per_row = 0.01, .latency = uniform(0, 0.2), .tile = 1};
        int n = 3 + i % 3, n_groups = 1, group[COST_MAX_GROUPS][3] = {{0, 1}};
        int64_t rows[5], wide[COST_MAX_GROUPS][3];
        for (int r = 0; r < n; r++)
            rows[r] = uniform(0, 1) < 0.1 ? 0 : (int64_t)uniform(1, 400);
        cost_pair p = pair_of(&m, n, rows);
        p.consumer = true;
        p.flag = uniform(0, 0.5);
        for (int d = 1; d < n; d++)
            for (int parts = 1 + (int)uniform(0, 3); parts > 0; parts--) {
                int at = n_groups++, to = 1 + (int)uniform(0, at);
                for (int j = 0; j < 2; j++)
                    group[at][j] = group[to][j];
                group[to][0] = d;
                group[to][1] = 1 + (int)uniform(0, 5);
            }
        double straight = cost_pair_seconds(&p, group, n_groups, &(cost_pair_time){0});
        for (int k = 0; k < n_groups; k++) {
            int via = (int)uniform(0, n);
            for (int j = 0; j < n_groups; j++)
                for (int e = 0; e < 3; e++)
                    wide[j][e] = group[j][e];
            if (!pair_via_fits((const int64_t(*)[3])wide, n_groups, k, via)) continue;
            group[k][2] = via;
            n_passed += via > 0;
        }
        cost_pair_time t;
        double want = in_small_steps(&p, &m, group, n_groups, 1e-3);
        double got = cost_pair_seconds(&p, group, n_groups, &t);
        matters += fabs(got - straight) > 0.05 * straight;
        ck_assert_msg(fabs(t.transfer - want) < 0.05 + 0.01 * want, "round %d: %g, in steps %g", i,
                      t.transfer, want);
    }
    ck_assert_int_gt(n_passed, 100);
    ck_assert_int_gt(matters, 30);
}
END_TEST

// Whatever the grouping: at least the products and the transfers of each rank alone; as found never
// more than the sequence.
START_TEST(limits)
{
    seed = 11;
    for (int i = 0; i < 600; i++) {
        random_pair x;
        cost_pair_time t;
        int what = i % 3, n = what == 2 ? 4 : 2 + i % 3, group[12][3];
        draw(&x, n, what);
        int found = cost_pair_search(&x.p, 12, group, &t);
        if (!found) continue;
        ck_assert_double_lt(t.total, cost_pair_sequential(&x.p));
        int64_t sum = 0;
        for (int r = 0; r < (what == 2 ? 1 : n); r++)
            sum += x.rows[r];
        double all = 0;
        for (int c = 0; c < 2 && c < n; c++) {
            double parts = (double)sum / (double)x.m.tile * x.m.step[c];
            ck_assert_double_ge(t.end[c], t.busy[c] * (1 - 1e-9));
            ck_assert_double_ge(t.busy[c], parts);
            all = fmax(all, t.end[c]);
        }
        ck_assert_double_ge(t.total, all);
        ck_assert_double_ge(t.total, t.transfer);
    }
}
END_TEST

// With all rows at once and no rank slower, one group a member and the fewest messages is what
// remains where gaps cost more than they bring.
START_TEST(gaps_decide)
{
    model m = {.fixed = {1e-5}, .step = {1e-7}, .latency = 1e-5, .per_row = 1.5e-7, .tile = 1};
    int64_t rows[] = {2048, 2048, 2048, 2048};
    cost_pair p = pair_of(&m, 4, rows);
    cost_pair_time t;
    int group[12][3];
    p.consumer = true;
    p.gap = 3e-6;
    int fine = cost_pair_search(&p, 12, group, &t);
    ck_assert_int_gt(fine, 4);
    p.gap = 1e-4;
    ck_assert_int_eq(cost_pair_search(&p, 12, group, &t), 4);
    p.gap = 1e-2;
    ck_assert_int_eq(cost_pair_search(&p, 12, group, &t), 0);
    p.gap = 3e-6;
    p.doubt = 1e-4; // what may vary counts against splitting, too
    ck_assert_int_eq(cost_pair_search(&p, 12, group, &t), 4);
}
END_TEST

// On a GPU the product of a sequence that rests a share s of the time is taken to be as fast as the
// cube root of (1 - s) / (1 - s/3) says, at most 7 %; the pair must be 3 % faster than that.
START_TEST(pairs_pay)
{
    cost_pair p = {.doubt = 0.01};
    double rested = cbrt((10.0 / 11) / (1 - 1.0 / 33)), limit = 0.97 * (1 + rested * 10);
    ck_assert(cost_pair_pays(&p, CL_GPU, limit - 0.021, 2, 10, 1));
    ck_assert(!cost_pair_pays(&p, CL_GPU, limit - 0.019, 2, 10, 1));
    ck_assert(cost_pair_pays(&p, CL_GPU, 0.97 * 19.3 - 0.011, 1, 10, 10));
    ck_assert(!cost_pair_pays(&p, CL_GPU, 0.97 * 19.3 - 0.009, 1, 10, 10));
    ck_assert(cost_pair_pays(&p, CL_CPU, 0.98 * 20 - 0.011, 1, 10, 10));
    ck_assert(!cost_pair_pays(&p, CL_CPU, 0.98 * 20 - 0.009, 1, 10, 10));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("overlap_cost");
    TCase *t = tcase_create("pairs");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_consumer_by_hand);
    tcase_add_test(t, a_consumer_of_streams_to_all);
    tcase_add_test(t, uneven_shards);
    tcase_add_test(t, joined_members);
    tcase_add_test(t, a_producer_by_hand);
    tcase_add_test(t, an_all_reduce_in_parts);
    tcase_add_test(t, sums_by_parts);
    tcase_add_test(t, contention);
    tcase_add_test(t, limits);
    tcase_add_test(t, gaps_decide);
    tcase_add_test(t, pairs_pay);
    tcase_add_test(t, search_against_all_groupings);
    tcase_add_test(t, search_against_all_orders);
    tcase_add_test(t, search_against_all_ways);
    tcase_add_test(t, quicker_products_than_curves);
    tcase_add_test(t, longer_messages_beside_products);
    tcase_add_test(t, uneven_messages_share_links);
    tcase_add_test(t, small_ranks_pass_on_rows_of_large_ones);
    tcase_add_test(t, passed_on_in_small_steps);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
