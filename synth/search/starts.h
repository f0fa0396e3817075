// What starting ratios and leads come to on one mesh: ratio LP and search in turn, other prices of
// communication.

#ifndef HAP_SYNTH_STARTS_H
#define HAP_SYNTH_STARTS_H

#include "synth/search/candidates.h"
#include "synth/search/slack.h"

// The plan at the cuts of a starting ratio on p->b. False if there is none, or the cuts were
// searched before. keep, if not NULL, stays in memory.
bool pool_first_plan(pool *p, syn_starting_ratio starting, const candidate *keep, candidate *out);
// Seconds of that plan at the compute starting ratio, if it fits without a price on memory; else
// HUGE_VAL.
double pool_glance(pool *p);
// From the first plan of a starting ratio, if it is worth it, where others stand at `best` (0:
// nowhere).
void pool_alternate(pool *p, syn_starting_ratio starting, const candidate *first, double best);
// Everything from one starting ratio on p->b.
void pool_follow(pool *p, syn_starting_ratio starting);
// From where the search among few layers ended: everything, or the first plan alone, whose seconds
// that gives; HUGE_VAL: none that fits.
void pool_follow_lead(pool *p, const syn_lead *lead);
double pool_look_at_lead(pool *p, const syn_lead *lead);
// Plans that the simulator may like better than the additive model does: communication, which may
// hide or stand beside matmuls, at a discount. In a large graph the larger one, if the step waits
// for any; in a small one that, too, where memory has no price.
void pool_discounts(pool *p);
// The best plan's transfers once more, on whatever devices it stands.
void pool_polish(pool *p);
// A plan of a search at the cuts of another one: in which nothing hides, at a share of its memory
// price; in which what it leaves time for hides as said. False: there is none, or the latter does
// not fit.
bool pool_plain_at(pool *p, const candidate *from, double price, candidate *out);
bool pool_hide_by(pool *p, const candidate *from, syn_hiding how, candidate *out);
// From the best plan with pairs: transfers that pairs may hide at a discount, and other ratios.
// What is found takes the place of that plan alone; all else is as if there were no pairs.
void pool_pair_rounds(pool *p);

#endif
