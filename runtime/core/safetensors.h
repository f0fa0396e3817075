// Reader of safetensors files: 8 bytes of header length, a JSON header, the tensors' bytes.
//
// Everything the header says is checked against the file's size before any of it is used.

#ifndef HAP_RUNTIME_SAFETENSORS_H
#define HAP_RUNTIME_SAFETENSORS_H

#include "core/mapped_file.h"
#include "hap/runtime.h"

typedef struct hap_st_tensor {
    char *name;
    char type_name[12]; // the file's own word, "F32"
    int type;           // hap_dtype; -1: a type the runtime has no use for
    int rank;
    int64_t shape[HAP_MAX_RANK];
    int64_t begin, end; // in the data
    const unsigned char *data;
} hap_st_tensor;

typedef struct hap_st_pair {
    char *key, *value;
} hap_st_pair;

typedef struct hap_st {
    hap_mapped map;
    int n, cap;
    hap_st_tensor *tensor; // by name
    int n_meta;
    hap_st_pair *meta; // what the header says of the file
    const unsigned char *data;
    int64_t data_bytes;
} hap_st;

// False with one message, naming the file (and the byte), in why.
bool hap_st_open(hap_st *f, const char *path, char *why, int n);
const hap_st_tensor *hap_st_find(const hap_st *f, const char *name); // NULL if there is none
const char *hap_st_meta(const hap_st *f, const char *key);           // NULL if there is none
void hap_st_close(hap_st *f);

const char *hap_st_type_name(hap_dtype t); // "F32"

#endif
