// A plan: the SPMD program as data. What the simulator prices, the arena places, the checker proves
// and emit prints. Every repeated block stands unrolled in `instr`; `loops` says which runs repeat,
// so that emit can print them as functions and the arena can place them once. The work of a
// micro-batch stands once, however many there are (syn_slot_of): what it makes lies on the same
// bytes in each, and its sums, read and written in place, last from before the first to behind the
// last.
//
// Tensors here are *buffers*: one value of the graph in one state. A value that exists in two
// states has two buffers. Loop-carried buffers (parameters, moments, buffers) are read and written
// in place.

#ifndef HAP_SYNTH_PROGRAM_H
#define HAP_SYNTH_PROGRAM_H

#include "costmodel/cost.h"
#include "ir/fold.h"
#include "synth/plan/search_limits.h"
#include "synth/plan/state.h"

typedef enum {
    SYN_ROLE_VALUE, // computed in the step
    SYN_ROLE_HOME,  // parameter, moment, buffer: home state, lives from step to step
    SYN_ROLE_INPUT, // filled before each step
    SYN_ROLE_CONST,
    SYN_ROLE_SCRATCH // of a collective: flat bytes, value == -1
} syn_role;

typedef struct syn_tensor {
    int value; // graph tensor whose value it holds; HOME: the parameter (before and after the
               // update)
    syn_role role;
    syn_state state;
    ir_dtype dtype;
    hb_str name; // C identifier, unique in the program. Filled by syn_name_buffers
    bool sym;    // lies in SEG_SYM: a transport writes into it from another rank
    bool ring;   // lies in each place of a stage's ring (syn_program). Filled by syn_arena
    int64_t bytes[CL_MAX_CLASSES]; // largest local part in the class, unpadded
    int64_t off[CL_MAX_CLASSES];   // by class; SEG_SYM: the same for all. Filled by syn_arena
    int family, index; // repeated buffers (loops): member `index` of family, -1 if none (roll.c)
} syn_tensor;

typedef enum {
    SYN_OP, // a graph node: out and in are its outputs and operands (optional ones left out at the
            // end)
    SYN_SLICE,   // hap_cut: whole -> cut
    SYN_PARTIAL, // hap_partial: whole -> partial
    SYN_START,   // a collective over lists: in[i] -> out[i]
    SYN_WAIT
} syn_instr_kind;

typedef struct syn_instr {
    syn_instr_kind kind;
    int node; // OP: its graph node. Others: the node they serve (headings, prints)
    int n_out, n_in;
    int *out, *in; // tensor indices of the program
    ir_turn turn;  // before, in or behind the micro-batches; or among them (syn_once)
    // START
    cost_coll coll;
    cost_form form;
    bool reduce_max;
    unsigned axes;
    int scratch; // tensor index or -1
    // WAIT
    int start;                  // index of its START
    double sec[CL_MAX_CLASSES]; // predicted, of all micro-batches together: OP, SLICE, PARTIAL by
                                // class; START sec[0] = transfer + pack
} syn_instr;

// instr[first .. first + len * count) is `count` repetitions of `len` instructions with the same
// kinds, ops, attributes (but the dropout key) and states; slot j of repetition i uses other
// tensors, or the same one in all repetitions. A WAIT inside may belong to a START of another
// repetition, of another loop or of none; `start` says which for each repetition by itself.
typedef struct syn_loop {
    int first, len, count;
    hb_str name; // "h" -> functions h_forward, h_backward
    int dir;     // -1: repetition r is the loop's layer count - 1 - r (backward); 1: layer r
} syn_loop;

// Buffers that repeat, in the order of the layers: member k of a family lies at base + (k % mod) *
// stride. mod 1: transient inside a repetition; 2: handed to the next; up to 4: in flight for
// longer; count: saved. All members have one role, dtype, state, size, segment and initial value.
// Families may share bytes (views, all-reduces in place). syn_roll fills count and member,
// syn_arena mod and stride.
typedef struct syn_family {
    int count, mod;
    int *member; // tensor index of member k
    int64_t stride[CL_MAX_CLASSES];
} syn_family;

// Instructions that one kernel does on a GPU (fusion_parts.h).
typedef struct syn_fusion {
    int first, len;
    int kernel;                   // from 0; "k1" and so on in what is printed
    uint8_t kept[SYN_MAX_FUSION]; // by member: bit o, its output o is written to memory
} syn_fusion;

// A collective beside matmuls, in chunks of rows (overlap_pairs.h).
// A pair as one list of tiles (hap_tiles of runtime/hap/runtime.h). how: bits, as there.
enum {
    SYN_TILE_TURNS = 1 << 0,
    SYN_TILE_SUMS = 1 << 1,
    SYN_TILE_BY_ROWS = 1 << 2,
    SYN_TILE_FIRST = 1 << 3,
    SYN_TILE_STORES = 1 << 4,
    SYN_TILE_PARTS = 1 << 5
};
typedef struct syn_tiles {
    int rows, cols; // of a tile
    unsigned how;
    int n_chunks; // 0: no list
    int (*chunk)[3];
    double total; // predicted seconds
} syn_tiles;

typedef struct syn_pair {
    int first, len; // start, wait, matmuls; or matmul, start
    cost_form form; // of the collective
    int n_chunks;
    int (*chunk)[3]; // {distance, weight, via}
    double chunked;  // predicted seconds in these chunks
    syn_tiles tiles; // by which it is planned if that is SYN_TILE_FIRST
    // As planned. Predicted seconds, from the begin on: until a class's matmuls are done; of these
    // computing; of these before anything has arrived; until all is done; of the busiest link; of
    // the members one after the other, in the form the collective would have alone.
    double end[CL_MAX_CLASSES], busy[CL_MAX_CLASSES], own[CL_MAX_CLASSES], total, transfer,
        sequential;
} syn_pair;

