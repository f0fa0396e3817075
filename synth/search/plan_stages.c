#include "synth/search/plan_stages.h"

#include <math.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/fuse.h"
#include "synth/plan/buffer_names.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/candidates.h"
#include "synth/search/equal_stages.h"
#include "synth/search/prove_stages.h"
#include "synth/search/settle.h"
#include "synth/search/stage_orders.h"

typedef struct known_stage {
    const ir_graph *g;
    const syn_pins *pins; // NULL: none
    const cl_cluster *machines;
    syn_weight_gradients weights;
    syn_mesh_choice mesh; // that was asked for
    bool brief;
    int depth; // that it was planned for
    syn_result result;
} known_stage;

struct syn_known_stages {
    hb_arena *a;
    HB_VEC(known_stage) stage;
};

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
    syn_known_stages *known;
    const syn_pins **pins; // by stage; NULL: none
    double deadline;       // 0: none
    double among;          // seconds with weight gradients among the others; 0: unknown
    // By stage: did it fit in the last variant, and did memory shape its plan? NULL: not asked for,
    // and the first that does not fit ends the try.
    bool *fits, *tight;
} planner;

static hb_str stage_text(const planner *x, int s, hb_str why)
{
    return hb_fmt(x->a, "stage %d (layers from %d on): %.*s", s, x->wish[s].first_layer,
                  HB_ARG(why));
}

// Time is over, or the search interrupted.
static bool over(const planner *x)
{
    return (x->o->interrupted && *x->o->interrupted) ||
           (x->deadline > 0 && pool_now() > x->deadline);
}

static const syn_pins *pins_of(const planner *x, int s)
{
    return x->pins ? x->pins[s] : NULL;
}

// Is a stage's plan one of stage t, too?
static bool equal_stages(const planner *x, const syn_staged *p, int s, int t)
{
    const ir_graph *g = p->cut->graph[s];
    return syn_same_graph(g, p->cut->graph[t]) &&
           syn_same_machines(x->models[s].cluster, x->models[t].cluster) &&
           syn_pins_same(pins_of(x, s), pins_of(x, t), g->tensors.n);
}

// Micro-batches under way that a stage is planned with: as many as 1F1B has.
static int depth_of(const planner *x, int s, int k)
{
    int most = x->wish[s].under_way > 0 ? x->wish[s].under_way : x->n - s;
    return k < 2 ? 0 : k < most ? k : most;
}

// The stage that is planned for stage s: the first one that is equal to it, which has room for as
// many micro-batches as any of them.
static int planned_for(const planner *x, syn_staged *p, int s)
{
    ir_graph **g = p->cut->graph;
    int k = g[s]->micro_batches, depth = depth_of(x, s, k);
    g[s]->depth = depth;
    for (int t = 0; t < s; t++)
        if (depth <= g[t]->depth && equal_stages(x, p, s, t)) return t;
    return s;
}

bool syn_stage_model(hb_arena *a, const cost_model *m, const bool *device, int *rank,
                     cost_model *out, hb_diag *d)
{
    cl_cluster *part = cl_part(a, m->cluster, device, rank);
    int most = 1;
    for (int k = 0; k < part->n_machines; k++) {
        part->machine[k].peer = false; // one-sided puts know no stages
        most = part->machine[k].n_ranks > most ? part->machine[k].n_ranks : most;
    }
    *out = *m;
    out->cluster = part;
    out->port_bandwidth = m->cluster->n_machines > 1 ? m->cluster->network_bandwidth / most
                                                     : m->cluster->machine[0].link_bandwidth;
    // Each has curves of its own, which look names up by class.
    if (m->curves) out->curves = cost_curves_read(a, m->cluster->curves.p, d);
    return !m->curves || out->curves;
}

syn_known_stages *syn_known_stages_new(hb_arena *a)
{
    syn_known_stages *k = HB_NEW(a, syn_known_stages);
    k->a = a;
    return k;
}

// A known plan for this stage, with as many places as it wants: the same stage's or, where memory
// was no matter, that of one with more or fewer, if it fits. NULL program: there is none, with
// fewer neither. False: not known.
static bool take_known(planner *x, const known_stage *like, ir_graph *g, syn_result *out)
{
    for (int i = 0; i < x->known->stage.n; i++) {
        const known_stage *k = &x->known->stage.p[i];
        bool ok = k->result.status == SYN_OK;
        if (k->weights != like->weights || k->mesh != like->mesh || k->brief != like->brief ||
            !syn_same_machines(like->machines, k->machines) || !syn_same_graph(g, k->g) ||
            !syn_pins_same(like->pins, k->pins, g->tensors.n) ||
            (ok ? k->result.tight && k->depth != g->depth : k->depth > g->depth))
            continue;
        *out = k->result;
        if (!ok) return true;
        out->program = syn_program_for(x->a, k->result.program, g, like->machines);
        if (k->depth == g->depth) return true;
        syn_arena_places(out->program);
        if (pool_overflow(out->program) <= 0) return true;
    }
    return false;
}

