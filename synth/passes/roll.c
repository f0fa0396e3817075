// Loops: runs of the instruction list that repeat.
//
// With shapes interned, a loop of period P is a run where shape[i] == shape[i + P]. Where enough
// instructions meet their like P later, all runs are found by comparing the list with itself
// shifted by P; runs are taken greedily by the instructions they save. Of the places a loop may
// begin at (a run is rarely a whole number of periods) the one is taken that parts the fewest
// pairs, of these one where repetitions begin with a new layer; then every slot must hold one
// buffer in all repetitions, or a new one in each. Cost: pairs of equal shapes at most ROLL_MAX_LEN
// apart, and n compares for every P that is tried.

#include "synth/passes/roll.h"

#include <limits.h>
#include <string.h>

#include "synth/passes/arena_alias.h"
#include "synth/passes/fuse.h"
#include "synth/passes/overlap_pairs.h"
#include "synth/passes/roll_family.h"

typedef struct run {
    int from, to; // [from, to) repeats with period len
    int len;
} run;

static int saved(const run *x)
{
    int count = (x->to - x->from) / x->len;
    if (count < 2 || (count < ROLL_FEW_TIMES && x->len < ROLL_LONG)) return 0;
    int n = (count - 1) * x->len;
    return n < ROLL_SAVES ? 0 : n;
}

typedef struct finder {
    roll *r;
    HB_VEC(run) runs;
    bool *taken; // by instr
    int *layer;  // by instr, for the prefix at hand; -1 unknown
} finder;

// By distance up to `most`: how many instructions have their like so much later.
static int *count_pairs(const finder *f, int most)
{
    const int *s = f->r->shape;
    int n = f->r->p->instr.n;
    int *pairs = HB_ARRAY(f->r->arena, int, most + 1);
    int *next = HB_ARRAY(f->r->arena, int, n), *seen = HB_ARRAY(f->r->arena, int, n);
    for (int i = 0; i < n; i++)
        seen[i] = n; // shapes are numbered from 0, at most one an instruction
    for (int i = n - 1; i >= 0; i--) {
        next[i] = seen[s[i]];
        seen[s[i]] = i;
        for (int k = next[i]; k - i <= most && k < n; k = next[k])
            pairs[k - i]++;
    }
    return pairs;
}

static void find_runs(finder *f)
{
    const int *s = f->r->shape;
    int n = f->r->p->instr.n, most = n / 2 < ROLL_MAX_LEN ? n / 2 : ROLL_MAX_LEN;
    const int *same = count_pairs(f, most);
    for (int len = 1; len <= most; len++) {
        if (same[len] < len) continue;
        // What repeats twice meets its like at len places in a row, one of them a multiple of len.
        for (int i = 0, end = 0; i + len < n; i = i < end ? (end / len + 1) * len : i + len) {
            if (s[i] != s[i + len]) continue;
            run x = {i, i, len};
            while (x.from > end && s[x.from - 1] == s[x.from - 1 + len])
                x.from--;
            for (end = i; end + len < n && s[end] == s[end + len];)
                end++;
            x.to = end + len;
            if (saved(&x) > 0) HB_PUSH(f->r->arena, &f->runs, x);
        }
    }
}

// The largest part of a run that no loop has yet.
static run free_part(const finder *f, const run *x)
{
    run best = {x->from, x->from, x->len};
    for (int i = x->from; i < x->to;) {
        if (f->taken[i]) {
            i++;
            continue;
        }
        run y = {i, i, x->len};
        while (i < x->to && !f->taken[i])
            i++;
        y.to = i;
        if (y.to - y.from > best.to - best.from) best = y;
    }
    return best;
}

static hb_str node_name(const syn_program *p, int instr)
{
    return p->g->nodes.p[p->instr.p[instr].node].name;
}

