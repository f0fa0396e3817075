// Inside of the cluster reader: one device, spelt out or from the catalogue (devices.yaml), and
// changes of what the file says.

#ifndef HAP_CLUSTERS_CLUSTER_FILE_H
#define HAP_CLUSTERS_CLUSTER_FILE_H

#include "clusters/cluster.h"
#include "ir/base/tree.h"

typedef struct cl_device {
    hb_str name;
    const hb_tree *curves; // what measured curves call it; NULL: what its class is called
    cl_kind kind;
    double f32, tf32, bf16, fp16, memory_bandwidth; // of the part that `sms` or `threads` leaves
    double launch_overhead, put_overhead;           // seconds, 0 = not said
    double slowdown;                                // 1 where nothing is said
    double nvlink;                                  // bytes/s one way of one link, 0 = not said
    int64_t memory, reserve;
    int sms, threads; // as given in the cluster, 0 = all
    int units;        // catalogue: SMs or cores its figures are for, 0 = not said
    int arch;         // catalogue: 90 of sm_90, 0 = not said
    bool plan_only;
} cl_device;

// The catalogue is read when the first model is looked up.
typedef struct cl_catalogue {
    hb_arena *arena;
    const char *path; // NULL: search
    hb_str cluster_path;
    hb_diag *diag;
    bool tried;
    hb_source *src;
    hb_tree *tree; // NULL: not there or not readable, said already
} cl_catalogue;
cl_catalogue *cl_catalogue_new(hb_arena *a, const char *path, hb_str cluster_path, hb_diag *d);

// Reads it, once; `at` of `asking` is what needs it.
void cl_catalogue_load(cl_catalogue *k, hb_pos at, const hb_source *asking);
// The model that a text names. False after errors.
bool cl_from_catalogue(cl_catalogue *k, const hb_tree *model, const hb_source *asking,
                       cl_device *d);

// Says in the file's tree which class of measured curves each device reads, as c, which it reads
// as, does: names that follow from the devices before stay when some of these change or go. They
// have no place in the file (line 0).
void cl_keep_names(hb_arena *a, hb_tree *root, const cl_cluster *c);

// Carries out one change of cl_read_changed on the file's tree; measured: its times are curves.
// False after an error, located in the change.
bool cl_change(hb_arena *a, hb_tree *root, hb_str text, bool measured, hb_diag *d);

// An entry of a machine's `devices`, `count` apart. False after errors.
bool cl_device_read(hb_arena *a, const hb_tree *t, const hb_source *src, cl_catalogue *k,
                    hb_diag *d, cl_device *out);

#endif
