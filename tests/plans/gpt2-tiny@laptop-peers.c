// program.c: one training step of gpt2-tiny on 3 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop-peers.yaml -o gpt2-tiny@laptop-peers -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}
//   predicted   4.09 ms/step = 3.46 ms compute and idle + 1.47 ms communication - 0.842 ms hidden;
//               bound 2.62 ms; by datasheet formulas
//   memory      3.25 MiB / 3.18 MiB / 2.66 MiB    graph a94a3bb305aca178    cluster
//               cf6d4e2bb24569e8
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.375 0.375 0.250 over axis 0 (compute).
static const int64_t rows[3] = {3, 3, 2};

// 32 cut 0.438 0.344 0.219 over axis 0 (compute).
static const int64_t cut_32[3] = {14, 11, 7};

// 211 cut 0.389 0.374 0.237 over axis 0 (compute).
static const int64_t vocab[3] = {82, 79, 50};

// 64 cut 0.391 0.375 0.234 over axis 0 (compute).
static const int64_t cut_64[3] = {25, 24, 15};

// 3 cut 0.333 0.333 0.333 over axis 0 (compute).
static const int64_t cut_3[3] = {1, 1, 1};

// 4 cut 0.500 0.250 0.250 over axis 0 (compute).
static const int64_t heads[3] = {2, 1, 1};

// 192 cut 0.380 0.365 0.255 over axis 0 (compute).
static const int64_t cut_192[3] = {73, 70, 49};

// Byte offsets in the symmetric segment: what other ranks write into, the same on every rank.
static const int64_t at_589824[3] = {589824, 589824, 589824};
static const int64_t at_647168[3] = {647168, 647168, 647168}, at_0[3] = {0, 0, 0};
static const int64_t at_12288[3] = {12288, 12288, 12288}, at_24576[3] = {24576, 24576, 24576};
static const int64_t at_172032[3] = {172032, 172032, 172032};
static const int64_t at_184320[3] = {184320, 184320, 184320};
static const int64_t at_233472[3] = {233472, 233472, 233472};
static const int64_t at_245760[3] = {245760, 245760, 245760};
static const int64_t at_258048[3] = {258048, 258048, 258048};
static const int64_t at_270336[3] = {270336, 270336, 270336};
static const int64_t at_417792[3] = {417792, 417792, 417792};
static const int64_t at_430080[3] = {430080, 430080, 430080};
static const int64_t at_577536[3] = {577536, 577536, 577536};
static const int64_t at_655360[3] = {655360, 655360, 655360};
static const int64_t at_659456[3] = {659456, 659456, 659456};
static const int64_t at_663552[3] = {663552, 663552, 663552};
static const int64_t at_667648[3] = {667648, 667648, 667648};
static const int64_t at_1425408[3] = {1425408, 1425408, 1425408};
static const int64_t at_1421312[3] = {1421312, 1421312, 1421312};
static const int64_t at_1212416[3] = {1212416, 1212416, 1212416};
static const int64_t at_1429504[3] = {1429504, 1429504, 1429504};
static const int64_t at_1089536[3] = {1089536, 1089536, 1089536};
static const int64_t at_1433600[3] = {1433600, 1433600, 1433600};
static const int64_t at_1269760[3] = {1269760, 1269760, 1269760};
static const int64_t at_1441792[3] = {1441792, 1441792, 1441792};
static const int64_t at_1437696[3] = {1437696, 1437696, 1437696};
static const int64_t at_1318912[3] = {1318912, 1318912, 1318912};
static const int64_t at_1445888[3] = {1445888, 1445888, 1445888};
static const int64_t at_1150976[3] = {1150976, 1150976, 1150976};
static const int64_t at_1449984[3] = {1449984, 1449984, 1449984};
static const int64_t at_1458176[3] = {1458176, 1458176, 1458176};
static const int64_t at_1454080[3] = {1454080, 1454080, 1454080};
static const int64_t at_909312[3] = {909312, 909312, 909312};
static const int64_t at_1355776[3] = {1355776, 1355776, 1355776};
static const int64_t at_1363968[3] = {1363968, 1363968, 1363968};
static const int64_t at_1380352[3] = {1380352, 1380352, 1380352};
static const int64_t at_1372160[3] = {1372160, 1372160, 1372160};
static const int64_t at_1388544[3] = {1388544, 1388544, 1388544};
static const int64_t at_786432[3] = {786432, 786432, 786432};
static const int64_t at_1396736[3] = {1396736, 1396736, 1396736};
static const int64_t at_1413120[3] = {1413120, 1413120, 1413120};
static const int64_t at_1404928[3] = {1404928, 1404928, 1404928};
static const int64_t at_1343488[3] = {1343488, 1343488, 1343488};
static const int64_t at_1024000[3] = {1024000, 1024000, 1024000};
static const int64_t at_1028096[3] = {1028096, 1028096, 1028096};

