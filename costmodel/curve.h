// A measured curve: seconds by size. Inside of the cost model.
//
// Points of dense ops have their flop per byte (`thin`) beside the size and lie in families, one a
// width: as sizes ascend so does the flop per byte, up to what the width allows. At a size between
// two points, and between the two families next to the flop per byte asked for, log-log; a family
// says nothing below its first point. Below the first size of all its seconds, above the last in
// proportion; below the least flop per byte memory binds: time in proportion to bytes; above the
// greatest as there. Other ops have one family and no flop per byte.

#ifndef HAP_COSTMODEL_CURVE_H
#define HAP_COSTMODEL_CURVE_H

#include "costmodel/cost.h"
#include "ir/base/diag.h"
#include "ir/base/tree.h"

typedef struct cost_curve {
    int n_families;
    int *first;         // n_families + 1: of its points
    double *thin;       // ln; NULL: none
    double *size, *sec; // ln
} cost_curve;

// [[size, seconds]…] with sizes ascending, or [[flop per byte, size, seconds]…], where a family
// begins whenever the size falls. False after errors.
bool cost_curve_read(hb_arena *a, const hb_tree *t, const hb_source *src, hb_diag *d,
                     cost_curve *out);
double cost_curve_at(const cost_curve *c, double thin, double size);
// Least seconds per unit of size in any family, up to `size`: what parts take at least.
double cost_curve_rate(const cost_curve *c, double size);

// Of a model's curves; NULL: not measured.
const cost_curve *cost_curve_of_op(const cost_model *m, int cls, ir_op op);
const cost_curve *cost_curve_of_copy(const cost_model *m, int cls);
// It is there, and not that of another op which this one is priced like.
bool cost_curve_is_own(const cost_model *m, int cls, ir_op op);

// What `hapc compare -o` corrects seconds by; 1: nothing.
double cost_factor_of_op(const cost_model *m, int cls, ir_op op);
double cost_factor_of_copy(const cost_model *m, int cls);
double cost_factor_of_coll(const cost_model *m, cost_coll k, cost_form f, bool crosses);

// Of a collective: a curve of some ranks stands for other numbers of ranks, too; one of a one-sided
// put for as many copies in flight, or for one to every other member if it is of that, and if there
// is none of these for the nearest number of copies. False: not measured.
typedef struct cost_coll_curve {
    const cost_curve *curve;
    int n;          // ranks
    cost_form form; // of it
    cost_form as;   // what it stands for among the ranks that were asked for
} cost_coll_curve;
bool cost_curve_of_coll(const cost_model *m, cost_coll k, cost_form f, int n, bool crosses,
                        cost_coll_curve *out);

// What the formulas (collective.c) take a link to give a form on n ranks, and the latency of a part
// that every member sends to n - 1 others.
double cost_rate(cost_form f, int n, cl_link link);
double cost_parts_latency(cost_form f, int n, cl_link link);

#endif
