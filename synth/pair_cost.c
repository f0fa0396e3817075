// What a pair takes: its members as costmodel/overlap.h sees them, one team of ranks at a time.

#include <math.h>
#include <string.h>

#include "costmodel/overlap.h"
#include "synth/pairs.h"
#include "synth/space.h"

// The product of one rank: by op, work that goes with rows and what does not.
typedef struct rank_kind {
    int64_t cls; // of the mesh
    double flops[SYN_PAIR_OPS], bytes[SYN_PAIR_OPS], fixed[SYN_PAIR_OPS];
    double row_bytes; // of the moved tensor
} rank_kind;

typedef struct team {
    const syn_costs *c;
    const syn_program *p;
    const syn_members *m;
    cost_coll coll;
    cost_form form;
    int n;
    cl_link link;
    double per_row; // all-to-all: stretches of memory of the columns of one row
    int n_kinds;
    rank_kind rank[CL_MAX_CLASSES];
    int *kind;     // by coordinate
    int64_t *rows; // by coordinate; all-reduce: [0], all
    double *after;
} team;

static int team_rank(const syn_mesh *m, unsigned axes, int i, int group)
{
    if (m->n_axes == 1 || axes == 3) return i;
    return axes == 1 ? i * m->size[1] + group : group * m->size[1] + i;
}

static double local(const team *t, int buffer, int rank)
{
    const syn_tensor *x = &t->p->tensors.p[buffer];
    return (double)syn_local_elements(t->p->mesh, t->p->g, t->p->f, x->value, &x->state, rank);
}

static double item(const team *t, int buffer)
{
    return (double)ir_dtype_bytes(t->p->tensors.p[buffer].dtype);
}

// Entries of the last dim on a rank.
static double columns(const team *t, int buffer, int rank)
{
    const syn_program *p = t->p;
    const syn_tensor *x = &p->tensors.p[buffer];
    const ir_tensor *v = &p->g->tensors.p[x->value];
    double n = (double)v->dim[v->rank - 1];
    for (int a = 0; a < p->mesh->n_axes; a++) {
        const syn_axis_state *s = &x->state.ax[a];
        if (s->kind != SYN_S || s->dim != v->rank - 1 || (a == 0 && syn_joint(p->mesh, &x->state)))
            continue;
        const syn_cut *cut = &p->mesh->cuts.p[s->cut];
        n *= (double)cut->table[syn_coord(p->mesh, rank, cut->axis)] / (double)cut->size;
    }
    return n;
}

static rank_kind kind_of(const team *t, int rank)
{
    const syn_program *p = t->p;
    rank_kind k = {.cls = p->mesh->class_of[rank]};
    const syn_instr *start = &p->instr.p[t->m->start];
    int moved = t->m->consumer ? start->out[0] : start->in[0];
    k.row_bytes = columns(t, moved, rank) * item(t, moved);
    for (int i = 0; i < t->m->n_ops; i++) {
        const syn_instr *op = &p->instr.p[t->m->op[i]];
        double in = columns(t, op->in[0], rank), out = columns(t, op->out[0], rank);
        k.flops[i] = 2 * in * out;
        k.bytes[i] = in * item(t, op->in[0]) + out * item(t, op->out[0]);
        for (int j = 1; j < op->n_in; j++)
            if (op->in[j] >= 0) k.fixed[i] += local(t, op->in[j], rank) * item(t, op->in[j]);
    }
    return k;
}

// What stands before the factor that an all-to-all's product is cut by, in its last dim.
static double stretches_of_row(const syn_program *p, const syn_instr *start)
{
    const syn_tensor *x = &p->tensors.p[start->in[0]];
    int last = p->g->tensors.p[x->value].rank - 1;
    double n = 1;
    for (int a = 0; a < p->mesh->n_axes && start->coll == COST_ALL_TO_ALL; a++) {
        const syn_axis_state *s = &x->state.ax[a];
        if (s->kind != SYN_S || s->dim != last) continue;
        n = 1;
        for (int i = 0; i < s->pos; i++)
            n *= (double)p->f->cls[p->f->dim[x->value][last].cls[i]].size;
    }
    return n;
}

