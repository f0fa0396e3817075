// Collectives by the library and by one-sided puts, one process a rank:
//
//     mpirun -n W push-bench-cuda [--seconds S] [--rounds N] [--largest MIB] [--checked
//     MIB]
//                                 [--mib M,M…] [--kinds KIND,KIND…]
//
// --checked: sizes above are timed alone.
//
// Of each kind and size the methods (the library, one-sided puts of 1, 2 and W - 1 copies in
// flight) are cases of the measuring program, timed in turn over rounds, forth and back (A B C C B
// A), so that none of them finds the devices cooler than another. A sample is the slowest rank's
// step of several repeats, the step's own overhead taken off. Sizes are of the whole tensor (of an
// all-to-all: of what all ranks hold together), bf16. Bus bandwidth is what a ring moves over each
// rank's link, size * (n - 1) / n, twice that of an all-reduce and 1 / n of it of an all-to-all, by
// time. Before it is timed each method runs once on poisoned memory, and every element is checked.
// Steps are called, not captured, unless --graph (as of --cuda) says otherwise. Prints a line of
// JSON a method.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll_geometry.h"
#include "core/comm.h"
#include "core/fail.h"
#include "core/float16.h"
#include "core/heartbeat.h"
#include "profile/profile.h"

enum {
    COLS = 512,
    MOST_RANKS = 16,
    MOST_SAMPLES = 400,
    STEPS = 3,
    MOST_SIZES = 16,
    N_KINDS = 4,
    MOST_METHODS = 4
};

typedef struct method {
    hap_form form;
    double ms[MOST_SAMPLES];
    int n_samples;
    int64_t wrong;
    bool fits;
} method;

typedef struct bench {
    profile p;
    hap_rank *r;
    hap_coll_kind kind;
    int64_t rows[MOST_RANKS], cols[MOST_RANKS], bytes;
    hap_tensor *src, *dst; // of the case's first repeat
    method method[MOST_METHODS];
    int n_methods, repeats;
    bool captured; // steps are
} bench;

static const struct {
    hap_coll_kind kind;
    const char *name;
    hap_form library;
} kinds[] = {{HAP_ALL_GATHER, "all_gather", FORM_EVEN},
             {HAP_REDUCE_SCATTER, "reduce_scatter", FORM_EVEN},
             {HAP_ALL_REDUCE, "all_reduce", FORM_FLAT},
             {HAP_ALL_TO_ALL, "all_to_all", FORM_EVEN}};

static int64_t sum(const bench *b, const int64_t *table)
{
    int64_t n = 0;
    for (int i = 0; i < b->r->n_ranks; i++)
        n += table[i];
    return n;
}

static bool add(bench *b, hap_form form)
{
    profile *p = &b->p;
    int64_t m = sum(b, b->rows), n = sum(b, b->cols);
    bool a2a = b->kind == HAP_ALL_TO_ALL, gather = b->kind == HAP_ALL_GATHER;
    hap_dim whole = WHOLE(m), cut = CUT(0, m, b->rows), wide = WHOLE(n),
            narrow = CUT(0, n, b->cols);
    hap_dim from[2] = {gather || a2a ? cut : whole, wide};
    hap_dim to[2] = {b->kind == HAP_REDUCE_SCATTER ? cut : whole, a2a ? narrow : wide};
    hap_tensor *src = profile_cut(p, PROFILE_IN, HAP_BF16, 2, from);
    bool there = hap_form_put(form) && b->kind != HAP_REDUCE_SCATTER;
    hap_tensor *dst = profile_cut(p, there ? PROFILE_SYM : PROFILE_OUT, HAP_BF16, 2, to);
    if (!src || !dst) return false;
    if (!b->src) b->src = src, b->dst = dst;
    profile_add_coll(p, &(hap_coll_call){.kind = b->kind, .axes = AXIS(0), .form = form}, dst, src);
    profile_add(p, CALL_WAIT);
    return true;
}

