// Reader of NumPy's .npy files, versions 1 to 3, C order, little-endian; and of bare elements.

#ifndef HAP_RUNTIME_NPY_H
#define HAP_RUNTIME_NPY_H

#include "core/items.h"
#include "core/mapped_file.h"

const char *hap_item_name(hap_item type);
int64_t hap_item_bytes(hap_item type);

typedef struct hap_npy {
    hap_mapped map;
    hap_item type;
    int rank;
    int64_t shape[HAP_MAX_RANK];
    int64_t elements;
    const unsigned char *data;
} hap_npy;

// False with one message, naming the file, in why.
bool hap_npy_open(hap_npy *f, const char *path, char *why, int n);
// The same of elements without a header, as an array of one dim.
bool hap_bin_open(hap_npy *f, const char *path, hap_item type, char *why, int n);
void hap_npy_close(hap_npy *f);

#endif
