// hap_declare: a plan's table of buffers becomes tensors; shapes are read from their text.

#include "core/declare_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/fail.h"
#include "core/tensor.h"

enum { LOCAL_ALIGN = HAP_UNIT, SYM_ALIGN = 4096 };

typedef struct shape {
    hap_dtype type;
    int rank;
    hap_dim dim[HAP_MAX_RANK];
} shape;

typedef struct reader {
    hap_rank *r;
    const char *text, *at;
    int n_cuts;
    const hap_cuts *cuts;
} reader;

static int64_t read_size(reader *x)
{
    int64_t n = 0;
    HAP_CK(x->r, isdigit((unsigned char)*x->at), "shape \"%s\": no size at \"%s\"", x->text, x->at);
    for (; isdigit((unsigned char)*x->at); x->at++) {
        HAP_CK(x->r, n <= INT64_MAX / 100, "shape \"%s\": a size is too large", x->text);
        n = 10 * n + (*x->at - '0');
    }
    return n;
}

static int axis_entries(const hap_rank *r, int axis)
{
    return axis == HAP_BOTH ? r->n_members : r->size[axis];
}

static const hap_cuts *read_cut(reader *x)
{
    const char *from = x->at;
    while (isalnum((unsigned char)*x->at) || *x->at == '_')
        x->at++;
    size_t n = (size_t)(x->at - from);
    for (int i = 0; i < x->n_cuts; i++) {
        const hap_cuts *c = &x->cuts[i];
        if (strlen(c->name) != n || memcmp(c->name, from, n) != 0) continue;
        HAP_CK(x->r, c->axis >= 0 && (c->axis < x->r->n_axes || c->axis == HAP_BOTH),
               "cut %s is over axis %d of a mesh of %d", c->name, c->axis, x->r->n_axes);
        HAP_CK(x->r, c->n == axis_entries(x->r, c->axis),
               "cut %s has %d entries for %d coordinates", c->name, c->n,
               axis_entries(x->r, c->axis));
        return c;
    }
    HAP_CK(x->r, false, "shape \"%s\": there is no cut \"%.*s\"", x->text, (int)n, from);
    return NULL;
}

// 128, 8@rows, 3*12@heads*64
static hap_dim read_dim(reader *x)
{
    hap_dim d = {read_size(x), 1, 1, -1, NULL};
    if (*x->at == '*') {
        d.outer = d.n;
        x->at++;
        d.n = read_size(x);
        HAP_CK(x->r, *x->at == '@', "shape \"%s\": a factor without a cut", x->text);
    }
    if (*x->at != '@') return d;
    x->at++;
    const hap_cuts *c = read_cut(x);
    HAP_CK(x->r, c->size == d.n, "shape \"%s\": cut %s is of %lld entries", x->text, c->name,
           (long long)c->size);
    d.axis = c->axis;
    d.table = c->entry;
    if (*x->at == '*') {
        x->at++;
        d.inner = read_size(x);
    }
    return d;
}

static shape read_shape(reader *x)
{
    shape s = {.type = HAP_F32};
    size_t n = strcspn(x->text, "[");
    while (s.type <= HAP_U8 &&
           (strlen(hap_dtype_name(s.type)) != n || memcmp(hap_dtype_name(s.type), x->text, n) != 0))
        s.type++;
    HAP_CK(x->r, s.type <= HAP_U8 && x->text[n] == '[', "shape \"%s\": no dtype", x->text);
    x->at = x->text + n + 1;
    while (*x->at != ']') {
        HAP_CK(x->r, s.rank < HAP_MAX_RANK, "shape \"%s\" has too many dims", x->text);
        s.dim[s.rank++] = read_dim(x);
        HAP_CK(x->r, *x->at == ' ' || *x->at == ']', "shape \"%s\": what is \"%s\"?", x->text,
               x->at);
        while (*x->at == ' ')
            x->at++;
    }
    for (x->at++; *x->at; x->at++)
        HAP_CK(x->r, *x->at == '+' || *x->at == '^' || islower((unsigned char)*x->at),
               "shape \"%s\": what is \"%s\"?", x->text, x->at);
    return s;
}

