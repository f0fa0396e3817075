// One training step of gpt2-tiny on 3 ranks, by hapc 0.1.0. After an edit: hapc check
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop-peers.yaml -o gpt2-tiny@laptop-peers -q
//
//   ranks      0 cpu4, 1 cpu3, 2 cpu2
//   predicted  3.74 ms a step: 3.56 computing or idle, 0.774 communication, of it 0.593 hidden; at
//              least 2.62; by datasheet formulas
//   memory     3.27 MiB, 3.21 MiB, 2.62 MiB on {cpu4, cpu3, cpu2}
//   input      graph a94a3bb305aca178, cluster cf6d4e2bb24569e8; strategy auto
//
// Shapes are global: [8@rows 128] has its first dim cut by the table rows, [8 128] is whole on
// every rank. Behind one, + says that every rank holds a part of a sum, ^ of a maximum. Numbers on
// the right are predicted milliseconds of the slowest rank. A formula names outputs y, y1 and
// operands a, b, c (x: the only one) in the order of the call. buffers.h says where tensors lie and
// what a block owns.

#include "hap/runtime.h"

// Cuts: axis of the mesh, size, entries of each coordinate; and who chose them.
static const hap_cuts cuts[] = {
    HAP_CUT("rows",    0,   8,  3,  3,  2),                   // compute
    HAP_CUT("vocab",   0, 211, 94, 73, 44),                   // compute
    HAP_CUT("cut_64",  0,  64, 26, 25, 13),                   // compute
    HAP_CUT("heads",   0,   4,  2,  1,  1),                   // compute
    HAP_CUT("cut_192", 0, 192, 85, 61, 46),                   // compute
};

#include "buffers.h"

static void wte_forward(hap_rank *r), h_forward(hap_rank *r, int i), loss_forward(hap_rank *r),
    loss_backward(hap_rank *r), h_backward(hap_rank *r, int i), wte_backward(hap_rank *r),
    norm(hap_rank *r), h_norm(hap_rank *r, int i), update(hap_rank *r),
    h_update(hap_rank *r, int i), update_2(hap_rank *r), h_wait(hap_rank *r, int i);

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "a94a3bb305aca178", 3);
    hap_mesh(r, 1, (const int[]){3});
    hap_classes(r, (const int[]){0, 1, 2});
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001, .warmup = 4, .cosine = 40, .min_lr = 0.1});
    declare_buffers(r); // buffers.h

    while (hap_next_step(r)) {
        wte_forward(r);                                       //                               0.018
        for (int i = 0; i < 3; i++)
            h_forward(r, i);                                  //                                1.01
        loss_forward(r);                                      //                               0.113
        loss_backward(r);                                     //                               0.181
        for (int i = 2; i >= 0; i--)
            h_backward(r, i);                                 //                                1.87
        wte_backward(r);                                      //                               0.037
        norm(r);                                              //                               0.005
        for (int i = 0; i < 2; i++)
            h_norm(r, i);                                     //                               0.082
        update(r);                                            //                               0.069
        for (int i = 0; i < 3; i++)
            h_update(r, i);                                   //                               0.260
        update_2(r);                                          //                               0.003
        for (int i = 0; i < 3; i++)
            h_wait(r, i);
    }
    return hap_finish(r);
}

static void wte_forward(hap_rank *r)
{
    // wte
    hap_cut(r, input_ids_by_rows, input_ids);                 // whole -> @rows  [8@rows 32]   0.001
    op_embedding(r, wte, wte_weight, input_ids_by_rows);      // y = a[b]  [8@rows 32 64]      0.006
    op_embedding(r, wpe, wpe_weight, wpe_const);              // y = a[b]  [1 32 64]           0.004
    op_add(r, h_add_2[0], wte, wpe);                          // y = a + b  [8@rows 32 64]     0.007
}

