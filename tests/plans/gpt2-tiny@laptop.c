// program.c: one training step of gpt2-tiny on 3 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop.yaml -o gpt2-tiny@laptop -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}
//   predicted   4.09 ms/step = 3.52 ms compute and idle + 1.08 ms communication - 0.51 ms hidden;
//               bound 2.62 ms; by datasheet formulas
//   memory      2.47 MiB / 2.35 MiB / 1.81 MiB    graph a94a3bb305aca178    cluster
//               4f352a66d62016ad
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.375 0.375 0.250 over axis 0 (compute).
static const int64_t rows[3] = {3, 3, 2};

// 211 cut 0.445 0.346 0.209 over axis 0 (compute).
static const int64_t vocab[3] = {94, 73, 44};

// 64 cut 0.438 0.344 0.219 over axis 0 (compute).
static const int64_t cut_64[3] = {28, 22, 14};

// 3 cut 0.333 0.333 0.333 over axis 0 (compute).
static const int64_t cut_3[3] = {1, 1, 1};

// 4 cut 0.500 0.250 0.250 over axis 0 (compute).
static const int64_t heads[3] = {2, 1, 1};

// 192 cut 0.427 0.349 0.224 over axis 0 (compute).
static const int64_t cut_192[3] = {82, 67, 43};

// Byte offsets in the local segment, by class {cpu4, cpu3, cpu2}.
static const int64_t at_2476288[3] = {2476288, 2357248, 1894912};
static const int64_t at_1704960[3] = {1704960, 1591296, 1209344};
static const int64_t at_801792[3] = {801792, 733184, 659456};
static const int64_t at_855808[3] = {855808, 787200, 713472}, at_0[3] = {0, 0, 0};
static const int64_t at_768[3] = {768, 768, 768}, at_1536[3] = {1536, 1536, 1536};
static const int64_t at_148992[3] = {148992, 148992, 148992};
static const int64_t at_151296[3] = {151296, 151296, 151296};
static const int64_t at_200448[3] = {200448, 200448, 200448};
static const int64_t at_201216[3] = {201216, 201216, 201216};
static const int64_t at_201984[3] = {201984, 201984, 201984};
static const int64_t at_202752[3] = {202752, 202752, 202752};
static const int64_t at_350208[3] = {350208, 350208, 350208};
static const int64_t at_352512[3] = {352512, 352512, 352512};
static const int64_t at_499968[3] = {499968, 499968, 499968};
static const int64_t at_864000[3] = {864000, 795392, 721664};
static const int64_t at_864256[3] = {864256, 795648, 721920};
static const int64_t at_864512[3] = {864512, 795904, 722176};
static const int64_t at_864768[3] = {864768, 796160, 722432};
static const int64_t at_888832[3] = {888832, 814848, 733696};
static const int64_t at_912896[3] = {912896, 833536, 744960};
static const int64_t at_921088[3] = {921088, 841728, 753152};
static const int64_t at_500736[3] = {500736, 500736, 500736};
static const int64_t at_501248[3] = {501248, 501248, 501248};
static const int64_t at_501760[3] = {501760, 501760, 501760};
static const int64_t at_502272[3] = {502272, 502272, 502272};
static const int64_t at_502784[3] = {502784, 502784, 502784};
static const int64_t at_545792[3] = {545792, 536576, 524288};
static const int64_t at_588800[3] = {588800, 570368, 545792};
static const int64_t at_590336[3] = {590336, 571904, 547328};
static const int64_t at_591872[3] = {591872, 573440, 548864};
static const int64_t at_608256[3] = {608256, 581632, 557056};
static const int64_t at_624640[3] = {624640, 589824, 565248};
static const int64_t at_625152[3] = {625152, 590336, 565760};
static const int64_t at_625664[3] = {625664, 590848, 566272};
static const int64_t at_626176[3] = {626176, 591360, 566784};
static const int64_t at_626688[3] = {626688, 591872, 567296};
static const int64_t at_627200[3] = {627200, 592384, 567808};
static const int64_t at_627712[3] = {627712, 592896, 568320};
static const int64_t at_670720[3] = {670720, 626688, 589824};
static const int64_t at_713728[3] = {713728, 660480, 611328};
static const int64_t at_715264[3] = {715264, 662016, 612864};
static const int64_t at_716800[3] = {716800, 663552, 614400};
static const int64_t at_758784[3] = {758784, 697856, 636416};
static const int64_t at_800768[3] = {800768, 732160, 658432};
static const int64_t at_801280[3] = {801280, 732672, 658944};
static const int64_t at_929280[3] = {929280, 849920, 761344};
static const int64_t at_929536[3] = {929536, 850176, 761600};
static const int64_t at_929792[3] = {929792, 850432, 761856};
static const int64_t at_930048[3] = {930048, 850688, 762112};
static const int64_t at_930304[3] = {930304, 850944, 762368};
static const int64_t at_951808[3] = {951808, 867840, 773120};
static const int64_t at_973312[3] = {973312, 884736, 783872};
static const int64_t at_974080[3] = {974080, 885504, 784640};
static const int64_t at_974848[3] = {974848, 886272, 785408};
static const int64_t at_983040[3] = {983040, 890368, 789504};
static const int64_t at_991232[3] = {991232, 894464, 793600};
static const int64_t at_991488[3] = {991488, 894720, 793856};
static const int64_t at_991744[3] = {991744, 894976, 794112};
static const int64_t at_992000[3] = {992000, 895232, 794368};
static const int64_t at_992256[3] = {992256, 895488, 794624};
static const int64_t at_992512[3] = {992512, 895744, 794880};
static const int64_t at_992768[3] = {992768, 896000, 795136};
static const int64_t at_1014272[3] = {1014272, 912896, 805888};
static const int64_t at_1035776[3] = {1035776, 929792, 816640};
static const int64_t at_1036544[3] = {1036544, 930560, 817408};
static const int64_t at_1037312[3] = {1037312, 931328, 818176};
static const int64_t at_1058304[3] = {1058304, 948480, 829184};
static const int64_t at_1079296[3] = {1079296, 965632, 840192};
static const int64_t at_1079552[3] = {1079552, 965888, 840448};
static const int64_t at_1079808[3] = {1079808, 966144, 840704};
static const int64_t at_1080064[3] = {1080064, 966400, 840960};
static const int64_t at_1080320[3] = {1080320, 966656, 841216};
static const int64_t at_1080576[3] = {1080576, 966912, 841472};
static const int64_t at_1080832[3] = {1080832, 967168, 841728};
static const int64_t at_1523200[3] = {1523200, 1409536, 1234944};
static const int64_t at_2478336[3] = {2478336, 2359296, 1896960};
static const int64_t at_2479872[3] = {2479872, 2360832, 1897728};
static const int64_t at_1783808[3] = {1783808, 1670144, 1490688};
static const int64_t at_1228288[3] = {1228288, 1114624, 940032};
static const int64_t at_1449472[3] = {1449472, 1335808, 1087488};
static const int64_t at_1498624[3] = {1498624, 1384960, 1120256};
static const int64_t at_1474048[3] = {1474048, 1360384, 1103872};
static const int64_t at_1857536[3] = {1857536, 1743872, 1539840};
static const int64_t at_1931264[3] = {1931264, 1817856, 1588992};
static const int64_t at_2005248[3] = {2005248, 1891584, 1638144};
static const int64_t at_2078976[3] = {2078976, 1965312, 1687296};
static const int64_t at_2471680[3] = {2471680, 2352640, 1899264};
static const int64_t at_2152704[3] = {2152704, 2039040, 1736448};
static const int64_t at_2226432[3] = {2226432, 2112768, 1785600};
static const int64_t at_2481408[3] = {2481408, 2362368, 1902336};
static const int64_t at_2482944[3] = {2482944, 2363904, 1898496};
static const int64_t at_2300160[3] = {2300160, 2186496, 1834752};
static const int64_t at_1302016[3] = {1302016, 1188352, 989184};
static const int64_t at_1621504[3] = {1621504, 1507840, 1136640};
static const int64_t at_2399232[3] = {2399232, 2285568, 1211392};
static const int64_t at_2399744[3] = {2399744, 2286080, 1211648};
static const int64_t at_2373888[3] = {2373888, 2260224, 1190656};
static const int64_t at_1702656[3] = {1702656, 1588992, 1207040};
static const int64_t at_2400256[3] = {2400256, 2286592, 1207552};
static const int64_t at_2400768[3] = {2400768, 2287104, 1207808};
static const int64_t at_1703424[3] = {1703424, 1589760, 1208320};
static const int64_t at_1703936[3] = {1703936, 1590272, 1208064};
static const int64_t at_2004992[3] = {2004992, 1817600, 1441280};
static const int64_t at_1702912[3] = {1702912, 1589248, 1207296};
static const int64_t at_2401280[3] = {2401280, 2287616, 1208064};
static const int64_t at_2398464[3] = {2398464, 2284800, 1207040};
static const int64_t at_1702656_2[3] = {1702656, 1588992, 1387264};
static const int64_t at_2484480[3] = {2484480, 2365440, 1333248};
static const int64_t at_2447616[3] = {2447616, 2333952, 1424128};
static const int64_t at_1670656[3] = {1670656, 1556992, 1153024};
static const int64_t at_1671168[3] = {1671168, 1557504, 1153280};
static const int64_t at_1769216[3] = {1769216, 1655552, 1437184};
static const int64_t at_1768960[3] = {1768960, 1655296, 1436928};
static const int64_t at_2538496[3] = {2538496, 2419456, 1441536};
static const int64_t at_1498880[3] = {1498880, 1385216, 1883904};
static const int64_t at_1498624_2[3] = {1498624, 1384960, 1437440};
static const int64_t at_2373888_2[3] = {2373888, 2260224, 1136640};
static const int64_t at_1277440[3] = {1277440, 1581568, 1284096};
static const int64_t at_1179136[3] = {1179136, 1065472, 890880};
static const int64_t at_1521408[3] = {1521408, 1403904, 1437696};
static const int64_t at_1771008[3] = {1771008, 1406976, 1878272};
static const int64_t at_1519872[3] = {1519872, 1163776, 1153024};
static const int64_t at_1719808[3] = {1719808, 1164288, 1153280};
static const int64_t at_1695232[3] = {1695232, 1606144, 1136640};
static const int64_t at_1646080[3] = {1646080, 1532416, 1387264};
static const int64_t at_1778176[3] = {1778176, 1659904, 1435904};
static const int64_t at_1777152[3] = {1777152, 1658880, 1881600};
static const int64_t at_1778688[3] = {1778688, 1660416, 1436416};
static const int64_t at_1777664[3] = {1777664, 1659392, 1435392};
static const int64_t at_1277440_2[3] = {1277440, 1581568, 1136640};
static const int64_t at_2259200[3] = {2259200, 2145536, 1801984};
static const int64_t at_1779200[3] = {1779200, 1660928, 1769472};
static const int64_t at_1779712[3] = {1779712, 1661440, 1769984};
static const int64_t at_1744384[3] = {1744384, 1630720, 1169408};
static const int64_t at_2370816[3] = {2370816, 2088192, 1300480};
static const int64_t at_1695232_2[3] = {1695232, 1581568, 1136640};
static const int64_t at_1719808_2[3] = {1719808, 1606144, 1153024};
static const int64_t at_1277440_3[3] = {1277440, 1793024, 1284096};
static const int64_t at_1980416[3] = {1980416, 1867008, 1300480};
static const int64_t at_2054400[3] = {2054400, 1940736, 1316864};
static const int64_t at_1400320[3] = {1400320, 1286656, 1038336};
static const int64_t at_1769472[3] = {1769472, 1405440, 1439232};
static const int64_t at_1781248[3] = {1781248, 1662976, 1586944};
static const int64_t at_1780224[3] = {1780224, 1661952, 1585920};
static const int64_t at_1781760[3] = {1781760, 1663488, 1587456};
static const int64_t at_1780736[3] = {1780736, 1662464, 1586432};
static const int64_t at_1695232_3[3] = {1695232, 1581568, 1284096};
static const int64_t at_1547776[3] = {1547776, 1434112, 1136640};
static const int64_t at_1885696[3] = {1885696, 1249792, 1561600};
static const int64_t at_1782272[3] = {1782272, 1285376, 1587968};
static const int64_t at_1776640[3] = {1776640, 1284864, 1440768};
static const int64_t at_1782784[3] = {1782784, 1285888, 1588480};
static const int64_t at_1277440_4[3] = {1277440, 1176064, 989184};
static const int64_t at_1080832_2[3] = {1080832, 967168, 1251328};
static const int64_t at_1351168[3] = {1351168, 1556992, 841728};
static const int64_t at_2306304[3] = {2306304, 2201856, 1846016};
static const int64_t at_1670656_2[3] = {1670656, 1284096, 1403648};
static const int64_t at_1519872_2[3] = {1519872, 1402368, 1879296};
static const int64_t at_1343744[3] = {1343744, 1242368, 1405184};
static const int64_t at_1129984[3] = {1129984, 1016320, 1005568};
static const int64_t at_1130496[3] = {1130496, 1016832, 1005824};
static const int64_t at_1105408[3] = {1105408, 991744, 989184};
static const int64_t at_1344768[3] = {1344768, 1243392, 1406208};
static const int64_t at_1344256[3] = {1344256, 1242880, 1405696};
static const int64_t at_1772800[3] = {1772800, 1408768, 1880832};
static const int64_t at_1345024[3] = {1345024, 1243648, 1406464};
static const int64_t at_1772032[3] = {1772032, 1408000, 1880064};
static const int64_t at_1344512[3] = {1344512, 1243136, 1405952};
static const int64_t at_1080832_3[3] = {1080832, 967168, 989184};
static const int64_t at_1326592[3] = {1326592, 1225216, 1316864};
static const int64_t at_2185472[3] = {2185472, 1163776, 1411840};
static const int64_t at_1345280[3] = {1345280, 1243904, 1406720};
static const int64_t at_1773568[3] = {1773568, 1655808, 1768704};
static const int64_t at_1345536[3] = {1345536, 1244160, 1406976};
static const int64_t at_1129984_2[3] = {1129984, 1016320, 1021952};
static const int64_t at_1277440_5[3] = {1277440, 1176064, 1267712};
static const int64_t at_1080832_4[3] = {1080832, 967168, 1005568};
static const int64_t at_1105408_2[3] = {1105408, 991744, 1251328};
static const int64_t at_1154560[3] = {1154560, 1040896, 989184};
static const int64_t at_1277440_6[3] = {1277440, 1176064, 1021952};
static const int64_t at_1302016_2[3] = {1302016, 1200640, 1300480};
static const int64_t at_1154560_2[3] = {1154560, 1040896, 1534208};
static const int64_t at_1789952[3] = {1789952, 1685504, 1501952};
static const int64_t at_1342976[3] = {1342976, 1241600, 1404416};
static const int64_t at_1774336[3] = {1774336, 1656576, 1583616};
static const int64_t at_1105408_3[3] = {1105408, 991744, 1267712};
static const int64_t at_1105920[3] = {1105920, 992256, 1267968};
static const int64_t at_1346048[3] = {1346048, 1244672, 1407488};
static const int64_t at_1345792[3] = {1345792, 1244416, 1407232};
static const int64_t at_1775872[3] = {1775872, 1658112, 1585152};
static const int64_t at_1178880[3] = {1178880, 1059840, 1246464};
static const int64_t at_1775104[3] = {1775104, 1657344, 1584384};
static const int64_t at_1178624[3] = {1178624, 1059584, 1246208};
static const int64_t at_1146368[3] = {1146368, 1032704, 1234944};
static const int64_t at_1170432[3] = {1170432, 1051392, 1387264};
static const int64_t at_1084416[3] = {1084416, 969984, 1236736};
static const int64_t at_1080832_5[3] = {1080832, 967168, 1234944};
static const int64_t at_1084672[3] = {1084672, 970240, 1236992};
static const int64_t at_1321472[3] = {1321472, 1150976, 962816};
static const int64_t at_1208832[3] = {1208832, 1069056, 906752};
static const int64_t at_1232896[3] = {1232896, 1087744, 918016};
static const int64_t at_1102336[3] = {1102336, 984320, 852736};
static const int64_t at_1080832_6[3] = {1080832, 1001472, 863744};
static const int64_t at_1145344[3] = {1145344, 984320, 852736};
static const int64_t at_1296896[3] = {1296896, 1138688, 950528};
static const int64_t at_1145600[3] = {1145600, 984576, 852992};
static const int64_t at_1123840[3] = {1123840, 1035264, 885248};
static const int64_t at_1187840[3] = {1187840, 984320, 852736};
static const int64_t at_1166848[3] = {1166848, 967168, 841728};
static const int64_t at_1233152[3] = {1233152, 1088000, 918272};
static const int64_t at_1232896_2[3] = {1232896, 1104896, 929024};
static const int64_t at_1254400[3] = {1254400, 1087744, 918016};
static const int64_t at_1313280[3] = {1313280, 1146880, 958720};
static const int64_t at_1254656[3] = {1254656, 1088000, 918272};
static const int64_t at_1254400_2[3] = {1254400, 1121792, 939776};
static const int64_t at_1275904[3] = {1275904, 1087744, 918016};

