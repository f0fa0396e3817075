// The planner's chunks for the shapes of bench/overlap/shapes.txt on a cluster:
// costmodel/pair_team.h asked as synth/price/pair_cost.c asks it, matmuls and messages by the
// cluster's curves.
//
//     pair_chunks CLUSTER.yaml SHAPES [--cut] [--stores] [--price CHUNKS | --each | --stored]
//
// A line a shape that is run on as many ranks as the cluster has: its name, the form, the chunks
// that overlap-bench takes and, behind |, the list of tiles: tile, how, groups; or "sequential".
// Behind # the predicted ms of pair, sequence, matmul, transfer, and of chunks and list. --cut:
// rows and the weight in proportion to peak rates instead of even.
// --price: the predicted ms of each of these chunks instead, lines as this program writes them.
// --each: instead the best list of each form of tiles, with sums and without, to try them all:
// lines as overlap-bench's --also takes them, with the predicted ms behind #. --stores: lists whose
// kernels store parts where they go, or with parts of k, are looked at, too; --stored: instead the
// best two forms of each of these.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clusters/cluster.h"
#include "costmodel/cost.h"
#include "costmodel/pair_team.h"

typedef struct shape {
    char kind[4], name[64];
    long long m, n, k;
} shape;

typedef struct team {
    cost_team is; // kind: class of the cluster
    shape s;
    bool ag;
    int kind[COST_MAX_PAIR_RANKS], rank_of[CL_MAX_CLASSES]; // rank_of: a kind
    int64_t rows[COST_MAX_PAIR_RANKS], all_rows[1], inner[COST_MAX_PAIR_RANKS];
    double after[COST_MAX_PAIR_RANKS];
    int64_t cols[CL_MAX_CLASSES], k[CL_MAX_CLASSES], shares[COST_MAX_PAIR_RANKS];
} team;

// What is chosen: chunks and, n_list > 0, a list of tiles.
typedef struct chosen {
    cost_form form;
    int n, chunk[COST_MAX_CHUNKS][3];
    cost_pair_time at;
    cost_list list;
    bool first; // the list
} chosen;

static double matmul(void *ctx, int kind, int64_t rows)
{
    const team *t = ctx;
    int r = t->rank_of[kind];
    double in = (double)(t->ag ? t->s.k : t->inner[r]),
           out = (double)(t->ag ? t->inner[r] : t->s.n);
    return cost_op(t->is.model, t->is.cls[kind], IR_OP_linear, 2 * (double)rows * in * out,
                   2 * ((double)rows * (in + out) + in * out));
}

static double slowest(team *t)
{
    double most = 0;
    for (int r = 0; r < t->is.n; r++)
        most = fmax(most, matmul(t, t->kind[r], t->s.m));
    return most;
}

// By the cheapest form.
static double collective(team *t)
{
    double transfer = (double)INFINITY, bytes = t->is.row_bytes[t->kind[0]] * (double)t->s.m;
    const cost_forms forms = cost_forms_of(t->is.coll, t->is.n, true);
    for (int i = 0; i < forms.n; i++)
        if (forms.form[i] != COST_TWO_LEVEL)
            transfer = fmin(
                transfer, cost_team_seconds(&t->is, t->is.coll, forms.form[i], t->rows, bytes, 1));
    return transfer;
}

static void print_groups(int (*g)[3], int n)
{
    for (int i = 0; i < n; i++) {
        printf(" %d", g[i][0]);
        if (g[i][1] != 1) printf("*%d", g[i][1]);
        if (g[i][2]) printf("/%d", g[i][2]);
    }
}

static unsigned how_of(const cost_tile_form *f, bool sums, bool by_rows, bool stores, bool parts)
{
    return (f->turns ? 1u : 0u) | (sums ? 2u : 0u) | (by_rows ? 4u : 0u) | (stores ? 16u : 0u) |
           (parts ? 32u : 0u);
}

// Chunks that any pair has: one a member, own rows first or last.
static int plain(const team *t, int (*chunk)[3])
{
    const int n = t->is.coll == COST_ALL_REDUCE ? 1 : t->is.n;
    for (int i = 0; i < n; i++)
        chunk[i][0] = t->ag ? i : (i + 1) % n, chunk[i][1] = 1, chunk[i][2] = 0;
    return n;
}

