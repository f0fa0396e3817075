#include "costmodel/cost.h"

#include <check.h>
#include <math.h>

#include "tests/support/cost_classes.h"

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
    // Of few channels a group: by the f32 peak, whatever the precision; on a CPU as others.
    m.math = COST_BF16;
    near(cost_op_narrow(&m, 0, IR_OP_conv, 6e9), 6e9 / (0.23 * 10e12) + 2e-6);
    ck_assert_double_eq(cost_op_narrow(&m, 1, IR_OP_conv, 6e9), 0);
    ck_assert_double_eq(cost_op_narrow(&m, 0, IR_OP_conv, 0), 0);
    // Rows that are laid by expert are read and written, behind kernels that sort and list them.
    near(cost_op_gathered(&m, 0, IR_OP_expert_linear, 4e6), 8e6 / (0.8 * 1e12) + 3 * 2e-6);
    near(cost_op_gathered(&m, 1, IR_OP_expert_linear_dw, 4e6), 8e6 / (0.8 * 10e9) + 3 * 1e-6);
    ck_assert_double_eq(cost_op_gathered(&m, 0, IR_OP_expert_linear, 0), 0);
    near(cost_launch(&m, 0), 2e-6);
    near(cost_launch(&m, 1), 1e-6);
    near(cost_copy(&m, 1, 5e6), 1e-3 + 1e-6); // read and written
    ck_assert_double_eq(cost_copy(&m, 1, 0), 0);
}
END_TEST

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

START_TEST(all_to_all_and_reshard)
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
    near(wire(COST_RESHARD, COST_EVEN, &r), 4 * 10e-6 + 30e-6);
    // Rank 1 sends to 2 and 3, rank 2 to 3 and 4, rank 3 receives from 1 and 2.
    near(wire(COST_RESHARD, COST_SENDRECV, &r), 2 * 10e-6 + 30e-6);
    r.table2 = from;
    ck_assert_double_eq(wire(COST_RESHARD, COST_SENDRECV, &r), 0);
    ck_assert(isinf(wire(COST_RESHARD, COST_PADDED, &r)));
    // Empty sides exchange nothing.
    static const int64_t all[] = {8, 0}, none[] = {0, 8};
    cost_shards e = {.n = 2, .table = all, .table2 = none, .bytes = 80e3};
    near(wire(COST_ALL_TO_ALL, COST_SENDRECV, &e), 10e-6 + 80e-6);
    near(wire(COST_RESHARD, COST_SENDRECV, &e), 10e-6 + 80e-6);
}
END_TEST

