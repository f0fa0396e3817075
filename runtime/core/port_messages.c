// op_send and op_recv on ranks that run: messages by way of host memory.

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/ports.h"

int hap_stages(hap_rank *r, int n_stages, const hap_stage *stages, int n_ports,
               const hap_port *ports)
{
    char why[160] = "";
    if (!hap_backend_stages())
        snprintf(why, sizeof why, "not supported: a program of stages on GPUs");
    else if (r->opt.n_evals)
        snprintf(why, sizeof why, "not supported: --eval of a program of stages");
    hap_agree(r, HAP_EXIT_USAGE, why);
    hap_stages_begin(r, n_stages, stages, n_ports, ports, -1);
    hap_comm_ports(r);
    return r->stage;
}

static void send_value(hap_rank *r, const hap_port_end *e, int tag, hap_tensor *x)
{
    int64_t item = hap_dtype_bytes(x->type);
    const char *from = hap_backend_open(r, x, false);
    for (int i = 0; i < e->n; i++) {
        const hap_piece *p = &e->piece[i];
        char *message = hap_alloc(r, (size_t)(p->elements * item)), *to = message;
        for (int k = 0; k < p->n; k++) {
            memcpy(to, from + p->run[k].local * item, (size_t)(p->run[k].n * item));
            to += p->run[k].n * item;
        }
        hap_comm_post(r, p->peer, tag, message, p->elements * item);
    }
    hap_backend_close(r, x, (void *)(uintptr_t)from, false);
    hap_comm_posts(r, false);
}

// Collectives of this stage and messages to others go on meanwhile.
static void wait_a_little(hap_rank *r)
{
    hap_comm_posts(r, false);
    hap_backend_poll(r);
    sched_yield();
}

// Begins to get the next message of a port.
static void post_receives(hap_rank *r, hap_port_end *e, int tag)
{
    int64_t item = hap_dtype_bytes(e->shape[1].type);
    e->post = hap_alloc(r, (size_t)(e->n + 1) * sizeof(hap_post *));
    e->message = hap_alloc(r, (size_t)(e->n + 1) * sizeof(char *));
    for (int i = 0; i < e->n; i++) {
        int64_t bytes = e->piece[i].elements * item;
        e->message[i] = hap_alloc(r, (size_t)bytes);
        e->post[i] = hap_comm_take(r, e->piece[i].peer, tag, e->message[i], bytes);
    }
}

static void get_value(hap_rank *r, hap_port_end *e, int tag, hap_tensor *y)
{
    int64_t item = hap_dtype_bytes(y->type);
    if (!e->post) post_receives(r, e, tag);
    char *to = hap_backend_open(r, y, true);
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
    hap_backend_close(r, y, to, true);
    free(e->post);
    free(e->message);
    e->post = NULL;
}

void hap_ports_step(hap_rank *r)
{
    for (int i = 0; r->ports && i < r->ports->n; i++) {
        hap_port_end *e = &r->ports->end[i];
        e->messages = e->seen;
        e->seen = 0;
        if (e->port->to == r->stage && e->messages > 0 && !e->post) post_receives(r, e, i);
    }
}

void hap_port_op(hap_rank *r, const hap_op_call *c)
{
    bool send;
    hap_port_end *e = hap_port_check(r, c, &send);
    int tag = (int)c->attr[send ? 0 : 2].i;
    hap_port_pieces(r, e, send);
    if (!send) {
        get_value(r, e, tag, c->out[0]);
        e->seen++;
        if (e->seen < e->messages) post_receives(r, e, tag);
        return;
    }
    send_value(r, e, tag, c->in[0]);
    if (c->out[0]->data != c->in[0]->data)
        memcpy(c->out[0]->data, c->in[0]->data, (size_t)c->in[0]->bytes);
}
