// Messages of ports (core/ports.h) on CPUs.

#include <string.h>

#include "core/backend.h"
#include "core/port_host.h"

void hap_backend_port(hap_rank *r, hap_port_end *e, bool send, const hap_op_call *c)
{
    if (!send) {
        hap_port_host_get(r, e, c->out[0]->data);
        return;
    }
    hap_port_host_send(r, e, c->in[0]->data);
    if (c->out[0]->data != c->in[0]->data)
        memcpy(c->out[0]->data, c->in[0]->data, (size_t)c->in[0]->bytes);
}
