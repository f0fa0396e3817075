// The space of one search as a min-sum problem.

#ifndef HAP_SYNTH_SPACE_BUILD_H
#define HAP_SYNTH_SPACE_BUILD_H

#include "synth/space/space.h"

// NULL when some node has no sharding left, or a pinned tensor no state: *why names it, and what
// forbids it.
syn_space *syn_space_build(hb_arena *a, syn_costs *costs, const syn_partitions *partitions,
                           syn_strategy strategy, const syn_options *opt, const double *weight,
                           double weight_comm, const double *memory_price, hb_str *why);
// The same space, in which one tensor (not the loss) is never moved from a state of its list
// directly to another.
syn_space *syn_space_without(hb_arena *a, const syn_space *s, int tensor, int from, int to);

#endif
