#include "cli/build.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cache.h"
#include "cli/cli.h"
#include "ir/base/sha256.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

volatile sig_atomic_t cli_signals;

int cli_capture(hb_arena *a, char *const *argv, char *const *env, int seconds, hb_str *out)
{
    int fd[2];
    if (pipe(fd) != 0) return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        close(fd[0]);
        close(fd[1]);
        return -1;
    }
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(fd[1], STDOUT_FILENO);
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        close(fd[1]);
        for (; env && *env; env++)
            putenv(*env);
        execvp(argv[0], argv);
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    close(fd[1]);
    hb_buf b = {.arena = a};
    double end = now() + seconds;
    int signals = cli_signals;
    bool late = false;
    for (;;) {
        enum { TICK_MS = 200 }; // a signal may come right before poll
        struct pollfd p = {fd[0], POLLIN, 0};
        if ((seconds && now() >= end) || cli_signals != signals) {
            late = true;
            kill(-pid, SIGKILL);
            break;
        }
        if (poll(&p, 1, TICK_MS) <= 0) continue;
        char text[4096];
        ssize_t n = read(fd[0], text, sizeof text);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        hb_putn(&b, text, (size_t)n);
    }
    close(fd[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *out = hb_done(&b);
    if (late) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char **cli_words(hb_arena *a, hb_str text, int *n)
{
    HB_VEC(char *) words = {0};
    for (size_t i = 0; i < text.n;) {
        while (i < text.n && strchr(" \t\n", text.p[i]))
            i++;
        if (i == text.n) break;
        hb_buf b = {.arena = a};
        hb_puts(&b, "");
        char quote = 0;
        for (; i < text.n && (quote || !strchr(" \t\n", text.p[i])); i++) {
            char c = text.p[i];
            if (quote && c == quote)
                quote = 0;
            else if (!quote && (c == '\'' || c == '"'))
                quote = c;
            else if (c == '\\' && quote != '\'' && i + 1 < text.n)
                hb_putc(&b, text.p[++i]);
            else
                hb_putc(&b, c);
        }
        char *w = HB_ARRAY(a, char, b.n + 1);
        if (b.n) memcpy(w, b.p, b.n);
        HB_PUSH(a, &words, w);
    }
    HB_PUSH(a, &words, NULL);
    *n = words.n - 1;
    return words.p;
}

static bool flags_of(hb_arena *a, const char *package, hb_str *flags)
{
    const char *old = getenv("PKG_CONFIG_PATH");
    hb_str env = hb_fmt(a, "PKG_CONFIG_PATH=%s/%s%s%s", cli_self_dir(a), HAP_REL_PKGCONFIG,
                        old && old[0] ? ":" : "", old ? old : "");
    char *argv[] = {hb_copy(a, "pkg-config", 11), hb_copy(a, "--cflags", 9),
                    hb_copy(a, "--libs", 7), hb_copy(a, package, strlen(package) + 1), NULL};
    char *envs[] = {hb_copy(a, env.p, env.n + 1), NULL};
    if (cli_capture(a, argv, envs, 30, flags) == 0) return true;
    cli_error(CLI_FAILED, "pkg-config does not know %s (%s):\n%.*s", package,
              strcmp(package, "haprt-cuda") == 0
                  ? "hapc was built without CUDA: cmake --preset cuda"
                  : "the runtime of hapc is not installed beside it",
              HB_ARG(*flags));
    return false;
}

// What is compiled: these two of the folder, and nothing else that lies there.
enum { PROGRAM, BUFFERS, KERNELS, N_SOURCES };

typedef struct build {
    hb_arena *a;
    const char *dir;
    hb_str text[N_SOURCES]; // NULL: not there
    char **cc, **flag;
    int n_cc, n_flags;
    hb_str cache, home;
} build;

// --- the key of a build: all that goes into it ---

static void put_file(hb_arena *a, hb_buf *key, hb_str path)
{
    hb_str text;
    const char *why = NULL;
    if (hb_read_file(a, path.p, &text, &why))
        hb_printf(key, "%.*s %.*s\n", HB_ARG(path), HB_ARG(hb_sha256_hex(a, text)));
}

// A file by its place, size and time.
static bool put_stamp(hb_buf *key, hb_str path)
{
    struct stat s;
    if (stat(path.p, &s) != 0 || !S_ISREG(s.st_mode)) return false;
    hb_printf(key, "%.*s %lld %lld %ld\n", HB_ARG(path), (long long)s.st_size,
              (long long)s.st_mtim.tv_sec, (long)s.st_mtim.tv_nsec);
    return true;
}

// The runtime: its headers and its library, by what is in them. Of other libraries of the flags
// their place, size and time.
static void put_runtime(const build *x, hb_buf *key)
{
    hb_arena *a = x->a;
    static const char *const headers[] = {"runtime.h", "ops.h", "table.h"};
    for (int k = 0; k < x->n_flags; k++) {
        const char *path = x->flag[k] + 2;
        for (size_t h = 0;
             strncmp(x->flag[k], "-I", 2) == 0 && h < sizeof headers / sizeof *headers; h++)
            put_file(a, key, hb_fmt(a, "%s/hap/%s", path, headers[h]));
        for (int i = 0; strncmp(x->flag[k], "-L", 2) == 0 && i < x->n_flags; i++) {
            const char *name = x->flag[i] + 2;
            if (strncmp(x->flag[i], "-lhaprt", 7) == 0)
                put_file(a, key, hb_fmt(a, "%s/lib%s.a", path, name));
            else if (strncmp(x->flag[i], "-l", 2) == 0 &&
                     !put_stamp(key, hb_fmt(a, "%s/lib%s.so", path, name)))
                put_stamp(key, hb_fmt(a, "%s/lib%s.a", path, name));
        }
        if (x->flag[k][0] == '/') put_stamp(key, hb_str_c(a, x->flag[k]));
    }
}

// The file that a command is.
static void put_command(const build *x, hb_buf *key, const char *command)
{
    const char *path = strchr(command, '/') ? "" : getenv("PATH");
    for (const char *p = path; p;) {
        size_t n = strcspn(p, ":");
        hb_str file = hb_fmt(x->a, "%.*s%s%s", (int)n, p, n ? "/" : "", command);
        if (access(file.p, X_OK) == 0 && put_stamp(key, file)) return;
        p = p[n] ? p + n + 1 : NULL;
    }
}

// The compiler: which, as it names itself, and the variables that it goes by.
static void put_compiler(const build *x, hb_buf *key)
{
    static const char *const variables[] = {
        "CPATH",           "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "LD_RUN_PATH",
        "GCC_EXEC_PREFIX", "OMPI_CC",        "OMPI_CFLAGS",  "OMPI_LDFLAGS",  "MPICH_CC"};
    char **argv = HB_ARRAY(x->a, char *, x->n_cc + 2);
    hb_str version;
    for (int i = 0; i < x->n_cc; i++)
        hb_printf(key, "%s ", argv[i] = x->cc[i]);
    argv[x->n_cc] = hb_copy(x->a, "--version", 10);
    int rc = cli_capture(x->a, argv, NULL, 30, &version);
    hb_printf(key, "%d %.*s\n", rc, HB_ARG(version));
    if (x->n_cc > 0) put_command(x, key, x->cc[0]);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value) hb_printf(key, "%s=%s\n", variables[i], value);
    }
}