// The stage's search. What comes in is no work of the stage: it is counted in the search, so that
// no more comes than is read, and with the messages.
static syn_result search_stage(planner *x, int s, const known_stage *like)
{
    syn_options o = *x->o;
    const ir_graph *g = like->g;
    o.baselines = false;
    o.weights = like->weights;
    o.pins = like->pins;
    if (o.mesh == SYN_MESH_AUTO) o.mesh = like->mesh;
    if (x->deadline > 0) o.time_limit_sec = fmax(x->deadline - pool_now(), SYN_LEAST_TIME);
    hb_arena *scratch = hb_arena_new();
    const ir_factors *f = ir_factorize(x->known->a, g);
    syn_result res = syn_synthesize(scratch, g, f, &x->models[s], &o);
    if (res.status == SYN_INFEASIBLE && o.mesh != x->o->mesh) {
        o.mesh = x->o->mesh;
        res = syn_synthesize(scratch, g, f, &x->models[s], &o);
    }
    if (res.status == SYN_OK) {
        cost_model own = x->models[s];
        cost_timeline t;
        own.port_bandwidth = 0;
        (void)syn_simulate_plan(res.program, &own, &t);
    }
    // Of the rest of the search only words are wanted.
    if (res.program) res.program = syn_program_kept(x->known->a, res.program);
    res.why = hb_str_n(x->known->a, res.why.p, res.why.n);
    res.space = NULL;
    res.plain = NULL;
    hb_arena_free(scratch);
    return res;
}

// A plan of a stage's graph. It is kept as it was found: it may be placed anew and named.
static syn_result plan_graph(planner *x, syn_staged *p, int s, syn_weight_gradients weights)
{
    ir_graph *g = p->cut->graph[s];
    known_stage k = {.pins = pins_of(x, s),
                     .machines = x->models[s].cluster,
                     .weights = weights,
                     .mesh = x->wish[s].mesh,
                     .brief = x->o->brief,
                     .depth = g->depth};
    if (take_known(x, &k, g, &k.result)) return k.result;
    k.g = syn_graph_for(x->known->a, g);
    k.result = search_stage(x, s, &k);
    p->plan_sec += k.result.plan_sec;
    if (k.result.status == SYN_OK || k.result.status == SYN_INFEASIBLE)
        HB_PUSH(x->known->a, &x->known->stage, k);
    if (k.result.status == SYN_OK)
        k.result.program = syn_program_for(x->a, k.result.program, g, k.machines);
    return k.result;
}

static bool sends_gradients(const syn_staged *p, int s)
{
    for (int i = 0; i < p->cut->ports.n; i++)
        if (p->cut->ports.p[i].from == s && p->cut->ports.p[i].turn == IR_SLOT_BACK) return true;
    return false;
}

// One stage on its machines; weights: where it sends gradients.
static bool plan_stage(planner *x, syn_staged *p, int s, syn_weight_gradients weights,
                       syn_staged_result *r)
{
    int like = planned_for(x, p, s);
    syn_stage *stage = &p->stage[s];
    *stage = (syn_stage){.cluster = x->models[s].cluster,
                         .cluster_rank = x->rank[s],
                         .first_layer = x->wish[s].first_layer};
    if (like < s) {
        const syn_program *q = p->stage[like].program;
        if (q) stage->program = syn_program_for(x->a, q, p->cut->graph[s], stage->cluster);
        if (x->tight) x->tight[s] = x->tight[like];
        p->cut->graph[s]->depth = p->cut->graph[like]->depth; // places of its ring
        return q != NULL;
    }
    syn_result res = plan_graph(x, p, s, sends_gradients(p, s) ? weights : x->o->weights);
    if (x->tight) x->tight[s] = res.tight;
    if (res.status != SYN_OK) {
        r->status = res.status;
        if (r->why.n == 0) r->why = stage_text(x, s, res.why);
        return false;
    }
    stage->program = res.program;
    return true;
}

