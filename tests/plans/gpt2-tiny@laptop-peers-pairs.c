// program.c: one training step of gpt2-tiny on 3 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop-peers.yaml --pin
//     'transformer.h.*.mlp.c_fc=S(2)' --pin 'transformer.h.*.add*=S(0)' -o
//     gpt2-tiny@laptop-peers-pairs -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}
//   predicted   4.32 ms/step = 3.49 ms compute and idle + 1.51 ms communication - 0.679 ms hidden;
//               bound 2.62 ms; by datasheet formulas
//   memory      2.85 MiB / 2.59 MiB / 2.11 MiB    graph a94a3bb305aca178    cluster
//               fed28ccfbfd27e63
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.375 0.375 0.250 over axis 0 (compute).
static const int64_t rows[3] = {3, 3, 2};

// 211 cut 0.389 0.374 0.237 over axis 0 (compute).
static const int64_t vocab[3] = {82, 79, 50};

// 64 cut 0.391 0.375 0.234 over axis 0 (compute).
static const int64_t cut_64[3] = {25, 24, 15};

// 3 cut 0.333 0.333 0.333 over axis 0 (compute).
static const int64_t cut_3[3] = {1, 1, 1};

// 4 cut 0.500 0.250 0.250 over axis 0 (compute).
static const int64_t heads[3] = {2, 1, 1};

// 192 cut 0.448 0.333 0.219 over axis 0 (lp).
static const int64_t cut_192[3] = {86, 64, 42};

// Byte offsets in the symmetric segment: what other ranks write into, the same on every rank.
static const int64_t at_491520[3] = {491520, 491520, 491520}, at_0[3] = {0, 0, 0};
static const int64_t at_147456[3] = {147456, 147456, 147456};
static const int64_t at_196608[3] = {196608, 196608, 196608};
static const int64_t at_344064[3] = {344064, 344064, 344064};
static const int64_t at_548864[3] = {548864, 548864, 548864};
static const int64_t at_745472[3] = {745472, 745472, 745472};
static const int64_t at_749568[3] = {749568, 749568, 749568};
static const int64_t at_823296[3] = {823296, 823296, 823296};
static const int64_t at_888832[3] = {888832, 888832, 888832};
static const int64_t at_1011712[3] = {1011712, 1011712, 1011712};
static const int64_t at_1003520[3] = {1003520, 1003520, 1003520};
static const int64_t at_954368[3] = {954368, 954368, 954368};
static const int64_t at_1019904[3] = {1019904, 1019904, 1019904};
static const int64_t at_618496[3] = {618496, 618496, 618496};
static const int64_t at_1028096[3] = {1028096, 1028096, 1028096};
static const int64_t at_815104[3] = {815104, 815104, 815104};
static const int64_t at_1036288[3] = {1036288, 1036288, 1036288};
static const int64_t at_741376[3] = {741376, 741376, 741376};
static const int64_t at_802816[3] = {802816, 802816, 802816};
static const int64_t at_614400[3] = {614400, 614400, 614400};
static const int64_t at_806912[3] = {806912, 806912, 806912};
static const int64_t at_811008[3] = {811008, 811008, 811008};
static const int64_t at_917504[3] = {917504, 917504, 917504};
static const int64_t at_913408[3] = {913408, 913408, 913408};
static const int64_t at_552960[3] = {552960, 552960, 552960};

