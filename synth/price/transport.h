// Forms of collectives in a program: what each transfers, in which form, and which of its buffers
// lie in the symmetric segment for it.

#ifndef HAP_SYNTH_TRANSPORT_H
#define HAP_SYNTH_TRANSPORT_H

#include "synth/plan/program.h"
#include "synth/price/moves.h"

// What a START transfers, and how: as the costs are asked (moves.h).
syn_transfer *syn_transfers(hb_arena *a, const syn_program *p, const syn_instr *in);
syn_move syn_move_of(const syn_instr *in);
// Of what decides the price of a START of one tensor, form included.
uint64_t syn_move_key(const syn_program *p, const syn_instr *in);
int64_t syn_scratch_bytes(const syn_program *p, const syn_costs *c, const syn_instr *in);
// Gives a START of a list the cheapest form of one level, with its scratch. slack: as of
// syn_move_price.
void syn_choose_form(syn_program *p, const syn_costs *c, const syn_slack *slack, syn_instr *in);
void syn_set_form(syn_program *p, const syn_costs *c, syn_instr *in, cost_form form);
// When forms have changed: drops scratch that no collective has any more; puts what is written from
// other ranks into SEG_SYM, and what shares its bytes.
void syn_drop_scratch(syn_program *p);
void syn_place_sym(syn_program *p);
bool syn_has_puts(const syn_program *p);
// Takes back one-sided puts that take more memory than another form: what stands in for them has
// the form of the least scratch. Whether there was any.
bool syn_spare_scratch(syn_program *p, const syn_costs *c);

#endif
