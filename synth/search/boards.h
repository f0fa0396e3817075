// The meshes that a synthesis searches, and the cuts in play on them.

#ifndef HAP_SYNTH_BOARDS_H
#define HAP_SYNTH_BOARDS_H

#include "synth/search/candidates.h"
#include "synth/search/ratios.h"

bool pool_few_starts(const pool *p); // ratios start from the better of two plans alone
bool pool_is_large(const pool *p);   // few layers were searched before
bool pool_is_long(const pool *p);    // it took too long by now for more of what gains little

// Another board on a mesh; none if that is NULL.
void pool_add_board(pool *p, syn_mesh *mesh);
// The meshes over a set of devices (by rank of the cluster; NULL: all) that the options allow.
void pool_add_boards(pool *p, const bool *keep);
bool pool_same_ranks(const syn_mesh *a, const syn_mesh *b);

// The cuts of p->b are those of a starting ratio. The bandwidth starting ratio stands beside the
// compute starting ratio: what is bound by the one and by the other may be cut differently, with a
// reshard between. On two axes, whose states multiply, it stands alone.
void pool_set_starting_ratio(pool *p, syn_starting_ratio starting);
// The LP's cuts beside the starting ratio's. On two axes, whose states multiply, in its place where
// the LP has any of the set.
void pool_add_lp_cuts(pool *p, const syn_ratios *lp);
double *pool_even_weights(const pool *p); // of the classes of p->b

#endif