// One of the 3 blocks transformer.h.*                        //                               0.336
static void h_forward(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    // ln_1
    op_row_sum(r, h_ln_1_sum[i], h_add_2[i]);                 // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, h_ln_1_m2[i], h_add_2[i], h_ln_1_sum[i]);    // y = sum (a - mean)^2          0.004
    op_norm_apply(r, b->ln_1, h_add_2[i], h_ln_1_sum[i], h_ln_1_m2[i], b->ln_1_weight, b->ln_1_bias,
        1e-05);                                               // [8@rows 32 64]                0.006

    // attn
    op_linear(r, b->attn_c_attn, b->ln_1, b->attn_c_attn_weight, b->attn_c_attn_bias,
        HAP_NN);                                              // y = a b + c  [8@rows 32 192]  0.067
    op_split(r, 3, (hap_tensor *const[]){b->attn_split_0, b->attn_split_1, b->attn_split_2},
        b->attn_c_attn, 2, HAP_INTS(64, 64, 64));             // [8@rows 32 64]                0.016
    op_transpose(r, b->attn_transpose, b->attn_reshape, HAP_INTS(0, 2, 1, 3)); //              0.006
    op_transpose(r, b->attn_transpose_2, b->attn_reshape_2, HAP_INTS(0, 2, 1, 3)); // y = x'   0.006
    op_transpose(r, b->attn_transpose_3, b->attn_reshape_3, HAP_INTS(0, 2, 1, 3)); // y = x'   0.006
    op_sdpa(r, b->attn_sdpa, b->attn_sdpa_lse, b->attn_transpose_3, b->attn_transpose,
        b->attn_transpose_2, NULL, true, 0.25, 0, 0, 0);      // y = softmax(a b') c           0.012
    op_transpose(r, b->attn_transpose_4, b->attn_sdpa, HAP_INTS(0, 2, 1, 3)); //               0.006
    op_linear(r, b->attn_c_proj, b->attn_reshape_4, b->attn_c_proj_weight, b->attn_c_proj_bias,
        HAP_NN);                                              // y = a b + c  [8@rows 32 64]   0.023
    op_add(r, b->add, b->attn_c_proj, h_add_2[i]);            // y = a + b                     0.009

    // ln_2
    op_row_sum(r, b->ln_2_sum, b->add);                       // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, b->ln_2_m2, b->add, b->ln_2_sum);            // y = sum (a - mean)^2          0.004
    op_norm_apply(r, b->ln_2, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_weight, b->ln_2_bias,
        1e-05);                                               // [8@rows 32 64]                0.006

    // mlp
    op_linear(r, b->mlp_c_fc, b->ln_2, b->mlp_c_fc_weight, b->mlp_c_fc_bias, HAP_NN); //       0.067
    op_gelu(r, b->mlp_act, b->mlp_c_fc, true);                // y = gelu x                    0.016
    op_linear(r, b->mlp_c_proj, b->mlp_act, b->mlp_c_proj_weight, b->mlp_c_proj_bias,
        HAP_NN);                                              // y = a b + c  [8@rows 32 64]   0.067
    op_add(r, h_add_2[i + 1], b->add, b->mlp_c_proj);         // y = a + b                     0.009
}

