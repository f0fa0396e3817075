// Pairs of a product and a collective as programs of hapc run them: each alone, one after the
// other, and in groups. One process a rank:
//
//     mpirun -n W overlap-bench-cuda SHAPES [--groups FILE] [--cut A,B,…] [--sms A,B,…] [--lists N]
//                                    [--scale K] [--seconds S] [--only AG] [--rounds N]
//
// FILE has the planner's groups by name of the shape (bench/pair_groups); --cut, shares of rows and
// of columns (AG) or inner entries (RS, AR) by rank; --scale divides sizes. Each method is a case
// of the measuring program (runtime/profile): a step of several repeats on tensors that follow each
// other in memory, warmed up, then timed over some steps, the step's own overhead taken off. Rounds
// go through all methods in an order drawn at random, so that none of them finds the devices cooler
// than another. A sample is the slowest rank's. Operands are normal numbers that no two ranks
// share; results are poisoned and every element compared with what the sequence makes. Prints a
// line of JSON a method.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "profile/profile.h"

enum {
    MOST_RANKS = 16,
    MOST_GROUPS = 64,
    MOST_METHODS = 24,
    MOST_SAMPLES = 256,
    STEPS = 5, // timed, a round
    QUANTILES = 4096
};

typedef struct shape {
    char kind[4], name[64];
    int64_t m, n, k;
} shape;

typedef struct group_list {
    int n;
    int64_t group[MOST_GROUPS][2];
    char text[256];
} group_list;

typedef enum { MATMUL, COLLECTIVE, SEQUENCE, PAIR } what;
typedef struct method {
    what what;
    const char *by; // planner, tried
    hap_form form;
    group_list list;
    int n_samples;
    double ms[MOST_SAMPLES];
    int64_t wrong;
    bool fits;
} method;

typedef struct bench {
    profile p;
    hap_rank *r;
    shape s;
    bool ag, uneven;
    int64_t rows[MOST_RANKS], inner[MOST_RANKS]; // by rank: of the moved factor; of w's cut dim
    int repeats;
    method method[MOST_METHODS];
    int n_methods;
    hap_tensor *result; // of the case's first repeat
    uint16_t *reference;
    int64_t n_reference;
} bench;

typedef struct options {
    const char *shapes, *groups, *cut, *sms, *only;
    int lists, scale, rounds;
    double seconds;
} options;

// --- data ---

static uint64_t mix(uint64_t z) // finaliser of SplitMix64
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

// Normal numbers of a mean of 0 and a deviation of 1, by equally likely quantiles.
static void fill(bench *b)
{
    enum { BLOCK = 64 << 20 };
    static uint16_t quantile[QUANTILES];
    for (int i = 0; i < QUANTILES; i++) {
        double lo = -6, hi = 6, want = (i + 0.5) / QUANTILES;
        for (int k = 0; k < 40; k++) {
            double x = (lo + hi) / 2;
            *(0.5 * erfc(-x / sqrt(2)) < want ? &lo : &hi) = x;
        }
        float f = (float)lo;
        uint32_t word;
        memcpy(&word, &f, 4);
        quantile[i] = (uint16_t)((word + 0x8000u) >> 16);
    }
    for (int64_t at = 0, all = b->p.zone[PROFILE_IN]; at < all; at += BLOCK) {
        int64_t n = (all - at < BLOCK ? all - at : BLOCK) / 2;
        hap_tensor *t = hap_at(b->r, SEG_LOCAL, &at, HAP_BF16, 1, HAP_DIMS(WHOLE(n)));
        uint16_t *x = hap_backend_open(b->r, t, true);
        uint64_t seed = mix((uint64_t)at + ((uint64_t)b->r->id + 1) * 0x9E3779B97F4A7C15u);
        for (int64_t i = 0; i + 4 < n; i += 5) {
            uint64_t word = mix(seed + (uint64_t)i);
            for (int k = 0; k < 5; k++, word >>= 12)
                x[i + k] = quantile[word % QUANTILES];
        }
        for (int64_t i = n - n % 5; i < n; i++)
            x[i] = quantile[mix(seed + (uint64_t)i) % QUANTILES];
        hap_backend_close(b->r, t, x, true);
        hap_tensor_free_all(b->r);
    }
}

