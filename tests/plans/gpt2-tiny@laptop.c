// program.c: one training step of gpt2-tiny on 4 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop.yaml -o gpt2-tiny@laptop -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}  cpu1 {3}
//   predicted   4.32 ms/step = 3.33 ms compute and idle + 1.61 ms communication - 0.628 ms hidden;
//               by datasheet formulas
//   memory      3.69 MiB / 2.80 MiB / 2.70 MiB / 1.73 MiB    graph a94a3bb305aca178    cluster
//               4f352a66d62016ad
//   strategy    auto

#include "hap/runtime.h"

// 64 cut 0.250 0.250 0.250 0.250 over axis 0 (even).
static const int64_t cut_64[4] = {16, 16, 16, 16};

// 3 cut 0.333 0.333 0.333 0.000 over axis 0 (even).
static const int64_t cut_3[4] = {1, 1, 1, 0};

// 4 cut 0.250 0.250 0.250 0.250 over axis 0 (even).
static const int64_t heads[4] = {1, 1, 1, 1};

// 192 cut 0.250 0.250 0.250 0.250 over axis 0 (even).
static const int64_t cut_192[4] = {48, 48, 48, 48};

// 8 cut 0.500 0.250 0.250 0.000 over axis 0 (compute).
static const int64_t rows[4] = {4, 2, 2, 0};

// 211 cut 0.517 0.303 0.180 0.000 over axis 0 (lp).
static const int64_t vocab[4] = {109, 64, 38, 0};

// 64 cut 0.359 0.328 0.219 0.094 over axis 0 (lp).
static const int64_t cut_64_lp[4] = {23, 21, 14, 6};

// 192 cut 0.339 0.333 0.240 0.089 over axis 0 (lp).
static const int64_t cut_192_lp[4] = {65, 64, 46, 17};

// Byte offsets in the symmetric segment: what crosses the wire, the same on every rank.
static const int64_t at_516096[4] = {516096, 516096, 516096, 516096};
static const int64_t at_573440[4] = {573440, 573440, 573440, 573440}, at_0[4] = {0, 0, 0, 0};
static const int64_t at_147456[4] = {147456, 147456, 147456, 147456};
static const int64_t at_159744[4] = {159744, 159744, 159744, 159744};
static const int64_t at_208896[4] = {208896, 208896, 208896, 208896};
static const int64_t at_356352[4] = {356352, 356352, 356352, 356352};
static const int64_t at_368640[4] = {368640, 368640, 368640, 368640};
static const int64_t at_581632[4] = {581632, 581632, 581632, 581632};
static const int64_t at_1306624[4] = {1306624, 1306624, 1306624, 1306624};
static const int64_t at_1413120[4] = {1413120, 1413120, 1413120, 1413120};
static const int64_t at_1572864[4] = {1572864, 1572864, 1572864, 1572864};
static const int64_t at_1560576[4] = {1560576, 1560576, 1560576, 1560576};
static const int64_t at_1122304[4] = {1122304, 1122304, 1122304, 1122304};
static const int64_t at_1585152[4] = {1585152, 1585152, 1585152, 1585152};
static const int64_t at_1474560[4] = {1474560, 1474560, 1474560, 1474560};
static const int64_t at_729088[4] = {729088, 729088, 729088, 729088};
static const int64_t at_1183744[4] = {1183744, 1183744, 1183744, 1183744};
static const int64_t at_1597440[4] = {1597440, 1597440, 1597440, 1597440};
static const int64_t at_1486848[4] = {1486848, 1486848, 1486848, 1486848};
static const int64_t at_1024000[4] = {1024000, 1024000, 1024000, 1024000};
static const int64_t at_1622016[4] = {1622016, 1622016, 1622016, 1622016};
static const int64_t at_1609728[4] = {1609728, 1609728, 1609728, 1609728};
static const int64_t at_1511424[4] = {1511424, 1511424, 1511424, 1511424};
static const int64_t at_1499136[4] = {1499136, 1499136, 1499136, 1499136};
static const int64_t at_1363968[4] = {1363968, 1363968, 1363968, 1363968};
static const int64_t at_1536000[4] = {1536000, 1536000, 1536000, 1536000};
static const int64_t at_1634304[4] = {1634304, 1634304, 1634304, 1634304};
static const int64_t at_1523712[4] = {1523712, 1523712, 1523712, 1523712};
static const int64_t at_876544[4] = {876544, 876544, 876544, 876544};
static const int64_t at_1245184[4] = {1245184, 1245184, 1245184, 1245184};
static const int64_t at_1646592[4] = {1646592, 1646592, 1646592, 1646592};
static const int64_t at_1548288[4] = {1548288, 1548288, 1548288, 1548288};
static const int64_t at_1658880[4] = {1658880, 1658880, 1658880, 1658880};
static const int64_t at_1056768[4] = {1056768, 1056768, 1056768, 1056768};
static const int64_t at_1675264[4] = {1675264, 1675264, 1675264, 1675264};
static const int64_t at_1671168[4] = {1671168, 1671168, 1671168, 1671168};
static const int64_t at_1458176[4] = {1458176, 1458176, 1458176, 1458176};
static const int64_t at_1441792[4] = {1441792, 1441792, 1441792, 1441792};
static const int64_t at_1028096[4] = {1028096, 1028096, 1028096, 1028096};
static const int64_t at_765952[4] = {765952, 765952, 765952, 765952};
static const int64_t at_1314816[4] = {1314816, 1314816, 1314816, 1314816};
static const int64_t at_1318912[4] = {1318912, 1318912, 1318912, 1318912};
static const int64_t at_802816[4] = {802816, 802816, 802816, 802816};
static const int64_t at_794624[4] = {794624, 794624, 794624, 794624};
static const int64_t at_806912[4] = {806912, 806912, 806912, 806912};
static const int64_t at_643072[4] = {643072, 643072, 643072, 643072};
static const int64_t at_819200[4] = {819200, 819200, 819200, 819200};
static const int64_t at_704512[4] = {704512, 704512, 704512, 704512};

