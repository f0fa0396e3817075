// Linked into a program with -Wl,--wrap=hap_comm_vote_start: every step takes as many milliseconds
// longer as the file PACED says, so that a test has the time to do something between two steps. The
// file holds "MS", or "MS STEP MS2": from STEP on MS2. It is read again while a rank waits.
//
// With -Wl,--wrap=hap_pace_step, too, ranks state their pace: each as long as its plan says,
// but for what the file SPEEDS says, where there is one: lines "STEP DEVICE TIMES", from STEP on
// the device of that number in the plan's cluster takes so many times as long; "noise": all are
// noisy.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/heartbeat.h"

void __real_hap_comm_vote_start(hap_rank *r, int x);
void __wrap_hap_comm_vote_start(hap_rank *r, int x);

static long asked_ms(int64_t step)
{
    long ms = 0, from = 0, then = 0;
    FILE *f = fopen(PACED, "r");
    if (!f) return 0;
    int n = fscanf(f, "%ld %ld %ld", &ms, &from, &then);
    fclose(f);
    return n == 3 && step >= from ? then : n >= 1 ? ms : 0;
}

void __wrap_hap_comm_vote_start(hap_rank *r, int x)
{
    enum { SLICE = 20 };
    struct timespec nap = {0, SLICE * 1000000L};
    for (long ms = 0; ms < asked_ms(r->now.step); ms += SLICE) {
        hap_beat(r, "input"); // alive
        nanosleep(&nap, NULL);
    }
    r->doing = NULL;
    __real_hap_comm_vote_start(r, x);
}

#ifdef SPEEDS
void __real_hap_pace_step(hap_rank *r, double own, double seconds);
void __wrap_hap_pace_step(hap_rank *r, double own, double seconds);

// The number behind the next `key` from *at on, which moves there.
static double number(const char **at, const char *key)
{
    *at = *at ? strstr(*at, key) : NULL;
    if (!*at) return 0;
    *at += strlen(key);
    return strtod(*at, NULL);
}

// What the plan says of this rank: its number in the cluster, ms of its own work.
static double planned(const hap_rank *r, int *device)
{
    char path[4200], key[40];
    snprintf(path, sizeof path, "%s/plan.json", r->opt.folder);
    FILE *f = fopen(path, "r");
    char *text = f ? calloc(1, 1 << 24) : NULL;
    if (!text) exit(1);
    (void)!fread(text, 1, (1 << 24) - 1, f);
    fclose(f);
    snprintf(key, sizeof key, "\"rank\":%d,", r->id);
    const char *at = strstr(text, "\"ranks\":[{");
    (void)number(&at, key);
    *device = (int)number(&at, "\"cluster_rank\":");
    int cls = (int)number(&at, "\"class\":");
    double ms = 0;
    at = strstr(text, "\"classes\":[");
    for (int c = 0; c <= cls; c++)
        ms = number(&at, "\"compute_ms\":");
    free(text);
    return ms;
}

// Up to a quarter off the mean; every fourth step ten times as long; in one window of one rank
// all of them.
static double noisy(const hap_rank *r)
{
    uint32_t h = (uint32_t)(r->now.step * 2654435761u) ^ ((uint32_t)r->id * 40503u << 7);
    double u = (double)(h % 1000) / 1000;
    bool spike = (r->now.step + r->id) % 4 == 0 || (r->id == 1 && r->now.step / 5 == 4);
    return (0.9 + 0.2 * u) * (spike ? 10 : 1);
}

void __wrap_hap_pace_step(hap_rank *r, double own, double seconds)
{
    static const double SECONDS = 100; // of a step, and of work that the plan says takes 1 ms
    int device, of;
    long from;
    double times = 1, all;
    char line[80];
    (void)own;
    (void)seconds;
    all = SECONDS * planned(r, &device);
    FILE *f = fopen(SPEEDS, "r");
    while (f && fgets(line, sizeof line, f)) {
        double t;
        if (strncmp(line, "noise", 5) == 0) all *= noisy(r);
        if (sscanf(line, "%ld %d %lf", &from, &of, &t) == 3 && of == device && r->now.step >= from)
            times = t;
    }
    if (f) fclose(f);
    __real_hap_pace_step(r, all * times, SECONDS);
}
#endif
