// What a pair takes as one list of tiles: clusters take two tiles at a time, each every so-manyth
// entry of the list (runtime/cuda/comm/cuda_pair_list.h has the list, pair_list_test.c of
// tests/costmodel compares the counts).

#include <math.h>
#include <string.h>

#include "costmodel/device_defaults.h"
#include "costmodel/pair_links.h"
#include "costmodel/pair_parts.h"
#include "costmodel/pair_price.h"

const cost_tile_form cost_tile_forms[COST_TILE_FORMS] = {
#define HAP_TILE_FORM(rows, cols, turns, parts, percent) {rows, cols, turns},
#include "runtime/hap/tiles.def"
};
enum {
#define HAP_TILE_NUMBER(NAME, number) NAME = number,
#include "runtime/hap/tiles.def"
};

static const double speed[COST_TILE_FORMS] = COST_TILE_SPEED;

double cost_tile_flops(void)
{
    return 2 * PEAK;
}

typedef double table[COST_MAX_CHUNKS][COST_MAX_PAIR_RANKS];

// One rank's clusters: until when each is at work, and whose turn it is.
typedef struct list {
    const cost_pair_tiles *tiles;
    int kind, n, at;
    double entry, sum; // seconds of two tiles; of adding what others made of them
    double work;       // seconds of all, a cluster's share
    double end[COST_TILE_CLUSTERS];
    // What is shared by its k: entries until then; seconds of a cluster's part; when it may begin,
    // and end.
    int64_t whole;
    double share, from, until;
    double steps, operands, cycle; // of a whole k; bytes; seconds where all clusters are at work
} list;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

// Cycles of a step of k: its flops, or the operands that all clusters fetch meanwhile, at so many
// places of k, where L2 does not keep them.
static double step_cycles(const cost_tile_form *f, int clusters, double operands, int parts)
{
    double flops = (double)f->rows * f->cols * K_STEP / PEAK / speed[f - cost_tile_forms];
    double area = 2.0 * f->rows * f->cols * clusters / parts;
    double bytes = parts * 2 * sqrt(area) * K_STEP * 2 / MEMORY_BYTES;
    return operands < KEPT_BYTES ? flops : larger(flops, bytes);
}

static int64_t entries_of(const list *l, int64_t tiles)
{
    const cost_pair_tiles *t = l->tiles;
    int64_t n = 0;
    for (int i = 0; i < t->n_ops; i++) {
        int64_t right = (t->cols[l->kind * t->n_ops + i] + t->form->cols - 1) / t->form->cols;
        n += (tiles * right + 1) / 2;
    }
    return n;
}

// The less there is at work at a time, the higher is the clock of a device that power binds.
static double share_at_work(const list *l, int64_t entries)
{
    int64_t rounds = (entries + l->n - 1) / l->n;
    return rounds > 0 ? (double)entries / (double)(rounds * l->n) : 1;
}

// Cycles that `left` entries take in parts of their k, by the cluster with most to do: as the
// runtime shares them (tile_share_of in runtime/cuda/kernels/tile_ways.c), or a whole round.
static double shared_cycles(const list *l, int left)
{
    const cost_tile_form *f = l->tiles->form;
    const double part = (double)f->rows * f->cols * 4 / PART_BYTES + PART_END;
    const double whole = l->steps * step_cycles(f, l->n, l->operands, 1);
    double least = whole + TILE_END;
    for (int each = 1; each <= TILE_SHARED; each++) {
        const int groups = (left + each - 1) / each, last = left - (groups - 1) * each;
        int parts = (int)(each * sqrt(whole / part) + 0.5), most = l->n / groups;
        parts = parts > each * TILE_SHARERS ? each * TILE_SHARERS : parts > each ? parts : each + 1;
        if (parts > most) parts = most;
        if (parts <= each || last * l->steps < parts) continue;
        double cycles = ceil(each * l->steps / parts) * step_cycles(f, l->n, l->operands, parts);
        cycles += TILE_END + (1 + ceil((double)parts / each)) * part;
        if (cycles < least) least = cycles;
    }
    return least;
}

