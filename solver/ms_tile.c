#include "solver/ms_tile.h"

#include <stdlib.h>
#include <string.h>

#include "solver/minsum_parts.h"
#include "solver/solver_limits.h"

// Variables stand in program order, so that the layers of a training step are a few *runs* of
// the list of variables (forward; backward, layers in reverse; update), each of equal *blocks*:
//
//     embed F0 F1 F2 ... F95 loss B95 ... B1 B0 U0 U1 ... U95
//
//   1. a variable is described by a hash of its domain, its unary's and its tables' pointers and
//      its neighbours' domains and unaries. A run is a run i with hash[i] == hash[i + period];
//   2. edges between runs say how their blocks correspond, so that every variable of a run
//      gets a layer;
//   3. the layers cut..cut + gone - 1 are taken out; an edge that led from a layer below into them
//      leads to the layer that is `gone` higher instead.

typedef struct run {
    int start, period, blocks;
    bool placed;
    int sign, zero; // layer = zero + sign * block
} run;

typedef struct tiling {
    hb_arena *arena;
    const ms_problem *p;
    uint64_t *hash;
    run s[MS_TILE_RUNS];
    int n;
    int *in, *layer; // by variable: its run, -1 none or not placed; its layer
    int cut, gone;
    int *small_of; // by variable of the whole, -1 taken out
} tiling;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void describe(tiling *t)
{
    const ms_problem *p = t->p;
    uint64_t *own = HB_ARRAY(t->arena, uint64_t, p->n_vars);
    t->hash = HB_ARRAY(t->arena, uint64_t, p->n_vars);
    for (int v = 0; v < p->n_vars; v++)
        t->hash[v] = own[v] = mix(mix(1, (uint64_t)p->domain[v]), address(p->unary[v]));
    for (int e = 0; e < p->n_edges; e++) {
        const ms_edge *g = &p->edge[e];
        uint64_t table = address(g->table);
        t->hash[g->a] += mix(mix(2, table), own[g->b]);
        t->hash[g->b] += mix(mix(3, table), own[g->a]);
    }
}

// --- runs ---

// The distances at which most variables are met again, ascending.
static int periods(const tiling *t, int *out, int most)
{
    int n = t->p->n_vars, n_out = 0, *count = HB_ARRAY(t->arena, int, n + 1);
    size_t slots = 16;
    while (slots < 2 * (size_t)n)
        slots *= 2;
    int *last = HB_ARRAY(t->arena, int, slots); // variable + 1 of a hash, 0: free; open addressing
    for (int v = 0; v < n; v++) {
        size_t i = mix(t->hash[v], 4) & (slots - 1);
        while (last[i] && t->hash[last[i] - 1] != t->hash[v])
            i = (i + 1) & (slots - 1);
        if (last[i]) count[v - (last[i] - 1)]++;
        last[i] = v + 1;
    }
    while (n_out < most) {
        int best = 0;
        for (int d = 1; d < n; d++)
            if (count[d] > count[best]) best = d;
        if (count[best] < MS_TILE_LEAST) break;
        count[best] = 0;
        int i = n_out++;
        for (; i > 0 && out[i - 1] > best; i--)
            out[i] = out[i - 1];
        out[i] = best;
    }
    return n_out;
}

static void find_runs(tiling *t)
{
    int n = t->p->n_vars, period[MS_TILE_RUNS], n_periods = periods(t, period, MS_TILE_RUNS);
    for (int k = 0; k < n_periods; k++) {
        int d = period[k];
        for (int i = 0; i + d < n; i++) {
            if (t->hash[i] != t->hash[i + d]) continue;
            int from = i;
            while (i + d < n && t->hash[i] == t->hash[i + d] && t->in[i] < 0 && t->in[i + d] < 0)
                i++;
            int blocks = (i - from) / d + 1;
            if (blocks < MS_TILE_LEAST || t->n == MS_TILE_RUNS) continue;
            t->s[t->n] = (run){.start = from, .period = d, .blocks = blocks};
            for (int v = from; v < from + blocks * d; v++)
                t->in[v] = t->n;
            t->n++;
            i = from + blocks * d - 1;
        }
    }
}