// --- the build ---

// What a compiler says of files in `tmp`, as of files of the plan.
static hb_str as_of_plan(const build *x, hb_str text, hb_str tmp)
{
    hb_buf b = {.arena = x->a};
    for (size_t i = 0; i < text.n;) {
        bool here = text.n - i >= tmp.n && memcmp(text.p + i, tmp.p, tmp.n) == 0;
        if (here)
            hb_puts(&b, x->dir);
        else
            hb_putc(&b, text.p[i]);
        i += here ? tmp.n : 1;
    }
    return hb_done(&b);
}

static bool put_sources(const build *x, hb_str tmp, int *code)
{
    bool ok = mkdir(tmp.p, 0700) == 0 &&
              hb_write_file(hb_fmt(x->a, "%s/program.c", tmp.p).p, x->text[PROGRAM]);
    if (ok && x->text[BUFFERS].p)
        ok = hb_write_file(hb_fmt(x->a, "%s/buffers.h", tmp.p).p, x->text[BUFFERS]);
    if (!ok) *code = cli_error(CLI_INPUT, "%s: %s", tmp.p, strerror(errno));
    return ok;
}

static bool compile_in(const build *x, hb_str tmp, int *code)
{
    hb_arena *a = x->a;
    static const char *const own[] = {"-std=c11", "-O2", "-o"};
    char **argv = HB_ARRAY(a, char *, x->n_cc + x->n_flags + 8);
    hb_str to = hb_fmt(a, "%s/program", tmp.p), from = hb_fmt(a, "%s.c", to.p), output;
    int n = 0;
    for (int i = 0; i < x->n_cc; i++)
        argv[n++] = x->cc[i];
    for (int i = 0; i < 3; i++)
        argv[n++] = hb_copy(a, own[i], strlen(own[i]) + 1);
    argv[n++] = hb_copy(a, to.p, to.n + 1);
    argv[n++] = hb_copy(a, from.p, from.n + 1);
    for (int i = 0; i < x->n_flags; i++)
        argv[n++] = x->flag[i];
    int rc = cli_capture(a, argv, NULL, 0, &output);
    output = as_of_plan(x, output, tmp);
    chmod(to.p, 0700); // whatever the umask
    if (rc != 0)
        *code =
            cli_error(CLI_FAILED, "%s/program.c does not compile:\n%.*s", x->dir, HB_ARG(output));
    else if (output.n)
        fprintf(stderr, "%.*s", HB_ARG(output)); // warnings
    return rc == 0;
}

