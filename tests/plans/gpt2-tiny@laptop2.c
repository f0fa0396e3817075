// program.c: one training step of gpt2-tiny on 2 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop2.yaml -o gpt2-tiny@laptop2 -q
//
//   classes     cpu4 {0}  cpu3 {1}
//   predicted   4.64 ms/step = 4.52 ms compute and idle + 0.551 ms communication - 0.434 ms hidden;
//               bound 3.81 ms; by datasheet formulas
//   memory      3.78 MiB / 3.07 MiB    graph a94a3bb305aca178    cluster 8851bf650c8a0795
//   strategy    hap

#include "hap/runtime.h"

// 8 cut 0.625 0.375 over axis 0 (compute).
static const int64_t rows[2] = {5, 3};

// Byte offsets in the local segment, by class {cpu4, cpu3}.
static const int64_t at_3956992[2] = {3956992, 1692672}, at_3888384[2] = {3888384, 1690624};
static const int64_t at_1502208[2] = {1502208, 1502208}, at_1556224[2] = {1556224, 1556224};
static const int64_t at_0[2] = {0, 0}, at_768[2] = {768, 768}, at_1536[2] = {1536, 1536};
static const int64_t at_148992[2] = {148992, 148992}, at_151296[2] = {151296, 151296};
static const int64_t at_200448[2] = {200448, 200448}, at_201216[2] = {201216, 201216};
static const int64_t at_201984[2] = {201984, 201984}, at_202752[2] = {202752, 202752};
static const int64_t at_350208[2] = {350208, 350208}, at_352512[2] = {352512, 352512};
static const int64_t at_499968[2] = {499968, 499968}, at_1564416[2] = {1564416, 1564416};
static const int64_t at_1564672[2] = {1564672, 1564672}, at_1564928[2] = {1564928, 1564928};
static const int64_t at_1565184[2] = {1565184, 1565184}, at_1619200[2] = {1619200, 1619200};
static const int64_t at_1673216[2] = {1673216, 1673216}, at_1681408[2] = {1681408, 1681408};
static const int64_t at_500736[2] = {500736, 500736}, at_501504[2] = {501504, 501504};
static const int64_t at_502272[2] = {502272, 502272}, at_503040[2] = {503040, 503040};
static const int64_t at_503808[2] = {503808, 503808}, at_651264[2] = {651264, 651264};
static const int64_t at_798720[2] = {798720, 798720}, at_801024[2] = {801024, 801024};
static const int64_t at_803328[2] = {803328, 803328}, at_852480[2] = {852480, 852480};
static const int64_t at_901632[2] = {901632, 901632}, at_902400[2] = {902400, 902400};
static const int64_t at_903168[2] = {903168, 903168}, at_903936[2] = {903936, 903936};
static const int64_t at_904704[2] = {904704, 904704}, at_905472[2] = {905472, 905472};
static const int64_t at_906240[2] = {906240, 906240}, at_1053696[2] = {1053696, 1053696};
static const int64_t at_1201152[2] = {1201152, 1201152}, at_1203456[2] = {1203456, 1203456};
static const int64_t at_1205760[2] = {1205760, 1205760}, at_1353216[2] = {1353216, 1353216};
static const int64_t at_1500672[2] = {1500672, 1500672}, at_1501440[2] = {1501440, 1501440};
static const int64_t at_1689600[2] = {1689600, 1689600}, at_1689856[2] = {1689856, 1689856};
static const int64_t at_1690112[2] = {1690112, 1690112}, at_1690368[2] = {1690368, 1690368};
static const int64_t at_2427904[2] = {2427904, 1693696}, at_1690624[2] = {1690624, 1718272};
static const int64_t at_3947776[2] = {3947776, 1792000}, at_3950080[2] = {3950080, 1793536};
static const int64_t at_2862080[2] = {2862080, 2531328}, at_1936384[2] = {1936384, 1851904};
static const int64_t at_3435520[2] = {3435520, 1767424}, at_3189760[2] = {3189760, 1990656};
static const int64_t at_3312640[2] = {3312640, 2064384}, at_2984960[2] = {2984960, 2708224};
static const int64_t at_3107840[2] = {3107840, 3003136}, at_3230720[2] = {3230720, 3076864};
static const int64_t at_3353600[2] = {3353600, 3150592}, at_3940096[2] = {3940096, 1795072};
static const int64_t at_3476480[2] = {3476480, 1802752}, at_3599360[2] = {3599360, 1941504};
static const int64_t at_3952384[2] = {3952384, 1801216}, at_3954688[2] = {3954688, 1799680};
static const int64_t at_3722240[2] = {3722240, 2015232}, at_1690624_2[2] = {1690624, 2088960};
static const int64_t at_2059264[2] = {2059264, 2310144}, at_2591744[2] = {2591744, 1876480};
static const int64_t at_3958272[2] = {3958272, 1876480}, at_3959040[2] = {3959040, 1876992};
static const int64_t at_3845120[2] = {3845120, 1877504}, at_2591744_2[2] = {2591744, 2605056};
static const int64_t at_3886080[2] = {3886080, 1902080}, at_3887360[2] = {3887360, 1902080};
static const int64_t at_3890432[2] = {3890432, 1902592}, at_3886080_2[2] = {3886080, 1903104};
static const int64_t at_3891200[2] = {3891200, 1903872}, at_3888128[2] = {3888128, 1904384};
static const int64_t at_3959808[2] = {3959808, 1693440}, at_3886336[2] = {3886336, 1903360};
static const int64_t at_3888128_2[2] = {3888128, 1903616}, at_3886080_3[2] = {3886080, 1903872};
static const int64_t at_2726912[2] = {2726912, 2781952}, at_2591744_3[2] = {2591744, 1902080};
static const int64_t at_3886080_4[2] = {3886080, 2654208}, at_2632704[2] = {2632704, 1690624};
static const int64_t at_2633472[2] = {2633472, 1691136}, at_3960320[2] = {3960320, 1690624};
static const int64_t at_3960064[2] = {3960064, 1690880}, at_2616320[2] = {2616320, 2781952};
static const int64_t at_2468864[2] = {2468864, 2855680}, at_2408192[2] = {2408192, 1691136};
static const int64_t at_2739200[2] = {2739200, 2457600}, at_2354176[2] = {2354176, 1767424};
static const int64_t at_1838080[2] = {1838080, 2138112}, at_2034688[2] = {2034688, 2062848};
static const int64_t at_2036992[2] = {2036992, 1691904}, at_2395136[2] = {2395136, 2065152};
static const int64_t at_2616320_2[2] = {2616320, 2285568}, at_3804160[2] = {3804160, 2605056};
static const int64_t at_2040064[2] = {2040064, 2065408}, at_2039296[2] = {2039296, 2066176};
static const int64_t at_3681280[2] = {3681280, 1767424}, at_1985536[2] = {1985536, 1957888};
static const int64_t at_2040832[2] = {2040832, 2007040}, at_2354176_2[2] = {2354176, 2285568};
static const int64_t at_2616320_3[2] = {2616320, 1767424}, at_3558400[2] = {3558400, 2457600};
static const int64_t at_3681280_2[2] = {3681280, 2482176}, at_3066880[2] = {3066880, 2285568};
static const int64_t at_3189760_2[2] = {3189760, 1767424}, at_3312640_2[2] = {3312640, 2482176};
static const int64_t at_2616320_4[2] = {2616320, 2757376}, at_3066880_2[2] = {3066880, 1767424};
static const int64_t at_2206720[2] = {2206720, 1794048}, at_2036992_2[2] = {2036992, 2007808};
static const int64_t at_3953920[2] = {3953920, 1691904}, at_3956224[2] = {3956224, 2010112};
static const int64_t at_2944000[2] = {2944000, 2285568}, at_2042368[2] = {2042368, 2010368};
static const int64_t at_2041600[2] = {2041600, 2011136}, at_3853312[2] = {3853312, 1693696};
static const int64_t at_3845120_2[2] = {3845120, 1701888}, at_2354176_3[2] = {2354176, 1710080};
static const int64_t at_1690624_3[2] = {1690624, 1691904}, at_3940096_2[2] = {3940096, 1692160};
static const int64_t at_3940096_3[2] = {3940096, 1692416}, at_1690880[2] = {1690880, 1692160};