// Kinds, rows and links of one team. False: too many kinds of ranks.
static bool gather(hb_arena *a, team *t, unsigned axes, int group)
{
    const syn_instr *start = &t->p->instr.p[t->m->start];
    bool whole = start->coll == COST_ALL_REDUCE;
    int cut = t->m->consumer || whole ? start->in[0] : start->out[0];
    t->kind = HB_ARRAY(a, int, t->n);
    t->rows = HB_ARRAY(a, int64_t, t->n);
    t->after = HB_ARRAY(a, double, t->n);
    t->n_kinds = 0;
    for (int i = 0; i < t->n; i++) {
        int rank = team_rank(t->p->mesh, axes, i, group);
        rank_kind k = kind_of(t, rank);
        double wide = columns(t, cut, rank);
        t->rows[i] = wide > 0 ? (int64_t)(local(t, cut, rank) / wide + 0.5) : 0;
        int at = 0;
        while (at < t->n_kinds && memcmp(&t->rank[at], &k, sizeof k) != 0)
            at++;
        if (at == CL_MAX_CLASSES) return false;
        if (at == t->n_kinds) t->rank[t->n_kinds++] = k;
        t->kind[i] = at;
    }
    return true;
}

static double product(void *ctx, int kind, int64_t rows)
{
    const team *t = ctx;
    const rank_kind *k = &t->rank[kind];
    double sec = 0, n = (double)rows;
    for (int i = 0; i < t->m->n_ops; i++) {
        ir_op op = t->p->g->nodes.p[t->p->instr.p[t->m->op[i]].node].op;
        if (k->flops[i] > 0)
            sec += cost_op(t->c->m, t->p->mesh->cluster_class[k->cls], op, n * k->flops[i],
                           n * k->bytes[i] + k->fixed[i]);
    }
    return sec;
}

// `apart`: stretches of what all members hold together.
static double form_seconds(const team *t, cost_coll coll, cost_form form, const int64_t *table,
                           double bytes, double apart)
{
    cost_shards s = {.n = t->n,
                     .table = table,
                     .table2 = table,
                     .bytes = bytes,
                     .apart = 1,
                     .apart2 = apart,
                     .item = 1};
    cost_memory memory = t->c->memory;
    memory.skew[0] = memory.skew[1] = 0; // of the pair, not of a message
    cost_measure(&s);
    if (!table) s.entries = s.entries2 = (cost_entries){true, t->n, 1, 1}; // even
    return cost_form_seconds(t->c->m, coll, form, &s, t->link, &memory);
}

