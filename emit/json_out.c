#include "emit/json_out.h"
#include "ir/base/plain.h"

#include <math.h>

void js_sep(js *j)
{
    if (!j->first) hb_putc(j->b, ',');
    j->first = false;
}

void js_key(js *j, const char *name)
{
    js_sep(j);
    hb_printf(j->b, "\"%s\":", name);
}

void js_open(js *j, char bracket)
{
    hb_putc(j->b, bracket);
    j->first = true;
}

void js_close(js *j, char bracket)
{
    hb_putc(j->b, bracket);
    j->first = false;
}

void js_text(js *j, const char *name, hb_str s)
{
    js_key(j, name);
    hb_put_json(j->b, s);
}

void js_integer(js *j, const char *name, int64_t v)
{
    js_key(j, name);
    hb_printf(j->b, "%lld", (long long)v);
}

static void number(js *j, double v)
{
    if (isfinite(v))
        hb_printf(j->b, "%.9g", v);
    else
        hb_puts(j->b, "null");
}

void js_real(js *j, const char *name, double v)
{
    js_key(j, name);
    number(j, v);
}

void js_real_or_null(js *j, const char *name, double v, double scale)
{
    js_key(j, name);
    number(j, v < 0 ? (double)INFINITY : v * scale);
}

void js_flag(js *j, const char *name, bool v)
{
    js_key(j, name);
    hb_puts(j->b, v ? "true" : "false");
}

void js_int64s(js *j, const char *name, const int64_t *v, int n)
{
    js_key(j, name);
    js_open(j, '[');
    for (int i = 0; i < n; i++) {
        js_sep(j);
        hb_printf(j->b, "%lld", (long long)v[i]);
    }
    js_close(j, ']');
}

void js_ints(js *j, const char *name, const int *v, int n)
{
    js_key(j, name);
    js_open(j, '[');
    for (int i = 0; i < n; i++) {
        js_sep(j);
        hb_printf(j->b, "%d", v[i]);
    }
    js_close(j, ']');
}

void js_reals(js *j, const char *name, const double *v, int n, double scale)
{
    js_key(j, name);
    js_open(j, '[');
    for (int i = 0; i < n; i++) {
        js_sep(j);
        number(j, v[i] * scale);
    }
    js_close(j, ']');
}

void js_put_in_script(hb_buf *out, hb_str json)
{
    for (size_t i = 0; i < json.n; i++)
        if (json.p[i] == '<')
            hb_puts(out, "\\u003c");
        else
            hb_putc(out, json.p[i]);
}
