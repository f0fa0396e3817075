// Which calls are captured: lists of several ranks, drawn at random, that have the same starts and
// differ as fusing makes them differ; and which parts of a stage's list are the same work.

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/step/cuda_live.h"
#include "cuda/step/cuda_spans.h"

enum { RANKS = 3, MOST = 400, MOST_STARTS = 24, LEAST = 4 };

static uint64_t seed = 1;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

typedef struct rank {
    cuda_call call[MOST];
    cuda_record list;
    bool live[MOST];
} rank;

static rank all[RANKS];

static void add(rank *x, cuda_call_kind kind, int n)
{
    for (int i = 0; i < n; i++)
        x->call[x->list.n++] = (cuda_call){.kind = kind, .other = -1};
}

static void add_wait(rank *x, int start)
{
    x->call[start].other = x->list.n;
    add(x, CUDA_WAIT, 1);
    x->call[x->list.n - 1].other = start;
}

static int nth_start(const rank *x, int k)
{
    for (int i = 0; i < x->list.n; i++)
        if ((x->call[i].kind == CUDA_START || x->call[i].kind == CUDA_PAIR) && k-- == 0) return i;
    ck_abort_msg("no such start");
    return -1;
}

// Returns how many times ranks told each other.
static int agree(int ranks, int n)
{
    bool news = true;
    int rounds = 0;
    for (int k = 0; k < ranks; k++)
        cuda_live_close(&all[k].list, all[k].live);
    for (; news; rounds++) {
        int in[MOST_STARTS], least[MOST_STARTS];
        memset(least, 1, sizeof least); // more than any
        for (int k = 0; k < ranks; k++) {
            ck_assert_int_eq(cuda_live_starts(&all[k].list), n);
            cuda_live_tell(&all[k].list, all[k].live, in);
            for (int i = 0; i < n; i++)
                least[i] = in[i] < least[i] ? in[i] : least[i];
        }
        news = false;
        for (int k = 0; k < ranks; k++)
            news |= cuda_live_hear(&all[k].list, all[k].live, least);
        ck_assert_int_le(rounds, n + 1);
    }
    return rounds;
}

// What one rank may replay: whole collectives, in runs worth a graph.
static void check_rank(const rank *x)
{
    for (int i = 0; i < x->list.n; i++) {
        const cuda_call *c = &x->call[i];
        if (c->kind == CUDA_PAIR) ck_assert(x->live[i]);
        if (c->kind == CUDA_WAIT) ck_assert_int_eq(x->live[i], x->live[c->other]);
        for (int k = i; c->kind == CUDA_START && !x->live[i] && k <= c->other; k++)
            ck_assert_msg(!x->live[k], "call %d is live under start %d", k, i);
    }
    for (int i = 0, end; i < x->list.n; i = end) {
        int n = 0;
        for (end = i; end < x->list.n && x->live[end] == x->live[i]; end++)
            n += x->call[end].kind != CUDA_DONE && x->call[end].kind != CUDA_JOINED;
        ck_assert(x->live[i] || n >= LEAST);
    }
}

// The graph that start k stands in, counted among graphs that hold a start; -1: none.
static void graphs_of(const rank *x, int n, int *graph)
{
    int last = -1, count = -1;
    for (int k = 0; k < n; k++) {
        int i = nth_start(x, k);
        bool same = last >= 0;
        for (int j = last; same && j <= i; j++)
            same = !x->live[j];
        graph[k] = x->live[i] ? -1 : same ? count : ++count;
        if (!x->live[i]) last = i;
    }
}

