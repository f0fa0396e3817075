// Lists of tiles as the planner prices them: against clusters that go through the list entry by
// entry; and the choice of forms and groups against all forms and all groups of a small grid.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clusters/cluster.h"
#include "costmodel/device_defaults.h"
#include "costmodel/pair_team.h"
#include "tests/support/cases.h"

enum { RANKS = 4, UNITS = 4 };
enum { // hap/tiles.def once more
    STEP = 64,
    PEAK = 2048,
    END = 2500,
    FETCHED = 2500,
    KEPT = 40 << 20,
    PART_RATE = 64,
    PART = 1500
};

typedef struct sample {
    cost_team t;
    int64_t rows[RANKS], cols[2], k[1];
    double after[RANKS];
    int kind[RANKS];
    double in, out; // columns of a matmul's operand, of all its results
} sample;

static hb_arena *arena;
static cost_model model;
static uint64_t state;

static int64_t below(int64_t n)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (int64_t)((z ^ z >> 31) % (uint64_t)n);
}

static double matmul(void *ctx, int kind, int64_t rows)
{
    const sample *x = ctx;
    double n = (double)rows;
    (void)kind;
    return cost_op(&model, 0, IR_OP_linear, 2 * n * x->in * x->out,
                   2 * (n * (x->in + x->out) + x->in * x->out));
}

static void draw(sample *x, cost_coll coll, int n)
{
    cost_memory memory = {0};
    int64_t n_ops = coll == COST_ALL_GATHER ? 1 + below(2) : 1, all = 0;
    memset(x, 0, sizeof *x);
    cost_memory_add(&memory, &model.cluster->cls[0]);
    for (int r = 0; r < n; r++)
        x->rows[r] = 256 + below(2500);
    if (below(2))
        for (int r = 1; r < n; r++)
            x->rows[r] = x->rows[0];
    if (coll == COST_ALL_REDUCE) x->rows[0] *= n;
    x->k[0] = 64 * (1 + below(200));
    for (int i = 0; i < n_ops; i++)
        all += x->cols[i] = 64 * (1 + below(120));
    x->in = (double)x->k[0], x->out = (double)all;
    x->t = (cost_team){.model = &model,
                       .memory = memory,
                       .link = cl_group_link(model.cluster, (int[]){0, 1, 2, 3}, n, 1),
                       .coll = coll,
                       .form = COST_PUT(1),
                       .n = n,
                       .rows = x->rows,
                       .kind = x->kind,
                       .n_kinds = 1,
                       .row_bytes = {2.0 * (coll == COST_ALL_GATHER ? x->in : x->out)},
                       .runs = 1,
                       .matmul = matmul,
                       .ctx = x,
                       .n_ops = (int)n_ops,
                       .cols = x->cols,
                       .k = x->k,
                       .after = x->after};
}

// --- entry by entry ---

typedef struct machine {
    const sample *x;
    const cost_pair *p;
    double end[COST_TILE_CLUSTERS], entry, sum;
    int n, at;
} machine;

static double two_tiles(machine *m, double from, double until, double sum)
{
    double *end = &m->end[m->at++ % m->n];
    double t = fmax(*end, from) + m->entry;
    return *end = fmax(t, until) + sum;
}

