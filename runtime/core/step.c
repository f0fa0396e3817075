// The loop around a step: rehearses, loads, schedules, reports, saves, evaluates; when to stop.
//
// A rehearsal is a pass of the loop's body that is no step: the program's own calls on the rows of
// the first batch, at a learning rate of 0, with numbers that stand in for parameters. A backend
// asks for as many as it takes until all is there that it finds at the calls themselves (plans,
// memory, captured graphs). Nothing of them stays: the segments are cleared, then everything is
// loaded, and step and cursor have not moved.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/backend.h"
#include "core/call_sum.h"
#include "core/checkpoint.h"
#include "core/comm.h"
#include "core/evaluate.h"
#include "core/fail.h"
#include "core/float16.h"
#include "core/heartbeat.h"
#include "core/inputs.h"
#include "core/learning_rate.h"
#include "core/nan_check.h"
#include "core/pace.h"
#include "core/report.h"
#include "core/stage_vars.h"
#include "core/trace.h"

static void begin(hap_rank *r)
{
    char why[512] = "";
    r->file = NULL;
    r->line = 0;
    HAP_CK(r, r->seg_bytes[SEG_SYM] >= 0, "the program declares no segments");
    hap_share_vars(r);
    hap_checkpoint_check(r, why, sizeof why);
    hap_agree(r, HAP_EXIT_INPUT, why);
    hap_inputs_open(r);
    if (r->opt.steps > 0) r->rehearsals = hap_backend_rehearsals(r);
    r->step_start = hap_seconds();
    if (r->rehearsals > 0) hap_checkpoint_stand_in(r);
}

static void end_rehearsals(hap_rank *r)
{
    r->rehearsal = 0;
    hap_beat(r, "load");
    if (r->opt.verbose)
        fprintf(stderr, "rank %d rehearsed %d times in %.3f s\n", r->id, r->rehearsals,
                hap_seconds() - r->step_start);
    hap_comm_barrier(r); // nobody writes into others' segments any more
    hap_backend_clear(r);
}

static void load(hap_rank *r)
{
    if (r->rehearsals > 0) end_rehearsals(r);
    hap_checkpoint_load(r);
    if (r->opt.epochs) { // those that are left, in whole steps
        int64_t left = r->opt.epochs * r->samples - r->cursor;
        r->opt.steps = left > 0 ? left / r->batch_rows : 0;
    }
    r->end_step = r->now.step + r->opt.steps;
    r->loaded = true;
    hap_report_start(r);
    if (r->opt.trace) hap_trace_start(r);
}

static bool read_loss(hap_rank *r, double *loss)
{
    if (!r->loss) return false;
    void *p = hap_backend_open(r, r->loss, false);
    *loss = r->loss->type == HAP_F32 ? (double)*(const float *)p
                                     : (double)hap_bf16_to_f32(*(const uint16_t *)p);
    hap_backend_close(r, r->loss, p, false);
    return true;
}

// What one stage finds, for all: that of the last rank that has it.
static bool share(hap_rank *r, bool has, double *x)
{
    if (r->n_stages < 2) return has;
    int root = hap_comm_max(r, has ? r->id : -1);
    if (root >= 0) hap_comm_broadcast_of(r, root, x, sizeof *x);
    return root >= 0;
}

// The loss is whole on every rank, so all see it; rank 0 speaks.
static _Noreturn void not_finite(hap_rank *r, double loss)
{
    char why[128] = "";
    r->line = 0;
    if (r->id == 0)
        snprintf(why, sizeof why, "step %lld: the loss is %s%s", (long long)r->now.step,
                 isnan(loss) ? "not a number" : "infinite",
                 isnan(loss) && !r->opt.check_nan ? " (--check-nan finds what makes it so)" : "");
    hap_agree(r, HAP_EXIT_FAILED, why);
    hap_fail(r, HAP_EXIT_FAILED, "the loss is not finite on this rank alone");
}

static void end_pass(hap_rank *r)
{
    hap_event *open = hap_backend_pending(r);
    if (open)
        hap_fail(r, HAP_EXIT_FAILED, "the collective started at program.c:%d is never waited for",
                 hap_event_line(open));
    HAP_CK(r, !r->pair.open, "the pair begun at program.c:%d is not ended", r->pair.line);
    bool another = r->loaded && !r->evaluating && r->steps_done + 1 < r->opt.steps;
    if (another) hap_inputs_ahead(r);
    hap_backend_sync(r);
    r->in_step = false;
}