static void list_new(list *l, const cost_pair *p, int kind, int64_t rows)
{
    const cost_pair_tiles *t = p->tiles;
    const cost_tile_form *f = t->form;
    int64_t cols = 0, k = t->k[kind];
    for (int i = 0; i < t->n_ops; i++)
        cols += t->cols[kind * t->n_ops + i];
    double steps = ceil((double)k / K_STEP), operands = (double)(rows + cols) * (double)k * 2;
    double cycle = t->cycle[kind] * p->beside[kind].compute;
    int64_t tiles = 0;
    for (int r = 0; r < p->n; r++)
        tiles += (p->rows[r] + f->rows - 1) / f->rows;
    double part = (double)f->rows * f->cols * 2 / PART_BYTES + PART_END;
    *l = (list){.tiles = t,
                .kind = kind,
                .n = t->clusters[kind],
                .whole = INT64_MAX,
                .steps = steps,
                .operands = operands,
                .cycle = cycle};
    hb_assert(l->n >= 1 && l->n <= COST_TILE_CLUSTERS);
    cycle /= 1 + COST_TILE_IDLE * (1 - share_at_work(l, entries_of(l, tiles)));
    l->entry = cycle * (steps * step_cycles(f, l->n, operands, 1) + (f->turns ? 0 : TILE_END));
    l->sum = cycle * ((p->n - 1) * part + (f->turns ? TILE_END : 0)); // which then hides nowhere
    for (int i = 0; i < l->n; i++)
        l->end[i] = COST_TILE_START + (f->turns ? cycle * TILE_END : 0);
}

// Rows of tiles that go as the next part of the list. None begins before `from`, none ends before
// `until` and what is added then. Returns when the last of them is done.
static double take(list *l, int64_t tiles, double from, double until, double sum)
{
    const int64_t all = entries_of(l, tiles), entries = all < l->whole ? all : l->whole;
    const int64_t each = entries / l->n, rest = entries % l->n;
    double last = 0, one = l->entry + sum;
    l->whole -= entries;
    if (entries < all) l->from = larger(l->from, from), l->until = larger(l->until, until);
    for (int i = 0; i < l->n && entries > 0; i++) {
        int at = (l->at + i) % l->n;
        int64_t n = each + (i < rest);
        if (n == 0) break;
        double first = larger(larger(l->end[at], from) + l->entry, until) + sum;
        l->end[at] = first + (double)(n - 1) * one;
        last = larger(last, l->end[at]);
    }
    l->at = (int)((l->at + rest) % l->n);
    l->work += (double)entries * one / l->n;
    return last;
}

// The list of so many entries shares those that do not come out even, where the runtime does. No
// cluster rests then.
static void share_end(list *l, int64_t entries)
{
    const cost_tile_form *f = l->tiles->form;
    const double round = l->steps * step_cycles(f, l->n, l->operands, 1) + TILE_END;
    const int left = (int)(entries % l->n);
    const double cycles = left ? shared_cycles(l, left) : round;
    if (cycles >= round) return;
    l->whole = entries - left;
    l->share = l->cycle * cycles;
    l->entry = l->cycle * round;
}

// Parts come behind all else.
static void take_shared(list *l)
{
    for (int i = 0; i < l->n && l->share > 0; i++)
        l->end[i] = larger(larger(l->end[i], l->from) + l->share, l->until);
    l->work += l->share;
}

static double finished(const list *l)
{
    double last = 0;
    for (int i = 0; i < l->n; i++)
        last = larger(last, l->end[i]);
    return last;
}

static int64_t first_row(const pair_parts *g, int k, int64_t rows)
{
    return pair_rows_before(g, k, g->from[k], rows);
}

static int64_t end_row(const pair_parts *g, int k, int64_t rows)
{
    return pair_rows_before(g, k, g->to[k], rows);
}

// Rows of tiles of chunk k, of a member with so many rows: a row of tiles is the later chunk's
// where it waits, the earlier one's where it is made.
static void tiles_of(const cost_pair *p, const pair_parts *g, int k, int64_t rows, int64_t *lo,
                     int64_t *hi)
{
    int64_t from = first_row(g, k, rows), to = end_row(g, k, rows), each = p->tiles->form->rows;
    *lo = *hi = 0;
    if (from == to) return;
    *lo = p->consumer ? from / each : (from + each - 1) / each;
    *hi = p->consumer && to < rows ? to / each : (to + each - 1) / each;
    if (*hi < *lo) *hi = *lo;
}

static void add_rank(cost_pair_time *t, const list *l, double all)
{
    double end = finished(l);
    t->end[l->kind] = larger(t->end[l->kind], end);
    t->busy[l->kind] = larger(t->busy[l->kind], l->work);
    t->total = larger(t->total, larger(end, all));
}

