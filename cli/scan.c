#include "cli/scan.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// What a host is asked, by sh. One line a fact, fields between commas.
static const char question[] =
    "echo \"host, $(uname -n)\"\n"
    "if command -v nvidia-smi >/dev/null 2>&1; then\n"
    "    nvidia-smi --query-gpu=name,memory.total,pcie.link.gen.max,pcie.link.width.max \\\n"
    "        --format=csv,noheader,nounits | sed 's/^/gpu, /'\n"
    "    nvidia-smi topo -m 2>/dev/null | grep -o 'NV[0-9][0-9]*' | sort -u | sed 's/^NV/nvlink, /'\n"
    "fi\n"
    "awk '/^MemTotal/ {print \"memory, \" $2}' /proc/meminfo\n"
    "echo \"cores, $(getconf _NPROCESSORS_ONLN)\"\n"
    "cat /sys/class/infiniband/*/ports/*/rate 2>/dev/null | sed 's/^/gbit, /; s/ Gb.*//'\n"
    "for n in /sys/class/net/*; do\n"
    "    [ -e \"$n/device\" ] && echo \"mbit, $(cat \"$n/speed\" 2>/dev/null)\"\n"
    "done\n"
    "exit 0\n";

enum { MAX_GPUS = 64 };

typedef struct gpu {
    hb_str name;
    const cl_card *card; // NULL: not in the catalogue
    long mib, gen, lanes;
} gpu;

typedef struct host {
    hb_str name;
    gpu gpu[MAX_GPUS];
    int n_gpus;
    long links, kib, cores; // NVLinks between two devices, the fewest
    double network;         // bit/s, the fastest; 0: not shown
} host;

// Field k of a line, between ", ".
static hb_str field(hb_str line, int k)
{
    const char *p = line.p, *end = line.p + line.n;
    for (; k > 0; k--) {
        while (p < end && *p != ',')
            p++;
        while (p < end && (*p == ',' || *p == ' '))
            p++;
    }
    const char *stop = p;
    while (stop < end && *stop != ',')
        stop++;
    return (hb_str){p, (size_t)(stop - p)};
}

static double number(hb_arena *a, hb_str s)
{
    double v = strtod(hb_str_n(a, s.p, s.n).p, NULL);
    return v > 0 ? v : 0;
}

static void read_line(hb_arena *a, const cl_card *card, int n_cards, hb_str line, host *h)
{
    hb_str what = field(line, 0), value = field(line, 1);
    if (hb_str_is(what, "host")) {
        h->name = value;
    } else if (hb_str_is(what, "gpu") && h->n_gpus < MAX_GPUS) {
        gpu *g = &h->gpu[h->n_gpus++];
        *g = (gpu){.name = value,
                   .mib = (long)number(a, field(line, 2)),
                   .gen = (long)number(a, field(line, 3)),
                   .lanes = (long)number(a, field(line, 4))};
        hb_str model = cl_model_of(a, cli_devices(a), value);
        for (int i = 0; i < n_cards; i++)
            if (model.n > 0 && hb_str_eq(card[i].name, model)) g->card = &card[i];
    } else if (hb_str_is(what, "nvlink")) {
        long n = (long)number(a, value);
        if (h->links == 0 || n < h->links) h->links = n;
    } else if (hb_str_is(what, "memory")) {
        h->kib = (long)number(a, value);
    } else if (hb_str_is(what, "cores")) {
        h->cores = (long)number(a, value);
    } else if (hb_str_is(what, "gbit") || hb_str_is(what, "mbit")) {
        double rate = number(a, value) * (what.p[0] == 'g' ? 1e9 : 1e6);
        if (rate > h->network) h->network = rate;
    }
}

// What sh says to the question on a host (NULL: here). False after an error was printed.
static bool answer(hb_arena *a, const char *name, hb_str *out)
{
    int to[2];
    char sh[] = "sh", flag[] = "-c", ssh[] = "ssh", batch[] = "-oBatchMode=yes",
         timeout[] = "-oConnectTimeout=10", *script = hb_copy(a, question, sizeof question);
    char *here[] = {sh, flag, script, NULL};
    char *there[] = {ssh,    batch, timeout, name ? hb_copy(a, name, strlen(name) + 1) : NULL,
                     script, NULL};
    if (pipe(to) != 0) {
        cli_error(CLI_FAILED, "%s", strerror(errno));
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, to[1], 1);
    posix_spawn_file_actions_addclose(&actions, to[0]);
    pid_t pid;
    char **argv = name ? there : here;
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ), status = 1;
    posix_spawn_file_actions_destroy(&actions);
    close(to[1]);
    hb_buf b = {.arena = a};
    char part[4096];
    for (ssize_t n; !failed && (n = read(to[0], part, sizeof part)) > 0;)
        hb_putn(&b, part, (size_t)n);
    close(to[0]);
    if (!failed) waitpid(pid, &status, 0);
    *out = b.n ? hb_done(&b) : HB_STR("");
    if (!failed && WIFEXITED(status) && WEXITSTATUS(status) == 0 && b.n > 0) return true;
    cli_error(CLI_FAILED, "%s does not answer%s", name ? name : "this machine",
              name ? ": is `ssh HOST` possible without a password?" : "");
    return false;
}

