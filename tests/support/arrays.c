#include "tests/support/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void bad(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(99);
}

static int64_t bytes_of(const array *v)
{
    return v->elements * (v->type == HAP_I64 ? 8 : 4);
}

static arrays read_safetensors(hb_arena *a, const char *path, hb_str text)
{
    arrays f = {0};
    uint64_t n;
    if (text.n < 8) bad(path, "too short");
    memcpy(&n, text.p, 8);
    if (n > text.n - 8) bad(path, "header too long");
    hb_source src = {hb_str_c(a, path), {text.p + 8, (size_t)n}};
    hb_diag *d = hb_diag_new(a);
    hb_tree *t = hb_json_read(a, &src, d);
    if (!t) {
        hb_diag_print(d, stderr);
        bad(path, "header");
    }
    f.v = HB_ARRAY(a, array, t->n + 1);
    for (int i = 0; i < t->n; i++) {
        if (hb_str_is(t->key[i], "__metadata__")) continue;
        const hb_tree *type = hb_get(t->v[i], "dtype"), *shape = hb_get(t->v[i], "shape");
        const hb_tree *at = hb_get(t->v[i], "data_offsets");
        array *v = &f.v[f.n++];
        *v = (array){.name = t->key[i], .rank = shape->n, .elements = 1};
        if (hb_str_is(type->s, "I64"))
            v->type = HAP_I64;
        else if (!hb_str_is(type->s, "F32"))
            bad(path, "a dtype other than F32 and I64");
        for (int k = 0; k < shape->n; k++)
            v->elements *= v->dim[k] = shape->v[k]->i;
        if (at->v[1]->i - at->v[0]->i != bytes_of(v) || (uint64_t)at->v[1]->i > text.n - 8 - n)
            bad(path, "offsets");
        v->data = hb_copy(a, text.p + 8 + n + at->v[0]->i, (size_t)bytes_of(v));
    }
    return f;
}

static arrays read_npy(hb_arena *a, const char *path, hb_str text)
{
    arrays f = {1, HB_NEW(a, array)};
    if (text.n < 10) bad(path, "too short");
    size_t n = (size_t)(unsigned char)text.p[8] + 256 * (size_t)(unsigned char)text.p[9];
    const char *head = hb_str_n(a, text.p + 10, n).p, *shape = strstr(head, "'shape': (");
    if (strstr(head, "'<f4'"))
        f.v->type = HAP_F32;
    else if (strstr(head, "'<i8'"))
        f.v->type = HAP_I64;
    else
        bad(path, "a dtype other than f4 and i8");
    if (!shape || strstr(head, "'fortran_order': True")) bad(path, "header");
    f.v->elements = 1;
    for (shape += 10; *shape && *shape != ')';) {
        char *end;
        f.v->elements *= f.v->dim[f.v->rank++] = strtoll(shape, &end, 10);
        shape = end + strspn(end, ", ");
    }
    if (text.n != 10 + n + (size_t)bytes_of(f.v)) bad(path, "size");
    f.v->data = hb_copy(a, text.p + 10 + n, (size_t)bytes_of(f.v));
    return f;
}

arrays arrays_read(hb_arena *a, const char *path)
{
    hb_str text;
    const char *why;
    if (!hb_read_file(a, path, &text, &why)) bad(path, why);
    bool npy = text.n >= 6 && memcmp(text.p, "\x93NUMPY", 6) == 0;
    return npy ? read_npy(a, path, text) : read_safetensors(a, path, text);
}

const array *arrays_get(const arrays *f, const char *name, size_t n)
{
    for (int i = 0; i < f->n; i++)
        if (f->v[i].name.n == n && memcmp(f->v[i].name.p, name, n) == 0) return &f->v[i];
    return NULL;
}
