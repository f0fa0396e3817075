// program.c: one training step of bert-tiny on 2 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/bert-tiny/graph.json clusters/laptop2.yaml -o bert-tiny@laptop2 -q
//
//   classes     cpu4 {0}  cpu3 {1}
//   predicted   4.58 ms/step = 4.53 ms compute and idle + 0.444 ms communication - 0.395 ms hidden;
//               by datasheet formulas
//   memory      4.59 MiB / 3.54 MiB    graph 5ffbb2b756fd80f4    cluster 8851bf650c8a0795
//   strategy    auto

#include "hap/runtime.h"

// 4 cut 0.500 0.500 over axis 0 (even).
static const int64_t heads[2] = {2, 2};

// 8 cut 0.625 0.375 over axis 0 (compute).
static const int64_t rows[2] = {5, 3};

// 199 cut 0.739 0.261 over axis 0 (compute).
static const int64_t vocab[2] = {147, 52};

// 64 cut 0.594 0.406 over axis 0 (compute).
static const int64_t cut_64[2] = {38, 26};

// 192 cut 0.573 0.427 over axis 0 (compute).
static const int64_t cut_192[2] = {110, 82};

// Byte offsets in the symmetric segment: what crosses the wire, the same on every rank.
static const int64_t at_491520[2] = {491520, 491520}, at_0[2] = {0, 0};
static const int64_t at_49152[2] = {49152, 49152}, at_98304[2] = {98304, 98304};
static const int64_t at_147456[2] = {147456, 147456}, at_196608[2] = {196608, 196608};
static const int64_t at_344064[2] = {344064, 344064}, at_544768[2] = {544768, 544768};
static const int64_t at_561152[2] = {561152, 561152}, at_1105920[2] = {1105920, 1105920};
static const int64_t at_1355776[2] = {1355776, 1355776}, at_1748992[2] = {1748992, 1748992};
static const int64_t at_1757184[2] = {1757184, 1757184}, at_1753088[2] = {1753088, 1753088};
static const int64_t at_1585152[2] = {1585152, 1585152}, at_1601536[2] = {1601536, 1601536};
static const int64_t at_1613824[2] = {1613824, 1613824}, at_1761280[2] = {1761280, 1761280};
static const int64_t at_1638400[2] = {1638400, 1638400}, at_1626112[2] = {1626112, 1626112};
static const int64_t at_856064[2] = {856064, 856064}, at_1650688[2] = {1650688, 1650688};
static const int64_t at_708608[2] = {708608, 708608}, at_954368[2] = {954368, 954368};
static const int64_t at_1662976[2] = {1662976, 1662976}, at_1687552[2] = {1687552, 1687552};
static const int64_t at_1675264[2] = {1675264, 1675264}, at_1159168[2] = {1159168, 1159168};
static const int64_t at_1437696[2] = {1437696, 1437696}, at_1474560[2] = {1474560, 1474560};
static const int64_t at_1699840[2] = {1699840, 1699840}, at_1208320[2] = {1208320, 1208320};
static const int64_t at_1511424[2] = {1511424, 1511424}, at_1712128[2] = {1712128, 1712128};
static const int64_t at_1257472[2] = {1257472, 1257472}, at_1536000[2] = {1536000, 1536000};
static const int64_t at_1724416[2] = {1724416, 1724416}, at_1306624[2] = {1306624, 1306624};
static const int64_t at_1560576[2] = {1560576, 1560576}, at_1736704[2] = {1736704, 1736704};
static const int64_t at_1396736[2] = {1396736, 1396736}, at_1040384[2] = {1040384, 1040384};
static const int64_t at_1769472[2] = {1769472, 1769472}, at_1765376[2] = {1765376, 1765376};
static const int64_t at_1126400[2] = {1126400, 1126400}, at_1282048[2] = {1282048, 1282048};

// Byte offsets in the local segment, by class {cpu4, cpu3}.
static const int64_t at_3027456[2] = {3027456, 1922560}, at_1736192[2] = {1736192, 1153280};
static const int64_t at_577536[2] = {577536, 460800}, at_578048[2] = {578048, 461312};
static const int64_t at_586240[2] = {586240, 469504}, at_586496[2] = {586496, 469760};
static const int64_t at_768[2] = {768, 768}, at_1536[2] = {1536, 1536}, at_2304[2] = {2304, 2304};
static const int64_t at_3072[2] = {3072, 3072}, at_3840[2] = {3840, 3840};
static const int64_t at_4608[2] = {4608, 4608}, at_6912[2] = {6912, 6912};
static const int64_t at_7680[2] = {7680, 7680}, at_8448[2] = {8448, 8448};
static const int64_t at_586752[2] = {586752, 470016}, at_587008[2] = {587008, 470272};
static const int64_t at_587264[2] = {587264, 470528}, at_587520[2] = {587520, 470784};
static const int64_t at_588544[2] = {588544, 471808}, at_590592[2] = {590592, 473856};
static const int64_t at_590848[2] = {590848, 474112}, at_628480[2] = {628480, 487424};
static const int64_t at_666112[2] = {666112, 500736}, at_666624[2] = {666624, 501248};
static const int64_t at_667136[2] = {667136, 501760}, at_675328[2] = {675328, 509952};
static const int64_t at_683520[2] = {683520, 518144}, at_683776[2] = {683776, 518400};
static const int64_t at_684032[2] = {684032, 518656}, at_684288[2] = {684288, 518912};
static const int64_t at_9216[2] = {9216, 9216}, at_33792[2] = {33792, 33792};
static const int64_t at_58368[2] = {58368, 58368}, at_59136[2] = {59136, 59136};
static const int64_t at_59904[2] = {59904, 59904}, at_84480[2] = {84480, 84480};
static const int64_t at_109056[2] = {109056, 109056}, at_109824[2] = {109824, 109824};
static const int64_t at_110592[2] = {110592, 110592}, at_135168[2] = {135168, 135168};
static const int64_t at_159744[2] = {159744, 159744}, at_160512[2] = {160512, 160512};
static const int64_t at_161280[2] = {161280, 161280}, at_190464[2] = {190464, 181248};
static const int64_t at_219648[2] = {219648, 201216}, at_220416[2] = {220416, 201984};
static const int64_t at_221184[2] = {221184, 202752}, at_221952[2] = {221952, 203520};
static const int64_t at_222720[2] = {222720, 204288}, at_223488[2] = {223488, 205056};
static const int64_t at_224256[2] = {224256, 205824}, at_308736[2] = {308736, 268800};
static const int64_t at_393216[2] = {393216, 331776}, at_395520[2] = {395520, 334080};
static const int64_t at_397824[2] = {397824, 336384}, at_485376[2] = {485376, 396288};
static const int64_t at_572928[2] = {572928, 456192}, at_573696[2] = {573696, 456960};
static const int64_t at_574464[2] = {574464, 457728}, at_575232[2] = {575232, 458496};
static const int64_t at_576000[2] = {576000, 459264}, at_576768[2] = {576768, 460032};
static const int64_t at_684544[2] = {684544, 519168}, at_694272[2] = {694272, 525824};
static const int64_t at_704000[2] = {704000, 532480}, at_704256[2] = {704256, 532736};
static const int64_t at_704512[2] = {704512, 532992}, at_704768[2] = {704768, 533248};
static const int64_t at_705024[2] = {705024, 533504}, at_705280[2] = {705280, 533760};
static const int64_t at_705536[2] = {705536, 534016}, at_706560[2] = {706560, 535040};
static const int64_t at_2887680[2] = {2887680, 1844224}, at_2846720[2] = {2846720, 1819648};
static const int64_t at_707584[2] = {707584, 536064}, at_3030784[2] = {3030784, 1931520};
static const int64_t at_3031552[2] = {3031552, 1932032}, at_1444864[2] = {1444864, 978432};
static const int64_t at_2068480[2] = {2068480, 1352704}, at_1863680[2] = {1863680, 1229824};
static const int64_t at_2191360[2] = {2191360, 1426432}, at_1986560[2] = {1986560, 1303552};
static const int64_t at_2314240[2] = {2314240, 1500160}, at_2109440[2] = {2109440, 1377280};
static const int64_t at_2232320[2] = {2232320, 1451008}, at_3010560[2] = {3010560, 1917952};
static const int64_t at_2355200[2] = {2355200, 1524736}, at_2478080[2] = {2478080, 1598464};
static const int64_t at_3018240[2] = {3018240, 1924608}, at_3020544[2] = {3020544, 1926144};
static const int64_t at_2600960[2] = {2600960, 1672192}, at_1076224[2] = {1076224, 757248};
static const int64_t at_2723840[2] = {2723840, 1745920}, at_3022848[2] = {3022848, 1927680};
static const int64_t at_3025152[2] = {3025152, 1929216}, at_2928640[2] = {2928640, 1868800};
static const int64_t at_3032320[2] = {3032320, 1932544}, at_3033088[2] = {3033088, 1933056};
static const int64_t at_2969600[2] = {2969600, 1893376}, at_1608704[2] = {1608704, 1076736};
static const int64_t at_3033856[2] = {3033856, 1933568}, at_3034624[2] = {3034624, 1934080};
static const int64_t at_1738240[2] = {1738240, 1155328}, at_3029504[2] = {3029504, 1930752};
static const int64_t at_3035392[2] = {3035392, 1934592}, at_3029760[2] = {3029760, 1931008};
static const int64_t at_3035648[2] = {3035648, 1934848}, at_1649664[2] = {1649664, 1101312};
static const int64_t at_1690624[2] = {1690624, 1125888}, at_1567744[2] = {1567744, 1052160};
static const int64_t at_1321984[2] = {1321984, 904704}, at_2805760[2] = {2805760, 1795072};
static const int64_t at_3024384[2] = {3024384, 1928704}, at_3026688[2] = {3026688, 1930240};
static const int64_t at_2560000[2] = {2560000, 1647616}, at_2437120[2] = {2437120, 1573888};
static const int64_t at_2682880[2] = {2682880, 1721344}, at_1945600[2] = {1945600, 1278976};
static const int64_t at_3029504_2[2] = {3029504, 1924608}, at_2887680_2[2] = {2887680, 1925120};
static const int64_t at_782848[2] = {782848, 562688}, at_791040[2] = {791040, 570880};
static const int64_t at_745216[2] = {745216, 549376};

// Bytes from one block's buffer to the next one's.
static const int64_t by_40960[2] = {40960, 24576}, by_16384[2] = {16384, 16384};
static const int64_t by_256[2] = {256, 256}, by_2560[2] = {2560, 1536}, by_768[2] = {768, 512};
static const int64_t by_122880[2] = {122880, 73728}, by_49152[2] = {49152, 49152};
static const int64_t by_768_2[2] = {768, 768}, by_4096[2] = {4096, 4096};
static const int64_t by_32768[2] = {32768, 32768}, by_28672[2] = {28672, 28672};
static const int64_t by_12288[2] = {12288, 12288}, by_8192[2] = {8192, 8192};
static const int64_t by_9728[2] = {9728, 6656}, by_28160[2] = {28160, 20992};
static const int64_t by_29184[2] = {29184, 19968};

static const int64_t local_bytes[2] = {3035904, 1935104}, sym_bytes = 1773568;

// Collectives that are waited for elsewhere than where they start.
static hap_event *encoder_layer_output_dense_dw_cut_ready[3];
static hap_event *encoder_layer_intermediate_dense_dw_cut_ready[3];
static hap_event *encoder_layer_attention_output_dense_dw_cut_ready[3];
static hap_event *encoder_layer_attention_self_value_dw_cut_ready[3];
static hap_event *encoder_layer_attention_self_key_dw_cut_ready[3];
static hap_event *encoder_layer_attention_self_query_dw_cut_ready[3];
static hap_event *encoder_layer_attention_self_query_weight_ready[3];
static hap_event *encoder_layer_attention_self_key_weight_ready[3];
static hap_event *encoder_layer_attention_self_value_weight_ready[3];
static hap_event *encoder_layer_attention_output_dense_weight_ready[3];
static hap_event *encoder_layer_intermediate_dense_weight_ready[3];
static hap_event *encoder_layer_output_dense_weight_ready[3];

