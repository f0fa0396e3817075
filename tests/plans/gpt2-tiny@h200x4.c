// program.c: one training step of gpt2-tiny on 4 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/h200x4.yaml -o gpt2-tiny@h200x4 -q
//
//   classes     H200 {0-3}
//   predicted   0.263 ms/step = 0.263 ms compute and idle + 0 ms communication - 0 ms hidden; bound
//               0.204 ms; by datasheet formulas
//   memory      4.99 MiB    graph a94a3bb305aca178    cluster 01f98d2e07a17459
//   strategy    auto

#include "hap/runtime.h"

// Byte offsets in the local segment, by class {H200}.
static const int64_t at_1690624[1] = {1690624}, at_1692672[1] = {1692672};
static const int64_t at_1502208[1] = {1502208}, at_1556224[1] = {1556224}, at_0[1] = {0};
static const int64_t at_768[1] = {768}, at_1536[1] = {1536}, at_148992[1] = {148992};
static const int64_t at_151296[1] = {151296}, at_200448[1] = {200448}, at_201216[1] = {201216};
static const int64_t at_201984[1] = {201984}, at_202752[1] = {202752}, at_350208[1] = {350208};
static const int64_t at_352512[1] = {352512}, at_499968[1] = {499968}, at_1564416[1] = {1564416};
static const int64_t at_1564672[1] = {1564672}, at_1564928[1] = {1564928};
static const int64_t at_1565184[1] = {1565184}, at_1619200[1] = {1619200};
static const int64_t at_1673216[1] = {1673216}, at_1681408[1] = {1681408}, at_500736[1] = {500736};
static const int64_t at_501504[1] = {501504}, at_502272[1] = {502272}, at_503040[1] = {503040};
static const int64_t at_503808[1] = {503808}, at_651264[1] = {651264}, at_798720[1] = {798720};
static const int64_t at_801024[1] = {801024}, at_803328[1] = {803328}, at_852480[1] = {852480};
static const int64_t at_901632[1] = {901632}, at_902400[1] = {902400}, at_903168[1] = {903168};
static const int64_t at_903936[1] = {903936}, at_904704[1] = {904704}, at_905472[1] = {905472};
static const int64_t at_906240[1] = {906240}, at_1053696[1] = {1053696}, at_1201152[1] = {1201152};
static const int64_t at_1203456[1] = {1203456}, at_1205760[1] = {1205760};
static const int64_t at_1353216[1] = {1353216}, at_1500672[1] = {1500672};
static const int64_t at_1501440[1] = {1501440}, at_1689600[1] = {1689600};
static const int64_t at_1689856[1] = {1689856}, at_1690112[1] = {1690112};
static const int64_t at_1690368[1] = {1690368}, at_1694976[1] = {1694976};
static const int64_t at_1760512[1] = {1760512}, at_1957120[1] = {1957120};
static const int64_t at_1960192[1] = {1960192}, at_2179328[1] = {2179328};
static const int64_t at_1963264[1] = {1963264}, at_1891584[1] = {1891584};
static const int64_t at_2375936[1] = {2375936}, at_2441472[1] = {2441472};
static const int64_t at_2592000[1] = {2592000}, at_2788608[1] = {2788608};
static const int64_t at_2985216[1] = {2985216}, at_3181824[1] = {3181824};
static const int64_t at_3378432[1] = {3378432}, at_3390720[1] = {3390720};
static const int64_t at_3587328[1] = {3587328}, at_3783936[1] = {3783936};
static const int64_t at_3787008[1] = {3787008}, at_3790080[1] = {3790080};
static const int64_t at_3986688[1] = {3986688}, at_4576512[1] = {4576512};
static const int64_t at_5166336[1] = {5166336}, at_5167360[1] = {5167360};
static const int64_t at_5168384[1] = {5168384}, at_5233920[1] = {5233920};
static const int64_t at_5234944[1] = {5234944}, at_2376960[1] = {2376960};
static const int64_t at_1694720[1] = {1694720}, at_2376192[1] = {2376192};
static const int64_t at_5235968[1] = {5235968}, at_2017280[1] = {2017280};
static const int64_t at_1693696[1] = {1693696}, at_1692928[1] = {1692928};
static const int64_t at_1793280[1] = {1793280}, at_1693184[1] = {1693184};
static const int64_t at_4969728[1] = {4969728}, at_4281600[1] = {4281600};
static const int64_t at_1940736[1] = {1940736}, at_1943040[1] = {1943040};
static const int64_t at_1944064[1] = {1944064}, at_1693952[1] = {1693952};
static const int64_t at_1944832[1] = {1944832}, at_3685632[1] = {3685632};
static const int64_t at_1945600[1] = {1945600}, at_2507008[1] = {2507008};
static const int64_t at_3521792[1] = {3521792}, at_2723072[1] = {2723072};
static const int64_t at_2821376[1] = {2821376}, at_1946368[1] = {1946368};
static const int64_t at_1948672[1] = {1948672}, at_2310400[1] = {2310400};
static const int64_t at_1949440[1] = {1949440}, at_1950208[1] = {1950208};
static const int64_t at_1703168[1] = {1703168}, at_1711360[1] = {1711360};
static const int64_t at_1690880[1] = {1690880}, at_1691136[1] = {1691136};

