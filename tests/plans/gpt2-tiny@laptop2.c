// program.c: one training step of gpt2-tiny on 2 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop2.yaml -o gpt2-tiny@laptop2 -q
//
//   classes     cpu4 {0}  cpu3 {1}
//   predicted   4.44 ms/step = 4.34 ms compute and idle + 0.639 ms communication - 0.533 ms hidden;
//               bound 3.81 ms; by datasheet formulas
//   memory      3.42 MiB / 2.58 MiB    graph a94a3bb305aca178    cluster 8851bf650c8a0795
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.625 0.375 over axis 0 (compute).
static const int64_t rows[2] = {5, 3};

// 32 cut 0.688 0.312 over axis 0 (compute).
static const int64_t cut_32[2] = {22, 10};

// 211 cut 0.573 0.427 over axis 0 (compute).
static const int64_t vocab[2] = {121, 90};

// 64 cut 0.578 0.422 over axis 0 (compute).
static const int64_t cut_64[2] = {37, 27};

// 3 cut 0.667 0.333 over axis 0 (compute).
static const int64_t cut_3[2] = {2, 1};

// 4 cut 0.500 0.500 over axis 0 (compute).
static const int64_t heads[2] = {2, 2};

// 192 cut 0.573 0.427 over axis 0 (compute).
static const int64_t cut_192[2] = {110, 82};

// Byte offsets in the local segment, by class {cpu4, cpu3}.
static const int64_t at_3570688[2] = {3570688, 2534400}, at_2250240[2] = {2250240, 1578240};
static const int64_t at_1075200[2] = {1075200, 938496}, at_1129216[2] = {1129216, 992512};
static const int64_t at_0[2] = {0, 0}, at_768[2] = {768, 768}, at_1536[2] = {1536, 1536};
static const int64_t at_148992[2] = {148992, 148992}, at_151296[2] = {151296, 151296};
static const int64_t at_200448[2] = {200448, 200448}, at_201216[2] = {201216, 201216};
static const int64_t at_201984[2] = {201984, 201984}, at_202752[2] = {202752, 202752};
static const int64_t at_350208[2] = {350208, 350208}, at_352512[2] = {352512, 352512};
static const int64_t at_499968[2] = {499968, 499968}, at_1137408[2] = {1137408, 1000704};
static const int64_t at_1137664[2] = {1137664, 1000960}, at_1137920[2] = {1137920, 1001216};
static const int64_t at_1138176[2] = {1138176, 1001472}, at_1169152[2] = {1169152, 1024512};
static const int64_t at_1200128[2] = {1200128, 1047552}, at_1205760[2] = {1205760, 1050112};
static const int64_t at_500736[2] = {500736, 500736}, at_501504[2] = {501504, 501504};
static const int64_t at_502272[2] = {502272, 502272}, at_503040[2] = {503040, 503040};
static const int64_t at_503808[2] = {503808, 503808}, at_589056[2] = {589056, 566016};
static const int64_t at_674304[2] = {674304, 628224}, at_675840[2] = {675840, 628992};
static const int64_t at_677376[2] = {677376, 629760}, at_701952[2] = {701952, 654336};
static const int64_t at_726528[2] = {726528, 678912}, at_727296[2] = {727296, 679680};
static const int64_t at_728064[2] = {728064, 680448}, at_728832[2] = {728832, 681216};
static const int64_t at_729600[2] = {729600, 681984}, at_730368[2] = {730368, 682752};
static const int64_t at_731136[2] = {731136, 683520}, at_816384[2] = {816384, 745728};
static const int64_t at_901632[2] = {901632, 807936}, at_903168[2] = {903168, 809472};
static const int64_t at_904704[2] = {904704, 811008}, at_989184[2] = {989184, 873984};
static const int64_t at_1073664[2] = {1073664, 936960}, at_1074432[2] = {1074432, 937728};
static const int64_t at_1211392[2] = {1211392, 1052672}, at_1211648[2] = {1211648, 1052928};
static const int64_t at_1211904[2] = {1211904, 1053184}, at_1212160[2] = {1212160, 1053440};
static const int64_t at_1949696[2] = {1949696, 1692672}, at_1212416[2] = {1212416, 1053696};
static const int64_t at_3573760[2] = {3573760, 2528256}, at_3576064[2] = {3576064, 2529792};
static const int64_t at_2579712[2] = {2579712, 1790976}, at_1458176[2] = {1458176, 1201152};
static const int64_t at_1826816[2] = {1826816, 1422336}, at_1908736[2] = {1908736, 1471488};
static const int64_t at_1867776[2] = {1867776, 1446912}, at_2702592[2] = {2702592, 1864704};
static const int64_t at_2825472[2] = {2825472, 1938432}, at_2948352[2] = {2948352, 2012160};
static const int64_t at_3071232[2] = {3071232, 2085888}, at_3439872[2] = {3439872, 2701312};
static const int64_t at_3194112[2] = {3194112, 2159616}, at_3316992[2] = {3316992, 2233344};
static const int64_t at_3578368[2] = {3578368, 2531328}, at_3580672[2] = {3580672, 2532864};
static const int64_t at_3447552[2] = {3447552, 2307072}, at_1581056[2] = {1581056, 1274880};
static const int64_t at_2113536[2] = {2113536, 1496064}, at_2426112[2] = {2426112, 1683712};
static const int64_t at_2426880[2] = {2426880, 1684224}, at_2383872[2] = {2383872, 1658368};
static const int64_t at_2248704[2] = {2248704, 1577216}, at_2424832[2] = {2424832, 1682944};
static const int64_t at_2427648[2] = {2427648, 1684736}, at_2428416[2] = {2428416, 1685248};
static const int64_t at_2250752[2] = {2250752, 1579264}, at_2251008[2] = {2251008, 1579520};
static const int64_t at_3571968[2] = {3571968, 2651392}, at_2429184[2] = {2429184, 1685760};
static const int64_t at_2525696[2] = {2525696, 2597376}, at_2154496[2] = {2154496, 1520640};
static const int64_t at_2155264[2] = {2155264, 1521152}, at_3573248[2] = {3573248, 2651904};
static const int64_t at_3572736[2] = {3572736, 2651648}, at_3572480[2] = {3572480, 1789184};
static const int64_t at_3573504[2] = {3573504, 1789696}, at_3572224[2] = {3572224, 1788928};
static const int64_t at_3572992[2] = {3572992, 1789440}, at_2138112[2] = {2138112, 2380800};
static const int64_t at_1990656[2] = {1990656, 1397760}, at_2359296[2] = {2359296, 1724416};
static const int64_t at_3583232[2] = {3583232, 1787392}, at_3582464[2] = {3582464, 1789952};
static const int64_t at_3569920[2] = {3569920, 1788160}, at_1826816_2[2] = {1826816, 2454528};
static const int64_t at_2138112_2[2] = {2138112, 1545216}, at_1359872[2] = {1359872, 1102848};
static const int64_t at_3472640[2] = {3472640, 2535168}, at_3557888[2] = {3557888, 2704384};
static const int64_t at_3560192[2] = {3560192, 1251840}, at_3561728[2] = {3561728, 1250304};
static const int64_t at_1507328[2] = {1507328, 1254912}, at_1508096[2] = {1508096, 1255424};
static const int64_t at_1826816_3[2] = {1826816, 1569792}, at_2443776[2] = {2443776, 2652160};
static const int64_t at_3564032[2] = {3564032, 1254144}, at_3563264[2] = {3563264, 1253376};
static const int64_t at_3399168[2] = {3399168, 2299648}, at_3400704[2] = {3400704, 2301184};
static const int64_t at_3398400[2] = {3398400, 2298880}, at_3399936[2] = {3399936, 2300416};
static const int64_t at_1826816_4[2] = {1826816, 1545216}, at_1507328_2[2] = {1507328, 2249728};
static const int64_t at_1556480[2] = {1556480, 2192384}, at_3276288[2] = {3276288, 2217728};
static const int64_t at_3275520[2] = {3275520, 2216960}, at_3277056[2] = {3277056, 2218496};
static const int64_t at_1908736_2[2] = {1908736, 2380800}, at_2179072[2] = {2179072, 2405376};
static const int64_t at_1867776_2[2] = {1867776, 2356224}, at_2179072_2[2] = {2179072, 1913856};
static const int64_t at_2220032[2] = {2220032, 1987584}, at_1826816_5[2] = {1826816, 2356224};
static const int64_t at_2138112_3[2] = {2138112, 1913856}, at_2211840[2] = {2211840, 1545216};
static const int64_t at_2604800[2] = {2604800, 1798656}, at_2690048[2] = {2690048, 1860864};
static const int64_t at_2692352[2] = {2692352, 2060800}, at_2693888[2] = {2693888, 1863168};
static const int64_t at_1867776_3[2] = {1867776, 1254912}, at_1868544[2] = {1868544, 1255424};
static const int64_t at_1826816_6[2] = {1826816, 1987584}, at_2698496[2] = {2698496, 2064640};
static const int64_t at_2696960[2] = {2696960, 2063104}, at_2696192[2] = {2696192, 2062336};
static const int64_t at_2699264[2] = {2699264, 2065408}, at_2695424[2] = {2695424, 2061568};
static const int64_t at_2697728[2] = {2697728, 2063872}, at_1266432[2] = {1266432, 1076736};
static const int64_t at_1274624[2] = {1274624, 1090560}, at_1280256[2] = {1280256, 1084928};
static const int64_t at_1212416_2[2] = {1212416, 1254912}, at_1243392[2] = {1243392, 1093120};
static const int64_t at_1243648[2] = {1243648, 1076736}, at_1243904[2] = {1243904, 1076736};
static const int64_t at_1243392_2[2] = {1243392, 1076736}, at_1243648_2[2] = {1243648, 1093376};
static const int64_t at_1536256[2] = {1536256, 1250560}, at_1467392[2] = {1467392, 1277952};
static const int64_t at_1522944[2] = {1522944, 1241088}, at_1531648[2] = {1531648, 1245184};
static const int64_t at_1532416[2] = {1532416, 1245952}, at_1212416_3[2] = {1212416, 1116672};
static const int64_t at_1528576[2] = {1528576, 1246720}, at_1498368[2] = {1498368, 1253376};
static const int64_t at_1533184[2] = {1533184, 1247488}, at_1533952[2] = {1533952, 1248256};
static const int64_t at_1534720[2] = {1534720, 1249024}, at_1297664[2] = {1297664, 1178880};
static const int64_t at_1530112[2] = {1530112, 1243648}, at_1382912[2] = {1382912, 1053696};
static const int64_t at_1535488[2] = {1535488, 1249792}, at_1536512[2] = {1536512, 1250816};
static const int64_t at_1536768[2] = {1536768, 1251072};

