// What is done for the best plans of an exploration alone: what hides is looked at again, states
// are fixed one by one, collectives take other forms, and plans near them are looked for.

#ifndef HAP_SYNTH_FINISH_H
#define HAP_SYNTH_FINISH_H

#include "synth/search/candidates.h"

// What looks best before it is finished need not be so behind: the best plans of other meshes are
// finished too, those on other devices among them. Where finishing takes little work, or a
// strategy's plan leads, which is none of these, they only need to be near the best as it was
// before that, here and in other variants.
void pool_finish_meshes(pool *p);
int pool_meshes_to_finish(const pool *p); // of so many at most the best plans are kept for that
void pool_forget_meshes(pool *p);
// Seconds of a plan without pairs with what is done for the one that wins alone: equal conversions
// made once, other forms of collectives and, in small graphs, moves of its tables.
double pool_when_it_wins(pool *p, const candidate *c);
// States fixed in the best plan, unless other variants of the step are ahead by more than that may
// gain.
void pool_fix_best(pool *p);
// In the plan that a search of a large step ended at (opt->ended), in that which it explored before
// bounds found another, and in the fastest that no strategy proposed, as they were before they were
// placed: equal layers change together, so few tries do.
void pool_finish_ended(pool *p);
// The best plan, where that came up behind the exploration; two others stay in memory.
void pool_finish_found(pool *p, const candidate *one, const candidate *two);

#endif
