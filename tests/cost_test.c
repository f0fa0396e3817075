#include "costmodel/cost.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hb_arena *arena;
static cl_class cls[2];
static cl_cluster cluster;

static void setup(void)
{
    arena = hb_arena_new();
    cls[0] = (cl_class){.name = HB_STR("G/64sms"),
                        .model = HB_STR("G"),
                        .kind = CL_GPU,
                        .f32 = 10e12,
                        .bf16 = 100e12,
                        .memory_bandwidth = 1e12};
    cls[1] = (cl_class){.name = HB_STR("C"),
                        .model = HB_STR("C"),
                        .kind = CL_CPU,
                        .f32 = 50e9,
                        .memory_bandwidth = 10e9};
    cluster = (cl_cluster){.n_ranks = 2, .n_classes = 2, .cls = cls};
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static void near(double got, double want)
{
    ck_assert_double_eq_tol(got, want, 1e-9 * fabs(want));
}

START_TEST(ops_by_roofline)
{
    cost_model m = {.cluster = &cluster, .math = COST_F32};
    near(cost_op(&m, 0, IR_OP_matmul, 6e9, 8e6), 6e9 / (0.6 * 10e12) + 2e-6); // compute: 1 ms
    near(cost_op(&m, 0, IR_OP_matmul, 6e6, 8e6), 8e6 / (0.8 * 1e12) + 2e-6);  // memory: 10 us
    near(cost_op(&m, 1, IR_OP_matmul, 3e9, 8e6), 3e9 / (0.6 * 50e9) + 1e-6);  // cpu: 100 ms
    m.math = COST_BF16;
    near(cost_op(&m, 0, IR_OP_matmul, 6e9, 8e6), 6e9 / (0.6 * 100e12) + 2e-6); // tensor peak
    near(cost_op(&m, 0, IR_OP_linear_dw, 6e9, 8e6), 6e9 / (0.6 * 100e12) + 2e-6);
    near(cost_op(&m, 0, IR_OP_sdpa_bwd, 6e9, 8e6), 6e9 / (0.6 * 100e12) + 2e-6);
    near(cost_op(&m, 0, IR_OP_gelu, 6e9, 8e6), 6e9 / (0.6 * 10e12) + 2e-6);  // not for pointwise
    near(cost_op(&m, 1, IR_OP_linear, 3e9, 8e6), 3e9 / (0.6 * 50e9) + 1e-6); // no bf16 there
    m.math = COST_TF32;
    near(cost_op(&m, 0, IR_OP_linear, 6e9, 8e6), 6e9 / (0.6 * 10e12) + 2e-6);
    ck_assert_double_eq(cost_op(&m, 0, IR_OP_linear, 0, 0), 0); // no rows, no launch
    near(cost_op(&m, 0, IR_OP_transpose, 0, 8e6), 8e6 / (0.8 * 1e12) + 2e-6);
    near(cost_launch(&m, 0), 2e-6);
    near(cost_launch(&m, 1), 1e-6);
    near(cost_copy(&m, 1, 5e6), 1e-3 + 1e-6); // read and written
    ck_assert_double_eq(cost_copy(&m, 1, 0), 0);
}
END_TEST

static const cl_link line = {.bandwidth = 1e9, .latency = 1e-5}; // 1 byte a nanosecond, 10 us

static double wire(cost_coll k, cost_form f, const cost_shards *s)
{
    return cost_collective(k, f, s, line);
}

// 4 ranks with 40, 30, 20 and 10 of 100 kB.
START_TEST(gather_and_scatter)
{
    static const int64_t table[] = {4, 3, 2, 1}, even[] = {5, 5, 5, 5};
    cost_shards s = {.n = 4, .table = table, .bytes = 100e3, .apart = 1};
    for (cost_coll k = COST_ALL_GATHER; k <= COST_REDUCE_SCATTER; k++) {
        ck_assert(isinf(wire(k, COST_EVEN, &s)));
        near(wire(k, COST_PADDED, &s), 3 * (10e-6 + 40e-6));
        near(wire(k, COST_GROUPED, &s), 4 * 10e-6 + 90e-6);
        near(wire(k, COST_SENDRECV, &s), 3 * 10e-6 + 120e-6); // rank 0 sends 40 kB three times
        s.table = even;
        near(wire(k, COST_EVEN, &s), 3 * (10e-6 + 25e-6));
        near(wire(k, COST_PADDED, &s), 3 * (10e-6 + 25e-6));
        s.table = table;
        ck_assert(isinf(wire(k, COST_FLAT, &s)));
    }
    ck_assert(isinf(wire(COST_ALL_GATHER, COST_EVEN_FLAT, &s)));
    // Even boundaries 25 50 75, wanted 40 70 90: 15, 20, 15 cross; rank 1 gets 20 and gives 15,
    // rank 2 gets 15 and gives 20; nobody has more than one partner in a direction.
    near(wire(COST_REDUCE_SCATTER, COST_EVEN_FLAT, &s), 3 * (10e-6 + 25e-6) + 10e-6 + 20e-6);
    s.n = 1;
    ck_assert_double_eq(wire(COST_ALL_GATHER, COST_EVEN, &s), 0);
}
END_TEST

START_TEST(all_reduce)
{
    cost_shards s = {.n = 4, .bytes = 100e3};
    near(wire(COST_ALL_REDUCE, COST_FLAT, &s), 2 * 3 * (10e-6 + 25e-6));
    ck_assert(isinf(wire(COST_ALL_REDUCE, COST_TWO_LEVEL, &s)));
    ck_assert(isinf(wire(COST_ALL_REDUCE, COST_EVEN, &s)));
    s.n_inner = 2;
    s.inner = (cl_link){.bandwidth = 10e9, .latency = 1e-6};
    s.between = (cl_link){.bandwidth = 0.5e9, .latency = 20e-6};
    // Inside twice (1 us + 50 kB / 10 GB/s), between 2 (20 us + 25 kB / 0.5 GB/s).
    near(wire(COST_ALL_REDUCE, COST_TWO_LEVEL, &s), 2 * (1e-6 + 5e-6) + 2 * (20e-6 + 50e-6));
    s.n_inner = 3;
    ck_assert(isinf(wire(COST_ALL_REDUCE, COST_TWO_LEVEL, &s)));
}
END_TEST

START_TEST(all_to_all_and_recut)
{
    static const int64_t rows[] = {3, 1}, heads[] = {1, 1};
    cost_shards s = {.n = 2, .table = rows, .table2 = heads, .bytes = 80e3};
    // Rank 0 holds 60 and keeps half of it: sends 30, receives 10. Rank 1 the other way round.
    near(wire(COST_ALL_TO_ALL, COST_EVEN, &s), 10e-6 + 30e-6);
    near(wire(COST_ALL_TO_ALL, COST_SENDRECV, &s), 10e-6 + 30e-6);
    static const int64_t from[] = {4, 3, 2, 1, 0}, to[] = {2, 2, 2, 2, 2};
    cost_shards r = {.n = 5, .table = from, .table2 = to, .bytes = 100e3};
    // 40 30 20 10 0 -> 20 each. Rank 0 gives 20; rank 1: [40,70) -> [20,40) gives 30 gets 20; rank
    // 2: [70,90) -> [40,60) all new; rank 3: [90,100) -> [60,80); rank 4: nothing -> [80,100).
    near(wire(COST_RECUT, COST_EVEN, &r), 4 * 10e-6 + 30e-6);
    // Rank 1 sends to 2 and 3, rank 2 to 3 and 4, rank 3 receives from 1 and 2.
    near(wire(COST_RECUT, COST_SENDRECV, &r), 2 * 10e-6 + 30e-6);
    r.table2 = from;
    ck_assert_double_eq(wire(COST_RECUT, COST_SENDRECV, &r), 0);
    ck_assert(isinf(wire(COST_RECUT, COST_PADDED, &r)));
    // Empty sides exchange nothing.
    static const int64_t all[] = {8, 0}, none[] = {0, 8};
    cost_shards e = {.n = 2, .table = all, .table2 = none, .bytes = 80e3};
    near(wire(COST_ALL_TO_ALL, COST_SENDRECV, &e), 10e-6 + 80e-6);
    near(wire(COST_RECUT, COST_SENDRECV, &e), 10e-6 + 80e-6);
}
END_TEST

// Boundaries of many ranks against a direct count.
START_TEST(recut_by_brute_force)
{
    uint64_t state = 11;
    for (int round = 0; round < 300; round++) {
        int64_t from[12], to[12], sum = 0;
        int n = 2 + round % 11;
        for (int i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            from[i] = (int64_t)(state >> 33) % 6;
            to[(i * 5 + round) % n] = 0;
            sum += from[i];
        }
        if (!sum) sum = from[0] = 6;
        for (int i = 0; i < n; i++)
            to[i] = 0;
        for (int64_t k = 0; k < sum; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            to[(state >> 33) % (unsigned)n]++;
        }
        int64_t most = 0;
        int partners = 0;
        for (int i = 0; i < n; i++) { // entries of i that go to j, and those that come from j
            int64_t moved[2] = {0, 0};
            int met[2] = {0, 0};
            for (int way = 0; way < 2; way++) {
                const int64_t *a = way ? to : from, *b = way ? from : to;
                int64_t lo = 0, at = 0;
                for (int q = 0; q < i; q++)
                    lo += a[q];
                for (int j = 0; j < n; at += b[j], j++) {
                    int64_t x = lo > at ? lo : at, hi = lo + a[i], end = at + b[j];
                    int64_t common = (hi < end ? hi : end) - x;
                    if (j == i || common <= 0) continue;
                    moved[way] += common;
                    met[way]++;
                }
                if (moved[way] > most) most = moved[way];
                if (met[way] > partners) partners = met[way];
            }
        }
        cost_shards s = {.n = n, .table = from, .table2 = to, .bytes = 24.0 * (double)sum};
        ck_assert_double_eq_tol(wire(COST_RECUT, COST_SENDRECV, &s),
                                partners * 10e-6 + 24e-9 * (double)most, 1e-12);
    }
}
END_TEST

START_TEST(packing)
{
    static const int64_t table[] = {3, 1}, to[] = {2, 2};
    cost_shards s = {.n = 2, .table = table, .table2 = to, .bytes = 4000, .apart = 1};
    ck_assert_double_eq(cost_pack_bytes(COST_ALL_GATHER, COST_GROUPED, &s), 0);
    ck_assert_double_eq(cost_pack_bytes(COST_ALL_GATHER, COST_PADDED, &s), 2 * 4000 + 2 * 3000);
    ck_assert_double_eq(cost_pack_bytes(COST_REDUCE_SCATTER, COST_SENDRECV, &s), 3 * 3000);
    s.apart = 0;
    ck_assert_double_eq(cost_pack_bytes(COST_ALL_GATHER, COST_EVEN, &s), 8000);
    ck_assert_double_eq(cost_pack_bytes(COST_REDUCE_SCATTER, COST_SENDRECV, &s), 8000 + 9000);
    ck_assert_double_eq(cost_pack_bytes(COST_RECUT, COST_EVEN, &s), 2 * (3000 + 2000));
    ck_assert_double_eq(cost_pack_bytes(COST_ALL_REDUCE, COST_FLAT, &s), 0);
}
END_TEST

// The rule of docs/formats.md, "Scratch".
START_TEST(scratch)
{
    static const int64_t table[] = {3, 2, 0}, to[] = {1, 1, 3};
    cost_shards s = {.n = 3, .table = table, .table2 = to, .bytes = 5000, .apart = 1, .item = 4};
    static const struct {
        cost_coll k;
        cost_form f;
        bool leading;
        int64_t want;
    } row[] = {
        {COST_ALL_GATHER, COST_EVEN, true, 0},
        {COST_ALL_GATHER, COST_EVEN, false, 5120}, // 5000 up to 256
        {COST_ALL_GATHER, COST_GROUPED, false, 5120},
        {COST_ALL_GATHER, COST_SENDRECV, false, 5120},
        {COST_ALL_GATHER, COST_SENDRECV, true, 0},
        {COST_ALL_GATHER, COST_PADDED, true, 12032}, // 4 * 3000
        {COST_ALL_GATHER, COST_PADDED, false, 12032},
        {COST_REDUCE_SCATTER, COST_EVEN, false, 5120},
        {COST_REDUCE_SCATTER, COST_GROUPED, true, 0},
        {COST_REDUCE_SCATTER, COST_PADDED, true, 12032},
        {COST_REDUCE_SCATTER, COST_SENDRECV, true, 3072},
        {COST_REDUCE_SCATTER, COST_SENDRECV, false, 8192}, // 8000
        {COST_REDUCE_SCATTER, COST_EVEN_FLAT, true, 6912}, // 4 * 417 elements * 4 = 6672
        {COST_ALL_REDUCE, COST_FLAT, true, 0},
        {COST_ALL_TO_ALL, COST_EVEN, true, 6144}, // 3000 + 3000
        {COST_ALL_GATHER, COST_PUSH(1), false, 0},
        {COST_ALL_TO_ALL, COST_PUSH(2), true, 0},
        {COST_REDUCE_SCATTER, COST_PUSH(1), false, 9216}, // 3 slots of 3000 up to 256
        {COST_ALL_REDUCE, COST_PUSH(2), true, 5376},      // 3 slots of 417 * 4 up to 256
        {COST_RECUT, COST_SENDRECV, true, 6144},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        s.apart = row[i].leading;
        ck_assert_msg(cost_scratch(row[i].k, row[i].f, &s) == row[i].want, "row %zu: %lld", i,
                      (long long)cost_scratch(row[i].k, row[i].f, &s));
    }
    s.n_inner = 3;
    ck_assert_int_eq(cost_scratch(COST_ALL_REDUCE, COST_TWO_LEVEL, &s), 1792); // 417 * 4
}
END_TEST

// Between peers: one push at a time has 0.95 of the link and 7 us each; one to every other rank at
// a time 0.54 and 5 us for each but the first; what lies between in proportion; the library 0.8.
START_TEST(pushes)
{
    static const int64_t table[] = {4, 3, 2, 1}, to[] = {1, 1, 1, 1};
    static const cl_link near_by = {.bandwidth = 1e9, .latency = 1e-5, .peer = true};
    cost_shards s = {.n = 4, .table = table, .table2 = to, .bytes = 100e3, .apart = 1};
    for (cost_coll k = COST_ALL_GATHER; k <= COST_RECUT; k++) {
        ck_assert(isinf(wire(k, COST_PUSH(1), &s)) && isinf(wire(k, COST_PUSH(3), &s)));
        ck_assert_int_eq(isinf(cost_collective(k, COST_PUSH(1), &s, near_by)), k == COST_RECUT);
    }
    for (cost_coll k = COST_ALL_GATHER; k <= COST_REDUCE_SCATTER; k++) {
        near(cost_collective(k, COST_PUSH(1), &s, near_by), 3 * 7e-6 + 120e-6 / 0.95);
        near(cost_collective(k, COST_PUSH(3), &s, near_by), 17e-6 + 120e-6 / 0.54);
        near(cost_collective(k, COST_PUSH(2), &s, near_by), 19e-6 + 120e-6 / 0.745);
        near(cost_collective(k, COST_PADDED, &s, near_by), 3 * 10e-6 + 120e-6 / 0.8);
        near(cost_even_bytes(k, COST_PUSH(1), &s, near_by), 160e3);
    }
    near(cost_collective(COST_ALL_REDUCE, COST_PUSH(1), &s, near_by),
         2 * (3 * 7e-6 + 75e-6 / 0.95));
    near(cost_collective(COST_ALL_REDUCE, COST_FLAT, &s, near_by), 2 * (3 * 10e-6 + 75e-6 / 0.8));
    near(cost_collective(COST_ALL_REDUCE, COST_PUSH(2), &s, near_by), 2 * (19e-6 + 75e-6 / 0.745));
    // Rank 0 holds 40 kB of one cut and 25 kB of the other, 10 of them of both.
    near(cost_collective(COST_ALL_TO_ALL, COST_PUSH(3), &s, near_by), 17e-6 + 30e-6 / 0.54);
    ck_assert_double_eq(cost_pack_bytes(COST_ALL_GATHER, COST_PUSH(1), &s), 0);
    near(cost_pack_bytes(COST_REDUCE_SCATTER, COST_PUSH(1), &s), 5 * 40e3); // reads 4, writes 1
    near(cost_pack_bytes(COST_ALL_REDUCE, COST_PUSH(1), &s), 5 * 25e3);
    s = (cost_shards){.n = 2, .bytes = 80e3}; // to one peer one is all
    near(cost_collective(COST_ALL_REDUCE, COST_PUSH(1), &s, near_by), 2 * (7e-6 + 40e-6 / 0.95));
}
END_TEST

// Two ranks' rows [4, 4] of [8 rows, 6, 8 heads, 8] become heads [3, 5] and the other way round.
START_TEST(stretches_of_memory)
{
    static const int64_t rows[] = {6, 2}, heads[] = {3, 5};
    cost_shards s = {.n = 2, .table = rows, .table2 = heads, .bytes = 8 * 6 * 8 * 8.0};
    s.apart = 1;
    s.apart2 = 8 * 6;
    // Rank 0 sends the other's heads of its 6 rows, rank 1 gets them; or gets its own heads of 6.
    near(cost_runs(COST_ALL_TO_ALL, &s), 6 * 6);
    s = (cost_shards){
        .n = 2, .table = heads, .table2 = rows, .bytes = s.bytes, .apart = 8 * 6, .apart2 = 1};
    near(cost_runs(COST_ALL_TO_ALL, &s), 6 * 6);
    near(cost_runs(COST_ALL_GATHER, &s), 8 * 6);
    s.n = 4; // to each of three
    static const int64_t even[] = {2, 2, 2, 2};
    s.table = s.table2 = even;
    near(cost_runs(COST_REDUCE_SCATTER, &s), 3 * 8 * 6);
    near(cost_runs(COST_ALL_TO_ALL, &s), 8 * 6 * 3 / 4.0);
    ck_assert_double_eq(cost_runs(COST_ALL_REDUCE, &s), 0);
    s.apart = 1;
    ck_assert_double_eq(cost_runs(COST_ALL_GATHER, &s), 0);
    s.apart = s.apart2 = 0; // not counted
    ck_assert_double_eq(cost_runs(COST_ALL_TO_ALL, &s), 0);
}
END_TEST

// A push copies stretch by stretch: half a nanosecond each where it was not measured.
START_TEST(short_stretches_take_a_time_each)
{
    static const int64_t even[] = {4, 4, 4, 4};
    static const cl_link fast = {.bandwidth = 400e9, .latency = 1e-6, .peer = true};
    cl_class c = {.kind = CL_CPU, .memory_bandwidth = 4e12};
    cost_memory memory = {0};
    cost_memory_add(&memory, &c);
    cost_model m = {.cluster = &cluster};
    cost_shards s = {.n = 4, .table = even, .table2 = even, .bytes = 1.6e8, .apart = 1};
    // 30 MB leave a rank: in stretches of 1600 bytes, then of 16.
    double few = 1e5, many = 1e7, bytes = 3 * 7e-6 + 30e6 / (0.95 * 400e9) + 2 * 80e6 / 4e12;
    s.apart2 = few;
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUSH(1), &s, fast, &memory), bytes);
    s.apart2 = many;
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUSH(1), &s, fast, &memory),
         3 * 7e-6 + 0.75 * many * 0.5e-9);
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_EVEN, &s, fast, &memory),
         3 * 1e-6 + 30e6 / (0.8 * 400e9) + 2 * 80e6 / 4e12);
    // Measured on one of two classes; the slowest counts, and packing.
    cl_class measured = {
        .memory_bandwidth = 2e12, .stream = 1e12, .run_push = 2e-9, .run_pack = 1e-9};
    cost_memory_add(&memory, &measured);
    near(memory.bandwidth, 1e12); // what kernels were seen to move
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUSH(3), &s, fast, &memory),
         72e-6 + 17e-6 + 0.75 * many * 2e-9);
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_SENDRECV, &s, fast, &memory),
         12e-6 + 3 * 1e-6 + 0.75 * many * 1e-9); // GPUs come apart to it
    ck_assert(isinf(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUSH(1), &s, line, &memory)));
}
END_TEST