// Bytes from one block's buffer to the next one's.
static const int64_t by_768[2] = {768, 512}, by_40960[2] = {40960, 24576}, by_256[2] = {256, 256};
static const int64_t by_49152[2] = {49152, 49152}, by_768_2[2] = {768, 768};
static const int64_t by_2560[2] = {2560, 1536}, by_16384[2] = {16384, 16384};
static const int64_t by_122880[2] = {122880, 73728}, by_28160[2] = {28160, 20992};
static const int64_t by_28416[2] = {28416, 20736}, by_512[2] = {512, 512};
static const int64_t by_8192[2] = {8192, 8192}, by_512_2[2] = {512, 256};

static const int64_t local_bytes[2] = {3584000, 2706688}, sym_bytes = 0;

// Collectives that are waited for elsewhere than where they start.
static hap_event *h_mlp_c_proj_dw_cut_ready[3], *h_mlp_c_proj_db_cut_ready[3];
static hap_event *h_mlp_c_fc_dw_cut_ready[3], *h_mlp_c_fc_db_cut_ready[3], *h_ln_2_dw_cut_ready[3];
static hap_event *h_ln_2_dw_1_cut_ready[3], *h_attn_c_proj_dw_cut_ready[3];
static hap_event *h_attn_c_proj_db_cut_ready[3], *h_attn_c_attn_dw_cut_ready[3];
static hap_event *h_attn_c_attn_db_cut_ready[3], *h_ln_1_dw_cut_ready[3], *h_ln_1_dw_1_cut_ready[3];
static hap_event *h_ln_1_weight_ready[3], *h_ln_1_bias_ready[3], *h_attn_c_attn_weight_ready[3];
static hap_event *h_attn_c_attn_bias_ready[3], *h_attn_c_proj_weight_ready[3];
static hap_event *h_attn_c_proj_bias_ready[3], *h_ln_2_weight_ready[3], *h_ln_2_bias_ready[3];
static hap_event *h_mlp_c_fc_weight_ready[3], *h_mlp_c_fc_bias_ready[3];
static hap_event *h_mlp_c_proj_weight_ready[3], *h_mlp_c_proj_bias_ready[3];

