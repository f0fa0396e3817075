#include "core/safetensors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100000000 }; // as the format's own library

static const struct {
    const char *name;
    int bytes, type;
} st_types[] = {{"F32", 4, HAP_F32}, {"BF16", 2, HAP_BF16}, {"F16", 2, HAP_F16},
                {"I64", 8, HAP_I64}, {"I32", 4, HAP_I32},   {"BOOL", 1, HAP_BOOL},
                {"F64", 8, -1},      {"U64", 8, -1},        {"U32", 4, -1},
                {"I16", 2, -1},      {"U16", 2, -1},        {"I8", 1, -1},
                {"U8", 1, -1},       {"F8_E4M3", 1, -1},    {"F8_E5M2", 1, -1}};
enum { N_TYPES = sizeof st_types / sizeof *st_types };

const char *hap_st_type_name(hap_dtype t)
{
    for (int i = 0; i < N_TYPES; i++) {
        if (st_types[i].type == (int)t) return st_types[i].name;
    }
    return "?";
}

typedef struct reader {
    const unsigned char *start, *p, *end;
    char *why;
    int n;
    bool failed;
} reader;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
bad(reader *s, const char *format, ...)
{
    if (s->failed) return false;
    s->failed = true;
    int at = snprintf(s->why, (size_t)s->n, "byte %lld: ", (long long)(s->p - s->start) + 8);
    va_list args;
    va_start(args, format);
    if (at < s->n) vsnprintf(s->why + at, (size_t)(s->n - at), format, args);
    va_end(args);
    return false;
}

