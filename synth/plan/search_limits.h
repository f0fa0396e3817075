// Every number of the planner that was chosen by hand: name, value, unit and meaning, and how it
// was chosen. Device figures stand in costmodel/device_defaults.h, the solver's in
// solver/solver_limits.h. tests/house/constants.sh finds numbers of this kind that stand elsewhere.
// A change must be shown harmless by script/plans_same, or its gain by the times that it prints.
//
//   [set]      as first chosen, not varied since
//   [tried]    changed after planning the examples: predicted times against planning time
//   [oracle]   checked against exhaustive planning (tests/synth/*_oracle_test.c)
//   [runtime]  of the runtime, compared by tests/runtime/limits_test.c
//   [size]     room of a table
//   [float]    rounding of doubles
//
// A share without a unit is of the number compared with: a time, a capacity, a cost.

#ifndef HAP_SYNTH_SEARCH_LIMITS_H
#define HAP_SYNTH_SEARCH_LIMITS_H

// clang-format off
// --- equality ---
#define SYN_ROUNDING       1e-9  // of a sum: the same costs in another order [float]
#define SYN_ROUNDING_FEW   1e-12 // of a sum of few terms [float]
#define SYN_ROUNDING_LEAST 1e-15 // s: coefficients of the ratio LP below are nothing [float]
#define SYN_SAME_BLOCK     1e-6  // of seconds, bytes: blocks that are alike [float]

// --- what a plan may hold ---
#define SYN_MAX_FUSION     12  // ops of a fusion [runtime]
#define SYN_MAX_PARTS     24  // tensors of a fusion [runtime]
#define SYN_PAIR_OPS      8   // matmuls of an overlapped pair [runtime]
#define SYN_PAIR_CHUNKS   12  // chunks that the planner gives a pair; the runtime takes 256 [set]
#define SYN_RECORD_GROUPS 256 // chunks of a pair that the checker takes [runtime]
#define SYN_LEVEL_GAIN       0.95 // of the largest part per weight: rows that are level for so much are looked at [tried]
#define SYN_MAX_PARTITIONS   4   // candidate partitions of a set on one axis [size]
#define SYN_MAX_STRATEGIES 16   // rows of the table of strategies [size]
#define SYN_MAX_PINS      64  // --pin options [size]
#define SYN_SEND_CHAIN    8   // instructions from the start of a sum to its message [size]
#define SYN_AXIS_STATES   128 // states of a tensor on one axis [size]
#define SYN_NEAR_CUTS     64  // cuts whose parts two by two stand in a table, not hashed [size]

// --- which variables there are (synthesize.c, options) ---
#define SYN_SMALL_PARAM 65536     // elements: smaller parameters stay replicated; an option [set]
#define SYN_COPY_BYTES  (1 << 20) // bytes: larger tensors may hold a second copy; an option [set]

// --- large graphs ---
#define SYN_MANY_NODES 700   // nodes: with more, ratios start from the better of two plans [tried]
#define SYN_LARGE      1500  // nodes: with more, few layers are searched first, then all [tried]
#define SYN_FEW_LAYERS 3     // layers that stay at each end of a run of equal ones, fewer where that is large yet [tried]
#define SYN_FEW_TIME   0.5   // of --time-limit, for the problem of few layers [set]
#define SYN_SEARCH_TIME 0.85 // of --time-limit, for all that is searched [tried]
#define SYN_LEAST_TIME 1e-3  // seconds: a search that begins after the limit has no more [set]
#define SYN_ENDINGS    3     // searches among few layers whose ends are planned whole [set]
#define SYN_OTHER_FAR  1.2   // times the best of few layers: the fastest on other devices is an end, too [tried]
#define SYN_FEW_NEAR   1.03  // of a capacity: what few layers fill so far may fit as a whole [set]
#define SYN_PROMISE    1.05  // times what few layers promised: more, and they are searched again [set]

