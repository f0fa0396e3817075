#include <math.h>
#include <string.h>

#include "solver/minsum_parts.h"
#include "solver/solver_limits.h"

// Greedy elimination orders on the graph of variables with more than one live state. Both rules
// measure a variable by logarithms of sizes, as integers so that ties are ties everywhere:
//   min weight  the size of the message it would leave, sum of its neighbours' logs
//   min fill    the edges it would add, each the product of its ends' logs
// Ties go to the variable whose elimination tree is lowest, then to the lowest index: a chain is
// folded pairwise, all layers of a model at once, and equal layers stay equal.
// O(sum of squared degrees) an update, a lazily cleaned heap. Variables that meet very many others
// (a tied embedding, the norm that clips all gradients) are *hubs*: they go last, and whoever meets
// them says so in a bit mask, or else every elimination would walk their long lists.

typedef struct entry {
    int64_t score, tie; // tie: depth, then variable
    int stamp;
} entry;

typedef struct graph {
    hb_arena *arena;
    int n;
    const int *log;     // MS_LOG_UNIT log2 of the number of live states
    HB_VEC(int) * near; // sorted, without hubs
    int hub[MS_MOST_HUBS], n_hubs;
    uint64_t *hubs;             // by variable: hubs it meets
    int *depth, *stamp;         // stamp -1: gone
    entry *last;                // by variable: its newest
    int *merged, *met, *beside; // scratch: a list, and numbers by variable
    HB_VEC(entry) heap;
    int rule;
    HB_VEC(double) large; // works of eliminations, each once
    double large_sum;
} graph;

static int64_t tie_of(int depth, int var)
{
    return (int64_t)depth << 32 | var;
}

static int var_of(const entry *e)
{
    return (int)(e->tie & INT32_MAX);
}

// Without a branch: which of two comes first is as good as random.
static bool before(const entry *a, const entry *b)
{
    return (a->score < b->score) | ((a->score == b->score) & (a->tie < b->tie));
}