// "transformer.h" of "transformer.h.3.ln_1" and "transformer.h.4.ln_1": what stands before the
// first part in which they differ, if that is a number in both. Empty: no such part.
static hb_str prefix_of(hb_str x, hb_str y)
{
    size_t part = 0, i = 0;
    while (i < x.n && i < y.n && x.p[i] == y.p[i]) {
        if (x.p[i++] == '.') part = i;
    }
    bool number = part > 0 && part < x.n && part < y.n && i < x.n && i < y.n;
    for (size_t k = part; number && k < x.n && x.p[k] != '.' && x.p[k] != '\''; k++)
        number = x.p[k] >= '0' && x.p[k] <= '9';
    for (size_t k = part; number && k < y.n && y.p[k] != '.' && y.p[k] != '\''; k++)
        number = y.p[k] >= '0' && y.p[k] <= '9';
    return number ? (hb_str){x.p, part - 1} : (hb_str){0};
}

// The prefix that most ops (or if all are collectives: most slots) agree on; the first of equals.
static hb_str loop_prefix(const finder *f, int first, int len, bool ops)
{
    hb_str seen[ROLL_PREFIXES] = {{0}};
    int votes[ROLL_PREFIXES] = {0}, n = 0, best = -1;
    for (int j = 0; j < len; j++) {
        if (ops && f->r->p->instr.p[first + j].kind != SYN_OP) continue;
        hb_str x = prefix_of(node_name(f->r->p, first + j), node_name(f->r->p, first + j + len));
        if (x.n == 0) continue;
        int k = 0;
        while (k < n && !hb_str_eq(seen[k], x))
            k++;
        if (k == ROLL_PREFIXES) continue;
        if (k == n) seen[n++] = x;
        votes[k]++;
        if (best < 0 || votes[k] > votes[best]) best = k;
    }
    if (best >= 0) return seen[best];
    return ops ? loop_prefix(f, first, len, false) : (hb_str){0};
}

static int layer_of(hb_str name, hb_str prefix)
{
    if (name.n <= prefix.n + 1 || memcmp(name.p, prefix.p, prefix.n) != 0 ||
        name.p[prefix.n] != '.')
        return -1;
    int n = -1;
    for (size_t i = prefix.n + 1;
         i < name.n && i <= prefix.n + ROLL_NUMBER && name.p[i] >= '0' && name.p[i] <= '9'; i++)
        n = (n < 0 ? 0 : n * 10) + (name.p[i] - '0');
    return n;
}

// Layers of all instructions of a run: that of the node, but a wait belongs to what stands behind
// it.
static void find_layers(finder *f, const run *x, hb_str prefix)
{
    int next = -1;
    for (int i = x->to - 1; i >= x->from; i--) {
        if (f->r->p->instr.p[i].kind != SYN_WAIT || next < 0)
            next = layer_of(node_name(f->r->p, i), prefix);
        f->layer[i] = next;
    }
}

// Repetitions that begin with a new layer and end in it, if the first begins `shift` behind the
// run's first.
static int clean_from(const finder *f, const run *x, int shift)
{
    int clean = 0, at = x->from + shift;
    for (; at + x->len <= x->to; at += x->len)
        clean += f->layer[at] >= 0 && (at == x->from || f->layer[at] != f->layer[at - 1]) &&
                 f->layer[at] == f->layer[at + x->len - 1];
    return clean;
}

// Pairs that lie in two repetitions or only partly in the loop, if the first begins at `at`.
static int parted(const finder *f, const run *x, int at)
{
    const syn_program *p = f->r->p;
    int n = 0, end = at + (x->to - at) / x->len * x->len;
    for (int i = 0; i < p->pairs.n; i++) {
        int from = p->pairs.p[i].first, last = from + p->pairs.p[i].len - 1;
        if (last < at || from >= end) continue;
        n += from < at || last >= end || (from - at) / x->len != (last - at) / x->len;
    }
    return n;
}

// Where the first repetition begins: where the fewest pairs are parted, and of these places where
// most repetitions are clean. One repetition is given up for parting fewer, or making all clean.
static int begin_at_layer(finder *f, const run *x, hb_str prefix)
{
    int count = (x->to - x->from) / x->len, slack = (x->to - x->from) % x->len, best = 0, most = -1,
        fewest = INT_MAX;
    if (prefix.n > 0) find_layers(f, x, prefix);
    for (int d = 0; d < slack + x->len; d++) {
        if (d > slack && ((most == count && fewest == 0) || count <= ROLL_FEW_TIMES)) break;
        int clean = prefix.n > 0 ? clean_from(f, x, d) : count, pairs = parted(f, x, x->from + d);
        if (pairs > fewest) continue;
        if (pairs == fewest && (clean <= most || (d > slack && clean < count - 1))) continue;
        most = clean;
        fewest = pairs;
        best = d;
    }
    return x->from + best;
}