static const int64_t even[COST_MAX_PAIR_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

// A message is one of the n - 1 that a rank sends one after the other when all shards are as large;
// a scattered part is sent like a gathered one, and added later.
static double message(void *ctx, int kind, int64_t rows)
{
    const team *t = ctx;
    double bytes = t->rank[kind].row_bytes * (double)rows;
    if (t->coll == COST_ALL_REDUCE && cost_is_push(t->form)) // there, as it comes back
        return form_seconds(t, COST_ALL_GATHER, t->form, NULL, bytes, 1);
    if (t->coll == COST_ALL_REDUCE) return form_seconds(t, t->coll, t->form, NULL, bytes, 1);
    if (t->coll == COST_ALL_TO_ALL)
        return form_seconds(t, t->coll, t->form, even, t->n * t->n * bytes,
                            t->n * (double)rows * t->per_row) /
               (t->n - 1);
    return form_seconds(t, COST_ALL_GATHER, t->form, even, t->n * bytes, 1) / (t->n - 1);
}

// What ranks take to add their rows: of an all-reduce, all members' parts read and the sums
// written; of a reduce-scatter what it takes beyond sending, for of that the receiver's cache still
// has a part: if all had as many rows as who has most, as unequal parts of an all-gather are passed
// on.
static void sums(team *t)
{
    const rank_kind *k = &t->rank[0];
    int64_t most = 0;
    if (t->coll == COST_ALL_REDUCE) {
        t->after[0] = cost_op(t->c->m, t->p->mesh->cluster_class[k->cls], IR_OP_add, 0,
                              (t->n + 1) * (double)t->rows[0] / t->n * k->row_bytes);
        return;
    }
    for (int i = 0; i < t->n; i++)
        most = t->rows[i] > most ? t->rows[i] : most;
    double bytes = k->row_bytes * (double)most * t->n;
    double sec = form_seconds(t, COST_REDUCE_SCATTER, COST_PUSH, even, bytes, 1) -
                 form_seconds(t, COST_ALL_GATHER, COST_PUSH, even, bytes, 1);
    for (int i = 0; i < t->n && most > 0; i++)
        t->after[i] = fmax(sec, 0) * (double)t->rows[i] / (double)most;
}

static cost_pair pair_of(team *t, cost_contention *beside, bool quick)
{
    // Not measured: on H200s the next group began 5 us behind the one before, 15 us behind the end
    // of its message (pushes, TP 4).
    static const double gap_gpu = 5e-6, flag_gpu = 15e-6;
    double gap = 0, flag = 0, launch = 0;
    bool whole = t->coll == COST_ALL_REDUCE, push = cost_is_push(t->form), any_gpu = false;
    for (int k = 0; k < t->n_kinds; k++) {
        int cls = t->p->mesh->cluster_class[t->rank[k].cls];
        const cl_class *k_cls = &t->p->cluster->cls[cls];
        double least = cost_launch(t->c->m, cls);
        bool gpu = k_cls->kind == CL_GPU;
        any_gpu = any_gpu || gpu;
        launch = fmax(launch, least);
        beside[k] = cost_pair_beside(k_cls, t->form);
        gap = fmax(gap, k_cls->pair_gap > 0 ? k_cls->pair_gap : gpu ? gap_gpu : least / 2);
        flag = fmax(flag, k_cls->pair_flag > 0 ? k_cls->pair_flag : gpu ? flag_gpu : least);
    }
    memset(t->after, 0, sizeof *t->after * (size_t)t->n);
    if (t->coll == COST_REDUCE_SCATTER || (whole && push)) sums(t);
    return (cost_pair){.consumer = t->m->consumer,
                       .whole = whole,
                       .back = whole && push,
                       .late = whole && !push && any_gpu,
                       .together = t->form == COST_PUSH_ALL,
                       .n = t->n,
                       .rows = t->rows,
                       .n_kinds = t->n_kinds,
                       .kind = t->kind,
                       .product = product,
                       .message = message,
                       .ctx = t,
                       .after = t->after,
                       .beside = beside,
                       .gap = gap,
                       .flag = flag,
                       .skew = t->c->memory.skew[push],
                       .quick = quick,
                       .doubt = launch};
}

static bool pairs_in(cost_coll coll, cost_form form)
{
    return cost_is_push(form) || (coll == COST_ALL_REDUCE && form == COST_FLAT);
}

// --- all teams of the collective ---

typedef struct teams {
    hb_arena *arena;
    int n;
    team *v;
    double doubt;
} teams;

// Does a machine hold of a buffer what the one before it holds?
static bool held_alike(const syn_program *p, int buffer, int machine)
{
    const syn_mesh *mesh = p->mesh;
    for (int a = 0; buffer >= 0 && a < mesh->n_axes; a++) {
        const syn_axis_state *s = &p->tensors.p[buffer].state.ax[a];
        if (s->kind != SYN_S) continue;
        const syn_cut *cut = &mesh->cuts.p[s->cut];
        const int64_t *t = cut->table;
        if (cut->axis == 0 && t[machine] != t[machine - 1]) return false;
        int n = mesh->size[1];
        if (cut->axis == SYN_BOTH &&
            memcmp(t + machine * n, t + (machine - 1) * n, sizeof *t * (size_t)n) != 0)
            return false;
    }
    return true;
}

// The team of a machine is sure to be like the one of the machine before.
static bool machine_alike(const syn_program *p, const syn_members *m, int machine)
{
    const syn_mesh *mesh = p->mesh;
    const int *cls = mesh->class_of + machine * mesh->size[1];
    const syn_instr *start = &p->instr.p[m->start];
    if (start->axes != 2 || machine == 0) return false;
    if (memcmp(cls, cls - mesh->size[1], sizeof *cls * (size_t)mesh->size[1]) != 0) return false;
    if (!held_alike(p, start->in[0], machine) || !held_alike(p, start->out[0], machine))
        return false;
    for (int i = 0; i < m->n_ops; i++) {
        const syn_instr *op = &p->instr.p[m->op[i]];
        if (!held_alike(p, op->out[0], machine)) return false;
        for (int k = 0; k < op->n_in; k++)
            if (!held_alike(p, op->in[k], machine)) return false;
    }
    return true;
}

static bool gather_teams(teams *all, const syn_program *p, syn_costs *c, const syn_members *m)
{
    const syn_instr *start = &p->instr.p[m->start];
    int n = syn_group_size(p->mesh, start->axes), groups = p->mesh->n_ranks / n;
    if (n > COST_MAX_PAIR_RANKS && start->coll != COST_ALL_REDUCE) return false;
    all->v = hb_alloc(all->arena, sizeof *all->v * (size_t)groups);
    all->n = 0;
    for (int g = 0; g < groups; g++) {
        if (machine_alike(p, m, g)) continue;
        team *t = &all->v[all->n], *last = all->n > 0 ? t - 1 : t;
        *t = (team){.c = c,
                    .p = p,
                    .m = m,
                    .coll = start->coll,
                    .form = start->form,
                    .n = n,
                    .link = syn_axes_link(c, start->axes),
                    .per_row = stretches_of_row(p, start)};
        if (!gather(all->arena, t, start->axes, g)) return false;
        size_t ranks = (size_t)n;
        if (all->n > 0 && t->n_kinds == last->n_kinds &&
            memcmp(t->rank, last->rank, sizeof *t->rank * (size_t)t->n_kinds) == 0 &&
            memcmp(t->kind, last->kind, sizeof *t->kind * ranks) == 0 &&
            memcmp(t->rows, last->rows, sizeof *t->rows * ranks) == 0)
            continue; // as the one before it
        all->n++;
    }
    return true;
}

// Of the slowest team.
static void times_of(teams *all, syn_pair *x)
{
    memset(x->end, 0, sizeof x->end);
    memset(x->busy, 0, sizeof x->busy);
    memset(x->own, 0, sizeof x->own);
    x->total = x->transfer = 0;
    for (int i = 0; i < all->n; i++) {
        team *t = &all->v[i];
        cost_contention beside[CL_MAX_CLASSES];
        cost_pair_time time;
        t->form = x->form;
        cost_pair p = pair_of(t, beside, false);
        cost_pair_seconds(&p, x->group, x->n_groups, &time);
        x->total = fmax(x->total, time.total);
        x->transfer = fmax(x->transfer, time.transfer);
        for (int k = 0; k < t->n_kinds; k++) {
            int64_t c = t->rank[k].cls;
            x->own[c] = x->end[c] > 0 ? fmin(x->own[c], time.own[k]) : time.own[k];
            x->end[c] = fmax(x->end[c], time.end[k]);
            x->busy[c] = fmax(x->busy[c], time.busy[k]);
        }
    }
}

double syn_products_seconds(const syn_program *p, const syn_members *m)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double sec = 0;
        for (int i = 0; i < m->n_ops; i++)
            sec += p->instr.p[m->op[i]].sec[c];
        most = fmax(most, sec);
    }
    return most;
}

