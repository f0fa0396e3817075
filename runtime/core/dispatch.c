// Every call inside the step: checks, heartbeat, trace, progress of collectives, then the backend.

#include "core/backend.h"
#include "core/call_sum.h"
#include "core/coll_check.h"
#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/evaluate.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "core/nan_check.h"
#include "core/pair_calls.h"
#include "core/ports.h"
#include "core/trace.h"

hap_rank *hap_line(hap_rank *r, int line)
{
    r->line = line;
    return r;
}

static double begin(hap_rank *r, const char *name)
{
    hap_beat(r, name);
    HAP_CK(r, r->in_step, "called outside the step");
    return r->trace ? hap_seconds() : 0;
}

static void outside_fusions(hap_rank *r)
{
    HAP_CK(r, !r->in_fusion, "stands in a fusion, which is of ops alone");
}

static void outside_pairs(hap_rank *r)
{
    HAP_CK(r, !r->pair.open, "stands in a pair");
}

// The calls of a pair wait for its last one; with --check-nan they are made one by one.
static bool collected(const hap_rank *r)
{
    return r->pair.open && !r->opt.check_nan;
}

static void end(hap_rank *r, double start)
{
    if (r->trace && !r->device_traces)
        hap_trace_add(r, HAP_TRACE_COMPUTE, r->doing, r->line, start, hap_seconds());
    r->doing = NULL;
    hap_backend_poll(r);
}

static void dispatch(hap_rank *r, const hap_op_call *c)
{
    double start = begin(r, hap_op_names[c->op]);
    hap_sum_op(r, c);
    for (int i = 0; i < c->n_out; i++)
        HAP_CK(r, c->out[i], "output %d is NULL", i);
    if (r->pair.open) hap_pair_op(r, c);
    if (collected(r)) {
        r->doing = NULL;
        return;
    }
    if (hap_is_port(c->op))
        hap_port_op(r, c);
    else
        hap_backend_op(r, c);
    hap_nan_after_op(r, c);
    end(r, start);
}

void hap_dispatch(hap_rank *r, const hap_op_call *c)
{
    if (!r->evaluating) {
        dispatch(r, c);
    } else if (hap_eval_op(r, c)) {
        hap_op_call same = hap_eval_form(*c);
        dispatch(r, &same);
    }
}

void(hap_cut)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    if (r->evaluating && !hap_eval_move(r, y, x)) return;
    double start = begin(r, "hap_cut");
    hap_sum_tensors(r, "hap_cut", 2, (hap_tensor *const[]){y, x});
    char why[160], a[128], b[128];
    outside_fusions(r);
    outside_pairs(r);
    HAP_CK(r, y && x, "a tensor is NULL");
    const char *bad = hap_cut_check(r, y, x, why, sizeof why);
    if (bad)
        hap_fail(r, HAP_EXIT_FAILED, "%s (y %s, x %s)", bad, hap_tensor_text(r, y, a, sizeof a),
                 hap_tensor_text(r, x, b, sizeof b));
    hap_backend_cut(r, y, x);
    hap_nan_after_move(r, y);
    end(r, start);
}

void(hap_partial)(hap_rank *r, unsigned axes, hap_tensor *y, hap_tensor *x)
{
    if (r->evaluating && !hap_eval_move(r, y, x)) return;
    double start = begin(r, "hap_partial");
    hap_sum_numbers(r, "hap_partial", 1, (const int64_t[]){axes});
    hap_sum_tensors(r, "", 2, (hap_tensor *const[]){y, x});
    bool keep = true;
    outside_fusions(r);
    outside_pairs(r);
    HAP_CK(r, y && x, "a tensor is NULL");
    hap_partial_check(r, axes, y, x);
    for (int a = 0; a < r->n_axes; a++) {
        if (axes & AXIS(a)) keep &= r->coord[a] == 0;
    }
    hap_backend_partial(r, keep, y, x);
    hap_nan_after_move(r, y);
    end(r, start);
}

void(hap_fuse)(hap_rank *r, const char *kernel)
{
    if (r->evaluating && !hap_eval_group(r, true)) return;
    begin(r, "hap_fuse");
    HAP_CK(r, kernel, "the kernel has no name");
    HAP_CK(r, !r->in_fusion, "a fusion stands in another");
    hap_sum_numbers(r, kernel, 0, NULL);
    outside_pairs(r);
    r->in_fusion = true;
    hap_backend_fuse(r, kernel);
    r->doing = NULL;
}

