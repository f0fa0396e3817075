// Which collectives become pairs.
//
// A pair pays for what the schedule leaves exposed: candidates are collectives that the simulated
// step waits for. Of each the expected gain is known from its times alone and from two figures of
// the simulation, the exposed seconds and so the work that hides the rest; no pair gains more than
// what its collective leaves exposed, so those that leave nothing are not priced. Equal members
// stand or fall together, so that repeated layers stay alike. Last, the step with all pairs is
// simulated: without a gain there are none.

#include "synth/passes/overlap_pairs.h"

#include <math.h>

#include "synth/passes/wait_early.h"
#include "synth/plan/program_copy.h"
#include "synth/price/pair_cost.h"
#include "synth/price/simulate_plan.h"
#include "synth/price/transport.h"

typedef struct candidate_pair {
    syn_members m;
    int wait;
    int anchor;           // instruction in whose place the members stand
    const syn_pair *best; // equal pointers: equal members
    double gain;          // expected
    bool chosen;
} candidate_pair;

typedef struct pairing {
    hb_arena *arena;
    syn_program *p; // before `arrange` only read
    syn_costs *c;
    double alone;    // seconds of the step without pairs
    double *exposed; // by START: seconds that the step waits for it
    bool *worth;     // by START: may move rows, and equal ones are waited for
    int *wait_of;    // by START
    int *made_by;    // by buffer: its last OP, -1
    bool *taken;     // by instruction: member of a candidate
    HB_VEC(candidate_pair) all;
} pairing;

// --- what may be a pair ---

// The state of the tensor's side that is cut on the axes of a collective, NULL if it is none.
static const syn_axis_state *cut_side(const syn_program *p, const syn_state *s, unsigned axes)
{
    if (axes == 3 && !syn_joint(p->mesh, s)) return NULL;
    const syn_axis_state *x = &s->ax[axes == 1 ? 0 : 1];
    return x->kind == SYN_S ? x : NULL;
}

// A dim of rows, whose last `row_dims` dims are one row, and nothing stands before the factor.
static bool outermost(const syn_program *p, int value, const syn_axis_state *x, int row_dims)
{
    const ir_tensor *t = &p->g->tensors.p[value];
    if (!x || x->dim >= t->rank - row_dims) return false;
    for (int d = 0; d < x->dim; d++)
        if (t->dim[d] != 1) return false;
    for (int k = 0; k < x->pos; k++)
        if (p->f->cls[p->f->dim[value][x->dim].cls[k]].size != 1) return false;
    return true;
}

static bool is_value(const syn_program *p, int buffer)
{
    return p->tensors.p[buffer].role == SYN_ROLE_VALUE;
}

static bool is_matmul(const syn_program *p, const syn_instr *in)
{
    if (in->kind != SYN_OP || !is_value(p, in->out[0]) || in->n_in < 2 || in->in[0] < 0 ||
        in->in[1] < 0)
        return false;
    const ir_node *n = &p->g->nodes.p[in->node];
    const syn_tensor *x = &p->tensors.p[in->in[0]], *w = &p->tensors.p[in->in[1]];
    return in->in[0] != in->in[1] && ir_by_rows(n->op, n->attr, p->g->tensors.p[x->value].rank,
                                                p->g->tensors.p[w->value].rank);
}

static int row_dims_of(const syn_program *p, const syn_instr *op)
{
    return ir_op_of(p->g->nodes.p[op->node].op)->row_dims;
}

// From a cut of rows to one inside of a row (consumer), or back.
static bool changes_rows(const syn_program *p, const syn_instr *in, bool consumer, int row_dims)
{
    const syn_tensor *from = &p->tensors.p[in->in[0]], *to = &p->tensors.p[in->out[0]];
    const syn_axis_state *rows = cut_side(p, consumer ? &from->state : &to->state, in->axes);
    const syn_axis_state *cols = cut_side(p, consumer ? &to->state : &from->state, in->axes);
    int rank = p->g->tensors.p[to->value].rank;
    return cols && cols->dim >= rank - row_dims && outermost(p, to->value, rows, row_dims);
}

