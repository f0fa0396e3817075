#define _GNU_SOURCE // memmem
#include "core/shards.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json_text.h"
#include "core/xxh64.h"

enum { MAX_SHARDS = 4096 };
// Steps and rows that can be: sums and products with sizes of a batch stay inside of 63 bits.
#define MOST_STEPS ((int64_t)1 << 48)

int64_t hap_step_of_name(const char *name)
{
    char *end = NULL;
    if (strncmp(name, "step-", 5) != 0 || name[5] < '0' || name[5] > '9') return -1;
    long long step = strtoll(name + 5, &end, 10);
    return *end || step > MOST_STEPS ? -1 : step;
}

static bool is_there(const char *path, bool folder)
{
    struct stat st;
    return stat(path, &st) == 0 && (folder ? S_ISDIR(st.st_mode) : !S_ISDIR(st.st_mode));
}

static bool add_file(hap_shards *s, const char *path, char *why, int n)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->path[i], path)) return true;
    if (s->n == MAX_SHARDS) {
        snprintf(why, (size_t)n, "%s: more than %d files", path, MAX_SHARDS);
        return false;
    }
    hap_st *file = realloc(s->file, (size_t)(s->n + 1) * sizeof *file);
    if (file) s->file = file;
    char **paths = file ? realloc(s->path, (size_t)(s->n + 1) * sizeof *paths) : NULL;
    if (paths) s->path = paths;
    char *copy = paths ? malloc(strlen(path) + 1) : NULL;
    if (!copy) {
        snprintf(why, (size_t)n, "%s: out of memory", path);
        return false;
    }
    strcpy(copy, path);
    if (!hap_st_open(&s->file[s->n], path, why, n)) {
        free(copy);
        return false;
    }
    s->path[s->n++] = copy;
    return true;
}

// The files named in {"weight_map": {"tensor": "file", …}, …}.
static bool read_map(hap_shards *s, hap_json *j, const char *folder, char *why, int n)
{
    if (!hap_json_expect(j, '{')) return false;
    if (hap_json_next_is(j, '}')) return true;
    do {
        char *tensor = hap_json_string(j), path[2200];
        char *file = tensor && hap_json_expect(j, ':') ? hap_json_string(j) : NULL;
        bool ok = file != NULL;
        if (ok && strchr(file, '/')) ok = hap_json_bad(j, "'%.60s' is not beside it", file);
        if (ok) {
            snprintf(path, sizeof path, "%s/%s", folder, file);
            ok = add_file(s, path, why, n);
        }
        free(tensor);
        free(file);
        if (!ok) return false;
    } while (hap_json_next_is(j, ','));
    return hap_json_expect(j, '}');
}

static bool read_index(hap_shards *s, const char *path, const char *folder, char *why, int n)
{
    char bad[256] = "";
    hap_mapped map;
    bool found = false;
    if (!hap_map_file(&map, path, why, n)) return false;
    hap_json j = {map.p, map.p, map.p + map.bytes, bad, sizeof bad, 0, false};
    bool ok = hap_json_expect(&j, '{');
    while (ok) {
        char *key = hap_json_string(&j);
        ok = key && hap_json_expect(&j, ':');
        if (ok && !strcmp(key, "weight_map")) {
            found = true;
            ok = read_map(s, &j, folder, why, n);
        } else if (ok) {
            ok = hap_json_skip(&j);
        }
        free(key);
        if (!ok || !hap_json_next_is(&j, ',')) break;
    }
    ok = ok && hap_json_expect(&j, '}') && hap_json_ends(&j);
    if (ok && (!found || s->n == 0)) ok = hap_json_bad(&j, "its weight_map names no file");
    if (!ok && !why[0]) snprintf(why, (size_t)n, "%s: %s", path, bad);
    hap_unmap_file(&map);
    return ok;
}

// FOLDER/BASE.safetensors or the shards of its index. True also if there is neither; why says if
// something is wrong.
static bool add_set(hap_shards *s, const char *folder, const char *base, char *why, int n)
{
    char path[2200];
    snprintf(path, sizeof path, "%s/%s.safetensors.index.json", folder, base);
    if (is_there(path, false)) return read_index(s, path, folder, why, n);
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, base);
    return !is_there(path, false) || add_file(s, path, why, n);
}

static bool open_folder(hap_shards *s, const char *folder, char *why, int n)
{
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    return add_set(s, folder, "model", why, n) && add_set(s, folder, "optimizer", why, n);
}

