// program.c: one training step of bert-tiny on 2 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/bert-tiny/graph.json clusters/laptop2.yaml -o bert-tiny@laptop2 -q
//
//   classes     cpu4 {0}  cpu3 {1}
//   predicted   4.58 ms/step = 4.53 ms compute and idle + 0.445 ms communication - 0.397 ms hidden;
//               by datasheet formulas
//   memory      4.58 MiB / 3.52 MiB    graph 5ffbb2b756fd80f4    cluster 8851bf650c8a0795
//   strategy    auto

#include "hap/runtime.h"

// 4 cut 0.500 0.500 over axis 0 (even).
static const int64_t heads[2] = {2, 2};

// 8 cut 0.625 0.375 over axis 0 (compute).
static const int64_t rows[2] = {5, 3};

// 199 cut 0.588 0.412 over axis 0 (compute).
static const int64_t vocab[2] = {117, 82};

// 64 cut 0.578 0.422 over axis 0 (compute).
static const int64_t cut_64[2] = {37, 27};

// 192 cut 0.667 0.333 over axis 0 (compute).
static const int64_t cut_192[2] = {128, 64};

// Byte offsets in the symmetric segment: what crosses the wire, the same on every rank.
static const int64_t at_491520[2] = {491520, 491520}, at_0[2] = {0, 0};
static const int64_t at_49152[2] = {49152, 49152}, at_98304[2] = {98304, 98304};
static const int64_t at_147456[2] = {147456, 147456}, at_196608[2] = {196608, 196608};
static const int64_t at_344064[2] = {344064, 344064}, at_544768[2] = {544768, 544768};
static const int64_t at_561152[2] = {561152, 561152}, at_1146880[2] = {1146880, 1146880};
static const int64_t at_1470464[2] = {1470464, 1470464}, at_1740800[2] = {1740800, 1740800};
static const int64_t at_1748992[2] = {1748992, 1748992}, at_1744896[2] = {1744896, 1744896};
static const int64_t at_1576960[2] = {1576960, 1576960}, at_1593344[2] = {1593344, 1593344};
static const int64_t at_1605632[2] = {1605632, 1605632}, at_1753088[2] = {1753088, 1753088};
static const int64_t at_1630208[2] = {1630208, 1630208}, at_1617920[2] = {1617920, 1617920};
static const int64_t at_995328[2] = {995328, 995328}, at_1642496[2] = {1642496, 1642496};
static const int64_t at_708608[2] = {708608, 708608}, at_856064[2] = {856064, 856064};
static const int64_t at_1654784[2] = {1654784, 1654784}, at_1679360[2] = {1679360, 1679360};
static const int64_t at_1667072[2] = {1667072, 1667072}, at_1200128[2] = {1200128, 1200128};
static const int64_t at_1396736[2] = {1396736, 1396736}, at_1433600[2] = {1433600, 1433600};
static const int64_t at_1691648[2] = {1691648, 1691648}, at_1249280[2] = {1249280, 1249280};
static const int64_t at_1503232[2] = {1503232, 1503232}, at_1703936[2] = {1703936, 1703936};
static const int64_t at_1298432[2] = {1298432, 1298432}, at_1527808[2] = {1527808, 1527808};
static const int64_t at_1716224[2] = {1716224, 1716224}, at_1347584[2] = {1347584, 1347584};
static const int64_t at_1552384[2] = {1552384, 1552384}, at_1728512[2] = {1728512, 1728512};
static const int64_t at_954368[2] = {954368, 954368}, at_1081344[2] = {1081344, 1081344};
static const int64_t at_1761280[2] = {1761280, 1761280}, at_1757184[2] = {1757184, 1757184};
static const int64_t at_1118208[2] = {1118208, 1118208}, at_1150976[2] = {1150976, 1150976};
static const int64_t at_1175552[2] = {1175552, 1175552}, at_1052672[2] = {1052672, 1052672};