// What each of the 3 blocks h.* works on.
typedef struct h_block {
    hap_tensor *ln_1_sum, *add_2, *ln_1_m2, *ln_1, *ln_1_weight, *ln_1_bias, *attn_c_attn;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_bias, *attn_split_0, *attn_split_1, *attn_split_2;
    hap_tensor *attn_reshape, *attn_transpose, *attn_reshape_2, *attn_transpose_2, *attn_reshape_3;
    hap_tensor *attn_transpose_3, *attn_sdpa, *attn_sdpa_lse, *attn_transpose_4, *attn_reshape_4;
    hap_tensor *attn_c_proj, *attn_c_proj_weight, *attn_c_proj_bias, *add, *ln_2_sum, *ln_2_m2;
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc, *mlp_c_fc_weight, *mlp_c_fc_bias;
    hap_tensor *mlp_act, *mlp_c_proj, *mlp_c_proj_weight, *mlp_c_proj_bias, *add_2_2;
    hap_tensor *mlp_c_proj_dx, *ln_f_dx, *mlp_c_proj_dw, *mlp_c_proj_dw_cut, *mlp_c_proj_db;
    hap_tensor *mlp_c_proj_db_cut, *mlp_c_proj_db_cut_scratch, *mlp_act_dx, *mlp_c_fc_dx;
    hap_tensor *mlp_c_fc_dw, *mlp_c_fc_dw_cut, *mlp_c_fc_db, *mlp_c_fc_db_cut;
    hap_tensor *mlp_c_fc_db_cut_scratch, *ln_2_stats, *ln_2_stats_1, *ln_2_dx, *ln_2_sum_2;
    hap_tensor *ln_2_dw, *ln_2_dw_1, *ln_2_dw_cut, *ln_2_dw_cut_scratch, *ln_2_dw_1_cut;
    hap_tensor *ln_2_dw_1_cut_scratch, *attn_c_proj_dx, *attn_c_proj_dw, *attn_c_proj_dw_cut;
    hap_tensor *attn_c_proj_db, *attn_c_proj_db_cut, *attn_c_proj_db_cut_scratch;
    hap_tensor *attn_reshape_4_dx, *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1;
    hap_tensor *attn_sdpa_dqkv_2, *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx;
    hap_tensor *attn_reshape_2_dx, *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx;
    hap_tensor *attn_c_attn_dx, *attn_c_attn_dw, *attn_c_attn_dw_cut, *attn_c_attn_db;
    hap_tensor *attn_c_attn_db_cut, *attn_c_attn_db_cut_scratch, *ln_1_stats, *ln_1_stats_1;
    hap_tensor *ln_1_dx, *ln_1_sum_2, *ln_1_dw, *ln_1_dw_1, *ln_1_dw_cut, *ln_1_dw_cut_scratch;
    hap_tensor *ln_1_dw_1_cut, *ln_1_dw_1_cut_scratch, *ln_1_weight_sumsq, *ln_1_weight_norm;
    hap_tensor *mlp_c_proj_bias_norm, *ln_1_bias_sumsq, *ln_1_bias_norm, *attn_c_attn_weight_sumsq;
    hap_tensor *attn_c_attn_weight_norm, *attn_c_attn_bias_sumsq, *attn_c_attn_bias_norm;
    hap_tensor *attn_c_proj_weight_sumsq, *attn_c_proj_weight_norm, *attn_c_proj_bias_sumsq;
    hap_tensor *attn_c_proj_bias_norm, *ln_2_weight_sumsq, *ln_2_weight_norm, *ln_2_bias_sumsq;
    hap_tensor *ln_2_bias_norm, *mlp_c_fc_weight_sumsq, *mlp_c_fc_weight_norm, *mlp_c_fc_bias_sumsq;
    hap_tensor *mlp_c_fc_bias_norm, *mlp_c_proj_weight_sumsq, *mlp_c_proj_weight_norm;
    hap_tensor *mlp_c_proj_bias_sumsq, *mlp_c_proj_bias_norm_2, *ln_1_weight_cut;
    hap_tensor *ln_1_weight_exp_avg, *ln_1_weight_exp_avg_sq, *clip, *ln_1_bias_cut;
    hap_tensor *ln_1_bias_exp_avg, *ln_1_bias_exp_avg_sq, *attn_c_attn_weight_cut;
    hap_tensor *attn_c_attn_weight_exp_avg, *attn_c_attn_weight_exp_avg_sq, *attn_c_attn_bias_cut;
    hap_tensor *attn_c_attn_bias_exp_avg, *attn_c_attn_bias_exp_avg_sq, *attn_c_proj_weight_cut;
    hap_tensor *attn_c_proj_weight_exp_avg, *attn_c_proj_weight_exp_avg_sq, *attn_c_proj_bias_cut;
    hap_tensor *attn_c_proj_bias_exp_avg, *attn_c_proj_bias_exp_avg_sq, *ln_2_weight_cut;
    hap_tensor *ln_2_weight_exp_avg, *ln_2_weight_exp_avg_sq, *ln_2_bias_cut, *ln_2_bias_exp_avg;
    hap_tensor *ln_2_bias_exp_avg_sq, *mlp_c_fc_weight_cut, *mlp_c_fc_weight_exp_avg;
    hap_tensor *mlp_c_fc_weight_exp_avg_sq, *mlp_c_fc_bias_cut, *mlp_c_fc_bias_exp_avg;
    hap_tensor *mlp_c_fc_bias_exp_avg_sq, *mlp_c_proj_weight_cut, *mlp_c_proj_weight_exp_avg;
    hap_tensor *mlp_c_proj_weight_exp_avg_sq, *mlp_c_proj_bias_cut, *mlp_c_proj_bias_exp_avg;
    hap_tensor *mlp_c_proj_bias_exp_avg_sq;
    hap_event **mlp_c_proj_dw_cut_ready, **mlp_c_proj_db_cut_ready, **mlp_c_fc_dw_cut_ready;
    hap_event **mlp_c_fc_db_cut_ready, **ln_2_dw_cut_ready, **ln_2_dw_1_cut_ready;
    hap_event **attn_c_proj_dw_cut_ready, **attn_c_proj_db_cut_ready, **attn_c_attn_dw_cut_ready;
    hap_event **attn_c_attn_db_cut_ready, **ln_1_dw_cut_ready, **ln_1_dw_1_cut_ready;
    hap_event **ln_1_weight_ready, **ln_1_bias_ready, **attn_c_attn_weight_ready;
    hap_event **attn_c_attn_bias_ready, **attn_c_proj_weight_ready, **attn_c_proj_bias_ready;
    hap_event **ln_2_weight_ready, **ln_2_bias_ready, **mlp_c_fc_weight_ready;
    hap_event **mlp_c_fc_bias_ready, **mlp_c_proj_weight_ready, **mlp_c_proj_bias_ready;
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
    // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.017 ms
    *b->mlp_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_proj_dw_cut, &b->mlp_c_proj_dw, NULL);
    op_sum(r, b->mlp_c_proj_db, b->ln_f_dx, HAP_INTS(0, 1), false); // [64]+    0.00422 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->mlp_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_db_cut,
                                  &b->mlp_c_proj_db, b->mlp_c_proj_db_cut_scratch);
    // y = a gelu'(b)    [8@rows 32 192]    0.0298 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    // y = a b'    [8@rows 32 64]    0.0829 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx); // [64 192]+    0.0829 ms
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0171 ms
    *b->mlp_c_fc_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_fc_dw_cut, &b->mlp_c_fc_dw, NULL);
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.0107 ms
    // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.00522 ms
    *b->mlp_c_fc_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_db_cut,
                                  &b->mlp_c_fc_db, b->mlp_c_fc_db_cut_scratch);

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // [8@rows 32]    0.00762 ms
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05); // [8@rows 32 64]    0.0108 ms
    op_add(r, b->ln_2_sum_2, b->ln_f_dx, b->ln_2_dx);    // y = a + b    [8@rows 32 64]    0.0106 ms
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
                       1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->ln_2_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_dw_cut,
                                                      &b->ln_2_dw, b->ln_2_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->ln_2_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_dw_1_cut, &b->ln_2_dw_1, b->ln_2_dw_1_cut_scratch);

    // attn
    // y = a b'    [8@rows 32 64]    0.0283 ms
    op_linear(r, b->attn_c_proj_dx, b->ln_2_sum_2, b->attn_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_sum_2); // [64 64]+    0.0283 ms
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.00705 ms
    *b->attn_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_proj_dw_cut, &b->attn_c_proj_dw, NULL);
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.00422 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->attn_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_db_cut,
                                  &b->attn_c_proj_db, b->attn_c_proj_db_cut_scratch);
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
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0171 ms
    *b->attn_c_attn_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->attn_c_attn_dw_cut, &b->attn_c_attn_dw, NULL);
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+    0.0107 ms
    // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.00526 ms
    *b->attn_c_attn_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_db_cut,
                                  &b->attn_c_attn_db, b->attn_c_attn_db_cut_scratch);

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_stats, b->ln_1_stats_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                      b->ln_1_m2, b->ln_1_weight, 1e-05); // [8@rows 32]    0.00762 ms
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_stats,
                b->ln_1_stats_1, b->ln_1_weight, 1e-05); // [8@rows 32 64]    0.0108 ms
    op_add(r, b->ln_1_sum_2, b->ln_2_sum_2, b->ln_1_dx); // y = a + b    [8@rows 32 64]    0.0106 ms
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_dw_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                       b->ln_1_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_cut,
                                                      &b->ln_1_dw, b->ln_1_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->ln_1_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_1_cut, &b->ln_1_dw_1, b->ln_1_dw_1_cut_scratch);
}