// Byte offsets in the local segment, by class {cpu4, cpu3, cpu2}.
static const int64_t at_1935872[3] = {1935872, 1867008, 1187072};
static const int64_t at_775424[3] = {775424, 776960, 567808};
static const int64_t at_405504[3] = {405504, 367104, 250368};
static const int64_t at_405760[3] = {405760, 367360, 250624};
static const int64_t at_426752[3] = {426752, 387584, 263424};
static const int64_t at_447744[3] = {447744, 407808, 276224};
static const int64_t at_451328[3] = {451328, 410624, 278016}, at_768[3] = {768, 768, 768};
static const int64_t at_1536[3] = {1536, 1536, 1536}, at_2304[3] = {2304, 2304, 2304};
static const int64_t at_3072[3] = {3072, 3072, 3072}, at_60672[3] = {60672, 58368, 37632};
static const int64_t at_118272[3] = {118272, 113664, 72192}, at_119040[3] = {119040, 114432, 72960};
static const int64_t at_119808[3] = {119808, 115200, 73728}, at_144384[3] = {144384, 127488, 86016};
static const int64_t at_168960[3] = {168960, 139776, 98304}, at_169728[3] = {169728, 140544, 99072};
static const int64_t at_170496[3] = {170496, 141312, 99840};
static const int64_t at_171264[3] = {171264, 142080, 100608};
static const int64_t at_172032_2[3] = {172032, 142848, 101376};
static const int64_t at_172800[3] = {172800, 143616, 102144};
static const int64_t at_173568[3] = {173568, 144384, 102912};
static const int64_t at_231168[3] = {231168, 199680, 137472};
static const int64_t at_288768[3] = {288768, 254976, 172032};
static const int64_t at_290304[3] = {290304, 256512, 172800};
static const int64_t at_291840[3] = {291840, 258048, 173568};
static const int64_t at_347904[3] = {347904, 311808, 211200};
static const int64_t at_403968[3] = {403968, 365568, 248832};
static const int64_t at_404736[3] = {404736, 366336, 249600};
static const int64_t at_454912[3] = {454912, 413440, 279808};
static const int64_t at_455168[3] = {455168, 413696, 280064};
static const int64_t at_455424[3] = {455424, 413952, 280320};
static const int64_t at_455680[3] = {455680, 414208, 280576};
static const int64_t at_983040[3] = {983040, 936192, 746240};
static const int64_t at_455936[3] = {455936, 414464, 280832};
static const int64_t at_1933824[3] = {1933824, 1864448, 1156096};
static const int64_t at_1934848[3] = {1934848, 1865472, 1156864};
static const int64_t at_1155072[3] = {1155072, 1108224, 959232};
static const int64_t at_677120[3] = {677120, 635648, 428288};
static const int64_t at_529664[3] = {529664, 488192, 329984};
static const int64_t at_578816[3] = {578816, 537344, 362752};
static const int64_t at_554240[3] = {554240, 512768, 346368};
static const int64_t at_1253376[3] = {1253376, 1206528, 860928};
static const int64_t at_1302528[3] = {1302528, 1255680, 893696};
static const int64_t at_1351680[3] = {1351680, 1304832, 992000};
static const int64_t at_1400832[3] = {1400832, 1353984, 1024768};
static const int64_t at_1930240[3] = {1930240, 1858048, 1321984};
static const int64_t at_1449984_2[3] = {1449984, 1403136, 1057536};
static const int64_t at_1553152[3] = {1553152, 1506304, 1090304};
static const int64_t at_1936640[3] = {1936640, 782592, 1174784};
static const int64_t at_845568[3] = {845568, 783616, 1175296};
static const int64_t at_1602304[3] = {1602304, 1555456, 1123072};
static const int64_t at_603392[3] = {603392, 561920, 379136};
static const int64_t at_750848[3] = {750848, 709376, 477440};
static const int64_t at_981760[3] = {981760, 927488, 957184};
static const int64_t at_982272[3] = {982272, 928000, 957440};
static const int64_t at_932608[3] = {932608, 852224, 624896};
static const int64_t at_846592[3] = {846592, 1009920, 493824};
static const int64_t at_802048[3] = {802048, 784640, 569856};
static const int64_t at_777472[3] = {777472, 733952, 542976};
static const int64_t at_957184[3] = {957184, 876800, 662528};
static const int64_t at_1204224[3] = {1204224, 901376, 697088};
static const int64_t at_1228800[3] = {1228800, 1157376, 713472};
static const int64_t at_1651456[3] = {1651456, 1181952, 729856};
static const int64_t at_1937664[3] = {1937664, 925952, 795392};
static const int64_t at_1676032[3] = {1676032, 1604608, 926464};
static const int64_t at_1786880[3] = {1786880, 1629184, 942848};
static const int64_t at_1940480[3] = {1940480, 928512, 796416};
static const int64_t at_1940992[3] = {1940992, 929024, 796672};
static const int64_t at_1815552[3] = {1815552, 1660160, 678912};
static const int64_t at_846592_2[3] = {846592, 784640, 477440};
static const int64_t at_1700864[3] = {1700864, 709376, 575744};
static const int64_t at_1844224[3] = {1844224, 1084416, 641280};
static const int64_t at_1151488[3] = {1151488, 779008, 569856};
static const int64_t at_1152000[3] = {1152000, 779520, 570112};
static const int64_t at_1872896[3] = {1872896, 1682688, 1157376};
static const int64_t at_1056768[3] = {1056768, 1009920, 520448};
static const int64_t at_752896[3] = {752896, 780032, 570368};
static const int64_t at_750848_2[3] = {750848, 776960, 567808};
static const int64_t at_1152512[3] = {1152512, 780032, 570368};
static const int64_t at_1153024[3] = {1153024, 780544, 570624};
static const int64_t at_752896_2[3] = {752896, 781056, 570880};
static const int64_t at_753920[3] = {753920, 781824, 571392};
static const int64_t at_1700608[3] = {1700608, 1658624, 1187584};
static const int64_t at_753152[3] = {753152, 781312, 571136};
static const int64_t at_982784[3] = {982784, 781824, 571392};
static const int64_t at_1153536[3] = {1153536, 781056, 570880};
static const int64_t at_750848_3[3] = {750848, 1705216, 1187840};
static const int64_t at_1499136[3] = {1499136, 1452288, 806912};
static const int64_t at_750848_4[3] = {750848, 776960, 534784};
static const int64_t at_751360[3] = {751360, 777472, 535040};
static const int64_t at_769536[3] = {769536, 1682688, 1157376};
static const int64_t at_1939968[3] = {1939968, 1659648, 1221376};
static const int64_t at_1939712[3] = {1939712, 1659392, 1188352};
static const int64_t at_1939456[3] = {1939456, 1659136, 1188096};
static const int64_t at_1939200[3] = {1939200, 1658880, 1187840};
static const int64_t at_1844224_2[3] = {1844224, 1705216, 1222400};
static const int64_t at_1056768_2[3] = {1056768, 1009920, 526592};
static const int64_t at_1940224[3] = {1940224, 1659904, 1222144};
static const int64_t at_1700864_2[3] = {1700864, 1772800, 1265408};
static const int64_t at_846592_3[3] = {846592, 727296, 477440};
static const int64_t at_1105920[3] = {1105920, 1059072, 575744};
static const int64_t at_1917184[3] = {1917184, 1867776, 1327616};
static const int64_t at_798208[3] = {798208, 749824, 506112};
static const int64_t at_798720[3] = {798720, 750336, 506368};
static const int64_t at_875264[3] = {875264, 784640, 491776};
static const int64_t at_1921280[3] = {1921280, 1709568, 1222656};
static const int64_t at_1921024[3] = {1921024, 1709312, 1222400};
static const int64_t at_769536_2[3] = {769536, 727296, 477440};
static const int64_t at_1700864_3[3] = {1700864, 1629184, 1157632};
static const int64_t at_1921536[3] = {1921536, 1709824, 1222912};
static const int64_t at_871168[3] = {871168, 809216, 510208};
static const int64_t at_1717248[3] = {1717248, 1660160, 926464};
static const int64_t at_895744[3] = {895744, 1604608, 493824};
static const int64_t at_769536_3[3] = {769536, 727296, 662528};
static const int64_t at_871168_2[3] = {871168, 809216, 697088};
static const int64_t at_895744_2[3] = {895744, 876800, 713472};
static const int64_t at_1717248_2[3] = {1717248, 1710080, 477440};
static const int64_t at_1204224_2[3] = {1204224, 1157376, 697088};
static const int64_t at_1920256[3] = {1920256, 1645568, 1174016};
static const int64_t at_794112[3] = {794112, 751872, 493824};
static const int64_t at_794624[3] = {794624, 752384, 494080};
static const int64_t at_884736[3] = {884736, 784640, 477440};
static const int64_t at_1922048[3] = {1922048, 1710336, 1223424};
static const int64_t at_1921792[3] = {1921792, 1710080, 1223168};
static const int64_t at_1766400[3] = {1766400, 1710592, 1223680};
static const int64_t at_884736_2[3] = {884736, 837888, 428288};
static const int64_t at_713472[3] = {713472, 673536, 624896};
static const int64_t at_696576[3] = {696576, 655104, 1221632};
static const int64_t at_1933056[3] = {1933056, 1862144, 1323776};
static const int64_t at_1840128[3] = {1840128, 1784320, 1272832};
static const int64_t at_578816_2[3] = {578816, 537344, 1223680};
static const int64_t at_480512[3] = {480512, 439040, 280832};
static const int64_t at_693504[3] = {693504, 652032, 1139712};
static const int64_t at_1913344[3] = {1913344, 1860608, 1324544};
static const int64_t at_695040[3] = {695040, 653568, 779008};
static const int64_t at_699648[3] = {699648, 658176, 779264};
static const int64_t at_1032192[3] = {1032192, 1710592, 1240064};
static const int64_t at_1717248_3[3] = {1717248, 1660160, 1188608};
static const int64_t at_697600[3] = {697600, 656128, 1139200};
static const int64_t at_697088[3] = {697088, 655616, 1141248};
static const int64_t at_1915648[3] = {1915648, 1863680, 1326080};
static const int64_t at_1914880[3] = {1914880, 1862912, 1325312};
static const int64_t at_660736[3] = {660736, 619264, 1090304};
static const int64_t at_1676032_2[3] = {1676032, 1646336, 1174784};
static const int64_t at_698112[3] = {698112, 656640, 1073664};
static const int64_t at_1916416[3] = {1916416, 1866240, 1326848};
static const int64_t at_1577728[3] = {1577728, 1710592, 1256448};
static const int64_t at_1766400_2[3] = {1766400, 1735168, 1272832};
static const int64_t at_1032192_2[3] = {1032192, 1427712, 1223680};
static const int64_t at_1474560[3] = {1474560, 1530880, 1240064};
static const int64_t at_578816_3[3] = {578816, 537344, 877312};
static const int64_t at_1277952[3] = {1277952, 1231104, 1008384};
static const int64_t at_1327104[3] = {1327104, 1280256, 1272832};
static const int64_t at_578816_4[3] = {578816, 537344, 1008384};
static const int64_t at_1577728_2[3] = {1577728, 1530880, 860928};
static const int64_t at_827136[3] = {827136, 782592, 772352};
static const int64_t at_695040_2[3] = {695040, 653568, 1040384};
static const int64_t at_1917952[3] = {1917952, 1868544, 1155328};
static const int64_t at_699648_2[3] = {699648, 658176, 1041920};
static const int64_t at_700160[3] = {700160, 658688, 1042432};
static const int64_t at_1032192_3[3] = {1032192, 1132800, 975616};
static const int64_t at_699136[3] = {699136, 657664, 1042432};
static const int64_t at_698624[3] = {698624, 657152, 1041920};
static const int64_t at_1919488[3] = {1919488, 984832, 1156864};
static const int64_t at_1918720[3] = {1918720, 985600, 1156096};
static const int64_t at_455936_2[3] = {455936, 414464, 379136};
static const int64_t at_632832[3] = {632832, 591360, 391936};
static const int64_t at_476928[3] = {476928, 434688, 404736};
static const int64_t at_578816_5[3] = {578816, 537344, 959232};
static const int64_t at_578816_6[3] = {578816, 437504, 391936};
static const int64_t at_480512_2[3] = {480512, 437504, 280832};
static const int64_t at_683264[3] = {683264, 621056, 420864};
static const int64_t at_627200[3] = {627200, 578816, 391936};
static const int64_t at_672768[3] = {672768, 611328, 387584};
static const int64_t at_677888[3] = {677888, 615680, 389376};
static const int64_t at_678656[3] = {678656, 616448, 390144};
static const int64_t at_679424[3] = {679424, 617216, 390912};
static const int64_t at_648192[3] = {648192, 599040, 404736};
static const int64_t at_680192[3] = {680192, 617984, 417024};
static const int64_t at_680960[3] = {680960, 618752, 417792};
static const int64_t at_681728[3] = {681728, 619520, 418560};
static const int64_t at_513536[3] = {513536, 469760, 353024};
static const int64_t at_676352[3] = {676352, 614144, 419328};
static const int64_t at_571136[3] = {571136, 525056, 315392};
static const int64_t at_682496[3] = {682496, 620288, 420096};
static const int64_t at_683520[3] = {683520, 621312, 391680};
static const int64_t at_683776[3] = {683776, 621568, 421120};

// Bytes from one block's buffer to the next one's.
static const int64_t by_512[3] = {512, 512, 256}, by_24576[3] = {24576, 24576, 16384};
static const int64_t by_4096[3] = {4096, 4096, 4096}, by_49152[3] = {49152, 49152, 49152};
static const int64_t by_1536[3] = {1536, 1536, 1024}, by_16384[3] = {16384, 16384, 16384};
static const int64_t by_73728[3] = {73728, 73728, 49152}, by_18688[3] = {18688, 17920, 12544};
static const int64_t by_57344[3] = {57344, 57344, 57344}, by_256[3] = {256, 256, 256};
static const int64_t by_19200[3] = {19200, 18432, 11520}, by_61440[3] = {61440, 61440, 61440};
static const int64_t by_768[3] = {768, 768, 768}, by_8192[3] = {8192, 4096, 4096};
static const int64_t by_24576_2[3] = {24576, 24576, 24576};

static const int64_t local_bytes[3] = {1941504, 1869312, 1328384}, sym_bytes = 1462272;

// Collectives that are waited for elsewhere than where they start.
static hap_event *h_2_mlp_c_proj_dw_cut_ready, *h_2_mlp_c_proj_db_cut_ready;
static hap_event *h_2_mlp_c_fc_dw_cut_ready, *h_2_mlp_c_fc_db_cut_ready, *h_2_ln_2_dw_cut_ready;
static hap_event *h_2_ln_2_dw_1_cut_ready, *h_2_attn_c_proj_dw_cut_ready;
static hap_event *h_2_attn_c_proj_db_cut_ready, *h_2_attn_c_attn_dw_cut_ready;
static hap_event *h_2_attn_c_attn_db_cut_ready, *h_2_ln_1_dw_cut_ready, *h_2_ln_1_dw_1_cut_ready;
static hap_event *h_mlp_c_proj_dw_cut_ready[2], *h_mlp_c_proj_db_cut_ready[2];
static hap_event *h_mlp_c_fc_dw_cut_ready[2], *h_mlp_c_fc_db_cut_ready[2], *h_ln_2_dw_cut_ready[2];
static hap_event *h_ln_2_dw_1_cut_ready[2], *h_attn_c_proj_dw_cut_ready[2];
static hap_event *h_attn_c_proj_db_cut_ready[2], *h_attn_c_attn_dw_cut_ready[2];
static hap_event *h_attn_c_attn_db_cut_ready[2], *h_ln_1_dw_cut_ready[2], *h_ln_1_dw_1_cut_ready[2];
static hap_event *h_ln_1_weight_ready[3], *h_ln_1_bias_ready[3], *h_attn_c_attn_weight_ready[3];
static hap_event *h_attn_c_attn_bias_ready[3], *h_attn_c_proj_weight_ready[3];
static hap_event *h_attn_c_proj_bias_ready[3], *h_ln_2_weight_ready[3], *h_ln_2_bias_ready[3];
static hap_event *h_mlp_c_fc_weight_ready[3], *h_mlp_c_fc_bias_ready[3];
static hap_event *h_mlp_c_proj_weight_ready[3], *h_mlp_c_proj_bias_ready[3];

