#define _GNU_SOURCE // renameat2
#include "core/safe_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/shards.h"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void hap_folder_of(const char *path, char *folder, size_t n)
{
    const char *base = base_of(path);
    int len = base == path ? 0 : (int)(base - path) - (base - path > 1);
    snprintf(folder, n, "%.*s", len ? len : 1, len ? path : ".");
}

void hap_temp_name(const char *path, const char *host, char *temp, size_t n)
{
    snprintf(temp, n, "%.*s.%s.tmp-%s-%ld", (int)(base_of(path) - path), path, base_of(path), host,
             (long)getpid());
}

// Also of one that nobody has waited for yet.
static bool is_gone(long pid)
{
    char path[64], text[512];
    if (kill((pid_t)pid, 0) != 0) return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    const char *name_end = strrchr(text, ')'); // " Z" follows
    return name_end && name_end[1] && (name_end[2] == 'Z' || name_end[2] == 'X');
}

// Is .NAME.tmp-HOST-PID a temporary of NAME (any step-N if NULL) whose process is gone?
static bool is_stale(const char *entry, const char *name, const char *host)
{
    char own[128], *end = NULL;
    const char *at = strstr(entry, ".tmp-");
    if (entry[0] != '.' || !at) return false;
    size_t len = (size_t)(at - entry) - 1;
    if (name && (strlen(name) != len || memcmp(name, entry + 1, len) != 0)) return false;
    if (!name) {
        char step[64];
        snprintf(step, sizeof step, "%.*s", (int)len, entry + 1);
        if (hap_step_of_name(step) < 0) return false;
    }
    snprintf(own, sizeof own, ".tmp-%s-", host);
    if (strncmp(at, own, strlen(own)) != 0) return false;
    long pid = strtol(at + strlen(own), &end, 10);
    return pid > 0 && !*end && is_gone(pid);
}

bool hap_remove_folder(const char *path)
{
    DIR *d = opendir(path);
    if (!d) return false;
    for (const struct dirent *e; (e = readdir(d));) {
        char file[2400];
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (lstat(file, &st) == 0 && S_ISREG(st.st_mode)) unlink(file);
    }
    closedir(d);
    return rmdir(path) == 0;
}

void hap_temp_sweep(const char *folder, const char *name, const char *host)
{
    DIR *d = opendir(folder);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));) {
        char path[2400];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (!is_stale(e->d_name, name, host) || lstat(path, &st) != 0) continue;
        if (S_ISREG(st.st_mode)) unlink(path);
        if (S_ISDIR(st.st_mode)) hap_remove_folder(path);
    }
    closedir(d);
}

bool hap_sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return false;
    bool ok = fsync(fd) == 0 || errno == EINVAL; // some file systems have none for folders
    close(fd);
    return ok;
}

bool hap_publish(const char *temp, const char *path, const char *host)
{
    char folder[2200], old[2400];
    struct stat st;
    hap_folder_of(path, folder, sizeof folder);
    bool in_place = lstat(path, &st) == 0 && S_ISDIR(st.st_mode); // which rename does not replace
    if (!in_place) return rename(temp, path) == 0 && hap_sync_folder(folder);
    snprintf(old, sizeof old, "%s", temp);
    if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) != 0) {
        char away[2300];
        snprintf(away, sizeof away, "%s.old", path);
        hap_temp_name(away, host, old, sizeof old);
        if (rename(path, old) != 0 || rename(temp, path) != 0) return false;
    }
    if (!hap_sync_folder(folder)) return false;
    hap_remove_folder(old);
    return true;
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

// Closes a file that was written; it is on the disk if `ok` stays.
static bool finish(int fd, bool ok)
{
    int error = ok && fsync(fd) == 0 ? 0 : errno;
    if (close(fd) != 0 && !error) error = errno;
    errno = error;
    return !error;
}

bool hap_write_text(const char *path, const char *text, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    return fd >= 0 && finish(fd, write_all(fd, text, bytes));
}

bool hap_copy_file(const char *from, const char *to)
{
    char part[1 << 16];
    int in = open(from, O_RDONLY), out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool ok = out >= 0;
    ssize_t n = 0;
    while (ok && (n = read(in, part, sizeof part)) > 0)
        ok = write_all(out, part, (size_t)n);
    ok = ok && n == 0;
    if (out >= 0) ok = finish(out, ok);
    if (in >= 0) close(in);
    return ok;
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISLNK(mode)  ? "a symbolic link"
           : S_ISFIFO(mode) ? "a FIFO"
                            : "a device or socket";
}

static bool too_long(const char *path, const char *name, char *why, int n)
{
    char folder[2200];
    if (strlen(path) > HAP_LONGEST_PATH) {
        snprintf(why, (size_t)n, "%.40s…: the name is too long", path);
        return true;
    }
    hap_folder_of(path, folder, sizeof folder);
    errno = 0;
    long most = pathconf(folder, _PC_NAME_MAX);
    if (most < 0 || (long)strlen(name) <= most) return false;
    snprintf(why, (size_t)n, "%.40s…: the name is too long: %zu bytes, the folder takes %ld",
             base_of(path), strlen(name), most);
    return true;
}

void hap_stream_check(const char *path, char *why, int n)
{
    char folder[2200];
    struct stat st;
    if (too_long(path, base_of(path), why, n)) return;
    hap_folder_of(path, folder, sizeof folder);
    bool there = stat(path, &st) == 0;
    if (there && (S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
        snprintf(why, (size_t)n, "%s: %s", path, kind_of(st.st_mode));
    else if (access(there ? path : folder, W_OK) != 0)
        snprintf(why, (size_t)n, "%s: %s", path, strerror(errno));
    else if (!there || S_ISREG(st.st_mode))
        hap_room_check(path, folder, 1, why, n);
}

int64_t hap_room(const char *folder)
{
    struct statvfs v;
    if (statvfs(folder, &v) != 0 || v.f_frsize == 0 || v.f_blocks == 0) return -1;
    return v.f_bavail > INT64_MAX / v.f_frsize ? INT64_MAX : (int64_t)(v.f_bavail * v.f_frsize);
}

void hap_room_check(const char *path, const char *folder, int64_t bytes, char *why, int n)
{
    int64_t room = hap_room(folder);
    if (room < 0 || room >= bytes) return;
    if (room == 0)
        snprintf(why, (size_t)n, "%s: %s", path, strerror(ENOSPC));
    else
        snprintf(why, (size_t)n, "%s: it takes %.4g MB, %.4g MB are free there", path,
                 (double)bytes * 1e-6, (double)room * 1e-6);
}

void hap_file_check(const char *path, const char *host, char *why, int n)
{
    char folder[2200], temp[2400];
    struct stat st;
    hap_temp_name(path, host, temp, sizeof temp);
    if (too_long(path, base_of(temp), why, n)) return;
    hap_folder_of(path, folder, sizeof folder);
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        snprintf(why, (size_t)n, "%s: %s: nothing is written over it", path, kind_of(st.st_mode));
        return;
    }
    if (access(folder, W_OK) != 0 || stat(folder, &st) != 0)
        snprintf(why, (size_t)n, "%s: %s", path, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        snprintf(why, (size_t)n, "%s: %s is no folder", path, folder);
}
