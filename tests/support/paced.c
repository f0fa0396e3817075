// Linked into a program with -Wl,--wrap=hap_comm_vote_start: every step takes as many milliseconds
// longer as the file PACED says, so that a test has the time to do something between two steps.

#include <stdio.h>
#include <time.h>

struct hap_rank;
void __real_hap_comm_vote_start(struct hap_rank *r, int x);
void __wrap_hap_comm_vote_start(struct hap_rank *r, int x);

void __wrap_hap_comm_vote_start(struct hap_rank *r, int x)
{
    long ms = 0;
    FILE *f = fopen(PACED, "r");
    if (f && fscanf(f, "%ld", &ms) != 1) ms = 0;
    if (f) fclose(f);
    struct timespec nap = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&nap, NULL);
    __real_hap_comm_vote_start(r, x);
}
