// What a run leaves behind: one file, or a folder a step whose weights transformers reads.

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/backend.h"
#include "core/checkpoint.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/json_text.h"
#include "core/safe_file.h"
#include "core/shard_file.h"

static bool is_file_name(const char *path)
{
    static const char end[] = ".safetensors";
    size_t n = strlen(path), m = sizeof end - 1;
    return n > m && !strcmp(path + n - m, end);
}

static bool is_weight(hap_var_kind k)
{
    return k == HAP_VAR_PARAM || k == HAP_VAR_BUFFER;
}

static hap_saved saved_of(const hap_rank *r)
{
    hap_saved s = {.known = true,
                   .step = r->now.step,
                   .cursor = r->cursor,
                   .samples = r->samples,
                   .seed = r->now.seed,
                   .shuffle = r->opt.shuffle,
                   .end = r->end_step};
    snprintf(s.graph, sizeof s.graph, "%s", r->graph_sha);
    return s;
}

static _Noreturn void give_up(hap_rank *r, const char *path, const char *temp)
{
    int error = errno;
    if (unlink(temp) != 0) hap_remove_folder(temp);
    hap_fail(r, HAP_EXIT_FAILED, "%s: %s", path, strerror(error));
}

// --- one file ---

static void save_file(hap_rank *r, const char *path, bool grads)
{
    char temp[2400];
    hap_saved saved = saved_of(r);
    const hap_var **var = hap_alloc(r, (size_t)(r->n_saved_vars + 1) * sizeof *var);
    int n = 0;
    for (int i = 0; i < r->n_saved_vars; i++) {
        hap_var_kind k = r->saved_var[i].kind;
        if (grads ? k == HAP_VAR_GRAD : k == HAP_VAR_STATE || is_weight(k))
            var[n++] = &r->saved_var[i];
    }
    hap_temp_name(path, r->host, temp, sizeof temp);
    bool ok = hap_shard_write(r, temp, n, var, grads ? NULL : &saved);
    if (r->id == 0 && !(ok && hap_publish(temp, path, r->host))) give_up(r, path, temp);
    free(var);
}

// --- a folder ---

// Weights, or moments, as files of at most --shard-size bytes, but for a tensor that is longer.
typedef struct file_set {
    const char *base; // "model", "optimizer"
    const hap_var **var;
    int n, n_files;
    int *first; // of each file, in var
    int64_t bytes;
} file_set;

static file_set divide(hap_rank *r, bool weights)
{
    file_set s = {.base = weights ? "model" : "optimizer"};
    int64_t in_file = 0;
    s.var = hap_alloc(r, (size_t)(r->n_saved_vars + 1) * sizeof *s.var);
    s.first = hap_alloc(r, (size_t)(r->n_saved_vars + 2) * sizeof *s.first);
    for (int i = 0; i < r->n_saved_vars; i++) {
        hap_var_kind k = r->saved_var[i].kind;
        int64_t bytes = hap_global_bytes(r->saved_var[i].t);
        if (weights ? !is_weight(k) : k != HAP_VAR_STATE) continue;
        if (s.n_files == 0 || in_file + bytes > r->opt.shard_size) {
            s.first[s.n_files++] = s.n;
            in_file = 0;
        }
        in_file += bytes;
        s.bytes += bytes;
        s.var[s.n++] = &r->saved_var[i];
    }
    s.first[s.n_files] = s.n;
    return s;
}

static void file_name(const file_set *s, int k, char *name, size_t n)
{
    if (s->n_files == 1)
        snprintf(name, n, "%s.safetensors", s->base);
    else
        snprintf(name, n, "%s-%05d-of-%05d.safetensors", s->base, k + 1, s->n_files);
}

static bool write_index(const file_set *s, const char *folder)
{
    hap_text t = {0};
    char path[2600], name[64];
    hap_text_put(&t, "{\n  \"metadata\": {\"total_size\": %" PRId64 "},\n  \"weight_map\": {",
                 s->bytes);
    for (int k = 0; k < s->n_files; k++) {
        file_name(s, k, name, sizeof name);
        for (int i = s->first[k]; i < s->first[k + 1]; i++) {
            hap_text_put(&t, "%s\n    ", i ? "," : "");
            hap_text_name(&t, s->var[i]->name);
            hap_text_put(&t, ": \"%s\"", name);
        }
    }
    hap_text_put(&t, "\n  }\n}\n");
    snprintf(path, sizeof path, "%s/%s.safetensors.index.json", folder, s->base);
    errno = ENOMEM;
    bool ok = !t.none && hap_write_text(path, t.p, t.n);
    free(t.p);
    return ok;
}

