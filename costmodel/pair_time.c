#include "costmodel/device_defaults.h"
#include "costmodel/pair_links.h"
#include "costmodel/pair_parts.h"
#include "costmodel/pair_price.h"
#include "costmodel/pair_whole.h"

#include <math.h>
#include <string.h>

static double larger(double a, double b)
{
    return a > b ? a : b;
}

typedef double table[COST_MAX_CHUNKS][COST_MAX_PAIR_RANKS];

// --- one matmul beside one queue of messages ---

// Messages of a rank as its matmul sees them: `done` of them is over, `left` is to come; beside
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
    if (sec <= COST_ROUNDING_FEW * both) return;
    b->t += sec; // and nothing is sent
    b->left = 0;
    b->done += sec;
}

// --- products of chunks ---

// A part that follows another: its own seconds, or its share of the whole matmul and the gap,
// whichever is more. What a gap was measured to take has in it what parts lose to the whole; so
// have the seconds of few rows.
static double further(const pair_pricer *x, int kind, double sec, int64_t rows)
{
    double least = (x->whole[kind] * (double)rows + x->p->gap) * x->quicker;
    return rows > 0 && sec < least ? least : sec;
}

// Seconds of the product of joined chunks k to k + run on rank r, whose members' rows begin at
// first[]: one call a range of rows. `leads`: no chunk was before it.
static double joined(pair_pricer *x, const pair_parts *g, int k, int r, const int64_t *first,
                     bool leads)
{
    const cost_pair *p = x->p;
    pair_range range[COST_MAX_CHUNKS];
    int64_t rows = 0;
    int kind = p->kind[r];
    double sec = 0;
    if (g->run[k] == 1) {
        int d = g->distance[k], m = (r + (p->consumer ? p->n - d : d)) % p->n;
        rows = pair_rows_of(g, k, p->rows[m]);
        sec = pair_seconds(x, false, kind, rows);
        return leads ? sec : further(x, kind, sec, rows);
    }
    for (int i = 0, n = pair_ranges(g, p, k, r, first, range); i < n; i++) {
        sec += pair_seconds(x, false, kind, range[i].hi - range[i].lo);
        rows += range[i].hi - range[i].lo;
    }
    return leads ? sec : further(x, kind, sec, rows);
}

static void add_rank(cost_pair_time *t, int kind, double end, double all, double busy)
{
    t->end[kind] = larger(t->end[kind], end);
    t->busy[kind] = larger(t->busy[kind], busy);
    t->total = larger(t->total, all);
}

// Own rows at once, others as they arrive.
static void consume(pair_pricer *x, const pair_parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    table at;
    double busy[COST_MAX_PAIR_RANKS];
    int64_t begin[COST_MAX_PAIR_RANKS];
    pair_arrivals(x, g, at, busy);
    pair_first_rows(p, begin);
    for (int r = 0; r < p->n; r++) {
        double last = busy[r], idle = 0;
        for (int k = 0; k < g->n; k++)
            if (g->distance[k]) last = larger(last, at[k][r]);
        beside b = {.left = last, .c = p->beside[p->kind[r]]};
        double own = g->run[0] == 1 && g->distance[0] == 0 ? joined(x, g, 0, r, begin, true) : 0;
        double *least = &t->own[p->kind[r]];
        *least = t->end[p->kind[r]] > 0 && *least < own ? *least : own;
        bool first = true;
        for (int k = 0; k < g->n; k++) {
            double until = 0, sec = g->run[k] ? joined(x, g, k, r, begin, first) : 0;
            if (sec <= 0) continue;
            for (int i = k; i < k + g->run[k]; i++)
                if (g->distance[i] &&
                    pair_rows_of(g, i, p->rows[(r + p->n - g->distance[i]) % p->n]))
                    until = larger(until, at[i][r] + p->flag);
            if (until > b.done) {
                double wait = until - b.done;
                idle += wait;
                b.t += wait;
                b.done += wait;
                b.left = larger(b.left - wait, 0);
            }
            compute(&b, sec);
            first = false;
        }
        add_rank(t, p->kind[r], b.t, b.t + b.left, b.t - idle);
        t->transfer = larger(t->transfer, last);
    }
}

static cost_contention beside_made(const pair_pricer *x, int r)
{
    cost_contention c = x->p->beside[x->p->kind[r]];
    c.communication *= x->crowded;
    return c;
}

