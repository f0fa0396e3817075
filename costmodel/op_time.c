#include "costmodel/cost.h"
#include "costmodel/curve.h"
#include "costmodel/device_defaults.h"

// Roofline with fixed efficiencies (docs/theory.md section 3):
// max(flops / (0.6 peak), bytes / (0.8 bandwidth)) + launch. Ignores caches, shapes and tiles.

static double peak_of(const cl_class *c, cost_math math)
{
    if (math == COST_TF32 && c->tf32 > 0) return c->tf32;
    if (math == COST_BF16 && c->bf16 > 0) return c->bf16;
    return c->f32;
}

static double launch_of(const cl_class *c)
{
    double usual = c->kind == CL_GPU ? COST_GPU_LAUNCH : COST_CPU_LAUNCH;
    return cost_slowdown(c) * (c->launch > 0 ? c->launch : usual);
}

double cost_launch(const cost_model *m, int cls)
{
    return launch_of(&m->cluster->cls[cls]);
}

double cost_stream(const cl_class *c, double bytes)
{
    return bytes / (c->stream > 0 ? c->stream : COST_BANDWIDTH_SHARE * c->memory_bandwidth);
}

double cost_fused(const cl_class *c, double sec, int n, double saved, double moved)
{
    if (c->kind != CL_GPU || n < 2) return sec;
    double less = sec - (n - 1) * launch_of(c) - cost_stream(c, saved),
           least = launch_of(c) + cost_stream(c, moved);
    return less > least ? less : least < sec ? least : sec;
}

static double uncorrected(const cost_model *m, int cls, ir_op op, double flops, double bytes)
{
    const cl_class *c = &m->cluster->cls[cls];
    hb_assert(flops >= 0 && bytes >= 0);
    if (flops <= 0 && bytes <= 0) return 0;
    bool dense = ir_is_dense(op);
    const cost_curve *k = cost_curve_of_op(m, cls, op);
    if (k)
        return cost_slowdown(c) *
               (dense ? cost_curve_at(k, flops / bytes, flops) : cost_curve_at(k, 1, bytes));
    double compute = flops / (COST_PEAK_SHARE * (dense ? peak_of(c, m->math) : c->f32));
    double memory = bytes / (COST_BANDWIDTH_SHARE * c->memory_bandwidth);
    return (compute > memory ? compute : memory) + cost_launch(m, cls);
}

double cost_op(const cost_model *m, int cls, ir_op op, double flops, double bytes)
{
    return cost_factor_of_op(m, cls, op) * uncorrected(m, cls, op, flops, bytes);
}

double cost_op_narrow(const cost_model *m, int cls, ir_op op, double flops)
{
    const cl_class *c = &m->cluster->cls[cls];
    if (flops <= 0 || c->kind != CL_GPU || cost_curve_of_op(m, cls, op)) return 0;
    double sec = flops / (COST_NARROW_SHARE * c->f32) + cost_launch(m, cls);
    return cost_factor_of_op(m, cls, op) * sec;
}

double cost_op_gathered(const cost_model *m, int cls, ir_op op, double bytes)
{
    const cl_class *c = &m->cluster->cls[cls];
    if (bytes <= 0 || cost_curve_is_own(m, cls, op)) return 0;
    double sec = cost_slowdown(c) * cost_stream(c, 2 * bytes) + COST_SORTS * cost_launch(m, cls);
    return cost_factor_of_op(m, cls, op) * sec;
}

double cost_op_least(const cost_model *m, int cls, ir_op op, double flops, double bytes,
                     double *launch)
{
    double size = ir_is_dense(op) ? flops : bytes;
    const cost_curve *k = cost_curve_of_op(m, cls, op);
    *launch = 0;
    if (flops <= 0 && bytes <= 0) return 0;
    double factor = cost_factor_of_op(m, cls, op), slow = cost_slowdown(&m->cluster->cls[cls]);
    if (k) return size > 0 ? slow * factor * size * cost_curve_rate(k, size) : 0;
    *launch = factor * cost_launch(m, cls);
    return cost_op(m, cls, op, flops, bytes) - *launch; // in proportion to the part
}

// Read once, written once.
double cost_copy(const cost_model *m, int cls, double bytes)
{
    const cost_curve *k = cost_curve_of_copy(m, cls);
    if (bytes <= 0) return 0;
    double factor = cost_factor_of_copy(m, cls);
    if (k) return cost_slowdown(&m->cluster->cls[cls]) * factor * cost_curve_at(k, 1, 2 * bytes);
    return factor * (2 * bytes / m->cluster->cls[cls].memory_bandwidth + cost_launch(m, cls));
}

bool cost_op_measured(const cost_model *m, int cls, ir_op op)
{
    return cost_curve_of_op(m, cls, op) != NULL;
}