// --- stages (stage_costs.c, search_stages.c, stage_orders.c) ---
#define SYN_STAGE_KEEP  2    // layers at each end of a run that a table of costs is made of [set]
#define SYN_STAGE_ROOM  4    // times a memory that these few do not fit in, to know what they cost [set]
#define SYN_STAGE_SETS  64   // multisets of machines: with more, all groups of a table have one size [set]
#define SYN_STAGE_PARTS 256  // multisets of parts of machines, the smallest of which are as small as that allows [set]
#define SYN_STAGE_MORE  4    // times the micro-batches of the best plan on whole machines that parts are looked at with [set]
#define SYN_STAGE_MIXED 16   // with more, all machines of a group are equal [set]
#define SYN_STAGE_GAP   0.03 // share: how near the best of its table a pipeline is [tried]
#define SYN_STAGE_OTHERS 6   // quickest pipelines of a table, on different machines [tried]
#define SYN_STAGE_PLANS 8    // quickest pipelines of tables that are planned in full [tried]
#define SYN_STAGE_MOVES 8    // stages whose borders are moved, devices left out, and how often a layer is moved [set]
#define SYN_STAGE_NEAR  1.05 // times the best plan: a pipeline this slow by its table is not planned [tried]
#define SYN_STAGE_LATE  1.5  // times the best of its table: so much more may it take if no gradient is sent early [set]
#define SYN_STAGE_FAR   1.3  // times the best of all tables: nor is one this slow, nor one with a layer moved [tried]
#define SYN_STAGE_STEEP 1.1  // times the best with more micro-batches, or of smaller groups: no fewer, or larger, are looked at [tried]
#define SYN_STAGE_SURE  0.5  // of what any layer takes at least on a group: even so it is too slow [set]
#define SYN_DEPTH_TRIES 5    // depths that are tried [set]
#define SYN_DEPTH_STEP  0.5  // times the depth of 1F1B, between two of them [set]
#define SYN_DEPTH_NEAR  0.002 // share: so much slower, for fewer micro-batches under way [set]

// --- additive searches: how near the optimum (candidates.c, explore.c) ---
#define SYN_SEARCH_GAP 1e-3 // share: searches on the way; the chosen plan's is closed [tried]
#define SYN_ROUGH_GAP  0.01 // share: searches with communication at a discount [tried]
#define SYN_SWEEP_GAP  0.03 // share: searches at swept memory prices [tried]
#define SYN_MIX_GAP    1e-4 // share: searches between two plans [set]

