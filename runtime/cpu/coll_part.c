#include "cpu/coll_part.h"

#include "core/fail.h"

MPI_Request *cpu_part_post(hap_rank *r, cpu_part *p)
{
    p->req = hap_grow(r, p->req, &p->cap_req, p->n_req + 1, sizeof *p->req);
    return &p->req[p->n_req++];
}
