// The planner's groups for the shapes of bench/shapes.txt on a cluster: costmodel/overlap.h asked
// as synth/pair_cost.c asks it, products and messages by the cluster's curves.
//
//     pair_groups CLUSTER.yaml SHAPES [--cut] [--price GROUPS]
//
// A line a shape that is run on as many ranks as the cluster has: its name, the form, and the
// groups that overlap-bench takes; or "sequential". Behind # the predicted ms of pair, sequence,
// product, transfer. --cut: rows and the weight in proportion to peak rates instead of even.
// --price: the predicted ms of each of these groups instead, lines as this program writes them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clusters/cluster.h"
#include "costmodel/cost.h"
#include "costmodel/overlap.h"

typedef struct shape {
    char kind[4], name[64];
    long long m, n, k;
} shape;

typedef struct team {
    const cost_model *model;
    shape s;
    bool ag;
    cost_coll coll;
    cost_form form;
    int n, cls[COST_MAX_PAIR_RANKS], kind[COST_MAX_PAIR_RANKS];
    int64_t rows[COST_MAX_PAIR_RANKS], inner[COST_MAX_PAIR_RANKS];
    int rank_of[CL_MAX_CLASSES]; // of a kind
    double row_bytes;
    cost_memory memory;
    cl_link link;
} team;

static double product(void *ctx, int kind, int64_t rows)
{
    const team *t = ctx;
    int r = t->rank_of[kind];
    double in = (double)(t->ag ? t->s.k : t->inner[r]),
           out = (double)(t->ag ? t->inner[r] : t->s.n);
    return cost_op(t->model, t->cls[r], IR_OP_linear, 2 * (double)rows * in * out,
                   2 * ((double)rows * (in + out) + in * out));
}

static double form_seconds(const team *t, cost_coll coll, cost_form form, const int64_t *table,
                           double bytes)
{
    cost_shards s = {.n = t->n,
                     .table = table,
                     .table2 = table,
                     .bytes = bytes,
                     .apart = 1,
                     .apart2 = 1,
                     .item = 2};
    cost_measure(&s);
    if (!table) s.entries = s.entries2 = (cost_entries){true, t->n, 1, 1}; // even
    return cost_form_seconds(t->model, coll, form, &s, t->link, &t->memory);
}

