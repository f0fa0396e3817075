#include "synth/search/search_stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/search/candidates.h"
#include "synth/search/stage_costs.h"
#include "synth/search/stage_groups.h"

typedef struct asked { // costs of a group that are known
    int group;
    int64_t micro;
    bool again, fits, tight; // tight: memory shaped its plan
    pl_option costs;
    syn_mesh_choice mesh;
} asked;

typedef struct found { // the quickest pipeline of one table
    pl_plan plan;
    bool late; // if gradients are sent last: not looked for yet, plan is the other
    pl_problem *table;
    int *group; // by its options
    syn_mesh_choice *mesh;
    bool *again; // their blocks are computed again
    int64_t micro;
} found;

typedef struct variant { // of the step
    int64_t micro;
    const bool *again;
    ir_graph *g;
} variant;

typedef struct searcher {
    hb_arena *a;
    ir_graph *step;
    const cost_model *m;
    const syn_options *o;
    hb_diag *d;
    syn_layers *layers;
    syn_groups *groups;
    HB_VEC(asked) known;
    HB_VEC(syn_chunk *) chunks; // by power of two, twice: not again, again; NULL: not yet
    HB_VEC(found) found;        // not planned yet
    bool parts;                 // of machines are looked at
    double best;                // of all tables
    // The best plan, where it lies, its pipeline and stages; less than which counts.
    syn_staged_result lead;
    hb_arena *of_lead;
    found lead_found;
    syn_known_stages *stages; // of all plans
    HB_VEC(variant) variants;
    const ir_factors *factors; // of the step; NULL: not yet
    double lead_sec;
    double planned; // seconds of what was planned last
    const syn_whole_plan *whole;
    double asked;    // the best plan without stages is known if it takes less
    hb_str why;      // there is no table
    double deadline; // 0: none
} searcher;

// --- groups ---

typedef struct grouping { // groups that stages of one plan may have
    HB_VEC(int) group;
    int least; // machines of the smallest
    syn_units units;
} grouping;

static bool add_group(searcher *x, grouping *to, int g)
{
    if (g < 0) return false;
    HB_PUSH(x->a, &to->group, g);
    int n = x->groups->of.p[g].n_machines;
    if (to->least == 0 || n < to->least) to->least = n;
    return true;
}

// So many machines of one kind.
static bool equal_groups(searcher *x, int machines, grouping *out)
{
    bool ok = true;
    int n = x->groups->kinds.n;
    for (int k = 0; k < n; k++) {
        int *take = HB_ARRAY(x->a, int, n + 1);
        take[k] = machines;
        if (x->groups->kinds.p[k].n >= machines)
            ok = ok && add_group(x, out, syn_group_of_machines(x->groups, take));
    }
    return ok;
}

// Any number of machines of one kind; with few machines, of several, but not all.
static bool any_groups(searcher *x, bool mixed, grouping *out)
{
    const syn_groups *g = x->groups;
    int *take = HB_ARRAY(x->a, int, g->kinds.n + 1);
    for (;;) {
        int k = 0, used = 0, all = 0;
        while (k < g->kinds.n && take[k] == g->kinds.p[k].n)
            take[k++] = 0;
        if (k == g->kinds.n) return true;
        take[k]++;
        for (k = 0; k < g->kinds.n; k++) {
            used += take[k] > 0;
            all += take[k];
        }
        if (all == x->m->cluster->n_machines || (used > 1 && !mixed)) continue;
        if (!add_group(x, out, syn_group_of_machines(x->groups, take))) return false;
    }
}

typedef struct adding {
    searcher *x;
    grouping *to;
} adding;

static bool add_part(void *ctx, int group)
{
    const adding *p = ctx;
    return add_group(p->x, p->to, group);
}

// --- tables ---

static bool over(const searcher *x)
{
    const syn_options *o = x->o;
    return (o->interrupted && *o->interrupted) || (x->deadline > 0 && pool_now() > x->deadline);
}

static void set_time_left(const searcher *x, syn_options *o)
{
    if (x->deadline > 0) o->time_limit_sec = fmax(x->deadline - pool_now(), SYN_LEAST_TIME);
}