// Bytes from one block's buffer to the next one's.
static const int64_t by_1024[1] = {1024}, by_65536[1] = {65536}, by_256[1] = {256};
static const int64_t by_49152[1] = {49152}, by_768[1] = {768}, by_4096[1] = {4096};
static const int64_t by_16384[1] = {16384}, by_196608[1] = {196608};

static const int64_t local_bytes[1] = {5236224}, sym_bytes = 0;

// What each of the 3 blocks h.* works on.
typedef struct h_block {
    hap_tensor *ln_1_sum, *add_2, *ln_1_m2, *ln_1, *ln_1_weight, *ln_1_bias, *attn_c_attn;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_bias, *attn_split_0, *attn_split_1, *attn_split_2;
    hap_tensor *attn_reshape, *attn_transpose, *attn_reshape_2, *attn_transpose_2, *attn_reshape_3;
    hap_tensor *attn_transpose_3, *attn_sdpa, *attn_sdpa_lse, *attn_transpose_4, *attn_reshape_4;
    hap_tensor *attn_c_proj, *attn_c_proj_weight, *attn_c_proj_bias, *add, *ln_2_sum, *ln_2_m2;
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc, *mlp_c_fc_weight, *mlp_c_fc_bias;
    hap_tensor *mlp_act, *mlp_c_proj, *mlp_c_proj_weight, *mlp_c_proj_bias, *add_2_2;
    hap_tensor *mlp_c_proj_dx, *ln_f_dx, *mlp_c_proj_dw, *mlp_c_proj_db, *mlp_act_dx, *mlp_c_fc_dx;
    hap_tensor *mlp_c_fc_dw, *mlp_c_fc_db, *ln_2_stats, *ln_2_stats_1, *ln_2_dx, *ln_2_sum_2;
    hap_tensor *ln_2_dw, *ln_2_dw_1, *attn_c_proj_dx, *attn_c_proj_dw, *attn_c_proj_db;
    hap_tensor *attn_reshape_4_dx, *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1;
    hap_tensor *attn_sdpa_dqkv_2, *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx;
    hap_tensor *attn_reshape_2_dx, *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx;
    hap_tensor *attn_c_attn_dx, *attn_c_attn_dw, *attn_c_attn_db, *ln_1_stats, *ln_1_stats_1;
    hap_tensor *ln_1_dx, *ln_1_sum_2, *ln_1_dw, *ln_1_dw_1, *ln_1_weight_sumsq, *ln_1_weight_norm;
    hap_tensor *mlp_c_proj_bias_norm, *ln_1_bias_sumsq, *ln_1_bias_norm, *attn_c_attn_weight_sumsq;
    hap_tensor *attn_c_attn_weight_norm, *attn_c_attn_bias_sumsq, *attn_c_attn_bias_norm;
    hap_tensor *attn_c_proj_weight_sumsq, *attn_c_proj_weight_norm, *attn_c_proj_bias_sumsq;
    hap_tensor *attn_c_proj_bias_norm, *ln_2_weight_sumsq, *ln_2_weight_norm, *ln_2_bias_sumsq;
    hap_tensor *ln_2_bias_norm, *mlp_c_fc_weight_sumsq, *mlp_c_fc_weight_norm, *mlp_c_fc_bias_sumsq;
    hap_tensor *mlp_c_fc_bias_norm, *mlp_c_proj_weight_sumsq, *mlp_c_proj_weight_norm;
    hap_tensor *mlp_c_proj_bias_sumsq, *mlp_c_proj_bias_norm_2, *ln_1_weight_exp_avg;
    hap_tensor *ln_1_weight_exp_avg_sq, *clip, *ln_1_bias_exp_avg, *ln_1_bias_exp_avg_sq;
    hap_tensor *attn_c_attn_weight_exp_avg, *attn_c_attn_weight_exp_avg_sq;
    hap_tensor *attn_c_attn_bias_exp_avg, *attn_c_attn_bias_exp_avg_sq, *attn_c_proj_weight_exp_avg;
    hap_tensor *attn_c_proj_weight_exp_avg_sq, *attn_c_proj_bias_exp_avg;
    hap_tensor *attn_c_proj_bias_exp_avg_sq, *ln_2_weight_exp_avg, *ln_2_weight_exp_avg_sq;
    hap_tensor *ln_2_bias_exp_avg, *ln_2_bias_exp_avg_sq, *mlp_c_fc_weight_exp_avg;
    hap_tensor *mlp_c_fc_weight_exp_avg_sq, *mlp_c_fc_bias_exp_avg, *mlp_c_fc_bias_exp_avg_sq;
    hap_tensor *mlp_c_proj_weight_exp_avg, *mlp_c_proj_weight_exp_avg_sq, *mlp_c_proj_bias_exp_avg;
    hap_tensor *mlp_c_proj_bias_exp_avg_sq;
} h_block;
static h_block h[3];

