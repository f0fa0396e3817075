// program.c: one training step of gpt2-tiny on 2 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop2.yaml -o gpt2-tiny@laptop2 -q
//
//   classes     cpu4 {0}  cpu3 {1}
//   predicted   4.64 ms/step = 4.32 ms compute and idle + 0.603 ms communication - 0.28 ms hidden;
//               by datasheet formulas
//   memory      4.40 MiB / 3.41 MiB    graph a94a3bb305aca178    cluster 8851bf650c8a0795
//   strategy    auto

#include "hap/runtime.h"

// 3 cut 0.667 0.333 over axis 0 (even).
static const int64_t cut_3[2] = {2, 1};

// 4 cut 0.500 0.500 over axis 0 (even).
static const int64_t heads[2] = {2, 2};

// 8 cut 0.625 0.375 over axis 0 (compute).
static const int64_t rows[2] = {5, 3};

// 32 cut 0.531 0.469 over axis 0 (compute).
static const int64_t cut_32[2] = {17, 15};

// 211 cut 0.573 0.427 over axis 0 (compute).
static const int64_t vocab[2] = {121, 90};

// 64 cut 0.578 0.422 over axis 0 (compute).
static const int64_t cut_64[2] = {37, 27};

// 192 cut 0.573 0.427 over axis 0 (compute).
static const int64_t cut_192[2] = {110, 82};

// Byte offsets in the symmetric segment: what crosses the wire, the same on every rank.
static const int64_t at_491520[2] = {491520, 491520}, at_548864[2] = {548864, 548864};
static const int64_t at_0[2] = {0, 0}, at_147456[2] = {147456, 147456};
static const int64_t at_196608[2] = {196608, 196608}, at_344064[2] = {344064, 344064};
static const int64_t at_557056[2] = {557056, 557056}, at_1650688[2] = {1650688, 1650688};
static const int64_t at_1646592[2] = {1646592, 1646592}, at_1081344[2] = {1081344, 1081344};
static const int64_t at_1294336[2] = {1294336, 1294336}, at_1654784[2] = {1654784, 1654784};
static const int64_t at_1130496[2] = {1130496, 1130496}, at_1323008[2] = {1323008, 1323008};
static const int64_t at_1683456[2] = {1683456, 1683456}, at_1658880[2] = {1658880, 1658880};
static const int64_t at_1687552[2] = {1687552, 1687552}, at_1699840[2] = {1699840, 1699840};
static const int64_t at_1691648[2] = {1691648, 1691648}, at_1667072[2] = {1667072, 1667072};
static const int64_t at_1703936[2] = {1703936, 1703936}, at_1662976[2] = {1662976, 1662976};
static const int64_t at_1695744[2] = {1695744, 1695744}, at_1396736[2] = {1396736, 1396736};
static const int64_t at_1425408[2] = {1425408, 1425408}, at_1708032[2] = {1708032, 1708032};
static const int64_t at_1671168[2] = {1671168, 1671168}, at_1712128[2] = {1712128, 1712128};
static const int64_t at_1179648[2] = {1179648, 1179648}, at_1351680[2] = {1351680, 1351680};
static const int64_t at_1716224[2] = {1716224, 1716224}, at_1675264[2] = {1675264, 1675264};
static const int64_t at_1720320[2] = {1720320, 1720320}, at_1732608[2] = {1732608, 1732608};
static const int64_t at_1724416[2] = {1724416, 1724416}, at_1736704[2] = {1736704, 1736704};
static const int64_t at_1679360[2] = {1679360, 1679360}, at_1728512[2] = {1728512, 1728512};
static const int64_t at_851968[2] = {851968, 851968}, at_1499136[2] = {1499136, 1499136};
static const int64_t at_1433600[2] = {1433600, 1433600}, at_1507328[2] = {1507328, 1507328};
static const int64_t at_655360[2] = {655360, 655360}, at_909312[2] = {909312, 909312};
static const int64_t at_1515520[2] = {1515520, 1515520}, at_1441792[2] = {1441792, 1441792};
static const int64_t at_1523712[2] = {1523712, 1523712}, at_1548288[2] = {1548288, 1548288};
static const int64_t at_1531904[2] = {1531904, 1531904}, at_1458176[2] = {1458176, 1458176};
static const int64_t at_1556480[2] = {1556480, 1556480}, at_1449984[2] = {1449984, 1449984};
static const int64_t at_1540096[2] = {1540096, 1540096}, at_1261568[2] = {1261568, 1261568};
static const int64_t at_1380352[2] = {1380352, 1380352}, at_1564672[2] = {1564672, 1564672};
static const int64_t at_1466368[2] = {1466368, 1466368}, at_1572864[2] = {1572864, 1572864};
static const int64_t at_753664[2] = {753664, 753664}, at_966656[2] = {966656, 966656};
static const int64_t at_1581056[2] = {1581056, 1581056}, at_1474560[2] = {1474560, 1474560};
static const int64_t at_1589248[2] = {1589248, 1589248}, at_1613824[2] = {1613824, 1613824};
static const int64_t at_1597440[2] = {1597440, 1597440}, at_1413120[2] = {1413120, 1413120};
static const int64_t at_1622016[2] = {1622016, 1622016}, at_1482752[2] = {1482752, 1482752};
static const int64_t at_1605632[2] = {1605632, 1605632}, at_1630208[2] = {1630208, 1630208};
static const int64_t at_1490944[2] = {1490944, 1490944}, at_1638400[2] = {1638400, 1638400};
static const int64_t at_1024000[2] = {1024000, 1024000}, at_1228800[2] = {1228800, 1228800};
static const int64_t at_729088[2] = {729088, 729088}, at_1404928[2] = {1404928, 1404928};
static const int64_t at_1409024[2] = {1409024, 1409024}, at_614400[2] = {614400, 614400};
static const int64_t at_671744[2] = {671744, 671744}, at_761856[2] = {761856, 761856};
static const int64_t at_1355776[2] = {1355776, 1355776}, at_790528[2] = {790528, 790528};
static const int64_t at_819200[2] = {819200, 819200};

// Byte offsets in the local segment, by class {cpu4, cpu3}.
static const int64_t at_2868736[2] = {2868736, 1833472}, at_2728960[2] = {2728960, 1749248};
static const int64_t at_768[2] = {768, 768}, at_1536[2] = {1536, 1536}, at_3840[2] = {3840, 3840};
static const int64_t at_4608[2] = {4608, 4608}, at_5376[2] = {5376, 5376};
static const int64_t at_6144[2] = {6144, 6144}, at_8448[2] = {8448, 8448};
static const int64_t at_394240[2] = {394240, 304128}, at_394496[2] = {394496, 304384};
static const int64_t at_394752[2] = {394752, 304640}, at_395008[2] = {395008, 304896};
static const int64_t at_425984[2] = {425984, 327936}, at_456960[2] = {456960, 350976};
static const int64_t at_461312[2] = {461312, 354816}, at_9216[2] = {9216, 9216};
static const int64_t at_9728[2] = {9728, 9728}, at_10240[2] = {10240, 10240};
static const int64_t at_10752[2] = {10752, 10752}, at_11264[2] = {11264, 11264};
static const int64_t at_68096[2] = {68096, 52736}, at_124928[2] = {124928, 94208};
static const int64_t at_126464[2] = {126464, 95744}, at_128000[2] = {128000, 97280};
static const int64_t at_144384[2] = {144384, 113664}, at_160768[2] = {160768, 130048};
static const int64_t at_161280[2] = {161280, 130560}, at_161792[2] = {161792, 131072};
static const int64_t at_162304[2] = {162304, 131584}, at_162816[2] = {162816, 132096};
static const int64_t at_163328[2] = {163328, 132608}, at_163840[2] = {163840, 133120};
static const int64_t at_220672[2] = {220672, 174592}, at_277504[2] = {277504, 216064};
static const int64_t at_279040[2] = {279040, 217600}, at_280576[2] = {280576, 219136};
static const int64_t at_336896[2] = {336896, 261120}, at_393216[2] = {393216, 303104};
static const int64_t at_393728[2] = {393728, 303616}, at_465664[2] = {465664, 358656};
static const int64_t at_465920[2] = {465920, 358912}, at_466176[2] = {466176, 359168};
static const int64_t at_466432[2] = {466432, 359424}, at_466688[2] = {466688, 359680};
static const int64_t at_495104[2] = {495104, 380416}, at_523520[2] = {523520, 401152};
static const int64_t at_524288[2] = {524288, 401920}, at_525056[2] = {525056, 402688};
static const int64_t at_533248[2] = {533248, 410880}, at_541440[2] = {541440, 419072};
static const int64_t at_541696[2] = {541696, 419328}, at_541952[2] = {541952, 419584};
static const int64_t at_542208[2] = {542208, 419840}, at_542464[2] = {542464, 420096};
static const int64_t at_542720[2] = {542720, 420352}, at_542976[2] = {542976, 420608};
static const int64_t at_571392[2] = {571392, 441344}, at_599808[2] = {599808, 462080};
static const int64_t at_600576[2] = {600576, 462848}, at_601344[2] = {601344, 463616};
static const int64_t at_629504[2] = {629504, 484608}, at_657664[2] = {657664, 505600};
static const int64_t at_657920[2] = {657920, 505856}, at_658176[2] = {658176, 506112};
static const int64_t at_658432[2] = {658432, 506368}, at_658688[2] = {658688, 506624};
static const int64_t at_658944[2] = {658944, 506880}, at_659200[2] = {659200, 507136};
static const int64_t at_700160[2] = {700160, 531712}, at_1396480[2] = {1396480, 949504};
static const int64_t at_2864128[2] = {2864128, 1830400}, at_2866432[2] = {2866432, 1831936};
static const int64_t at_1560320[2] = {1560320, 1047808}, at_1273600[2] = {1273600, 875776};
static const int64_t at_904960[2] = {904960, 654592}, at_986880[2] = {986880, 703744};
static const int64_t at_945920[2] = {945920, 679168}, at_1683200[2] = {1683200, 1121536};
static const int64_t at_1806080[2] = {1806080, 1195264}, at_1928960[2] = {1928960, 1268992};
static const int64_t at_2051840[2] = {2051840, 1342720}, at_2680320[2] = {2680320, 1720064};
static const int64_t at_2174720[2] = {2174720, 1416448}, at_2297600[2] = {2297600, 1490176};
static const int64_t at_2870016[2] = {2870016, 1834240}, at_2872320[2] = {2872320, 1835776};
static const int64_t at_2420480[2] = {2420480, 1563904}, at_1027840[2] = {1027840, 728320};
static const int64_t at_2543360[2] = {2543360, 1637632}, at_2678784[2] = {2678784, 1719040};
static const int64_t at_2679552[2] = {2679552, 1719552}, at_2688000[2] = {2688000, 1724672};
static const int64_t at_2731008[2] = {2731008, 1751296}, at_2874624[2] = {2874624, 1837312};
static const int64_t at_2875392[2] = {2875392, 1837824}, at_2732288[2] = {2732288, 1752064};
static const int64_t at_2678528[2] = {2678528, 1718784}, at_2731264[2] = {2731264, 1751552};
static const int64_t at_2877440[2] = {2877440, 1839104}, at_2876160[2] = {2876160, 1838336};
static const int64_t at_2597376[2] = {2597376, 1691648}, at_2638336[2] = {2638336, 1716224};
static const int64_t at_2639104[2] = {2639104, 1716736}, at_2810880[2] = {2810880, 1798400};
static const int64_t at_946688[2] = {946688, 679680}, at_1314560[2] = {1314560, 900352};
static const int64_t at_1355520[2] = {1355520, 924928}, at_1519360[2] = {1519360, 1023232};
static const int64_t at_1765120[2] = {1765120, 1170688}, at_905728[2] = {905728, 655104};
static const int64_t at_1150720[2] = {1150720, 802048}, at_823040[2] = {823040, 605440};
static const int64_t at_782080[2] = {782080, 580864}, at_782848[2] = {782848, 581376};
static const int64_t at_864000[2] = {864000, 630016}, at_864768[2] = {864768, 630528};
static const int64_t at_659456[2] = {659456, 507392}, at_659712[2] = {659712, 507648};

