// Messages of ports by way of host memory: all of them on CPUs; on GPUs those of passes in which a
// device may be waited for.

#ifndef HAP_RUNTIME_PORT_HOST_H
#define HAP_RUNTIME_PORT_HOST_H

#include "core/ports.h"

// Sends the value that lies at `from` as its port is sent; it may be written over at once.
void hap_port_host_send(hap_rank *r, const hap_port_end *e, const char *from);
// Waits for the next message and puts it to `to` as its port is got. Collectives of this stage and
// messages to others go on meanwhile.
void hap_port_host_get(hap_rank *r, hap_port_end *e, char *to);
// A step begins: where this is called, receives are posted ahead from the second step on, the first
// message of a port here, the next one when one has come.
void hap_port_host_step(hap_rank *r);

#endif
