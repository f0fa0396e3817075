// Meshes: the ranks of a cluster arranged on one axis, or as machines x devices.

#ifndef HAP_SYNTH_MESH_H
#define HAP_SYNTH_MESH_H

#include "clusters/cluster.h"
#include "synth/plan/state.h"

// The flat mesh over ranks of the cluster (all, if keep is NULL).
syn_mesh *syn_mesh_flat(hb_arena *a, const cl_cluster *c, const bool *keep);
// Machines x devices. NULL unless at least two machines keep the same number, at least two, of
// devices each, and no other machine keeps any.
syn_mesh *syn_mesh_machines(hb_arena *a, const cl_cluster *c, const bool *keep);

#endif
