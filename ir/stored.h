// Tensors that a graph keeps in a safetensors file ("file.safetensors#name"):
//
//     ir_store s = {.arena = a, .graph = graph_path};
//     ir_array v;
//     if (!ir_stored(&s, tensor, &v, &why)) …   // v.bytes: the tensor's, in its own shape and
//     dtype
//
// The file lies where the graph says, from the graph's folder. A plan folder's graph.json is a
// copy: there, the file not being there, consts.safetensors has the tensors under their own names.
// With `sha256` in the graph the bytes are known to be the ones meant.

#ifndef HAP_IR_STORED_H
#define HAP_IR_STORED_H

#include "ir/base/tree.h"
#include "ir/graph.h"

typedef struct ir_store {
    hb_arena *arena;
    hb_str graph; // the graph file's path
    // of the file read last
    hb_str path, data;
    const hb_tree *head;
} ir_store;

typedef struct ir_array {
    hb_str bytes, dtype; // dtype as safetensors says it
    hb_str path;         // of the file they are from
} ir_array;

// False with *why: no file or no safetensors file, no such tensor, another shape or dtype.
bool ir_stored(ir_store *s, const ir_tensor *t, ir_array *v, hb_str *why);

#endif