// Bytes from one block's buffer to the next one's.
static const int64_t by_768[2] = {768, 512}, by_40960[2] = {40960, 24576}, by_256[2] = {256, 256};
static const int64_t by_49152[2] = {49152, 49152}, by_768_2[2] = {768, 768};
static const int64_t by_2560[2] = {2560, 1536}, by_16384[2] = {16384, 16384};
static const int64_t by_122880[2] = {122880, 73728}, by_28672[2] = {28672, 28672};
static const int64_t by_4096[2] = {4096, 4096}, by_8192[2] = {8192, 8192};
static const int64_t by_28416[2] = {28416, 20736}, by_28160[2] = {28160, 20992};

static const int64_t local_bytes[2] = {2877696, 1839360}, sym_bytes = 1740800;

// Collectives that are waited for elsewhere than where they start.
static hap_event *h_mlp_c_proj_dw_cut_ready[2], *h_mlp_c_proj_db_cut_ready[2];
static hap_event *h_mlp_c_fc_dw_cut_ready[2], *h_mlp_c_fc_db_cut_ready[2], *h_ln_2_dw_cut_ready[2];
static hap_event *h_ln_2_dw_1_cut_ready[2], *h_attn_c_proj_dw_cut_ready[2];
static hap_event *h_attn_c_proj_db_cut_ready[2], *h_attn_c_attn_dw_cut_ready[2];
static hap_event *h_attn_c_attn_db_cut_ready[2], *h_ln_1_dw_cut_ready[2], *h_ln_1_dw_1_cut_ready[2];
static hap_event *h_0_ln_1_dw_all_ready, *h_attn_c_attn_weight_ready[2];
static hap_event *h_attn_c_proj_weight_ready[2], *h_mlp_c_fc_weight_ready[2];
static hap_event *h_mlp_c_proj_weight_ready[2], *h_ln_1_dw_all_ready[2];
static hap_event *h_2_attn_c_attn_weight_ready, *h_2_attn_c_proj_weight_ready;
static hap_event *h_2_mlp_c_fc_weight_ready, *h_2_mlp_c_proj_weight_ready;

// What each of the 3 blocks h.* works on.
typedef struct h_block {
    hap_tensor *ln_1_sum, *add_2, *ln_1_m2, *ln_1, *ln_1_weight, *ln_1_bias, *attn_c_attn;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_bias, *attn_split_0, *attn_split_1, *attn_split_2;
    hap_tensor *attn_reshape, *attn_transpose, *attn_reshape_2, *attn_transpose_2, *attn_reshape_3;
    hap_tensor *attn_transpose_3, *attn_sdpa, *attn_sdpa_lse, *attn_transpose_4, *attn_reshape_4;
    hap_tensor *attn_c_proj, *attn_c_proj_weight, *attn_c_proj_bias, *add, *ln_2_sum, *ln_2_m2;
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc, *mlp_c_fc_weight, *mlp_c_fc_bias;
    hap_tensor *mlp_act, *mlp_c_proj, *mlp_c_proj_weight, *mlp_c_proj_bias, *add_2_2;
    hap_event **attn_c_attn_weight_ready, **attn_c_proj_weight_ready, **mlp_c_fc_weight_ready;
    hap_event **mlp_c_proj_weight_ready;
} h_block;
static h_block h[3];

// What each of the 2 blocks h_2.* works on.
typedef struct h_2_block {
    hap_tensor *mlp_c_proj_dx, *ln_1_sum_2, *mlp_c_proj_weight, *mlp_c_proj_dw, *mlp_act;
    hap_tensor *mlp_c_proj_dw_cut, *mlp_c_proj_db, *mlp_c_proj_db_cut, *mlp_c_proj_db_cut_scratch;
    hap_tensor *mlp_act_dx, *mlp_c_fc, *mlp_c_fc_dx, *mlp_c_fc_weight, *mlp_c_fc_dw, *ln_2;
    hap_tensor *mlp_c_fc_dw_cut, *mlp_c_fc_db, *mlp_c_fc_db_cut, *mlp_c_fc_db_cut_scratch;
    hap_tensor *ln_2_stats, *ln_2_stats_1, *add, *ln_2_sum, *ln_2_m2, *ln_2_weight, *ln_2_dx;
    hap_tensor *ln_2_sum_2, *ln_2_dw, *ln_2_dw_1, *ln_2_dw_cut, *ln_2_dw_cut_scratch;
    hap_tensor *ln_2_dw_1_cut, *ln_2_dw_1_cut_scratch, *attn_c_proj_dx, *attn_c_proj_weight;
    hap_tensor *attn_c_proj_dw, *attn_reshape_4, *attn_c_proj_dw_cut, *attn_c_proj_db;
    hap_tensor *attn_c_proj_db_cut, *attn_c_proj_db_cut_scratch, *attn_reshape_4_dx;
    hap_tensor *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1, *attn_sdpa_dqkv_2;
    hap_tensor *attn_transpose_3, *attn_transpose, *attn_transpose_2, *attn_sdpa, *attn_sdpa_lse;
    hap_tensor *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx, *attn_reshape_2_dx;
    hap_tensor *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx, *attn_c_attn_dx;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_dw, *ln_1, *attn_c_attn_dw_cut, *attn_c_attn_db;
    hap_tensor *attn_c_attn_db_cut, *attn_c_attn_db_cut_scratch, *ln_1_stats, *ln_1_stats_1, *add_2;
    hap_tensor *ln_1_sum, *ln_1_m2, *ln_1_weight, *ln_1_dx, *ln_1_sum_2_2, *ln_1_dw, *ln_1_dw_1;
    hap_tensor *ln_1_dw_cut, *ln_1_dw_cut_scratch, *ln_1_dw_1_cut, *ln_1_dw_1_cut_scratch;
    hap_tensor *ln_1_weight_sumsq, *ln_1_weight_norm, *wpe_weight_norm, *ln_1_bias_sumsq;
    hap_tensor *ln_1_bias_norm, *attn_c_attn_weight_sumsq, *attn_c_attn_weight_norm;
    hap_tensor *attn_c_attn_bias_sumsq, *attn_c_attn_bias_norm, *attn_c_proj_weight_sumsq;
    hap_tensor *attn_c_proj_weight_norm, *attn_c_proj_bias_sumsq, *attn_c_proj_bias_norm;
    hap_tensor *ln_2_weight_sumsq, *ln_2_weight_norm, *ln_2_bias_sumsq, *ln_2_bias_norm;
    hap_tensor *mlp_c_fc_weight_sumsq, *mlp_c_fc_weight_norm, *mlp_c_fc_bias_sumsq;
    hap_tensor *mlp_c_fc_bias_norm, *mlp_c_proj_weight_sumsq, *mlp_c_proj_weight_norm;
    hap_tensor *mlp_c_proj_bias_sumsq, *mlp_c_proj_bias_norm, *ln_1_dw_1_all, *ln_1_weight_exp_avg;
    hap_tensor *ln_1_weight_exp_avg_sq, *ln_1_dw_all, *clip, *ln_1_bias, *ln_1_bias_exp_avg;
    hap_tensor *ln_1_bias_exp_avg_sq, *attn_c_attn_weight_cut, *attn_c_attn_weight_exp_avg;
    hap_tensor *attn_c_attn_weight_exp_avg_sq, *attn_c_attn_db_all, *attn_c_attn_bias;
    hap_tensor *attn_c_attn_bias_exp_avg, *attn_c_attn_bias_exp_avg_sq, *attn_c_proj_weight_cut;
    hap_tensor *attn_c_proj_weight_exp_avg, *attn_c_proj_weight_exp_avg_sq, *attn_c_proj_db_all;
    hap_tensor *ln_2_dw_all, *attn_c_proj_bias, *attn_c_proj_bias_exp_avg;
    hap_tensor *attn_c_proj_bias_exp_avg_sq, *ln_2_dw_1_all, *ln_2_weight_exp_avg;
    hap_tensor *ln_2_weight_exp_avg_sq, *ln_2_bias, *ln_2_bias_exp_avg, *ln_2_bias_exp_avg_sq;
    hap_tensor *mlp_c_fc_weight_cut, *mlp_c_fc_weight_exp_avg, *mlp_c_fc_weight_exp_avg_sq;
    hap_tensor *mlp_c_fc_db_all, *mlp_c_fc_bias, *mlp_c_fc_bias_exp_avg, *mlp_c_fc_bias_exp_avg_sq;
    hap_tensor *mlp_c_proj_weight_cut, *mlp_c_proj_weight_exp_avg, *mlp_c_proj_weight_exp_avg_sq;
    hap_tensor *mlp_c_proj_db_all, *ln_1_dw_all_2, *ln_1_dw_cut_2, *mlp_c_proj_bias;
    hap_tensor *mlp_c_proj_bias_exp_avg, *mlp_c_proj_bias_exp_avg_sq;
    hap_event **mlp_c_proj_dw_cut_ready, **mlp_c_proj_db_cut_ready, **mlp_c_fc_dw_cut_ready;
    hap_event **mlp_c_fc_db_cut_ready, **ln_2_dw_cut_ready, **ln_2_dw_1_cut_ready;
    hap_event **attn_c_proj_dw_cut_ready, **attn_c_proj_db_cut_ready, **attn_c_attn_dw_cut_ready;
    hap_event **attn_c_attn_db_cut_ready, **ln_1_dw_cut_ready, **ln_1_dw_1_cut_ready;
    hap_event **ln_1_dw_all_ready, **attn_c_attn_weight_ready, **attn_c_proj_weight_ready;
    hap_event **mlp_c_fc_weight_ready, **mlp_c_proj_weight_ready, **ln_1_dw_all_ready_2;
} h_2_block;
static h_2_block h_2[2];

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
            b->attn_transpose_2, NULL, true, 0.25, 0, 0); // [8@rows 4 32 16]    0.0147 ms
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