// Pins by the names of the whole variant, of which the few layers are some.
static const syn_pins *pins_of_chunk(searcher *x, const syn_chunk *c, int64_t micro)
{
    ir_graph *whole = ir_variant(x->a, x->step, micro, NULL, x->d);
    const ir_factors *f = whole ? ir_factorize(x->a, whole) : NULL;
    const syn_pins *pins = f ? syn_pins_again(x->a, x->o->pins, whole, f, x->d) : NULL;
    return pins ? syn_pins_part(x->a, pins, whole, f, c->graph, c->f) : NULL;
}

static syn_chunk *chunk_of(searcher *x, int64_t micro, bool again)
{
    int at = again;
    for (int64_t k = micro; k > 1; k /= 2)
        at += 2;
    while (x->chunks.n <= at)
        HB_PUSH(x->a, &x->chunks, NULL);
    if (!x->chunks.p[at]) {
        syn_chunk *c = HB_NEW(x->a, syn_chunk);
        if (syn_chunk_open(x->a, x->layers, micro, again, c, &x->why) && x->o->pins)
            c->pins = pins_of_chunk(x, c, micro);
        x->chunks.p[at] = c;
    }
    return x->chunks.p[at]->graph ? x->chunks.p[at] : NULL;
}

// What messages between parts of one machine go over.
static void set_links(const syn_group *g, pl_option *out)
{
    const cl_machine *m = &g->model.cluster->machine[0];
    out->machine = g->take ? -1 : g->kind;
    out->inside = g->take ? 0 : m->link_bandwidth * g->n;
    out->inside_latency = g->take ? 0 : m->link_latency;
}

static const asked *known_costs(const searcher *x, int of, int64_t micro, bool again)
{
    for (int i = 0; i < x->known.n; i++)
        if (x->known.p[i].group == of && x->known.p[i].micro == micro &&
            x->known.p[i].again == again)
            return &x->known.p[i];
    return NULL;
}

// The kind of mesh that a group's costs are looked for on: where memory is no matter, that of its
// plan with twice the micro-batches, or without blocks computed again.
static syn_mesh_choice mesh_for(const searcher *x, int of, int64_t micro, bool again)
{
    const asked *like = known_costs(x, of, 2 * micro, again);
    if (!like && again) like = known_costs(x, of, micro, false);
    bool known = like && like->fits && !like->tight && x->o->mesh == SYN_MESH_AUTO;
    return known && x->groups->of.p[of].n_machines > 1 ? like->mesh : x->o->mesh;
}

static const asked *costs_of(searcher *x, int of, int64_t micro, bool again)
{
    const asked *known = known_costs(x, of, micro, again);
    if (known) return known;
    asked v = {.group = of, .micro = micro, .again = again};
    const syn_chunk *c = chunk_of(x, micro, again);
    const syn_group *g = &x->groups->of.p[of];
    syn_options o = *x->o;
    o.mesh = mesh_for(x, of, micro, again);
    for (bool more = c != NULL; more;) {
        set_time_left(x, &o);
        v.fits =
            syn_stage_costs(x->a, c, x->m->cluster, &g->model, &o, &v.costs, &v.mesh, &v.tight);
        more = o.mesh != x->o->mesh && (!v.fits || v.tight);
        o.mesh = x->o->mesh;
    }
    set_links(g, &v.costs);
    HB_PUSH(x->a, &x->known, v);
    return &x->known.p[x->known.n - 1];
}

static double *chosen(searcher *x, const double *once, const double *twice)
{
    double *v = hb_copy(x->a, once, sizeof *v * (size_t)(x->layers->n + 1));
    for (int l = 0; l < x->layers->n && l < x->step->n_blocks; l++)
        if (x->o->again[l]) v[l] = twice[l];
    return v;
}

// Costs where it is given which blocks are computed again: layers are blocks where there are such.
static const asked *costs_as_given(searcher *x, int of, int64_t micro)
{
    const asked once = *costs_of(x, of, micro, false), twice = *costs_of(x, of, micro, true);
    asked *v = hb_copy(x->a, &once, sizeof once);
    const pl_option *p = &once.costs, *q = &twice.costs;
    v->fits = once.fits && twice.fits;
    if (!v->fits) return v;
    v->costs.forward = chosen(x, p->forward, q->forward);
    v->costs.backward = chosen(x, p->backward, q->backward);
    v->costs.sent = chosen(x, p->sent, q->sent);
    v->costs.place = chosen(x, p->place, q->place);
    v->costs.room = fmin(p->room, q->room);
    return v;
}

