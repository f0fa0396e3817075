#include "core/rows.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/tensor.h"

static void shape_text(char *buf, int n, const char *type, int rank, const int64_t *shape, bool any)
{
    int at = snprintf(buf, (size_t)n, "%s [", type);
    for (int i = 0; i < rank && at < n; i++) {
        if (i == 0 && any)
            at += snprintf(buf + at, (size_t)(n - at), "rows");
        else
            at += snprintf(buf + at, (size_t)(n - at), "%s%lld", i ? " " : "", (long long)shape[i]);
    }
    if (at < n) snprintf(buf + at, (size_t)(n - at), "]");
}

static bool widens(hap_item from, hap_dtype to)
{
    if (from == (hap_item)to) return true;
    bool small = from == HAP_U8 || from == HAP_ITEM_U16;
    return small ? to == HAP_I64 || to == HAP_I32 : from == (hap_item)HAP_I32 && to == HAP_I64;
}

static bool check_shape(hap_rows *r, const hap_rows_file *f, const char *input, char *why, int n)
{
    const hap_tensor *t = r->t;
    int64_t want[HAP_MAX_RANK];
    bool stream = t->rank == 2 && f->npy.rank == 1;
    bool same = stream || t->rank == f->npy.rank;
    for (int i = 0; i < t->rank; i++) {
        want[i] = hap_dim_size(&t->dim[i]);
        if (i > 0 && same && !stream) same = want[i] == f->npy.shape[i];
    }
    same = same && widens(f->npy.type, t->type) && (t->rank == 0 || f->npy.shape[0] > 0);
    if (same && r->n > 0 && stream != r->stream) {
        snprintf(why, (size_t)n, "%s: input '%s' has files of rows and files that are streams",
                 f->path, input);
        return false;
    }
    r->stream = stream;
    if (same && f->shift && !stream) {
        snprintf(why, (size_t)n, "%s+%lld: only a stream of tokens can begin later", f->path,
                 (long long)f->shift);
        return false;
    }
    if (same) return true;
    char a[96], b[96];
    shape_text(a, sizeof a, hap_dtype_name(t->type), t->rank, want, true);
    shape_text(b, sizeof b, hap_item_name(f->npy.type), f->npy.rank, f->npy.shape, false);
    snprintf(why, (size_t)n, "%s: input '%s' wants %s, the file holds %s", f->path, input, a, b);
    return false;
}

static bool add_one(hap_rows *r, const char *input, const char *path, int64_t shift,
                    hap_item tokens, char *why, int n)
{
    hap_rows_file *more = realloc(r->file, (size_t)(r->n + 1) * sizeof *more);
    if (more) r->file = more;
    hap_rows_file f = {.shift = shift, .path = more ? malloc(strlen(path) + 1) : NULL};
    if (!f.path) {
        snprintf(why, (size_t)n, "%s: out of memory", path);
        return false;
    }
    strcpy(f.path, path);
    size_t len = strlen(path);
    bool bin = len > 4 && !strcmp(path + len - 4, ".bin");
    if (!(bin ? hap_bin_open(&f.npy, path, tokens, why, n) : hap_npy_open(&f.npy, path, why, n))) {
        free(f.path);
        return false;
    }
    bool ok = check_shape(r, &f, input, why, n);
    r->file[r->n++] = f;
    return ok;
}

bool hap_rows_add(hap_rows *r, const hap_tensor *t, const char *input, const char *name,
                  hap_item tokens, char *why, int n)
{
    char path[2048], *end = NULL;
    const char *plus = strrchr(name, '+');
    int64_t shift = 0;
    r->t = t;
    snprintf(path, sizeof path, "%s", name);
    if (plus && plus[1] >= '0' && plus[1] <= '9' && access(name, F_OK) != 0) {
        shift = strtoll(plus + 1, &end, 10);
        if (*end || shift > 1 << 20)
            shift = 0;
        else
            path[plus - name < (long)sizeof path ? plus - name : 0] = 0;
    }
    if (!strpbrk(path, "*?[") || access(path, F_OK) == 0)
        return add_one(r, input, path, shift, tokens, why, n);
    glob_t g;
    int code = glob(path, 0, NULL, &g);
    bool ok = code == 0 && g.gl_pathc > 0;
    if (!ok) snprintf(why, (size_t)n, "%s: there is no such file", path);
    for (size_t i = 0; ok && i < g.gl_pathc; i++)
        ok = add_one(r, input, g.gl_pathv[i], shift, tokens, why, n);
    if (code == 0) globfree(&g);
    return ok;
}

int64_t hap_rows_shift(const hap_rows *r)
{
    int64_t shift = 0;
    for (int i = 0; i < r->n; i++)
        if (r->file[i].shift > shift) shift = r->file[i].shift;
    return shift;
}

void hap_rows_count(hap_rows *r, int64_t shift)
{
    r->elements = 1;
    for (int i = 1; i < r->t->rank; i++)
        r->elements *= hap_dim_size(&r->t->dim[i]);
    r->rows = 0;
    for (int i = 0; i < r->n; i++) {
        hap_rows_file *f = &r->file[i];
        int64_t tokens = f->npy.elements - shift;
        f->rows = r->t->rank == 0 ? 1
                  : !r->stream    ? f->npy.shape[0]
                  : tokens > 0    ? tokens / r->elements
                                  : 0;
        f->first = r->rows;
        r->rows += f->rows;
    }
}

static int64_t integer(const unsigned char *p, hap_item type, int64_t i)
{
    uint16_t u;
    int32_t s;
    if (type == HAP_U8) return p[i];
    if (type == HAP_ITEM_U16) return memcpy(&u, p + 2 * i, 2), u;
    return memcpy(&s, p + 4 * i, 4), s;
}

void hap_rows_read(const hap_rows *r, int64_t row, int64_t from, int64_t n, void *to)
{
    int lo = 0, hi = r->n - 1;
    while (lo < hi) { // the last file whose first row is at or before `row`
        int mid = (lo + hi + 1) / 2;
        if (r->file[mid].first <= row)
            lo = mid;
        else
            hi = mid - 1;
    }
    while (r->file[lo].rows == 0 && lo > 0)
        lo--;
    const hap_rows_file *f = &r->file[lo];
    int64_t at = (row - f->first) * r->elements + from + f->shift;
    if (f->npy.type == (hap_item)r->t->type) {
        int64_t item = hap_dtype_bytes(r->t->type);
        memcpy(to, f->npy.data + at * item, (size_t)(n * item));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t x = integer(f->npy.data, f->npy.type, at + i);
        if (r->t->type == HAP_I64)
            ((int64_t *)to)[i] = x;
        else
            ((int32_t *)to)[i] = (int32_t)x;
    }
}

void hap_rows_close(hap_rows *r)
{
    for (int i = 0; i < r->n; i++) {
        hap_npy_close(&r->file[i].npy);
        free(r->file[i].path);
    }
    free(r->file);
    r->file = NULL;
    r->n = 0;
}
