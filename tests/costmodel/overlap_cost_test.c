// One overlapped pair: closed forms, and messages that share links against small steps. The search
// for chunks: overlap_search_test.c.

#include "costmodel/overlap.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "costmodel/device_defaults.h"
#include "costmodel/pair_team.h"
#include "tests/support/pair_model.h"
#include "tests/support/pair_via.h"

//     matmul   |-0-|--1--|--2--|--3--|      own rows 1, messages 3 each: the transfer binds
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
    m.step[0] = 0.05; // the matmul binds: never idle
    near(cost_pair_seconds(&p, each, 4, &t), 20);
    p.gap = 0.1;
    near(cost_pair_seconds(&p, each, 4, &t), 20.3);
    near(t.end[0], 20.3);
    p.launch_overhead = 2; // once, however many chunks
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

// Joined members are one matmul, of one range of rows or of two around the own ones.
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
    m.step[0] = 0.02;                             // ends: matmul 6, messages 2 + 3 + 3
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
    // On a GPU the library's kernel of a part waits for the matmul that began behind its rows.
    p.late = true;
    int halves[2][3] = {{0, 1}, {0, 1}}, fourths[4][3] = {{0, 1}, {0, 1}, {0, 1}, {0, 1}};
    near(cost_pair_seconds(&p, two, 2, &t), 8.2 + 1.7 + 0.7);
    p.n_kinds = 1;
    near(cost_pair_seconds(&p, fourths, 4, &t), 4.4 + 2 * 0.7); // from 2.2, 3.3, 4.4 and then on
    // By one-sided puts: 2.1 and 2.1 of matmul, 1 a way, 0.2 a sum. Rows until 3.1 and 5.2, the
    // first sum when the second part is made at 4.2; back from 5.2 and 6.2.
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
    m.per_row = 0.001; // rows until 2.3: the sum comes between the matmuls at 4.2, then rows
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
    // Product of 4 beside a transfer of 6 at half and 2/3 speed: after 8 seconds the matmul is
    // done, 5.33 of the transfer.
    model m = {.step = {0.01}, .per_row = 0.06, .tile = 1};
    int64_t rows[] = {100, 100, 100};
    const cost_contention beside[] = {{2, 1.5}};
    cost_pair p = pair_of(&m, 3, rows);
    p.beside = beside;
    cost_pair_time t;
    int produce[3][3] = {{1, 1}, {2, 1}, {0, 1}};
    // 1 alone; messages of 6 each; the rest of the matmul, 2, takes 4 beside them.
    near(cost_pair_seconds(&p, produce, 3, &t), 1 + 4 + (12 - 4 / 1.5));
    near(t.end[0], 5);
    p.consumer = true;
    int consume[3][3] = {{0, 1}, {1, 1}, {2, 1}};
    // Own rows until 2, 1.33 is sent; the first message at 2 + 4.67; its rows until 8.67, 7.33 is
    // sent; the rest, 4.67, until 13.33, and then the last rows alone.
    near(cost_pair_seconds(&p, consume, 3, &t), 2 + 14.0 / 3 + 2 + 14.0 / 3 + 1);
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
    int each[3][3] = {{0, 1}, {1, 1}, {2, 1}}, chunk[8][3];
    ck_assert_double_eq_tol(cost_pair_seconds(&p, each, 3, &t), 5, 1e-3);
    near(t.transfer, 5);
    // Parts are as large on all ranks: those with 100 rows have none in the second half of 200.
    int halves[4][3] = {{0, 1}, {1, 1}, {2, 2}, {1, 1}};
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 4, &t), 4, 1e-3);
    near(cost_pair_sequential(&p), 4 + 400e-6);
    m.step[0] = 0.005; // rank 2 multiplies rank 0's rows from 5 on
    near(cost_pair_seconds(&p, each, 3, &t), 6);
    ck_assert_int_gt(cost_pair_search(&p, 8, chunk, &t), 3);
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
    int halves[5][3] = {{0, 1}, {1, 1}, {2, 1}, {2, 1}, {1, 1}}, chunk[8][3];
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 5, &t), 4, 1e-3);
    halves[2][2] = 1;
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 5, &t), 3, 1e-3);
    p.flag = 1.5; // it is there at 1, and leaves half a second later than it might
    ck_assert_double_eq_tol(cost_pair_seconds(&p, halves, 5, &t), 3.5 + 1.5, 1e-3);
    near(t.transfer, 3.5);
    p.flag = 0.01;
    ck_assert_int_gt(cost_pair_search(&p, 8, chunk, &t), 3);
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
    int owner, to, chunk, sender;
    int64_t lo, hi; // of the owner's rows
    double left;
} queued;

