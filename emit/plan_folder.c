// A plan folder, written at once or not at all.

#include "emit/plan_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/sha256.h"

static bool exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

// Removes a folder of files and folders (the temporary one, or an old plan).
static void remove_tree(hb_arena *a, const char *dir)
{
    DIR *d = opendir(dir);
    if (d) {
        for (struct dirent *f; (f = readdir(d));) {
            if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0) continue;
            hb_str path = hb_fmt(a, "%s/%s", dir, f->d_name);
            struct stat s;
            if (lstat(path.p, &s) != 0) continue;
            if (S_ISDIR(s.st_mode))
                remove_tree(a, path.p);
            else
                unlink(path.p);
        }
        closedir(d);
    }
    rmdir(dir);
}

static bool is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) return false;
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n <= 2;
}

// What stands in an old plan folder and is not part of a plan (a checkpoint, say) moves to the new
// one.
static void keep_others(hb_arena *a, const char *from, const char *to)
{
    static const char *const ours[] = {
        ".",          "..",         "graph.json", "cluster.yaml", "program.c", "plan.json",
        "report.txt", "trace.json", "kernels.cu", "report.html",  "build",     "consts.safetensors",
        "buffers.h"};
    DIR *d = opendir(from);
    if (!d) return;
    for (struct dirent *f; (f = readdir(d));) {
        bool known = false;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            known = known || strcmp(f->d_name, ours[i]) == 0;
        hb_str old = hb_fmt(a, "%s/%s", from, f->d_name), now = hb_fmt(a, "%s/%s", to, f->d_name);
        if (!known && !exists(now.p)) (void)rename(old.p, now.p);
    }
    closedir(d);
}

static bool put(hb_arena *a, const char *dir, const char *name, hb_str text, hb_str *why)
{
    hb_str path = hb_fmt(a, "%s/%s", dir, name);
    if (hb_write_file(path.p, text)) return true;
    *why = hb_fmt(a, "%.*s: %s", HB_ARG(path), strerror(errno));
    return false;
}

// The cluster file names its curves relative to itself.
static bool put_curves(hb_arena *a, const emit_plan *e, const char *dir, hb_str *why)
{
    hb_str path = e->p->cluster->curves, text;
    const char *reason = NULL;
    if (path.n == 0) return true;
    if (!hb_read_file(a, path.p, &text, &reason)) {
        *why = hb_fmt(a, "%.*s: %s", HB_ARG(path), reason);
        return false;
    }
    const char *slash = strrchr(path.p, '/');
    return put(a, dir, slash ? slash + 1 : path.p, text, why);
}

static bool put_all(hb_arena *a, const emit_plan *e, const char *dir, hb_str *why)
{
    hb_buf program = {.arena = a}, plan = {.arena = a}, report = {.arena = a}, trace = {.arena = a},
           page = {.arena = a}, kernels = {.arena = a}, buffers = {.arena = a}, both = {.arena = a};
    emit_lines where = {0};
    bool any;
    emit_program_c(&program, &buffers, e, &where);
    hb_printf(&both, "%.*s%.*s", HB_ARG(hb_done(&program)), HB_ARG(hb_done(&buffers)));
    where.sha = hb_sha256_hex(a, hb_done(&both));
    emit_plan_json(&plan, e, &where);
    emit_report_text(&report, e);
    emit_report_html(&page, e);
    emit_trace_json(&trace, e, &where);
    hb_str consts = hb_fmt(a, "%s/consts.safetensors", dir);
    return put(a, dir, "graph.json", e->p->g->src.text, why) &&
           put(a, dir, "cluster.yaml", e->p->cluster->text, why) &&
           put(a, dir, "program.c", hb_done(&program), why) &&
           put(a, dir, "buffers.h", hb_done(&buffers), why) &&
           (!emit_kernels(&kernels, e) || put(a, dir, "kernels.cu", hb_done(&kernels), why)) &&
           put(a, dir, "plan.json", hb_done(&plan), why) &&
           put(a, dir, "report.txt", hb_done(&report), why) &&
           put(a, dir, "report.html", hb_done(&page), why) &&
           put(a, dir, "trace.json", hb_done(&trace), why) && put_curves(a, e, dir, why) &&
           emit_consts(a, e, consts.p, &any, why);
}

bool emit_folder(hb_arena *a, const emit_plan *e, const char *dir, hb_str *why)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    hb_str target = hb_str_n(a, dir, n);
    bool replace = exists(target.p);
    if (replace && !is_empty(target.p) &&
        (!exists(hb_fmt(a, "%s/program.c", target.p).p) ||
         !exists(hb_fmt(a, "%s/plan.json", target.p).p))) {
        *why = hb_fmt(a, "%s exists and is no plan folder: it is left alone", target.p);
        return false;
    }
    hb_str tmp = hb_fmt(a, "%s.tmp%ld", target.p, (long)getpid());
    if (mkdir(tmp.p, 0777) != 0) {
        *why = hb_fmt(a, "%s: %s", tmp.p, strerror(errno));
        return false;
    }
    if (!put_all(a, e, tmp.p, why)) {
        remove_tree(a, tmp.p);
        return false;
    }
    hb_str old = hb_fmt(a, "%s.old%ld", target.p, (long)getpid());
    if (replace && rename(target.p, old.p) != 0) {
        *why = hb_fmt(a, "%s: %s", target.p, strerror(errno));
        remove_tree(a, tmp.p);
        return false;
    }
    if (rename(tmp.p, target.p) != 0) {
        *why = hb_fmt(a, "%s: %s", target.p, strerror(errno));
        if (replace) (void)rename(old.p, target.p);
        remove_tree(a, tmp.p);
        return false;
    }
    if (replace) {
        keep_others(a, old.p, target.p);
        remove_tree(a, old.p);
    }
    return true;
}