// Is a group so slow that no pipeline with a stage of it takes less than so many seconds?
static bool too_slow(searcher *x, int of, int64_t micro, double worth)
{
    const syn_chunk *c = isfinite(worth) ? chunk_of(x, micro, false) : NULL;
    if (!c) return false;
    double least = syn_stage_least(c, &x->groups->of.p[of].model);
    return SYN_STAGE_SURE * least * (double)micro >= worth;
}

// A table: the options of some groups, by their costs, without those that are too slow. again: a
// stage may compute its blocks again.
static int options_of(searcher *x, const grouping *g, bool again, double worth, pl_option *option,
                      found *f)
{
    bool given = x->o->again && x->step->n_blocks >= 2;
    int n = 0;
    for (int i = 0; i < g->group.n && !over(x); i++)
        for (int k = 0; k <= again; k++) {
            if (k == 0 && too_slow(x, g->group.p[i], f->micro, worth)) break;
            const asked *v = given ? costs_as_given(x, g->group.p[i], f->micro)
                                   : costs_of(x, g->group.p[i], f->micro, k);
            int *take = HB_ARRAY(x->a, int, g->units.n + 1);
            if (!v->fits || !syn_group_units(x->groups, &g->units, g->group.p[i], take)) continue;
            f->group[n] = g->group.p[i];
            f->mesh[n] = v->mesh;
            f->again[n] = k;
            option[n] = v->costs;
            option[n++].take = take;
        }
    return n;
}

static void say_table(const searcher *x, const pl_problem *p, bool again, const pl_plan *plan)
{
    if (!x->o->log) return;
    fprintf(x->o->log, "stages: %d options, %d micro-batches%s: ", p->n_options, p->rounds,
            again ? ", blocks computed again or not" : "");
    if (plan->n > 0)
        fprintf(x->o->log, "%d stages, %.6g ms, %d bottlenecks tried\n", plan->n, plan->sec * 1e3,
                plan->n_tried);
    else
        fprintf(x->o->log, "none below %.6g ms, %d bottlenecks tried\n", plan->sec * 1e3,
                plan->n_tried);
}

// Would there be a pipeline if memory had no end?
static bool memory_binds(const searcher *x, const pl_problem *p, double worth)
{
    pl_problem roomy = *p;
    pl_option *option = hb_copy(x->a, p->option, sizeof *option * (size_t)p->n_options);
    for (int i = 0; i < p->n_options; i++)
        option[i].room = INFINITY;
    roomy.option = option;
    return pl_any(&roomy, worth);
}

// Where as many micro-batches fit as stages follow, how many are under way is left to the orders.
static void leave_room(const pl_problem *p, pl_plan *plan)
{
    for (int s = 0; s < plan->n; s++) {
        pl_stage *v = &plan->stage[s];
        const pl_option *o = &p->option[v->option];
        int under_way = plan->n - s < p->rounds ? plan->n - s : p->rounds;
        double takes = 0;
        for (int l = v->first; l < v->first + v->n_layers; l++)
            takes += o->held[l] + under_way * o->place[l];
        if (takes <= o->room) v->under_way = 0;
    }
}

static bool same_stages(const pl_plan *x, const pl_plan *y)
{
    bool same = x->n == y->n;
    for (int s = 0; s < x->n && same; s++)
        same = x->stage[s].option == y->stage[s].option && x->stage[s].first == y->stage[s].first;
    return same;
}

// The table if no gradient is sent before its half ends, as in plans that hide their collectives.
static pl_problem late_table(hb_arena *a, const pl_problem *p)
{
    pl_problem late = *p;
    pl_option *option = hb_copy(a, p->option, sizeof *option * (size_t)p->n_options);
    for (int i = 0; i < p->n_options; i++)
        option[i].sent = option[i].backward;
    late.option = option;
    return late;
}

// The quickest pipeline of that. False: there is none that is another.
static bool find_late(found *f)
{
    const pl_problem *p = f->table;
    hb_arena *own = hb_arena_new();
    pl_problem late = late_table(own, p);
    pl_plan last;
    bool other = pl_search(&late, f->plan.sec * SYN_STAGE_LATE, 1, &last) == PL_OK &&
                 !same_stages(&f->plan, &last);
    hb_arena_free(own);
    if (!other) return false;
    last.sec = pl_value(p, &last);
    leave_room(p, &last);
    f->plan = last;
    f->late = false;
    return isfinite(last.sec);
}

