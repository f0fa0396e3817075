#include "record/record_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

static FILE *out;
static int64_t n_calls;
static const hap_rank *ring_of; // whose ring's places have tensors of their own
static int n_declared, n_ring;  // tensors; of these in the ring

// Tables that were written, in that order: one a cut, which many tensors have.
static struct {
    int64_t *v;
    int n;
} * table;
static int n_tables, cap_tables;

void rec_open(hap_rank *r, const char *path)
{
    out = fopen(path, "w");
    if (!out) hap_fail(r, HAP_EXIT_INPUT, "cannot write %s", path);
}

void rec_close(hap_rank *r)
{
    for (int i = 0; i < n_tables; i++)
        free(table[i].v);
    free(table);
    table = NULL;
    n_tables = cap_tables = 0;
    bool bad = ferror(out) != 0;
    bad |= fclose(out) != 0;
    out = NULL;
    if (bad) hap_fail(r, HAP_EXIT_INPUT, "the record cannot be written");
}

static void string(const char *s)
{
    putc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

static void real(double x)
{
    if (isfinite(x))
        fprintf(out, "%.17g", x);
    else
        fprintf(out, "\"%s\"", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

static void key_of(const char *key)
{
    fprintf(out, ",\"%s\":", key);
}

void rec_begin(const hap_rank *r, const char *prefix, const char *name)
{
    fprintf(out, "{\"i\":%lld,", (long long)n_calls++);
    if (r->file) fprintf(out, "\"source\":\"%s\",", r->file);
    fprintf(out, "\"line\":%d,\"call\":\"%s%s\"", r->line, prefix, name);
}

void rec_end(void)
{
    fputs("}\n", out);
}

void rec_int(const char *key, int64_t x)
{
    key_of(key);
    fprintf(out, "%lld", (long long)x);
}

void rec_real(const char *key, double x)
{
    key_of(key);
    real(x);
}

void rec_bool(const char *key, bool x)
{
    key_of(key);
    fputs(x ? "true" : "false", out);
}

void rec_text(const char *key, const char *s)
{
    key_of(key);
    string(s);
}

static void ints(int n, const int64_t *v)
{
    putc('[', out);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%lld", i ? "," : "", (long long)v[i]);
    putc(']', out);
}

void rec_ints(const char *key, int n, const int64_t *v)
{
    key_of(key);
    ints(n, v);
}

void rec_chunks(const char *key, int n, const int64_t (*v)[3])
{
    key_of(key);
    putc('[', out);
    for (int i = 0; i < n; i++) {
        if (i) putc(',', out);
        ints(v[i][2] ? 3 : 2, v[i]);
    }
    putc(']', out);
}

void rec_rings(const hap_rank *r, int n)
{
    ring_of = r;
    n_declared = n;
    n_ring = (r->n_tensors - n) / (r->n_rings > 1 ? r->n_rings - 1 : 1);
}

static void id_of(const hap_tensor *t)
{
    if (t && t->ring && ring_of && ring_of->ring > 0)
        fprintf(out, "%d", n_declared + (ring_of->ring - 1) * n_ring + t->ring - 1);
    else if (t)
        fprintf(out, "%d", t->id);
    else
        fputs("null", out);
}

void rec_tensor(const char *key, const hap_tensor *t)
{
    key_of(key);
    id_of(t);
}

void rec_tensors(const char *key, int n, hap_tensor *const *t)
{
    key_of(key);
    putc('[', out);
    for (int i = 0; i < n; i++) {
        if (i) putc(',', out);
        id_of(t[i]);
    }
    putc(']', out);
}

// The kind of an attribute is the op table's to know: a list is a list, else whichever is set.
void rec_attrs(int n, const hap_attr *a)
{
    key_of("attrs");
    putc('[', out);
    for (int i = 0; i < n; i++) {
        if (i) putc(',', out);
        if (a[i].v.n > 0)
            ints(a[i].v.n, a[i].v.v);
        else if (a[i].f < 0 || a[i].f > 0 || isnan(a[i].f))
            real(a[i].f);
        else
            fprintf(out, "%lld", (long long)a[i].i);
    }
    putc(']', out);
}

// The numbers of a table, or, of one that was written before, which one it is.
static void put_table(hap_rank *r, int n, const int64_t *v)
{
    for (int i = 0; i < n_tables; i++)
        if (table[i].n == n && memcmp(table[i].v, v, (size_t)n * sizeof *v) == 0) {
            fprintf(out, "%d", i);
            return;
        }
    ints(n, v);
    table = hap_grow(r, table, &cap_tables, n_tables + 1, sizeof *table);
    table[n_tables].n = n;
    table[n_tables].v = hap_alloc(r, (size_t)n * sizeof *v);
    memcpy(table[n_tables++].v, v, (size_t)n * sizeof *v);
}

void rec_dims(int rank, const hap_dim *dims, hap_rank *r)
{
    key_of("dims");
    putc('[', out);
    for (int i = 0; i < rank; i++) {
        const hap_dim *d = &dims[i];
        fprintf(out, "%s{\"n\":%lld", i ? "," : "", (long long)d->n);
        if (d->axis >= 0) {
            int parts = d->axis == HAP_BOTH ? r->n_members : r->size[d->axis];
            fprintf(out,
                    ",\"outer\":%lld,\"inner\":%lld,\"axis\":%d,\"table\":", (long long)d->outer,
                    (long long)d->inner, d->axis);
            put_table(r, parts, d->table);
        }
        putc('}', out);
    }
    putc(']', out);
}
