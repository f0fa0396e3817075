// Watching ranks: heartbeats, deaths, hangs, signals; ending every process, and saying so once.

#include "cli/launch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

enum { LINE_MAX_BYTES = 4096, TICK_MS = 100, REHEARSAL = -2 };
enum { START_SECONDS = 60, FILE_SECONDS = 600 };

typedef struct beat {
    long pid;              // 0: no heartbeat yet
    long long step, count; // step: REHEARSAL, or -1 outside steps
    int line;
    char name[48];
    char host[64];
} beat;

typedef struct watch {
    hb_arena *a;
    const run_job *j;
    pid_t mpirun;
    beat *beat;
    double moved;         // when some rank's count last changed
    long long first_step; // of this run; -1: not begun
    bool said;            // the one message was printed
    bool asked;           // the ranks were told to end after their step
    char waits_for[48];   // what ranks were last said to do before their first step
    double waits_since;
    run_outcome *out;
    bool moves;       // the ranks were told to end behind their next checkpoint
    double starts;    // when the command was started
    double start_sec; // from then until the first step was seen
    double seen;      // when a rank without a heartbeat was last seen, 0: never
    double looked;    // when one was last looked for
    int dead;         // rank whose process is gone without an "end", -1
    double dead_since;
    int banner_rank, banner_signal; // from mpirun's own notice, -1
    long banner_pid;
    bool in_banner, daemon_lost;
    char heard[512]; // the first paragraph of mpirun's first banner, else its first other line
    int heard_from;  // 0 nothing, 1 a line, 2 a paragraph that goes on, 3 one that has ended
    char line[LINE_MAX_BYTES];
    size_t n_line;
} watch;

static volatile sig_atomic_t stop_signals; // so many of SIGINT, SIGTERM, SIGHUP

