#include "cli/question.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int question_ask(bool (*yes)(void *ctx), void *ctx)
{
    int fd[2];
    if (pipe(fd) != 0) return -1;
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (yes(ctx)) (void)!write(fd[1], "y", 1);
        _exit(0);
    }
    close(fd[1]);
    if (pid > 0) return fd[0];
    close(fd[0]);
    return -1;
}

question_state question_answer(int question, bool wait)
{
    struct pollfd p = {question, POLLIN, 0};
    char answer;
    if (question < 0) return QUESTION_NO;
    while (poll(&p, 1, wait ? -1 : 0) <= 0)
        if (!wait) return QUESTION_OPEN;
    ssize_t n = read(question, &answer, 1);
    close(question);
    return n == 1 ? QUESTION_YES : QUESTION_NO;
}