// What this rank called is what all of its stage did, and what program.c says (--calls).
static void compare_calls(hap_rank *r)
{
    char why[200] = "";
    uint64_t want = r->call_sum;
    r->summing = false;
    for (int s = 0; s < (r->n_stages > 1 ? r->n_stages : 1); s++) {
        uint64_t first = r->call_sum;
        hap_comm_broadcast_of(r, r->n_stages > 1 ? hap_stage_leader(r, s) : 0, &first,
                              sizeof first);
        if (s == r->stage) want = first;
    }
    if (r->opt.calls) want = hap_calls_wanted(&r->opt, r->stage);
    if (want != r->call_sum)
        snprintf(why, sizeof why,
                 "rank %d%s%s: its calls in step %lld are not those of %s: does this host have "
                 "another copy of the program?",
                 r->id, r->host[0] != '-' ? " host " : "", r->host[0] != '-' ? r->host : "",
                 (long long)r->now.step, r->opt.calls ? "program.c" : "the first rank");
    hap_agree(r, HAP_EXIT_FAILED, why);
}

static void end_step(hap_rank *r)
{
    double loss = 0;
    end_pass(r);
    double seconds = hap_seconds() - r->step_start;
    if (r->opt.pace) hap_pace_step(r, r->own_sec, seconds);
    bool saves = r->opt.save_every && (r->now.step + 1) % r->opt.save_every == 0;
    int asked = hap_comm_vote_end(r);
    r->stopped = asked == HAP_STOP_NOW;
    r->moves = asked == HAP_STOP_SAVED && (saves || !r->opt.save_every);
    if (r->summing) compare_calls(r);
    bool has_loss = share(r, read_loss(r, &loss), &loss);
    if (has_loss && !isfinite(loss)) not_finite(r, loss);
    r->norm = hap_backend_norm(r);
    share(r, r->norm >= 0, &r->norm);
    if (r->trace) {
        hap_backend_trace(r);
        hap_trace_add(r, HAP_TRACE_STEPS, "step", (int)r->now.step, r->step_start,
                      r->step_start + seconds);
    }
    hap_report_step(r, has_loss, loss, seconds);
    r->now.step++;
    r->steps_done++;
    r->cursor += r->batch_rows ? r->batch_rows : 1;
    if (saves) hap_checkpoint_save(r);
}

static void end_evaluation(hap_rank *r)
{
    double loss = 0;
    if (!r->noting) {
        end_pass(r);
        r->stopped = hap_comm_vote_end(r) == HAP_STOP_NOW;
        (void)share(r, read_loss(r, &loss), &loss);
    }
    hap_eval_end(r, loss);
}

// The rows are there: what is left to do before a pass of the loop's body.
static void begin_pass(hap_rank *r)
{
    r->doing = NULL;
    hap_nan_before_step(r);
    hap_backend_begin(r);
    r->in_step = true;
    if (r->loaded && !r->evaluating && r->steps_done % HAP_SUM_EVERY == 0) hap_sum_begin(r);
    if (r->loaded) hap_comm_vote_start(r, (int)hap_stop_asked());
}

bool hap_next_step(hap_rank *r)
{
    if (r->evaluating)
        end_evaluation(r);
    else if (r->loaded)
        end_step(r);
    else if (r->rehearsal)
        end_pass(r);
    else
        begin(r);
    if (!r->loaded && r->rehearsal < r->rehearsals) {
        r->rehearsal++;
    } else if (!r->loaded) {
        load(r);
    }
    if (r->loaded && hap_eval_begin(r)) {
        if (!r->noting) begin_pass(r);
        return true;
    }
    if (r->steps_done == r->opt.steps || r->stopped || r->moves) return false;
    if (!r->rehearsal) r->step_start = hap_seconds();
    r->own_sec = 0;
    hap_beat(r, "input");
    hap_inputs_load(r);
    r->now.lr = r->rehearsal ? 0 : hap_lr_at(r->schedule, r->now.step);
    begin_pass(r);
    return true;
}
