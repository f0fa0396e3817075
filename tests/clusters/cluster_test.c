#include "clusters/cluster.h"

#include <check.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static hb_str printed(const hb_diag *d)
{
    char *buf;
    size_t n;
    FILE *f = open_memstream(&buf, &n);
    hb_diag_print(d, f);
    fclose(f);
    hb_str s = hb_str_n(arena, buf, n);
    free(buf);
    return s;
}

static cl_cluster *sample(const char *name)
{
    hb_diag *d = hb_diag_new(arena);
    cl_cluster *c = cl_read(arena, hb_fmt(arena, "clusters/%s.yaml", name).p, NULL, d);
    ck_assert_msg(c != NULL, "%s", printed(d).p);
    return c;
}

static cl_cluster *from_text(const char *text)
{
    hb_diag *d = hb_diag_new(arena);
    hb_source *src = HB_NEW(arena, hb_source);
    *src = (hb_source){HB_STR("dir/x.yaml"), hb_str_c(arena, text)};
    cl_cluster *c = cl_read_source(arena, src, "clusters/devices.yaml", d);
    ck_assert_msg(c != NULL, "%s", printed(d).p);
    return c;
}

// n machines of a device each, of which no two are alike, every other one of `kinds` kinds.
static hb_str unlike(int n, int kinds)
{
    hb_buf b = {.arena = arena};
    hb_puts(&b, "name: unlike\nmachines:\n");
    for (int i = 0; i < n; i++)
        hb_printf(&b,
                  "  - devices: [{name: d%d, kind: cpu, f32: %d TFLOP/s, memory: %d GB, "
                  "memory_bandwidth: %d GB/s, threads: %d}]\n"
                  "    link: {bandwidth: 12 GB/s, latency: 9 us}\n",
                  i, 10 + i, 100 - i > 0 ? 100 - i : 1, 1000 + 7 * (i % 10), 10 + i % kinds);
    hb_puts(&b, "network: {bandwidth: 100 Gbit/s, latency: 20 us}\n");
    return hb_done(&b);
}

// More kinds than a plan has classes: near ones are one, at what the least of them has.
START_TEST(unlike_devices_are_joined)
{
    for (int n = 16; n <= 400; n += 96) {
        cl_cluster *c = from_text(unlike(n, 1).p);
        ck_assert_int_eq(c->n_ranks, n);
        ck_assert_int_eq(c->n_classes, CL_MAX_CLASSES);
        int count[CL_MAX_CLASSES] = {0};
        for (int r = 0; r < n; r++) {
            const cl_class *k = &c->cls[c->class_of[r]];
            count[c->class_of[r]]++;
            ck_assert_double_le(k->f32, (10 + r) * 1e12);
            ck_assert_int_le(k->memory, (100 - r > 0 ? 100 - r : 1) * (int64_t)1000000000);
            ck_assert_int_eq(k->capacity, k->memory - k->reserve);
        }
        for (int k = 0; k < CL_MAX_CLASSES; k++) {
            ck_assert_int_eq(count[k], c->cls[k].n_ranks);
            ck_assert_int_ge(count[k], 1);
            for (int j = 0; j < k; j++)
                ck_assert(!hb_str_eq(c->cls[j].name, c->cls[k].name));
        }
    }
}
END_TEST

// Rank `r` of the one and `q` of the other are the same device in the same place.
static void same_rank(const cl_cluster *x, int r, const cl_cluster *y, int q)
{
    const cl_class *a = &x->cls[x->class_of[r]], *b = &y->cls[y->class_of[q]];
    const cl_machine *m = &x->machine[x->machine_of[r]], *k = &y->machine[y->machine_of[q]];
    ck_assert(hb_str_eq(a->model, b->model));
    ck_assert(a->f32 == b->f32 && a->bf16 == b->bf16 && a->memory == b->memory);
    ck_assert(a->sms == b->sms && a->threads == b->threads && a->reserve == b->reserve);
    ck_assert(a->launch_overhead == b->launch_overhead && a->kind == b->kind);
    ck_assert(a->slowdown == b->slowdown);
    ck_assert(hb_str_eq(x->curves_of[r], y->curves_of[q]));
    if (a->kind == CL_GPU) ck_assert_int_eq(x->number_of[r], y->number_of[q]);
    ck_assert(a->link_bandwidth == b->link_bandwidth && a->link_latency == b->link_latency);
    ck_assert(hb_str_eq(m->name, k->name) && hb_str_eq(m->host, k->host));
    ck_assert(m->peer == k->peer);
}

