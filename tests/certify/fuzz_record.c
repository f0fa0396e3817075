// Any bytes: the reader of records gives a record or errors, never both; what it gives can be
// printed, and the certificate takes it for right or says why not.

#include "synth/certify/modp.h"
#include "tests/support/fuzz_file.h"
#include "tests/support/graph_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// Of the seed linear2.record.
static const char graph[] = "x: input f32 8 4\n w: param f32 4 6\n b: param f32 6\n"
                            "y = linear(x, w, b)\n z = reshape(y) shape=48\n r = relu(z)\n"
                            "q = neg(y)\n s = add(q, q)\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *sink;
    if (!sink) sink = fopen("/dev/null", "w");
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    record *r = record_read(a, fuzz_file(data, n), d);
    hb_assert((r == NULL) == (hb_diag_count(d) > 0));
    hb_diag_print(d, sink);
    if (r) {
        ir_graph *g = graph_text(a, graph);
        ir_factors *f = ir_factorize(a, g);
        hb_buf text = {.arena = a};
        hb_str why;
        bool ran;
        record_print(&text, r);
        bool right = syn_check(a, g, f, r, &why);
        hb_assert(right || why.n > 0);
        right = syn_check_modp(a, g, f, r, &ran, &why);
        hb_assert(right || why.n > 0);
    }
    hb_arena_free(a);
    return 0;
}
