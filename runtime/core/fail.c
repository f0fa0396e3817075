#include "core/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/abort.h"

const hap_step_state *hap_step(const hap_rank *r)
{
    return &r->now;
}

// When all ranks meet the same error, rank 0 says so and ends the others while they still sleep
// here.
static void let_lower_ranks_speak(const hap_rank *r)
{
    int ms = r->id < 3 ? 700 * r->id : 2100;
    struct timespec nap = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&nap, NULL);
}

// Another rank of this host has said why, and ends all; the launcher may be slow to hear of it.
static void wait_for_the_end(void)
{
    struct timespec nap = {.tv_sec = 20};
    nanosleep(&nap, NULL);
}

// Marks of writing direction and what has no width, in UTF-8: how many bytes, 0 none.
static int mark(const unsigned char *p)
{
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) return 2; // control characters too
    if (p[0] == 0xd8 && p[1] == 0x9c) return 2;
    if (p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) return 3;
    if (p[0] != 0xe2) return 0;
    bool marks = p[1] == 0x80 && ((p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xa8 && p[2] <= 0xae));
    return marks || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9) ? 3 : 0;
}

void hap_say(const char *before, const char *text, const char *after)
{
    char line[4096];
    size_t n = strlen(before), m = strlen(after);
    memcpy(line, before, n);
    for (const unsigned char *p = (const unsigned char *)text; *p && n + 3 + m < sizeof line;) {
        int bytes = mark(p);
        bool obeyed = bytes > 0 || (*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f;
        if (obeyed)
            n += (size_t)snprintf(line + n, sizeof line - n, "\xef\xbf\xbd"); // U+FFFD
        else
            line[n++] = (char)*p;
        p += bytes > 0 ? bytes : 1;
    }
    memcpy(line + n, after, m);
    fwrite(line, 1, n + m, stderr); // at once: mpirun puts its own between two writes
}

static _Noreturn HAP_PRINTF(3, 0) void fail(const hap_rank *r, int code, const char *format,
                                            va_list args)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "rank %d", r->id);
    if (r->n_stages > 1) n += snprintf(text + n, sizeof text - (size_t)n, " stage %d", r->stage);
    n += snprintf(text + n, sizeof text - (size_t)n, " host %s", r->host[0] ? r->host : "?");
    if (r->in_step && r->rehearsal)
        n += snprintf(text + n, sizeof text - (size_t)n, " rehearsal");
    else if (r->in_step)
        n += snprintf(text + n, sizeof text - (size_t)n, " step %lld", (long long)r->now.step);
    if (r->line > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s:%d", r->file ? r->file : "program.c",
                      r->line);
    n += snprintf(text + n, sizeof text - (size_t)n, ": ");
    if (r->doing) n += snprintf(text + n, sizeof text - (size_t)n, "%s: ", r->doing);
    if (r->port)
        n +=
            snprintf(text + n, sizeof text - (size_t)n,
                     "message %lld of port %d (%.80s) from stage %d to %d: ", (long long)r->message,
                     r->port_number, r->port->name, r->port->from, r->port->to);
    vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    let_lower_ranks_speak(r);
    if (!hap_abort_first_word()) wait_for_the_end();
    fflush(stdout);
    hap_say("", text, "\n");
    hap_comm_abort(r, code);
}

void hap_fail(hap_rank *r, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(r, code, format, args);
}

void hap_fatal(const hap_rank *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(r, HAP_EXIT_FAILED, format, args);
}

void *hap_alloc(hap_rank *r, size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    HAP_CK(r, p, "out of memory (%zu bytes)", bytes);
    return p;
}

void *hap_grow(hap_rank *r, void *p, int *cap, int need, size_t item)
{
    if (need <= *cap) return p;
    int n = *cap ? *cap * 2 : 16;
    if (n < need) n = need;
    void *q = realloc(p, (size_t)n * item);
    HAP_CK(r, q, "out of memory (%zu bytes)", (size_t)n * item);
    memset((char *)q + (size_t)*cap * item, 0, (size_t)(n - *cap) * item);
    *cap = n;
    return q;
}
