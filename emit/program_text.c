#include "emit/program_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

hb_str pt_quote(hb_arena *a, hb_str s)
{
    hb_buf b = {.arena = a};
    hb_putc(&b, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\' || c == '?') // "??/" is a trigraph
            hb_printf(&b, "\\%c", c);
        else if (c < 32 || c >= 127)
            hb_printf(&b, "\\%03o", c);
        else
            hb_putc(&b, (char)c);
    }
    hb_putc(&b, '"');
    return hb_done(&b);
}

hb_str pt_number(hb_arena *a, double x)
{
    if (isinf(x)) return x > 0 ? HB_STR("1.0 / 0.0") : HB_STR("-1.0 / 0.0");
    if (isnan(x)) return HB_STR("0.0 / 0.0");
    if (x == floor(x) && fabs(x) < 1e9) return hb_fmt(a, "%.0f", x + 0.0);
    hb_str s = {0};
    for (int digits = 1; digits <= 17; digits++) {
        s = hb_fmt(a, "%.*g", digits, x);
        if (strtod(s.p, NULL) == x) break;
    }
    if (!strpbrk(s.p, ".e") && fabs(x) > 2e9) s = hb_fmt(a, "%s.0", s.p); // no int literal
    return s;
}

hb_str pt_ms(hb_arena *a, double sec)
{
    double ms = sec * 1e3;
    return hb_fmt(a, ms < 0.9995 ? "%.3f" : ms < 9.995 ? "%.2f" : ms < 99.95 ? "%.1f" : "%.0f", ms);
}
