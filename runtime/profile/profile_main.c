// The measuring program: starts like a program of hapc, measures, and rank 0 writes what all ranks
// found. Options: --out FILE, --quick, --tf32 (matmuls alone, those of f32 in tf32), --colls
// (collectives alone), --sms and --hosts A,B,… (of each rank, as hap_places), --progress FROM,TO
// (of a bar on stdout); the others are those of every program (hap/run_options.def).

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/comm.h"
#include "core/fail.h"
#include "core/float16.h"
#include "core/heartbeat.h"
#include "core/philox.h"
#include "profile/profile.h"

typedef struct options {
    const char *out, *sms, *hosts;
    bool quick, tf32, colls, progress;
    double from, to;
} options;

// What is not ours goes to rest, *n_rest words.
static void parse(options *o, int argc, char **argv, char **rest, int *n_rest)
{
    for (int i = 1; i < argc; i++) {
        const char *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0)
            o->quick = true;
        else if (strcmp(argv[i], "--tf32") == 0)
            o->tf32 = true;
        else if (strcmp(argv[i], "--colls") == 0)
            o->colls = true;
        else if (strcmp(argv[i], "--out") == 0 && v)
            o->out = argv[++i];
        else if (strcmp(argv[i], "--sms") == 0 && v)
            o->sms = argv[++i];
        else if (strcmp(argv[i], "--hosts") == 0 && v)
            o->hosts = argv[++i];
        else if (strcmp(argv[i], "--progress") == 0 && v)
            o->progress = sscanf(argv[++i], "%lf,%lf", &o->from, &o->to) == 2;
        else
            rest[(*n_rest)++] = argv[i];
    }
}

static void read_options(hap_rank *r, options *o, int argc, char **argv)
{
    char why[256] = "", **rest = hap_alloc(r, sizeof *rest * (size_t)(argc + 1));
    int n = 0;
    if (argc > 0) rest[n++] = argv[0];
    parse(o, argc, argv, rest, &n);
    if (hap_options_parse(&r->opt, n, rest, why, sizeof why) && !o->out)
        snprintf(why, sizeof why, "the measuring program wants --out");
    free(rest);
    hap_agree(r, HAP_EXIT_USAGE, why);
    // Steps that are timed run in one way.
    if (r->opt.cuda.graph == HAP_CUDA_graph_usual) r->opt.cuda.graph = HAP_CUDA_graph_on;
}

// "64,64,132": one a rank. NULL if there is none.
static int *numbers(hap_rank *r, const char *text)
{
    if (!text) return NULL;
    int *x = hap_alloc(r, sizeof *x * (size_t)r->n_ranks);
    for (int i = 0; i < r->n_ranks; i++) {
        x[i] = atoi(text);
        const char *comma = strchr(text, ',');
        text = comma ? comma + 1 : "0";
    }
    return x;
}

// What cases read: normal numbers, in words whose halves are bf16 numbers, too; and indices. Not
// zeros, and not all small: kernels may be quicker on those. One block of numbers is repeated.
static void fill(profile *p)
{
    enum { WORDS = 1 << 20 };
    hap_rank *r = p->r;
    uint32_t word[4], *block = hap_alloc(r, WORDS * sizeof *block);
    for (int64_t i = 0; i < WORDS; i += 2) {
        double v[4];
        hap_philox_normal4((uint64_t)i, 1, v);
        for (int k = 0; k < 2; k++)
            block[i + k] = (uint32_t)hap_f32_to_bf16((float)v[2 * k]) << 16 |
                           hap_f32_to_bf16((float)v[2 * k + 1]);
    }
    for (int64_t at = 0, all = p->zone[PROFILE_IN]; at < all; at += WORDS * 4) {
        int64_t n = all - at < WORDS * 4 ? (all - at) / 4 : WORDS;
        hap_tensor *t = hap_at(r, SEG_LOCAL, &at, HAP_F32, 1, HAP_DIMS(WHOLE(n)));
        void *x = hap_backend_open(r, t, true);
        memcpy(x, block, (size_t)n * 4);
        hap_backend_close(r, t, x, true);
        hap_tensor_free_all(r);
    }
    free(block);
    int64_t at = p->zone[PROFILE_IN] + p->zone[PROFILE_OUT], n = p->ids / 8;
    hap_tensor *t = hap_at(r, SEG_LOCAL, &at, HAP_I64, 1, HAP_DIMS(WHOLE(n)));
    int64_t *id = hap_backend_open(r, t, true);
    for (int64_t i = 0; i < n; i++) {
        hap_philox((const uint32_t[]){(uint32_t)i, 0, 0, 0}, 2, word);
        id[i] = word[0] % PROFILE_IDS;
    }
    hap_backend_close(r, t, id, true);
    hap_tensor_free_all(r);
}

