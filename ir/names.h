// Names of generated nodes and tensors: every tensor name and every node name is unique in a graph
// (a node and its first output may share one). A clash with a name of the user's is resolved by
// "_2", "_3", …, so names depend on the graph alone.

#ifndef HAP_IR_NAMES_H
#define HAP_IR_NAMES_H

#include "ir/graph.h"

typedef struct ir_names ir_names;

ir_names *ir_names_new(hb_arena *a, const ir_graph *g); // knows all names that g has now
hb_str ir_names_take(ir_names *n, hb_str want);

#endif
