#include "synth/search/candidates.h"

// Of a step for a full memory. What a search within memory stops at is one price; whoever weighs
// memory against other work wants to see what other prices lead to.
static const double LEAST = 0.125, MOST = 64, TIMES = 2, TIMES_LARGE = 8, FREE = 8;
static const double NEAR = 0.03; // to the optimum

void pool_sweep(pool *p)
{
    const candidate *from = p->best.program ? &p->best : &p->smallest;
    if (!from->program || from->space->strategy != SYN_AUTO) return;
    bool large = p->g->nodes.n > SYN_LARGE;
    // Of a large graph that has a plan, other variants are planned only if asked for.
    if (p->best.program && large && !p->opt->vary_blocks) return;
    // Where memory cost the best plan nothing, one price does: what it leads to may please the
    // judge.
    bool binds = !p->best.program || p->best.priced || p->best.sec > p->quickest;
    double low = binds ? LEAST : FREE, high = binds ? MOST : FREE;
    p->b = pool_board_of(p, from->space->mesh);
    *p->b->palette = *syn_palette_copy(p->arena, from->space->palette);
    syn_options *quick = hb_copy(p->arena, p->opt, sizeof *p->opt);
    quick->copy_bytes = INT64_MAX;
    size_t weights = sizeof *from->space->weight * (size_t)p->b->mesh->n_classes;
    search_options o = {SYN_AUTO, quick, hb_copy(p->arena, from->space->weight, weights),
                        1,        0,     NEAR};
    double step = from->sec;
    for (double price = low; price <= high; price *= large ? TIMES_LARGE : TIMES) {
        candidate c;
        o.price = price * step;
        if (pool_out_of_time(p) || !pool_search(p, &o, &c)) return;
        pool_forget(p, NULL, NULL);
    }
}