static bool write_set(hap_rank *r, const char *folder, const file_set *s, const hap_saved *saved)
{
    bool ok = true;
    for (int k = 0; k < s->n_files; k++) {
        char name[64], path[2600];
        file_name(s, k, name, sizeof name);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        ok = hap_shard_write(r, path, s->first[k + 1] - s->first[k], s->var + s->first[k], saved) &&
             ok;
    }
    if (ok && s->n_files > 1 && r->id == 0) ok = write_index(s, folder);
    return ok;
}

// What stands beside the weights that the run began with and belongs to the model: its
// configuration and its tokenizer.
static bool copy_companions(const char *from, const char *to)
{
    static const char *const ends[] = {".json", ".txt", ".model", ".jinja", ".tiktoken"};
    enum { LONGEST = 64 << 20 };
    DIR *d = from[0] ? opendir(from) : NULL;
    bool ok = true;
    for (const struct dirent *e; d && ok && (e = readdir(d));) {
        char a[2600], b[2800];
        struct stat st;
        size_t n = strlen(e->d_name);
        bool wanted = false;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            wanted |= n > strlen(ends[i]) && !strcmp(e->d_name + n - strlen(ends[i]), ends[i]);
        if (!wanted || e->d_name[0] == '.' || strstr(e->d_name, ".index.json")) continue;
        snprintf(a, sizeof a, "%s/%s", from, e->d_name);
        snprintf(b, sizeof b, "%s/%s", to, e->d_name);
        if (stat(a, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= LONGEST)
            ok = hap_copy_file(a, b);
    }
    if (d) closedir(d);
    return ok;
}

// Of DIR's step-N all but the `keep` newest go.
static void prune(const hap_rank *r)
{
    for (;;) {
        int64_t oldest = -1, n = 0;
        char path[2400];
        DIR *d = opendir(r->opt.save);
        if (!d) return;
        for (const struct dirent *e; (e = readdir(d));) {
            int64_t step = hap_step_of_name(e->d_name);
            if (step < 0) continue;
            n++;
            if (oldest < 0 || step < oldest) oldest = step;
        }
        closedir(d);
        if (n <= r->opt.keep) return;
        snprintf(path, sizeof path, "%s/step-%" PRId64, r->opt.save, oldest);
        if (!hap_remove_folder(path)) return; // something of somebody else is in it
    }
}

static void save_folder(hap_rank *r)
{
    char path[2200], temp[2400];
    hap_saved saved = saved_of(r);
    file_set weights = divide(r, true), moments = divide(r, false);
    snprintf(path, sizeof path, "%s/step-%" PRId64, r->opt.save, r->now.step);
    hap_temp_name(path, r->host, temp, sizeof temp);
    if (r->id == 0 && mkdir(temp, 0755) != 0) give_up(r, temp, temp);
    bool ok = write_set(r, temp, &weights, &saved);
    if (r->id == 0 && !ok) give_up(r, path, temp);
    ok = write_set(r, temp, &moments, &saved);
    if (r->id == 0) {
        ok = ok && copy_companions(r->init_folder, temp) && hap_sync_folder(temp) &&
             hap_publish(temp, path, r->host);
        if (!ok) give_up(r, path, temp);
        if (r->opt.keep) prune(r);
        snprintf(r->saved_to, sizeof r->saved_to, "%s", path);
    }
    free(weights.var);
    free(weights.first);
    free(moments.var);
    free(moments.first);
}

void hap_checkpoint_save(hap_rank *r)
{
    hap_beat(r, "save");
    hap_backend_sync(r);
    if (is_file_name(r->opt.save)) {
        save_file(r, r->opt.save, false);
        snprintf(r->saved_to, sizeof r->saved_to, "%s", r->opt.save);
    } else {
        save_folder(r);
    }
    r->saved_step = r->now.step;
    r->doing = NULL;
}

void hap_checkpoint_save_grads(hap_rank *r)
{
    hap_beat(r, "save");
    hap_backend_sync(r);
    save_file(r, r->opt.save_grads, true);
    r->doing = NULL;
}

// --- before the first step ---

static void sweep_beside(const hap_rank *r, const char *path)
{
    char folder[2200];
    const char *slash = strrchr(path, '/');
    hap_folder_of(path, folder, sizeof folder);
    hap_temp_sweep(folder, slash ? slash + 1 : path, r->host);
}

// Bytes of a checkpoint, or of the gradients; names and dims come to little beside them.
static int64_t bytes_of(const hap_rank *r, bool grads)
{
    int64_t bytes = 0;
    for (int i = 0; i < r->n_saved_vars; i++) {
        hap_var_kind k = r->saved_var[i].kind;
        if (grads ? k == HAP_VAR_GRAD : k == HAP_VAR_STATE || is_weight(k))
            bytes += hap_global_bytes(r->saved_var[i].t);
    }
    return bytes;
}

// One checkpoint has to fit; that all do is said where they do not.
static void check_room(const hap_rank *r, bool file, char *why, int n)
{
    const hap_options *o = &r->opt;
    char folder[2200];
    hap_folder_of(o->save, folder, sizeof folder);
    const char *where = file ? folder : o->save;
    int64_t bytes = bytes_of(r, false), room = hap_room(where);
    bool all = !file && o->save_every > 0 && !o->keep && !o->epochs;
    int64_t count = all ? o->steps / o->save_every : 1;
    hap_room_check(o->save, where, bytes, why, n);
    if (why[0] || count < 2 || room < 0 || bytes == 0 || room / bytes >= count) return;
    fprintf(stderr,
            "note: --save %s: %" PRId64 " checkpoints of %.4g MB, %.4g MB are free there; --keep N "
            "keeps the newest\n",
            o->save, count, (double)bytes * 1e-6, (double)room * 1e-6);
}

static void check_folder(const hap_rank *r, char *why, int n)
{
    const char *path = r->opt.save;
    struct stat st;
    if (strlen(path) > HAP_LONGEST_PATH) {
        snprintf(why, (size_t)n, "%.40s…: the name is too long", path);
    } else if (stat(path, &st) != 0 && (errno != ENOENT || mkdir(path, 0777) != 0)) {
        snprintf(why, (size_t)n, "%s: %s", path, strerror(errno));
    } else if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        snprintf(why, (size_t)n, "%s: %s (the name of a single file ends in .safetensors)", path,
                 S_ISREG(st.st_mode) ? "a file, where checkpoints want a folder" : "no folder");
    } else if (access(path, W_OK) != 0) {
        snprintf(why, (size_t)n, "%s: %s", path, strerror(errno));
    } else {
        hap_temp_sweep(path, NULL, r->host);
        check_room(r, false, why, n);
    }
}