// What is left of a cluster reads as the same devices, machines and links. gone: by rank.
static void check_left(const cl_cluster *c, const char *path, const bool *gone)
{
    hb_diag *d = hb_diag_new(arena);
    hb_source *src = HB_NEW(arena, hb_source), *rest = HB_NEW(arena, hb_source);
    *src = (hb_source){hb_str_c(arena, path), c->text};
    *rest = (hb_source){src->name, cl_left(arena, src, c, gone, NULL, (hb_str){0}, d)};
    cl_cluster *left = cl_read_source(arena, rest, "clusters/devices.yaml", d);
    ck_assert_msg(left != NULL, "%s", printed(d).p);
    int at = 0;
    for (int r = 0; r < c->n_ranks; r++)
        if (!gone[r]) same_rank(c, r, left, at++);
    ck_assert_int_eq(left->n_ranks, at);
    if (left->n_machines > 1) ck_assert(left->network_bandwidth == c->network_bandwidth);
    ck_assert(hb_str_eq(left->curves, c->curves) && hb_str_eq(left->source, c->source));
}

START_TEST(what_is_left_is_the_same_devices)
{
    static const char hosts[] =
        "name: 'two: racks'\nmachines:\n"
        "  - {count: 2, hosts: [a, b@x], devices: [{model: H200, count: 2}, {name: \"8\", kind: cpu, "
        "f32: 1e3 GFLOP/s, memory: 8 GB, memory_bandwidth: 9 GB/s, threads: 2, launch_overhead: 3 "
        "us}], link: {bandwidth: 9 GB/s, latency: 0.5 us}, peer: true}\n"
        "  - devices: [{model: T4}]\nnetwork: {bandwidth: 1 GB/s, latency: 0 us}\n";
    static const char *const names[] = {
        "laptop", "laptop2x2", "hap-paper", "v100x2-p100x6", "a100x2-v100x2", "hap-profiled", NULL};
    for (int i = 0, more = 1; more; i++) {
        more = names[i] != NULL;
        const char *path = more ? hb_fmt(arena, "clusters/%s.yaml", names[i]).p : "dir/x.yaml";
        cl_cluster *c = more ? sample(names[i]) : from_text(hosts);
        bool *gone = HB_ARRAY(arena, bool, c->n_ranks);
        unsigned seed = (unsigned)i;
        check_left(c, path, gone);
        for (int k = 0; k < 20; k++) {
            for (int r = 0; r < c->n_ranks; r++)
                gone[r] = (rand_r(&seed) >> 8) % 20 <= k;
            gone[k % c->n_ranks] = false;
            check_left(c, path, gone);
        }
        for (int m = 0; m < c->n_machines; m++) { // a whole host
            for (int r = 0; r < c->n_ranks; r++)
                gone[r] = c->machine_of[r] == m && c->n_machines > 1;
            check_left(c, path, gone);
        }
    }
}
END_TEST

// GPUs keep the numbers of their host: what is left of a host does without the one that was lost.
START_TEST(numbers_of_gpus_stay)
{
    cl_cluster *c = from_text(
        "name: x\nmachines:\n"
        "  - {devices: [{model: H200, count: 3, numbers: [0, 2, 5]}, {model: T4, numbers: [1]}, "
        "{name: c, kind: cpu, f32: 1 TFLOP/s, memory: 8 GB, memory_bandwidth: 9 GB/s}], "
        "link: {bandwidth: 9 GB/s, latency: 1 us}}\n"
        "  - {devices: [{model: T4, count: 2}], link: {bandwidth: 9 GB/s, latency: 1 us}}\n"
        "network: {bandwidth: 1 GB/s, latency: 9 us}\n");
    for (int r = 0, number[] = {0, 2, 5, 1, 4, 0, 1}; r < 7; r++)
        ck_assert_int_eq(c->number_of[r], number[r]);
    for (int lost = 0; lost < 1 << 7; lost++) {
        bool gone[7];
        for (int r = 0; r < 7; r++)
            gone[r] = lost >> r & 1;
        if (lost + 1 < 1 << 7) check_left(c, "x.yaml", gone);
    }
    // Numbers are said where they are other ones than the places alone.
    hb_source src = {HB_STR("x.yaml"), c->text};
    const bool first[7] = {false, true, true, true, true, false, true};
    hb_str text = cl_left(arena, &src, c, first, NULL, (hb_str){0}, hb_diag_new(arena));
    ck_assert_ptr_null(strstr(text.p, "numbers"));
}
END_TEST

