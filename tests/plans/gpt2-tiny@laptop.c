// program.c: one training step of gpt2-tiny on 3 ranks, by hapc 0.1.0. After an edit: `hapc check`.
//
//   hapc examples/gpt2-tiny/graph.json clusters/laptop.yaml -o gpt2-tiny@laptop -q
//
//   classes     cpu4 {0}  cpu3 {1}  cpu2 {2}
//   predicted   3.93 ms/step = 3.43 ms compute and idle + 1.2 ms communication - 0.689 ms hidden;
//               bound 2.62 ms; by datasheet formulas
//   memory      2.70 MiB / 2.32 MiB / 1.59 MiB    graph a94a3bb305aca178    cluster
//               4f352a66d62016ad
//   strategy    auto

#include "hap/runtime.h"

// 8 cut 0.500 0.375 0.125 over axis 0 (compute).
static const int64_t rows[3] = {4, 3, 1};

// 32 cut 0.438 0.344 0.219 over axis 0 (compute).
static const int64_t cut_32[3] = {14, 11, 7};

// 211 cut 0.445 0.332 0.223 over axis 0 (compute).
static const int64_t vocab[3] = {94, 70, 47};

// 3 cut 0.333 0.333 0.333 over axis 0 (compute).
static const int64_t cut_3[3] = {1, 1, 1};

// 4 cut 0.500 0.250 0.250 over axis 0 (compute).
static const int64_t heads[3] = {2, 1, 1};

// 192 cut 0.380 0.365 0.255 over axis 0 (compute).
static const int64_t cut_192[3] = {73, 70, 49};

// 64 cut 0.391 0.375 0.234 over axis 0 (lp).
static const int64_t cut_64[3] = {25, 24, 15};

// Byte offsets in the local segment, by class {cpu4, cpu3, cpu2}.
static const int64_t at_2829568[3] = {2829568, 2427904, 1666304};
static const int64_t at_1648128[3] = {1648128, 1335808, 1484800};
static const int64_t at_906240[3] = {906240, 867840, 751104};
static const int64_t at_960256[3] = {960256, 921856, 805120}, at_0[3] = {0, 0, 0};
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
static const int64_t at_968448[3] = {968448, 930048, 813312};
static const int64_t at_968704[3] = {968704, 930304, 813568};
static const int64_t at_968960[3] = {968960, 930560, 813824};
static const int64_t at_969216[3] = {969216, 930816, 814080};
static const int64_t at_993280[3] = {993280, 948736, 826112};
static const int64_t at_1017344[3] = {1017344, 966656, 838144};
static const int64_t at_1020928[3] = {1020928, 969472, 839936};
static const int64_t at_500736[3] = {500736, 500736, 500736};
static const int64_t at_501504[3] = {501504, 501504, 501504};
static const int64_t at_502272[3] = {502272, 502272, 502272};
static const int64_t at_503040[3] = {503040, 503040, 503040};
static const int64_t at_503808[3] = {503808, 503808, 503808};
static const int64_t at_561408[3] = {561408, 559104, 538368};
static const int64_t at_619008[3] = {619008, 614400, 572928};
static const int64_t at_619776[3] = {619776, 615168, 573696};
static const int64_t at_620544[3] = {620544, 615936, 574464};
static const int64_t at_645120[3] = {645120, 628224, 586752};
static const int64_t at_669696[3] = {669696, 640512, 599040};
static const int64_t at_670464[3] = {670464, 641280, 599808};
static const int64_t at_671232[3] = {671232, 642048, 600576};
static const int64_t at_672000[3] = {672000, 642816, 601344};
static const int64_t at_672768[3] = {672768, 643584, 602112};
static const int64_t at_673536[3] = {673536, 644352, 602880};
static const int64_t at_674304[3] = {674304, 645120, 603648};
static const int64_t at_731904[3] = {731904, 700416, 638208};
static const int64_t at_789504[3] = {789504, 755712, 672768};
static const int64_t at_791040[3] = {791040, 757248, 673536};
static const int64_t at_792576[3] = {792576, 758784, 674304};
static const int64_t at_848640[3] = {848640, 812544, 711936};
static const int64_t at_904704[3] = {904704, 866304, 749568};
static const int64_t at_905472[3] = {905472, 867072, 750336};
static const int64_t at_1024512[3] = {1024512, 972288, 841728};
static const int64_t at_1024768[3] = {1024768, 972544, 841984};
static const int64_t at_1025024[3] = {1025024, 972800, 842240};
static const int64_t at_1025280[3] = {1025280, 973056, 842496};
static const int64_t at_1418752[3] = {1418752, 1495040, 1445888};
static const int64_t at_1025536[3] = {1025536, 973312, 1454080};
static const int64_t at_2831360[3] = {2831360, 2425344, 1661440};
static const int64_t at_2832384[3] = {2832384, 2426368, 1663744};
static const int64_t at_1650944[3] = {1650944, 1667072, 1259008};
static const int64_t at_1320448[3] = {1320448, 1194496, 1507328};
static const int64_t at_1123840[3] = {1123840, 1047040, 1589248};
static const int64_t at_1189376[3] = {1189376, 1096192, 1556480};
static const int64_t at_1156608[3] = {1156608, 1071616, 1572864};
static const int64_t at_1880320[3] = {1880320, 1765376, 1531904};
static const int64_t at_1945856[3] = {1945856, 1814528, 1548288};
static const int64_t at_2011392[3] = {2011392, 1863680, 1564672};
static const int64_t at_2076928[3] = {2076928, 1912832, 1581056};
static const int64_t at_2825472[3] = {2825472, 2418944, 1660160};
static const int64_t at_2142464[3] = {2142464, 1961984, 1597440};
static const int64_t at_2208000[3] = {2208000, 2065152, 1499136};
static const int64_t at_2442240[3] = {2442240, 1341440, 1656320};
static const int64_t at_2443264[3] = {2443264, 1342464, 1657088};
static const int64_t at_2273536[3] = {2273536, 2114304, 1175296};
static const int64_t at_1025536_2[3] = {1025536, 973312, 1039360};
static const int64_t at_1222144[3] = {1222144, 1120768, 1347584};
static const int64_t at_1517056[3] = {1517056, 1268224, 1486848};
static const int64_t at_1749248[3] = {1749248, 1486336, 1661184};
static const int64_t at_1749760[3] = {1749760, 1486848, 1661952};
static const int64_t at_1716480[3] = {1716480, 1411072, 1486848};
static const int64_t at_1549824[3] = {1549824, 1568768, 1613824};
static const int64_t at_1517056_2[3] = {1517056, 1268224, 1247232};
static const int64_t at_1783040[3] = {1783040, 1343488, 1515520};
static const int64_t at_1750272[3] = {1750272, 1292800, 1470464};
static const int64_t at_2339072[3] = {2339072, 1435648, 1275392};
static const int64_t at_2637056[3] = {2637056, 1460224, 1283584};
static const int64_t at_2669824[3] = {2669824, 1716224, 1239040};
static const int64_t at_2702592[3] = {2702592, 1740800, 1247232};
static const int64_t at_2371840[3] = {2371840, 1484800, 1655552};
static const int64_t at_2735360[3] = {2735360, 2163456, 1088512};
static const int64_t at_1582592[3] = {1582592, 1343488, 1162240};
static const int64_t at_1517056_3[3] = {1517056, 1268224, 1096704};
static const int64_t at_2768128[3] = {2768128, 2188032, 1515520};
static const int64_t at_2373888[3] = {2373888, 1487360, 1656832};
static const int64_t at_2374400[3] = {2374400, 1487872, 1666816};
static const int64_t at_2796800[3] = {2796800, 2210560, 1470464};
static const int64_t at_2444288[3] = {2444288, 1343488, 990208};
static const int64_t at_2551040[3] = {2551040, 1268224, 1396736};
static const int64_t at_1611776[3] = {1611776, 1643264, 1096704};
static const int64_t at_1641472[3] = {1641472, 1337856, 1656064};
static const int64_t at_1641984[3] = {1641984, 1338368, 1665024};
static const int64_t at_1844992[3] = {1844992, 2233088, 1111040};
static const int64_t at_1750272_2[3] = {1750272, 1568768, 1191680};
static const int64_t at_1517056_4[3] = {1517056, 1338880, 1657600};
static const int64_t at_1519360[3] = {1519360, 1488384, 1484800};
static const int64_t at_1640448[3] = {1640448, 1335808, 1662208};
static const int64_t at_1642496[3] = {1642496, 1336576, 1666560};
static const int64_t at_1643008[3] = {1643008, 1337088, 1662720};
static const int64_t at_1517056_5[3] = {1517056, 1338880, 1663232};
static const int64_t at_1521152[3] = {1521152, 1337600, 1662976};
static const int64_t at_1517056_6[3] = {1517056, 1338880, 1484800};
static const int64_t at_1519104[3] = {1519104, 1488384, 1529856};
static const int64_t at_1519104_2[3] = {1519104, 1340928, 1663232};
static const int64_t at_2532864[3] = {2532864, 2267136, 1663488};
static const int64_t at_1517056_7[3] = {1517056, 1337600, 1662976};
static const int64_t at_1643520[3] = {1643520, 1338880, 1664256};
static const int64_t at_1517056_8[3] = {1517056, 2267392, 1125376};
static const int64_t at_1750272_3[3] = {1750272, 1568768, 1224192};
static const int64_t at_2388224[3] = {2388224, 2011136, 1293568};
static const int64_t at_1517056_9[3] = {1517056, 1335808, 1666560};
static const int64_t at_1517568[3] = {1517568, 1336320, 1238528};
static const int64_t at_1535744[3] = {1535744, 2241280, 1209856};
static const int64_t at_2550784[3] = {2550784, 2268416, 1665280};
static const int64_t at_2533120[3] = {2533120, 2267904, 1664768};
static const int64_t at_2532608[3] = {2532608, 2267648, 1664512};
static const int64_t at_2550016[3] = {2550016, 2268672, 1665536};
static const int64_t at_2532352[3] = {2532352, 2267392, 1664256};
static const int64_t at_2549760[3] = {2549760, 2268160, 1665024};
static const int64_t at_1564416[3] = {1564416, 2269440, 1096704};
static const int64_t at_1782016[3] = {1782016, 1568768, 941056};
static const int64_t at_2550272[3] = {2550272, 2268928, 1665792};
static const int64_t at_2550528[3] = {2550528, 2269184, 1666048};
static const int64_t at_2551040_2[3] = {2551040, 2337024, 1396736};
static const int64_t at_1593344[3] = {1593344, 1286144, 1224192};
static const int64_t at_1831168[3] = {1831168, 1617920, 990208};
static const int64_t at_2797312[3] = {2797312, 2428672, 1658624};
static const int64_t at_2798080[3] = {2798080, 2266624, 1662976};
static const int64_t at_1564416_2[3] = {1564416, 1308672, 1666560};
static const int64_t at_1564928[3] = {1564928, 1309184, 1238528};
static const int64_t at_1622016[3] = {1622016, 1343488, 1470464};
static const int64_t at_2466816[3] = {2466816, 2216704, 1613824};
static const int64_t at_2551040_3[3] = {2551040, 1343488, 1096704};
static const int64_t at_2798848[3] = {2798848, 2269952, 1667072};
static const int64_t at_2798592[3] = {2798592, 2269440, 1666560};
static const int64_t at_2769408[3] = {2769408, 2270208, 1667328};
static const int64_t at_2769152[3] = {2769152, 2269696, 1666816};
static const int64_t at_1535744_2[3] = {1535744, 1286144, 1515520};
static const int64_t at_2533376[3] = {2533376, 2188032, 1470464};
static const int64_t at_2751232[3] = {2751232, 2270464, 1667584};
static const int64_t at_2751488[3] = {2751488, 2270720, 1667840};
static const int64_t at_2551040_4[3] = {2551040, 1368064, 1523712};
static const int64_t at_2583808[3] = {2583808, 2241280, 1630208};
static const int64_t at_1593344_2[3] = {1593344, 1343488, 1515520};
static const int64_t at_2499584[3] = {2499584, 2163456, 1622016};
static const int64_t at_1535744_3[3] = {1535744, 1286144, 1646592};
static const int64_t at_2339072_2[3] = {2339072, 1368064, 1523712};
static const int64_t at_2499584_2[3] = {2499584, 1435648, 1275392};
static const int64_t at_2551040_5[3] = {2551040, 2270976, 1622016};
static const int64_t at_2339072_3[3] = {2339072, 1716224, 1209856};
static const int64_t at_2750464[3] = {2750464, 2265856, 1662208};
static const int64_t at_1568512[3] = {1568512, 1310720, 1654784};
static const int64_t at_1569024[3] = {1569024, 1311232, 1655040};
static const int64_t at_1593344_3[3] = {1593344, 1343488, 1486848};
static const int64_t at_2752256[3] = {2752256, 2271232, 1668352};
static const int64_t at_2751744[3] = {2751744, 2270976, 1668096};
static const int64_t at_2752512[3] = {2752512, 1544192, 1469952};
static const int64_t at_2752000[3] = {2752000, 1545984, 1469696};
static const int64_t at_2551040_6[3] = {2551040, 2271488, 1630208};
static const int64_t at_1683712[3] = {1683712, 1396736, 842752};
static const int64_t at_1479680[3] = {1479680, 1232384, 1137664};
static const int64_t at_1403904[3] = {1403904, 1214976, 1465600};
static const int64_t at_2830592[3] = {2830592, 2423040, 1654784};
static const int64_t at_1404416[3] = {1404416, 1215488, 1466112};
static const int64_t at_2649344[3] = {2649344, 2345216, 1372160};
static const int64_t at_1369600[3] = {1369600, 1096192, 1630208};
static const int64_t at_1074688[3] = {1074688, 997888, 1039360};
static const int64_t at_1535744_4[3] = {1535744, 1286144, 1175296};
static const int64_t at_1205760[3] = {1205760, 1210880, 1461504};
static const int64_t at_2795776[3] = {2795776, 2421504, 1655552};
static const int64_t at_1207296[3] = {1207296, 1212416, 1463040};
static const int64_t at_1172992[3] = {1172992, 1213440, 1466624};
static const int64_t at_1173504[3] = {1173504, 1221120, 1467136};
static const int64_t at_2306304[3] = {2306304, 2271488, 1638400};
static const int64_t at_1405952[3] = {1405952, 1217024, 1467648};
static const int64_t at_1404928[3] = {1404928, 1216000, 1466624};
static const int64_t at_2768384[3] = {2768384, 2424576, 1657088};
static const int64_t at_1406464[3] = {1406464, 1217536, 1468160};
static const int64_t at_2767616[3] = {2767616, 2423808, 1656320};
static const int64_t at_1405440[3] = {1405440, 1216512, 1467136};
static const int64_t at_1369600_2[3] = {1369600, 1096192, 1372160};
static const int64_t at_1172992_2[3] = {1172992, 1178112, 1499136};
static const int64_t at_2442240_2[3] = {2442240, 2204416, 1486848};
static const int64_t at_1406976[3] = {1406976, 1218048, 1468672};
static const int64_t at_2747392[3] = {2747392, 2427136, 1657856};
static const int64_t at_1407488[3] = {1407488, 1218560, 1469184};
static const int64_t at_2306304_2[3] = {2306304, 2271488, 1380352};
static const int64_t at_2551040_7[3] = {2551040, 2296064, 1388544};
static const int64_t at_2175232[3] = {2175232, 1986560, 1605632};
static const int64_t at_2240768[3] = {2240768, 2089728, 1372160};
static const int64_t at_1369600_3[3] = {1369600, 1096192, 1540096};
static const int64_t at_1913088[3] = {1913088, 1789952, 1556480};
static const int64_t at_1978624[3] = {1978624, 1839104, 1572864};
static const int64_t at_1271296[3] = {1271296, 2089728, 1347584};
static const int64_t at_1593344_4[3] = {1593344, 1341440, 1259008};
static const int64_t at_1402368[3] = {1402368, 1213440, 1464064};
static const int64_t at_2748160[3] = {2748160, 2429440, 1659392};
static const int64_t at_1208320[3] = {1208320, 1221120, 1470208};
static const int64_t at_1208832[3] = {1208832, 1221632, 1596416};
static const int64_t at_1913088_2[3] = {1913088, 1691648, 1556480};
static const int64_t at_1409024[3] = {1409024, 1220096, 1596416};
static const int64_t at_1408000[3] = {1408000, 1219072, 1595904};
static const int64_t at_2749696[3] = {2749696, 1545216, 1661440};
static const int64_t at_1409536[3] = {1409536, 1220608, 1458432};
static const int64_t at_2748928[3] = {2748928, 1544448, 1660672};
static const int64_t at_1408512[3] = {1408512, 1219584, 1457920};
static const int64_t at_1025536_3[3] = {1025536, 973312, 1445888};
static const int64_t at_1053184[3] = {1053184, 1150208, 1587712};
static const int64_t at_1049600[3] = {1049600, 991232, 1531904};
static const int64_t at_1061632[3] = {1061632, 994304, 1596928};
static const int64_t at_1208320_2[3] = {1208320, 1096192, 1533696};
static const int64_t at_1061376[3] = {1061376, 994048, 1293568};
static const int64_t at_1053184_2[3] = {1053184, 994304, 1470208};
static const int64_t at_1053184_3[3] = {1053184, 994560, 1458432};
static const int64_t at_1053184_4[3] = {1053184, 994560, 1457920};
static const int64_t at_1053184_5[3] = {1053184, 994048, 1293568};
static const int64_t at_1061632_2[3] = {1061632, 994304, 1293824};
static const int64_t at_1255936[3] = {1255936, 1177600, 1293568};
static const int64_t at_1196800[3] = {1196800, 1137664, 1457920};
static const int64_t at_1245440[3] = {1245440, 1167872, 1469952};
static const int64_t at_1250560[3] = {1250560, 1172224, 961792};
static const int64_t at_1251328[3] = {1251328, 1172992, 962560};
static const int64_t at_1025536_4[3] = {1025536, 973312, 842752};
static const int64_t at_1252096[3] = {1252096, 1173760, 963328};
static const int64_t at_1220864[3] = {1220864, 1155584, 949504};
static const int64_t at_1252864[3] = {1252864, 1174528, 964096};
static const int64_t at_1253632[3] = {1253632, 1175296, 964864};
static const int64_t at_1254400[3] = {1254400, 1176064, 965632};
static const int64_t at_1083136[3] = {1083136, 1028608, 914944};
static const int64_t at_1249024[3] = {1249024, 1170688, 966400};
static const int64_t at_1140736[3] = {1140736, 1083904, 877312};
static const int64_t at_1255168[3] = {1255168, 1176832, 967168};
static const int64_t at_1256192[3] = {1256192, 1177856, 1663744};
static const int64_t at_1256448[3] = {1256448, 1178112, 1664000};

