// What other strategies do: for the report, and as proposals of the whole search.

#ifndef HAP_SYNTH_BASELINES_H
#define HAP_SYNTH_BASELINES_H

#include "synth/search/candidates.h"

// The baseline of one strategy, whatever its time.
void pool_baseline(pool *p, syn_strategy s);
// If the best plan is a baseline, its forms at the LP's cuts instead of a starting ratio's, where
// that is faster.
void pool_refine_baseline(pool *p);
// What simple strategies do on the present mesh, where that fits by itself: the simulator may like
// it better than what the additive model does. Where one becomes the best, its ratios follow.
void pool_propose(pool *p);
void pool_propose_one(pool *p, syn_strategy s);
// All of them, on all devices and where it may lead, if the options want baselines or a set of
// devices is all there is.
void pool_try_baselines(pool *p);
// The baselines on the devices of the leader alone, where it leaves some out, and the best single
// device: fills others. Each is a plan as well, and may lead.
void pool_others(pool *p);

#endif