// --- a case ---

static int64_t total(const bench *b, const int64_t *table)
{
    int64_t n = 0;
    for (int i = 0; i < b->r->n_ranks; i++)
        n += table[i];
    return n;
}

// One repeat of a method; false if it does not fit.
static bool add(bench *b, const method *m)
{
    profile *p = &b->p;
    int64_t all = total(b, b->rows), cut = total(b, b->inner);
    hap_dim rows = CUT(0, all, b->rows), inner = CUT(0, cut, b->inner);
    hap_dim whole = WHOLE(all), k = WHOLE(b->s.k), n = WHOLE(b->s.n);
    const int64_t(*groups)[2] = (const int64_t(*)[2])m->list.group;
    hap_coll_call c = {.axes = AXIS(0), .form = m->form};
    bool push = m->form == FORM_PUSH || m->form == FORM_PUSH_ALL;
    bool pair = m->what == SEQUENCE || m->what == PAIR;
    if (b->ag) {
        hap_tensor *x = profile_cut(p, PROFILE_IN, HAP_BF16, 2, (hap_dim[]){rows, k});
        hap_tensor *w = profile_cut(p, PROFILE_IN, HAP_BF16, 2, (hap_dim[]){k, inner});
        hap_tensor *full = profile_cut(p, m->what == MATMUL ? PROFILE_IN : PROFILE_SYM, HAP_BF16, 2,
                                       (hap_dim[]){whole, k});
        hap_tensor *y = profile_cut(p, PROFILE_OUT, HAP_BF16, 2, (hap_dim[]){whole, inner});
        if (!x || !w || !full || !y) return false;
        if (!b->result) b->result = y;
        c.kind = HAP_ALL_GATHER;
        if (m->what == MATMUL) profile_add_product(p, y, full, w);
        if (pair) profile_add_gathered(p, m->form, m->list.n, groups, full, x, w, y);
        if (m->what == COLLECTIVE) {
            profile_add_coll(p, &c, full, x);
            profile_add(p, CALL_WAIT);
        }
        return true;
    }
    bool reduce = b->s.kind[1] == 'R';
    c.kind = reduce ? HAP_ALL_REDUCE : HAP_REDUCE_SCATTER;
    hap_tensor *x = profile_cut(p, PROFILE_IN, HAP_BF16, 2, (hap_dim[]){whole, inner});
    hap_tensor *w = profile_cut(p, PROFILE_IN, HAP_BF16, 2, (hap_dim[]){inner, n});
    hap_tensor *y = profile_cut(p, m->what == COLLECTIVE ? PROFILE_IN : PROFILE_OUT, HAP_BF16, 2,
                                (hap_dim[]){whole, n});
    hap_tensor *dst = profile_cut(p, reduce && push ? PROFILE_SYM : PROFILE_OUT, HAP_BF16, 2,
                                  (hap_dim[]){reduce ? whole : rows, n});
    if (!x || !w || !y || !dst) return false;
    if (!b->result) b->result = dst;
    if (m->what == MATMUL) profile_add_product(p, y, x, w);
    if (pair) profile_add_scattered(p, &c, m->list.n, groups, dst, y, x, w);
    if (m->what == COLLECTIVE) {
        profile_add_coll(p, &c, dst, y);
        profile_add(p, CALL_WAIT);
    }
    return true;
}

static bool build(bench *b, const method *m, int repeats)
{
    bool fits = true;
    profile_begin(&b->p);
    memset(b->p.at, 0, sizeof b->p.at); // the same operands in every method
    b->result = NULL;
    for (int i = 0; fits && i < repeats; i++)
        fits = add(b, m);
    return hap_comm_min(b->r, fits) == 1;
}

static double slowest(bench *b, double sec)
{
    return -hap_comm_min(b->r, -(int)(sec * 1e9 < 2e9 ? sec * 1e9 : 2e9)) * 1e-9;
}

