#include "synth/search/fixed_states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/search/boards.h"
#include "synth/search/found_plans.h"
#include "synth/search/live_bound.h"
#include "synth/search/other_space.h"
#include "synth/search/searches.h"
#include "synth/search/simulated.h"
#include "synth/search/slack.h"
#include "synth/space/space_solve.h"

// What may be fixed: the state that a parameter is kept in, the sharding of its update, or that of
// another op: of what else is done behind the gradients, or a product.
typedef enum { KEPT, UPDATED, DONE } sort;

typedef struct choosable {
    sort sort;
    int tensor, node; // one of them is -1
    int var, n;       // variable of the problem; its states or shardings
    int kind;         // of tensors or nodes
    int n_alike;      // how many are of that kind; 0: another one stands for them
} choosable;

// The costs of a variable that is fixed. What is alike shares them, so that equal layers stay
// equal, and they stay where they are, for the memo.
typedef struct one_state {
    const void *domain; // keeps or shardings
    const double *all;  // the variable's own costs; NULL: nothing
    int state;
    const double *costs; // NULL: it cannot be in that state
} one_state;

typedef struct fixing {
    pool *p;
    hb_arena *arena;
    candidate best;
    syn_space *s; // its
    ms_warm *warm;
    ms_memo *memo;
    const ms_links *links; // of the space's problem
    HB_VEC(choosable) list;
    HB_VEC(one_state) costs;
    double more;          // work after a gain
    double work;          // that may be done in all
    double far;           // times the plan's additive cost: what is dearer is not simulated
    const double **unary; // of the space, but for what is fixed already
    int *x;               // the plan's assignment of the space's variables
    bool anywhere;  // all may be otherwise beside what is fixed, and not what is near it alone
    bool as_it_was; // ops, too, are fixed: as they are in the plan that this began at
    found_plans found;
} fixing;

// A parameter that could be kept in another state.
static bool is_free(const syn_space *s, int tensor)
{
    return s->g->tensors.p[tensor].kind == IR_PARAM && s->tensor_var[tensor] >= 0 &&
           s->keeps[tensor]->n > 1;
}

// An op that updates such a parameter, and its moments with it.
static bool may_move(const syn_space *s, int node)
{
    const ir_node *n = &s->g->nodes.p[node];
    return (ir_op_of(n->op)->flags & IR_IN_PLACE) && is_free(s, n->in[0]) &&
           s->node_var[node] >= 0 && s->shardings[node]->n > 1;
}

// Much of the step's work, whose operands and result may be cut in several ways.
static bool is_product(const ir_node *n)
{
    ir_role role = ir_op_of(n->op)->role;
    return role == IR_ROLE_matmul || role == IR_ROLE_matmul_dw || role == IR_ROLE_conv ||
           role == IR_ROLE_experts || role == IR_ROLE_experts_dw;
}

// Another op that is worth a try: of what is done behind the gradients, or a product.
static bool may_differ(const syn_space *s, int node)
{
    const ir_node *n = &s->g->nodes.p[node];
    return (n->phase == IR_UPDATE || is_product(n)) && s->node_var[node] >= 0 &&
           s->shardings[node]->n > 1 && !may_move(s, node);
}

static bool alike(const choosable *a, const choosable *b)
{
    return a->kind == b->kind && a->sort == b->sort;
}

static void add(fixing *f, choosable x)
{
    x.n_alike = 1;
    for (int i = 0; i < f->list.n; i++) {
        choosable *y = &f->list.p[i];
        if (y->n_alike == 0 || !alike(y, &x)) continue;
        y->n_alike++;
        x.n_alike = 0;
    }
    HB_PUSH(f->arena, &f->list, x);
}

static void list_all(fixing *f)
{
    const syn_space *s = f->s;
    for (int t = 0; t < s->g->tensors.n; t++)
        if (is_free(s, t))
            add(f, (choosable){.sort = KEPT,
                               .tensor = t,
                               .node = -1,
                               .var = s->tensor_var[t],
                               .n = s->states[t]->n,
                               .kind = s->kinds->kept[t]});
    for (int i = 0; i < s->g->nodes.n; i++)
        if (may_move(s, i) || may_differ(s, i))
            add(f, (choosable){.sort = may_move(s, i) ? UPDATED : DONE,
                               .tensor = -1,
                               .node = i,
                               .var = s->node_var[i],
                               .n = s->shardings[i]->n,
                               .kind = s->kinds->node[i]});
}

