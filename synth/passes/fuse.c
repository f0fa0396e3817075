// Fusions are grown greedily: from an instruction that may begin one, over those behind it in the
// same run without communication. One that fits joins if it shares a value with the fusion. What is
// passed over and stands in its way joins before it, if all of that fits: another operand, made
// again for the backward pass. An instruction that nothing joins goes down to its first reader, if
// that may be fused with it: the gate of an MLP, past the matmul beside it. Time is linear in
// instructions, SYN_FUSE_REACH at most for each, and for each of these.

#include "synth/passes/fuse.h"

#include <stdlib.h>
#include <string.h>

#include "synth/plan/fusion_parts.h"

typedef struct fuser {
    hb_arena *arena;
    syn_program *p;
    int *uses;    // by buffer: operands that read it in the whole step
    int *last;    // by buffer: the last instruction that reads it, found once; -1: none
    bool *paired; // by instruction
} fuser;

// --- runs ---

static bool writes(const syn_instr *x, int t)
{
    for (int i = 0; i < x->n_out; i++)
        if (x->out[i] == t) return true;
    return false;
}

static bool in_the_way(const syn_instr *x, const syn_instr *y)
{
    for (int i = 0; i < y->n_in; i++)
        if (y->in[i] >= 0 && writes(x, y->in[i])) return true;
    for (int i = 0; i < y->n_out; i++) {
        if (writes(x, y->out[i])) return true;
        for (int k = 0; k < x->n_in; k++)
            if (x->in[k] == y->out[i]) return true;
    }
    return false;
}

// How many places of order[] x, which stands at k, can go down to stand before its first reader and
// be fused with it; 0 if that may not be, or would keep what x reads in memory for longer.
static int sinks(const fuser *f, int first, int n, const int *order, int k)
{
    const syn_program *p = f->p;
    const syn_instr *in = &p->instr.p[first], *x = &in[order[k]];
    int j = k + 1;
    while (j < n && j <= k + SYN_FUSE_REACH && !in_the_way(x, &in[order[j]]))
        j++;
    if (j == n || j > k + SYN_FUSE_REACH || !syn_may_fuse(p, &in[order[j]])) return 0;
    syn_parts s = {.domain = -1};
    if (!syn_parts_take(p, &s, x, 0) || !syn_parts_share(&s, &in[order[j]]) ||
        !syn_parts_take(p, &s, &in[order[j]], 1))
        return 0;
    for (int i = 0; i < x->n_in; i++)
        if (x->in[i] >= 0 && p->tensors.p[x->in[i]].role == SYN_ROLE_VALUE &&
            f->last[x->in[i]] <= first + order[j])
            return 0;
    return j - k - 1;
}

// A fusion as it grows: `members` instructions from place `at` of order[].
typedef struct growing {
    int at, members;
    syn_parts parts;
} growing;

// The instruction at place j joins, with those passed over that stand in its way, or none does.
static bool grow(const fuser *f, const syn_instr *in, int *order, growing *g, int j)
{
    const syn_program *p = f->p;
    const int behind = g->at + g->members;
    int place[SYN_MAX_FUSION], n = 0; // of those that join, the last first
    syn_parts s = g->parts;
    if (!syn_parts_share(&s, &in[order[j]])) return false;
    for (int i = j; i >= behind; i--) {
        bool joins = i == j;
        for (int k = 0; k < n && !joins; k++)
            joins = in_the_way(&in[order[i]], &in[order[place[k]]]);
        if (!joins) continue;
        if (g->members + n == SYN_MAX_FUSION || !syn_may_fuse(p, &in[order[i]])) return false;
        place[n++] = i;
    }
    for (int k = n - 1, member = g->members; k >= 0; k--, member++)
        if (!syn_parts_take(p, &s, &in[order[place[k]]], member)) return false;
    for (int k = n - 1, to = behind; k >= 0; k--, to++) { // places before it stay as they are
        int next = order[place[k]];
        memmove(&order[to + 1], &order[to], (size_t)(place[k] - to) * sizeof *order);
        order[to] = next;
    }
    g->members += n;
    g->parts = s;
    return true;
}

