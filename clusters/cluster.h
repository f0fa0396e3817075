// What a cluster is: devices of unequal speed and memory, their links, machine by machine.
//
// Read from YAML (docs/formats.md, "Cluster") with devices from clusters/devices.yaml. Ranks number
// machine by machine in file order. A *class* is a set of interchangeable ranks: same device, sms,
// threads, memory and machine link. SI units throughout: bytes, bytes/s, flop/s, seconds.

#ifndef HAP_CLUSTERS_CLUSTER_H
#define HAP_CLUSTERS_CLUSTER_H

#include "ir/base/diag.h"

enum {
    CL_MAX_CLASSES = 16,
    CL_OLDEST_ARCH = 75 // that CUDA 13 builds for
};
// Of `slowdown`. Below 1: faster than it is known to be.
#define CL_LEAST_SLOWDOWN 0.01
#define CL_MOST_SLOWDOWN  1000.0

typedef enum { CL_GPU, CL_CPU } cl_kind;

typedef struct cl_class {
    hb_str name;       // model, with "/64sms", "/2t", "/slow3" where set; unique in the cluster
    hb_str curve_name; // what measured curves call it: the name without its slowdown
    hb_str model;      // as in the catalogue
    cl_kind kind;
    double f32, tf32, bf16, fp16; // peak flop/s, 0 = not supported
    double memory_bandwidth;      // bytes/s
    double slowdown;              // its rates are divided by it, seconds of curves multiplied; 0: 1
    int64_t memory, reserve, capacity;   // capacity = memory - reserve
    int sms, threads;                    // 0 = all
    int units, arch;                     // SMs or cores that it has, 90 of sm_90; 0 = not known
    double link_bandwidth, link_latency; // inside its machine, one way per device
    bool emulated;                       // sms given
    // Measured; 0: not known. How many times slower computing is beside communication and the other
    // way round; seconds of the smallest kernel; bytes/s that a kernel moves.
    double compute_contention, communication_contention, launch, stream;
    double compute_contention_put,
        communication_contention_put; // the same beside copies (one-sided puts)
    // Seconds, of overlapped pairs: that a further group adds to a matmul; from when a message has
    // arrived until its matmul begins.
    double pair_gap, pair_flag;
    // Seconds that a run of memory takes a one-sided put, and packing and unpacking: run by run,
    // however few its bytes.
    double run_put, run_pack;
    // Seconds that a collective takes in a step beyond its time back to back: of the library, by
    // one-sided puts. As the cluster file says, or measured.
    double launch_overhead, put_overhead;
    // How many times longer a put of rows takes that have just been made, beside the next matmul.
    double fresh_put;
    bool plan_only; // the present toolchain cannot build for it
    int n_ranks;
} cl_class;

typedef struct cl_machine {
    hb_str name, host; // host empty: local
    int first_rank, n_ranks;
    int first_of_host; // first rank of the real machine: first_rank, unless this is a part of one
    int emulated_host; // number of the host to emulate, over the cluster; -1: a real machine
    double link_bandwidth, link_latency;
    bool peer; // its devices write into each other's memory: default of a machine of GPUs alone
} cl_machine;

typedef struct cl_cluster {
    hb_str name;
    hb_str source; // "datasheet" or "measured DATE"
    int n_ranks, n_machines, n_classes;
    int *class_of, *machine_of; // by rank
    int *number_of;             // by rank, of a GPU: its number on its host
    hb_str *curves_of;          // by rank, what curves call it, before classes were joined
    cl_machine *machine;
    cl_class *cls;
    double network_bandwidth, network_latency; // per machine and direction; 0 if one machine
    bool emulated;
    hb_str curves; // path of measured curves, empty if none
    hb_str sha;    // of the file's bytes
    hb_str text;   // the file's bytes, for the canonical copy
} cl_cluster;

// NULL after errors were added to d. devices_path: the catalogue (NULL: built-in search next to the
// binary's data or $HAPC_DATA/clusters/devices.yaml).
cl_cluster *cl_read(hb_arena *a, const char *path, const char *devices_path, hb_diag *d);
// The same of a text at hand; src (name: its path) is pointed to by diagnostics and the result.
cl_cluster *cl_read_source(hb_arena *a, const hb_source *src, const char *devices_path, hb_diag *d);
// As cl_read, of the file with n values changed: "machines.old.count=0" (which takes the machine
// away), "network.bandwidth=100 Gbit/s", "machines.new.devices.H200.memory=80 GiB".
cl_cluster *cl_read_changed(hb_arena *a, const char *path, const char *devices_path,
                            const hb_str *change, int n, hb_diag *d);
// The devices that are marked (by rank), as a cluster of their own: classes and ranks are numbered
// anew. Of a machine they follow each other; if not all of it, its name says which: "m0:2-3".
// rank: room for as many as c has; by rank of the part, that of c.
cl_cluster *cl_part(hb_arena *a, const cl_cluster *c, const bool *device, int *rank);
// The text of a cluster file without the ranks that are marked: machines and their links, hosts and
// the network stay as they are, machines without devices go. src: a file that cl_read takes; at
// least one rank is left. slowdown: by rank, the `slowdown` that the text says; NULL: as src.
// c: what src reads as; devices keep the names that its curves know them by.
// curves: path of the measured curves from where the text will stand;
// empty: as src names them. Empty after an error was added to d (emulated hosts cannot lose some).
hb_str cl_left(hb_arena *a, const hb_source *src, const cl_cluster *c, const bool *gone,
               const double *slowdown, hb_str curves, hb_diag *d);
// The text of a cluster file whose curves lie beside it, whatever folder its path names them in.
hb_str cl_curves_beside(hb_arena *a, const cl_cluster *c);
void cl_print(hb_buf *out, const cl_cluster *c);
// The catalogue's GPU that a driver calls `name` ("NVIDIA A100-SXM4-40GB": A100-40GB); empty: none.
hb_str cl_model_of(hb_arena *a, const char *devices_path, hb_str name);
// A device of the catalogue: peaks in flop/s (0: not supported), memory in bytes and bytes/s.
typedef struct cl_card {
    hb_str name, arch, source;
    cl_kind kind;
    double f32, tf32, bf16, fp16, memory_bandwidth;
    double nvlink; // one way of one link; 0: not said
    int64_t memory;
    int units;      // SMs, or cores
    bool plan_only; // as of cl_class
} cl_card;
// All of them, in the file's order; -1 after errors were added to d.
int cl_cards(hb_arena *a, const char *devices_path, cl_card **out, hb_diag *d);
bool cl_in_catalogue(hb_arena *a, const char *devices_path, hb_str model);

// A group of ranks that communicate: the slowest link on the way, and its latency.
// One machine: the slowest member's device link. Several: also the network, divided by the number
// of groups (of the same axis) that use one machine's network link at once.
typedef struct cl_link {
    double bandwidth, latency; // bytes/s one way per rank, seconds
    bool crosses;              // between machines
    bool peer;                 // every member writes into the memory of every other
    bool gpus;                 // every member is one
    int groups;                // at once on its network link, if it crosses
} cl_link;
cl_link cl_group_link(const cl_cluster *c, const int *ranks, int n, int groups_at_once);

#endif
