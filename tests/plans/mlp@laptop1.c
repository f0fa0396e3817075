// program.c: one training step of mlp on 1 rank, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/mlp/graph.json clusters/laptop1.yaml -o mlp@laptop1 -q
//
//   classes     cpu4 {0}
//   predicted   1.59 ms/step = 1.59 ms compute and idle + 0 ms communication - 0 ms hidden; bound
//               1.59 ms; by datasheet formulas
//   memory      3.36 MiB    graph 8c2e2b9fd65b0127    cluster 54f94b7da2a2206c
//   strategy    auto

#include "hap/runtime.h"

// Byte offsets in the local segment, by class {cpu4}.
static const int64_t at_3245824[1] = {3245824}, at_2574080[1] = {2574080}, at_0[1] = {0};
static const int64_t at_802816[1] = {802816}, at_803840[1] = {803840}, at_814080[1] = {814080};
static const int64_t at_814336[1] = {814336}, at_1617152[1] = {1617152}, at_2419968[1] = {2419968};
static const int64_t at_2420992[1] = {2420992}, at_2422016[1] = {2422016};
static const int64_t at_2432256[1] = {2432256}, at_2442496[1] = {2442496};
static const int64_t at_2442752[1] = {2442752}, at_2508544[1] = {2508544};
static const int64_t at_2443008[1] = {2443008}, at_2511104[1] = {2511104};
static const int64_t at_2511360[1] = {2511360}, at_2511616[1] = {2511616};
static const int64_t at_2511872[1] = {2511872}, at_3522304[1] = {3522304};
static const int64_t at_2512128[1] = {2512128}, at_3446528[1] = {3446528};
static const int64_t at_3512064[1] = {3512064}, at_3522560[1] = {3522560};

