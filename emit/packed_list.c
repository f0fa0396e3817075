#include "emit/packed_list.h"

enum { SHORTEST = 4 }; // copies

static uint64_t key_of(const int64_t *v)
{
    return hb_hash_key(v, sizeof *v * SHORTEST);
}

void packed_list(hb_buf *out, const int64_t *v, int n)
{
    hb_arena *a = hb_arena_new();
    int64_t least = 0;
    size_t slots = 64;
    while (slots < 2 * (size_t)n)
        slots *= 2;
    int *last = HB_ARRAY(a, int, slots); // by key: where it was seen last, + 1
    for (int i = 0; i < n; i++)
        least = v[i] < least ? v[i] : least;
    hb_printf(out, "[%lld", (long long)-least);
    for (int i = 0, seen = 0; i < n;) {
        int from = -1, length = 0;
        for (; seen < i; seen++)
            if (seen + SHORTEST <= n) last[key_of(v + seen) & (slots - 1)] = seen + 1;
        if (i + SHORTEST <= n) from = last[key_of(v + i) & (slots - 1)] - 1;
        while (from >= 0 && i + length < n && v[from + length] == v[i + length])
            length++;
        if (length >= SHORTEST) {
            hb_printf(out, ",%d,%d", -length, i - from);
            i += length;
        } else {
            hb_printf(out, ",%lld", (long long)(v[i] - least));
            i++;
        }
    }
    hb_putc(out, ']');
    hb_arena_free(a);
}