// Byte offsets in the local segment, by class {cpu4, cpu3, cpu2}.
static const int64_t at_1934848[3] = {1934848, 1601024, 1114624};
static const int64_t at_1238784[3] = {1238784, 998912, 566528};
static const int64_t at_307200[3] = {307200, 242688, 169984}, at_768[3] = {768, 768, 768};
static const int64_t at_1536[3] = {1536, 1536, 1536}, at_3840[3] = {3840, 3840, 3840};
static const int64_t at_4608[3] = {4608, 4608, 4608}, at_5376[3] = {5376, 5376, 5376};
static const int64_t at_6144[3] = {6144, 6144, 6144}, at_8448[3] = {8448, 8448, 8448};
static const int64_t at_315392[3] = {315392, 250880, 178176};
static const int64_t at_315648[3] = {315648, 251136, 178432};
static const int64_t at_315904[3] = {315904, 251392, 178688};
static const int64_t at_316160[3] = {316160, 251648, 178944};
static const int64_t at_337152[3] = {337152, 271872, 191744};
static const int64_t at_358144[3] = {358144, 292096, 204544};
static const int64_t at_366336[3] = {366336, 300288, 212736}, at_9216[3] = {9216, 9216, 9216};
static const int64_t at_9728[3] = {9728, 9728, 9728}, at_10240[3] = {10240, 10240, 10240};
static const int64_t at_10752[3] = {10752, 10752, 10752}, at_11264[3] = {11264, 11264, 11264};
static const int64_t at_49664[3] = {49664, 48128, 34304}, at_88064[3] = {88064, 84992, 57344};
static const int64_t at_89600[3] = {89600, 86528, 58880}, at_91136[3] = {91136, 88064, 60416};
static const int64_t at_107520[3] = {107520, 96256, 68608}, at_123904[3] = {123904, 104448, 76800};
static const int64_t at_124416[3] = {124416, 104960, 77312}, at_124928[3] = {124928, 105472, 77824};
static const int64_t at_125440[3] = {125440, 105984, 78336}, at_125952[3] = {125952, 106496, 78848};
static const int64_t at_126464[3] = {126464, 107008, 79360}, at_126976[3] = {126976, 107520, 79872};
static const int64_t at_171008[3] = {171008, 140288, 101376};
static const int64_t at_215040[3] = {215040, 173056, 122880};
static const int64_t at_216576[3] = {216576, 174592, 124416};
static const int64_t at_218112[3] = {218112, 176128, 125952};
static const int64_t at_262144[3] = {262144, 208896, 147456};
static const int64_t at_306176[3] = {306176, 241664, 168960};
static const int64_t at_306688[3] = {306688, 242176, 169472};
static const int64_t at_374528[3] = {374528, 308480, 220928};
static const int64_t at_374784[3] = {374784, 308736, 221184};
static const int64_t at_375040[3] = {375040, 308992, 221440};
static const int64_t at_375296[3] = {375296, 309248, 221696};
static const int64_t at_375552[3] = {375552, 309504, 221952};
static const int64_t at_394752[3] = {394752, 327936, 233472};
static const int64_t at_413952[3] = {413952, 346368, 244992};
static const int64_t at_414720[3] = {414720, 347136, 245760};
static const int64_t at_415488[3] = {415488, 347904, 246528};
static const int64_t at_423680[3] = {423680, 352000, 250624};
static const int64_t at_431872[3] = {431872, 356096, 254720};
static const int64_t at_432128[3] = {432128, 356352, 254976};
static const int64_t at_432384[3] = {432384, 356608, 255232};
static const int64_t at_432640[3] = {432640, 356864, 255488};
static const int64_t at_432896[3] = {432896, 357120, 255744};
static const int64_t at_433152[3] = {433152, 357376, 256000};
static const int64_t at_433408[3] = {433408, 357632, 256256};
static const int64_t at_455424[3] = {455424, 374016, 267008};
static const int64_t at_477440[3] = {477440, 390400, 277760};
static const int64_t at_478208[3] = {478208, 391168, 278528};
static const int64_t at_478976[3] = {478976, 391936, 279296};
static const int64_t at_500992[3] = {500992, 408320, 290048};
static const int64_t at_523008[3] = {523008, 424704, 300800};
static const int64_t at_523264[3] = {523264, 424960, 301056};
static const int64_t at_523520[3] = {523520, 425216, 301312};
static const int64_t at_523776[3] = {523776, 425472, 301568};
static const int64_t at_524032[3] = {524032, 425728, 301824};
static const int64_t at_524288[3] = {524288, 425984, 302080};
static const int64_t at_524544[3] = {524544, 426240, 302336};
static const int64_t at_1052928[3] = {1052928, 819456, 572672};
static const int64_t at_1938432[3] = {1938432, 1668608, 1162752};
static const int64_t at_1939968[3] = {1939968, 1670144, 1163520};
static const int64_t at_1313536[3] = {1313536, 1522688, 638208};
static const int64_t at_700672[3] = {700672, 893184, 517376};
static const int64_t at_964864[3] = {964864, 557312, 388352};
static const int64_t at_1014016[3] = {1014016, 753920, 621824};
static const int64_t at_989440[3] = {989440, 581888, 404736};
static const int64_t at_1387264[3] = {1387264, 1080064, 741376};
static const int64_t at_1460992[3] = {1460992, 1153792, 790528};
static const int64_t at_1534720[3] = {1534720, 1227520, 839680};
static const int64_t at_1608448[3] = {1608448, 1301248, 888832};
static const int64_t at_1930240[3] = {1930240, 1596416, 1159680};
static const int64_t at_1682176[3] = {1682176, 1374976, 937984};
static const int64_t at_1755904[3] = {1755904, 1448704, 987136};
static const int64_t at_1941504[3] = {1941504, 1671680, 1164288};
static const int64_t at_1943040[3] = {1943040, 1673216, 1165056};
static const int64_t at_964864_2[3] = {964864, 753920, 517376};
static const int64_t at_989440_2[3] = {989440, 778496, 533760};
static const int64_t at_1011456[3] = {1011456, 794880, 544512};
static const int64_t at_788736[3] = {788736, 622848, 431360};
static const int64_t at_1216768[3] = {1216768, 1000960, 621824};
static const int64_t at_1240832[3] = {1240832, 983296, 560384};
static const int64_t at_1126656[3] = {1126656, 893184, 1036288};
static const int64_t at_1192192[3] = {1192192, 958720, 687360};
static const int64_t at_1830400[3] = {1830400, 1652224, 562432};
static const int64_t at_1830912[3] = {1830912, 1652736, 562688};
static const int64_t at_1905664[3] = {1905664, 1603072, 1036288};
static const int64_t at_1151232[3] = {1151232, 917760, 687360};
static const int64_t at_1232384[3] = {1232384, 1000960, 562944};
static const int64_t at_1234688[3] = {1234688, 998912, 560384};
static const int64_t at_1831424[3] = {1831424, 1627648, 562944};
static const int64_t at_1831936[3] = {1831936, 1628160, 563200};
static const int64_t at_1232384_2[3] = {1232384, 1000960, 563456};
static const int64_t at_1233152[3] = {1233152, 1001728, 563968};
static const int64_t at_1945344[3] = {1945344, 1522432, 1165824};
static const int64_t at_1232640[3] = {1232640, 1001216, 563712};
static const int64_t at_1832448[3] = {1832448, 1629440, 563968};
static const int64_t at_1829632[3] = {1829632, 1628672, 563456};
static const int64_t at_1232384_3[3] = {1232384, 998912, 1052672};
static const int64_t at_1151232_2[3] = {1151232, 1627648, 1116672};
static const int64_t at_1851648[3] = {1851648, 917760, 687360};
static const int64_t at_1291520[3] = {1291520, 971776, 1036288};
static const int64_t at_1175808[3] = {1175808, 992000, 560384};
static const int64_t at_1176320[3] = {1176320, 992512, 560640};
static const int64_t at_1945600[3] = {1945600, 1065984, 1166336};
static const int64_t at_1313280[3] = {1313280, 1065728, 1166080};
static const int64_t at_1214720[3] = {1214720, 1627648, 1116672};
static const int64_t at_1126656_2[3] = {1126656, 992000, 1065472};
static const int64_t at_964864_3[3] = {964864, 1603072, 1116672};
static const int64_t at_749824[3] = {749824, 753920, 412416};
static const int64_t at_1126656_3[3] = {1126656, 992000, 1049088};
static const int64_t at_774400[3] = {774400, 606464, 399104};
static const int64_t at_774912[3] = {774912, 606976, 399360};
static const int64_t at_964864_4[3] = {964864, 992000, 1065472};
static const int64_t at_1905664_2[3] = {1905664, 1603072, 1049088};
static const int64_t at_1944832[3] = {1944832, 909568, 411904};
static const int64_t at_1944320[3] = {1944320, 818944, 411392};
static const int64_t at_1258752[3] = {1258752, 1481472, 1003520};
static const int64_t at_1740288[3] = {1740288, 910080, 1164544};
static const int64_t at_1014016_2[3] = {1014016, 1041152, 1081856};
static const int64_t at_1126656_4[3] = {1126656, 1424128, 1098240};
static const int64_t at_964864_5[3] = {964864, 992000, 970752};
static const int64_t at_989440_3[3] = {989440, 1016576, 1065472};
static const int64_t at_1126656_5[3] = {1126656, 1202944, 774144};
static const int64_t at_1151232_3[3] = {1151232, 1276672, 823296};
static const int64_t at_651520[3] = {651520, 508160, 474368};
static const int64_t at_1381888[3] = {1381888, 811264, 632576};
static const int64_t at_964864_6[3] = {964864, 992000, 774144};
static const int64_t at_1384704[3] = {1384704, 911104, 685312};
static const int64_t at_1384192[3] = {1384192, 910592, 684800};
static const int64_t at_612608[3] = {612608, 491776, 345344};
static const int64_t at_876800[3] = {876800, 688384, 1065472};
static const int64_t at_1192704[3] = {1192704, 860416, 600320};
static const int64_t at_1312512[3] = {1312512, 812800, 634112};
static const int64_t at_749824_2[3] = {749824, 618752, 412416};
static const int64_t at_590080[3] = {590080, 491776, 302336};
static const int64_t at_524544_2[3] = {524544, 426240, 1049088};
static const int64_t at_590080_2[3] = {590080, 684288, 302336};
static const int64_t at_1785600[3] = {1785600, 762112, 366848};
static const int64_t at_1936896[3] = {1936896, 813568, 634880};
static const int64_t at_549120[3] = {549120, 450816, 335104};
static const int64_t at_549632[3] = {549632, 451328, 335360};
static const int64_t at_524544_3[3] = {524544, 426240, 318720};
static const int64_t at_749824_3[3] = {749824, 475392, 436992};
static const int64_t at_648448[3] = {648448, 504832, 365312};
static const int64_t at_648192[3] = {648192, 504576, 365056};
static const int64_t at_1943552[3] = {1943552, 815104, 636416};
static const int64_t at_1942016[3] = {1942016, 814336, 635648};
static const int64_t at_798976[3] = {798976, 618752, 420608};
static const int64_t at_1714944[3] = {1714944, 606464, 399104};
static const int64_t at_648704[3] = {648704, 505088, 365568};
static const int64_t at_1739520[3] = {1739520, 815872, 637184};
static const int64_t at_573696[3] = {573696, 659712, 335104};
static const int64_t at_622848[3] = {622848, 684288, 757760};
static const int64_t at_524544_4[3] = {524544, 450816, 318720};
static const int64_t at_549120_2[3] = {549120, 635136, 453376};
static const int64_t at_598272[3] = {598272, 426240, 302336};
static const int64_t at_622848_2[3] = {622848, 708864, 335104};
static const int64_t at_774400_2[3] = {774400, 733440, 453376};
static const int64_t at_524544_5[3] = {524544, 635136, 741376};
static const int64_t at_774400_3[3] = {774400, 708864, 453376};
static const int64_t at_1324288[3] = {1324288, 1092352, 647936};
static const int64_t at_647424[3] = {647424, 503808, 364288};
static const int64_t at_1383424[3] = {1383424, 816640, 682496};
static const int64_t at_549120_3[3] = {549120, 499968, 351488};
static const int64_t at_549632_2[3] = {549632, 500480, 351744};
static const int64_t at_553984[3] = {553984, 505600, 366080};
static const int64_t at_553728[3] = {553728, 505344, 365824};
static const int64_t at_1102336[3] = {1102336, 818176, 684032};
static const int64_t at_1101568[3] = {1101568, 817408, 683264};
static const int64_t at_524544_6[3] = {524544, 483584, 351488};
static const int64_t at_545536[3] = {545536, 475392, 412416};
static const int64_t at_527872[3] = {527872, 483584, 351488};
static const int64_t at_524544_7[3] = {524544, 483840, 351744};
static const int64_t at_528128[3] = {528128, 486912, 353792};
static const int64_t at_524544_8[3] = {524544, 484096, 352000};
static const int64_t at_524800[3] = {524800, 426496, 302592};
static const int64_t at_759808[3] = {759808, 618752, 435200};
static const int64_t at_695040[3] = {695040, 495872, 346880};
static const int64_t at_612608_2[3] = {612608, 426240, 302336};
static const int64_t at_735232[3] = {735232, 567296, 411392};
static const int64_t at_524544_9[3] = {524544, 463104, 325376};
static const int64_t at_568576[3] = {568576, 516096, 359680};
static const int64_t at_716032[3] = {716032, 548864, 419584};
static const int64_t at_751616[3] = {751616, 608256, 431104};
static const int64_t at_651008[3] = {651008, 575488, 399104};
static const int64_t at_673024[3] = {673024, 591872, 381184};

