// Heartbeats of ranks, and their processes.

#include "cli/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double watch_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

char process_state(long pid, long *parent)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *end = strrchr(text, ')'); // the name may hold anything
    char state = 0;
    long up = 0;
    if (!end || sscanf(end + 1, " %c %ld", &state, &up) != 2) return 0;
    if (parent) *parent = up;
    return state;
}

// A rank's process, and not another one that was given its number since.
bool watch_is_rank(const watch *w, long pid)
{
    char path[64], exe[4096];
    snprintf(path, sizeof path, "/proc/%ld/exe", pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    if (n <= 0) return false;
    exe[n] = 0;
    return strncmp(exe, w->j->binary.p, w->j->binary.n) == 0;
}

static void read_beat(watch *w, int r)
{
    char path[4200], text[129];
    snprintf(path, sizeof path, "%s/rank.%d", w->j->heartbeat.p, r);
    int fd = open(path, O_RDONLY);
    if (fd < 0) return;
    ssize_t n = read(fd, text, 128);
    close(fd);
    if (n < 128) return;
    text[128] = 0;
    beat b = {0};
    if (sscanf(text, "%ld %lld %d %47s %lld", &b.pid, &b.step, &b.line, b.name, &b.count) != 5)
        return;
    if (b.count != w->beat[r].count || b.pid != w->beat[r].pid) w->moved = watch_now();
    if (w->first_step < 0) w->first_step = b.step;
    for (char *at = b.name; *at; at++) // a message of a port: several words as one
        if (*at == ',') *at = ' ';
    w->beat[r] = b;
}

void watch_read(watch *w)
{
    for (int r = 0; r < w->j->n_ranks; r++)
        read_beat(w, r);
}

// It ended by itself, well or after a message.
bool watch_has_ended(const beat *b)
{
    return strcmp(b->name, "end") == 0 || strncmp(b->name, "quit", 4) == 0;
}

// The exit code of a rank that ended itself after its message; -1 if none did. More reliable than
// mpirun's, which depends on which rank it saw end first.
int watch_quit_code(const watch *w)
{
    int code = -1;
    for (int r = 0; r < w->j->n_ranks; r++)
        if (strncmp(w->beat[r].name, "quit", 4) == 0) code = atoi(w->beat[r].name + 4);
    return code;
}

void watch_look_for_dead(watch *w)
{
    for (int r = 0; r < w->j->n_ranks && w->dead < 0; r++) {
        const beat *b = &w->beat[r];
        if (b->pid == 0 || watch_has_ended(b)) continue;
        char state = process_state(b->pid, NULL);
        if (state != 0 && state != 'Z' && state != 'X') continue;
        read_beat(w, r); // its last word may be newer than what was read before it was gone
        if (watch_has_ended(b)) continue;
        w->dead = r;
        w->dead_since = watch_now();
    }
}

// A rank without a heartbeat because it runs on another host, where it can have none.
bool watch_is_away(const watch *w, int r)
{
    return w->beat[r].pid == 0 && !is_this_machine(w->j->rank[r].host);
}

// The rank that a process was started as, by the variable of Open MPI, or of MPICH and Slurm; -1:
// it is none.
static int rank_of(long pid)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="};
    char path[64], text[1 << 16];
    snprintf(path, sizeof path, "/proc/%ld/environ", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(text + at, names[i], strlen(names[i])) == 0)
                return atoi(text + at + strlen(names[i]));
    return -1;
}