static cost_form cheapest(cost_coll k, const cost_shards *s, double *sec)
{
    cost_forms each = cost_forms_of(k, s->n, true);
    for (int i = 0; i < each.n; i++)
        each.sec[i] =
            cost_collective(k, each.form[i], s, line) + cost_pack_bytes(k, each.form[i], s) / 1e12;
    int best = cost_cheapest(&each);
    *sec = each.sec[best];
    return each.form[best];
}

START_TEST(the_cheapest_form)
{
    double sec;
    static const int64_t even[] = {5, 5, 5, 5}, steep[] = {97, 1, 1, 1}, mild[] = {26, 25, 25, 24};
    cost_shards s = {.n = 4, .table = even, .bytes = 100e3, .apart = 1};
    ck_assert_int_eq(cheapest(COST_ALL_GATHER, &s, &sec), COST_EVEN);
    near(sec, 3 * (10e-6 + 25e-6));
    s.table = steep; // padded moves 3 * 97 kB, grouped 99 kB
    ck_assert_int_eq(cheapest(COST_ALL_GATHER, &s, &sec), COST_GROUPED);
    near(sec, 4 * 10e-6 + 99e-6);
    s.table = mild;
    s.bytes = 100; // latency decides: 3 against 4, and send/recv needs no packing
    ck_assert_int_eq(cheapest(COST_ALL_GATHER, &s, &sec), COST_SENDRECV);
    s.table = NULL;
    ck_assert_int_eq(cheapest(COST_ALL_REDUCE, &s, &sec), COST_FLAT);
}
END_TEST