// Bytes from one block's buffer to the next one's.
static const int64_t by_512[3] = {512, 512, 256}, by_24576[3] = {24576, 24576, 16384};
static const int64_t by_256[3] = {256, 256, 256}, by_49152[3] = {49152, 49152, 49152};
static const int64_t by_768[3] = {768, 768, 768}, by_1536[3] = {1536, 1536, 1024};
static const int64_t by_16384[3] = {16384, 16384, 16384}, by_65536[3] = {65536, 65536, 65536};
static const int64_t by_88064[3] = {88064, 65536, 43008}, by_22016[3] = {22016, 16384, 10752};
static const int64_t by_512_2[3] = {512, 256, 256}, by_4096[3] = {4096, 4096, 4096};
static const int64_t by_8192[3] = {8192, 4096, 4096}, by_24576_2[3] = {24576, 24576, 24576};
static const int64_t by_19200[3] = {19200, 18432, 11520}, by_61440[3] = {61440, 61440, 61440};

static const int64_t local_bytes[3] = {1945856, 1674752, 1166592}, sym_bytes = 1044480;

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

// One of the 3 blocks h, forward: 0.33 ms of computation.
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
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight); // [64 192@cut_192]    0.00375 ms
    hap_cut(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias);     // [192@cut_192]    0.00104 ms

    // ln_2
    // together    0.0627 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][2]){{0, 1}, {1, 1}, {2, 1}});
    // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
    hap_event *e_ln_2_all =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH, 1, &b->ln_2_all, &b->ln_2, NULL);
    hap_wait(r, e_ln_2_all); // 0.0269 ms hidden

    // mlp
    // y = a b + c    [8 32 192@cut_192]    0.0597 ms
    op_linear(r, b->mlp_c_fc, b->ln_2_all, b->mlp_c_fc_weight_cut, b->mlp_c_fc_bias_cut, HAP_NN);
    hap_overlapped(r);
    op_gelu(r, b->mlp_act, b->mlp_c_fc, true); // y = gelu x    [8 32 192@cut_192]    0.0148 ms
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00375 ms
    hap_partial(r, AXIS(0), b->mlp_c_proj_bias_part, b->mlp_c_proj_bias); // [64]+    0.00106 ms
    // together    0.075 ms, one after the other 0.0989 ms; 69 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][2]){{1, 1}, {2, 1}, {0, 1}});
    op_linear(r, b->mlp_c_proj, b->mlp_act, b->mlp_c_proj_weight_cut, b->mlp_c_proj_bias_part,
              HAP_NN); // y = a b + c    [8 32 64]+    0.0597 ms
    // + -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.0392 ms
    hap_event *e_mlp_c_proj_cut = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH, 1, &b->mlp_c_proj_cut, &b->mlp_c_proj, b->mlp_c_proj_cut_scratch);
    hap_overlapped(r);
    hap_wait(r, e_mlp_c_proj_cut); // 0.0239 ms hidden

    // add
    op_add(r, b->add_2_2, b->add, b->mlp_c_proj_cut); // y = a + b    [8@rows 32 64]    0.00868 ms
}

