// The file of a plan folder that is not printed from the plan: its constants.

#ifndef HAP_EMIT_CONSTS_FILE_H
#define HAP_EMIT_CONSTS_FILE_H

#include "ir/graph.h"

// Collects every stored constant of the graph into one safetensors file at `path`, under the
// tensors' names. *any = false and no file if the graph has none. False with *why after a read
// error. graph_path: where the graph was read.
bool emit_consts(hb_arena *a, const ir_graph *g, hb_str graph_path, const char *path, bool *any,
                 hb_str *why);

#endif