// Of the ranks here that have no heartbeat yet one that was stopped, and one that has no process,
// though others have; -1: none.
static void look_early(const watch *w, int *stopped, int *gone)
{
    hb_arena *a = hb_arena_new();
    bool *there = HB_ARRAY(a, bool, w->j->n_ranks), any = false;
    *stopped = *gone = -1;
    DIR *d = opendir("/proc");
    for (struct dirent *f; d && (f = readdir(d));) {
        long pid = strtol(f->d_name, NULL, 10);
        int r = pid > 0 && watch_is_rank(w, pid) ? rank_of(pid) : -1;
        if (r < 0 || r >= w->j->n_ranks) continue;
        char state = process_state(pid, NULL);
        there[r] = any = true;
        if ((state == 'T' || state == 't') && w->beat[r].pid == 0 && !watch_is_away(w, r))
            *stopped = r;
    }
    if (d) closedir(d);
    for (int r = 0; r < w->j->n_ranks && any && *gone < 0; r++)
        if (!there[r] && w->beat[r].pid == 0 && !watch_is_away(w, r)) *gone = r;
    hb_arena_free(a);
}

// Without a process for so long a rank is gone: a launcher starts one behind the other.
static const double GONE_SECONDS = 5;

static bool is_gone(watch *w, int rank)
{
    if (rank != w->missing) w->missing_since = watch_now();
    w->missing = rank;
    return rank >= 0 && watch_now() - w->missing_since > GONE_SECONDS;
}

// Ranks were there, none has come to its first call, and all are gone, though the launcher goes on:
// it has not seen it, or hangs. Processes are looked for once a second.
bool watch_vanished(watch *w)
{
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0) return false;
    if (watch_now() - w->looked < 1) return false;
    w->looked = watch_now();
    DIR *d = opendir("/proc");
    for (struct dirent *f; d && (f = readdir(d));) {
        long pid = strtol(f->d_name, NULL, 10);
        if (pid > 0 && watch_is_rank(w, pid) && rank_of(pid) >= 0) w->seen = watch_now();
    }
    if (d) closedir(d);
    return w->seen > 0 && watch_now() - w->seen > GONE_SECONDS;
}

// The rank that keeps the others waiting: a stopped one, one that is gone, else the one that is
// furthest behind, of those that are seen from here.
int watch_slowest(watch *w, bool *stopped, bool *gone)
{
    int best = 0, stopped_early, gone_early;
    look_early(w, &stopped_early, &gone_early);
    *stopped = stopped_early >= 0;
    *gone = is_gone(w, gone_early) && !*stopped;
    if (*stopped) return stopped_early;
    if (*gone) return gone_early;
    for (int r = 0; r < w->j->n_ranks; r++) {
        const beat *b = &w->beat[r], *o = &w->beat[best];
        char state = b->pid > 0 ? process_state(b->pid, NULL) : 0;
        if (state == 'T' || state == 't') {
            *stopped = true;
            return r;
        }
        if (watch_is_away(w, r) != watch_is_away(w, best)) {
            if (watch_is_away(w, best)) best = r;
            continue;
        }
        if (b->pid == 0 && o->pid != 0) best = r;
        if ((b->pid == 0) != (o->pid == 0)) continue;
        if (b->step < o->step || (b->step == o->step && b->count < o->count)) best = r;
    }
    return best;
}

// No rank has begun, or one joins the others, or rehearses its step on a device or is in its first,
// where libraries are loaded and kernels compiled: that takes what it takes, however short the step
// is.
bool watch_starting(const watch *w)
{
    bool begun = false;
    for (int r = 0; r < w->j->n_ranks; r++) {
        const beat *b = &w->beat[r];
        if (b->pid > 0 && strcmp(b->name, "init") == 0) return true;
        if (w->j->cuda && b->step == REHEARSAL) return true;
        if (w->j->cuda && b->step >= 0 && b->step == w->first_step) return true;
        begun = begun || b->pid > 0;
    }
    return !begun;
}

// A rank reads or writes a checkpoint: other ranks wait, and disks take what they take.
bool watch_at_files(const watch *w)
{
    for (int r = 0; r < w->j->n_ranks; r++)
        if (!strcmp(w->beat[r].name, "save") || !strcmp(w->beat[r].name, "load")) return true;
    return false;
}

int watch_away(const watch *w)
{
    int n = 0;
    for (int r = 0; r < w->j->n_ranks; r++)
        n += watch_is_away(w, r);
    return n;
}
