// Messages of ports (core/ports.h) between devices, beside what the devices compute.
//
// A port has a communicator of the library's own and, at each end, a stream. What is sent is packed
// into a room of the port, and goes out from there while the tensor is written over:
//
//     compute stream   … pack message i into room i % rooms ─ …          waits until the room is
//     sent port's stream           └ send ─┘                                  waits until it is
//     packed
//
// Messages that come are received ahead, in the order in which this rank unpacks them, whatever
// their ports: receive k + 2 of the step is behind the unpacking of receive k, whose room it takes.
//
//     port's stream    receive k into room k % 2 ─┐                      waits until the room is
//     read compute stream   …                          └ unpack ─ …
//
// No sender waits for a room that the plan does not wait for: a port has as many as the earlier of
// its two stages has places in its ring. Of a message that is sent and not unpacked that stage has
// gone forward and has not come back, and as many micro-batches are under way there at most.
//
// A receive that nobody has sent to yet holds processors of the device. Nothing may wait for the
// device as a whole until the step's calls have all been enqueued: another stage may wait for what
// is not sent yet. So passes that make plans, take memory or capture go by way of host memory
// (core/port_host.h), and kernels that no such pass launches are loaded when the order is known.
//
//     cuda_ports_start(r);                        all ranks, once streams and communicators are
//     there cuda_ports_plan(r, list of messages, n);    once the order is known; rooms are taken
//     here cuda_ports_begin(r);                        each step cuda_port_send(r, e, x);
//     cuda_port_get(r, e, y);  in that order cuda_ports_end(r);

#ifndef HAP_RUNTIME_CUDA_PORTS_H
#define HAP_RUNTIME_CUDA_PORTS_H

#include "core/ports.h"
#include "cuda/device/cuda_backend.h"

// A message of a step, in the order of this rank's calls.
typedef struct cuda_message {
    hap_port_end *end;
    bool send;
    int64_t number; // of the port: core/ports.h
} cuda_message;

struct cuda_port_run; // kernels/cuda_port_runs.h

// This rank's end of a port.
typedef struct cuda_port {
    ncclComm_t comm; // of both stages, the sending one first; NULL: the port is of others
    cudaStream_t stream;
    struct cuda_port_run *run; // on the device
    int64_t n_runs, bytes;     // bytes: of a message, packed
    char *room;                // of a port that is sent to
    int n_rooms;
    int64_t sent;               // in this step
    cudaEvent_t *packed, *gone; // by room
} cuda_port;

typedef struct cuda_ports {
    cuda_port *port; // by place in the table
    int n;
    cuda_message *message; // of a step
    int n_messages, cap_messages;
    int *receive; // of these, those that come
    int n_receives;
    int posted, taken; // of them, in this step
    char *room[2];
    cudaEvent_t come[2], read[2];
    int *unpacked; // in memory that the host sees: receives of this step that have come
    int said;      // the receive that heartbeats name, -1
} cuda_ports;

// --- cuda_port_start.c
void cuda_ports_start(hap_rank *r);
void cuda_ports_close(hap_rank *r); // the device is idle

// --- cuda_ports.c
// The messages of a step from here on, and the places in the rings of all stages.
void cuda_ports_plan(hap_rank *r, const cuda_message *m, int n, const int *rings);
void cuda_ports_forget(hap_rank *r); // rooms, events, order
void cuda_ports_begin(hap_rank *r);
void cuda_port_send(hap_rank *r, hap_port_end *e, const hap_tensor *x);
void cuda_port_get(hap_rank *r, hap_port_end *e, hap_tensor *y);
// While the host waits for a step: heartbeats and failures name the message that has not come.
void cuda_ports_poll(hap_rank *r);

#endif
