// program.c: one training step of gpt2-tiny on 3 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop-peers.yaml --pin
//     'transformer.h.*.mlp.c_fc=S(2)' --pin 'transformer.h.*.add*=S(0)' -o
//     gpt2-tiny@laptop-peers-pairs -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}
//   predicted   4.27 ms/step = 3.44 ms compute and idle + 1.52 ms communication - 0.691 ms hidden;
//               bound 2.62 ms; by datasheet formulas
//   memory      2.87 MiB / 2.60 MiB / 2.12 MiB    graph a94a3bb305aca178    cluster
//               fed28ccfbfd27e63
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.375 0.375 0.250 over axis 0 (compute).
static const int64_t rows[3] = {3, 3, 2};

// 211 cut 0.445 0.346 0.209 over axis 0 (compute).
static const int64_t vocab[3] = {94, 73, 44};

// 64 cut 0.391 0.375 0.234 over axis 0 (compute).
static const int64_t cut_64[3] = {25, 24, 15};

// 3 cut 0.333 0.333 0.333 over axis 0 (compute).
static const int64_t cut_3[3] = {1, 1, 1};

// 4 cut 0.500 0.250 0.250 over axis 0 (compute).
static const int64_t heads[3] = {2, 1, 1};

// 192 cut 0.464 0.333 0.203 over axis 0 (lp).
static const int64_t cut_192[3] = {89, 64, 39};