// Messages leave as their rows are made. at: when they end at the sender.
static void send_made(pair_pricer *x, const pair_parts *g, int r, const int64_t *begin, table at,
                      cost_pair_time *t)
{
    const cost_pair *p = x->p;
    beside b = {.c = beside_made(x, r)};
    double ends[COST_MAX_CHUNKS], queued = 0; // in the clock of `done`, or 0
    int of[COST_MAX_CHUNKS], n = 0;           // messages that are on their way
    bool first = true;
    for (int k = 0; k < g->n; k++) {
        double made = g->run[k] ? joined(x, g, k, r, begin, first) : 0;
        if (made > 0) first = false;
        // Piece by piece: what ends meanwhile.
        while (made > 0) {
            double piece = made;
            if (n > 0) piece = fmin(made, (ends[0] - b.done) * b.c.communication / b.c.compute);
            compute(&b, piece);
            made -= piece;
            if (made < COST_ROUNDING_FEW * piece) made = 0;
            while (n > 0 && ends[0] <= b.done * (1 + COST_ROUNDING_FEW)) {
                at[of[0]][(r + g->distance[of[0]]) % p->n] = b.t;
                memmove(ends, ends + 1, sizeof *ends * (size_t)(n - 1));
                memmove(of, of + 1, sizeof *of * (size_t)(n - 1));
                n--;
            }
        }
        for (int i = k; i < k + g->run[k]; i++) {
            int64_t rows = pair_rows_of(g, i, p->rows[(r + g->distance[i]) % p->n]);
            if (g->distance[i] == 0) at[i][r] = b.t;
            if (g->distance[i] == 0 || rows == 0) continue;
            queued = larger(queued, b.done) + pair_seconds(x, true, p->kind[r], rows);
            b.left = queued - b.done;
            ends[n] = queued;
            of[n++] = i;
        }
    }
    for (int i = 0; i < n; i++)
        at[of[i]][(r + g->distance[of[i]]) % p->n] = b.t + (ends[i] - b.done);
    add_rank(t, p->kind[r], b.t, b.t + b.left, b.t);
}

// The same of all ranks, who share the links of those they send to.
static void send_shared(pair_pricer *x, const pair_parts *g, const int64_t *begin, table at,
                        cost_pair_time *t)
{
    const cost_pair *p = x->p;
    pair_sender rank[COST_MAX_PAIR_RANKS];
    memset(rank, 0, sizeof *rank * (size_t)p->n);
    for (int r = 0; r < p->n; r++) {
        pair_sender *s = &rank[r];
        int behind[COST_MAX_CHUNKS];
        s->beside = beside_made(x, r);
        for (int k = 0; k < g->n; k += g->run[k]) {
            double made = joined(x, g, k, r, begin, s->n_matmuls == 0);
            if (made > 0) s->matmul[s->n_matmuls++] = made;
            for (int i = k; i < k + g->run[k]; i++)
                behind[i] = s->n_matmuls;
        }
        pair_add_messages(x, g, r, behind, s);
    }
    pair_links_run(p->n, rank, p->flag, at);
    for (int r = 0; r < p->n; r++) {
        for (int k = 0; k < g->n; k++)
            if (g->distance[k] == 0) at[k][r] = rank[r].made;
        add_rank(t, p->kind[r], rank[r].made, larger(rank[r].made, rank[r].sent), rank[r].made);
    }
}

static void produce(pair_pricer *x, const pair_parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    table at; // [chunk][receiver]
    int64_t begin[COST_MAX_PAIR_RANKS];
    bool shared = !pair_even(p);
    memset(at, 0, sizeof at);
    pair_first_rows(p, begin);
    if (shared) send_shared(x, g, begin, at, t);
    for (int r = 0; r < p->n && !shared; r++)
        send_made(x, g, r, begin, at, t);
    double total = t->total;
    for (int r = 0; r < p->n; r++) {
        double in = 0, out = 0, sum = 0, came[COST_MAX_CHUNKS] = {0};
        for (int k = 0; k < g->n; k++) {
            int d = g->distance[k], from = (r + p->n - d) % p->n;
            int64_t rows = pair_rows_of(g, k, p->rows[r]);
            came[k] = d == 0 ? at[k][r] : 0;
            if (d == 0) continue;
            out += pair_seconds(x, true, p->kind[r], pair_rows_of(g, k, p->rows[(r + d) % p->n]));
            if (rows == 0) continue;
            double sec = pair_seconds(x, true, p->kind[from], rows);
            in = larger(shared ? in : in + sec, at[k][r]);
            sum += sec;
            came[k] = in + p->flag;
        }
        double after = p->after ? p->after[r] : 0;
        total = larger(total, pair_add_up(g, p->rows[r], came, after));
        t->transfer = larger(t->transfer, larger(sum, out) + after);
    }
    t->total = total;
}

// Every kind makes part by part.
static void produce_whole(pair_pricer *x, const pair_parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    pair_whole w = {.n = g->n,
                    .n_kinds = p->n_kinds,
                    .back = p->back,
                    .late = p->late,
                    .ahead = p->ahead,
                    .flag = p->flag,
                    .beside = p->beside};
    for (int k = 0; k < g->n; k++) {
        int64_t rows = pair_rows_of(g, k, p->rows[0]);
        w.message[k] = pair_seconds(x, true, 0, rows);
        if (p->back && p->after) w.sum[k] = p->after[0] * (double)rows / (double)p->rows[0];
        for (int c = 0; c < p->n_kinds; c++) {
            double sec = pair_seconds(x, false, c, rows);
            w.matmul[k][c] = k ? further(x, c, sec, rows) : sec;
        }
    }
    pair_whole_run(&w);
    for (int c = 0; c < p->n_kinds; c++)
        add_rank(t, c, w.made[c], w.made[c], w.made[c]);
    t->transfer = w.sent;
    t->total = w.total;
}

