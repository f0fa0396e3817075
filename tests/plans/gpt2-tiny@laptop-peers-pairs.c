// program.c: one training step of gpt2-tiny on 3 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop-peers.yaml --pin
//     'transformer.h.*.mlp.c_fc=S(2)' --pin 'transformer.h.*.add*=S(0)' -o
//     gpt2-tiny@laptop-peers-pairs -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}
//   predicted   4.25 ms/step = 3.43 ms compute and idle + 1.53 ms communication - 0.704 ms hidden;
//               bound 2.62 ms; by datasheet formulas
//   memory      2.89 MiB / 2.60 MiB / 2.10 MiB    graph a94a3bb305aca178    cluster
//               cf6d4e2bb24569e8
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.375 0.375 0.250 over axis 0 (compute).
static const int64_t rows[3] = {3, 3, 2};

// 211 cut 0.474 0.360 0.166 over axis 0 (compute).
static const int64_t vocab[3] = {100, 76, 35};

// 3 cut 0.333 0.333 0.333 over axis 0 (compute).
static const int64_t cut_3[3] = {1, 1, 1};

// 4 cut 0.500 0.250 0.250 over axis 0 (compute).
static const int64_t heads[3] = {2, 1, 1};

// 64 cut 0.375 0.375 0.250 over axis 0 (lp).
static const int64_t cut_64[3] = {24, 24, 16};

// 192 cut 0.464 0.333 0.203 over axis 0 (lp).
static const int64_t cut_192[3] = {89, 64, 39};

// 64 cut 0.797 0.203 0.000 over axis 0 (lp).
static const int64_t cut_64_lp[3] = {51, 13, 0};

// Byte offsets in the symmetric segment: what other ranks write into, the same on every rank.
static const int64_t at_491520[3] = {491520, 491520, 491520}, at_0[3] = {0, 0, 0};
static const int64_t at_147456[3] = {147456, 147456, 147456};
static const int64_t at_196608[3] = {196608, 196608, 196608};
static const int64_t at_344064[3] = {344064, 344064, 344064};
static const int64_t at_548864[3] = {548864, 548864, 548864};
static const int64_t at_745472[3] = {745472, 745472, 745472};
static const int64_t at_749568[3] = {749568, 749568, 749568};
static const int64_t at_897024[3] = {897024, 897024, 897024};
static const int64_t at_823296[3] = {823296, 823296, 823296};
static const int64_t at_1011712[3] = {1011712, 1011712, 1011712};
static const int64_t at_737280[3] = {737280, 737280, 737280};
static const int64_t at_962560[3] = {962560, 962560, 962560};
static const int64_t at_1019904[3] = {1019904, 1019904, 1019904};
static const int64_t at_622592[3] = {622592, 622592, 622592};
static const int64_t at_1028096[3] = {1028096, 1028096, 1028096};
static const int64_t at_1044480[3] = {1044480, 1044480, 1044480};
static const int64_t at_1036288[3] = {1036288, 1036288, 1036288};
static const int64_t at_618496[3] = {618496, 618496, 618496};
static const int64_t at_614400[3] = {614400, 614400, 614400};
static const int64_t at_880640[3] = {880640, 880640, 880640};
static const int64_t at_905216[3] = {905216, 905216, 905216};
static const int64_t at_909312[3] = {909312, 909312, 909312};
static const int64_t at_917504[3] = {917504, 917504, 917504};
static const int64_t at_913408[3] = {913408, 913408, 913408};
static const int64_t at_552960[3] = {552960, 552960, 552960};

// Byte offsets in the local segment, by class {cpu4, cpu3, cpu2}.
static const int64_t at_1274624[3] = {1274624, 997376, 1117952};
static const int64_t at_1271808[3] = {1271808, 999424, 546048};
static const int64_t at_310272[3] = {310272, 242688, 166912}, at_768[3] = {768, 768, 768};
static const int64_t at_1536[3] = {1536, 1536, 1536}, at_3840[3] = {3840, 3840, 3840};
static const int64_t at_4608[3] = {4608, 4608, 4608}, at_5376[3] = {5376, 5376, 5376};
static const int64_t at_6144[3] = {6144, 6144, 6144}, at_8448[3] = {8448, 8448, 8448};
static const int64_t at_318464[3] = {318464, 250880, 175104};
static const int64_t at_318720[3] = {318720, 251136, 175360};
static const int64_t at_318976[3] = {318976, 251392, 175616};
static const int64_t at_319232[3] = {319232, 251648, 175872};
static const int64_t at_344832[3] = {344832, 271104, 184832};
static const int64_t at_370432[3] = {370432, 290560, 193792};
static const int64_t at_378624[3] = {378624, 298752, 201984}, at_9216[3] = {9216, 9216, 9216};
static const int64_t at_9728[3] = {9728, 9728, 9728}, at_10240[3] = {10240, 10240, 10240};
static const int64_t at_10752[3] = {10752, 10752, 10752}, at_11264[3] = {11264, 11264, 11264};
static const int64_t at_48128[3] = {48128, 48128, 35840}, at_84992[3] = {84992, 84992, 60416};
static const int64_t at_86528[3] = {86528, 86528, 61952}, at_88064[3] = {88064, 88064, 63488};
static const int64_t at_104448[3] = {104448, 96256, 71680}, at_120832[3] = {120832, 104448, 79872};
static const int64_t at_121344[3] = {121344, 104960, 80384}, at_121856[3] = {121856, 105472, 80896};
static const int64_t at_122368[3] = {122368, 105984, 81408}, at_122880[3] = {122880, 106496, 81920};
static const int64_t at_123392[3] = {123392, 107008, 82432}, at_123904[3] = {123904, 107520, 82944};
static const int64_t at_169472[3] = {169472, 140288, 102912};
static const int64_t at_215040[3] = {215040, 173056, 122880};
static const int64_t at_216576[3] = {216576, 174592, 124416};
static const int64_t at_218112[3] = {218112, 176128, 125952};
static const int64_t at_263680[3] = {263680, 208896, 145920};
static const int64_t at_309248[3] = {309248, 241664, 165888};
static const int64_t at_309760[3] = {309760, 242176, 166400};
static const int64_t at_386816[3] = {386816, 306944, 210176};
static const int64_t at_387072[3] = {387072, 307200, 210432};
static const int64_t at_387328[3] = {387328, 307456, 210688};
static const int64_t at_387584[3] = {387584, 307712, 210944};
static const int64_t at_387840[3] = {387840, 307968, 211200};
static const int64_t at_406272[3] = {406272, 326400, 223488};
static const int64_t at_424704[3] = {424704, 344832, 235776};
static const int64_t at_425472[3] = {425472, 345600, 236544};
static const int64_t at_426240[3] = {426240, 346368, 237312};
static const int64_t at_434432[3] = {434432, 350464, 241408};
static const int64_t at_442624[3] = {442624, 354560, 245504};
static const int64_t at_442880[3] = {442880, 354816, 245760};
static const int64_t at_443136[3] = {443136, 355072, 246016};
static const int64_t at_443392[3] = {443392, 355328, 246272};
static const int64_t at_443648[3] = {443648, 355584, 246528};
static const int64_t at_443904[3] = {443904, 355840, 246784};
static const int64_t at_444160[3] = {444160, 356096, 247040};
static const int64_t at_466944[3] = {466944, 372480, 257024};
static const int64_t at_489728[3] = {489728, 388864, 267008};
static const int64_t at_490496[3] = {490496, 389632, 267776};
static const int64_t at_491264[3] = {491264, 390400, 268544};
static const int64_t at_514048[3] = {514048, 406784, 278528};
static const int64_t at_536832[3] = {536832, 423168, 288512};
static const int64_t at_537088[3] = {537088, 423424, 288768};
static const int64_t at_537344[3] = {537344, 423680, 289024};
static const int64_t at_537600[3] = {537600, 423936, 289280};
static const int64_t at_537856[3] = {537856, 424192, 289536};
static const int64_t at_538112[3] = {538112, 424448, 289792};
static const int64_t at_538368[3] = {538368, 424704, 290048};
static const int64_t at_1085184[3] = {1085184, 817920, 548096};
static const int64_t at_1968640[3] = {1968640, 1667072, 1121536};
static const int64_t at_1970176[3] = {1970176, 1668608, 1122304};
static const int64_t at_1276672[3] = {1276672, 1523200, 770816};
static const int64_t at_720640[3] = {720640, 891648, 489728};
static const int64_t at_994048[3] = {994048, 555776, 369920};
static const int64_t at_1043200[3] = {1043200, 752384, 597248};
static const int64_t at_1018624[3] = {1018624, 580352, 386304};
static const int64_t at_1350400[3] = {1350400, 1080576, 819968};
static const int64_t at_1424128[3] = {1424128, 1154304, 869120};
static const int64_t at_1497856[3] = {1497856, 1228032, 918272};
static const int64_t at_1571584[3] = {1571584, 1301760, 967424};
static const int64_t at_1963520[3] = {1963520, 1596928, 1114880};
static const int64_t at_1645312[3] = {1645312, 1375488, 1016576};
static const int64_t at_1719040[3] = {1719040, 1449216, 1065728};
static const int64_t at_1971712[3] = {1971712, 1670144, 1120000};
static const int64_t at_1973248[3] = {1973248, 1671680, 1120768};
static const int64_t at_994048_2[3] = {994048, 752384, 489728};
static const int64_t at_1018624_2[3] = {1018624, 776960, 506112};
static const int64_t at_1041408[3] = {1041408, 793344, 516096};
static const int64_t at_811776[3] = {811776, 621312, 409856};
static const int64_t at_1249024[3] = {1249024, 1001472, 662784};
static const int64_t at_1273856[3] = {1273856, 981760, 672768};
static const int64_t at_1158912[3] = {1158912, 891648, 597248};
static const int64_t at_1224448[3] = {1224448, 957184, 529664};
static const int64_t at_1873920[3] = {1873920, 1650688, 1123072};
static const int64_t at_1874432[3] = {1874432, 1651200, 1123328};
static const int64_t at_1937920[3] = {1937920, 1601536, 529664};
static const int64_t at_1792768[3] = {1792768, 916224, 613632};
static const int64_t at_1183488[3] = {1183488, 1001472, 667648};
static const int64_t at_1185792[3] = {1185792, 999424, 546048};
static const int64_t at_1265408[3] = {1265408, 1626112, 668160};
static const int64_t at_1265920[3] = {1265920, 1626624, 668416};
static const int64_t at_1184256[3] = {1184256, 1002240, 668672};
static const int64_t at_1976832[3] = {1976832, 1522944, 1152512};
static const int64_t at_1183744[3] = {1183744, 1001728, 667904};
static const int64_t at_1266432[3] = {1266432, 1627904, 668672};
static const int64_t at_1264640[3] = {1264640, 1627136, 667648};
static const int64_t at_1183488_2[3] = {1183488, 999424, 716800};
static const int64_t at_1792768_2[3] = {1792768, 1626112, 613632};
static const int64_t at_1883904[3] = {1883904, 916224, 662784};
static const int64_t at_1937920_2[3] = {1937920, 970240, 759552};
static const int64_t at_1183488_3[3] = {1183488, 989696, 529664};
static const int64_t at_1184000[3] = {1184000, 990208, 529920};
static const int64_t at_1977344[3] = {1977344, 989952, 759296};
static const int64_t at_1977088[3] = {1977088, 989696, 759040};
static const int64_t at_1815552[3] = {1815552, 1626112, 716800};
static const int64_t at_1158912_2[3] = {1158912, 999424, 597248};
static const int64_t at_994048_3[3] = {994048, 1601536, 716800};
static const int64_t at_1224448_2[3] = {1224448, 752384, 385536};
static const int64_t at_769792[3] = {769792, 604928, 401920};
static const int64_t at_770304[3] = {770304, 605440, 402176};
static const int64_t at_994048_4[3] = {994048, 999424, 597248};
static const int64_t at_1250048[3] = {1250048, 1601536, 646400};
static const int64_t at_1976320[3] = {1976320, 908032, 758528};
static const int64_t at_1975808[3] = {1975808, 817408, 758016};
static const int64_t at_994048_5[3] = {994048, 752384, 385536};
static const int64_t at_769792_2[3] = {769792, 1481984, 1082112};
static const int64_t at_1703424[3] = {1703424, 908544, 1054208};
static const int64_t at_1043200_2[3] = {1043200, 1048576, 630016};
static const int64_t at_1183488_4[3] = {1183488, 1424640, 716800};
static const int64_t at_1018624_3[3] = {1018624, 1024000, 613632};
static const int64_t at_1158912_3[3] = {1158912, 752384, 385536};
static const int64_t at_1183488_5[3] = {1183488, 1203456, 716800};
static const int64_t at_1208064[3] = {1208064, 1277184, 733184};
static const int64_t at_671488[3] = {671488, 506624, 449792};
static const int64_t at_1344256[3] = {1344256, 809728, 768512};
static const int64_t at_802560[3] = {802560, 604928, 401920};
static const int64_t at_803072[3] = {803072, 605440, 402176};
static const int64_t at_1347072[3] = {1347072, 909568, 818688};
static const int64_t at_1346560[3] = {1346560, 909056, 818176};
static const int64_t at_629504[3] = {629504, 490240, 329984};
static const int64_t at_902912[3] = {902912, 686848, 564480};
static const int64_t at_1747200[3] = {1747200, 858880, 1122560};
static const int64_t at_1974272[3] = {1974272, 811264, 770048};
static const int64_t at_802560_2[3] = {802560, 617216, 385536};
static const int64_t at_603904[3] = {603904, 490240, 355584};
static const int64_t at_603904_2[3] = {603904, 682752, 425472};
static const int64_t at_1815552_2[3] = {1815552, 760576, 355584};
static const int64_t at_1967104[3] = {1967104, 812032, 756480};
static const int64_t at_562944[3] = {562944, 449280, 306432};
static const int64_t at_563456[3] = {563456, 449792, 306688};
static const int64_t at_802560_3[3] = {802560, 473856, 564480};
static const int64_t at_662272[3] = {662272, 502528, 442112};
static const int64_t at_662016[3] = {662016, 502272, 441856};
static const int64_t at_1975040[3] = {1975040, 813568, 757248};
static const int64_t at_1972224[3] = {1972224, 812800, 1120000};
static const int64_t at_851712[3] = {851712, 617216, 339200};
static const int64_t at_1678080[3] = {1678080, 604928, 1041152};
static const int64_t at_662528[3] = {662528, 502784, 435456};
static const int64_t at_1702656[3] = {1702656, 814336, 1053440};
static const int64_t at_587520[3] = {587520, 658176, 322816};
static const int64_t at_636672[3] = {636672, 682752, 401920};
static const int64_t at_538368_2[3] = {538368, 449280, 306432};
static const int64_t at_562944_2[3] = {562944, 633600, 385536};
static const int64_t at_612096[3] = {612096, 424704, 290048};
static const int64_t at_636672_2[3] = {636672, 707328, 322816};
static const int64_t at_827136[3] = {827136, 731904, 580864};
static const int64_t at_538368_3[3] = {538368, 633600, 385536};
static const int64_t at_827136_2[3] = {827136, 707328, 580864};
static const int64_t at_1288960[3] = {1288960, 1092864, 779008};
static const int64_t at_661248[3] = {661248, 501504, 434688};
static const int64_t at_1345792[3] = {1345792, 815104, 815872};
static const int64_t at_562944_3[3] = {562944, 498432, 401920};
static const int64_t at_563456_2[3] = {563456, 498944, 402176};
static const int64_t at_572416[3] = {572416, 503296, 394752};
static const int64_t at_572160[3] = {572160, 503040, 394496};
static const int64_t at_1134592[3] = {1134592, 816640, 817408};
static const int64_t at_1133824[3] = {1133824, 815872, 816640};
static const int64_t at_538368_4[3] = {538368, 482048, 385536};
static const int64_t at_563968[3] = {563968, 473856, 404480};
static const int64_t at_545024[3] = {545024, 482048, 385536}, at_538368_5[3] = {538368, 482304, 0};
static const int64_t at_545280[3] = {545280, 484096, 385792};
static const int64_t at_538368_6[3] = {538368, 482560, 386048};
static const int64_t at_538368_7[3] = {538368, 424704, 0}, at_538624[3] = {538624, 424960, 290048};
static const int64_t at_780544[3] = {780544, 617216, 416768};
static const int64_t at_666368[3] = {666368, 494336, 395520};
static const int64_t at_629504_2[3] = {629504, 424704, 290048};
static const int64_t at_755968[3] = {755968, 564992, 404480};
static const int64_t at_538368_8[3] = {538368, 461568, 314624};
static const int64_t at_583936[3] = {583936, 513792, 334592};
static const int64_t at_737536[3] = {737536, 546560, 354560};
static const int64_t at_772352[3] = {772352, 605952, 412672};
static const int64_t at_691968[3] = {691968, 573184, 385536};
static const int64_t at_714752[3] = {714752, 589568, 366848};

