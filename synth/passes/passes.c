#include "synth/passes/passes.h"

#include <string.h>

#include "synth/passes/arena_plan.h"
#include "synth/passes/bucket.h"
#include "synth/passes/fuse.h"
#include "synth/passes/overlap_pairs.h"
#include "synth/passes/pick_forms.h"
#include "synth/passes/port_order.h"
#include "synth/passes/roll.h"
#include "synth/passes/schedule.h"
#include "synth/passes/share_moves.h"
#include "synth/passes/wait_early.h"
#include "synth/passes/workspace.h"
#include "synth/plan/buffer_names.h"
#include "synth/plan/liveness.h"
#include "synth/plan/program_copy.h"
#include "synth/plan/program_print.h"
#include "synth/price/instr_cost.h"
#include "synth/price/simulate_plan.h"
#include "synth/price/transport.h"
#include "synth/space/lower.h"

static syn_program *lower(syn_making *x)
{
    x->program = syn_lower(x->arena, x->space, x->choice);
    syn_price_moves(x->program, x->costs);
    x->additive = syn_additive(x->space, x->program);
    const syn_options *o = x->space->opt;
    if (o->memory_first || o->wary) syn_workspace_expected(x->program);
    return x->program;
}

static syn_program *place_waits(syn_making *x)
{
    syn_receive_late(x->program);
    syn_weight_gradients w = x->space->opt->weights;
    if (w != SYN_WEIGHTS_AMONG) syn_gradients_first(x->program, w == SYN_WEIGHTS_APART);
    syn_sink_waits(x->program);
    return x->program;
}

static syn_program *bucket(syn_making *x)
{
    if (syn_strategy_of(x->space->strategy)->buckets)
        syn_bucket(x->program, x->costs, x->space->slack, x->buckets);
    return x->program;
}

static syn_program *spare_scratch(syn_making *x)
{
    if (x->program->has_sym && syn_live_share(x->program, false) > SYN_ROOMY)
        syn_spare_scratch(x->program, x->costs);
    return x->program;
}

// In the program's order where that is asked for, or nothing else fits and it holds less.
static void raise_in_some_order(syn_making *x)
{
    syn_program *p = x->program;
    hb_arena *a = hb_arena_new();
    size_t bytes = sizeof *p->instr.p * (size_t)p->instr.n;
    const syn_instr *was = hb_copy(a, p->instr.p, bytes);
    double share = syn_raise_starts(p, x->in_order) ? syn_live_share(p, false) : 0;
    x->in_order_less = false;
    if (share > SYN_ROOMY) {
        const syn_instr *ahead = hb_copy(a, p->instr.p, bytes);
        memcpy(p->instr.p, was, bytes);
        (void)syn_raise_starts(p, true);
        x->in_order_less = syn_live_share(p, false) < share * (1 - SYN_ROUNDING);
        if (!x->in_order_less || share <= 1) memcpy(p->instr.p, ahead, bytes);
    }
    hb_arena_free(a);
}

static syn_program *raise_starts(syn_making *x)
{
    raise_in_some_order(x);
    syn_send_first(x->program);
    x->share = syn_live_share(x->program, false);
    if (x->share > SYN_ROOMY && x->program->g->micro_batches > 1) {
        syn_behind_slot(x->program);
        x->share = syn_live_share(x->program, false);
    }
    return x->program;
}

static syn_program *limit_flight(syn_making *x)
{
    if (x->share <= SYN_ROOMY) return x->program;
    syn_limit_flight(x->program);
    x->share = syn_live_share(x->program, false);
    return x->program;
}

static syn_program *wait_early(syn_making *x)
{
    syn_wait_early(x->program);
    return x->program;
}

static syn_program *overlap(syn_making *x)
{
    x->paired = syn_with_pairs(x->program, x->costs, x->enough, &x->paired_sec);
    return x->paired ? x->paired : x->program;
}

static syn_program *fuse(syn_making *x)
{
    syn_fuse(x->program);
    return x->program;
}

static syn_program *simulate(syn_making *x)
{
    x->sec = syn_simulate(x->program, &x->timeline, false);
    return x->program;
}

// Only of the plan that wins and its rivals, so that the search compares what it always did. Ops
// are fused anew.
static syn_program *share_moves(syn_making *x)
{
    syn_program *p = x->program;
    int fusions = p->fusions.n;
    if (p->pairs.n > 0) return p; // a pair names its collective
    p->fusions.n = 0;
    syn_program *shared = syn_with_shared_moves(p);
    if (shared != p) {
        cost_timeline t;
        syn_fuse(shared);
        double sec = syn_simulate(shared, &t, false);
        if (sec <= x->sec * (1 + SYN_ROUNDING)) {
            x->sec = sec;
            x->timeline = t;
            return x->program = shared;
        }
    }
    p->fusions.n = fusions;
    return p;
}

// Only of these, too: a copy, if that is faster. What lies elsewhere may be no part of a fusion any
// more.
static syn_program *pick_forms(syn_making *x)
{
    syn_program *other = syn_program_copy(x->program->arena, x->program);
    cost_timeline t;
    if (!syn_pick_forms(other, x->costs)) return x->program;
    syn_fuse(other);
    double sec = syn_simulate(other, &t, false);
    if (sec >= x->sec) return x->program;
    x->sec = sec;
    x->timeline = t;
    return x->program = other;
}

// Of fusions and pairs those are left that loops allow: then the step is another.
static syn_program *roll_up(syn_making *x)
{
    syn_roll(x->program);
    return x->program->fusions.n + x->program->pairs.n > 0 ? simulate(x) : x->program;
}

static syn_program *memory(syn_making *x)
{
    syn_arena(x->program);
    return x->program;
}

const syn_pass syn_passes[SYN_N_PASSES] = {
    {"lower", lower, 'L'},
    {"place waits", place_waits, 'W'},
    {"bucket", bucket, 'B'},
    {"spare scratch", spare_scratch, 'C'},
    {"raise starts", raise_starts, 'S'},
    {"limit flight", limit_flight, 'F'},
    {"wait early", wait_early, 'E'},
    {"overlap", overlap, 'O'},
    {"fuse", fuse, 'K'},
    {"simulate", simulate, 'T'},
    {"share moves", share_moves, 'H'},
    {"pick forms", pick_forms, 'P'},
    {"roll", roll_up, 'R'},
    {"memory", memory, 'M'},
};

// What -d asks for is kept with the program: only the plan that wins is printed.
static void dump(const syn_making *x, syn_pass_id pass, syn_program *p)
{
    syn_program view = *p;
    hb_buf b = {.arena = p->arena};
    hb_printf(&b, "%.*s# after %s", HB_ARG(p->dumps), syn_passes[pass].name);
    if (pass == SYN_PASS_SIMULATE) hb_printf(&b, ": %.6g ms", x->sec * 1e3);
    hb_putc(&b, '\n');
    view.tensors.p = hb_copy(p->arena, p->tensors.p, sizeof *p->tensors.p * (size_t)p->tensors.n);
    syn_name_buffers(&view);
    syn_print(&b, &view);
    p->dumps = hb_done(&b);
}

void syn_passes_run(syn_making *x, syn_pass_id first, syn_pass_id last)
{
    for (int k = (int)first; k <= (int)last; k++) {
        syn_program *p = syn_passes[k].run(x);
        if (p->dump_after && strchr(p->dump_after, syn_passes[k].letter))
            dump(x, (syn_pass_id)k, p);
    }
}
