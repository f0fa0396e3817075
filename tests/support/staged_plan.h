// Plans of stages for tests: layers and devices by hand.

#ifndef HAP_TESTS_STAGED_PLAN_H
#define HAP_TESTS_STAGED_PLAN_H

#include "synth/search/plan_stages.h"

// Four machines of two devices, of which three are equal.
extern const char *const staged_three;
cl_cluster *staged_cluster(hb_arena *a, const char *text);

typedef struct staged_wish {
    int n, micro;
    const int *first;  // stage s has layers from first[s] on
    const int *device; // and devices from device[s] up to that of the next; NULL: two each
    const char *strategy;
    syn_weight_gradients weights; // at least so late
    syn_mesh_choice mesh;
    const int *limit; // of micro-batches under way, by stage; NULL, 0: none
} staged_wish;

// Asserts that nothing was wrong with the request.
syn_staged_result staged_try(hb_arena *a, const cl_cluster *c, ir_graph *g, const staged_wish *w);
// ... and that there is a plan.
syn_staged *staged_plan(hb_arena *a, const cl_cluster *c, ir_graph *g, const staged_wish *w);

// Is it proved, as it is when it is made?
bool staged_proved(syn_staged *p);

#endif