// One of the 2 blocks h_2, backward: 0.613 ms of computation.
static void h_2_backward(hap_rank *r, const h_2_block *b)
{
    // mlp
    hap_cut(r, b->mlp_c_proj_weight_cut_2, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00375 ms

    // ln_f
    // together    0.0627 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][2]){{0, 1}, {1, 1}, {2, 1}});
    // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
    hap_event *e_ln_1_sum_all =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH, 1, &b->ln_1_sum_all, &b->ln_1_sum_2, NULL);
    hap_wait(r, e_ln_1_sum_all); // 0.0269 ms hidden

    // mlp
    // y = a b'    [8 32 192@cut_192]    0.0597 ms
    op_linear(r, b->mlp_c_proj_dx, b->ln_1_sum_all, b->mlp_c_proj_weight_cut_2, NULL, HAP_NT);
    hap_overlapped(r);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_1_sum_all); // [192@cut_192 64]    0.0597 ms
    op_sum(r, b->mlp_c_proj_db, b->ln_1_sum_all, HAP_INTS(0, 1), false); // [64]    0.0113 ms
    // y = a gelu'(b)    [8 32 192@cut_192]    0.0216 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    hap_cut(r, b->mlp_c_fc_weight_cut_2, b->mlp_c_fc_weight); // [64 192@cut_192]    0.00375 ms
    // y = a b'    [8 32 64]+    0.0597 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight_cut_2, NULL, HAP_NT);
    // + -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.0392 ms
    hap_event *e_mlp_c_fc_dx_cut = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH, 1, &b->mlp_c_fc_dx_cut, &b->mlp_c_fc_dx, b->mlp_c_fc_dx_cut_scratch);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2_all, b->mlp_act_dx); // [64 192@cut_192]    0.0597 ms
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192@cut_192]    0.00791 ms
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
    *b->ln_2_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_2_dw_cut,
                                                      &b->ln_2_dw, b->ln_2_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->ln_2_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_2_dw_1_cut, &b->ln_2_dw_1, b->ln_2_dw_1_cut_scratch);

    // attn
    // y = a b'    [8@rows 32 64]    0.0228 ms
    op_linear(r, b->attn_c_proj_dx, b->ln_2_sum_2, b->attn_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_sum_2); // [64 64]+    0.0228 ms
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0224 ms
    *b->attn_c_proj_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH, 1, &b->attn_c_proj_dw_cut,
                                  &b->attn_c_proj_dw, b->attn_c_proj_dw_cut_scratch);
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->attn_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &b->attn_c_proj_db_cut,
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
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0337 ms
    *b->attn_c_attn_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH, 1, &b->attn_c_attn_dw_cut,
                                  &b->attn_c_attn_dw, b->attn_c_attn_dw_cut_scratch);
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
    // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0124 ms
    *b->attn_c_attn_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &b->attn_c_attn_db_cut,
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
    *b->ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_1_dw_cut,
                                                      &b->ln_1_dw, b->ln_1_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->ln_1_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_1_dw_1_cut, &b->ln_1_dw_1, b->ln_1_dw_1_cut_scratch);
}

// One of the 2 blocks h_2, backward: 0.0312 ms of computation.
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
    hap_wait(r, *b->attn_c_attn_dw_cut_ready_2);                           // 0.0337 ms hidden
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
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_2); // y = sum x^2    []+    0.00272 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_2); // y = sum x^2    []+    0.00103 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_2); // y = sum x^2    []+    0.00272 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_cut(r, b->mlp_c_proj_db_cut, b->mlp_c_proj_db_2);        // [64@cut_64]    0.00102 ms
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 2 blocks h_2, update: 0.071 ms of computation.
static void h_2_update(hap_rank *r, const h_2_block *b)
{
    // update
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_ln_1_dw_1_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_1_dw_1_all, &b->ln_1_dw_1_cut_2, NULL);
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
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0241 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH, 1, &b->attn_c_attn_weight_2, &b->attn_c_attn_weight_cut, NULL);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.0122 ms
    hap_event *e_attn_c_attn_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->attn_c_attn_db_all, &b->attn_c_attn_db_cut_2, NULL);
    hap_wait(r, e_attn_c_attn_db_all);
    op_adam(r, b->attn_c_attn_bias, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_2); // [64@heads 64]    0.00202 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut_2, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00548 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0183 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH, 1, &b->attn_c_proj_weight_2, &b->attn_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_attn_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->attn_c_proj_db_all, &b->attn_c_proj_db_cut_2, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_ln_2_dw_all = coll_all_gather_start(r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_2_dw_all,
                                                     &b->ln_2_dw_cut_2, NULL);
    hap_wait(r, e_attn_c_proj_db_all);
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    hap_event *e_ln_2_dw_1_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_2_dw_1_all, &b->ln_2_dw_1_cut_2, NULL);
    hap_wait(r, e_ln_2_dw_all); // 0.00114 ms hidden
    op_adam(r, b->ln_2_weight_2, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq, b->ln_2_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_wait(r, e_ln_2_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_2_bias, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_cut(r, b->mlp_c_fc_weight_cut_3, b->mlp_c_fc_weight_2); // [64 192@cut_192]    0.00375 ms
    // a -= lr b / sqrt c    [64 192@cut_192]    0.013 ms
    op_adam(r, b->mlp_c_fc_weight_cut_3, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_2, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 1 @cut_192 -> whole    [64 192]    48.0 KiB    0.0379 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH, 1, &b->mlp_c_fc_weight_2, &b->mlp_c_fc_weight_cut_3, NULL);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.0123 ms
    hap_event *e_mlp_c_fc_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->mlp_c_fc_db_all, &b->mlp_c_fc_db_2, NULL);
    hap_wait(r, e_mlp_c_fc_db_all);
    op_adam(r, b->mlp_c_fc_bias, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
    // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00375 ms
    hap_cut(r, b->mlp_c_proj_weight_cut_3, b->mlp_c_proj_weight_2);
    op_adam(r, b->mlp_c_proj_weight_cut_3, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_2, b->clip, 1, 0.9, 0.95, 1e-08, 0.1,
            true); // a -= lr b / sqrt c    [192@cut_192 64]    0.013 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.0256 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH, 1, &b->mlp_c_proj_weight_2, &b->mlp_c_proj_weight_cut_3, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->ln_1_dw_all_ready_2 = coll_all_gather_start(r, AXIS(0), FORM_PUSH_ALL, 1, &b->ln_1_dw_all_2,
                                                    &b->ln_1_dw_cut_3, NULL);
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_2, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
}

