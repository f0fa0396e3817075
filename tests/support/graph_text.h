// Small graphs for tests, written as a line of text a node:
//
//     x: input f32 8 16             declares (kinds input, param, const; dtype; dims)
//     y = linear(x, w) trans=1      op or composite with attributes; further outputs y.1, y.2
//     loss y                        names the loss
//     rooms 2.5 4                   experts have rooms (ir/rooms.c), in a batch of 4 examples
//
// graph_text runs ir_expand, ir_autodiff and ir_optimize (adamw) if there is a loss. It is
// hb_assert clean: a malformed text is a bug of the test.

#ifndef HAP_TESTS_GRAPH_TEXT_H
#define HAP_TESTS_GRAPH_TEXT_H

#include "ir/factors.h"

ir_graph *graph_text(hb_arena *a, const char *text);
// The same with ir_casts before the gradients.
ir_graph *graph_text_as(hb_arena *a, const char *text, ir_precision precision, ir_dtype grad_dtype);
int graph_tensor(const ir_graph *g, const char *name); // id; asserts that it exists
int graph_node(const ir_graph *g, const char *name);

// The line of a print that starts with `start` (without it), "" if none.
const char *line_of(hb_arena *a, hb_str print, const char *start);

#endif