static void space(reader *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

static bool next_is(reader *s, char c)
{
    space(s);
    if (s->p >= s->end || *s->p != (unsigned char)c) return false;
    s->p++;
    return true;
}

static bool expect(reader *s, char c)
{
    return next_is(s, c) || bad(s, "'%c' expected", c);
}

static bool hex4(reader *s, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, s->p++) {
        int c = s->p < s->end ? *s->p : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return bad(s, "a malformed \\u escape");
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

static bool escape(reader *s, char out[4], int *n)
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
    if (c != 'u') return bad(s, "an unknown escape");
    if (!hex4(s, &code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
        if (s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u')
            return bad(s, "half a surrogate");
        s->p += 2;
        if (!hex4(s, &low)) return false;
        if (low < 0xDC00 || low > 0xDFFF) return bad(s, "half a surrogate");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return bad(s, "half a surrogate");
    }
    if (code == 0) return bad(s, "a zero byte in a string");
    *n = put_utf8(code, out);
    return true;
}

// A new string, NULL after an error.
static char *string(reader *s)
{
    if (!expect(s, '"')) return NULL;
    const unsigned char *q = s->p;
    while (q < s->end && *q != '"')
        q += *q == '\\' ? 2 : 1;
    if (q >= s->end) {
        bad(s, "a string without end");
        return NULL;
    }
    char *out = malloc((size_t)(q - s->p) + 1), *at = out;
    if (!out) {
        bad(s, "out of memory");
        return NULL;
    }
    while (s->p < q) {
        int n = 1;
        if (*s->p < 0x20) bad(s, "a control character in a string");
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

static bool whole(reader *s, int64_t *x)
{
    space(s);
    const unsigned char *start = s->p;
    for (*x = 0; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++) {
        if (*x > (INT64_MAX - 9) / 10) return bad(s, "a number too large");
        *x = *x * 10 + (*s->p - '0');
    }
    return s->p > start || bad(s, "a whole number expected");
}

static bool numbers(reader *s, int64_t *v, int max, int *n)
{
    *n = 0;
    if (!expect(s, '[')) return false;
    if (next_is(s, ']')) return true;
    do {
        int64_t x;
        if (!whole(s, &x)) return false;
        if (*n < max) v[*n] = x;
        ++*n;
    } while (next_is(s, ','));
    return expect(s, ']');
}

static bool field(reader *s, hap_st_tensor *t, int *rank, int *n_offsets)
{
    int64_t offset[2] = {0};
    char *key = string(s);
    bool ok = key && expect(s, ':');
    if (!ok) {
        free(key);
        return false;
    }
    if (!strcmp(key, "dtype")) {
        char *type = string(s);
        ok = type != NULL;
        t->type = -2;
        for (int i = 0; i < N_TYPES && ok; i++) {
            if (!strcmp(type, st_types[i].name)) t->type = st_types[i].type;
        }
        if (ok && (t->type == -2 || strlen(type) >= sizeof t->type_name))
            ok = bad(s, "unknown dtype \"%.16s\"", type);
        if (ok) memcpy(t->type_name, type, strlen(type) + 1);
        free(type);
    } else if (!strcmp(key, "shape")) {
        ok = numbers(s, t->shape, HAP_MAX_RANK, rank);
    } else if (!strcmp(key, "data_offsets")) {
        ok = numbers(s, offset, 2, n_offsets);
        t->begin = offset[0];
        t->end = offset[1];
    } else {
        ok = bad(s, "unknown key \"%.32s\"", key);
    }
    free(key);
    return ok;
}

static int bytes_of(const char *type_name)
{
    for (int i = 0; i < N_TYPES; i++) {
        if (!strcmp(type_name, st_types[i].name)) return st_types[i].bytes;
    }
    return 0;
}

static bool tensor(reader *s, hap_st_tensor *t, int64_t data_bytes)
{
    int rank = -1, n_offsets = 0;
    if (!expect(s, '{')) return false;
    do {
        if (!field(s, t, &rank, &n_offsets)) return false;
    } while (next_is(s, ','));
    if (!expect(s, '}')) return false;
    if (!t->type_name[0] || rank < 0 || n_offsets != 2)
        return bad(s, "tensor \"%.60s\" wants dtype, shape and two data_offsets", t->name);
    if (rank > HAP_MAX_RANK) { // nobody here reads it; its size is not checked either
        t->type = -1;
        rank = 0;
    } else {
        int64_t elements = 1;
        for (int i = 0; i < rank; i++) {
            if (t->shape[i] && elements > INT64_MAX / 16 / t->shape[i])
                return bad(s, "tensor \"%.60s\" has an impossible shape", t->name);
            elements *= t->shape[i];
        }
        if (t->begin > t->end || t->end - t->begin != elements * bytes_of(t->type_name))
            return bad(s, "tensor \"%.60s\": %lld bytes do not fit its shape and dtype", t->name,
                       (long long)(t->end - t->begin));
    }
    t->rank = rank;
    if (t->begin > t->end || t->end > data_bytes)
        return bad(s, "tensor \"%.60s\" ends at byte %lld of %lld: the file is truncated", t->name,
                   (long long)t->end, (long long)data_bytes);
    return true;
}

static bool metadata(reader *s)
{
    if (!expect(s, '{')) return false;
    if (next_is(s, '}')) return true;
    do {
        char *key = string(s);
        char *value = key && expect(s, ':') ? string(s) : NULL;
        bool ok = value != NULL;
        free(key);
        free(value);
        if (!ok) return false;
    } while (next_is(s, ','));
    return expect(s, '}');
}

static bool entry(reader *s, hap_st *f, int64_t data_bytes)
{
    char *name = string(s);
    if (!name) return false;
    if (!expect(s, ':')) {
        free(name);
        return false;
    }
    if (!strcmp(name, "__metadata__")) {
        free(name);
        return metadata(s);
    }
    if (f->n == f->cap) {
        int cap = f->cap ? 2 * f->cap : 64;
        hap_st_tensor *more = realloc(f->tensor, (size_t)cap * sizeof *more);
        if (!more) {
            free(name);
            return bad(s, "out of memory");
        }
        f->tensor = more;
        f->cap = cap;
    }
    hap_st_tensor *t = &f->tensor[f->n++];
    *t = (hap_st_tensor){.name = name};
    return tensor(s, t, data_bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const hap_st_tensor *)a)->name, ((const hap_st_tensor *)b)->name);
}

static bool parse(hap_st *f, char *why, int n)
{
    const unsigned char *p = f->map.p;
    uint64_t head = 0;
    if (f->map.bytes < 8) {
        snprintf(why, (size_t)n, "truncated: %lld bytes are no safetensors file",
                 (long long)f->map.bytes);
        return false;
    }
    for (int i = 7; i >= 0; i--)
        head = head << 8 | p[i];
    if (head > MAX_HEADER || (int64_t)head > f->map.bytes - 8) {
        snprintf(why, (size_t)n, "truncated or no safetensors file: a header of %llu bytes in %lld",
                 (unsigned long long)head, (long long)f->map.bytes);
        return false;
    }
    reader s = {p + 8, p + 8, p + 8 + head, why, n, false};
    int64_t data_bytes = f->map.bytes - 8 - (int64_t)head, used = 0;
    if (!expect(&s, '{')) return false;
    if (!next_is(&s, '}')) {
        do {
            if (!entry(&s, f, data_bytes)) return false;
        } while (next_is(&s, ','));
        if (!expect(&s, '}')) return false;
    }
    space(&s);
    if (s.p != s.end) return bad(&s, "something follows the header");
    if (f->n) qsort(f->tensor, (size_t)f->n, sizeof *f->tensor, by_name);
    for (int i = 0; i < f->n; i++) {
        hap_st_tensor *t = &f->tensor[i];
        if (i && !strcmp(t->name, t[-1].name)) return bad(&s, "two tensors \"%.60s\"", t->name);
        t->data = s.end + t->begin;
        used += t->end - t->begin;
    }
    if (used != data_bytes) {
        snprintf(why, (size_t)n, "its tensors take %lld bytes, the file holds %lld",
                 (long long)used, (long long)data_bytes);
        return false;
    }
    return true;
}

bool hap_st_open(hap_st *f, const char *path, char *why, int n)
{
    char text[256] = "";
    *f = (hap_st){.n = 0};
    if (!hap_map_file(&f->map, path, why, n)) return false;
    if (parse(f, text, sizeof text)) return true;
    snprintf(why, (size_t)n, "%s: %s", path, text);
    hap_st_close(f);
    return false;
}

const hap_st_tensor *hap_st_find(const hap_st *f, const char *name)
{
    int lo = 0, hi = f->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2, order = strcmp(name, f->tensor[mid].name);
        if (order == 0) return &f->tensor[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

void hap_st_close(hap_st *f)
{
    for (int i = 0; i < f->n; i++)
        free(f->tensor[i].name);
    free(f->tensor);
    hap_unmap_file(&f->map);
    *f = (hap_st){.n = 0};
}
