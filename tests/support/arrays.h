// Files of arrays for tests: safetensors (F32, I64) and .npy (f4, i8, C order).

#ifndef HAP_TESTS_ARRAYS_H
#define HAP_TESTS_ARRAYS_H

#include "hap/runtime.h"

#include "ir/base/tree.h"

typedef struct array {
    hb_str name; // empty for .npy
    hap_dtype type;
    int rank;
    int64_t dim[HAP_MAX_RANK], elements;
    const void *data;
} array;

typedef struct arrays {
    int n;
    array *v;
} arrays;

// All of a file; exits with a message if it cannot be read (a test fixture is missing or broken).
arrays arrays_read(hb_arena *a, const char *path);
const array *arrays_get(const arrays *f, const char *name, size_t n); // NULL if there is none

#endif
