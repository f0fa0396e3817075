// Any bytes: the graph reader gives a graph or located errors; a graph it accepts builds into a
// training step that verifies, in fp32 and in bf16, and its factors are found.

#include "ir/factors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ir_options options[] = {
        {0},
        {.precision = IR_PRECISION_BF16},
        {.precision = IR_PRECISION_BF16, .grad_dtype = IR_BF16},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        hb_arena *a = hb_arena_new();
        hb_diag *d = hb_diag_new(a);
        hb_source *src = HB_NEW(a, hb_source);
        *src = (hb_source){HB_STR("fuzz.json"), hb_str_n(a, (const char *)data, size)};
        ir_graph *g = ir_read_source(a, src, i ? &options[i] : NULL, d);
        hb_assert((g != NULL) == (hb_diag_count(d) == 0));
        if (g) {
            hb_str why = {0};
            hb_assert(ir_verify(g, &why));
            if (ir_expand(g, d) && ir_casts(g, d) && ir_autodiff(g, d) && ir_optimize(g, d)) {
                hb_assert(ir_verify(g, &why));
                ir_factorize(a, g);
            }
        }
        hb_arena_free(a);
    }
    return 0;
}