// --- exploration: which starting ratios and meshes are followed (explore.c) ---
#define SYN_SAME_PLACE      3e-4 // share: times so near each other are one plan [set]
#define SYN_ALIKE_ROUNDS    0.01 // share: two failed rounds so near each other would go on so [set]
#define SYN_START_NEAR      5e-3 // share: a first plan so little slower ends at the best too [set]
#define SYN_FIRST_FAR       1.5  // times the best: a first plan this slow is not followed [tried]
#define SYN_MACHINE_AHEAD   1.25 // times that of the best machine alone: nor is one of many nodes on all devices [tried]
#define SYN_LATER_FAR       1.15 // times: so is a later one [set]
#define SYN_FEWER_FAR       1.05 // times: so is the first on fewer devices [set]
#define SYN_MESH_BEHIND     1.02 // times: so is the first of the second mesh [set]
#define SYN_RATIO_ROUNDS    8    // of ratio LP and search in turn [set]
#define SYN_RATIO_FAILS     2    // rounds without gain, one after the other, that end it [set]
#define SYN_BASELINE_ROUNDS 3    // the same of a baseline that was asked for [set]
#define SYN_MAX_SUBSETS     160  // sets of fewer devices [size]
#define SYN_FIRST_SETS      48   // of these, before neighbours of the best are looked at [set]
#define SYN_PREFIX_STEP     12   // parts of a prefix: the next one is so much shorter at least [set]
#define SYN_NEIGHBOURS      4    // kinds of devices that leave the best set or join it [set]
#define SYN_CLIMB_STEPS     6    // times that the best set's neighbours are looked at [set]
#define SYN_FEW_MACHINES    4    // machines, each of which is left out for once [set]
#define SYN_FEW_DEVICES     8    // devices of a machine, of which every number is a set [set]
#define SYN_MACHINE_PREFIXES 8   // machines, the best ones first, that are taken together [set]
#define SYN_FEWER_WORTH     3e-3 // share: further devices that gain less stay at home [set]
#define SYN_SET_SLOW        1.1  // times the best: a set this slow with any memory is left [tried]
#define SYN_SETS_QUICK      2    // sets that were quickest in other variants are looked at again [tried]
#define SYN_SETS_BEST       3    // and those with the best plans that fit [tried]
#define SYN_SET_FULL        4    // exponent of a memory that is too full, among sets of devices [set]
#define SYN_SET_WORTH       3e-3 // share: what a set by itself gains at least [set]
#define SYN_SETS_ALONE      3    // such sets in vain, one behind the other: the last [tried]
#define SYN_SET_VAIN        3    // variants in a row that come to no less on a set by itself: its last [tried]
#define SYN_SET_NODES       1500 // nodes in all such sets [tried]
#define SYN_VARIANT_SLOW    1.15 // times the best: a variant this slow with any memory is left [tried]
#define SYN_PROPOSE_FAR     3    // times the best: of a set this slow strategies are not looked at [tried]
#define SYN_ALONE_NODES     1000 // nodes in all: sets that are searched as if they were all [tried]
#define SYN_ALONE_SETS      6    // such sets at most [tried]
#define SYN_ALONE_NEAR      2    // the same of the best set's neighbours, each time [tried]
#define SYN_ALONE_FAR       1.5  // times the best: a set this slow at a look is none of them [tried]
#define SYN_ALONE_BEHIND    1.1  // times the best: a set this slow then gets no discounts and memory prices [tried]
#define SYN_ALONE_FEW       1.002 // the same among few layers that stand for many [tried]
#define SYN_MAX_MESHES      2    // meshes over one set of devices [size]
#define SYN_UNFIT           1e3  // times: a first plan that does not fit counts as so slow [set]
#define SYN_DISCOUNT        0.3  // of communication's price: a search that lets it hide [tried]
#define SYN_DEEP_DISCOUNT   0.1  // the same again [tried]
#define SYN_HIDDEN          0.5, 0.25 // of the price of a transfer that may hide [tried]
#define SYN_BEYOND_PRICES     0.1, 0.25, 0.5 // the same where a finished plan is left for others near it [tried]
#define SYN_BEYOND_SHARES     0.5, 0.7, 1.4  // of the time in which a transfer may hide, each with these prices [tried]
#define SYN_BEYOND_FAR        1.05 // times the best: plans this slow have no state fixed then [tried]
#define SYN_BEYOND_SEEN       64   // such plans at most [size]
#define SYN_BEYOND_DRAWS      8    // choices at drawn costs, in each of these searches [tried]
#define SYN_BEYOND_WORK       0.1 // of SYN_WORK: what all that takes at most [tried]
#define SYN_DRAWN_GUESSES     8    // searches in which the time to hide in is drawn, in each round [tried]
#define SYN_DRAWN_PRICE       0.1  // of the price of a transfer that may hide, in these [set]
#define SYN_DRAWN_DRAWS       4    // choices at drawn costs, in each of these [tried]
#define SYN_PLAIN_DRAWS       40   // the same where nothing hides, in each round [tried]
#define SYN_DRAWN_COST        1.5e-3 // of the choice's cost: the most that is drawn for a state [tried]
#define SYN_DRAWN_SIZES       4    // such costs in turn, each twice the one before [set]
#define SYN_PUT_SHARE       0.8  // of memory, from which plans without one-sided puts are searched for [set]
#define SYN_HIDE_WAITS      0.02 // of the step: plans that lose less to transfers have nothing to hide [tried]
#define SYN_HIDE_LITTLE     0.005 // the same in graphs of few nodes [tried]
#define SYN_TAIL_WAITS      0.1  // of the step: plans that wait as long are simulated with small buckets, too [tried]
#define SYN_HIDE_ROUNDS     3    // such looks at the best plan, while they gain [set]
#define SYN_PAIR_ROUNDS     6    // looks at what pairs may hide of the best plan, while they gain [set]
#define SYN_HIDDEN_LATER    0.35, 0.15 // the same at a second look [tried]
#define SYN_DISCOUNT_WAITS  0.03 // of the step: large graphs that wait less have none [set]
#define SYN_THRIFTY_PRICE   8.0  // steps for the best plan's memory, where there is enough [set]