static void put(graph *g, entry e)
{
    HB_PUSH(g->arena, &g->heap, e);
    entry *h = g->heap.p;
    int i = g->heap.n - 1;
    for (; i > 0 && before(&e, &h[(i - 1) / 2]); i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = e;
}

static entry pop(graph *g)
{
    entry *h = g->heap.p, top = h[0], e = h[--g->heap.n];
    int i = 0, n = g->heap.n;
    for (;;) {
        int c = 2 * i + 1;
        if (c >= n) break;
        if (c + 1 < n) c += before(&h[c + 1], &h[c]);
        if (!before(&h[c], &e)) break;
        h[i] = h[c];
        i = c;
    }
    if (n) h[i] = e;
    return top;
}

static int64_t hub_logs(const graph *g, uint64_t hubs)
{
    int64_t sum = 0;
    for (; hubs; hubs &= hubs - 1)
        sum += g->log[g->hub[__builtin_ctzll(hubs)]];
    return sum;
}

// Of v: each neighbour with those that it does not meet. beside[w]: log[w] of the neighbours of v,
// 0 of all others, meanwhile.
static int64_t fill_of(graph *g, int v)
{
    int64_t twice = 0, all = 0;
    const int *near = g->near[v].p, n = g->near[v].n;
    for (int i = 0; i < n; i++)
        all += g->beside[near[i]] = g->log[near[i]];
    for (int i = 0; i < n; i++) {
        int u = near[i];
        const int *theirs = g->near[u].p, m = g->near[u].n;
        int64_t met = g->log[u];
        for (int j = 0; j < m; j++)
            met += g->beside[theirs[j]];
        uint64_t hubs = g->hubs[v] & ~g->hubs[u];
        int64_t missing = all - met + (hubs ? 2 * hub_logs(g, hubs) : 0);
        twice += missing * g->log[u];
    }
    for (int i = 0; i < n; i++)
        g->beside[near[i]] = 0;
    return twice / 2;
}

static void rate(graph *g, int v)
{
    int64_t score = 0;
    if (g->rule == MS_MIN_FILL) {
        score = fill_of(g, v);
    } else {
        score = hub_logs(g, g->hubs[v]);
        for (int i = 0; i < g->near[v].n; i++)
            score += g->log[g->near[v].p[i]];
    }
    entry *e = &g->last[v];
    int64_t tie = tie_of(g->depth[v], v);
    if (g->stamp[v] > 0 && e->score == score && e->tie == tie) return;
    *e = (entry){score, tie, ++g->stamp[v]};
    put(g, *e);
}

// near[u] = near[u] + near[v] without u and v; whether it grew.
static bool merge(graph *g, int u, int v)
{
    int n = 0, i = 0, j = 0, before_n = g->near[u].n;
    while (i < g->near[u].n || j < g->near[v].n) {
        int a = i < g->near[u].n ? g->near[u].p[i] : g->n;
        int b = j < g->near[v].n ? g->near[v].p[j] : g->n;
        int w = a < b ? a : b;
        i += a == w;
        j += b == w;
        if (w != u && w != v) g->merged[n++] = w;
    }
    if (n > g->near[u].cap) HB_ROOM(g->arena, &g->near[u], 2 * n);
    memcpy(g->near[u].p, g->merged, sizeof *g->merged * (size_t)n);
    g->near[u].n = n;
    return n > before_n - 1;
}

static void eliminate(graph *g, int v)
{
    bool grew = false;
    g->stamp[v] = -1;
    for (int i = 0; i < g->near[v].n; i++) {
        int u = g->near[v].p[i];
        grew |= merge(g, u, v) || (g->hubs[v] & ~g->hubs[u]);
        g->hubs[u] |= g->hubs[v];
        if (g->depth[u] <= g->depth[v]) g->depth[u] = g->depth[v] + 1;
    }
    for (int i = 0; i < g->near[v].n; i++)
        rate(g, g->near[v].p[i]);
    if (g->rule != MS_MIN_FILL || !grew) return;
    // A new edge saves fill for whoever neighbours both its ends.
    for (int i = 0; i < g->near[v].n; i++) {
        int u = g->near[v].p[i];
        for (int j = 0; j < g->near[u].n; j++)
            g->met[g->near[u].p[j]] = 0;
    }
    for (int i = 0; i < g->near[v].n; i++) {
        int u = g->near[v].p[i];
        for (int j = 0; j < g->near[u].n; j++) {
            int w = g->near[u].p[j];
            if (++g->met[w] != 2) continue;
            bool rated = false;
            for (int k = 0; k < g->near[v].n && !rated; k++)
                rated = g->near[v].p[k] == w;
            if (!rated) rate(g, w);
        }
    }
}

// Cells of the table that eliminating v would make, times its own states: the additions it takes at
// least.
static double work_of(const graph *g, const ms_live *live, int v)
{
    double work = live[v].n;
    for (uint64_t h = g->hubs[v]; h; h &= h - 1)
        work *= live[g->hub[__builtin_ctzll(h)]].n;
    for (int i = 0; i < g->near[v].n; i++)
        work *= live[g->near[v].p[i]].n;
    return work;
}

// Equal eliminations are one step of the plan and take as much; so works that differ are those of
// several steps, and the plan takes at least their sum. Small ones are left out.
static bool too_much(graph *g, double work, double max_work)
{
    if (work * g->n <= max_work) return false;
    for (int i = 0; i < g->large.n; i++)
        if (g->large.p[i] == work) return false;
    HB_PUSH(g->arena, &g->large, work);
    g->large_sum += work;
    return g->large_sum > max_work;
}

static void sort_unique(int *q, int *n)
{
    int m = 0;
    for (int i = 1; i < *n; i++) { // insertion sort
        int x = q[i], j = i;
        for (; j > 0 && q[j - 1] > x; j--)
            q[j] = q[j - 1];
        q[j] = x;
    }
    for (int i = 0; i < *n; i++)
        if (!i || q[i] != q[m - 1]) q[m++] = q[i];
    *n = m;
}

// Who meets whom; gives the hubs.
static void link_up(graph *g, const ms_problem *p, const ms_live *live)
{
    int *degree = HB_ARRAY(g->arena, int, g->n), *hub = HB_ARRAY(g->arena, int, g->n);
    for (int e = 0; e < p->n_edges; e++)
        if (live[p->edge[e].a].n > 1 && live[p->edge[e].b].n > 1) {
            degree[p->edge[e].a]++;
            degree[p->edge[e].b]++;
        }
    for (int v = 0; v < g->n; v++) {
        hub[v] = degree[v] > MS_HUB_DEGREE && g->n_hubs < MS_MOST_HUBS ? g->n_hubs : -1;
        if (hub[v] >= 0) g->hub[g->n_hubs++] = v;
    }
    for (int e = 0; e < p->n_edges; e++) {
        int a = p->edge[e].a, b = p->edge[e].b;
        if (live[a].n < 2 || live[b].n < 2) continue;
        if (hub[b] >= 0) g->hubs[a] |= (uint64_t)1 << hub[b];
        if (hub[a] >= 0) g->hubs[b] |= (uint64_t)1 << hub[a];
        if (hub[a] >= 0 || hub[b] >= 0) continue;
        HB_PUSH(g->arena, &g->near[a], b);
        HB_PUSH(g->arena, &g->near[b], a);
    }
    for (int v = 0; v < g->n; v++)
        sort_unique(g->near[v].p, &g->near[v].n);
    for (int h = 0; h < g->n_hubs; h++)
        g->stamp[g->hub[h]] = -1;
}

int ms_greedy(const ms_problem *p, const ms_live *live, int rule, double max_work, int *seq)
{
    hb_arena *arena = hb_arena_new();
    graph g = {.arena = arena, .n = p->n_vars, .rule = rule};
    int *log = HB_ARRAY(arena, int, g.n), n = 0;
    g.near = hb_alloc(arena, sizeof *g.near * (size_t)g.n);
    g.hubs = HB_ARRAY(arena, uint64_t, g.n);
    g.depth = HB_ARRAY(arena, int, g.n);
    g.stamp = HB_ARRAY(arena, int, g.n);
    g.last = HB_ARRAY(arena, entry, g.n);
    g.merged = HB_ARRAY(arena, int, g.n);
    g.met = HB_ARRAY(arena, int, g.n);
    g.beside = HB_ARRAY(arena, int, g.n);
    g.log = log;
    for (int v = 0; v < g.n; v++)
        log[v] = (int)lround(MS_LOG_UNIT * log2((double)live[v].n));
    link_up(&g, p, live);
    for (int v = 0; v < g.n; v++)
        if (live[v].n > 1 && !g.stamp[v]) rate(&g, v);
    while (g.heap.n) {
        entry e = pop(&g);
        int v = var_of(&e);
        if (g.stamp[v] != e.stamp) continue;
        if (too_much(&g, work_of(&g, live, v), max_work)) {
            hb_arena_free(arena);
            return -1;
        }
        seq[n++] = v;
        eliminate(&g, v);
    }
    for (int h = 0; h < g.n_hubs; h++)
        seq[n++] = g.hub[h];
    hb_arena_free(arena);
    return n;
}
