// What mpirun and the ranks say: the one message, mpirun's banners, and what is handed on.

#include "cli/watch.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hb_str watch_place(const watch *w, int r)
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

void watch_say(watch *w, const char *fmt, ...)
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
        if (w->start_sec <= 0) w->start_sec = watch_now() - w->starts;
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
        watch_say(w, "hapc: error: the program does not start: %s", at);
        return;
    }
    bool last_words = strncmp(s, "error: ", 7) == 0;
    if (strncmp(s, "rank ", 5) == 0 && isdigit((unsigned char)s[5]) && strstr(s, " host "))
        last_words = true;
    if (!last_words) {
        fprintf(stderr, "%s\n", s);
        return;
    }
    watch_say(w, "%s", s);
}

void watch_take(watch *w, const char *p, size_t n)
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
