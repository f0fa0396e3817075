// What a pair takes: its members as costmodel/pair_team.h sees them, one team of ranks at a time.

#include "synth/price/pair_cost.h"

#include <math.h>
#include <string.h>

#include "costmodel/pair_team.h"
#include "ir/runtime_limits.h"
#include "synth/price/instr_cost.h"
#include "synth/price/moves.h"

// The product of one rank: by op, work that goes with rows and what does not.
typedef struct rank_kind {
    int64_t cls; // of the mesh
    double flops[SYN_PAIR_OPS], bytes[SYN_PAIR_OPS], fixed[SYN_PAIR_OPS];
    double gathered[SYN_PAIR_OPS]; // bytes of a row that are laid by expert first
    double row_bytes;              // of the moved tensor
    int64_t k, cols[SYN_PAIR_OPS]; // columns of the operand, of each result
} rank_kind;

typedef struct team {
    const syn_program *p;
    const syn_members *m;
    int row_dims; // of the matmuls: dims at the end that make a row
    rank_kind rank[CL_MAX_CLASSES];
    int64_t k[CL_MAX_CLASSES], cols[CL_MAX_CLASSES * SYN_PAIR_OPS]; // for lists of tiles
    cost_team is;
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

// Entries of a row on a rank.
static double columns(const team *t, int buffer, int rank)
{
    const syn_program *p = t->p;
    const syn_tensor *x = &p->tensors.p[buffer];
    const ir_tensor *v = &p->g->tensors.p[x->value];
    const int lead = v->rank - t->row_dims;
    double n = 1;
    for (int d = lead; d < v->rank; d++)
        n *= (double)v->dim[d];
    for (int a = 0; a < p->mesh->n_axes; a++) {
        const syn_axis_state *s = &x->state.ax[a];
        if (s->kind != SYN_S || s->dim < lead || (a == 0 && syn_joint(p->mesh, &x->state)))
            continue;
        const syn_cut *cut = &p->mesh->cuts.p[s->cut];
        n *= (double)cut->table[syn_coord(p->mesh, rank, cut->axis)] / (double)cut->size;
    }
    return n;
}

// Of a product of experts, which are chosen alike: what it takes a row.
static double flops_of_experts(const team *t, const syn_instr *op, int rank, double *gathered)
{
    const syn_program *p = t->p;
    const syn_node_cut cut = syn_cut_of_op(p, op);
    const bool joint = cut.cut[1] >= 0 && p->mesh->cuts.p[cut.cut[1]].axis == SYN_BOTH;
    ir_part part[SYN_MAX_AXES];
    int n = 0;
    double flops, bytes, cols = columns(t, op->out[0], rank), all = local(t, op->out[0], rank);
    for (int a = 0; a < p->mesh->n_axes; a++) {
        if (cut.factor[a] < 0 || (a == 0 && joint)) continue;
        const syn_cut *k = &p->mesh->cuts.p[cut.cut[a]];
        part[n++] = (ir_part){cut.factor[a], k->table[syn_coord(p->mesh, rank, k->axis)], 0};
    }
    ir_node_work(p->g, p->f, op->node, part, n, &flops, &bytes);
    *gathered = all > 0 ? ir_gathered_bytes(p->g, p->f, op->node, part, n) * cols / all : 0;
    return all > 0 ? flops * cols / all : 0;
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
        bool dense = ir_op_of(p->g->nodes.p[op->node].op)->flops_kind == IR_FLOPS_DENSE;
        k.flops[i] = dense ? 2 * in * out : flops_of_experts(t, op, rank, &k.gathered[i]);
        k.k = (int64_t)(in + 0.5);
        k.cols[i] = (int64_t)(out + 0.5);
        k.bytes[i] = in * item(t, op->in[0]) + out * item(t, op->out[0]);
        for (int j = 1; j < op->n_in; j++)
            if (op->in[j] >= 0) k.fixed[i] += local(t, op->in[j], rank) * item(t, op->in[j]);
    }
    return k;
}

