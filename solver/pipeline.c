#include "solver/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Of one option: sums of what all layers before a layer take.
typedef struct sums {
    // work: forward and backward; path: forward, and backward until its gradient can be sent
    double *forward, *work, *path, *ends, *held, *place;
} sums;

typedef struct pipeline {
    hb_arena *a;
    const pl_problem *p;
    sums *sum;    // by option
    int n_widths; // different ways that messages to and from options take
    int *width;   // by option: which
    const pl_option **of_width;
    HB_VEC(double) tau; // that plans can have, ascending, within the gap
    double least_fill;
    int n_best;
    pl_plan *best; // so many, on different units, ascending
    int n_tried;
    bool too_large;
    bool any; // the first plan found is enough
} pipeline;

static bool enough(const pipeline *x)
{
    return x->too_large || (x->any && x->best->n > 0);
}

// Seconds that a plan must beat.
static double worth(const pipeline *x)
{
    const pl_plan *last = &x->best[x->n_best - 1];
    return last->n > 0 ? last->sec * (1 - x->p->gap / PL_GAPS) : last->sec;
}

// --- costs ---

static double *sums_of(hb_arena *a, int n, const double *x, const double *y)
{
    double *s = HB_ARRAY(a, double, n + 1);
    for (int i = 0; i < n; i++)
        s[i + 1] = s[i] + x[i] + (y ? y[i] : 0);
    return s;
}

static bool same_links(const pl_option *x, const pl_option *y)
{
    if (x->width != y->width || x->machine != y->machine) return false;
    return x->machine < 0 || (x->inside == y->inside && x->inside_latency == y->inside_latency);
}

static void set_widths(pipeline *x)
{
    x->width = HB_ARRAY(x->a, int, x->p->n_options + 1);
    x->of_width = HB_ARRAY(x->a, const pl_option *, x->p->n_options + 1);
    for (int o = 0; o < x->p->n_options; o++) {
        int w = 0;
        while (w < x->n_widths && !same_links(x->of_width[w], &x->p->option[o]))
            w++;
        if (w == x->n_widths) x->of_width[x->n_widths++] = &x->p->option[o];
        x->width[o] = w;
    }
}

// Of a message between layer `at` and the one before, over links of so many bytes/s.
static double over(const pl_problem *p, int at, double latency, double width)
{
    return latency + (isinf(width) || p->border[at] <= 0 ? 0 : p->border[at] / width);
}

// Between two options.
static double link_sec(const pl_problem *p, int at, const pl_option *one, const pl_option *other)
{
    if (one->machine >= 0 && one->machine == other->machine)
        return over(p, at, fmax(one->inside_latency, other->inside_latency),
                    fmin(one->inside, other->inside));
    return over(p, at, p->latency, fmin(one->width, other->width));
}

static double work_of(const pipeline *x, int o, int from, int to)
{
    return x->sum[o].work[to] - x->sum[o].work[from];
}

// Until its gradient can be sent.
static double path_of(const pipeline *x, int o, int from, int to)
{
    return x->sum[o].path[to] - x->sum[o].path[from];
}

// Of its backward half behind that.
static double behind_of(const pipeline *x, int o, int from, int to)
{
    return fmax(work_of(x, o, from, to) - path_of(x, o, from, to), 0);
}

static bool within(double sec, double tau)
{
    return sec <= tau * (1 + PL_SAME_TIME);
}

// path: of the stage and those behind it; work, behind: of the stage. What it has no time for
// behind its messages at this pace is put off.
static int under_way(const pl_problem *p, double path, double work, double behind, double tau)
{
    if (p->rounds < 2) return 1;
    if (path + behind >= tau * p->rounds) return p->rounds;
    double n = tau > 0 ? ceil((path + behind) / tau * (1 - PL_SAME_TIME)) : p->rounds;
    if (!within(work, tau)) n += ceil(p->rounds * (work - tau) / behind * (1 - PL_SAME_TIME));
    return n < 1 ? 1 : n > p->rounds ? p->rounds : (int)n;
}

// Behind the first micro-batch at a pace, from when it comes to the stage.
static double fill_of(const pl_problem *p, double path, double work, double behind, double tau)
{
    return fmax(path + behind, p->rounds * work - (p->rounds - 1) * tau);
}