static void choose(team *t)
{
    chosen best = {.form = COST_EVEN};
    double most = slowest(t), transfer = collective(t), alone = most + transfer, least = alone;
    cost_pair_time time = {0};
    const cost_forms forms = cost_forms_of(t->is.coll, t->is.n, true);
    for (int i = 0; i < forms.n; i++) {
        chosen x = {.form = forms.form[i]};
        if (!cost_pairs_in(&t->is, x.form)) continue;
        t->is.form = x.form;
        cost_pair p = cost_team_pair(&t->is, false);
        x.n = cost_pair_search(&p, COST_MAX_CHUNKS, x.chunk, &x.at);
        cl_kind on = t->is.model->cluster->cls[t->is.cls[0]].kind;
        bool pays = x.n > 0 && cost_pair_pays(&p, on, x.at.total, cost_pair_matmuls(x.chunk, x.n),
                                              most, transfer);
        if (cost_team_lists(&t->is, x.form)) cost_best_list(&t->is, false, &x.list);
        cost_pair list = {.doubt = p.doubt};
        if (x.list.n && !cost_pair_pays(&list, on, x.list.time.total, 1, most, transfer))
            x.list.n = 0;
        if (!pays && x.list.n == 0) continue;
        if (x.n == 0) x.n = plain(t, x.chunk); // for where the list cannot run
        x.first = x.list.n && (!pays || cost_list_first(t->is.coll, x.list.time.total, x.at.total));
        double took = x.first ? x.list.time.total : x.at.total;
        if (took >= least) continue;
        least = took;
        best = x;
        time = x.first ? x.list.time : x.at;
    }
    printf("%s %s %s", t->s.kind, t->s.name, best.n ? cost_form_name(best.form).s : "sequential");
    print_groups(best.chunk, best.n);
    if (best.list.n) {
        const cost_list *l = &best.list;
        printf(" | %dx%d %u", l->form->rows, l->form->cols,
               how_of(l->form, l->sums, l->by_rows, l->stores, l->parts) | (best.first ? 8u : 0u));
        print_groups(best.list.chunk, l->n);
    }
    printf(" # %.4f %.4f %.4f %.4f", 1e3 * least, 1e3 * alone, 1e3 * matmul(t, t->kind[0], t->s.m),
           1e3 * time.transfer);
    if (best.n) printf(" %.4f %.4f", 1e3 * best.at.total, 1e3 * best.list.time.total);
    printf("\n");
}

static void print_list(const team *t, const cost_pair_tiles *l, int (*chunk)[3], int n, double sec)
{
    int all[COST_MAX_PAIR_RANKS][3];
    const cost_tile_form *f = l->form;
    printf("%s %s put(1)", t->s.kind, t->s.name);
    print_groups(all, plain(t, all));
    printf(" | %dx%d %u", f->rows, f->cols, how_of(f, l->sums, l->by_rows, l->stores, l->parts));
    print_groups(chunk, n);
    printf(" # %.4f\n", 1e3 * sec);
}

// The best list of each form.
static void each_form(team *t)
{
    t->is.form = COST_PUT(1);
    for (int i = 0; i < COST_LIST_HOWS * COST_TILE_FORMS && cost_team_lists(&t->is, t->is.form);
         i++) {
        const cost_list_how how = (cost_list_how)(i % COST_LIST_HOWS);
        int chunk[COST_MAX_CHUNKS][3];
        cost_pair_tiles tiles;
        cost_pair_time time;
        const cost_tile_form *f = &cost_tile_forms[i / COST_LIST_HOWS];
        if (!cost_team_lists_how(&t->is, f, how)) continue;
        cost_pair p = cost_team_list(&t->is, f, how, false, &tiles, t->shares);
        int n = cost_pair_search(&p, COST_MAX_CHUNKS, chunk, &time);
        if (n) print_list(t, &tiles, chunk, n, time.total);
    }
}

