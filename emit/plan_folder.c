// A plan folder, written at once or not at all.

#include "emit/consts_file.h"
#include "emit/emit.h"
#include "emit/manifest.h"
#include "emit/stages_report.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Every file that a plan may have. Nothing else is ever deleted: what stands beside these in an old
// plan folder (checkpoints, data) moves to the new one, or all stays as it was.
static const char *const ours[] = {
    "graph.json", "cluster.yaml", "program.c",          "plan.json", "report.txt", "trace.json",
    "kernels.cu", "report.html",  "consts.safetensors", "buffers.h", MANIFEST_NAME};
enum { N_OURS = sizeof ours / sizeof *ours };

typedef HB_VEC(hb_str) names;

static bool exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

static bool entries(hb_arena *a, const char *dir, names *all)
{
    DIR *d = opendir(dir);
    if (!d) return false;
    for (struct dirent *f; (f = readdir(d));)
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
            HB_PUSH(a, all, hb_fmt(a, "%s", f->d_name));
    closedir(d);
    return true;
}

static bool is_ours(hb_str name, hb_str curves)
{
    for (int i = 0; i < N_OURS; i++)
        if (hb_str_is(name, ours[i])) return true;
    return curves.n > 0 && hb_str_eq(name, curves);
}

// Takes a plan away: its own files, and the folder if that leaves it empty. Never goes into folders
// and never through links.
static void remove_plan(hb_arena *a, const char *dir)
{
    hb_str curves = manifest_curves(a, dir);
    for (int i = 0; i < N_OURS; i++)
        unlink(hb_fmt(a, "%s/%s", dir, ours[i]).p);
    if (curves.n > 0) unlink(hb_fmt(a, "%s/%s", dir, curves.p).p);
    rmdir(dir);
}

static bool move_all(hb_arena *a, const names *some, const char *from, const char *to, int *moved)
{
    for (*moved = 0; *moved < some->n; (*moved)++) {
        const char *name = some->p[*moved].p;
        if (rename(hb_fmt(a, "%s/%s", from, name).p, hb_fmt(a, "%s/%s", to, name).p) != 0)
            return false;
    }
    return true;
}

// Moves what is no part of the old plan to the new one; all of it, or nothing and *why.
static bool move_others(hb_arena *a, const char *from, const char *to, names *others, hb_str *why)
{
    names all = {0};
    struct stat here, s;
    hb_str curves = manifest_curves(a, from);
    if (lstat(to, &here) != 0 || lstat(from, &s) != 0 || !entries(a, from, &all)) {
        *why = hb_fmt(a, "%s: %s", from, strerror(errno));
        return false;
    }
    if (s.st_dev != here.st_dev) {
        *why = hb_fmt(a, "%s is where a file system is mounted: choose a folder below it", from);
        return false;
    }
    for (int i = 0; i < all.n; i++) {
        hb_str path = hb_fmt(a, "%s/%s", from, all.p[i].p);
        const char *reason = NULL;
        if (lstat(path.p, &s) != 0) continue; // gone since
        if (s.st_dev != here.st_dev)
            reason = "it is on another file system";
        else if (is_ours(all.p[i], curves) && !S_ISDIR(s.st_mode))
            continue;
        else if (exists(hb_fmt(a, "%s/%s", to, all.p[i].p).p))
            reason = "the new plan has a file of this name";
        if (reason) {
            *why = hb_fmt(a, "%s is no part of the plan, and %s: the folder is left as it was",
                          path.p, reason);
            return false;
        }
        HB_PUSH(a, others, all.p[i]);
    }
    int moved, back = 0;
    if (move_all(a, others, from, to, &moved)) return true;
    *why = hb_fmt(
        a, "%s/%s is no part of the plan and cannot be moved (%s): the folder is left as it was",
        from, others->p[moved].p, strerror(errno));
    others->n = moved;
    if (!move_all(a, others, to, from, &back))
        *why = hb_fmt(a, "%.*s; %s/%s is in %s now", HB_ARG(*why), from, others->p[back].p, to);
    return false;
}

static bool put(hb_arena *a, const char *dir, const char *name, hb_str text, hb_str *why)
{
    hb_str path = hb_fmt(a, "%s/%s", dir, name);
    if (hb_write_file(path.p, text)) return true;
    *why = hb_fmt(a, "%.*s: %s", HB_ARG(path), strerror(errno));
    return false;
}

