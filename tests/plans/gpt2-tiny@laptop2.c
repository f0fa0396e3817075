// One training step of gpt2-tiny on 2 ranks, by hapc 0.1.0. After an edit: hapc check
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop2.yaml -o gpt2-tiny@laptop2 -q
//
//   ranks      0 cpu4, 1 cpu3
//   predicted  4.35 ms a step: 4.19 computing or idle, 0.834 communication, of it 0.670 hidden; at
//              least 3.81; by datasheet formulas
//   memory     3.57 MiB, 2.89 MiB on {cpu4, cpu3}
//   input      graph a94a3bb305aca178, cluster 8851bf650c8a0795; strategy auto
//
// Shapes are global: [8@rows 128] has its first dim cut by the table rows, [8 128] is whole on
// every rank. Behind one, + says that every rank holds a part of a sum, ^ of a maximum. Numbers on
// the right are predicted milliseconds of the slowest rank. A formula names outputs y, y1 and
// operands a, b, c (x: the only one) in the order of the call. buffers.h says where tensors lie and
// what a block owns.

#include "hap/runtime.h"

// Cuts: axis of the mesh, size, entries of each coordinate; and who chose them.
static const hap_cuts cuts[] = {
    HAP_CUT("rows",      0,   8,   5,   3),                   // compute
    HAP_CUT("cut_32",    0,  32,  18,  14),                   // compute
    HAP_CUT("vocab",     0, 211, 121,  90),                   // compute
    HAP_CUT("cut_64",    0,  64,  37,  27),                   // compute
    HAP_CUT("cut_3",     0,   3,   2,   1),                   // compute
    HAP_CUT("cut_4",     0,   4,   2,   2),                   // compute
    HAP_CUT("head_dim",  0,  16,   9,   7),                   // compute
    HAP_CUT("cut_192",   0, 192, 110,  82),                   // compute
    HAP_CUT("rows_even", 0,   8,   3,   5),                   // even
};

#include "buffers.h"

static void wte_forward(hap_rank *r), h_forward(hap_rank *r, int i), loss_forward(hap_rank *r),
    loss_backward(hap_rank *r), h_backward(hap_rank *r, int i), wte_backward(hap_rank *r),
    norm(hap_rank *r), h_norm(hap_rank *r, int i), update(hap_rank *r),
    h_update(hap_rank *r, int i), update_2(hap_rank *r), h_wait(hap_rank *r, int i);

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "a94a3bb305aca178", 2);
    hap_mesh(r, 1, (const int[]){2});
    hap_classes(r, (const int[]){0, 1});
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001, .warmup = 4, .cosine = 40, .min_lr = 0.1});
    declare_buffers(r); // buffers.h

    while (hap_next_step(r)) {
        wte_forward(r);                                       //                               0.019
        for (int i = 0; i < 3; i++)
            h_forward(r, i);                                  //                                1.25
        loss_forward(r);                                      //                               0.137
        loss_backward(r);                                     //                               0.402
        for (int i = 2; i >= 1; i--)
            h_backward(r, i);                                 //                                1.60
        wte_backward(r);                                      //                               0.659
        norm(r);                                              //                               0.018
        for (int i = 0; i < 2; i++)
            h_norm(r, i);                                     //                               0.063
        update(r);                                            //                               0.089
        for (int i = 0; i < 2; i++)
            h_update(r, i);                                   //                               0.179
        update_2(r);                                          //                               0.054
        for (int i = 0; i < 2; i++)
            h_wait(r, i);
        hap_wait(r, h_2_attn_c_proj_bias_ready);              // 0.005 hidden
        hap_wait(r, h_2_ln_2_weight_ready);                   // 0.005 hidden
        hap_wait(r, h_2_ln_2_bias_ready);                     // 0.005 hidden
        hap_wait(r, h_2_mlp_c_fc_weight_ready);               // 0.012 hidden
        hap_wait(r, h_2_mlp_c_fc_bias_ready);                 // 0.005 hidden
        hap_wait(r, h_2_mlp_c_proj_weight_ready);             // 0.003 hidden
    }
    return hap_finish(r);
}

static void wte_forward(hap_rank *r)
{
    // wte
    hap_cut(r, input_ids_by_rows, input_ids);                 // whole -> @rows  [8@rows 32]   0.001
    op_embedding(r, wte, wte_weight, input_ids_by_rows);      // y = a[b]  [8@rows 32 64]      0.007
    op_embedding(r, wpe, wpe_weight, wpe_const);              // y = a[b]  [1 32 64]           0.003
    op_add(r, h_add_2[0], wte, wpe);                          // y = a + b  [8@rows 32 64]     0.008
}

// One of the 3 blocks transformer.h.*                        //                               0.415
static void h_forward(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    // ln_1
    op_row_sum(r, b->ln_1_sum, h_add_2[i]);                   // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, b->ln_1_m2, h_add_2[i], b->ln_1_sum);        // y = sum (a - mean)^2          0.004
    op_norm_apply(r, b->ln_1, h_add_2[i], b->ln_1_sum, b->ln_1_m2, h_ln_1_weight[i], h_ln_1_bias[i],
        1e-05);                                               // [8@rows 32 64]                0.008

    // attn
    op_linear(r, b->attn_c_attn, b->ln_1, h_attn_c_attn_weight[i], h_attn_c_attn_bias[i],
        HAP_NN);                                              // y = a b + c  [8@rows 32 192]  0.083
    op_split(r, 3, (hap_tensor *const[]){b->attn_split_0, b->attn_split_1, b->attn_split_2},
        b->attn_c_attn, 2, HAP_INTS(64, 64, 64));             // [8@rows 32 64]                0.020
    op_transpose(r, b->attn_transpose, b->attn_reshape, HAP_INTS(0, 2, 1, 3)); //              0.007
    op_transpose(r, b->attn_transpose_2, b->attn_reshape_2, HAP_INTS(0, 2, 1, 3)); // y = x'   0.007
    op_transpose(r, b->attn_transpose_3, b->attn_reshape_3, HAP_INTS(0, 2, 1, 3)); // y = x'   0.007
    op_sdpa(r, b->attn_sdpa, b->attn_sdpa_lse, b->attn_transpose_3, b->attn_transpose,
        b->attn_transpose_2, NULL, true, 0.25, 0, 0, 0);      // y = softmax(a b') c           0.015
    op_transpose(r, b->attn_transpose_4, b->attn_sdpa, HAP_INTS(0, 2, 1, 3)); //               0.007
    op_linear(r, b->attn_c_proj, b->attn_reshape_4, h_attn_c_proj_weight[i], b->attn_c_proj_bias,
        HAP_NN);                                              // y = a b + c  [8@rows 32 64]   0.028
    op_add(r, b->add, b->attn_c_proj, h_add_2[i]);            // y = a + b                     0.011

    // ln_2
    op_row_sum(r, b->ln_2_sum, b->add);                       // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, b->ln_2_m2, b->add, b->ln_2_sum);            // y = sum (a - mean)^2          0.004
    op_norm_apply(r, b->ln_2, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_weight, b->ln_2_bias,
        1e-05);                                               // [8@rows 32 64]                0.008

    // mlp
    op_linear(r, b->mlp_c_fc, b->ln_2, b->mlp_c_fc_weight, b->mlp_c_fc_bias, HAP_NN); //       0.083
    op_gelu(r, h_mlp_act[i], b->mlp_c_fc, true);              // y = gelu x                    0.020
    op_linear(r, b->mlp_c_proj, h_mlp_act[i], h_mlp_c_proj_weight[i], b->mlp_c_proj_bias,
        HAP_NN);                                              // y = a b + c  [8@rows 32 64]   0.083
    op_add(r, h_add_2[i + 1], b->add, b->mlp_c_proj);         // y = a + b                     0.011
}