// Bytes from one block's buffer to the next one's.
static const int64_t by_512[3] = {512, 512, 256}, by_24576[3] = {24576, 24576, 16384};
static const int64_t by_256[3] = {256, 256, 256}, by_49152[3] = {49152, 49152, 49152};
static const int64_t by_768[3] = {768, 768, 768}, by_1536[3] = {1536, 1536, 1024};
static const int64_t by_16384[3] = {16384, 16384, 16384}, by_73728[3] = {73728, 73728, 49152};
static const int64_t by_21504[3] = {21504, 16896, 10752}, by_512_2[3] = {512, 512, 512};
static const int64_t by_8192[3] = {8192, 4096, 4096}, by_20992[3] = {20992, 17152, 11008};

static const int64_t local_bytes[3] = {2587648, 2468608, 1903104}, sym_bytes = 0;

// Collectives that are waited for elsewhere than where they start.
static hap_event *h_mlp_c_fc_dw_cut_ready[2], *h_mlp_c_fc_db_cut_ready[2], *h_ln_2_dw_cut_ready[2];
static hap_event *h_ln_2_dw_1_cut_ready[2], *h_attn_c_proj_dw_cut_ready[2];
static hap_event *h_attn_c_proj_db_cut_ready[2], *h_attn_c_attn_dw_cut_ready[2];
static hap_event *h_attn_c_attn_db_cut_ready[2], *h_ln_1_dw_cut_ready[2], *h_ln_1_dw_1_cut_ready[2];
static hap_event *h_mlp_c_proj_dw_cut_ready[2], *h_mlp_c_proj_db_cut_ready[2];
static hap_event *h_0_mlp_c_fc_dw_cut_ready, *h_0_mlp_c_fc_db_cut_ready, *h_0_ln_2_dw_cut_ready;
static hap_event *h_0_ln_2_dw_1_cut_ready, *h_0_attn_c_proj_dw_cut_ready;
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
    hap_tensor *ln_2, *ln_2_weight, *ln_2_bias, *mlp_c_fc, *mlp_c_fc_weight, *mlp_c_fc_bias;
    hap_tensor *mlp_act, *mlp_c_proj, *mlp_c_proj_weight, *mlp_c_proj_bias, *add_2_2;
    hap_event **attn_c_attn_weight_ready, **attn_c_proj_weight_ready, **mlp_c_fc_weight_ready;
    hap_event **mlp_c_proj_weight_ready;
} h_block;
static h_block h[3];