// Two kinds of one model are told apart by a number: it stays when the first of them goes.
START_TEST(names_of_curves_stay)
{
    static const char text[] =
        "name: x\nmachines:\n"
        "  - {devices: [{model: T4, count: 2}], link: {bandwidth: 9 GB/s, latency: 1 us}}\n"
        "  - {devices: [{model: T4, count: 2}], link: {bandwidth: 5 GB/s, latency: 1 us}}\n"
        "network: {bandwidth: 1 GB/s, latency: 9 us}\n";
    cl_cluster *c = from_text(text);
    ck_assert(hb_str_is(c->cls[0].curve_name, "T4") && hb_str_is(c->cls[1].curve_name, "T4#2"));
    hb_diag *d = hb_diag_new(arena);
    hb_source src = {HB_STR("x.yaml"), c->text}, rest = {HB_STR("x.yaml"), {0}};
    const bool gone[4] = {true, true};
    rest.text = cl_left(arena, &src, c, gone, (double[4]){1, 1, 1, 2}, (hb_str){0}, d);
    cl_cluster *now = cl_read_source(arena, &rest, "clusters/devices.yaml", d);
    ck_assert_msg(now != NULL, "%s", printed(d).p);
    ck_assert_int_eq(now->n_classes, 2);
    ck_assert(hb_str_is(now->cls[0].curve_name, "T4#2") && hb_str_is(now->cls[0].name, "T4#2"));
    ck_assert(hb_str_is(now->cls[1].curve_name, "T4#2") &&
              hb_str_is(now->cls[1].name, "T4#2/slow2"));
}
END_TEST

// The same of --what-if: what is left, and what was changed, reads the curves that it read before.
START_TEST(names_of_curves_stay_in_changes)
{
    static const char text[] =
        "name: x\nmachines:\n"
        "  - {name: a, devices: [{model: T4, count: 2}], link: {bandwidth: 9 GB/s, latency: 1 us}}\n"
        "  - {name: b, devices: [{model: T4}], link: {bandwidth: 5 GB/s, latency: 1 us}}\n"
        "  - {name: c, count: 2, devices: [{model: T4}, {model: V100-16GB}], "
        "link: {bandwidth: 9 GB/s, latency: 1 us}}\n"
        "network: {bandwidth: 1 GB/s, latency: 9 us}\n%s";
    static const struct {
        const char *change, *curves[7], *name;
    } cases[] = {
        {"machines.a.count=0", {"T4#2", "T4", "V100-16GB", "T4", "V100-16GB"}, "T4#2"},
        {"machines.b.devices.T4.memory=8 GB",
         {"T4", "T4", "T4#2", "T4", "V100-16GB", "T4", "V100-16GB"},
         "T4"},
        {"machines.a.devices.T4.memory=8 GB",
         {"T4", "T4", "T4#2", "T4", "V100-16GB", "T4", "V100-16GB"},
         "T4"},
        {"machines.c.count=3", {"T4", "T4", "T4#2", "T4", "V100-16GB", "T4", "V100-16GB"}, "T4"},
    };
    char path[] = "/tmp/cluster_test-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert(hb_write_file(path, hb_fmt(arena, text, "measured: x.curves.json\n")));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_diag *d = hb_diag_new(arena);
        hb_str change = hb_str_c(arena, cases[i].change);
        cl_cluster *c = cl_read_changed(arena, path, "clusters/devices.yaml", &change, 1, d);
        ck_assert_msg(c != NULL, "%s", printed(d).p);
        for (int r = 0; r < 7 && cases[i].curves[r]; r++) {
            ck_assert_str_eq(c->curves_of[r].p, cases[i].curves[r]);
            ck_assert(hb_str_eq(c->curves_of[r], c->cls[c->class_of[r]].curve_name));
        }
        ck_assert_str_eq(c->cls[0].name.p, cases[i].name);
        for (int k = 0; k < c->n_classes; k++)
            for (int n = 0; n < k; n++)
                ck_assert(!hb_str_eq(c->cls[k].name, c->cls[n].name));
    }
    unlink(path);
}
END_TEST

// However its path is written, the file of curves is named as one beside.
START_TEST(curves_lie_beside)
{
    static const struct {
        const char *written, *name;
    } cases[] = {
        {"a/b/x.json", "x.json"},
        {"\"a/x.json\" # a/x.json", "x.json"},
        {"'a/x ''y.json'", "x 'y.json"},
        {"\"a/x \\\"y.json\"  # a", "x \"y.json"},
        {"\"a\\x2fx.json\" # a/x.json", "x.json"},
        {">-\n  a/x.json", "x.json"},
        {"x.json", "x.json"},
        {"\"\\x78.json\" # x.json", "x.json"},
    };
    static const char root[] =
        "name: x\nmachines: [{devices: [{model: T4, count: 2}], link: {bandwidth: 9 GB/s, "
        "latency: 1 us}}]\nmeasured: ";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cl_cluster *c = from_text(hb_fmt(arena, "%s%s\n", root, cases[i].written).p);
        hb_str beside = cl_curves_beside(arena, c);
        ck_assert_str_eq(from_text(beside.p)->curves.p, hb_fmt(arena, "dir/%s", cases[i].name).p);
    }
    // A value behind letters of more than a byte.
    cl_cluster *c =
        from_text("{name: \"\xc3\xa9\xc3\xa9\", measured: a/x.json, machines: [{devices: "
                  "[{model: T4}]}]}\n");
    ck_assert_str_eq(from_text(cl_curves_beside(arena, c).p)->curves.p, "dir/x.json");
}
END_TEST

