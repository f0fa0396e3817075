// How long and how large: op times by device class, collective times and scratch by form, and the
// simulation of events on two streams. Knows devices and bytes, no plan.
//
// Formulas: docs/theory.md section 3. Without measured curves: op time = max(flops / (0.6 peak),
// bytes / (0.8 bandwidth)) + launch.

#ifndef HAP_COSTMODEL_COST_H
#define HAP_COSTMODEL_COST_H

#include "clusters/cluster.h"
#include "costmodel/device_defaults.h"
#include "ir/graph.h"

typedef enum { COST_F32, COST_TF32, COST_BF16 } cost_math;

// Measured curves (`hap.curves`, docs/formats.md); NULL = formulas only. Size of an op: flops for
// the ops that ops.def counts as DENSE or SDPA, bytes for others (costmodel/curve.h).
typedef struct cost_curves cost_curves;
cost_curves *cost_curves_read(hb_arena *a, const char *path, hb_diag *d);
// Fills what the curves know of the classes of a cluster: compute_contention to fresh_put. What the
// cluster file says itself stays.
void cost_apply_curves(cost_curves *k, cl_cluster *c);

typedef struct cost_model {
    const cl_cluster *cluster;
    cost_curves *curves; // may be NULL; of this cluster (looks names up when first asked)
    cost_math math;
    // Of a stage's machines (ir/stages.h): bytes/s that a device has of its machine's link to other
    // stages, for what a `recv` gets; 0: not counted.
    double port_bandwidth;
} cost_model;

// Seconds of one op on one device of class c. The peak of m->math applies to dense ops (where the
// class has it, else its f32 peak), the f32 peak to all others. No work, no time: a rank with zero
// rows does not launch.
double cost_op(const cost_model *m, int cls, ir_op op, double flops, double bytes);
// The same at least, where it is a convolution of so few channels a group that a GPU's matrix units
// do not take it. With a curve of its own: nothing.
double cost_op_narrow(const cost_model *m, int cls, ir_op op, double flops);
// More, where its rows are first laid by expert: so many bytes, read and written. With a curve of
// its own: nothing.
double cost_op_gathered(const cost_model *m, int cls, ir_op op, double bytes);
// What its parts take together on devices of class c at least, however the op is cut, but for
// *launch, which every device with a part pays.
double cost_op_least(const cost_model *m, int cls, ir_op op, double flops, double bytes,
                     double *launch);
// Ops of `sec` seconds together, n of them with any work, as one kernel on a device of class c that
// moves `moved` bytes, `saved` fewer than they do. A CPU runs them one by one.
double cost_fused(const cl_class *c, double sec, int n, double saved, double moved);
// Bytes that such a kernel moves.
double cost_stream(const cl_class *c, double bytes);
double cost_launch(const cost_model *m, int cls);
// How many times slower the class computes than its curves say.
double cost_slowdown(const cl_class *c);
double cost_copy(const cost_model *m, int cls, double bytes); // inside its memory
bool cost_op_measured(const cost_model *m, int cls, ir_op op);

typedef enum {
    COST_ALL_GATHER,
    COST_REDUCE_SCATTER,
    COST_ALL_REDUCE,
    COST_ALL_TO_ALL,
    COST_RESHARD
} cost_coll;
// Same order as hap_form in runtime/hap/runtime.h.
typedef enum {
    COST_EVEN,
    COST_PADDED,
    COST_GROUPED,
    COST_SENDRECV,
    COST_EVEN_FLAT,
    COST_FLAT,
    COST_TWO_LEVEL,
    COST_PUTS // COST_PUT(copies): copies into the other members' memory, so many in flight
} cost_form;
#define COST_PUT(copies) ((cost_form)(COST_PUTS | (unsigned)(copies) << 4))
typedef struct cost_form_text {
    char s[20];
} cost_form_text;
const char *cost_coll_name(cost_coll k);
cost_form_text cost_form_name(cost_form f); // "even", "put(2)"
// The other way: by names of the forms up to COST_PUTS, that with its copies behind it.
bool cost_form_read(hb_str s, const char *const name[COST_PUTS + 1], cost_form *f);
bool cost_form_exists(cost_coll k, cost_form f);
bool cost_is_put(cost_form f);
int cost_copies(cost_form f); // of a one-sided put

