// Chunks of a pair as the benchmark takes them: the planner's, by file, and a few that are tried on
// every shape.
#ifndef HAP_BENCH_OVERLAP_GROUPS_H
#define HAP_BENCH_OVERLAP_GROUPS_H

#include "core/pair.h"

enum { MOST_CHUNKS = 64 };

typedef struct group_list {
    int n;
    int64_t chunk[MOST_CHUNKS][3]; // {distance, weight, via}, as costmodel/overlap.h has them
    hap_pair_tiles tiles;          // the list of tiles, if one is said; its groups are `listed`
    int64_t listed[MOST_CHUNKS][3];
    char text[768];
} group_list;

// The planner's for a shape: of the line "KIND NAME FORM GROUPS…", or "… | ROWSxCOLS HOW GROUPS…"
// with a list of tiles, in a file of bench/planner/pair_chunks.c, the i-th that is not
// "sequential"; false: there is none.
bool groups_planned(group_list *l, hap_form *form, const char *path, const char *kind,
                    const char *name, int i);
// The i-th that is tried on pairs of a kind (AG, RS, AR); false: there are no more.
bool groups_tried(group_list *l, const char *kind, int n_ranks, int i);
bool groups_same(const group_list *a, const group_list *b);

#endif
