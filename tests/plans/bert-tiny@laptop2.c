// program.c: one training step of bert-tiny on 2 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/bert-tiny/graph.json clusters/laptop2.yaml -o bert-tiny@laptop2 -q
//
//   classes     cpu4 {0}  cpu3 {1}
//   predicted   4.58 ms/step = 4.53 ms compute and idle + 0.443 ms communication - 0.395 ms hidden;
//               bound 3.99 ms; by datasheet formulas
//   memory      3.45 MiB / 2.47 MiB    graph 5ffbb2b756fd80f4    cluster 8851bf650c8a0795
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.625 0.375 over axis 0 (compute).
static const int64_t rows[2] = {5, 3};

// 199 cut 0.769 0.231 over axis 0 (compute).
static const int64_t vocab[2] = {153, 46};

// 64 cut 0.578 0.422 over axis 0 (compute).
static const int64_t cut_64[2] = {37, 27};

// 4 cut 0.500 0.500 over axis 0 (compute).
static const int64_t heads[2] = {2, 2};

// 192 cut 0.573 0.427 over axis 0 (compute).
static const int64_t cut_192[2] = {110, 82};

// Byte offsets in the local segment, by class {cpu4, cpu3}.
static const int64_t at_3584512[2] = {3584512, 2454528}, at_2291456[2] = {2291456, 1764864};
static const int64_t at_1062912[2] = {1062912, 958464}, at_1113856[2] = {1113856, 1009408};
static const int64_t at_1114368[2] = {1114368, 1009920}, at_1122560[2] = {1122560, 1018112};
static const int64_t at_1122816[2] = {1122816, 1018368}, at_0[2] = {0, 0};
static const int64_t at_49152[2] = {49152, 49152}, at_49920[2] = {49920, 49920};
static const int64_t at_99072[2] = {99072, 99072}, at_99840[2] = {99840, 99840};
static const int64_t at_148992[2] = {148992, 148992}, at_149760[2] = {149760, 149760};
static const int64_t at_198912[2] = {198912, 198912}, at_199680[2] = {199680, 199680};
static const int64_t at_200448[2] = {200448, 200448}, at_201216[2] = {201216, 201216};
static const int64_t at_348672[2] = {348672, 348672}, at_350976[2] = {350976, 350976};
static const int64_t at_498432[2] = {498432, 498432}, at_499200[2] = {499200, 499200};
static const int64_t at_499968[2] = {499968, 499968}, at_1123072[2] = {1123072, 1018624};
static const int64_t at_1139456[2] = {1139456, 1035008}, at_1139712[2] = {1139712, 1035264};
static const int64_t at_1139968[2] = {1139968, 1035520}, at_1140224[2] = {1140224, 1035776};
static const int64_t at_1141248[2] = {1141248, 1036800}, at_1143296[2] = {1143296, 1038848};
static const int64_t at_1143552[2] = {1143552, 1039104}, at_1182720[2] = {1182720, 1050880};
static const int64_t at_1221888[2] = {1221888, 1062656}, at_1222400[2] = {1222400, 1063168};
static const int64_t at_1222912[2] = {1222912, 1063680}, at_1231104[2] = {1231104, 1071872};
static const int64_t at_1239296[2] = {1239296, 1080064}, at_1239552[2] = {1239552, 1080320};
static const int64_t at_1239808[2] = {1239808, 1080576}, at_1240064[2] = {1240064, 1080832};
static const int64_t at_500736[2] = {500736, 500736}, at_525312[2] = {525312, 525312};
static const int64_t at_549888[2] = {549888, 549888}, at_550656[2] = {550656, 550656};
static const int64_t at_551424[2] = {551424, 551424}, at_576000[2] = {576000, 576000};
static const int64_t at_600576[2] = {600576, 600576}, at_601344[2] = {601344, 601344};
static const int64_t at_602112[2] = {602112, 602112}, at_626688[2] = {626688, 626688};
static const int64_t at_651264[2] = {651264, 651264}, at_652032[2] = {652032, 652032};
static const int64_t at_652800[2] = {652800, 652800}, at_681216[2] = {681216, 673536};
static const int64_t at_709632[2] = {709632, 694272}, at_710400[2] = {710400, 695040};
static const int64_t at_711168[2] = {711168, 695808}, at_711936[2] = {711936, 696576};
static const int64_t at_712704[2] = {712704, 697344}, at_713472[2] = {713472, 698112};
static const int64_t at_714240[2] = {714240, 698880}, at_798720[2] = {798720, 761856};
static const int64_t at_883200[2] = {883200, 824832}, at_885504[2] = {885504, 827136};
static const int64_t at_887808[2] = {887808, 829440}, at_973056[2] = {973056, 891648};
static const int64_t at_1058304[2] = {1058304, 953856}, at_1059072[2] = {1059072, 954624};
static const int64_t at_1059840[2] = {1059840, 955392}, at_1060608[2] = {1060608, 956160};
static const int64_t at_1061376[2] = {1061376, 956928}, at_1062144[2] = {1062144, 957696};
static const int64_t at_1240320[2] = {1240320, 1081088}, at_1249792[2] = {1249792, 1088000};
static const int64_t at_1259264[2] = {1259264, 1094912}, at_1259520[2] = {1259520, 1095168};
static const int64_t at_1259776[2] = {1259776, 1095424}, at_1260032[2] = {1260032, 1095680};
static const int64_t at_1260288[2] = {1260288, 1095936}, at_1260544[2] = {1260544, 1096192};
static const int64_t at_1260800[2] = {1260800, 1096448}, at_1261824[2] = {1261824, 1097472};
static const int64_t at_1262848[2] = {1262848, 1098496}, at_2789376[2] = {2789376, 2508544};
static const int64_t at_1303808[2] = {1303808, 1123072}, at_3586560[2] = {3586560, 2507520};
static const int64_t at_3587328[2] = {3587328, 2508032}, at_2000128[2] = {2000128, 1590016};
static const int64_t at_1508608[2] = {1508608, 1245952}, at_2418944[2] = {2418944, 1841408};
static const int64_t at_2541824[2] = {2541824, 1915136}, at_2666240[2] = {2666240, 1988864};
static const int64_t at_2830336[2] = {2830336, 2062592}, at_3567616[2] = {3567616, 2449920};
static const int64_t at_3035136[2] = {3035136, 2136320}, at_3198976[2] = {3198976, 2210048};
static const int64_t at_3575296[2] = {3575296, 2582272}, at_3577600[2] = {3577600, 2583808};
static const int64_t at_3321856[2] = {3321856, 2283776}, at_1631488[2] = {1631488, 1319680};
static const int64_t at_3444736[2] = {3444736, 2357504}, at_3579904[2] = {3579904, 2585344};
static const int64_t at_3582208[2] = {3582208, 2586880}, at_2953216[2] = {2953216, 1540864};
static const int64_t at_2994176[2] = {2994176, 1565440}, at_2664704[2] = {2664704, 2443008};
static const int64_t at_2665472[2] = {2665472, 2443520}, at_3158016[2] = {3158016, 2533120};
static const int64_t at_2163968[2] = {2163968, 1688320}, at_3589376[2] = {3589376, 2432000};
static const int64_t at_3590144[2] = {3590144, 2432512}, at_2293504[2] = {2293504, 1766912};
static const int64_t at_2294784[2] = {2294784, 1767680}, at_2295552[2] = {2295552, 1768192};
static const int64_t at_2789120[2] = {2789120, 2589440}, at_2293760[2] = {2293760, 1767168};
static const int64_t at_3590912[2] = {3590912, 2433024}, at_3588096[2] = {3588096, 2431232};
static const int64_t at_2239488[2] = {2239488, 1688320}, at_2188544[2] = {2188544, 2456576};
static const int64_t at_3158272[2] = {3158272, 2431232}, at_3197440[2] = {3197440, 2588416};
static const int64_t at_2163968_2[2] = {2163968, 1737472}, at_2164736[2] = {2164736, 1737984};
static const int64_t at_2321408[2] = {2321408, 1712896}, at_3158016_2[2] = {3158016, 1838848};
static const int64_t at_2418688[2] = {2418688, 1837824}, at_2280448[2] = {2280448, 1565440};
static const int64_t at_3588096_2[2] = {3588096, 1811200}, at_3022592[2] = {3022592, 2443008};
static const int64_t at_3604480[2] = {3604480, 1828352}, at_2664704_2[2] = {2664704, 1839104};
static const int64_t at_2280448_2[2] = {2280448, 1663744}, at_2281216[2] = {2281216, 1664256};
static const int64_t at_2981632[2] = {2981632, 2557696}, at_3034368[2] = {3034368, 1838080};
static const int64_t at_2664960[2] = {2664960, 1827584}, at_2239488_2[2] = {2239488, 1737472};
static const int64_t at_2041088[2] = {2041088, 1442560}, at_2896384[2] = {2896384, 2365184};
static const int64_t at_3526144[2] = {3526144, 1839360}, at_1877248[2] = {1877248, 1663744};
static const int64_t at_1410304[2] = {1410304, 1147648}, at_2334208[2] = {2334208, 2290944};
static const int64_t at_3032064[2] = {3032064, 2353920}, at_1557760[2] = {1557760, 1295104};
static const int64_t at_1558528[2] = {1558528, 1295616}, at_3404032[2] = {3404032, 2356224};
static const int64_t at_3403264[2] = {3403264, 1840128}, at_1557760_2[2] = {1557760, 2226432};
static const int64_t at_3098112[2] = {3098112, 1295104}, at_3126528[2] = {3126528, 2166528};
static const int64_t at_3154944[2] = {3154944, 2194944}, at_1959168[2] = {1959168, 1737472};
static const int64_t at_1918208[2] = {1918208, 1712896}, at_2280448_3[2] = {2280448, 1762048};
static const int64_t at_2468096[2] = {2468096, 1857792}, at_2517248[2] = {2517248, 2095360};
static const int64_t at_3155712[2] = {3155712, 1906944}, at_2590976[2] = {2590976, 1931520};
static const int64_t at_2640128[2] = {2640128, 2533120}, at_3156480[2] = {3156480, 1907712};
static const int64_t at_2715392[2] = {2715392, 2005248}, at_2764544[2] = {2764544, 1622784};
static const int64_t at_3157248[2] = {3157248, 1647360}, at_1262848_2[2] = {1262848, 1123072};
static const int64_t at_1263616[2] = {1263616, 1123584}, at_1328384[2] = {1328384, 1098496};
static const int64_t at_1262848_3[2] = {1262848, 1315840}, at_1376512[2] = {1376512, 1123328};
static const int64_t at_1376256[2] = {1376256, 1123072}, at_1367552[2] = {1367552, 1110272};
static const int64_t at_1375744[2] = {1375744, 1118464}, at_1606912[2] = {1606912, 1410304};
static const int64_t at_1674496[2] = {1674496, 1315840}, at_1699072[2] = {1699072, 1340416};
static const int64_t at_1723648[2] = {1723648, 1364992}, at_1646080[2] = {1646080, 1389568};
static const int64_t at_1348096[2] = {1348096, 1098496}, at_1262848_4[2] = {1262848, 1161472};
static const int64_t at_1432576[2] = {1432576, 1223680};