// Curves lie beside the cluster file, which names them so (cl_curves_beside).
static bool put_curves(hb_arena *a, const cl_cluster *c, const char *dir, hb_str *why)
{
    hb_str path = c->curves, text;
    const char *reason = NULL;
    if (path.n == 0) return true;
    if (!hb_read_file(a, path.p, &text, &reason)) {
        *why = hb_fmt(a, "%.*s: %s", HB_ARG(path), reason);
        return false;
    }
    const char *slash = strrchr(path.p, '/');
    hb_str name = hb_str_c(a, slash ? slash + 1 : path.p);
    if (is_ours(name, (hb_str){0})) {
        *why = hb_fmt(a, "%.*s: curves that are called as a file of the plan is: rename them",
                      HB_ARG(path));
        return false;
    }
    return put(a, dir, name.p, text, why);
}

// The files of a plan folder. Texts are made before the folder, so that what ends the process while
// they are made, such as memory that runs out, leaves none.
typedef struct folder {
    const ir_graph *g;
    const cl_cluster *cluster;
    hb_str graph_path;
    struct {
        const char *name;
        hb_str text;
    } file[N_OURS];
    int n;
} folder;

static void add(folder *f, const char *name, hb_str text)
{
    f->file[f->n].name = name;
    f->file[f->n++].text = text;
}

// A text has an arena of its own while it is made, as that takes much more than the text.
static hb_buf begin_text(void)
{
    return (hb_buf){.arena = hb_arena_new()};
}

static void add_text(hb_arena *a, folder *f, const char *name, hb_buf *text)
{
    add(f, name, hb_str_n(a, text->p, text->n));
    hb_arena_free(text->arena);
}

static folder texts_of(hb_arena *a, const emit_plan *e)
{
    folder f = {.g = e->p->g, .cluster = e->p->cluster, .graph_path = e->graph_path};
    hb_buf program = {.arena = a}, buffers = {.arena = a}, kernels = {.arena = a}, text;
    emit_lines where = {0};
    emit_program_c(&program, &buffers, e, &where);
    add(&f, "program.c", hb_done(&program));
    add(&f, "buffers.h", hb_done(&buffers));
    if (emit_kernels(&kernels, e->version, &e->p, 1)) add(&f, "kernels.cu", hb_done(&kernels));
    text = begin_text();
    emit_plan_json(&text, e, &where);
    add_text(a, &f, "plan.json", &text);
    text = begin_text();
    emit_report_text(&text, e);
    add_text(a, &f, "report.txt", &text);
    text = begin_text();
    emit_report_html(&text, e, &where);
    add_text(a, &f, "report.html", &text);
    text = begin_text();
    emit_trace_json(&text, e, &where);
    add_text(a, &f, "trace.json", &text);
    return f;
}

static folder texts_of_stages(hb_arena *a, const syn_staged *p, const emit_plan *about)
{
    folder f = {.g = p->g, .cluster = p->cluster, .graph_path = about->graph_path};
    hb_buf program = {.arena = a}, buffers = {.arena = a}, kernels = {.arena = a}, text;
    const syn_program **of = HB_ARRAY(a, const syn_program *, p->n);
    for (int s = 0; s < p->n; s++)
        of[s] = p->stage[s].program;
    emit_lines *where = hb_alloc(a, sizeof *where * (size_t)p->n);
    emit_stages_program(&program, &buffers, p, about, where);
    const plan_parts *x = parts_of_stages(a, p, about, where);
    add(&f, "program.c", hb_done(&program));
    add(&f, "buffers.h", hb_done(&buffers));
    if (emit_kernels(&kernels, about->version, of, p->n)) add(&f, "kernels.cu", hb_done(&kernels));
    text = begin_text();
    stages_plan_json(&text, x, about);
    add_text(a, &f, "plan.json", &text);
    text = begin_text();
    stages_report_text(&text, x, about);
    add_text(a, &f, "report.txt", &text);
    text = begin_text();
    emit_stages_html(&text, x, about);
    add_text(a, &f, "report.html", &text);
    text = begin_text();
    emit_stages_trace(&text, x);
    add_text(a, &f, "trace.json", &text);
    return f;
}

static bool put_all(hb_arena *a, const folder *f, const char *dir, hb_str *why)
{
    bool any, ok = put(a, dir, "graph.json", f->g->src.text, why) &&
                   put(a, dir, "cluster.yaml", cl_curves_beside(a, f->cluster), why);
    hb_str consts = hb_fmt(a, "%s/consts.safetensors", dir);
    for (int i = 0; i < f->n && ok; i++)
        ok = put(a, dir, f->file[i].name, f->file[i].text, why);
    return ok && put_curves(a, f->cluster, dir, why) &&
           emit_consts(a, f->g, f->graph_path, consts.p, &any, why) && manifest_write(a, dir, why);
}

// The name of a folder beside the target for this process: "plan.tmp-HOST-PID".
static hb_str beside(hb_arena *a, const char *target, const char *what)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    return hb_fmt(a, "%s.%s-%s-%ld", target, what, host, (long)getpid());
}

