#include <string.h>

#include "costmodel/cost.h"

// Roofline with fixed efficiencies (docs/theory.md section 3):
// max(flops / (0.6 peak), bytes / (0.8 bandwidth)) + launch. Ignores caches, shapes and tiles.

static const double peak_share = 0.6, bandwidth_share = 0.8;

// The ops whose inner loop is a matmul, by the `flops` column of the op table.
static bool is_dense(const char *op_name)
{
    static const struct {
        const char *name;
        bool dense;
    } op[] = {
#define DENSE(c)                                                              true
#define SDPA(c)                                                               true
#define POINT(c)                                                              false
#define MOVE                                                                  false
#define OP(name, formula, attrs, linear, reducers, dtypes, flops, vjp, flags) {#name, flops},
#define COMPOSITE(name, n_min, n_max, attrs)
#include "ir/ops.def"
#undef OP
#undef COMPOSITE
#undef DENSE
#undef SDPA
#undef POINT
#undef MOVE
    };
    for (size_t i = 0; i < sizeof op / sizeof *op; i++)
        if (op[i].dense && strcmp(op[i].name, op_name) == 0) return true;
    return false;
}

static double peak_of(const cl_class *c, cost_math math)
{
    if (math == COST_TF32 && c->tf32 > 0) return c->tf32;
    if (math == COST_BF16 && c->bf16 > 0) return c->bf16;
    return c->f32;
}

static const char *dtype_of(cost_math math)
{
    switch (math) {
    case COST_TF32:
        return "tf32";
    case COST_BF16:
        return "bf16";
    case COST_F32:
        break;
    }
    return "f32";
}

double cost_launch(const cost_model *m, int cls)
{
    return m->cluster->cls[cls].kind == CL_GPU ? 5e-6 : 1e-6;
}

double cost_op(const cost_model *m, int cls, const char *op_name, double flops, double bytes)
{
    const cl_class *c = &m->cluster->cls[cls];
    hb_assert(flops >= 0 && bytes >= 0);
    if (flops <= 0 && bytes <= 0) return 0;
    bool dense = is_dense(op_name);
    if (m->curves) {
        double sec =
            cost_curves_at(m->curves, c, op_name, dtype_of(m->math), dense ? flops : bytes);
        if (sec >= 0) return sec;
    }
    double compute = flops / (peak_share * (dense ? peak_of(c, m->math) : c->f32));
    double memory = bytes / (bandwidth_share * c->memory_bandwidth);
    return (compute > memory ? compute : memory) + cost_launch(m, cls);
}

double cost_op_least(const cost_model *m, int cls, const char *op_name, double flops, double bytes,
                     double *launch)
{
    double size = is_dense(op_name) ? flops : bytes;
    const cl_class *c = &m->cluster->cls[cls];
    *launch = 0;
    if (flops <= 0 && bytes <= 0) return 0;
    if (m->curves && cost_curves_at(m->curves, c, op_name, dtype_of(m->math), size) >= 0)
        return size > 0 ? size * cost_curves_rate(m->curves, c, op_name, dtype_of(m->math), size)
                        : 0;
    *launch = cost_launch(m, cls);
    return cost_op(m, cls, op_name, flops, bytes) - *launch; // in proportion to the part
}

double cost_memory(const cost_model *m, int cls, double bytes)
{
    return bytes / m->cluster->cls[cls].memory_bandwidth;
}