// Notes the quickest pipelines of a table: on different machines, where there are few, else one and
// that with gradients sent last, which takes about as much or more.
static void note_found(searcher *x, const pl_problem *p, const pl_plan *plan, found f)
{
    f.table = hb_copy(x->a, p, sizeof *p);
    for (int i = 0; i < SYN_STAGE_OTHERS && plan[i].n > 0; i++) {
        f.plan = plan[i];
        leave_room(p, &f.plan);
        HB_PUSH(x->a, &x->found, f);
    }
    f.plan = *plan;
    f.late = true;
    if (p->gap > 0) HB_PUSH(x->a, &x->found, f);
}

static pl_problem table_of(const searcher *x, const grouping *g, const syn_chunk *c, int64_t micro,
                           int n, const pl_option *option)
{
    return (pl_problem){.n_layers = x->layers->n,
                        .n_kinds = g->units.n,
                        .n_options = n,
                        .count = g->units.count,
                        .option = option,
                        .border = c->border,
                        .latency = x->m->cluster->network_latency,
                        .rounds = (int)micro,
                        .gap = syn_unit_sets(&g->units) <= SYN_STAGE_SETS ? 0 : SYN_STAGE_GAP,
                        .least_stages = 2,
                        .most_stages = IR_MAX_STAGES};
}

// The quickest pipelines with these groups and micro-batches; again: stages may compute their
// blocks again. Its seconds, INFINITY if none is near the best; then, if not again, whether memory
// is why.
static double look_at(searcher *x, const grouping *g, int64_t micro, bool again, bool *tight)
{
    const syn_chunk *c = chunk_of(x, micro, again);
    int most = 2 * g->group.n + 1;
    pl_option *option = HB_ARRAY(x->a, pl_option, most);
    found f = {.group = HB_ARRAY(x->a, int, most),
               .mesh = HB_ARRAY(x->a, syn_mesh_choice, most),
               .again = HB_ARRAY(x->a, bool, most),
               .micro = micro};
    double worth = fmin(x->lead_sec * SYN_STAGE_NEAR, x->best * SYN_STAGE_FAR);
    *tight = false;
    if (!c) return INFINITY;
    int n = options_of(x, g, again, worth, option, &f);
    *tight = n == 0;
    if (n == 0) return INFINITY;
    pl_problem p = table_of(x, g, c, micro, n, option);
    pl_plan plan[SYN_STAGE_OTHERS] = {{0}};
    pl_status s = pl_search(&p, worth, p.gap > 0 ? 1 : SYN_STAGE_OTHERS, plan);
    say_table(x, &p, again, plan);
    if (s != PL_OK) {
        *tight = !again && s == PL_NONE && memory_binds(x, &p, worth);
        return INFINITY;
    }
    note_found(x, &p, plan, f);
    x->best = fmin(x->best, plan->sec);
    return plan->sec;
}

// Fewer and fewer micro-batches, from one row a machine on, or from so many times `near`, until two
// numbers do no better, or one is far behind; as many as `near` are looked at (0: none is).
static double look_at_all(searcher *x, const grouping *g, int64_t near)
{
    double best = INFINITY;
    int64_t most = 1, wish = x->o->micro_batches;
    int worse = 0;
    while (most * 2 * g->least <= x->step->batch && x->step->batch % (most * 2) == 0 &&
           (near == 0 || most < SYN_STAGE_MORE * near))
        most *= 2;
    for (int64_t k = wish > 0 ? wish : most; k > 0 && worse < 2 && !over(x); k /= 2) {
        bool tight;
        double sec = look_at(x, g, k, false, &tight);
        if ((tight || x->o->vary_blocks) && !x->o->again)
            sec = fmin(sec, look_at(x, g, k, true, &tight));
        bool ahead = isinf(x->best) || (isinf(best) && near > 0 && k > near);
        bool far = sec > best * SYN_STAGE_STEEP;
        worse = sec < best ? 0 : ahead ? worse : far ? 2 : worse + 1;
        best = fmin(best, sec);
        if (wish > 0) break;
    }
    return best;
}

// --- plans ---

static int by_seconds(const void *x, const void *y)
{
    const found *f = x, *g = y;
    double a = f->plan.sec, b = g->plan.sec;
    return a < b ? -1 : a > b ? 1 : f->late - g->late;
}