// What each of the 2 blocks h.* works on.
typedef struct h_block {
    hap_tensor *ln_1_sum, *add_2, *ln_1_m2, *ln_1, *ln_1_weight, *ln_1_bias, *attn_c_attn;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_bias, *attn_split_0, *attn_split_1, *attn_split_2;
    hap_tensor *attn_reshape, *attn_transpose, *attn_reshape_2, *attn_transpose_2, *attn_reshape_3;
    hap_tensor *attn_transpose_3, *attn_sdpa, *attn_sdpa_lse, *attn_transpose_4, *attn_reshape_4;
    hap_tensor *attn_c_proj, *attn_c_proj_weight, *attn_c_proj_bias, *add, *ln_2_sum, *ln_2_m2;
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc, *mlp_c_fc_weight, *mlp_c_fc_bias;
    hap_tensor *mlp_act, *mlp_c_proj, *mlp_c_proj_weight, *mlp_c_proj_bias, *add_2_2;
    hap_tensor *mlp_c_proj_dx, *ln_1_sum_2, *mlp_c_proj_dw, *mlp_c_proj_dw_cut;
    hap_tensor *mlp_c_proj_dw_cut_scratch, *mlp_c_proj_db, *mlp_c_proj_db_cut;
    hap_tensor *mlp_c_proj_db_cut_scratch, *mlp_act_dx, *mlp_c_fc_dx, *mlp_c_fc_dw;
    hap_tensor *mlp_c_fc_dw_cut, *mlp_c_fc_dw_cut_scratch, *mlp_c_fc_db, *mlp_c_fc_db_cut;
    hap_tensor *mlp_c_fc_db_cut_scratch, *ln_2_stats, *ln_2_stats_1, *ln_2_dx, *ln_2_sum_2;
    hap_tensor *ln_2_dw, *ln_2_dw_1, *ln_2_dw_cut, *ln_2_dw_cut_scratch, *ln_2_dw_1_cut;
    hap_tensor *ln_2_dw_1_cut_scratch, *attn_c_proj_dx, *attn_c_proj_dw, *attn_c_proj_dw_cut;
    hap_tensor *attn_c_proj_dw_cut_scratch, *attn_c_proj_db, *attn_c_proj_db_cut;
    hap_tensor *attn_c_proj_db_cut_scratch, *attn_reshape_4_dx, *attn_transpose_4_dx;
    hap_tensor *attn_sdpa_dqkv, *attn_sdpa_dqkv_1, *attn_sdpa_dqkv_2, *attn_transpose_3_dx;
    hap_tensor *attn_reshape_3_dx, *attn_transpose_2_dx, *attn_reshape_2_dx, *attn_transpose_dx;
    hap_tensor *attn_reshape_dx, *attn_split_dx, *attn_c_attn_dx, *attn_c_attn_dw;
    hap_tensor *attn_c_attn_dw_cut, *attn_c_attn_dw_cut_scratch, *attn_c_attn_db;
    hap_tensor *attn_c_attn_db_cut, *attn_c_attn_db_cut_scratch, *ln_1_stats, *ln_1_stats_1;
    hap_tensor *ln_1_dx, *ln_1_sum_2_2, *ln_1_dw, *ln_1_dw_1, *ln_1_dw_cut, *ln_1_dw_cut_scratch;
    hap_tensor *ln_1_dw_1_cut, *ln_1_dw_1_cut_scratch;
    hap_event **mlp_c_proj_dw_cut_ready, **mlp_c_proj_db_cut_ready, **mlp_c_fc_dw_cut_ready;
    hap_event **mlp_c_fc_db_cut_ready, **ln_2_dw_cut_ready, **ln_2_dw_1_cut_ready;
    hap_event **attn_c_proj_dw_cut_ready, **attn_c_proj_db_cut_ready, **attn_c_attn_dw_cut_ready;
    hap_event **attn_c_attn_db_cut_ready, **ln_1_dw_cut_ready, **ln_1_dw_1_cut_ready;
} h_block;
static h_block h[2];

// What each of the 3 blocks h_2.* works on.
typedef struct h_2_block {
    hap_tensor *ln_1_weight_sumsq, *ln_1_dw_cut, *ln_1_weight_norm, *mlp_c_proj_bias_norm;
    hap_tensor *ln_1_bias_sumsq, *ln_1_dw_1_cut, *ln_1_bias_norm, *attn_c_attn_weight_sumsq;
    hap_tensor *attn_c_attn_dw_cut, *attn_c_attn_weight_norm, *attn_c_attn_bias_sumsq;
    hap_tensor *attn_c_attn_db_cut, *attn_c_attn_bias_norm, *attn_c_proj_weight_sumsq;
    hap_tensor *attn_c_proj_dw_cut, *attn_c_proj_weight_norm, *attn_c_proj_bias_sumsq;
    hap_tensor *attn_c_proj_db_cut, *attn_c_proj_bias_norm, *ln_2_weight_sumsq, *ln_2_dw_cut;
    hap_tensor *ln_2_weight_norm, *ln_2_bias_sumsq, *ln_2_dw_1_cut, *ln_2_bias_norm;
    hap_tensor *mlp_c_fc_weight_sumsq, *mlp_c_fc_dw_cut, *mlp_c_fc_weight_norm;
    hap_tensor *mlp_c_fc_bias_sumsq, *mlp_c_fc_db_cut, *mlp_c_fc_bias_norm;
    hap_tensor *mlp_c_proj_weight_sumsq, *mlp_c_proj_dw_cut, *mlp_c_proj_weight_norm;
    hap_tensor *mlp_c_proj_bias_sumsq, *mlp_c_proj_db_cut, *mlp_c_proj_bias_norm_2;
    hap_tensor *ln_1_weight_cut, *ln_1_weight, *ln_1_weight_exp_avg, *ln_1_weight_exp_avg_sq, *clip;
    hap_tensor *ln_1_bias_cut, *ln_1_bias, *ln_1_bias_exp_avg, *ln_1_bias_exp_avg_sq;
    hap_tensor *attn_c_attn_weight_cut, *attn_c_attn_weight, *attn_c_attn_weight_exp_avg;
    hap_tensor *attn_c_attn_weight_exp_avg_sq, *attn_c_attn_bias_cut, *attn_c_attn_bias;
    hap_tensor *attn_c_attn_bias_exp_avg, *attn_c_attn_bias_exp_avg_sq, *attn_c_proj_weight_cut;
    hap_tensor *attn_c_proj_weight, *attn_c_proj_weight_exp_avg, *attn_c_proj_weight_exp_avg_sq;
    hap_tensor *attn_c_proj_bias_cut, *attn_c_proj_bias, *attn_c_proj_bias_exp_avg;
    hap_tensor *attn_c_proj_bias_exp_avg_sq, *ln_2_weight_cut, *ln_2_weight, *ln_2_weight_exp_avg;
    hap_tensor *ln_2_weight_exp_avg_sq, *ln_2_bias_cut, *ln_2_bias, *ln_2_bias_exp_avg;
    hap_tensor *ln_2_bias_exp_avg_sq, *mlp_c_fc_weight_cut, *mlp_c_fc_weight;
    hap_tensor *mlp_c_fc_weight_exp_avg, *mlp_c_fc_weight_exp_avg_sq, *mlp_c_fc_bias_cut;
    hap_tensor *mlp_c_fc_bias, *mlp_c_fc_bias_exp_avg, *mlp_c_fc_bias_exp_avg_sq;
    hap_tensor *mlp_c_proj_weight_cut, *mlp_c_proj_weight, *mlp_c_proj_weight_exp_avg;
    hap_tensor *mlp_c_proj_weight_exp_avg_sq, *mlp_c_proj_bias_cut, *mlp_c_proj_bias;
    hap_tensor *mlp_c_proj_bias_exp_avg, *mlp_c_proj_bias_exp_avg_sq;
    hap_event **ln_1_dw_cut_ready, **ln_1_dw_1_cut_ready, **attn_c_attn_dw_cut_ready;
    hap_event **attn_c_attn_db_cut_ready, **attn_c_proj_dw_cut_ready, **attn_c_proj_db_cut_ready;
    hap_event **ln_2_dw_cut_ready, **ln_2_dw_1_cut_ready, **mlp_c_fc_dw_cut_ready;
    hap_event **mlp_c_fc_db_cut_ready, **mlp_c_proj_dw_cut_ready, **mlp_c_proj_db_cut_ready;
    hap_event **ln_1_weight_ready, **ln_1_bias_ready, **attn_c_attn_weight_ready;
    hap_event **attn_c_attn_bias_ready, **attn_c_proj_weight_ready, **attn_c_proj_bias_ready;
    hap_event **ln_2_weight_ready, **ln_2_bias_ready, **mlp_c_fc_weight_ready;
    hap_event **mlp_c_fc_bias_ready, **mlp_c_proj_weight_ready, **mlp_c_proj_bias_ready;
} h_2_block;
static h_2_block h_2[3];

// One of the 2 blocks h, forward: 0.336 ms of computation.
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

// One of the 2 blocks h, backward: 0.623 ms of computation.
static void h_backward(hap_rank *r, const h_block *b)
{
    // mlp
    // y = a b'    [8@rows 32 192]    0.0665 ms
    op_linear(r, b->mlp_c_proj_dx, b->ln_1_sum_2, b->mlp_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_1_sum_2); // [192 64]+    0.0665 ms
    // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.0332 ms
    *b->mlp_c_proj_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_proj_dw_cut,
                                  &b->mlp_c_proj_dw, b->mlp_c_proj_dw_cut_scratch);
    op_sum(r, b->mlp_c_proj_db, b->ln_1_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
    *b->mlp_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &b->mlp_c_proj_db_cut,
                                  &b->mlp_c_proj_db, b->mlp_c_proj_db_cut_scratch);
    // y = a gelu'(b)    [8@rows 32 192]    0.024 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    // y = a b'    [8@rows 32 64]    0.0665 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx); // [64 192]+    0.0665 ms
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0337 ms
    *b->mlp_c_fc_dw_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_fc_dw_cut, &b->mlp_c_fc_dw,
                                  b->mlp_c_fc_dw_cut_scratch);
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
    // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.0124 ms
    *b->mlp_c_fc_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &b->mlp_c_fc_db_cut, &b->mlp_c_fc_db,
                                  b->mlp_c_fc_db_cut_scratch);

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // [8@rows 32]    0.00632 ms
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05); // [8@rows 32 64]    0.00888 ms
    op_add(r, b->ln_2_sum_2, b->ln_1_sum_2, b->ln_2_dx); // [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
                       1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
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
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0337 ms
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