// A program: starts, each waited for before or behind later ones, some of them one-sided puts or
// pairs. On each rank as many ops between as come, and small starts moved before waits.
static int draw(int ranks)
{
    int n = 2 + below(MOST_STARTS - 2), wait_at[MOST_STARTS];
    cuda_call_kind kind[MOST_STARTS];
    bool put[MOST_STARTS], small[MOST_STARTS];
    for (int k = 0; k < n; k++) {
        kind[k] = below(10) == 0 ? CUDA_PAIR : CUDA_START;
        put[k] = below(6) == 0;
        small[k] = below(3) == 0;
        wait_at[k] = k + (below(3) ? 0 : below(4)); // behind that start
    }
    for (int q = 0; q < ranks; q++) {
        rank *x = &all[q];
        memset(x, 0, sizeof *x);
        x->list.call = x->call;
        int at[MOST_STARTS], most = 1 + below(8);
        bool waited[MOST_STARTS] = {false};
        add(x, CUDA_OP, below(most));
        for (int k = 0; k < n; k++) {
            bool early = k > 0 && small[k] && below(2); // before the waits that stand before it
            for (int turn = 0; turn < 2; turn++) {
                if ((turn == 0) == early) {
                    add(x, kind[k], 1);
                    at[k] = x->list.n - 1;
                    x->live[at[k]] = kind[k] == CUDA_PAIR || put[k];
                    continue;
                }
                for (int j = 0; j < k; j++)
                    if (!waited[j] && wait_at[j] < k) add_wait(x, at[j]), waited[j] = true;
            }
            add(x, below(4) ? CUDA_OP : CUDA_JOINED, below(most));
        }
        for (int j = 0; j < n; j++)
            if (!waited[j]) add_wait(x, at[j]);
        add(x, CUDA_OP, below(most));
        ck_assert_int_le(x->list.n, MOST);
    }
    return n;
}

START_TEST(random_lists)
{
    int captured = 0, live = 0, rounds = 0, alone = 0;
    for (int i = 0; i < 2000; i++) {
        int n = draw(RANKS), first[MOST_STARTS];
        for (int k = 0; k < RANKS; k++) { // what each would capture by itself
            bool own[MOST];
            memcpy(own, all[k].live, sizeof own);
            cuda_live_close(&all[k].list, own);
            for (int s = 0; s < n; s++)
                alone += !own[nth_start(&all[k], s)];
        }
        int told = agree(RANKS, n);
        rounds = told > rounds ? told : rounds;
        for (int k = 0; k < RANKS; k++) {
            int graph[MOST_STARTS];
            check_rank(&all[k]);
            graphs_of(&all[k], n, k ? graph : first);
            if (k)
                ck_assert_msg(memcmp(graph, first, (size_t)n * sizeof *graph) == 0, "list %d", i);
            for (int s = 0; s < n; s++)
                *(first[s] >= 0 ? &captured : &live) += 1;
        }
    }
    ck_assert_int_gt(captured, 1000);
    ck_assert_int_gt(live, 1000);
    ck_assert_int_gt(alone, captured); // ranks by themselves differ
    ck_assert_int_gt(rounds, 2);       // what one hears others have to hear of
}
END_TEST

// Between two pairs rank 0 has a collective and an op, rank 1 the collective and six.
START_TEST(a_run_that_is_short_on_one_rank)
{
    for (int q = 0; q < 2; q++) {
        rank *x = &all[q];
        memset(x, 0, sizeof *x);
        x->list.call = x->call;
        for (int k = 0; k < 3; k++) {
            if (k == 1) {
                add(x, CUDA_START, 1);
                int start = x->list.n - 1;
                add(x, CUDA_OP, q ? 6 : 1);
                add_wait(x, start);
                continue;
            }
            add(x, CUDA_PAIR, 1);
            x->live[x->list.n - 1] = true;
        }
        add(x, CUDA_OP, 5);
    }
    bool own[MOST];
    memcpy(own, all[1].live, sizeof own);
    cuda_live_close(&all[1].list, own);
    ck_assert(!own[1]); // by itself
    agree(2, 3);
    for (int q = 0; q < 2; q++) {
        rank *x = &all[q];
        check_rank(x);
        ck_assert(x->live[1]);
        ck_assert(!x->live[x->list.n - 1]); // what follows is a graph
    }
    ck_assert(!all[1].live[2]); // and so are six ops under a start: none of them is a collective
}
END_TEST