static void warm(bench *b)
{
    for (int i = 0; i < (b->p.device.gpu ? 4 : 1); i++) // called, recorded, captured, replayed
        profile_step(&b->p);
}

static void round_of(bench *b, method *m)
{
    m->fits = m->fits && build(b, m, b->repeats);
    if (!m->fits) return;
    warm(b);
    for (int i = 0; i < STEPS && m->n_samples < MOST_SAMPLES; i++) {
        hap_comm_barrier(b->r);
        double sec = slowest(b, profile_step(&b->p)) - b->p.step_sec;
        m->ms[m->n_samples++] = 1e3 * (sec > 0 ? sec : 0) / b->repeats;
    }
}

// --- checks ---

static void poison(bench *b, hap_tensor *t)
{
    void *x = hap_backend_open(b->r, t, true);
    memset(x, 0xff, (size_t)t->bytes);
    hap_backend_close(b->r, t, x, true);
}

static float value(uint16_t h)
{
    uint32_t word = (uint32_t)h << 16;
    float f;
    memcpy(&f, &word, 4);
    return f;
}

// Runs a method once on poisoned memory; the first one's result is what others are held to, but for
// roundings: of sums in another order, and, reduced, of partial sums.
static void check(bench *b, method *m)
{
    m->fits = build(b, m, 1);
    if (!m->fits) return;
    for (int i = 0; i < b->p.n_calls; i++) {
        profile_call *c = &b->p.call[i];
        if (c->kind == CALL_OP) poison(b, c->op.out[0]);
        if (c->kind == CALL_START && c->dst) poison(b, c->dst);
        if (c->kind == CALL_START && c->coll.scratch) poison(b, c->coll.scratch);
    }
    hap_comm_barrier(b->r);
    for (int i = 0; i < (b->p.device.gpu ? 3 : 1); i++)
        profile_step(&b->p);
    uint16_t *y = hap_backend_open(b->r, b->result, false);
    int64_t n = b->result->elements, wrong = 0;
    if (!b->reference) {
        b->reference = hap_alloc(b->r, (size_t)n * 2 + 1);
        b->n_reference = n;
        memcpy(b->reference, y, (size_t)n * 2);
        for (int64_t i = 0; i < n; i++)
            wrong += !isfinite(value(y[i]));
    } else {
        float least = (b->ag ? 0.02f : 0.06f) * sqrtf((float)b->s.k);
        for (int64_t i = 0; i < n; i++) {
            float want = value(b->reference[i]), got = value(y[i]);
            wrong += !(fabsf(got - want) <= least + fabsf(want) / 64);
        }
    }
    hap_backend_close(b->r, b->result, y, false);
    m->wrong = -hap_comm_min(b->r, wrong < 1 << 30 ? -(int)wrong : -(1 << 30)); // of the worst rank
}

// --- methods ---

// "0 1 2*3 3*-1": {distance, weight}.
static void parse_groups(group_list *l, const char *t)
{
    snprintf(l->text, sizeof l->text, "%s", t);
    for (int d, w, used; l->n < MOST_GROUPS && sscanf(t, "%d%n", &d, &used) == 1; l->n++) {
        t += used;
        w = 1;
        if (sscanf(t, "*%d%n", &w, &used) == 1) t += used;
        l->group[l->n][0] = d;
        l->group[l->n][1] = w;
    }
}

static method *add_method(bench *b, what w, hap_form form, const char *by, const char *groups)
{
    if (b->n_methods == MOST_METHODS) return NULL;
    method *m = &b->method[b->n_methods++];
    *m = (method){.what = w, .form = form, .by = by, .fits = true};
    if (groups) parse_groups(&m->list, groups);
    return m;
}

// A list by member: own rows first or last, `first`, `rest` and `last` for the others.
static void by_member(const bench *b, char *out, size_t size, const char *first, const char *rest,
                      const char *last)
{
    size_t at = 0;
    int n = b->r->n_ranks;
    out[0] = 0;
    if (b->ag) at += (size_t)snprintf(out, size, "0 ");
    for (int d = 1; d < n; d++) {
        const char *w = d == n - 1 ? last : d == 1 ? first : rest;
        for (char one[16]; sscanf(w, "%15s", one) == 1; w += strcspn(w, " "), w += *w == ' ')
            at += (size_t)snprintf(out + at, at < size ? size - at : 0, "%d*%s ", d, one);
    }
    if (!b->ag) snprintf(out + at, at < size ? size - at : 0, "0");
}