// A run may repeat several times a layer: take so many blocks of it as one.
static void join_blocks(tiling *t, int main)
{
    int layers = t->s[main].blocks;
    for (int k = 0; k < t->n; k++) {
        run *s = &t->s[k];
        int times = (s->blocks + layers / 2) / layers;
        if (times < 2) continue;
        s->period *= times;
        s->blocks /= times;
        for (int v = s->start + s->blocks * s->period; v < t->p->n_vars && t->in[v] == k; v++)
            t->in[v] = -1;
    }
}

static int block_of(const tiling *t, int v)
{
    const run *s = &t->s[t->in[v]];
    return (v - s->start) / s->period;
}

// --- layers ---

typedef struct range {
    int least, most;
} range;

static void widen(range *r, int x)
{
    r->least = x < r->least ? x : r->least;
    r->most = x > r->most ? x : r->most;
}

// Places the runs that meet a placed one in its middle blocks; whether there was any.
static bool place_more(tiling *t)
{
    const range none = {INT32_MAX, INT32_MIN};
    range sum[MS_TILE_RUNS], difference[MS_TILE_RUNS];
    for (int k = 0; k < t->n; k++)
        sum[k] = difference[k] = none;
    for (int e = 0; e < t->p->n_edges; e++) {
        int a = t->p->edge[e].a, b = t->p->edge[e].b;
        if (t->in[a] < 0 || t->in[b] < 0 || t->s[t->in[a]].placed == t->s[t->in[b]].placed)
            continue;
        if (!t->s[t->in[a]].placed) {
            int c = a;
            a = b;
            b = c;
        }
        const run *s = &t->s[t->in[a]];
        int i = block_of(t, a), j = block_of(t, b), l = s->zero + s->sign * i;
        if (i < s->blocks / 2 - MS_TILE_MIDDLE || i > s->blocks / 2 + MS_TILE_MIDDLE) continue;
        widen(&sum[t->in[b]], l + j);
        widen(&difference[t->in[b]], l - j);
    }
    bool any = false;
    for (int k = 0; k < t->n; k++) {
        if (t->s[k].placed || sum[k].least > sum[k].most) continue;
        bool up = difference[k].most - difference[k].least < sum[k].most - sum[k].least;
        range r = up ? difference[k] : sum[k];
        if (r.most - r.least > MS_TILE_SPREAD) continue;
        t->s[k].placed = any = true;
        t->s[k].sign = up ? 1 : -1;
        t->s[k].zero = r.least + (r.most - r.least) / 2;
    }
    return any;
}

// Gives variables their layers and chooses the cut; false if too few layers are common to all
// runs.
static bool place(tiling *t)
{
    int main = 0;
    for (int k = 1; k < t->n; k++)
        if (t->s[k].period * t->s[k].blocks > t->s[main].period * t->s[main].blocks) main = k;
    join_blocks(t, main);
    t->s[main].placed = true;
    t->s[main].sign = 1;
    while (place_more(t)) {}
    int low = 0, high = t->s[main].blocks;
    for (int k = 0; k < t->n; k++) {
        const run *s = &t->s[k];
        if (!s->placed) continue;
        int first = s->sign > 0 ? s->zero : s->zero - s->blocks + 1;
        low = first > low ? first : low;
        high = first + s->blocks < high ? first + s->blocks : high;
    }
    t->cut = low + MS_TILE_SIDE;
    t->gone = high - low - 2 * MS_TILE_SIDE;
    for (int v = 0; v < t->p->n_vars; v++) {
        if (t->in[v] < 0) continue;
        const run *s = &t->s[t->in[v]];
        if (s->placed)
            t->layer[v] = s->zero + s->sign * block_of(t, v);
        else
            t->in[v] = -1;
    }
    return high - low >= MS_TILE_LEAST;
}

// The variable of the same role `by` layers higher.
static int shifted(const tiling *t, int v, int by)
{
    if (t->in[v] < 0) return v;
    const run *s = &t->s[t->in[v]];
    int block = block_of(t, v) + s->sign * by;
    return block < 0 || block >= s->blocks ? -1 : v + s->sign * by * s->period;
}

// --- the small problem ---

typedef enum { BELOW, GONE, ABOVE, GLOBAL } place_of;

static place_of where(const tiling *t, int v)
{
    if (t->in[v] < 0) return GLOBAL;
    return t->layer[v] < t->cut ? BELOW : t->layer[v] < t->cut + t->gone ? GONE : ABOVE;
}