// The best lists of the ways that the planner does not plan yet, of STORED forms of each: by
// stores, and of all-gathers in parts of k.
static void best_stored(team *t, cost_list_how how)
{
    enum { STORED = 2 };
    struct {
        cost_pair_tiles tiles;
        int n, chunk[COST_MAX_CHUNKS][3];
        double sec;
    } x, best[STORED + 1];
    int n = 0;
    t->is.form = COST_PUT(1);
    for (int i = 0; i < COST_TILE_FORMS && cost_team_lists(&t->is, t->is.form); i++) {
        const cost_tile_form *f = &cost_tile_forms[i];
        cost_pair_time time;
        if (!cost_team_lists_how(&t->is, f, how)) continue;
        cost_pair p = cost_team_list(&t->is, f, how, false, &x.tiles, t->shares);
        if (!x.tiles.stores && !x.tiles.parts) continue;
        x.n = cost_pair_search(&p, COST_MAX_CHUNKS, x.chunk, &time);
        x.sec = time.total;
        if (x.n == 0) continue;
        int at = n;
        for (; at > 0 && best[at - 1].sec > x.sec; at--)
            best[at] = best[at - 1];
        best[at] = x;
        if (n < STORED) n++;
    }
    for (int i = 0; i < n; i++)
        print_list(t, &best[i].tiles, best[i].chunk, best[i].n, best[i].sec);
}

static int parse_groups(const char *at, int (*chunk)[3], const char **end)
{
    int n = 0, used = 0;
    for (int d; n < COST_MAX_CHUNKS && sscanf(at, "%d%n", &d, &used) == 1; n++) {
        at += used;
        chunk[n][0] = d;
        chunk[n][1] = 1;
        chunk[n][2] = 0;
        if (sscanf(at, "*%d%n", &chunk[n][1], &used) == 1) at += used;
        if (sscanf(at, "/%d%n", &chunk[n][2], &used) == 1) at += used;
    }
    *end = at;
    return n;
}

// Predicted seconds of a line behind its form, of its list if it has one.
static double priced(team *t, const char *at)
{
    int chunk[COST_MAX_CHUNKS][3], rows, cols, used;
    unsigned how;
    cost_pair_tiles tiles;
    cost_pair_time time;
    int n = parse_groups(at, chunk, &at);
    cost_pair p = cost_team_pair(&t->is, false);
    if (n == 0) return -1;
    if (sscanf(at, " | %dx%d %u%n", &rows, &cols, &how, &used) == 3) {
        n = parse_groups(at + used, chunk, &at);
        t->is.parts = how & 32u;
        for (int i = 0; i < COST_TILE_FORMS; i++) {
            const cost_tile_form *f = &cost_tile_forms[i];
            if (f->rows == rows && f->cols == cols && f->turns == (int)(how & 1u))
                p = cost_team_list(&t->is, f,
                                   how & 16u  ? COST_LIST_STORES
                                   : how & 2u ? COST_LIST_SUMS
                                              : COST_LIST_PLAIN,
                                   false, &tiles, t->shares);
        }
    }
    return cost_pair_seconds(&p, chunk, n, &time);
}

// Of every line of the file that names the shape.
static void price(team *t, const char *path)
{
    FILE *in = fopen(path, "r");
    for (char line[512], kind[4], name[64], form[16]; in && fgets(line, sizeof line, in);) {
        int used = 0;
        if (sscanf(line, "%3s %63s %15s%n", kind, name, form, &used) != 3 ||
            strcmp(kind, t->s.kind) != 0 || strcmp(name, t->s.name) != 0)
            continue;
        line[strcspn(line, "#\n")] = 0;
        const cost_forms forms = cost_forms_of(t->is.coll, t->is.n, true);
        for (int i = 0; i < forms.n; i++) {
            cost_form f = forms.form[i];
            if (!cost_pairs_in(&t->is, f) || strcmp(form, cost_form_name(f).s) != 0) continue;
            t->is.form = f;
            double sec = priced(t, line + used);
            if (sec > 0) printf("%s # %.4f\n", line, 1e3 * sec);
        }
        if (strcmp(form, "sequential") == 0)
            printf("%s # %.4f\n", line, 1e3 * (slowest(t) + collective(t)));
    }
    if (in) fclose(in);
}

// n in parts in proportion to weights, multiples of `unit` but for the last.
static void cut(int n_ranks, int64_t *table, int64_t n, int64_t unit, const double *weight)
{
    double sum = 0, before = 0;
    int64_t from = 0;
    for (int i = 0; i < n_ranks; i++)
        sum += weight[i];
    for (int i = 0; i < n_ranks; i++) {
        before += weight[i];
        int64_t to =
            i + 1 == n_ranks ? n : (int64_t)((double)n * before / sum / (double)unit + 0.5) * unit;
        table[i] = to - from;
        from = to;
    }
}

