// One training step of bert-tiny on 2 ranks, by hapc 0.1.0. After an edit: hapc check
//
//   hapc examples/bert-tiny/graph.json clusters/laptop2.yaml -o bert-tiny@laptop2 -q
//
//   ranks      0 cpu4, 1 cpu3
//   predicted  4.44 ms a step: 4.33 computing or idle, 0.773 communication, of it 0.664 hidden; at
//              least 3.99; by datasheet formulas
//   memory     3.63 MiB, 3.00 MiB on {cpu4, cpu3}
//   input      graph 5ffbb2b756fd80f4, cluster 8851bf650c8a0795; strategy auto
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
    HAP_CUT("cut_32",    0,  32,  20,  12),                   // compute
    HAP_CUT("vocab",     0, 199, 114,  85),                   // compute
    HAP_CUT("cut_64",    0,  64,  37,  27),                   // compute
    HAP_CUT("cut_16",    0,  16,   9,   7),                   // compute
    HAP_CUT("cut_192",   0, 192, 110,  82),                   // compute
    HAP_CUT("rows_even", 0,   8,   2,   6),                   // even
};

#include "buffers.h"

static void embeddings_forward(hap_rank *r), encoder_layer_forward(hap_rank *r, int i),
    cls_predictions_forward(hap_rank *r), loss_backward(hap_rank *r),
    encoder_layer_backward(hap_rank *r, int i), embeddings_backward(hap_rank *r),
    update(hap_rank *r), encoder_layer_update(hap_rank *r, int i), convert(hap_rank *r),
    update_2(hap_rank *r);

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "5ffbb2b756fd80f4", 2);
    hap_mesh(r, 1, (const int[]){2});
    hap_classes(r, (const int[]){0, 1});
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001});
    declare_buffers(r); // buffers.h

    while (hap_next_step(r)) {
        embeddings_forward(r);                                //                               0.052
        for (int i = 0; i < 3; i++)
            encoder_layer_forward(r, i);                      //                                1.23
        cls_predictions_forward(r);                           //                               0.166
        loss_backward(r);                                     //                               0.303
        for (int i = 2; i >= 1; i--)
            encoder_layer_backward(r, i);                     //                                1.72
        embeddings_backward(r);                               //                               0.926
        update(r);                                            //                               0.118
        for (int i = 1; i < 3; i++)
            encoder_layer_update(r, i);                       //                               0.176
        convert(r);
        update_2(r);                                          //                               0.018
    }
    return hap_finish(r);
}

static void embeddings_forward(hap_rank *r)
{
    // embeddings
    op_embedding(r, embeddings_word_embeddings, embeddings_word_embeddings_weight,
        input_ids);                                           // y = a[b]  [8@rows 32 64]      0.007
    op_embedding(r, embeddings_token_type_embeddings, embeddings_token_type_embeddings_weight,
        embeddings_token_type_embeddings_const);              // y = a[b]                      0.007
    op_add(r, embeddings_add, embeddings_word_embeddings,
        embeddings_token_type_embeddings);                    // y = a + b                     0.011
    op_embedding(r, embeddings_position_embeddings, embeddings_position_embeddings_weight,
        embeddings_position_embeddings_const);                // y = a[b]  [1 32 64]           0.003
    op_add(r, embeddings_add_2, embeddings_add, embeddings_position_embeddings); //            0.008
    op_row_sum(r, embeddings_LayerNorm_sum, embeddings_add_2); // y = sum x  [8@rows 32]       0.004
    op_row_m2(r, embeddings_LayerNorm_m2, embeddings_add_2, embeddings_LayerNorm_sum); //      0.004
    op_norm_apply(r, encoder_layer_output_LayerNorm[0], embeddings_add_2, embeddings_LayerNorm_sum,
        embeddings_LayerNorm_m2, embeddings_LayerNorm_weight, embeddings_LayerNorm_bias,
        1e-12);                                               // [8@rows 32 64]                0.008
}

// One of the 3 blocks bert.encoder.layer.*                   //                               0.411
static void encoder_layer_forward(hap_rank *r, int i)
{
    const encoder_layer_block *b = &encoder_layer[i];
    // attention
    op_linear(r, b->attention_self_query, encoder_layer_output_LayerNorm[i],
        b->attention_self_query_weight, b->attention_self_query_bias, HAP_NT); //              0.028
    op_transpose(r, b->attention_self_transpose, b->attention_self_reshape,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 4 32 16]      0.007
    op_linear(r, b->attention_self_key, encoder_layer_output_LayerNorm[i],
        b->attention_self_key_weight, b->attention_self_key_bias, HAP_NT); // [8@rows 32 64]   0.028
    op_transpose(r, b->attention_self_transpose_2, b->attention_self_reshape_2,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 4 32 16]      0.007
    op_linear(r, b->attention_self_value, encoder_layer_output_LayerNorm[i],
        b->attention_self_value_weight, b->attention_self_value_bias, HAP_NT); //              0.028
    op_transpose(r, b->attention_self_transpose_3, b->attention_self_reshape_3,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 4 32 16]      0.007
    op_sdpa(r, b->attention_self_sdpa, b->attention_self_sdpa_lse, b->attention_self_transpose,
        b->attention_self_transpose_2, b->attention_self_transpose_3, NULL, false, 0.25, 0, 0,
        0);                                                   // y = softmax(a b') c           0.028
    op_transpose(r, b->attention_self_transpose_4, b->attention_self_sdpa,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 32 4 16]      0.007
    op_linear(r, b->attention_output_dense, b->attention_self_reshape_4,
        b->attention_output_dense_weight, b->attention_output_dense_bias, HAP_NT); //          0.028
    op_add(r, b->attention_output_add, b->attention_output_dense,
        encoder_layer_output_LayerNorm[i]);                   // y = a + b                     0.011
    op_row_sum(r, b->attention_output_LayerNorm_sum, b->attention_output_add); // [8@rows 32]  0.004
    op_row_m2(r, b->attention_output_LayerNorm_m2, b->attention_output_add,
        b->attention_output_LayerNorm_sum);                   // y = sum (a - mean)^2          0.004
    op_norm_apply(r, b->attention_output_LayerNorm, b->attention_output_add,
        b->attention_output_LayerNorm_sum, b->attention_output_LayerNorm_m2,
        b->attention_output_LayerNorm_weight, b->attention_output_LayerNorm_bias, 1e-12); //   0.008

    // intermediate
    op_linear(r, b->t_intermediate_dense, b->attention_output_LayerNorm,
        b->t_intermediate_dense_weight, b->t_intermediate_dense_bias, HAP_NT); //              0.083
    op_gelu(r, b->t_intermediate_intermediate_act_fn, b->t_intermediate_dense, false); //      0.020

    // output
    op_linear(r, b->output_dense, b->t_intermediate_intermediate_act_fn, b->output_dense_weight,
        b->output_dense_bias, HAP_NT);                        // y = a b' + c  [8@rows 32 64]  0.083
    op_add(r, b->output_add, b->output_dense, b->attention_output_LayerNorm); // y = a + b     0.011
    op_row_sum(r, b->output_LayerNorm_sum, b->output_add);    // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, b->output_LayerNorm_m2, b->output_add, b->output_LayerNorm_sum); //           0.004
    op_norm_apply(r, encoder_layer_output_LayerNorm[i + 1], b->output_add, b->output_LayerNorm_sum,
        b->output_LayerNorm_m2, b->output_LayerNorm_weight, b->output_LayerNorm_bias,
        1e-12);                                               // [8@rows 32 64]                0.008
}