static void on_signal(int sig)
{
    (void)sig;
    stop_signals++;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nap(int ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

char process_state(long pid, long *parent)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *end = strrchr(text, ')'); // the name may hold anything
    char state = 0;
    long up = 0;
    if (!end || sscanf(end + 1, " %c %ld", &state, &up) != 2) return 0;
    if (parent) *parent = up;
    return state;
}

// A rank's process, and not another one that was given its number since.
static bool is_rank(const watch *w, long pid)
{
    char path[64], exe[4096];
    snprintf(path, sizeof path, "/proc/%ld/exe", pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    if (n <= 0) return false;
    exe[n] = 0;
    return strncmp(exe, w->j->binary.p, w->j->binary.n) == 0;
}

static void read_beat(watch *w, int r)
{
    char path[4200], text[129];
    snprintf(path, sizeof path, "%s/rank.%d", w->j->heartbeat.p, r);
    int fd = open(path, O_RDONLY);
    if (fd < 0) return;
    ssize_t n = read(fd, text, 128);
    close(fd);
    if (n < 128) return;
    text[128] = 0;
    beat b = {0};
    if (sscanf(text, "%ld %lld %d %47s %lld", &b.pid, &b.step, &b.line, b.name, &b.count) != 5)
        return;
    if (b.count != w->beat[r].count || b.pid != w->beat[r].pid) w->moved = now();
    if (w->first_step < 0) w->first_step = b.step;
    for (char *at = b.name; *at; at++) // a message of a port: several words as one
        if (*at == ',') *at = ' ';
    w->beat[r] = b;
}

static void read_beats(watch *w)
{
    for (int r = 0; r < w->j->n_ranks; r++)
        read_beat(w, r);
}

// It ended by itself, well or after a message.
static bool has_ended(const beat *b)
{
    return strcmp(b->name, "end") == 0 || strncmp(b->name, "quit", 4) == 0;
}

// The exit code of a rank that ended itself after its message; -1 if none did. More reliable than
// mpirun's, which depends on which rank it saw end first.
static int quit_code(const watch *w)
{
    int code = -1;
    for (int r = 0; r < w->j->n_ranks; r++)
        if (strncmp(w->beat[r].name, "quit", 4) == 0) code = atoi(w->beat[r].name + 4);
    return code;
}

static void look_for_dead(watch *w)
{
    for (int r = 0; r < w->j->n_ranks && w->dead < 0; r++) {
        const beat *b = &w->beat[r];
        if (b->pid == 0 || has_ended(b)) continue;
        char state = process_state(b->pid, NULL);
        if (state != 0 && state != 'Z' && state != 'X') continue;
        read_beat(w, r); // its last word may be newer than what was read before it was gone
        if (has_ended(b)) continue;
        w->dead = r;
        w->dead_since = now();
    }
}

static hb_str place(const watch *w, int r)
{
    hb_buf b = {.arena = w->a};
    const beat *t = &w->beat[r];
    char host[64] = "?";
    gethostname(host, sizeof host - 1);
    const char *name = w->j->rank[r].host.n ? w->j->rank[r].host.p : host;
    hb_printf(&b, "rank %d host %s device %.*s", r, name, HB_ARG(w->j->rank[r].device));
    if (t->pid == 0) {
        hb_puts(&b, ", before its first call");
        return hb_done(&b);
    }
    if (t->step == REHEARSAL) hb_puts(&b, " rehearsal");
    if (t->step >= 0) hb_printf(&b, " step %lld", t->step);
    if (t->line > 0) hb_printf(&b, " program.c:%d", t->line);
    hb_printf(&b, ": %s", t->name);
    return hb_done(&b);
}

static void say(watch *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(watch *w, const char *fmt, ...)
{
    if (w->said) return;
    w->said = true;
    va_list ap;
    va_start(ap, fmt);
    fflush(stdout);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

static bool only_of(const char *s, char c, int least)
{
    int n = 0;
    for (; *s == c; s++)
        n++;
    while (*s == ' ')
        s++;
    return *s == 0 && n >= least;
}

// What mpirun says is kept for the case that nothing else tells why the ranks could not be run.
static void hear(watch *w, const char *s)
{
    if (w->heard_from == 3 || (w->heard_from == 1 && !w->in_banner)) return;
    if (!*s) {
        if (w->heard_from == 2) w->heard_from = 3;
        return;
    }
    if (w->heard_from < 2) w->heard[0] = 0;
    size_t n = strlen(w->heard);
    snprintf(w->heard + n, sizeof w->heard - n, "%s%s", n > 0 ? " " : "", s);
    w->heard_from = w->in_banner ? 2 : 1;
}

// What Open MPI says by itself, behind its prefix: "[host:01234] …", from mpirun and its helpers,
// or
// "[host][[job,1],rank][file.c:line:function] …", from its transports in a rank that loses another.
// NULL for other lines.
static const char *mpi_talk(const char *s)
{
    const char *end = s[0] == '[' ? strchr(s, ']') : NULL, *colon = strchr(s, ':');
    if (!end || !colon) return NULL;
    if (strncmp(end, "][[", 3) == 0 && strstr(end, ".c:"))
        end = strstr(end, "] ");
    else if (colon > end || !isdigit((unsigned char)colon[1]))
        return NULL;
    if (!end) return NULL;
    return end + 1 + (end[1] == ' ');
}

// One line of the ranks' or mpirun's stderr. mpirun's banners are read, not shown; of the ranks'
// own last words only the first are shown.
static void take_line(watch *w, const char *s)
{
    if (w->j->pace > 0 && strncmp(s, "pace ", 5) == 0) {
        if (w->start_sec <= 0) w->start_sec = now() - w->starts;
        w->j->heard(w->j->moves_ctx, s, w->start_sec);
        return;
    }
    if (only_of(s, '-', 40) || only_of(s, '=', 40)) {
        hear(w, "");
        w->in_banner = !w->in_banner;
        return;
    }
    const char *at = strstr(s, "noticed that process rank ");
    if (at) w->banner_rank = atoi(at + 26);
    if ((at = strstr(s, "exited on signal "))) w->banner_signal = atoi(at + 17);
    if ((at = strstr(s, "PID ")) && strstr(s, "RUNNING AT")) w->banner_pid = atol(at + 4);
    if ((at = strstr(s, "EXIT CODE: "))) w->banner_signal = atoi(at + 11);
    if (strstr(s, "reliably start one or more daemons") ||
        strstr(s, "lost communication with a remote daemon"))
        w->daemon_lost = true;
    if (w->in_banner) hear(w, s);
    if (w->in_banner || (w->said && !*s)) return;
    if ((at = mpi_talk(s))) {
        hear(w, at);
        return;
    }
    if (strncmp(s, "mpirun", 6) == 0 || strncmp(s, "prterun", 7) == 0) {
        hear(w, s);
        return;
    }
    if (strncmp(s, "YOUR APPLICATION TERMINATED", 27) == 0 ||
        strncmp(s, "This typically refers", 21) == 0 || strncmp(s, "Please see the FAQ", 18) == 0)
        return;
    static const char loading[] = "error while loading shared libraries: ";
    if ((at = strstr(s, loading)) || (at = strstr(s, "symbol lookup error: "))) {
        at += strncmp(at, loading, sizeof loading - 1) == 0 ? sizeof loading - 1 : 0;
        say(w, "hapc: error: the program does not start: %s", at);
        return;
    }
    bool last_words = strncmp(s, "error: ", 7) == 0;
    if (strncmp(s, "rank ", 5) == 0 && isdigit((unsigned char)s[5]) && strstr(s, " host "))
        last_words = true;
    if (!last_words) {
        fprintf(stderr, "%s\n", s);
        return;
    }
    say(w, "%s", s);
}

static void take_bytes(watch *w, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n' || w->n_line == sizeof w->line - 1) {
            w->line[w->n_line] = 0;
            w->n_line = 0;
            take_line(w, w->line);
            if (p[i] == '\n') continue;
        }
        if (p[i] != '\r') w->line[w->n_line++] = p[i];
    }
}

// Our own descendants that have lost their parents are our children (PR_SET_CHILD_SUBREAPER).
static int kill_children(void)
{
    DIR *d = opendir("/proc");
    int n = 0;
    if (!d) return 0;
    for (struct dirent *f; (f = readdir(d));) {
        long pid = strtol(f->d_name, NULL, 10), parent = 0;
        if (pid <= 0 || process_state(pid, &parent) == 0 || parent != (long)getpid()) continue;
        kill((pid_t)pid, SIGKILL);
        n++;
    }
    closedir(d);
    return n;
}

static void reap(watch *w, int *status, bool *ended)
{
    int s;
    pid_t pid;
    while ((pid = waitpid(-1, &s, WNOHANG)) > 0)
        if (pid == w->mpirun) {
            *status = s;
            *ended = true;
        }
}

// Ends every process of the job, the polite way first; at most about six seconds.
static void end_all(watch *w, int *status, bool *ended)
{
    if (!*ended) kill(w->mpirun, SIGTERM);
    for (int i = 0; i < 15 && !*ended; i++) {
        nap(100);
        reap(w, status, ended);
    }
    read_beats(w);
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0 && is_rank(w, w->beat[r].pid)) kill((pid_t)w->beat[r].pid, SIGKILL);
    for (int i = 0; i < 15 && !*ended; i++) {
        nap(100);
        reap(w, status, ended);
    }
    if (!*ended) kill(-w->mpirun, SIGKILL);
    for (int i = 0; i < 30; i++) {
        reap(w, status, ended);
        if (*ended && kill_children() == 0) break;
        nap(100);
    }
}

// A rank without a heartbeat because it runs on another host, where it can have none.
static bool is_away(const watch *w, int r)
{
    return w->beat[r].pid == 0 && !is_this_machine(w->j->rank[r].host);
}

// The rank that a process was started as, by the variable of Open MPI, or of MPICH and Slurm; -1:
// it is none.
static int rank_of(long pid)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="};
    char path[64], text[1 << 16];
    snprintf(path, sizeof path, "/proc/%ld/environ", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(text + at, names[i], strlen(names[i])) == 0)
                return atoi(text + at + strlen(names[i]));
    return -1;
}

