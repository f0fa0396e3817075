#include "core/comm.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/abort.h"
#include "core/fail.h"
#include "core/heartbeat.h"

// A communicator of core's own, so that its messages never meet a backend's.
static MPI_Comm host_comm = MPI_COMM_NULL;

enum { CHUNK = 1 << 28 }; // MPI counts are int

// A message to a rank that died on another host ends this one too, and the launcher names the rank
// it hears of first: leave its daemon there the time to tell it, then end as ever.
static void let_the_launcher_speak(int sig)
{
    hap_abort_let_launcher_speak();
    raise(sig); // taken when the handler returns, by its default action
}

void hap_comm_start(hap_rank *r, int *argc, char ***argv)
{
    int provided = 0;
    struct sigaction act = {.sa_handler = let_the_launcher_speak, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGPIPE, &act, NULL);
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        fprintf(stderr, "MPI does not start\n");
        exit(HAP_EXIT_FAILED);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &host_comm);
    MPI_Comm_rank(host_comm, &r->id);
    MPI_Comm_size(host_comm, &r->n_ranks);
    r->member = r->id;
    r->n_members = r->n_ranks;
    gethostname(r->host, sizeof r->host - 1);
    hap_abort_start();
}

void hap_comm_send(hap_rank *r, int to, const void *p, int64_t bytes)
{
    (void)r;
    for (int64_t at = 0; at < bytes; at += CHUNK) {
        int n = (int)(bytes - at < CHUNK ? bytes - at : CHUNK);
        MPI_Send((const char *)p + at, n, MPI_BYTE, to, 1, host_comm);
    }
}

void hap_comm_recv(hap_rank *r, int from, void *p, int64_t bytes)
{
    (void)r;
    for (int64_t at = 0; at < bytes; at += CHUNK) {
        int n = (int)(bytes - at < CHUNK ? bytes - at : CHUNK);
        MPI_Recv((char *)p + at, n, MPI_BYTE, from, 1, host_comm, MPI_STATUS_IGNORE);
    }
}

void hap_comm_broadcast(hap_rank *r, void *p, int64_t bytes)
{
    (void)r;
    MPI_Bcast(p, (int)bytes, MPI_BYTE, 0, host_comm);
}

void hap_comm_broadcast_of(hap_rank *r, int root, void *p, int64_t bytes)
{
    (void)r;
    MPI_Bcast(p, (int)bytes, MPI_BYTE, root, host_comm);
}

int hap_comm_min(hap_rank *r, int x)
{
    (void)r;
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MIN, host_comm);
    return x;
}

int hap_comm_max(hap_rank *r, int x)
{
    return -hap_comm_min(r, -x);
}

void hap_comm_max_bytes(hap_rank *r, unsigned char *p, int n)
{
    (void)r;
    MPI_Allreduce(MPI_IN_PLACE, p, n, MPI_UNSIGNED_CHAR, MPI_MAX, host_comm);
}

void hap_comm_gather(hap_rank *r, double x, double *all)
{
    (void)r;
    MPI_Gather(&x, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, host_comm);
}

static struct {
    int mine, all;
    MPI_Request request;
} vote;

void hap_comm_vote_start(hap_rank *r, int x)
{
    (void)r;
    vote.mine = x;
    MPI_Iallreduce(&vote.mine, &vote.all, 1, MPI_INT, MPI_MAX, host_comm, &vote.request);
}

int hap_comm_vote_end(hap_rank *r)
{
    (void)r;
    MPI_Wait(&vote.request, MPI_STATUS_IGNORE);
    return vote.all;
}

// --- messages of ports ---

struct hap_post {
    hap_post *next;
    void *p;
    MPI_Request request;
};
static hap_post *posts;
static MPI_Comm port_comm = MPI_COMM_NULL;

static MPI_Comm ports(void)
{
    if (port_comm == MPI_COMM_NULL) MPI_Comm_dup(host_comm, &port_comm);
    return port_comm;
}

void hap_comm_ports(hap_rank *r)
{
    (void)r;
    (void)ports();
}

void hap_comm_post(hap_rank *r, int to, int tag, void *p, int64_t bytes)
{
    HAP_CK(r, bytes <= INT_MAX, "not supported: a message of %lld bytes", (long long)bytes);
    hap_post *x = hap_alloc(r, sizeof *x);
    x->p = p;
    x->next = posts;
    posts = x;
    MPI_Isend(p, (int)bytes, MPI_BYTE, to, tag, ports(), &x->request);
}

void hap_comm_posts(hap_rank *r, bool all)
{
    (void)r;
    for (hap_post **at = &posts; *at;) {
        hap_post *x = *at;
        int done = 0;
        if (all)
            done = MPI_Wait(&x->request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        else
            MPI_Test(&x->request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        free(x->p);
        free(x);
    }
}

hap_post *hap_comm_take(hap_rank *r, int from, int tag, void *p, int64_t bytes)
{
    HAP_CK(r, bytes <= INT_MAX, "not supported: a message of %lld bytes", (long long)bytes);
    hap_post *x = hap_alloc(r, sizeof *x);
    MPI_Irecv(p, (int)bytes, MPI_BYTE, from, tag, ports(), &x->request);
    return x;
}

bool hap_comm_taken(hap_post *x)
{
    int done = 0;
    MPI_Test(&x->request, &done, MPI_STATUS_IGNORE);
    if (done) free(x);
    return done;
}

void hap_comm_barrier(hap_rank *r)
{
    (void)r;
    MPI_Barrier(host_comm);
}

void hap_comm_finish(hap_rank *r)
{
    (void)r;
    if (port_comm != MPI_COMM_NULL) MPI_Comm_free(&port_comm);
    if (host_comm != MPI_COMM_NULL) MPI_Comm_free(&host_comm);
    MPI_Finalize();
}

void hap_agree(hap_rank *r, int code, const char *why)
{
    int bad = hap_comm_min(r, why[0] ? r->id : r->n_ranks);
    if (bad == r->n_ranks) return;
    if (bad == r->id) hap_say("error: ", why, "\n");
    hap_beat_quit(r, code);
    fflush(stderr);
    fflush(stdout);
    hap_comm_barrier(r);
    hap_comm_finish(r);
    exit(code);
}

double hap_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