static void check_grads(const hap_rank *r, char *why, int n)
{
    const char *path = r->opt.save_grads;
    char folder[2200];
    hap_file_check(path, r->host, why, n);
    if (why[0]) return;
    sweep_beside(r, path);
    hap_folder_of(path, folder, sizeof folder);
    hap_room_check(path, folder, bytes_of(r, true), why, n);
}

void hap_checkpoint_check(const hap_rank *r, char *why, int n)
{
    const hap_options *o = &r->opt;
    bool file = o->save && is_file_name(o->save), grads = false;
    if (o->keep && (!o->save || file)) snprintf(why, (size_t)n, "--keep wants --save FOLDER");
    if (r->id == 0 && o->save && !why[0]) {
        if (file)
            hap_file_check(o->save, r->host, why, n);
        else
            check_folder(r, why, n);
        if (file && !why[0]) sweep_beside(r, o->save);
        if (file && !why[0]) check_room(r, true, why, n);
    }
    if (r->id == 0 && o->save_grads && !why[0]) check_grads(r, why, n);
    if (r->id == 0 && o->trace && !why[0]) hap_stream_check(o->trace, why, n);
    if (r->id == 0 && o->metrics && !why[0]) hap_stream_check(o->metrics, why, n);
    for (int i = 0; i < r->n_saved_vars; i++)
        grads |= r->saved_var[i].kind == HAP_VAR_GRAD;
    if (o->save_grads && !grads && !why[0])
        snprintf(why, (size_t)n,
                 "--save-grads: the program keeps no gradients (hapc --keep-grads)");
}

// Checkpoints of a later step in --save FOLDER are another run's, which this one would mix with
// its own.
void hap_checkpoint_check_steps(const hap_rank *r, char *why, int n)
{
    if (r->id != 0 || !r->opt.save || is_file_name(r->opt.save)) return;
    DIR *d = opendir(r->opt.save);
    int64_t last = -1;
    for (const struct dirent *e; d && (e = readdir(d));)
        if (hap_step_of_name(e->d_name) > last) last = hap_step_of_name(e->d_name);
    if (d) closedir(d);
    if (last > r->now.step)
        snprintf(why, (size_t)n,
                 "--save %s: step-%" PRId64 " is in it, and this run begins at step %" PRId64
                 ": --init %s goes on from there; else name another folder",
                 r->opt.save, last, r->now.step, r->opt.save);
}
