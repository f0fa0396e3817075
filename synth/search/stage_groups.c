#include "synth/search/stage_groups.h"

#include <string.h>

#include "synth/search/plan_stages.h"

// --- kinds of machines ---

static bool equal_machines(const cl_cluster *c, int x, int y)
{
    const cl_machine *p = &c->machine[x], *q = &c->machine[y];
    if (p->n_ranks != q->n_ranks || p->link_bandwidth != q->link_bandwidth ||
        p->link_latency != q->link_latency)
        return false;
    for (int r = 0; r < p->n_ranks; r++)
        if (c->class_of[p->first_rank + r] != c->class_of[q->first_rank + r]) return false;
    return true;
}

syn_groups *syn_groups_new(hb_arena *a, const cost_model *m, hb_diag *d)
{
    const cl_cluster *c = m->cluster;
    syn_groups *g = HB_NEW(a, syn_groups);
    *g = (syn_groups){.a = a, .m = m, .d = d};
    for (int i = 0; i < c->n_machines; i++) {
        int k = 0;
        while (k < g->kinds.n && !equal_machines(c, g->kinds.p[k].machine[0], i))
            k++;
        if (k == g->kinds.n) {
            int *machine = HB_ARRAY(a, int, c->n_machines + 1);
            HB_PUSH(a, &g->kinds, (syn_machines){0, machine, c->machine[i].n_ranks});
        }
        g->kinds.p[k].machine[g->kinds.p[k].n++] = i;
    }
    return g;
}

// --- groups ---

static void mark(const cl_cluster *c, int machine, int first, int n, bool *device)
{
    for (int r = first; r < first + n; r++)
        device[c->machine[machine].first_rank + r] = true;
}

static int add_group(syn_groups *g, syn_group v, const bool *device)
{
    int *rank = HB_ARRAY(g->a, int, g->m->cluster->n_ranks + 1);
    if (!syn_stage_model(g->a, g->m, device, rank, &v.model, g->d)) return -1;
    HB_PUSH(g->a, &g->of, v);
    return g->of.n - 1;
}

int syn_group_of_machines(syn_groups *g, const int *take)
{
    const cl_cluster *c = g->m->cluster;
    size_t bytes = sizeof *take * (size_t)g->kinds.n;
    for (int i = 0; i < g->of.n; i++)
        if (g->of.p[i].take && memcmp(g->of.p[i].take, take, bytes) == 0) return i;
    bool *device = HB_ARRAY(g->a, bool, c->n_ranks + 1);
    syn_group v = {.take = hb_copy(g->a, take, bytes)};
    for (int k = 0; k < g->kinds.n; k++)
        for (int i = 0; i < take[k]; i++, v.n_machines++)
            mark(c, g->kinds.p[k].machine[i], 0, g->kinds.p[k].n_devices, device);
    return add_group(g, v, device);
}

int syn_group_part(syn_groups *g, int kind, int first, int n)
{
    for (int i = 0; i < g->of.n; i++) {
        const syn_group *v = &g->of.p[i];
        if (!v->take && v->kind == kind && v->first == first && v->n == n) return i;
    }
    bool *device = HB_ARRAY(g->a, bool, g->m->cluster->n_ranks + 1);
    mark(g->m->cluster, g->kinds.p[kind].machine[0], first, n, device);
    return add_group(g, (syn_group){.n_machines = 1, .kind = kind, .first = first, .n = n}, device);
}

// --- units ---

static int count_of(const syn_groups *g, const syn_unit *u)
{
    return g->kinds.p[u->kind].n * (u->n / u->size);
}

static syn_units finish(const syn_groups *g, syn_unit *of, int n)
{
    syn_units u = {n, of, HB_ARRAY(g->a, int, n + 1)};
    for (int i = 0; i < n; i++)
        u.count[i] = count_of(g, &of[i]);
    return u;
}

syn_units syn_units_of_machines(const syn_groups *g)
{
    syn_unit *of = HB_ARRAY(g->a, syn_unit, g->kinds.n + 1);
    for (int k = 0; k < g->kinds.n; k++)
        of[k] = (syn_unit){k, 0, g->kinds.p[k].n_devices, g->kinds.p[k].n_devices};
    return finish(g, of, g->kinds.n);
}

double syn_unit_sets(const syn_units *u)
{
    double sets = 1;
    for (int i = 0; i < u->n; i++)
        sets *= u->count[i] + 1;
    return sets;
}

// Parts of a run have so many devices: all, or half as many as long as that is whole, then one.
// Each size divides those before it. 0: none is smaller.
static int smaller(int size)
{
    return size % 2 == 0 ? size / 2 : size > 1 ? 1 : 0;
}

// The next larger part of a run; 0: none.
static int larger(const syn_unit *u)
{
    int size = u->n;
    if (size == u->size) return 0;
    while (smaller(size) != u->size)
        size = smaller(size);
    return size;
}

// Runs of equal devices of a kind of machines, one device a unit; or, where it is not to have
// parts, all of it.
static int runs_of(const syn_groups *g, int kind, bool parts, syn_unit *out)
{
    const cl_cluster *c = g->m->cluster;
    const syn_machines *k = &g->kinds.p[kind];
    const int *class = c->class_of + c->machine[k->machine[0]].first_rank;
    int n = 0;
    if (!parts) {
        out[0] = (syn_unit){kind, 0, k->n_devices, k->n_devices};
        return 1;
    }
    for (int r = 0; r < k->n_devices; r++) {
        if (r == 0 || class[r] != class[r - 1]) out[n++] = (syn_unit){kind, r, 0, 1};
        out[n - 1].n++;
    }
    return n;
}

