#include <stdio.h>
#include <string.h>

#include "core/backend.h"
#include "core/checkpoint.h"
#include "core/fail.h"
#include "core/fill.h"
#include "core/float16.h"
#include "core/heartbeat.h"
#include "core/safetensors.h"
#include "core/shards.h"
#include "core/slice.h"

// Names that transformers' files have for a tensor: its own; another of the same tensor; of
// checkpoints of the bare model the same without the first part ("transformer.wte.weight").
static const hap_st_tensor *named(const hap_shards *f, const char *name, const char **path)
{
    const hap_st_tensor *t = hap_shards_find(f, name, path);
    const char *dot = strchr(name, '.');
    return t || !dot ? t : hap_shards_find(f, dot + 1, path);
}

static const hap_st_tensor *find(const hap_rank *r, const hap_shards *f, const char *name,
                                 const char **path)
{
    const hap_st_tensor *t = named(f, name, path);
    for (int i = 0; i < r->n_aliases && !t; i++) {
        if (!strcmp(r->alias[i].of, name)) t = named(f, r->alias[i].name, path);
        if (!t && !strcmp(r->alias[i].name, name)) t = named(f, r->alias[i].of, path);
    }
    return t;
}

static bool is_float(int type)
{
    return type == HAP_F32 || type == HAP_BF16 || type == HAP_F16;
}

static bool fits(const hap_tensor *t, const hap_st_tensor *s, bool convert)
{
    bool same = s->type == (int)t->type || (convert && is_float(s->type) && is_float((int)t->type));
    if (!same || s->rank != t->rank) return false;
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

// Elements of one float type as another.
typedef struct conversion {
    char *to;
    const char *from;
    int to_type, from_type;
} conversion;

static float as_f32(const char *p, int64_t i, int type)
{
    float f;
    uint16_t h;
    memcpy(type == HAP_F32 ? (void *)&f : (void *)&h, p + i * hap_dtype_bytes((hap_dtype)type),
           (size_t)hap_dtype_bytes((hap_dtype)type));
    if (type == HAP_F32) return f;
    return type == HAP_BF16 ? hap_bf16_to_f32(h) : hap_f16_to_f32(h);
}

static void convert_run(void *user, int64_t local, int64_t global, int64_t n)
{
    const conversion *c = user;
    for (int64_t i = 0; i < n; i++) {
        float f = as_f32(c->from, global + i, c->from_type);
        uint16_t h = c->to_type == HAP_BF16 ? hap_f32_to_bf16(f) : hap_f32_to_f16(f);
        if (c->to_type == HAP_F32)
            memcpy(c->to + (local + i) * 4, &f, 4);
        else
            memcpy(c->to + (local + i) * 2, &h, 2);
    }
}

// This rank's part, out of the mapped file: no other page of it is read.
static void read_part(hap_rank *r, hap_tensor *t, const hap_st_tensor *s)
{
    char *data = hap_backend_open(r, t, true);
    if (s->type == (int)t->type) {
        hap_slice_read(r, t, data, s->data);
    } else {
        hap_range part[HAP_MAX_RANK];
        conversion c = {data, (const char *)s->data, (int)t->type, s->type};
        hap_slice_of(r, t, r->member, part);
        hap_slice_runs(t->rank, t->dim, part, convert_run, &c);
    }
    hap_backend_close(r, t, data, true);
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
    else if (!fits(v->t, s, false))
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

// Of a parameter, buffer or moment.
static void load_saved(hap_rank *r, const hap_var *v, const hap_shards *f, bool values, char *why,
                       int n)
{
    const char *path = r->opt.init;
    bool state = v->kind == HAP_VAR_STATE;
    const hap_st_tensor *s = f && !(state && r->opt.fresh) ? find(r, f, v->name, &path) : NULL;
    if (s && !fits(v->t, s, !state)) {
        say_misfit(path, v->t, s, why, n);
    } else if (s && values) {
        read_part(r, v->t, s);
    } else if (state) { // moments start at zero, as the segment does
        if (!s && f && r->now.step > 0)
            snprintf(why, (size_t)n,
                     "%s: it goes on from step %lld, but there is no '%s': --fresh takes its "
                     "weights alone",
                     path, (long long)r->now.step, v->name);
    } else if (values) {
        fill(r, v, v->fill, hap_fill_tensor, why, n);
    } else {
        stand_in(r, v, s != NULL, why, n);
    }
}

static void load_var(hap_rank *r, const hap_var *v, const hap_shards *f, bool values, char *why,
                     int n)
{
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
        load_saved(r, v, f, values, why, n);
    }
}

// Every parameter is there, and what is there and of no use is said.
static void compare_names(hap_rank *r, const hap_shards *f, char *why, int n)
{
    int missing = 0, left = 0, files = 0;
    const hap_var *first = NULL;
    char text[128], names[256] = "";
    for (int i = 0; i < f->n; i++)
        files += f->file[i].n;
    for (int i = 0; i < r->n_vars; i++) {
        const hap_var *v = &r->var[i];
        bool wanted =
            v->kind == HAP_VAR_PARAM || v->kind == HAP_VAR_BUFFER || v->kind == HAP_VAR_STATE;
        const hap_st_tensor *s = wanted ? find(r, f, v->name, NULL) : NULL;
        files -= s != NULL;
        if (s || v->kind != HAP_VAR_PARAM) continue;
        if (!first) first = v;
        missing++;
    }
    if (first) {
        int at = snprintf(why, (size_t)n, "%s: there is no tensor '%s' (%s)", r->opt.init,
                          first->name, hap_tensor_text(r, first->t, text, sizeof text));
        if (missing > 1 && at < n)
            snprintf(why + at, (size_t)(n - at), " nor %d more of the program's parameters",
                     missing - 1);
        return;
    }
    if (files <= 0 || r->id != 0 || r->n_stages > 1) return; // others may have a use for them
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->file[i].n; k++) {
            const char *name = f->file[i].tensor[k].name;
            bool used = false;
            for (int m = 0; m < r->n_vars && !used; m++)
                used =
                    !strcmp(r->var[m].name, name) ||
                    (strchr(r->var[m].name, '.') && !strcmp(strchr(r->var[m].name, '.') + 1, name));
            for (int m = 0; m < r->n_aliases && !used; m++)
                used = !strcmp(r->alias[m].name, name);
            if (used) continue;
            size_t at = strlen(names);
            if (left++ < 3)
                snprintf(names + at, sizeof names - at, "%s%.70s", left > 1 ? ", " : "", name);
        }
    if (left == 0) return;
    char note[3072];
    snprintf(note, sizeof note, "%s: %d tensors have no use here: %s", r->opt.init, left, names);
    hap_say("note: ", note, left > 3 ? ", …\n" : "\n");
}