void hap_shape_read(hap_rank *r, const char *text, int n_cuts, const hap_cuts *cuts, hap_tensor *t)
{
    reader x = {r, text, text, n_cuts, cuts};
    shape s = read_shape(&x);
    *t = (hap_tensor){.type = s.type, .rank = s.rank};
    memcpy(t->dim, s.dim, sizeof t->dim);
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

// The largest part of a class in bytes, by class.
static void largest_parts(const hap_rank *r, const shape *s, int64_t *bytes)
{
    for (int c = 0; c < r->n_classes; c++)
        bytes[c] = 0;
    for (int rank = 0; rank < r->n_members; rank++) {
        int64_t n = hap_dtype_bytes(s->type), *most = &bytes[r->class_of[rank]];
        for (int d = 0; d < s->rank; d++) {
            const hap_dim *x = &s->dim[d];
            int at = x->axis < 0 || x->axis == HAP_BOTH || r->n_axes == 1 ? rank
                     : x->axis == 0                                       ? rank / r->size[1]
                                                                          : rank % r->size[1];
            n *= x->outer * (x->axis < 0 ? x->n : x->table[at]) * x->inner;
        }
        if (n > *most) *most = n;
    }
}

// From one place to the next, by class.
static void strides(const hap_rank *r, const shape *s, hap_segment seg, int64_t *stride)
{
    int64_t most = 0;
    largest_parts(r, s, stride);
    for (int c = 0; c < r->n_classes; c++) {
        if (stride[c] > most) most = stride[c];
        stride[c] = round_up(stride[c], LOCAL_ALIGN);
    }
    for (int c = 0; c < r->n_classes && seg == SEG_SYM; c++)
        stride[c] = round_up(most, SYM_ALIGN);
}

// Names of repeated blocks live as long as the program; the list keeps them reachable.
typedef struct kept_name {
    struct kept_name *next;
    char text[];
} kept_name;

static const char *numbered(hap_rank *r, const char *pattern, int number)
{
    static kept_name *kept;
    size_t n = strlen(pattern) + 16;
    const char *star = strchr(pattern, '*');
    HAP_CK(r, star, "several tensors are called %s", pattern);
    kept_name *k = hap_alloc(r, sizeof *k + n);
    snprintf(k->text, n, "%.*s%d%s", (int)(star - pattern), pattern, number, star + 1);
    k->next = kept;
    kept = k;
    return k->text;
}

static void name(hap_rank *r, const hap_place *row, const char *outer, hap_tensor *t)
{
    switch (row->as) {
    case HAP_AS_VALUE:
        break;
    case HAP_AS_INPUT:
        (hap_input)(r, outer, t);
        break;
    case HAP_AS_PARAM:
        (hap_param)(r, outer, t, *row->fill);
        break;
    case HAP_AS_STATE:
        (hap_state)(r, outer, t);
        break;
    case HAP_AS_BUFFER:
        (hap_buffer)(r, outer, t, *row->fill);
        break;
    case HAP_AS_CONST:
        (hap_const)(r, outer, t, *row->fill);
        break;
    case HAP_AS_CONST_FILE:
        (hap_const_file)(r, outer, t, row->file);
        break;
    }
}

static hap_tensor **behind(hap_tensor **to, size_t bytes)
{
    return (hap_tensor **)(void *)((char *)to + bytes);
}

static hap_tensor *view_of(hap_rank *r, hap_tensor *x, const shape *s, const char *name)
{
    HAP_CK(r, x, "%s is a view of what is not declared yet", name);
    hap_tensor *t = (hap_at)(r, x->seg, x->off_of, s->type, s->rank, s->dim);
    HAP_CK(r, t->type == x->type && t->bytes == x->bytes,
           "%s has %lld local bytes, what it is a view of %lld", name, (long long)t->bytes,
           (long long)x->bytes);
    hap_tensor **last = &x->views;
    while (*last)
        last = &(*last)->next_view;
    return *last = t;
}

static void declare(hap_rank *r, const hap_place *row, const shape *s)
{
    bool sym = row->segment == SEG_SYM;
    int64_t stride[HAP_MAX_CLASSES], off[HAP_MAX_CLASSES];
    strides(r, s, row->segment, stride);
    HAP_CK(r, row->n >= 1 && row->places >= 1, "%s: %d buffers in %d places", row->name, row->n,
           row->places);
    for (int k = 0; k < row->n; k++) {
        hap_tensor **to = behind(row->to, (size_t)k * row->pitch);
        HAP_CK(r, !*to, "%s is declared twice", row->name);
        for (int c = 0; c < r->n_classes; c++)
            off[c] = row->at[sym ? 0 : c] * HAP_UNIT + k % row->places * stride[c];
        *to = row->of ? view_of(r, *behind(row->of, (size_t)k * row->of_pitch), s, row->name)
                      : (hap_at)(r, row->segment, off, s->type, s->rank, s->dim);
        if (row->as)
            name(r, row, row->n > 1 ? numbered(r, row->outer, row->first + k) : row->outer, *to);
    }
}

void(hap_declare)(hap_rank *r, const char *file, int n_cuts, const hap_cuts *cuts, int n,
                  const hap_place *table)
{
    const char *slash = strrchr(file, '/');
    r->doing = "hap_declare";
    r->file = slash ? slash + 1 : file;
    HAP_CK(r, r->n_axes > 0 && r->n_classes > 0, "buffers before mesh and classes");
    HAP_CK(r, r->n_classes <= HAP_MAX_CLASSES, "%d classes of ranks", r->n_classes);
    for (int i = 0; i < n; i++) {
        reader x = {r, table[i].shape, table[i].shape, n_cuts, cuts};
        r->line = table[i].line;
        shape s = read_shape(&x);
        declare(r, &table[i], &s);
    }
    r->doing = NULL;
}