// On equal shards the native form and send/recv move the same: rounding must not decide.
START_TEST(even_shards_are_gathered_natively)
{
    double sec;
    for (int64_t rows = 1; rows <= 200; rows++)
        for (int n = 2; n <= 7; n++) {
            int64_t table[7];
            for (int i = 0; i < n; i++)
                table[i] = rows;
            cost_shards s = {.n = n, .table = table, .bytes = (double)(rows * n * 12)};
            for (int lead = 0; lead < 2; lead++) {
                s.apart = lead;
                ck_assert_int_eq(cheapest(COST_ALL_GATHER, &s, &sec), COST_EVEN);
            }
        }
}
END_TEST

START_TEST(names_and_existence)
{
    static const char *const name[COST_PUSHED + 1] = {"A", "B", "C", "D", "E", "F", "G", "PUSH"};
    int n = 0;
    for (cost_coll k = COST_ALL_GATHER; k <= COST_RECUT; k++)
        for (int i = COST_EVEN; i <= COST_PUSHED; i++)
            n += cost_form_exists(k, i < COST_PUSHED ? (cost_form)i : COST_PUSH(3));
    ck_assert_int_eq(n, 5 + 6 + 3 + 3 + 2); // pushes of all but recut
    ck_assert(!cost_form_exists(COST_ALL_GATHER, COST_PUSH(0)));
    ck_assert(!cost_form_exists(COST_ALL_GATHER, COST_PUSH(-1)));
    ck_assert_str_eq(cost_coll_name(COST_RECUT), "recut");
    ck_assert_str_eq(cost_form_name(COST_PUSH(3)).s, "push(3)");
    ck_assert_str_eq(cost_form_name(COST_TWO_LEVEL).s, "two_level");
    static const struct {
        const char *text;
        int form; // -1: none
    } row[] = {{"A", COST_EVEN},
               {"G", COST_TWO_LEVEL},
               {"PUSH(1)", COST_PUSH(1)},
               {"PUSH(0)", COST_PUSH(0)},
               {"PUSH(65535)", COST_PUSH(65535)},
               {"PUSH", -1},
               {"PUSH()", -1},
               {"PUSH(2", -1},
               {"PUSH(-1)", -1},
               {"PUSH(2) ", -1},
               {"PUSH(2x)", -1},
               {"PUSH(99999999)", -1},
               {"PUSX(2)", -1},
               {"", -1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        cost_form f;
        bool is = cost_form_read((hb_str){row[i].text, strlen(row[i].text)}, name, &f);
        ck_assert_msg(is == (row[i].form >= 0) && (!is || (int)f == row[i].form), "%s",
                      row[i].text);
    }
}
END_TEST

// Of the library's and 1, n - 1, 2, 4, ... copies in flight, each once.
START_TEST(which_forms_are_looked_at)
{
    static const int want[][8] = {
        {2, 1},          {3, 1, 2},       {4, 1, 3, 2},        {5, 1, 4, 2},
        {6, 1, 5, 2, 4}, {9, 1, 8, 2, 4}, {16, 1, 15, 2, 4, 8}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        cost_forms x = cost_forms_of(COST_ALL_REDUCE, want[i][0], true);
        int k = 2;
        ck_assert(x.form[0] == COST_FLAT && x.form[1] == COST_TWO_LEVEL);
        for (; k < x.n; k++)
            ck_assert_int_eq(x.form[k], COST_PUSH(want[i][k - 1]));
        ck_assert(k > 6 || want[i][k - 1] == 0);
    }
    ck_assert_int_eq(cost_forms_of(COST_ALL_REDUCE, 8, false).n, 2);
    ck_assert_int_eq(cost_forms_of(COST_RECUT, 8, true).n, 2);
    cost_forms most = cost_forms_of(COST_REDUCE_SCATTER, 1 << 20, true);
    ck_assert(most.n <= COST_MAX_FORMS && most.form[most.n - 1] >= COST_PUSH(1 << 14));
}
END_TEST

// --- measured curves ---
static cost_curves *curves_of(const char *text, hb_str *said)
{
    char path[] = "/tmp/hap-curves-XXXXXX", *buf;
    size_t n;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert(hb_write_file(path, hb_str_c(arena, text)));
    hb_diag *d = hb_diag_new(arena);
    cost_curves *k = cost_curves_read(arena, path, d);
    unlink(path);
    ck_assert_int_eq(k == NULL, hb_diag_count(d) > 0);
    FILE *f = open_memstream(&buf, &n);
    hb_diag_print(d, f);
    fclose(f);
    *said = hb_str_n(arena, buf, n);
    free(buf);
    return k;
}

#define HEAD "{\"format\":\"hap.curves\",\"version\":1,"
#define COLL(kind, form, n, axis)                                                                  \
    "{\"kind\":\"" kind "\",\"form\":\"" form "\",\"n\":" n ",\"axis_kind\":\"" axis               \
    "\",\"points\":[[1000,1e-5],[1e6,1e-3]]}"

START_TEST(curves_are_interpolated)
{
    hb_str said;
    cost_curves *k =
        curves_of(HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1e6,1e-5],[1e8,1e-4],"
                       "[1e9,1e-3]]},\"gelu\":{\"f32\":[[4096,2e-6]]}}}}",
                  &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_model m = {.cluster = &cluster, .curves = k, .math = COST_F32};
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1), 1e-4);
    near(cost_op(&m, 0, IR_OP_linear, 1e7, 1), sqrt(1e-5 * 1e-4)); // half way in both logarithms
    near(cost_op(&m, 0, IR_OP_linear, 3, 1), 1e-5);
    near(cost_op(&m, 0, IR_OP_linear, 5e9, 1), 5e-3);
    near(cost_op(&m, 0, IR_OP_gelu, 1, 8192), 4e-6);               // by bytes
    near(cost_op(&m, 0, IR_OP_matmul, 6e9, 1), 6e9 / 6e12 + 2e-6); // no curve: formula
    near(cost_op(&m, 1, IR_OP_linear, 3e9, 1), 3e9 / 30e9 + 1e-6); // another class
    m.math = COST_BF16;
    near(cost_op(&m, 0, IR_OP_linear, 6e9, 1), 6e9 / 60e12 + 2e-6); // another dtype
    k = curves_of(HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1,1]]}},"
                       "\"G/64sms\":{\"linear\":{\"f32\":[[1,2]]}}}}",
                  &said);
    m = (cost_model){.cluster = &cluster, .curves = k, .math = COST_F32};
    near(cost_op(&m, 0, IR_OP_linear, 1, 1), 2); // the class before the model
}
END_TEST

