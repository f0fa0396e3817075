#include "synth/search/local_search.h"

#include <math.h>
#include <string.h>

#include "synth/price/instr_cost.h"
#include "synth/price/pair_cost.h"
#include "synth/price/simulate_plan.h"
#include "synth/price/transport.h"

typedef struct local_searcher {
    syn_program *p;
    syn_costs *costs;
    const int *kind;
    int64_t *table, *sums; // as they were before a move
    double work;
    bool stale; // prices are of a table that was simulated and not taken
    const hb_stop *stop;
} local_searcher;

static bool uses_cut(const syn_tensor *t, int cut)
{
    for (int a = 0; t->value >= 0 && a < SYN_MAX_AXES; a++)
        if (t->state.ax[a].kind == SYN_S && t->state.ax[a].cut == cut) return true;
    return false;
}

// After a table changed: sizes, scratch and prices of everything that depends on it (cut -1: on
// any). The sums of a cut over both axes change with it.
static void refresh(syn_program *p, syn_costs *costs, const int *kind, int cut)
{
    hb_arena *known_arena = hb_arena_new();
    hb_map *known = hb_map_new(known_arena); // instructions that were priced, by kind and cuts
    int coarse = cut >= 0 ? p->mesh->cuts.p[cut].coarse : -1;
    syn_costs_forget(costs);
    for (int i = 0; i < p->tensors.n; i++) {
        syn_tensor *t = &p->tensors.p[i];
        if (t->value >= 0 && (cut < 0 || uses_cut(t, cut) || uses_cut(t, coarse)))
            syn_local_bytes(costs, t->value, &t->state, t->bytes);
    }
    for (int i = 0; i < p->instr.n; i++) {
        syn_instr *in = &p->instr.p[i];
        bool touched = cut < 0;
        for (int k = 0; k < in->n_in + in->n_out && !touched; k++) {
            const syn_tensor *t = &p->tensors.p[k < in->n_in ? in->in[k] : in->out[k - in->n_in]];
            touched = uses_cut(t, cut) || uses_cut(t, coarse);
        }
        if (!touched) continue;
        if (in->kind == SYN_OP && kind) {
            syn_node_cut how = syn_cut_of_op(p, in);
            int key[] = {kind[in->node], how.factor[0], how.factor[1], how.cut[0], how.cut[1]};
            int at = hb_map_get(known, (hb_str){(const char *)key, sizeof key});
            if (at >= 0) {
                memcpy(in->sec, p->instr.p[at].sec, sizeof in->sec);
                continue;
            }
            hb_map_put(known, hb_str_n(known_arena, (const char *)key, sizeof key), i);
        }
        syn_price_one(p, costs, in);
        if (in->kind == SYN_START && in->scratch >= 0) {
            int64_t bytes = syn_scratch_bytes(p, costs, in);
            for (int c = 0; c < p->mesh->n_classes; c++)
                p->tensors.p[in->scratch].bytes[c] = bytes;
        }
    }
    syn_price_pairs(p, costs);
    hb_arena_free(known_arena);
}

void syn_refresh(syn_program *p, const cost_model *m)
{
    hb_arena *a = hb_arena_new();
    refresh(p, syn_costs_new(a, m, p->mesh, p->g, p->f), NULL, -1);
    hb_arena_free(a);
}

static double simulate_cut(local_searcher *q, int cut)
{
    cost_timeline t;
    q->work += q->p->instr.n;
    refresh(q->p, q->costs, q->kind, cut);
    q->stale = true;
    return syn_simulate(q->p, &t, false);
}

static bool table_taken(const syn_program *p, int cut)
{
    const syn_cut *a = &p->mesh->cuts.p[cut];
    for (int i = 0; i < p->mesh->cuts.n; i++) {
        const syn_cut *b = &p->mesh->cuts.p[i];
        if (i != cut && b->axis == a->axis && b->size == a->size &&
            memcmp(a->table, b->table, sizeof *a->table * (size_t)a->n) == 0)
            return true;
    }
    return false;
}

// The coordinate of a class with the most (sign > 0) or fewest entries.
static int pick(const syn_program *p, const syn_cut *c, int cls, int sign)
{
    int best = -1;
    for (int i = 0; i < c->n; i++)
        if (p->mesh->coord_class[c->axis][i] == cls &&
            (best < 0 || sign * (c->table[i] - c->table[best]) > 0))
            best = i;
    return best;
}

static void shift(const syn_program *p, syn_cut *c, int from, int to, int64_t step)
{
    c->table[from] -= step;
    c->table[to] += step;
    if (c->coarse < 0) return;
    int64_t *sums = p->mesh->cuts.p[c->coarse].table;
    sums[syn_coord(p->mesh, from, 0)] -= step;
    sums[syn_coord(p->mesh, to, 0)] += step;
}

