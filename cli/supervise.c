// Watching ranks: heartbeats, deaths, hangs, signals; ending every process, and saying so once.

#include "cli/launch.h"

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

#include "cli/build.h"
#include "cli/cli.h"
#include "cli/watch.h"

enum { TICK_MS = 100, START_SECONDS = 60, FILE_SECONDS = 600 };

static void on_signal(int sig)
{
    (void)sig;
    cli_signals++;
}

static void nap(int ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
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
    watch_read(w);
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0 && watch_is_rank(w, w->beat[r].pid))
            kill((pid_t)w->beat[r].pid, SIGKILL);
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

// Seconds for mpirun to say which rank died. Where ranks are on other hosts one that is found dead
// here may be one that mpirun has ended because of another there, of which its notice comes later.
static double patience(const watch *w)
{
    return watch_away(w) > 0 ? 8 : 2;
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

static void say_died(watch *w, int rank)
{
    w->said = false; // what another one said is what follows from it
    if (w->banner_signal > 0)
        watch_say(w, "%s: the process died (signal %d, %s)", watch_place(w, rank).p,
                  w->banner_signal, signal_text(w->banner_signal));
    else
        watch_say(w, "%s: the process died", watch_place(w, rank).p);
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
        if (watch_is_away(w, r) && (r == 0 || !hb_str_eq(host, w->j->rank[r - 1].host)))
            hb_printf(&b, "%s%.*s", b.n ? " or " : "", HB_ARG(host));
    }
    return hb_done(&b);
}

static int how_it_ended(watch *w, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    w->out->moved = code == 0 && w->moves;
    if (code == 0) return w->asked ? CLI_INTERRUPTED : CLI_OK;
    if (w->said && watch_quit_code(w) >= 0) code = watch_quit_code(w);
    look_for_quit(w, code);
    int rank = w->banner_rank;
    // One that a signal ended, though another one, which lost it, was the first to speak.
    if (w->said && rank >= 0 && rank < w->j->n_ranks && w->banner_signal > 0 &&
        !watch_has_ended(&w->beat[rank])) {
        say_died(w, rank);
        lose(w, rank);
    }
    for (int r = 0; r < w->j->n_ranks && rank < 0 && w->banner_pid > 0; r++)
        if (w->beat[r].pid == w->banner_pid) rank = r;
    if (rank < 0) rank = w->dead;
    if (w->daemon_lost && w->first_step >= 0 && watch_away(w) > 0) { // it ended the ranks here
        watch_say(w, "hapc: error: host lost: %.*s (mpirun's daemon there has ended)",
                  HB_ARG(other_hosts(w)));
        lose(w, -1);
        return CLI_FAILED;
    }
    if (!w->said && rank >= 0 && rank < w->j->n_ranks) {
        say_died(w, rank);
        lose(w, rank);
        return CLI_FAILED;
    }
    if (!w->said) {
        bool killed = WIFSIGNALED(status);
        if (watch_away(w) > 0 || killed) lose(w, -1);
        if (killed && w->first_step >= 0)
            watch_say(w, "hapc: error: mpirun died (signal %d, %s), and the ranks with it",
                      WTERMSIG(status), signal_text(WTERMSIG(status)));
        watch_say(w, "hapc: error: the ranks could not be run (mpirun ended with exit code %d)%s%s",
                  code, w->heard[0] ? ": " : "", w->heard);
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
        begun = begun || w->beat[r].step >= 0 || watch_is_away(w, r);
    fflush(stdout);
    fprintf(stderr, "hapc: interrupted%s\n",
            begun ? ": ends after this step (once more: at once)" : "");
    if (!begun) return false;
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0 && watch_is_rank(w, w->beat[r].pid))
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
    if (watch_away(w) == w->j->n_ranks) begun = watch_now() - w->starts > START_SECONDS;
    if (w->moves || w->asked || !begun || !w->j->moves || !w->j->moves(w->j->moves_ctx)) return;
    int n = 0;
    for (int r = 0; r < w->j->n_ranks; r++)
        if (w->beat[r].pid > 0 && watch_is_rank(w, w->beat[r].pid))
            n += kill((pid_t)w->beat[r].pid, SIGUSR2) == 0;
    if (n == 0) kill(w->mpirun, SIGUSR2);
    w->moves = true;
}

