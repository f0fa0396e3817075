// What is assumed of a device, a link or a collective where it was not measured: name, value, unit
// and meaning, and where the value is from. A cluster file and its curves (`hapc profile`) take
// precedence. tests/house/constants.sh finds numbers of this kind that stand elsewhere.
//
//   [H200]     measured on H200s of one machine with NVLink; docs/benchmarks.md says how
//   [field]    usual for the kind of device
//   [guess]    not measured
//   [runtime]  of the runtime, which has the same number
//   [size]     room of a table
//   [float]    rounding of doubles

#ifndef HAP_COSTMODEL_DEVICE_DEFAULTS_H
#define HAP_COSTMODEL_DEVICE_DEFAULTS_H

// clang-format off
// --- ops (op_time.c) ---
#define COST_PEAK_SHARE      0.6  // of the peak that matmuls and attention reach [field]
#define COST_BANDWIDTH_SHARE 0.8  // of the memory's bandwidth that kernels reach [field]
// Convolutions of few channels a group leave a GPU's matrix units idle. ConvNeXt-T's, one channel a
// group and 7 x 7, reached 16, 16 and 14 TFLOP/s of 67: forward, by their input, by their weight.
#define COST_NARROW_CHANNELS 8    // of a group, from which on they do not [runtime]
#define COST_NARROW_SHARE    0.23 // of the f32 peak that those with fewer reach [H200]
// Rows of experts: a kernel sorts their numbers, one lists tiles, one gathers rows. Gathering took 4.5
// of 115 ms of a Mixtral's step on two H200s, at 3.4 TB/s, the matmuls 50.9 ms at 680 TFLOP/s.
#define COST_SORTS           3    // kernels before a product of experts [runtime]
#define COST_GPU_LAUNCH      2e-6 // s a kernel of a replayed step; H200s 1 to 1.6, called 5 [H200]
#define COST_CPU_LAUNCH      1e-6 // s a call [guess]

// --- collectives (collective.c, coll_time.c) ---
// B is what copies between peers reach. Of 370 GB/s between four H200s one copy at a time reached
// 330 to 384 (messages from 32 MiB) and one to each of three peers 200, NCCL 262 to 320.
#define COST_ONE_COPY      0.95   // of B: one copy of a rank in flight [H200]
#define COST_ALL_COPIES    0.54   // of B: one to every other member; between them linear [H200]
#define COST_LIBRARY_SHARE 0.8    // of B: NCCL's forms [H200]
#define COST_PUT_FIRST     7e-6   // s: launch of a copy, a flag raised there and seen [H200]
#define COST_PUT_MORE      5e-6   // s: each copy in flight but the first [H200]
#define COST_PUT_RUN       0.5e-9 // s a run of bytes: one a clock of a copy engine, 1.98 GHz [H200]
#define COST_PASSED_SHARE  0.6    // of what relays could save, simulated (put_turns.c) [guess]
// Three copies in flight took 0.97 to 1.63 times what one took, by which copy engines the driver
// gave the streams: the same form in one process the one, in the next the other.
#define COST_BAD_LUCK 1.2 // times: several copies in flight, against their curve [H200]
#define COST_NO_LUCK  1.1 // times one copy in flight: then they are not faster [H200]

// --- launch overhead of a collective in a step (coll_time.c) ---
// Members come apart on their way to it, and starting and waiting take time. On four H200s Zero
// took 2.35 ms more than dp-even of BERT with 146 collectives more and 2.36 of GPT-2 with 96 more,
// of which contention is 1.4 and 1.5. Steps in 53 to 340 graphs between one-sided puts (tp of BERT,
// GPT-2, GPT-2 XL) took 50 to 142 us more for each graph; called one by one, GPT-2 XL 52 us for
// each put and pair.
#define COST_LAUNCH_OVERHEAD 12e-6 // s a collective of GPUs; of CPUs 0 [H200]
#define COST_PUT_BREAK       60e-6 // s more of a one-sided put, which breaks a captured step [H200]

// --- contention (curves.c, pair_time.c): how many times slower, GPUs; of CPUs 1 ---
// Beside an all-reduce of NCCL, whose kernel holds processors that a matmul's last wave then waits
// for: so also an all-reduce's chunks in an overlapped pair. Copies take no processor: matmuls
// beside them took 0.98 to 1.06 of the longer (TP 4 and 8).
#define COST_LIBRARY_COMPUTE       2.3  // times: computing beside NCCL [H200]
#define COST_LIBRARY_COMMUNICATION 1.03 // times: NCCL beside computing [H200]
#define COST_PUT_CONTENTION        1.05 // times: computing and copies beside each other [H200]

