// Reader of NumPy's .npy files, versions 1 to 3, C order, little-endian.

#ifndef HAP_RUNTIME_NPY_H
#define HAP_RUNTIME_NPY_H

#include "core/mapped_file.h"
#include "hap/runtime.h"

typedef struct hap_npy {
    hap_mapped map;
    hap_dtype type;
    int rank;
    int64_t shape[HAP_MAX_RANK];
    int64_t elements;
    const unsigned char *data;
} hap_npy;

// False with one message, naming the file, in why.
bool hap_npy_open(hap_npy *f, const char *path, char *why, int n);
void hap_npy_close(hap_npy *f);

#endif