static const int64_t local_bytes[1] = {3522816}, sym_bytes = 0;

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "8c2e2b9fd65b0127", 1);
    hap_mesh(r, 1, (const int[]){1});
    hap_classes(r, (const int[]){0});
    hap_segments(r, sym_bytes, local_bytes);

    // Global shapes. [n@rows] is cut by rows[], [n] is whole on every rank, + is a partial sum, ^ a
    // partial max.
    const hap_dim of_64_784[] = {WHOLE(64), WHOLE(784)};
    const hap_dim of_64[] = {WHOLE(64)};
    const hap_dim of_256_784[] = {WHOLE(256), WHOLE(784)};
    const hap_dim of_256[] = {WHOLE(256)};
    const hap_dim of_10_256[] = {WHOLE(10), WHOLE(256)};
    const hap_dim of_10[] = {WHOLE(10)};
    const hap_dim of_64_256[] = {WHOLE(64), WHOLE(256)};
    const hap_dim of_64_10[] = {WHOLE(64), WHOLE(10)};

    // Inputs.
    hap_tensor *image = hap_at(r, SEG_LOCAL, at_3245824, HAP_F32, 2, of_64_784); // [64 784]
    hap_input(r, "image", image);
    hap_tensor *label = hap_at(r, SEG_LOCAL, at_2574080, HAP_I64, 1, of_64); // [64]
    hap_input(r, "label", label);

    // Parameters and what the step carries over.
    hap_tensor *fc1_weight = hap_at(r, SEG_LOCAL, at_0, HAP_F32, 2, of_256_784); // [256 784]
    hap_param(r, "fc1.weight", fc1_weight, HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571));
    hap_tensor *fc1_bias = hap_at(r, SEG_LOCAL, at_802816, HAP_F32, 1, of_256); // [256]
    hap_param(r, "fc1.bias", fc1_bias, HAP_UNIFORM(-0.03571428571428571, 0.03571428571428571));
    hap_tensor *fc2_weight = hap_at(r, SEG_LOCAL, at_803840, HAP_F32, 2, of_10_256);
    hap_param(r, "fc2.weight", fc2_weight, HAP_UNIFORM(-0.0625, 0.0625));
    hap_tensor *fc2_bias = hap_at(r, SEG_LOCAL, at_814080, HAP_F32, 1, of_10); // [10]
    hap_param(r, "fc2.bias", fc2_bias, HAP_UNIFORM(-0.0625, 0.0625));
    hap_tensor *fc1_weight_exp_avg = hap_at(r, SEG_LOCAL, at_814336, HAP_F32, 2, of_256_784);
    hap_state(r, "fc1.weight.exp_avg", fc1_weight_exp_avg);
    hap_tensor *fc1_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1617152, HAP_F32, 2, of_256_784);
    hap_state(r, "fc1.weight.exp_avg_sq", fc1_weight_exp_avg_sq);
    hap_tensor *fc1_bias_exp_avg = hap_at(r, SEG_LOCAL, at_2419968, HAP_F32, 1, of_256);
    hap_state(r, "fc1.bias.exp_avg", fc1_bias_exp_avg);
    hap_tensor *fc1_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_2420992, HAP_F32, 1, of_256);
    hap_state(r, "fc1.bias.exp_avg_sq", fc1_bias_exp_avg_sq);
    hap_tensor *fc2_weight_exp_avg = hap_at(r, SEG_LOCAL, at_2422016, HAP_F32, 2, of_10_256);
    hap_state(r, "fc2.weight.exp_avg", fc2_weight_exp_avg);
    hap_tensor *fc2_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_2432256, HAP_F32, 2, of_10_256);
    hap_state(r, "fc2.weight.exp_avg_sq", fc2_weight_exp_avg_sq);
    hap_tensor *fc2_bias_exp_avg = hap_at(r, SEG_LOCAL, at_2442496, HAP_F32, 1, of_10);
    hap_state(r, "fc2.bias.exp_avg", fc2_bias_exp_avg);
    hap_tensor *fc2_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_2442752, HAP_F32, 1, of_10);
    hap_state(r, "fc2.bias.exp_avg_sq", fc2_bias_exp_avg_sq);

    // Values of the step.
    hap_tensor *fc1 = hap_at(r, SEG_LOCAL, at_2508544, HAP_F32, 2, of_64_256);       // [64 256]
    hap_tensor *relu = hap_at(r, SEG_LOCAL, at_2443008, HAP_F32, 2, of_64_256);      // [64 256]
    hap_tensor *fc2 = hap_at(r, SEG_LOCAL, at_2508544, HAP_F32, 2, of_64_10);        // [64 10]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_2511104, HAP_F32, 1, of_64);    // [64]
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_2511360, HAP_F32, 1, of_64); // [64]
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_2511616, HAP_F32, 1, of_64); // [64]
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_2511872, HAP_F32, 0, NULL);         // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_2511616, HAP_F32, 0, NULL);          // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_3522304, HAP_F32, 0, NULL);           // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_2511872, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_2512128, HAP_F32, 0, NULL);        // []
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_3446528, HAP_F32, 2, of_64_10);  // [64 10]
    hap_tensor *fc2_dx = hap_at(r, SEG_LOCAL, at_2508544, HAP_F32, 2, of_64_256);    // [64 256]
    hap_tensor *fc2_dw = hap_at(r, SEG_LOCAL, at_3512064, HAP_F32, 2, of_10_256);    // [10 256]
    hap_tensor *fc2_db = hap_at(r, SEG_LOCAL, at_3522560, HAP_F32, 1, of_10);        // [10]
    hap_tensor *relu_dx = hap_at(r, SEG_LOCAL, at_3446528, HAP_F32, 2, of_64_256);   // [64 256]
    hap_tensor *fc1_dw = hap_at(r, SEG_LOCAL, at_2443008, HAP_F32, 2, of_256_784);
    hap_tensor *fc1_db = hap_at(r, SEG_LOCAL, at_3245824, HAP_F32, 1, of_256); // [256]

    hap_loss(r, loss);
    hap_batch(r, 64, 1);
    hap_schedule(r, (hap_lr){.lr = 0.0003});

    while (hap_next_step(r)) {
        // fc1, forward
        op_linear(r, fc1, image, fc1_weight, fc1_bias, HAP_NT); // [64 256]    0.536 ms

        // relu, forward
        op_relu(r, relu, fc1); // y = max(x, 0)    [64 256]    0.0112 ms

        // fc2, forward
        op_linear(r, fc2, relu, fc2_weight, fc2_bias, HAP_NT); // [64 10]    0.00783 ms

        // ce_sum, forward
        op_row_max(r, ce_sum_max, fc2);                      // y = max x    [64]    0.00122 ms
        op_row_expsum(r, ce_sum_expsum, fc2, ce_sum_max);    // [64]    0.00124 ms
        op_target_logit(r, ce_sum_target, fc2, label, -100); // y = a[label]    [64]    0.00108 ms
        // y = sum a + log b - c    []    0.0011 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, label, -100);

        // count, forward
        op_count(r, count, label, -100); // y = count x    []    0.00104 ms

        // loss, forward
        op_div(r, loss, ce_sum, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        // y = e (softmax - 1[label])    [64 10]    0.00148 ms
        op_ce_bwd(r, ce_sum_dx, fc2, ce_sum_max, ce_sum_expsum, label, loss_da, -100);

        // fc2, backward
        op_linear(r, fc2_dx, ce_sum_dx, fc2_weight, NULL, HAP_NN); // [64 256]    0.00783 ms
        op_linear_dw(r, fc2_dw, ce_sum_dx, relu); // y = sum rows a' b    [10 256]    0.00783 ms
        op_sum(r, fc2_db, ce_sum_dx, HAP_INTS(0), false); // y = sum x    [10]    0.0012 ms

        // relu, backward
        op_relu_bwd(r, relu_dx, fc2_dx, relu); // y = b > 0 ? a : 0    [64 256]    0.0164 ms

        // fc1, backward
        op_linear_dw(r, fc1_dw, relu_dx, image); // y = sum rows a' b    [256 784]    0.536 ms
        op_sum(r, fc1_db, relu_dx, HAP_INTS(0), false); // y = sum x    [256]    0.0062 ms

        // update
        op_adam(r, fc1_weight, fc1_weight_exp_avg, fc1_weight_exp_avg_sq, fc1_dw, NULL, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [256 784]    0.44 ms
        op_adam(r, fc1_bias, fc1_bias_exp_avg, fc1_bias_exp_avg_sq, fc1_db, NULL, 1, 0.9, 0.95,
                1e-08, 0, true); // a -= lr b / sqrt c    [256]    0.00156 ms
        op_adam(r, fc2_weight, fc2_weight_exp_avg, fc2_weight_exp_avg_sq, fc2_dw, NULL, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [10 256]    0.0066 ms
        op_adam(r, fc2_bias, fc2_bias_exp_avg, fc2_bias_exp_avg_sq, fc2_db, NULL, 1, 0.9, 0.95,
                1e-08, 0, true); // a -= lr b / sqrt c    [10]    0.00102 ms
    }
    return hap_finish(r);
}
