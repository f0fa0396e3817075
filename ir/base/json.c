#include "ir/base/plain.h"
#include "ir/base/tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Recursive descent over RFC 8259, to the letter: no byte order mark, no comments, no trailing
// comma. Past the grammar, what could not be represented is refused: numbers beyond double, lone
// surrogates. The first syntax error ends the reading; duplicate keys are collected. Line feeds
// stand only between tokens, so a position is found from the start of the present line.

enum { DEEPEST = 64 };

typedef struct reader {
    hb_arena *arena, *scratch; // scratch: key sets, gone with the reader
    const hb_source *src;
    hb_diag *diag;
    const char *p, *end, *line_start;
    int line, depth;
} reader;

static hb_pos pos_at(const reader *r, const char *p)
{
    return (hb_pos){r->line, (int)(p - r->line_start) + 1};
}

#define FAIL(r, where, ...)                                                                        \
    (hb_error((r)->diag, (r)->src, pos_at((r), (where)), __VA_ARGS__), false)

static void skip_space(reader *r)
{
    for (; r->p < r->end; r->p++) {
        if (*r->p == '\n') {
            r->line++;
            r->line_start = r->p + 1;
        } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
            return;
        }
    }
}

static bool unexpected(const reader *r, const char *wanted)
{
    if (r->p == r->end) return FAIL(r, r->p, "unexpected end of file, expected %s", wanted);
    unsigned char c = (unsigned char)*r->p;
    if (c > 0x20 && c < 0x7f) return FAIL(r, r->p, "unexpected '%c', expected %s", c, wanted);
    return FAIL(r, r->p, "unexpected byte 0x%02x, expected %s", c, wanted);
}

static void put_utf8(hb_buf *b, unsigned long c)
{
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; // bytes after the first
    hb_putc(b, (char)(lead[more] | c >> 6 * more));
    while (more--)
        hb_putc(b, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

// The four digits after \u; r->p stands on the u and is left on the last digit.
static bool read_hex4(reader *r, unsigned long *unit)
{
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        r->p++;
        const char *digit = r->p < r->end ? memchr(hex, *r->p, sizeof hex - 1) : NULL;
        if (!digit) return unexpected(r, "four hexadecimal digits after \\u");
        *unit = *unit << 4 | (unsigned long)((digit - hex) % 16);
    }
    return true;
}

// r->p stands behind the backslash and is left behind the escape.
static bool read_escape(reader *r, hb_buf *b)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *start = r->p - 1;
    if (r->p == r->end) return unexpected(r, "the rest of an escape");
    if (*r->p != 'u') {
        const char *known = *r->p ? strchr(from, *r->p) : NULL;
        if (!known) return FAIL(r, start, "unknown escape in string");
        hb_putc(b, to[known - from]);
        r->p++;
        return true;
    }
    unsigned long high, low;
    if (!read_hex4(r, &high)) return false;
    r->p++;
    if (high == 0) return FAIL(r, start, "a zero byte in a string");
    if (high >= 0xdc00 && high <= 0xdfff) return FAIL(r, start, "low surrogate without a high one");
    if (high >= 0xd800 && high <= 0xdbff) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
            return FAIL(r, start, "high surrogate without a low one");
        r->p++;
        if (!read_hex4(r, &low)) return false;
        r->p++;
        if (low < 0xdc00 || low > 0xdfff) return FAIL(r, start, "high surrogate without a low one");
        high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(b, high);
    return true;
}

static bool read_string(reader *r, hb_str *text)
{
    const char *open = r->p++;
    hb_buf b = {.arena = r->arena};
    for (;;) {
        const char *run = r->p;
        while (r->p < r->end && *r->p != '"' && *r->p != '\\') {
            unsigned char c = (unsigned char)*r->p;
            if (c == '\n') return FAIL(r, open, "string not closed at the end of the line");
            if (c < 0x20)
                return FAIL(r, r->p, "control byte 0x%02x in string, write \\u%04x", c, c);
            unsigned code;
            int n = hb_utf8(r->p, (size_t)(r->end - r->p), &code);
            if (!n) return FAIL(r, r->p, "invalid UTF-8: byte 0x%02x", c);
            r->p += n;
        }
        if (r->p == r->end) return FAIL(r, open, "string not closed");
        hb_putn(&b, run, (size_t)(r->p - run));
        if (*r->p++ == '"') break;
        if (!read_escape(r, &b)) return false;
    }
    *text = hb_done(&b);
    return true;
}

static bool digits(reader *r)
{
    if (r->p == r->end || *r->p < '0' || *r->p > '9') return unexpected(r, "a digit");
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return true;
}

