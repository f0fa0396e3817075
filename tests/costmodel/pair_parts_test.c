// Rows of a pair's chunks as the planner prices them and as the runtime multiplies, sends and adds
// them: random meshes, cuts, weights, orders and joined chunks.

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/pair_rows.h"
#include "costmodel/pair_parts.h"
#include "tests/support/coll_random.h"
#include "tests/support/pair_via.h"

enum { MOST = 8 };

// The same pair twice. One rank of its program stands for each member of one chunk.
typedef struct both {
    hap_rank rank[MOST];
    hap_pair run[MOST];
    cost_pair plan;
    int64_t rows[MOST], first[MOST], chunk[COST_MAX_CHUNKS][3];
    int plan_group[COST_MAX_CHUNKS][3];
    pair_parts parts;
    int64_t local; // rows of an entry of the cut factor
} both;

// Every distance in one to three parts, in any order; of a whole pair one distance. Of a consumer
// some by way of another member.
static int draw_chunks(both *x)
{
    int n = 0, distances = x->plan.whole ? 1 : x->plan.n;
    for (int d = 0; d < distances; d++)
        for (int64_t parts = 1 + coll_below(3); parts > 0 && n < COST_MAX_CHUNKS - MOST + d;
             parts--) {
            int at = n++, to = (int)coll_below(at + 1);
            memcpy(x->chunk[at], x->chunk[to], sizeof x->chunk[at]);
            x->chunk[to][0] = d;
            x->chunk[to][1] = 1 + coll_below(coll_chance(50) ? 3 : 40);
        }
    for (int k = 1; k < n && !x->plan.whole; k++)
        if (coll_chance(40)) x->chunk[k][1] *= -1;
    for (int k = 0; k < n && x->plan.consumer; k++)
        if (x->chunk[k][0] != 0 && coll_chance(50)) {
            x->chunk[k][2] = coll_below(x->plan.n);
            if (x->chunk[k][2] == x->chunk[k][0]) x->chunk[k][2] = 0;
        }
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++)
            x->plan_group[k][i] = (int)x->chunk[k][i];
    return n;
}

// The member's id in a mesh where the chunk is that of coordinate `other` on the other axis.
static void place(hap_rank *r, int n_axes, const int *size, unsigned axes, int member, int other)
{
    *r = (hap_rank){.n_ranks = size[0] * (n_axes > 1 ? size[1] : 1),
                    .n_axes = n_axes,
                    .size = {size[0], n_axes > 1 ? size[1] : 1},
                    .n_classes = 1,
                    .seg_bytes = {1 << 30, 1 << 30}};
    r->id = n_axes == 1 || axes == 3 ? member
            : axes == 1              ? member * size[1] + other
                                     : other * size[1] + member;
    r->coord[0] = n_axes > 1 ? r->id / size[1] : r->id;
    r->coord[1] = n_axes > 1 ? r->id % size[1] : 0;
}