// One of the 2 blocks h_2, backward: 0.772 ms of computation.
static void h_2_backward(hap_rank *r, const h_2_block *b)
{
    // mlp
    // y = a b'    [8@rows 32 192]    0.0829 ms
    op_linear(r, b->mlp_c_proj_dx, b->ln_1_sum_2, b->mlp_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_1_sum_2); // [192 64]+    0.0829 ms
    // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.017 ms
    *b->mlp_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_proj_dw_cut, &b->mlp_c_proj_dw, NULL);
    op_sum(r, b->mlp_c_proj_db, b->ln_1_sum_2, HAP_INTS(0, 1), false); // [64]+    0.00422 ms
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
    op_add(r, b->ln_2_sum_2, b->ln_1_sum_2, b->ln_2_dx); // y = a + b    [8@rows 32 64]    0.0106 ms
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
                b->attn_sdpa, b->attn_sdpa_lse, NULL, true, 0.25, 0, 0);
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
                b->ln_1_stats_1, b->ln_1_weight, 1e-05);   // [8@rows 32 64]    0.0108 ms
    op_add(r, b->ln_1_sum_2_2, b->ln_2_sum_2, b->ln_1_dx); // [8@rows 32 64]    0.0106 ms
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_dw_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                       b->ln_1_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_cut,
                                                      &b->ln_1_dw, b->ln_1_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
    *b->ln_1_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_1_cut, &b->ln_1_dw_1, b->ln_1_dw_1_cut_scratch);
}

// One of the 2 blocks h_2, backward: 0.0317 ms of computation.
static void h_2_backward_2(hap_rank *r, const h_2_block *b)
{
    hap_wait(r, *b->ln_1_dw_cut_ready); // 0.00507 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_cut); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_1_weight_norm, b->wpe_weight_norm, b->ln_1_weight_sumsq); // []+    0.001 ms
    hap_wait(r, *b->ln_1_dw_1_cut_ready);                                     // 0.00507 ms hidden
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
    op_add(r, b->mlp_c_proj_bias_norm, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 2 blocks h_2, update: 0.0827 ms of computation.
static void h_2_update(hap_rank *r, const h_2_block *b)
{
    // update
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    hap_event *e_ln_1_dw_1_all = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
                                                       &b->ln_1_dw_1_all, &b->ln_1_dw_1_cut, NULL);
    hap_wait(r, *b->ln_1_dw_all_ready); // 0.00114 ms hidden
    op_adam(r, b->ln_1_weight, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq, b->ln_1_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    hap_wait(r, e_ln_1_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_1_bias, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight); // [64@cut_64 192]    0.00455 ms
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0165 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0121 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_weight, &b->attn_c_attn_weight_cut, NULL);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.00513 ms
    hap_event *e_attn_c_attn_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_db_all, &b->attn_c_attn_db_cut, NULL);
    hap_wait(r, e_attn_c_attn_db_all);
    op_adam(r, b->attn_c_attn_bias, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00156 ms
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight); // [64@heads 64]    0.00237 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00697 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.00705 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_proj_weight, &b->attn_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    hap_event *e_attn_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_db_all, &b->attn_c_proj_db_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    hap_event *e_ln_2_dw_all =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_dw_all, &b->ln_2_dw_cut, NULL);
    hap_wait(r, e_attn_c_proj_db_all);
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    hap_event *e_ln_2_dw_1_all = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
                                                       &b->ln_2_dw_1_all, &b->ln_2_dw_1_cut, NULL);
    hap_wait(r, e_ln_2_dw_all); // 0.00114 ms hidden
    op_adam(r, b->ln_2_weight, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq, b->ln_2_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    hap_wait(r, e_ln_2_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_2_bias, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight); // [64@cut_64 192]    0.00455 ms
    // a -= lr b / sqrt c    [64@cut_64 192]    0.0165 ms
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0121 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_weight, &b->mlp_c_fc_weight_cut, NULL);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.00511 ms
    hap_event *e_mlp_c_fc_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_db_all, &b->mlp_c_fc_db_cut, NULL);
    hap_wait(r, e_mlp_c_fc_db_all);
    op_adam(r, b->mlp_c_fc_bias, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00156 ms
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00452 ms
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0164 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.012 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_weight, &b->mlp_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    hap_event *e_mlp_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_db_all, &b->mlp_c_proj_db_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
    *b->ln_1_dw_all_ready_2 = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_all_2,
                                                    &b->ln_1_dw_cut_2, NULL);
    hap_wait(r, e_mlp_c_proj_db_all);
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
}

