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
    *fc2_dx, *fc2_dw, *fc2_db, *relu_dx, *fc1_dw, *fc1_db, *fc1_db_all, *fc2_weight_cut_2,
    *fc2_weight_scratch;

static const hap_place buffers[] = {
    // Inputs
    {ONE(image), "f32[64 784]", AT(5679, 4251, 2170), AS_INPUT("image")},
    {ONE(label), "i64[64]", AT(4528, 3393, 3087), AS_INPUT("label")},
    // Parameters and what the step carries over
    {ONE(fc1_weight), "f32[256@cut_256 784]", AT(0, 0, 0),
        AS_PARAM("fc1.weight", HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571))},
    {ONE(fc1_bias), "f32[256]", AT(1397, 1042, 699),
        AS_PARAM("fc1.bias", HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571))},
    {ONE(fc2_weight), "f32[10 256]", AT(1401, 1046, 703),
        AS_PARAM("fc2.weight", HAP_UNIFORM(-0.0625, 0.0625))},
    {ONE(fc2_bias), "f32[10]", AT(1441, 1086, 743),
        AS_PARAM("fc2.bias", HAP_UNIFORM(-0.0625, 0.0625))},
    {ONE(fc1_weight_m), "f32[256@cut_256 784]", AT(1442, 1087, 744),
        AS_STATE("fc1.weight.exp_avg")},
    {ONE(fc1_weight_v), "f32[256@cut_256 784]", AT(2839, 2129, 1443),
        AS_STATE("fc1.weight.exp_avg_sq")},
    {ONE(fc1_bias_m), "f32[256]", AT(4236, 3171, 2142), AS_STATE("fc1.bias.exp_avg")},
    {ONE(fc1_bias_v), "f32[256]", AT(4240, 3175, 2146), AS_STATE("fc1.bias.exp_avg_sq")},
    {ONE(fc2_weight_m), "f32[10 256@cut_256]", AT(4244, 3179, 2150),
        AS_STATE("fc2.weight.exp_avg")},
    {ONE(fc2_weight_v), "f32[10 256@cut_256]", AT(4262, 3193, 2159),
        AS_STATE("fc2.weight.exp_avg_sq")},
    {ONE(fc2_bias_m), "f32[10]", AT(4280, 3207, 2168), AS_STATE("fc2.bias.exp_avg")},
    {ONE(fc2_bias_v), "f32[10]", AT(4281, 3208, 2169), AS_STATE("fc2.bias.exp_avg_sq")},
    // Values of the step
    {ONE(fc1_bias_cut), "f32[256@cut_256]", AT(4510, 3379, 3068)},
    {ONE(fc1), "f32[64 256@cut_256]", AT(4396, 3294, 3011)},
    {ONE(relu), "f32[64 256@cut_256]", AT(4282, 3209, 2954)},
    {ONE(fc2_weight_cut), "f32[10 256@cut_256]", AT(4510, 3379, 3078)},
    {ONE(fc2_bias_part), "f32[10]+", AT(4406, 3304, 3021)},
    {ONE(fc2), "f32[64 10]+", AT(4396, 3294, 3011)},
    {ONE(fc2_all), "f32[64 10]", AT(4396, 3294, 3011)},
    {ONE(ce_sum_max), "f32[64]", AT(4406, 3304, 3021)},
    {ONE(ce_sum_expsum), "f32[64]", AT(4407, 3305, 3022)},
    {ONE(ce_sum_target), "f32[64]", AT(4408, 3306, 3023)},
    {ONE(ce_sum), "f32[]", AT(4409, 3307, 3024)},
    {ONE(count), "f32[]", AT(4408, 3306, 3023)},
    {ONE(loss), "f32[]", AT(6595, 5134, 3719)},
    {ONE(loss_seed), "f32[]", AT(4409, 3307, 3024)},
    {ONE(loss_da), "f32[]", AT(4410, 3308, 3025)},
    {ONE(ce_sum_dx), "f32[64 10]", AT(6463, 5035, 3068)},
    {ONE(fc2_dx), "f32[64 256@cut_256]", AT(4396, 3294, 3011)},
    {ONE(fc2_dw), "f32[10 256@cut_256]", AT(6577, 5120, 3710)},
    {ONE(fc2_db), "f32[10]", AT(6596, 5135, 3720)},
    {ONE(relu_dx), "f32[64 256@cut_256]", AT(6463, 5035, 3653)},
    {ONE(fc1_dw), "f32[256@cut_256 784]", AT(4282, 3209, 2954)},
    {ONE(fc1_db), "f32[256@cut_256]", AT(5683, 4255, 2170)},
    {ONE(fc1_db_all), "f32[256]", AT(5679, 4251, 3653)},
    {ONE(fc2_weight_cut_2), "f32[10 256@cut_256]", AT(4322, 3249, 2210)},
    // Scratch of collectives
    {ONE(fc2_weight_scratch), "f32[2560]", AT(4282, 3209, 2170)},
};

static void declare_buffers(hap_rank *r)
{
    hap_segments(r, 0, (const int64_t[]){1688832, 1314816, 952576});
    hap_declare(r, cuts, buffers);
    hap_loss(r, loss);
}
