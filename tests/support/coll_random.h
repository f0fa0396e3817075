// Random collectives, and what they are to make: kinds, forms, axis masks, types, shapes with cut
// factors and tables with zeros; values of tensors and of their sums from global indices alone.
//
// The numbers are the same on every rank. Tables live until some thousands more have been drawn.

#ifndef HAP_TESTS_COLL_RANDOM_H
#define HAP_TESTS_COLL_RANDOM_H

#include "core/rank.h"

enum { COLL_MOST_LIST = 3, COLL_N_FORMS = 7 };

typedef struct coll_shape {
    int rank;
    hap_dim src[HAP_MAX_RANK], dst[HAP_MAX_RANK];
} coll_shape;

uint64_t coll_mix(uint64_t z);
void coll_seed(uint64_t seed);
int64_t coll_below(int64_t n);
bool coll_chance(int percent);
// Of one or two axes; one of two coordinates or more on both is the usual.
void coll_mesh(int n_ranks, int *n_axes, int *size);
// n entries over the coordinates: even, or at random with zeros.
const int64_t *coll_table(int64_t n, int parts, bool even);

// Forms of a kind, some twice; FORM_PUTS: with some number of copies in flight.
extern const hap_form coll_forms[][COLL_N_FORMS];
hap_form coll_put(const hap_rank *r, unsigned axes); // any
// Kind, reduction, axes, form and length of the list; the rest of c is zero.
void coll_call(const hap_rank *r, hap_coll_call *c, hap_dtype *type);
void coll_shapes(const hap_rank *r, const hap_coll_call *c, coll_shape *s);
bool coll_sums(const hap_coll_call *c);
hap_event *coll_start(hap_rank *r, const hap_coll_call *c);

// --- values: small integers, exact in every type and sum ---
int coll_value(hap_dtype type, int64_t global, int rank, int item); // rank 0 unless partial
double coll_get(const hap_tensor *t, int64_t i);                    // t->data in host memory
void coll_set(hap_tensor *t, int64_t i, int x);
// Index in the global tensor of a local element, dim by dim from the definition of a cut.
int64_t coll_global(const hap_tensor *t, int64_t local);
bool coll_member(const hap_rank *r, int rank, unsigned axes); // does it share r's chunk?
// What the collective makes of the values of `item` at a global index.
double coll_expected(const hap_rank *r, const hap_coll_call *c, hap_dtype type, int64_t global,
                     int item);

#endif
