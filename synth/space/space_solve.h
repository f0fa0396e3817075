// Searches: the best choice of a space, or one near it.

#ifndef HAP_SYNTH_SPACE_SOLVE_H
#define HAP_SYNTH_SPACE_SOLVE_H

#include "synth/space/space.h"

ms_status syn_space_solve(hb_arena *a, const syn_space *s, syn_choice *out);
// As syn_space_solve, but near enough the optimum is enough: out->additive <= *lower * (1 + gap),
// where that takes no more than a second or so of elimination; *lower is proved in any case. warm,
// if not NULL, starts from the searches of other weights and cuts, of the same kinds. repeats, if
// not NULL: repeated layers may be copies of one, near the optimum of fewer layers; *lower is then
// 0. It keeps what repeats for searches of the same kinds.
ms_status syn_space_near(hb_arena *a, const syn_space *s, double gap, ms_warm **warm,
                         const ms_tile **repeats, syn_choice *out, double *lower);

// The choice that an assignment of s->problem stands for (not its value).
void syn_choice_decode(hb_arena *a, const syn_space *s, const int *assignment, syn_choice *out);

// Why no choice exists: the pin and the op that share no state. Empty if that is not the reason.
hb_str syn_space_clash(hb_arena *a, const syn_space *s);

#endif
