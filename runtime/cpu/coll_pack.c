#include "cpu/coll_pack.h"

#include <string.h>

void cpu_move(const hap_coll_view *v, void *dst, hap_box dst_held, const void *src,
              hap_box src_held, hap_box part)
{
    const char *x = src;
    char *y = dst;
    int64_t item = v->inner * v->item;
    if (hap_box_bytes(v, part) == 0) return;
    // Bytes from one entry of outer, f1, mid to the next, on each side.
    int64_t x_mid = src_held.f2.n * item, x_f1 = v->mid * x_mid, x_outer = src_held.f1.n * x_f1;
    int64_t y_mid = dst_held.f2.n * item, y_f1 = v->mid * y_mid, y_outer = dst_held.f1.n * y_f1;
    x += (part.f1.lo - src_held.f1.lo) * x_f1 + (part.f2.lo - src_held.f2.lo) * item;
    y += (part.f1.lo - dst_held.f1.lo) * y_f1 + (part.f2.lo - dst_held.f2.lo) * item;
    bool rows = part.f2.n == src_held.f2.n && part.f2.n == dst_held.f2.n;
    for (int64_t o = 0; o < v->outer; o++, x += x_outer, y += y_outer) {
        if (rows) {
            memmove(y, x, (size_t)(part.f1.n * x_f1));
            continue;
        }
        for (int64_t i = 0; i < part.f1.n; i++) {
            for (int64_t m = 0; m < v->mid; m++)
                memcpy(y + i * y_f1 + m * y_mid, x + i * x_f1 + m * x_mid,
                       (size_t)(part.f2.n * item));
        }
    }
}

void cpu_pack(const hap_coll_view *v, void *packed, const void *local, hap_box held, hap_box part)
{
    cpu_move(v, packed, part, local, held, part);
}

void cpu_unpack(const hap_coll_view *v, void *local, const void *packed, hap_box held, hap_box part)
{
    cpu_move(v, local, held, packed, part, part);
}