// One of the 3 blocks h, backward: 0.0317 ms of computation.
static void h_backward_2(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->ln_1_dw_cut_ready); // 0.00507 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq);
    hap_wait(r, *b->ln_1_dw_1_cut_ready);              // 0.00507 ms hidden
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1_cut); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->attn_c_attn_dw_cut_ready);                             // 0.0171 ms hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_cut);       // []+    0.00322 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    hap_wait(r, *b->attn_c_attn_db_cut_ready);                     // 0.00526 ms hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_cut); // []+    0.00104 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    hap_wait(r, *b->attn_c_proj_dw_cut_ready);                       // 0.00705 ms hidden
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_cut); // []+    0.00185 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    hap_wait(r, *b->attn_c_proj_db_cut_ready);                     // 0.00507 ms hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_cut); // []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    hap_wait(r, *b->ln_2_dw_cut_ready);                // 0.00507 ms hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    hap_wait(r, *b->ln_2_dw_1_cut_ready);              // 0.00507 ms hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1_cut); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->mlp_c_fc_dw_cut_ready);                                // 0.0171 ms hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_cut); // y = sum x^2    []+    0.00322 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    hap_wait(r, *b->mlp_c_fc_db_cut_ready);                  // 0.00522 ms hidden
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_cut); // y = sum x^2    []+    0.00103 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    hap_wait(r, *b->mlp_c_proj_dw_cut_ready);                      // 0.017 ms hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_cut); // []+    0.0032 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_wait(r, *b->mlp_c_proj_db_cut_ready);                    // 0.00507 ms hidden
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 3 blocks h, update: 0.0897 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    // update
    hap_cut(r, b->ln_1_weight_cut, b->ln_1_weight); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_1_weight_cut, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq,
            b->ln_1_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00108 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    *b->ln_1_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_weight,
                                                  &b->ln_1_weight_cut, NULL);
    hap_cut(r, b->ln_1_bias_cut, b->ln_1_bias); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_1_bias_cut, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_cut,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00108 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    *b->ln_1_bias_ready =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_bias, &b->ln_1_bias_cut, NULL);
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight); // [64@cut_64 192]    0.00455 ms
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0165 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0121 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_weight, &b->attn_c_attn_weight_cut, NULL);
    hap_cut(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias); // [192@cut_3]    0.00106 ms
    // a -= lr b / sqrt c    [192@cut_3]    0.00128 ms
    op_adam(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.00513 ms
    *b->attn_c_attn_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_bias, &b->attn_c_attn_bias_cut, NULL);
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight); // [64@heads 64]    0.00237 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00697 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.00705 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_proj_weight, &b->attn_c_proj_weight_cut, NULL);
    hap_cut(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias); // [64@cut_64]    0.00102 ms
    // a -= lr b / sqrt c    [64@cut_64]    0.00108 ms
    op_adam(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    *b->attn_c_proj_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_bias, &b->attn_c_proj_bias_cut, NULL);
    hap_cut(r, b->ln_2_weight_cut, b->ln_2_weight); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_2_weight_cut, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq,
            b->ln_2_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00108 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    *b->ln_2_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_weight,
                                                  &b->ln_2_weight_cut, NULL);
    hap_cut(r, b->ln_2_bias_cut, b->ln_2_bias); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_2_bias_cut, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_cut,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00108 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    *b->ln_2_bias_ready =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_bias, &b->ln_2_bias_cut, NULL);
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight); // [64@cut_64 192]    0.00455 ms
    // a -= lr b / sqrt c    [64@cut_64 192]    0.0165 ms
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0121 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_weight, &b->mlp_c_fc_weight_cut, NULL);
    hap_cut(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias); // [192@cut_192]    0.00106 ms
    // a -= lr b / sqrt c    [192@cut_192]    0.00124 ms
    op_adam(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.00511 ms
    *b->mlp_c_fc_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_bias,
                                                    &b->mlp_c_fc_bias_cut, NULL);
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00452 ms
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0164 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.012 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_weight, &b->mlp_c_proj_weight_cut, NULL);
    hap_cut(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias); // [64@cut_64]    0.00102 ms
    // a -= lr b / sqrt c    [64@cut_64]    0.00108 ms
    op_adam(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    *b->mlp_c_proj_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_bias, &b->mlp_c_proj_bias_cut, NULL);
}