static void cls_predictions_forward(hap_rank *r)
{
    // cls.predictions
    op_linear(r, cls_predictions_transform_dense, encoder_layer_output_LayerNorm[3],
        cls_predictions_transform_dense_weight, cls_predictions_transform_dense_bias,
        HAP_NT);                                              // y = a b' + c  [8@rows 32 64]  0.028
    op_gelu(r, cls_predictions_transform_transform_act_fn, cls_predictions_transform_dense,
        false);                                               // y = gelu x                    0.007
    op_row_sum(r, cls_predictions_transform_LayerNorm_sum,
        cls_predictions_transform_transform_act_fn);          // y = sum x  [8@rows 32]        0.004
    op_row_m2(r, cls_predictions_transform_LayerNorm_m2, cls_predictions_transform_transform_act_fn,
        cls_predictions_transform_LayerNorm_sum);             // y = sum (a - mean)^2          0.004
    op_norm_apply(r, cls_predictions_transform_LayerNorm,
        cls_predictions_transform_transform_act_fn, cls_predictions_transform_LayerNorm_sum,
        cls_predictions_transform_LayerNorm_m2, cls_predictions_transform_LayerNorm_weight,
        cls_predictions_transform_LayerNorm_bias, 1e-12);     // [8@rows 32 64]                0.008
    op_linear(r, cls_predictions_decoder, cls_predictions_transform_LayerNorm,
        embeddings_word_embeddings_weight, cls_predictions_bias, HAP_NT); // [8@rows 32 199]   0.086

    // ce_sum
    op_row_max(r, ce_sum_max, cls_predictions_decoder);       // y = max x  [8@rows 32]        0.011
    op_row_expsum(r, ce_sum_expsum, cls_predictions_decoder, ce_sum_max); //                   0.011
    hap_cut(r, labels_by_rows, labels);                       // whole -> @rows                0.001
    op_target_logit(r, ce_sum_target, cls_predictions_decoder, labels_by_rows, -100); //       0.001
    op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, labels_by_rows, -100); //  0.001
    op_count(r, count, labels, -100);                         // y = count x  []               0.001
    op_div(r, loss, ce_sum, count);                           // y = a / b  []+                0.001
}

static void loss_backward(hap_rank *r)
{
    // loss
    op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32);   // y = 1  []                     0.001
    op_div(r, loss_da, loss_seed, count);                     // y = a / b                     0.001
    op_ce_bwd(r, ce_sum_dx, cls_predictions_decoder, ce_sum_max, ce_sum_expsum, labels_by_rows,
        loss_da, -100);                                       // [8@rows 32 199]               0.021

    // cls.predictions
    op_linear(r, cls_predictions_decoder_dx, ce_sum_dx, embeddings_word_embeddings_weight, NULL,
        HAP_NN);                                              // y = a b  [8@rows 32 64]       0.086
    op_linear_dw(r, cls_predictions_decoder_dw, ce_sum_dx,
        cls_predictions_transform_LayerNorm);                 // y = sum rows a' b  [199 64]+  0.086
    op_sum(r, cls_predictions_decoder_db, ce_sum_dx, HAP_INTS(0, 1), false); // [199]+         0.011
    op_norm_bwd_stats(r, cls_predictions_transform_LayerNorm_sum_u,
        cls_predictions_transform_LayerNorm_sum_ux, cls_predictions_decoder_dx,
        cls_predictions_transform_transform_act_fn, cls_predictions_transform_LayerNorm_sum,
        cls_predictions_transform_LayerNorm_m2, cls_predictions_transform_LayerNorm_weight,
        1e-12);                                               // [8@rows 32]                   0.008
    op_norm_bwd(r, cls_predictions_transform_LayerNorm_dx, cls_predictions_decoder_dx,
        cls_predictions_transform_transform_act_fn, cls_predictions_transform_LayerNorm_sum,
        cls_predictions_transform_LayerNorm_m2, cls_predictions_transform_LayerNorm_sum_u,
        cls_predictions_transform_LayerNorm_sum_ux, cls_predictions_transform_LayerNorm_weight,
        1e-12);                                               // [8@rows 32 64]                0.011
    op_norm_bwd_params(r, cls_predictions_transform_LayerNorm_dw,
        cls_predictions_transform_LayerNorm_db, cls_predictions_decoder_dx,
        cls_predictions_transform_transform_act_fn, cls_predictions_transform_LayerNorm_sum,
        cls_predictions_transform_LayerNorm_m2, 1e-12);       // y, y1 = dweight, dbias  [64]+ 0.008
    op_gelu_bwd(r, cls_predictions_transform_transform_act_fn_dx,
        cls_predictions_transform_LayerNorm_dx, cls_predictions_transform_dense, false); //    0.011
    op_linear(r, encoder_layer_attention_self_query_dsum[2],
        cls_predictions_transform_transform_act_fn_dx, cls_predictions_transform_dense_weight, NULL,
        HAP_NN);                                              // y = a b                       0.028
    op_linear_dw(r, cls_predictions_transform_dense_dw,
        cls_predictions_transform_transform_act_fn_dx, encoder_layer_output_LayerNorm[3]); //  0.028
    op_sum(r, cls_predictions_transform_dense_db, cls_predictions_transform_transform_act_fn_dx,
        HAP_INTS(0, 1), false);                               // y = sum x  [64]+              0.004
}

