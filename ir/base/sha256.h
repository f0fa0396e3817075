// SHA-256 (FIPS 180-4): the name of a graph or a cluster is the hash of its canonical text.
//
//     hb_str id = hb_sha256_hex(a, text); // 64 lower-case hex digits; the first 16 make a short id

#ifndef HAP_IR_BASE_SHA256_H
#define HAP_IR_BASE_SHA256_H

#include "ir/base/arena.h"

hb_str hb_sha256_hex(hb_arena *a, hb_str bytes);

#endif