// Byte offsets in the symmetric segment: what other ranks write into, the same on every rank.
static const int64_t at_491520[3] = {491520, 491520, 491520}, at_0[3] = {0, 0, 0};
static const int64_t at_147456[3] = {147456, 147456, 147456};
static const int64_t at_196608[3] = {196608, 196608, 196608};
static const int64_t at_344064[3] = {344064, 344064, 344064};
static const int64_t at_548864[3] = {548864, 548864, 548864};
static const int64_t at_745472[3] = {745472, 745472, 745472};
static const int64_t at_749568[3] = {749568, 749568, 749568};
static const int64_t at_815104[3] = {815104, 815104, 815104};
static const int64_t at_888832[3] = {888832, 888832, 888832};
static const int64_t at_1011712[3] = {1011712, 1011712, 1011712};
static const int64_t at_1003520[3] = {1003520, 1003520, 1003520};
static const int64_t at_954368[3] = {954368, 954368, 954368};
static const int64_t at_1019904[3] = {1019904, 1019904, 1019904};
static const int64_t at_618496[3] = {618496, 618496, 618496};
static const int64_t at_1028096[3] = {1028096, 1028096, 1028096};
static const int64_t at_1044480[3] = {1044480, 1044480, 1044480};
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
static const int64_t at_1856512[3] = {1856512, 995840, 1157888};
static const int64_t at_1293056[3] = {1293056, 997888, 546048};
static const int64_t at_313344[3] = {313344, 242688, 163840}, at_768[3] = {768, 768, 768};
static const int64_t at_1536[3] = {1536, 1536, 1536}, at_3840[3] = {3840, 3840, 3840};
static const int64_t at_4608[3] = {4608, 4608, 4608}, at_5376[3] = {5376, 5376, 5376};
static const int64_t at_6144[3] = {6144, 6144, 6144}, at_8448[3] = {8448, 8448, 8448};
static const int64_t at_321536[3] = {321536, 250880, 172032};
static const int64_t at_321792[3] = {321792, 251136, 172288};
static const int64_t at_322048[3] = {322048, 251392, 172544};
static const int64_t at_322304[3] = {322304, 251648, 172800};
static const int64_t at_346368[3] = {346368, 270336, 184064};
static const int64_t at_370432[3] = {370432, 289024, 195328};
static const int64_t at_378624[3] = {378624, 297216, 203520}, at_9216[3] = {9216, 9216, 9216};
static const int64_t at_9728[3] = {9728, 9728, 9728}, at_10240[3] = {10240, 10240, 10240};
static const int64_t at_10752[3] = {10752, 10752, 10752}, at_11264[3] = {11264, 11264, 11264};
static const int64_t at_49664[3] = {49664, 48128, 34304}, at_88064[3] = {88064, 84992, 57344};
static const int64_t at_89600[3] = {89600, 86528, 58880}, at_91136[3] = {91136, 88064, 60416};
static const int64_t at_107520[3] = {107520, 96256, 68608}, at_123904[3] = {123904, 104448, 76800};
static const int64_t at_124416[3] = {124416, 104960, 77312}, at_124928[3] = {124928, 105472, 77824};
static const int64_t at_125440[3] = {125440, 105984, 78336}, at_125952[3] = {125952, 106496, 78848};
static const int64_t at_126464[3] = {126464, 107008, 79360}, at_126976[3] = {126976, 107520, 79872};
static const int64_t at_172544[3] = {172544, 140288, 99840};
static const int64_t at_218112[3] = {218112, 173056, 119808};
static const int64_t at_219648[3] = {219648, 174592, 121344};
static const int64_t at_221184[3] = {221184, 176128, 122880};
static const int64_t at_266752[3] = {266752, 208896, 142848};
static const int64_t at_312320[3] = {312320, 241664, 162816};
static const int64_t at_312832[3] = {312832, 242176, 163328};
static const int64_t at_386816[3] = {386816, 305408, 211712};
static const int64_t at_387072[3] = {387072, 305664, 211968};
static const int64_t at_387328[3] = {387328, 305920, 212224};
static const int64_t at_387584[3] = {387584, 306176, 212480};
static const int64_t at_387840[3] = {387840, 306432, 212736};
static const int64_t at_407040[3] = {407040, 324864, 224256};
static const int64_t at_426240[3] = {426240, 343296, 235776};
static const int64_t at_427008[3] = {427008, 344064, 236544};
static const int64_t at_427776[3] = {427776, 344832, 237312};
static const int64_t at_435968[3] = {435968, 348928, 241408};
static const int64_t at_444160[3] = {444160, 353024, 245504};
static const int64_t at_444416[3] = {444416, 353280, 245760};
static const int64_t at_444672[3] = {444672, 353536, 246016};
static const int64_t at_444928[3] = {444928, 353792, 246272};
static const int64_t at_445184[3] = {445184, 354048, 246528};
static const int64_t at_445440[3] = {445440, 354304, 246784};
static const int64_t at_445696[3] = {445696, 354560, 247040};
static const int64_t at_468480[3] = {468480, 370944, 257024};
static const int64_t at_491264[3] = {491264, 387328, 267008};
static const int64_t at_492032[3] = {492032, 388096, 267776};
static const int64_t at_492800[3] = {492800, 388864, 268544};
static const int64_t at_515584[3] = {515584, 405248, 278528};
static const int64_t at_538368[3] = {538368, 421632, 288512};
static const int64_t at_538624[3] = {538624, 421888, 288768};
static const int64_t at_538880[3] = {538880, 422144, 289024};
static const int64_t at_539136[3] = {539136, 422400, 289280};
static const int64_t at_539392[3] = {539392, 422656, 289536};
static const int64_t at_539648[3] = {539648, 422912, 289792};
static const int64_t at_539904[3] = {539904, 423168, 290048};
static const int64_t at_1086720[3] = {1086720, 816384, 548096};
static const int64_t at_1955328[3] = {1955328, 1665536, 1161472};
static const int64_t at_1956864[3] = {1956864, 1667072, 1162240};
static const int64_t at_1409536[3] = {1409536, 1521664, 770816};
static const int64_t at_722176[3] = {722176, 890112, 489728};
static const int64_t at_995584[3] = {995584, 554240, 369920};
static const int64_t at_1044736[3] = {1044736, 750848, 597248};
static const int64_t at_1020160[3] = {1020160, 578816, 386304};
static const int64_t at_1483264[3] = {1483264, 1079040, 819968};
static const int64_t at_1556992[3] = {1556992, 1152768, 869120};
static const int64_t at_1630720[3] = {1630720, 1226496, 918272};
static const int64_t at_1704448[3] = {1704448, 1300224, 967424};
static const int64_t at_1851904[3] = {1851904, 1595392, 1154816};
static const int64_t at_1778176[3] = {1778176, 1373952, 1016576};
static const int64_t at_1858560[3] = {1858560, 1447680, 1065728};
static const int64_t at_1958400[3] = {1958400, 1668608, 1159936};
static const int64_t at_1959936[3] = {1959936, 1670144, 1160704};
static const int64_t at_995584_2[3] = {995584, 750848, 489728};
static const int64_t at_1020160_2[3] = {1020160, 775424, 506112};
static const int64_t at_1042944[3] = {1042944, 791808, 516096};
static const int64_t at_813312[3] = {813312, 619776, 409856};
static const int64_t at_1250560[3] = {1250560, 999936, 662784};
static const int64_t at_1273344[3] = {1273344, 980224, 672768};
static const int64_t at_1160448[3] = {1160448, 890112, 597248};
static const int64_t at_1225984[3] = {1225984, 955648, 529664};
static const int64_t at_1932288[3] = {1932288, 1649152, 1114880};
static const int64_t at_1932800[3] = {1932800, 1649664, 1115136};
static const int64_t at_1185024[3] = {1185024, 1600000, 529664};
static const int64_t at_1209600[3] = {1209600, 914688, 613632};
static const int64_t at_1290752[3] = {1290752, 999936, 667648};
static const int64_t at_1291520[3] = {1291520, 1624576, 668160};
static const int64_t at_1292032[3] = {1292032, 1625088, 668416};
static const int64_t at_1292544[3] = {1292544, 1000704, 668672};
static const int64_t at_1955072[3] = {1955072, 1521408, 1163008};
static const int64_t at_1291008[3] = {1291008, 1000192, 667904};
static const int64_t at_1292544_2[3] = {1292544, 1626368, 668672};
static const int64_t at_1290752_2[3] = {1290752, 1625600, 667648};
static const int64_t at_1328384[3] = {1328384, 997888, 716800};
static const int64_t at_1209600_2[3] = {1209600, 1624576, 613632};
static const int64_t at_1274368[3] = {1274368, 914688, 662784};
static const int64_t at_1377536[3] = {1377536, 968704, 747008};
static const int64_t at_1185024_2[3] = {1185024, 987392, 529664};
static const int64_t at_1185536[3] = {1185536, 987904, 529920};
static const int64_t at_1402880[3] = {1402880, 987648, 762368};
static const int64_t at_1402624[3] = {1402624, 987392, 746752};
static const int64_t at_1328384_2[3] = {1328384, 1624576, 716800};
static const int64_t at_1160448_2[3] = {1160448, 997888, 597248};
static const int64_t at_995584_3[3] = {995584, 1600000, 1114880};
static const int64_t at_1225984_2[3] = {1225984, 750848, 385536};
static const int64_t at_1328384_3[3] = {1328384, 750848, 385536};
static const int64_t at_771328[3] = {771328, 603392, 401920};
static const int64_t at_771840[3] = {771840, 603904, 402176};
static const int64_t at_995584_4[3] = {995584, 997888, 597248};
static const int64_t at_1352960[3] = {1352960, 1600000, 646400};
static const int64_t at_1402112[3] = {1402112, 906496, 761856};
static const int64_t at_1401600[3] = {1401600, 815872, 761344};
static const int64_t at_995584_5[3] = {995584, 750848, 385536};
static const int64_t at_771328_2[3] = {771328, 1480448, 1082112};
static const int64_t at_1835520[3] = {1835520, 907008, 767232};
static const int64_t at_1044736_2[3] = {1044736, 1047040, 630016};
static const int64_t at_1185024_3[3] = {1185024, 1423104, 1049344};
static const int64_t at_1020160_3[3] = {1020160, 1022464, 613632};
static const int64_t at_1160448_3[3] = {1160448, 750848, 385536};
static const int64_t at_1185024_4[3] = {1185024, 1201920, 852736};
static const int64_t at_1328384_4[3] = {1328384, 1275648, 901888};
static const int64_t at_673024[3] = {673024, 505088, 449792};
static const int64_t at_1404672[3] = {1404672, 808192, 762624};
static const int64_t at_804096[3] = {804096, 603392, 401920};
static const int64_t at_804608[3] = {804608, 603904, 402176};
static const int64_t at_1479168[3] = {1479168, 908032, 768256};
static const int64_t at_1478656[3] = {1478656, 907520, 767744};
static const int64_t at_631040[3] = {631040, 488704, 329984};
static const int64_t at_904448[3] = {904448, 685312, 564480};
static const int64_t at_1886720[3] = {1886720, 857344, 716800};
static const int64_t at_1406208[3] = {1406208, 809728, 758272};
static const int64_t at_804096_2[3] = {804096, 615680, 385536};
static const int64_t at_605440[3] = {605440, 488704, 355584};
static const int64_t at_605440_2[3] = {605440, 681216, 425472};
static const int64_t at_1206016[3] = {1206016, 759040, 355584};
static const int64_t at_1403136[3] = {1403136, 810496, 759040};
static const int64_t at_564480[3] = {564480, 447744, 306432};
static const int64_t at_564992[3] = {564992, 448256, 306688};
static const int64_t at_804096_3[3] = {804096, 472320, 564480};
static const int64_t at_663808[3] = {663808, 500224, 442112};
static const int64_t at_663552[3] = {663552, 499968, 441856};
static const int64_t at_1407744[3] = {1407744, 812032, 760576};
static const int64_t at_1406976[3] = {1406976, 811264, 759808};
static const int64_t at_853248[3] = {853248, 615680, 339200};
static const int64_t at_1810944[3] = {1810944, 603392, 1163264};
static const int64_t at_664064[3] = {664064, 500480, 435456};
static const int64_t at_1408512[3] = {1408512, 812800, 764160};
static const int64_t at_589056[3] = {589056, 656640, 322816};
static const int64_t at_638208[3] = {638208, 681216, 401920};
static const int64_t at_539904_2[3] = {539904, 447744, 306432};
static const int64_t at_564480_2[3] = {564480, 632064, 385536};
static const int64_t at_613632[3] = {613632, 423168, 290048};
static const int64_t at_638208_2[3] = {638208, 705792, 322816};
static const int64_t at_828672[3] = {828672, 730368, 580864};
static const int64_t at_539904_3[3] = {539904, 632064, 385536};
static const int64_t at_828672_2[3] = {828672, 705792, 580864};
static const int64_t at_1420288[3] = {1420288, 1091328, 780544};
static const int64_t at_662784[3] = {662784, 499200, 434688};
static const int64_t at_1477888[3] = {1477888, 813568, 764928};
static const int64_t at_564480_3[3] = {564480, 496896, 401920};
static const int64_t at_564992_2[3] = {564992, 497408, 402176};
static const int64_t at_572416[3] = {572416, 500992, 405248};
static const int64_t at_572160[3] = {572160, 500736, 404992};
static const int64_t at_1136128[3] = {1136128, 815104, 766464};
static const int64_t at_1135360[3] = {1135360, 814336, 765696};
static const int64_t at_539904_4[3] = {539904, 480512, 385536};
static const int64_t at_563968[3] = {563968, 472320, 396800};
static const int64_t at_543232[3] = {543232, 480512, 387584};
static const int64_t at_539904_5[3] = {539904, 480768, 385536};
static const int64_t at_543488[3] = {543488, 483840, 387840};
static const int64_t at_539904_6[3] = {539904, 481024, 385536};
static const int64_t at_540160[3] = {540160, 423424, 290304};
static const int64_t at_782848[3] = {782848, 615680, 409088};
static const int64_t at_669440[3] = {669440, 525568, 385536};
static const int64_t at_631040_2[3] = {631040, 423168, 290048};
static const int64_t at_758272[3] = {758272, 562688, 396800};
static const int64_t at_539904_7[3] = {539904, 460032, 313088};
static const int64_t at_585472[3] = {585472, 492800, 333056};
static const int64_t at_739072[3] = {739072, 544256, 353024};
static const int64_t at_774656[3] = {774656, 603648, 404992};
static const int64_t at_693504[3] = {693504, 570880, 364544};
static const int64_t at_716288[3] = {716288, 587264, 374528};

