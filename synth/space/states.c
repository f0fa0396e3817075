// States of a tensor and the all-pairs price of moving between them.
//
// Direct moves are priced one by one (once a kind of tensor, kept with the mesh's costs); the rest
// by shortest paths (Floyd-Warshall; lists are short and shared by all tensors of one signature).

#include "synth/space/states.h"

#include <math.h>
#include <string.h>

#include "synth/price/move_prices.h"

// The direct moves between the states of one kind of tensor: what does not depend on weights.
typedef struct syn_moves {
    int n;
    struct one_move {
        int16_t from, to;
        uint8_t kind, axes; // syn_move_kind; mask
        double sec[2];      // without one-sided puts, and by them
        int64_t scratch;    // of the form of the former
    } * v;
} syn_moves;

static double tensor_bytes(const syn_space *s, int tensor)
{
    const ir_tensor *t = &s->g->tensors.p[tensor];
    return (double)ir_elements(t) * (double)ir_dtype_bytes(t->dtype);
}

static double local_seconds(const syn_space *s, const syn_state *to, double bytes)
{
    double sec = 0;
    const double *share = syn_state_shares(s->costs, to);
    for (int c = 0; c < s->mesh->n_classes; c++)
        sec += s->weight[c] * syn_copy_seconds(s->costs, c, bytes * share[c]);
    return sec;
}

static const struct syn_partition_set *set_of(const syn_space *s, int cls)
{
    return &s->partitions->set[s->partitions->set_of[cls]];
}

static int list_axis(const syn_space *s, int tensor, int axis, syn_axis_state *buf)
{
    const ir_tensor *t = &s->g->tensors.p[tensor];
    int n = 0;
    buf[n++] = (syn_axis_state){.kind = SYN_R, .cut = -1};
    char red = syn_partial_of(s->g, s->f, tensor);
    if (red) buf[n++] = (syn_axis_state){.kind = SYN_P, .reducer = (uint8_t)red, .cut = -1};
    for (int d = 0; d < t->rank; d++)
        for (int p = 0; p < s->f->dim[tensor][d].n; p++) {
            int cls = s->f->dim[tensor][d].cls[p];
            if (!s->kinds->cuttable[cls]) continue;
            const struct syn_partition_set *q = set_of(s, cls);
            syn_axis_state x = {.kind = SYN_S, .dim = (uint8_t)d, .pos = (uint8_t)p};
            hb_assert(n + q->n[axis] + q->n[SYN_BOTH] <= SYN_AXIS_STATES);
            for (int c = 0; c < q->n[axis]; c++) {
                x.cut = (int16_t)q->cut[axis][c];
                buf[n++] = x;
            }
            for (int c = 0; axis == 1 && c < q->n[SYN_BOTH]; c++) {
                x.cut = (int16_t)q->cut[SYN_BOTH][c];
                buf[n++] = x;
            }
        }
    return n;
}

// May the two be the states of one tensor? Two cuts are of different dims, or one cut over both.
static bool fit(const syn_mesh *mesh, const syn_axis_state *x, const syn_axis_state *y)
{
    const syn_cut *joint =
        y->kind == SYN_S && mesh->cuts.p[y->cut].axis == SYN_BOTH ? &mesh->cuts.p[y->cut] : NULL;
    if (joint)
        return x->kind == SYN_S && x->dim == y->dim && x->pos == y->pos && x->cut == joint->coarse;
    return x->kind != SYN_S || y->kind != SYN_S || x->dim != y->dim;
}

static void list_states(hb_arena *a, const syn_space *s, int tensor, syn_states *st)
{
    syn_axis_state buf[SYN_AXIS_STATES];
    for (int axis = 0; axis < SYN_MAX_AXES; axis++) {
        bool there = axis < s->mesh->n_axes;
        st->n_ax[axis] = there ? list_axis(s, tensor, axis, buf) : 1;
        if (!there) buf[0] = (syn_axis_state){.kind = SYN_R, .cut = -1};
        st->ax[axis] = hb_copy(a, buf, sizeof *buf * (size_t)st->n_ax[axis]);
    }
    st->of = HB_ARRAY(a, int16_t, st->n_ax[0] * st->n_ax[1]);
    st->s = HB_ARRAY(a, syn_state, st->n_ax[0] * st->n_ax[1]);
    for (int i = 0; i < st->n_ax[0]; i++)
        for (int j = 0; j < st->n_ax[1]; j++) {
            bool ok = fit(s->mesh, &st->ax[0][i], &st->ax[1][j]);
            st->of[i * st->n_ax[1] + j] = (int16_t)(ok ? st->n : -1);
            if (ok) st->s[st->n++] = (syn_state){{st->ax[0][i], st->ax[1][j]}};
        }
}

