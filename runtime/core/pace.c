#include "core/pace.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/comm.h"
#include "core/fail.h"

enum { PER_LINE = 64 };

struct hap_pace {
    int n;              // steps so far
    double *own, *took; // of them
    double *all;        // rank 0: by rank
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[n / 2];
}

static void hand_on(const hap_rank *r, const double *all, double seconds)
{
    char line[96 + 24 * PER_LINE];
    for (int first = 0; first < r->n_ranks; first += PER_LINE) {
        int n = snprintf(line, sizeof line, "pace %lld %lld %.9g %d", (long long)r->now.step,
                         (long long)(r->opt.steps - r->steps_done - 1), seconds, first);
        for (int i = first; i < r->n_ranks && i < first + PER_LINE; i++)
            n += snprintf(line + n, sizeof line - (size_t)n, " %.9g", all[i]);
        hap_say("", line, "\n");
    }
}

void hap_pace_step(hap_rank *r, double own, double seconds)
{
    size_t steps = (size_t)r->opt.pace;
    struct hap_pace *p = r->pace;
    if (!p) {
        p = r->pace = hap_alloc(r, sizeof *p);
        p->own = hap_alloc(r, steps * sizeof *p->own);
        p->took = hap_alloc(r, steps * sizeof *p->took);
        p->all = hap_alloc(r, (size_t)r->n_ranks * sizeof *p->all);
    }
    p->own[p->n] = own;
    p->took[p->n] = seconds;
    if (++p->n < r->opt.pace) return;
    hap_comm_gather(r, median(p->own, p->n), p->all);
    if (r->id == 0) hand_on(r, p->all, median(p->took, p->n));
    p->n = 0;
}

void hap_pace_end(hap_rank *r)
{
    struct hap_pace *p = r->pace;
    if (!p) return;
    free(p->own);
    free(p->took);
    free(p->all);
    free(p);
    r->pace = NULL;
}
