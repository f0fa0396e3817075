// Linked in front of a program with -Wl,--wrap=…: ends the process as kill -9 would, right before
// its CRASH_AT-th call (counted from 1) of those by which files are written and renamed.

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void call(void)
{
    static long n, at = -1;
    const char *text = getenv("CRASH_AT");
    if (at < 0) at = text ? atol(text) : 0;
    if (++n == at) raise(SIGKILL);
}

#define WRAP(name, given, passed)                                                                  \
    int __real_##name given;                                                                       \
    int __wrap_##name given;                                                                       \
    int __wrap_##name given                                                                        \
    {                                                                                              \
        call();                                                                                    \
        return __real_##name passed;                                                               \
    }
WRAP(fsync, (int fd), (fd))
WRAP(unlink, (const char *path), (path))
WRAP(rmdir, (const char *path), (path))
WRAP(mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(rename, (const char *from, const char *to), (from, to))
WRAP(posix_fallocate, (int fd, off_t from, off_t n), (fd, from, n))
WRAP(renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
