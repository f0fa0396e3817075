// Host messages between ranks, for options, checkpoints and reports; the only MPI in core (comm.c)
// but for the end of all ranks (abort.c).

#ifndef HAP_RUNTIME_COMM_H
#define HAP_RUNTIME_COMM_H

#include "core/rank.h"

void hap_comm_start(hap_rank *r, int *argc,
                    char ***argv); // sets id, n_ranks, member, n_members, host
void hap_comm_send(hap_rank *r, int to, const void *p, int64_t bytes);
void hap_comm_recv(hap_rank *r, int from, void *p, int64_t bytes);
void hap_comm_broadcast(hap_rank *r, void *p, int64_t bytes); // from rank 0
void hap_comm_broadcast_of(hap_rank *r, int root, void *p, int64_t bytes);
int hap_comm_min(hap_rank *r, int x);
int hap_comm_max(hap_rank *r, int x);
void hap_comm_max_bytes(hap_rank *r, unsigned char *p, int n); // element by element
void hap_comm_gather(hap_rank *r, double x, double *all);      // all: by rank, on rank 0
// A maximum that is found while other things are done: all ranks start it, then end it.
void hap_comm_vote_start(hap_rank *r, int x);
int hap_comm_vote_end(hap_rank *r);
void hap_comm_barrier(hap_rank *r);
void hap_comm_finish(hap_rank *r);

// Messages of ports: `tag` tells streams of messages apart, each arrives in its order.
typedef struct hap_post hap_post;
void hap_comm_ports(hap_rank *r); // all ranks together, before the first
// Sends p, which is malloc'd and the message's from now on.
void hap_comm_post(hap_rank *r, int to, int tag, void *p, int64_t bytes);
hap_post *hap_comm_take(hap_rank *r, int from, int tag, void *p,
                        int64_t bytes);     // begins to get one
bool hap_comm_taken(hap_post *x);           // it has come; then x is gone
void hap_comm_posts(hap_rank *r, bool all); // frees what has gone out; all: waits for it

double hap_seconds(void); // monotonic

#endif