// Byte offsets in the local segment, by class {cpu4, cpu3}.
static const int64_t at_3033088[2] = {3033088, 1916928}, at_1741824[2] = {1741824, 1147648};
static const int64_t at_599040[2] = {599040, 439296}, at_599552[2] = {599552, 439808};
static const int64_t at_607744[2] = {607744, 448000}, at_608000[2] = {608000, 448256};
static const int64_t at_768[2] = {768, 768}, at_1536[2] = {1536, 1536}, at_2304[2] = {2304, 2304};
static const int64_t at_3072[2] = {3072, 3072}, at_3840[2] = {3840, 3840};
static const int64_t at_4608[2] = {4608, 4608}, at_6912[2] = {6912, 6912};
static const int64_t at_7680[2] = {7680, 7680}, at_8448[2] = {8448, 8448};
static const int64_t at_608256[2] = {608256, 448512}, at_608512[2] = {608512, 448768};
static const int64_t at_608768[2] = {608768, 449024}, at_609024[2] = {609024, 449280};
static const int64_t at_610048[2] = {610048, 450304}, at_612096[2] = {612096, 452352};
static const int64_t at_612352[2] = {612352, 452608}, at_642304[2] = {642304, 473600};
static const int64_t at_672256[2] = {672256, 494592}, at_672768[2] = {672768, 495104};
static const int64_t at_673280[2] = {673280, 495616}, at_681472[2] = {681472, 503808};
static const int64_t at_689664[2] = {689664, 512000}, at_689920[2] = {689920, 512256};
static const int64_t at_690176[2] = {690176, 512512}, at_690432[2] = {690432, 512768};
static const int64_t at_9216[2] = {9216, 9216}, at_33792[2] = {33792, 33792};
static const int64_t at_58368[2] = {58368, 58368}, at_59136[2] = {59136, 59136};
static const int64_t at_59904[2] = {59904, 59904}, at_84480[2] = {84480, 84480};
static const int64_t at_109056[2] = {109056, 109056}, at_109824[2] = {109824, 109824};
static const int64_t at_110592[2] = {110592, 110592}, at_135168[2] = {135168, 135168};
static const int64_t at_159744[2] = {159744, 159744}, at_160512[2] = {160512, 160512};
static const int64_t at_161280[2] = {161280, 161280}, at_189696[2] = {189696, 182016};
static const int64_t at_218112[2] = {218112, 202752}, at_218880[2] = {218880, 203520};
static const int64_t at_219648[2] = {219648, 204288}, at_220416[2] = {220416, 205056};
static const int64_t at_221184[2] = {221184, 205824}, at_221952[2] = {221952, 206592};
static const int64_t at_222720[2] = {222720, 207360}, at_321024[2] = {321024, 256512};
static const int64_t at_419328[2] = {419328, 305664}, at_421632[2] = {421632, 307968};
static const int64_t at_423936[2] = {423936, 310272}, at_509184[2] = {509184, 372480};
static const int64_t at_594432[2] = {594432, 434688}, at_595200[2] = {595200, 435456};
static const int64_t at_595968[2] = {595968, 436224}, at_596736[2] = {596736, 436992};
static const int64_t at_597504[2] = {597504, 437760}, at_598272[2] = {598272, 438528};
static const int64_t at_690688[2] = {690688, 513024}, at_700160[2] = {700160, 519936};
static const int64_t at_709632[2] = {709632, 526848}, at_709888[2] = {709888, 527104};
static const int64_t at_710144[2] = {710144, 527360}, at_710400[2] = {710400, 527616};
static const int64_t at_710656[2] = {710656, 527872}, at_710912[2] = {710912, 528128};
static const int64_t at_711168[2] = {711168, 528384}, at_712192[2] = {712192, 529408};
static const int64_t at_754176[2] = {754176, 555008}, at_713216[2] = {713216, 530432};
static const int64_t at_795136[2] = {795136, 579584}, at_2852352[2] = {2852352, 1814016};
static const int64_t at_3036416[2] = {3036416, 1925888}, at_3037184[2] = {3037184, 1926400};
static const int64_t at_1450496[2] = {1450496, 972800}, at_2074112[2] = {2074112, 1347072};
static const int64_t at_1869312[2] = {1869312, 1224192}, at_2196992[2] = {2196992, 1420800};
static const int64_t at_1992192[2] = {1992192, 1297920}, at_2319872[2] = {2319872, 1494528};
static const int64_t at_2115072[2] = {2115072, 1371648}, at_2237952[2] = {2237952, 1445376};
static const int64_t at_3016192[2] = {3016192, 1912320}, at_2360832[2] = {2360832, 1519104};
static const int64_t at_2688512[2] = {2688512, 1715712}, at_2483712[2] = {2483712, 1592832};
static const int64_t at_3023872[2] = {3023872, 1918976}, at_3026176[2] = {3026176, 1920512};
static const int64_t at_2606592[2] = {2606592, 1666560}, at_1081856[2] = {1081856, 751616};
static const int64_t at_1573376[2] = {1573376, 1046528}, at_2729472[2] = {2729472, 1740288};
static const int64_t at_3028480[2] = {3028480, 1922048}, at_3030784[2] = {3030784, 1923584};
static const int64_t at_2893312[2] = {2893312, 1838592}, at_2934272[2] = {2934272, 1863168};
static const int64_t at_3037952[2] = {3037952, 1926912}, at_3038720[2] = {3038720, 1927424};
static const int64_t at_2975232[2] = {2975232, 1887744}, at_1614336[2] = {1614336, 1071104};
static const int64_t at_3039488[2] = {3039488, 1927936}, at_3040256[2] = {3040256, 1928448};
static const int64_t at_1743872[2] = {1743872, 1149696}, at_3035136[2] = {3035136, 1925120};
static const int64_t at_3041024[2] = {3041024, 1928960}, at_3035392[2] = {3035392, 1925376};
static const int64_t at_3041280[2] = {3041280, 1929216}, at_1655296[2] = {1655296, 1095680};
static const int64_t at_1696256[2] = {1696256, 1120256}, at_1327616[2] = {1327616, 899072};
static const int64_t at_958976[2] = {958976, 677888}, at_2811392[2] = {2811392, 1789440};
static const int64_t at_3030016[2] = {3030016, 1923072}, at_3032320[2] = {3032320, 1924608};
static const int64_t at_2565632[2] = {2565632, 1641984}, at_2442752[2] = {2442752, 1568256};
static const int64_t at_1951232[2] = {1951232, 1273344}, at_3035136_2[2] = {3035136, 1918976};
static const int64_t at_2893312_2[2] = {2893312, 1919488}, at_773120[2] = {773120, 572416};
static const int64_t at_781312[2] = {781312, 580608}, at_743168[2] = {743168, 551424};

// Bytes from one block's buffer to the next one's.
static const int64_t by_40960[2] = {40960, 24576}, by_16384[2] = {16384, 16384};
static const int64_t by_256[2] = {256, 256}, by_2560[2] = {2560, 1536}, by_768[2] = {768, 512};
static const int64_t by_122880[2] = {122880, 73728}, by_49152[2] = {49152, 49152};
static const int64_t by_768_2[2] = {768, 768}, by_4096[2] = {4096, 4096};
static const int64_t by_28672[2] = {28672, 28672}, by_32768[2] = {32768, 32768};
static const int64_t by_12288[2] = {12288, 12288}, by_8192[2] = {8192, 8192};
static const int64_t by_9472[2] = {9472, 6912}, by_32768_2[2] = {32768, 16384};
static const int64_t by_28416[2] = {28416, 20736};