// One-sided puts are measured between ranks of one host alone.
static bool one_host(hap_rank *r)
{
    char first[sizeof r->host];
    memcpy(first, r->host, sizeof first);
    hap_comm_broadcast(r, first, sizeof first);
    return hap_comm_min(r, strcmp(first, r->host) == 0) == 1;
}

// Of a step with one small op, less that op.
static void measure_step(profile *p)
{
    double sec[2];
    enum { MANY = 40 };
    p->heat = p->device.gpu ? 0.2 : 0; // a device that rested runs at low clocks
    for (int i = 0; i < 2; i++) {
        profile_begin(p);
        for (int k = 0; k < (i ? MANY + 1 : 1); k++) {
            hap_op_call *c = &profile_add(p, CALL_OP)->op;
            *c = (hap_op_call){.op = HAP_OP_scale, .n_in = 1, .n_out = 1, .n_attr = 1};
            c->in[0] = profile_tensor(p, PROFILE_IN, HAP_F32, 1, (int64_t[]){64});
            c->out[0] = profile_tensor(p, PROFILE_OUT, HAP_F32, 1, (int64_t[]){64});
            c->attr[0].f = 0.5;
        }
        sec[i] = profile_run(p);
    }
    double step = sec[0] - (sec[1] - sec[0]) / MANY;
    p->step_sec = step > 0 ? step : 0;
    p->heat = 0;
}

static void measure_all(profile *p, bool colls)
{
    static const struct {
        const char *what;
        void (*measure)(profile *);
        bool whole; // not of collectives alone
    } part[] = {{"dense ops", profile_dense, true},
                {"ops by rows", profile_rows, true},
                {"collectives", profile_colls, false},
                {"runs of memory", profile_runs, true},
                {"contention", profile_contention, false},
                {"collectives in a step", profile_in_step, false},
                {"pairs", profile_pairs, false}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (colls && part[i].whole) continue;
        double from = hap_seconds();
        int cases = p->n_cases;
        part[i].measure(p);
        if (p->r->opt.verbose && p->r->id == 0)
            fprintf(stderr, "%s: %d cases in %.1f s\n", part[i].what, p->n_cases - cases,
                    hap_seconds() - from);
    }
}

static const char *const kind_name[] = {"op",   "copy", "collective", "contention",
                                        "pair", "run",  "overhead"};

// One line a figure, with the seconds of all ranks.
// What all ranks measured, on rank 0.
typedef struct gathered {
    hap_device *device;
    char (*host)[sizeof((hap_rank *)0)->host];
    double *sec; // [result][rank]
} gathered;

static void send_results(const profile *p)
{
    hap_rank *r = p->r;
    hap_comm_send(r, 0, &p->device, sizeof p->device);
    hap_comm_send(r, 0, r->host, sizeof r->host);
    for (int i = 0; i < p->n_results; i++)
        hap_comm_send(r, 0, &p->result[i].sec, sizeof(double));
}

static gathered gather_results(const profile *p)
{
    hap_rank *r = p->r;
    int n = r->n_ranks;
    gathered x = {.device = hap_alloc(r, sizeof *x.device * (size_t)n),
                  .host = hap_alloc(r, sizeof *x.host * (size_t)n),
                  .sec = hap_alloc(r, sizeof *x.sec * (size_t)(p->n_results * n + 1))};
    x.device[0] = p->device;
    memcpy(x.host[0], r->host, sizeof r->host);
    for (int i = 0; i < p->n_results; i++)
        x.sec[i * n] = p->result[i].sec;
    for (int q = 1; q < n; q++) {
        hap_comm_recv(r, q, &x.device[q], sizeof *x.device);
        hap_comm_recv(r, q, x.host[q], sizeof *x.host);
        for (int i = 0; i < p->n_results; i++)
            hap_comm_recv(r, q, &x.sec[i * n + q], sizeof(double));
    }
    return x;
}