// Every stage on its machines. False where one does not fit; with `fits`, that is said of each.
static bool plan_each(planner *x, syn_staged *p, syn_weight_gradients weights, syn_staged_result *r)
{
    bool all = true;
    for (int s = 0; s < x->n; s++) {
        hb_str why;
        if (!ir_verify(p->cut->graph[s], &why)) {
            r->status = SYN_FAILED_CHECK;
            r->why = stage_text(x, s, why);
            return false;
        }
        bool fits = plan_stage(x, p, s, weights, r);
        all = all && fits;
        if (x->fits) x->fits[s] = fits;
        if (!fits && (!x->fits || r->status != SYN_INFEASIBLE)) return false;
    }
    return all;
}

// Orders and seconds, from programs as they were planned.
static void order(planner *x, syn_staged *p)
{
    int *most = HB_ARRAY(x->a, int, p->n), least = x->n; // a stage waits for those before it
    p->n_ranks = 0;
    for (int s = 0; s < p->n; s++) {
        syn_program *q = p->stage[s].program;
        int depth = depth_of(x, s, p->g->micro_batches);
        if (p->cut->graph[s]->depth != depth) {
            p->cut->graph[s]->depth = depth;
            syn_arena_places(q);
        }
        if (depth < least) least = depth;
        syn_order_1f1b(x->a, q, least);
        p->stage[s].first_rank = p->n_ranks;
        p->n_ranks += q->mesh->n_ranks;
        most[s] = x->wish[s].under_way;
    }
    syn_choose_orders(x->a, p, most);
}

// A program for each stage with weight gradients behind the sends of its backward part, or apart.
// NULL: as they are.
static syn_program **plan_weights(planner *x, syn_staged *p, syn_weight_gradients weights)
{
    syn_program **new = HB_ARRAY(x->a, syn_program *, p->n);
    bool any = false;
    for (int s = 0; s < p->n && p->g->micro_batches > 1; s++) {
        ir_graph *g = p->cut->graph[s];
        int like = 0, depth = g->depth;
        if (!sends_gradients(p, s)) continue;
        while (like < s && !(new[like] && equal_stages(x, p, s, like)))
            like++;
        if (like < s) {
            new[s] = syn_program_for(x->a, new[like], g, p->stage[s].cluster);
        } else {
            g->depth = depth_of(x, s, g->micro_batches);
            syn_result res = plan_graph(x, p, s, weights);
            new[s] = res.status == SYN_OK ? res.program : NULL;
            g->depth = depth; // that of the program so far
        }
        any = any || new[s];
    }
    return any ? new : NULL;
}

static void take_programs(syn_staged *p, syn_program *const *program)
{
    for (int s = 0; s < p->n; s++) {
        if (!program[s]) continue;
        p->stage[s].program = program[s];
        syn_arena_places(program[s]); // with as many places as the stage has now
    }
}

// A plan before programs of it were replaced.
typedef struct former {
    syn_staged plan;
    int *depth;           // by stage
    syn_slot_part **part; // by stage: its order
} former;

static former former_of(hb_arena *a, const syn_staged *p)
{
    former f = {*p, HB_ARRAY(a, int, p->n), HB_ARRAY(a, syn_slot_part *, p->n)};
    f.plan.stage = hb_copy(a, p->stage, sizeof *p->stage * (size_t)p->n);
    for (int s = 0; s < p->n; s++) {
        const syn_program *q = p->stage[s].program;
        f.depth[s] = p->cut->graph[s]->depth;
        f.part[s] = hb_copy(a, q->order.p, sizeof *q->order.p * (size_t)q->order.n);
    }
    return f;
}

// Programs that were replaced are as they were; others have got orders and places since.
static void restore(syn_staged *p, const former *f)
{
    *p = f->plan;
    for (int s = 0; s < p->n; s++) {
        syn_program *q = p->stage[s].program;
        memcpy(q->order.p, f->part[s], sizeof *q->order.p * (size_t)q->order.n);
        if (p->cut->graph[s]->depth == f->depth[s]) continue;
        p->cut->graph[s]->depth = f->depth[s];
        syn_arena_places(q);
    }
}

// Takes these programs if the plan is faster with them.
static bool faster_with(planner *x, syn_staged *p, syn_program *const *program)
{
    former f = former_of(x->a, p);
    take_programs(p, program);
    order(x, p);
    if (p->predicted_sec < f.plan.predicted_sec) return true;
    restore(p, &f);
    return false;
}

