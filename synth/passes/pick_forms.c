#include "synth/passes/pick_forms.h"

#include <math.h>
#include <stdlib.h>

#include "synth/price/simulate_plan.h"
#include "synth/price/transport.h"

// What moves the same.
typedef struct one_kind {
    int first;  // of the list
    double sec; // all of them
} one_kind;

typedef struct forms_picker {
    syn_program *p;
    const syn_costs *c;
    double sec, work;
    HB_VEC(int) of; // STARTs that may change
    uint64_t *key;  // of these: equal for those that move the same
    syn_instr *was;
    HB_VEC(one_kind) kinds;
} forms_picker;

static bool in_pair(const syn_program *p, int instr)
{
    for (int k = 0; k < p->pairs.n; k++)
        if (instr >= p->pairs.p[k].first && instr < p->pairs.p[k].first + p->pairs.p[k].len)
            return true;
    return false;
}

// The cheapest form of the other sort; the same form where there is none.
static cost_form other_form(const forms_picker *f, const syn_instr *in)
{
    hb_arena *a = hb_arena_new();
    cost_forms x;
    syn_move move = syn_move_of(in);
    syn_list_forms(f->c, &move, syn_transfers(a, f->p, in), in->n_in, &x);
    int best = -1;
    for (int i = 0; i < x.n; i++) {
        bool other = cost_is_put(x.form[i]) != cost_is_put(in->form) && isfinite(x.sec[i]) &&
                     x.form[i] != COST_TWO_LEVEL;
        if (other && (best < 0 || x.sec[i] < x.sec[best] * (1 - COST_ROUNDING))) best = i;
    }
    hb_arena_free(a);
    return best < 0 ? in->form : x.form[best];
}

static double step(forms_picker *f)
{
    cost_timeline t;
    hb_arena *a = hb_arena_new();
    f->work += f->p->instr.n;
    double sec = syn_simulate_in(a, f->p, &t, false);
    hb_arena_free(a);
    return sec;
}

// The other form for one of the list, or for all that move the same: whether the step is faster by
// that share.
static bool turn(forms_picker *f, int one, bool alone, double least)
{
    syn_program *p = f->p;
    int n_tensors = p->tensors.n, end = alone ? one + 1 : f->of.n;
    bool any = false;
    if (f->work >= SYN_FORMS_WORK) return false;
    for (int i = one; i < end; i++) {
        syn_instr *in = &p->instr.p[f->of.p[i]];
        f->was[i] = *in;
        if (f->key[i] != f->key[one]) continue;
        cost_form to = other_form(f, in);
        if (to == in->form) continue;
        in->scratch = -1; // what it had stays as it is, for the way back
        syn_set_form(p, f->c, in, to);
        any = true;
    }
    double sec = any ? step(f) : HUGE_VAL;
    if (sec < f->sec * (1 - least)) {
        f->sec = sec;
        return true;
    }
    for (int i = one; any && i < end; i++)
        p->instr.p[f->of.p[i]] = f->was[i];
    p->tensors.n = n_tensors;
    return false;
}

static int longer(const void *x, const void *y)
{
    const one_kind *a = x, *b = y;
    if (a->sec != b->sec) return a->sec < b->sec ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

// Those that move the same, what takes longest first.
static void list_kinds(forms_picker *f, hb_arena *a)
{
    hb_map *at = hb_map_new(a);
    f->key = HB_ARRAY(a, uint64_t, f->of.n + 1);
    for (int i = 0; i < f->of.n; i++) {
        const syn_instr *in = &f->p->instr.p[f->of.p[i]];
        f->key[i] = in->n_in == 1 ? syn_move_key(f->p, in) : (uint64_t)i;
        hb_str key = {(const char *)&f->key[i], sizeof f->key[i]};
        int k = hb_map_get(at, key);
        if (k < 0) {
            k = f->kinds.n;
            hb_map_put(at, key, k);
            HB_PUSH(a, &f->kinds, ((one_kind){.first = i}));
        }
        f->kinds.p[k].sec += in->sec[0];
    }
    if (f->kinds.n > 1) qsort(f->kinds.p, (size_t)f->kinds.n, sizeof *f->kinds.p, longer);
}

// Numbers of buffers that no other program shares: they change as scratch goes.
static void own_numbers(syn_program *p)
{
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        in->in = hb_copy(p->arena, in->in, sizeof *in->in * (size_t)in->n_in);
        in->out = hb_copy(p->arena, in->out, sizeof *in->out * (size_t)in->n_out);
    }
    size_t bytes = sizeof(int) * (size_t)p->g->tensors.n;
    p->home = hb_copy(p->arena, p->home, bytes);
    p->grad = hb_copy(p->arena, p->grad, bytes);
}

bool syn_pick_forms(syn_program *p, const syn_costs *c)
{
    hb_arena *a = hb_arena_new();
    forms_picker f = {.p = p, .c = c};
    f.sec = step(&f);
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_START && !in_pair(p, i)) HB_PUSH(a, &f.of, i);
    f.was = HB_ARRAY(a, syn_instr, f.of.n + 1);
    list_kinds(&f, a);
    bool any = false, better = true;
    while (better) {
        better = false;
        for (int k = 0; k < f.kinds.n; k++)
            better = turn(&f, f.kinds.p[k].first, false, SYN_ROUNDING) || better;
        for (int i = 0; i < f.of.n; i++)
            better = turn(&f, i, true, SYN_SAME_PLACE) || better;
        any = any || better;
    }
    if (any) {
        own_numbers(p);
        syn_drop_scratch(p);
        syn_place_sym(p);
    }
    hb_arena_free(a);
    return any;
}