static const double *costs_in_state(fixing *f, const choosable *o, int state)
{
    const syn_space *s = f->s;
    const syn_keeps *keeps = o->node < 0 ? s->keeps[o->tensor] : NULL;
    int n = keeps ? keeps->n : o->n;
    one_state x = {keeps ? (const void *)keeps : s->shardings[o->node], s->problem.unary[o->var],
                   state, NULL};
    for (int i = 0; i < f->costs.n; i++) {
        const one_state *y = &f->costs.p[i];
        if (y->domain == x.domain && y->all == x.all && y->state == state) return y->costs;
    }
    double *own = HB_ARRAY(f->arena, double, n);
    for (int i = 0; i < n; i++) {
        bool is = keeps ? keeps->keep[i].state == state : i == state;
        own[i] = !is ? HUGE_VAL : x.all ? x.all[i] : 0;
        if (isfinite(own[i])) x.costs = own;
    }
    HB_PUSH(f->arena, &f->costs, x);
    return x.costs;
}

static void set_free(const fixing *f, int node, const double **unary)
{
    const syn_space *s = f->s;
    int var = s->node_var[node];
    if (var >= 0 && !may_move(s, node)) unary[var] = s->problem.unary[var];
}

// The ops that read a parameter and those that make its gradient, as large as it is: where they are
// fixed, they are free again when it is kept otherwise.
static void free_beside(const fixing *f, int tensor, const double **unary)
{
    const syn_space *s = f->s;
    const ir_graph *g = s->g;
    int64_t size = ir_elements(&g->tensors.p[tensor]);
    for (int u = s->first_use[tensor]; u < s->first_use[tensor + 1]; u++) {
        int reader = s->uses[u][0];
        set_free(f, reader, unary);
        const ir_node *n = &g->nodes.p[reader];
        if (!(ir_op_of(n->op)->flags & IR_IN_PLACE)) continue;
        for (int t = n->in [n->n_out]; ir_elements(&g->tensors.p[t]) == size;) {
            int maker = g->tensors.p[t].producer;
            if (maker < 0) break;
            set_free(f, maker, unary);
            if (g->nodes.p[maker].n_in == 0) break;
            t = g->nodes.p[maker].in[0];
        }
    }
}

// Is one of the list what was fixed, or of its kind?
static bool is_meant(const fixing *f, const fixed_one *x, int i)
{
    return i == x->at || (i > x->at && !x->alone && alike(&f->list.p[i], &f->list.p[x->at]));
}

// Costs with one, or all of its kind, in a state, beside what is fixed already; false: they cannot
// be.
static bool fix(fixing *f, const found_plan *of, const double **unary)
{
    for (int k = 0; k < of->n; k++)
        for (int i = of->of[k].at; i < f->list.n; i++) {
            const choosable *o = &f->list.p[i];
            if (!is_meant(f, &of->of[k], i)) continue;
            const double *own = costs_in_state(f, o, of->of[k].state);
            if (!own) return false;
            if (f->as_it_was && o->node < 0) free_beside(f, o->tensor, unary);
            unary[o->var] = own;
        }
    return true;
}

// The best choice with some costs, unless it is dearer than `beyond`.
static bool solve_fixed(fixing *f, const double **unary, double beyond, found_plan *out)
{
    ms_problem problem = f->s->problem;
    double lower = 0;
    problem.unary = unary;
    problem.memo = f->memo;
    problem.beyond = beyond;
    f->p->n_solved++;
    f->p->work += pool_states(f->s);
    return ms_solve_near(f->arena, &problem, 0, SYN_FIX_NEAR, &f->warm, out->x, &out->additive,
                         &lower) == MS_OPTIMAL;
}