// A variable of no layer that meets layers to be taken out meets all of them, or else a run was
// missed.
static bool globals_meet_all(const tiling *t)
{
    int *met = HB_ARRAY(t->arena, int, t->p->n_vars);
    for (int e = 0; e < t->p->n_edges; e++) {
        int a = t->p->edge[e].a, b = t->p->edge[e].b;
        if (where(t, a) == GONE && where(t, b) == GLOBAL) met[b]++;
        if (where(t, b) == GONE && where(t, a) == GLOBAL) met[a]++;
    }
    for (int v = 0; v < t->p->n_vars; v++)
        if (met[v] > 0 && met[v] < t->gone) return false;
    return true;
}

static bool cut_vars(tiling *t, ms_tile *out)
{
    const ms_problem *p = t->p;
    if (!globals_meet_all(t)) return false;
    int *domain = HB_ARRAY(t->arena, int, p->n_vars);
    const double **unary = hb_alloc(t->arena, sizeof *unary * (size_t)p->n_vars);
    t->small_of = HB_ARRAY(t->arena, int, p->n_vars);
    out->like_var = HB_ARRAY(t->arena, int, p->n_vars);
    out->whole_var = HB_ARRAY(t->arena, int, p->n_vars);
    out->repeated = HB_ARRAY(t->arena, bool, p->n_vars);
    out->above = HB_ARRAY(t->arena, int, p->n_vars);
    out->global = HB_ARRAY(t->arena, bool, p->n_vars);
    for (int v = 0; v < p->n_vars; v++) {
        t->small_of[v] = -1;
        if (where(t, v) == GONE) continue;
        domain[out->small.n_vars] = p->domain[v];
        unary[out->small.n_vars] = p->unary[v];
        out->global[out->small.n_vars] = where(t, v) == GLOBAL;
        out->whole_var[out->small.n_vars] = v;
        out->above[out->small.n_vars] = -1;
        out->like_var[v] = t->small_of[v] = out->small.n_vars++;
    }
    for (int v = 0; v < p->n_vars; v++) {
        if (where(t, v) != GONE) continue;
        int like = shifted(t, v, t->cut - 1 - t->layer[v]);
        if (p->domain[like] != p->domain[v]) return false;
        out->like_var[v] = t->small_of[like];
        out->repeated[t->small_of[like]] = true;
        int above = shifted(t, like, t->gone + 1);
        if (above < 0) return false;
        out->above[t->small_of[like]] = t->small_of[above];
    }
    out->times = t->gone + 1;
    out->n_vars = p->n_vars;
    out->n_edges = p->n_edges;
    out->small.stop = p->stop;
    out->small.domain = domain;
    out->small.unary = unary;
    return true;
}

// The edge of the small problem that stands for e: its ends there, -1 none.
static void ends_in_small(const tiling *t, const ms_edge *e, int *a, int *b)
{
    int va = e->a, vb = e->b;
    place_of pa = where(t, va), pb = where(t, vb);
    if (pa == GONE || pb == GONE) {
        // The lower end, if it is taken out, moves to the layer below the cut; the other end with
        // it, and over the gap if it lands there.
        int low = pa == GLOBAL                  ? t->layer[vb]
                  : pb == GLOBAL                ? t->layer[va]
                  : t->layer[va] < t->layer[vb] ? t->layer[va]
                                                : t->layer[vb];
        int by = low < t->cut ? 0 : t->cut - 1 - low;
        va = shifted(t, va, by);
        vb = shifted(t, vb, by);
        if (va >= 0 && where(t, va) == GONE) va = shifted(t, va, t->gone);
        if (vb >= 0 && where(t, vb) == GONE) vb = shifted(t, vb, t->gone);
    }
    *a = va < 0 ? -1 : t->small_of[va];
    *b = vb < 0 ? -1 : t->small_of[vb];
}

// The id of the edge of the small problem that stands for e, a new one if there is none; -1 if its
// ends have nobody to stand for them.
static int find_edge(const tiling *t, ms_keys *known, const ms_edge *e)
{
    int a, b;
    ends_in_small(t, e, &a, &b);
    if (a < 0 || b < 0) return -1;
    uint64_t table = address(e->table);
    uint32_t key[4] = {(uint32_t)a, (uint32_t)b, (uint32_t)table, (uint32_t)(table >> 32)};
    bool is_new;
    return ms_key_id(known, key, 4, &is_new);
}

