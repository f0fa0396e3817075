#include "cli/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/build.h"
#include "cli/launch.h"

int host_ask(hb_arena *a, hb_str host)
{
    int fd[2];
    if (pipe(fd) != 0) return -1;
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        hb_str out;
        close(fd[0]);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (cli_capture(a, launch_probe(a, host), NULL, HOST_SECONDS, &out) == 0)
            (void)!write(fd[1], "y", 1);
        _exit(0);
    }
    close(fd[1]);
    if (pid > 0) return fd[0];
    close(fd[0]);
    return -1;
}

host_state host_answer(int question, bool wait)
{
    struct pollfd p = {question, POLLIN, 0};
    char answer;
    if (question < 0) return HOST_LOST;
    while (poll(&p, 1, wait ? -1 : 0) <= 0)
        if (!wait) return HOST_ASKED;
    ssize_t n = read(question, &answer, 1);
    close(question);
    return n == 1 ? HOST_ANSWERS : HOST_LOST;
}
