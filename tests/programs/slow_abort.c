// MPI_Abort on a machine so busy that it takes longer than ranks wait for each other's message.

#include <mpi.h>
#include <unistd.h>

int MPI_Abort(MPI_Comm comm, int code)
{
    sleep(3);
    return PMPI_Abort(comm, code);
}
