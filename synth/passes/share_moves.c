// Equal conversions of one tensor, made once.
//
// Lowering brings each operand into the state that its reader wants, so a gradient that is cut is
// gathered once for dx and once for dw. The second conversion goes if nobody wrote the source or
// either result in between, and its readers take the first one's result, which then lives longer.
// How far apart the two may be is a matter of memory: everything is tried first (parameters
// gathered for forward and backward among it), then what stands side by side. The simulator
// decides.

#include "synth/passes/share_moves.h"

#include <limits.h>

#include "synth/passes/schedule.h"
#include "synth/plan/liveness.h"
#include "synth/plan/program_copy.h"
#include "synth/plan/search_limits.h"
#include "synth/price/simulate_plan.h"

typedef struct sharing {
    hb_arena *arena;
    syn_program *p;
    int *writes;   // by buffer: calls that write it, in the whole step
    int *version;  // by buffer: the same so far
    int *same;     // by buffer: which one stands for it
    int *last_use; // by buffer: the last instruction so far that makes or reads it
    bool *gone;    // by instr
} sharing;

static bool writes_outs(const syn_instr *in)
{
    return in->kind != SYN_WAIT;
}

// A conversion of one buffer that only this call makes.
static bool is_move(const sharing *s, const syn_instr *in)
{
    if (in->kind != SYN_START && in->kind != SYN_SLICE && in->kind != SYN_PARTIAL) return false;
    return in->n_in == 1 && in->n_out == 1 && s->writes[in->out[0]] == 1 &&
           s->p->tensors.p[in->out[0]].role == SYN_ROLE_VALUE;
}

// Equal for conversions of the same contents into the same state.
static hb_str key_of(const sharing *s, const syn_instr *in)
{
    const syn_state *x = &s->p->tensors.p[in->out[0]].state;
    hb_buf b = {.arena = s->arena};
    hb_printf(&b, "%d %d %d.%d %d %d %d %u", (int)in->turn, (int)in->kind, in->in[0],
              s->version[in->in[0]], (int)in->coll, (int)in->form, in->reduce_max, in->axes);
    for (int a = 0; a < s->p->mesh->n_axes; a++)
        hb_printf(&b, " %d %d %d %d %d", (int)x->ax[a].kind, (int)x->ax[a].dim, (int)x->ax[a].pos,
                  x->ax[a].cut, (int)x->ax[a].reducer);
    return hb_done(&b);
}

static int *renamed(sharing *s, const int *v, int n)
{
    int *w = HB_ARRAY(s->p->arena, int, n);
    for (int i = 0; i < n; i++)
        w[i] = v[i] < 0 ? v[i] : s->same[v[i]];
    return w;
}

static int find(sharing *s, int reach)
{
    syn_program *p = s->p;
    hb_map *known = hb_map_new(s->arena); // key -> instruction
    int n = 0;
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT) {
            s->gone[i] = s->gone[in->start];
            continue;
        }
        in->in = renamed(s, in->in, in->n_in);
        for (int k = 0; k < in->n_in; k++)
            if (in->in[k] >= 0) s->last_use[in->in[k]] = i;
        if (is_move(s, in)) {
            hb_str key = key_of(s, in);
            int first = hb_map_get(known, key), y = first < 0 ? -1 : p->instr.p[first].out[0];
            if (y >= 0 && i - s->last_use[y] <= reach &&
                p->tensors.p[y].sym == p->tensors.p[in->out[0]].sym) {
                s->same[in->out[0]] = y;
                s->gone[i] = true;
                n++;
                continue;
            }
            hb_map_put(known, key, i);
        }
        for (int k = 0; k < in->n_out && writes_outs(in); k++) {
            s->version[in->out[k]]++;
            s->last_use[in->out[k]] = i;
        }
    }
    return n;
}

static void remove_calls(sharing *s)
{
    syn_program *p = s->p;
    int *to = HB_ARRAY(s->arena, int, p->instr.n + 1), n = 0;
    for (int i = 0; i < p->instr.n; i++) {
        to[i] = n;
        if (s->gone[i]) continue;
        p->instr.p[n] = p->instr.p[i];
        if (p->instr.p[n].kind == SYN_WAIT) p->instr.p[n].start = to[p->instr.p[n].start];
        n++;
    }
    p->instr.n = n;
}

static void renumber(int *v, int n, const int *to)
{
    for (int i = 0; i < n; i++)
        if (v[i] >= 0) v[i] = to[v[i]];
}

