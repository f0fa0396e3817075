#include "synth/search/searches.h"

#include <math.h>
#include <string.h>

#include "synth/search/boards.h"
#include "synth/search/free_memory.h"
#include "synth/search/known_choices.h"
#include "synth/search/simulated.h"
#include "synth/space/space_build.h"
#include "synth/space/space_solve.h"

// Smallest share of a tensor among states i of a list, by class.
static void least_share(const syn_space *s, int tensor, int state, double *least)
{
    const double *share = syn_state_shares(s->costs, &s->states[tensor]->s[state]);
    for (int c = 0; c < s->mesh->n_classes; c++)
        least[c] = fmin(least[c], share[c]);
}

// Do the parameters and moments fit at all? None of their states takes less than is counted here.
static bool homes_fit(pool *p, const syn_space *s)
{
    const syn_kinds *k = s->kinds;
    int classes = s->mesh->n_classes;
    hb_arena *a = hb_arena_new();
    double **of_kept = HB_ARRAY(a, double *, k->n_kept + 1);
    double **of_node = HB_ARRAY(a, double *, k->n_nodes + 1); // of its moments
    double need[CL_MAX_CLASSES] = {0};
    for (int t = 0; t < s->g->tensors.n; t++) {
        const ir_tensor *ten = &s->g->tensors.p[t];
        int u = s->first_use[t];
        if ((ten->kind != IR_PARAM && ten->kind != IR_STATE) || u == s->first_use[t + 1]) continue;
        int node = s->uses[u][0], in = s->uses[u][1];
        double **slot = ten->kind == IR_PARAM ? &of_kept[k->kept[t]] : &of_node[k->node[node]];
        if (!*slot) {
            *slot = HB_ARRAY(a, double, classes);
            for (int c = 0; c < classes; c++)
                (*slot)[c] = 1;
            if (ten->kind == IR_PARAM)
                for (int i = 0; i < s->keeps[t]->n; i++)
                    least_share(s, t, s->keeps[t]->keep[i].state, *slot);
            else
                for (int i = 0; i < s->shardings[node]->n; i++)
                    least_share(s, t, s->shardings[node]->sharding[i].in[in], *slot);
        }
        for (int c = 0; c < classes; c++)
            need[c] += (*slot)[c] * ir_tensor_times(s->g, t) *
                       (double)(ir_elements(ten) * ir_dtype_bytes(ten->dtype));
    }
    bool fit = true;
    for (int c = 0; c < classes && fit; c++) {
        const cl_class *cls = &p->m->cluster->cls[s->mesh->cluster_class[c]];
        fit = need[c] <= (double)cls->capacity;
        if (!fit)
            p->why = hb_fmt(p->arena,
                            "no plan fits in memory: parameters and moments alone need %.0f bytes "
                            "of %lld on %.*s",
                            need[c], (long long)cls->capacity, HB_ARG(cls->name));
    }
    hb_arena_free(a);
    return fit;
}

// What a search chose: the next one that asks the same need not be solved.
struct solved {
    uint64_t key;
    syn_choice choice;
    double lower;
    double sec; // of its plan; 0: not simulated yet
    // Of a plan that is known by its numbers, whatever else was found since; share 0: none.
    double share, sec_paired, paired_alone;
    int states;
};

// Does a plan hang on nothing but its choice? In small graphs other forms and buckets are tried
// where that may make it the best; near a capacity the arena is asked of what leads.
static bool hangs_on_choice(const pool *p, double share)
{
    return ir_step_nodes(p->g) > SYN_MANY_NODES && share <= SYN_SURELY_FITS && !p->careful &&
           !p->spare && !p->doubtful;
}

static void note_numbers(const pool *p, struct solved *x, const candidate *c, int states)
{
    if (!hangs_on_choice(p, c->share)) return;
    x->share = c->share;
    x->sec_paired = c->sec_paired;
    x->paired_alone = c->paired_alone;
    x->states = states;
}

