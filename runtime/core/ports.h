// Stages and what goes between them (hap_stages, op_send, op_recv).
//
// A message is a whole value, in parts: a rank of the receiving stage gets each part that it holds
// from one of the ranks that hold it in the sending stage; where several do, receivers take them in
// turn. Which elements these are follows from the two shapes of the port's row, which every rank
// knows. They are packed in ascending order.

#ifndef HAP_RUNTIME_PORTS_H
#define HAP_RUNTIME_PORTS_H

#include "core/slice.h"

// Elements of one's own part, as runs: `local` of it, of which there are n.
typedef struct hap_piece_run {
    int64_t local, n;
} hap_piece_run;
typedef struct hap_piece {
    int peer; // rank of the other stage
    int64_t elements;
    int n, cap;
    hap_piece_run *run;
} hap_piece;

// One row of the table of ports.
typedef struct hap_port_end {
    const hap_port *port;
    hap_tensor shape[2]; // as sent, as got
    bool known;          // of a port of this rank's stage: pieces are found
    int n;
    hap_piece *piece;
    // By way of host memory (port_host.h):
    int64_t messages, seen; // in the last step that had any; in this one so far
    struct hap_post **post; // by piece: of the next message; NULL: not posted
    char **message;         // by piece
} hap_port_end;
typedef struct hap_ports {
    int n_stages, n;
    const hap_stage *stage;
    hap_port_end *end;
} hap_ports;

// --- ports.c: geometry alone, for all backends
bool hap_is_port(hap_op_id op);
// Sets stage, member and n_members of r. wanted: which stage, -1 that of r->id.
void hap_stages_begin(hap_rank *r, int n_stages, const hap_stage *stage, int n_ports,
                      const hap_port *port, int wanted);
// The end of an op_send or op_recv: it is this stage's and its tensor lies as the table says.
hap_port_end *hap_port_check(hap_rank *r, const hap_op_call *c, bool *send);
hap_port_end *hap_port_of(const hap_rank *r, const hap_op_call *c, bool *send); // of one checked
int64_t hap_port_message(const hap_op_call *c); // its number: from 0 in a step
void hap_port_pieces(hap_rank *r, hap_port_end *e, bool send);
void hap_ring_add(hap_rank *r, hap_tensor *t);     // if it is declared in the ring
int hap_stage_ranks(const hap_rank *r, int stage); // of a program that has stages
void hap_ports_close(hap_rank *r);

// --- port_messages.c: for backends that run programs
void hap_port_op(hap_rank *r, const hap_op_call *c);
// From here to hap_port_ends heartbeats and failures name the port and the message, which counts
// from 0 in a step: of a port of micro-batches it is the micro-batch's number.
void hap_port_begins(hap_rank *r, const hap_port_end *e, int64_t message);
void hap_port_ends(hap_rank *r);

#endif