static void loss_forward(hap_rank *r)
{
    // ln_f
    op_row_sum(r, ln_f_sum, h_add_2[3]);                      // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, ln_f_m2, h_add_2[3], ln_f_sum);              // y = sum (a - mean)^2          0.004
    op_norm_apply(r, ln_f, h_add_2[3], ln_f_sum, ln_f_m2, ln_f_weight, ln_f_bias, 1e-05); //   0.008
    op_linear(r, lm_head, ln_f, wte_weight, NULL, HAP_NT);    // y = a b'  [8@rows 32 211]     0.091
    op_pad(r, pad, labels, 1, 0, 1, -100);                    // y = x, padded  [8@rows 33]    0.001
    op_slice(r, slice, pad, 1, 1, 33);                        // y = part of x  [8@rows 32]    0.001
    op_row_max(r, ce_sum_max, lm_head);                       // y = max x                     0.012
    hap_event *e_slice_all = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &slice_all, &slice,
        NULL);                                                // @rows -> whole  2.00 KiB      0.005

    // ce_sum
    op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max);     // [8@rows 32]                   0.012
    op_target_logit(r, ce_sum_target, lm_head, slice, -100);  // y = a[label]                  0.001
    op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice, -100); // []+       0.001
    hap_event *e_ce_sum_all = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ce_sum_all, &ce_sum,
        NULL);                                                // + -> whole  []  4 B           0.010
    hap_wait(r, e_slice_all);
    op_count(r, count, slice_all, -100);                      // y = count x                   0.001
    hap_wait(r, e_ce_sum_all);
    op_div(r, loss, ce_sum_all, count);                       // y = a / b                     0.001
}

static void loss_backward(hap_rank *r)
{
    // loss
    op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32);   // y = 1  []                     0.001
    op_div(r, loss_da, loss_seed, count);                     // y = a / b                     0.001
    op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice, loss_da, -100); //      0.022

    // lm_head
    op_linear(r, lm_head_dx, ce_sum_dx, wte_weight, NULL, HAP_NN); // y = a b  [8@rows 32 64]  0.091
    op_linear_dw(r, lm_head_dw, ce_sum_dx, ln_f);             // y = sum rows a' b  [211 64]+  0.091
    lm_head_dw_by_vocab_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
        &lm_head_dw_by_vocab, &lm_head_dw, NULL);             // + -> @vocab  52.8 KiB         0.018

    // ln_f
    op_norm_bwd_stats(r, ln_f_sum_u, ln_f_sum_ux, lm_head_dx, h_add_2[3], ln_f_sum, ln_f_m2,
        ln_f_weight, 1e-05);                                  // [8@rows 32]                   0.008
    op_norm_bwd(r, h_ln_1_dsum[2], lm_head_dx, h_add_2[3], ln_f_sum, ln_f_m2, ln_f_sum_u,
        ln_f_sum_ux, ln_f_weight, 1e-05);                     // [8@rows 32 64]                0.011
    op_norm_bwd_params(r, ln_f_dw, ln_f_db, lm_head_dx, h_add_2[3], ln_f_sum, ln_f_m2,
        1e-05);                                               // y, y1 = dweight, dbias  [64]+ 0.008

    // h.2.mlp
    op_linear(r, h_mlp_c_proj_dx[2], h_ln_1_dsum[2], h_mlp_c_proj_weight[2], NULL, HAP_NT); // 0.083
    op_linear_dw(r, h_2_mlp_c_proj_dw, h_mlp_act[2], h_ln_1_dsum[2]); // [192 64]+             0.083
    h_2_mlp_c_proj_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
        &h_2_mlp_c_proj_dw_cut, &h_2_mlp_c_proj_dw, NULL);    // + -> @cut_192  48.0 KiB       0.017
    op_sum(r, h_2_mlp_c_proj_db, h_ln_1_dsum[2], HAP_INTS(0, 1), false); // y = sum x  [64]+   0.004
}