// Ranks of which one is as all the others.
static bool alike(const cost_pair *p)
{
    bool same = p->n_kinds == 1;
    for (int r = 1; r < p->n; r++)
        same = same && p->rows[r] == p->rows[0];
    return same;
}

static int64_t all_rows(const cost_pair *p)
{
    int64_t rows = 0;
    for (int r = 0; r < p->n; r++)
        rows += p->rows[r];
    return rows;
}

// --- an all-gather before it ---

// Of rank r's list, chunk by chunk.
static int64_t entries_at(const cost_pair *p, const pair_parts *g, int r, const list *l)
{
    int64_t n = 0, lo, hi;
    for (int k = 0; k < g->n; k++) {
        tiles_of(p, g, k, p->rows[(r + p->n - g->distance[k]) % p->n], &lo, &hi);
        n += entries_of(l, hi - lo);
    }
    return n;
}

static void consume(pair_pricer *x, const pair_parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    const int64_t each = p->tiles->form->rows;
    const double begins = p->tiles->stores ? COST_TILE_START : 0;
    table at;
    double busy[COST_MAX_PAIR_RANKS];
    pair_arrivals(x, g, at, busy);
    for (int r = 0; r < (alike(p) ? 1 : p->n); r++) {
        list l;
        double own = 0, last = busy[r], pushed = p->tiles->stores ? begins + busy[r] : 0;
        list_new(&l, p, p->kind[r], all_rows(p));
        if (p->tiles->parts) share_end(&l, entries_at(p, g, r, &l));
        for (int k = 0; k < g->n; k++) {
            int d = g->distance[k];
            int64_t lo, hi, rows = p->rows[(r + p->n - d) % p->n];
            double from = 0;
            tiles_of(p, g, k, rows, &lo, &hi);
            for (int i = 0; i < g->n && d > 0 && lo < hi; i++)
                if (g->distance[i] == d && first_row(g, i, rows) < hi * each &&
                    lo * each < end_row(g, i, rows))
                    from = larger(from, begins + at[i][r] + p->tiles->flag);
            double made = take(&l, hi - lo, from, k == 0 ? pushed : 0, 0);
            if (d == 0) own = larger(own, made);
            if (d > 0) last = larger(last, at[k][r]);
        }
        take_shared(&l);
        double *least = &t->own[l.kind];
        *least = t->end[l.kind] > 0 && *least < own ? *least : own;
        add_rank(t, &l, last);
        t->transfer = larger(t->transfer, last);
    }
}

// --- what is made is sent ---

// When a part that takes `sec` to send has to begin leaving so that it leaves as its rows of tiles
// are made, the first of them from `first` on, the last round of them at `made`. By copies: all of
// it then.
static double leaves(const pair_pricer *x, const list *l, int64_t tiles, double first, double made,
                     double sec)
{
    const cost_pair_tiles *t = x->p->tiles;
    const int64_t entries = entries_of(l, tiles);
    const double before = entries > l->n ? 1 - (double)l->n / (double)entries : 0;
    return t->stores ? larger(first, made - before * sec) : made + t->made;
}

// Chunks but, with sums, the own ones; made[k]: when chunk k is, and may leave.
static void make_chunks(pair_pricer *x, const pair_parts *g, int r, list *l, double *made)
{
    const cost_pair *p = x->p;
    double last = 0, left = 0;
    for (int k = 0; k < g->n; k++) {
        int64_t lo, hi;
        const int to = (r + g->distance[k]) % p->n;
        const double first = larger(last, l->entry);
        if (g->distance[k] == 0 && p->tiles->sums) continue;
        tiles_of(p, g, k, p->rows[to], &lo, &hi);
        last = larger(last, take(l, hi - lo, 0, 0, 0));
        const double sec = pair_seconds(x, true, p->kind[r], pair_rows_of(g, k, p->rows[to]));
        made[k] = left = larger(left, leaves(x, l, hi - lo, first, last, sec));
    }
}

// Until what others made of rows [from, to) of rank r is there.
static double came(const cost_pair *p, const pair_parts *g, int r, table at, int64_t from,
                   int64_t to)
{
    double until = 0;
    for (int i = 0; i < g->n; i++)
        if (g->distance[i] && first_row(g, i, p->rows[r]) < to && from < end_row(g, i, p->rows[r]))
            until = larger(until, at[i][r] + p->tiles->flag);
    return until;
}

