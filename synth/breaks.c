#include "synth/breaks.h"

#include <string.h>

#include "synth/schedule.h"

enum { LEAST_CAPTURED = 4 }; // calls

static bool any_gpu(const syn_program *p)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (p->cluster->cls[p->mesh->cluster_class[c]].kind == CL_GPU) return true;
    return false;
}

static bool is_push(const syn_instr *in)
{
    return in->kind == SYN_START && cost_is_push(in->form);
}

static bool *members(hb_arena *a, const syn_program *p)
{
    bool *in = HB_ARRAY(a, bool, p->instr.n + 1);
    for (int k = 0; k < p->pairs.n; k++)
        memset(in + p->pairs.p[k].first, true, sizeof *in * (size_t)p->pairs.p[k].len);
    return in;
}

static int *waits(hb_arena *a, const syn_program *p)
{
    int *of = HB_ARRAY(a, int, p->instr.n + 1);
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT) of[p->instr.p[i].start] = i;
    return of;
}

// Calls, waits of pushes among them, and collectives around one, until there are no more. Each pass
// is one over the program.
static bool *live_calls(hb_arena *a, const syn_program *p)
{
    int n = p->instr.n, *wait_of = waits(a, p), *before = HB_ARRAY(a, int, n + 1);
    bool *live = members(a, p);
    for (int i = 0; i < n; i++)
        live[i] = live[i] || is_push(&p->instr.p[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n; i++)
            before[i + 1] = before[i] + live[i];
        for (int i = 0; i < n; i++) {
            if (p->instr.p[i].kind != SYN_START || (live[i] && live[wait_of[i]])) continue;
            if (before[wait_of[i] + 1] == before[i]) continue;
            live[i] = live[wait_of[i]] = changed = true;
        }
    }
    return live;
}

// Whether a GPU is given anything to do.
static bool is_call(const syn_program *p, const syn_instr *in)
{
    return in->kind != SYN_OP ||
           !(p->f->joined[in->node] || ir_row(p->g->nodes.p[in->node].op)->flags & IR_ZERO_COPY);
}

bool *syn_breaks(hb_arena *a, const syn_program *p)
{
    if ((!p->has_sym && p->pairs.n == 0) || !any_gpu(p)) return NULL;
    const bool *live = live_calls(a, p);
    bool *first = HB_ARRAY(a, bool, p->instr.n + 1), behind = false;
    for (int i = 0, end; i < p->instr.n; i = end) {
        int calls = 0;
        for (end = i; end < p->instr.n && live[end] == live[i]; end++)
            calls += is_call(p, &p->instr.p[end]);
        bool captured = !live[i] && calls >= LEAST_CAPTURED;
        for (int k = i; k < end && captured && behind; k++)
            if (p->instr.p[k].kind == SYN_OP && is_call(p, &p->instr.p[k])) {
                first[k] = true;
                break;
            }
        behind = behind || captured;
    }
    return first;
}

// The first push or pair between a collective's start and its wait; n: none.
static int crossed(const syn_program *p, const int *next_live, int start, int wait)
{
    int at = next_live[start + 1];
    return at < wait ? at : p->instr.n;
}

void syn_wait_early(syn_program *p)
{
    if ((!p->has_sym && p->pairs.n == 0) || !any_gpu(p)) return;
    hb_arena *a = hb_arena_new();
    int n = p->instr.n, classes = p->mesh->n_classes, n_crossed = 0;
    const int *wait_of = waits(a, p);
    const bool *pair = members(a, p);
    int *next_live = HB_ARRAY(a, int, n + 2), *before = HB_ARRAY(a, int, n + 1);
    memset(before, -1, sizeof *before * (size_t)n);
    next_live[n] = next_live[n + 1] = n;
    for (int i = n - 1; i >= 0; i--) {
        bool begins = pair[i] ? i == 0 || !pair[i - 1] : is_push(&p->instr.p[i]);
        next_live[i] = begins ? i : next_live[i + 1];
    }
    for (int k = 0; k < p->pairs.n; k++) // one may follow another
        next_live[p->pairs.p[k].first] = p->pairs.p[k].first;
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START || pair[i] || is_push(in)) continue;
        n_crossed += crossed(p, next_live, i, wait_of[i]) < n;
    }
    if (n_crossed > 0) {
        double *reached = HB_ARRAY(a, double, n + 1), least = 0;
        cost_timeline t;
        syn_simulate_in(a, p, &t, true);
        for (int i = 0; i < n; i++) {
            reached[i + 1] = reached[i];
            bool shown = p->instr.p[i].kind == SYN_START;
            for (int c = 0; c < classes && !shown; c++)
                if (t.end[i * classes + c] > reached[i + 1])
                    reached[i + 1] = t.end[i * classes + c];
        }
        for (int c = 0; c < classes; c++) {
            double sec = cost_break(&p->cluster->cls[p->mesh->cluster_class[c]]);
            least = sec > least ? sec : least;
        }
        for (int i = 0; i < n; i++) {
            const syn_instr *in = &p->instr.p[i];
            if (in->kind != SYN_START || pair[i] || is_push(in)) continue;
            int at = crossed(p, next_live, i, wait_of[i]);
            if (at < n && t.end[i * classes] <= reached[at] + 2 * least) before[wait_of[i]] = at;
        }
        syn_reorder(p, before);
    }
    hb_arena_free(a);
}
