#include "core/port_host.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"

static int tag_of(const hap_rank *r, const hap_port_end *e)
{
    return (int)(e - r->ports->end);
}

void hap_port_host_send(hap_rank *r, const hap_port_end *e, const char *from)
{
    int64_t item = hap_dtype_bytes(e->shape[0].type);
    for (int i = 0; i < e->n; i++) {
        const hap_piece *p = &e->piece[i];
        char *message = hap_alloc(r, (size_t)(p->elements * item)), *to = message;
        for (int k = 0; k < p->n; k++) {
            memcpy(to, from + p->run[k].local * item, (size_t)(p->run[k].n * item));
            to += p->run[k].n * item;
        }
        hap_comm_post(r, p->peer, tag_of(r, e), message, p->elements * item);
    }
    hap_comm_posts(r, false);
}

static void wait_a_little(hap_rank *r)
{
    hap_comm_posts(r, false);
    hap_backend_poll(r);
    sched_yield();
}

// Begins to get the next message of a port.
static void post_receives(hap_rank *r, hap_port_end *e)
{
    int64_t item = hap_dtype_bytes(e->shape[1].type);
    e->post = hap_alloc(r, (size_t)(e->n + 1) * sizeof(hap_post *));
    e->message = hap_alloc(r, (size_t)(e->n + 1) * sizeof(char *));
    for (int i = 0; i < e->n; i++) {
        int64_t bytes = e->piece[i].elements * item;
        e->message[i] = hap_alloc(r, (size_t)bytes);
        e->post[i] = hap_comm_take(r, e->piece[i].peer, tag_of(r, e), e->message[i], bytes);
    }
}

static void get_value(hap_rank *r, hap_port_end *e, char *to)
{
    int64_t item = hap_dtype_bytes(e->shape[1].type);
    for (int i = 0; i < e->n; i++) {
        const hap_piece *p = &e->piece[i];
        const char *from = e->message[i];
        while (!hap_comm_taken(e->post[i]))
            wait_a_little(r);
        for (int k = 0; k < p->n; k++) {
            memcpy(to + p->run[k].local * item, from, (size_t)(p->run[k].n * item));
            from += p->run[k].n * item;
        }
        free(e->message[i]);
    }
    free(e->post);
    free(e->message);
    e->post = NULL;
}

void hap_port_host_get(hap_rank *r, hap_port_end *e, char *to)
{
    if (!e->post) post_receives(r, e);
    get_value(r, e, to);
    e->seen++;
    if (e->seen < e->messages) post_receives(r, e);
}

void hap_port_host_step(hap_rank *r)
{
    for (int i = 0; r->ports && i < r->ports->n; i++) {
        hap_port_end *e = &r->ports->end[i];
        if (e->seen > 0) e->messages = e->seen;
        e->seen = 0;
        bool comes = e->messages > 0 && !r->evaluating; // an evaluation has not all messages
        if (e->port->to == r->stage && comes && !e->post) post_receives(r, e);
    }
}
