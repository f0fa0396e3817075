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
    if (!ir_expand(g, d) || !ir_casts(g, d) || !ir_autodiff(g, d) || !ir_optimize(g, d))
        return NULL;
    must_hold(g);
    if (!o) return g;
    int blocks = o->recompute > 0 ? ir_blocks(g) : 0;
    if (o->recompute > 0 && blocks == 0) {
        hb_error(d, &g->src, (hb_pos){0}, "the step has no blocks that repeat, to recompute them");
        return NULL;
    }
    if (o->recompute > blocks && o->recompute != IR_RECOMPUTE_ALL) {
        hb_error(d, &g->src, (hb_pos){0}, "%lld blocks to recompute, but %d blocks repeat",
                 (long long)o->recompute, blocks);
        return NULL;
    }
    int n = o->recompute > blocks ? blocks : (int)o->recompute;
    ir_graph *variant = ir_variant(a, g, o->micro_batches, n, d);
    if (variant && variant != g) must_hold(variant);
    return variant;
}