// One of 2 of the 3 blocks bert.encoder.layer.*              //                               0.862
static void encoder_layer_backward(hap_rank *r, int i)
{
    const encoder_layer_block *b = &encoder_layer[i];
    // output
    op_norm_bwd_stats(r, b->output_LayerNorm_sum_u, b->output_LayerNorm_sum_ux,
        encoder_layer_attention_self_query_dsum[i], b->output_add, b->output_LayerNorm_sum,
        b->output_LayerNorm_m2, b->output_LayerNorm_weight, 1e-12); // [8@rows 32]             0.008
    op_norm_bwd(r, b->output_LayerNorm_dx, encoder_layer_attention_self_query_dsum[i],
        b->output_add, b->output_LayerNorm_sum, b->output_LayerNorm_m2, b->output_LayerNorm_sum_u,
        b->output_LayerNorm_sum_ux, b->output_LayerNorm_weight, 1e-12); // [8@rows 32 64]      0.011
    op_norm_bwd_params(r, b->output_LayerNorm_dw, b->output_LayerNorm_db,
        encoder_layer_attention_self_query_dsum[i], b->output_add, b->output_LayerNorm_sum,
        b->output_LayerNorm_m2, 1e-12);                       // y, y1 = dweight, dbias  [64]+ 0.008
    op_linear(r, b->output_dense_dx, b->output_LayerNorm_dx, b->output_dense_weight, NULL,
        HAP_NN);                                              // y = a b  [8@rows 32 192]      0.083
    op_linear_dw(r, b->output_dense_dw, b->output_LayerNorm_dx,
        b->t_intermediate_intermediate_act_fn);               // y = sum rows a' b  [64 192]+  0.083
    encoder_layer_output_dense_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED,
        1, &b->output_dense_dw_cut, &b->output_dense_dw, NULL); // + -> @cut_64  48.0 KiB      0.017
    op_sum(r, b->output_dense_db, b->output_LayerNorm_dx, HAP_INTS(0, 1), false); // [64]+     0.004

    // intermediate
    op_gelu_bwd(r, b->t_intermediate_intermediate_act_fn_dx, b->output_dense_dx,
        b->t_intermediate_dense, false);                      // [8@rows 32 192]               0.030
    hap_event *e_t_intermediate_intermediate_act_fn_dx_by_rows_even = coll_reshard_start(r, AXIS(0),
        FORM_EVEN, 1, &b->t_intermediate_intermediate_act_fn_dx_by_rows_even,
        &b->t_intermediate_intermediate_act_fn_dx,
        b->t_intermediate_intermediate_act_fn_dx_by_rows_even_scratch); // 192 KiB             0.060
    hap_event *e_attention_output_LayerNorm_by_rows_even = coll_reshard_start(r, AXIS(0), FORM_EVEN,
        1, &b->attention_output_LayerNorm_by_rows_even, &b->attention_output_LayerNorm,
        b->attention_output_LayerNorm_by_rows_even_scratch);  // @rows -> @rows_even  64.0 KiB 0.023
    op_linear(r, b->t_intermediate_dense_dx, b->t_intermediate_intermediate_act_fn_dx,
        b->t_intermediate_dense_weight, NULL, HAP_NN);        // y = a b  [8@rows 32 64]       0.083
    op_add(r, b->t_intermediate_dense_dsum, b->output_LayerNorm_dx,
        b->t_intermediate_dense_dx);                          // y = a + b                     0.011
    hap_wait(r, e_t_intermediate_intermediate_act_fn_dx_by_rows_even); // 0.043 hidden
    hap_wait(r, e_attention_output_LayerNorm_by_rows_even);
    op_linear_dw(r, b->t_intermediate_dense_dw,
        b->t_intermediate_intermediate_act_fn_dx_by_rows_even,
        b->attention_output_LayerNorm_by_rows_even);          // y = sum rows a' b  [192 64]+  0.132
    encoder_layer_intermediate_dense_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0),
        FORM_GROUPED, 1, &b->t_intermediate_dense_dw_cut, &b->t_intermediate_dense_dw,
        NULL);                                                // + -> @cut_192  48.0 KiB       0.017
    op_sum(r, b->t_intermediate_dense_db, b->t_intermediate_intermediate_act_fn_dx, HAP_INTS(0, 1),
        false);                                               // y = sum x  [192]+             0.011

    // attention
    op_norm_bwd_stats(r, b->attention_output_LayerNorm_sum_u, b->attention_output_LayerNorm_sum_ux,
        b->t_intermediate_dense_dsum, b->attention_output_add, b->attention_output_LayerNorm_sum,
        b->attention_output_LayerNorm_m2, b->attention_output_LayerNorm_weight, 1e-12); //     0.008
    op_norm_bwd(r, b->attention_output_LayerNorm_dx, b->t_intermediate_dense_dsum,
        b->attention_output_add, b->attention_output_LayerNorm_sum,
        b->attention_output_LayerNorm_m2, b->attention_output_LayerNorm_sum_u,
        b->attention_output_LayerNorm_sum_ux, b->attention_output_LayerNorm_weight, 1e-12); // 0.011
    op_norm_bwd_params(r, b->attention_output_LayerNorm_dw, b->attention_output_LayerNorm_db,
        b->t_intermediate_dense_dsum, b->attention_output_add, b->attention_output_LayerNorm_sum,
        b->attention_output_LayerNorm_m2, 1e-12);             // y, y1 = dweight, dbias  [64]+ 0.008
    op_linear(r, b->attention_output_dense_dx, b->attention_output_LayerNorm_dx,
        b->attention_output_dense_weight, NULL, HAP_NN);      // y = a b  [8@rows 32 64]       0.028
    op_linear_dw(r, b->attention_output_dense_dw, b->attention_output_LayerNorm_dx,
        b->attention_self_reshape_4);                         // y = sum rows a' b  [64 64]+   0.028
    encoder_layer_attention_output_dense_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &b->attention_output_dense_dw_cut, &b->attention_output_dense_dw,
        b->attention_output_dense_dw_cut_scratch);            // + -> @cut_16  16.0 KiB        0.012
    op_sum(r, b->attention_output_dense_db, b->attention_output_LayerNorm_dx, HAP_INTS(0, 1),
        false);                                               // y = sum x  [64]+              0.004
    op_transpose(r, b->attention_self_transpose_4_dx, b->attention_self_reshape_4_dx,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 4 32 16]      0.007
    op_sdpa_bwd(r, b->attention_self_sdpa_dq, b->attention_self_sdpa_dk, b->attention_self_sdpa_dv,
        b->attention_self_transpose_4_dx, b->attention_self_transpose,
        b->attention_self_transpose_2, b->attention_self_transpose_3, b->attention_self_sdpa,
        b->attention_self_sdpa_lse, NULL, false, 0.25, 0, 0, 0); // y, y1, y2 = dq, dk, dv     0.069
    op_transpose(r, b->attention_self_transpose_3_dx, b->attention_self_sdpa_dv,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 32 4 16]      0.007
    op_linear(r, b->attention_self_value_dx, b->attention_self_reshape_3_dx,
        b->attention_self_value_weight, NULL, HAP_NN);        // y = a b  [8@rows 32 64]       0.028
    op_add(r, b->attention_self_value_dsum, b->attention_output_LayerNorm_dx,
        b->attention_self_value_dx);                          // y = a + b                     0.011
    op_linear_dw(r, b->attention_self_value_dw, b->attention_self_reshape_3_dx,
        encoder_layer_output_LayerNorm[i]);                   // y = sum rows a' b  [64 64]+   0.028
    encoder_layer_attention_self_value_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &b->attention_self_value_dw_cut, &b->attention_self_value_dw,
        b->attention_self_value_dw_cut_scratch);              // + -> @cut_16  16.0 KiB        0.012
    op_sum(r, b->attention_self_value_db, b->attention_self_reshape_3_dx, HAP_INTS(0, 1), false);
    op_transpose(r, b->attention_self_transpose_2_dx, b->attention_self_sdpa_dk,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 32 4 16]      0.007
    op_linear(r, b->attention_self_key_dx, b->attention_self_reshape_2_dx,
        b->attention_self_key_weight, NULL, HAP_NN);          // y = a b  [8@rows 32 64]       0.028
    op_add(r, b->attention_self_key_dsum, b->attention_self_value_dsum,
        b->attention_self_key_dx);                            // y = a + b                     0.011
    op_linear_dw(r, b->attention_self_key_dw, b->attention_self_reshape_2_dx,
        encoder_layer_output_LayerNorm[i]);                   // y = sum rows a' b  [64 64]+   0.028
    encoder_layer_attention_self_key_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &b->attention_self_key_dw_cut, &b->attention_self_key_dw,
        b->attention_self_key_dw_cut_scratch);                // + -> @cut_64  16.0 KiB        0.012
    op_sum(r, b->attention_self_key_db, b->attention_self_reshape_2_dx, HAP_INTS(0, 1), false);
    op_transpose(r, b->attention_self_transpose_dx, b->attention_self_sdpa_dq,
        HAP_INTS(0, 2, 1, 3));                                // y = x'  [8@rows 32 4 16]      0.007
    op_linear(r, b->attention_self_query_dx, b->attention_self_reshape_dx,
        b->attention_self_query_weight, NULL, HAP_NN);        // y = a b  [8@rows 32 64]       0.028
    op_add(r, encoder_layer_attention_self_query_dsum[i - 1], b->attention_self_key_dsum,
        b->attention_self_query_dx);                          // y = a + b                     0.011
    op_linear_dw(r, b->attention_self_query_dw, b->attention_self_reshape_dx,
        encoder_layer_output_LayerNorm[i]);                   // y = sum rows a' b  [64 64]+   0.028
    encoder_layer_attention_self_query_dw_cut_ready[i] = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &b->attention_self_query_dw_cut, &b->attention_self_query_dw,
        b->attention_self_query_dw_cut_scratch);              // + -> @cut_64  16.0 KiB        0.012
    op_sum(r, b->attention_self_query_db, b->attention_self_reshape_dx, HAP_INTS(0, 1), false);
}