// What each of the 3 blocks encoder_layer.* works on.
typedef struct encoder_layer_block {
    hap_tensor *attention_self_query, *output_LayerNorm, *attention_self_query_weight;
    hap_tensor *attention_self_query_bias, *attention_self_reshape, *attention_self_transpose;
    hap_tensor *attention_self_key, *attention_self_key_weight, *attention_self_key_bias;
    hap_tensor *attention_self_reshape_2, *attention_self_transpose_2, *attention_self_value;
    hap_tensor *attention_self_value_weight, *attention_self_value_bias, *attention_self_reshape_3;
    hap_tensor *attention_self_transpose_3, *attention_self_sdpa, *attention_self_sdpa_lse;
    hap_tensor *attention_self_transpose_4, *attention_self_reshape_4, *attention_output_dense;
    hap_tensor *attention_output_dense_weight, *attention_output_dense_bias, *attention_output_add;
    hap_tensor *attention_output_LayerNorm_sum, *attention_output_LayerNorm_m2;
    hap_tensor *attention_output_LayerNorm, *attention_output_LayerNorm_weight;
    hap_tensor *attention_output_LayerNorm_bias, *t_intermediate_dense;
    hap_tensor *t_intermediate_dense_weight, *t_intermediate_dense_bias;
    hap_tensor *t_intermediate_intermediate_act_fn, *output_dense, *output_dense_weight;
    hap_tensor *output_dense_bias, *output_add, *output_LayerNorm_sum, *output_LayerNorm_m2;
    hap_tensor *output_LayerNorm_2, *output_LayerNorm_weight, *output_LayerNorm_bias;
    hap_tensor *output_LayerNorm_stats, *output_LayerNorm_stats_1;
    hap_tensor *cls_predictions_transform_dense_dx, *output_LayerNorm_dx, *output_LayerNorm_dw;
    hap_tensor *output_LayerNorm_dw_1, *output_dense_dx, *output_dense_dw, *output_dense_dw_cut;
    hap_tensor *output_dense_db, *t_intermediate_intermediate_act_fn_dx, *t_intermediate_dense_dx;
    hap_tensor *t_intermediate_dense_sum, *t_intermediate_dense_dw, *t_intermediate_dense_dw_cut;
    hap_tensor *t_intermediate_dense_db, *attention_output_LayerNorm_stats;
    hap_tensor *attention_output_LayerNorm_stats_1, *attention_output_LayerNorm_dx;
    hap_tensor *attention_output_LayerNorm_dw, *attention_output_LayerNorm_dw_1;
    hap_tensor *attention_output_dense_dx, *attention_output_dense_dw;
    hap_tensor *attention_output_dense_dw_cut, *attention_output_dense_dw_cut_scratch;
    hap_tensor *attention_output_dense_db, *attention_self_reshape_4_dx;
    hap_tensor *attention_self_transpose_4_dx, *attention_self_sdpa_dqkv;
    hap_tensor *attention_self_sdpa_dqkv_1, *attention_self_sdpa_dqkv_2;
    hap_tensor *attention_self_transpose_3_dx, *attention_self_reshape_3_dx;
    hap_tensor *attention_self_value_dx, *attention_self_value_sum, *attention_self_value_dw;
    hap_tensor *attention_self_value_dw_cut, *attention_self_value_db;
    hap_tensor *attention_self_transpose_2_dx, *attention_self_reshape_2_dx, *attention_self_key_dx;
    hap_tensor *attention_self_key_sum, *attention_self_key_dw, *attention_self_key_dw_cut;
    hap_tensor *attention_self_key_db, *attention_self_transpose_dx, *attention_self_reshape_dx;
    hap_tensor *attention_self_query_dx, *attention_self_query_sum, *attention_self_query_dw;
    hap_tensor *attention_self_query_dw_cut, *attention_self_query_db;
    hap_tensor *attention_self_query_weight_cut, *attention_self_query_weight_exp_avg;
    hap_tensor *attention_self_query_weight_exp_avg_sq, *attention_self_query_bias_exp_avg;
    hap_tensor *attention_self_query_bias_exp_avg_sq, *attention_self_query_db_all;
    hap_tensor *attention_self_key_weight_cut, *attention_self_key_weight_exp_avg;
    hap_tensor *attention_self_key_weight_exp_avg_sq, *attention_self_key_bias_exp_avg;
    hap_tensor *attention_self_key_bias_exp_avg_sq, *attention_self_key_db_all;
    hap_tensor *attention_self_value_weight_cut, *attention_self_value_weight_exp_avg;
    hap_tensor *attention_self_value_weight_exp_avg_sq, *attention_self_value_bias_exp_avg;
    hap_tensor *attention_self_value_bias_exp_avg_sq, *attention_self_value_db_all;
    hap_tensor *attention_output_dense_weight_cut, *attention_output_dense_weight_exp_avg;
    hap_tensor *attention_output_dense_weight_exp_avg_sq, *attention_output_dense_bias_exp_avg;
    hap_tensor *attention_output_dense_bias_exp_avg_sq, *attention_output_dense_db_all;
    hap_tensor *attention_output_LayerNorm_weight_exp_avg;
    hap_tensor *attention_output_LayerNorm_weight_exp_avg_sq, *attention_output_LayerNorm_dw_all;
    hap_tensor *attention_output_LayerNorm_bias_exp_avg;
    hap_tensor *attention_output_LayerNorm_bias_exp_avg_sq, *attention_output_LayerNorm_dw_1_all;
    hap_tensor *t_intermediate_dense_weight_cut, *t_intermediate_dense_weight_exp_avg;
    hap_tensor *t_intermediate_dense_weight_exp_avg_sq, *t_intermediate_dense_bias_exp_avg;
    hap_tensor *t_intermediate_dense_bias_exp_avg_sq, *t_intermediate_dense_db_all;
    hap_tensor *output_dense_weight_cut, *output_dense_weight_exp_avg;
    hap_tensor *output_dense_weight_exp_avg_sq, *output_dense_bias_exp_avg;
    hap_tensor *output_dense_bias_exp_avg_sq, *output_dense_db_all;
    hap_tensor *output_LayerNorm_weight_exp_avg, *output_LayerNorm_weight_exp_avg_sq;
    hap_tensor *output_LayerNorm_dw_all, *output_LayerNorm_bias_exp_avg;
    hap_tensor *output_LayerNorm_bias_exp_avg_sq, *output_LayerNorm_dw_1_all;
    hap_event **output_dense_dw_cut_ready, **t_intermediate_dense_dw_cut_ready;
    hap_event **attention_output_dense_dw_cut_ready, **attention_self_value_dw_cut_ready;
    hap_event **attention_self_key_dw_cut_ready, **attention_self_query_dw_cut_ready;
    hap_event **attention_self_query_weight_ready, **attention_self_key_weight_ready;
    hap_event **attention_self_value_weight_ready, **attention_output_dense_weight_ready;
    hap_event **t_intermediate_dense_weight_ready, **output_dense_weight_ready;
} encoder_layer_block;
static encoder_layer_block encoder_layer[3];

// One of the 3 blocks encoder_layer, forward: 0.411 ms of computation.
static void encoder_layer_forward(hap_rank *r, const encoder_layer_block *b)
{
    // attention
    op_linear(r, b->attention_self_query, b->output_LayerNorm, b->attention_self_query_weight,
              b->attention_self_query_bias, HAP_NT); // y = a b' + c    [8@rows 32 64]    0.0283 ms
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attention_self_reshape, b->attention_self_query, HAP_INTS(8, 32, 4, 16));
    // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_transpose(r, b->attention_self_transpose, b->attention_self_reshape, HAP_INTS(0, 2, 1, 3));
    op_linear(r, b->attention_self_key, b->output_LayerNorm, b->attention_self_key_weight,
              b->attention_self_key_bias, HAP_NT); // y = a b' + c    [8@rows 32 64]    0.0283 ms
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attention_self_reshape_2, b->attention_self_key, HAP_INTS(8, 32, 4, 16));
    op_transpose(r, b->attention_self_transpose_2, b->attention_self_reshape_2,
                 HAP_INTS(0, 2, 1, 3)); // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_linear(r, b->attention_self_value, b->output_LayerNorm, b->attention_self_value_weight,
              b->attention_self_value_bias, HAP_NT); // y = a b' + c    [8@rows 32 64]    0.0283 ms
    // y = x    [8@rows 32 4 16]    0 ms
    op_reshape(r, b->attention_self_reshape_3, b->attention_self_value, HAP_INTS(8, 32, 4, 16));
    op_transpose(r, b->attention_self_transpose_3, b->attention_self_reshape_3,
                 HAP_INTS(0, 2, 1, 3)); // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_sdpa(r, b->attention_self_sdpa, b->attention_self_sdpa_lse, b->attention_self_transpose,
            b->attention_self_transpose_2, b->attention_self_transpose_3, NULL, false, 0.25, 0, 0,
            0); // y = softmax(a b') c    [8@rows 4 32 16]    0.0283 ms
    // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_transpose(r, b->attention_self_transpose_4, b->attention_self_sdpa, HAP_INTS(0, 2, 1, 3));
    // y = x    [8@rows 32 64]    0 ms
    op_reshape(r, b->attention_self_reshape_4, b->attention_self_transpose_4, HAP_INTS(8, 32, 64));
    // y = a b' + c    [8@rows 32 64]    0.0283 ms
    op_linear(r, b->attention_output_dense, b->attention_self_reshape_4,
              b->attention_output_dense_weight, b->attention_output_dense_bias, HAP_NT);
    // y = a + b    [8@rows 32 64]    0.0106 ms
    op_add(r, b->attention_output_add, b->attention_output_dense, b->output_LayerNorm);
    // y = sum x    [8@rows 32]    0.00425 ms
    op_row_sum(r, b->attention_output_LayerNorm_sum, b->attention_output_add);
    op_row_m2(r, b->attention_output_LayerNorm_m2, b->attention_output_add,
              b->attention_output_LayerNorm_sum); // [8@rows 32]    0.0043 ms
    // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00754 ms
    op_norm_apply(r, b->attention_output_LayerNorm, b->attention_output_add,
                  b->attention_output_LayerNorm_sum, b->attention_output_LayerNorm_m2,
                  b->attention_output_LayerNorm_weight, b->attention_output_LayerNorm_bias, 1e-12);

    // intermediate
    // y = a b' + c    [8@rows 32 192]    0.0829 ms
    op_linear(r, b->t_intermediate_dense, b->attention_output_LayerNorm,
              b->t_intermediate_dense_weight, b->t_intermediate_dense_bias, HAP_NT);
    // y = gelu x    [8@rows 32 192]    0.0202 ms
    op_gelu(r, b->t_intermediate_intermediate_act_fn, b->t_intermediate_dense, false);

    // output
    op_linear(r, b->output_dense, b->t_intermediate_intermediate_act_fn, b->output_dense_weight,
              b->output_dense_bias, HAP_NT); // y = a b' + c    [8@rows 32 64]    0.0829 ms
    // y = a + b    [8@rows 32 64]    0.0106 ms
    op_add(r, b->output_add, b->output_dense, b->attention_output_LayerNorm);
    op_row_sum(r, b->output_LayerNorm_sum, b->output_add); // y = sum x    [8@rows 32]    0.00425 ms
    // y = sum (a - mean)^2    [8@rows 32]    0.0043 ms
    op_row_m2(r, b->output_LayerNorm_m2, b->output_add, b->output_LayerNorm_sum);
    op_norm_apply(r, b->output_LayerNorm_2, b->output_add, b->output_LayerNorm_sum,
                  b->output_LayerNorm_m2, b->output_LayerNorm_weight, b->output_LayerNorm_bias,
                  1e-12); // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00754 ms
}