// Dense ops by families of flop per byte; types, "other" and "copy".
START_TEST(curves_have_families_and_stand_ins)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD
        "\"classes\":{\"G\":{\"linear\":{\"bf16\":[[10,1e6,4e-5],[10,1e8,4e-3],[1000,1e6,1e-5],"
        "[1000,1e8,1e-3]]},\"gelu\":{\"f32\":[[1000,1e-6],[1e6,1e-3]]},"
        "\"other\":{\"f32\":[[1000,3e-6]]},\"copy\":{\"f32\":[[1000,7e-6]]}}}}",
        &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_model m = {.cluster = &cluster, .curves = k, .math = COST_BF16};
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e5), 1e-3);
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e7), 4e-3);
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e6), 2e-3);               // half way between families
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 1e8), 4e-2);               // thinner: by bytes
    near(cost_op(&m, 0, IR_OP_linear, 1e8, 10), 1e-3);                // as the last family
    near(cost_op(&m, 0, IR_OP_gelu, 1, 1e6), 1e-3);                   // no bf16: the f32 curve
    near(cost_op(&m, 0, IR_OP_relu, 1, 1000), 3e-6);                  // no curve: other
    near(cost_op(&m, 0, IR_OP_matmul, 6e9, 8e6), 6e9 / 60e12 + 2e-6); // dense: no stand-in
    near(cost_copy(&m, 0, 1000), 14e-6);
    ck_assert(cost_op_measured(&m, 0, IR_OP_relu) && !cost_op_measured(&m, 0, IR_OP_matmul));
    ck_assert(!cost_op_measured(&m, 1, IR_OP_relu)); // another class
    m.math = COST_F32;
    near(cost_op(&m, 0, IR_OP_linear, 6e9, 8e6), 6e9 / 6e12 + 2e-6); // dense: by its own dtype
}
END_TEST