// What each of the 2 blocks h_2.* works on.
typedef struct h_2_block {
    hap_tensor *mlp_act_dx, *mlp_c_proj_dx, *mlp_c_fc, *mlp_c_fc_dx, *mlp_c_fc_weight, *mlp_c_fc_dw;
    hap_tensor *ln_2, *mlp_c_fc_dw_cut, *mlp_c_fc_db, *mlp_c_fc_db_cut, *mlp_c_fc_db_cut_scratch;
    hap_tensor *ln_2_stats, *ln_2_stats_1, *add, *ln_2_sum, *ln_2_m2, *ln_2_weight, *ln_2_dx;
    hap_tensor *ln_2_sum_2, *ln_1_sum_2, *ln_2_dw, *ln_2_dw_1, *ln_2_dw_cut, *ln_2_dw_cut_scratch;
    hap_tensor *ln_2_dw_1_cut, *ln_2_dw_1_cut_scratch, *attn_c_proj_dx, *attn_c_proj_weight;
    hap_tensor *attn_c_proj_dw, *attn_reshape_4, *attn_c_proj_dw_cut, *attn_c_proj_db;
    hap_tensor *attn_c_proj_db_cut, *attn_c_proj_db_cut_scratch, *attn_reshape_4_dx;
    hap_tensor *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1, *attn_sdpa_dqkv_2;
    hap_tensor *attn_transpose_3, *attn_transpose, *attn_transpose_2, *attn_sdpa, *attn_sdpa_lse;
    hap_tensor *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx, *attn_reshape_2_dx;
    hap_tensor *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx, *attn_c_attn_dx;
    hap_tensor *attn_c_attn_weight, *attn_c_attn_dw, *ln_1, *attn_c_attn_dw_cut, *attn_c_attn_db;
    hap_tensor *attn_c_attn_db_cut, *ln_1_stats, *ln_1_stats_1, *add_2, *ln_1_sum, *ln_1_m2;
    hap_tensor *ln_1_weight, *ln_1_dx, *ln_1_sum_2_2, *ln_1_dw, *ln_1_dw_1, *ln_1_dw_cut;
    hap_tensor *ln_1_dw_cut_scratch, *ln_1_dw_1_cut, *ln_1_dw_1_cut_scratch, *mlp_c_proj_dx_2;
    hap_tensor *mlp_c_proj_weight, *mlp_c_proj_dw, *mlp_act, *mlp_c_proj_dw_cut, *mlp_c_proj_db;
    hap_tensor *mlp_c_proj_db_cut, *mlp_c_proj_db_cut_scratch, *ln_1_weight_sumsq, *ln_1_dw_cut_2;
    hap_tensor *ln_1_weight_norm, *mlp_c_proj_bias_norm, *ln_1_bias_sumsq, *ln_1_dw_1_cut_2;
    hap_tensor *ln_1_bias_norm, *attn_c_attn_weight_sumsq, *attn_c_attn_dw_cut_2;
    hap_tensor *attn_c_attn_weight_norm, *attn_c_attn_bias_sumsq, *attn_c_attn_db_cut_2;
    hap_tensor *attn_c_attn_bias_norm, *attn_c_proj_weight_sumsq, *attn_c_proj_dw_cut_2;
    hap_tensor *attn_c_proj_weight_norm, *attn_c_proj_bias_sumsq, *attn_c_proj_db_cut_2;
    hap_tensor *attn_c_proj_bias_norm, *ln_2_weight_sumsq, *ln_2_dw_cut_2, *ln_2_weight_norm;
    hap_tensor *ln_2_bias_sumsq, *ln_2_dw_1_cut_2, *ln_2_bias_norm, *mlp_c_fc_weight_sumsq;
    hap_tensor *mlp_c_fc_dw_cut_2, *mlp_c_fc_weight_norm, *mlp_c_fc_bias_sumsq, *mlp_c_fc_db_cut_2;
    hap_tensor *mlp_c_fc_bias_norm, *mlp_c_proj_weight_sumsq, *mlp_c_proj_dw_cut_2;
    hap_tensor *mlp_c_proj_weight_norm, *mlp_c_proj_bias_sumsq, *mlp_c_proj_db_cut_2;
    hap_tensor *mlp_c_proj_bias_norm_2, *ln_1_dw_1_all, *ln_1_weight_2, *ln_1_weight_exp_avg;
    hap_tensor *ln_1_weight_exp_avg_sq, *ln_1_dw_all, *clip, *ln_1_bias, *ln_1_bias_exp_avg;
    hap_tensor *ln_1_bias_exp_avg_sq, *attn_c_attn_weight_cut, *attn_c_attn_weight_2;
    hap_tensor *attn_c_attn_weight_exp_avg, *attn_c_attn_weight_exp_avg_sq, *attn_c_attn_db_all;
    hap_tensor *attn_c_attn_bias, *attn_c_attn_bias_exp_avg, *attn_c_attn_bias_exp_avg_sq;
    hap_tensor *attn_c_proj_weight_cut, *attn_c_proj_weight_2, *attn_c_proj_weight_exp_avg;
    hap_tensor *attn_c_proj_weight_exp_avg_sq, *attn_c_proj_db_all, *ln_2_dw_all, *attn_c_proj_bias;
    hap_tensor *attn_c_proj_bias_exp_avg, *attn_c_proj_bias_exp_avg_sq, *ln_2_dw_1_all;
    hap_tensor *ln_2_weight_2, *ln_2_weight_exp_avg, *ln_2_weight_exp_avg_sq, *ln_2_bias;
    hap_tensor *ln_2_bias_exp_avg, *ln_2_bias_exp_avg_sq, *mlp_c_fc_weight_cut, *mlp_c_fc_weight_2;
    hap_tensor *mlp_c_fc_weight_exp_avg, *mlp_c_fc_weight_exp_avg_sq, *mlp_c_fc_db_all;
    hap_tensor *mlp_c_fc_bias, *mlp_c_fc_bias_exp_avg, *mlp_c_fc_bias_exp_avg_sq;
    hap_tensor *mlp_c_proj_weight_cut, *mlp_c_proj_weight_2, *mlp_c_proj_weight_exp_avg;
    hap_tensor *mlp_c_proj_weight_exp_avg_sq, *mlp_c_proj_db_all, *ln_1_dw_all_2, *ln_1_dw_cut_3;
    hap_tensor *mlp_c_proj_bias, *mlp_c_proj_bias_exp_avg, *mlp_c_proj_bias_exp_avg_sq;
    hap_event **mlp_c_fc_dw_cut_ready, **mlp_c_fc_db_cut_ready, **ln_2_dw_cut_ready;
    hap_event **ln_2_dw_1_cut_ready, **attn_c_proj_dw_cut_ready, **attn_c_proj_db_cut_ready;
    hap_event **attn_c_attn_dw_cut_ready, **attn_c_attn_db_cut_ready, **ln_1_dw_cut_ready;
    hap_event **ln_1_dw_1_cut_ready, **mlp_c_proj_dw_cut_ready, **mlp_c_proj_db_cut_ready;
    hap_event **ln_1_dw_cut_ready_2, **ln_1_dw_1_cut_ready_2, **attn_c_attn_dw_cut_ready_2;
    hap_event **attn_c_attn_db_cut_ready_2, **attn_c_proj_dw_cut_ready_2;
    hap_event **attn_c_proj_db_cut_ready_2, **ln_2_dw_cut_ready_2, **ln_2_dw_1_cut_ready_2;
    hap_event **mlp_c_fc_dw_cut_ready_2, **mlp_c_fc_db_cut_ready_2, **mlp_c_proj_dw_cut_ready_2;
    hap_event **mlp_c_proj_db_cut_ready_2, **ln_1_dw_all_ready, **attn_c_attn_weight_ready;
    hap_event **attn_c_proj_weight_ready, **mlp_c_fc_weight_ready, **mlp_c_proj_weight_ready;
    hap_event **ln_1_dw_all_ready_2;
} h_2_block;
static h_2_block h_2[2];

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

// One of the 2 blocks h_2, backward: 0.623 ms of computation.
static void h_2_backward(hap_rank *r, const h_2_block *b)
{
    // mlp
    // y = a gelu'(b)    [8@rows 32 192]    0.024 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    // y = a b'    [8@rows 32 64]    0.0665 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx); // [64 192]+    0.0665 ms
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0246 ms
    *b->mlp_c_fc_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_fc_dw_cut, &b->mlp_c_fc_dw, NULL);
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
    // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.0104 ms
    *b->mlp_c_fc_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_db_cut,
                                  &b->mlp_c_fc_db, b->mlp_c_fc_db_cut_scratch);

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // [8@rows 32]    0.00632 ms
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05); // [8@rows 32 64]    0.00888 ms
    op_add(r, b->ln_2_sum_2, b->ln_1_sum_2, b->ln_2_dx); // [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
                       1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->ln_2_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_dw_cut,
                                                      &b->ln_2_dw, b->ln_2_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->ln_2_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_dw_1_cut, &b->ln_2_dw_1, b->ln_2_dw_1_cut_scratch);

    // attn
    // y = a b'    [8@rows 32 64]    0.0228 ms
    op_linear(r, b->attn_c_proj_dx, b->ln_2_sum_2, b->attn_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->attn_c_proj_dw, b->attn_reshape_4, b->ln_2_sum_2); // [64 64]+    0.0228 ms
    // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0181 ms
    *b->attn_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->attn_c_proj_dw_cut, &b->attn_c_proj_dw, NULL);
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->attn_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_db_cut,
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
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0246 ms
    *b->attn_c_attn_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->attn_c_attn_dw_cut, &b->attn_c_attn_dw, NULL);
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
    // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0101 ms
    *b->attn_c_attn_db_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_attn_db_cut, &b->attn_c_attn_db, NULL);

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_stats, b->ln_1_stats_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                      b->ln_1_m2, b->ln_1_weight, 1e-05); // [8@rows 32]    0.00632 ms
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_stats,
                b->ln_1_stats_1, b->ln_1_weight, 1e-05);   // [8@rows 32 64]    0.00888 ms
    op_add(r, b->ln_1_sum_2_2, b->ln_2_sum_2, b->ln_1_dx); // [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_dw_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                       b->ln_1_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_cut,
                                                      &b->ln_1_dw, b->ln_1_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->ln_1_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_1_cut, &b->ln_1_dw_1, b->ln_1_dw_1_cut_scratch);

    // mlp
    // y = a b'    [8@rows 32 192]    0.0665 ms
    op_linear(r, b->mlp_c_proj_dx_2, b->ln_1_sum_2_2, b->mlp_c_proj_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_proj_dw, b->mlp_act, b->ln_1_sum_2_2); // [192 64]+    0.0665 ms
    // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.0245 ms
    *b->mlp_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_proj_dw_cut, &b->mlp_c_proj_dw, NULL);
    op_sum(r, b->mlp_c_proj_db, b->ln_1_sum_2_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->mlp_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_db_cut,
                                  &b->mlp_c_proj_db, b->mlp_c_proj_db_cut_scratch);
}