// One collective on n ranks. The tensor is [outer, size, inner bytes] with the middle factor cut by
// table (and by table2 afterwards for RESHARD; ALL_TO_ALL: table cuts the source, table2 the
// result, of the *other* factor, and `bytes` are spread accordingly).
typedef struct cost_entries { // of one table
    bool known;
    int64_t sum, most, least;
} cost_entries;
typedef struct cost_shards {
    int n;                 // ranks in the group
    const int64_t *table;  // entries of the cut factor per rank; NULL for ALL_REDUCE
    const int64_t *table2; // RESHARD, ALL_TO_ALL
    double bytes;          // whole tensor
    // Runs of memory that the parts of one coordinate lie in, all members' tensors whole: what
    // stands before the cut factor (table / table2). 1: nothing, so that no pack is needed; 0:
    // something, not counted.
    double apart, apart2;
    int64_t item; // bytes of an element (EVEN_FLAT and TWO_LEVEL cut by elements); 0 = 4
    // TWO_LEVEL, which does not apply where n_inner is 0: ranks inside (n is a multiple), the links
    // inside and between (n_inner groups at once).
    int n_inner;
    cl_link inner, between;
    cost_entries entries, entries2; // of table and table2, once cost_measure was called
} cost_shards;
// For shards that are priced more than once: looks through the tables, so that the calls below need
// not.
void cost_measure(cost_shards *s);
// Seconds without pack and unpack; +inf where the form does not apply (EVEN on unequal shards,
// one-sided puts where the members are no peers).
double cost_collective(cost_coll k, cost_form f, const cost_shards *s, cl_link link);
// The whole tensor's bytes that would take as long with even shards (RESHARD: what the busiest rank
// sends or receives), by what the form moves.
double cost_even_bytes(cost_coll k, cost_form f, const cost_shards *s, cl_link link);
// Bytes that pass through memory for packing and unpacking, and for the sums of received parts, on
// the busiest rank.
double cost_pack_bytes(cost_coll k, cost_form f, const cost_shards *s);
// Runs of memory, one after the other, that the busiest rank's parts for others come from or
// go to; 0 where that is not counted or parts are whole.
double cost_runs(cost_coll k, const cost_shards *s);
// Scratch bytes the runtime needs (docs/formats.md, "Scratch": the same rule as
// runtime/core/scratch.c).
int64_t cost_scratch(cost_coll k, cost_form f, const cost_shards *s);

// Forms of a collective, and what each takes (+inf: does not apply).
typedef struct cost_forms {
    int n;
    cost_form form[COST_MAX_FORMS];
    double sec[COST_MAX_FORMS];
} cost_forms;
// Those that are looked at among n ranks: of the library; then, with `one-sided puts`, 1, n - 1,
// and powers of two between them of copies in flight. What lies between comes last: where it was
// not measured it takes what one before it does.
cost_forms cost_forms_of(cost_coll k, int n, bool with_puts);
// Index of the cheapest; of equal ones, up to rounding, the first, so that even shards take the
// native form.
int cost_cheapest(const cost_forms *x);

// How the members' memory is read and written in pieces: bytes/s, seconds a run of a one-sided put
// and of packing; of the slowest of the classes that were added, from {0}.
typedef struct cost_memory {
    double bandwidth, run_put, run_pack;
    double launch_overhead[2]; // of a collective: of the library, by one-sided puts
} cost_memory;
void cost_memory_add(cost_memory *x, const cl_class *c);
// Seconds that a collective takes in a step beyond its time back to back: the members of a class
// come apart on their way to it, and starting and waiting takes time; more of a one-sided put,
// where a captured step breaks.
double cost_launch_overhead(const cl_class *c, bool put);
// Seconds with pack and unpack: by the curve of kind, form, n and axis kind at cost_even_bytes, or
// by the formulas above where there is none. A curve has the packing that a cut of the leading
// factor needs; what others need beyond that passes at the memory's bandwidth. No shorter than what
// run by run takes.
double cost_form_seconds(const cost_model *m, cost_coll k, cost_form f, const cost_shards *s,
                         cl_link link, const cost_memory *memory);
