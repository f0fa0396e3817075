// The certificate of a program that the search made, before anybody sees it.

#ifndef HAP_SYNTH_PROVE_H
#define HAP_SYNTH_PROVE_H

#include "synth/space/synthesis_options.h"

// A placed program; it gets its names. False if the checker rejects it: *rejected (in a) has its
// words then, and the options' `rejected` is told them unless they were there before.
bool syn_prove(hb_arena *a, syn_program *p, const syn_options *o, hb_str *rejected);

#endif
