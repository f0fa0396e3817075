// Where the tensors of program.c lie. Written with it; `hapc check` proves both.
//
// AT: offsets in units of 256 bytes, by class {cpu4}; AT_SYM: in the segment that other ranks write
// into. EACH block has its own place, ALL use one in turn. Shapes: program.c; 3*12@heads*64 is cut
// at its middle factor.

#include "hap/table.h"

static hap_tensor *image, *label, *fc1_weight, *fc1_bias, *fc2_weight, *fc2_bias, *fc1_weight_m,
    *fc1_weight_v, *fc1_bias_m, *fc1_bias_v, *fc2_weight_m, *fc2_weight_v, *fc2_bias_m, *fc2_bias_v,
    *fc1, *relu, *fc2, *ce_sum_max, *ce_sum_expsum, *ce_sum_target, *ce_sum, *count, *loss,
    *loss_seed, *loss_da, *ce_sum_dx, *fc2_dx, *fc2_dw, *fc2_db, *relu_dx, *fc1_dw, *fc1_db;

static const hap_place buffers[] = {
    // Inputs
    {ONE(image), "f32[64 784]", AT(12679), AS_INPUT("image")},
    {ONE(label), "i64[64]", AT(10055), AS_INPUT("label")},
    // Parameters and what the step carries over
    {ONE(fc1_weight), "f32[256 784]", AT(0),
        AS_PARAM("fc1.weight", HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571))},
    {ONE(fc1_bias), "f32[256]", AT(3136),
        AS_PARAM("fc1.bias", HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571))},
    {ONE(fc2_weight), "f32[10 256]", AT(3140),
        AS_PARAM("fc2.weight", HAP_UNIFORM(-0.0625, 0.0625))},
    {ONE(fc2_bias), "f32[10]", AT(3180), AS_PARAM("fc2.bias", HAP_UNIFORM(-0.0625, 0.0625))},
    {ONE(fc1_weight_m), "f32[256 784]", AT(3181), AS_STATE("fc1.weight.exp_avg")},
    {ONE(fc1_weight_v), "f32[256 784]", AT(6317), AS_STATE("fc1.weight.exp_avg_sq")},
    {ONE(fc1_bias_m), "f32[256]", AT(9453), AS_STATE("fc1.bias.exp_avg")},
    {ONE(fc1_bias_v), "f32[256]", AT(9457), AS_STATE("fc1.bias.exp_avg_sq")},
    {ONE(fc2_weight_m), "f32[10 256]", AT(9461), AS_STATE("fc2.weight.exp_avg")},
    {ONE(fc2_weight_v), "f32[10 256]", AT(9501), AS_STATE("fc2.weight.exp_avg_sq")},
    {ONE(fc2_bias_m), "f32[10]", AT(9541), AS_STATE("fc2.bias.exp_avg")},
    {ONE(fc2_bias_v), "f32[10]", AT(9542), AS_STATE("fc2.bias.exp_avg_sq")},
    // Values of the step
    {ONE(fc1), "f32[64 256]", AT(9799)},
    {ONE(relu), "f32[64 256]", AT(9543)},
    {ONE(fc2), "f32[64 10]", AT(9799)},
    {ONE(ce_sum_max), "f32[64]", AT(9809)},
    {ONE(ce_sum_expsum), "f32[64]", AT(9810)},
    {ONE(ce_sum_target), "f32[64]", AT(9811)},
    {ONE(ce_sum), "f32[]", AT(9812)},
    {ONE(count), "f32[]", AT(9811)},
    {ONE(loss), "f32[]", AT(13759)},
    {ONE(loss_seed), "f32[]", AT(9812)},
    {ONE(loss_da), "f32[]", AT(9813)},
    {ONE(ce_sum_dx), "f32[64 10]", AT(13463)},
    {ONE(fc2_dx), "f32[64 256]", AT(9799)},
    {ONE(fc2_dw), "f32[10 256]", AT(13719)},
    {ONE(fc2_db), "f32[10]", AT(13760)},
    {ONE(relu_dx), "f32[64 256]", AT(13463)},
    {ONE(fc1_dw), "f32[256 784]", AT(9543)},
    {ONE(fc1_db), "f32[256]", AT(12679)},
};

static void declare_buffers(hap_rank *r)
{
    hap_segments(r, 0, (const int64_t[]){3522816});
    hap_declare(r, cuts, buffers);
    hap_loss(r, loss);
}