static roll_life life_of(const roll *r, const syn_loop *l, int buffer)
{
    int end = l->first + l->count * l->len, birth = r->birth[buffer], death = r->death[buffer];
    if (birth < l->first) return ROLL_ANY;
    if (death < end) return ROLL_PASSING;
    return death - birth > ROLL_FEW * l->len ? ROLL_SAVED : ROLL_ANY;
}

// By repetition: the first that it may be in one loop with, as to how long what it makes lives.
static void alike_in_life(const finder *f, const syn_loop *l, int *low)
{
    for (int j = 0; j < l->len; j++) {
        const syn_instr *in = &f->r->p->instr.p[l->first + j];
        for (int s = 0; s < in->n_out && in->kind != SYN_WAIT; s++) {
            int behind[3] = {0}; // by life: behind the last repetition of the other
            for (int r = 0; r < l->count; r++) {
                roll_life life = life_of(f->r, l, roll_at(f->r->p, l, r, j, s));
                if (life == ROLL_PASSING) behind[ROLL_SAVED] = r + 1;
                if (life == ROLL_SAVED) behind[ROLL_PASSING] = r + 1;
                if (behind[life] > low[r]) low[r] = behind[life];
            }
        }
    }
}

// Repetitions [*from, *to) of l such that slot by slot all buffers are one or all differ, and live
// alike: the longest.
static void same_or_new(const finder *f, const syn_loop *l, int *from, int *to)
{
    const syn_program *p = f->r->p;
    int *last = HB_ARRAY(f->r->arena, int,
                         p->tensors.n + 1); // by buffer: mark + last repetition it was seen in
    int *low = HB_ARRAY(f->r->arena, int,
                        l->count); // by repetition: the first that it may be in one loop with
    int mark = 1;
    for (int j = 0; j < l->len; j++)
        for (int s = 0; s < roll_slots(&p->instr.p[l->first + j]); s++, mark += l->count) {
            int same = 0, new = 0;
            for (int r = 0; r < l->count; r++) {
                int t = roll_at(p, l, r, j, s);
                if (t < 0) break; // an operand that is absent in all
                if (r > 0 && t != roll_at(p, l, r - 1, j, s)) same = r;
                if (last[t] >= mark && last[t] - mark + 1 > new) new = last[t] - mark + 1;
                last[t] = mark + r;
                int first = same < new ? same : new;
                if (first > low[r]) low[r] = first;
            }
        }
    alike_in_life(f, l, low);
    *from = *to = 0;
    int first = 0;
    for (int r = 0; r < l->count; r++) {
        if (low[r] > first) first = low[r];
        if (r + 1 - first > *to - *from) {
            *from = first;
            *to = r + 1;
        }
    }
}

static void take(finder *f, const run *x)
{
    roll *r = f->r;
    hb_str prefix = loop_prefix(f, x->from, x->len, true);
    syn_loop l = {.first = begin_at_layer(f, x, prefix), .len = x->len};
    l.count = (x->to - l.first) / l.len;
    int from, to;
    same_or_new(f, &l, &from, &to);
    run left = {l.first + from * l.len, l.first + to * l.len, l.len};
    if (saved(&left) < (prefix.n ? 1 : ROLL_NAMELESS)) return;
    l.first = left.from;
    l.count = to - from;
    l.name = prefix.n ? hb_str_n(r->p->arena, prefix.p, prefix.n) : hb_str_c(r->p->arena, "block");
    for (int i = left.from; i < left.to; i++)
        f->taken[i] = true;
    HB_PUSH(r->p->arena, &r->p->loops, l);
    for (int i = 0; i < l.count * l.len; i++) {
        const syn_instr *in = &r->p->instr.p[l.first + i];
        for (int s = 0; s < in->n_out && in->kind != SYN_WAIT; s++)
            r->life[in->out[s]] = life_of(r, &l, in->out[s]);
    }
    // What is left on both sides may be loops of their own.
    run rest[2] = {{x->from, left.from, x->len}, {left.to, x->to, x->len}};
    for (int i = 0; i < 2; i++)
        if (saved(&rest[i]) > 0) HB_PUSH(r->arena, &f->runs, rest[i]);
}

