// The best list of tiles of a pair: which form, with sums, by stores or neither, in which groups.

#include "costmodel/device_defaults.h"
#include "costmodel/pair_team.h"

typedef struct candidate {
    const cost_tile_form *form;
    cost_list_how how;
    double sec;
} candidate;

enum { MOST = COST_TILE_FORMS * COST_LIST_HOWS };

// Layer after layer of the others' parts, own ones first (consumer) or last.
static int plain(const cost_pair *p, int (*chunk)[3])
{
    int parts = p->consumer ? 1 : COST_PAIR_LIST_PLAIN, n = 0, own = 1;
    while (parts > 1 && p->n * parts > COST_MAX_CHUNKS)
        parts--;
    if (p->tiles->by_rows) own = parts;
    for (int i = 0; i < own && p->consumer; i++, n++)
        chunk[n][0] = 0, chunk[n][1] = 1, chunk[n][2] = 0;
    for (int i = 0; i < parts; i++)
        for (int d = 1; d < p->n; d++, n++)
            chunk[n][0] = d, chunk[n][1] = 1, chunk[n][2] = 0;
    for (int i = 0; i < own && !p->consumer; i++, n++)
        chunk[n][0] = 0, chunk[n][1] = 1, chunk[n][2] = 0;
    return n;
}

static void put(candidate c, candidate *all, int *n)
{
    int at = (*n)++;
    for (; at > 0 && all[at - 1].sec > c.sec; at--)
        all[at] = all[at - 1];
    all[at] = c;
}

// Quickest first.
static int candidates(cost_team *t, candidate *all)
{
    int n = 0, chunk[COST_MAX_CHUNKS][3];
    for (int i = 0; i < MOST; i++) {
        const cost_list_how how = (cost_list_how)(i % COST_LIST_HOWS);
        const cost_tile_form *form = &cost_tile_forms[i / COST_LIST_HOWS];
        cost_pair_tiles tiles;
        cost_pair_time time;
        int64_t rows[COST_MAX_PAIR_RANKS];
        if (!cost_team_lists_how(t, form, how)) continue;
        cost_pair p = cost_team_list(t, form, how, true, &tiles, rows);
        double sec = cost_pair_seconds(&p, chunk, plain(&p, chunk), &time);
        put((candidate){form, how, sec}, all, &n);
    }
    return n;
}

bool cost_list_first(cost_coll coll, double list, double chunked)
{
    double less = coll == COST_ALL_GATHER       ? COST_TILE_GATHER
                  : coll == COST_REDUCE_SCATTER ? COST_TILE_SCATTER
                                                : 0;
    return list < chunked * (1 - less);
}

bool cost_best_list(cost_team *t, bool quick, cost_list *best)
{
    candidate all[MOST];
    int n = candidates(t, all), most = quick ? 1 : COST_PAIR_LIST_FORMS;
    best->n = 0;
    for (int i = 0; i < n && i < most; i++) {
        cost_pair_tiles tiles;
        cost_list x;
        int64_t rows[COST_MAX_PAIR_RANKS];
        cost_pair p = cost_team_list(t, all[i].form, all[i].how, quick, &tiles, rows);
        x.n = cost_pair_search(&p, COST_MAX_CHUNKS, x.chunk, &x.time);
        if (x.n == 0 || (best->n > 0 && x.time.total >= best->time.total)) continue;
        x.form = tiles.form;
        x.sums = tiles.sums;
        x.by_rows = tiles.by_rows;
        x.stores = tiles.stores;
        x.parts = tiles.parts;
        *best = x;
    }
    return best->n > 0;
}
