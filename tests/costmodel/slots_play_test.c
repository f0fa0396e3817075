// Stages played in time (costmodel/slots.h).
//
//  closed_form  equal stages by 1F1B, messages for nothing: (m + S - 1) (f + b)
//  fixed_point  random stages and messages against the least solution of the equations that say
//               when an item ends and a message arrives, found by iteration
//  circles      stages that wait for each other are found, and where
//
// Orders of slots (costmodel/slot_order.h).
//
//  is_1f1b        equal stages, messages for nothing, the depth of 1F1B: its order
//  random_orders  random stages, some with weight gradients apart, some ports past others: each
//  part
//                 once and in turn, as many under way as said and no more than allowed, no stage
//                 idle beside a part that was ready (weight gradients: if there was time for them)

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/slot_order.h"
#include "costmodel/slots.h"
#include "tests/support/cases.h"

enum { MAX_STAGES = 6, MAX_ITEMS = 400, MAX_PORTS = 40 };

typedef struct game {
    int n, n_ports;
    cost_item item[MAX_STAGES][MAX_ITEMS];
    int len[MAX_STAGES], from[MAX_PORTS], to[MAX_PORTS];
    double port_sec[MAX_PORTS];
} game; // ports that share no network card

static void put(game *g, int s, double sec, int port, bool send, int message)
{
    ck_assert_int_lt(g->len[s], MAX_ITEMS);
    g->item[s][g->len[s]++] =
        (cost_item){.sec = sec, .port = port, .send = send, .message = message};
}

static bool play(hb_arena *a, game *g, double *total, double (*end)[MAX_ITEMS], int *at)
{
    cost_stage stage[MAX_STAGES];
    cost_port port[MAX_PORTS];
    int item = -1;
    for (int i = 0; i < g->n_ports; i++)
        port[i] = (cost_port){g->port_sec[i], -1, -1};
    for (int s = 0; s < g->n; s++)
        stage[s] = (cost_stage){
            .n = g->len[s], .item = g->item[s], .card = -1, .end = end ? end[s] : NULL};
    *at = -1;
    return cost_play_stages(a, g->n, stage, g->n_ports, port, 0, total, at, &item);
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

// --- orders ---

enum { MICRO = 12 };

typedef struct pipe {
    int n, n_ports, micro;
    double idle;
    cost_pipe_stage stage[MAX_STAGES];
    cost_pipe_port port[2 * MAX_STAGES];
    cost_slot *order[MAX_STAGES];
    int under_way[MAX_STAGES];
} pipe;

static void order(hb_arena *a, pipe *p)
{
    cost_order_slots(a, p->n, p->stage, p->n_ports, p->port, p->micro, p->idle, p->order,
                     p->under_way);
}

static bool is_back(const cost_slot *x, int m)
{
    return x->turn == IR_SLOT_BACK && x->m == m;
}

START_TEST(is_1f1b)
{
    hb_arena *a = hb_arena_new();
    for (int n = 1; n <= MAX_STAGES; n++)
        for (int micro = 1; micro <= MICRO; micro++) {
            pipe p = {.n = n, .micro = micro};
            for (int s = 0; s < n; s++) {
                p.stage[s] = (cost_pipe_stage){.forward = 1, .backward = 2, .depth = n - s};
                if (s > 0) p.port[p.n_ports++] = (cost_pipe_port){s - 1, s, 0};
                if (s > 0) p.port[p.n_ports++] = (cost_pipe_port){s, s - 1, 0};
            }
            order(a, &p);
            for (int s = 0; s < n; s++) {
                int depth = n - s < micro ? n - s : micro, at = 0, back = 0;
                ck_assert_int_eq(p.under_way[s], depth);
                for (int m = 0; m < micro; m++) {
                    ck_assert(p.order[s][at].turn == IR_SLOT && p.order[s][at].m == m);
                    at++;
                    if (m + 1 < depth) continue;
                    ck_assert(is_back(&p.order[s][at], back));
                    at++;
                    back++;
                }
                for (; back < micro; back++, at++)
                    ck_assert(is_back(&p.order[s][at], back));
            }
        }
    hb_arena_free(a);
}
END_TEST

static pipe random_pipe(uint64_t *seed)
{
    pipe p = {.n = 1 + (int)(drawn(seed) * MAX_STAGES), .micro = 1 + (int)(drawn(seed) * MICRO)};
    p.idle = drawn(seed) < 0.5;
    for (int s = 0; s < p.n; s++) {
        p.stage[s] = (cost_pipe_stage){.before = drawn(seed),
                                       .forward = drawn(seed),
                                       .backward = 2 * drawn(seed),
                                       .weights = drawn(seed),
                                       .apart = drawn(seed) < 0.5,
                                       .depth = 1 + (int)(drawn(seed) * 2 * MAX_STAGES)};
        for (int back = 0; back < 2 && s > 0; back++) // some skip stages
            for (int from = s - 1; from >= 0; from -= 2)
                if ((from == s - 1 || drawn(seed) < 0.2) && p.n_ports < 2 * MAX_STAGES)
                    p.port[p.n_ports++] = back ? (cost_pipe_port){s, from, drawn(seed)}
                                               : (cost_pipe_port){from, s, drawn(seed)};
    }
    return p;
}

enum { F, B, W, KINDS };
static int kind_of(const cost_slot *x)
{
    return (int)x->turn - IR_SLOT;
}

static int last_kind(const pipe *p, int s)
{
    return p->stage[s].apart ? W : B;
}

static double seconds_of(const pipe *p, int s, int kind)
{
    const cost_pipe_stage *x = &p->stage[s];
    return kind == F ? x->forward : kind == B ? x->backward : x->weights;
}

// When a part was ready: behind its messages, if it was allowed by then.
static double was_ready(const pipe *p, double (*end)[MICRO][KINDS], int s, int m, int kind)
{
    double at = kind > F ? end[s][m][kind - 1] : 0;
    int depth = p->stage[s].depth;
    if (m > 0) at = fmax(at, end[s][m - 1][kind]);
    if (kind == F && m >= depth) at = fmax(at, end[s][m - depth][last_kind(p, s)]);
    for (int i = 0; i < p->n_ports && kind < W; i++) {
        const cost_pipe_port *q = &p->port[i];
        double arrives = 0;
        if (q->to != s || (q->to < q->from) != (kind == B)) continue;
        for (int k = 0; k <= m; k++)
            arrives = fmax(arrives, end[q->from][k][kind]) + q->sec;
        at = fmax(at, arrives);
    }
    return at;
}

static int n_parts(const pipe *p, int s)
{
    return (last_kind(p, s) + 1) * p->micro;
}

// By iteration from below, given the orders.
static void play_orders(const pipe *p, double (*end)[MICRO][KINDS])
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int s = 0; s < p->n; s++) {
            double clock = p->stage[s].before;
            for (int i = 0; i < n_parts(p, s); i++) {
                const cost_slot *x = &p->order[s][i];
                double *at = &end[s][x->m][kind_of(x)];
                clock = fmax(clock, was_ready(p, end, s, x->m, kind_of(x)));
                clock += seconds_of(p, s, kind_of(x));
                moved = moved || clock > *at + 1e-12;
                *at = clock;
            }
        }
    }
}

