// Moves of tensors between states: what leads where, and what it costs.
//
// A collective over a mask of axes runs in groups: the ranks that agree in the other coordinates.
// Each group moves its share of the tensor, as the other axis cuts it, over its own links; what is
// printed and searched is the slowest group's time.

#include "synth/price/moves.h"

#include <math.h>
#include <string.h>

enum { AXIS0 = 1u, AXIS1 = 2u };

static unsigned both_axes(const syn_mesh *m)
{
    return m->n_axes == 2 ? AXIS0 | AXIS1 : AXIS0;
}

int syn_group_size(const syn_mesh *m, unsigned axes)
{
    return axes == both_axes(m) ? m->n_ranks : m->size[axes == AXIS1 ? 1 : 0];
}

static int n_groups(const syn_mesh *m, unsigned axes)
{
    return m->n_ranks / syn_group_size(m, axes);
}

static cl_link group_link(const syn_costs *c, unsigned axes, int group)
{
    return axes == both_axes(c->mesh) ? c->all : c->group_link[axes == AXIS1 ? 1 : 0][group];
}

cl_link syn_axes_link(const syn_costs *c, unsigned axes)
{
    return c->slowest[axes];
}

static bool axis_eq(const syn_axis_state *x, const syn_axis_state *y)
{
    if (x->kind != y->kind) return false;
    if (x->kind == SYN_P) return x->reducer == y->reducer;
    return x->kind != SYN_S || (x->dim == y->dim && x->pos == y->pos && x->cut == y->cut);
}

static bool same_factor(const syn_axis_state *x, const syn_axis_state *y)
{
    return x->dim == y->dim && x->pos == y->pos;
}

// What stands before the cut factor: runs of memory that a part is in.
static double apart(const syn_costs *c, int tensor, const syn_axis_state *x)
{
    const ir_tensor *t = &c->g->tensors.p[tensor];
    int64_t n = 1;
    for (int d = 0; d < x->dim; d++)
        n *= t->dim[d];
    for (int p = 0; p < x->pos; p++)
        n *= c->f->cls[c->f->dim[tensor][x->dim].cls[p]].size;
    return (double)n;
}

static bool stands_before(const syn_axis_state *x, const syn_axis_state *y)
{
    return x->dim < y->dim || (x->dim == y->dim && x->pos < y->pos);
}

// The states of a move's own axes as one: of one axis, or of both (a cut over both, R or P on
// both).
static bool as_one(const syn_mesh *m, const syn_state *s, unsigned axes, syn_axis_state *x)
{
    if (axes != (AXIS0 | AXIS1)) {
        *x = s->ax[axes == AXIS1 ? 1 : 0];
        return true;
    }
    *x = s->ax[1];
    return syn_joint(m, s) || (s->ax[0].kind != SYN_S && axis_eq(&s->ax[0], &s->ax[1]));
}

// The kind of move that leads on the axes of one group from x to y.
static syn_move kind_of(const syn_axis_state *x, const syn_axis_state *y)
{
    syn_move m = {.kind = SYN_MOVE_COLL};
    if (x->kind == SYN_R) {
        m.kind = y->kind == SYN_S                        ? SYN_MOVE_SLICE
                 : y->kind == SYN_P && y->reducer == 's' ? SYN_MOVE_PARTIAL // 0 is no neutral
                                                                            // element of a maximum
                                                         : SYN_MOVE_NONE;
    } else if (x->kind == SYN_P) {
        m.reduce_max = x->reducer == 'm';
        m.coll = y->kind == SYN_R ? COST_ALL_REDUCE : COST_REDUCE_SCATTER;
        if (y->kind == SYN_P || (y->kind == SYN_S && m.reduce_max)) m.kind = SYN_MOVE_NONE;
    } else if (y->kind == SYN_R) {
        m.coll = COST_ALL_GATHER;
    } else if (y->kind == SYN_P || (same_factor(x, y) ? x->cut == y->cut : x->dim == y->dim)) {
        m.kind = SYN_MOVE_NONE;
    } else {
        m.coll = same_factor(x, y) ? COST_RESHARD : COST_ALL_TO_ALL;
    }
    return m;
}

