// One training step of mlp on 3 ranks, by hapc 0.1.0. After an edit: hapc check
//
//   hapc examples/mlp/graph.json clusters/laptop3.yaml -o mlp@laptop3 -q
//
//   ranks      0 cpu4, 1 cpu3, 2 cpu2
//   predicted  0.763 ms a step: 0.728 computing or idle, 0.046 communication, of it 0.011 hidden;
//              at least 0.702; by datasheet formulas
//   memory     1.61 MiB, 1.25 MiB, 930 KiB on {cpu4, cpu3, cpu2}
//   input      graph 8c2e2b9fd65b0127, cluster 03fc0b67e5c79464; strategy auto
//
// Shapes are global: [8@rows 128] has its first dim cut by the table rows, [8 128] is whole on
// every rank. Behind one, + says that every rank holds a part of a sum, ^ of a maximum. Numbers on
// the right are predicted milliseconds of the slowest rank. A formula names outputs y, y1 and
// operands a, b, c (x: the only one) in the order of the call. buffers.h says where tensors lie and
// what a block owns.

#include "hap/runtime.h"

// Cuts: axis of the mesh, size, entries of each coordinate; and who chose them.
static const hap_cuts cuts[] = {
    HAP_CUT("cut_256", 0, 256, 114,  85,  57),                // compute
};

#include "buffers.h"

static void forward(hap_rank *r), backward(hap_rank *r), update(hap_rank *r);

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "8c2e2b9fd65b0127", 3);
    hap_mesh(r, 1, (const int[]){3});
    hap_classes(r, (const int[]){0, 1, 2});
    hap_batch(r, 64, 1);
    hap_schedule(r, (hap_lr){.lr = 0.0003});
    declare_buffers(r); // buffers.h

    while (hap_next_step(r)) {
        forward(r);                                           //                               0.260
        backward(r);                                          //                               0.264
        update(r);                                            //                               0.205
    }
    return hap_finish(r);
}

static void forward(hap_rank *r)
{
    // fc1
    hap_cut(r, fc1_bias_cut, fc1_bias);                       // [256@cut_256]                 0.001
    op_linear(r, fc1, image, fc1_weight, fc1_bias_cut, HAP_NT); // [64 256@cut_256]            0.239
    op_relu(r, relu, fc1);                                    // y = max(x, 0)                 0.006

    // fc2
    hap_cut(r, fc2_weight_cut, fc2_weight);                   // [10 256@cut_256]              0.002
    hap_partial(r, AXIS(0), fc2_bias_part, fc2_bias);         // whole -> +  [10]+             0.001
    op_linear(r, fc2, relu, fc2_weight_cut, fc2_bias_part, HAP_NT); // y = a b' + c  [64 10]+  0.004
    hap_wait(r, coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &fc2_all, &fc2, NULL)); //     0.021

    // ce_sum
    op_row_max(r, ce_sum_max, fc2_all);                       // y = max x  [64]               0.001
    op_row_expsum(r, ce_sum_expsum, fc2_all, ce_sum_max);     // y = sum exp(a - b)            0.001
    op_target_logit(r, ce_sum_target, fc2_all, label, -100);  // y = a[label]                  0.001
    op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, label, -100); // []        0.001
    op_count(r, count, label, -100);                          // y = count x                   0.001
    op_div(r, loss, ce_sum, count);                           // y = a / b                     0.001
}

static void backward(hap_rank *r)
{
    // loss
    op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32);   // y = 1  []                     0.001
    op_div(r, loss_da, loss_seed, count);                     // y = a / b                     0.001
    op_ce_bwd(r, ce_sum_dx, fc2_all, ce_sum_max, ce_sum_expsum, label, loss_da, -100); //      0.002

    // fc2
    op_linear(r, fc2_dx, ce_sum_dx, fc2_weight_cut, NULL, HAP_NN); // [64 256@cut_256]         0.004
    op_linear_dw(r, fc2_dw, ce_sum_dx, relu);                 // [10 256@cut_256]              0.004
    op_sum(r, fc2_db, ce_sum_dx, HAP_INTS(0), false);         // y = sum x  [10]               0.001
    op_relu_bwd(r, relu_dx, fc2_dx, relu);                    // [64 256@cut_256]              0.008

    // fc1
    op_linear_dw(r, fc1_dw, relu_dx, image);                  // [256@cut_256 784]             0.239
    op_sum(r, fc1_db, relu_dx, HAP_INTS(0), false);           // y = sum x  [256@cut_256]      0.003
}

static void update(hap_rank *r)
{
    hap_event *e_fc1_db_all = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &fc1_db_all,
        &fc1_db, NULL);                                       // @cut_256 -> whole  1.00 KiB   0.010
    op_adam(r, fc1_weight, fc1_weight_m, fc1_weight_v, fc1_dw, NULL, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // [256@cut_256 784]             0.197
    hap_wait(r, e_fc1_db_all);                                // 0.010 hidden
    op_adam(r, fc1_bias, fc1_bias_m, fc1_bias_v, fc1_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c  [256]     0.002
    hap_cut(r, fc2_weight_cut_2, fc2_weight);                 // [10 256@cut_256]              0.002
    op_adam(r, fc2_weight_cut_2, fc2_weight_m, fc2_weight_v, fc2_dw, NULL, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c            0.003
    hap_event *e_fc2_weight = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &fc2_weight,
        &fc2_weight_cut_2, fc2_weight_scratch);               // @cut_256 -> whole  10.0 KiB   0.015
    op_adam(r, fc2_bias, fc2_bias_m, fc2_bias_v, fc2_db, NULL, 1, 0.9, 0.95, 1e-08, 0, true);
    hap_wait(r, e_fc2_weight);
}