// Bytes from one block's buffer to the next one's.
static const int64_t by_512[3] = {512, 512, 256}, by_32768[3] = {32768, 24576, 8192};
static const int64_t by_256[3] = {256, 256, 256}, by_49152[3] = {49152, 49152, 49152};
static const int64_t by_768[3] = {768, 768, 768}, by_2048[3] = {2048, 1536, 512};
static const int64_t by_16384[3] = {16384, 16384, 16384}, by_98304[3] = {98304, 73728, 24576};
static const int64_t by_18688[3] = {18688, 17920, 12544}, by_19200[3] = {19200, 18432, 11520};
static const int64_t by_512_2[3] = {512, 512, 512}, by_8192[3] = {8192, 4096, 4096};

static const int64_t local_bytes[3] = {2833408, 2430208, 1668608}, sym_bytes = 0;

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
    hap_tensor *mlp_c_proj_dx, *ln_1_sum_2, *mlp_c_proj_dw, *mlp_c_proj_dw_cut, *mlp_c_proj_db;
    hap_tensor *mlp_c_proj_db_cut, *mlp_c_proj_db_cut_scratch, *mlp_act_dx, *mlp_c_fc_dx;
    hap_tensor *mlp_c_fc_dw, *mlp_c_fc_dw_cut, *mlp_c_fc_db, *mlp_c_fc_db_cut;
    hap_tensor *mlp_c_fc_db_cut_scratch, *ln_2_stats, *ln_2_stats_1, *ln_2_dx, *ln_2_sum_2;
    hap_tensor *ln_2_dw, *ln_2_dw_1, *ln_2_dw_cut, *ln_2_dw_cut_scratch, *ln_2_dw_1_cut;
    hap_tensor *ln_2_dw_1_cut_scratch, *attn_c_proj_dx, *attn_c_proj_dw, *attn_c_proj_dw_cut;
    hap_tensor *attn_c_proj_db, *attn_c_proj_db_cut, *attn_c_proj_db_cut_scratch;
    hap_tensor *attn_reshape_4_dx, *attn_transpose_4_dx, *attn_sdpa_dqkv, *attn_sdpa_dqkv_1;
    hap_tensor *attn_sdpa_dqkv_2, *attn_transpose_3_dx, *attn_reshape_3_dx, *attn_transpose_2_dx;
    hap_tensor *attn_reshape_2_dx, *attn_transpose_dx, *attn_reshape_dx, *attn_split_dx;
    hap_tensor *attn_c_attn_dx, *attn_c_attn_dw, *attn_c_attn_dw_cut, *attn_c_attn_db;
    hap_tensor *attn_c_attn_db_cut, *ln_1_stats, *ln_1_stats_1, *ln_1_dx, *ln_1_sum_2_2, *ln_1_dw;
    hap_tensor *ln_1_dw_1, *ln_1_dw_cut, *ln_1_dw_cut_scratch, *ln_1_dw_1_cut;
    hap_tensor *ln_1_dw_1_cut_scratch;
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
                  1e-05); // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00625 ms

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
    // y = (a - mean) rstd d + e    [8@rows 32 64]    0.00625 ms
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
    // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.0242 ms
    *b->mlp_c_proj_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_proj_dw_cut, &b->mlp_c_proj_dw, NULL);
    op_sum(r, b->mlp_c_proj_db, b->ln_1_sum_2, HAP_INTS(0, 1), false); // [64]+    0.00359 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->mlp_c_proj_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_db_cut,
                                  &b->mlp_c_proj_db, b->mlp_c_proj_db_cut_scratch);
    // y = a gelu'(b)    [8@rows 32 192]    0.024 ms
    op_gelu_bwd(r, b->mlp_act_dx, b->mlp_c_proj_dx, b->mlp_c_fc, true);
    // y = a b'    [8@rows 32 64]    0.0665 ms
    op_linear(r, b->mlp_c_fc_dx, b->mlp_act_dx, b->mlp_c_fc_weight, NULL, HAP_NT);
    op_linear_dw(r, b->mlp_c_fc_dw, b->ln_2, b->mlp_act_dx); // [64 192]+    0.0665 ms
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0244 ms
    *b->mlp_c_fc_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->mlp_c_fc_dw_cut, &b->mlp_c_fc_dw, NULL);
    op_sum(r, b->mlp_c_fc_db, b->mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.00876 ms
    // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.0104 ms
    *b->mlp_c_fc_db_cut_ready =
        coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_db_cut,
                                  &b->mlp_c_fc_db, b->mlp_c_fc_db_cut_scratch);

    // ln_2
    op_norm_bwd_stats(r, b->ln_2_stats, b->ln_2_stats_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum,
                      b->ln_2_m2, b->ln_2_weight, 1e-05); // [8@rows 32]    0.00631 ms
    op_norm_bwd(r, b->ln_2_dx, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2, b->ln_2_stats,
                b->ln_2_stats_1, b->ln_2_weight, 1e-05); // [8@rows 32 64]    0.00887 ms
    op_add(r, b->ln_2_sum_2, b->ln_1_sum_2, b->ln_2_dx); // [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_2_dw, b->ln_2_dw_1, b->mlp_c_fc_dx, b->add, b->ln_2_sum, b->ln_2_m2,
                       1e-05); // y, y1 = dweight, dbias    [64]+    0.00625 ms
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
    op_sum(r, b->attn_c_proj_db, b->ln_2_sum_2, HAP_INTS(0, 1), false); // [64]+    0.00359 ms
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
    // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0244 ms
    *b->attn_c_attn_dw_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_GROUPED, 1, &b->attn_c_attn_dw_cut, &b->attn_c_attn_dw, NULL);
    op_sum(r, b->attn_c_attn_db, b->attn_split_dx, HAP_INTS(0, 1), false); // [192]+    0.00876 ms
    // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0101 ms
    *b->attn_c_attn_db_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_attn_db_cut, &b->attn_c_attn_db, NULL);

    // ln_1
    op_norm_bwd_stats(r, b->ln_1_stats, b->ln_1_stats_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                      b->ln_1_m2, b->ln_1_weight, 1e-05); // [8@rows 32]    0.00631 ms
    op_norm_bwd(r, b->ln_1_dx, b->attn_c_attn_dx, b->add_2, b->ln_1_sum, b->ln_1_m2, b->ln_1_stats,
                b->ln_1_stats_1, b->ln_1_weight, 1e-05);   // [8@rows 32 64]    0.00887 ms
    op_add(r, b->ln_1_sum_2_2, b->ln_2_sum_2, b->ln_1_dx); // [8@rows 32 64]    0.00868 ms
    op_norm_bwd_params(r, b->ln_1_dw, b->ln_1_dw_1, b->attn_c_attn_dx, b->add_2, b->ln_1_sum,
                       b->ln_1_m2, 1e-05); // y, y1 = dweight, dbias    [64]+    0.00625 ms
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->ln_1_dw_cut_ready = coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_cut,
                                                      &b->ln_1_dw, b->ln_1_dw_cut_scratch);
    // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
    *b->ln_1_dw_1_cut_ready = coll_reduce_scatter_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_dw_1_cut, &b->ln_1_dw_1, b->ln_1_dw_1_cut_scratch);
}

