#include "core/json_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hap_json_bad(hap_json *s, const char *format, ...)
{
    if (s->failed) return false;
    s->failed = true;
    int at =
        snprintf(s->why, (size_t)s->n, "byte %lld: ", (long long)(s->p - s->start + s->offset));
    va_list args;
    va_start(args, format);
    if (at < s->n) vsnprintf(s->why + at, (size_t)(s->n - at), format, args);
    va_end(args);
    return false;
}

static void space(hap_json *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

bool hap_json_next_is(hap_json *s, char c)
{
    space(s);
    if (s->p >= s->end || *s->p != (unsigned char)c) return false;
    s->p++;
    return true;
}

bool hap_json_expect(hap_json *s, char c)
{
    return hap_json_next_is(s, c) || hap_json_bad(s, "'%c' expected", c);
}

static bool hex4(hap_json *s, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, s->p++) {
        int c = s->p < s->end ? *s->p : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return hap_json_bad(s, "a malformed \\u escape");
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static int put_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) return out[0] = (char)c, 1;
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00 >> n & 0xFF) | c);
    return n;
}

static bool escape(hap_json *s, char out[4], int *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = s->p < s->end ? *s->p++ : 0;
    const char *at = c ? strchr(from, c) : NULL;
    *n = 1;
    if (at) {
        out[0] = to[at - from];
        return true;
    }
    uint32_t code, low;
    if (c != 'u') return hap_json_bad(s, "an unknown escape");
    if (!hex4(s, &code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
        if (s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u')
            return hap_json_bad(s, "half a surrogate");
        s->p += 2;
        if (!hex4(s, &low)) return false;
        if (low < 0xDC00 || low > 0xDFFF) return hap_json_bad(s, "half a surrogate");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return hap_json_bad(s, "half a surrogate");
    }
    if (code == 0) return hap_json_bad(s, "a zero byte in a string");
    *n = put_utf8(code, out);
    return true;
}

char *hap_json_string(hap_json *s)
{
    if (!hap_json_expect(s, '"')) return NULL;
    const unsigned char *q = s->p;
    while (q < s->end && *q != '"')
        q += *q == '\\' ? 2 : 1;
    if (q >= s->end) {
        hap_json_bad(s, "a string without end");
        return NULL;
    }
    char *out = malloc((size_t)(q - s->p) + 1), *at = out;
    if (!out) {
        hap_json_bad(s, "out of memory");
        return NULL;
    }
    while (s->p < q) {
        int n = 1;
        if (*s->p < 0x20) hap_json_bad(s, "a control character in a string");
        if (*s->p == '\\') {
            s->p++;
            if (!escape(s, at, &n)) break;
        } else {
            *at = (char)*s->p++;
        }
        if (s->failed) break;
        at += n;
    }
    *at = 0;
    if (s->failed) {
        free(out);
        return NULL;
    }
    s->p++;
    return out;
}

bool hap_json_whole(hap_json *s, int64_t *x)
{
    space(s);
    const unsigned char *start = s->p;
    for (*x = 0; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++) {
        if (*x > (INT64_MAX - 9) / 10) return hap_json_bad(s, "a number too large");
        *x = *x * 10 + (*s->p - '0');
    }
    return s->p > start || hap_json_bad(s, "a whole number expected");
}

bool hap_json_ends(hap_json *s)
{
    space(s);
    return s->p == s->end || hap_json_bad(s, "something follows");
}

static bool skip_text(hap_json *s)
{
    char *text = hap_json_string(s);
    free(text);
    return text != NULL;
}

static bool skip_value(hap_json *s, int depth)
{
    enum { DEEPEST = 32 };
    if (depth > DEEPEST) return hap_json_bad(s, "nested too deeply");
    space(s);
    int c = s->p < s->end ? *s->p : 0;
    if (c == '"') return skip_text(s);
    if (c != '{' && c != '[') { // a number or a word
        const unsigned char *from = s->p;
        while (s->p<s->end && * s->p> ' ' && !strchr(",:]}[{\"", *s->p))
            s->p++;
        return s->p > from || hap_json_bad(s, "a value expected");
    }
    char close = c == '{' ? '}' : ']';
    s->p++;
    if (hap_json_next_is(s, close)) return true;
    do {
        if (c == '{' && !(skip_text(s) && hap_json_expect(s, ':'))) return false;
        if (!skip_value(s, depth + 1)) return false;
    } while (hap_json_next_is(s, ','));
    return hap_json_expect(s, close);
}

bool hap_json_skip(hap_json *s)
{
    return skip_value(s, 0);
}

static bool room(hap_text *t, size_t n)
{
    if (t->none) return false;
    if (t->n + n + 1 <= t->cap) return true;
    size_t cap = 2 * (t->cap + n + 64);
    char *p = realloc(t->p, cap);
    t->none = !p;
    if (!p) return false;
    t->p = p;
    t->cap = cap;
    return true;
}

void hap_text_put(hap_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !room(t, (size_t)n)) return;
    va_start(args, format);
    vsnprintf(t->p + t->n, (size_t)n + 1, format, args);
    va_end(args);
    t->n += (size_t)n;
}

void hap_text_name(hap_text *t, const char *name)
{
    hap_text_put(t, "\"");
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (c == '"' || c == '\\' || c < 0x20)
            hap_text_put(t, "\\u%04x", c);
        else
            hap_text_put(t, "%c", c);
    }
    hap_text_put(t, "\"");
}
