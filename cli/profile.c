// hapc profile: starts the measuring program on the ranks of this machine, or of a cluster file,
// and writes a cluster file with curves.
//
// The program is started several times: on all ranks, where it measures rows, collectives and what
// they cost each other; again for matmuls in tf32 (GPUs); and on groups of fewer ranks, where it
// measures collectives alone.

#include "cli/profile_figures.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/launch.h"

typedef struct options {
    const char *cluster, *out, *backend, *cuda;
    bool quick, quiet, verbose;
    int64_t ranks;
} options;

// CUDA devices that a rank may see here.
static int count_gpus(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int n = 0;
    if (visible) {
        for (const char *c = visible; *c && *c != '-'; c = strchr(c, ',') ? strchr(c, ',') + 1 : "")
            n++;
        return n;
    }
    for (int i = 0; i < 64; i++) { // a container may hold any of the host's
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        n += access(path, F_OK) == 0;
    }
    return n;
}

static hb_str program_of(hb_arena *a, const char *backend)
{
    char whole[PATH_MAX];
    hb_str path = hb_fmt(a, "%s/hap-profile-%s", cli_self_dir(a), backend);
    return realpath(path.p, whole) ? hb_str_c(a, whole) : (hb_str){0};
}

// --- what is to be measured ---

static void this_machine(hb_arena *a, profile *p, int n)
{
    char host[64] = "here";
    gethostname(host, sizeof host - 1);
    p->name = hb_str_c(a, host);
    p->n_ranks = n;
    HB_PUSH(a, &p->machine, ((profile_machine){hb_str_c(a, host), {0}, 0, n, 1}));
}

// The backend that measures devices of the file, which are all of one kind; NULL after an error.
static const char *backend_of(const char *path, const cl_cluster *c, const char *asked)
{
    const char *backend = c->cls[c->class_of[0]].kind == CL_GPU ? "cuda" : "cpu";
    for (int r = 0; r < c->n_ranks; r++) {
        const cl_class *x = &c->cls[c->class_of[r]];
        bool gpu = x->kind == CL_GPU;
        if (asked && strcmp(asked, gpu ? "cuda" : "cpu") != 0) {
            cli_error(CLI_INPUT, "%s: %.*s is a %s, which --backend %s does not measure", path,
                      HB_ARG(x->name), gpu ? "GPU" : "CPU", asked);
            return NULL;
        }
        if (strcmp(backend, gpu ? "cuda" : "cpu") != 0) {
            cli_error(CLI_INPUT, "%s: not supported: GPUs and CPUs measured together", path);
            return NULL;
        }
    }
    return backend;
}

// *backend: asked for, or NULL; set to the one that measures these machines.
static bool read_machines(hb_arena *a, const char *path, profile *p, const char **backend)
{
    cli_inputs in = {0};
    hb_diag *d = hb_diag_new(a);
    in.cluster = cl_read(a, path, cli_devices(a), d);
    if (!in.cluster) {
        fflush(stdout);
        hb_diag_print(d, stderr);
        return false;
    }
    const cl_cluster *c = in.cluster;
    *backend = backend_of(path, c, *backend);
    if (!*backend) return false;
    p->name = c->name;
    p->n_ranks = c->n_ranks;
    p->sms = HB_ARRAY(a, int, c->n_ranks);
    p->threads_given = HB_ARRAY(a, bool, c->n_ranks);
    p->model = HB_ARRAY(a, hb_str, c->n_ranks);
    p->called = HB_ARRAY(a, hb_str, c->n_ranks);
    for (int r = 0; r < c->n_ranks; r++) {
        const cl_class *x = &c->cls[c->class_of[r]];
        if (x->kind == CL_GPU &&
            c->number_of[r] != r - c->machine[c->machine_of[r]].first_of_host) {
            cli_error(CLI_INPUT, "not supported: profiling GPUs whose `numbers` are not their "
                                 "places in the machine (CUDA_VISIBLE_DEVICES says which to take)");
            return false;
        }
        p->sms[r] = x->sms;
        p->threads_given[r] = x->threads > 0;
        bool known = cl_in_catalogue(a, cli_devices(a), x->model);
        *(known && x->kind == CL_GPU ? &p->model[r] : &p->called[r]) = x->model;
    }
    for (int i = 0; i < c->n_machines; i++) {
        const cl_machine *m = &c->machine[i];
        if (m->first_of_host != m->first_rank) { // a part of the machine before it
            profile_machine *whole = &p->machine.p[p->machine.n - 1];
            whole->n += m->n_ranks;
            whole->parts++;
            continue;
        }
        hb_str name = m->name;
        if (m->emulated_host >= 0) name.n -= 2; // "/0"
        HB_PUSH(a, &p->machine,
                ((profile_machine){hb_str_n(a, name.p, name.n), m->host, m->first_rank, m->n_ranks,
                                   1}));
    }
    return true;
}