// What stands in a row before the factor that an all-to-all's matmul is cut by.
static double runs_of_row(const team *t, const syn_instr *start)
{
    const syn_program *p = t->p;
    const syn_tensor *x = &p->tensors.p[t->m->consumer ? start->out[0] : start->in[0]];
    const ir_tensor *v = &p->g->tensors.p[x->value];
    double n = 1;
    for (int a = 0; a < p->mesh->n_axes && start->coll == COST_ALL_TO_ALL; a++) {
        const syn_axis_state *s = &x->state.ax[a];
        if (s->kind != SYN_S || s->dim < v->rank - t->row_dims) continue;
        n = 1;
        for (int d = v->rank - t->row_dims; d < s->dim; d++)
            n *= (double)v->dim[d];
        for (int i = 0; i < s->pos; i++)
            n *= (double)p->f->cls[p->f->dim[x->value][s->dim].cls[i]].size;
    }
    return n;
}

// Kinds, rows and links of one team. False: too many kinds of ranks.
static bool gather(hb_arena *a, team *t, unsigned axes, int group)
{
    const syn_instr *start = &t->p->instr.p[t->m->start];
    bool whole = start->coll == COST_ALL_REDUCE;
    int cut = t->m->consumer || whole ? start->in[0] : start->out[0];
    cost_team *is = &t->is;
    int *kind = HB_ARRAY(a, int, is->n);
    int64_t *rows = HB_ARRAY(a, int64_t, is->n);
    is->kind = kind;
    is->rows = rows;
    is->after = HB_ARRAY(a, double, is->n);
    for (int i = 0; i < is->n; i++) {
        int rank = team_rank(t->p->mesh, axes, i, group);
        rank_kind k = kind_of(t, rank);
        double wide = columns(t, cut, rank);
        rows[i] = wide > 0 ? (int64_t)(local(t, cut, rank) / wide + 0.5) : 0;
        int at = 0;
        while (at < is->n_kinds && memcmp(&t->rank[at], &k, sizeof k) != 0)
            at++;
        if (at == CL_MAX_CLASSES) return false;
        if (at == is->n_kinds) {
            t->rank[is->n_kinds] = k;
            is->cls[is->n_kinds] = t->p->mesh->cluster_class[k.cls];
            is->row_bytes[is->n_kinds++] = k.row_bytes;
        }
        kind[i] = at;
    }
    return true;
}

// Matmuls that tile kernels run: 16-bit operands and results, whose rows are multiples of 16 bytes,
// by one matrix, all turned alike.
static bool tiled(const team *t)
{
    enum { VECTOR = IR_CUDA_VECTOR / 2 };
    const syn_program *p = t->p;
    const syn_instr *first = &p->instr.p[t->m->op[0]];
    bool fit = t->row_dims == 1 && !t->is.feeds;
    for (int i = 0; i < t->m->n_ops && fit; i++) {
        const syn_instr *op = &p->instr.p[t->m->op[i]];
        const ir_node *node = &p->g->nodes.p[op->node];
        const ir_tensor *w = &p->g->tensors.p[p->tensors.p[op->in[1]].value];
        fit = w->rank == 2 && op->n_in <= 3 &&
              node->attr[0].i == p->g->nodes.p[first->node].attr[0].i &&
              p->tensors.p[op->in[0]].dtype == IR_BF16 &&
              p->tensors.p[op->in[1]].dtype == IR_BF16 && p->tensors.p[op->out[0]].dtype == IR_BF16;
        for (int k = 0; k < t->is.n_kinds && fit; k++)
            fit = t->rank[k].k % VECTOR == 0 && t->rank[k].cols[i] % VECTOR == 0 &&
                  t->rank[k].k > 0 && t->rank[k].cols[i] > 0;
    }
    return fit;
}

// What a list of tiles is priced by.
static void add_tiles(team *t)
{
    cost_team *is = &t->is;
    is->n_ops = tiled(t) ? t->m->n_ops : 0;
    is->k = t->k;
    is->cols = t->cols;
    for (int k = 0; k < is->n_kinds; k++) {
        t->k[k] = t->rank[k].k;
        for (int i = 0; i < is->n_ops; i++)
            t->cols[k * is->n_ops + i] = t->rank[k].cols[i];
    }
}