static int64_t tiles_in(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

static void start(machine *m, const sample *x, const cost_pair *p)
{
    const cost_pair_tiles *t = p->tiles;
    const cost_tile_form *f = t->form;
    static const double speed[] = COST_TILE_SPEED;
    double cycle = t->cycle[0] * p->beside[0].compute, rows = 0, entries = 0, tiles = 0;
    for (int r = 0; r < p->n; r++)
        rows += (double)p->rows[r], tiles += (double)tiles_in(p->rows[r], f->rows);
    for (int i = 0; i < t->n_ops; i++)
        entries += floor((tiles * (double)tiles_in(x->cols[i], f->cols) + 1) / 2);
    *m = (machine){.x = x, .p = p, .n = t->clusters[0]};
    double busy = entries / (ceil(entries / m->n) * m->n);
    double flops = (double)f->rows * f->cols * STEP / PEAK / speed[f - cost_tile_forms];
    double bytes = 2 * sqrt(2.0 * f->rows * f->cols * m->n) * STEP * 2 / FETCHED;
    bool kept = (rows + x->out) * x->in * 2 < KEPT;
    cycle /= 1 + COST_TILE_IDLE * (1 - busy);
    m->entry =
        cycle * (ceil(x->in / STEP) * (kept ? flops : fmax(flops, bytes)) + (f->turns ? 0 : END));
    m->sum = cycle * ((p->n - 1) * ((double)f->rows * f->cols * 2 / PART_RATE + PART) +
                      (f->turns ? END : 0));
    for (int i = 0; i < m->n; i++)
        m->end[i] = COST_TILE_START + (f->turns ? cycle * END : 0);
}

// `rows` rows of tiles of all ops, two tiles at a time.
static double row_of_tiles(machine *m, int64_t rows, double from, double until, double sum)
{
    double last = 0;
    for (int i = 0; i < m->p->tiles->n_ops; i++)
        for (int64_t n = rows * tiles_in(m->x->cols[i], m->p->tiles->form->cols); n > 0; n -= 2)
            last = fmax(last, two_tiles(m, from, until, sum));
    return last;
}

static int64_t part_end(const sample *x, int (*chunk)[3], int n, int k, int64_t most, int64_t rows)
{
    int64_t all = 0, to = 0;
    for (int i = 0; i < n; i++) {
        if (chunk[i][0] != chunk[k][0]) continue;
        all += chunk[i][1];
        if (i <= k) to += chunk[i][1];
    }
    (void)x;
    return most * to / all < rows ? most * to / all : rows;
}

// Two ranks alike: a gather, and sums of a reduce-scatter or of an all-reduce by rows.
static double by_entries(const sample *x, const cost_pair *p, int (*chunk)[3], int n)
{
    const cost_pair_tiles *t = p->tiles;
    const int64_t rows = p->rows[0], each = t->form->rows;
    double came[COST_MAX_CHUNKS] = {0}, sent = 0, last = 0, made = 0;
    int64_t from[COST_MAX_CHUNKS], to[COST_MAX_CHUNKS], lo, hi;
    machine m;
    start(&m, x, p);
    for (int k = 0; k < n; k++) {
        int before = k - 1;
        while (before >= 0 && chunk[before][0] != chunk[k][0])
            before--;
        from[k] = before < 0 ? 0 : to[before];
        to[k] = part_end(x, chunk, n, k, rows, rows);
    }
    for (int k = 0; k < n && p->consumer; k++)
        if (chunk[k][0]) came[k] = sent += p->message(p->ctx, 0, to[k] - from[k]);
    for (int k = 0; k < n && p->consumer; k++) {
        double until = 0;
        if (from[k] == to[k]) continue;
        lo = from[k] / each, hi = to[k] < rows ? to[k] / each : tiles_in(rows, each);
        for (int i = 0; i < n && chunk[k][0] && hi > lo; i++)
            if (chunk[i][0] == chunk[k][0] && from[i] < hi * each && lo * each < to[i])
                until = fmax(until, came[i] + t->flag);
        if (hi > lo) last = fmax(last, row_of_tiles(&m, hi - lo, until, 0, 0));
    }
    for (int own = 0; own < 2 && !p->consumer; own++)
        for (int k = 0; k < n; k++) {
            if ((chunk[k][0] == 0) != own) continue;
            lo = tiles_in(from[k], each), hi = from[k] == to[k] ? lo : tiles_in(to[k], each);
            if (!own) {
                if (hi > lo) made = fmax(made, row_of_tiles(&m, hi - lo, 0, 0, 0));
                if (to[k] > from[k])
                    came[k] = sent =
                        fmax(sent, made + t->made) + p->message(p->ctx, 0, to[k] - from[k]);
                continue;
            }
            while (lo < hi) { // rows of tiles that wait for as much
                int64_t many = 0;
                double until = 0, now;
                for (; lo + many < hi; many++) {
                    now = 0;
                    for (int i = 0; i < n; i++)
                        if (chunk[i][0] && from[i] < (lo + many + 1) * each &&
                            (lo + many) * each < to[i])
                            now = fmax(now, came[i] + t->flag);
                    if (many == 0) until = now;
                    if (now > until) break;
                }
                last = fmax(last, row_of_tiles(&m, many, 0, until, m.sum));
                lo += many;
            }
            if (t->by_rows && to[k] > from[k])
                sent = fmax(sent, last + t->made) + p->message(p->ctx, 0, to[k] - from[k]);
        }
    if (t->by_rows) return fmax(last, sent + p->flag) + p->launch_overhead;
    return fmax(last, sent) + p->launch_overhead;
}

START_TEST(entry_by_entry)
{
    static const cost_coll colls[] = {COST_ALL_GATHER, COST_REDUCE_SCATTER, COST_ALL_REDUCE};
    int cases = test_cases(60, 400, 4000);
    for (int i = 0; i < cases; i++) {
        sample x;
        cost_pair_tiles tiles;
        cost_pair_time time;
        int64_t rows[RANKS];
        int chunk[COST_MAX_CHUNKS][3] = {{0}}, n = 0;
        state = (uint64_t)i;
        draw(&x, colls[below(3)], 2);
        x.rows[1] = x.rows[0];
        x.rows[0] += x.rows[0] % 2 * (x.t.coll == COST_ALL_REDUCE);
        bool gathers = x.t.coll == COST_ALL_GATHER, whole = x.t.coll == COST_ALL_REDUCE;
        const cost_tile_form *f = &cost_tile_forms[below(COST_TILE_FORMS)];
        const cost_list_how how = gathers ? COST_LIST_PLAIN : COST_LIST_SUMS;
        cost_pair p = cost_team_list(&x.t, f, how, false, &tiles, rows);
        for (int64_t k = gathers; k > 0; k--, n++)
            chunk[n][0] = 0, chunk[n][1] = 1;
        for (int64_t k = 1 + below(6); k > 0; k--, n++)
            chunk[n][0] = 1, chunk[n][1] = (int)(1 + below(5));
        for (int64_t k = gathers ? 0 : whole ? 1 + below(5) : 1; k > 0; k--, n++)
            chunk[n][0] = 0, chunk[n][1] = (int)(1 + below(5));
        double sec = cost_pair_seconds(&p, chunk, n, &time), want = by_entries(&x, &p, chunk, n);
        ck_assert_msg(fabs(sec / want - 1) < 1e-9, "case %d, %s: %g s, entry by entry %g", i,
                      cost_coll_name(x.t.coll), sec, want);
        ck_assert_double_ge(time.total, time.busy[0] * (1 - 1e-9));
    }
}
END_TEST

// --- parts of k ---

// Cycles of a list's last entries, the best of all ways to share them; none: HUGE_VAL.
static double shared_best(const cost_tile_form *f, int left, int clusters, double steps, bool kept)
{
    static const double speed[] = COST_TILE_SPEED;
    const double part = (double)f->rows * f->cols * 4 / PART_RATE + PART;
    double least = HUGE_VAL;
    for (int each = 1; each <= 6; each++)
        for (int parts = each + 1; parts <= 16 * each; parts++) {
            const int groups = (left + each - 1) / each, last = left - (groups - 1) * each;
            if (groups * parts > clusters || last * steps < parts) continue;
            double area = 2.0 * f->rows * f->cols * clusters / parts;
            double bytes = parts * 2 * sqrt(area) * STEP * 2 / FETCHED;
            double flops = (double)f->rows * f->cols * STEP / PEAK / speed[f - cost_tile_forms];
            double one = kept ? flops : fmax(flops, bytes);
            least = fmin(least, ceil(each * steps / parts) * one + END +
                                    (1 + ceil((double)parts / each)) * part);
        }
    return least;
}

// Of a gather of two ranks alike, whose last entries are shared where that takes fewer cycles.
static double in_parts(const sample *x, const cost_pair *p, int (*chunk)[3], int n)
{
    enum { MOST = 1 << 16 };
    static double from[MOST];
    static const double speed[] = COST_TILE_SPEED;
    const cost_tile_form *f = p->tiles->form;
    const int64_t rows = p->rows[0], each = f->rows;
    double came[COST_MAX_CHUNKS] = {0}, sent = 0, last = 0, steps = ceil(x->in / STEP);
    int64_t lo[COST_MAX_CHUNKS], hi[COST_MAX_CHUNKS];
    int entries = 0;
    machine m;
    start(&m, x, p);
    for (int k = 0; k < n; k++) {
        int before = k - 1;
        while (before >= 0 && chunk[before][0] != chunk[k][0])
            before--;
        lo[k] = before < 0 ? 0 : hi[before];
        hi[k] = part_end(x, chunk, n, k, rows, rows);
        if (chunk[k][0]) came[k] = sent += p->message(p->ctx, 0, hi[k] - lo[k]);
    }
    for (int k = 0; k < n; k++) {
        int64_t a = lo[k] / each, b = hi[k] < rows ? hi[k] / each : tiles_in(rows, each);
        double until = 0;
        for (int i = 0; i < n && chunk[k][0]; i++)
            if (chunk[i][0] == chunk[k][0] && lo[i] < b * each && a * each < hi[i])
                until = fmax(until, came[i] + p->tiles->flag);
        for (int i = 0; i < p->tiles->n_ops && lo[k] < hi[k]; i++)
            for (int64_t t = (b - a) * tiles_in(x->cols[i], f->cols); t > 0; t -= 2)
                from[entries++] = until;
        ck_assert_int_lt(entries, MOST / 2);
    }
    const bool kept = (2.0 * (double)rows + x->out) * x->in * 2 < KEPT;
    double cycle = p->tiles->cycle[0] * p->beside[0].compute;
    double flops = (double)f->rows * f->cols * STEP / PEAK / speed[f - cost_tile_forms];
    double bytes = 2 * sqrt(2.0 * f->rows * f->cols * m.n) * STEP * 2 / FETCHED;
    double round = steps * (kept ? flops : fmax(flops, bytes)) + END;
    int left = entries % m.n;
    double cycles = left ? shared_best(f, left, m.n, steps, kept) : HUGE_VAL;
    if (cycles < round)
        m.entry = cycle * round; // no cluster rests
    else
        left = 0;
    for (int i = 0; i < entries - left; i++)
        last = fmax(last, two_tiles(&m, from[i], 0, 0));
    for (int i = 0; i < m.n && left; i++) {
        double begin = m.end[i];
        for (int k = entries - left; k < entries; k++)
            begin = fmax(begin, from[k]);
        last = fmax(last, begin + cycle * cycles);
    }
    return fmax(last, sent) + p->launch_overhead;
}

START_TEST(parts_of_k)
{
    int cases = test_cases(60, 400, 4000), n_less = 0;
    double sum = 0;
    for (int i = 0; i < cases; i++) {
        sample x;
        cost_pair_tiles tiles;
        cost_pair_time time;
        int64_t rows[RANKS];
        int chunk[COST_MAX_CHUNKS][3] = {{0}}, n = 1;
        state = 4242 + (uint64_t)i;
        draw(&x, COST_ALL_GATHER, 2);
        x.rows[1] = x.rows[0];
        const cost_tile_form *f = &cost_tile_forms[below(COST_TILE_FORMS)];
        chunk[0][1] = 1;
        for (int64_t k = 1 + below(6); k > 0; k--, n++)
            chunk[n][0] = 1, chunk[n][1] = (int)(1 + below(5));
        cost_pair p = cost_team_list(&x.t, f, COST_LIST_PLAIN, false, &tiles, rows);
        const double whole = cost_pair_seconds(&p, chunk, n, &time);
        x.t.parts = true;
        p = cost_team_list(&x.t, f, COST_LIST_PLAIN, false, &tiles, rows);
        const double sec = cost_pair_seconds(&p, chunk, n, &time);
        ck_assert_int_eq(tiles.parts, !f->turns);
        if (f->turns) continue;
        const double off = log(sec / in_parts(&x, &p, chunk, n));
        sum += off;
        n_less += sec < whole * 0.98;
        ck_assert_msg(fabs(off) < 0.05, "case %d: %g s, entry by entry %g", i, sec, sec / exp(off));
        ck_assert_double_ge(time.total, time.busy[0] * (1 - 1e-9));
    }
    ck_assert_msg(fabs(sum / cases) < 0.005, "priced at %.4f of it, on average", exp(sum / cases));
    ck_assert_int_gt(n_less, cases / 10);
}
END_TEST

// --- by stores: each two tiles leave when they are made ---

typedef struct sent_tile {
    double made, sec;
    int chunk;
} sent_tile;

static int by_made(const void *a, const void *b)
{
    double x = ((const sent_tile *)a)->made, y = ((const sent_tile *)b)->made;
    return (x > y) - (x < y);
}

// Rows of tiles [lo, hi), which leave in `sec` altogether; how many entries.
static int send_tiles(machine *m, int64_t tiles, double until, double sum, double sec, int chunk,
                      sent_tile *to)
{
    int64_t n = tiles * tiles_in(m->x->cols[0], m->p->tiles->form->cols), entries = (n + 1) / 2;
    for (int64_t i = 0; i < entries; i++)
        to[i] = (sent_tile){two_tiles(m, 0, until, sum), sec / (double)entries, chunk};
    return (int)entries;
}

// The link in the order in which tiles are made; came: when the last of a chunk is through.
static double leave(sent_tile *tile, int n, double sent, double *came)
{
    qsort(tile, (size_t)n, sizeof *tile, by_made);
    for (int i = 0; i < n; i++) {
        sent = fmax(sent, tile[i].made) + tile[i].sec;
        came[tile[i].chunk] = sent;
    }
    return sent;
}

// Two ranks alike.
static double tile_by_tile(const sample *x, const cost_pair *p, int (*chunk)[3], int n)
{
    enum { MOST = 1 << 16 };
    static sent_tile tile[MOST];
    const int64_t rows = p->rows[0], each = p->tiles->form->rows;
    double came[COST_MAX_CHUNKS] = {0}, summed[COST_MAX_CHUNKS] = {0}, sent = 0, last = 0;
    int64_t from[COST_MAX_CHUNKS], to[COST_MAX_CHUNKS], lo, hi;
    int count = 0;
    machine m;
    start(&m, x, p);
    for (int own = 0; own < 2; own++) {
        for (int k = 0; k < n; k++) {
            int before = k - 1;
            if ((chunk[k][0] == 0) != own) continue;
            while (before >= 0 && chunk[before][0] != chunk[k][0])
                before--;
            from[k] = before < 0 ? 0 : to[before];
            to[k] = part_end(x, chunk, n, k, rows, rows);
            lo = tiles_in(from[k], each), hi = from[k] == to[k] ? lo : tiles_in(to[k], each);
            for (int64_t many; lo < hi && own; lo += many) { // rows that wait for as much
                double until = 0, now = 0, sec = 0;
                for (many = 0; lo + many < hi && now <= until; many++) {
                    now = 0;
                    for (int i = 0; i < n; i++)
                        if (chunk[i][0] && from[i] < (lo + many + 1) * each &&
                            (lo + many) * each < to[i])
                            now = fmax(now, came[i] + p->tiles->flag);
                    if (many == 0) until = now;
                }
                many -= now > until;
                if (p->tiles->by_rows)
                    sec = p->message(p->ctx, 0, to[k] - from[k]) * (double)many /
                          (double)(hi - tiles_in(from[k], each));
                int some = send_tiles(&m, many, until, m.sum, sec, k, tile + count);
                for (int i = 0; i < some; i++)
                    last = fmax(last, tile[count + i].made);
                count += some;
            }
            if (!own && hi > lo)
                count += send_tiles(&m, hi - lo, 0, 0, p->message(p->ctx, 0, to[k] - from[k]), k,
                                    tile + count);
            ck_assert_int_lt(count, MOST / 2);
        }
        if (own && !p->tiles->by_rows) break;
        sent = leave(tile, count, sent, own ? summed : came);
        count = 0;
    }
    if (p->tiles->by_rows) last = fmax(last, sent + p->tiles->flag);
    return fmax(last, sent) + p->launch_overhead;
}

START_TEST(stores_tile_by_tile)
{
    int cases = test_cases(60, 400, 4000), n_cases = 0;
    double sum = 0, most = 0;
    for (int i = 0; i < cases; i++) {
        sample x;
        cost_pair_tiles tiles;
        cost_pair_time time;
        int64_t rows[RANKS];
        int chunk[COST_MAX_CHUNKS][3] = {{0}}, n = 0;
        state = 77 + (uint64_t)i;
        draw(&x, below(2) ? COST_REDUCE_SCATTER : COST_ALL_REDUCE, 2);
        x.t.stores = true;
        x.rows[1] = x.rows[0];
        x.rows[0] += x.rows[0] % 2 * (x.t.coll == COST_ALL_REDUCE);
        const cost_tile_form *f =
            &cost_tile_forms[below(2) ? COST_TILE_128x128_1 : COST_TILE_128x192_1];
        ck_assert(cost_team_lists_how(&x.t, f, COST_LIST_STORES));
        cost_pair p = cost_team_list(&x.t, f, COST_LIST_STORES, false, &tiles, rows);
        for (int64_t k = 1 + below(6); k > 0; k--, n++)
            chunk[n][0] = 1, chunk[n][1] = (int)(1 + below(5));
        for (int64_t k = x.t.coll == COST_ALL_REDUCE ? 1 + below(5) : 1; k > 0; k--, n++)
            chunk[n][0] = 0, chunk[n][1] = (int)(1 + below(5));
        double sec = cost_pair_seconds(&p, chunk, n, &time), want = tile_by_tile(&x, &p, chunk, n);
        double off = log(sec / want);
        sum += off, n_cases++;
        most = fmax(most, fabs(off));
    }
    ck_assert_msg(fabs(sum / n_cases) < 0.02,
                  "priced at %.3f of what tile by tile takes, on average", exp(sum / n_cases));
    ck_assert_msg(most < 0.15, "priced up to %.3f off what tile by tile takes", exp(most));
}
END_TEST

// --- all of them ---

// Every way to give `units` of each member's rows to chunks, layer by layer or member by member.
static double least_of(const cost_pair *p, bool layers)
{
    double best = HUGE_VAL;
    int own_masks = p->tiles->by_rows ? 1 << (UNITS - 1) : 1;
    for (int mask = 0; mask < 1 << (UNITS - 1); mask++)
        for (int own = 0; own < own_masks; own++) {
            int part[UNITS] = {0}, parts = 0, chunk[COST_MAX_CHUNKS][3] = {{0}}, n = 0;
            for (int u = 0; u < UNITS; u++) {
                part[parts]++;
                if (u == UNITS - 1 || mask >> u & 1) parts++;
            }
            if (p->consumer) chunk[n][0] = 0, chunk[n++][1] = 1;
            for (int i = 0; i < parts * (p->n - 1); i++, n++) {
                chunk[n][0] = 1 + (layers ? i % (p->n - 1) : i / parts);
                chunk[n][1] = part[layers ? i / (p->n - 1) : i % parts];
            }
            for (int u = 0, w = 1; u < UNITS && !p->consumer; u++, w++)
                if (u == UNITS - 1 || (p->tiles->by_rows && own >> u & 1))
                    chunk[n][0] = 0, chunk[n++][1] = w, w = 0;
            cost_pair_time t;
            if (n <= COST_MAX_CHUNKS) best = fmin(best, cost_pair_seconds(p, chunk, n, &t));
        }
    return best;
}

START_TEST(choice_against_all)
{
    static const cost_coll colls[] = {COST_ALL_GATHER, COST_REDUCE_SCATTER, COST_ALL_REDUCE};
    int cases = test_cases(6, 24, 300), n = 0;
    double lost = 0, most = 0;
    for (int i = 0; i < cases; i++) {
        sample x;
        cost_list list;
        double best = HUGE_VAL;
        state = 1000003u * (uint64_t)(i + 1);
        draw(&x, colls[i % 3], 2 + 2 * (i / 3 % 2));
        x.t.stores = below(2);
        ck_assert(cost_team_lists(&x.t, COST_PUT(1)));
        ck_assert(cost_best_list(&x.t, false, &list));
        for (int f = 0; f < COST_LIST_HOWS * COST_TILE_FORMS; f++) {
            const cost_tile_form *form = &cost_tile_forms[f / COST_LIST_HOWS];
            const cost_list_how how = (cost_list_how)(f % COST_LIST_HOWS);
            cost_pair_tiles tiles;
            int64_t rows[RANKS];
            if (!cost_team_lists_how(&x.t, form, how)) continue;
            cost_pair p = cost_team_list(&x.t, form, how, false, &tiles, rows);
            best = fmin(best, fmin(least_of(&p, true), least_of(&p, false)));
        }
        double over = list.time.total / best - 1;
        most = fmax(most, over);
        lost += fmax(over, 0), n++;
    }
    ck_assert_msg(lost / n < 0.02,
                  "chosen lists take %.2f %% more than the best of all, on average",
                  100 * lost / n);
    ck_assert_msg(most < 0.1, "a chosen list takes %.2f %% more than the best of all", 100 * most);
}
END_TEST

START_TEST(only_on_devices_that_have_them)
{
    sample x;
    state = 5;
    draw(&x, COST_ALL_GATHER, 2);
    ck_assert(cost_team_lists(&x.t, COST_PUT(1)));
    ck_assert(!cost_team_lists(&x.t, COST_EVEN));
    x.t.n_ops = 0;
    ck_assert(!cost_team_lists(&x.t, COST_PUT(1)));
    draw(&x, COST_ALL_REDUCE, 2);
    ck_assert(cost_team_lists(&x.t, COST_PUT(1)));
    ck_assert(!cost_team_lists(&x.t, COST_FLAT));
    cl_cluster other = *model.cluster;
    other.cls = hb_copy(arena, other.cls, sizeof *other.cls);
    other.cls[0].arch = 80;
    cost_model m = model;
    m.cluster = &other;
    x.t.model = &m;
    ck_assert(!cost_team_lists(&x.t, COST_PUT(1)));
}
END_TEST

int main(void)
{
    arena = hb_arena_new();
    hb_diag *d = hb_diag_new(arena);
    model =
        (cost_model){.cluster = cl_read(arena, "clusters/h200x4.yaml", NULL, d), .math = COST_BF16};
    if (!model.cluster) return EXIT_FAILURE;
    Suite *s = suite_create("pair_tiles");
    TCase *t = tcase_create("lists");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, entry_by_entry);
    tcase_add_test(t, parts_of_k);
    tcase_add_test(t, stores_tile_by_tile);
    tcase_add_test(t, choice_against_all);
    tcase_add_test(t, only_on_devices_that_have_them);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    hb_arena_free(arena);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