// Stages wait for each other less if gradients are sent first, and less still if weight gradients
// wait until there is time; but inside them less is left to hide collectives, and more is held.
// Takes what is faster: in all stages, where the former may not gain if the latter does, and where
// they are few, in each.
static void move_weights(planner *x, syn_staged *p)
{
    syn_program **one = HB_ARRAY(x->a, syn_program *, p->n);
    bool few = p->n <= SYN_STAGE_MOVES, gains = false;
    for (int k = 0; k < 2 && (few || !gains) && !over(x); k++) {
        syn_weight_gradients w = few == (k > 0) ? SYN_WEIGHTS_APART : SYN_WEIGHTS_LAST;
        syn_program **other = w > x->o->weights ? plan_weights(x, p, w) : NULL;
        if (!other) continue;
        for (int s = 0; s < p->n; s++)
            one[s] = p->stage[s].program;
        gains = faster_with(x, p, other);
        if (gains) other = hb_copy(x->a, one, sizeof *one * (size_t)p->n);
        for (int s = 0; s < p->n && few; s++) {
            memset(one, 0, sizeof *one * (size_t)p->n);
            one[s] = other[s];
            if (one[s] && one[s] != p->stage[s].program) (void)faster_with(x, p, one);
        }
    }
}

// Plans many stages with weight gradients apart. Whether that is clearly faster than among the
// others, by what is expected of that.
static bool plan_apart(planner *x, syn_staged *p)
{
    syn_staged_result r = {.status = SYN_INFEASIBLE};
    if (x->among <= 0 || p->n <= SYN_STAGE_MOVES || p->g->micro_batches < 2 ||
        x->o->weights != SYN_WEIGHTS_AMONG || !plan_each(x, p, SYN_WEIGHTS_APART, &r))
        return false;
    order(x, p);
    return p->predicted_sec * SYN_STAGE_NEAR <= x->among;
}

// The pins of each stage. False after an error was added: the variant lacks what a pin names.
static bool read_pins(planner *x, const ir_graph *g, const ir_stages *cut)
{
    if (!x->o->pins) return true;
    const ir_factors *f = ir_factorize(x->a, g);
    const syn_pins *all = syn_pins_again(x->a, x->o->pins, g, f, x->d);
    x->pins = HB_ARRAY(x->a, const syn_pins *, x->n);
    for (int s = 0; s < x->n && all; s++)
        x->pins[s] =
            syn_pins_part(x->a, all, g, f, cut->graph[s], ir_factorize(x->a, cut->graph[s]));
    return all != NULL;
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
    if (!p->cut || !read_pins(x, g, p->cut)) return r;
    if (!plan_apart(x, p)) {
        if (!plan_each(x, p, x->o->weights, &r)) return r;
        order(x, p);
        move_weights(x, p);
    }
    for (int s = 0; s < x->n; s++)
        p->stage[s].n_layers = (s + 1 < x->n ? first[s + 1] : layers) - first[s];
    r.status = SYN_OK;
    r.plan = p;
    return r;
}

// With so many micro-batches and these blocks computed again, if that is faster than `best`. A try
// that leaves nothing gives its memory back.
static bool try_variant(planner *x, int64_t k, const bool *again, syn_staged_result *best)
{
    planner own = *x;
    own.a = hb_arena_new();
    int known = x->known->stage.n;
    ir_graph *g = ir_variant(own.a, x->step, k, again, x->d);
    syn_staged_result r = {.status = SYN_INFEASIBLE};
    if (g) r = plan(&own, g);
    bool better = !best->plan || (r.plan && r.plan->predicted_sec < best->plan->predicted_sec);
    r.why = hb_str_n(x->a, r.why.p, r.why.n);
    if (better) *best = r;
    if ((r.plan && better) || x->known->stage.n > known)
        hb_arena_join(x->a, own.a);
    else
        hb_arena_free(own.a);
    return better;
}

// All blocks of a stage computed again. False where nothing changes.
static bool set_again(const planner *x, int s, bool *again)
{
    int end = s + 1 < x->n ? x->wish[s + 1].first_layer : x->step->n_blocks;
    bool any = false;
    for (int b = x->wish[s].first_layer; b < end && b < x->step->n_blocks; b++) {
        any = any || !again[b];
        again[b] = true;
    }
    return any;
}

// Likewise of all that did not fit. False where one of them has done so.
static bool set_unfit_again(const planner *x, bool *again)
{
    bool some = false;
    for (int s = 0; s < x->n; s++) {
        if (x->fits[s]) continue;
        if (!set_again(x, s, again)) return false;
        some = true;
    }
    return some;
}