START_TEST(emulated_hosts_lose_nothing)
{
    cl_cluster *c = sample("h200x4-mixed-sockets");
    hb_diag *d = hb_diag_new(arena);
    hb_source src = {HB_STR("clusters/h200x4-mixed-sockets.yaml"), c->text};
    bool gone[4] = {false, true, false, false};
    ck_assert_uint_eq(cl_left(arena, &src, c, gone, NULL, (hb_str){0}, d).n, 0);
    ck_assert_ptr_nonnull(strstr(printed(d).p, "not supported: a machine of emulated hosts"));
}
END_TEST

START_TEST(slowed_devices_are_classes_of_their_own)
{
    cl_cluster *c =
        from_text("name: x\nmachines:\n  - devices: [{name: V, kind: cpu, f32: 6 GFLOP/s, "
                  "memory: 8 GB, memory_bandwidth: 9 GB/s, count: 3, slowdown: 1.5}]\n"
                  "    link: {bandwidth: 9 GB/s, latency: 1 us}\n");
    hb_diag *d = hb_diag_new(arena);
    hb_source src = {HB_STR("x.yaml"), c->text}, rest = {HB_STR("x.yaml"), {0}};
    ck_assert_int_eq(c->n_classes, 1);
    ck_assert(c->cls[0].f32 == 4e9 && c->cls[0].memory_bandwidth == 6e9);
    ck_assert(hb_str_is(c->cls[0].name, "V/slow1.5") && hb_str_is(c->cls[0].curve_name, "V"));
    rest.text = cl_left(arena, &src, c, (bool[3]){false}, (double[3]){1, 3, 1}, (hb_str){0}, d);
    cl_cluster *now = cl_read_source(arena, &rest, NULL, d);
    ck_assert_msg(now != NULL, "%s", printed(d).p);
    ck_assert_int_eq(now->n_ranks, 3);
    ck_assert_int_eq(now->n_classes, 2);
    ck_assert_int_eq(now->class_of[2], now->class_of[0]);
    const cl_class *slow = &now->cls[now->class_of[1]], *usual = &now->cls[now->class_of[0]];
    ck_assert(usual->f32 == 6e9 && slow->f32 == 2e9 && slow->slowdown == 3);
    ck_assert(hb_str_is(usual->name, "V") && hb_str_is(slow->name, "V/slow3"));
    // As two of three are left, and where the first was slowed, curves are found by the same name.
    rest.text =
        cl_left(arena, &src, c, (bool[3]){false, true}, (double[3]){3, 1, 1}, (hb_str){0}, d);
    now = cl_read_source(arena, &rest, NULL, d);
    ck_assert_int_eq(now->n_ranks, 2);
    ck_assert(hb_str_is(now->cls[0].curve_name, "V") && hb_str_is(now->cls[1].name, "V"));
}
END_TEST

// What runs differently is never one class.
START_TEST(too_many_kinds_are_refused)
{
    cl_cluster *c = from_text(unlike(60, 8).p);
    ck_assert_int_eq(c->n_classes, CL_MAX_CLASSES);
    for (int r = 0; r < c->n_ranks; r++)
        ck_assert_int_eq(c->cls[c->class_of[r]].threads, 10 + r % 8);
    hb_diag *d = hb_diag_new(arena);
    hb_source *src = HB_NEW(arena, hb_source);
    *src = (hb_source){HB_STR("dir/x.yaml"), unlike(60, 17)};
    ck_assert_ptr_null(cl_read_source(arena, src, "clusters/devices.yaml", d));
    ck_assert_ptr_nonnull(strstr(printed(d).p, "more than 16 classes of devices that run"));
}
END_TEST

