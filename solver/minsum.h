// Exact minimum of a sum of unary and pairwise cost tables over discrete variables.
//
// Bucket elimination in a greedy order (the cheaper of min-weight and weighted min-fill), double
// arithmetic, +inf = forbidden, lowest index breaks ties. reference: reference/search.md sections
// 2, 3.

#ifndef HAP_SOLVER_MINSUM_H
#define HAP_SOLVER_MINSUM_H

#include "ir/base/arena.h"
#include "ir/base/stop.h"

typedef struct ms_edge {
    int a, b;            // variables, a != b; several edges between the same pair add up
    const double *table; // [domain a][domain b], row-major; shared tables are fine
} ms_edge;

// What solves of several problems share: their reductions' tables, known by the pointers of the
// problems' tables and unaries. Where those stay where they are, as long as the memo lives,
// problems that differ in a few unaries are reduced in little time.
typedef struct ms_memo ms_memo;
ms_memo *ms_memo_new(hb_arena *a);

typedef struct ms_problem {
    int n_vars;
    const int *domain;          // >= 1
    const double *const *unary; // by variable; NULL = zeros
    int n_edges;
    const ms_edge *edge;
    const hb_stop *stop; // NULL, or when to end with the best assignment so far (MS_TOO_LARGE)
    ms_memo *memo;       // NULL, or of problems over the same tables
    // What costs as much is of no interest: once nothing is proved to cost less, a search by bounds
    // ends (MS_TOO_LARGE). 0: there is no such value.
    double beyond;
} ms_problem;

typedef enum { MS_OPTIMAL, MS_INFEASIBLE, MS_TOO_LARGE } ms_status;

// assignment[n_vars] and *value (sum) on MS_OPTIMAL. MS_TOO_LARGE when the elimination would need
// more than max_cells table cells (0: 2^28). order, if not NULL, is a cache: pass the same ms_order
// for problems of the same structure (variables, domains, edges) to skip the ordering.
typedef struct ms_order ms_order;
ms_status ms_solve(hb_arena *a, const ms_problem *p, uint64_t max_cells, ms_order **order,
                   int *assignment, double *value);
// Every assignment, one by one; the oracle of ms_solve, for small products of domains. Among equal
// sums the first in lexicographic order; ms_solve takes the lowest index variable by variable in
// the reverse of its elimination order, so that the two may differ there (values never do).
ms_status ms_exhaustive(const ms_problem *p, int *assignment, double *value);
double ms_value(const ms_problem *p, const int *assignment);

// The same minimum by a dual bound, which leaves few states to eliminate (ms_dual.c): the method
// for training graphs. *lower (may be NULL) is a proved bound. warm, if not NULL, keeps the
// messages (in a): pass the same ms_warm for problems of the same variables whose costs differ.
// Variables and states are known by their numbers; a warm start changes the time and, among
// equals, the assignment, nothing else.
typedef struct ms_warm ms_warm;
ms_status ms_solve_dual(hb_arena *a, const ms_problem *p, uint64_t max_cells, ms_warm **warm,
                        int *assignment, double *value, double *lower);
// As ms_solve_dual, but an assignment is good enough when *value <= *lower * (1 + gap). On
// MS_TOO_LARGE *value is +inf or that of the best assignment found.
ms_status ms_solve_near(hb_arena *a, const ms_problem *p, uint64_t max_cells, double gap,
                        ms_warm **warm, int *assignment, double *value, double *lower);

// For problems with runs of equal layers, whose tables are the same pointers: fewer layers are
// solved as by ms_solve_near, and one of them is copied. *value is what the assignment costs; of
// the whole nothing is proved. MS_TOO_LARGE where nothing is repeated often enough, or the copies
// do not fit one another. warm as there; repeats, if not NULL, keeps (in a) what repeats: pass the
// same for problems of the same variables and edges.
typedef struct ms_tile ms_tile;
ms_status ms_solve_repeated(hb_arena *a, const ms_problem *p, double gap, ms_warm **warm,
                            const ms_tile **repeats, int *assignment, double *value);

// The best assignment that differs from x in few variables alone: in those that at most `reach`
// edges lead to from one of from[n_from]; near enough as by ms_solve_near, of what these cost. x
// becomes it on MS_OPTIMAL. *states: of these variables, in all.
typedef struct ms_links ms_links; // the edges of each variable
const ms_links *ms_links_of(hb_arena *a, const ms_problem *p);
ms_status ms_solve_around(const ms_problem *p, const ms_links *l, const int *from, int n_from,
                          int reach, double gap, int *x, double *states);

// Where two assignments differ falls into parts that no edge joins: x with some parts of y costs
// what x does and what each of them adds by itself (partition crossover: Tinos, Whitley, Chicano,
// "Partition Crossover for Pseudo-Boolean Optimization", FOGA 2015, section 3). part[v]: which one
// variable v is of, -1 where the two agree. Returns how many there are. O(n_vars + n_edges), about.
int ms_parts(const ms_problem *p, const int *x, const int *y, int *part);

#endif