syn_move syn_move_between(const syn_costs *c, int tensor, const syn_state *a, const syn_state *b)
{
    (void)tensor;
    const syn_mesh *mesh = c->mesh;
    syn_move none = {.kind = SYN_MOVE_NONE};
    bool change0 = !axis_eq(&a->ax[0], &b->ax[0]);
    bool change1 = mesh->n_axes == 2 && !axis_eq(&a->ax[1], &b->ax[1]);
    if (!change0 && !change1) return none;
    bool ja = syn_joint(mesh, a), jb = syn_joint(mesh, b);
    unsigned axes = change0 && change1 ? both_axes(mesh) : change1 ? AXIS1 : AXIS0;
    // Parts of one factor over both axes stay together: axis 0 moves only with axis 1.
    if (axes == AXIS0 && (ja || jb)) axes = both_axes(mesh);
    syn_axis_state x, y;
    if (!as_one(mesh, a, axes, &x) || !as_one(mesh, b, axes, &y)) return none;
    syn_move m = kind_of(&x, &y);
    m.axes = axes;
    // Two local copies may as well go axis by axis.
    if (axes == (AXIS0 | AXIS1) && m.kind == SYN_MOVE_PARTIAL) return none;
    return m;
}

// What one group of a collective sees.
static void group_shards(const syn_costs *c, const syn_move *move, int group, const syn_transfer *t,
                         cost_shards *sh)
{
    const syn_mesh *mesh = c->mesh;
    const ir_tensor *ten = &c->g->tensors.p[t->tensor];
    syn_axis_state x, y;
    hb_assert(as_one(mesh, &t->from, move->axes, &x) && as_one(mesh, &t->to, move->axes, &y));
    *sh = (cost_shards){.n = syn_group_size(mesh, move->axes),
                        .item = ir_dtype_bytes(t->dtype),
                        .bytes = (double)(ir_elements(ten) * ir_dtype_bytes(t->dtype))};
    const syn_axis_state *other = NULL; // cut over the axis that takes no part
    double share = 1;
    if (move->axes != both_axes(mesh)) {
        other = &t->from.ax[move->axes == AXIS1 ? 0 : 1];
        if (other->kind == SYN_S) {
            const syn_cut *k = &mesh->cuts.p[other->cut];
            share = (double)k->table[group] / (double)k->size;
            sh->bytes *= share;
        }
    }
    const syn_axis_state *first = x.kind == SYN_S ? &x : &y;
    const syn_axis_state *sides[2] = {first->kind == SYN_S ? first : NULL,
                                      x.kind == SYN_S && y.kind == SYN_S ? &y : NULL};
    for (int i = 0; i < 2; i++) {
        if (!sides[i]) continue;
        const syn_cut *k = &mesh->cuts.p[sides[i]->cut];
        // Inside one machine a cut over both axes is that machine's run of the table.
        const int64_t *table =
            k->table + (k->axis == SYN_BOTH && move->axes == AXIS1 ? group * mesh->size[1] : 0);
        if (i == 0) sh->table = table;
        if (i == 1) sh->table2 = table;
        double *n = i == 0 ? &sh->apart : &sh->apart2;
        *n = apart(c, t->tensor, sides[i]);
        if (*n > 1 && other && other->kind == SYN_S && stands_before(other, sides[i]))
            *n = fmax(*n * share, 2); // still not one
    }
    if (move->coll == COST_ALL_REDUCE && move->axes == (AXIS0 | AXIS1)) {
        sh->n_inner = mesh->size[1];
        sh->inner = syn_axes_link(c, AXIS1);
        sh->between = syn_axes_link(c, AXIS0);
    }
    cost_measure(sh);
}

// Of a cut's axis and table.
static uint64_t cut_key(syn_costs *c, int cut)
{
    const syn_cut *k = &c->mesh->cuts.p[cut];
    while (c->cut_key.n < c->mesh->cuts.n)
        HB_PUSH(c->arena, &c->cut_key, 0);
    uint64_t *key = &c->cut_key.p[cut];
    if (!*key)
        *key = (hb_hash_key(k->table, sizeof *k->table * (size_t)k->n) + (uint64_t)k->axis) | 1;
    return *key;
}