static void loss_forward(hap_rank *r)
{
    // ln_f
    op_row_sum(r, h_ln_1_sum[3], h_add_2[3]);                 // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, h_ln_1_m2[3], h_add_2[3], h_ln_1_sum[3]);    // y = sum (a - mean)^2          0.004
    op_norm_apply(r, ln_f, h_add_2[3], h_ln_1_sum[3], h_ln_1_m2[3], ln_f_weight, ln_f_bias,
        1e-05);                                               // [8@rows 32 64]                0.006
    op_linear(r, lm_head, ln_f, wte_weight, NULL, HAP_NT);    // y = a b'  [8@rows 32 211]     0.073
    op_pad(r, pad, labels, 1, 0, 1, -100);                    // y = x, padded  [8@rows 33]    0.001
    op_slice(r, slice, pad, 1, 1, 33);                        // y = part of x  [8@rows 32]    0.001
    hap_event *e_slice_all = coll_all_gather_start(r, AXIS(0), FORM_PUT(2), 1, &slice_all, &slice,
        NULL);                                                // @rows -> whole  2.00 KiB      0.013

    // ce_sum
    op_row_max(r, ce_sum_max, lm_head);                       // y = max x  [8@rows 32]        0.009
    op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max);     // y = sum exp(a - b)            0.010
    op_target_logit(r, ce_sum_target, lm_head, slice, -100);  // y = a[label]                  0.001
    op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice, -100); // []+       0.001
    hap_event *e_ce_sum_all = coll_all_reduce_start(r, AXIS(0), FORM_PUT(2), 1, &ce_sum_all,
        &ce_sum, ce_sum_all_scratch);                         // + -> whole  []  4 B           0.024
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
    op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice, loss_da, -100); //      0.018

    // lm_head
    op_linear(r, h_attn_c_attn_dx[3], ce_sum_dx, wte_weight, NULL, HAP_NN); // [8@rows 32 64]  0.073
    op_linear_dw(r, lm_head_dw, ce_sum_dx, ln_f);             // y = sum rows a' b  [211 64]+  0.073
    lm_head_dw_by_vocab_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_PUT(1), 1,
        &lm_head_dw_by_vocab, &lm_head_dw, lm_head_dw_by_vocab_scratch); // 52.8 KiB           0.039

    // ln_f
    op_norm_bwd_stats(r, ln_f_sum_u, ln_f_sum_ux, h_attn_c_attn_dx[3], h_add_2[3], h_ln_1_sum[3],
        h_ln_1_m2[3], ln_f_weight, 1e-05);                    // [8@rows 32]                   0.006
    op_norm_bwd(r, h_ln_1_dsum[3], h_attn_c_attn_dx[3], h_add_2[3], h_ln_1_sum[3], h_ln_1_m2[3],
        ln_f_sum_u, ln_f_sum_ux, ln_f_weight, 1e-05);         // [8@rows 32 64]                0.009
}

// One of the 3 blocks transformer.h.*                        //                               0.623
static void h_backward(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_db, h_attn_c_attn_dx[i + 1], h_add_2[i + 1],
        h_ln_1_sum[i + 1], h_ln_1_m2[i + 1], 1e-05);          // y, y1 = dweight, dbias  [64]+ 0.006

    // mlp
    op_linear(r, b->mlp_c_proj_dx, h_ln_1_dsum[i + 1], b->mlp_c_proj_weight, NULL, HAP_NT); // 0.067
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, h_ln_1_dsum[i + 1]); // [192 64]+            0.067
    h_mlp_c_proj_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_PUT(1), 1,
        &b->mlp_c_proj_dw_cut, &b->mlp_c_proj_dw, b->mlp_c_proj_dw_cut_scratch); // 48.0 KiB   0.036
    op_sum(r, b->mlp_c_proj_db, h_ln_1_dsum[i + 1], HAP_INTS(0, 1), false); // [64]+           0.004
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true); // [8@rows 32 192]     0.024
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT); //          0.067
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx);  // y = sum rows a' b  [64 192]+  0.067
    h_mlp_c_fc_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_PUT(1), 1,
        &b->mlp_c_fc_dw_cut, &b->mlp_c_fc_dw, b->mlp_c_fc_dw_cut_scratch); // 48.0 KiB         0.034
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // y = sum x  [192]+      0.009

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_sum_u, b->ln_2_sum_ux, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
        b->ln_2_m2, b->ln_2_weight, 1e-05);                   // [8@rows 32]                   0.006
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_sum_u,
        b->ln_2_sum_ux, b->ln_2_weight, 1e-05);               // [8@rows 32 64]                0.009
    op_add(r, b->ln_2_dsum, h_ln_1_dsum[i + 1], b->ln_2_dx);  // y = a + b                     0.009
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_db, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
        1e-05);                                               // y, y1 = dweight, dbias  [64]+ 0.006

    // attn
    op_linear(r, b->attn_c_proj_dx, b->ln_2_dsum, b->attn_c_proj_weight, NULL, HAP_NT); //     0.023
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_dsum); // [64 64]+           0.023
    op_sum(r, b->attn_c_proj_db, b->ln_2_dsum, HAP_INTS(0, 1), false); // y = sum x  [64]+     0.004
    op_transpose(r, b->attn_transpose_4_dx, b->attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3)); //    0.006
    op_sdpa_bwd(r, b->attn_sdpa_dq, b->attn_sdpa_dk, b->attn_sdpa_dv, b->attn_transpose_4_dx,
        b->attn_transpose_3, b->attn_transpose, b->attn_transpose_2, b->attn_sdpa, b->attn_sdpa_lse,
        NULL, true, 0.25, 0, 0, 0);                           // y, y1, y2 = dq, dk, dv        0.028
    op_transpose(r, b->attn_transpose_3_dx, b->attn_sdpa_dq, HAP_INTS(0, 2, 1, 3)); //         0.006
    op_transpose(r, b->attn_transpose_2_dx, b->attn_sdpa_dv, HAP_INTS(0, 2, 1, 3)); // y = x'  0.006
    op_transpose(r, b->attn_transpose_dx, b->attn_sdpa_dk, HAP_INTS(0, 2, 1, 3)); // y = x'    0.006
    hap_tensor *const parts[] = {b->attn_reshape_3_dx, b->attn_reshape_dx, b->attn_reshape_2_dx};
    op_concat(r, b->attn_split_dx, 3, parts, 2);              // y = xs  [8@rows 32 192]       0.016
    op_linear(r, h_attn_c_attn_dx[i], b->attn_split_dx, b->attn_c_attn_weight, NULL,
        HAP_NT);                                              // y = a b'  [8@rows 32 64]      0.067
    op_linear_dw(r, b->attn_c_attn_dw, b->ln_1, b->attn_split_dx); // [64 192]+                0.067
    h_attn_c_attn_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_PUT(1), 1,
        &b->attn_c_attn_dw_cut, &b->attn_c_attn_dw, b->attn_c_attn_dw_cut_scratch); //         0.034
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+           0.009

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_sum_u, b->ln_1_sum_ux, h_attn_c_attn_dx[i], h_add_2[i],
        h_ln_1_sum[i], h_ln_1_m2[i], b->ln_1_weight, 1e-05);  // [8@rows 32]                   0.006
    op_norm_bwd(r, b->ln_1_dx, h_attn_c_attn_dx[i], h_add_2[i], h_ln_1_sum[i], h_ln_1_m2[i],
        b->ln_1_sum_u, b->ln_1_sum_ux, b->ln_1_weight, 1e-05); // [8@rows 32 64]               0.009
    op_add(r, h_ln_1_dsum[i], b->ln_2_dsum, b->ln_1_dx);      // y = a + b                     0.009
}