// Fusions of the n instructions from `first` on, none of them a collective's. order[k]: which of
// them stands at place k. Returns how many; their places and lengths are in at and len.
static int find_fusions(const fuser *f, int first, int n, int *order, int *at, int *len)
{
    const syn_program *p = f->p;
    const syn_instr *in = &p->instr.p[first];
    int found = 0;
    for (int k = 0; k < n; k++)
        order[k] = k;
    for (int k = 0; k < n; k++) {
        growing g = {.at = k, .members = 1, .parts = {.domain = -1}};
        if (!syn_may_fuse(p, &in[order[k]]) || !syn_parts_take(p, &g.parts, &in[order[k]], 0))
            continue;
        for (int j = k + 1;
             j < n && j <= k + g.members + SYN_FUSE_REACH && g.members < SYN_MAX_FUSION; j++)
            (void)grow(f, in, order, &g, j);
        const int members = g.members;
        int down = members == 1 ? sinks(f, first, n, order, k) : 0;
        if (down > 0) { // and look again at what comes up here
            int x = order[k];
            memmove(&order[k], &order[k + 1], (size_t)down * sizeof *order);
            order[k-- + down] = x;
        }
        if (members == 1) continue;
        at[found] = k;
        len[found++] = members;
        k += members - 1;
    }
    return found;
}

static void add_fusions(fuser *f, int first, int n, const int *order, int found, const int *at,
                        const int *len)
{
    syn_program *p = f->p;
    syn_instr *old = hb_copy(f->arena, &p->instr.p[first], sizeof *old * (size_t)n);
    for (int k = 0; k < n; k++)
        p->instr.p[first + k] = old[order[k]];
    for (int k = 0; k < found; k++)
        HB_PUSH(p->arena, &p->fusions, (syn_fusion){.first = first + at[k], .len = len[k]});
}

// A run of n instructions that stands `count` times, `step` apart: grouped alike, or not.
static void fuse_run(fuser *f, int first, int n, int step, int count)
{
    int *order = HB_ARRAY(f->arena, int, n), *at = HB_ARRAY(f->arena, int, n),
        *len = HB_ARRAY(f->arena, int, n), *order_2 = HB_ARRAY(f->arena, int, n),
        *at_2 = HB_ARRAY(f->arena, int, n), *len_2 = HB_ARRAY(f->arena, int, n);
    size_t bytes = sizeof(int) * (size_t)n;
    int found = find_fusions(f, first, n, order, at, len);
    for (int r = 1; r < count && found > 0; r++) {
        int again = find_fusions(f, first + r * step, n, order_2, at_2, len_2);
        size_t used = sizeof(int) * (size_t)found;
        if (again != found || memcmp(order, order_2, bytes) != 0 || memcmp(at, at_2, used) != 0 ||
            memcmp(len, len_2, used) != 0)
            return;
    }
    for (int r = 0; r < count && found > 0; r++)
        add_fusions(f, first + r * step, n, order, found, at, len);
}

// "transformer.h.3" of "transformer.h.3.ln_1"; empty: in no numbered layer.
static hb_str layer_of(const syn_program *p, int instr)
{
    hb_str s = p->g->nodes.p[p->instr.p[instr].node].name;
    for (size_t i = 0, from = 0; i <= s.n; i++) {
        bool ends = i == s.n || s.p[i] == '.' || s.p[i] == '\'';
        if (!ends) continue;
        bool number = i > from;
        for (size_t k = from; k < i; k++)
            number = number && s.p[k] >= '0' && s.p[k] <= '9';
        if (number) return (hb_str){s.p, i};
        from = i + 1;
    }
    return (hb_str){0};
}

// A name holds its layer's, and no number stands before that.
static bool in_layer(const syn_program *p, int instr, hb_str layer)
{
    hb_str s = p->g->nodes.p[p->instr.p[instr].node].name;
    if (layer.n == 0) return layer_of(p, instr).n == 0;
    return s.n >= layer.n && memcmp(s.p, layer.p, layer.n) == 0 &&
           (s.n == layer.n || s.p[layer.n] == '.' || s.p[layer.n] == '\'');
}

// What the backward pass makes again would be kept until then, if it were made with what is read
// forward.
static bool in_phase(const syn_program *p, int instr, int other)
{
    return p->g->nodes.p[p->instr.p[instr].node].phase ==
           p->g->nodes.p[p->instr.p[other].node].phase;
}

// An op, of no pair.
static bool is_free(const fuser *f, int i)
{
    return f->p->instr.p[i].kind == SYN_OP && !f->paired[i];
}

static void fuse_range(fuser *f, int from, int to, int step, int count)
{
    const syn_program *p = f->p;
    for (int i = from; i < to;) {
        if (!is_free(f, i)) {
            i++;
            continue;
        }
        int first = i++;
        hb_str layer = layer_of(p, first);
        while (i < to && is_free(f, i) && in_layer(p, i, layer) && in_phase(p, i, first) &&
               p->instr.p[i].turn == p->instr.p[first].turn)
            i++;
        if (i - first > 1) fuse_run(f, first, i - first, step, count);
    }
}