static double matmul(void *ctx, int kind, int64_t rows)
{
    const team *t = ctx;
    const rank_kind *k = &t->rank[kind];
    double sec = 0, n = (double)rows;
    for (int i = 0; i < t->m->n_ops; i++) {
        ir_op op = t->p->g->nodes.p[t->p->instr.p[t->m->op[i]].node].op;
        if (k->flops[i] <= 0) continue;
        sec += cost_op(t->is.model, t->is.cls[kind], op, n * k->flops[i],
                       n * k->bytes[i] + k->fixed[i]) +
               cost_op_gathered(t->is.model, t->is.cls[kind], op, n * k->gathered[i]);
    }
    return sec;
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
        *t = (team){.p = p,
                    .m = m,
                    .row_dims = ir_op_of(p->g->nodes.p[p->instr.p[m->op[0]].node].op)->row_dims,
                    .is = {.model = c->m,
                           .memory = c->memory,
                           .link = syn_axes_link(c, start->axes),
                           .coll = start->coll,
                           .feeds = m->consumer && start->coll == COST_ALL_TO_ALL,
                           .form = start->form,
                           .n = n,
                           .stores = COST_PAIR_STORES && start->coll != COST_ALL_GATHER,
                           .parts = COST_PAIR_PARTS,
                           .matmul = matmul,
                           .ctx = t}};
        t->is.runs = runs_of_row(t, start);
        if (!gather(all->arena, t, start->axes, g)) return false;
        add_tiles(t);
        size_t ranks = (size_t)n;
        if (all->n > 0 && t->is.n_kinds == last->is.n_kinds &&
            memcmp(t->rank, last->rank, sizeof *t->rank * (size_t)t->is.n_kinds) == 0 &&
            memcmp(t->is.kind, last->is.kind, sizeof *t->is.kind * ranks) == 0 &&
            memcmp(t->is.rows, last->is.rows, sizeof *t->is.rows * ranks) == 0)
            continue; // as the one before it
        all->n++;
    }
    return true;
}

static const cost_tile_form *form_of(const syn_tiles *x)
{
    const int turns = x->how & SYN_TILE_TURNS ? 1 : 0;
    for (int i = 0; i < COST_TILE_FORMS; i++) {
        const cost_tile_form *f = &cost_tile_forms[i];
        if (f->rows == x->rows && f->cols == x->cols && f->turns == turns) return f;
    }
    hb_assert(false);
    return NULL;
}

static cost_list_how how_of(const syn_tiles *x)
{
    return x->how & SYN_TILE_STORES ? COST_LIST_STORES
           : x->how & SYN_TILE_SUMS ? COST_LIST_SUMS
                                    : COST_LIST_PLAIN;
}

// Seconds of one team, in chunks or as the list.
static void team_times(team *t, const syn_pair *x, bool list, cost_pair_time *time)
{
    cost_pair_tiles tiles;
    int64_t rows[COST_MAX_PAIR_RANKS];
    t->is.form = x->form;
    cost_pair p =
        list ? cost_team_list(&t->is, form_of(&x->tiles), how_of(&x->tiles), false, &tiles, rows)
             : cost_team_pair(&t->is, false);
    cost_pair_seconds(&p, list ? x->tiles.chunk : x->chunk, list ? x->tiles.n_chunks : x->n_chunks,
                      time);
}

// Of the slowest team: as planned, and in both ways.
static void times_of(teams *all, syn_pair *x)
{
    const bool first = x->tiles.how & SYN_TILE_FIRST;
    memset(x->end, 0, sizeof x->end);
    memset(x->busy, 0, sizeof x->busy);
    memset(x->own, 0, sizeof x->own);
    x->total = x->transfer = x->chunked = x->tiles.total = 0;
    for (int i = 0; i < all->n; i++) {
        team *t = &all->v[i];
        cost_pair_time time, other;
        team_times(t, x, first, &time);
        if (x->tiles.n_chunks) {
            team_times(t, x, !first, &other);
            x->tiles.total = fmax(x->tiles.total, first ? time.total : other.total);
        }
        x->chunked = fmax(x->chunked, first ? other.total : time.total);
        x->total = fmax(x->total, time.total);
        x->transfer = fmax(x->transfer, time.transfer);
        for (int k = 0; k < t->is.n_kinds; k++) {
            int64_t c = t->rank[k].cls;
            x->own[c] = x->end[c] > 0 ? fmin(x->own[c], time.own[k]) : time.own[k];
            x->end[c] = fmax(x->end[c], time.end[k]);
            x->busy[c] = fmax(x->busy[c], time.busy[k]);
        }
    }
}