// Does the collective move rows of a matmul, whose last `row_dims` dims are one, in the direction
// that is asked for?
static bool moves_rows(const syn_program *p, const syn_instr *in, bool consumer, int row_dims)
{
    if (in->kind != SYN_START || in->n_in != 1 || in->reduce_max || in->in[0] == in->out[0])
        return false;
    const syn_tensor *from = &p->tensors.p[in->in[0]], *to = &p->tensors.p[in->out[0]];
    const ir_tensor *t = &p->g->tensors.p[from->value];
    if (to->role != SYN_ROLE_VALUE || t->rank <= row_dims) return false;
    switch (in->coll) {
    case COST_ALL_GATHER:
        return consumer && outermost(p, from->value, cut_side(p, &from->state, in->axes), row_dims);
    case COST_REDUCE_SCATTER:
        return !consumer && outermost(p, to->value, cut_side(p, &to->state, in->axes), row_dims);
    case COST_ALL_TO_ALL:
        return changes_rows(p, in, consumer, row_dims);
    case COST_ALL_REDUCE:
        return !consumer;
    case COST_RESHARD:
        break;
    }
    return false;
}

static bool writes(const syn_program *p, const syn_instr *in, int buffer)
{
    if (in->kind == SYN_START) return false; // its wait does
    if (in->kind == SYN_WAIT) in = &p->instr.p[in->start];
    for (int i = 0; i < in->n_out; i++)
        if (in->out[i] == buffer) return true;
    return false;
}

// Instruction `at` may stand directly behind `behind`.
static bool may_rise(const syn_program *p, int at, int behind)
{
    const syn_instr *in = &p->instr.p[at];
    for (int i = behind + 1; i < at; i++)
        for (int k = 0; k < in->n_in; k++)
            if (in->in[k] >= 0 && writes(p, &p->instr.p[i], in->in[k])) return false;
    return true;
}

static bool consumer_at(pairing *s, int start, candidate_pair *x)
{
    const syn_program *p = s->p;
    int dst = p->instr.p[start].out[0];
    *x = (candidate_pair){.wait = s->wait_of[start]};
    x->m = (syn_members){.start = start, .consumer = true};
    x->anchor = x->wait;
    if (!is_value(p, p->instr.p[start].in[0])) return false;
    for (int i = x->wait + 1; i < p->instr.n && i <= x->wait + SYN_PAIR_REACH; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (s->taken[i] || !is_matmul(p, in) || in->in[0] != dst || in->in[1] == dst) continue;
        if (in->turn != p->instr.p[start].turn) continue;
        if (!moves_rows(p, &p->instr.p[start], true, row_dims_of(p, in))) continue;
        if (x->m.n_ops > 0 && row_dims_of(p, in) != row_dims_of(p, &p->instr.p[x->m.op[0]]))
            continue;
        if (x->m.n_ops == SYN_PAIR_OPS || !may_rise(p, i, x->wait)) continue;
        x->m.op[x->m.n_ops++] = i;
    }
    return x->m.n_ops > 0;
}

static bool producer_at(pairing *s, int start, candidate_pair *x)
{
    const syn_program *p = s->p;
    int op = s->made_by[p->instr.p[start].in[0]];
    if (op < 0 || op > start || s->taken[op] || !is_matmul(p, &p->instr.p[op])) return false;
    if (p->instr.p[op].turn != p->instr.p[start].turn) return false;
    if (!moves_rows(p, &p->instr.p[start], false, row_dims_of(p, &p->instr.p[op]))) return false;
    *x = (candidate_pair){.wait = s->wait_of[start], .anchor = op};
    x->m = (syn_members){.start = start, .n_ops = 1, .op = {op}};
    return true;
}

static void take(pairing *s, const candidate_pair *x, bool taken)
{
    s->taken[x->m.start] = taken;
    for (int i = 0; i < x->m.n_ops; i++)
        s->taken[x->m.op[i]] = taken;
}

// Whether a collective may move rows of some matmul, of those that there are.
static bool may_move_rows(const syn_program *p, const syn_instr *in)
{
    for (int dims = 1; dims < IR_MAX_RANK; dims++)
        if (moves_rows(p, in, true, dims) || moves_rows(p, in, false, dims)) return true;
    return false;
}

static bool any_moves_rows(const syn_program *p)
{
    for (int i = 0; i < p->instr.n; i++)
        if (may_move_rows(p, &p->instr.p[i])) return true;
    return false;
}

