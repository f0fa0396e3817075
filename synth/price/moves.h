// Moves of tensors between states: what leads where, in which form, and what it costs.

#ifndef HAP_SYNTH_MOVES_H
#define HAP_SYNTH_MOVES_H

#include "synth/price/costs.h"

// --- moves ---

typedef enum { SYN_MOVE_NONE, SYN_MOVE_SLICE, SYN_MOVE_PARTIAL, SYN_MOVE_COLL } syn_move_kind;

// One direct change of a tensor's state: on one axis, or a collective over both.
typedef struct syn_move {
    syn_move_kind kind;
    unsigned axes; // mask
    cost_coll coll;
    bool reduce_max;
    cost_form form;   // filled by syn_move_price
    double sec;       // COLL: of the slowest group, packing included
    double sec_by[2]; // by the cheapest form of the library; by one-sided puts, +inf: none
    int64_t scratch;  // bytes
} syn_move;

// What leads from a to b directly; kind NONE if nothing does.
syn_move syn_move_between(const syn_costs *c, int tensor, const syn_state *a, const syn_state *b);
// Chooses the form of a collective: the one that costs least, with what may hide at a discount.
void syn_move_price(const syn_costs *c, int tensor, const syn_state *a, const syn_state *b,
                    const syn_slack *slack, syn_move *move);
// What decides a collective's price without slack, but for the mesh and its links: moves of equal
// keys take the same.
uint64_t syn_price_key(syn_costs *c, int tensor, const syn_state *a, const syn_state *b,
                       const syn_move *move);
// The slack by which forms are chosen: NULL where what hides takes nothing.
const syn_slack *syn_taking(const syn_slack *slack);
// What a collective over a mask of axes costs that takes so long: of what may hide, a share, and
// what it takes from the computing that hides it. slack NULL: nothing hides.
double syn_sending_seconds(const syn_costs *c, unsigned axes, bool put, double sec,
                           const syn_slack *slack, int tensor);

// One tensor of a collective's list.
typedef struct syn_transfer {
    int tensor; // of the graph
    ir_dtype dtype;
    syn_state from, to;
} syn_transfer;
// Seconds of a collective over a list, on the slowest group, packing included. All-reduces of the
// library travel as one message; other tensors, and one-sided puts, follow each other.
double syn_list_seconds(const syn_costs *c, const syn_move *move, const syn_transfer *list, int n);
// The same of every form that there is between the members; +inf where one does not apply.
void syn_list_forms(const syn_costs *c, const syn_move *move, const syn_transfer *list, int n,
                    cost_forms *out);
int64_t syn_list_scratch(const syn_costs *c, const syn_move *move, const syn_transfer *list, int n);
cl_link syn_axes_link(const syn_costs *c, unsigned axes); // the slowest group's
int syn_group_size(const syn_mesh *m, unsigned axes);

#endif