// --- states of parameters fixed by hand, in the best plan (fixed_states.c) ---
#define SYN_FIX_WORK   0.5  // of the work before: what these searches take [tried]
#define SYN_FIX_LEAST  1.5e5  // states: what they may take at least [set]
#define SYN_FIX_GAIN   3e-3  // share: after it as much work again [set]
#define SYN_FIX_MOST   4     // times that much in all, from one plan [set]
#define SYN_FIX_NEAR   2e-3  // share: how near the optimum these searches end [tried]
#define SYN_FIX_REACH  2     // edges from what is fixed: what is farther stays as it is [tried]
#define SYN_FIX_SIMULATED 3  // states for each variable: what a simulation counts as [tried]
#define SYN_FIX_FAR    1.05 // times the plan's additive cost: what is dearer is not simulated [tried]
#define SYN_FIX_NEARER 1.015 // the same where searches took long by then [tried]
#define SYN_FIX_SAME   1.2   // the same where it sends nothing: what others send may hide [tried]
#define SYN_FIX_TOGETHER 8    // states of plans that come near the best, of which two are fixed at once [tried]
#define SYN_FIX_TRIES  64    // plans simulated, from one best plan [tried]
#define SYN_FINISHED   8     // meshes whose best plans are finished at most [tried]
#define SYN_FINISHED_LONG 4  // the same where searches took long by then [set]
#define SYN_FINISH_NODES 2000 // nodes in all these plans [tried]
#define SYN_FINISH_FAR 1.05  // times the best: plans this slow before are not finished [tried]
#define SYN_FINISH_FAR_LIGHT 1.1 // the same where finishing takes little work [tried]
#define SYN_FINISH_LIGHT 0.2 // of the work of all searches: finishing takes little [set]
#define SYN_FIX_FIRST_FAR 1.15 // times the best: plans this slow have no state fixed [tried]
#define SYN_FIX_BEHIND 1.02  // times the best variant: one slower has none [set]

// --- ratio LP (ratios.c) ---
#define SYN_TRUST        0.5  // of a share: how far one LP may move it [set]
#define SYN_TRUST_SHRINK 0.4  // times: after a round without gain [set]
#define SYN_TRUST_LEAST  0.05 // of a share: below, rounds end [set]
#define SYN_TRUST_FLOOR  0.1  // of an even share: smaller ones move as if so large [set]
#define SYN_NEARER       0.98 // times what the last plan took: rounds go on though none fits [set]
#define SYN_BINDING      0.9  // of a class's next weight: the LP's duals; the rest is even [set]
#define SYN_EVEN_REST    0.1  // that rest [set]
#define SYN_STAY         1e-6 // of the step: what the largest growth of a share may weigh [set]
#define SYN_LP_OVER      20.0 // steps that a full memory too much costs: no share is worth it [set]
#define SYN_FREE_LEAST   0.02 // of a capacity: states may take so much where nothing is free [set]
#define SYN_LP_MEMORY    0.98 // of a capacity: the arena packs a little less than that [set]

// --- local search (local_search.c) ---
#define SYN_LOCAL_WORK  1e5 // instructions simulated again in all [tried]
#define SYN_LOCAL_MOVES 64  // shifts of one cut in one direction [set]
#define SYN_LOCAL_STEP  64  // parts of a factor: the first shift [set]
#define SYN_LOCAL_FINER 4   // times smaller: the next ones [set]

// --- forms of collectives in the best plan (pick_forms.c) ---
#define SYN_FORMS_WORK 2e5 // instructions simulated again in all [set]

// --- boundaries of cuts on GPUs (partitions.c) ---
#define SYN_PART_GRAINS 64 // steps of boundaries in an even part, at least [set]