// What decides the moves of a tensor: its shape, and the cuts its factors may have.
static uint64_t signature(const syn_space *s, int tensor)
{
    const ir_tensor *t = &s->g->tensors.p[tensor];
    int64_t key[4 + IR_MAX_RANK * (IR_MAX_FACTORS * (2 + 3 * SYN_MAX_PARTITIONS) + 1)];
    int n = 0;
    key[n++] = t->dtype;
    key[n++] = t->rank;
    key[n++] = syn_partial_of(s->g, s->f, tensor);
    key[n++] = s->kinds->part ? 1 + s->kinds->part[tensor] : 0;
    for (int d = 0; d < t->rank; d++) {
        const ir_dim_factors *df = &s->f->dim[tensor][d];
        key[n++] = df->n;
        for (int p = 0; p < df->n; p++) {
            key[n++] = s->f->cls[df->cls[p]].size;
            bool may = s->kinds->cuttable[df->cls[p]];
            const struct syn_partition_set *q = set_of(s, df->cls[p]);
            for (int axis = 0; axis <= SYN_BOTH; axis++) {
                key[n++] = may ? q->n[axis] : -1;
                for (int c = 0; may && c < q->n[axis]; c++)
                    key[n++] = q->cut[axis][c];
            }
        }
    }
    return hb_hash_key(key, sizeof *key * (size_t)n);
}

static syn_moves *find_moves(const syn_space *s, int tensor, const syn_states *st)
{
    syn_costs *c = s->costs;
    syn_moves *m = HB_NEW(c->arena, syn_moves);
    bool (*may_move)(syn_part, const syn_axis_state *, const syn_axis_state *) =
        syn_strategy_of(s->strategy)->may_move;
    syn_part part = s->kinds->part ? s->kinds->part[tensor] : SYN_PART_VALUE;
    hb_arena *scratch = hb_arena_new();
    HB_VEC(struct one_move) found = {0};
    for (int i = 0; i < st->n; i++)
        for (int j = 0; j < st->n; j++) {
            syn_move move = syn_move_between(c, tensor, &st->s[i], &st->s[j]);
            if (move.kind == SYN_MOVE_NONE) continue;
            if (may_move && !may_move(part, &st->s[i].ax[0], &st->s[j].ax[0])) continue;
            if (move.kind == SYN_MOVE_COLL)
                syn_move_price_known(c, tensor, &st->s[i], &st->s[j], &move);
            struct one_move one = {(int16_t)i,
                                   (int16_t)j,
                                   (uint8_t)move.kind,
                                   (uint8_t)move.axes,
                                   {move.sec_by[0], move.sec_by[1]},
                                   move.scratch};
            HB_PUSH(scratch, &found, one);
        }
    m->n = found.n;
    m->v = hb_copy(c->arena, found.p, sizeof *m->v * (size_t)m->n);
    hb_arena_free(scratch);
    return m;
}

static const syn_moves *moves_of(const syn_space *s, int tensor, const syn_states *st)
{
    syn_costs *c = s->costs;
    uint64_t sig = signature(s, tensor);
    hb_str key = {(const char *)&sig, sizeof sig};
    int at = hb_map_get(c->moves, key);
    if (at < 0) {
        at = c->all_moves.n;
        HB_PUSH(c->arena, &c->all_moves, find_moves(s, tensor, st));
        hb_map_put(c->moves, hb_str_n(c->arena, key.p, key.n), at);
    }
    return c->all_moves.p[at];
}

// What memory costs while a move is made.
static double passing_price(const syn_space *s, const syn_states *st, const struct one_move *m)
{
    double sec = st->bytes[m->from] + st->bytes[m->to];
    if (!s->memory_price || s->costs->passing <= 0) return 0;
    for (int c = 0; c < s->mesh->n_classes; c++)
        sec += s->memory_price[c] * (double)m->scratch;
    if (s->g->micro_batches > 1) sec /= s->g->micro_batches; // costs count for each, memory for all
    return s->costs->passing * sec;
}

