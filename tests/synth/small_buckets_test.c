// Which messages travel together (synth/passes/small_buckets.h), against all ways to part them:
// none has sent the last message sooner, none as soon has fewer buckets.

#include <check.h>
#include <math.h>

#include "synth/passes/small_buckets.h"
#include "tests/support/cases.h"
#include "tests/support/random_graph.h"

enum { MOST = 9 };
static const double NEAR = 1e-3;

typedef struct way {
    double end; // HUGE_VAL: not allowed
    int buckets;
} way;

// Bucket by bucket, as the words of the header say.
static way walk(const syn_messages *m, unsigned ends)
{
    way w = {0};
    for (int i = 0, first = 0; i < m->n; i++) {
        if (!(ends >> i & 1)) continue;
        double takes = m->of[first].alone;
        for (int k = first + 1; k <= i; k++)
            takes += m->of[k].alone - m->saved;
        if (first < m->of[i].first) w.end = HUGE_VAL;
        w.end = fmax(w.end, m->of[i].made) + takes;
        w.buckets++;
        first = i + 1;
    }
    return w;
}

static syn_messages draw(random_source *r, syn_message *of)
{
    syn_messages m = {.n = 1 + random_below(r, MOST), .of = of};
    double made = 0, least = HUGE_VAL;
    int span = 1 + random_below(r, 20);
    for (int i = 0; i < m.n; i++) {
        made += random_below(r, 4) ? random_below(r, 100) : 0;
        of[i] = (syn_message){made, 1 + random_below(r, 1 + 10 * random_below(r, 20)), 0};
        least = fmin(least, of[i].alone);
        int before = i > 0 ? of[i - 1].first : 0;
        of[i].first = before > i - span ? before : i - span + 1;
    }
    m.saved = least * random_below(r, 11) / 10;
    return m;
}

START_TEST(soonest_and_fewest)
{
    random_source r = {1};
    int parted = 0, together = 0;
    for (int c = 0; c < test_cases(300, 3000, 30000); c++) {
        syn_message of[MOST];
        syn_messages m = draw(&r, of);
        bool ends[MOST];
        double got = syn_small_buckets(&m, NEAR, ends), soonest = HUGE_VAL;
        unsigned last = 1U << (m.n - 1), chosen = 0;
        for (int i = 0; i < m.n; i++)
            chosen |= (unsigned)ends[i] << i;
        ck_assert(chosen & last);
        for (unsigned x = last; x < 2 * last; x++)
            soonest = fmin(soonest, walk(&m, x).end);
        int fewest = m.n;
        for (unsigned x = last; x < 2 * last; x++) {
            way w = walk(&m, x);
            if (w.end <= soonest * (1 + NEAR) * (1 - 1e-12) && w.buckets < fewest)
                fewest = w.buckets;
        }
        way w = walk(&m, chosen);
        ck_assert_double_eq_tol(got, soonest, 1e-9 * soonest);
        ck_assert_double_le(w.end, soonest * (1 + NEAR) * (1 + 1e-9));
        ck_assert_msg(w.buckets <= fewest, "%d buckets, could be %d", w.buckets, fewest);
        parted += w.buckets > 1;
        together += m.n > 1 && w.buckets < m.n;
    }
    ck_assert_int_gt(parted, 30);
    ck_assert_int_gt(together, 30);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("small_buckets");
    TCase *t = tcase_create("ways");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, soonest_and_fewest);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