// Bytes from one block's buffer to the next one's.
static const int64_t by_512[3] = {512, 512, 256}, by_24576[3] = {24576, 24576, 16384};
static const int64_t by_256[3] = {256, 256, 256}, by_49152[3] = {49152, 49152, 49152};
static const int64_t by_768[3] = {768, 768, 768}, by_1536[3] = {1536, 1536, 1024};
static const int64_t by_16384[3] = {16384, 16384, 16384}, by_65536[3] = {65536, 65536, 65536};
static const int64_t by_91136[3] = {91136, 65536, 39936}, by_22784[3] = {22784, 16384, 9984};
static const int64_t by_512_2[3] = {512, 256, 256}, by_4096[3] = {4096, 4096, 4096};
static const int64_t by_8192[3] = {8192, 4096, 4096}, by_24576_2[3] = {24576, 24576, 24576};
static const int64_t by_18432[3] = {18432, 18432, 12288}, by_57344[3] = {57344, 57344, 57344};

static const int64_t local_bytes[3] = {1977600, 1673216, 1152768}, sym_bytes = 1052672;

// Collectives that are waited for elsewhere than where they start.
static hap_event *h_ln_2_dw_cut_ready[2], *h_ln_2_dw_1_cut_ready[2], *h_attn_c_proj_dw_cut_ready[2];
static hap_event *h_attn_c_proj_db_cut_ready[2], *h_attn_c_attn_dw_cut_ready[2];
static hap_event *h_attn_c_attn_db_cut_ready[2], *h_ln_1_dw_cut_ready[2], *h_ln_1_dw_1_cut_ready[2];
static hap_event *h_0_ln_2_dw_cut_ready, *h_0_ln_2_dw_1_cut_ready, *h_0_attn_c_proj_dw_cut_ready;
static hap_event *h_0_attn_c_proj_db_cut_ready, *h_0_attn_c_attn_dw_cut_ready;
static hap_event *h_0_attn_c_attn_db_cut_ready, *h_0_ln_1_dw_cut_ready, *h_0_ln_1_dw_1_cut_ready;
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
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc_weight_cut, *mlp_c_fc_weight;
    hap_tensor *mlp_c_fc_bias_cut, *mlp_c_fc_bias, *ln_2_all, *mlp_c_fc, *mlp_act;
    hap_tensor *mlp_c_proj_weight_cut, *mlp_c_proj_weight, *mlp_c_proj_bias_part, *mlp_c_proj_bias;
    hap_tensor *mlp_c_proj, *mlp_c_proj_cut, *mlp_c_proj_cut_scratch, *add_2_2;
    hap_event **attn_c_attn_weight_ready, **attn_c_proj_weight_ready, **mlp_c_fc_weight_ready;
    hap_event **mlp_c_proj_weight_ready;
} h_block;
static h_block h[3];

// What each of the 2 blocks h_2.* works on.
typedef struct h_2_block {
    hap_tensor *mlp_c_proj_weight_cut_2, *mlp_c_proj_weight, *ln_1_sum_all, *ln_1_sum_2;
    hap_tensor *mlp_c_proj_dx, *mlp_c_proj_dw, *mlp_act, *mlp_c_proj_db, *mlp_act_dx, *mlp_c_fc;
    hap_tensor *mlp_c_fc_weight_cut_2, *mlp_c_fc_weight, *mlp_c_fc_dx, *mlp_c_fc_dx_cut;
    hap_tensor *mlp_c_fc_dx_cut_scratch, *mlp_c_fc_dw, *ln_2_all, *mlp_c_fc_db, *ln_2_stats;
    hap_tensor *ln_2_stats_1, *add, *ln_2_sum, *ln_2_m2, *ln_2_weight, *ln_2_dx, *ln_1_sum_cut;
    hap_tensor *ln_2_sum_2, *ln_2_dw, *ln_2_dw_1, *ln_2_dw_cut, *ln_2_dw_cut_scratch;
    hap_tensor *ln_2_dw_1_cut, *ln_2_dw_1_cut_scratch, *attn_c_proj_dx, *attn_c_proj_weight;
    hap_tensor *attn_c_proj_dw, *attn_reshape_4, *attn_c_proj_dw_cut, *attn_c_proj_dw_cut_scratch;
    hap_tensor *attn_c_proj_db, *attn_c_proj_db_cut, *attn_c_proj_db_cut_scratch;
    hap_tensor *attn_reshape_4_dx, *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1;
    hap_tensor *attn_sdpa_dqkv_2, *attn_transpose_3, *attn_transpose, *attn_transpose_2, *attn_sdpa;
    hap_tensor *attn_sdpa_lse, *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx;
    hap_tensor *attn_reshape_2_dx, *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx;
    hap_tensor *attn_c_attn_dx, *attn_c_attn_weight, *attn_c_attn_dw, *ln_1, *attn_c_attn_dw_cut;
    hap_tensor *attn_c_attn_dw_cut_scratch, *attn_c_attn_db, *attn_c_attn_db_cut;
    hap_tensor *attn_c_attn_db_cut_scratch, *ln_1_stats, *ln_1_stats_1, *add_2, *ln_1_sum, *ln_1_m2;
    hap_tensor *ln_1_weight, *ln_1_dx, *ln_1_sum_2_2, *ln_1_dw, *ln_1_dw_1, *ln_1_dw_cut;
    hap_tensor *ln_1_dw_cut_scratch, *ln_1_dw_1_cut, *ln_1_dw_1_cut_scratch, *ln_1_weight_sumsq;
    hap_tensor *ln_1_dw_cut_2, *ln_1_weight_norm, *mlp_c_proj_bias_norm, *ln_1_bias_sumsq;
    hap_tensor *ln_1_dw_1_cut_2, *ln_1_bias_norm, *attn_c_attn_weight_sumsq, *attn_c_attn_dw_cut_2;
    hap_tensor *attn_c_attn_weight_norm, *attn_c_attn_bias_sumsq, *attn_c_attn_db_cut_2;
    hap_tensor *attn_c_attn_bias_norm, *attn_c_proj_weight_sumsq, *attn_c_proj_dw_cut_2;
    hap_tensor *attn_c_proj_weight_norm, *attn_c_proj_bias_sumsq, *attn_c_proj_db_cut_2;
    hap_tensor *attn_c_proj_bias_norm, *ln_2_weight_sumsq, *ln_2_dw_cut_2, *ln_2_weight_norm;
    hap_tensor *ln_2_bias_sumsq, *ln_2_dw_1_cut_2, *ln_2_bias_norm, *mlp_c_fc_weight_sumsq;
    hap_tensor *mlp_c_fc_dw_2, *mlp_c_fc_weight_norm, *mlp_c_fc_bias_sumsq, *mlp_c_fc_db_2;
    hap_tensor *mlp_c_fc_bias_norm, *mlp_c_proj_weight_sumsq, *mlp_c_proj_dw_2;
    hap_tensor *mlp_c_proj_weight_norm, *mlp_c_proj_db_cut, *mlp_c_proj_db_2;
    hap_tensor *mlp_c_proj_bias_sumsq, *mlp_c_proj_bias_norm_2, *ln_1_dw_1_all, *ln_1_weight_2;
    hap_tensor *ln_1_weight_exp_avg, *ln_1_weight_exp_avg_sq, *ln_1_dw_all, *clip, *ln_1_bias;
    hap_tensor *ln_1_bias_exp_avg, *ln_1_bias_exp_avg_sq, *attn_c_attn_weight_cut;
    hap_tensor *attn_c_attn_weight_2, *attn_c_attn_weight_exp_avg, *attn_c_attn_weight_exp_avg_sq;
    hap_tensor *attn_c_attn_db_all, *attn_c_attn_bias, *attn_c_attn_bias_exp_avg;
    hap_tensor *attn_c_attn_bias_exp_avg_sq, *attn_c_proj_weight_cut, *attn_c_proj_weight_2;
    hap_tensor *attn_c_proj_weight_exp_avg, *attn_c_proj_weight_exp_avg_sq, *attn_c_proj_db_all;
    hap_tensor *ln_2_dw_all, *attn_c_proj_bias, *attn_c_proj_bias_exp_avg;
    hap_tensor *attn_c_proj_bias_exp_avg_sq, *ln_2_dw_1_all, *ln_2_weight_2, *ln_2_weight_exp_avg;
    hap_tensor *ln_2_weight_exp_avg_sq, *ln_2_bias, *ln_2_bias_exp_avg, *ln_2_bias_exp_avg_sq;
    hap_tensor *mlp_c_fc_weight_cut_3, *mlp_c_fc_weight_2, *mlp_c_fc_weight_exp_avg;
    hap_tensor *mlp_c_fc_weight_exp_avg_sq, *mlp_c_fc_db_all, *mlp_c_fc_bias;
    hap_tensor *mlp_c_fc_bias_exp_avg, *mlp_c_fc_bias_exp_avg_sq, *mlp_c_proj_weight_cut_3;
    hap_tensor *mlp_c_proj_weight_2, *mlp_c_proj_weight_exp_avg, *mlp_c_proj_weight_exp_avg_sq;
    hap_tensor *ln_1_dw_all_2, *ln_1_dw_cut_3, *mlp_c_proj_bias, *mlp_c_proj_bias_exp_avg;
    hap_tensor *mlp_c_proj_bias_exp_avg_sq;
    hap_event **ln_2_dw_cut_ready, **ln_2_dw_1_cut_ready, **attn_c_proj_dw_cut_ready;
    hap_event **attn_c_proj_db_cut_ready, **attn_c_attn_dw_cut_ready, **attn_c_attn_db_cut_ready;
    hap_event **ln_1_dw_cut_ready, **ln_1_dw_1_cut_ready, **ln_1_dw_cut_ready_2;
    hap_event **ln_1_dw_1_cut_ready_2, **attn_c_attn_dw_cut_ready_2, **attn_c_attn_db_cut_ready_2;
    hap_event **attn_c_proj_dw_cut_ready_2, **attn_c_proj_db_cut_ready_2, **ln_2_dw_cut_ready_2;
    hap_event **ln_2_dw_1_cut_ready_2, **ln_1_dw_all_ready, **attn_c_attn_weight_ready;
    hap_event **attn_c_proj_weight_ready, **mlp_c_fc_weight_ready, **mlp_c_proj_weight_ready;
    hap_event **ln_1_dw_all_ready_2;
} h_2_block;
static h_2_block h_2[2];