// One of the 3 blocks h, update: 0 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0121 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.00705 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0121 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.012 ms hidden
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
    const hap_dim vocab_64[] = {CUT(0, 211, vocab), WHOLE(64)};
    const hap_dim cut_32_64[] = {CUT(0, 32, cut_32), WHOLE(64)};
    const hap_dim cut_64_192[] = {CUT(0, 64, cut_64), WHOLE(192)};
    const hap_dim heads_64[] = {CUT_IN(0, 1, 4, 16, heads), WHOLE(64)};
    const hap_dim cut_192_64[] = {CUT(0, 192, cut_192), WHOLE(64)};
    const hap_dim rows_32_64[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(64)};
    const hap_dim of_1_32_64[] = {WHOLE(1), WHOLE(32), WHOLE(64)};
    const hap_dim rows_32_192[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(192)};
    const hap_dim rows_32_4_16[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(4), WHOLE(16)};
    const hap_dim rows_4_32_16[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32), WHOLE(16)};
    const hap_dim rows_4_32[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32)};
    const hap_dim rows_32_211[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(211)};
    const hap_dim of_8_33[] = {WHOLE(8), WHOLE(33)};
    const hap_dim cut_192_of_192[] = {CUT(0, 192, cut_192)};
    const hap_dim scratch_128[] = {WHOLE(128)};
    const hap_dim cut_64_of_64[] = {CUT(0, 64, cut_64)};
    const hap_dim cut_3_of_192[] = {CUT_IN(0, 1, 3, 64, cut_3)};
    const hap_dim scratch_1088[] = {WHOLE(1088)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_2868736, HAP_I64, 2, rows_32);
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_2728960, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_SYM, at_491520, HAP_F32, 2, of_211_64); // [211 64]
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_SYM, at_548864, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_394240, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_394496, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_395008, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_425984, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_456960, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_461312, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_weight_exp_avg = hap_at(r, SEG_LOCAL, at_465664, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg", h_2_ln_1_weight_exp_avg);
    hap_tensor *h_2_ln_1_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_465920, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg_sq", h_2_ln_1_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_bias_exp_avg = hap_at(r, SEG_LOCAL, at_466176, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg", h_2_ln_1_bias_exp_avg);
    hap_tensor *h_2_ln_1_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_466432, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg_sq", h_2_ln_1_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_466688, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg", h_2_attn_c_attn_weight_exp_avg);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_495104, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg_sq",
              h_2_attn_c_attn_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg = hap_at(r, SEG_LOCAL, at_523520, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg", h_2_attn_c_attn_bias_exp_avg);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_524288, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg_sq", h_2_attn_c_attn_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_525056, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg", h_2_attn_c_proj_weight_exp_avg);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_533248, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg_sq",
              h_2_attn_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_541440, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg", h_2_attn_c_proj_bias_exp_avg);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_541696, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg_sq", h_2_attn_c_proj_bias_exp_avg_sq);
    hap_tensor *h_2_ln_2_weight_exp_avg = hap_at(r, SEG_LOCAL, at_541952, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg", h_2_ln_2_weight_exp_avg);
    hap_tensor *h_2_ln_2_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_542208, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg_sq", h_2_ln_2_weight_exp_avg_sq);
    hap_tensor *h_2_ln_2_bias_exp_avg = hap_at(r, SEG_LOCAL, at_542464, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg", h_2_ln_2_bias_exp_avg);
    hap_tensor *h_2_ln_2_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_542720, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg_sq", h_2_ln_2_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_542976, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg", h_2_mlp_c_fc_weight_exp_avg);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_571392, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg_sq", h_2_mlp_c_fc_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg = hap_at(r, SEG_LOCAL, at_599808, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg", h_2_mlp_c_fc_bias_exp_avg);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_600576, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg_sq", h_2_mlp_c_fc_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_601344, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg", h_2_mlp_c_proj_weight_exp_avg);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_629504, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg_sq", h_2_mlp_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_657664, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg", h_2_mlp_c_proj_bias_exp_avg);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_657920, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg_sq", h_2_mlp_c_proj_bias_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_658176, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_658432, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_658688, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_658944, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_394752, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_700160, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_2678784, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_2679552, HAP_F32, 2, rows_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_2688000, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_2543360, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_2731008, HAP_I64, 2, of_8_33);   // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_2728960, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_2874624, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_2875392, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_2731008, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_2732288, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_2731008, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_557056, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_557056, HAP_F32, 0, NULL);   // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_2731008, HAP_F32, 0, NULL);     // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_2678528, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_2731264, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_2877440, HAP_F32, 0, NULL);   // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_2876160, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_2728960, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_2597376, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_2543360, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_2638336, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_2639104, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_dx = hap_at(r, SEG_LOCAL, at_2810880, HAP_F32, 3, rows_32_64);
    hap_tensor *ln_f_dw = hap_at(r, SEG_SYM, at_1650688, HAP_F32, 1, of_64);       // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_SYM, at_1646592, HAP_F32, 1, of_64);     // [64]+
    hap_tensor *ln_f_dw_all = hap_at(r, SEG_SYM, at_1650688, HAP_F32, 1, of_64);   // [64]
    hap_tensor *ln_f_dw_1_all = hap_at(r, SEG_SYM, at_1646592, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_2688000, HAP_F32, 3, rows_32_192);
    // [192 64]+
    hap_tensor *h_2_mlp_c_proj_dw = hap_at(r, SEG_SYM, at_1081344, HAP_F32, 2, of_192_64);
    hap_tensor *h_2_mlp_c_proj_dw_cut = hap_at(r, SEG_SYM, at_1294336, HAP_F32, 2, cut_192_64);
    hap_tensor *h_2_mlp_c_proj_db = hap_at(r, SEG_SYM, at_1654784, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_mlp_c_proj_db_all = hap_at(r, SEG_SYM, at_1654784, HAP_F32, 1, of_64);
    hap_tensor *h_2_mlp_act_dx = hap_at(r, SEG_LOCAL, at_1273600, HAP_F32, 3, rows_32_192);
    hap_tensor *h_2_mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_2_mlp_c_fc_dw = hap_at(r, SEG_SYM, at_1130496, HAP_F32, 2, of_64_192);
    hap_tensor *h_2_mlp_c_fc_dw_cut = hap_at(r, SEG_SYM, at_1323008, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_mlp_c_fc_db = hap_at(r, SEG_SYM, at_1683456, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_2_mlp_c_fc_db_cut = hap_at(r, SEG_SYM, at_1658880, HAP_F32, 1, cut_192_of_192);
    hap_tensor *h_2_ln_2_stats = hap_at(r, SEG_LOCAL, at_945920, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_946688, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_2_dx = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_945920, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_ln_2_dw = hap_at(r, SEG_SYM, at_1699840, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_2_ln_2_dw_1 = hap_at(r, SEG_SYM, at_1691648, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_ln_2_dw_cut = hap_at(r, SEG_SYM, at_1667072, HAP_F32, 1, cut_64_of_64);
    hap_tensor *h_2_ln_2_dw_1_cut = hap_at(r, SEG_SYM, at_1662976, HAP_F32, 1, cut_64_of_64);
    hap_tensor *h_2_attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 3, rows_32_64);
    // [64 64]+
    hap_tensor *h_2_attn_c_proj_dw = hap_at(r, SEG_SYM, at_1396736, HAP_F32, 2, of_64_64);
    hap_tensor *h_2_attn_c_proj_dw_cut = hap_at(r, SEG_SYM, at_1425408, HAP_F32, 2, heads_64);
    hap_tensor *h_2_attn_c_proj_db = hap_at(r, SEG_SYM, at_1708032, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_attn_c_proj_db_cut = hap_at(r, SEG_SYM, at_1671168, HAP_F32, 1, cut_64_of_64);
    hap_tensor *h_2_attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose_4_dx =
        hap_at(r, SEG_LOCAL, at_1314560, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1355520, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_1273600, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_transpose_2_dx =
        hap_at(r, SEG_LOCAL, at_1519360, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1519360, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1765120, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1765120, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_split_dx = hap_at(r, SEG_LOCAL, at_1273600, HAP_F32, 3, rows_32_192);
    hap_tensor *h_2_attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_2_attn_c_attn_dw = hap_at(r, SEG_SYM, at_1179648, HAP_F32, 2, of_64_192);
    hap_tensor *h_2_attn_c_attn_dw_cut = hap_at(r, SEG_SYM, at_1351680, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_attn_c_attn_db = hap_at(r, SEG_SYM, at_1716224, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_2_attn_c_attn_db_cut = hap_at(r, SEG_SYM, at_1675264, HAP_F32, 1, cut_3_of_192);
    hap_tensor *h_2_ln_1_stats = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_905728, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_dx = hap_at(r, SEG_LOCAL, at_1273600, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_ln_1_dw = hap_at(r, SEG_SYM, at_1732608, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_2_ln_1_dw_1 = hap_at(r, SEG_SYM, at_1724416, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_ln_1_dw_1_cut = hap_at(r, SEG_SYM, at_1679360, HAP_F32, 1, cut_64_of_64);
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 3, of_1_32_64); // [1 32 64]+
    hap_tensor *wpe_dw = hap_at(r, SEG_SYM, at_1630208, HAP_F32, 2, of_32_64);       // [32 64]+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_SYM, at_1490944, HAP_F32, 2, cut_32_64);
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *wte_sum = hap_at(r, SEG_SYM, at_1024000, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *wte_sum_cut = hap_at(r, SEG_SYM, at_1228800, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);      // []+
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);      // []+
    hap_tensor *h_2_ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_1_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_1_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);
    hap_tensor *h_2_ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_2_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_2_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_fc_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_mlp_c_fc_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);   // []+
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_norm = hap_at(r, SEG_SYM, at_1396736, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_weight_norm_all = hap_at(r, SEG_SYM, at_1396736, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);   // []
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);    // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);              // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_SYM, at_729088, HAP_F32, 2, vocab_64);
    hap_tensor *wpe_weight_cut = hap_at(r, SEG_SYM, at_1396736, HAP_F32, 2, cut_32_64);
    hap_tensor *h_2_ln_1_dw_1_all = hap_at(r, SEG_SYM, at_1409024, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_attn_c_attn_weight_cut = hap_at(r, SEG_SYM, at_761856, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_attn_c_attn_db_all = hap_at(r, SEG_SYM, at_1404928, HAP_F32, 1, of_192);
    hap_tensor *h_2_attn_c_proj_weight_cut = hap_at(r, SEG_SYM, at_1404928, HAP_F32, 2, heads_64);
    hap_tensor *h_2_attn_c_proj_db_all = hap_at(r, SEG_SYM, at_1355776, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_2_dw_all = hap_at(r, SEG_SYM, at_1351680, HAP_F32, 1, of_64);   // [64]
    hap_tensor *h_2_ln_2_dw_1_all = hap_at(r, SEG_SYM, at_1355776, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_mlp_c_fc_weight_cut = hap_at(r, SEG_SYM, at_790528, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_mlp_c_fc_db_all = hap_at(r, SEG_SYM, at_1323008, HAP_F32, 1, of_192);
    hap_tensor *h_2_mlp_c_proj_weight_cut = hap_at(r, SEG_SYM, at_819200, HAP_F32, 2, cut_192_64);

    // Scratch of collectives.
    hap_tensor *h_2_mlp_c_fc_db_cut_scratch =
        hap_at(r, SEG_SYM, at_1687552, HAP_F32, 1, scratch_128);
    hap_tensor *h_2_ln_2_dw_cut_scratch = hap_at(r, SEG_SYM, at_1703936, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_2_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_1695744, HAP_F32, 1, of_64);
    hap_tensor *h_2_attn_c_proj_db_cut_scratch = hap_at(r, SEG_SYM, at_1712128, HAP_F32, 1, of_64);
    hap_tensor *h_2_attn_c_attn_db_cut_scratch =
        hap_at(r, SEG_SYM, at_1720320, HAP_F32, 1, scratch_128);
    hap_tensor *h_2_ln_1_dw_cut_scratch = hap_at(r, SEG_SYM, at_1736704, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_1_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_1728512, HAP_F32, 1, of_64);
    hap_tensor *wpe_dw_cut_scratch = hap_at(r, SEG_SYM, at_1638400, HAP_F32, 1, scratch_1088);

    hap_tensor *h_ln_1_sum[3], *h_ln_1_m2[3], *h_ln_1[3], *h_ln_1_weight[3], *h_ln_1_bias[3];
    hap_tensor *h_attn_c_attn_weight[3], *h_attn_c_attn_bias[3], *h_attn_transpose[3];
    hap_tensor *h_attn_transpose_2[3], *h_attn_transpose_3[3], *h_attn_sdpa[3], *h_attn_sdpa_lse[3];
    hap_tensor *h_attn_reshape_4[3], *h_attn_c_proj_weight[3], *h_attn_c_proj_bias[3], *h_add[3];
    hap_tensor *h_ln_2_sum[3], *h_ln_2_m2[3], *h_ln_2[3], *h_ln_2_weight[3], *h_ln_2_bias[3];
    hap_tensor *h_mlp_c_fc[3], *h_mlp_c_fc_weight[3], *h_mlp_c_fc_bias[3], *h_mlp_act[3];
    hap_tensor *h_mlp_c_proj_weight[3], *h_mlp_c_proj_bias[3], *h_ln_1_sum_2[3], *h_ln_1_dw_cut[3];
    hap_tensor *h_1_mlp_c_proj_bias_norm_2[3], *h_ln_1_dw_all[3];
    for (int i = 0; i < 3; i++) {
        h_ln_1_sum[i] = hap_at_layer(r, SEG_LOCAL, at_2864128, by_768, i, HAP_F32, 2, rows_32);
        h_ln_1_m2[i] = hap_at_layer(r, SEG_LOCAL, at_2866432, by_768, i, HAP_F32, 2, rows_32);
        h_ln_1[i] = hap_at_layer(r, SEG_LOCAL, at_1560320, by_40960, i, HAP_F32, 3, rows_32_64);
        h_ln_1_weight[i] = hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), h_ln_1_weight[i], HAP_FILL(1));
        h_ln_1_bias[i] = hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), h_ln_1_bias[i], HAP_FILL(0));
        h_attn_c_attn_weight[i] =
            hap_at_layer(r, SEG_SYM, at_0, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), h_attn_c_attn_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_attn_c_attn_bias[i] =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), h_attn_c_attn_bias[i],
                  HAP_FILL(0));
        h_attn_transpose[i] =
            hap_at_layer(r, SEG_LOCAL, at_1683200, by_40960, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1806080, by_40960, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_3[i] =
            hap_at_layer(r, SEG_LOCAL, at_1928960, by_40960, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa[i] =
            hap_at_layer(r, SEG_LOCAL, at_2051840, by_40960, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa_lse[i] =
            hap_at_layer(r, SEG_LOCAL, at_2680320, by_2560, i, HAP_F32, 3, rows_4_32);
        h_attn_reshape_4[i] =
            hap_at_layer(r, SEG_LOCAL, at_2174720, by_40960, i, HAP_F32, 3, rows_32_64);
        h_attn_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_147456, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), h_attn_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_attn_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_3840, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), h_attn_c_proj_bias[i],
                  HAP_FILL(0));
        h_add[i] = hap_at_layer(r, SEG_LOCAL, at_2297600, by_40960, i, HAP_F32, 3, rows_32_64);
        h_ln_2_sum[i] = hap_at_layer(r, SEG_LOCAL, at_2870016, by_768, i, HAP_F32, 2, rows_32);
        h_ln_2_m2[i] = hap_at_layer(r, SEG_LOCAL, at_2872320, by_768, i, HAP_F32, 2, rows_32);
        h_ln_2[i] = hap_at_layer(r, SEG_LOCAL, at_2420480, by_40960, i, HAP_F32, 3, rows_32_64);
        h_ln_2_weight[i] = hap_at_layer(r, SEG_LOCAL, at_4608, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), h_ln_2_weight[i], HAP_FILL(1));
        h_ln_2_bias[i] = hap_at_layer(r, SEG_LOCAL, at_5376, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), h_ln_2_bias[i], HAP_FILL(0));
        h_mlp_c_fc[i] =
            hap_at_layer(r, SEG_LOCAL, at_659200, by_122880, i, HAP_F32, 3, rows_32_192);
        h_mlp_c_fc_weight[i] =
            hap_at_layer(r, SEG_SYM, at_196608, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), h_mlp_c_fc_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_mlp_c_fc_bias[i] = hap_at_layer(r, SEG_LOCAL, at_6144, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), h_mlp_c_fc_bias[i],
                  HAP_FILL(0));
        h_mlp_act[i] =
            hap_at_layer(r, SEG_LOCAL, at_1027840, by_122880, i, HAP_F32, 3, rows_32_192);
        h_mlp_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_344064, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), h_mlp_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_mlp_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_8448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), h_mlp_c_proj_bias[i],
                  HAP_FILL(0));
        h_ln_1_sum_2[i] = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 3, rows_32_64);
        h_ln_1_dw_cut[i] =
            hap_at_layer(r, SEG_SYM, at_1413120, by_4096, i, HAP_F32, 1, cut_64_of_64);
        h_1_mlp_c_proj_bias_norm_2[i] = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL); // []+
        h_ln_1_dw_all[i] = hap_at(r, SEG_SYM, at_1404928, HAP_F32, 1, of_64);              // [64]
    }

    hap_tensor *h_2_add_2_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1396480, by_40960, i, HAP_F32, 3, rows_32_64);
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_1273600, HAP_F32, 3, rows_32_192);
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_945920, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_945920, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_2174720, by_40960, i, HAP_F32, 4, rows_32_4_16);
        b->attn_c_proj = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 3, rows_32_64);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_2543360, HAP_F32, 3, rows_32_64);
        b->ln_1_sum = h_ln_1_sum[i];
        b->add_2 = h_2_add_2_2[i];
        b->ln_1_m2 = h_ln_1_m2[i];
        b->ln_1 = h_ln_1[i];
        b->ln_1_weight = h_ln_1_weight[i];
        b->ln_1_bias = h_ln_1_bias[i];
        b->attn_c_attn_weight = h_attn_c_attn_weight[i];
        b->attn_c_attn_bias = h_attn_c_attn_bias[i];
        b->attn_transpose = h_attn_transpose[i];
        b->attn_transpose_2 = h_attn_transpose_2[i];
        b->attn_transpose_3 = h_attn_transpose_3[i];
        b->attn_sdpa = h_attn_sdpa[i];
        b->attn_sdpa_lse = h_attn_sdpa_lse[i];
        b->attn_reshape_4 = h_attn_reshape_4[i];
        b->attn_c_proj_weight = h_attn_c_proj_weight[i];
        b->attn_c_proj_bias = h_attn_c_proj_bias[i];
        b->add = h_add[i];
        b->ln_2_sum = h_ln_2_sum[i];
        b->ln_2_m2 = h_ln_2_m2[i];
        b->ln_2 = h_ln_2[i];
        b->ln_2_weight = h_ln_2_weight[i];
        b->ln_2_bias = h_ln_2_bias[i];
        b->mlp_c_fc = h_mlp_c_fc[i];
        b->mlp_c_fc_weight = h_mlp_c_fc_weight[i];
        b->mlp_c_fc_bias = h_mlp_c_fc_bias[i];
        b->mlp_act = h_mlp_act[i];
        b->mlp_c_proj_weight = h_mlp_c_proj_weight[i];
        b->mlp_c_proj_bias = h_mlp_c_proj_bias[i];
        b->add_2_2 = h_2_add_2_2[i + 1];
    }
    h[0].attn_c_attn_weight_ready = &h_attn_c_attn_weight_ready[1];
    h[1].attn_c_attn_weight_ready = &h_attn_c_attn_weight_ready[0];
    h[2].attn_c_attn_weight_ready = &h_2_attn_c_attn_weight_ready;
    h[0].attn_c_proj_weight_ready = &h_attn_c_proj_weight_ready[1];
    h[1].attn_c_proj_weight_ready = &h_attn_c_proj_weight_ready[0];
    h[2].attn_c_proj_weight_ready = &h_2_attn_c_proj_weight_ready;
    h[0].mlp_c_fc_weight_ready = &h_mlp_c_fc_weight_ready[1];
    h[1].mlp_c_fc_weight_ready = &h_mlp_c_fc_weight_ready[0];
    h[2].mlp_c_fc_weight_ready = &h_2_mlp_c_fc_weight_ready;
    h[0].mlp_c_proj_weight_ready = &h_mlp_c_proj_weight_ready[1];
    h[1].mlp_c_proj_weight_ready = &h_mlp_c_proj_weight_ready[0];
    h[2].mlp_c_proj_weight_ready = &h_2_mlp_c_proj_weight_ready;

    for (int i = 0; i < 2; i++) {
        h_2_block *b = &h_2[i];
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1273600, HAP_F32, 3, rows_32_192);
        // [192 64]+
        b->mlp_c_proj_dw =
            hap_at_layer(r, SEG_SYM, at_557056, by_49152, 1 - i, HAP_F32, 2, of_192_64);
        b->mlp_c_proj_dw_cut =
            hap_at_layer(r, SEG_SYM, at_851968, by_28672, 1 - i, HAP_F32, 2, cut_192_64);
        // [64]+
        b->mlp_c_proj_db = hap_at_layer(r, SEG_SYM, at_1499136, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->mlp_c_proj_db_cut =
            hap_at_layer(r, SEG_SYM, at_1433600, by_4096, 1 - i, HAP_F32, 1, cut_64_of_64);
        b->mlp_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1507328, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_1150720, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_823040, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->mlp_c_fc_dw =
            hap_at_layer(r, SEG_SYM, at_655360, by_49152, 1 - i, HAP_F32, 2, of_64_192);
        b->mlp_c_fc_dw_cut =
            hap_at_layer(r, SEG_SYM, at_909312, by_28672, 1 - i, HAP_F32, 2, cut_64_192);
        // [192]+
        b->mlp_c_fc_db = hap_at_layer(r, SEG_SYM, at_1515520, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->mlp_c_fc_db_cut =
            hap_at_layer(r, SEG_SYM, at_1441792, by_4096, 1 - i, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_fc_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1523712, by_4096, 1 - i, HAP_F32, 1, scratch_128);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_782080, HAP_F32, 2, rows_32);    // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_782848, HAP_F32, 2, rows_32);  // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_864000, HAP_F32, 3, rows_32_64);    // [8@rows 32 64]
        b->ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_782080, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        // [64]+
        b->ln_2_dw = hap_at_layer(r, SEG_SYM, at_1548288, by_4096, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_SYM, at_1531904, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->ln_2_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1458176, by_4096, 1 - i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1556480, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->ln_2_dw_1_cut =
            hap_at_layer(r, SEG_SYM, at_1449984, by_4096, 1 - i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1540096, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_823040, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_SYM, at_1261568, by_16384, 1 - i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attn_c_proj_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1380352, by_8192, 1 - i, HAP_F32, 2, heads_64);
        // [64]+
        b->attn_c_proj_db = hap_at_layer(r, SEG_SYM, at_1564672, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->attn_c_proj_db_cut =
            hap_at_layer(r, SEG_SYM, at_1466368, by_4096, 1 - i, HAP_F32, 1, cut_64_of_64);
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1572864, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_823040, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_904960, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_823040, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_864000, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_945920, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_945920, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_986880, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1150720, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1150720, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_823040, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_945920, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_SYM, at_753664, by_49152, 1 - i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_dw_cut =
            hap_at_layer(r, SEG_SYM, at_966656, by_28672, 1 - i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_db =
            hap_at_layer(r, SEG_SYM, at_1581056, by_4096, 1 - i, HAP_F32, 1, of_192); // [192]+
        b->attn_c_attn_db_cut =
            hap_at_layer(r, SEG_SYM, at_1474560, by_4096, 1 - i, HAP_F32, 1, cut_3_of_192);
        b->attn_c_attn_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1589248, by_4096, 1 - i, HAP_F32, 1, scratch_128);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_864000, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_864768, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_823040, HAP_F32, 3, rows_32_64);   // [8@rows 32 64]
        // [64]+
        b->ln_1_dw = hap_at_layer(r, SEG_SYM, at_1613824, by_4096, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_SYM, at_1597440, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1622016, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_dw_1_cut =
            hap_at_layer(r, SEG_SYM, at_1482752, by_4096, 1 - i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1605632, by_4096, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);        // []+
        b->ln_1_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);         // []+
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);          // []+
        b->ln_1_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);           // []+
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);  // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);   // []+
        b->attn_c_attn_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);    // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);  // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);   // []+
        b->attn_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);    // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);        // []+
        b->ln_2_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);         // []+
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);          // []+
        b->ln_2_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);           // []+
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);    // []+
        b->mlp_c_fc_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);     // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);      // []+
        b->mlp_c_fc_bias_norm = hap_at(r, SEG_LOCAL, at_659200, HAP_F32, 0, NULL);       // []+
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);  // []+
        b->mlp_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_659456, HAP_F32, 0, NULL);   // []+
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_659712, HAP_F32, 0, NULL);    // []+
        b->ln_1_dw_1_all = hap_at(r, SEG_SYM, at_1409024, HAP_F32, 1, of_64);            // [64]
        b->ln_1_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_9216, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_1.weight.exp_avg"),
                  b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_9728, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_10240, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_10752, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_cut =
            hap_at_layer(r, SEG_SYM, at_557056, by_28672, 1 - i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_11264, by_28416, 1 - i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_68096, by_28416, 1 - i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_db_all = hap_at(r, SEG_SYM, at_1482752, HAP_F32, 1, of_192); // [192]
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_124928, by_768_2, 1 - i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_126464, by_768_2, 1 - i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_SYM, at_966656, by_8192, 1 - i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_128000, by_8192, 1 - i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_144384, by_8192, 1 - i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_db_all = hap_at(r, SEG_SYM, at_1482752, HAP_F32, 1, of_64); // [64]
        b->ln_2_dw_all = hap_at(r, SEG_SYM, at_1474560, HAP_F32, 1, of_64);        // [64]
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_160768, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_161280, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_dw_1_all = hap_at(r, SEG_SYM, at_1466368, HAP_F32, 1, of_64); // [64]
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_161792, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_2.weight.exp_avg"),
                  b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_162304, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_162816, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_163328, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut =
            hap_at_layer(r, SEG_SYM, at_614400, by_28672, 1 - i, HAP_F32, 2, cut_64_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_163840, by_28416, 1 - i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_220672, by_28416, 1 - i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_db_all = hap_at(r, SEG_SYM, at_1449984, HAP_F32, 1, of_192); // [192]
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_277504, by_768_2, 1 - i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_279040, by_768_2, 1 - i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut =
            hap_at_layer(r, SEG_SYM, at_671744, by_28672, 1 - i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_280576, by_28160, 1 - i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_336896, by_28160, 1 - i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_db_all = hap_at(r, SEG_SYM, at_1441792, HAP_F32, 1, of_64); // [64]
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_393216, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_393728, by_256, 1 - i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", 1 - i, ".mlp.c_proj.bias.exp_avg_sq"),
                  b->mlp_c_proj_bias_exp_avg_sq);
        b->ln_1_sum_2 = h_ln_1_sum_2[2 - i];
        b->mlp_c_proj_weight = h_mlp_c_proj_weight[1 - i];
        b->mlp_act = h_mlp_act[1 - i];
        b->mlp_c_fc = h_mlp_c_fc[1 - i];
        b->mlp_c_fc_weight = h_mlp_c_fc_weight[1 - i];
        b->ln_2 = h_ln_2[1 - i];
        b->add = h_add[1 - i];
        b->ln_2_sum = h_ln_2_sum[1 - i];
        b->ln_2_m2 = h_ln_2_m2[1 - i];
        b->ln_2_weight = h_ln_2_weight[1 - i];
        b->attn_c_proj_weight = h_attn_c_proj_weight[1 - i];
        b->attn_reshape_4 = h_attn_reshape_4[1 - i];
        b->attn_transpose_3 = h_attn_transpose_3[1 - i];
        b->attn_transpose = h_attn_transpose[1 - i];
        b->attn_transpose_2 = h_attn_transpose_2[1 - i];
        b->attn_sdpa = h_attn_sdpa[1 - i];
        b->attn_sdpa_lse = h_attn_sdpa_lse[1 - i];
        b->attn_c_attn_weight = h_attn_c_attn_weight[1 - i];
        b->ln_1 = h_ln_1[1 - i];
        b->add_2 = h_2_add_2_2[1 - i];
        b->ln_1_sum = h_ln_1_sum[1 - i];
        b->ln_1_m2 = h_ln_1_m2[1 - i];
        b->ln_1_weight = h_ln_1_weight[1 - i];
        b->ln_1_sum_2_2 = h_ln_1_sum_2[1 - i];
        b->ln_1_dw_cut = h_ln_1_dw_cut[1 - i];
        b->wpe_weight_norm = h_1_mlp_c_proj_bias_norm_2[1 - i];
        b->mlp_c_proj_bias_norm = h_1_mlp_c_proj_bias_norm_2[2 - i];
        b->ln_1_dw_all = h_ln_1_dw_all[1 - i];
        b->clip = clip;
        b->ln_1_bias = h_ln_1_bias[1 - i];
        b->attn_c_attn_bias = h_attn_c_attn_bias[1 - i];
        b->attn_c_proj_bias = h_attn_c_proj_bias[1 - i];
        b->ln_2_bias = h_ln_2_bias[1 - i];
        b->mlp_c_fc_bias = h_mlp_c_fc_bias[1 - i];
        b->ln_1_dw_all_2 = h_ln_1_dw_all[2 - i];
        b->ln_1_dw_cut_2 = h_ln_1_dw_cut[2 - i];
        b->mlp_c_proj_bias = h_mlp_c_proj_bias[1 - i];
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
        b->attn_c_attn_weight_ready = &h_attn_c_attn_weight_ready[i];
        b->attn_c_proj_weight_ready = &h_attn_c_proj_weight_ready[i];
        b->mlp_c_fc_weight_ready = &h_mlp_c_fc_weight_ready[i];
        b->mlp_c_proj_weight_ready = &h_mlp_c_proj_weight_ready[i];
        b->ln_1_dw_all_ready_2 = &h_ln_1_dw_all_ready[i];
    }
    h_2[0].ln_1_dw_all_ready = &h_ln_1_dw_all_ready[1];
    h_2[1].ln_1_dw_all_ready = &h_0_ln_1_dw_all_ready;

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
        op_norm_bwd(r, ln_f_dx, lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_stats,
                    ln_f_stats_1, ln_f_weight, 1e-05); // [8@rows 32 64]    0.0108 ms
        op_norm_bwd_params(r, ln_f_dw, ln_f_dw_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2,
                           1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms

        // transformer.h.2.mlp, backward
        // y = a b'    [8@rows 32 192]    0.0829 ms
        op_linear(r, h_2_mlp_c_proj_dx, ln_f_dx, h_mlp_c_proj_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_mlp_c_proj_dw, h_mlp_act[2], ln_f_dx); // [192 64]+    0.0829 ms
        // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.017 ms
        hap_event *e_h_2_mlp_c_proj_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_2_mlp_c_proj_dw_cut, &h_2_mlp_c_proj_dw, NULL);
        op_sum(r, h_2_mlp_c_proj_db, ln_f_dx, HAP_INTS(0, 1), false); // [64]+    0.00422 ms
        // y = a gelu'(b)    [8@rows 32 192]    0.0298 ms
        op_gelu_bwd(r, h_2_mlp_act_dx, h_2_mlp_c_proj_dx, h_mlp_c_fc[2], true);
        // y = a b'    [8@rows 32 64]    0.0829 ms
        op_linear(r, h_2_mlp_c_fc_dx, h_2_mlp_act_dx, h_mlp_c_fc_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_mlp_c_fc_dw, h_ln_2[2], h_2_mlp_act_dx); // [64 192]+    0.0829 ms
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0171 ms
        hap_event *e_h_2_mlp_c_fc_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_2_mlp_c_fc_dw_cut, &h_2_mlp_c_fc_dw, NULL);
        op_sum(r, h_2_mlp_c_fc_db, h_2_mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.0107 ms
        // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.00522 ms
        hap_event *e_h_2_mlp_c_fc_db_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_2_mlp_c_fc_db_cut,
                                      &h_2_mlp_c_fc_db, h_2_mlp_c_fc_db_cut_scratch);

        // transformer.h.2.ln_2, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00762 ms
        op_norm_bwd_stats(r, h_2_ln_2_stats, h_2_ln_2_stats_1, h_2_mlp_c_fc_dx, h_add[2],
                          h_ln_2_sum[2], h_ln_2_m2[2], h_ln_2_weight[2], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.0108 ms
        op_norm_bwd(r, h_2_ln_2_dx, h_2_mlp_c_fc_dx, h_add[2], h_ln_2_sum[2], h_ln_2_m2[2],
                    h_2_ln_2_stats, h_2_ln_2_stats_1, h_ln_2_weight[2], 1e-05);
        op_add(r, h_2_ln_2_sum_2, ln_f_dx, h_2_ln_2_dx); // y = a + b    [8@rows 32 64]    0.0106 ms
        op_norm_bwd_params(r, h_2_ln_2_dw, h_2_ln_2_dw_1, h_2_mlp_c_fc_dx, h_add[2], h_ln_2_sum[2],
                           h_ln_2_m2[2], 1e-05); // y, y1 = dweight, dbias    [64]+    0.00754 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
        hap_event *e_h_2_ln_2_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_2_dw_cut, &h_2_ln_2_dw, h_2_ln_2_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
        hap_event *e_h_2_ln_2_dw_1_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_2_dw_1_cut,
                                      &h_2_ln_2_dw_1, h_2_ln_2_dw_1_cut_scratch);

        // transformer.h.2.attn, backward
        // y = a b'    [8@rows 32 64]    0.0283 ms
        op_linear(r, h_2_attn_c_proj_dx, h_2_ln_2_sum_2, h_attn_c_proj_weight[2], NULL, HAP_NT);
        // y = sum rows a' b    [64 64]+    0.0283 ms
        op_linear_dw(r, h_2_attn_c_proj_dw, h_attn_reshape_4[2], h_2_ln_2_sum_2);
        // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.00705 ms
        hap_event *e_h_2_attn_c_proj_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_EVEN, 1, &h_2_attn_c_proj_dw_cut, &h_2_attn_c_proj_dw, NULL);
        op_sum(r, h_2_attn_c_proj_db, h_2_ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.00422 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
        hap_event *e_h_2_attn_c_proj_db_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_2_attn_c_proj_db_cut,
                                      &h_2_attn_c_proj_db, h_2_attn_c_proj_db_cut_scratch);
        // y = x    [8@rows 32 4 16]    0 ms
        op_reshape(r, h_2_attn_reshape_4_dx, h_2_attn_c_proj_dx, HAP_INTS(8, 32, 4, 16));
        // y = x'    [8@rows 4 32 16]    0.0074 ms
        op_transpose(r, h_2_attn_transpose_4_dx, h_2_attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3));
        op_sdpa_bwd(r, h_2_attn_sdpa_dqkv, h_2_attn_sdpa_dqkv_1, h_2_attn_sdpa_dqkv_2,
                    h_2_attn_transpose_4_dx, h_attn_transpose_3[2], h_attn_transpose[2],
                    h_attn_transpose_2[2], h_attn_sdpa[2], h_attn_sdpa_lse[2], NULL, true, 0.25, 0,
                    0); // y, y1, y2 = dq, dk, dv    [8@rows 4 32 16]    0.0351 ms
        // y = x'    [8@rows 32 4 16]    0.0074 ms
        op_transpose(r, h_2_attn_transpose_3_dx, h_2_attn_sdpa_dqkv, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_2_attn_reshape_3_dx, h_2_attn_transpose_3_dx, HAP_INTS(8, 32, 64));
        // y = x'    [8@rows 32 4 16]    0.0074 ms
        op_transpose(r, h_2_attn_transpose_2_dx, h_2_attn_sdpa_dqkv_2, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_2_attn_reshape_2_dx, h_2_attn_transpose_2_dx, HAP_INTS(8, 32, 64));
        // y = x'    [8@rows 32 4 16]    0.0074 ms
        op_transpose(r, h_2_attn_transpose_dx, h_2_attn_sdpa_dqkv_1, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_2_attn_reshape_dx, h_2_attn_transpose_dx, HAP_INTS(8, 32, 64));
        hap_tensor *const parts[] = {
            h_2_attn_reshape_3_dx, // [8@rows 32 64]
            h_2_attn_reshape_dx,   // [8@rows 32 64]
            h_2_attn_reshape_2_dx, // [8@rows 32 64]
        };
        op_concat(r, h_2_attn_split_dx, 3, parts, 2); // y = xs    [8@rows 32 192]    0.0202 ms
        // y = a b'    [8@rows 32 64]    0.0829 ms
        op_linear(r, h_2_attn_c_attn_dx, h_2_attn_split_dx, h_attn_c_attn_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_attn_c_attn_dw, h_ln_1[2], h_2_attn_split_dx); // [64 192]+    0.0829 ms
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0171 ms
        hap_event *e_h_2_attn_c_attn_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_2_attn_c_attn_dw_cut, &h_2_attn_c_attn_dw, NULL);
        // y = sum x    [192]+    0.0107 ms
        op_sum(r, h_2_attn_c_attn_db, h_2_attn_split_dx, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.00526 ms
        hap_event *e_h_2_attn_c_attn_db_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_2_attn_c_attn_db_cut,
                                      &h_2_attn_c_attn_db, h_2_attn_c_attn_db_cut_scratch);

        // transformer.h.2.ln_1, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00762 ms
        op_norm_bwd_stats(r, h_2_ln_1_stats, h_2_ln_1_stats_1, h_2_attn_c_attn_dx, h_2_add_2_2[2],
                          h_ln_1_sum[2], h_ln_1_m2[2], h_ln_1_weight[2], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.0108 ms
        op_norm_bwd(r, h_2_ln_1_dx, h_2_attn_c_attn_dx, h_2_add_2_2[2], h_ln_1_sum[2], h_ln_1_m2[2],
                    h_2_ln_1_stats, h_2_ln_1_stats_1, h_ln_1_weight[2], 1e-05);
        op_add(r, h_ln_1_sum_2[2], h_2_ln_2_sum_2, h_2_ln_1_dx); // [8@rows 32 64]    0.0106 ms
        op_norm_bwd_params(r, h_2_ln_1_dw, h_2_ln_1_dw_1, h_2_attn_c_attn_dx, h_2_add_2_2[2],
                           h_ln_1_sum[2], h_ln_1_m2[2], 1e-05); // [64]+    0.00754 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
        hap_event *e_h_2_ln_1_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_dw_cut[2], &h_2_ln_1_dw, h_2_ln_1_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.00507 ms
        hap_event *e_h_2_ln_1_dw_1_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_1_dw_1_cut,
                                      &h_2_ln_1_dw_1, h_2_ln_1_dw_1_cut_scratch);

        for (int i = 0; i < 2; i++)
            h_2_backward(r, &h_2[i]);

        // transformer.add, backward
        op_sum(r, add_fold1, h_ln_1_sum_2[0], HAP_INTS(0), true); // [1 32 64]+    0.00484 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // [32 64]+    0.00273 ms
        // + -> dim 0 @cut_32    [32@cut_32 64]    8.00 KiB    0.00718 ms
        hap_event *e_wpe_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &wpe_dw_cut, &wpe_dw, wpe_dw_cut_scratch);

        // transformer.wte, backward
        op_embedding_bwd(r, wte_dw, h_ln_1_sum_2[0], input_ids, 211); // [211 64]+    0.00927 ms
        op_add(r, wte_sum, lm_head_dw, wte_dw); // y = a + b    [211 64]+    0.0179 ms
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0177 ms
        hap_event *e_wte_sum_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1, &wte_sum_cut, &wte_sum, NULL);
        hap_wait(r, e_wte_sum_cut);

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum_cut); // y = sum x^2    []+    0.00342 ms
        hap_wait(r, e_wpe_dw_cut);                  // 0.00718 ms hidden
        op_sumsq(r, wpe_weight_sumsq, wpe_dw_cut);  // y = sum x^2    []+    0.0014 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_1_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 1; i >= 0; i--)
            h_2_backward_2(r, &h_2[i]);
        hap_wait(r, e_h_2_ln_1_dw_cut); // 0.00507 ms hidden

        // update
        op_sumsq(r, h_2_ln_1_weight_sumsq, h_ln_1_dw_cut[2]); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_ln_1_weight_norm, h_1_mlp_c_proj_bias_norm_2[2], h_2_ln_1_weight_sumsq);
        hap_wait(r, e_h_2_ln_1_dw_1_cut);                    // 0.00507 ms hidden
        op_sumsq(r, h_2_ln_1_bias_sumsq, h_2_ln_1_dw_1_cut); // y = sum x^2    []+    0.00101 ms
        op_add(r, h_2_ln_1_bias_norm, h_2_ln_1_weight_norm, h_2_ln_1_bias_sumsq); // []+    0.001 ms
        hap_wait(r, e_h_2_attn_c_attn_dw_cut);                             // 0.0171 ms hidden
        op_sumsq(r, h_2_attn_c_attn_weight_sumsq, h_2_attn_c_attn_dw_cut); // []+    0.00322 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_attn_c_attn_weight_norm, h_2_ln_1_bias_norm, h_2_attn_c_attn_weight_sumsq);
        hap_wait(r, e_h_2_attn_c_attn_db_cut);                           // 0.00526 ms hidden
        op_sumsq(r, h_2_attn_c_attn_bias_sumsq, h_2_attn_c_attn_db_cut); // []+    0.00104 ms
        op_add(r, h_2_attn_c_attn_bias_norm, h_2_attn_c_attn_weight_norm,
               h_2_attn_c_attn_bias_sumsq);    // y = a + b    []+    0.001 ms
        hap_wait(r, e_h_2_attn_c_proj_dw_cut); // 0.00705 ms hidden
        op_sumsq(r, h_2_attn_c_proj_weight_sumsq, h_2_attn_c_proj_dw_cut); // []+    0.00185 ms
        op_add(r, h_2_attn_c_proj_weight_norm, h_2_attn_c_attn_bias_norm,
               h_2_attn_c_proj_weight_sumsq);  // y = a + b    []+    0.001 ms
        hap_wait(r, e_h_2_attn_c_proj_db_cut); // 0.00507 ms hidden
        op_sumsq(r, h_2_attn_c_proj_bias_sumsq, h_2_attn_c_proj_db_cut); // []+    0.00101 ms
        op_add(r, h_2_attn_c_proj_bias_norm, h_2_attn_c_proj_weight_norm,
               h_2_attn_c_proj_bias_sumsq);                  // y = a + b    []+    0.001 ms
        hap_wait(r, e_h_2_ln_2_dw_cut);                      // 0.00507 ms hidden
        op_sumsq(r, h_2_ln_2_weight_sumsq, h_2_ln_2_dw_cut); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_ln_2_weight_norm, h_2_attn_c_proj_bias_norm, h_2_ln_2_weight_sumsq);
        hap_wait(r, e_h_2_ln_2_dw_1_cut);                    // 0.00507 ms hidden
        op_sumsq(r, h_2_ln_2_bias_sumsq, h_2_ln_2_dw_1_cut); // y = sum x^2    []+    0.00101 ms
        op_add(r, h_2_ln_2_bias_norm, h_2_ln_2_weight_norm, h_2_ln_2_bias_sumsq); // []+    0.001 ms
        hap_wait(r, e_h_2_mlp_c_fc_dw_cut);                          // 0.0171 ms hidden
        op_sumsq(r, h_2_mlp_c_fc_weight_sumsq, h_2_mlp_c_fc_dw_cut); // []+    0.00322 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_weight_norm, h_2_ln_2_bias_norm, h_2_mlp_c_fc_weight_sumsq);
        hap_wait(r, e_h_2_mlp_c_fc_db_cut);                        // 0.00522 ms hidden
        op_sumsq(r, h_2_mlp_c_fc_bias_sumsq, h_2_mlp_c_fc_db_cut); // []+    0.00103 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_bias_norm, h_2_mlp_c_fc_weight_norm, h_2_mlp_c_fc_bias_sumsq);
        hap_wait(r, e_h_2_mlp_c_proj_dw_cut);                            // 0.017 ms hidden
        op_sumsq(r, h_2_mlp_c_proj_weight_sumsq, h_2_mlp_c_proj_dw_cut); // []+    0.0032 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_proj_weight_norm, h_2_mlp_c_fc_bias_norm, h_2_mlp_c_proj_weight_sumsq);
        hap_tensor *const to[] = {
            ln_f_dw_all,                    // [64]
            ln_f_dw_1_all,                  // [64]
            h_2_mlp_c_proj_db_all,          // [64]
            h_2_mlp_c_proj_weight_norm_all, // []
        };
        hap_tensor *const from[] = {
            ln_f_dw,                    // [64]+
            ln_f_dw_1,                  // [64]+
            h_2_mlp_c_proj_db,          // [64]+
            h_2_mlp_c_proj_weight_norm, // []+
        };
        // + -> whole    [64]    772 B    0.0102 ms
        hap_event *e_ln_f_dw_all = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 4, to, from, NULL);
        hap_wait(r, e_ln_f_dw_all);
        op_sumsq(r, h_2_mlp_c_proj_bias_sumsq, h_2_mlp_c_proj_db_all); // []    0.00103 ms
        op_add(r, h_2_mlp_c_proj_bias_norm, h_2_mlp_c_proj_weight_norm_all,
               h_2_mlp_c_proj_bias_sumsq);           // y = a + b    []    0.001 ms
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_all); // y = sum x^2    []    0.00103 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm, ln_f_weight_sumsq); // []    0.001 ms
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1_all); // y = sum x^2    []    0.00103 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // y = a + b    []    0.001 ms
        op_clip_scale(r, clip, ln_f_bias_norm, 1); // y = min(1, 1 / sqrt x)    []    0.001 ms
        hap_cut(r, wte_weight_cut, wte_weight);    // [211@vocab 64]    0.00487 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0179 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.0127 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wte_weight, &wte_weight_cut, NULL);
        hap_cut(r, wpe_weight_cut, wpe_weight); // [32@cut_32 64]    0.00164 ms
        op_adam(r, wpe_weight_cut, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32@cut_32 64]    0.0038 ms
        // dim 0 @cut_32 -> whole    [32 64]    8.00 KiB    0.00609 ms
        hap_event *e_wpe_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wpe_weight, &wpe_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
        h_0_ln_1_dw_all_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
                                                      &h_ln_1_dw_all[0], &h_ln_1_dw_cut[0], NULL);

        for (int i = 1; i >= 0; i--)
            h_2_update(r, &h_2[i]);

        // update
        // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
        hap_event *e_h_2_ln_1_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_1_dw_1_all, &h_2_ln_1_dw_1_cut, NULL);
        hap_wait(r, h_ln_1_dw_all_ready[0]); // 0.00114 ms hidden
        op_adam(r, h_ln_1_weight[2], h_2_ln_1_weight_exp_avg, h_2_ln_1_weight_exp_avg_sq,
                h_ln_1_dw_all[2], clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
        hap_wait(r, e_h_2_ln_1_dw_1_all);                              // 0.00114 ms hidden
        op_adam(r, h_ln_1_bias[2], h_2_ln_1_bias_exp_avg, h_2_ln_1_bias_exp_avg_sq,
                h_2_ln_1_dw_1_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
        // whole -> dim 0 @cut_64    [64@cut_64 192]    0.00455 ms
        hap_cut(r, h_2_attn_c_attn_weight_cut, h_attn_c_attn_weight[2]);
        op_adam(r, h_2_attn_c_attn_weight_cut, h_2_attn_c_attn_weight_exp_avg,
                h_2_attn_c_attn_weight_exp_avg_sq, h_2_attn_c_attn_dw_cut, clip, 1, 0.9, 0.95,
                1e-08, 0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0165 ms
        // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0121 ms
        h_2_attn_c_attn_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_attn_c_attn_weight[2],
                                  &h_2_attn_c_attn_weight_cut, NULL);
        // dim 0 @cut_3 -> whole    [192]    768 B    0.00513 ms
        hap_event *e_h_2_attn_c_attn_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_attn_c_attn_db_all, &h_2_attn_c_attn_db_cut, NULL);
        hap_wait(r, e_h_2_attn_c_attn_db_all);
        op_adam(r, h_attn_c_attn_bias[2], h_2_attn_c_attn_bias_exp_avg,
                h_2_attn_c_attn_bias_exp_avg_sq, h_2_attn_c_attn_db_all, clip, 1, 0.9, 0.95, 1e-08,
                0, true); // a -= lr b / sqrt c    [192]    0.00156 ms
        // whole -> dim 0 @heads    [64@heads 64]    0.00237 ms
        hap_cut(r, h_2_attn_c_proj_weight_cut, h_attn_c_proj_weight[2]);
        op_adam(r, h_2_attn_c_proj_weight_cut, h_2_attn_c_proj_weight_exp_avg,
                h_2_attn_c_proj_weight_exp_avg_sq, h_2_attn_c_proj_dw_cut, clip, 1, 0.9, 0.95,
                1e-08, 0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00697 ms
        // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.00705 ms
        h_2_attn_c_proj_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_EVEN, 1, &h_attn_c_proj_weight[2], &h_2_attn_c_proj_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
        hap_event *e_h_2_attn_c_proj_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_attn_c_proj_db_all, &h_2_attn_c_proj_db_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
        hap_event *e_h_2_ln_2_dw_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_2_dw_all, &h_2_ln_2_dw_cut, NULL);
        hap_wait(r, e_h_2_attn_c_proj_db_all);
        op_adam(r, h_attn_c_proj_bias[2], h_2_attn_c_proj_bias_exp_avg,
                h_2_attn_c_proj_bias_exp_avg_sq, h_2_attn_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08,
                0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.00504 ms
        hap_event *e_h_2_ln_2_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_2_dw_1_all, &h_2_ln_2_dw_1_cut, NULL);
        hap_wait(r, e_h_2_ln_2_dw_all); // 0.00114 ms hidden
        op_adam(r, h_ln_2_weight[2], h_2_ln_2_weight_exp_avg, h_2_ln_2_weight_exp_avg_sq,
                h_2_ln_2_dw_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
        hap_wait(r, e_h_2_ln_2_dw_1_all);                             // 0.00114 ms hidden
        op_adam(r, h_ln_2_bias[2], h_2_ln_2_bias_exp_avg, h_2_ln_2_bias_exp_avg_sq,
                h_2_ln_2_dw_1_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
        hap_cut(r, h_2_mlp_c_fc_weight_cut, h_mlp_c_fc_weight[2]); // [64@cut_64 192]    0.00455 ms
        op_adam(r, h_2_mlp_c_fc_weight_cut, h_2_mlp_c_fc_weight_exp_avg,
                h_2_mlp_c_fc_weight_exp_avg_sq, h_2_mlp_c_fc_dw_cut, clip, 1, 0.9, 0.95, 1e-08, 0.1,
                true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0165 ms
        // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0121 ms
        h_2_mlp_c_fc_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_mlp_c_fc_weight[2], &h_2_mlp_c_fc_weight_cut, NULL);
        // dim 0 @cut_192 -> whole    [192]    768 B    0.00511 ms
        hap_event *e_h_2_mlp_c_fc_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_mlp_c_fc_db_all, &h_2_mlp_c_fc_db_cut, NULL);
        hap_wait(r, e_h_2_mlp_c_fc_db_all);
        op_adam(r, h_mlp_c_fc_bias[2], h_2_mlp_c_fc_bias_exp_avg, h_2_mlp_c_fc_bias_exp_avg_sq,
                h_2_mlp_c_fc_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00156 ms
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00452 ms
        hap_cut(r, h_2_mlp_c_proj_weight_cut, h_mlp_c_proj_weight[2]);
        op_adam(r, h_2_mlp_c_proj_weight_cut, h_2_mlp_c_proj_weight_exp_avg,
                h_2_mlp_c_proj_weight_exp_avg_sq, h_2_mlp_c_proj_dw_cut, clip, 1, 0.9, 0.95, 1e-08,
                0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0164 ms
        // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.012 ms
        h_2_mlp_c_proj_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_mlp_c_proj_weight[2],
                                  &h_2_mlp_c_proj_weight_cut, NULL);
        op_adam(r, h_mlp_c_proj_bias[2], h_2_mlp_c_proj_bias_exp_avg,
                h_2_mlp_c_proj_bias_exp_avg_sq, h_2_mlp_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08, 0,
                true); // a -= lr b / sqrt c    [64]    0.00119 ms
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_all, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_all, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
        hap_wait(r, e_wte_weight);     // 0.0127 ms hidden
        hap_wait(r, e_wpe_weight);     // 0.00609 ms hidden

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);
    }
    return hap_finish(r);
}