static bool build(bench *b, hap_form form, int repeats)
{
    bool fits = true;
    profile_begin(&b->p);
    memset(b->p.at, 0, sizeof b->p.at); // the same operands in every method
    b->src = b->dst = NULL;
    for (int i = 0; fits && i < repeats; i++)
        fits = add(b, form);
    return hap_comm_min(b->r, fits) == 1;
}

static double slowest(bench *b, double sec)
{
    return -hap_comm_min(b->r, -(int)(sec * 1e9 < 2e9 ? sec * 1e9 : 2e9)) * 1e-9;
}

// --- checks ---

static uint64_t mix(uint64_t z) // finaliser of SplitMix64
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

// -8 to 7, of a global element on rank q - 1; 0: the same on all. Exact in bf16, and their sums.
static int value(uint64_t word, int q)
{
    return (int)(word * (2 * (uint64_t)q + 1) >> 60) - 8;
}

static int64_t before(const int64_t *table, int rank)
{
    int64_t n = 0;
    for (int i = 0; i < rank; i++)
        n += table[i];
    return n;
}

// First row and column of this rank's part.
static void part_of(const bench *b, const hap_tensor *t, int64_t *row, int64_t *col)
{
    *row = t->dim[0].axis < 0 ? 0 : before(b->rows, b->r->id);
    *col = t->dim[1].axis < 0 ? 0 : before(b->cols, b->r->id);
}

// Of a tensor what it is to hold, in bf16: of a source, or of what is made.
static void expect(const bench *b, const hap_tensor *t, bool made, uint16_t *x)
{
    bool sums = b->kind == HAP_REDUCE_SCATTER || b->kind == HAP_ALL_REDUCE;
    int64_t row, col, n = t->local[1], wide = sum(b, b->cols);
    uint16_t small[2 * 8 * MOST_RANKS + 1]; // bf16 of the integers that there are
    const int zero = 8 * MOST_RANKS;
    for (int v = -zero; v <= zero; v++)
        small[zero + v] = hap_f32_to_bf16((float)v);
    part_of(b, t, &row, &col);
    for (int64_t i = 0; i < t->local[0]; i++)
        for (int64_t k = 0; k < n; k++) {
            uint64_t word = mix((uint64_t)((row + i) * wide + col + k));
            int v = 0;
            for (int q = 1; q <= b->r->n_ranks && sums && made; q++)
                v += value(word, q);
            if (!sums || !made) v = value(word, sums ? b->r->id + 1 : 0);
            x[i * n + k] = small[zero + v];
        }
}

// Runs each method once; all have the same source.
static void check(bench *b, bool all)
{
    uint16_t *want = NULL;
    for (int i = 0; i < b->n_methods; i++) {
        method *m = &b->method[i];
        m->fits = build(b, m->form, 1);
        m->wrong = -1;
        if (!m->fits || !all) continue;
        if (!want) {
            uint16_t *x = hap_backend_open(b->r, b->src, true);
            expect(b, b->src, false, x);
            hap_backend_close(b->r, b->src, x, true);
            want = hap_alloc(b->r, (size_t)b->dst->bytes + 1);
            expect(b, b->dst, true, want);
        }
        uint16_t *y = hap_backend_open(b->r, b->dst, true);
        memset(y, 0xff, (size_t)b->dst->bytes);
        hap_backend_close(b->r, b->dst, y, true);
        hap_comm_barrier(b->r);
        profile_step(&b->p);
        y = hap_backend_open(b->r, b->dst, false);
        int64_t wrong = 0;
        for (int64_t k = 0; k < b->dst->elements; k++)
            wrong += y[k] != want[k];
        hap_backend_close(b->r, b->dst, y, false);
        m->wrong = -hap_comm_min(b->r, wrong < 1 << 30 ? -(int)wrong : -(1 << 30)); // worst rank
    }
    free(want);
}

// --- times ---

