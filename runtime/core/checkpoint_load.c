#include <stdio.h>
#include <string.h>

#include "core/backend.h"
#include "core/checkpoint.h"
#include "core/fail.h"
#include "core/fill.h"
#include "core/heartbeat.h"
#include "core/safetensors.h"
#include "core/slice.h"

// The tensor of a variable, under its own name or another.
static const hap_st_tensor *find(const hap_rank *r, const hap_st *f, const char *name)
{
    const hap_st_tensor *t = hap_st_find(f, name);
    for (int i = 0; i < r->n_aliases && !t; i++) {
        if (!strcmp(r->alias[i].of, name)) t = hap_st_find(f, r->alias[i].name);
        if (!t && !strcmp(r->alias[i].name, name)) t = hap_st_find(f, r->alias[i].of);
    }
    return t;
}

static bool fits(const hap_tensor *t, const hap_st_tensor *s)
{
    if (s->type != (int)t->type || s->rank != t->rank) return false;
    for (int i = 0; i < t->rank; i++) {
        if (s->shape[i] != hap_dim_size(&t->dim[i])) return false;
    }
    return true;
}

static void say_misfit(const char *path, const hap_tensor *t, const hap_st_tensor *s, char *why,
                       int n)
{
    int at = snprintf(why, (size_t)n, "%s: tensor '%s' is %s [", path, s->name, s->type_name);
    for (int i = 0; i < s->rank && at < n; i++)
        at += snprintf(why + at, (size_t)(n - at), "%s%lld", i ? " " : "", (long long)s->shape[i]);
    if (at < n)
        at += snprintf(why + at, (size_t)(n - at), "], the program wants %s [",
                       hap_st_type_name(t->type));
    for (int i = 0; i < t->rank && at < n; i++)
        at += snprintf(why + at, (size_t)(n - at), "%s%lld", i ? " " : "",
                       (long long)hap_dim_size(&t->dim[i]));
    if (at < n) snprintf(why + at, (size_t)(n - at), "]");
}

static void read_part(hap_rank *r, hap_tensor *t, const hap_st_tensor *s)
{
    void *data = hap_backend_open(r, t, true);
    hap_slice_read(r, t, data, s->data);
    hap_backend_close(r, t, data, true);
}

static bool load_scalar(const hap_st *f, const char *path, const char *name, int64_t *x, char *why,
                        int n)
{
    const hap_st_tensor *s = hap_st_find(f, name);
    if (!s) return false;
    if (s->type != HAP_I64 || s->end - s->begin != 8) {
        snprintf(why, (size_t)n, "%s: tensor '%s' is not one I64", path, name);
        return false;
    }
    memcpy(x, s->data, 8);
    if (*x < 0 && strcmp(name, "hap.seed") != 0)
        snprintf(why, (size_t)n, "%s: tensor '%s' is %lld", path, name, (long long)*x);
    return true;
}

typedef const char *filler(const hap_rank *r, const hap_tensor *t, const char *name, hap_fill fill,
                           uint64_t seed, void *data);

static void fill(hap_rank *r, const hap_var *v, hap_fill with, filler *f, char *why, int n)
{
    void *data = hap_backend_open(r, v->t, true);
    const char *bad = f(r, v->t, v->name, with, r->now.seed, data);
    hap_backend_close(r, v->t, data, true);
    if (bad) snprintf(why, (size_t)n, "'%s': %s", v->name, bad);
}

// A constant of a file "F.safetensors#name", relative to the program's folder.
static void load_const(hap_rank *r, const hap_var *v, char *why, int n)
{
    char path[1200];
    const char *hash = strrchr(v->file, '#');
    if (!hash) {
        snprintf(why, (size_t)n, "constant '%s': '%s' names no tensor (FILE#NAME)", v->name,
                 v->file);
        return;
    }
    int len = (int)(hash - v->file);
    if (v->file[0] == '/')
        snprintf(path, sizeof path, "%.*s", len, v->file);
    else
        snprintf(path, sizeof path, "%s/%.*s", r->opt.folder, len, v->file);
    hap_st f;
    if (!hap_st_open(&f, path, why, n)) return;
    const hap_st_tensor *s = hap_st_find(&f, hash + 1);
    if (!s)
        snprintf(why, (size_t)n, "%.300s: there is no tensor '%.160s'", path, hash + 1);
    else if (!fits(v->t, s))
        say_misfit(path, v->t, s, why, n);
    else
        read_part(r, v->t, s);
    hap_st_close(&f);
}

// What stands in for a parameter or buffer. A matrix that a file has is taken for numbers that
// differ, whatever it would be made with.
static void stand_in(hap_rank *r, const hap_var *v, bool of_file, char *why, int n)
{
    hap_fill with = v->fill;
    if (of_file && with.kind == 0 && v->t->rank >= 2) with = HAP_NORMAL(with.a, 0.02);
    fill(r, v, with, hap_fill_like, why, n);
}

static void load_var(hap_rank *r, const hap_var *v, const hap_st *f, const char *path, bool values,
                     char *why, int n)
{
    const hap_st_tensor *s = NULL;
    hap_beat(r, "load");
    switch (v->kind) {
    case HAP_VAR_INPUT:
    case HAP_VAR_GRAD:
        return;
    case HAP_VAR_CONST:
        if (v->file)
            load_const(r, v, why, n);
        else
            fill(r, v, v->fill, hap_fill_tensor, why, n);
        return;
    case HAP_VAR_PARAM:
    case HAP_VAR_STATE:
    case HAP_VAR_BUFFER:
        break;
    }
    if (f) s = find(r, f, v->name);
    if (s && !fits(v->t, s)) {
        say_misfit(path, v->t, s, why, n);
    } else if (s && values) {
        read_part(r, v->t, s);
    } else if (!s && f && v->kind == HAP_VAR_PARAM) {
        char text[128];
        snprintf(why, (size_t)n, "%s: there is no tensor '%s' (%s)", path, v->name,
                 hap_tensor_text(r, v->t, text, sizeof text));
    } else if (v->kind == HAP_VAR_STATE) { // moments start at zero, as the segment does
        return;
    } else if (values) {
        fill(r, v, v->fill, hap_fill_tensor, why, n);
    } else {
        stand_in(r, v, s != NULL, why, n);
    }
}

static void load(hap_rank *r, bool values)
{
    char why[512] = "";
    const char *path = r->opt.init;
    hap_st f = {.n = 0};
    if (path && hap_st_open(&f, path, why, sizeof why)) {
        int64_t seed = 0;
        load_scalar(&f, path, "hap.step", &r->now.step, why, sizeof why);
        if (!load_scalar(&f, path, "hap.cursor", &r->cursor, why, sizeof why))
            r->cursor = r->now.step * (r->batch_rows ? r->batch_rows : 1);
        if (load_scalar(&f, path, "hap.seed", &seed, why, sizeof why) && !r->opt.has_seed)
            r->now.seed = (uint64_t)seed;
    }
    for (int i = 0; i < r->n_vars && !why[0]; i++)
        load_var(r, &r->var[i], path ? &f : NULL, path, values, why, sizeof why);
    hap_st_close(&f);
    r->doing = NULL;
    hap_agree(r, HAP_EXIT_INPUT, why);
}

void hap_checkpoint_load(hap_rank *r)
{
    load(r, true);
}

void hap_checkpoint_stand_in(hap_rank *r)
{
    load(r, false);
}