START_TEST(all_samples_read)
{
    static const struct {
        const char *name;
        int ranks, machines, classes;
        const char *first, *last; // classes
    } row[] = {
        {"laptop", 4, 1, 4, "cpu4", "cpu1"},
        {"laptop1", 1, 1, 1, "cpu4", "cpu4"},
        {"laptop2", 2, 1, 2, "cpu4", "cpu3"},
        {"laptop3", 3, 1, 3, "cpu4", "cpu2"},
        {"laptop2x2", 4, 2, 4, "cpu4", "cpu1"},
        {"a100x2-v100x2", 4, 2, 2, "A100-40GB", "V100-16GB"},
        {"v100x2-p100x6", 8, 8, 2, "V100-16GB", "P100"},
        {"hap-paper", 64, 8, 2, "V100-16GB", "P100"},
        {"hap-profiled", 64, 1, 2, "V100-profiled", "P100-profiled"},
        {"hap-released", 8, 1, 1, "GPU-profiled", "GPU-profiled"},
        {"h200x4", 4, 1, 1, "H200", "H200"},
        {"h200x4-mixed", 4, 1, 2, "H200", "H200/64sms"},
        {"h200x4-mixed-sockets", 4, 2, 2, "H200", "H200/64sms"},
        {"a100x64-v100x64", 128, 32, 2, "A100-40GB", "V100-32GB"},
        {"gpu1024", 1024, 128, 4, "H200", "V100-32GB"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        cl_cluster *c = sample(row[i].name);
        ck_assert(hb_str_is(c->name, row[i].name));
        ck_assert_int_eq(c->n_ranks, row[i].ranks);
        ck_assert_int_eq(c->n_machines, row[i].machines);
        ck_assert_int_eq(c->n_classes, row[i].classes);
        ck_assert(hb_str_is(c->cls[c->class_of[0]].name, row[i].first));
        ck_assert(hb_str_is(c->cls[c->class_of[c->n_ranks - 1]].name, row[i].last));
        ck_assert_int_eq(c->emulated, strstr(row[i].name, "mixed") != NULL);
        ck_assert((c->network_bandwidth > 0) == (c->n_machines > 1));
        ck_assert_uint_eq(c->sha.n, 64);
        int at = 0, sum = 0;
        for (int m = 0; m < c->n_machines; m++) {
            ck_assert_int_eq(c->machine[m].first_rank, at);
            for (int k = 0; k < c->machine[m].n_ranks; k++)
                ck_assert_int_eq(c->machine_of[at++], m);
        }
        ck_assert_int_eq(at, c->n_ranks);
        for (int k = 0; k < c->n_classes; k++) {
            const cl_class *q = &c->cls[k];
            ck_assert_int_eq(q->capacity, q->memory - q->reserve);
            for (int j = 0; j < k; j++)
                ck_assert(!hb_str_eq(q->name, c->cls[j].name));
            sum += q->n_ranks;
        }
        ck_assert_int_eq(sum, c->n_ranks);
    }
}
END_TEST

// Every cluster file of the folder is a sample: none can be forgotten here or broken.
START_TEST(every_file_of_the_folder_reads)
{
    DIR *dir = opendir("clusters");
    int n = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t len = strlen(e->d_name);
        if (len < 6 || strcmp(e->d_name + len - 5, ".yaml") != 0) continue;
        if (strcmp(e->d_name, "devices.yaml") == 0) continue;
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)len - 5, e->d_name);
        cl_cluster *c = sample(name);
        ck_assert(hb_str_is(c->name, name));
        n++;
    }
    closedir(dir);
    ck_assert_int_ge(n, 11);
}
END_TEST

// Each entry of the catalogue can be used, and has a source (the reader demands it).
START_TEST(the_whole_catalogue_reads)
{
    static const char *const model[] = {
        "H200", "H100", "A100-40GB", "A100-80GB", "V100-16GB", "V100-32GB", "P100",
        "L4",   "T4",   "L40S",      "RTX4090",   "cpu-core",  "cpu-socket"};
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        cl_cluster *c =
            from_text(hb_fmt(arena, "name: x\nmachines: [{devices: [{model: %s}]}]\n", model[i]).p);
        const cl_class *k = &c->cls[0];
        ck_assert(hb_str_is(k->model, model[i]));
        ck_assert_int_eq(k->kind, strncmp(model[i], "cpu", 3) ? CL_GPU : CL_CPU);
        bool old = strchr("VP", model[i][0]) != NULL;
        ck_assert_int_eq(k->plan_only, old);
        ck_assert_int_eq(k->emulated, 0);
        ck_assert((k->bf16 > 0) == (strchr("HARL", model[i][0]) != NULL));
    }
}
END_TEST