// Many stages are planned as their costs were: briefly, on all devices of their machines, on the
// same kind of mesh.
static bool many(const found *f)
{
    return f->plan.n > SYN_STAGE_MOVES;
}

// Which devices a pipeline's stages have.
static bool take_devices(searcher *x, const found *f, syn_stage_wish *wish, cost_model *model,
                         int **rank)
{
    hb_arena *a = x->a;
    int group[IR_MAX_STAGES];
    for (int s = 0; s < f->plan.n; s++)
        group[s] = f->group[f->plan.stage[s].option];
    bool **device = syn_groups_place(a, x->groups, f->plan.n, group);
    for (int s = 0; s < f->plan.n; s++) {
        const pl_stage *v = &f->plan.stage[s];
        syn_mesh_choice mesh = many(f) ? f->mesh[v->option] : SYN_MESH_AUTO;
        wish[s] = (syn_stage_wish){v->first, v->under_way, mesh};
        rank[s] = HB_ARRAY(a, int, x->m->cluster->n_ranks + 1);
        if (!syn_stage_model(a, x->m, device[s], rank[s], &model[s], x->d)) return false;
    }
    return true;
}

// By block: is it computed again, as its stage has it? Layers are blocks where there are such.
static const bool *blocks_again(const searcher *x, const found *f)
{
    if (x->o->again) return x->o->again;
    bool *again = HB_ARRAY(x->a, bool, x->step->n_blocks + 1);
    for (int s = 0; s < f->plan.n; s++) {
        const pl_stage *v = &f->plan.stage[s];
        for (int l = v->first; l < v->first + v->n_layers && l < x->step->n_blocks; l++)
            again[l] = f->again[v->option];
    }
    return again;
}

static ir_graph *variant_of(searcher *x, const found *f)
{
    const bool *again = blocks_again(x, f);
    size_t blocks = (size_t)x->step->n_blocks;
    for (int i = 0; i < x->variants.n; i++)
        if (x->variants.p[i].micro == f->micro &&
            memcmp(x->variants.p[i].again, again, blocks) == 0)
            return x->variants.p[i].g;
    bool any = memchr(again, true, blocks) != NULL;
    if (!any && !x->factors) x->factors = ir_factorize(x->a, x->step);
    ir_graph *g = ir_variant_by(x->a, x->step, x->factors, f->micro, again, x->d);
    if (g) HB_PUSH(x->a, &x->variants, (variant){f->micro, again, g});
    return g;
}

// Seconds of a pipeline by the table if no gradient is sent early; 0: it does not fit then.
static double late_seconds(const found *f)
{
    hb_arena *own = hb_arena_new();
    pl_problem late = late_table(own, f->table);
    pl_plan plan = f->plan;
    double sec = pl_value(&late, &plan);
    hb_arena_free(own);
    return isfinite(sec) ? sec : 0;
}

static syn_staged_result plan_found(searcher *x, hb_arena *a, const found *f)
{
    syn_staged_result r = {.status = SYN_INFEASIBLE};
    syn_stage_wish wish[IR_MAX_STAGES];
    cost_model model[IR_MAX_STAGES];
    int *rank[IR_MAX_STAGES];
    syn_options o = *x->o;
    o.all_devices = o.all_devices || many(f);
    o.brief = many(f);
    set_time_left(x, &o);
    ir_graph *v = variant_of(x, f);
    if (!v || !take_devices(x, f, wish, model, rank)) return r;
    syn_known_stages *known = x->o->pins ? syn_known_stages_new(a) : x->stages;
    double among = many(f) ? late_seconds(f) : 0;
    return syn_try_stages(a, v, x->m->cluster, f->plan.n, wish, model, rank, &o, among, known,
                          x->d);
}

// Plans a pipeline in full. Whether it takes the lead.
static bool try_plan(searcher *x, hb_arena *a, const found *f)
{
    syn_staged_result r = plan_found(x, a, f);
    if (x->o->log && r.plan)
        fprintf(x->o->log, "stages: %d planned: %.6g ms, %.6g by the table\n", f->plan.n,
                r.plan->predicted_sec * 1e3, f->plan.sec * 1e3);
    x->planned = r.plan ? r.plan->predicted_sec : HUGE_VAL;
    if (!r.plan && !x->lead.plan) x->lead.why = hb_str_n(x->a, r.why.p, r.why.n);
    if (!r.plan || r.plan->predicted_sec >= x->lead_sec) return false;
    x->lead = r;
    x->lead_sec = r.plan->predicted_sec;
    return true;
}

