// program.c: one training step of mlp on 1 rank, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/mlp/graph.json clusters/laptop1.yaml -o mlp@laptop1 -q
//
//   classes     cpu4 {0}
//   predicted   1.59 ms/step = 1.59 ms compute and idle + 0 ms communication - 0 ms hidden; by
//               datasheet formulas
//   memory      3.36 MiB    graph 8c2e2b9fd65b0127    cluster 54f94b7da2a2206c
//   strategy    auto

#include "hap/runtime.h"

// 64 cut 1.000 over axis 0 (compute).
static const int64_t rows[1] = {64};

// Byte offsets in the local segment, by class {cpu4}.
static const int64_t at_2443008[1] = {2443008}, at_2774784[1] = {2774784}, at_0[1] = {0};
static const int64_t at_802816[1] = {802816}, at_803840[1] = {803840}, at_814080[1] = {814080};
static const int64_t at_814336[1] = {814336}, at_1617152[1] = {1617152}, at_2419968[1] = {2419968};
static const int64_t at_2420992[1] = {2420992}, at_2422016[1] = {2422016};
static const int64_t at_2432256[1] = {2432256}, at_2442496[1] = {2442496};
static const int64_t at_2442752[1] = {2442752}, at_2709248[1] = {2709248};
static const int64_t at_2643712[1] = {2643712}, at_2711808[1] = {2711808};
static const int64_t at_2714880[1] = {2714880}, at_2715136[1] = {2715136};
static const int64_t at_2714368[1] = {2714368}, at_2715392[1] = {2715392};
static const int64_t at_2712320[1] = {2712320}, at_2712576[1] = {2712576};
static const int64_t at_3522304[1] = {3522304}, at_2840320[1] = {2840320};
static const int64_t at_3512064[1] = {3512064}, at_3522560[1] = {3522560};
static const int64_t at_3446528[1] = {3446528}, at_3245824[1] = {3245824};