int main(int argc, char **argv)
{
    const char *devices = getenv("HAPC_DEVICES");
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    bool uneven = false, usage = argc < 3, each = false, stored = false, stores = false;
    const char *prices = NULL;
    for (int i = 3; i < argc; i++) {
        bool cuts = strcmp(argv[i], "--cut") == 0;
        if (cuts)
            uneven = true;
        else if (strcmp(argv[i], "--each") == 0)
            each = true;
        else if (strcmp(argv[i], "--stored") == 0)
            stored = stores = true;
        else if (strcmp(argv[i], "--stores") == 0)
            stores = true;
        else if (strcmp(argv[i], "--price") == 0 && i + 1 < argc)
            prices = argv[++i];
        else
            usage = true;
    }
    if (usage) {
        fprintf(stderr,
                "usage: pair_chunks CLUSTER.yaml SHAPES [--cut] [--stores] [--price CHUNKS | "
                "--each | --stored]\n");
        return 2;
    }
    cl_cluster *c = cl_read(a, argv[1], devices ? devices : "clusters/devices.yaml", d);
    cost_curves *curves = c && c->curves.n ? cost_curves_read(a, c->curves.p, d) : NULL;
    FILE *f = fopen(argv[2], "r");
    bool fits = c && c->n_ranks >= 2 && c->n_ranks <= COST_MAX_PAIR_RANKS;
    if (!fits || !f || hb_diag_count(d)) {
        hb_diag_print(d, stderr);
        if (c && !fits) fprintf(stderr, "a pair has 2 to %d ranks\n", COST_MAX_PAIR_RANKS);
        if (!f) perror(argv[2]);
        return 1;
    }
    if (curves) cost_apply_curves(curves, c);
    cost_model model = {.cluster = c, .curves = curves, .math = COST_BF16};
    team t = {.is = {.model = &model, .n = c->n_ranks, .n_kinds = c->n_classes}};
    cost_team *is = &t.is;
    int ranks[COST_MAX_PAIR_RANKS];
    double weight[COST_MAX_PAIR_RANKS];
    is->kind = t.kind;
    is->after = t.after;
    is->stores = is->parts = stores;
    is->matmul = matmul;
    is->ctx = &t;
    for (int r = 0; r < is->n; r++) {
        int cls = t.kind[r] = c->class_of[r];
        ranks[r] = r;
        is->cls[cls] = cls;
        t.rank_of[cls] = r;
        weight[r] = uneven ? c->cls[cls].bf16 : 1;
        cost_memory_add(&is->memory, &c->cls[cls]);
    }
    memset(is->memory.launch_overhead, 0,
           sizeof is->memory.launch_overhead); // in loops of their own
    is->link = cl_group_link(c, ranks, is->n, 1);
    for (char line[256], on[32]; fgets(line, sizeof line, f);) {
        shape *s = &t.s;
        if (line[0] == '#' || sscanf(line, "%3s %lld %lld %lld %31s %63s", s->kind, &s->m, &s->n,
                                     &s->k, on, s->name) != 6)
            continue;
        hb_str want = hb_fmt(a, "%d", is->n);
        if (is->n > 3 && !strstr(on, want.p)) continue;
        t.ag = s->kind[1] == 'G';
        bool whole = s->kind[1] == 'R';
        is->coll = t.ag ? COST_ALL_GATHER : whole ? COST_ALL_REDUCE : COST_REDUCE_SCATTER;
        is->n_ops = 1;
        is->cols = t.cols;
        is->k = t.k;
        for (int k = 0; k < is->n_kinds; k++)
            is->row_bytes[k] = 2 * (double)(t.ag ? s->k : s->n);
        cut(is->n, t.rows, s->m, 1, weight);
        cut(is->n, t.inner, t.ag ? s->n : s->k, uneven ? 64 : 8, weight);
        t.all_rows[0] = s->m;
        for (int k = 0; k < is->n_kinds; k++) {
            t.cols[k] = t.ag ? t.inner[t.rank_of[k]] : s->n;
            t.k[k] = t.ag ? s->k : t.inner[t.rank_of[k]];
        }
        is->rows = whole ? t.all_rows : t.rows;
        if (prices)
            price(&t, prices);
        else if (each)
            each_form(&t);
        else if (stored)
            best_stored(&t, COST_LIST_STORES), best_stored(&t, COST_LIST_PLAIN);
        else
            choose(&t);
    }
    fclose(f);
    hb_arena_free(a);
    return 0;
}