START_TEST(nothing_is_captured_of_lists_that_differ)
{
    int n = draw(1), none[MOST_STARTS] = {0};
    cuda_live_close(&all[0].list, all[0].live);
    cuda_live_hear(&all[0].list, all[0].live, none);
    for (int k = 0; k < n; k++)
        ck_assert(all[0].live[nth_start(&all[0], k)]);
    check_rank(&all[0]);
}
END_TEST

// Parts of a stage's list, between messages: what each differs in from the first.
START_TEST(parts_that_are_the_same_work)
{
    enum { SAME, TENSOR, PLACE, ATTRIBUTE, LENGTH, JOINED, COLLECTIVE, COPY, PARTS };
    static const int like[PARTS] = {0, 1, 2, 3, 4, 5, 6, 0};
    static char bytes[4][64];
    hap_tensor t[4] = {{.data = bytes[0], .bytes = 64}, {.data = bytes[1], .bytes = 64}};
    hap_rank r = {.n_stages = 2};
    rank *x = &all[0];
    memset(x, 0, sizeof *x);
    x->list.call = x->call;
    t[2] = t[0], t[3] = t[0];
    t[2].bytes = 32;
    for (int part = 0; part <= PARTS; part++) {
        int from = x->list.n + 1;
        add(x, CUDA_PORT, 1);
        add(x, part == COLLECTIVE ? CUDA_START : CUDA_OP, 1);
        add(x, CUDA_OP, part == LENGTH ? 5 : 4);
        for (int i = from; i < x->list.n; i++) {
            hap_op_call *op = &x->call[i].op;
            *op = (hap_op_call){.op = HAP_OP_add, .n_out = 1, .n_in = 1, .n_attr = 1};
            op->out[0] = op->in[0] = &t[part == TENSOR  ? 1
                                        : part == PLACE ? 2
                                        : part == COPY  ? 3
                                                        : 0];
        }
        x->call[from + 1].op.attr[0].i = part == ATTRIBUTE;
        if (part == JOINED) x->call[from].n_joined = 1;
    }
    for (int i = 0; i < x->list.n; i++)
        x->live[i] = cuda_live_of_stages(&r, &x->call[i]);
    int n;
    cuda_span *s = cuda_spans(&r, &x->list, x->live, &n);
    ck_assert_int_eq(n, 2 * (PARTS + 1));
    for (int part = 0; part < PARTS; part++) {
        ck_assert(s[2 * part].live);
        ck_assert_int_eq(s[2 * part + 1].as, 2 * like[part] + 1);
    }
    ck_assert_int_eq(s[n - 1].as, n - 1); // a step ends in it
    free(s);
}
END_TEST

// A micro-batch's part of an input, in a program of stages alone.
START_TEST(slices_of_inputs)
{
    static char bytes[2][64];
    hap_tensor input = {.data = bytes[0]}, value = {.data = bytes[1]};
    hap_var var = {.kind = HAP_VAR_INPUT, .t = &input};
    hap_rank r = {.n_stages = 2, .var = &var, .n_vars = 1};
    cuda_call c = {.kind = CUDA_OP, .op = {.op = HAP_OP_slice, .n_in = 1, .in = {&input}}};
    ck_assert(cuda_live_of_stages(&r, &c));
    c.op.in[0] = &value;
    ck_assert(!cuda_live_of_stages(&r, &c));
    c.op.in[0] = &input;
    r.n_stages = 0;
    ck_assert(!cuda_live_of_stages(&r, &c));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_live");
    TCase *t = tcase_create("cuda_live");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, random_lists);
    tcase_add_test(t, a_run_that_is_short_on_one_rank);
    tcase_add_test(t, nothing_is_captured_of_lists_that_differ);
    tcase_add_test(t, parts_that_are_the_same_work);
    tcase_add_test(t, slices_of_inputs);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