// The plan with one layer more in a stage and one less in the one before, or the other way round.
static bool move_layer(const found *f, int border, bool up, found *out)
{
    *out = *f;
    pl_stage *lower = &out->plan.stage[border - 1], *upper = &out->plan.stage[border];
    int by = up ? -1 : 1;
    if ((up ? lower : upper)->n_layers < 2) return false;
    lower->n_layers += by;
    upper->first += by;
    upper->n_layers -= by;
    out->plan.sec = pl_value(f->table, &out->plan);
    if (isinf(out->plan.sec)) return false;
    leave_room(f->table, &out->plan);
    return true;
}

// Layers are moved over borders as long as that gains, where stages are few.
static void move_layers(searcher *x, found *f)
{
    bool gains = !many(f);
    for (int tries = 0; gains && tries < SYN_STAGE_MOVES && !over(x);) {
        gains = false;
        for (int i = 2; i < 2 * f->plan.n && tries < SYN_STAGE_MOVES && !over(x); i++) {
            found g;
            if (!move_layer(f, i / 2, i % 2, &g)) continue;
            if (g.plan.sec > f->plan.sec * SYN_STAGE_FAR) continue;
            tries++;
            if (!try_plan(x, x->of_lead, &g)) continue;
            *f = g;
            gains = true;
        }
    }
}

// Asks once for the plan without stages, if it may take as little as tables promise.
static void ask_whole(searcher *x)
{
    if (!x->whole || x->asked > 0 || isinf(x->best)) return;
    x->asked = x->best * SYN_STAGE_NEAR;
    x->lead_sec = fmin(x->lead_sec, x->whole->ask(x->whole->ctx, x->asked));
}

// Is a plan without stages faster than the best with stages?
static bool whole_leads(const searcher *x)
{
    return x->whole && x->lead_sec > x->asked &&
           isfinite(x->whole->ask(x->whole->ctx, x->lead_sec));
}

static bool has_part(const searcher *x, const found *f)
{
    bool part = false;
    for (int s = 0; s < f->plan.n; s++)
        part = part || !x->groups->of.p[f->group[f->plan.stage[s].option]].take;
    return part;
}

// Does a pipeline count? Where there are parts, those without have been looked at.
static bool counts(const searcher *x, const found *f)
{
    return f->late || !x->parts || has_part(x, f);
}

// The next pipeline to plan, number i: sorted from there on. NULL: none is near the best.
static const found *next_found(searcher *x, int i)
{
    while (i < x->found.n) {
        found *f = &x->found.p[i];
        qsort(f, (size_t)(x->found.n - i), sizeof *f, by_seconds);
        if (f->plan.sec > x->lead_sec * SYN_STAGE_NEAR) return NULL;
        if (!f->late) return f;
        if (find_late(f) && counts(x, f)) continue;
        memmove(f, f + 1, sizeof *f * (size_t)(x->found.n - i - 1));
        x->found.n--;
    }
    return NULL;
}

// Plans the quickest pipelines of tables in full, from number `first` of them on: some, or until
// one takes about what its table says. They are out of the list then.
static void plan_best(searcher *x, int first, bool some)
{
    int n = 0;
    bool more = true;
    if (x->found.n == first) return;
    ask_whole(x);
    for (; n < SYN_STAGE_PLANS && more; n++) {
        if ((x->lead.plan && over(x)) || hb_diag_count(x->d) > 0) break;
        const found *f = next_found(x, first + n);
        if (!f) break;
        hb_arena *a = hb_arena_within(x->a);
        bool leads = try_plan(x, a, f);
        more = some || x->planned > f->plan.sec * SYN_STAGE_NEAR;
        if (!leads) {
            hb_arena_free(a);
            continue;
        }
        if (x->of_lead) hb_arena_free(x->of_lead);
        x->of_lead = a;
        x->lead_found = *f;
    }
    found *f = x->found.p + first;
    memmove(f, f + n, sizeof *f * (size_t)(x->found.n - first - n));
    x->found.n -= n;
}

