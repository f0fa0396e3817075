// Atoms: dims and parts of dims under unification, the ground that factorize.c works on.
//
// An atom is a run of indices of some size. Atoms found to be the same index set are united
// (union-find); an atom found to be compound is split into (major, minor), for all members of its
// set at once. Leaves are the factors:
//
//     2304 ── 3
//          └─ 768 ── 12
//                 └─ 64           leaves 3, 12, 64
//
// ir_align makes two sequences of atoms agree, from the major side, by splitting at common divisors
// and uniting what then is equal: [1024] with [8, 128] splits 1024. What has no common divisor
// stays unmatched up to the next boundary that both sequences share.

#ifndef HAP_IR_FACTOR_ATOMS_H
#define HAP_IR_FACTOR_ATOMS_H

#include "ir/factors.h"

enum { IR_MAX_LEAVES = IR_MAX_FACTORS * IR_MAX_RANK };

typedef struct ir_atoms ir_atoms;

typedef struct ir_leaves {
    int n;
    int atom[IR_MAX_LEAVES]; // roots
} ir_leaves;

ir_atoms *ir_atoms_new(hb_arena *a);
int ir_atom(ir_atoms *s, int64_t size); // a new one; size > 1
int64_t ir_atom_size(const ir_atoms *s, int atom);
int ir_atoms_count(const ir_atoms *s);
// Appends the leaves of an atom, major to minor.
void ir_atom_leaves(const ir_atoms *s, int atom, ir_leaves *out);

// A sequence of dims that splits must keep within IR_MAX_FACTORS leaves each and
// IR_MAX_TENSOR_FACTORS together: a tensor.
void ir_atoms_guard(ir_atoms *s, int rank, const int *atoms);

// Splits and unites until the sequences agree as far as they can; true if anything changed. Both
// have the same product; atoms of size 1 are left out by the caller (-1 is skipped).
bool ir_align(ir_atoms *s, int na, const int *a, int nb, const int *b);

// Compares two leaf sequences of equal product: pair[i] = index in b of the leaf equal to a's leaf
// i, -1 if it is unmatched.
void ir_match(const ir_atoms *s, const ir_leaves *a, const ir_leaves *b, int *pair);

#endif