// Byte offsets in the local segment, by class {cpu4, cpu3, cpu2, cpu1}.
static const int64_t at_2179328[4] = {2179328, 1254656, 1147136, 132864};
static const int64_t at_1248256[4] = {1248256, 790272, 682752, 134912};
static const int64_t at_768[4] = {768, 768, 768, 768}, at_1536[4] = {1536, 1536, 1536, 1536};
static const int64_t at_2304[4] = {2304, 2304, 2304, 2304}, at_3072[4] = {3072, 3072, 3072, 3072};
static const int64_t at_3840[4] = {3840, 3840, 3840, 3840};
static const int64_t at_353280[4] = {353280, 333312, 241152, 121344};
static const int64_t at_353536[4] = {353536, 333568, 241408, 121600};
static const int64_t at_353792[4] = {353792, 333824, 241664, 121856};
static const int64_t at_354048[4] = {354048, 334080, 241920, 0};
static const int64_t at_381952[4] = {381952, 350464, 251648, 0};
static const int64_t at_409856[4] = {409856, 366848, 261376, 122112};
static const int64_t at_412928[4] = {412928, 369664, 263168, 122880};
static const int64_t at_4608[4] = {4608, 4608, 4608, 4608}, at_5376[4] = {5376, 5376, 5376, 5376};
static const int64_t at_6144[4] = {6144, 6144, 6144, 6144}, at_6912[4] = {6912, 6912, 6912, 6912};
static const int64_t at_7680[4] = {7680, 7680, 7680, 7680};
static const int64_t at_60672[4] = {60672, 56064, 39936, 21504};
static const int64_t at_113664[4] = {113664, 104448, 72192, 0};
static const int64_t at_114432[4] = {114432, 105216, 72960, 0};
static const int64_t at_115200[4] = {115200, 105984, 73728, 35328};
static const int64_t at_127488[4] = {127488, 118272, 86016, 47616};
static const int64_t at_139776[4] = {139776, 130560, 98304, 59904};
static const int64_t at_140544[4] = {140544, 131328, 99072, 60672};
static const int64_t at_141312[4] = {141312, 132096, 99840, 61440};
static const int64_t at_142080[4] = {142080, 132864, 100608, 62208};
static const int64_t at_142848[4] = {142848, 133632, 101376, 62976};
static const int64_t at_143616[4] = {143616, 134400, 102144, 63744};
static const int64_t at_144384[4] = {144384, 135168, 102912, 64512};
static const int64_t at_197376[4] = {197376, 183552, 135168, 78336};
static const int64_t at_250368[4] = {250368, 231936, 167424, 92160};
static const int64_t at_251136[4] = {251136, 232704, 168192, 92928};
static const int64_t at_251904[4] = {251904, 233472, 168960, 93696};
static const int64_t at_301824[4] = {301824, 282624, 204288, 106752};
static const int64_t at_351744[4] = {351744, 331776, 239616, 119808};
static const int64_t at_352512[4] = {352512, 332544, 240384, 120576};
static const int64_t at_416000[4] = {416000, 372480, 264960, 123648};
static const int64_t at_416256[4] = {416256, 372736, 265216, 123904};
static const int64_t at_416512[4] = {416512, 372992, 265472, 124160};
static const int64_t at_416768[4] = {416768, 373248, 265728, 124416};
static const int64_t at_1039616[4] = {1039616, 684800, 577280, 0};
static const int64_t at_1006848[4] = {1006848, 668416, 560896, 0};
static const int64_t at_417024[4] = {417024, 373504, 265984, 124672};
static const int64_t at_2181376[4] = {2181376, 1256704, 1149184, 0};
static const int64_t at_2183424[4] = {2183424, 1257728, 1150208, 0};
static const int64_t at_1353984[4] = {1353984, 841984, 734464, 0};
static const int64_t at_613632[4] = {613632, 471808, 364288, 0};
static const int64_t at_1812736[4] = {1812736, 1071360, 963840, 0};
static const int64_t at_1616128[4] = {1616128, 973056, 865536, 0};
static const int64_t at_1714432[4] = {1714432, 1022208, 914688, 0};
static const int64_t at_1452288[4] = {1452288, 891136, 783616, 0};
static const int64_t at_1550592[4] = {1550592, 940288, 832768, 0};
static const int64_t at_1648896[4] = {1648896, 989440, 881920, 0};
static const int64_t at_1747200[4] = {1747200, 1038592, 931072, 0};
static const int64_t at_2173184[4] = {2173184, 1251584, 1144064, 0};
static const int64_t at_1845504[4] = {1845504, 1087744, 980224, 0};
static const int64_t at_1943808[4] = {1943808, 1136896, 1029376, 0};
static const int64_t at_2185472[4] = {2185472, 1258752, 1151232, 0};
static const int64_t at_2187008[4] = {2187008, 1259520, 1152000, 0};
static const int64_t at_2042112[4] = {2042112, 1186048, 1078528, 0};
static const int64_t at_417024_2[4] = {417024, 373504, 265984, 0};
static const int64_t at_711936[4] = {711936, 520960, 413440, 0};
static const int64_t at_1137920[4] = {1137920, 733952, 626432, 0};
static const int64_t at_2140416[4] = {2140416, 1235200, 1127680, 0};
static const int64_t at_1245952[4] = {1245952, 787968, 680448, 124672};
static const int64_t at_1248256_2[4] = {1248256, 790272, 682752, 126976};
static const int64_t at_2189568[4] = {2189568, 1261056, 1153536, 0};
static const int64_t at_2190080[4] = {2190080, 1261312, 1153792, 0};
static const int64_t at_1245952_2[4] = {1245952, 787968, 680448, 0};
static const int64_t at_2188544[4] = {2188544, 1260288, 1152768, 0};
static const int64_t at_2188544_2[4] = {2188544, 1260288, 1152768, 131840};
static const int64_t at_2190592[4] = {2190592, 1260800, 1153280, 131584};
static const int64_t at_2188800[4] = {2188800, 1260544, 1153024, 132352};
static const int64_t at_2190848[4] = {2190848, 1261568, 1154048, 132096};
static const int64_t at_2140416_2[4] = {2140416, 1260288, 1152768, 0};
static const int64_t at_2140928[4] = {2140928, 1260544, 1153024, 0};
static const int64_t at_1105152[4] = {1105152, 717568, 610048, 0};
static const int64_t at_908544[4] = {908544, 619264, 511744, 0};
static const int64_t at_2182912[4] = {2182912, 1257472, 1149952, 0};
static const int64_t at_2184960[4] = {2184960, 1258496, 1150976, 0};
static const int64_t at_646400[4] = {646400, 488192, 380672, 0};
static const int64_t at_2009344[4] = {2009344, 1169664, 1062144, 0};
static const int64_t at_1911040[4] = {1911040, 1120512, 1012992, 0};
static const int64_t at_1517824[4] = {1517824, 923904, 816384, 0};
static const int64_t at_440576[4] = {440576, 395008, 280320, 130816};
static const int64_t at_472832[4] = {472832, 406272, 285440, 124672};
static const int64_t at_444928[4] = {444928, 389888, 275712, 0};
static const int64_t at_444928_2[4] = {444928, 389888, 275712, 125440};

// Bytes from one block's buffer to the next one's.
static const int64_t by_512[4] = {512, 256, 256, 0}, by_32768[4] = {32768, 16384, 16384, 0};
static const int64_t by_256[4] = {256, 256, 256, 256}, by_49152[4] = {49152, 49152, 49152, 49152};
static const int64_t by_4096[4] = {4096, 4096, 4096, 4096}, by_2048[4] = {2048, 1024, 1024, 0};
static const int64_t by_16384[4] = {16384, 16384, 16384, 16384};
static const int64_t by_98304[4] = {98304, 49152, 49152, 0};
static const int64_t by_32768_2[4] = {32768, 32768, 32768, 32768};
static const int64_t by_20480[4] = {20480, 20480, 20480, 20480};
static const int64_t by_17664[4] = {17664, 16128, 10752, 4608}, by_256_2[4] = {256, 256, 256, 0};
static const int64_t by_16640[4] = {16640, 16384, 11776, 4352};

static const int64_t local_bytes[4] = {2191104, 1261824, 1154304, 136960}, sym_bytes = 1679360;

// Collectives that are waited for elsewhere than where they start.
static hap_event *ln_f_dw_cut_ready[3], *ln_f_dw_1_cut_ready[3], *h_mlp_c_proj_dw_cut_ready[3];
static hap_event *h_mlp_c_proj_db_cut_ready[3], *h_mlp_c_fc_dw_cut_ready[3];
static hap_event *h_mlp_c_fc_db_cut_ready[3], *h_ln_2_dw_cut_ready[3], *h_ln_2_dw_1_cut_ready[3];
static hap_event *h_attn_c_proj_dw_cut_ready[3], *h_attn_c_proj_db_cut_ready[3];
static hap_event *h_attn_c_attn_dw_cut_ready[3], *h_attn_c_attn_db_cut_ready[3];
static hap_event *h_0_ln_1_dw_cut_ready, *h_0_ln_1_dw_1_cut_ready, *h_0_ln_1_dw_all_ready;
static hap_event *h_attn_c_attn_weight_ready[3], *h_attn_c_attn_bias_ready[3];
static hap_event *h_attn_c_proj_weight_ready[3], *h_mlp_c_fc_weight_ready[3];
static hap_event *h_mlp_c_fc_bias_ready[3], *h_mlp_c_proj_weight_ready[3], *ln_f_dw_all_ready[3];