// A strategy's plan that was offered before, with pairs as without, and leads with neither: its
// numbers will do. The choice of `auto` goes on from its plans.
static bool say_again(pool *p, syn_strategy s, const struct solved *x, candidate *out)
{
    if (s == SYN_AUTO || !x || x->share <= 0 || !hangs_on_choice(p, x->share)) return false;
    if (!p->best.program || x->sec < p->best.sec) return false;
    bool paired = isfinite(x->sec_paired);
    if (paired && (!p->paired.program || x->sec_paired < p->paired.sec)) return false;
    if (paired) p->enough = p->enough > 0 ? fmin(p->enough, x->paired_alone) : x->paired_alone;
    p->work += x->states;
    *out = (candidate){.sec = x->sec,
                       .share = x->share,
                       .fits = true,
                       .sec_paired = x->sec_paired,
                       .paired_alone = x->paired_alone};
    return true;
}

// All that decides the space of a search, but for the variant, the mesh and its cuts.
static uint64_t asked_key(const pool *p, const search_options *o)
{
    const syn_costs *c = p->b->costs;
    int n_classes = p->b->mesh->n_classes, n = 0;
    double *x = HB_ARRAY(p->arena, double, n_classes + 9);
    x[n++] = (double)syn_strategy_like(o->strategy);
    x[n++] = (double)o->opt->copy_bytes;
    x[n++] = o->comm;
    x[n++] = o->price;
    x[n++] = o->gap;
    x[n++] = c->no_put;
    x[n++] = c->passing;
    x[n++] = o->slack ? o->slack->price : -1;
    x[n++] = o->slack && o->slack->takes;
    memcpy(x + n, o->weight, sizeof *x * (size_t)n_classes);
    uint64_t slack = 0;
    if (o->slack)
        slack = hb_hash_key(o->slack->sec, sizeof *o->slack->sec * (size_t)p->g->tensors.n);
    return hb_hash_key(x, sizeof *x * (size_t)(n + n_classes)) + 5 * slack;
}

static struct solved *solved_of(const board *b, uint64_t key)
{
    for (int i = 0; i < b->solved.n; i++)
        if (b->solved.p[i]->key == key) return b->solved.p[i];
    return NULL;
}

// Chooses shardings and states. false: there are none. key: of the search on its board, everywhere:
// of all searches of the step.
static bool solve(pool *p, const search_options *o, const syn_space *space, uint64_t key,
                  uint64_t everywhere, syn_choice *choice, double *lower)
{
    board *b = p->b;
    const struct solved *same = solved_of(b, key);
    if (same) {
        *choice = same->choice;
        *lower = same->lower;
        return true;
    }
    if (!syn_known_choice(p->opt->choices, p->arena, everywhere, space, choice, lower)) {
        const ms_tile **repeats = o->gap > 0 ? &b->repeats[o->strategy] : NULL;
        if (syn_space_near(p->arena, space, o->gap, &b->warm[o->strategy], repeats, choice,
                           lower) != MS_OPTIMAL) {
            hb_str clash = syn_space_clash(p->arena, space);
            if (clash.n) p->why = clash;
            return false;
        }
        syn_know_choice(p->opt->choices, everywhere, space, choice, *lower);
    }
    struct solved *s = HB_NEW(p->arena, struct solved);
    *s = (struct solved){.key = key, .choice = *choice, .lower = *lower};
    HB_PUSH(p->arena, &b->solved, s);
    p->n_solved++;
    return true;
}

static bool equal_choices(const syn_space *s, const syn_choice *a, const syn_choice *b)
{
    return memcmp(a->sharding, b->sharding, sizeof *a->sharding * (size_t)s->g->nodes.n) == 0 &&
           memcmp(a->keep, b->keep, sizeof *a->keep * (size_t)s->g->tensors.n) == 0;
}

// The search whose arena is the last, which chose what `like` did at other prices: the same plan.
static void take_again(pool *p, const candidate *like, syn_space *space, candidate *out)
{
    hb_arena_join(like->arena, p->arenas.p[--p->arenas.n]);
    *out = *like;
    space->arena = like->arena;
    out->space = space;
}

static void set_costs(pool *p, bool no_put, double passing, const syn_slack *slack)
{
    p->b->costs->no_put = no_put;
    p->b->costs->passing = passing;
    p->b->costs->slack = slack;
}

int pool_states(const syn_space *s)
{
    int n = 0;
    for (int v = 0; v < s->problem.n_vars; v++)
        n += s->problem.domain[v];
    return n;
}

