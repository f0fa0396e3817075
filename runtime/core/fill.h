// Values that need no file: constants, iota, random parameters. The same for any number of ranks.

#ifndef HAP_RUNTIME_FILL_H
#define HAP_RUNTIME_FILL_H

#include "core/tensor.h"

// Fills rank r's part of the tensor called name, at data. NULL, or why not.
const char *hap_fill_tensor(const hap_rank *r, const hap_tensor *t, const char *name, hap_fill fill,
                            uint64_t seed, void *data);
// Numbers of the same kind, soon there: random ones come again and again. For what computes with
// any that are alike (rehearsals).
const char *hap_fill_like(const hap_rank *r, const hap_tensor *t, const char *name, hap_fill fill,
                          uint64_t seed, void *data);

#endif
