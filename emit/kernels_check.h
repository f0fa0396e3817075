// kernels.cu beside program.c: is each kernel what hapc makes of the program's fusions?
//
// A kernel runs in place of a fusion's calls where they read as its text (docs/cuda.md, "Generated
// kernels"). So program.c is proved to compute the graph only if the kernels are the ones that
// follow from its calls. They are made again, from the record alone, and compared line by line.

#ifndef HAP_EMIT_KERNELS_CHECK_H
#define HAP_EMIT_KERNELS_CHECK_H

#include "synth/certify/record.h"

// Compares DIR/kernels.cu with what the fusions of n records make, a plan's or its stages'; a file
// where there are no fusions, and fusions without the file, differ too. Blank lines and lines of
// comment do not count. False with *why, which begins with "kernels.cu:LINE".
bool emit_kernels_hold(hb_arena *a, const char *dir, const record *const *r, int n, hb_str *why);

#endif
