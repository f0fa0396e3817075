// Messages of a pair: seconds of rows, when they end, when what they bring is added. Of chunks
// (pair_time.c) and of lists of tiles (pair_list.c).

#include "costmodel/device_defaults.h"
#include "costmodel/pair_links.h"
#include "costmodel/pair_parts.h"
#include "costmodel/pair_price.h"

#include <math.h>
#include <string.h>

// --- seconds of rows, each asked for once ---

static double known_seconds(pair_pricer *x, bool message, int kind, int64_t rows)
{
    const cost_pair *p = x->p;
    if (rows <= 0) return 0;
    uint64_t h = ((uint64_t)rows * 2 + message) * CL_MAX_CLASSES + (uint64_t)kind;
    int at = (int)((h * 0x9E3779B97F4A7C15u) >> 56);
    while (x->known[at].used) {
        const struct pair_known *k = &x->known[at];
        if (k->message == message && k->kind == kind && k->rows == rows) return k->sec;
        at = (at + 1) % COST_PAIR_KNOWN;
    }
    double sec = (message ? p->message : p->matmul)(p->ctx, kind, rows);
    if (!message && sec < x->whole[kind] * (double)rows) sec = x->whole[kind] * (double)rows;
    hb_assert(sec >= 0);
    if (x->n_known < COST_PAIR_KNOWN / 2) {
        x->n_known++;
        x->known[at] = (struct pair_known){true, message, kind, rows, sec};
    }
    return sec;
}

double pair_seconds(pair_pricer *x, bool message, int kind, int64_t rows)
{
    double sec = known_seconds(x, message, kind, rows);
    return message ? sec : sec * x->quicker;
}

// --- transfers between ranks ---

// When messages end that `n` streams send at once over one link, each stream its own in order:
// work[i] of stream[i]; the link is shared evenly.
static void share_link(int n, const int *stream, const double *work, double *end)
{
    double left[COST_MAX_CHUNKS], t = 0;
    bool over[COST_MAX_CHUNKS] = {false};
    memcpy(left, work, sizeof *work * (size_t)n);
    for (int rest = n; rest > 0;) {
        int active = 0;
        double least = (double)INFINITY;
        bool taken[COST_MAX_PAIR_RANKS] = {false}, runs[COST_MAX_CHUNKS] = {false};
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
            if (left[i] > COST_ROUNDING_FEW * work[i]) continue;
            over[i] = true;
            end[i] = t;
            rest--;
        }
    }
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

typedef double table[COST_MAX_CHUNKS][COST_MAX_PAIR_RANKS];

// Do ranks that work on one chunk send to one member each, for as long?
bool pair_even(const cost_pair *p)
{
    bool same = p->n_kinds == 1;
    for (int r = 1; r < p->n; r++)
        same = same && p->rows[r] == p->rows[0];
    return same || p->copies > 1;
}

// What a rank sends, in order; behind[k]: matmuls before chunk k is sent.
void pair_add_messages(pair_pricer *x, const pair_parts *g, int r, const int *behind,
                       pair_sender *s)
{
    const cost_pair *p = x->p;
    for (int k = 0; k < g->n; k++) {
        int to = (r + g->distance[k]) % p->n;
        int64_t rows = pair_rows_of(g, k, p->rows[p->consumer ? r : to]);
        if (g->distance[k] == 0) continue;
        if (rows > 0 && pair_sender_of(g, p, k, r) == r)
            s->message[s->n_messages++] =
                (pair_message){to, k, pair_seconds(x, true, pair_message_kind(p, r, to), rows),
                               behind ? behind[k] : 0, 0};
        int owner = (r + p->n - g->via[k]) % p->n;
        if (owner == r || pair_sender_of(g, p, k, owner) != r) continue;
        rows = pair_rows_of(g, k, p->rows[owner]);
        if (rows > 0)
            s->message[s->n_messages++] = (pair_message){(owner + g->distance[k]) % p->n, k,
                                                         pair_seconds(x, true, p->kind[r], rows), 0,
                                                         pair_passed(g, k, p->rows[owner])};
    }
}

// When the messages of every chunk end, by receiver, if all are ready from the start; and by rank
// when its link is free. Even messages, and those of which several are under way, end when the
// sender's link and the receiver's are through.
void pair_arrivals(pair_pricer *x, const pair_parts *g, table at, double *busy)
{
    const cost_pair *p = x->p;
    double out[COST_MAX_CHUNKS], in[COST_MAX_CHUNKS];
    int stream[COST_MAX_CHUNKS], of[COST_MAX_CHUNKS];
    table sent;
    if (!pair_even(p)) {
        pair_sender rank[COST_MAX_PAIR_RANKS];
        memset(rank, 0, sizeof *rank * (size_t)p->n);
        memset(at, 0, sizeof(table));
        for (int r = 0; r < p->n; r++)
            pair_add_messages(x, g, r, NULL, &rank[r]);
        pair_links_run(p->n, rank, p->flag, at);
        for (int r = 0; r < p->n; r++) {
            busy[r] = rank[r].sent;
            for (int k = 0; k < g->n; k++)
                busy[r] = larger(busy[r], at[k][r]);
        }
        return;
    }
    memset(busy, 0, sizeof *busy * (size_t)p->n);
    for (int r = 0; r < p->n; r++) {
        int n = 0;
        double sum_out = 0, sum_in = 0, end_out[COST_MAX_CHUNKS], end_in[COST_MAX_CHUNKS];
        for (int k = 0; k < g->n; k++) {
            int d = g->distance[k], from = (r + p->n - d) % p->n;
            if (d == 0) continue;
            out[n] = pair_seconds(x, true, pair_message_kind(p, r, (r + d) % p->n),
                                  pair_rows_of(g, k, p->rows[r]));
            in[n] = pair_seconds(x, true, pair_message_kind(p, from, r),
                                 pair_rows_of(g, k, p->rows[from]));
            end_out[n] = sum_out += out[n];
            end_in[n] = sum_in += in[n];
            stream[n] = (d - 1) % p->copies;
            of[n++] = k;
        }
        if (p->copies > 1) {
            share_link(n, stream, out, end_out);
            share_link(n, stream, in, end_in);
        }
        for (int i = 0; i < n; i++) {
            int to = (r + g->distance[of[i]]) % p->n;
            sent[of[i]][to] = end_out[i];
            at[of[i]][r] = end_in[i];
        }
        busy[r] = larger(sum_out, sum_in);
    }
    for (int k = 0; k < g->n; k++)
        for (int r = 0; r < p->n && g->distance[k]; r++)
            at[k][r] = larger(at[k][r], sent[k][r]);
}

// When a rank has added what came for it, chunk k at came[k], all of it in `sec`: in the order in
// which the last parts of others come. What a sum takes of a matmul that runs is not in it.
double pair_add_up(const pair_parts *g, int64_t rows, const double *came, double sec)
{
    pair_added sums[2 * COST_MAX_CHUNKS];
    int n = rows > 0 && sec > 0 ? pair_sums(g, rows, sums) : 0;
    double now = 0, last = 0;
    for (int k = -1; k < g->n; k++) {
        if (k >= 0) last = larger(last, came[k]);
        if (k >= 0 && g->distance[k]) now = larger(now, came[k]);
        for (int i = 0; i < n; i++) {
            if (sums[i].last != k) continue;
            if (sums[i].own >= 0) now = larger(now, came[sums[i].own]);
            now += sec * (double)sums[i].rows / (double)rows;
        }
    }
    return larger(now, last);
}