// Seconds that the groups beyond need not bring, as gaps vary.
static double doubted(const teams *all, const syn_pair *x)
{
    return x->total + all->doubt * cost_pair_products(x->group, x->n_groups);
}

// The team whose products take longest.
static team *slowest(teams *all)
{
    team *last = &all->v[0];
    double most = 0;
    for (int i = 0; i < all->n && all->n > 1; i++) {
        team *t = &all->v[i];
        int64_t rows = t->rows[0];
        for (int r = 1; r < t->n && t->coll != COST_ALL_REDUCE; r++)
            rows += t->rows[r];
        for (int k = 0; k < t->n_kinds; k++) {
            double sec = product(t, k, rows);
            if (sec <= most) continue;
            most = sec;
            last = t;
        }
    }
    return last;
}

static double transfer_of(team *t, cost_form form)
{
    int64_t most = t->rows[0];
    t->form = form;
    if (t->coll == COST_ALL_REDUCE)
        return form_seconds(t, t->coll, form, NULL, t->rank[0].row_bytes * (double)most, 1);
    for (int r = 1; r < t->n; r++)
        most = t->rows[r] > most ? t->rows[r] : most;
    return (t->n - 1) * message(t, 0, most);
}

// The best groups for the slowest team, by the time of all.
static void best_groups(teams *all, cost_form form, bool quick, syn_pair *best)
{
    cost_contention beside[CL_MAX_CLASSES];
    cost_pair_time time;
    int group[SYN_PAIR_GROUPS][2];
    team *t = slowest(all);
    t->form = form;
    cost_pair pair = pair_of(t, beside, quick);
    syn_pair x = *best;
    x.form = form;
    x.group = group;
    all->doubt = pair.doubt;
    x.n_groups = cost_pair_search(&pair, SYN_PAIR_GROUPS, group, &time);
    if (x.n_groups == 0) return;
    times_of(all, &x);
    if (best->n_groups > 0 && doubted(all, &x) >= doubted(all, best)) return;
    *best = x;
    best->group = hb_copy(t->c->arena, group, sizeof *group * (size_t)x.n_groups);
}