static void newest(const char *folder, char *path, size_t size)
{
    int64_t best = -1;
    DIR *d = opendir(folder);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));)
        if (hap_step_of_name(e->d_name) > best) best = hap_step_of_name(e->d_name);
    closedir(d);
    if (best >= 0) snprintf(path, size, "%s/step-%" PRId64, folder, best);
}

static bool whole(const char *text, int64_t most, int64_t *x)
{
    char *end = NULL;
    if (!text || text[0] < '0' || text[0] > '9') return false;
    long long v = strtoll(text, &end, 10);
    *x = v;
    return !*end && v <= most;
}

static char *head_place(const char *head, int64_t bytes)
{
    char *at = memmem(head, (size_t)bytes, HAP_HEAD_KEY, strlen(HAP_HEAD_KEY));
    if (at) at += strlen(HAP_HEAD_KEY);
    return at && bytes - (at - head) > 16 ? at : NULL;
}

bool hap_head_sum(const char *head, int64_t bytes, char *sum)
{
    char *copy = head_place(head, bytes) ? malloc((size_t)bytes) : NULL;
    if (!copy) return false;
    memcpy(copy, head, (size_t)bytes);
    memset(head_place(copy, bytes), '0', 16);
    snprintf(sum, 17, "%016" PRIx64, hap_xxh64(copy, bytes));
    free(copy);
    return true;
}

static bool head_holds(const hap_st *f)
{
    char sum[17];
    const char *head = (const char *)f->map.p + 8, *said = hap_st_meta(f, "hap.head");
    return said && hap_head_sum(head, (const char *)f->data - head, sum) && !strcmp(said, sum);
}

static bool read_saved(const hap_st *f, const char *path, hap_saved *saved, char *why, int n)
{
    const char *step = hap_st_meta(f, "hap.step"), *graph = hap_st_meta(f, "hap.graph");
    const char *seed = hap_st_meta(f, "hap.seed"), *shuffle = hap_st_meta(f, "hap.shuffle");
    const char *format = hap_st_meta(f, "hap.format");
    char *end = NULL;
    *saved = (hap_saved){.known = step != NULL};
    if (format && !whole(format, MOST_STEPS, &saved->format)) saved->format = -1;
    if (saved->format == HAP_CHECKPOINT_FORMAT && !head_holds(f)) {
        snprintf(why, (size_t)n, "%s: damaged: its header is not what was written", path);
        return false;
    }
    if (!step || saved->format != HAP_CHECKPOINT_FORMAT) return true; // who goes on says so
    bool ok = whole(step, MOST_STEPS, &saved->step) && graph && seed && shuffle &&
              strlen(graph) < sizeof saved->graph && hap_st_meta(f, "hap.sums") &&
              (!strcmp(shuffle, "0") || !strcmp(shuffle, "1")) && seed[0] >= '0' &&
              seed[0] <= '9' && strlen(seed) <= 20 &&
              whole(hap_st_meta(f, "hap.cursor"), MOST_STEPS, &saved->cursor) &&
              whole(hap_st_meta(f, "hap.samples"), MOST_STEPS, &saved->samples);
    if (ok) saved->seed = strtoull(seed, &end, 10);
    if (!ok || *end) {
        snprintf(why, (size_t)n, "%s: its metadata is broken: hap.step %.24s, hap.cursor %.24s",
                 path, step,
                 hap_st_meta(f, "hap.cursor") ? hap_st_meta(f, "hap.cursor") : "missing");
        return false;
    }
    saved->shuffle = !strcmp(shuffle, "1");
    snprintf(saved->graph, sizeof saved->graph, "%s", graph);
    return true;
}

static bool same_saved(const hap_saved *a, const hap_saved *b)
{
    return a->known == b->known && a->format == b->format && a->step == b->step &&
           a->cursor == b->cursor && a->samples == b->samples && a->seed == b->seed &&
           a->shuffle == b->shuffle && !strcmp(a->graph, b->graph);
}

