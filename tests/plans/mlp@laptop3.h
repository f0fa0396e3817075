// Where the tensors of program.c lie. Written with it; `hapc check` proves both.
//
// AT: offsets in units of 256 bytes, by class {cpu4, cpu3, cpu2}; AT_SYM: in the segment that other
// ranks write into. EACH block has its own place, ALL use one in turn. Shapes: program.c;
// 3*12@heads*64 is cut at its middle factor.

#include "hap/table.h"

static hap_tensor *image, *label, *fc1_weight, *fc1_bias, *fc2_weight, *fc2_bias, *fc1_weight_m,
    *fc1_weight_v, *fc1_bias_m, *fc1_bias_v, *fc2_weight_m, *fc2_weight_v, *fc2_bias_m, *fc2_bias_v,
    *fc1_bias_cut, *fc1, *relu, *fc2_weight_cut, *fc2_bias_part, *fc2, *fc2_all, *ce_sum_max,
    *ce_sum_expsum, *ce_sum_target, *ce_sum, *count, *loss, *loss_seed, *loss_da, *ce_sum_dx,
    *fc2_dx, *fc2_dw, *fc2_db, *relu_dx, *fc1_dw, *fc1_db, *fc1_db_all, *fc2_dw_all,
    *fc2_dw_all_scratch;

static const hap_place buffers[] = {
    // Inputs
    {ONE(image), "f32[64 784]", AT(5771, 4303, 2193), AS_INPUT("image")},
    {ONE(label), "i64[64]", AT(4610, 3445, 3108), AS_INPUT("label")},
    // Parameters and what the step carries over
    {ONE(fc1_weight), "f32[256@cut_256 784]", AT(0, 0, 0),
        AS_PARAM("fc1.weight", HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571))},
    {ONE(fc1_bias), "f32[256]", AT(1409, 1042, 686),
        AS_PARAM("fc1.bias", HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571))},
    {ONE(fc2_weight), "f32[10 256]", AT(1413, 1046, 690),
        AS_PARAM("fc2.weight", HAP_UNIFORM(-0.0625, 0.0625))},
    {ONE(fc2_bias), "f32[10]", AT(1453, 1086, 730),
        AS_PARAM("fc2.bias", HAP_UNIFORM(-0.0625, 0.0625))},
    {ONE(fc1_weight_m), "f32[256@cut_256 784]", AT(1454, 1087, 731),
        AS_STATE("fc1.weight.exp_avg")},
    {ONE(fc1_weight_v), "f32[256@cut_256 784]", AT(2863, 2129, 1417),
        AS_STATE("fc1.weight.exp_avg_sq")},
    {ONE(fc1_bias_m), "f32[256]", AT(4272, 3171, 2103), AS_STATE("fc1.bias.exp_avg")},
    {ONE(fc1_bias_v), "f32[256]", AT(4276, 3175, 2107), AS_STATE("fc1.bias.exp_avg_sq")},
    {ONE(fc2_weight_m), "f32[10 256]", AT(4280, 3179, 2111), AS_STATE("fc2.weight.exp_avg")},
    {ONE(fc2_weight_v), "f32[10 256]", AT(4320, 3219, 2151), AS_STATE("fc2.weight.exp_avg_sq")},
    {ONE(fc2_bias_m), "f32[10]", AT(4360, 3259, 2191), AS_STATE("fc2.bias.exp_avg")},
    {ONE(fc2_bias_v), "f32[10]", AT(4361, 3260, 2192), AS_STATE("fc2.bias.exp_avg_sq")},
    // Values of the step
    {ONE(fc1_bias_cut), "f32[256@cut_256]", AT(4592, 3431, 3089)},
    {ONE(fc1), "f32[64 256@cut_256]", AT(4477, 3346, 3033)},
    {ONE(relu), "f32[64 256@cut_256]", AT(4362, 3261, 2977)},
    {ONE(fc2_weight_cut), "f32[10 256@cut_256]", AT(4592, 3431, 3099)},
    {ONE(fc2_bias_part), "f32[10]+", AT(4487, 3356, 3043)},
    {ONE(fc2), "f32[64 10]+", AT(4477, 3346, 3033)},
    {ONE(fc2_all), "f32[64 10]", AT(4477, 3346, 3033)},
    {ONE(ce_sum_max), "f32[64]", AT(4487, 3356, 3043)},
    {ONE(ce_sum_expsum), "f32[64]", AT(4488, 3357, 3044)},
    {ONE(ce_sum_target), "f32[64]", AT(4489, 3358, 3045)},
    {ONE(ce_sum), "f32[]", AT(4490, 3359, 3046)},
    {ONE(count), "f32[]", AT(4489, 3358, 3045)},
    {ONE(loss), "f32[]", AT(6688, 5186, 3728)},
    {ONE(loss_seed), "f32[]", AT(4490, 3359, 3046)},
    {ONE(loss_da), "f32[]", AT(4491, 3360, 3047)},
    {ONE(ce_sum_dx), "f32[64 10]", AT(6555, 5087, 3089)},
    {ONE(fc2_dx), "f32[64 256@cut_256]", AT(4477, 3346, 3033)},
    {ONE(fc2_dw), "f32[10 256@cut_256]", AT(6670, 5172, 3719)},
    {ONE(fc2_db), "f32[10]", AT(6689, 5187, 3729)},
    {ONE(relu_dx), "f32[64 256@cut_256]", AT(6555, 5087, 3663)},
    {ONE(fc1_dw), "f32[256@cut_256 784]", AT(4362, 3261, 2977)},
    {ONE(fc1_db), "f32[256@cut_256]", AT(5855, 4387, 2273)},
    {ONE(fc1_db_all), "f32[256]", AT(5851, 4383, 3663)},
    {ONE(fc2_dw_all), "f32[10 256]", AT(5771, 4303, 2193)},
    // Scratch of collectives
    {ONE(fc2_dw_all_scratch), "f32[2560]", AT(5811, 4343, 2233)},
};

static void declare_buffers(hap_rank *r)
{
    hap_segments(r, 0, (const int64_t[]){1712640, 1328128, 954880});
    hap_declare(r, cuts, buffers);
    hap_loss(r, loss);
}