static void sample(bench *b, method *m, int steps)
{
    if (!m->fits || !build(b, m->form, b->repeats)) {
        m->fits = false;
        return;
    }
    for (int i = 0; i < (b->captured ? 4 : 1); i++) // called, recorded, captured, replayed
        profile_step(&b->p);
    for (int i = 0; i < steps && m->n_samples < MOST_SAMPLES; i++) {
        hap_comm_barrier(b->r);
        double sec = slowest(b, profile_step(&b->p)) - b->p.step_sec;
        m->ms[m->n_samples++] = 1e3 * (sec > 0 ? sec : 0) / b->repeats;
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
    return m->n_samples ? m->ms[m->n_samples / 2] : 0;
}

static double bus_bytes(const bench *b)
{
    double n = b->r->n_ranks, whole = (double)b->bytes;
    if (b->kind == HAP_ALL_TO_ALL) whole /= n;
    return whole * (n - 1) / n * (b->kind == HAP_ALL_REDUCE ? 2 : 1);
}

static void run_size(bench *b, int kind, int64_t bytes, bool checked, int rounds, double until)
{
    int n = b->r->n_ranks;
    b->kind = kinds[kind].kind;
    b->method[0] = (method){.form = kinds[kind].library};
    b->n_methods = 1;
    for (int copies = 1; copies < n; copies = copies == 1 ? 2 : copies < n - 1 ? n - 1 : n)
        b->method[b->n_methods++] = (method){.form = FORM_PUT(copies)};
    int last = b->n_methods - 1;
    for (int i = 0; i < n; i++) {
        b->rows[i] = bytes / 2 / COLS / n / n;
        b->cols[i] = COLS;
    }
    b->bytes = sum(b, b->rows) * sum(b, b->cols) * 2;
    check(b, checked);
    b->repeats = 1;
    for (int round = 0; round < rounds; round++) {
        int late = hap_seconds() > until;
        hap_comm_broadcast(b->r, &late, sizeof late);
        if (late && round > 1) break;
        for (int i = 0; i <= last; i++)
            sample(b, &b->method[i], STEPS);
        for (int i = last; i >= 0; i--)
            sample(b, &b->method[i], STEPS);
        if (round > 0) continue;
        double most = median(&b->method[0]), wanted = b->p.device.gpu ? 2 : 10; // ms
        b->repeats = most * 16 < wanted ? 16 : most > wanted ? 1 : (int)(wanted / most);
        hap_comm_broadcast(b->r, &b->repeats, sizeof b->repeats);
        for (int i = 0; i <= last; i++)
            b->method[i].n_samples = 0;
    }
    double library = median(&b->method[0]);
    for (int i = 0; i <= last && b->r->id == 0; i++) {
        method *m = &b->method[i];
        double ms = median(m), gbs = ms > 0 ? bus_bytes(b) / ms * 1e-6 : 0;
        printf(
            "{\"kind\":\"%s\",\"form\":\"%s\",\"ranks\":%d,\"mib\":%.2f,\"ms\":%.4f,\"p95\":%.4f,"
            "\"bus_gbs\":%.1f,\"to_library\":%.3f,\"repeats\":%d,\"samples\":%d,\"wrong\":%lld%s}"
            "\n",
            kinds[kind].name, hap_form_name(m->form).s, n, (double)b->bytes / (1 << 20), ms,
            m->n_samples ? m->ms[m->n_samples * 95 / 100] : 0, gbs, ms > 0 ? library / ms : 0,
            b->repeats, m->n_samples, (long long)m->wrong, m->fits ? "" : ",\"fits\":false");
        fflush(stdout);
    }
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
        for (int i = 0; i < SAMPLES + 4; i++) {
            hap_comm_barrier(b->r);
            double s = slowest(b, profile_step(&b->p));
            if (i >= 4) sec[many][i - 4] = s;
        }
        qsort(sec[many], SAMPLES, sizeof **sec, by_ms);
    }
    double step = sec[0][SAMPLES / 2] - (sec[1][SAMPLES / 2] - sec[0][SAMPLES / 2]) / (MANY - 1);
    b->p.step_sec = step > 0 ? step : 0;
}