// What a transfer costs, by the form that lowering takes.
static double sending_cost(const syn_space *s, int tensor, const struct one_move *m)
{
    double least = HUGE_VAL;
    for (int put = 0; put < (s->costs->no_put ? 1 : 2); put++)
        least =
            fmin(least, syn_sending_seconds(s->costs, m->axes, put, m->sec[put], s->slack, tensor));
    return s->weight_comm * least;
}

// Compiled for AVX2, too, and chosen at load; results are the same (no contraction). Sanitizers do
// not work with what chooses, and clang 14 inlines nothing into it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__OPTIMIZE__)
#    define WIDE __attribute__((target_clones("default", "avx2")))
#else
#    define WIDE
#endif

// Is a way whose first leg takes so many seconds shorter anywhere in a row?
static inline bool any_shorter(double first, const double *onward, const double *row, int n)
{
    uint64_t any = 0;
    for (int j = 0; j < n; j++)
        any |= first + onward[j] < row[j] * (1 - SYN_ROUNDING_FEW) ? ~(uint64_t)0 : 0;
    return any != 0;
}

// Direct moves become shortest paths. Few rows gain by a state between.
WIDE static void close_paths(syn_states *st)
{
    int n = st->n;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            double first = st->cost[i * n + k], *row = st->cost + i * n;
            const double *onward = st->cost + k * n;
            if (i == k || isinf(first) || !any_shorter(first, onward, row, n)) continue;
            int16_t *via = st->via + i * n, next = via[k];
            for (int j = 0; j < n; j++) {
                double by_k = first + onward[j];
                bool shorter = by_k < row[j] * (1 - SYN_ROUNDING_FEW);
                row[j] = shorter ? by_k : row[j];
                via[j] = shorter ? next : via[j];
            }
        }
}

// All-pairs costs along the best paths of direct moves, but for the one from `from` to `to`.
static void find_paths(const syn_space *s, int tensor, syn_states *st, int from, int to)
{
    int n = st->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            st->cost[i * n + j] = i == j ? 0 : HUGE_VAL;
            st->via[i * n + j] = (int16_t)j;
        }
    const syn_moves *m = moves_of(s, tensor, st);
    double bytes = tensor_bytes(s, tensor);
    for (int k = 0; k < m->n; k++) {
        const struct one_move *v = &m->v[k];
        if (v->from == from && v->to == to) continue;
        st->cost[v->from * n + v->to] = v->kind == SYN_MOVE_COLL
                                            ? sending_cost(s, tensor, v)
                                            : local_seconds(s, &st->s[v->to], bytes);
        st->cost[v->from * n + v->to] *= ir_tensor_times(s->g, tensor);
        st->cost[v->from * n + v->to] += passing_price(s, st, v);
    }
    if (syn_strategy_of(s->strategy)->multi_hop) close_paths(st);
}

syn_states *syn_states_build(hb_arena *a, const syn_space *s, int tensor)
{
    syn_states *st = HB_NEW(a, syn_states);
    list_states(a, s, tensor, st);
    int n = st->n;
    double bytes = tensor_bytes(s, tensor);
    st->cost = hb_room(a, sizeof *st->cost, n * n);
    st->via = hb_room(a, sizeof *st->via, n * n);
    st->bytes = HB_ARRAY(a, double, n);
    for (int i = 0; s->memory_price && i < n; i++) {
        const double *share = syn_state_shares(s->costs, &st->s[i]);
        for (int c = 0; c < s->mesh->n_classes; c++)
            st->bytes[i] += s->memory_price[c] * bytes * share[c] * ir_tensor_times(s->g, tensor);
    }
    find_paths(s, tensor, st, -1, -1);
    return st;
}

syn_states *syn_states_without(hb_arena *a, const syn_space *s, int tensor, int from, int to)
{
    syn_states *st = hb_copy(a, s->states[tensor], sizeof *st);
    st->cost = HB_ARRAY(a, double, st->n * st->n);
    st->via = HB_ARRAY(a, int16_t, st->n * st->n);
    find_paths(s, tensor, st, from, to);
    return st;
}
