// From a file to a whole training step.

#include "ir/graph.h"

#include "ir/variant.h"

static void must_hold(const ir_graph *g)
{
    hb_str why = {0};
    if (!ir_verify(g, &why)) {
        fprintf(stderr, "%.*s\n", HB_ARG(why));
        hb_assert(false && "the graph verifies");
    }
}

ir_graph *ir_build(hb_arena *a, const char *path, const ir_options *o, hb_diag *d)
{
    ir_graph *g = ir_read(a, path, o, d);
    if (!g) return NULL;
    must_hold(g);
    bool forward = o && o->only_trained && g->opt.name.n == 0;
    if (!ir_expand(g, d) || !ir_casts(g, d) || !ir_rooms(g, d)) return NULL;
    if (!forward && (!ir_autodiff(g, d) || !ir_optimize(g, d))) return NULL;
    must_hold(g);
    ir_blocks(g);
    if (!o) return g;
    const bool *again = o->recompute ? ir_blocks_named(a, g, o->recompute, d) : NULL;
    if (o->recompute && !again) return NULL;
    ir_graph *variant = ir_variant(a, g, o->micro_batches, again, d);
    if (variant && variant != g) must_hold(variant);
    return variant;
}
