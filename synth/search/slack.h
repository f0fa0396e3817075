// Slack: how long a value lies ready before its first use, in a plan. What is sent then may hide
// behind what is computed meanwhile.

#ifndef HAP_SYNTH_SLACK_H
#define HAP_SYNTH_SLACK_H

#include "synth/space/space.h"

// By tensor of the program's graph: seconds of computing between the op that makes it (a
// parameter: the step's start, or its update) and the first one that reads it (an updated
// parameter: the step's end). Tensors of one kind have the mean of their slacks. pairs: while a
// product goes row by row, what it makes and the rows that it reads may travel.
syn_slack *syn_slack_of(hb_arena *a, const syn_program *p, const syn_kinds *kinds, double price,
                        bool takes, bool pairs);

#endif