// One of the 3 blocks h_2, backward: 0.0306 ms of computation.
static void h_2_backward(hap_rank *r, const h_2_block *b)
{
    hap_wait(r, *b->ln_1_dw_cut_ready); // 0.0121 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq);
    hap_wait(r, *b->ln_1_dw_1_cut_ready);              // 0.0121 ms hidden
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1_cut); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->attn_c_attn_dw_cut_ready);                             // 0.0337 ms hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_cut);       // []+    0.00292 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    hap_wait(r, *b->attn_c_attn_db_cut_ready);                     // 0.0124 ms hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_cut); // []+    0.00104 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    hap_wait(r, *b->attn_c_proj_dw_cut_ready);                       // 0.0224 ms hidden
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_cut); // []+    0.00164 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    hap_wait(r, *b->attn_c_proj_db_cut_ready);                     // 0.0121 ms hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_cut); // []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    hap_wait(r, *b->ln_2_dw_cut_ready);                // 0.0121 ms hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    hap_wait(r, *b->ln_2_dw_1_cut_ready);              // 0.0121 ms hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1_cut); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->mlp_c_fc_dw_cut_ready);                                // 0.0337 ms hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_cut); // y = sum x^2    []+    0.00292 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    hap_wait(r, *b->mlp_c_fc_db_cut_ready);                  // 0.0124 ms hidden
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_cut); // y = sum x^2    []+    0.00103 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    hap_wait(r, *b->mlp_c_proj_dw_cut_ready);                      // 0.0332 ms hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_cut); // []+    0.00296 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_wait(r, *b->mlp_c_proj_db_cut_ready);                    // 0.0121 ms hidden
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 3 blocks h_2, update: 0.0805 ms of computation.
static void h_2_update(hap_rank *r, const h_2_block *b)
{
    // update
    hap_cut(r, b->ln_1_weight_cut, b->ln_1_weight); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_1_weight_cut, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq,
            b->ln_1_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00107 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->ln_1_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_1_weight,
                                                  &b->ln_1_weight_cut, NULL);
    hap_cut(r, b->ln_1_bias_cut, b->ln_1_bias); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_1_bias_cut, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_cut,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00107 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->ln_1_bias_ready =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_1_bias, &b->ln_1_bias_cut, NULL);
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight); // [64@cut_64 192]    0.00407 ms
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0144 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0241 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->attn_c_attn_weight, &b->attn_c_attn_weight_cut, NULL);
    hap_cut(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias); // [192@cut_3]    0.00106 ms
    // a -= lr b / sqrt c    [192@cut_3]    0.00128 ms
    op_adam(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.0122 ms
    *b->attn_c_attn_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->attn_c_attn_bias, &b->attn_c_attn_bias_cut, NULL);
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight); // [64@heads 64]    0.00202 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00548 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0183 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->attn_c_proj_weight, &b->attn_c_proj_weight_cut, NULL);
    hap_cut(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias); // [64@cut_64]    0.00102 ms
    // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
    op_adam(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->attn_c_proj_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->attn_c_proj_bias, &b->attn_c_proj_bias_cut, NULL);
    hap_cut(r, b->ln_2_weight_cut, b->ln_2_weight); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_2_weight_cut, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq,
            b->ln_2_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00107 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->ln_2_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_2_weight,
                                                  &b->ln_2_weight_cut, NULL);
    hap_cut(r, b->ln_2_bias_cut, b->ln_2_bias); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_2_bias_cut, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_cut,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00107 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->ln_2_bias_ready =
        coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &b->ln_2_bias, &b->ln_2_bias_cut, NULL);
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight); // [64@cut_64 192]    0.00407 ms
    // a -= lr b / sqrt c    [64@cut_64 192]    0.0144 ms
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0241 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_fc_weight, &b->mlp_c_fc_weight_cut, NULL);
    hap_cut(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias); // [192@cut_192]    0.00105 ms
    // a -= lr b / sqrt c    [192@cut_192]    0.00121 ms
    op_adam(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.0123 ms
    *b->mlp_c_fc_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &b->mlp_c_fc_bias,
                                                    &b->mlp_c_fc_bias_cut, NULL);
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00414 ms
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0147 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.0238 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(1), 1, &b->mlp_c_proj_weight, &b->mlp_c_proj_weight_cut, NULL);
    hap_cut(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias); // [64@cut_64]    0.00102 ms
    // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
    op_adam(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
    *b->mlp_c_proj_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_PUSH(2), 1, &b->mlp_c_proj_bias, &b->mlp_c_proj_bias_cut, NULL);
}

// One of the 3 blocks h_2, update: 0 ms of computation.
static void h_2_update_2(hap_rank *r, const h_2_block *b)
{
    hap_wait(r, *b->ln_1_weight_ready);        // 0.0121 ms hidden
    hap_wait(r, *b->ln_1_bias_ready);          // 0.0121 ms hidden
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0241 ms hidden
    hap_wait(r, *b->attn_c_attn_bias_ready);   // 0.0122 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.0183 ms hidden
    hap_wait(r, *b->attn_c_proj_bias_ready);   // 0.0121 ms hidden
    hap_wait(r, *b->ln_2_weight_ready);        // 0.0121 ms hidden
    hap_wait(r, *b->ln_2_bias_ready);          // 0.0121 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0241 ms hidden
    hap_wait(r, *b->mlp_c_fc_bias_ready);      // 0.0123 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.0186 ms hidden
    hap_wait(r, *b->mlp_c_proj_bias_ready);
}