// One of the 3 blocks h, forward: 0.335 ms of computation.
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
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight); // [64 192@cut_192]    0.00385 ms
    hap_cut(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias);     // [192@cut_192]    0.00104 ms

    // ln_2
    // together    0.0638 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][3]){{0, 1}, {1, 1}, {2, 1}});
    // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
    hap_event *e_ln_2_all =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &b->ln_2_all, &b->ln_2, NULL);
    hap_wait(r, e_ln_2_all); // 0.0269 ms hidden

    // mlp
    // y = a b + c    [8 32 192@cut_192]    0.0618 ms
    op_linear(r, b->mlp_c_fc, b->ln_2_all, b->mlp_c_fc_weight_cut, b->mlp_c_fc_bias_cut, HAP_NN);
    hap_overlapped(r);
    op_gelu(r, b->mlp_act, b->mlp_c_fc, true); // y = gelu x    [8 32 192@cut_192]    0.0152 ms
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00385 ms
    hap_partial(r, AXIS(0), b->mlp_c_proj_bias_part, b->mlp_c_proj_bias); // [64]+    0.00106 ms
    // together    0.076 ms, one after the other 0.0989 ms; 69 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][3]){{1, 1}, {2, 1}, {0, 1}});
    op_linear(r, b->mlp_c_proj, b->mlp_act, b->mlp_c_proj_weight_cut, b->mlp_c_proj_bias_part,
              HAP_NN); // y = a b + c    [8 32 64]+    0.0618 ms
    // + -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.0392 ms
    hap_event *e_mlp_c_proj_cut = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_proj_cut, &b->mlp_c_proj, b->mlp_c_proj_cut_scratch);
    hap_overlapped(r);
    hap_wait(r, e_mlp_c_proj_cut); // 0.00746 ms hidden

    // add
    op_add(r, b->add_2_2, b->add, b->mlp_c_proj_cut); // y = a + b    [8@rows 32 64]    0.00868 ms
}

// One of the 2 blocks h_2, backward: 0.622 ms of computation.
static void h_2_backward(hap_rank *r, const h_2_block *b)
{
    // mlp
    hap_cut(r, b->mlp_c_proj_weight_cut_2, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00385 ms

    // ln_f
    // together    0.0638 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][3]){{0, 1}, {1, 1}, {2, 1}});
    // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
    hap_event *e_ln_1_sum_all =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &b->ln_1_sum_all, &b->ln_1_sum_2, NULL);
    hap_wait(r, e_ln_1_sum_all); // 0.0269 ms hidden

    // mlp
    // y = a b'    [8 32 192@cut_192]    0.0618 ms
    op_linear(r, b->mlp_c_proj_dx, b->ln_1_sum_all, b->mlp_c_proj_weight_cut_2, NULL, HAP_NT);
    hap_overlapped(r);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_1_sum_all); // [192@cut_192 64]    0.0618 ms
    op_sum(r, b->mlp_c_proj_db, b->ln_1_sum_all, HAP_INTS(0, 1), false); // [64]    0.0113 ms
    // y = a gelu'(b)    [8 32 192@cut_192]    0.0224 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    hap_cut(r, b->mlp_c_fc_weight_cut_2, b->mlp_c_fc_weight); // [64 192@cut_192]    0.00385 ms
    // y = a b'    [8 32 64]+    0.0618 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight_cut_2, NULL, HAP_NT);
    // + -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.0392 ms
    hap_event *e_mlp_c_fc_dx_cut =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_fc_dx_cut, &b->mlp_c_fc_dx,
                                  b->mlp_c_fc_dx_cut_scratch);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2_all, b->mlp_act_dx); // [64 192@cut_192]    0.0618 ms
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192@cut_192]    0.00815 ms
    hap_wait(r, e_mlp_c_fc_dx_cut);                                  // 0.0392 ms hidden

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx_cut, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // [8@rows 32]    0.00632 ms
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx_cut, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05);   // [8@rows 32 64]    0.00888 ms
    hap_cut(r, b->ln_1_sum_cut, b->ln_1_sum_all);          // [8@rows 32 64]    0.0051 ms
    op_add(r, b->ln_2_sum_2, b->ln_1_sum_cut, b->ln_2_dx); // [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx_cut, b->add, b->ln_2_sum,
                       b->ln_2_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->ln_2_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_2_dw_cut,
                                                      &b->ln_2_dw, b->ln_2_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->ln_2_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->ln_2_dw_1_cut, &b->ln_2_dw_1, b->ln_2_dw_1_cut_scratch);

    // attn
    // y = a b'    [8@rows 32 64]    0.0228 ms
    op_linear(r, b->attn_c_proj_dx, b->ln_2_sum_2, b->attn_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_sum_2); // [64 64]+    0.0228 ms
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0224 ms
    *b->attn_c_proj_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &b->attn_c_proj_dw_cut,
                                  &b->attn_c_proj_dw, b->attn_c_proj_dw_cut_scratch);
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->attn_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &b->attn_c_proj_db_cut,
                                  &b->attn_c_proj_db, b->attn_c_proj_db_cut_scratch);
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
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0329 ms
    *b->attn_c_attn_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &b->attn_c_attn_dw_cut,
                                  &b->attn_c_attn_dw, b->attn_c_attn_dw_cut_scratch);
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
    // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0124 ms
    *b->attn_c_attn_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &b->attn_c_attn_db_cut,
                                  &b->attn_c_attn_db, b->attn_c_attn_db_cut_scratch);

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_stats, b->ln_1_stats_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                      b->ln_1_m2, b->ln_1_weight, 1e-05); // [8@rows 32]    0.00632 ms
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_stats,
                b->ln_1_stats_1, b->ln_1_weight, 1e-05);   // [8@rows 32 64]    0.00888 ms
    op_add(r, b->ln_1_sum_2_2, b->ln_2_sum_2, b->ln_1_dx); // [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_dw_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                       b->ln_1_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_1_dw_cut,
                                                      &b->ln_1_dw, b->ln_1_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->ln_1_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->ln_1_dw_1_cut, &b->ln_1_dw_1, b->ln_1_dw_1_cut_scratch);
}