// By the definition: everybody sends its messages in the order of the chunks, who send to one rank
// share its link, and what is passed on leaves `flag` after the last of its rows has come. Returns
// when all of them have come.
static double in_small_steps(const cost_pair *p, const model *m, int (*chunk)[3], int n_chunks,
                             double step)
{
    queued all[COST_MAX_CHUNKS * 8];
    double came[8][8][COST_MAX_CHUNKS], now = 0, last = 0; // [owner][to][chunk]
    int n = 0;
    int64_t most = 0;
    for (int r = 0; r < p->n; r++)
        most = p->rows[r] > most ? p->rows[r] : most;
    for (int k = 0; k < n_chunks; k++)
        for (int r = 0; r < p->n; r++) {
            int d = chunk[k][0], via = (r + chunk[k][2]) % p->n;
            int64_t before = 0, sum = 0;
            for (int i = 0; i < n_chunks; i++) {
                if (chunk[i][0] != d) continue;
                before += i < k ? chunk[i][1] : 0;
                sum += chunk[i][1];
            }
            queued q = {r, (r + d) % p->n, k, p->rows[via] < p->rows[r] ? via : r, 0, 0, 0};
            q.lo = most * before / sum;
            q.hi = most * (before + chunk[k][1]) / sum;
            q.hi = q.hi < p->rows[r] ? q.hi : p->rows[r];
            q.left = m->latency + m->per_row * (double)(q.hi - q.lo);
            came[r][q.to][k] = HUGE_VAL;
            if (d != 0 && q.hi > q.lo) all[n++] = q;
        }
    for (int left = n; left > 0; now += step) {
        int into[8] = {0}, next[8];
        for (int r = 0; r < p->n; r++) {
            next[r] = -1;
            for (int i = n - 1; i >= 0; i--) // of a chunk the own rows before another's
                if (all[i].sender == r && all[i].left > 0 &&
                    (next[r] < 0 || all[i].chunk < all[next[r]].chunk || all[i].owner == r))
                    next[r] = i;
            const queued *q = &all[next[r] < 0 ? 0 : next[r]];
            for (int i = 0; i < n && next[r] >= 0 && q->owner != r; i++)
                if (all[i].owner == q->owner && all[i].to == r && all[i].lo < q->hi &&
                    q->lo < all[i].hi && came[q->owner][r][all[i].chunk] + p->flag > now)
                    next[r] = -1;
            if (next[r] >= 0) into[q->to]++;
        }
        for (int r = 0; r < p->n; r++) {
            queued *q = &all[next[r] < 0 ? 0 : next[r]];
            if (next[r] < 0) continue;
            q->left -= step / into[q->to];
            if (q->left > 0) continue;
            came[q->owner][q->to][q->chunk] = last = now + step;
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
        int n = 3 + i % 3, n_chunks = 1, chunk[COST_MAX_CHUNKS][3] = {{0, 1}};
        int64_t rows[5], wide[COST_MAX_CHUNKS][3];
        for (int r = 0; r < n; r++)
            rows[r] = uniform(0, 1) < 0.1 ? 0 : (int64_t)uniform(1, 400);
        cost_pair p = pair_of(&m, n, rows);
        p.consumer = true;
        p.flag = uniform(0, 0.5);
        for (int d = 1; d < n; d++)
            for (int parts = 1 + (int)uniform(0, 3); parts > 0; parts--) {
                int at = n_chunks++, to = 1 + (int)uniform(0, at);
                for (int j = 0; j < 2; j++)
                    chunk[at][j] = chunk[to][j];
                chunk[to][0] = d;
                chunk[to][1] = 1 + (int)uniform(0, 5);
            }
        double straight = cost_pair_seconds(&p, chunk, n_chunks, &(cost_pair_time){0});
        for (int k = 0; k < n_chunks; k++) {
            int via = (int)uniform(0, n);
            for (int j = 0; j < n_chunks; j++)
                for (int e = 0; e < 3; e++)
                    wide[j][e] = chunk[j][e];
            if (!pair_via_fits((const int64_t(*)[3])wide, n_chunks, k, via)) continue;
            chunk[k][2] = via;
            n_passed += via > 0;
        }
        cost_pair_time t;
        double want = in_small_steps(&p, &m, chunk, n_chunks, 1e-3);
        double got = cost_pair_seconds(&p, chunk, n_chunks, &t);
        matters += fabs(got - straight) > 0.05 * straight;
        ck_assert_msg(fabs(t.transfer - want) < 0.05 + 0.01 * want, "round %d: %g, in steps %g", i,
                      t.transfer, want);
    }
    ck_assert_int_gt(n_passed, 100);
    ck_assert_int_gt(matters, 30);
}
END_TEST

// On a GPU the product of a sequence that rests a share s of the time is taken to be as fast as the
// cube root of (1 - s) / (1 - s/3) says, at most 7 %; the pair must be 3 % faster than that, and 10
// % with an all-reduce by the library.
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
    p.whole = true;
    ck_assert(cost_pair_pays(&p, CL_GPU, 0.90 * 19.3 - 0.011, 1, 10, 10));
    ck_assert(!cost_pair_pays(&p, CL_GPU, 0.90 * 19.3 - 0.009, 1, 10, 10));
    p.back = true; // by puts
    ck_assert(cost_pair_pays(&p, CL_GPU, 0.97 * 19.3 - 0.011, 1, 10, 10));
    ck_assert(!cost_pair_pays(&p, CL_GPU, 0.97 * 19.3 - 0.009, 1, 10, 10));
}
END_TEST

