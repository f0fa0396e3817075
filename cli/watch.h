// What `supervise` knows of a run while it watches it: the ranks' heartbeats and processes
// (watch_ranks.c), and what they and mpirun say (watch_words.c).

#ifndef HAP_CLI_WATCH_H
#define HAP_CLI_WATCH_H

#include <sys/types.h>

#include "cli/launch.h"

enum { LINE_MAX_BYTES = 4096, REHEARSAL = -2 };

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
    int missing;      // rank that had no process when it was looked for, though others had one; -1
    double missing_since;
    int dead; // rank whose process is gone without an "end", -1
    double dead_since;
    int banner_rank, banner_signal; // from mpirun's own notice, -1
    long banner_pid;
    bool in_banner, daemon_lost;
    char heard[512]; // the first paragraph of mpirun's first banner, else its first other line
    int heard_from;  // 0 nothing, 1 a line, 2 a paragraph that goes on, 3 one that has ended
    char line[LINE_MAX_BYTES];
    size_t n_line;
} watch;

// --- watch_ranks.c ---

double watch_now(void);                       // seconds, of a clock that only goes forward
bool watch_is_rank(const watch *w, long pid); // and not another process of this number
void watch_read(watch *w);                    // all heartbeats
bool watch_has_ended(const beat *b);          // by itself, well or after a message
int watch_quit_code(const watch *w);
void watch_look_for_dead(watch *w);
bool watch_is_away(const watch *w, int r);
int watch_away(const watch *w); // how many are
bool watch_vanished(watch *w);
int watch_slowest(watch *w, bool *stopped, bool *gone);
bool watch_starting(const watch *w);
bool watch_at_files(const watch *w);

// --- watch_words.c ---

hb_str watch_place(const watch *w,
                   int r); // "rank 2 host b device V100 step 7 program.c:31: linear"
// The one message of a run: the first counts.
void watch_say(watch *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void watch_take(watch *w, const char *p, size_t n); // bytes of the stderr of mpirun and its ranks

#endif