// One of 2 of the 3 blocks transformer.h.*                   //                               0.799
static void h_backward(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    // mlp
    op_gelu_bwd(r, b->mlp_act_dx, h_mlp_c_proj_dx[i], b->mlp_c_fc, true); // [8@rows 32 192]   0.030
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT); //          0.083
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx);  // y = sum rows a' b  [64 192]+  0.083
    h_mlp_c_fc_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
        &b->mlp_c_fc_dw_cut, &b->mlp_c_fc_dw, NULL);          // + -> @cut_64  48.0 KiB        0.017
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // y = sum x  [192]+      0.011
    h_mlp_c_fc_db_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->mlp_c_fc_db_cut, &b->mlp_c_fc_db, b->mlp_c_fc_db_cut_scratch); // 768 B            0.005

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_sum_u, b->ln_2_sum_ux, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
        b->ln_2_m2, b->ln_2_weight, 1e-05);                   // [8@rows 32]                   0.008
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_sum_u,
        b->ln_2_sum_ux, b->ln_2_weight, 1e-05);               // [8@rows 32 64]                0.011
    op_add(r, b->ln_2_dsum, h_ln_1_dsum[i], b->ln_2_dx);      // y = a + b                     0.011
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_db, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
        1e-05);                                               // y, y1 = dweight, dbias  [64]+ 0.008
    h_ln_2_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->ln_2_dw_cut, &b->ln_2_dw, b->ln_2_dw_cut_scratch); // + -> @cut_64  256 B          0.005
    h_ln_2_db_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->ln_2_db_cut, &b->ln_2_db, b->ln_2_db_cut_scratch); // + -> @cut_64  256 B          0.005

    // attn
    op_linear(r, b->attn_c_proj_dx, b->ln_2_dsum, h_attn_c_proj_weight[i], NULL, HAP_NT); //   0.028
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_dsum); // [64 64]+           0.028
    h_attn_c_proj_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1,
        &h_attn_c_proj_dw_cut[i - 1], &b->attn_c_proj_dw, NULL); // + -> @cut_4  16.0 KiB      0.007
    op_sum(r, b->attn_c_proj_db, b->ln_2_dsum, HAP_INTS(0, 1), false); // y = sum x  [64]+     0.004
    h_attn_c_proj_db_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->attn_c_proj_db_cut, &b->attn_c_proj_db, b->attn_c_proj_db_cut_scratch); // 256 B   0.005
    op_transpose(r, b->attn_transpose_4_dx, b->attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3)); //    0.007
    op_sdpa_bwd(r, b->attn_sdpa_dq, b->attn_sdpa_dk, b->attn_sdpa_dv, b->attn_transpose_4_dx,
        b->attn_transpose_3, b->attn_transpose, b->attn_transpose_2, b->attn_sdpa, b->attn_sdpa_lse,
        NULL, true, 0.25, 0, 0, 0);                           // y, y1, y2 = dq, dk, dv        0.035
    op_transpose(r, b->attn_transpose_3_dx, b->attn_sdpa_dq, HAP_INTS(0, 2, 1, 3)); //         0.007
    op_transpose(r, b->attn_transpose_2_dx, b->attn_sdpa_dv, HAP_INTS(0, 2, 1, 3)); // y = x'  0.007
    op_transpose(r, b->attn_transpose_dx, b->attn_sdpa_dk, HAP_INTS(0, 2, 1, 3)); // y = x'    0.007
    hap_tensor *const parts[] = {b->attn_reshape_3_dx, b->attn_reshape_dx, b->attn_reshape_2_dx};
    op_concat(r, b->attn_split_dx, 3, parts, 2);              // y = xs  [8@rows 32 192]       0.020
    hap_event *e_ln_1_by_rows_even = coll_reshard_start(r, AXIS(0), FORM_EVEN, 1,
        &b->ln_1_by_rows_even, &b->ln_1, b->ln_1_by_rows_even_scratch); // 64.0 KiB            0.020
    hap_event *e_attn_split_dx_by_rows_even = coll_reshard_start(r, AXIS(0), FORM_EVEN, 1,
        &b->attn_split_dx_by_rows_even, &b->attn_split_dx,
        b->attn_split_dx_by_rows_even_scratch);               // @rows -> @rows_even  192 KiB  0.050
    op_linear(r, b->attn_c_attn_dx, b->attn_split_dx, h_attn_c_attn_weight[i], NULL,
        HAP_NT);                                              // y = a b'  [8@rows 32 64]      0.083
    hap_wait(r, e_ln_1_by_rows_even);
    hap_wait(r, e_attn_split_dx_by_rows_even);
    op_linear_dw(r, b->attn_c_attn_dw, b->ln_1_by_rows_even,
        b->attn_split_dx_by_rows_even);                       // y = sum rows a' b  [64 192]+  0.110
    h_attn_c_attn_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
        &h_attn_c_attn_dw_cut[i - 1], &b->attn_c_attn_dw, NULL); // + -> @cut_64  48.0 KiB     0.017
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+           0.011
    h_attn_c_attn_db_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_attn_c_attn_db_cut[i - 1], &b->attn_c_attn_db, b->attn_c_attn_db_cut_scratch); //   0.005

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_sum_u, b->ln_1_sum_ux, b->attn_c_attn_dx, h_add_2[i], b->ln_1_sum,
        b->ln_1_m2, h_ln_1_weight[i], 1e-05);                 // [8@rows 32]                   0.008
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, h_add_2[i], b->ln_1_sum, b->ln_1_m2,
        b->ln_1_sum_u, b->ln_1_sum_ux, h_ln_1_weight[i], 1e-05); // [8@rows 32 64]             0.011
    op_add(r, h_ln_1_dsum[i - 1], b->ln_2_dsum, b->ln_1_dx);  // y = a + b                     0.011
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_db, b->attn_c_attn_dx, h_add_2[i], b->ln_1_sum,
        b->ln_1_m2, 1e-05);                                   // y, y1 = dweight, dbias  [64]+ 0.008
    h_ln_1_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_ln_1_dw_cut[i - 1], &b->ln_1_dw, b->ln_1_dw_cut_scratch); // + -> @cut_64  256 B    0.005
    h_ln_1_db_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_ln_1_db_cut[i - 1], &b->ln_1_db, b->ln_1_db_cut_scratch); // + -> @cut_64  256 B    0.005

    // mlp
    op_linear(r, h_mlp_c_proj_dx[i - 1], h_ln_1_dsum[i - 1], h_mlp_c_proj_weight[i - 1], NULL,
        HAP_NT);                                              // y = a b'  [8@rows 32 192]     0.083
    op_linear_dw(r, b->mlp_c_proj_dw, h_mlp_act[i - 1], h_ln_1_dsum[i - 1]); // [192 64]+      0.083
    h_mlp_c_proj_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
        &h_mlp_c_proj_dw_cut[i - 1], &b->mlp_c_proj_dw, NULL); // + -> @cut_192  48.0 KiB      0.017
    op_sum(r, b->mlp_c_proj_db, h_ln_1_dsum[i - 1], HAP_INTS(0, 1), false); // [64]+           0.004
    h_mlp_c_proj_db_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_mlp_c_proj_db_cut[i - 1], &b->mlp_c_proj_db, b->mlp_c_proj_db_cut_scratch); //      0.005
}

