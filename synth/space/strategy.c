#include "synth/space/strategy.h"

static const char *const strategy_names[SYN_N_STRATEGIES] = {"auto", "dp-even", "dp-prop",
                                                             "zero", "tp",      "hap"};

const char *syn_strategy_name(syn_strategy s)
{
    return strategy_names[s];
}

bool syn_strategy_parse(hb_str s, syn_strategy *out)
{
    for (int i = 0; i < SYN_N_STRATEGIES; i++)
        if (hb_str_is(s, strategy_names[i])) {
            *out = (syn_strategy)i;
            return true;
        }
    return false;
}
