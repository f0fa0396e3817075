// Numbers that stand in the planner and, once more, in the runtime, which see nothing of each
// other.

#include <check.h>
#include <stdbool.h>

#include "core/coll_geometry.h"
#include "core/pair.h"
#include "core/put_turns.h"
#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_head_split.h"
#include "cuda/kernels/tile_list.h"
#include "hap/fusion_args.h"
#include "ir/graph.h"
#include "ir/runtime_limits.h"
#include "synth/passes/workspace.h"
#include "synth/plan/program.h"

typedef struct pair {
    const char *what;
    long long plan, run;
} pair;
#define PAIR(plan, run)                                                                            \
    {                                                                                              \
#        plan ", " #        run, plan, run                                                         \
    }

START_TEST(numbers_are_the_same)
{
    static const pair all[] = {
        PAIR(SYN_RECORD_GROUPS, HAP_PAIR_CHUNKS),
        PAIR(COST_SCRATCH_ALIGN, HAP_SCRATCH_ALIGN),
        PAIR(COST_TILE_MEMBERS, TILE_MEMBERS),
        PAIR(SYN_TILE_TURNS, HAP_TILE_TURNS),
        PAIR(SYN_TILE_SUMS, HAP_TILE_SUMS),
        PAIR(SYN_TILE_BY_ROWS, HAP_TILE_BY_ROWS),
        PAIR(SYN_TILE_STORES, HAP_TILE_STORES),
        PAIR(SYN_TILE_PARTS, HAP_TILE_PARTS),
        PAIR(SYN_TILE_FIRST, HAP_TILE_FIRST),
        PAIR(IR_CUDA_WARP_COLUMNS, CUDA_WARP_COLUMNS),
        PAIR(IR_CUDA_MIDDLE_COLUMNS, CUDA_MIDDLE_COLUMNS),
        PAIR(IR_CUDA_MIDDLE_THREADS, CUDA_MIDDLE_THREADS),
        PAIR(IR_CUDA_ROW_THREADS, CUDA_ROW_THREADS),
        PAIR(IR_CUDA_NORM_COLUMNS, CUDA_NORM_COLUMNS),
        PAIR(IR_CUDA_NORM_VECTOR, CUDA_NORM_VECTOR),
        PAIR(IR_CUDA_ADDED_ROWS, CUDA_ADDED_ROWS),
        PAIR(IR_CUDA_ADDED_COLUMNS, CUDA_ADDED_COLUMNS),
        PAIR(IR_CUDA_MAX_CHAIN, CUDA_MAX_CHAIN),
        PAIR(IR_CUDA_SMALL, CUDA_SMALL),
        PAIR(IR_CUDA_SPARE, CUDA_SPARE),
        PAIR(IR_CUDA_TURN, CUDA_TURN),
        PAIR(IR_CUDA_VECTOR, CUDA_VECTOR),
        PAIR(IR_CUDA_ROUND, CUDA_ROUND),
        PAIR(IR_CUDA_WORTH, CUDA_WORTH),
        PAIR(IR_CUDA_TILE_MIN, CUDA_TILE_MIN),
        PAIR(IR_CUDA_SHADOWS, CUDA_SHADOWS),
        PAIR(IR_CUDA_COLUMN_PARTS, CUDA_COLUMN_PARTS),
        PAIR(IR_CUDA_MOST_SUMS, CUDA_MOST_SUMS),
        PAIR(IR_CUDA_NUMBER_PARTS, CUDA_NUMBER_PARTS),
        PAIR(IR_CUDA_HEAD_ROWS, CUDA_HEAD_ROWS),
        PAIR(IR_CUDA_HEAD_KEYS, CUDA_HEAD_KEYS),
        PAIR(IR_CUDA_HEAD_WIDTH, CUDA_HEAD_WIDTH),
        PAIR(IR_CUDA_HEAD_SCORES, CUDA_HEAD_SCORES),
        PAIR(IR_CUDA_HEAD_ROOM, CUDA_HEAD_ROOM),
        PAIR(IR_CUDA_CONV_TIMES, CUDA_CONV_TIMES),
        PAIR(IR_CUDA_CONV_ROOM, CUDA_CONV_ROOM),
        PAIR(IR_CUDA_EXPERT_ROWS, CUDA_EXPERT_ROWS),
        PAIR(IR_CUDA_EXPERT_PAIR, CUDA_EXPERT_PAIR),
        PAIR(IR_CUDA_EXPERT_COLUMNS, CUDA_EXPERT_COLUMNS),
        PAIR(IR_CUDA_EXPERT_ENTRY, CUDA_EXPERT_ENTRY),
        PAIR(IR_CUDA_EXPERT_ENTRY, sizeof(tile_entry)),
        PAIR(IR_TURN_MEMBERS, HAP_TURN_MEMBERS),
        PAIR(IR_MAX_RANK, HAP_MAX_RANK),
        PAIR(IR_MAX_IN, HAP_MAX_IN),
        PAIR(IR_MAX_OUT, HAP_MAX_OUT),
        PAIR(IR_MAX_ATTR, HAP_MAX_ATTR),
        PAIR(SYN_MAX_AXES, HAP_MAX_AXES),
        PAIR(COST_ALL_GATHER, HAP_ALL_GATHER),
        PAIR(COST_REDUCE_SCATTER, HAP_REDUCE_SCATTER),
        PAIR(COST_ALL_REDUCE, HAP_ALL_REDUCE),
        PAIR(COST_ALL_TO_ALL, HAP_ALL_TO_ALL),
        PAIR(COST_RESHARD, HAP_RESHARD),
        PAIR(COST_EVEN, FORM_EVEN),
        PAIR(COST_PADDED, FORM_PADDED),
        PAIR(COST_GROUPED, FORM_GROUPED),
        PAIR(COST_SENDRECV, FORM_SENDRECV),
        PAIR(COST_EVEN_FLAT, FORM_EVEN_FLAT),
        PAIR(COST_FLAT, FORM_FLAT),
        PAIR(COST_TWO_LEVEL, FORM_TWO_LEVEL),
        PAIR(COST_PUT(1), FORM_PUT(1)),
        PAIR(COST_PUT(7), FORM_PUT(7)),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert_msg(all[i].plan == all[i].run, "%s: %lld and %lld", all[i].what, all[i].plan,
                      all[i].run);
}
END_TEST

// Workspace of a call of attention's backward pass: as cuDNN 9.19 asks for it on an H200 (verbose
// runs print it).
START_TEST(attention_takes_what_is_counted)
{
    static const int64_t asked[][7] = {
        // samples, key heads, query heads of each, queries, keys, width; bytes
        // clang-format off
        {1, 1, 1, 128, 128, 128, 33536},
        {1, 1, 1, 128, 256, 128, 66304},
        {1, 1, 1, 128, 384, 128, 99072},
        {1, 1, 1, 200, 301, 128, 197672},
        {1, 1, 1, 200, 128, 128, 66600},
        {1, 1, 1, 256, 640, 128, 328960},
        {1, 1, 2, 1024, 1024, 128, 5251328},
        {1, 1, 1, 200, 301, 80, 197672},
        {1, 1, 1, 200, 128, 80, 66600},
        {1, 1, 2, 1024, 1024, 80, 4858112},
        {1, 1, 1, 200, 301, 8, 197672},
        {1, 1, 1, 200, 128, 8, 66600},
        {1, 1, 2, 1024, 1024, 8, 4268288},
        {2, 2, 1, 200, 200, 128, 527760},
        {2, 2, 1, 200, 301, 128, 789904},
        {1, 1, 1, 1024, 1024, 128, 2101504},
        {1, 8, 1, 2048, 2048, 128, 67174656},
        {1, 6, 1, 8192, 8192, 128, 805503232},
        {1, 2, 2, 1024, 1024, 64, 9453824},
        {1, 2, 4, 1024, 1024, 64, 18907392},
        {1, 2, 2, 100, 177, 64, 445256},
        {1, 1, 1, 16416, 16384, 64, 4268424},
        {1, 2, 2, 16384, 16384, 64, 33816832},
        {1, 2, 2, 16384, 24000, 128, 82968832},
        {2, 2, 1, 16400, 16400, 64, 17056272},
        {1, 1, 1, 16400, 24001, 80, 5313864},
        {1, 1, 16, 1024, 1024, 64, 37814528},
        {1, 16, 1, 32768, 32768, 64, 136315136},
        {2, 2, 2, 160, 160, 64, 1119504},
        {2, 3, 1, 64, 128, 64, 100112},
        // clang-format on
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const int64_t *x = asked[i];
        ck_assert_int_eq(syn_attention_room(x[0], x[1], x[2], x[3], x[4], x[5]), x[6]);
    }
}
END_TEST

// Whatever the shape, the planner counts one call of those that the runtime makes; none grows with
// the square of the sequence beyond a limit.
START_TEST(attention_is_called_as_counted)
{
    static const int64_t lengths[] = {64, 100, 1024, 2048, 8192, 16384, 23000, 32768, 131072};
    static const int64_t heads[][3] = {{1, 1, 1}, {32, 12, 1}, {1, 32, 1}, {3, 7, 4}, {8, 2, 64}};
    for (size_t i = 0; i < 9 * 9 * 5 * 2; i++) {
        int64_t q = lengths[i % 9], k = lengths[i / 9 % 9], e = i / 405 ? 128 : 64;
        int64_t b = heads[i / 81 % 5][0], hk = heads[i / 81 % 5][1], group = heads[i / 81 % 5][2];
        cuda_head_split s = cuda_heads_at_once(b, hk, group, q, k);
        ck_assert(b % s.b == 0 && hk % s.hk == 0 && (s.hk == hk || s.b == 1));
        int64_t bytes = syn_attention_room(b, hk, group, q, k, e), n = s.b * s.hk * group;
        ck_assert_int_eq(bytes, syn_attention_room(s.b, s.hk, group, q, k, e));
        ck_assert_int_eq(s.ordered, syn_attention_ordered(group, q, k));
        ck_assert_int_eq(cuda_heads_room(b * hk * group, q, e),
                         syn_heads_room(b * hk * group, q, e));
        int64_t linear = 4 * n * (q * (e + 1) + k * e) + 8 * b + 256, scores = q * k * 2;
        if (!s.ordered) ck_assert(s.b == b && s.hk == hk && bytes <= linear);
        ck_assert_int_le(bytes, linear + ((int64_t)CUDA_HEAD_ROOM << 20));
        if (scores > (int64_t)CUDA_HEAD_SCORES << 20) ck_assert(!s.ordered);
        if (scores * group < (int64_t)CUDA_HEAD_SCORES << 19) ck_assert(s.ordered);
    }
}
END_TEST

START_TEST(plans_stay_within_the_runtime)
{
    static const pair all[] = {
        PAIR(SYN_PAIR_OPS, HAP_PAIR_OPS),      PAIR(SYN_PAIR_CHUNKS, HAP_PAIR_CHUNKS),
        PAIR(SYN_MAX_FUSION, CUDA_FUSION_OPS), PAIR(SYN_MAX_PARTS, HAP_FUSION_TENSORS),
        PAIR(IR_MAX_RANK, HAP_FUSION_RANK),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert_msg(all[i].plan <= all[i].run, "%s: %lld and %lld", all[i].what, all[i].plan,
                      all[i].run);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("limits");
    TCase *t = tcase_create("limits");
    tcase_add_test(t, numbers_are_the_same);
    tcase_add_test(t, attention_takes_what_is_counted);
    tcase_add_test(t, attention_is_called_as_counted);
    tcase_add_test(t, plans_stay_within_the_runtime);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
