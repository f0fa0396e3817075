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
    cost_form form;
    int n;
    const int64_t *rows; // by coordinate; all-reduce: [0], all
    const int *kind;     // by coordinate
    int n_kinds;
    int cls[CL_MAX_CLASSES];          // by kind: of the cluster
    double row_bytes[CL_MAX_CLASSES]; // by kind: of the moved tensor
    double runs; // all-to-all: runs of memory that the columns of one row lie in
    double (*matmul)(void *ctx, int kind, int64_t rows); // seconds of all matmuls on some rows
    void *ctx;
    double *after;                          // room for n; cost_team_pair fills it
    cost_contention beside[CL_MAX_CLASSES]; // so too
} cost_team;

// Can the team's transfer go in parts in this form?
bool cost_pairs_in(const cost_team *t, cost_form form);
// What the team's pair takes at its form. It points into t.
cost_pair cost_team_pair(cost_team *t, bool quick);
// Seconds of a collective of the link on `bytes`, without what ranks come apart to it; table NULL:
// even; `apart`: runs of what all members hold together.
double cost_team_seconds(const cost_team *t, cost_coll coll, cost_form form, const int64_t *table,
                         double bytes, double apart);
double cost_team_message(const cost_team *t, int kind, int64_t rows);

#endif
