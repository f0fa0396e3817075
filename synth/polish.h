// Last moves on the integer cuts of a finished program, under the judge (polish.c).

#ifndef HAP_SYNTH_POLISH_H
#define HAP_SYNTH_POLISH_H

#include "synth/program.h"

// Tries to move granules between ranks of different classes, cut by cut, as long as the judge sees
// a gain. The program stays as it is but for its tables (and byte counts, prices): place it again
// afterwards. Returns the judged seconds.
double syn_polish(syn_program *p, const cost_model *m, double sec, const volatile int *interrupted);
// Sizes, scratch and prices again, after tables were set back.
void syn_refresh(syn_program *p, const cost_model *m);

#endif