// One of the 3 blocks encoder_layer, backward: 0.813 ms of computation.
static void encoder_layer_backward(hap_rank *r, const encoder_layer_block *b)
{
    // output
    // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00762 ms
    op_norm_bwd_stats(r, b->output_LayerNorm_stats, b->output_LayerNorm_stats_1,
                      b->cls_predictions_transform_dense_dx, b->output_add, b->output_LayerNorm_sum,
                      b->output_LayerNorm_m2, b->output_LayerNorm_weight, 1e-12);
    // y = dx of the norm    [8@rows 32 64]    0.0108 ms
    op_norm_bwd(r, b->output_LayerNorm_dx, b->cls_predictions_transform_dense_dx, b->output_add,
                b->output_LayerNorm_sum, b->output_LayerNorm_m2, b->output_LayerNorm_stats,
                b->output_LayerNorm_stats_1, b->output_LayerNorm_weight, 1e-12);
    // y, y1 = dweight, dbias    [64]+    0.00754 ms
    op_norm_bwd_params(r, b->output_LayerNorm_dw, b->output_LayerNorm_dw_1,
                       b->cls_predictions_transform_dense_dx, b->output_add,
                       b->output_LayerNorm_sum, b->output_LayerNorm_m2, 1e-12);
    // y = a b    [8@rows 32 192]    0.0829 ms
    op_linear(r, b->output_dense_dx, b->output_LayerNorm_dx, b->output_dense_weight, NULL, HAP_NN);
    op_linear_dw(r, b->output_dense_dw, b->output_LayerNorm_dx,
                 b->t_intermediate_intermediate_act_fn); // [64 192]+    0.0829 ms
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0173 ms
    *b->output_dense_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->output_dense_dw_cut, &b->output_dense_dw, NULL);
    // y = sum x    [64]+    0.00422 ms
    op_sum(r, b->output_dense_db, b->output_LayerNorm_dx, HAP_INTS(0, 1), false);

    // intermediate
    op_gelu_bwd(r, b->t_intermediate_intermediate_act_fn_dx, b->output_dense_dx,
                b->t_intermediate_dense, false); // y = a gelu'(b)    [8@rows 32 192]    0.0298 ms
    op_linear(r, b->t_intermediate_dense_dx, b->t_intermediate_intermediate_act_fn_dx,
              b->t_intermediate_dense_weight, NULL, HAP_NN); // [8@rows 32 64]    0.0829 ms
    // y = a + b    [8@rows 32 64]    0.0106 ms
    op_add(r, b->t_intermediate_dense_sum, b->output_LayerNorm_dx, b->t_intermediate_dense_dx);
    op_linear_dw(r, b->t_intermediate_dense_dw, b->t_intermediate_intermediate_act_fn_dx,
                 b->attention_output_LayerNorm); // y = sum rows a' b    [192 64]+    0.0829 ms
    // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.017 ms
    *b->t_intermediate_dense_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1, &b->t_intermediate_dense_dw_cut,
                                  &b->t_intermediate_dense_dw, NULL);
    op_sum(r, b->t_intermediate_dense_db, b->t_intermediate_intermediate_act_fn_dx, HAP_INTS(0, 1),
           false); // y = sum x    [192]+    0.0107 ms

    // attention
    op_norm_bwd_stats(r, b->attention_output_LayerNorm_stats, b->attention_output_LayerNorm_stats_1,
                      b->t_intermediate_dense_sum, b->attention_output_add,
                      b->attention_output_LayerNorm_sum, b->attention_output_LayerNorm_m2,
                      b->attention_output_LayerNorm_weight, 1e-12); // [8@rows 32]    0.00762 ms
    // y = dx of the norm    [8@rows 32 64]    0.0108 ms
    op_norm_bwd(r, b->attention_output_LayerNorm_dx, b->t_intermediate_dense_sum,
                b->attention_output_add, b->attention_output_LayerNorm_sum,
                b->attention_output_LayerNorm_m2, b->attention_output_LayerNorm_stats,
                b->attention_output_LayerNorm_stats_1, b->attention_output_LayerNorm_weight, 1e-12);
    // y, y1 = dweight, dbias    [64]+    0.00754 ms
    op_norm_bwd_params(r, b->attention_output_LayerNorm_dw, b->attention_output_LayerNorm_dw_1,
                       b->t_intermediate_dense_sum, b->attention_output_add,
                       b->attention_output_LayerNorm_sum, b->attention_output_LayerNorm_m2, 1e-12);
    op_linear(r, b->attention_output_dense_dx, b->attention_output_LayerNorm_dx,
              b->attention_output_dense_weight, NULL, HAP_NN); // [8@rows 32 64]    0.0283 ms
    op_linear_dw(r, b->attention_output_dense_dw, b->attention_output_LayerNorm_dx,
                 b->attention_self_reshape_4); // y = sum rows a' b    [64 64]+    0.0283 ms
    // + -> dim 0 @cut_64    [64@cut_64 64]    16.0 KiB    0.00986 ms
    *b->attention_output_dense_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attention_output_dense_dw_cut,
        &b->attention_output_dense_dw, b->attention_output_dense_dw_cut_scratch);
    op_sum(r, b->attention_output_dense_db, b->attention_output_LayerNorm_dx, HAP_INTS(0, 1),
           false); // y = sum x    [64]+    0.00422 ms
    op_reshape(r, b->attention_self_reshape_4_dx, b->attention_output_dense_dx,
               HAP_INTS(8, 32, 4, 16)); // y = x    [8@rows 32 4 16]    0 ms
    op_transpose(r, b->attention_self_transpose_4_dx, b->attention_self_reshape_4_dx,
                 HAP_INTS(0, 2, 1, 3)); // y = x'    [8@rows 4 32 16]    0.0074 ms
    op_sdpa_bwd(r, b->attention_self_sdpa_dqkv, b->attention_self_sdpa_dqkv_1,
                b->attention_self_sdpa_dqkv_2, b->attention_self_transpose_4_dx,
                b->attention_self_transpose, b->attention_self_transpose_2,
                b->attention_self_transpose_3, b->attention_self_sdpa, b->attention_self_sdpa_lse,
                NULL, false, 0.25, 0, 0, 0); // [8@rows 4 32 16]    0.0693 ms
    op_transpose(r, b->attention_self_transpose_3_dx, b->attention_self_sdpa_dqkv_2,
                 HAP_INTS(0, 2, 1, 3)); // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_reshape(r, b->attention_self_reshape_3_dx, b->attention_self_transpose_3_dx,
               HAP_INTS(8, 32, 64)); // y = x    [8@rows 32 64]    0 ms
    op_linear(r, b->attention_self_value_dx, b->attention_self_reshape_3_dx,
              b->attention_self_value_weight, NULL, HAP_NN); // [8@rows 32 64]    0.0283 ms
    op_add(r, b->attention_self_value_sum, b->attention_output_LayerNorm_dx,
           b->attention_self_value_dx); // y = a + b    [8@rows 32 64]    0.0106 ms
    op_linear_dw(r, b->attention_self_value_dw, b->attention_self_reshape_3_dx,
                 b->output_LayerNorm); // y = sum rows a' b    [64 64]+    0.0283 ms
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.00705 ms
    *b->attention_self_value_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1, &b->attention_self_value_dw_cut,
                                  &b->attention_self_value_dw, NULL);
    // y = sum x    [64]+    0.00422 ms
    op_sum(r, b->attention_self_value_db, b->attention_self_reshape_3_dx, HAP_INTS(0, 1), false);
    op_transpose(r, b->attention_self_transpose_2_dx, b->attention_self_sdpa_dqkv_1,
                 HAP_INTS(0, 2, 1, 3)); // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_reshape(r, b->attention_self_reshape_2_dx, b->attention_self_transpose_2_dx,
               HAP_INTS(8, 32, 64)); // y = x    [8@rows 32 64]    0 ms
    op_linear(r, b->attention_self_key_dx, b->attention_self_reshape_2_dx,
              b->attention_self_key_weight, NULL, HAP_NN); // y = a b    [8@rows 32 64]    0.0283 ms
    // y = a + b    [8@rows 32 64]    0.0106 ms
    op_add(r, b->attention_self_key_sum, b->attention_self_value_sum, b->attention_self_key_dx);
    // y = sum rows a' b    [64 64]+    0.0283 ms
    op_linear_dw(r, b->attention_self_key_dw, b->attention_self_reshape_2_dx, b->output_LayerNorm);
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.00705 ms
    *b->attention_self_key_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attention_self_key_dw_cut, &b->attention_self_key_dw, NULL);
    // y = sum x    [64]+    0.00422 ms
    op_sum(r, b->attention_self_key_db, b->attention_self_reshape_2_dx, HAP_INTS(0, 1), false);
    op_transpose(r, b->attention_self_transpose_dx, b->attention_self_sdpa_dqkv,
                 HAP_INTS(0, 2, 1, 3)); // y = x'    [8@rows 32 4 16]    0.0074 ms
    op_reshape(r, b->attention_self_reshape_dx, b->attention_self_transpose_dx,
               HAP_INTS(8, 32, 64)); // y = x    [8@rows 32 64]    0 ms
    op_linear(r, b->attention_self_query_dx, b->attention_self_reshape_dx,
              b->attention_self_query_weight, NULL, HAP_NN); // [8@rows 32 64]    0.0283 ms
    // y = a + b    [8@rows 32 64]    0.0106 ms
    op_add(r, b->attention_self_query_sum, b->attention_self_key_sum, b->attention_self_query_dx);
    // y = sum rows a' b    [64 64]+    0.0283 ms
    op_linear_dw(r, b->attention_self_query_dw, b->attention_self_reshape_dx, b->output_LayerNorm);
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.00705 ms
    *b->attention_self_query_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_EVEN, 1, &b->attention_self_query_dw_cut,
                                  &b->attention_self_query_dw, NULL);
    // y = sum x    [64]+    0.00422 ms
    op_sum(r, b->attention_self_query_db, b->attention_self_reshape_dx, HAP_INTS(0, 1), false);
}

