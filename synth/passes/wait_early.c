// Waits that go ahead of one-sided puts and pairs.
//
// A GPU replays a step as graphs. One-sided puts and pairs wait for numbers that grow from step to
// step and so run live between them, and with them whatever is under way beside one: its start and
// its wait break the step as well (runtime/cuda/step/cuda_capture.c). What has ended by then need
// not.

#include "synth/passes/wait_early.h"

#include "synth/passes/schedule.h"
#include "synth/price/simulate_plan.h"

// By instruction: a library's collective, to be waited for, alone; and the next call from there on
// that runs live, n if there is none.
typedef struct calls {
    bool *alone;
    int *wait_of, *next_live;
} calls;

static calls calls_of(hb_arena *a, const syn_program *p)
{
    int n = p->instr.n;
    calls c = {HB_ARRAY(a, bool, n), HB_ARRAY(a, int, n), HB_ARRAY(a, int, n + 1)};
    bool *live = HB_ARRAY(a, bool, n);
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT) c.wait_of[in->start] = i;
        live[i] = in->kind == SYN_START && cost_is_put(in->form);
        c.alone[i] = in->kind == SYN_START && !live[i];
    }
    for (int k = 0; k < p->pairs.n; k++) {
        const syn_pair *x = &p->pairs.p[k];
        for (int i = x->first; i < x->first + x->len; i++)
            live[i] = c.alone[i] = false;
        live[x->first] = true;
    }
    c.next_live[n] = n;
    for (int i = n - 1; i >= 0; i--)
        c.next_live[i] = live[i] ? i : c.next_live[i + 1];
    return c;
}

// By instruction: when the slowest class comes to it.
static double *reached(hb_arena *a, const syn_program *p, const cost_timeline *t)
{
    int n = p->instr.n, classes = p->mesh->n_classes;
    double *at = HB_ARRAY(a, double, n + 1);
    for (int i = 0; i < n; i++) {
        at[i + 1] = at[i];
        for (int c = 0; c < classes && p->instr.p[i].kind != SYN_START; c++)
            if (t->end[i * classes + c] > at[i + 1]) at[i + 1] = t->end[i * classes + c];
    }
    return at;
}

// What the start and the wait of a collective would break the step for.
static double two_breaks(const syn_program *p)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *x = &p->cluster->cls[p->mesh->cluster_class[c]];
        bool captured = x->kind == CL_GPU;
        double sec = captured ? cost_launch_overhead(x, true) - cost_launch_overhead(x, false) : 0;
        most = sec > most ? sec : most;
    }
    return 2 * most;
}

void syn_wait_early(syn_program *p)
{
    double breaks = two_breaks(p);
    if ((!p->has_sym && p->pairs.n == 0) || breaks <= 0) return;
    hb_arena *a = hb_arena_new();
    calls c = calls_of(a, p);
    int n = p->instr.n, crossing = 0, *before = HB_ARRAY(a, int, n + 1);
    for (int i = 0; i < n; i++) {
        before[i] = -1;
        crossing += c.alone[i] && c.next_live[i] < c.wait_of[i];
    }
    if (crossing > 0) {
        cost_timeline t;
        syn_simulate_in(a, p, &t, true);
        const double *when = reached(a, p, &t);
        for (int i = 0; i < n; i++) {
            int live = c.next_live[i];
            if (c.alone[i] && live < c.wait_of[i] &&
                t.end[i * p->mesh->n_classes] <= when[live] + breaks)
                before[c.wait_of[i]] = live;
        }
        syn_reorder(p, before);
    }
    hb_arena_free(a);
}