// One of the 3 blocks h_2, backward: 0.0306 ms of computation.
static void h_2_backward(hap_rank *r, const h_2_block *b)
{
    hap_wait(r, *b->ln_1_dw_cut_ready); // 0.0101 ms hidden

    // update
    op_sumsq(r, b->ln_1_weight_sumsq, b->ln_1_dw_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_1_weight_norm, b->mlp_c_proj_bias_norm, b->ln_1_weight_sumsq);
    hap_wait(r, *b->ln_1_dw_1_cut_ready);              // 0.0101 ms hidden
    op_sumsq(r, b->ln_1_bias_sumsq, b->ln_1_dw_1_cut); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_1_bias_norm, b->ln_1_weight_norm, b->ln_1_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->attn_c_attn_dw_cut_ready);                             // 0.0244 ms hidden
    op_sumsq(r, b->attn_c_attn_weight_sumsq, b->attn_c_attn_dw_cut);       // []+    0.00292 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_weight_norm, b->ln_1_bias_norm, b->attn_c_attn_weight_sumsq);
    hap_wait(r, *b->attn_c_attn_db_cut_ready);                     // 0.0101 ms hidden
    op_sumsq(r, b->attn_c_attn_bias_sumsq, b->attn_c_attn_db_cut); // []+    0.00104 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_attn_bias_norm, b->attn_c_attn_weight_norm, b->attn_c_attn_bias_sumsq);
    hap_wait(r, *b->attn_c_proj_dw_cut_ready);                       // 0.0181 ms hidden
    op_sumsq(r, b->attn_c_proj_weight_sumsq, b->attn_c_proj_dw_cut); // []+    0.00164 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_weight_norm, b->attn_c_attn_bias_norm, b->attn_c_proj_weight_sumsq);
    hap_wait(r, *b->attn_c_proj_db_cut_ready);                     // 0.0101 ms hidden
    op_sumsq(r, b->attn_c_proj_bias_sumsq, b->attn_c_proj_db_cut); // []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->attn_c_proj_bias_norm, b->attn_c_proj_weight_norm, b->attn_c_proj_bias_sumsq);
    hap_wait(r, *b->ln_2_dw_cut_ready);                // 0.0101 ms hidden
    op_sumsq(r, b->ln_2_weight_sumsq, b->ln_2_dw_cut); // y = sum x^2    []+    0.00101 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->ln_2_weight_norm, b->attn_c_proj_bias_norm, b->ln_2_weight_sumsq);
    hap_wait(r, *b->ln_2_dw_1_cut_ready);              // 0.0101 ms hidden
    op_sumsq(r, b->ln_2_bias_sumsq, b->ln_2_dw_1_cut); // y = sum x^2    []+    0.00101 ms
    op_add(r, b->ln_2_bias_norm, b->ln_2_weight_norm, b->ln_2_bias_sumsq); // []+    0.001 ms
    hap_wait(r, *b->mlp_c_fc_dw_cut_ready);                                // 0.0244 ms hidden
    op_sumsq(r, b->mlp_c_fc_weight_sumsq, b->mlp_c_fc_dw_cut); // y = sum x^2    []+    0.00292 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_weight_norm, b->ln_2_bias_norm, b->mlp_c_fc_weight_sumsq);
    hap_wait(r, *b->mlp_c_fc_db_cut_ready);                  // 0.0104 ms hidden
    op_sumsq(r, b->mlp_c_fc_bias_sumsq, b->mlp_c_fc_db_cut); // y = sum x^2    []+    0.00103 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_fc_bias_norm, b->mlp_c_fc_weight_norm, b->mlp_c_fc_bias_sumsq);
    hap_wait(r, *b->mlp_c_proj_dw_cut_ready);                      // 0.0242 ms hidden
    op_sumsq(r, b->mlp_c_proj_weight_sumsq, b->mlp_c_proj_dw_cut); // []+    0.00296 ms
    // y = a + b    []+    0.001 ms
    op_add(r, b->mlp_c_proj_weight_norm, b->mlp_c_fc_bias_norm, b->mlp_c_proj_weight_sumsq);
    hap_wait(r, *b->mlp_c_proj_db_cut_ready);                    // 0.0101 ms hidden
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
    // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
    *b->ln_1_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_weight,
                                                  &b->ln_1_weight_cut, NULL);
    hap_cut(r, b->ln_1_bias_cut, b->ln_1_bias); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_1_bias_cut, b->ln_1_bias_exp_avg, b->ln_1_bias_exp_avg_sq, b->ln_1_dw_1_cut,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00107 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
    *b->ln_1_bias_ready =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_1_bias, &b->ln_1_bias_cut, NULL);
    hap_cut(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight); // [64@cut_64 192]    0.00407 ms
    op_adam(r, b->attn_c_attn_weight_cut, b->attn_c_attn_weight_exp_avg,
            b->attn_c_attn_weight_exp_avg_sq, b->attn_c_attn_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@cut_64 192]    0.0144 ms
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0196 ms
    *b->attn_c_attn_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_attn_weight, &b->attn_c_attn_weight_cut, NULL);
    hap_cut(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias); // [192@cut_3]    0.00106 ms
    // a -= lr b / sqrt c    [192@cut_3]    0.00128 ms
    op_adam(r, b->attn_c_attn_bias_cut, b->attn_c_attn_bias_exp_avg, b->attn_c_attn_bias_exp_avg_sq,
            b->attn_c_attn_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_3 -> whole    [192]    768 B    0.0101 ms
    *b->attn_c_attn_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_EVEN, 1, &b->attn_c_attn_bias, &b->attn_c_attn_bias_cut, NULL);
    hap_cut(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight); // [64@heads 64]    0.00202 ms
    op_adam(r, b->attn_c_proj_weight_cut, b->attn_c_proj_weight_exp_avg,
            b->attn_c_proj_weight_exp_avg_sq, b->attn_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [64@heads 64]    0.00548 ms
    // dim 0 @heads -> whole    [64 64]    16.0 KiB    0.0141 ms
    *b->attn_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_weight, &b->attn_c_proj_weight_cut, NULL);
    hap_cut(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias); // [64@cut_64]    0.00102 ms
    // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
    op_adam(r, b->attn_c_proj_bias_cut, b->attn_c_proj_bias_exp_avg, b->attn_c_proj_bias_exp_avg_sq,
            b->attn_c_proj_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
    *b->attn_c_proj_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->attn_c_proj_bias, &b->attn_c_proj_bias_cut, NULL);
    hap_cut(r, b->ln_2_weight_cut, b->ln_2_weight); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_2_weight_cut, b->ln_2_weight_exp_avg, b->ln_2_weight_exp_avg_sq,
            b->ln_2_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00107 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
    *b->ln_2_weight_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_weight,
                                                  &b->ln_2_weight_cut, NULL);
    hap_cut(r, b->ln_2_bias_cut, b->ln_2_bias); // [64@cut_64]    0.00102 ms
    op_adam(r, b->ln_2_bias_cut, b->ln_2_bias_exp_avg, b->ln_2_bias_exp_avg_sq, b->ln_2_dw_1_cut,
            b->clip, 1, 0.9, 0.95, 1e-08, 0, true); // [64@cut_64]    0.00107 ms
    // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
    *b->ln_2_bias_ready =
        coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->ln_2_bias, &b->ln_2_bias_cut, NULL);
    hap_cut(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight); // [64@cut_64 192]    0.00407 ms
    // a -= lr b / sqrt c    [64@cut_64 192]    0.0144 ms
    op_adam(r, b->mlp_c_fc_weight_cut, b->mlp_c_fc_weight_exp_avg, b->mlp_c_fc_weight_exp_avg_sq,
            b->mlp_c_fc_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0.1, true);
    // dim 0 @cut_64 -> whole    [64 192]    48.0 KiB    0.0196 ms
    *b->mlp_c_fc_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_weight, &b->mlp_c_fc_weight_cut, NULL);
    hap_cut(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias); // [192@cut_192]    0.00105 ms
    // a -= lr b / sqrt c    [192@cut_192]    0.00121 ms
    op_adam(r, b->mlp_c_fc_bias_cut, b->mlp_c_fc_bias_exp_avg, b->mlp_c_fc_bias_exp_avg_sq,
            b->mlp_c_fc_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_192 -> whole    [192]    768 B    0.0101 ms
    *b->mlp_c_fc_bias_ready = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_fc_bias,
                                                    &b->mlp_c_fc_bias_cut, NULL);
    hap_cut(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight); // [192@cut_192 64]    0.00414 ms
    op_adam(r, b->mlp_c_proj_weight_cut, b->mlp_c_proj_weight_exp_avg,
            b->mlp_c_proj_weight_exp_avg_sq, b->mlp_c_proj_dw_cut, b->clip, 1, 0.9, 0.95, 1e-08,
            0.1, true); // a -= lr b / sqrt c    [192@cut_192 64]    0.0147 ms
    // dim 0 @cut_192 -> whole    [192 64]    48.0 KiB    0.0193 ms
    *b->mlp_c_proj_weight_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_weight, &b->mlp_c_proj_weight_cut, NULL);
    hap_cut(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias); // [64@cut_64]    0.00102 ms
    // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
    op_adam(r, b->mlp_c_proj_bias_cut, b->mlp_c_proj_bias_exp_avg, b->mlp_c_proj_bias_exp_avg_sq,
            b->mlp_c_proj_db_cut, b->clip, 1, 0.9, 0.95, 1e-08, 0, true);
    // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
    *b->mlp_c_proj_bias_ready = coll_all_gather_start(
        r, AXIS(0), FORM_SENDRECV, 1, &b->mlp_c_proj_bias, &b->mlp_c_proj_bias_cut, NULL);
}

