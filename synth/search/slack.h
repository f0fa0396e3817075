// Slack: how long a value lies ready before its first use, in a plan. What is sent then may hide
// behind what is computed meanwhile.

#ifndef HAP_SYNTH_SLACK_H
#define HAP_SYNTH_SLACK_H

#include "synth/space/space.h"

// What is thought to hide, and what it costs then.
typedef struct syn_hiding {
    double price; // share of what a transfer takes that is counted while it hides
    double share; // of the slack, in which it may; 0: of all
    int draw;     // which factors are drawn for the slack of kinds; 0: none
    bool takes;   // what it takes from the computing that hides it is counted as well
    bool pairs; // while a product goes row by row, what it makes and the rows that it reads travel
} syn_hiding;

// By tensor of the program's graph: seconds of computing between the op that makes it (a
// parameter: the step's start, or its update) and the first one that reads it (an updated
// parameter: the step's end). Tensors of one kind have the mean of their slacks.
syn_slack *syn_slack_of(hb_arena *a, const syn_program *p, const syn_kinds *kinds, syn_hiding how);

#endif
