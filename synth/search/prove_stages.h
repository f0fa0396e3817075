// The certificate of a plan of stages, before anybody sees it (check_slots.h, check_stages.h).

#ifndef HAP_SYNTH_PROVE_STAGES_H
#define HAP_SYNTH_PROVE_STAGES_H

#include "synth/plan/staged.h"

// False: *why is one sentence, in a.
bool syn_prove_stages(hb_arena *a, syn_staged *p, hb_str *why);

#endif
