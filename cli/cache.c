#include "cli/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static bool alone(const struct stat *s)
{
    return s->st_uid == geteuid() && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// mkdir -p; what is made nobody else may read.
static bool make_folders(hb_arena *a, hb_str dir)
{
    char *path = hb_copy(a, dir.p, dir.n + 1);
    for (size_t i = 1; i <= dir.n; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        char was = path[i];
        path[i] = 0;
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST || errno == EROFS || errno == EISDIR;
        if (!made && access(path, X_OK) != 0) return false;
        path[i] = was;
    }
    return true;
}

// Empty: the environment names none.
static hb_str named(hb_arena *a)
{
    const char *own = getenv("HAPC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && own[0]) return hb_str_c(a, own);
    if (xdg && xdg[0] == '/') return hb_fmt(a, "%s/hapc", xdg);
    if (home && home[0] == '/') return hb_fmt(a, "%s/.cache/hapc", home);
    return (hb_str){0};
}

bool cache_folder(hb_arena *a, hb_str *dir, int *code)
{
    struct stat s;
    *dir = named(a);
    const char *why = NULL;
    if (dir->n == 0)
        why = "no folder for compiled programs: HAPC_CACHE, XDG_CACHE_HOME and HOME are not set";
    else if (!make_folders(a, *dir) || stat(dir->p, &s) != 0)
        why = strerror(errno);
    else if (!S_ISDIR(s.st_mode))
        why = strerror(ENOTDIR);
    else if (!alone(&s))
        why = "compiled programs would lie where others can change them";
    if (!why) return true;
    *code = cli_error(CLI_INPUT, "%.*s%s%s\nhint: HAPC_CACHE names the folder of compiled programs",
                      HB_ARG(*dir), dir->n ? ": " : "", why);
    return false;
}

bool cache_has(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISREG(s.st_mode) && alone(&s) && access(path, X_OK) == 0;
}

void cache_used(hb_str home)
{
    utimensat(AT_FDCWD, home.p, NULL, 0);
}

void cache_remove(hb_arena *a, hb_str home)
{
    static const char *const files[] = {"program", "program.c", "buffers.h"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(hb_fmt(a, "%s/%s", home.p, files[i]).p);
    rmdir(home.p);
}

// What cli_build names so: 32 hex digits, or "tmp-" before what is not finished.
static bool of_build(const char *name)
{
    if (strncmp(name, "tmp-", 4) == 0) return true;
    return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

void cache_sweep(hb_arena *a, hb_str dir)
{
    enum { DAY = 24 * 60 * 60 };
    time_t now = time(NULL);
    DIR *d = opendir(dir.p);
    if (!d) return;
    for (struct dirent *f; (f = readdir(d));) {
        struct stat s;
        hb_str home = hb_fmt(a, "%s/%s", dir.p, f->d_name);
        if (!of_build(f->d_name) || lstat(home.p, &s) != 0 || !S_ISDIR(s.st_mode)) continue;
        int days = f->d_name[0] == 't' ? 1 : CACHE_DAYS;
        if (now - s.st_mtime > (time_t)days * DAY) cache_remove(a, home);
    }
    closedir(d);
}