// Puts the finished folder tmp where target is, an old plan or nothing.
static bool swap_in(hb_arena *a, const char *tmp, const char *target, bool replace, hb_str *why)
{
    names others = {0};
    hb_str old = beside(a, target, "old");
    int back;
    if (replace && !move_others(a, target, tmp, &others, why)) return false;
    bool away = !replace || rename(target, old.p) == 0;
    if (away && rename(tmp, target) == 0) {
        if (replace) remove_plan(a, old.p);
        return true;
    }
    *why = hb_fmt(a, "%s: %s", target, strerror(errno));
    if (replace && away && rename(old.p, target) != 0)
        *why = hb_fmt(a, "%.*s; the old plan is in %s", HB_ARG(*why), old.p);
    else if (replace && !move_all(a, &others, tmp, target, &back))
        *why = hb_fmt(a, "%.*s; %s/%s is in %s now", HB_ARG(*why), target, others.p[back].p, tmp);
    return false;
}

// It is the name of one that a process of this host left, which is gone.
static bool is_left(hb_arena *a, hb_str path, const char *target, const char *what)
{
    hb_str mine = beside(a, target, what);
    const char *pid = strrchr(mine.p, '-') + 1;
    size_t n = (size_t)(pid - mine.p);
    char *end = NULL;
    if (path.n <= n || memcmp(path.p, mine.p, n) != 0) return false;
    long x = strtol(path.p + n, &end, 10);
    return x > 0 && !*end && kill((pid_t)x, 0) != 0 && errno == ESRCH;
}

// Clears what a hapc that was killed left beside the target. What is no part of a plan it had moved
// there: that goes into the new plan, or stays where it is.
static void sweep(hb_arena *a, const char *target)
{
    const char *slash = strrchr(target, '/');
    hb_str parent = slash ? hb_str_n(a, target, (size_t)(slash - target) + 1) : HB_STR("./");
    names all = {0};
    if (!entries(a, parent.p, &all)) return;
    for (int i = 0; i < all.n; i++) {
        hb_str path = hb_fmt(a, "%.*s%s", slash ? (int)parent.n : 0, parent.p, all.p[i].p);
        names in = {0};
        if (!is_left(a, path, target, "tmp") && !is_left(a, path, target, "old")) continue;
        hb_str curves = manifest_curves(a, path.p);
        if (!entries(a, path.p, &in)) continue;
        for (int k = 0; k < in.n; k++) {
            hb_str to = hb_fmt(a, "%s/%s", target, in.p[k].p);
            if (!is_ours(in.p[k], curves) && !exists(to.p))
                (void)!rename(hb_fmt(a, "%s/%s", path.p, in.p[k].p).p, to.p);
        }
        remove_plan(a, path.p);
    }
}

// f, if NULL, is of e.
static bool write_folder(hb_arena *a, const folder *f, const emit_plan *e, const char *dir,
                         hb_str *why)
{
    char *real = realpath(dir, NULL); // a link stays, what it points to is replaced
    const char *path = real ? real : dir;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    hb_str target = hb_str_n(a, path, n);
    free(real);
    bool replace = exists(target.p);
    names have = {0};
    if (replace && !entries(a, target.p, &have)) {
        *why = hb_fmt(a, "%s: %s", target.p, strerror(errno));
        return false;
    }
    if (have.n > 0 && (!exists(hb_fmt(a, "%s/program.c", target.p).p) ||
                       !exists(hb_fmt(a, "%s/plan.json", target.p).p))) {
        *why = hb_fmt(a, "%s exists and is no plan folder: it is left alone", target.p);
        return false;
    }
    folder of_plan = f ? *f : texts_of(a, e);
    hb_str tmp = beside(a, target.p, "tmp");
    if (mkdir(tmp.p, 0777) != 0) {
        *why = hb_fmt(a, "%s cannot be made there: %s", target.p, strerror(errno));
        return false;
    }
    bool ok = put_all(a, &of_plan, tmp.p, why) && swap_in(a, tmp.p, target.p, replace, why);
    if (ok)
        sweep(a, target.p);
    else
        remove_plan(a, tmp.p);
    return ok;
}

void emit_remove_folder(hb_arena *a, const char *dir)
{
    remove_plan(a, dir);
}

bool emit_move_folder(hb_arena *a, const char *from, const char *to, hb_str *why)
{
    return swap_in(a, from, to, exists(to), why);
}

bool emit_folder(hb_arena *a, const emit_plan *e, const char *dir, hb_str *why)
{
    return write_folder(a, NULL, e, dir, why);
}

bool emit_stages_folder(hb_arena *a, const syn_staged *p, const emit_plan *about, const char *dir,
                        hb_str *why)
{
    folder f = texts_of_stages(a, p, about);
    return write_folder(a, &f, NULL, dir, why);
}
