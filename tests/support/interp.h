// Runs an ir_graph on one rank by calling the CPU kernels node by node: the oracle of the tests. No
// MPI, no plan, no arena: every tensor has its own memory, whole.
//
//     interp *x = interp_new(arena, g, seed);
//     interp_load(x, "init.safetensors"); memcpy(interp_get(x, "tokens")->data, …)
//     const char *why = interp_run(x);      // one step: forward, backward, update
//     float loss = interp_loss(x);
//     interp_advance(x);                    // parameters and moments take their next values

#ifndef HAP_TESTS_INTERP_H
#define HAP_TESTS_INTERP_H

#include "cpu/ops_kernels.h"
#include "ir/graph.h"
#include "tests/support/arrays.h"

typedef struct interp {
    hb_arena *arena;
    const ir_graph *g;
    hap_tensor *t;      // by tensor id; data zeroed, CONST, PARAM and BUFFER filled from their init
    hap_step_state now; // step counts from 0; lr by the graph's schedule
} interp;

// Inits stored in files stay zero. Random inits: SplitMix64 by (seed, tensor id), not the
// runtime's.
interp *interp_new(hb_arena *a, const ir_graph *g, uint64_t seed);
hap_tensor *interp_get(interp *x, const char *name); // NULL: no such tensor
// Copies every array of a safetensors file whose name is a tensor's; how many there were.
int interp_load(interp *x, const char *path);
// Input rows of the present step: [sB, (s+1)B) of a file, wrapping.
void interp_feed(interp *x, int tensor, const array *rows);
float interp_loss(const interp *x);
// NULL, or "node: why" (in the arena). Nodes of later phases than `last` are left out.
const char *interp_run_until(interp *x, ir_phase last);
const char *interp_run(interp *x);
const char *interp_run_node(interp *x, int node);
void interp_advance(interp *x);
// --- parts, for tests that make shards by hand ---
// A tensor of these dims on the rank with these coordinates (by axis; coord[HAP_BOTH]: the rank,
// needed where a dim is cut over both axes); memory zeroed, exactly its bytes, own
// malloc (AddressSanitizer then sees an overrun); shard_free frees it.
hap_tensor shard_new(hap_dtype type, int rank, const hap_dim *dims, const int *coord);
void shard_free(hap_tensor *t);
// The call of a node: attributes, operands and outputs (given by the caller; in-place rows: the
// operands written must already be in[]). Operands the node leaves out are NULL.
hap_op_call interp_call(const ir_node *n, hap_tensor *const *in, hap_tensor *const *out);

// Deterministic random numbers for tests.
uint64_t test_random(uint64_t *state);
double test_uniform(uint64_t *state, double lo, double hi);
int64_t test_below(uint64_t *state, int64_t n); // [0, n)

#endif