// One of the 3 blocks encoder_layer, update: 0.0913 ms of computation.
static void encoder_layer_update(hap_rank *r, const encoder_layer_block *b)
{
    // update
    // whole -> dim 0 @heads    [64@heads 64]    0.00237 ms
    hap_cut(r, b->attention_self_query_weight_cut, b->attention_self_query_weight);
    hap_wait(r, *b->attention_self_query_dw_cut_ready); // 0.00705 ms hidden
    op_adam(r, b->attention_self_query_weight_cut, b->attention_self_query_weight_exp_avg,
            b->attention_self_query_weight_exp_avg_sq, b->attention_self_query_dw_cut, NULL, 1, 0.9,
            0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00697 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.00705 ms
    *b->attention_self_query_weight_ready =
        coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->attention_self_query_weight,
                              &b->attention_self_query_weight_cut, NULL);
    op_adam(r, b->attention_self_query_bias, b->attention_self_query_bias_exp_avg,
            b->attention_self_query_bias_exp_avg_sq, b->attention_self_query_db_all, NULL, 1, 0.9,
            0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    // whole -> dim 0 @heads    [64@heads 64]    0.00237 ms
    hap_cut(r, b->attention_self_key_weight_cut, b->attention_self_key_weight);
    hap_wait(r, *b->attention_self_key_dw_cut_ready); // 0.00705 ms hidden
    op_adam(r, b->attention_self_key_weight_cut, b->attention_self_key_weight_exp_avg,
            b->attention_self_key_weight_exp_avg_sq, b->attention_self_key_dw_cut, NULL, 1, 0.9,
            0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00697 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.00705 ms
    *b->attention_self_key_weight_ready =
        coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->attention_self_key_weight,
                              &b->attention_self_key_weight_cut, NULL);
    op_adam(r, b->attention_self_key_bias, b->attention_self_key_bias_exp_avg,
            b->attention_self_key_bias_exp_avg_sq, b->attention_self_key_db_all, NULL, 1, 0.9, 0.95,
            1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    // whole -> dim 0 @heads    [64@heads 64]    0.00237 ms
    hap_cut(r, b->attention_self_value_weight_cut, b->attention_self_value_weight);
    hap_wait(r, *b->attention_self_value_dw_cut_ready); // 0.00705 ms hidden
    op_adam(r, b->attention_self_value_weight_cut, b->attention_self_value_weight_exp_avg,
            b->attention_self_value_weight_exp_avg_sq, b->attention_self_value_dw_cut, NULL, 1, 0.9,
            0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00697 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.00705 ms
    *b->attention_self_value_weight_ready =
        coll_all_gather_start(r, AXIS(0), FORM_EVEN, 1, &b->attention_self_value_weight,
                              &b->attention_self_value_weight_cut, NULL);
    op_adam(r, b->attention_self_value_bias, b->attention_self_value_bias_exp_avg,
            b->attention_self_value_bias_exp_avg_sq, b->attention_self_value_db_all, NULL, 1, 0.9,
            0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    // whole -> dim 0 @cut_64    [64@cut_64 64]    0.00222 ms
    hap_cut(r, b->attention_output_dense_weight_cut, b->attention_output_dense_weight);
    hap_wait(r, *b->attention_output_dense_dw_cut_ready); // 0.00986 ms hidden
    op_adam(r, b->attention_output_dense_weight_cut, b->attention_output_dense_weight_exp_avg,
            b->attention_output_dense_weight_exp_avg_sq, b->attention_output_dense_dw_cut, NULL, 1,
            0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [64@cut_64 64]    0.00632 ms
    // dim 0 @cut_64 -> whole    [64 64]    16.0 KiB    0.00743 ms
    *b->attention_output_dense_weight_ready =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->attention_output_dense_weight,
                              &b->attention_output_dense_weight_cut, NULL);
    op_adam(r, b->attention_output_dense_bias, b->attention_output_dense_bias_exp_avg,
            b->attention_output_dense_bias_exp_avg_sq, b->attention_output_dense_db_all, NULL, 1,
            0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    op_adam(r, b->attention_output_LayerNorm_weight, b->attention_output_LayerNorm_weight_exp_avg,
            b->attention_output_LayerNorm_weight_exp_avg_sq, b->attention_output_LayerNorm_dw_all,
            NULL, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    op_adam(r, b->attention_output_LayerNorm_bias, b->attention_output_LayerNorm_bias_exp_avg,
            b->attention_output_LayerNorm_bias_exp_avg_sq, b->attention_output_LayerNorm_dw_1_all,
            NULL, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00452 ms
    hap_cut(r, b->t_intermediate_dense_weight_cut, b->t_intermediate_dense_weight);
    hap_wait(r, *b->t_intermediate_dense_dw_cut_ready); // 0.017 ms hidden
    op_adam(r, b->t_intermediate_dense_weight_cut, b->t_intermediate_dense_weight_exp_avg,
            b->t_intermediate_dense_weight_exp_avg_sq, b->t_intermediate_dense_dw_cut, NULL, 1, 0.9,
            0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0164 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.012 ms
    *b->t_intermediate_dense_weight_ready =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->t_intermediate_dense_weight,
                              &b->t_intermediate_dense_weight_cut, NULL);
    op_adam(r, b->t_intermediate_dense_bias, b->t_intermediate_dense_bias_exp_avg,
            b->t_intermediate_dense_bias_exp_avg_sq, b->t_intermediate_dense_db_all, NULL, 1, 0.9,
            0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [192]    0.00156 ms
    hap_cut(r, b->output_dense_weight_cut, b->output_dense_weight); // [64@cut_64 192]    0.00465 ms
    hap_wait(r, *b->output_dense_dw_cut_ready);                     // 0.0173 ms hidden
    op_adam(r, b->output_dense_weight_cut, b->output_dense_weight_exp_avg,
            b->output_dense_weight_exp_avg_sq, b->output_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.017 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0123 ms
    *b->output_dense_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->output_dense_weight, &b->output_dense_weight_cut, NULL);
    op_adam(r, b->output_dense_bias, b->output_dense_bias_exp_avg, b->output_dense_bias_exp_avg_sq,
            b->output_dense_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00119 ms
    op_adam(r, b->output_LayerNorm_weight, b->output_LayerNorm_weight_exp_avg,
            b->output_LayerNorm_weight_exp_avg_sq, b->output_LayerNorm_dw_all, NULL, 1, 0.9, 0.95,
            1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
    op_adam(r, b->output_LayerNorm_bias, b->output_LayerNorm_bias_exp_avg,
            b->output_LayerNorm_bias_exp_avg_sq, b->output_LayerNorm_dw_1_all, NULL, 1, 0.9, 0.95,
            1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
}

// One of the 3 blocks encoder_layer, update: 0 ms of computation.
static void encoder_layer_update_2(hap_rank *r, const encoder_layer_block *b)
{
    hap_wait(r, *b->attention_self_query_weight_ready);   // 0.00705 ms hidden
    hap_wait(r, *b->attention_self_key_weight_ready);     // 0.00705 ms hidden
    hap_wait(r, *b->attention_self_value_weight_ready);   // 0.00705 ms hidden
    hap_wait(r, *b->attention_output_dense_weight_ready); // 0.00743 ms hidden
    hap_wait(r, *b->t_intermediate_dense_weight_ready);   // 0.012 ms hidden
    hap_wait(r, *b->output_dense_weight_ready);           // 0.0123 ms hidden
}

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "5ffbb2b756fd80f4", 2);
    hap_mesh(r, 1, (const int[]){2});
    hap_classes(r, (const int[]){0, 1});
    hap_segments(r, sym_bytes, local_bytes);

    // Global shapes. [n@rows] is cut by rows[], [n] is whole on every rank, + is a partial sum, ^ a
    // partial max.
    const hap_dim of_8_32[] = {WHOLE(8), WHOLE(32)};
    const hap_dim of_199_64[] = {WHOLE(199), WHOLE(64)};
    const hap_dim of_2_64[] = {WHOLE(2), WHOLE(64)};
    const hap_dim of_32_64[] = {WHOLE(32), WHOLE(64)};
    const hap_dim of_64[] = {WHOLE(64)};
    const hap_dim of_64_64[] = {WHOLE(64), WHOLE(64)};
    const hap_dim of_192_64[] = {WHOLE(192), WHOLE(64)};
    const hap_dim of_192[] = {WHOLE(192)};
    const hap_dim of_64_192[] = {WHOLE(64), WHOLE(192)};
    const hap_dim of_199[] = {WHOLE(199)};
    const hap_dim of_1_32[] = {WHOLE(1), WHOLE(32)};
    const hap_dim vocab_64[] = {CUT(0, 199, vocab), WHOLE(64)};
    const hap_dim heads_64[] = {CUT_IN(0, 1, 4, 16, heads), WHOLE(64)};
    const hap_dim cut_64_64[] = {CUT(0, 64, cut_64), WHOLE(64)};
    const hap_dim cut_192_64[] = {CUT(0, 192, cut_192), WHOLE(64)};
    const hap_dim cut_64_192[] = {CUT(0, 64, cut_64), WHOLE(192)};
    const hap_dim rows_32[] = {CUT(0, 8, rows), WHOLE(32)};
    const hap_dim rows_32_64[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(64)};
    const hap_dim of_1_32_64[] = {WHOLE(1), WHOLE(32), WHOLE(64)};
    const hap_dim rows_32_4_16[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(4), WHOLE(16)};
    const hap_dim rows_4_32_16[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32), WHOLE(16)};
    const hap_dim rows_4_32[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32)};
    const hap_dim rows_32_192[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(192)};
    const hap_dim rows_32_199[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(199)};
    const hap_dim scratch_2432[] = {WHOLE(2432)};
    const hap_dim of_8_32_64[] = {WHOLE(8), WHOLE(32), WHOLE(64)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_3027456, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1736192, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *embeddings_word_embeddings_weight =
        hap_at(r, SEG_SYM, at_491520, HAP_F32, 2, of_199_64);
    hap_param(r, "bert.embeddings.word_embeddings.weight", embeddings_word_embeddings_weight,
              HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_token_type_embeddings_weight =
        hap_at(r, SEG_LOCAL, at_577536, HAP_F32, 2, of_2_64);
    hap_param(r, "bert.embeddings.token_type_embeddings.weight",
              embeddings_token_type_embeddings_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_position_embeddings_weight =
        hap_at(r, SEG_LOCAL, at_578048, HAP_F32, 2, of_32_64);
    hap_param(r, "bert.embeddings.position_embeddings.weight",
              embeddings_position_embeddings_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_LayerNorm_weight = hap_at(r, SEG_LOCAL, at_586240, HAP_F32, 1, of_64);
    hap_param(r, "bert.embeddings.LayerNorm.weight", embeddings_LayerNorm_weight, HAP_FILL(1));
    hap_tensor *embeddings_LayerNorm_bias = hap_at(r, SEG_LOCAL, at_586496, HAP_F32, 1, of_64);
    hap_param(r, "bert.embeddings.LayerNorm.bias", embeddings_LayerNorm_bias, HAP_FILL(0));
    hap_tensor *cls_predictions_transform_dense_weight =
        hap_at(r, SEG_SYM, at_544768, HAP_F32, 2, of_64_64);
    hap_param(r, "cls.predictions.transform.dense.weight", cls_predictions_transform_dense_weight,
              HAP_NORMAL(0, 0.02));
    hap_tensor *cls_predictions_transform_dense_bias =
        hap_at(r, SEG_LOCAL, at_586752, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.dense.bias", cls_predictions_transform_dense_bias,
              HAP_FILL(0));
    hap_tensor *cls_predictions_transform_LayerNorm_weight =
        hap_at(r, SEG_LOCAL, at_587008, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.LayerNorm.weight",
              cls_predictions_transform_LayerNorm_weight, HAP_FILL(1));
    hap_tensor *cls_predictions_transform_LayerNorm_bias =
        hap_at(r, SEG_LOCAL, at_587264, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.LayerNorm.bias",
              cls_predictions_transform_LayerNorm_bias, HAP_FILL(0));
    hap_tensor *cls_predictions_bias = hap_at(r, SEG_LOCAL, at_587520, HAP_F32, 1, of_199);
    hap_param(r, "cls.predictions.bias", cls_predictions_bias, HAP_FILL(0));
    hap_tensor *embeddings_word_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_590848, HAP_F32, 2, vocab_64);
    hap_state(r, "bert.embeddings.word_embeddings.weight.exp_avg",
              embeddings_word_embeddings_weight_exp_avg);
    hap_tensor *embeddings_word_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_628480, HAP_F32, 2, vocab_64);
    hap_state(r, "bert.embeddings.word_embeddings.weight.exp_avg_sq",
              embeddings_word_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_token_type_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_666112, HAP_F32, 2, of_2_64);
    hap_state(r, "bert.embeddings.token_type_embeddings.weight.exp_avg",
              embeddings_token_type_embeddings_weight_exp_avg);
    hap_tensor *embeddings_token_type_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_666624, HAP_F32, 2, of_2_64);
    hap_state(r, "bert.embeddings.token_type_embeddings.weight.exp_avg_sq",
              embeddings_token_type_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_position_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_667136, HAP_F32, 2, of_32_64);
    hap_state(r, "bert.embeddings.position_embeddings.weight.exp_avg",
              embeddings_position_embeddings_weight_exp_avg);
    hap_tensor *embeddings_position_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_675328, HAP_F32, 2, of_32_64);
    hap_state(r, "bert.embeddings.position_embeddings.weight.exp_avg_sq",
              embeddings_position_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_LayerNorm_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_683520, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.weight.exp_avg", embeddings_LayerNorm_weight_exp_avg);
    hap_tensor *embeddings_LayerNorm_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_683776, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.weight.exp_avg_sq",
              embeddings_LayerNorm_weight_exp_avg_sq);
    hap_tensor *embeddings_LayerNorm_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_684032, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.bias.exp_avg", embeddings_LayerNorm_bias_exp_avg);
    hap_tensor *embeddings_LayerNorm_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_684288, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.bias.exp_avg_sq", embeddings_LayerNorm_bias_exp_avg_sq);
    hap_tensor *cls_predictions_transform_dense_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_684544, HAP_F32, 2, cut_64_64);
    hap_state(r, "cls.predictions.transform.dense.weight.exp_avg",
              cls_predictions_transform_dense_weight_exp_avg);
    hap_tensor *cls_predictions_transform_dense_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_694272, HAP_F32, 2, cut_64_64);
    hap_state(r, "cls.predictions.transform.dense.weight.exp_avg_sq",
              cls_predictions_transform_dense_weight_exp_avg_sq);
    hap_tensor *cls_predictions_transform_dense_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_704000, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.dense.bias.exp_avg",
              cls_predictions_transform_dense_bias_exp_avg);
    hap_tensor *cls_predictions_transform_dense_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_704256, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.dense.bias.exp_avg_sq",
              cls_predictions_transform_dense_bias_exp_avg_sq);
    hap_tensor *cls_predictions_transform_LayerNorm_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_704512, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.weight.exp_avg",
              cls_predictions_transform_LayerNorm_weight_exp_avg);
    hap_tensor *cls_predictions_transform_LayerNorm_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_704768, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.weight.exp_avg_sq",
              cls_predictions_transform_LayerNorm_weight_exp_avg_sq);
    hap_tensor *cls_predictions_transform_LayerNorm_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_705024, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.bias.exp_avg",
              cls_predictions_transform_LayerNorm_bias_exp_avg);
    hap_tensor *cls_predictions_transform_LayerNorm_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_705280, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.bias.exp_avg_sq",
              cls_predictions_transform_LayerNorm_bias_exp_avg_sq);
    hap_tensor *cls_predictions_bias_exp_avg = hap_at(r, SEG_LOCAL, at_705536, HAP_F32, 1, of_199);
    hap_state(r, "cls.predictions.bias.exp_avg", cls_predictions_bias_exp_avg);
    hap_tensor *cls_predictions_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_706560, HAP_F32, 1, of_199);
    hap_state(r, "cls.predictions.bias.exp_avg_sq", cls_predictions_bias_exp_avg_sq);

    // Constants.
    hap_tensor *embeddings_token_type_embeddings_const =
        hap_at(r, SEG_LOCAL, at_588544, HAP_I64, 2, of_8_32);
    hap_const(r, "bert.embeddings.token_type_embeddings.const",
              embeddings_token_type_embeddings_const, HAP_FILL(0));
    hap_tensor *embeddings_position_embeddings_const =
        hap_at(r, SEG_LOCAL, at_590592, HAP_I64, 2, of_1_32);
    hap_const(r, "bert.embeddings.position_embeddings.const", embeddings_position_embeddings_const,
              HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_2887680, HAP_I64, 2, rows_32);
    hap_tensor *embeddings_word_embeddings =
        hap_at(r, SEG_LOCAL, at_2846720, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_token_type_embeddings_const_cut =
        hap_at(r, SEG_LOCAL, at_2887680, HAP_I64, 2, rows_32);
    hap_tensor *embeddings_token_type_embeddings =
        hap_at(r, SEG_LOCAL, at_707584, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_add = hap_at(r, SEG_LOCAL, at_2846720, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_position_embeddings =
        hap_at(r, SEG_LOCAL, at_707584, HAP_F32, 3, of_1_32_64);
    hap_tensor *embeddings_add_2 = hap_at(r, SEG_LOCAL, at_2846720, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_LayerNorm_sum = hap_at(r, SEG_LOCAL, at_3030784, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_m2 = hap_at(r, SEG_LOCAL, at_3031552, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_dense =
        hap_at(r, SEG_LOCAL, at_2887680, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_transform_act_fn =
        hap_at(r, SEG_LOCAL, at_2928640, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_LayerNorm_sum =
        hap_at(r, SEG_LOCAL, at_3032320, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_m2 =
        hap_at(r, SEG_LOCAL, at_3033088, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm =
        hap_at(r, SEG_LOCAL, at_2969600, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_decoder = hap_at(r, SEG_LOCAL, at_1608704, HAP_F32, 3, rows_32_199);
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_3033856, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_3034624, HAP_F32, 2, rows_32);
    hap_tensor *labels_cut = hap_at(r, SEG_LOCAL, at_1738240, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_3029504, HAP_F32, 2, rows_32);
    hap_tensor *labels_cut_2 = hap_at(r, SEG_LOCAL, at_1738240, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_561152, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_561152, HAP_F32, 0, NULL);   // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_3029504, HAP_F32, 0, NULL);     // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_3035392, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_3029760, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_3035648, HAP_F32, 0, NULL);   // []
    hap_tensor *labels_cut_3 = hap_at(r, SEG_LOCAL, at_3029504, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1736192, HAP_F32, 3, rows_32_199);
    hap_tensor *cls_predictions_decoder_dx =
        hap_at(r, SEG_LOCAL, at_1608704, HAP_F32, 3, rows_32_64);
    // [199 64]+
    hap_tensor *cls_predictions_decoder_dw = hap_at(r, SEG_SYM, at_1105920, HAP_F32, 2, of_199_64);
    hap_tensor *cls_predictions_decoder_dw_cut =
        hap_at(r, SEG_SYM, at_1355776, HAP_F32, 2, vocab_64);
    // [199]+
    hap_tensor *cls_predictions_decoder_db = hap_at(r, SEG_SYM, at_1748992, HAP_F32, 1, of_199);
    hap_tensor *cls_predictions_decoder_db_all = hap_at(r, SEG_SYM, at_1748992, HAP_F32, 1, of_199);
    hap_tensor *cls_predictions_transform_LayerNorm_stats =
        hap_at(r, SEG_LOCAL, at_3029504, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_stats_1 =
        hap_at(r, SEG_LOCAL, at_1649664, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_dx =
        hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_LayerNorm_dw =
        hap_at(r, SEG_SYM, at_1757184, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_LayerNorm_dw_1 =
        hap_at(r, SEG_SYM, at_1753088, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_LayerNorm_dw_all =
        hap_at(r, SEG_SYM, at_1757184, HAP_F32, 1, of_64);
    hap_tensor *cls_predictions_transform_LayerNorm_dw_1_all =
        hap_at(r, SEG_SYM, at_1753088, HAP_F32, 1, of_64);
    hap_tensor *cls_predictions_transform_transform_act_fn_dx =
        hap_at(r, SEG_LOCAL, at_1649664, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_dense_dw =
        hap_at(r, SEG_SYM, at_1585152, HAP_F32, 2, of_64_64); // [64 64]+
    hap_tensor *cls_predictions_transform_dense_dw_cut =
        hap_at(r, SEG_SYM, at_1601536, HAP_F32, 2, cut_64_64);
    hap_tensor *cls_predictions_transform_dense_db =
        hap_at(r, SEG_SYM, at_1761280, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_dense_db_all =
        hap_at(r, SEG_SYM, at_1761280, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_stats =
        hap_at(r, SEG_LOCAL, at_3029504_2, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_stats_1 =
        hap_at(r, SEG_LOCAL, at_2887680_2, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_dx = hap_at(r, SEG_SYM, at_1396736, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_LayerNorm_dx_all =
        hap_at(r, SEG_SYM, at_1040384, HAP_F32, 3, of_8_32_64);
    // [64]+
    hap_tensor *embeddings_LayerNorm_dw = hap_at(r, SEG_SYM, at_1769472, HAP_F32, 1, of_64);
    // [64]+
    hap_tensor *embeddings_LayerNorm_dw_1 = hap_at(r, SEG_SYM, at_1765376, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_dw_all = hap_at(r, SEG_SYM, at_1769472, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_dw_1_all = hap_at(r, SEG_SYM, at_1765376, HAP_F32, 1, of_64);
    hap_tensor *embeddings_add_2_fold1 = hap_at(r, SEG_LOCAL, at_707584, HAP_F32, 3, of_1_32_64);
    hap_tensor *embeddings_position_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_782848, HAP_F32, 2, of_32_64);
    hap_tensor *embeddings_token_type_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_791040, HAP_F32, 2, of_2_64);
    hap_tensor *embeddings_word_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_707584, HAP_F32, 2, vocab_64);
    hap_tensor *embeddings_word_embeddings_sum =
        hap_at(r, SEG_LOCAL, at_745216, HAP_F32, 2, vocab_64);
    hap_tensor *embeddings_word_embeddings_weight_cut =
        hap_at(r, SEG_SYM, at_1355776, HAP_F32, 2, vocab_64);
    hap_tensor *cls_predictions_transform_dense_weight_cut =
        hap_at(r, SEG_SYM, at_1282048, HAP_F32, 2, cut_64_64);

    // Scratch of collectives.
    hap_tensor *cls_predictions_transform_dense_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_1613824, HAP_F32, 1, scratch_2432);

    hap_tensor *encoder_layer_2_output_LayerNorm_2[4], *cls_predictions_transform_dense_dx_2[4];
    for (int i = 0; i < 4; i++) {
        encoder_layer_2_output_LayerNorm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1444864, by_40960, i, HAP_F32, 3, rows_32_64);
        cls_predictions_transform_dense_dx_2[i] =
            hap_at(r, SEG_LOCAL, at_1608704, HAP_F32, 3, rows_32_64);
    }

    for (int i = 0; i < 3; i++) {
        encoder_layer_block *b = &encoder_layer[i];
        b->attention_self_query = hap_at(r, SEG_LOCAL, at_2068480, HAP_F32, 3, rows_32_64);
        b->attention_self_query_weight =
            hap_at_layer(r, SEG_SYM, at_0, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.weight"),
                  b->attention_self_query_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_query_bias =
            hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.bias"),
                  b->attention_self_query_bias, HAP_FILL(0));
        b->attention_self_reshape = hap_at(r, SEG_LOCAL, at_2068480, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose =
            hap_at_layer(r, SEG_LOCAL, at_1863680, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_key = hap_at(r, SEG_LOCAL, at_2191360, HAP_F32, 3, rows_32_64);
        b->attention_self_key_weight =
            hap_at_layer(r, SEG_SYM, at_49152, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.weight"),
                  b->attention_self_key_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_key_bias =
            hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.bias"),
                  b->attention_self_key_bias, HAP_FILL(0));
        b->attention_self_reshape_2 = hap_at(r, SEG_LOCAL, at_2191360, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_1986560, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_value = hap_at(r, SEG_LOCAL, at_2314240, HAP_F32, 3, rows_32_64);
        b->attention_self_value_weight =
            hap_at_layer(r, SEG_SYM, at_98304, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.weight"),
                  b->attention_self_value_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_value_bias =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.bias"),
                  b->attention_self_value_bias, HAP_FILL(0));
        b->attention_self_reshape_3 = hap_at(r, SEG_LOCAL, at_2314240, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_2109440, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_2232320, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_3010560, by_2560, i, HAP_F32, 3, rows_4_32);
        b->attention_self_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_2355200, by_40960, i, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_2355200, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_dense =
            hap_at_layer(r, SEG_LOCAL, at_2478080, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_dense_weight =
            hap_at_layer(r, SEG_SYM, at_147456, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight"),
                  b->attention_output_dense_weight, HAP_NORMAL(0, 0.02));
        b->attention_output_dense_bias =
            hap_at_layer(r, SEG_LOCAL, at_2304, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias"),
                  b->attention_output_dense_bias, HAP_FILL(0));
        b->attention_output_add =
            hap_at_layer(r, SEG_LOCAL, at_2478080, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_sum =
            hap_at_layer(r, SEG_LOCAL, at_3018240, by_768, i, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_m2 =
            hap_at_layer(r, SEG_LOCAL, at_3020544, by_768, i, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm =
            hap_at_layer(r, SEG_LOCAL, at_2600960, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_weight =
            hap_at_layer(r, SEG_LOCAL, at_3072, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight"),
                  b->attention_output_LayerNorm_weight, HAP_FILL(1));
        b->attention_output_LayerNorm_bias =
            hap_at_layer(r, SEG_LOCAL, at_3840, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias"),
                  b->attention_output_LayerNorm_bias, HAP_FILL(0));
        b->t_intermediate_dense =
            hap_at_layer(r, SEG_LOCAL, at_707584, by_122880, i, HAP_F32, 3, rows_32_192);
        b->t_intermediate_dense_weight =
            hap_at_layer(r, SEG_SYM, at_196608, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight"),
                  b->t_intermediate_dense_weight, HAP_NORMAL(0, 0.02));
        b->t_intermediate_dense_bias =
            hap_at_layer(r, SEG_LOCAL, at_4608, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias"),
                  b->t_intermediate_dense_bias, HAP_FILL(0));
        b->t_intermediate_intermediate_act_fn =
            hap_at_layer(r, SEG_LOCAL, at_1076224, by_122880, i, HAP_F32, 3, rows_32_192);
        b->output_dense =
            hap_at_layer(r, SEG_LOCAL, at_2723840, by_40960, i, HAP_F32, 3, rows_32_64);
        b->output_dense_weight =
            hap_at_layer(r, SEG_SYM, at_344064, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight"),
                  b->output_dense_weight, HAP_NORMAL(0, 0.02));
        b->output_dense_bias = hap_at_layer(r, SEG_LOCAL, at_6912, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias"), b->output_dense_bias,
                  HAP_FILL(0));
        b->output_add = hap_at_layer(r, SEG_LOCAL, at_2723840, by_40960, i, HAP_F32, 3, rows_32_64);
        b->output_LayerNorm_sum =
            hap_at_layer(r, SEG_LOCAL, at_3022848, by_768, i, HAP_F32, 2, rows_32);
        b->output_LayerNorm_m2 =
            hap_at_layer(r, SEG_LOCAL, at_3025152, by_768, i, HAP_F32, 2, rows_32);
        b->output_LayerNorm_weight =
            hap_at_layer(r, SEG_LOCAL, at_7680, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight"),
                  b->output_LayerNorm_weight, HAP_FILL(1));
        b->output_LayerNorm_bias =
            hap_at_layer(r, SEG_LOCAL, at_8448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias"),
                  b->output_LayerNorm_bias, HAP_FILL(0));
        b->output_LayerNorm_stats = hap_at(r, SEG_LOCAL, at_3029504, HAP_F32, 2, rows_32);
        b->output_LayerNorm_stats_1 = hap_at(r, SEG_LOCAL, at_1567744, HAP_F32, 2, rows_32);
        b->output_LayerNorm_dx = hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 3, rows_32_64);
        b->output_LayerNorm_dw =
            hap_at_layer(r, SEG_SYM, at_1638400, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->output_LayerNorm_dw_1 =
            hap_at_layer(r, SEG_SYM, at_1626112, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->output_dense_dx = hap_at(r, SEG_LOCAL, at_1567744, HAP_F32, 3, rows_32_192);
        b->output_dense_dw =
            hap_at_layer(r, SEG_SYM, at_561152, by_49152, i, HAP_F32, 2, of_64_192); // [64 192]+
        b->output_dense_dw_cut =
            hap_at_layer(r, SEG_SYM, at_856064, by_32768, i, HAP_F32, 2, cut_64_192);
        // [64]+
        b->output_dense_db = hap_at_layer(r, SEG_SYM, at_1650688, by_4096, i, HAP_F32, 1, of_64);
        b->t_intermediate_intermediate_act_fn_dx =
            hap_at(r, SEG_LOCAL, at_1321984, HAP_F32, 3, rows_32_192);
        b->t_intermediate_dense_dx = hap_at(r, SEG_LOCAL, at_2805760, HAP_F32, 3, rows_32_64);
        b->t_intermediate_dense_sum = hap_at(r, SEG_LOCAL, at_1690624, HAP_F32, 3, rows_32_64);
        b->t_intermediate_dense_dw =
            hap_at_layer(r, SEG_SYM, at_708608, by_49152, i, HAP_F32, 2, of_192_64); // [192 64]+
        b->t_intermediate_dense_dw_cut =
            hap_at_layer(r, SEG_SYM, at_954368, by_28672, i, HAP_F32, 2, cut_192_64);
        b->t_intermediate_dense_db =
            hap_at_layer(r, SEG_SYM, at_1662976, by_4096, i, HAP_F32, 1, of_192); // [192]+
        b->attention_output_LayerNorm_stats = hap_at(r, SEG_LOCAL, at_3024384, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_stats_1 =
            hap_at(r, SEG_LOCAL, at_3026688, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_dx = hap_at(r, SEG_LOCAL, at_1608704, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_dw =
            hap_at_layer(r, SEG_SYM, at_1687552, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_output_LayerNorm_dw_1 =
            hap_at_layer(r, SEG_SYM, at_1675264, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_output_dense_dx = hap_at(r, SEG_LOCAL, at_1567744, HAP_F32, 3, rows_32_64);
        b->attention_output_dense_dw =
            hap_at_layer(r, SEG_SYM, at_1159168, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_output_dense_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1437696, by_12288, i, HAP_F32, 2, cut_64_64);
        b->attention_output_dense_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1474560, by_12288, i, HAP_F32, 1, scratch_2432);
        b->attention_output_dense_db =
            hap_at_layer(r, SEG_SYM, at_1699840, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_reshape_4_dx = hap_at(r, SEG_LOCAL, at_1567744, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_4_dx =
            hap_at(r, SEG_LOCAL, at_2560000, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1567744, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_2437120, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_2682880, HAP_F32, 4, rows_4_32_16);
        b->attention_self_transpose_3_dx =
            hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 3, rows_32_64);
        b->attention_self_value_dx = hap_at(r, SEG_LOCAL, at_2068480, HAP_F32, 3, rows_32_64);
        b->attention_self_value_sum = hap_at(r, SEG_LOCAL, at_1608704, HAP_F32, 3, rows_32_64);
        b->attention_self_value_dw =
            hap_at_layer(r, SEG_SYM, at_1208320, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_value_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1511424, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_value_db =
            hap_at_layer(r, SEG_SYM, at_1712128, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_transpose_2_dx =
            hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 3, rows_32_64);
        b->attention_self_key_dx = hap_at(r, SEG_LOCAL, at_2068480, HAP_F32, 3, rows_32_64);
        b->attention_self_key_sum = hap_at(r, SEG_LOCAL, at_1608704, HAP_F32, 3, rows_32_64);
        b->attention_self_key_dw =
            hap_at_layer(r, SEG_SYM, at_1257472, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_key_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1536000, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_key_db =
            hap_at_layer(r, SEG_SYM, at_1724416, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_transpose_dx = hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_dx = hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 3, rows_32_64);
        b->attention_self_query_dx = hap_at(r, SEG_LOCAL, at_1567744, HAP_F32, 3, rows_32_64);
        b->attention_self_query_dw =
            hap_at_layer(r, SEG_SYM, at_1306624, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_query_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1560576, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_query_db =
            hap_at_layer(r, SEG_SYM, at_1736704, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_query_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1396736, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_query_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_9216, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.weight.exp_avg"),
                  b->attention_self_query_weight_exp_avg);
        b->attention_self_query_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_33792, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.weight.exp_avg_sq"),
                  b->attention_self_query_weight_exp_avg_sq);
        b->attention_self_query_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_58368, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.bias.exp_avg"),
                  b->attention_self_query_bias_exp_avg);
        b->attention_self_query_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_59136, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.bias.exp_avg_sq"),
                  b->attention_self_query_bias_exp_avg_sq);
        b->attention_self_query_db_all =
            hap_at_layer(r, SEG_SYM, at_1736704, by_4096, i, HAP_F32, 1, of_64);
        b->attention_self_key_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1306624, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_key_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_59904, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.weight.exp_avg"),
                  b->attention_self_key_weight_exp_avg);
        b->attention_self_key_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_84480, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.weight.exp_avg_sq"),
                  b->attention_self_key_weight_exp_avg_sq);
        b->attention_self_key_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_109056, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.bias.exp_avg"),
                  b->attention_self_key_bias_exp_avg);
        b->attention_self_key_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_109824, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.bias.exp_avg_sq"),
                  b->attention_self_key_bias_exp_avg_sq);
        b->attention_self_key_db_all =
            hap_at_layer(r, SEG_SYM, at_1724416, by_4096, i, HAP_F32, 1, of_64);
        b->attention_self_value_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1257472, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_value_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_110592, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.weight.exp_avg"),
                  b->attention_self_value_weight_exp_avg);
        b->attention_self_value_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_135168, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.weight.exp_avg_sq"),
                  b->attention_self_value_weight_exp_avg_sq);
        b->attention_self_value_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_159744, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.bias.exp_avg"),
                  b->attention_self_value_bias_exp_avg);
        b->attention_self_value_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_160512, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.bias.exp_avg_sq"),
                  b->attention_self_value_bias_exp_avg_sq);
        b->attention_self_value_db_all =
            hap_at_layer(r, SEG_SYM, at_1712128, by_4096, i, HAP_F32, 1, of_64);
        b->attention_output_dense_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1126400, by_12288, i, HAP_F32, 2, cut_64_64);
        b->attention_output_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_161280, by_9728, i, HAP_F32, 2, cut_64_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight.exp_avg"),
                  b->attention_output_dense_weight_exp_avg);
        b->attention_output_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_190464, by_9728, i, HAP_F32, 2, cut_64_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight.exp_avg_sq"),
                  b->attention_output_dense_weight_exp_avg_sq);
        b->attention_output_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_219648, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias.exp_avg"),
                  b->attention_output_dense_bias_exp_avg);
        b->attention_output_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_220416, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias.exp_avg_sq"),
                  b->attention_output_dense_bias_exp_avg_sq);
        b->attention_output_dense_db_all =
            hap_at_layer(r, SEG_SYM, at_1699840, by_4096, i, HAP_F32, 1, of_64);
        b->attention_output_LayerNorm_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_221184, by_256, i, HAP_F32, 1, of_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight.exp_avg"),
                  b->attention_output_LayerNorm_weight_exp_avg);
        b->attention_output_LayerNorm_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_221952, by_256, i, HAP_F32, 1, of_64);
        hap_state(
            r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight.exp_avg_sq"),
            b->attention_output_LayerNorm_weight_exp_avg_sq);
        b->attention_output_LayerNorm_dw_all =
            hap_at_layer(r, SEG_SYM, at_1687552, by_4096, i, HAP_F32, 1, of_64);
        b->attention_output_LayerNorm_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_222720, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias.exp_avg"),
                  b->attention_output_LayerNorm_bias_exp_avg);
        b->attention_output_LayerNorm_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_223488, by_256, i, HAP_F32, 1, of_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias.exp_avg_sq"),
                  b->attention_output_LayerNorm_bias_exp_avg_sq);
        b->attention_output_LayerNorm_dw_1_all =
            hap_at_layer(r, SEG_SYM, at_1675264, by_4096, i, HAP_F32, 1, of_64);
        b->t_intermediate_dense_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1040384, by_28672, i, HAP_F32, 2, cut_192_64);
        b->t_intermediate_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_224256, by_28160, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight.exp_avg"),
                  b->t_intermediate_dense_weight_exp_avg);
        b->t_intermediate_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_308736, by_28160, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight.exp_avg_sq"),
                  b->t_intermediate_dense_weight_exp_avg_sq);
        b->t_intermediate_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_393216, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias.exp_avg"),
                  b->t_intermediate_dense_bias_exp_avg);
        b->t_intermediate_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_395520, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias.exp_avg_sq"),
                  b->t_intermediate_dense_bias_exp_avg_sq);
        b->t_intermediate_dense_db_all =
            hap_at_layer(r, SEG_SYM, at_1662976, by_4096, i, HAP_F32, 1, of_192);
        b->output_dense_weight_cut =
            hap_at_layer(r, SEG_SYM, at_708608, by_32768, i, HAP_F32, 2, cut_64_192);
        b->output_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_397824, by_29184, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight.exp_avg"),
                  b->output_dense_weight_exp_avg);
        b->output_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_485376, by_29184, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight.exp_avg_sq"),
                  b->output_dense_weight_exp_avg_sq);
        b->output_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_572928, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias.exp_avg"),
                  b->output_dense_bias_exp_avg);
        b->output_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_573696, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias.exp_avg_sq"),
                  b->output_dense_bias_exp_avg_sq);
        b->output_dense_db_all =
            hap_at_layer(r, SEG_SYM, at_1650688, by_4096, i, HAP_F32, 1, of_64);
        b->output_LayerNorm_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_574464, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight.exp_avg"),
                  b->output_LayerNorm_weight_exp_avg);
        b->output_LayerNorm_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_575232, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight.exp_avg_sq"),
                  b->output_LayerNorm_weight_exp_avg_sq);
        b->output_LayerNorm_dw_all =
            hap_at_layer(r, SEG_SYM, at_1638400, by_4096, i, HAP_F32, 1, of_64);
        b->output_LayerNorm_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_576000, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias.exp_avg"),
                  b->output_LayerNorm_bias_exp_avg);
        b->output_LayerNorm_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_576768, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias.exp_avg_sq"),
                  b->output_LayerNorm_bias_exp_avg_sq);
        b->output_LayerNorm_dw_1_all =
            hap_at_layer(r, SEG_SYM, at_1626112, by_4096, i, HAP_F32, 1, of_64);
        b->output_LayerNorm = encoder_layer_2_output_LayerNorm_2[i];
        b->output_LayerNorm_2 = encoder_layer_2_output_LayerNorm_2[i + 1];
        b->cls_predictions_transform_dense_dx = cls_predictions_transform_dense_dx_2[i + 1];
        b->attention_self_query_sum = cls_predictions_transform_dense_dx_2[i];
        b->output_dense_dw_cut_ready = &encoder_layer_output_dense_dw_cut_ready[i];
        b->t_intermediate_dense_dw_cut_ready = &encoder_layer_intermediate_dense_dw_cut_ready[i];
        b->attention_output_dense_dw_cut_ready =
            &encoder_layer_attention_output_dense_dw_cut_ready[i];
        b->attention_self_value_dw_cut_ready = &encoder_layer_attention_self_value_dw_cut_ready[i];
        b->attention_self_key_dw_cut_ready = &encoder_layer_attention_self_key_dw_cut_ready[i];
        b->attention_self_query_dw_cut_ready = &encoder_layer_attention_self_query_dw_cut_ready[i];
        b->attention_self_query_weight_ready = &encoder_layer_attention_self_query_weight_ready[i];
        b->attention_self_key_weight_ready = &encoder_layer_attention_self_key_weight_ready[i];
        b->attention_self_value_weight_ready = &encoder_layer_attention_self_value_weight_ready[i];
        b->attention_output_dense_weight_ready =
            &encoder_layer_attention_output_dense_weight_ready[i];
        b->t_intermediate_dense_weight_ready = &encoder_layer_intermediate_dense_weight_ready[i];
        b->output_dense_weight_ready = &encoder_layer_output_dense_weight_ready[i];
    }

    hap_alias(r, "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight");
    hap_alias(r, "cls.predictions.decoder.bias", "cls.predictions.bias");
    hap_loss(r, loss);
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001});

    while (hap_next_step(r)) {
        // bert.embeddings, forward
        hap_cut(r, input_ids_cut, input_ids); // whole -> dim 0 @rows    [8@rows 32]    0.00116 ms
        op_embedding(r, embeddings_word_embeddings, embeddings_word_embeddings_weight,
                     input_ids_cut); // y = a[b]    [8@rows 32 64]    0.0075 ms
        hap_cut(r, embeddings_token_type_embeddings_const_cut,
                embeddings_token_type_embeddings_const); // [8@rows 32]    0.00116 ms
        op_embedding(r, embeddings_token_type_embeddings, embeddings_token_type_embeddings_weight,
                     embeddings_token_type_embeddings_const_cut); // [8@rows 32 64]    0.0075 ms
        // y = a + b    [8@rows 32 64]    0.0106 ms
        op_add(r, embeddings_add, embeddings_word_embeddings, embeddings_token_type_embeddings);
        op_embedding(r, embeddings_position_embeddings, embeddings_position_embeddings_weight,
                     embeddings_position_embeddings_const); // y = a[b]    [1 32 64]    0.00273 ms
        // y = a + b    [8@rows 32 64]    0.00804 ms
        op_add(r, embeddings_add_2, embeddings_add, embeddings_position_embeddings);
        op_row_sum(r, embeddings_LayerNorm_sum, embeddings_add_2); // [8@rows 32]    0.00425 ms
        // y = sum (a - mean)^2    [8@rows 32]    0.0043 ms
        op_row_m2(r, embeddings_LayerNorm_m2, embeddings_add_2, embeddings_LayerNorm_sum);
        // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00754 ms
        op_norm_apply(r, encoder_layer_2_output_LayerNorm_2[0], embeddings_add_2,
                      embeddings_LayerNorm_sum, embeddings_LayerNorm_m2,
                      embeddings_LayerNorm_weight, embeddings_LayerNorm_bias, 1e-12);

        for (int i = 0; i < 3; i++)
            encoder_layer_forward(r, &encoder_layer[i]);

        // cls.predictions, forward
        op_linear(r, cls_predictions_transform_dense, encoder_layer_2_output_LayerNorm_2[3],
                  cls_predictions_transform_dense_weight, cls_predictions_transform_dense_bias,
                  HAP_NT); // y = a b' + c    [8@rows 32 64]    0.0283 ms
        op_gelu(r, cls_predictions_transform_transform_act_fn, cls_predictions_transform_dense,
                false); // y = gelu x    [8@rows 32 64]    0.0074 ms
        op_row_sum(r, cls_predictions_transform_LayerNorm_sum,
                   cls_predictions_transform_transform_act_fn); // [8@rows 32]    0.00425 ms
        op_row_m2(r, cls_predictions_transform_LayerNorm_m2,
                  cls_predictions_transform_transform_act_fn,
                  cls_predictions_transform_LayerNorm_sum); // [8@rows 32]    0.0043 ms
        op_norm_apply(
            r, cls_predictions_transform_LayerNorm, cls_predictions_transform_transform_act_fn,
            cls_predictions_transform_LayerNorm_sum, cls_predictions_transform_LayerNorm_m2,
            cls_predictions_transform_LayerNorm_weight, cls_predictions_transform_LayerNorm_bias,
            1e-12); // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00754 ms
        // y = a b' + c    [8@rows 32 199]    0.0859 ms
        op_linear(r, cls_predictions_decoder, cls_predictions_transform_LayerNorm,
                  embeddings_word_embeddings_weight, cls_predictions_bias, HAP_NT);

        // ce_sum, forward
        op_row_max(r, ce_sum_max, cls_predictions_decoder); // y = max x    [8@rows 32]    0.011 ms
        // y = sum exp(a - b)    [8@rows 32]    0.0111 ms
        op_row_expsum(r, ce_sum_expsum, cls_predictions_decoder, ce_sum_max);
        hap_cut(r, labels_cut, labels); // whole -> dim 0 @rows    [8@rows 32]    0.00116 ms
        // y = a[label]    [8@rows 32]    0.0012 ms
        op_target_logit(r, ce_sum_target, cls_predictions_decoder, labels_cut, -100);
        hap_cut(r, labels_cut_2, labels); // whole -> dim 0 @rows    [8@rows 32]    0.00116 ms
        // y = sum a + log b - c    []+    0.00125 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, labels_cut_2, -100);
        // + -> whole    []    4 B    0.01 ms
        hap_event *e_ce_sum_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ce_sum_all, &ce_sum, NULL);

        // count, forward
        op_count(r, count, labels, -100); // y = count x    []    0.00121 ms
        hap_wait(r, e_ce_sum_all);

        // loss, forward
        op_div(r, loss, ce_sum_all, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        hap_cut(r, labels_cut_3, labels); // whole -> dim 0 @rows    [8@rows 32]    0.00116 ms
        op_ce_bwd(r, ce_sum_dx, cls_predictions_decoder, ce_sum_max, ce_sum_expsum, labels_cut_3,
                  loss_da, -100); // y = e (softmax - 1[label])    [8@rows 32 199]    0.0211 ms

        // cls.predictions, backward
        op_linear(r, cls_predictions_decoder_dx, ce_sum_dx, embeddings_word_embeddings_weight, NULL,
                  HAP_NN); // y = a b    [8@rows 32 64]    0.0859 ms
        // y = sum rows a' b    [199 64]+    0.0859 ms
        op_linear_dw(r, cls_predictions_decoder_dw, ce_sum_dx, cls_predictions_transform_LayerNorm);
        // + -> dim 0 @vocab    [199@vocab 64]    49.8 KiB    0.0194 ms
        hap_event *e_cls_predictions_decoder_dw_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1, &cls_predictions_decoder_dw_cut,
                                      &cls_predictions_decoder_dw, NULL);
        // y = sum x    [199]+    0.011 ms
        op_sum(r, cls_predictions_decoder_db, ce_sum_dx, HAP_INTS(0, 1), false);
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00762 ms
        op_norm_bwd_stats(r, cls_predictions_transform_LayerNorm_stats,
                          cls_predictions_transform_LayerNorm_stats_1, cls_predictions_decoder_dx,
                          cls_predictions_transform_transform_act_fn,
                          cls_predictions_transform_LayerNorm_sum,
                          cls_predictions_transform_LayerNorm_m2,
                          cls_predictions_transform_LayerNorm_weight, 1e-12);
        // y = dx of the norm    [8@rows 32 64]    0.0108 ms
        op_norm_bwd(r, cls_predictions_transform_LayerNorm_dx, cls_predictions_decoder_dx,
                    cls_predictions_transform_transform_act_fn,
                    cls_predictions_transform_LayerNorm_sum, cls_predictions_transform_LayerNorm_m2,
                    cls_predictions_transform_LayerNorm_stats,
                    cls_predictions_transform_LayerNorm_stats_1,
                    cls_predictions_transform_LayerNorm_weight, 1e-12);
        // y, y1 = dweight, dbias    [64]+    0.00754 ms
        op_norm_bwd_params(
            r, cls_predictions_transform_LayerNorm_dw, cls_predictions_transform_LayerNorm_dw_1,
            cls_predictions_decoder_dx, cls_predictions_transform_transform_act_fn,
            cls_predictions_transform_LayerNorm_sum, cls_predictions_transform_LayerNorm_m2, 1e-12);
        // y = a gelu'(b)    [8@rows 32 64]    0.0106 ms
        op_gelu_bwd(r, cls_predictions_transform_transform_act_fn_dx,
                    cls_predictions_transform_LayerNorm_dx, cls_predictions_transform_dense, false);
        // y = a b    [8@rows 32 64]    0.0283 ms
        op_linear(r, cls_predictions_transform_dense_dx_2[3],
                  cls_predictions_transform_transform_act_fn_dx,
                  cls_predictions_transform_dense_weight, NULL, HAP_NN);
        op_linear_dw(r, cls_predictions_transform_dense_dw,
                     cls_predictions_transform_transform_act_fn_dx,
                     encoder_layer_2_output_LayerNorm_2[3]); // [64 64]+    0.0283 ms
        // + -> dim 0 @cut_64    [64@cut_64 64]    16.0 KiB    0.00986 ms
        hap_event *e_cls_predictions_transform_dense_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &cls_predictions_transform_dense_dw_cut,
            &cls_predictions_transform_dense_dw, cls_predictions_transform_dense_dw_cut_scratch);
        op_sum(r, cls_predictions_transform_dense_db, cls_predictions_transform_transform_act_fn_dx,
               HAP_INTS(0, 1), false); // y = sum x    [64]+    0.00422 ms

        for (int i = 2; i >= 0; i--)
            encoder_layer_backward(r, &encoder_layer[i]);

        // bert.embeddings, backward
        op_norm_bwd_stats(r, embeddings_LayerNorm_stats, embeddings_LayerNorm_stats_1,
                          cls_predictions_transform_dense_dx_2[0], embeddings_add_2,
                          embeddings_LayerNorm_sum, embeddings_LayerNorm_m2,
                          embeddings_LayerNorm_weight, 1e-12); // [8@rows 32]    0.00762 ms
        op_norm_bwd(r, embeddings_LayerNorm_dx, cls_predictions_transform_dense_dx_2[0],
                    embeddings_add_2, embeddings_LayerNorm_sum, embeddings_LayerNorm_m2,
                    embeddings_LayerNorm_stats, embeddings_LayerNorm_stats_1,
                    embeddings_LayerNorm_weight, 1e-12); // [8@rows 32 64]    0.0108 ms
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0152 ms
        hap_event *e_embeddings_LayerNorm_dx_all =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &embeddings_LayerNorm_dx_all,
                                  &embeddings_LayerNorm_dx, NULL);
        // y, y1 = dweight, dbias    [64]+    0.00754 ms
        op_norm_bwd_params(r, embeddings_LayerNorm_dw, embeddings_LayerNorm_dw_1,
                           cls_predictions_transform_dense_dx_2[0], embeddings_add_2,
                           embeddings_LayerNorm_sum, embeddings_LayerNorm_m2, 1e-12);
        hap_tensor *const to[] = {
            cls_predictions_decoder_db_all,                       // [199]
            cls_predictions_transform_LayerNorm_dw_all,           // [64]
            cls_predictions_transform_LayerNorm_dw_1_all,         // [64]
            cls_predictions_transform_dense_db_all,               // [64]
            encoder_layer[2].output_LayerNorm_dw_all,             // [64]
            encoder_layer[2].output_LayerNorm_dw_1_all,           // [64]
            encoder_layer[2].output_dense_db_all,                 // [64]
            encoder_layer[2].t_intermediate_dense_db_all,         // [192]
            encoder_layer[2].attention_output_LayerNorm_dw_all,   // [64]
            encoder_layer[2].attention_output_LayerNorm_dw_1_all, // [64]
            encoder_layer[2].attention_output_dense_db_all,       // [64]
            encoder_layer[2].attention_self_value_db_all,         // [64]
            encoder_layer[2].attention_self_key_db_all,           // [64]
            encoder_layer[2].attention_self_query_db_all,         // [64]
            encoder_layer[1].output_LayerNorm_dw_all,             // [64]
            encoder_layer[1].output_LayerNorm_dw_1_all,           // [64]
            encoder_layer[1].output_dense_db_all,                 // [64]
            encoder_layer[1].t_intermediate_dense_db_all,         // [192]
            encoder_layer[1].attention_output_LayerNorm_dw_all,   // [64]
            encoder_layer[1].attention_output_LayerNorm_dw_1_all, // [64]
            encoder_layer[1].attention_output_dense_db_all,       // [64]
            encoder_layer[1].attention_self_value_db_all,         // [64]
            encoder_layer[1].attention_self_key_db_all,           // [64]
            encoder_layer[1].attention_self_query_db_all,         // [64]
            encoder_layer[0].output_LayerNorm_dw_all,             // [64]
            encoder_layer[0].output_LayerNorm_dw_1_all,           // [64]
            encoder_layer[0].output_dense_db_all,                 // [64]
            encoder_layer[0].t_intermediate_dense_db_all,         // [192]
            encoder_layer[0].attention_output_LayerNorm_dw_all,   // [64]
            encoder_layer[0].attention_output_LayerNorm_dw_1_all, // [64]
            encoder_layer[0].attention_output_dense_db_all,       // [64]
            encoder_layer[0].attention_self_value_db_all,         // [64]
            encoder_layer[0].attention_self_key_db_all,           // [64]
            encoder_layer[0].attention_self_query_db_all,         // [64]
            embeddings_LayerNorm_dw_all,                          // [64]
            embeddings_LayerNorm_dw_1_all,                        // [64]
        };
        hap_tensor *const from[] = {
            cls_predictions_decoder_db,                       // [199]+
            cls_predictions_transform_LayerNorm_dw,           // [64]+
            cls_predictions_transform_LayerNorm_dw_1,         // [64]+
            cls_predictions_transform_dense_db,               // [64]+
            encoder_layer[2].output_LayerNorm_dw,             // [64]+
            encoder_layer[2].output_LayerNorm_dw_1,           // [64]+
            encoder_layer[2].output_dense_db,                 // [64]+
            encoder_layer[2].t_intermediate_dense_db,         // [192]+
            encoder_layer[2].attention_output_LayerNorm_dw,   // [64]+
            encoder_layer[2].attention_output_LayerNorm_dw_1, // [64]+
            encoder_layer[2].attention_output_dense_db,       // [64]+
            encoder_layer[2].attention_self_value_db,         // [64]+
            encoder_layer[2].attention_self_key_db,           // [64]+
            encoder_layer[2].attention_self_query_db,         // [64]+
            encoder_layer[1].output_LayerNorm_dw,             // [64]+
            encoder_layer[1].output_LayerNorm_dw_1,           // [64]+
            encoder_layer[1].output_dense_db,                 // [64]+
            encoder_layer[1].t_intermediate_dense_db,         // [192]+
            encoder_layer[1].attention_output_LayerNorm_dw,   // [64]+
            encoder_layer[1].attention_output_LayerNorm_dw_1, // [64]+
            encoder_layer[1].attention_output_dense_db,       // [64]+
            encoder_layer[1].attention_self_value_db,         // [64]+
            encoder_layer[1].attention_self_key_db,           // [64]+
            encoder_layer[1].attention_self_query_db,         // [64]+
            encoder_layer[0].output_LayerNorm_dw,             // [64]+
            encoder_layer[0].output_LayerNorm_dw_1,           // [64]+
            encoder_layer[0].output_dense_db,                 // [64]+
            encoder_layer[0].t_intermediate_dense_db,         // [192]+
            encoder_layer[0].attention_output_LayerNorm_dw,   // [64]+
            encoder_layer[0].attention_output_LayerNorm_dw_1, // [64]+
            encoder_layer[0].attention_output_dense_db,       // [64]+
            encoder_layer[0].attention_self_value_db,         // [64]+
            encoder_layer[0].attention_self_key_db,           // [64]+
            encoder_layer[0].attention_self_query_db,         // [64]+
            embeddings_LayerNorm_dw,                          // [64]+
            embeddings_LayerNorm_dw_1,                        // [64]+
        };
        // + -> whole    [199]    11.0 KiB    0.0128 ms
        hap_event *e_cls_predictions_decoder_db_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 36, to, from, NULL);
        hap_wait(r, e_embeddings_LayerNorm_dx_all);
        // y = sum x    [1 32 64]    0.00868 ms
        op_sum(r, embeddings_add_2_fold1, embeddings_LayerNorm_dx_all, HAP_INTS(0), true);
        op_embedding_bwd(r, embeddings_position_embeddings_dw, embeddings_add_2_fold1,
                         embeddings_position_embeddings_const, 32); // [32 64]    0.00273 ms
        op_embedding_bwd(r, embeddings_token_type_embeddings_dw, embeddings_LayerNorm_dx_all,
                         embeddings_token_type_embeddings_const, 2); // [2 64]    0.00809 ms
        op_embedding_bwd(r, embeddings_word_embeddings_dw, embeddings_LayerNorm_dx_all, input_ids,
                         199);                         // y[b] += a    [199@vocab 64]    0.00943 ms
        hap_wait(r, e_cls_predictions_decoder_dw_cut); // 0.0194 ms hidden
        op_add(r, embeddings_word_embeddings_sum, cls_predictions_decoder_dw_cut,
               embeddings_word_embeddings_dw); // y = a + b    [199@vocab 64]    0.00982 ms

        // update
        // whole -> dim 0 @vocab    [199@vocab 64]    0.0057 ms
        hap_cut(r, embeddings_word_embeddings_weight_cut, embeddings_word_embeddings_weight);
        op_adam(r, embeddings_word_embeddings_weight_cut, embeddings_word_embeddings_weight_exp_avg,
                embeddings_word_embeddings_weight_exp_avg_sq, embeddings_word_embeddings_sum, NULL,
                1, 0.9, 0.95, 1e-08, 0.1, true); // [199@vocab 64]    0.0216 ms
        // dim 0 @vocab -> whole    [199 64]    49.8 KiB    0.0144 ms
        hap_event *e_embeddings_word_embeddings_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &embeddings_word_embeddings_weight,
                                  &embeddings_word_embeddings_weight_cut, NULL);
        // a -= lr b / sqrt c    [2 64]    0.00137 ms
        op_adam(r, embeddings_token_type_embeddings_weight,
                embeddings_token_type_embeddings_weight_exp_avg,
                embeddings_token_type_embeddings_weight_exp_avg_sq,
                embeddings_token_type_embeddings_dw, NULL, 1, 0.9, 0.95, 1e-08, 0.1, true);
        op_adam(r, embeddings_position_embeddings_weight,
                embeddings_position_embeddings_weight_exp_avg,
                embeddings_position_embeddings_weight_exp_avg_sq, embeddings_position_embeddings_dw,
                NULL, 1, 0.9, 0.95, 1e-08, 0.1, true); // [32 64]    0.00697 ms
        hap_wait(r, e_cls_predictions_decoder_db_all); // 0.0128 ms hidden
        op_adam(r, embeddings_LayerNorm_weight, embeddings_LayerNorm_weight_exp_avg,
                embeddings_LayerNorm_weight_exp_avg_sq, embeddings_LayerNorm_dw_all, NULL, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms
        op_adam(r, embeddings_LayerNorm_bias, embeddings_LayerNorm_bias_exp_avg,
                embeddings_LayerNorm_bias_exp_avg_sq, embeddings_LayerNorm_dw_1_all, NULL, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00119 ms

        for (int i = 0; i < 3; i++)
            encoder_layer_update(r, &encoder_layer[i]);

        // update
        hap_cut(r, cls_predictions_transform_dense_weight_cut,
                cls_predictions_transform_dense_weight);       // [64@cut_64 64]    0.00222 ms
        hap_wait(r, e_cls_predictions_transform_dense_dw_cut); // 0.00986 ms hidden
        // a -= lr b / sqrt c    [64@cut_64 64]    0.00632 ms
        op_adam(r, cls_predictions_transform_dense_weight_cut,
                cls_predictions_transform_dense_weight_exp_avg,
                cls_predictions_transform_dense_weight_exp_avg_sq,
                cls_predictions_transform_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1, true);
        // dim 0 @cut_64 -> whole    [64 64]    16.0 KiB    0.00743 ms
        hap_event *e_cls_predictions_transform_dense_weight = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &cls_predictions_transform_dense_weight,
            &cls_predictions_transform_dense_weight_cut, NULL);
        // a -= lr b / sqrt c    [64]    0.00119 ms
        op_adam(r, cls_predictions_transform_dense_bias,
                cls_predictions_transform_dense_bias_exp_avg,
                cls_predictions_transform_dense_bias_exp_avg_sq,
                cls_predictions_transform_dense_db_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true);
        // a -= lr b / sqrt c    [64]    0.00119 ms
        op_adam(r, cls_predictions_transform_LayerNorm_weight,
                cls_predictions_transform_LayerNorm_weight_exp_avg,
                cls_predictions_transform_LayerNorm_weight_exp_avg_sq,
                cls_predictions_transform_LayerNorm_dw_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true);
        // a -= lr b / sqrt c    [64]    0.00119 ms
        op_adam(r, cls_predictions_transform_LayerNorm_bias,
                cls_predictions_transform_LayerNorm_bias_exp_avg,
                cls_predictions_transform_LayerNorm_bias_exp_avg_sq,
                cls_predictions_transform_LayerNorm_dw_1_all, NULL, 1, 0.9, 0.95, 1e-08, 0, true);
        op_adam(r, cls_predictions_bias, cls_predictions_bias_exp_avg,
                cls_predictions_bias_exp_avg_sq, cls_predictions_decoder_db_all, NULL, 1, 0.9, 0.95,
                1e-08, 0, true); // a -= lr b / sqrt c    [199]    0.00158 ms
        hap_wait(r, e_embeddings_word_embeddings_weight); // 0.0144 ms hidden

        for (int i = 0; i < 3; i++)
            encoder_layer_update_2(r, &encoder_layer[i]);
        hap_wait(r, e_cls_predictions_transform_dense_weight); // 0.00319 ms hidden
    }
    return hap_finish(r);
}