// --- memory: when a plan counts as fitting, and prices on bytes (candidates.c) ---
#define SYN_ROOMY          0.9   // of a capacity: fewer live bytes mostly find a place [tried]
#define SYN_FEW_FIT        0.97  // of a capacity: the same of live bytes among few layers, at a second look [tried]
#define SYN_SHARE_NEAR     16    // instructions: equal conversions so near hold no more memory [set]
#define SYN_SURELY_FITS    0.7   // of a capacity: below, the plan without pairs is not placed [set]
#define SYN_HOPELESS       1.5   // times the best: no better memory price is looked for [set]
#define SYN_PAIR_SLACK     1.01  // times the best: slower plans are not paired [set]
#define SYN_RISE_FAR       2.0   // times the best: a plan this slow and yet too large is left [tried]
#define SYN_RISE_LOOK      1.3   // the same at a look at fewer devices [tried]
#define SYN_RISE_FEW       1.05  // the same among few layers [tried]
#define SYN_PRICE_USUAL    0.5   // steps for a full memory: a price that mostly does [tried]
#define SYN_PRICE_SHORT    4.0   // the same where twice the memory is missing [tried]
#define SYN_PRICE_SHORTAGE 2     // of a capacity, live: where that is [set]
#define SYN_PRICE_FIRST    16    // parts of the usual price: the first one [tried]
#define SYN_PRICE_RISE     4     // times: the next one [set]
#define SYN_PRICE_AGAIN    2     // times a price that was known and did not do [set]
#define SYN_PRICE_MOST     300   // steps: the last one [set]
#define SYN_PRICE_STUCK    0.995 // of the bytes: left by a usual price, it does not help [set]
#define SYN_PRICE_LEAP     4096  // times a price that changed nothing: what only the leanest plan is worth [set]
#define SYN_PRICE_CORNERS  6     // searches from there back [set]
#define SYN_PRICE_SPARE    0.6   // of a capacity: a known price that takes less is lowered [set]
#define SYN_PRICE_FAR      1.15  // times the quickest on the mesh, with any memory: a known price that costs so much is lowered [set]
#define SYN_NEARLY_FITS    1.2   // of a capacity: ratios may bring so much down to it [tried]
#define SYN_PRICE_FALL     4     // parts of the first price that did: what is tried then [set]

// --- swept memory prices, steps for a full memory (memory_prices.c) ---
#define SYN_SWEEP_FROM        0.125 // [set]
#define SYN_SWEEP_TO          64.0  // [set]
#define SYN_SWEEP_TIMES       2.0   // times, from one to the next [set]
#define SYN_SWEEP_TIMES_LARGE 8.0   // the same for large graphs [set]
#define SYN_SWEEP_FAR         1.03 // times the best: a plan that fits and is so slow is the last [tried]
#define SYN_AGAIN_MOST        0.25 // of a step: the most that recomputation takes [set]
#define SYN_SWEEP_FREE        8.0   // the only one where memory cost the best plan nothing [tried]

