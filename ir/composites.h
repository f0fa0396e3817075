// Shapes of composites, for the reader: they have no formula, only an expansion (composites.c).

#ifndef HAP_IR_COMPOSITES_H
#define HAP_IR_COMPOSITES_H

#include "ir/graph.h"

bool ir_infer_composite(const ir_graph *g, const ir_node *n, ir_tensor *out, hb_arena *a,
                        hb_str *why);

#endif