// Parts of an op take no less together than is said of the whole, launches apart.
START_TEST(parts_take_no_less)
{
    hb_str said;
    cost_curves *k =
        curves_of(HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1e6,1e-5],[1e8,1e-4],"
                       "[1e9,3e-3]]},\"gelu\":{\"f32\":[[4096,2e-6]]},\"linear_dw\":{\"f32\":"
                       "[[3,1e6,3e-5],[4,1e9,1e-3],[300,1e7,5e-6],[301,2e8,1e-3]]}}}}",
                  &said);
    static const ir_op ops[] = {IR_OP_linear, IR_OP_gelu, IR_OP_matmul, IR_OP_linear_dw};
    ck_assert_msg(k != NULL, "%s", said.p);
    for (int i = 0; i < 4 * 2 * 6 * 40; i++) {
        cost_model m = {.cluster = &cluster, .curves = i % 2 ? k : NULL, .math = COST_F32};
        ir_op op = ops[i / 2 % 4];
        double flops = pow(10, 5 + i / 8 % 6), bytes = flops / 30, launch;
        double least = cost_op_least(&m, 0, op, flops, bytes, &launch);
        double share = (i / 48 + 0.5) / 40, sum = 0;
        for (double left = 1; left > 1e-12; left -= fmin(share, left))
            sum +=
                cost_op(&m, 0, op, flops * fmin(share, left), bytes * fmin(share, left)) - launch;
        ck_assert_msg(sum >= least * (1 - 1e-9), "%s of %g: parts of %g take %g, least %g",
                      ir_row(op)->name, flops, share, sum, least);
        ck_assert(least + launch <= cost_op(&m, 0, op, flops, bytes) * (1 + 1e-9));
    }
    double launch;
    ck_assert_double_eq(
        cost_op_least(&(cost_model){.cluster = &cluster}, 0, IR_OP_linear, 0, 0, &launch), 0);
}
END_TEST

