#include "ir/base/plain.h"

#define INSTEAD "\xef\xbf\xbd" // U+FFFD

int hb_utf8(const char *text, size_t left, unsigned *code)
{
    const unsigned char *p = (const unsigned char *)text;
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (n == 0 || (size_t)n > left) return 0;
    *code = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if (p[i] >> 6 != 2) return 0;
        *code = *code << 6 | (p[i] & 0x3f);
    }
    return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

bool hb_obeyed(unsigned c)
{
    return c < 32 || (c >= 127 && c < 160) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

hb_str hb_plain(hb_arena *a, hb_str text)
{
    hb_buf b = {.arena = a};
    for (size_t i = 0; i < text.n;) {
        unsigned code = 0;
        int n = hb_utf8(text.p + i, text.n - i, &code);
        if (n == 0 || hb_obeyed(code))
            hb_puts(&b, INSTEAD);
        else
            hb_putn(&b, text.p + i, (size_t)n);
        i += n ? (size_t)n : 1;
    }
    return hb_done(&b);
}

void hb_print_plain(FILE *out, hb_str text, bool spaces)
{
    for (size_t i = 0; i < text.n;) {
        unsigned code = 0;
        int n = hb_utf8(text.p + i, text.n - i, &code);
        if (n == 1 && !spaces && (code == '\n' || code == '\t'))
            fputc((int)code, out);
        else if (n == 1 && spaces && hb_obeyed(code))
            fputc(' ', out);
        else if (n == 0 || hb_obeyed(code))
            fputs(INSTEAD, out);
        else
            fwrite(text.p + i, 1, (size_t)n, out);
        i += n ? (size_t)n : 1;
    }
}

void hb_put_json(hb_buf *b, hb_str s)
{
    static const char *const short_form[] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\n'] = "\\n", ['\t'] = "\\t", ['\r'] = "\\r",
    };
    hb_putc(b, '"');
    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char)s.p[i];
        unsigned code = 0;
        int n = hb_utf8(s.p + i, s.n - i, &code);
        if (c < sizeof short_form / sizeof *short_form && short_form[c])
            hb_puts(b, short_form[c]);
        else if (n > 0 && hb_obeyed(code)) // all below 0x10000
            hb_printf(b, "\\u%04x", code);
        else
            hb_putn(b, s.p + i, n > 0 ? (size_t)n : 1);
        i += n > 0 ? (size_t)n : 1;
    }
    hb_putc(b, '"');
}