// Of the ranks here that have no heartbeat yet one that was stopped, and one that has no process,
// though others have; -1: none.
static void look_early(const watch *w, int *stopped, int *gone)
{
    hb_arena *a = hb_arena_new();
    bool *there = HB_ARRAY(a, bool, w->j->n_ranks), any = false;
    *stopped = *gone = -1;
    DIR *d = opendir("/proc");
    for (struct dirent *f; d && (f = readdir(d));) {
        long pid = strtol(f->d_name, NULL, 10);
        int r = pid > 0 && is_rank(w, pid) ? rank_of(pid) : -1;
        if (r < 0 || r >= w->j->n_ranks) continue;
        char state = process_state(pid, NULL);
        there[r] = any = true;
        if ((state == 'T' || state == 't') && w->beat[r].pid == 0 && !is_away(w, r)) *stopped = r;
    }
    if (d) closedir(d);
    for (int r = 0; r < w->j->n_ranks && any && *gone < 0; r++)
        if (!there[r] && w->beat[r].pid == 0 && !is_away(w, r)) *gone = r;
    hb_arena_free(a);
}

// Ranks were there, none has come to its first call, and all are gone, though the launcher goes on:
// it has not seen it, or hangs. Processes are looked for once a second.
static bool vanished(watch *w)
{
    static const double GONE_SECONDS = 5;
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0) return false;
    if (now() - w->looked < 1) return false;
    w->looked = now();
    DIR *d = opendir("/proc");
    for (struct dirent *f; d && (f = readdir(d));) {
        long pid = strtol(f->d_name, NULL, 10);
        if (pid > 0 && is_rank(w, pid) && rank_of(pid) >= 0) w->seen = now();
    }
    if (d) closedir(d);
    return w->seen > 0 && now() - w->seen > GONE_SECONDS;
}