static const int64_t local_bytes[2] = {3041536, 1929472}, sym_bytes = 1765376;

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
    // y = softmax(a b') c    [8@rows 4 32 16]    0.0283 ms
    op_sdpa(r, b->attention_self_sdpa, b->attention_self_sdpa_lse, b->attention_self_transpose,
            b->attention_self_transpose_2, b->attention_self_transpose_3, NULL, false, 0.25, 0, 0);
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
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0171 ms
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
    // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.0182 ms
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
    // + -> dim 0 @cut_64    [64@cut_64 64]    16.0 KiB    0.00974 ms
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
                NULL, false, 0.25, 0, 0); // y, y1, y2 = dq, dk, dv    [8@rows 4 32 16]    0.0693 ms
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

// One of the 3 blocks encoder_layer, update: 0.0937 ms of computation.
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
    // whole -> dim 0 @cut_64    [64@cut_64 64]    0.00218 ms
    hap_cut(r, b->attention_output_dense_weight_cut, b->attention_output_dense_weight);
    hap_wait(r, *b->attention_output_dense_dw_cut_ready); // 0.00974 ms hidden
    op_adam(r, b->attention_output_dense_weight_cut, b->attention_output_dense_weight_exp_avg,
            b->attention_output_dense_weight_exp_avg_sq, b->attention_output_dense_dw_cut, NULL, 1,
            0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [64@cut_64 64]    0.00618 ms
    // dim 0 @cut_64 -> whole    [64 64]    16.0 KiB    0.00737 ms
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
    // whole -> dim 0 @cut_192    [192@cut_192 64]    0.0051 ms
    hap_cut(r, b->t_intermediate_dense_weight_cut, b->t_intermediate_dense_weight);
    hap_wait(r, *b->t_intermediate_dense_dw_cut_ready); // 0.0182 ms hidden
    op_adam(r, b->t_intermediate_dense_weight_cut, b->t_intermediate_dense_weight_exp_avg,
            b->t_intermediate_dense_weight_exp_avg_sq, b->t_intermediate_dense_dw_cut, NULL, 1, 0.9,
            0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0189 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.0132 ms
    *b->t_intermediate_dense_weight_ready =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->t_intermediate_dense_weight,
                              &b->t_intermediate_dense_weight_cut, NULL);
    op_adam(r, b->t_intermediate_dense_bias, b->t_intermediate_dense_bias_exp_avg,
            b->t_intermediate_dense_bias_exp_avg_sq, b->t_intermediate_dense_db_all, NULL, 1, 0.9,
            0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [192]    0.00156 ms
    hap_cut(r, b->output_dense_weight_cut, b->output_dense_weight); // [64@cut_64 192]    0.00455 ms
    hap_wait(r, *b->output_dense_dw_cut_ready);                     // 0.0171 ms hidden
    op_adam(r, b->output_dense_weight_cut, b->output_dense_weight_exp_avg,
            b->output_dense_weight_exp_avg_sq, b->output_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0165 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0121 ms
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
    hap_wait(r, *b->attention_output_dense_weight_ready); // 0.00737 ms hidden
    hap_wait(r, *b->t_intermediate_dense_weight_ready);   // 0.0132 ms hidden
    hap_wait(r, *b->output_dense_weight_ready);           // 0.0121 ms hidden
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
    const hap_dim scratch_2368[] = {WHOLE(2368)};
    const hap_dim of_8_32_64[] = {WHOLE(8), WHOLE(32), WHOLE(64)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_3033088, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1741824, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *embeddings_word_embeddings_weight =
        hap_at(r, SEG_SYM, at_491520, HAP_F32, 2, of_199_64);
    hap_param(r, "bert.embeddings.word_embeddings.weight", embeddings_word_embeddings_weight,
              HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_token_type_embeddings_weight =
        hap_at(r, SEG_LOCAL, at_599040, HAP_F32, 2, of_2_64);
    hap_param(r, "bert.embeddings.token_type_embeddings.weight",
              embeddings_token_type_embeddings_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_position_embeddings_weight =
        hap_at(r, SEG_LOCAL, at_599552, HAP_F32, 2, of_32_64);
    hap_param(r, "bert.embeddings.position_embeddings.weight",
              embeddings_position_embeddings_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_LayerNorm_weight = hap_at(r, SEG_LOCAL, at_607744, HAP_F32, 1, of_64);
    hap_param(r, "bert.embeddings.LayerNorm.weight", embeddings_LayerNorm_weight, HAP_FILL(1));
    hap_tensor *embeddings_LayerNorm_bias = hap_at(r, SEG_LOCAL, at_608000, HAP_F32, 1, of_64);
    hap_param(r, "bert.embeddings.LayerNorm.bias", embeddings_LayerNorm_bias, HAP_FILL(0));
    hap_tensor *cls_predictions_transform_dense_weight =
        hap_at(r, SEG_SYM, at_544768, HAP_F32, 2, of_64_64);
    hap_param(r, "cls.predictions.transform.dense.weight", cls_predictions_transform_dense_weight,
              HAP_NORMAL(0, 0.02));
    hap_tensor *cls_predictions_transform_dense_bias =
        hap_at(r, SEG_LOCAL, at_608256, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.dense.bias", cls_predictions_transform_dense_bias,
              HAP_FILL(0));
    hap_tensor *cls_predictions_transform_LayerNorm_weight =
        hap_at(r, SEG_LOCAL, at_608512, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.LayerNorm.weight",
              cls_predictions_transform_LayerNorm_weight, HAP_FILL(1));
    hap_tensor *cls_predictions_transform_LayerNorm_bias =
        hap_at(r, SEG_LOCAL, at_608768, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.LayerNorm.bias",
              cls_predictions_transform_LayerNorm_bias, HAP_FILL(0));
    hap_tensor *cls_predictions_bias = hap_at(r, SEG_LOCAL, at_609024, HAP_F32, 1, of_199);
    hap_param(r, "cls.predictions.bias", cls_predictions_bias, HAP_FILL(0));
    hap_tensor *embeddings_word_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_612352, HAP_F32, 2, vocab_64);
    hap_state(r, "bert.embeddings.word_embeddings.weight.exp_avg",
              embeddings_word_embeddings_weight_exp_avg);
    hap_tensor *embeddings_word_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_642304, HAP_F32, 2, vocab_64);
    hap_state(r, "bert.embeddings.word_embeddings.weight.exp_avg_sq",
              embeddings_word_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_token_type_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_672256, HAP_F32, 2, of_2_64);
    hap_state(r, "bert.embeddings.token_type_embeddings.weight.exp_avg",
              embeddings_token_type_embeddings_weight_exp_avg);
    hap_tensor *embeddings_token_type_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_672768, HAP_F32, 2, of_2_64);
    hap_state(r, "bert.embeddings.token_type_embeddings.weight.exp_avg_sq",
              embeddings_token_type_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_position_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_673280, HAP_F32, 2, of_32_64);
    hap_state(r, "bert.embeddings.position_embeddings.weight.exp_avg",
              embeddings_position_embeddings_weight_exp_avg);
    hap_tensor *embeddings_position_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_681472, HAP_F32, 2, of_32_64);
    hap_state(r, "bert.embeddings.position_embeddings.weight.exp_avg_sq",
              embeddings_position_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_LayerNorm_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_689664, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.weight.exp_avg", embeddings_LayerNorm_weight_exp_avg);
    hap_tensor *embeddings_LayerNorm_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_689920, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.weight.exp_avg_sq",
              embeddings_LayerNorm_weight_exp_avg_sq);
    hap_tensor *embeddings_LayerNorm_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_690176, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.bias.exp_avg", embeddings_LayerNorm_bias_exp_avg);
    hap_tensor *embeddings_LayerNorm_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_690432, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.bias.exp_avg_sq", embeddings_LayerNorm_bias_exp_avg_sq);
    hap_tensor *cls_predictions_transform_dense_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_690688, HAP_F32, 2, cut_64_64);
    hap_state(r, "cls.predictions.transform.dense.weight.exp_avg",
              cls_predictions_transform_dense_weight_exp_avg);
    hap_tensor *cls_predictions_transform_dense_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_700160, HAP_F32, 2, cut_64_64);
    hap_state(r, "cls.predictions.transform.dense.weight.exp_avg_sq",
              cls_predictions_transform_dense_weight_exp_avg_sq);
    hap_tensor *cls_predictions_transform_dense_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_709632, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.dense.bias.exp_avg",
              cls_predictions_transform_dense_bias_exp_avg);
    hap_tensor *cls_predictions_transform_dense_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_709888, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.dense.bias.exp_avg_sq",
              cls_predictions_transform_dense_bias_exp_avg_sq);
    hap_tensor *cls_predictions_transform_LayerNorm_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_710144, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.weight.exp_avg",
              cls_predictions_transform_LayerNorm_weight_exp_avg);
    hap_tensor *cls_predictions_transform_LayerNorm_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_710400, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.weight.exp_avg_sq",
              cls_predictions_transform_LayerNorm_weight_exp_avg_sq);
    hap_tensor *cls_predictions_transform_LayerNorm_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_710656, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.bias.exp_avg",
              cls_predictions_transform_LayerNorm_bias_exp_avg);
    hap_tensor *cls_predictions_transform_LayerNorm_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_710912, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.bias.exp_avg_sq",
              cls_predictions_transform_LayerNorm_bias_exp_avg_sq);
    hap_tensor *cls_predictions_bias_exp_avg = hap_at(r, SEG_LOCAL, at_711168, HAP_F32, 1, of_199);
    hap_state(r, "cls.predictions.bias.exp_avg", cls_predictions_bias_exp_avg);
    hap_tensor *cls_predictions_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_712192, HAP_F32, 1, of_199);
    hap_state(r, "cls.predictions.bias.exp_avg_sq", cls_predictions_bias_exp_avg_sq);

    // Constants.
    hap_tensor *embeddings_token_type_embeddings_const =
        hap_at(r, SEG_LOCAL, at_610048, HAP_I64, 2, of_8_32);
    hap_const(r, "bert.embeddings.token_type_embeddings.const",
              embeddings_token_type_embeddings_const, HAP_FILL(0));
    hap_tensor *embeddings_position_embeddings_const =
        hap_at(r, SEG_LOCAL, at_612096, HAP_I64, 2, of_1_32);
    hap_const(r, "bert.embeddings.position_embeddings.const", embeddings_position_embeddings_const,
              HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_754176, HAP_I64, 2, rows_32);
    hap_tensor *embeddings_word_embeddings =
        hap_at(r, SEG_LOCAL, at_713216, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_token_type_embeddings_const_cut =
        hap_at(r, SEG_LOCAL, at_754176, HAP_I64, 2, rows_32);
    hap_tensor *embeddings_token_type_embeddings =
        hap_at(r, SEG_LOCAL, at_795136, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_add = hap_at(r, SEG_LOCAL, at_754176, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_position_embeddings =
        hap_at(r, SEG_LOCAL, at_713216, HAP_F32, 3, of_1_32_64);
    hap_tensor *embeddings_add_2 = hap_at(r, SEG_LOCAL, at_2852352, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_LayerNorm_sum = hap_at(r, SEG_LOCAL, at_3036416, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_m2 = hap_at(r, SEG_LOCAL, at_3037184, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_dense =
        hap_at(r, SEG_LOCAL, at_2893312, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_transform_act_fn =
        hap_at(r, SEG_LOCAL, at_2934272, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_LayerNorm_sum =
        hap_at(r, SEG_LOCAL, at_3037952, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_m2 =
        hap_at(r, SEG_LOCAL, at_3038720, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm =
        hap_at(r, SEG_LOCAL, at_2975232, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_decoder = hap_at(r, SEG_LOCAL, at_1614336, HAP_F32, 3, rows_32_199);
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_3039488, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_3040256, HAP_F32, 2, rows_32);
    hap_tensor *labels_cut = hap_at(r, SEG_LOCAL, at_1743872, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_3035136, HAP_F32, 2, rows_32);
    hap_tensor *labels_cut_2 = hap_at(r, SEG_LOCAL, at_1743872, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_561152, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_561152, HAP_F32, 0, NULL);   // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_3035136, HAP_F32, 0, NULL);     // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_3041024, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_3035392, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_3041280, HAP_F32, 0, NULL);   // []
    hap_tensor *labels_cut_3 = hap_at(r, SEG_LOCAL, at_3035136, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1741824, HAP_F32, 3, rows_32_199);
    hap_tensor *cls_predictions_decoder_dx =
        hap_at(r, SEG_LOCAL, at_1614336, HAP_F32, 3, rows_32_64);
    // [199 64]+
    hap_tensor *cls_predictions_decoder_dw = hap_at(r, SEG_SYM, at_1146880, HAP_F32, 2, of_199_64);
    hap_tensor *cls_predictions_decoder_dw_cut =
        hap_at(r, SEG_SYM, at_1470464, HAP_F32, 2, vocab_64);
    // [199]+
    hap_tensor *cls_predictions_decoder_db = hap_at(r, SEG_SYM, at_1740800, HAP_F32, 1, of_199);
    hap_tensor *cls_predictions_decoder_db_all = hap_at(r, SEG_SYM, at_1740800, HAP_F32, 1, of_199);
    hap_tensor *cls_predictions_transform_LayerNorm_stats =
        hap_at(r, SEG_LOCAL, at_3035136, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_stats_1 =
        hap_at(r, SEG_LOCAL, at_1655296, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_dx =
        hap_at(r, SEG_LOCAL, at_1696256, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_LayerNorm_dw =
        hap_at(r, SEG_SYM, at_1748992, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_LayerNorm_dw_1 =
        hap_at(r, SEG_SYM, at_1744896, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_LayerNorm_dw_all =
        hap_at(r, SEG_SYM, at_1748992, HAP_F32, 1, of_64);
    hap_tensor *cls_predictions_transform_LayerNorm_dw_1_all =
        hap_at(r, SEG_SYM, at_1744896, HAP_F32, 1, of_64);
    hap_tensor *cls_predictions_transform_transform_act_fn_dx =
        hap_at(r, SEG_LOCAL, at_1655296, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_dense_dw =
        hap_at(r, SEG_SYM, at_1576960, HAP_F32, 2, of_64_64); // [64 64]+
    hap_tensor *cls_predictions_transform_dense_dw_cut =
        hap_at(r, SEG_SYM, at_1593344, HAP_F32, 2, cut_64_64);
    hap_tensor *cls_predictions_transform_dense_db =
        hap_at(r, SEG_SYM, at_1753088, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_dense_db_all =
        hap_at(r, SEG_SYM, at_1753088, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_stats =
        hap_at(r, SEG_LOCAL, at_3035136_2, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_stats_1 =
        hap_at(r, SEG_LOCAL, at_2893312_2, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_dx = hap_at(r, SEG_SYM, at_954368, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_LayerNorm_dx_all =
        hap_at(r, SEG_SYM, at_1081344, HAP_F32, 3, of_8_32_64);
    // [64]+
    hap_tensor *embeddings_LayerNorm_dw = hap_at(r, SEG_SYM, at_1761280, HAP_F32, 1, of_64);
    // [64]+
    hap_tensor *embeddings_LayerNorm_dw_1 = hap_at(r, SEG_SYM, at_1757184, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_dw_all = hap_at(r, SEG_SYM, at_1761280, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_dw_1_all = hap_at(r, SEG_SYM, at_1757184, HAP_F32, 1, of_64);
    hap_tensor *embeddings_add_2_fold1 = hap_at(r, SEG_LOCAL, at_713216, HAP_F32, 3, of_1_32_64);
    hap_tensor *embeddings_position_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_773120, HAP_F32, 2, of_32_64);
    hap_tensor *embeddings_token_type_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_781312, HAP_F32, 2, of_2_64);
    hap_tensor *embeddings_word_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_713216, HAP_F32, 2, vocab_64);
    hap_tensor *embeddings_word_embeddings_sum =
        hap_at(r, SEG_LOCAL, at_743168, HAP_F32, 2, vocab_64);
    hap_tensor *embeddings_word_embeddings_weight_cut =
        hap_at(r, SEG_SYM, at_1118208, HAP_F32, 2, vocab_64);
    hap_tensor *cls_predictions_transform_dense_weight_cut =
        hap_at(r, SEG_SYM, at_1052672, HAP_F32, 2, cut_64_64);

    // Scratch of collectives.
    hap_tensor *cls_predictions_transform_dense_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_1605632, HAP_F32, 1, scratch_2368);

    hap_tensor *encoder_layer_2_output_LayerNorm_2[4], *cls_predictions_transform_dense_dx_2[4];
    for (int i = 0; i < 4; i++) {
        encoder_layer_2_output_LayerNorm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1450496, by_40960, i, HAP_F32, 3, rows_32_64);
        cls_predictions_transform_dense_dx_2[i] =
            hap_at(r, SEG_LOCAL, at_1614336, HAP_F32, 3, rows_32_64);
    }

    for (int i = 0; i < 3; i++) {
        encoder_layer_block *b = &encoder_layer[i];
        b->attention_self_query = hap_at(r, SEG_LOCAL, at_2074112, HAP_F32, 3, rows_32_64);
        b->attention_self_query_weight =
            hap_at_layer(r, SEG_SYM, at_0, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.weight"),
                  b->attention_self_query_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_query_bias =
            hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.bias"),
                  b->attention_self_query_bias, HAP_FILL(0));
        b->attention_self_reshape = hap_at(r, SEG_LOCAL, at_2074112, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose =
            hap_at_layer(r, SEG_LOCAL, at_1869312, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_key = hap_at(r, SEG_LOCAL, at_2196992, HAP_F32, 3, rows_32_64);
        b->attention_self_key_weight =
            hap_at_layer(r, SEG_SYM, at_49152, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.weight"),
                  b->attention_self_key_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_key_bias =
            hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.bias"),
                  b->attention_self_key_bias, HAP_FILL(0));
        b->attention_self_reshape_2 = hap_at(r, SEG_LOCAL, at_2196992, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_1992192, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_value = hap_at(r, SEG_LOCAL, at_2319872, HAP_F32, 3, rows_32_64);
        b->attention_self_value_weight =
            hap_at_layer(r, SEG_SYM, at_98304, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.weight"),
                  b->attention_self_value_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_value_bias =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.bias"),
                  b->attention_self_value_bias, HAP_FILL(0));
        b->attention_self_reshape_3 = hap_at(r, SEG_LOCAL, at_2319872, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_2115072, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_2237952, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_3016192, by_2560, i, HAP_F32, 3, rows_4_32);
        b->attention_self_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_2360832, by_40960, i, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_2360832, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_dense = hap_at(r, SEG_LOCAL, at_2688512, HAP_F32, 3, rows_32_64);
        b->attention_output_dense_weight =
            hap_at_layer(r, SEG_SYM, at_147456, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight"),
                  b->attention_output_dense_weight, HAP_NORMAL(0, 0.02));
        b->attention_output_dense_bias =
            hap_at_layer(r, SEG_LOCAL, at_2304, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias"),
                  b->attention_output_dense_bias, HAP_FILL(0));
        b->attention_output_add =
            hap_at_layer(r, SEG_LOCAL, at_2483712, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_sum =
            hap_at_layer(r, SEG_LOCAL, at_3023872, by_768, i, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_m2 =
            hap_at_layer(r, SEG_LOCAL, at_3026176, by_768, i, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm =
            hap_at_layer(r, SEG_LOCAL, at_2606592, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_weight =
            hap_at_layer(r, SEG_LOCAL, at_3072, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight"),
                  b->attention_output_LayerNorm_weight, HAP_FILL(1));
        b->attention_output_LayerNorm_bias =
            hap_at_layer(r, SEG_LOCAL, at_3840, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias"),
                  b->attention_output_LayerNorm_bias, HAP_FILL(0));
        b->t_intermediate_dense =
            hap_at_layer(r, SEG_LOCAL, at_713216, by_122880, i, HAP_F32, 3, rows_32_192);
        b->t_intermediate_dense_weight =
            hap_at_layer(r, SEG_SYM, at_196608, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight"),
                  b->t_intermediate_dense_weight, HAP_NORMAL(0, 0.02));
        b->t_intermediate_dense_bias =
            hap_at_layer(r, SEG_LOCAL, at_4608, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias"),
                  b->t_intermediate_dense_bias, HAP_FILL(0));
        b->t_intermediate_intermediate_act_fn =
            hap_at_layer(r, SEG_LOCAL, at_1081856, by_122880, i, HAP_F32, 3, rows_32_192);
        b->output_dense = hap_at(r, SEG_LOCAL, at_1573376, HAP_F32, 3, rows_32_64);
        b->output_dense_weight =
            hap_at_layer(r, SEG_SYM, at_344064, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight"),
                  b->output_dense_weight, HAP_NORMAL(0, 0.02));
        b->output_dense_bias = hap_at_layer(r, SEG_LOCAL, at_6912, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias"), b->output_dense_bias,
                  HAP_FILL(0));
        b->output_add = hap_at_layer(r, SEG_LOCAL, at_2729472, by_40960, i, HAP_F32, 3, rows_32_64);
        b->output_LayerNorm_sum =
            hap_at_layer(r, SEG_LOCAL, at_3028480, by_768, i, HAP_F32, 2, rows_32);
        b->output_LayerNorm_m2 =
            hap_at_layer(r, SEG_LOCAL, at_3030784, by_768, i, HAP_F32, 2, rows_32);
        b->output_LayerNorm_weight =
            hap_at_layer(r, SEG_LOCAL, at_7680, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight"),
                  b->output_LayerNorm_weight, HAP_FILL(1));
        b->output_LayerNorm_bias =
            hap_at_layer(r, SEG_LOCAL, at_8448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias"),
                  b->output_LayerNorm_bias, HAP_FILL(0));
        b->output_LayerNorm_stats = hap_at(r, SEG_LOCAL, at_3035136, HAP_F32, 2, rows_32);
        b->output_LayerNorm_stats_1 = hap_at(r, SEG_LOCAL, at_1573376, HAP_F32, 2, rows_32);
        b->output_LayerNorm_dx = hap_at(r, SEG_LOCAL, at_1696256, HAP_F32, 3, rows_32_64);
        b->output_LayerNorm_dw =
            hap_at_layer(r, SEG_SYM, at_1630208, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->output_LayerNorm_dw_1 =
            hap_at_layer(r, SEG_SYM, at_1617920, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->output_dense_dx = hap_at(r, SEG_LOCAL, at_1573376, HAP_F32, 3, rows_32_192);
        b->output_dense_dw =
            hap_at_layer(r, SEG_SYM, at_561152, by_49152, i, HAP_F32, 2, of_64_192); // [64 192]+
        b->output_dense_dw_cut =
            hap_at_layer(r, SEG_SYM, at_995328, by_28672, i, HAP_F32, 2, cut_64_192);
        // [64]+
        b->output_dense_db = hap_at_layer(r, SEG_SYM, at_1642496, by_4096, i, HAP_F32, 1, of_64);
        b->t_intermediate_intermediate_act_fn_dx =
            hap_at(r, SEG_LOCAL, at_1327616, HAP_F32, 3, rows_32_192);
        b->t_intermediate_dense_dx = hap_at(r, SEG_LOCAL, at_958976, HAP_F32, 3, rows_32_64);
        b->t_intermediate_dense_sum = hap_at(r, SEG_LOCAL, at_2811392, HAP_F32, 3, rows_32_64);
        b->t_intermediate_dense_dw =
            hap_at_layer(r, SEG_SYM, at_708608, by_49152, i, HAP_F32, 2, of_192_64); // [192 64]+
        b->t_intermediate_dense_dw_cut =
            hap_at_layer(r, SEG_SYM, at_856064, by_32768, i, HAP_F32, 2, cut_192_64);
        b->t_intermediate_dense_db =
            hap_at_layer(r, SEG_SYM, at_1654784, by_4096, i, HAP_F32, 1, of_192); // [192]+
        b->attention_output_LayerNorm_stats = hap_at(r, SEG_LOCAL, at_3030016, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_stats_1 =
            hap_at(r, SEG_LOCAL, at_3032320, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_dx = hap_at(r, SEG_LOCAL, at_2688512, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_dw =
            hap_at_layer(r, SEG_SYM, at_1679360, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_output_LayerNorm_dw_1 =
            hap_at_layer(r, SEG_SYM, at_1667072, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_output_dense_dx = hap_at(r, SEG_LOCAL, at_2565632, HAP_F32, 3, rows_32_64);
        b->attention_output_dense_dw =
            hap_at_layer(r, SEG_SYM, at_1200128, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_output_dense_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1396736, by_12288, i, HAP_F32, 2, cut_64_64);
        b->attention_output_dense_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1433600, by_12288, i, HAP_F32, 1, scratch_2368);
        b->attention_output_dense_db =
            hap_at_layer(r, SEG_SYM, at_1691648, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_reshape_4_dx = hap_at(r, SEG_LOCAL, at_2565632, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_4_dx =
            hap_at(r, SEG_LOCAL, at_2811392, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_2442752, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_2565632, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_958976, HAP_F32, 4, rows_4_32_16);
        b->attention_self_transpose_3_dx =
            hap_at(r, SEG_LOCAL, at_2074112, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_3_dx = hap_at(r, SEG_LOCAL, at_2074112, HAP_F32, 3, rows_32_64);
        b->attention_self_value_dx = hap_at(r, SEG_LOCAL, at_2196992, HAP_F32, 3, rows_32_64);
        b->attention_self_value_sum = hap_at(r, SEG_LOCAL, at_1951232, HAP_F32, 3, rows_32_64);
        b->attention_self_value_dw =
            hap_at_layer(r, SEG_SYM, at_1249280, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_value_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1503232, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_value_db =
            hap_at_layer(r, SEG_SYM, at_1703936, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_transpose_2_dx =
            hap_at(r, SEG_LOCAL, at_2074112, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_2_dx = hap_at(r, SEG_LOCAL, at_2074112, HAP_F32, 3, rows_32_64);
        b->attention_self_key_dx = hap_at(r, SEG_LOCAL, at_2196992, HAP_F32, 3, rows_32_64);
        b->attention_self_key_sum = hap_at(r, SEG_LOCAL, at_1573376, HAP_F32, 3, rows_32_64);
        b->attention_self_key_dw =
            hap_at_layer(r, SEG_SYM, at_1298432, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_key_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1527808, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_key_db =
            hap_at_layer(r, SEG_SYM, at_1716224, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_transpose_dx = hap_at(r, SEG_LOCAL, at_1951232, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_dx = hap_at(r, SEG_LOCAL, at_1951232, HAP_F32, 3, rows_32_64);
        b->attention_self_query_dx = hap_at(r, SEG_LOCAL, at_2074112, HAP_F32, 3, rows_32_64);
        b->attention_self_query_dw =
            hap_at_layer(r, SEG_SYM, at_1347584, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_query_dw_cut =
            hap_at_layer(r, SEG_SYM, at_1552384, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_query_db =
            hap_at_layer(r, SEG_SYM, at_1728512, by_4096, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_query_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1150976, by_8192, i, HAP_F32, 2, heads_64);
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
            hap_at_layer(r, SEG_SYM, at_1728512, by_4096, i, HAP_F32, 1, of_64);
        b->attention_self_key_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1175552, by_8192, i, HAP_F32, 2, heads_64);
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
            hap_at_layer(r, SEG_SYM, at_1716224, by_4096, i, HAP_F32, 1, of_64);
        b->attention_self_value_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1298432, by_8192, i, HAP_F32, 2, heads_64);
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
            hap_at_layer(r, SEG_SYM, at_1703936, by_4096, i, HAP_F32, 1, of_64);
        b->attention_output_dense_weight_cut =
            hap_at_layer(r, SEG_SYM, at_1081344, by_12288, i, HAP_F32, 2, cut_64_64);
        b->attention_output_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_161280, by_9472, i, HAP_F32, 2, cut_64_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight.exp_avg"),
                  b->attention_output_dense_weight_exp_avg);
        b->attention_output_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_189696, by_9472, i, HAP_F32, 2, cut_64_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight.exp_avg_sq"),
                  b->attention_output_dense_weight_exp_avg_sq);
        b->attention_output_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_218112, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias.exp_avg"),
                  b->attention_output_dense_bias_exp_avg);
        b->attention_output_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_218880, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias.exp_avg_sq"),
                  b->attention_output_dense_bias_exp_avg_sq);
        b->attention_output_dense_db_all =
            hap_at_layer(r, SEG_SYM, at_1691648, by_4096, i, HAP_F32, 1, of_64);
        b->attention_output_LayerNorm_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_219648, by_256, i, HAP_F32, 1, of_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight.exp_avg"),
                  b->attention_output_LayerNorm_weight_exp_avg);
        b->attention_output_LayerNorm_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_220416, by_256, i, HAP_F32, 1, of_64);
        hap_state(
            r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight.exp_avg_sq"),
            b->attention_output_LayerNorm_weight_exp_avg_sq);
        b->attention_output_LayerNorm_dw_all =
            hap_at_layer(r, SEG_SYM, at_1679360, by_4096, i, HAP_F32, 1, of_64);
        b->attention_output_LayerNorm_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_221184, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias.exp_avg"),
                  b->attention_output_LayerNorm_bias_exp_avg);
        b->attention_output_LayerNorm_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_221952, by_256, i, HAP_F32, 1, of_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias.exp_avg_sq"),
                  b->attention_output_LayerNorm_bias_exp_avg_sq);
        b->attention_output_LayerNorm_dw_1_all =
            hap_at_layer(r, SEG_SYM, at_1667072, by_4096, i, HAP_F32, 1, of_64);
        b->t_intermediate_dense_weight_cut =
            hap_at_layer(r, SEG_SYM, at_954368, by_32768, i, HAP_F32, 2, cut_192_64);
        b->t_intermediate_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_222720, by_32768_2, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight.exp_avg"),
                  b->t_intermediate_dense_weight_exp_avg);
        b->t_intermediate_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_321024, by_32768_2, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight.exp_avg_sq"),
                  b->t_intermediate_dense_weight_exp_avg_sq);
        b->t_intermediate_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_419328, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias.exp_avg"),
                  b->t_intermediate_dense_bias_exp_avg);
        b->t_intermediate_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_421632, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias.exp_avg_sq"),
                  b->t_intermediate_dense_bias_exp_avg_sq);
        b->t_intermediate_dense_db_all =
            hap_at_layer(r, SEG_SYM, at_1654784, by_4096, i, HAP_F32, 1, of_192);
        b->output_dense_weight_cut =
            hap_at_layer(r, SEG_SYM, at_708608, by_28672, i, HAP_F32, 2, cut_64_192);
        b->output_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_423936, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight.exp_avg"),
                  b->output_dense_weight_exp_avg);
        b->output_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_509184, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight.exp_avg_sq"),
                  b->output_dense_weight_exp_avg_sq);
        b->output_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_594432, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias.exp_avg"),
                  b->output_dense_bias_exp_avg);
        b->output_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_595200, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias.exp_avg_sq"),
                  b->output_dense_bias_exp_avg_sq);
        b->output_dense_db_all =
            hap_at_layer(r, SEG_SYM, at_1642496, by_4096, i, HAP_F32, 1, of_64);
        b->output_LayerNorm_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_595968, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight.exp_avg"),
                  b->output_LayerNorm_weight_exp_avg);
        b->output_LayerNorm_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_596736, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight.exp_avg_sq"),
                  b->output_LayerNorm_weight_exp_avg_sq);
        b->output_LayerNorm_dw_all =
            hap_at_layer(r, SEG_SYM, at_1630208, by_4096, i, HAP_F32, 1, of_64);
        b->output_LayerNorm_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_597504, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias.exp_avg"),
                  b->output_LayerNorm_bias_exp_avg);
        b->output_LayerNorm_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_598272, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias.exp_avg_sq"),
                  b->output_LayerNorm_bias_exp_avg_sq);
        b->output_LayerNorm_dw_1_all =
            hap_at_layer(r, SEG_SYM, at_1617920, by_4096, i, HAP_F32, 1, of_64);
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
        // + -> dim 0 @vocab    [199@vocab 64]    49.8 KiB    0.0175 ms
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
        // + -> dim 0 @cut_64    [64@cut_64 64]    16.0 KiB    0.00974 ms
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
                         199);                         // y[b] += a    [199@vocab 64]    0.0102 ms
        hap_wait(r, e_cls_predictions_decoder_dw_cut); // 0.0175 ms hidden
        op_add(r, embeddings_word_embeddings_sum, cls_predictions_decoder_dw_cut,
               embeddings_word_embeddings_dw); // y = a + b    [199@vocab 64]    0.00802 ms

        // update
        // whole -> dim 0 @vocab    [199@vocab 64]    0.00474 ms
        hap_cut(r, embeddings_word_embeddings_weight_cut, embeddings_word_embeddings_weight);
        op_adam(r, embeddings_word_embeddings_weight_cut, embeddings_word_embeddings_weight_exp_avg,
                embeddings_word_embeddings_weight_exp_avg_sq, embeddings_word_embeddings_sum, NULL,
                1, 0.9, 0.95, 1e-08, 0.1, true); // [199@vocab 64]    0.0174 ms
        // dim 0 @vocab -> whole    [199 64]    49.8 KiB    0.0125 ms
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
                cls_predictions_transform_dense_weight);       // [64@cut_64 64]    0.00218 ms
        hap_wait(r, e_cls_predictions_transform_dense_dw_cut); // 0.00974 ms hidden
        // a -= lr b / sqrt c    [64@cut_64 64]    0.00618 ms
        op_adam(r, cls_predictions_transform_dense_weight_cut,
                cls_predictions_transform_dense_weight_exp_avg,
                cls_predictions_transform_dense_weight_exp_avg_sq,
                cls_predictions_transform_dense_dw_cut, NULL, 1, 0.9, 0.95, 1e-08, 0.1, true);
        // dim 0 @cut_64 -> whole    [64 64]    16.0 KiB    0.00737 ms
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
        hap_wait(r, e_embeddings_word_embeddings_weight); // 0.0125 ms hidden

        for (int i = 0; i < 3; i++)
            encoder_layer_update_2(r, &encoder_layer[i]);
        hap_wait(r, e_cls_predictions_transform_dense_weight); // 0.0044 ms hidden
    }
    return hap_finish(r);
}