// --- measuring ---

typedef struct session {
    hb_arena *a;
    profile *p;
    const options *o;
    hb_str program;
    bool cuda;
    char *folder; // temporary
    double from;  // percent done
} session;

static char *list_of(session *s, const profile_run *r, bool hosts, bool *any)
{
    hb_buf b = {.arena = s->a};
    *any = false;
    for (int k = 0; k < r->n; k++) {
        int x = s->p->sms ? s->p->sms[r->rank[k]] : 0;
        if (hosts) {
            x = 0;
            for (int i = 0, base = 0; i < s->p->machine.n; base += s->p->machine.p[i++].parts) {
                const profile_machine *m = &s->p->machine.p[i];
                int in = r->rank[k] - m->first;
                if (in < 0 || in >= m->n) continue;
                x = base + in / (m->n / m->parts);
                *any = *any || m->parts > 1;
            }
        } else {
            *any = *any || x > 0;
        }
        hb_printf(&b, "%s%d", k ? "," : "", x);
    }
    hb_putc(&b, 0);
    return b.p;
}

static int start_once(session *s, profile_run *r, bool tf32, bool colls, double to)
{
    hb_arena *a = s->a;
    hb_str out = hb_fmt(a, "%s/figures.json", s->folder);
    run_job j = {.binary = s->program,
                 .folder = hb_str_c(a, s->folder),
                 .n_ranks = r->n,
                 .rank = HB_ARRAY(a, run_rank, r->n),
                 .arg = HB_ARRAY(a, char *, 24),
                 .step_sec = 3, // nothing takes a minute
                 .heartbeat = hb_str_c(a, s->folder)};
    for (int k = 0; k < r->n; k++) {
        j.rank[k].device = hb_str_c(a, s->cuda ? "GPU" : "CPU");
        for (int i = 0; i < s->p->machine.n; i++) {
            const profile_machine *m = &s->p->machine.p[i];
            if (r->rank[k] >= m->first && r->rank[k] < m->first + m->n) j.rank[k].host = m->host;
        }
    }
    bool any;
    j.arg[j.n_args++] = hb_copy(a, "--out", 6);
    j.arg[j.n_args++] = hb_copy(a, out.p, out.n + 1);
    if (s->o->quick) j.arg[j.n_args++] = hb_copy(a, "--quick", 8);
    if (tf32) j.arg[j.n_args++] = hb_copy(a, "--tf32", 7);
    if (colls) j.arg[j.n_args++] = hb_copy(a, "--colls", 8);
    if (s->o->verbose) j.arg[j.n_args++] = hb_copy(a, "-v", 3);
    if (s->o->cuda) {
        j.arg[j.n_args++] = hb_copy(a, "--cuda", 7);
        j.arg[j.n_args++] = hb_copy(a, s->o->cuda, strlen(s->o->cuda) + 1);
    }
    char *sms = list_of(s, r, false, &any);
    if (any) j.arg[j.n_args++] = hb_copy(a, "--sms", 6), j.arg[j.n_args++] = sms;
    char *hosts = list_of(s, r, true, &any);
    if (any) j.arg[j.n_args++] = hb_copy(a, "--hosts", 8), j.arg[j.n_args++] = hosts;
    if (!s->o->quiet && isatty(STDOUT_FILENO)) {
        hb_str percent = hb_fmt(a, "%g,%g", s->from, to);
        j.arg[j.n_args++] = hb_copy(a, "--progress", 11);
        j.arg[j.n_args++] = hb_copy(a, percent.p, percent.n + 1);
    }
    s->from = to;
    char **env, **command = launch_command(a, &j, &env);
    run_outcome end;
    int code = supervise(a, &j, command, env, &end);
    for (int k = 0; k < r->n; k++)
        unlink(hb_fmt(a, "%s/rank.%d", s->folder, k).p);
    if (code == CLI_OK && !profile_read(a, out.p, r)) code = CLI_FAILED;
    unlink(out.p);
    return code;
}

