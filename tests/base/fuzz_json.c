// Any bytes: the JSON reader gives a tree or errors, never both, and printing the errors works.

#include "ir/base/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *sink;
    if (!sink) sink = fopen("/dev/null", "w");
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    hb_source src = {HB_STR("fuzz.json"), {(const char *)data, n}};
    hb_tree *t = hb_json_read(a, &src, d);
    hb_assert((t == NULL) == (hb_diag_count(d) > 0));
    hb_diag_print(d, sink);
    hb_arena_free(a);
    return 0;
}
