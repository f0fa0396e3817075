// program.c: one training step of mlp on 3 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/mlp/graph.json clusters/laptop3.yaml -o mlp@laptop3 -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}
//   predicted   0.765 ms/step = 0.729 ms compute and idle + 0.0459 ms communication - 0.0106 ms
//               hidden; bound 0.702 ms; by datasheet formulas
//   memory      1.61 MiB / 1.25 MiB / 930 KiB    graph 8c2e2b9fd65b0127    cluster 03fc0b67e5c79464
//   strategy    auto

#include "hap/runtime.h"

// 256 cut 0.445 0.332 0.223 over axis 0 (compute).
static const int64_t cut_256[3] = {114, 85, 57};

// Byte offsets in the local segment, by class {cpu4, cpu3, cpu2}.
static const int64_t at_1453824[3] = {1453824, 1088256, 555520};
static const int64_t at_1154560[3] = {1154560, 865024, 787968}, at_0[3] = {0, 0, 0};
static const int64_t at_357632[3] = {357632, 266752, 178944};
static const int64_t at_358656[3] = {358656, 267776, 179968};
static const int64_t at_368896[3] = {368896, 278016, 190208};
static const int64_t at_369152[3] = {369152, 278272, 190464};
static const int64_t at_726784[3] = {726784, 545024, 369408};
static const int64_t at_1084416[3] = {1084416, 811776, 548352};
static const int64_t at_1085440[3] = {1085440, 812800, 549376};
static const int64_t at_1086464[3] = {1086464, 813824, 550400};
static const int64_t at_1091072[3] = {1091072, 817408, 552704};
static const int64_t at_1095680[3] = {1095680, 820992, 555008};
static const int64_t at_1095936[3] = {1095936, 821248, 555264};
static const int64_t at_1096192[3] = {1096192, 821504, 785408};
static const int64_t at_1125376[3] = {1125376, 843264, 770816};
static const int64_t at_1096192_2[3] = {1096192, 821504, 756224};
static const int64_t at_1125376_2[3] = {1125376, 843264, 773376};
static const int64_t at_1132544[3] = {1132544, 849408, 775680};
static const int64_t at_1129984[3] = {1129984, 846848, 770816};
static const int64_t at_1125632[3] = {1125632, 843520, 773632};
static const int64_t at_1125888[3] = {1125888, 843776, 773888};
static const int64_t at_1126144[3] = {1126144, 844032, 774144};
static const int64_t at_1688320[3] = {1688320, 1314304, 952064};
static const int64_t at_1126400[3] = {1126400, 844288, 774400};
static const int64_t at_1654528[3] = {1654528, 1288960, 785408};
static const int64_t at_1683712[3] = {1683712, 1310720, 949760};
static const int64_t at_1688576[3] = {1688576, 1314560, 952320};
static const int64_t at_1654528_2[3] = {1654528, 1288960, 935168};
static const int64_t at_1454848[3] = {1454848, 1089280, 555520};
static const int64_t at_1453824_2[3] = {1453824, 1088256, 935168};
static const int64_t at_1106432[3] = {1106432, 831744, 565760};
static const int64_t at_1096192_3[3] = {1096192, 821504, 555520};