double syn_slowest(const syn_program *p, const double *sec)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        most = fmax(most, sec[c]);
    return most;
}

double syn_matmuls_seconds(const syn_program *p, const syn_members *m)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double sec = 0;
        for (int i = 0; i < m->n_ops; i++)
            sec += p->instr.p[m->op[i]].sec[c] / syn_instr_times(p, &p->instr.p[m->op[i]]);
        most = fmax(most, sec);
    }
    return most;
}

// Launches of matmuls that vary.
static int matmuls_of(const syn_pair *x)
{
    return x->tiles.how & SYN_TILE_FIRST ? 1 : cost_pair_matmuls(x->chunk, x->n_chunks);
}

// Seconds that the chunks beyond need not bring, as gaps vary.
static double doubted(const teams *all, const syn_pair *x)
{
    return x->total + all->doubt * matmuls_of(x);
}

// The team whose matmuls take longest.
static team *slowest(teams *all)
{
    team *last = &all->v[0];
    double most = 0;
    for (int i = 0; i < all->n && all->n > 1; i++) {
        team *t = &all->v[i];
        int64_t rows = t->is.rows[0];
        for (int r = 1; r < t->is.n && t->is.coll != COST_ALL_REDUCE; r++)
            rows += t->is.rows[r];
        for (int k = 0; k < t->is.n_kinds; k++) {
            double sec = matmul(t, k, rows);
            if (sec <= most) continue;
            most = sec;
            last = t;
        }
    }
    return last;
}

static double transfer_of(cost_team *t, cost_form form)
{
    int64_t most = t->rows[0];
    t->form = form;
    if (t->coll == COST_ALL_REDUCE)
        return cost_team_seconds(t, t->coll, form, NULL, t->row_bytes[0] * (double)most, 1);
    for (int r = 1; r < t->n; r++)
        most = t->rows[r] > most ? t->rows[r] : most;
    double message = 0;
    for (int k = 0; k < (t->coll == COST_ALL_TO_ALL ? t->n_kinds : 1); k++)
        message = fmax(message, cost_team_message(t, k, most));
    return (t->n - 1) * message;
}

// The best chunks for the slowest team, in the teams' arena, and what they take of all. False:
// none.
static bool best_chunks(teams *all, cost_form form, bool quick, syn_pair *x)
{
    cost_pair_time time;
    int chunk[SYN_PAIR_CHUNKS][3];
    team *t = slowest(all);
    t->is.form = form;
    cost_pair pair = cost_team_pair(&t->is, quick);
    all->doubt = pair.doubt;
    int n = cost_pair_search(&pair, SYN_PAIR_CHUNKS, chunk, &time);
    if (n == 0) return false;
    x->form = form;
    x->n_chunks = n;
    x->chunk = hb_copy(all->arena, chunk, sizeof *chunk * (size_t)n);
    times_of(all, x);
    return true;
}

// Every member's rows at once, for where the list cannot run.
static void plain_chunks(teams *all, syn_pair *x)
{
    const cost_team *t = &all->v[0].is;
    int n = t->coll == COST_ALL_REDUCE ? 1 : t->n;
    x->n_chunks = n;
    x->chunk = hb_alloc(all->arena, sizeof *x->chunk * (size_t)n);
    for (int d = 0; d < n; d++) {
        x->chunk[d][0] = t->coll == COST_ALL_GATHER || t->feeds ? d : (d + 1) % n;
        x->chunk[d][1] = 1;
    }
}