// --- overlapped pairs (pair_team.c, pair_time.c) ---
// On H200s the next chunk began 5 us behind the one before, 15 us behind the end of its message
// (puts, TP 4).
#define COST_PAIR_GAP          5e-6  // s between two chunks' matmuls [H200]
#define COST_PAIR_FLAG         15e-6 // s from a message's end to the matmul that reads it [H200]
// A gather by puts of two H200s takes 11.6 us however few its bytes, and each member more 4.4: so long
// the link has a message, the rest goes on beside the next one.
#define COST_PAIR_AHEAD        6e-6  // s from when the link is free of a message until it has come [H200]
#define COST_PAIR_LAUNCH_SHARE 2     // CPUs: the gap is a launch by this, the flag a launch [guess]
// Matmuls that rest in between took 0.86 to 0.95 of their curves on four H200s (24 shapes), 0.93 to
// 1.08 on two whole and two of 64 processors (6 shapes). It matters little: of 22 shapes of the
// latter, chunks chosen at 0.88 take 0.02 to 0.13 % more than the best of eight lists, on average.
#define COST_PAIR_QUICKEST 0.88 // of a matmul's curve, where it rests in between [H200]
// Messages of rows that have just been made, beside the next matmul: 1.2 to 1.3 times their curve
// where the transfer binds. Chunks of reduce-scatters chosen with it take 1.1 % more than the best
// measured instead of 2.9 (ten shapes, three calls). It is not in the price: GPT-2 XL, whose
// reduce-scatters it made too dear for a pair, is 2.6 ms faster with them.
#define COST_FRESH_PUT 1.2 // times: such messages, when chunks are chosen; of CPUs 1 [H200]
// A device bound by power draws less while it waits, and its matmul may draw more: a share s of the
// time at a third of the power leaves (1 - s/3) / (1 - s), and power goes with the cube of the
// clock. Sequences on H200s took at most 3 to 10 % of the matmul less than the sum; those with a
// matmul under 0.1 ms took 0 to 8 % more.
#define COST_IDLE_POWER (1.0 / 3) // of a device's power, while it waits [field]
#define COST_COOLEST    0.93      // of a matmul's time at least, after a rest [H200]
#define COST_RESTS_FROM 1e-4      // s of a matmul: shorter ones are not quicker after one [H200]
// None of the pairs chosen at these margins lost in the turns of four H200s; at 5 % GPT-2 XL does
// without pairs whose step is 2 ms quicker. All 27 chunkings of an all-reduce by the library lost,
// priced at 0.98 to 1.15 of the sequence. By one-sided puts those of two H200s took 0.75 to 0.97 of
// it (10 shapes), priced at 0.91 and more.
#define COST_PAIR_MARGIN_CPU   0.02 // of the sequence, by which a pair must be faster [guess]
#define COST_PAIR_MARGIN_GPU   0.03 // the same on GPUs [H200]
#define COST_PAIR_MARGIN_WHOLE 0.1  // the same of an all-reduce by the library, GPUs [H200]

// --- pairs as a list of tiles (pair_list.c, pair_team.c) ---
#define COST_TILE_ARCH  90    // of devices that have the kernels: sm_90 [runtime]
#define COST_TILE_MEMBERS 8   // ranks of such a pair, at most [runtime]
// Lists of 72 shapes in pairs of two H200s, the best of each form (bench/gpu lists --forms), against
// the class's quickest matmul of a profile, which never rests: price / measured is 1.00 to 1.02 where
// a list is planned, deviation 0.025 to 0.04 (bench/results/2026-11-23-lists-h200x2.txt).
#define COST_TILE_START 5e-6  // s from a launch to its first tiles, and behind its last [H200]
#define COST_TILE_FLAG  2e-6  // s from a part's end to the tiles that wait for it [H200]
#define COST_TILE_MADE  3e-6  // s from a chunk's tiles to the copy that sends it [H200]
#define COST_TILE_FLOPS 2e12  // flops of a matmul that is as fast as there are [set]
#define COST_TILE_THIN  2000  // flops a byte of it [set]
#define COST_TILE_IDLE  0.3   // of its clock that a device gains where no processor is at work [H200]
#define COST_TILE_SPEED {1.085, 1.07, 0.995, 1.085, 1.08, 0.995, 1.05} // of it, by form [H200]
// Lists whose kernel stores parts where they go. By themselves stores of 128 MiB and more take 5 to
// 9 % longer than copies (bench/results/2026-11-21-push-ways-h200x4.txt). In pairs on four, where
// they are what lasts, more: priced at 1.07 reduce-scatters took 1.15 to 1.30 of their price (one
// 1.57), all-reduces 1.14 to 1.20 (14 lists of five shapes, 2026-11-28-h200x4.txt).
#define COST_STORE_COLS   64         // of rows that are stored, multiples of these [runtime]
#define COST_STORE_LONGER 1.25       // times a copy's seconds, of a large message [H200]
#define COST_STORE_LARGE  (64 << 20) // bytes of one [set]
#define COST_STORE_FLAG   2e-6       // s from a part's end to the tiles that wait for it [guess]
// Of their chunks' price, by which lists must be cheaper. All-gathers' took up to 15 % more than
// chunks that were priced alike, 6.5 % on the average of 13 on four; reduce-scatters' 2 %; of
// all-reduces' none lost.
#define COST_TILE_GATHER  0.07 // [H200]
#define COST_TILE_SCATTER 0.01 // [H200]

// --- memory ---
#define COST_LOCAL_ALIGN   256       // bytes: of a buffer in SEG_LOCAL [runtime]
#define COST_SYM_ALIGN     4096      // bytes: of a buffer in SEG_SYM [runtime]
#define COST_SCRATCH_ALIGN 256       // bytes: of a part of scratch, HAP_SCRATCH_ALIGN [runtime]
#define COST_CUDA_ALIGN    256       // bytes: of a part of CUDA's workspace [runtime]
#define COST_CUDA_SORT     (1 << 20) // bytes: of cub's sort in a lookup's gradient [runtime]

// --- limits ---
#define COST_MAX_FORMS      24        // forms of one collective that are priced [size]
#define COST_MAX_STREAMS    16        // streams of communication beside one op [size]
#define COST_MAX_RANKS      (1 << 16) // ranks of a measured collective [size]
#define COST_MAX_CONTENTION 1e3       // times: a larger figure in a file is an error [guess]
#define COST_ROUNDING       1e-9      // of a sum: the same terms in another order [float]
#define COST_ROUNDS         3         // simulated of many: the first, the second, the last [size]
#define COST_ROUNDING_FEW   1e-12     // of a sum of few terms [float]
// clang-format on

#endif
