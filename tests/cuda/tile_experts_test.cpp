// Rows by expert and the list of their tiles (kernels/tile_expert_list.h) without a device: what the
// kernel of tile_experts.cu computes and stores, tile by tile of the list, against sums row by row.
// Its threads write the list in any order. ops_bf16_cuda_test runs the kernel itself on devices.

#include <check.h>
#include <stdlib.h>
#include <vector>

#include "cuda/kernels/tile_expert_list.h"
#include "tests/support/cases.h"

using namespace tile;
typedef std::vector<int> ints;

static uint64_t state;
static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

// Rows that choose `held` experts or none of them, as sort_rows of cuda_experts.cu leaves them.
struct problem {
    int rows, held, k, n;
    ints expert, x_row, y_row, first, x_at, y_at;
    std::vector<tile_entry> entry;
    int places = -1, entries = -1;
    expert_list l = {};

    problem(int rows_, int held_, int k_, int n_, bool dw) : rows(rows_), held(held_), k(k_), n(n_)
    {
        const int crowd = below(held + 1); // one that many choose; held: none
        for (int r = 0; r < rows; r++)
            expert.push_back(crowd < held && below(2) ? crowd : below(held + 2) - 1);
        for (int e = 0; e <= held; e++) {
            first.push_back((int)x_row.size());
            for (int r = 0; r < rows && e < held; r++)
                if (expert[(size_t)r] == e) x_row.push_back(r / 2), y_row.push_back(r);
        }
        x_at.assign((size_t)expert_places(rows, held), -2);
        y_at.assign((size_t)expert_places(rows, held), -2);
        tile_entry none = {};
        none.place = -1;
        entry.assign((size_t)expert_entries(rows, held, dw ? k : 0, n), none);
        l = {x_row.data(), y_row.data(), first.data(), held,         n,       1 + below(4),
             dw ? k : 0,   x_at.data(),  y_at.data(),  entry.data(), &places, &entries};
        write();
    }
    void write()
    {
        enum { ALL = 7 };
        for (int i = 0, from = below(held * ALL); i < held * ALL; i++) {
            const int t = (from + i) % (held * ALL);
            l.write(t / ALL, t % ALL, ALL, 3);
        }
        ck_assert_int_ge(places, 0);
        ck_assert_int_le(places, (int)x_at.size());
        ck_assert_int_le(entries, (int)entry.size());
    }
    float x(int r, int i) const { return (float)((r * 31 + i * 7) % 13 - 6); }
    float y(int r, int j) const { return (float)((r * 17 + j * 5) % 11 - 5); }
    float w(int e, int i, int j) const { return (float)((e * 29 + i * 3 + j * 2) % 7 - 3); }
};

// Blocks of 64 rows that the tiles of an entry store.
template <class F> static void each_block(const tile_entry &t, F f)
{
    for (int row = t.row; row < t.row + EXPERT_PAIR && row < t.rows; row += 64)
        f(row);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

START_TEST(every_row_once)
{
    state = (uint64_t)_i;
    problem p(1 + below(900), 1 + below(6), 5, 8 * (1 + below(70)), false);
    std::vector<float> got((size_t)(p.rows * p.n)), times((size_t)(p.rows * p.n));
    for (int i = 0; i < p.entries; i++) {
        const tile_entry &t = p.entry[(size_t)i];
        ck_assert_int_eq(t.steps, 3);
        each_block(t, [&](int row) {
            for (int r = row; r < row + 64; r++) {
                const int to = p.y_at[(size_t)r], from = p.x_at[(size_t)r];
                ck_assert_int_ge(to, -1); // written
                for (int j = t.col; to >= 0 && j < least(t.col + EXPERT_TILE_COLS, p.n); j++) {
                    float sum = 0;
                    for (int k = 0; k < p.k; k++)
                        sum += p.x(from, k) * p.w(t.place, k, j);
                    got[(size_t)(to * p.n + j)] = sum;
                    times[(size_t)(to * p.n + j)]++;
                }
            }
        });
    }
    for (int r = 0; r < p.rows; r++)
        for (int j = 0; j < p.n; j++) {
            const int e = p.expert[(size_t)r];
            float sum = 0;
            for (int k = 0; k < p.k && e >= 0 && e < p.held; k++)
                sum += p.x(r / 2, k) * p.w(e, k, j);
            ck_assert_int_eq((int)times[(size_t)(r * p.n + j)], e >= 0 && e < p.held);
            ck_assert(got[(size_t)(r * p.n + j)] == sum);
        }
}
END_TEST

START_TEST(every_gradient_once)
{
    state = (uint64_t)_i;
    problem p(below(500), 1 + below(6), 64 * (1 + below(9)), 8 * (1 + below(60)), true);
    std::vector<int> times((size_t)(p.held * p.k * p.n));
    for (int i = 0; i < p.entries; i++) {
        const tile_entry &t = p.entry[(size_t)i];
        ck_assert_int_gt(t.steps, 0); // a step of zeros, if no row chose it
        each_block(t, [&](int row) {
            for (int x = row; x < row + 64; x++) {
                ck_assert_int_lt(x, p.k);
                for (int j = t.col; j < least(t.col + EXPERT_TILE_COLS, p.n); j++)
                    times[(size_t)((t.place * p.k + x) * p.n + j)]++;
            }
        });
        if (t.row > 0 || t.col > 0) continue; // its sum of rows, once an expert
        ints seen((size_t)p.rows);
        for (int r = t.from * CUDA_EXPERT_ROWS; r < (t.from + t.steps) * CUDA_EXPERT_ROWS; r++) {
            ck_assert_int_eq(p.x_at[(size_t)r], p.y_at[(size_t)r] < 0 ? -1 : p.y_at[(size_t)r] / 2);
            if (p.y_at[(size_t)r] >= 0) seen[(size_t)p.y_at[(size_t)r]]++;
        }
        for (int r = 0; r < p.rows; r++)
            ck_assert_int_eq(seen[(size_t)r], p.expert[(size_t)r] == t.place);
    }
    for (int n : times)
        ck_assert_int_eq(n, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tiles of experts");
    TCase *t = tcase_create("lists");
    const int cases = test_cases(10, 40, 400);
    tcase_set_timeout(t, 100);
    tcase_add_loop_test(t, every_row_once, 0, cases);
    tcase_add_loop_test(t, every_gradient_once, 0, cases);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