static void wte_backward(hap_rank *r)
{
    // h.0.ln_1
    hap_event *e_h_0_ln_1_dsum_all = coll_all_gather_start(r, AXIS(0), FORM_PUT(1), 1,
        &h_0_ln_1_dsum_all, &h_ln_1_dsum[0], NULL);           // @rows -> whole  64.0 KiB      0.027
    op_norm_bwd_params(r, h_0_ln_1_dw, h_0_ln_1_db, h_attn_c_attn_dx[0], h_add_2[0], h_ln_1_sum[0],
        h_ln_1_m2[0], 1e-05);                                 // y, y1 = dweight, dbias  [64]+ 0.006
    hap_tensor *const to[] = {ln_f_dw_all, ln_f_db_all, h[2].mlp_c_proj_db_all,
        h[2].mlp_c_fc_db_all, h[2].ln_2_dw_all, h[2].ln_2_db_all, h[2].attn_c_proj_dw_all,
        h[2].attn_c_proj_db_all, h[2].attn_c_attn_db_all, h[2].ln_1_dw_all, h[2].ln_1_db_all,
        h[1].mlp_c_proj_db_all, h[1].mlp_c_fc_db_all, h[1].ln_2_dw_all, h[1].ln_2_db_all,
        h[1].attn_c_proj_dw_all, h[1].attn_c_proj_db_all, h[1].attn_c_attn_db_all, h[1].ln_1_dw_all,
        h[1].ln_1_db_all, h[0].mlp_c_proj_db_all, h[0].mlp_c_fc_db_all, h[0].ln_2_dw_all,
        h[0].ln_2_db_all, h[0].attn_c_proj_dw_all, h[0].attn_c_proj_db_all, h[0].attn_c_attn_db_all,
        h[0].ln_1_dw_all, h[0].ln_1_db_all};
    hap_tensor *const from[] = {h[2].ln_1_dw, h[2].ln_1_db, h[2].mlp_c_proj_db, h[2].mlp_c_fc_db,
        h[2].ln_2_dw, h[2].ln_2_db, h[2].attn_c_proj_dw, h[2].attn_c_proj_db, h[2].attn_c_attn_db,
        h[1].ln_1_dw, h[1].ln_1_db, h[1].mlp_c_proj_db, h[1].mlp_c_fc_db, h[1].ln_2_dw,
        h[1].ln_2_db, h[1].attn_c_proj_dw, h[1].attn_c_proj_db, h[1].attn_c_attn_db, h[0].ln_1_dw,
        h[0].ln_1_db, h[0].mlp_c_proj_db, h[0].mlp_c_fc_db, h[0].ln_2_dw, h[0].ln_2_db,
        h[0].attn_c_proj_dw, h[0].attn_c_proj_db, h[0].attn_c_attn_db, h_0_ln_1_dw, h_0_ln_1_db};
    ln_f_dw_all_ready = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 29, to, from, NULL); //   0.065
    hap_wait(r, e_h_0_ln_1_dsum_all);

    // add
    hap_cut(r, h_0_ln_1_dsum_cut, h_0_ln_1_dsum_all);         // [8 32 64@cut_64]              0.005
    op_sum(r, add_fold1, h_0_ln_1_dsum_cut, HAP_INTS(0), true); // y = sum x  [1 32 64@cut_64] 0.004
    op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32);    // y[b] += a  [32 64@cut_64]     0.002

    // wte
    op_embedding_bwd(r, wte_dw, h_0_ln_1_dsum_all, input_ids, 211); // [211@vocab 64]          0.013
    hap_wait(r, lm_head_dw_by_vocab_ready);                   // 0.039 hidden
    op_add(r, wte_dsum, lm_head_dw_by_vocab, wte_dw);         // y = a + b                     0.007
}