static double form(const cost_model *m, cost_coll k, cost_form f, const cost_shards *s, cl_link l)
{
    return cost_form_seconds(m, k, f, s, l, &(cost_memory){.bandwidth = 1e9});
}

START_TEST(collectives_by_curve)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD
        "\"classes\":{},\"collectives\":[" COLL("all_gather", "even", "4", "inside") "," COLL("all_gather", "padded", "4", "inside") "," COLL(
            "all_gather", "grouped", "4",
            "inside") "," COLL("all_gather", "sendrecv", "4",
                               "inside") "," COLL("reduce_scatter", "even_flat", "4",
                                                  "inside") "," COLL("all_reduce", "flat", "2",
                                                                     "between") "," COLL("recut",
                                                                                         "even",
                                                                                         "4",
                                                                                         "inside") "," COLL("all_to_all",
                                                                                                            "even",
                                                                                                            "4",
                                                                                                            "inside") "]}",
        &said);
    static const int64_t even[] = {5, 5, 5, 5}, table[] = {4, 3, 2, 1};
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_model m = {.cluster = &cluster, .curves = k};
    cost_shards s = {.n = 4, .table = even, .table2 = table, .bytes = 1e5, .apart = 1};
    double at1e5 = 1e-5 * pow(100, 2.0 / 3); // log-log between the points
    for (cost_form f = COST_EVEN; f <= COST_SENDRECV; f++)
        near(form(&m, COST_ALL_GATHER, f, &s, line), at1e5);
    // Even parts of 25 kB: each pair exchanges 6.25 kB, a point of its own meaning.
    near(cost_even_bytes(COST_ALL_TO_ALL, COST_EVEN,
                         &(cost_shards){.n = 4, .table = even, .table2 = even, .bytes = 1e5}, line),
         1e5);
    // 40, 30, 20 and 10 kB: padded as 4 * 40, grouped as 90 of 75, send/recv as 3 * 40 of 75.
    s.table = table;
    s.table2 = even;
    ck_assert(isinf(form(&m, COST_ALL_GATHER, COST_EVEN, &s, line)));
    near(form(&m, COST_ALL_GATHER, COST_PADDED, &s, line), 1e-5 * pow(160, 2.0 / 3));
    near(form(&m, COST_ALL_GATHER, COST_GROUPED, &s, line), 1e-5 * pow(120, 2.0 / 3));
    near(form(&m, COST_ALL_GATHER, COST_SENDRECV, &s, line), 1e-5 * pow(160, 2.0 / 3));
    // What crosses afterwards is by formula: 20 kB and one partner.
    near(form(&m, COST_REDUCE_SCATTER, COST_EVEN_FLAT, &s, line), at1e5 + 10e-6 + 20e-6);
    near(form(&m, COST_RECUT, COST_EVEN, &s, line), 1e-5 * pow(20, 2.0 / 3)); // the busiest: 20 kB
    // Only the packing that a leading cut does not need comes on top.
    s.apart = 0;
    near(form(&m, COST_ALL_GATHER, COST_GROUPED, &s, line), 1e-5 * pow(120, 2.0 / 3) + 2e5 / 1e9);
    near(form(&m, COST_ALL_GATHER, COST_PADDED, &s, line), 1e-5 * pow(160, 2.0 / 3));
    // No curve: the formula. Other axis kind: the formula. Other n: scaled by it.
    s.apart = 1;
    near(form(&m, COST_REDUCE_SCATTER, COST_PADDED, &s, line),
         3 * (10e-6 + 40e-6) + cost_pack_bytes(COST_REDUCE_SCATTER, COST_PADDED, &s) / 1e9);
    cl_link far = {.bandwidth = 1e9, .latency = 1e-5, .crosses = true, .groups = 1};
    near(form(&m, COST_ALL_GATHER, COST_GROUPED, &s, far), 4 * 10e-6 + 90e-6);
    s = (cost_shards){.n = 8, .bytes = 1e5};
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, far),
         at1e5 * (7 * (10e-6 + 12.5e-6)) / (1 * (10e-6 + 50e-6)));
    s.n = 2;
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, far), at1e5);
    far.groups = 3; // a third of the link each
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, far), 1e-5 * pow(300, 2.0 / 3));
    // Two levels: the gather inside by the curve of 4, scaled; between by its curve.
    s = (cost_shards){.n = 4, .bytes = 2e5, .n_inner = 2, .inner = line, .between = far};
    s.between.groups = 1;
    near(form(&m, COST_ALL_REDUCE, COST_TWO_LEVEL, &s, far),
         at1e5 + (10e-6 + 100e-6) * (1 + 1e-5 * pow(200, 2.0 / 3) / (3 * (10e-6 + 50e-6))) +
             cost_pack_bytes(COST_ALL_REDUCE, COST_TWO_LEVEL, &s) / 1e9);
    ck_assert(cost_coll_measured(&m, COST_RECUT, COST_EVEN, 2, false) &&
              !cost_coll_measured(&m, COST_RECUT, COST_EVEN, 2, true));
    m.curves = NULL;
    near(form(&m, COST_ALL_REDUCE, COST_FLAT, &s, line), 2 * 3 * (10e-6 + 50e-6));
}
END_TEST