// Of every form the first few groupings; the winner's are looked at closely later.
static void search(teams *all, const syn_program *p, const syn_members *m, syn_pair *best)
{
    const syn_instr *start = &p->instr.p[m->start];
    double most = syn_products_seconds(p, m), push = HUGE_VAL;
    best->sequential = most + start->sec[0];
    for (cost_form f = COST_EVEN; f < COST_N_FORMS; f++) {
        if (!pairs_in(start->coll, f) || !cost_form_exists(start->coll, f)) continue;
        if (p->no_push && cost_is_push(f)) continue;
        double transfer = transfer_of(&all->v[0], f);
        // The products or the transfer alone are too much; or streams to all are no faster.
        if (fmax(most, transfer) >= best->sequential) continue;
        if (f == COST_PUSH_ALL && transfer >= push) continue;
        if (f == COST_PUSH) push = transfer;
        best_groups(all, f, true, best);
    }
    if (best->n_groups == 0) return;
    bool gpu = false;
    for (int c = 0; c < p->mesh->n_classes; c++)
        gpu = gpu || p->cluster->cls[p->mesh->cluster_class[c]].kind == CL_GPU;
    cost_pair as = {.whole = start->coll == COST_ALL_REDUCE, .doubt = all->doubt};
    if (!cost_pair_pays(&as, gpu ? CL_GPU : CL_CPU, best->total,
                        cost_pair_products(best->group, best->n_groups), most, start->sec[0]))
        best->n_groups = 0;
}

// --- known pairs ---

static void put(hb_buf *b, int64_t v)
{
    hb_putn(b, (const char *)&v, sizeof v);
}

static void put_buffer(hb_buf *b, const syn_program *p, int buffer)
{
    if (buffer < 0) {
        put(b, -1);
        return;
    }
    const syn_tensor *t = &p->tensors.p[buffer];
    const ir_tensor *v = &p->g->tensors.p[t->value];
    put(b, (int64_t)t->dtype << 8 | v->rank);
    for (int d = 0; d < v->rank; d++)
        put(b, v->dim[d]);
    for (int a = 0; a < p->mesh->n_axes; a++) {
        const syn_axis_state *s = &t->state.ax[a];
        put(b, (int64_t)s->kind << 48 | (int64_t)s->dim << 40 | (int64_t)s->pos << 32 |
                   (uint16_t)s->cut);
    }
}