// One of the 3 blocks h, update: 0 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0241 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.0183 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0379 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.0256 ms hidden
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
    const hap_dim scratch_15744[] = {WHOLE(15744)};
    const hap_dim cut_64_of_64[] = {CUT(0, 64, cut_64)};
    const hap_dim scratch_6144[] = {WHOLE(6144)};
    const hap_dim scratch_14400[] = {WHOLE(14400)};
    const hap_dim cut_3_of_192[] = {CUT_IN(0, 1, 3, 64, cut_3)};
    const hap_dim of_32_cut_64[] = {WHOLE(32), CUT(0, 64, cut_64)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_1934848, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1238784, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_SYM, at_491520, HAP_F32, 2, of_211_64); // [211 64]
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_LOCAL, at_307200, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_315392, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_315648, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_316160, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_337152, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_358144, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_366336, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_weight_exp_avg = hap_at(r, SEG_LOCAL, at_374528, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg", h_2_ln_1_weight_exp_avg);
    hap_tensor *h_2_ln_1_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_374784, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg_sq", h_2_ln_1_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_bias_exp_avg = hap_at(r, SEG_LOCAL, at_375040, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg", h_2_ln_1_bias_exp_avg);
    hap_tensor *h_2_ln_1_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_375296, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg_sq", h_2_ln_1_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_375552, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg", h_2_attn_c_attn_weight_exp_avg);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_394752, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg_sq",
              h_2_attn_c_attn_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg = hap_at(r, SEG_LOCAL, at_413952, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg", h_2_attn_c_attn_bias_exp_avg);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_414720, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg_sq", h_2_attn_c_attn_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_415488, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg", h_2_attn_c_proj_weight_exp_avg);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_423680, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg_sq",
              h_2_attn_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_431872, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg", h_2_attn_c_proj_bias_exp_avg);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_432128, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg_sq", h_2_attn_c_proj_bias_exp_avg_sq);
    hap_tensor *h_2_ln_2_weight_exp_avg = hap_at(r, SEG_LOCAL, at_432384, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg", h_2_ln_2_weight_exp_avg);
    hap_tensor *h_2_ln_2_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_432640, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg_sq", h_2_ln_2_weight_exp_avg_sq);
    hap_tensor *h_2_ln_2_bias_exp_avg = hap_at(r, SEG_LOCAL, at_432896, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg", h_2_ln_2_bias_exp_avg);
    hap_tensor *h_2_ln_2_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_433152, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg_sq", h_2_ln_2_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_433408, HAP_F32, 2, of_64_cut_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg", h_2_mlp_c_fc_weight_exp_avg);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_455424, HAP_F32, 2, of_64_cut_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg_sq", h_2_mlp_c_fc_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg = hap_at(r, SEG_LOCAL, at_477440, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg", h_2_mlp_c_fc_bias_exp_avg);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_478208, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg_sq", h_2_mlp_c_fc_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_478976, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg", h_2_mlp_c_proj_weight_exp_avg);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_500992, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg_sq", h_2_mlp_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_523008, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg", h_2_mlp_c_proj_bias_exp_avg);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_523264, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg_sq", h_2_mlp_c_proj_bias_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_523520, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_523776, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_524032, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_524288, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_315904, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_524544, HAP_I64, 2, rows_32);
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1052928, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_1830400, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_1830912, HAP_F32, 2, rows_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_1905664, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1151232, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_1232384, HAP_I64, 2, of_8_33);   // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_1234688, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_1831424, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_1831936, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_1232384_2, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_1233152, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_1232384_2, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_745472, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_745472, HAP_F32, 0, NULL);   // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_1232384_2, HAP_F32, 0, NULL);   // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_1945344, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_1232640, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_1832448, HAP_F32, 0, NULL);   // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_1829632, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1232384_3, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_1151232_2, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_1851648, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *lm_head_dw_cut = hap_at(r, SEG_LOCAL, at_1291520, HAP_F32, 2, vocab_64);
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_1175808, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_1176320, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 1, of_64);       // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_1313280, HAP_F32, 1, of_64);     // [64]+
    hap_tensor *ln_f_dw_all = hap_at(r, SEG_LOCAL, at_1945600, HAP_F32, 1, of_64);   // [64]
    hap_tensor *ln_f_dw_1_all = hap_at(r, SEG_LOCAL, at_1313280, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_1_ln_1_sum_all = hap_at(r, SEG_SYM, at_888832, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_mlp_c_proj_weight_cut_2 =
        hap_at(r, SEG_LOCAL, at_612608, HAP_F32, 2, cut_192_64);
    hap_tensor *h_0_mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_876800, HAP_F32, 3, of_8_32_cut_192);
    hap_tensor *h_0_mlp_act_dx = hap_at(r, SEG_LOCAL, at_749824_2, HAP_F32, 3, of_8_32_cut_192);
    hap_tensor *h_0_mlp_c_fc_weight_cut_2 =
        hap_at(r, SEG_LOCAL, at_590080, HAP_F32, 2, of_64_cut_192);
    // [8 32 64]+
    hap_tensor *h_0_mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_524544_2, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_mlp_c_fc_dx_cut = hap_at(r, SEG_LOCAL, at_590080_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_stats = hap_at(r, SEG_LOCAL, at_549120, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_549632, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_dx = hap_at(r, SEG_LOCAL, at_524544_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_1_ln_1_sum_cut = hap_at(r, SEG_LOCAL, at_749824_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_749824_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_dw = hap_at(r, SEG_LOCAL, at_648448, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_2_dw_1 = hap_at(r, SEG_LOCAL, at_648192, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 3, rows_32_64);
    // [64 64]+
    hap_tensor *h_0_attn_c_proj_dw = hap_at(r, SEG_LOCAL, at_798976, HAP_F32, 2, of_64_64);
    hap_tensor *h_0_attn_c_proj_db = hap_at(r, SEG_LOCAL, at_648704, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_573696, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_622848, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_524544_4, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_549120_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_598272, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_598272, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_2_dx =
        hap_at(r, SEG_LOCAL, at_622848_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_622848_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_dx = hap_at(r, SEG_LOCAL, at_774400_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_dx = hap_at(r, SEG_LOCAL, at_774400_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_split_dx = hap_at(r, SEG_LOCAL, at_524544_5, HAP_F32, 3, rows_32_192);
    hap_tensor *h_0_attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_774400_3, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_0_attn_c_attn_dw = hap_at(r, SEG_LOCAL, at_598272, HAP_F32, 2, of_64_192);
    hap_tensor *h_0_attn_c_attn_db = hap_at(r, SEG_LOCAL, at_647424, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_0_ln_1_stats = hap_at(r, SEG_LOCAL, at_549120_3, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_549632_2, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_dx = hap_at(r, SEG_LOCAL, at_524544_5, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_2 = hap_at(r, SEG_LOCAL, at_749824_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_ln_1_dw = hap_at(r, SEG_LOCAL, at_553984, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_1_dw_1 = hap_at(r, SEG_LOCAL, at_553728, HAP_F32, 1, of_64); // [64]+
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_524544_6, HAP_F32, 3, of_1_32_64);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_545536, HAP_F32, 2, of_32_64); // [32 64]
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_524544_6, HAP_F32, 2, vocab_64);
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_1291520, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL); // []+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_LOCAL, at_524544_7, HAP_F32, 2, of_32_cut_64);
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_528128, HAP_F32, 0, NULL);      // []+
    hap_tensor *h_2_ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_1_weight_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_1_bias_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_weight_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);
    hap_tensor *h_2_ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_2_weight_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_2_bias_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_fc_weight_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_mlp_c_fc_bias_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);   // []+
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_weight_norm_all = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL);   // []
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_527872, HAP_F32, 0, NULL);    // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_759808, HAP_F32, 0, NULL);              // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_LOCAL, at_695040, HAP_F32, 2, vocab_64);
    hap_tensor *h_2_ln_1_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_attn_c_attn_weight_cut =
        hap_at(r, SEG_LOCAL, at_716032, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_attn_c_attn_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192);
    hap_tensor *h_2_attn_c_proj_weight_cut = hap_at(r, SEG_LOCAL, at_751616, HAP_F32, 2, heads_64);
    hap_tensor *h_2_attn_c_proj_db_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_2_dw_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);   // [64]
    hap_tensor *h_2_ln_2_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_mlp_c_fc_weight_cut_3 =
        hap_at(r, SEG_LOCAL, at_651008, HAP_F32, 2, of_64_cut_192);
    hap_tensor *h_2_mlp_c_fc_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192);
    hap_tensor *h_2_mlp_c_proj_weight_cut_3 =
        hap_at(r, SEG_LOCAL, at_673024, HAP_F32, 2, cut_192_64);

    // Scratch of collectives.
    hap_tensor *ce_sum_all_scratch = hap_at(r, SEG_SYM, at_749568, HAP_F32, 1, of_192);
    hap_tensor *lm_head_dw_cut_scratch = hap_at(r, SEG_SYM, at_823296, HAP_F32, 1, scratch_15744);
    hap_tensor *h_0_mlp_c_fc_dx_cut_scratch =
        hap_at(r, SEG_SYM, at_741376, HAP_F32, 1, scratch_18432);
    hap_tensor *h_0_ln_2_dw_cut_scratch = hap_at(r, SEG_SYM, at_802816, HAP_F32, 1, of_192);
    hap_tensor *h_0_ln_2_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_614400, HAP_F32, 1, of_192);
    hap_tensor *h_0_attn_c_proj_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_888832, HAP_F32, 1, scratch_6144);
    hap_tensor *h_0_attn_c_proj_db_cut_scratch = hap_at(r, SEG_SYM, at_806912, HAP_F32, 1, of_192);
    hap_tensor *h_0_attn_c_attn_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_741376, HAP_F32, 1, scratch_14400);
    hap_tensor *h_0_attn_c_attn_db_cut_scratch = hap_at(r, SEG_SYM, at_811008, HAP_F32, 1, of_192);
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
        h_ln_1_sum[i] = hap_at_layer(r, SEG_LOCAL, at_1938432, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1_m2[i] = hap_at_layer(r, SEG_LOCAL, at_1939968, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1[i] = hap_at_layer(r, SEG_LOCAL, at_1313536, by_24576, i, HAP_F32, 3, rows_32_64);
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
            hap_at_layer(r, SEG_LOCAL, at_1387264, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1460992, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_3[i] =
            hap_at_layer(r, SEG_LOCAL, at_1534720, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa[i] =
            hap_at_layer(r, SEG_LOCAL, at_1608448, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa_lse[i] =
            hap_at_layer(r, SEG_LOCAL, at_1930240, by_1536, i, HAP_F32, 3, rows_4_32);
        h_attn_reshape_4[i] =
            hap_at_layer(r, SEG_LOCAL, at_1682176, by_24576, i, HAP_F32, 3, rows_32_64);
        h_attn_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_147456, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), h_attn_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_attn_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_3840, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), h_attn_c_proj_bias[i],
                  HAP_FILL(0));
        h_add[i] = hap_at_layer(r, SEG_LOCAL, at_1755904, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_2_sum[i] = hap_at_layer(r, SEG_LOCAL, at_1941504, by_512, i, HAP_F32, 2, rows_32);
        h_ln_2_m2[i] = hap_at_layer(r, SEG_LOCAL, at_1943040, by_512, i, HAP_F32, 2, rows_32);
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
            hap_at_layer(r, SEG_LOCAL, at_524544, by_88064, i, HAP_F32, 3, of_8_32_cut_192);
        h_mlp_act[i] =
            hap_at_layer(r, SEG_LOCAL, at_788736, by_88064, i, HAP_F32, 3, of_8_32_cut_192);
        h_mlp_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_344064, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), h_mlp_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_mlp_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_8448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), h_mlp_c_proj_bias[i],
                  HAP_FILL(0));
        ln_f_dx_2[i] = hap_at(r, SEG_LOCAL, at_1905664_2, HAP_F32, 3, rows_32_64);
        h_mlp_c_proj_dw[i] =
            hap_at_layer(r, SEG_LOCAL, at_1192704, by_22016, i, HAP_F32, 2, cut_192_64);
        h_mlp_c_proj_db[i] = hap_at_layer(r, SEG_LOCAL, at_1312512, by_256, i, HAP_F32, 1, of_64);
        h_mlp_c_fc_dw[i] =
            hap_at_layer(r, SEG_LOCAL, at_1785600, by_22016, i, HAP_F32, 2, of_64_cut_192);
        h_mlp_c_fc_db[i] =
            hap_at_layer(r, SEG_LOCAL, at_1936896, by_512_2, i, HAP_F32, 1, cut_192_of_192);
        h_ln_2_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1943552, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_2_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1942016, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1714944, by_8192, i, HAP_F32, 2, heads_64);
        h_attn_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1739520, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_attn_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1324288, by_19200, i, HAP_F32, 2, cut_64_192);
        h_attn_c_attn_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1383424, by_256, i, HAP_F32, 1, cut_3_of_192);
        h_ln_1_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1102336, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_1_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1101568, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_1_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i % 2, HAP_F32, 0, NULL); // []+
        h_ln_1_dw_all[i] = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);        // [64]
    }

    hap_tensor *h_2_add_2_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1052928, by_24576, i, HAP_F32, 3, rows_32_64);
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_700672, HAP_F32, 3, rows_32_192);
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_964864, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_1014016, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_989440, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_1014016, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_989440, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_964864, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_1682176, by_24576, i, HAP_F32, 4, rows_32_4_16);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_1755904, by_24576, i, HAP_F32, 3, rows_32_64);
        b->ln_2 = hap_at(r, SEG_LOCAL, at_964864_2, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->mlp_c_fc_weight_cut = hap_at(r, SEG_LOCAL, at_989440_2, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_bias_cut = hap_at(r, SEG_LOCAL, at_1011456, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_proj_weight_cut = hap_at(r, SEG_LOCAL, at_1216768, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_bias_part = hap_at(r, SEG_LOCAL, at_1240832, HAP_F32, 1, of_64); // [64]+
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_1126656, HAP_F32, 3, of_8_32_64);      // [8 32 64]+
        b->mlp_c_proj_cut = hap_at(r, SEG_LOCAL, at_1192192, HAP_F32, 3, rows_32_64);
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
        b->mlp_c_proj_weight_cut_2 = hap_at(r, SEG_LOCAL, at_1214720, HAP_F32, 2, cut_192_64);
        b->ln_1_sum_all = hap_at(r, SEG_SYM, at_888832, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1126656_2, HAP_F32, 3, of_8_32_cut_192);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_964864_3, HAP_F32, 3, of_8_32_cut_192);
        b->mlp_c_fc_weight_cut_2 = hap_at(r, SEG_LOCAL, at_749824, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_1126656_3, HAP_F32, 3, of_8_32_64); // [8 32 64]+
        b->mlp_c_fc_dx_cut = hap_at(r, SEG_LOCAL, at_749824, HAP_F32, 3, rows_32_64);
        b->mlp_c_fc_dx_cut_scratch = hap_at(r, SEG_SYM, at_745472, HAP_F32, 1, scratch_18432);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_774400, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_774912, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_964864_4, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_1_sum_cut = hap_at(r, SEG_LOCAL, at_1905664_2, HAP_F32, 3, rows_32_64);
        b->ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_1905664_2, HAP_F32, 3, rows_32_64);
        // [64]+
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_1944832, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1944320, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1011712, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1003520, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_749824, HAP_F32, 3, rows_32_64);
        // [64 64]+
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1258752, by_16384, 1 - i, HAP_F32, 2, of_64_64);
        b->attn_c_proj_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_954368, by_24576_2, 1 - i, HAP_F32, 1, scratch_6144);
        b->attn_c_proj_db =
            hap_at_layer(r, SEG_LOCAL, at_1740288, by_256, 1 - i, HAP_F32, 1, of_64); // [64]+
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1019904, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_749824, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_1014016_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1126656_4, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_964864_5, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_989440_3, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_749824, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_749824, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_1126656_5, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1126656_5, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1151232_3, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1151232_3, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_964864_4, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_749824, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_651520, by_49152, 1 - i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_618496, by_61440, 1 - i, HAP_F32, 1, scratch_14400);
        b->attn_c_attn_db =
            hap_at_layer(r, SEG_LOCAL, at_1381888, by_768, 1 - i, HAP_F32, 1, of_192); // [192]+
        b->attn_c_attn_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1028096, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_774400, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_774912, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_964864_6, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        // [64]+
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_1384704, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1384192, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_815104, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1036288, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544_8, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_weight_norm = hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544_8, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);        // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);          // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);        // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);   // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_weight_norm = hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);     // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        // []+
        b->mlp_c_fc_bias_norm = hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_527872, by_256, i, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_db_cut = hap_at(r, SEG_LOCAL, at_524544, HAP_F32, 1, cut_64_of_64);
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_524800, HAP_F32, 0, NULL); // []+
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
            hap_at_layer(r, SEG_LOCAL, at_612608_2, by_19200, i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_11264, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_49664, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192); // [192]
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_88064, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_89600, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_735232, by_8192, i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_91136, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_107520, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_db_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
        b->ln_2_dw_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);        // [64]
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_123904, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_124416, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_124928, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_125440, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_125952, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_126464, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut_3 =
            hap_at_layer(r, SEG_LOCAL, at_524544_9, by_22016, i, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_126976, by_22016, i, HAP_F32, 2, of_64_cut_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_171008, by_22016, i, HAP_F32, 2, of_64_cut_192);
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
            hap_at_layer(r, SEG_LOCAL, at_568576, by_22016, i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_218112, by_22016, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_262144, by_22016, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_306176, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_306688, by_256, i, HAP_F32, 1, of_64);
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
        hap_event *e_ce_sum_all = coll_all_reduce_start(r, AXIS(0), FORM_PUSH_ALL, 1, &ce_sum_all,
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
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0355 ms
        hap_event *e_lm_head_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH, 1, &lm_head_dw_cut, &lm_head_dw, lm_head_dw_cut_scratch);

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
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00375 ms
        hap_cut(r, h_0_mlp_c_proj_weight_cut_2, h_mlp_c_proj_weight[0]);

        // transformer.h.1.ln_1, backward
        // together    0.0627 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
        hap_overlap(r, 3, (const int64_t[][2]){{0, 1}, {1, 1}, {2, 1}});
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
        hap_event *e_h_1_ln_1_sum_all =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH, 1, &h_1_ln_1_sum_all, &ln_f_dx_2[0], NULL);
        hap_wait(r, e_h_1_ln_1_sum_all); // 0.0269 ms hidden

        // transformer.h.0.mlp, backward
        op_linear(r, h_0_mlp_c_proj_dx, h_1_ln_1_sum_all, h_0_mlp_c_proj_weight_cut_2, NULL,
                  HAP_NT); // y = a b'    [8 32 192@cut_192]    0.0597 ms
        hap_overlapped(r);
        // y = sum rows a' b    [192@cut_192 64]    0.0597 ms
        op_linear_dw(r, h_mlp_c_proj_dw[0], h_mlp_act[0], h_1_ln_1_sum_all);
        op_sum(r, h_mlp_c_proj_db[0], h_1_ln_1_sum_all, HAP_INTS(0, 1), false); // [64]    0.0113 ms
        // y = a gelu'(b)    [8 32 192@cut_192]    0.0216 ms
        op_gelu_bwd(r, h_0_mlp_act_dx, h_0_mlp_c_proj_dx, h_mlp_c_fc[0], true);
        // whole -> dim 1 @cut_192    [64 192@cut_192]    0.00375 ms
        hap_cut(r, h_0_mlp_c_fc_weight_cut_2, h_mlp_c_fc_weight[0]);
        // y = a b'    [8 32 64]+    0.0597 ms
        op_linear(r, h_0_mlp_c_fc_dx, h_0_mlp_act_dx, h_0_mlp_c_fc_weight_cut_2, NULL, HAP_NT);
        // + -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.0392 ms
        hap_event *e_h_0_mlp_c_fc_dx_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH, 1, &h_0_mlp_c_fc_dx_cut,
                                      &h_0_mlp_c_fc_dx, h_0_mlp_c_fc_dx_cut_scratch);
        // y = sum rows a' b    [64 192@cut_192]    0.0597 ms
        op_linear_dw(r, h_mlp_c_fc_dw[0], h_ln_2_all[0], h_0_mlp_act_dx);
        // y = sum x    [192@cut_192]    0.00791 ms
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
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_ln_2_dw_cut[0], &h_0_ln_2_dw, h_0_ln_2_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_ln_2_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &h_ln_2_dw_1_cut[0],
                                      &h_0_ln_2_dw_1, h_0_ln_2_dw_1_cut_scratch);

        // transformer.h.0.attn, backward
        // y = a b'    [8@rows 32 64]    0.0228 ms
        op_linear(r, h_0_attn_c_proj_dx, h_0_ln_2_sum_2, h_attn_c_proj_weight[0], NULL, HAP_NT);
        // y = sum rows a' b    [64 64]+    0.0228 ms
        op_linear_dw(r, h_0_attn_c_proj_dw, h_attn_reshape_4[0], h_0_ln_2_sum_2);
        // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0224 ms
        h_0_attn_c_proj_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH, 1, &h_attn_c_proj_dw_cut[0],
                                      &h_0_attn_c_proj_dw, h_0_attn_c_proj_dw_cut_scratch);
        op_sum(r, h_0_attn_c_proj_db, h_0_ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_attn_c_proj_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &h_attn_c_proj_db_cut[0],
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
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0337 ms
        h_0_attn_c_attn_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH, 1, &h_attn_c_attn_dw_cut[0],
                                      &h_0_attn_c_attn_dw, h_0_attn_c_attn_dw_cut_scratch);
        // y = sum x    [192]+    0.0088 ms
        op_sum(r, h_0_attn_c_attn_db, h_0_attn_split_dx, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0124 ms
        h_0_attn_c_attn_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &h_attn_c_attn_db_cut[0],
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
            r, AXIS(0), FORM_PUSH, 1, &h_0_ln_1_sum_all, &h_0_ln_1_sum_2, NULL);
        op_norm_bwd_params(r, h_0_ln_1_dw, h_0_ln_1_dw_1, h_0_attn_c_attn_dx, h_2_add_2_2[0],
                           h_ln_1_sum[0], h_ln_1_m2[0], 1e-05); // [64]+    0.00628 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_ln_1_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_ln_1_dw_cut[0], &h_0_ln_1_dw, h_0_ln_1_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_0_ln_1_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH_ALL, 1, &h_ln_1_dw_1_cut[0],
                                      &h_0_ln_1_dw_1, h_0_ln_1_dw_1_cut_scratch);
        hap_wait(r, e_h_0_ln_1_sum_all);

        // transformer.add, backward
        op_sum(r, add_fold1, h_0_ln_1_sum_all, HAP_INTS(0), true); // [1 32 64]    0.0125 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // y[b] += a    [32 64]    0.0036 ms

        // transformer.wte, backward
        // y[b] += a    [211@vocab 64]    0.0136 ms
        op_embedding_bwd(r, wte_dw, h_0_ln_1_sum_all, input_ids, 211);
        hap_wait(r, e_lm_head_dw_cut);              // 0.0355 ms hidden
        op_add(r, wte_sum, lm_head_dw_cut, wte_dw); // y = a + b    [211@vocab 64]    0.00732 ms

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum); // y = sum x^2    []+    0.00311 ms
        hap_cut(r, wpe_dw_cut, wpe_dw); // whole -> dim 1 @cut_64    [32 64@cut_64]    0.00151 ms
        op_sumsq(r, wpe_weight_sumsq, wpe_dw_cut); // y = sum x^2    []+    0.00132 ms
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
        hap_wait(r, h_attn_c_attn_dw_cut_ready[0]);                         // 0.0337 ms hidden
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
        op_sumsq(r, h_2_mlp_c_fc_weight_sumsq, h_mlp_c_fc_dw[2]); // []+    0.00272 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_weight_norm, h_2_ln_2_bias_norm, h_2_mlp_c_fc_weight_sumsq);
        op_sumsq(r, h_2_mlp_c_fc_bias_sumsq, h_mlp_c_fc_db[2]); // y = sum x^2    []+    0.00103 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_bias_norm, h_2_mlp_c_fc_weight_norm, h_2_mlp_c_fc_bias_sumsq);
        op_sumsq(r, h_2_mlp_c_proj_weight_sumsq, h_mlp_c_proj_dw[2]); // []+    0.00272 ms
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
        hap_cut(r, wte_weight_cut, wte_weight);    // [211@vocab 64]    0.00437 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0157 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.025 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH, 1, &wte_weight, &wte_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        h_0_ln_1_dw_all_ready = coll_all_gather_start(r, AXIS(0), FORM_PUSH_ALL, 1,
                                                      &h_ln_1_dw_all[0], &h_ln_1_dw_cut[0], NULL);
        op_adam(r, wpe_weight, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32 64]    0.00996 ms

        for (int i = 0; i < 2; i++)
            h_2_update(r, &h_2[i]);

        // update
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_ln_1_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_2_ln_1_dw_1_all, &h_ln_1_dw_1_cut[2], NULL);
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
        // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0241 ms
        h_2_attn_c_attn_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH, 1, &h_attn_c_attn_weight[2], &h_2_attn_c_attn_weight_cut, NULL);
        // dim 0 @cut_3 -> whole    [192]    768 B    0.0122 ms
        hap_event *e_h_2_attn_c_attn_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_2_attn_c_attn_db_all, &h_attn_c_attn_db_cut[2], NULL);
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
        h_2_attn_c_proj_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH, 1, &h_attn_c_proj_weight[2], &h_2_attn_c_proj_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_attn_c_proj_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_2_attn_c_proj_db_all, &h_attn_c_proj_db_cut[2], NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_ln_2_dw_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_2_ln_2_dw_all, &h_ln_2_dw_cut[2], NULL);
        hap_wait(r, e_h_2_attn_c_proj_db_all);
        op_adam(r, h_attn_c_proj_bias[2], h_2_attn_c_proj_bias_exp_avg,
                h_2_attn_c_proj_bias_exp_avg_sq, h_2_attn_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08,
                0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_h_2_ln_2_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_2_ln_2_dw_1_all, &h_ln_2_dw_1_cut[2], NULL);
        hap_wait(r, e_h_2_ln_2_dw_all); // 0.00114 ms hidden
        op_adam(r, h_ln_2_weight[2], h_2_ln_2_weight_exp_avg, h_2_ln_2_weight_exp_avg_sq,
                h_2_ln_2_dw_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        hap_wait(r, e_h_2_ln_2_dw_1_all);                             // 0.00114 ms hidden
        op_adam(r, h_ln_2_bias[2], h_2_ln_2_bias_exp_avg, h_2_ln_2_bias_exp_avg_sq,
                h_2_ln_2_dw_1_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        // whole -> dim 1 @cut_192    [64 192@cut_192]    0.00375 ms
        hap_cut(r, h_2_mlp_c_fc_weight_cut_3, h_mlp_c_fc_weight[2]);
        op_adam(r, h_2_mlp_c_fc_weight_cut_3, h_2_mlp_c_fc_weight_exp_avg,
                h_2_mlp_c_fc_weight_exp_avg_sq, h_mlp_c_fc_dw[2], clip, 1, 0.9, 0.95, 1e-08, 0.1,
                true); // a -= lr b / sqrt c    [64 192@cut_192]    0.013 ms
        // dim 1 @cut_192 -> whole    [64 192]    48.0 KiB    0.0379 ms
        h_2_mlp_c_fc_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH, 1, &h_mlp_c_fc_weight[2], &h_2_mlp_c_fc_weight_cut_3, NULL);
        // dim 0 @cut_192 -> whole    [192]    768 B    0.0123 ms
        hap_event *e_h_2_mlp_c_fc_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_2_mlp_c_fc_db_all, &h_mlp_c_fc_db[2], NULL);
        hap_wait(r, e_h_2_mlp_c_fc_db_all);
        op_adam(r, h_mlp_c_fc_bias[2], h_2_mlp_c_fc_bias_exp_avg, h_2_mlp_c_fc_bias_exp_avg_sq,
                h_2_mlp_c_fc_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00375 ms
        hap_cut(r, h_2_mlp_c_proj_weight_cut_3, h_mlp_c_proj_weight[2]);
        op_adam(r, h_2_mlp_c_proj_weight_cut_3, h_2_mlp_c_proj_weight_exp_avg,
                h_2_mlp_c_proj_weight_exp_avg_sq, h_mlp_c_proj_dw[2], clip, 1, 0.9, 0.95, 1e-08,
                0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.013 ms
        // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.0256 ms
        h_2_mlp_c_proj_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH, 1, &h_mlp_c_proj_weight[2], &h_2_mlp_c_proj_weight_cut_3, NULL);
        op_adam(r, h_mlp_c_proj_bias[2], h_2_mlp_c_proj_bias_exp_avg,
                h_2_mlp_c_proj_bias_exp_avg_sq, h_mlp_c_proj_db[2], clip, 1, 0.9, 0.95, 1e-08, 0,
                true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_all, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_all, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        hap_wait(r, e_wte_weight);     // 0.025 ms hidden

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);
    }
    return hap_finish(r);
}