void(hap_fused)(hap_rank *r, int n, hap_tensor *const *kept)
{
    if (r->evaluating && !hap_eval_group(r, false)) return;
    double start = begin(r, "hap_fused");
    hap_sum_tensors(r, "hap_fused", n, kept);
    HAP_CK(r, r->in_fusion, "no fusion was begun");
    for (int i = 0; i < n; i++)
        HAP_CK(r, kept[i], "kept tensor %d is NULL", i);
    r->in_fusion = false;
    hap_backend_fused(r, n, kept);
    end(r, start);
}

static hap_event *coll(hap_rank *r, hap_coll_kind kind, hap_reduce reduce, unsigned axes,
                       hap_form form, int n, hap_tensor *const *dst, hap_tensor *const *src,
                       hap_tensor *scratch)
{
    hap_coll_call c = {kind, reduce, axes, form, n, dst, src, scratch};
    if (r->evaluating && !hap_eval_coll(r, &c)) return hap_eval_event(r);
    begin(r, hap_coll_name(&c));
    hap_sum_coll(r, &c);
    outside_fusions(r);
    hap_coll_check(r, &c);
    if (r->pair.open) hap_pair_start(r, &c);
    // The event of a consumer pair is waited for inside the pair: any address will do.
    hap_event *e = !collected(r)      ? hap_backend_coll(r, &c)
                   : r->pair.consumer ? (hap_event *)&r->pair
                                      : hap_backend_pair(r, &r->pair);
    if (r->pair.open) r->pair.event = e;
    hap_nan_start(r, &c, e);
    r->doing = NULL;
    hap_backend_poll(r);
    return e;
}

#define COLL(name, kind, reduce)                                                                   \
    hap_event *(name)(hap_rank * r, unsigned axes, hap_form form, int n, hap_tensor *const *dst,   \
                      hap_tensor *const *src, hap_tensor *scratch)                                 \
    {                                                                                              \
        return coll(r, kind, reduce, axes, form, n, dst, src, scratch);                            \
    }
COLL(coll_all_gather_start, HAP_ALL_GATHER, HAP_SUM)
COLL(coll_reduce_scatter_start, HAP_REDUCE_SCATTER, HAP_SUM)
COLL(coll_all_reduce_start, HAP_ALL_REDUCE, HAP_SUM)
COLL(coll_all_reduce_max_start, HAP_ALL_REDUCE, HAP_MAX)
COLL(coll_all_to_all_start, HAP_ALL_TO_ALL, HAP_SUM)
COLL(coll_reshard_start, HAP_RESHARD, HAP_SUM)

void(hap_wait)(hap_rank *r, hap_event *e)
{
    if (r->evaluating && !hap_eval_wait(r, e)) return;
    double start = begin(r, "hap_wait");
    hap_sum_numbers(r, "hap_wait", 0, NULL);
    outside_fusions(r);
    HAP_CK(r, e, "there is no event");
    if (r->pair.open) hap_pair_wait(r, e);
    if (collected(r)) {
        r->doing = NULL;
        return;
    }
    hap_backend_wait(r, e);
    hap_nan_wait(r, e);
    end(r, start);
}

void(hap_overlap)(hap_rank *r, int n_chunks, const int64_t (*chunks)[3])
{
    if (r->evaluating && !hap_eval_group(r, true)) return;
    begin(r, "hap_overlap");
    hap_sum_numbers(r, "hap_overlap", 3 * (int64_t)n_chunks, chunks[0]);
    hap_pair_begin(r, n_chunks, chunks);
    r->doing = NULL;
}

void(hap_tiles)(hap_rank *r, int rows, int cols, unsigned how, int n_chunks,
                const int64_t (*chunks)[3])
{
    if (r->evaluating && !r->pair.open) return;
    begin(r, "hap_tiles");
    hap_sum_numbers(r, "hap_tiles", 3, (const int64_t[]){rows, cols, how});
    hap_sum_numbers(r, "", 3 * (int64_t)n_chunks, chunks[0]);
    hap_pair_tile(
        r, &(hap_pair_tiles){
               .rows = rows, .cols = cols, .how = how, .n_chunks = n_chunks, .chunk = chunks});
    r->doing = NULL;
}

void(hap_overlapped)(hap_rank *r)
{
    if (r->evaluating && !hap_eval_group(r, false)) return;
    begin(r, "hap_overlapped");
    hap_sum_numbers(r, "hap_overlapped", 0, NULL);
    bool all = collected(r);
    hap_pair_end(r);
    if (all && r->pair.consumer) hap_backend_pair(r, &r->pair);
    r->doing = NULL;
    hap_backend_poll(r);
}
