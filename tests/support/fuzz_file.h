// For fuzzing of readers that open a file: the input as one, which goes when the process ends.

#ifndef HAP_TESTS_FUZZ_FILE_H
#define HAP_TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char fuzz_path[64];

static inline void fuzz_file_remove(void)
{
    unlink(fuzz_path);
}

static inline const char *fuzz_file(const uint8_t *data, size_t n)
{
    if (!fuzz_path[0]) {
        strcpy(fuzz_path, "/tmp/hap_fuzz.XXXXXX");
        int fd = mkstemp(fuzz_path);
        if (fd < 0) abort();
        close(fd);
        atexit(fuzz_file_remove);
    }
    FILE *f = fopen(fuzz_path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) abort();
    return fuzz_path;
}

#endif