static void say_moved(watch *w, long long before)
{
    if (!w->j->resumed || before >= 0 || w->first_step < 0) return;
    fprintf(stderr, "hapc: moved in %.1f s\n", watch_now() - w->starts);
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
        if (!watch_is_away(w, r) && w->beat[r].step < 0) b = &w->beat[r];
    if (!b) return;
    const char *said =
        b->step == REHEARSAL ? "rehearses the step: compiles, tunes, captures" : NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known && !said; i++)
        if (!strcmp(b->name, known[i].beat)) said = known[i].said;
    if (!said) return;
    if (strncmp(w->waits_for, said, sizeof w->waits_for - 1) != 0) {
        snprintf(w->waits_for, sizeof w->waits_for, "%s", said);
        w->waits_since = watch_now();
    } else if (w->waits_since > 0 && watch_now() - w->waits_since > patient) {
        fprintf(stderr, "hapc: %s\n", said);
        w->waits_since = 0;
    }
}

// Looks after a run until it has ended (-1) or must be ended: the exit code for it then.
static int look_after(watch *w, int fd, int *status, bool *ended)
{
    double limit = 20 * w->j->step_sec > 10 ? 20 * w->j->step_sec : 10;
    bool open_ = true;
    w->moved = watch_now();
    for (;;) {
        struct pollfd p = {open_ ? fd : -1, POLLIN, 0};
        poll(&p, 1, TICK_MS);
        char text[4096];
        ssize_t n;
        while (open_ && (n = read(fd, text, sizeof text)) >= 0) {
            if (n == 0) open_ = false;
            watch_take(w, text, (size_t)n);
        }
        long long before = w->first_step;
        watch_read(w);
        if (before < 0 && w->first_step >= 0) w->start_sec = watch_now() - w->starts;
        say_moved(w, before);
        if (!*ended) watch_look_for_dead(w);
        reap(w, status, ended);
        if (*ended) return -1;
        if (cli_signals > 0 && !w->asked && !ask_to_end(w)) return CLI_INTERRUPTED;
        if (cli_signals > 1) return CLI_INTERRUPTED;
        say_what_is_done(w);
        look_for_move(w);
        if (w->dead >= 0 && watch_now() - w->dead_since > patience(w)) { // mpirun has not seen it
            watch_say(w, "%s: the process died", watch_place(w, w->dead).p);
            lose(w, w->dead);
            return CLI_FAILED;
        }
        if (watch_vanished(w)) {
            watch_say(
                w,
                "hapc: error: the ranks are gone before their first call, and mpirun goes on%s%s",
                w->heard[0] ? ": " : "", w->heard);
            lose(w, -1);
            return CLI_FAILED;
        }
        if (watch_now() - w->moved <= limit) continue;
        bool stopped, gone;
        int r = watch_slowest(w, &stopped, &gone), away = watch_away(w);
        if (away == w->j->n_ranks) continue; // nobody is watched
        if (gone) {                          // and mpirun has not seen it
            watch_say(w, "%s: the process died", watch_place(w, r).p);
            lose(w, r);
            return CLI_FAILED;
        }
        if (!stopped && watch_starting(w) && watch_now() - w->moved <= START_SECONDS) continue;
        if (!stopped && watch_at_files(w) && watch_now() - w->moved <= FILE_SECONDS) continue;
        watch_say(w, "%s: %s for %.0f s%s", watch_place(w, r).p,
                  stopped ? "stopped (suspended process)" : "no progress", watch_now() - w->moved,
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
               .starts = watch_now(),
               .first_step = -1,
               .missing = -1,
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
    double noticed = watch_now();
    end_all(&w, &status, &ended);
    out->noticed_sec = noticed - w.moved;
    out->ended_sec = watch_now() - noticed;
    char text[4096];
    ssize_t n;
    while ((n = read(fd[0], text, sizeof text)) > 0)
        watch_take(&w, text, (size_t)n);
    watch_take(&w, "\n", w.n_line > 0);
    close(fd[0]);
    return code >= 0 ? code : how_it_ended(&w, status);
}