enum { ASK_BEST, ASK_TIMES, ASK_REFINED };

static hb_str key_of(hb_buf *b, int ask, const syn_program *p, const syn_members *m,
                     const syn_pair *at)
{
    const syn_instr *start = &p->instr.p[m->start];
    b->n = 0;
    put(b, ask);
    put(b, (int64_t)start->coll << 16 | (int64_t)start->form << 8 | start->axes |
               (int64_t)p->no_push << 4);
    put_buffer(b, p, start->in[0]);
    put_buffer(b, p, start->out[0]);
    for (int i = 0; i < m->n_ops; i++) {
        const syn_instr *op = &p->instr.p[m->op[i]];
        put(b, p->g->nodes.p[op->node].op);
        for (int k = 0; k < op->n_in; k++)
            put_buffer(b, p, op->in[k]);
        put_buffer(b, p, op->out[0]);
    }
    for (int k = 0; at && k < at->n_groups; k++)
        put(b, (int64_t)at->group[k][0] << 32 | at->group[k][1]);
    return (hb_str){b->p, b->n};
}

static const syn_pair *known(syn_costs *c, hb_str key)
{
    int at = hb_map_get(c->pairs, key);
    return at >= 0 ? c->all_pairs.p[at] : NULL;
}

static const syn_pair *remember(syn_costs *c, hb_str key, const syn_pair *x)
{
    hb_map_put(c->pairs, hb_str_n(c->arena, key.p, key.n), c->all_pairs.n);
    HB_PUSH(c->arena, &c->all_pairs, hb_copy(c->arena, x, sizeof *x));
    return c->all_pairs.p[c->all_pairs.n - 1];
}

const syn_pair *syn_best_pair(const syn_program *p, syn_costs *c, const syn_members *m)
{
    teams all = {.arena = hb_arena_new()};
    hb_buf b = {.arena = all.arena};
    hb_str key = key_of(&b, ASK_BEST, p, m, NULL);
    const syn_pair *best = known(c, key);
    if (!best) {
        syn_pair x = {.n_groups = 0};
        if (gather_teams(&all, p, c, m)) search(&all, p, m, &x);
        best = remember(c, key, &x);
    }
    hb_arena_free(all.arena);
    return best;
}

void syn_pair_at(const syn_program *p, syn_costs *c, const syn_members *m, syn_pair *x)
{
    teams all = {.arena = hb_arena_new()};
    hb_buf b = {.arena = all.arena};
    hb_str key = key_of(&b, ASK_TIMES, p, m, x);
    const syn_pair *same = known(c, key);
    if (!same) {
        syn_pair now = *x;
        bool fits = gather_teams(&all, p, c, m);
        hb_assert(fits);
        times_of(&all, &now);
        same = remember(c, key, &now);
    }
    memcpy(x->end, same->end, sizeof x->end);
    memcpy(x->busy, same->busy, sizeof x->busy);
    memcpy(x->own, same->own, sizeof x->own);
    x->total = same->total;
    x->transfer = same->transfer;
    hb_arena_free(all.arena);
}

void syn_refine_pair(const syn_program *p, syn_costs *c, const syn_members *m, syn_pair *x)
{
    teams all = {.arena = hb_arena_new()};
    hb_buf b = {.arena = all.arena};
    hb_str key = key_of(&b, ASK_REFINED, p, m, x);
    const syn_pair *same = known(c, key);
    if (!same) {
        syn_pair now = *x;
        if (gather_teams(&all, p, c, m)) best_groups(&all, x->form, false, &now);
        same = remember(c, key, &now);
    }
    int first = x->first, len = x->len;
    *x = *same;
    x->first = first;
    x->len = len;
    x->group = hb_copy(p->arena, x->group, sizeof *x->group * (size_t)x->n_groups);
    hb_arena_free(all.arena);
}