static void embeddings_backward(hap_rank *r)
{
    // encoder.layer.0.output
    op_norm_bwd_stats(r, encoder_layer[0].output_LayerNorm_sum_u,
        encoder_layer[0].output_LayerNorm_sum_ux, encoder_layer_attention_self_query_dsum[0],
        encoder_layer[0].output_add, encoder_layer[0].output_LayerNorm_sum,
        encoder_layer[0].output_LayerNorm_m2, encoder_layer[0].output_LayerNorm_weight, 1e-12);
    op_norm_bwd(r, encoder_layer[0].output_LayerNorm_dx, encoder_layer_attention_self_query_dsum[0],
        encoder_layer[0].output_add, encoder_layer[0].output_LayerNorm_sum,
        encoder_layer[0].output_LayerNorm_m2, encoder_layer[0].output_LayerNorm_sum_u,
        encoder_layer[0].output_LayerNorm_sum_ux, encoder_layer[0].output_LayerNorm_weight,
        1e-12);                                               // [8@rows 32 64]                0.011
    op_norm_bwd_params(r, encoder_layer[0].output_LayerNorm_dw,
        encoder_layer[0].output_LayerNorm_db, encoder_layer_attention_self_query_dsum[0],
        encoder_layer[0].output_add, encoder_layer[0].output_LayerNorm_sum,
        encoder_layer[0].output_LayerNorm_m2, 1e-12);         // y, y1 = dweight, dbias  [64]+ 0.008
    op_linear(r, encoder_layer[0].output_dense_dx, encoder_layer[0].output_LayerNorm_dx,
        encoder_layer[0].output_dense_weight, NULL, HAP_NN);  // y = a b  [8@rows 32 192]      0.083
    op_linear_dw(r, encoder_layer[0].output_dense_dw, encoder_layer[0].output_LayerNorm_dx,
        encoder_layer[0].t_intermediate_intermediate_act_fn); // y = sum rows a' b  [64 192]+  0.083
    encoder_layer_0_output_dense_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_PADDED,
        1, &encoder_layer[0].output_dense_dw_cut, &encoder_layer[0].output_dense_dw,
        encoder_layer_0_output_dense_dw_cut_scratch);         // + -> @cut_192  48.0 KiB       0.025
    op_sum(r, encoder_layer[0].output_dense_db, encoder_layer[0].output_LayerNorm_dx,
        HAP_INTS(0, 1), false);                               // y = sum x  [64]+              0.004

    // encoder.layer.0.intermediate
    op_gelu_bwd(r, encoder_layer_0_intermediate_intermediate_act_fn_dx,
        encoder_layer[0].output_dense_dx, encoder_layer[0].t_intermediate_dense, false); //    0.030
    hap_event *e_t_yer_0_intermediate_intermediate_act_fn_dx_by_rows_even = coll_reshard_start(r,
        AXIS(0), FORM_EVEN, 1, &encoder_layer_0_intermediate_intermediate_act_fn_dx_by_rows_even,
        &encoder_layer_0_intermediate_intermediate_act_fn_dx,
        encoder_layer_0_intermediate_intermediate_act_fn_dx_by_rows_even_scratch); // 192 KiB  0.060
    hap_event *e_encoder_layer_0_attention_output_LayerNorm_by_rows_even = coll_reshard_start(r,
        AXIS(0), FORM_EVEN, 1, &encoder_layer[0].attention_output_LayerNorm_by_rows_even,
        &encoder_layer[0].attention_output_LayerNorm,
        encoder_layer[0].attention_output_LayerNorm_by_rows_even_scratch); // 64.0 KiB         0.023
    op_linear(r, encoder_layer_0_intermediate_dense_dx,
        encoder_layer_0_intermediate_intermediate_act_fn_dx,
        encoder_layer[0].t_intermediate_dense_weight, NULL, HAP_NN); // [8@rows 32 64]         0.083
    op_add(r, encoder_layer_0_intermediate_dense_dsum, encoder_layer[0].output_LayerNorm_dx,
        encoder_layer_0_intermediate_dense_dx);               // y = a + b                     0.011
    hap_wait(r, e_t_yer_0_intermediate_intermediate_act_fn_dx_by_rows_even); // 0.043 hidden
    hap_wait(r, e_encoder_layer_0_attention_output_LayerNorm_by_rows_even);
    op_linear_dw(r, encoder_layer_0_intermediate_dense_dw,
        encoder_layer_0_intermediate_intermediate_act_fn_dx_by_rows_even,
        encoder_layer[0].attention_output_LayerNorm_by_rows_even); // [192 64]+                0.132
    encoder_layer_0_intermediate_dense_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0),
        FORM_GROUPED, 1, &encoder_layer_0_intermediate_dense_dw_cut,
        &encoder_layer_0_intermediate_dense_dw, NULL);        // + -> @cut_192  48.0 KiB       0.017
    op_sum(r, encoder_layer_0_intermediate_dense_db,
        encoder_layer_0_intermediate_intermediate_act_fn_dx, HAP_INTS(0, 1), false); // [192]+ 0.011

    // encoder.layer.0.attention
    op_norm_bwd_stats(r, encoder_layer[0].attention_output_LayerNorm_sum_u,
        encoder_layer[0].attention_output_LayerNorm_sum_ux, encoder_layer_0_intermediate_dense_dsum,
        encoder_layer[0].attention_output_add, encoder_layer[0].attention_output_LayerNorm_sum,
        encoder_layer[0].attention_output_LayerNorm_m2,
        encoder_layer[0].attention_output_LayerNorm_weight, 1e-12); // [8@rows 32]             0.008
    op_norm_bwd(r, encoder_layer[0].attention_output_LayerNorm_dx,
        encoder_layer_0_intermediate_dense_dsum, encoder_layer[0].attention_output_add,
        encoder_layer[0].attention_output_LayerNorm_sum,
        encoder_layer[0].attention_output_LayerNorm_m2,
        encoder_layer[0].attention_output_LayerNorm_sum_u,
        encoder_layer[0].attention_output_LayerNorm_sum_ux,
        encoder_layer[0].attention_output_LayerNorm_weight, 1e-12); // [8@rows 32 64]          0.011
    op_norm_bwd_params(r, encoder_layer[0].attention_output_LayerNorm_dw,
        encoder_layer[0].attention_output_LayerNorm_db, encoder_layer_0_intermediate_dense_dsum,
        encoder_layer[0].attention_output_add, encoder_layer[0].attention_output_LayerNorm_sum,
        encoder_layer[0].attention_output_LayerNorm_m2, 1e-12); // [64]+                       0.008
    op_linear(r, encoder_layer[0].attention_output_dense_dx,
        encoder_layer[0].attention_output_LayerNorm_dx,
        encoder_layer[0].attention_output_dense_weight, NULL, HAP_NN); // [8@rows 32 64]       0.028
    op_linear_dw(r, encoder_layer[0].attention_output_dense_dw,
        encoder_layer[0].attention_output_LayerNorm_dx,
        encoder_layer[0].attention_self_reshape_4);           // y = sum rows a' b  [64 64]+   0.028
    encoder_layer_0_attention_output_dense_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &encoder_layer[0].attention_output_dense_dw_cut,
        &encoder_layer[0].attention_output_dense_dw,
        encoder_layer[0].attention_output_dense_dw_cut_scratch); // + -> @cut_16  16.0 KiB     0.012
    op_sum(r, encoder_layer[0].attention_output_dense_db,
        encoder_layer[0].attention_output_LayerNorm_dx, HAP_INTS(0, 1), false); // [64]+       0.004
    op_transpose(r, encoder_layer[0].attention_self_transpose_4_dx,
        encoder_layer[0].attention_self_reshape_4_dx, HAP_INTS(0, 2, 1, 3)); //                0.007
    op_sdpa_bwd(r, encoder_layer[0].attention_self_sdpa_dq, encoder_layer[0].attention_self_sdpa_dk,
        encoder_layer[0].attention_self_sdpa_dv, encoder_layer[0].attention_self_transpose_4_dx,
        encoder_layer[0].attention_self_transpose, encoder_layer[0].attention_self_transpose_2,
        encoder_layer[0].attention_self_transpose_3, encoder_layer[0].attention_self_sdpa,
        encoder_layer[0].attention_self_sdpa_lse, NULL, false, 0.25, 0, 0, 0); //              0.069
    op_transpose(r, encoder_layer[0].attention_self_transpose_3_dx,
        encoder_layer[0].attention_self_sdpa_dv, HAP_INTS(0, 2, 1, 3)); // [8@rows 32 4 16]    0.007
    op_linear(r, encoder_layer[0].attention_self_value_dx,
        encoder_layer[0].attention_self_reshape_3_dx, encoder_layer[0].attention_self_value_weight,
        NULL, HAP_NN);                                        // y = a b  [8@rows 32 64]       0.028
    op_add(r, encoder_layer[0].attention_self_value_dsum,
        encoder_layer[0].attention_output_LayerNorm_dx,
        encoder_layer[0].attention_self_value_dx);            // y = a + b                     0.011
    op_linear_dw(r, encoder_layer[0].attention_self_value_dw,
        encoder_layer[0].attention_self_reshape_3_dx, encoder_layer_output_LayerNorm[0]); //   0.028
    encoder_layer_0_attention_self_value_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &encoder_layer[0].attention_self_value_dw_cut,
        &encoder_layer[0].attention_self_value_dw,
        encoder_layer[0].attention_self_value_dw_cut_scratch); // + -> @cut_16  16.0 KiB       0.012
    op_sum(r, encoder_layer[0].attention_self_value_db,
        encoder_layer[0].attention_self_reshape_3_dx, HAP_INTS(0, 1), false); // [64]+         0.004
    op_transpose(r, encoder_layer[0].attention_self_transpose_2_dx,
        encoder_layer[0].attention_self_sdpa_dk, HAP_INTS(0, 2, 1, 3)); // [8@rows 32 4 16]    0.007
    op_linear(r, encoder_layer[0].attention_self_key_dx,
        encoder_layer[0].attention_self_reshape_2_dx, encoder_layer[0].attention_self_key_weight,
        NULL, HAP_NN);                                        // y = a b  [8@rows 32 64]       0.028
    op_add(r, encoder_layer[0].attention_self_key_dsum, encoder_layer[0].attention_self_value_dsum,
        encoder_layer[0].attention_self_key_dx);              // y = a + b                     0.011
    op_linear_dw(r, encoder_layer[0].attention_self_key_dw,
        encoder_layer[0].attention_self_reshape_2_dx, encoder_layer_output_LayerNorm[0]); //   0.028
    encoder_layer_0_attention_self_key_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &encoder_layer[0].attention_self_key_dw_cut,
        &encoder_layer[0].attention_self_key_dw,
        encoder_layer[0].attention_self_key_dw_cut_scratch);  // + -> @cut_64  16.0 KiB        0.012
    op_sum(r, encoder_layer[0].attention_self_key_db, encoder_layer[0].attention_self_reshape_2_dx,
        HAP_INTS(0, 1), false);                               // y = sum x  [64]+              0.004
    op_transpose(r, encoder_layer[0].attention_self_transpose_dx,
        encoder_layer[0].attention_self_sdpa_dq, HAP_INTS(0, 2, 1, 3)); // [8@rows 32 4 16]    0.007
    op_linear(r, encoder_layer[0].attention_self_query_dx,
        encoder_layer[0].attention_self_reshape_dx, encoder_layer[0].attention_self_query_weight,
        NULL, HAP_NN);                                        // y = a b  [8@rows 32 64]       0.028
    op_add(r, encoder_layer_0_attention_self_query_dsum, encoder_layer[0].attention_self_key_dsum,
        encoder_layer[0].attention_self_query_dx);            // y = a + b                     0.011
    op_linear_dw(r, encoder_layer[0].attention_self_query_dw,
        encoder_layer[0].attention_self_reshape_dx, encoder_layer_output_LayerNorm[0]); //     0.028
    encoder_layer_0_attention_self_query_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0),
        FORM_PADDED, 1, &encoder_layer[0].attention_self_query_dw_cut,
        &encoder_layer[0].attention_self_query_dw,
        encoder_layer[0].attention_self_query_dw_cut_scratch); // + -> @cut_64  16.0 KiB       0.012
    op_sum(r, encoder_layer[0].attention_self_query_db, encoder_layer[0].attention_self_reshape_dx,
        HAP_INTS(0, 1), false);                               // y = sum x  [64]+              0.004

    // embeddings
    op_norm_bwd_stats(r, embeddings_LayerNorm_sum_u, embeddings_LayerNorm_sum_ux,
        encoder_layer_0_attention_self_query_dsum, embeddings_add_2, embeddings_LayerNorm_sum,
        embeddings_LayerNorm_m2, embeddings_LayerNorm_weight, 1e-12); // [8@rows 32]           0.008
    op_norm_bwd(r, embeddings_LayerNorm_dx, encoder_layer_0_attention_self_query_dsum,
        embeddings_add_2, embeddings_LayerNorm_sum, embeddings_LayerNorm_m2,
        embeddings_LayerNorm_sum_u, embeddings_LayerNorm_sum_ux, embeddings_LayerNorm_weight,
        1e-12);                                               // [8@rows 32 64]                0.011
    op_norm_bwd_params(r, embeddings_LayerNorm_dw, embeddings_LayerNorm_db,
        encoder_layer_0_attention_self_query_dsum, embeddings_add_2, embeddings_LayerNorm_sum,
        embeddings_LayerNorm_m2, 1e-12);                      // y, y1 = dweight, dbias  [64]+ 0.008
    op_sum(r, embeddings_add_2_fold1, embeddings_LayerNorm_dx, HAP_INTS(0), true); //          0.005
    op_embedding_bwd(r, embeddings_position_embeddings_dw, embeddings_add_2_fold1,
        embeddings_position_embeddings_const, 32);            // y[b] += a  [32 64]+           0.003
    embeddings_position_embeddings_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0),
        FORM_SENDRECV, 1, &embeddings_position_embeddings_dw_cut,
        &embeddings_position_embeddings_dw, embeddings_position_embeddings_dw_cut_scratch); // 0.008
    op_embedding_bwd(r, embeddings_token_type_embeddings_dw, embeddings_LayerNorm_dx,
        embeddings_token_type_embeddings_const, 2);           // y[b] += a  [2 64]+            0.004
    hap_tensor *const to[] = {cls_predictions_decoder_db_all,
        cls_predictions_transform_LayerNorm_dw_all, cls_predictions_transform_LayerNorm_db_all,
        cls_predictions_transform_dense_dw_all, cls_predictions_transform_dense_db_all,
        encoder_layer[2].output_LayerNorm_dw_all, encoder_layer[2].output_LayerNorm_db_all,
        encoder_layer[2].output_dense_db_all, encoder_layer[2].t_intermediate_dense_db_all,
        encoder_layer[2].attention_output_LayerNorm_dw_all,
        encoder_layer[2].attention_output_LayerNorm_db_all,
        encoder_layer[2].attention_output_dense_db_all,
        encoder_layer[2].attention_self_value_db_all, encoder_layer[2].attention_self_key_db_all,
        encoder_layer[2].attention_self_query_db_all, encoder_layer[1].output_LayerNorm_dw_all,
        encoder_layer[1].output_LayerNorm_db_all, encoder_layer[1].output_dense_db_all,
        encoder_layer[1].t_intermediate_dense_db_all,
        encoder_layer[1].attention_output_LayerNorm_dw_all,
        encoder_layer[1].attention_output_LayerNorm_db_all,
        encoder_layer[1].attention_output_dense_db_all,
        encoder_layer[1].attention_self_value_db_all, encoder_layer[1].attention_self_key_db_all,
        encoder_layer[1].attention_self_query_db_all, encoder_layer[0].output_LayerNorm_dw_all,
        encoder_layer[0].output_LayerNorm_db_all, encoder_layer[0].output_dense_db_all,
        encoder_layer_0_intermediate_dense_db_all,
        encoder_layer[0].attention_output_LayerNorm_dw_all,
        encoder_layer[0].attention_output_LayerNorm_db_all,
        encoder_layer[0].attention_output_dense_db_all,
        encoder_layer[0].attention_self_value_db_all, encoder_layer[0].attention_self_key_db_all,
        encoder_layer[0].attention_self_query_db_all, embeddings_LayerNorm_dw_all,
        embeddings_LayerNorm_db_all, embeddings_token_type_embeddings_dw_all};
    hap_tensor *const from[] = {cls_predictions_decoder_db, cls_predictions_transform_LayerNorm_dw,
        cls_predictions_transform_LayerNorm_db, cls_predictions_transform_dense_dw,
        cls_predictions_transform_dense_db, encoder_layer[2].output_LayerNorm_dw,
        encoder_layer[2].output_LayerNorm_db, encoder_layer[2].output_dense_db,
        encoder_layer[2].t_intermediate_dense_db, encoder_layer[2].attention_output_LayerNorm_dw,
        encoder_layer[2].attention_output_LayerNorm_db, encoder_layer[2].attention_output_dense_db,
        encoder_layer[2].attention_self_value_db, encoder_layer[2].attention_self_key_db,
        encoder_layer[2].attention_self_query_db, encoder_layer[1].output_LayerNorm_dw,
        encoder_layer[1].output_LayerNorm_db, encoder_layer[1].output_dense_db,
        encoder_layer[1].t_intermediate_dense_db, encoder_layer[1].attention_output_LayerNorm_dw,
        encoder_layer[1].attention_output_LayerNorm_db, encoder_layer[1].attention_output_dense_db,
        encoder_layer[1].attention_self_value_db, encoder_layer[1].attention_self_key_db,
        encoder_layer[1].attention_self_query_db, encoder_layer[0].output_LayerNorm_dw,
        encoder_layer[0].output_LayerNorm_db, encoder_layer[0].output_dense_db,
        encoder_layer_0_intermediate_dense_db, encoder_layer[0].attention_output_LayerNorm_dw,
        encoder_layer[0].attention_output_LayerNorm_db, encoder_layer[0].attention_output_dense_db,
        encoder_layer[0].attention_self_value_db, encoder_layer[0].attention_self_key_db,
        encoder_layer[0].attention_self_query_db, embeddings_LayerNorm_dw, embeddings_LayerNorm_db,
        embeddings_token_type_embeddings_dw};
    cls_predictions_decoder_db_all_ready = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 38, to,
        from, NULL);                                          // + -> whole  [199]  27.5 KiB   0.017
    op_embedding_bwd(r, embeddings_word_embeddings_dw, embeddings_LayerNorm_dx, input_ids, 199);
    op_add(r, embeddings_word_embeddings_dsum, cls_predictions_decoder_dw,
        embeddings_word_embeddings_dw);                       // y = a + b                     0.017
    embeddings_word_embeddings_dsum_by_vocab_ready = coll_reduce_scatter_start(r, AXIS(0),
        FORM_GROUPED, 1, &embeddings_word_embeddings_dsum_by_vocab,
        &embeddings_word_embeddings_dsum, NULL);              // + -> @vocab  49.8 KiB         0.017
}

