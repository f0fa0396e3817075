// A program as text (`hapc -d p`).

#ifndef HAP_SYNTH_PROGRAM_PRINT_H
#define HAP_SYNTH_PROGRAM_PRINT_H

#include "synth/plan/program.h"

void syn_print(hb_buf *out, const syn_program *p);

#endif