// `n` shifts from the fullest of one class to the emptiest of the other. False if there is not so
// much to take.
static bool shift_all(const syn_program *p, syn_cut *c, int from_class, int to_class, int64_t step,
                      int n)
{
    for (int i = 0; i < n; i++) {
        int from = pick(p, c, from_class, 1), to = pick(p, c, to_class, -1);
        if (from == to || c->table[from] < step) return false;
        shift(p, c, from, to, step);
    }
    return true;
}

// Shifts, n at a time, as long as the simulator sees a gain.
static double move(local_searcher *q, int cut, int from_class, int to_class, int64_t step, int n,
                   double sec)
{
    syn_cut *c = &q->p->mesh->cuts.p[cut],
            *sums = c->coarse >= 0 ? &q->p->mesh->cuts.p[c->coarse] : NULL;
    for (int tries = 0; tries < SYN_LOCAL_MOVES && q->work < SYN_LOCAL_WORK && !hb_stopped(q->stop);
         tries++) {
        memcpy(q->table, c->table, sizeof *c->table * (size_t)c->n);
        if (sums) memcpy(q->sums, sums->table, sizeof *sums->table * (size_t)sums->n);
        bool moved = shift_all(q->p, c, from_class, to_class, step, n);
        double next = !moved || table_taken(q->p, cut) || (sums && table_taken(q->p, c->coarse))
                          ? HUGE_VAL
                          : simulate_cut(q, cut);
        if (next < sec * (1 - SYN_ROUNDING)) {
            sec = next;
            q->stale = false;
            continue;
        }
        memcpy(c->table, q->table, sizeof *c->table * (size_t)c->n);
        if (sums) memcpy(sums->table, q->sums, sizeof *sums->table * (size_t)sums->n);
        break;
    }
    return sec;
}

// How many shifts between two classes leave each of them as even as it was: a class takes the time
// of its fullest coordinate.
static int even_shifts(const syn_mesh *mesh, int axis, int n_coords, int a, int b)
{
    int n[2] = {0, 0};
    for (int i = 0; i < n_coords; i++) {
        n[0] += mesh->coord_class[axis][i] == a;
        n[1] += mesh->coord_class[axis][i] == b;
    }
    int x = n[0], y = n[1];
    while (y) {
        int rest = x % y;
        x = y;
        y = rest;
    }
    return x ? n[0] / x * n[1] : 0;
}

// A cut that is used may move by itself if it is not the sums of another used one, and its own sums
// are no other's too.
static bool moves_alone(const syn_program *p, const bool *used, int cut)
{
    int own = p->mesh->cuts.p[cut].coarse;
    for (int i = 0; i < p->mesh->cuts.n; i++) {
        int coarse = p->mesh->cuts.p[i].coarse;
        if (used[i] && i != cut && coarse >= 0 && (coarse == cut || coarse == own)) return false;
    }
    return used[cut];
}

static void own_table(syn_program *p, int cut)
{
    syn_cut *c = &p->mesh->cuts.p[cut]; // shared with the search until now
    c->table = hb_copy(p->arena, c->table, sizeof *c->table * (size_t)c->n);
}

double syn_local_search(syn_program *p, const cost_model *m, const int *kind, double sec,
                        const hb_stop *stop)
{
    hb_arena *scratch = hb_arena_new();
    local_searcher q = {.p = p,
                        .costs = syn_costs_new(scratch, m, p->mesh, p->g, p->f),
                        .kind = kind,
                        .table = HB_ARRAY(scratch, int64_t, p->mesh->n_ranks),
                        .sums = HB_ARRAY(scratch, int64_t, p->mesh->n_ranks),
                        .stop = stop};
    bool *used = HB_ARRAY(scratch, bool, p->mesh->cuts.n);
    for (int t = 0; t < p->tensors.n; t++)
        for (int a = 0; p->tensors.p[t].value >= 0 && a < SYN_MAX_AXES; a++)
            if (p->tensors.p[t].state.ax[a].kind == SYN_S)
                used[p->tensors.p[t].state.ax[a].cut] = true;
    for (int cut = 0; cut < p->mesh->cuts.n; cut++) {
        if (!moves_alone(p, used, cut)) continue;
        syn_cut *c = &p->mesh->cuts.p[cut];
        int classes = p->mesh->n_coord_classes[c->axis];
        own_table(p, cut);
        if (c->coarse >= 0) own_table(p, c->coarse);
        int64_t grain = c->grain > 1 ? c->grain : 1;
        for (int64_t n = c->size / grain / SYN_LOCAL_STEP > 1 ? c->size / grain / SYN_LOCAL_STEP
                                                              : 1;
             n >= 1; n /= SYN_LOCAL_FINER)
            for (int a = 0; a < classes; a++)
                for (int b = 0; b < classes; b++)
                    if (a != b) {
                        int all = even_shifts(p->mesh, c->axis, c->n, a, b);
                        if (all > 1) sec = move(&q, cut, a, b, n * grain, all, sec);
                        sec = move(&q, cut, a, b, n * grain, 1, sec);
                    }
        if (q.stale) refresh(p, q.costs, kind, cut);
        q.stale = false;
    }
    hb_arena_free(scratch);
    return sec;
}