static void update(hap_rank *r)
{
    hap_cut(r, embeddings_word_embeddings_weight_by_vocab,
        embeddings_word_embeddings_weight);                   // [199@vocab 64]                0.005
    hap_wait(r, embeddings_word_embeddings_dsum_by_vocab_ready);
    op_adam(r, embeddings_word_embeddings_weight_by_vocab, embeddings_word_embeddings_weight_m,
        embeddings_word_embeddings_weight_v, embeddings_word_embeddings_dsum_by_vocab, NULL, 1, 0.9,
        0.95, 1e-08, 0.1, true);                              // a -= lr b / sqrt c            0.017
    embeddings_word_embeddings_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &embeddings_word_embeddings_weight, &embeddings_word_embeddings_weight_by_vocab,
        NULL);                                                // @vocab -> whole  49.8 KiB     0.012
    hap_wait(r, cls_predictions_decoder_db_all_ready);        // 0.017 hidden
    op_adam(r, embeddings_token_type_embeddings_weight, embeddings_token_type_embeddings_weight_m,
        embeddings_token_type_embeddings_weight_v, embeddings_token_type_embeddings_dw_all, NULL, 1,
        0.9, 0.95, 1e-08, 0.1, true);                         // a -= lr b / sqrt c  [2 64]    0.001
    hap_cut(r, embeddings_position_embeddings_weight_cut,
        embeddings_position_embeddings_weight);               // [32@cut_32 64]                0.002
    hap_wait(r, embeddings_position_embeddings_dw_cut_ready); // 0.008 hidden
    op_adam(r, embeddings_position_embeddings_weight_cut, embeddings_position_embeddings_weight_m,
        embeddings_position_embeddings_weight_v, embeddings_position_embeddings_dw_cut, NULL, 1,
        0.9, 0.95, 1e-08, 0.1, true);                         // a -= lr b / sqrt c            0.004
    embeddings_position_embeddings_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV,
        1, &embeddings_position_embeddings_weight, &embeddings_position_embeddings_weight_cut,
        NULL);                                                // @cut_32 -> whole  8.00 KiB    0.006
    op_adam(r, embeddings_LayerNorm_weight, embeddings_LayerNorm_weight_m,
        embeddings_LayerNorm_weight_v, embeddings_LayerNorm_dw_all, NULL, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c  [64]      0.001
    op_adam(r, embeddings_LayerNorm_bias, embeddings_LayerNorm_bias_m, embeddings_LayerNorm_bias_v,
        embeddings_LayerNorm_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); //                   0.001
    hap_cut(r, encoder_layer[0].attention_self_query_weight_cut,
        encoder_layer[0].attention_self_query_weight);        // [64 64@cut_64]                0.002
    hap_wait(r, encoder_layer_0_attention_self_query_dw_cut_ready); // 0.012 hidden
    op_adam(r, encoder_layer[0].attention_self_query_weight_cut,
        encoder_layer[0].attention_self_query_weight_m,
        encoder_layer[0].attention_self_query_weight_v,
        encoder_layer[0].attention_self_query_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c            0.006
    encoder_layer_0_attention_self_query_weight_ready = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &encoder_layer[0].attention_self_query_weight,
        &encoder_layer[0].attention_self_query_weight_cut,
        encoder_layer[0].attention_self_query_weight_scratch); // @cut_64 -> whole  16.0 KiB   0.010
    op_adam(r, encoder_layer[0].attention_self_query_bias,
        encoder_layer[0].attention_self_query_bias_m, encoder_layer[0].attention_self_query_bias_v,
        encoder_layer[0].attention_self_query_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); //  0.001
    hap_cut(r, encoder_layer[0].attention_self_key_weight_cut,
        encoder_layer[0].attention_self_key_weight);          // [64 64@cut_64]                0.002
    hap_wait(r, encoder_layer_0_attention_self_key_dw_cut_ready); // 0.012 hidden
    op_adam(r, encoder_layer[0].attention_self_key_weight_cut,
        encoder_layer[0].attention_self_key_weight_m, encoder_layer[0].attention_self_key_weight_v,
        encoder_layer[0].attention_self_key_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1, true); //  0.006
    encoder_layer_0_attention_self_key_weight_ready = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &encoder_layer[0].attention_self_key_weight,
        &encoder_layer[0].attention_self_key_weight_cut,
        encoder_layer[0].attention_self_key_weight_scratch);  // @cut_64 -> whole  16.0 KiB    0.010
    op_adam(r, encoder_layer[0].attention_self_key_bias, encoder_layer[0].attention_self_key_bias_m,
        encoder_layer[0].attention_self_key_bias_v, encoder_layer[0].attention_self_key_db_all,
        NULL, 1, 0.9, 0.95, 1e-08, 0, true);                  // a -= lr b / sqrt c  [64]      0.001
    hap_cut(r, encoder_layer[0].attention_self_value_weight_cut,
        encoder_layer[0].attention_self_value_weight);        // [64@cut_16 64]                0.002
    hap_wait(r, encoder_layer_0_attention_self_value_dw_cut_ready); // 0.012 hidden
    op_adam(r, encoder_layer[0].attention_self_value_weight_cut,
        encoder_layer[0].attention_self_value_weight_m,
        encoder_layer[0].attention_self_value_weight_v,
        encoder_layer[0].attention_self_value_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c            0.006
    encoder_layer_0_attention_self_value_weight_ready = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &encoder_layer[0].attention_self_value_weight,
        &encoder_layer[0].attention_self_value_weight_cut,
        encoder_layer[0].attention_self_value_weight_scratch); // @cut_16 -> whole  16.0 KiB   0.010
    op_adam(r, encoder_layer[0].attention_self_value_bias,
        encoder_layer[0].attention_self_value_bias_m, encoder_layer[0].attention_self_value_bias_v,
        encoder_layer[0].attention_self_value_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); //  0.001
    hap_cut(r, encoder_layer[0].attention_output_dense_weight_cut,
        encoder_layer[0].attention_output_dense_weight);      // [64 64@cut_16]                0.002
    hap_wait(r, encoder_layer_0_attention_output_dense_dw_cut_ready); // 0.012 hidden
    op_adam(r, encoder_layer[0].attention_output_dense_weight_cut,
        encoder_layer[0].attention_output_dense_weight_m,
        encoder_layer[0].attention_output_dense_weight_v,
        encoder_layer[0].attention_output_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1,
        true);                                                // a -= lr b / sqrt c            0.006
    encoder_layer_0_attention_output_dense_weight_ready = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &encoder_layer[0].attention_output_dense_weight,
        &encoder_layer[0].attention_output_dense_weight_cut,
        encoder_layer[0].attention_output_dense_weight_scratch); // @cut_16 -> whole  16.0 KiB 0.010
    op_adam(r, encoder_layer[0].attention_output_dense_bias,
        encoder_layer[0].attention_output_dense_bias_m,
        encoder_layer[0].attention_output_dense_bias_v,
        encoder_layer[0].attention_output_dense_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c  [64]      0.001
    op_adam(r, encoder_layer[0].attention_output_LayerNorm_weight,
        encoder_layer[0].attention_output_LayerNorm_weight_m,
        encoder_layer[0].attention_output_LayerNorm_weight_v,
        encoder_layer[0].attention_output_LayerNorm_dw_all, NULL, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c            0.001
    op_adam(r, encoder_layer[0].attention_output_LayerNorm_bias,
        encoder_layer[0].attention_output_LayerNorm_bias_m,
        encoder_layer[0].attention_output_LayerNorm_bias_v,
        encoder_layer[0].attention_output_LayerNorm_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c            0.001
    hap_cut(r, encoder_layer_0_intermediate_dense_weight_cut,
        encoder_layer[0].t_intermediate_dense_weight);        // [192@cut_192 64]              0.005
    hap_wait(r, encoder_layer_0_intermediate_dense_dw_cut_ready); // 0.017 hidden
    op_adam(r, encoder_layer_0_intermediate_dense_weight_cut,
        encoder_layer_0_intermediate_dense_weight_m, encoder_layer_0_intermediate_dense_weight_v,
        encoder_layer_0_intermediate_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1, true); //   0.016
    encoder_layer_0_intermediate_dense_weight_ready = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &encoder_layer[0].t_intermediate_dense_weight,
        &encoder_layer_0_intermediate_dense_weight_cut, NULL); // @cut_192 -> whole  48.0 KiB  0.012
    op_adam(r, encoder_layer[0].t_intermediate_dense_bias,
        encoder_layer_0_intermediate_dense_bias_m, encoder_layer_0_intermediate_dense_bias_v,
        encoder_layer_0_intermediate_dense_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); //     0.002
    hap_cut(r, encoder_layer[0].output_dense_weight_cut,
        encoder_layer[0].output_dense_weight);                // [64 192@cut_192]              0.005
    hap_wait(r, encoder_layer_0_output_dense_dw_cut_ready);   // 0.025 hidden
    op_adam(r, encoder_layer[0].output_dense_weight_cut, encoder_layer[0].output_dense_weight_m,
        encoder_layer[0].output_dense_weight_v, encoder_layer[0].output_dense_dw_cut, NULL, 1, 0.9,
        0.95, 1e-08, 0.1, true);                              // a -= lr b / sqrt c            0.016
    encoder_layer_0_output_dense_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &encoder_layer[0].output_dense_weight, &encoder_layer[0].output_dense_weight_cut,
        encoder_layer_0_output_dense_weight_scratch);         // @cut_192 -> whole  48.0 KiB   0.020
    op_adam(r, encoder_layer[0].output_dense_bias, encoder_layer[0].output_dense_bias_m,
        encoder_layer[0].output_dense_bias_v, encoder_layer[0].output_dense_db_all, NULL, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c  [64]      0.001
    op_adam(r, encoder_layer[0].output_LayerNorm_weight, encoder_layer[0].output_LayerNorm_weight_m,
        encoder_layer[0].output_LayerNorm_weight_v, encoder_layer[0].output_LayerNorm_dw_all, NULL,
        1, 0.9, 0.95, 1e-08, 0, true);                        // a -= lr b / sqrt c            0.001
    op_adam(r, encoder_layer[0].output_LayerNorm_bias, encoder_layer[0].output_LayerNorm_bias_m,
        encoder_layer[0].output_LayerNorm_bias_v, encoder_layer[0].output_LayerNorm_db_all, NULL, 1,
        0.9, 0.95, 1e-08, 0, true);                           // a -= lr b / sqrt c            0.001
}

// One of 2 of the 3 blocks bert.encoder.layer.*              //                               0.088
static void encoder_layer_update(hap_rank *r, int i)
{
    const encoder_layer_block *b = &encoder_layer[i];
    hap_cut(r, b->attention_self_query_weight_cut, b->attention_self_query_weight); //         0.002
    hap_wait(r, encoder_layer_attention_self_query_dw_cut_ready[i]); // 0.012 hidden
    op_adam(r, b->attention_self_query_weight_cut, b->attention_self_query_weight_m,
        b->attention_self_query_weight_v, b->attention_self_query_dw_cut, NULL, 1, 0.9, 0.95, 1e-08,
        0.1, true);                                           // a -= lr b / sqrt c            0.006
    encoder_layer_attention_self_query_weight_ready[i] = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &b->attention_self_query_weight, &b->attention_self_query_weight_cut,
        b->attention_self_query_weight_scratch);              // @cut_64 -> whole  16.0 KiB    0.010
    op_adam(r, b->attention_self_query_bias, b->attention_self_query_bias_m,
        b->attention_self_query_bias_v, b->attention_self_query_db_all, NULL, 1, 0.9, 0.95, 1e-08,
        0, true);                                             // a -= lr b / sqrt c  [64]      0.001
    hap_cut(r, b->attention_self_key_weight_cut, b->attention_self_key_weight); //             0.002
    hap_wait(r, encoder_layer_attention_self_key_dw_cut_ready[i]); // 0.012 hidden
    op_adam(r, b->attention_self_key_weight_cut, b->attention_self_key_weight_m,
        b->attention_self_key_weight_v, b->attention_self_key_dw_cut, NULL, 1, 0.9, 0.95, 1e-08,
        0.1, true);                                           // a -= lr b / sqrt c            0.006
    encoder_layer_attention_self_key_weight_ready[i] = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &b->attention_self_key_weight, &b->attention_self_key_weight_cut,
        b->attention_self_key_weight_scratch);                // @cut_64 -> whole  16.0 KiB    0.010
    op_adam(r, b->attention_self_key_bias, b->attention_self_key_bias_m,
        b->attention_self_key_bias_v, b->attention_self_key_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c  [64]      0.001
    hap_cut(r, b->attention_self_value_weight_cut, b->attention_self_value_weight); //         0.002
    hap_wait(r, encoder_layer_attention_self_value_dw_cut_ready[i]); // 0.012 hidden
    op_adam(r, b->attention_self_value_weight_cut, b->attention_self_value_weight_m,
        b->attention_self_value_weight_v, b->attention_self_value_dw_cut, NULL, 1, 0.9, 0.95, 1e-08,
        0.1, true);                                           // a -= lr b / sqrt c            0.006
    encoder_layer_attention_self_value_weight_ready[i] = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &b->attention_self_value_weight, &b->attention_self_value_weight_cut,
        b->attention_self_value_weight_scratch);              // @cut_16 -> whole  16.0 KiB    0.010
    op_adam(r, b->attention_self_value_bias, b->attention_self_value_bias_m,
        b->attention_self_value_bias_v, b->attention_self_value_db_all, NULL, 1, 0.9, 0.95, 1e-08,
        0, true);                                             // a -= lr b / sqrt c  [64]      0.001
    hap_cut(r, b->attention_output_dense_weight_cut, b->attention_output_dense_weight); //     0.002
    hap_wait(r, encoder_layer_attention_output_dense_dw_cut_ready[i]); // 0.012 hidden
    op_adam(r, b->attention_output_dense_weight_cut, b->attention_output_dense_weight_m,
        b->attention_output_dense_weight_v, b->attention_output_dense_dw_cut, NULL, 1, 0.9, 0.95,
        1e-08, 0.1, true);                                    // a -= lr b / sqrt c            0.006
    encoder_layer_attention_output_dense_weight_ready[i] = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &b->attention_output_dense_weight, &b->attention_output_dense_weight_cut,
        b->attention_output_dense_weight_scratch);            // @cut_16 -> whole  16.0 KiB    0.010
    op_adam(r, b->attention_output_dense_bias, b->attention_output_dense_bias_m,
        b->attention_output_dense_bias_v, b->attention_output_dense_db_all, NULL, 1, 0.9, 0.95,
        1e-08, 0, true);                                      // a -= lr b / sqrt c  [64]      0.001
    op_adam(r, b->attention_output_LayerNorm_weight, b->attention_output_LayerNorm_weight_m,
        b->attention_output_LayerNorm_weight_v, b->attention_output_LayerNorm_dw_all, NULL, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c            0.001
    op_adam(r, b->attention_output_LayerNorm_bias, b->attention_output_LayerNorm_bias_m,
        b->attention_output_LayerNorm_bias_v, b->attention_output_LayerNorm_db_all, NULL, 1, 0.9,
        0.95, 1e-08, 0, true);                                // a -= lr b / sqrt c            0.001
    hap_cut(r, b->t_intermediate_dense_weight_cut, b->t_intermediate_dense_weight); //         0.005
    hap_wait(r, encoder_layer_intermediate_dense_dw_cut_ready[i]); // 0.017 hidden
    op_adam(r, b->t_intermediate_dense_weight_cut, b->t_intermediate_dense_weight_m,
        b->t_intermediate_dense_weight_v, b->t_intermediate_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08,
        0.1, true);                                           // a -= lr b / sqrt c            0.016
    encoder_layer_intermediate_dense_weight_ready[i] = coll_all_gather_start(r, AXIS(0),
        FORM_SENDRECV, 1, &b->t_intermediate_dense_weight, &b->t_intermediate_dense_weight_cut,
        NULL);                                                // @cut_192 -> whole  48.0 KiB   0.012
    op_adam(r, b->t_intermediate_dense_bias, b->t_intermediate_dense_bias_m,
        b->t_intermediate_dense_bias_v, b->t_intermediate_dense_db_all, NULL, 1, 0.9, 0.95, 1e-08,
        0, true);                                             // a -= lr b / sqrt c  [192]     0.002
    hap_cut(r, b->output_dense_weight_cut, b->output_dense_weight); // [64@cut_64 192]         0.005
    hap_wait(r, encoder_layer_output_dense_dw_cut_ready[i]);  // 0.017 hidden
    op_adam(r, b->output_dense_weight_cut, b->output_dense_weight_m, b->output_dense_weight_v,
        b->output_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c   0.017
    encoder_layer_output_dense_weight_ready[i] = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
        &b->output_dense_weight, &b->output_dense_weight_cut, NULL); // 48.0 KiB               0.012
    op_adam(r, b->output_dense_bias, b->output_dense_bias_m, b->output_dense_bias_v,
        b->output_dense_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); // [64]                   0.001
    op_adam(r, b->output_LayerNorm_weight, b->output_LayerNorm_weight_m,
        b->output_LayerNorm_weight_v, b->output_LayerNorm_dw_all, NULL, 1, 0.9, 0.95, 1e-08, 0,
        true);                                                // a -= lr b / sqrt c            0.001
    op_adam(r, b->output_LayerNorm_bias, b->output_LayerNorm_bias_m, b->output_LayerNorm_bias_v,
        b->output_LayerNorm_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c 0.001
}

static void convert(hap_rank *r)
{
    loss_all_ready = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &loss_all, &loss,
        NULL);                                                // + -> whole  []  4 B           0.010
}

