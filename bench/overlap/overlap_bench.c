// Pairs of a matmul and a collective as programs of hapc run them: each alone, one after the
// other, and in chunks. One process a rank:
//
//     mpirun -n W overlap-bench-cuda SHAPES [--chunks FILE] [--also FILE] [--only AG]
//                                    [--cut A,B,…] [--sms A,B,…] [--lists N] [--turns N]
//                                    [--scale K] [--seconds S] [--no-stores] [-v]
//
// FILE has the planner's chunks by name of the shape (bench/planner/pair_chunks.c), --also any
// number of lists a shape that are compared to the end; --cut, shares of rows and of columns (AG)
// or inner entries (RS, AR) by rank; --scale divides sizes; --no-stores: no kernel stores in the
// memory of others. Each method is a program of its own (runtime/profile): a step of repeats on
// tensors that follow each other in memory. All programs of a shape, once warm, go on in turns, a
// sample each: a pause, a barrier, a step, whose own overhead is taken off; the slowest rank's. A
// device that power binds is as fast as what it did before lets it be: in turns all find it the
// same, each behind another one from turn to turn. The first turns are of all methods, the rest of
// those that are compared: matmul, collectives, sequences, the planner's pair, and the fastest of
// the other groupings so far. Operands are normal numbers that no two ranks share; after the turns
// results are poisoned and every element compared with what the sequence makes. Prints a line of
// JSON a method.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/heartbeat.h"
#include "overlap_chunks.h"
#include "profile/profile.h"

enum {
    MOST_RANKS = 16,
    MOST_METHODS = 24,
    MOST_TURNS = 64,
    FIRST_TURNS = 3, // of all methods
    LEAST_TURNS = 4, // however late it is
    PAUSE = 1000,    // us, before every sample
    QUANTILES = 4096
};

typedef struct shape {
    char kind[4], name[64];
    int64_t m, n, k;
} shape;

typedef enum { MATMUL, COLLECTIVE, SEQUENCE, PAIR } what;
// In chunks; as the runtime likes; as the list of tiles that is said.
typedef enum { BY_CHUNKS, AS_RUN, BY_LIST } tiles_way;
typedef struct method {
    what what;
    const char *by; // planner, also, tried
    hap_form form;
    group_list list;
    tiles_way tiles;     // of a pair
    bool fits, compared; // compared: in the turns that follow the first ones
    int program, repeats, n_calls;
    profile_call *call;
    int64_t bytes[3];   // of a repeat, by zone
    hap_tensor *result; // of the first repeat
    int n_samples;
    double ms[MOST_TURNS];
    int64_t wrong;
} method;

typedef struct bench {
    profile p;
    hap_rank *r;
    shape s;
    bool ag, uneven, stores;                     // stores: by kernels, where a list says so
    int64_t rows[MOST_RANKS], inner[MOST_RANKS]; // by rank: of the moved factor; of w's cut dim
    method method[MOST_METHODS];
    int n_methods;
    hap_tensor *result; // of the repeat that was added first
    uint16_t *reference;
} bench;

