// The declared space of one search: what forms every node may take, what states every tensor may be
// kept in, and what every choice costs. One mesh axis or two, jointly; palettes and class weights
// are given.
//
// Variables, as docs/theory.md section 5 says:
//     node      its form: none, one factor by one cut, or a set of partial operands
//     tensor    (parameters, inputs, constants, values with several consumers) the state it is kept
//     in, and for
//               parameters and large saved values a second copy
// Every cost is unary (op time, memory) or pairwise (conversions), so the additive optimum is found
// by min-sum elimination (solver/minsum.h). Tables are shared between equal nodes: equal layers
// have equal table pointers.

#ifndef HAP_SYNTH_SPACE_H
#define HAP_SYNTH_SPACE_H

#include "solver/minsum.h"
#include "synth/plan/program.h"
#include "synth/price/costs.h"
#include "synth/search/synth.h"
#include "synth/space/kinds.h"
#include "synth/space/partitions.h"

// The states one kind of tensor can have, and what moving between them costs.
typedef struct syn_states {
    int n;
    syn_state *s; // s[0] is R on every axis
    int n_ax[SYN_MAX_AXES];
    syn_axis_state *ax[SYN_MAX_AXES]; // states of each axis alone; ax[a][0] is R
    int16_t *of;   // [n_ax[0]][n_ax[1]] the state that two of them make, -1 if there is none
    double *cost;  // [n][n] weighted seconds along the best path, +inf if there is none
    int16_t *via;  // [n][n] next state on the path
    double *bytes; // [n] local bytes weighted by the memory prices, 0 without them
} syn_states;

typedef struct syn_form {
    syn_node_cut cut;
    uint16_t in[IR_MAX_IN], out[IR_MAX_OUT]; // states, as indices into the tensors' lists
} syn_form;

typedef struct syn_forms {
    int n;
    syn_form *form;
    double *cost; // weighted seconds, with what the optimizer state's memory costs
    double *sec;  // [n][classes of the mesh] seconds of the op alone
} syn_forms;

// What a tensor variable may be: kept in `state`, and in a second copy (-1 none).
typedef struct syn_keep {
    int16_t state, copy;
} syn_keep;

typedef struct syn_keeps {
    int n;
    syn_keep *keep;
    double *cost;
} syn_keeps;

typedef struct syn_space {
    hb_arena *arena;
    const ir_graph *g;
    const ir_factors *f;
    const cost_model *m;
    const syn_mesh *mesh;
    syn_costs *costs;
    const syn_palette *palette;
    syn_strategy strategy;
    const syn_options *opt;
    const syn_kinds *kinds;
    const double *weight;       // by class of the mesh, sums to 1
    double weight_comm;         // w_M
    const double *memory_price; // by class: seconds per byte, NULL none
    syn_states **states;        // by tensor
    syn_forms **forms;          // by node
    syn_keeps **keeps;          // by tensor; NULL where the tensor is no variable
    int *node_var, *tensor_var; // variable of the min-sum problem, -1
    syn_states **states_of;     // by kind of tensor
    syn_forms **forms_of;       // by kind of node
    syn_keeps **keeps_of;       // by kind of kept tensor
    int (*uses)[2];             // all uses sorted by tensor: {node, operand}
    int *first_use;             // by tensor, n_tensors + 1 entries: range in uses
    ms_problem problem;
} syn_space;

typedef struct syn_choice {
    int *form;       // by node
    syn_keep *keep;  // by tensor; {-1, -1} where it is no variable
    double additive; // the search's value
} syn_choice;

// NULL when some node has no form left, or a pinned tensor no state: *why names it, and what
// forbids it.
syn_space *syn_space_build(hb_arena *a, syn_costs *costs, const syn_palette *palette,
                           syn_strategy strategy, const syn_options *opt, const double *weight,
                           double weight_comm, const double *memory_price, hb_str *why);
ms_status syn_space_solve(hb_arena *a, const syn_space *s, syn_choice *out);
// The same space, in which one tensor (not the loss) is never moved from a state of its list
// directly to another.
syn_space *syn_space_without(hb_arena *a, const syn_space *s, int tensor, int from, int to);
// As syn_space_solve, but near enough the optimum is enough: out->additive <= *lower * (1 + gap),
// where that takes no more than a second or so of elimination; *lower is proved in any case. warm,
// if not NULL, starts from the searches of other weights and cuts, of the same kinds. repeats, if
// not NULL: repeated layers may be copies of one, near the optimum of fewer layers; *lower is then
// 0. It keeps what repeats for searches of the same kinds.
ms_status syn_space_near(hb_arena *a, const syn_space *s, double gap, ms_warm **warm,
                         const ms_tile **repeats, syn_choice *out, double *lower);

// The choice that an assignment of s->problem stands for (not its value).
void syn_choice_decode(hb_arena *a, const syn_space *s, const int *assignment, syn_choice *out);

// Why no choice exists: the pin and the op that share no state. Empty if that is not the reason.
hb_str syn_space_clash(hb_arena *a, const syn_space *s);

// The program of a choice: straight-line, every conversion explicit and waited for at once.
syn_program *syn_lower(hb_arena *a, const syn_space *s, const syn_choice *c);
// Additive price of a program's instructions under the space's weights: equals the choice's value.
double syn_additive(const syn_space *s, const syn_program *p);

// Pieces of the judge: prices one instruction; all but the ops (syn_lower prices those); scratch
// bytes of a collective.
void syn_price_one(syn_program *p, syn_costs *c, syn_instr *in);
syn_node_cut syn_cut_of_op(const syn_program *p, const syn_instr *in);
void syn_price_moves(syn_program *p, syn_costs *c);
void syn_price(syn_program *p, syn_costs *c);
int64_t syn_scratch_bytes(const syn_program *p, const syn_costs *c, const syn_instr *in);

// --- forms of collectives in a program (transport.c) ---
// What a START transfers, and how: as the costs are asked (costs.h).
syn_transfer *syn_transfers(hb_arena *a, const syn_program *p, const syn_instr *in);
syn_move syn_move_of(const syn_instr *in);
// Of what decides the price of a START of one tensor, form included.
uint64_t syn_move_key(const syn_program *p, const syn_instr *in);
// Gives a START of a list the cheapest form of one level, with its scratch.
void syn_choose_form(syn_program *p, const syn_costs *c, syn_instr *in);
void syn_set_form(syn_program *p, const syn_costs *c, syn_instr *in, cost_form form);
// When forms have changed: drops scratch that no collective has any more; puts what is written from
// other ranks into SEG_SYM, and what shares its bytes.
void syn_drop_scratch(syn_program *p);
void syn_place_sym(syn_program *p);
bool syn_has_pushes(const syn_program *p);
// Takes back pushes that take more memory than another form: what stands in for them has the form
// of the least scratch. Whether there was any.
bool syn_spare_scratch(syn_program *p, const syn_costs *c);

#endif
