// Linked into a program with -Wl,--wrap=statvfs: disks have as many bytes free as ROOM says.

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

int __wrap_statvfs(const char *path, struct statvfs *v);

int __wrap_statvfs(const char *path, struct statvfs *v)
{
    const char *room = getenv("ROOM");
    (void)path;
    if (!room) return -1;
    memset(v, 0, sizeof *v);
    v->f_frsize = 1;
    v->f_blocks = 1000000000;
    v->f_bavail = strtoul(room, NULL, 10);
    return 0;
}
