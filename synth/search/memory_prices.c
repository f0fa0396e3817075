#include "synth/search/memory_prices.h"
#include "synth/search/searches.h"

// Memory prices to try (search_limits.h). The main search stops at one price; this sweep shows what
// others give.
void pool_sweep(pool *p)
{
    const candidate *from = p->best.program ? &p->best : &p->smallest;
    if (!from->program || from->space->strategy != SYN_AUTO) return;
    bool large = ir_step_nodes(p->g) > SYN_LARGE;
    // Of a large graph that has a plan, other variants are planned only if asked for.
    if (p->best.program && large && !p->opt->vary_blocks) return;
    // Where memory cost the best plan nothing, one price does: what it leads to may please the
    // simulator.
    bool binds = p->best.priced || pool_memory_binds(p, &p->best);
    double low = binds ? SYN_SWEEP_FROM : SYN_SWEEP_FREE,
           high = binds ? SYN_SWEEP_TO : SYN_SWEEP_FREE;
    p->b = pool_board_of(p, from->space->mesh);
    *p->b->partitions = *syn_partitions_copy(p->arena, from->space->partitions);
    syn_options *quick = hb_copy(p->arena, p->opt, sizeof *p->opt);
    quick->copy_bytes = INT64_MAX;
    size_t weights = sizeof *from->space->weight * (size_t)p->b->mesh->n_classes;
    search_options o = {.strategy = SYN_AUTO,
                        .opt = quick,
                        .weight = hb_copy(p->arena, from->space->weight, weights),
                        .comm = 1,
                        .gap = SYN_SWEEP_GAP};
    double step = from->sec;
    for (double price = low; price <= high;
         price *= large ? SYN_SWEEP_TIMES_LARGE : SYN_SWEEP_TIMES) {
        candidate c;
        o.price = price * step;
        if (pool_out_of_time(p) || !pool_search(p, &o, &c)) return;
        // What it leaves free may let blocks be kept, which saves a quarter of a step at most.
        double saves = p->g->recomputed.n > 0 ? SYN_AGAIN_MOST : 0;
        double best = pool_best_known(p);
        bool last = c.fits && best > 0 && c.sec * (1 - saves) > SYN_SWEEP_FAR * best;
        pool_forget(p, NULL, NULL);
        if (last) return;
    }
}