static void add_tried(bench *b, int most)
{
    static const char *const ag[][3] = {{"1", "1", "1"},
                                        {"1", "1", "1 1"},
                                        {"1", "-1", "-1"},
                                        {"1", "1", "3 1"},
                                        {"1 1", "1 1", "1 1"}};
    static const char *const rs[][3] = {
        {"1", "1", "1"}, {"1 3", "1", "1"}, {"1", "-1", "1"}, {"1 1", "1 1", "1 1"}};
    static const char *const ar[] = {"0 0", "0 0 0 0", "0*4 0*3 0*2 0"};
    char text[256];
    for (int i = 0; i < most; i++) {
        if (b->s.kind[1] == 'R') {
            if (i < 3) add_method(b, PAIR, FORM_FLAT, "tried", ar[i]);
            continue;
        }
        if (i >= (b->ag ? 5 : 4)) break;
        const char *const *l = b->ag ? ag[i] : rs[i];
        by_member(b, text, sizeof text, l[0], l[1], l[2]);
        add_method(b, PAIR, FORM_PUSH, "tried", text);
    }
}

// The planner's groups: "KIND NAME FORM GROUPS…", "KIND NAME sequential".
static void add_planned(bench *b, const char *path)
{
    char line[512], kind[4], name[64], form[16];
    int used;
    FILE *f = path ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%3s %63s %15s%n", kind, name, form, &used) != 3 ||
            strcmp(kind, b->s.kind) != 0 || strcmp(name, b->s.name) != 0)
            continue;
        line[strcspn(line, "#\n")] = 0;
        hap_form k = strcmp(form, "push") == 0       ? FORM_PUSH
                     : strcmp(form, "push_all") == 0 ? FORM_PUSH_ALL
                                                     : FORM_FLAT;
        if (strcmp(form, "sequential") != 0) add_method(b, PAIR, k, "planner", line + used);
    }
    if (f) fclose(f);
}

