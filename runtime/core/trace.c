#include "core/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm.h"
#include "core/fail.h"

enum { MAX_EVENTS = 1 << 22 }; // later ones are dropped

typedef struct span {
    const char *name; // lives as long as the program
    int line, lane;
    bool joined; // to the one before it: that one's time is of both
    double start, end;
} span;

struct hap_trace {
    span *span;
    int n, cap;
    bool full;
    double zero;
};

void hap_trace_start(hap_rank *r)
{
    r->trace = hap_alloc(r, sizeof *r->trace);
    hap_comm_barrier(r); // clocks of different hosts agree as well as this returns together
    r->trace->zero = hap_seconds();
}

int hap_trace_comm(unsigned axes)
{
    int axis = 0;
    for (int a = 0; a < HAP_MAX_AXES; a++)
        if (axes & AXIS(a)) axis = a;
    return HAP_TRACE_COMM + axis;
}

void hap_trace_add(hap_rank *r, int lane, const char *name, int line, double start, double end)
{
    struct hap_trace *t = r->trace;
    t->full = t->n == MAX_EVENTS;
    if (t->full) return;
    t->span = hap_grow(r, t->span, &t->cap, t->n + 1, sizeof *t->span);
    t->span[t->n++] = (span){name, line, lane, false, fmax(0, start - t->zero), end - t->zero};
}

void hap_trace_join(hap_rank *r, const char *name, int line)
{
    struct hap_trace *t = r->trace;
    if (t->full) return; // what it is joined to was dropped
    t->span = hap_grow(r, t->span, &t->cap, t->n + 1, sizeof *t->span);
    t->span[t->n++] = (span){name, line, HAP_TRACE_COMPUTE, true, 0, 0};
}

static void write_name(FILE *f, const span *s)
{
    bool op = s->lane == HAP_TRACE_COMPUTE && strncmp(s->name, "hap_", 4) != 0;
    fprintf(f, "\"%s%s:%d\"", op ? "op_" : "", s->name, s->line);
}

static void write_spans(FILE *f, int rank, const span *s, int64_t n)
{
    static const char *const lane[] = {
#define HAP_LANE(name, text) text,
#include "hap/trace_lanes.def"
#undef HAP_LANE
    };
    _Static_assert(HAP_TRACE_STEPS == HAP_TRACE_COMM + HAP_MAX_AXES, "a lane an axis");
    fprintf(f,
            "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,"
            "\"args\":{\"name\":\"rank %d\"}}",
            rank ? ",\n" : "", rank, rank);
    for (int i = 0; i <= HAP_TRACE_STEPS; i++)
        fprintf(f,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
                "\"args\":{\"name\":\"%s\"}}",
                rank, i, lane[i]);
    for (int64_t i = 0, k; i < n; i = k) {
        fprintf(f, ",\n{\"ph\":\"X\",\"name\":");
        write_name(f, &s[i]);
        fprintf(f, ",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f", rank, s[i].lane,
                s[i].start * 1e6, (s[i].end - s[i].start) * 1e6);
        for (k = i + 1; k < n && s[k].joined; k++) {
            fputs(k == i + 1 ? ",\"args\":{\"joined\":[" : ",", f);
            write_name(f, &s[k]);
        }
        fputs(k > i + 1 ? "]}}" : "}", f);
    }
}

// Every rank writes its own lines in memory; rank 0 puts them into one file.
void hap_trace_write(hap_rank *r)
{
    struct hap_trace *t = r->trace;
    char *text = NULL;
    size_t size = 0;
    FILE *mem = open_memstream(&text, &size);
    HAP_CK(r, mem, "out of memory for the trace");
    write_spans(mem, r->id, t->span, t->n);
    HAP_CK(r, fclose(mem) == 0, "out of memory for the trace");
    if (r->id != 0) {
        int64_t n = (int64_t)size;
        hap_comm_send(r, 0, &n, sizeof n);
        hap_comm_send(r, 0, text, n);
    } else {
        FILE *f = fopen(r->opt.trace, "w");
        HAP_CK(r, f, "cannot write %s", r->opt.trace);
        fprintf(f, "{\"traceEvents\":[\n");
        fwrite(text, 1, size, f);
        for (int q = 1; q < r->n_ranks; q++) {
            int64_t n = 0;
            hap_comm_recv(r, q, &n, sizeof n);
            char *theirs = hap_alloc(r, (size_t)n);
            hap_comm_recv(r, q, theirs, n);
            fwrite(theirs, 1, (size_t)n, f);
            free(theirs);
        }
        fprintf(f, "\n]}\n");
        HAP_CK(r, fclose(f) == 0, "cannot write %s", r->opt.trace);
    }
    free(text);
    free(t->span);
    free(t);
    r->trace = NULL;
}
