#include "core/xxh64.h"

#include <string.h>

#define P1 0x9E3779B185EBCA87u
#define P2 0xC2B2AE3D27D4EB4Fu
#define P3 0x165667B19E3779F9u
#define P4 0x85EBCA77C2B2AE63u
#define P5 0x27D4EB2F165667C5u

static uint64_t turned(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static uint64_t word8(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x); // little-endian, as all the files are
    return x;
}

static uint32_t word4(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t lane(uint64_t acc, uint64_t x)
{
    return turned(acc + x * P2, 31) * P1;
}

static uint64_t merged(uint64_t acc, uint64_t x)
{
    return (acc ^ lane(0, x)) * P1 + P4;
}

uint64_t hap_xxh64(const void *data, int64_t bytes)
{
    const unsigned char *p = data;
    int64_t left = bytes;
    uint64_t h = P5;
    if (left >= 32) {
        uint64_t a = P1 + P2, b = P2, c = 0, d = (uint64_t)0 - P1;
        for (; left >= 32; left -= 32, p += 32) {
            a = lane(a, word8(p));
            b = lane(b, word8(p + 8));
            c = lane(c, word8(p + 16));
            d = lane(d, word8(p + 24));
        }
        h = turned(a, 1) + turned(b, 7) + turned(c, 12) + turned(d, 18);
        h = merged(merged(merged(merged(h, a), b), c), d);
    }
    h += (uint64_t)bytes;
    for (; left >= 8; left -= 8, p += 8)
        h = turned(h ^ lane(0, word8(p)), 27) * P1 + P4;
    if (left >= 4) {
        h = turned(h ^ word4(p) * P1, 23) * P2 + P3;
        left -= 4;
        p += 4;
    }
    for (; left > 0; left--, p++)
        h = turned(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}
