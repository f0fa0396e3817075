// Inside of the min-sum solver: what ms_eliminate.c, ms_dual.c and the other ms_ files share.
//
// Variables are reduced to their *live* states first (unary finite, no edge row all infinite);
// those with one live state are folded away. Every table that takes part in the elimination has an
// id, and equal contents have equal ids, so that two eliminations with the same ids, sizes and
// scopes (the repeated layers of a model) are recognized and carried out once.

#ifndef HAP_SOLVER_MINSUM_PARTS_H
#define HAP_SOLVER_MINSUM_PARTS_H

#include "solver/minsum.h"
#include "solver/ms_kernel.h"
#include "solver/solver_limits.h"

// --- ids of small keys (ms_table.c) ---
typedef struct ms_keys ms_keys;
ms_keys *ms_keys_new(hb_arena *a);
// Ids count from 0 in order of first appearance. The key is copied.
int ms_key_id(ms_keys *k, const uint32_t *word, int n, bool *is_new);

// --- tables ---
typedef struct ms_table {
    const double *p; // NULL: a message not computed yet
    double cells;
} ms_table;

typedef struct ms_live {
    int n;            // live states
    const int *state; // their indices, ascending
    int id;           // equal lists have equal ids
    bool all;         // every state is live
} ms_live;

typedef struct ms_tables ms_tables;
ms_tables *ms_tables_new(hb_arena *a);
// The id of a caller's table [rows][cols] by contents; hb_assert: no NaN, no -inf. *row_ok,
// *col_ok: whether a row or column holds a finite cell.
int ms_source(ms_tables *t, const double *p, int rows, int cols, const bool **row_ok,
              const bool **col_ok);
// The live part of source s, as [a][b], or as [b][a].
int ms_part(ms_tables *t, int s, const ms_live *a, const ms_live *b, bool transposed);
int ms_message(ms_tables *t, double cells);
ms_table *ms_table_at(ms_tables *t, int id);

// --- one elimination (ms_step.c) ---
// The message of a variable with `own` states to the n_loops variables it met: a table over them,
// outermost first, of min over own states of the sum of the factors. The innermost loop is the
// vector direction. A factor's table is laid out [its outer loops, in order][own][innermost, if it
// has it].
typedef struct ms_factor {
    int table;
    uint64_t loops; // bit i: depends on loop i
} ms_factor;
typedef struct ms_step {
    int n_loops, own, n_factors, result;
    const int *size; // by loop
    const ms_factor *factor;
} ms_step;
void ms_step_run(ms_tables *t, const ms_step *s, double *out, hb_arena *scratch);

// --- orders (ms_order.c) ---
enum { MS_MIN_WEIGHT, MS_MIN_FILL, MS_N_RULES };
// Fills seq with the variables of more than one live state in a greedy order; gives their number,
// or -1 if those that differ would take more than max_work additions.
int ms_greedy(const ms_problem *p, const ms_live *live, int rule, double max_work, int *seq);

// ms_solve, but MS_TOO_LARGE also when it would take more than max_work additions.
ms_status ms_solve_within(const ms_problem *p, uint64_t max_cells, double max_work, int *assignment,
                          double *value);
// What a part of the caller's problem is called there: by variable of the part its variable and
// states; by variable of the whole its domain.
typedef struct ms_names {
    const int *var, *const *state, *domain;
} ms_names;

// ms_solve_near without the reduction: plain elimination where that takes at most `cheap`
// additions, else dual bound and elimination of the survivors. unary is not NULL. names is not
// NULL if warm is not.
ms_status ms_solve_bound(const ms_problem *p, uint64_t max_cells, double cheap, double gap,
                         ms_warm *warm, const ms_names *names, int *assignment, double *value,
                         double *lower);

#endif
