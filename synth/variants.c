// Micro-batches and recomputation as the planner's choice: where memory binds, other graphs of the
// same step are planned too (ir/variant.h), and the best judged plan wins.

#include "ir/variant.h"
#include "synth/synth.h"

static double seconds_of(const syn_result *r)
{
    return r->status == SYN_OK ? r->predicted_sec : -1;
}

// Could a variant that keeps `saved` bytes less (whole tensors) bring the leanest plan of the step
// below the capacity? Twice what is missing in all may lie with the wrong ranks.
static bool may_fit(const cost_model *m, const syn_result *step, double saved)
{
    double capacity = 0;
    for (int r = 0; r < m->cluster->n_ranks; r++)
        capacity += (double)m->cluster->cls[m->cluster->class_of[r]].capacity;
    return step->status == SYN_OK || 2 * saved >= (step->least_share - 1) * capacity;
}

// This many in a row that fit and are no faster end the search.
enum { PATIENCE = 3 };

syn_result syn_plan(hb_arena *a, ir_graph *step, const ir_factors *f, const cost_model *m,
                    const syn_options *o)
{
    syn_result best = syn_synthesize(a, step, f, m, o);
    bool enough = best.status == SYN_OK && step->nodes.n > SYN_LARGE && !o->vary;
    if (best.status == SYN_FAILED_CHECK || !best.tight || o->pins || o->strategy != SYN_AUTO ||
        enough)
        return best;
    ir_variant_choice choice[IR_MAX_VARIANTS];
    int n = ir_variants(step, choice), worse = 0;
    double spent = best.plan_sec, kept = n > 0 ? choice[0].saved : 0;
    const syn_result first = best;
    for (int i = 0; i < n && worse < PATIENCE; i++) {
        if (choice[i].micro_batches <= 1 && choice[i].recomputed == 0) continue; // the step itself
        if (!may_fit(m, &first, kept - choice[i].saved)) continue;
        if (o->interrupted && *o->interrupted) break;
        syn_options left = *o;
        left.beat_sec = best.status == SYN_OK ? best.predicted_sec : 0;
        if (o->time_limit_sec > 0) {
            left.time_limit_sec = o->time_limit_sec - spent;
            if (left.time_limit_sec <= 0) break;
        }
        hb_diag *d = hb_diag_new(a);
        ir_graph *v = ir_variant(a, step, choice[i].micro_batches, choice[i].recomputed, d);
        if (!v) continue;
        syn_result r = syn_synthesize(a, v, ir_factorize(a, v), m, &left);
        spent += r.plan_sec;
        if (o->log)
            fprintf(o->log, "%lld micro-batches, %d blocks computed again: %.6g ms\n",
                    (long long)choice[i].micro_batches, choice[i].recomputed, seconds_of(&r) * 1e3);
        if (r.status == SYN_FAILED_CHECK) return r;
        if (r.status != SYN_OK) continue;
        if (best.status == SYN_OK && r.predicted_sec >= best.predicted_sec) {
            worse++;
            continue;
        }
        // What other strategies do is said of the step as it is.
        for (int s = 0; best.status == SYN_OK && s < SYN_N_STRATEGIES; s++)
            r.baseline_sec[s] = best.baseline_sec[s];
        best = r;
        worse = 0;
    }
    best.plan_sec = spent;
    return best;
}