// --- micro-batches and recomputation (variants.c, few_layers.c, blocks.c) ---
#define SYN_BLOCK_GRAINS 1024         // parts of a capacity, in which blocks are chosen [oracle]
#define SYN_PATIENCE     3            // wishes in a row that are no faster: the last ones [tried]
#define SYN_ALIKE_SETS   2            // sets of as many blocks of each kind, elsewhere: no more of them [tried]
#define SYN_EFFORT_SHARE 1.1          // of a capacity: with every effort a plan takes so much less at most [tried]
#define SYN_EFFORT_FAR   1.5          // the same where the best takes SYN_TIGHT_FAR times what more memory would allow [tried]
#define SYN_WEARY        2            // numbers of micro-batches in a row, once one fits [set]
#define SYN_EFFORT_VAIN  2            // variants with every effort, one behind the other, that gain nothing: the last [tried]
#define SYN_TIGHT_FAR    2.0          // times what more memory would allow: not weary yet [set]
#define SYN_MAX_CHUNKS   32           // micro-batches; more where nothing fits [set]
#define SYN_CHUNKS_GAIN  0.02         // share of a memory: what more micro-batches must save then [set]
#define SYN_GIVE_UP_SIZE 1.2          // of a capacity: what shardings may bring down to it [set]
#define SYN_VARIANT_GAIN 1e-4         // share: less is no reason to do more work [set]
#define SYN_ENDS_BEHIND  1.03         // times the best variant: one so slow is not placed or proved [tried]
#define SYN_ORDER_GAIN   0.01         // share: a search with memory first that gains less is in vain [set]
#define SYN_ORDER_VAIN   3            // such variants, one behind the other: the last, unless memory costs much [tried]
#define SYN_ORDER_LAST   6            // such variants: the last, whatever memory costs [tried]
#define SYN_ORDER_LEAST  1e-3         // share of a step: memory that costs less is no reason for that search [set]
#define SYN_ORDER_FAR    1.2          // of a capacity: what takes more without, does not fit with it [set]
#define SYN_WORK         1e7          // states of all searches: what has a plan then begins no further variant or set [tried]
#define SYN_WORK_SETS    0.25         // of it: a large graph whose search took more tries no fewer devices [tried]
#define SYN_WORK_GLANCE  0.125        // of it: then more micro-batches are looked at, while they gain [tried]
#define SYN_WORK_TURN    0.0625       // of it: then another number of micro-batches has its turn [tried]
#define SYN_WORK_FIRST   0.75         // of it: nor a search with memory first on all devices, nor another number of micro-batches where turns left something [set]
#define SYN_WORK_MORE    0.05         // of it: a search that took less looks at each mesh alone, and finishes more plans in full [tried]
#define SYN_WISH_GAIN    0.03         // share: what a search gains on the promise of a wish [set]
#define SYN_WISH_SHARES  1, 0.95, 0.9 // of a capacity: what blocks are chosen for [set]

// --- bounds (bounds.c) ---
#define SYN_BOUND_ROUNDS   3    // bounds, each of a plan that the one before found [set]
#define SYN_BOUND_PLACES   64   // memory prices: of a class at a node, or at equal ones [set]
#define SYN_BOUND_SEARCHES 16   // that prove [set]
#define SYN_BOUND_GAP      2e-3 // share: of one search, and where cutting planes have met [set]
#define SYN_BOUND_BEYOND   2    // searches a little beyond those prices, for choices that fit [set]
#define SYN_BOUND_DEARER   1.25 // times: how much beyond [set]
#define SYN_BOUND_WIDE     2e-2 // share between bound and best plan: worth another look [set]
#define SYN_GAP_SAID       5e-4 // share: a part of the gap below is not named [set]
#define SYN_BOUND_AGAIN    5    // searches of that look [set]
#define SYN_BOUND_STEP     0.5  // from the best prices known to those that promise most [tried]
#define SYN_BOUND_MOST     1e6  // of the optimum: no feasible plan is so slow [set]
#define SYN_PRICE_BOUND    1e3  // optima for a full memory: no price is higher [set]
#define SYN_PRICE_WEIGHT   1e-9 // of a price in the objective: the smallest of equal ones [float]
#define SYN_WHAT_IF        0.1  // share more of a resource: what a report says it brings [set]

// --- prices of collectives (move_prices.c) ---
#define SYN_MOVE_SLOTS 1024 // a table begins with so many, and doubles [set]

// --- interpolated plans (interpolate.c) ---
#define SYN_MIX_FULL    1.0  // of the tightest capacity: memory that is aimed at [tried]
#define SYN_MIX_NEARLY  0.98 // the same for large graphs, where placement is slow [set]
#define SYN_MIX_ENOUGH  0.95 // of a capacity: these accept the first that takes more [set]
#define SYN_MIX_STEP    4.0  // times: memory is cheaper inside the run, dearer outside [set]
#define SYN_MIX_PAIRS   4    // pairs of plans to interpolate; one in large graphs [set]
#define SYN_MIX_RUNS    256  // runs of layers that grow from one place [set]
#define SYN_MIX_JUDGED  8    // plans simulated [tried]
#define SYN_MIX_SHALLOW 48   // layers: up to here runs grow from every layer [set]

