// Groups of devices that stages may have: machines, or parts of one.
//
// Equal machines are one *kind*. A group is so many machines of each kind, or so many devices of
// one machine that follow each other and begin at a multiple of their number: a half, a quarter,
// ..., a single one; where a machine has devices of several classes, of a run of equal ones. So
// whatever groups a cluster has the devices for find room in it (syn_groups_place).
//
// The search counts *units* of some kinds of its own (pl_problem): whole machines; or, where parts
// are looked at, the smallest parts of a run of devices.
//
//     syn_groups *g = syn_groups_new(a, model, d);
//     int half = syn_group_part(g, 0, 0, 2);        // devices 0 and 1 of a machine of kind 0
//     syn_units u = syn_units_of_parts(g, 256);     // or syn_units_of_machines(g)
//     int *take = HB_ARRAY(a, int, u.n);
//     if (syn_group_units(g, &u, half, take)) ...

#ifndef HAP_SYNTH_STAGE_GROUPS_H
#define HAP_SYNTH_STAGE_GROUPS_H

#include "costmodel/cost.h"
#include "ir/base/diag.h"

typedef struct syn_machines { // equal ones
    int n, *machine;
    int n_devices; // of each
} syn_machines;

typedef struct syn_group {
    int *take;          // machines, by kind; NULL: it is a part
    int n_machines;     // 1 of a part
    int kind, first, n; // a part: devices from number `first` on of a machine
    cost_model model;   // of the first that there are
} syn_group;

typedef struct syn_groups {
    hb_arena *a;
    const cost_model *m;
    hb_diag *d;
    HB_VEC(syn_machines) kinds;
    HB_VEC(syn_group) of;
} syn_groups;

typedef struct syn_unit { // of a kind of machines: a run of devices, in parts of `size`
    int kind, first, n, size;
} syn_unit;
typedef struct syn_units {
    int n;
    syn_unit *of;
    int *count; // in the cluster
} syn_units;

// Of m's cluster; errors are added to d.
syn_groups *syn_groups_new(hb_arena *a, const cost_model *m, hb_diag *d);
// The number of a group, new or not; -1 after an error.
int syn_group_of_machines(syn_groups *g, const int *take);
int syn_group_part(syn_groups *g, int kind, int first, int n);

syn_units syn_units_of_machines(const syn_groups *g);
// The finest units of which there are at most so many multisets; n is 0 where no machine has parts
// then.
syn_units syn_units_of_parts(const syn_groups *g, int most);
double syn_unit_sets(const syn_units *u);
// Adds every part that is made of these units. False after an error.
typedef bool syn_add_part(void *ctx, int group);
bool syn_parts_of(syn_groups *g, const syn_units *u, syn_add_part *add, void *ctx);
// Units of a group, by kind of unit. False where it is not made of such.
bool syn_group_units(const syn_groups *g, const syn_units *u, int group, int *take);

// Devices of groups that the cluster has room for together: marks by rank of the cluster, one array
// a group. Parts that follow each other lie on one machine where there is room.
bool **syn_groups_place(hb_arena *a, const syn_groups *g, int n, const int *group);

#endif