// One of the 2 blocks h_2, backward: 0.0301 ms of computation.
static void h_2_backward_2(hap_rank *r, const h_2_block *b)
{
    hap_wait(r, *b->ln_1_dw_cut_ready_2); // 0.0101 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_cut_2); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq);
    hap_wait(r, *b->ln_1_dw_1_cut_ready_2);              // 0.0101 ms hidden
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1_cut_2); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->attn_c_attn_dw_cut_ready_2);                           // 0.0246 ms hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_cut_2);     // []+    0.00276 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    hap_wait(r, *b->attn_c_attn_db_cut_ready_2);                     // 0.0101 ms hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_cut_2); // []+    0.00104 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    hap_wait(r, *b->attn_c_proj_dw_cut_ready_2);                       // 0.0181 ms hidden
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_cut_2); // []+    0.00164 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    hap_wait(r, *b->attn_c_proj_db_cut_ready_2);                     // 0.0101 ms hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_cut_2); // []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    hap_wait(r, *b->ln_2_dw_cut_ready_2);                // 0.0101 ms hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_cut_2); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    hap_wait(r, *b->ln_2_dw_1_cut_ready_2);              // 0.0101 ms hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1_cut_2); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->mlp_c_fc_dw_cut_ready_2);                              // 0.0246 ms hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_cut_2); // y = sum x^2    []+    0.00276 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    hap_wait(r, *b->mlp_c_fc_db_cut_ready_2);                  // 0.0104 ms hidden
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_cut_2); // y = sum x^2    []+    0.00103 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    hap_wait(r, *b->mlp_c_proj_dw_cut_ready_2);                      // 0.0245 ms hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_cut_2); // []+    0.00279 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_wait(r, *b->mlp_c_proj_db_cut_ready_2);                    // 0.0101 ms hidden
    op_sumsq(r, b->mlp_c_proj_bias_sumsq, b->mlp_c_proj_db_cut_2); // []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_bias_norm_2, b->mlp_c_proj_weight_norm, b->mlp_c_proj_bias_sumsq);
}

// One of the 2 blocks h_2, update: 0.0705 ms of computation.
static void h_2_update(hap_rank *r, const h_2_block *b)
{
    // update
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
    hap_event *e_ln_1_dw_1_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_1_all, &b->ln_1_dw_1_cut_2, NULL);
    hap_wait(r, *b->ln_1_dw_all_ready);
    op_adam(r, b->ln_1_weight_2, b->ln_1_weight_exp_avg, b->ln_1_weight_exp_avg_sq, b->ln_1_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_wait(r, e_ln_1_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_1_bias, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_2); // [64@cut_64 192]    0.00382 ms
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_cut_2, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0133 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0208 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_weight_2, &b->attn_c_attn_weight_cut, NULL);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.0101 ms
    hap_event *e_attn_c_attn_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_attn_db_all, &b->attn_c_attn_db_cut_2, NULL);
    hap_wait(r, e_attn_c_attn_db_all);
    op_adam(r, b->attn_c_attn_bias, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_2); // [64@heads 64]    0.00202 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut_2, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00548 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0141 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_weight_2, &b->attn_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
    hap_event *e_attn_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_db_all, &b->attn_c_proj_db_cut_2, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
    hap_event *e_ln_2_dw_all = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_dw_all,
                                                     &b->ln_2_dw_cut_2, NULL);
    hap_wait(r, e_attn_c_proj_db_all);
    op_adam(r, b->attn_c_proj_bias, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
    hap_event *e_ln_2_dw_1_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_dw_1_all, &b->ln_2_dw_1_cut_2, NULL);
    hap_wait(r, e_ln_2_dw_all); // 0.00114 ms hidden
    op_adam(r, b->ln_2_weight_2, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq, b->ln_2_dw_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_wait(r, e_ln_2_dw_1_all);                   // 0.00114 ms hidden
    op_adam(r, b->ln_2_bias, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_all,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_2); // [64@cut_64 192]    0.00382 ms
    // a -= lr b / sqrt c    [64@cut_64 192]    0.0133 ms
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_cut_2, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0208 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_weight_2, &b->mlp_c_fc_weight_cut, NULL);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.0102 ms
    hap_event *e_mlp_c_fc_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_db_all, &b->mlp_c_fc_db_cut_2, NULL);
    hap_wait(r, e_mlp_c_fc_db_all);
    op_adam(r, b->mlp_c_fc_bias, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_2); // [192@cut_192 64]    0.00386 ms
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_cut_2, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0135 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.0205 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_weight_2, &b->mlp_c_proj_weight_cut, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
    hap_event *e_mlp_c_proj_db_all = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_db_all, &b->mlp_c_proj_db_cut_2, NULL);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
    *b->ln_1_dw_all_ready_2 = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_all_2,
                                                    &b->ln_1_dw_cut_3, NULL);
    hap_wait(r, e_mlp_c_proj_db_all);
    op_adam(r, b->mlp_c_proj_bias, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_all, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
}