typedef struct options {
    const char *shapes, *chunks, *also, *cut, *sms, *only;
    int lists, scale, turns;
    bool verbose;   // what the runtime chose
    bool no_stores; // by kernels
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

static void add_scaled(profile *p, hap_tensor *y, hap_tensor *x, double by)
{
    profile_add(p, CALL_OP)->op = (hap_op_call){.op = HAP_OP_scale,
                                                .n_in = 1,
                                                .in = {x},
                                                .n_out = 1,
                                                .out = {y},
                                                .n_attr = 1,
                                                .attr = {{.f = by}}};
}

// One repeat of a method; false if it does not fit.
static bool add(bench *b, const method *m)
{
    profile *p = &b->p;
    int64_t all = total(b, b->rows), cut = total(b, b->inner);
    hap_dim rows = CUT(0, all, b->rows), inner = CUT(0, cut, b->inner);
    hap_dim whole = WHOLE(all), k = WHOLE(b->s.k), n = WHOLE(b->s.n);
    const int64_t(*chunks)[3] = (const int64_t(*)[3])m->list.chunk;
    hap_coll_call c = {.axes = AXIS(0), .form = m->form};
    const hap_pair_tiles *tiles = m->list.tiles.said ? &m->list.tiles : NULL;
    bool put = hap_form_put(m->form);
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
        if (m->what == MATMUL) profile_add_matmul(p, y, full, w);
        if (pair) profile_add_gathered(p, m->form, m->list.n, chunks, tiles, full, x, w, y);
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
    hap_tensor *dst = profile_cut(p, reduce && put ? PROFILE_SYM : PROFILE_OUT, HAP_BF16, 2,
                                  (hap_dim[]){reduce ? whole : rows, n});
    if (!x || !w || !y || !dst) return false;
    if (!b->result) b->result = dst;
    if (m->what == MATMUL) profile_add_matmul(p, y, x, w);
    if (pair) profile_add_scattered(p, &c, m->list.n, chunks, tiles, dst, y, x, w);
    if (m->what == COLLECTIVE) {
        profile_add_coll(p, &c, dst, y);
        profile_add(p, CALL_WAIT);
    }
    return true;
}

// Takes up the program of a method.
static void take(bench *b, method *m)
{
    hap_backend_program(b->r, m->program);
    b->r->opt.cuda.tiles = m->tiles == AS_RUN    ? HAP_CUDA_tiles_on
                           : m->tiles == BY_LIST ? HAP_CUDA_tiles_plan
                                                 : HAP_CUDA_tiles_off;
    b->r->opt.cuda.stores = b->stores ? HAP_CUDA_stores_on : HAP_CUDA_stores_off;
    b->p.call = m->call;
    b->p.n_calls = m->n_calls;
}

// The same operands in every method; as many repeats as wanted, none on another's memory.
static void build(bench *b, method *m, int repeats)
{
    profile *p = &b->p;
    m->call = NULL;
    m->n_calls = p->cap_calls = 0;
    take(b, m);
    memset(p->at, 0, sizeof p->at);
    b->result = NULL;
    m->fits = hap_comm_min(b->r, add(b, m)) == 1;
    m->result = b->result;
    memcpy(m->bytes, p->at, sizeof m->bytes);
    for (int z = 0; z < 3; z++)
        if (m->bytes[z] && p->zone[z] / m->bytes[z] < repeats)
            repeats = (int)(p->zone[z] / m->bytes[z]);
    m->repeats = hap_comm_min(b->r, repeats);
    for (int i = 1; m->fits && i < m->repeats; i++)
        add(b, m);
    m->call = p->call;
    m->n_calls = p->n_calls;
    p->call = NULL;
}

static double slowest(bench *b, double sec)
{
    return -hap_comm_min(b->r, -(int)(sec * 1e9 < 2e9 ? sec * 1e9 : 2e9)) * 1e-9;
}

static void warm(bench *b)
{
    for (int i = 0; i < (b->p.device.gpu ? 3 : 1); i++) // called, recorded, captured
        profile_step(&b->p);
}

static void sample(bench *b, method *m)
{
    take(b, m);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE * 1000L}, NULL);
    hap_comm_barrier(b->r);
    double sec = slowest(b, profile_step(&b->p)) - b->p.step_sec;
    if (m->n_samples < MOST_TURNS) m->ms[m->n_samples++] = 1e3 * (sec > 0 ? sec : 0) / m->repeats;
}

// Turn t of the methods: places of a ring of prime length, every 1 + t-th of them, so that each
// method comes behind another one in every turn and the first is another one, too.
static void turn_of(bench *b, int t, bool compared)
{
    static const int primes[] = {5, 7, 11, 13, 17, 19, 23, 29};
    int in[MOST_METHODS], n = 0, ring = 0;
    for (int i = 0; i < b->n_methods; i++)
        if (b->method[i].fits && (!compared || b->method[i].compared)) in[n++] = i;
    while (primes[ring] < n)
        ring++;
    ring = primes[ring];
    for (int i = 0; i < ring; i++) {
        int at = (t + i * (1 + t % (ring - 1))) % ring;
        if (at < n) sample(b, &b->method[in[at]]);
    }
}

