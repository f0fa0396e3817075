#include "costmodel/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- seconds of rows, each asked for once ---

enum { KNOWN = 1024 };

typedef struct pricer {
    const cost_pair *p;
    int n_known;
    struct known {
        bool used, message;
        int kind;
        int64_t rows;
        double sec;
    } known[KNOWN];
} pricer;

static double seconds(pricer *x, bool message, int kind, int64_t rows)
{
    const cost_pair *p = x->p;
    if (rows <= 0) return 0;
    uint64_t h = ((uint64_t)rows * 2 + message) * CL_MAX_CLASSES + (uint64_t)kind;
    int at = (int)((h * 0x9E3779B97F4A7C15u) >> 54);
    while (x->known[at].used) {
        const struct known *k = &x->known[at];
        if (k->message == message && k->kind == kind && k->rows == rows) return k->sec;
        at = (at + 1) % KNOWN;
    }
    double sec = (message ? p->message : p->product)(p->ctx, kind, rows);
    hb_assert(sec >= 0);
    if (x->n_known < KNOWN / 2) {
        x->n_known++;
        x->known[at] = (struct known){true, message, kind, rows, sec};
    }
    return sec;
}

// --- one product beside one queue of messages ---

// Messages of a rank as its product sees them: `done` of them is over, `left` is to come; beside
// each other both slow down.
typedef struct beside {
    double t;          // now
    double done, left; // seconds of messages, without contention
    cost_contention c;
} beside;

static void compute(beside *b, double sec)
{
    double both = fmin(sec * b->c.compute, b->left * b->c.communication);
    b->t += both;
    b->done += both / b->c.communication;
    b->left -= both / b->c.communication;
    sec -= both / b->c.compute;
    if (sec <= 1e-12 * both) return;
    b->t += sec; // and nothing is sent
    b->left = 0;
    b->done += sec;
}

// --- rows of groups ---

typedef struct parts {
    int n;
    int distance[COST_MAX_GROUPS];
    int from[COST_MAX_GROUPS], to[COST_MAX_GROUPS], of[COST_MAX_GROUPS]; // weights: [from, to) of
} parts;

static void parts_of(parts *x, int (*group)[2], int n)
{
    hb_assert(n >= 1 && n <= COST_MAX_GROUPS);
    x->n = n;
    for (int k = 0; k < n; k++) {
        x->distance[k] = group[k][0];
        x->from[k] = x->of[k] = 0;
        for (int j = 0; j < n; j++) {
            if (group[j][0] != group[k][0]) continue;
            if (j < k) x->from[k] += group[j][1];
            x->of[k] += group[j][1];
        }
        x->to[k] = x->from[k] + group[k][1];
        hb_assert(group[k][1] >= 1);
    }
}

static int64_t rows_of(const parts *x, int k, int64_t rows)
{
    return rows * x->to[k] / x->of[k] - rows * x->from[k] / x->of[k];
}

// --- transfers between ranks ---