// Step, place in the data and seed of the run that the checkpoint is of.
static void take_up(hap_rank *r, const hap_shards *f, char *why, int n)
{
    const hap_saved *s = &f->saved;
    const char *path = r->opt.init;
    snprintf(r->init_folder, sizeof r->init_folder, "%s", f->folder);
    if (r->opt.fresh) return;
    if (!s->known) {
        bool own = false;
        for (int i = 0; i < r->n_vars; i++)
            own |= !strcmp(r->var[i].name, "hap.step");
        if (!own && hap_shards_find(f, "hap.step", NULL))
            snprintf(why, (size_t)n,
                     "%s: not supported: a checkpoint of an older hapc; --fresh takes its weights "
                     "alone",
                     path);
        return;
    }
    if (s->format != HAP_CHECKPOINT_FORMAT) {
        snprintf(
            why, (size_t)n,
            "%s: not supported: a checkpoint in format %lld, this hapc reads format %d: --fresh "
            "takes its weights alone",
            path, (long long)s->format, HAP_CHECKPOINT_FORMAT);
        return;
    }
    if (strcmp(s->graph, r->graph_sha) != 0) {
        snprintf(why, (size_t)n,
                 "%s: a checkpoint of another graph (%s, this one is %s): --fresh takes its "
                 "weights alone",
                 path, s->graph, r->graph_sha);
        return;
    }
    r->now.step = s->step;
    r->cursor = s->cursor;
    if (!r->opt.has_seed) r->now.seed = s->seed;
    if (r->opt.shuffle && !s->shuffle && s->cursor > 0)
        snprintf(why, (size_t)n,
                 "%s: its rows were read in the order of the files: --shuffle cannot begin amid "
                 "them (--fresh begins anew)",
                 path);
    r->opt.shuffle |= s->shuffle;
    if (s->samples == r->samples || !s->samples || !r->samples) return;
    if (r->id == 0 && r->cursor > 0)
        fprintf(stderr,
                "note: %s was trained on %lld samples, here are %lld: they are read from the "
                "first on\n",
                path, (long long)s->samples, (long long)r->samples);
    r->cursor = 0;
}

static void load(hap_rank *r, bool values)
{
    char why[1024] = "";
    hap_shards f = {.n = 0};
    if (r->opt.init && hap_shards_open(&f, r->opt.init, why, sizeof why)) {
        compare_names(r, &f, why, sizeof why);
        if (!why[0]) take_up(r, &f, why, sizeof why);
        if (!why[0] && values) hap_shards_verify(&f, r->id, r->n_ranks, why, sizeof why);
    }
    for (int i = 0; i < r->n_vars && !why[0]; i++)
        load_var(r, &r->var[i], r->opt.init ? &f : NULL, values, why, sizeof why);
    hap_shards_close(&f);
    if (!why[0]) hap_checkpoint_check_steps(r, why, sizeof why);
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