static const int64_t even[COST_MAX_PAIR_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

// One of the n - 1 that a rank sends; an all-reduce, of the rows.
static double message(void *ctx, int kind, int64_t rows)
{
    const team *t = ctx;
    double bytes = t->row_bytes * (double)rows;
    (void)kind;
    if (t->coll == COST_ALL_REDUCE && cost_is_push(t->form))
        return form_seconds(t, COST_ALL_GATHER, t->form, NULL, bytes);
    if (t->coll == COST_ALL_REDUCE) return form_seconds(t, t->coll, t->form, NULL, bytes);
    return form_seconds(t, COST_ALL_GATHER, t->form, even, t->n * bytes) / (t->n - 1);
}

static double slowest(team *t)
{
    double most = 0;
    for (int r = 0; r < t->n; r++)
        most = fmax(most, product(t, t->kind[r], t->s.m));
    return most;
}

// By the cheapest form.
static double collective(team *t)
{
    double transfer = (double)INFINITY;
    for (cost_form f = 0; f < COST_N_FORMS; f++)
        if (cost_form_exists(t->coll, f) && f != COST_TWO_LEVEL)
            transfer =
                fmin(transfer, form_seconds(t, t->coll, f, t->rows, t->row_bytes * (double)t->s.m));
    return transfer;
}

// What costmodel/overlap.h is asked about, in the team's form.
typedef struct question {
    cost_pair p;
    cost_contention beside[CL_MAX_CLASSES];
    double sums[COST_MAX_PAIR_RANKS];
    int64_t whole_rows[1];
} question;

static void ask(team *t, question *q)
{
    bool whole = t->coll == COST_ALL_REDUCE, gpu = false;
    double bytes = t->row_bytes * (double)t->s.m, launch = 0, gap = 0, flag = 0;
    int64_t largest = 1;
    int n_kinds = 0;
    *q = (question){.whole_rows = {t->s.m}};
    for (int r = 0; r < t->n; r++)
        n_kinds = t->kind[r] + 1 > n_kinds ? t->kind[r] + 1 : n_kinds;
    for (int k = 0; k < n_kinds; k++) {
        const cl_class *c = &t->model->cluster->cls[t->cls[t->rank_of[k]]];
        gpu = gpu || c->kind == CL_GPU;
        q->beside[k] = cost_pair_beside(c, t->form);
        launch = fmax(launch, cost_launch(t->model, t->cls[t->rank_of[k]]));
        gap = fmax(gap, c->pair_gap);
        flag = fmax(flag, c->pair_flag);
    }
    for (int r = 0; r < t->n; r++)
        largest = t->rows[r] > largest ? t->rows[r] : largest;
    double equal = t->row_bytes * (double)largest * t->n;
    if (whole) q->sums[0] = cost_op(t->model, t->cls[0], IR_OP_add, 0, (t->n + 1) * bytes / t->n);
    for (int r = 0; r < t->n && t->coll == COST_REDUCE_SCATTER; r++)
        q->sums[r] = fmax(0, form_seconds(t, COST_REDUCE_SCATTER, COST_PUSH, even, equal) -
                                 form_seconds(t, COST_ALL_GATHER, COST_PUSH, even, equal)) *
                     (double)t->rows[r] / (double)largest;
    q->p = (cost_pair){.consumer = t->ag,
                       .whole = whole,
                       .back = whole && cost_is_push(t->form),
                       .late = whole && !cost_is_push(t->form) && gpu,
                       .together = t->form == COST_PUSH_ALL,
                       .n = t->n,
                       .rows = whole ? q->whole_rows : t->rows,
                       .n_kinds = n_kinds,
                       .kind = t->kind,
                       .product = product,
                       .message = message,
                       .ctx = t,
                       .after = q->sums,
                       .beside = q->beside,
                       .gap = gap > 0 ? gap : launch,
                       .flag = flag > 0 ? flag : 3 * launch,
                       .doubt = launch};
}

static bool pairs_in(const team *t, cost_form f)
{
    return cost_form_exists(t->coll, f) &&
           (cost_is_push(f) || (t->coll == COST_ALL_REDUCE && f == COST_FLAT));
}

static void choose(team *t)
{
    int group[COST_MAX_GROUPS][2], best[COST_MAX_GROUPS][2], n_best = 0;
    double most = slowest(t), transfer = collective(t), alone = most + transfer, least = alone;
    cost_pair_time time = {0}, at = {0};
    cost_form form = COST_PUSH;
    question q;
    for (t->form = 0; t->form < COST_N_FORMS; t->form++) {
        if (!pairs_in(t, t->form)) continue;
        ask(t, &q);
        int n = cost_pair_search(&q.p, COST_MAX_GROUPS, group, &time);
        cl_kind on = t->model->cluster->cls[t->cls[0]].kind;
        if (n == 0 || time.total >= least) continue;
        if (!cost_pair_pays(&q.p, on, time.total, cost_pair_products(group, n), most, transfer))
            continue;
        least = time.total;
        at = time;
        form = t->form;
        n_best = n;
        memcpy(best, group, sizeof best);
    }
    printf("%s %s %s", t->s.kind, t->s.name, n_best ? cost_form_name(form) : "sequential");
    for (int i = 0; i < n_best; i++) {
        printf(" %d", best[i][0]);
        if (best[i][1] != 1) printf("*%d", best[i][1]);
    }
    printf(" # %.3f %.3f %.3f %.3f\n", 1e3 * least, 1e3 * alone,
           1e3 * product(t, t->kind[0], t->s.m), 1e3 * at.transfer);
}

// Of every line of the file that names the shape.
static void price(team *t, const char *path)
{
    FILE *f = fopen(path, "r");
    for (char line[512], kind[4], name[64], form[16]; f && fgets(line, sizeof line, f);) {
        int group[COST_MAX_GROUPS][2], n = 0, used = 0;
        if (sscanf(line, "%3s %63s %15s%n", kind, name, form, &used) != 3 ||
            strcmp(kind, t->s.kind) != 0 || strcmp(name, t->s.name) != 0)
            continue;
        const char *at = line + used;
        for (int d; n < COST_MAX_GROUPS && sscanf(at, "%d%n", &d, &used) == 1; n++) {
            at += used;
            group[n][0] = d;
            group[n][1] = 1;
            if (sscanf(at, "*%d%n", &group[n][1], &used) == 1) at += used;
        }
        line[strcspn(line, "#\n")] = 0;
        for (t->form = 0; t->form < COST_N_FORMS; t->form++) {
            question q;
            cost_pair_time time;
            if (!pairs_in(t, t->form) || strcmp(form, cost_form_name(t->form)) != 0) continue;
            if (n == 0) continue;
            ask(t, &q);
            printf("%s # %.4f\n", line, 1e3 * cost_pair_seconds(&q.p, group, n, &time));
        }
        if (strcmp(form, "sequential") == 0)
            printf("%s # %.4f\n", line, 1e3 * (slowest(t) + collective(t)));
    }
    if (f) fclose(f);
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
    bool uneven = false, usage = argc < 3;
    const char *prices = NULL;
    for (int i = 3; i < argc; i++) {
        bool cuts = strcmp(argv[i], "--cut") == 0;
        if (cuts)
            uneven = true;
        else if (strcmp(argv[i], "--price") == 0 && i + 1 < argc)
            prices = argv[++i];
        else
            usage = true;
    }
    if (usage) {
        fprintf(stderr, "usage: pair_groups CLUSTER.yaml SHAPES [--cut] [--price GROUPS]\n");
        return 2;
    }
    cl_cluster *c = cl_read(a, argv[1], devices ? devices : "clusters/devices.yaml", d);
    cost_curves *curves = c && c->curves.n ? cost_curves_read(a, c->curves.p, d) : NULL;
    FILE *f = fopen(argv[2], "r");
    if (!c || !f || hb_diag_count(d) || c->n_ranks > COST_MAX_PAIR_RANKS) {
        hb_diag_print(d, stderr);
        return 1;
    }
    if (curves) cost_apply_curves(curves, c);
    cost_model model = {.cluster = c, .curves = curves, .math = COST_BF16};
    team t = {.model = &model, .n = c->n_ranks};
    int ranks[COST_MAX_PAIR_RANKS];
    double weight[COST_MAX_PAIR_RANKS];
    for (int r = 0; r < t.n; r++) {
        int cls = t.cls[r] = c->class_of[r];
        ranks[r] = r;
        t.kind[r] = cls;
        t.rank_of[cls] = r;
        weight[r] = uneven ? c->cls[cls].bf16 : 1;
        cost_memory_add(&t.memory, &c->cls[cls]);
        memset(t.memory.skew, 0, sizeof t.memory.skew); // in loops of their own
    }
    t.link = cl_group_link(c, ranks, t.n, 1);
    for (char line[256], on[32]; fgets(line, sizeof line, f);) {
        shape *s = &t.s;
        if (line[0] == '#' || sscanf(line, "%3s %lld %lld %lld %31s %63s", s->kind, &s->m, &s->n,
                                     &s->k, on, s->name) != 6)
            continue;
        hb_str want = hb_fmt(a, "%d", t.n);
        if (t.n > 3 && !strstr(on, want.p)) continue;
        t.ag = s->kind[1] == 'G';
        t.coll = t.ag ? COST_ALL_GATHER : s->kind[1] == 'R' ? COST_ALL_REDUCE : COST_REDUCE_SCATTER;
        t.row_bytes = 2 * (double)(t.ag ? s->k : s->n);
        cut(t.n, t.rows, s->m, 1, weight);
        cut(t.n, t.inner, t.ag ? s->n : s->k, 64, weight);
        if (prices)
            price(&t, prices);
        else
            choose(&t);
    }
    fclose(f);
    hb_arena_free(a);
    return 0;
}
