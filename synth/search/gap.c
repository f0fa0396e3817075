#include "synth/search/gap.h"

#include <math.h>

void syn_gap_parts(const syn_bound_levels *l, double bound, double best, double *part)
{
    double level[] = {l->searched, l->priced, l->counted, best}, at = bound;
    for (int i = 0; i < SYN_GAP_PARTS; i++) {
        double next = fmin(fmax(level[i], at), best);
        part[i] = next - at;
        at = next;
    }
}