// One of the 3 blocks h, forward: 0.0392 ms of computation.
static void h_forward(hap_rank *r, const h_block *b)
{
    // ln_1
    hap_fuse(r, "k1");                               // one kernel to hap_fused    0.00203 ms
    op_row_sum(r, b->ln_1_sum, b->add_2);            // y = sum x    [8 32]
    op_row_m2(r, b->ln_1_m2, b->add_2, b->ln_1_sum); // y = sum (a - mean)^2    [8 32]
    op_norm_apply(r, b->ln_1, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_weight, b->ln_1_bias,
                  1e-05); // y = (a - mean) rstd d + e    [8 32 64]
    hap_fused(r, 3, (hap_tensor *const[]){b->ln_1_sum, b->ln_1_m2, b->ln_1});

    // attn
    // y = a b + c    [8 32 192]    0.00216 ms
    op_linear(r, b->attn_c_attn, b->ln_1, b->attn_c_attn_weight, b->attn_c_attn_bias, HAP_NN);
    hap_tensor *const parts[] = {
        b->attn_split_0, // [8 32 64]
        b->attn_split_1, // [8 32 64]
        b->attn_split_2, // [8 32 64]
    };
    op_split(r, 3, parts, b->attn_c_attn, 2, HAP_INTS(64, 64, 64)); // [8 32 64]    0.0021 ms
    op_reshape(r, b->attn_reshape, b->attn_split_1, HAP_INTS(8, 32, 4, 16)); // [8 32 4 16]    0 ms
    // y = x'    [8 4 32 16]    0.00203 ms
    op_transpose(r, b->attn_transpose, b->attn_reshape, HAP_INTS(0, 2, 1, 3));
    // y = x    [8 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_2, b->attn_split_2, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8 4 32 16]    0.00203 ms
    op_transpose(r, b->attn_transpose_2, b->attn_reshape_2, HAP_INTS(0, 2, 1, 3));
    // y = x    [8 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_3, b->attn_split_0, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8 4 32 16]    0.00203 ms
    op_transpose(r, b->attn_transpose_3, b->attn_reshape_3, HAP_INTS(0, 2, 1, 3));
    op_sdpa(r, b->attn_sdpa, b->attn_sdpa_lse, b->attn_transpose_3, b->attn_transpose,
            b->attn_transpose_2, NULL, true, 0.25, 0, 0, 0); // [8 4 32 16]    0.00207 ms
    // y = x'    [8 32 4 16]    0.00203 ms
    op_transpose(r, b->attn_transpose_4, b->attn_sdpa, HAP_INTS(0, 2, 1, 3));
    op_reshape(r, b->attn_reshape_4, b->attn_transpose_4, HAP_INTS(8, 32, 64)); // [8 32 64]    0 ms
    op_linear(r, b->attn_c_proj, b->attn_reshape_4, b->attn_c_proj_weight, b->attn_c_proj_bias,
              HAP_NN); // y = a b + c    [8 32 64]    0.00205 ms

    // add
    hap_fuse(r, "k2");                           // one kernel to hap_fused    0.00207 ms
    op_add(r, b->add, b->attn_c_proj, b->add_2); // y = a + b    [8 32 64]

    // ln_2
    op_row_sum(r, b->ln_2_sum, b->add);            // y = sum x    [8 32]
    op_row_m2(r, b->ln_2_m2, b->add, b->ln_2_sum); // y = sum (a - mean)^2    [8 32]
    // y = (a - mean) rstd d + e    [8 32 64]
    op_norm_apply(r, b->ln_2, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_weight, b->ln_2_bias, 1e-05);
    hap_tensor *const kept[] = {
        b->add,      // [8 32 64]
        b->ln_2_sum, // [8 32]
        b->ln_2_m2,  // [8 32]
        b->ln_2,     // [8 32 64]
    };
    hap_fused(r, 4, kept);

    // mlp
    // y = a b + c    [8 32 192]    0.00216 ms
    op_linear(r, b->mlp_c_fc, b->ln_2, b->mlp_c_fc_weight, b->mlp_c_fc_bias, HAP_NN);
    op_gelu(r, b->mlp_act, b->mlp_c_fc, true); // y = gelu x    [8 32 192]    0.0021 ms
    // y = a b + c    [8 32 64]    0.00216 ms
    op_linear(r, b->mlp_c_proj, b->mlp_act, b->mlp_c_proj_weight, b->mlp_c_proj_bias, HAP_NN);

    // add
    op_add(r, b->add_2_2, b->add, b->mlp_c_proj); // y = a + b    [8 32 64]    0.00205 ms
}