// One of the 3 blocks h_2, update: 0 ms of computation.
static void h_2_update_2(hap_rank *r, const h_2_block *b)
{
    hap_wait(r, *b->ln_1_weight_ready);        // 0.01 ms hidden
    hap_wait(r, *b->ln_1_bias_ready);          // 0.01 ms hidden
    hap_wait(r, *b->attn_c_attn_weight_ready); // 0.0196 ms hidden
    hap_wait(r, *b->attn_c_attn_bias_ready);   // 0.0101 ms hidden
    hap_wait(r, *b->attn_c_proj_weight_ready); // 0.0141 ms hidden
    hap_wait(r, *b->attn_c_proj_bias_ready);   // 0.01 ms hidden
    hap_wait(r, *b->ln_2_weight_ready);        // 0.01 ms hidden
    hap_wait(r, *b->ln_2_bias_ready);          // 0.01 ms hidden
    hap_wait(r, *b->mlp_c_fc_weight_ready);    // 0.0196 ms hidden
    hap_wait(r, *b->mlp_c_fc_bias_ready);      // 0.0101 ms hidden
    hap_wait(r, *b->mlp_c_proj_weight_ready);  // 0.0193 ms hidden
    hap_wait(r, *b->mlp_c_proj_bias_ready);    // 0.01 ms hidden
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
    const hap_dim scratch_512[] = {WHOLE(512)};
    const hap_dim scratch_128[] = {WHOLE(128)};
    const hap_dim scratch_15360[] = {WHOLE(15360)};
    const hap_dim scratch_896[] = {WHOLE(896)};

    // Inputs.
    hap_tensor *input_ids = hap_at(r, SEG_LOCAL, at_2829568, HAP_I64, 2, rows_32);
    hap_input(r, "input_ids", input_ids);
    hap_tensor *labels = hap_at(r, SEG_LOCAL, at_1648128, HAP_I64, 2, of_8_32); // [8 32]
    hap_input(r, "labels", labels);

    // Parameters and what the step carries over.
    hap_tensor *wte_weight = hap_at(r, SEG_LOCAL, at_906240, HAP_F32, 2, of_211_64);
    hap_param(r, "transformer.wte.weight", wte_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *wpe_weight = hap_at(r, SEG_LOCAL, at_960256, HAP_F32, 2, of_32_64); // [32 64]
    hap_param(r, "transformer.wpe.weight", wpe_weight, HAP_NORMAL(0, 0.02));
    hap_tensor *ln_f_weight = hap_at(r, SEG_LOCAL, at_968448, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.weight", ln_f_weight, HAP_FILL(1));
    hap_tensor *ln_f_bias = hap_at(r, SEG_LOCAL, at_968704, HAP_F32, 1, of_64); // [64]
    hap_param(r, "transformer.ln_f.bias", ln_f_bias, HAP_FILL(0));
    hap_tensor *wte_weight_exp_avg = hap_at(r, SEG_LOCAL, at_969216, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg", wte_weight_exp_avg);
    hap_tensor *wte_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_993280, HAP_F32, 2, vocab_64);
    hap_state(r, "transformer.wte.weight.exp_avg_sq", wte_weight_exp_avg_sq);
    hap_tensor *wpe_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1017344, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg", wpe_weight_exp_avg);
    hap_tensor *wpe_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1020928, HAP_F32, 2, cut_32_64);
    hap_state(r, "transformer.wpe.weight.exp_avg_sq", wpe_weight_exp_avg_sq);
    hap_tensor *ln_f_weight_exp_avg = hap_at(r, SEG_LOCAL, at_1024512, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg", ln_f_weight_exp_avg);
    hap_tensor *ln_f_weight_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1024768, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.weight.exp_avg_sq", ln_f_weight_exp_avg_sq);
    hap_tensor *ln_f_bias_exp_avg = hap_at(r, SEG_LOCAL, at_1025024, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg", ln_f_bias_exp_avg);
    hap_tensor *ln_f_bias_exp_avg_sq = hap_at(r, SEG_LOCAL, at_1025280, HAP_F32, 1, cut_64_of_64);
    hap_state(r, "transformer.ln_f.bias.exp_avg_sq", ln_f_bias_exp_avg_sq);

    // Constants.
    hap_tensor *wpe_const = hap_at(r, SEG_LOCAL, at_968960, HAP_I64, 2, of_1_32); // [1 32]
    hap_const(r, "transformer.wpe.const", wpe_const, HAP_IOTA(0, 1));

    // Values of the step.
    hap_tensor *wte = hap_at(r, SEG_LOCAL, at_1418752, HAP_F32, 3, rows_32_64);
    hap_tensor *wpe = hap_at(r, SEG_LOCAL, at_1025536, HAP_F32, 3, of_1_32_64); // [1 32 64]
    hap_tensor *h_2_ln_1_sum = hap_at(r, SEG_LOCAL, at_1749248, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_m2 = hap_at(r, SEG_LOCAL, at_1749760, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1 = hap_at(r, SEG_LOCAL, at_1716480, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_c_attn = hap_at(r, SEG_LOCAL, at_1549824, HAP_F32, 3, rows_32_192);
    hap_tensor *h_2_attn_split_0 = hap_at(r, SEG_LOCAL, at_1517056_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_split_1 = hap_at(r, SEG_LOCAL, at_1783040, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_split_2 = hap_at(r, SEG_LOCAL, at_1750272, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_reshape = hap_at(r, SEG_LOCAL, at_1783040, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose = hap_at(r, SEG_LOCAL, at_2339072, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_reshape_2 = hap_at(r, SEG_LOCAL, at_1750272, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose_2 = hap_at(r, SEG_LOCAL, at_2637056, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_reshape_3 = hap_at(r, SEG_LOCAL, at_1517056_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose_3 = hap_at(r, SEG_LOCAL, at_2669824, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa = hap_at(r, SEG_LOCAL, at_2702592, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_lse = hap_at(r, SEG_LOCAL, at_2371840, HAP_F32, 3, rows_4_32);
    hap_tensor *h_2_attn_transpose_4 = hap_at(r, SEG_LOCAL, at_2735360, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_4 = hap_at(r, SEG_LOCAL, at_2735360, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_c_proj = hap_at(r, SEG_LOCAL, at_1582592, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_add = hap_at(r, SEG_LOCAL, at_1582592, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_add_all = hap_at(r, SEG_LOCAL, at_1517056_3, HAP_F32, 3, of_8_32_64);
    hap_tensor *h_2_add_cut = hap_at(r, SEG_LOCAL, at_2768128, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_ln_2_sum = hap_at(r, SEG_LOCAL, at_2373888, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2_m2 = hap_at(r, SEG_LOCAL, at_2374400, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2 = hap_at(r, SEG_LOCAL, at_2796800, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_mlp_c_fc = hap_at(r, SEG_LOCAL, at_2444288, HAP_F32, 3, of_8_cut_32_192);
    hap_tensor *h_2_mlp_act = hap_at(r, SEG_LOCAL, at_2551040, HAP_F32, 3, of_8_cut_32_192);
    hap_tensor *h_2_mlp_c_proj = hap_at(r, SEG_LOCAL, at_1611776, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_add_2 = hap_at(r, SEG_LOCAL, at_1611776, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *ln_f_sum = hap_at(r, SEG_LOCAL, at_1641472, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f_m2 = hap_at(r, SEG_LOCAL, at_1641984, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f = hap_at(r, SEG_LOCAL, at_1844992, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *lm_head = hap_at(r, SEG_LOCAL, at_1750272_2, HAP_F32, 3, of_8_cut_32_211);
    hap_tensor *pad = hap_at(r, SEG_LOCAL, at_1517056_4, HAP_I64, 2, of_8_33); // [8 33]
    hap_tensor *slice = hap_at(r, SEG_LOCAL, at_1519360, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *slice_cut = hap_at(r, SEG_LOCAL, at_1640448, HAP_I64, 2, of_8_cut_32);
    hap_tensor *ce_sum_max = hap_at(r, SEG_LOCAL, at_1642496, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ce_sum_expsum = hap_at(r, SEG_LOCAL, at_1643008, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ce_sum_target = hap_at(r, SEG_LOCAL, at_1517056_5, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ce_sum = hap_at(r, SEG_LOCAL, at_1521152, HAP_F32, 0, NULL);         // []+
    hap_tensor *ce_sum_all = hap_at(r, SEG_LOCAL, at_1521152, HAP_F32, 0, NULL);     // []
    hap_tensor *slice_all = hap_at(r, SEG_LOCAL, at_1517056_6, HAP_I64, 2, of_8_32); // [8 32]
    hap_tensor *count = hap_at(r, SEG_LOCAL, at_1519104_2, HAP_F32, 0, NULL);        // []
    hap_tensor *loss = hap_at(r, SEG_LOCAL, at_2532864, HAP_F32, 0, NULL);           // []
    hap_tensor *loss_seed = hap_at(r, SEG_LOCAL, at_1517056_7, HAP_F32, 0, NULL);    // []
    hap_tensor *loss_da = hap_at(r, SEG_LOCAL, at_1643520, HAP_F32, 0, NULL);        // []
    hap_tensor *ce_sum_dx = hap_at(r, SEG_LOCAL, at_1517056_8, HAP_F32, 3, of_8_cut_32_211);
    hap_tensor *lm_head_dx = hap_at(r, SEG_LOCAL, at_1750272_3, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *lm_head_dw = hap_at(r, SEG_LOCAL, at_2388224, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *ln_f_stats = hap_at(r, SEG_LOCAL, at_1517056_9, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f_stats_1 = hap_at(r, SEG_LOCAL, at_1517568, HAP_F32, 2, of_8_cut_32);
    hap_tensor *ln_f_dx = hap_at(r, SEG_LOCAL, at_1535744, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *ln_f_dw = hap_at(r, SEG_LOCAL, at_2550784, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *ln_f_dw_1 = hap_at(r, SEG_LOCAL, at_2533120, HAP_F32, 1, of_64); // [64]+
    hap_tensor *ln_f_dw_cut = hap_at(r, SEG_LOCAL, at_2532608, HAP_F32, 1, cut_64_of_64);
    hap_tensor *ln_f_dw_1_cut = hap_at(r, SEG_LOCAL, at_2532352, HAP_F32, 1, cut_64_of_64);
    hap_tensor *h_2_mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_1564416, HAP_F32, 3, of_8_cut_32_192);
    // [192 64]+
    hap_tensor *h_2_mlp_c_proj_dw = hap_at(r, SEG_LOCAL, at_1782016, HAP_F32, 2, of_192_64);
    hap_tensor *h_2_mlp_c_proj_db = hap_at(r, SEG_LOCAL, at_2550272, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_mlp_act_dx = hap_at(r, SEG_LOCAL, at_2551040_2, HAP_F32, 3, of_8_cut_32_192);
    hap_tensor *h_2_mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_1593344, HAP_F32, 3, of_8_cut_32_64);
    // [64 192]+
    hap_tensor *h_2_mlp_c_fc_dw = hap_at(r, SEG_LOCAL, at_1831168, HAP_F32, 2, of_64_192);
    hap_tensor *h_2_mlp_c_fc_db = hap_at(r, SEG_LOCAL, at_2797312, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_2_ln_2_stats = hap_at(r, SEG_LOCAL, at_1564416_2, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_1564928, HAP_F32, 2, of_8_cut_32);
    hap_tensor *h_2_ln_2_dx = hap_at(r, SEG_LOCAL, at_1622016, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_ln_2_sum_2 = hap_at(r, SEG_LOCAL, at_1535744, HAP_F32, 3, of_8_cut_32_64);
    hap_tensor *h_2_ln_2_sum_cut = hap_at(r, SEG_LOCAL, at_2466816, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_ln_2_dw = hap_at(r, SEG_LOCAL, at_2798848, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_2_ln_2_dw_1 = hap_at(r, SEG_LOCAL, at_2798592, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_1535744_2, HAP_F32, 3, rows_32_64);
    // [64 64]+
    hap_tensor *h_2_attn_c_proj_dw = hap_at(r, SEG_LOCAL, at_2533376, HAP_F32, 2, of_64_64);
    hap_tensor *h_2_attn_c_proj_db = hap_at(r, SEG_LOCAL, at_2751232, HAP_F32, 1, of_64); // [64]+
    hap_tensor *h_2_attn_reshape_4_dx =
        hap_at(r, SEG_LOCAL, at_1535744_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_transpose_4_dx =
        hap_at(r, SEG_LOCAL, at_2551040_4, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_2583808, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_1593344_2, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_2499584, HAP_F32, 4, rows_4_32_16);
    hap_tensor *h_2_attn_transpose_3_dx =
        hap_at(r, SEG_LOCAL, at_1535744_3, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1535744_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_transpose_2_dx =
        hap_at(r, SEG_LOCAL, at_2339072_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_2339072_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_transpose_dx =
        hap_at(r, SEG_LOCAL, at_2499584_2, HAP_F32, 4, rows_32_4_16);
    hap_tensor *h_2_attn_reshape_dx = hap_at(r, SEG_LOCAL, at_2499584_2, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_attn_split_dx = hap_at(r, SEG_LOCAL, at_2551040_5, HAP_F32, 3, rows_32_192);
    hap_tensor *h_2_attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_1535744_3, HAP_F32, 3, rows_32_64);
    // [64 192]+
    hap_tensor *h_2_attn_c_attn_dw = hap_at(r, SEG_LOCAL, at_2339072_3, HAP_F32, 2, of_64_192);
    hap_tensor *h_2_attn_c_attn_db = hap_at(r, SEG_LOCAL, at_2750464, HAP_F32, 1, of_192); // [192]+
    hap_tensor *h_2_ln_1_stats = hap_at(r, SEG_LOCAL, at_1568512, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_1569024, HAP_F32, 2, rows_32);
    hap_tensor *h_2_ln_1_dx = hap_at(r, SEG_LOCAL, at_1593344_3, HAP_F32, 3, rows_32_64);
    hap_tensor *h_2_ln_1_dw = hap_at(r, SEG_LOCAL, at_2752256, HAP_F32, 1, of_64);   // [64]+
    hap_tensor *h_2_ln_1_dw_1 = hap_at(r, SEG_LOCAL, at_2751744, HAP_F32, 1, of_64); // [64]+
    // [1 32 64]+
    hap_tensor *add_fold1 = hap_at(r, SEG_LOCAL, at_1025536_3, HAP_F32, 3, of_1_32_64);
    hap_tensor *wpe_dw = hap_at(r, SEG_LOCAL, at_1053184, HAP_F32, 2, of_32_64); // [32 64]+
    hap_tensor *wpe_dw_cut = hap_at(r, SEG_LOCAL, at_1049600, HAP_F32, 2, cut_32_64);
    hap_tensor *wte_dw = hap_at(r, SEG_LOCAL, at_1208320_2, HAP_F32, 2, of_211_64); // [211 64]+
    hap_tensor *wte_sum = hap_at(r, SEG_LOCAL, at_2388224, HAP_F32, 2, of_211_64);  // [211 64]+
    hap_tensor *wte_sum_cut = hap_at(r, SEG_LOCAL, at_1025536_3, HAP_F32, 2, vocab_64);
    hap_tensor *wte_weight_sumsq = hap_at(r, SEG_LOCAL, at_1061376, HAP_F32, 0, NULL);    // []+
    hap_tensor *wpe_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_2, HAP_F32, 0, NULL);  // []+
    hap_tensor *ln_f_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_5, HAP_F32, 0, NULL); // []+
    hap_tensor *ln_f_weight_norm = hap_at(r, SEG_LOCAL, at_1061632_2, HAP_F32, 0, NULL);  // []+
    hap_tensor *ln_f_bias_sumsq = hap_at(r, SEG_LOCAL, at_1053184_5, HAP_F32, 0, NULL);   // []+
    hap_tensor *ln_f_bias_norm = hap_at(r, SEG_LOCAL, at_1061632_2, HAP_F32, 0, NULL);    // []+
    hap_tensor *ln_f_bias_norm_all = hap_at(r, SEG_LOCAL, at_1061632_2, HAP_F32, 0, NULL);
    hap_tensor *clip = hap_at(r, SEG_LOCAL, at_1255936, HAP_F32, 0, NULL); // []
    hap_tensor *wte_weight_cut = hap_at(r, SEG_LOCAL, at_1196800, HAP_F32, 2, vocab_64);
    hap_tensor *wpe_weight_cut = hap_at(r, SEG_LOCAL, at_1245440, HAP_F32, 2, cut_32_64);
    hap_tensor *ln_f_weight_cut = hap_at(r, SEG_LOCAL, at_1256192, HAP_F32, 1, cut_64_of_64);
    hap_tensor *ln_f_bias_cut = hap_at(r, SEG_LOCAL, at_1256448, HAP_F32, 1, cut_64_of_64);

    // Scratch of collectives.
    hap_tensor *slice_all_scratch = hap_at(r, SEG_LOCAL, at_1519104, HAP_F32, 1, scratch_512);
    hap_tensor *ln_f_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_2550016, HAP_F32, 1, of_64);
    hap_tensor *ln_f_dw_1_cut_scratch = hap_at(r, SEG_LOCAL, at_2549760, HAP_F32, 1, of_64);
    hap_tensor *h_2_mlp_c_proj_db_cut_scratch = hap_at(r, SEG_LOCAL, at_2550528, HAP_F32, 1, of_64);
    hap_tensor *h_2_mlp_c_fc_db_cut_scratch =
        hap_at(r, SEG_LOCAL, at_2798080, HAP_F32, 1, scratch_128);
    hap_tensor *h_2_ln_2_sum_cut_scratch =
        hap_at(r, SEG_LOCAL, at_2551040_3, HAP_F32, 1, scratch_15360);
    hap_tensor *h_2_ln_2_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_2769408, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_2_dw_1_cut_scratch = hap_at(r, SEG_LOCAL, at_2769152, HAP_F32, 1, of_64);
    hap_tensor *h_2_attn_c_proj_db_cut_scratch =
        hap_at(r, SEG_LOCAL, at_2751488, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_1_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_2752512, HAP_F32, 1, of_64);
    hap_tensor *h_2_ln_1_dw_1_cut_scratch = hap_at(r, SEG_LOCAL, at_2752000, HAP_F32, 1, of_64);
    hap_tensor *wpe_dw_cut_scratch = hap_at(r, SEG_LOCAL, at_1061632, HAP_F32, 1, scratch_896);

    hap_tensor *h_1_add_2_2[3], *h_ln_1_weight[3], *h_ln_1_bias[3], *h_attn_c_attn_weight[3];
    hap_tensor *h_attn_c_attn_bias[3], *h_attn_c_proj_weight[3], *h_attn_c_proj_bias[3];
    hap_tensor *h_ln_2_weight[3], *h_ln_2_bias[3], *h_mlp_c_fc_weight[3], *h_mlp_c_fc_bias[3];
    hap_tensor *h_mlp_c_proj_weight[3], *h_mlp_c_proj_bias[3], *h_ln_1_sum_2[3];
    hap_tensor *h_mlp_c_proj_dw_cut[3], *h_mlp_c_proj_db_cut[3], *h_mlp_c_fc_dw_cut[3];
    hap_tensor *h_mlp_c_fc_db_cut[3], *h_ln_2_dw_cut[3], *h_ln_2_dw_1_cut[3];
    hap_tensor *h_attn_c_proj_dw_cut[3], *h_attn_c_proj_db_cut[3], *h_attn_c_attn_dw_cut[3];
    hap_tensor *h_attn_c_attn_db_cut[3], *h_ln_1_dw_cut[3], *h_ln_1_dw_1_cut[3];
    for (int i = 0; i < 3; i++) {
        h_1_add_2_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1418752, by_32768, i, HAP_F32, 3, rows_32_64);
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
        h_attn_c_proj_weight[i] =
            hap_at_layer(r, SEG_LOCAL, at_151296, by_16384, i, HAP_F32, 2, of_64_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.weight"), h_attn_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_attn_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_200448, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".attn.c_proj.bias"), h_attn_c_proj_bias[i],
                  HAP_FILL(0));
        h_ln_2_weight[i] = hap_at_layer(r, SEG_LOCAL, at_201216, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.weight"), h_ln_2_weight[i], HAP_FILL(1));
        h_ln_2_bias[i] = hap_at_layer(r, SEG_LOCAL, at_201984, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".ln_2.bias"), h_ln_2_bias[i], HAP_FILL(0));
        h_mlp_c_fc_weight[i] =
            hap_at_layer(r, SEG_LOCAL, at_202752, by_49152, i, HAP_F32, 2, of_64_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight"), h_mlp_c_fc_weight[i],
                  HAP_NORMAL(0, 0.02));
        h_mlp_c_fc_bias[i] = hap_at_layer(r, SEG_LOCAL, at_350208, by_768, i, HAP_F32, 1, of_192);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias"), h_mlp_c_fc_bias[i],
                  HAP_FILL(0));
        h_mlp_c_proj_weight[i] =
            hap_at_layer(r, SEG_LOCAL, at_352512, by_49152, i, HAP_F32, 2, of_192_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight"), h_mlp_c_proj_weight[i],
                  HAP_NORMAL(0, 0.008164965809277261));
        h_mlp_c_proj_bias[i] = hap_at_layer(r, SEG_LOCAL, at_499968, by_256, i, HAP_F32, 1, of_64);
        hap_param(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias"), h_mlp_c_proj_bias[i],
                  HAP_FILL(0));
        h_ln_1_sum_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_2466816, by_32768, i % 2, HAP_F32, 3, rows_32_64);
        h_mlp_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1479680, by_18688, i, HAP_F32, 2, cut_192_64);
        h_mlp_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2830592, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_mlp_c_fc_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1535744_4, by_19200, i, HAP_F32, 2, cut_64_192);
        h_mlp_c_fc_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2795776, by_512, i, HAP_F32, 1, cut_192_of_192);
        h_ln_2_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2768384, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_2_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2767616, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_proj_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2442240_2, by_8192, i, HAP_F32, 2, heads_64);
        h_attn_c_proj_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2747392, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_attn_c_attn_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_1593344_4, by_19200, i, HAP_F32, 2, cut_64_192);
        h_attn_c_attn_db_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2748160, by_256, i, HAP_F32, 1, cut_3_of_192);
        h_ln_1_dw_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2749696, by_256, i, HAP_F32, 1, cut_64_of_64);
        h_ln_1_dw_1_cut[i] =
            hap_at_layer(r, SEG_LOCAL, at_2748928, by_256, i, HAP_F32, 1, cut_64_of_64);
    }

    hap_tensor *h_2_mlp_c_proj_bias_norm_2[4];
    for (int i = 0; i < 4; i++) {
        h_2_mlp_c_proj_bias_norm_2[i] =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL); // []+
    }

    for (int i = 0; i < 2; i++) {
        h_block *b = &h[i];
        b->ln_1_sum = hap_at_layer(r, SEG_LOCAL, at_2831360, by_512, i, HAP_F32, 2, rows_32);
        b->ln_1_m2 = hap_at_layer(r, SEG_LOCAL, at_2832384, by_512, i, HAP_F32, 2, rows_32);
        b->ln_1 = hap_at_layer(r, SEG_LOCAL, at_1650944, by_32768, i, HAP_F32, 3, rows_32_64);
        b->attn_c_attn = hap_at(r, SEG_LOCAL, at_1320448, HAP_F32, 3, rows_32_192);
        b->attn_split_0 = hap_at(r, SEG_LOCAL, at_1123840, HAP_F32, 3, rows_32_64);
        b->attn_split_1 = hap_at(r, SEG_LOCAL, at_1189376, HAP_F32, 3, rows_32_64);
        b->attn_split_2 = hap_at(r, SEG_LOCAL, at_1156608, HAP_F32, 3, rows_32_64);
        b->attn_reshape = hap_at(r, SEG_LOCAL, at_1189376, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose =
            hap_at_layer(r, SEG_LOCAL, at_1880320, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_2 = hap_at(r, SEG_LOCAL, at_1156608, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_2 =
            hap_at_layer(r, SEG_LOCAL, at_1945856, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_reshape_3 = hap_at(r, SEG_LOCAL, at_1123840, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_3 =
            hap_at_layer(r, SEG_LOCAL, at_2011392, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa =
            hap_at_layer(r, SEG_LOCAL, at_2076928, by_32768, i, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_lse =
            hap_at_layer(r, SEG_LOCAL, at_2825472, by_2048, i, HAP_F32, 3, rows_4_32);
        b->attn_transpose_4 =
            hap_at_layer(r, SEG_LOCAL, at_2142464, by_32768, i, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_4 =
            hap_at_layer(r, SEG_LOCAL, at_2142464, by_32768, i, HAP_F32, 3, rows_32_64);
        b->attn_c_proj =
            hap_at_layer(r, SEG_LOCAL, at_2208000, by_32768, i, HAP_F32, 3, rows_32_64);
        b->add = hap_at_layer(r, SEG_LOCAL, at_2208000, by_32768, i, HAP_F32, 3, rows_32_64);
        b->ln_2_sum = hap_at_layer(r, SEG_LOCAL, at_2442240, by_512, i, HAP_F32, 2, rows_32);
        b->ln_2_m2 = hap_at_layer(r, SEG_LOCAL, at_2443264, by_512, i, HAP_F32, 2, rows_32);
        b->ln_2 = hap_at_layer(r, SEG_LOCAL, at_2273536, by_32768, i, HAP_F32, 3, rows_32_64);
        b->mlp_c_fc =
            hap_at_layer(r, SEG_LOCAL, at_1025536_2, by_98304, i, HAP_F32, 3, rows_32_192);
        b->mlp_act = hap_at_layer(r, SEG_LOCAL, at_1222144, by_98304, i, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj = hap_at(r, SEG_LOCAL, at_1517056, HAP_F32, 3, rows_32_64);
        b->mlp_c_proj_dx = hap_at(r, SEG_LOCAL, at_2551040_6, HAP_F32, 3, rows_32_192);
        b->mlp_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1683712, by_49152, i, HAP_F32, 2, of_192_64); // [192 64]+
        // [64]+
        b->mlp_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_1403904, by_256, i, HAP_F32, 1, of_64);
        b->mlp_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1404416, by_256, i, HAP_F32, 1, of_64);
        b->mlp_act_dx = hap_at(r, SEG_LOCAL, at_2649344, HAP_F32, 3, rows_32_192);
        b->mlp_c_fc_dx = hap_at(r, SEG_LOCAL, at_1369600, HAP_F32, 3, rows_32_64);
        // [64 192]+
        b->mlp_c_fc_dw = hap_at_layer(r, SEG_LOCAL, at_1074688, by_49152, i, HAP_F32, 2, of_64_192);
        // [192]+
        b->mlp_c_fc_db = hap_at_layer(r, SEG_LOCAL, at_1205760, by_768, i, HAP_F32, 1, of_192);
        b->mlp_c_fc_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1207296, by_512_2, i, HAP_F32, 1, scratch_128);
        b->ln_2_stats = hap_at(r, SEG_LOCAL, at_1172992, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_2_stats_1 = hap_at(r, SEG_LOCAL, at_1173504, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_2_dx = hap_at(r, SEG_LOCAL, at_2306304, HAP_F32, 3, rows_32_64);   // [8@rows 32 64]
        b->ln_2_sum_2 = hap_at_layer(r, SEG_LOCAL, at_2466816, by_32768, i, HAP_F32, 3, rows_32_64);
        b->ln_2_dw = hap_at_layer(r, SEG_LOCAL, at_1405952, by_256, i, HAP_F32, 1, of_64); // [64]+
        // [64]+
        b->ln_2_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1404928, by_256, i, HAP_F32, 1, of_64);
        b->ln_2_dw_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1406464, by_256, i, HAP_F32, 1, of_64);
        b->ln_2_dw_1_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1405440, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_dx = hap_at(r, SEG_LOCAL, at_1369600_2, HAP_F32, 3, rows_32_64);
        b->attn_c_proj_dw =
            hap_at_layer(r, SEG_LOCAL, at_1172992_2, by_16384, i, HAP_F32, 2, of_64_64); // [64 64]+
        // [64]+
        b->attn_c_proj_db = hap_at_layer(r, SEG_LOCAL, at_1406976, by_256, i, HAP_F32, 1, of_64);
        b->attn_c_proj_db_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1407488, by_256, i, HAP_F32, 1, of_64);
        b->attn_reshape_4_dx = hap_at(r, SEG_LOCAL, at_1369600_2, HAP_F32, 4, rows_32_4_16);
        b->attn_transpose_4_dx = hap_at(r, SEG_LOCAL, at_2306304_2, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv = hap_at(r, SEG_LOCAL, at_2551040_7, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_1 = hap_at(r, SEG_LOCAL, at_2175232, HAP_F32, 4, rows_4_32_16);
        b->attn_sdpa_dqkv_2 = hap_at(r, SEG_LOCAL, at_2240768, HAP_F32, 4, rows_4_32_16);
        b->attn_transpose_3_dx = hap_at(r, SEG_LOCAL, at_1369600_3, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_3_dx = hap_at(r, SEG_LOCAL, at_1369600_3, HAP_F32, 3, rows_32_64);
        b->attn_transpose_2_dx = hap_at(r, SEG_LOCAL, at_1913088, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_2_dx = hap_at(r, SEG_LOCAL, at_1913088, HAP_F32, 3, rows_32_64);
        b->attn_transpose_dx = hap_at(r, SEG_LOCAL, at_1978624, HAP_F32, 4, rows_32_4_16);
        b->attn_reshape_dx = hap_at(r, SEG_LOCAL, at_1978624, HAP_F32, 3, rows_32_64);
        b->attn_split_dx = hap_at(r, SEG_LOCAL, at_2551040_6, HAP_F32, 3, rows_32_192);
        b->attn_c_attn_dx = hap_at(r, SEG_LOCAL, at_1369600_3, HAP_F32, 3, rows_32_64);
        b->attn_c_attn_dw =
            hap_at_layer(r, SEG_LOCAL, at_1271296, by_49152, i, HAP_F32, 2, of_64_192); // [64 192]+
        // [192]+
        b->attn_c_attn_db = hap_at_layer(r, SEG_LOCAL, at_1402368, by_768, i, HAP_F32, 1, of_192);
        b->ln_1_stats = hap_at(r, SEG_LOCAL, at_1208320, HAP_F32, 2, rows_32);   // [8@rows 32]
        b->ln_1_stats_1 = hap_at(r, SEG_LOCAL, at_1208832, HAP_F32, 2, rows_32); // [8@rows 32]
        b->ln_1_dx = hap_at(r, SEG_LOCAL, at_1913088_2, HAP_F32, 3, rows_32_64); // [8@rows 32 64]
        b->ln_1_dw = hap_at_layer(r, SEG_LOCAL, at_1409024, by_256, i, HAP_F32, 1, of_64); // [64]+
        // [64]+
        b->ln_1_dw_1 = hap_at_layer(r, SEG_LOCAL, at_1408000, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_dw_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1409536, by_256, i, HAP_F32, 1, of_64);
        b->ln_1_dw_1_cut_scratch =
            hap_at_layer(r, SEG_LOCAL, at_1408512, by_256, i, HAP_F32, 1, of_64);
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
        b->ln_1_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_3, HAP_F32, 0, NULL); // []+
        b->ln_1_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_1_bias_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL);   // []+
        // []+
        b->ln_1_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);
        b->attn_c_attn_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);      // []+
        b->attn_c_attn_bias_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->attn_c_attn_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);        // []+
        b->attn_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);      // []+
        b->attn_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->attn_c_proj_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->ln_2_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL); // []+
        b->ln_2_bias_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL);   // []+
        // []+
        b->ln_2_bias_norm = hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);
        b->mlp_c_fc_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);   // []+
        b->mlp_c_fc_bias_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->mlp_c_fc_bias_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);       // []+
        b->mlp_c_proj_weight_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->mlp_c_proj_weight_norm =
            hap_at_layer(r, SEG_LOCAL, at_1061376, by_256, i % 2, HAP_F32, 0, NULL);     // []+
        b->mlp_c_proj_bias_sumsq = hap_at(r, SEG_LOCAL, at_1053184_4, HAP_F32, 0, NULL); // []+
        b->ln_1_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1250560, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_500736, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg"), b->ln_1_weight_exp_avg);
        b->ln_1_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_501504, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.weight.exp_avg_sq"),
                  b->ln_1_weight_exp_avg_sq);
        b->ln_1_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1251328, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_1_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_502272, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg"), b->ln_1_bias_exp_avg);
        b->ln_1_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_503040, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_1.bias.exp_avg_sq"),
                  b->ln_1_bias_exp_avg_sq);
        b->attn_c_attn_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1025536_4, by_19200, i, HAP_F32, 2, cut_64_192);
        b->attn_c_attn_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_503808, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg"),
                  b->attn_c_attn_weight_exp_avg);
        b->attn_c_attn_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_561408, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.weight.exp_avg_sq"),
                  b->attn_c_attn_weight_exp_avg_sq);
        b->attn_c_attn_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1252096, by_256, i, HAP_F32, 1, cut_3_of_192);
        b->attn_c_attn_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_619008, by_256, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg"),
                  b->attn_c_attn_bias_exp_avg);
        b->attn_c_attn_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_619776, by_256, i, HAP_F32, 1, cut_3_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_attn.bias.exp_avg_sq"),
                  b->attn_c_attn_bias_exp_avg_sq);
        b->attn_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1220864, by_8192, i, HAP_F32, 2, heads_64);
        b->attn_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_620544, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg"),
                  b->attn_c_proj_weight_exp_avg);
        b->attn_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_645120, by_8192, i, HAP_F32, 2, heads_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.weight.exp_avg_sq"),
                  b->attn_c_proj_weight_exp_avg_sq);
        b->attn_c_proj_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1252864, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->attn_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_669696, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg"),
                  b->attn_c_proj_bias_exp_avg);
        b->attn_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_670464, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".attn.c_proj.bias.exp_avg_sq"),
                  b->attn_c_proj_bias_exp_avg_sq);
        b->ln_2_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1253632, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_671232, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg"), b->ln_2_weight_exp_avg);
        b->ln_2_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_672000, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.weight.exp_avg_sq"),
                  b->ln_2_weight_exp_avg_sq);
        b->ln_2_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1254400, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->ln_2_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_672768, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg"), b->ln_2_bias_exp_avg);
        b->ln_2_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_673536, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".ln_2.bias.exp_avg_sq"),
                  b->ln_2_bias_exp_avg_sq);
        b->mlp_c_fc_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1083136, by_19200, i, HAP_F32, 2, cut_64_192);
        b->mlp_c_fc_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_674304, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg"),
                  b->mlp_c_fc_weight_exp_avg);
        b->mlp_c_fc_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_731904, by_19200, i, HAP_F32, 2, cut_64_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.weight.exp_avg_sq"),
                  b->mlp_c_fc_weight_exp_avg_sq);
        b->mlp_c_fc_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1249024, by_512, i, HAP_F32, 1, cut_192_of_192);
        b->mlp_c_fc_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_789504, by_512, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg"),
                  b->mlp_c_fc_bias_exp_avg);
        b->mlp_c_fc_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_791040, by_512, i, HAP_F32, 1, cut_192_of_192);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_fc.bias.exp_avg_sq"),
                  b->mlp_c_fc_bias_exp_avg_sq);
        b->mlp_c_proj_weight_cut =
            hap_at_layer(r, SEG_LOCAL, at_1140736, by_18688, i, HAP_F32, 2, cut_192_64);
        b->mlp_c_proj_weight_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_792576, by_18688, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg"),
                  b->mlp_c_proj_weight_exp_avg);
        b->mlp_c_proj_weight_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_848640, by_18688, i, HAP_F32, 2, cut_192_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.weight.exp_avg_sq"),
                  b->mlp_c_proj_weight_exp_avg_sq);
        b->mlp_c_proj_bias_cut =
            hap_at_layer(r, SEG_LOCAL, at_1255168, by_256, i, HAP_F32, 1, cut_64_of_64);
        b->mlp_c_proj_bias_exp_avg =
            hap_at_layer(r, SEG_LOCAL, at_904704, by_256, i, HAP_F32, 1, cut_64_of_64);
        hap_state(r, hap_name("transformer.h.", i, ".mlp.c_proj.bias.exp_avg"),
                  b->mlp_c_proj_bias_exp_avg);
        b->mlp_c_proj_bias_exp_avg_sq =
            hap_at_layer(r, SEG_LOCAL, at_905472, by_256, i, HAP_F32, 1, cut_64_of_64);
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
        op_add(r, h_1_add_2_2[0], wte, wpe); // y = a + b    [8@rows 32 64]    0.00697 ms

        for (int i = 0; i < 2; i++)
            h_forward(r, &h[i]);

        // transformer.h.2.ln_1, forward
        op_row_sum(r, h_2_ln_1_sum, h_1_add_2_2[2]); // y = sum x    [8@rows 32]    0.0036 ms
        op_row_m2(r, h_2_ln_1_m2, h_1_add_2_2[2], h_2_ln_1_sum); // [8@rows 32]    0.00364 ms
        op_norm_apply(r, h_2_ln_1, h_1_add_2_2[2], h_2_ln_1_sum, h_2_ln_1_m2, h_ln_1_weight[2],
                      h_ln_1_bias[2], 1e-05); // [8@rows 32 64]    0.00625 ms

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
        // dim 0 @rows -> whole    [8 32 64]    64.0 KiB    0.0264 ms
        hap_event *e_h_2_add_all =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &h_2_add_all, &h_2_add, NULL);
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
        hap_cut(r, slice_cut, slice);      // whole -> dim 1 @cut_32    [8 32@cut_32]    0.00112 ms

        // ce_sum, forward
        op_row_max(r, ce_sum_max, lm_head); // y = max x    [8 32@cut_32]    0.00877 ms
        op_row_expsum(r, ce_sum_expsum, lm_head, ce_sum_max);        // [8 32@cut_32]    0.00881 ms
        op_target_logit(r, ce_sum_target, lm_head, slice_cut, -100); // [8 32@cut_32]    0.00115 ms
        // y = sum a + log b - c    []+    0.00118 ms
        op_nll_sum(r, ce_sum, ce_sum_max, ce_sum_expsum, ce_sum_target, slice_cut, -100);
        // + -> whole    []    4 B    0.02 ms
        hap_event *e_ce_sum_all =
            coll_all_reduce_start(r, AXIS(0), FORM_FLAT, 1, &ce_sum_all, &ce_sum, NULL);

        // count, forward
        // dim 1 @cut_32 -> whole    [8 32]    2.00 KiB    0.011 ms
        hap_event *e_slice_all = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &slice_all,
                                                       &slice_cut, slice_all_scratch);
        hap_wait(r, e_slice_all);
        op_count(r, count, slice_all, -100); // y = count x    []    0.00132 ms
        hap_wait(r, e_ce_sum_all);           // 0.02 ms hidden

        // loss, forward
        op_div(r, loss, ce_sum_all, count); // y = a / b    []    0.001 ms

        // loss, backward
        op_full(r, loss_seed, (hap_ints){0, NULL}, 1, HAP_F32); // y = 1    []    0.001 ms
        op_div(r, loss_da, loss_seed, count);                   // y = a / b    []    0.001 ms

        // ce_sum, backward
        // y = e (softmax - 1[label])    [8 32@cut_32 211]    0.0166 ms
        op_ce_bwd(r, ce_sum_dx, lm_head, ce_sum_max, ce_sum_expsum, slice_cut, loss_da, -100);

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
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        hap_event *e_ln_f_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &ln_f_dw_cut, &ln_f_dw, ln_f_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        hap_event *e_ln_f_dw_1_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &ln_f_dw_1_cut, &ln_f_dw_1, ln_f_dw_1_cut_scratch);

        // transformer.h.2.mlp, backward
        // y = a b'    [8 32@cut_32 192]    0.0611 ms
        op_linear(r, h_2_mlp_c_proj_dx, ln_f_dx, h_mlp_c_proj_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_mlp_c_proj_dw, h_2_mlp_act, ln_f_dx); // [192 64]+    0.0611 ms
        // + -> dim 0 @cut_192    [192@cut_192 64]    48.0 KiB    0.0242 ms
        h_2_mlp_c_proj_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_mlp_c_proj_dw_cut[2], &h_2_mlp_c_proj_dw, NULL);
        op_sum(r, h_2_mlp_c_proj_db, ln_f_dx, HAP_INTS(0, 1), false); // [64]+    0.00337 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_2_mlp_c_proj_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_mlp_c_proj_db_cut[2],
                                      &h_2_mlp_c_proj_db, h_2_mlp_c_proj_db_cut_scratch);
        // y = a gelu'(b)    [8 32@cut_32 192]    0.0221 ms
        op_gelu_bwd(r, h_2_mlp_act_dx, h_2_mlp_c_proj_dx, h_2_mlp_c_fc, true);
        // y = a b'    [8 32@cut_32 64]    0.0611 ms
        op_linear(r, h_2_mlp_c_fc_dx, h_2_mlp_act_dx, h_mlp_c_fc_weight[2], NULL, HAP_NT);
        op_linear_dw(r, h_2_mlp_c_fc_dw, h_2_ln_2, h_2_mlp_act_dx); // [64 192]+    0.0611 ms
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0244 ms
        h_2_mlp_c_fc_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_mlp_c_fc_dw_cut[2], &h_2_mlp_c_fc_dw, NULL);
        op_sum(r, h_2_mlp_c_fc_db, h_2_mlp_act_dx, HAP_INTS(0, 1), false); // [192]+    0.00812 ms
        // + -> dim 0 @cut_192    [192@cut_192]    768 B    0.0104 ms
        h_2_mlp_c_fc_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_mlp_c_fc_db_cut[2],
                                      &h_2_mlp_c_fc_db, h_2_mlp_c_fc_db_cut_scratch);

        // transformer.h.2.ln_2, backward
        // y, y1 = sum u, sum u xhat    [8 32@cut_32]    0.00587 ms
        op_norm_bwd_stats(r, h_2_ln_2_stats, h_2_ln_2_stats_1, h_2_mlp_c_fc_dx, h_2_add_cut,
                          h_2_ln_2_sum, h_2_ln_2_m2, h_ln_2_weight[2], 1e-05);
        // y = dx of the norm    [8 32@cut_32 64]    0.00821 ms
        op_norm_bwd(r, h_2_ln_2_dx, h_2_mlp_c_fc_dx, h_2_add_cut, h_2_ln_2_sum, h_2_ln_2_m2,
                    h_2_ln_2_stats, h_2_ln_2_stats_1, h_ln_2_weight[2], 1e-05);
        op_add(r, h_2_ln_2_sum_2, ln_f_dx, h_2_ln_2_dx); // [8 32@cut_32 64]    0.00804 ms
        // dim 1 @cut_32 -> dim 0 @rows    [8@rows 32 64]    64.0 KiB    0.03 ms
        hap_event *e_h_2_ln_2_sum_cut = coll_all_to_all_start(
            r, AXIS(0), FORM_EVEN, 1, &h_2_ln_2_sum_cut, &h_2_ln_2_sum_2, h_2_ln_2_sum_cut_scratch);
        op_norm_bwd_params(r, h_2_ln_2_dw, h_2_ln_2_dw_1, h_2_mlp_c_fc_dx, h_2_add_cut,
                           h_2_ln_2_sum, h_2_ln_2_m2, 1e-05); // [64]+    0.00582 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_2_ln_2_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_ln_2_dw_cut[2], &h_2_ln_2_dw, h_2_ln_2_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_2_ln_2_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_ln_2_dw_1_cut[2],
                                      &h_2_ln_2_dw_1, h_2_ln_2_dw_1_cut_scratch);
        hap_wait(r, e_h_2_ln_2_sum_cut);

        // transformer.h.2.attn, backward
        // y = a b'    [8@rows 32 64]    0.0228 ms
        op_linear(r, h_2_attn_c_proj_dx, h_2_ln_2_sum_cut, h_attn_c_proj_weight[2], NULL, HAP_NT);
        // y = sum rows a' b    [64 64]+    0.0228 ms
        op_linear_dw(r, h_2_attn_c_proj_dw, h_2_attn_reshape_4, h_2_ln_2_sum_cut);
        // + -> dim 0 @heads    [64@heads 64]    16.0 KiB    0.0181 ms
        h_2_attn_c_proj_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_attn_c_proj_dw_cut[2], &h_2_attn_c_proj_dw, NULL);
        // y = sum x    [64]+    0.00359 ms
        op_sum(r, h_2_attn_c_proj_db, h_2_ln_2_sum_cut, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_2_attn_c_proj_db_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_attn_c_proj_db_cut[2],
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
        // + -> dim 0 @cut_64    [64@cut_64 192]    48.0 KiB    0.0244 ms
        h_2_attn_c_attn_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_GROUPED, 1, &h_attn_c_attn_dw_cut[2], &h_2_attn_c_attn_dw, NULL);
        // y = sum x    [192]+    0.00876 ms
        op_sum(r, h_2_attn_c_attn_db, h_2_attn_split_dx, HAP_INTS(0, 1), false);
        // + -> dim 0 @cut_3    [192@cut_3]    768 B    0.0101 ms
        h_2_attn_c_attn_db_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_EVEN, 1, &h_attn_c_attn_db_cut[2], &h_2_attn_c_attn_db, NULL);

        // transformer.h.2.ln_1, backward
        // y, y1 = sum u, sum u xhat    [8@rows 32]    0.00631 ms
        op_norm_bwd_stats(r, h_2_ln_1_stats, h_2_ln_1_stats_1, h_2_attn_c_attn_dx, h_1_add_2_2[2],
                          h_2_ln_1_sum, h_2_ln_1_m2, h_ln_1_weight[2], 1e-05);
        // y = dx of the norm    [8@rows 32 64]    0.00887 ms
        op_norm_bwd(r, h_2_ln_1_dx, h_2_attn_c_attn_dx, h_1_add_2_2[2], h_2_ln_1_sum, h_2_ln_1_m2,
                    h_2_ln_1_stats, h_2_ln_1_stats_1, h_ln_1_weight[2], 1e-05);
        op_add(r, h_ln_1_sum_2[2], h_2_ln_2_sum_cut, h_2_ln_1_dx); // [8@rows 32 64]    0.00868 ms
        op_norm_bwd_params(r, h_2_ln_1_dw, h_2_ln_1_dw_1, h_2_attn_c_attn_dx, h_1_add_2_2[2],
                           h_2_ln_1_sum, h_2_ln_1_m2, 1e-05); // [64]+    0.00625 ms
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_2_ln_1_dw_cut_ready = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_dw_cut[2], &h_2_ln_1_dw, h_2_ln_1_dw_cut_scratch);
        // + -> dim 0 @cut_64    [64@cut_64]    256 B    0.0101 ms
        h_2_ln_1_dw_1_cut_ready =
            coll_reduce_scatter_start(r, AXIS(0), FORM_SENDRECV, 1, &h_ln_1_dw_1_cut[2],
                                      &h_2_ln_1_dw_1, h_2_ln_1_dw_1_cut_scratch);

        for (int i = 1; i >= 0; i--)
            h_backward(r, &h[i]);

        // transformer.add, backward
        op_sum(r, add_fold1, h_ln_1_sum_2[0], HAP_INTS(0), true); // [1 32 64]+    0.00441 ms

        // transformer.wpe, backward
        op_embedding_bwd(r, wpe_dw, add_fold1, wpe_const, 32); // y[b] += a    [32 64]+    0.0036 ms
        // + -> dim 0 @cut_32    [32@cut_32 64]    8.00 KiB    0.0145 ms
        hap_event *e_wpe_dw_cut = coll_reduce_scatter_start(
            r, AXIS(0), FORM_SENDRECV, 1, &wpe_dw_cut, &wpe_dw, wpe_dw_cut_scratch);

        // transformer.wte, backward
        op_embedding_bwd(r, wte_dw, h_ln_1_sum_2[0], input_ids, 211); // [211 64]+    0.0108 ms
        op_add(r, wte_sum, lm_head_dw, wte_dw); // y = a + b    [211 64]+    0.0263 ms
        // + -> dim 0 @vocab    [211@vocab 64]    52.8 KiB    0.0255 ms
        hap_event *e_wte_sum_cut =
            coll_reduce_scatter_start(r, AXIS(0), FORM_GROUPED, 1, &wte_sum_cut, &wte_sum, NULL);
        hap_wait(r, e_wte_sum_cut);

        // update
        op_sumsq(r, wte_weight_sumsq, wte_sum_cut); // y = sum x^2    []+    0.00288 ms
        hap_wait(r, e_wpe_dw_cut);                  // 0.0145 ms hidden
        op_sumsq(r, wpe_weight_sumsq, wpe_dw_cut);  // y = sum x^2    []+    0.00129 ms
        // y = a + b    []+    0.001 ms
        op_add(r, h_2_mlp_c_proj_bias_norm_2[0], wte_weight_sumsq, wpe_weight_sumsq);

        for (int i = 0; i < 3; i++)
            h_2_backward(r, &h_2[i]);
        hap_wait(r, e_ln_f_dw_cut); // 0.0101 ms hidden

        // update
        op_sumsq(r, ln_f_weight_sumsq, ln_f_dw_cut); // y = sum x^2    []+    0.00101 ms
        // y = a + b    []+    0.001 ms
        op_add(r, ln_f_weight_norm, h_2_mlp_c_proj_bias_norm_2[3], ln_f_weight_sumsq);
        hap_wait(r, e_ln_f_dw_1_cut);                // 0.0101 ms hidden
        op_sumsq(r, ln_f_bias_sumsq, ln_f_dw_1_cut); // y = sum x^2    []+    0.00101 ms
        op_add(r, ln_f_bias_norm, ln_f_weight_norm, ln_f_bias_sumsq); // []+    0.001 ms
        // + -> whole    []    4 B    0.02 ms
        hap_event *e_ln_f_bias_norm_all = coll_all_reduce_start(
            r, AXIS(0), FORM_FLAT, 1, &ln_f_bias_norm_all, &ln_f_bias_norm, NULL);
        hap_wait(r, e_ln_f_bias_norm_all);
        op_clip_scale(r, clip, ln_f_bias_norm_all, 1); // y = min(1, 1 / sqrt x)    []    0.001 ms
        hap_cut(r, wte_weight_cut, wte_weight);        // [211@vocab 64]    0.00401 ms
        op_adam(r, wte_weight_cut, wte_weight_exp_avg, wte_weight_exp_avg_sq, wte_sum_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [211@vocab 64]    0.0142 ms
        // dim 0 @vocab -> whole    [211 64]    52.8 KiB    0.022 ms
        hap_event *e_wte_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wte_weight, &wte_weight_cut, NULL);
        hap_cut(r, wpe_weight_cut, wpe_weight); // [32@cut_32 64]    0.00147 ms
        op_adam(r, wpe_weight_cut, wpe_weight_exp_avg, wpe_weight_exp_avg_sq, wpe_dw_cut, clip, 1,
                0.9, 0.95, 1e-08, 0.1, true); // a -= lr b / sqrt c    [32@cut_32 64]    0.00305 ms
        // dim 0 @cut_32 -> whole    [32 64]    8.00 KiB    0.0118 ms
        hap_event *e_wpe_weight =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &wpe_weight, &wpe_weight_cut, NULL);

        for (int i = 0; i < 3; i++)
            h_2_update(r, &h_2[i]);

        // update
        hap_cut(r, ln_f_weight_cut, ln_f_weight); // [64@cut_64]    0.00102 ms
        op_adam(r, ln_f_weight_cut, ln_f_weight_exp_avg, ln_f_weight_exp_avg_sq, ln_f_dw_cut, clip,
                1, 0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
        hap_event *e_ln_f_weight = coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &ln_f_weight,
                                                         &ln_f_weight_cut, NULL);
        hap_cut(r, ln_f_bias_cut, ln_f_bias); // whole -> dim 0 @cut_64    [64@cut_64]    0.00102 ms
        op_adam(r, ln_f_bias_cut, ln_f_bias_exp_avg, ln_f_bias_exp_avg_sq, ln_f_dw_1_cut, clip, 1,
                0.9, 0.95, 1e-08, 0, true); // a -= lr b / sqrt c    [64@cut_64]    0.00107 ms
        // dim 0 @cut_64 -> whole    [64]    256 B    0.01 ms
        hap_event *e_ln_f_bias =
            coll_all_gather_start(r, AXIS(0), FORM_SENDRECV, 1, &ln_f_bias, &ln_f_bias_cut, NULL);
        hap_wait(r, e_wte_weight); // 0.022 ms hidden
        hap_wait(r, e_wpe_weight); // 0.0118 ms hidden

        for (int i = 0; i < 3; i++)
            h_2_update_2(r, &h_2[i]);
        hap_wait(r, e_ln_f_weight);
        hap_wait(r, e_ln_f_bias);
    }
    return hap_finish(r);
}
