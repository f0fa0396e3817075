// XXH64 (Yann Collet, "xxHash fast digest algorithm", github.com/Cyan4973/xxHash/doc): a checksum
// that runs at the speed of memory. Against damage by accident, not against forgery.

#ifndef HAP_RUNTIME_XXH64_H
#define HAP_RUNTIME_XXH64_H

#include <stdint.h>

uint64_t hap_xxh64(const void *p, int64_t bytes); // seed 0

#endif