// By a curve of its own; with any number of ranks, all copies in flight of all.
bool cost_coll_measured(const cost_model *m, cost_coll k, cost_form f, int n, bool crosses);

// --- simulation ---
// Events in program order, the same order on every class. COMPUTE runs on each class for
// sec[class]. START hands a collective to the communication stream: it begins when every class has
// reached it, when the stream is free, and takes sec[0]. WAIT blocks each class until event `of`
// has ended.
// PAIR is a START and matmuls that overlap with it (overlap.h): when every class has reached it
// and, for a consumer, the stream is free, each class goes on `sec` later, of which it computes
// `busy`, the last of it at the end; what it computes before anything has arrived, `own`, it may
// have done by then where it was there earlier; a producer's class goes on at once, computes for
// `sec`, and its transfers have ended `total` after all had reached it, or later as the stream was
// taken. MEMBER of a pair is in the pair's time.
typedef enum { COST_COMPUTE, COST_START, COST_WAIT, COST_PAIR, COST_MEMBER } cost_event_kind;
typedef struct cost_pair_event {
    bool consumer;
    double busy[CL_MAX_CLASSES], own[CL_MAX_CLASSES], transfer, total;
    int shown; // member at which the times of its computing are kept
} cost_pair_event;
typedef enum { COST_EACH_ROUND, COST_FIRST_ROUND, COST_LAST_ROUND } cost_round;
typedef struct cost_event {
    cost_event_kind kind;
    int of;                     // WAIT: index of the START
    double sec[CL_MAX_CLASSES]; // COMPUTE, PAIR: by class; START: sec[0]
    const cost_pair_event *pair;
    int stream;       // START, PAIR: communication stream (one per axis)
    bool put;         // START: by copies, which take no processor
    bool quiet;       // START: nothing slows beside it
    cost_round round; // of events gone through several times
} cost_event;
typedef struct cost_timeline {
    double total;                   // seconds, all classes done
    double busy[CL_MAX_CLASSES];    // compute seconds, contention included
    double stalled[CL_MAX_CLASSES]; // waiting for communication or for other classes: total - busy
    double comm,
        hidden; // communication seconds; of these hidden behind compute (mean over classes)
    double *begin, *end; // by event; COMPUTE: [event * n_classes + class]; others at class 0
    double round;        // seconds from one round to the next, of events gone through several times
    double last;         // when the last round begins
} cost_timeline;
// How many times slower each becomes beside the other, at least 1.
typedef struct cost_contention {
    double compute, communication;
} cost_contention;
// A class of devices beside a collective of the library, and beside a one-sided put. Not measured:
// as in device_defaults.h, of CPUs 1; one-sided puts no more than the library.
typedef struct cost_contentions {
    cost_contention of[2]; // [is a one-sided put]
} cost_contentions;
cost_contentions cost_contentions_of(const cl_class *c);
// Whether nothing slows down beside a collective between machines, if that is so of all members:
// the library takes little of a device while it waits for a network. Not where it was measured.
bool cost_quiet_network(const cl_class *c);
// beside: by class; NULL: nothing slows down. A collective takes sec[0] where no class computes
// beside it, and ends for all when it has ended for the class that computed most.
// again: events that are gone through several times, and what is started there is waited for there,
// but for what is of one round alone; NULL: none. The first two rounds are simulated and the last
// one; those between take what the second took: exact where the second leaves the classes as far
// apart as the first did. Times kept are the last's.
typedef struct cost_again {
    int first, end, times; // of the events
} cost_again;
void cost_simulate(hb_arena *a, int n_classes, const cost_contentions *beside, const cost_event *e,
                   int n, const cost_again *again, bool keep_times, cost_timeline *t);

#endif