// The best list for the slowest team, in the teams' arena; the pair is planned by it where it is
// the quicker way, or x has no chunks.
static void best_list(teams *all, cost_form form, bool quick, syn_pair *x)
{
    team *t = slowest(all);
    cost_list l;
    t->is.form = form;
    x->tiles = (syn_tiles){.n_chunks = 0};
    for (int i = 0; i < all->n; i++)
        if (!cost_team_lists(&all->v[i].is, form)) return;
    if (!cost_best_list(&t->is, quick, &l)) return;
    x->form = form;
    x->tiles =
        (syn_tiles){.rows = l.form->rows,
                    .cols = l.form->cols,
                    .how = (l.form->turns ? SYN_TILE_TURNS : 0u) | (l.sums ? SYN_TILE_SUMS : 0u) |
                           (l.by_rows ? SYN_TILE_BY_ROWS : 0u) | (l.stores ? SYN_TILE_STORES : 0u) |
                           (l.parts ? SYN_TILE_PARTS : 0u),
                    .n_chunks = l.n,
                    .chunk = hb_copy(all->arena, l.chunk, sizeof *l.chunk * (size_t)l.n)};
    if (x->n_chunks == 0) plain_chunks(all, x);
    times_of(all, x);
    if (!cost_list_first(t->is.coll, x->tiles.total, x->chunked)) return;
    x->tiles.how |= SYN_TILE_FIRST;
    times_of(all, x);
}

// What chunks are chosen by, of the team that it is most of.
static double chosen_by(teams *all, const syn_pair *x)
{
    double most = 0;
    for (int i = 0; i < all->n; i++) {
        cost_team *t = &all->v[i].is;
        t->form = x->form;
        cost_pair p = cost_team_pair(t, false);
        most = fmax(most, cost_pair_choice(&p, x->chunk, x->n_chunks));
    }
    return most;
}

static void keep_chunks(hb_arena *a, syn_pair *x)
{
    syn_tiles *t = &x->tiles;
    x->chunk = hb_copy(a, x->chunk, sizeof *x->chunk * (size_t)x->n_chunks);
    if (t->n_chunks) t->chunk = hb_copy(a, t->chunk, sizeof *t->chunk * (size_t)t->n_chunks);
}

// Of every form the first few groupings; the winner's are looked at closely later.
static void search(teams *all, const syn_program *p, const syn_members *m, hb_arena *keep,
                   syn_pair *best)
{
    const syn_instr *start = &p->instr.p[m->start];
    double most = syn_matmuls_seconds(p, m), put = HUGE_VAL;
    double alone = start->sec[0] / syn_instr_times(p, start);
    best->sequential = most + alone;
    const cost_forms forms = cost_forms_of(start->coll, all->v[0].is.n, !p->no_put);
    for (int i = 0; i < forms.n; i++) {
        cost_form f = forms.form[i];
        if (!cost_pairs_in(&all->v[0].is, f)) continue;
        double transfer = transfer_of(&all->v[0].is, f);
        // The matmuls or the transfer alone are too much; or more copies in flight are no faster.
        if (fmax(most, transfer) >= best->sequential) continue;
        if (cost_is_put(f) && transfer >= put) continue;
        if (cost_is_put(f)) put = transfer;
        syn_pair x = {.n_chunks = 0, .sequential = best->sequential};
        best_chunks(all, f, true, &x);
        best_list(all, f, true, &x);
        if (x.n_chunks > 0 && (best->n_chunks == 0 || doubted(all, &x) < doubted(all, best)))
            *best = x;
    }
    if (best->n_chunks == 0) return;
    keep_chunks(keep, best);
    bool gpu = false;
    for (int c = 0; c < p->mesh->n_classes; c++)
        gpu = gpu || p->cluster->cls[p->mesh->cluster_class[c]].kind == CL_GPU;
    cost_pair as = {.whole = start->coll == COST_ALL_REDUCE,
                    .back = cost_is_put(best->form),
                    .doubt = all->doubt};
    if (!cost_pair_pays(&as, gpu ? CL_GPU : CL_CPU, best->total, matmuls_of(best), most, alone))
        best->n_chunks = 0;
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
    put(b, (int64_t)start->coll << 32 | (int64_t)start->form << 8 | start->axes |
               (int64_t)p->no_put << 4);
    put_buffer(b, p, start->in[0]);
    put_buffer(b, p, start->out[0]);
    for (int i = 0; i < m->n_ops; i++) {
        const syn_instr *op = &p->instr.p[m->op[i]];
        put(b, p->g->nodes.p[op->node].op);
        for (int k = 0; k < op->n_in; k++)
            put_buffer(b, p, op->in[k]);
        put_buffer(b, p, op->out[0]);
    }
    for (int k = 0; at && k < at->n_chunks; k++)
        for (int i = 0; i < 3; i++)
            put(b, at->chunk[k][i]);
    for (int k = 0; at && k < at->tiles.n_chunks; k++)
        for (int i = 0; i < 3; i++)
            put(b, at->tiles.chunk[k][i]);
    if (at) put(b, (int64_t)at->tiles.rows << 40 | (int64_t)at->tiles.cols << 16 | at->tiles.how);
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
        syn_pair x = {.n_chunks = 0};
        if (gather_teams(&all, p, c, m)) search(&all, p, m, c->arena, &x);
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
    x->chunked = same->chunked;
    x->tiles.total = same->tiles.total;
    x->transfer = same->transfer;
    hb_arena_free(all.arena);
}