// --- mixes of several plans (repair.c) ---
#define SYN_REPAIR_STATES 4    // states of a variable [set]
#define SYN_REPAIR_FRONT  48   // pairs of cost and bytes in a cell [tried]
#define SYN_REPAIR_CELLS  4096 // of a table [set]
#define SYN_REPAIR_WORK   2e6  // pairs and fronts in all [set]
#define SYN_REPAIR_TRIES  16   // plans simulated [tried]

// --- schedule (schedule.c, bucket.c) ---
#define SYN_FLIGHT        0.02  // of a capacity: collectives under way may hold so much [set]
#define SYN_FLIGHT_BUSY   2     // collectives that keep a stream busy [set]
#define SYN_LATENCY_SHARE 0.05  // of a bucket's time: latency, when it is large enough [set]
#define SYN_PLENTY        100.0 // such buckets: with more to send, each block is one [set]
#define SYN_BUCKET_BLOCKS 4     // blocks in a bucket [set]

// --- fusions and overlapped pairs (fuse.c, overlap_pairs.c) ---
#define SYN_FUSE_REACH  12    // instructions behind a fusion that are looked at [set]
#define SYN_FUSE_ROW    16384 // entries: longer rows do not stay in a multiprocessor's cache [set]
#define SYN_PAIR_REACH  24    // instructions behind a wait in which matmuls are looked for [set]
#define SYN_PAIR_WAITED 1e-5  // of the step: collectives waited for less have no pair [set]

// --- loops (roll.c) ---
#define ROLL_MAX_LEN   4096 // instructions of a block [set]
#define ROLL_FEW_TIMES 3    // repetitions; fewer need a longer block [set]
#define ROLL_LONG      12   // instructions: a block so long pays from two repetitions on [set]
#define ROLL_SAVES     6    // instructions that a loop saves at least [set]
#define ROLL_NAMELESS  30   // the same of what is no numbered layer [set]
#define ROLL_FEW       4    // repetitions: what lives longer is saved, not transient [set]
#define ROLL_PREFIXES  8    // prefixes of names that are counted [size]
#define ROLL_NUMBER    7    // digits of a layer's number [size]

// --- arena (arena_pack.c, arena_plan.c) ---
#define SYN_PACK_REPAIRS 24   // tries behind those in a fixed order [set]
#define SYN_PACK_CLOSE   1000 // no repairs within a thousandth of the bound [set]
#define SYN_PACK_WORK    4e8  // pairs of units that all repairs may look at [set]
#define SYN_PACK_PARTS   32, 8 // members of families in parts, where they do not fit whole [tried]
#define SYN_PACK_MOD     4    // places that a loop's buffers may share in turn [set]
#define SYN_PACK_BLOCK   64   // places whose lifetimes are compared at once [size]

// --- checker (certify/) ---
#define SYN_PROVED_SLOTS  3          // micro-batches of a plan that is proved; beyond, they repeat [set]
#define SYN_MODP_ELEMENTS 33554432.0 // 2^25: beyond, the modular run is left out [set]
#define SYN_MODP_ALWAYS   1e300      // elements: no limit, for the tests [set]
#define SYN_MODP_INPUTS   (1 << 20)  // tensors of one call [size]
#define SYN_MODP_RESET    64         // calls between two clearings of scratch memory [set]
#define SYN_MODP_UNCUT    2          // shrunken size of a factor that nothing cuts [set]
#define SYN_MODP_ROUNDS   200        // of shrinking, until all sizes agree [set]
#define SYN_MODP_RANKS    2          // ranks kept of those that are alike [set]
#define SYN_MODP_TRIES    24         // to keep unlike tables unlike [set]
#define SYN_MODP_FOLD     32         // 128-bit products between two reductions of a sum [size]
#define SYN_MODP_BUCKETS  1024       // of a hash table [size]
#define SYN_MODP_IGNORED  11         // one index in so many is the one that losses ignore [set]
#define SYN_MODP_WHOLE    1e15       // a number below, without a fraction, is an integer [float]
#define SYN_SHOWN_PARTS   8          // parts of a cut that a message prints [set]
// clang-format on

#endif
