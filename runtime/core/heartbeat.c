#include "core/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 128 };

struct hap_heartbeat {
    char *map;
    char pid[24];
    int n_pid;
    uint64_t count;
};

const char *hap_beat_start(hap_rank *r)
{
    const char *folder = r->opt.heartbeat;
    char path[1024];
    if (!folder) return NULL;
    int n = snprintf(path, sizeof path, "%s/rank.%d", folder, r->id);
    if (n >= (int)sizeof path) return "HAP_HEARTBEAT is too long";
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 && errno == ENOENT)
        return NULL; // the folder is on the host of `hapc run`, not on this one
    char *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, SIZE) == 0)
        map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    struct hap_heartbeat *b = calloc(1, sizeof *b);
    if (map == MAP_FAILED || !b) return "the folder of HAP_HEARTBEAT cannot be written to";
    b->map = map;
    b->n_pid = snprintf(b->pid, sizeof b->pid, "%ld ", (long)getpid());
    r->beat = b;
    hap_beat(r, "init");
    return NULL;
}

static char *put_number(char *at, int64_t x)
{
    char digit[24];
    int n = 0;
    if (x < 0) {
        *at++ = '-';
        x = -x;
    }
    do
        digit[n++] = (char)('0' + x % 10);
    while ((x /= 10) > 0);
    while (n > 0)
        *at++ = digit[--n];
    *at++ = ' ';
    return at;
}

// The step that this rank is in, or whose rows it reads; -1 before the first and behind the last.
static int64_t step_of(const hap_rank *r)
{
    enum { REHEARSAL = -2 };
    if (r->rehearsal) return REHEARSAL;
    return r->loaded && r->steps_done < r->opt.steps ? r->now.step : -1;
}

void hap_beat(hap_rank *r, const char *name)
{
    struct hap_heartbeat *b = r->beat;
    r->doing = name;
    if (!b) return;
    char text[SIZE];
    memset(text, ' ', sizeof text);
    memcpy(text, b->pid, (size_t)b->n_pid);
    char *at = put_number(text + b->n_pid, step_of(r));
    at = put_number(at, r->line);
    size_t n = strlen(name);
    if (n > 40) n = 40;
    memcpy(at, name, n);
    put_number(at + n + 1, (int64_t)b->count++);
    text[SIZE - 1] = '\n';
    memcpy(b->map, text, SIZE); // one copy: a reader seldom sees half of it
}

void hap_beat_quit(const hap_rank *r, int code)
{
    struct hap_heartbeat *b = r->beat;
    char name[16], text[SIZE + 1];
    if (!b) return;
    snprintf(name, sizeof name, "quit%d", code);
    int n = snprintf(text, sizeof text, "%s%lld %d %s %llu", b->pid, (long long)step_of(r), r->line,
                     name, (unsigned long long)b->count);
    memset(text + n, ' ', (size_t)(SIZE - n));
    text[SIZE - 1] = '\n';
    memcpy(b->map, text, SIZE);
}

void hap_beat_end(hap_rank *r)
{
    struct hap_heartbeat *b = r->beat;
    if (!b) return;
    hap_beat(r, "end");
    munmap(b->map, SIZE);
    free(b);
    r->beat = NULL;
}
