#include "synth/search/plan_stages.h"

#include <math.h>

#include "ir/variant.h"
#include "synth/certify/check_stages.h"
#include "synth/certify/modp.h"
#include "synth/passes/fuse.h"
#include "synth/plan/buffer_names.h"
#include "synth/price/price_stages.h"

typedef struct planner {
    hb_arena *a;
    ir_graph *step;
    const cl_cluster *cluster;
    int n;
    const syn_stage_wish *wish;
    const cost_model *models;
    int *const *rank;
    const syn_options *o;
    hb_diag *d;
} planner;

void syn_order_1f1b(hb_arena *a, syn_program *p, int depth)
{
    int k = p->g->micro_batches, back = 0;
    p->order.n = 0;
    for (int m = 0; m < k && k > 1; m++) {
        HB_PUSH(a, &p->order, (syn_half){m, false});
        if (m + 1 >= depth) HB_PUSH(a, &p->order, (syn_half){back++, true});
    }
    while (k > 1 && back < k)
        HB_PUSH(a, &p->order, (syn_half){back++, true});
}

bool syn_prove_stages(hb_arena *a, const syn_staged *p, hb_str *why)
{
    hb_arena *own = hb_arena_new();
    const record **rec = HB_ARRAY(own, const record *, p->n);
    bool ok = true, ran;
    for (int s = 0; s < p->n && ok; s++) {
        syn_program *x = p->stage[s].program;
        rec[s] = record_from_plan(own, x);
        ok = syn_check(a, x->g, x->f, rec[s], why) &&
             syn_check_modp(a, x->g, x->f, rec[s], &ran, why);
        if (!ok) *why = hb_fmt(a, "stage %d: %.*s", s, HB_ARG(*why));
    }
    ok = ok && syn_check_stages(a, p->g, p->cut, rec, why);
    hb_arena_free(own);
    return ok;
}

static hb_str stage_text(const planner *x, int s, hb_str why)
{
    return hb_fmt(x->a, "stage %d (layers from %d on): %.*s", s, x->wish[s].first_layer,
                  HB_ARG(why));
}

// One stage on its machines.
static bool plan_stage(planner *x, syn_staged *p, int s, syn_staged_result *r)
{
    ir_graph *g = p->cut->graph[s];
    int k = g->micro_batches;
    syn_options o = *x->o;
    o.baselines = false;
    g->depth = k < 2 ? 0 : k < x->n - s ? k : x->n - s;
    syn_stage *stage = &p->stage[s];
    syn_result res = syn_synthesize(x->a, g, ir_factorize(x->a, g), &x->models[s], &o);
    p->plan_sec += res.plan_sec;
    if (res.status != SYN_OK) {
        r->status = res.status;
        r->why = stage_text(x, s, res.why);
        return false;
    }
    *stage = (syn_stage){.cluster = x->models[s].cluster,
                         .cluster_rank = x->rank[s],
                         .first_layer = x->wish[s].first_layer,
                         .program = res.program,
                         .first_rank = p->n_ranks};
    p->n_ranks += res.program->mesh->n_ranks;
    syn_order_1f1b(x->a, res.program, g->depth);
    return true;
}

static syn_staged_result plan(planner *x, const ir_graph *g)
{
    syn_staged_result r = {.status = SYN_INFEASIBLE};
    int *first = HB_ARRAY(x->a, int, x->n), layers = ir_layers(x->a, g, NULL);
    for (int s = 0; s < x->n; s++)
        first[s] = x->wish[s].first_layer;
    syn_staged *p = HB_NEW(x->a, syn_staged);
    *p = (syn_staged){.g = g, .cluster = x->cluster, .n = x->n};
    p->cut = ir_stages_cut(x->a, g, x->n, first, x->d);
    p->stage = HB_ARRAY(x->a, syn_stage, x->n);
    if (!p->cut) return r;
    for (int s = 0; s < x->n; s++) {
        hb_str why;
        if (!ir_verify(p->cut->graph[s], &why)) {
            r.status = SYN_FAILED_CHECK;
            r.why = stage_text(x, s, why);
            return r;
        }
        if (!plan_stage(x, p, s, &r)) return r;
        p->stage[s].n_layers = (s + 1 < x->n ? first[s + 1] : layers) - first[s];
    }
    syn_price_stages(x->a, p);
    r.status = SYN_OK;
    r.plan = p;
    return r;
}

// More and more micro-batches, until two numbers in a row do no better.
static syn_staged_result choose(planner *x)
{
    syn_staged_result best = {.status = SYN_INFEASIBLE};
    int worse = 0;
    for (int64_t k = 1; worse < 2 && k <= x->step->batch; k *= 2) {
        hb_diag *quiet = hb_diag_new(x->a);
        if (x->step->batch % k != 0) break;
        ir_graph *g = ir_variant(x->a, x->step, k, x->o->again, quiet);
        if (!g) {
            if (k > 1) break;
            continue;
        }
        syn_staged_result r = plan(x, g);
        if (hb_diag_count(x->d) > 0) return r;
        bool better = r.plan && (!best.plan || r.plan->predicted_sec < best.plan->predicted_sec);
        if (better || (!best.plan && best.why.n == 0)) best = r;
        worse = better ? 0 : best.plan ? worse + 1 : 0;
    }
    return best;
}

syn_staged_result syn_plan_stages(hb_arena *a, ir_graph *step, const cl_cluster *cluster, int n,
                                  const syn_stage_wish *wish, const cost_model *models,
                                  int *const *rank, const syn_options *o, hb_diag *d)
{
    planner x = {a, step, cluster, n, wish, models, rank, o, d};
    syn_staged_result r = {.status = SYN_INFEASIBLE};
    if (o->micro_batches > 0) {
        ir_graph *g = ir_variant(a, step, o->micro_batches, o->again, d);
        if (g) r = plan(&x, g);
    } else {
        r = choose(&x);
    }
    if (!r.plan) return r;
    for (int s = 0; s < n; s++) {
        syn_name_buffers(r.plan->stage[s].program);
        syn_name_kernels(r.plan->stage[s].program);
    }
    if (!syn_prove_stages(a, r.plan, &r.why)) {
        r.status = SYN_FAILED_CHECK;
        r.plan = NULL;
    }
    return r;
}