// One of the 3 blocks h, backward: 0.0561 ms of computation.
static void h_backward(hap_rank *r, const h_block *b)
{
    // mlp
    // y = a b'    [8 32 192]    0.00216 ms
    op_linear(r, b->mlp_c_proj_dx, b->ln_f_dx, b->mlp_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_f_dx);          // [192 64]    0.00216 ms
    op_sum(r, b->mlp_c_proj_db, b->ln_f_dx, HAP_INTS(0, 1), false);     // [64]    0.00202 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true); // [8 32 192]    0.00215 ms
    // y = a b'    [8 32 64]    0.00216 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx);         // [64 192]    0.00216 ms
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192]    0.00205 ms

    // ln_2
    hap_fuse(r, "k5"); // one kernel to hap_fused    0.00207 ms
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // y, y1 = sum u, sum u xhat    [8 32]
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05); // y = dx of the norm    [8 32 64]
    op_add(r, b->ln_2_sum_2, b->ln_f_dx, b->ln_2_dx);    // y = a + b    [8 32 64]
    hap_fused(r, 1, &b->ln_2_sum_2);
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
                       1e-05); // y, y1 = dweight, dbias    [64]    0.00203 ms

    // attn
    // y = a b'    [8 32 64]    0.00205 ms
    op_linear(r, b->attn_c_proj_dx, b->ln_2_sum_2, b->attn_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_sum_2); // [64 64]    0.00205 ms
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false);   // [64]    0.00202 ms
    // y = x    [8 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_4_dx, b->attn_c_proj_dx, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8 4 32 16]    0.00203 ms
    op_transpose(r, b->attn_transpose_4_dx, b->attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3));
    // y, y1, y2 = dq, dk, dv    [8 4 32 16]    0.00214 ms
    op_sdpa_bwd(r, b->attn_sdpa_dqkv, b->attn_sdpa_dqkv_1, b->attn_sdpa_dqkv_2,
                b->attn_transpose_4_dx, b->attn_transpose_3, b->attn_transpose, b->attn_transpose_2,
                b->attn_sdpa, b->attn_sdpa_lse, NULL, true, 0.25, 0, 0, 0);
    // y = x'    [8 32 4 16]    0.00203 ms
    op_transpose(r, b->attn_transpose_3_dx, b->attn_sdpa_dqkv, HAP_INTS(0, 2, 1, 3));
    // y = x    [8 32 64]    0 ms
    op_reshape(r, b->attn_reshape_3_dx, b->attn_transpose_3_dx, HAP_INTS(8, 32, 64));
    // y = x'    [8 32 4 16]    0.00203 ms
    op_transpose(r, b->attn_transpose_2_dx, b->attn_sdpa_dqkv_2, HAP_INTS(0, 2, 1, 3));
    // y = x    [8 32 64]    0 ms
    op_reshape(r, b->attn_reshape_2_dx, b->attn_transpose_2_dx, HAP_INTS(8, 32, 64));
    // y = x'    [8 32 4 16]    0.00203 ms
    op_transpose(r, b->attn_transpose_dx, b->attn_sdpa_dqkv_1, HAP_INTS(0, 2, 1, 3));
    // y = x    [8 32 64]    0 ms
    op_reshape(r, b->attn_reshape_dx, b->attn_transpose_dx, HAP_INTS(8, 32, 64));
    hap_tensor *const parts[] = {
        b->attn_reshape_3_dx, // [8 32 64]
        b->attn_reshape_dx,   // [8 32 64]
        b->attn_reshape_2_dx, // [8 32 64]
    };
    op_concat(r, b->attn_split_dx, 3, parts, 2); // y = xs    [8 32 192]    0.0021 ms
    // y = a b'    [8 32 64]    0.00216 ms
    op_linear(r, b->attn_c_attn_dx, b->attn_split_dx, b->attn_c_attn_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_attn_dw, b->ln_1, b->attn_split_dx);         // [64 192]    0.00216 ms
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]    0.00205 ms

    // ln_1
    hap_fuse(r, "k5"); // one kernel to hap_fused    0.00207 ms
    op_norm_bwd_stats(r, b->ln_1_stats, b->ln_1_stats_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                      b->ln_1_m2, b->ln_1_weight, 1e-05); // y, y1 = sum u, sum u xhat    [8 32]
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_stats,
                b->ln_1_stats_1, b->ln_1_weight, 1e-05); // y = dx of the norm    [8 32 64]
    op_add(r, b->ln_1_sum_2, b->ln_2_sum_2, b->ln_1_dx); // y = a + b    [8 32 64]
    hap_fused(r, 1, &b->ln_1_sum_2);
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_dw_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                       b->ln_1_m2, 1e-05); // y, y1 = dweight, dbias    [64]    0.00203 ms
}