static void sort_loops(syn_program *p)
{
    for (int i = 1; i < p->loops.n; i++)
        for (int k = i; k > 0 && p->loops.p[k].first < p->loops.p[k - 1].first; k--) {
            syn_loop x = p->loops.p[k];
            p->loops.p[k] = p->loops.p[k - 1];
            p->loops.p[k - 1] = x;
        }
}

// 1: the layers of loop k count upwards, -1: downwards. Without layer numbers: as in an earlier
// loop of as many repetitions that uses the same buffers.
static int direction(roll *r, int k)
{
    const syn_program *p = r->p;
    const syn_loop *l = &p->loops.p[k];
    int up = 0, down = 0;
    for (int j = 0; j < l->len; j++) {
        int x = layer_of(node_name(p, l->first + j), l->name),
            y = layer_of(node_name(p, l->first + j + l->len), l->name);
        up += x >= 0 && y > x;
        down += y >= 0 && y < x;
    }
    if (up + down > 0) return down > up ? -1 : 1;
    int *rep = HB_ARRAY(r->arena, int,
                        p->tensors.n + 1); // repetition + 1 of an earlier loop, in its direction
    for (int o = 0; o < k; o++) {
        const syn_loop *e = &p->loops.p[o];
        if (e->count != l->count) continue;
        for (int i = 0; i < e->count * e->len; i++) {
            const syn_instr *in = &p->instr.p[e->first + i];
            int at = e->dir > 0 ? i / e->len : e->count - 1 - i / e->len;
            for (int s = 0; s < roll_slots(in); s++)
                if (roll_slot(in, s) >= 0) rep[roll_slot(in, s)] = at + 1;
        }
    }
    for (int i = 0; i < l->count * l->len; i++) {
        const syn_instr *in = &p->instr.p[l->first + i];
        for (int s = 0; s < roll_slots(in); s++) {
            int at = roll_slot(in, s) < 0 ? 0 : rep[roll_slot(in, s)];
            if (at == 0) continue;
            up += at == i / l->len + 1;
            down += at == l->count - i / l->len;
        }
    }
    return down > up ? -1 : 1;
}

static void roll_loops(roll *r)
{
    syn_program *p = r->p;
    finder f = {.r = r,
                .taken = HB_ARRAY(r->arena, bool, p->instr.n + 1),
                .layer = HB_ARRAY(r->arena, int, p->instr.n + 1)};
    find_runs(&f);
    for (;;) { // shorter periods first among equals: the list is in order of len
        int best = -1, most = 0;
        for (int i = 0; i < f.runs.n; i++)
            if (saved(&f.runs.p[i]) > most) {
                most = saved(&f.runs.p[i]);
                best = i;
            }
        if (best < 0) break;
        run x = free_part(&f, &f.runs.p[best]);
        if (saved(&x) < most) { // part of it went to another loop: ask again
            f.runs.p[best] = x;
            continue;
        }
        f.runs.p[best].to = f.runs.p[best].from;
        take(&f, &x);
    }
    sort_loops(p);
    for (int k = 0; k < p->loops.n; k++)
        p->loops.p[k].dir = direction(r, k);
}

void syn_roll(syn_program *p)
{
    roll r = {.arena = hb_arena_new(), .p = p};
    arena_sums(p);
    p->loops.n = p->families.n = 0;
    for (int t = 0; t < p->tensors.n; t++)
        p->tensors.p[t].family = p->tensors.p[t].index = -1;
    r.birth = HB_ARRAY(r.arena, int, p->tensors.n + 1);
    r.death = HB_ARRAY(r.arena, int, p->tensors.n + 1);
    r.life = HB_ARRAY(r.arena, roll_life, p->tensors.n + 1);
    syn_lifetimes(p, r.birth, r.death);
    roll_shapes(&r);
    roll_loops(&r);
    roll_families(&r);
    hb_arena_free(r.arena);
    syn_pairs_of_loops(p);
    syn_fuse(p);
}
