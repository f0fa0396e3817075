// How far apart a bf16 sum over ranks may be for being added in another order (docs/theory.md
// section 6): every order of up to 7 members, each addition rounded as the CPU collectives round.

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/float16.h"
#include "core/philox.h"

enum { MOST = 7, DRAWS = 12 };

// Units in the last place: bf16's u = 2^-8, and f32's in which the sum is made before it is
// rounded.
static const double unit = 0x1p-8 * (1 + 0x1p-16 + 0x1p-24);

static double bound(int members, double of_sizes) // gamma of members - 1, times the sum of |x|
{
    double k = members - 1;
    return k * unit / (1 - k * unit) * of_sizes;
}

static float add(float a, float b)
{
    return hap_bf16_to_f32(hap_f32_to_bf16(a + b));
}

typedef struct orders {
    long n;
    double least, most;
} orders;

// All ways to add n values two at a time.
static void all_orders(const float *x, int n, orders *o)
{
    if (n == 1) {
        o->n++;
        o->least = fmin(o->least, (double)x[0]);
        o->most = fmax(o->most, (double)x[0]);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++) {
            float rest[MOST];
            int m = 0;
            for (int j = 0; j < n; j++)
                if (j != i && j != k) rest[m++] = x[j];
            rest[m++] = add(x[i], x[k]);
            all_orders(rest, m, o);
        }
}

// Values of many sizes and both signs, so that sums cancel.
static float value(int draw, int i)
{
    uint32_t out[4];
    hap_philox((const uint32_t[]){(uint32_t)draw, (uint32_t)i, 0, 0}, 2026, out);
    double mantissa = 1 + out[0] / 0x1p32, sign = out[1] & 1u ? 1 : -1;
    double size = ldexp(1, (int)(out[2] % (draw % 2 ? 20u : 3u)));
    return hap_bf16_to_f32(hap_f32_to_bf16((float)(sign * mantissa * size)));
}

static double worst(const float *x, int n) // distance to the exact sum, over the bound
{
    double exact = 0, sizes = 0;
    for (int i = 0; i < n; i++) { // at most 2^21 times a bf16: exact in a double
        exact += (double)x[i];
        sizes += fabs((double)x[i]);
    }
    orders o = {0, INFINITY, -INFINITY};
    all_orders(x, n, &o);
    double low = exact - o.least, high = o.most - exact, far = low > high ? low : high;
    ck_assert_double_le(far, bound(n, sizes));
    ck_assert_double_le(o.most - o.least, 2 * bound(n, sizes));
    return far / bound(n, sizes);
}

START_TEST(every_order_is_within_the_bound)
{
    for (int n = 2; n <= MOST; n++)
        for (int draw = 0; draw < (n < MOST ? DRAWS : 2); draw++) {
            float x[MOST];
            for (int i = 0; i < n; i++)
                x[i] = value(draw, i);
            worst(x, n);
        }
}
END_TEST

// The bound is not idle: half a unit is lost in each of the additions, always downwards.
START_TEST(an_order_comes_near_the_bound)
{
    for (int n = 2; n <= 6; n++) {
        float x[MOST] = {1};
        for (int i = 1; i < n; i++)
            x[i] = 0x1p-8f;
        ck_assert_double_gt(worst(x, n), 0.9);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sum_order");
    TCase *t = tcase_create("orders");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_order_is_within_the_bound);
    tcase_add_test(t, an_order_comes_near_the_bound);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