static int by_ms(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *const what_name[] = {"matmul", "collective", "sequential", "pair"};

static void report(bench *b, method *m)
{
    qsort(m->ms, (size_t)m->n_samples, sizeof *m->ms, by_ms);
    if (b->r->id != 0) return;
    printf(
        "{\"by\":\"hapc\",\"kind\":\"%s\",\"m\":%lld,\"n\":%lld,\"k\":%lld,\"ranks\":%d,\"name\":\"%s\","
        "\"method\":\"%s\",\"form\":\"%s\",\"chosen\":\"%s\",\"groups\":\"%s\"",
        b->s.kind, (long long)b->s.m, (long long)b->s.n, (long long)b->s.k, b->r->n_ranks,
        b->s.name, what_name[m->what], m->what == MATMUL ? "" : hap_form_name(m->form), m->by,
        m->list.text);
    if (m->n_samples > 0)
        printf(",\"ms\":%.4f,\"p95\":%.4f", m->ms[m->n_samples / 2],
               m->ms[m->n_samples * 95 / 100]);
    printf(",\"samples\":%d,\"wrong\":%lld}\n", m->n_samples, (long long)m->wrong);
    fflush(stdout);
}

// n in parts in proportion to weights, multiples of `unit` but for the last.
static void cut(bench *b, int64_t *table, int64_t n, int64_t unit, const double *weight)
{
    double sum = 0, before = 0;
    int64_t from = 0;
    for (int i = 0; i < b->r->n_ranks; i++)
        sum += weight[i];
    for (int i = 0; i < b->r->n_ranks; i++) {
        before += weight[i];
        int64_t to = i + 1 == b->r->n_ranks
                         ? n
                         : (int64_t)((double)n * before / sum / (double)unit + 0.5) * unit;
        table[i] = to - from;
        from = to;
    }
}

static void run_shape(bench *b, const options *o, double until)
{
    bool reduce = b->s.kind[1] == 'R';
    hap_form library = reduce ? FORM_FLAT : b->uneven ? FORM_GROUPED : FORM_EVEN;
    b->n_methods = 0;
    free(b->reference);
    b->reference = NULL;
    add_method(b, SEQUENCE, library, "", NULL);
    add_method(b, SEQUENCE, FORM_PUSH, "", NULL);
    add_method(b, MATMUL, library, "", NULL);
    add_method(b, COLLECTIVE, library, "", NULL);
    add_method(b, COLLECTIVE, FORM_PUSH, "", NULL);
    add_method(b, COLLECTIVE, FORM_PUSH_ALL, "", NULL);
    add_planned(b, o->groups);
    add_tried(b, o->lists);
    for (int i = 0; i < b->n_methods; i++)
        if (b->method[i].what >= SEQUENCE) check(b, &b->method[i]);
    build(b, &b->method[0], 1);
    warm(b);
    double once = slowest(b, profile_step(&b->p)), wanted = b->p.device.gpu ? 5e-3 : 20e-3;
    b->repeats = (int)(wanted / once) + 1;
    b->repeats = b->repeats > 16 ? 16 : b->repeats;
    for (int round = 0; round < o->rounds; round++) {
        int late = hap_seconds() > until, order[MOST_METHODS];
        hap_comm_broadcast(b->r, &late, sizeof late);
        if (late && round > 1) break;
        for (int i = 0; i < b->n_methods; i++) {
            int k = (int)(mix((uint64_t)(round * MOST_METHODS + i) + 77) % (uint64_t)(i + 1));
            order[i] = order[k];
            order[k] = i;
        }
        for (int i = 0; i < b->n_methods; i++)
            round_of(b, &b->method[order[i]]);
    }
    for (int i = 0; i < b->n_methods; i++)
        report(b, &b->method[i]);
}

// Of a step with one small op, less that op.
static void measure_step(bench *b)
{
    enum { SAMPLES = 15, MANY = 41 };
    double sec[2][SAMPLES];
    for (int many = 0; many < 2; many++) {
        profile_begin(&b->p);
        for (int i = 0; i < (many ? MANY : 1); i++) {
            hap_op_call *c = &profile_add(&b->p, CALL_OP)->op;
            *c = (hap_op_call){.op = HAP_OP_scale, .n_in = 1, .n_out = 1, .n_attr = 1};
            c->in[0] = profile_tensor(&b->p, PROFILE_IN, HAP_F32, 1, (int64_t[]){64});
            c->out[0] = profile_tensor(&b->p, PROFILE_OUT, HAP_F32, 1, (int64_t[]){64});
            c->attr[0].f = 0.5;
        }
        warm(b);
        for (int i = 0; i < SAMPLES; i++) {
            hap_comm_barrier(b->r);
            sec[many][i] = slowest(b, profile_step(&b->p));
        }
        qsort(sec[many], SAMPLES, sizeof **sec, by_ms);
    }
    double step = sec[0][SAMPLES / 2] - (sec[1][SAMPLES / 2] - sec[0][SAMPLES / 2]) / (MANY - 1);
    b->p.step_sec = step > 0 ? step : 0;
}

static bool parse(options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *v = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-')
            o->shapes = argv[i];
        else if (strcmp(argv[i], "--groups") == 0)
            o->groups = v, i++;
        else if (strcmp(argv[i], "--cut") == 0)
            o->cut = v, i++;
        else if (strcmp(argv[i], "--sms") == 0)
            o->sms = v, i++;
        else if (strcmp(argv[i], "--only") == 0)
            o->only = v, i++;
        else if (strcmp(argv[i], "--lists") == 0)
            o->lists = atoi(v), i++;
        else if (strcmp(argv[i], "--rounds") == 0)
            o->rounds = atoi(v), i++;
        else if (strcmp(argv[i], "--scale") == 0)
            o->scale = atoi(v), i++;
        else if (strcmp(argv[i], "--seconds") == 0)
            o->seconds = atof(v), i++;
        else
            return false;
    }
    return o->shapes && o->scale > 0;
}