// Bytes from one block's buffer to the next one's.
static const int64_t by_768[2] = {768, 512}, by_40960[2] = {40960, 24576}, by_256[2] = {256, 256};
static const int64_t by_49152[2] = {49152, 49152}, by_768_2[2] = {768, 768};
static const int64_t by_2560[2] = {2560, 1536}, by_16384[2] = {16384, 16384};
static const int64_t by_122880[2] = {122880, 73728};

static const int64_t local_bytes[2] = {3960576, 3224320}, sym_bytes = 0;

// Collectives that are waited for elsewhere than where they start.
static hap_event *h_mlp_c_proj_dw_all_ready[3], *h_mlp_c_proj_db_all_ready[3];
static hap_event *h_mlp_c_fc_dw_all_ready[3], *h_mlp_c_fc_db_all_ready[3], *h_ln_2_dw_all_ready[3];
static hap_event *h_ln_2_dw_1_all_ready[3], *h_attn_c_proj_dw_all_ready[3];
static hap_event *h_attn_c_proj_db_all_ready[3], *h_attn_c_attn_dw_all_ready[3];
static hap_event *h_attn_c_attn_db_all_ready[3], *h_ln_1_dw_all_ready[3], *h_ln_1_dw_1_all_ready[3];

// What each of the 3 blocks h.* works on.
typedef struct h_block {
    hap_tensor *ln_1_sum, *add_2, *ln_1_m2, *ln_1, *ln_1_weight, *ln_1_bias, *attn_c_attn;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_bias, *attn_split_0, *attn_split_1, *attn_split_2;
    hap_tensor *attn_reshape, *attn_transpose, *attn_reshape_2, *attn_transpose_2, *attn_reshape_3;
    hap_tensor *attn_transpose_3, *attn_sdpa, *attn_sdpa_lse, *attn_transpose_4, *attn_reshape_4;
    hap_tensor *attn_c_proj, *attn_c_proj_weight, *attn_c_proj_bias, *add, *ln_2_sum, *ln_2_m2;
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc, *mlp_c_fc_weight, *mlp_c_fc_bias;
    hap_tensor *mlp_act, *mlp_c_proj, *mlp_c_proj_weight, *mlp_c_proj_bias, *add_2_2;
    hap_tensor *mlp_c_proj_dx, *ln_f_dx, *mlp_c_proj_dw, *mlp_c_proj_dw_all, *mlp_c_proj_db;
    hap_tensor *mlp_c_proj_db_all, *mlp_act_dx, *mlp_c_fc_dx, *mlp_c_fc_dw, *mlp_c_fc_dw_all;
    hap_tensor *mlp_c_fc_db, *mlp_c_fc_db_all, *ln_2_stats, *ln_2_stats_1, *ln_2_dx, *ln_2_sum_2;
    hap_tensor *ln_2_dw, *ln_2_dw_1, *ln_2_dw_all, *ln_2_dw_1_all, *attn_c_proj_dx, *attn_c_proj_dw;
    hap_tensor *attn_c_proj_dw_all, *attn_c_proj_db, *attn_c_proj_db_all, *attn_reshape_4_dx;
    hap_tensor *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1, *attn_sdpa_dqkv_2;
    hap_tensor *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx, *attn_reshape_2_dx;
    hap_tensor *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx, *attn_c_attn_dx;
    hap_tensor *attn_c_attn_dw, *attn_c_attn_dw_all, *attn_c_attn_db, *attn_c_attn_db_all;
    hap_tensor *ln_1_stats, *ln_1_stats_1, *ln_1_dx, *ln_1_sum_2, *ln_1_dw, *ln_1_dw_1;
    hap_tensor *ln_1_dw_all, *ln_1_dw_1_all, *ln_1_weight_sumsq, *ln_1_weight_norm;
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
    hap_event **mlp_c_proj_dw_all_ready, **mlp_c_proj_db_all_ready, **mlp_c_fc_dw_all_ready;
    hap_event **mlp_c_fc_db_all_ready, **ln_2_dw_all_ready, **ln_2_dw_1_all_ready;
    hap_event **attn_c_proj_dw_all_ready, **attn_c_proj_db_all_ready, **attn_c_attn_dw_all_ready;
    hap_event **attn_c_attn_db_all_ready, **ln_1_dw_all_ready, **ln_1_dw_1_all_ready;
} h_block;
static h_block h[3];