// Boundaries of many ranks against a direct count.
START_TEST(reshard_by_brute_force)
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
        ck_assert_double_eq_tol(wire(COST_RESHARD, COST_SENDRECV, &s),
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
    ck_assert_double_eq(cost_pack_bytes(COST_RESHARD, COST_EVEN, &s), 2 * (3000 + 2000));
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
        {COST_ALL_GATHER, COST_PUT(1), false, 0},
        {COST_ALL_TO_ALL, COST_PUT(2), true, 0},
        {COST_REDUCE_SCATTER, COST_PUT(1), false, 9216}, // 3 slots of 3000 up to 256
        {COST_ALL_REDUCE, COST_PUT(2), true, 5376},      // 3 slots of 417 * 4 up to 256
        {COST_RESHARD, COST_SENDRECV, true, 6144},
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

// Between peers: one one-sided put at a time has 0.95 of the link and 7 us each; one to every other
// rank at a time 0.54 and 5 us for each but the first; what lies between in proportion; the library
// 0.8.
START_TEST(one_sided_puts)
{
    static const int64_t table[] = {4, 3, 2, 1}, to[] = {1, 1, 1, 1};
    static const cl_link near_by = {.bandwidth = 1e9, .latency = 1e-5, .peer = true};
    cost_shards s = {.n = 4, .table = table, .table2 = to, .bytes = 100e3, .apart = 1};
    for (cost_coll k = COST_ALL_GATHER; k <= COST_RESHARD; k++) {
        ck_assert(isinf(wire(k, COST_PUT(1), &s)) && isinf(wire(k, COST_PUT(3), &s)));
        ck_assert_int_eq(isinf(cost_collective(k, COST_PUT(1), &s, near_by)), k == COST_RESHARD);
    }
    for (cost_coll k = COST_ALL_GATHER; k <= COST_REDUCE_SCATTER; k++) {
        near(cost_collective(k, COST_PUT(1), &s, near_by), 3 * 7e-6 + 120e-6 / 0.95);
        near(cost_collective(k, COST_PUT(3), &s, near_by), 17e-6 + 120e-6 / 0.54);
        near(cost_collective(k, COST_PUT(2), &s, near_by), 19e-6 + 120e-6 / 0.745);
        near(cost_collective(k, COST_PADDED, &s, near_by), 3 * 10e-6 + 120e-6 / 0.8);
        near(cost_even_bytes(k, COST_PUT(1), &s, near_by), 160e3);
    }
    near(cost_collective(COST_ALL_REDUCE, COST_PUT(1), &s, near_by), 2 * (3 * 7e-6 + 75e-6 / 0.95));
    near(cost_collective(COST_ALL_REDUCE, COST_FLAT, &s, near_by), 2 * (3 * 10e-6 + 75e-6 / 0.8));
    near(cost_collective(COST_ALL_REDUCE, COST_PUT(2), &s, near_by), 2 * (19e-6 + 75e-6 / 0.745));
    // Rank 0 holds 40 kB of one cut and 25 kB of the other, 10 of them of both.
    near(cost_collective(COST_ALL_TO_ALL, COST_PUT(3), &s, near_by), 17e-6 + 30e-6 / 0.54);
    ck_assert_double_eq(cost_pack_bytes(COST_ALL_GATHER, COST_PUT(1), &s), 0);
    near(cost_pack_bytes(COST_REDUCE_SCATTER, COST_PUT(1), &s), 5 * 40e3); // reads 4, writes 1
    near(cost_pack_bytes(COST_ALL_REDUCE, COST_PUT(1), &s), 5 * 25e3);
    s = (cost_shards){.n = 2, .bytes = 80e3}; // to one peer one is all
    near(cost_collective(COST_ALL_REDUCE, COST_PUT(1), &s, near_by), 2 * (7e-6 + 40e-6 / 0.95));
}
END_TEST

// Two ranks' rows [4, 4] of [8 rows, 6, 8 heads, 8] become heads [3, 5] and the other way round.
START_TEST(runs_of_memory)
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

// A one-sided put copies run by run: half a nanosecond each where it was not measured.
START_TEST(short_stretches_take_a_time_each)
{
    static const int64_t even[] = {4, 4, 4, 4};
    static const cl_link fast = {.bandwidth = 400e9, .latency = 1e-6, .peer = true};
    cl_class c = {.kind = CL_CPU, .memory_bandwidth = 4e12};
    cost_memory memory = {0};
    cost_memory_add(&memory, &c);
    cost_model m = {.cluster = &cluster};
    cost_shards s = {.n = 4, .table = even, .table2 = even, .bytes = 1.6e8, .apart = 1};
    // 30 MB leave a rank: in runs of 1600 bytes, then of 16.
    double few = 1e5, many = 1e7, bytes = 3 * 7e-6 + 30e6 / (0.95 * 400e9) + 2 * 80e6 / 4e12;
    s.apart2 = few;
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUT(1), &s, fast, &memory), bytes);
    s.apart2 = many;
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUT(1), &s, fast, &memory),
         3 * 7e-6 + 0.75 * many * 0.5e-9);
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_EVEN, &s, fast, &memory),
         3 * 1e-6 + 30e6 / (0.8 * 400e9) + 2 * 80e6 / 4e12);
    // Measured on one of two classes; the slowest counts, and packing.
    cl_class measured = {
        .memory_bandwidth = 2e12, .stream = 1e12, .run_put = 2e-9, .run_pack = 1e-9};
    cost_memory_add(&memory, &measured);
    near(memory.bandwidth, 1e12); // what kernels were seen to move
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUT(3), &s, fast, &memory),
         72e-6 + 17e-6 + 0.75 * many * 2e-9);
    near(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_SENDRECV, &s, fast, &memory),
         12e-6 + 3 * 1e-6 + 0.75 * many * 1e-9); // GPUs come apart to it
    ck_assert(isinf(cost_form_seconds(&m, COST_ALL_TO_ALL, COST_PUT(1), &s, line, &memory)));
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
    static const char *const name[COST_PUTS + 1] = {"A", "B", "C", "D", "E", "F", "G", "PUT"};
    int n = 0;
    for (cost_coll k = COST_ALL_GATHER; k <= COST_RESHARD; k++)
        for (int i = COST_EVEN; i <= COST_PUTS; i++)
            n += cost_form_exists(k, i < COST_PUTS ? (cost_form)i : COST_PUT(3));
    ck_assert_int_eq(n, 5 + 6 + 3 + 3 + 2); // one-sided puts of all but reshard
    ck_assert(!cost_form_exists(COST_ALL_GATHER, COST_PUT(0)));
    ck_assert(!cost_form_exists(COST_ALL_GATHER, COST_PUT(-1)));
    ck_assert_str_eq(cost_coll_name(COST_RESHARD), "reshard");
    ck_assert_str_eq(cost_form_name(COST_PUT(3)).s, "put(3)");
    ck_assert_str_eq(cost_form_name(COST_TWO_LEVEL).s, "two_level");
    static const struct {
        const char *text;
        int form; // -1: none
    } row[] = {{"A", COST_EVEN},
               {"G", COST_TWO_LEVEL},
               {"PUT(1)", COST_PUT(1)},
               {"PUT(0)", COST_PUT(0)},
               {"PUT(65535)", COST_PUT(65535)},
               {"PUT", -1},
               {"PUT()", -1},
               {"PUT(2", -1},
               {"PUT(-1)", -1},
               {"PUT(2) ", -1},
               {"PUT(2x)", -1},
               {"PUT(99999999)", -1},
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
            ck_assert_int_eq(x.form[k], COST_PUT(want[i][k - 1]));
        ck_assert(k > 6 || want[i][k - 1] == 0);
    }
    ck_assert_int_eq(cost_forms_of(COST_ALL_REDUCE, 8, false).n, 2);
    ck_assert_int_eq(cost_forms_of(COST_RESHARD, 8, true).n, 2);
    cost_forms most = cost_forms_of(COST_REDUCE_SCATTER, 1 << 20, true);
    ck_assert(most.n <= COST_MAX_FORMS && most.form[most.n - 1] >= COST_PUT(1 << 14));
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
    tcase_add_test(c, one_sided_puts);
    tcase_add_test(c, runs_of_memory);
    tcase_add_test(c, short_stretches_take_a_time_each);
    tcase_add_test(c, all_to_all_and_reshard);
    tcase_add_test(c, reshard_by_brute_force);
    tcase_add_test(c, packing);
    tcase_add_test(c, scratch);
    tcase_add_test(c, the_cheapest_form);
    tcase_add_test(c, even_shards_are_gathered_natively);
    tcase_add_test(c, names_and_existence);
    tcase_add_test(c, which_forms_are_looked_at);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