static bool fits(const pipeline *x, int o, int from, int to, int places)
{
    const sums *s = &x->sum[o];
    return s->held[to] - s->held[from] + places * (s->place[to] - s->place[from]) <=
           x->p->option[o].room;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static void set_taus(pipeline *x)
{
    const pl_problem *p = x->p;
    for (int o = 0; o < p->n_options; o++)
        for (int i = 0; i < p->n_layers; i++)
            for (int j = i + 1; j <= p->n_layers; j++)
                for (int late = 0; late <= (behind_of(x, o, i, j) > 0); late++)
                    HB_PUSH(x->a, &x->tau, late ? path_of(x, o, i, j) : work_of(x, o, i, j));
    for (int i = 1; i < p->n_layers; i++)
        for (int w = 0; w < x->n_widths; w++)
            for (int v = 0; v <= w; v++)
                HB_PUSH(x->a, &x->tau, link_sec(p, i, x->of_width[v], x->of_width[w]));
    qsort(x->tau.p, (size_t)x->tau.n, sizeof(double), ascending);
    int n = 0;
    double least = -INFINITY; // of those that the last of them stands for
    for (int i = 0; i < x->tau.n; i++) {
        if (x->tau.p[i] > least * (1 + fmax(p->gap / PL_GAPS, PL_SAME_TIME))) {
            least = x->tau.p[i];
            n++;
        }
        x->tau.p[n - 1] = x->tau.p[i];
    }
    x->tau.n = n;
}

// No plan takes less behind the first micro-batch.
static double least_fill(const pipeline *x)
{
    double all = 0, ends = INFINITY;
    for (int o = 0; o < x->p->n_options; o++)
        ends = fmin(ends, x->p->option[o].ends[0]);
    for (int i = 0; i < x->p->n_layers; i++) {
        double least = INFINITY;
        for (int o = 0; o < x->p->n_options; o++)
            least = fmin(least, i > 0 ? path_of(x, o, i, i + 1) : work_of(x, o, i, i + 1));
        all += least;
    }
    return all + ends;
}

static pipeline *open_table(hb_arena *a, const pl_problem *p)
{
    pipeline *x = HB_NEW(a, pipeline);
    *x = (pipeline){.a = a, .p = p};
    x->sum = HB_ARRAY(a, sums, p->n_options + 1);
    for (int o = 0; o < p->n_options; o++) {
        const pl_option *v = &p->option[o];
        x->sum[o] = (sums){sums_of(a, p->n_layers, v->forward, NULL),
                           sums_of(a, p->n_layers, v->forward, v->backward),
                           sums_of(a, p->n_layers, v->forward, v->sent),
                           sums_of(a, p->n_layers, v->ends, NULL),
                           sums_of(a, p->n_layers, v->held, NULL),
                           sums_of(a, p->n_layers, v->place, NULL)};
    }
    set_widths(x);
    set_taus(x);
    x->least_fill = least_fill(x);
    return x;
}

// --- a given plan ---

// Of the message behind stage s.
static double link_behind(const pipeline *x, const pl_plan *plan, int s)
{
    if (s + 1 >= plan->n) return 0;
    const pl_stage *g = &plan->stage[s], *h = &plan->stage[s + 1];
    return link_sec(x->p, h->first, &x->p->option[g->option], &x->p->option[h->option]);
}

// The pace of its slowest stage or message.
static double bottleneck(const pipeline *x, const pl_plan *plan)
{
    double tau = 0;
    for (int s = 0; s < plan->n; s++) {
        const pl_stage *g = &plan->stage[s];
        double path = path_of(x, g->option, g->first, g->first + g->n_layers);
        tau = fmax(tau, fmax(path, link_behind(x, plan, s)));
    }
    return tau;
}

// Sets seconds and what is under way at a pace. False if it does not fit.
static bool set_pace(const pipeline *x, pl_plan *plan, double tau)
{
    double path = 0, fill = 0;
    for (int s = plan->n - 1; s >= 0; s--) {
        pl_stage *g = &plan->stage[s];
        int to = g->first + g->n_layers;
        const sums *c = &x->sum[g->option];
        double work = work_of(x, g->option, g->first, to),
               behind = behind_of(x, g->option, g->first, to), link = link_behind(x, plan, s);
        path += path_of(x, g->option, g->first, to) + 2 * link;
        fill = fmax(fill_of(x->p, path, work, behind, tau) + c->ends[to] - c->ends[g->first],
                    s + 1 < plan->n ? c->forward[to] - c->forward[g->first] + link + fill : 0);
        g->under_way = under_way(x->p, path, work, behind, tau);
        if (!fits(x, g->option, g->first, to, g->under_way)) return false;
    }
    plan->tau = tau;
    plan->sec = (x->p->rounds - 1) * tau + fill;
    return true;
}

double pl_value(const pl_problem *p, pl_plan *plan)
{
    hb_arena *a = hb_arena_new();
    pipeline *x = open_table(a, p);
    double least = bottleneck(x, plan);
    bool ok = set_pace(x, plan, least);
    for (int i = 0; i < x->tau.n && !ok; i++)
        ok = within(least, x->tau.p[i]) && set_pace(x, plan, x->tau.p[i]);
    hb_arena_free(a);
    return ok ? plan->sec : (double)INFINITY;
}

// --- the dynamic program of one bottleneck ---

typedef struct entry { // a way to have the last layers on some units
    double path, fill;
    int next, later; // in the state; the entry that its first stage was put before. 0: none
    int option, n_layers, n;
    bool beaten; // by one that has the same layers on fewer of the units
} entry;

// Seconds that the layers before one add to a fill and to a path at least.
typedef struct before {
    double forward, path;
} before;

typedef struct chart {
    hb_arena *a;
    const pipeline *x;
    double tau, limit;         // seconds: of the pace, of a fill that is of use
    double slack;              // seconds of a fill, as a stage: that the gap allows
    int *radix, *unit, *scale; // by kind: values of a digit; what it counts; its place value
    int n_sets, n_open;
    int *open;                        // options that have any layer in time
    int *place;                       // by these: what taking their units adds to a set
    double *rest_forward, *rest_path; // by layer: least of all layers before it
    // By micro-batches under way, by kind: most layers that a unit may take. NULL: not yet known.
    double **reach;
    // By kind: what a layer there takes above the least, messages too; kinds, ascending by that.
    double *more_forward, *more_path;
    int *by_forward, *by_path;
    // Of the set that stages are put on: units outside it, by kind; what these take, by layer.
    int *left;
    before *least;
    double *layers;      // by micro-batches under way: most layers that they may take
    int *known, n_known; // of which set, counted, that is known
    int *head;           // by state: its entries
    bool *any;           // by set: has it a state with entries
    HB_VEC(entry) entries;
} chart;

static bool has_a_layer(const pipeline *x, int o, double tau)
{
    for (int i = 0; i < x->p->n_layers; i++)
        if (within(path_of(x, o, i, i + 1), tau)) return true;
    return false;
}

static int gcd(int a, int b)
{
    return b == 0 ? a : gcd(b, a % b);
}

// Sets of units as numbers: of each kind, how many parts that options take. False if too many, or
// if plans might have too many stages.
static bool number_sets(chart *c)
{
    const pl_problem *p = c->x->p;
    int same = -1, least = INT32_MAX, all = 0;
    bool alike = true;
    for (int i = 0; i < c->n_open; i++) {
        int n = 0;
        for (int k = 0; k < p->n_kinds; k++) {
            n += p->option[c->open[i]].take[k];
            c->unit[k] = gcd(c->unit[k], p->option[c->open[i]].take[k]);
        }
        alike = alike && (same < 0 || same == n);
        same = n;
        least = n < least ? n : least;
    }
    double sets = 1;
    for (int k = 0; k < p->n_kinds; k++) {
        c->radix[k] = c->unit[k] > 0 ? p->count[k] / c->unit[k] + 1 : 1;
        all += p->count[k];
        c->scale[k] = (int)sets;
        sets *= c->radix[k];
        if (sets * (p->n_layers + 1) * c->x->n_widths > PL_MAX_CELLS) return false;
    }
    c->n_sets = (int)sets;
    int most = all / least < p->n_layers ? all / least : p->n_layers;
    return alike || most <= p->most_stages;
}

static double least_of(const chart *c, int layer, bool forward)
{
    double least = INFINITY;
    for (int i = 0; i < c->n_open; i++) {
        const sums *s = &c->x->sum[c->open[i]];
        const double *v = forward ? s->forward : s->path;
        if (within(s->path[layer + 1] - s->path[layer], c->tau))
            least = fmin(least, v[layer + 1] - v[layer]);
    }
    return least;
}

// The least that a layer of an option takes more than on the fastest one.
static double least_more(const chart *c, int option, const double *sum, const double *rest)
{
    double least = INFINITY;
    for (int l = 0; l < c->x->p->n_layers; l++)
        if (within(path_of(c->x, option, l, l + 1), c->tau))
            least = fmin(least, sum[l + 1] - sum[l] - (rest[l + 1] - rest[l]));
    return fmax(least, 0);
}

// Of a message that an option sends or gets.
static double least_link(const chart *c, int option)
{
    const pl_problem *p = c->x->p;
    const pl_option *o = &p->option[option];
    double least = INFINITY;
    for (int l = 1; l < p->n_layers; l++) {
        least = fmin(least, over(p, l, p->latency, o->width));
        if (o->machine >= 0) least = fmin(least, over(p, l, o->inside_latency, o->inside));
    }
    return isfinite(least) ? least : 0;
}

static void sort_kinds(int n, const double *by, int *kind)
{
    for (int k = 0; k < n; k++) {
        int at = k;
        for (; at > 0 && by[kind[at - 1]] > by[k]; at--)
            kind[at] = kind[at - 1];
        kind[at] = k;
    }
}

// Most layers of a stage of an option, where those behind it take this path.
static int longest(const chart *c, int option, double behind)
{
    const pipeline *x = c->x;
    const double *ends = x->sum[option].ends;
    int most = 0;
    for (int from = 0, to = 0; to <= x->p->n_layers; to++) {
        for (; from < to; from++) {
            double path = path_of(x, option, from, to);
            if (!within(path, c->tau)) continue;
            double work = work_of(x, option, from, to), later = behind_of(x, option, from, to),
                   fill = fill_of(x->p, behind + path, work, later, c->tau);
            if (fill + ends[to] - ends[from] + c->rest_forward[from] >= c->limit) continue;
            if (fits(x, option, from, to, under_way(x->p, behind + path, work, later, c->tau)))
                break;
        }
        most = to - from > most ? to - from : most;
    }
    return most;
}

// By kind: a unit takes no more than its share of the longest stage that it may have, ahead of so
// many micro-batches under way.
static const double *reach_at(chart *c, int places)
{
    const pl_problem *p = c->x->p;
    if (c->reach[places]) return c->reach[places];
    double *reach = c->reach[places] = HB_ARRAY(c->a, double, p->n_kinds + 1);
    for (int i = 0; i < c->n_open; i++) {
        const pl_option *o = &p->option[c->open[i]];
        int most = longest(c, c->open[i], (places - 1) * c->tau), units = 0;
        for (int k = 0; k < p->n_kinds; k++)
            units += o->take[k];
        for (int k = 0; k < p->n_kinds; k++)
            if (o->take[k] > 0) reach[k] = fmax(reach[k], (double)most / units);
    }
    return reach;
}

// Layers that the units outside a set may take at most, ahead of what has this path.
static double layers_before(chart *c, double path)
{
    int places = under_way(c->x->p, path, 0, 0, c->tau);
    if (c->known[places] == c->n_known) return c->layers[places];
    c->known[places] = c->n_known;
    const double *reach = reach_at(c, places);
    double most = PL_SAME_TIME;
    for (int k = 0; k < c->x->p->n_kinds; k++)
        most += c->left[k] * reach[k];
    return c->layers[places] = most;
}

// What a layer on a kind takes at least above the least of all options; its share of the message
// that the longest stage sends included.
static void set_more(chart *c)
{
    const pl_problem *p = c->x->p;
    for (int k = 0; k < p->n_kinds; k++)
        c->more_forward[k] = c->more_path[k] = INFINITY;
    for (int i = 0; i < c->n_open; i++) {
        const sums *s = &c->x->sum[c->open[i]];
        int most = longest(c, c->open[i], 0);
        if (most == 0) continue;
        double link = least_link(c, c->open[i]) / most,
               forward = least_more(c, c->open[i], s->forward, c->rest_forward) + link,
               path = least_more(c, c->open[i], s->path, c->rest_path) + 2 * link;
        for (int k = 0; k < p->n_kinds; k++) {
            if (p->option[c->open[i]].take[k] == 0) continue;
            c->more_forward[k] = fmin(c->more_forward[k], forward);
            c->more_path[k] = fmin(c->more_path[k], path);
        }
    }
    sort_kinds(p->n_kinds, c->more_forward, c->by_forward);
    sort_kinds(p->n_kinds, c->more_path, c->by_path);
}

// What so many layers take at least above the least, on units outside a set.
static double more_of(const chart *c, int layers, const double *more, const int *kind)
{
    const double *reach = c->reach[1];
    double sec = 0, n = layers;
    for (int k = 0; k < c->x->p->n_kinds && n > 0; k++) {
        double here = fmin(n, c->left[kind[k]] * reach[kind[k]]);
        if (here > 0) sec += here * more[kind[k]];
        n -= here;
    }
    return sec;
}

static bool open_chart(chart *c, const pipeline *x, double tau, double limit)
{
    const pl_problem *p = x->p;
    int most = p->n_layers < p->most_stages ? p->n_layers : p->most_stages;
    *c = (chart){.a = hb_arena_new(), .x = x, .tau = tau, .limit = limit};
    c->slack = p->gap / PL_GAPS * (p->rounds - 1) * tau / most;
    c->open = HB_ARRAY(c->a, int, p->n_options + 1);
    c->place = HB_ARRAY(c->a, int, p->n_options + 1);
    c->radix = HB_ARRAY(c->a, int, p->n_kinds + 1);
    c->unit = HB_ARRAY(c->a, int, p->n_kinds + 1);
    c->scale = HB_ARRAY(c->a, int, p->n_kinds + 1);
    c->reach = HB_ARRAY(c->a, double *, p->rounds + 1);
    c->more_forward = HB_ARRAY(c->a, double, p->n_kinds + 1);
    c->more_path = HB_ARRAY(c->a, double, p->n_kinds + 1);
    c->left = HB_ARRAY(c->a, int, p->n_kinds + 1);
    c->least = HB_ARRAY(c->a, before, p->n_layers + 1);
    c->layers = HB_ARRAY(c->a, double, p->rounds + 1);
    c->known = HB_ARRAY(c->a, int, p->rounds + 1);
    c->by_forward = HB_ARRAY(c->a, int, p->n_kinds + 1);
    c->by_path = HB_ARRAY(c->a, int, p->n_kinds + 1);
    c->rest_forward = HB_ARRAY(c->a, double, p->n_layers + 1);
    c->rest_path = HB_ARRAY(c->a, double, p->n_layers + 1);
    for (int o = 0; o < p->n_options; o++)
        if (has_a_layer(x, o, tau)) c->open[c->n_open++] = o;
    if (c->n_open == 0 || !number_sets(c)) return c->n_open == 0;
    for (int i = 0; i < c->n_open; i++)
        for (int k = 0; k < p->n_kinds && c->unit[k] >= 0; k++)
            if (c->unit[k] > 0)
                c->place[i] += p->option[c->open[i]].take[k] / c->unit[k] * c->scale[k];
    for (int l = 0; l < p->n_layers; l++) {
        c->rest_forward[l + 1] = c->rest_forward[l] + least_of(c, l, true);
        c->rest_path[l + 1] = c->rest_path[l] + least_of(c, l, false);
    }
    set_more(c);
    return true;
}

static bool takes(const chart *c, int set, int option)
{
    const pl_problem *p = c->x->p;
    for (int k = 0; k < p->n_kinds; k++) {
        int used = set / c->scale[k] % c->radix[k] * c->unit[k];
        if (used + p->option[option].take[k] > p->count[k]) return false;
    }
    return true;
}

// An entry of a state that others may beat.
static void add_entry(chart *c, int state, const entry *e)
{
    for (int i = c->head[state]; i > 0; i = c->entries.p[i].next)
        if (c->entries.p[i].path <= e->path && c->entries.p[i].fill <= e->fill + c->slack) return;
    int *link = &c->head[state];
    while (*link > 0) {
        entry *other = &c->entries.p[*link];
        if (e->path <= other->path && e->fill <= other->fill)
            *link = other->next;
        else
            link = &other->next;
    }
    int next = c->head[state];
    c->head[state] = c->entries.n;
    HB_PUSH(c->a, &c->entries, *e);
    c->entries.p[c->entries.n - 1].next = next;
}

// Puts stages of an option before what an entry has, which begins with layer `to`; set: with the
// option's units; rest: the most layers that units outside it may take.
static void put_before(chart *c, int later, int to, int option, int set, int rest)
{
    const pipeline *x = c->x;
    const pl_problem *p = x->p;
    const entry e = c->entries.p[later];
    const sums *s = &x->sum[option];
    double link = e.n > 0 ? link_sec(p, to, &p->option[option], &p->option[e.option]) : 0,
           limit = worth(x) - (p->rounds - 1) * c->tau;
    if (!within(link, c->tau)) return;
    for (int from = rest < to - 1 ? rest : to - 1; from >= 0; from--) {
        double path = s->path[to] - s->path[from], whole = e.path + path + 2 * link;
        if (!within(path, c->tau) || whole + c->rest_path[from] >= limit) break;
        if (to - from == p->n_layers && p->least_stages > 1) break;
        if (whole + c->least[from].path >= limit || from > layers_before(c, whole)) continue;
        double work = s->work[to] - s->work[from], behind = behind_of(x, option, from, to);
        entry n = {
            .path = whole, .later = later, .option = option, .n_layers = to - from, .n = e.n + 1};
        n.fill = fmax(fill_of(p, n.path, work, behind, c->tau) + s->ends[to] - s->ends[from],
                      e.n > 0 ? s->forward[to] - s->forward[from] + link + e.fill : 0);
        if (n.fill + c->rest_forward[from] >= limit) break;
        if (n.fill + c->least[from].forward >= limit) continue;
        if (!fits(x, option, from, to, under_way(p, n.path, work, behind, c->tau))) break;
        c->any[set] = true;
        add_entry(
            c, (set * (p->n_layers + 1) + p->n_layers - from) * x->n_widths + x->width[option], &n);
    }
}

// Fills what is of a set; returns the most layers that units outside it may take.
static int set_before(chart *c, int set)
{
    const pl_problem *p = c->x->p;
    for (int k = 0; k < p->n_kinds; k++)
        c->left[k] = p->count[k] - set / c->scale[k] % c->radix[k] * c->unit[k];
    c->n_known++;
    double most = layers_before(c, 0);
    int rest = most < p->n_layers ? (int)most : p->n_layers;
    for (int l = 0; l <= rest; l++)
        c->least[l] = (before){c->rest_forward[l] + more_of(c, l, c->more_forward, c->by_forward),
                               c->rest_path[l] + more_of(c, l, c->more_path, c->by_path)};
    return rest;
}

static bool is_beaten(const chart *c, const entry *e, int state)
{
    for (int i = c->head[state]; i > 0; i = c->entries.p[i].next)
        if (c->entries.p[i].path <= e->path && c->entries.p[i].fill <= e->fill) return true;
    return false;
}

// Where the best plan is all that is asked for, what needs a unit more and is no better leads
// nowhere. A set of fewer units has a smaller number, so it is complete.
static void mark_beaten(chart *c, int set)
{
    int n = (c->x->p->n_layers + 1) * c->x->n_widths;
    for (int k = 0; k < c->x->p->n_kinds && c->any[set]; k++) {
        int smaller = set - c->scale[k];
        if (set / c->scale[k] % c->radix[k] == 0 || !c->any[smaller]) continue;
        for (int s = 0; s < n; s++)
            for (int e = c->head[set * n + s]; e > 0; e = c->entries.p[e].next) {
                entry *v = &c->entries.p[e];
                v->beaten = v->beaten || is_beaten(c, v, smaller * n + s);
            }
    }
}

static void walk_set(chart *c, int set)
{
    const pl_problem *p = c->x->p;
    if (c->x->n_best == 1) mark_beaten(c, set);
    for (int i = 0; i < c->n_open && c->any[set]; i++) {
        if (!takes(c, set, c->open[i])) continue;
        int rest = set_before(c, set + c->place[i]);
        for (int done = 0; done < p->n_layers; done++)
            for (int w = 0; w < c->x->n_widths; w++) {
                int state = (set * (p->n_layers + 1) + done) * c->x->n_widths + w;
                for (int e = c->head[state]; e > 0; e = c->entries.p[e].next)
                    if (c->entries.p[e].n < p->most_stages && !c->entries.p[e].beaten)
                        put_before(c, e, p->n_layers - done, c->open[i], set + c->place[i], rest);
            }
    }
}

static void read_plan(const chart *c, int e, pl_plan *out)
{
    int first = 0;
    out->n = 0;
    for (; c->entries.p[e].n > 0; e = c->entries.p[e].later) {
        const entry *v = &c->entries.p[e];
        out->stage[out->n++] = (pl_stage){v->option, first, v->n_layers, 0};
        first += v->n_layers;
    }
}

// The entry of all layers on a set of units with the least fill, 0: none.
static int best_entry(const chart *c, int set)
{
    int n_widths = c->x->n_widths, layers = c->x->p->n_layers, found = 0;
    for (int w = 0; w < n_widths && c->any[set]; w++)
        for (int e = c->head[(set * (layers + 1) + layers) * n_widths + w]; e > 0;
             e = c->entries.p[e].next)
            if (!found || c->entries.p[e].fill < c->entries.p[found].fill) found = e;
    return found;
}

static bool same_units(const pl_problem *p, const pl_plan *x, const pl_plan *y)
{
    for (int k = 0; k < p->n_kinds; k++) {
        int more = 0;
        for (int s = 0; s < x->n; s++)
            more += p->option[x->stage[s].option].take[k];
        for (int s = 0; s < y->n; s++)
            more -= p->option[y->stage[s].option].take[k];
        if (more != 0) return false;
    }
    return true;
}

// Puts a plan among the best ones, if it is better than the last of them.
static void keep(pipeline *x, const pl_plan *plan)
{
    int at = 0, out = 0; // the place of the one that it replaces
    while (out < x->n_best - 1 && x->best[out].n > 0 && !same_units(x->p, plan, &x->best[out]))
        out++;
    if (plan->sec >= x->best[out].sec) return;
    while (at < out && x->best[at].sec <= plan->sec)
        at++;
    memmove(&x->best[at + 1], &x->best[at], sizeof *plan * (size_t)(out - at));
    x->best[at] = *plan;
}

// The best plans with no slower pace than tau, if they are better than the best ones known.
// Returns what fill all such plans have at least.
static double solve(pipeline *x, double tau)
{
    const pl_problem *p = x->p;
    chart c;
    double limit = worth(x) - (p->rounds - 1) * tau, fill = INFINITY;
    bool ok = open_chart(&c, x, tau, limit);
    x->n_tried++;
    x->too_large = x->too_large || !ok;
    if (ok && c.n_open > 0 && limit > 0) {
        c.head = HB_ARRAY(c.a, int, (size_t)c.n_sets *(size_t)((p->n_layers + 1) * x->n_widths));
        HB_PUSH(c.a, &c.entries, (entry){0}); // none
        HB_PUSH(c.a, &c.entries, (entry){0}); // no layer yet
        c.head[0] = 1;
        c.any = HB_ARRAY(c.a, bool, c.n_sets);
        c.any[0] = true;
        for (int set = 0; set < c.n_sets && !enough(x); set++) {
            walk_set(&c, set);
            int e = best_entry(&c, set);
            if (e == 0) continue;
            fill = fmin(fill, c.entries.p[e].fill);
            pl_plan plan;
            read_plan(&c, e, &plan);
            if (!set_pace(x, &plan, bottleneck(x, &plan))) (void)set_pace(x, &plan, tau);
            keep(x, &plan);
        }
    }
    hb_arena_free(c.a);
    // What was left out has no less than what would be of use now.
    return fmax(fmin(fill, worth(x) - (p->rounds - 1) * tau), x->least_fill);
}

// --- every bottleneck ---

// Those from number lo to hi, all of which have at least this fill.
static void look(pipeline *x, int lo, int hi, double fill)
{
    if (lo > hi || enough(x) || (x->p->rounds - 1) * x->tau.p[lo] + fill >= worth(x)) return;
    int mid = lo + (hi - lo) / 2;
    double at = solve(x, x->tau.p[mid]);
    look(x, lo, mid - 1, fmax(at, fill));
    look(x, mid + 1, hi, fill);
}

// The last whose plans may be better than the best one known.
static int last_worth(const pipeline *x)
{
    int i = x->tau.n - 1;
    while (i >= 0 && (x->p->rounds - 1) * x->tau.p[i] + x->least_fill >= worth(x))
        i--;
    return i;
}

// Do stages cover all layers at this bottleneck, whatever they need besides units?
static bool covers(const pipeline *x, double tau)
{
    chart c;
    const pl_problem *p = x->p;
    bool ok = open_chart(&c, x, tau, INFINITY);
    if (!ok || c.n_open == 0) {
        hb_arena_free(c.a);
        return !ok;
    }
    int *most = HB_ARRAY(c.a, int, c.n_sets), best = 0;
    for (int set = 0; set < c.n_sets; set++)
        for (int i = 0; i < c.n_open; i++) {
            if (!takes(&c, set, c.open[i])) continue;
            int to = p->n_layers - most[set], from = to;
            while (from > 0 && within(path_of(x, c.open[i], from - 1, to), tau))
                from--;
            int *v = &most[set + c.place[i]];
            if (p->n_layers - from > *v) *v = p->n_layers - from;
            best = *v > best ? *v : best;
        }
    hb_arena_free(c.a);
    return best == p->n_layers;
}

static int first_cover(const pipeline *x)
{
    int lo = 0, hi = x->tau.n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (covers(x, x->tau.p[mid]))
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

// Some, further and further apart, until there is a plan to compare with; then all between them.
static void look_at_all(pipeline *x, int first)
{
    int at[PL_MAX_TRIES + 1] = {first - 1}, n = 1;
    double fill[PL_MAX_TRIES + 1];
    for (int i = first, step = 1; n < PL_MAX_TRIES && i <= last_worth(x) && !x->too_large;
         i += step, step *= 2) {
        at[n] = i;
        fill[n++] = solve(x, x->tau.p[i]);
        if (x->best[x->n_best - 1].n > 0) break;
    }
    for (int k = n - 1; k > 0; k--)
        look(x, at[k - 1] + 1, at[k] - 1, fill[k]);
    int last = last_worth(x);
    if (last <= at[n - 1] || enough(x)) return;
    double least = solve(x, x->tau.p[last]);
    look(x, at[n - 1] + 1, last - 1, least);
}

static void search(pipeline *x, double less, int n, pl_plan *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (pl_plan){.sec = less};
    x->n_best = n;
    x->best = out;
    look_at_all(x, x->p->rounds > 1 ? first_cover(x) : x->tau.n - 1);
}

pl_status pl_search(const pl_problem *p, double less, int n, pl_plan *out)
{
    hb_arena *a = hb_arena_new();
    pipeline *x = open_table(a, p);
    search(x, less, n, out);
    bool large = x->too_large;
    for (int i = 0; i < n; i++)
        out[i].n_tried = x->n_tried;
    hb_arena_free(a);
    return large ? PL_TOO_LARGE : out->n > 0 ? PL_OK : PL_NONE;
}

bool pl_any(const pl_problem *p, double less)
{
    pl_plan plan;
    hb_arena *a = hb_arena_new();
    pipeline *x = open_table(a, p);
    x->any = true;
    search(x, less, 1, &plan);
    bool any = plan.n > 0 && !x->too_large;
    hb_arena_free(a);
    return any;
}
