// A random problem that can be trained here, as files: tests/train/train_random.sh.
//
//     random_plan NUMBER DIR     DIR/problem.json, .yaml; DIR/one.yaml, a device with room for all;
//                                three steps of DIR/x.npy or ids.npy, and labels.npy; DIR/options
//
// The problem has a plan: the first number from NUMBER on that has. On stdout: that number, what
// the problem is. Options are drawn too; half of the problems have none.

#include <stdlib.h>
#include <string.h>

#include "tests/support/problem.h"

enum { MOST_RANKS = 6, STEPS = 3 };

static void draw_options(random_source *r, problem *p)
{
    static const char *const strategies[] = {"zero", "tp", "dp-prop", "hap"};
    problem_options *o = &p->options;
    if (random_below(r, 2)) return;
    if (random_below(r, 2)) o->micro = 2 << random_below(r, 2);
    if (random_below(r, 2))
        snprintf(o->recompute, sizeof o->recompute, "%d", 1 + random_below(r, p->model.n_layers));
    if (random_below(r, 3) == 0) o->mesh = random_below(r, 2) ? "flat" : "machine";
    if (random_below(r, 3) == 0) o->strategy = strategies[random_below(r, 4)];
}

static problem first_planned(uint64_t *number)
{
    for (;; ++*number) {
        random_source r = {hb_hash(number, sizeof *number)};
        problem p = problem_random(&r, (problem_sizes){.run = true, .max_devices = MOST_RANKS});
        draw_options(&r, &p);
        if (p.options.micro && p.model.batch % p.options.micro) continue;
        if (problem_plan(&p).status == PROBLEM_PLANNED) return p;
    }
}

// rows of `width` random numbers: floats in [-1, 1), or ids below `below`
static void write_npy(hb_arena *a, const char *path, random_source *r, int64_t rows, int64_t width,
                      int below)
{
    hb_str dims = width ? hb_fmt(a, "(%lld, %lld)", (long long)rows, (long long)width)
                        : hb_fmt(a, "(%lld,)", (long long)rows);
    hb_str dict = hb_fmt(a, "{'descr': '%s', 'fortran_order': False, 'shape': %.*s, }",
                         below ? "<i8" : "<f4", HB_ARG(dims));
    hb_buf b = {.arena = a};
    hb_putn(&b, "\x93NUMPY\x01\x00\x76\x00", 10); // version 1.0, 118 bytes of dictionary
    hb_printf(&b, "%-117s\n", dict.p);
    for (int64_t i = 0; i < rows * (width ? width : 1); i++) {
        int64_t id = below ? random_below(r, below) : 0;
        float x = (float)random_below(r, 2048) / 1024.0F - 1;
        if (below)
            hb_putn(&b, (const char *)&id, sizeof id);
        else
            hb_putn(&b, (const char *)&x, sizeof x);
    }
    bool good = hb_write_file(path, hb_done(&b));
    hb_assert(good && "the folder can be written");
}

static void write_inputs(hb_arena *a, const problem_model *m, random_source *r, const char *dir)
{
    bool text = m->kind == PROBLEM_GPT || m->kind == PROBLEM_MOE;
    int64_t rows = STEPS * m->batch;
    hb_str labels = hb_fmt(a, "%s/labels.npy", dir), x = hb_fmt(a, "%s/x.npy", dir),
           ids = hb_fmt(a, "%s/ids.npy", dir);
    write_npy(a, labels.p, r, rows, text ? m->tokens : 0, (int)m->vocabulary);
    if (text)
        write_npy(a, ids.p, r, rows, m->tokens, (int)m->vocabulary);
    else
        write_npy(a, x.p, r, rows, m->width, 0);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: random_plan NUMBER DIR\n", stderr);
        return 2;
    }
    hb_arena *a = hb_arena_new();
    uint64_t number = problem_number(argv[1]);
    problem p = first_planned(&number), one = {.model = p.model};
    one.cluster = (problem_cluster){.cpu = true, .n_classes = 1, .n_machines = 1};
    one.cluster.cls[0] = (problem_class){0.1, 64, 20};
    one.cluster.machine[0] = (problem_machine){1, {{0, 1}}, 4, 5};
    random_source r = {number};
    problem_write(a, &p, hb_fmt(a, "%s/problem", argv[2]).p);
    bool good = hb_write_file(hb_fmt(a, "%s/one.yaml", argv[2]).p, problem_yaml(a, &one.cluster)) &&
                hb_write_file(hb_fmt(a, "%s/options", argv[2]).p, problem_words(a, &p.options));
    hb_assert(good && "the folder can be written");
    write_inputs(a, &p.model, &r, argv[2]);
    printf("%llu: %.*s\n", (unsigned long long)number, HB_ARG(problem_summary(a, &p)));
    hb_arena_free(a);
    return 0;
}
