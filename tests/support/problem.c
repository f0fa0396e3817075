#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double random_real(random_source *r, double least, double most)
{
    double x = random_below(r, 1 << 20) / (double)(1 << 20);
    return least * pow(most / least, x);
}

static int64_t one_of(random_source *r, int n, const int64_t *v)
{
    return v[random_below(r, n)];
}

#define ONE_OF(r, ...)                                                                             \
    one_of(r, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

// --- models ---

static problem_model random_model(random_source *r, bool run, bool few_layers)
{
    static const problem_kind kinds[] = {PROBLEM_GPT, PROBLEM_GPT, PROBLEM_MLP, PROBLEM_MOE,
                                         PROBLEM_BRANCHES};
    problem_model m = {.kind = kinds[random_below(r, 5)], .clip = random_below(r, 2)};
    bool text = m.kind == PROBLEM_GPT || m.kind == PROBLEM_MOE;
    bool unlike = random_below(r, 4) == 0;
    m.width = text ? ONE_OF(r, 128, 256, 512, 768, 1024) : ONE_OF(r, 512, 1024, 2048, 4096);
    m.heads = m.width / 64 < 3 ? 4 : m.width / 64;
    m.vocabulary = text ? ONE_OF(r, 512, 4096, 30522, 50257) : ONE_OF(r, 10, 1000, 4096);
    m.batch = text ? ONE_OF(r, 4, 8, 16, 32, 64, 24) : ONE_OF(r, 256, 1024, 2048, 8192, 16384);
    m.tokens = ONE_OF(r, 32, 128, 512, 1024);
    m.experts = ONE_OF(r, 4, 8, 16);
    m.tied = m.kind == PROBLEM_GPT && random_below(r, 2);
    m.n_layers = m.kind == PROBLEM_GPT   ? 2 + random_below(r, 3)
                 : m.kind == PROBLEM_MLP ? 2 + random_below(r, 9)
                                         : 2 + random_below(r, 3);
    if (random_below(r, 20) == 0) m.n_layers = 8 + random_below(r, 13);
    if (run) { // parameters of more and of fewer elements than stay whole
        m.width = ONE_OF(r, 64, 128, 256);
        m.heads = 4;
        m.vocabulary = ONE_OF(r, 97, 521, 1031);
        m.batch = ONE_OF(r, 4, 8, 12, 24);
        m.tokens = ONE_OF(r, 8, 16, 24);
        m.experts = 4;
        m.n_layers = m.n_layers > 5 ? 5 : m.n_layers;
    }
    if (few_layers) {
        int most = text ? 2 : m.kind == PROBLEM_MLP ? 5 : 3;
        m.n_layers = m.n_layers > most ? most : m.n_layers;
    }
    for (int i = 0; i <= m.n_layers && i <= PROBLEM_LAYERS; i++)
        m.hidden[i] = text ? 4 * m.width : m.width;
    for (int i = 0; i <= m.n_layers && i <= PROBLEM_LAYERS && unlike; i++)
        m.hidden[i] = m.width * (1 + random_below(r, 8)) / 2;
    return m;
}

// --- clusters ---

// f32 TFLOP/s, GB, GB/s: H200, H100, A100 twice, V100 twice, P100, T4, L4
static const problem_class gpus[] = {{67, 141, 4800},  {67, 80, 3350},  {19.5, 80, 2000},
                                     {19.5, 40, 1555}, {15.7, 32, 900}, {15.7, 16, 900},
                                     {9.5, 16, 732},   {8.1, 16, 320},  {30.3, 24, 300}};
// Slow ones, so that small models are worth several of them.
static const problem_class cpus[] = {{2e-3, 16, 4}, {1.5e-3, 12, 3}, {1e-3, 8, 2}, {3e-4, 4, 1}};

problem_class problem_random_class(random_source *r, bool cpu)
{
    return cpu ? cpus[random_below(r, 4)] : gpus[random_below(r, 9)];
}

void problem_random_link(random_source *r, bool cpu, problem_machine *m)
{
    static const double gbps[] = {12, 20, 50, 150, 240, 370};
    m->gbps = cpu ? random_real(r, 0.05, 10) : gbps[random_below(r, 6)];
    m->us = random_real(r, 4, 15);
}

static problem_machine random_machine(random_source *r, bool cpu, int n_classes, int n)
{
    problem_machine m = {0};
    problem_random_link(r, cpu, &m);
    int first = random_below(r, n_classes), own = n > 1 && random_below(r, 3) == 0;
    int rest = own ? 1 + random_below(r, n - 1) : 0;
    m.group[m.n_groups++] = (struct problem_group){first, n - rest};
    if (own) m.group[m.n_groups++] = (struct problem_group){random_below(r, n_classes), rest};
    return m;
}

static problem_cluster random_cluster(random_source *r, problem_sizes s)
{
    static const int machines[] = {1, 1, 1, 2, 2, 2, 3, 4};
    static const double net[] = {1, 10, 25, 100, 200, 400};
    int most = s.max_devices > 0 ? s.max_devices : 10, left = most;
    int classes = s.max_classes > 0 ? s.max_classes : 4;
    problem_cluster c = {.cpu = s.run};
    c.n_classes = 1 + random_below(r, 1 + random_below(r, classes)); // fewer are likelier
    for (int i = 0; i < c.n_classes; i++)
        c.cls[i] = problem_random_class(r, s.run);
    c.n_machines = machines[random_below(r, 8)];
    if (c.n_machines > most) c.n_machines = most;
    bool equal = random_below(r, 2); // counts: then there is a mesh of machines
    int n = 1 + random_below(r, most / c.n_machines);
    for (int i = 0; i < c.n_machines; i++) {
        int room = left - (c.n_machines - 1 - i);
        int want = equal ? n : 1 + random_below(r, most);
        int devices = want < room ? want : room;
        c.machine[i] = random_machine(r, s.run, c.n_classes, devices);
        left -= devices;
    }
    c.net_gbit = s.run ? random_real(r, 0.2, 80) : net[random_below(r, 6)];
    c.net_us = random_below(r, 12) ? random_real(r, 5, 300) : 1e4;
    return c;
}

int problem_devices(const problem_cluster *c)
{
    int n = 0;
    for (int i = 0; i < c->n_machines; i++)
        for (int g = 0; g < c->machine[i].n_groups; g++)
            n += c->machine[i].group[g].n;
    return n;
}

void problem_tighten(random_source *r, problem *p, double least, double most)
{
    double share[PROBLEM_CLASSES], sum = 0, all = random_real(r, least, most);
    problem_cluster *c = &p->cluster;
    for (int i = 0; i < c->n_classes; i++)
        share[i] = random_real(r, 0.2, 2);
    for (int i = 0; i < c->n_machines; i++)
        for (int g = 0; g < c->machine[i].n_groups; g++)
            sum += share[c->machine[i].group[g].cls] * c->machine[i].group[g].n;
    for (int i = 0; i < c->n_classes; i++)
        c->cls[i].gb = problem_bytes(&p->model) * 1e-9 * share[i] * all / sum;
}

problem problem_random(random_source *r, problem_sizes s)
{
    problem p = {.model = random_model(r, s.run, s.few_layers), .cluster = random_cluster(r, s)};
    if (random_below(r, s.few_layers ? 8 : 2) == (s.few_layers ? 0 : 1))
        problem_tighten(r, &p, 1.2, 4);
    return p;
}

// --- as text ---

hb_str problem_yaml(hb_arena *a, const problem_cluster *c)
{
    hb_buf b = {.arena = a};
    hb_puts(&b, "name: problem\nmachines:\n");
    for (int i = 0; i < c->n_machines; i++) {
        const problem_machine *m = &c->machine[i];
        hb_printf(&b, "  - name: m%d\n    devices:\n", i);
        for (int g = 0; g < m->n_groups; g++) {
            const problem_class *k = &c->cls[m->group[g].cls];
            hb_printf(&b,
                      "      - {name: c%d, kind: %s, f32: %.9g TFLOP/s, memory: %.12g GB, "
                      "memory_bandwidth: %.9g GB/s, count: %d}\n",
                      m->group[g].cls, c->cpu ? "cpu" : "gpu", k->tflops, k->gb, k->gbps,
                      m->group[g].n);
        }
        hb_printf(&b, "    link: {bandwidth: %.9g GB/s, latency: %.9g us}\n", m->gbps, m->us);
    }
    if (c->n_machines > 1)
        hb_printf(&b, "network: {bandwidth: %.9g Gbit/s, latency: %.9g us}\n", c->net_gbit,
                  c->net_us);
    hb_puts(&b, "source: datasheet\n");
    return hb_done(&b);
}

hb_str problem_words(hb_arena *a, const problem_options *o)
{
    hb_buf b = {.arena = a};
    if (o->mesh) hb_printf(&b, " --mesh %s", o->mesh);
    if (o->strategy) hb_printf(&b, " --strategy %s", o->strategy);
    if (o->micro > 0) hb_printf(&b, " --micro-batches %d", o->micro);
    if (o->micro < 0) hb_puts(&b, " --micro-batches auto");
    if (o->recompute[0]) hb_printf(&b, " --recompute %s", o->recompute);
    if (o->pin[0]) hb_printf(&b, " --pin '%s'", o->pin);
    return b.n ? hb_done(&b) : HB_STR("");
}

hb_str problem_summary(hb_arena *a, const problem *p)
{
    static const char *const kinds[] = {"mlp", "gpt", "moe", "branches"};
    const problem_model *m = &p->model;
    const problem_cluster *c = &p->cluster;
    hb_buf b = {.arena = a};
    hb_printf(&b, "%s %d x %lld, batch %lld", kinds[m->kind], m->n_layers, (long long)m->width,
              (long long)m->batch);
    if (m->kind == PROBLEM_GPT || m->kind == PROBLEM_MOE)
        hb_printf(&b, " x %lld", (long long)m->tokens);
    for (int i = 0; i < c->n_machines; i++) {
        hb_puts(&b, i ? " | " : " on ");
        for (int g = 0; g < c->machine[i].n_groups; g++) {
            const problem_class *k = &c->cls[c->machine[i].group[g].cls];
            hb_printf(&b, "%s%dx(%.3gT %.3gGB)", g ? "+" : "", c->machine[i].group[g].n, k->tflops,
                      k->gb);
        }
        hb_printf(&b, " %.3g GB/s", c->machine[i].gbps);
    }
    if (c->n_machines > 1) hb_printf(&b, " net %.3g Gbit/s %.3g us", c->net_gbit, c->net_us);
    hb_printf(&b, "%.*s", HB_ARG(problem_words(a, &p->options)));
    return hb_done(&b);
}

hb_str problem_write(hb_arena *a, const problem *p, const char *base)
{
    hb_str json = hb_fmt(a, "%s.json", base), yaml = hb_fmt(a, "%s.yaml", base);
    bool good = hb_write_file(json.p, problem_graph(a, &p->model)) &&
                hb_write_file(yaml.p, problem_yaml(a, &p->cluster));
    hb_assert(good && "the folder can be written");
    return hb_fmt(a, "hapc %.*s %.*s%.*s --json", HB_ARG(json), HB_ARG(yaml),
                  HB_ARG(problem_words(a, &p->options)));
}

uint64_t problem_number(const char *text)
{
    return strtoull(text, NULL, 10);
}

uint64_t problem_fresh_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) * 10000;
}