int main(int argc, char **argv)
{
    hap_rank *r = hap_init(&argc, &argv, "a94a3bb305aca178", 3);
    hap_mesh(r, 1, (const int[]){3});
    hap_classes(r, (const int[]){0, 1, 2});
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
    const hap_dim of_8_32_64[] = {WHOLE(8), WHOLE(32), WHOLE(64)};
    const hap_dim of_8_cut_32_64[] = {WHOLE(8), CUT(0, 32, cut_32), WHOLE(64)};
    const hap_dim of_8_cut_32[] = {WHOLE(8), CUT(0, 32, cut_32)};
    const hap_dim of_8_cut_32_192[] = {WHOLE(8), CUT(0, 32, cut_32), WHOLE(192)};
    const hap_dim of_8_cut_32_211[] = {WHOLE(8), CUT(0, 32, cut_32), WHOLE(211)};
    const hap_dim of_8_33[] = {WHOLE(8), WHOLE(33)};
    const hap_dim scratch_14016[] = {WHOLE(14016)};
    const hap_dim scratch_14400[] = {WHOLE(14400)};
    const hap_dim scratch_384[] = {WHOLE(384)};
    const hap_dim scratch_6144[] = {WHOLE(6144)};
    const hap_dim scratch_2688[] = {WHOLE(2688)};
    const hap_dim scratch_15744[] = {WHOLE(15744)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_1935872, HAP_I64, 2, rows_32);
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_775424, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_SYM, at_589824, HAP_F32, 2, of_211_64); // [211 64]
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_SYM, at_647168, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_SYM, at_655360, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_SYM, at_659456, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_405760, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_426752, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_447744, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_451328, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_454912, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_455168, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_455424, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_455680, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_405504, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_983040, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_455936, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *h_2_ln_1_sum = hap_at(r, SEG_LOCAL, at_981760, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_m2 = hap_at(r, SEG_LOCAL, at_982272, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1 = hap_at(r, SEG_LOCAL, at_932608, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_c_attn = hap_at(r, SEG_LOCAL, at_846592, HAP_F32, 3, rows_32_192);
    hap_tensor *h_2_attn_split_0 = hap_at(r, SEG_LOCAL, at_750848, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_split_1 = hap_at(r, SEG_LOCAL, at_802048, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_split_2 = hap_at(r, SEG_LOCAL, at_777472, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_reshape = hap_at(r, SEG_LOCAL, at_802048, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose = hap_at(r, SEG_LOCAL, at_957184, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_reshape_2 = hap_at(r, SEG_LOCAL, at_777472, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose_2 = hap_at(r, SEG_LOCAL, at_1204224, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_reshape_3 = hap_at(r, SEG_LOCAL, at_750848, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose_3 = hap_at(r, SEG_LOCAL, at_1228800, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa = hap_at(r, SEG_LOCAL, at_1651456, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_lse = hap_at(r, SEG_LOCAL, at_1937664, HAP_F32, 3, rows_4_32);
    hap_tensor *h_2_attn_transpose_4 = hap_at(r, SEG_LOCAL, at_1676032, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_4 = hap_at(r, SEG_LOCAL, at_1676032, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_c_proj = hap_at(r, SEG_LOCAL, at_750848, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_add = hap_at(r, SEG_LOCAL, at_750848, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_add_all = hap_at(r, SEG_SYM, at_663552, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_2_add_cut = hap_at(r, SEG_LOCAL, at_1786880, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_ln_2_sum = hap_at(r, SEG_LOCAL, at_1940480, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2_m2 = hap_at(r, SEG_LOCAL, at_1940992, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2 = hap_at(r, SEG_LOCAL, at_1815552, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_mlp_c_fc = hap_at(r, SEG_LOCAL, at_846592_2, HAP_F32, 3, of_8_cut_32_192);
    hap_tensor *h_2_mlp_act = hap_at(r, SEG_LOCAL, at_1700864, HAP_F32, 3, of_8_cut_32_192);
    hap_tensor *h_2_mlp_c_proj = hap_at(r, SEG_LOCAL, at_1844224, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_add_2 = hap_at(r, SEG_LOCAL, at_1844224, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_1151488, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_1152000, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_1872896, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1056768, HAP_F32, 3, of_8_cut_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_752896, HAP_I64, 2, of_8_33);     // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_750848_2, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_1152512, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_1153024, HAP_F32, 2, of_8_cut_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_752896_2, HAP_I64, 2, of_8_cut_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_753920, HAP_F32, 2, of_8_cut_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_752896_2, HAP_I64, 2, of_8_cut_32);
    hap_tensor *ce_sum = hap_at(r, SEG_SYM, at_663552, HAP_F32, 0, NULL);      // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_SYM, at_663552, HAP_F32, 0, NULL);  // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_752896_2, HAP_F32, 0, NULL);   // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_1700608, HAP_F32, 0, NULL);     // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_753152, HAP_F32, 0, NULL); // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_982784, HAP_F32, 0, NULL);   // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_1153536, HAP_I64, 2, of_8_cut_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_750848_3, HAP_F32, 3, of_8_cut_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_1056768, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_1499136, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_750848_4, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_751360, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f_dx = hap_at(r, SEG_LOCAL, at_769536, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_1939968, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_1939712, HAP_F32, 1, of_64); // [64]+
    hap_tensor *ln_f_dw_cut = hap_at(r, SEG_LOCAL, at_1939456, HAP_F32, 1, cut_64_of_64);
    hap_tensor *ln_f_dw_1_cut = hap_at(r, SEG_LOCAL, at_1939200, HAP_F32, 1, cut_64_of_64);
    hap_tensor *h_2_mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1844224_2, HAP_F32, 3, of_8_cut_32_192);
    // [192 64]+
    hap_tensor *h_2_mlp_c_proj_dw = hap_at(r, SEG_LOCAL, at_1056768_2, HAP_F32, 2, of_192_64);
    hap_tensor *h_2_mlp_c_proj_db = hap_at(r, SEG_LOCAL, at_1940224, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_mlp_act_dx = hap_at(r, SEG_LOCAL, at_1700864_2, HAP_F32, 3, of_8_cut_32_192);
    hap_tensor *h_2_mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_846592_3, HAP_F32, 3, of_8_cut_32_64);
    // [64 192]+
    hap_tensor *h_2_mlp_c_fc_dw = hap_at(r, SEG_LOCAL, at_1105920, HAP_F32, 2, of_64_192);
    hap_tensor *h_2_mlp_c_fc_db = hap_at(r, SEG_LOCAL, at_1917184, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_2_ln_2_stats = hap_at(r, SEG_LOCAL, at_798208, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_798720, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2_dx = hap_at(r, SEG_LOCAL, at_875264, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_769536, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_ln_2_sum_cut = hap_at(r, SEG_SYM, at_1269760, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_ln_2_dw = hap_at(r, SEG_LOCAL, at_1921280, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_2_ln_2_dw_1 = hap_at(r, SEG_LOCAL, at_1921024, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_769536_2, HAP_F32, 3, rows_32_64);
    // [64 64]+
    hap_tensor *h_2_attn_c_proj_dw = hap_at(r, SEG_LOCAL, at_1700864_3, HAP_F32, 2, of_64_64);
    hap_tensor *h_2_attn_c_proj_db = hap_at(r, SEG_LOCAL, at_1921536, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_769536_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_871168, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1717248, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_846592_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_895744, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_transpose_3_dx =
        hap_at(r, SEG_LOCAL, at_769536_3, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_769536_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_transpose_2_dx =
        hap_at(r, SEG_LOCAL, at_871168_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_871168_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_transpose_dx = hap_at(r, SEG_LOCAL, at_895744_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_dx = hap_at(r, SEG_LOCAL, at_895744_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_split_dx = hap_at(r, SEG_LOCAL, at_1717248_2, HAP_F32, 3, rows_32_192);
    hap_tensor *h_2_attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_769536_3, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_2_attn_c_attn_dw = hap_at(r, SEG_LOCAL, at_1204224_2, HAP_F32, 2, of_64_192);
    hap_tensor *h_2_attn_c_attn_db = hap_at(r, SEG_LOCAL, at_1920256, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_2_ln_1_stats = hap_at(r, SEG_LOCAL, at_794112, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_794624, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_dx = hap_at(r, SEG_LOCAL, at_884736, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_ln_1_dw = hap_at(r, SEG_LOCAL, at_1922048, HAP_F32, 1, of_64);     // [64]+
    hap_tensor *h_2_ln_1_dw_1 = hap_at(r, SEG_LOCAL, at_1921792, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_455936_2, HAP_F32, 3, of_1_32_64); // [1 32 64]+
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_632832, HAP_F32, 2, of_32_64);        // [32 64]+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_LOCAL, at_476928, HAP_F32, 2, cut_32_64);
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_578816_5, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_1499136, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *wte_sum_cut = hap_at(r, SEG_LOCAL, at_455936_2, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_SYM, at_1024000, HAP_F32, 0, NULL);     // []+
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL);  // []+
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_480512_2, HAP_F32, 0, NULL); // []+
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_SYM, at_1028096, HAP_F32, 0, NULL);     // []+
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_480512_2, HAP_F32, 0, NULL);   // []+
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_SYM, at_1028096, HAP_F32, 0, NULL);       // []+
    hap_tensor *ln_f_bias_norm_all = hap_at(r, SEG_SYM, at_1028096, HAP_F32, 0, NULL);   // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_683264, HAP_F32, 0, NULL);                // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_LOCAL, at_627200, HAP_F32, 2, vocab_64);
    hap_tensor *wpe_weight_cut = hap_at(r, SEG_LOCAL, at_672768, HAP_F32, 2, cut_32_64);
    hap_tensor *ln_f_weight_cut = hap_at(r, SEG_LOCAL, at_683520, HAP_F32, 1, cut_64_of_64);
    hap_tensor *ln_f_bias_cut = hap_at(r, SEG_LOCAL, at_683776, HAP_F32, 1, cut_64_of_64);

    // Scratch of collectives.
    hap_tensor *ce_sum_all_scratch = hap_at(r, SEG_SYM, at_667648, HAP_F32, 1, of_192);
    hap_tensor *ln_f_dw_cut_scratch = hap_at(r, SEG_SYM, at_1425408, HAP_F32, 1, of_192);
    hap_tensor *ln_f_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_1421312, HAP_F32, 1, of_192);
    hap_tensor *h_2_mlp_c_proj_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_1212416, HAP_F32, 1, scratch_14016);
    hap_tensor *h_2_mlp_c_proj_db_cut_scratch = hap_at(r, SEG_SYM, at_1429504, HAP_F32, 1, of_192);
    hap_tensor *h_2_mlp_c_fc_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_1089536, HAP_F32, 1, scratch_14400);
    hap_tensor *h_2_mlp_c_fc_db_cut_scratch =
        hap_at(r, SEG_SYM, at_1433600, HAP_F32, 1, scratch_384);
    hap_tensor *h_2_ln_2_dw_cut_scratch = hap_at(r, SEG_SYM, at_1441792, HAP_F32, 1, of_192);
    hap_tensor *h_2_ln_2_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_1437696, HAP_F32, 1, of_192);
    hap_tensor *h_2_attn_c_proj_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_1318912, HAP_F32, 1, scratch_6144);
    hap_tensor *h_2_attn_c_proj_db_cut_scratch = hap_at(r, SEG_SYM, at_1445888, HAP_F32, 1, of_192);
    hap_tensor *h_2_attn_c_attn_dw_cut_scratch =
        hap_at(r, SEG_SYM, at_1150976, HAP_F32, 1, scratch_14400);
    hap_tensor *h_2_attn_c_attn_db_cut_scratch = hap_at(r, SEG_SYM, at_1449984, HAP_F32, 1, of_192);
    hap_tensor *h_2_ln_1_dw_cut_scratch = hap_at(r, SEG_SYM, at_1458176, HAP_F32, 1, of_192);
    hap_tensor *h_2_ln_1_dw_1_cut_scratch = hap_at(r, SEG_SYM, at_1454080, HAP_F32, 1, of_192);
    hap_tensor *wpe_dw_cut_scratch = hap_at(r, SEG_SYM, at_1343488, HAP_F32, 1, scratch_2688);
    hap_tensor *wte_sum_cut_scratch = hap_at(r, SEG_SYM, at_1024000, HAP_F32, 1, scratch_15744);
    hap_tensor *ln_f_bias_norm_all_scratch = hap_at(r, SEG_SYM, at_663552, HAP_F32, 1, of_192);

    hap_tensor *h_1_add_2_2[3], *h_ln_1_weight[3], *h_ln_1_bias[3], *h_attn_c_attn_weight[3];
    hap_tensor *h_attn_c_attn_bias[3], *h_attn_c_proj_weight[3], *h_attn_c_proj_bias[3];
    hap_tensor *h_ln_2_weight[3], *h_ln_2_bias[3], *h_mlp_c_fc_weight[3], *h_mlp_c_fc_bias[3];
    hap_tensor *h_mlp_c_proj_weight[3], *h_mlp_c_proj_bias[3], *h_ln_1_sum_2[3];
    hap_tensor *h_mlp_c_proj_dw_cut[3], *h_mlp_c_proj_db_cut[3], *h_mlp_c_fc_dw_cut[3];
    hap_tensor *h_mlp_c_fc_db_cut[3], *h_ln_2_dw_cut[3], *h_ln_2_dw_1_cut[3];
    hap_tensor *h_attn_c_proj_dw_cut[3], *h_attn_c_proj_db_cut[3], *h_attn_c_attn_dw_cut[3];
    hap_tensor *h_attn_c_attn_db_cut[3], *h_ln_1_dw_cut[3], *h_ln_1_dw_1_cut[3];
    for (int i = 0; i < 3; i++) {
        h_1_add_2_2[i] = hap_at_layer(r, SEG_LOCAL, at_983040, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_1_weight[i] = hap_at_layer(r, SEG_SYM, at_0, by_4096, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), h_ln_1_weight[i], HAP_FILL(1));
        h_ln_1_bias[i] = hap_at_layer(r, SEG_SYM, at_12288, by_4096, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), h_ln_1_bias[i], HAP_FILL(0));
        h_attn_c_attn_weight[i] =
            hap_at_layer(r, SEG_SYM, at_24576, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), h_attn_c_attn_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_attn_c_attn_bias[i] = hap_at_layer(r, SEG_SYM, at_172032, by_4096, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), h_attn_c_attn_bias[i],
                  HAP_FILL(0));
        h_attn_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_184320, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), h_attn_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_attn_c_proj_bias[i] = hap_at_layer(r, SEG_SYM, at_233472, by_4096, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), h_attn_c_proj_bias[i],
                  HAP_FILL(0));
        h_ln_2_weight[i] = hap_at_layer(r, SEG_SYM, at_245760, by_4096, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), h_ln_2_weight[i], HAP_FILL(1));
        h_ln_2_bias[i] = hap_at_layer(r, SEG_SYM, at_258048, by_4096, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), h_ln_2_bias[i], HAP_FILL(0));
        h_mlp_c_fc_weight[i] =
            hap_at_layer(r, SEG_SYM, at_270336, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), h_mlp_c_fc_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_mlp_c_fc_bias[i] = hap_at_layer(r, SEG_SYM, at_417792, by_4096, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), h_mlp_c_fc_bias[i],
                  HAP_FILL(0));
        h_mlp_c_proj_weight[i] =
            hap_at_layer(r, SEG_SYM, at_430080, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), h_mlp_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_mlp_c_proj_bias[i] = hap_at_layer(r, SEG_SYM, at_577536, by_4096, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), h_mlp_c_proj_bias[i],
                  HAP_FILL(0));
        h_ln_1_sum_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1717248_3, by_24576, i % 2, HAP_F32, 3, rows_32_64);
        h_mlp_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_713472, by_18688, i, HAP_F32, 2, cut_192_64);
        h_mlp_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1933056, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_mlp_c_fc_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_769536_3, by_19200, i, HAP_F32, 2, cut_64_192);
        h_mlp_c_fc_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1913344, by_512, i, HAP_F32, 1, cut_192_of_192);
        h_ln_2_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1915648, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_2_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1914880, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1676032_2, by_8192, i, HAP_F32, 2, heads_64);
        h_attn_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1916416, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_attn_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_827136, by_19200, i, HAP_F32, 2, cut_64_192);
        h_attn_c_attn_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1917952, by_256, i, HAP_F32, 1, cut_3_of_192);
        h_ln_1_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1919488, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_1_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1918720, by_256, i, HAP_F32, 1, cut_64_of_64);
    }

    hap_tensor *h_2_mlp_c_proj_bias_norm_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
    }

    for (int i = 0; i < 2; i++) {
        h_block *b = &h[i];
        b->ln_1_sum = hap_at_layer(r, SEG_LOCAL, at_1933824, by_512, i, HAP_F32, 2, rows_32);
        b->ln_1_m2 = hap_at_layer(r, SEG_LOCAL, at_1934848, by_512, i, HAP_F32, 2, rows_32);
        b->ln_1 = hap_at_layer(r, SEG_LOCAL, at_1155072, by_24576, i, HAP_F32, 3, rows_32_64);
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_677120, HAP_F32, 3, rows_32_192);
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_529664, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_578816, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_554240, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_578816, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose =
            hap_at_layer(r, SEG_LOCAL, at_1253376, by_24576, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_554240, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_1302528, by_24576, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_529664, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_1351680, by_24576, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_1400832, by_24576, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_1930240, by_1536, i, HAP_F32, 3, rows_4_32);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_1449984_2, by_24576, i, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_1449984_2, by_24576, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_1553152, by_24576, i, HAP_F32, 3, rows_32_64);
        b->add = hap_at_layer(r, SEG_LOCAL, at_1553152, by_24576, i, HAP_F32, 3, rows_32_64);
        b->ln_2_sum = hap_at_layer(r, SEG_LOCAL, at_1936640, by_512, i, HAP_F32, 2, rows_32);
        b->ln_2_m2 = hap_at_layer(r, SEG_LOCAL, at_845568, by_512, i, HAP_F32, 2, rows_32);
        b->ln_2 = hap_at_layer(r, SEG_LOCAL, at_1602304, by_24576, i, HAP_F32, 3, rows_32_64);
        b->mlp_c_fc = hap_at_layer(r, SEG_LOCAL, at_455936, by_73728, i, HAP_F32, 3, rows_32_192);
        b->mlp_act = hap_at_layer(r, SEG_LOCAL, at_603392, by_73728, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_750848, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1766400, HAP_F32, 3, rows_32_192);
        // [192 64]+
        b->mlp_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_884736_2, by_49152, i, HAP_F32, 2, of_192_64);
        b->mlp_c_proj_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_909312, by_57344, i, HAP_F32, 1, scratch_14016);
        // [64]+
        b->mlp_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_696576, by_256, i, HAP_F32, 1, of_64);
        b->mlp_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1355776, by_4096, i, HAP_F32, 1, of_192);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_1840128, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_578816_2, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->mlp_c_fc_dw = hap_at_layer(r, SEG_LOCAL, at_480512, by_49152, i, HAP_F32, 2, of_64_192);
        b->mlp_c_fc_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_663552, by_61440, i, HAP_F32, 1, scratch_14400);
        // [192]+
        b->mlp_c_fc_db = hap_at_layer(r, SEG_LOCAL, at_693504, by_768, i, HAP_F32, 1, of_192);
        b->mlp_c_fc_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1363968, by_4096, i, HAP_F32, 1, scratch_384);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_695040, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_699648, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_1032192, HAP_F32, 3, rows_32_64);  // [8@rows 32 64]
        b->ln_2_sum_2 =
            hap_at_layer(r, SEG_LOCAL, at_1717248_3, by_24576, i, HAP_F32, 3, rows_32_64);
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_697600, by_256, i, HAP_F32, 1, of_64);   // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_697088, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1380352, by_4096, i, HAP_F32, 1, of_192);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1372160, by_4096, i, HAP_F32, 1, of_192);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_578816_2, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_660736, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        b->attn_c_proj_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1269760, by_24576_2, i, HAP_F32, 1, scratch_6144);
        // [64]+
        b->attn_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_698112, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1388544, by_4096, i, HAP_F32, 1, of_192);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_578816_2, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_1577728, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1766400_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_1032192_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_1474560, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_578816_3, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_578816_3, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_1277952, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1277952, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1327104, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1327104, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_1766400, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_578816_4, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_1577728_2, by_49152, i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_786432, by_61440, i, HAP_F32, 1, scratch_14400);
        // [192]+
        b->attn_c_attn_db = hap_at_layer(r, SEG_LOCAL, at_695040_2, by_768, i, HAP_F32, 1, of_192);
        b->attn_c_attn_db_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1396736, by_4096, i, HAP_F32, 1, of_192);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_699648_2, HAP_F32, 2, rows_32);  // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_700160, HAP_F32, 2, rows_32);  // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_1032192_3, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_699136, by_256, i, HAP_F32, 1, of_64);   // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_698624, by_256, i, HAP_F32, 1, of_64); // [64]+
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1413120, by_4096, i, HAP_F32, 1, of_192);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_SYM, at_1404928, by_4096, i, HAP_F32, 1, of_192);
        b->add_2 = h_1_add_2_2[i];
        b->ln_1_weight = h_ln_1_weight[i];
        b->ln_1_bias = h_ln_1_bias[i];
        b->attn_c_attn_weight = h_attn_c_attn_weight[i];
        b->attn_c_attn_bias = h_attn_c_attn_bias[i];
        b->attn_c_proj_weight = h_attn_c_proj_weight[i];
        b->attn_c_proj_bias = h_attn_c_proj_bias[i];
        b->ln_2_weight = h_ln_2_weight[i];
        b->ln_2_bias = h_ln_2_bias[i];
        b->mlp_c_fc_weight = h_mlp_c_fc_weight[i];
        b->mlp_c_fc_bias = h_mlp_c_fc_bias[i];
        b->mlp_c_proj_weight = h_mlp_c_proj_weight[i];
        b->mlp_c_proj_bias = h_mlp_c_proj_bias[i];
        b->add_2_2 = h_1_add_2_2[i + 1];
        b->ln_1_sum_2 = h_ln_1_sum_2[i + 1];
        b->mlp_c_proj_dw_cut = h_mlp_c_proj_dw_cut[i];
        b->mlp_c_proj_db_cut = h_mlp_c_proj_db_cut[i];
        b->mlp_c_fc_dw_cut = h_mlp_c_fc_dw_cut[i];
        b->mlp_c_fc_db_cut = h_mlp_c_fc_db_cut[i];
        b->ln_2_dw_cut = h_ln_2_dw_cut[i];
        b->ln_2_dw_1_cut = h_ln_2_dw_1_cut[i];
        b->attn_c_proj_dw_cut = h_attn_c_proj_dw_cut[i];
        b->attn_c_proj_db_cut = h_attn_c_proj_db_cut[i];
        b->attn_c_attn_dw_cut = h_attn_c_attn_dw_cut[i];
        b->attn_c_attn_db_cut = h_attn_c_attn_db_cut[i];
        b->ln_1_sum_2_2 = h_ln_1_sum_2[i];
        b->ln_1_dw_cut = h_ln_1_dw_cut[i];
        b->ln_1_dw_1_cut = h_ln_1_dw_1_cut[i];
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
    }

    for (int i = 0; i < 3; i++) {
        h_2_block *b = &h_2[i];
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL); // []+
        b->ln_1_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL);   // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);      // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);        // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);      // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL); // []+
        b->ln_2_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_578816_6, HAP_F32, 0, NULL);   // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_480512_2, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);   // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_480512_2, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_bias_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);       // []+
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_480512_2, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_SYM, at_1024000, by_4096, i % 2, HAP_F32, 0, NULL);     // []+
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_480512_2, HAP_F32, 0, NULL); // []+
        b->ln_1_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_677888, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg"), b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_678656, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_2304, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_455936, by_19200, i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_3072, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_60672, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_679424, by_256, i, HAP_F32, 1, cut_3_of_192);
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_118272, by_256, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_119040, by_256, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_648192, by_8192, i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_119808, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_144384, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_680192, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_168960, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_169728, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_680960, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_170496, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_171264, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_681728, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_172032_2, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_172800, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_513536, by_19200, i, HAP_F32, 2, cut_64_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_173568, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_231168, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_676352, by_512, i, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_288768, by_512, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_290304, by_512, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_571136, by_18688, i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_291840, by_18688, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_347904, by_18688, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_682496, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_403968, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_404736, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg_sq"),
                  b->mlp_c_proj_bias_exp_avg_sq);
        b->ln_1_dw_cut = h_ln_1_dw_cut[i];
        b->mlp_c_proj_bias_norm = h_2_mlp_c_proj_bias_norm_2[i];
        b->ln_1_dw_1_cut = h_ln_1_dw_1_cut[i];
        b->attn_c_attn_dw_cut = h_attn_c_attn_dw_cut[i];
        b->attn_c_attn_db_cut = h_attn_c_attn_db_cut[i];
        b->attn_c_proj_dw_cut = h_attn_c_proj_dw_cut[i];
        b->attn_c_proj_db_cut = h_attn_c_proj_db_cut[i];
        b->ln_2_dw_cut = h_ln_2_dw_cut[i];
        b->ln_2_dw_1_cut = h_ln_2_dw_1_cut[i];
        b->mlp_c_fc_dw_cut = h_mlp_c_fc_dw_cut[i];
        b->mlp_c_fc_db_cut = h_mlp_c_fc_db_cut[i];
        b->mlp_c_proj_dw_cut = h_mlp_c_proj_dw_cut[i];
        b->mlp_c_proj_db_cut = h_mlp_c_proj_db_cut[i];
        b->mlp_c_proj_bias_norm_2 = h_2_mlp_c_proj_bias_norm_2[i + 1];
        b->ln_1_weight = h_ln_1_weight[i];
        b->clip = clip;
        b->ln_1_bias = h_ln_1_bias[i];
        b->attn_c_attn_weight = h_attn_c_attn_weight[i];
        b->attn_c_attn_bias = h_attn_c_attn_bias[i];
        b->attn_c_proj_weight = h_attn_c_proj_weight[i];
        b->attn_c_proj_bias = h_attn_c_proj_bias[i];
        b->ln_2_weight = h_ln_2_weight[i];
        b->ln_2_bias = h_ln_2_bias[i];
        b->mlp_c_fc_weight = h_mlp_c_fc_weight[i];
        b->mlp_c_fc_bias = h_mlp_c_fc_bias[i];
        b->mlp_c_proj_weight = h_mlp_c_proj_weight[i];
        b->mlp_c_proj_bias = h_mlp_c_proj_bias[i];
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
    h_2[0].ln_1_dw_cut_ready = &h_ln_1_dw_cut_ready[0];
    h_2[1].ln_1_dw_cut_ready = &h_ln_1_dw_cut_ready[1];
    h_2[2].ln_1_dw_cut_ready = &h_2_ln_1_dw_cut_ready;
    h_2[0].ln_1_dw_1_cut_ready = &h_ln_1_dw_1_cut_ready[0];
    h_2[1].ln_1_dw_1_cut_ready = &h_ln_1_dw_1_cut_ready[1];
    h_2[2].ln_1_dw_1_cut_ready = &h_2_ln_1_dw_1_cut_ready;
    h_2[0].attn_c_attn_dw_cut_ready = &h_attn_c_attn_dw_cut_ready[0];
    h_2[1].attn_c_attn_dw_cut_ready = &h_attn_c_attn_dw_cut_ready[1];
    h_2[2].attn_c_attn_dw_cut_ready = &h_2_attn_c_attn_dw_cut_ready;
    h_2[0].attn_c_attn_db_cut_ready = &h_attn_c_attn_db_cut_ready[0];
    h_2[1].attn_c_attn_db_cut_ready = &h_attn_c_attn_db_cut_ready[1];
    h_2[2].attn_c_attn_db_cut_ready = &h_2_attn_c_attn_db_cut_ready;
    h_2[0].attn_c_proj_dw_cut_ready = &h_attn_c_proj_dw_cut_ready[0];
    h_2[1].attn_c_proj_dw_cut_ready = &h_attn_c_proj_dw_cut_ready[1];
    h_2[2].attn_c_proj_dw_cut_ready = &h_2_attn_c_proj_dw_cut_ready;
    h_2[0].attn_c_proj_db_cut_ready = &h_attn_c_proj_db_cut_ready[0];
    h_2[1].attn_c_proj_db_cut_ready = &h_attn_c_proj_db_cut_ready[1];
    h_2[2].attn_c_proj_db_cut_ready = &h_2_attn_c_proj_db_cut_ready;
    h_2[0].ln_2_dw_cut_ready = &h_ln_2_dw_cut_ready[0];
    h_2[1].ln_2_dw_cut_ready = &h_ln_2_dw_cut_ready[1];
    h_2[2].ln_2_dw_cut_ready = &h_2_ln_2_dw_cut_ready;
    h_2[0].ln_2_dw_1_cut_ready = &h_ln_2_dw_1_cut_ready[0];
    h_2[1].ln_2_dw_1_cut_ready = &h_ln_2_dw_1_cut_ready[1];
    h_2[2].ln_2_dw_1_cut_ready = &h_2_ln_2_dw_1_cut_ready;
    h_2[0].mlp_c_fc_dw_cut_ready = &h_mlp_c_fc_dw_cut_ready[0];
    h_2[1].mlp_c_fc_dw_cut_ready = &h_mlp_c_fc_dw_cut_ready[1];
    h_2[2].mlp_c_fc_dw_cut_ready = &h_2_mlp_c_fc_dw_cut_ready;
    h_2[0].mlp_c_fc_db_cut_ready = &h_mlp_c_fc_db_cut_ready[0];
    h_2[1].mlp_c_fc_db_cut_ready = &h_mlp_c_fc_db_cut_ready[1];
    h_2[2].mlp_c_fc_db_cut_ready = &h_2_mlp_c_fc_db_cut_ready;
    h_2[0].mlp_c_proj_dw_cut_ready = &h_mlp_c_proj_dw_cut_ready[0];
    h_2[1].mlp_c_proj_dw_cut_ready = &h_mlp_c_proj_dw_cut_ready[1];
    h_2[2].mlp_c_proj_dw_cut_ready = &h_2_mlp_c_proj_dw_cut_ready;
    h_2[0].mlp_c_proj_db_cut_ready = &h_mlp_c_proj_db_cut_ready[0];
    h_2[1].mlp_c_proj_db_cut_ready = &h_mlp_c_proj_db_cut_ready[1];
    h_2[2].mlp_c_proj_db_cut_ready = &h_2_mlp_c_proj_db_cut_ready;

    hap_alias(r, "lm_head.weight", "transformer.wte.weight");
    hap_loss(r, loss);
    hap_batch(r, 8, 32);
    hap_schedule(r, (hap_lr){.lr = 0.001, .warmup = 4, .cosine = 40, .min_lr = 0.1});

    while (hap_next_step(r)) {
        // transformer.wte, forward
        op_embedding(r, wte, wte_weight, input_ids); // y = a[b]    [8@rows 32 64]    0.0062 ms

        // transformer.wpe, forward
        op_embedding(r, wpe, wpe_weight, wpe_const); // y = a[b]    [1 32 64]    0.0036 ms

        // transformer.add, forward
        op_add(r, h_1_add_2_2[0], wte, wpe); // y = a + b    [8@rows 32 64]    0.0074 ms

        for (int i = 0; i < 2; i++)
            h_forward(r, &h[i]);

        // transformer.h.2.ln_1, forward
        op_row_sum(r, h_2_ln_1_sum, h_1_add_2_2[2]); // y = sum x    [8@rows 32]    0.0036 ms
        op_row_m2(r, h_2_ln_1_m2, h_1_add_2_2[2], h_2_ln_1_sum); // [8@rows 32]    0.00364 ms
        op_norm_apply(r, h_2_ln_1, h_1_add_2_2[2], h_2_ln_1_sum, h_2_ln_1_m2, h_ln_1_weight[2],
                      h_ln_1_bias[2], 1e-05); // [8@rows 32 64]    0.00628 ms

        // transformer.h.2.attn, forward
        op_linear(r, h_2_attn_c_attn, h_2_ln_1, h_attn_c_attn_weight[2], h_attn_c_attn_bias[2],
                  HAP_NN); // y = a b + c    [8@rows 32 192]    0.0665 ms
        hap_tensor *const parts[] = {
            h_2_attn_split_0, // [8@rows 32 64]
            h_2_attn_split_1, // [8@rows 32 64]
            h_2_attn_split_2, // [8@rows 32 64]
        };
        // ys = parts of x    [8@rows 32 64]    0.0164 ms
        op_split(r, 3, parts, h_2_attn_c_attn, 2, HAP_INTS(64, 64, 64));
        // y = x    [8@rows 32 4 16]    0 ms
        op_reshape(r, h_2_attn_reshape, h_2_attn_split_1, HAP_INTS(8, 32, 4, 16));
        // y = x'    [8@rows 4 32 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose, h_2_attn_reshape, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 4 16]    0 ms
        op_reshape(r, h_2_attn_reshape_2, h_2_attn_split_2, HAP_INTS(8, 32, 4, 16));
        // y = x'    [8@rows 4 32 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose_2, h_2_attn_reshape_2, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 4 16]    0 ms
        op_reshape(r, h_2_attn_reshape_3, h_2_attn_split_0, HAP_INTS(8, 32, 4, 16));
        // y = x'    [8@rows 4 32 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose_3, h_2_attn_reshape_3, HAP_INTS(0, 2, 1, 3));
        op_sdpa(r, h_2_attn_sdpa, h_2_attn_sdpa_lse, h_2_attn_transpose_3, h_2_attn_transpose,
                h_2_attn_transpose_2, NULL, true, 0.25, 0, 0, 0); // [8@rows 4 32 16]    0.0119 ms
        // y = x'    [8@rows 32 4 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose_4, h_2_attn_sdpa, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_2_attn_reshape_4, h_2_attn_transpose_4, HAP_INTS(8, 32, 64));
        op_linear(r, h_2_attn_c_proj, h_2_attn_reshape_4, h_attn_c_proj_weight[2],
                  h_attn_c_proj_bias[2], HAP_NN); // y = a b + c    [8@rows 32 64]    0.0228 ms

        // transformer.h.2.add, forward
        op_add(r, h_2_add, h_2_attn_c_proj, h_1_add_2_2[2]); // [8@rows 32 64]    0.00868 ms
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0269 ms
        hap_event *e_h_2_add_all =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &h_2_add_all, &h_2_add, NULL);
        hap_wait(r, e_h_2_add_all);
        hap_cut(r, h_2_add_cut, h_2_add_all); // [8 32@cut_32 64]    0.00475 ms

        // transformer.h.2.ln_2, forward
        op_row_sum(r, h_2_ln_2_sum, h_2_add_cut); // y = sum x    [8 32@cut_32]    0.00338 ms
        op_row_m2(r, h_2_ln_2_m2, h_2_add_cut, h_2_ln_2_sum); // [8 32@cut_32]    0.00342 ms
        op_norm_apply(r, h_2_ln_2, h_2_add_cut, h_2_ln_2_sum, h_2_ln_2_m2, h_ln_2_weight[2],
                      h_ln_2_bias[2], 1e-05); // [8 32@cut_32 64]    0.00582 ms

        // transformer.h.2.mlp, forward
        // y = a b + c    [8 32@cut_32 192]    0.0611 ms
        op_linear(r, h_2_mlp_c_fc, h_2_ln_2, h_mlp_c_fc_weight[2], h_mlp_c_fc_bias[2], HAP_NN);
        op_gelu(r, h_2_mlp_act, h_2_mlp_c_fc, true); // y = gelu x    [8 32@cut_32 192]    0.0151 ms
        op_linear(r, h_2_mlp_c_proj, h_2_mlp_act, h_mlp_c_proj_weight[2], h_mlp_c_proj_bias[2],
                  HAP_NN); // y = a b + c    [8 32@cut_32 64]    0.0611 ms

        // transformer.h.2.add, forward
        op_add(r, h_2_add_2, h_2_add_cut, h_2_mlp_c_proj); // [8 32@cut_32 64]    0.00804 ms

        // transformer.ln_f, forward
        op_row_sum(r, ln_f_sum, h_2_add_2);         // y = sum x    [8 32@cut_32]    0.00338 ms
        op_row_m2(r, ln_f_m2, h_2_add_2, ln_f_sum); // [8 32@cut_32]    0.00342 ms
        // y = (a - mean) rstd d + e    [8 32@cut_32 64]    0.00582 ms
        op_norm_apply(r, ln_f, h_2_add_2, ln_f_sum, ln_f_m2, ln_f_weight, ln_f_bias, 1e-05);

        // lm_head, forward
        op_linear(r, lm_head, ln_f, wte_weight, NULL, HAP_NT); // [8 32@cut_32 211]    0.067 ms

        // pad, forward
        op_pad(r, pad, labels, 1, 0, 1, -100); // y = x, padded    [8 33]    0.00165 ms

        // slice, forward
        op_slice(r, slice, pad, 1, 1, 33); // y = part of x    [8 32]    0.00165 ms

        // ce_sum, forward
        op_row_max(r, ce_sum_max, lm_head); // y = max x    [8 32@cut_32]    0.00877 ms
        op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max); // [8 32@cut_32]    0.00881 ms
        hap_cut(r, slice_cut, slice); // whole -> dim 1 @cut_32    [8 32@cut_32]    0.00112 ms
        op_target_logit(r, ce_sum_target, lm_head, slice_cut, -100); // [8 32@cut_32]    0.00115 ms
        hap_cut(r, slice_cut_2, slice); // whole -> dim 1 @cut_32    [8 32@cut_32]    0.00112 ms
        // y = sum a + log b - c    []+    0.00118 ms
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
        hap_cut(r, slice_cut_3, slice); // whole -> dim 1 @cut_32    [8 32@cut_32]    0.00112 ms
        // y = e (softmax - 1[label])    [8 32@cut_32 211]    0.0166 ms
        op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice_cut_3, loss_da, -100);

        // lm_head, backward
        // y = a b    [8 32@cut_32 64]    0.067 ms
        op_linear(r, lm_head_dx, ce_sum_dx, wte_weight, NULL, HAP_NN);
        op_linear_dw(r, lm_head_dw, ce_sum_dx, ln_f); // y = sum rows a' b    [211 64]+    0.067 ms

        // transformer.ln_f, backward
        op_norm_bwd_stats(r, ln_f_stats, ln_f_stats_1, lm_head_dx, h_2_add_2, ln_f_sum, ln_f_m2,
                          ln_f_weight, 1e-05); // [8 32@cut_32]    0.00587 ms
        op_norm_bwd(r, ln_f_dx, lm_head_dx, h_2_add_2, ln_f_sum, ln_f_m2, ln_f_stats, ln_f_stats_1,
                    ln_f_weight, 1e-05); // y = dx of the norm    [8 32@cut_32 64]    0.00821 ms
        // y, y1 = dweight, dbias    [64]+    0.00582 ms
        op_norm_bwd_params(r, ln_f_dw, ln_f_dw_1, lm_head_dx, h_2_add_2, ln_f_sum, ln_f_m2, 1e-05);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        hap_event *e_ln_f_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(2), 1, &ln_f_dw_cut, &ln_f_dw, ln_f_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        hap_event *e_ln_f_dw_1_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(2), 1, &ln_f_dw_1_cut, &ln_f_dw_1, ln_f_dw_1_cut_scratch);

        // transformer.h.2.mlp, backward
        // y = a b'    [8 32@cut_32 192]    0.0611 ms
        op_linear(r, h_2_mlp_c_proj_dx, ln_f_dx, h_mlp_c_proj_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_mlp_c_proj_dw, h_2_mlp_act, ln_f_dx); // [192 64]+    0.0611 ms
        // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.0332 ms
        h_2_mlp_c_proj_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &h_mlp_c_proj_dw_cut[2],
                                      &h_2_mlp_c_proj_dw, h_2_mlp_c_proj_dw_cut_scratch);
        op_sum(r, h_2_mlp_c_proj_db, ln_f_dx, HAP_INTS(0, 1), false); // [64]+    0.00337 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_2_mlp_c_proj_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_mlp_c_proj_db_cut[2],
                                      &h_2_mlp_c_proj_db, h_2_mlp_c_proj_db_cut_scratch);
        // y = a gelu'(b)    [8 32@cut_32 192]    0.0221 ms
        op_gelu_bwd(r, h_2_mlp_act_dx, h_2_mlp_c_proj_dx, h_2_mlp_c_fc, true);
        // y = a b'    [8 32@cut_32 64]    0.0611 ms
        op_linear(r, h_2_mlp_c_fc_dx, h_2_mlp_act_dx, h_mlp_c_fc_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_mlp_c_fc_dw, h_2_ln_2, h_2_mlp_act_dx); // [64 192]+    0.0611 ms
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0337 ms
        h_2_mlp_c_fc_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &h_mlp_c_fc_dw_cut[2],
                                      &h_2_mlp_c_fc_dw, h_2_mlp_c_fc_dw_cut_scratch);
        op_sum(r, h_2_mlp_c_fc_db, h_2_mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.00812 ms
        // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.0124 ms
        h_2_mlp_c_fc_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_mlp_c_fc_db_cut[2],
                                      &h_2_mlp_c_fc_db, h_2_mlp_c_fc_db_cut_scratch);

        // transformer.h.2.ln_2, backward
        // y, y1 = sum u, sum u xhat    [8 32@cut_32]    0.00587 ms
        op_norm_bwd_stats(r, h_2_ln_2_stats, h_2_ln_2_stats_1, h_2_mlp_c_fc_dx, h_2_add_cut,
                          h_2_ln_2_sum, h_2_ln_2_m2, h_ln_2_weight[2], 1e-05);
        // y = dx of the norm    [8 32@cut_32 64]    0.00821 ms
        op_norm_bwd(r, h_2_ln_2_dx, h_2_mlp_c_fc_dx, h_2_add_cut, h_2_ln_2_sum, h_2_ln_2_m2,
                    h_2_ln_2_stats, h_2_ln_2_stats_1, h_ln_2_weight[2], 1e-05);
        op_add(r, h_2_ln_2_sum_2, ln_f_dx, h_2_ln_2_dx); // [8 32@cut_32 64]    0.00804 ms
        // dim 1 @cut_32 -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.032 ms
        hap_event *e_h_2_ln_2_sum_cut = coll_all_to_all_start(
            r, AXIS(0), FORM_PUSH(1), 1, &h_2_ln_2_sum_cut, &h_2_ln_2_sum_2, NULL);
        op_norm_bwd_params(r, h_2_ln_2_dw, h_2_ln_2_dw_1, h_2_mlp_c_fc_dx, h_2_add_cut,
                           h_2_ln_2_sum, h_2_ln_2_m2, 1e-05); // [64]+    0.00582 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_2_ln_2_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_ln_2_dw_cut[2], &h_2_ln_2_dw, h_2_ln_2_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_2_ln_2_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_ln_2_dw_1_cut[2],
                                      &h_2_ln_2_dw_1, h_2_ln_2_dw_1_cut_scratch);
        hap_wait(r, e_h_2_ln_2_sum_cut);

        // transformer.h.2.attn, backward
        // y = a b'    [8@rows 32 64]    0.0228 ms
        op_linear(r, h_2_attn_c_proj_dx, h_2_ln_2_sum_cut, h_attn_c_proj_weight[2], NULL, HAP_NT);
        // y = sum rows a' b    [64 64]+    0.0228 ms
        op_linear_dw(r, h_2_attn_c_proj_dw, h_2_attn_reshape_4, h_2_ln_2_sum_cut);
        // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0224 ms
        h_2_attn_c_proj_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &h_attn_c_proj_dw_cut[2],
                                      &h_2_attn_c_proj_dw, h_2_attn_c_proj_dw_cut_scratch);
        // y = sum x    [64]+    0.0036 ms
        op_sum(r, h_2_attn_c_proj_db, h_2_ln_2_sum_cut, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_2_attn_c_proj_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_attn_c_proj_db_cut[2],
                                      &h_2_attn_c_proj_db, h_2_attn_c_proj_db_cut_scratch);
        // y = x    [8@rows 32 4 16]    0 ms
        op_reshape(r, h_2_attn_reshape_4_dx, h_2_attn_c_proj_dx, HAP_INTS(8, 32, 4, 16));
        // y = x'    [8@rows 4 32 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose_4_dx, h_2_attn_reshape_4_dx, HAP_INTS(0, 2, 1, 3));
        op_sdpa_bwd(r, h_2_attn_sdpa_dqkv, h_2_attn_sdpa_dqkv_1, h_2_attn_sdpa_dqkv_2,
                    h_2_attn_transpose_4_dx, h_2_attn_transpose_3, h_2_attn_transpose,
                    h_2_attn_transpose_2, h_2_attn_sdpa, h_2_attn_sdpa_lse, NULL, true, 0.25, 0, 0,
                    0); // y, y1, y2 = dq, dk, dv    [8@rows 4 32 16]    0.0283 ms
        // y = x'    [8@rows 32 4 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose_3_dx, h_2_attn_sdpa_dqkv, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_2_attn_reshape_3_dx, h_2_attn_transpose_3_dx, HAP_INTS(8, 32, 64));
        // y = x'    [8@rows 32 4 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose_2_dx, h_2_attn_sdpa_dqkv_2, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_2_attn_reshape_2_dx, h_2_attn_transpose_2_dx, HAP_INTS(8, 32, 64));
        // y = x'    [8@rows 32 4 16]    0.00612 ms
        op_transpose(r, h_2_attn_transpose_dx, h_2_attn_sdpa_dqkv_1, HAP_INTS(0, 2, 1, 3));
        // y = x    [8@rows 32 64]    0 ms
        op_reshape(r, h_2_attn_reshape_dx, h_2_attn_transpose_dx, HAP_INTS(8, 32, 64));
        hap_tensor *const parts_2[] = {
            h_2_attn_reshape_3_dx, // [8@rows 32 64]
            h_2_attn_reshape_dx,   // [8@rows 32 64]
            h_2_attn_reshape_2_dx, // [8@rows 32 64]
        };
        op_concat(r, h_2_attn_split_dx, 3, parts_2, 2); // y = xs    [8@rows 32 192]    0.0164 ms
        // y = a b'    [8@rows 32 64]    0.0665 ms
        op_linear(r, h_2_attn_c_attn_dx, h_2_attn_split_dx, h_attn_c_attn_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_attn_c_attn_dw, h_2_ln_1, h_2_attn_split_dx); // [64 192]+    0.0665 ms
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0337 ms
        h_2_attn_c_attn_dw_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(1), 1, &h_attn_c_attn_dw_cut[2],
                                      &h_2_attn_c_attn_dw, h_2_attn_c_attn_dw_cut_scratch);
        // y = sum x    [192]+    0.0088 ms
        op_sum(r, h_2_attn_c_attn_db, h_2_attn_split_dx, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0124 ms
        h_2_attn_c_attn_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_attn_c_attn_db_cut[2],
                                      &h_2_attn_c_attn_db, h_2_attn_c_attn_db_cut_scratch);

        // transformer.h.2.ln_1, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00632 ms
        op_norm_bwd_stats(r, h_2_ln_1_stats, h_2_ln_1_stats_1, h_2_attn_c_attn_dx, h_1_add_2_2[2],
                          h_2_ln_1_sum, h_2_ln_1_m2, h_ln_1_weight[2], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.00888 ms
        op_norm_bwd(r, h_2_ln_1_dx, h_2_attn_c_attn_dx, h_1_add_2_2[2], h_2_ln_1_sum, h_2_ln_1_m2,
                    h_2_ln_1_stats, h_2_ln_1_stats_1, h_ln_1_weight[2], 1e-05);
        op_add(r, h_ln_1_sum_2[2], h_2_ln_2_sum_cut, h_2_ln_1_dx); // [8@rows 32 64]    0.00868 ms
        op_norm_bwd_params(r, h_2_ln_1_dw, h_2_ln_1_dw_1, h_2_attn_c_attn_dx, h_1_add_2_2[2],
                           h_2_ln_1_sum, h_2_ln_1_m2, 1e-05); // [64]+    0.00628 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_2_ln_1_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(2), 1, &h_ln_1_dw_cut[2], &h_2_ln_1_dw, h_2_ln_1_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0121 ms
        h_2_ln_1_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_PUSH(2), 1, &h_ln_1_dw_1_cut[2],
                                      &h_2_ln_1_dw_1, h_2_ln_1_dw_1_cut_scratch);

        for (int i = 1; i >= 0; i--)
            h_backward(r, &h[i]);

        // transformer.add, backward
        op_sum(r, add_fold1, h_ln_1_sum_2[0], HAP_INTS(0), true); // [1 32 64]+    0.00484 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // y[b] += a    [32 64]+    0.0036 ms
        // + -> dim 0 @cut_32    [32@cut_32 64]    8.00 KiB    0.0171 ms
        hap_event *e_wpe_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(2), 1, &wpe_dw_cut, &wpe_dw, wpe_dw_cut_scratch);

        // transformer.wte, backward
        op_embedding_bwd(r, wte_dw, h_ln_1_sum_2[0], input_ids, 211); // [211 64]+    0.0121 ms
        op_add(r, wte_sum, lm_head_dw, wte_dw); // y = a + b    [211 64]+    0.0263 ms
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0355 ms
        hap_event *e_wte_sum_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_PUSH(1), 1, &wte_sum_cut, &wte_sum, wte_sum_cut_scratch);
        hap_wait(r, e_wte_sum_cut);

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum_cut); // y = sum x^2    []+    0.00311 ms
        hap_wait(r, e_wpe_dw_cut);                  // 0.0171 ms hidden
        op_sumsq(r, wpe_weight_sumsq, wpe_dw_cut);  // y = sum x^2    []+    0.00129 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 3; i++)
            h_2_backward(r, &h_2[i]);
        hap_wait(r, e_ln_f_dw_cut); // 0.0121 ms hidden

        // update
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_cut); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm_2[3], ln_f_weight_sumsq);
        hap_wait(r, e_ln_f_dw_1_cut);                // 0.0121 ms hidden
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1_cut); // y = sum x^2    []+    0.00101 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // []+    0.001 ms
        hap_event *e_ln_f_bias_norm_all =
            coll_all_reduce_start(r, AXIS(0), FORM_PUSH(2), 1, &ln_f_bias_norm_all, &ln_f_bias_norm,
                                  ln_f_bias_norm_all_scratch); // + -> whole    4 B    0.024 ms
        hap_wait(r, e_ln_f_bias_norm_all);
        op_clip_scale(r, clip, ln_f_bias_norm_all, 1); // y = min(1, 1 / sqrt x)    []    0.001 ms
        hap_cut(r, wte_weight_cut, wte_weight);        // [211@vocab 64]    0.00437 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0157 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.025 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(1), 1, &wte_weight, &wte_weight_cut, NULL);
        hap_cut(r, wpe_weight_cut, wpe_weight); // [32@cut_32 64]    0.00147 ms
        op_adam(r, wpe_weight_cut, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32@cut_32 64]    0.00305 ms
        // dim 0 @cut_32 -> whole    [32 64]    8.00 KiB    0.0153 ms
        hap_event *e_wpe_weight =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &wpe_weight, &wpe_weight_cut, NULL);

        for (int i = 0; i < 3; i++)
            h_2_update(r, &h_2[i]);

        // update
        hap_cut(r, ln_f_weight_cut, ln_f_weight); // [64@cut_64]    0.00102 ms
        op_adam(r, ln_f_weight_cut, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_cut, clip,
                1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_ln_f_weight = coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &ln_f_weight,
                                                         &ln_f_weight_cut, NULL);
        hap_cut(r, ln_f_bias_cut, ln_f_bias); // whole -> dim 0 @cut_64    [64@cut_64]    0.00102 ms
        op_adam(r, ln_f_bias_cut, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_cut, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0121 ms
        hap_event *e_ln_f_bias =
            coll_all_gather_start(r, AXIS(0), FORM_PUSH(2), 1, &ln_f_bias, &ln_f_bias_cut, NULL);
        hap_wait(r, e_wte_weight); // 0.025 ms hidden
        hap_wait(r, e_wpe_weight); // 0.0153 ms hidden

        for (int i = 0; i < 3; i++)
            h_2_update_2(r, &h_2[i]);
        hap_wait(r, e_ln_f_weight);
        hap_wait(r, e_ln_f_bias);
    }
    return hap_finish(r);
}