// One of the 3 blocks h, update: 0 ms of computation.
static void h_update_2(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->ln_1_weight_ready);        // 0.00504 ms hidden
    hap_wait(r, *b->ln_1_bias_ready);          // 0.00504 ms hidden
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0121 ms hidden
    hap_wait(r, *b->attn_c_attn_bias_ready);   // 0.00513 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.00705 ms hidden
    hap_wait(r, *b->attn_c_proj_bias_ready);   // 0.00504 ms hidden
    hap_wait(r, *b->ln_2_weight_ready);        // 0.00504 ms hidden
    hap_wait(r, *b->ln_2_bias_ready);          // 0.00504 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0121 ms hidden
    hap_wait(r, *b->mlp_c_fc_bias_ready);      // 0.00511 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.012 ms hidden
    hap_wait(r, *b->mlp_c_proj_bias_ready);    // 0.00504 ms hidden
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
    const hap_dim of_211_64[] = {WHOLE(211), WHOLE(64)};
    const hap_dim of_32_64[] = {WHOLE(32), WHOLE(64)};
    const hap_dim of_64[] = {WHOLE(64)};
    const hap_dim of_64_192[] = {WHOLE(64), WHOLE(192)};
    const hap_dim of_192[] = {WHOLE(192)};
    const hap_dim of_64_64[] = {WHOLE(64), WHOLE(64)};
    const hap_dim of_192_64[] = {WHOLE(192), WHOLE(64)};
    const hap_dim of_1_32[] = {WHOLE(1), WHOLE(32)};
    const hap_dim vocab_64[] = {CUT(0, 211, vocab), WHOLE(64)};
    const hap_dim cut_32_64[] = {CUT(0, 32, cut_32), WHOLE(64)};
    const hap_dim cut_64_of_64[] = {CUT(0, 64, cut_64)};
    const hap_dim cut_64_192[] = {CUT(0, 64, cut_64), WHOLE(192)};
    const hap_dim cut_3_of_192[] = {CUT_IN(0, 1, 3, 64, cut_3)};
    const hap_dim heads_64[] = {CUT_IN(0, 1, 4, 16, heads), WHOLE(64)};
    const hap_dim cut_192_of_192[] = {CUT(0, 192, cut_192)};
    const hap_dim cut_192_64[] = {CUT(0, 192, cut_192), WHOLE(64)};
    const hap_dim rows_32_64[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(64)};
    const hap_dim of_1_32_64[] = {WHOLE(1), WHOLE(32), WHOLE(64)};
    const hap_dim rows_32_192[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(192)};
    const hap_dim rows_32_4_16[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(4), WHOLE(16)};
    const hap_dim rows_4_32_16[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32), WHOLE(16)};
    const hap_dim rows_4_32[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32)};
    const hap_dim rows_32_211[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(211)};
    const hap_dim rows_33[] = {CUT(0, 8, rows), WHOLE(33)};
    const hap_dim of_8_32[] = {WHOLE(8), WHOLE(32)};
    const hap_dim scratch_128[] = {WHOLE(128)};
    const hap_dim scratch_1408[] = {WHOLE(1408)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_3570688, HAP_I64, 2, rows_32);
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_2250240, HAP_I64, 2, rows_32); // [8@rows 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_LOCAL, at_1075200, HAP_F32, 2, of_211_64);
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_LOCAL, at_1129216, HAP_F32, 2, of_32_64);
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_1137408, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_1137664, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1138176, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1169152, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1200128, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1205760, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1211392, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1211648, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1211904, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1212160, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_1137920, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1949696, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_1212416, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_2426112, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_2426880, HAP_F32, 2, rows_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_2383872, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_2113536, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_2248704, HAP_I64, 2, rows_33);   // [8@rows 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_2424832, HAP_I64, 2, rows_32); // [8@rows 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_2427648, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_2428416, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_2248704, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_2250752, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_LOCAL, at_2250752, HAP_F32, 0, NULL);   // []
    hap_tensor *slice_all = hap_at(r, SEG_LOCAL, at_2248704, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_2251008, HAP_F32, 0, NULL);        // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_3571968, HAP_F32, 0, NULL);         // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_2248704, HAP_F32, 0, NULL);    // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_2429184, HAP_F32, 0, NULL);      // []
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_2248704, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_2113536, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_2525696, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_2154496, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_2155264, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_3573248, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_3572736, HAP_F32, 1, of_64); // [64]+
    hap_tensor *ln_f_dw_cut = hap_at(r, SEG_LOCAL, at_3572480, HAP_F32, 1, cut_64_of_64);
    hap_tensor *ln_f_dw_1_cut = hap_at(r, SEG_LOCAL, at_3572224, HAP_F32, 1, cut_64_of_64);
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_1212416, HAP_F32, 3, of_1_32_64); // [1 32 64]+
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_1266432, HAP_F32, 2, of_32_64);      // [32 64]+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_LOCAL, at_1274624, HAP_F32, 2, cut_32_64);
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_1212416_2, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_2525696, HAP_F32, 2, of_211_64);  // [211 64]+
    hap_tensor *wte_sum_cut = hap_at(r, SEG_LOCAL, at_1212416, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243392, HAP_F32, 0, NULL);    // []+
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243648, HAP_F32, 0, NULL);    // []+
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243392_2, HAP_F32, 0, NULL); // []+
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_1243648_2, HAP_F32, 0, NULL);  // []+
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_1243392_2, HAP_F32, 0, NULL);   // []+
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_1243648_2, HAP_F32, 0, NULL);    // []+
    hap_tensor *ln_f_bias_norm_all = hap_at(r, SEG_LOCAL, at_1243648_2, HAP_F32, 0, NULL);
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_1536256, HAP_F32, 0, NULL); // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_LOCAL, at_1467392, HAP_F32, 2, vocab_64);
    hap_tensor *wpe_weight_cut = hap_at(r, SEG_LOCAL, at_1522944, HAP_F32, 2, cut_32_64);
    hap_tensor *ln_f_weight_cut = hap_at(r, SEG_LOCAL, at_1536512, HAP_F32, 1, cut_64_of_64);
    hap_tensor *ln_f_bias_cut = hap_at(r, SEG_LOCAL, at_1536768, HAP_F32, 1, cut_64_of_64);

    // Scratch of collectives.
    hap_tensor *ln_f_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_3573504, HAP_F32, 1, of_64);
    hap_tensor *ln_f_dw_1_cut_scratch = hap_at(r, SEG_LOCAL, at_3572992, HAP_F32, 1, of_64);
    hap_tensor *wpe_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_1280256, HAP_F32, 1, scratch_1408);

    hap_tensor *h_2_add_2_2[4], *ln_f_dx_2[4], *h_2_mlp_c_proj_bias_norm_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1949696, by_40960, i, HAP_F32, 3, rows_32_64);
        ln_f_dx_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_2443776, by_40960, i % 2, HAP_F32, 3, rows_32_64);
        h_2_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL); // []+
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->ln_1_sum = hap_at_layer(r, SEG_LOCAL, at_3573760, by_768, i, HAP_F32, 2, rows_32);
        b->ln_1_m2 = hap_at_layer(r, SEG_LOCAL, at_3576064, by_768, i, HAP_F32, 2, rows_32);
        b->ln_1 = hap_at_layer(r, SEG_LOCAL, at_2579712, by_40960, i, HAP_F32, 3, rows_32_64);
        b->ln_1_weight = hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), b->ln_1_weight, HAP_FILL(1));
        b->ln_1_bias = hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), b->ln_1_bias, HAP_FILL(0));
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_1458176, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_weight =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), b->attn_c_attn_weight,
                  HAP_NORMAL(0, 0.02));
        b->attn_c_attn_bias =
            hap_at_layer(r, SEG_LOCAL, at_148992, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), b->attn_c_attn_bias,
                  HAP_FILL(0));
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_1826816, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_1908736, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_1867776, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_1908736, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose =
            hap_at_layer(r, SEG_LOCAL, at_2702592, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_1867776, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_2825472, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_1826816, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_2948352, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_3071232, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_3439872, by_2560, i, HAP_F32, 3, rows_4_32);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_3194112, by_40960, i, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_3194112, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_3316992, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_weight =
            hap_at_layer(r, SEG_LOCAL, at_151296, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), b->attn_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->attn_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_200448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), b->attn_c_proj_bias,
                  HAP_FILL(0));
        b->add = hap_at_layer(r, SEG_LOCAL, at_3316992, by_40960, i, HAP_F32, 3, rows_32_64);
        b->ln_2_sum = hap_at_layer(r, SEG_LOCAL, at_3578368, by_768, i, HAP_F32, 2, rows_32);
        b->ln_2_m2 = hap_at_layer(r, SEG_LOCAL, at_3580672, by_768, i, HAP_F32, 2, rows_32);
        b->ln_2 = hap_at_layer(r, SEG_LOCAL, at_3447552, by_40960, i, HAP_F32, 3, rows_32_64);
        b->ln_2_weight = hap_at_layer(r, SEG_LOCAL, at_201216, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), b->ln_2_weight, HAP_FILL(1));
        b->ln_2_bias = hap_at_layer(r, SEG_LOCAL, at_201984, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), b->ln_2_bias, HAP_FILL(0));
        b->mlp_c_fc = hap_at_layer(r, SEG_LOCAL, at_1212416, by_122880, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_weight =
            hap_at_layer(r, SEG_LOCAL, at_202752, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), b->mlp_c_fc_weight,
                  HAP_NORMAL(0, 0.02));
        b->mlp_c_fc_bias = hap_at_layer(r, SEG_LOCAL, at_350208, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), b->mlp_c_fc_bias,
                  HAP_FILL(0));
        b->mlp_act = hap_at_layer(r, SEG_LOCAL, at_1581056, by_122880, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_2113536, HAP_F32, 3, rows_32_64);
        b->mlp_c_proj_weight =
            hap_at_layer(r, SEG_LOCAL, at_352512, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), b->mlp_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->mlp_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_499968, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), b->mlp_c_proj_bias,
                  HAP_FILL(0));
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_2138112, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1990656, by_49152, i, HAP_F32, 2, of_192_64); // [192 64]+
        b->mlp_c_proj_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2359296, by_28160, i, HAP_F32, 2, cut_192_64);
        // [64]+
        b->mlp_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_3583232, by_256, i, HAP_F32, 1, of_64);
        b->mlp_c_proj_db_cut =
            hap_at_layer(r, SEG_LOCAL, at_3582464, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->mlp_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_3569920, by_256, i, HAP_F32, 1, of_64);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_1826816_2, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_2138112_2, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->mlp_c_fc_dw = hap_at_layer(r, SEG_LOCAL, at_1359872, by_49152, i, HAP_F32, 2, of_64_192);
        b->mlp_c_fc_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_3472640, by_28416, i, HAP_F32, 2, cut_64_192);
        // [192]+
        b->mlp_c_fc_db = hap_at_layer(r, SEG_LOCAL, at_3557888, by_768_2, i, HAP_F32, 1, of_192);
        b->mlp_c_fc_db_cut =
            hap_at_layer(r, SEG_LOCAL, at_3560192, by_512, i, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_fc_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_3561728, by_512, i, HAP_F32, 1, scratch_128);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_1507328, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_1508096, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_1826816_3, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_2_sum_2 =
            hap_at_layer(r, SEG_LOCAL, at_2443776, by_40960, i % 2, HAP_F32, 3, rows_32_64);
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_3564032, by_256, i, HAP_F32, 1, of_64); // [64]+
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_3563264, by_256, i, HAP_F32, 1, of_64);
        b->ln_2_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_3399168, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_3400704, by_256, i, HAP_F32, 1, of_64);
        b->ln_2_dw_1_cut =
            hap_at_layer(r, SEG_LOCAL, at_3398400, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_3399936, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_1826816_4, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1507328_2, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attn_c_proj_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_1556480, by_8192, i, HAP_F32, 2, heads_64);
        // [64]+
        b->attn_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_3276288, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_db_cut =
            hap_at_layer(r, SEG_LOCAL, at_3275520, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_3277056, by_256, i, HAP_F32, 1, of_64);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_1826816_4, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_1908736_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_2179072, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_1826816_3, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_1867776_2, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_2138112_2, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_2138112_2, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_2179072_2, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_2179072_2, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_2220032, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_2220032, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_1826816_5, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_2138112_3, HAP_F32, 3, rows_32_64);
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_2211840, by_49152, i, HAP_F32, 2, of_64_192); // [64 192]+
        b->attn_c_attn_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2604800, by_28416, i, HAP_F32, 2, cut_64_192);
        // [192]+
        b->attn_c_attn_db = hap_at_layer(r, SEG_LOCAL, at_2690048, by_768_2, i, HAP_F32, 1, of_192);
        b->attn_c_attn_db_cut =
            hap_at_layer(r, SEG_LOCAL, at_2692352, by_512_2, i, HAP_F32, 1, cut_3_of_192);
        b->attn_c_attn_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_2693888, by_512, i, HAP_F32, 1, scratch_128);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_1867776_3, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_1868544, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_1826816_6, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_2698496, by_256, i, HAP_F32, 1, of_64); // [64]+
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_2696960, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2696192, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_2699264, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_dw_1_cut =
            hap_at_layer(r, SEG_LOCAL, at_2695424, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_2697728, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->ln_1_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL);     // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL);    // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL);      // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL);    // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL);   // []+
        b->ln_2_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL);     // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL);     // []+
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1243392, by_256, i % 2, HAP_F32, 0, NULL);   // []+
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1243904, HAP_F32, 0, NULL); // []+
        b->ln_1_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1531648, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_500736, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg"), b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_501504, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1532416, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_502272, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_503040, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1212416_3, by_28416, i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_503808, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_589056, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1528576, by_512_2, i, HAP_F32, 1, cut_3_of_192);
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_674304, by_512_2, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_675840, by_512_2, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1498368, by_8192, i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_677376, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_701952, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1533184, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_726528, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_727296, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1533952, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_728064, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_728832, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1534720, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_729600, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_730368, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1297664, by_28416, i, HAP_F32, 2, cut_64_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_731136, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_816384, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1530112, by_512, i, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_901632, by_512, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_903168, by_512, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1382912, by_28160, i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_904704, by_28160, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_989184, by_28160, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1535488, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1073664, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1074432, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg_sq"),
                  b->mlp_c_proj_bias_exp_avg_sq);
        b->add_2 = h_2_add_2_2[i];
        b->add_2_2 = h_2_add_2_2[i + 1];
        b->ln_f_dx = ln_f_dx_2[i + 1];
        b->ln_1_sum_2 = ln_f_dx_2[i];
        b->mlp_c_proj_bias_norm = h_2_mlp_c_proj_bias_norm_2[i];
        b->mlp_c_proj_bias_norm_2 = h_2_mlp_c_proj_bias_norm_2[i + 1];
        b->clip = clip;
        b->mlp_c_proj_dw_cut_ready = &h_mlp_c_proj_dw_cut_ready[i];
        b->mlp_c_proj_db_cut_ready = &h_mlp_c_proj_db_cut_ready[i];
        b->mlp_c_fc_dw_cut_ready = &h_mlp_c_fc_dw_cut_ready[i];
        b->mlp_c_fc_db_cut_ready = &h_mlp_c_fc_db_cut_ready[i];
        b->ln_2_dw_cut_ready = &h_ln_2_dw_cut_ready[i];
        b->ln_2_dw_1_cut_ready = &h_ln_2_dw_1_cut_ready[i];
        b->attn_c_proj_dw_cut_ready = &h_attn_c_proj_dw_cut_ready[i];
        b->attn_c_proj_db_cut_ready = &h_attn_c_proj_db_cut_ready[i];
        b->attn_c_attn_dw_cut_ready = &h_attn_c_attn_dw_cut_ready[i];
        b->attn_c_attn_db_cut_ready = &h_attn_c_attn_db_cut_ready[i];
        b->ln_1_dw_cut_ready = &h_ln_1_dw_cut_ready[i];
        b->ln_1_dw_1_cut_ready = &h_ln_1_dw_1_cut_ready[i];
        b->ln_1_weight_ready = &h_ln_1_weight_ready[i];
        b->ln_1_bias_ready = &h_ln_1_bias_ready[i];
        b->attn_c_attn_weight_ready = &h_attn_c_attn_weight_ready[i];
        b->attn_c_attn_bias_ready = &h_attn_c_attn_bias_ready[i];
        b->attn_c_proj_weight_ready = &h_attn_c_proj_weight_ready[i];
        b->attn_c_proj_bias_ready = &h_attn_c_proj_bias_ready[i];
        b->ln_2_weight_ready = &h_ln_2_weight_ready[i];
        b->ln_2_bias_ready = &h_ln_2_bias_ready[i];
        b->mlp_c_fc_weight_ready = &h_mlp_c_fc_weight_ready[i];
        b->mlp_c_fc_bias_ready = &h_mlp_c_fc_bias_ready[i];
        b->mlp_c_proj_weight_ready = &h_mlp_c_proj_weight_ready[i];
        b->mlp_c_proj_bias_ready = &h_mlp_c_proj_bias_ready[i];
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
        op_pad(r, pad, labels, 1, 0, 1, -100); // y = x, padded    [8@rows 33]    0.0012 ms

        // slice, forward
        op_slice(r, slice, pad, 1, 1, 33); // y = part of x    [8@rows 32]    0.0012 ms

        // ce_sum, forward
        op_row_max(r, ce_sum_max, lm_head); // y = max x    [8@rows 32]    0.0116 ms
        op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max);    // [8@rows 32]    0.0117 ms
        op_target_logit(r, ce_sum_target, lm_head, slice, -100); // [8@rows 32]    0.0012 ms
        // y = sum a + log b - c    []+    0.00125 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice, -100);
        // + -> whole    []    4 B    0.01 ms
        hap_event *e_ce_sum_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ce_sum_all, &ce_sum, NULL);

        // count, forward
        // dim 0 @rows -> whole    [8 32]    2.00 KiB    0.00532 ms
        hap_event *e_slice_all =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &slice_all, &slice, NULL);
        hap_wait(r, e_slice_all);
        op_count(r, count, slice_all, -100); // y = count x    []    0.00121 ms
        hap_wait(r, e_ce_sum_all);           // 0.01 ms hidden

        // loss, forward
        op_div(r, loss, ce_sum_all, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        // y = e (softmax - 1[label])    [8@rows 32 211]    0.0223 ms
        op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice, loss_da, -100);

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
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
        hap_event *e_ln_f_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &ln_f_dw_cut, &ln_f_dw, ln_f_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
        hap_event *e_ln_f_dw_1_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &ln_f_dw_1_cut, &ln_f_dw_1, ln_f_dw_1_cut_scratch);

        for (int i = 2; i >= 0; i--)
            h_backward(r, &h[i]);

        // transformer.add, backward
        op_sum(r, add_fold1, ln_f_dx_2[0], HAP_INTS(0), true); // [1 32 64]+    0.00484 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // [32 64]+    0.00273 ms
        // + -> dim 0 @cut_32    [32@cut_32 64]    8.00 KiB    0.00782 ms
        hap_event *e_wpe_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &wpe_dw_cut, &wpe_dw, wpe_dw_cut_scratch);

        // transformer.wte, backward
        op_embedding_bwd(r, wte_dw, ln_f_dx_2[0], input_ids, 211); // [211 64]+    0.00927 ms
        op_add(r, wte_sum, lm_head_dw, wte_dw); // y = a + b    [211 64]+    0.0179 ms
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0177 ms
        hap_event *e_wte_sum_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1, &wte_sum_cut, &wte_sum, NULL);
        hap_wait(r, e_wte_sum_cut);

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum_cut); // y = sum x^2    []+    0.00342 ms
        hap_wait(r, e_wpe_dw_cut);                  // 0.00782 ms hidden
        op_sumsq(r, wpe_weight_sumsq, wpe_dw_cut);  // y = sum x^2    []+    0.00144 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 3; i++)
            h_backward_2(r, &h[i]);
        hap_wait(r, e_ln_f_dw_cut); // 0.00507 ms hidden

        // update
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_cut); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm_2[3], ln_f_weight_sumsq);
        hap_wait(r, e_ln_f_dw_1_cut);                // 0.00507 ms hidden
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1_cut); // y = sum x^2    []+    0.00101 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // []+    0.001 ms
        // + -> whole    []    4 B    0.01 ms
        hap_event *e_ln_f_bias_norm_all = coll_all_reduce_start(
            r, AXIS(0), FORM_FLAT, 1, &ln_f_bias_norm_all, &ln_f_bias_norm, NULL);
        hap_wait(r, e_ln_f_bias_norm_all);
        op_clip_scale(r, clip, ln_f_bias_norm_all, 1); // y = min(1, 1 / sqrt x)    []    0.001 ms
        hap_cut(r, wte_weight_cut, wte_weight);        // [211@vocab 64]    0.00487 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0179 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.0127 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wte_weight, &wte_weight_cut, NULL);
        hap_cut(r, wpe_weight_cut, wpe_weight); // [32@cut_32 64]    0.0017 ms
        op_adam(r, wpe_weight_cut, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32@cut_32 64]    0.00408 ms
        // dim 0 @cut_32 -> whole    [32 64]    8.00 KiB    0.00641 ms
        hap_event *e_wpe_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wpe_weight, &wpe_weight_cut, NULL);

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);

        // update
        hap_cut(r, ln_f_weight_cut, ln_f_weight); // [64@cut_64]    0.00102 ms
        op_adam(r, ln_f_weight_cut, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_cut, clip,
                1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64@cut_64]    0.00108 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
        hap_event *e_ln_f_weight = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &ln_f_weight,
                                                         &ln_f_weight_cut, NULL);
        hap_cut(r, ln_f_bias_cut, ln_f_bias); // whole -> dim 0 @cut_64    [64@cut_64]    0.00102 ms
        op_adam(r, ln_f_bias_cut, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_cut, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64@cut_64]    0.00108 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
        hap_event *e_ln_f_bias =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &ln_f_bias, &ln_f_bias_cut, NULL);
        hap_wait(r, e_wte_weight); // 0.0127 ms hidden
        hap_wait(r, e_wpe_weight); // 0.00641 ms hidden

        for (int i = 0; i < 3; i++)
            h_update_2(r, &h[i]);
        hap_wait(r, e_ln_f_weight);
        hap_wait(r, e_ln_f_bias);
    }
    return hap_finish(r);
}