// All files are of one run and step, and no tensor is there twice.
static bool one_set(hap_shards *s, char *why, int n)
{
    for (int i = 0; i < s->n; i++) {
        hap_saved saved;
        if (!read_saved(&s->file[i], s->path[i], &saved, why, n)) return false;
        if (i == 0) s->saved = saved;
        if (!same_saved(&saved, &s->saved)) {
            snprintf(why, (size_t)n, "%s and %s are not of one checkpoint (steps %lld, %lld)",
                     s->path[0], s->path[i], (long long)s->saved.step, (long long)saved.step);
            return false;
        }
        for (int k = 0; k < s->file[i].n && s->n > 1; k++) {
            const char *name = s->file[i].tensor[k].name, *path = NULL;
            hap_shards_find(s, name, &path);
            if (!strcmp(path, s->path[i])) continue;
            snprintf(why, (size_t)n, "%s and %s both hold the tensor '%.80s'", path, s->path[i],
                     name);
            return false;
        }
    }
    return true;
}

static bool open_path(hap_shards *s, const char *path, char *why, int n)
{
    char step[2200];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (!is_there(path, true)) {
        bool index = strlen(base) > 11 && !strcmp(base + strlen(base) - 11, ".index.json");
        if (!index && strcmp(base, "model.safetensors") != 0) return add_file(s, path, why, n);
        snprintf(step, sizeof step, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
        if (!index) return open_folder(s, step[0] ? step : "/", why, n);
        snprintf(s->folder, sizeof s->folder, "%s", step[0] ? step : "/");
        return read_index(s, path, s->folder, why, n) && add_set(s, s->folder, "optimizer", why, n);
    }
    if (!open_folder(s, path, why, n)) return false;
    if (s->n == 0) {
        snprintf(step, sizeof step, "%s", path);
        newest(path, step, sizeof step);
        if (!open_folder(s, step, why, n)) return false;
    }
    if (s->n > 0) return true;
    snprintf(step, sizeof step, "%s/pytorch_model.bin", path);
    snprintf(why, (size_t)n, "%s: %s", path,
             is_there(step, false)
                 ? "not supported: pytorch_model.bin (save_pretrained of transformers writes "
                   "model.safetensors)"
                 : "there is no model.safetensors in it, no index of shards and no step-N");
    return false;
}

bool hap_shards_open(hap_shards *s, const char *path, char *why, int n)
{
    *s = (hap_shards){.n = 0};
    if (open_path(s, path, why, n) && one_set(s, why, n)) return true;
    hap_shards_close(s);
    return false;
}

const hap_st_tensor *hap_shards_find(const hap_shards *s, const char *name, const char **path)
{
    for (int i = 0; i < s->n; i++) {
        const hap_st_tensor *t = hap_st_find(&s->file[i], name);
        if (!t) continue;
        if (path) *path = s->path[i];
        return t;
    }
    return NULL;
}

static const char *tensor_at(const hap_st *f, int64_t byte)
{
    for (int i = 0; i < f->n; i++)
        if (f->tensor[i].begin <= byte && byte < f->tensor[i].end) return f->tensor[i].name;
    return "";
}

void hap_shards_verify(const hap_shards *s, int rank, int n_ranks, char *why, int n)
{
    int64_t piece = 0;
    for (int i = 0; i < s->n; i++) {
        const hap_st *f = &s->file[i];
        const char *sums = hap_st_meta(f, "hap.sums");
        int64_t n_pieces = (f->data_bytes + HAP_PIECE - 1) / HAP_PIECE;
        if (!sums) continue;
        if ((int64_t)strlen(sums) != 16 * n_pieces) {
            snprintf(why, (size_t)n, "%s: its checksums are not as many as its pieces", s->path[i]);
            return;
        }
        for (int64_t k = 0; k < n_pieces; k++) {
            if (piece++ % n_ranks != rank) continue;
            int64_t from = k * HAP_PIECE, left = f->data_bytes - from;
            char is[20];
            snprintf(is, sizeof is, "%016" PRIx64,
                     hap_xxh64(f->data + from, left < HAP_PIECE ? left : HAP_PIECE));
            if (!memcmp(is, sums + 16 * k, 16)) continue;
            snprintf(why, (size_t)n,
                     "%s: damaged: tensor '%.80s', or what stands behind it: its data from byte "
                     "%lld on are not what was written",
                     s->path[i], tensor_at(f, from), (long long)(f->data - f->map.p + from));
            return;
        }
    }
}

void hap_shards_close(hap_shards *s)
{
    for (int i = 0; i < s->n; i++) {
        hap_st_close(&s->file[i]);
        free(s->path[i]);
    }
    free(s->file);
    free(s->path);
    s->file = NULL;
    s->path = NULL;
    s->n = 0;
}
