// The start and the end of a rank.

#include <stdlib.h>

#include "core/backend.h"
#include "core/fail.h"
#include "cpu/coll_engine.h"
#include "cpu/segments.h"

const char *hap_backend_stages(const hap_rank *r)
{
    (void)r;
    return NULL;
}

void hap_backend_mesh(hap_rank *r)
{
    r->backend = hap_alloc(r, sizeof(cpu_backend));
    cpu_of(r)->norm = -1;
    cpu_mpi_start(r);
    cpu_of(r)->coll = cpu_coll_state_new(r);
}

void hap_backend_finish(hap_rank *r)
{
    cpu_backend *b = cpu_of(r);
    if (!b) return;
    cpu_coll_state_free(b->coll);
    cpu_segments_free(r);
    cpu_mpi_end(r);
    free(b);
    r->backend = NULL;
}