// The run of which there are the most units, of those that can have fewer.
static syn_unit *most_units(const syn_groups *g, syn_unit *of, int n)
{
    syn_unit *most = NULL;
    for (int i = 0; i < n; i++)
        if (larger(&of[i]) && (!most || count_of(g, &of[i]) > count_of(g, most))) most = &of[i];
    return most;
}

syn_units syn_units_of_parts(const syn_groups *g, int most)
{
    int all = g->m->cluster->n_ranks + g->kinds.n;
    syn_unit *of = HB_ARRAY(g->a, syn_unit, all + 1);
    for (int whole = 0; whole < g->kinds.n;
         whole++) { // so many kinds, the last ones, have no parts
        int n = 0;
        for (int k = 0; k < g->kinds.n; k++)
            n += runs_of(g, k, k < g->kinds.n - whole, of + n);
        for (;;) {
            syn_units u = finish(g, of, n);
            bool parts = n > g->kinds.n;
            for (int i = 0; i < n; i++)
                parts = parts || of[i].size < of[i].n;
            if (parts && syn_unit_sets(&u) <= most) return u;
            syn_unit *coarser = most_units(g, of, n);
            if (!coarser) break;
            coarser->size = larger(coarser);
        }
    }
    return (syn_units){0};
}

bool syn_parts_of(syn_groups *g, const syn_units *u, syn_add_part *add, void *ctx)
{
    for (int i = 0; i < u->n; i++) {
        const syn_unit *x = &u->of[i];
        bool machine = x->n == g->kinds.p[x->kind].n_devices;
        for (int size = machine ? smaller(x->n) : x->n; size >= x->size; size = smaller(size)) {
            int group = syn_group_part(g, x->kind, x->first, size);
            if (group < 0 || !add(ctx, group)) return false;
            if (size == x->size) break;
        }
    }
    return true;
}

bool syn_group_units(const syn_groups *g, const syn_units *u, int group, int *take)
{
    const syn_group *v = &g->of.p[group];
    bool any = false;
    for (int i = 0; i < u->n; i++) {
        const syn_unit *x = &u->of[i];
        bool in = x->kind == v->kind && x->first <= v->first && v->first < x->first + x->n;
        take[i] = v->take                     ? v->take[x->kind] * (x->n / x->size)
                  : in && v->n % x->size == 0 ? v->n / x->size
                                              : 0;
        any = any || take[i] > 0;
    }
    return any;
}

// --- places ---

typedef struct placing {
    const syn_groups *g;
    const cl_cluster *c;
    int n;
    const int *group;
    bool **device; // by group
    bool *used;    // by rank
    int *machine;  // by group, of parts: where it lies, -1 not yet
} placing;

static void put(placing *x, int s, int machine, int first, int n)
{
    mark(x->c, machine, first, n, x->device[s]);
    mark(x->c, machine, first, n, x->used);
    x->machine[s] = machine;
}

static bool is_free(const placing *x, int machine, int first, int n)
{
    for (int r = first; r < first + n; r++)
        if (x->used[x->c->machine[machine].first_rank + r]) return false;
    return true;
}

// A run of a part's machine; the part begins at a multiple of its size from there on.
static void run_of(const placing *x, const syn_group *v, int *first, int *end)
{
    const syn_machines *k = &x->g->kinds.p[v->kind];
    const int *class = x->c->class_of + x->c->machine[k->machine[0]].first_rank;
    *first = *end = v->first;
    while (*first > 0 && class[*first - 1] == class[v->first])
        --*first;
    while (*end < k->n_devices && class[*end] == class[v->first])
        ++*end;
}

// Beside the part before or behind it, else where there is room.
static bool put_part(placing *x, int s)
{
    const syn_group *v = &x->g->of.p[x->group[s]];
    const syn_machines *k = &x->g->kinds.p[v->kind];
    int first, end;
    run_of(x, v, &first, &end);
    for (int beside = 1; beside >= 0; beside--)
        for (int i = 0; i < k->n; i++) {
            int m = k->machine[i];
            bool near =
                (s > 0 && x->machine[s - 1] == m) || (s + 1 < x->n && x->machine[s + 1] == m);
            for (int r = first; (near || !beside) && r + v->n <= end; r += v->n) {
                if (!is_free(x, m, r, v->n)) continue;
                put(x, s, m, r, v->n);
                return true;
            }
        }
    return false;
}

// Whole machines first, then parts, larger ones first: each size divides those before it, so what
// is left free is made of parts of it.
bool **syn_groups_place(hb_arena *a, const syn_groups *g, int n, const int *group)
{
    const cl_cluster *c = g->m->cluster;
    placing x = {.g = g,
                 .c = c,
                 .n = n,
                 .group = group,
                 .device = HB_ARRAY(a, bool *, n + 1),
                 .used = HB_ARRAY(a, bool, c->n_ranks + 1),
                 .machine = HB_ARRAY(a, int, n + 1)};
    int *next = HB_ARRAY(a, int, g->kinds.n + 1), most = 0;
    for (int s = 0; s < n; s++) {
        const syn_group *v = &g->of.p[group[s]];
        x.device[s] = HB_ARRAY(a, bool, c->n_ranks + 1);
        for (int k = 0; k < g->kinds.n && v->take; k++)
            for (int i = 0; i < v->take[k]; i++)
                put(&x, s, g->kinds.p[k].machine[next[k]++], 0, g->kinds.p[k].n_devices);
        x.machine[s] = -1;
        if (!v->take && v->n > most) most = v->n;
    }
    for (int size = most; size > 0; size--)
        for (int s = 0; s < n; s++) {
            const syn_group *v = &g->of.p[group[s]];
            if (v->take || v->n != size) continue;
            bool room = put_part(&x, s);
            hb_assert(room && "whole machines and equal parts leave room for equal parts");
        }
    return x.device;
}
