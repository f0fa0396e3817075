// A plan in memory made from a generated record (record_gen.h): the inverse of record_from_plan, so
// that what comes after the search (rolling, placing, printing) is tested on meshes and states that
// no search need have found. Offsets are not taken over: syn_arena places the buffers.

#ifndef HAP_TESTS_PROGRAM_OF_RECORD_H
#define HAP_TESTS_PROGRAM_OF_RECORD_H

#include "tests/certify/record_gen.h"

// Rolled, named and placed; times are 0. Ranks of class c stand for class cluster_class[c] of the
// cluster.
syn_program *program_of_record(hb_arena *a, const ir_graph *g, const ir_factors *f,
                               const cl_cluster *cluster, const int *cluster_class, const record *r,
                               const gen_trace *trace);

#endif