static int by_ms(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(method *m)
{
    qsort(m->ms, (size_t)m->n_samples, sizeof *m->ms, by_ms);
    return m->ms[m->n_samples / 2];
}

// After the first turns: which methods go on, of groupings tried the best in chunks and the best
// that may run by tiles; their samples begin again.
static void choose(bench *b)
{
    int best[3] = {-1, -1, -1};
    for (int i = 0; i < b->n_methods; i++) {
        method *m = &b->method[i];
        bool tried = m->what == PAIR && strcmp(m->by, "tried") == 0;
        m->compared = !tried && !(m->what == COLLECTIVE && hap_form_copies(m->form) > 1);
        int *first = &best[m->tiles];
        if (tried && m->fits && (*first < 0 || median(m) < median(&b->method[*first]))) *first = i;
    }
    hap_comm_broadcast(b->r, best, sizeof best);
    for (int i = 0; i < 3; i++)
        if (best[i] >= 0) b->method[best[i]].compared = true;
    for (int i = 0; i < b->n_methods; i++)
        if (b->method[i].compared) b->method[i].n_samples = 0;
}

// --- checks ---

// A program of its own: no number is left where any method's first repeat writes.
static method *poison_of(bench *b)
{
    static method m;
    profile *p = &b->p;
    m = (method){.program = MOST_METHODS};
    p->cap_calls = 0;
    take(b, &m);
    memset(p->at, 0, sizeof p->at);
    for (int z = PROFILE_OUT; z <= PROFILE_SYM; z++) {
        int64_t left = 0, most = p->zone[z] / 4; // of a tensor
        for (int i = 0; i < b->n_methods; i++)
            if (b->method[i].bytes[z] > left) left = b->method[i].bytes[z];
        for (int64_t bytes; left > 0; left -= bytes) {
            bytes = left < most ? left : most;
            hap_tensor *t = profile_tensor(p, z, HAP_BF16, 1, (int64_t[]){bytes / 2});
            add_scaled(p, t, t, (double)NAN);
        }
    }
    m.call = p->call;
    m.n_calls = p->n_calls;
    p->call = NULL;
    return &m;
}

static float value(uint16_t h)
{
    uint32_t word = (uint32_t)h << 16;
    float f;
    memcpy(&f, &word, 4);
    return f;
}

// A step more of a method on poisoned memory; the first one's result is what others are held to,
// but for roundings: of sums in another order, and, reduced, of partial sums.
static void check(bench *b, method *m, method *poison)
{
    enum { BLOCK = 4096 };
    if (!m->fits) return;
    take(b, poison);
    profile_step(&b->p);
    hap_comm_barrier(b->r);
    take(b, m);
    profile_step(&b->p);
    uint16_t *y = hap_backend_open(b->r, m->result, false);
    int64_t n = m->result->elements, wrong = 0;
    if (!b->reference) {
        b->reference = hap_alloc(b->r, (size_t)n * 2 + 1);
        memcpy(b->reference, y, (size_t)n * 2);
        for (int64_t i = 0; i < n; i++)
            wrong += !isfinite(value(y[i]));
    } else {
        float least = (b->ag ? 0.02f : 0.06f) * sqrtf((float)b->s.k);
        for (int64_t at = 0, end; at < n; at = end) {
            end = n - at < BLOCK ? n : at + BLOCK;
            if (memcmp(y + at, b->reference + at, (size_t)(end - at) * 2) == 0) continue;
            for (int64_t i = at; i < end; i++) {
                float want = value(b->reference[i]), got = value(y[i]);
                wrong += !(fabsf(got - want) <= least + fabsf(want) / 64);
            }
        }
    }
    hap_backend_close(b->r, m->result, y, false);
    m->wrong = -hap_comm_min(b->r, wrong < 1 << 30 ? -(int)wrong : -(1 << 30)); // of the worst rank
}

// --- methods ---

static method *add_method(bench *b, what w, hap_form form, const char *by, const group_list *chunks)
{
    if (b->n_methods == MOST_METHODS) return NULL;
    method *m = &b->method[b->n_methods++];
    *m = (method){.what = w, .form = form, .by = by, .program = (int)(m - b->method)};
    if (chunks) {
        m->list = *chunks;
        m->list.tiles.chunk = (const int64_t(*)[3])m->list.listed;
    }
    return m;
}

// In chunks; and if a list of tiles is said, as the runtime likes and as that list. Of those that
// are given beside the planner's the list alone.
static void add_pair(bench *b, hap_form form, const char *by, const group_list *chunks)
{
    const bool listed = b->p.device.gpu && hap_form_put(form) && chunks->tiles.said;
    const bool also = strcmp(by, "also") == 0;
    for (int tiles = also && listed ? BY_LIST : 0; tiles < (listed ? 3 : 1); tiles++) {
        method *m = add_method(b, PAIR, form, by, chunks);
        if (!m) return;
        m->tiles = (tiles_way)tiles;
        if (tiles == BY_LIST) m->list.tiles.how |= HAP_TILE_FIRST;
    }
}

// Not what the planner has chosen.
static void add_tried(bench *b, int most)
{
    bool reduce = b->s.kind[1] == 'R';
    group_list l = {.n = 0};
    for (int i = 0; i < most && groups_tried(&l, b->s.kind, b->r->n_ranks, i); i++) {
        for (int flat = 0; flat <= reduce; flat++) {
            hap_form form = flat ? FORM_FLAT : FORM_PUT(1);
            bool planned = false;
            for (int k = 0; k < b->n_methods; k++)
                planned =
                    planned || (b->method[k].form == form && groups_same(&b->method[k].list, &l));
            if (!planned) add_pair(b, form, "tried", &l);
        }
    }
}

static void add_listed(bench *b, const char *path, const char *by, int most)
{
    group_list l;
    hap_form form;
    for (int i = 0; i < most && groups_planned(&l, &form, path, b->s.kind, b->s.name, i); i++)
        add_pair(b, form, by, &l);
}

static const char *const what_name[] = {"matmul", "collective", "sequential", "pair"};

static void report(bench *b, method *m)
{
    double ms = median(m);
    if (b->r->id != 0) return;
    printf(
        "{\"by\":\"hapc\",\"kind\":\"%s\",\"m\":%lld,\"n\":%lld,\"k\":%lld,\"ranks\":%d,\"name\":\"%s\","
        "\"method\":\"%s\",\"form\":\"%s\",\"chosen\":\"%s\",\"chunks\":\"%s\",\"tiles\":%s",
        b->s.kind, (long long)b->s.m, (long long)b->s.n, (long long)b->s.k, b->r->n_ranks,
        b->s.name, what_name[m->what], m->what == MATMUL ? "" : hap_form_name(m->form).s, m->by,
        m->list.text, m->tiles == AS_RUN ? "true" : "false");
    if (m->tiles == BY_LIST) printf(",\"list\":true");
    if (m->n_samples > 0) printf(",\"ms\":%.4f,\"p95\":%.4f", ms, m->ms[m->n_samples * 95 / 100]);
    printf(",\"compared\":%s,\"samples\":%d,\"wrong\":%lld}\n", m->compared ? "true" : "false",
           m->n_samples, (long long)m->wrong);
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
    bool even = b->s.m % b->r->n_ranks == 0 && !b->uneven;
    hap_form library = reduce ? FORM_FLAT : even ? FORM_EVEN : FORM_GROUPED;
    profile_begin(&b->p);
    method *once = add_method(b, SEQUENCE, library, "", NULL);
    add_method(b, SEQUENCE, FORM_PUT(1), "", NULL);
    add_method(b, MATMUL, library, "", NULL);
    add_method(b, COLLECTIVE, library, "", NULL);
    add_method(b, COLLECTIVE, FORM_PUT(1), "", NULL);
    if (b->r->n_ranks > 2) add_method(b, COLLECTIVE, FORM_PUT(b->r->n_ranks - 1), "", NULL);
    add_listed(b, o->chunks, "planner", 1);
    add_listed(b, o->also, "also", MOST_METHODS);
    add_tried(b, o->lists);
    build(b, once, 1);
    take(b, once);
    warm(b);
    double sec = slowest(b, profile_step(&b->p)), wanted = b->p.device.gpu ? 4e-3 : 20e-3;
    int repeats = (int)(wanted / sec + 0.5);
    repeats = repeats < 1 ? 1 : repeats > 16 ? 16 : repeats;
    free(once->call);
    profile_begin(&b->p);
    for (int i = 0; i < b->n_methods; i++) {
        method *m = &b->method[i];
        build(b, m, repeats);
        take(b, m);
        if (m->fits) warm(b);
    }
    for (int t = 0; t < FIRST_TURNS; t++)
        turn_of(b, t, false);
    choose(b);
    for (int t = 0; t < o->turns; t++) {
        int late = hap_seconds() > until;
        hap_comm_broadcast(b->r, &late, sizeof late);
        if (late && t >= LEAST_TURNS) break;
        turn_of(b, t, true);
    }
    method *poison = poison_of(b);
    for (int i = 0; i < b->n_methods; i++)
        if (b->method[i].what >= SEQUENCE) check(b, &b->method[i], poison);
    free(poison->call);
    for (int i = 0; i < b->n_methods; i++)
        report(b, &b->method[i]);
    free(b->reference);
    b->reference = NULL;
    for (; b->n_methods > 0; b->n_methods--)
        free(b->method[b->n_methods - 1].call);
    b->p.call = NULL;
    profile_begin(&b->p);
}

// Of a step with one small op, less that op.
static void measure_step(bench *b)
{
    enum { SAMPLES = 15, MANY = 41 };
    double sec[2][SAMPLES];
    for (int many = 0; many < 2; many++) {
        profile_begin(&b->p);
        for (int i = 0; i < (many ? MANY : 1); i++) {
            hap_tensor *x = profile_tensor(&b->p, PROFILE_IN, HAP_F32, 1, (int64_t[]){64});
            hap_tensor *y = profile_tensor(&b->p, PROFILE_OUT, HAP_F32, 1, (int64_t[]){64});
            add_scaled(&b->p, y, x, 0.5);
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
    free(b->p.call);
    b->p.call = NULL;
}

static bool parse(options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *v = i + 1 < argc ? argv[i + 1] : "";
        if (argv[i][0] != '-')
            o->shapes = argv[i];
        else if (strcmp(argv[i], "-v") == 0)
            o->verbose = true;
        else if (strcmp(argv[i], "--no-stores") == 0)
            o->no_stores = true;
        else if (strcmp(argv[i], "--chunks") == 0)
            o->chunks = v, i++;
        else if (strcmp(argv[i], "--also") == 0)
            o->also = v, i++;
        else if (strcmp(argv[i], "--cut") == 0)
            o->cut = v, i++;
        else if (strcmp(argv[i], "--sms") == 0)
            o->sms = v, i++;
        else if (strcmp(argv[i], "--only") == 0)
            o->only = v, i++;
        else if (strcmp(argv[i], "--lists") == 0)
            o->lists = atoi(v), i++;
        else if (strcmp(argv[i], "--turns") == 0)
            o->turns = atoi(v), i++;
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
    options o = {.lists = 5, .scale = 1, .seconds = 1e9, .turns = 10};
    double weight[MOST_RANKS], even[MOST_RANKS], began = hap_seconds();
    static int sms[MOST_RANKS];
    r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
    r->opt.cuda.graph = HAP_CUDA_graph_on; // steps that are timed run in one way
    hap_comm_start(r, &argc, &argv);
    hap_agree(r, HAP_EXIT_USAGE, parse(&o, argc, argv) ? "" : "options of overlap-bench");
    hap_agree(r, HAP_EXIT_USAGE, r->n_ranks <= MOST_RANKS ? "" : "too many ranks");
    r->opt.verbose = o.verbose;
    const char *unheard = hap_beat_start(r);
    if (unheard) hap_fail(r, HAP_EXIT_FAILED, "%s", unheard);
    const char *w = o.cut, *x = o.sms;
    for (int i = 0; i < r->n_ranks; i++) {
        even[i] = 1;
        weight[i] = w ? atof(w) : 1;
        sms[i] = x ? atoi(x) : 0;
        w = w && strchr(w, ',') ? strchr(w, ',') + 1 : w;
        x = x && strchr(x, ',') ? strchr(x, ',') + 1 : x;
    }
    b.uneven = o.cut != NULL;
    b.stores = !o.no_stores;
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
        const int unit = b.uneven ? 64 : 8; // even shares are even
        cut(&b, b.inner, b.ag ? b.s.n : b.s.k, unit / (o.scale < unit ? o.scale : unit),
            b.uneven ? weight : even);
        run_shape(&b, &o, start + o.seconds * (i + 1) / n);
    }
    if (r->id == 0) printf("{\"by\":\"hapc\",\"seconds\":%.1f}\n", hap_seconds() - began);
    profile_begin(&b.p);
    free(b.p.owned);
    return hap_finish(r);
}
