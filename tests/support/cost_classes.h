// A cluster of one GPU and one CPU class, and a link, to price by hand.

#ifndef HAP_TESTS_COST_CLASSES_H
#define HAP_TESTS_COST_CLASSES_H

#include <check.h>
#include <math.h>

#include "costmodel/cost.h"

static hb_arena *arena;
static cl_class cls[2];
static cl_cluster cluster;

static inline void setup(void)
{
    arena = hb_arena_new();
    cls[0] = (cl_class){.name = HB_STR("G/64sms"),
                        .model = HB_STR("G"),
                        .kind = CL_GPU,
                        .f32 = 10e12,
                        .bf16 = 100e12,
                        .memory_bandwidth = 1e12};
    cls[1] = (cl_class){.name = HB_STR("C"),
                        .model = HB_STR("C"),
                        .kind = CL_CPU,
                        .f32 = 50e9,
                        .memory_bandwidth = 10e9};
    cluster = (cl_cluster){.n_ranks = 2, .n_classes = 2, .cls = cls};
}

static inline void teardown(void)
{
    hb_arena_free(arena);
}

static inline void near(double got, double want)
{
    ck_assert_double_eq_tol(got, want, 1e-9 * fabs(want));
}

static const cl_link line = {.bandwidth = 1e9, .latency = 1e-5}; // 1 byte a nanosecond, 10 us

#endif