// One of the 2 blocks h_2, backward: 0.0313 ms of computation.
static void h_2_backward_2(hap_rank *r, const h_2_block *b)
{
    hap_wait(r, *b->ln_1_dw_cut_ready_2); // 0.0121 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_cut_2); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq);
    hap_wait(r, *b->ln_1_dw_1_cut_ready_2);              // 0.0121 ms hidden
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1_cut_2); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->attn_c_attn_dw_cut_ready_2);                           // 0.0329 ms hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_cut_2);     // []+    0.00292 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    hap_wait(r, *b->attn_c_attn_db_cut_ready_2);                     // 0.0124 ms hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_cut_2); // []+    0.00104 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    hap_wait(r, *b->attn_c_proj_dw_cut_ready_2);                       // 0.0224 ms hidden
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_cut_2); // []+    0.00164 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    hap_wait(r, *b->attn_c_proj_db_cut_ready_2);                     // 0.0121 ms hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_cut_2); // []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    hap_wait(r, *b->ln_2_dw_cut_ready_2);                // 0.0121 ms hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_cut_2); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    hap_wait(r, *b->ln_2_dw_1_cut_ready_2);              // 0.0121 ms hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1_cut_2); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []+    0.001 ms
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_2); // y = sum x^2    []+    0.00278 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_2); // y = sum x^2    []+    0.00103 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_2); // y = sum x^2    []+    0.00278 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_cut(r, b->mlp_c_proj_db_cut, b->mlp_c_proj_db_2);        // [64@cut_64_lp]    0.00103 ms
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_cut); // y = sum x^2    []+    0.00102 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 2 blocks h_2, update: 0.072 ms of computation.
static void h_2_update(hap_rank *r, const h_2_block *b)
{
    // update
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_ln_1_dw_1_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->ln_1_dw_1_all, &b->ln_1_dw_1_cut_2, NULL);
    hap_wait(r, *b->ln_1_dw_all_ready);
    op_adam(r, b->ln_1_weight_2, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq, b->ln_1_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_wait(r, e_ln_1_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_1_bias, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_2); // [64@cut_64 192]    0.00407 ms
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_cut_2, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0144 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0237 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->attn_c_attn_weight_2, &b->attn_c_attn_weight_cut, NULL);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.0122 ms
    hap_event *e_attn_c_attn_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->attn_c_attn_db_all, &b->attn_c_attn_db_cut_2, NULL);
    hap_wait(r, e_attn_c_attn_db_all);
    op_adam(r, b->attn_c_attn_bias, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_2); // [64@heads 64]    0.00202 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut_2, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00548 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0183 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->attn_c_proj_weight_2, &b->attn_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_attn_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->attn_c_proj_db_all, &b->attn_c_proj_db_cut_2, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_ln_2_dw_all = coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_2_dw_all,
                                                     &b->ln_2_dw_cut_2, NULL);
    hap_wait(r, e_attn_c_proj_db_all);
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_ln_2_dw_1_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->ln_2_dw_1_all, &b->ln_2_dw_1_cut_2, NULL);
    hap_wait(r, e_ln_2_dw_all); // 0.00114 ms hidden
    op_adam(r, b->ln_2_weight_2, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq, b->ln_2_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_wait(r, e_ln_2_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_2_bias, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_cut(r, b->mlp_c_fc_weight_cut_3, b->mlp_c_fc_weight_2); // [64 192@cut_192]    0.00385 ms
    // a -= lr b / sqrt c    [64 192@cut_192]    0.0135 ms
    op_adam(r, b->mlp_c_fc_weight_cut_3, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_2, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 1 @cut_192 -> whole    [64 192]    48.0 KiB    0.0383 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_fc_weight_2, &b->mlp_c_fc_weight_cut_3, NULL);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.0123 ms
    hap_event *e_mlp_c_fc_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->mlp_c_fc_db_all, &b->mlp_c_fc_db_2, NULL);
    hap_wait(r, e_mlp_c_fc_db_all);
    op_adam(r, b->mlp_c_fc_bias, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
    // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00385 ms
    hap_cut(r, b->mlp_c_proj_weight_cut_3, b->mlp_c_proj_weight_2);
    op_adam(r, b->mlp_c_proj_weight_cut_3, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_2, b->clip, 1, 0.9, 0.95, 1e-08, 0.1,
            true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0135 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.026 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_proj_weight_2, &b->mlp_c_proj_weight_cut_3, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->ln_1_dw_all_ready_2 = coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_1_dw_all_2,
                                                    &b->ln_1_dw_cut_3, NULL);
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_2, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
}

// One of the 3 blocks h, update: 0 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0237 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.0183 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0383 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.026 ms hidden
}

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "a94a3bb305aca178", 3);
    hap_mesh(r, 1, (const int[]){3});
    hap_classes(r, (const int[]){0, 1, 2});
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
    const hap_dim cut_64_192[] = {CUT(0, 64, cut_64), WHOLE(192)};
    const hap_dim heads_64[] = {CUT_IN(0, 1, 4, 16, heads), WHOLE(64)};
    const hap_dim of_64_cut_192[] = {WHOLE(64), CUT(0, 192, cut_192)};
    const hap_dim cut_192_64[] = {CUT(0, 192, cut_192), WHOLE(64)};
    const hap_dim rows_32[] = {CUT(0, 8, rows), WHOLE(32)};
    const hap_dim rows_32_64[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(64)};
    const hap_dim of_1_32_64[] = {WHOLE(1), WHOLE(32), WHOLE(64)};
    const hap_dim rows_32_192[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(192)};
    const hap_dim rows_32_4_16[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(4), WHOLE(16)};
    const hap_dim rows_4_32_16[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32), WHOLE(16)};
    const hap_dim rows_4_32[] = {CUT(0, 8, rows), WHOLE(4), WHOLE(32)};
    const hap_dim of_8_32_64[] = {WHOLE(8), WHOLE(32), WHOLE(64)};
    const hap_dim cut_192_of_192[] = {CUT(0, 192, cut_192)};
    const hap_dim of_8_32_cut_192[] = {WHOLE(8), WHOLE(32), CUT(0, 192, cut_192)};
    const hap_dim scratch_18432[] = {WHOLE(18432)};
    const hap_dim rows_32_211[] = {CUT(0, 8, rows), WHOLE(32), WHOLE(211)};
    const hap_dim of_8_33[] = {WHOLE(8), WHOLE(33)};
    const hap_dim scratch_19200[] = {WHOLE(19200)};
    const hap_dim cut_64_of_64[] = {CUT(0, 64, cut_64)};
    const hap_dim scratch_6144[] = {WHOLE(6144)};
    const hap_dim scratch_13824[] = {WHOLE(13824)};
    const hap_dim cut_3_of_192[] = {CUT_IN(0, 1, 3, 64, cut_3)};
    const hap_dim of_32_cut_64_lp[] = {WHOLE(32), CUT(0, 64, cut_64_lp)};
    const hap_dim cut_64_lp_of_64[] = {CUT(0, 64, cut_64_lp)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_1274624, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1271808, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_SYM, at_491520, HAP_F32, 2, of_211_64); // [211 64]
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_LOCAL, at_310272, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_318464, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_318720, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_319232, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_344832, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_370432, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_378624, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_weight_exp_avg = hap_at(r, SEG_LOCAL, at_386816, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg", h_2_ln_1_weight_exp_avg);
    hap_tensor *h_2_ln_1_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_387072, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg_sq", h_2_ln_1_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_bias_exp_avg = hap_at(r, SEG_LOCAL, at_387328, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg", h_2_ln_1_bias_exp_avg);
    hap_tensor *h_2_ln_1_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_387584, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg_sq", h_2_ln_1_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_387840, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg", h_2_attn_c_attn_weight_exp_avg);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_406272, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg_sq",
              h_2_attn_c_attn_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg = hap_at(r, SEG_LOCAL, at_424704, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg", h_2_attn_c_attn_bias_exp_avg);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_425472, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg_sq", h_2_attn_c_attn_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_426240, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg", h_2_attn_c_proj_weight_exp_avg);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_434432, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg_sq",
              h_2_attn_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_442624, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg", h_2_attn_c_proj_bias_exp_avg);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_442880, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg_sq", h_2_attn_c_proj_bias_exp_avg_sq);
    hap_tensor *h_2_ln_2_weight_exp_avg = hap_at(r, SEG_LOCAL, at_443136, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg", h_2_ln_2_weight_exp_avg);
    hap_tensor *h_2_ln_2_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_443392, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg_sq", h_2_ln_2_weight_exp_avg_sq);
    hap_tensor *h_2_ln_2_bias_exp_avg = hap_at(r, SEG_LOCAL, at_443648, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg", h_2_ln_2_bias_exp_avg);
    hap_tensor *h_2_ln_2_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_443904, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg_sq", h_2_ln_2_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_444160, HAP_F32, 2, of_64_cut_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg", h_2_mlp_c_fc_weight_exp_avg);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_466944, HAP_F32, 2, of_64_cut_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg_sq", h_2_mlp_c_fc_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg = hap_at(r, SEG_LOCAL, at_489728, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg", h_2_mlp_c_fc_bias_exp_avg);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_490496, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg_sq", h_2_mlp_c_fc_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_491264, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg", h_2_mlp_c_proj_weight_exp_avg);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_514048, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg_sq", h_2_mlp_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_536832, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg", h_2_mlp_c_proj_bias_exp_avg);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_537088, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg_sq", h_2_mlp_c_proj_bias_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_537344, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_537600, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_537856, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_538112, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_318976, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_538368, HAP_I64, 2, rows_32);
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1085184, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_1873920, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_1874432, HAP_F32, 2, rows_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_1937920, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1792768, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_1183488, HAP_I64, 2, of_8_33);   // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_1185792, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_1265408, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_1265920, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_1183488, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_1184256, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_1183488, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_745472, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_745472, HAP_F32, 0, NULL);   // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_1183488, HAP_F32, 0, NULL);     // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_1976832, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_1183744, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_1266432, HAP_F32, 0, NULL);   // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_1264640, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1183488_2, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_1792768_2, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_1883904, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *lm_head_dw_cut = hap_at(r, SEG_LOCAL, at_1937920_2, HAP_F32, 2, vocab_64);
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_1183488_3, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_1184000, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_1977344, HAP_F32, 1, of_64);       // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_1977088, HAP_F32, 1, of_64);     // [64]+
    hap_tensor *ln_f_dw_all = hap_at(r, SEG_LOCAL, at_1977344, HAP_F32, 1, of_64);   // [64]
    hap_tensor *ln_f_dw_1_all = hap_at(r, SEG_LOCAL, at_1977088, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_1_ln_1_sum_all = hap_at(r, SEG_SYM, at_897024, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_mlp_c_proj_weight_cut_2 =
        hap_at(r, SEG_LOCAL, at_629504, HAP_F32, 2, cut_192_64);
    hap_tensor *h_0_mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_902912, HAP_F32, 3, of_8_32_cut_192);
    hap_tensor *h_0_mlp_act_dx = hap_at(r, SEG_LOCAL, at_802560_2, HAP_F32, 3, of_8_32_cut_192);
    hap_tensor *h_0_mlp_c_fc_weight_cut_2 =
        hap_at(r, SEG_LOCAL, at_603904, HAP_F32, 2, of_64_cut_192);
    // [8 32 64]+
    hap_tensor *h_0_mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_mlp_c_fc_dx_cut = hap_at(r, SEG_LOCAL, at_603904_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_stats = hap_at(r, SEG_LOCAL, at_562944, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_563456, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_dx = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 3, rows_32_64);
    hap_tensor *h_1_ln_1_sum_cut = hap_at(r, SEG_LOCAL, at_802560_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_802560_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_dw = hap_at(r, SEG_LOCAL, at_662272, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_2_dw_1 = hap_at(r, SEG_LOCAL, at_662016, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 3, rows_32_64);
    // [64 64]+
    hap_tensor *h_0_attn_c_proj_dw = hap_at(r, SEG_LOCAL, at_851712, HAP_F32, 2, of_64_64);
    hap_tensor *h_0_attn_c_proj_db = hap_at(r, SEG_LOCAL, at_662528, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_587520, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_636672, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_538368_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_562944_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_612096, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_612096, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_2_dx =
        hap_at(r, SEG_LOCAL, at_636672_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_636672_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_dx = hap_at(r, SEG_LOCAL, at_827136, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_dx = hap_at(r, SEG_LOCAL, at_827136, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_split_dx = hap_at(r, SEG_LOCAL, at_538368_3, HAP_F32, 3, rows_32_192);
    hap_tensor *h_0_attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_827136_2, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_0_attn_c_attn_dw = hap_at(r, SEG_LOCAL, at_612096, HAP_F32, 2, of_64_192);
    hap_tensor *h_0_attn_c_attn_db = hap_at(r, SEG_LOCAL, at_661248, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_0_ln_1_stats = hap_at(r, SEG_LOCAL, at_562944_3, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_563456_2, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_dx = hap_at(r, SEG_LOCAL, at_538368_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_2 = hap_at(r, SEG_LOCAL, at_802560_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_ln_1_dw = hap_at(r, SEG_LOCAL, at_572416, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_1_dw_1 = hap_at(r, SEG_LOCAL, at_572160, HAP_F32, 1, of_64); // [64]+
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_538368_4, HAP_F32, 3, of_1_32_64);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_563968, HAP_F32, 2, of_32_64); // [32 64]
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_538368_4, HAP_F32, 2, vocab_64);
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_1937920_2, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL); // []+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_LOCAL, at_538368_5, HAP_F32, 2, of_32_cut_64_lp);
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_545280, HAP_F32, 0, NULL);      // []+
    hap_tensor *h_2_ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_1_weight_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_1_bias_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_weight_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);
    hap_tensor *h_2_ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_2_weight_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_2_bias_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_fc_weight_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_mlp_c_fc_bias_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);   // []+
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_weight_norm_all = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL);   // []
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_545024, HAP_F32, 0, NULL);    // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_780544, HAP_F32, 0, NULL);              // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_LOCAL, at_666368, HAP_F32, 2, vocab_64);
    hap_tensor *h_2_ln_1_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_attn_c_attn_weight_cut =
        hap_at(r, SEG_LOCAL, at_737536, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_attn_c_attn_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192);
    hap_tensor *h_2_attn_c_proj_weight_cut = hap_at(r, SEG_LOCAL, at_772352, HAP_F32, 2, heads_64);
    hap_tensor *h_2_attn_c_proj_db_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_2_dw_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);   // [64]
    hap_tensor *h_2_ln_2_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_mlp_c_fc_weight_cut_3 =
        hap_at(r, SEG_LOCAL, at_691968, HAP_F32, 2, of_64_cut_192);
    hap_tensor *h_2_mlp_c_fc_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192);
    hap_tensor *h_2_mlp_c_proj_weight_cut_3 =
        hap_at(r, SEG_LOCAL, at_714752, HAP_F32, 2, cut_192_64);

    // Scratch of collectives.
    hap_tensor *ce_sum_all_scratch = hap_at(r, SEG_SYM, at_749568, HAP_F32, 1, of_192);
    hap_tensor *lm_head_dw_cut_scratch = hap_at(r, SEG_SYM, at_745472, HAP_F32, 1, scratch_19200);
    hap_tensor *h_0_mlp_c_fc_dx_cut_scratch =
        hap_at(r, SEG_SYM, at_823296, HAP_F32, 1, scratch_18432);
    hap_tensor *h_0_ln_2_dw_cut_scratch = hap_at(r, SEG_SYM, at_618496, HAP_F32, 1, of_192);
    hap_tensor *h_0_ln_2_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_614400, HAP_F32, 1, of_192);
    hap_tensor *h_0_attn_c_proj_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_880640, HAP_F32, 1, scratch_6144);
    hap_tensor *h_0_attn_c_proj_db_cut_scratch = hap_at(r, SEG_SYM, at_905216, HAP_F32, 1, of_192);
    hap_tensor *h_0_attn_c_attn_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_823296, HAP_F32, 1, scratch_13824);
    hap_tensor *h_0_attn_c_attn_db_cut_scratch = hap_at(r, SEG_SYM, at_909312, HAP_F32, 1, of_192);
    hap_tensor *h_0_ln_1_dw_cut_scratch = hap_at(r, SEG_SYM, at_917504, HAP_F32, 1, of_192);
    hap_tensor *h_0_ln_1_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_913408, HAP_F32, 1, of_192);

    hap_tensor *h_ln_1_sum[3], *h_ln_1_m2[3], *h_ln_1[3], *h_ln_1_weight[3], *h_ln_1_bias[3];
    hap_tensor *h_attn_c_attn_weight[3], *h_attn_c_attn_bias[3], *h_attn_transpose[3];
    hap_tensor *h_attn_transpose_2[3], *h_attn_transpose_3[3], *h_attn_sdpa[3], *h_attn_sdpa_lse[3];
    hap_tensor *h_attn_reshape_4[3], *h_attn_c_proj_weight[3], *h_attn_c_proj_bias[3], *h_add[3];
    hap_tensor *h_ln_2_sum[3], *h_ln_2_m2[3], *h_ln_2_weight[3], *h_ln_2_bias[3];
    hap_tensor *h_mlp_c_fc_weight[3], *h_mlp_c_fc_bias[3], *h_ln_2_all[3], *h_mlp_c_fc[3];
    hap_tensor *h_mlp_act[3], *h_mlp_c_proj_weight[3], *h_mlp_c_proj_bias[3], *ln_f_dx_2[3];
    hap_tensor *h_mlp_c_proj_dw[3], *h_mlp_c_proj_db[3], *h_mlp_c_fc_dw[3], *h_mlp_c_fc_db[3];
    hap_tensor *h_ln_2_dw_cut[3], *h_ln_2_dw_1_cut[3], *h_attn_c_proj_dw_cut[3];
    hap_tensor *h_attn_c_proj_db_cut[3], *h_attn_c_attn_dw_cut[3], *h_attn_c_attn_db_cut[3];
    hap_tensor *h_ln_1_dw_cut[3], *h_ln_1_dw_1_cut[3], *h_1_mlp_c_proj_bias_norm_2[3];
    hap_tensor *h_ln_1_dw_all[3];
    for (int i = 0; i < 3; i++) {
        h_ln_1_sum[i] = hap_at_layer(r, SEG_LOCAL, at_1968640, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1_m2[i] = hap_at_layer(r, SEG_LOCAL, at_1970176, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1[i] = hap_at_layer(r, SEG_LOCAL, at_1276672, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_1_weight[i] = hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), h_ln_1_weight[i], HAP_FILL(1));
        h_ln_1_bias[i] = hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), h_ln_1_bias[i], HAP_FILL(0));
        h_attn_c_attn_weight[i] =
            hap_at_layer(r, SEG_SYM, at_0, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), h_attn_c_attn_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_attn_c_attn_bias[i] = hap_at_layer(r, SEG_LOCAL, at_1536, by_768, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), h_attn_c_attn_bias[i],
                  HAP_FILL(0));
        h_attn_transpose[i] =
            hap_at_layer(r, SEG_LOCAL, at_1350400, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1424128, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_3[i] =
            hap_at_layer(r, SEG_LOCAL, at_1497856, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa[i] =
            hap_at_layer(r, SEG_LOCAL, at_1571584, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa_lse[i] =
            hap_at_layer(r, SEG_LOCAL, at_1963520, by_1536, i, HAP_F32, 3, rows_4_32);
        h_attn_reshape_4[i] =
            hap_at_layer(r, SEG_LOCAL, at_1645312, by_24576, i, HAP_F32, 3, rows_32_64);
        h_attn_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_147456, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), h_attn_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_attn_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_3840, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), h_attn_c_proj_bias[i],
                  HAP_FILL(0));
        h_add[i] = hap_at_layer(r, SEG_LOCAL, at_1719040, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_2_sum[i] = hap_at_layer(r, SEG_LOCAL, at_1971712, by_512, i, HAP_F32, 2, rows_32);
        h_ln_2_m2[i] = hap_at_layer(r, SEG_LOCAL, at_1973248, by_512, i, HAP_F32, 2, rows_32);
        h_ln_2_weight[i] = hap_at_layer(r, SEG_LOCAL, at_4608, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), h_ln_2_weight[i], HAP_FILL(1));
        h_ln_2_bias[i] = hap_at_layer(r, SEG_LOCAL, at_5376, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), h_ln_2_bias[i], HAP_FILL(0));
        h_mlp_c_fc_weight[i] =
            hap_at_layer(r, SEG_SYM, at_196608, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), h_mlp_c_fc_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_mlp_c_fc_bias[i] = hap_at_layer(r, SEG_LOCAL, at_6144, by_768, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), h_mlp_c_fc_bias[i],
                  HAP_FILL(0));
        h_ln_2_all[i] = hap_at_layer(r, SEG_SYM, at_548864, by_65536, i, HAP_F32, 3, of_8_32_64);
        h_mlp_c_fc[i] =
            hap_at_layer(r, SEG_LOCAL, at_538368, by_91136, i, HAP_F32, 3, of_8_32_cut_192);
        h_mlp_act[i] =
            hap_at_layer(r, SEG_LOCAL, at_811776, by_91136, i, HAP_F32, 3, of_8_32_cut_192);
        h_mlp_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_344064, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), h_mlp_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_mlp_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_8448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), h_mlp_c_proj_bias[i],
                  HAP_FILL(0));
        ln_f_dx_2[i] = hap_at(r, SEG_LOCAL, at_1250048, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        h_mlp_c_proj_dw[i] =
            hap_at_layer(r, SEG_LOCAL, at_1747200, by_22784, i, HAP_F32, 2, cut_192_64);
        h_mlp_c_proj_db[i] = hap_at_layer(r, SEG_LOCAL, at_1974272, by_256, i, HAP_F32, 1, of_64);
        h_mlp_c_fc_dw[i] =
            hap_at_layer(r, SEG_LOCAL, at_1815552_2, by_22784, i, HAP_F32, 2, of_64_cut_192);
        h_mlp_c_fc_db[i] =
            hap_at_layer(r, SEG_LOCAL, at_1967104, by_512_2, i, HAP_F32, 1, cut_192_of_192);
        h_ln_2_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1975040, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_2_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1972224, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1678080, by_8192, i, HAP_F32, 2, heads_64);
        h_attn_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1702656, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_attn_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1288960, by_18432, i, HAP_F32, 2, cut_64_192);
        h_attn_c_attn_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1345792, by_256, i, HAP_F32, 1, cut_3_of_192);
        h_ln_1_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1134592, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_1_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1133824, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_1_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i % 2, HAP_F32, 0, NULL); // []+
        h_ln_1_dw_all[i] = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);        // [64]
    }

    hap_tensor *h_2_add_2_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1085184, by_24576, i, HAP_F32, 3, rows_32_64);
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_720640, HAP_F32, 3, rows_32_192);
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_994048, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_1043200, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_1018624, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_1043200, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_1018624, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_994048, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_1645312, by_24576, i, HAP_F32, 4, rows_32_4_16);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_1719040, by_24576, i, HAP_F32, 3, rows_32_64);
        b->ln_2 = hap_at(r, SEG_LOCAL, at_994048_2, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->mlp_c_fc_weight_cut = hap_at(r, SEG_LOCAL, at_1018624_2, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_bias_cut = hap_at(r, SEG_LOCAL, at_1041408, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_proj_weight_cut = hap_at(r, SEG_LOCAL, at_1249024, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_bias_part = hap_at(r, SEG_LOCAL, at_1273856, HAP_F32, 1, of_64); // [64]+
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_1158912, HAP_F32, 3, of_8_32_64);      // [8 32 64]+
        b->mlp_c_proj_cut = hap_at(r, SEG_LOCAL, at_1224448, HAP_F32, 3, rows_32_64);
        b->mlp_c_proj_cut_scratch = hap_at(r, SEG_SYM, at_745472, HAP_F32, 1, scratch_18432);
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
        b->ln_2_weight = h_ln_2_weight[i];
        b->ln_2_bias = h_ln_2_bias[i];
        b->mlp_c_fc_weight = h_mlp_c_fc_weight[i];
        b->mlp_c_fc_bias = h_mlp_c_fc_bias[i];
        b->ln_2_all = h_ln_2_all[i];
        b->mlp_c_fc = h_mlp_c_fc[i];
        b->mlp_act = h_mlp_act[i];
        b->mlp_c_proj_weight = h_mlp_c_proj_weight[i];
        b->mlp_c_proj_bias = h_mlp_c_proj_bias[i];
        b->add_2_2 = h_2_add_2_2[i + 1];
    }
    h[0].attn_c_attn_weight_ready = &h_attn_c_attn_weight_ready[0];
    h[1].attn_c_attn_weight_ready = &h_attn_c_attn_weight_ready[1];
    h[2].attn_c_attn_weight_ready = &h_2_attn_c_attn_weight_ready;
    h[0].attn_c_proj_weight_ready = &h_attn_c_proj_weight_ready[0];
    h[1].attn_c_proj_weight_ready = &h_attn_c_proj_weight_ready[1];
    h[2].attn_c_proj_weight_ready = &h_2_attn_c_proj_weight_ready;
    h[0].mlp_c_fc_weight_ready = &h_mlp_c_fc_weight_ready[0];
    h[1].mlp_c_fc_weight_ready = &h_mlp_c_fc_weight_ready[1];
    h[2].mlp_c_fc_weight_ready = &h_2_mlp_c_fc_weight_ready;
    h[0].mlp_c_proj_weight_ready = &h_mlp_c_proj_weight_ready[0];
    h[1].mlp_c_proj_weight_ready = &h_mlp_c_proj_weight_ready[1];
    h[2].mlp_c_proj_weight_ready = &h_2_mlp_c_proj_weight_ready;

    for (int i = 0; i < 2; i++) {
        h_2_block *b = &h_2[i];
        b->mlp_c_proj_weight_cut_2 = hap_at(r, SEG_LOCAL, at_1815552, HAP_F32, 2, cut_192_64);
        b->ln_1_sum_all = hap_at(r, SEG_SYM, at_897024, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1158912_2, HAP_F32, 3, of_8_32_cut_192);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_994048_3, HAP_F32, 3, of_8_32_cut_192);
        b->mlp_c_fc_weight_cut_2 = hap_at(r, SEG_LOCAL, at_1224448_2, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_1158912_2, HAP_F32, 3, of_8_32_64); // [8 32 64]+
        b->mlp_c_fc_dx_cut = hap_at(r, SEG_LOCAL, at_1224448_2, HAP_F32, 3, rows_32_64);
        b->mlp_c_fc_dx_cut_scratch = hap_at(r, SEG_SYM, at_823296, HAP_F32, 1, scratch_18432);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_769792, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_770304, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_994048_4, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_1_sum_cut = hap_at(r, SEG_LOCAL, at_1250048, HAP_F32, 3, rows_32_64);
        b->ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_1250048, HAP_F32, 3, rows_32_64);
        // [64]+
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_1976320, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1975808, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1011712, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_737280, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_994048_5, HAP_F32, 3, rows_32_64);
        // [64 64]+
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_769792_2, by_16384, 1 - i, HAP_F32, 2, of_64_64);
        b->attn_c_proj_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_962560, by_24576_2, 1 - i, HAP_F32, 1, scratch_6144);
        b->attn_c_proj_db =
            hap_at_layer(r, SEG_LOCAL, at_1703424, by_256, 1 - i, HAP_F32, 1, of_64); // [64]+
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1019904, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_994048_5, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_1043200_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1183488_4, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_994048_4, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_1018624_3, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_1158912_3, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1158912_3, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_1183488_5, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1183488_5, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1208064, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1208064, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_994048_4, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_1158912_3, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_671488, by_49152, 1 - i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_622592, by_57344, 1 - i, HAP_F32, 1, scratch_13824);
        b->attn_c_attn_db =
            hap_at_layer(r, SEG_LOCAL, at_1344256, by_768, 1 - i, HAP_F32, 1, of_192); // [192]+
        b->attn_c_attn_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1028096, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_802560, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_803072, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_994048_4, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        // [64]+
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_1347072, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1346560, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1044480, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1036288, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368_6, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_weight_norm = hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368_6, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);        // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);          // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);        // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);   // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_weight_norm = hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);     // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        // []+
        b->mlp_c_fc_bias_norm = hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_545024, by_256, i, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_db_cut = hap_at(r, SEG_LOCAL, at_538368_7, HAP_F32, 1, cut_64_lp_of_64);
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_538624, HAP_F32, 0, NULL); // []+
        b->ln_1_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64);          // [64]
        b->ln_1_weight_exp_avg = hap_at_layer(r, SEG_LOCAL, at_9216, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg"), b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_9728, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_10240, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_10752, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_629504_2, by_18432, i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_11264, by_18432, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_48128, by_18432, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192); // [192]
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_84992, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_86528, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_755968, by_8192, i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_88064, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_104448, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_db_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
        b->ln_2_dw_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);        // [64]
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_120832, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_121344, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_121856, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_122368, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_122880, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_123392, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut_3 =
            hap_at_layer(r, SEG_LOCAL, at_538368_8, by_22784, i, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_123904, by_22784, i, HAP_F32, 2, of_64_cut_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_169472, by_22784, i, HAP_F32, 2, of_64_cut_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192); // [192]
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_215040, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_216576, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut_3 =
            hap_at_layer(r, SEG_LOCAL, at_583936, by_22784, i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_218112, by_22784, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_263680, by_22784, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_309248, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_309760, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg_sq"),
                  b->mlp_c_proj_bias_exp_avg_sq);
        b->mlp_c_proj_weight = h_mlp_c_proj_weight[2 - i];
        b->ln_1_sum_2 = ln_f_dx_2[2 - i];
        b->mlp_c_proj_dw = h_mlp_c_proj_dw[2 - i];
        b->mlp_act = h_mlp_act[2 - i];
        b->mlp_c_proj_db = h_mlp_c_proj_db[2 - i];
        b->mlp_c_fc = h_mlp_c_fc[2 - i];
        b->mlp_c_fc_weight = h_mlp_c_fc_weight[2 - i];
        b->mlp_c_fc_dw = h_mlp_c_fc_dw[2 - i];
        b->ln_2_all = h_ln_2_all[2 - i];
        b->mlp_c_fc_db = h_mlp_c_fc_db[2 - i];
        b->add = h_add[2 - i];
        b->ln_2_sum = h_ln_2_sum[2 - i];
        b->ln_2_m2 = h_ln_2_m2[2 - i];
        b->ln_2_weight = h_ln_2_weight[2 - i];
        b->ln_2_dw_cut = h_ln_2_dw_cut[2 - i];
        b->ln_2_dw_1_cut = h_ln_2_dw_1_cut[2 - i];
        b->attn_c_proj_weight = h_attn_c_proj_weight[2 - i];
        b->attn_reshape_4 = h_attn_reshape_4[2 - i];
        b->attn_c_proj_dw_cut = h_attn_c_proj_dw_cut[2 - i];
        b->attn_c_proj_db_cut = h_attn_c_proj_db_cut[2 - i];
        b->attn_transpose_3 = h_attn_transpose_3[2 - i];
        b->attn_transpose = h_attn_transpose[2 - i];
        b->attn_transpose_2 = h_attn_transpose_2[2 - i];
        b->attn_sdpa = h_attn_sdpa[2 - i];
        b->attn_sdpa_lse = h_attn_sdpa_lse[2 - i];
        b->attn_c_attn_weight = h_attn_c_attn_weight[2 - i];
        b->ln_1 = h_ln_1[2 - i];
        b->attn_c_attn_dw_cut = h_attn_c_attn_dw_cut[2 - i];
        b->attn_c_attn_db_cut = h_attn_c_attn_db_cut[2 - i];
        b->add_2 = h_2_add_2_2[2 - i];
        b->ln_1_sum = h_ln_1_sum[2 - i];
        b->ln_1_m2 = h_ln_1_m2[2 - i];
        b->ln_1_weight = h_ln_1_weight[2 - i];
        b->ln_1_sum_2_2 = ln_f_dx_2[1 - i];
        b->ln_1_dw_cut = h_ln_1_dw_cut[2 - i];
        b->ln_1_dw_1_cut = h_ln_1_dw_1_cut[2 - i];
        b->ln_1_dw_cut_2 = h_ln_1_dw_cut[i];
        b->mlp_c_proj_bias_norm = h_1_mlp_c_proj_bias_norm_2[i];
        b->ln_1_dw_1_cut_2 = h_ln_1_dw_1_cut[i];
        b->attn_c_attn_dw_cut_2 = h_attn_c_attn_dw_cut[i];
        b->attn_c_attn_db_cut_2 = h_attn_c_attn_db_cut[i];
        b->attn_c_proj_dw_cut_2 = h_attn_c_proj_dw_cut[i];
        b->attn_c_proj_db_cut_2 = h_attn_c_proj_db_cut[i];
        b->ln_2_dw_cut_2 = h_ln_2_dw_cut[i];
        b->ln_2_dw_1_cut_2 = h_ln_2_dw_1_cut[i];
        b->mlp_c_fc_dw_2 = h_mlp_c_fc_dw[i];
        b->mlp_c_fc_db_2 = h_mlp_c_fc_db[i];
        b->mlp_c_proj_dw_2 = h_mlp_c_proj_dw[i];
        b->mlp_c_proj_db_2 = h_mlp_c_proj_db[i];
        b->mlp_c_proj_bias_norm_2 = h_1_mlp_c_proj_bias_norm_2[i + 1];
        b->ln_1_weight_2 = h_ln_1_weight[i];
        b->ln_1_dw_all = h_ln_1_dw_all[i];
        b->clip = clip;
        b->ln_1_bias = h_ln_1_bias[i];
        b->attn_c_attn_weight_2 = h_attn_c_attn_weight[i];
        b->attn_c_attn_bias = h_attn_c_attn_bias[i];
        b->attn_c_proj_weight_2 = h_attn_c_proj_weight[i];
        b->attn_c_proj_bias = h_attn_c_proj_bias[i];
        b->ln_2_weight_2 = h_ln_2_weight[i];
        b->ln_2_bias = h_ln_2_bias[i];
        b->mlp_c_fc_weight_2 = h_mlp_c_fc_weight[i];
        b->mlp_c_fc_bias = h_mlp_c_fc_bias[i];
        b->mlp_c_proj_weight_2 = h_mlp_c_proj_weight[i];
        b->ln_1_dw_all_2 = h_ln_1_dw_all[i + 1];
        b->ln_1_dw_cut_3 = h_ln_1_dw_cut[i + 1];
        b->mlp_c_proj_bias = h_mlp_c_proj_bias[i];
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
    h_2[0].ln_1_dw_cut_ready_2 = &h_0_ln_1_dw_cut_ready;
    h_2[1].ln_1_dw_cut_ready_2 = &h_ln_1_dw_cut_ready[1];
    h_2[0].ln_1_dw_1_cut_ready_2 = &h_0_ln_1_dw_1_cut_ready;
    h_2[1].ln_1_dw_1_cut_ready_2 = &h_ln_1_dw_1_cut_ready[1];
    h_2[0].attn_c_attn_dw_cut_ready_2 = &h_0_attn_c_attn_dw_cut_ready;
    h_2[1].attn_c_attn_dw_cut_ready_2 = &h_attn_c_attn_dw_cut_ready[1];
    h_2[0].attn_c_attn_db_cut_ready_2 = &h_0_attn_c_attn_db_cut_ready;
    h_2[1].attn_c_attn_db_cut_ready_2 = &h_attn_c_attn_db_cut_ready[1];
    h_2[0].attn_c_proj_dw_cut_ready_2 = &h_0_attn_c_proj_dw_cut_ready;
    h_2[1].attn_c_proj_dw_cut_ready_2 = &h_attn_c_proj_dw_cut_ready[1];
    h_2[0].attn_c_proj_db_cut_ready_2 = &h_0_attn_c_proj_db_cut_ready;
    h_2[1].attn_c_proj_db_cut_ready_2 = &h_attn_c_proj_db_cut_ready[1];
    h_2[0].ln_2_dw_cut_ready_2 = &h_0_ln_2_dw_cut_ready;
    h_2[1].ln_2_dw_cut_ready_2 = &h_ln_2_dw_cut_ready[1];
    h_2[0].ln_2_dw_1_cut_ready_2 = &h_0_ln_2_dw_1_cut_ready;
    h_2[1].ln_2_dw_1_cut_ready_2 = &h_ln_2_dw_1_cut_ready[1];
    h_2[0].ln_1_dw_all_ready = &h_0_ln_1_dw_all_ready;
    h_2[1].ln_1_dw_all_ready = &h_ln_1_dw_all_ready[0];

    hap_alias(r, "lm_head.weight", "transformer.wte.weight");
    hap_loss(r, loss);
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001, .warmup = 4, .cosine = 40, .min_lr = 0.1});

    while (hap_next_step(r)) {
        // transformer.wte, forward
        hap_cut(r, input_ids_cut, input_ids); // whole -> dim 0 @rows    [8@rows 32]    0.00113 ms
        op_embedding(r, wte, wte_weight, input_ids_cut); // y = a[b]    [8@rows 32 64]    0.0062 ms

        // transformer.wpe, forward
        op_embedding(r, wpe, wpe_weight, wpe_const); // y = a[b]    [1 32 64]    0.0036 ms

        // transformer.add, forward
        op_add(r, h_2_add_2_2[0], wte, wpe); // y = a + b    [8@rows 32 64]    0.0074 ms

        for (int i = 0; i < 3; i++)
            h_forward(r, &h[i]);

        // transformer.ln_f, forward
        op_row_sum(r, ln_f_sum, h_2_add_2_2[3]);         // y = sum x    [8@rows 32]    0.0036 ms
        op_row_m2(r, ln_f_m2, h_2_add_2_2[3], ln_f_sum); // [8@rows 32]    0.00364 ms
        // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00628 ms
        op_norm_apply(r, ln_f, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_weight, ln_f_bias, 1e-05);

        // lm_head, forward
        op_linear(r, lm_head, ln_f, wte_weight, NULL, HAP_NT); // [8@rows 32 211]    0.073 ms

        // pad, forward
        op_pad(r, pad, labels, 1, 0, 1, -100); // y = x, padded    [8 33]    0.00165 ms

        // slice, forward
        op_slice(r, slice, pad, 1, 1, 33); // y = part of x    [8 32]    0.00165 ms

        // ce_sum, forward
        op_row_max(r, ce_sum_max, lm_head); // y = max x    [8@rows 32]    0.00948 ms
        op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max); // [8@rows 32]    0.00952 ms
        hap_cut(r, slice_cut, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00113 ms
        op_target_logit(r, ce_sum_target, lm_head, slice_cut, -100); // [8@rows 32]    0.00116 ms
        hap_cut(r, slice_cut_2, slice); // whole -> dim 0 @rows    [8@rows 32]    0.00113 ms
        // y = sum a + log b - c    []+    0.0012 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice_cut_2, -100);
        // + -> whole    []    4 B    0.024 ms
        hap_event *e_ce_sum_all = coll_all_reduce_start(r, AXIS(0), FORM_PUSH(2), 1, &ce_sum_all,
                                                        &ce_sum, ce_sum_all_scratch);

        // count, forward
        op_count(r, count, slice, -100); // y = count x    []    0.00132 ms
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
        op_linear(r, lm_head_dx, ce_sum_dx, wte_weight, NULL, HAP_NN); // [8@rows 32 64]    0.073 ms
        op_linear_dw(r, lm_head_dw, ce_sum_dx, ln_f); // y = sum rows a' b    [211 64]+    0.073 ms
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0403 ms
        hap_event *e_lm_head_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(1), 1, &lm_head_dw_cut, &lm_head_dw, lm_head_dw_cut_scratch);

        // transformer.ln_f, backward
        op_norm_bwd_stats(r, ln_f_stats, ln_f_stats_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum,
                          ln_f_m2, ln_f_weight, 1e-05); // [8@rows 32]    0.00632 ms
        op_norm_bwd(r, ln_f_dx_2[2], lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_stats,
                    ln_f_stats_1, ln_f_weight, 1e-05); // [8@rows 32 64]    0.00888 ms
        op_norm_bwd_params(r, ln_f_dw, ln_f_dw_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2,
                           1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms

        for (int i = 0; i < 2; i++)
            h_2_backward(r, &h_2[i]);

        // transformer.h.0.mlp, backward
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00385 ms
        hap_cut(r, h_0_mlp_c_proj_weight_cut_2, h_mlp_c_proj_weight[0]);

        // transformer.h.1.ln_1, backward
        // together    0.0638 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
        hap_overlap(r, 3, (const int64_t[][3]){{0, 1}, {1, 1}, {2, 1}});
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
        hap_event *e_h_1_ln_1_sum_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(1), 1, &h_1_ln_1_sum_all, &ln_f_dx_2[0], NULL);
        hap_wait(r, e_h_1_ln_1_sum_all); // 0.0269 ms hidden

        // transformer.h.0.mlp, backward
        op_linear(r, h_0_mlp_c_proj_dx, h_1_ln_1_sum_all, h_0_mlp_c_proj_weight_cut_2, NULL,
                  HAP_NT); // y = a b'    [8 32 192@cut_192]    0.0618 ms
        hap_overlapped(r);
        // y = sum rows a' b    [192@cut_192 64]    0.0618 ms
        op_linear_dw(r, h_mlp_c_proj_dw[0], h_mlp_act[0], h_1_ln_1_sum_all);
        op_sum(r, h_mlp_c_proj_db[0], h_1_ln_1_sum_all, HAP_INTS(0, 1), false); // [64]    0.0113 ms
        // y = a gelu'(b)    [8 32 192@cut_192]    0.0224 ms
        op_gelu_bwd(r, h_0_mlp_act_dx, h_0_mlp_c_proj_dx, h_mlp_c_fc[0], true);
        // whole -> dim 1 @cut_192    [64 192@cut_192]    0.00385 ms
        hap_cut(r, h_0_mlp_c_fc_weight_cut_2, h_mlp_c_fc_weight[0]);
        // y = a b'    [8 32 64]+    0.0618 ms
        op_linear(r, h_0_mlp_c_fc_dx, h_0_mlp_act_dx, h_0_mlp_c_fc_weight_cut_2, NULL, HAP_NT);
        // + -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.0392 ms
        hap_event *e_h_0_mlp_c_fc_dx_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &h_0_mlp_c_fc_dx_cut,
                                      &h_0_mlp_c_fc_dx, h_0_mlp_c_fc_dx_cut_scratch);
        // y = sum rows a' b    [64 192@cut_192]    0.0618 ms
        op_linear_dw(r, h_mlp_c_fc_dw[0], h_ln_2_all[0], h_0_mlp_act_dx);
        // y = sum x    [192@cut_192]    0.00815 ms
        op_sum(r, h_mlp_c_fc_db[0], h_0_mlp_act_dx, HAP_INTS(0, 1), false);
        hap_wait(r, e_h_0_mlp_c_fc_dx_cut); // 0.0392 ms hidden

        // transformer.h.0.ln_2, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00632 ms
        op_norm_bwd_stats(r, h_0_ln_2_stats, h_0_ln_2_stats_1, h_0_mlp_c_fc_dx_cut, h_add[0],
                          h_ln_2_sum[0], h_ln_2_m2[0], h_ln_2_weight[0], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.00888 ms
        op_norm_bwd(r, h_0_ln_2_dx, h_0_mlp_c_fc_dx_cut, h_add[0], h_ln_2_sum[0], h_ln_2_m2[0],
                    h_0_ln_2_stats, h_0_ln_2_stats_1, h_ln_2_weight[0], 1e-05);
        hap_cut(r, h_1_ln_1_sum_cut, h_1_ln_1_sum_all);           // [8@rows 32 64]    0.0051 ms
        op_add(r, h_0_ln_2_sum_2, h_1_ln_1_sum_cut, h_0_ln_2_dx); // [8@rows 32 64]    0.00868 ms
        op_norm_bwd_params(r, h_0_ln_2_dw, h_0_ln_2_dw_1, h_0_mlp_c_fc_dx_cut, h_add[0],
                           h_ln_2_sum[0], h_ln_2_m2[0], 1e-05); // [64]+    0.00628 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_ln_2_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_ln_2_dw_cut[0], &h_0_ln_2_dw, h_0_ln_2_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_ln_2_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_ln_2_dw_1_cut[0],
                                      &h_0_ln_2_dw_1, h_0_ln_2_dw_1_cut_scratch);

        // transformer.h.0.attn, backward
        // y = a b'    [8@rows 32 64]    0.0228 ms
        op_linear(r, h_0_attn_c_proj_dx, h_0_ln_2_sum_2, h_attn_c_proj_weight[0], NULL, HAP_NT);
        // y = sum rows a' b    [64 64]+    0.0228 ms
        op_linear_dw(r, h_0_attn_c_proj_dw, h_attn_reshape_4[0], h_0_ln_2_sum_2);
        // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0224 ms
        h_0_attn_c_proj_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &h_attn_c_proj_dw_cut[0],
                                      &h_0_attn_c_proj_dw, h_0_attn_c_proj_dw_cut_scratch);
        op_sum(r, h_0_attn_c_proj_db, h_0_ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_attn_c_proj_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_attn_c_proj_db_cut[0],
                                      &h_0_attn_c_proj_db, h_0_attn_c_proj_db_cut_scratch);
        // y = x    [8@rows 32 4 16]    0 ms
        op_reshape(r, h_0_attn_reshape_4_dx, h_0_attn_c_proj_dx, HAP_INTS(8, 32, 4, 16));
        // y = x'    [8@rows 4 32 16]    0.00612 ms
        op_transpose(r, h_0_attn_transpose_4_dx, h_0_attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3));
        op_sdpa_bwd(r, h_0_attn_sdpa_dqkv, h_0_attn_sdpa_dqkv_1, h_0_attn_sdpa_dqkv_2,
                    h_0_attn_transpose_4_dx, h_attn_transpose_3[0], h_attn_transpose[0],
                    h_attn_transpose_2[0], h_attn_sdpa[0], h_attn_sdpa_lse[0], NULL, true, 0.25, 0,
                    0, 0); // y, y1, y2 = dq, dk, dv    [8@rows 4 32 16]    0.0283 ms
        // y = x'    [8@rows 32 4 16]    0.00612 ms
        op_transpose(r, h_0_attn_transpose_3_dx, h_0_attn_sdpa_dqkv, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_0_attn_reshape_3_dx, h_0_attn_transpose_3_dx, HAP_INTS(8, 32, 64));
        // y = x'    [8@rows 32 4 16]    0.00612 ms
        op_transpose(r, h_0_attn_transpose_2_dx, h_0_attn_sdpa_dqkv_2, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_0_attn_reshape_2_dx, h_0_attn_transpose_2_dx, HAP_INTS(8, 32, 64));
        // y = x'    [8@rows 32 4 16]    0.00612 ms
        op_transpose(r, h_0_attn_transpose_dx, h_0_attn_sdpa_dqkv_1, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_0_attn_reshape_dx, h_0_attn_transpose_dx, HAP_INTS(8, 32, 64));
        hap_tensor *const parts[] = {
            h_0_attn_reshape_3_dx, // [8@rows 32 64]
            h_0_attn_reshape_dx,   // [8@rows 32 64]
            h_0_attn_reshape_2_dx, // [8@rows 32 64]
        };
        op_concat(r, h_0_attn_split_dx, 3, parts, 2); // y = xs    [8@rows 32 192]    0.0164 ms
        // y = a b'    [8@rows 32 64]    0.0665 ms
        op_linear(r, h_0_attn_c_attn_dx, h_0_attn_split_dx, h_attn_c_attn_weight[0], NULL, HAP_NT);
        op_linear_dw(r, h_0_attn_c_attn_dw, h_ln_1[0], h_0_attn_split_dx); // [64 192]+    0.0665 ms
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0329 ms
        h_0_attn_c_attn_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &h_attn_c_attn_dw_cut[0],
                                      &h_0_attn_c_attn_dw, h_0_attn_c_attn_dw_cut_scratch);
        // y = sum x    [192]+    0.0088 ms
        op_sum(r, h_0_attn_c_attn_db, h_0_attn_split_dx, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0124 ms
        h_0_attn_c_attn_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_attn_c_attn_db_cut[0],
                                      &h_0_attn_c_attn_db, h_0_attn_c_attn_db_cut_scratch);

        // transformer.h.0.ln_1, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00632 ms
        op_norm_bwd_stats(r, h_0_ln_1_stats, h_0_ln_1_stats_1, h_0_attn_c_attn_dx, h_2_add_2_2[0],
                          h_ln_1_sum[0], h_ln_1_m2[0], h_ln_1_weight[0], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.00888 ms
        op_norm_bwd(r, h_0_ln_1_dx, h_0_attn_c_attn_dx, h_2_add_2_2[0], h_ln_1_sum[0], h_ln_1_m2[0],
                    h_0_ln_1_stats, h_0_ln_1_stats_1, h_ln_1_weight[0], 1e-05);
        op_add(r, h_0_ln_1_sum_2, h_0_ln_2_sum_2, h_0_ln_1_dx); // [8@rows 32 64]    0.00868 ms
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
        hap_event *e_h_0_ln_1_sum_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(1), 1, &h_0_ln_1_sum_all, &h_0_ln_1_sum_2, NULL);
        op_norm_bwd_params(r, h_0_ln_1_dw, h_0_ln_1_dw_1, h_0_attn_c_attn_dx, h_2_add_2_2[0],
                           h_ln_1_sum[0], h_ln_1_m2[0], 1e-05); // [64]+    0.00628 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_ln_1_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_ln_1_dw_cut[0], &h_0_ln_1_dw, h_0_ln_1_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_ln_1_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_ln_1_dw_1_cut[0],
                                      &h_0_ln_1_dw_1, h_0_ln_1_dw_1_cut_scratch);
        hap_wait(r, e_h_0_ln_1_sum_all);

        // transformer.add, backward
        op_sum(r, add_fold1, h_0_ln_1_sum_all, HAP_INTS(0), true); // [1 32 64]    0.0125 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // y[b] += a    [32 64]    0.0036 ms

        // transformer.wte, backward
        op_embedding_bwd(r, wte_dw, h_0_ln_1_sum_all, input_ids, 211); // [211@vocab 64]    0.013 ms
        hap_wait(r, e_lm_head_dw_cut);                                 // 0.0403 ms hidden
        op_add(r, wte_sum, lm_head_dw_cut, wte_dw); // y = a + b    [211@vocab 64]    0.00708 ms

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum);    // y = sum x^2    []+    0.00303 ms
        hap_cut(r, wpe_dw_cut, wpe_dw);            // [32 64@cut_64_lp]    0.00182 ms
        op_sumsq(r, wpe_weight_sumsq, wpe_dw_cut); // y = sum x^2    []+    0.00151 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_1_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 2; i++)
            h_2_backward_2(r, &h_2[i]);
        hap_wait(r, h_ln_1_dw_cut_ready[0]); // 0.0121 ms hidden

        // update
        op_sumsq(r, h_2_ln_1_weight_sumsq, h_ln_1_dw_cut[2]); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_ln_1_weight_norm, h_1_mlp_c_proj_bias_norm_2[2], h_2_ln_1_weight_sumsq);
        hap_wait(r, h_ln_1_dw_1_cut_ready[0]);                // 0.0121 ms hidden
        op_sumsq(r, h_2_ln_1_bias_sumsq, h_ln_1_dw_1_cut[2]); // y = sum x^2    []+    0.00101 ms
        op_add(r, h_2_ln_1_bias_norm, h_2_ln_1_weight_norm, h_2_ln_1_bias_sumsq); // []+    0.001 ms
        hap_wait(r, h_attn_c_attn_dw_cut_ready[0]);                         // 0.0329 ms hidden
        op_sumsq(r, h_2_attn_c_attn_weight_sumsq, h_attn_c_attn_dw_cut[2]); // []+    0.00292 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_attn_c_attn_weight_norm, h_2_ln_1_bias_norm, h_2_attn_c_attn_weight_sumsq);
        hap_wait(r, h_attn_c_attn_db_cut_ready[0]);                       // 0.0124 ms hidden
        op_sumsq(r, h_2_attn_c_attn_bias_sumsq, h_attn_c_attn_db_cut[2]); // []+    0.00104 ms
        op_add(r, h_2_attn_c_attn_bias_norm, h_2_attn_c_attn_weight_norm,
               h_2_attn_c_attn_bias_sumsq);         // y = a + b    []+    0.001 ms
        hap_wait(r, h_attn_c_proj_dw_cut_ready[0]); // 0.0224 ms hidden
        op_sumsq(r, h_2_attn_c_proj_weight_sumsq, h_attn_c_proj_dw_cut[2]); // []+    0.00164 ms
        op_add(r, h_2_attn_c_proj_weight_norm, h_2_attn_c_attn_bias_norm,
               h_2_attn_c_proj_weight_sumsq);       // y = a + b    []+    0.001 ms
        hap_wait(r, h_attn_c_proj_db_cut_ready[0]); // 0.0121 ms hidden
        op_sumsq(r, h_2_attn_c_proj_bias_sumsq, h_attn_c_proj_db_cut[2]); // []+    0.00101 ms
        op_add(r, h_2_attn_c_proj_bias_norm, h_2_attn_c_proj_weight_norm,
               h_2_attn_c_proj_bias_sumsq);                   // y = a + b    []+    0.001 ms
        hap_wait(r, h_ln_2_dw_cut_ready[0]);                  // 0.0121 ms hidden
        op_sumsq(r, h_2_ln_2_weight_sumsq, h_ln_2_dw_cut[2]); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_ln_2_weight_norm, h_2_attn_c_proj_bias_norm, h_2_ln_2_weight_sumsq);
        hap_wait(r, h_ln_2_dw_1_cut_ready[0]);                // 0.0121 ms hidden
        op_sumsq(r, h_2_ln_2_bias_sumsq, h_ln_2_dw_1_cut[2]); // y = sum x^2    []+    0.00101 ms
        op_add(r, h_2_ln_2_bias_norm, h_2_ln_2_weight_norm, h_2_ln_2_bias_sumsq); // []+    0.001 ms
        op_sumsq(r, h_2_mlp_c_fc_weight_sumsq, h_mlp_c_fc_dw[2]); // []+    0.00278 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_weight_norm, h_2_ln_2_bias_norm, h_2_mlp_c_fc_weight_sumsq);
        op_sumsq(r, h_2_mlp_c_fc_bias_sumsq, h_mlp_c_fc_db[2]); // y = sum x^2    []+    0.00103 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_bias_norm, h_2_mlp_c_fc_weight_norm, h_2_mlp_c_fc_bias_sumsq);
        op_sumsq(r, h_2_mlp_c_proj_weight_sumsq, h_mlp_c_proj_dw[2]); // []+    0.00278 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_proj_weight_norm, h_2_mlp_c_fc_bias_norm, h_2_mlp_c_proj_weight_sumsq);
        hap_tensor *const to[] = {
            ln_f_dw_all,                    // [64]
            ln_f_dw_1_all,                  // [64]
            h_2_mlp_c_proj_weight_norm_all, // []
        };
        hap_tensor *const from[] = {
            ln_f_dw,                    // [64]+
            ln_f_dw_1,                  // [64]+
            h_2_mlp_c_proj_weight_norm, // []+
        };
        // + -> whole    [64]    516 B    0.0402 ms
        hap_event *e_ln_f_dw_all = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 3, to, from, NULL);
        op_sumsq(r, h_2_mlp_c_proj_bias_sumsq, h_mlp_c_proj_db[2]); // []    0.00104 ms
        hap_wait(r, e_ln_f_dw_all);
        op_add(r, h_2_mlp_c_proj_bias_norm, h_2_mlp_c_proj_weight_norm_all,
               h_2_mlp_c_proj_bias_sumsq);           // y = a + b    []    0.001 ms
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_all); // y = sum x^2    []    0.00104 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm, ln_f_weight_sumsq); // []    0.001 ms
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1_all); // y = sum x^2    []    0.00104 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // y = a + b    []    0.001 ms
        op_clip_scale(r, clip, ln_f_bias_norm, 1); // y = min(1, 1 / sqrt x)    []    0.001 ms
        hap_cut(r, wte_weight_cut, wte_weight);    // [211@vocab 64]    0.00424 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0152 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.0275 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &wte_weight, &wte_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        h_0_ln_1_dw_all_ready = coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1,
                                                      &h_ln_1_dw_all[0], &h_ln_1_dw_cut[0], NULL);
        op_adam(r, wpe_weight, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32 64]    0.00996 ms

        for (int i = 0; i < 2; i++)
            h_2_update(r, &h_2[i]);

        // update
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_ln_1_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_2_ln_1_dw_1_all, &h_ln_1_dw_1_cut[2], NULL);
        hap_wait(r, h_ln_1_dw_all_ready[1]);
        op_adam(r, h_ln_1_weight[2], h_2_ln_1_weight_exp_avg, h_2_ln_1_weight_exp_avg_sq,
                h_ln_1_dw_all[2], clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        hap_wait(r, e_h_2_ln_1_dw_1_all);                              // 0.00114 ms hidden
        op_adam(r, h_ln_1_bias[2], h_2_ln_1_bias_exp_avg, h_2_ln_1_bias_exp_avg_sq,
                h_2_ln_1_dw_1_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        // whole -> dim 0 @cut_64    [64@cut_64 192]    0.00407 ms
        hap_cut(r, h_2_attn_c_attn_weight_cut, h_attn_c_attn_weight[2]);
        op_adam(r, h_2_attn_c_attn_weight_cut, h_2_attn_c_attn_weight_exp_avg,
                h_2_attn_c_attn_weight_exp_avg_sq, h_attn_c_attn_dw_cut[2], clip, 1, 0.9, 0.95,
                1e-08, 0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0144 ms
        // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0237 ms
        h_2_attn_c_attn_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &h_attn_c_attn_weight[2],
                                  &h_2_attn_c_attn_weight_cut, NULL);
        // dim 0 @cut_3 -> whole    [192]    768 B    0.0122 ms
        hap_event *e_h_2_attn_c_attn_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_2_attn_c_attn_db_all, &h_attn_c_attn_db_cut[2], NULL);
        hap_wait(r, e_h_2_attn_c_attn_db_all);
        op_adam(r, h_attn_c_attn_bias[2], h_2_attn_c_attn_bias_exp_avg,
                h_2_attn_c_attn_bias_exp_avg_sq, h_2_attn_c_attn_db_all, clip, 1, 0.9, 0.95, 1e-08,
                0, true); // a -= lr b / sqrt c    [192]    0.00184 ms
        // whole -> dim 0 @heads    [64@heads 64]    0.00202 ms
        hap_cut(r, h_2_attn_c_proj_weight_cut, h_attn_c_proj_weight[2]);
        op_adam(r, h_2_attn_c_proj_weight_cut, h_2_attn_c_proj_weight_exp_avg,
                h_2_attn_c_proj_weight_exp_avg_sq, h_attn_c_proj_dw_cut[2], clip, 1, 0.9, 0.95,
                1e-08, 0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00548 ms
        // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0183 ms
        h_2_attn_c_proj_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &h_attn_c_proj_weight[2],
                                  &h_2_attn_c_proj_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_attn_c_proj_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_2_attn_c_proj_db_all, &h_attn_c_proj_db_cut[2], NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_ln_2_dw_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_2_ln_2_dw_all, &h_ln_2_dw_cut[2], NULL);
        hap_wait(r, e_h_2_attn_c_proj_db_all);
        op_adam(r, h_attn_c_proj_bias[2], h_2_attn_c_proj_bias_exp_avg,
                h_2_attn_c_proj_bias_exp_avg_sq, h_2_attn_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08,
                0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_ln_2_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_2_ln_2_dw_1_all, &h_ln_2_dw_1_cut[2], NULL);
        hap_wait(r, e_h_2_ln_2_dw_all); // 0.00114 ms hidden
        op_adam(r, h_ln_2_weight[2], h_2_ln_2_weight_exp_avg, h_2_ln_2_weight_exp_avg_sq,
                h_2_ln_2_dw_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        hap_wait(r, e_h_2_ln_2_dw_1_all);                             // 0.00114 ms hidden
        op_adam(r, h_ln_2_bias[2], h_2_ln_2_bias_exp_avg, h_2_ln_2_bias_exp_avg_sq,
                h_2_ln_2_dw_1_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        // whole -> dim 1 @cut_192    [64 192@cut_192]    0.00385 ms
        hap_cut(r, h_2_mlp_c_fc_weight_cut_3, h_mlp_c_fc_weight[2]);
        op_adam(r, h_2_mlp_c_fc_weight_cut_3, h_2_mlp_c_fc_weight_exp_avg,
                h_2_mlp_c_fc_weight_exp_avg_sq, h_mlp_c_fc_dw[2], clip, 1, 0.9, 0.95, 1e-08, 0.1,
                true); // a -= lr b / sqrt c    [64 192@cut_192]    0.0135 ms
        // dim 1 @cut_192 -> whole    [64 192]    48.0 KiB    0.0383 ms
        h_2_mlp_c_fc_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(1), 1, &h_mlp_c_fc_weight[2], &h_2_mlp_c_fc_weight_cut_3, NULL);
        // dim 0 @cut_192 -> whole    [192]    768 B    0.0123 ms
        hap_event *e_h_2_mlp_c_fc_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_2_mlp_c_fc_db_all, &h_mlp_c_fc_db[2], NULL);
        hap_wait(r, e_h_2_mlp_c_fc_db_all);
        op_adam(r, h_mlp_c_fc_bias[2], h_2_mlp_c_fc_bias_exp_avg, h_2_mlp_c_fc_bias_exp_avg_sq,
                h_2_mlp_c_fc_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00385 ms
        hap_cut(r, h_2_mlp_c_proj_weight_cut_3, h_mlp_c_proj_weight[2]);
        op_adam(r, h_2_mlp_c_proj_weight_cut_3, h_2_mlp_c_proj_weight_exp_avg,
                h_2_mlp_c_proj_weight_exp_avg_sq, h_mlp_c_proj_dw[2], clip, 1, 0.9, 0.95, 1e-08,
                0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0135 ms
        // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.026 ms
        h_2_mlp_c_proj_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &h_mlp_c_proj_weight[2],
                                  &h_2_mlp_c_proj_weight_cut_3, NULL);
        op_adam(r, h_mlp_c_proj_bias[2], h_2_mlp_c_proj_bias_exp_avg,
                h_2_mlp_c_proj_bias_exp_avg_sq, h_mlp_c_proj_db[2], clip, 1, 0.9, 0.95, 1e-08, 0,
                true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_all, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_all, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        hap_wait(r, e_wte_weight);     // 0.0275 ms hidden

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);
    }
    return hap_finish(r);
}