static void norm(hap_rank *r)
{
    op_sumsq(r, wte_weight_sumsq, wte_dsum);                  // y = sum x^2  []+              0.003
    op_sumsq(r, wpe_weight_sumsq, wpe_dw);                    // y = sum x^2                   0.001
    op_add(r, h_mlp_c_proj_bias_norm[0], wte_weight_sumsq, wpe_weight_sumsq); // y = a + b     0.001
    hap_wait(r, ln_f_dw_all_ready);                           // 0.029 hidden
}

// One of 2 of the 3 blocks transformer.h.*                   //                               0.041
static void h_norm(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_all);        // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), b->ln_1_weight_sumsq_part, b->ln_1_weight_sumsq); // []+           0.001
    op_add(r, b->ln_1_weight_norm, h_mlp_c_proj_bias_norm[i], b->ln_1_weight_sumsq_part); //   0.001
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_db_all);          // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), b->ln_1_bias_sumsq_part, b->ln_1_bias_sumsq); // whole -> +  []+   0.001
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq_part); // y = a + b   0.001
    hap_wait(r, h_attn_c_attn_dw_cut_ready[i]);               // 0.034 hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_cut); // y = sum x^2            0.003
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq); //  0.001
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_all); // y = sum x^2  []          0.001
    hap_partial(r, AXIS(0), b->attn_c_attn_bias_sumsq_part, b->attn_c_attn_bias_sumsq); // []+ 0.001
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm,
        b->attn_c_attn_bias_sumsq_part);                      // y = a + b                     0.001
    hap_cut(r, b->attn_c_proj_dw_by_heads, b->attn_c_proj_dw_all); // [64@heads 64]            0.002
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_by_heads); // y = sum x^2  []+  0.002
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm,
        b->attn_c_proj_weight_sumsq);                         // y = a + b                     0.001
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_all); // y = sum x^2  []          0.001
    hap_partial(r, AXIS(0), b->attn_c_proj_bias_sumsq_part, b->attn_c_proj_bias_sumsq); // []+ 0.001
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm,
        b->attn_c_proj_bias_sumsq_part);                      // y = a + b                     0.001
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_all);        // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), b->ln_2_weight_sumsq_part, b->ln_2_weight_sumsq); // []+           0.001
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq_part); //    0.001
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_db_all);          // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), b->ln_2_bias_sumsq_part, b->ln_2_bias_sumsq); // whole -> +  []+   0.001
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq_part); // y = a + b   0.001
    hap_wait(r, h_mlp_c_fc_dw_cut_ready[i]);                  // 0.034 hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_cut); // y = sum x^2                  0.003
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq); //        0.001
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_all);  // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), b->mlp_c_fc_bias_sumsq_part, b->mlp_c_fc_bias_sumsq); // []+       0.001
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq_part); // 0.001
    hap_wait(r, h_mlp_c_proj_dw_cut_ready[i]);                // 0.036 hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_cut); // y = sum x^2              0.003
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm,
        b->mlp_c_proj_weight_sumsq);                          // y = a + b                     0.001
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_all); // y = sum x^2  []            0.001
    hap_partial(r, AXIS(0), b->mlp_c_proj_bias_sumsq_part, b->mlp_c_proj_bias_sumsq); // []+   0.001
    op_add(r, h_mlp_c_proj_bias_norm[i + 1], b->mlp_c_proj_weight_norm,
        b->mlp_c_proj_bias_sumsq_part);                       // y = a + b                     0.001
}