static const int64_t local_bytes[1] = {3522816}, sym_bytes = 0;

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "8c2e2b9fd65b0127", 1);
    hap_mesh(r, 1, (const int[]){1});
    hap_classes(r, (const int[]){0});
    hap_segments(r, sym_bytes, local_bytes);

    // Global shapes. [n@rows] is cut by rows[], [n] is whole on every rank, + is a partial sum, ^ a
    // partial max.
    const hap_dim rows_784[] = {CUT(0, 64, rows), WHOLE(784)};
    const hap_dim rows_of_64[] = {CUT(0, 64, rows)};
    const hap_dim of_256_784[] = {WHOLE(256), WHOLE(784)};
    const hap_dim of_256[] = {WHOLE(256)};
    const hap_dim of_10_256[] = {WHOLE(10), WHOLE(256)};
    const hap_dim of_10[] = {WHOLE(10)};
    const hap_dim rows_256[] = {CUT(0, 64, rows), WHOLE(256)};
    const hap_dim rows_10[] = {CUT(0, 64, rows), WHOLE(10)};
    const hap_dim of_64_10[] = {WHOLE(64), WHOLE(10)};
    const hap_dim of_64[] = {WHOLE(64)};
    const hap_dim of_64_256[] = {WHOLE(64), WHOLE(256)};
    const hap_dim of_64_784[] = {WHOLE(64), WHOLE(784)};

    // Inputs.
    hap_tensor *image = hap_at(r, SEG_LOCAL, at_2443008, HAP_F32, 2, rows_784);
    hap_input(r, "image", image);
    hap_tensor *label = hap_at(r, SEG_LOCAL, at_2774784, HAP_I64, 1, rows_of_64); // [64@rows]
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
    hap_tensor *fc1 = hap_at(r, SEG_LOCAL, at_2709248, HAP_F32, 2, rows_256); // [64@rows 256]
    hap_tensor *relu = hap_at(r, SEG_LOCAL, at_2643712, HAP_F32, 2, rows_256);
    hap_tensor *fc2 = hap_at(r, SEG_LOCAL, at_2709248, HAP_F32, 2, rows_10);         // [64@rows 10]
    hap_tensor *fc2_all = hap_at(r, SEG_LOCAL, at_2711808, HAP_F32, 2, of_64_10);    // [64 10]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_2714880, HAP_F32, 1, of_64);    // [64]
    hap_tensor *fc2_all_2 = hap_at(r, SEG_LOCAL, at_2711808, HAP_F32, 2, of_64_10);  // [64 10]
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_2715136, HAP_F32, 1, of_64); // [64]
    hap_tensor *fc2_all_3 = hap_at(r, SEG_LOCAL, at_2711808, HAP_F32, 2, of_64_10);  // [64 10]
    hap_tensor *label_all = hap_at(r, SEG_LOCAL, at_2714368, HAP_I64, 1, of_64);     // [64]
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_2715392, HAP_F32, 1, of_64); // [64]
    hap_tensor *label_all_2 = hap_at(r, SEG_LOCAL, at_2711808, HAP_I64, 1, of_64);   // [64]
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_2712320, HAP_F32, 0, NULL);         // []
    hap_tensor *label_all_3 = hap_at(r, SEG_LOCAL, at_2711808, HAP_I64, 1, of_64);   // [64]
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_2712576, HAP_F32, 0, NULL);          // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_3522304, HAP_F32, 0, NULL);           // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_2711808, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_2715392, HAP_F32, 0, NULL);        // []
    hap_tensor *fc2_all_4 = hap_at(r, SEG_LOCAL, at_2711808, HAP_F32, 2, of_64_10);  // [64 10]
    hap_tensor *label_all_4 = hap_at(r, SEG_LOCAL, at_2714368, HAP_I64, 1, of_64);   // [64]
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_2840320, HAP_F32, 2, of_64_10);  // [64 10]
    hap_tensor *fc2_dx = hap_at(r, SEG_LOCAL, at_2709248, HAP_F32, 2, of_64_256);    // [64 256]
    hap_tensor *relu_all = hap_at(r, SEG_LOCAL, at_2774784, HAP_F32, 2, of_64_256);
    hap_tensor *fc2_dw = hap_at(r, SEG_LOCAL, at_3512064, HAP_F32, 2, of_10_256); // [10 256]
    hap_tensor *fc2_db = hap_at(r, SEG_LOCAL, at_3522560, HAP_F32, 1, of_10);     // [10]
    hap_tensor *relu_all_2 = hap_at(r, SEG_LOCAL, at_2774784, HAP_F32, 2, of_64_256);
    hap_tensor *relu_dx = hap_at(r, SEG_LOCAL, at_3446528, HAP_F32, 2, of_64_256); // [64 256]
    hap_tensor *image_all = hap_at(r, SEG_LOCAL, at_3245824, HAP_F32, 2, of_64_784);
    hap_tensor *fc1_dw = hap_at(r, SEG_LOCAL, at_2443008, HAP_F32, 2, of_256_784);
    hap_tensor *fc1_db = hap_at(r, SEG_LOCAL, at_3245824, HAP_F32, 1, of_256); // [256]

    hap_loss(r, loss);
    hap_batch(r, 64, 1);
    hap_schedule(r, (hap_lr){.lr = 0.0003});

    while (hap_next_step(r)) {
        // fc1, forward
        op_linear(r, fc1, image, fc1_weight, fc1_bias, HAP_NT); // [64@rows 256]    0.536 ms

        // relu, forward
        op_relu(r, relu, fc1); // y = max(x, 0)    [64@rows 256]    0.0112 ms

        // fc2, forward
        op_linear(r, fc2, relu, fc2_weight, fc2_bias, HAP_NT); // [64@rows 10]    0.00783 ms

        // ce_sum, forward
        // dim 0 @rows -> whole    [64 10]    2.50 KiB    0 ms
        hap_event *e_fc2_all =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &fc2_all, &fc2, NULL);
        hap_wait(r, e_fc2_all);
        op_row_max(r, ce_sum_max, fc2_all); // y = max x    [64]    0.00122 ms
        // dim 0 @rows -> whole    [64 10]    2.50 KiB    0 ms
        hap_event *e_fc2_all_2 =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &fc2_all_2, &fc2, NULL);
        hap_wait(r, e_fc2_all_2);
        op_row_expsum(r, ce_sum_expsum, fc2_all_2, ce_sum_max); // [64]    0.00124 ms
        // dim 0 @rows -> whole    [64 10]    2.50 KiB    0 ms
        hap_event *e_fc2_all_3 =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &fc2_all_3, &fc2, NULL);
        // dim 0 @rows -> whole    [64]    512 B    0 ms
        hap_event *e_label_all =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &label_all, &label, NULL);
        hap_wait(r, e_fc2_all_3);
        hap_wait(r, e_label_all);
        op_target_logit(r, ce_sum_target, fc2_all_3, label_all, -100); // [64]    0.00108 ms
        // dim 0 @rows -> whole    [64]    512 B    0 ms
        hap_event *e_label_all_2 =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &label_all_2, &label, NULL);
        hap_wait(r, e_label_all_2);
        // y = sum a + log b - c    []    0.0011 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, label_all_2, -100);

        // count, forward
        // dim 0 @rows -> whole    [64]    512 B    0 ms
        hap_event *e_label_all_3 =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &label_all_3, &label, NULL);
        hap_wait(r, e_label_all_3);
        op_count(r, count, label_all_3, -100); // y = count x    []    0.00104 ms

        // loss, forward
        op_div(r, loss, ce_sum, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        // dim 0 @rows -> whole    [64 10]    2.50 KiB    0 ms
        hap_event *e_fc2_all_4 =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &fc2_all_4, &fc2, NULL);
        // dim 0 @rows -> whole    [64]    512 B    0 ms
        hap_event *e_label_all_4 =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &label_all_4, &label, NULL);
        hap_wait(r, e_fc2_all_4);
        hap_wait(r, e_label_all_4);
        // y = e (softmax - 1[label])    [64 10]    0.00148 ms
        op_ce_bwd(r, ce_sum_dx, fc2_all_4, ce_sum_max, ce_sum_expsum, label_all_4, loss_da, -100);

        // fc2, backward
        op_linear(r, fc2_dx, ce_sum_dx, fc2_weight, NULL, HAP_NN); // [64 256]    0.00783 ms
        // dim 0 @rows -> whole    [64 256]    64.0 KiB    0 ms
        hap_event *e_relu_all =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &relu_all, &relu, NULL);
        hap_wait(r, e_relu_all);
        op_linear_dw(r, fc2_dw, ce_sum_dx, relu_all); // y = sum rows a' b    [10 256]    0.00783 ms
        op_sum(r, fc2_db, ce_sum_dx, HAP_INTS(0), false); // y = sum x    [10]    0.0012 ms

        // relu, backward
        // dim 0 @rows -> whole    [64 256]    64.0 KiB    0 ms
        hap_event *e_relu_all_2 =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &relu_all_2, &relu, NULL);
        hap_wait(r, e_relu_all_2);
        op_relu_bwd(r, relu_dx, fc2_dx, relu_all_2); // y = b > 0 ? a : 0    [64 256]    0.0164 ms

        // fc1, backward
        // dim 0 @rows -> whole    [64 784]    196 KiB    0 ms
        hap_event *e_image_all =
            coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &image_all, &image, NULL);
        hap_wait(r, e_image_all);
        op_linear_dw(r, fc1_dw, relu_dx, image_all); // y = sum rows a' b    [256 784]    0.536 ms
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