// Likewise, where all that is farther than a few edges from what is fixed stays as it is in the
// plan: in little time, and what it hides stays hidden.
static bool solve_around(fixing *f, const double **unary, found_plan *out)
{
    hb_arena *scratch = hb_arena_new();
    ms_problem problem = f->s->problem;
    int *from = HB_ARRAY(scratch, int, f->list.n + 1), n = 0;
    double states = 0;
    problem.unary = unary;
    for (int i = 0; i < f->list.n; i++)
        if (is_meant(f, &out->of[0], i) || (out->n > 1 && is_meant(f, &out->of[1], i)))
            from[n++] = f->list.p[i].var;
    memcpy(out->x, f->x, sizeof *out->x * (size_t)problem.n_vars);
    ms_status status =
        ms_solve_around(&problem, f->links, from, n, SYN_FIX_REACH, SYN_FIX_NEAR, out->x, &states);
    f->p->n_solved++;
    f->p->work += states;
    if (status == MS_OPTIMAL) out->additive = ms_value(&f->s->problem, out->x);
    hb_arena_free(scratch);
    return status == MS_OPTIMAL;
}

// The best choice with that fixed.
static void search_fixed(fixing *f, found_plan want)
{
    hb_arena *scratch = hb_arena_new();
    int n = f->s->problem.n_vars;
    const double **unary = hb_copy(scratch, f->unary, sizeof *unary * (size_t)n);
    double beyond = f->best.choice.additive * f->far;
    want.x = HB_ARRAY(scratch, int, n + 1);
    bool found = fix(f, &want, unary) && (f->anywhere ? solve_fixed(f, unary, beyond, &want)
                                                      : solve_around(f, unary, &want));
    if (found && want.additive < beyond) found_keep(&f->found, n, want);
    hb_arena_free(scratch);
}

static bool enough(const fixing *f)
{
    return f->p->work >= f->work || pool_out_of_time(f->p);
}

static int state_of(const fixing *f, const choosable *o)
{
    const syn_choice *c = &f->best.choice;
    return o->node < 0 ? c->keep[o->tensor].state : c->sharding[o->node];
}

// Is one, or are all of its kind, in a state already?
static bool is_so(const fixing *f, int at, int state, bool alone)
{
    const choosable *o = &f->list.p[at];
    bool so = state_of(f, o) == state;
    for (int i = at + 1; i < f->list.n && so && !alone; i++)
        so = !alike(&f->list.p[i], o) || state_of(f, &f->list.p[i]) == state;
    return so;
}

// What is tried in turn, the next where one brings nothing: states with what is near chosen again,
// and with all else, until that is in vain once; updates and other ops; each alone, not all of its
// kind together, as there are many of them; states with each way of updating them; two states at
// once.
typedef enum {
    STATES,
    STATES_ANYWHERE,
    UPDATES,
    OPS,
    STATES_ALONE,
    UPDATES_ALONE,
    STATES_UPDATED,
    STATES_TOGETHER,
    N_PHASES
} phase;

static bool is_alone(phase x)
{
    return x == STATES_ALONE || x == UPDATES_ALONE;
}

static void search_all(fixing *f, phase x)
{
    bool alone = is_alone(x);
    sort of = x == OPS ? DONE : x == UPDATES || x == UPDATES_ALONE ? UPDATED : KEPT;
    f->anywhere = x == STATES_ANYWHERE;
    f->found.round++;
    for (int k = 0; k < f->list.n && !enough(f); k++) {
        const choosable *o = &f->list.p[k];
        if ((alone ? o->n_alike == 1 : o->n_alike == 0) || o->sort != of) continue;
        for (int i = 0; i < o->n && !enough(f); i++)
            if (!is_so(f, k, i, alone))
                search_fixed(f, (found_plan){.of = {{k, i, alone}}, .n = 1});
    }
}

// Simulates the cheapest; what the best of these has fixed stays so. Whether one is better.
static bool simulate_found(fixing *f)
{
    const found_plan *better = found_simulate(&f->found, f->p, &f->best);
    if (!better) return false;
    (void)fix(f, better, f->unary);
    f->best = f->p->best;
    memcpy(f->x, better->x, sizeof *f->x * (size_t)f->s->problem.n_vars);
    return true;
}