// What each of the 3 blocks h.* works on.
typedef struct h_block {
    hap_tensor *ln_1_sum, *add_2, *ln_1_m2, *ln_1, *ln_1_weight, *ln_1_bias, *attn_c_attn;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_bias, *attn_split_0, *attn_split_1, *attn_split_2;
    hap_tensor *attn_reshape, *attn_transpose, *attn_reshape_2, *attn_transpose_2, *attn_reshape_3;
    hap_tensor *attn_transpose_3, *attn_sdpa, *attn_sdpa_lse, *attn_transpose_4, *attn_reshape_4;
    hap_tensor *attn_c_proj, *attn_c_proj_weight, *attn_c_proj_bias, *add, *ln_2_sum, *ln_2_m2;
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc, *mlp_c_fc_weight, *mlp_c_fc_bias;
    hap_tensor *mlp_act, *mlp_c_proj, *mlp_c_proj_weight, *mlp_c_proj_bias, *add_2_2, *ln_f_dw;
    hap_tensor *ln_f_dw_1, *lm_head_dx, *ln_f_sum, *ln_f_m2, *ln_f_dw_cut, *cut, *mlp_c_proj_dx;
    hap_tensor *ln_f_dx, *mlp_c_proj_dw, *mlp_c_proj_dw_cut, *mlp_c_proj_db, *mlp_c_proj_db_cut;
    hap_tensor *mlp_act_dx, *mlp_c_fc_dx, *mlp_c_fc_dw, *mlp_c_fc_dw_cut, *mlp_c_fc_db;
    hap_tensor *mlp_c_fc_db_cut, *ln_2_stats, *ln_2_stats_1, *ln_2_dx, *ln_2_sum_2, *ln_2_dw;
    hap_tensor *ln_2_dw_1, *ln_2_dw_cut, *ln_2_dw_1_cut, *attn_c_proj_dx, *attn_c_proj_dw;
    hap_tensor *attn_c_proj_dw_cut, *attn_c_proj_db, *attn_c_proj_db_cut, *attn_reshape_4_dx;
    hap_tensor *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1, *attn_sdpa_dqkv_2;
    hap_tensor *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx, *attn_reshape_2_dx;
    hap_tensor *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx, *attn_c_attn_dx;
    hap_tensor *attn_c_attn_dw, *attn_c_attn_dw_cut, *attn_c_attn_db, *attn_c_attn_db_cut;
    hap_tensor *attn_c_attn_db_cut_scratch, *ln_1_stats, *ln_1_stats_1, *ln_1_dx, *ln_1_sum_2;
    hap_tensor *ln_1_weight_sumsq, *ln_1_dw_cut, *ln_1_weight_norm, *mlp_c_proj_bias_norm;
    hap_tensor *ln_1_bias_sumsq, *ln_1_dw_1_cut, *ln_1_bias_norm, *attn_c_attn_weight_sumsq;
    hap_tensor *attn_c_attn_weight_norm, *attn_c_attn_bias_sumsq, *attn_c_attn_bias_norm;
    hap_tensor *attn_c_proj_weight_sumsq, *attn_c_proj_weight_norm, *attn_c_proj_bias_sumsq;
    hap_tensor *attn_c_proj_bias_norm, *ln_2_weight_sumsq, *ln_2_weight_norm, *ln_2_bias_sumsq;
    hap_tensor *ln_2_bias_norm, *mlp_c_fc_weight_sumsq, *mlp_c_fc_weight_norm, *mlp_c_fc_bias_sumsq;
    hap_tensor *mlp_c_fc_bias_norm, *mlp_c_proj_weight_sumsq, *mlp_c_proj_weight_norm;
    hap_tensor *mlp_c_proj_bias_sumsq, *mlp_c_proj_bias_norm_2, *ln_1_dw_1_all;
    hap_tensor *ln_1_weight_exp_avg, *ln_1_weight_exp_avg_sq, *ln_1_dw_all, *clip;
    hap_tensor *ln_1_bias_exp_avg, *ln_1_bias_exp_avg_sq, *attn_c_attn_weight_cut;
    hap_tensor *attn_c_attn_weight_exp_avg, *attn_c_attn_weight_exp_avg_sq, *attn_c_attn_bias_cut;
    hap_tensor *attn_c_attn_bias_exp_avg, *attn_c_attn_bias_exp_avg_sq, *attn_c_proj_weight_cut;
    hap_tensor *attn_c_proj_weight_exp_avg, *attn_c_proj_weight_exp_avg_sq, *attn_c_proj_db_all;
    hap_tensor *ln_2_dw_all, *attn_c_proj_bias_exp_avg, *attn_c_proj_bias_exp_avg_sq;
    hap_tensor *ln_2_dw_1_all, *ln_2_weight_exp_avg, *ln_2_weight_exp_avg_sq, *ln_2_bias_exp_avg;
    hap_tensor *ln_2_bias_exp_avg_sq, *mlp_c_fc_weight_cut, *mlp_c_fc_weight_exp_avg;
    hap_tensor *mlp_c_fc_weight_exp_avg_sq, *mlp_c_fc_bias_cut, *mlp_c_fc_bias_exp_avg;
    hap_tensor *mlp_c_fc_bias_exp_avg_sq, *mlp_c_proj_weight_cut, *mlp_c_proj_weight_exp_avg;
    hap_tensor *mlp_c_proj_weight_exp_avg_sq, *mlp_c_proj_db_all, *ln_f_dw_all;
    hap_tensor *mlp_c_proj_bias_exp_avg, *mlp_c_proj_bias_exp_avg_sq;
    hap_event **ln_f_dw_cut_ready, **cut_ready, **mlp_c_proj_dw_cut_ready;
    hap_event **mlp_c_proj_db_cut_ready, **mlp_c_fc_dw_cut_ready, **mlp_c_fc_db_cut_ready;
    hap_event **ln_2_dw_cut_ready, **ln_2_dw_1_cut_ready, **attn_c_proj_dw_cut_ready;
    hap_event **attn_c_proj_db_cut_ready, **attn_c_attn_dw_cut_ready, **attn_c_attn_db_cut_ready;
    hap_event **ln_1_dw_cut_ready, **ln_1_dw_1_cut_ready, **ln_1_dw_all_ready;
    hap_event **attn_c_attn_weight_ready, **attn_c_attn_bias_ready, **attn_c_proj_weight_ready;
    hap_event **mlp_c_fc_weight_ready, **mlp_c_fc_bias_ready, **mlp_c_proj_weight_ready;
    hap_event **ln_f_dw_all_ready;
} h_block;
static h_block h[3];

