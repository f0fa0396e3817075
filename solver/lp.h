// Linear programs over GLPK: named rows and columns, status checked, duals returned.
//
//     lp *p = lp_new(arena);
//     int x = lp_col(p, "x", 0, INFINITY, 1.0);
//     int r = lp_row(p, "rank2.matmul_7", -INFINITY, 4.0);
//     lp_term(p, r, x, 1.0);
//     lp_status s = lp_solve(p);      // minimizes
//
// NaN anywhere is rejected before GLPK sees it. GLPK's aborts are caught (error hook + longjmp) and
// become LP_FAILED, and so does a program that takes too many pivots: a solution never hangs on how
// fast the machine is.

#ifndef HAP_SOLVER_LP_H
#define HAP_SOLVER_LP_H

#include "ir/base/arena.h"

typedef struct lp lp;
typedef enum { LP_OPTIMAL, LP_INFEASIBLE, LP_UNBOUNDED, LP_FAILED } lp_status;

lp *lp_new(hb_arena *a);
int lp_col(lp *p, const char *name, double lo, double hi, double cost);
int lp_row(lp *p, const char *name, double lo, double hi);
void lp_term(lp *p, int row, int col, double coef); // repeated terms add up
lp_status lp_solve(lp *p);
double lp_value(const lp *p, int col);
double lp_dual(const lp *p, int row);
double lp_objective(const lp *p);
bool lp_write(const lp *p, const char *path); // CPLEX LP text

// Rounds n non-negative weights to integers that sum to total, multiples of grain except the last
// boundary: boundaries are multiples of grain and monotone, the last is total. Largest remainder;
// ties to the lower index; zero is legal. hb_assert: some weight is positive and finite.
void lp_round(int64_t total, int64_t grain, int n, const double *weight, int64_t *out);
// The same with the least largest part per weight: what takes longest ends soonest (the method of
// Jefferson and D'Hondt). Parts of at most L per weight hold no more than sum floor(L weight); L is
// the least at which that is the total. Of few granules, largest remainders may give a slow one
// twice what it is good for.
void lp_round_least_most(int64_t total, int64_t grain, int n, const double *weight, int64_t *out);

#endif
