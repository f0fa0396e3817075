#define _GNU_SOURCE // process_vm_readv
#include "cli/launch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/build.h"

typedef struct {
    hb_arena *a;
    HB_VEC(char *) v;
} words;

static void add(words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(words *w, const char *fmt, ...)
{
    hb_buf b = {.arena = w->a};
    va_list ap;
    va_start(ap, fmt);
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    HB_PUSH(w->a, &w->v, b.p);
}

// Whether one process may read another's memory: containers often forbid it, and Open MPI then
// complains.
static bool may_read_others(void)
{
    static char probe = 'x';
    pid_t pid = fork();
    if (pid < 0) return false;
    if (pid == 0) {
        char got = 0;
        struct iovec here = {&got, 1}, there = {&probe, 1};
        _exit(process_vm_readv(getppid(), &here, 1, &there, 1, 0) == 1 ? 0 : 1);
    }
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_open_mpi(hb_arena *a, const char *mpirun)
{
    hb_str out;
    char *argv[] = {hb_copy(a, mpirun, strlen(mpirun) + 1), hb_copy(a, "--version", 10), NULL};
    return cli_capture(a, argv, NULL, 20, &out) == 0 &&
           (strstr(out.p, "Open MPI") || strstr(out.p, "OpenRTE"));
}

// "a:2,b:2" in the order of the ranks; empty if all are here.
static hb_str hosts_of(hb_arena *a, const run_job *j, bool counts)
{
    bool any = false;
    for (int i = 0; i < j->n_ranks; i++)
        any = any || j->rank[i].host.n > 0;
    if (!any) return (hb_str){0};
    hb_buf b = {.arena = a};
    for (int i = 0; i < j->n_ranks;) {
        int n = 1;
        while (i + n < j->n_ranks && hb_str_eq(j->rank[i + n].host, j->rank[i].host))
            n++;
        hb_str host = j->rank[i].host.n ? j->rank[i].host : HB_STR("localhost");
        if (counts) {
            hb_printf(&b, "%s%.*s:%d", b.n ? "," : "", HB_ARG(host), n);
        } else {
            for (int k = 0; k < n; k++)
                hb_printf(&b, "%s%.*s", b.n ? "," : "", HB_ARG(host));
        }
        i += n;
    }
    return hb_done(&b);
}

// Variables that ranks on other hosts are to have too (docs/environment.md): threads, NCCL's, and
// where libraries lie that are loaded at run time (cuDNN, NVRTC).
static bool goes_along(const char *variable)
{
    static const char *const those[] = {"OPENBLAS_NUM_THREADS=", "NCCL_", "LD_LIBRARY_PATH="};
    for (size_t i = 0; i < sizeof those / sizeof *those; i++)
        if (strncmp(variable, those[i], strlen(those[i])) == 0) return true;
    return false;
}

// A parameter of Open MPI, unless the environment sets it.
static void add_mca(words *w, const char *name, int value)
{
    if (getenv(hb_fmt(w->a, "OMPI_MCA_%s", name).p)) return;
    add(w, "--mca");
    add(w, "%s", name);
    add(w, "%d", value);
}

// Daemons of Open MPI ask each other whether they are there: a host that is gone without a word is
// noticed within some 11 s, in place of minutes, by mpirun and by what is left there alone.
static void add_keepalive(words *w)
{
    add_mca(w, "oob_tcp_keepalive_time", 5);
    add_mca(w, "oob_tcp_keepalive_intvl", 2);
    add_mca(w, "oob_tcp_keepalive_probes", 3);
}

static const char *mpirun_command(void)
{
    const char *mpirun = getenv("HAPC_MPIRUN");
    return mpirun && mpirun[0] ? mpirun : "mpirun";
}

bool is_this_machine(hb_str host)
{
    char name[64] = "";
    gethostname(name, sizeof name - 1);
    return host.n == 0 || hb_str_is(host, name) || hb_str_is(host, "localhost");
}

char **launch_probe(hb_arena *a, hb_str host)
{
    const char *mpirun = mpirun_command();
    bool open = is_open_mpi(a, mpirun);
    words w = {.a = a};
    add(&w, "%s", mpirun);
    if (open && geteuid() == 0) add(&w, "--allow-run-as-root");
    add(&w, open ? "--host" : "-hosts");
    add(&w, "%.*s", HB_ARG(host));
    add(&w, "-n");
    add(&w, "1");
    add(&w, "true");
    HB_PUSH(a, &w.v, NULL);
    return w.v.p;
}

char **launch_command(hb_arena *a, const run_job *j, char ***env)
{
    const char *mpirun = mpirun_command();
    bool open = is_open_mpi(a, mpirun);
    hb_str hosts = hosts_of(a, j, open);
    words e = {.a = a}, w = {.a = a};
    if (!getenv("OPENBLAS_NUM_THREADS")) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        long threads = hosts.n == 0 && j->n_ranks > 0 ? cores / j->n_ranks : 1;
        add(&e, "OPENBLAS_NUM_THREADS=%ld", threads < 1 ? 1 : threads);
    }
    int shown = e.v.n;
    add(&e, "HAP_HEARTBEAT=%.*s", HB_ARG(j->heartbeat)); // of ranks here alone
    HB_PUSH(a, &e.v, NULL);
    *env = e.v.p;

    add(&w, "%s", mpirun);
    if (open) {
        if (geteuid() == 0) add(&w, "--allow-run-as-root");
        add(&w, "--oversubscribe");
        add(&w, "--bind-to");
        add(&w, "none");
        // Open MPI prints a stack trace where a rank crashes, which may wait for a lock that the
        // rank holds, for ever. Of a signal that nobody sends it does no harm.
        add_mca(&w, "opal_signal", SIGSYS);
        if (hosts.n == 0 && !may_read_others()) {
            add(&w, "--mca");
            add(&w, "btl_vader_single_copy_mechanism");
            add(&w, "none");
        }
    }
    if (open && hosts.n > 0) add_keepalive(&w);
    if (hosts.n > 0) {
        add(&w, open ? "--host" : "-hosts");
        add(&w, "%.*s", HB_ARG(hosts));
        for (int i = 0; open && i < shown; i++) {
            add(&w, "-x");
            add(&w, "%.*s", (int)strcspn(e.v.p[i], "="), e.v.p[i]);
        }
        for (char **v = environ; open && *v; v++) {
            if (!goes_along(*v)) continue;
            add(&w, "-x");
            add(&w, "%.*s", (int)strcspn(*v, "="), *v);
        }
    }
    add(&w, "-n");
    add(&w, "%d", j->n_ranks);
    add(&w, "%.*s", HB_ARG(j->binary));
    for (int i = 0; i < j->n_args; i++)
        HB_PUSH(a, &w.v, j->arg[i]);
    add(&w, "--folder");
    add(&w, "%.*s", HB_ARG(j->folder));
    if (j->calls.n > 0) {
        add(&w, "--calls");
        add(&w, "%.*s", HB_ARG(j->calls));
    }
    if (j->pace > 0) {
        add(&w, "--pace");
        add(&w, "%lld", (long long)j->pace);
    }
    if (j->peak_sec > 0) {
        add(&w, "--peak-seconds");
        add(&w, "%.9g", j->peak_sec);
    }
    if (j->step_sec > 0 && j->cuda == j->on_gpus) { // what was predicted of these devices
        add(&w, "--predicted-seconds");
        add(&w, "%.9g", j->step_sec);
    }
    HB_PUSH(a, &w.v, NULL);
    return w.v.p;
}

hb_str launch_line(hb_arena *a, char *const *argv, char *const *env)
{
    hb_buf b = {.arena = a};
    for (int pass = 0; pass < 2; pass++)
        for (char *const *w = pass ? argv : env; *w; w++) {
            if (!pass && strncmp(*w, "HAP_HEARTBEAT=", 14) == 0) continue; // supervision only
            if (b.n) hb_putc(&b, ' ');
            if ((*w)[0] && !strpbrk(*w, " \t\n'\"\\$`*?[]{}()<>|&;#~!")) {
                hb_puts(&b, *w);
                continue;
            }
            hb_putc(&b, '\'');
            for (const char *p = *w; *p; p++)
                hb_puts(&b, *p == '\'' ? "'\\''" : (char[]){*p, 0});
            hb_putc(&b, '\'');
        }
    return hb_done(&b);
}