static bool read_number(reader *r, hb_tree *t)
{
    const char *start = r->p;
    bool whole = true;
    if (*r->p == '-') r->p++;
    const char *first = r->p;
    if (!digits(r)) return false;
    if (*first == '0' && r->p - first > 1) return FAIL(r, first, "number with a leading zero");
    if (r->p < r->end && *r->p == '.') {
        whole = false;
        r->p++;
        if (!digits(r)) return false;
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        whole = false;
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-')) r->p++;
        if (!digits(r)) return false;
    }
    t->s = hb_str_n(r->arena, start, (size_t)(r->p - start));
    t->f = strtod(t->s.p, NULL);
    if (isinf(t->f)) return FAIL(r, start, "number out of range");
    t->kind = HB_REAL;
    if (whole) {
        errno = 0;
        long long i = strtoll(t->s.p, NULL, 10);
        if (!errno) {
            t->kind = HB_INT;
            t->i = i;
        }
    }
    return true;
}

static bool read_word(reader *r, hb_tree *t, const char *word, hb_kind kind)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n)) return unexpected(r, "a value");
    t->kind = kind;
    t->b = word[0] == 't';
    t->s = hb_str_n(r->arena, word, n);
    r->p += n;
    return true;
}

static hb_tree *read_value(reader *r);

// One "key": of a table; the value follows.
static bool read_key(reader *r, hb_tree *t, hb_map *seen, int *cap)
{
    if (r->p == r->end || *r->p != '"')
        return unexpected(r, t->n ? "a key in double quotes" : "a key in double quotes or '}'");
    hb_pos at = pos_at(r, r->p);
    hb_str key;
    if (!read_string(r, &key)) return false;
    int before = hb_map_get(seen, key);
    if (before >= 0)
        hb_error(r->diag, r->src, at, "duplicate key '%.*s', first on line %d", HB_ARG(key),
                 t->key_at[before].line);
    else
        hb_map_put(seen, key, t->n);
    int key_cap = *cap, at_cap = *cap;
    if (t->n == *cap) {
        t->key = hb_grow(r->arena, t->key, &key_cap, sizeof *t->key);
        t->key_at = hb_grow(r->arena, t->key_at, &at_cap, sizeof *t->key_at);
    }
    t->key[t->n] = key;
    t->key_at[t->n] = at;
    skip_space(r);
    if (r->p == r->end || *r->p != ':') return unexpected(r, "':'");
    r->p++;
    skip_space(r);
    return true;
}

static bool read_children(reader *r, hb_tree *t)
{
    bool table = *r->p == '{';
    char close = table ? '}' : ']';
    int cap = 0;
    if (r->depth++ == DEEPEST) return FAIL(r, r->p, "nested deeper than %d levels", DEEPEST);
    t->kind = table ? HB_TABLE : HB_LIST;
    hb_map *seen = table ? hb_map_new(r->scratch) : NULL;
    r->p++;
    skip_space(r);
    if (r->p < r->end && *r->p == close) goto closed;
    for (;;) {
        if (table && !read_key(r, t, seen, &cap)) return false;
        hb_tree *child = read_value(r);
        if (!child) return false;
        if (t->n == cap) t->v = hb_grow(r->arena, t->v, &cap, sizeof(hb_tree *));
        t->v[t->n++] = child;
        skip_space(r);
        if (r->p == r->end || (*r->p != ',' && *r->p != close))
            return unexpected(r, table ? "',' or '}'" : "',' or ']'");
        if (*r->p == close) break;
        r->p++;
        skip_space(r);
    }
closed:
    r->p++;
    r->depth--;
    return true;
}

static hb_tree *read_value(reader *r)
{
    hb_tree *t = HB_NEW(r->arena, hb_tree);
    t->at = pos_at(r, r->p);
    char c = r->p < r->end ? *r->p : '\0';
    bool ok;
    if (c == '{' || c == '[') {
        ok = read_children(r, t);
    } else if (c == '"') {
        t->kind = HB_TEXT;
        ok = read_string(r, &t->s);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        ok = read_number(r, t);
    } else if (c == 't') {
        ok = read_word(r, t, "true", HB_BOOL);
    } else if (c == 'f') {
        ok = read_word(r, t, "false", HB_BOOL);
    } else if (c == 'n') {
        ok = read_word(r, t, "null", HB_NULL);
    } else {
        ok = unexpected(r, "a value");
    }
    return ok ? t : NULL;
}

hb_tree *hb_json_read(hb_arena *a, const hb_source *src, hb_diag *d)
{
    const char *p = src->text.p ? src->text.p : "";
    reader r = {.arena = a,
                .scratch = hb_arena_new(),
                .src = src,
                .diag = d,
                .p = p,
                .end = p + src->text.n,
                .line_start = p,
                .line = 1};
    int errors = hb_diag_count(d);
    skip_space(&r);
    hb_tree *t = read_value(&r);
    skip_space(&r);
    if (t && r.p < r.end) unexpected(&r, "the end of the file");
    hb_arena_free(r.scratch);
    return hb_diag_count(d) == errors ? t : NULL;
}