START_TEST(parts_of_a_device_are_slower)
{
    cl_cluster *c = sample("h200x4-mixed");
    const cl_class *full = &c->cls[0], *part = &c->cls[1];
    ck_assert_double_eq_tol(part->bf16 / full->bf16, 64.0 / 132, 1e-12);
    ck_assert_double_eq_tol(part->f32 / full->f32, 64.0 / 132, 1e-12);
    ck_assert_double_eq(part->memory_bandwidth, full->memory_bandwidth);
    ck_assert_int_eq(part->sms, 64);
    ck_assert(part->emulated && !full->emulated);
    cl_cluster *t =
        from_text("name: x\n"
                  "machines:\n"
                  "  - devices: [{model: cpu-core, threads: 3, count: 2}, {model: cpu-core}]\n"
                  "    link: {bandwidth: 4 GB/s, latency: 0 us}\n");
    ck_assert_int_eq(t->n_classes, 2);
    ck_assert(hb_str_is(t->cls[0].name, "cpu-core/3t"));
    ck_assert_double_eq_tol(t->cls[0].f32, 3 * t->cls[1].f32, 1);
    ck_assert_double_eq_tol(t->cls[0].memory_bandwidth, 3 * t->cls[1].memory_bandwidth, 1);
    ck_assert_int_eq(t->cls[0].n_ranks, 2);
}
END_TEST

START_TEST(launch_overheads_are_a_devices_own)
{
    cl_cluster *c = from_text("name: x\n"
                              "machines:\n"
                              "  - devices: [{model: T4, count: 2}, {model: T4, launch_overhead: "
                              "9 us, put_overhead: 40 us}]\n"
                              "    link: {bandwidth: 10 GB/s, latency: 8 us}\n");
    ck_assert_int_eq(c->n_classes, 2);
    ck_assert_double_eq(c->cls[0].launch_overhead, 0);
    ck_assert_double_eq_tol(c->cls[1].launch_overhead, 9e-6, 1e-18);
    ck_assert_double_eq_tol(c->cls[1].put_overhead, 40e-6, 1e-18);
    hb_buf b = {.arena = arena};
    cl_print(&b, c);
    hb_str text = hb_done(&b);
    ck_assert_msg(strstr(text.p, "launch overhead of a collective 9 us\n"), "%s", text.p);
    ck_assert_msg(strstr(text.p, "launch overhead of a one-sided put 40 us\n"), "%s", text.p);
}
END_TEST

START_TEST(classes_are_what_is_interchangeable)
{
    cl_cluster *c =
        from_text("name: x\n"
                  "machines:\n"
                  "  - name: a\n"
                  "    devices: [{model: T4}, {model: T4, memory: 8 GiB}, {model: T4}]\n"
                  "    link: {bandwidth: 10 GB/s, latency: 8 us}\n"
                  "  - name: b\n"
                  "    count: 2\n"
                  "    hosts: [h0, h1]\n"
                  "    devices: [{model: T4, count: 2}]\n"
                  "    link: {bandwidth: 12 GB/s, latency: 8 us}\n"
                  "network: {bandwidth: 10 Gbit/s, latency: 35 us}\n"
                  "source: measured 2026-11-20\n"
                  "measured: lab.curves.json\n");
    static const int want[] = {0, 1, 0, 2, 2, 2, 2};
    ck_assert_int_eq(c->n_classes, 3);
    ck_assert_int_eq(c->n_ranks, 7);
    for (int r = 0; r < 7; r++)
        ck_assert_int_eq(c->class_of[r], want[r]);
    ck_assert(hb_str_is(c->cls[0].name, "T4"));
    ck_assert(hb_str_is(c->cls[1].name, "T4#2"));
    ck_assert(hb_str_is(c->cls[2].name, "T4#3"));
    ck_assert(hb_str_is(c->machine[1].name, "b.0"));
    ck_assert(hb_str_is(c->machine[2].host, "h1"));
    ck_assert_uint_eq(c->machine[0].host.n, 0);
    ck_assert(hb_str_is(c->source, "measured 2026-11-20"));
    ck_assert(hb_str_is(c->curves, "dir/lab.curves.json"));
}
END_TEST

START_TEST(emulated_hosts_are_machines)
{
    cl_cluster *c = from_text("name: x\n"
                              "machines:\n"
                              "  - name: a\n"
                              "    devices: [{model: H200, count: 2}, {model: H100, count: 2}]\n"
                              "    link: {bandwidth: 370 GB/s, latency: 8 us}\n"
                              "    emulate: {hosts: 2}\n"
                              "network: {bandwidth: 5 GB/s, latency: 50 us}\n");
    ck_assert_int_eq(c->n_machines, 2);
    ck_assert(c->emulated);
    ck_assert(!c->cls[0].emulated);
    ck_assert_int_eq(c->machine_of[1], 0);
    ck_assert_int_eq(c->machine_of[2], 1);
    ck_assert(hb_str_is(c->machine[1].name, "a/1"));
    ck_assert_int_eq(c->machine[1].first_of_host, 0);
    ck_assert_int_eq(c->number_of[2], 2);
    ck_assert_int_eq(c->machine[1].emulated_host, 1);
    ck_assert_int_eq(
        from_text("name: x\nmachines: [{devices: [{model: T4}]}]\n")->machine[0].emulated_host, -1);
}
END_TEST