// Own tiles, row of tiles by row of tiles that wait for the same parts. done[k]: of own chunk k.
static void add_own(const pair_pricer *x, const pair_parts *g, int r, table at, list *l,
                    double *done)
{
    const cost_pair *p = x->p;
    const int64_t each = p->tiles->form->rows;
    double last = 0;
    for (int k = 0; k < g->n; k++) {
        int64_t lo, hi;
        if (g->distance[k]) continue;
        tiles_of(p, g, k, p->rows[r], &lo, &hi);
        while (lo < hi) {
            double until = came(p, g, r, at, lo * each, (lo + 1) * each);
            int64_t n = 1;
            while (lo + n < hi && came(p, g, r, at, (lo + n) * each, (lo + n + 1) * each) <= until)
                n++;
            last = larger(last, take(l, n, 0, until, l->sum));
            lo += n;
        }
        done[k] = last;
    }
}

// The sums of an all-reduce by rows to all others, behind what was sent before.
static double send_sums(pair_pricer *x, const pair_parts *g, int r, const list *l, double sent,
                        const double *done)
{
    const cost_pair *p = x->p;
    for (int k = 0; k < g->n; k++) {
        int64_t lo, hi, rows = pair_rows_of(g, k, p->rows[r]);
        if (g->distance[k] || rows == 0) continue;
        tiles_of(p, g, k, p->rows[r], &lo, &hi);
        const double sec = (p->n - 1) * pair_seconds(x, true, p->kind[r], rows);
        sent = larger(sent, leaves(x, l, hi - lo, 0, done[k], sec)) + sec;
    }
    return sent + (p->tiles->stores ? p->tiles->flag : p->flag);
}

// When rank r is through, all it gets having come as `at` says: sums in the list, or behind it.
static double finish(pair_pricer *x, const pair_parts *g, int r, table at, double sent, list *l)
{
    const cost_pair *p = x->p;
    double done[COST_MAX_CHUNKS] = {0};
    if (p->tiles->sums) {
        add_own(x, g, r, at, l, done);
        return p->tiles->by_rows ? send_sums(x, g, r, l, sent, done) : finished(l);
    }
    for (int k = 0; k < g->n; k++)
        done[k] = g->distance[k] ? at[k][r] + p->flag : finished(l) + p->flag;
    return pair_add_up(g, p->rows[r], done, p->after ? p->after[r] : 0);
}

// What rank 0 sends, the others send and get at the same time.
static void send_alike(pair_sender *s, const double *made, table at)
{
    for (int i = 0; i < s->n_messages; i++) {
        const pair_message *m = &s->message[i];
        s->sent = larger(s->sent, made[m->chunk]) + m->sec;
        at[m->chunk][0] = s->sent;
    }
}

static void produce(pair_pricer *x, const pair_parts *g, cost_pair_time *t)
{
    const cost_pair *p = x->p;
    pair_sender rank[COST_MAX_PAIR_RANKS];
    list l[COST_MAX_PAIR_RANKS];
    table at;
    const int n = alike(p) ? 1 : p->n;
    memset(at, 0, sizeof at);
    memset(rank, 0, sizeof *rank * (size_t)n);
    for (int r = 0; r < n; r++) {
        double made[COST_MAX_CHUNKS] = {0}, last = 0;
        int behind[COST_MAX_CHUNKS];
        pair_sender *s = &rank[r];
        list_new(&l[r], p, p->kind[r], all_rows(p));
        make_chunks(x, g, r, &l[r], made);
        s->beside = (cost_contention){1, 1}; // what tiles take has it
        for (int k = 0; k < g->n; k++) {
            if (made[k] > last) s->matmul[s->n_matmuls++] = made[k] - last;
            last = larger(last, made[k]);
            behind[k] = s->n_matmuls;
        }
        pair_add_messages(x, g, r, behind, s);
        if (n == 1) send_alike(s, made, at);
    }
    if (n > 1) pair_links_run(n, rank, p->flag, at);
    for (int r = 0; r < n; r++) {
        double sum = 0, own = pair_seconds(x, true, p->kind[r], p->rows[r]);
        double end = finish(x, g, r, at, rank[r].sent, &l[r]);
        for (int i = 0; i < rank[r].n_messages; i++)
            sum += rank[r].message[i].sec;
        if (p->tiles->by_rows) sum += (p->n - 1) * own;
        add_rank(t, &l[r], larger(end, rank[r].sent));
        t->transfer = larger(t->transfer, sum);
    }
}

void pair_list_price(pair_pricer *x, const pair_parts *g, cost_pair_time *t)
{
    (x->p->consumer ? consume : produce)(x, g, t);
}