double pair_price(pair_pricer *x, int (*chunk)[3], int n, cost_pair_time *t)
{
    pair_parts g;
    pair_parts_of(&g, x->p, chunk, n);
    memset(t, 0, sizeof *t);
    (x->p->tiles      ? pair_list_price
     : x->p->whole    ? produce_whole
     : x->p->consumer ? consume
                      : produce)(x, &g, t);
    t->total += x->p->launch_overhead;
    for (int k = 0; k < x->p->n_kinds; k++)
        t->end[k] += x->p->launch_overhead;
    return t->total;
}

pair_pricer *pair_pricer_new(hb_arena *a, const cost_pair *p)
{
    hb_assert(p->n >= 2 && (p->whole || p->n <= COST_MAX_PAIR_RANKS) &&
              p->n_kinds <= CL_MAX_CLASSES);
    pair_pricer *x = HB_NEW(a, pair_pricer);
    int64_t all = p->rows[0];
    x->p = p;
    x->quicker = x->crowded = 1;
    for (int r = 1; r < p->n && !p->whole; r++)
        all += p->rows[r];
    for (int k = 0; k < p->n_kinds && all > 0; k++)
        x->whole[k] = p->matmul(p->ctx, k, all) / (double)all;
    return x;
}

double cost_pair_seconds(const cost_pair *p, int (*chunk)[3], int n_chunks, cost_pair_time *t)
{
    hb_arena *a = hb_arena_new();
    pair_price(pair_pricer_new(a, p), chunk, n_chunks, t);
    hb_arena_free(a);
    return t->total;
}

cost_contention cost_pair_contention(const cl_class *c, cost_form form)
{
    // Copies take no processor: what else is measured there is the device's clock.
    cost_contention k = cost_contentions_of(c).of[cost_is_put(form)];
    if (!cost_is_put(form)) return k;
    return (cost_contention){fmin(k.compute, COST_PUT_CONTENTION),
                             fmin(k.communication, COST_PUT_CONTENTION)};
}

bool cost_pair_pays(const cost_pair *p, cl_kind kind, double total, int matmuls, double matmul,
                    double transfer)
{
    // A device bound by power draws less while it waits for its collective, and its matmul may
    // draw more, but no more than the clock has left. A pair that gains next to nothing may lose.
    bool gpu = kind == CL_GPU;
    double rests = transfer + matmul > 0 ? transfer / (transfer + matmul) : 0, rested = 1;
    if (gpu && matmul >= COST_RESTS_FROM)
        rested = fmax(cbrt((1 - rests) / (1 - COST_IDLE_POWER * rests)), COST_COOLEST);
    double margin = !gpu                   ? COST_PAIR_MARGIN_CPU
                    : p->whole && !p->back ? COST_PAIR_MARGIN_WHOLE
                                           : COST_PAIR_MARGIN_GPU;
    return total + p->doubt * matmuls < (transfer + rested * matmul) * (1 - margin);
}

// --- the sequence ---

double pair_sequential(pair_pricer *x)
{
    const cost_pair *p = x->p;
    double total = 0, sent = 0, busy[COST_MAX_PAIR_RANKS];
    int64_t rows = 0;
    if (p->whole) {
        for (int c = 0; c < p->n_kinds; c++)
            total = larger(total, pair_seconds(x, false, c, p->rows[0]));
        double sums = p->back && p->after ? p->after[0] : 0;
        return total + (p->back ? 2 : 1) * pair_seconds(x, true, 0, p->rows[0]) + sums + p->flag;
    }
    for (int r = 0; r < p->n; r++)
        rows += p->rows[r];
    for (int r = 0; r < p->n; r++) {
        double out = 0, in = 0;
        for (int d = 1; d < p->n; d++) {
            int other = (r + d) % p->n;
            out += pair_seconds(x, true, pair_message_kind(p, r, other),
                                p->rows[p->consumer ? r : other]);
            in += pair_seconds(x, true, pair_message_kind(p, other, r),
                               p->rows[p->consumer ? other : r]);
        }
        busy[r] = larger(out, in) + (p->after && !p->consumer ? p->after[r] : 0);
    }
    for (int r = 0; r < p->n; r++) {
        sent = larger(sent, busy[r]);
        total = larger(total, pair_seconds(x, false, p->kind[r], rows));
    }
    return total + sent + p->flag;
}

double cost_pair_sequential(const cost_pair *p)
{
    hb_arena *a = hb_arena_new();
    double sec = pair_sequential(pair_pricer_new(a, p));
    hb_arena_free(a);
    return sec;
}