// Devices keep their place on the host, machines the names of what is left of them.
START_TEST(parts_of_machines)
{
    cl_cluster *c = from_text("name: x\n"
                              "machines:\n"
                              "  - name: a\n"
                              "    devices: [{model: H200, count: 2}, {model: H100, count: 2}]\n"
                              "    link: {bandwidth: 370 GB/s, latency: 8 us}\n"
                              "  - name: b\n"
                              "    devices: [{model: H100, count: 2}]\n"
                              "    link: {bandwidth: 300 GB/s, latency: 8 us}\n"
                              "network: {bandwidth: 5 GB/s, latency: 50 us}\n");
    bool device[6] = {false, false, true, true, false, true};
    int rank[6];
    cl_cluster *p = cl_part(arena, c, device, rank);
    ck_assert_int_eq(p->n_ranks, 3);
    ck_assert_int_eq(p->n_machines, 2);
    ck_assert(hb_str_is(p->machine[0].name, "a:2-3"));
    ck_assert(hb_str_is(p->machine[1].name, "b:1"));
    ck_assert_int_eq(p->machine[0].n_ranks, 2);
    ck_assert_int_eq(p->machine[1].first_rank, 2);
    ck_assert_double_eq(p->network_bandwidth, 5e9);
    for (int r = 0, host[] = {2, 3, 1}; r < 3; r++) {
        ck_assert_int_eq(r - p->machine[p->machine_of[r]].first_of_host, host[r]);
        ck_assert_int_eq(p->number_of[r], host[r]);
        ck_assert(hb_str_eq(p->cls[p->class_of[r]].name, c->cls[c->class_of[rank[r]]].name));
    }
    device[2] = device[3] = false;
    p = cl_part(arena, p, device + 3, rank); // a part of a part
    ck_assert_int_eq(p->n_ranks, 1);
    ck_assert_double_eq(p->network_bandwidth, 0);
    ck_assert_int_eq(-p->machine[0].first_of_host, 1);
}
END_TEST

START_TEST(group_links)
{
    cl_cluster *c = sample("a100x2-v100x2");
    static const int inside[] = {0, 1}, old[] = {2, 3}, across[] = {1, 2}, all[] = {0, 1, 2, 3};
    cl_link l = cl_group_link(c, inside, 2, 1);
    ck_assert_double_eq(l.bandwidth, 300e9);
    ck_assert_double_eq_tol(l.latency, 8e-6, 1e-18);
    l = cl_group_link(c, old, 2, 2); // groups inside machines do not share
    ck_assert_double_eq(l.bandwidth, 150e9);
    l = cl_group_link(c, across, 2, 2);
    ck_assert_double_eq(l.bandwidth, 0.625e9);
    ck_assert_double_eq_tol(l.latency, 35e-6, 1e-18);
    l = cl_group_link(c, all, 4, 1);
    ck_assert_double_eq(l.bandwidth, 1.25e9);
    c = sample("laptop");
    l = cl_group_link(c, all, 4, 1);
    ck_assert_double_eq(l.bandwidth, 4e9);
}
END_TEST

// GPUs of one machine write into each other's memory unless the file says no, CPUs if it says so.
START_TEST(peers)
{
    static const int inside[] = {0, 1}, across[] = {1, 2};
    cl_cluster *c = sample("a100x2-v100x2");
    ck_assert(cl_group_link(c, inside, 2, 1).peer);
    ck_assert(!cl_group_link(c, across, 2, 1).peer);
    ck_assert(!cl_group_link(sample("laptop"), inside, 2, 1).peer);
    ck_assert(!cl_group_link(sample("hap-released"), inside, 2, 1).peer);
    c = sample("h200x4-mixed-sockets"); // one machine that is to be seen as two
    ck_assert(cl_group_link(c, inside, 2, 1).peer);
    ck_assert(!cl_group_link(c, across, 2, 1).peer);
    static const char text[] = "name: x\nmachines:\n"
                               "  - devices: [{name: c, kind: cpu, f32: 1 GFLOP/s, memory: 1 GiB, "
                               "memory_bandwidth: 1 GB/s, count: 2}]\n"
                               "    link: {bandwidth: 1 GB/s, latency: 1 us}\n"
                               "    peer: true\n";
    ck_assert(cl_group_link(from_text(text), inside, 2, 1).peer);
}
END_TEST

START_TEST(the_name_depends_on_the_bytes_alone)
{
    cl_cluster *a = from_text("name: x\nmachines: [{devices: [{model: T4}]}]\n");
    cl_cluster *b = from_text("name: x\nmachines: [{devices: [{model: T4}]}]\n");
    cl_cluster *c = from_text("name: x\nmachines: [{devices: [{model: T4}]}] \n");
    ck_assert(hb_str_eq(a->sha, b->sha));
    ck_assert(!hb_str_eq(a->sha, c->sha));
    ck_assert(hb_str_is(a->text, "name: x\nmachines: [{devices: [{model: T4}]}]\n"));
}
END_TEST