static void draw(both *x)
{
    static const int64_t at[1];
    static const hap_coll_kind kinds[] = {HAP_ALL_GATHER, HAP_REDUCE_SCATTER, HAP_REDUCE_SCATTER,
                                          HAP_ALL_REDUCE};
    hap_coll_kind kind = kinds[coll_below(4)];
    int n_axes = 1 + (int)coll_below(2), size[2] = {2 + (int)coll_below(n_axes == 1 ? 7 : 3), 2};
    unsigned axes = n_axes == 1 ? 1 : 1 + (unsigned)coll_below(3);
    int n = n_axes == 1 ? size[0] : axes == 3 ? size[0] * size[1] : size[axes - 1];
    int other = n_axes == 1 || axes == 3 ? 0 : (int)coll_below(size[axes == 1 ? 1 : 0]);
    // [cut, more rows, columns]; the cut factor may have entries inside of its dim.
    int64_t entries = coll_below(4) ? coll_below(60) : coll_below(5);
    int64_t inner = 1 + coll_below(3), more = 1 + coll_below(3);
    const int64_t *table = coll_table(entries, n, coll_chance(20) && entries % n == 0);
    hap_dim whole[] = {WHOLE(entries * inner), WHOLE(more), WHOLE(4)}, cut[3];
    memcpy(cut, whole, sizeof cut);
    cut[0] = CUT_IN(axes == 3 ? HAP_BOTH : (int)axes - 1, 1, entries, inner, table);
    *x = (both){.plan = {.consumer = kind == HAP_ALL_GATHER,
                         .whole = kind == HAP_ALL_REDUCE,
                         .n = n,
                         .rows = x->rows}};
    x->local = inner * more;
    for (int m = 0; m < n; m++)
        x->rows[m] = table[m] * x->local;
    if (x->plan.whole) x->rows[0] = entries * x->local;
    int n_chunks = draw_chunks(x);
    pair_parts_of(&x->parts, &x->plan, x->plan_group, n_chunks);
    if (!x->plan.whole) pair_first_rows(&x->plan, x->first);
    for (int m = 0; m < n; m++) {
        hap_rank *r = &x->rank[m];
        hap_pair *p = &x->run[m];
        place(r, n_axes, size, axes, m, other);
        *p = (hap_pair){.row_dims = 1,
                        .consumer = x->plan.consumer,
                        .n_chunks = n_chunks,
                        .chunk = (const int64_t(*)[3])x->chunk,
                        .kind = kind,
                        .axes = axes};
        bool in = kind == HAP_ALL_GATHER, out = kind == HAP_REDUCE_SCATTER;
        p->src = hap_tensor_declare(r, SEG_LOCAL, at, HAP_F32, 3, in ? cut : whole);
        p->dst = hap_tensor_declare(r, SEG_LOCAL, at, HAP_F32, 3, out ? cut : whole);
        p->most_rows = hap_pair_most_rows(r, p);
    }
}

static void end(both *x)
{
    for (int m = 0; m < x->plan.n; m++)
        hap_tensor_free_all(&x->rank[m]);
}

static void same_parts(const both *x, int m)
{
    const hap_rank *r = &x->rank[m];
    const hap_pair *p = &x->run[m];
    int n = x->plan.n;
    ck_assert_int_eq(p->most_rows, x->parts.most);
    for (int k = 0; k < p->n_chunks; k++) {
        int d = (int)x->chunk[k][0], member, of = (m + (x->plan.consumer ? n - d : d)) % n;
        int64_t lo, hi, rows = x->rows[x->plan.whole ? 0 : of];
        hap_chunk_rows(r, p, k, &member, &lo, &hi);
        ck_assert_int_eq(member, of);
        ck_assert_int_eq(hap_pair_other(r, p, k), (m + (x->plan.consumer ? d : n - d)) % n);
        int64_t before = pair_rows_before(&x->parts, k, x->parts.from[k], rows);
        ck_assert_int_eq(lo, (x->plan.whole ? 0 : x->first[of]) + before);
        ck_assert_int_eq(hi - lo, pair_rows_of(&x->parts, k, rows));
    }
}

static void same_matmuls(const both *x, int m)
{
    const hap_pair *p = &x->run[m];
    for (int k = 0, run; k < p->n_chunks; k += run) {
        pair_range plan[COST_MAX_CHUNKS];
        hap_range rows[COST_MAX_CHUNKS];
        run = hap_joined_chunks(p, k);
        ck_assert_int_eq(run, x->parts.run[k]);
        int n = pair_ranges(&x->parts, &x->plan, k, m, x->first, plan);
        ck_assert_int_eq(hap_joined_rows(&x->rank[m], p, k, run, rows), n);
        for (int i = 0; i < n; i++) {
            ck_assert_int_eq(rows[i].lo, plan[i].lo);
            ck_assert_int_eq(rows[i].lo + rows[i].n, plan[i].hi);
        }
    }
}

// Chunks that come in no order are drawn as well: both know them.
static bool in_order(const both *x)
{
    bool fits = true, plan = pair_in_order(&x->plan, (int(*)[3])x->plan_group, x->parts.n);
    bool run = true;
    for (int k = 0; k < x->parts.n; k++) {
        fits = fits && pair_via_fits((const int64_t(*)[3])x->chunk, x->parts.n, k, x->chunk[k][2]);
        for (int i = k + 1; i < x->parts.n; i++)
            run = run && !hap_pair_brings(&x->run[0], i, k);
    }
    ck_assert_int_eq(plan, fits);
    ck_assert_int_eq(run, fits);
    return fits;
}

