// Any bytes: the reader of curves gives curves or errors, never both; with what it takes, ops and
// collectives have a time.

#include <math.h>

#include "costmodel/cost.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char cluster[] =
    "name: two\nmachines:\n  - devices: [{name: H200, f32: 50 TFLOP/s, bf16: 700 TFLOP/s, "
    "memory: 141 GB, memory_bandwidth: 4 TB/s, count: 4}]\n    link: {bandwidth: 300 GB/s, "
    "latency: 8 us}\n  - devices: [{name: cpu, kind: cpu, threads: 2, f32: 80 GFLOP/s, memory: 8 "
    "GB, memory_bandwidth: 20 GB/s, count: 4}]\n    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "network: {bandwidth: 10 Gbit/s, latency: 35 us}\n";

static void price(hb_arena *a, cost_curves *k)
{
    hb_diag *d = hb_diag_new(a);
    hb_source src = {HB_STR("two.yaml"), {cluster, sizeof cluster - 1}};
    cl_cluster *c = cl_read_source(a, &src, NULL, d);
    const cl_link link = {.bandwidth = 1e9, .latency = 1e-5, .groups = 1};
    static const int64_t even[] = {256, 256, 256, 256};
    hb_assert(c != NULL);
    cost_apply_curves(k, c);
    cost_model m = {.cluster = c, .curves = k, .math = COST_BF16};
    cost_shards s = {.n = 4, .table = even, .table2 = even, .bytes = 1 << 20};
    for (int i = 0; i < c->n_classes; i++)
        for (int op = 0; op < IR_N_OPS; op++) {
            double sec = cost_op(&m, i, (ir_op)op, 1e9, 1e7);
            hb_assert(isfinite(sec) && sec >= 0);
        }
    hb_assert(cost_collective(COST_ALL_GATHER, COST_EVEN, &s, link) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *sink;
    if (!sink) sink = fopen("/dev/null", "w");
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    cost_curves *k = cost_curves_read(a, fuzz_file(data, n), d);
    hb_assert((k == NULL) == (hb_diag_count(d) > 0));
    hb_diag_print(d, sink);
    if (k) price(a, k);
    hb_arena_free(a);
    return 0;
}