// Buffers that nothing uses any more go.
static void remove_buffers(sharing *s)
{
    syn_program *p = s->p;
    bool *used = HB_ARRAY(s->arena, bool, p->tensors.n + 1);
    int *to = HB_ARRAY(s->arena, int, p->tensors.n + 1), n = 0;
    for (int t = 0; t < p->tensors.n; t++)
        used[t] =
            p->tensors.p[t].role != SYN_ROLE_VALUE && p->tensors.p[t].role != SYN_ROLE_SCRATCH;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        for (int k = 0; k < in->n_in; k++)
            if (in->in[k] >= 0) used[in->in[k]] = true;
        for (int k = 0; k < in->n_out; k++)
            used[in->out[k]] = true;
        if (in->kind == SYN_START && in->scratch >= 0) used[in->scratch] = true;
    }
    p->home = hb_copy(p->arena, p->home, sizeof *p->home * (size_t)p->g->tensors.n);
    p->grad = hb_copy(p->arena, p->grad, sizeof *p->grad * (size_t)p->g->tensors.n);
    for (int t = 0; t < p->g->tensors.n; t++) {
        if (p->grad[t] < 0) continue;
        p->grad[t] = s->same[p->grad[t]];
        used[p->grad[t]] = true;
    }
    if (p->loss >= 0) p->loss = s->same[p->loss];
    if (p->loss >= 0) used[p->loss] = true;
    for (int t = 0; t < p->tensors.n; t++) {
        to[t] = used[t] ? n : -1;
        if (used[t]) p->tensors.p[n++] = p->tensors.p[t];
    }
    p->tensors.n = n;
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        in->out = hb_copy(p->arena, in->out, sizeof *in->out * (size_t)in->n_out);
        renumber(in->in, in->kind == SYN_WAIT ? 0 : in->n_in, to);
        renumber(in->out, in->n_out, to);
        if (in->kind == SYN_START) renumber(&in->scratch, 1, to);
    }
    renumber(p->home, p->g->tensors.n, to);
    renumber(p->grad, p->g->tensors.n, to);
    renumber(&p->loss, 1, to);
}

// A collective whose result got an earlier reader is waited for in front of that one.
static void wait_in_time(sharing *s)
{
    syn_program *p = s->p;
    int n = p->instr.n, *reader = HB_ARRAY(s->arena, int, p->tensors.n + 1),
        *before = HB_ARRAY(s->arena, int, n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        reader[t] = INT_MAX;
    for (int i = n - 1; i >= 0; i--) {
        const syn_instr *in = &p->instr.p[i];
        before[i] = -1;
        for (int k = 0; k < in->n_in && in->kind != SYN_WAIT; k++)
            if (in->in[k] >= 0) reader[in->in[k]] = i;
    }
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_WAIT || p->instr.p[in->start].n_out != 1) continue;
        int first = reader[p->instr.p[in->start].out[0]];
        if (first < i && first > in->start) before[i] = first;
    }
    syn_reorder(p, before);
}

int syn_share_moves(syn_program *p, int reach)
{
    hb_arena *a = hb_arena_new();
    int n = p->tensors.n;
    sharing s = {.arena = a,
                 .p = p,
                 .writes = HB_ARRAY(a, int, n + 1),
                 .version = HB_ARRAY(a, int, n + 1),
                 .same = HB_ARRAY(a, int, n + 1),
                 .last_use = HB_ARRAY(a, int, n + 1),
                 .gone = HB_ARRAY(a, bool, p->instr.n + 1)};
    for (int t = 0; t < n; t++)
        s.same[t] = t;
    for (int i = 0; i < p->instr.n; i++)
        for (int k = 0; k < p->instr.p[i].n_out && writes_outs(&p->instr.p[i]); k++)
            s.writes[p->instr.p[i].out[k]]++;
    int found = find(&s, reach);
    if (found > 0) {
        remove_calls(&s);
        remove_buffers(&s);
        wait_in_time(&s);
    }
    hb_arena_free(a);
    return found;
}

syn_program *syn_with_shared_moves(syn_program *p)
{
    static const int reaches[] = {INT_MAX, SYN_SHARE_NEAR};
    hb_assert(p->pairs.n == 0 && p->fusions.n == 0 && p->loops.n == 0);
    double alone = -1, share = 0;
    for (int k = 0, before = 0; k < 2; k++) {
        hb_arena *a = hb_arena_new();
        cost_timeline t;
        syn_program *q = syn_program_copy(p->arena, p);
        int n = syn_share_moves(q, reaches[k]);
        bool better = n > 0 && n != before;
        before = n;
        if (better && alone < 0) {
            alone = syn_simulate_in(a, p, &t, false);
            share = syn_live_share(p, false);
        }
        better = better && syn_live_share(q, false) <= (share > SYN_ROOMY ? share : SYN_ROOMY) &&
                 syn_simulate_in(a, q, &t, false) <= alone * (1 + SYN_ROUNDING);
        hb_arena_free(a);
        if (better) return q;
        if (n == 0) break;
    }
    return p;
}
