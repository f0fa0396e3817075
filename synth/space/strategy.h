// Strategies.

#ifndef HAP_SYNTH_STRATEGY_H
#define HAP_SYNTH_STRATEGY_H

#include "ir/base/arena.h"

typedef enum {
    SYN_AUTO,
    SYN_DP_EVEN,
    SYN_DP_PROP,
    SYN_ZERO,
    SYN_TP,
    SYN_HAP,
    SYN_N_STRATEGIES
} syn_strategy;
const char *syn_strategy_name(syn_strategy s); // "auto", "dp-even", ...
bool syn_strategy_parse(hb_str s, syn_strategy *out);

#endif