uint64_t syn_price_key(syn_costs *c, int tensor, const syn_state *a, const syn_state *b,
                       const syn_move *m)
{
    const ir_tensor *t = &c->g->tensors.p[tensor];
    bool one = m->axes != both_axes(c->mesh);
    const syn_axis_state *other = one ? &a->ax[m->axes == AXIS1 ? 0 : 1] : NULL;
    syn_axis_state x[2];
    uint64_t key[14] = {c->mesh_key,
                        (uint64_t)m->coll << 32 | (uint64_t)m->axes << 8 | (uint64_t)m->reduce_max,
                        (uint64_t)ir_elements(t), (uint64_t)ir_dtype_bytes(t->dtype)};
    int n = 4;
    bool cut = other && other->kind == SYN_S;
    key[n++] = cut ? cut_key(c, other->cut) : 0;
    hb_assert(as_one(c->mesh, a, m->axes, &x[0]) && as_one(c->mesh, b, m->axes, &x[1]));
    for (int i = 0; i < 2; i++) {
        if (x[i].kind != SYN_S) continue;
        double runs = apart(c, tensor, &x[i]);
        key[n++] = cut_key(c, x[i].cut);
        key[n++] = (uint64_t)i << 1 | (cut && stands_before(other, &x[i]));
        memcpy(&key[n++], &runs, sizeof runs);
    }
    return hb_hash_key(key, sizeof *key * (size_t)n) | 1; // never 0
}

// Whether a group moves the same over the same links as the group before it.
static bool like_previous(const syn_costs *c, const syn_move *m, int group,
                          const syn_transfer *list, int n)
{
    if (group == 0) return false;
    cl_link a = group_link(c, m->axes, group - 1), b = group_link(c, m->axes, group);
    if (a.bandwidth != b.bandwidth || a.latency != b.latency || a.peer != b.peer ||
        a.gpus != b.gpus)
        return false;
    int own = m->axes == AXIS1 ? 1 : 0, inner = c->mesh->size[1];
    for (int k = 0; k < n; k++) {
        const syn_axis_state *other = &list[k].from.ax[1 - own];
        if (other->kind == SYN_S) {
            const int64_t *table = c->mesh->cuts.p[other->cut].table;
            if (table[group] != table[group - 1]) return false;
        }
        const syn_axis_state *side[2] = {&list[k].from.ax[1], &list[k].to.ax[1]};
        for (int i = 0; i < 2 && own == 1; i++) {
            if (side[i]->kind != SYN_S) continue;
            const syn_cut *cut = &c->mesh->cuts.p[side[i]->cut];
            const int64_t *table = cut->table + (group - 1) * inner;
            if (cut->axis == SYN_BOTH &&
                memcmp(table, table + inner, sizeof *table * (size_t)inner) != 0)
                return false;
        }
    }
    return true;
}

static double form_seconds(const syn_costs *c, const syn_move *m, cost_form form,
                           const cost_shards *sh, cl_link link)
{
    return cost_form_seconds(c->m, m->coll, form, sh, link, &c->memory);
}

// Seconds of the forms over a list on the slowest group. All-reduces of the library travel as one
// message; other tensors, and all copies, follow each other.
static void price_forms(const syn_costs *c, const syn_move *m, const syn_transfer *list, int n,
                        cost_forms *x)
{
    for (int f = 0; f < x->n; f++)
        x->sec[f] = 0;
    for (int i = 0; i < n_groups(c->mesh, m->axes); i++) {
        if (like_previous(c, m, i, list, n)) continue;
        cl_link link = group_link(c, m->axes, i);
        cost_shards sh, sum = {0};
        double sec[COST_MAX_FORMS] = {0};
        for (int k = 0; k < n; k++) {
            group_shards(c, m, i, &list[k], &sh);
            double so_far = sum.bytes;
            sum = sh;
            sum.bytes += so_far;
            for (int f = 0; f < x->n; f++) {
                bool together = m->coll == COST_ALL_REDUCE && !cost_is_put(x->form[f]);
                if (!together)
                    sec[f] += form_seconds(c, m, x->form[f], &sh, link);
                else if (k == n - 1)
                    sec[f] = form_seconds(c, m, x->form[f], &sum, link);
            }
        }
        for (int f = 0; f < x->n; f++)
            x->sec[f] = fmax(x->sec[f], sec[f]);
    }
}