static void wte_backward(hap_rank *r)
{
    // h.0.mlp
    op_gelu_bwd(r, h[0].mlp_act_dx, h_mlp_c_proj_dx[0], h[0].mlp_c_fc, true); //               0.030
    op_linear(r, h[0].mlp_c_fc_dx, h[0].mlp_act_dx, h[0].mlp_c_fc_weight, NULL, HAP_NT); //    0.083
    op_linear_dw(r, h[0].mlp_c_fc_dw, h[0].ln_2, h[0].mlp_act_dx); // [64 192]+                0.083
    h_mlp_c_fc_dw_cut_ready[0] = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
        &h[0].mlp_c_fc_dw_cut, &h[0].mlp_c_fc_dw, NULL);      // + -> @cut_64  48.0 KiB        0.017
    op_sum(r, h[0].mlp_c_fc_db, h[0].mlp_act_dx, HAP_INTS(0, 1), false); // y = sum x  [192]+  0.011
    h_mlp_c_fc_db_cut_ready[0] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h[0].mlp_c_fc_db_cut, &h[0].mlp_c_fc_db, h[0].mlp_c_fc_db_cut_scratch); // 768 B      0.005

    // h.0.ln_2
    op_norm_bwd_stats(r, h[0].ln_2_sum_u, h[0].ln_2_sum_ux, h[0].mlp_c_fc_dx, h[0].add,
        h[0].ln_2_sum, h[0].ln_2_m2, h[0].ln_2_weight, 1e-05); // [8@rows 32]                  0.008
    op_norm_bwd(r, h[0].ln_2_dx, h[0].mlp_c_fc_dx, h[0].add, h[0].ln_2_sum, h[0].ln_2_m2,
        h[0].ln_2_sum_u, h[0].ln_2_sum_ux, h[0].ln_2_weight, 1e-05); // [8@rows 32 64]         0.011
    op_add(r, h[0].ln_2_dsum, h_ln_1_dsum[0], h[0].ln_2_dx);  // y = a + b                     0.011
    op_norm_bwd_params(r, h[0].ln_2_dw, h[0].ln_2_db, h[0].mlp_c_fc_dx, h[0].add, h[0].ln_2_sum,
        h[0].ln_2_m2, 1e-05);                                 // y, y1 = dweight, dbias  [64]+ 0.008
    h_ln_2_dw_cut_ready[0] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h[0].ln_2_dw_cut, &h[0].ln_2_dw, h[0].ln_2_dw_cut_scratch); // + -> @cut_64  256 B    0.005
    h_ln_2_db_cut_ready[0] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h[0].ln_2_db_cut, &h[0].ln_2_db, h[0].ln_2_db_cut_scratch); // + -> @cut_64  256 B    0.005

    // h.0.attn
    op_linear(r, h[0].attn_c_proj_dx, h[0].ln_2_dsum, h_attn_c_proj_weight[0], NULL,
        HAP_NT);                                              // y = a b'  [8@rows 32 64]      0.028
    op_linear_dw(r, h[0].attn_c_proj_dw, h[0].attn_reshape_4, h[0].ln_2_dsum); // [64 64]+     0.028
    h_0_attn_c_proj_dw_by_head_dim_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_PADDED, 1,
        &h_0_attn_c_proj_dw_by_head_dim, &h[0].attn_c_proj_dw,
        h_0_attn_c_proj_dw_by_head_dim_scratch);              // + -> @head_dim  16.0 KiB      0.012
    op_sum(r, h[0].attn_c_proj_db, h[0].ln_2_dsum, HAP_INTS(0, 1), false); // y = sum x  [64]+ 0.004
    h_attn_c_proj_db_cut_ready[0] = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h[0].attn_c_proj_db_cut, &h[0].attn_c_proj_db, h[0].attn_c_proj_db_cut_scratch); //   0.005
    op_transpose(r, h[0].attn_transpose_4_dx, h[0].attn_reshape_4_dx,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 4 32 16]      0.007
    op_sdpa_bwd(r, h[0].attn_sdpa_dq, h[0].attn_sdpa_dk, h[0].attn_sdpa_dv,
        h[0].attn_transpose_4_dx, h[0].attn_transpose_3, h[0].attn_transpose, h[0].attn_transpose_2,
        h[0].attn_sdpa, h[0].attn_sdpa_lse, NULL, true, 0.25, 0, 0, 0); //                     0.035
    op_transpose(r, h[0].attn_transpose_3_dx, h[0].attn_sdpa_dq, HAP_INTS(0, 2, 1, 3)); //     0.007
    op_transpose(r, h[0].attn_transpose_2_dx, h[0].attn_sdpa_dv, HAP_INTS(0, 2, 1, 3)); //     0.007
    op_transpose(r, h[0].attn_transpose_dx, h[0].attn_sdpa_dk, HAP_INTS(0, 2, 1, 3)); //       0.007
    hap_tensor *const parts[] = {h[0].attn_reshape_3_dx, h[0].attn_reshape_dx,
        h[0].attn_reshape_2_dx};
    op_concat(r, h[0].attn_split_dx, 3, parts, 2);            // y = xs  [8@rows 32 192]       0.020
    hap_event *e_h_0_ln_1_by_rows_even = coll_reshard_start(r, AXIS(0), FORM_EVEN, 1,
        &h[0].ln_1_by_rows_even, &h[0].ln_1, h[0].ln_1_by_rows_even_scratch); // 64.0 KiB      0.020
    hap_event *e_h_0_attn_split_dx_by_rows_even = coll_reshard_start(r, AXIS(0), FORM_EVEN, 1,
        &h[0].attn_split_dx_by_rows_even, &h[0].attn_split_dx,
        h[0].attn_split_dx_by_rows_even_scratch);             // @rows -> @rows_even  192 KiB  0.050
    op_linear(r, h[0].attn_c_attn_dx, h[0].attn_split_dx, h_attn_c_attn_weight[0], NULL,
        HAP_NT);                                              // y = a b'  [8@rows 32 64]      0.083
    hap_wait(r, e_h_0_ln_1_by_rows_even);
    hap_wait(r, e_h_0_attn_split_dx_by_rows_even);
    op_linear_dw(r, h[0].attn_c_attn_dw, h[0].ln_1_by_rows_even,
        h[0].attn_split_dx_by_rows_even);                     // y = sum rows a' b  [64 192]+  0.110
    h_0_attn_c_attn_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
        &h_0_attn_c_attn_dw_cut, &h[0].attn_c_attn_dw, NULL); // + -> @cut_64  48.0 KiB        0.017
    op_sum(r, h[0].attn_c_attn_db, h[0].attn_split_dx, HAP_INTS(0, 1), false); // [192]+       0.011
    h_0_attn_c_attn_db_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_0_attn_c_attn_db_cut, &h[0].attn_c_attn_db, h[0].attn_c_attn_db_cut_scratch); //    0.005

    // h.0.ln_1
    op_norm_bwd_stats(r, h[0].ln_1_sum_u, h[0].ln_1_sum_ux, h[0].attn_c_attn_dx, h_add_2[0],
        h[0].ln_1_sum, h[0].ln_1_m2, h_ln_1_weight[0], 1e-05); // [8@rows 32]                  0.008
    op_norm_bwd(r, h[0].ln_1_dx, h[0].attn_c_attn_dx, h_add_2[0], h[0].ln_1_sum, h[0].ln_1_m2,
        h[0].ln_1_sum_u, h[0].ln_1_sum_ux, h_ln_1_weight[0], 1e-05); // [8@rows 32 64]         0.011
    op_add(r, h_0_ln_1_dsum, h[0].ln_2_dsum, h[0].ln_1_dx);   // y = a + b                     0.011
    hap_event *e_h_0_ln_1_dsum_all = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_0_ln_1_dsum_all, &h_0_ln_1_dsum, NULL);            // @rows -> whole  64.0 KiB      0.015
    op_norm_bwd_params(r, h[0].ln_1_dw, h[0].ln_1_db, h[0].attn_c_attn_dx, h_add_2[0],
        h[0].ln_1_sum, h[0].ln_1_m2, 1e-05);                  // y, y1 = dweight, dbias  [64]+ 0.008
    h_0_ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_0_ln_1_dw_cut, &h[0].ln_1_dw, h[0].ln_1_dw_cut_scratch); // + -> @cut_64  256 B     0.005
    h_0_ln_1_db_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_0_ln_1_db_cut, &h[0].ln_1_db, h[0].ln_1_db_cut_scratch); // + -> @cut_64  256 B     0.005
    hap_wait(r, e_h_0_ln_1_dsum_all);
    op_sum(r, add_fold1, h_0_ln_1_dsum_all, HAP_INTS(0), true); // y = sum x  [1 32 64]        0.009
    op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32);    // y[b] += a  [32@cut_32 64]     0.002

    // wte
    op_embedding_bwd(r, wte_dw, h_0_ln_1_dsum_all, input_ids, 211); // [211@vocab 64]          0.010
    hap_wait(r, lm_head_dw_by_vocab_ready);                   // 0.018 hidden
    op_add(r, wte_dsum, lm_head_dw_by_vocab, wte_dw);         // y = a + b                     0.008
}