// A part of a stage's slot (ir/stages.h): of micro-batch m, forward (IR_SLOT), backward, or its
// weight gradients.
typedef struct syn_slot_part {
    int m;
    ir_turn turn;
} syn_slot_part;

typedef struct syn_program {
    hb_arena *arena;
    const ir_graph *g;
    const ir_factors *f;
    const cl_cluster *cluster;
    syn_mesh *mesh;
    HB_VEC(syn_tensor) tensors;
    HB_VEC(syn_instr) instr;
    HB_VEC(syn_loop) loops; // in order, disjoint
    HB_VEC(syn_family) families;
    HB_VEC(syn_fusion) fusions; // in order, disjoint, in no part of two repetitions
    HB_VEC(syn_pair) pairs;     // as fusions, and in none of them
    int *home;                  // by graph tensor: HOME, INPUT or CONST buffer, -1
    int loss;                   // buffer of the loss, state R
    int *grad; // by graph tensor (parameter): buffer of its gradient at the end, or -1
    bool keep_grads;
    bool has_sym; // some buffer lies in SEG_SYM (transport.c)
    bool no_put;  // was made without one-sided puts, for want of memory
    int64_t sym_bytes, local_bytes[CL_MAX_CLASSES]; // arena
    // Of a stage. What parts of its slot leave for later ones lies g->depth times one behind the
    // other, at the end of SEG_LOCAL: micro-batch m in place m % depth. Its first byte and the
    // bytes of a place; in which order parts are done, empty: one micro-batch after the other.
    int64_t ring_at[CL_MAX_CLASSES], ring_bytes[CL_MAX_CLASSES];
    HB_VEC(syn_slot_part) order;
    int64_t peak_bytes[CL_MAX_CLASSES]; // sym + local
    int64_t padded_bytes[CL_MAX_CLASSES],
        work_bytes[CL_MAX_CLASSES]; // GPUs: beside it (workspace.h)
    const char *dump_after; // letters of the passes behind which it is printed (passes.h); NULL
    hb_str dumps;           // what was printed
    hb_str strategy;        // which strategy found it
    bool values_run; // its certificate has the modular run (theory section 6), for once proved
} syn_program;

// instr[first .. end) is done `times` times in a step, once for each micro-batch, but what belongs
// before the micro-batches (a wait for what the first one needs later) in the first alone, and what
// belongs behind them (reductions of sums) in the last, beside what is left of the backward pass:
// syn_once. times 1: there are none, and the range is empty.
// back: where the backward part of a stage's slot begins, weights: where weight gradients do that
// are apart; end, where there are no such parts.
typedef struct syn_slot {
    int first, end, times, back, weights;
} syn_slot;
static inline syn_slot syn_slot_of(const syn_program *p)
{
    syn_slot s = {0, p->instr.n, p->g->micro_batches, 0, 0};
    if (s.times < 2) return (syn_slot){0, 0, 1, 0, 0};
    while (s.first < p->instr.n && p->instr.p[s.first].turn == IR_BEFORE)
        s.first++;
    while (s.end > s.first && !ir_in_slot(p->instr.p[s.end - 1].turn))
        s.end--;
    for (s.back = s.first; s.back < s.end && p->instr.p[s.back].turn != IR_SLOT_BACK;)
        s.back++;
    for (s.weights = s.back; s.weights < s.end && p->instr.p[s.weights].turn != IR_SLOT_WEIGHTS;)
        s.weights++;
    return s;
}
// The part that an instruction of a range with slots stands in, by its place.
static inline ir_turn syn_part_at(const syn_slot *s, int instr)
{
    if (s->times < 2 || instr < s->first) return IR_BEFORE;
    return instr < s->back      ? IR_SLOT
           : instr < s->weights ? IR_SLOT_BACK
           : instr < s->end     ? IR_SLOT_WEIGHTS
                                : IR_AFTER;
}
// Is what is made at one instruction and last read at another left by a part of the slot for a
// later one?
static inline bool syn_waits_in_ring(const syn_slot *s, int made, int read)
{
    ir_turn by = syn_part_at(s, made), reads = syn_part_at(s, read);
    return by == IR_SLOT ? reads > by : by == IR_SLOT_BACK && reads == IR_SLOT_WEIGHTS;
}
// Is an instruction of the range done in the first or the last micro-batch alone?
static inline bool syn_once(const syn_program *p, const syn_slot *s, int instr)
{
    return !ir_in_slot(p->instr.p[instr].turn) && instr >= s->first && instr < s->end;
}
// How often an instruction is done in a step.
static inline int syn_instr_slots(const syn_program *p, const syn_instr *in)
{
    return ir_in_slot(in->turn) ? p->g->micro_batches : 1;
}
// The same for all layers that it stands for: what it moves stands for so many on average.
static inline double syn_instr_times(const syn_program *p, const syn_instr *in)
{
    double sum = 0;
    if (in->kind == SYN_OP) return ir_node_times(p->g, in->node);
    for (int k = 0; k < in->n_in; k++)
        sum += ir_tensor_times(p->g, p->tensors.p[in->in[k]].value);
    return sum / in->n_in * syn_instr_slots(p, in);
}

#endif