// Beside what was fixed as the best of a round, the others that were faster than before, `sec`, by
// themselves: the fastest first, each where it gains.
static void fix_others(fixing *f, double sec)
{
    hb_arena *scratch = hb_arena_new();
    bool *done = HB_ARRAY(scratch, bool, f->list.n + 1);
    found_plan *of = HB_ARRAY(scratch, found_plan, f->found.list.n + 1);
    int n = 0;
    for (int i = 0; i < f->found.list.n; i++)
        if (f->found.list.p[i].round == f->found.round && f->found.list.p[i].sec < sec)
            of[n++] = f->found.list.p[i];
    if (n > 1) qsort(of, (size_t)n, sizeof *of, found_faster);
    for (int i = 0; i < n && !enough(f); i++) {
        int at = of[i].of[0].at;
        bool again = i == 0 || done[at];
        done[at] = true;
        if (again) continue;
        search_fixed(f, (found_plan){.of = {of[i].of[0], of[i].of[1]}, .n = of[i].n});
        (void)simulate_found(f);
    }
    hb_arena_free(scratch);
}

// The op of the list that updates a parameter, -1: none.
static int update_of(const fixing *f, int tensor)
{
    for (int i = 0; i < f->list.n; i++) {
        const choosable *o = &f->list.p[i];
        if (o->sort == UPDATED && f->s->g->nodes.p[o->node].in[0] == tensor) return i;
    }
    return -1;
}

// Parameters in other states, updated in every way: what is best in a state by itself may be an
// update that sends less, where one that computes more would hide what is sent.
static void search_updated(fixing *f)
{
    f->anywhere = false;
    f->found.round++;
    for (int k = 0; k < f->list.n; k++) {
        const choosable *o = &f->list.p[k];
        int at = o->sort == KEPT ? update_of(f, o->tensor) : -1;
        if (at < 0) continue;
        for (int alone = o->n_alike == 0; alone <= (o->n_alike != 1); alone++)
            for (int i = 0; i < o->n; i++)
                for (int u = 0; u < f->list.p[at].n && !enough(f); u++)
                    if (!is_so(f, k, i, alone))
                        search_fixed(f,
                                     (found_plan){.of = {{k, i, alone}, {at, u, alone}}, .n = 2});
    }
}

// Two states at once, where neither brings anything by itself: of those that come nearest.
static void search_together(fixing *f)
{
    fixed_one near[SYN_FIX_TOGETHER];
    int n = 0;
    if (f->found.list.n > 1)
        qsort(f->found.list.p, (size_t)f->found.list.n, sizeof *f->found.list.p, found_faster);
    for (int i = 0; i < f->found.list.n && n < SYN_FIX_TOGETHER; i++) {
        const found_plan *x = &f->found.list.p[i];
        const fixed_one *of = &x->of[0];
        if (isinf(x->sec) || x->n > 1 || f->list.p[of->at].sort != KEPT) continue;
        if (!is_so(f, of->at, of->state, of->alone)) near[n++] = *of;
    }
    f->anywhere = false;
    f->found.round++;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i && !enough(f); k++)
            if (near[i].at != near[k].at)
                search_fixed(f, (found_plan){.of = {near[i], near[k]}, .n = 2});
}

// Were states fixed in the same plan, as another search found it? On other devices it is another.
static bool was_fixed(pool *p, const candidate *plan)
{
    struct fixed_plan x = {plan->sec, plan->space->mesh};
    for (int i = 0; i < p->fixed.n; i++) {
        const struct fixed_plan *y = &p->fixed.p[i];
        if (y->mesh == x.mesh && fabs(y->sec - x.sec) <= SYN_ROUNDING * x.sec) return true;
    }
    HB_PUSH(p->arena, &p->fixed, x);
    return false;
}

static void begin_free(fixing *f)
{
    f->memo = ms_memo_new(f->arena);
    f->links = ms_links_of(f->arena, &f->s->problem);
    f->x = syn_assignment_of(f->arena, f->s, &f->best.choice);
    f->unary =
        hb_copy(f->arena, f->s->problem.unary, sizeof *f->unary * (size_t)f->s->problem.n_vars);
    list_all(f);
}

// Begins at a choice, if it takes about as long as it did.
static bool simulate_first(fixing *f, const found_plan *x, double sec)
{
    pool *p = f->p;
    hb_arena *own = hb_arena_new();
    syn_choice *choice = &f->best.choice;
    syn_choice_decode(f->best.arena, f->s, x->x, choice);
    choice->additive = x->additive;
    candidate c = pool_simulate(p, own, f->s, choice);
    found_offer(p, &c);
    f->best.sec = p->best.sec;
    f->x = x->x;
    found_settle(p, f->best.arena, own);
    return c.sec < sec * SYN_FIX_NEARER;
}

