// What `hapc explain` says of many calls at once: those of a block, of a kind, over the network.

#ifndef HAP_CLI_EXPLAIN_CALLS_H
#define HAP_CLI_EXPLAIN_CALLS_H

#include "ir/base/tree.h"

// Each prints what the plan says of it, or appends it to json if that is given; false, and nothing,
// if the name is none of its.
bool explain_block(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json); // "h.3"
bool explain_kind(hb_arena *a, const hb_tree *plan, hb_str name,
                  hb_buf *json); // "op_linear", "linear", "all_reduce"
bool explain_network(hb_arena *a, const hb_tree *plan, hb_str name,
                     hb_buf *json);                                  // "network", "links"
void explain_kinds(const hb_tree *plan, const char **names, int *n); // for hints: appends to names

#endif