// Bytes from one block's buffer to the next one's.
static const int64_t by_40960[2] = {40960, 24576}, by_16384[2] = {16384, 16384};
static const int64_t by_256[2] = {256, 256}, by_2560[2] = {2560, 1536}, by_768[2] = {768, 512};
static const int64_t by_122880[2] = {122880, 73728}, by_49152[2] = {49152, 49152};
static const int64_t by_768_2[2] = {768, 768}, by_28416[2] = {28416, 20736};
static const int64_t by_28160[2] = {28160, 20992}, by_9472[2] = {9472, 6912};
static const int64_t by_9472_2[2] = {9472, 9472}, by_8192[2] = {8192, 8192};

static const int64_t local_bytes[2] = {3613952, 2589696}, sym_bytes = 0;

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

// One of the 3 blocks encoder_layer, update: 0.0906 ms of computation.
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
    hap_wait(r, *b->t_intermediate_dense_weight_ready);   // 0.012 ms hidden
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
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_3584512, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_2291456, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *embeddings_word_embeddings_weight =
        hap_at(r, SEG_LOCAL, at_1062912, HAP_F32, 2, of_199_64);
    hap_param(r, "bert.embeddings.word_embeddings.weight", embeddings_word_embeddings_weight,
              HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_token_type_embeddings_weight =
        hap_at(r, SEG_LOCAL, at_1113856, HAP_F32, 2, of_2_64);
    hap_param(r, "bert.embeddings.token_type_embeddings.weight",
              embeddings_token_type_embeddings_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_position_embeddings_weight =
        hap_at(r, SEG_LOCAL, at_1114368, HAP_F32, 2, of_32_64);
    hap_param(r, "bert.embeddings.position_embeddings.weight",
              embeddings_position_embeddings_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *embeddings_LayerNorm_weight = hap_at(r, SEG_LOCAL, at_1122560, HAP_F32, 1, of_64);
    hap_param(r, "bert.embeddings.LayerNorm.weight", embeddings_LayerNorm_weight, HAP_FILL(1));
    hap_tensor *embeddings_LayerNorm_bias = hap_at(r, SEG_LOCAL, at_1122816, HAP_F32, 1, of_64);
    hap_param(r, "bert.embeddings.LayerNorm.bias", embeddings_LayerNorm_bias, HAP_FILL(0));
    hap_tensor *cls_predictions_transform_dense_weight =
        hap_at(r, SEG_LOCAL, at_1123072, HAP_F32, 2, of_64_64);
    hap_param(r, "cls.predictions.transform.dense.weight", cls_predictions_transform_dense_weight,
              HAP_NORMAL(0, 0.02));
    hap_tensor *cls_predictions_transform_dense_bias =
        hap_at(r, SEG_LOCAL, at_1139456, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.dense.bias", cls_predictions_transform_dense_bias,
              HAP_FILL(0));
    hap_tensor *cls_predictions_transform_LayerNorm_weight =
        hap_at(r, SEG_LOCAL, at_1139712, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.LayerNorm.weight",
              cls_predictions_transform_LayerNorm_weight, HAP_FILL(1));
    hap_tensor *cls_predictions_transform_LayerNorm_bias =
        hap_at(r, SEG_LOCAL, at_1139968, HAP_F32, 1, of_64);
    hap_param(r, "cls.predictions.transform.LayerNorm.bias",
              cls_predictions_transform_LayerNorm_bias, HAP_FILL(0));
    hap_tensor *cls_predictions_bias = hap_at(r, SEG_LOCAL, at_1140224, HAP_F32, 1, of_199);
    hap_param(r, "cls.predictions.bias", cls_predictions_bias, HAP_FILL(0));
    hap_tensor *embeddings_word_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_1143552, HAP_F32, 2, vocab_64);
    hap_state(r, "bert.embeddings.word_embeddings.weight.exp_avg",
              embeddings_word_embeddings_weight_exp_avg);
    hap_tensor *embeddings_word_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1182720, HAP_F32, 2, vocab_64);
    hap_state(r, "bert.embeddings.word_embeddings.weight.exp_avg_sq",
              embeddings_word_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_token_type_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_1221888, HAP_F32, 2, of_2_64);
    hap_state(r, "bert.embeddings.token_type_embeddings.weight.exp_avg",
              embeddings_token_type_embeddings_weight_exp_avg);
    hap_tensor *embeddings_token_type_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1222400, HAP_F32, 2, of_2_64);
    hap_state(r, "bert.embeddings.token_type_embeddings.weight.exp_avg_sq",
              embeddings_token_type_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_position_embeddings_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_1222912, HAP_F32, 2, of_32_64);
    hap_state(r, "bert.embeddings.position_embeddings.weight.exp_avg",
              embeddings_position_embeddings_weight_exp_avg);
    hap_tensor *embeddings_position_embeddings_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1231104, HAP_F32, 2, of_32_64);
    hap_state(r, "bert.embeddings.position_embeddings.weight.exp_avg_sq",
              embeddings_position_embeddings_weight_exp_avg_sq);
    hap_tensor *embeddings_LayerNorm_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_1239296, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.weight.exp_avg", embeddings_LayerNorm_weight_exp_avg);
    hap_tensor *embeddings_LayerNorm_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1239552, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.weight.exp_avg_sq",
              embeddings_LayerNorm_weight_exp_avg_sq);
    hap_tensor *embeddings_LayerNorm_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_1239808, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.bias.exp_avg", embeddings_LayerNorm_bias_exp_avg);
    hap_tensor *embeddings_LayerNorm_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1240064, HAP_F32, 1, of_64);
    hap_state(r, "bert.embeddings.LayerNorm.bias.exp_avg_sq", embeddings_LayerNorm_bias_exp_avg_sq);
    hap_tensor *cls_predictions_transform_dense_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_1240320, HAP_F32, 2, cut_64_64);
    hap_state(r, "cls.predictions.transform.dense.weight.exp_avg",
              cls_predictions_transform_dense_weight_exp_avg);
    hap_tensor *cls_predictions_transform_dense_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1249792, HAP_F32, 2, cut_64_64);
    hap_state(r, "cls.predictions.transform.dense.weight.exp_avg_sq",
              cls_predictions_transform_dense_weight_exp_avg_sq);
    hap_tensor *cls_predictions_transform_dense_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_1259264, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.dense.bias.exp_avg",
              cls_predictions_transform_dense_bias_exp_avg);
    hap_tensor *cls_predictions_transform_dense_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1259520, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.dense.bias.exp_avg_sq",
              cls_predictions_transform_dense_bias_exp_avg_sq);
    hap_tensor *cls_predictions_transform_LayerNorm_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_1259776, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.weight.exp_avg",
              cls_predictions_transform_LayerNorm_weight_exp_avg);
    hap_tensor *cls_predictions_transform_LayerNorm_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1260032, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.weight.exp_avg_sq",
              cls_predictions_transform_LayerNorm_weight_exp_avg_sq);
    hap_tensor *cls_predictions_transform_LayerNorm_bias_exp_avg =
        hap_at(r, SEG_LOCAL, at_1260288, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.bias.exp_avg",
              cls_predictions_transform_LayerNorm_bias_exp_avg);
    hap_tensor *cls_predictions_transform_LayerNorm_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1260544, HAP_F32, 1, of_64);
    hap_state(r, "cls.predictions.transform.LayerNorm.bias.exp_avg_sq",
              cls_predictions_transform_LayerNorm_bias_exp_avg_sq);
    hap_tensor *cls_predictions_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1260800, HAP_F32, 1, of_199);
    hap_state(r, "cls.predictions.bias.exp_avg", cls_predictions_bias_exp_avg);
    hap_tensor *cls_predictions_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1261824, HAP_F32, 1, of_199);
    hap_state(r, "cls.predictions.bias.exp_avg_sq", cls_predictions_bias_exp_avg_sq);

    // Constants.
    hap_tensor *embeddings_token_type_embeddings_const =
        hap_at(r, SEG_LOCAL, at_1141248, HAP_I64, 2, of_8_32);
    hap_const(r, "bert.embeddings.token_type_embeddings.const",
              embeddings_token_type_embeddings_const, HAP_FILL(0));
    hap_tensor *embeddings_position_embeddings_const =
        hap_at(r, SEG_LOCAL, at_1143296, HAP_I64, 2, of_1_32);
    hap_const(r, "bert.embeddings.position_embeddings.const", embeddings_position_embeddings_const,
              HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_1262848, HAP_I64, 2, rows_32);
    hap_tensor *embeddings_word_embeddings =
        hap_at(r, SEG_LOCAL, at_2789376, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_token_type_embeddings_const_cut =
        hap_at(r, SEG_LOCAL, at_1303808, HAP_I64, 2, rows_32);
    hap_tensor *embeddings_token_type_embeddings =
        hap_at(r, SEG_LOCAL, at_1262848, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_add = hap_at(r, SEG_LOCAL, at_2789376, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_position_embeddings =
        hap_at(r, SEG_LOCAL, at_1262848, HAP_F32, 3, of_1_32_64);
    hap_tensor *embeddings_add_2 = hap_at(r, SEG_LOCAL, at_2789376, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_LayerNorm_sum = hap_at(r, SEG_LOCAL, at_3586560, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_m2 = hap_at(r, SEG_LOCAL, at_3587328, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_dense =
        hap_at(r, SEG_LOCAL, at_2953216, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_transform_act_fn =
        hap_at(r, SEG_LOCAL, at_2994176, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_LayerNorm_sum =
        hap_at(r, SEG_LOCAL, at_2664704, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_m2 =
        hap_at(r, SEG_LOCAL, at_2665472, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm =
        hap_at(r, SEG_LOCAL, at_3158016, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_decoder = hap_at(r, SEG_LOCAL, at_2163968, HAP_F32, 3, rows_32_199);
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_3589376, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_3590144, HAP_F32, 2, rows_32);
    hap_tensor *labels_cut = hap_at(r, SEG_LOCAL, at_2293504, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_2294784, HAP_F32, 2, rows_32);
    hap_tensor *labels_cut_2 = hap_at(r, SEG_LOCAL, at_2293504, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_2295552, HAP_F32, 0, NULL);     // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_LOCAL, at_2295552, HAP_F32, 0, NULL); // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_2293504, HAP_F32, 0, NULL);      // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_2789120, HAP_F32, 0, NULL);       // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_2293760, HAP_F32, 0, NULL);  // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_3590912, HAP_F32, 0, NULL);    // []
    hap_tensor *labels_cut_3 = hap_at(r, SEG_LOCAL, at_3588096, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_2291456, HAP_F32, 3, rows_32_199);
    hap_tensor *cls_predictions_decoder_dx =
        hap_at(r, SEG_LOCAL, at_2239488, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_decoder_dw =
        hap_at(r, SEG_LOCAL, at_2188544, HAP_F32, 2, of_199_64); // [199 64]+
    hap_tensor *cls_predictions_decoder_dw_cut =
        hap_at(r, SEG_LOCAL, at_3158272, HAP_F32, 2, vocab_64);
    // [199]+
    hap_tensor *cls_predictions_decoder_db = hap_at(r, SEG_LOCAL, at_3197440, HAP_F32, 1, of_199);
    hap_tensor *cls_predictions_decoder_db_all =
        hap_at(r, SEG_LOCAL, at_3197440, HAP_F32, 1, of_199);
    hap_tensor *cls_predictions_transform_LayerNorm_stats =
        hap_at(r, SEG_LOCAL, at_2163968_2, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_stats_1 =
        hap_at(r, SEG_LOCAL, at_2164736, HAP_F32, 2, rows_32);
    hap_tensor *cls_predictions_transform_LayerNorm_dx =
        hap_at(r, SEG_LOCAL, at_2321408, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_LayerNorm_dw =
        hap_at(r, SEG_LOCAL, at_3158016_2, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_LayerNorm_dw_1 =
        hap_at(r, SEG_LOCAL, at_2418688, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_LayerNorm_dw_all =
        hap_at(r, SEG_LOCAL, at_3158016_2, HAP_F32, 1, of_64);
    hap_tensor *cls_predictions_transform_LayerNorm_dw_1_all =
        hap_at(r, SEG_LOCAL, at_2418688, HAP_F32, 1, of_64);
    hap_tensor *cls_predictions_transform_transform_act_fn_dx =
        hap_at(r, SEG_LOCAL, at_2280448, HAP_F32, 3, rows_32_64);
    hap_tensor *cls_predictions_transform_dense_dw =
        hap_at(r, SEG_LOCAL, at_3588096_2, HAP_F32, 2, of_64_64); // [64 64]+
    hap_tensor *cls_predictions_transform_dense_dw_cut =
        hap_at(r, SEG_LOCAL, at_3022592, HAP_F32, 2, cut_64_64);
    hap_tensor *cls_predictions_transform_dense_db =
        hap_at(r, SEG_LOCAL, at_2664704_2, HAP_F32, 1, of_64); // [64]+
    hap_tensor *cls_predictions_transform_dense_db_all =
        hap_at(r, SEG_LOCAL, at_2664704_2, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_stats =
        hap_at(r, SEG_LOCAL, at_1262848_2, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_stats_1 =
        hap_at(r, SEG_LOCAL, at_1263616, HAP_F32, 2, rows_32);
    hap_tensor *embeddings_LayerNorm_dx = hap_at(r, SEG_LOCAL, at_1328384, HAP_F32, 3, rows_32_64);
    hap_tensor *embeddings_LayerNorm_dx_all =
        hap_at(r, SEG_LOCAL, at_1262848_3, HAP_F32, 3, of_8_32_64);
    // [64]+
    hap_tensor *embeddings_LayerNorm_dw = hap_at(r, SEG_LOCAL, at_1376512, HAP_F32, 1, of_64);
    // [64]+
    hap_tensor *embeddings_LayerNorm_dw_1 = hap_at(r, SEG_LOCAL, at_1376256, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_dw_all = hap_at(r, SEG_LOCAL, at_1376512, HAP_F32, 1, of_64);
    hap_tensor *embeddings_LayerNorm_dw_1_all = hap_at(r, SEG_LOCAL, at_1376256, HAP_F32, 1, of_64);
    hap_tensor *embeddings_add_2_fold1 = hap_at(r, SEG_LOCAL, at_1328384, HAP_F32, 3, of_1_32_64);
    hap_tensor *embeddings_position_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_1367552, HAP_F32, 2, of_32_64);
    hap_tensor *embeddings_token_type_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_1375744, HAP_F32, 2, of_2_64);
    hap_tensor *embeddings_word_embeddings_dw =
        hap_at(r, SEG_LOCAL, at_1328384, HAP_F32, 2, vocab_64);
    hap_tensor *embeddings_word_embeddings_sum =
        hap_at(r, SEG_LOCAL, at_3158272, HAP_F32, 2, vocab_64);
    hap_tensor *embeddings_word_embeddings_weight_cut =
        hap_at(r, SEG_LOCAL, at_1606912, HAP_F32, 2, vocab_64);
    hap_tensor *cls_predictions_transform_dense_weight_cut =
        hap_at(r, SEG_LOCAL, at_1432576, HAP_F32, 2, cut_64_64);

    // Scratch of collectives.
    hap_tensor *cls_predictions_transform_dense_dw_cut_scratch =
        hap_at(r, SEG_LOCAL, at_3604480, HAP_F32, 1, scratch_2368);

    hap_tensor *encoder_layer_2_output_LayerNorm_2[4], *cls_predictions_transform_dense_dx_2[4];
    for (int i = 0; i < 4; i++) {
        encoder_layer_2_output_LayerNorm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_2000128, by_40960, i, HAP_F32, 3, rows_32_64);
        cls_predictions_transform_dense_dx_2[i] =
            hap_at(r, SEG_LOCAL, at_2239488, HAP_F32, 3, rows_32_64);
    }

    for (int i = 0; i < 3; i++) {
        encoder_layer_block *b = &encoder_layer[i];
        b->attention_self_query = hap_at(r, SEG_LOCAL, at_1508608, HAP_F32, 3, rows_32_64);
        b->attention_self_query_weight =
            hap_at_layer(r, SEG_LOCAL, at_0, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.weight"),
                  b->attention_self_query_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_query_bias =
            hap_at_layer(r, SEG_LOCAL, at_49152, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.bias"),
                  b->attention_self_query_bias, HAP_FILL(0));
        b->attention_self_reshape = hap_at(r, SEG_LOCAL, at_1508608, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose =
            hap_at_layer(r, SEG_LOCAL, at_2418944, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_key = hap_at(r, SEG_LOCAL, at_1508608, HAP_F32, 3, rows_32_64);
        b->attention_self_key_weight =
            hap_at_layer(r, SEG_LOCAL, at_49920, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.weight"),
                  b->attention_self_key_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_key_bias =
            hap_at_layer(r, SEG_LOCAL, at_99072, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.bias"),
                  b->attention_self_key_bias, HAP_FILL(0));
        b->attention_self_reshape_2 = hap_at(r, SEG_LOCAL, at_1508608, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_2541824, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_value = hap_at(r, SEG_LOCAL, at_1508608, HAP_F32, 3, rows_32_64);
        b->attention_self_value_weight =
            hap_at_layer(r, SEG_LOCAL, at_99840, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.weight"),
                  b->attention_self_value_weight, HAP_NORMAL(0, 0.02));
        b->attention_self_value_bias =
            hap_at_layer(r, SEG_LOCAL, at_148992, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.bias"),
                  b->attention_self_value_bias, HAP_FILL(0));
        b->attention_self_reshape_3 = hap_at(r, SEG_LOCAL, at_1508608, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_2666240, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_2830336, by_40960, i, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_3567616, by_2560, i, HAP_F32, 3, rows_4_32);
        b->attention_self_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_3035136, by_40960, i, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_3035136, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_dense =
            hap_at_layer(r, SEG_LOCAL, at_3198976, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_dense_weight =
            hap_at_layer(r, SEG_LOCAL, at_149760, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight"),
                  b->attention_output_dense_weight, HAP_NORMAL(0, 0.02));
        b->attention_output_dense_bias =
            hap_at_layer(r, SEG_LOCAL, at_198912, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias"),
                  b->attention_output_dense_bias, HAP_FILL(0));
        b->attention_output_add =
            hap_at_layer(r, SEG_LOCAL, at_3198976, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_sum =
            hap_at_layer(r, SEG_LOCAL, at_3575296, by_768, i, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_m2 =
            hap_at_layer(r, SEG_LOCAL, at_3577600, by_768, i, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm =
            hap_at_layer(r, SEG_LOCAL, at_3321856, by_40960, i, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_weight =
            hap_at_layer(r, SEG_LOCAL, at_199680, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight"),
                  b->attention_output_LayerNorm_weight, HAP_FILL(1));
        b->attention_output_LayerNorm_bias =
            hap_at_layer(r, SEG_LOCAL, at_200448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias"),
                  b->attention_output_LayerNorm_bias, HAP_FILL(0));
        b->t_intermediate_dense =
            hap_at_layer(r, SEG_LOCAL, at_1262848, by_122880, i, HAP_F32, 3, rows_32_192);
        b->t_intermediate_dense_weight =
            hap_at_layer(r, SEG_LOCAL, at_201216, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight"),
                  b->t_intermediate_dense_weight, HAP_NORMAL(0, 0.02));
        b->t_intermediate_dense_bias =
            hap_at_layer(r, SEG_LOCAL, at_348672, by_768_2, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias"),
                  b->t_intermediate_dense_bias, HAP_FILL(0));
        b->t_intermediate_intermediate_act_fn =
            hap_at_layer(r, SEG_LOCAL, at_1631488, by_122880, i, HAP_F32, 3, rows_32_192);
        b->output_dense =
            hap_at_layer(r, SEG_LOCAL, at_3444736, by_40960, i, HAP_F32, 3, rows_32_64);
        b->output_dense_weight =
            hap_at_layer(r, SEG_LOCAL, at_350976, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight"),
                  b->output_dense_weight, HAP_NORMAL(0, 0.02));
        b->output_dense_bias = hap_at_layer(r, SEG_LOCAL, at_498432, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias"), b->output_dense_bias,
                  HAP_FILL(0));
        b->output_add = hap_at_layer(r, SEG_LOCAL, at_3444736, by_40960, i, HAP_F32, 3, rows_32_64);
        b->output_LayerNorm_sum =
            hap_at_layer(r, SEG_LOCAL, at_3579904, by_768, i, HAP_F32, 2, rows_32);
        b->output_LayerNorm_m2 =
            hap_at_layer(r, SEG_LOCAL, at_3582208, by_768, i, HAP_F32, 2, rows_32);
        b->output_LayerNorm_weight =
            hap_at_layer(r, SEG_LOCAL, at_499200, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight"),
                  b->output_LayerNorm_weight, HAP_FILL(1));
        b->output_LayerNorm_bias =
            hap_at_layer(r, SEG_LOCAL, at_499968, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias"),
                  b->output_LayerNorm_bias, HAP_FILL(0));
        b->output_LayerNorm_stats = hap_at(r, SEG_LOCAL, at_2280448_2, HAP_F32, 2, rows_32);
        b->output_LayerNorm_stats_1 = hap_at(r, SEG_LOCAL, at_2281216, HAP_F32, 2, rows_32);
        b->output_LayerNorm_dx = hap_at(r, SEG_LOCAL, at_2981632, HAP_F32, 3, rows_32_64);
        b->output_LayerNorm_dw =
            hap_at_layer(r, SEG_LOCAL, at_3034368, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->output_LayerNorm_dw_1 =
            hap_at_layer(r, SEG_LOCAL, at_2664960, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->output_dense_dx = hap_at(r, SEG_LOCAL, at_2239488_2, HAP_F32, 3, rows_32_192);
        b->output_dense_dw =
            hap_at_layer(r, SEG_LOCAL, at_2041088, by_49152, i, HAP_F32, 2, of_64_192); // [64 192]+
        b->output_dense_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2896384, by_28416, i, HAP_F32, 2, cut_64_192);
        // [64]+
        b->output_dense_db = hap_at_layer(r, SEG_LOCAL, at_3526144, by_256, i, HAP_F32, 1, of_64);
        b->t_intermediate_intermediate_act_fn_dx =
            hap_at(r, SEG_LOCAL, at_1877248, HAP_F32, 3, rows_32_192);
        b->t_intermediate_dense_dx = hap_at(r, SEG_LOCAL, at_2239488_2, HAP_F32, 3, rows_32_64);
        b->t_intermediate_dense_sum = hap_at(r, SEG_LOCAL, at_2981632, HAP_F32, 3, rows_32_64);
        b->t_intermediate_dense_dw =
            hap_at_layer(r, SEG_LOCAL, at_1410304, by_49152, i, HAP_F32, 2, of_192_64); // [192 64]+
        b->t_intermediate_dense_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2334208, by_28160, i, HAP_F32, 2, cut_192_64);
        b->t_intermediate_dense_db =
            hap_at_layer(r, SEG_LOCAL, at_3032064, by_768_2, i, HAP_F32, 1, of_192); // [192]+
        b->attention_output_LayerNorm_stats = hap_at(r, SEG_LOCAL, at_1557760, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_stats_1 =
            hap_at(r, SEG_LOCAL, at_1558528, HAP_F32, 2, rows_32);
        b->attention_output_LayerNorm_dx = hap_at(r, SEG_LOCAL, at_2239488, HAP_F32, 3, rows_32_64);
        b->attention_output_LayerNorm_dw =
            hap_at_layer(r, SEG_LOCAL, at_3404032, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->attention_output_LayerNorm_dw_1 =
            hap_at_layer(r, SEG_LOCAL, at_3403264, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->attention_output_dense_dx = hap_at(r, SEG_LOCAL, at_1877248, HAP_F32, 3, rows_32_64);
        b->attention_output_dense_dw =
            hap_at_layer(r, SEG_LOCAL, at_1557760_2, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_output_dense_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_3098112, by_9472, i, HAP_F32, 2, cut_64_64);
        b->attention_output_dense_dw_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_3126528, by_9472_2, i, HAP_F32, 1, scratch_2368);
        b->attention_output_dense_db =
            hap_at_layer(r, SEG_LOCAL, at_3154944, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_reshape_4_dx = hap_at(r, SEG_LOCAL, at_1877248, HAP_F32, 4, rows_32_4_16);
        b->attention_self_transpose_4_dx =
            hap_at(r, SEG_LOCAL, at_1959168, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1877248, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_1918208, HAP_F32, 4, rows_4_32_16);
        b->attention_self_sdpa_dqkv_2 =
            hap_at(r, SEG_LOCAL, at_2280448_3, HAP_F32, 4, rows_4_32_16);
        b->attention_self_transpose_3_dx =
            hap_at(r, SEG_LOCAL, at_1959168, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1959168, HAP_F32, 3, rows_32_64);
        b->attention_self_value_dx = hap_at(r, SEG_LOCAL, at_2280448_3, HAP_F32, 3, rows_32_64);
        b->attention_self_value_sum = hap_at(r, SEG_LOCAL, at_2239488, HAP_F32, 3, rows_32_64);
        b->attention_self_value_dw =
            hap_at_layer(r, SEG_LOCAL, at_2468096, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_value_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2517248, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_value_db =
            hap_at_layer(r, SEG_LOCAL, at_3155712, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_transpose_2_dx =
            hap_at(r, SEG_LOCAL, at_1959168, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1959168, HAP_F32, 3, rows_32_64);
        b->attention_self_key_dx = hap_at(r, SEG_LOCAL, at_1918208, HAP_F32, 3, rows_32_64);
        b->attention_self_key_sum = hap_at(r, SEG_LOCAL, at_2239488, HAP_F32, 3, rows_32_64);
        b->attention_self_key_dw =
            hap_at_layer(r, SEG_LOCAL, at_2590976, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_key_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2640128, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_key_db =
            hap_at_layer(r, SEG_LOCAL, at_3156480, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_transpose_dx = hap_at(r, SEG_LOCAL, at_1918208, HAP_F32, 4, rows_32_4_16);
        b->attention_self_reshape_dx = hap_at(r, SEG_LOCAL, at_1918208, HAP_F32, 3, rows_32_64);
        b->attention_self_query_dx = hap_at(r, SEG_LOCAL, at_1877248, HAP_F32, 3, rows_32_64);
        b->attention_self_query_dw =
            hap_at_layer(r, SEG_LOCAL, at_2715392, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attention_self_query_dw_cut =
            hap_at_layer(r, SEG_LOCAL, at_2764544, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_query_db =
            hap_at_layer(r, SEG_LOCAL, at_3157248, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->attention_self_query_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1674496, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_query_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_500736, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.weight.exp_avg"),
                  b->attention_self_query_weight_exp_avg);
        b->attention_self_query_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_525312, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.weight.exp_avg_sq"),
                  b->attention_self_query_weight_exp_avg_sq);
        b->attention_self_query_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_549888, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.bias.exp_avg"),
                  b->attention_self_query_bias_exp_avg);
        b->attention_self_query_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_550656, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.query.bias.exp_avg_sq"),
                  b->attention_self_query_bias_exp_avg_sq);
        b->attention_self_query_db_all =
            hap_at_layer(r, SEG_LOCAL, at_3157248, by_256, i, HAP_F32, 1, of_64);
        b->attention_self_key_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1699072, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_key_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_551424, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.weight.exp_avg"),
                  b->attention_self_key_weight_exp_avg);
        b->attention_self_key_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_576000, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.weight.exp_avg_sq"),
                  b->attention_self_key_weight_exp_avg_sq);
        b->attention_self_key_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_600576, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.bias.exp_avg"),
                  b->attention_self_key_bias_exp_avg);
        b->attention_self_key_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_601344, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.key.bias.exp_avg_sq"),
                  b->attention_self_key_bias_exp_avg_sq);
        b->attention_self_key_db_all =
            hap_at_layer(r, SEG_LOCAL, at_3156480, by_256, i, HAP_F32, 1, of_64);
        b->attention_self_value_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1723648, by_8192, i, HAP_F32, 2, heads_64);
        b->attention_self_value_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_602112, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.weight.exp_avg"),
                  b->attention_self_value_weight_exp_avg);
        b->attention_self_value_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_626688, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.weight.exp_avg_sq"),
                  b->attention_self_value_weight_exp_avg_sq);
        b->attention_self_value_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_651264, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.bias.exp_avg"),
                  b->attention_self_value_bias_exp_avg);
        b->attention_self_value_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_652032, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.self.value.bias.exp_avg_sq"),
                  b->attention_self_value_bias_exp_avg_sq);
        b->attention_self_value_db_all =
            hap_at_layer(r, SEG_LOCAL, at_3155712, by_256, i, HAP_F32, 1, of_64);
        b->attention_output_dense_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1646080, by_9472, i, HAP_F32, 2, cut_64_64);
        b->attention_output_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_652800, by_9472, i, HAP_F32, 2, cut_64_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight.exp_avg"),
                  b->attention_output_dense_weight_exp_avg);
        b->attention_output_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_681216, by_9472, i, HAP_F32, 2, cut_64_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.dense.weight.exp_avg_sq"),
                  b->attention_output_dense_weight_exp_avg_sq);
        b->attention_output_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_709632, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias.exp_avg"),
                  b->attention_output_dense_bias_exp_avg);
        b->attention_output_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_710400, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.dense.bias.exp_avg_sq"),
                  b->attention_output_dense_bias_exp_avg_sq);
        b->attention_output_dense_db_all =
            hap_at_layer(r, SEG_LOCAL, at_3154944, by_256, i, HAP_F32, 1, of_64);
        b->attention_output_LayerNorm_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_711168, by_256, i, HAP_F32, 1, of_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight.exp_avg"),
                  b->attention_output_LayerNorm_weight_exp_avg);
        b->attention_output_LayerNorm_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_711936, by_256, i, HAP_F32, 1, of_64);
        hap_state(
            r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.weight.exp_avg_sq"),
            b->attention_output_LayerNorm_weight_exp_avg_sq);
        b->attention_output_LayerNorm_dw_all =
            hap_at_layer(r, SEG_LOCAL, at_3404032, by_256, i, HAP_F32, 1, of_64);
        b->attention_output_LayerNorm_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_712704, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias.exp_avg"),
                  b->attention_output_LayerNorm_bias_exp_avg);
        b->attention_output_LayerNorm_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_713472, by_256, i, HAP_F32, 1, of_64);
        hap_state(r,
                  hap_name("bert.encoder.layer.", i, ".attention.output.LayerNorm.bias.exp_avg_sq"),
                  b->attention_output_LayerNorm_bias_exp_avg_sq);
        b->attention_output_LayerNorm_dw_1_all =
            hap_at_layer(r, SEG_LOCAL, at_3403264, by_256, i, HAP_F32, 1, of_64);
        b->t_intermediate_dense_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1348096, by_28160, i, HAP_F32, 2, cut_192_64);
        b->t_intermediate_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_714240, by_28160, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight.exp_avg"),
                  b->t_intermediate_dense_weight_exp_avg);
        b->t_intermediate_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_798720, by_28160, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.weight.exp_avg_sq"),
                  b->t_intermediate_dense_weight_exp_avg_sq);
        b->t_intermediate_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_883200, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias.exp_avg"),
                  b->t_intermediate_dense_bias_exp_avg);
        b->t_intermediate_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_885504, by_768_2, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".intermediate.dense.bias.exp_avg_sq"),
                  b->t_intermediate_dense_bias_exp_avg_sq);
        b->t_intermediate_dense_db_all =
            hap_at_layer(r, SEG_LOCAL, at_3032064, by_768_2, i, HAP_F32, 1, of_192);
        b->output_dense_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1262848_4, by_28416, i, HAP_F32, 2, cut_64_192);
        b->output_dense_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_887808, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight.exp_avg"),
                  b->output_dense_weight_exp_avg);
        b->output_dense_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_973056, by_28416, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.weight.exp_avg_sq"),
                  b->output_dense_weight_exp_avg_sq);
        b->output_dense_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1058304, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias.exp_avg"),
                  b->output_dense_bias_exp_avg);
        b->output_dense_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1059072, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.dense.bias.exp_avg_sq"),
                  b->output_dense_bias_exp_avg_sq);
        b->output_dense_db_all =
            hap_at_layer(r, SEG_LOCAL, at_3526144, by_256, i, HAP_F32, 1, of_64);
        b->output_LayerNorm_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1059840, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight.exp_avg"),
                  b->output_LayerNorm_weight_exp_avg);
        b->output_LayerNorm_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1060608, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.weight.exp_avg_sq"),
                  b->output_LayerNorm_weight_exp_avg_sq);
        b->output_LayerNorm_dw_all =
            hap_at_layer(r, SEG_LOCAL, at_3034368, by_256, i, HAP_F32, 1, of_64);
        b->output_LayerNorm_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias.exp_avg"),
                  b->output_LayerNorm_bias_exp_avg);
        b->output_LayerNorm_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_1062144, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("bert.encoder.layer.", i, ".output.LayerNorm.bias.exp_avg_sq"),
                  b->output_LayerNorm_bias_exp_avg_sq);
        b->output_LayerNorm_dw_1_all =
            hap_at_layer(r, SEG_LOCAL, at_2664960, by_256, i, HAP_F32, 1, of_64);
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
        // + -> dim 0 @vocab    [199@vocab 64]    49.8 KiB    0.0198 ms
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
                         199);                         // y[b] += a    [199@vocab 64]    0.00934 ms
        hap_wait(r, e_cls_predictions_decoder_dw_cut); // 0.0198 ms hidden
        op_add(r, embeddings_word_embeddings_sum, cls_predictions_decoder_dw_cut,
               embeddings_word_embeddings_dw); // y = a + b    [199@vocab 64]    0.0102 ms

        // update
        // whole -> dim 0 @vocab    [199@vocab 64]    0.0059 ms
        hap_cut(r, embeddings_word_embeddings_weight_cut, embeddings_word_embeddings_weight);
        op_adam(r, embeddings_word_embeddings_weight_cut, embeddings_word_embeddings_weight_exp_avg,
                embeddings_word_embeddings_weight_exp_avg_sq, embeddings_word_embeddings_sum, NULL,
                1, 0.9, 0.95, 1e-08, 0.1, true); // [199@vocab 64]    0.0224 ms
        // dim 0 @vocab -> whole    [199 64]    49.8 KiB    0.0148 ms
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
        hap_wait(r, e_embeddings_word_embeddings_weight); // 0.0148 ms hidden

        for (int i = 0; i < 3; i++)
            encoder_layer_update_2(r, &encoder_layer[i]);
        hap_wait(r, e_cls_predictions_transform_dense_weight); // 0.00442 ms hidden
    }
    return hap_finish(r);
}
