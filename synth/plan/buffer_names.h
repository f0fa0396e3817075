// Names of buffers in emitted programs: C identifiers, unique in the program.

#ifndef HAP_SYNTH_BUFFER_NAMES_H
#define HAP_SYNTH_BUFFER_NAMES_H

#include "synth/plan/program.h"

void syn_name_buffers(syn_program *p);

#endif