// The rank that keeps the others waiting: a stopped one, one that is gone, else the one that is
// furthest behind, of those that are seen from here.
static int slowest(const watch *w, bool *stopped, bool *gone)
{
    int best = 0, stopped_early, gone_early;
    look_early(w, &stopped_early, &gone_early);
    *stopped = stopped_early >= 0;
    *gone = !*stopped && gone_early >= 0;
    if (*stopped) return stopped_early;
    if (*gone) return gone_early;
    for (int r = 0; r < w->j->n_ranks; r++) {
        const beat *b = &w->beat[r], *o = &w->beat[best];
        char state = b->pid > 0 ? process_state(b->pid, NULL) : 0;
        if (state == 'T' || state == 't') {
            *stopped = true;
            return r;
        }
        if (is_away(w, r) != is_away(w, best)) {
            if (is_away(w, best)) best = r;
            continue;
        }
        if (b->pid == 0 && o->pid != 0) best = r;
        if ((b->pid == 0) != (o->pid == 0)) continue;
        if (b->step < o->step || (b->step == o->step && b->count < o->count)) best = r;
    }
    return best;
}

// No rank has begun, or one joins the others, or rehearses its step on a device or is in its first,
// where libraries are loaded and kernels compiled: that takes what it takes, however short the step
// is.
static bool starting(const watch *w)
{
    bool begun = false;
    for (int r = 0; r < w->j->n_ranks; r++) {
        const beat *b = &w->beat[r];
        if (b->pid > 0 && strcmp(b->name, "init") == 0) return true;
        if (w->j->cuda && b->step == REHEARSAL) return true;
        if (w->j->cuda && b->step >= 0 && b->step == w->first_step) return true;
        begun = begun || b->pid > 0;
    }
    return !begun;
}

// A rank reads or writes a checkpoint: other ranks wait, and disks take what they take.
static bool at_files(const watch *w)
{
    for (int r = 0; r < w->j->n_ranks; r++)
        if (!strcmp(w->beat[r].name, "save") || !strcmp(w->beat[r].name, "load")) return true;
    return false;
}

static int ranks_away(const watch *w)
{
    int n = 0;
    for (int r = 0; r < w->j->n_ranks; r++)
        n += is_away(w, r);
    return n;
}

// Seconds for mpirun to say which rank died. Where ranks are on other hosts one that is found dead
// here may be one that mpirun has ended because of another there, of which its notice comes later.
static double patience(const watch *w)
{
    return ranks_away(w) > 0 ? 8 : 2;
}

static const char *signal_text(int sig)
{
    return sig > 0 && sig < 65 ? strsignal(sig) : "unknown";
}

static void lose(watch *w, int rank)
{
    w->out->lost = !w->asked;
    w->out->rank = rank;
}

// A device that fails shows as the one rank that ends itself with a message; where all do so, as
// for a loss that is no number, none is lost.
static void look_for_quit(watch *w, int code)
{
    int n = 0, rank = -1;
    for (int r = 0; r < w->j->n_ranks; r++) {
        if (strncmp(w->beat[r].name, "quit", 4) != 0) continue;
        rank = r;
        n++;
    }
    if (w->j->cuda && n == 1 && code == CLI_FAILED) lose(w, rank);
}

// The hosts of ranks elsewhere: "b, c".
static hb_str other_hosts(const watch *w)
{
    hb_buf b = {.arena = w->a};
    for (int r = 0; r < w->j->n_ranks; r++) {
        hb_str host = w->j->rank[r].host;
        if (is_away(w, r) && (r == 0 || !hb_str_eq(host, w->j->rank[r - 1].host)))
            hb_printf(&b, "%s%.*s", b.n ? " or " : "", HB_ARG(host));
    }
    return hb_done(&b);
}

