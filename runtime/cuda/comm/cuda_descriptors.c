// File descriptors from rank to rank of a host: datagrams between Unix sockets of abstract names,
// which end with their process and leave nothing in the file system.

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/comm.h"
#include "core/fail.h"
#include "cuda/comm/cuda_descriptors.h"
#include "cuda/device/cuda_backend.h"

enum { SECONDS = 10 };

typedef struct letter {
    uint64_t job;
    int32_t from, to;
} letter;

static socklen_t address(struct sockaddr_un *a, uint64_t job, int rank)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "hapc-%016llx-%d",
                     (unsigned long long)job, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

// 1 sent, 0 not yet, -1 never.
static int give(int s, const letter *l, int fd)
{
    struct sockaddr_un a;
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {{0}};
    letter copy = *l;
    struct iovec text = {&copy, sizeof copy};
    struct msghdr m = {.msg_name = &a,
                       .msg_namelen = address(&a, l->job, l->to),
                       .msg_iov = &text,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(s, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 1;
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

// The descriptor of a letter, -1 if there is none.
static int take(int s, letter *l)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {{0}};
    struct iovec text = {l, sizeof *l};
    struct msghdr m = {.msg_iov = &text,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    int fd = -1;
    ssize_t n = recvmsg(s, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (n != (ssize_t)sizeof *l) l->from = -1;
    return fd;
}

void cuda_descriptors_swap(hap_rank *r, int mine, const bool *want, int *got)
{
    uint64_t job = 0;
    struct sockaddr_un a;
    if (r->member == 0) HAP_CK(r, getrandom(&job, sizeof job, 0) == sizeof job, "no random number");
    MPI_Bcast(&job, sizeof job, MPI_BYTE, 0, cuda_of(r)->stage);
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t n = address(&a, job, r->member);
    HAP_CK(r, s >= 0 && bind(s, (struct sockaddr *)&a, n) == 0, "no Unix socket: %s",
           strerror(errno));
    MPI_Barrier(cuda_of(r)->stage); // every socket has its name
    int left = 0;
    bool *sent = hap_alloc(r, (size_t)r->n_members * sizeof *sent);
    bool *reached = hap_alloc(r, (size_t)r->n_members * sizeof *reached);
    for (int j = 0; j < r->n_members; j++) {
        got[j] = -1;
        sent[j] = !want[j];
        left += 2 * want[j];
    }
    double end = hap_seconds() + SECONDS;
    while (left > 0 && hap_seconds() < end) {
        int before = left;
        for (int j = 0; j < r->n_members; j++) {
            int done = sent[j] ? 0 : give(s, &(letter){job, r->member, j}, mine);
            if (done == 0) continue;
            sent[j] = true;
            left -= done > 0 || got[j] >= 0 ? 1 : 2; // who cannot be reached sends nothing
            reached[j] = done > 0;
        }
        letter l = {0};
        int fd = take(s, &l), from = l.from;
        if (fd >= 0 && l.job == job && l.to == r->member && from >= 0 && from < r->n_members &&
            want[from] && got[from] < 0 && (!sent[from] || reached[from])) {
            got[from] = fd;
            left--;
        } else if (fd >= 0) {
            close(fd);
        }
        struct pollfd p = {.fd = s, .events = POLLIN};
        if (left == before) poll(&p, 1, 1);
    }
    free(reached);
    free(sent);
    close(s);
}