static void norm(hap_rank *r)
{
    op_sumsq(r, wte_weight_sumsq, wte_dsum);                  // y = sum x^2  []+              0.003
    op_sumsq(r, wpe_weight_sumsq, wpe_dw);                    // y = sum x^2                   0.001
    op_add(r, wpe_weight_norm, wte_weight_sumsq, wpe_weight_sumsq); // y = a + b               0.001
    hap_wait(r, h_0_ln_1_dw_cut_ready);                       // 0.005 hidden
    op_sumsq(r, h_0_ln_1_weight_sumsq, h_0_ln_1_dw_cut);      // y = sum x^2                   0.001
    op_add(r, h_0_ln_1_weight_norm, wpe_weight_norm, h_0_ln_1_weight_sumsq); // y = a + b      0.001
    hap_wait(r, h_0_ln_1_db_cut_ready);                       // 0.005 hidden
    op_sumsq(r, h_0_ln_1_bias_sumsq, h_0_ln_1_db_cut);        // y = sum x^2                   0.001
    op_add(r, h_0_ln_1_bias_norm, h_0_ln_1_weight_norm, h_0_ln_1_bias_sumsq); // y = a + b     0.001
    hap_wait(r, h_0_attn_c_attn_dw_cut_ready);                // 0.017 hidden
    op_sumsq(r, h_0_attn_c_attn_weight_sumsq, h_0_attn_c_attn_dw_cut); // y = sum x^2          0.003
    op_add(r, h_0_attn_c_attn_weight_norm, h_0_ln_1_bias_norm,
        h_0_attn_c_attn_weight_sumsq);                        // y = a + b                     0.001
    hap_wait(r, h_0_attn_c_attn_db_cut_ready);                // 0.005 hidden
    op_sumsq(r, h_0_attn_c_attn_bias_sumsq, h_0_attn_c_attn_db_cut); // y = sum x^2            0.001
    op_add(r, h_attn_c_attn_bias_norm[0], h_0_attn_c_attn_weight_norm,
        h_0_attn_c_attn_bias_sumsq);                          // y = a + b                     0.001
    hap_wait(r, h_0_attn_c_proj_dw_by_head_dim_ready);        // 0.012 hidden
    op_sumsq(r, h_attn_c_proj_weight_sumsq[0], h_0_attn_c_proj_dw_by_head_dim); // y = sum x^2 0.002
}

// One of 2 of the 3 blocks transformer.h.*                   //                               0.032
static void h_norm(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    op_add(r, b->attn_c_proj_weight_norm, h_attn_c_attn_bias_norm[i],
        h_attn_c_proj_weight_sumsq[i]);                       // y = a + b  []+                0.001
    hap_wait(r, h_attn_c_proj_db_cut_ready[i]);               // 0.005 hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_cut); // y = sum x^2              0.001
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm,
        b->attn_c_proj_bias_sumsq);                           // y = a + b                     0.001
    hap_wait(r, h_ln_2_dw_cut_ready[i]);                      // 0.005 hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_cut);        // y = sum x^2                   0.001
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq); //         0.001
    hap_wait(r, h_ln_2_db_cut_ready[i]);                      // 0.005 hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_db_cut);          // y = sum x^2                   0.001
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // y = a + b        0.001
    hap_wait(r, h_mlp_c_fc_dw_cut_ready[i]);                  // 0.017 hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_cut); // y = sum x^2                  0.003
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq); //        0.001
    hap_wait(r, h_mlp_c_fc_db_cut_ready[i]);                  // 0.005 hidden
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_cut);  // y = sum x^2                   0.001
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq); //      0.001
    hap_wait(r, h_mlp_c_proj_dw_cut_ready[i + 1]);            // 0.017 hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, h_mlp_c_proj_dw_cut[i]); // y = sum x^2            0.003
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm,
        b->mlp_c_proj_weight_sumsq);                          // y = a + b                     0.001
    hap_wait(r, h_mlp_c_proj_db_cut_ready[i + 1]);            // 0.005 hidden
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, h_mlp_c_proj_db_cut[i]); // y = sum x^2              0.001
    op_add(r, b->mlp_c_proj_bias_norm, b->mlp_c_proj_weight_norm,
        b->mlp_c_proj_bias_sumsq);                            // y = a + b                     0.001
    hap_wait(r, h_ln_1_dw_cut_ready[i + 1]);                  // 0.005 hidden
    op_sumsq(r, b->ln_1_weight_sumsq, h_ln_1_dw_cut[i]);      // y = sum x^2                   0.001
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq); //          0.001
    hap_wait(r, h_ln_1_db_cut_ready[i + 1]);                  // 0.005 hidden
    op_sumsq(r, b->ln_1_bias_sumsq, h_ln_1_db_cut[i]);        // y = sum x^2                   0.001
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // y = a + b        0.001
    hap_wait(r, h_attn_c_attn_dw_cut_ready[i + 1]);           // 0.017 hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, h_attn_c_attn_dw_cut[i]); // y = sum x^2          0.003
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq); //  0.001
    hap_wait(r, h_attn_c_attn_db_cut_ready[i + 1]);           // 0.005 hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, h_attn_c_attn_db_cut[i]); // y = sum x^2            0.001
    op_add(r, h_attn_c_attn_bias_norm[i + 1], b->attn_c_attn_weight_norm,
        b->attn_c_attn_bias_sumsq);                           // y = a + b                     0.001
    hap_wait(r, h_attn_c_proj_dw_cut_ready[i + 1]);           // 0.007 hidden
    op_sumsq(r, h_attn_c_proj_weight_sumsq[i + 1], h_attn_c_proj_dw_cut[i]); // y = sum x^2    0.002
}