// Gives the finished folder its place: `home` is whole, or not there.
static bool keep(const build *x, hb_str tmp, int *code)
{
    if (rename(tmp.p, x->home.p) == 0) return true;
    bool other = cache_has(hb_fmt(x->a, "%s/program", x->home.p).p); // which was faster
    if (!other) {
        cache_remove(x->a, x->home); // half of one
        if (rename(tmp.p, x->home.p) == 0) return true;
        *code = cli_error(CLI_INPUT, "%s: %s", x->home.p, strerror(errno));
    }
    cache_remove(x->a, tmp);
    return other;
}

static bool compile(const build *x, int *code)
{
    hb_str tmp =
        hb_fmt(x->a, "%s/tmp-%ld-%.8s", x->cache.p, (long)getpid(), x->home.p + x->cache.n + 1);
    cache_remove(x->a, tmp); // of a process with this number that was killed
    if (put_sources(x, tmp, code) && compile_in(x, tmp, code)) return keep(x, tmp, code);
    cache_remove(x->a, tmp);
    return false;
}

static bool read_sources(build *x, hb_buf *key, int *code)
{
    static const char *const name[] = {"program.c", "buffers.h", "kernels.cu"};
    for (int i = 0; i < N_SOURCES; i++) {
        const char *why = NULL;
        hb_str path = hb_fmt(x->a, "%s/%s", x->dir, name[i]);
        bool there = hb_read_file(x->a, path.p, &x->text[i], &why);
        if (there)
            hb_printf(key, "%s %.*s\n", name[i], HB_ARG(hb_sha256_hex(x->a, x->text[i])));
        else
            x->text[i] = (hb_str){0};
        if (there || i != PROGRAM) continue;
        *code = cli_error(CLI_INPUT, "%s: %s", path.p, why);
        return false;
    }
    return true;
}

bool cli_build(hb_arena *a, const char *dir, const char *package, hb_str *binary, int *code)
{
    build x = {.a = a, .dir = dir};
    hb_str flags;
    hb_buf key = {.arena = a};
    hb_printf(&key, "%s\n", package);
    if (!read_sources(&x, &key, code)) return false;
    *code = CLI_FAILED;
    if (!flags_of(a, package, &flags)) return false;
    const char *cc = getenv("CC");
    if (!cc || !cc[0]) cc = "cc";
    x.cc = cli_words(a, (hb_str){cc, strlen(cc)}, &x.n_cc);
    x.flag = cli_words(a, flags, &x.n_flags);
    hb_printf(&key, "%.*s\n", HB_ARG(flags));
    put_compiler(&x, &key);
    put_runtime(&x, &key);
    if (!cache_folder(a, &x.cache, code)) return false;
    x.home = hb_fmt(a, "%s/%.32s", x.cache.p, hb_sha256_hex(a, hb_done(&key)).p);
    *binary = hb_fmt(a, "%s/program", x.home.p);
    if (cache_has(binary->p)) {
        cache_used(x.home);
        return true;
    }
    cache_sweep(a, x.cache);
    return compile(&x, code);
}