// The same groups and parts of machines, where what is known bounds what these may take.
static void look_at_parts(searcher *x, const grouping *machines)
{
    grouping all = *machines;
    adding to = {x, &all};
    int n = 0;
    all.units = syn_units_of_parts(x->groups, SYN_STAGE_PARTS);
    all.group.p = hb_copy(x->a, all.group.p, sizeof *all.group.p * (size_t)all.group.n);
    all.group.cap = all.group.n;
    if (all.units.n == 0 || over(x) || !syn_parts_of(x->groups, &all.units, add_part, &to)) return;
    x->found.n = 0;
    x->parts = true;
    (void)look_at_all(x, &all, x->lead.plan ? x->lead_found.micro : 0);
    for (int i = 0; i < x->found.n; i++)
        if (counts(x, &x->found.p[i])) x->found.p[n++] = x->found.p[i];
    x->found.n = n;
    plan_best(x, 0, true);
}

// Is the quickest pipeline of those from number `first` on one of so small micro-batches that
// larger groups, which have fewer, seldom do better: of one row a machine?
static bool one_row(const searcher *x, int first, int machines)
{
    const found *best = NULL;
    for (int i = first; i < x->found.n; i++)
        if (!best || x->found.p[i].plan.sec < best->plan.sec) best = &x->found.p[i];
    return best && best->micro * machines >= x->step->batch;
}

// Groups of one size after the other. The quickest pipelines of one are planned once the next size
// does no better, or is not likely to: what is known then bounds what others may take. At the end
// others that may be quicker still.
static void look_at_groups(searcher *x)
{
    double best = INFINITY;
    int most = 0, worse = 0;
    const syn_units machines = syn_units_of_machines(x->groups);
    double sets = syn_unit_sets(&machines);
    for (int k = 0; k < machines.n; k++)
        most = machines.count[k] > most ? machines.count[k] : most;
    if (sets <= SYN_STAGE_SETS) {
        grouping any = {.units = machines};
        if (!any_groups(x, sets <= SYN_STAGE_MIXED, &any)) return;
        if (any.group.n > 0) (void)look_at_all(x, &any, 0);
        plan_best(x, 0, true);
        look_at_parts(x, &any);
        return;
    }
    double last = INFINITY;
    int waits = 0; // those from there on are not planned yet
    for (int n = 1; n <= most && worse < 2 && !over(x); n *= 2) {
        grouping equal = {.units = machines};
        if (!equal_groups(x, n, &equal)) return;
        int before = x->found.n;
        double sec = look_at_all(x, &equal, 0);
        bool far = isfinite(sec) && sec > best * SYN_STAGE_STEEP;
        worse = sec < best ? 0 : isinf(x->best) ? worse : far ? 2 : worse + 1;
        best = fmin(best, sec);
        bool better = sec * SYN_STAGE_NEAR < last;
        if (better) waits = before;
        if (!better || one_row(x, before, n)) {
            plan_best(x, waits, false);
            waits = x->found.n;
        }
        last = sec;
    }
    plan_best(x, 0, true);
}

syn_staged_result syn_search_stages(hb_arena *a, ir_graph *step, const cost_model *m,
                                    const syn_options *o, double worth, const syn_whole_plan *whole,
                                    hb_diag *d)
{
    double begin = pool_now();
    searcher x = {.a = a,
                  .step = step,
                  .m = m,
                  .o = o,
                  .d = d,
                  .best = INFINITY,
                  .lead_sec = worth,
                  .whole = whole,
                  .layers = syn_layers_new(a, step)};
    hb_str few = m->cluster->n_ranks < 2 ? HB_STR("stages want two devices or more")
                                         : HB_STR("stages want two layers or more");
    x.lead = (syn_staged_result){.status = SYN_INFEASIBLE, .why = few};
    if (!x.layers || m->cluster->n_ranks < 2) return x.lead;
    if (o->time_limit_sec > 0) x.deadline = begin + o->time_limit_sec;
    x.lead.why = (hb_str){0};
    x.why = HB_STR("no stages fit in memory");
    x.groups = syn_groups_new(a, m, d);
    x.stages = syn_known_stages_new(a);
    look_at_groups(&x);
    if (isinf(worth) && isinf(x.best)) x.lead.why = x.why;
    if (x.lead.plan && hb_diag_count(d) == 0) move_layers(&x, &x.lead_found);
    if (x.lead.plan) x.lead.plan->plan_sec = pool_now() - begin;
    if (x.lead.plan && whole_leads(&x)) x.lead = (syn_staged_result){.status = SYN_INFEASIBLE};
    return x.lead;
}