START_TEST(missing_files)
{
    hb_diag *d = hb_diag_new(arena);
    ck_assert_ptr_null(cl_read(arena, "clusters/no-such.yaml", NULL, d));
    ck_assert(hb_str_is(printed(d), "clusters/no-such.yaml: error: cannot be read: No such file or "
                                    "directory\n"));
    d = hb_diag_new(arena);
    ck_assert_ptr_null(cl_read(arena, "clusters/h200x4.yaml", "no/devices.yaml", d));
    ck_assert(hb_glob(HB_STR("no/devices.yaml: error: cannot be read: *"), printed(d)));
    // Spelt-out devices need no catalogue.
    ck_assert_ptr_nonnull(cl_read(arena, "clusters/laptop.yaml", "no/devices.yaml", d));
}
END_TEST

// tests/bad/cluster_*.yaml against the .stderr beside it. UPDATE_GOLDEN=1 writes them anew.
START_TEST(bad_files_are_answered_exactly)
{
    DIR *dir = opendir("tests/bad");
    int n = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        hb_str file = hb_str_c(arena, e->d_name), want = {"", 0};
        const char *why;
        if (!hb_glob(HB_STR("cluster_*.yaml"), file)) continue;
        hb_diag *d = hb_diag_new(arena);
        hb_str path = hb_fmt(arena, "tests/bad/%s", file.p);
        ck_assert_msg(!cl_read(arena, path.p, "clusters/devices.yaml", d), "%s", file.p);
        hb_str got = printed(d), golden = hb_fmt(arena, "%.*s.stderr", (int)path.n - 5, path.p);
        if (getenv("UPDATE_GOLDEN")) ck_assert(hb_write_file(golden.p, got));
        ck_assert_msg(hb_read_file(arena, golden.p, &want, &why), "%s: %s", golden.p, why);
        ck_assert_msg(hb_str_eq(got, want), "%s says\n%s", path.p, got.p);
        n++;
    }
    closedir(dir);
    ck_assert_int_ge(n, 9);
}
END_TEST

START_TEST(devices_have_drivers_names)
{
    static const struct {
        const char *name, *model;
    } row[] = {{"NVIDIA H200", "H200"},
               {"NVIDIA A100-SXM4-40GB", "A100-40GB"},
               {"NVIDIA A100 80GB PCIe", "A100-80GB"},
               {"Tesla V100-SXM2-16GB", "V100-16GB"},
               {"NVIDIA H100 80GB HBM3", "H100"},
               {"NVIDIA L40S", "L40S"},
               {"NVIDIA L40", ""},
               {"", ""}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hb_str m = cl_model_of(arena, "clusters/devices.yaml", hb_str_c(arena, row[i].name));
        ck_assert_msg(hb_str_is(m, row[i].model), "%s is %.*s", row[i].name, HB_ARG(m));
    }
    ck_assert(cl_in_catalogue(arena, "clusters/devices.yaml", HB_STR("H200")));
    ck_assert(!cl_in_catalogue(arena, "clusters/devices.yaml", HB_STR("AMD EPYC")));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cluster");
    TCase *c = tcase_create("cluster");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 30);
    tcase_add_test(c, all_samples_read);
    tcase_add_test(c, unlike_devices_are_joined);
    tcase_add_test(c, what_is_left_is_the_same_devices);
    tcase_add_test(c, numbers_of_gpus_stay);
    tcase_add_test(c, names_of_curves_stay);
    tcase_add_test(c, names_of_curves_stay_in_changes);
    tcase_add_test(c, curves_lie_beside);
    tcase_add_test(c, emulated_hosts_lose_nothing);
    tcase_add_test(c, slowed_devices_are_classes_of_their_own);
    tcase_add_test(c, too_many_kinds_are_refused);
    tcase_add_test(c, every_file_of_the_folder_reads);
    tcase_add_test(c, the_whole_catalogue_reads);
    tcase_add_test(c, parts_of_a_device_are_slower);
    tcase_add_test(c, launch_overheads_are_a_devices_own);
    tcase_add_test(c, classes_are_what_is_interchangeable);
    tcase_add_test(c, emulated_hosts_are_machines);
    tcase_add_test(c, parts_of_machines);
    tcase_add_test(c, group_links);
    tcase_add_test(c, peers);
    tcase_add_test(c, the_name_depends_on_the_bytes_alone);
    tcase_add_test(c, missing_files);
    tcase_add_test(c, bad_files_are_answered_exactly);
    tcase_add_test(c, devices_have_drivers_names);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