// As pool_search. like, if not NULL: a plan at the same cuts, weights and options but for the
// price.
static bool search(pool *p, const search_options *o, const candidate *like, candidate *out)
{
    const syn_mesh *mesh = p->b->mesh;
    hb_arena *arena = hb_arena_new();
    HB_PUSH(p->arena, &p->arenas, arena);
    double *price = o->price > 0 ? HB_ARRAY(arena, double, mesh->n_classes) : NULL;
    for (int c = 0; price && c < mesh->n_classes; c++)
        price[c] = o->price / (double)p->m->cluster->cls[mesh->cluster_class[c]].capacity;
    // Where memory is short, one-sided puts are what a plan may have, and nothing that it rests on.
    set_costs(p, p->no_put || (o->price > 0 && !p->thrifty), p->spare ? 1.0 / p->g->nodes.n : 0,
              o->slack);
    uint64_t asked = asked_key(p, o), key = asked + 3 * syn_partitions_key(p->b->partitions);
    struct solved *known = solved_of(p->b, key);
    if (known && o->beat > 0 && known->sec >= o->beat && !p->careful && !p->spare) {
        set_costs(p, false, 0, NULL);
        *out = (candidate){.sec = HUGE_VAL};
        return true;
    }
    if (say_again(p, o->strategy, known, out)) {
        set_costs(p, false, 0, NULL);
        return true;
    }
    syn_space *space = syn_space_build(
        arena, p->b->costs, syn_partitions_copy(arena, p->b->partitions), o->strategy, o->opt,
        hb_copy(arena, o->weight, sizeof *o->weight * (size_t)mesh->n_classes), o->comm, price,
        &p->why);
    set_costs(p, false, 0, NULL);
    syn_choice choice;
    double lower = 0;
    if (space) space->problem.stop = p->stop;
    if (!space) p->why = hb_str_n(p->arena, p->why.p, p->why.n);
    if (!space || !homes_fit(p, space)) return false;
    uint64_t everywhere = asked + syn_space_key(space);
    if (!solve(p, o, space, key, everywhere, &choice, &lower)) return false;
    int states = pool_states(space);
    p->n_states = states > p->n_states ? states : p->n_states;
    p->work += states;
    // Paths of moves are the same, too, where memory has a price both times, and none of its own.
    bool again = like && like->space->memory_price && price && !p->spare &&
                 equal_choices(space, &choice, &like->choice);
    if (again)
        take_again(p, like, space, out);
    else
        *out = pool_simulate(p, arena, space, &choice);
    out->choice = choice;
    out->lower = lower;
    out->priced = price != NULL && !p->thrifty;
    out->exact = o->strategy == p->opt->strategy && o->opt == p->opt && !price && o->comm == 1 &&
                 !o->slack && lower >= choice.additive * (1 - SYN_ROUNDING);
    if (!again) pool_offer(p, out);
    known = solved_of(p->b, key);
    if (known) {
        known->sec = out->sec;
        note_numbers(p, known, out, states);
    }
    return true;
}

bool pool_search(pool *p, const search_options *o, candidate *out)
{
    return search(p, o, NULL, out);
}

// Is a plan that does not fit so slow that one with less memory will not be the best? What
// baselines take is said of the first variant.
static bool too_slow(const pool *p, const candidate *c, bool is_auto)
{
    bool said = !is_auto && p->opt->known && p->opt->known->leads > 0;
    double best = pool_best_known(p), far = said           ? SYN_LATER_FAR
                                            : !p->looking  ? SYN_RISE_FAR
                                            : p->g->few_of ? SYN_RISE_FEW
                                                           : SYN_RISE_LOOK;
    return (is_auto || said) && best > 0 && c->sec > far * best;
}

// Bytes of a choice as memory prices weigh them: what it cost at one price.
static double priced_bytes(const candidate *c, double price)
{
    return (c->choice.additive - c->additive) / price;
}