static int how_it_ended(watch *w, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    w->out->moved = code == 0 && w->moves;
    if (code == 0) return w->asked ? CLI_INTERRUPTED : CLI_OK;
    if (w->said && quit_code(w) >= 0) code = quit_code(w);
    look_for_quit(w, code);
    int rank = w->banner_rank;
    // One that a signal ended, though another one, which lost it, was the first to speak.
    if (w->said && rank >= 0 && rank < w->j->n_ranks && w->banner_signal > 0 &&
        !has_ended(&w->beat[rank]))
        lose(w, rank);
    for (int r = 0; r < w->j->n_ranks && rank < 0 && w->banner_pid > 0; r++)
        if (w->beat[r].pid == w->banner_pid) rank = r;
    if (rank < 0) rank = w->dead;
    if (w->daemon_lost && w->first_step >= 0 && ranks_away(w) > 0) { // it ended the ranks here
        say(w, "hapc: error: host lost: %.*s (mpirun's daemon there has ended)",
            HB_ARG(other_hosts(w)));
        lose(w, -1);
        return CLI_FAILED;
    }
    if (!w->said && rank >= 0 && rank < w->j->n_ranks) {
        if (w->banner_signal > 0)
            say(w, "%s: the process died (signal %d, %s)", place(w, rank).p, w->banner_signal,
                signal_text(w->banner_signal));
        else
            say(w, "%s: the process died", place(w, rank).p);
        lose(w, rank);
        return CLI_FAILED;
    }
    if (!w->said) {
        if (ranks_away(w) > 0) lose(w, -1);
        say(w, "hapc: error: the ranks could not be run (mpirun ended with exit code %d)%s%s", code,
            w->heard[0] ? ": " : "", w->heard);
        return CLI_FAILED;
    }
    return code == CLI_INPUT || code == CLI_USAGE ? code : CLI_FAILED;
}

static pid_t start(char *const *argv, char *const *env, int err)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0) return pid;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); // if hapc itself is killed
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    int none = open("/dev/null", O_RDONLY);
    if (none >= 0) dup2(none, STDIN_FILENO);
    dup2(err, STDERR_FILENO);
    for (char *const *e = env; *e; e++)
        putenv(*e);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "error: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

// The first signal: the ranks end after their step and save. False: they have not begun one, so
// that there is nothing to save.
static bool ask_to_end(watch *w)
{
    int n = 0;
    bool begun = false;
    for (int r = 0; r < w->j->n_ranks; r++)
        begun = begun || w->beat[r].step >= 0 || is_away(w, r);
    fflush(stdout);
    fprintf(stderr, "hapc: interrupted%s\n",
            begun ? ": ends after this step (once more: at once)" : "");
    if (!begun) return false;
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0 && is_rank(w, w->beat[r].pid))
            n += kill((pid_t)w->beat[r].pid, SIGUSR1) == 0;
    if (n == 0) kill(w->mpirun, SIGUSR1); // which passes it on, to ranks on other hosts
    w->asked = true;
    return true;
}

// The ranks are told to end behind their next checkpoint, once they are in their steps: before, a
// signal would end them. Those on other hosts alone are not seen to be.
static void look_for_move(watch *w)
{
    bool begun = w->first_step >= 0;
    if (ranks_away(w) == w->j->n_ranks) begun = now() - w->starts > START_SECONDS;
    if (w->moves || w->asked || !begun || !w->j->moves || !w->j->moves(w->j->moves_ctx)) return;
    int n = 0;
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0 && is_rank(w, w->beat[r].pid))
            n += kill((pid_t)w->beat[r].pid, SIGUSR2) == 0;
    if (n == 0) kill(w->mpirun, SIGUSR2);
    w->moves = true;
}

static void say_moved(watch *w, long long before)
{
    if (!w->j->resumed || before >= 0 || w->first_step < 0) return;
    fprintf(stderr, "hapc: moved in %.1f s\n", now() - w->starts);
}

// What takes long before the first step is said once.
static void say_what_is_done(watch *w)
{
    static const struct {
        const char *beat, *said;
    } known[] = {{"", "starts the ranks"},
                 {"init", "ranks join each other"},
                 {"load", "reads what the run starts from"},
                 {"input", "reads the first rows"}};
    const double patient = 3;
    const beat *b = NULL;
    if (w->first_step >= 0 || w->said) return;
    for (int r = 0; r < w->j->n_ranks && !b; r++)
        if (!is_away(w, r) && w->beat[r].step < 0) b = &w->beat[r];
    if (!b) return;
    const char *said =
        b->step == REHEARSAL ? "rehearses the step: compiles, tunes, captures" : NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known && !said; i++)
        if (!strcmp(b->name, known[i].beat)) said = known[i].said;
    if (!said) return;
    if (strncmp(w->waits_for, said, sizeof w->waits_for - 1) != 0) {
        snprintf(w->waits_for, sizeof w->waits_for, "%s", said);
        w->waits_since = now();
    } else if (w->waits_since > 0 && now() - w->waits_since > patient) {
        fprintf(stderr, "hapc: %s\n", said);
        w->waits_since = 0;
    }
}

