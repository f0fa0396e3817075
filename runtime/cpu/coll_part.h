// Collectives under way: an event is a list of parts, one a tensor pair; a part is a small machine.
//
// A part posts MPI requests in one step and goes on with the next step when all of them are done.
// Parts move on inside hap_backend_poll and hap_backend_wait only, events in the order of their
// start. Every rank starts the same collectives in the same order (the plan's total order), so
// requests on one communicator match. Storage is kept from one use of an event to the next.

#ifndef HAP_RUNTIME_CPU_COLL_PART_H
#define HAP_RUNTIME_CPU_COLL_PART_H

#include "core/coll_geometry.h"
#include "cpu/mpi_groups.h"

typedef struct cpu_part {
    hap_coll_kind kind;
    hap_form form;
    hap_tensor *src, *dst;
    hap_coll_view v;
    char *scratch; // of this pair
    int64_t slot;  // bytes of a slot in it: forms PUT
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    int tag;         // point to point
    unsigned ticket; // order among two-level all-reduces
    int step;        // next to be done
    int turn;        // reduce_scatter SENDRECV: pieces added so far
    bool done;
    bool filling; // a pair posts into it piece by piece: what is complete does not end the step
    int n_req, cap_req;
    int n_held; // leading requests (sends) that the next step does not wait for
    MPI_Request *req;
    int *counts; // 4 * n_members: alive while requests are
} cpu_part;

struct hap_event {
    bool active, done;
    int line, lane; // of the trace
    const char *name;
    double start;
    int n_parts, cap_parts;
    cpu_part *part;
    struct hap_event *next; // in order of start, or in the free list
};

struct cpu_coll_state {
    hap_event *first, *last; // not yet done, or done and not yet waited for
    hap_event *free;
    int next_tag;
    unsigned next_ticket, turn_between, turn_spread;
};

MPI_Request *cpu_part_post(hap_rank *r, cpu_part *p); // room for one more request

#endif
