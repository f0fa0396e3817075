// Long tables of integers in few words: HAP_X256(3) is 256 entries of 3 (runtime.h has the powers
// of two to 1024).

#include "emit/emit.h"

enum {
    PLAIN = 16,
    SHORTEST = 4,
    LONGEST = 1024
}; // tables of up to PLAIN entries stand as they are

static int run_length(const int64_t *v, int n, int at)
{
    int end = at + 1;
    while (end < n && v[end] == v[at])
        end++;
    return end - at;
}

int emit_table_items(hb_arena *a, const int64_t *v, int n, hb_str *item)
{
    int items = 0;
    for (int i = 0; i < n;) {
        int run = n > PLAIN ? run_length(v, n, i) : 1, size = LONGEST;
        while (size > run)
            size /= 2;
        item[items++] = size < SHORTEST ? hb_fmt(a, "%lld", (long long)v[i])
                                        : hb_fmt(a, "HAP_X%d(%lld)", size, (long long)v[i]);
        i += size < SHORTEST ? 1 : size;
    }
    return items;
}

void emit_table_sum(hb_buf *out, const int64_t *v, int n)
{
    for (int i = 0; i < n;) {
        int run = n > PLAIN ? run_length(v, n, i) : 1;
        hb_puts(out, i ? " + " : " ");
        if (run > 1) hb_printf(out, "%d x ", run);
        hb_printf(out, "%lld", (long long)v[i]);
        i += run;
    }
}
