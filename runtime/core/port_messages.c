// op_send and op_recv on ranks that run.

#include <stdio.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/ports.h"

int hap_stages(hap_rank *r, int n_stages, const hap_stage *stages, int n_ports,
               const hap_port *ports)
{
    char why[160] = "";
    const char *no = hap_backend_stages(r);
    if (no) snprintf(why, sizeof why, "%s", no);
    hap_agree(r, HAP_EXIT_USAGE, why);
    hap_stages_begin(r, n_stages, stages, n_ports, ports, -1);
    hap_comm_ports(r);
    return r->stage;
}

void hap_port_begins(hap_rank *r, const hap_port_end *e, int64_t message)
{
    static char name[40]; // one word, as heartbeats have it
    snprintf(name, sizeof name, "%s,stage,%d,port,%d,message,%lld",
             e->port->from == r->stage ? "send" : "recv", r->stage, (int)(e - r->ports->end),
             (long long)message);
    const char *doing = r->doing;
    hap_beat(r, name);
    r->doing = doing;
    r->port = e->port;
    r->port_number = (int)(e - r->ports->end);
    r->message = message;
}

void hap_port_ends(hap_rank *r)
{
    r->port = NULL;
}

void hap_port_op(hap_rank *r, const hap_op_call *c)
{
    bool send;
    hap_port_end *e = hap_port_check(r, c, &send);
    hap_port_pieces(r, e, send);
    hap_port_begins(r, e, hap_port_message(c));
    hap_backend_port(r, e, send, c);
    hap_port_ends(r);
}