// Of all forms that there are between the members; one-sided puts: or without them.
static cost_forms all_forms(const syn_costs *c, const syn_move *m, bool with_puts,
                            const syn_transfer *list, int n)
{
    with_puts = with_puts && !m->reduce_max && syn_axes_link(c, m->axes).peer;
    cost_forms x = cost_forms_of(m->coll, syn_group_size(c->mesh, m->axes), with_puts);
    price_forms(c, m, list, n, &x);
    return x;
}

void syn_list_forms(const syn_costs *c, const syn_move *m, const syn_transfer *list, int n,
                    cost_forms *out)
{
    *out = all_forms(c, m, !c->no_put, list, n);
}

double syn_list_seconds(const syn_costs *c, const syn_move *m, const syn_transfer *list, int n)
{
    cost_forms x = {.n = 1, .form = {m->form}};
    price_forms(c, m, list, n, &x);
    return x.sec[0];
}

const syn_slack *syn_taking(const syn_slack *slack)
{
    return slack && slack->takes ? slack : NULL;
}

double syn_sending_seconds(const syn_costs *c, unsigned axes, bool put, double sec,
                           const syn_slack *slack, int tensor)
{
    if (!slack || isinf(sec)) return sec;
    // As if `price` of what may hide did not: the rest takes from computing what it takes.
    double hidden = fmin(sec, slack->sec[tensor]), waited = slack->price;
    double taken = slack->takes ? c->taken[axes][put] : 0;
    return sec - hidden + hidden * (waited + (1 - waited) * taken);
}

void syn_move_price(const syn_costs *c, int tensor, const syn_state *a, const syn_state *b,
                    const syn_slack *slack, syn_move *m)
{
    syn_transfer t = {tensor, c->g->tensors.p[tensor].dtype, *a, *b};
    cost_form best[2] = {COST_FLAT, COST_FLAT};
    cost_forms x = all_forms(c, m, true, &t, 1);
    // Small all-reduces travel together (bucket.c): what a one-sided put saves of the latency of
    // one is no reason to go axis by axis instead of over both at once.
    cl_link link = syn_axes_link(c, m->axes);
    bool both = m->coll == COST_ALL_REDUCE && c->mesh->n_axes == 2;
    for (int f = 1; both && f < x.n; f++) // the first is FLAT
        if (cost_is_put(x.form[f]) && x.sec[f] + link.latency > x.sec[0]) x.sec[f] = HUGE_VAL;
    int n = x.n;
    while (cost_is_put(x.form[n - 1])) // which come last
        n--;
    for (int put = 0; put < 2; put++) {
        cost_forms some = {.n = put ? x.n - n : n};
        memcpy(some.form, x.form + (put ? n : 0), sizeof *x.form * (size_t)some.n);
        memcpy(some.sec, x.sec + (put ? n : 0), sizeof *x.sec * (size_t)some.n);
        m->sec_by[put] = HUGE_VAL;
        for (int f = 0; f < some.n; f++)
            m->sec_by[put] = fmin(m->sec_by[put], some.sec[f]);
        if (isinf(m->sec_by[put])) continue;
        int i = cost_cheapest(&some);
        best[put] = some.form[i];
        m->sec_by[put] = some.sec[i];
    }
    const syn_slack *hides = syn_taking(slack);
    double library = syn_sending_seconds(c, m->axes, false, m->sec_by[0], hides, tensor),
           puts = syn_sending_seconds(c, m->axes, true, m->sec_by[1], hides, tensor);
    bool put = !c->no_put && puts < library / (1 + COST_ROUNDING);
    m->form = best[put];
    m->sec = m->sec_by[put];
    m->scratch = syn_list_scratch(c, m, &t, 1);
}

int64_t syn_list_scratch(const syn_costs *c, const syn_move *m, const syn_transfer *list, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n_groups(c->mesh, m->axes); i++) {
        if (like_previous(c, m, i, list, n)) continue;
        int64_t bytes = 0;
        for (int k = 0; k < n; k++) {
            cost_shards sh;
            group_shards(c, m, i, &list[k], &sh);
            bytes += cost_scratch(m->coll, m->form, &sh);
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}