// When the next part of a kind might have begun; 1e9: not yet.
static double might_begin(const pipe *p, double (*end)[MICRO][KINDS], int s, const int *next,
                          int kind)
{
    bool may = kind == F ? next[F] - next[last_kind(p, s)] < p->stage[s].depth
                         : kind <= last_kind(p, s) && next[kind] < next[kind - 1];
    return may && next[kind] < p->micro ? was_ready(p, end, s, next[kind], kind) : 1e9;
}

// Each part once, in order, no more under way than said. Nothing was begun while the other kind had
// been ready before. Weight gradients did not stand in the way of what was ready, and waited only
// for what left them too little time.
static void check_pipe(const pipe *p, double (*end)[MICRO][KINDS])
{
    for (int s = 0; s < p->n; s++) {
        int next[KINDS] = {0}, most = 0, last = last_kind(p, s);
        double clock = p->stage[s].before;
        for (int i = 0; i < n_parts(p, s); i++) {
            const cost_slot *x = &p->order[s][i];
            int kind = kind_of(x);
            ck_assert_int_eq(x->m, next[kind]);
            double begun = end[s][x->m][kind] - seconds_of(p, s, kind);
            for (int other = F; other <= B; other++) {
                double ready = fmax(clock, might_begin(p, end, s, next, other));
                if (other != kind && (kind != W || p->idle == 0))
                    ck_assert_double_ge(ready, begun - 1e-9);
            }
            if (kind == W)
                ck_assert_double_eq_tol(begun, clock, 1e-9);
            else if (might_begin(p, end, s, next, W) < 1e9 && begun > clock + 1e-9)
                ck_assert_double_lt(begun - clock, p->idle * p->stage[s].weights + 1e-9);
            next[kind]++;
            clock = end[s][x->m][kind];
            if (next[F] - next[last] > most) most = next[F] - next[last];
            ck_assert(next[B] <= next[F] && next[W] <= next[B]);
        }
        ck_assert_int_eq(most, p->under_way[s]);
        ck_assert_int_le(most, p->stage[s].depth);
    }
}

START_TEST(random_orders)
{
    uint64_t seed = 11;
    int n_cases = test_cases(100, 1000, 20000);
    for (int k = 0; k < n_cases; k++) {
        hb_arena *a = hb_arena_new();
        static double end[MAX_STAGES][MICRO][KINDS];
        memset(end, 0, sizeof end);
        pipe p = random_pipe(&seed);
        order(a, &p);
        play_orders(&p, end);
        check_pipe(&p, end);
        hb_arena_free(a);
    }
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
    tcase_add_test(t, is_1f1b);
    tcase_add_test(t, random_orders);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
