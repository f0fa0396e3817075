// Chunks of a pair and of its list of tiles: each distance has some, weights are numbers, and what
// is passed on has come before.

#include <stdlib.h>

#include "synth/certify/check_model.h"
#include "synth/plan/search_limits.h"

int64_t chk_group_size(const chk *c, unsigned axes)
{
    if (c->r->n_axes == 1 || axes == 3u) return c->r->n_ranks;
    return c->r->size[axes == 2u ? 1 : 0];
}

// Of its distance's weights, which chunk k is: [*from, *to) of *all.
void chk_share(const rec_call *overlap, int k, int64_t *from, int64_t *to, int64_t *all)
{
    *from = *all = 0;
    for (int i = 0; i < overlap->n_chunks; i++) {
        if (overlap->chunk[i][0] != overlap->chunk[k][0]) continue;
        if (i < k) *from += llabs(overlap->chunk[i][1]);
        *all += llabs(overlap->chunk[i][1]);
    }
    *to = *from + llabs(overlap->chunk[k][1]);
}

static bool check_passed(chk *c, const rec_call *overlap, const rec_call *start, int64_t n)
{
    for (int k = 0; k < overlap->n_chunks; k++) {
        const int64_t *g = overlap->chunk[k];
        int64_t from, to, all;
        if (g[2] == 0) continue;
        if (start->coll != COST_ALL_GATHER || g[2] < 0 || g[2] >= n || g[0] == 0 || g[0] == g[2])
            return chk_fail(c, "chunk %d of the pair goes by way of %lld", k, (long long)g[2]);
        chk_share(overlap, k, &from, &to, &all);
        for (int i = k + 1; i < overlap->n_chunks; i++) {
            int64_t lo, hi, sum;
            chk_share(overlap, i, &lo, &hi, &sum);
            if (overlap->chunk[i][0] == g[2] && lo * all < to * sum && from * sum < hi * all)
                return chk_fail(c, "chunk %d of the pair is passed on before chunk %d has come", k,
                                i);
        }
    }
    return true;
}

bool chk_chunks(chk *c, const rec_call *overlap, const rec_call *start, int64_t n)
{
    bool *there = HB_ARRAY(c->a, bool, n);
    int64_t from, to, all;
    if (overlap->n_chunks > SYN_RECORD_GROUPS)
        return chk_fail(c, "a pair of %d chunks", overlap->n_chunks);
    for (int k = 0; k < overlap->n_chunks; k++) {
        int64_t d = overlap->chunk[k][0], w = overlap->chunk[k][1];
        if (d < 0 || d >= n || w < (k > 0 ? -INT32_MAX : 1) || w == 0 || w > INT32_MAX)
            return chk_fail(c, "chunk %d of the pair has distance %lld and weight %lld", k,
                            (long long)d, (long long)w);
        there[d] = true;
    }
    for (int64_t d = 0; d < n; d++)
        if (!there[d]) return chk_fail(c, "the pair has no chunk of distance %lld", (long long)d);
    for (int k = 0; k < overlap->n_chunks; k++) {
        chk_share(overlap, k, &from, &to, &all);
        if (all > INT32_MAX)
            return chk_fail(c, "the pair's weights of distance %lld are %lld together",
                            (long long)overlap->chunk[k][0], (long long)all);
    }
    return check_passed(c, overlap, start, n);
}

// Entries of a dim that a rank holds.
int64_t chk_held(const chk *c, const rec_dim *d, int rank)
{
    return d->axis < 0 ? d->n : d->outer * d->table[chk_coord(c, rank, d->axis)] * d->inner;
}
