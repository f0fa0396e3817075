#include "costmodel/pair_parts.h"

#include <stdlib.h>

void pair_parts_of(pair_parts *x, const cost_pair *p, int (*chunk)[3], int n)
{
    hb_assert(n >= 1 && n <= COST_MAX_CHUNKS);
    x->n = n;
    x->most = p->rows[0];
    for (int r = 1; r < p->n && !p->whole; r++)
        x->most = p->rows[r] > x->most ? p->rows[r] : x->most;
    for (int k = 0; k < n; k++) {
        x->distance[k] = chunk[k][0];
        x->via[k] = chunk[k][2];
        x->from[k] = x->of[k] = 0;
        for (int j = 0; j < n; j++) {
            if (chunk[j][0] != chunk[k][0]) continue;
            if (j < k) x->from[k] += abs(chunk[j][1]);
            x->of[k] += abs(chunk[j][1]);
        }
        x->to[k] = x->from[k] + abs(chunk[k][1]);
        hb_assert(x->via[k] >= 0 && x->via[k] < (p->whole ? 1 : p->n));
        hb_assert(x->via[k] == 0 || (x->via[k] != x->distance[k] && x->distance[k] != 0));
        hb_assert(chunk[k][1] >= (k ? INT32_MIN + 1 : 1) && chunk[k][1] != 0);
        x->run[k] = 1;
    }
    for (int k = n - 1; k > 0; k--)
        if (chunk[k][1] < 0) {
            x->run[k - 1] += x->run[k];
            x->run[k] = 0;
        }
}

// Whether chunk j brings rows that are passed on as chunk k.
static bool brings(const pair_parts *x, int j, int k)
{
    return x->via[k] != 0 && x->distance[j] == x->via[k] &&
           (int64_t)x->from[j] * x->of[k] < (int64_t)x->to[k] * x->of[j] &&
           (int64_t)x->from[k] * x->of[j] < (int64_t)x->to[j] * x->of[k];
}

uint32_t pair_passed(const pair_parts *x, int k, int64_t rows)
{
    uint32_t chunks = 0;
    for (int j = 0; j < x->n; j++)
        if (brings(x, j, k) && pair_rows_of(x, j, rows) > 0) chunks |= UINT32_C(1) << j;
    return chunks;
}

bool pair_in_order(const cost_pair *p, int (*chunk)[3], int n)
{
    pair_parts x;
    pair_parts_of(&x, p, chunk, n);
    for (int k = 0; k < n; k++)
        for (int j = k + 1; j < n; j++)
            if (brings(&x, j, k)) return false;
    return true;
}

void pair_first_rows(const cost_pair *p, int64_t *first)
{
    first[0] = 0;
    for (int r = 0; r + 1 < p->n; r++)
        first[r + 1] = first[r] + p->rows[r];
}

int pair_ranges(const pair_parts *g, const cost_pair *p, int k, int r, const int64_t *first,
                pair_range *ranges)
{
    int n = 0, merged = 0;
    for (int i = k; i < k + g->run[k]; i++) {
        int d = g->distance[i], m = (r + (p->consumer ? p->n - d : d)) % p->n, at = n;
        int64_t from = first[m] + pair_rows_before(g, i, g->from[i], p->rows[m]);
        int64_t to = first[m] + pair_rows_before(g, i, g->to[i], p->rows[m]);
        if (from == to) continue;
        for (; at > 0 && ranges[at - 1].lo > from; at--)
            ranges[at] = ranges[at - 1];
        ranges[at] = (pair_range){from, to};
        n++;
    }
    for (int i = 0; i < n; i++) {
        if (merged > 0 && ranges[merged - 1].hi == ranges[i].lo)
            ranges[merged - 1].hi = ranges[i].hi;
        else
            ranges[merged++] = ranges[i];
    }
    return merged;
}

// Parts of one distance lie end to end: where one begins or the rows are over, another ends.
int pair_sums(const pair_parts *g, int64_t rows, pair_added *sums)
{
    int64_t from[COST_MAX_CHUNKS], to[COST_MAX_CHUNKS];
    int n = 0;
    for (int k = 0; k < g->n; k++) {
        from[k] = pair_rows_before(g, k, g->from[k], rows);
        to[k] = pair_rows_before(g, k, g->to[k], rows);
    }
    for (int64_t at = 0, end = rows; at < rows; at = end, end = rows) {
        pair_added s = {.from = at, .last = -1, .own = -1};
        for (int k = 0; k < g->n; k++) {
            if (from[k] <= at && at < to[k]) *(g->distance[k] ? &s.last : &s.own) = k;
            if (from[k] > at && from[k] < end) end = from[k];
        }
        s.rows = end - at;
        sums[n++] = s;
    }
    return n;
}