// When messages end that `n` streams send at once over one link, each stream its own in order:
// work[i] of stream[i]; the link is shared evenly.
static void share_link(int n, const int *stream, const double *work, double *end)
{
    double left[COST_MAX_GROUPS], t = 0;
    bool over[COST_MAX_GROUPS] = {false};
    memcpy(left, work, sizeof *work * (size_t)n);
    for (int rest = n; rest > 0;) {
        int active = 0;
        double least = (double)INFINITY;
        bool taken[COST_MAX_PAIR_RANKS] = {false}, runs[COST_MAX_GROUPS] = {false};
        for (int i = 0; i < n; i++) {
            if (over[i] || taken[stream[i]]) continue;
            taken[stream[i]] = runs[i] = true;
            active++;
            if (left[i] < least) least = left[i];
        }
        t += least * active;
        for (int i = 0; i < n; i++) {
            if (!runs[i]) continue;
            left[i] -= least;
            if (left[i] > 1e-12 * work[i]) continue;
            over[i] = true;
            end[i] = t;
            rest--;
        }
    }
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

typedef double table[COST_MAX_GROUPS][COST_MAX_PAIR_RANKS];

// When the messages of every group end, by receiver, if all are ready from the start; and by rank
// when its link is free. A message ends when the sender's link and the receiver's are through.
static void arrivals(pricer *x, const parts *g, table at, double *busy)
{
    const cost_pair *p = x->p;
    double out[COST_MAX_GROUPS], in[COST_MAX_GROUPS];
    int stream[COST_MAX_GROUPS], of[COST_MAX_GROUPS];
    table sent;
    memset(busy, 0, sizeof *busy * (size_t)p->n);
    for (int r = 0; r < p->n; r++) {
        int n = 0;
        double sum_out = 0, sum_in = 0, end_out[COST_MAX_GROUPS], end_in[COST_MAX_GROUPS];
        for (int k = 0; k < g->n; k++) {
            int d = g->distance[k], from = (r + p->n - d) % p->n;
            if (d == 0) continue;
            out[n] = seconds(x, true, p->kind[r], rows_of(g, k, p->rows[r]));
            in[n] = seconds(x, true, p->kind[from], rows_of(g, k, p->rows[from]));
            end_out[n] = sum_out += out[n];
            end_in[n] = sum_in += in[n];
            stream[n] = d;
            of[n++] = k;
        }
        if (p->together) {
            share_link(n, stream, out, end_out);
            share_link(n, stream, in, end_in);
        }
        for (int i = 0; i < n; i++) {
            int to = (r + stream[i]) % p->n;
            sent[of[i]][to] = end_out[i];
            at[of[i]][r] = end_in[i];
        }
        busy[r] = larger(sum_out, sum_in);
    }
    for (int k = 0; k < g->n; k++)
        for (int r = 0; r < p->n && g->distance[k]; r++)
            at[k][r] = larger(at[k][r], sent[k][r]);
}

static void add_rank(cost_pair_time *t, int kind, double end, double all, double busy)
{
    t->end[kind] = larger(t->end[kind], end);
    t->busy[kind] = larger(t->busy[kind], busy);
    t->total = larger(t->total, all);
}

// Own rows at once, others as they arrive.
static void consume(pricer *x, const parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    table at;
    double busy[COST_MAX_PAIR_RANKS];
    arrivals(x, g, at, busy);
    for (int r = 0; r < p->n; r++) {
        double last = busy[r], idle = 0;
        for (int k = 0; k < g->n; k++)
            if (g->distance[k]) last = larger(last, at[k][r]);
        beside b = {.left = last, .c = p->beside[p->kind[r]]};
        bool first = true;
        for (int k = 0; k < g->n; k++) {
            int d = g->distance[k];
            int64_t rows = rows_of(g, k, p->rows[(r + p->n - d) % p->n]);
            if (rows == 0) continue;
            double until = d ? at[k][r] + p->flag : 0;
            if (until > b.done) {
                double wait = until - b.done;
                idle += wait;
                b.t += wait;
                b.done += wait;
                b.left = larger(b.left - wait, 0);
            }
            compute(&b, seconds(x, false, p->kind[r], rows) + (first ? 0 : p->gap));
            first = false;
        }
        add_rank(t, p->kind[r], b.t, b.t + b.left, b.t - idle);
        t->transfer = larger(t->transfer, last);
    }
}

// Messages leave as their rows are made. at: when they end at the sender.
static void send_made(pricer *x, const parts *g, int r, table at, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    beside b = {.c = p->beside[p->kind[r]]};
    double ends[COST_MAX_GROUPS], queued = 0; // in the clock of `done`, or 0
    int of[COST_MAX_GROUPS], n = 0;           // messages that are on their way
    bool first = true;
    for (int k = 0; k < g->n; k++) {
        int to = (r + g->distance[k]) % p->n;
        int64_t rows = rows_of(g, k, p->rows[to]);
        double made = rows ? seconds(x, false, p->kind[r], rows) + (first ? 0 : p->gap) : 0;
        if (rows) first = false;
        // Piece by piece: what ends meanwhile.
        while (made > 0) {
            double piece = made;
            if (n > 0) piece = fmin(made, (ends[0] - b.done) * b.c.communication / b.c.compute);
            compute(&b, piece);
            made -= piece;
            if (made < 1e-12 * piece) made = 0;
            while (n > 0 && ends[0] <= b.done * (1 + 1e-12)) {
                at[of[0]][(r + g->distance[of[0]]) % p->n] = b.t;
                memmove(ends, ends + 1, sizeof *ends * (size_t)(n - 1));
                memmove(of, of + 1, sizeof *of * (size_t)(n - 1));
                n--;
            }
        }
        if (g->distance[k] == 0 || rows == 0) continue;
        double sec = seconds(x, true, p->kind[r], rows);
        queued = larger(queued, b.done) + sec;
        b.left = queued - b.done;
        ends[n] = queued;
        of[n++] = k;
    }
    for (int i = 0; i < n; i++)
        at[of[i]][(r + g->distance[of[i]]) % p->n] = b.t + (ends[i] - b.done);
    add_rank(t, p->kind[r], b.t, b.t + b.left, b.t);
}

static void produce(pricer *x, const parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    table at; // [group][receiver]
    memset(at, 0, sizeof at);
    for (int r = 0; r < p->n; r++)
        send_made(x, g, r, at, t);
    double total = t->total;
    for (int r = 0; r < p->n; r++) {
        double in = 0, out = 0, sum = 0;
        bool any = false;
        for (int k = 0; k < g->n; k++) {
            int d = g->distance[k], from = (r + p->n - d) % p->n;
            int64_t rows = rows_of(g, k, p->rows[r]);
            if (d == 0) continue;
            out += seconds(x, true, p->kind[r], rows_of(g, k, p->rows[(r + d) % p->n]));
            if (rows == 0) continue;
            double sec = seconds(x, true, p->kind[from], rows);
            in = larger(in + sec, at[k][r]);
            sum += sec;
            any = true;
        }
        double all = larger(any ? in + p->flag : 0, t->end[p->kind[r]]);
        total = larger(total, all + (p->after ? p->after[r] : 0));
        t->transfer = larger(t->transfer, larger(sum, out) + (p->after ? p->after[r] : 0));
    }
    t->total = total;
}

// Every kind makes part by part; a part is reduced when all have made it and the one before is
// over. From one event to the next all go on at their rates.
static void produce_whole(pricer *x, const parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    int made[CL_MAX_CLASSES] = {0}, sent = 0;
    double left[CL_MAX_CLASSES], message = -1, now = 0, slow = 1;
    for (int c = 0; c < p->n_kinds; c++) {
        left[c] = seconds(x, false, c, rows_of(g, 0, p->rows[0]));
        slow = larger(slow, p->beside[c].communication);
    }
    while (sent < g->n) {
        int ready = g->n;
        bool computes = false;
        for (int c = 0; c < p->n_kinds; c++) {
            ready = made[c] < ready ? made[c] : ready;
            computes = computes || made[c] < g->n;
        }
        if (message < 0 && sent < ready) {
            message = seconds(x, true, 0, rows_of(g, sent, p->rows[0]));
            t->transfer += message;
        }
        bool sends = message >= 0;
        double dt = sends ? message * (computes ? slow : 1) : (double)INFINITY;
        for (int c = 0; c < p->n_kinds; c++)
            if (made[c] < g->n) dt = fmin(dt, left[c] * (sends ? p->beside[c].compute : 1));
        now += dt;
        for (int c = 0; c < p->n_kinds; c++) {
            if (made[c] == g->n) continue;
            left[c] -= dt / (sends ? p->beside[c].compute : 1);
            if (left[c] > 1e-15) continue;
            if (++made[c] == g->n) {
                add_rank(t, c, now, now, now);
            } else {
                int64_t rows = rows_of(g, made[c], p->rows[0]);
                left[c] = seconds(x, false, c, rows) + (rows ? p->gap : 0);
            }
        }
        if (!sends) continue;
        message -= dt / (computes ? slow : 1);
        if (message > 1e-15) continue;
        message = -1;
        sent++;
    }
    t->total = now + p->flag;
}

static double price(pricer *x, int (*group)[2], int n, cost_pair_time *t)
{
    parts g;
    parts_of(&g, group, n);
    memset(t, 0, sizeof *t);
    (x->p->whole ? produce_whole : x->p->consumer ? consume : produce)(x, &g, t);
    return t->total;
}

static pricer *pricer_new(hb_arena *a, const cost_pair *p)
{
    hb_assert(p->n >= 2 && (p->whole || p->n <= COST_MAX_PAIR_RANKS) &&
              p->n_kinds <= CL_MAX_CLASSES);
    pricer *x = HB_NEW(a, pricer);
    x->p = p;
    return x;
}

double cost_pair_seconds(const cost_pair *p, int (*group)[2], int n_groups, cost_pair_time *t)
{
    hb_arena *a = hb_arena_new();
    price(pricer_new(a, p), group, n_groups, t);
    hb_arena_free(a);
    return t->total;
}

// --- the sequence ---

static int one_each(const cost_pair *p, int (*group)[2])
{
    int n = p->whole ? 1 : p->n;
    for (int k = 0; k < n; k++) {
        group[k][0] = p->consumer || p->whole ? k : (k + 1) % n;
        group[k][1] = 1;
    }
    return n;
}

static double sequential(pricer *x)
{
    const cost_pair *p = x->p;
    int group[COST_MAX_GROUPS][2];
    parts g;
    double total = 0, sent = 0, busy[COST_MAX_PAIR_RANKS];
    int64_t rows = 0;
    if (p->whole) {
        for (int c = 0; c < p->n_kinds; c++)
            total = larger(total, seconds(x, false, c, p->rows[0]));
        return total + seconds(x, true, 0, p->rows[0]) + p->flag;
    }
    parts_of(&g, group, one_each(p, group));
    for (int r = 0; r < p->n; r++)
        rows += p->rows[r];
    if (p->consumer) {
        table at;
        arrivals(x, &g, at, busy);
    } else {
        for (int r = 0; r < p->n; r++) {
            double out = 0, in = 0;
            for (int d = 1; d < p->n; d++) {
                out += seconds(x, true, p->kind[r], p->rows[(r + d) % p->n]);
                in += seconds(x, true, p->kind[(r + d) % p->n], p->rows[r]);
            }
            busy[r] = larger(out, in) + (p->after ? p->after[r] : 0);
        }
    }
    for (int r = 0; r < p->n; r++) {
        sent = larger(sent, busy[r]);
        total = larger(total, seconds(x, false, p->kind[r], rows));
    }
    return total + sent + p->flag;
}

double cost_pair_sequential(const cost_pair *p)
{
    hb_arena *a = hb_arena_new();
    double sec = sequential(pricer_new(a, p));
    hb_arena_free(a);
    return sec;
}

// --- search ---

static const int splits[][7] = {{1, 1},
                                {2, 1, 1},
                                {2, 2, 1},
                                {2, 3, 1},
                                {2, 1, 2},
                                {2, 1, 3},
                                {3, 1, 1, 1},
                                {3, 4, 2, 1},
                                {3, 3, 2, 1},
                                {3, 1, 2, 4},
                                {3, 1, 2, 3},
                                {3, 1, 2, 1},
                                {3, 2, 4, 1},
                                {4, 1, 1, 1, 1},
                                {4, 1, 2, 2, 1},
                                {4, 8, 4, 2, 1},
                                {4, 1, 2, 4, 8},
                                {5, 1, 1, 1, 1, 1},
                                {6, 1, 1, 1, 1, 1, 1},
                                {6, 1, 2, 3, 3, 2, 1}};
enum { N_SPLITS = sizeof splits / sizeof *splits };

typedef struct best {
    pricer *x;
    int max, n;
    int group[COST_MAX_GROUPS][2];
    double sec; // with doubt
    cost_pair_time t;
} best;

static bool offer(best *b, int (*group)[2], int n)
{
    cost_pair_time t;
    if (n > b->max) return false;
    double sec = price(b->x, group, n, &t) + n * b->x->p->doubt;
    if (b->n > 0 && sec >= b->sec * (1 - 1e-9)) return false;
    b->sec = sec;
    b->t = t;
    b->n = n;
    memcpy(b->group, group, sizeof *group * (size_t)n);
    return true;
}

// Weights in smaller units, and one unit from one part of a distance to another as long as that
// helps.
static void improve(best *b)
{
    enum { UNITS = 16 };
    for (int k = 0; k < b->n; k++)
        b->group[k][1] *= UNITS;
    for (int step = UNITS; step >= UNITS / 4; step /= 2)
        for (bool better = true; better;) {
            better = false;
            for (int i = 0; i < b->n; i++)
                for (int k = 0; k < b->n; k++) {
                    int group[COST_MAX_GROUPS][2];
                    memcpy(group, b->group, sizeof group);
                    if (i == k || group[i][0] != group[k][0] || group[i][1] <= step) continue;
                    group[i][1] -= step;
                    group[k][1] += step;
                    better = offer(b, group, b->n) || better;
                }
        }
}

// Splits of the first remote member, of those between and of the last.
typedef struct shape {
    int split[3];
} shape;

static bool offer_shape(best *b, const shape *s)
{
    const cost_pair *p = b->x->p;
    int group[6 * COST_MAX_PAIR_RANKS][2], n = 0;
    for (int k = 0; k < p->n; k++) {
        int d = p->consumer ? k : (k + 1) % p->n;
        const int *split = splits[d == 0 ? 0 : s->split[d == p->n - 1 ? 2 : d == 1 ? 0 : 1]];
        for (int i = 1; i <= split[0]; i++, n++) {
            group[n][0] = d;
            group[n][1] = split[i];
        }
    }
    return offer(b, group, n);
}

// One of the three splits at a time, from a start.
static void descend(best *b, shape s)
{
    static const int order[] = {2, 0, 1, 2, 0};
    int n = b->x->p->n;
    offer_shape(b, &s);
    for (int i = 0; i < 5; i++) {
        int where = order[i], own = s.split[where];
        if ((where == 0 && n == 2) || (where == 1 && n < 4)) continue;
        bool better = false;
        for (int k = 0; k < N_SPLITS; k++) {
            if (k == own) continue;
            s.split[where] = k;
            if (offer_shape(b, &s)) {
                own = k;
                better = true;
            }
        }
        s.split[where] = own;
        if (!better && i >= 3) break;
    }
    improve(b);
}

static void search_members(best *b)
{
    best halves = {.x = b->x, .max = b->max};
    descend(b, (shape){{0, 0, 0}});
    descend(&halves, (shape){{1, 1, 1}});
    if (halves.n > 0) offer(b, halves.group, halves.n);
}

static void search_whole(best *b)
{
    enum { MOST = 8, UNITS = 24 };
    int group[COST_MAX_GROUPS][2] = {{0, 1}};
    offer(b, group, 1);
    for (int n = 2; n <= MOST; n++) {
        best own = {.x = b->x, .max = b->max};
        for (int bend = -2; bend <= 2; bend++) { // growing, equal, shrinking
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += pow(1 + 0.5 * abs(bend), bend < 0 ? k : n - 1 - k);
            for (int k = 0; k < n; k++) {
                double w = pow(1 + 0.5 * abs(bend), bend < 0 ? k : n - 1 - k) / sum * UNITS;
                group[k][0] = 0;
                group[k][1] = w < 1 ? 1 : (int)lround(w);
            }
            offer(&own, group, n);
        }
        improve(&own);
        if (own.n > 0) offer(b, own.group, own.n);
        if (own.sec > b->sec * 1.02) break;
    }
}

static int common_divisor(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Weights of one distance without a common factor.
static void reduce_weights(int (*group)[2], int n)
{
    for (int k = 0; k < n; k++) {
        int d = 0;
        for (int j = 0; j < n; j++)
            if (group[j][0] == group[k][0]) d = common_divisor(group[j][1], d);
        for (int j = n - 1; j >= k; j--)
            if (group[j][0] == group[k][0]) group[j][1] /= d;
    }
}

int cost_pair_search(const cost_pair *p, int max, int (*group)[2], cost_pair_time *t)
{
    hb_arena *a = hb_arena_new();
    best b = {.x = pricer_new(a, p), .max = max < COST_MAX_GROUPS ? max : COST_MAX_GROUPS};
    double alone = sequential(b.x);
    if (p->whole)
        search_whole(&b);
    else
        search_members(&b);
    int n = b.n > 0 && b.t.total < alone ? b.n : 0;
    reduce_weights(b.group, n);
    memcpy(group, b.group, sizeof *group * (size_t)n);
    *t = b.t;
    hb_arena_free(a);
    return n;
}
