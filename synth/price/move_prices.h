// Prices of collectives by what decides them: tables of the cuts, bytes, and runs of memory. Most
// tensors move as others do, on a mesh and on that of the next variant of a step, so that of
// 355,000 prices of GPT-3's search on gpu1024 44,000 are made.

#ifndef HAP_SYNTH_MOVE_PRICES_H
#define HAP_SYNTH_MOVE_PRICES_H

#include "synth/price/moves.h"

typedef struct syn_move_prices syn_move_prices;

// For meshes of one cluster, priced by one cost model.
syn_move_prices *syn_move_prices_new(hb_arena *a);
// As syn_move_price of a collective by the library's forms, without slack; c->prices, if there is
// one, keeps what it finds.
void syn_move_price_known(syn_costs *c, int tensor, const syn_state *a, const syn_state *b,
                          syn_move *move);

#endif