// Who sends what, and what it waits for. Returns how many parts are passed on.
static int same_ways(const both *x, int m)
{
    const hap_rank *r = &x->rank[m];
    const hap_pair *p = &x->run[m];
    int n = x->plan.n, passed = 0;
    for (int k = 0; k < p->n_chunks; k++) {
        int via = (int)x->chunk[k][2], owner = (m - via + n) % n;
        for (int o = 0; o < n; o++)
            ck_assert_int_eq(hap_pair_sender(r, p, k, o),
                             pair_sender_of(&x->parts, &x->plan, k, o));
        int64_t lo, hi, rows = pair_rows_of(&x->parts, k, x->rows[owner]);
        bool passes = owner != m && x->rows[m] < x->rows[owner];
        hap_passed w = hap_pair_passed(r, p, k);
        ck_assert_int_eq(w.rows.n, passes ? rows : 0);
        if (w.rows.n == 0) continue;
        passed++;
        hap_part_rows(r, p, k, owner, &lo, &hi);
        ck_assert_int_eq(w.rows.lo, lo);
        ck_assert_int_eq(w.owner, owner);
        ck_assert_int_eq(w.to, (owner + (int)x->chunk[k][0]) % n);
        uint32_t bring = pair_passed(&x->parts, k, x->rows[owner]);
        for (int i = 0; i < p->n_chunks; i++) {
            hap_part_rows(r, p, i, owner, &lo, &hi);
            ck_assert_int_eq(bring >> i & 1, lo < hi && hap_pair_brings(p, i, k));
            // All rows that are passed on are in those.
            bool common = lo < hi && lo < w.rows.lo + w.rows.n && w.rows.lo < hi;
            if (x->chunk[i][0] == via && common) ck_assert(bring >> i & 1);
        }
    }
    return passed;
}

static int by_rows(const void *a, const void *b)
{
    const hap_pair_sum *p = a, *q = b;
    return (p->rows.lo > q->rows.lo) - (p->rows.lo < q->rows.lo);
}

// The same ranges; and where one chunk brings the last parts of several, the planner, which takes
// them by rows, takes them as the runtime does.
static void same_sums(const both *x, int m)
{
    pair_added plan[2 * COST_MAX_CHUNKS];
    hap_pair_sum run[2 * HAP_PAIR_CHUNKS];
    int n = pair_sums(&x->parts, x->rows[m], plan), own[COST_MAX_CHUNKS + 1];
    ck_assert_int_eq(hap_pair_sums(&x->rank[m], &x->run[m], run), n);
    for (int i = 1; i < n; i++)
        ck_assert_int_le(run[i - 1].last, run[i].last);
    for (int k = 0; k <= x->parts.n; k++)
        own[k] = -1;
    qsort(run, (size_t)n, sizeof *run, by_rows);
    int64_t rows = 0;
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(run[i].rows.lo, x->first[m] + plan[i].from);
        ck_assert_int_eq(run[i].rows.n, plan[i].rows);
        ck_assert_int_eq(run[i].last, plan[i].last);
        ck_assert_int_eq(run[i].own, plan[i].own);
        ck_assert_int_ge(plan[i].own, own[plan[i].last + 1]);
        own[plan[i].last + 1] = plan[i].own;
        rows += plan[i].rows;
    }
    ck_assert_int_eq(rows, x->rows[m]);
}

START_TEST(planner_and_runtime_mean_the_same_rows)
{
    int joined = 0, several = 0, whole = 0, passed = 0, early = 0;
    static both x;
    coll_seed((uint64_t)_i + 1);
    for (int round = 0; round < 500; round++) {
        draw(&x);
        for (int m = 0; m < x.plan.n; m++) {
            same_parts(&x, m);
            if (!x.plan.whole) same_matmuls(&x, m);
            if (!x.plan.whole && !x.plan.consumer) same_sums(&x, m);
            if (!x.plan.whole) passed += same_ways(&x, m);
        }
        early += !in_order(&x);
        for (int k = 0; k < x.parts.n; k++)
            joined += x.parts.run[k] > 1;
        several += x.parts.n > x.plan.n;
        whole += x.plan.whole;
        end(&x);
    }
    ck_assert_int_gt(joined, 100); // all kinds were among them
    ck_assert_int_gt(several, 100);
    ck_assert_int_gt(whole, 50);
    ck_assert_int_gt(passed, 100);
    ck_assert_int_gt(early, 20);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pair_parts");
    TCase *t = tcase_create("rows");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, planner_and_runtime_mean_the_same_rows, 0, 4);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
