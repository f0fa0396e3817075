#include "core/abort.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/heartbeat.h"

// One word of memory that all ranks of a host share; NULL where there is none to share.
static atomic_int *said;

// No communicator of a host's ranks: what Open MPI 4.1 shares in one has the same name twice where
// one machine plays two hosts.
void hap_abort_start(void)
{
    char name[64];
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(name, sizeof name, "/haprt-%ld-%lld-%ld", (long)getpid(), (long long)t.tv_sec,
             t.tv_nsec);
    MPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    // Not ftruncate: whether there is room is known here, and not at the first write.
    if (fd >= 0 && posix_fallocate(fd, 0, sizeof *said) == 0) {
        void *p = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) said = p; // 0: new pages
    }
    if (fd >= 0) close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    shm_unlink(name); // each host has its own; the first of its ranks takes the name away
}

bool hap_abort_first_word(void)
{
    return !said || atomic_exchange(said, 1) == 0;
}

void hap_abort_let_launcher_speak(void)
{
    struct timespec nap = {.tv_sec = 5};
    nanosleep(&nap, NULL);
}

void hap_comm_abort(const hap_rank *r, int code)
{
    hap_beat_quit(r, code);
    int on = 0, off = 0;
    MPI_Initialized(&on);
    MPI_Finalized(&off);
    if (on && !off) MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}
