// Families: buffers that repeat with a loop. Private to roll.c.

#ifndef HAP_SYNTH_ROLL_FAMILY_H
#define HAP_SYNTH_ROLL_FAMILY_H

#include "synth/passes/roll_shape.h"

void roll_families(roll *r);

#endif