// Stages that do not fit compute their blocks again, layers being blocks where there are such;
// where that is asked for, others too that memory shapes, one after the other, while it gains.
static syn_staged_result plan_blocks(planner *x, int64_t k)
{
    syn_staged_result best = {.status = SYN_INFEASIBLE}, first;
    bool *again = HB_ARRAY(x->a, bool, x->step->n_blocks + 1);
    bool vary = !x->o->again && x->step->n_blocks > 1;
    size_t each = (size_t)x->n;
    x->fits = memset(HB_ARRAY(x->a, bool, x->n), true, each);
    x->tight = HB_ARRAY(x->a, bool, x->n);
    (void)try_variant(x, k, vary ? again : x->o->again, &best);
    first = best;
    while (vary && !best.plan && best.status == SYN_INFEASIBLE && !over(x) &&
           set_unfit_again(x, again))
        (void)try_variant(x, k, again, &best);
    if (!best.plan) return first;
    bool *tight = hb_copy(x->a, x->tight, each);
    for (int s = 0; s < x->n && vary && x->o->vary_blocks && !over(x); s++) {
        bool *other = hb_copy(x->a, again, sizeof *again * (size_t)(x->step->n_blocks + 1));
        if (!tight[s] || !set_again(x, s, other) || !try_variant(x, k, other, &best)) continue;
        memcpy(tight, x->tight, each);
        again = other;
    }
    return best;
}

// More and more micro-batches, until two numbers in a row do no better, or a step cannot have them.
// Stages of different numbers are never alike: each number has memory of its own.
static syn_staged_result choose(planner *x)
{
    syn_staged_result best = {.status = SYN_INFEASIBLE};
    hb_arena *kept = NULL; // the best plan's
    int worse = 0;
    for (int64_t k = 1; worse < 2 && k <= x->step->batch; k *= 2) {
        if (x->step->batch % k != 0 || (best.plan && over(x))) break;
        planner own = *x;
        own.a = hb_arena_new();
        own.known = syn_known_stages_new(own.a);
        own.d = k > 1 ? hb_diag_new(x->a) : x->d;
        syn_staged_result r = plan_blocks(&own, k);
        bool wrong = hb_diag_count(own.d) > 0;
        bool better = r.plan && (!best.plan || r.plan->predicted_sec < best.plan->predicted_sec);
        r.why = hb_str_n(x->a, r.why.p, r.why.n);
        if (!wrong && (better || (!best.plan && best.why.n == 0))) best = r;
        if (!wrong && better) {
            hb_arena_free(kept);
            kept = own.a;
        } else {
            hb_arena_free(own.a);
        }
        if (wrong) break;
        worse = better ? 0 : best.plan ? worse + 1 : 0;
    }
    if (kept) hb_arena_join(x->a, kept);
    return best;
}

syn_staged_result syn_plan_stages(hb_arena *a, ir_graph *step, const cl_cluster *cluster, int n,
                                  const syn_stage_wish *wish, const cost_model *models,
                                  int *const *rank, const syn_options *o, hb_diag *d)
{
    planner x = {.a = a,
                 .step = step,
                 .cluster = cluster,
                 .n = n,
                 .wish = wish,
                 .models = models,
                 .rank = rank,
                 .o = o,
                 .d = d,
                 .known = syn_known_stages_new(a)};
    if (o->time_limit_sec > 0) x.deadline = pool_now() + o->time_limit_sec;
    syn_staged_result r = o->micro_batches > 0 ? plan_blocks(&x, o->micro_batches) : choose(&x);
    syn_finish_stages(a, &r);
    return r;
}

syn_staged_result syn_try_stages(hb_arena *a, const ir_graph *variant, const cl_cluster *cluster,
                                 int n, const syn_stage_wish *wish, const cost_model *models,
                                 int *const *rank, const syn_options *o, double among,
                                 syn_known_stages *known, hb_diag *d)
{
    planner x = {.a = a,
                 .among = among,
                 .cluster = cluster,
                 .n = n,
                 .wish = wish,
                 .models = models,
                 .rank = rank,
                 .o = o,
                 .d = d,
                 .known = known};
    if (o->time_limit_sec > 0) x.deadline = pool_now() + o->time_limit_sec;
    return plan(&x, variant);
}

void syn_finish_stages(hb_arena *a, syn_staged_result *r)
{
    if (!r->plan) return;
    syn_program **program = HB_ARRAY(a, syn_program *, r->plan->n);
    for (int s = 0; s < r->plan->n; s++)
        syn_name_buffers(program[s] = r->plan->stage[s].program);
    syn_name_kernels(program, r->plan->n);
    if (syn_prove_stages(a, r->plan, &r->why)) return;
    r->status = SYN_FAILED_CHECK;
    r->plan = NULL;
}