static void update(hap_rank *r)
{
    op_add(r, h[2].attn_c_proj_weight_norm, h_attn_c_attn_bias_norm[2],
        h_attn_c_proj_weight_sumsq[2]);                       // y = a + b  []+                0.001
    hap_wait(r, h_attn_c_proj_db_cut_ready[2]);               // 0.005 hidden
    op_sumsq(r, h[2].attn_c_proj_bias_sumsq, h[2].attn_c_proj_db_cut); // y = sum x^2          0.001
    op_add(r, h[2].attn_c_proj_bias_norm, h[2].attn_c_proj_weight_norm,
        h[2].attn_c_proj_bias_sumsq);                         // y = a + b                     0.001
    hap_wait(r, h_ln_2_dw_cut_ready[2]);                      // 0.005 hidden
    op_sumsq(r, h[2].ln_2_weight_sumsq, h[2].ln_2_dw_cut);    // y = sum x^2                   0.001
    op_add(r, h[2].ln_2_weight_norm, h[2].attn_c_proj_bias_norm, h[2].ln_2_weight_sumsq); //   0.001
    hap_wait(r, h_ln_2_db_cut_ready[2]);                      // 0.005 hidden
    op_sumsq(r, h[2].ln_2_bias_sumsq, h[2].ln_2_db_cut);      // y = sum x^2                   0.001
    op_add(r, h[2].ln_2_bias_norm, h[2].ln_2_weight_norm, h[2].ln_2_bias_sumsq); // y = a + b  0.001
    hap_wait(r, h_mlp_c_fc_dw_cut_ready[2]);                  // 0.017 hidden
    op_sumsq(r, h[2].mlp_c_fc_weight_sumsq, h[2].mlp_c_fc_dw_cut); // y = sum x^2              0.003
    op_add(r, h[2].mlp_c_fc_weight_norm, h[2].ln_2_bias_norm, h[2].mlp_c_fc_weight_sumsq); //  0.001
    hap_wait(r, h_mlp_c_fc_db_cut_ready[2]);                  // 0.005 hidden
    op_sumsq(r, h[2].mlp_c_fc_bias_sumsq, h[2].mlp_c_fc_db_cut); // y = sum x^2                0.001
    op_add(r, h[2].mlp_c_fc_bias_norm, h[2].mlp_c_fc_weight_norm,
        h[2].mlp_c_fc_bias_sumsq);                            // y = a + b                     0.001
    hap_wait(r, h_2_mlp_c_proj_dw_cut_ready);                 // 0.017 hidden
    op_sumsq(r, h[2].mlp_c_proj_weight_sumsq, h_2_mlp_c_proj_dw_cut); // y = sum x^2           0.003
    op_add(r, h[2].mlp_c_proj_weight_norm, h[2].mlp_c_fc_bias_norm,
        h[2].mlp_c_proj_weight_sumsq);                        // y = a + b                     0.001
    hap_tensor *const to[] = {ln_f_dw_all, ln_f_db_all, h_2_mlp_c_proj_db_all,
        h_2_mlp_c_proj_weight_norm_all};
    hap_tensor *const from[] = {ln_f_dw, ln_f_db, h_2_mlp_c_proj_db, h[2].mlp_c_proj_weight_norm};
    hap_wait(r, coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 4, to, from, NULL)); // 772 B     0.010
    op_sumsq(r, h[2].mlp_c_proj_bias_sumsq, h_2_mlp_c_proj_db_all); // y = sum x^2  []         0.001
    op_add(r, h[2].mlp_c_proj_bias_norm, h_2_mlp_c_proj_weight_norm_all,
        h[2].mlp_c_proj_bias_sumsq);                          // y = a + b                     0.001
    op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_all);              // y = sum x^2                   0.001
    op_add(r, ln_f_weight_norm, h[2].mlp_c_proj_bias_norm, ln_f_weight_sumsq); // y = a + b    0.001
    op_sumsq(r, ln_f_bias_sumsq, ln_f_db_all);                // y = sum x^2                   0.001
    op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // y = a + b                 0.001
    op_clip_scale(r, clip, ln_f_bias_norm, 1);                // y = min(1, 1 / sqrt x)        0.001
    hap_cut(r, wte_weight_by_vocab, wte_weight);              // [211@vocab 64]                0.005
    op_adam(r, wte_weight_by_vocab, wte_weight_m, wte_weight_v, wte_dsum, clip, 1, 0.9, 0.95, 1e-08,
        0.1, true);                                           // a -= lr b / sqrt c            0.018
    wte_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wte_weight,
        &wte_weight_by_vocab, NULL);                          // @vocab -> whole  52.8 KiB     0.013
    hap_cut(r, wpe_weight_cut, wpe_weight);                   // [32@cut_32 64]                0.002
    op_adam(r, wpe_weight_cut, wpe_weight_m, wpe_weight_v, wpe_dw, clip, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c            0.004
    wpe_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wpe_weight,
        &wpe_weight_cut, NULL);                               // @cut_32 -> whole  8.00 KiB    0.006
    hap_cut(r, h_0_ln_1_weight_cut, h_ln_1_weight[0]);        // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, h_0_ln_1_weight_cut, h_0_ln_1_weight_m, h_0_ln_1_weight_v, h_0_ln_1_dw_cut, clip, 1,
        0.9, 0.95, 1e-08, 0, true);                           // a -= lr b / sqrt c            0.001
    h_0_ln_1_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_weight[0],
        &h_0_ln_1_weight_cut, NULL);                          // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, h_0_ln_1_bias_cut, h_ln_1_bias[0]);            // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, h_0_ln_1_bias_cut, h_0_ln_1_bias_m, h_0_ln_1_bias_v, h_0_ln_1_db_cut, clip, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c            0.001
    h_0_ln_1_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_bias[0],
        &h_0_ln_1_bias_cut, NULL);                            // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, h_0_attn_c_attn_weight_cut, h_attn_c_attn_weight[0]); // [64@cut_64 192]        0.005
    op_adam(r, h_0_attn_c_attn_weight_cut, h_0_attn_c_attn_weight_m, h_0_attn_c_attn_weight_v,
        h_0_attn_c_attn_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c   0.017
    h_0_attn_c_attn_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_attn_c_attn_weight[0], &h_0_attn_c_attn_weight_cut, NULL); // 48.0 KiB              0.012
    hap_cut(r, h_0_attn_c_attn_bias_cut, h_attn_c_attn_bias[0]); // [192@cut_3]                0.001
    op_adam(r, h_0_attn_c_attn_bias_cut, h_0_attn_c_attn_bias_m, h_0_attn_c_attn_bias_v,
        h_0_attn_c_attn_db_cut, clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c     0.001
    h_0_attn_c_attn_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_attn_c_attn_bias[0], &h_0_attn_c_attn_bias_cut, NULL); // @cut_3 -> whole  768 B    0.005
    hap_cut(r, h_0_attn_c_proj_weight_by_head_dim, h_attn_c_proj_weight[0]); //                0.002
    op_adam(r, h_0_attn_c_proj_weight_by_head_dim, h_0_attn_c_proj_weight_m,
        h_0_attn_c_proj_weight_v, h_0_attn_c_proj_dw_by_head_dim, clip, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c            0.006
    h_0_attn_c_proj_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_attn_c_proj_weight[0], &h_0_attn_c_proj_weight_by_head_dim,
        h_0_attn_c_proj_weight_scratch);                      // @head_dim -> whole  16.0 KiB  0.010
}