// Where a usual price changed nothing, what saves memory costs much more than the plan takes: on a
// network of much latency, say. If the leanest choice fits, prices go back from there, each to
// where two choices cost the same, until no other lies between them. Else *out stays.
static void search_corners(pool *p, search_options *o, const candidate *keep, candidate *out)
{
    double low = o->price, high = SYN_PRICE_LEAP * low;
    candidate rich = *out, lean, next; // of rich no more than numbers, then
    o->price = high;
    bool found = search(p, o, out, &lean) && lean.fits;
    if (found) *out = lean;
    pool_forget(p, keep, out);
    for (int i = 0; i < SYN_PRICE_CORNERS && found && !pool_out_of_time(p); i++) {
        double less = priced_bytes(&rich, low) - priced_bytes(out, high),
               more = out->additive - rich.additive;
        o->price = less > 0 ? more / less : 0;
        if (o->price <= low || o->price >= high) o->price = sqrt(low * high);
        if (!search(p, o, out, &next)) break;
        if (next.sec == rich.sec || (next.sec == out->sec && next.share == out->share)) break;
        if (next.fits) {
            *out = next;
            high = o->price;
        } else {
            rich = next;
            low = o->price;
        }
        pool_forget(p, keep, out);
    }
    o->price = high;
}

// Does a price on memory cost so much that cuts which moved since may do with a lower one?
static bool is_dear(const pool *p, const candidate *c)
{
    bool small = ir_step_nodes(p->g) <= SYN_LARGE && !p->g->few_of && !p->thrifty;
    return small && c->sec > SYN_PRICE_FAR * p->b->quickest;
}

bool pool_search_within_memory(pool *p, const search_options *options, const candidate *keep,
                               candidate *out)
{
    search_options o = *options;
    bool is_auto = o.strategy == SYN_AUTO;
    double low = 0, high = 0, hope = HUGE_VAL;
    candidate next;
    o.price = is_auto ? p->b->price : 0;
    // Where a round before found none at any price, it begins at the first one.
    bool memory_first = is_auto && p->opt->memory_first;
    if (memory_first && o.price <= 0 && keep && !keep->fits && keep->priced)
        o.price = SYN_PRICE_USUAL * keep->sec / SYN_PRICE_FIRST;
    if (!pool_search(p, &o, out)) return false;
    double step = out->sec;
    if (out->fits) high = o.price;
    if (memory_first && !out->fits)
        syn_add_free_memory(p->arena, out->program, p->b->partitions, p->b->mesh);
    // From a price that may do to ones that mostly do.
    double usual = (out->share > SYN_PRICE_SHORTAGE ? SYN_PRICE_SHORT : SYN_PRICE_USUAL) * step;
    double rise = o.price > 0 ? SYN_PRICE_AGAIN * o.price : usual / SYN_PRICE_FIRST;
    double enough = p->spare && (!is_auto || !p->best.program) ? HUGE_VAL : is_auto ? usual : 0;
    for (; !out->fits && rise < SYN_PRICE_MOST * step && !pool_out_of_time(p);
         rise *= SYN_PRICE_RISE) {
        if (is_auto && p->best.program && step > SYN_HOPELESS * p->best.sec) break;
        out->behind = too_slow(p, out, is_auto);
        if (out->behind) break;
        low = high > 0 ? high : o.price;
        if (out->share < SYN_NEARLY_FITS) hope = fmin(hope, out->sec);
        o.price = high = rise;
        if (!search(p, &o, out, &next)) return true;
        bool stuck = rise >= enough && next.share > SYN_PRICE_STUCK * out->share;
        *out = next;
        pool_forget(p, keep, out);
        if (!stuck || out->fits) continue;
        if (o.corners) search_corners(p, &o, keep, out);
        if (o.corners && out->fits) p->b->price = o.price;
        return true;
    }
    if (!out->fits) return true;
    // Back, where the price is new, leaves much memory free or costs much.
    bool known = is_auto && p->b->price > 0 && high == p->b->price;
    int halves = 0;
    if (known)
        halves = is_dear(p, out) ? 2 : out->share < SYN_PRICE_SPARE;
    else if (high >= usual)
        halves = high == usual ? 1 : 2;
    else if (high > 0 && out->sec > SYN_PRICE_DEAR * step)
        halves = 3;
    if (is_auto) p->b->price = high;
    for (int half = 0; half < halves && high > 0 && !pool_out_of_time(p); half++) {
        if (p->best.program && out->sec > SYN_HOPELESS * p->best.sec) break;
        o.price = low > 0 ? sqrt(low * high) : high / SYN_PRICE_FALL;
        if (!search(p, &o, out, &next)) break;
        if (next.fits && next.sec <= out->sec) {
            *out = next;
            high = o.price;
            if (is_auto) p->b->price = high;
        } else {
            low = o.price;
        }
        pool_forget(p, keep, out);
    }
    out->hope = hope;
    return true;
}