// Looks after a run until it has ended (-1) or must be ended: the exit code for it then.
static int look_after(watch *w, int fd, int *status, bool *ended)
{
    double limit = 20 * w->j->step_sec > 10 ? 20 * w->j->step_sec : 10;
    bool open_ = true;
    w->moved = now();
    for (;;) {
        struct pollfd p = {open_ ? fd : -1, POLLIN, 0};
        poll(&p, 1, TICK_MS);
        char text[4096];
        ssize_t n;
        while (open_ && (n = read(fd, text, sizeof text)) >= 0) {
            if (n == 0) open_ = false;
            take_bytes(w, text, (size_t)n);
        }
        long long before = w->first_step;
        read_beats(w);
        if (before < 0 && w->first_step >= 0) w->start_sec = now() - w->starts;
        say_moved(w, before);
        if (!*ended) look_for_dead(w);
        reap(w, status, ended);
        if (*ended) return -1;
        if (stop_signals > 0 && !w->asked && !ask_to_end(w)) return CLI_INTERRUPTED;
        if (stop_signals > 1) return CLI_INTERRUPTED;
        say_what_is_done(w);
        look_for_move(w);
        if (w->dead >= 0 && now() - w->dead_since > patience(w)) { // mpirun has not seen it
            say(w, "%s: the process died", place(w, w->dead).p);
            lose(w, w->dead);
            return CLI_FAILED;
        }
        if (vanished(w)) {
            say(w,
                "hapc: error: the ranks are gone before their first call, and mpirun goes on%s%s",
                w->heard[0] ? ": " : "", w->heard);
            lose(w, -1);
            return CLI_FAILED;
        }
        if (now() - w->moved <= limit) continue;
        bool stopped, gone;
        int r = slowest(w, &stopped, &gone), away = ranks_away(w);
        if (away == w->j->n_ranks) continue; // nobody is watched
        if (gone) {                          // and mpirun has not seen it
            say(w, "%s: the process died", place(w, r).p);
            lose(w, r);
            return CLI_FAILED;
        }
        if (!stopped && starting(w) && now() - w->moved <= START_SECONDS) continue;
        if (!stopped && at_files(w) && now() - w->moved <= FILE_SECONDS) continue;
        say(w, "%s: %s for %.0f s%s", place(w, r).p,
            stopped ? "stopped (suspended process)" : "no progress", now() - w->moved,
            away && !stopped ? "; ranks on other hosts are not watched, one of them may be it"
                             : "");
        lose(w, away && !stopped ? -1 : r);
        return CLI_FAILED;
    }
}

int supervise(hb_arena *a, const run_job *j, char *const *argv, char *const *env, run_outcome *out)
{
    watch w = {.a = a,
               .j = j,
               .out = out,
               .starts = now(),
               .first_step = -1,
               .dead = -1,
               .banner_rank = -1,
               .banner_signal = -1};
    *out = (run_outcome){.rank = -1};
    w.beat = HB_ARRAY(a, beat, j->n_ranks);
    for (int r = 0; r < j->n_ranks; r++)
        w.beat[r].step = w.beat[r].count = -1;
    int fd[2];
    if (pipe(fd) != 0) return cli_error(CLI_FAILED, "pipe: %s", strerror(errno));
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC); // start() makes a copy of it the child's stderr
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    w.mpirun = start(argv, env, fd[1]);
    close(fd[1]);
    if (w.mpirun < 0) return cli_error(CLI_FAILED, "fork: %s", strerror(errno));
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    int status = 0;
    bool ended = false;
    int code = look_after(&w, fd[0], &status, &ended);
    if (code >= 0) w.said = true; // whatever mpirun says while it is ended is no news
    double noticed = now();
    end_all(&w, &status, &ended);
    out->noticed_sec = noticed - w.moved;
    out->ended_sec = now() - noticed;
    char text[4096];
    ssize_t n;
    while ((n = read(fd[0], text, sizeof text)) > 0)
        take_bytes(&w, text, (size_t)n);
    take_bytes(&w, "\n", w.n_line > 0);
    close(fd[0]);
    return code >= 0 ? code : how_it_ended(&w, status);
}
