// The ranks of one collective as its pair sees them: what overlap.h is asked when their matmuls
// and their collective are known.
//
// A message is one of the n - 1 that a rank sends one after the other when all shards are as large;
// a scattered part is sent like a gathered one, and added later. Of an all-reduce it is the
// collective of some rows: the library's whole, a one-sided put's one of its two ways.

#ifndef HAP_COSTMODEL_PAIR_TEAM_H
#define HAP_COSTMODEL_PAIR_TEAM_H

#include "costmodel/overlap.h"

typedef struct cost_team {
    const cost_model *model;
    cost_memory memory; // of its members; the launch overhead is the pair's, not a message's
    cl_link link;
    cost_coll coll; // all-gather: its matmuls are consumers
    bool feeds;     // an all-to-all: its matmuls are consumers, too; else they make what it moves
    cost_form form;
    int n;
    const int64_t *rows; // by coordinate; all-reduce: [0], all
    const int *kind;     // by coordinate
    int n_kinds;
    int cls[CL_MAX_CLASSES];          // by kind: of the cluster
    double row_bytes[CL_MAX_CLASSES]; // by kind: of the moved tensor, where it has all rows
    double runs; // all-to-all: runs of memory that the columns of one row lie in
    double (*matmul)(void *ctx, int kind, int64_t rows); // seconds of all matmuls on some rows
    void *ctx;
    // Where the ranks have kernels for lists of tiles: matmuls, columns of their results by kind
    // and op, of their operand by kind; else n_ops is 0.
    int n_ops;
    const int64_t *cols, *k;
    bool stores;                            // lists by stores are looked at, too
    bool parts;                             // lists of all-gathers may have parts of k
    double *after;                          // room for n; cost_team_pair fills it
    cost_contention beside[CL_MAX_CLASSES]; // so too
} cost_team;

// Can the team's transfer go in parts in this form?
bool cost_pairs_in(const cost_team *t, cost_form form);
// What the team's pair takes at its form. It points into t.
cost_pair cost_team_pair(cost_team *t, bool quick);
// Can the team's pair be a list of tiles, in this form? An all-reduce goes by rows.
bool cost_team_lists(const cost_team *t, cost_form form);
// The best list of a team: of the few quickest forms at a plain grouping the best groups (`quick`:
// of one form, few groupings). At a form of the transfer that cost_team_lists. False: none.
typedef struct cost_list {
    const cost_tile_form *form;
    bool sums, by_rows, stores, parts;
    int n, chunk[COST_MAX_CHUNKS][3];
    cost_pair_time time;
} cost_list;
bool cost_best_list(cost_team *t, bool quick, cost_list *best);
// Whether a pair is planned as its list rather than in chunks, by the seconds of both.
bool cost_list_first(cost_coll coll, double list, double chunked);
// One list, of a form of tiles; tiles and rows (n, of an all-reduce) are the caller's room, and it
// points into them and t. An all-reduce's has sums.
typedef enum { COST_LIST_PLAIN, COST_LIST_SUMS, COST_LIST_STORES, COST_LIST_HOWS } cost_list_how;
cost_pair cost_team_list(cost_team *t, const cost_tile_form *f, cost_list_how how, bool quick,
                         cost_pair_tiles *tiles, int64_t *rows);
// Are there lists of the team made in that way, of that form? Forms in turns alone store what they
// make in others' memory: one warpgroup multiplies while the other's tile is on its way.
bool cost_team_lists_how(const cost_team *t, const cost_tile_form *f, cost_list_how how);
// Seconds of a collective of the link on `bytes`, without what ranks come apart to it; table NULL:
// even; `apart`: runs of what all members hold together.
double cost_team_seconds(const cost_team *t, cost_coll coll, cost_form form, const int64_t *table,
                         double bytes, double apart);
double cost_team_message(const cost_team *t, int kind, int64_t rows);

#endif
