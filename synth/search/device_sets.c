#include "synth/search/device_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/device_defaults.h"
#include "synth/price/simulate_plan.h"

static double speed(const pool *p, int rank)
{
    const cl_class *c = &p->m->cluster->cls[p->m->cluster->class_of[rank]];
    double fast = p->m->math == COST_BF16 ? c->bf16 : p->m->math == COST_TF32 ? c->tf32 : c->f32;
    return fast > 0 ? fast : c->f32;
}

// What devices, and machines by their sums, are ranked by.
typedef enum { BY_SPEED, BY_MEMORY, BY_MEMORY_BANDWIDTH, BY_LINK, N_ORDERS } order;

static double worth(const pool *p, int rank, order by)
{
    const cl_class *c = &p->m->cluster->cls[p->m->cluster->class_of[rank]];
    return by == BY_SPEED    ? speed(p, rank)
           : by == BY_MEMORY ? (double)c->capacity
           : by == BY_LINK   ? c->link_bandwidth
                             : c->memory_bandwidth;
}

typedef struct finder {
    const pool *p;
    const cl_cluster *c;
    device_sets sets;
} finder;

// A set of some devices, not all, that was not there before.
static void add_set(finder *s, const bool *keep)
{
    size_t bytes = sizeof *keep * (size_t)s->c->n_ranks;
    int kept = 0;
    for (int r = 0; r < s->c->n_ranks; r++)
        kept += keep[r];
    if (kept == 0 || kept == s->c->n_ranks || s->sets.n == SYN_MAX_SUBSETS) return;
    for (int i = 0; i < s->sets.n; i++)
        if (memcmp(s->sets.keep[i], keep, bytes) == 0) return;
    s->sets.keep[s->sets.n++] = hb_copy(s->p->arena, keep, bytes);
}

static int descending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a < b) - (a > b);
}

// Without the classes that are worth least, step by step; fastest few first.
static void add_class_prefixes(finder *s, order by)
{
    int n = s->c->n_ranks;
    double *level = HB_ARRAY(s->p->arena, double, n + 1);
    bool *keep = HB_ARRAY(s->p->arena, bool, n + 1);
    for (int r = 0; r < n; r++)
        level[r] = worth(s->p, r, by);
    qsort(level, (size_t)n, sizeof *level, descending);
    for (int k = n - 1; k > 0; k--) {
        if (level[k] == level[k - 1]) continue;
        for (int r = 0; r < n; r++)
            keep[r] = worth(s->p, r, by) >= level[k - 1];
        add_set(s, keep);
    }
}

static double machine_worth(const pool *p, int machine, order by)
{
    const cl_machine *x = &p->m->cluster->machine[machine];
    double sum = 0;
    for (int r = 0; r < x->n_ranks; r++)
        sum += worth(p, x->first_rank + r, by);
    return sum;
}

// Whole machines: the best alone, the best two, and so on; and each alone.
static void add_machines(finder *s, order by)
{
    int n = s->c->n_machines;
    bool *keep = HB_ARRAY(s->p->arena, bool, s->c->n_ranks + 1),
         *taken = HB_ARRAY(s->p->arena, bool, n + 1);
    for (int k = 0; k < n && k < SYN_MACHINE_PREFIXES; k++) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!taken[i] &&
                (best < 0 || machine_worth(s->p, i, by) > machine_worth(s->p, best, by)))
                best = i;
        taken[best] = true;
        const cl_machine *x = &s->c->machine[best];
        memset(keep + x->first_rank, true, (size_t)x->n_ranks);
        add_set(s, keep);
        bool *alone = HB_ARRAY(s->p->arena, bool, s->c->n_ranks + 1);
        memset(alone + x->first_rank, true, (size_t)x->n_ranks);
        add_set(s, alone);
    }
}

// Of machines of several classes, and of few machines: one class of a machine alone, the machine
// without it, all devices without it; of few devices, all without one of it.
static void add_classes_of_machines(finder *s)
{
    const cl_cluster *c = s->c;
    bool *alone = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1),
         *without = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1),
         *rest = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1);
    for (int i = 0; i < c->n_machines && i < SYN_MACHINE_PREFIXES; i++) {
        int first = c->machine[i].first_rank, end = first + c->machine[i].n_ranks;
        for (int k = first; k < end; k++) {
            bool seen = false;
            for (int r = first; r < k; r++)
                seen = seen || c->class_of[r] == c->class_of[k];
            bool one = true; // class in the machine
            for (int r = first; r < end; r++)
                one = one && c->class_of[r] == c->class_of[k];
            if (seen || (one && c->n_machines > SYN_FEW_MACHINES)) continue;
            for (int r = 0; r < c->n_ranks; r++) {
                bool here = r >= first && r < end;
                alone[r] = here && c->class_of[r] == c->class_of[k];
                without[r] = !alone[r];
                rest[r] = here && !alone[r];
            }
            add_set(s, rest);
            add_set(s, without);
            add_set(s, alone);
            if (c->n_ranks > SYN_FEW_DEVICES) continue;
            memset(without, true, (size_t)c->n_ranks);
            without[k] = false;
            add_set(s, without);
        }
    }
}

static int fewest_devices(const cl_cluster *c)
{
    int fewest = c->n_ranks;
    for (int i = 0; i < c->n_machines; i++)
        fewest = c->machine[i].n_ranks < fewest ? c->machine[i].n_ranks : fewest;
    return fewest;
}

// The best few of each machine, as many of one as of another.
static void add_equal_counts(finder *s, order by, int count)
{
    const cl_cluster *c = s->c;
    bool *keep = HB_ARRAY(s->p->arena, bool, c->n_ranks + 1);
    for (int i = 0; i < c->n_machines; i++)
        for (int k = 0; k < count; k++) {
            int pick = -1;
            for (int r = c->machine[i].first_rank;
                 r < c->machine[i].first_rank + c->machine[i].n_ranks; r++)
                if (!keep[r] && (pick < 0 || worth(s->p, r, by) > worth(s->p, pick, by))) pick = r;
            keep[pick] = true;
        }
    add_set(s, keep);
}

device_sets pool_device_sets(const pool *p)
{
    finder s = {.p = p, .c = p->m->cluster};
    for (order by = BY_SPEED; by < N_ORDERS; by++) {
        add_class_prefixes(&s, by);
        if (s.c->n_machines > 1) add_machines(&s, by);
        if (s.c->n_machines > 1) add_equal_counts(&s, by, fewest_devices(s.c));
    }
    add_classes_of_machines(&s);
    // Fewer of equal devices: half of them, a quarter, and so on.
    for (int k = fewest_devices(s.c) / 2; k > 0; k /= 2)
        add_equal_counts(&s, BY_SPEED, k);
    return s.sets;
}

double pool_least_seconds(const pool *p, const bool *keep)
{
    double all = 0, kept = 0;
    for (int r = 0; r < p->m->cluster->n_ranks; r++) {
        all += speed(p, r);
        if (keep[r]) kept += speed(p, r);
    }
    double peak = syn_peak_seconds(p->best.program);
    const syn_mesh *mesh = p->best.program->mesh;
    double used = 0;
    for (int r = 0; r < mesh->n_ranks; r++)
        used += speed(p, mesh->cluster_rank[r]);
    return kept > 0 ? peak * used / kept / (p->m->curves ? 1 : COST_PEAK_SHARE) : HUGE_VAL;
}
