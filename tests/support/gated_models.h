// Gated MLPs that a matmul's ending makes, or does not, on one device: what the planner takes as
// such (synth/price/endings.h) and what the CUDA runtime does.

#ifndef HAP_TESTS_GATED_MODELS_H
#define HAP_TESTS_GATED_MODELS_H

#include "synth/search/synth.h"

typedef struct gated_model {
    const char *what;
    int endings;      // fusions that end a matmul
    int left;         // joined to one in the list of the step, too, whose kernel refuses them
    int rows, hidden; // of x, and of the product; 0: 256, 1024
    bool straight;    // weights as linear has them without trans=1
    bool f32;         // not bf16
    const char *more; // further declarations
    const char *body; // makes d [rows, 512] of x [rows, 512] and of wg, wu and wd
} gated_model;

extern const gated_model gated_models[];
extern const int n_gated_models;

enum { gated_bytes = 256 * 1024 * 2 }; // of silu's product of the first of them

// One GPU of sm_<arch>.
cost_model *gated_device(hb_arena *a, int arch);
syn_program *gated_plan(hb_arena *a, const gated_model *g, const cost_model *m);
// The fusion is of silu's product, or of its gradients, and nothing else.
bool gated_ops(const syn_program *p, const syn_fusion *g);

#endif