static void fix_one(fixing *f, choosable x, int state)
{
    const double *own = state < 0 ? NULL : costs_in_state(f, &x, state);
    if (own) f->unary[x.var] = own;
}

// All as another plan has it; updates follow their parameters where these are free.
static void fix_as_in(fixing *f, const candidate *plan)
{
    const syn_space *s = f->s, *t = plan->space;
    for (int i = 0; i < f->list.n; i++) {
        choosable x = f->list.p[i];
        if (x.node >= 0 || t->tensor_var[x.tensor] < 0) continue;
        int state = plan->choice.keep[x.tensor].state;
        fix_one(f, x, syn_state_in(s, x.tensor, &t->states[x.tensor]->s[state]));
    }
    for (int i = 0; i < s->g->nodes.n; i++) {
        if (s->node_var[i] < 0 || t->node_var[i] < 0 || may_move(s, i)) continue;
        choosable x = {.tensor = -1, .node = i, .var = s->node_var[i], .n = s->shardings[i]->n};
        const syn_sharding *is = &t->shardings[i]->sharding[plan->choice.sharding[i]];
        fix_one(f, x, syn_sharding_in(s, i, t, is));
    }
}

// Begins at the best plan in a larger space with the same cuts, and more: o finds one of it.
static bool begin_in(fixing *f, const search_options *o)
{
    pool *p = f->p;
    const candidate won = f->best;
    if (!pool_search(p, o, &f->best)) return false;
    if (p->best.sec >= p->ahead) p->best = won; // no matter what other searches of this mesh found
    f->s = f->best.space;
    begin_free(f);
    fix_as_in(f, &won);
    found_plan same = {.x = HB_ARRAY(f->arena, int, f->s->problem.n_vars + 1)};
    return solve_fixed(f, f->unary, HUGE_VAL, &same) && simulate_first(f, &same, won.sec);
}

// A plan of a strategy, whose space is small: the space of all plans at its cuts, with all fixed
// as it is there. Each state of a parameter is then changed beside the rest: so some parameters
// may be whole and others cut, which no strategy does.
static bool begin_at_strategy(fixing *f)
{
    pool *p = f->p;
    const syn_space *s = f->s;
    syn_options *quick = hb_copy(p->arena, p->opt, sizeof *p->opt);
    quick->copy_bytes = INT64_MAX;
    *p->b->partitions = *syn_partitions_copy(p->arena, s->partitions);
    f->as_it_was = true;
    return begin_in(f, &(search_options){.strategy = SYN_AUTO,
                                         .opt = quick,
                                         .weight = s->weight,
                                         .comm = 1,
                                         .gap = SYN_SEARCH_GAP});
}

// Searches at the cuts of p->b in which transfers of a plan that may hide cost little.
static void hide_at_cuts(pool *p, const candidate *plan)
{
    static const double price[] = {SYN_HIDDEN, SYN_HIDDEN_LATER};
    const syn_space *s = plan->space;
    for (size_t i = 0; i < sizeof price / sizeof *price && !pool_out_of_time(p); i++) {
        search_options o = {.strategy = SYN_AUTO,
                            .opt = s->opt,
                            .weight = s->weight,
                            .comm = 1,
                            .price = p->b->price,
                            .slack = syn_slack_of(p->arena, plan->program, s->kinds,
                                                  (syn_hiding){.price = price[i]}),
                            .gap = SYN_SEARCH_GAP};
        candidate found;
        if (!pool_search_within_memory(p, &o, plan, &found)) return;
    }
}