// Bytes from one block's buffer to the next one's.
static const int64_t by_512[3] = {512, 512, 256}, by_24576[3] = {24576, 24576, 16384};
static const int64_t by_256[3] = {256, 256, 256}, by_49152[3] = {49152, 49152, 49152};
static const int64_t by_768[3] = {768, 768, 768}, by_1536[3] = {1536, 1536, 1024};
static const int64_t by_16384[3] = {16384, 16384, 16384}, by_65536[3] = {65536, 65536, 65536};
static const int64_t by_91136[3] = {91136, 65536, 39936}, by_22784[3] = {22784, 16384, 9984};
static const int64_t by_512_2[3] = {512, 256, 256}, by_4096[3] = {4096, 4096, 4096};
static const int64_t by_8192[3] = {8192, 4096, 4096}, by_24576_2[3] = {24576, 24576, 24576};
static const int64_t by_19200[3] = {19200, 18432, 11520}, by_61440[3] = {61440, 61440, 61440};

static const int64_t local_bytes[3] = {1961472, 1671680, 1175552}, sym_bytes = 1052672;

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
    // together    0.0648 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][2]){{0, 1}, {1, 1}, {2, 1}});
    // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
    hap_event *e_ln_2_all =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH, 1, &b->ln_2_all, &b->ln_2, NULL);
    hap_wait(r, e_ln_2_all); // 0.0269 ms hidden

    // mlp
    // y = a b + c    [8 32 192@cut_192]    0.0618 ms
    op_linear(r, b->mlp_c_fc, b->ln_2_all, b->mlp_c_fc_weight_cut, b->mlp_c_fc_bias_cut, HAP_NN);
    hap_overlapped(r);
    op_gelu(r, b->mlp_act, b->mlp_c_fc, true); // y = gelu x    [8 32 192@cut_192]    0.0152 ms
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00385 ms
    hap_partial(r, AXIS(0), b->mlp_c_proj_bias_part, b->mlp_c_proj_bias); // [64]+    0.00106 ms
    // together    0.077 ms, one after the other 0.0989 ms; 69 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][2]){{1, 1}, {2, 1}, {0, 1}});
    op_linear(r, b->mlp_c_proj, b->mlp_act, b->mlp_c_proj_weight_cut, b->mlp_c_proj_bias_part,
              HAP_NN); // y = a b + c    [8 32 64]+    0.0618 ms
    // + -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.0392 ms
    hap_event *e_mlp_c_proj_cut = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH, 1, &b->mlp_c_proj_cut, &b->mlp_c_proj, b->mlp_c_proj_cut_scratch);
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
    // together    0.0648 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
    hap_overlap(r, 3, (const int64_t[][2]){{0, 1}, {1, 1}, {2, 1}});
    // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
    hap_event *e_ln_1_sum_all =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH, 1, &b->ln_1_sum_all, &b->ln_1_sum_2, NULL);
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
    hap_event *e_mlp_c_fc_dx_cut = coll_reduce_scatter_start(
        r, AXIS(0), FORM_PUSH, 1, &b->mlp_c_fc_dx_cut, &b->mlp_c_fc_dx, b->mlp_c_fc_dx_cut_scratch);
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
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_2); // y = sum x^2    []+    0.00278 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_2); // y = sum x^2    []+    0.00103 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_2); // y = sum x^2    []+    0.00278 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_cut(r, b->mlp_c_proj_db_cut, b->mlp_c_proj_db_2);        // [64@cut_64]    0.00102 ms
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 2 blocks h_2, update: 0.072 ms of computation.
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
    hap_cut(r, b->mlp_c_fc_weight_cut_3, b->mlp_c_fc_weight_2); // [64 192@cut_192]    0.00385 ms
    // a -= lr b / sqrt c    [64 192@cut_192]    0.0135 ms
    op_adam(r, b->mlp_c_fc_weight_cut_3, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_2, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 1 @cut_192 -> whole    [64 192]    48.0 KiB    0.0383 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH, 1, &b->mlp_c_fc_weight_2, &b->mlp_c_fc_weight_cut_3, NULL);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.0123 ms
    hap_event *e_mlp_c_fc_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH_ALL, 1, &b->mlp_c_fc_db_all, &b->mlp_c_fc_db_2, NULL);
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
    const hap_dim scratch_18048[] = {WHOLE(18048)};
    const hap_dim cut_64_of_64[] = {CUT(0, 64, cut_64)};
    const hap_dim scratch_6144[] = {WHOLE(6144)};
    const hap_dim scratch_14400[] = {WHOLE(14400)};
    const hap_dim cut_3_of_192[] = {CUT_IN(0, 1, 3, 64, cut_3)};
    const hap_dim of_32_cut_64[] = {WHOLE(32), CUT(0, 64, cut_64)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_1856512, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1293056, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_SYM, at_491520, HAP_F32, 2, of_211_64); // [211 64]
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_LOCAL, at_313344, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_321536, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_321792, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_322304, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_346368, HAP_F32, 2, vocab_64);
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
        hap_at(r, SEG_LOCAL, at_407040, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg_sq",
              h_2_attn_c_attn_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg = hap_at(r, SEG_LOCAL, at_426240, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg", h_2_attn_c_attn_bias_exp_avg);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_427008, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg_sq", h_2_attn_c_attn_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_427776, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg", h_2_attn_c_proj_weight_exp_avg);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_435968, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg_sq",
              h_2_attn_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_444160, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg", h_2_attn_c_proj_bias_exp_avg);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_444416, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg_sq", h_2_attn_c_proj_bias_exp_avg_sq);
    hap_tensor *h_2_ln_2_weight_exp_avg = hap_at(r, SEG_LOCAL, at_444672, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg", h_2_ln_2_weight_exp_avg);
    hap_tensor *h_2_ln_2_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_444928, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg_sq", h_2_ln_2_weight_exp_avg_sq);
    hap_tensor *h_2_ln_2_bias_exp_avg = hap_at(r, SEG_LOCAL, at_445184, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg", h_2_ln_2_bias_exp_avg);
    hap_tensor *h_2_ln_2_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_445440, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg_sq", h_2_ln_2_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_445696, HAP_F32, 2, of_64_cut_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg", h_2_mlp_c_fc_weight_exp_avg);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_468480, HAP_F32, 2, of_64_cut_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg_sq", h_2_mlp_c_fc_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg = hap_at(r, SEG_LOCAL, at_491264, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg", h_2_mlp_c_fc_bias_exp_avg);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_492032, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg_sq", h_2_mlp_c_fc_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_492800, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg", h_2_mlp_c_proj_weight_exp_avg);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_515584, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg_sq", h_2_mlp_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_538368, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg", h_2_mlp_c_proj_bias_exp_avg);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_538624, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg_sq", h_2_mlp_c_proj_bias_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_538880, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_539136, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_539392, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_539648, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_322048, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_539904, HAP_I64, 2, rows_32);
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1086720, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_1932288, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_1932800, HAP_F32, 2, rows_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_1185024, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1209600, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_1290752, HAP_I64, 2, of_8_33);   // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_1293056, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_1291520, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_1292032, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_1290752, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_1292544, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_1290752, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_745472, HAP_F32, 0, NULL);       // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_745472, HAP_F32, 0, NULL);   // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_1290752, HAP_F32, 0, NULL);     // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_1955072, HAP_F32, 0, NULL);      // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_1291008, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_1292544_2, HAP_F32, 0, NULL); // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_1290752_2, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1328384, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_1209600_2, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_1274368, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *lm_head_dw_cut = hap_at(r, SEG_LOCAL, at_1377536, HAP_F32, 2, vocab_64);
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_1185024_2, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_1185536, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_1402880, HAP_F32, 1, of_64);       // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_1402624, HAP_F32, 1, of_64);     // [64]+
    hap_tensor *ln_f_dw_all = hap_at(r, SEG_LOCAL, at_1402880, HAP_F32, 1, of_64);   // [64]
    hap_tensor *ln_f_dw_1_all = hap_at(r, SEG_LOCAL, at_1402624, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_1_ln_1_sum_all = hap_at(r, SEG_SYM, at_888832, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_mlp_c_proj_weight_cut_2 =
        hap_at(r, SEG_LOCAL, at_631040, HAP_F32, 2, cut_192_64);
    hap_tensor *h_0_mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_904448, HAP_F32, 3, of_8_32_cut_192);
    hap_tensor *h_0_mlp_act_dx = hap_at(r, SEG_LOCAL, at_804096_2, HAP_F32, 3, of_8_32_cut_192);
    hap_tensor *h_0_mlp_c_fc_weight_cut_2 =
        hap_at(r, SEG_LOCAL, at_605440, HAP_F32, 2, of_64_cut_192);
    // [8 32 64]+
    hap_tensor *h_0_mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_mlp_c_fc_dx_cut = hap_at(r, SEG_LOCAL, at_605440_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_stats = hap_at(r, SEG_LOCAL, at_564480, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_564992, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_dx = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 3, rows_32_64);
    hap_tensor *h_1_ln_1_sum_cut = hap_at(r, SEG_LOCAL, at_804096_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_804096_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_dw = hap_at(r, SEG_LOCAL, at_663808, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_2_dw_1 = hap_at(r, SEG_LOCAL, at_663552, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 3, rows_32_64);
    // [64 64]+
    hap_tensor *h_0_attn_c_proj_dw = hap_at(r, SEG_LOCAL, at_853248, HAP_F32, 2, of_64_64);
    hap_tensor *h_0_attn_c_proj_db = hap_at(r, SEG_LOCAL, at_664064, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_589056, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_638208, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_539904_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_564480_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_613632, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_613632, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_2_dx =
        hap_at(r, SEG_LOCAL, at_638208_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_638208_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_dx = hap_at(r, SEG_LOCAL, at_828672, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_dx = hap_at(r, SEG_LOCAL, at_828672, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_split_dx = hap_at(r, SEG_LOCAL, at_539904_3, HAP_F32, 3, rows_32_192);
    hap_tensor *h_0_attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_828672_2, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_0_attn_c_attn_dw = hap_at(r, SEG_LOCAL, at_613632, HAP_F32, 2, of_64_192);
    hap_tensor *h_0_attn_c_attn_db = hap_at(r, SEG_LOCAL, at_662784, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_0_ln_1_stats = hap_at(r, SEG_LOCAL, at_564480_3, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_564992_2, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_dx = hap_at(r, SEG_LOCAL, at_539904_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_2 = hap_at(r, SEG_LOCAL, at_804096_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_ln_1_dw = hap_at(r, SEG_LOCAL, at_572416, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_1_dw_1 = hap_at(r, SEG_LOCAL, at_572160, HAP_F32, 1, of_64); // [64]+
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_539904_4, HAP_F32, 3, of_1_32_64);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_563968, HAP_F32, 2, of_32_64); // [32 64]
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_539904_4, HAP_F32, 2, vocab_64);
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_1377536, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL); // []+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_LOCAL, at_539904_5, HAP_F32, 2, of_32_cut_64);
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_543488, HAP_F32, 0, NULL);      // []+
    hap_tensor *h_2_ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_1_weight_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_1_bias_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_weight_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);
    hap_tensor *h_2_ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_2_weight_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_2_bias_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_fc_weight_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_mlp_c_fc_bias_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);   // []+
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_weight_norm_all = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL);   // []
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_543232, HAP_F32, 0, NULL);    // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_782848, HAP_F32, 0, NULL);              // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_LOCAL, at_669440, HAP_F32, 2, vocab_64);
    hap_tensor *h_2_ln_1_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_attn_c_attn_weight_cut =
        hap_at(r, SEG_LOCAL, at_739072, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_attn_c_attn_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192);
    hap_tensor *h_2_attn_c_proj_weight_cut = hap_at(r, SEG_LOCAL, at_774656, HAP_F32, 2, heads_64);
    hap_tensor *h_2_attn_c_proj_db_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_2_dw_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);   // [64]
    hap_tensor *h_2_ln_2_dw_1_all = hap_at(r, SEG_SYM, at_552960, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_mlp_c_fc_weight_cut_3 =
        hap_at(r, SEG_LOCAL, at_693504, HAP_F32, 2, of_64_cut_192);
    hap_tensor *h_2_mlp_c_fc_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192);
    hap_tensor *h_2_mlp_c_proj_weight_cut_3 =
        hap_at(r, SEG_LOCAL, at_716288, HAP_F32, 2, cut_192_64);

    // Scratch of collectives.
    hap_tensor *ce_sum_all_scratch = hap_at(r, SEG_SYM, at_749568, HAP_F32, 1, of_192);
    hap_tensor *lm_head_dw_cut_scratch = hap_at(r, SEG_SYM, at_815104, HAP_F32, 1, scratch_18048);
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
        h_ln_1_sum[i] = hap_at_layer(r, SEG_LOCAL, at_1955328, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1_m2[i] = hap_at_layer(r, SEG_LOCAL, at_1956864, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1[i] = hap_at_layer(r, SEG_LOCAL, at_1409536, by_24576, i, HAP_F32, 3, rows_32_64);
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
            hap_at_layer(r, SEG_LOCAL, at_1483264, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1556992, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_3[i] =
            hap_at_layer(r, SEG_LOCAL, at_1630720, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa[i] =
            hap_at_layer(r, SEG_LOCAL, at_1704448, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa_lse[i] =
            hap_at_layer(r, SEG_LOCAL, at_1851904, by_1536, i, HAP_F32, 3, rows_4_32);
        h_attn_reshape_4[i] =
            hap_at_layer(r, SEG_LOCAL, at_1778176, by_24576, i, HAP_F32, 3, rows_32_64);
        h_attn_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_147456, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), h_attn_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_attn_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_3840, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), h_attn_c_proj_bias[i],
                  HAP_FILL(0));
        h_add[i] = hap_at_layer(r, SEG_LOCAL, at_1858560, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_2_sum[i] = hap_at_layer(r, SEG_LOCAL, at_1958400, by_512, i, HAP_F32, 2, rows_32);
        h_ln_2_m2[i] = hap_at_layer(r, SEG_LOCAL, at_1959936, by_512, i, HAP_F32, 2, rows_32);
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
            hap_at_layer(r, SEG_LOCAL, at_539904, by_91136, i, HAP_F32, 3, of_8_32_cut_192);
        h_mlp_act[i] =
            hap_at_layer(r, SEG_LOCAL, at_813312, by_91136, i, HAP_F32, 3, of_8_32_cut_192);
        h_mlp_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_344064, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), h_mlp_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_mlp_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_8448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), h_mlp_c_proj_bias[i],
                  HAP_FILL(0));
        ln_f_dx_2[i] = hap_at(r, SEG_LOCAL, at_1352960, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        h_mlp_c_proj_dw[i] =
            hap_at_layer(r, SEG_LOCAL, at_1886720, by_22784, i, HAP_F32, 2, cut_192_64);
        h_mlp_c_proj_db[i] = hap_at_layer(r, SEG_LOCAL, at_1406208, by_256, i, HAP_F32, 1, of_64);
        h_mlp_c_fc_dw[i] =
            hap_at_layer(r, SEG_LOCAL, at_1206016, by_22784, i, HAP_F32, 2, of_64_cut_192);
        h_mlp_c_fc_db[i] =
            hap_at_layer(r, SEG_LOCAL, at_1403136, by_512_2, i, HAP_F32, 1, cut_192_of_192);
        h_ln_2_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1407744, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_2_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1406976, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1810944, by_8192, i, HAP_F32, 2, heads_64);
        h_attn_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1408512, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_attn_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1420288, by_19200, i, HAP_F32, 2, cut_64_192);
        h_attn_c_attn_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1477888, by_256, i, HAP_F32, 1, cut_3_of_192);
        h_ln_1_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1136128, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_1_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1135360, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_1_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i % 2, HAP_F32, 0, NULL); // []+
        h_ln_1_dw_all[i] = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_64);        // [64]
    }

    hap_tensor *h_2_add_2_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1086720, by_24576, i, HAP_F32, 3, rows_32_64);
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_722176, HAP_F32, 3, rows_32_192);
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_995584, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_1044736, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_1020160, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_1044736, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_1020160, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_995584, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_1778176, by_24576, i, HAP_F32, 4, rows_32_4_16);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_1858560, by_24576, i, HAP_F32, 3, rows_32_64);
        b->ln_2 = hap_at(r, SEG_LOCAL, at_995584_2, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->mlp_c_fc_weight_cut = hap_at(r, SEG_LOCAL, at_1020160_2, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_bias_cut = hap_at(r, SEG_LOCAL, at_1042944, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_proj_weight_cut = hap_at(r, SEG_LOCAL, at_1250560, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_bias_part = hap_at(r, SEG_LOCAL, at_1273344, HAP_F32, 1, of_64); // [64]+
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_1160448, HAP_F32, 3, of_8_32_64);      // [8 32 64]+
        b->mlp_c_proj_cut = hap_at(r, SEG_LOCAL, at_1225984, HAP_F32, 3, rows_32_64);
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
        b->mlp_c_proj_weight_cut_2 = hap_at(r, SEG_LOCAL, at_1328384_2, HAP_F32, 2, cut_192_64);
        b->ln_1_sum_all = hap_at(r, SEG_SYM, at_745472, HAP_F32, 3, of_8_32_64); // [8 32 64]
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1160448_2, HAP_F32, 3, of_8_32_cut_192);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_995584_3, HAP_F32, 3, of_8_32_cut_192);
        b->mlp_c_fc_weight_cut_2 = hap_at(r, SEG_LOCAL, at_1225984_2, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_1160448_2, HAP_F32, 3, of_8_32_64); // [8 32 64]+
        b->mlp_c_fc_dx_cut = hap_at(r, SEG_LOCAL, at_1328384_3, HAP_F32, 3, rows_32_64);
        b->mlp_c_fc_dx_cut_scratch = hap_at(r, SEG_SYM, at_888832, HAP_F32, 1, scratch_18432);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_771328, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_771840, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_995584_4, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_1_sum_cut = hap_at(r, SEG_LOCAL, at_1352960, HAP_F32, 3, rows_32_64);
        b->ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_1352960, HAP_F32, 3, rows_32_64);
        // [64]+
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_1402112, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1401600, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1011712, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1003520, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_995584_5, HAP_F32, 3, rows_32_64);
        // [64 64]+
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_771328_2, by_16384, 1 - i, HAP_F32, 2, of_64_64);
        b->attn_c_proj_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_954368, by_24576_2, 1 - i, HAP_F32, 1, scratch_6144);
        b->attn_c_proj_db =
            hap_at_layer(r, SEG_LOCAL, at_1835520, by_256, 1 - i, HAP_F32, 1, of_64); // [64]+
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1019904, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_995584_5, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_1044736_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1185024_3, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_995584_4, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_1020160_3, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_1160448_3, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1160448_3, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_1185024_4, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1185024_4, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1328384_4, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1328384_4, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_995584_4, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_1160448_3, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_673024, by_49152, 1 - i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_618496, by_61440, 1 - i, HAP_F32, 1, scratch_14400);
        b->attn_c_attn_db =
            hap_at_layer(r, SEG_LOCAL, at_1404672, by_768, 1 - i, HAP_F32, 1, of_192); // [192]+
        b->attn_c_attn_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1028096, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_804096, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_804608, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_995584_4, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        // [64]+
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_1479168, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1478656, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1044480, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1036288, by_4096, 1 - i, HAP_F32, 1, of_192);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904_6, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_weight_norm = hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904_6, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);        // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);          // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);        // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);   // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_weight_norm = hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);     // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        // []+
        b->mlp_c_fc_bias_norm = hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_543232, by_256, i, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_db_cut = hap_at(r, SEG_LOCAL, at_539904, HAP_F32, 1, cut_64_of_64);
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_540160, HAP_F32, 0, NULL); // []+
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
            hap_at_layer(r, SEG_LOCAL, at_631040_2, by_19200, i, HAP_F32, 2, cut_64_192);
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
            hap_at_layer(r, SEG_LOCAL, at_758272, by_8192, i, HAP_F32, 2, heads_64);
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
            hap_at_layer(r, SEG_LOCAL, at_539904_7, by_22784, i, HAP_F32, 2, of_64_cut_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_126976, by_22784, i, HAP_F32, 2, of_64_cut_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_172544, by_22784, i, HAP_F32, 2, of_64_cut_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_db_all = hap_at(r, SEG_SYM, at_548864, HAP_F32, 1, of_192); // [192]
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_218112, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_219648, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut_3 =
            hap_at_layer(r, SEG_LOCAL, at_585472, by_22784, i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_221184, by_22784, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_266752, by_22784, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_312320, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_312832, by_256, i, HAP_F32, 1, of_64);
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
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0387 ms
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
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00385 ms
        hap_cut(r, h_0_mlp_c_proj_weight_cut_2, h_mlp_c_proj_weight[0]);

        // transformer.h.1.ln_1, backward
        // together    0.0648 ms, one after the other 0.0866 ms; 100 % of the transfer hidden
        hap_overlap(r, 3, (const int64_t[][2]){{0, 1}, {1, 1}, {2, 1}});
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
        hap_event *e_h_1_ln_1_sum_all =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH, 1, &h_1_ln_1_sum_all, &ln_f_dx_2[0], NULL);
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
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH, 1, &h_0_mlp_c_fc_dx_cut,
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
        // y[b] += a    [211@vocab 64]    0.0133 ms
        op_embedding_bwd(r, wte_dw, h_0_ln_1_sum_all, input_ids, 211);
        hap_wait(r, e_lm_head_dw_cut);              // 0.0387 ms hidden
        op_add(r, wte_sum, lm_head_dw_cut, wte_dw); // y = a + b    [211@vocab 64]    0.00684 ms

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum); // y = sum x^2    []+    0.00295 ms
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
        hap_cut(r, wte_weight_cut, wte_weight);    // [211@vocab 64]    0.00411 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0146 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.0267 ms
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
        // whole -> dim 1 @cut_192    [64 192@cut_192]    0.00385 ms
        hap_cut(r, h_2_mlp_c_fc_weight_cut_3, h_mlp_c_fc_weight[2]);
        op_adam(r, h_2_mlp_c_fc_weight_cut_3, h_2_mlp_c_fc_weight_exp_avg,
                h_2_mlp_c_fc_weight_exp_avg_sq, h_mlp_c_fc_dw[2], clip, 1, 0.9, 0.95, 1e-08, 0.1,
                true); // a -= lr b / sqrt c    [64 192@cut_192]    0.0135 ms
        // dim 1 @cut_192 -> whole    [64 192]    48.0 KiB    0.0383 ms
        h_2_mlp_c_fc_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH, 1, &h_mlp_c_fc_weight[2], &h_2_mlp_c_fc_weight_cut_3, NULL);
        // dim 0 @cut_192 -> whole    [192]    768 B    0.0123 ms
        hap_event *e_h_2_mlp_c_fc_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH_ALL, 1, &h_2_mlp_c_fc_db_all, &h_mlp_c_fc_db[2], NULL);
        hap_wait(r, e_h_2_mlp_c_fc_db_all);
        op_adam(r, h_mlp_c_fc_bias[2], h_2_mlp_c_fc_bias_exp_avg, h_2_mlp_c_fc_bias_exp_avg_sq,
                h_2_mlp_c_fc_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00385 ms
        hap_cut(r, h_2_mlp_c_proj_weight_cut_3, h_mlp_c_proj_weight[2]);
        op_adam(r, h_2_mlp_c_proj_weight_cut_3, h_2_mlp_c_proj_weight_exp_avg,
                h_2_mlp_c_proj_weight_exp_avg_sq, h_mlp_c_proj_dw[2], clip, 1, 0.9, 0.95, 1e-08,
                0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0135 ms
        // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.026 ms
        h_2_mlp_c_proj_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_PUSH, 1, &h_mlp_c_proj_weight[2], &h_2_mlp_c_proj_weight_cut_3, NULL);
        op_adam(r, h_mlp_c_proj_bias[2], h_2_mlp_c_proj_bias_exp_avg,
                h_2_mlp_c_proj_bias_exp_avg_sq, h_mlp_c_proj_db[2], clip, 1, 0.9, 0.95, 1e-08, 0,
                true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_all, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_all, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        hap_wait(r, e_wte_weight);     // 0.0267 ms hidden

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);
    }
    return hap_finish(r);
}
