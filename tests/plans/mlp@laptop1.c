// One training step of mlp on 1 rank, by hapc 0.1.0. After an edit: hapc check
//
//   hapc examples/mlp/graph.json clusters/laptop1.yaml -o mlp@laptop1 -q
//
//   ranks      0 cpu4
//   predicted  1.59 ms a step: 1.59 computing or idle, 0.000 communication, of it 0.000 hidden; at
//              least 1.59; by datasheet formulas
//   memory     3.36 MiB on {cpu4}
//   input      graph 8c2e2b9fd65b0127, cluster 54f94b7da2a2206c; strategy auto
//
// Shapes are global: [8@rows 128] has its first dim cut by the table rows, [8 128] is whole on
// every rank. Behind one, + says that every rank holds a part of a sum, ^ of a maximum. Numbers on
// the right are predicted milliseconds of the slowest rank. A formula names outputs y, y1 and
// operands a, b, c (x: the only one) in the order of the call. buffers.h says where tensors lie and
// what a block owns.

#include "hap/runtime.h"

// Cuts: axis of the mesh, size, entries of each coordinate; and who chose them.
static const hap_cuts cuts[] = {
    HAP_CUT("", 0, 0, 0), // none
};

#include "buffers.h"

static void forward(hap_rank *r), backward(hap_rank *r), update(hap_rank *r);

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "8c2e2b9fd65b0127", 1);
    hap_mesh(r, 1, (const int[]){1});
    hap_classes(r, (const int[]){0});
    hap_batch(r, 64, 1);
    hap_schedule(r, (hap_lr){.lr = 0.0003});
    declare_buffers(r); // buffers.h

    while (hap_next_step(r)) {
        forward(r);                                           //                               0.562
        backward(r);                                          //                               0.579
        update(r);                                            //                               0.449
    }
    return hap_finish(r);
}

static void forward(hap_rank *r)
{
    op_linear(r, fc1, image, fc1_weight, fc1_bias, HAP_NT);   // y = a b' + c  [64 256]        0.536
    op_relu(r, relu, fc1);                                    // y = max(x, 0)                 0.011
    op_linear(r, fc2, relu, fc2_weight, fc2_bias, HAP_NT);    // y = a b' + c  [64 10]         0.008

    // ce_sum
    op_row_max(r, ce_sum_max, fc2);                           // y = max x  [64]               0.001
    op_row_expsum(r, ce_sum_expsum, fc2, ce_sum_max);         // y = sum exp(a - b)            0.001
    op_target_logit(r, ce_sum_target, fc2, label, -100);      // y = a[label]                  0.001
    op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, label, -100); // []        0.001
    op_count(r, count, label, -100);                          // y = count x                   0.001
    op_div(r, loss, ce_sum, count);                           // y = a / b                     0.001
}

static void backward(hap_rank *r)
{
    // loss
    op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32);   // y = 1  []                     0.001
    op_div(r, loss_da, loss_seed, count);                     // y = a / b                     0.001
    op_ce_bwd(r, ce_sum_dx, fc2, ce_sum_max, ce_sum_expsum, label, loss_da, -100); // [64 10]  0.001

    // fc2
    op_linear(r, fc2_dx, ce_sum_dx, fc2_weight, NULL, HAP_NN); // y = a b  [64 256]            0.008
    op_linear_dw(r, fc2_dw, ce_sum_dx, relu);                 // y = sum rows a' b  [10 256]   0.008
    op_sum(r, fc2_db, ce_sum_dx, HAP_INTS(0), false);         // y = sum x  [10]               0.001
    op_relu_bwd(r, relu_dx, fc2_dx, relu);                    // y = b > 0 ? a : 0  [64 256]   0.016

    // fc1
    op_linear_dw(r, fc1_dw, relu_dx, image);                  // y = sum rows a' b  [256 784]  0.536
    op_sum(r, fc1_db, relu_dx, HAP_INTS(0), false);           // y = sum x  [256]              0.006
}

static void update(hap_rank *r)
{
    op_adam(r, fc1_weight, fc1_weight_m, fc1_weight_v, fc1_dw, NULL, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c  [256 784] 0.440
    op_adam(r, fc1_bias, fc1_bias_m, fc1_bias_v, fc1_db, NULL, 1, 0.9, 0.95, 1e-08, 0, true);
    op_adam(r, fc2_weight, fc2_weight_m, fc2_weight_v, fc2_dw, NULL, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c  [10 256]  0.007
    op_adam(r, fc2_bias, fc2_bias_m, fc2_bias_v, fc2_db, NULL, 1, 0.9, 0.95, 1e-08, 0, true);
}