// A list that is looked at closely may be no better than the one that x has.
static void refine_list(teams *all, const syn_pair *x, syn_pair *now)
{
    syn_pair closer = *now;
    now->tiles = x->tiles;
    best_list(all, x->form, false, &closer);
    times_of(all, now);
    if (closer.tiles.n_chunks && (!x->tiles.n_chunks || closer.tiles.total < now->tiles.total))
        *now = closer;
    const bool first =
        now->tiles.n_chunks && cost_list_first(all->v[0].is.coll, now->tiles.total, now->chunked);
    now->tiles.how = (now->tiles.how & ~(unsigned)SYN_TILE_FIRST) | (first ? SYN_TILE_FIRST : 0u);
    times_of(all, now);
}

void syn_refine_pair(const syn_program *p, syn_costs *c, const syn_members *m, syn_pair *x)
{
    teams all = {.arena = hb_arena_new()};
    hb_buf b = {.arena = all.arena};
    hb_str key = key_of(&b, ASK_REFINED, p, m, x);
    const syn_pair *same = known(c, key);
    if (!same) {
        syn_pair now = *x, closer = *x;
        if (gather_teams(&all, p, c, m)) {
            closer.tiles = (syn_tiles){.n_chunks = 0};
            if (best_chunks(&all, x->form, false, &closer) &&
                chosen_by(&all, &closer) < chosen_by(&all, x))
                now = closer;
            refine_list(&all, x, &now);
        }
        keep_chunks(c->arena, &now);
        same = remember(c, key, &now);
    }
    int first = x->first, len = x->len;
    *x = *same;
    x->first = first;
    x->len = len;
    keep_chunks(p->arena, x);
    hb_arena_free(all.arena);
}

// --- the pairs of a program ---

bool syn_is_consumer(const syn_program *p, const syn_pair *x)
{
    return p->instr.p[x->first].kind == SYN_START;
}

int syn_pair_start(const syn_program *p, const syn_pair *x)
{
    return syn_is_consumer(p, x) ? x->first : x->first + 1;
}

double syn_pair_hidden(const syn_program *p, const syn_pair *x)
{
    double busy = syn_slowest(p, x->busy), hidden = busy + x->transfer - x->total;
    return x->transfer > 0 ? fmin(fmax(hidden / x->transfer, 0), 1) : 0;
}

static syn_members members_of(const syn_program *p, const syn_pair *x)
{
    syn_members m = {.start = syn_pair_start(p, x), .consumer = syn_is_consumer(p, x)};
    for (int i = m.consumer ? 2 : 0; i < (m.consumer ? x->len : 1); i++)
        m.op[m.n_ops++] = x->first + i;
    return m;
}

void syn_price_pairs(syn_program *p, syn_costs *c)
{
    for (int k = 0; k < p->pairs.n; k++) {
        syn_members m = members_of(p, &p->pairs.p[k]);
        syn_pair_at(p, c, &m, &p->pairs.p[k]);
    }
}

void syn_refine_pairs(syn_program *p, syn_costs *c)
{
    for (int k = 0; k < p->pairs.n; k++) {
        syn_members m = members_of(p, &p->pairs.p[k]);
        syn_refine_pair(p, c, &m, &p->pairs.p[k]);
    }
}
