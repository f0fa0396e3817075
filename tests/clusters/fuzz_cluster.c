// Any bytes: the cluster reader gives a cluster or errors, never both; a cluster is consistent.

#include "clusters/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *sink;
    if (!sink) sink = fopen("/dev/null", "w");
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    hb_source src = {HB_STR("clusters/fuzz.yaml"), {(const char *)data, n}};
    cl_cluster *c = cl_read_source(a, &src, NULL, d);
    hb_assert((c == NULL) == (hb_diag_count(d) > 0));
    hb_diag_print(d, sink);
    if (c) {
        hb_buf b = {.arena = a};
        int sum = 0;
        cl_print(&b, c);
        hb_assert(c->n_ranks > 0 && c->n_classes <= CL_MAX_CLASSES);
        for (int i = 0; i < c->n_classes; i++) {
            const cl_class *k = &c->cls[i];
            hb_assert(k->f32 > 0 && k->memory_bandwidth > 0 && k->capacity > 0);
            hb_assert(k->link_bandwidth > 0 && k->link_latency >= 0);
            sum += k->n_ranks;
        }
        hb_assert(sum == c->n_ranks);
        hb_assert(c->n_machines == 1 || c->network_bandwidth > 0);
    }
    hb_arena_free(a);
    return 0;
}