// One of 2 of the 3 blocks transformer.h.*                   //                               0.090
static void h_update(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    hap_cut(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias); // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias_m, b->attn_c_proj_bias_v,
        b->attn_c_proj_db_cut, clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c      0.001
    h_attn_c_proj_bias_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->attn_c_proj_bias, &b->attn_c_proj_bias_cut, NULL); // @cut_64 -> whole  256 B      0.005
    hap_cut(r, b->ln_2_weight_cut, b->ln_2_weight);           // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, b->ln_2_weight_cut, b->ln_2_weight_m, b->ln_2_weight_v, b->ln_2_dw_cut, clip, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c            0.001
    h_ln_2_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_weight,
        &b->ln_2_weight_cut, NULL);                           // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, b->ln_2_bias_cut, b->ln_2_bias);               // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, b->ln_2_bias_cut, b->ln_2_bias_m, b->ln_2_bias_v, b->ln_2_db_cut, clip, 1, 0.9, 0.95,
        1e-08, 0, true);                                      // a -= lr b / sqrt c            0.001
    h_ln_2_bias_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_bias,
        &b->ln_2_bias_cut, NULL);                             // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight);   // [64@cut_64 192]               0.005
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_m, b->mlp_c_fc_weight_v,
        b->mlp_c_fc_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c       0.017
    h_mlp_c_fc_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->mlp_c_fc_weight, &b->mlp_c_fc_weight_cut, NULL);  // @cut_64 -> whole  48.0 KiB    0.012
    hap_cut(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias);       // [192@cut_192]                 0.001
    op_adam(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias_m, b->mlp_c_fc_bias_v, b->mlp_c_fc_db_cut,
        clip, 1, 0.9, 0.95, 1e-08, 0, true);                  // a -= lr b / sqrt c            0.001
    h_mlp_c_fc_bias_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->mlp_c_fc_bias, &b->mlp_c_fc_bias_cut, NULL);      // @cut_192 -> whole  768 B      0.005
    hap_cut(r, b->mlp_c_proj_weight_cut, h_mlp_c_proj_weight[i]); // [192@cut_192 64]          0.005
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_m, b->mlp_c_proj_weight_v,
        h_mlp_c_proj_dw_cut[i], clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c   0.016
    h_mlp_c_proj_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_mlp_c_proj_weight[i], &b->mlp_c_proj_weight_cut, NULL); // 48.0 KiB                 0.012
    hap_cut(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias);   // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias_m, b->mlp_c_proj_bias_v,
        h_mlp_c_proj_db_cut[i], clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c     0.001
    h_mlp_c_proj_bias_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->mlp_c_proj_bias, &b->mlp_c_proj_bias_cut, NULL);  // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, b->ln_1_weight_cut, h_ln_1_weight[i + 1]);     // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, b->ln_1_weight_cut, b->ln_1_weight_m, b->ln_1_weight_v, h_ln_1_dw_cut[i], clip, 1,
        0.9, 0.95, 1e-08, 0, true);                           // a -= lr b / sqrt c            0.001
    h_ln_1_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_ln_1_weight[i + 1], &b->ln_1_weight_cut, NULL);    // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, b->ln_1_bias_cut, h_ln_1_bias[i + 1]);         // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, b->ln_1_bias_cut, b->ln_1_bias_m, b->ln_1_bias_v, h_ln_1_db_cut[i], clip, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c            0.001
    h_ln_1_bias_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_bias[i + 1],
        &b->ln_1_bias_cut, NULL);                             // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, b->attn_c_attn_weight_cut, h_attn_c_attn_weight[i + 1]); // [64@cut_64 192]     0.005
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_m, b->attn_c_attn_weight_v,
        h_attn_c_attn_dw_cut[i], clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c  0.017
    h_attn_c_attn_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_attn_c_attn_weight[i + 1], &b->attn_c_attn_weight_cut, NULL); // 48.0 KiB           0.012
    hap_cut(r, b->attn_c_attn_bias_cut, h_attn_c_attn_bias[i + 1]); // [192@cut_3]             0.001
    op_adam(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias_m, b->attn_c_attn_bias_v,
        h_attn_c_attn_db_cut[i], clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    0.001
    h_attn_c_attn_bias_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_attn_c_attn_bias[i + 1], &b->attn_c_attn_bias_cut, NULL); // @cut_3 -> whole  768 B 0.005
    hap_cut(r, b->attn_c_proj_weight_cut, h_attn_c_proj_weight[i + 1]); // [64@cut_4 64]       0.002
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_m, b->attn_c_proj_weight_v,
        h_attn_c_proj_dw_cut[i], clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c  0.007
    h_attn_c_proj_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1,
        &h_attn_c_proj_weight[i + 1], &b->attn_c_proj_weight_cut, NULL); // 16.0 KiB           0.007
}

