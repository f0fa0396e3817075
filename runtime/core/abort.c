#include "core/abort.h"

#include <mpi.h>
#include <stdlib.h>

#include "core/heartbeat.h"

void hap_comm_abort(const hap_rank *r, int code)
{
    hap_beat_quit(r, code);
    int on = 0, off = 0;
    MPI_Initialized(&on);
    MPI_Finalized(&off);
    if (on && !off) MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}