// One of the 3 blocks h, forward: 0.336 ms of computation.
static void h_forward(hap_rank *r, const h_block *b)
{
    // ln_1
    op_row_sum(r, b->ln_1_sum, b->add_2);            // y = sum x    [8@rows 32]    0.0036 ms
    op_row_m2(r, b->ln_1_m2, b->add_2, b->ln_1_sum); // [8@rows 32]    0.00364 ms
    op_norm_apply(r, b->ln_1, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_weight, b->ln_1_bias,
                  1e-05); // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00628 ms

    // attn
    // y = a b + c    [8@rows 32 192]    0.0665 ms
    op_linear(r, b->attn_c_attn, b->ln_1, b->attn_c_attn_weight, b->attn_c_attn_bias, HAP_NN);
    hap_tensor *const parts[] = {
        b->attn_split_0, // [8@rows 32 64]
        b->attn_split_1, // [8@rows 32 64]
        b->attn_split_2, // [8@rows 32 64]
    };
    op_split(r, 3, parts, b->attn_c_attn, 2, HAP_INTS(64, 64, 64)); // [8@rows 32 64]    0.0164 ms
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape, b->attn_split_1, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.00612 ms
    op_transpose(r, b->attn_transpose, b->attn_reshape, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_2, b->attn_split_2, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.00612 ms
    op_transpose(r, b->attn_transpose_2, b->attn_reshape_2, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_3, b->attn_split_0, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.00612 ms
    op_transpose(r, b->attn_transpose_3, b->attn_reshape_3, HAP_INTS(0, 2, 1, 3));
    op_sdpa(r, b->attn_sdpa, b->attn_sdpa_lse, b->attn_transpose_3, b->attn_transpose,
            b->attn_transpose_2, NULL, true, 0.25, 0, 0, 0); // [8@rows 4 32 16]    0.0119 ms
    // y = x'    [8@rows 32 4 16]    0.00612 ms
    op_transpose(r, b->attn_transpose_4, b->attn_sdpa, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_4, b->attn_transpose_4, HAP_INTS(8, 32, 64));
    op_linear(r, b->attn_c_proj, b->attn_reshape_4, b->attn_c_proj_weight, b->attn_c_proj_bias,
              HAP_NN); // y = a b + c    [8@rows 32 64]    0.0228 ms

    // add
    op_add(r, b->add, b->attn_c_proj, b->add_2); // y = a + b    [8@rows 32 64]    0.00868 ms

    // ln_2
    op_row_sum(r, b->ln_2_sum, b->add);            // y = sum x    [8@rows 32]    0.0036 ms
    op_row_m2(r, b->ln_2_m2, b->add, b->ln_2_sum); // [8@rows 32]    0.00364 ms
    // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00628 ms
    op_norm_apply(r, b->ln_2, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_weight, b->ln_2_bias, 1e-05);

    // mlp
    // y = a b + c    [8@rows 32 192]    0.0665 ms
    op_linear(r, b->mlp_c_fc, b->ln_2, b->mlp_c_fc_weight, b->mlp_c_fc_bias, HAP_NN);
    op_gelu(r, b->mlp_act, b->mlp_c_fc, true); // y = gelu x    [8@rows 32 192]    0.0164 ms
    // y = a b + c    [8@rows 32 64]    0.0665 ms
    op_linear(r, b->mlp_c_proj, b->mlp_act, b->mlp_c_proj_weight, b->mlp_c_proj_bias, HAP_NN);

    // add
    op_add(r, b->add_2_2, b->add, b->mlp_c_proj); // y = a + b    [8@rows 32 64]    0.00868 ms
}

// One of the 3 blocks h, backward: 0.623 ms of computation.
static void h_backward(hap_rank *r, const h_block *b)
{
    // ln_1
    op_norm_bwd_params(r, b->ln_f_dw, b->ln_f_dw_1, b->lm_head_dx, b->add_2_2, b->ln_f_sum,
                       b->ln_f_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
    *b->ln_f_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1, &b->ln_f_dw_cut, &b->ln_f_dw, NULL);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
    *b->cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1, &b->cut, &b->ln_f_dw_1, NULL);

    // mlp
    // y = a b'    [8@rows 32 192]    0.0665 ms
    op_linear(r, b->mlp_c_proj_dx, b->ln_f_dx, b->mlp_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_f_dx); // [192 64]+    0.0665 ms
    // + -> dim 0 @cut_192_lp    [192@cut_192_lp 64]    48.0 KiB    0.0312 ms
    *b->mlp_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_proj_dw_cut, &b->mlp_c_proj_dw, NULL);
    op_sum(r, b->mlp_c_proj_db, b->ln_f_dx, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
    *b->mlp_c_proj_db_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->mlp_c_proj_db_cut, &b->mlp_c_proj_db, NULL);
    // y = a gelu'(b)    [8@rows 32 192]    0.024 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    // y = a b'    [8@rows 32 64]    0.0665 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx); // [64 192]+    0.0665 ms
    // + -> dim 0 @cut_64_lp    [64@cut_64_lp 192]    48.0 KiB    0.0311 ms
    *b->mlp_c_fc_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_fc_dw_cut, &b->mlp_c_fc_dw, NULL);
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
    // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.0151 ms
    *b->mlp_c_fc_db_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->mlp_c_fc_db_cut, &b->mlp_c_fc_db, NULL);

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // [8@rows 32]    0.00632 ms
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05); // [8@rows 32 64]    0.00888 ms
    op_add(r, b->ln_2_sum_2, b->ln_f_dx, b->ln_2_dx); // y = a + b    [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
                       1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
    *b->ln_2_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1, &b->ln_2_dw_cut, &b->ln_2_dw, NULL);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
    *b->ln_2_dw_1_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1, &b->ln_2_dw_1_cut, &b->ln_2_dw_1, NULL);

    // attn
    // y = a b'    [8@rows 32 64]    0.0228 ms
    op_linear(r, b->attn_c_proj_dx, b->ln_2_sum_2, b->attn_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_sum_2); // [64 64]+    0.0228 ms
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0181 ms
    *b->attn_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_proj_dw_cut, &b->attn_c_proj_dw, NULL);
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
    *b->attn_c_proj_db_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_proj_db_cut, &b->attn_c_proj_db, NULL);
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attn_reshape_4_dx, b->attn_c_proj_dx, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.00612 ms
    op_transpose(r, b->attn_transpose_4_dx, b->attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3));
    // y, y1, y2 = dq, dk, dv    [8@rows 4 32 16]    0.0283 ms
    op_sdpa_bwd(r, b->attn_sdpa_dqkv, b->attn_sdpa_dqkv_1, b->attn_sdpa_dqkv_2,
                b->attn_transpose_4_dx, b->attn_transpose_3, b->attn_transpose, b->attn_transpose_2,
                b->attn_sdpa, b->attn_sdpa_lse, NULL, true, 0.25, 0, 0, 0);
    // y = x'    [8@rows 32 4 16]    0.00612 ms
    op_transpose(r, b->attn_transpose_3_dx, b->attn_sdpa_dqkv, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_3_dx, b->attn_transpose_3_dx, HAP_INTS(8, 32, 64));
    // y = x'    [8@rows 32 4 16]    0.00612 ms
    op_transpose(r, b->attn_transpose_2_dx, b->attn_sdpa_dqkv_2, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_2_dx, b->attn_transpose_2_dx, HAP_INTS(8, 32, 64));
    // y = x'    [8@rows 32 4 16]    0.00612 ms
    op_transpose(r, b->attn_transpose_dx, b->attn_sdpa_dqkv_1, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attn_reshape_dx, b->attn_transpose_dx, HAP_INTS(8, 32, 64));
    hap_tensor *const parts[] = {
        b->attn_reshape_3_dx, // [8@rows 32 64]
        b->attn_reshape_dx,   // [8@rows 32 64]
        b->attn_reshape_2_dx, // [8@rows 32 64]
    };
    op_concat(r, b->attn_split_dx, 3, parts, 2); // y = xs    [8@rows 32 192]    0.0164 ms
    // y = a b'    [8@rows 32 64]    0.0665 ms
    op_linear(r, b->attn_c_attn_dx, b->attn_split_dx, b->attn_c_attn_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_attn_dw, b->ln_1, b->attn_split_dx); // [64 192]+    0.0665 ms
    // + -> dim 0 @cut_64_lp    [64@cut_64_lp 192]    48.0 KiB    0.0311 ms
    *b->attn_c_attn_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->attn_c_attn_dw_cut, &b->attn_c_attn_dw, NULL);
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
    // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0157 ms
    *b->attn_c_attn_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PADDED, 1, &b->attn_c_attn_db_cut,
                                  &b->attn_c_attn_db, b->attn_c_attn_db_cut_scratch);

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_stats, b->ln_1_stats_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                      b->ln_1_m2, b->ln_1_weight, 1e-05); // [8@rows 32]    0.00632 ms
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_stats,
                b->ln_1_stats_1, b->ln_1_weight, 1e-05); // [8@rows 32 64]    0.00888 ms
    op_add(r, b->ln_1_sum_2, b->ln_2_sum_2, b->ln_1_dx); // [8@rows 32 64]    0.00868 ms
}