static void update_2(hap_rank *r)
{
    op_adam(r, cls_predictions_transform_dense_weight, cls_predictions_transform_dense_weight_m,
        cls_predictions_transform_dense_weight_v, cls_predictions_transform_dense_dw_all, NULL, 1,
        0.9, 0.95, 1e-08, 0.1, true);                         // a -= lr b / sqrt c  [64 64]   0.013
    op_adam(r, cls_predictions_transform_dense_bias, cls_predictions_transform_dense_bias_m,
        cls_predictions_transform_dense_bias_v, cls_predictions_transform_dense_db_all, NULL, 1,
        0.9, 0.95, 1e-08, 0, true);                           // a -= lr b / sqrt c  [64]      0.001
    op_adam(r, cls_predictions_transform_LayerNorm_weight,
        cls_predictions_transform_LayerNorm_weight_m, cls_predictions_transform_LayerNorm_weight_v,
        cls_predictions_transform_LayerNorm_dw_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); //    0.001
    op_adam(r, cls_predictions_transform_LayerNorm_bias, cls_predictions_transform_LayerNorm_bias_m,
        cls_predictions_transform_LayerNorm_bias_v, cls_predictions_transform_LayerNorm_db_all,
        NULL, 1, 0.9, 0.95, 1e-08, 0, true);                  // a -= lr b / sqrt c            0.001
    op_adam(r, cls_predictions_bias, cls_predictions_bias_m, cls_predictions_bias_v,
        cls_predictions_decoder_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); // [199]          0.002
    hap_wait(r, embeddings_word_embeddings_weight_ready);     // 0.012 hidden
    hap_wait(r, embeddings_position_embeddings_weight_ready); // 0.006 hidden
    hap_wait(r, encoder_layer_0_attention_self_query_weight_ready); // 0.010 hidden
    hap_wait(r, encoder_layer_0_attention_self_key_weight_ready); // 0.010 hidden
    hap_wait(r, encoder_layer_0_attention_self_value_weight_ready); // 0.010 hidden
    hap_wait(r, encoder_layer_0_attention_output_dense_weight_ready); // 0.010 hidden
    hap_wait(r, encoder_layer_0_intermediate_dense_weight_ready); // 0.012 hidden
    hap_wait(r, encoder_layer_0_output_dense_weight_ready);   // 0.020 hidden
    hap_wait(r, encoder_layer_attention_self_query_weight_ready[1]); // 0.010 hidden
    hap_wait(r, encoder_layer_attention_self_key_weight_ready[1]); // 0.010 hidden
    hap_wait(r, encoder_layer_attention_self_value_weight_ready[1]); // 0.010 hidden
    hap_wait(r, encoder_layer_attention_output_dense_weight_ready[1]); // 0.010 hidden
    hap_wait(r, encoder_layer_intermediate_dense_weight_ready[1]); // 0.012 hidden
    hap_wait(r, encoder_layer_output_dense_weight_ready[1]);  // 0.012 hidden
    hap_wait(r, encoder_layer_attention_self_query_weight_ready[2]); // 0.010 hidden
    hap_wait(r, encoder_layer_attention_self_key_weight_ready[2]); // 0.010 hidden
    hap_wait(r, encoder_layer_attention_self_value_weight_ready[2]); // 0.010 hidden
    hap_wait(r, encoder_layer_attention_output_dense_weight_ready[2]); // 0.010 hidden
    hap_wait(r, encoder_layer_intermediate_dense_weight_ready[2]); // 0.012 hidden
    hap_wait(r, encoder_layer_output_dense_weight_ready[2]);  // 0.012 hidden
    hap_wait(r, loss_all_ready);                              // 0.006 hidden
}
