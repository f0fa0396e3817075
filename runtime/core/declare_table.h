// Shapes as their texts in tables of buffers and ports.

#ifndef HAP_RUNTIME_DECLARE_TABLE_H
#define HAP_RUNTIME_DECLARE_TABLE_H

#include "core/rank.h"

// Type, rank and dims of a text like "f32[8@rows 128]", on r's mesh.
void hap_shape_read(hap_rank *r, const char *text, int n_cuts, const hap_cuts *cuts, hap_tensor *t);

#endif