static const int64_t local_bytes[3] = {1688832, 1314816, 952576}, sym_bytes = 0;

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "8c2e2b9fd65b0127", 3);
    hap_mesh(r, 1, (const int[]){3});
    hap_classes(r, (const int[]){0, 1, 2});
    hap_segments(r, sym_bytes, local_bytes);

    // Global shapes. [n@rows] is cut by rows[], [n] is whole on every rank, + is a partial sum, ^ a
    // partial max.
    const hap_dim of_64_784[] = {WHOLE(64), WHOLE(784)};
    const hap_dim of_64[] = {WHOLE(64)};
    const hap_dim cut_256_784[] = {CUT(0, 256, cut_256), WHOLE(784)};
    const hap_dim of_256[] = {WHOLE(256)};
    const hap_dim of_10_256[] = {WHOLE(10), WHOLE(256)};
    const hap_dim of_10[] = {WHOLE(10)};
    const hap_dim of_10_cut_256[] = {WHOLE(10), CUT(0, 256, cut_256)};
    const hap_dim cut_256_of_256[] = {CUT(0, 256, cut_256)};
    const hap_dim of_64_cut_256[] = {WHOLE(64), CUT(0, 256, cut_256)};
    const hap_dim of_64_10[] = {WHOLE(64), WHOLE(10)};
    const hap_dim scratch_2560[] = {WHOLE(2560)};

    // Inputs.
    hap_tensor *image = hap_at(r, SEG_LOCAL, at_1453824, HAP_F32, 2, of_64_784); // [64 784]
    hap_input(r, "image", image);
    hap_tensor *label = hap_at(r, SEG_LOCAL, at_1154560, HAP_I64, 1, of_64); // [64]
    hap_input(r, "label", label);

    // Parameters and what the step carries over.
    hap_tensor *fc1_weight = hap_at(r, SEG_LOCAL, at_0, HAP_F32, 2, cut_256_784);
    hap_param(r, "fc1.weight", fc1_weight, HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571));
    hap_tensor *fc1_bias = hap_at(r, SEG_LOCAL, at_357632, HAP_F32, 1, of_256); // [256]
    hap_param(r, "fc1.bias", fc1_bias, HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571));
    hap_tensor *fc2_weight = hap_at(r, SEG_LOCAL, at_358656, HAP_F32, 2, of_10_256);
    hap_param(r, "fc2.weight", fc2_weight, HAP_UNIFORM(-0.0625, 0.0625));
    hap_tensor *fc2_bias = hap_at(r, SEG_LOCAL, at_368896, HAP_F32, 1, of_10); // [10]
    hap_param(r, "fc2.bias", fc2_bias, HAP_UNIFORM(-0.0625, 0.0625));
    hap_tensor *fc1_weight_exp_avg = hap_at(r, SEG_LOCAL, at_369152, HAP_F32, 2, cut_256_784);
    hap_state(r, "fc1.weight.exp_avg", fc1_weight_exp_avg);
    hap_tensor *fc1_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_726784, HAP_F32, 2, cut_256_784);
    hap_state(r, "fc1.weight.exp_avg_sq", fc1_weight_exp_avg_sq);
    hap_tensor *fc1_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 1, of_256);
    hap_state(r, "fc1.bias.exp_avg", fc1_bias_exp_avg);
    hap_tensor *fc1_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1085440, HAP_F32, 1, of_256);
    hap_state(r, "fc1.bias.exp_avg_sq", fc1_bias_exp_avg_sq);
    hap_tensor *fc2_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1086464, HAP_F32, 2, of_10_cut_256);
    hap_state(r, "fc2.weight.exp_avg", fc2_weight_exp_avg);
    hap_tensor *fc2_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1091072, HAP_F32, 2, of_10_cut_256);
    hap_state(r, "fc2.weight.exp_avg_sq", fc2_weight_exp_avg_sq);
    hap_tensor *fc2_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1095680, HAP_F32, 1, of_10);
    hap_state(r, "fc2.bias.exp_avg", fc2_bias_exp_avg);
    hap_tensor *fc2_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1095936, HAP_F32, 1, of_10);
    hap_state(r, "fc2.bias.exp_avg_sq", fc2_bias_exp_avg_sq);

    // Values of the step.
    hap_tensor *fc1_bias_cut = hap_at(r, SEG_LOCAL, at_1096192, HAP_F32, 1, cut_256_of_256);
    hap_tensor *fc1 = hap_at(r, SEG_LOCAL, at_1125376, HAP_F32, 2, of_64_cut_256);
    hap_tensor *relu = hap_at(r, SEG_LOCAL, at_1096192_2, HAP_F32, 2, of_64_cut_256);
    hap_tensor *fc2_weight_cut = hap_at(r, SEG_LOCAL, at_1125376_2, HAP_F32, 2, of_10_cut_256);
    hap_tensor *fc2_bias_part = hap_at(r, SEG_LOCAL, at_1132544, HAP_F32, 1, of_10); // [10]+
    hap_tensor *fc2 = hap_at(r, SEG_LOCAL, at_1129984, HAP_F32, 2, of_64_10);        // [64 10]+
    hap_tensor *fc2_all = hap_at(r, SEG_LOCAL, at_1129984, HAP_F32, 2, of_64_10);    // [64 10]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_1125376_2, HAP_F32, 1, of_64);  // [64]
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_1125632, HAP_F32, 1, of_64); // [64]
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_1125888, HAP_F32, 1, of_64); // [64]
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_1126144, HAP_F32, 0, NULL);         // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_1125888, HAP_F32, 0, NULL);          // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_1688320, HAP_F32, 0, NULL);           // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_1126144, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_1126400, HAP_F32, 0, NULL);        // []
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1654528, HAP_F32, 2, of_64_10);  // [64 10]
    hap_tensor *fc2_weight_cut_2 = hap_at(r, SEG_LOCAL, at_1154560, HAP_F32, 2, of_10_cut_256);
    hap_tensor *fc2_dx = hap_at(r, SEG_LOCAL, at_1125376, HAP_F32, 2, of_64_cut_256);
    hap_tensor *fc2_dw = hap_at(r, SEG_LOCAL, at_1683712, HAP_F32, 2, of_10_cut_256);
    hap_tensor *fc2_db = hap_at(r, SEG_LOCAL, at_1688576, HAP_F32, 1, of_10); // [10]
    hap_tensor *relu_dx = hap_at(r, SEG_LOCAL, at_1654528_2, HAP_F32, 2, of_64_cut_256);
    hap_tensor *fc1_dw = hap_at(r, SEG_LOCAL, at_1096192_2, HAP_F32, 2, cut_256_784);
    hap_tensor *fc1_db = hap_at(r, SEG_LOCAL, at_1454848, HAP_F32, 1, cut_256_of_256);
    hap_tensor *fc1_db_all = hap_at(r, SEG_LOCAL, at_1453824_2, HAP_F32, 1, of_256); // [256]
    hap_tensor *fc2_weight_cut_3 = hap_at(r, SEG_LOCAL, at_1106432, HAP_F32, 2, of_10_cut_256);

    // Scratch of collectives.
    hap_tensor *fc2_weight_scratch = hap_at(r, SEG_LOCAL, at_1096192_3, HAP_F32, 1, scratch_2560);

    hap_loss(r, loss);
    hap_batch(r, 64, 1);
    hap_schedule(r, (hap_lr){.lr = 0.0003});

    while (hap_next_step(r)) {
        // fc1, forward
        hap_cut(r, fc1_bias_cut, fc1_bias);                         // [256@cut_256]    0.00106 ms
        op_linear(r, fc1, image, fc1_weight, fc1_bias_cut, HAP_NT); // [64 256@cut_256]    0.239 ms

        // relu, forward
        op_relu(r, relu, fc1); // y = max(x, 0)    [64 256@cut_256]    0.00556 ms

        // fc2, forward
        hap_cut(r, fc2_weight_cut, fc2_weight);           // [10 256@cut_256]    0.00157 ms
        hap_partial(r, AXIS(0), fc2_bias_part, fc2_bias); // whole -> +    [10]+    0.00101 ms
        op_linear(r, fc2, relu, fc2_weight_cut, fc2_bias_part, HAP_NT); // [64 10]+    0.00404 ms
        // + -> whole    [64 10]    2.50 KiB    0.0209 ms
        hap_event *e_fc2_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &fc2_all, &fc2, NULL);
        hap_wait(r, e_fc2_all);

        // ce_sum, forward
        op_row_max(r, ce_sum_max, fc2_all);                      // y = max x    [64]    0.00144 ms
        op_row_expsum(r, ce_sum_expsum, fc2_all, ce_sum_max);    // [64]    0.00148 ms
        op_target_logit(r, ce_sum_target, fc2_all, label, -100); // [64]    0.00116 ms
        // y = sum a + log b - c    []    0.0012 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, label, -100);

        // count, forward
        op_count(r, count, label, -100); // y = count x    []    0.00108 ms

        // loss, forward
        op_div(r, loss, ce_sum, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        // y = e (softmax - 1[label])    [64 10]    0.00196 ms
        op_ce_bwd(r, ce_sum_dx, fc2_all, ce_sum_max, ce_sum_expsum, label, loss_da, -100);

        // fc2, backward
        hap_cut(r, fc2_weight_cut_2, fc2_weight); // [10 256@cut_256]    0.00157 ms
        // y = a b    [64 256@cut_256]    0.00404 ms
        op_linear(r, fc2_dx, ce_sum_dx, fc2_weight_cut_2, NULL, HAP_NN);
        op_linear_dw(r, fc2_dw, ce_sum_dx, relu);         // [10 256@cut_256]    0.00404 ms
        op_sum(r, fc2_db, ce_sum_dx, HAP_INTS(0), false); // y = sum x    [10]    0.00141 ms

        // relu, backward
        op_relu_bwd(r, relu_dx, fc2_dx, relu); // [64 256@cut_256]    0.00784 ms

        // fc1, backward
        op_linear_dw(r, fc1_dw, relu_dx, image);        // [256@cut_256 784]    0.239 ms
        op_sum(r, fc1_db, relu_dx, HAP_INTS(0), false); // y = sum x    [256@cut_256]    0.00332 ms

        // update
        // dim 0 @cut_256 -> whole    [256]    1.00 KiB    0.0102 ms
        hap_event *e_fc1_db_all =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &fc1_db_all, &fc1_db, NULL);
        op_adam(r, fc1_weight, fc1_weight_exp_avg, fc1_weight_exp_avg_sq, fc1_dw, NULL, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [256@cut_256 784]    0.197 ms
        hap_wait(r, e_fc1_db_all);       // 0.0102 ms hidden
        op_adam(r, fc1_bias, fc1_bias_exp_avg, fc1_bias_exp_avg_sq, fc1_db_all, NULL, 1, 0.9, 0.95,
                1e-08, 0, true);                  // a -= lr b / sqrt c    [256]    0.00212 ms
        hap_cut(r, fc2_weight_cut_3, fc2_weight); // [10 256@cut_256]    0.00157 ms
        op_adam(r, fc2_weight_cut_3, fc2_weight_exp_avg, fc2_weight_exp_avg_sq, fc2_dw, NULL, 1,
                0.9, 0.95, 1e-08, 0.1, true); // [10 256@cut_256]    0.00349 ms
        // dim 1 @cut_256 -> whole    [10 256]    10.0 KiB    0.0148 ms
        hap_event *e_fc2_weight = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &fc2_weight,
                                                        &fc2_weight_cut_3, fc2_weight_scratch);
        op_adam(r, fc2_bias, fc2_bias_exp_avg, fc2_bias_exp_avg_sq, fc2_db, NULL, 1, 0.9, 0.95,
                1e-08, 0, true); // a -= lr b / sqrt c    [10]    0.00104 ms
        hap_wait(r, e_fc2_weight);
    }
    return hap_finish(r);
}