// One of the 3 blocks h, backward: 0.0308 ms of computation.
static void h_backward_2(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->ln_1_dw_cut_ready); // 0.015 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_cut); // y = sum x^2    []+    0.00102 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq);
    hap_wait(r, *b->ln_1_dw_1_cut_ready);              // 0.015 ms hidden
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1_cut); // y = sum x^2    []+    0.00102 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->attn_c_attn_dw_cut_ready);                             // 0.0311 ms hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_cut);       // []+    0.00268 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    hap_wait(r, *b->attn_c_attn_db_cut_ready);                     // 0.0157 ms hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_cut); // []+    0.00104 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    hap_wait(r, *b->attn_c_proj_dw_cut_ready);                       // 0.0181 ms hidden
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_cut); // []+    0.00228 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    hap_wait(r, *b->attn_c_proj_db_cut_ready);                     // 0.015 ms hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_cut); // []+    0.00102 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    hap_wait(r, *b->ln_2_dw_cut_ready);                // 0.015 ms hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_cut); // y = sum x^2    []+    0.00102 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    hap_wait(r, *b->ln_2_dw_1_cut_ready);              // 0.015 ms hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1_cut); // y = sum x^2    []+    0.00102 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->mlp_c_fc_dw_cut_ready);                                // 0.0311 ms hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_cut); // y = sum x^2    []+    0.00268 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    hap_wait(r, *b->mlp_c_fc_db_cut_ready);                  // 0.0151 ms hidden
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_cut); // y = sum x^2    []+    0.00106 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    hap_wait(r, *b->mlp_c_proj_dw_cut_ready);                      // 0.0312 ms hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_cut); // []+    0.00284 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_wait(r, *b->mlp_c_proj_db_cut_ready);                    // 0.015 ms hidden
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_cut); // y = sum x^2    []+    0.00102 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 3 blocks h, update: 0.078 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    // update
    // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
    hap_event *e_ln_1_dw_1_all =
        coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->ln_1_dw_1_all, &b->ln_1_dw_1_cut, NULL);
    hap_wait(r, *b->ln_1_dw_all_ready);
    op_adam(r, b->ln_1_weight, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq, b->ln_1_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00156 ms
    hap_wait(r, e_ln_1_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_1_bias, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00156 ms
    // whole -> dim 0 @cut_64_lp    [64@cut_64_lp 192]    0.00369 ms
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight);
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64_lp 192]    0.0128 ms
    // dim 0 @cut_64_lp -> whole    [64 192]    48.0 KiB    0.0282 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_weight, &b->attn_c_attn_weight_cut, NULL);
    hap_cut(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias); // [192@cut_3]    0.00106 ms
    // a -= lr b / sqrt c    [192@cut_3]    0.00128 ms
    op_adam(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.0152 ms
    *b->attn_c_attn_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_bias, &b->attn_c_attn_bias_cut, NULL);
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight); // [64@heads 64]    0.00305 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00996 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0181 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_proj_weight, &b->attn_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
    hap_event *e_attn_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_proj_db_all, &b->attn_c_proj_db_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
    hap_event *e_ln_2_dw_all =
        coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->ln_2_dw_all, &b->ln_2_dw_cut, NULL);
    hap_wait(r, e_attn_c_proj_db_all);
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00156 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
    hap_event *e_ln_2_dw_1_all =
        coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->ln_2_dw_1_all, &b->ln_2_dw_1_cut, NULL);
    hap_wait(r, e_ln_2_dw_all); // 0.00114 ms hidden
    op_adam(r, b->ln_2_weight, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq, b->ln_2_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00156 ms
    hap_wait(r, e_ln_2_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_2_bias, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00156 ms
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight); // [64@cut_64_lp 192]    0.00369 ms
    // a -= lr b / sqrt c    [64@cut_64_lp 192]    0.0128 ms
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 0 @cut_64_lp -> whole    [64 192]    48.0 KiB    0.0282 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_weight, &b->mlp_c_fc_weight_cut, NULL);
    hap_cut(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias); // [192@cut_192]    0.0011 ms
    // a -= lr b / sqrt c    [192@cut_192]    0.00142 ms
    op_adam(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.0151 ms
    *b->mlp_c_fc_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->mlp_c_fc_bias,
                                                    &b->mlp_c_fc_bias_cut, NULL);
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192_lp 64]    0.00394 ms
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [192@cut_192_lp 64]    0.0139 ms
    // dim 0 @cut_192_lp -> whole    [192 64]    48.0 KiB    0.0275 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_weight, &b->mlp_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
    hap_event *e_mlp_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_EVEN, 1, &b->mlp_c_proj_db_all, &b->mlp_c_proj_db_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
    *b->ln_f_dw_all_ready =
        coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->ln_f_dw_all, &b->ln_f_dw_cut, NULL);
    hap_wait(r, e_mlp_c_proj_db_all);
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00156 ms
}