// One of the 3 blocks h, update: 0.048 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw); // y = sum x^2    []    0.002 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq); // []    0.002 ms
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1); // y = sum x^2    []    0.002 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []    0.002 ms
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw); // y = sum x^2    []    0.00201 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db); // y = sum x^2    []    0.002 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw); // y = sum x^2    []    0.002 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db); // y = sum x^2    []    0.002 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw); // y = sum x^2    []    0.002 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1); // y = sum x^2    []    0.002 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []    0.002 ms
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw); // y = sum x^2    []    0.00201 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db); // y = sum x^2    []    0.002 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw); // y = sum x^2    []    0.00201 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db); // y = sum x^2    []    0.002 ms
    // y = a + b    []    0.002 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 3 blocks h, update: 0.0243 ms of computation.
static void h_update_2(hap_rank *r, const h_block *b)
{
    // update
    op_adam(r, b->ln_1_weight, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq, b->ln_1_dw,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.002 ms
    op_adam(r, b->ln_1_bias, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1, b->clip,
            1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.002 ms
    op_adam(r, b->attn_c_attn_weight, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw, b->clip, 1, 0.9, 0.95, 1e-08, 0.1,
            true); // a -= lr b / sqrt c    [64 192]    0.00209 ms
    op_adam(r, b->attn_c_attn_bias, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.002 ms
    op_adam(r, b->attn_c_proj_weight, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw, b->clip, 1, 0.9, 0.95, 1e-08, 0.1,
            true); // a -= lr b / sqrt c    [64 64]    0.00203 ms
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.002 ms
    op_adam(r, b->ln_2_weight, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq, b->ln_2_dw,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.002 ms
    op_adam(r, b->ln_2_bias, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1, b->clip,
            1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.002 ms
    op_adam(r, b->mlp_c_fc_weight, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // [64 192]    0.00209 ms
    op_adam(r, b->mlp_c_fc_bias, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.002 ms
    op_adam(r, b->mlp_c_proj_weight, b->mlp_c_proj_weight_exp_avg, b->mlp_c_proj_weight_exp_avg_sq,
            b->mlp_c_proj_dw, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // [192 64]    0.00209 ms
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.002 ms
}

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "a94a3bb305aca178", 4);
    hap_mesh(r, 1, (const int[]){4});
    hap_classes(r, (const int[]){0, 0, 0, 0});
    hap_segments(r, sym_bytes, local_bytes);

    // Global shapes. [n@rows] is cut by rows[], [n] is whole on every rank, + is a partial sum, ^ a
    // partial max.
    const hap_dim of_8_32[] = {WHOLE(8), WHOLE(32)};
    const hap_dim of_211_64[] = {WHOLE(211), WHOLE(64)};
    const hap_dim of_32_64[] = {WHOLE(32), WHOLE(64)};
    const hap_dim of_64[] = {WHOLE(64)};
    const hap_dim of_64_192[] = {WHOLE(64), WHOLE(192)};
    const hap_dim of_192[] = {WHOLE(192)};
    const hap_dim of_64_64[] = {WHOLE(64), WHOLE(64)};
    const hap_dim of_192_64[] = {WHOLE(192), WHOLE(64)};
    const hap_dim of_1_32[] = {WHOLE(1), WHOLE(32)};
    const hap_dim of_8_32_64[] = {WHOLE(8), WHOLE(32), WHOLE(64)};
    const hap_dim of_1_32_64[] = {WHOLE(1), WHOLE(32), WHOLE(64)};
    const hap_dim of_8_32_192[] = {WHOLE(8), WHOLE(32), WHOLE(192)};
    const hap_dim of_8_32_4_16[] = {WHOLE(8), WHOLE(32), WHOLE(4), WHOLE(16)};
    const hap_dim of_8_4_32_16[] = {WHOLE(8), WHOLE(4), WHOLE(32), WHOLE(16)};
    const hap_dim of_8_4_32[] = {WHOLE(8), WHOLE(4), WHOLE(32)};
    const hap_dim of_8_32_211[] = {WHOLE(8), WHOLE(32), WHOLE(211)};
    const hap_dim of_8_33[] = {WHOLE(8), WHOLE(33)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_1690624, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1692672, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_LOCAL, at_1502208, HAP_F32, 2, of_211_64);
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_LOCAL, at_1556224, HAP_F32, 2, of_32_64);
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_1564416, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_1564672, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1565184, HAP_F32, 2, of_211_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1619200, HAP_F32, 2, of_211_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1673216, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1681408, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1689600, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1689856, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1690112, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1690368, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_1564928, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1694976, HAP_F32, 3, of_8_32_64);   // [8 32 64]
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_1760512, HAP_F32, 3, of_1_32_64);   // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_5166336, HAP_F32, 2, of_8_32); // [8 32]
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_5167360, HAP_F32, 2, of_8_32);  // [8 32]
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_5168384, HAP_F32, 3, of_8_32_64);  // [8 32 64]
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1963264, HAP_F32, 3, of_8_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_2375936, HAP_I64, 2, of_8_33);        // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_1692672, HAP_I64, 2, of_8_32);      // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_5233920, HAP_F32, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_5234944, HAP_F32, 2, of_8_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 2, of_8_32);
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_2376960, HAP_F32, 0, NULL);    // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 0, NULL);     // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_1694720, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_2376192, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_5235968, HAP_F32, 0, NULL);   // []
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 3, of_8_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_2017280, HAP_F32, 3, of_8_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_1963264, HAP_F32, 2, of_211_64);
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_1692672, HAP_F32, 2, of_8_32); // [8 32]
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_1693696, HAP_F32, 2, of_8_32);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_1692672, HAP_F32, 1, of_64);   // [64]
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_1692928, HAP_F32, 1, of_64); // [64]
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_1694976, HAP_F32, 3, of_1_32_64);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_1703168, HAP_F32, 2, of_32_64);        // [32 64]
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_1711360, HAP_F32, 2, of_211_64);       // [211 64]
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_1963264, HAP_F32, 2, of_211_64);      // [211 64]
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 0, NULL);  // []
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_1690880, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_1690880, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 0, NULL);   // []
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_1690880, HAP_F32, 0, NULL);    // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 0, NULL);              // []

    hap_tensor *h_2_add_2_2[4], *ln_f_dx_2[4], *h_2_mlp_c_proj_bias_norm_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1694976, by_65536, i, HAP_F32, 3, of_8_32_64);
        ln_f_dx_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_2017280, by_65536, i % 2, HAP_F32, 3, of_8_32_64);
        h_2_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->ln_1_sum = hap_at_layer(r, SEG_LOCAL, at_1957120, by_1024, i, HAP_F32, 2, of_8_32);
        b->ln_1_m2 = hap_at_layer(r, SEG_LOCAL, at_1960192, by_1024, i, HAP_F32, 2, of_8_32);
        b->ln_1 = hap_at_layer(r, SEG_LOCAL, at_2179328, by_65536, i, HAP_F32, 3, of_8_32_64);
        b->ln_1_weight = hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), b->ln_1_weight, HAP_FILL(1));
        b->ln_1_bias = hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), b->ln_1_bias, HAP_FILL(0));
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_1963264, HAP_F32, 3, of_8_32_192); // [8 32 192]
        b->attn_c_attn_weight =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), b->attn_c_attn_weight,
                  HAP_NORMAL(0, 0.02));
        b->attn_c_attn_bias = hap_at_layer(r, SEG_LOCAL, at_148992, by_768, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), b->attn_c_attn_bias,
                  HAP_FILL(0));
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_1891584, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_2441472, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 4, of_8_32_4_16);
        b->attn_transpose =
            hap_at_layer(r, SEG_LOCAL, at_2592000, by_65536, i, HAP_F32, 4, of_8_4_32_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_2441472, HAP_F32, 4, of_8_32_4_16);
        b->attn_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_2788608, by_65536, i, HAP_F32, 4, of_8_4_32_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_1891584, HAP_F32, 4, of_8_32_4_16);
        b->attn_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_2985216, by_65536, i, HAP_F32, 4, of_8_4_32_16);
        b->attn_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_3181824, by_65536, i, HAP_F32, 4, of_8_4_32_16);
        b->attn_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_3378432, by_4096, i, HAP_F32, 3, of_8_4_32);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_3390720, by_65536, i, HAP_F32, 4, of_8_32_4_16);
        b->attn_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_3390720, by_65536, i, HAP_F32, 3, of_8_32_64);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_3587328, by_65536, i, HAP_F32, 3, of_8_32_64);
        b->attn_c_proj_weight =
            hap_at_layer(r, SEG_LOCAL, at_151296, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), b->attn_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->attn_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_200448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), b->attn_c_proj_bias,
                  HAP_FILL(0));
        b->add = hap_at_layer(r, SEG_LOCAL, at_3587328, by_65536, i, HAP_F32, 3, of_8_32_64);
        b->ln_2_sum = hap_at_layer(r, SEG_LOCAL, at_3783936, by_1024, i, HAP_F32, 2, of_8_32);
        b->ln_2_m2 = hap_at_layer(r, SEG_LOCAL, at_3787008, by_1024, i, HAP_F32, 2, of_8_32);
        b->ln_2 = hap_at_layer(r, SEG_LOCAL, at_3790080, by_65536, i, HAP_F32, 3, of_8_32_64);
        b->ln_2_weight = hap_at_layer(r, SEG_LOCAL, at_201216, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), b->ln_2_weight, HAP_FILL(1));
        b->ln_2_bias = hap_at_layer(r, SEG_LOCAL, at_201984, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), b->ln_2_bias, HAP_FILL(0));
        b->mlp_c_fc = hap_at_layer(r, SEG_LOCAL, at_3986688, by_196608, i, HAP_F32, 3, of_8_32_192);
        b->mlp_c_fc_weight =
            hap_at_layer(r, SEG_LOCAL, at_202752, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), b->mlp_c_fc_weight,
                  HAP_NORMAL(0, 0.02));
        b->mlp_c_fc_bias = hap_at_layer(r, SEG_LOCAL, at_350208, by_768, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), b->mlp_c_fc_bias,
                  HAP_FILL(0));
        b->mlp_act = hap_at_layer(r, SEG_LOCAL, at_4576512, by_196608, i, HAP_F32, 3, of_8_32_192);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_1963264, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->mlp_c_proj_weight =
            hap_at_layer(r, SEG_LOCAL, at_352512, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), b->mlp_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->mlp_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_499968, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), b->mlp_c_proj_bias,
                  HAP_FILL(0));
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 3, of_8_32_192);
        b->mlp_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1793280, by_49152, i, HAP_F32, 2, of_192_64);
        b->mlp_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_1693184, by_256, i, HAP_F32, 1, of_64);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_4969728, HAP_F32, 3, of_8_32_192); // [8 32 192]
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->mlp_c_fc_dw = hap_at_layer(r, SEG_LOCAL, at_4281600, by_49152, i, HAP_F32, 2, of_64_192);
        b->mlp_c_fc_db = hap_at_layer(r, SEG_LOCAL, at_1940736, by_768, i, HAP_F32, 1, of_192);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_1943040, HAP_F32, 2, of_8_32);   // [8 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_1944064, HAP_F32, 2, of_8_32); // [8 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_2441472, HAP_F32, 3, of_8_32_64);   // [8 32 64]
        b->ln_2_sum_2 =
            hap_at_layer(r, SEG_LOCAL, at_2017280, by_65536, i % 2, HAP_F32, 3, of_8_32_64);
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_1693952, by_256, i, HAP_F32, 1, of_64); // [64]
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1944832, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_3685632, by_16384, i, HAP_F32, 2, of_64_64);
        b->attn_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_1945600, by_256, i, HAP_F32, 1, of_64);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 4, of_8_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_2441472, HAP_F32, 4, of_8_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 4, of_8_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_2507008, HAP_F32, 4, of_8_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_3521792, HAP_F32, 4, of_8_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_2441472, HAP_F32, 4, of_8_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_2441472, HAP_F32, 3, of_8_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 4, of_8_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 3, of_8_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_2723072, HAP_F32, 4, of_8_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_2723072, HAP_F32, 3, of_8_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_4969728, HAP_F32, 3, of_8_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_2375936, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_2821376, by_49152, i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_db = hap_at_layer(r, SEG_LOCAL, at_1946368, by_768, i, HAP_F32, 1, of_192);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_1943040, HAP_F32, 2, of_8_32);   // [8 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_1948672, HAP_F32, 2, of_8_32); // [8 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_2310400, HAP_F32, 3, of_8_32_64);   // [8 32 64]
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_1949440, by_256, i, HAP_F32, 1, of_64); // [64]
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1950208, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->ln_1_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->ln_1_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->ln_2_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->ln_2_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->mlp_c_fc_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1691136, HAP_F32, 0, NULL); // []
        b->ln_1_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_500736, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg"), b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_501504, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_502272, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_503040, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_503808, by_49152, i, HAP_F32, 2, of_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_651264, by_49152, i, HAP_F32, 2, of_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_798720, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_801024, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_803328, by_16384, i, HAP_F32, 2, of_64_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_852480, by_16384, i, HAP_F32, 2, of_64_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_901632, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_902400, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_903168, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_903936, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_904704, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_905472, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_906240, by_49152, i, HAP_F32, 2, of_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1053696, by_49152, i, HAP_F32, 2, of_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1201152, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1203456, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1205760, by_49152, i, HAP_F32, 2, of_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1353216, by_49152, i, HAP_F32, 2, of_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1500672, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1501440, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg_sq"),
                  b->mlp_c_proj_bias_exp_avg_sq);
        b->add_2 = h_2_add_2_2[i];
        b->add_2_2 = h_2_add_2_2[i + 1];
        b->ln_f_dx = ln_f_dx_2[i + 1];
        b->ln_1_sum_2 = ln_f_dx_2[i];
        b->mlp_c_proj_bias_norm = h_2_mlp_c_proj_bias_norm_2[i];
        b->mlp_c_proj_bias_norm_2 = h_2_mlp_c_proj_bias_norm_2[i + 1];
        b->clip = clip;
    }

    hap_alias(r, "lm_head.weight", "transformer.wte.weight");
    hap_loss(r, loss);
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001, .warmup = 4, .cosine = 40, .min_lr = 0.1});

    while (hap_next_step(r)) {
        // transformer.wte, forward
        op_embedding(r, wte, wte_weight, input_ids); // y = a[b]    [8 32 64]    0.00203 ms

        // transformer.wpe, forward
        op_embedding(r, wpe, wpe_weight, wpe_const); // y = a[b]    [1 32 64]    0.002 ms

        // transformer.add, forward
        op_add(r, h_2_add_2_2[0], wte, wpe); // y = a + b    [8 32 64]    0.00204 ms

        for (int i = 0; i < 3; i++)
            h_forward(r, &h[i]);

        // transformer.ln_f, forward
        hap_fuse(r, "k1");                               // one kernel to hap_fused    0.00203 ms
        op_row_sum(r, ln_f_sum, h_2_add_2_2[3]);         // y = sum x    [8 32]
        op_row_m2(r, ln_f_m2, h_2_add_2_2[3], ln_f_sum); // y = sum (a - mean)^2    [8 32]
        // y = (a - mean) rstd d + e    [8 32 64]
        op_norm_apply(r, ln_f, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_weight, ln_f_bias, 1e-05);
        hap_fused(r, 3, (hap_tensor *const[]){ln_f_sum, ln_f_m2, ln_f});

        // lm_head, forward
        op_linear(r, lm_head, ln_f, wte_weight, NULL, HAP_NT); // [8 32 211]    0.00217 ms

        // pad, forward
        op_pad(r, pad, labels, 1, 0, 1, -100); // y = x, padded    [8 33]    0.002 ms

        // slice, forward
        op_slice(r, slice, pad, 1, 1, 33); // y = part of x    [8 32]    0.002 ms

        // ce_sum, forward
        hap_fuse(r, "k3");                  // one kernel to hap_fused    0.00206 ms
        op_row_max(r, ce_sum_max, lm_head); // y = max x    [8 32]
        op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max); // y = sum exp(a - b)    [8 32]
        hap_fused(r, 2, (hap_tensor *const[]){ce_sum_max, ce_sum_expsum});
        op_target_logit(r, ce_sum_target, lm_head, slice, -100); // [8 32]    0.002 ms
        // y = sum a + log b - c    []    0.002 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice, -100);

        // count, forward
        op_count(r, count, slice, -100); // y = count x    []    0.002 ms

        // loss, forward
        op_div(r, loss, ce_sum, count); // y = a / b    []    0.002 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.002 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.002 ms

        // ce_sum, backward
        // y = e (softmax - 1[label])    [8 32 211]    0.00211 ms
        op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice, loss_da, -100);

        // lm_head, backward
        op_linear(r, lm_head_dx, ce_sum_dx, wte_weight, NULL, HAP_NN); // [8 32 64]    0.00217 ms
        op_linear_dw(r, lm_head_dw, ce_sum_dx, ln_f); // y = sum rows a' b    [211 64]    0.00217 ms

        // transformer.ln_f, backward
        hap_fuse(r, "k4"); // one kernel to hap_fused    0.00205 ms
        op_norm_bwd_stats(r, ln_f_stats, ln_f_stats_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum,
                          ln_f_m2, ln_f_weight, 1e-05); // y, y1 = sum u, sum u xhat    [8 32]
        op_norm_bwd(r, ln_f_dx_2[3], lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_stats,
                    ln_f_stats_1, ln_f_weight, 1e-05); // y = dx of the norm    [8 32 64]
        hap_fused(r, 1, &ln_f_dx_2[3]);
        op_norm_bwd_params(r, ln_f_dw, ln_f_dw_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2,
                           1e-05); // y, y1 = dweight, dbias    [64]    0.00203 ms

        for (int i = 2; i >= 0; i--)
            h_backward(r, &h[i]);

        // transformer.add, backward
        op_sum(r, add_fold1, ln_f_dx_2[0], HAP_INTS(0), true); // [1 32 64]    0.00202 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // y[b] += a    [32 64]    0.002 ms

        // transformer.wte, backward
        op_embedding_bwd(r, wte_dw, ln_f_dx_2[0], input_ids, 211); // [211 64]    0.00203 ms
        op_add(r, wte_sum, lm_head_dw, wte_dw); // y = a + b    [211 64]    0.00204 ms

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum); // y = sum x^2    []    0.00201 ms
        op_sumsq(r, wpe_weight_sumsq, wpe_dw);  // y = sum x^2    []    0.002 ms
        // y = a + b    []    0.002 ms
        op_add(r, h_2_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);

        // update
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw); // y = sum x^2    []    0.002 ms
        // y = a + b    []    0.002 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm_2[3], ln_f_weight_sumsq);
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1); // y = sum x^2    []    0.002 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // y = a + b    []    0.002 ms
        op_clip_scale(r, clip, ln_f_bias_norm, 1); // y = min(1, 1 / sqrt x)    []    0.002 ms
        op_adam(r, wte_weight, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211 64]    0.0021 ms
        op_adam(r, wpe_weight, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32 64]    0.00201 ms

        for (int i = 0; i < 3; i++)
            h_update_2(r, &h[i]);

        // update
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.002 ms
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.002 ms
    }
    return hap_finish(r);
}