// The space with even cuts beside the plan's own: what gradients are reduced and scattered by, and
// parameters gathered from, in the least time need not be what is computed by or fits. Where memory
// is dear they may leave more of it for what hides.
static bool begin_with_even_cuts(fixing *f)
{
    pool *p = f->p;
    const syn_space *s = f->s;
    double *even = HB_ARRAY(f->arena, double, s->mesh->n_ranks);
    for (int r = 0; r < s->mesh->n_ranks; r++)
        even[r] = 1;
    if (s->strategy != SYN_AUTO) return false;
    *p->b->partitions = *syn_partitions_copy(p->arena, s->partitions);
    syn_partitions_add_ranks(p->arena, p->b->partitions, p->b->mesh, -1, even, HB_STR("even"));
    if (syn_partitions_same(p->b->partitions, s->partitions)) return false;
    if (s->memory_price) hide_at_cuts(p, &f->best);
    if (p->best.program != f->best.program) {
        f->best = p->best;
        f->s = f->best.space;
        begin_free(f);
        return true;
    }
    if (!begin_in(f, &(search_options){.strategy = SYN_AUTO,
                                       .opt = s->opt,
                                       .weight = s->weight,
                                       .comm = s->weight_comm,
                                       .price = p->b->price,
                                       .slack = s->slack,
                                       .gap = SYN_SEARCH_GAP}))
        return false;
    size_t bytes = sizeof *f->unary * (size_t)f->s->problem.n_vars;
    f->unary = hb_copy(f->arena, f->s->problem.unary, bytes);
    return true;
}

static bool begin_fixing(fixing *f, fix_way way)
{
    if (way == FIX_EVEN_CUTS) return begin_with_even_cuts(f);
    if (f->s->strategy != SYN_AUTO) return begin_at_strategy(f);
    begin_free(f);
    return true;
}

// begin: the work before; n: phases.
static void fix_in_turn(fixing *f, double begin, phase n)
{
    pool *p = f->p;
    bool any = false;  // was one better since they began anew?
    bool vain = false; // all else was chosen again, and no plan was better
    for (phase x = STATES; x < n && !enough(f);) {
        double sec = f->best.sec;
        if (x == STATES_TOGETHER)
            search_together(f);
        else if (x == STATES_UPDATED)
            search_updated(f);
        else
            search_all(f, x);
        bool better = simulate_found(f);
        if (better) fix_others(f, sec);
        bool much = f->best.sec < sec * (1 - SYN_FIX_GAIN);
        if (much) f->work = fmin(begin + SYN_FIX_MOST * f->more, fmax(f->work, p->work + f->more));
        any = any || better;
        vain = vain || (x == STATES_ANYWHERE && !better);
        x++;
        if (x == STATES_ANYWHERE && vain) x++;
        // No state alone in a second plan of a mesh while another one is ahead.
        if (x == STATES_ALONE && (f->s->slack || f->as_it_was) && f->best.sec > p->ahead) x++;
        if (!much && (x < n || !any)) continue;
        x = STATES;
        any = false;
    }
}

bool pool_fix_states(pool *p, fix_way way)
{
    static const phase phases[] = {STATES_ANYWHERE, N_PHASES, STATES_ALONE};
    const syn_program *before = p->best.program;
    double begin = p->work;
    fixing f = {.p = p,
                .best = p->best,
                .s = p->best.space,
                // Last of all there is time for more.
                .far = pool_is_long(p) && !p->opt->ended ? SYN_FIX_NEARER : SYN_FIX_FAR};
    const cost_timeline *t = &f.best.timeline;
    // Where nothing is sent all devices do the same.
    bool same = before && t->comm <= 0 && before->mesh->n_ranks > 1,
         waits = before && t->comm - t->hidden >= pool_least_waits(p) * t->total;
    if (!(waits || same) || pool_out_of_time(p)) return false;
    if (way == FIX_ALL && was_fixed(p, &f.best)) return false;
    p->b = pool_board_of(p, f.s->mesh);
    if (same) f.far = SYN_FIX_SAME;
    f.more = p->opt->effort * fmax(SYN_FIX_WORK * (p->work - p->fixing + p->spared), SYN_FIX_LEAST);
    f.work = p->work + f.more;
    f.arena = f.found.arena = hb_arena_new();
    p->held = &f.best;
    if (begin_fixing(&f, way)) fix_in_turn(&f, begin, phases[way]);
    if (way == FIX_EVEN_CUTS) p->work = begin; // other variants of the step have no less for it
    p->fixing += p->work - begin;
    p->held = NULL;
    hb_arena_free(f.arena);
    pool_forget(p, NULL, NULL);
    return p->best.program != before;
}