// A list of numbers, or its default.
static int sizes_of(const char *text, int largest, int *mib)
{
    static const int usual[] = {1, 4, 16, 64, 256, 512};
    int n = 0, of = text ? MOST_SIZES : (int)(sizeof usual / sizeof *usual);
    for (int i = 0; i < of && (!text || *text); i++) {
        int x = text ? atoi(text) : usual[i];
        if (x > 0 && x <= largest) mib[n++] = x;
        if (text) text += strcspn(text, ",") + (text[strcspn(text, ",")] == ',');
    }
    return n;
}

static bool wanted_kind(const char *list, const char *name)
{
    const char *at = list ? strstr(list, name) : name;
    return at != NULL;
}

int main(int argc, char **argv)
{
    static hap_rank rank; // a process is one rank
    static bench b;
    static int class_of[MOST_RANKS];
    const char *kinds_wanted = NULL, *mib_text = NULL, *graph = "off";
    char why[256] = "", option[64];
    hap_rank *r = b.r = b.p.r = &rank;
    double seconds = 1e9;
    int rounds = 20, largest = 0, checked = 1 << 20, mib[MOST_SIZES];
    r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
    hap_comm_start(r, &argc, &argv);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--graph") == 0) graph = argv[i + 1];
        if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
        if (strcmp(argv[i], "--rounds") == 0) rounds = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--largest") == 0) largest = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--checked") == 0) checked = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--mib") == 0) mib_text = argv[i + 1];
        if (strcmp(argv[i], "--kinds") == 0) kinds_wanted = argv[i + 1];
    }
    hap_agree(r, HAP_EXIT_USAGE,
              r->n_ranks > 1 && r->n_ranks <= MOST_RANKS ? "" : "2 to 16 ranks, please");
    snprintf(option, sizeof option, "graph=%s", graph);
    hap_cuda_options_parse(&r->opt.cuda, option, why, sizeof why);
    hap_agree(r, HAP_EXIT_USAGE, why);
    const char *unheard = hap_beat_start(r);
    if (unheard) hap_fail(r, HAP_EXIT_FAILED, "%s", unheard);
    hap_mesh(r, 1, &r->n_ranks);
    hap_classes(r, class_of);
    hap_backend_device(r, &b.p.device);
    b.captured = strcmp(graph, "off") != 0;
    if (largest == 0) largest = b.p.device.gpu ? 512 : 4;
    int64_t zone = (int64_t)largest * 4 << 20; // room for three of a size, and slots
    for (int i = 0; i < 3; i++)
        b.p.zone[i] = zone;
    hap_segments(r, zone, &(int64_t){2 * zone});
    measure_step(&b);
    if (r->id == 0)
        printf("{\"device\":\"%s\",\"ranks\":%d,\"step_us\":%.1f,\"graph\":\"%s\"}\n",
               b.p.device.name, r->n_ranks, 1e6 * b.p.step_sec, graph);
    double start = hap_seconds();
    int n = sizes_of(mib_text, largest, mib), done = 0, n_kinds = 0;
    for (int k = 0; k < N_KINDS; k++)
        n_kinds += wanted_kind(kinds_wanted, kinds[k].name);
    for (int k = 0; k < N_KINDS; k++)
        for (int i = 0; i < n && wanted_kind(kinds_wanted, kinds[k].name); i++)
            run_size(&b, k, (int64_t)mib[i] << 20, mib[i] <= checked, rounds,
                     start + seconds * ++done / (n_kinds * n));
    if (r->id == 0) printf("{\"seconds\":%.1f}\n", hap_seconds() - start);
    profile_begin(&b.p);
    free(b.p.call);
    free(b.p.owned);
    return hap_finish(r);
}
