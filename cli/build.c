#include "cli/build.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ir/base/sha256.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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
    bool late = false;
    for (;;) {
        struct pollfd p = {fd[0], POLLIN, 0};
        int wait = seconds ? (int)((end - now()) * 1000) : -1;
        if (seconds && wait <= 0) {
            late = true;
            kill(-pid, SIGKILL);
            break;
        }
        if (poll(&p, 1, wait) <= 0) continue;
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

// Size and time of every libhaprt archive among the flags: a rebuilt runtime means a new binary.
static void stamp_libraries(hb_arena *a, char **flag, int n, hb_buf *key)
{
    for (int i = 0; i < n; i++) {
        if (strncmp(flag[i], "-lhaprt", 7) != 0) continue;
        for (int k = 0; k < n; k++) {
            struct stat s;
            if (strncmp(flag[k], "-L", 2) != 0) continue;
            hb_str path = hb_fmt(a, "%s/lib%s.a", flag[k] + 2, flag[i] + 2);
            if (stat(path.p, &s) == 0)
                hb_printf(key, "%s %lld %lld %ld\n", path.p, (long long)s.st_size,
                          (long long)s.st_mtim.tv_sec, (long)s.st_mtim.tv_nsec);
        }
    }
}

bool cli_build(hb_arena *a, const char *dir, const char *package, hb_str *binary, int *code)
{
    hb_str source = hb_fmt(a, "%s/program.c", dir), text, flags;
    const char *why = NULL;
    if (!hb_read_file(a, source.p, &text, &why)) {
        *code = cli_error(CLI_INPUT, "%.*s: %s", HB_ARG(source), why);
        return false;
    }
    *code = CLI_FAILED;
    if (!flags_of(a, package, &flags)) return false;
    const char *cc = getenv("CC");
    if (!cc || !cc[0]) cc = "cc";
    int n_cc, n_flags;
    char **cc_word = cli_words(a, (hb_str){cc, strlen(cc)}, &n_cc),
         **flag = cli_words(a, flags, &n_flags);
    hb_buf key = {.arena = a};
    hb_printf(&key, "%s\n%.*s\n", cc, HB_ARG(flags));
    stamp_libraries(a, flag, n_flags, &key);
    hb_putn(&key, text.p, text.n);
    if (hb_read_file(a, hb_fmt(a, "%s/buffers.h", dir).p, &text, &why))
        hb_putn(&key, text.p, text.n); // included by program.c, if hapc wrote that
    hb_str sha = hb_sha256_hex(a, hb_done(&key));
    hb_str build = hb_fmt(a, "%s/build", dir), home = hb_fmt(a, "%s/%.16s", build.p, sha.p);
    *binary = hb_fmt(a, "%s/program", home.p);
    if (access(binary->p, X_OK) == 0) return true;
    if ((mkdir(build.p, 0777) != 0 && errno != EEXIST) ||
        (mkdir(home.p, 0777) != 0 && errno != EEXIST)) {
        *code = cli_error(CLI_INPUT, "%s: %s", home.p, strerror(errno));
        return false;
    }
    hb_str tmp = hb_fmt(a, "%s.%ld", binary->p, (long)getpid()), output;
    static const char *const own[] = {"-std=c11", "-O2", "-o"};
    char **argv = HB_ARRAY(a, char *, n_cc + n_flags + 8);
    int n = 0;
    for (int i = 0; i < n_cc; i++)
        argv[n++] = cc_word[i];
    for (int i = 0; i < 3; i++)
        argv[n++] = hb_copy(a, own[i], strlen(own[i]) + 1);
    argv[n++] = hb_copy(a, tmp.p, tmp.n + 1);
    argv[n++] = hb_copy(a, source.p, source.n + 1);
    for (int i = 0; i < n_flags; i++)
        argv[n++] = flag[i];
    int rc = cli_capture(a, argv, NULL, 0, &output);
    if (rc != 0) {
        unlink(tmp.p);
        cli_error(CLI_FAILED, "%.*s does not compile:\n%.*s", HB_ARG(source), HB_ARG(output));
        return false;
    }
    if (output.n) fprintf(stderr, "%.*s", HB_ARG(output)); // warnings
    if (rename(tmp.p, binary->p) != 0) {
        *code = cli_error(CLI_INPUT, "%s: %s", binary->p, strerror(errno));
        unlink(tmp.p);
        return false;
    }
    return true;
}