static void find(pairing *s)
{
    const syn_program *p = s->p;
    for (int t = 0; t < p->tensors.n; t++)
        s->made_by[t] = -1;
    for (int i = 0; i < p->instr.n; i++)
        for (int k = 0; k < p->instr.p[i].n_out && p->instr.p[i].kind == SYN_OP; k++)
            s->made_by[p->instr.p[i].out[k]] = i;
    for (int i = 0; i < p->instr.n; i++) {
        candidate_pair x;
        if (!s->worth[i] || (!consumer_at(s, i, &x) && !producer_at(s, i, &x))) continue;
        x.best = syn_best_pair(p, s->c, &x.m);
        if (x.best->n_chunks == 0) continue;
        take(s, &x, true);
        HB_PUSH(s->arena, &s->all, x);
    }
}

// --- what they bring ---

// In all micro-batches and layers. Consumer: the matmuls and what is waited for become the pair.
// Producer: behind the pair's matmuls the rest of its transfer hides under the work that hid the
// collective.
static double gain_of(const syn_program *p, const candidate_pair *x, double exposed)
{
    const syn_instr *start = &p->instr.p[x->m.start];
    double times = syn_instr_times(p, start), sec = start->sec[0] / times;
    exposed *= syn_instr_slots(p, start) / times;
    double now = syn_matmuls_seconds(p, &x->m) + exposed;
    if (x->m.consumer) return times * (now - x->best->total);
    double busy = syn_slowest(p, x->best->end), rest = x->best->total - busy;
    return times * (now - busy - fmax(0, rest - (exposed > 0 ? sec - exposed : sec)));
}

// Equal members are chosen if together they gain. Returns what all that are chosen gain.
static double choose(pairing *s)
{
    double all = 0;
    for (int i = 0; i < s->all.n; i++)
        s->all.p[i].gain = gain_of(s->p, &s->all.p[i], s->exposed[s->all.p[i].m.start]);
    for (int i = 0; i < s->all.n; i++) {
        candidate_pair *x = &s->all.p[i];
        bool first = true;
        double gain = 0;
        for (int k = 0; k < s->all.n; k++) {
            if (s->all.p[k].best != x->best) continue;
            first = first && k >= i;
            gain += s->all.p[k].gain;
        }
        for (int k = i; k < s->all.n && first; k++)
            if (s->all.p[k].best == x->best) s->all.p[k].chosen = gain > 0;
        all += x->chosen ? x->gain : 0;
    }
    return all;
}

// Seconds that the slowest class, or the one that is there first, waits for each collective; of
// those that may move rows it is worth to look at those whose like together are waited for.
static void expose(pairing *s)
{
    const syn_program *p = s->p;
    int n = 0, *like = HB_ARRAY(s->arena, int, p->instr.n + 1);
    double *sum = HB_ARRAY(s->arena, double, p->instr.n + 1);
    hb_map *likes = hb_map_new(s->arena);
    cost_timeline t;
    s->alone = syn_simulate_in(s->arena, p, &t, true);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        int at = i * p->mesh->n_classes;
        if (in->kind == SYN_START && (s->worth[i] = may_move_rows(p, in))) {
            uint64_t h = syn_move_key(p, in);
            hb_str key = {(const char *)&h, sizeof h};
            like[i] = hb_map_get(likes, key);
            if (like[i] < 0) hb_map_put(likes, hb_str_n(s->arena, key.p, key.n), like[i] = n++);
        }
        if (in->kind != SYN_WAIT) continue;
        s->wait_of[in->start] = i;
        s->exposed[in->start] = t.end[at] - t.begin[at];
        if (s->worth[in->start])
            sum[like[in->start]] += syn_instr_slots(p, in) * s->exposed[in->start];
    }
    for (int i = 0; i < p->instr.n; i++)
        s->worth[i] = s->worth[i] && sum[like[i]] > SYN_PAIR_WAITED * s->alone;
}

// --- making them ---

