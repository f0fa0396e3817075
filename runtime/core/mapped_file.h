// A file read through memory; pages come in as they are touched.

#ifndef HAP_RUNTIME_MAPPED_FILE_H
#define HAP_RUNTIME_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hap_mapped {
    const unsigned char *p;
    int64_t bytes;
} hap_mapped;

// False with the message in why ("F: No such file or directory").
bool hap_map_file(hap_mapped *m, const char *path, char *why, int n);
void hap_unmap_file(hap_mapped *m);

#endif
