#include "synth/space/synthesis_options.h"

bool syn_mesh_parse(hb_str s, syn_mesh_choice *out)
{
    static const char *const names[] = {"auto", "flat", "machine"};
    for (int i = 0; i < 3; i++)
        if (hb_str_is(s, names[i])) {
            *out = (syn_mesh_choice)i;
            return true;
        }
    return false;
}

syn_options syn_default_options(void)
{
    return (syn_options){.strategy = SYN_AUTO,
                         .effort = 1,
                         .small_param = SYN_SMALL_PARAM,
                         .copy_bytes = SYN_COPY_BYTES};
}

double syn_work(const syn_options *o)
{
    return o->effort * SYN_WORK;
}