// Members leave their places and stand in the place of the anchor.
static void arrange(pairing *s)
{
    syn_program *p = s->p;
    int n = p->instr.n, at = 0;
    int *to = HB_ARRAY(s->arena, int, n), *pair_at = HB_ARRAY(s->arena, int, n);
    bool *moves = HB_ARRAY(s->arena, bool, n);
    for (int i = 0; i < n; i++)
        pair_at[i] = -1;
    for (int k = 0; k < s->all.n; k++) {
        const candidate_pair *x = &s->all.p[k];
        if (!x->chosen) continue;
        moves[x->m.start] = true;
        if (x->m.consumer) moves[x->wait] = true;
        for (int i = 0; i < x->m.n_ops; i++)
            moves[x->m.op[i]] = true;
        pair_at[x->anchor] = k;
    }
    for (int i = 0; i < n; i++) {
        if (!moves[i]) {
            to[i] = at++;
            continue;
        }
        if (pair_at[i] < 0) continue;
        const candidate_pair *x = &s->all.p[pair_at[i]];
        syn_pair pair = *x->best;
        pair.first = at;
        pair.len = x->m.n_ops + (x->m.consumer ? 2 : 1);
        pair.chunk = hb_copy(p->arena, pair.chunk, sizeof *pair.chunk * (size_t)pair.n_chunks);
        if (pair.tiles.n_chunks)
            pair.tiles.chunk = hb_copy(p->arena, pair.tiles.chunk,
                                       sizeof *pair.tiles.chunk * (size_t)pair.tiles.n_chunks);
        if (x->m.consumer) {
            to[x->m.start] = at++;
            to[x->wait] = at++;
        }
        for (int k = 0; k < x->m.n_ops; k++)
            to[x->m.op[k]] = at++;
        if (!x->m.consumer) to[x->m.start] = at++;
        HB_PUSH(p->arena, &p->pairs, pair);
    }
    hb_assert(at == n);
    const syn_instr *old = hb_copy(s->arena, p->instr.p, sizeof *old * (size_t)n);
    for (int i = 0; i < n; i++) {
        p->instr.p[to[i]] = old[i];
        if (old[i].kind == SYN_WAIT) p->instr.p[to[i]].start = to[old[i].start];
    }
}

static void set_forms(pairing *s)
{
    syn_program *p = s->p;
    for (int k = 0; k < p->pairs.n; k++) {
        syn_instr *in = &p->instr.p[syn_pair_start(p, &p->pairs.p[k])];
        if (in->form != p->pairs.p[k].form) syn_set_form(p, s->c, in, p->pairs.p[k].form);
    }
    syn_place_sym(p);
}

syn_program *syn_with_pairs(const syn_program *p, syn_costs *c, double enough, double *sec)
{
    *sec = HUGE_VAL;
    hb_assert(p->pairs.n == 0 && p->fusions.n == 0 && p->loops.n == 0);
    if (p->mesh->n_ranks == 1 || !any_moves_rows(p)) return NULL;
    hb_arena *arena = hb_arena_new();
    int n = p->instr.n;
    syn_program *with = NULL, view = *p;
    pairing s = {.arena = arena, .p = &view, .c = c};
    s.exposed = HB_ARRAY(arena, double, n + 1);
    s.worth = HB_ARRAY(arena, bool, n + 1);
    s.wait_of = HB_ARRAY(arena, int, n + 1);
    s.made_by = HB_ARRAY(arena, int, p->tensors.n + 1);
    s.taken = HB_ARRAY(arena, bool, n + 1);
    expose(&s);
    find(&s);
    double gain = choose(&s);
    *sec = s.alone;
    if (gain > 0 && s.alone - gain <= enough) {
        cost_timeline t;
        with = s.p = syn_program_copy(p->arena, p);
        arrange(&s);
        set_forms(&s);
        syn_wait_early(with);
        double paired = syn_simulate_in(arena, with, &t, false);
        if (paired < s.alone)
            *sec = paired;
        else
            with = NULL;
    }
    hb_arena_free(arena);
    return with;
}

// --- pairs and loops ---

// Which repetition of its loop an instruction stands in; -1 - k: behind k loops.
static int place_of(const syn_program *p, int i)
{
    int behind = 0, n = 0;
    for (int l = 0; l < p->loops.n; l++) {
        const syn_loop *loop = &p->loops.p[l];
        if (i >= loop->first + loop->len * loop->count) {
            behind++;
            n += loop->count;
        } else if (i >= loop->first) {
            return n + (i - loop->first) / loop->len;
        }
    }
    return -1 - behind;
}

void syn_pairs_of_loops(syn_program *p)
{
    int n = 0;
    for (int k = 0; k < p->pairs.n; k++) {
        const syn_pair *x = &p->pairs.p[k];
        if (place_of(p, x->first) == place_of(p, x->first + x->len - 1)) p->pairs.p[n++] = *x;
    }
    p->pairs.n = n;
}