static void update_2(hap_rank *r)
{
    hap_cut(r, h[2].attn_c_proj_bias_cut, h[2].attn_c_proj_bias); // [64@cut_64]               0.001
    op_adam(r, h[2].attn_c_proj_bias_cut, h[2].attn_c_proj_bias_m, h[2].attn_c_proj_bias_v,
        h[2].attn_c_proj_db_cut, clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    0.001
    h_2_attn_c_proj_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h[2].attn_c_proj_bias, &h[2].attn_c_proj_bias_cut, NULL); // @cut_64 -> whole  256 B  0.005
    hap_cut(r, h[2].ln_2_weight_cut, h[2].ln_2_weight);       // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, h[2].ln_2_weight_cut, h[2].ln_2_weight_m, h[2].ln_2_weight_v, h[2].ln_2_dw_cut, clip,
        1, 0.9, 0.95, 1e-08, 0, true);                        // a -= lr b / sqrt c            0.001
    h_2_ln_2_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h[2].ln_2_weight,
        &h[2].ln_2_weight_cut, NULL);                         // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, h[2].ln_2_bias_cut, h[2].ln_2_bias);           // whole -> @cut_64  [64@cut_64] 0.001
    op_adam(r, h[2].ln_2_bias_cut, h[2].ln_2_bias_m, h[2].ln_2_bias_v, h[2].ln_2_db_cut, clip, 1,
        0.9, 0.95, 1e-08, 0, true);                           // a -= lr b / sqrt c            0.001
    h_2_ln_2_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h[2].ln_2_bias,
        &h[2].ln_2_bias_cut, NULL);                           // @cut_64 -> whole  [64]  256 B 0.005
    hap_cut(r, h[2].mlp_c_fc_weight_cut, h[2].mlp_c_fc_weight); // [64@cut_64 192]             0.005
    op_adam(r, h[2].mlp_c_fc_weight_cut, h[2].mlp_c_fc_weight_m, h[2].mlp_c_fc_weight_v,
        h[2].mlp_c_fc_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c     0.017
    h_2_mlp_c_fc_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h[2].mlp_c_fc_weight, &h[2].mlp_c_fc_weight_cut, NULL); // @cut_64 -> whole  48.0 KiB 0.012
    hap_cut(r, h[2].mlp_c_fc_bias_cut, h[2].mlp_c_fc_bias);   // [192@cut_192]                 0.001
    op_adam(r, h[2].mlp_c_fc_bias_cut, h[2].mlp_c_fc_bias_m, h[2].mlp_c_fc_bias_v,
        h[2].mlp_c_fc_db_cut, clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c       0.001
    h_2_mlp_c_fc_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h[2].mlp_c_fc_bias, &h[2].mlp_c_fc_bias_cut, NULL);  // @cut_192 -> whole  768 B      0.005
    hap_cut(r, h[2].mlp_c_proj_weight_cut, h_mlp_c_proj_weight[2]); // [192@cut_192 64]        0.005
    op_adam(r, h[2].mlp_c_proj_weight_cut, h[2].mlp_c_proj_weight_m, h[2].mlp_c_proj_weight_v,
        h_2_mlp_c_proj_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    0.016
    h_2_mlp_c_proj_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &h_mlp_c_proj_weight[2], &h[2].mlp_c_proj_weight_cut, NULL); // 48.0 KiB               0.012
    op_adam(r, h[2].mlp_c_proj_bias, h[2].mlp_c_proj_bias_m, h[2].mlp_c_proj_bias_v,
        h_2_mlp_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]                    0.001
    op_adam(r, ln_f_weight, ln_f_weight_m, ln_f_weight_v, ln_f_dw_all, clip, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c            0.001
    op_adam(r, ln_f_bias, ln_f_bias_m, ln_f_bias_v, ln_f_db_all, clip, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c            0.001
    hap_wait(r, wte_weight_ready);                            // 0.013 hidden
    hap_wait(r, wpe_weight_ready);                            // 0.006 hidden
    hap_wait(r, h_0_ln_1_weight_ready);                       // 0.005 hidden
    hap_wait(r, h_0_ln_1_bias_ready);                         // 0.005 hidden
    hap_wait(r, h_0_attn_c_attn_weight_ready);                // 0.012 hidden
    hap_wait(r, h_0_attn_c_attn_bias_ready);                  // 0.005 hidden
    hap_wait(r, h_0_attn_c_proj_weight_ready);                // 0.010 hidden
}

// One of 2 of the 3 blocks transformer.h.*
static void h_wait(hap_rank *r, int i)
{
    hap_wait(r, h_attn_c_proj_bias_ready[i]);                 // 0.005 hidden
    hap_wait(r, h_ln_2_weight_ready[i]);                      // 0.005 hidden
    hap_wait(r, h_ln_2_bias_ready[i]);                        // 0.005 hidden
    hap_wait(r, h_mlp_c_fc_weight_ready[i]);                  // 0.012 hidden
    hap_wait(r, h_mlp_c_fc_bias_ready[i]);                    // 0.005 hidden
    hap_wait(r, h_mlp_c_proj_weight_ready[i]);                // 0.012 hidden
    hap_wait(r, h_mlp_c_proj_bias_ready[i]);                  // 0.005 hidden
    hap_wait(r, h_ln_1_weight_ready[i]);                      // 0.005 hidden
    hap_wait(r, h_ln_1_bias_ready[i]);                        // 0.005 hidden
    hap_wait(r, h_attn_c_attn_weight_ready[i]);               // 0.012 hidden
    hap_wait(r, h_attn_c_attn_bias_ready[i]);                 // 0.005 hidden
    hap_wait(r, h_attn_c_proj_weight_ready[i]);               // 0.007 hidden
}
