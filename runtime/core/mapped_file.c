#include "core/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool hap_map_file(hap_mapped *m, const char *path, char *why, int n)
{
    struct stat st;
    *m = (hap_mapped){NULL, 0};
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        snprintf(why, (size_t)n, "%s: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return false;
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        snprintf(why, (size_t)n, "%s: %s", path,
                 S_ISREG(st.st_mode) ? "the file is empty" : "not a regular file");
        close(fd);
        return false;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED) {
        snprintf(why, (size_t)n, "%s: %s", path, strerror(errno));
        return false;
    }
    *m = (hap_mapped){p, st.st_size};
    return true;
}

void hap_unmap_file(hap_mapped *m)
{
    union {
        const unsigned char *in;
        void *out;
    } p = {m->p}; // munmap takes what mmap gave
    if (m->p) munmap(p.out, (size_t)m->bytes);
    *m = (hap_mapped){NULL, 0};
}
