// What core asks of a backend. Each backend library defines these once (link-time, no table).
//
// Host messages between ranks (comm.h) are core's own; a backend only moves tensors.

#ifndef HAP_RUNTIME_BACKEND_H
#define HAP_RUNTIME_BACKEND_H

#include "core/rank.h"

struct hap_port_end;

const char *hap_backend_stages(const hap_rank *r); // NULL, or why it does no programs of stages
void hap_backend_mesh(hap_rank *r);                // r->size and r->coord are set: makes groups
// Zeroed; fails rather than NULL. Called once a segment, by all ranks together.
char *hap_backend_segment(hap_rank *r, hap_segment seg, int64_t bytes);
void hap_backend_clear(hap_rank *r); // both segments are zero again
void hap_backend_op(hap_rank *r, const hap_op_call *c);
void hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x); // checked by core
void hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x);

// The ops between the two are a group (hap/runtime.h): a backend may run them one by one.
void hap_backend_fuse(hap_rank *r, const char *kernel);
void hap_backend_fused(hap_rank *r, int n, hap_tensor *const *kept);

// A pair checked by core (core/pair.h). Its event, to be waited for, if it is a producer; p
// lives until the call returns.
hap_event *hap_backend_pair(hap_rank *r, const hap_pair *p);

// Starts a collective checked by core (coll_geometry.h); the event is r's until waited for.
hap_event *hap_backend_coll(hap_rank *r, const hap_coll_call *c);
void hap_backend_wait(hap_rank *r, hap_event *e);
// A message of a port (core/ports.h), checked by core, with its pieces: sends c->in[0], whose bytes
// may be written over when the call is over, or gets c->out[0].
void hap_backend_port(hap_rank *r, struct hap_port_end *e, bool send, const hap_op_call *c);
void hap_backend_poll(hap_rank *r);                // progress, between ops
hap_event *hap_backend_pending(const hap_rank *r); // an event not waited for; NULL if none

// Index of the tensor's first NaN, or infinity, among this rank's elements; -1 if there is none.
int64_t hap_backend_find(hap_rank *r, const hap_tensor *t, bool nan);

// The tensor's elements in host memory, to be read (and written if `write`), until closed.
void *hap_backend_open(hap_rank *r, hap_tensor *t, bool write);
void hap_backend_close(hap_rank *r, hap_tensor *t, void *host, bool write);

// Rows of an input that come to the device while a step runs: this rank's part is written into host
// memory of the backend, sent, and is the tensor's from hap_backend_rows_take on, before a step.
// NULL: there is no such memory, rows go through hap_backend_open.
void *hap_backend_rows(hap_rank *r, const hap_tensor *t);
void hap_backend_rows_send(hap_rank *r, const hap_tensor *t);
void hap_backend_rows_take(hap_rank *r, hap_tensor *t);

// How often the program's step is to run ahead of the first one, on values that stand in for the
// parameters' (core/step.c): the same on all ranks, which ask together. r->rehearsal says which of
// them is under way.
int hap_backend_rehearsals(hap_rank *r);
void hap_backend_begin(hap_rank *r); // a step begins, perhaps at once: inputs, hap_step are set
void hap_backend_sync(hap_rank *r);  // waits for the device
// What the last clip_scale of the step that has ended found: the norm of all gradients. -1: the
// program has none.
double hap_backend_norm(const hap_rank *r);
// With --trace, behind a step whose time was taken: what the backend knows of when calls ran.
void hap_backend_trace(hap_rank *r);
void hap_backend_finish(hap_rank *r);

// --- for the measuring program (runtime/profile) ---
typedef struct hap_device {
    char name[96];
    bool gpu;
    int units;               // multiprocessors or threads that this rank computes on
    int64_t memory, reserve; // bytes of this rank; what others, driver and libraries take of it
} hap_device;
void hap_backend_device(hap_rank *r, hap_device *d);
// The next step is the first of another program: nothing known of the steps before holds.
void hap_backend_forget(hap_rank *r);
// The next step is one of program k, 0 at first: what is known of the others' stays until they are
// taken up again, or forgotten with it.
void hap_backend_program(hap_rank *r, int k);

// Source line of the call that started the event.
int hap_event_line(const hap_event *e);

#endif