// One of the 3 blocks h, update: 0 ms of computation.
static void h_update_2(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0282 ms hidden
    hap_wait(r, *b->attn_c_attn_bias_ready);   // 0.0152 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.0181 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0282 ms hidden
    hap_wait(r, *b->mlp_c_fc_bias_ready);      // 0.0151 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.0275 ms hidden
}

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "a94a3bb305aca178", 4);
    hap_mesh(r, 1, (const int[]){4});
    hap_classes(r, (const int[]){0, 1, 2, 3});
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
    const hap_dim vocab_64[] = {CUT(0, 211, vocab), WHOLE(64)};
    const hap_dim of_32_cut_64_lp[] = {WHOLE(32), CUT(0, 64, cut_64_lp)};
    const hap_dim cut_64_lp_192[] = {CUT(0, 64, cut_64_lp), WHOLE(192)};
    const hap_dim cut_3_of_192[] = {CUT_IN(0, 1, 3, 64, cut_3)};
    const hap_dim heads_64[] = {CUT_IN(0, 1, 4, 16, heads), WHOLE(64)};
    const hap_dim cut_192_of_192[] = {CUT(0, 192, cut_192)};
    const hap_dim cut_192_lp_64[] = {CUT(0, 192, cut_192_lp), WHOLE(64)};
    const hap_dim rows_32[] = {CUT(0, 8, rows), WHOLE(32)};
    const hap_dim rows_32_64[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(64)};
    const hap_dim of_1_32_64[] = {WHOLE(1), WHOLE(32), WHOLE(64)};
    const hap_dim rows_32_192[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(192)};
    const hap_dim rows_32_4_16[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(4), WHOLE(16)};
    const hap_dim rows_4_32_16[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32), WHOLE(16)};
    const hap_dim rows_4_32[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32)};
    const hap_dim rows_32_211[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(211)};
    const hap_dim of_8_33[] = {WHOLE(8), WHOLE(33)};
    const hap_dim cut_64_of_64[] = {CUT(0, 64, cut_64)};
    const hap_dim scratch_320[] = {WHOLE(320)};
    const hap_dim of_8_32_64[] = {WHOLE(8), WHOLE(32), WHOLE(64)};
    const hap_dim of_8_32_cut_64_lp[] = {WHOLE(8), WHOLE(32), CUT(0, 64, cut_64_lp)};
    const hap_dim of_1_32_cut_64_lp[] = {WHOLE(1), WHOLE(32), CUT(0, 64, cut_64_lp)};
    const hap_dim scratch_2048[] = {WHOLE(2048)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_2179328, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1248256, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_SYM, at_516096, HAP_F32, 2, of_211_64); // [211 64]
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_SYM, at_573440, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_353280, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_353536, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_354048, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_381952, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_409856, HAP_F32, 2, of_32_cut_64_lp);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_412928, HAP_F32, 2, of_32_cut_64_lp);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_416000, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_416256, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_416512, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_416768, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_353792, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_1039616, HAP_I64, 2, rows_32);
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1006848, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_417024, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_2140416, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1137920, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_1245952, HAP_I64, 2, of_8_33);     // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_1248256_2, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_2189568, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_2190080, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_1245952_2, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_2188544, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_1245952_2, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_581632, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_581632, HAP_F32, 0, NULL);   // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_2188544_2, HAP_F32, 0, NULL);   // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_2190592, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_2188800, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_2190848, HAP_F32, 0, NULL);   // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_2188544, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1245952_2, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dw = hap_at(r, SEG_SYM, at_1306624, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *lm_head_dw_cut = hap_at(r, SEG_SYM, at_1413120, HAP_F32, 2, vocab_64);
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_2140416_2, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_2140928, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_sum_all = hap_at(r, SEG_SYM, at_1056768, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_ln_1_dw = hap_at(r, SEG_SYM, at_1675264, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_1_dw_1 = hap_at(r, SEG_SYM, at_1671168, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_ln_1_sum_cut = hap_at(r, SEG_LOCAL, at_417024, HAP_F32, 3, of_8_32_cut_64_lp);
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_440576, HAP_F32, 3, of_1_32_cut_64_lp);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_472832, HAP_F32, 2, of_32_cut_64_lp);
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_444928, HAP_F32, 2, vocab_64);
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_417024_2, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_SYM, at_1024000, HAP_F32, 0, NULL);     // []+
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL);  // []+
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_SYM, at_1028096, HAP_F32, 0, NULL);     // []+
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL);   // []+
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_SYM, at_1028096, HAP_F32, 0, NULL);       // []+
    hap_tensor *ln_f_bias_norm_all = hap_at(r, SEG_SYM, at_1028096, HAP_F32, 0, NULL);   // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL);              // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_SYM, at_765952, HAP_F32, 2, vocab_64);
    hap_tensor *wpe_weight_cut = hap_at(r, SEG_SYM, at_1314816, HAP_F32, 2, of_32_cut_64_lp);
    hap_tensor *ln_f_dw_1_all = hap_at(r, SEG_SYM, at_1458176, HAP_F32, 1, of_64); // [64]

    // Scratch of collectives.
    hap_tensor *wpe_weight_scratch = hap_at(r, SEG_SYM, at_1306624, HAP_F32, 1, scratch_2048);

    hap_tensor *ln_f_sum_2[4], *h_2_add_2_2[4], *ln_f_m2_2[4], *lm_head_dx_2[4], *ln_f_dw_cut_2[4];
    hap_tensor *ln_f_dw_1_cut_2[4], *ln_f_dx_2[4], *h_2_mlp_c_proj_bias_norm_2[4];
    hap_tensor *ln_f_dw_all_2[4];
    for (int i = 0; i < 4; i++) {
        ln_f_sum_2[i] = hap_at_layer(r, SEG_LOCAL, at_2181376, by_512, i, HAP_F32, 2, rows_32);
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1006848, by_32768, i, HAP_F32, 3, rows_32_64);
        ln_f_m2_2[i] = hap_at_layer(r, SEG_LOCAL, at_2183424, by_512, i, HAP_F32, 2, rows_32);
        lm_head_dx_2[i] = hap_at(r, SEG_LOCAL, at_1137920, HAP_F32, 3, rows_32_64);
        ln_f_dw_cut_2[i] =
            hap_at_layer(r, SEG_SYM, at_1458176, by_4096, i, HAP_F32, 1, cut_64_of_64);
        ln_f_dw_1_cut_2[i] =
            hap_at_layer(r, SEG_SYM, at_1441792, by_4096, i, HAP_F32, 1, cut_64_of_64);
        ln_f_dx_2[i] =
            hap_at_layer(r, SEG_SYM, at_1024000, by_32768_2, i % 2, HAP_F32, 3, rows_32_64);
        h_2_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
        ln_f_dw_all_2[i] = hap_at(r, SEG_SYM, at_1318912, HAP_F32, 1, of_64);       // [64]
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->ln_1 = hap_at_layer(r, SEG_LOCAL, at_1353984, by_32768, i, HAP_F32, 3, rows_32_64);
        b->ln_1_weight = hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), b->ln_1_weight, HAP_FILL(1));
        b->ln_1_bias = hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), b->ln_1_bias, HAP_FILL(0));
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_613632, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_weight = hap_at_layer(r, SEG_SYM, at_0, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), b->attn_c_attn_weight,
                  HAP_NORMAL(0, 0.02));
        b->attn_c_attn_bias = hap_at_layer(r, SEG_SYM, at_147456, by_4096, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), b->attn_c_attn_bias,
                  HAP_FILL(0));
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_1812736, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_1616128, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_1714432, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_1616128, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose =
            hap_at_layer(r, SEG_LOCAL, at_1452288, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_1714432, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_1550592, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_1812736, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_1648896, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_1747200, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_2173184, by_2048, i, HAP_F32, 3, rows_4_32);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_1845504, by_32768, i, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_1845504, by_32768, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_1943808, by_32768, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_weight =
            hap_at_layer(r, SEG_SYM, at_159744, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), b->attn_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->attn_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_1536, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), b->attn_c_proj_bias,
                  HAP_FILL(0));
        b->add = hap_at_layer(r, SEG_LOCAL, at_1943808, by_32768, i, HAP_F32, 3, rows_32_64);
        b->ln_2_sum = hap_at_layer(r, SEG_LOCAL, at_2185472, by_512, i, HAP_F32, 2, rows_32);
        b->ln_2_m2 = hap_at_layer(r, SEG_LOCAL, at_2187008, by_512, i, HAP_F32, 2, rows_32);
        b->ln_2 = hap_at_layer(r, SEG_LOCAL, at_2042112, by_32768, i, HAP_F32, 3, rows_32_64);
        b->ln_2_weight = hap_at_layer(r, SEG_LOCAL, at_2304, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), b->ln_2_weight, HAP_FILL(1));
        b->ln_2_bias = hap_at_layer(r, SEG_LOCAL, at_3072, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), b->ln_2_bias, HAP_FILL(0));
        b->mlp_c_fc = hap_at_layer(r, SEG_LOCAL, at_417024_2, by_98304, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_weight =
            hap_at_layer(r, SEG_SYM, at_208896, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), b->mlp_c_fc_weight,
                  HAP_NORMAL(0, 0.02));
        b->mlp_c_fc_bias = hap_at_layer(r, SEG_SYM, at_356352, by_4096, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), b->mlp_c_fc_bias,
                  HAP_FILL(0));
        b->mlp_act = hap_at_layer(r, SEG_LOCAL, at_711936, by_98304, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_1137920, HAP_F32, 3, rows_32_64);
        b->mlp_c_proj_weight =
            hap_at_layer(r, SEG_SYM, at_368640, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), b->mlp_c_proj_weight,
                  HAP_NORMAL(0, 0.008164965809277261));
        b->mlp_c_proj_bias = hap_at_layer(r, SEG_LOCAL, at_3840, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), b->mlp_c_proj_bias,
                  HAP_FILL(0));
        b->ln_f_dw = hap_at_layer(r, SEG_SYM, at_1572864, by_4096, i, HAP_F32, 1, of_64);   // [64]+
        b->ln_f_dw_1 = hap_at_layer(r, SEG_SYM, at_1560576, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1105152, HAP_F32, 3, rows_32_192);
        // [192 64]+
        b->mlp_c_proj_dw = hap_at_layer(r, SEG_SYM, at_581632, by_49152, i, HAP_F32, 2, of_192_64);
        b->mlp_c_proj_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1122304, by_20480, i, HAP_F32, 2, cut_192_lp_64);
        // [64]+
        b->mlp_c_proj_db = hap_at_layer(r, SEG_SYM, at_1585152, by_4096, i, HAP_F32, 1, of_64);
        b->mlp_c_proj_db_cut =
            hap_at_layer(r, SEG_SYM, at_1474560, by_4096, i, HAP_F32, 1, cut_64_of_64);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_908544, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_613632, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->mlp_c_fc_dw = hap_at_layer(r, SEG_SYM, at_729088, by_49152, i, HAP_F32, 2, of_64_192);
        b->mlp_c_fc_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1183744, by_20480, i, HAP_F32, 2, cut_64_lp_192);
        // [192]+
        b->mlp_c_fc_db = hap_at_layer(r, SEG_SYM, at_1597440, by_4096, i, HAP_F32, 1, of_192);
        b->mlp_c_fc_db_cut =
            hap_at_layer(r, SEG_SYM, at_1486848, by_4096, i, HAP_F32, 1, cut_192_of_192);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_2182912, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_2184960, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_646400, HAP_F32, 3, rows_32_64);    // [8@rows 32 64]
        b->ln_2_sum_2 =
            hap_at_layer(r, SEG_SYM, at_1024000, by_32768_2, i % 2, HAP_F32, 3, rows_32_64);
        b->ln_2_dw = hap_at_layer(r, SEG_SYM, at_1622016, by_4096, i, HAP_F32, 1, of_64);   // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_SYM, at_1609728, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->ln_2_dw_cut = hap_at_layer(r, SEG_SYM, at_1511424, by_4096, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_dw_1_cut =
            hap_at_layer(r, SEG_SYM, at_1499136, by_4096, i, HAP_F32, 1, cut_64_of_64);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_2009344, HAP_F32, 3, rows_32_64);
        // [64 64]+
        b->attn_c_proj_dw = hap_at_layer(r, SEG_SYM, at_1363968, by_16384, i, HAP_F32, 2, of_64_64);
        b->attn_c_proj_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1536000, by_4096, i, HAP_F32, 2, heads_64);
        // [64]+
        b->attn_c_proj_db = hap_at_layer(r, SEG_SYM, at_1634304, by_4096, i, HAP_F32, 1, of_64);
        b->attn_c_proj_db_cut =
            hap_at_layer(r, SEG_SYM, at_1523712, by_4096, i, HAP_F32, 1, cut_64_of_64);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_2009344, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_613632, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_646400, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_1911040, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_2009344, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_1517824, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1517824, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_1616128, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1616128, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1714432, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1714432, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_613632, HAP_F32, 3, rows_32_192);
        // [64 192]+
        b->attn_c_attn_dw = hap_at_layer(r, SEG_SYM, at_876544, by_49152, i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1245184, by_20480, i, HAP_F32, 2, cut_64_lp_192);
        // [192]+
        b->attn_c_attn_db = hap_at_layer(r, SEG_SYM, at_1646592, by_4096, i, HAP_F32, 1, of_192);
        b->attn_c_attn_db_cut =
            hap_at_layer(r, SEG_SYM, at_1548288, by_4096, i, HAP_F32, 1, cut_3_of_192);
        b->attn_c_attn_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1658880, by_4096, i, HAP_F32, 1, scratch_320);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_2182912, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_2184960, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_1105152, HAP_F32, 3, rows_32_64);   // [8@rows 32 64]
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->ln_1_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL);   // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);      // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);        // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);      // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->ln_2_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL);   // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);   // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_bias_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);       // []+
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);     // []+
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_444928_2, HAP_F32, 0, NULL); // []+
        b->ln_1_dw_1_all = hap_at(r, SEG_SYM, at_802816, HAP_F32, 1, of_64);            // [64]
        b->ln_1_weight_exp_avg = hap_at_layer(r, SEG_LOCAL, at_4608, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg"), b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_5376, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_6144, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq = hap_at_layer(r, SEG_LOCAL, at_6912, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_cut =
            hap_at_layer(r, SEG_SYM, at_581632, by_20480, i, HAP_F32, 2, cut_64_lp_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_7680, by_17664, i, HAP_F32, 2, cut_64_lp_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_60672, by_17664, i, HAP_F32, 2, cut_64_lp_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_bias_cut =
            hap_at_layer(r, SEG_SYM, at_794624, by_4096, i, HAP_F32, 1, cut_3_of_192);
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_113664, by_256_2, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_114432, by_256_2, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_SYM, at_806912, by_4096, i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_115200, by_4096, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_127488, by_4096, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_db_all = hap_at(r, SEG_SYM, at_1536000, HAP_F32, 1, of_64); // [64]
        b->ln_2_dw_all = hap_at(r, SEG_SYM, at_1458176, HAP_F32, 1, of_64);        // [64]
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_139776, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_140544, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_dw_1_all = hap_at(r, SEG_SYM, at_1523712, HAP_F32, 1, of_64); // [64]
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_141312, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_142080, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_142848, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_143616, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut =
            hap_at_layer(r, SEG_SYM, at_643072, by_20480, i, HAP_F32, 2, cut_64_lp_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_144384, by_17664, i, HAP_F32, 2, cut_64_lp_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_197376, by_17664, i, HAP_F32, 2, cut_64_lp_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_bias_cut =
            hap_at_layer(r, SEG_SYM, at_819200, by_4096, i, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_250368, by_256, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_251136, by_256, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut =
            hap_at_layer(r, SEG_SYM, at_704512, by_20480, i, HAP_F32, 2, cut_192_lp_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_251904, by_16640, i, HAP_F32, 2, cut_192_lp_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_301824, by_16640, i, HAP_F32, 2, cut_192_lp_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_db_all = hap_at(r, SEG_SYM, at_1458176, HAP_F32, 1, of_64); // [64]
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_351744, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_352512, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg_sq"),
                  b->mlp_c_proj_bias_exp_avg_sq);
        b->ln_1_sum = ln_f_sum_2[i];
        b->add_2 = h_2_add_2_2[i];
        b->ln_1_m2 = ln_f_m2_2[i];
        b->add_2_2 = h_2_add_2_2[i + 1];
        b->lm_head_dx = lm_head_dx_2[i + 1];
        b->ln_f_sum = ln_f_sum_2[i + 1];
        b->ln_f_m2 = ln_f_m2_2[i + 1];
        b->ln_f_dw_cut = ln_f_dw_cut_2[i + 1];
        b->cut = ln_f_dw_1_cut_2[i + 1];
        b->ln_f_dx = ln_f_dx_2[i + 1];
        b->attn_c_attn_dx = lm_head_dx_2[i];
        b->ln_1_sum_2 = ln_f_dx_2[i];
        b->ln_1_dw_cut = ln_f_dw_cut_2[i];
        b->mlp_c_proj_bias_norm = h_2_mlp_c_proj_bias_norm_2[i];
        b->ln_1_dw_1_cut = ln_f_dw_1_cut_2[i];
        b->mlp_c_proj_bias_norm_2 = h_2_mlp_c_proj_bias_norm_2[i + 1];
        b->ln_1_dw_all = ln_f_dw_all_2[i];
        b->clip = clip;
        b->ln_f_dw_all = ln_f_dw_all_2[i + 1];
        b->ln_f_dw_cut_ready = &ln_f_dw_cut_ready[i];
        b->cut_ready = &ln_f_dw_1_cut_ready[i];
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
        b->attn_c_attn_weight_ready = &h_attn_c_attn_weight_ready[i];
        b->attn_c_attn_bias_ready = &h_attn_c_attn_bias_ready[i];
        b->attn_c_proj_weight_ready = &h_attn_c_proj_weight_ready[i];
        b->mlp_c_fc_weight_ready = &h_mlp_c_fc_weight_ready[i];
        b->mlp_c_fc_bias_ready = &h_mlp_c_fc_bias_ready[i];
        b->mlp_c_proj_weight_ready = &h_mlp_c_proj_weight_ready[i];
        b->ln_f_dw_all_ready = &ln_f_dw_all_ready[i];
    }
    h[0].ln_1_dw_cut_ready = &h_0_ln_1_dw_cut_ready;
    h[1].ln_1_dw_cut_ready = &ln_f_dw_cut_ready[0];
    h[2].ln_1_dw_cut_ready = &ln_f_dw_cut_ready[1];
    h[0].ln_1_dw_1_cut_ready = &h_0_ln_1_dw_1_cut_ready;
    h[1].ln_1_dw_1_cut_ready = &ln_f_dw_1_cut_ready[0];
    h[2].ln_1_dw_1_cut_ready = &ln_f_dw_1_cut_ready[1];
    h[0].ln_1_dw_all_ready = &h_0_ln_1_dw_all_ready;
    h[1].ln_1_dw_all_ready = &ln_f_dw_all_ready[0];
    h[2].ln_1_dw_all_ready = &ln_f_dw_all_ready[1];

    hap_alias(r, "lm_head.weight", "transformer.wte.weight");
    hap_loss(r, loss);
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001, .warmup = 4, .cosine = 40, .min_lr = 0.1});

    while (hap_next_step(r)) {
        // transformer.wte, forward
        hap_cut(r, input_ids_cut, input_ids); // whole -> dim 0 @rows    [8@rows 32]    0.00113 ms
        op_embedding(r, wte, wte_weight, input_ids_cut); // y = a[b]    [8@rows 32 64]    0.0062 ms

        // transformer.wpe, forward
        op_embedding(r, wpe, wpe_weight, wpe_const); // y = a[b]    [1 32 64]    0.0062 ms

        // transformer.add, forward
        op_add(r, h_2_add_2_2[0], wte, wpe); // y = a + b    [8@rows 32 64]    0.0074 ms

        for (int i = 0; i < 3; i++)
            h_forward(r, &h[i]);

        // transformer.ln_f, forward
        op_row_sum(r, ln_f_sum_2[3], h_2_add_2_2[3]); // y = sum x    [8@rows 32]    0.0036 ms
        op_row_m2(r, ln_f_m2_2[3], h_2_add_2_2[3], ln_f_sum_2[3]); // [8@rows 32]    0.00364 ms
        op_norm_apply(r, ln_f, h_2_add_2_2[3], ln_f_sum_2[3], ln_f_m2_2[3], ln_f_weight, ln_f_bias,
                      1e-05); // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00628 ms

        // lm_head, forward
        op_linear(r, lm_head, ln_f, wte_weight, NULL, HAP_NT); // [8@rows 32 211]    0.073 ms

        // pad, forward
        op_pad(r, pad, labels, 1, 0, 1, -100); // y = x, padded    [8 33]    0.0023 ms

        // slice, forward
        op_slice(r, slice, pad, 1, 1, 33); // y = part of x    [8 32]    0.0023 ms

        // ce_sum, forward
        op_row_max(r, ce_sum_max, lm_head); // y = max x    [8@rows 32]    0.00948 ms
        op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max); // [8@rows 32]    0.00952 ms
        hap_cut(r, slice_cut, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00113 ms
        op_target_logit(r, ce_sum_target, lm_head, slice_cut, -100); // [8@rows 32]    0.00116 ms
        hap_cut(r, slice_cut_2, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00113 ms
        // y = sum a + log b - c    []+    0.0012 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice_cut_2, -100);
        // + -> whole    []    4 B    0.03 ms
        hap_event *e_ce_sum_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ce_sum_all, &ce_sum, NULL);

        // count, forward
        op_count(r, count, slice, -100); // y = count x    []    0.00164 ms
        hap_wait(r, e_ce_sum_all);

        // loss, forward
        op_div(r, loss, ce_sum_all, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        hap_cut(r, slice_cut_3, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00113 ms
        // y = e (softmax - 1[label])    [8@rows 32 211]    0.018 ms
        op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice_cut_3, loss_da, -100);

        // lm_head, backward
        // y = a b    [8@rows 32 64]    0.073 ms
        op_linear(r, lm_head_dx_2[3], ce_sum_dx, wte_weight, NULL, HAP_NN);
        op_linear_dw(r, lm_head_dw, ce_sum_dx, ln_f); // y = sum rows a' b    [211 64]+    0.073 ms
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0335 ms
        hap_event *e_lm_head_dw_cut = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
                                                                &lm_head_dw_cut, &lm_head_dw, NULL);

        // transformer.ln_f, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00632 ms
        op_norm_bwd_stats(r, ln_f_stats, ln_f_stats_1, lm_head_dx_2[3], h_2_add_2_2[3],
                          ln_f_sum_2[3], ln_f_m2_2[3], ln_f_weight, 1e-05);
        op_norm_bwd(r, ln_f_dx_2[3], lm_head_dx_2[3], h_2_add_2_2[3], ln_f_sum_2[3], ln_f_m2_2[3],
                    ln_f_stats, ln_f_stats_1, ln_f_weight, 1e-05); // [8@rows 32 64]    0.00888 ms

        for (int i = 2; i >= 0; i--)
            h_backward(r, &h[i]);

        // transformer.h.0.ln_1, backward
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0396 ms
        hap_event *e_h_0_ln_1_sum_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_0_ln_1_sum_all, &ln_f_dx_2[0], NULL);
        op_norm_bwd_params(r, h_0_ln_1_dw, h_0_ln_1_dw_1, lm_head_dx_2[0], h_2_add_2_2[0],
                           ln_f_sum_2[0], ln_f_m2_2[0], 1e-05); // [64]+    0.00628 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
        h_0_ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1,
                                                          &ln_f_dw_cut_2[0], &h_0_ln_1_dw, NULL);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.015 ms
        h_0_ln_1_dw_1_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_EVEN, 1, &ln_f_dw_1_cut_2[0], &h_0_ln_1_dw_1, NULL);
        hap_wait(r, e_h_0_ln_1_sum_all);

        // transformer.add, backward
        hap_cut(r, h_0_ln_1_sum_cut, h_0_ln_1_sum_all); // [8 32 64@cut_64_lp]    0.00458 ms
        // y = sum x    [1 32 64@cut_64_lp]    0.00352 ms
        op_sum(r, add_fold1, h_0_ln_1_sum_cut, HAP_INTS(0), true);

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // [32 64@cut_64_lp]    0.0016 ms

        // transformer.wte, backward
        // y[b] += a    [211@vocab 64]    0.0221 ms
        op_embedding_bwd(r, wte_dw, h_0_ln_1_sum_all, input_ids, 211);
        hap_wait(r, e_lm_head_dw_cut);              // 0.0335 ms hidden
        op_add(r, wte_sum, lm_head_dw_cut, wte_dw); // y = a + b    [211@vocab 64]    0.00754 ms

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum); // y = sum x^2    []+    0.00318 ms
        op_sumsq(r, wpe_weight_sumsq, wpe_dw);  // y = sum x^2    []+    0.00128 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 3; i++)
            h_backward_2(r, &h[i]);
        hap_wait(r, ln_f_dw_cut_ready[2]); // 0.015 ms hidden

        // update
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_cut_2[3]); // y = sum x^2    []+    0.00102 ms
        // y = a + b    []+    0.001 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm_2[3], ln_f_weight_sumsq);
        hap_wait(r, ln_f_dw_1_cut_ready[2]);              // 0.015 ms hidden
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1_cut_2[3]); // y = sum x^2    []+    0.00102 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // []+    0.001 ms
        // + -> whole    []    4 B    0.03 ms
        hap_event *e_ln_f_bias_norm_all = coll_all_reduce_start(
            r, AXIS(0), FORM_FLAT, 1, &ln_f_bias_norm_all, &ln_f_bias_norm, NULL);
        hap_wait(r, e_ln_f_bias_norm_all);
        op_clip_scale(r, clip, ln_f_bias_norm_all, 1); // y = min(1, 1 / sqrt x)    []    0.001 ms
        hap_cut(r, wte_weight_cut, wte_weight);        // [211@vocab 64]    0.00449 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0163 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.0335 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_GROUPED, 1, &wte_weight, &wte_weight_cut, NULL);
        hap_cut(r, wpe_weight_cut, wpe_weight); // [32 64@cut_64_lp]    0.00145 ms
        op_adam(r, wpe_weight_cut, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32 64@cut_64_lp]    0.00296 ms
        // dim 1 @cut_64_lp -> whole    [32 64]    8.00 KiB    0.0213 ms
        hap_event *e_wpe_weight = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wpe_weight,
                                                        &wpe_weight_cut, wpe_weight_scratch);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
        h_0_ln_1_dw_all_ready = coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &ln_f_dw_all_2[0],
                                                      &ln_f_dw_cut_2[0], NULL);

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);

        // update
        // dim 0 @cut_64 -> whole    [64]    256 B    0.015 ms
        hap_event *e_ln_f_dw_1_all = coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &ln_f_dw_1_all,
                                                           &ln_f_dw_1_cut_2[3], NULL);
        hap_wait(r, ln_f_dw_all_ready[2]); // 0.00114 ms hidden
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_all_2[3], clip,
                1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00156 ms
        hap_wait(r, e_ln_f_dw_1_all);          // 0.00114 ms hidden
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_all, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00156 ms
        hap_wait(r, e_wte_weight);     // 0.0335 ms hidden
        hap_wait(r, e_wpe_weight);     // 0.0213 ms hidden

        for (int i = 0; i < 3; i++)
            h_update_2(r, &h[i]);
    }
    return hap_finish(r);
}