// One of the 3 blocks h, forward: 0.415 ms of computation.
static void h_forward(hap_rank *r, const h_block *b)
{
    // ln_1
    op_row_sum(r, b->ln_1_sum, b->add_2);            // y = sum x    [8@rows 32]    0.00425 ms
    op_row_m2(r, b->ln_1_m2, b->add_2, b->ln_1_sum); // [8@rows 32]    0.0043 ms
    op_norm_apply(r, b->ln_1, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_weight, b->ln_1_bias,
                  1e-05); // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00754 ms

    // attn
    // y = a b + c    [8@rows 32 192]    0.0829 ms
    op_linear(r, b->attn_c_attn, b->ln_1, b->attn_c_attn_weight, b->attn_c_attn_bias, HAP_NN);
    hap_tensor *const parts[] = {
        b->attn_split_0, // [8@rows 32 64]
        b->attn_split_1, // [8@rows 32 64]
        b->attn_split_2, // [8@rows 32 64]
    };
    op_split(r, 3, parts, b->attn_c_attn, 2, HAP_INTS(64, 64, 64)); // [8@rows 32 64]    0.0202 ms
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape, b->attn_split_1, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_transpose(r, b->attn_transpose, b->attn_reshape, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_2, b->attn_split_2, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_transpose(r, b->attn_transpose_2, b->attn_reshape_2, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_3, b->attn_split_0, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_transpose(r, b->attn_transpose_3, b->attn_reshape_3, HAP_INTS(0, 2, 1, 3));
    op_sdpa(r, b->attn_sdpa, b->attn_sdpa_lse, b->attn_transpose_3, b->attn_transpose,
            b->attn_transpose_2, NULL, true, 0.25, 0, 0, 0); // [8@rows 4 32 16]    0.0147 ms
    // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_transpose(r, b->attn_transpose_4, b->attn_sdpa, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_4, b->attn_transpose_4, HAP_INTS(8, 32, 64));
    op_linear(r, b->attn_c_proj, b->attn_reshape_4, b->attn_c_proj_weight, b->attn_c_proj_bias,
              HAP_NN); // y = a b + c    [8@rows 32 64]    0.0283 ms

    // add
    op_add(r, b->add, b->attn_c_proj, b->add_2); // y = a + b    [8@rows 32 64]    0.0106 ms

    // ln_2
    op_row_sum(r, b->ln_2_sum, b->add);            // y = sum x    [8@rows 32]    0.00425 ms
    op_row_m2(r, b->ln_2_m2, b->add, b->ln_2_sum); // [8@rows 32]    0.0043 ms
    // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00754 ms
    op_norm_apply(r, b->ln_2, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_weight, b->ln_2_bias, 1e-05);

    // mlp
    // y = a b + c    [8@rows 32 192]    0.0829 ms
    op_linear(r, b->mlp_c_fc, b->ln_2, b->mlp_c_fc_weight, b->mlp_c_fc_bias, HAP_NN);
    op_gelu(r, b->mlp_act, b->mlp_c_fc, true); // y = gelu x    [8@rows 32 192]    0.0202 ms
    // y = a b + c    [8@rows 32 64]    0.0829 ms
    op_linear(r, b->mlp_c_proj, b->mlp_act, b->mlp_c_proj_weight, b->mlp_c_proj_bias, HAP_NN);

    // add
    op_add(r, b->add_2_2, b->add, b->mlp_c_proj); // y = a + b    [8@rows 32 64]    0.0106 ms
}

// One of the 3 blocks h, backward: 0.772 ms of computation.
static void h_backward(hap_rank *r, const h_block *b)
{
    // mlp
    // y = a b'    [8@rows 32 192]    0.0829 ms
    op_linear(r, b->mlp_c_proj_dx, b->ln_f_dx, b->mlp_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_f_dx); // [192 64]+    0.0829 ms
    // + -> whole    [192 64]    48.0 KiB    0.0223 ms
    *b->mlp_c_proj_dw_all_ready = coll_all_reduce_start(
        r, AXIS(0), FORM_FLAT, 1, &b->mlp_c_proj_dw_all, &b->mlp_c_proj_dw, NULL);
    op_sum(r, b->mlp_c_proj_db, b->ln_f_dx, HAP_INTS(0, 1), false); // [64]+    0.00422 ms
    // + -> whole    [64]    256 B    0.0101 ms
    *b->mlp_c_proj_db_all_ready = coll_all_reduce_start(
        r, AXIS(0), FORM_FLAT, 1, &b->mlp_c_proj_db_all, &b->mlp_c_proj_db, NULL);
    // y = a gelu'(b)    [8@rows 32 192]    0.0298 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    // y = a b'    [8@rows 32 64]    0.0829 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx); // [64 192]+    0.0829 ms
    // + -> whole    [64 192]    48.0 KiB    0.0223 ms
    *b->mlp_c_fc_dw_all_ready =
        coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &b->mlp_c_fc_dw_all, &b->mlp_c_fc_dw, NULL);
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.0107 ms
    // + -> whole    [192]    768 B    0.0102 ms
    *b->mlp_c_fc_db_all_ready =
        coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &b->mlp_c_fc_db_all, &b->mlp_c_fc_db, NULL);

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // [8@rows 32]    0.00762 ms
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05); // [8@rows 32 64]    0.0108 ms
    op_add(r, b->ln_2_sum_2, b->ln_f_dx, b->ln_2_dx);    // y = a + b    [8@rows 32 64]    0.0106 ms
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
                       1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms
    // + -> whole    [64]    256 B    0.0101 ms
    *b->ln_2_dw_all_ready =
        coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &b->ln_2_dw_all, &b->ln_2_dw, NULL);
    // + -> whole    [64]    256 B    0.0101 ms
    *b->ln_2_dw_1_all_ready =
        coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &b->ln_2_dw_1_all, &b->ln_2_dw_1, NULL);

    // attn
    // y = a b'    [8@rows 32 64]    0.0283 ms
    op_linear(r, b->attn_c_proj_dx, b->ln_2_sum_2, b->attn_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_sum_2); // [64 64]+    0.0283 ms
    // + -> whole    [64 64]    16.0 KiB    0.0141 ms
    *b->attn_c_proj_dw_all_ready = coll_all_reduce_start(
        r, AXIS(0), FORM_FLAT, 1, &b->attn_c_proj_dw_all, &b->attn_c_proj_dw, NULL);
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.00422 ms
    // + -> whole    [64]    256 B    0.0101 ms
    *b->attn_c_proj_db_all_ready = coll_all_reduce_start(
        r, AXIS(0), FORM_FLAT, 1, &b->attn_c_proj_db_all, &b->attn_c_proj_db, NULL);
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_4_dx, b->attn_c_proj_dx, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_transpose(r, b->attn_transpose_4_dx, b->attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3));
    // y, y1, y2 = dq, dk, dv    [8@rows 4 32 16]    0.0351 ms
    op_sdpa_bwd(r, b->attn_sdpa_dqkv, b->attn_sdpa_dqkv_1, b->attn_sdpa_dqkv_2,
                b->attn_transpose_4_dx, b->attn_transpose_3, b->attn_transpose, b->attn_transpose_2,
                b->attn_sdpa, b->attn_sdpa_lse, NULL, true, 0.25, 0, 0, 0);
    // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_transpose(r, b->attn_transpose_3_dx, b->attn_sdpa_dqkv, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_3_dx, b->attn_transpose_3_dx, HAP_INTS(8, 32, 64));
    // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_transpose(r, b->attn_transpose_2_dx, b->attn_sdpa_dqkv_2, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_2_dx, b->attn_transpose_2_dx, HAP_INTS(8, 32, 64));
    // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_transpose(r, b->attn_transpose_dx, b->attn_sdpa_dqkv_1, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_dx, b->attn_transpose_dx, HAP_INTS(8, 32, 64));
    hap_tensor *const parts[] = {
        b->attn_reshape_3_dx, // [8@rows 32 64]
        b->attn_reshape_dx,   // [8@rows 32 64]
        b->attn_reshape_2_dx, // [8@rows 32 64]
    };
    op_concat(r, b->attn_split_dx, 3, parts, 2); // y = xs    [8@rows 32 192]    0.0202 ms
    // y = a b'    [8@rows 32 64]    0.0829 ms
    op_linear(r, b->attn_c_attn_dx, b->attn_split_dx, b->attn_c_attn_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_attn_dw, b->ln_1, b->attn_split_dx); // [64 192]+    0.0829 ms
    // + -> whole    [64 192]    48.0 KiB    0.0223 ms
    *b->attn_c_attn_dw_all_ready = coll_all_reduce_start(
        r, AXIS(0), FORM_FLAT, 1, &b->attn_c_attn_dw_all, &b->attn_c_attn_dw, NULL);
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+    0.0107 ms
    // + -> whole    [192]    768 B    0.0102 ms
    *b->attn_c_attn_db_all_ready = coll_all_reduce_start(
        r, AXIS(0), FORM_FLAT, 1, &b->attn_c_attn_db_all, &b->attn_c_attn_db, NULL);

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_stats, b->ln_1_stats_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                      b->ln_1_m2, b->ln_1_weight, 1e-05); // [8@rows 32]    0.00762 ms
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_stats,
                b->ln_1_stats_1, b->ln_1_weight, 1e-05); // [8@rows 32 64]    0.0108 ms
    op_add(r, b->ln_1_sum_2, b->ln_2_sum_2, b->ln_1_dx); // y = a + b    [8@rows 32 64]    0.0106 ms
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_dw_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                       b->ln_1_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms
    // + -> whole    [64]    256 B    0.0101 ms
    *b->ln_1_dw_all_ready =
        coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &b->ln_1_dw_all, &b->ln_1_dw, NULL);
    // + -> whole    [64]    256 B    0.0101 ms
    *b->ln_1_dw_1_all_ready =
        coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &b->ln_1_dw_1_all, &b->ln_1_dw_1, NULL);
}

