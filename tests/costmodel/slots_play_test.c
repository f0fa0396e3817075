// Stages played in time (costmodel/slots.h).
//
//  closed_form  equal stages by 1F1B, messages for nothing: (m + S - 1) (f + b)
//  fixed_point  random stages and messages against the least solution of the equations that say
//  when
//               an item ends and a message arrives, found by iteration
//  circles      stages that wait for each other are found, and where

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "costmodel/slots.h"
#include "tests/support/cases.h"

enum { MAX_STAGES = 6, MAX_ITEMS = 400, MAX_PORTS = 40 };

typedef struct game {
    int n, n_ports;
    cost_item item[MAX_STAGES][MAX_ITEMS];
    int len[MAX_STAGES], from[MAX_PORTS], to[MAX_PORTS];
    double port_sec[MAX_PORTS];
} game;

static void put(game *g, int s, double sec, int port, bool send, int message)
{
    ck_assert_int_lt(g->len[s], MAX_ITEMS);
    g->item[s][g->len[s]++] = (cost_item){sec, port, send, message};
}

static bool play(hb_arena *a, game *g, double *total, double (*end)[MAX_ITEMS], int *at)
{
    cost_stage stage[MAX_STAGES];
    int item = -1;
    for (int s = 0; s < g->n; s++)
        stage[s] = (cost_stage){.n = g->len[s], .item = g->item[s], .end = end ? end[s] : NULL};
    *at = -1;
    return cost_play_stages(a, g->n, stage, g->n_ports, g->port_sec, total, at, &item);
}

// Ports 2 s: from s to s + 1; 2 s + 1: back.
static void forward(game *g, int s, int m, double sec)
{
    if (s > 0) put(g, s, 0, 2 * (s - 1), false, m);
    put(g, s, sec, s + 1 < g->n ? 2 * s : -1, true, m);
}

static void backward(game *g, int s, int m, double sec)
{
    if (s + 1 < g->n) put(g, s, 0, 2 * s + 1, false, m);
    put(g, s, sec, s > 0 ? 2 * (s - 1) + 1 : -1, true, m);
}

static void one_f_one_b(game *g, int n, int micro, double f, double b)
{
    *g = (game){.n = n, .n_ports = 2 * n};
    for (int s = 0; s < n; s++) {
        int depth = n - s < micro ? n - s : micro, back = 0;
        for (int m = 0; m < micro; m++) {
            forward(g, s, m, f);
            if (m + 1 >= depth) backward(g, s, back++, b);
        }
        while (back < micro)
            backward(g, s, back++, b);
    }
}

START_TEST(closed_form)
{
    static game g;
    for (int n = 1; n <= 5; n++)
        for (int micro = n; micro <= 20; micro += 3) {
            hb_arena *a = hb_arena_new();
            double total;
            int at;
            one_f_one_b(&g, n, micro, 1.5, 3.25);
            ck_assert(play(a, &g, &total, NULL, &at));
            ck_assert_double_eq_tol(total, (micro + n - 1) * 4.75, 1e-9);
            hb_arena_free(a);
        }
}
END_TEST

static double drawn(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 40) / 16777216.0;
}

// Messages in an order that one list of all items has, so that nothing waits in a circle.
static void random_game(game *g, uint64_t *seed)
{
    int sent[MAX_PORTS] = {0}, taken[MAX_PORTS] = {0};
    *g = (game){.n = 1 + (int)(drawn(seed) * MAX_STAGES), .n_ports = 0};
    g->n_ports = g->n > 1 ? 1 + (int)(drawn(seed) * 8) : 0;
    for (int p = 0; p < g->n_ports; p++) {
        g->from[p] = (int)(drawn(seed) * g->n);
        g->to[p] = (g->from[p] + 1 + (int)(drawn(seed) * (g->n - 1))) % g->n;
        g->port_sec[p] = drawn(seed) < 0.2 ? 0 : drawn(seed) * 2;
    }
    for (int i = 0; i < 120; i++) {
        int p = g->n_ports > 0 ? (int)(drawn(seed) * g->n_ports) : -1;
        double sec = drawn(seed) < 0.3 ? 0 : drawn(seed);
        if (p < 0 || drawn(seed) < 0.2)
            put(g, (int)(drawn(seed) * g->n), sec, -1, false, 0);
        else if (taken[p] < sent[p] && drawn(seed) < 0.5)
            put(g, g->to[p], sec, p, false, taken[p]++);
        else
            put(g, g->from[p], sec, p, true, sent[p]++);
    }
}

// Ends of all items, by iteration from below until nothing moves.
static void solve(const game *g, double (*end)[MAX_ITEMS])
{
    static double arrives[MAX_PORTS][MAX_ITEMS];
    for (int s = 0; s < g->n; s++)
        for (int i = 0; i < g->len[s]; i++)
            end[s][i] = 0;
    for (int p = 0; p < g->n_ports; p++)
        for (int m = 0; m < MAX_ITEMS; m++)
            arrives[p][m] = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int s = 0; s < g->n; s++)
            for (int i = 0; i < g->len[s]; i++) {
                const cost_item *x = &g->item[s][i];
                double e = (i > 0 ? end[s][i - 1] : 0) + x->sec;
                if (x->port >= 0 && !x->send) e = fmax(e, arrives[x->port][x->message]);
                moved = moved || e > end[s][i];
                end[s][i] = e;
                if (x->port < 0 || !x->send) continue;
                double leaves = x->message > 0 ? fmax(e, arrives[x->port][x->message - 1]) : e;
                moved = moved || leaves + g->port_sec[x->port] > arrives[x->port][x->message];
                arrives[x->port][x->message] = leaves + g->port_sec[x->port];
            }
    }
}

START_TEST(fixed_point)
{
    static game g;
    static double end[MAX_STAGES][MAX_ITEMS], want[MAX_STAGES][MAX_ITEMS];
    uint64_t seed = 7;
    int n_cases = test_cases(100, 1000, 20000);
    for (int k = 0; k < n_cases; k++) {
        hb_arena *a = hb_arena_new();
        double total, last = 0;
        int at;
        random_game(&g, &seed);
        ck_assert(play(a, &g, &total, end, &at));
        solve(&g, want);
        for (int s = 0; s < g.n; s++)
            for (int i = 0; i < g.len[s]; i++) {
                ck_assert_double_eq_tol(end[s][i], want[s][i], 1e-9);
                last = fmax(last, want[s][i]);
            }
        ck_assert_double_eq_tol(total, last, 1e-9);
        hb_arena_free(a);
    }
}
END_TEST

START_TEST(circles)
{
    static game g;
    hb_arena *a = hb_arena_new();
    double total;
    int at;
    g = (game){.n = 3, .n_ports = 2};
    put(&g, 0, 1, 1, false, 0);
    put(&g, 0, 1, 0, true, 0);
    put(&g, 2, 1, 0, false, 0);
    put(&g, 2, 1, 1, true, 0);
    put(&g, 1, 1, -1, false, 0);
    ck_assert(!play(a, &g, &total, NULL, &at));
    ck_assert(at == 0 || at == 2);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slots_play");
    TCase *t = tcase_create("slots_play");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, closed_form);
    tcase_add_test(t, fixed_point);
    tcase_add_test(t, circles);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