// Not measured: contention as in a step, one default a figure. Measured: the device's own.
START_TEST(a_team_takes_its_devices_figures)
{
    cl_class gpu = {
        .name = HB_STR("G"), .kind = CL_GPU, .f32 = 1e12, .memory_bandwidth = 1e12, .n_ranks = 2};
    cl_cluster cluster = {.n_ranks = 2, .n_classes = 1, .cls = &gpu};
    cost_model m = {.cluster = &cluster};
    double after[2];
    cost_team t = {.model = &m,
                   .link = {.bandwidth = 1e10, .latency = 1e-5, .gpus = true},
                   .coll = COST_ALL_REDUCE,
                   .form = COST_FLAT,
                   .n = 2,
                   .rows = (int64_t[]){64, 64},
                   .kind = (int[]){0, 0},
                   .n_kinds = 1,
                   .row_bytes = {256},
                   .after = after};
    cost_memory_add(&t.memory, &gpu);
    cost_pair p = cost_team_pair(&t, false);
    ck_assert_double_eq(p.beside[0].compute, cost_contentions_of(&gpu).of[0].compute);
    ck_assert_double_eq(p.beside[0].compute, COST_LIBRARY_COMPUTE);
    ck_assert_double_eq(p.beside[0].communication, COST_LIBRARY_COMMUNICATION);
    ck_assert_double_eq(p.launch_overhead, COST_LAUNCH_OVERHEAD);
    t.link.crosses = true;
    p = cost_team_pair(&t, false);
    ck_assert_double_eq(p.beside[0].compute, 1);
    gpu.compute_contention = 1.5;
    gpu.communication_contention = 1.25;
    p = cost_team_pair(&t, false);
    ck_assert_double_eq(p.beside[0].compute, 1.5);
    ck_assert_double_eq(p.beside[0].communication, 1.25);
    t.link = (cl_link){.bandwidth = 1e10, .latency = 1e-5, .gpus = true, .peer = true};
    t.coll = COST_REDUCE_SCATTER;
    t.form = COST_PUT(1);
    p = cost_team_pair(&t, false);
    ck_assert_double_eq(p.crowded, COST_FRESH_PUT);
    ck_assert_double_eq(p.launch_overhead, COST_LAUNCH_OVERHEAD + COST_PUT_BREAK);
    gpu.fresh_put = 1.5;
    gpu.put_overhead = 1e-4;
    cost_memory_add(&t.memory, &gpu);
    p = cost_team_pair(&t, false);
    ck_assert_double_eq(p.crowded, 1.5);
    ck_assert_double_eq(p.launch_overhead, 1e-4);
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
    tcase_add_test(t, pairs_pay);
    tcase_add_test(t, a_team_takes_its_devices_figures);
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
