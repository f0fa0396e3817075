#include "core/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_text.h"

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

static bool numbers(hap_json *s, int64_t *v, int max, int *n)
{
    *n = 0;
    if (!hap_json_expect(s, '[')) return false;
    if (hap_json_next_is(s, ']')) return true;
    do {
        int64_t x;
        if (!hap_json_whole(s, &x)) return false;
        if (*n < max) v[*n] = x;
        ++*n;
    } while (hap_json_next_is(s, ','));
    return hap_json_expect(s, ']');
}

static bool field(hap_json *s, hap_st_tensor *t, int *rank, int *n_offsets)
{
    int64_t offset[2] = {0};
    char *key = hap_json_string(s);
    bool ok = key && hap_json_expect(s, ':');
    if (!ok) {
        free(key);
        return false;
    }
    if (!strcmp(key, "dtype")) {
        char *type = hap_json_string(s);
        ok = type != NULL;
        t->type = -2;
        for (int i = 0; i < N_TYPES && ok; i++) {
            if (!strcmp(type, st_types[i].name)) t->type = st_types[i].type;
        }
        if (ok && (t->type == -2 || strlen(type) >= sizeof t->type_name))
            ok = hap_json_bad(s, "unknown dtype \"%.16s\"", type);
        if (ok) memcpy(t->type_name, type, strlen(type) + 1);
        free(type);
    } else if (!strcmp(key, "shape")) {
        ok = numbers(s, t->shape, HAP_MAX_RANK, rank);
    } else if (!strcmp(key, "data_offsets")) {
        ok = numbers(s, offset, 2, n_offsets);
        t->begin = offset[0];
        t->end = offset[1];
    } else {
        ok = hap_json_bad(s, "unknown key \"%.32s\"", key);
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

static bool tensor(hap_json *s, hap_st_tensor *t, int64_t data_bytes)
{
    int rank = -1, n_offsets = 0;
    if (!hap_json_expect(s, '{')) return false;
    do {
        if (!field(s, t, &rank, &n_offsets)) return false;
    } while (hap_json_next_is(s, ','));
    if (!hap_json_expect(s, '}')) return false;
    if (!t->type_name[0] || rank < 0 || n_offsets != 2)
        return hap_json_bad(s, "tensor \"%.60s\" wants dtype, shape and two data_offsets", t->name);
    if (rank > HAP_MAX_RANK) { // nobody here reads it; its size is not checked either
        t->type = -1;
        rank = 0;
    } else {
        int64_t elements = 1;
        for (int i = 0; i < rank; i++) {
            if (t->shape[i] && elements > INT64_MAX / 16 / t->shape[i])
                return hap_json_bad(s, "tensor \"%.60s\" has an impossible shape", t->name);
            elements *= t->shape[i];
        }
        if (t->begin > t->end || t->end - t->begin != elements * bytes_of(t->type_name))
            return hap_json_bad(s, "tensor \"%.60s\": %lld bytes do not fit its shape and dtype",
                                t->name, (long long)(t->end - t->begin));
    }
    t->rank = rank;
    if (t->begin > t->end || t->end > data_bytes)
        return hap_json_bad(s, "tensor \"%.60s\" ends at byte %lld of %lld: the file is truncated",
                            t->name, (long long)t->end, (long long)data_bytes);
    return true;
}

static bool metadata(hap_json *s, hap_st *f)
{
    if (!hap_json_expect(s, '{')) return false;
    if (hap_json_next_is(s, '}')) return true;
    do {
        char *key = hap_json_string(s);
        char *value = key && hap_json_expect(s, ':') ? hap_json_string(s) : NULL;
        hap_st_pair *more = value ? realloc(f->meta, (size_t)(f->n_meta + 1) * sizeof *more) : NULL;
        if (!more) {
            free(key);
            free(value);
            return value ? hap_json_bad(s, "out of memory") : false;
        }
        f->meta = more;
        f->meta[f->n_meta++] = (hap_st_pair){key, value};
    } while (hap_json_next_is(s, ','));
    return hap_json_expect(s, '}');
}

static bool entry(hap_json *s, hap_st *f, int64_t data_bytes)
{
    char *name = hap_json_string(s);
    if (!name) return false;
    if (!hap_json_expect(s, ':')) {
        free(name);
        return false;
    }
    if (!strcmp(name, "__metadata__")) {
        free(name);
        return metadata(s, f);
    }
    if (f->n == f->cap) {
        int cap = f->cap ? 2 * f->cap : 64;
        hap_st_tensor *more = realloc(f->tensor, (size_t)cap * sizeof *more);
        if (!more) {
            free(name);
            return hap_json_bad(s, "out of memory");
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
    hap_json s = {p + 8, p + 8, p + 8 + head, why, n, 8, false};
    int64_t data_bytes = f->map.bytes - 8 - (int64_t)head, used = 0;
    if (!hap_json_expect(&s, '{')) return false;
    if (!hap_json_next_is(&s, '}')) {
        do {
            if (!entry(&s, f, data_bytes)) return false;
        } while (hap_json_next_is(&s, ','));
        if (!hap_json_expect(&s, '}')) return false;
    }
    if (!hap_json_ends(&s)) return false;
    if (f->n) qsort(f->tensor, (size_t)f->n, sizeof *f->tensor, by_name);
    for (int i = 0; i < f->n; i++) {
        hap_st_tensor *t = &f->tensor[i];
        if (i && !strcmp(t->name, t[-1].name))
            return hap_json_bad(&s, "two tensors \"%.60s\"", t->name);
        t->data = s.end + t->begin;
        used += t->end - t->begin;
    }
    f->data = s.end;
    f->data_bytes = data_bytes;
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

const char *hap_st_meta(const hap_st *f, const char *key)
{
    for (int i = 0; i < f->n_meta; i++)
        if (!strcmp(f->meta[i].key, key)) return f->meta[i].value;
    return NULL;
}

void hap_st_close(hap_st *f)
{
    for (int i = 0; i < f->n_meta; i++) {
        free(f->meta[i].key);
        free(f->meta[i].value);
    }
    free(f->meta);
    for (int i = 0; i < f->n; i++)
        free(f->tensor[i].name);
    free(f->tensor);
    hap_unmap_file(&f->map);
    *f = (hap_st){.n = 0};
}