static bool read_shape(const char *line, const options *o, int n_ranks, shape *s)
{
    char on[32], want[8];
    long long m, n, k;
    if (line[0] == '#' ||
        sscanf(line, "%3s %lld %lld %lld %31s %63s", s->kind, &m, &n, &k, on, s->name) != 6)
        return false;
    snprintf(want, sizeof want, "%d", n_ranks);
    if (n_ranks > 3 && !strstr(on, want)) return false;
    if (o->only && strcmp(o->only, s->kind) != 0) return false;
    s->m = m / o->scale;
    s->n = n / o->scale;
    s->k = k / o->scale;
    return true;
}

int main(int argc, char **argv)
{
    static hap_rank rank; // a process is one rank
    static bench b;
    hap_rank *r = b.r = b.p.r = &rank;
    options o = {.lists = 5, .scale = 1, .seconds = 1e9, .rounds = 4};
    double weight[MOST_RANKS], even[MOST_RANKS], began = hap_seconds();
    static int sms[MOST_RANKS];
    r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
    hap_comm_start(r, &argc, &argv);
    hap_agree(r, HAP_EXIT_USAGE, parse(&o, argc, argv) ? "" : "options of overlap-bench");
    hap_agree(r, HAP_EXIT_USAGE, r->n_ranks <= MOST_RANKS ? "" : "too many ranks");
    hap_beat_start(r);
    const char *w = o.cut, *x = o.sms;
    for (int i = 0; i < r->n_ranks; i++) {
        even[i] = 1;
        weight[i] = w ? atof(w) : 1;
        sms[i] = x ? atoi(x) : 0;
        w = w && strchr(w, ',') ? strchr(w, ',') + 1 : w;
        x = x && strchr(x, ',') ? strchr(x, ',') + 1 : x;
    }
    b.uneven = o.cut != NULL;
    if (o.sms) hap_places(r, NULL, sms, NULL);
    hap_mesh(r, 1, &r->n_ranks);
    static int class_of[MOST_RANKS];
    hap_classes(r, class_of);
    hap_backend_device(r, &b.p.device);
    int64_t zone = b.p.device.gpu ? (int64_t)4 << 30 : (int64_t)64 << 20;
    for (int i = 0; i < 3; i++)
        b.p.zone[i] = zone;
    hap_segments(r, b.p.zone[PROFILE_SYM], &(int64_t){2 * zone});
    fill(&b);
    measure_step(&b);
    if (r->id == 0)
        printf(
            "{\"by\":\"hapc\",\"device\":\"%s\",\"ranks\":%d,\"cut\":\"%s\",\"sms\":\"%s\",\"emulated\":%s,"
            "\"step_us\":%.1f}\n",
            b.p.device.name, r->n_ranks, o.cut ? o.cut : "even", o.sms ? o.sms : "all",
            r->emulated ? "true" : "false", 1e6 * b.p.step_sec);
    static shape all[64];
    int n = 0;
    FILE *f = fopen(o.shapes, "r");
    hap_agree(r, HAP_EXIT_INPUT, f ? "" : "no list of shapes");
    for (char line[256]; n < 64 && f && fgets(line, sizeof line, f);)
        n += read_shape(line, &o, r->n_ranks, &all[n]);
    if (f) fclose(f);
    double start = hap_seconds();
    for (int i = 0; i < n; i++) {
        b.s = all[i];
        b.ag = b.s.kind[1] == 'G';
        cut(&b, b.rows, b.s.m, 1, b.uneven ? weight : even);
        cut(&b, b.inner, b.ag ? b.s.n : b.s.k, 64 / (o.scale < 64 ? o.scale : 64),
            b.uneven ? weight : even);
        run_shape(&b, &o, start + o.seconds * (i + 1) / n);
    }
    if (r->id == 0) printf("{\"by\":\"hapc\",\"seconds\":%.1f}\n", hap_seconds() - began);
    profile_begin(&b.p);
    free(b.reference);
    free(b.p.call);
    free(b.p.owned);
    return hap_finish(r);
}
