#include "ir/variant.h"

#include "ir/factors.h"

enum { QUARTERS = 4, MAX_CHUNKS = 32 };

ir_graph *ir_variant(hb_arena *a, ir_graph *step, int64_t micro_batches, int n_recomputed,
                     hb_diag *d)
{
    ir_graph *g = n_recomputed > 0 ? ir_recompute(a, step, n_recomputed) : step;
    return micro_batches > 1 ? ir_micro_batches(a, g, micro_batches, d) : g;
}

// Bytes of forward values that are read behind the forward pass.
static double kept(hb_arena *a, const ir_graph *g)
{
    bool *seen = HB_ARRAY(a, bool, g->tensors.n + 1);
    double bytes = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        for (int k = 0; k < n->n_in && n->phase != IR_FORWARD; k++) {
            const ir_tensor *t = &g->tensors.p[n->in[k]];
            if (t->producer < 0 || g->nodes.p[t->producer].phase != IR_FORWARD) continue;
            if (seen[n->in[k]]) continue;
            seen[n->in[k]] = true;
            bytes += (double)ir_elements(t) * (double)ir_dtype_bytes(t->dtype);
        }
    }
    return bytes;
}

// What a variant of recomputation does twice, as a share of the step's arithmetic.
static double twice(const ir_graph *step, const ir_factors *f, const ir_graph *g)
{
    double all = 0, again = 0, flops, bytes;
    for (int i = 0; i < g->nodes.n; i++) {
        if (!g->nodes.p[i].again) continue;
        ir_node_work(step, f, g->nodes.p[i].forward, NULL, 0, &flops, &bytes);
        again += flops;
    }
    for (int i = 0; i < step->nodes.n; i++) {
        ir_node_work(step, f, i, NULL, 0, &flops, &bytes);
        all += flops;
    }
    return all > 0 ? again / all : 0;
}

// Mildest first; of equals the fewer chunks.
static bool before(const ir_variant_choice *x, const ir_variant_choice *y)
{
    if (x->saved > y->saved || x->saved < y->saved) return x->saved > y->saved;
    return x->micro_batches < y->micro_batches;
}

int ir_variants(const ir_graph *step, ir_variant_choice *out)
{
    hb_arena *a = hb_arena_new();
    const ir_factors *f = ir_factorize(a, step);
    ir_variant_choice again[QUARTERS + 1] = {{1, 0, kept(a, step), 0}};
    int blocks = ir_blocks(step), n_again = 1, n = 0;
    for (int q = 1; q <= QUARTERS; q++) {
        int some = (blocks * q + QUARTERS - 1) / QUARTERS;
        if (some <= again[n_again - 1].recomputed) continue;
        const ir_graph *g = ir_recompute(a, step, some);
        again[n_again++] = (ir_variant_choice){1, some, kept(a, g), twice(step, f, g)};
    }
    for (int64_t k = 1; k <= MAX_CHUNKS && (k == 1 || step->batch % k == 0); k *= 2)
        for (int i = 0; i < n_again && n < IR_MAX_VARIANTS; i++) {
            ir_variant_choice c = again[i];
            c.micro_batches = k;
            c.saved /= (double)k;
            bool useless = false; // a milder one of both kinds keeps no more
            for (int j = 0; j < n; j++)
                useless = useless || (out[j].micro_batches <= k &&
                                      out[j].recomputed <= c.recomputed && out[j].saved <= c.saved);
            if (!useless) out[n++] = c;
        }
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && before(&out[k], &out[k - 1]); k--) {
            ir_variant_choice x = out[k];
            out[k] = out[k - 1];
            out[k - 1] = x;
        }
    hb_arena_free(a);
    return n;
}