static profile_run group_of(session *s, int first, int n, int step, bool crosses)
{
    profile_run r = {.n = n, .rank = HB_ARRAY(s->a, int, n), .crosses = crosses};
    for (int k = 0; k < n; k++)
        r.rank[k] = first + k * step;
    return r;
}

// The groups of ranks that communicate: all; inside the first machine its ranks, and fewer; between
// machines one rank of each.
static int measure(session *s)
{
    profile *p = s->p;
    const profile_machine *m = &p->machine.p[0];
    HB_VEC(profile_run) todo = {0};
    int total_machines = 0, inside = m->n / m->parts;
    for (int i = 0; i < p->machine.n; i++)
        total_machines += p->machine.p[i].parts;
    profile_run all = group_of(s, 0, p->n_ranks, 1, total_machines > 1);
    all.whole = true;
    HB_PUSH(s->a, &todo, all);
    if (total_machines > 1 && inside > 1)
        HB_PUSH(s->a, &todo, group_of(s, m->first, inside, 1, false));
    for (int n = inside - 1; n > 1 && !s->o->quick; n = n > 4 ? n / 2 : n - 1)
        HB_PUSH(s->a, &todo, group_of(s, m->first, n, 1, false));
    bool alike = true; // the same step from machine to machine
    for (int i = 0; i < p->machine.n; i++)
        alike = alike && p->machine.p[i].n / p->machine.p[i].parts == inside;
    if (total_machines > 1 && inside > 1 && alike && !s->o->quick)
        HB_PUSH(s->a, &todo, group_of(s, 0, total_machines, inside, true));
    double share = 100.0 / (todo.n + (s->cuda ? 1.3 : 1) + 1.5);
    for (int i = 0; i < todo.n; i++) {
        double to = i + 1 == todo.n && !s->cuda ? 100 : s->from + share * (i ? 1 : 3.5);
        int code = start_once(s, &todo.p[i], false, i > 0, fmin(to, 100));
        if (code) return code;
        HB_PUSH(s->a, &p->run, todo.p[i]);
    }
    if (!s->cuda || s->o->quick) return CLI_OK;
    profile_run tf32 = group_of(s, 0, p->n_ranks, 1, total_machines > 1);
    int code = start_once(s, &tf32, true, false, 100);
    HB_PUSH(s->a, &p->run, tf32);
    return code;
}

// --- the files ---

// A file of that name that hapc profile did not write is not overwritten.
static bool may_write(hb_arena *a, const char *path)
{
    hb_str text;
    const char *why;
    if (access(path, F_OK) != 0) return true;
    return hb_read_file(a, path, &text, &why) && strstr(text.p, "\nsource: measured ");
}

static int write_files(session *s, const char *out)
{
    hb_arena *a = s->a;
    profile *p = s->p;
    const profile_run *all = &p->run.p[0];
    if (!p->model) {
        p->sms = HB_ARRAY(a, int, p->n_ranks);
        p->threads_given = HB_ARRAY(a, bool, p->n_ranks);
        p->model = HB_ARRAY(a, hb_str, p->n_ranks);
        p->called = HB_ARRAY(a, hb_str, p->n_ranks);
        for (int r = 0; r < p->n_ranks; r++) {
            if (all->device[r].gpu)
                p->model[r] = cl_model_of(a, cli_devices(a), all->device[r].name);
            p->threads_given[r] = !all->device[r].gpu;
        }
    }
    size_t n = strlen(out), dot = n > 5 && strcmp(out + n - 5, ".yaml") == 0 ? n - 5 : n;
    hb_str curves = hb_fmt(a, "%.*s.curves.json", (int)dot, out);
    const char *slash = strrchr(curves.p, '/');
    hb_str text = profile_cluster_text(a, p, slash ? slash + 1 : curves.p, NULL);
    hb_diag *d = hb_diag_new(a);
    hb_source *src = HB_NEW(a, hb_source);
    *src = (hb_source){hb_str_c(a, out), text};
    cl_cluster *c = cl_read_source(a, src, cli_devices(a), d);
    if (c) text = profile_cluster_text(a, p, slash ? slash + 1 : curves.p, c->curves_of);
    if (!c) {
        hb_diag_print(d, stderr);
        return cli_error(CLI_BUG, "the cluster file that was made cannot be read; please report");
    }
    hb_str points = profile_curves_text(a, p, c);
    if (!hb_write_file(curves.p, points) || !hb_write_file(out, text))
        return cli_error(CLI_INPUT, "%s: %s", out, strerror(errno));
    cost_curves *read = cost_curves_read(a, curves.p, d);
    if (!read) {
        hb_diag_print(d, stderr);
        return cli_error(CLI_BUG, "the curves that were made cannot be read; please report");
    }
    if (s->o->quiet) return CLI_OK;
    hb_buf b = {.arena = a};
    cost_apply_curves(read, c);
    cl_print(&b, c);
    hb_printf(&b, "\nWritten to %s and %.*s. Plan with it: hapc GRAPH.json %s\n", out,
              HB_ARG(curves), out);
    fputs(b.p, stdout);
    return fflush(stdout) == 0 ? CLI_OK : cli_error(CLI_INPUT, "cannot write to stdout");
}