// One of the 3 blocks h, backward: 0.0414 ms of computation.
static void h_backward_2(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->ln_1_dw_all_ready); // 0.0101 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_all); // y = sum x^2    []    0.00103 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq); // []    0.001 ms
    hap_wait(r, *b->ln_1_dw_1_all_ready);              // 0.0101 ms hidden
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1_all); // y = sum x^2    []    0.00103 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []    0.001 ms
    hap_wait(r, *b->attn_c_attn_dw_all_ready);                             // 0.0223 ms hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_all);       // []    0.00612 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    hap_wait(r, *b->attn_c_attn_db_all_ready);                     // 0.0102 ms hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_all); // []    0.00108 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    hap_wait(r, *b->attn_c_proj_dw_all_ready);                       // 0.0141 ms hidden
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_all); // []    0.00271 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    hap_wait(r, *b->attn_c_proj_db_all_ready);                     // 0.0101 ms hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_all); // []    0.00103 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    hap_wait(r, *b->ln_2_dw_all_ready);                // 0.0101 ms hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_all); // y = sum x^2    []    0.00103 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    hap_wait(r, *b->ln_2_dw_1_all_ready);              // 0.0101 ms hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1_all); // y = sum x^2    []    0.00103 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []    0.001 ms
    hap_wait(r, *b->mlp_c_fc_dw_all_ready);                                // 0.0223 ms hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_all); // y = sum x^2    []    0.00612 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    hap_wait(r, *b->mlp_c_fc_db_all_ready);                  // 0.0102 ms hidden
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_all); // y = sum x^2    []    0.00108 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    hap_wait(r, *b->mlp_c_proj_dw_all_ready);                      // 0.0223 ms hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_all); // []    0.00612 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_wait(r, *b->mlp_c_proj_db_all_ready);                    // 0.0101 ms hidden
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_all); // y = sum x^2    []    0.00103 ms
    // y = a + b    []    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 3 blocks h, update: 0.134 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    // update
    op_adam(r, b->ln_1_weight, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq, b->ln_1_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    op_adam(r, b->ln_1_bias, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    op_adam(r, b->attn_c_attn_weight, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_all, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64 192]    0.0368 ms
    op_adam(r, b->attn_c_attn_bias, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00156 ms
    op_adam(r, b->attn_c_proj_weight, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_all, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64 64]    0.0129 ms
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
    op_adam(r, b->ln_2_weight, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq, b->ln_2_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    op_adam(r, b->ln_2_bias, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    op_adam(r, b->mlp_c_fc_weight, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_all, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // [64 192]    0.0368 ms
    op_adam(r, b->mlp_c_fc_bias, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00156 ms
    op_adam(r, b->mlp_c_proj_weight, b->mlp_c_proj_weight_exp_avg, b->mlp_c_proj_weight_exp_avg_sq,
            b->mlp_c_proj_dw_all, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true); // [192 64]    0.0368 ms
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
}

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "a94a3bb305aca178", 2);
    hap_mesh(r, 1, (const int[]){2});
    hap_classes(r, (const int[]){0, 1});
    hap_segments(r, sym_bytes, local_bytes);

    // Global shapes. [n@rows] is cut by rows[], [n] is whole on every rank, + is a partial sum, ^ a
    // partial max.
    const hap_dim rows_32[] = {CUT(0, 8, rows), WHOLE(32)};
    const hap_dim of_8_32[] = {WHOLE(8), WHOLE(32)};
    const hap_dim of_211_64[] = {WHOLE(211), WHOLE(64)};
    const hap_dim of_32_64[] = {WHOLE(32), WHOLE(64)};
    const hap_dim of_64[] = {WHOLE(64)};
    const hap_dim of_64_192[] = {WHOLE(64), WHOLE(192)};
    const hap_dim of_192[] = {WHOLE(192)};
    const hap_dim of_64_64[] = {WHOLE(64), WHOLE(64)};
    const hap_dim of_192_64[] = {WHOLE(192), WHOLE(64)};
    const hap_dim of_1_32[] = {WHOLE(1), WHOLE(32)};
    const hap_dim rows_32_64[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(64)};
    const hap_dim of_1_32_64[] = {WHOLE(1), WHOLE(32), WHOLE(64)};
    const hap_dim rows_32_192[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(192)};
    const hap_dim rows_32_4_16[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(4), WHOLE(16)};
    const hap_dim rows_4_32_16[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32), WHOLE(16)};
    const hap_dim rows_4_32[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32)};
    const hap_dim rows_32_211[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(211)};
    const hap_dim of_8_33[] = {WHOLE(8), WHOLE(33)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_3956992, HAP_I64, 2, rows_32);
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_3888384, HAP_I64, 2, of_8_32); // [8 32]
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
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_2427904, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_3958272, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_3959040, HAP_F32, 2, rows_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_3845120, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_2591744_2, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_3886080, HAP_I64, 2, of_8_33);   // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_3888384, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_3887360, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_3890432, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_3886080_2, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_3891200, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_3886080_2, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_3888128, HAP_F32, 0, NULL);     // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_LOCAL, at_3888128, HAP_F32, 0, NULL); // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_3886080_2, HAP_F32, 0, NULL);    // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_3959808, HAP_F32, 0, NULL);       // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_3886336, HAP_F32, 0, NULL);  // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_3888128_2, HAP_F32, 0, NULL);  // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_3886080_3, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_2726912, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_2591744_3, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_3886080_4, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_2632704, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_2633472, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_3960320, HAP_F32, 1, of_64);        // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_3960064, HAP_F32, 1, of_64);      // [64]+
    hap_tensor *ln_f_dw_all = hap_at(r, SEG_LOCAL, at_3960320, HAP_F32, 1, of_64);    // [64]
    hap_tensor *ln_f_dw_1_all = hap_at(r, SEG_LOCAL, at_3960064, HAP_F32, 1, of_64);  // [64]
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_3853312, HAP_F32, 3, of_1_32_64); // [1 32 64]+
    hap_tensor *add_fold1_all = hap_at(r, SEG_LOCAL, at_3853312, HAP_F32, 3, of_1_32_64);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_3845120_2, HAP_F32, 2, of_32_64);   // [32 64]
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_2354176_3, HAP_F32, 2, of_211_64);  // [211 64]+
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_3886080_4, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *wte_sum_all = hap_at(r, SEG_LOCAL, at_3886080_4, HAP_F32, 2, of_211_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_1690624_3, HAP_F32, 0, NULL); // []
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_3940096_2, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_1690624_3, HAP_F32, 0, NULL);
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_1690880, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_1690624_3, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_1690880, HAP_F32, 0, NULL);    // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_1690624_3, HAP_F32, 0, NULL);            // []

    hap_tensor *h_2_add_2_2[4], *ln_f_dx_2[4], *h_2_mlp_c_proj_bias_norm_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_2427904, by_40960, i, HAP_F32, 3, rows_32_64);
        ln_f_dx_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_3804160, by_40960, i % 2, HAP_F32, 3, rows_32_64);
        h_2_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->ln_1_sum = hap_at_layer(r, SEG_LOCAL, at_3947776, by_768, i, HAP_F32, 2, rows_32);
        b->ln_1_m2 = hap_at_layer(r, SEG_LOCAL, at_3950080, by_768, i, HAP_F32, 2, rows_32);
        b->ln_1 = hap_at_layer(r, SEG_LOCAL, at_2862080, by_40960, i, HAP_F32, 3, rows_32_64);
        b->ln_1_weight = hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), b->ln_1_weight, HAP_FILL(1));
        b->ln_1_bias = hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), b->ln_1_bias, HAP_FILL(0));
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_1936384, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_weight =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), b->attn_c_attn_weight,
                  HAP_NORMAL(0, 0.02));
        b->attn_c_attn_bias =
            hap_at_layer(r, SEG_LOCAL, at_148992, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), b->attn_c_attn_bias,
                  HAP_FILL(0));
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_3435520, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_3189760, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_3312640, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_3189760, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose =
            hap_at_layer(r, SEG_LOCAL, at_2984960, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_3312640, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_3107840, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_3435520, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_3230720, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_3353600, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_3940096, by_2560, i, HAP_F32, 3, rows_4_32);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_3476480, by_40960, i, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_3476480, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_3599360, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_weight =
            hap_at_layer(r, SEG_LOCAL, at_151296, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), b->attn_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->attn_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_200448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), b->attn_c_proj_bias,
                  HAP_FILL(0));
        b->add = hap_at_layer(r, SEG_LOCAL, at_3599360, by_40960, i, HAP_F32, 3, rows_32_64);
        b->ln_2_sum = hap_at_layer(r, SEG_LOCAL, at_3952384, by_768, i, HAP_F32, 2, rows_32);
        b->ln_2_m2 = hap_at_layer(r, SEG_LOCAL, at_3954688, by_768, i, HAP_F32, 2, rows_32);
        b->ln_2 = hap_at_layer(r, SEG_LOCAL, at_3722240, by_40960, i, HAP_F32, 3, rows_32_64);
        b->ln_2_weight = hap_at_layer(r, SEG_LOCAL, at_201216, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), b->ln_2_weight, HAP_FILL(1));
        b->ln_2_bias = hap_at_layer(r, SEG_LOCAL, at_201984, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), b->ln_2_bias, HAP_FILL(0));
        b->mlp_c_fc =
            hap_at_layer(r, SEG_LOCAL, at_1690624_2, by_122880, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_weight =
            hap_at_layer(r, SEG_LOCAL, at_202752, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), b->mlp_c_fc_weight,
                  HAP_NORMAL(0, 0.02));
        b->mlp_c_fc_bias = hap_at_layer(r, SEG_LOCAL, at_350208, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), b->mlp_c_fc_bias,
                  HAP_FILL(0));
        b->mlp_act = hap_at_layer(r, SEG_LOCAL, at_2059264, by_122880, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_2591744, HAP_F32, 3, rows_32_64);
        b->mlp_c_proj_weight =
            hap_at_layer(r, SEG_LOCAL, at_352512, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), b->mlp_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->mlp_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_499968, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), b->mlp_c_proj_bias,
                  HAP_FILL(0));
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_2616320, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_2468864, by_49152, i, HAP_F32, 2, of_192_64); // [192 64]+
        b->mlp_c_proj_dw_all =
            hap_at_layer(r, SEG_LOCAL, at_2468864, by_49152, i, HAP_F32, 2, of_192_64);
        // [64]+
        b->mlp_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_2408192, by_256, i, HAP_F32, 1, of_64);
        b->mlp_c_proj_db_all = hap_at_layer(r, SEG_LOCAL, at_2408192, by_256, i, HAP_F32, 1, of_64);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_2739200, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_2354176, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->mlp_c_fc_dw = hap_at_layer(r, SEG_LOCAL, at_1838080, by_49152, i, HAP_F32, 2, of_64_192);
        b->mlp_c_fc_dw_all =
            hap_at_layer(r, SEG_LOCAL, at_1838080, by_49152, i, HAP_F32, 2, of_64_192);
        // [192]+
        b->mlp_c_fc_db = hap_at_layer(r, SEG_LOCAL, at_2034688, by_768_2, i, HAP_F32, 1, of_192);
        b->mlp_c_fc_db_all =
            hap_at_layer(r, SEG_LOCAL, at_2034688, by_768_2, i, HAP_F32, 1, of_192);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_2036992, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_2395136, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_2616320_2, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_2_sum_2 =
            hap_at_layer(r, SEG_LOCAL, at_3804160, by_40960, i % 2, HAP_F32, 3, rows_32_64);
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_2040064, by_256, i, HAP_F32, 1, of_64); // [64]+
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_2039296, by_256, i, HAP_F32, 1, of_64);
        b->ln_2_dw_all = hap_at_layer(r, SEG_LOCAL, at_2040064, by_256, i, HAP_F32, 1, of_64);
        b->ln_2_dw_1_all = hap_at_layer(r, SEG_LOCAL, at_2039296, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_3681280, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1985536, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attn_c_proj_dw_all =
            hap_at_layer(r, SEG_LOCAL, at_1985536, by_16384, i, HAP_F32, 2, of_64_64);
        // [64]+
        b->attn_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_2040832, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_db_all =
            hap_at_layer(r, SEG_LOCAL, at_2040832, by_256, i, HAP_F32, 1, of_64);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_3681280, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_2354176_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_2616320_3, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_3558400, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_3681280_2, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_3066880, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_3066880, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_3189760_2, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_3189760_2, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_3312640_2, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_3312640_2, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_2616320_4, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_3066880_2, HAP_F32, 3, rows_32_64);
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_2206720, by_49152, i, HAP_F32, 2, of_64_192); // [64 192]+
        b->attn_c_attn_dw_all =
            hap_at_layer(r, SEG_LOCAL, at_2206720, by_49152, i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_db =
            hap_at_layer(r, SEG_LOCAL, at_2036992_2, by_768_2, i, HAP_F32, 1, of_192); // [192]+
        b->attn_c_attn_db_all =
            hap_at_layer(r, SEG_LOCAL, at_2036992_2, by_768_2, i, HAP_F32, 1, of_192);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_3953920, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_3956224, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_2944000, HAP_F32, 3, rows_32_64);   // [8@rows 32 64]
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_2042368, by_256, i, HAP_F32, 1, of_64); // [64]+
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_2041600, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_dw_all = hap_at_layer(r, SEG_LOCAL, at_2042368, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_dw_1_all = hap_at_layer(r, SEG_LOCAL, at_2041600, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->ln_1_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->ln_1_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->ln_2_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->ln_2_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->mlp_c_fc_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1690624_3, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_3940096_3, HAP_F32, 0, NULL); // []
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
            hap_at_layer(r, SEG_LOCAL, at_798720, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_801024, by_768_2, i, HAP_F32, 1, of_192);
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
            hap_at_layer(r, SEG_LOCAL, at_1201152, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1203456, by_768_2, i, HAP_F32, 1, of_192);
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
        b->mlp_c_proj_dw_all_ready = &h_mlp_c_proj_dw_all_ready[i];
        b->mlp_c_proj_db_all_ready = &h_mlp_c_proj_db_all_ready[i];
        b->mlp_c_fc_dw_all_ready = &h_mlp_c_fc_dw_all_ready[i];
        b->mlp_c_fc_db_all_ready = &h_mlp_c_fc_db_all_ready[i];
        b->ln_2_dw_all_ready = &h_ln_2_dw_all_ready[i];
        b->ln_2_dw_1_all_ready = &h_ln_2_dw_1_all_ready[i];
        b->attn_c_proj_dw_all_ready = &h_attn_c_proj_dw_all_ready[i];
        b->attn_c_proj_db_all_ready = &h_attn_c_proj_db_all_ready[i];
        b->attn_c_attn_dw_all_ready = &h_attn_c_attn_dw_all_ready[i];
        b->attn_c_attn_db_all_ready = &h_attn_c_attn_db_all_ready[i];
        b->ln_1_dw_all_ready = &h_ln_1_dw_all_ready[i];
        b->ln_1_dw_1_all_ready = &h_ln_1_dw_1_all_ready[i];
    }

    hap_alias(r, "lm_head.weight", "transformer.wte.weight");
    hap_loss(r, loss);
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001, .warmup = 4, .cosine = 40, .min_lr = 0.1});

    while (hap_next_step(r)) {
        // transformer.wte, forward
        op_embedding(r, wte, wte_weight, input_ids); // y = a[b]    [8@rows 32 64]    0.0075 ms

        // transformer.wpe, forward
        op_embedding(r, wpe, wpe_weight, wpe_const); // y = a[b]    [1 32 64]    0.00273 ms

        // transformer.add, forward
        op_add(r, h_2_add_2_2[0], wte, wpe); // y = a + b    [8@rows 32 64]    0.00804 ms

        for (int i = 0; i < 3; i++)
            h_forward(r, &h[i]);

        // transformer.ln_f, forward
        op_row_sum(r, ln_f_sum, h_2_add_2_2[3]);         // y = sum x    [8@rows 32]    0.00425 ms
        op_row_m2(r, ln_f_m2, h_2_add_2_2[3], ln_f_sum); // [8@rows 32]    0.0043 ms
        // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00754 ms
        op_norm_apply(r, ln_f, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_weight, ln_f_bias, 1e-05);

        // lm_head, forward
        op_linear(r, lm_head, ln_f, wte_weight, NULL, HAP_NT); // [8@rows 32 211]    0.091 ms

        // pad, forward
        op_pad(r, pad, labels, 1, 0, 1, -100); // y = x, padded    [8 33]    0.00143 ms

        // slice, forward
        op_slice(r, slice, pad, 1, 1, 33); // y = part of x    [8 32]    0.00143 ms

        // ce_sum, forward
        op_row_max(r, ce_sum_max, lm_head); // y = max x    [8@rows 32]    0.0116 ms
        op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max); // [8@rows 32]    0.0117 ms
        hap_cut(r, slice_cut, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00116 ms
        op_target_logit(r, ce_sum_target, lm_head, slice_cut, -100); // [8@rows 32]    0.0012 ms
        hap_cut(r, slice_cut_2, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00116 ms
        // y = sum a + log b - c    []+    0.00125 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice_cut_2, -100);
        // + -> whole    []    4 B    0.01 ms
        hap_event *e_ce_sum_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ce_sum_all, &ce_sum, NULL);

        // count, forward
        op_count(r, count, slice, -100); // y = count x    []    0.00121 ms
        hap_wait(r, e_ce_sum_all);

        // loss, forward
        op_div(r, loss, ce_sum_all, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        hap_cut(r, slice_cut_3, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00116 ms
        // y = e (softmax - 1[label])    [8@rows 32 211]    0.0223 ms
        op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice_cut_3, loss_da, -100);

        // lm_head, backward
        op_linear(r, lm_head_dx, ce_sum_dx, wte_weight, NULL, HAP_NN); // [8@rows 32 64]    0.091 ms
        op_linear_dw(r, lm_head_dw, ce_sum_dx, ln_f); // y = sum rows a' b    [211 64]+    0.091 ms

        // transformer.ln_f, backward
        op_norm_bwd_stats(r, ln_f_stats, ln_f_stats_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum,
                          ln_f_m2, ln_f_weight, 1e-05); // [8@rows 32]    0.00762 ms
        op_norm_bwd(r, ln_f_dx_2[3], lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_stats,
                    ln_f_stats_1, ln_f_weight, 1e-05); // [8@rows 32 64]    0.0108 ms
        op_norm_bwd_params(r, ln_f_dw, ln_f_dw_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2,
                           1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms
        // + -> whole    [64]    256 B    0.0101 ms
        hap_event *e_ln_f_dw_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ln_f_dw_all, &ln_f_dw, NULL);
        // + -> whole    [64]    256 B    0.0101 ms
        hap_event *e_ln_f_dw_1_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ln_f_dw_1_all, &ln_f_dw_1, NULL);

        for (int i = 2; i >= 0; i--)
            h_backward(r, &h[i]);

        // transformer.add, backward
        op_sum(r, add_fold1, ln_f_dx_2[0], HAP_INTS(0), true); // [1 32 64]+    0.00484 ms
        // + -> whole    [1 32 64]    8.00 KiB    0.012 ms
        hap_event *e_add_fold1_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &add_fold1_all, &add_fold1, NULL);
        hap_wait(r, e_add_fold1_all);

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1_all, wpe_const, 32); // [32 64]    0.00273 ms

        // transformer.wte, backward
        op_embedding_bwd(r, wte_dw, ln_f_dx_2[0], input_ids, 211); // [211 64]+    0.00927 ms
        op_add(r, wte_sum, lm_head_dw, wte_dw); // y = a + b    [211 64]+    0.0179 ms
        // + -> whole    [211 64]    52.8 KiB    0.0235 ms
        hap_event *e_wte_sum_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &wte_sum_all, &wte_sum, NULL);
        hap_wait(r, e_wte_sum_all);

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum_all); // y = sum x^2    []    0.00663 ms
        op_sumsq(r, wpe_weight_sumsq, wpe_dw);      // y = sum x^2    []    0.00185 ms
        // y = a + b    []    0.001 ms
        op_add(r, h_2_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 3; i++)
            h_backward_2(r, &h[i]);
        hap_wait(r, e_ln_f_dw_all); // 0.0101 ms hidden

        // update
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_all); // y = sum x^2    []    0.00103 ms
        // y = a + b    []    0.001 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm_2[3], ln_f_weight_sumsq);
        hap_wait(r, e_ln_f_dw_1_all);                // 0.0101 ms hidden
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1_all); // y = sum x^2    []    0.00103 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // y = a + b    []    0.001 ms
        op_clip_scale(r, clip, ln_f_bias_norm, 1); // y = min(1, 1 / sqrt x)    []    0.001 ms
        op_adam(r, wte_weight, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum_all, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211 64]    0.0404 ms
        op_adam(r, wpe_weight, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32 64]    0.00697 ms

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);

        // update
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_all, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_all, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    }
    return hap_finish(r);
}