static bool cut_edges(tiling *t, ms_tile *out)
{
    const ms_problem *p = t->p;
    ms_edge *edge = HB_ARRAY(t->arena, ms_edge, p->n_edges + 1);
    ms_keys *known = ms_keys_new(t->arena);
    out->like_edge = HB_ARRAY(t->arena, int, p->n_edges + 1);
    out->whole_edge = HB_ARRAY(t->arena, int, p->n_edges + 1);
    for (int pass = 0; pass < 2; pass++) // edges of the small problem, then those taken out
        for (int e = 0; e < p->n_edges; e++) {
            const ms_edge *g = &p->edge[e];
            place_of pa = where(t, g->a), pb = where(t, g->b);
            bool goes = (pa == GONE && pb != BELOW) || (pb == GONE && pa != BELOW);
            if (goes != (pass == 1)) continue;
            int id = find_edge(t, known, g);
            if (goes) {
                out->like_edge[e] = id < out->small.n_edges ? id : -1;
                continue;
            }
            if (id < 0) return false;
            out->like_edge[e] = id;
            if (id < out->small.n_edges) continue;
            int a, b;
            ends_in_small(t, g, &a, &b);
            if (out->small.domain[a] != p->domain[g->a] || out->small.domain[b] != p->domain[g->b])
                return false;
            out->whole_edge[out->small.n_edges] = e;
            edge[out->small.n_edges++] = (ms_edge){a, b, g->table};
        }
    out->small.edge = edge;
    out->next = HB_ARRAY(t->arena, int, out->small.n_edges + 1);
    for (int k = 0; k < out->small.n_edges; k++)
        out->next[k] = -1;
    for (int e = 0; e < p->n_edges; e++) { // those that end at the layer below the cut
        const ms_edge *g = &p->edge[e];
        if (t->in[g->a] < 0 || t->in[g->b] < 0 ||
            t->layer[g->a] + t->layer[g->b] != 2 * t->cut - 3 ||
            abs(t->layer[g->a] - t->layer[g->b]) != 1)
            continue;
        int a = shifted(t, g->a, 1), b = shifted(t, g->b, 1);
        int id = find_edge(t, known, &(ms_edge){a, b, g->table});
        if (id < out->small.n_edges && out->like_edge[e] >= 0) out->next[out->like_edge[e]] = id;
    }
    return true;
}

ms_tile *ms_tile_find(hb_arena *a, const ms_problem *p)
{
    tiling t = {.arena = a, .p = p};
    t.in = HB_ARRAY(a, int, p->n_vars + 1);
    t.layer = HB_ARRAY(a, int, p->n_vars + 1);
    for (int v = 0; v < p->n_vars; v++)
        t.in[v] = -1;
    describe(&t);
    find_runs(&t);
    if (t.n == 0 || !place(&t)) return NULL;
    ms_tile *out = HB_NEW(a, ms_tile);
    return cut_vars(&t, out) && cut_edges(&t, out) ? out : NULL;
}

ms_tile *ms_tile_again(hb_arena *a, const ms_tile *like, const ms_problem *p)
{
    if (p->n_vars != like->n_vars || p->n_edges != like->n_edges) return NULL;
    ms_tile *t = hb_copy(a, like, sizeof *like);
    int n = t->small.n_vars, *domain = HB_ARRAY(a, int, n);
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)n);
    ms_edge *edge = hb_copy(a, like->small.edge, sizeof *edge * (size_t)t->small.n_edges);
    for (int v = 0; v < n; v++) {
        domain[v] = p->domain[t->whole_var[v]];
        unary[v] = p->unary[t->whole_var[v]];
    }
    for (int v = 0; v < p->n_vars; v++)
        if (p->domain[v] != domain[t->like_var[v]] || p->unary[v] != unary[t->like_var[v]])
            return NULL;
    for (int k = 0; k < t->small.n_edges; k++)
        edge[k].table = p->edge[t->whole_edge[k]].table;
    for (int e = 0; e < p->n_edges; e++)
        if (t->like_edge[e] >= 0 && p->edge[e].table != edge[t->like_edge[e]].table) return NULL;
    t->small.domain = domain;
    t->small.unary = unary;
    t->small.edge = edge;
    return t;
}