static void print_results(FILE *f, const profile *p, const gathered *x)
{
    int n = p->r->n_ranks;
    fprintf(f, "{\"ranks\":[");
    for (int q = 0; q < n; q++) {
        const hap_device *d = &x->device[q];
        fprintf(f, "%s\n{\"device\":\"", q ? "," : "");
        for (const char *c = d->name; *c; c++)
            if (*c != '"' && *c != '\\' && (unsigned char)*c >= ' ') fputc(*c, f);
        fprintf(f, "\",\"host\":\"%s\",\"gpu\":%s,\"units\":%d,\"memory\":%lld,\"reserve\":%lld}",
                x->host[q], d->gpu ? "true" : "false", d->units, (long long)d->memory,
                (long long)d->reserve);
    }
    fprintf(f, "],\n\"results\":[");
    for (int i = 0; i < p->n_results; i++) {
        const profile_result *y = &p->result[i];
        fprintf(
            f,
            "%s\n{\"kind\":\"%s\",\"name\":\"%s\",\"form\":\"%s\",\"dtype\":\"%s\",\"thin\":%.9g,"
            "\"size\":%.9g,\"sec\":[",
            i ? "," : "", kind_name[y->kind], y->name, y->form, y->dtype, y->thin, y->size);
        for (int q = 0; q < n; q++)
            fprintf(f, "%s%.6g", q ? "," : "", x->sec[i * n + q]);
        fprintf(f, "]}");
    }
    fprintf(f, "]}\n");
}

static void write_results(profile *p, const char *path)
{
    hap_rank *r = p->r;
    char why[512] = "";
    HAP_CK(r, hap_comm_min(r, p->n_results) == p->n_results, "ranks measured different cases");
    if (r->id > 0) {
        send_results(p);
        hap_agree(r, HAP_EXIT_INPUT, why);
        return;
    }
    gathered x = gather_results(p);
    FILE *f = fopen(path, "w");
    if (!f) {
        snprintf(why, sizeof why, "%s cannot be written", path);
        hap_agree(r, HAP_EXIT_INPUT, why);
    }
    print_results(f, p, &x);
    if (ferror(f) | fclose(f)) snprintf(why, sizeof why, "%s cannot be written", path);
    free(x.device);
    free(x.host);
    free(x.sec);
    hap_agree(r, HAP_EXIT_INPUT, why);
}

int main(int argc, char **argv)
{
    static hap_rank rank; // a process is one rank
    hap_rank *r = &rank;
    options o = {.to = 100};
    profile p = {.r = r};
    r->seg_bytes[SEG_SYM] = r->seg_bytes[SEG_LOCAL] = -1;
    hap_comm_start(r, &argc, &argv);
    read_options(r, &o, argc, argv);
    const char *unheard = hap_beat_start(r);
    if (unheard) hap_fail(r, HAP_EXIT_FAILED, "%s", unheard);
    if (o.tf32) hap_math(r, HAP_MATH_TF32);
    int *sms = numbers(r, o.sms), *hosts = numbers(r, o.hosts);
    if (sms || hosts) hap_places(r, NULL, sms, hosts);
    hap_mesh(r, 1, &r->n_ranks);
    int *class_of = hap_alloc(r, sizeof *class_of * (size_t)r->n_ranks);
    memset(class_of, 0, sizeof *class_of * (size_t)r->n_ranks);
    hap_classes(r, class_of);
    hap_backend_device(r, &p.device);
    p.quick = o.quick;
    p.only_dense = o.tf32;
    p.dense_dtype = o.tf32 ? "tf32" : "f32";
    p.shown = o.progress;
    p.from = o.from;
    p.to = o.to;
    int64_t bytes = p.quick ? 24 << 20 : p.device.gpu ? (int64_t)8 << 30 : 512 << 20;
    if (bytes > p.device.memory / 2) bytes = p.device.memory / 2;
    bytes = (int64_t)hap_comm_min(r, (int)(bytes >> 20)) << 20; // the same cases fit on all
    p.ids = p.quick ? 1 << 17 : 1 << 22;
    p.zone[PROFILE_IN] = p.zone[PROFILE_OUT] = (bytes - p.ids) / 2 / 4096 * 4096;
    p.peers = (p.device.gpu || p.quick) && one_host(r) && !hosts && r->n_ranks > 1 && !o.tf32;
    p.zone[PROFILE_SYM] = p.peers ? p.zone[PROFILE_IN] / 2 : 0;
    hap_segments(r, p.zone[PROFILE_SYM], &(int64_t){2 * p.zone[PROFILE_IN] + p.ids});
    p.n_expected = p.quick ? 228 : o.colls ? 143 : o.tf32 ? 96 : 569;
    fill(&p);
    measure_step(&p);
    measure_all(&p, o.colls);
    profile_begin(&p);
    if (p.device.gpu)
        hap_backend_device(r, &p.device); // reserve: with what libraries took meanwhile
    write_results(&p, o.out);
    free(sms);
    free(hosts);
    free(class_of);
    free(p.result);
    free(p.call);
    free(p.owned);
    return hap_finish(r);
}