static int run(hb_arena *a, const options *o)
{
    profile p = {0};
    session s = {.a = a, .p = &p, .o = o};
    char date[16];
    time_t now = time(NULL);
    struct tm local;
    strftime(date, sizeof date, "%Y-%m-%d", localtime_r(&now, &local));
    p.date = hb_str_c(a, date);
    const char *backend = o->backend;
    int gpus = count_gpus();
    if (o->cluster && o->ranks)
        return cli_error(CLI_USAGE, "-n and a cluster file exclude each other");
    if (o->cluster && !read_machines(a, o->cluster, &p, &backend)) return CLI_INPUT;
    if (!backend) backend = gpus > 0 && program_of(a, "cuda").n ? "cuda" : "cpu";
    s.cuda = strcmp(backend, "cuda") == 0;
    if (o->cuda && !s.cuda)
        return cli_error(CLI_USAGE, "--cuda %s: what is measured are CPUs", o->cuda);
    s.program = program_of(a, backend);
    if (!s.program.n)
        return cli_error(CLI_FAILED, "there is no hap-profile-%s beside hapc%s", backend,
                         s.cuda ? ": hapc was built without CUDA (cmake --preset cuda)" : "");
    const char *out = o->out ? o->out : "cluster.yaml";
    if (!may_write(a, out))
        return cli_error(CLI_INPUT, "%s was not made by hapc profile; -o says where to write", out);
    if (!o->cluster) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        int usual = s.cuda ? gpus : cores < 1 ? 1 : cores > 4 ? 4 : (int)cores;
        if (s.cuda && gpus == 0 && !o->ranks)
            return cli_error(CLI_FAILED, "there is no CUDA device on this machine");
        this_machine(a, &p, o->ranks ? (int)o->ranks : usual);
    }
    const char *tmp = getenv("TMPDIR");
    hb_str folder = hb_fmt(a, "%s/hapc-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    s.folder = hb_copy(a, folder.p, folder.n + 1);
    if (!mkdtemp(s.folder)) return cli_error(CLI_INPUT, "%s: %s", s.folder, strerror(errno));
    int code = measure(&s);
    rmdir(s.folder);
    return code ? code : write_files(&s, out);
}

int cmd_profile(int argc, char **argv)
{
    options o = {0};
    const char *ranks = NULL;
    const cli_option list[] = {
        {"-o", &o.out, NULL},     {"--backend", &o.backend, NULL}, {"-n", &ranks, NULL},
        {"-q", NULL, &o.quiet},   {"--quick", NULL, &o.quick},     {"--cuda", &o.cuda, NULL},
        {"-v", NULL, &o.verbose},
    };
    cli_line line = {.most = 1, .rest = &o.cluster};
    int code = cli_parse("profile", argc, argv, list, sizeof list / sizeof *list, &line);
    if (code != CLI_GO) return code;
    code = CLI_USAGE;
    if (o.cuda && !cli_cuda_options(o.cuda)) return code;
    if (ranks && !cli_integer("-n", ranks, 1, &o.ranks)) return code;
    if (o.ranks > 1024) return cli_error(CLI_USAGE, "-n: more than 1024 ranks on one machine");
    hb_arena *a = hb_arena_new();
    code = run(a, &o);
    hb_arena_free(a);
    return code;
}
