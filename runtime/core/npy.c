#include "core/npy.h"

#include <stdio.h>
#include <string.h>

#include "core/tensor.h"

// The header is a Python dict literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
typedef struct text {
    const char *p, *end;
} text;

static void skip_space(text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t'))
        t->p++;
}

static bool take(text *t, char c)
{
    skip_space(t);
    if (t->p >= t->end || *t->p != c) return false;
    t->p++;
    return true;
}

static bool take_word(text *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0) return false;
    t->p += n;
    return true;
}

static bool take_string(text *t, char *out, int n)
{
    skip_space(t);
    if (t->p >= t->end || (*t->p != '\'' && *t->p != '"')) return false;
    char quote = *t->p++;
    int at = 0;
    while (t->p < t->end && *t->p != quote) {
        if (at + 1 >= n) return false;
        out[at++] = *t->p++;
    }
    out[at] = 0;
    return take(t, quote);
}

static bool take_int(text *t, int64_t *x)
{
    skip_space(t);
    const char *start = t->p;
    for (*x = 0; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
        if (*x > (INT64_MAX - 9) / 10) return false;
        *x = *x * 10 + (*t->p - '0');
    }
    take_word(t, "L"); // Python 2 wrote it
    return t->p > start;
}

static const char *take_shape(text *t, hap_npy *f)
{
    if (!take(t, '(')) return "no shape";
    while (!take(t, ')')) {
        int64_t size;
        if (!take_int(t, &size)) return "a malformed shape";
        if (f->rank == HAP_MAX_RANK) return "more than 6 dims";
        f->shape[f->rank++] = size;
        if (!take(t, ',')) return take(t, ')') ? NULL : "a malformed shape";
    }
    return NULL;
}

const char *hap_item_name(hap_item type)
{
    return type == HAP_ITEM_U16 ? "u16" : hap_dtype_name((hap_dtype)type);
}

int64_t hap_item_bytes(hap_item type)
{
    return type == HAP_ITEM_U16 ? 2 : hap_dtype_bytes((hap_dtype)type);
}

static bool type_of(const char *descr, hap_item *type)
{
    static const struct {
        const char *descr;
        hap_item type;
    } known[] = {{"<f4", HAP_F32}, {"<i8", HAP_I64}, {"<i4", HAP_I32},     {"|b1", HAP_BOOL},
                 {"<f2", HAP_F16}, {"|u1", HAP_U8},  {"<u2", HAP_ITEM_U16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(descr, known[i].descr)) {
            *type = known[i].type;
            return true;
        }
    }
    return false;
}

static const char *read_header(text t, hap_npy *f, char *descr, int n)
{
    bool fortran = false, has_descr = false, has_order = false, has_shape = false;
    char key[32];
    if (!take(&t, '{')) return "a malformed header";
    while (!take(&t, '}')) {
        if (!take_string(&t, key, sizeof key) || !take(&t, ':')) return "a malformed header";
        if (!strcmp(key, "descr")) {
            has_descr = take_string(&t, descr, n);
            if (!has_descr) return "not supported: a structured type";
        } else if (!strcmp(key, "fortran_order")) {
            fortran = take_word(&t, "True");
            has_order = fortran || take_word(&t, "False");
        } else if (!strcmp(key, "shape") && !has_shape) {
            const char *bad = take_shape(&t, f);
            if (bad) return bad;
            has_shape = true;
        } else {
            return "a malformed header";
        }
        if (!take(&t, ',')) {
            if (!take(&t, '}')) return "a malformed header";
            break;
        }
    }
    if (!has_descr || !has_order || !has_shape) return "an incomplete header";
    if (fortran && f->rank > 1) return "not supported: Fortran order (save with C order)";
    return NULL;
}

static const char *parse(hap_npy *f, char *buf, int n)
{
    const unsigned char *p = f->map.p;
    int64_t size = f->map.bytes, head;
    if (size < 10 || memcmp(p, "\x93NUMPY", 6) != 0) return "not a .npy file";
    int version = p[6];
    if (version < 1 || version > 3) return "not supported: this version of .npy";
    if (version > 1 && size < 12) return "truncated in its header";
    int64_t at = version == 1 ? 10 : 12;
    head = p[8] | p[9] << 8;
    if (version > 1) head |= (int64_t)p[10] << 16 | (int64_t)p[11] << 24;
    if (head > size - at) return "truncated in its header";
    const char *start = (const char *)p + at;
    char descr[16] = "";
    const char *bad = read_header((text){start, start + head}, f, descr, sizeof descr);
    if (bad) return bad;
    if (!type_of(descr, &f->type)) {
        snprintf(buf, (size_t)n,
                 "not supported: elements of type '%s' (f32, f16, i64, i32, u16, u8, bool)", descr);
        return buf;
    }
    f->elements = 1;
    for (int i = 0; i < f->rank; i++) {
        if (f->shape[i] && f->elements > INT64_MAX / 16 / f->shape[i]) return "an impossible shape";
        f->elements *= f->shape[i];
    }
    f->data = p + at + head;
    int64_t want = f->elements * hap_item_bytes(f->type), have = size - at - head;
    if (have < want) {
        snprintf(buf, (size_t)n, "truncated: %lld bytes of data where its shape needs %lld",
                 (long long)have, (long long)want);
        return buf;
    }
    return NULL;
}

bool hap_npy_open(hap_npy *f, const char *path, char *why, int n)
{
    char buf[128];
    *f = (hap_npy){.rank = 0};
    if (!hap_map_file(&f->map, path, why, n)) return false;
    const char *bad = parse(f, buf, sizeof buf);
    if (!bad) return true;
    snprintf(why, (size_t)n, "%s: %s", path, bad);
    hap_npy_close(f);
    return false;
}

bool hap_bin_open(hap_npy *f, const char *path, hap_item type, char *why, int n)
{
    *f = (hap_npy){.type = type, .rank = 1};
    if (!hap_map_file(&f->map, path, why, n)) return false;
    int64_t item = hap_item_bytes(type);
    if (f->map.bytes % item) {
        snprintf(why, (size_t)n, "%s: %lld bytes are no whole number of %s tokens (--tokens)", path,
                 (long long)f->map.bytes, hap_item_name(type));
        hap_npy_close(f);
        return false;
    }
    f->data = f->map.p;
    f->elements = f->shape[0] = f->map.bytes / item;
    return true;
}

void hap_npy_close(hap_npy *f)
{
    hap_unmap_file(&f->map);
}