static int by_place(const void *x, const void *y)
{
    const syn_fusion *a = x, *b = y;
    return a->first - b->first;
}

static void find_last(fuser *f)
{
    const syn_program *p = f->p;
    f->last = HB_ARRAY(f->arena, int, p->tensors.n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        f->last[t] = -1;
    for (int i = 0; i < p->instr.n; i++)
        for (int k = 0; k < p->instr.p[i].n_in; k++)
            if (p->instr.p[i].in[k] >= 0) f->last[p->instr.p[i].in[k]] = i;
}

static void count_uses(fuser *f)
{
    const syn_program *p = f->p;
    f->uses = HB_ARRAY(f->arena, int, p->tensors.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        for (int k = 0; k < p->instr.p[i].n_in; k++)
            if (p->instr.p[i].in[k] >= 0) f->uses[p->instr.p[i].in[k]]++;
    for (int t = 0; t < p->g->tensors.n; t++)
        if (p->keep_grads && p->grad[t] >= 0) f->uses[p->grad[t]]++;
    if (p->loss >= 0) f->uses[p->loss]++;
}

static void find_kept(fuser *f, syn_fusion *g)
{
    const syn_program *p = f->p;
    for (int m = 0; m < g->len; m++) {
        const syn_instr *in = &p->instr.p[g->first + m];
        for (int o = 0; o < in->n_out; o++) {
            int left = f->uses[in->out[o]];
            bool home = p->tensors.p[in->out[o]].role != SYN_ROLE_VALUE;
            for (int k = m + 1; k < g->len; k++)
                for (int i = 0; i < p->instr.p[g->first + k].n_in; i++)
                    left -= p->instr.p[g->first + k].in[i] == in->out[o];
            if (left > 0 || home) g->kept[m] |= (uint8_t)(1u << o);
        }
    }
}

// What one repetition keeps, all keep.
static void keep_alike(syn_program *p)
{
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *loop = &p->loops.p[l];
        for (int pass = 0; pass < 2; pass++) // gathers in the first repetition, spreads from it
            for (int g = 0; g < p->fusions.n; g++) {
                syn_fusion *x = &p->fusions.p[g], *y = x;
                int off = x->first - loop->first;
                if (off < 0 || off >= loop->len * loop->count) continue;
                while (y->first > loop->first + off % loop->len)
                    y--;
                for (int m = 0; m < x->len; m++)
                    *(pass ? &x->kept[m] : &y->kept[m]) |= pass ? y->kept[m] : x->kept[m];
            }
    }
}

void syn_name_kernels(syn_program *const *p, int n)
{
    hb_arena *a = hb_arena_new();
    hb_map *known = hb_map_new(a);
    int kernels = 0;
    for (int i = 0; i < n; i++)
        for (int g = 0; g < p[i]->fusions.n; g++) {
            hb_str text = syn_fusion_text(a, p[i], &p[i]->fusions.p[g]);
            int k = hb_map_get(known, text);
            if (k < 0) hb_map_put(known, text, k = kernels++);
            p[i]->fusions.p[g].kernel = k;
        }
    hb_arena_free(a);
}

static bool any_gpu(const syn_program *p)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (p->cluster->cls[p->mesh->cluster_class[c]].kind == CL_GPU) return true;
    return false;
}

void syn_fuse(syn_program *p)
{
    p->fusions.n = 0;
    if (!any_gpu(p)) return;
    fuser f = {.arena = hb_arena_new(), .p = p};
    f.paired = HB_ARRAY(f.arena, bool, p->instr.n + 1);
    for (int k = 0; k < p->pairs.n; k++)
        for (int i = 0; i < p->pairs.p[k].len; i++)
            f.paired[p->pairs.p[k].first + i] = true;
    find_last(&f);
    int at = 0;
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *loop = &p->loops.p[l];
        fuse_range(&f, at, loop->first, 0, 1);
        fuse_range(&f, loop->first, loop->first + loop->len, loop->len, loop->count);
        at = loop->first + loop->len * loop->count;
    }
    fuse_range(&f, at, p->instr.n, 0, 1);
    if (p->fusions.n > 1) qsort(p->fusions.p, (size_t)p->fusions.n, sizeof *p->fusions.p, by_place);
    count_uses(&f);
    for (int g = 0; g < p->fusions.n; g++)
        find_kept(&f, &p->fusions.p[g]);
    keep_alike(p);
    hb_arena_free(f.arena);
}
