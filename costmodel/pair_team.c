#include "costmodel/pair_team.h"

#include <math.h>
#include <string.h>

#include "costmodel/device_defaults.h"

double cost_team_seconds(const cost_team *t, cost_coll coll, cost_form form, const int64_t *table,
                         double bytes, double apart)
{
    cost_shards s = {.n = t->n,
                     .table = table,
                     .table2 = table,
                     .bytes = bytes,
                     .apart = 1,
                     .apart2 = apart,
                     .item = 1};
    cost_memory memory = t->memory;
    memory.launch_overhead[0] = memory.launch_overhead[1] = 0;
    cost_measure(&s);
    if (!table) s.entries = s.entries2 = (cost_entries){true, t->n, 1, 1}; // even
    return cost_form_seconds(t->model, coll, form, &s, t->link, &memory);
}

static const int64_t even[COST_MAX_PAIR_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

double cost_team_message(const cost_team *t, int kind, int64_t rows)
{
    double bytes = t->row_bytes[kind] * (double)rows;
    if (t->coll == COST_ALL_REDUCE && cost_is_put(t->form)) // there, as it comes back
        return cost_team_seconds(t, COST_ALL_GATHER, t->form, NULL, bytes, 1);
    if (t->coll == COST_ALL_REDUCE) return cost_team_seconds(t, t->coll, t->form, NULL, bytes, 1);
    if (t->coll == COST_ALL_TO_ALL)
        return cost_team_seconds(t, t->coll, t->form, even, t->n * t->n * bytes,
                                 t->n * (double)rows * t->runs) /
               (t->n - 1);
    return cost_team_seconds(t, COST_ALL_GATHER, t->form, even, t->n * bytes, 1) / (t->n - 1);
}

static double message(void *ctx, int kind, int64_t rows)
{
    return cost_team_message(ctx, kind, rows);
}

static double matmul(void *ctx, int kind, int64_t rows)
{
    const cost_team *t = ctx;
    return t->matmul(t->ctx, kind, rows);
}

// What ranks take to add their rows: of an all-reduce, all members' parts read and the sums
// written; of a reduce-scatter what it takes beyond sending, for of that the receiver's cache still
// has a part: if all had as many rows as who has most, as unequal parts of an all-gather are passed
// on.
static void sums(cost_team *t)
{
    int64_t most = 0;
    if (t->coll == COST_ALL_REDUCE) {
        t->after[0] = cost_op(t->model, t->cls[0], IR_OP_add, 0,
                              (t->n + 1) * (double)t->rows[0] / t->n * t->row_bytes[0]);
        return;
    }
    for (int i = 0; i < t->n; i++)
        most = t->rows[i] > most ? t->rows[i] : most;
    double bytes = t->row_bytes[0] * (double)most * t->n;
    double sec = cost_team_seconds(t, COST_REDUCE_SCATTER, COST_PUT(1), even, bytes, 1) -
                 cost_team_seconds(t, COST_ALL_GATHER, COST_PUT(1), even, bytes, 1);
    for (int i = 0; i < t->n && most > 0; i++)
        t->after[i] = fmax(sec, 0) * (double)t->rows[i] / (double)most;
}

cost_pair cost_team_pair(cost_team *t, bool quick)
{
    // quickest: not in a profile, whose curves are of devices that compute without a rest. crowded
    // is not in the price of a pair, only in the choice of its chunks (device_defaults.h).
    double gap = 0, flag = 0, launch = 0, fresh = 0;
    bool whole = t->coll == COST_ALL_REDUCE, put = cost_is_put(t->form), any_gpu = false;
    bool quiet = t->link.crosses;
    for (int k = 0; k < t->n_kinds; k++) {
        const cl_class *c = &t->model->cluster->cls[t->cls[k]];
        double least = cost_launch(t->model, t->cls[k]);
        bool gpu = c->kind == CL_GPU;
        any_gpu = any_gpu || gpu;
        launch = fmax(launch, least);
        t->beside[k] = cost_pair_contention(c, t->form);
        quiet = quiet && cost_quiet_network(c);
        fresh = fmax(fresh, c->fresh_put > 0 ? c->fresh_put : gpu ? COST_FRESH_PUT : 1);
        gap = fmax(gap, c->pair_gap > 0 ? c->pair_gap
                        : gpu           ? COST_PAIR_GAP
                                        : least / COST_PAIR_LAUNCH_SHARE);
        flag = fmax(flag, c->pair_flag > 0 ? c->pair_flag : gpu ? COST_PAIR_FLAG : least);
    }
    for (int k = 0; k < t->n_kinds && quiet; k++)
        t->beside[k] = (cost_contention){1, 1};
    memset(t->after, 0, sizeof *t->after * (size_t)t->n);
    if (t->coll == COST_REDUCE_SCATTER || (whole && put)) sums(t);
    bool consumer = t->coll == COST_ALL_GATHER || t->feeds;
    bool crowds = !consumer && !whole && put && any_gpu;
    return (cost_pair){.consumer = consumer,
                       .by_receiver = t->feeds,
                       .whole = whole,
                       .back = whole && put,
                       .late = whole && !put && any_gpu,
                       .copies = put ? cost_copies(t->form) : 1,
                       .n = t->n,
                       .rows = t->rows,
                       .n_kinds = t->n_kinds,
                       .kind = t->kind,
                       .matmul = matmul,
                       .message = message,
                       .ctx = t,
                       .after = t->after,
                       .beside = t->beside,
                       .gap = gap,
                       .flag = flag,
                       .ahead = any_gpu ? COST_PAIR_AHEAD : 0,
                       .launch_overhead = t->memory.launch_overhead[put],
                       .quickest = COST_PAIR_QUICKEST,
                       .crowded = crowds ? fresh : 1,
                       .quick = quick,
                       .doubt = launch};
}

bool cost_team_lists(const cost_team *t, cost_form form)
{
    bool all = t->n_ops > 0 && cost_is_put(form) && t->n <= COST_TILE_MEMBERS && t->n > 1;
    for (int k = 0; k < t->n_kinds && all; k++) {
        const cl_class *c = &t->model->cluster->cls[t->cls[k]];
        all = c->arch == COST_TILE_ARCH && c->units >= 2 && c->units / 2 <= COST_TILE_CLUSTERS &&
              t->k[k] > 0 && t->model->math == COST_BF16;
    }
    return all && cost_pairs_in(t, form);
}

static double list_message(void *ctx, int kind, int64_t rows)
{
    const cost_team *t = ctx;
    double bytes = t->row_bytes[kind] * (double)rows;
    return cost_team_seconds(t, COST_ALL_GATHER, t->form, even, t->n * bytes, 1) / (t->n - 1);
}

// A part that the kernel stores: a large one's share, as there is nothing to begin.
static double stored_message(void *ctx, int kind, int64_t rows)
{
    const cost_team *t = ctx;
    double large =
        cost_team_seconds(t, COST_ALL_GATHER, COST_PUT(1), even, t->n * COST_STORE_LARGE, 1) /
        (t->n - 1);
    return COST_STORE_LONGER * large * t->row_bytes[kind] * (double)rows / COST_STORE_LARGE;
}

bool cost_team_lists_how(const cost_team *t, const cost_tile_form *f, cost_list_how how)
{
    const bool gathers = t->coll == COST_ALL_GATHER;
    if (how == COST_LIST_PLAIN) return true;
    if (how == COST_LIST_SUMS) return t->coll == COST_REDUCE_SCATTER;
    bool all = t->stores && t->coll != COST_ALL_TO_ALL && (f->turns || gathers);
    for (int k = 0; k < t->n_kinds * t->n_ops && !gathers; k++)
        all = all && t->cols[k] % COST_STORE_COLS == 0;
    return all;
}

cost_pair cost_team_list(cost_team *t, const cost_tile_form *f, cost_list_how how, bool quick,
                         cost_pair_tiles *tiles, int64_t *rows)
{
    cost_pair p = cost_team_pair(t, quick);
    const bool by_rows = t->coll == COST_ALL_REDUCE, stores = how == COST_LIST_STORES;
    *tiles = (cost_pair_tiles){.form = f,
                               .sums = by_rows ||
                                       (how != COST_LIST_PLAIN && t->coll == COST_REDUCE_SCATTER),
                               .by_rows = by_rows,
                               .stores = stores,
                               .parts = t->parts && t->coll == COST_ALL_GATHER && !f->turns,
                               .n_ops = t->n_ops,
                               .cols = t->cols,
                               .k = t->k,
                               .flag = stores ? COST_STORE_FLAG : COST_TILE_FLAG,
                               .made = stores ? 0 : COST_TILE_MADE};
    for (int k = 0; k < t->n_kinds; k++) {
        const cl_class *c = &t->model->cluster->cls[t->cls[k]];
        double sec = cost_op(t->model, t->cls[k], IR_OP_linear, COST_TILE_FLOPS,
                             COST_TILE_FLOPS / COST_TILE_THIN);
        tiles->clusters[k] = c->units / 2;
        tiles->cycle[k] = sec / COST_TILE_FLOPS * c->units * cost_tile_flops();
    }
    p.tiles = tiles;
    p.crowded = 1;
    if (stores) p.message = stored_message;
    // A kernel of sums finds no processor free until the list is done.
    for (int r = 0; r < t->n && t->coll == COST_REDUCE_SCATTER; r++)
        t->after[r] = cost_op(t->model, t->cls[t->kind[r]], IR_OP_add, 0,
                              (t->n + 1) * (double)t->rows[r] * t->row_bytes[t->kind[r]]);
    if (!by_rows) return p;
    for (int r = 0; r < t->n; r++)
        rows[r] = t->rows[0] * (r + 1) / t->n - t->rows[0] * r / t->n;
    p.rows = rows;
    p.whole = p.back = p.late = false;
    p.message = stores ? stored_message : list_message;
    return p;
}

bool cost_pairs_in(const cost_team *t, cost_form form)
{
    return cost_form_exists(t->coll, form) &&
           (cost_is_put(form) || (t->coll == COST_ALL_REDUCE && form == COST_FLAT));
}