// One of the 3 blocks h, update: 0 ms of computation.
static void h_update(hap_rank *r, const h_block *b)
{
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0208 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.0141 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0208 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.0205 ms hidden
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
    const hap_dim cut_192_64[] = {CUT(0, 192, cut_192), WHOLE(64)};
    const hap_dim rows_32[] = {CUT(0, 8, rows), WHOLE(32)};
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
    const hap_dim of_8_32_64[] = {WHOLE(8), WHOLE(32), WHOLE(64)};
    const hap_dim of_32_cut_64[] = {WHOLE(32), CUT(0, 64, cut_64)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_2476288, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1704960, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_LOCAL, at_801792, HAP_F32, 2, of_211_64);
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_LOCAL, at_855808, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_864000, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_864256, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_864768, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_888832, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_912896, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_921088, HAP_F32, 2, of_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_weight_exp_avg = hap_at(r, SEG_LOCAL, at_929280, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg", h_2_ln_1_weight_exp_avg);
    hap_tensor *h_2_ln_1_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_929536, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.weight.exp_avg_sq", h_2_ln_1_weight_exp_avg_sq);
    hap_tensor *h_2_ln_1_bias_exp_avg = hap_at(r, SEG_LOCAL, at_929792, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg", h_2_ln_1_bias_exp_avg);
    hap_tensor *h_2_ln_1_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_930048, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_1.bias.exp_avg_sq", h_2_ln_1_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_930304, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg", h_2_attn_c_attn_weight_exp_avg);
    hap_tensor *h_2_attn_c_attn_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_951808, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.attn.c_attn.weight.exp_avg_sq",
              h_2_attn_c_attn_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg = hap_at(r, SEG_LOCAL, at_973312, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg", h_2_attn_c_attn_bias_exp_avg);
    hap_tensor *h_2_attn_c_attn_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_974080, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.attn.c_attn.bias.exp_avg_sq", h_2_attn_c_attn_bias_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_974848, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg", h_2_attn_c_proj_weight_exp_avg);
    hap_tensor *h_2_attn_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_983040, HAP_F32, 2, heads_64);
    hap_state(r, "transformer.h.2.attn.c_proj.weight.exp_avg_sq",
              h_2_attn_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_991232, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg", h_2_attn_c_proj_bias_exp_avg);
    hap_tensor *h_2_attn_c_proj_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_991488, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.attn.c_proj.bias.exp_avg_sq", h_2_attn_c_proj_bias_exp_avg_sq);
    hap_tensor *h_2_ln_2_weight_exp_avg = hap_at(r, SEG_LOCAL, at_991744, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg", h_2_ln_2_weight_exp_avg);
    hap_tensor *h_2_ln_2_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_992000, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.weight.exp_avg_sq", h_2_ln_2_weight_exp_avg_sq);
    hap_tensor *h_2_ln_2_bias_exp_avg = hap_at(r, SEG_LOCAL, at_992256, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg", h_2_ln_2_bias_exp_avg);
    hap_tensor *h_2_ln_2_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_992512, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.ln_2.bias.exp_avg_sq", h_2_ln_2_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_992768, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg", h_2_mlp_c_fc_weight_exp_avg);
    hap_tensor *h_2_mlp_c_fc_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1014272, HAP_F32, 2, cut_64_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.weight.exp_avg_sq", h_2_mlp_c_fc_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1035776, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg", h_2_mlp_c_fc_bias_exp_avg);
    hap_tensor *h_2_mlp_c_fc_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1036544, HAP_F32, 1, of_192);
    hap_state(r, "transformer.h.2.mlp.c_fc.bias.exp_avg_sq", h_2_mlp_c_fc_bias_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg =
        hap_at(r, SEG_LOCAL, at_1037312, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg", h_2_mlp_c_proj_weight_exp_avg);
    hap_tensor *h_2_mlp_c_proj_weight_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1058304, HAP_F32, 2, cut_192_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.weight.exp_avg_sq", h_2_mlp_c_proj_weight_exp_avg_sq);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1079296, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg", h_2_mlp_c_proj_bias_exp_avg);
    hap_tensor *h_2_mlp_c_proj_bias_exp_avg_sq =
        hap_at(r, SEG_LOCAL, at_1079552, HAP_F32, 1, of_64);
    hap_state(r, "transformer.h.2.mlp.c_proj.bias.exp_avg_sq", h_2_mlp_c_proj_bias_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1079808, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1080064, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1080320, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1080576, HAP_F32, 1, of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_864512, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *input_ids_cut = hap_at(r, SEG_LOCAL, at_1080832, HAP_I64, 2, rows_32);
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1523200, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_2399232, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_2399744, HAP_F32, 2, rows_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_2373888, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1621504, HAP_F32, 3, rows_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_1702656, HAP_I64, 2, of_8_33);   // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_1704960, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_2400256, HAP_F32, 2, rows_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_2400768, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_1702656, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_1703424, HAP_F32, 2, rows_32);
    hap_tensor *slice_cut_2 = hap_at(r, SEG_LOCAL, at_1702656, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_1703936, HAP_F32, 0, NULL);     // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_LOCAL, at_1703936, HAP_F32, 0, NULL); // []
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_1702656, HAP_F32, 0, NULL);      // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_2004992, HAP_F32, 0, NULL);       // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_1702912, HAP_F32, 0, NULL);  // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_2401280, HAP_F32, 0, NULL);    // []
    hap_tensor *slice_cut_3 = hap_at(r, SEG_LOCAL, at_2398464, HAP_I64, 2, rows_32);
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1702656_2, HAP_F32, 3, rows_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_1621504, HAP_F32, 3, rows_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_2484480, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *lm_head_dw_cut = hap_at(r, SEG_LOCAL, at_2447616, HAP_F32, 2, vocab_64);
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_1670656, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_1671168, HAP_F32, 2, rows_32);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_1769216, HAP_F32, 1, of_64);       // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_1768960, HAP_F32, 1, of_64);     // [64]+
    hap_tensor *ln_f_dw_all = hap_at(r, SEG_LOCAL, at_1769216, HAP_F32, 1, of_64);   // [64]
    hap_tensor *ln_f_dw_1_all = hap_at(r, SEG_LOCAL, at_1768960, HAP_F32, 1, of_64); // [64]
    // [192 64]+
    hap_tensor *h_2_mlp_c_proj_dw = hap_at(r, SEG_LOCAL, at_2538496, HAP_F32, 2, of_192_64);
    hap_tensor *h_2_mlp_c_proj_dw_cut = hap_at(r, SEG_LOCAL, at_1498880, HAP_F32, 2, cut_192_64);
    hap_tensor *h_2_mlp_c_proj_db = hap_at(r, SEG_LOCAL, at_1498624_2, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_mlp_c_proj_db_all = hap_at(r, SEG_LOCAL, at_1498624_2, HAP_F32, 1, of_64);
    hap_tensor *h_0_mlp_act_dx = hap_at(r, SEG_LOCAL, at_1277440_4, HAP_F32, 3, rows_32_192);
    hap_tensor *h_0_mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_1080832_2, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_0_mlp_c_fc_dw = hap_at(r, SEG_LOCAL, at_1351168, HAP_F32, 2, of_64_192);
    hap_tensor *h_0_mlp_c_fc_db = hap_at(r, SEG_LOCAL, at_1670656_2, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_0_ln_2_stats = hap_at(r, SEG_LOCAL, at_1129984, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_1130496, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_2_dx = hap_at(r, SEG_LOCAL, at_1105408, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_1646080, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_2_dw = hap_at(r, SEG_LOCAL, at_1344768, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_2_dw_1 = hap_at(r, SEG_LOCAL, at_1344256, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 3, rows_32_64);
    // [64 64]+
    hap_tensor *h_0_attn_c_proj_dw = hap_at(r, SEG_LOCAL, at_1326592, HAP_F32, 2, of_64_64);
    hap_tensor *h_0_attn_c_proj_db = hap_at(r, SEG_LOCAL, at_1345280, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_0_attn_reshape_4_dx =
        hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_transpose_4_dx =
        hap_at(r, SEG_LOCAL, at_1129984_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_1277440_5, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_1080832_4, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_1105408_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_0_attn_transpose_3_dx =
        hap_at(r, SEG_LOCAL, at_1154560, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1154560, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_2_dx =
        hap_at(r, SEG_LOCAL, at_1277440_6, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1277440_6, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_transpose_dx =
        hap_at(r, SEG_LOCAL, at_1302016_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_0_attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1302016_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_attn_split_dx = hap_at(r, SEG_LOCAL, at_1080832_2, HAP_F32, 3, rows_32_192);
    hap_tensor *h_0_attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_1154560_2, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_0_attn_c_attn_dw = hap_at(r, SEG_LOCAL, at_1277440_4, HAP_F32, 2, of_64_192);
    hap_tensor *h_0_attn_c_attn_db = hap_at(r, SEG_LOCAL, at_1342976, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_0_ln_1_stats = hap_at(r, SEG_LOCAL, at_1105408_3, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_1105920, HAP_F32, 2, rows_32);
    hap_tensor *h_0_ln_1_dx = hap_at(r, SEG_LOCAL, at_1080832_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_2 = hap_at(r, SEG_LOCAL, at_1646080, HAP_F32, 3, rows_32_64);
    hap_tensor *h_0_ln_1_sum_all = hap_at(r, SEG_LOCAL, at_1080832_2, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_0_ln_1_dw = hap_at(r, SEG_LOCAL, at_1346048, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_0_ln_1_dw_1 = hap_at(r, SEG_LOCAL, at_1345792, HAP_F32, 1, of_64); // [64]+
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_1146368, HAP_F32, 3, of_1_32_64);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_1170432, HAP_F32, 2, of_32_64); // [32 64]
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_1146368, HAP_F32, 2, vocab_64);
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_2447616, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL); // []+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_LOCAL, at_1080832_5, HAP_F32, 2, of_32_cut_64);
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_1084672, HAP_F32, 0, NULL);      // []+
    hap_tensor *h_2_ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_1_weight_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_1_bias_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_weight_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_attn_bias_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_attn_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    hap_tensor *h_2_ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_ln_2_weight_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);  // []+
    hap_tensor *h_2_ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);   // []+
    hap_tensor *h_2_ln_2_bias_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);    // []+
    // []+
    hap_tensor *h_2_mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_mlp_c_fc_weight_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []+
    hap_tensor *h_2_mlp_c_fc_bias_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);  // []+
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);
    // []+
    hap_tensor *h_2_mlp_c_proj_weight_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_weight_norm_all = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);
    hap_tensor *h_2_mlp_c_proj_bias_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);  // []
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL);   // []
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_1084416, HAP_F32, 0, NULL);    // []
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_1321472, HAP_F32, 0, NULL);              // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_LOCAL, at_1208832, HAP_F32, 2, vocab_64);
    hap_tensor *h_2_ln_1_dw_1_all = hap_at(r, SEG_LOCAL, at_1233152, HAP_F32, 1, of_64);
    hap_tensor *h_2_attn_c_attn_weight_cut =
        hap_at(r, SEG_LOCAL, at_1232896_2, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_attn_c_attn_db_all = hap_at(r, SEG_LOCAL, at_1254400, HAP_F32, 1, of_192);
    hap_tensor *h_2_attn_c_proj_weight_cut = hap_at(r, SEG_LOCAL, at_1313280, HAP_F32, 2, heads_64);
    hap_tensor *h_2_attn_c_proj_db_all = hap_at(r, SEG_LOCAL, at_1254656, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_2_dw_all = hap_at(r, SEG_LOCAL, at_1254400, HAP_F32, 1, of_64); // [64]
    hap_tensor *h_2_ln_2_dw_1_all = hap_at(r, SEG_LOCAL, at_1254656, HAP_F32, 1, of_64);
    hap_tensor *h_2_mlp_c_fc_weight_cut =
        hap_at(r, SEG_LOCAL, at_1254400_2, HAP_F32, 2, cut_64_192);
    hap_tensor *h_2_mlp_c_fc_db_all = hap_at(r, SEG_LOCAL, at_1275904, HAP_F32, 1, of_192);
    hap_tensor *h_2_mlp_c_proj_weight_cut =
        hap_at(r, SEG_LOCAL, at_1275904, HAP_F32, 2, cut_192_64);

    // Scratch of collectives.
    hap_tensor *h_0_mlp_c_fc_db_cut_scratch =
        hap_at(r, SEG_LOCAL, at_1343744, HAP_F32, 1, scratch_128);
    hap_tensor *h_0_ln_2_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_1345024, HAP_F32, 1, of_64);
    hap_tensor *h_0_ln_2_dw_1_cut_scratch = hap_at(r, SEG_LOCAL, at_1344512, HAP_F32, 1, of_64);
    hap_tensor *h_0_attn_c_proj_db_cut_scratch =
        hap_at(r, SEG_LOCAL, at_1345536, HAP_F32, 1, of_64);
    hap_tensor *h_0_ln_1_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_1178880, HAP_F32, 1, of_64);
    hap_tensor *h_0_ln_1_dw_1_cut_scratch = hap_at(r, SEG_LOCAL, at_1178624, HAP_F32, 1, of_64);

    hap_tensor *h_ln_1_sum[3], *h_ln_1_m2[3], *h_ln_1[3], *h_ln_1_weight[3], *h_ln_1_bias[3];
    hap_tensor *h_attn_c_attn_weight[3], *h_attn_c_attn_bias[3], *h_attn_transpose[3];
    hap_tensor *h_attn_transpose_2[3], *h_attn_transpose_3[3], *h_attn_sdpa[3], *h_attn_sdpa_lse[3];
    hap_tensor *h_attn_reshape_4[3], *h_attn_c_proj_weight[3], *h_attn_c_proj_bias[3], *h_add[3];
    hap_tensor *h_ln_2_sum[3], *h_ln_2_m2[3], *h_ln_2[3], *h_ln_2_weight[3], *h_ln_2_bias[3];
    hap_tensor *h_mlp_c_fc[3], *h_mlp_c_fc_weight[3], *h_mlp_c_fc_bias[3], *h_mlp_act[3];
    hap_tensor *h_mlp_c_proj_weight[3], *h_mlp_c_proj_bias[3], *h_mlp_c_proj_dx[3];
    hap_tensor *h_mlp_c_fc_dw_cut[3], *h_mlp_c_fc_db_cut[3], *ln_f_dx_2[3], *h_ln_2_dw_cut[3];
    hap_tensor *h_ln_2_dw_1_cut[3], *h_attn_c_proj_dw_cut[3], *h_attn_c_proj_db_cut[3];
    hap_tensor *h_attn_c_attn_dw_cut[3], *h_attn_c_attn_db_cut[3], *h_ln_1_dw_cut[3];
    hap_tensor *h_ln_1_dw_1_cut[3], *h_1_mlp_c_proj_bias_norm_2[3], *h_ln_1_dw_all[3];
    for (int i = 0; i < 3; i++) {
        h_ln_1_sum[i] = hap_at_layer(r, SEG_LOCAL, at_2478336, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1_m2[i] = hap_at_layer(r, SEG_LOCAL, at_2479872, by_512, i, HAP_F32, 2, rows_32);
        h_ln_1[i] = hap_at_layer(r, SEG_LOCAL, at_1783808, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_1_weight[i] = hap_at_layer(r, SEG_LOCAL, at_0, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.weight"), h_ln_1_weight[i], HAP_FILL(1));
        h_ln_1_bias[i] = hap_at_layer(r, SEG_LOCAL, at_768, by_256, i, HAP_F32, 1, of_64); // [64]
        hap_param(r, hap_name("transformer.h.", i, ".ln_1.bias"), h_ln_1_bias[i], HAP_FILL(0));
        h_attn_c_attn_weight[i] =
            hap_at_layer(r, SEG_LOCAL, at_1536, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.weight"), h_attn_c_attn_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_attn_c_attn_bias[i] =
            hap_at_layer(r, SEG_LOCAL, at_148992, by_768, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_attn.bias"), h_attn_c_attn_bias[i],
                  HAP_FILL(0));
        h_attn_transpose[i] =
            hap_at_layer(r, SEG_LOCAL, at_1857536, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1931264, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_transpose_3[i] =
            hap_at_layer(r, SEG_LOCAL, at_2005248, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa[i] =
            hap_at_layer(r, SEG_LOCAL, at_2078976, by_24576, i, HAP_F32, 4, rows_4_32_16);
        h_attn_sdpa_lse[i] =
            hap_at_layer(r, SEG_LOCAL, at_2471680, by_1536, i, HAP_F32, 3, rows_4_32);
        h_attn_reshape_4[i] =
            hap_at_layer(r, SEG_LOCAL, at_2152704, by_24576, i, HAP_F32, 3, rows_32_64);
        h_attn_c_proj_weight[i] =
            hap_at_layer(r, SEG_LOCAL, at_151296, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), h_attn_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_attn_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_200448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), h_attn_c_proj_bias[i],
                  HAP_FILL(0));
        h_add[i] = hap_at_layer(r, SEG_LOCAL, at_2226432, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_2_sum[i] = hap_at_layer(r, SEG_LOCAL, at_2481408, by_512, i, HAP_F32, 2, rows_32);
        h_ln_2_m2[i] = hap_at_layer(r, SEG_LOCAL, at_2482944, by_512, i, HAP_F32, 2, rows_32);
        h_ln_2[i] = hap_at_layer(r, SEG_LOCAL, at_2300160, by_24576, i, HAP_F32, 3, rows_32_64);
        h_ln_2_weight[i] = hap_at_layer(r, SEG_LOCAL, at_201216, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), h_ln_2_weight[i], HAP_FILL(1));
        h_ln_2_bias[i] = hap_at_layer(r, SEG_LOCAL, at_201984, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), h_ln_2_bias[i], HAP_FILL(0));
        h_mlp_c_fc[i] =
            hap_at_layer(r, SEG_LOCAL, at_1080832, by_73728, i, HAP_F32, 3, rows_32_192);
        h_mlp_c_fc_weight[i] =
            hap_at_layer(r, SEG_LOCAL, at_202752, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), h_mlp_c_fc_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_mlp_c_fc_bias[i] = hap_at_layer(r, SEG_LOCAL, at_350208, by_768, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), h_mlp_c_fc_bias[i],
                  HAP_FILL(0));
        h_mlp_act[i] = hap_at_layer(r, SEG_LOCAL, at_1302016, by_73728, i, HAP_F32, 3, rows_32_192);
        h_mlp_c_proj_weight[i] =
            hap_at_layer(r, SEG_LOCAL, at_352512, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), h_mlp_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_mlp_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_499968, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), h_mlp_c_proj_bias[i],
                  HAP_FILL(0));
        h_mlp_c_proj_dx[i] = hap_at(r, SEG_LOCAL, at_1695232_3, HAP_F32, 3, rows_32_192);
        h_mlp_c_fc_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2306304, by_21504, i, HAP_F32, 2, cut_64_192);
        h_mlp_c_fc_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1519872_2, by_512, i, HAP_F32, 1, cut_192_of_192);
        ln_f_dx_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1646080, by_24576, i % 2, HAP_F32, 3, rows_32_64);
        h_ln_2_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1772800, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_2_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1772032, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2185472, by_8192, i, HAP_F32, 2, heads_64);
        h_attn_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1773568, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_attn_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1789952, by_21504, i, HAP_F32, 2, cut_64_192);
        h_attn_c_attn_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1774336, by_256, i, HAP_F32, 1, cut_3_of_192);
        h_ln_1_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1775872, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_1_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1775104, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_1_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i % 2, HAP_F32, 0, NULL); // []+
        h_ln_1_dw_all[i] = hap_at(r, SEG_LOCAL, at_1232896, HAP_F32, 1, of_64);      // [64]
    }

    hap_tensor *h_2_add_2_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1523200, by_24576, i, HAP_F32, 3, rows_32_64);
    }

    hap_tensor *h_mlp_c_proj_dw_cut[2], *h_mlp_c_proj_db_cut[2];
    for (int i = 0; i < 2; i++) {
        h_mlp_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1885696, by_20992, i, HAP_F32, 2, cut_192_64);
        h_mlp_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1776640, by_256, i, HAP_F32, 1, cut_64_of_64);
    }

    for (int i = 0; i < 3; i++) {
        h_block *b = &h[i];
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_1228288, HAP_F32, 3, rows_32_192);
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_1449472, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_1498624, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_1474048, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_1498624, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_1474048, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_1449472, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_2152704, by_24576, i, HAP_F32, 4, rows_32_4_16);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_2226432, by_24576, i, HAP_F32, 3, rows_32_64);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_1621504, HAP_F32, 3, rows_32_64);
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
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_2373888_2, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_1277440, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->mlp_c_fc_dw =
            hap_at_layer(r, SEG_LOCAL, at_1179136, by_49152, 1 - i, HAP_F32, 2, of_64_192);
        // [192]+
        b->mlp_c_fc_db = hap_at_layer(r, SEG_LOCAL, at_1521408, by_768, 1 - i, HAP_F32, 1, of_192);
        b->mlp_c_fc_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1771008, by_512_2, 1 - i, HAP_F32, 1, scratch_128);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_1519872, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_1719808, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_1695232, HAP_F32, 3, rows_32_64);   // [8@rows 32 64]
        b->ln_2_sum_2 =
            hap_at_layer(r, SEG_LOCAL, at_1646080, by_24576, 1 - i, HAP_F32, 3, rows_32_64);
        // [64]+
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_1778176, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1777152, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1778688, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1777664, by_256, 1 - i, HAP_F32, 1, of_64);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_1277440_2, HAP_F32, 3, rows_32_64);
        // [64 64]+
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_2259200, by_16384, 1 - i, HAP_F32, 2, of_64_64);
        b->attn_c_proj_db =
            hap_at_layer(r, SEG_LOCAL, at_1779200, by_256, 1 - i, HAP_F32, 1, of_64); // [64]+
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1779712, by_256, 1 - i, HAP_F32, 1, of_64);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_1277440_2, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_1744384, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_2370816, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_1695232_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_1719808_2, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_1277440_3, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1277440_3, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_1980416, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1980416, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_2054400, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_2054400, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_1695232_2, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_1277440_3, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_1400320, by_49152, 1 - i, HAP_F32, 2, of_64_192);
        b->attn_c_attn_db =
            hap_at_layer(r, SEG_LOCAL, at_1769472, by_768, 1 - i, HAP_F32, 1, of_192); // [192]+
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_1519872, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_1719808, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_1695232_2, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        // [64]+
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_1781248, by_256, 1 - i, HAP_F32, 1, of_64);
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1780224, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1781760, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1780736, by_256, 1 - i, HAP_F32, 1, of_64);
        // [192 64]+
        b->mlp_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1547776, by_49152, 1 - i, HAP_F32, 2, of_192_64);
        // [64]+
        b->mlp_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_1782272, by_256, 1 - i, HAP_F32, 1, of_64);
        b->mlp_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1782784, by_256, 1 - i, HAP_F32, 1, of_64);
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832_5, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_weight_norm = hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832_5, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);          // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);            // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);          // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);     // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_weight_norm = hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832_3, HAP_F32, 0, NULL); // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);     // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []+
        // []+
        b->mlp_c_fc_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1084416, by_256, i, HAP_F32, 0, NULL);       // []+
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1080832, HAP_F32, 0, NULL); // []+
        b->ln_1_dw_1_all = hap_at(r, SEG_LOCAL, at_1102336, HAP_F32, 1, of_64);        // [64]
        b->ln_1_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_500736, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg"), b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_501248, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_501760, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_502272, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1080832_6, by_21504, i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_502784, by_21504, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_545792, by_21504, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_db_all = hap_at(r, SEG_LOCAL, at_1145344, HAP_F32, 1, of_192); // [192]
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_588800, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_590336, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1296896, by_8192, i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_591872, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_608256, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_db_all = hap_at(r, SEG_LOCAL, at_1145600, HAP_F32, 1, of_64); // [64]
        b->ln_2_dw_all = hap_at(r, SEG_LOCAL, at_1145344, HAP_F32, 1, of_64);        // [64]
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_624640, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_625152, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_dw_1_all = hap_at(r, SEG_LOCAL, at_1145600, HAP_F32, 1, of_64); // [64]
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_625664, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_626176, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_exp_avg = hap_at_layer(r, SEG_LOCAL, at_626688, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_627200, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1123840, by_21504, i, HAP_F32, 2, cut_64_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_627712, by_21504, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_670720, by_21504, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_db_all = hap_at(r, SEG_LOCAL, at_1187840, HAP_F32, 1, of_192); // [192]
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_713728, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_715264, by_768, i, HAP_F32, 1, of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1166848, by_20992, i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_716800, by_20992, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_758784, by_20992, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_db_all = hap_at(r, SEG_LOCAL, at_1233152, HAP_F32, 1, of_64); // [64]
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_800768, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_801280, by_256, i, HAP_F32, 1, of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg_sq"),
                  b->mlp_c_proj_bias_exp_avg_sq);
        b->mlp_c_proj_dx = h_mlp_c_proj_dx[2 - i];
        b->mlp_c_fc = h_mlp_c_fc[2 - i];
        b->mlp_c_fc_weight = h_mlp_c_fc_weight[2 - i];
        b->ln_2 = h_ln_2[2 - i];
        b->mlp_c_fc_dw_cut = h_mlp_c_fc_dw_cut[2 - i];
        b->mlp_c_fc_db_cut = h_mlp_c_fc_db_cut[2 - i];
        b->add = h_add[2 - i];
        b->ln_2_sum = h_ln_2_sum[2 - i];
        b->ln_2_m2 = h_ln_2_m2[2 - i];
        b->ln_2_weight = h_ln_2_weight[2 - i];
        b->ln_1_sum_2 = ln_f_dx_2[2 - i];
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
        b->mlp_c_proj_dx_2 = h_mlp_c_proj_dx[1 - i];
        b->mlp_c_proj_weight = h_mlp_c_proj_weight[1 - i];
        b->mlp_act = h_mlp_act[1 - i];
        b->mlp_c_proj_dw_cut = h_mlp_c_proj_dw_cut[1 - i];
        b->mlp_c_proj_db_cut = h_mlp_c_proj_db_cut[1 - i];
        b->ln_1_dw_cut_2 = h_ln_1_dw_cut[i];
        b->mlp_c_proj_bias_norm = h_1_mlp_c_proj_bias_norm_2[i];
        b->ln_1_dw_1_cut_2 = h_ln_1_dw_1_cut[i];
        b->attn_c_attn_dw_cut_2 = h_attn_c_attn_dw_cut[i];
        b->attn_c_attn_db_cut_2 = h_attn_c_attn_db_cut[i];
        b->attn_c_proj_dw_cut_2 = h_attn_c_proj_dw_cut[i];
        b->attn_c_proj_db_cut_2 = h_attn_c_proj_db_cut[i];
        b->ln_2_dw_cut_2 = h_ln_2_dw_cut[i];
        b->ln_2_dw_1_cut_2 = h_ln_2_dw_1_cut[i];
        b->mlp_c_fc_dw_cut_2 = h_mlp_c_fc_dw_cut[i];
        b->mlp_c_fc_db_cut_2 = h_mlp_c_fc_db_cut[i];
        b->mlp_c_proj_dw_cut_2 = h_mlp_c_proj_dw_cut[i];
        b->mlp_c_proj_db_cut_2 = h_mlp_c_proj_db_cut[i];
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
        b->mlp_c_proj_dw_cut_ready = &h_mlp_c_proj_dw_cut_ready[i];
        b->mlp_c_proj_db_cut_ready = &h_mlp_c_proj_db_cut_ready[i];
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
    h_2[0].mlp_c_fc_dw_cut_ready_2 = &h_0_mlp_c_fc_dw_cut_ready;
    h_2[1].mlp_c_fc_dw_cut_ready_2 = &h_mlp_c_fc_dw_cut_ready[1];
    h_2[0].mlp_c_fc_db_cut_ready_2 = &h_0_mlp_c_fc_db_cut_ready;
    h_2[1].mlp_c_fc_db_cut_ready_2 = &h_mlp_c_fc_db_cut_ready[1];
    h_2[0].mlp_c_proj_dw_cut_ready_2 = &h_mlp_c_proj_dw_cut_ready[1];
    h_2[1].mlp_c_proj_dw_cut_ready_2 = &h_mlp_c_proj_dw_cut_ready[0];
    h_2[0].mlp_c_proj_db_cut_ready_2 = &h_mlp_c_proj_db_cut_ready[1];
    h_2[1].mlp_c_proj_db_cut_ready_2 = &h_mlp_c_proj_db_cut_ready[0];
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
        // + -> whole    []    4 B    0.02 ms
        hap_event *e_ce_sum_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ce_sum_all, &ce_sum, NULL);

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
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0257 ms
        hap_event *e_lm_head_dw_cut = coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1,
                                                                &lm_head_dw_cut, &lm_head_dw, NULL);

        // transformer.ln_f, backward
        op_norm_bwd_stats(r, ln_f_stats, ln_f_stats_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum,
                          ln_f_m2, ln_f_weight, 1e-05); // [8@rows 32]    0.00632 ms
        op_norm_bwd(r, ln_f_dx_2[2], lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2, ln_f_stats,
                    ln_f_stats_1, ln_f_weight, 1e-05); // [8@rows 32 64]    0.00888 ms
        op_norm_bwd_params(r, ln_f_dw, ln_f_dw_1, lm_head_dx, h_2_add_2_2[3], ln_f_sum, ln_f_m2,
                           1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms

        // transformer.h.2.mlp, backward
        // y = a b'    [8@rows 32 192]    0.0665 ms
        op_linear(r, h_mlp_c_proj_dx[2], ln_f_dx_2[2], h_mlp_c_proj_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_mlp_c_proj_dw, h_mlp_act[2], ln_f_dx_2[2]); // [192 64]+    0.0665 ms
        // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.0245 ms
        hap_event *e_h_2_mlp_c_proj_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_2_mlp_c_proj_dw_cut, &h_2_mlp_c_proj_dw, NULL);
        op_sum(r, h_2_mlp_c_proj_db, ln_f_dx_2[2], HAP_INTS(0, 1), false); // [64]+    0.0036 ms

        for (int i = 0; i < 2; i++)
            h_2_backward(r, &h_2[i]);

        // transformer.h.0.mlp, backward
        // y = a gelu'(b)    [8@rows 32 192]    0.024 ms
        op_gelu_bwd(r, h_0_mlp_act_dx, h_mlp_c_proj_dx[0], h_mlp_c_fc[0], true);
        // y = a b'    [8@rows 32 64]    0.0665 ms
        op_linear(r, h_0_mlp_c_fc_dx, h_0_mlp_act_dx, h_mlp_c_fc_weight[0], NULL, HAP_NT);
        op_linear_dw(r, h_0_mlp_c_fc_dw, h_ln_2[0], h_0_mlp_act_dx); // [64 192]+    0.0665 ms
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0246 ms
        h_0_mlp_c_fc_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_mlp_c_fc_dw_cut[0], &h_0_mlp_c_fc_dw, NULL);
        op_sum(r, h_0_mlp_c_fc_db, h_0_mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.0088 ms
        // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.0104 ms
        h_0_mlp_c_fc_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_mlp_c_fc_db_cut[0],
                                      &h_0_mlp_c_fc_db, h_0_mlp_c_fc_db_cut_scratch);

        // transformer.h.0.ln_2, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00632 ms
        op_norm_bwd_stats(r, h_0_ln_2_stats, h_0_ln_2_stats_1, h_0_mlp_c_fc_dx, h_add[0],
                          h_ln_2_sum[0], h_ln_2_m2[0], h_ln_2_weight[0], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.00888 ms
        op_norm_bwd(r, h_0_ln_2_dx, h_0_mlp_c_fc_dx, h_add[0], h_ln_2_sum[0], h_ln_2_m2[0],
                    h_0_ln_2_stats, h_0_ln_2_stats_1, h_ln_2_weight[0], 1e-05);
        op_add(r, h_0_ln_2_sum_2, ln_f_dx_2[0], h_0_ln_2_dx); // [8@rows 32 64]    0.00868 ms
        op_norm_bwd_params(r, h_0_ln_2_dw, h_0_ln_2_dw_1, h_0_mlp_c_fc_dx, h_add[0], h_ln_2_sum[0],
                           h_ln_2_m2[0], 1e-05); // y, y1 = dweight, dbias    [64]+    0.00628 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_0_ln_2_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_ln_2_dw_cut[0], &h_0_ln_2_dw, h_0_ln_2_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_0_ln_2_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_ln_2_dw_1_cut[0],
                                      &h_0_ln_2_dw_1, h_0_ln_2_dw_1_cut_scratch);

        // transformer.h.0.attn, backward
        // y = a b'    [8@rows 32 64]    0.0228 ms
        op_linear(r, h_0_attn_c_proj_dx, h_0_ln_2_sum_2, h_attn_c_proj_weight[0], NULL, HAP_NT);
        // y = sum rows a' b    [64 64]+    0.0228 ms
        op_linear_dw(r, h_0_attn_c_proj_dw, h_attn_reshape_4[0], h_0_ln_2_sum_2);
        // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0181 ms
        h_0_attn_c_proj_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_attn_c_proj_dw_cut[0], &h_0_attn_c_proj_dw, NULL);
        op_sum(r, h_0_attn_c_proj_db, h_0_ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.0036 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_0_attn_c_proj_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_attn_c_proj_db_cut[0],
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
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0246 ms
        h_0_attn_c_attn_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_attn_c_attn_dw_cut[0], &h_0_attn_c_attn_dw, NULL);
        // y = sum x    [192]+    0.0088 ms
        op_sum(r, h_0_attn_c_attn_db, h_0_attn_split_dx, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0101 ms
        h_0_attn_c_attn_db_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_EVEN, 1, &h_attn_c_attn_db_cut[0], &h_0_attn_c_attn_db, NULL);

        // transformer.h.0.ln_1, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00632 ms
        op_norm_bwd_stats(r, h_0_ln_1_stats, h_0_ln_1_stats_1, h_0_attn_c_attn_dx, h_2_add_2_2[0],
                          h_ln_1_sum[0], h_ln_1_m2[0], h_ln_1_weight[0], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.00888 ms
        op_norm_bwd(r, h_0_ln_1_dx, h_0_attn_c_attn_dx, h_2_add_2_2[0], h_ln_1_sum[0], h_ln_1_m2[0],
                    h_0_ln_1_stats, h_0_ln_1_stats_1, h_ln_1_weight[0], 1e-05);
        op_add(r, h_0_ln_1_sum_2, h_0_ln_2_sum_2, h_0_ln_1_dx); // [8@rows 32 64]    0.00868 ms
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0223 ms
        hap_event *e_h_0_ln_1_sum_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_0_ln_1_sum_all, &h_0_ln_1_sum_2, NULL);
        op_norm_bwd_params(r, h_0_ln_1_dw, h_0_ln_1_dw_1, h_0_attn_c_attn_dx, h_2_add_2_2[0],
                           h_ln_1_sum[0], h_ln_1_m2[0], 1e-05); // [64]+    0.00628 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_0_ln_1_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_dw_cut[0], &h_0_ln_1_dw, h_0_ln_1_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_0_ln_1_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_dw_1_cut[0],
                                      &h_0_ln_1_dw_1, h_0_ln_1_dw_1_cut_scratch);
        hap_wait(r, e_h_0_ln_1_sum_all);

        // transformer.add, backward
        op_sum(r, add_fold1, h_0_ln_1_sum_all, HAP_INTS(0), true); // [1 32 64]    0.0125 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // y[b] += a    [32 64]    0.0036 ms

        // transformer.wte, backward
        // y[b] += a    [211@vocab 64]    0.0133 ms
        op_embedding_bwd(r, wte_dw, h_0_ln_1_sum_all, input_ids, 211);
        hap_wait(r, e_lm_head_dw_cut);              // 0.0257 ms hidden
        op_add(r, wte_sum, lm_head_dw_cut, wte_dw); // y = a + b    [211@vocab 64]    0.00684 ms

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum); // y = sum x^2    []+    0.00295 ms
        hap_cut(r, wpe_dw_cut, wpe_dw); // whole -> dim 1 @cut_64    [32 64@cut_64]    0.00147 ms
        op_sumsq(r, wpe_weight_sumsq, wpe_dw_cut); // y = sum x^2    []+    0.00129 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_1_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 2; i++)
            h_2_backward_2(r, &h_2[i]);
        hap_wait(r, h_ln_1_dw_cut_ready[0]); // 0.0101 ms hidden

        // update
        op_sumsq(r, h_2_ln_1_weight_sumsq, h_ln_1_dw_cut[2]); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_ln_1_weight_norm, h_1_mlp_c_proj_bias_norm_2[2], h_2_ln_1_weight_sumsq);
        hap_wait(r, h_ln_1_dw_1_cut_ready[0]);                // 0.0101 ms hidden
        op_sumsq(r, h_2_ln_1_bias_sumsq, h_ln_1_dw_1_cut[2]); // y = sum x^2    []+    0.00101 ms
        op_add(r, h_2_ln_1_bias_norm, h_2_ln_1_weight_norm, h_2_ln_1_bias_sumsq); // []+    0.001 ms
        hap_wait(r, h_attn_c_attn_dw_cut_ready[0]);                         // 0.0246 ms hidden
        op_sumsq(r, h_2_attn_c_attn_weight_sumsq, h_attn_c_attn_dw_cut[2]); // []+    0.00276 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_attn_c_attn_weight_norm, h_2_ln_1_bias_norm, h_2_attn_c_attn_weight_sumsq);
        hap_wait(r, h_attn_c_attn_db_cut_ready[0]);                       // 0.0101 ms hidden
        op_sumsq(r, h_2_attn_c_attn_bias_sumsq, h_attn_c_attn_db_cut[2]); // []+    0.00104 ms
        op_add(r, h_2_attn_c_attn_bias_norm, h_2_attn_c_attn_weight_norm,
               h_2_attn_c_attn_bias_sumsq);         // y = a + b    []+    0.001 ms
        hap_wait(r, h_attn_c_proj_dw_cut_ready[0]); // 0.0181 ms hidden
        op_sumsq(r, h_2_attn_c_proj_weight_sumsq, h_attn_c_proj_dw_cut[2]); // []+    0.00164 ms
        op_add(r, h_2_attn_c_proj_weight_norm, h_2_attn_c_attn_bias_norm,
               h_2_attn_c_proj_weight_sumsq);       // y = a + b    []+    0.001 ms
        hap_wait(r, h_attn_c_proj_db_cut_ready[0]); // 0.0101 ms hidden
        op_sumsq(r, h_2_attn_c_proj_bias_sumsq, h_attn_c_proj_db_cut[2]); // []+    0.00101 ms
        op_add(r, h_2_attn_c_proj_bias_norm, h_2_attn_c_proj_weight_norm,
               h_2_attn_c_proj_bias_sumsq);                   // y = a + b    []+    0.001 ms
        hap_wait(r, h_ln_2_dw_cut_ready[0]);                  // 0.0101 ms hidden
        op_sumsq(r, h_2_ln_2_weight_sumsq, h_ln_2_dw_cut[2]); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_ln_2_weight_norm, h_2_attn_c_proj_bias_norm, h_2_ln_2_weight_sumsq);
        hap_wait(r, h_ln_2_dw_1_cut_ready[0]);                // 0.0101 ms hidden
        op_sumsq(r, h_2_ln_2_bias_sumsq, h_ln_2_dw_1_cut[2]); // y = sum x^2    []+    0.00101 ms
        op_add(r, h_2_ln_2_bias_norm, h_2_ln_2_weight_norm, h_2_ln_2_bias_sumsq); // []+    0.001 ms
        hap_wait(r, h_mlp_c_fc_dw_cut_ready[0]);                      // 0.0246 ms hidden
        op_sumsq(r, h_2_mlp_c_fc_weight_sumsq, h_mlp_c_fc_dw_cut[2]); // []+    0.00276 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_weight_norm, h_2_ln_2_bias_norm, h_2_mlp_c_fc_weight_sumsq);
        hap_wait(r, h_mlp_c_fc_db_cut_ready[0]);                    // 0.0104 ms hidden
        op_sumsq(r, h_2_mlp_c_fc_bias_sumsq, h_mlp_c_fc_db_cut[2]); // []+    0.00103 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_fc_bias_norm, h_2_mlp_c_fc_weight_norm, h_2_mlp_c_fc_bias_sumsq);
        hap_wait(r, e_h_2_mlp_c_proj_dw_cut);                            // 0.0245 ms hidden
        op_sumsq(r, h_2_mlp_c_proj_weight_sumsq, h_2_mlp_c_proj_dw_cut); // []+    0.00279 ms
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
        // + -> whole    [64]    772 B    0.0203 ms
        hap_event *e_ln_f_dw_all = coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 4, to, from, NULL);
        hap_wait(r, e_ln_f_dw_all);
        op_sumsq(r, h_2_mlp_c_proj_bias_sumsq, h_2_mlp_c_proj_db_all); // []    0.00104 ms
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
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.022 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wte_weight, &wte_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
        h_0_ln_1_dw_all_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1,
                                                      &h_ln_1_dw_all[0], &h_ln_1_dw_cut[0], NULL);
        op_adam(r, wpe_weight, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw, clip, 1, 0.9,
                0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32 64]    0.00996 ms

        for (int i = 0; i < 2; i++)
            h_2_update(r, &h_2[i]);

        // update
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
        hap_event *e_h_2_ln_1_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_1_dw_1_all, &h_ln_1_dw_1_cut[2], NULL);
        hap_wait(r, h_ln_1_dw_all_ready[1]); // 0.00114 ms hidden
        op_adam(r, h_ln_1_weight[2], h_2_ln_1_weight_exp_avg, h_2_ln_1_weight_exp_avg_sq,
                h_ln_1_dw_all[2], clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        hap_wait(r, e_h_2_ln_1_dw_1_all);                              // 0.00114 ms hidden
        op_adam(r, h_ln_1_bias[2], h_2_ln_1_bias_exp_avg, h_2_ln_1_bias_exp_avg_sq,
                h_2_ln_1_dw_1_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        // whole -> dim 0 @cut_64    [64@cut_64 192]    0.00382 ms
        hap_cut(r, h_2_attn_c_attn_weight_cut, h_attn_c_attn_weight[2]);
        op_adam(r, h_2_attn_c_attn_weight_cut, h_2_attn_c_attn_weight_exp_avg,
                h_2_attn_c_attn_weight_exp_avg_sq, h_attn_c_attn_dw_cut[2], clip, 1, 0.9, 0.95,
                1e-08, 0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0133 ms
        // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0208 ms
        h_2_attn_c_attn_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_attn_c_attn_weight[2],
                                  &h_2_attn_c_attn_weight_cut, NULL);
        // dim 0 @cut_3 -> whole    [192]    768 B    0.0101 ms
        hap_event *e_h_2_attn_c_attn_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_EVEN, 1, &h_2_attn_c_attn_db_all, &h_attn_c_attn_db_cut[2], NULL);
        hap_wait(r, e_h_2_attn_c_attn_db_all);
        op_adam(r, h_attn_c_attn_bias[2], h_2_attn_c_attn_bias_exp_avg,
                h_2_attn_c_attn_bias_exp_avg_sq, h_2_attn_c_attn_db_all, clip, 1, 0.9, 0.95, 1e-08,
                0, true); // a -= lr b / sqrt c    [192]    0.00184 ms
        // whole -> dim 0 @heads    [64@heads 64]    0.00202 ms
        hap_cut(r, h_2_attn_c_proj_weight_cut, h_attn_c_proj_weight[2]);
        op_adam(r, h_2_attn_c_proj_weight_cut, h_2_attn_c_proj_weight_exp_avg,
                h_2_attn_c_proj_weight_exp_avg_sq, h_attn_c_proj_dw_cut[2], clip, 1, 0.9, 0.95,
                1e-08, 0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00548 ms
        // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0141 ms
        h_2_attn_c_proj_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_attn_c_proj_weight[2],
                                  &h_2_attn_c_proj_weight_cut, NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
        hap_event *e_h_2_attn_c_proj_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_attn_c_proj_db_all, &h_attn_c_proj_db_cut[2], NULL);
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
        hap_event *e_h_2_ln_2_dw_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_2_dw_all, &h_ln_2_dw_cut[2], NULL);
        hap_wait(r, e_h_2_attn_c_proj_db_all);
        op_adam(r, h_attn_c_proj_bias[2], h_2_attn_c_proj_bias_exp_avg,
                h_2_attn_c_proj_bias_exp_avg_sq, h_2_attn_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08,
                0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.0101 ms
        hap_event *e_h_2_ln_2_dw_1_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_ln_2_dw_1_all, &h_ln_2_dw_1_cut[2], NULL);
        hap_wait(r, e_h_2_ln_2_dw_all); // 0.00114 ms hidden
        op_adam(r, h_ln_2_weight[2], h_2_ln_2_weight_exp_avg, h_2_ln_2_weight_exp_avg_sq,
                h_2_ln_2_dw_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        hap_wait(r, e_h_2_ln_2_dw_1_all);                             // 0.00114 ms hidden
        op_adam(r, h_ln_2_bias[2], h_2_ln_2_bias_exp_avg, h_2_ln_2_bias_exp_avg_sq,
                h_2_ln_2_dw_1_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64]    0.00128 ms
        hap_cut(r, h_2_mlp_c_fc_weight_cut, h_mlp_c_fc_weight[2]); // [64@cut_64 192]    0.00382 ms
        op_adam(r, h_2_mlp_c_fc_weight_cut, h_2_mlp_c_fc_weight_exp_avg,
                h_2_mlp_c_fc_weight_exp_avg_sq, h_mlp_c_fc_dw_cut[2], clip, 1, 0.9, 0.95, 1e-08,
                0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0133 ms
        // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0208 ms
        h_2_mlp_c_fc_weight_ready = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_mlp_c_fc_weight[2], &h_2_mlp_c_fc_weight_cut, NULL);
        // dim 0 @cut_192 -> whole    [192]    768 B    0.0102 ms
        hap_event *e_h_2_mlp_c_fc_db_all = coll_all_gather_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_2_mlp_c_fc_db_all, &h_mlp_c_fc_db_cut[2], NULL);
        hap_wait(r, e_h_2_mlp_c_fc_db_all);
        op_adam(r, h_mlp_c_fc_bias[2], h_2_mlp_c_fc_bias_exp_avg, h_2_mlp_c_fc_bias_exp_avg_sq,
                h_2_mlp_c_fc_db_all, clip, 1, 0.9, 0.95, 1e-08, 0, true); // [192]    0.00184 ms
        // whole -> dim 0 @cut_192    [192@cut_192 64]    0.00386 ms
        hap_cut(r, h_2_mlp_c_proj_weight_cut, h_mlp_c_proj_weight[2]);
        op_adam(r, h_2_mlp_c_proj_weight_cut, h_2_mlp_c_proj_weight_exp_avg,
                h_2_mlp_c_proj_weight_exp_avg_sq, h_2_mlp_c_proj_dw_cut, clip, 1, 0.9, 0.95, 1e-08,
                0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0135 ms
        // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.0205 ms
        h_2_mlp_c_proj_weight_ready =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_mlp_c_proj_weight[2],
                                  &h_2_mlp_c_proj_weight_cut, NULL);
        op_adam(r, h_mlp_c_proj_bias[2], h_2_mlp_c_proj_bias_exp_avg,
                h_2_mlp_c_proj_bias_exp_avg_sq, h_2_mlp_c_proj_db_all, clip, 1, 0.9, 0.95, 1e-08, 0,
                true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_weight, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_all, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        op_adam(r, ln_f_bias, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_all, clip, 1, 0.9,
                0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64]    0.00128 ms
        hap_wait(r, e_wte_weight);     // 0.022 ms hidden

        for (int i = 0; i < 3; i++)
            h_update(r, &h[i]);
    }
    return hap_finish(r);
}