static void update(hap_rank *r)
{
    op_sumsq(r, h[2].ln_1_weight_sumsq, h[2].ln_1_dw_all);    // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), h[2].ln_1_weight_sumsq_part, h[2].ln_1_weight_sumsq); // []+       0.001
    op_add(r, h[2].ln_1_weight_norm, h_mlp_c_proj_bias_norm[2],
        h[2].ln_1_weight_sumsq_part);                         // y = a + b                     0.001
    op_sumsq(r, h[2].ln_1_bias_sumsq, h[2].ln_1_db_all);      // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), h[2].ln_1_bias_sumsq_part, h[2].ln_1_bias_sumsq); // []+           0.001
    op_add(r, h[2].ln_1_bias_norm, h[2].ln_1_weight_norm, h[2].ln_1_bias_sumsq_part); //       0.001
    hap_wait(r, h_attn_c_attn_dw_cut_ready[2]);               // 0.034 hidden
    op_sumsq(r, h[2].attn_c_attn_weight_sumsq, h[2].attn_c_attn_dw_cut); // y = sum x^2        0.003
    op_add(r, h[2].attn_c_attn_weight_norm, h[2].ln_1_bias_norm,
        h[2].attn_c_attn_weight_sumsq);                       // y = a + b                     0.001
    op_sumsq(r, h[2].attn_c_attn_bias_sumsq, h[2].attn_c_attn_db_all); // y = sum x^2  []      0.001
    hap_partial(r, AXIS(0), h[2].attn_c_attn_bias_sumsq_part, h[2].attn_c_attn_bias_sumsq); // 0.001
    op_add(r, h[2].attn_c_attn_bias_norm, h[2].attn_c_attn_weight_norm,
        h[2].attn_c_attn_bias_sumsq_part);                    // y = a + b                     0.001
    hap_cut(r, h[2].attn_c_proj_dw_by_heads, h[2].attn_c_proj_dw_all); // [64@heads 64]        0.002
    op_sumsq(r, h[2].attn_c_proj_weight_sumsq, h[2].attn_c_proj_dw_by_heads); // []+           0.002
    op_add(r, h[2].attn_c_proj_weight_norm, h[2].attn_c_attn_bias_norm,
        h[2].attn_c_proj_weight_sumsq);                       // y = a + b                     0.001
    op_sumsq(r, h[2].attn_c_proj_bias_sumsq, h[2].attn_c_proj_db_all); // y = sum x^2  []      0.001
    hap_partial(r, AXIS(0), h[2].attn_c_proj_bias_sumsq_part, h[2].attn_c_proj_bias_sumsq); // 0.001
    op_add(r, h[2].attn_c_proj_bias_norm, h[2].attn_c_proj_weight_norm,
        h[2].attn_c_proj_bias_sumsq_part);                    // y = a + b                     0.001
    op_sumsq(r, h[2].ln_2_weight_sumsq, h[2].ln_2_dw_all);    // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), h[2].ln_2_weight_sumsq_part, h[2].ln_2_weight_sumsq); // []+       0.001
    op_add(r, h[2].ln_2_weight_norm, h[2].attn_c_proj_bias_norm,
        h[2].ln_2_weight_sumsq_part);                         // y = a + b                     0.001
    op_sumsq(r, h[2].ln_2_bias_sumsq, h[2].ln_2_db_all);      // y = sum x^2  []               0.001
    hap_partial(r, AXIS(0), h[2].ln_2_bias_sumsq_part, h[2].ln_2_bias_sumsq); // []+           0.001
    op_add(r, h[2].ln_2_bias_norm, h[2].ln_2_weight_norm, h[2].ln_2_bias_sumsq_part); //       0.001
    hap_wait(r, h_mlp_c_fc_dw_cut_ready[2]);                  // 0.034 hidden
    op_sumsq(r, h[2].mlp_c_fc_weight_sumsq, h[2].mlp_c_fc_dw_cut); // y = sum x^2              0.003
    op_add(r, h[2].mlp_c_fc_weight_norm, h[2].ln_2_bias_norm, h[2].mlp_c_fc_weight_sumsq); //  0.001
    op_sumsq(r, h[2].mlp_c_fc_bias_sumsq, h[2].mlp_c_fc_db_all); // y = sum x^2  []            0.001
    hap_partial(r, AXIS(0), h[2].mlp_c_fc_bias_sumsq_part, h[2].mlp_c_fc_bias_sumsq); // []+   0.001
    op_add(r, h[2].mlp_c_fc_bias_norm, h[2].mlp_c_fc_weight_norm,
        h[2].mlp_c_fc_bias_sumsq_part);                       // y = a + b                     0.001
    hap_wait(r, h_mlp_c_proj_dw_cut_ready[2]);                // 0.036 hidden
    op_sumsq(r, h[2].mlp_c_proj_weight_sumsq, h[2].mlp_c_proj_dw_cut); // y = sum x^2          0.003
    op_add(r, h[2].mlp_c_proj_weight_norm, h[2].mlp_c_fc_bias_norm,
        h[2].mlp_c_proj_weight_sumsq);                        // y = a + b                     0.001
    hap_event *e_h_2_mlp_c_proj_weight_norm_all = coll_all_reduce_start(r, AXIS(0), FORM_PUT(2), 1,
        &h_2_mlp_c_proj_weight_norm_all, &h[2].mlp_c_proj_weight_norm,
        h_2_mlp_c_proj_weight_norm_all_scratch);              // + -> whole  []  4 B           0.024
    op_sumsq(r, h[2].mlp_c_proj_bias_sumsq, h[2].mlp_c_proj_db_all); // y = sum x^2            0.001
    hap_wait(r, e_h_2_mlp_c_proj_weight_norm_all);
    op_add(r, h_2_mlp_c_proj_bias_norm, h_2_mlp_c_proj_weight_norm_all,
        h[2].mlp_c_proj_bias_sumsq);                          // y = a + b                     0.001
    op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_all);              // y = sum x^2                   0.001
    op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm, ln_f_weight_sumsq); // y = a + b     0.001
    op_sumsq(r, ln_f_bias_sumsq, ln_f_db_all);                // y = sum x^2                   0.001
    op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // y = a + b                 0.001
    op_clip_scale(r, clip, ln_f_bias_norm, 1);                // y = min(1, 1 / sqrt x)        0.001
    hap_cut(r, wte_weight_by_vocab, wte_weight);              // [211@vocab 64]                0.004
    op_adam(r, wte_weight_by_vocab, wte_weight_m, wte_weight_v, wte_dsum, clip, 1, 0.9, 0.95, 1e-08,
        0.1, true);                                           // a -= lr b / sqrt c            0.015
    wte_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_PUT(1), 1, &wte_weight,
        &wte_weight_by_vocab, NULL);                          // @vocab -> whole  52.8 KiB     0.027
    hap_cut(r, wpe_weight_cut, wpe_weight);                   // [32 64@cut_64]                0.002
    op_adam(r, wpe_weight_cut, wpe_weight_m, wpe_weight_v, wpe_dw, clip, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c            0.003
    wpe_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_PUT(2), 1, &wpe_weight,
        &wpe_weight_cut, NULL);                               // @cut_64 -> whole  8.00 KiB    0.017
}