// GB/s one way of a lane of PCI Express, by generation (PCI-SIG, after encoding).
static double lane(long gen)
{
    static const double rate[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    return gen > 0 && gen < (long)(sizeof rate / sizeof *rate) ? rate[gen] : 0;
}

static bool same(const gpu *x, const gpu *y)
{
    return hb_str_eq(x->name, y->name) && x->mib == y->mib;
}

static void put_gpus(const host *h)
{
    for (int i = 0, n; i < h->n_gpus; i += n) {
        const gpu *g = &h->gpu[i];
        for (n = 1; i + n < h->n_gpus && same(g, &h->gpu[i + n]);)
            n++;
        if (g->card) {
            printf("      - {model: %.*s, count: %d, memory: %ld MiB}\n", HB_ARG(g->card->name), n,
                   g->mib);
            continue;
        }
        printf("      # %.*s is not in the catalogue (hapc devices): fill in its figures\n"
               "      - {name: '%.*s', count: %d, f32: unknown, memory: %ld MiB, "
               "memory_bandwidth: unknown}\n",
               HB_ARG(g->name), HB_ARG(g->name), n, g->mib);
        cli_note(
            "hapc: warning: %.*s: '%.*s' is not in the catalogue; f32 and memory_bandwidth are "
            "yours to fill in",
            HB_ARG(h->name), HB_ARG(g->name));
    }
}

static void put_link(const host *h)
{
    const gpu *g = &h->gpu[0];
    double pcie = h->n_gpus ? lane(g->gen) * (double)g->lanes : 0;
    if (h->n_gpus == 0) // as clusters/laptop.yaml: ranks of one computer through its memory
        puts("    link: {bandwidth: 4 GB/s, latency: 5 us}");
    else if (h->links > 0 && g->card && g->card->nvlink > 0)
        printf("    link: {bandwidth: %.4g GB/s, latency: 8 us} # %ld NVLinks\n",
               (double)h->links * g->card->nvlink / 1e9, h->links);
    else if (pcie > 0)
        printf("    link: {bandwidth: %.4g GB/s, latency: 10 us} # PCIe %ld.0 x%ld\n", pcie, g->gen,
               g->lanes);
    else
        puts("    link: {bandwidth: unknown, latency: 10 us}");
}

static void put_machine(const host *h, const char *reached)
{
    printf("  - name: %.*s\n", HB_ARG(h->name));
    if (reached) printf("    host: %s\n", reached);
    puts("    devices:");
    if (h->n_gpus == 0)
        printf("      - {model: cpu-socket, threads: %ld, memory: %.3g GiB}\n", h->cores,
               (double)h->kib / (1 << 20));
    put_gpus(h);
    put_link(h);
}

int scan_hosts(hb_arena *a, const cl_card *card, int n_cards, const char **name, int n_hosts)
{
    int n = n_hosts > 0 ? n_hosts : 1;
    host *all = HB_ARRAY(a, host, n);
    double network = 0;
    bool unknown = false;
    for (int i = 0; i < n; i++) {
        hb_str text;
        if (!answer(a, n_hosts ? name[i] : NULL, &text)) return CLI_FAILED;
        for (size_t at = 0, len; at < text.n; at += len + 1) {
            len = strcspn(text.p + at, "\n");
            read_line(a, card, n_cards, (hb_str){text.p + at, len}, &all[i]);
        }
        for (int k = 0; k < i; k++) // names of machines are unique
            if (hb_str_eq(all[k].name, all[i].name)) all[i].name = hb_str_c(a, name[i]);
        unknown = unknown || all[i].network == 0;
        if (all[i].network > 0 && (network == 0 || all[i].network < network))
            network = all[i].network;
    }
    puts(
        "# Seen by `hapc devices --scan`; rates are of data sheets. `hapc profile` measures them.\n"
        "name: scanned\nmachines:");
    for (int i = 0; i < n; i++)
        put_machine(&all[i], n_hosts ? name[i] : NULL);
    if (n > 1 && !unknown)
        printf("network: {bandwidth: %.4g Gbit/s, latency: 35 us}\n", network / 1e9);
    else if (n > 1)
        puts("network: {bandwidth: unknown, latency: 35 us}");
    puts("source: datasheet");
    if (n > 1 && unknown)
        fputs("hapc: warning: not every host shows the speed of its network; network.bandwidth is "
              "yours to fill in\n",
              stderr);
    return CLI_OK;
}