// Of a number of ranks, of pushes: seconds of 100 kB.
#define PUSHED(form, n, sec)                                                                       \
    "{\"kind\":\"all_gather\",\"form\":\"" form "\",\"n\":" n                                      \
    ",\"axis_kind\":\"inside\",\"points\":[[1e5," sec "]]}"

static double pushed(const cost_model *m, int copies, int n)
{
    static const cl_link near_by = {.bandwidth = 1e9, .latency = 1e-5, .peer = true};
    static const int64_t even[] = {5, 5, 5, 5, 5, 5, 5, 5};
    cost_shards s = {.n = n, .table = even, .bytes = 1e5, .apart = 1};
    return form(m, COST_ALL_GATHER, COST_PUSH(copies), &s, near_by);
}

// By formula; 100 kB among n ranks.
static double pushed_by_formula(int copies, int n)
{
    cost_model m = {.cluster = &cluster};
    return pushed(&m, copies, n);
}

static bool is_measured(const cost_model *m, int copies, int n)
{
    return cost_coll_measured(m, COST_ALL_GATHER, COST_PUSH(copies), n, false);
}

// By its own curve, by that of the nearest number of copies, or, of other ranks, by that as the
// formulas say; all copies of some ranks stand for all of others.
START_TEST(pushes_by_curve)
{
    hb_str said;
    cost_model m = {.cluster = &cluster};
    m.curves =
        curves_of(HEAD "\"classes\":{},\"collectives\":[" PUSHED("push(1)", "4", "1e-3") "," PUSHED(
                      "push(2)", "4", "2e-3") "," PUSHED("push(3)", "4", "3e-3") "]}",
                  &said);
    ck_assert_msg(m.curves != NULL, "%s", said.p);
    for (int k = 1; k <= 3; k++) {
        near(pushed(&m, k, 4), 1e-3 * k);
        ck_assert(is_measured(&m, k, 4));
    }
    near(pushed(&m, 1, 8), 1e-3 * pushed_by_formula(1, 8) / pushed_by_formula(1, 4));
    near(pushed(&m, 2, 8), 2e-3 * pushed_by_formula(2, 8) / pushed_by_formula(2, 4));
    near(pushed(&m, 7, 8), 3e-3 * pushed_by_formula(7, 8) / pushed_by_formula(3, 4));
    near(pushed(&m, 3, 8), 2e-3 * pushed_by_formula(2, 8) / pushed_by_formula(2, 4));
    near(pushed(&m, 4, 8), pushed(&m, 7, 8));
    ck_assert(is_measured(&m, 2, 8) && is_measured(&m, 7, 8));
    ck_assert(!is_measured(&m, 3, 8) && !is_measured(&m, 4, 8));
    // By the names of before: one, and all. Two ranks have both, of which the first counts.
    m.curves = curves_of(
        HEAD "\"classes\":{},\"collectives\":[" PUSHED("push", "2", "1e-3") "," PUSHED(
            "push", "4", "2e-3") "," PUSHED("push_all", "2",
                                            "3e-3") "," PUSHED("push_all", "3",
                                                               "4e-3") "," PUSHED("push_all", "4",
                                                                                  "5e-3") "]}",
        &said);
    ck_assert_msg(m.curves != NULL, "%s", said.p);
    near(pushed(&m, 1, 2), 1e-3);
    near(pushed(&m, 2, 3), 4e-3);
    near(pushed(&m, 1, 4), 2e-3);
    near(pushed(&m, 3, 4), 5e-3);
    near(pushed(&m, 2, 4), 5e-3); // 3 is nearer to 2 than 1 is
    ck_assert(is_measured(&m, 3, 4) && !is_measured(&m, 2, 4));
    cost_forms x = cost_forms_of(COST_ALL_GATHER, 4, true);
    for (int i = 0; i < x.n; i++) // what was not measured is not chosen before what was
        x.sec[i] = cost_is_push(x.form[i]) ? pushed(&m, 3, 4) : 1;
    x.sec[x.n - 3] = 1;
    ck_assert_int_eq(x.form[cost_cheapest(&x)], COST_PUSH(3));
    // Of two ranks alone: what is nearer.
    m.curves = curves_of(
        HEAD "\"classes\":{},\"collectives\":[" PUSHED("push(1)", "2", "1e-3") "]}", &said);
    near(pushed(&m, 1, 4), 1e-3 * pushed_by_formula(1, 4) / pushed_by_formula(1, 2));
    near(pushed(&m, 3, 4), 1e-3 * pushed_by_formula(3, 4) / pushed_by_formula(1, 2));
}
END_TEST

// Several copies that took as long as one, or a little less, are not preferred to it.
START_TEST(copies_by_luck)
{
    hb_str said;
    cost_model m = {.cluster = &cluster};
    m.curves =
        curves_of(HEAD "\"classes\":{},\"collectives\":[" PUSHED("push(1)", "4", "1e-3") "," PUSHED(
                      "push(2)", "4", "5e-4") "," PUSHED("push(3)", "4", "97e-5") "]}",
                  &said);
    ck_assert_msg(m.curves != NULL, "%s", said.p);
    near(pushed(&m, 1, 4), 1e-3);
    near(pushed(&m, 2, 4), 6e-4);
    near(pushed(&m, 3, 4), 11e-4);
}
END_TEST