// One of the 3 blocks transformer.h.*                        //                               0.087
static void h_update(hap_rank *r, int i)
{
    const h_block *b = &h[i];
    op_adam(r, b->ln_1_weight, b->ln_1_weight_m, b->ln_1_weight_v, b->ln_1_dw_all, clip, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c  [64]      0.001
    op_adam(r, b->ln_1_bias, b->ln_1_bias_m, b->ln_1_bias_v, b->ln_1_db_all, clip, 1, 0.9, 0.95,
        1e-08, 0, true);                                      // a -= lr b / sqrt c            0.001
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight); // [64@cut_64 192]           0.004
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_m, b->attn_c_attn_weight_v,
        b->attn_c_attn_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    0.015
    h_attn_c_attn_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_PUT(1), 1,
        &b->attn_c_attn_weight, &b->attn_c_attn_weight_cut, NULL); // 48.0 KiB                 0.025
    op_adam(r, b->attn_c_attn_bias, b->attn_c_attn_bias_m, b->attn_c_attn_bias_v,
        b->attn_c_attn_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]                   0.002
    op_adam(r, b->attn_c_proj_weight, b->attn_c_proj_weight_m, b->attn_c_proj_weight_v,
        b->attn_c_proj_dw_all, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // [64 64]               0.019
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_m, b->attn_c_proj_bias_v,
        b->attn_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]                    0.001
    op_adam(r, b->ln_2_weight, b->ln_2_weight_m, b->ln_2_weight_v, b->ln_2_dw_all, clip, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c            0.001
    op_adam(r, b->ln_2_bias, b->ln_2_bias_m, b->ln_2_bias_v, b->ln_2_db_all, clip, 1, 0.9, 0.95,
        1e-08, 0, true);                                      // a -= lr b / sqrt c            0.001
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight);   // [64@cut_64 192]               0.004
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_m, b->mlp_c_fc_weight_v,
        b->mlp_c_fc_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c       0.015
    h_mlp_c_fc_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_PUT(1), 1,
        &b->mlp_c_fc_weight, &b->mlp_c_fc_weight_cut, NULL);  // @cut_64 -> whole  48.0 KiB    0.025
    op_adam(r, b->mlp_c_fc_bias, b->mlp_c_fc_bias_m, b->mlp_c_fc_bias_v, b->mlp_c_fc_db_all, clip,
        1, 0.9, 0.95, 1e-08, 0, true);                        // a -= lr b / sqrt c  [192]     0.002
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]            0.004
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_m, b->mlp_c_proj_weight_v,
        b->mlp_c_proj_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c     0.014
    h_mlp_c_proj_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_PUT(1), 1,
        &b->mlp_c_proj_weight, &b->mlp_c_proj_weight_cut, NULL); // 48.0 KiB                   0.025
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_m, b->mlp_c_proj_bias_v, b->mlp_c_proj_db_all,
        clip, 1, 0.9, 0.95, 1e-08, 0, true);                  // a -= lr b / sqrt c  [64]      0.001
}

static void update_2(hap_rank *r)
{
    op_adam(r, ln_f_weight, ln_f_weight_m, ln_f_weight_v, ln_f_dw_all, clip, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c  [64]      0.001
    op_adam(r, ln_f_bias, ln_f_bias_m, ln_f_bias_v, ln_f_db_all, clip, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c            0.001
    hap_wait(r, wte_weight_ready);                            // 0.027 hidden
    hap_wait(r, wpe_weight_ready);                            // 0.017 hidden
}

// One of the 3 blocks transformer.h.*
static void h_wait(hap_rank *r, int i)
{
    hap_wait(r, h_attn_c_attn_weight_ready[i]);               // 0.025 hidden
    hap_wait(r, h_mlp_c_fc_weight_ready[i]);                  // 0.025 hidden
    hap_wait(r, h_mlp_c_proj_weight_ready[i]);                // 0.025 hidden
}