START_TEST(contention_reaches_the_classes)
{
    hb_str said;
    cost_curves *k =
        curves_of(HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"compute\":1.25,"
                       "\"communication\":1.5}]}",
                  &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].compute_beside, 1.25); // by its model
    ck_assert_double_eq(cls[0].communication_beside, 1.5);
    ck_assert_double_eq(cls[1].compute_beside, 0);
    cost_beside b = cost_beside_of(&cls[0]), none = cost_beside_of(&cls[1]);
    ck_assert_double_eq(b.of[0].compute, 1.25);
    ck_assert_double_eq(b.of[1].compute, 1.05); // what pushes were seen to cost elsewhere
    ck_assert_double_eq(none.of[0].compute, 1);
    ck_assert_double_eq(none.of[1].communication, 1);
    none = cost_beside_of(&(cl_class){.kind = CL_GPU}); // what an H200 showed
    ck_assert_double_eq(none.of[0].compute, 2.3);
    ck_assert_double_eq(none.of[1].compute, 1.05);
    k = curves_of(HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"form\":\"push\","
                       "\"compute\":1.125,\"communication\":1}]}",
                  &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    b = cost_beside_of(&cls[0]);
    ck_assert_double_eq(b.of[0].compute, 1.25);
    ck_assert_double_eq(b.of[1].compute, 1.125);
    ck_assert_double_eq(b.of[1].communication, 1);
}
END_TEST

START_TEST(pairs_reach_the_classes)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD "\"classes\":{},\"pairs\":[{\"class\":\"G\",\"gap\":4e-6,\"flag\":9e-6}]}", &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].pair_gap, 4e-6);
    ck_assert_double_eq(cls[0].pair_flag, 9e-6);
    ck_assert_double_eq(cls[1].pair_gap, 0);
}
END_TEST

START_TEST(stretches_reach_the_classes)
{
    hb_str said;
    cost_curves *k = curves_of(
        HEAD "\"classes\":{},\"runs\":[{\"class\":\"G\",\"push\":6e-10,\"pack\":2e-10}]}", &said);
    ck_assert_msg(k != NULL, "%s", said.p);
    cost_apply_curves(k, &cluster);
    ck_assert_double_eq(cls[0].run_push, 6e-10);
    ck_assert_double_eq(cls[0].run_pack, 2e-10);
    ck_assert_double_eq(cls[1].run_push, 0);
}
END_TEST

START_TEST(bad_curves_are_errors)
{
    static const struct {
        const char *text, *error;
    } row[] = {
        {"{}", "expected \"format\": \"hap.curves\""},
        {HEAD "\"classes\":{}", "error"},
        {HEAD "\"clases\":{}}", "unknown key 'clases'"},
        {HEAD "\"contention\":[]}", "missing key 'classes'"},
        {HEAD "\"classes\":{},\"collectives\":3}", "expected a list"},
        {HEAD "\"classes\":{},\"collectives\":[{\"kind\":\"all_gather\"}]}", "missing key 'form'"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("all_gather", "flat", "2", "inside") "]}",
         "no form 'flat' of all_gather"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("recut", "push(1)", "2", "inside") "]}",
         "no form 'push(1)' of recut"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("all_gather", "push(0)", "2", "inside") "]}",
         "no form 'push(0)' of all_gather"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("all_gather", "push(4)", "4", "inside") "]}",
         "no form 'push(4)' of all_gather of 4 ranks"},
        {HEAD
         "\"classes\":{},\"collectives\":[" COLL("all_gather", "push(1)", "4", "inside") "," COLL(
             "all_gather", "push", "4", "inside") "]}",
         "must ascend in n"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("gather", "even", "2", "inside") "]}",
         "no collective 'gather'"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("recut", "even", "1", "inside") "]}",
         "2 ranks or more"},
        {HEAD "\"classes\":{},\"collectives\":[" COLL("recut", "even", "2", "out") "]}",
         "'inside' or 'between'"},
        {HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"form\":\"even\",\"compute\":1,"
              "\"communication\":1}]}",
         "a contention is beside 'push'"},
        {HEAD "\"classes\":{},\"contention\":[{\"class\":\"G\",\"compute\":0.5,"
              "\"communication\":1}]}",
         "at least 1"},
        {HEAD "\"classes\":{},\"pairs\":[{\"class\":\"G\",\"gap\":-1,\"flag\":0}]}", "in seconds"},
        {HEAD "\"classes\":{},\"runs\":[{\"class\":\"G\",\"push\":2,\"pack\":0}]}", "in seconds"},
        {HEAD "\"classes\":{},\"runs\":[3]}", "expected {class, push, pack}"},
        {HEAD "\"classes\":{},\"pairs\":[{\"gap\":1e-6,\"flag\":0}]}", "missing key 'class'"},
        {HEAD "\"classes\":{\"G\":{\"linnear\":{\"f32\":[[1,1]]}}}}", "no row of the op table"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[2,1,1],[1,3,1]]}}}}",
         "flop per byte ascends in a family"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f64\":[[1,1]]}}}}", "unknown key 'f64'"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[]}}}}", "a curve without points"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1,2,3,4]]}}}}",
         "expected [size, seconds]"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[1,-2]]}}}}", "all positive"},
        {HEAD "\"classes\":{\"G\":{\"linear\":{\"f32\":[[2,1],[2,1]]}}}}", "sizes must ascend"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hb_str said;
        ck_assert_ptr_null(curves_of(row[i].text, &said));
        ck_assert_msg(strstr(said.p, row[i].error), "%s: %s", row[i].text, said.p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cost");
    TCase *c = tcase_create("cost");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, ops_by_roofline);
    tcase_add_test(c, gather_and_scatter);
    tcase_add_test(c, all_reduce);
    tcase_add_test(c, pushes);
    tcase_add_test(c, stretches_of_memory);
    tcase_add_test(c, short_stretches_take_a_time_each);
    tcase_add_test(c, all_to_all_and_recut);
    tcase_add_test(c, recut_by_brute_force);
    tcase_add_test(c, packing);
    tcase_add_test(c, scratch);
    tcase_add_test(c, the_cheapest_form);
    tcase_add_test(c, even_shards_are_gathered_natively);
    tcase_add_test(c, names_and_existence);
    tcase_add_test(c, which_forms_are_looked_at);
    tcase_add_test(c, pushes_by_curve);
    tcase_add_test(c, copies_by_luck);
    tcase_add_test(c, curves_are_interpolated);
    tcase_add_test(c, curves_have_families_and_stand_ins);
    tcase_add_test(c, collectives_by_curve);
    tcase_add_test(c, contention_reaches_the_classes);
    tcase_add_test(c, pairs_reach_the_classes);
    tcase_add_test(c, stretches_reach_the_classes);
    tcase_add_test(c, parts_take_no_less);
    tcase_add_test(c, bad_curves_are_errors);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
